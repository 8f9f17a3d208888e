"""Pooling: the largest element, or the mean, of each window. Padding is never counted.

Sums and maxima are taken along one axis after the other, a slice for each position in the window; the gradient of a
maximum goes to the first element that reaches it. Windows also cover the channels (with length 1, as a rule), so that
both data formats are pooled as they are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.dtypes import HALF, as_dtype
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, apply2, numbers, primitive, rounded
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.traced_once import traced_once
from ...core.types import DTypeLike, TensorLike
from ...engine.arrays import xp
from ..math.elementwise import constant_in, divide
from ..scalars import choice
from .windows import (
    Lengths,
    Padding,
    Windows,
    accumulate,
    channels_come_first,
    check_not_both,
    spatial_rank,
    taps,
    windows_of,
)

# ---------------------------------------------------------------------------------------------------------------------
# Sums, and their transpose


def _axes_of(windows: Windows) -> list[tuple[Windows, int]]:
    """The windows along each axis where they are more than single elements, and the axis."""
    rank = len(windows.size)
    each = [(windows.along(i), i - rank) for i in range(rank)]
    return [(w, axis) for w, axis in each if w != Windows((1,), (1,), w.dilations, ((0, 0),))]


def _index(axis: int, part: slice) -> tuple[Any, ...]:
    """The index of a part of one axis, counted from the end."""
    return (..., part, *[slice(None)] * (-axis - 1))


def _pooled(x: Any, windows: Windows, operation: Any, neutral: Any) -> Any:
    """`operation` over the elements of each window; `neutral` where a window has none."""
    for along, axis in _axes_of(windows):
        n = x.shape[axis]
        (count,) = along.fit((n,))
        out = None
        for tap in taps(along, (n,)):
            elements, where = x[_index(axis, *tap.elements)], tap.windows[0]
            if out is None and where == slice(0, count):
                out = xp(x).array(elements)
                continue
            if out is None:
                out = xp(x).full(_with_length(x.shape, axis, count), neutral, x.dtype)
            out = accumulate(out, _index(axis, where), elements, operation, neutral)
        x = xp(x).full(_with_length(x.shape, axis, count), neutral, x.dtype) if out is None else out
    return x


def _with_length(shape: tuple[int, ...], axis: int, n: int) -> tuple[int, ...]:
    at = len(shape) + axis
    return (*shape[:at], n, *shape[at + 1 :])


@primitive(wide=True, linear=True, check_dtype=numbers)
def window_sum(x, *, windows):
    return _pooled(x, windows, np.add, 0)


@window_sum.compiled
@traced_once
def _(x, *, windows):
    return _disjoint_sum(x, windows) if windows.disjoint else _pooled(x, windows, np.add, 0)


@primitive(wide=True, linear=True, check_dtype=numbers)
def window_spread(x, *, windows, shape):
    """Each element added to all elements of its window, in a tensor whose last axes have this shape."""
    return _spread(x, windows, shape)


@window_spread.compiled
@traced_once
def _(x, *, windows, shape):
    import jax

    if not windows.disjoint:
        return _spread(x, windows, shape)
    like = jax.ShapeDtypeStruct(x.shape[: x.ndim - len(shape)] + shape, x.dtype)
    return jax.linear_transpose(lambda x: _disjoint_sum(x, windows), like)(x)[0]


def _spread(x: Any, windows: Windows, shape: tuple[int, ...]) -> Any:
    for along, axis in reversed(_axes_of(windows)):
        out = xp(x).zeros(_with_length(x.shape, axis, shape[axis]), x.dtype)
        for tap in taps(along, (shape[axis],)):
            out = accumulate(out, _index(axis, *tap.elements), x[_index(axis, *tap.windows)])
        x = out
    return x


def _disjoint_sum(x: Any, windows: Windows) -> Any:
    """The sums of disjoint windows, by JAX: twice as fast as by slices, where only overlapping windows share sums."""
    from jax import lax

    others = x.ndim - len(windows.size)
    ones = (1,) * others
    size, strides, dilations = (ones + part for part in windows[:3])
    pads = ((0, 0),) * others + windows.pads
    zero = np.zeros((), x.dtype)
    return lax.reduce_window(x, zero, lax.add, size, strides, pads, window_dilation=dilations)


window_sum.rules(
    x=lambda g, x_shape, windows: window_spread(g, windows=windows, shape=x_shape[-len(windows.size) :])
)
window_spread.rules(x=lambda g, windows: window_sum(g, windows=windows))


@functools.lru_cache(maxsize=1000)
def _window_sizes(windows: Windows, shape: tuple[int, ...], dtype: Any) -> Tensor:
    """The number of elements of each window, padding not counted."""
    if not any(map(any, windows.pads)):
        return wrap(np.asarray(math.prod(windows.size), dtype))
    counts = np.ones((), int)
    for i, n in enumerate(shape):
        along = _pooled(np.ones(n, int), windows.along(i), np.add, 0)
        counts = counts[..., None] * along
    return wrap(counts.astype(dtype))


# ---------------------------------------------------------------------------------------------------------------------
# Maxima


def _lowest(x: Any) -> Any:
    return np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf


@primitive(
    check_dtype=numbers, name="max_pool", words="The gradient goes to the largest element of each window."
)
def max_pool_(x, *, windows):
    return _pooled(x, windows, np.maximum, _lowest(x))


@max_pool_.compiled
@traced_once
def _(x, *, windows):
    return _pooled(x, windows, np.maximum, _lowest(x))


def _first_maxima(
    x: Any, out: Any, windows: Windows
) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...], Any]]:
    """For each position in the window: its elements, their windows, and which are the first to reach the maximum."""
    unclaimed: Any = np.ones(out.shape, bool)
    for tap in taps(windows, x.shape[-len(windows.size) :]):
        elements, where = (..., *tap.elements), (..., *tap.windows)
        is_first = (x[elements] == out[where]) & unclaimed[where]
        unclaimed = accumulate(unclaimed, where, is_first, np.logical_xor)
        yield elements, where, is_first


@primitive(linear=True)
def pick_largest(x, values, largest, *, windows):
    """The elements of x where `values` has the first of each window's largest."""
    out = xp(x, values, largest).zeros(x.shape[: x.ndim - values.ndim] + largest.shape, x.dtype)
    for elements, where, is_first in _first_maxima(values, largest, windows):
        out = accumulate(out, where, x[elements] * is_first)
    return out


