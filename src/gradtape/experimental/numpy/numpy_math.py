"""Arithmetic for `experimental.numpy`: functions of each element."""

from __future__ import annotations

import builtins
import math as _math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from ... import math as _tf
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import Tensor
from ...core.types import TensorLike
from ...engine.arrays import is_traced
from ...ops.array import movement as _movement
from ...ops.math import bits as _bits
from ...ops.math.functions import where as _where
from ...ops.scalars import integer as _integer
from .numpy_arrays import array, inexact_array, together

F = TypeVar("F", bound=Callable[..., Any])


# For type checkers: a `Callable` would not know the names of the parameters.
class _Unary(Protocol):
    def __call__(self, x: TensorLike) -> Tensor: ...


class _Binary(Protocol):
    def __call__(self, x1: TensorLike, x2: TensorLike) -> Tensor: ...


def named(function: F, name: str, doc: str) -> F:
    """Give a function a name and a docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


_LOG2, _LOG10 = _math.log(2), _math.log(10)


def _unary(of: Callable[[Any], Tensor], name: str, doc: str, take: Callable[[Any], Tensor] = array) -> _Unary:
    def function(x: TensorLike) -> Tensor:
        return of(take(x))

    return named(function, name, doc)


def _binary(
    of: Callable[[Any, Any], Tensor], name: str, doc: str, take: Callable[[Any], Tensor] | None = None
) -> _Binary:
    def function(x1: TensorLike, x2: TensorLike) -> Tensor:
        xs = together(x1, x2)
        return of(*xs) if take is None else of(*map(take, xs))

    return named(function, name, doc)


def _logical(of: Callable[[Any, Any], Tensor], name: str, doc: str) -> _Binary:
    def function(x1: TensorLike, x2: TensorLike) -> Tensor:
        return of(array(x1, bool), array(x2, bool))

    return named(function, name, doc)


abs = absolute = _unary(_tf.abs, "abs", "The absolute value.\n\n>>> int(abs(-1))\n1")
negative = _unary(_tf.negative, "negative", "-x.\n\n>>> int(negative(1))\n-1")
square = _unary(_tf.square, "square", "x * x.\n\n>>> int(square(3))\n9")
sign = _unary(_tf.sign, "sign", "-1, 0 or 1.\n\n>>> float(sign(-2.0))\n-1.0")
exp = _unary(_tf.exp, "exp", "e to the power x.\n\n>>> float(exp(0))\n1.0", inexact_array)
log = _unary(_tf.log, "log", "The natural logarithm.\n\n>>> float(log(1))\n0.0", inexact_array)
sqrt = _unary(_tf.sqrt, "sqrt", "The square root.\n\n>>> float(sqrt(4))\n2.0", inexact_array)
sin = _unary(_tf.sin, "sin", "The sine.\n\n>>> float(sin(0))\n0.0", inexact_array)
cos = _unary(_tf.cos, "cos", "The cosine.\n\n>>> float(cos(0))\n1.0", inexact_array)
tan = _unary(_tf.tan, "tan", "The tangent.\n\n>>> float(tan(0))\n0.0", inexact_array)
tanh = _unary(_tf.tanh, "tanh", "The hyperbolic tangent.\n\n>>> float(tanh(0))\n0.0", inexact_array)
floor = _unary(_tf.floor, "floor", "Rounded down.\n\n>>> float(floor(1.5))\n1.0", inexact_array)
ceil = _unary(_tf.ceil, "ceil", "Rounded up.\n\n>>> float(ceil(1.5))\n2.0", inexact_array)
isnan = _unary(_tf.is_nan, "isnan", "Whether x is NaN.\n\n>>> bool(isnan(1.0))\nFalse", inexact_array)
isinf = _unary(_tf.is_inf, "isinf", "Whether x is infinite.\n\n>>> bool(isinf(1.0))\nFalse", inexact_array)
isfinite = _unary(
    _tf.is_finite, "isfinite", "Whether x is finite.\n\n>>> bool(isfinite(1.0))\nTrue", inexact_array
)
add = _binary(_tf.add, "add", "x1 + x2.\n\n>>> float(add(1, 2.0))\n3.0")
subtract = _binary(_tf.subtract, "subtract", "x1 - x2.\n\n>>> int(subtract(1, 2))\n-1")
multiply = _binary(_tf.multiply, "multiply", "x1 * x2.\n\n>>> int(multiply(2, 3))\n6")
divide = true_divide = _binary(_tf.divide, "divide", "x1 / x2.\n\n>>> float(divide(1, 2))\n0.5")
power = float_power = _binary(_tf.pow, "power", "x1 ** x2.\n\n>>> int(power(2, 3))\n8")
maximum = _binary(_tf.maximum, "maximum", "The larger of x1 and x2.\n\n>>> float(maximum(1, 2.0))\n2.0")
minimum = _binary(_tf.minimum, "minimum", "The smaller of x1 and x2.\n\n>>> float(minimum(1, 2.0))\n1.0")
equal = _binary(_tf.equal, "equal", "x1 == x2.\n\n>>> bool(equal(1, 1.0))\nTrue")
not_equal = _binary(_tf.not_equal, "not_equal", "x1 != x2.\n\n>>> bool(not_equal(1, 1.0))\nFalse")
less = _binary(_tf.less, "less", "x1 < x2.\n\n>>> bool(less(1, 2))\nTrue")
less_equal = _binary(_tf.less_equal, "less_equal", "x1 <= x2.\n\n>>> bool(less_equal(1, 2))\nTrue")
greater = _binary(_tf.greater, "greater", "x1 > x2.\n\n>>> bool(greater(1, 2))\nFalse")
greater_equal = _binary(
    _tf.greater_equal, "greater_equal", "x1 >= x2.\n\n>>> bool(greater_equal(1, 2))\nFalse"
)
arccos = _unary(_tf.acos, "arccos", "The inverse of the cosine.\n\n>>> float(arccos(1))\n0.0", inexact_array)
arccosh = _unary(_tf.acosh, "arccosh", "The inverse of cosh.\n\n>>> float(arccosh(1))\n0.0", inexact_array)
arcsin = _unary(_tf.asin, "arcsin", "The inverse of the sine.\n\n>>> float(arcsin(0))\n0.0", inexact_array)
arcsinh = _unary(_tf.asinh, "arcsinh", "The inverse of sinh.\n\n>>> float(arcsinh(0))\n0.0", inexact_array)
arctan = _unary(_tf.atan, "arctan", "The inverse of the tangent.\n\n>>> float(arctan(0))\n0.0", inexact_array)
arctanh = _unary(_tf.atanh, "arctanh", "The inverse of tanh.\n\n>>> float(arctanh(0))\n0.0", inexact_array)
cosh = _unary(_tf.cosh, "cosh", "The hyperbolic cosine.\n\n>>> float(cosh(0))\n1.0", inexact_array)
sinh = _unary(_tf.sinh, "sinh", "The hyperbolic sine.\n\n>>> float(sinh(0))\n0.0", inexact_array)
expm1 = _unary(_tf.expm1, "expm1", "exp(x) - 1.\n\n>>> float(expm1(0))\n0.0", inexact_array)
log1p = _unary(_tf.log1p, "log1p", "log(1 + x).\n\n>>> float(log1p(0))\n0.0", inexact_array)
fabs = _unary(_tf.abs, "fabs", "The absolute value, as a float.\n\n>>> float(fabs(-1))\n1.0", inexact_array)
positive = _unary(lambda x: x, "positive", "x itself.\n\n>>> int(positive(1))\n1")
conjugate = conj = _unary(_tf.conj, "conjugate", "The complex conjugate.\n\n>>> complex(conjugate(1j))\n-1j")
reciprocal = _unary(_tf.reciprocal, "reciprocal", "1 / x.\n\n>>> float(reciprocal(2.0))\n0.5")
exp2 = _unary(
    lambda x: _tf.exp(x * _LOG2),
    "exp2",
    "2 to the power x.\n\n>>> float(exp2(0))\n1.0",
    inexact_array,
)
log2 = _unary(
    lambda x: _tf.log(x) / _LOG2, "log2", "The logarithm to base 2.\n\n>>> float(log2(1))\n0.0", inexact_array
)
log10 = _unary(
    lambda x: _tf.log(x) / _LOG10,
    "log10",
    "The logarithm to base 10.\n\n>>> float(log10(1))\n0.0",
    inexact_array,
)
deg2rad = _unary(
    lambda x: x * (_math.pi / 180),
    "deg2rad",
    "Degrees as radians.\n\n>>> float(deg2rad(0))\n0.0",
    inexact_array,
)
rad2deg = _unary(
    lambda x: x * (180 / _math.pi),
    "rad2deg",
    "Radians as degrees.\n\n>>> float(rad2deg(0))\n0.0",
    inexact_array,
)
logical_not = _unary(
    lambda x: _tf.logical_not(_movement.cast(x, "bool")),
    "logical_not",
    "Not x.\n\n>>> bool(logical_not(0))\nTrue",
)
bitwise_not = _unary(_bits.invert, "bitwise_not", "The bits exchanged.\n\n>>> int(bitwise_not(0))\n-1")
isreal = _unary(
    lambda x: _tf.equal(_tf.imag(x), 0) if x.dtype.is_complex else _tf.equal(x, x) | True,
    "isreal",
    "Whether the imaginary part is 0.\n\n>>> bool(isreal(1j))\nFalse",
)
iscomplex = _unary(
    lambda x: _tf.logical_not(isreal(x)),
    "iscomplex",
    "Whether the imaginary part is not 0.\n\n>>> bool(iscomplex(1j))\nTrue",
)
isposinf = _unary(
    lambda x: _tf.equal(x, _math.inf),
    "isposinf",
    "Whether x is +inf.\n\n>>> bool(isposinf(1.0))\nFalse",
    inexact_array,
)
isneginf = _unary(
    lambda x: _tf.equal(x, -_math.inf),
    "isneginf",
    "Whether x is -inf.\n\n>>> bool(isneginf(1.0))\nFalse",
    inexact_array,
)
arctan2 = _binary(
    _tf.atan2, "arctan2", "The angle of the point (x2, x1).\n\n>>> float(arctan2(0, 1))\n0.0", inexact_array
)
nextafter = _binary(
    _tf.nextafter,
    "nextafter",
    "The next number after x1 towards x2.\n\n>>> float(nextafter(1, 2)) > 1\nTrue",
    inexact_array,
)
floor_divide = _binary(_tf.floordiv, "floor_divide", "x1 // x2.\n\n>>> int(floor_divide(7, 2))\n3")
mod = remainder = _binary(
    _tf.floormod, "mod", "x1 % x2: the remainder, with the sign of x2.\n\n>>> int(mod(7, 4))\n3"
)
bitwise_and = _binary(
    _bits.bitwise_and, "bitwise_and", "The bits common to x1 and x2.\n\n>>> int(bitwise_and(6, 3))\n2"
)
bitwise_or = _binary(_bits.bitwise_or, "bitwise_or", "The bits of x1 or x2.\n\n>>> int(bitwise_or(6, 3))\n7")
bitwise_xor = _binary(
    _bits.bitwise_xor, "bitwise_xor", "The bits of x1 or x2, not both.\n\n>>> int(bitwise_xor(6, 3))\n5"
)
logical_and = _logical(_tf.logical_and, "logical_and", "x1 and x2.\n\n>>> bool(logical_and(1, 0))\nFalse")
logical_or = _logical(_tf.logical_or, "logical_or", "x1 or x2.\n\n>>> bool(logical_or(1, 0))\nTrue")
logical_xor = _logical(
    _tf.logical_xor, "logical_xor", "x1 or x2, not both.\n\n>>> bool(logical_xor(1, 1))\nFalse"
)
hypot = _binary(
    lambda x, y: _tf.sqrt(_tf.square(x) + _tf.square(y)),
    "hypot",
    "The length of the vector (x1, x2).\n\n>>> float(hypot(3, 4))\n5.0",
    inexact_array,
)


def divmod(x1: TensorLike, x2: TensorLike) -> tuple[Tensor, Tensor]:
    """x1 // x2 and the remainder.

    >>> [int(x) for x in divmod(7, 2)]
    [3, 1]
    """
    return floor_divide(x1, x2), mod(x1, x2)


def sinc(x: TensorLike) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0.

    >>> float(sinc(0))
    1.0
    """
    scaled = inexact_array(x) * _math.pi
    zero = _tf.equal(scaled, 0)
    safe = _where(zero, array(1, scaled.dtype), scaled)
    return _where(zero, array(1, scaled.dtype), _tf.sin(safe) / safe)


