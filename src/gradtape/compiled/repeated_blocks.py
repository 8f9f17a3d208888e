"""Blocks of equations that repeat in a jaxpr: where a Python loop was unrolled, and where its backward pass was.

`rolled_loops` makes loops of the runs that are found here, or computes their blocks all at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from jax.extend.core import Var

from .block_runs import Back, Count, Each, Row, Run, Same
from .fusion import ELEMENTWISE
from .leading_blocks import with_lead
from .vectorized_blocks import IndependentBlocks

LEAST = 200  # equations in a run: fewer compile in the time that a loop takes,
_AT_ONCE = 100  # and fewer than these in that of all blocks at once
_REPEATS = 16  # blocks in a run,
_MORE_REPEATS = 64  # and in one for which a loop runs slower: see `Finder._pays`
_PERIOD = 2048  # equations in a block
_DELAY = 4  # blocks after which a value is used at the latest
_SMALL = 512  # elements: XLA makes one kernel of a loop that computes so few in an iteration
_LARGE = 1 << 15  # elements: for so many an iteration takes longer than starting its kernels
_MEMORY = 1 << 12  # elements of an array: kernels that join many operations on larger ones read less memory


class _Broken(Exception):
    """The blocks of a run that are alike: others differ from them."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count


# ---------------------------------------------------------------------------------------------------------------------
# Finding runs


