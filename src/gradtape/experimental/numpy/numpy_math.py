"""Arithmetic for `experimental.numpy`: functions of each element, reductions and products."""

from __future__ import annotations

import builtins
import math as _math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from ... import math as _tf
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import Tensor
from ...core.types import Axes, Axis, DTypeLike, TensorLike
from ...engine.arrays import is_traced
from ...ops.array import movement as _movement
from ...ops.array.arrange import roll as _roll
from ...ops.linalg.einsum import einsum as _einsum
from ...ops.linalg.einsum import tensordot as _tensordot
from ...ops.linalg.products import matmul as _matmul
from ...ops.math import bits as _bits
from ...ops.math.functions import where as _where
from ...ops.scalars import integer as _integer
from .numpy_arrays import array, diagonal_of, inexact_array, together

# ---------------------------------------------------------------------------------------------------------------------
# Element by element


F = TypeVar("F", bound=Callable[..., Any])


# For type checkers: a `Callable` would not know the names of the parameters.
class _Unary(Protocol):
    def __call__(self, x: TensorLike) -> Tensor: ...


class _Binary(Protocol):
    def __call__(self, x1: TensorLike, x2: TensorLike) -> Tensor: ...


class _Reduction(Protocol):
    def __call__(self, a: TensorLike, axis: Axes = None, keepdims: bool | None = None) -> Tensor: ...


class _TypedReduction(Protocol):
    def __call__(
        self, a: TensorLike, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool | None = None
    ) -> Tensor: ...


def _named(function: F, name: str, doc: str) -> F:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


_LOG2, _LOG10 = _math.log(2), _math.log(10)


def _unary(of: Callable[[Any], Tensor], name: str, doc: str, take: Callable[[Any], Tensor] = array) -> _Unary:
    def function(x: TensorLike) -> Tensor:
        return of(take(x))

    return _named(function, name, doc)


def _binary(
    of: Callable[[Any, Any], Tensor], name: str, doc: str, take: Callable[[Any], Tensor] | None = None
) -> _Binary:
    def function(x1: TensorLike, x2: TensorLike) -> Tensor:
        xs = together(x1, x2)
        return of(*xs) if take is None else of(*map(take, xs))

    return _named(function, name, doc)


def _logical(of: Callable[[Any, Any], Tensor], name: str, doc: str) -> _Binary:
    def function(x1: TensorLike, x2: TensorLike) -> Tensor:
        return of(array(x1, bool), array(x2, bool))

    return _named(function, name, doc)


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


# ---------------------------------------------------------------------------------------------------------------------
# Reductions and products


def _reduction(
    of: Callable[[Any, Any, bool], Tensor], name: str, doc: str, take: Callable[[Any], Tensor]
) -> _Reduction:
    def function(a: TensorLike, axis: Axes = None, keepdims: bool | None = None) -> Tensor:
        return of(take(a), axis, bool(keepdims))

    return _named(function, name, doc)


def _typed_reduction(
    of: Callable[[Any, Any, bool], Tensor], name: str, doc: str, take: Callable[[Any], Tensor]
) -> _TypedReduction:
    def function(
        a: TensorLike, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool | None = None
    ) -> Tensor:
        return of(take(a) if dtype is None else array(a, dtype), axis, bool(keepdims))

    return _named(function, name, doc)


def _summable(a: Any) -> Tensor:
    """As NumPy sums it: small integers and booleans as int64."""
    x = array(a)
    short = x.dtype.is_bool or (x.dtype.is_integer and x.dtype.size < 8)
    return _movement.cast(x, "uint64" if x.dtype.is_unsigned else "int64") if short else x


def _truth(a: Any) -> Tensor:
    return array(a, bool)


sum = _typed_reduction(_tf.reduce_sum, "sum", "The sum.\n\n>>> int(sum([1, 2]))\n3", _summable)
prod = _typed_reduction(_tf.reduce_prod, "prod", "The product.\n\n>>> int(prod([2, 3]))\n6", _summable)
std = _reduction(
    _tf.reduce_std, "std", "The standard deviation.\n\n>>> float(std([1, 3]))\n1.0", inexact_array
)
max = _reduction(_tf.reduce_max, "max", "The largest.\n\n>>> int(max([1, 2]))\n2", array)
min = _reduction(_tf.reduce_min, "min", "The smallest.\n\n>>> int(min([1, 2]))\n1", array)
all = _reduction(_tf.reduce_all, "all", "Whether all are true.\n\n>>> bool(all([1, 0]))\nFalse", _truth)
any = _reduction(_tf.reduce_any, "any", "Whether any is true.\n\n>>> bool(any([1, 0]))\nTrue", _truth)


