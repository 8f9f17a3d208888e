"""Primitives that work element by element and broadcast.

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
from ...core.primitive import Primitive, floats, numbers, primitive, reals
from ...core.tensor import Tensor, wrap
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
    """Return whether an array or tensor is known to hold no nan; False says nothing.

    The sum of the squares tells, in 0.8 us; `isnan` takes 2.5.
    """
    array = x._array if type(x) is Tensor else x
    if type(array) is not np.ndarray:
        return isinstance(array, np.generic) and bool(array == array)
    total = np.vdot(array, array)
    return bool(total == total)


# ---------------------------------------------------------------------------------------------------------------------
# A slope of 0 is a gradient of zeros; None is for what does not depend on something at all. Where a rule chooses by its
# inputs, as that of relu does, the choice has the slope 0, and second orders must find it.


def zeros(like: Any, shape: Iterable[int]) -> Any:
    """Zeros of a shape and the dtype of `like`, a tensor or array, with no gradient."""
    array = like._array if type(like) is Tensor else like
    out = xp(array).zeros(tuple(shape), array.dtype)
    return wrap(out) if type(like) is Tensor else out


@primitive(moves=True)
def constant_in(x, by):
    """x, recorded as a function of `by` whose gradient by it is 0."""
    return x


constant_in.rules(
    x=lambda g, by: constant_in(g, by),
    by=lambda g, by_shape, out_shape: zeros(g, tuple(g.shape)[: g.ndim - len(out_shape)] + by_shape),
)

# ---------------------------------------------------------------------------------------------------------------------
# Arithmetic


def _numbers_or_strings(primitive: Primitive, arrays: list[Any], result: Any) -> Any:
    """Check the dtypes of a sum; strings are joined."""
    if arrays[0].dtype.kind == "O" and not result.ndim:  # NumPy gives bytes for two single strings
        result = np.empty((), object)
        result[()] = arrays[0].item() + arrays[1].item()
        return result
    return numbers(primitive, arrays, result)


add = _binary(
    operator.add,
    "add",
    check_dtype=_numbers_or_strings,
    formula="d(x + y) = dx + dy",
    words="A sum passes the gradient on to each term unchanged.",
)
add.rules(x=lambda g: g, y=lambda g: g)

subtract = _binary(
    operator.sub,
    "subtract",
    check_dtype=numbers,
    formula="d(x - y) = dx - dy",
    words="The first term gets the gradient unchanged, the second with its sign turned.",
)
subtract.rules(x=lambda g: g, y=lambda g: -g)

multiply = _binary(
    operator.mul,
    "multiply",
    check_dtype=numbers,
    formula="d(x · y) = y dx + x dy",
    words="Each factor gets the gradient times the other factor.",
)
multiply.rules(x=lambda g, y: g * y, y=lambda g, x: g * x)


def _true_division(primitive: Primitive, arrays: list[Any], result: Any) -> Any:
    """Check the dtypes of a quotient: integers give float64, those of 8 and 16 bits float32."""
    numbers(primitive, arrays, result)
    if arrays[0].dtype.kind not in "iu":
        return result
    kind = np.float32 if arrays[0].dtype.itemsize <= 2 else np.float64
    return result if result.dtype == kind else primitive.forward(*[x.astype(kind) for x in arrays])


_DIVISION_BY_0 = "a division by 0: use tf.math.divide_no_nan(x, y), or add a small number to the divisor"

divide = _binary(
    operator.truediv,
    "divide",
    check_dtype=_true_division,
    cure=lambda *xs: _DIVISION_BY_0 if len(xs) < 2 or (xs[-1] == 0).any() else "",
    slope_cure=_DIVISION_BY_0,
    formula="d(x / y) = dx / y - (x / y²) dy",
    words="The numerator gets the gradient divided by y; the denominator gets it times -x / y².",
)
divide.rules(x=lambda g, y: over(g, y), y=lambda g, y, out: _by_divisor(g, y, out))


def _by_divisor(g: Any, y: Any, out: Any) -> Any:
    by_y = -(g * out) / y
    return by_y if without_nan(by_y) else -over(times(g, out), y)


def _check_divisor(name: str, y: Any) -> None:
    """Raise if an integer divisor is 0; traced values are not known."""
    if y.dtype.kind in "iu" and not is_traced(y) and np.count_nonzero(y) < y.size:
        raise InvalidArgumentError(f"{name}: integer division by zero")


def _exact_quotient(x: Any, y: Any) -> Any:
    """x / y by JAX, right to the last bit: rounded to whole numbers, an error there would become 1.

    XLA turns a division by one number into a multiplication by 1 / y; the `where` hides that y is one number.
    """
    return x / xp(x, y).where(x != x, x, y)


@primitive(
    elementwise=True,
    check_dtype=numbers,
    instead="x / y, or tf.grad_pass_through(tf.floor)(x / y) (its true derivative is 0)",
)
def floor_divide(x, y):
    """x / y, rounded down. Of floats the quotient is rounded twice, as in TensorFlow: 1 // 0.1 is 10, in Python 9."""
    if x.dtype.kind in "iu":
        _check_divisor("floor_divide", y)
        return x // y
    return np.floor(x / y)


