"""Loops that Python unrolled, rolled up again: equations that repeat become the body of one `scan`.

A Python loop of a thousand steps is a jaxpr of as many copies of one block, and XLA takes minutes for it. `rolled`
finds runs of such blocks: the same operations on the same shapes, with operands from the same places of the same block,
of the block before, or from outside. The backward pass is such a run as well, over the values of the forward pass in
reverse order. `function_graph` calls this before a program is compiled or split in two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.extend.core import Var

from .fusion import ELEMENTWISE
from .jaxprs import replaced

_LEAST = 200  # equations in a run: fewer compile in the time that a loop takes
_REPEATS = 16  # blocks in a run,
_MORE_REPEATS = 64  # and in one for which a loop runs slower: see `_Finder._pays`
_PERIOD = 2048  # equations in a block
_DELAY = 4  # blocks after which a value is used at the latest
_SMALL = 512  # elements: XLA makes one kernel of a loop that computes so few in an iteration
_LARGE = 1 << 15  # elements: for so many an iteration takes longer than starting its kernels
_MEMORY = 1 << 12  # elements of an array: kernels that join many operations on larger ones read less memory


def rolled(jaxpr: Any) -> tuple[Any, list[Any]]:
    """The same code with loops in place of repeated blocks, and the values of constants that it has after the others.

    Code without such blocks is returned as it is.
    """
    if len(jaxpr.eqns) < _LEAST:
        return jaxpr, []
    runs = _Finder(jaxpr).runs()
    return _Rolled(jaxpr, runs).code() if runs else (jaxpr, [])


# ---------------------------------------------------------------------------------------------------------------------
# Operands of a block that come from outside of it, at iteration i of the loop


@dataclass(frozen=True)
class _Same:
    """One value for all blocks."""

    name: Any  # see `_name`
    value: Any = field(compare=False)


@dataclass(frozen=True)
class _Back:
    """A result of the block `delay` blocks before; in the first blocks the values of `initial`."""

    place: tuple[int, int]  # equation of the block, and result of the equation
    delay: int
    names: tuple[Any, ...]
    initial: tuple[Any, ...] = field(compare=False)


@dataclass(frozen=True)
class _Row:
    """Row `first + step * i` of a stack: of an array, or of a result of another run."""

    stack: Any  # Var, or (run, place)
    first: int
    step: int


@dataclass(frozen=True)
class _Count:
    """The integer `first + step * i`."""

    first: int
    step: int
    dtype: Any


@dataclass(frozen=True)
class _Each:
    """A value of its own for each block."""

    names: tuple[Any, ...]
    values: tuple[Any, ...] = field(compare=False)


class _Run:
    """`count` blocks of `period` equations from equation `start` on."""

    def __init__(self, start: int, period: int, count: int) -> None:
        self.start, self.period, self.count = start, period, count
        self.operands: dict[
            tuple[int, int], Any
        ] = {}  # by equation of a block and position: those from outside
        self.moves: dict[
            int, Any
        ] = {}  # slices and pads by equation: where they begin in block 0, and how that moves on

    @property
    def end(self) -> int:
        return self.start + self.period * self.count

    def part(self, first: int, count: int) -> _Run:
        """Some of its blocks."""
        return _Run(self.start + first * self.period, self.period, count)

    def locate(self, number: int) -> tuple[int, int]:
        """The block, and the place in it, of an equation."""
        return divmod(number - self.start, self.period)


class _Broken(Exception):
    """The blocks of a run that are alike: others differ from them."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count


# ---------------------------------------------------------------------------------------------------------------------
# Finding runs


