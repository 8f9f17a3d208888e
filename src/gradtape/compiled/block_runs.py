"""A run of blocks: equations of a jaxpr that do the same operations on the same shapes again and again.

The operands of a block come from the same places of the same block, of a block before, or from outside. See
`repeated_blocks`, which finds runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

# ---------------------------------------------------------------------------------------------------------------------
# Operands of a block that come from outside of it, at iteration i of the loop


@dataclass(frozen=True)
class Same:
    """One value for all blocks."""

    name: Any  # see `repeated_blocks`
    value: Any = field(compare=False)


@dataclass(frozen=True)
class Back:
    """A result of the block `delay` blocks before; in the first blocks the values of `initial`, if there are any."""

    place: tuple[int, int]  # equation of the block, and result of the equation
    delay: int
    names: tuple[Any, ...]
    initial: tuple[Any, ...] = field(compare=False)


@dataclass(frozen=True)
class Row:
    """Row `first + step * i` of a stack: of an array along an axis, or of a result of another run."""

    stack: Any  # Var, or (run, place)
    axis: int
    first: int
    step: int

    def reversed(self, count: int) -> Row:
        """The rows of `count` iterations in reverse order."""
        return replace(self, first=self.first + self.step * (count - 1), step=-self.step)


@dataclass(frozen=True)
class Count:
    """The integer `first + step * i`."""

    first: int
    step: int
    dtype: Any

    def reversed(self, count: int) -> Count:
        """The integers of `count` iterations in reverse order."""
        return replace(self, first=self.first + self.step * (count - 1), step=-self.step)


@dataclass(frozen=True)
class Each:
    """A value of its own for each block."""

    names: tuple[Any, ...]
    values: tuple[Any, ...] = field(compare=False)

    def reversed(self, count: int) -> Each:
        """The values of all `count` blocks in reverse order."""
        return Each(self.names[::-1], self.values[::-1])


class Run:
    """`count` blocks of `period` equations from equation `start` on.

    The first block may lack equations that begin sums: then it is the `lead`, before `start`. See `leading_blocks`.
    """

    def __init__(self, start: int, period: int, count: int) -> None:
        self.start, self.period, self.count = start, period, count
        # By equation of a block and position: those from outside of the block.
        self.operands: dict[tuple[int, int], Any] = {}
        # Slices and pads by equation: where they begin in block 0, and how that moves on.
        self.moves: dict[int, Any] = {}
        self.lead: list[int] = []  # the places of the equations of the lead

    @property
    def begin(self) -> int:
        """The first equation."""
        return self.start - len(self.lead)

    @property
    def end(self) -> int:
        """The equation after the last block."""
        return self.start + self.period * (self.count - bool(self.lead))

    def part(self, first: int, count: int) -> Run:
        """Some of its blocks."""
        return Run(self.start + first * self.period, self.period, count)

    def locate(self, number: int) -> tuple[int, int]:
        """The block, and the place in it, of an equation."""
        if number < self.start:
            return 0, self.lead[number - self.begin]
        block, place = divmod(number - self.start, self.period)
        return block + bool(self.lead), place