@primitive(wide=True, linear=True)
def place_largest(x, values, largest, *, windows):
    """Each element of x added where `values` has the first of that window's largest: the transpose of picking them."""
    out = np.zeros(x.shape[: x.ndim - largest.ndim] + values.shape, x.dtype)
    disjoint = windows.disjoint
    for elements, where, is_first in _first_maxima(values, largest, windows):
        if disjoint:  # nothing to add to: a third faster
            np.multiply(x[where], is_first, out=out[elements])
        else:
            accumulate(out, elements, x[where] * is_first)
    return out


@place_largest.compiled
@traced_once
def _(x, values, largest, *, windows):
    if windows.tiles:
        return _placed_in_tiles(x, values, largest, windows)
    out = xp(x, values, largest).zeros(x.shape[: x.ndim - largest.ndim] + values.shape, x.dtype)
    for elements, where, is_first in _first_maxima(values, largest, windows):
        out = accumulate(out, elements, x[where] * is_first)
    return out


def _placed_in_tiles(x: Any, values: Any, largest: Any, windows: Windows) -> Any:
    """`place_largest` for windows side by side, in one pass: each element compares its place with that of the first."""
    import jax.numpy as m

    rank = len(windows.size)
    space, counts = values.shape[-rank:], largest.shape[-rank:]
    first = m.full(largest.shape, -1, np.int32)
    for number, tap in reversed(list(enumerate(taps(windows, space)))):
        first = m.where(values[(..., *tap.elements)] == largest, number, first)

    def interleaved(a: Any) -> Any:
        """`a` with an axis of length 1 after each spatial one, for the places in a window."""
        return a.reshape(*a.shape[: a.ndim - rank], *[n for count in counts for n in (count, 1)])

    places = np.arange(math.prod(windows.size), dtype=np.int32).reshape(
        [n for size in windows.size for n in (1, size)]
    )
    out = m.where(interleaved(first) == places, interleaved(x), m.zeros((), x.dtype))
    out = out.reshape(*x.shape[: x.ndim - rank], *[n * size for n, size in zip(counts, windows.size)])
    rest = [(0, n - have) for n, have in zip(space, out.shape[-rank:])]
    return m.pad(out, [(0, 0)] * (x.ndim - rank) + rest) if any(map(any, rest)) else out


max_pool_.rules(x=lambda g, x, out, windows: place_largest(constant_in(g, out), x, out, windows=windows))
pick_largest.rules(x=lambda g, values, largest, windows: place_largest(g, values, largest, windows=windows))
place_largest.rules(x=lambda g, values, largest, windows: pick_largest(g, values, largest, windows=windows))

# ---------------------------------------------------------------------------------------------------------------------
# The arguments of the public functions


