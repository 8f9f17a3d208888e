"""Initializers draw what Keras draws for the same seeds, and describe themselves."""

import copy
import math
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf

initializers = tf.initializers

# The numbers are those of Keras 3 on TensorFlow.
DRAWN = [
    (
        lambda: initializers.RandomNormal(seed=3)((2, 3)),
        [[-0.03357924, 0.08380252, -0.04721227], [0.03039695, 0.06263926, 0.06762262]],
    ),
    (
        lambda: initializers.RandomUniform(seed=3)((2, 3)),
        [[-0.03040872, 0.04393453, 0.003227521], [0.03410413, -0.03171884, -0.03810858]],
    ),
    (
        lambda: initializers.TruncatedNormal(seed=3)((2, 3)),
        [[-0.03357924, 0.08380252, -0.04721227], [0.03039695, -0.02095366, -0.02478872]],
    ),
    (
        lambda: initializers.VarianceScaling(seed=3)((2, 3)),
        [[-0.5398685, 1.347331, -0.7590529], [0.4887053, -0.3368814, -0.3985393]],
    ),
    (
        lambda: initializers.GlorotNormal(seed=3)((2, 3)),
        [[-0.4828731, 1.205089, -0.6789175], [0.4371113, -0.3013159, -0.3564644]],
    ),
    (
        lambda: initializers.GlorotUniform(seed=3)((2, 3)),
        [[-0.6662216, 0.9625573, 0.07071137], [0.7471842, -0.694925, -0.8349171]],
    ),
    (
        lambda: initializers.HeNormal(seed=3)((2, 3)),
        [[-0.7634893, 1.905413, -1.073463], [0.6911337, -0.4764223, -0.5636197]],
    ),
    (
        lambda: initializers.HeUniform(seed=3)((2, 3)),
        [[-1.053389, 1.521937, 0.1118046], [1.181402, -1.098773, -1.32012]],
    ),
    (
        lambda: initializers.LecunNormal(seed=3)((2, 3)),
        [[-0.5398685, 1.347331, -0.7590529], [0.4887053, -0.3368814, -0.3985393]],
    ),
    (
        lambda: initializers.LecunUniform(seed=3)((2, 3)),
        [[-0.7448584, 1.076172, 0.07905781], [0.8353773, -0.7769497, -0.9334657]],
    ),
    (
        lambda: initializers.Orthogonal(seed=3)((2, 3)),
        [[-0.3935483, -0.5533272, 0.7341312], [0.7484162, 0.2708942, 0.6053838]],
    ),
    (
        lambda: initializers.Orthogonal(seed=3, gain=2.0)((3, 2)),
        [[-0.7870965, 1.496832], [-1.106654, 0.5417885], [1.468262, 1.210768]],
    ),
    (
        lambda: initializers.GlorotUniform(seed=5)((1, 2, 1, 2)),
        [[[[-0.8762934, 0.6633382]], [[0.9471543, -0.3104985]]]],
    ),
]


@pytest.mark.parametrize(("draw", "expected"), DRAWN)
def test_seeded_numbers_are_those_of_keras(draw, expected):
    assert_allclose(draw(), expected, rtol=1e-5)
    assert_array_equal(draw(), draw())


@pytest.mark.parametrize(
    ("make", "shape", "expected"),
    [
        (initializers.Zeros, (2,), [0.0, 0.0]),
        (initializers.Ones, [2], [1.0, 1.0]),
        (lambda: initializers.Constant(2), (2,), [2.0, 2.0]),
        (lambda: initializers.Constant([1.0, 2.0]), (2, 2), [[1.0, 2.0], [1.0, 2.0]]),
        (lambda: initializers.Identity(3.0), tf.TensorShape([2, 3]), [[3.0, 0.0, 0.0], [0.0, 3.0, 0.0]]),
    ],
)
def test_the_same_values_each_time(make, shape, expected):
    assert_array_equal(make()(shape), np.float32(expected), strict=True)
    assert make()(shape, dtype="float64").dtype is tf.float64


