"""`math`, `math.special` and `bitwise`: values, dtypes, edges, argument names, and what is refused.

Gradients are proved in tests/gradients. Numbers that are no one's definition were taken from TensorFlow 2.21.
"""

import functools
import inspect

import ml_dtypes
import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf

Invalid = tf.errors.InvalidArgumentError
inf, nan = np.inf, np.nan


def gradients(function, *arrays):
    tensors = [tf.constant(a) for a in arrays]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        y = function(*tensors)
    return [None if g is None else g.numpy() for g in tape.gradient(y, tensors)]


# ---------------------------------------------------------------------------------------------------------------------
# Against NumPy and SciPy

REAL = np.array([-2.5, -1.0, -0.3, 0.4, 1.0, 3.5])
UNIT = np.array([-0.9, -0.3, 0.0, 0.4, 0.9])
POSITIVE = np.array([0.1, 0.5, 1.0, 2.5, 7.0])

UNARY = {
    "acos": (np.arccos, UNIT),
    "acosh": (np.arccosh, POSITIVE + 1),
    "asin": (np.arcsin, UNIT),
    "asinh": (np.arcsinh, REAL),
    "atan": (np.arctan, REAL),
    "atanh": (np.arctanh, UNIT),
    "log_sigmoid": (scipy.special.log_expit, REAL),
    "softplus": (lambda x: np.log1p(np.exp(x)), REAL),
    "softsign": (lambda x: x / (1 + abs(x)), REAL),
    "reciprocal_no_nan": (np.reciprocal, REAL),
    "rint": (np.rint, REAL),
    "erf": (scipy.special.erf, REAL),
    "erfc": (scipy.special.erfc, REAL),
    "erfinv": (scipy.special.erfinv, UNIT),
    "erfcinv": (scipy.special.erfcinv, UNIT + 1),
    "ndtri": (scipy.special.ndtri, UNIT / 2 + 0.5),
    "lgamma": (scipy.special.gammaln, REAL),
    "digamma": (scipy.special.digamma, REAL + 0.3),
    "bessel_i0": (scipy.special.i0, REAL),
    "bessel_i0e": (scipy.special.i0e, REAL),
    "bessel_i1": (scipy.special.i1, REAL),
    "bessel_i1e": (scipy.special.i1e, REAL),
}
SPECIAL = {
    "bessel_j0": (scipy.special.j0, REAL),
    "bessel_j1": (scipy.special.j1, REAL),
    "bessel_k0": (scipy.special.k0, POSITIVE),
    "bessel_k0e": (scipy.special.k0e, POSITIVE),
    "bessel_k1": (scipy.special.k1, POSITIVE),
    "bessel_k1e": (scipy.special.k1e, POSITIVE),
    "bessel_y0": (scipy.special.y0, POSITIVE),
    "bessel_y1": (scipy.special.y1, POSITIVE),
    "dawsn": (scipy.special.dawsn, REAL),
    "expint": (scipy.special.expi, REAL),
    "fresnel_cos": (lambda x: scipy.special.fresnel(x)[1], REAL),
    "fresnel_sin": (lambda x: scipy.special.fresnel(x)[0], REAL),
    "spence": (scipy.special.spence, POSITIVE),
}
FUNCTIONS = [(getattr(tf.math, name), *entry) for name, entry in UNARY.items()] + [
    (getattr(tf.math.special, name), *entry) for name, entry in SPECIAL.items()
]
PRECISION = {"float64": 1e-13, "float32": 1e-5, "float16": 5e-3, "bfloat16": 5e-2}


@pytest.mark.parametrize("dtype", PRECISION)
@pytest.mark.parametrize(
    ("function", "reference", "points"), FUNCTIONS, ids=lambda f: getattr(f, "__name__", "")
)
def test_values_and_their_dtype(function, reference, points, dtype):
    x = tf.cast(points, dtype)
    exact = reference(x.numpy().astype(np.float64))
    out = function(x)
    assert out.dtype == dtype
    assert_allclose(out.numpy().astype(np.float64), exact, rtol=PRECISION[dtype], atol=PRECISION[dtype])