def _arguments(
    name: str,
    rank: int | None,
    input: TensorLike,
    ksize: Lengths,
    strides: Lengths | None,
    padding: Padding,
    data_format: str | None,
    dilations: Lengths | None = None,
) -> tuple[Tensor, Windows]:
    """The input as a tensor, and the windows over all its axes but the batch."""
    x = convert(input)
    shape = x._array.shape
    first = channels_come_first(name, data_format, spatial_rank(name, "the input", shape, rank))
    space, depth = (shape[2:], shape[1]) if first else (shape[1:-1], shape[-1])
    spatial, channels = windows_of(name, ksize, strides, padding, dilations, space, first)
    if not isinstance(padding, str) and any(
        p >= n for pad, n in zip(spatial.pads, spatial.size) for p in pad
    ):
        raise InvalidArgumentError(
            f"{name}: padding must be smaller than the window {list(spatial.size)}, or some windows would be empty, "
            f"unlike {list(spatial.pads)}"
        )
    if channels.size[0] > max(1, depth):
        raise InvalidArgumentError(
            f"{name}: a window of {channels.size[0]} channels, and the input has {depth}"
        )
    return x, channels.joined(spatial) if first else spatial.joined(channels)


def _max(name: str, *arguments: Any) -> Tensor:
    x, windows = _arguments(name, *arguments)
    _check_ordered(name, x)
    return apply(max_pool_, (x,), {"windows": windows})


def _check_ordered(name: str, x: Tensor) -> None:
    if x._array.dtype.kind in "bcO":
        raise DTypeError(f"{name}: {x.dtype.name} has no largest: use cast(x, 'float32'), or abs(x)")


def _average(name: str, *arguments: Any) -> Tensor:
    x, windows = _arguments(name, *arguments)
    if not x.dtype.is_floating:
        raise DTypeError(f"{name} takes floating tensors, not {x.dtype.name}: use cast(x, 'float32')")
    return rounded(_mean, x, windows=windows) if x._array.dtype.char in HALF else _mean(x, windows)


def _mean(x: Tensor, windows: Windows) -> Tensor:
    total = apply(window_sum, (x,), {"windows": windows})
    return apply2(divide, total, _window_sizes(windows, x._array.shape[1:], x._array.dtype))


# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def max_pool(
    input: TensorLike,
    ksize: Lengths,
    strides: Lengths,
    padding: Padding,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The largest element of each window, along 1, 2 or 3 axes, as the input has.

    Where several elements of a window are the largest, the gradient goes to the first.

    Args:
        ksize: lengths of the window, one for all axes or one for each.
        strides: steps of the window, given as `ksize` is.
        padding: "VALID", "SAME" (strides of 1 keep the shape), or [before, after] for every axis. It is never largest.
        data_format: "NCW", "NCHW" or "NCDHW" if the channels stand in front of space.

    Raises:
        InvalidArgumentError: if the shapes do not match, or the window does not fit.
        DTypeError: if the input is complex, boolean or of strings.

    >>> max_pool([[[1.0], [3.0], [2.0], [4.0]]], 2, 2, "VALID").numpy().ravel()
    array([3., 4.], dtype=float32)
    """
    return _max("max_pool", None, input, ksize, strides, padding, data_format)


def max_pool1d(
    input: TensorLike,
    ksize: Lengths,
    strides: Lengths,
    padding: Padding,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """`max_pool` along one axis.

    `ksize`, `strides` and `padding` are those of `max_pool`; `data_format` is "NWC" or "NCW".

    >>> max_pool1d([[[1.0], [3.0], [2.0]]], 2, 1, "SAME").numpy().ravel()
    array([3., 3., 2.], dtype=float32)
    """
    return _max("max_pool1d", 1, input, ksize, strides, padding, data_format)


def max_pool2d(
    input: TensorLike,
    ksize: Lengths,
    strides: Lengths,
    padding: Padding,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """`max_pool` of images.

    `ksize`, `strides` and `padding` are those of `max_pool`; `data_format` is "NHWC" or "NCHW".

    >>> max_pool2d([[[[1.0], [2.0]], [[3.0], [4.0]]]], 2, 2, "VALID").numpy().item()
    4.0
    """
    return _max("max_pool2d", 2, input, ksize, strides, padding, data_format)


def max_pool3d(
    input: TensorLike,
    ksize: Lengths,
    strides: Lengths,
    padding: Padding,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """`max_pool` of volumes.

    `ksize`, `strides` and `padding` are those of `max_pool`; `data_format` is "NDHWC" or "NCDHW".

    >>> import gradtape as tf
    >>> max_pool3d(tf.ones((1, 4, 4, 4, 1)), 2, 2, "VALID").shape
    TensorShape([1, 2, 2, 2, 1])
    """
    return _max("max_pool3d", 3, input, ksize, strides, padding, data_format)


def avg_pool(
    input: TensorLike,
    ksize: Lengths,
    strides: Lengths,
    padding: Padding,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The mean of each window, along 1, 2 or 3 axes, as the input has. Padding does not count.

    `ksize`, `strides`, `padding` and `data_format` are those of `max_pool`.

    Raises:
        InvalidArgumentError: if the shapes do not match, or the window does not fit.
        DTypeError: if the input is not floating.

    >>> avg_pool([[[1.0], [3.0], [2.0]]], 2, 1, "SAME").numpy().ravel()
    array([2. , 2.5, 2. ], dtype=float32)
    """
    return _average("avg_pool", None, input, ksize, strides, padding, data_format)


