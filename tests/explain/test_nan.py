"""find_nan names the first operation that made a NaN or an infinity, and knows the usual cures."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.explain.nan import LOGSUMEXP, SOFTMAX, WHERE

ZERO_ROOT = (
    "the derivative of sqrt at 0 is infinite: use tf.sqrt(tf.maximum(x, 1e-12)), or for a length tf.norm, whose "
    "gradient at 0 is 0"
)
LOG_ZERO = (
    "log(0) is -inf: use tf.math.log(tf.maximum(x, 1e-12)), or a loss that takes logits, such as "
    "tf.nn.softmax_cross_entropy_with_logits"
)
DIVISION = "a division by 0: use tf.math.divide_no_nan(x, y), or add a small number to the divisor"


def normalized(x):
    e = tf.exp(x)
    return e / tf.reduce_sum(e) * [1.0, 2.0]


@tf.custom_gradient
def root_of_rest(x):
    root = tf.sqrt(1.0 - x)
    return root, lambda g: -g / (2.0 * root)


# name: (value, function, direction, operation, kind, hint)
CASES = {
    "softmax by hand": ([1.0, 200.0], normalized, "forward", "exp", "Inf", SOFTMAX),
    "logsumexp by hand": (
        [1.0, 200.0],
        lambda x: tf.math.log(tf.reduce_sum(tf.exp(x))),
        "forward",
        "exp",
        "Inf",
        LOGSUMEXP,
    ),
    "log of 0": ([0.0, 1.0], lambda x: -tf.math.log(x) * [0.0, 1.0], "forward", "log", "Inf", LOG_ZERO),
    "log of a negative number": (
        [-1.0, 1.0],
        tf.math.log,
        "forward",
        "log",
        "NaN",
        "the logarithm of a negative number is nan: make sure that x > 0",
    ),
    "0 / 0": ([0.0, 1.0], lambda x: x / x, "forward", "divide", "NaN", DIVISION),
    "root of a negative number": (
        [-1.0, 1.0],
        tf.sqrt,
        "forward",
        "sqrt",
        "NaN",
        "the root of a negative number is nan: use tf.sqrt(tf.maximum(x, 0.0))",
    ),
    "broken power": (
        [-1.0, 1.0],
        lambda x: x**0.3,
        "forward",
        "pow",
        "NaN",
        "a negative number to a broken power is nan: use tf.abs(x), or tf.maximum(x, 0.0)",
    ),
    "length at 0": (
        [0.0, 0.0],
        lambda x: tf.sqrt(tf.reduce_sum(x * x)),
        "backward",
        "sqrt",
        "Inf",
        ZERO_ROOT,
    ),
    "power at 0": (
        [0.0, 2.0],
        lambda x: x**0.3,
        "backward",
        "pow",
        "Inf",
        "the derivative of x ** p at 0 is infinite for p < 1: add a small number to the base",
    ),
    "acos at 1": (
        [1.0, 0.5],
        tf.acos,
        "backward",
        "acos",
        "Inf",
        "the derivative of acos at -1 and 1 is infinite: keep its input inside, with tf.clip_by_value",
    ),
    "untaken branch": (
        [1.0, 200.0],
        lambda x: tf.where(x < 50.0, tf.exp(x), 0.0),
        "forward",
        "exp",
        "Inf",
        WHERE,
    ),
    "untaken branch, backward alone": (
        [1.0, 0.5],
        lambda x: tf.where(x < 1.0, root_of_rest(x), 0.0),
        "backward",
        "root_of_rest",
        "NaN",
        WHERE,
    ),
    "not a number in the data": (
        [1.0, 2.0],
        lambda x: x * tf.constant([np.nan, 1.0]),
        "input",
        "multiply",
        "NaN",
        "",
    ),
}


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_first_one_is_found(name, traced):
    value, f, direction, operation, kind, hint = CASES[name]
    x = tf.Variable(value)
    tracing = tf.debugging.trace_origins() if traced else None
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(f(x) + 0.0)
    found = tf.debugging.find_nan(tape, y, x)
    if tracing is not None:
        tracing.stop()
        assert "test_nan.py:" in found.where
    assert (found.direction, found.operation, found.kind, found.hint) == (direction, operation, kind, hint)
    assert found
    assert found.inputs
    assert operation in str(found)
    assert found.to_dict()["direction"] == direction


def test_where_all_is_finite_there_is_nothing():
    x = tf.Variable([0.0, 3.0])
    with tf.GradientTape() as tape:
        y = tf.norm(x)
    found = tf.debugging.find_nan(tape, y, x)
    assert not found
    assert str(found) == "no NaN, no infinity: neither forward nor backward"
    assert tape.gradient(y, x) is not None


def test_inputs_are_summed_up():
    x = tf.Variable(np.linspace(-1.0, 5.0, 100).astype("float32") * (np.arange(100) > 50))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.math.log(x))
    assert "float32[100] 0 to 5, 51 zero" in str(tf.debugging.find_nan(tape, y, x)).replace("-0 to", "0 to")


def test_a_used_tape_cannot_be_searched():
    x = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        y = tf.sqrt(x)
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="Ask before gradient"):
        tf.debugging.find_nan(tape, y, x)
