"""Public functions that take tensors alone: each is its primitive, applied.

`__all__` is what the namespace `tf.math` offers of them: adding a function here and its name there makes it public.
"""

from __future__ import annotations

import numpy as np

from ...core import structural
from ...core.errors import DTypeError
from ...core.primitive import apply, apply1, apply2, ordered
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ..array.movement import together
from ..known import shape_known
from . import elementwise, special

__all__ = [
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "betainc",
    "ceil",
    "conj",
    "cos",
    "cosh",
    "digamma",
    "divide",
    "divide_no_nan",
    "equal",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "exp",
    "expm1",
    "floor",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "igamma",
    "igammac",
    "is_finite",
    "is_inf",
    "is_nan",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log1p",
    "log_sigmoid",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "multiply_no_nan",
    "ndtri",
    "negative",
    "nextafter",
    "not_equal",
    "polygamma",
    "rint",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "softplus",
    "softsign",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "truediv",
    "where",
    "xdivy",
    "xlog1py",
    "xlogy",
    "zeta",
]

# ---------------------------------------------------------------------------------------------------------------------
# Arithmetic


def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x + y, element by element.

    >>> float(add(1.0, 2.0))
    3.0
    """
    return apply2(elementwise.add, x, y)


def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x - y, element by element.

    >>> float(subtract(1.0, 2.0))
    -1.0
    """
    return apply2(elementwise.subtract, x, y)


def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x * y, element by element.

    >>> float(multiply(2.0, 3.0))
    6.0
    """
    return apply2(elementwise.multiply, x, y)


def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y, element by element; integers give floats.

    >>> float(divide(1, 2))
    0.5
    """
    return apply2(elementwise.divide, x, y)


def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y, element by element; integers give floats.

    >>> float(truediv(1, 2))
    0.5
    """
    return apply2(elementwise.divide, x, y)


def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x // y, rounded down.

    >>> int(floordiv(-1, 2))
    -1
    """
    return apply2(elementwise.floor_divide, x, y)


def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x % y, with the sign of y.

    >>> int(floormod(-1, 3))
    2
    """
    return apply2(elementwise.floormod, x, y)


def mod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x % y, with the sign of y.

    >>> int(mod(-1, 3))
    2
    """
    return apply2(elementwise.floormod, x, y)


def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y, rounded towards 0.

    >>> int(truncatediv(-7, 2))
    -3
    """
    return apply2(elementwise.truncatediv, x, y)


def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The remainder of `truncatediv`, with the sign of x.

    >>> int(truncatemod(-7, 2))
    -1
    """
    return apply2(elementwise.truncatemod, x, y)


def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y, and 0 where y is 0.

    >>> float(divide_no_nan(1.0, 0.0))
    0.0
    """
    return apply2(elementwise.divide_no_nan, x, y)


def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x * y, and 0 where y is 0 even if x is not finite.

    >>> float(multiply_no_nan(float('inf'), 0.0))
    0.0
    """
    return apply2(elementwise.multiply_no_nan, x, y)


def negative(x: TensorLike, name: str | None = None) -> Tensor:
    """-x for each element.

    >>> float(negative(1.0))
    -1.0
    """
    return apply1(elementwise.negative, x)


# ---------------------------------------------------------------------------------------------------------------------
# Powers, exponentials, logarithms


def square(x: TensorLike, name: str | None = None) -> Tensor:
    """x * x for each element.

    >>> float(square(3.0))
    9.0
    """
    return apply1(elementwise.square, x)


def sqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """The square root of each element.

    >>> float(sqrt(9.0))
    3.0
    """
    return apply1(elementwise.sqrt, x)


def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / sqrt(x) for each element.

    >>> float(rsqrt(4.0))
    0.5
    """
    return apply1(elementwise.rsqrt, x)


def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """e to the power x for each element.

    >>> float(exp(0.0))
    1.0
    """
    return apply1(elementwise.exp, x)


def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """exp(x) - 1, exact near 0.

    >>> float(expm1(0.0))
    0.0
    """
    return apply1(elementwise.expm1, x)


def log(x: TensorLike, name: str | None = None) -> Tensor:
    """The natural logarithm of each element.

    >>> float(log(1.0))
    0.0
    """
    return apply1(elementwise.log, x)


def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """log(1 + x), exact near 0.

    >>> float(log1p(0.0))
    0.0
    """
    return apply1(elementwise.log1p, x)


# ---------------------------------------------------------------------------------------------------------------------
# Trigonometric and hyperbolic


def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """The sine of each element, in radians.

    >>> float(sin(0.0))
    0.0
    """
    return apply1(elementwise.sin, x)


def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """The cosine of each element, in radians.

    >>> float(cos(0.0))
    1.0
    """
    return apply1(elementwise.cos, x)


def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """The tangent of each element, in radians.

    >>> float(tan(0.0))
    0.0
    """
    return apply1(elementwise.tan, x)


def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """The hyperbolic sine of each element.

    >>> float(sinh(0.0))
    0.0
    """
    return apply1(elementwise.sinh, x)


def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """The hyperbolic cosine of each element.

    >>> float(cosh(0.0))
    1.0
    """
    return apply1(elementwise.cosh, x)


def tanh(x: TensorLike, name: str | None = None) -> Tensor:
    """The hyperbolic tangent of each element.

    >>> float(tanh(0.0))
    0.0
    """
    return apply1(elementwise.tanh, x)


def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """The angle whose sine is x, from -pi/2 to pi/2.

    >>> float(asin(0.0))
    0.0
    """
    return apply1(elementwise.asin, x)


def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """The angle whose cosine is x, from 0 to pi.

    >>> float(acos(1.0))
    0.0
    """
    return apply1(elementwise.acos, x)


def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """The angle whose tangent is x, from -pi/2 to pi/2.

    >>> float(atan(0.0))
    0.0
    """
    return apply1(elementwise.atan, x)


def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The angle of the point (x, y), from -pi to pi. Its gradient at 0 is 0.

    >>> float(atan2(0.0, 1.0))
    0.0
    """
    return apply2(elementwise.atan2, y, x)