@pytest.mark.parametrize("dtype", PRECISION)
@pytest.mark.parametrize(
    ("function", "reference", "points"), FUNCTIONS, ids=lambda f: getattr(f, "__name__", "")
)
def test_gradients_keep_the_dtype(function, reference, points, dtype):
    (g,) = gradients(function, points.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype))
    assert g is None or g.dtype.name == dtype


@pytest.mark.parametrize(
    ("function", "reference", "points"), FUNCTIONS, ids=lambda f: getattr(f, "__name__", "")
)
def test_nothing_and_a_scalar(function, reference, points):
    assert function(tf.zeros((2, 0))).shape == (2, 0)
    assert function(tf.constant(points[-1])).shape == ()
    assert_allclose(float(function(tf.constant(points[-1]))), reference(points[-1]), rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (tf.math.atan2, ([1.0, -1.0, 0.0], [1.0, 0.0, -1.0]), [np.pi / 4, -np.pi / 2, np.pi]),
        (
            tf.math.polygamma,
            ([0.0, 1.0, 2.0, 1.5, -1.0], 2.0),
            [*scipy.special.polygamma([0, 1, 2], 2), nan, nan],
        ),
        (tf.math.zeta, ([2.0, 3.0], [1.0, 2.5]), scipy.special.zeta([2.0, 3.0], [1.0, 2.5])),
        (tf.math.igamma, ([0.5, 3.0], [1.0, 2.5]), scipy.special.gammainc([0.5, 3.0], [1.0, 2.5])),
        (tf.math.igammac, ([0.5, 3.0], [1.0, 2.5]), scipy.special.gammaincc([0.5, 3.0], [1.0, 2.5])),
        (tf.math.betainc, (0.5, [1.0, 2.0], 0.3), scipy.special.betainc(0.5, [1.0, 2.0], 0.3)),
        (tf.math.lbeta, ([[2.0, 3.0], [1.0, 1.0]],), [scipy.special.betaln(2, 3), 0.0]),
        (tf.math.lbeta, (np.zeros((2, 0), np.float32),), [-inf, -inf]),
        (tf.math.xdivy, ([0.0, 1.0, 2.0], [0.0, 0.0, 4.0]), [0.0, inf, 0.5]),
        (tf.math.xlogy, ([0.0, 1.0, 2.0], [0.0, 0.0, 4.0]), [0.0, -inf, 2 * np.log(4)]),
        (tf.math.xlog1py, ([0.0, 1.0, 2.0], [-1.0, -1.0, 3.0]), [0.0, -inf, 2 * np.log(4)]),
        (tf.math.reciprocal_no_nan, ([0.0, 4.0],), [0.0, 0.25]),
        (tf.math.softplus, (np.full(2000, -50.0, np.float32),), np.full(2000, np.exp(-50.0))),
        (tf.math.softplus, ([-inf, 0.0, inf, nan],), [0.0, np.log(2), inf, nan]),
        (tf.math.squared_difference, ([1.0, 5.0], 3.0), [4.0, 4.0]),
        (tf.math.polyval, ([2.0, 0.0, 1.0], [1.0, 3.0]), [3.0, 19.0]),
        (tf.math.polyval, ([], [1.0, 3.0]), [0.0, 0.0]),
        (tf.truncatediv, ([7.0, -7.0], 2.0), [3.0, -3.0]),
        (tf.truncatemod, ([7.5, -7.5], 2.0), [1.5, -1.5]),
        (tf.math.scalar_mul, (2, tf.constant([1.0, 2.0])), [2.0, 4.0]),
        (tf.math.accumulate_n, ([[1.0, 2.0], [3.0, 4.0]],), [4.0, 6.0]),
        (tf.math.add_n, (tf.constant([[1.0, 2.0], [3.0, 4.0]]),), [4.0, 6.0]),
    ],
)
def test_functions_of_several_values(function, arguments, expected):
    out = function(*arguments)
    assert out.dtype == "float32"
    assert_allclose(out, expected, rtol=2e-6)


