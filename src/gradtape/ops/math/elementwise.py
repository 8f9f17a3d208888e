"""Primitives that work element by element and broadcast, and Python's operators on tensors and variables.

The door undoes broadcasting, so a rule here is the plain derivative times `g`. Rules avoid Python numbers where they
can: NumPy takes twice as long for `x * 2.0` as for `x * y`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import Primitive, apply, apply1, apply2, floats, numbers, primitive, reals
from ...core.tensor import Tensor, convert, wrap
from ...core.variable import Variable
from ...engine.arrays import binary, is_traced, threaded, unary, xp

# ---------------------------------------------------------------------------------------------------------------------
# Definitions by functions that compute on any array: Python's operators, and NumPy's functions once through `unary`,
# `binary` or `threaded`


def _unary(function: Any, name: str | None = None, **options: Any) -> Primitive:
    return Primitive(function, name or function.__name__, ("x",), elementwise=True, **options)


def _binary(function: Any, name: str | None = None, **options: Any) -> Primitive:
    return Primitive(function, name or function.__name__, ("x", "y"), elementwise=True, **options)


# ---------------------------------------------------------------------------------------------------------------------
# An exact 0 stays 0: `where` and slices send zeros back to what they did not take, whose slope may be infinite there.


def times(g: Any, slope: Any) -> Any:
    """g * slope for a rule: 0 where g is, even if the slope is infinite or nan."""
    out = g * slope
    return out if without_nan(out) else multiply_no_nan(slope, g)


def over(g: Any, y: Any) -> Any:
    """g / y for a rule: 0 where g is, even if y is 0 or nan."""
    out = g / y
    return out if without_nan(out) else xdivy(g, y)


def without_nan(x: Any) -> bool:
    """Does an array, or a tensor, surely hold no nan? The sum of its squares tells, in 0.8 us; looking takes 2.5."""
    array = x._array if type(x) is Tensor else x
    if type(array) is not np.ndarray:
        return isinstance(array, np.generic) and bool(array == array)
    total = np.vdot(array, array)
    return bool(total == total)


# ---------------------------------------------------------------------------------------------------------------------
# A slope of 0 is a gradient of zeros; None is for what does not depend on something at all. Where a rule chooses by its
# inputs, as that of relu does, the choice has the slope 0, and second orders must find it.


def zeros(like: Any, shape: Iterable[int]) -> Any:
    """Zeros of a shape and the dtype of `like`, tensor or array, that depend on nothing."""
    array = like._array if type(like) is Tensor else like
    out = xp(array).zeros(tuple(shape), array.dtype)
    return wrap(out) if type(like) is Tensor else out


@primitive
def constant_in(x, by):
    """x, as something that depends on `by` and is constant in it."""
    return x


constant_in.rules(
    x=lambda g, by: constant_in(g, by),
    by=lambda g, by_shape, out_shape: zeros(g, tuple(g.shape)[: g.ndim - len(out_shape)] + by_shape),
)

# ---------------------------------------------------------------------------------------------------------------------
# Arithmetic


def _sum(primitive: Primitive, arrays: list[Any], result: Any) -> Any:
    """Numbers, or strings, which are joined."""
    if arrays[0].dtype.kind == "O" and not result.ndim:  # NumPy gives bytes for two single strings
        result = np.empty((), object)
        result[()] = arrays[0].item() + arrays[1].item()
        return result
    return numbers(primitive, arrays, result)


add = _binary(operator.add, "add", check_dtype=_sum)
add.rules(x=lambda g: g, y=lambda g: g)

subtract = _binary(operator.sub, "subtract", check_dtype=numbers)
subtract.rules(x=lambda g: g, y=lambda g: -g)

multiply = _binary(operator.mul, "multiply", check_dtype=numbers)
multiply.rules(x=lambda g, y: g * y, y=lambda g, x: g * x)


def _true_division(primitive: Primitive, arrays: list[Any], result: Any) -> Any:
    """Integers divide to float64, those of 8 and 16 bits to float32."""
    numbers(primitive, arrays, result)
    if arrays[0].dtype.kind not in "iu":
        return result
    kind = np.float32 if arrays[0].dtype.itemsize <= 2 else np.float64
    return result if result.dtype == kind else primitive.forward(*[x.astype(kind) for x in arrays])


divide = _binary(operator.truediv, "divide", check_dtype=_true_division)
divide.rules(x=lambda g, y: over(g, y), y=lambda g, y, out: _by_divisor(g, y, out))


def _by_divisor(g: Any, y: Any, out: Any) -> Any:
    by_y = -(g * out) / y
    return by_y if without_nan(by_y) else -over(times(g, out), y)


def _nonzero_divisor(name: str, y: Any) -> None:
    if y.dtype.kind in "iu" and not is_traced(y) and np.count_nonzero(y) < y.size:
        raise InvalidArgumentError(f"{name}: integer division by zero")


def _quotient(x: Any, y: Any) -> Any:
    """x / y, of which an error in the last bit would be one of 1 once it is rounded to whole numbers.

    By one number for all elements XLA divides as by multiplication with 1 / y, so it is not told that y is one.
    """
    return x / xp(x, y).where(x != x, x, y) if is_traced(x) or is_traced(y) else x / y


@primitive(elementwise=True, check_dtype=numbers)
def floor_divide(x, y):
    """x / y, rounded down. Of floats the quotient is rounded twice, as in TensorFlow: 1 // 0.1 is 10, in Python 9."""
    if x.dtype.kind in "iu":
        _nonzero_divisor("floor_divide", y)
        return x // y
    return xp(x, y).floor(_quotient(x, y))


