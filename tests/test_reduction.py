"""Reductions over axes and running ones: values, dtypes, edges, and what is refused. Gradients: tests/gradients."""

import math

import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf

Invalid = tf.errors.InvalidArgumentError
inf, nan = np.inf, np.nan
X = np.random.default_rng(0).normal(size=(2, 3, 4))


def gradient(function, array):
    x = tf.constant(array)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x).numpy()


# ---------------------------------------------------------------------------------------------------------------------
# Vectors, which BLAS adds up if they are short


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 33, 255, 256, 257, 1000])
@pytest.mark.parametrize("step", [1, 3, -2])
def test_sums_of_vectors_are_exact_to_rounding(dtype, size, step):
    random = np.random.default_rng(size)
    x = random.normal(size=abs(step) * size).astype(dtype)[::step]
    for axis in (None, 0, -1):
        out = tf.reduce_sum(x, axis)
        assert out.dtype == dtype and out.shape == ()
        assert_allclose(out, math.fsum(x.tolist()), rtol=0, atol=np.finfo(dtype).eps * np.abs(x).sum())
    whole = np.arange(size).astype(dtype)[::step]
    assert float(tf.reduce_sum(whole)) == whole.sum()


@pytest.mark.parametrize("odd", [inf, -inf, nan])
def test_sums_of_vectors_of_what_is_not_finite(odd):
    for size in (1, 5, 256, 300):
        x = np.ones(size, "float32")
        x[size // 2] = odd
        assert_array_equal(tf.reduce_sum(x), np.float32(odd))
    assert_array_equal(tf.reduce_sum(np.float32([inf, 1.0, -inf])), nan)


# ---------------------------------------------------------------------------------------------------------------------
# Over axes

REDUCTIONS = {
    "reduce_sum": np.sum,
    "reduce_mean": np.mean,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_prod": np.prod,
    "reduce_std": np.std,
    "reduce_variance": np.var,
    "reduce_logsumexp": scipy.special.logsumexp,
    "reduce_euclidean_norm": lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis, keepdims=keepdims)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, -1, (1,), [0, 2], (-1, -2), [0, 1, 2], tf.constant([0, 1])])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_over_axes(name, axis, keepdims):
    over = tuple(axis) if isinstance(axis, list) else (0, 1) if isinstance(axis, tf.Tensor) else axis
    out = getattr(tf.math, name)(X, axis, keepdims)
    expected = np.asarray(REDUCTIONS[name](X, axis=over, keepdims=keepdims))
    assert_allclose(out, expected, rtol=1e-12, strict=True)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_over_no_axes(name):
    out = getattr(tf.math, name)(X, [])
    assert_allclose(out, REDUCTIONS[name](X[None], axis=0, keepdims=False), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "of_nothing"),
    [
        ("reduce_sum", 0.0),
        ("reduce_mean", nan),
        ("reduce_max", -inf),
        ("reduce_min", inf),
        ("reduce_prod", 1.0),
        ("reduce_std", nan),
        ("reduce_variance", nan),
        ("reduce_logsumexp", -inf),
        ("reduce_euclidean_norm", 0.0),
    ],
)
def test_of_nothing(name, of_nothing):
    function = getattr(tf.math, name)
    assert_array_equal(function(tf.zeros((0, 2)), 0), np.full(2, of_nothing, np.float32), strict=True)
    assert function(tf.zeros((0, 2)), 1).shape == (0,)
    assert gradient(lambda x: function(x, 0), np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize(
    ("name", "array", "expected"),
    [
        ("reduce_sum", np.int8([100, 100]), np.int8(-56)),
        ("reduce_mean", np.int8([100, 101]), np.int8(100)),
        ("reduce_mean", np.int32([-1, -2]), np.int32(-1)),
        ("reduce_mean", np.uint8([200, 100]), np.uint8(150)),
        ("reduce_prod", np.int8([100, 4]), np.int8(-112)),
        ("reduce_max", np.uint8([3, 200]), np.uint8(200)),
        ("reduce_min", np.int64([3, -200]), np.int64(-200)),
        ("reduce_euclidean_norm", np.int32([1, 3]), np.int32(3)),
        ("reduce_sum", np.float16([60000, 60000]), np.float16(inf)),
        ("reduce_variance", np.array([1 + 1j, 1 - 1j]), np.float64(1.0)),
        ("reduce_std", np.array([1 + 2j, 1 - 2j]), np.float64(2.0)),
        ("reduce_prod", np.array([1 + 1j, 2.0]), 2 + 2j),
        ("reduce_all", np.array([True, False]), np.False_),
        ("reduce_any", np.array([True, False]), np.True_),
        ("reduce_all", [], np.True_),
        ("reduce_all", [[], []], np.True_),
        ("reduce_any", (), np.False_),
        ("count_nonzero", np.array([0.0, nan, 2.0]), np.int64(2)),
        ("count_nonzero", np.array([True, False]), np.int64(1)),
        ("count_nonzero", np.array([1j, 0]), np.int64(1)),
        ("count_nonzero", ["a", "", "b"], np.int64(2)),
    ],
)
def test_dtypes(name, array, expected):
    assert_array_equal(getattr(tf.math, name)(array), np.asarray(expected), strict=True)


def test_count_nonzero_along_axes():
    x = [[1, 0, 2], [0, 0, 3]]
    assert_array_equal(tf.math.count_nonzero(x, axis=0), [1, 0, 2])
    assert_array_equal(
        tf.math.count_nonzero(x, axis=[1], keepdims=True, dtype=tf.int32), np.int32([[2], [1]]), strict=True
    )
    assert_array_equal(tf.math.count_nonzero(x, dtype=tf.float32), np.float32(3), strict=True)


# ---------------------------------------------------------------------------------------------------------------------
# Running

SCANS = {
    "cumsum": (np.cumsum, 0.0),
    "cumprod": (np.cumprod, 1.0),
    "cumulative_logsumexp": (np.logaddexp.accumulate, -inf),
}


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans(name, axis, exclusive, reverse):
    reference, start = SCANS[name]
    x = np.flip(X, axis) if reverse else X
    expected = reference(x, axis=axis)
    if exclusive:
        rows = np.moveaxis(expected, axis, 0)
        expected = np.moveaxis(np.concatenate([np.full_like(rows[:1], start), rows[:-1]]), 0, axis)
    expected = np.flip(expected, axis) if reverse else expected
    assert_allclose(getattr(tf.math, name)(X, axis, exclusive, reverse), expected, rtol=1e-14, strict=True)


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_scans_and_their_gradients_keep_the_dtype(name, dtype):
    x = tf.cast([1.0, 2.0, 0.5], dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = getattr(tf.math, name)(x, exclusive=True)
    assert y.dtype == tape.gradient(y, x).dtype == dtype


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0), (1,)])
def test_scans_of_little(name, shape):
    for exclusive in (False, True):
        assert getattr(tf.math, name)(tf.zeros(shape), exclusive=exclusive).shape == shape