def cbrt(x: TensorLike) -> Tensor:
    """The cube root.

    >>> float(cbrt(-1))
    -1.0
    """
    value = inexact_array(x)
    return _tf.sign(value) * _tf.pow(_tf.abs(value), array(1 / 3, value.dtype))


def fix(x: TensorLike) -> Tensor:
    """Rounded towards 0.

    >>> float(fix(-1.5))
    -1.0
    """
    value = inexact_array(x)
    return _where(_tf.less(value, 0), _tf.ceil(value), _tf.floor(value))


def signbit(x: TensorLike) -> Tensor:
    """Whether x is below 0; for floats also of -0.0.

    >>> bool(signbit(-1.0))
    True
    """
    value = array(x)
    if not value.dtype.is_floating:
        return _tf.less(value, 0) if not value.dtype.is_bool else _tf.not_equal(value, value)
    return _tf.less(value, 0) | (_tf.equal(value, 0) & _tf.less(1 / value, 0))


def heaviside(x1: TensorLike, x2: TensorLike) -> Tensor:
    """0 where x1 is below 0, 1 above, and x2 at 0.

    >>> float(heaviside(0.0, 0.5))
    0.5
    """
    x, at_zero = map(inexact_array, together(x1, x2))
    one = array(1, x.dtype)
    return _where(
        _tf.less(x, 0), one * 0, _where(_tf.greater(x, 0), one, _where(_tf.equal(x, 0), at_zero, x))
    )


