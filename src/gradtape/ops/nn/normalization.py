"""Means and variances, normalization by them, and biases."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ...core.dtypes import HALF
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, apply1, apply2, primitive, rounded
from ...core.structural import spread
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert, floating_tensor
from ...core.types import Axes, TensorLike
from ...engine.arrays import xp
from ..array.movement import cast, reshape, together
from ..math.elementwise import add, divide, divide_no_nan, multiply, number, power, rsqrt, square, subtract
from ..math.reduction import axes as axes_of
from ..math.reduction import count_along, reduce_sum
from ..math.reduction import mean as mean_
from ..scalars import integer
from ..scalars import number as number_of


@primitive(
    multiple=True,
    name="moments",
    formula="d mean(x) = sum(dx) / n, d variance(x) = sum(2 (x - mean) dx) / n",
)
def moments_(x, *, axis, keepdims):
    mean = mean_(x, axis=axis, keepdims=True)
    variance = mean_(square(x - mean), axis=axis, keepdims=keepdims)
    return mean.reshape(variance.shape), variance


def _moments_rule(
    gs: Any, x: Any, out: Any, x_shape: tuple[int, ...], axis: tuple[int, ...], keepdims: bool
) -> Any:
    """A variance has no slope by its mean, because deviations from the mean add up to 0."""
    by_mean, by_variance = gs
    count = count_along(x_shape, axis) or 1
    along = {"axis": axis, "keepdims": keepdims, "shape": x_shape}
    if by_variance is None:
        return spread(by_mean / count, **along)
    by_x = spread(by_variance * 2 / count, **along) * (x - spread(out[0], **along))
    return by_x if by_mean is None else by_x + spread(by_mean / count, **along)


moments_.rules(x=_moments_rule)


def moments(
    x: TensorLike,
    axes: Axes,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean and the variance over `axes`. `shift` is not used; `keepdims` keeps the axes, with length 1.

    >>> mean, variance = moments([1.0, 3.0], [0])
    >>> float(mean), float(variance)
    (2.0, 1.0)
    """
    x = convert(x)
    if x._array.dtype.char in HALF:  # the rule then has the mean before it is rounded
        return rounded(moments, x, axes=axes, keepdims=keepdims)
    return apply(moments_, (x,), {"axis": axes_of("moments", axes, x.ndim), "keepdims": bool(keepdims)})