@primitive(elementwise=True, check_dtype=numbers)
def floormod(x, y):
    """What x / y, rounded down, leaves over: exact, with the sign of y. A remainder of 0 has the sign of x."""
    if x.dtype.kind in "iu":
        _nonzero_divisor("floormod", y)
        return x % y
    m = xp(x, y)
    left = m.fmod(x, y)
    return m.where((left != 0) & ((left < 0) != (y < 0)), left + y, left)


floormod.rules(x=lambda g: g, y=lambda g, x, y: -(g * floor_divide(x, y)))


@primitive(elementwise=True, check_dtype=numbers)
def truncatediv(x, y):
    """x / y, rounded towards 0."""
    _nonzero_divisor("truncatediv", y)
    if x.dtype.kind in "iu":
        return (x - xp(x, y).fmod(x, y)) // y
    return xp(x, y).trunc(_quotient(x, y))


@primitive(elementwise=True, check_dtype=numbers)
def truncatemod(x, y):
    """What x / y, rounded towards 0, leaves over."""
    _nonzero_divisor("truncatemod", y)
    return xp(x, y).fmod(x, y)


truncatemod.rules(x=lambda g: g, y=lambda g, x, y: -(g * truncatediv(x, y)))

negative = _unary(operator.neg, "negative", check_dtype=numbers)
negative.rules(x=lambda g: -g)


@primitive(elementwise=True, check_dtype=_true_division)
def divide_no_nan(x, y):
    """x / y, and 0 where y is 0."""
    m = xp(x, y)
    if m is np and np.count_nonzero(y) == y.size:
        return x / y
    nowhere = y == 0
    return m.where(nowhere, m.zeros_like(x), x / m.where(nowhere, m.ones_like(y), y))


divide_no_nan.rules(x=lambda g, y: divide_no_nan(g, y), y=lambda g, y, out: -divide_no_nan(g * out, y))


@primitive(elementwise=True, check_dtype=floats)
def multiply_no_nan(x, y):
    """x * y, and 0 where y is 0, even if x is infinite or nan."""
    out = x * y
    return out if without_nan(out) else xp(x, y).where(y == 0, zero_like(x), out)


multiply_no_nan.rules(x=lambda g, y: multiply_no_nan(g, y), y=lambda g, x: multiply_no_nan(x, g))

# ---------------------------------------------------------------------------------------------------------------------
# Powers, exponentials, logarithms

square = _unary(unary(np.square), check_dtype=numbers)
# Not g + g: where that of a mean is one number spread, NumPy adds it slowly.
square.rules(x=lambda g, x: g * (x + x))