def test_nextafter():
    x = np.array([1.0, 2.0, 0.0])
    assert_array_equal(tf.math.nextafter(x, [2.0, 1.0, 0.0]), np.nextafter(x, [2.0, 1.0, 0.0]), strict=True)


# The derivatives by a of order 1 and 2, by mpmath with 30 digits.
@pytest.mark.parametrize(
    ("a", "x", "first", "second"),
    [
        (0.001, 0.0005, -6.976645916427911, 47.38667935678239),
        (0.5, 0.1, -0.8229360969795988, 1.658631306299303),
        (2, 5, -0.05585989605253678, -0.05221322805556974),
        (30, 20, -0.01020525732498951, 0.004150326116724295),
        (30, 60, -5.086422279260005e-6, -3.534937036753765e-6),
        (1000, 1010, -0.01194573133722544, -0.0001188728900859783),
    ],
)
def test_igamma_by_its_first_argument(a, x, first, second):
    a, x = tf.constant(a, tf.float64), tf.constant(x, tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(a)
        with tf.GradientTape() as inner:
            inner.watch(a)
            p = tf.math.igamma(a, x)
        slope = inner.gradient(p, a)
    assert_allclose(float(slope), first, rtol=1e-12)
    assert_allclose(float(outer.gradient(slope, a)), second, rtol=1e-10)


# ---------------------------------------------------------------------------------------------------------------------
# Division without fractions

DIVISIONS = [  # x, y, x // y, x % y, and what truncatediv and truncatemod give
    (7.0, -2.0, -4.0, -1.0, -3.0, 1.0),
    (-7.0, 2.0, -4.0, 1.0, -3.0, -1.0),
    (5.5, 2.0, 2.0, 1.5, 2.0, 1.5),
    (0.0, -2.0, -0.0, 0.0, -0.0, 0.0),
    (-0.0, 2.0, -0.0, -0.0, -0.0, -0.0),
    (-6.0, 2.0, -3.0, -0.0, -3.0, -0.0),
    (3.0, 0.0, inf, nan, inf, nan),
    (0.0, 0.0, nan, nan, nan, nan),
    (1.0, inf, 0.0, 1.0, 0.0, 1.0),
    (-1.0, inf, -0.0, inf, -0.0, -1.0),
    (inf, 2.0, inf, nan, inf, nan),
    (nan, 2.0, nan, nan, nan, nan),
]


def text(array):
    """Elements as they are printed, which tells 0.0 from -0.0 and not one nan from another."""
    return [str(float(x)).replace("-nan", "nan") for x in array]


@pytest.mark.parametrize("compile", [lambda f: f, tf.function])
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.float32, np.float64])
def test_floats_divide_as_in_tensorflow(dtype, compile):
    x, y, down, rest, towards_zero, left = np.transpose(DIVISIONS).astype(dtype)
    x, y = tf.constant(x), tf.constant(y)
    for function, expected in [
        (tf.math.floordiv, down),
        (lambda x, y: x // y, down),
        (tf.math.floormod, rest),
        (tf.math.mod, rest),
        (lambda x, y: x % y, rest),
        (tf.truncatediv, towards_zero),
        (tf.truncatemod, left),
    ]:
        result = compile(function)(x, y).numpy()
        assert result.dtype == dtype
        assert text(result) == text(expected)


@pytest.mark.parametrize("compile", [lambda f: f, tf.function])
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.float32, np.float64])
def test_a_quotient_is_rounded_to_its_dtype_before_it_is_rounded_down(dtype, compile):
    """So that 1 // 0.1 is 10, as in TensorFlow; Python takes 0.1 for the number a little above it that it is."""
    x, y = np.array([1.0, -1.0, 1.0, -1.0], dtype), np.array([0.1, 0.1, -0.1, -0.1], dtype)
    assert_array_equal(compile(tf.math.floordiv)(x, y), np.array([10.0, -10.0, -10.0, 10.0], dtype))
    assert_array_equal(compile(tf.truncatediv)(x, y), np.array([10.0, -10.0, -10.0, 10.0], dtype))


