"""Random numbers: TensorFlow's for the same seeds, of the right distribution, differentiable by their parameters."""

import re
import threading

import numpy as np
import pytest
from scipy import stats

import gradtape as tf
from gradtape.core import errors
from gradtape.ops.random import philox

# ---------------------------------------------------------------------------------------------------------------------
# What TensorFlow 2.21 gives, each after set_seed(3)

LOGITS = [[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]
Generator = tf.random.Generator
KNOWN = [
    (lambda: tf.random.normal((5,)), [-0.829637, -1.826627, 0.125194, 1.177008, -1.169668]),
    (lambda: tf.random.uniform((5,)), [0.133663, 0.567853, 0.496332, 0.016865, 0.504542]),
    (lambda: tf.random.uniform((3,), 2, 7), [2.668316, 4.839265, 4.481658]),
    (lambda: tf.random.uniform((5,), 2, 90, dtype=tf.int32), [26, 67, 54, 46, 21]),
    (lambda: tf.random.uniform((2,), -2, 2**40, dtype=tf.int64), [454086658688, 706838692730]),
    (lambda: tf.random.uniform((3,), dtype=tf.float64), [0.069306, 0.970654, 0.036334]),
    (lambda: tf.random.uniform((3,), dtype=tf.float16), [0.96875, 0.852539, 0.949219]),
    (lambda: tf.random.uniform((3,), dtype=tf.bfloat16), [0.75, 0.820312, 0.59375]),
    (lambda: tf.random.normal((3,), 1.0, 2.0, dtype=tf.float64), [0.152758, 5.542688, 2.364972]),
    (lambda: tf.random.normal((3,), dtype=tf.float16), [-0.82959, -1.826172, 0.125244]),
    (
        lambda: tf.random.truncated_normal((9,)),
        [-0.829637, -1.826627, 0.125194, 1.177008, -0.287195, -0.895645, -0.598126, -0.135147, -0.460884],
    ),
    (lambda: tf.random.truncated_normal((3,), 1.0, 2.0, dtype=tf.float64), [0.152758, 2.364972, 2.820407]),
    (lambda: tf.random.normal((2,), seed=5), [-1.134739, 0.746081]),
    (lambda: tf.random.shuffle(tf.range(8)), [0, 6, 2, 5, 7, 4, 3, 1]),
    (lambda: tf.random.shuffle(tf.range(8), seed=4), [1, 4, 7, 2, 3, 6, 0, 5]),
    (lambda: tf.random.categorical(LOGITS, 6), [[0, 2, 0, 0, 1, 2], [1, 1, 0, 1, 0, 0]]),
    (lambda: tf.random.stateless_normal((5,), (1, 2)), [0.54411, 0.20738, 0.073564, 0.046435, -1.30159]),
    (lambda: tf.random.stateless_normal((3,), (-1, 2**31 - 1), 2.0, 3.0), [1.665302, 6.786714, 6.916856]),
    (lambda: tf.random.stateless_uniform((3,), (1, 2), 3, 9), [8.064363, 4.152272, 8.977339]),
    (lambda: tf.random.stateless_uniform((5,), (1, 2), 3, 90, dtype=tf.int32), [34, 86, 69, 9, 28]),
    (lambda: tf.random.stateless_uniform((1,), (1, 2), None, None, dtype=tf.int64), [7464880146280614444]),
    (
        lambda: tf.random.stateless_truncated_normal((5,), (1, 2)),
        [0.54411, 0.20738, 0.073564, 0.046435, 0.168206],
    ),
    (lambda: tf.random.stateless_categorical(LOGITS[:1], 7, (3, 4)), [[2, 2, 1, 2, 2, 2, 1]]),
    (lambda: tf.random.experimental.stateless_shuffle(tf.range(10), (1, 2)), [0, 3, 8, 1, 5, 4, 9, 7, 6, 2]),
    (lambda: tf.random.split((1, 2), 2), [[1105988140, 1738052849], [-335576002, 370444179]]),
    (lambda: tf.random.fold_in((1, 2), 3), [1105988140, 3]),
    (lambda: Generator.from_seed(1234).normal((5,)), [0.935661, 1.085431, -0.937884, -0.506155, 1.31697]),
    (lambda: Generator.from_seed(2**70 + 5).uniform((3,)), [0.379888, 0.424079, 0.279298]),
    (lambda: Generator.from_seed(1).truncated_normal((3,)), [0.438423, -0.534398, -0.077103]),
    (lambda: Generator.from_seed(1).make_seeds(2), [[6679402142117448868, 684265014234019051], [0, 0]]),
    (lambda: Generator.from_seed(1).split(2)[1].normal((2,)), [0.653822, -0.70713]),
    # The counter overflows into its upper half, and around.
    (
        lambda: Generator.from_state([2**64 - 1, 2**64 - 1, 7], "philox").normal((6,)),
        [-1.2666, 1.975562, 0.822768, 1.283282, 0.353691, 0.663588],
    ),
    (lambda: tf.random_normal_initializer(seed=1)((3,)), [0.006333, -0.024651, 0.03156]),
    (lambda: tf.random_uniform_initializer(seed=1)((3,)), [0.037849, -0.004002, 0.010029]),
]


@pytest.mark.parametrize("number", range(len(KNOWN)))
def test_the_numbers_are_tensorflows(number):
    draw, expected = KNOWN[number]
    tf.random.set_seed(3)
    np.testing.assert_allclose(np.asarray(draw(), np.float64), expected, rtol=1e-6, atol=2e-6)


# ---------------------------------------------------------------------------------------------------------------------
# Seeds


def numbers(**options):
    return tf.random.normal((2,), **options).numpy().astype(float).round(4).tolist()


def test_the_global_seed_fixes_the_sequence():
    tf.random.set_seed(3)
    first = [numbers() for _ in range(3)]
    assert first == [[-0.8296, -1.8266], [1.6663, 0.7052], [-1.4012, 0.3435]]
    tf.random.set_seed(3)
    assert [numbers() for _ in range(3)] == first


def test_operations_with_a_seed_count_apart_and_the_global_seed_resets_them():
    tf.random.set_seed(3)
    first, second = numbers(seed=5), numbers(seed=5)
    assert (first, second) == ([-1.1347, 0.7461], [-0.0463, -0.3211])
    tf.random.uniform((2,), seed=5)
    tf.random.normal((2,), seed=6)
    third = numbers(seed=5)
    assert third not in (first, second)
    tf.random.set_seed(3)
    assert [numbers(seed=5) for _ in range(3)] == [first, second, third]


def test_a_dtype_counts_as_one_however_it_is_written():
    tf.random.set_seed(1)  # the numbers are TensorFlow's
    drawn = [
        tf.random.normal((), dtype=dtype, seed=1).numpy() for dtype in ("float32", tf.float32, np.float32)
    ]
    np.testing.assert_allclose(drawn, [0.28183395, -0.29025713, 1.0040135], rtol=1e-6)
    classes = [
        int(tf.random.categorical([[0.0] * 100], 1, dtype, seed=1)[0, 0])
        for dtype in (None, "int64", tf.int64)
    ]
    assert classes == [44, 14, 76]


def test_few_blocks_are_those_of_many():
    for key, counter in ((0, 0), ((1 << 64) - 1, (1 << 64) - 2), (87654321, (1 << 128) - 2)):
        many = philox.blocks(key, counter, 200)
        for count in (0, 1, 2, 96, 97):
            np.testing.assert_array_equal(philox.blocks(key, counter, count), many[:count])
        at = philox.blocks_at(key, counter, np.array([3, 150], np.uint64))
        np.testing.assert_array_equal(at, many[[3, 150]])


def test_without_seeds_numbers_differ():
    tf.random.set_seed(None)
    assert numbers() != numbers()
    assert numbers(seed=1) != numbers(seed=1)


def test_gamma_poisson_and_binomial_follow_their_seeds():
    for draw in (
        lambda: tf.random.gamma((3,), [0.5, 2.0]),
        lambda: tf.random.poisson((3,), [0.5, 20.0]),
        lambda: tf.random.stateless_gamma((3,), (1, 2), 0.5),
        lambda: tf.random.stateless_poisson((3,), (1, 2), 5.0),
        lambda: tf.random.stateless_binomial((3,), (1, 2), 10.0, 0.5),
        lambda: Generator.from_seed(1).binomial((3,), 10.0, 0.5),
    ):
        tf.random.set_seed(1)
        first = draw().numpy()
        tf.random.set_seed(1)
        assert np.array_equal(draw().numpy(), first)


def test_threads_share_the_global_sequence_without_repeating():
    tf.random.set_seed(1)
    drawn = []
    threads = [threading.Thread(target=lambda: drawn.extend(numbers() for _ in range(20))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({tuple(pair) for pair in drawn}) == 80


def test_determinism_asks_for_a_seed(monkeypatch):
    monkeypatch.setattr("gradtape.core.settings.settings.op_determinism", False)
    tf.config.experimental.enable_op_determinism()
    tf.random.set_seed(None)
    with pytest.raises(RuntimeError, match=r"call random.set_seed"):
        tf.random.normal((2,))
    with pytest.raises(RuntimeError, match="op determinism"):
        Generator.from_non_deterministic_state()
    assert tf.random.normal((2,), seed=1).shape == (2,)


# ---------------------------------------------------------------------------------------------------------------------
# Distributions, by the Kolmogorov-Smirnov test or by moments: at fixed seeds, so the answer is always the same

N = 20_000


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (lambda: tf.random.normal((N,), 1.0, 2.0), stats.norm(1, 2)),
        (lambda: tf.random.normal((N,), dtype=tf.float64), stats.norm()),
        (lambda: tf.random.uniform((N,), -1.0, 3.0), stats.uniform(-1, 4)),
        (lambda: tf.random.truncated_normal((N,)), stats.truncnorm(-2, 2)),
        (lambda: tf.random.gamma((N,), 0.5, 2.0), stats.gamma(0.5, scale=0.5)),
        (lambda: tf.random.gamma((N,), 30.0, dtype=tf.float64), stats.gamma(30.0)),
        (lambda: Generator.from_seed(9).truncated_normal((N,), dtype=tf.float64), stats.truncnorm(-2, 2)),
    ],
)
def test_continuous_distributions(draw, law):
    tf.random.set_seed(11)
    assert stats.kstest(np.asarray(draw(), np.float64), law.cdf).pvalue > 0.001


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (lambda: tf.random.poisson((N,), 3.5), stats.poisson(3.5)),
        (lambda: tf.random.stateless_binomial((N,), (1, 2), 10, 0.3), stats.binom(10, 0.3)),
        (lambda: tf.random.uniform((N,), 0, 6, tf.int32), stats.randint(0, 6)),
        (
            lambda: tf.random.categorical([np.log([0.2, 0.5, 0.3])], N),
            stats.rv_discrete(values=([0, 1, 2], [0.2, 0.5, 0.3])),
        ),
    ],
)
def test_discrete_distributions(draw, law):
    tf.random.set_seed(12)
    values, counts = np.unique(np.asarray(draw()), return_counts=True)
    common = counts > 20
    expected = N * law.pmf(values[common])
    assert (np.abs(counts[common] - expected) < 5 * np.sqrt(expected)).all()