sqrt = _unary(unary(np.sqrt), check_dtype=floats)
sqrt.rules(x=lambda g, out: over(g, out + out))


@primitive(elementwise=True, check_dtype=floats)
def rsqrt(x):
    return 1 / xp(x).sqrt(x)


rsqrt.rules(x=lambda g, x, out: over(g, (x + x) / -out))

reciprocal = _unary(unary(np.reciprocal), check_dtype=numbers)
reciprocal.rules(x=lambda g, out: -times(g, out * out))


@primitive(elementwise=True, check_dtype=numbers)
def integer_power(x, *, exponent):
    """x to a power of at least 0, by multiplying: some 40 times as fast as NumPy's power."""
    out, factor, rest = None, x, exponent
    while rest:
        if rest % 2:
            out = factor if out is None else out * factor
        rest //= 2
        if rest:
            factor = factor * factor
    return xp(x).ones_like(x) if out is None else out


# Down to x**0 and on, whose slope is 0: all orders exist, as those of `power`.
integer_power.rules(x=lambda g, x, exponent: g * integer_power(x, exponent=max(exponent - 1, 0)) * exponent)

# What `**` takes, 0.15 us quicker than an integer power; `square` has two orders, this one all.
second_power = _unary(unary(np.square), "second_power", check_dtype=numbers)
second_power.rules(x=lambda g, x: g * (integer_power(x, exponent=1) * 2 if type(x) is Tensor else x + x))

power = _binary(binary(np.power), check_dtype=numbers)
power.rules(
    x=lambda g, x, y: times(g, _power_slope(x, y)),
    y=lambda g, x, out: g * multiply_no_nan(out, log_where_positive(x)),
)


def _power_slope(x: Any, y: Any) -> Any:
    """y * x**(y - 1), and 0 where y is 0, at x = 0 too."""
    return multiply_no_nan(power(x, y - 1), y)


@primitive(elementwise=True, check_dtype=floats)
def xlogy(x, y):
    """x * log(y), and 0 where x is 0, whatever y."""
    nowhere = x == 0
    m = xp(x, y)
    return m.where(nowhere, m.zeros_like(x), x * m.log(m.where(nowhere, m.ones_like(y), y)))


xlogy.rules(x=lambda g, x, y: times(g, _log_for(x, y)), y=lambda g, x, y: times(g, xdivy(x, y)))


def _log_for(x: Any, y: Any) -> Any:
    """log(y); where x is 0, only as far as there is one."""
    moved = cast_like(not_equal(x, 0), x)
    return xlogy(moved, y) + multiply_no_nan(log_where_positive(y), 1 - moved)


@primitive(elementwise=True, check_dtype=floats)
def xdivy(x, y):
    """x / y, and 0 where x is 0, whatever y."""
    out = x / y
    if without_nan(out):
        return out
    nowhere = x == 0
    m = xp(x, y)
    return m.where(nowhere, m.zeros_like(x), x / m.where(nowhere, m.ones_like(y), y))


xdivy.rules(x=lambda g, x, y: times(g, _reciprocal_for(x, y)), y=lambda g, y, out: -times(g, xdivy(out, y)))


def _reciprocal_for(x: Any, y: Any) -> Any:
    """1 / y; where x is 0, only as far as there is one."""
    moved = cast_like(not_equal(x, 0), x)
    return xdivy(moved, y) + divide_no_nan(1 - moved, y)


@primitive(elementwise=True, check_dtype=floats)
def xlog1py(x, y):
    """x * log(1 + y), and 0 where x is 0, whatever y."""
    nowhere = x == 0
    m = xp(x, y)
    return m.where(nowhere, m.zeros_like(x), x * m.log1p(m.where(nowhere, m.ones_like(y), y)))


xlog1py.rules(x=lambda g, x, y: times(g, _log1p_for(x, y)), y=lambda g, x, y: times(g, xdivy(x, y + 1)))


def _log1p_for(x: Any, y: Any) -> Any:
    """log(1 + y); where x is 0, only as far as there is one."""
    moved = cast_like(not_equal(x, 0), x)
    return xlog1py(moved, y) + multiply_no_nan(log_where_positive(y + 1), 1 - moved)


