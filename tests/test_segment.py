"""Segments, and counts of numbers: values as TensorFlow gives them, gradients by hand, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf

Invalid = tf.errors.InvalidArgumentError
LOWEST, HIGHEST = np.finfo(np.float32).min, np.finfo(np.float32).max
DATA = np.float32([[1, -2], [3, 4], [5, 6], [-7, 8]])


def gradient(function, array, weights):
    x = tf.constant(array)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x, output_gradients=tf.constant(weights)).numpy()


# ---------------------------------------------------------------------------------------------------------------------
# Segments


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", [[4, 2], [0, 0], [-2, 14]]),
        ("mean", [[2, 1], [0, 0], [-1, 7]]),
        ("max", [[3, 4], [0, 0], [5, 8]]),
        ("min", [[1, -2], [0, 0], [-7, 6]]),
        ("prod", [[3, -8], [1, 1], [-35, 48]]),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "int8"])
def test_sorted_segments(name, expected, dtype):
    data = tf.cast(DATA, dtype)
    for ids in ([0, 0, 2, 2], np.int64([0, 0, 2, 2])):
        out = getattr(tf.math, f"segment_{name}")(data, ids)
        assert out.dtype == dtype
        assert_array_equal(tf.cast(out, "float32"), np.float32(expected))


@pytest.mark.parametrize(
    ("name", "expected", "empty"),
    [
        ("sum", [[3, 4], [-6, 6]], 0),
        ("mean", [[3, 4], [-3, 3]], 0),
        ("sqrt_n", [[3, 4], np.float32([-6, 6]) / np.sqrt(np.float32(2))], 0),
        ("max", [[3, 4], [1, 8]], LOWEST),
        ("min", [[3, 4], [-7, -2]], HIGHEST),
        ("prod", [[3, 4], [-7, -16]], 1),
    ],
)
def test_unsorted_segments_leave_negative_ids_out(name, expected, empty):
    function = getattr(tf.math, f"unsorted_segment_{name}")
    out = function(DATA, [2, 0, -1, 2], 4)
    assert_allclose(
        out, np.float32([expected[0], [empty] * 2, expected[1], [empty] * 2]), rtol=1e-7, strict=True
    )
    assert_array_equal(
        function(DATA[:0], np.zeros(0, int), 2), np.full((2, 2), empty, np.float32), strict=True
    )
    assert function(DATA[:, :0], [0, 1, 1, 0], 3).shape == (3, 0)


def test_unsorted_ids_may_cover_several_axes_or_none():
    assert_array_equal(
        tf.math.unsorted_segment_sum([[1.0, 2.0], [3.0, 4.0]], [[1, 0], [1, 1]], 3), [2.0, 8.0, 0.0]
    )
    assert_array_equal(tf.math.unsorted_segment_max(2.0, 1, tf.constant(2)), [LOWEST, 2.0])


def test_integers():
    assert_array_equal(
        tf.math.segment_mean([1, 2, 5, -7, 0], [0, 0, 0, 1, 1]), np.int32([2, -3]), strict=True
    )
    assert_array_equal(tf.math.unsorted_segment_mean([1, 2], [0, 0], 1), [1.5], strict=True)
    assert_array_equal(tf.math.unsorted_segment_max(np.int8([3]), [1], 2), np.int8([-128, 3]), strict=True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", [1, 10, 1, 1, 10]),
        ("mean", [1 / 3, 5, 1 / 3, 1 / 3, 5]),
        ("max", [0.5, 10, 0.5, 0, 0]),
        ("min", [0, 0, 0, 1, 10]),
        ("prod", [0, 0, 0, 9, 50]),
    ],
)
def test_gradients_are_shared_between_equals_and_exact_at_zeros(name, expected):
    data, ids, weights = [3.0, 5.0, 3.0, 0.0, 0.0], [0, 1, 0, 0, 1], [1.0, 10.0]
    out = gradient(lambda x: getattr(tf.math, f"unsorted_segment_{name}")(x, ids, 2), data, weights)
    assert_allclose(out, np.float32(expected), rtol=1e-6)
    in_order = np.argsort(ids, kind="stable")
    ordered = gradient(
        lambda x: getattr(tf.math, f"segment_{name}")(x, np.sort(ids)), np.float32(data)[in_order], weights
    )
    assert_allclose(ordered, np.array(expected)[in_order], rtol=1e-6)


def test_the_product_of_a_long_segment_has_the_gradient_of_a_product():
    x = np.random.default_rng(0).uniform(0.5, 1.5, 100)
    x[17] = 0
    ids = np.repeat([0, 1, 0], [30, 5, 65])
    out = gradient(lambda x: tf.math.unsorted_segment_prod(x, ids, 2), x, np.ones(2))
    others = [np.prod(np.delete(x, i)[np.delete(ids, i) == ids[i]]) for i in range(100)]
    assert_allclose(out, others, rtol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Counts


@pytest.mark.parametrize(
    ("arguments", "options", "expected"),
    [
        (([1, 1, 3],), {}, np.int32([0, 2, 0, 1])),
        (([[1, 1], [0, 2]],), {}, np.int32([1, 2, 1])),
        (([[1, 1], [0, 2]],), {"axis": 0}, np.int32([1, 2, 1])),
        (([[1, 1], [0, 2]],), {"axis": -1}, np.int32([[0, 2, 0], [1, 0, 1]])),
        (([[1, 1], [0, 2]],), {"axis": -1, "binary_output": True}, np.int32([[0, 1, 0], [1, 0, 1]])),
        (([[1, 1], [0, 2]], [[0.5, 0.25], [1.0, 2.0]]), {"axis": -1}, np.float32([[0, 0.75, 0], [1, 0, 2]])),
        (([1, 1, 3], [0.5, 0.5, 2.0]), {}, np.float32([0, 1, 0, 2])),
        (([1, 1, 3], [1, 2, 3]), {}, np.int32([0, 3, 0, 3])),
        (([1, 1],), {"minlength": 4}, np.int32([0, 2, 0, 0])),
        (([1, 1, 5],), {"maxlength": 3}, np.int32([0, 2, 0])),
        (([1, 1, 5],), {"minlength": 8, "maxlength": 3}, np.int32([0, 2, 0])),
        (([1, 1, 3],), {"dtype": tf.float64}, np.float64([0, 2, 0, 1])),
        (([1.0, 2.0],), {}, np.int32([0, 1, 1])),
        ((3,), {}, np.int32([0, 0, 0, 1])),
        ((np.zeros(0, np.int32),), {}, np.zeros(0, np.int32)),
        ((np.zeros(0, np.int32),), {"minlength": 2}, np.int32([0, 0])),
    ],
)
def test_bincount(arguments, options, expected):
    assert_array_equal(tf.math.bincount(*arguments, **options), expected, strict=True)


def test_weights_of_a_bincount_have_gradients():
    out = gradient(lambda w: tf.math.bincount([1, 1, 3], w, maxlength=3), [1.0, 2.0, 3.0], [1.0, 10.0, 100.0])
    assert_array_equal(out, [10.0, 10.0, 0.0])


VALUES = [-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]


def test_histograms():
    assert_array_equal(
        tf.histogram_fixed_width(VALUES, [0.0, 5.0], nbins=5), np.int32([2, 1, 1, 0, 2]), strict=True
    )
    assert_array_equal(
        tf.histogram_fixed_width([VALUES, VALUES], [0.0, 5.0], 5, tf.int64),
        np.int64([4, 2, 2, 0, 4]),
        strict=True,
    )
    assert_array_equal(tf.histogram_fixed_width([0, 1, 2, 5], [0, 5], nbins=5), [1, 1, 1, 0, 1])
    assert_array_equal(tf.histogram_fixed_width(np.zeros(0, np.float32), [0.0, 1.0], 2), [0, 0])
    assert_array_equal(
        tf.histogram_fixed_width_bins([VALUES], [0.0, 5.0], nbins=5),
        np.int32([[0, 0, 1, 2, 4, 4]]),
        strict=True,
    )


def test_float32_values_lie_in_the_bin_that_they_do_as_exact_numbers():
    edges = np.float32(np.arange(0, 1.01, 0.1))  # 0.7 and 0.9 are a little less
    assert_array_equal(tf.histogram_fixed_width(edges, [0.0, 1.0], 10), [1, 1, 1, 1, 1, 1, 2, 0, 2, 1])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, np.int32([[1, 0, 0], [1, 1, 0], [0, 0, 1]])),
        ({"num_classes": 4}, np.int32([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]])),
        ({"dtype": tf.float32}, np.float32([[1, 0, 0], [1, 1, 0], [0, 0, 1]])),
        (
            {"weights": [0.5, 2.0, 3.0, 4.0], "dtype": tf.float32},
            np.float32([[0.5, 0, 0], [3, 2, 0], [0, 0, 4]]),
        ),
        ({"weights": [0.5, 2.0, 3.0, 4.0]}, np.int32([[0, 0, 0], [3, 2, 0], [0, 0, 4]])),
    ],
)
def test_confusion_matrix(options, expected):
    for labels in ([0, 1, 1, 2], [[0], [1], [1], [2]]):
        assert_array_equal(tf.math.confusion_matrix(labels, [0, 1, 0, 2], **options), expected, strict=True)


def test_weights_of_a_confusion_matrix_have_gradients():
    weights = np.float32([[1, 2], [3, 4]])
    out = gradient(
        lambda w: tf.math.confusion_matrix([0, 1, 1], [1, 1, 0], weights=w, dtype=tf.float32),
        [1.0, 1.0, 1.0],
        weights,
    )
    assert_array_equal(out, [2.0, 4.0, 3.0])


# ---------------------------------------------------------------------------------------------------------------------
# What is refused

SEGMENT = tf.math.segment_sum
UNSORTED = tf.math.unsorted_segment_sum


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: SEGMENT([1.0, 2.0], [1, 0]), Invalid, "in order; use unsorted_segment_sum"),
        (lambda: SEGMENT([1.0, 2.0], [-1, 0]), Invalid, "segment_ids must be 0 or more"),
        (lambda: SEGMENT([1.0, 2.0], [0]), Invalid, r"one id for each row of data, not of shape \[1\]"),
        (lambda: SEGMENT([[1.0, 2.0]], [[0, 0]]), Invalid, "segment_ids must be a vector"),
        (lambda: SEGMENT(1.0, 0), Invalid, "segment_ids must be a vector"),
        (lambda: SEGMENT([1.0], [0.0]), TypeError, "segment_ids must be integers, not float32"),
        (lambda: SEGMENT([True], [0]), TypeError, "segment_sum takes numbers, not bool"),
        (lambda: tf.math.segment_max([1j], [0]), TypeError, "segment_max takes real numbers, not complex128"),
        (
            lambda: UNSORTED([1.0, 2.0], [5, 0], 2),
            Invalid,
            r"index 5 is out of bounds: it must lie in \[0, 2\)",
        ),
        (
            lambda: UNSORTED([1.0, 2.0], [0], 1),
            Invalid,
            r"segment_ids, \[1\], must start that of data, \[2\]",
        ),
        (lambda: UNSORTED([1.0], [0], -1), Invalid, "num_segments must be at least 0, not -1"),
        (lambda: UNSORTED([1.0], [0], 2.5), TypeError, "num_segments must be one integer"),
        (lambda: tf.math.unsorted_segment_min([True], [0], 1), TypeError, "takes (real )?numbers, not bool"),
        (
            lambda: tf.math.unsorted_segment_sqrt_n([1], [0], 1),
            TypeError,
            "takes floating tensors, not int32",
        ),
        (lambda: tf.math.bincount([-1, 1]), Invalid, "arr must hold numbers of at least 0, not -1"),
        (lambda: tf.math.bincount([1], axis=1), ValueError, "axis must be None, 0 or -1, not 1"),
        (lambda: tf.math.bincount([1], [1.0], binary_output=True), ValueError, "weights or binary_output"),
        (
            lambda: tf.math.bincount([1, 1], [1.0]),
            Invalid,
            r"weights of shape \[1\] must have the shape of arr",
        ),
        (lambda: tf.histogram_fixed_width(VALUES, [5.0, 0.0]), Invalid, r"\[low, high\], not \[5.0, 0.0\]"),
        (lambda: tf.histogram_fixed_width_bins(VALUES, [0.0]), Invalid, r"value_range must be \[low, high\]"),
        (
            lambda: tf.histogram_fixed_width(VALUES, [0.0, 1.0], 0),
            Invalid,
            "nbins must be a number of at least 1",
        ),
        (lambda: tf.histogram_fixed_width([np.nan], [0.0, 1.0]), Invalid, "nan"),
        (lambda: tf.histogram_fixed_width(VALUES, [0.0, 1.0], dtype=tf.float32), TypeError, "int32 or int64"),
        (lambda: tf.math.confusion_matrix([1, 2], [1]), Invalid, "must have the same shape"),
        (lambda: tf.math.confusion_matrix([-1], [0]), Invalid, "labels: index -1 is out of bounds"),
        (lambda: tf.math.confusion_matrix([0], [3], 2), Invalid, "predictions: index 3 is out of bounds"),
        (lambda: tf.math.confusion_matrix([0], [0], weights=2), ValueError, r"weights of shape \[\]"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
