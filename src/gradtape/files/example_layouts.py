"""Examples that are written alike, parsed without a message for each.

A program writes its examples one after the other, with the same features. So most of them have the same length, and
differ only in the bytes of their values. A `Layout` knows where these are, from one example; others that have all other
bytes in common with it are cut at the same places. Whatever is not as usual is left to protobuf, in `examples.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes
from .features import FixedLenFeature

_DELIMITED = 2  # the wire type of strings, messages and packed numbers
_BYTES, _FLOATS, _INTEGERS = 1, 2, 3  # the fields of a Feature
_KINDS = {"string": _BYTES, "float32": _FLOATS, "int64": _INTEGERS}
_DEFAULTS = {
    _BYTES: (type(None), bytes, str),
    _FLOATS: (type(None), int, float),
    _INTEGERS: (type(None), int),
}
_LONGEST = 10  # bytes of a number
_MOST_LAYOUTS = 16
_MOST_FEATURES = 64


class _Odd(Exception):
    """Bytes that are not as programs usually write them."""


class _Place(NamedTuple):
    """Where the values of a feature are."""

    kind: int
    parts: list[tuple[int, int]]  # one for packed numbers, one for each string
    shape: tuple[int, ...] | None  # None if nobody wants it


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A number, and where it ends."""
    value = 0
    for i, byte in enumerate(data[at : min(end, at + _LONGEST)]):
        value |= (byte & 127) << 7 * i
        if byte < 128:
            return value, at + i + 1
    raise _Odd


