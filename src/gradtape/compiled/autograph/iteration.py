"""Iterables that a `for` statement goes over in a compiled loop: slices of tensors, and ranges with traced ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...core.composite import CompositeTensor
from ...core.primitive import local
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...ops.array.movement import cast
from ..feeds import Feed


def is_dense(x: Any) -> bool:
    """Return whether `x` is a variable, or another value that is read as one tensor."""
    return hasattr(type(x), "_read") and not isinstance(x, CompositeTensor)


def feed_of(iterable: Any) -> Feed | None:
    """The elements of a dataset or its iterator, inside a function that is being compiled; None for anything else."""
    if local.here.trace is None or not hasattr(type(iterable), "_feed"):
        return None
    feed: Feed = iterable._feed()
    return feed


class Slices:
    """`item(i, rows)` for i = 0, ..., length - 1, where `rows` are the slices of `tensors` at i."""

    def __init__(self, length: int, tensors: list[Tensor], item: Callable[[Any, list[Tensor]], Any]) -> None:
        self.length = length
        self.tensors = tensors
        self.item = item
        self.unrolled = 0  # number of items before these that were taken out of the loop

    @classmethod
    def of(cls, iterable: Any) -> Slices | None:
        """The slices of a tensor, inside a function that is being compiled; None for anything else."""
        if isinstance(iterable, Slices):
            return iterable
        feed = feed_of(iterable)
        if feed is not None:
            return cls._stacked(feed) if feed.is_small else None
        if local.here.trace is None or not (isinstance(iterable, Tensor) or is_dense(iterable)):
            return None
        tensor = convert(iterable)
        if not tensor.ndim:
            raise TypeError("a tensor without axes has no slices to go over")
        return cls(tensor._array.shape[0], [tensor], lambda i, rows: rows[0])

    @classmethod
    def _stacked(cls, feed: Feed) -> Slices:
        tensors, element = feed.stacked()
        return cls(feed.length or 0, tensors, lambda i, rows: element(rows))

    def numbered(self, start: Any) -> Slices:
        """`enumerate` of the slices."""
        return Slices(self.length, self.tensors, lambda i, rows: (i + start, self.item(i, rows)))

    def reversed(self) -> Slices:
        """`reversed` slices."""
        from ...ops.array.arrange import reverse

        last = self.length - 1
        return Slices(
            self.length,
            [reverse(t, [0]) for t in self.tensors],
            lambda i, rows: self.item(last - i, rows),
        )

    @staticmethod
    def zipped(all_of: list[Slices], strict: bool) -> Slices:
        """`zip` of slices."""
        lengths = [slices.length for slices in all_of]
        if strict and len(set(lengths)) > 1:
            raise ValueError(f"zip: the lengths {lengths} differ, and strict=True asks that they agree")
        length = min(lengths)
        ends = [0]
        for slices in all_of:
            ends.append(ends[-1] + len(slices.tensors))

        def item(i: Any, rows: list[Tensor]) -> Any:
            return tuple(e.item(i, rows[a:b]) for e, a, b in zip(all_of, ends, ends[1:]))

        return Slices(length, [t[:length] for slices in all_of for t in slices.tensors], item)

    def at(self, i: int) -> Any:
        """The item at a known position."""
        return self.item(i, [t[i] for t in self.tensors])

    def first(self, count: int) -> Slices:
        """The first items."""
        return Slices(min(self.length, count), [t[:count] for t in self.tensors], self.item)

    def without_first(self) -> Slices:
        """All items but the first, which was taken out of the loop."""
        rest = Slices(self.length - 1, [t[1:] for t in self.tensors], lambda i, rows: self.item(i + 1, rows))
        rest.unrolled = self.unrolled + 1
        return rest

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        return (self.at(i) for i in range(self.length))


class TracedRange:
    """A range whose start, end or step is known only when the compiled function runs."""

    def __init__(self, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> None:
        if stop is None:
            start, stop = 0, start
        numbers = [convert(x) for x in (start, stop, step)]
        if dtype is None:
            dtype = max((x.dtype for x in numbers), key=lambda d: (d.is_floating, d.size))
        self.start, self.stop, self.step = (cast(x, dtype) for x in numbers)

    def goes_on(self, at: Tensor) -> Tensor:
        """Return whether there is another number."""
        return (self.step > 0) & (at < self.stop) | (self.step < 0) & (at > self.stop)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            "how far this range goes is known only when the compiled function runs: go over it with a `for` statement"
        )