@primitive(elementwise=True)
def log_where_positive(x):
    """log(x), and 0 where it is not defined."""
    taken = (x != 0) if x.dtype.kind == "c" else (x > 0)
    return xp(x).where(taken, xp(x).log(xp(x).where(taken, x, xp(x).ones_like(x))), xp(x).zeros_like(x))


log_where_positive.rules(x=lambda g, x: select(_has_log(x), divide_no_nan(g, x), zero_like(g)))


def _has_log(x: Any) -> Any:
    return not_equal(x, 0) if x.dtype.name.startswith("complex") else greater(x, 0)


exp = _unary(threaded(np.exp), check_dtype=floats)
exp.rules(x=lambda g, out: g * out)  # nan for 0 * inf: behind log(1 + exp(x)), far out, 0 would be wrong

expm1 = _unary(threaded(np.expm1), check_dtype=floats)
expm1.rules(x=lambda g, out: g * out + g)

log = _unary(threaded(np.log), check_dtype=floats)
log.rules(x=lambda g, x: over(g, x))

log1p = _unary(threaded(np.log1p), check_dtype=floats)
log1p.rules(x=lambda g, x: over(g, x + 1))

# ---------------------------------------------------------------------------------------------------------------------
# Trigonometric and hyperbolic

sin = _unary(threaded(np.sin), check_dtype=floats)
sin.rules(x=lambda g, x: g * cos(x))

cos = _unary(threaded(np.cos), check_dtype=floats)
cos.rules(x=lambda g, x: -g * sin(x))

tan = _unary(threaded(np.tan), check_dtype=floats)
tan.rules(x=lambda g, out: g + g * out * out)

sinh = _unary(threaded(np.sinh), check_dtype=floats)
sinh.rules(x=lambda g, x: g * cosh(x))

cosh = _unary(threaded(np.cosh), check_dtype=floats)
cosh.rules(x=lambda g, x: g * sinh(x))

tanh = _unary(threaded(np.tanh), check_dtype=floats)
tanh.rules(x=lambda g, out: g * (1 - out * out))

# (1 - x)(1 + x) keeps the digits that 1 - x^2 loses near 1.
asin = _unary(unary(np.arcsin), "asin", check_dtype=floats)
asin.rules(x=lambda g, x: times(g, rsqrt((1 - x) * (1 + x))))

acos = _unary(unary(np.arccos), "acos", check_dtype=floats)
acos.rules(x=lambda g, x: -times(g, rsqrt((1 - x) * (1 + x))))

atan = _unary(unary(np.arctan), "atan", check_dtype=floats)
atan.rules(x=lambda g, x: g / (1 + square(x)))

asinh = _unary(unary(np.arcsinh), "asinh", check_dtype=floats)
asinh.rules(x=lambda g, x: g * rsqrt(1 + square(x)))

acosh = _unary(unary(np.arccosh), "acosh", check_dtype=floats)
acosh.rules(x=lambda g, x: times(g, rsqrt(x - 1) * rsqrt(x + 1)))

atanh = _unary(unary(np.arctanh), "atanh", check_dtype=floats)
atanh.rules(x=lambda g, x: times(g, reciprocal((1 - x) * (1 + x))))


def _real(name: str, module: Any, x: Any) -> Any:
    """The module that computes on x, which must not be complex: NumPy says so itself, but `jax.numpy` goes on."""
    if x.dtype.kind == "c":
        raise DTypeError(f"{name} does not take {dtypes.of(x).name}: cast to another dtype first")
    return module


@primitive(elementwise=True, check_dtype=floats)
def atan2(y, x):
    return _real("atan2", xp(y, x), x).arctan2(y, x)


# At the origin, where the angle may turn to any side, 0.
atan2.rules(
    y=lambda g, y, x: divide_no_nan(g * x, square(x) + square(y)),
    x=lambda g, y, x: -divide_no_nan(g * y, square(x) + square(y)),
)