@floor_divide.compiled
def _(x, y):
    return x // y if x.dtype.kind in "iu" else xp(x, y).floor(_exact_quotient(x, y))


@primitive(elementwise=True, check_dtype=numbers)
def floormod(x, y):
    """The exact remainder of x / y rounded down, with the sign of y. A remainder of 0 has the sign of x."""
    if x.dtype.kind in "iu":
        _check_divisor("floormod", y)
        return x % y
    m = xp(x, y)
    left = m.fmod(x, y)
    return m.where((left != 0) & ((left < 0) != (y < 0)), left + y, left)


floormod.rules(x=lambda g: g, y=lambda g, x, y: -(g * floor_divide(x, y)))


@primitive(elementwise=True, check_dtype=numbers)
def truncatediv(x, y):
    """x / y, rounded towards 0."""
    if x.dtype.kind in "iu":
        _check_divisor("truncatediv", y)
        return (x - np.fmod(x, y)) // y
    return np.trunc(x / y)


@truncatediv.compiled
def _(x, y):
    m = xp(x, y)
    return (x - m.fmod(x, y)) // y if x.dtype.kind in "iu" else m.trunc(_exact_quotient(x, y))


@primitive(elementwise=True, check_dtype=numbers)
def truncatemod(x, y):
    """The remainder of x / y rounded towards 0."""
    _check_divisor("truncatemod", y)
    return xp(x, y).fmod(x, y)


truncatemod.rules(x=lambda g: g, y=lambda g, x, y: -(g * truncatediv(x, y)))

negative = _unary(
    operator.neg,
    "negative",
    check_dtype=numbers,
    formula="d(-x) = -dx",
    words="The gradient passes with its sign turned.",
)
negative.rules(x=lambda g: -g)


@primitive(
    elementwise=True,
    check_dtype=_true_division,
    formula="d(x / y) = dx / y - (x / y²) dy, and 0 where y is 0",
)
def divide_no_nan(x, y):
    """x / y, and 0 where y is 0."""
    return x / y if np.count_nonzero(y) == y.size else _divide_except(y == 0, x, y)


@divide_no_nan.compiled
def _(x, y):
    return _divide_except(y == 0, x, y)


def _divide_except(excluded: Any, x: Any, y: Any) -> Any:
    """x / y, and 0 where excluded; the division by 0 is not computed."""
    m = xp(x, y)
    return m.where(excluded, m.zeros_like(x), x / m.where(excluded, m.ones_like(y), y))


divide_no_nan.rules(x=lambda g, y: divide_no_nan(g, y), y=lambda g, y, out: -divide_no_nan(g * out, y))


