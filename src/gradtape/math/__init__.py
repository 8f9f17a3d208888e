"""The public namespace `gradtape.math`. Functions that only need their inputs get their documentation here."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DTypeError
from ..missing import closed
from ..ops import elementwise as _e
from ..ops import special as _s
from ..ops.arithmetic import (
    accumulate_n,
    add_n,
    is_non_decreasing,
    is_strictly_increasing,
    polyval,
    pow,
    reciprocal,
    reciprocal_no_nan,
    scalar_mul,
)
from ..ops.array import together
from ..ops.complexes import abs, angle, imag, real, reduce_euclidean_norm, sign, squared_difference
from ..ops.counting import bincount, confusion_matrix
from ..ops.known import shape_known as _shape_known
from ..ops.linalg import l2_normalize
from ..ops.nn import log_softmax, softmax
from ..ops.normalization import zero_fraction
from ..ops.public import public
from ..ops.reduction import (
    argmax,
    argmin,
    count_nonzero,
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_std,
    reduce_sum,
    reduce_variance,
)
from ..ops.scan import cumprod, cumsum, cumulative_logsumexp, reduce_prod
from ..ops.segment import (
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)
from ..ops.sorting import in_top_k, invert_permutation, top_k
from ..ops.special import lbeta
from ..primitive import apply
from ..tensor import Tensor, convert
from ..tensor import wrap as _wrap
from . import special
from .special import bessel_i0, bessel_i0e, bessel_i1, bessel_i1e

# ---------------------------------------------------------------------------------------------------------------------
# Arithmetic

add = public(_e.add, "x + y, element by element.\n\n>>> float(add(1.0, 2.0))\n3.0")
subtract = public(_e.subtract, "x - y, element by element.\n\n>>> float(subtract(1.0, 2.0))\n-1.0")
multiply = public(_e.multiply, "x * y, element by element.\n\n>>> float(multiply(2.0, 3.0))\n6.0")
divide = public(_e.divide, "x / y, element by element; integers give floats.\n\n>>> float(divide(1, 2))\n0.5")
truediv = public(
    _e.divide, "x / y, element by element; integers give floats.\n\n>>> float(truediv(1, 2))\n0.5", "truediv"
)
floordiv = public(_e.floor_divide, "x // y, rounded down.\n\n>>> int(floordiv(-1, 2))\n-1", "floordiv")
floormod = public(_e.floormod, "x % y, with the sign of y.\n\n>>> int(floormod(-1, 3))\n2")
mod = public(_e.floormod, "x % y, with the sign of y.\n\n>>> int(mod(-1, 3))\n2", "mod")
divide_no_nan = public(
    _e.divide_no_nan, "x / y, and 0 where y is 0.\n\n>>> float(divide_no_nan(1.0, 0.0))\n0.0"
)
multiply_no_nan = public(
    _e.multiply_no_nan,
    "x * y, and 0 where y is 0 even if x is not finite.\n\n>>> float(multiply_no_nan(float('inf'), 0.0))\n0.0",
)
negative = public(_e.negative, "-x for each element.\n\n>>> float(negative(1.0))\n-1.0")

# ---------------------------------------------------------------------------------------------------------------------
# Powers, exponentials, logarithms

square = public(_e.square, "x * x for each element.\n\n>>> float(square(3.0))\n9.0")
sqrt = public(_e.sqrt, "The square root of each element.\n\n>>> float(sqrt(9.0))\n3.0")
rsqrt = public(_e.rsqrt, "1 / sqrt(x) for each element.\n\n>>> float(rsqrt(4.0))\n0.5")
exp = public(_e.exp, "e to the power x for each element.\n\n>>> float(exp(0.0))\n1.0")
expm1 = public(_e.expm1, "exp(x) - 1, exact near 0.\n\n>>> float(expm1(0.0))\n0.0")
log = public(_e.log, "The natural logarithm of each element.\n\n>>> float(log(1.0))\n0.0")
log1p = public(_e.log1p, "log(1 + x), exact near 0.\n\n>>> float(log1p(0.0))\n0.0")

# ---------------------------------------------------------------------------------------------------------------------
# Trigonometric and hyperbolic

sin = public(_e.sin, "The sine of each element, in radians.\n\n>>> float(sin(0.0))\n0.0")
cos = public(_e.cos, "The cosine of each element, in radians.\n\n>>> float(cos(0.0))\n1.0")
tan = public(_e.tan, "The tangent of each element, in radians.\n\n>>> float(tan(0.0))\n0.0")
sinh = public(_e.sinh, "The hyperbolic sine of each element.\n\n>>> float(sinh(0.0))\n0.0")
cosh = public(_e.cosh, "The hyperbolic cosine of each element.\n\n>>> float(cosh(0.0))\n1.0")
tanh = public(_e.tanh, "The hyperbolic tangent of each element.\n\n>>> float(tanh(0.0))\n0.0")
asin = public(_e.asin, "The angle whose sine is x, from -pi/2 to pi/2.\n\n>>> float(asin(0.0))\n0.0")
acos = public(_e.acos, "The angle whose cosine is x, from 0 to pi.\n\n>>> float(acos(1.0))\n0.0")
atan = public(_e.atan, "The angle whose tangent is x, from -pi/2 to pi/2.\n\n>>> float(atan(0.0))\n0.0")
atan2 = public(
    _e.atan2,
    "The angle of the point (x, y), from -pi to pi. Its gradient at 0 is 0.\n\n>>> float(atan2(0.0, 1.0))\n0.0",
)
asinh = public(_e.asinh, "The inverse of the hyperbolic sine.\n\n>>> float(asinh(0.0))\n0.0")
acosh = public(_e.acosh, "The inverse of the hyperbolic cosine.\n\n>>> float(acosh(1.0))\n0.0")
atanh = public(_e.atanh, "The inverse of the hyperbolic tangent.\n\n>>> float(atanh(0.0))\n0.0")

# ---------------------------------------------------------------------------------------------------------------------
# Activations

sigmoid = public(_e.sigmoid, "1 / (1 + exp(-x)), without overflow.\n\n>>> float(sigmoid(0.0))\n0.5")
softplus = public(
    _e.softplus,
    "log(1 + exp(x)), without overflow.\n\n>>> float(softplus(1000.0))\n1000.0",
    arguments=("features",),
)
log_sigmoid = public(
    _e.log_sigmoid, "log(sigmoid(x)), without overflow.\n\n>>> float(log_sigmoid(-1000.0))\n-1000.0"
)
softsign = public(
    _e.softsign, "x / (1 + |x|).\n\n>>> float(softsign(1.0))\n0.5", arguments=("features",), real=True
)

# ---------------------------------------------------------------------------------------------------------------------
# Products that are 0 where a factor is 0

xdivy = public(_e.xdivy, "x / y, and 0 where x is 0.\n\n>>> float(xdivy(0.0, 0.0))\n0.0")
xlog1py = public(_e.xlog1py, "x * log(1 + y), and 0 where x is 0.\n\n>>> float(xlog1py(0.0, -1.0))\n0.0")
xlogy = public(_e.xlogy, "x * log(y), and 0 where x is 0.\n\n>>> float(xlogy(0.0, 0.0))\n0.0")

# ---------------------------------------------------------------------------------------------------------------------
# Comparing, rounding, parts of numbers

maximum = public(
    _e.maximum,
    "The larger of x and y; where they are equal the gradient goes to x.\n\n>>> float(maximum(1.0, 2.0))\n2.0",
    real=True,
)
minimum = public(
    _e.minimum,
    "The smaller of x and y; where they are equal the gradient goes to x.\n\n>>> float(minimum(1.0, 2.0))\n1.0",
    real=True,
)
floor = public(_e.floor, "Each element rounded down; no gradient.\n\n>>> float(floor(1.5))\n1.0")
ceil = public(_e.ceil, "Each element rounded up; no gradient.\n\n>>> float(ceil(1.5))\n2.0")
round = public(
    _e.rint,
    "Each element rounded, halves to even; no gradient.\n\n>>> float(round(2.5))\n2.0",
    "round",
    real=True,
)
rint = public(
    _e.rint,
    "Each element rounded, halves to even; no gradient.\n\n>>> float(rint(2.5))\n2.0",
    "rint",
    real=True,
)
nextafter = public(
    _e.nextafter,
    "The next number after x1 in the direction of x2.\n\n>>> bool(nextafter(1.0, 2.0) > 1.0)\nTrue",
)
conj = public(_e.conj, "The complex conjugate of each element.\n\n>>> complex(conj(1 + 2j))\n(1-2j)")
less = public(_e.less, "x < y, element by element.\n\n>>> bool(less(1, 2))\nTrue")
less_equal = public(_e.less_equal, "x <= y, element by element.\n\n>>> bool(less_equal(1, 2))\nTrue")
greater = public(_e.greater, "x > y, element by element.\n\n>>> bool(greater(1, 2))\nFalse")
greater_equal = public(
    _e.greater_equal, "x >= y, element by element.\n\n>>> bool(greater_equal(1, 2))\nFalse"
)
equal = public(_e.equal, "x == y, element by element.\n\n>>> bool(equal(1, 2))\nFalse")
not_equal = public(_e.not_equal, "x != y, element by element.\n\n>>> bool(not_equal(1, 2))\nTrue")
logical_and = public(_e.logical_and, "Both, element by element.\n\n>>> bool(logical_and(True, False))\nFalse")
logical_or = public(_e.logical_or, "Either, element by element.\n\n>>> bool(logical_or(True, False))\nTrue")
logical_xor = public(_e.logical_xor, "One and not the other.\n\n>>> bool(logical_xor(True, False))\nTrue")
logical_not = public(_e.logical_not, "Not, element by element.\n\n>>> bool(logical_not(True))\nFalse")
is_nan = public(_e.isnan, "Which elements are nan?\n\n>>> bool(is_nan(float('nan')))\nTrue")
is_inf = public(_e.isinf, "Which elements are infinite?\n\n>>> bool(is_inf(float('inf')))\nTrue")
is_finite = public(_e.isfinite, "Which elements are finite?\n\n>>> bool(is_finite(1.0))\nTrue")

# ---------------------------------------------------------------------------------------------------------------------
# Special functions

erf = public(
    _s.erf,
    "The error function: the integral of 2 / sqrt(pi) exp(-t^2) from 0 to x.\n\n>>> float(erf(0.0))\n0.0",
)
erfc = public(_s.erfc, "1 - erf(x), exact where that is small.\n\n>>> float(erfc(0.0))\n1.0")
erfinv = public(_s.erfinv, "The number whose error function is x.\n\n>>> float(erfinv(0.0))\n0.0")
erfcinv = public(
    _s.erfcinv,
    "The number whose complementary error function is x.\n\n>>> round(float(erfcinv(0.5)), 4)\n0.4769",
)
ndtri = public(
    _s.ndtri,
    "The number below which a standard normal one lies with probability x.\n\n>>> float(ndtri(0.5))\n0.0",
)
lgamma = public(_s.lgamma, "log |Gamma(x)|.\n\n>>> float(lgamma(1.0))\n0.0")
digamma = public(_s.digamma, "The derivative of lgamma.\n\n>>> round(float(digamma(1.0)), 4)\n-0.5772")
polygamma = public(
    _s.polygamma,
    "The derivative of order a, a whole number, of digamma.\n\n>>> round(float(polygamma(1.0, 1.0)), 4)\n1.6449",
)
zeta = public(
    _s.zeta, "The sum of (n + q)^-x over n from 0 on.\n\n>>> round(float(zeta(2.0, 1.0)), 4)\n1.6449"
)
igamma = public(
    _s.igamma,
    "How likely a number of gamma distribution a is below x.\n\n>>> round(float(igamma(1.0, 1.0)), 4)\n0.6321",
)
igammac = public(
    _s.igammac,
    "1 - igamma(a, x), exact where that is small.\n\n>>> round(float(igammac(1.0, 1.0)), 4)\n0.3679",
)
betainc = public(
    _s.betainc,
    "How likely a number of beta distribution (a, b) is below x.\n\n>>> float(betainc(1.0, 1.0, 0.5))\n0.5",
)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """`x` where the condition holds, `y` elsewhere; of a condition alone, the indices at which it holds, one a row.

    >>> where([True, False], 1.0, 2.0).numpy()
    array([1., 2.], dtype=float32)
    >>> where([False, True]).numpy()
    array([[1]])
    """
    if (x is None) != (y is None):
        raise ValueError("where: give both x and y, or neither")
    chosen = convert(condition)
    if x is None:
        known = _shape_known("where", "the condition", chosen._array, "use where(condition, x, y)")
        return _wrap(np.argwhere(known))
    if chosen._array.dtype.kind != "b":
        raise DTypeError(
            f"where: the condition must be boolean, not {chosen.dtype.name}: compare first, as in x > 0"
        )
    taken, other = together("where", [x, y])
    if taken._array.dtype != other._array.dtype:
        raise DTypeError(
            f"where: x and y must have one dtype, not {taken.dtype.name} and {other.dtype.name}: cast one"
        )
    return apply(_e.select, (chosen, taken, other))


closed(__name__)