@primitive(elementwise=True, check_dtype=floats)
def sigmoid(x):
    if type(x) is not np.ndarray and xp(x) is not np:
        import jax

        return jax.lax.logistic(x)
    if x.dtype.kind not in "fV":
        half = number(0.5, x)
        return np.tanh(x * half) * half + half  # of complex numbers, no overflow at either end
    if x.dtype.itemsize == 2:
        return sigmoid.forward(x.astype(np.float32)).astype(x.dtype)
    # 1 / (1 + exp(-x)), in one array: where exp overflows, the result is 0. Right to the last digit below 0, too.
    out = np.negative(x, np.empty(x.shape, x.dtype))
    exp.forward(out, out)
    np.add(out, number(1, x), out)
    return np.reciprocal(out, out)


sigmoid.rules(x=lambda g, out: g * (out - out * out))


@primitive(elementwise=True, check_dtype=floats)
def softplus(x):
    if x.size > 1000 or xp(x) is not np:  # twice as fast as logaddexp, below as slow again
        m = _real("softplus", xp(x), x)
        return m.maximum(x, number(0, x)) + m.log1p(m.exp(-m.abs(x)))
    return xp(x).logaddexp(x, number(0, x))


softplus.rules(x=lambda g, x: g * sigmoid(x))


@primitive(elementwise=True, check_dtype=floats)
def log_sigmoid(x):
    return -softplus.forward(-x)


log_sigmoid.rules(x=lambda g, x: g * sigmoid(-x))


@primitive(elementwise=True, check_dtype=floats)
def softsign(x):
    return x / (xp(x).abs(x) + 1)


softsign.rules(x=lambda g, x: g * square(reciprocal(abs_(x) + 1)))

# ---------------------------------------------------------------------------------------------------------------------
# Comparing and choosing


def _booleans(primitive: Primitive, arrays: list[Any], result: Any) -> Any:
    if arrays[0].dtype.kind != "b":
        raise DTypeError(
            f"{primitive.name} takes booleans, not {dtypes.of(arrays[0]).name}: compare first, as in x != 0"
        )
    return result


less = _binary(operator.lt, "less", check_dtype=reals)
less_equal = _binary(operator.le, "less_equal", check_dtype=reals)
greater = _binary(operator.gt, "greater", check_dtype=reals)
greater_equal = _binary(operator.ge, "greater_equal", check_dtype=reals)
equal = _binary(operator.eq, "equal")
not_equal = _binary(operator.ne, "not_equal")

logical_and = _binary(binary(np.logical_and), check_dtype=_booleans)
logical_or = _binary(binary(np.logical_or), check_dtype=_booleans)
logical_xor = _binary(binary(np.logical_xor), check_dtype=_booleans)
logical_not = _unary(unary(np.logical_not), check_dtype=_booleans)


def _on_integers(name: str, function: Any) -> Any:
    def forward(x: Any, *y: Any) -> Any:
        if x.dtype.kind not in "iu":
            raise DTypeError(
                f"{name} takes integers, not {dtypes.of(x).name}: use the logical ones for booleans"
            )
        return function(x, *y)

    return forward


def _bitwise(name: str, function: Any) -> Primitive:
    return _binary(_on_integers(name, function), name)


bitwise_and = _bitwise("bitwise_and", operator.and_)
bitwise_or = _bitwise("bitwise_or", operator.or_)
bitwise_xor = _bitwise("bitwise_xor", operator.xor)
invert = _unary(_on_integers("invert", operator.invert), "invert")


def _within_width(x: Any, y: Any) -> Any:
    """How far to shift: at least 0, and less than the number of bits."""
    return xp(y).clip(y, 0, x.dtype.itemsize * 8 - 1)


left_shift = _binary(_on_integers("left_shift", lambda x, y: x << _within_width(x, y)), "left_shift")
right_shift = _binary(_on_integers("right_shift", lambda x, y: x >> _within_width(x, y)), "right_shift")


isnan = _unary(unary(np.isnan), "is_nan")
isinf = _unary(unary(np.isinf), "is_inf")
isfinite = _unary(unary(np.isfinite), "is_finite")


