"""Windows that slide over the last axes of an array: how many fit, the padding they need, and where their elements lie.

Convolution and pooling are made of these. Padding is never stored where it can be left out: `taps` gives, for each
position in the window, the elements it meets and the windows it meets them in.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError, UnimplementedError
from ...core.slicing import Index
from ...core.slicing import padded as padded_at
from ...core.tensor import Tensor, convert
from ...engine.arrays import xp
from ..known import known
from ..scalars import choice


class Windows(NamedTuple):
    """One entry for each of the last axes: the window's length, step, gap between its elements, and padding."""

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    def reach(self) -> tuple[int, ...]:
        """How far a window reaches along each axis, its gaps included."""
        return tuple([(n - 1) * d + 1 for n, d in zip(self.size, self.dilations)])

    def fit(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """How many windows fit along each axis; `shape` has the lengths of these axes."""
        return tuple(
            [
                max(0, (n + sum(pad) - r) // s + 1)
                for n, pad, r, s in zip(shape, self.pads, self.reach(), self.strides)
            ]
        )

    def along(self, axis: int) -> Windows:
        """The windows along one of the axes alone."""
        return Windows(*[(part[axis],) for part in self])  # type: ignore[arg-type]

    def beside(self, other: Windows) -> Windows:
        """The windows over these axes and then those."""
        return Windows(
            self.size + other.size,
            self.strides + other.strides,
            self.dilations + other.dilations,
            self.pads + other.pads,
        )

    @property
    def apart(self) -> bool:
        """Do no two windows share an element?"""
        return all(r <= s for r, s in zip(self.reach(), self.strides))

    @property
    def tiles(self) -> bool:
        """Do they lie side by side, without gaps and padding?"""
        return self.reach() == self.size == self.strides and not any(map(any, self.pads))


class Tap(NamedTuple):
    """One position in the window: where it is, the elements it meets, and the windows in which it meets one."""

    position: tuple[int, ...]
    elements: tuple[slice, ...]
    windows: tuple[slice, ...]


@functools.lru_cache(maxsize=1000)
def taps(windows: Windows, shape: tuple[int, ...]) -> tuple[Tap, ...]:
    """The positions of the window, in order, each where it does not only meet padding."""
    along = [
        _met(n, count, size, stride, dilation, before)
        for n, count, size, stride, dilation, (before, _) in zip(shape, windows.fit(shape), *windows)
    ]
    found = []
    for position in itertools.product(*along):
        pairs = [met[k] for met, k in zip(along, position)]
        elements, into = zip(*pairs) if pairs else ((), ())
        found.append(Tap(position, elements, into))
    return tuple(found)


def _met(
    n: int, count: int, size: int, stride: int, dilation: int, before: int
) -> dict[int, tuple[slice, slice]]:
    """Along one axis: what each position meets. Far outside there is only padding, however large the window is."""
    first = max(0, (before - (count - 1) * stride) // dilation)
    last = min(size - 1, (n - 1 + before) // dilation)
    pairs = [(k, _meets(k, n, count, stride, dilation, before)) for k in range(first, last + 1)]
    return {k: pair for k, pair in pairs if pair is not None}


def _meets(k: int, n: int, count: int, stride: int, dilation: int, before: int) -> tuple[slice, slice] | None:
    """Along one axis: window o meets element o * stride + shift at its position k, if there is such an element."""
    shift = k * dilation - before
    first = max(0, -(shift // stride))
    last = min(count - 1, (n - 1 - shift) // stride)
    if last < first:
        return None
    start = first * stride + shift
    return slice(start, start + (last - first) * stride + 1, stride), slice(first, last + 1)


def into(out: Any, index: tuple[Any, ...], values: Any, operation: Any = np.add, nothing: Any = 0) -> Any:
    """`out` with `operation` of it and `values` at an index, where `nothing` changes nothing.

    In place for NumPy; for JAX of whole arrays, which XLA fuses.
    """
    m = xp(out, values)
    if m is np:
        there = out[index]
        operation(there, values, out=there)
        return out
    return getattr(m, operation.__name__)(out, padded_at(values, Index(index), out.shape, nothing))


# ---------------------------------------------------------------------------------------------------------------------
# What users say about windows. Made of tuples, it is worked out once: that is half the time of a small pool.


def numbers_of(name: str, what: str, value: Any) -> tuple[int, ...]:
    """An argument that is a number or a list of them, as a tuple; None stands for 1."""
    if value is None:
        return (1,)
    if isinstance(value, Tensor) or hasattr(type(value), "_read"):
        value = known(name, what, convert(value)._array).tolist()
    if not isinstance(value, (list, tuple, np.ndarray)):
        value = (value,)
    try:
        return tuple([n.__index__() for n in value])
    except (AttributeError, TypeError):
        raise DTypeError(f"{name}: {what} must be an integer or a list of integers, not {value!r}") from None


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
    """1, `rank` or `rank + 2` numbers as one for each axis behind the batch, the channels last."""
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
    """Does a data format put the channels in front of the spatial axes?"""
    last, first = _FORMATS[rank]
    return data_format is not None and choice(name, "data_format", data_format, (last, first)) == first


@functools.lru_cache(maxsize=1000)
def spatial_windows(
    name: str,
    size: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    padding: Any,
    space: tuple[int, ...],
    channels_first: bool,
) -> Windows:
    """The windows over the spatial axes, whose lengths `space` has, that these arguments ask for."""
    rank = len(size)
    steps, gaps = [
        each_axis(name, what, given, rank, channels_first)
        for what, given in (("strides", strides), ("dilations", dilations))
    ]
    if steps[-1] != 1 or gaps[-1] != 1:
        raise UnimplementedError(f"{name}: strides and dilations must be 1 along the channels")
    return padded(name, Windows(size, steps[:-1], gaps[:-1], ()), padding, space, channels_first)


def padded(
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
    """The padding of the spatial axes. The list has an entry for batch and channels too, of zeros."""
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
