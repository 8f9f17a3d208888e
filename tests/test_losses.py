"""Losses give Keras's numbers, and gradients."""

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf

# Made by data/make_losses.py.
KERAS = json.loads((Path(__file__).parent / "data" / "losses.json").read_text())
CASES = KERAS["losses"]
NAMES = [f"{case['name']} {case['options']}" for case in CASES]
losses = tf.losses


@pytest.mark.parametrize("case", CASES, ids=NAMES)
@pytest.mark.parametrize("part", range(4))
def test_the_numbers_are_those_of_keras(case, part):
    result = case["results"][part]
    loss = getattr(losses, case["name"])(reduction=result["reduction"], **case["options"])
    pair = np.array(case["y_true"]), np.array(case["y_pred"])
    plain = loss(*pair)
    assert plain.dtype is tf.float32
    assert plain.shape == np.shape(result["plain"])
    assert_allclose(plain, result["plain"], rtol=2e-6, atol=1e-6)
    if "weighted" in result:
        weighted = loss(*pair, sample_weight=KERAS["weights"])
        assert weighted.shape == np.shape(result["weighted"])
        assert_allclose(weighted, result["weighted"], rtol=2e-6, atol=1e-6)


FUNCTIONS = {
    "LogCosh": "log_cosh",
    "KLDivergence": "kl_divergence",
    "Huber": "huber",
}


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_function_gives_each_samples_value(case):
    loss = getattr(losses, case["name"])(**case["options"])
    function = getattr(losses, FUNCTIONS.get(case["name"], loss.name))
    each = function(np.array(case["y_true"]), np.array(case["y_pred"], "float32"), **case["options"])
    expected = case["results"][3]
    assert expected["reduction"] is None
    assert_allclose(each, expected["plain"], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_gradients_are_those_of_small_differences(case):
    loss = getattr(losses, case["name"])(dtype="float64", **case["options"])
    predicted = tf.Variable(np.array(case["y_pred"], "float64"))
    with tf.GradientTape() as tape:
        value = loss(case["y_true"], predicted)
    gradient = tape.gradient(value, predicted).numpy()
    direction = np.random.default_rng(3).normal(size=gradient.shape)
    step = 1e-6
    up, down = (loss(case["y_true"], predicted + sign * step * direction) for sign in (1, -1))
    assert value.dtype is tf.float64
    assert_allclose((gradient * direction).sum(), float(up - down) / (2 * step), rtol=1e-5, atol=1e-7)


def test_shapes_of_labels():
    logits = np.float32([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    expected = float(loss([1, 2], logits))
    assert float(loss(np.array([[1], [2]]), logits)) == expected
    assert float(loss(tf.constant([1, 2], "int64"), tf.constant(logits, "float64"))) == pytest.approx(
        expected
    )
    pictures = np.random.default_rng(1).normal(size=(2, 4, 4, 3)).astype("float32")
    labels = np.random.default_rng(1).integers(0, 3, (2, 4, 4))
    each = losses.sparse_categorical_crossentropy(labels, pictures, from_logits=True)
    assert each.shape == (2, 4, 4)
    moved = losses.sparse_categorical_crossentropy(
        labels, pictures.transpose(0, 3, 1, 2), from_logits=True, axis=1
    )
    assert_allclose(moved, each, rtol=1e-5)
    assert losses.mean_squared_error([[1.0], [2.0]], [1.0, 3.0]).numpy().tolist() == [0.0, 1.0]


def test_ignored_classes_do_not_count():
    logits = np.random.default_rng(1).normal(size=(4, 3)).astype("float32")
    ignoring = losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1)
    plain = losses.SparseCategoricalCrossentropy(from_logits=True)
    assert_allclose(ignoring([0, -1, 2, -1], logits), plain([0, 2], logits[[0, 2]]), rtol=1e-6)
    assert float(ignoring([-1, -1, -1, -1], logits)) == 0.0


def test_an_empty_batch_is_no_loss():
    assert float(losses.MeanSquaredError()(np.zeros((0, 2)), np.zeros((0, 2)))) == 0.0


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_loss_describes_itself(case):
    made = getattr(losses, case["name"])(reduction="sum", **case["options"])
    pair = np.array(case["y_true"]), np.array(case["y_pred"])
    for again in (
        type(made).from_config(made.get_config()),
        copy.deepcopy(made),
        pickle.loads(pickle.dumps(made)),
    ):
        assert again.get_config() == made.get_config()
        assert_array_equal(again(*pair), made(*pair))
    assert repr(made) == f"<{case['name']} name={made.name}>"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (losses.MeanSquaredError, "mean_squared_error"),
        (losses.Huber, "huber_loss"),
        (losses.KLDivergence, "kl_divergence"),
        (losses.LogCosh, "log_cosh"),
        (losses.SparseCategoricalCrossentropy, "sparse_categorical_crossentropy"),
    ],
)
def test_names(kind, name):
    assert kind().name == name
    assert kind(name="mine").name == "mine"


def test_short_names():
    assert losses.MSE is losses.mse is losses.mean_squared_error
    assert losses.KLD is losses.kl_divergence
    assert losses.Reduction.NONE == "none"
    assert losses.MeanSquaredError(reduction=losses.Reduction.NONE)([[0.0]], [[2.0]]).numpy().tolist() == [
        4.0
    ]
    assert float(losses.MeanSquaredError(reduction=losses.Reduction.AUTO)([[0.0]], [[2.0]])) == 4.0


def test_call_takes_lists_too():
    assert losses.MeanSquaredError().call([[0.0], [1.0]], [2.0, 1.0]).numpy().tolist() == [4.0, 0.0]


def test_what_cannot_be():
    with pytest.raises(ValueError, match=r"reduction is 'sum_over_batch_size', .* not 'average'"):
        losses.MeanSquaredError(reduction="average")
    with pytest.raises(NotImplementedError, match=r"Mine must define call\(y_true, y_pred\)"):
        type("Mine", (losses.Loss,), {})()([1.0], [1.0])
