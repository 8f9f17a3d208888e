"""The public namespace `gradtape.math`. Functions that only need their inputs get their documentation here."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import DTypeError
from .ops import elementwise as _e
from .ops.array import together
from .ops.nn import log_softmax, softmax
from .ops.public import public
from .ops.reduction import (
    argmax,
    argmin,
    cumsum,
    reduce_all,
    reduce_any,
    reduce_euclidean_norm,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_std,
    reduce_sum,
    reduce_variance,
)
from .primitive import apply
from .tensor import Tensor, convert, convert_to_tensor

abs = public(
    _e.abs_,
    "The absolute value of each element.\n\n>>> abs([-1.0]).numpy()\narray([1.], dtype=float32)",
    "abs",
)
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
reciprocal = public(_e.reciprocal, "1 / x for each element.\n\n>>> float(reciprocal(4.0))\n0.25")
pow = public(
    _e.power,
    "x to the power y. The gradient of x ** 0 is 0, at 0 too.\n\n>>> float(pow(2.0, 3.0))\n8.0",
    "pow",
)
square = public(_e.square, "x * x for each element.\n\n>>> float(square(3.0))\n9.0")
sqrt = public(_e.sqrt, "The square root of each element.\n\n>>> float(sqrt(9.0))\n3.0")
rsqrt = public(_e.rsqrt, "1 / sqrt(x) for each element.\n\n>>> float(rsqrt(4.0))\n0.5")
exp = public(_e.exp, "e to the power x for each element.\n\n>>> float(exp(0.0))\n1.0")
expm1 = public(_e.expm1, "exp(x) - 1, exact near 0.\n\n>>> float(expm1(0.0))\n0.0")
log = public(_e.log, "The natural logarithm of each element.\n\n>>> float(log(1.0))\n0.0")
log1p = public(_e.log1p, "log(1 + x), exact near 0.\n\n>>> float(log1p(0.0))\n0.0")
sin = public(_e.sin, "The sine of each element, in radians.\n\n>>> float(sin(0.0))\n0.0")
cos = public(_e.cos, "The cosine of each element, in radians.\n\n>>> float(cos(0.0))\n1.0")
tan = public(_e.tan, "The tangent of each element, in radians.\n\n>>> float(tan(0.0))\n0.0")
sinh = public(_e.sinh, "The hyperbolic sine of each element.\n\n>>> float(sinh(0.0))\n0.0")
cosh = public(_e.cosh, "The hyperbolic cosine of each element.\n\n>>> float(cosh(0.0))\n1.0")
tanh = public(_e.tanh, "The hyperbolic tangent of each element.\n\n>>> float(tanh(0.0))\n0.0")
sigmoid = public(_e.sigmoid, "1 / (1 + exp(-x)), without overflow.\n\n>>> float(sigmoid(0.0))\n0.5")
softplus = public(_e.softplus, "log(1 + exp(x)), without overflow.\n\n>>> float(softplus(1000.0))\n1000.0")
xlogy = public(_e.xlogy, "x * log(y), and 0 where x is 0.\n\n>>> float(xlogy(0.0, 0.0))\n0.0")
maximum = public(
    _e.maximum,
    "The larger of x and y; where they are equal the gradient goes to x.\n\n>>> float(maximum(1.0, 2.0))\n2.0",
)
minimum = public(
    _e.minimum,
    "The smaller of x and y; where they are equal the gradient goes to x.\n\n>>> float(minimum(1.0, 2.0))\n1.0",
)
sign = public(
    _e.sign, "-1, 0 or 1 by the sign of each element; its gradient is 0.\n\n>>> float(sign(-3.0))\n-1.0"
)
floor = public(_e.floor, "Each element rounded down; no gradient.\n\n>>> float(floor(1.5))\n1.0")
ceil = public(_e.ceil, "Each element rounded up; no gradient.\n\n>>> float(ceil(1.5))\n2.0")
round = public(
    _e.rint, "Each element rounded, halves to even; no gradient.\n\n>>> float(round(2.5))\n2.0", "round"
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


def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """(x - y) squared, element by element.

    >>> float(squared_difference(1.0, 3.0))
    4.0
    """
    return apply(_e.square, (apply(_e.subtract, (x, y)),))


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape.

    >>> float(add_n([1.0, 2.0, 3.0]))
    6.0
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("add_n takes a list of at least one tensor")
    total: Any = convert_to_tensor(inputs[0])
    for x in inputs[1:]:
        total = total + x
    return total


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
        return convert(np.argwhere(chosen._array))
    if not chosen.dtype.is_bool:
        raise DTypeError(
            f"where: the condition must be boolean, not {chosen.dtype.name}: compare first, as in x > 0"
        )
    taken, other = together("where", [x, y])
    if taken.dtype != other.dtype:
        raise DTypeError(
            f"where: x and y must have one dtype, not {taken.dtype.name} and {other.dtype.name}: cast one"
        )
    return apply(_e.select, (chosen, taken, other))
