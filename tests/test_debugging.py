"""Assertions, checks for what is not a finite number, test.compute_gradient."""

import re
import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.core import errors

d, c = tf.debugging, tf.constant

HOLD = {
    "equal": lambda: d.assert_equal(c([1, 2]), [1, 2]),
    "equal, broadcast": lambda: d.assert_equal(c([1, 1]), 1),
    "equal, strings": lambda: d.assert_equal(["a"], ["a"]),
    "equal, empty": lambda: d.assert_equal(tf.zeros((0, 2)), 1.0),
    "none equal": lambda: d.assert_none_equal([1, 2], [2, 1]),
    "less": lambda: d.assert_less([1, 2], 3),
    "less or equal": lambda: d.assert_less_equal([1, 2], 2),
    "greater": lambda: d.assert_greater([1, 2], 0),
    "greater or equal": lambda: d.assert_greater_equal([1, 2], 1),
    "near": lambda: d.assert_near([1.0, 0.0], [1.0 + 1e-7, 0.0]),
    "near, by choice": lambda: d.assert_near(1.0, 1.1, rtol=0.2),
    "near, half precision": lambda: d.assert_near(c(1.0, tf.float16), c(1.001, tf.float16)),
    "near, bfloat16": lambda: d.assert_near(c(1.0, tf.bfloat16), c(1.01, tf.bfloat16)),
    "near, complex": lambda: d.assert_near(c(1 + 1j), c(1 + 1j)),
    "positive": lambda: d.assert_positive([1, 2]),
    "negative": lambda: d.assert_negative([-1]),
    "not negative": lambda: d.assert_non_negative([0, 1]),
    "not positive": lambda: d.assert_non_positive([0, -1]),
    "rank": lambda: d.assert_rank([[1]], 2),
    "rank at least": lambda: d.assert_rank_at_least([[1]], 1),
    "rank in": lambda: d.assert_rank_in([[1]], (1, 2)),
    "type": lambda: d.assert_type(c(1.0), tf.float32),
    "integer": lambda: d.assert_integer([1]),
    "iterable": lambda: d.assert_proper_iterable({}),
    "shapes": lambda: d.assert_shapes([(c([[1, 2]]), ("N", "D")), (c([1, 2]), "D"), (c([[1, 2]]), (1, 2))]),
    "shapes, open": lambda: d.assert_shapes(
        [(c([[1, 2]]), (None, ".")), (c([[[1, 2]]]), ("*", "D")), (c([1, 2]), (..., "D"))]
    ),
    "shapes, a number as a vector": lambda: d.assert_shapes([(c(1), ("N",)), (c(1), ())]),
    "shapes, by reference": lambda: d.assert_shapes({c([1]).ref(): ("N",)}),
    "Assert": lambda: d.Assert(True, ["not shown"]),
}


@pytest.mark.parametrize("name", HOLD)
def test_what_holds_passes_in_silence(name):
    assert HOLD[name]() is None


def test_some_assertions_give_something_back():
    assert d.assert_scalar(1.5).numpy() == 1.5
    assert d.assert_all_finite([1.5], "m").numpy().tolist() == [1.5]
    assert d.assert_same_float_dtype() is tf.float32
    assert d.assert_same_float_dtype([c(1.0, tf.float64)]) is tf.float64
    assert d.assert_same_float_dtype(dtype=tf.float16) is tf.float16