class Finder:
    """Finds runs of blocks in a jaxpr."""

    def __init__(self, jaxpr: Any) -> None:
        self.eqns: list[Any] = jaxpr.eqns
        self.made = {v: (i, o) for i, eqn in enumerate(self.eqns) for o, v in enumerate(eqn.outvars)}
        used = [*[v for eqn in self.eqns for v in eqn.invars], *jaxpr.outvars]
        self.uses = Counter([v for v in used if isinstance(v, Var)])
        self.found: list[Run] = []
        self.independent: list[IndependentBlocks | None] = []  # of those found

    def runs(self) -> list[tuple[Run, IndependentBlocks | None]]:
        """The runs, in the order of the code, and those that need no loop."""
        kinds: dict[Any, int] = {}
        self.kinds = np.array([kinds.setdefault(_kind(eqn), len(kinds)) for eqn in self.eqns])
        for run in self._candidates(0, len(self.eqns)):
            self._accept(run)
        return list(zip(self.found, self.independent, strict=True))

    def _candidates(self, first: int, last: int) -> Iterator[Run]:
        """Runs of equal kinds of equations in a part of the code, in order."""
        if last - first < _AT_ONCE:
            return
        kinds = self.kinds[first:last]
        best, where = _AT_ONCE - 1, None
        for period in range(1, min(_PERIOD, len(kinds) // _REPEATS) + 1):
            equal = kinds[period:] == kinds[:-period]
            if np.count_nonzero(equal) + period <= best:
                continue
            start, length = _longest(equal)
            covered = (length + period) // period * period
            if (
                covered > 1.05 * best and covered >= _REPEATS * period
            ):  # a multiple of a period covers no more
                best, where = covered, Run(first + start, period, covered // period)
        if where is None:
            return
        yield from self._candidates(first, where.start)
        yield self._aligned(where)
        yield from self._candidates(where.end, last)

    def _aligned(self, run: Run) -> Run:
        """The run with its blocks cut where the fewest values go from one to the next."""
        crossing = np.zeros(run.period, int)
        middle = run.part(run.count // 2, 1)
        last_use: dict[int, int] = {}
        for number in range(middle.start, min(middle.end + _DELAY * run.period, run.end)):
            for v in self.eqns[number].invars:
                made = self.made.get(v, (-1, 0))[0] if isinstance(v, Var) else -1
                if middle.start <= made < middle.end:
                    last_use[made] = number
        for made, used in last_use.items():
            cuts = (np.arange(made + 1, used + 1) - run.start) % run.period
            np.add.at(crossing, cuts, 1)
        shift = int(np.argmin(crossing))
        return Run(run.start + shift, run.period, run.count - (shift > 0))

    def _accept(self, run: Run) -> None:
        """Note a run, or the parts of it whose blocks are alike."""
        while run.count >= _REPEATS and run.count * run.period >= _AT_ONCE:
            try:
                self._connect(run)
            except _Broken as broken:
                if broken.count == 0:
                    return
                if broken.count >= _REPEATS:
                    run = run.part(broken.first, broken.count)
                else:
                    skipped = broken.first + broken.count
                    run = run.part(skipped, run.count - skipped)
            else:
                independent = IndependentBlocks.of(run, self.eqns, self.uses)
                if independent is not None:
                    run = with_lead(self, run, independent)
                    independent = IndependentBlocks.of(run, self.eqns, self.uses)
                if self._pays(run, independent is not None):
                    self.found.append(run)
                    self.independent.append(independent)
                return

    def _pays(self, run: Run, is_independent: bool) -> bool:
        """Return whether a loop, or all blocks at once, is better than the blocks one after the other.

        Both compile in less time. A loop mostly runs as fast. It is slower if its operations are products of medium
        size, whose iterations take a few microseconds, as long as starting their kernels; if they are elementwise
        operations on arrays larger than the cache, which are one kernel otherwise; and if large values are stacked.
        """
        if not is_independent and run.count * run.period < LEAST:
            return False
        block = self.eqns[run.start : run.start + run.period]
        sizes = [math.prod(v.aval.shape) for eqn in block for v in eqn.outvars]
        elements = sum(sizes)
        stacked = {operand for operand in run.operands.values() if isinstance(operand, Each)}
        if 4 * sum(math.prod(operand.values[0].aval.shape) for operand in stacked) > max(elements, _SMALL):
            return False
        if is_independent:
            slower = False
        elif all(eqn.primitive.name in ELEMENTWISE for eqn in block):
            slower = elements > _MEMORY * len(sizes)
        else:
            slower = _SMALL < elements < _LARGE
        return run.count >= (_MORE_REPEATS if slower else _REPEATS)

    def _connect(self, run: Run) -> None:
        """Find out where the operands of a block come from; raise _Broken if not all blocks are alike."""
        blocks = [self.eqns[n : n + run.period] for n in range(run.start, run.end, run.period)]
        run.operands, run.moves = {}, {}
        for place, column in enumerate(zip(*blocks, strict=True)):
            if column[0].primitive.name in _MOVING and len({_begin(eqn) for eqn in column}) > 1:
                run.moves[place] = _move([_begin(eqn) for eqn in column])
            for position, values in enumerate(zip(*[eqn.invars for eqn in column], strict=True)):
                operand = self._operand(run, values)
                if operand is not None:
                    run.operands[place, position] = operand

    # -- one block more: see `leading_blocks` --------------------------------------------------------------------------

    def moves_on(self, run: Run, place: int, lead: Any) -> bool:
        """Note how a slice or pad moves on from an equation of the lead; return whether it does so in equal steps."""
        if lead.primitive.name in _MOVING:
            begins = [_begin(eqn) for eqn in (lead, *self._column(run, place))]
            if len(set(begins)) > 1:
                if _progression(begins) != (0, len(begins)):
                    return False
                run.moves[place] = _move(begins)
        return True

    def operand_of(self, run: Run, place: int, position: int, value: Any) -> Any:
        """The operand from outside that has a value in the lead; None if it cannot be described."""
        try:
            return self._from_outside((value, *[eqn.invars[position] for eqn in self._column(run, place)]))
        except _Broken:
            return None

    def _column(self, run: Run, place: int) -> list[Any]:
        """The equations at a place of all blocks but the lead."""
        return self.eqns[run.start + place : run.end : run.period]

    def _operand(self, run: Run, values: tuple[Any, ...]) -> Any:
        """Where an operand comes from, given as the values it has in all blocks; None for the same block."""
        sources = [self._source(run, v) for v in values]
        typical = sources[_DELAY]
        if typical is None:
            _check_all(source is None for source in sources)
            return self._from_outside(values)
        delay, place = _DELAY - typical[0], typical[1]
        if not 0 <= delay <= _DELAY:
            raise _Broken(0, 0)
        _check_all(
            source == (j - delay, place) if j >= delay else source is None for j, source in enumerate(sources)
        )
        return Back(place, delay, tuple(map(_name, values[:delay])), values[:delay]) if delay else None

    def _source(self, run: Run, v: Any) -> Any:
        """The block of the run that a value comes from, and its place there; None for values from outside."""
        number, result = self.made.get(v, (-1, 0)) if isinstance(v, Var) else (-1, 0)
        if not run.start <= number < run.end:
            return None
        block, place = run.locate(number)
        return block, (place, result)

    def _from_outside(self, values: tuple[Any, ...]) -> Any:
        names = tuple(map(_name, values))
        if len(set(names)) == 1:
            return Same(names[0], values[0])
        rows: list[Any] = [self._row(v) for v in values]
        typical = rows[_DELAY]
        if typical is not None:
            stack, axis, offset = typical
            first, last = _progression(
                [row[2] if row is not None and row[:2] == (stack, axis) else None for row in rows]
            )
            if last - first == len(rows):
                step = (offset - rows[0][2]) // _DELAY
                return Row(stack, axis, rows[0][2], step)
            if last - first > len(rows) // 2:  # blocks at the ends use other values
                raise _Broken(first, last - first)
        if all(isinstance(name[1], int) for name in names):
            numbers = [name[1] for name in names]
            if max(map(abs, numbers)) < 1 << 30 and _progression(numbers) == (0, len(numbers)):
                return Count(numbers[0], numbers[1] - numbers[0], values[0].aval.dtype)
        return Each(names, values)

    def _row(self, v: Any) -> tuple[Any, int, int] | None:
        """The stack that a value is a row of, along which axis, and the number of the row; None for other values."""
        if type(v) is not Var or v not in self.made:
            return None
        number, result = self.made[v]
        for i, other in enumerate(self.found):
            if other.begin <= number < other.end:
                block, place = other.locate(number)
                return (i, (place, result)), 0, block
        eqn = self.eqns[number]
        if eqn.primitive.name not in ("squeeze", "reshape") or eqn.invars[0] not in self.made:
            return None
        slicing = self.eqns[self.made[eqn.invars[0]][0]]
        if slicing.primitive.name != "slice" or not isinstance(slicing.invars[0], Var):
            return None
        array: Any = slicing.invars[0]
        whole, part = array.aval.shape, slicing.outvars[0].aval.shape
        cut = [axis for axis, (n, m) in enumerate(zip(whole, part, strict=True)) if n != m]
        if len(cut) != 1 or part[cut[0]] != 1:
            return None
        (axis,) = cut
        if eqn.outvars[0].aval.shape != (*part[:axis], *part[axis + 1 :]):
            return None
        return array, axis, slicing.params["start_indices"][axis]


def _kind(eqn: Any) -> Any:
    """What two equations have in common if they do the same to other values of the same shapes."""
    if eqn.effects:
        return id(eqn)
    params = eqn.params
    if _moves(eqn):
        params = {}
    types = tuple([(v.aval.shape, v.aval.dtype) for v in (*eqn.invars, *eqn.outvars)])
    return eqn.primitive, types, tuple([(name, _hashable(p)) for name, p in sorted(params.items())])


def _hashable(parameter: Any) -> Any:
    try:
        hash(parameter)
    except TypeError:
        return id(parameter)
    return type(parameter), parameter


_MOVING = ("slice", "pad")


def _moves(eqn: Any) -> bool:
    """Return whether it is a slice without gaps, or a pad: they may begin at another index in each block."""
    if eqn.primitive.name == "pad":
        return all(low >= 0 and high >= 0 and gap == 0 for low, high, gap in eqn.params["padding_config"])
    return eqn.primitive.name == "slice" and set(eqn.params["strides"] or (1,)) == {1}


def _begin(eqn: Any) -> tuple[int, ...]:
    """The index at which a slice or a pad begins."""
    if eqn.primitive.name == "pad":
        return tuple([low for low, _, _ in eqn.params["padding_config"]])
    return tuple(eqn.params["start_indices"])


def _move(begins: list[tuple[int, ...]]) -> tuple[Any, Any]:
    """The first index of a progression, and the step; raises _Broken if it is none."""
    first, last = _progression(begins)
    if last - first < len(begins):
        raise _Broken(first, last - first)
    return np.array(begins[0], np.int32), np.subtract(begins[1], begins[0]).astype(np.int32)


def _name(v: Any) -> tuple[Any, Any]:
    """What tells a value from others: of a literal its dtype, and its value if it is an integer, else its bytes."""
    if isinstance(v, Var):
        return v, None
    value = np.asarray(v.val, v.aval.dtype)
    return value.dtype, int(value) if value.dtype.kind in "iu" and value.ndim == 0 else (
        value.shape,
        value.tobytes(),
    )


def _longest(equal: Any) -> tuple[int, int]:
    """The start and the length of the longest run of True."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]]).astype(np.int8)))
    if not len(ends):
        return 0, 0
    lengths = ends[1::2] - ends[::2]
    best = int(np.argmax(lengths))
    return int(ends[2 * best]), int(lengths[best])


def _progression(numbers: list[Any]) -> tuple[int, int]:
    """The longest part, first and last, in which each number is the one before and a fixed step; None breaks it."""
    best = 0, 0
    start, step = 0, None
    for i, number in enumerate(numbers):
        if number is None:
            start, step = i + 1, None
            continue
        if i > start:
            now = _difference(number, numbers[i - 1])
            if step is not None and now != step:
                start = i - 1
            step = now
        best = max(best, (start, i + 1), key=lambda part: part[1] - part[0])
    return best


def _difference(number: Any, before: Any) -> Any:
    """The difference of two numbers, or of two tuples of numbers."""
    if isinstance(number, tuple):
        return tuple([n - m for n, m in zip(number, before, strict=True)])
    return number - before


def _check_all(alike: Any) -> None:
    """Raise _Broken if some blocks are not alike."""
    for j, yes in enumerate(alike):
        if not yes:
            raise _Broken(0, j) if j >= _REPEATS else _Broken(0, j + 1)
