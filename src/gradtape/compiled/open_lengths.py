"""Open lengths: symbols that stand for them, samples to trace a function at, and numbers that follow from them.

A function of tensors with open lengths is traced at several samples of the lengths. A number that differs from sample
to sample must be an expression of the lengths: one that some array has as a length, a multiple of it, a product of
such, or the number of blocks of two or four in one. What is none of these is refused. `open_code` calls this.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from ..core.errors import NotCompilableError
from ..core.shapes import TensorShape

# Of different remainders for small divisors: what holds for even lengths only does not hold for all of them. Batches
# are small, since constants of their length are computed; other axes are long, since windows shrink them.
_BATCHES = 24, 35, 54
_AXES = 240, 333, 490
_STEPS = (
    6,
    7,
    11,
)  # from one length to the next: no length is a multiple of another, plus a number, at all samples
SAMPLES = len(_BATCHES)


class LengthError(NotCompilableError):
    """A function that cannot be saved for all lengths: what it computes is no expression of the lengths."""


class OpenLengths:
    """Symbols for open lengths, and the samples of each.

    >>> lengths = OpenLengths({"b": 0, "n": 1})
    >>> lengths.fit((48, 70, 108)), lengths.fit((3, 3, 3)), lengths.fit((5904, 11900, 27054))
    (2*b, 3, b*n)
    """

    def __init__(self, axes: dict[str, int]) -> None:
        names = list(axes)
        self.symbols = dict(
            zip(names, jax.export.symbolic_shape(",".join(names)) if names else (), strict=True)
        )
        self.samples = {
            name: tuple(
                n + step * i for n, step in zip(_AXES if axes[name] else _BATCHES, _STEPS, strict=True)
            )
            for i, name in enumerate(names)
        }
        self._known: dict[tuple[int, ...], Any] = {}
        for symbol in self.symbols.values():
            self.note(symbol)

    def values(self, length: Any) -> tuple[int, ...]:
        """The values of a length, a number or an expression, at the samples."""
        if isinstance(length, int):
            return (length,) * SAMPLES
        return tuple(
            int(length._evaluate({name: numbers[i] for name, numbers in self.samples.items()}))
            for i in range(SAMPLES)
        )

    def note(self, length: Any) -> None:
        """Note a length that an array has: other numbers may be the same."""
        if not isinstance(length, int):
            self._known.setdefault(self.values(length), length)

    def fit(self, numbers: Sequence[int]) -> Any:
        """The expression that has these values at the samples; None if there is none."""
        numbers = tuple(int(n) for n in numbers)
        if len(set(numbers)) == 1:
            return numbers[0]
        if numbers in self._known:
            return self._known[numbers]
        for values, length in self._candidates():
            step = values[1] - values[0]
            if not step or (numbers[1] - numbers[0]) % step:
                continue
            factor = (numbers[1] - numbers[0]) // step
            rest = numbers[0] - factor * values[0]
            if all(factor * v + rest == n for v, n in zip(values, numbers, strict=True)):
                return factor * length + rest
        return self._fit_blocks(numbers)

    def _fit_blocks(self, numbers: tuple[int, ...]) -> Any:
        """The number of blocks of two or four in the multiple of a length, with one that is not full or without."""
        for (values, length), size in itertools.product(list(self._candidates()), (2, 4)):
            step = values[-1] - values[0]
            factor = round(size * (numbers[-1] - numbers[0]) / step) if step else 0
            for f, rest in itertools.product((factor - 1, factor, factor + 1), (0, size - 1)):
                if f > 0 and all((f * v + rest) // size == n for v, n in zip(values, numbers, strict=True)):
                    return (f * length + rest) // size
        return None

    def _candidates(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        """The lengths of arrays, and products of two and of three of them."""
        known = list(self._known.items())[:64]
        yield from known
        for count in (2, 3):
            for factors in itertools.combinations_with_replacement(known[:16], count):
                values: Any = np.prod([f[0] for f in factors], axis=0, dtype=object)
                length = factors[0][1]
                for _, factor in factors[1:]:
                    length = length * factor
                yield tuple(values), length

    def length(self, numbers: Sequence[int], where: str) -> Any:
        """`fit`, or an error."""
        found = self.fit(numbers)
        if found is None:
            raise LengthError(
                f"{where} has {', '.join(map(str, numbers))} for {self.described()}: no expression of these lengths"
            )
        return found

    def described(self) -> str:
        """The samples, for errors."""
        return " and ".join(f"{name} = {', '.join(map(str, s))}" for name, s in self.samples.items())


def columns(rows: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """The things that stand at the same place at all samples."""
    if len({len(row) for row in rows}) > 1:
        raise LengthError("it is another program for each length")
    return zip(*rows, strict=True)


def assignments(
    shapes: list[TensorShape], counts: Sequence[str | None] | None = None
) -> list[list[tuple[str | None, ...]]]:
    """The ways to name the open lengths of some shapes, from all different to all the same.

    Each way gives a name, or None for a known length, for each axis of each shape. Open ranks have no way.

    Args:
        counts: for each shape the name of its first length in every way, or None. It is that of a number of elements,
            which no other length need be.

    >>> for way in assignments([TensorShape([None, 3]), TensorShape([None])]):
    ...     print(way)
    [('b', None), ('b1',)]
    [('b', None), ('b',)]
    """
    counter = itertools.count()

    def different(place: int, axis: int) -> str:
        number = next(counter)
        return f"{'n' if axis else 'b'}{number or ''}"

    ways = [
        different,
        lambda place, axis: f"n{place}_{axis}" if axis else "b",
        lambda place, axis: f"n{axis}" if axis else "b",
        lambda place, axis: "b",
    ]
    given = [None] * len(shapes) if counts is None else counts
    named: list[list[tuple[str | None, ...]]] = []
    seen = []
    for way in ways:
        names = [
            tuple(
                None if n is not None else (not axis and count) or way(place, axis)
                for axis, n in enumerate(shape)
            )
            for place, (shape, count) in enumerate(zip(shapes, given, strict=True))
        ]
        flat = [name for shape in names for name in shape if name is not None]
        partition = [flat.index(name) for name in flat]
        if partition not in seen:
            seen.append(partition)
            named.append(names)
    return named


def axes_of(names: list[tuple[str | None, ...]]) -> dict[str, int]:
    """The axis at which each name appears first; 0 is a batch."""
    axes: dict[str, int] = {}
    for shape in names:
        for axis, name in enumerate(shape):
            if name is not None:
                axes[name] = min(axes.get(name, axis), axis)
    return axes