def logaddexp(x1: TensorLike, x2: TensorLike) -> Tensor:
    """log(exp(x1) + exp(x2)).

    >>> float(exp(logaddexp(0, 0)))
    2.0
    """
    x, y = map(inexact_array, together(x1, x2))
    high = _tf.maximum(x, y)
    apart = x - y
    return _where(_tf.is_nan(apart), x + y, high + _tf.log1p(_tf.exp(-_tf.abs(apart))))


def logaddexp2(x1: TensorLike, x2: TensorLike) -> Tensor:
    """log2(2**x1 + 2**x2).

    >>> float(logaddexp2(0, 0))
    1.0
    """
    x, y = map(inexact_array, together(x1, x2))
    return logaddexp(x * _LOG2, y * _LOG2) / _LOG2


def gcd(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The greatest common divisor of the integers `x1` and `x2`.

    >>> int(gcd(12, 18))
    6
    """
    return _divisors("gcd", x1, x2)[2]


def lcm(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The least common multiple of the integers `x1` and `x2`.

    >>> int(lcm(4, 6))
    12
    """
    x, y, common = _divisors("lcm", x1, x2)
    safe = _where(_tf.equal(common, 0), array(1, common.dtype), common)
    return _tf.abs(_tf.floordiv(x, safe) * y)


def _divisors(name: str, x1: Any, x2: Any) -> tuple[Tensor, Tensor, Tensor]:
    x, y = together(x1, x2)
    if not x.dtype.is_integer:
        raise DTypeError(f"{name}: takes integers, not {x.dtype.name}")
    if not (is_traced(x._array) or is_traced(y._array)):
        return x, y, array(np.gcd(x._array, y._array), x.dtype)
    import jax.numpy as jnp

    from ...core.tensor import wrap

    return x, y, wrap(jnp.gcd(x._array, y._array))


def angle(z: TensorLike, deg: bool = False) -> Tensor:
    """The angle of the complex numbers `z`, in radians, or in degrees if `deg`.

    >>> float(angle(1j, deg=True))
    90.0
    """
    x = inexact_array(z)
    found = _tf.angle(x)
    return found * (180 / _math.pi) if deg else found


def real(val: TensorLike) -> Tensor:
    """The real part of `val`.

    >>> float(real(1 + 2j))
    1.0
    """
    x = array(val)
    return _tf.real(x) if x.dtype.is_complex else x


def imag(val: TensorLike) -> Tensor:
    """The imaginary part of `val`.

    >>> float(imag(1 + 2j))
    2.0
    """
    x = array(val)
    return _tf.imag(x) if x.dtype.is_complex else x * 0


def around(a: TensorLike, decimals: int = 0) -> Tensor:
    """Rounded to a number of decimals, halves to even.

    >>> float(around(1.25, 1))
    1.2
    """
    x, places = array(a), _integer("around", "decimals", decimals)
    if not places:
        return _tf.round(x)
    if builtins.abs(places) > 300:
        raise InvalidArgumentError(f"around: decimals must be between -300 and 300, not {places}")
    factor = array(10.0**places, "float64")
    wide = x if x.dtype.is_floating or x.dtype.is_complex else _movement.cast(x, "float64")
    factor = _movement.cast(factor, wide.dtype)
    return _movement.cast(_tf.round(wide * factor) / factor, x.dtype)


round = around


def isclose(
    a: TensorLike, b: TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether |a - b| <= atol + rtol |b|.

    Args:
        equal_nan: whether NaN is close to NaN.

    >>> isclose([1.0, 2.0], [1.0, 2.1]).numpy()
    array([ True, False])
    """
    x, y = together(a, b)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return _tf.equal(x, y)
    size = _tf.abs(y)
    near = _tf.less_equal(_tf.abs(x - y), size * rtol + atol) & _tf.is_finite(size)
    near = near | _tf.equal(x, y)
    return near | (_tf.not_equal(x, x) & _tf.not_equal(y, y)) if equal_nan else near


def allclose(
    a: TensorLike, b: TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether all elements are close, as `isclose` says with `rtol`, `atol` and `equal_nan`.

    >>> bool(allclose([1.0], [1.0 + 1e-9]))
    True
    """
    return _tf.reduce_all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: TensorLike, a2: TensorLike) -> Any:
    """Whether the shapes and elements of `a1` and `a2` are equal.

    >>> bool(array_equal([1, 2], [1, 2]))
    True
    """
    x, y = together(a1, a2)
    if x._array.shape != y._array.shape:
        return array(False)
    return _tf.reduce_all(_tf.equal(x, y))


def polyval(p: TensorLike, x: TensorLike) -> Tensor:
    """The polynomial whose coefficients are `p`, the highest power first, at `x`.

    >>> int(polyval([1, 0, 1], 3))
    10
    """
    coefficients, at = together(p, x)
    coefficients = _movement.reshape(coefficients, (1,)) if not coefficients.ndim else coefficients
    total = at * 0
    for coefficient in _movement.unstack(coefficients, axis=0):
        total = total * at + coefficient
    return total