@primitive(elementwise=True, mixed=True)
def select(condition, x, y):
    """x where the condition holds, y elsewhere."""
    return xp(condition, x, y).where(condition, x, y)


# The zero of the other branch is the scalar 0 of g's dtype, so nothing is computed for it.
select.rules(
    x=lambda g, condition: select(condition, g, zero_like(g)),
    y=lambda g, condition: select(condition, zero_like(g), g),
)


def zero_like(x: Any) -> Any:
    """A scalar zero of the dtype of `x`, tensor or array."""
    dtype = x._array.dtype if type(x) is Tensor else x.dtype
    return np.zeros((), dtype)


def number(value: float, like: Any) -> Any:
    """A scalar of the dtype of `like`, tensor or array: with a Python float, bfloat16 would become float32."""
    return _number(value, like._array.dtype if type(like) is Tensor else like.dtype)


@functools.lru_cache(maxsize=1000)
def _number(value: float, dtype: Any) -> Any:
    return np.asarray(value, dtype)


def cast_like(x: Any, like: Any) -> Any:
    """`x` in the dtype of `like`, outside of any gradient."""
    if type(x) is Tensor:
        x = x._array
    return x.astype(like._array.dtype if type(like) is Tensor else like.dtype)


maximum = _binary(binary(np.maximum), check_dtype=numbers)
maximum.rules(
    x=lambda g, x, y: select(greater_equal(x, y), g, zero_like(g)),
    y=lambda g, x, y: select(greater_equal(x, y), zero_like(g), g),
)

minimum = _binary(binary(np.minimum), check_dtype=numbers)
minimum.rules(
    x=lambda g, x, y: select(less_equal(x, y), g, zero_like(g)),
    y=lambda g, x, y: select(less_equal(x, y), zero_like(g), g),
)


@primitive(elementwise=True, check_dtype=numbers)
def clip(x, low, high):
    m = xp(x, low, high)
    return m.maximum(m.minimum(x, high), low)


# As of maximum(minimum(x, high), low): at the bounds x has the gradient, and low has it where high is below low.
clip.rules(
    x=lambda g, x, low, high: select(
        logical_and(less_equal(x, high), greater_equal(x, low)), g, zero_like(g)
    ),
    low=lambda g, x, low, high: select(greater_equal(minimum(x, high), low), zero_like(g), g),
    high=lambda g, x, low, high: select(
        logical_and(greater(x, high), greater_equal(high, low)), g, zero_like(g)
    ),
)


@primitive(elementwise=True, check_dtype=floats)
def relu(x):
    return xp(x).maximum(x, zero_like(x))


def _through_relu(g: Any, out: Any) -> Any:
    if type(out) is Tensor:
        g, out = constant_in(g, out), out._array
    return g * (out > zero_like(out)).astype(out.dtype)


relu.rules(x=_through_relu)

# ---------------------------------------------------------------------------------------------------------------------
# Parts of numbers

sign = _unary(unary(np.sign), check_dtype=numbers)
sign.rules(x=lambda g: zeros(g, g.shape))

abs_ = _unary(operator.abs, "abs", check_dtype=numbers)
abs_.rules(x=lambda g, x: g * sign(x))

floor = _unary(unary(np.floor), check_dtype=numbers)
ceil = _unary(unary(np.ceil), check_dtype=numbers)


@primitive(elementwise=True, check_dtype=numbers, name="round")
def rint(x):
    return x if x.dtype.kind in "iu" else xp(x).rint(x)


nextafter = Primitive(binary(np.nextafter), "nextafter", ("x1", "x2"), elementwise=True, check_dtype=floats)
nextafter.rules(x1=lambda g: g, x2=lambda g: zeros(g, g.shape))

# ---------------------------------------------------------------------------------------------------------------------
# Python's operators


def _operator(primitive: Primitive) -> tuple[Any, Any]:
    """An operator and its reflected form."""

    def forward(self: Any, other: Any) -> Any:
        return apply2(primitive, self, other)

    def reflected(self: Any, other: Any) -> Any:
        return apply2(primitive, other, self)

    return forward, reflected