def test_large_draws_are_the_small_ones_continued():
    whole = tf.random.stateless_uniform((100_000,), (1, 2)).numpy()
    assert np.array_equal(whole[:7], tf.random.stateless_uniform((7,), (1, 2)).numpy())
    assert len(np.unique(whole)) > 99_000


def test_categories_of_no_probability_do_not_occur():
    drawn = tf.random.categorical([[0.0, -np.inf, 1.0, np.nan]], 1000).numpy()
    assert set(drawn.ravel()) == {0, 2}


def test_a_shuffle_moves_whole_slices():
    x = np.arange(20).reshape(10, 2)
    shuffled = tf.random.shuffle(x, seed=1).numpy()
    assert not np.array_equal(shuffled, x)
    assert np.array_equal(shuffled[np.argsort(shuffled[:, 0])], x)
    assert tf.random.shuffle(3).numpy() == 3
    assert tf.random.shuffle(tf.zeros((0, 2))).shape == (0, 2)


# ---------------------------------------------------------------------------------------------------------------------
# Gradients


def gradients(draw, *parameters):
    tensors = [tf.constant(p, tf.float64) for p in parameters]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        drawn = draw(*tensors)
    return drawn.numpy(), [np.asarray(g) for g in tape.gradient(drawn, tensors)]