def test_a_remainder_has_the_gradient_of_the_quotient_that_is_left_out():
    by_x, by_y = gradients(tf.math.floormod, np.float32([1.0, -7.0]), np.float32([0.1, 2.0]))
    assert_array_equal(by_x, [1.0, 1.0])
    assert_array_equal(by_y, [-10.0, 4.0])


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("divisor", [0.1, 0.3, 7.0, 0.001])
def test_compiled_code_divides_by_one_number_for_all_as_eager_code_does(dtype, divisor):
    """XLA multiplies by the reciprocal then, which is a little off: after rounding down that is an error of 1."""
    x = tf.constant((np.arange(1, 5000) * 0.1).astype(dtype))
    for function in (tf.math.floordiv, tf.truncatediv):
        compiled = tf.function(functools.partial(function, y=divisor))
        assert_array_equal(compiled(x).numpy(), function(x, divisor).numpy())


# ---------------------------------------------------------------------------------------------------------------------
# Clipping


@pytest.mark.parametrize("compile", [lambda f: f, tf.function])
@pytest.mark.parametrize("bad", [inf, -inf, nan])
def test_one_gradient_that_is_not_finite_makes_all_nan(bad, compile):
    clip = compile(lambda x, y: tf.clip_by_global_norm([x, None, y], 1.0))
    (x, none, y), norm = clip(tf.constant([1.0, bad]), tf.constant([2.0]))
    assert none is None
    assert_array_equal(x, [nan, nan])
    assert_array_equal(y, [nan])
    assert_array_equal(norm, abs(bad))
    rows = tf.IndexedSlices(tf.constant([[1.0, bad]]), tf.constant([0]))
    assert_array_equal(tf.clip_by_global_norm([rows, [2.0]], 1.0)[0][0].values, [[nan, nan]])


@pytest.mark.parametrize(
    ("norm", "expected"), [(2.0, [0.5, 1.5]), (0.5, [1.0, 3.0]), (inf, [nan] * 2), (nan, [nan] * 2)]
)
def test_clipping_by_a_norm_that_is_given(norm, expected):
    (clipped,), used = tf.clip_by_global_norm([[1.0, 3.0]], 1.0, use_norm=tf.constant(norm))
    assert_array_equal(clipped, expected)
    assert_array_equal(used, norm)


def test_clipping_one_tensor_leaves_the_others():
    """What is infinite becomes nan, and the elements beside it 0."""
    x = tf.constant([[1.0, inf], [3.0, 4.0]])
    assert_allclose(tf.clip_by_norm(x, 1.0, axes=[1]), [[0.0, nan], [0.6, 0.8]])
    assert_array_equal(tf.clip_by_value(x, 0.0, 2.0), [[1.0, 2.0], [2.0, 2.0]])


def test_the_norm_of_nothing_is_zero():
    assert float(tf.linalg.global_norm([])) == float(tf.linalg.global_norm([None])) == 0.0
    clipped, norm = tf.clip_by_global_norm([None], 1.0)
    assert clipped == [None] and float(norm) == 0.0