@primitive(elementwise=True, check_dtype=floats)
def multiply_no_nan(x, y):
    """x * y, and 0 where y is 0, even if x is infinite or nan."""
    out = x * y
    return out if without_nan(out) else xp(x, y).where(y == 0, zero_like(x), out)


multiply_no_nan.rules(x=lambda g, y: multiply_no_nan(g, y), y=lambda g, x: multiply_no_nan(x, g))

# ---------------------------------------------------------------------------------------------------------------------
# Powers, exponentials, logarithms

square = _unary(unary(np.square), check_dtype=numbers, formula="d x² = 2x dx")
# Not (g + g) * x: the g of a mean is one number broadcast, which NumPy adds slowly.
square.rules(x=lambda g, x: g * (x + x))

sqrt = _unary(
    unary(np.sqrt),
    check_dtype=floats,
    cure="the root of a negative number is nan: use tf.sqrt(tf.maximum(x, 0.0))",
    slope_cure="the derivative of sqrt at 0 is infinite: use tf.sqrt(tf.maximum(x, 1e-12)), or for a length tf.norm, "
    "whose gradient at 0 is 0",
    formula="d √x = dx / (2 √x)",
)
sqrt.rules(x=lambda g, out: over(g, out + out))


@primitive(
    elementwise=True,
    check_dtype=floats,
    cure="rsqrt(0) is inf: add a small number, as in tf.math.rsqrt(x + 1e-12)",
    slope_cure="the derivative of rsqrt at 0 is infinite: add a small number, as in tf.math.rsqrt(x + 1e-12)",
    formula="d (1/√x) = -dx / (2 x √x)",
)
def rsqrt(x):
    return 1 / xp(x).sqrt(x)


rsqrt.rules(x=lambda g, x, out: over(g, (x + x) / -out))

reciprocal = _unary(
    unary(np.reciprocal),
    check_dtype=numbers,
    cure=_DIVISION_BY_0,
    slope_cure=_DIVISION_BY_0,
    formula="d(1/x) = -dx / x²",
)
reciprocal.rules(x=lambda g, out: -times(g, out * out))


@primitive(elementwise=True, check_dtype=numbers, public="pow", formula="d xⁿ = n xⁿ⁻¹ dx")
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


# Down to x**0, whose gradient is 0: gradients of all orders exist, as those of `power`.
integer_power.rules(x=lambda g, x, exponent: g * integer_power(x, exponent=max(exponent - 1, 0)) * exponent)

# For `x ** 2`: 0.15 us quicker than an integer power. The gradient of `square` ends after two orders, this one's never.
second_power = _unary(
    unary(np.square), "second_power", check_dtype=numbers, public="pow", formula="d x² = 2x dx"
)
second_power.rules(x=lambda g, x: g * (integer_power(x, exponent=1) * 2 if type(x) is Tensor else x + x))


def _cure_of_power(*xs: Any) -> str:
    if (xs[0] < 0).any():
        return "a negative number to a broken power is nan: use tf.abs(x), or tf.maximum(x, 0.0)"
    return "0 to a negative power is inf: add a small number to the base" if (xs[0] == 0).any() else ""


power = _binary(
    binary(np.power),
    check_dtype=numbers,
    public="pow",
    cure=_cure_of_power,
    slope_cure="the derivative of x ** p at 0 is infinite for p < 1: add a small number to the base",
    formula="d xʸ = y xʸ⁻¹ dx + xʸ log(x) dy",
)
power.rules(
    x=lambda g, x, y: times(g, _power_slope(x, y)),
    y=lambda g, x, out: g * multiply_no_nan(out, log_where_positive(x)),
)


def _power_slope(x: Any, y: Any) -> Any:
    """y * x**(y - 1), and 0 where y is 0, also at x = 0."""
    return multiply_no_nan(power(x, y - 1), y)