def test_normal_and_uniform_numbers_follow_their_parameters():
    drawn, (by_mean, by_stddev) = gradients(
        lambda m, s: tf.random.stateless_normal((3,), (1, 2), m, s, tf.float64), 1.0, 2.0
    )
    assert by_mean == 3
    np.testing.assert_allclose(by_stddev, ((drawn - 1) / 2).sum())
    drawn, (by_low, by_high) = gradients(
        lambda a, b: tf.random.stateless_uniform((3,), (1, 2), a, b, tf.float64), 1.0, 3.0
    )
    np.testing.assert_allclose([by_low, by_high], [(1 - (drawn - 1) / 2).sum(), ((drawn - 1) / 2).sum()])


@pytest.mark.parametrize("alpha", [0.05, 0.7, 3.0, 40.0, 1000.0])
def test_gamma_samples_follow_their_parameters(alpha):
    # dx/dalpha where the quantile stays: by differences of the inverse distribution function.
    drawn, (by_alpha, by_beta) = gradients(
        lambda a, b: tf.random.stateless_gamma((), (5, 6), a, b, tf.float64), alpha, 2.0
    )
    quantile = stats.gamma.cdf(drawn * 2, alpha)
    h = 1e-4 * alpha
    expected = (stats.gamma.ppf(quantile, alpha + h) - stats.gamma.ppf(quantile, alpha - h)) / (2 * h) / 2
    np.testing.assert_allclose(by_alpha, expected, rtol=1e-5)
    np.testing.assert_allclose(by_beta, -drawn / 2)