def avg_pool1d(
    input: TensorLike,
    ksize: Lengths,
    strides: Lengths,
    padding: Padding,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """`avg_pool` along one axis.

    `ksize`, `strides` and `padding` are those of `max_pool`; `data_format` is "NWC" or "NCW".

    >>> avg_pool1d([[[1.0], [3.0], [2.0]]], 2, 1, "VALID").numpy().ravel()
    array([2. , 2.5], dtype=float32)
    """
    return _average("avg_pool1d", 1, input, ksize, strides, padding, data_format)


def avg_pool2d(
    input: TensorLike,
    ksize: Lengths,
    strides: Lengths,
    padding: Padding,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """`avg_pool` of images.

    `ksize`, `strides` and `padding` are those of `max_pool`; `data_format` is "NHWC" or "NCHW".

    >>> avg_pool2d([[[[1.0], [2.0]], [[3.0], [4.0]]]], 2, 2, "VALID").numpy().item()
    2.5
    """
    return _average("avg_pool2d", 2, input, ksize, strides, padding, data_format)


def avg_pool3d(
    input: TensorLike,
    ksize: Lengths,
    strides: Lengths,
    padding: Padding,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """`avg_pool` of volumes.

    `ksize`, `strides` and `padding` are those of `max_pool`; `data_format` is "NDHWC" or "NCDHW".

    >>> import gradtape as tf
    >>> avg_pool3d(tf.ones((1, 4, 4, 4, 1)), 2, 2, "VALID").shape
    TensorShape([1, 2, 2, 2, 1])
    """
    return _average("avg_pool3d", 3, input, ksize, strides, padding, data_format)


def pool(
    input: TensorLike,
    window_shape: Lengths,
    pooling_type: str,
    strides: Lengths | None = None,
    padding: Padding = "VALID",
    data_format: str | None = None,
    dilations: Lengths | None = None,
    name: str | None = None,
) -> Tensor:
    """`max_pool` or `avg_pool`, with dilations.

    Args:
        window_shape: lengths of the window, one for all axes or one for each.
        pooling_type: "MAX" or "AVG".
        strides, padding, data_format: those of `max_pool`; strides are 1 by default.
        dilations: steps between the elements of a window, given as `strides` are; 1 if a stride is not.

    Raises:
        InvalidArgumentError: if `pooling_type` is another, the shapes do not match, or the window does not fit.
        ValueError: if both strides and dilations are greater than 1.

    >>> pool([[[1.0], [3.0], [2.0]]], [2], "MAX", dilations=[2]).numpy().ravel()
    array([2.], dtype=float32)
    """
    kind = _max if choice("pool", "pooling_type", pooling_type, ("MAX", "AVG")) == "MAX" else _average
    check_not_both("pool", strides, dilations, "pool with dilations, and take every n-th of the results")
    return kind("pool", None, input, window_shape, strides, padding, data_format, dilations)


def max_pool_with_argmax(
    input: TensorLike,
    ksize: Lengths,
    strides: Lengths,
    padding: Padding,
    data_format: str = "NHWC",
    output_dtype: DTypeLike = "int64",
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`max_pool2d`, and the index of each maximum in the flattened image.

    Args:
        ksize, strides, padding, data_format: those of `max_pool2d`.
        output_dtype: of the indices.
        include_batch_in_index: whether to count through the flattened batch.

    >>> largest, where = max_pool_with_argmax([[[[1.0], [2.0]], [[4.0], [3.0]]]], 2, 2, "VALID")
    >>> where.numpy().item()
    2
    """
    x, windows = _arguments("max_pool_with_argmax", 2, input, ksize, strides, padding, data_format)
    _check_ordered("max_pool_with_argmax", x)
    out = apply(max_pool_, (x,), {"windows": windows})
    shape = x._array.shape
    counted = shape if include_batch_in_index else (1, *shape[1:])
    places = np.broadcast_to(np.arange(math.prod(counted)).reshape(counted), shape)
    where = pick_largest.forward(places, x._array, out._array, windows=windows)
    return out, wrap(where.astype(as_dtype(output_dtype).numpy_dtype))
