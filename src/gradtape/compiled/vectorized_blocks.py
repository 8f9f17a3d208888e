"""Runs of blocks that do not wait for each other: computed all at once, as one block with an axis in front.

The terms of a sum that Python's loop adds up, component by component, are such blocks; so is their backward pass, which
adds to the gradients of what all blocks share. `rolled_loops` makes a loop of the runs for which this is no way.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal, Var

from .block_runs import Back, Row, Run, Same
from .fusion import ELEMENTWISE
from .jaxprs import evaluated
from .loop_motion import summed_product

# Elements of a result of all blocks: from here on blocks one after the other run faster, as theirs stay in the cache
# (25 components of a mixture: 11 and 13 ms at 1.5 million elements, 79 and 62 ms at 5 million).
_ELEMENTS = 1 << 21
# Operations that compute many blocks at once in no more time than one after the other.
_BATCHED = ELEMENTWISE | {
    *("dot_general", "cholesky", "triangular_solve", "gather", "scatter", "scatter-add", "argmax", "argmin"),
    *("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "jit"),
}


def _can_be_batched(eqn: Any) -> bool:
    name = eqn.primitive.name
    if eqn.effects or not (name in _BATCHED or name.startswith("reduce_")):
        return False
    return name != "jit" or all(map(_can_be_batched, eqn.params["jaxpr"].eqns))


# ---------------------------------------------------------------------------------------------------------------------
# Slices that move on from block to block, along one axis and without gaps or overlaps


@dataclasses.dataclass(frozen=True)
class _Tiles:
    """`count` parts of an array that lie side by side along an axis: part i begins at `first + step * i`."""

    first: tuple[int, ...]
    axis: int
    step: int
    count: int
    shape: tuple[int, ...]  # of a part

    @classmethod
    def of(cls, move: Any, count: int, shape: tuple[int, ...]) -> _Tiles | None:
        """The parts of given shape at which `move` begins; None if they are no tiles."""
        first, steps = (tuple(map(int, numbers)) for numbers in move)
        axes = [axis for axis, step in enumerate(steps) if step]
        if len(axes) != 1 or shape[axes[0]] not in (1, abs(steps[axes[0]])):
            return None
        return cls(first, axes[0], steps[axes[0]], count, shape)

    @property
    def _begin(self) -> list[int]:
        """The index at which the part nearest to the beginning of the array begins."""
        begin = list(self.first)
        begin[self.axis] += min(0, self.step * (self.count - 1))
        return begin

    @property
    def _extent(self) -> list[int]:
        """The shape of all parts and what lies between them."""
        extent = list(self.shape)
        extent[self.axis] += abs(self.step) * (self.count - 1)
        return extent

    def reversed(self) -> _Tiles:
        """The same parts in reverse order."""
        first = list(self.first)
        first[self.axis] += self.step * (self.count - 1)
        return dataclasses.replace(self, first=tuple(first), step=-self.step)

    def cut(self, array: Any) -> Any:
        """The parts of an array, stacked."""
        limits = [begin + extent for begin, extent in zip(self._begin, self._extent, strict=True)]
        strides = [1] * len(limits)
        if self.shape[self.axis] == 1:
            strides[self.axis] = abs(self.step)
        part = jax.lax.slice(array, self._begin, limits, strides)
        part = part.reshape(*self.shape[: self.axis], self.count, *self.shape[self.axis :])
        return self._in_order(jax.numpy.moveaxis(part, self.axis, 0))

    def join(self, stack: Any, shape: tuple[int, ...]) -> Any:
        """The array of a given shape that has the rows of a stack as its parts, and zeros elsewhere."""
        part = jax.numpy.moveaxis(self._in_order(stack), 0, self.axis)
        merged = list(self.shape)
        merged[self.axis] *= self.count
        gaps = [0] * len(merged)
        if self.shape[self.axis] == 1:
            gaps[self.axis] = abs(self.step) - 1
        ends = [n - begin - extent for n, begin, extent in zip(shape, self._begin, self._extent, strict=True)]
        zero = np.zeros((), stack.dtype)
        return jax.lax.pad(part.reshape(merged), zero, list(zip(self._begin, ends, gaps, strict=True)))

    def _in_order(self, stack: Any) -> Any:
        return stack[::-1] if self.step < 0 else stack


# ---------------------------------------------------------------------------------------------------------------------
# Whether blocks are independent


class _Dependent(Exception):
    """A block needs more of the one before than its part of a sum."""


class IndependentBlocks:
    """The blocks of a run, as terms of sums and what they are computed from.

    `of` gives None if a block uses more of the one before than the sum so far.
    """

    def __init__(self, run: Run, block: list[Any]) -> None:
        self.run, self.block = run, block
        self.numbers = {v: place for place, eqn in enumerate(block) for v in eqn.outvars}
        self.sums: dict[Back, list[tuple[int, int]]] = {}  # equations and positions of the terms of each sum
        self.partial: dict[Any, Back] = {}  # variables that hold a sum so far
        self.tiles: dict[int, _Tiles] = {}  # slices and pads that move, by equation
        self.backwards = False  # whether the last block comes first

    @classmethod
    def of(cls, run: Run, eqns: list[Any], uses: dict[Any, int]) -> IndependentBlocks | None:
        """The blocks of a run in some code, of whose variables `uses` says how often each is used."""
        blocks = cls(run, eqns[run.end - run.period : run.end])
        size = max(math.prod(v.aval.shape) for eqn in blocks.block for v in eqn.outvars)
        if size * run.count > _ELEMENTS:
            return None
        try:
            for place, eqn in enumerate(blocks.block):
                blocks._note(place, eqn)
            blocks._check_sums(eqns, uses)
        except _Dependent:
            return None
        blocks._set_order()
        return blocks

    def _set_order(self) -> None:
        """Take the blocks of a backward pass in reverse order: so no stacks of the forward pass are reversed."""
        steps = [operand.step for operand in self.run.operands.values() if isinstance(operand, Row)]
        self.backwards = sum(step < 0 for step in steps) > len(steps) // 2
        if self.backwards:
            self.tiles = {place: tiles.reversed() for place, tiles in self.tiles.items()}

    def _note(self, place: int, eqn: Any) -> None:
        before = [self._sum_so_far(place, position) for position in range(len(eqn.invars))]
        if any(before):
            if eqn.primitive.name not in ("add", "add_any") or all(before):
                raise _Dependent
            position = 1 if before[0] else 0
            back = before[1 - position]
            assert back is not None
            self.sums.setdefault(back, []).append((place, position))
            self.partial[eqn.outvars[0]] = back
        elif not _can_be_batched(eqn):
            raise _Dependent
        elif place in self.run.moves:
            self._note_move(place, eqn)

    def _sum_so_far(self, place: int, position: int) -> Back | None:
        operand = self.run.operands.get((place, position))
        if operand is None:
            return self.partial.get(self.block[place].invars[position])
        return operand if isinstance(operand, Back) else None

    def _note_move(self, place: int, eqn: Any) -> None:
        part = eqn.outvars[0] if eqn.primitive.name == "slice" else eqn.invars[0]
        tiles = _Tiles.of(self.run.moves[place], self.run.count, part.aval.shape)
        if tiles is None:
            raise _Dependent
        if eqn.primitive.name == "slice":
            if not isinstance(self.run.operands.get((place, 0)), Same):
                raise _Dependent
        elif not isinstance(eqn.invars[1], Literal) or eqn.invars[1].val != 0:
            raise _Dependent
        self.tiles[place] = tiles

    def _check_sums(self, eqns: list[Any], uses: dict[Any, int]) -> None:
        """Raise _Dependent if a sum so far is used for more than the next one, or a moving pad is no term of a sum."""
        run = self.run
        operands = list(run.operands.values())
        for back in self.sums:
            place, result = back.place
            if back.delay != 1 or operands.count(back) != 1:
                raise _Dependent
            if self.partial.get(self.block[place].outvars[result]) != back:
                raise _Dependent
        ends = {back.place[0] for back in self.sums}
        for number in range(run.begin, run.end):
            block, place = run.locate(number)
            at_end = place in ends and block == run.count - 1
            if place in self.partial_places and not at_end and uses.get(eqns[number].outvars[0], 0) != 1:
                raise _Dependent
        terms = {self._term(*term) for terms in self.sums.values() for term in terms}
        for place in self.tiles:
            if self.block[place].primitive.name == "pad" and not (place in terms and self._once(place, uses)):
                raise _Dependent

    @property
    def partial_places(self) -> set[int]:
        """The equations that add to a sum."""
        return {self.numbers[v] for v in self.partial}

    def _once(self, place: int, uses: dict[Any, int]) -> bool:
        return uses.get(self.block[place].outvars[0]) == 1

    def _term(self, place: int, position: int) -> int | None:
        """The equation that computes a term; None for an operand from outside of the block."""
        if (place, position) in self.run.operands:
            return None
        return self.numbers[self.block[place].invars[position]]

    # -- computing ----------------------------------------------------------------------------------------------------

    def compute(
        self, needed: list[tuple[int, int]], read: Callable[[Any], Any], stack: Callable[[Any], Any]
    ) -> tuple[list[Any], dict[Back, Any]]:
        """Compute the results at some places for all blocks, stacked; and the sums.

        Args:
            needed: the places.
            read: gives the value of a variable or literal.
            stack: gives the rows of an operand for all blocks.
        """
        wanted = [self.block[place].outvars[result] for place, result in needed]
        terms = {back: [self._planned_term(*term) for term in terms] for back, terms in self.sums.items()}
        factors = list(dict.fromkeys(v for plans in terms.values() for _, vs in plans for v in vs))
        arrays = self._batched([*wanted, *factors], read, stack)
        stacks = dict(zip(factors, arrays[len(wanted) :], strict=True))
        totals = {}
        for back, plans in terms.items():
            place, result = back.place
            dtype = self.block[place].outvars[result].aval.dtype
            parts = [finish(*[stacks[v] for v in vs]).astype(dtype) for finish, vs in plans]
            totals[back] = functools.reduce(operator.add, [*map(read, back.initial), *parts])
        results = arrays[: len(wanted)]
        return [stack[::-1] for stack in results] if self.backwards else results, totals

    def _planned_term(self, place: int, position: int) -> tuple[Callable[..., Any], list[Any]]:
        """How the sum of a term over all blocks is computed: a function, and the values whose stacks it takes."""
        number = self._term(place, position)
        if number is None:
            operand = self.run.operands[place, position]
            return _summed, [operand]
        eqn = self.block[number]
        if number in self.tiles:
            shape = eqn.outvars[0].aval.shape
            return lambda stack: self.tiles[number].join(stack, shape), [self._operand(number, 0)]
        if eqn.primitive.name == "dot_general" and eqn.params["dimension_numbers"][1] == ((), ()):
            return (lambda x, y: summed_product(eqn, x, y)), [self._operand(number, i) for i in (0, 1)]
        return _summed, [eqn.outvars[0]]

    def _operand(self, place: int, position: int) -> Any:
        """An operand from outside of the block, or the variable of the block."""
        return self.run.operands.get((place, position), self.block[place].invars[position])

    def _batched(self, wanted: list[Any], read: Any, stack: Any) -> list[Any]:
        """The stacks of variables of the block and of operands from outside."""
        skipped = self.partial_places | self.tiles.keys()
        eqns = [(place, eqn) for place, eqn in enumerate(self.block) if place not in skipped]
        operands = [self.run.operands.get((place, p)) for place, eqn in eqns for p in range(len(eqn.invars))]
        outside = dict.fromkeys([*operands, *[v for v in wanted if not isinstance(v, Var)]])
        outside.pop(None, None)
        values = {o: read(o.value) for o in outside if isinstance(o, Same)}
        stacks = {
            o: stack(o.reversed(self.run.count) if self.backwards else o)
            for o in outside
            if not isinstance(o, Same)
        }
        for place, tiles in self.tiles.items():
            if self.block[place].primitive.name == "slice":
                source = read(self.run.operands[place, 0].value)
                stacks[self.block[place].outvars[0]] = tiles.cut(source)

        def compute(rows: list[Any]) -> list[Any]:
            known = values | dict(zip(stacks, rows, strict=True))
            for place, eqn in eqns:
                given = [known[self._operand(place, position)] for position in range(len(eqn.invars))]
                known.update(zip(eqn.outvars, evaluated(eqn, given), strict=True))
            return [known[v] for v in wanted]

        return jax.vmap(compute, axis_size=self.run.count)(list(stacks.values()))


def _summed(stack: Any) -> Any:
    return jax.numpy.sum(stack, 0)