RANDOM = ["RandomNormal", "RandomUniform", "TruncatedNormal", "VarianceScaling", "Orthogonal"]
SCALED = ["GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "LecunNormal", "LecunUniform"]


@pytest.mark.parametrize("name", RANDOM + SCALED)
def test_without_a_seed_each_call_draws_anew(name):
    made = getattr(initializers, name)()
    assert not np.array_equal(made((3, 3)), made((3, 3)))
    tf.random.set_seed(1)
    first = made((3, 3)).numpy()
    tf.random.set_seed(1)
    assert_array_equal(made((3, 3)), first)
    assert made((2, 2), "float64").dtype is tf.float64


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        ("GlorotNormal", 2 / 500),
        ("GlorotUniform", 2 / 500),
        ("HeNormal", 2 / 200),
        ("HeUniform", 2 / 200),
        ("LecunNormal", 1 / 200),
        ("LecunUniform", 1 / 200),
    ],
)
def test_the_variance_is_scaled(name, variance):
    drawn = getattr(initializers, name)(seed=1)((200, 300)).numpy()
    assert drawn.var() == pytest.approx(variance, rel=0.03)
    assert abs(drawn.mean()) < 0.01 * math.sqrt(variance)


@pytest.mark.parametrize(
    ("options", "shape", "variance"),
    [
        ({}, (5, 5, 8, 200), 1 / 200),
        ({"mode": "fan_out"}, (5, 5, 8, 200), 1 / 5000),
        ({"mode": "fan_avg", "distribution": "uniform"}, (3, 3, 10, 90), 2 / 900),
        ({"distribution": "untruncated_normal", "scale": 4.0}, (100, 200), 4 / 100),
        ({"distribution": "Normal"}, (4000,), 1 / 4000),
        ({"input_axes": [0, 1], "output_axes": [2]}, (10, 20, 30), 1 / 200),
    ],
)
def test_what_counts_as_an_input(options, shape, variance):
    drawn = initializers.VarianceScaling(seed=2, **options)(shape).numpy()
    assert drawn.var() == pytest.approx(variance, rel=0.05)


@pytest.mark.parametrize("name", [*RANDOM, *SCALED, "Zeros", "Ones", "Constant", "Identity"])
def test_an_initializer_describes_itself(name):
    kind = getattr(initializers, name)
    made = kind(seed=4) if name in RANDOM + SCALED else kind()
    for again in (
        kind.from_config(made.get_config()),
        initializers.get({"class_name": name, "config": made.get_config()}),
        copy.deepcopy(made),
        pickle.loads(pickle.dumps(made)),
    ):
        assert type(again) is kind
        assert repr(again) == repr(made)
        assert_array_equal(again((3, 3)), made((3, 3)))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("zeros", "Zeros"),
        ("Zeros", "Zeros"),
        ("glorot_uniform", "GlorotUniform"),
        ("he_normal", "HeNormal"),
        ("random_normal", "RandomNormal"),
        ("orthogonal", "Orthogonal"),
        ("constant", "Constant"),
    ],
)
def test_an_initializer_has_names(name, kind):
    assert type(initializers.get(name)) is getattr(initializers, name) is getattr(initializers, kind)


def test_get_takes_initializers_too():
    made = initializers.Ones()
    assert initializers.get(made) is made
    assert initializers.get(None) is None
    assert type(initializers.get(initializers.Ones)) is initializers.Ones


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: initializers.get("nothing"), "'nothing' names no initializer"),
        (lambda: initializers.get("math"), "'math' names no initializer"),
        (lambda: initializers.get({"class_name": "Optimizer"}), "names no initializer"),
        (lambda: initializers.VarianceScaling(0.0), "scale must be positive, it is 0.0"),
        (lambda: initializers.VarianceScaling(mode="fan"), "not 'fan'"),
        (lambda: initializers.VarianceScaling(distribution="cauchy"), "not 'cauchy'"),
        (lambda: initializers.HeNormal()((None, 2)), r"must be known, and it is \(None, 2\)"),
        (lambda: initializers.Identity()((2,)), r"two lengths, not \(2,\)"),
        (lambda: initializers.Orthogonal()((2,)), r"at least two lengths, not \(2,\)"),
    ],
)
def test_what_cannot_be(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_an_initializer_of_your_own():
    with pytest.raises(NotImplementedError, match=r"Mine must define __call__\(shape, dtype\)"):
        type("Mine", (initializers.Initializer,), {})()((2,))
