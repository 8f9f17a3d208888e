"""The block before a run of independent blocks: the same but for the first addition of sums that begin with it.

A backward pass adds up the gradients of a value that all blocks use. The first block has nothing to add to. Taken by
itself it would be compiled once more, and the stacks of all others would be copied to be without it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from .block_runs import Back, Run

if TYPE_CHECKING:
    from .repeated_blocks import Finder
    from .vectorized_blocks import IndependentBlocks


class _Unlike(Exception):
    """The code before a run is no block of it."""


def with_lead(finder: Finder, run: Run, blocks: IndependentBlocks) -> Run:
    """The run with the block before it, if there is one; else the run as it is."""
    try:
        return _Lead(finder, run, blocks).run()
    except _Unlike:
        return run


class _Lead:
    """The comparison of the code before a run with its blocks."""

    def __init__(self, finder: Finder, run: Run, blocks: IndependentBlocks) -> None:
        self.finder, self.old, self.blocks = finder, run, blocks
        self.eqns = finder.eqns
        self.first = self.eqns[run.start : run.start + run.period]
        self.values: dict[Any, Any] = {}  # variables of the first block, and those of the lead in their place

    def run(self) -> Run:
        """The run with the lead. Raises _Unlike if there is none."""
        places, missing = self._matched()
        run = Run(self.old.start, self.old.period, self.old.count + 1)
        run.lead = places
        for place, eqn in enumerate(self.first):
            if place in missing:
                self._skip(run, place, missing[place])
            else:
                self._compare(run, place, eqn, self.eqns[run.begin + places.index(place)])
        for back in self.blocks.sums:
            place, result = back.place
            if self.values[self.first[place].outvars[result]] is not back.initial[0]:
                raise _Unlike
        return run

    def _matched(self) -> tuple[list[int], dict[int, int]]:
        """The places that the equations before the run have in a block; and those it lacks, with positions of terms."""
        old, kinds = self.old, self.finder.kinds
        begins = {terms[0][0]: terms[0][1] for terms in self.blocks.sums.values()}
        places: list[int] = []
        missing: dict[int, int] = {}
        number = old.start - 1
        before = self.finder.found[-1].end if self.finder.found else 0
        for place in range(old.period - 1, -1, -1):
            if number >= before and kinds[number] == kinds[old.start + place]:
                places.insert(0, place)
                number -= 1
            elif place in begins:
                missing[place] = begins[place]
            else:
                raise _Unlike
        return places, missing

    def _skip(self, run: Run, place: int, position: int) -> None:
        """Note that a sum begins with its first term."""
        eqn = self.first[place]
        if (place, position) in self.old.operands or eqn.invars[position] not in self.values:
            raise _Unlike
        self.values[eqn.outvars[0]] = self.values[eqn.invars[position]]
        back = self.old.operands[place, 1 - position]
        run.operands[place, 1 - position] = dataclasses.replace(back, names=(), initial=())

    def _compare(self, run: Run, place: int, eqn: Any, lead: Any) -> None:
        """Note the operands and results of an equation of the lead; raise _Unlike if they differ in kind."""
        if not self.finder.moves_on(run, place, lead):
            raise _Unlike
        for position, (v, w) in enumerate(zip(eqn.invars, lead.invars, strict=True)):
            operand = self.old.operands.get((place, position))
            if operand is None:
                if self.values[v] is not w:
                    raise _Unlike
                continue
            if isinstance(operand, Back):
                new: Any = dataclasses.replace(operand, names=(w,), initial=(w,))
            else:
                new = self.finder.operand_of(run, place, position, w)
            if type(new) is not type(operand):
                raise _Unlike
            run.operands[place, position] = new
        if place in self.blocks.partial_places and self.finder.uses[lead.outvars[0]] != 1:
            raise _Unlike
        self.values.update(zip(eqn.outvars, lead.outvars, strict=True))
