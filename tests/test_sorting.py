"""Sorting, searching, the largest, the distinct: values as TensorFlow gives them, ties included; what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gradtape as tf

Invalid = tf.errors.InvalidArgumentError
inf, nan = np.inf, np.nan
X = np.array([[3, 1, 2, 1], [0, 0, 5, -1]])
NUMBERS = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int8"]


def gradient(function, array, weights):
    x = tf.constant(array)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x, output_gradients=tf.constant(weights)).numpy()


# ---------------------------------------------------------------------------------------------------------------------
# Sorting


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sort(dtype, axis):
    x = tf.cast(X, dtype)
    up, down = tf.sort(x, axis), tf.sort(x, axis, "DESCENDING")
    assert up.dtype == down.dtype == dtype
    assert_array_equal(tf.cast(up, tf.int32), np.sort(X, axis))
    assert_array_equal(tf.cast(down, tf.int32), np.flip(np.sort(X, axis), axis))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_in_both_directions_equal_elements_keep_their_order(dtype):
    x = tf.cast(X, dtype)
    assert_array_equal(tf.argsort(x), np.int32([[1, 3, 2, 0], [3, 0, 1, 2]]), strict=True)
    assert_array_equal(tf.argsort(x, direction="DESCENDING"), [[0, 2, 1, 3], [2, 0, 1, 3]])
    assert_array_equal(
        tf.argsort(x, axis=0, direction="DESCENDING", stable=True), [[0, 0, 1, 0], [1, 1, 0, 1]]
    )


def test_the_extremes_of_integers_sort_downwards():
    x = np.int32([-(2**31), 5, 2**31 - 1])
    assert_array_equal(tf.sort(x, direction="DESCENDING"), x[::-1])
    assert_array_equal(tf.argsort(np.uint8([3, 0, 255]), direction="DESCENDING"), [2, 0, 1])


@pytest.mark.parametrize(
    ("direction", "expected"), [("ASCENDING", [4.0, 1.0, 3.0, 2.0]), ("DESCENDING", [1.0, 3.0, 2.0, 4.0])]
)
def test_the_gradient_goes_where_an_element_came_from(direction, expected):
    out = gradient(lambda x: tf.sort(x, direction=direction), [3.0, 1.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0])
    assert_array_equal(out, expected)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,)])
def test_sorting_little(shape):
    assert tf.sort(tf.zeros(shape)).shape == tf.argsort(tf.zeros(shape)).shape == shape
    assert gradient(tf.sort, np.zeros(shape), np.ones(shape)).shape == shape


# ---------------------------------------------------------------------------------------------------------------------
# The largest


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("k", [0, 1, 2, 4])
def test_top_k_takes_the_first_of_equals(dtype, k):
    values, indices = tf.math.top_k(tf.cast(X, dtype), k)
    assert values.dtype == dtype
    expected = np.int32([[0, 2, 1, 3], [2, 0, 1, 3]])[:, :k]
    assert_array_equal(indices, expected, strict=True)
    assert_array_equal(tf.cast(values, tf.int32), np.take_along_axis(X, expected, 1))


@pytest.mark.parametrize("k", [1, 7, 20, 49, 50, 51, 200])
def test_a_few_of_many_are_those_of_a_whole_sort(k):
    x = np.random.default_rng(k).integers(-9, 9, (3, 2, 200))
    order = np.argsort(-x, -1, kind="stable")[..., :k]
    for array in (x, x.astype(np.float32)):
        found = tf.math.top_k(array, k, index_type=tf.int64)
        assert_array_equal(found.indices, order, strict=True)
        assert_array_equal(found.values, np.take_along_axis(array, order, -1), strict=True)


def test_nan_comes_last():
    x = np.zeros(50)
    x[[3, 7]], x[9] = nan, 1.0
    assert_array_equal(tf.math.top_k(x, 3).indices, [9, 0, 1])
    assert_array_equal(tf.math.top_k(np.full(50, nan), 3).indices, [0, 1, 2])


def test_the_gradient_of_the_largest():
    out = gradient(lambda x: tf.math.top_k(x, 2).values, X.astype(np.float32), [[1.0, 2.0], [3.0, 4.0]])
    assert_array_equal(out, [[1.0, 0.0, 2.0, 0.0], [4.0, 0.0, 3.0, 0.0]])


@pytest.mark.parametrize(
    ("k", "expected"),
    [(0, [0, 0, 0, 0, 0, 0]), (1, [1, 1, 0, 0, 0, 0]), (2, [1, 1, 0, 0, 1, 0]), (9, [1, 1, 0, 0, 1, 0])],
)
def test_in_top_k(k, expected):
    predictions = [
        [0.1, 0.3, 0.6],
        [0.5, 0.5, 0.0],
        [nan, 1.0, 0.0],
        [inf, 1.0, 0.0],
        [0.9, 0.8, 0.1],
        [0.9, 0.8, 0.1],
    ]
    assert_array_equal(tf.math.in_top_k([2, 1, 1, 1, 1, 3], predictions, k), np.bool_(expected), strict=True)


# ---------------------------------------------------------------------------------------------------------------------
# Searching


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 8, 9])
def test_searchsorted_row_by_row(side, length):
    rng = np.random.default_rng(length)
    rows = np.sort(rng.integers(-4, 4, (2, 3, length)))
    values = rng.integers(-6, 6, (2, 3, 5))
    expected = np.array(
        [
            [np.searchsorted(r, v, side) for r, v in zip(*pair, strict=True)]
            for pair in zip(rows, values, strict=True)
        ]
    )
    for dtype in (np.float32, np.int64):
        out = tf.searchsorted(rows.astype(dtype), values.astype(dtype), side)
        assert_array_equal(out, expected.astype(np.int32), strict=True)


def test_searchsorted_in_one_row():
    out = tf.searchsorted([1.0, 2.0, 2.0, 3.0], [0.0, 2.0, 4.0], "right", tf.int64)
    assert_array_equal(out, np.int64([0, 3, 4]), strict=True)
    assert_array_equal(tf.searchsorted([[1.0, 2.0]], [1.5]), np.int32([1]), strict=True)


# ---------------------------------------------------------------------------------------------------------------------
# The distinct


@pytest.mark.parametrize(
    ("x", "distinct", "which", "counts"),
    [
        (np.int32([3, 1, 3, 2]), np.int32([3, 1, 2]), [0, 1, 0, 2], [2, 1, 1]),
        (np.float32([0.0, nan, -0.0, nan]), np.float32([0.0, nan, nan]), [0, 1, 0, 2], [2, 1, 1]),
        (np.array([True, True]), np.array([True]), [0, 0], [2]),
        (["b", "a", "b"], np.array([b"b", b"a"], object), [0, 1, 0], [2, 1]),
        (np.zeros(0, np.float32), np.zeros(0, np.float32), [], []),
    ],
)
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_unique_is_in_the_order_of_appearance(x, distinct, which, counts, kind):
    found = tf.unique(x, out_idx=kind)
    assert_array_equal(found.y, distinct, strict=True)
    assert_array_equal(found.idx, np.array(which, kind), strict=True)
    counted = tf.unique_with_counts(x, out_idx=kind)
    assert_array_equal(counted.idx, found.idx)
    assert_array_equal(counted.count, np.array(counts, kind), strict=True)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_invert_permutation(dtype):
    assert_array_equal(tf.math.invert_permutation(dtype([2, 0, 3, 1])), dtype([1, 3, 0, 2]), strict=True)
    assert tf.math.invert_permutation(np.zeros(0, dtype)).shape == (0,)


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: tf.sort(X, direction="up"),
            ValueError,
            "direction must be 'ASCENDING' or 'DESCENDING', not 'up'",
        ),
        (lambda: tf.argsort(X, axis=2), Invalid, "argsort: axis 2 is out of range"),
        (lambda: tf.sort(1.0), Invalid, "a scalar has no axes"),
        (lambda: tf.sort([True]), TypeError, "sort takes real numbers, not bool"),
        (lambda: tf.sort([1j]), TypeError, "sort takes real numbers, not complex128"),
        (lambda: tf.math.top_k(X, 5), Invalid, r"last axis of shape \[2, 4\], not 5"),
        (lambda: tf.math.top_k(X, -1), Invalid, "k must lie between 0 and"),
        (lambda: tf.math.top_k(1.0), Invalid, "a scalar has none"),
        (lambda: tf.math.top_k(X, 1.5), TypeError, "k must be integers"),
        (lambda: tf.math.in_top_k([0], [[1.0], [2.0]], 1), Invalid, r"shapes \[2, 1\] and \[1\]"),
        (lambda: tf.math.in_top_k([0], [1.0], 1), Invalid, "predictions must be a matrix"),
        (lambda: tf.math.in_top_k([0], [[1]], 1), TypeError, "in_top_k takes floating"),
        (
            lambda: tf.searchsorted([1.0], [1.0], "LEFT"),
            ValueError,
            "side must be 'left' or 'right', not 'LEFT'",
        ),
        (lambda: tf.searchsorted([1.0], 1.0), Invalid, r"shape \[1\] and values of shape \[\]"),
        (lambda: tf.searchsorted([[1.0]], [[1.0], [2.0]]), Invalid, "the same axes before the last"),
        (lambda: tf.searchsorted([1.0], tf.constant([1])), TypeError, "do not mix"),
        (
            lambda: tf.searchsorted([1.0], [1.0], out_type=tf.float32),
            TypeError,
            "int32 or int64, not float32",
        ),
        (lambda: tf.unique([[1]]), Invalid, r"unique: takes a vector, not a tensor of shape \[1, 1\]"),
        (lambda: tf.unique_with_counts(1), Invalid, "unique_with_counts: takes a vector"),
        (
            lambda: tf.math.invert_permutation([0, 0]),
            Invalid,
            r"each number from 0 up to its length once, not \[0, 0\]",
        ),
        (lambda: tf.math.invert_permutation([0, 2]), Invalid, "invert_permutation"),
        (lambda: tf.math.invert_permutation([[0]]), Invalid, "must be a vector"),
        (lambda: tf.math.invert_permutation([0.0]), TypeError, "x must be integers, not float32"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