def test_integers_have_running_products():
    assert_array_equal(tf.math.cumprod([1, 2, 3], exclusive=True), np.int32([1, 1, 2]), strict=True)
    assert_array_equal(tf.math.cumprod(np.int8([100, 2])), np.int8([100, -56]), strict=True)


def test_the_gradient_of_a_running_product_is_exact_at_zeros():
    x = np.array([2.0, 0.0, 3.0, 0.0, 5.0])
    weights = np.array([1.0, 10.0, 100.0, 1000.0, 10000.0])
    # by x[1]: 2 * 10 + 2 * 3 * 100; by x[3]: 0, since x[1] is 0 as well
    expected = [1.0, 620.0, 0.0, 0.0, 0.0]
    assert_array_equal(gradient(lambda x: tf.math.cumprod(x) * weights, x), expected)


def test_third_derivatives_of_products_are_exact_at_zeros():
    x = tf.constant([0.0, 0.0, 0.0, 2.0], tf.float64)
    for product in (tf.reduce_prod, lambda x: tf.math.cumprod(x)[-1]):
        with tf.GradientTape() as third:
            third.watch(x)
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch(x)
                    y = product(x)
                by_first = first.gradient(y, x)[0]
            by_both = second.gradient(by_first, x)[1]
        assert_array_equal(third.gradient(by_both, x), [0.0, 0.0, 2.0, 0.0])