@primitive(elementwise=True, check_dtype=floats, formula="d(x log y) = log(y) dx + (x / y) dy")
def xlogy(x, y):
    """x * log(y), and 0 where x is 0, whatever y."""
    nowhere = x == 0
    m = xp(x, y)
    return m.where(nowhere, m.zeros_like(x), x * m.log(m.where(nowhere, m.ones_like(y), y)))


xlogy.rules(x=lambda g, x, y: times(g, _log_for(x, y)), y=lambda g, x, y: times(g, xdivy(x, y)))


def _log_for(x: Any, y: Any) -> Any:
    """log(y); where x is 0, 0 if it is not defined."""
    moved = cast_like(not_equal(x, 0), x)
    return xlogy(moved, y) + multiply_no_nan(log_where_positive(y), 1 - moved)


@primitive(elementwise=True, check_dtype=floats)
def xdivy(x, y):
    """x / y, and 0 where x is 0, whatever y."""
    out = x / y
    return out if without_nan(out) else _divide_except(x == 0, x, y)


xdivy.rules(x=lambda g, x, y: times(g, _reciprocal_for(x, y)), y=lambda g, y, out: -times(g, xdivy(out, y)))


def _reciprocal_for(x: Any, y: Any) -> Any:
    """1 / y; where x is 0, 0 if y is 0."""
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
    """log(1 + y); where x is 0, 0 if it is not defined."""
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


exp = _unary(
    threaded(np.exp),
    check_dtype=floats,
    cure="exp overflows (in float32 above 88.7): subtract the maximum first, or use tf.nn.softmax, "
    "tf.nn.softplus or tf.reduce_logsumexp",
    slope_cure="exp overflows: subtract the maximum first, or use tf.nn.softmax or tf.reduce_logsumexp",
    formula="d exp(x) = exp(x) dx",
    words="The slope of exp is its own value.",
)
exp.rules(x=lambda g, out: g * out)  # nan for 0 * inf: 0 would be wrong before log(1 + exp(x)) of a large x

expm1 = _unary(threaded(np.expm1), check_dtype=floats, formula="d (exp(x) - 1) = exp(x) dx")
expm1.rules(x=lambda g, out: g * out + g)


def _cure_of_log(x: Any) -> str:
    if (x == 0).any():
        return (
            "log(0) is -inf: use tf.math.log(tf.maximum(x, 1e-12)), or a loss that takes logits, such as "
            "tf.nn.softmax_cross_entropy_with_logits"
        )
    return "the logarithm of a negative number is nan: make sure that x > 0"


log = _unary(
    threaded(np.log),
    check_dtype=floats,
    cure=_cure_of_log,
    slope_cure="the derivative of log at 0 is infinite: use tf.math.log(tf.maximum(x, 1e-12)), or a loss that takes "
    "logits",
    formula="d log(x) = dx / x",
)
log.rules(x=lambda g, x: over(g, x))

log1p = _unary(
    threaded(np.log1p),
    check_dtype=floats,
    cure="log1p(x) needs x > -1",
    formula="d log(1 + x) = dx / (1 + x)",
)
log1p.rules(x=lambda g, x: over(g, x + 1))

# ---------------------------------------------------------------------------------------------------------------------
# Trigonometric and hyperbolic

sin = _unary(threaded(np.sin), check_dtype=floats, formula="d sin(x) = cos(x) dx")
sin.rules(x=lambda g, x: g * cos(x))

cos = _unary(threaded(np.cos), check_dtype=floats, formula="d cos(x) = -sin(x) dx")
cos.rules(x=lambda g, x: -g * sin(x))

tan = _unary(threaded(np.tan), check_dtype=floats, formula="d tan(x) = (1 + tan(x)²) dx")
tan.rules(x=lambda g, out: g + g * out * out)

sinh = _unary(threaded(np.sinh), check_dtype=floats, formula="d sinh(x) = cosh(x) dx")
sinh.rules(x=lambda g, x: g * cosh(x))