# ---------------------------------------------------------------------------------------------------------------------
# Integers and booleans


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8])
def test_integers_divide_towards_zero(dtype):
    x, y = np.array([7, 100, 3, 5], dtype), np.array([2, 3, 3, 7], dtype)
    signs = [1] if dtype is np.uint8 else [1, -1]
    for s in signs:
        quotient = tf.truncatediv(s * x, y)
        assert_array_equal(quotient, (s * (x // y)).astype(dtype), strict=True)
        assert_array_equal(tf.truncatemod(s * x, y), (s * (x % y)).astype(dtype), strict=True)


@pytest.mark.parametrize(
    ("function", "x", "y", "expected"),
    [
        (tf.bitwise.bitwise_and, [12, -7], [10, 3], [8, 1]),
        (tf.bitwise.bitwise_or, [12, -7], [10, 3], [14, -5]),
        (tf.bitwise.bitwise_xor, [12, -7], [10, 3], [6, -6]),
        (tf.bitwise.left_shift, [1, 3, 1], [4, 0, 40], [16, 3, -(2**31)]),
        (tf.bitwise.right_shift, [-8, 8, -8, 8], [1, 2, 40, 40], [-4, 2, -1, 0]),
    ],
)
def test_bits(function, x, y, expected):
    assert_array_equal(function(x, y), np.int32(expected), strict=True)


def test_bits_of_small_integers():
    assert_array_equal(tf.bitwise.invert(np.uint8([0, 5])), np.uint8([255, 250]), strict=True)
    assert_array_equal(tf.bitwise.right_shift(np.uint8([255]), np.uint8([9])), np.uint8([1]), strict=True)


@pytest.mark.parametrize(
    ("x", "no_smaller", "larger"),
    [([1, 2, 3], 1, 1), ([1, 1], 1, 0), ([2.0, 1.0], 0, 0), ([], 1, 1), ([[1, 2], [0, 5]], 0, 0), (3, 1, 1)],
)
def test_monotony(x, no_smaller, larger):
    assert bool(tf.math.is_non_decreasing(x)) == bool(no_smaller)
    assert bool(tf.math.is_strictly_increasing(x)) == bool(larger)


def test_integers_keep_their_dtype_where_they_stay_whole():
    assert_array_equal(tf.round([1, 2]), np.int32([1, 2]), strict=True)
    assert_array_equal(tf.math.divide_no_nan(np.int8([3]), np.int8([2])), np.float32([1.5]), strict=True)


# ---------------------------------------------------------------------------------------------------------------------
# Powers


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int32"])
@pytest.mark.parametrize("exponent", [2, 3, 4, 5, 6, 7, 8, 1, 0, 9])
def test_whole_powers_are_what_numpy_says(exponent, dtype):
    x = np.array([-3, -1, 0, 1, 2, 5], dtype)
    tolerance = 0 if dtype == "int32" else 1e-6 if dtype == "float32" else 1e-14
    for power in (tf.constant(x) ** exponent, tf.pow(x, exponent), tf.pow(tf.Variable(x), exponent)):
        assert power.dtype == dtype
        assert_allclose(power, x**exponent, rtol=tolerance)


@pytest.mark.parametrize("exponent", [-1, 0.5, 3.0, 2.5, -2])
def test_other_powers_are_what_numpy_says(exponent):
    x = np.array([0.5, 1.0, 4.0])
    assert_allclose(tf.constant(x) ** exponent, x**exponent, rtol=1e-15)
    (g,) = gradients(lambda x: x**exponent, x)
    assert_allclose(g, exponent * x ** (exponent - 1), rtol=1e-14)


def test_a_cube_and_its_gradient_at_zero():
    assert_array_equal(gradients(lambda x: x**3, np.array([0.0, -2.0]))[0], [0.0, 12.0])


# ---------------------------------------------------------------------------------------------------------------------
# Complex numbers


def test_parts_of_complex_numbers():
    z = np.array([3 + 4j, -2j, 0j])
    for function, expected in (
        (tf.abs, [5.0, 2.0, 0.0]),
        (tf.math.real, [3.0, 0.0, 0.0]),
        (tf.math.imag, [4.0, -2.0, 0.0]),
        (tf.math.angle, np.angle(z)),
        (tf.math.conj, z.conj()),
        (tf.sign, [0.6 + 0.8j, -1j, 0j]),
    ):
        assert_allclose(function(z), expected, rtol=1e-15, err_msg=function.__name__)
        single = function(z.astype(np.complex64))
        assert single.dtype.size * 2 == function(z).dtype.size


def test_complex_numbers_are_made_of_their_parts_even_infinite_ones():
    assert_array_equal(
        tf.complex(np.float64([1.0, inf]), np.float64([inf, 2.0])),
        np.array([complex(1, inf), complex(inf, 2)]),
    )
    assert tf.complex(1.0, [[2.0], [3.0]]).shape == (2, 1)
    assert tf.complex(1.0, 2.0).dtype == "complex64"


def test_real_numbers_have_parts_too():
    x = tf.constant([-1.0, 2.0])
    assert_array_equal(tf.math.real(x), [-1.0, 2.0])
    assert_array_equal(tf.math.imag(x), [0.0, 0.0])
    assert_allclose(tf.math.angle(x), np.float32([np.pi, 0.0]), strict=True)


def test_lengths_of_complex_numbers():
    z = np.array([3.0, 4j])
    assert_array_equal(tf.math.squared_difference(z, np.zeros(2, complex)), [9 + 0j, 16 + 0j])
    assert_array_equal(tf.math.reduce_euclidean_norm(z), 5 + 0j)
    assert_array_equal(tf.math.reduce_euclidean_norm(np.int32([3, 4, 1])), np.int32(5), strict=True)


@pytest.mark.parametrize("part", [tf.math.real, tf.math.imag, tf.abs, tf.math.angle])
def test_real_functions_of_complex_numbers_have_tensorflows_gradient(part):
    """The gradient of f(x + iy) is df/dx + i df/dy."""
    z, h = np.array([1 + 2j, -0.5 + 0.3j]), 1e-6
    slopes = [(np.asarray(part(z + h * d)) - np.asarray(part(z - h * d))) / (2 * h) for d in (1, 1j)]
    assert_allclose(gradients(part, z)[0], slopes[0] + 1j * slopes[1], rtol=1e-8)


# ---------------------------------------------------------------------------------------------------------------------
# Edges where TensorFlow's gradient is nan, or wrong


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (tf.math.atan2, ([0.0], [0.0]), [[0.0], [0.0]]),
        (tf.math.angle, ([0j],), [[0j]]),
        (tf.abs, ([0j],), [[0j]]),
        (tf.math.bessel_i1, ([0.0],), [[0.5]]),
        (tf.math.special.spence, ([1.0],), [[-1.0]]),
        (lambda x: tf.math.igamma(1.0, x), ([0.0],), [[1.0]]),
        (lambda x: tf.where(x < 1, x, tf.asin(x)), ([1.0, 0.5],), [[inf, 1.0]]),
        (lambda x: tf.where(x < 1, tf.asin(x), x), ([1.0],), [[1.0]]),
        (lambda x: tf.where(x > 1, tf.acosh(x), x), ([1.0],), [[1.0]]),
        (lambda x: tf.where(x < 1, tf.atanh(x), x), ([1.0],), [[1.0]]),
        (tf.math.reciprocal_no_nan, ([0.0],), [[0.0]]),
        (lambda x: tf.sign(x), ([-2.0],), [[0.0]]),
    ],
)
def test_gradients_at_edges(function, arguments, expected):
    for g, wanted in zip(gradients(function, *map(np.asarray, arguments)), expected, strict=True):
        assert_allclose(g, wanted)


# ---------------------------------------------------------------------------------------------------------------------
# What TensorFlow calls arguments

SIGNATURES = {
    "atan2": ("y", "x"),
    "betainc": ("a", "b", "x"),
    "igamma": ("a", "x"),
    "igammac": ("a", "x"),
    "nextafter": ("x1", "x2"),
    "polygamma": ("a", "x"),
    "softplus": ("features",),
    "softsign": ("features",),
    "zeta": ("x", "q"),
    "xlogy": ("x", "y"),
    "erf": ("x",),
    "real": ("input",),
    "scalar_mul": ("scalar", "x"),
    "polyval": ("coeffs", "x"),
    "top_k": ("input", "k", "sorted", "index_type"),
    "bincount": ("arr", "weights", "minlength", "maxlength", "dtype"),
    "cumprod": ("x", "axis", "exclusive", "reverse"),
    "count_nonzero": ("input", "axis", "keepdims", "dtype"),
    "confusion_matrix": ("labels", "predictions", "num_classes", "weights", "dtype"),
    "segment_sum": ("data", "segment_ids"),
    "unsorted_segment_sum": ("data", "segment_ids", "num_segments"),
    "in_top_k": ("targets", "predictions", "k"),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments_have_tensorflows_names(name):
    parameters = tuple(inspect.signature(getattr(tf.math, name)).parameters)
    assert parameters[: len(SIGNATURES[name]) + 1] == (*SIGNATURES[name], "name")


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tf.asin([1]), TypeError, "asin takes floating or complex tensors, not int32"),
        (lambda: tf.math.erf([1]), TypeError, "erf takes floating tensors, not int32"),
        (lambda: tf.math.erf([1j]), TypeError, "erf takes floating tensors, not complex128"),
        (lambda: tf.math.special.fresnel_cos([1]), TypeError, "fresnel_cos takes floating"),
        (lambda: tf.math.polygamma([1], [1]), TypeError, "polygamma takes floating"),
        (lambda: tf.math.igamma(tf.constant([1.0]), tf.constant([1.0], tf.float64)), TypeError, "do not mix"),
        (lambda: tf.math.igamma([1.0, 2.0], [1.0, 2.0, 3.0]), Invalid, "do not broadcast"),
        (
            lambda: tf.math.reciprocal([1]),
            TypeError,
            "reciprocal takes floating or complex tensors, not int32",
        ),
        (lambda: tf.math.reciprocal_no_nan([1]), TypeError, "reciprocal_no_nan takes floating"),
        (lambda: tf.math.xlogy([1], [2]), TypeError, "xlogy takes floating"),
        (lambda: tf.truncatediv([1], [0]), Invalid, "truncatediv: integer division by zero"),
        (lambda: tf.truncatemod([1], [0]), Invalid, "truncatemod: integer division by zero"),
        (lambda: tf.bitwise.bitwise_and([1.0], [1.0]), TypeError, "bitwise_and takes integers, not float32"),
        (lambda: tf.bitwise.invert([True]), TypeError, "invert takes integers, not bool"),
        (lambda: tf.bitwise.left_shift([1.0], [1.0]), TypeError, "left_shift takes integers"),
        (
            lambda: tf.math.logical_xor([1], [0]),
            TypeError,
            "logical_xor takes booleans, not int32: compare first",
        ),
        (lambda: tf.math.logical_not([1.0]), TypeError, "logical_not takes booleans"),
        (lambda: tf.less([1j], [2j]), TypeError, "less takes real numbers, not complex128"),
        (lambda: tf.constant([1]) ** 2.0, TypeError, "do not mix: int32 and float32"),
        (lambda: tf.constant([2]) ** -1, Invalid, "negative integer powers"),
        (lambda: tf.constant([True]) ** 3, TypeError, "does not take dtype bool"),
        (lambda: tf.math.conj([True]), TypeError, "conj does not take dtype bool"),
        (lambda: tf.math.angle([1]), TypeError, "angle takes complex or floating tensors, not int32"),
        (lambda: tf.complex([1], [2]), TypeError, "complex takes float32 or float64 parts, not int32"),
        (lambda: tf.complex(tf.constant(1.0), tf.constant(2.0, tf.float64)), TypeError, "do not mix"),
        (lambda: tf.math.scalar_mul([1.0, 2.0], [1.0]), ValueError, r"must be a scalar, not of shape \[2\]"),
        (lambda: tf.math.add_n([]), ValueError, "add_n takes a list of at least one tensor"),
        (lambda: tf.math.add_n([[1.0], [1.0, 2.0]]), Invalid, r"one shape, not \[1\] and \[2\]"),
        (lambda: tf.math.accumulate_n([[1.0], [1.0, 2.0]]), ValueError, r"one shape, not \[1\] and \[2\]"),
        (lambda: tf.math.accumulate_n([[1.0]], shape=[2]), ValueError, r"shape is \(2,\), but"),
        (
            lambda: tf.math.accumulate_n([[1.0]], tensor_dtype=tf.int32),
            TypeError,
            "tensor_dtype is int32, but",
        ),
        (lambda: tf.math.polyval(tf.constant([1.0]), 2.0), ValueError, "coeffs must be a list, not Tensor"),
        (lambda: tf.math.lbeta(1.0), Invalid, "a scalar has no axes"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert isinstance(caught.value, (Invalid, ValueError, TypeError))