def weighted_moments(
    x: TensorLike, axes: Axes, frequency_weights: TensorLike, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The mean and the variance over `axes` where each element counts as often as its weight says.

    `frequency_weights` broadcasts against x; `keepdims` keeps the axes, with length 1.

    Raises:
        DTypeError: if x is not floating.

    >>> mean, variance = weighted_moments([1.0, 3.0], [0], [3.0, 1.0])
    >>> float(mean), float(variance)
    (1.5, 0.75)
    """
    x = floating_tensor("weighted_moments", x)
    weights = convert(frequency_weights, None, x._array.dtype)
    if x._array.dtype.char in HALF:
        return rounded(weighted_moments, x, axes=axes, frequency_weights=weights, keepdims=keepdims)
    weights = cast(weights, x.dtype)
    count = reduce_sum(apply2(add, weights, xp(x._array).zeros_like(x._array)), axes, keepdims=True)
    mean = apply2(divide_no_nan, reduce_sum(weights * x, axes, keepdims=True), count)
    squares = weights * apply(square, (apply2(subtract, x, mean),))
    variance = apply2(divide_no_nan, reduce_sum(squares, axes, keepdims=True), count)
    if keepdims:
        return mean, variance
    over = axes_of("weighted_moments", axes, x.ndim)
    shape = tuple([n for i, n in enumerate(mean._array.shape) if i - x.ndim not in over])
    return reshape(mean, shape), reshape(variance, shape)


def sufficient_statistics(
    x: TensorLike,
    axes: Axes,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The number of elements over `axes`, their sum, the sum of their squares, and `shift`.

    `shift` is subtracted from the elements first; `keepdims` keeps the axes, with length 1.

    Raises:
        DTypeError: if x is not floating.

    >>> [float(t) for t in sufficient_statistics([1.0, 3.0], [0])[:3]]
    [2.0, 4.0, 10.0]
    """
    x = floating_tensor("sufficient_statistics", x)
    over = axes_of("sufficient_statistics", axes, x.ndim)
    count = np.asarray(math.prod(x._array.shape[a] for a in over), x._array.dtype)
    offset = None if shift is None else convert(shift, None, x._array.dtype)
    shifted = x if offset is None else apply2(subtract, x, offset)
    squares = reduce_sum(apply(square, (shifted,)), axes, keepdims)
    return wrap(count), reduce_sum(shifted, axes, keepdims), squares, offset


def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike | None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean and the variance from the results of `sufficient_statistics`.

    `counts` are numbers of elements, `mean_ss` their sums, `variance_ss` the sums of their squares; `shift` was
    subtracted from the elements before, or is None.

    >>> [float(t) for t in normalize_moments(*sufficient_statistics([1.0, 3.0], [0]))]
    [2.0, 1.0]
    """
    count, total, squares = together("normalize_moments", [counts, mean_ss, variance_ss])
    mean = apply2(divide, total, count)
    variance = apply2(subtract, apply2(divide, squares, count), apply(square, (mean,)))
    return (mean if shift is None else mean + shift), variance


def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """scale * (x - mean) / sqrt(variance + variance_epsilon) + offset; `offset` and `scale` may be None.

    Raises:
        DTypeError: if x is not floating.

    >>> batch_normalization([1.0, 3.0], 2.0, 4.0, 10.0, 1.0, 0.0).numpy()
    array([ 9.5, 10.5], dtype=float32)
    """
    x = floating_tensor("batch_normalization", x)
    if x._array.dtype.char in HALF:
        given = [None if v is None else _like(x, v) for v in (mean, variance, offset, scale)]
        return rounded(batch_normalization, x, *given, variance_epsilon=variance_epsilon)
    factor = apply1(rsqrt, apply2(add, _like(x, variance), variance_epsilon))
    if scale is not None:
        factor = apply2(multiply, factor, _like(factor, scale))
    start = apply2(multiply, _like(factor, mean), factor)
    scaled = apply2(multiply, x, cast(factor, x.dtype))
    if offset is None:
        return apply2(subtract, scaled, cast(start, x.dtype))
    return apply2(add, scaled, cast(apply2(subtract, _like(factor, offset), start), x.dtype))


def _like(x: Tensor, value: TensorLike) -> Tensor:
    """A value as a tensor: of the dtype of `x` if it has none of its own."""
    return convert(value, None, x._array.dtype)


def local_response_normalization(
    input: TensorLike,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """x / (bias + alpha * s) ** beta, where s sums the squares of the channels up to `depth_radius` away.

    Raises:
        DTypeError: if x is not floating.
        InvalidArgumentError: if x does not have 4 axes.

    >>> local_response_normalization([[[[3.0, 4.0]]]], bias=0).numpy()
    array([[[[0.6, 0.8]]]], dtype=float32)
    """
    from .pool import window_sum  # here, because nothing else needs it
    from .windows import Windows

    x = floating_tensor("local_response_normalization", input)
    if x._array.dtype.char in HALF:
        return rounded(
            local_response_normalization, x, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta
        )
    if x.ndim != 4:
        raise InvalidArgumentError(
            f"local_response_normalization: the input must have 4 axes, not shape {list(x._array.shape)}"
        )
    radius = integer("local_response_normalization", "depth_radius", depth_radius, least=0)
    start, slope, exponent = [
        number(number_of("local_response_normalization", what, value), x)
        for what, value in (("bias", bias), ("alpha", alpha), ("beta", beta))
    ]
    around = Windows((2 * radius + 1,), (1,), (1,), ((radius, radius),))
    total = apply(window_sum, (apply(square, (x,)),), {"windows": around})
    return apply2(multiply, x, apply2(power, total * slope + start, -exponent))


def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """value + bias, one number for each channel: the last axis, or with a `data_format` "NC..." the second.

    Raises:
        InvalidArgumentError: if the bias does not have one number for each channel, or there is no such format.

    >>> bias_add([[1.0, 2.0]], [10.0, 20.0]).numpy()
    array([[11., 22.]], dtype=float32)
    """
    if data_format is not None and not re.match("NC|N.*C$", str(data_format)):
        raise InvalidArgumentError(
            f"bias_add: data_format must be like 'N...C' or 'NC...', not {data_format!r}"
        )
    x, b = together("bias_add", [value, bias])
    if not x.dtype.is_numeric:
        raise DTypeError(f"bias_add takes numbers, not {x.dtype.name}")
    first = data_format is not None and str(data_format).startswith("NC")
    if x.ndim < 2 or b.ndim != 1 or b._array.shape[0] != x._array.shape[1 if first else -1]:
        raise InvalidArgumentError(
            f"bias_add: a bias of shape {list(b._array.shape)} does not have one number for each channel of a value of "
            f"shape {list(x._array.shape)}"
        )
    if first:
        b = reshape(b, (-1, *[1] * (x.ndim - 2)))
    return apply2(add, x, b)


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """The share of the elements that are 0, as a float32.

    >>> float(zero_fraction([0.0, 1.0, 0.0, 2.0]))
    0.5
    """
    x = convert(value)._array
    zeros = xp(x).asarray(x.size - xp(x).count_nonzero(x), np.float32)
    return apply2(divide, zeros, np.float32(x.size))