def test_a_running_logsumexp_neither_overflows_nor_loses_small_shares():
    x = np.float32([1000.0, 0.0, -1000.0, 1001.0])
    assert_allclose(tf.math.cumulative_logsumexp(x), np.logaddexp.accumulate(x.astype(float)), rtol=1e-7)
    assert_allclose(gradient(tf.math.cumulative_logsumexp, x)[0], 3 + 1 / (1 + np.e), rtol=1e-5)


def test_where_all_so_far_are_minus_infinity_a_running_logsumexp_has_gradient_zero():
    x = np.array([-inf, -inf, 1.0, -inf])
    assert_array_equal(tf.math.cumulative_logsumexp(x), [-inf, -inf, 1.0, 1.0])
    assert_array_equal(gradient(tf.math.cumulative_logsumexp, x), [0.0, 0.0, 2.0, 0.0])


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tf.reduce_sum(X, 3), Invalid, "reduce_sum: axis 3 is out of range for a tensor of rank 3"),
        (lambda: tf.reduce_sum(X, [0, 0]), Invalid, r"reduce_sum: axis \[0, 0\] names an axis .* twice"),
        (lambda: tf.reduce_max(X, [0, -3]), Invalid, "twice"),
        (lambda: tf.reduce_prod(X, 1.5), TypeError, "reduce_prod: an axis must be an integer, not 1.5"),
        (lambda: tf.reduce_sum([True]), TypeError, "sum does not take dtype bool"),
        (lambda: tf.reduce_prod([True]), TypeError, "prod does not take dtype bool"),
        (lambda: tf.reduce_max([1j]), TypeError, "reduce_max takes real numbers, not complex128"),
        (lambda: tf.reduce_min([1j]), TypeError, "reduce_min takes real numbers"),
        (lambda: tf.reduce_logsumexp([1]), TypeError, "reduce_logsumexp takes floating tensors, not int32"),
        (lambda: tf.math.reduce_std([1]), TypeError, "reduce_std takes floating"),
        (lambda: tf.reduce_any([1]), TypeError, "reduce_any takes booleans, not int32"),
        (lambda: tf.reduce_all(tf.constant([])), TypeError, "reduce_all takes booleans, not float32"),
        (lambda: tf.math.cumprod(1.0), Invalid, "cumprod: axis 0 is out of range: a scalar has no axes"),
        (lambda: tf.math.cumprod([True]), TypeError, "cumprod does not take dtype bool"),
        (lambda: tf.cumsum([1.0], axis=5), Invalid, "cumsum: axis 5 is out of range"),
        (lambda: tf.math.cumulative_logsumexp([1]), TypeError, "cumulative_logsumexp takes floating"),
        (lambda: tf.argmax(tf.zeros((0, 2))), Invalid, "argmax"),
        (lambda: tf.argmax([1.0], output_type=tf.float32), TypeError, "output_type must be int64, int32"),
        (lambda: tf.argmin([1.0], output_type="int8"), TypeError, "output_type must be .*, not int8"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("given", [None, "int64", "int32", tf.int16, np.uint16])
def test_the_dtype_of_an_index(given):
    expected = np.dtype("int64" if given is None else tf.as_dtype(given).numpy_dtype)
    for function, index in ((tf.argmax, 1), (tf.argmin, 0)):
        found = function([1.0, 3.0, 2.0], output_type=given).numpy()
        assert (found.dtype, found) == (expected, index)