cosh = _unary(threaded(np.cosh), check_dtype=floats, formula="d cosh(x) = sinh(x) dx")
cosh.rules(x=lambda g, x: g * sinh(x))

tanh = _unary(
    threaded(np.tanh),
    check_dtype=floats,
    flat="it is saturated: its inputs are so large that it is flat there. Scale them down",
    formula="d tanh(x) = (1 - tanh(x)²) dx",
    words="The slope of tanh is 1 at 0 and falls to 0 where tanh comes near 1 or -1.",
)
tanh.rules(x=lambda g, out: g * (1 - out * out))

# (1 - x)(1 + x) keeps the digits that 1 - x^2 loses near 1.
asin = _unary(
    unary(np.arcsin),
    "asin",
    check_dtype=floats,
    cure="asin needs -1 <= x <= 1: use tf.clip_by_value(x, -1.0, 1.0)",
    slope_cure="the derivative of asin at -1 and 1 is infinite: keep its input inside, with tf.clip_by_value",
    formula="d asin(x) = dx / √(1 - x²)",
)
asin.rules(x=lambda g, x: times(g, rsqrt((1 - x) * (1 + x))))

acos = _unary(
    unary(np.arccos),
    "acos",
    check_dtype=floats,
    cure="acos needs -1 <= x <= 1: use tf.clip_by_value(x, -1.0, 1.0)",
    slope_cure="the derivative of acos at -1 and 1 is infinite: keep its input inside, with tf.clip_by_value",
    formula="d acos(x) = -dx / √(1 - x²)",
)
acos.rules(x=lambda g, x: -times(g, rsqrt((1 - x) * (1 + x))))

atan = _unary(unary(np.arctan), "atan", check_dtype=floats, formula="d atan(x) = dx / (1 + x²)")
atan.rules(x=lambda g, x: g / (1 + square(x)))

asinh = _unary(unary(np.arcsinh), "asinh", check_dtype=floats, formula="d asinh(x) = dx / √(1 + x²)")
asinh.rules(x=lambda g, x: g * rsqrt(1 + square(x)))

acosh = _unary(unary(np.arccosh), "acosh", check_dtype=floats, formula="d acosh(x) = dx / √(x² - 1)")
acosh.rules(x=lambda g, x: times(g, rsqrt(x - 1) * rsqrt(x + 1)))

atanh = _unary(
    unary(np.arctanh),
    "atanh",
    check_dtype=floats,
    cure="atanh needs -1 < x < 1: use tf.clip_by_value",
    formula="d atanh(x) = dx / (1 - x²)",
)
atanh.rules(x=lambda g, x: times(g, reciprocal((1 - x) * (1 + x))))


def _check_real(name: str, x: Any) -> None:
    """Raise if an array is complex. NumPy's functions of real numbers do so themselves, those of `jax.numpy` do not."""
    if x.dtype.kind == "c":
        raise DTypeError(f"{name} does not take {dtypes.of(x).name}: cast to another dtype first")


@primitive(
    elementwise=True,
    check_dtype=floats,
    slope_cure="atan2(0, 0) has no derivative: keep one of the two from 0",
    formula="d atan2(y, x) = (x dy - y dx) / (x² + y²)",
)
def atan2(y, x):
    _check_real("atan2", x)
    return xp(y, x).arctan2(y, x)


# At the origin, where the angle is not defined, 0.
atan2.rules(
    y=lambda g, y, x: divide_no_nan(g * x, square(x) + square(y)),
    x=lambda g, y, x: -divide_no_nan(g * y, square(x) + square(y)),
)