def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of the hyperbolic sine.

    >>> float(asinh(0.0))
    0.0
    """
    return apply1(elementwise.asinh, x)


def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of the hyperbolic cosine.

    >>> float(acosh(1.0))
    0.0
    """
    return apply1(elementwise.acosh, x)


def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of the hyperbolic tangent.

    >>> float(atanh(0.0))
    0.0
    """
    return apply1(elementwise.atanh, x)


# ---------------------------------------------------------------------------------------------------------------------
# Activations


def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x)), without overflow.

    >>> float(sigmoid(0.0))
    0.5
    """
    return apply1(elementwise.sigmoid, x)


def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """log(1 + exp(x)), without overflow.

    >>> float(softplus(1000.0))
    1000.0
    """
    return apply1(elementwise.softplus, features)


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """log(sigmoid(x)), without overflow.

    >>> float(log_sigmoid(-1000.0))
    -1000.0
    """
    return apply1(elementwise.log_sigmoid, x)


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """x / (1 + |x|).

    >>> float(softsign(1.0))
    0.5
    """
    return ordered(elementwise.softsign, apply1(elementwise.softsign, features))


# ---------------------------------------------------------------------------------------------------------------------
# Products that are 0 where a factor is 0


def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y, and 0 where x is 0.

    >>> float(xdivy(0.0, 0.0))
    0.0
    """
    return apply2(elementwise.xdivy, x, y)


def xlog1py(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x * log(1 + y), and 0 where x is 0.

    >>> float(xlog1py(0.0, -1.0))
    0.0
    """
    return apply2(elementwise.xlog1py, x, y)


def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x * log(y), and 0 where x is 0.

    >>> float(xlogy(0.0, 0.0))
    0.0
    """
    return apply2(elementwise.xlogy, x, y)


# ---------------------------------------------------------------------------------------------------------------------
# Comparing, rounding, parts of numbers


def maximum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The larger of x and y; where they are equal the gradient goes to x.

    >>> float(maximum(1.0, 2.0))
    2.0
    """
    return ordered(elementwise.maximum, apply2(elementwise.maximum, x, y))


def minimum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The smaller of x and y; where they are equal the gradient goes to x.

    >>> float(minimum(1.0, 2.0))
    1.0
    """
    return ordered(elementwise.minimum, apply2(elementwise.minimum, x, y))


def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """Each element rounded down; no gradient.

    >>> float(floor(1.5))
    1.0
    """
    return apply1(elementwise.floor, x)


def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """Each element rounded up; no gradient.

    >>> float(ceil(1.5))
    2.0
    """
    return apply1(elementwise.ceil, x)


def round(x: TensorLike, name: str | None = None) -> Tensor:
    """Each element rounded, halves to even; no gradient.

    >>> float(round(2.5))
    2.0
    """
    return ordered(elementwise.rint, apply1(elementwise.rint, x))


def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """Each element rounded, halves to even; no gradient.

    >>> float(rint(2.5))
    2.0
    """
    return ordered(elementwise.rint, apply1(elementwise.rint, x))


def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> Tensor:
    """The next number after x1 in the direction of x2.

    >>> bool(nextafter(1.0, 2.0) > 1.0)
    True
    """
    return apply2(elementwise.nextafter, x1, x2)


def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """The complex conjugate of each element.

    >>> complex(conj(1 + 2j))
    (1-2j)
    """
    return apply1(structural.conj, x)


def less(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x < y, element by element.

    >>> bool(less(1, 2))
    True
    """
    return apply2(elementwise.less, x, y)


def less_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x <= y, element by element.

    >>> bool(less_equal(1, 2))
    True
    """
    return apply2(elementwise.less_equal, x, y)


def greater(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x > y, element by element.

    >>> bool(greater(1, 2))
    False
    """
    return apply2(elementwise.greater, x, y)


def greater_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x >= y, element by element.

    >>> bool(greater_equal(1, 2))
    False
    """
    return apply2(elementwise.greater_equal, x, y)


def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x == y, element by element.

    >>> bool(equal(1, 2))
    False
    """
    return apply2(elementwise.equal, x, y)