Invalid = errors.InvalidArgumentError
FAIL = {
    "equal": (
        lambda: d.assert_equal([1, 2], [1, 3], message="boo"),
        Invalid,
        "boo\nassert_equal: x == y does not hold everywhere:\n  at [1]: x is 2, y is 3",
    ),
    "equal, summarized": (
        lambda: d.assert_equal(tf.zeros(5), 1.0, summarize=1),
        Invalid,
        "at [0]: x is 0.0, y is 1.0\n  and at 4 more",
    ),
    "equal, shapes": (
        lambda: d.assert_equal([1, 2], [1, 2, 3]),
        Invalid,
        "[2] and [3] of x and y do not broadcast",
    ),
    "equal, dtypes": (lambda: d.assert_equal(c(1), c(1.0)), Invalid, "x is int32 and y is float32"),
    "none equal": (lambda: d.assert_none_equal([1, 2], [1, 3]), Invalid, "x != y does not hold everywhere"),
    "less": (lambda: tf.assert_less(2, 2), Invalid, "x < y does not hold: x is 2, y is 2"),
    "less or equal": (lambda: d.assert_less_equal(3, 2), Invalid, "x <= y"),
    "greater": (lambda: tf.assert_greater(2, 2), Invalid, "x > y"),
    "greater or equal": (lambda: d.assert_greater_equal(1, 2), Invalid, "x >= y"),
    "near": (lambda: d.assert_near(1.0, 1.1), Invalid, "|x - y| <"),
    "near nan": (lambda: d.assert_near(1.0, np.nan), Invalid, "y is nan"),
    "near integers": (lambda: d.assert_near(1, 1), ValueError, "takes floating tensors"),
    "positive": (lambda: d.assert_positive([1, 0]), Invalid, "x > 0 does not hold"),
    "positive, complex": (lambda: d.assert_positive(1j), TypeError, "real numbers, not complex128"),
    "less, booleans": (lambda: d.assert_less(True, False), TypeError, "real numbers, not bool"),
    "positive nan": (lambda: d.assert_positive([np.nan]), Invalid, "x is nan"),
    "negative": (lambda: d.assert_negative([-1, 0]), Invalid, "x < 0"),
    "not negative": (lambda: d.assert_non_negative([-1]), Invalid, "x >= 0"),
    "not positive": (lambda: d.assert_non_positive([1]), Invalid, "x <= 0"),
    "rank": (lambda: tf.assert_rank([1], 2, "m"), ValueError, "m\nassert_rank: the rank must be 2, and is 1"),
    "rank, fraction": (lambda: d.assert_rank([1], 1.5), TypeError, "a rank is an integer"),
    "rank, vector": (lambda: d.assert_rank([1], [1]), ValueError, "a rank is one number"),
    "rank at least": (lambda: d.assert_rank_at_least([1], 2), ValueError, "at least 2"),
    "rank in": (lambda: d.assert_rank_in([1], (2, 3)), ValueError, "one of [2, 3]"),
    "scalar": (lambda: d.assert_scalar([1]), ValueError, "the rank must be 0, and is 1"),
    "type": (lambda: d.assert_type(c(1.0), tf.int32), TypeError, "must be int32, and is float32"),
    "integer": (lambda: d.assert_integer(1.0), TypeError, "must be an integer, and is float32"),
    "same dtype": (lambda: d.assert_same_float_dtype([c(1.0)], tf.float64), ValueError, "float32, float64"),
    "float dtype": (lambda: d.assert_same_float_dtype([c(1)]), ValueError, "must be floating, and is int32"),
    "iterable": (lambda: d.assert_proper_iterable(c([1])), TypeError, "not Tensor"),
    "iterable, text": (lambda: d.assert_proper_iterable("a"), TypeError, "not str"),
    "shapes": (
        lambda: d.assert_shapes([(c([[1, 2]]), ("N", "D")), (c([1]), ("D",))], message="m"),
        ValueError,
        "m\nassert_shapes: axis 0 of shape (1,) must have length 2, after axis 1 of shape (1, 2)",
    ),
    "shapes, number": (lambda: d.assert_shapes([(c([[1, 2]]), (1, 3))]), ValueError, "must have length 3"),
    "shapes, rank": (
        lambda: d.assert_shapes([(c([[1, 2]]), ("N",))]),
        ValueError,
        "does not have the 1 axes",
    ),
    "shapes, dots": (lambda: d.assert_shapes([(c([1]), ("N", ...))]), ValueError, "in front only"),
    "shapes, what": (lambda: d.assert_shapes([(c([1]), 1)]), ValueError, "a list of lengths and letters"),
    "Assert": (
        lambda: tf.Assert(c(False), ["msg", c([1, 2, 3, 4])], summarize=2),
        Invalid,
        "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: b'msg'\n1, 2, ...",
    ),
    "nan": (lambda: d.check_numerics([1.0, np.nan], "here"), Invalid, "here : Tensor had NaN values"),
    "inf": (lambda: d.check_numerics([-np.inf], "here"), Invalid, "here : Tensor had Inf values"),
    "both": (lambda: d.assert_all_finite([np.inf, np.nan], "here"), Invalid, "Inf and NaN"),
    "bfloat16": (lambda: d.check_numerics(c([np.nan], tf.bfloat16), "here"), Invalid, "NaN"),
    "integers": (lambda: d.check_numerics([1], "here"), Invalid, "takes floating tensors, not int32"),
}