def test_the_gradient_of_a_gamma_mean_is_one():
    alpha = tf.Variable([0.5, 4.0])
    with tf.GradientTape() as tape:
        mean = tf.reduce_mean(tf.random.stateless_gamma((N, 2), (1, 2), alpha), axis=0)
    np.testing.assert_allclose(tape.gradient(mean, alpha), [1.0, 1.0], atol=0.05)


def test_gradients_pass_a_shuffle():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.random.shuffle(x, seed=2) * [1.0, 10.0, 100.0]
    assert sorted(tf.convert_to_tensor(tape.gradient(y, x)).numpy()) == [1.0, 10.0, 100.0]


# ---------------------------------------------------------------------------------------------------------------------
# Shapes, dtypes, states, initializers


@pytest.mark.parametrize(
    ("draw", "shape", "dtype"),
    [
        (lambda: tf.random.normal([2, 3]), (2, 3), "float32"),
        (lambda: tf.random.normal(tf.constant([2])), (2,), "float32"),
        (lambda: tf.random.normal((2,), [1.0, 2.0], [[1.0], [2.0]]), (2, 2), "float32"),
        (lambda: tf.random.normal((0, 2)), (0, 2), "float32"),
        (lambda: tf.random.truncated_normal((0,)), (0,), "float32"),
        (lambda: tf.random.gamma((7, 5), [0.5, 1.5]), (7, 5, 2), "float32"),
        (lambda: tf.random.gamma((7,), [[1.0], [2.0]], [1.0, 2.0, 3.0]), (7, 2, 3), "float32"),
        (lambda: tf.random.gamma((), 1.0, dtype=tf.bfloat16), (), "bfloat16"),
        (lambda: tf.random.gamma((0,), [1.0]), (0, 1), "float32"),
        (lambda: tf.random.stateless_gamma((4, 2), (1, 2), [[1.0]]), (4, 2), "float32"),
        (lambda: tf.random.poisson((3,), [1.0, 2.0], tf.int64), (3, 2), "int64"),
        (lambda: tf.random.stateless_poisson((3, 2), (1, 2), [1.0, 2.0]), (3, 2), "int32"),
        (lambda: tf.random.categorical(tf.zeros((4, 3)), 5, tf.int32), (4, 5), "int32"),
        (lambda: tf.random.categorical(tf.zeros((0, 3)), 5), (0, 5), "int64"),
        (lambda: tf.random.get_global_generator().uniform_full_int((2,)), (2,), "uint64"),
        (lambda: tf.zeros_initializer()((2,), tf.int32), (2,), "int32"),
        (lambda: tf.ones_initializer()((2,)), (2,), "float32"),
        (lambda: tf.constant_initializer([1, 2])((2, 1)), (2, 1), "int32"),
        (lambda: tf.random_normal_initializer()((2,), tf.float64), (2,), "float64"),
        (lambda: tf.random_uniform_initializer()((2,)), (2,), "float32"),
    ],
)
def test_shapes_and_dtypes(draw, shape, dtype):
    drawn = draw()
    assert (drawn.shape, drawn.dtype.name) == (shape, dtype)