def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x != y, element by element.

    >>> bool(not_equal(1, 2))
    True
    """
    return apply2(elementwise.not_equal, x, y)


def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x and y, element by element.

    >>> bool(logical_and(True, False))
    False
    """
    return apply2(elementwise.logical_and, x, y)


def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x or y, element by element.

    >>> bool(logical_or(True, False))
    True
    """
    return apply2(elementwise.logical_or, x, y)


def logical_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x or y but not both, element by element.

    >>> bool(logical_xor(True, False))
    True
    """
    return apply2(elementwise.logical_xor, x, y)


def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """not x, element by element.

    >>> bool(logical_not(True))
    False
    """
    return apply1(elementwise.logical_not, x)


def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether each element is nan.

    >>> bool(is_nan(float('nan')))
    True
    """
    return apply1(elementwise.isnan, x)


def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether each element is infinite.

    >>> bool(is_inf(float('inf')))
    True
    """
    return apply1(elementwise.isinf, x)


def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether each element is finite.

    >>> bool(is_finite(1.0))
    True
    """
    return apply1(elementwise.isfinite, x)


# ---------------------------------------------------------------------------------------------------------------------
# Special functions


def erf(x: TensorLike, name: str | None = None) -> Tensor:
    """The error function: the integral of 2 / sqrt(pi) exp(-t^2) from 0 to x.

    >>> float(erf(0.0))
    0.0
    """
    return apply1(special.erf, x)


def erfc(x: TensorLike, name: str | None = None) -> Tensor:
    """1 - erf(x), exact where that is small.

    >>> float(erfc(0.0))
    1.0
    """
    return apply1(special.erfc, x)


def erfinv(x: TensorLike, name: str | None = None) -> Tensor:
    """The number whose error function is x.

    >>> float(erfinv(0.0))
    0.0
    """
    return apply1(special.erfinv, x)


def erfcinv(x: TensorLike, name: str | None = None) -> Tensor:
    """The number whose complementary error function is x.

    >>> print(f"{float(erfcinv(0.5)):.4f}")
    0.4769
    """
    return apply1(special.erfcinv, x)


def ndtri(x: TensorLike, name: str | None = None) -> Tensor:
    """The number below which a standard normal one lies with probability x.

    >>> float(ndtri(0.5))
    0.0
    """
    return apply1(special.ndtri, x)


def lgamma(x: TensorLike, name: str | None = None) -> Tensor:
    """log |Gamma(x)|.

    >>> float(lgamma(1.0))
    0.0
    """
    return apply1(special.lgamma, x)


def digamma(x: TensorLike, name: str | None = None) -> Tensor:
    """The derivative of lgamma.

    >>> print(f"{float(digamma(1.0)):.4f}")
    -0.5772
    """
    return apply1(special.digamma, x)


def polygamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The derivative of order a, a whole number, of digamma.

    >>> print(f"{float(polygamma(1.0, 1.0)):.4f}")
    1.6449
    """
    return apply2(special.polygamma, a, x)


def zeta(x: TensorLike, q: TensorLike, name: str | None = None) -> Tensor:
    """The sum of (n + q)^-x over n from 0 on.

    >>> print(f"{float(zeta(2.0, 1.0)):.4f}")
    1.6449
    """
    return apply2(special.zeta, x, q)


def igamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The probability that a number of the gamma distribution with shape a is below x.

    >>> print(f"{float(igamma(1.0, 1.0)):.4f}")
    0.6321
    """
    return apply2(special.igamma, a, x)


def igammac(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """1 - igamma(a, x), exact where that is small.

    >>> print(f"{float(igammac(1.0, 1.0)):.4f}")
    0.3679
    """
    return apply2(special.igammac, a, x)


def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The probability that a number of the beta distribution with shapes a and b is below x.

    >>> float(betainc(1.0, 1.0, 0.5))
    0.5
    """
    return apply(special.betainc, (a, b, x))


# ---------------------------------------------------------------------------------------------------------------------
# Choosing


def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """`x` where the condition holds, `y` elsewhere; for a condition alone, the indices at which it holds, one a row.

    Raises:
        ValueError: If one of `x` and `y` is missing.
        DTypeError: If the condition is not boolean, or `x` and `y` have different dtypes.
        NotCompilableError: If a condition alone is computed in a `@function`: its values decide the shape.

    >>> where([True, False], 1.0, 2.0).numpy()
    array([1., 2.], dtype=float32)
    >>> where([False, True]).numpy()
    array([[1]])
    """
    if (x is None) != (y is None):
        raise ValueError("where: give both x and y, or neither")
    chosen = convert(condition)
    if x is None:
        known = shape_known("where", "the condition", chosen._array, "use where(condition, x, y)")
        return wrap(np.argwhere(known))
    if chosen._array.dtype.kind != "b":
        raise DTypeError(
            f"where: the condition must be boolean, not {chosen.dtype.name}: compare first, as in x > 0"
        )
    taken, other = together("where", [x, y])
    if taken._array.dtype != other._array.dtype:
        raise DTypeError(
            f"where: x and y must have one dtype, not {taken.dtype.name} and {other.dtype.name}: cast one"
        )
    return apply(elementwise.select, (chosen, taken, other))
