"""Windows that slide over the last axes of an array: how many fit, the padding they need, and where their elements lie.

Convolution and pooling are made of these. Padding is never stored where it can be left out: `taps` gives, for each
position in the window, the elements at that position and the windows they belong to.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError, UnimplementedError
from ...core.slicing import Index
from ...core.slicing import padded as padded_at
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...engine.arrays import xp
from ..known import known
from ..scalars import choice

# One number for all axes, or one for each: spatial, or all with batch and channels.
Lengths: TypeAlias = int | Sequence[int] | Tensor | np.ndarray
# "SAME", "VALID", or [before, after] for every axis.
Padding: TypeAlias = str | Sequence[Sequence[int]]


class Windows(NamedTuple):
    """One entry for each of the last axes: the window's length, step, gap between its elements, and padding."""

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    def reach(self) -> tuple[int, ...]:
        """The extent of a window along each axis, its gaps included."""
        return tuple([(n - 1) * d + 1 for n, d in zip(self.size, self.dilations)])

    def fit(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The number of windows that fit along each axis; `shape` has the lengths of these axes."""
        return tuple(
            [
                max(0, (n + sum(pad) - r) // s + 1)
                for n, pad, r, s in zip(shape, self.pads, self.reach(), self.strides)
            ]
        )

    def along(self, axis: int) -> Windows:
        """The windows along one of the axes alone."""
        return Windows(*[(part[axis],) for part in self])  # type: ignore[arg-type]

    def reversed(self) -> Windows:
        """The windows with which a convolution with reversed filters is the transpose, where windows move by 1."""
        pads = [(r - 1 - before, r - 1 - after) for r, (before, after) in zip(self.reach(), self.pads)]
        return self._replace(pads=tuple(pads))

    def joined(self, other: Windows) -> Windows:
        """The windows over these axes, followed by the axes of `other`."""
        return Windows(
            self.size + other.size,
            self.strides + other.strides,
            self.dilations + other.dilations,
            self.pads + other.pads,
        )

    @property
    def disjoint(self) -> bool:
        """Whether no two windows share an element."""
        return all(r <= s for r, s in zip(self.reach(), self.strides))

    @property
    def tiles(self) -> bool:
        """Whether the windows lie side by side, without gaps and padding."""
        return self.reach() == self.size == self.strides and not any(map(any, self.pads))


class Tap(NamedTuple):
    """One position in the window: its place, the elements found there, and the windows that have one there."""

    position: tuple[int, ...]
    elements: tuple[slice, ...]
    windows: tuple[slice, ...]


@functools.lru_cache(maxsize=1000)
def taps(windows: Windows, shape: tuple[int, ...]) -> tuple[Tap, ...]:
    """The positions of the window, in order, without those where all windows have padding."""
    along = [
        _taps_along(n, count, size, stride, dilation, before)
        for n, count, size, stride, dilation, (before, _) in zip(shape, windows.fit(shape), *windows)
    ]
    found = []
    for position in itertools.product(*along):
        pairs = [by_position[k] for by_position, k in zip(along, position)]
        elements, owners = zip(*pairs) if pairs else ((), ())
        found.append(Tap(position, elements, owners))
    return tuple(found)


def _taps_along(
    n: int, count: int, size: int, stride: int, dilation: int, before: int
) -> dict[int, tuple[slice, slice]]:
    """The positions along one axis, with their elements and windows. However large the window, only these count."""
    first = max(0, (before - (count - 1) * stride) // dilation)
    last = min(size - 1, (n - 1 + before) // dilation)
    pairs = [(k, _tap_along(k, n, count, stride, dilation, before)) for k in range(first, last + 1)]
    return {k: pair for k, pair in pairs if pair is not None}


def _tap_along(
    k: int, n: int, count: int, stride: int, dilation: int, before: int
) -> tuple[slice, slice] | None:
    """The elements and windows of position k along one axis: window o has element o * stride + shift there."""
    shift = k * dilation - before
    first = max(0, -(shift // stride))
    last = min(count - 1, (n - 1 - shift) // stride)
    if last < first:
        return None
    start = first * stride + shift
    return slice(start, start + (last - first) * stride + 1, stride), slice(first, last + 1)


def accumulate(
    out: Any, index: tuple[Any, ...], values: Any, operation: Any = np.add, neutral: Any = 0
) -> Any:
    """`out`, with `operation` of its elements and `values` at an index; `neutral` is the operation's neutral element.

    In place for NumPy's arrays; for JAX's an operation on whole arrays, which XLA fuses.
    """
    m = xp(out, values)
    if m is np:
        there = out[index]
        operation(there, values, out=there)
        return out
    return getattr(m, operation.__name__)(out, padded_at(values, Index(index), out.shape, neutral))


# ---------------------------------------------------------------------------------------------------------------------
# Arguments about windows. As tuples they are cache keys of the windows: half the time of a small pool.


def numbers_of(name: str, what: str, value: Any) -> tuple[int, ...]:
    """An argument that is a number or a list of them, as a tuple; None stands for 1."""
    if value is None:
        return (1,)
    if type(value) is int:
        return (value,)
    if isinstance(value, Tensor) or hasattr(type(value), "_read"):
        value = known(name, what, convert(value)._array).tolist()
    if not isinstance(value, (list, tuple, np.ndarray)):
        value = (value,)
    try:
        return tuple([n.__index__() for n in value])
    except (AttributeError, TypeError):
        raise DTypeError(f"{name}: {what} must be an integer or a list of integers, not {value!r}") from None


def check_not_both(name: str, strides: Lengths | None, dilations: Lengths | None, instead: str) -> None:
    """Refuse strides together with dilations, as TensorFlow's functions for any number of axes do."""
    steps, gaps = numbers_of(name, "strides", strides), numbers_of(name, "dilations", dilations)
    if max(steps, default=1) > 1 and max(gaps, default=1) > 1:
        raise ValueError(
            f"{name}: either the strides or the dilations must be 1, and they are {list(steps)} and {list(gaps)}: "
            f"{instead}"
        )


def padding_of(name: str, padding: Any) -> Any:
    """The argument `padding`: a name, or [before, after] for every axis as tuples."""
    if isinstance(padding, str):
        return padding
    try:
        return tuple([numbers_of(name, "padding", pair) for pair in padding])
    except TypeError:
        raise InvalidArgumentError(
            f"{name}: padding must be 'SAME', 'VALID' or a list of [before, after] for every axis, not {padding!r}"
        ) from None


def each_axis(
    name: str, what: str, given: tuple[int, ...], rank: int, channels_first: bool
) -> tuple[int, ...]:
    """1, `rank` or `rank + 2` numbers as one for each axis after the batch, the channels last."""
    if len(given) == rank + 2:
        batch, channels = given[0], given[1 if channels_first else -1]
        spatial = given[2:] if channels_first else given[1:-1]
        if batch != 1:
            raise UnimplementedError(
                f"{name}: {what} must be 1 along the batch, not {batch} in {list(given)}"
            )
    elif len(given) in (1, rank):
        spatial, channels = given * (rank if len(given) == 1 else 1), 1
    else:
        raise InvalidArgumentError(
            f"{name}: {what} must be of length 1, {rank} or {rank + 2}, not {list(given)} of length {len(given)}"
        )
    if min(*spatial, channels) < 1:
        raise InvalidArgumentError(f"{name}: {what} must be positive, not {list(given)}")
    return (*spatial, channels)


_FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def channels_come_first(name: str, data_format: Any, rank: int) -> bool:
    """Return whether a data format puts the channels in front of the spatial axes."""
    last, first = _FORMATS[rank]
    return data_format is not None and choice(name, "data_format", data_format, (last, first)) == first


def spatial_rank(name: str, what: str, shape: tuple[int, ...], rank: int | None) -> int:
    """The number of spatial axes, which are all but two of the argument `what`: `rank`, or 1, 2 or 3 if it is None."""
    if len(shape) - 2 in ((1, 2, 3) if rank is None else (rank,)):
        return len(shape) - 2
    count = "3, 4 or 5" if rank is None else rank + 2
    raise InvalidArgumentError(
        f"{name}: {what} must have {count} axes, all but two of them spatial, not shape {list(shape)}"
    )


def windows_of(
    name: str,
    size: Lengths,
    strides: Lengths | None,
    padding: Padding,
    dilations: Lengths | None,
    space: tuple[int, ...],
    channels_first: bool,
) -> tuple[Windows, Windows]:
    """The windows over spatial axes of the lengths `space`, and those over the channels, that users ask for."""
    size = numbers_of(name, "ksize", size)
    steps, gaps = numbers_of(name, "strides", strides), numbers_of(name, "dilations", dilations)
    return _windows_of(name, size, steps, gaps, padding_of(name, padding), space, channels_first)


@functools.lru_cache(maxsize=1000)
def _windows_of(
    name: str,
    size: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    padding: Any,
    space: tuple[int, ...],
    channels_first: bool,
) -> tuple[Windows, Windows]:
    rank = len(space)
    sizes, steps, gaps = [
        each_axis(name, what, given, rank, channels_first)
        for what, given in (("ksize", size), ("strides", strides), ("dilations", dilations))
    ]
    spatial = Windows(sizes[:-1], steps[:-1], gaps[:-1], ())
    channels = Windows(sizes[-1:], steps[-1:], gaps[-1:], ((0, 0),))
    return _padded(name, spatial, padding, space, channels_first), channels


def _padded(
    name: str, windows: Windows, padding: Any, space: tuple[int, ...], channels_first: bool
) -> Windows:
    """The windows with the padding that SAME, VALID or a list of (before, after) for every axis asks for."""
    if isinstance(padding, str):
        pads = _padding_named(name, padding, space, windows)
    else:
        pads = _padding_listed(name, padding, len(space), channels_first)
    for n, pad, reach, stride in zip(space, pads, windows.reach(), windows.strides):
        if n + sum(pad) - reach + stride < 0:
            raise InvalidArgumentError(
                f"{name}: a window that reaches {reach} does not fit an axis of length {n} with padding {pad}: use "
                "padding='SAME', a smaller window or a larger input"
            )
    return windows._replace(pads=pads)


def _padding_named(
    name: str, padding: str, space: tuple[int, ...], windows: Windows
) -> tuple[tuple[int, int], ...]:
    if padding == "VALID":
        return ((0, 0),) * len(space)
    if padding != "SAME":
        raise InvalidArgumentError(
            f"{name}: padding must be 'SAME', 'VALID' or a list of [before, after] for every axis, not {padding!r}"
        )
    totals = [
        max((-(-n // s) - 1) * s + reach - n, 0)
        for n, s, reach in zip(space, windows.strides, windows.reach())
    ]
    return tuple([(total // 2, total - total // 2) for total in totals])


def _padding_listed(
    name: str, pairs: tuple[Any, ...], axes: int, channels_first: bool
) -> tuple[tuple[int, int], ...]:
    """The padding of the spatial axes. The list also has entries, of zeros, for batch and channels."""
    listed = [list(pair) for pair in pairs]
    if len(pairs) != axes + 2 or any(len(pair) != 2 for pair in pairs):
        raise InvalidArgumentError(
            f"{name}: a list as padding must have [before, after] for each of the {axes + 2} axes, not {listed}"
        )
    spatial = pairs[2:] if channels_first else pairs[1:-1]
    others = pairs[:2] if channels_first else (pairs[0], pairs[-1])
    if any(map(any, others)):
        raise InvalidArgumentError(
            f"{name}: padding along the batch or the channels must be 0, unlike {listed}"
        )
    if any(n < 0 for pair in spatial for n in pair):
        raise InvalidArgumentError(f"{name}: padding must not be negative, as in {listed}")
    return tuple(spatial)