def _field(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """The number of a field of bytes, where these begin, and where they end."""
    tag, at = _varint(data, at, end)
    length, at = _varint(data, at, end)
    if tag & 7 != _DELIMITED or at + length > end:
        raise _Odd
    return tag >> 3, at, at + length


def _only(data: bytes, at: int, end: int, wanted: int) -> tuple[int, int]:
    """The one field of a message, which must be the one that is wanted."""
    number, start, stop = _field(data, at, end)
    if number != wanted or stop != end:
        raise _Odd
    return start, stop


def _entry(data: bytes, at: int, end: int) -> tuple[str, int, list[tuple[int, int]]]:
    """The name, the kind and the places of the values of an entry of the map of features."""
    number, start, stop = _field(data, at, end)
    if number != 1:
        raise _Odd
    try:
        name = data[start:stop].decode()
    except UnicodeDecodeError:
        raise _Odd from None
    start, stop = _only(data, stop, end, 2)
    kind, start, stop = _field(data, start, stop)
    if kind == _BYTES:
        parts = []
        while start < stop:
            number, begin, start = _field(data, start, stop)
            if number != 1:
                raise _Odd
            parts.append((begin, start))
        return name, kind, parts
    return name, kind, [_only(data, start, stop, 1)]


class Layout:
    """Where an example has the values of its features.

    Args:
        data: an example.
        shapes: the kinds and shapes of the features that are wanted.
    """

    def __init__(self, data: bytes, shapes: Mapping[str, tuple[int, tuple[int, ...]]]) -> None:
        self.size = len(data)
        self.places: dict[str, _Place] = {}
        at, end = _only(data, 0, len(data), 1)
        while at < end:
            number, start, at = _field(data, at, end)
            if number != 1:
                raise _Odd
            name, kind, parts = _entry(data, start, at)
            wanted, shape = shapes.get(name, (kind, None))
            if name in self.places or kind != wanted or not _fits(kind, parts, shape):
                raise _Odd
            self.places[name] = _Place(kind, parts, shape)
        if not self.places.keys() >= shapes.keys():
            raise _Odd
        self._common = self._between(data)

    def _between(self, data: bytes) -> list[tuple[int, int, bytes]]:
        """The bytes before, between and after the values."""
        found, start = [], 0
        for begin, end in sorted(part for place in self.places.values() for part in place.parts):
            found.append((start, begin, data[start:begin]))
            start = end
        return [*found, (start, self.size, data[start:])]

    def matches(self, data: bytes) -> bool:
        """Whether an example is one of this layout, up to the values."""
        if len(data) != self.size:
            return False
        for start, end, common in self._common:  # noqa: SIM110 (all() takes twice the time)
            if data[start:end] != common:
                return False
        return True

    def columns(self, examples: Sequence[bytes]) -> dict[str, np.ndarray]:
        """The values of the features, in all examples of this layout.

        Raises:
            _Odd: if integers are not as many as wanted in one of them.
        """
        found = {}
        for name, (kind, parts, shape) in self.places.items():
            if kind == _INTEGERS:
                column = _integers(_joined(examples, parts[0]), len(examples), shape)
            elif shape is None:
                continue
            elif kind == _FLOATS:
                column = np.frombuffer(_joined(examples, parts[0]), "<f4")
            else:
                column = np.empty(len(examples) * len(parts), object)
                column[:] = [data[start:end] for data in examples for start, end in parts]
            if shape is not None:
                found[name] = column.reshape(len(examples), *shape)
        return found


def _joined(examples: Sequence[bytes], part: tuple[int, int]) -> bytes:
    start, end = part
    return b"".join([data[start:end] for data in examples])


def _fits(kind: int, parts: list[tuple[int, int]], shape: tuple[int, ...] | None) -> bool:
    """Whether there are as many values as wanted, as far as their places say so."""
    if kind == _INTEGERS:
        return parts[0][1] > parts[0][0]
    if kind == _BYTES:
        return shape is None or len(parts) == math.prod(shape)
    size = parts[0][1] - parts[0][0]
    return kind == _FLOATS and (size % 4 == 0 if shape is None else size == 4 * math.prod(shape))


def _integers(packed: bytes, n: int, shape: tuple[int, ...] | None) -> np.ndarray:
    """The packed numbers of n examples, `shape` in each; any number of them if that is None."""
    count = None if shape is None else math.prod(shape)
    values = np.frombuffer(packed, np.uint8)
    if count and len(packed) == n * count and packed.isascii():  # a byte each
        return values.astype(np.int64)
    last = values < 128  # the last byte of each number
    ends = np.flatnonzero(last)
    sizes = np.diff(ends, prepend=-1)
    each = last.reshape(n, -1)
    if not each[:, -1].all() or sizes.max() > _LONGEST or (count and (each.sum(1) != count).any()):
        raise _Odd
    begins = ends - sizes + 1
    shifts = np.arange(len(packed)) - np.repeat(begins, sizes)
    bits = (values & 127).astype(np.uint64) << (7 * shifts).astype(np.uint64)
    return np.bitwise_or.reduceat(bits, begins).view(np.int64)


class Layouts:
    """The layouts of the examples that were parsed for some features.

    Examples of which no two are alike, as those with images in them, would cost a layout each that is never used again.
    So there is one more only for every sixteen examples that had one.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, tuple[int, ...]]]) -> None:
        self._shapes = shapes
        self._found: list[Layout] = []
        self._credit = 64

    def columns(self, examples: Sequence[bytes]) -> dict[str, np.ndarray] | None:
        """The values of the features in all examples; None if one of them needs a message."""
        groups: dict[Layout, list[int]] = {}
        for i, data in enumerate(examples):
            layout = self._of(data)
            if layout is None:
                return None
            groups.setdefault(layout, []).append(i)
        try:
            if len(groups) == 1:
                return next(iter(groups)).columns(examples)
            return _merged(groups, examples)
        except _Odd:
            return None

    def _of(self, data: bytes) -> Layout | None:
        for layout in self._found:
            if layout.matches(data):
                self._credit += 1
                return layout
        if self._credit < 16:
            return None
        self._credit -= 16
        try:
            made = Layout(data, self._shapes)
        except _Odd:
            return None
        self._found = [made, *self._found[: _MOST_LAYOUTS - 1]]
        return made


def _merged(groups: dict[Layout, list[int]], examples: Sequence[bytes]) -> dict[str, np.ndarray]:
    out: dict[str, np.ndarray] = {}
    for layout, numbers in groups.items():
        for name, column in layout.columns([examples[i] for i in numbers]).items():
            if name not in out:
                out[name] = np.empty((len(examples), *column.shape[1:]), column.dtype)
            out[name][numbers] = column
    return out


_kept: dict[Any, Layouts | None] = {}


def layouts_for(features: Mapping[str, Any]) -> Layouts | None:
    """The layouts of examples for these features; None if one of them is not of a fixed length above 0."""
    try:
        key = tuple(
            [(name, type(f), tuple(f.shape), f.dtype, f.default_value) for name, f in features.items()]
        )
        return _kept[key]
    except KeyError:
        if len(_kept) >= _MOST_FEATURES:
            _kept.clear()
        return _kept.setdefault(key, _made(key))
    except (AttributeError, TypeError):  # no FixedLenFeature, or a shape or default that is no plain value
        return None


def _made(described: tuple[Any, ...]) -> Layouts | None:
    shapes = {}
    for name, cls, shape, dtype, default in described:
        kind = _KINDS.get(dtypes.as_dtype(dtype).name)
        fixed = cls is FixedLenFeature and shape is not None and all(type(n) is int and n > 0 for n in shape)
        if not fixed or kind is None or type(name) is not str or type(default) not in _DEFAULTS[kind]:
            return None
        shapes[name] = kind, shape
    return Layouts(shapes) if shapes else None
