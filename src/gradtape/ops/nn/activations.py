"""Activation functions. Rules take the output where they can, so that tapes need not keep a layer's input."""

from __future__ import annotations

import math
from typing import Any

from ...core.errors import DTypeError
from ...core.primitive import apply, apply1, apply2, floats, ordered, primitive, reals
from ...core.structural import concat_
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import Axis, TensorLike
from ...engine.arrays import xp
from ..array.movement import cast
from ..math.elementwise import (
    cast_like,
    constant_in,
    greater,
    integer_power,
    less,
    logical_and,
    multiply,
    negative,
    number,
    select,
    sigmoid,
    tanh,
    zero_like,
)
from ..math.elementwise import relu as relu_
from ..math.reduction import one_axis
from ..math.special import erfc
from ..scalars import number as number_of

_SCALE = 1.0507009873554805  # with these, selu keeps mean 0 and variance 1 from layer to layer
_ALPHA = 1.6732632423543772


@primitive(
    elementwise=True,
    check_dtype=floats,
    name="relu6",
    flat="all its inputs are where relu6 is flat: try leaky_relu, or other initial values",
    formula="d relu6(x) = dx where 0 < x < 6, else 0",
    words="The gradient passes where x is between 0 and 6, and stops elsewhere.",
)
def relu6_(x):
    return xp(x).minimum(xp(x).maximum(x, zero_like(x)), number(6, x))


def _relu6_slope(out: Any) -> Any:
    """1 where relu6 is neither 0 nor 6, else 0."""
    return cast_like(logical_and(greater(out, zero_like(out)), less(out, number(6, out))), out)


relu6_.rules(x=lambda g, out: constant_in(g, out) * _relu6_slope(out))


@primitive(
    elementwise=True,
    check_dtype=floats,
    name="leaky_relu",
    formula="d leaky_relu(x) = dx where x > 0, else alpha dx",
)
def leaky_relu_(x, *, alpha):
    return x * _slopes(x, alpha)


def _slopes(x: Any, alpha: float) -> Any:
    """1 where x is positive, alpha elsewhere; outside of any gradient."""
    x = x._array if type(x) is Tensor else x
    positive = x > zero_like(x)
    if 0 <= alpha <= 1:  # choosing by a random mask takes ten times as long
        return xp(x).maximum(positive.astype(x.dtype), number(alpha, x))
    return xp(x).where(positive, number(1, x), number(alpha, x))


leaky_relu_.rules(x=lambda g, x, alpha: constant_in(g, x) * _slopes(x, alpha))


@primitive(
    elementwise=True, check_dtype=floats, name="elu", formula="d elu(x) = dx where x > 0, else exp(x) dx"
)
def elu_(x):
    zero = zero_like(x)
    return xp(x).maximum(x, zero) + xp(x).expm1(xp(x).minimum(x, zero))


# Below 0 the output is exp(x) - 1, so the slope is the output + 1.
elu_.rules(x=lambda g, out: select(less(out, zero_like(out)), g * (out + number(1, out)), g))


@primitive(elementwise=True, check_dtype=floats, name="selu")
def selu_(x):
    zero = zero_like(x)
    below = xp(x).expm1(xp(x).minimum(x, zero)) * number(_SCALE * _ALPHA, x)
    return xp(x).maximum(x, zero) * number(_SCALE, x) + below


selu_.rules(
    x=lambda g, out: (
        g * select(less(out, zero_like(out)), out + number(_SCALE * _ALPHA, out), number(_SCALE, out))
    )
)

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """max(x, 0) for each element. The gradient at 0 is 0.

    >>> relu([-1.0, 2.0]).numpy()
    array([0., 2.], dtype=float32)
    """
    return ordered(relu_, apply1(relu_, features))


def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """min(max(x, 0), 6) for each element. The gradient at 0 and at 6 is 0.

    >>> relu6([-1.0, 2.0, 8.0]).numpy()
    array([0., 2., 6.], dtype=float32)
    """
    return ordered(relu6_, apply1(relu6_, features))


def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """x where it is positive, alpha * x elsewhere. Integers become float32.

    Raises:
        DTypeError: if x is complex, or `alpha` not one number.

    >>> leaky_relu([-1.0, 2.0]).numpy()
    array([-0.2,  2. ], dtype=float32)
    """
    x = convert(features)
    if x.dtype.is_integer:
        x = cast(x, "float32")
    if x._array.dtype.kind == "c":
        reals(leaky_relu_, [x._array], None)
    return apply1(leaky_relu_, x, {"alpha": number_of("leaky_relu", "alpha", alpha)})


def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """x where it is positive, exp(x) - 1 elsewhere.

    >>> elu([-1.0, 2.0]).numpy()
    array([-0.63212055,  2.        ], dtype=float32)
    """
    return ordered(elu_, apply1(elu_, features))


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """`elu` scaled above and below 0 so that a layer's outputs keep mean 0 and variance 1.

    >>> selu([-1.0, 2.0]).numpy()
    array([-1.1113307,  2.101402 ], dtype=float32)
    """
    return ordered(selu_, apply1(selu_, features))


def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """x times the probability that a normal number is below x; `approximate` computes the probability by tanh.

    Raises:
        DTypeError: if x is not floating.

    >>> gelu([-1.0, 2.0]).numpy()
    array([-0.15865526,  1.9544997 ], dtype=float32)
    """
    x = convert(features)
    if not x.dtype.is_floating:
        raise DTypeError(f"gelu takes floating tensors, not {x.dtype.name}: use cast(x, 'float32')")
    half = x * 0.5
    if approximate:
        cube = apply1(integer_power, x, {"exponent": 3})
        inner = (x + cube * 0.044715) * math.sqrt(2 / math.pi)
        return half * (apply1(tanh, inner) + 1.0)
    return half * apply1(erfc, x * -math.sqrt(0.5))


def silu(features: TensorLike, beta: TensorLike = 1.0) -> Tensor:
    """x * sigmoid(beta * x) for each element; also called swish.

    >>> silu([-1.0, 2.0]).numpy()
    array([-0.2689414,  1.761594 ], dtype=float32)
    """
    x = inner = convert(features)
    if type(beta) is not float or beta != 1.0:
        inner = apply2(multiply, x, cast(convert(beta, None, x._array.dtype), x.dtype))
    return apply2(multiply, x, apply1(sigmoid, inner))


def crelu(features: TensorLike, axis: Axis = -1, name: str | None = None) -> Tensor:
    """relu(x) and relu(-x), joined along `axis`.

    >>> crelu([-1.0, 2.0]).numpy()
    array([0., 2., 1., 0.], dtype=float32)
    """
    x = convert(features)
    a = one_axis("crelu", axis, x.ndim)
    return ordered(relu_, apply1(relu_, apply(concat_, (x, apply(negative, (x,))), {"axis": a})))