@primitive(
    elementwise=True,
    check_dtype=floats,
    flat="it is saturated: its inputs are so large that it is flat there. Scale them down, or use a loss on "
    "logits",
    formula="d sigmoid(x) = sigmoid(x) (1 - sigmoid(x)) dx",
    words="The slope is at most 1/4, at 0, and falls to 0 on both sides.",
)
def sigmoid(x):
    dtype = x.dtype
    if dtype.kind not in "fV":
        half = number(0.5, x)
        return np.tanh(x * half) * half + half  # of complex numbers, no overflow at either end
    if dtype.itemsize == 2:
        return sigmoid.forward(x.astype(np.float32)).astype(dtype)
    # 1 / (1 + exp(-x)), in one array: 0 where exp overflows, and right to the last digit for negative x.
    out = np.negative(x, np.empty(x.shape, dtype))
    exp.forward(out, out)
    np.add(out, _number(1, dtype), out)
    return np.reciprocal(out, out)


@sigmoid.compiled
def _(x):
    import jax

    return jax.lax.logistic(x)


sigmoid.rules(x=lambda g, out: g * (out - out * out))


@primitive(elementwise=True, check_dtype=floats, formula="d softplus(x) = sigmoid(x) dx")
def softplus(x):
    # Large arrays take half the time of logaddexp, small ones twice as long.
    return _softplus(x) if x.size > 1000 else np.logaddexp(x, number(0, x))


def _softplus(x: Any) -> Any:
    _check_real("softplus", x)
    m = xp(x)
    return m.maximum(x, number(0, x)) + m.log1p(m.exp(-m.abs(x)))


softplus.compiled(_softplus)
softplus.rules(x=lambda g, x: g * sigmoid(x))


@primitive(elementwise=True, check_dtype=floats, formula="d log(sigmoid(x)) = sigmoid(-x) dx")
def log_sigmoid(x):
    return -softplus.forward(-x)


log_sigmoid.rules(x=lambda g, x: g * sigmoid(-x))


@primitive(elementwise=True, check_dtype=floats, formula="d softsign(x) = dx / (1 + |x|)²")
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


less = _binary(operator.lt, "less", check_dtype=reals, discrete=True)
less_equal = _binary(operator.le, "less_equal", check_dtype=reals, discrete=True)
greater = _binary(operator.gt, "greater", check_dtype=reals, discrete=True)
greater_equal = _binary(operator.ge, "greater_equal", check_dtype=reals, discrete=True)
equal = _binary(operator.eq, "equal", discrete=True)
not_equal = _binary(operator.ne, "not_equal", discrete=True)

logical_and = _binary(binary(np.logical_and), check_dtype=_booleans, discrete=True)
logical_or = _binary(binary(np.logical_or), check_dtype=_booleans, discrete=True)
logical_xor = _binary(binary(np.logical_xor), check_dtype=_booleans, discrete=True)
logical_not = _unary(unary(np.logical_not), check_dtype=_booleans, discrete=True)


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
    """The number of bits to shift by: at least 0, and less than x has."""
    return xp(y).clip(y, 0, x.dtype.itemsize * 8 - 1)


left_shift = _binary(_on_integers("left_shift", lambda x, y: x << _within_width(x, y)), "left_shift")
right_shift = _binary(_on_integers("right_shift", lambda x, y: x >> _within_width(x, y)), "right_shift")


isnan = _unary(unary(np.isnan), "is_nan", discrete=True)
isinf = _unary(unary(np.isinf), "is_inf", discrete=True)
isfinite = _unary(unary(np.isfinite), "is_finite", discrete=True)


@primitive(
    elementwise=True,
    mixed=True,
    public="where",
    flat="tf.where took the other branch everywhere",
    formula="d where(c, x, y) = dx where c, else dy",
    words="The gradient goes to the input that was chosen; the other gets 0.",
)
def select(condition, x, y):
    """x where the condition holds, y elsewhere."""
    return xp(condition, x, y).where(condition, x, y)


# For the other branch the scalar 0 of g's dtype, which broadcasts.
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
    """`x` in the dtype of `like`, with no gradient."""
    if type(x) is Tensor:
        x = x._array
    return x.astype(like._array.dtype if type(like) is Tensor else like.dtype)