@pytest.mark.parametrize("name", FAIL)
def test_what_does_not_hold_raises(name):
    check, error, message = FAIL[name]
    with pytest.raises(error, match=re.escape(message)):
        check()


def test_check_numerics_checks_the_gradient_too():
    x = c([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = d.check_numerics(x * x, "the square")
        bad = y * [np.nan, 1.0]
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0]
    with pytest.raises(Invalid, match="in the gradient of: the square : Tensor had NaN"):
        tape.gradient(bad, x)


def test_is_numeric_tensor():
    assert d.is_numeric_tensor(c(1))
    assert not any(d.is_numeric_tensor(x) for x in (c("a"), c(True), 1, tf.Variable(1.0)))


# ---------------------------------------------------------------------------------------------------------------------
# Every operation checked


@pytest.fixture
def checked():
    d.enable_check_numerics()
    d.enable_check_numerics()
    yield
    d.disable_check_numerics()


def test_operations_that_give_no_finite_number_raise(checked):
    for compute in (
        lambda: tf.math.log(c(-1.0)),
        lambda: c(1.0) / c(0.0),
        lambda: tf.where(True, c(np.nan), 1.0),
    ):
        with pytest.raises(Invalid, match=r"(NaN|Inf) in the result of (log|divide|select)"):
            compute()
    # What only moves elements did not make them.
    assert np.isnan(tf.reshape(c([np.nan]), (1, 1))).all()
    assert tf.cast(c([1.0]), tf.int32).numpy() == 1


def test_gradients_are_checked_too(checked):
    x = c(0.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sqrt(x)
    with pytest.raises(Invalid, match="Inf in the result of"):
        tape.gradient(y, x)
    v = tf.Variable(4.0)
    with tf.GradientTape() as tape:
        y = tf.sqrt(v)
    assert float(tape.gradient(y, v)) == 0.25


def test_the_check_is_this_threads_alone(checked):
    results = []
    thread = threading.Thread(target=lambda: results.append(float(tf.math.log(c(-1.0)))))
    thread.start()
    thread.join()
    assert np.isnan(results).all()


def test_the_check_ends():
    d.enable_check_numerics()
    d.disable_check_numerics()
    d.disable_check_numerics()
    assert np.isnan(tf.math.log(c(-1.0)))


def test_switches_are_remembered():
    d.set_log_device_placement(True)
    assert d.get_log_device_placement()
    d.set_log_device_placement(False)
    d.disable_traceback_filtering()
    assert not d.is_traceback_filtering_enabled()
    d.enable_traceback_filtering()
    assert d.is_traceback_filtering_enabled()


# ---------------------------------------------------------------------------------------------------------------------
# test.compute_gradient


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: x * x, [[1.0, 2.0]], [[[2, 0], [0, 4]]]),
        (lambda x, y: x * y, [1.0, 2.0], [[[2]], [[1]]]),
        (lambda x: tf.reshape(x[:, :0], (-1,)), [tf.ones((2, 1))], [np.zeros((0, 2))]),
        (lambda x: x * x * 1j, [c(1 + 2j)], [[[-4, -2], [2, -4]]]),
        (
            lambda x: tf.cast(x, tf.complex128) * 1j,
            [c([1.0, 2.0], tf.float64)],
            [[[0, 0], [1, 0], [0, 0], [0, 1]]],
        ),
        (lambda x: c([3.0]), [c(1.0)], [[[0]]]),
    ],
)
def test_compute_gradient(f, x, expected):
    theoretical, numerical = tf.test.compute_gradient(f, x)
    for got in (theoretical, numerical):
        assert len(got) == len(expected)
        for jacobian, wanted in zip(got, expected, strict=True):
            np.testing.assert_allclose(jacobian, wanted, atol=1e-3)


def test_compute_gradient_refuses_what_it_cannot_take():
    with pytest.raises(ValueError, match="a list of the arguments, not Tensor"):
        tf.test.compute_gradient(tf.square, c(1.0))
    with pytest.raises(TypeError, match="argument 0 must be floating, not int32"):
        tf.test.compute_gradient(tf.square, [1])


def test_there_is_no_gpu():
    assert not tf.test.is_gpu_available()
    assert tf.test.gpu_device_name() == ""
    assert not tf.test.is_built_with_cuda()