def argmax(a: TensorLike, axis: Axis | None = None) -> Tensor:
    """The index of the largest element, along an axis or in the flat tensor.

    >>> int(argmax([1, 3, 2]))
    1
    """
    return _tf.argmax(_movement.reshape(array(a), (-1,)), 0) if axis is None else _tf.argmax(array(a), axis)


def argmin(a: TensorLike, axis: Axis | None = None) -> Tensor:
    """The index of the smallest element, along an axis or in the flat tensor.

    >>> int(argmin([2, 1, 3]))
    1
    """
    return _tf.argmin(_movement.reshape(array(a), (-1,)), 0) if axis is None else _tf.argmin(array(a), axis)


def matmul(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The matrix product of `x1` and `x2`; vectors stand for a row and a column.

    Raises:
        ValueError: for a scalar.

    >>> float(matmul([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    a, b = together(x1, x2)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: scalars have no matrix product: use multiply")
    product = _matmul(
        _movement.expand_dims(a, 0) if a.ndim == 1 else a, _movement.expand_dims(b, 1) if b.ndim == 1 else b
    )
    gone = ([-2] if a.ndim == 1 else []) + ([-1] if b.ndim == 1 else [])
    return _movement.squeeze(product, gone) if gone else product


def dot(a: TensorLike, b: TensorLike) -> Tensor:
    """The product of matrices or vectors; with a scalar, the plain product.

    Raises:
        ValueError: for more than two axes.

    >>> float(dot([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    x, y = together(a, b)
    if not x.ndim or not y.ndim:
        return multiply(x, y)
    if builtins.max(x.ndim, y.ndim) > 2:
        raise ValueError("dot: for more than two axes, use matmul or einsum")
    return matmul(x, y)


def mean(
    a: TensorLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The mean.

    Args:
        dtype: in which to compute; by default that of `a`, float64 for integers.
        out: must be None.

    >>> float(mean([1, 2]))
    1.5
    """
    _no_output("mean", out)
    return _tf.reduce_mean(inexact_array(a) if dtype is None else array(a, dtype), axis, bool(keepdims))


def _no_output(name: str, out: Any) -> None:
    if out is not None:
        raise ValueError(f"{name}: tensors are immutable, so out must be None")


def var(
    a: TensorLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool | None = None,
) -> Tensor:
    """The variance.

    Args:
        dtype: in which to compute; by default that of `a`, float64 for integers.
        out: must be None.
        ddof: the sum of squares is divided by the number of elements less this.

    >>> float(var([1, 3]))
    1.0
    """
    _no_output("var", out)
    x = inexact_array(a) if dtype is None else inexact_array(array(a, dtype))
    found = _tf.reduce_variance(x, axis, bool(keepdims))
    if not ddof:
        return found
    count = _math.prod(x._array.shape) // builtins.max(_math.prod(found._array.shape), 1)
    return found * array(count / (count - ddof) if count != ddof else _math.nan, found.dtype)


def amax(a: TensorLike, axis: Axes = None, out: None = None, keepdims: bool | None = None) -> Tensor:
    """The largest; `out` must be None.

    >>> int(amax([1, 2]))
    2
    """
    _no_output("amax", out)
    return max(a, axis, keepdims)


def amin(a: TensorLike, axis: Axes = None, out: None = None, keepdims: bool | None = None) -> Tensor:
    """The smallest; `out` must be None.

    >>> int(amin([1, 2]))
    1
    """
    _no_output("amin", out)
    return min(a, axis, keepdims)


def ptp(a: TensorLike, axis: Axes = None, keepdims: bool | None = None) -> Tensor:
    """The largest less the smallest.

    >>> int(ptp([1, 5]))
    4
    """
    x = array(a)
    return max(x, axis, keepdims) - min(x, axis, keepdims)


def count_nonzero(a: TensorLike, axis: Axes = None) -> Tensor:
    """The number of elements that are not 0.

    >>> int(count_nonzero([0, 5, 6]))
    2
    """
    return _tf.count_nonzero(array(a), axis)


def average(
    a: TensorLike, axis: Axis | None = None, weights: TensorLike | None = None, returned: bool = False
) -> Any:
    """The mean, weighted.

    Args:
        weights: of the shape of `a`, or a vector along the axis.
        returned: whether to return the sum of the weights as well.

    >>> float(average([1, 3], weights=[3, 1]))
    1.5
    """
    x = inexact_array(a)
    if weights is None:
        found = _tf.reduce_mean(x, axis)
        count = _math.prod(x._array.shape) // builtins.max(_math.prod(found._array.shape), 1)
        return (found, found * 0 + count) if returned else found
    x, w = together(x, inexact_array(weights))
    if w._array.shape != x._array.shape:
        if axis is None or w.ndim != 1:
            raise ValueError(
                f"average: weights of shape {list(w.shape)} need an axis, or the shape {list(x.shape)} of the array"
            )
        along = _integer("average", "axis", axis) % builtins.max(x.ndim, 1)
        w = _movement.reshape(w, [-1 if i == along else 1 for i in range(x.ndim)]) + x * 0
    total = _tf.reduce_sum(w, axis)
    found = _tf.reduce_sum(x * w, axis) / total
    return (found, total) if returned else found


def _without_nan(name: str, a: Any, dtype: Any, instead: float) -> tuple[Tensor, Tensor]:
    x = _summable(a) if dtype is None else array(a, dtype)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return x, _tf.equal(x, x)
    there = _tf.equal(x, x)
    return _where(there, x, array(instead, x.dtype)), there


def nansum(
    a: TensorLike, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The sum of the elements that are not NaN.

    >>> float(nansum([1.0, float("nan")]))
    1.0
    """
    return _tf.reduce_sum(_without_nan("nansum", a, dtype, 0)[0], axis, bool(keepdims))


def nanprod(
    a: TensorLike, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The product of the elements that are not NaN.

    >>> float(nanprod([2.0, float("nan")]))
    2.0
    """
    return _tf.reduce_prod(_without_nan("nanprod", a, dtype, 1)[0], axis, bool(keepdims))


def nanmean(
    a: TensorLike, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool | None = None
) -> Tensor:
    """The mean of the elements that are not NaN.

    >>> float(nanmean([1.0, 3.0, float("nan")]))
    2.0
    """
    values, there = _without_nan("nanmean", inexact_array(a), dtype, 0)
    count = _tf.reduce_sum(_movement.cast(there, values.dtype), axis, bool(keepdims))
    return _tf.reduce_sum(values, axis, bool(keepdims)) / count


def cumsum(a: TensorLike, axis: Axis | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """The sums of the elements up to each one, along an axis or in the flat array.

    >>> cumsum([1, 2, 3]).numpy()
    array([1, 3, 6])
    """
    return _running(_tf.cumsum, a, axis, dtype)


def cumprod(a: TensorLike, axis: Axis | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """The products of the elements up to each one, along an axis or in the flat array.

    >>> cumprod([1, 2, 3]).numpy()
    array([1, 2, 6])
    """
    return _running(_tf.cumprod, a, axis, dtype)


def _running(of: Any, a: Any, axis: Any, dtype: Any) -> Tensor:
    x = _summable(a) if dtype is None else array(a, dtype)
    if axis is None:
        x, axis = _movement.reshape(x, (-1,)), 0
    found: Tensor = of(x, axis)
    return found


def diff(a: TensorLike, n: int = 1, axis: Axis = -1) -> Tensor:
    """The differences of neighbours along an axis, `n` times.

    >>> diff([1, 4, 9]).numpy()
    array([3, 5])
    """
    x, times = array(a), _integer("diff", "n", n, 0)
    if not x.ndim:
        raise ValueError("diff: needs an axis")
    along = _integer("diff", "axis", axis)
    if not -x.ndim <= along < x.ndim:
        raise ValueError(f"diff: there is no axis {along} among {x.ndim}")
    lead = (slice(None),) * (along % x.ndim)
    for _ in range(builtins.min(times, x._array.shape[along])):
        after, before = x[(*lead, slice(1, None))], x[(*lead, slice(None, -1))]
        x = _tf.logical_xor(after, before) if x.dtype.is_bool else after - before
    return x


def trace(
    a: TensorLike, offset: int = 0, axis1: Axis = 0, axis2: Axis = 1, dtype: DTypeLike | None = None
) -> Tensor:
    """The sum of the diagonal `offset` of the matrices in the axes `axis1` and `axis2`.

    >>> int(trace([[1, 2], [3, 4]]))
    5
    """
    x = array(a) if dtype is None else array(a, dtype)
    if x.ndim < 2:
        raise ValueError(f"trace: needs two axes, not the shape {list(x.shape)}")
    first, second = (_integer("trace", "axis", axis) for axis in (axis1, axis2))
    if (
        not builtins.all(-x.ndim <= axis < x.ndim for axis in (first, second))
        or (first - second) % x.ndim == 0
    ):
        raise ValueError(f"trace: axes {first} and {second} are no two of {x.ndim}")
    others = [i for i in range(x.ndim) if i not in (first % x.ndim, second % x.ndim)]
    moved = _movement.transpose(x, [*others, first % x.ndim, second % x.ndim])
    return _tf.reduce_sum(diagonal_of(moved, _integer("trace", "offset", offset)), -1)


def einsum(subscripts: str, *operands: TensorLike, **kwargs: Any) -> Tensor:
    """The sum of products of `operands` that `subscripts` describes, as of NumPy's einsum.

    >>> float(einsum("i,i->", [1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    return _einsum(subscripts, *together(*operands), **kwargs)


def tensordot(a: TensorLike, b: TensorLike, axes: Any = 2) -> Tensor:
    """The sum of products over axes of both.

    >>> int(tensordot([1, 2], [3, 4], 1))
    11
    """
    x, y = together(a, b)
    return _tensordot(x, y, axes)


def inner(a: TensorLike, b: TensorLike) -> Tensor:
    """The sum of products over the last axes; with a scalar, the plain product.

    >>> int(inner([1, 2], [3, 4]))
    11
    """
    x, y = together(a, b)
    if not x.ndim or not y.ndim:
        return x * y
    return _tensordot(x, y, [[x.ndim - 1], [y.ndim - 1]])


def outer(a: TensorLike, b: TensorLike) -> Tensor:
    """The products of each element of `a` with each of `b`, both flat.

    >>> outer([1, 2], [3, 4]).numpy()
    array([[3, 4], [6, 8]])
    """
    x, y = together(a, b)
    return _movement.reshape(x, (-1, 1)) * _movement.reshape(y, (1, -1))


def vdot(a: TensorLike, b: TensorLike) -> Tensor:
    """The sum of products of both flat, with the conjugate of `a`.

    >>> int(vdot([1, 2], [3, 4]))
    11
    """
    x, y = (_movement.reshape(v, (-1,)) for v in together(a, b))
    return dot(_tf.conj(x) if x.dtype.is_complex else x, y)


def kron(a: TensorLike, b: TensorLike) -> Tensor:
    """The Kronecker product: `b` times each element of `a`, side by side.

    >>> kron([1, 10], [1, 2]).numpy()
    array([ 1,  2, 10, 20])
    """
    x, y = together(a, b)
    rank = builtins.max(x.ndim, y.ndim)
    first, second = ((1,) * (rank - v.ndim) + v._array.shape for v in (x, y))
    wide = _movement.reshape(x, [n for length in first for n in (length, 1)])
    other = _movement.reshape(y, [n for length in second for n in (1, length)])
    return _movement.reshape(wide * other, [m * n for m, n in zip(first, second, strict=True)])


def cross(
    a: TensorLike,
    b: TensorLike,
    axisa: Axis = -1,
    axisb: Axis = -1,
    axisc: Axis = -1,
    axis: Axis | None = None,
) -> Tensor:
    """The cross product of vectors of length 2 or 3.

    Args:
        axisa, axisb, axisc: the axes of the vectors in `a`, in `b` and in the result.
        axis: for all three.

    >>> cross([1, 0, 0], [0, 1, 0]).numpy()
    array([0, 0, 1])
    """
    of_a, of_b, of_c = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    x, y = together(a, b)
    x, y = _last(x, of_a), _last(y, of_b)
    lengths = x._array.shape[-1], y._array.shape[-1]
    if not {*lengths} <= {2, 3}:
        raise ValueError(f"cross: vectors must have the length 2 or 3, not {lengths}")
    if lengths == (2, 2):
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    zero = [_movement.concat([v, v[..., :1] * 0], -1) if v._array.shape[-1] == 2 else v for v in (x, y)]
    x, y = zero
    made = _roll(x, -1, -1) * _roll(y, -2, -1) - _roll(x, -2, -1) * _roll(y, -1, -1)
    return _movement.transpose(made, _order(made.ndim, -1, of_c))


def _last(x: Tensor, axis: Any) -> Tensor:
    if not x.ndim:
        raise ValueError("cross: takes vectors, not scalars")
    return _movement.transpose(x, _order(x.ndim, axis, -1))


def _order(ndim: int, source: Any, destination: Any) -> list[int]:
    start, end = (_integer("cross", "axis", axis) % ndim for axis in (source, destination))
    order = [axis for axis in range(ndim) if axis != start]
    order.insert(end, start)
    return order