maximum = _binary(
    binary(np.maximum),
    check_dtype=numbers,
    flat="the other argument is larger everywhere",
    formula="d max(x, y) = dx where x ≥ y, else dy",
    words="The gradient goes to the larger of the two.",
)
maximum.rules(
    x=lambda g, x, y: select(greater_equal(x, y), g, zero_like(g)),
    y=lambda g, x, y: select(greater_equal(x, y), zero_like(g), g),
)

minimum = _binary(
    binary(np.minimum),
    check_dtype=numbers,
    flat="the other argument is smaller everywhere",
    formula="d min(x, y) = dx where x ≤ y, else dy",
    words="The gradient goes to the smaller of the two.",
)
minimum.rules(
    x=lambda g, x, y: select(less_equal(x, y), g, zero_like(g)),
    y=lambda g, x, y: select(less_equal(x, y), zero_like(g), g),
)


@primitive(
    elementwise=True,
    check_dtype=numbers,
    flat="all its inputs are outside the bounds, where clipping is flat: widen them, or clip the gradient instead",
    formula="d clip(x) = dx where low < x < high, else 0",
    words="The gradient passes inside the limits, and stops outside.",
)
def clip(x, low, high):
    m = xp(x, low, high)
    return m.maximum(m.minimum(x, high), low)


# As for maximum(minimum(x, high), low): at the bounds the gradient goes to x, and to low where high is below low.
clip.rules(
    x=lambda g, x, low, high: select(
        logical_and(less_equal(x, high), greater_equal(x, low)), g, zero_like(g)
    ),
    low=lambda g, x, low, high: select(greater_equal(minimum(x, high), low), zero_like(g), g),
    high=lambda g, x, low, high: select(
        logical_and(greater(x, high), greater_equal(high, low)), g, zero_like(g)
    ),
)


@primitive(
    elementwise=True,
    check_dtype=floats,
    flat="all its inputs are negative here, where relu is flat: try leaky_relu, or other initial values",
    formula="d relu(x) = dx where x > 0, else 0",
    words="The gradient passes where x is positive, and stops elsewhere.",
)
def relu(x):
    return xp(x).maximum(x, zero_like(x))


def through_relu(g: Any, out: Any) -> Any:
    if type(out) is Tensor:
        g, out = constant_in(g, out), out._array
    return g * (out > zero_like(out)).astype(out.dtype)


relu.rules(x=through_relu)

# ---------------------------------------------------------------------------------------------------------------------
# Parts of numbers

sign = _unary(
    unary(np.sign),
    check_dtype=numbers,
    flat="sign is flat, so its gradient is 0 everywhere: use tf.tanh(k * x), or tf.grad_pass_through(tf.sign)",
    formula="d sign(x) = 0",
    words="It is flat everywhere: the gradient is 0.",
)
sign.rules(x=lambda g: zeros(g, g.shape))

abs_ = _unary(operator.abs, "abs", check_dtype=numbers, formula="d|x| = sign(x) dx")
abs_.rules(x=lambda g, x: g * sign(x))

floor = _unary(
    unary(np.floor), check_dtype=numbers, instead="tf.grad_pass_through(tf.floor) (its true derivative is 0)"
)
ceil = _unary(
    unary(np.ceil),
    check_dtype=numbers,
    instead="tf.grad_pass_through(tf.math.ceil) (its true derivative is 0)",
)


@primitive(
    elementwise=True,
    check_dtype=numbers,
    name="round",
    instead="tf.grad_pass_through(tf.round) (its true derivative is 0)",
)
def rint(x):
    return x if x.dtype.kind in "iu" else xp(x).rint(x)


nextafter = Primitive(binary(np.nextafter), "nextafter", ("x1", "x2"), elementwise=True, check_dtype=floats)
nextafter.rules(x1=lambda g: g, x2=lambda g: zeros(g, g.shape))