def test_extreme_parameters():
    assert np.isnan(tf.random.gamma((2,), -1.0)).all()
    assert (tf.random.gamma((2,), 1e-30).numpy() == np.finfo(np.float32).tiny).all()
    assert (tf.random.poisson((2,), 0.0).numpy() == 0).all()
    assert (tf.random.stateless_binomial((2,), (1, 2), 9, 1.0).numpy() == 9).all()


def test_the_state_of_a_generator():
    g = Generator.from_seed(1234)
    assert g.state.numpy().tolist() == [1234, 0, 0]
    before = g.normal((2, 3))
    assert g.state.numpy().tolist() == [1234 + 6 * 256, 0, 0]
    assert int(g.key) == 0
    assert g.algorithm == tf.random.Algorithm.PHILOX.value
    assert g.skip(3).numpy().tolist() == [2770, 0, 0]
    copy = Generator(copy_from=g)
    assert np.array_equal(copy.uniform((2,)), g.uniform((2,)))
    g.reset_from_seed(1234)
    assert np.array_equal(g.normal((2, 3)), before)
    g.reset([1, 2, 3])
    assert np.array_equal(g.normal((2,)), Generator.from_key_counter(3, [1, 2], "philox").normal((2,)))
    g.reset_from_key_counter(3, [1, 2])
    assert g.state.numpy().tolist() == [1, 2, 3]
    assert tf.random.create_rng_state([1, 2], "philox").numpy().tolist() == [0, 1, 2]


def test_a_generator_may_use_a_variable_of_ones_own():
    state = tf.Variable(np.int64([1, 0, 0]))
    Generator(state=state, alg="philox").normal(())
    assert state.numpy().tolist() == [257, 0, 0]


def test_initializers_describe_themselves():
    made = tf.random_normal_initializer(1.0, 2.0, seed=3)
    assert made.get_config() == {"mean": 1.0, "stddev": 2.0, "seed": 3}
    again = tf.random_normal_initializer.from_config(made.get_config())
    assert np.array_equal(again((3,)), made((3,)))


# ---------------------------------------------------------------------------------------------------------------------
# Bad input