def _variable_operator(primitive: Primitive) -> tuple[Any, Any]:
    """The same for variables. Reading them here saves `apply2` from finding out what its inputs are."""

    def forward(self: Any, other: Any) -> Any:
        x = self._read()
        if other is self:
            return apply2(primitive, x, x)
        return apply2(primitive, x, other._read() if type(other) is Variable else other)

    def reflected(self: Any, other: Any) -> Any:
        return apply2(primitive, other, self._read())

    return forward, reflected


# Python numbers for which there is something faster than NumPy's power, which takes 45 times as long as multiplying.
_QUICK: dict[float, tuple[Primitive, Any]] = {
    2: (second_power, None),
    -1: (reciprocal, None),
    0.5: (sqrt, None),
}
_QUICK |= {n: (integer_power, {"exponent": n}) for n in range(3, 9)}


def raise_to(self: Any, other: Any) -> Any:
    """self ** other."""
    if type(other) is int or type(other) is float:
        quick = _QUICK.get(other)
        if quick is not None and ((type(other) is int and other > 0) or self._array.dtype.kind in "fcV"):
            return apply1(quick[0], self, quick[1])
    return apply2(power, self, other)


def _rpow(self: Any, other: Any) -> Any:
    return apply2(power, other, self)


def _logical_or_bitwise(logical: Primitive, bitwise: Primitive) -> tuple[Any, Any]:
    def forward(self: Any, other: Any) -> Any:
        return apply(logical if self.dtype.is_bool else bitwise, (self, other))

    def reflected(self: Any, other: Any) -> Any:
        return apply(logical if self.dtype.is_bool else bitwise, (other, self))

    return forward, reflected


def _equality(primitive: Primitive, otherwise: bool) -> Any:
    def compare(self: Any, other: Any) -> Any:
        """Element by element; what cannot be compared (None, shapes that do not broadcast) is plainly unequal."""
        if other is None:
            return otherwise
        try:
            return apply2(primitive, self, other)
        except DTypeError:
            raise
        except (ValueError, TypeError):
            return convert(otherwise)

    return compare


def _invert(self: Any) -> Any:
    return apply1(logical_not if self.dtype.is_bool else invert, self)


OPERATORS: dict[str, Any] = {}
_OF_VARIABLES: dict[str, Any] = {}
for _name, _primitive in (
    ("add", add), ("sub", subtract), ("mul", multiply), ("truediv", divide), ("floordiv", floor_divide),
    ("mod", floormod),
):  # fmt: skip
    OPERATORS[f"__{_name}__"], OPERATORS[f"__r{_name}__"] = _operator(_primitive)
    _OF_VARIABLES[f"__{_name}__"], _OF_VARIABLES[f"__r{_name}__"] = _variable_operator(_primitive)
for _name, _primitive in (("lt", less), ("le", less_equal), ("gt", greater), ("ge", greater_equal)):
    OPERATORS[f"__{_name}__"] = _operator(_primitive)[0]
    _OF_VARIABLES[f"__{_name}__"] = _variable_operator(_primitive)[0]
for _name, _logical, _bitwise in (
    ("and", logical_and, bitwise_and), ("or", logical_or, bitwise_or), ("xor", logical_xor, bitwise_xor),
):  # fmt: skip
    OPERATORS[f"__{_name}__"], OPERATORS[f"__r{_name}__"] = _logical_or_bitwise(_logical, _bitwise)
OPERATORS |= {
    "__pow__": raise_to,
    "__rpow__": _rpow,
    "__neg__": lambda self: apply1(negative, self),
    "__pos__": lambda self: self if type(self) is Tensor else self.value(),
    "__abs__": lambda self: apply1(abs_, self),
    "__invert__": _invert,
    "__eq__": _equality(equal, False),
    "__ne__": _equality(not_equal, True),
}


def install(operators: dict[str, Any], of_variables: dict[str, Any] | None = None) -> None:
    """Put operators on tensors and variables, for which some may be others."""
    for owner, functions in ((Tensor, operators), (Variable, operators | (of_variables or {}))):
        for name, function in functions.items():
            function.__name__ = name
            setattr(owner, name, function)


install(OPERATORS, _OF_VARIABLES)