class _Finder:
    """Finds runs of blocks in a jaxpr."""

    def __init__(self, jaxpr: Any) -> None:
        self.eqns = jaxpr.eqns
        self.made = {v: (i, o) for i, eqn in enumerate(self.eqns) for o, v in enumerate(eqn.outvars)}
        self.found: list[_Run] = []

    def runs(self) -> list[_Run]:
        kinds: dict[Any, int] = {}
        self.kinds = np.array([kinds.setdefault(_kind(eqn), len(kinds)) for eqn in self.eqns])
        for run in self._candidates(0, len(self.eqns)):
            self._accept(run)
        return self.found

    def _candidates(self, first: int, last: int) -> Iterator[_Run]:
        """Runs of equal kinds of equations in a part of the code, in order."""
        if last - first < _LEAST:
            return
        kinds = self.kinds[first:last]
        best, where = _LEAST - 1, None
        for period in range(1, min(_PERIOD, len(kinds) // _REPEATS) + 1):
            equal = kinds[period:] == kinds[:-period]
            if np.count_nonzero(equal) + period <= best:
                continue
            start, length = _longest(equal)
            covered = (length + period) // period * period
            if (
                covered > 1.05 * best and covered >= _REPEATS * period
            ):  # a multiple of a period covers no more
                best, where = covered, _Run(first + start, period, covered // period)
        if where is None:
            return
        yield from self._candidates(first, where.start)
        yield self._aligned(where)
        yield from self._candidates(where.end, last)

    def _aligned(self, run: _Run) -> _Run:
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
        return _Run(run.start + shift, run.period, run.count - (shift > 0))

    def _accept(self, run: _Run) -> None:
        """Note a run, or the parts of it whose blocks are alike."""
        while run.count >= _REPEATS and run.count * run.period >= _LEAST:
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
                if self._pays(run):
                    self.found.append(run)
                return

    def _pays(self, run: _Run) -> bool:
        """Return whether a loop is better than its blocks one after the other.

        It compiles in less time, and mostly runs as fast. It is slower if its operations are products of medium size,
        whose iterations take a few microseconds, as long as starting their kernels; if they are elementwise operations
        on arrays larger than the cache, which are one kernel otherwise; and if large values are stacked for it.
        """
        block = self.eqns[run.start : run.start + run.period]
        sizes = [math.prod(v.aval.shape) for eqn in block for v in eqn.outvars]
        elements = sum(sizes)
        stacked = {operand for operand in run.operands.values() if isinstance(operand, _Each)}
        if 4 * sum(math.prod(operand.values[0].aval.shape) for operand in stacked) > max(elements, _SMALL):
            return False
        if all(eqn.primitive.name in ELEMENTWISE for eqn in block):
            slower = elements > _MEMORY * len(sizes)
        else:
            slower = _SMALL < elements < _LARGE
        return run.count >= (_MORE_REPEATS if slower else _REPEATS)

    def _connect(self, run: _Run) -> None:
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

    def _operand(self, run: _Run, values: tuple[Any, ...]) -> Any:
        """Where an operand comes from, given as the values it has in all blocks; None for the same block."""
        sources = [self._source(run, v) for v in values]
        typical = sources[_DELAY]
        if typical is None:
            _check_all(source is None for source in sources)
            return self._from_outside(run, values)
        delay, place = _DELAY - typical[0], typical[1]
        if not 0 <= delay <= _DELAY:
            raise _Broken(0, 0)
        _check_all(
            source == (j - delay, place) if j >= delay else source is None for j, source in enumerate(sources)
        )
        return _Back(place, delay, tuple(map(_name, values[:delay])), values[:delay]) if delay else None

    def _source(self, run: _Run, v: Any) -> Any:
        """The block of the run that a value comes from, and its place there; None for values from outside."""
        number, result = self.made.get(v, (-1, 0)) if isinstance(v, Var) else (-1, 0)
        if not run.start <= number < run.end:
            return None
        block, place = run.locate(number)
        return block, (place, result)

    def _from_outside(self, run: _Run, values: tuple[Any, ...]) -> Any:
        names = tuple(map(_name, values))
        if len(set(names)) == 1:
            return _Same(names[0], values[0])
        rows: list[Any] = [self._row(v) for v in values]
        typical = rows[_DELAY]
        if typical is not None:
            stack, offset = typical
            first, last = _progression(
                [row[1] if row is not None and row[0] == stack else None for row in rows]
            )
            if last - first == len(rows):
                step = (offset - rows[0][1]) // _DELAY
                return _Row(stack, rows[0][1], step)
            if last - first > len(rows) // 2:  # blocks at the ends use other values
                raise _Broken(first, last - first)
        if all(isinstance(name[1], int) for name in names):
            numbers = [name[1] for name in names]
            if max(map(abs, numbers)) < 1 << 30 and _progression(numbers) == (0, len(numbers)):
                return _Count(numbers[0], numbers[1] - numbers[0], values[0].aval.dtype)
        return _Each(names, values)

    def _row(self, v: Any) -> tuple[Any, int] | None:
        """The stack that a value is a row of, and the number of the row; None if it is no such value."""
        if type(v) is not Var or v not in self.made:
            return None
        number, result = self.made[v]
        for i, other in enumerate(self.found):
            if other.start <= number < other.end:
                block, place = other.locate(number)
                return (i, (place, result)), block
        eqn: Any = self.eqns[number]
        if eqn.primitive.name not in ("squeeze", "reshape") or not isinstance(eqn.invars[0], Var):
            return None
        part: Any = eqn.invars[0]
        shape = eqn.outvars[0].aval.shape
        if part not in self.made or part.aval.shape != (1, *shape):
            return None
        slicing: Any = self.eqns[self.made[part][0]]
        if slicing.primitive.name != "slice" or slicing.invars[0].aval.shape[1:] != shape:
            return None
        return slicing.invars[0], slicing.params["start_indices"][0]


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


# ---------------------------------------------------------------------------------------------------------------------
# Making loops of them


class _Rolled:
    """The code of a jaxpr with loops in place of runs."""

    def __init__(self, jaxpr: Any, runs: list[_Run]) -> None:
        self.jaxpr, self.runs = jaxpr, runs
        self.homes = {
            v: (r, *run.locate(number), o)
            for r, run in enumerate(runs)
            for number in range(run.start, run.end)
            for o, v in enumerate(jaxpr.eqns[number].outvars)
        }
        self.used = self._used()

    def code(self) -> tuple[Any, list[Any]]:
        """The new code, with the constants and inputs of the old, and further constants."""
        jaxpr = self.jaxpr
        variables = [*jaxpr.constvars, *jaxpr.invars]
        closed = jax.make_jaxpr(self._evaluate)(
            *[jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in variables]
        )
        new, count = closed.jaxpr, len(jaxpr.constvars)
        constvars = [*new.invars[:count], *new.constvars]
        return replaced(new, constvars=constvars, invars=new.invars[count:]), closed.consts

    def _used(self) -> list[dict[tuple[int, int], set[int]]]:
        """For each run, by place, the blocks whose results are used outside of the run."""
        used: list[dict[tuple[int, int], set[int]]] = [{} for _ in self.runs]

        def note(v: Any, by: int | None) -> None:
            home = self.homes.get(v) if isinstance(v, Var) else None
            if home is not None and home[0] != by:
                r, block, place, o = home
                used[r].setdefault((place, o), set()).add(block)

        inside = {n: r for r, run in enumerate(self.runs) for n in range(run.start, run.end)}
        for number, eqn in enumerate(self.jaxpr.eqns):
            for v in eqn.invars:
                note(v, inside.get(number))
        for v in self.jaxpr.outvars:
            note(v, None)
        return used

    def _evaluate(self, *arrays: Any) -> list[Any]:
        self.values = dict(zip([*self.jaxpr.constvars, *self.jaxpr.invars], arrays, strict=True))
        self.stacks: dict[Any, Any] = {}  # by run and place: the results of all blocks
        number = 0
        for r, run in enumerate(self.runs):
            self._evaluate_part(number, run.start)
            self._loop(r, run)
            number = run.end
        self._evaluate_part(number, len(self.jaxpr.eqns))
        return [self._read(v) for v in self.jaxpr.outvars]

    def _evaluate_part(self, first: int, last: int) -> None:
        """Evaluate some equations as they are."""
        eqns = self.jaxpr.eqns[first:last]
        results = [v for eqn in eqns for v in eqn.outvars]
        made = set(results)
        needed = dict.fromkeys(v for eqn in eqns for v in eqn.invars if isinstance(v, Var) and v not in made)
        part = replaced(self.jaxpr, constvars=[], invars=list(needed), outvars=results, eqns=eqns)
        arrays = jax.core.eval_jaxpr(part, [], *map(self._read, needed))
        self.values.update(zip(results, arrays, strict=True))

    def _read(self, v: Any) -> Any:
        """The value of a variable or literal."""
        if not isinstance(v, Var):
            return np.asarray(v.val, v.aval.dtype)
        if v not in self.values:
            r, block, place, o = self.homes[v]
            self.values[v] = jax.lax.index_in_dim(self.stacks[r, (place, o)], block, keepdims=False)
        return self.values[v]

    def _loop(self, r: int, run: _Run) -> None:
        """Run the blocks of a run in a loop."""
        block = self.jaxpr.eqns[run.end - run.period : run.end]
        lone = [place for place, blocks in self.used[r].items() if blocks == {run.count - 1}]
        stacked = [place for place in self.used[r] if place not in lone]
        carried = list(dict.fromkeys(o for o in run.operands.values() if isinstance(o, _Back)))
        places = [*[operand.place for operand in carried], *lone, *stacked]
        readers = {
            operand: self._reader(operand) for operand in run.operands.values() if operand not in carried
        }

        def body(state: Any, i: Any) -> Any:
            registers, _ = state
            operands = {operand: read(i) for operand, read in readers.items()}
            operands.update((operand, values[-1]) for operand, values in zip(carried, registers, strict=True))
            values = self._evaluate_block(run, block, operands, i)
            results = [
                jax.numpy.asarray(a, a.dtype) for a in (values[block[p].outvars[o]] for p, o in places)
            ]
            after = [[new, *values[:-1]] for new, values in zip(results, registers)]
            ends = len(carried), len(carried) + len(lone)
            return (after, results[ends[0] : ends[1]]), results[ends[1] :]

        registers = [[self._array(v) for v in reversed(operand.initial)] for operand in carried]
        zeros = [jax.numpy.zeros(v.aval.shape, v.aval.dtype) for v in (block[p].outvars[o] for p, o in lone)]
        (_, ends), stacks = jax.lax.scan(body, (registers, zeros), jax.lax.iota(np.int32, run.count))
        self.stacks.update(zip([(r, place) for place in stacked], stacks, strict=True))
        self.values.update((block[p].outvars[o], array) for (p, o), array in zip(lone, ends, strict=True))

    def _evaluate_block(
        self, run: _Run, block: list[Any], operands: dict[Any, Any], i: Any
    ) -> dict[Any, Any]:
        """The values of the variables of the last block in iteration i, given its operands from outside."""
        values: dict[Any, Any] = {}
        for place, eqn in enumerate(block):
            given = []
            for position, v in enumerate(eqn.invars):
                operand = run.operands.get((place, position))
                given.append(values[v] if operand is None else operands[operand])
            if place in run.moves:
                first, step = run.moves[place]
                results = [_moved(eqn, [n + d * i for n, d in zip(first, step, strict=True)], *given)]
            else:
                invars = [Var(v.aval) for v in eqn.invars]
                eqn = eqn.replace(invars=invars)
                code = replaced(self.jaxpr, constvars=[], invars=invars, outvars=eqn.outvars, eqns=[eqn])
                results = jax.core.eval_jaxpr(code, [], *given)
            values.update(zip(eqn.outvars, results, strict=True))
        return values

    def _array(self, v: Any) -> Any:
        return jax.numpy.asarray(self._read(v), v.aval.dtype)

    def _reader(self, operand: Any) -> Callable[[Any], Any]:
        """The function that gives an operand for an iteration."""
        if isinstance(operand, _Same):
            value = self._read(operand.value)
            return lambda i: value
        if isinstance(operand, _Count):
            start, move = np.int32(operand.first), np.int32(operand.step)
            return lambda i: (start + move * i).astype(operand.dtype)
        if isinstance(operand, _Row):
            stack = (
                self.stacks[operand.stack] if isinstance(operand.stack, tuple) else self._read(operand.stack)
            )
            first, step = np.int32(operand.first), np.int32(operand.step)
        else:
            stack = self._stacked(operand.values)
            first, step = np.int32(0), np.int32(1)
        return lambda i: jax.lax.dynamic_index_in_dim(stack, first + step * i, keepdims=False)

    def _stacked(self, values: tuple[Any, ...]) -> Any:
        if not any(isinstance(v, Var) for v in values):
            return np.stack([np.asarray(v.val, v.aval.dtype) for v in values])
        return jax.numpy.stack([self._array(v) for v in values])


def _moved(eqn: Any, begin: list[Any], array: Any, padding: Any = None) -> Any:
    """A slice or a pad that begins at a computed index."""
    shape = eqn.outvars[0].aval.shape
    if padding is None:
        return jax.lax.dynamic_slice(array, begin, shape)
    return jax.lax.dynamic_update_slice(jax.lax.broadcast(padding, shape), array, begin)