Invalid = errors.InvalidArgumentError
BAD = {
    "negative shape": (lambda: tf.random.normal([-3]), Invalid, "no negative lengths"),
    "integer normal": (
        lambda: tf.random.normal([3], dtype=tf.int32),
        TypeError,
        "must be floating, not int32",
    ),
    "mean, dtype": (
        lambda: tf.random.normal([3], tf.constant(1.0, tf.float64)),
        TypeError,
        "float32 is needed",
    ),
    "no maxval": (lambda: tf.random.uniform([3], dtype=tf.int32), ValueError, "need minval and maxval"),
    "uniform int8": (lambda: tf.random.uniform([3], 0, 3, tf.int8), ValueError, "32 or 64 bits, not int8"),
    "empty range": (lambda: tf.random.uniform([3], 3, 3, tf.int32), Invalid, "minval must be below maxval"),
    "range of vectors": (lambda: tf.random.uniform([3], [1], 3, tf.int32), Invalid, "must be scalars"),
    "seed, shape": (
        lambda: tf.random.stateless_normal([3], [1, 2, 3]),
        Invalid,
        "must have shape [2], not [3]",
    ),
    "seed, dtype": (lambda: tf.random.stateless_normal([3], [1.0, 2.0]), Invalid, "must be two integers"),
    "seed, text": (lambda: tf.random.set_seed("a"), TypeError, "must be one integer, not 'a'"),
    "unsigned range": (
        lambda: tf.random.stateless_uniform([3], (1, 2), 0, 3, tf.uint32),
        ValueError,
        "uint32 is drawn from its whole range only",
    ),
    "half a range": (
        lambda: tf.random.stateless_uniform([3], (1, 2), 0, None, tf.int32),
        ValueError,
        "None for both",
    ),
    "gamma, broadcast": (
        lambda: tf.random.gamma([3], [1.0, 2.0], [1.0, 2.0, 3.0]),
        Invalid,
        "do not broadcast",
    ),
    "gamma, cover": (
        lambda: tf.random.stateless_gamma([2], (1, 2), tf.ones((3, 2))),
        Invalid,
        "do not broadcast to",
    ),
    "gamma, dtype": (lambda: tf.random.gamma([3], 1, dtype=tf.int32), ValueError, "must be floating"),
    "poisson, dtype": (lambda: tf.random.poisson([3], 1.0, tf.bool), TypeError, "floating, int32 or int64"),
    "poisson, rate": (lambda: tf.random.poisson([3], np.inf), Invalid, "too large or not finite"),
    "binomial": (lambda: tf.random.stateless_binomial([3], (1, 2), 5, 1.5), Invalid, "probs lie in [0, 1]"),
    "logits, rank": (lambda: tf.random.categorical([1.0], 3), Invalid, "[batch, classes]"),
    "logits, classes": (lambda: tf.random.categorical([[]], 3), Invalid, "at least one class"),
    "logits, dtype": (lambda: tf.random.categorical([[1]], 3), Invalid, "must be floating"),
    "samples": (lambda: tf.random.categorical([[1.0]], -3), Invalid, "num_samples must be at least 0"),
    "samples, dtype": (lambda: tf.random.categorical([[1.0]], 3, tf.float32), ValueError, "int32 or int64"),
    "state": (lambda: Generator.from_state([1, 2], "philox"), ValueError, "is 3 integers, not [1, 2]"),
    "no state": (lambda: Generator(), ValueError, "needs copy_from, or state and alg"),
    "algorithm": (lambda: Generator.from_seed(1, "foo"), ValueError, "must be 'philox' or 'auto_select'"),
    "threefry": (
        lambda: Generator.from_seed(1, "threefry"),
        errors.UnimplementedError,
        "needs an XLA device",
    ),
    "full int": (
        lambda: Generator.from_seed(1).uniform_full_int([2], tf.float32),
        Invalid,
        "must be an integer",
    ),
    "fold_in": (lambda: tf.random.fold_in((1, 2), [3, 4]), Invalid, "must be one integer"),
    "initializer": (lambda: tf.zeros_initializer()((2,), tf.string), ValueError, "numeric or bool"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    compute, error, message = BAD[name]
    with pytest.raises(error, match=re.escape(message)):
        compute()
