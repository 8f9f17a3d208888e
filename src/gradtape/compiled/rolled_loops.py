"""Loops that Python unrolled, rolled up again: equations that repeat become the body of one `scan`.

A Python loop of a thousand steps is a jaxpr of as many copies of one block, and XLA takes minutes for it. The backward
pass is such a run as well, over the values of the forward pass in reverse order. `repeated_blocks` finds them.
`function_graph` calls this before a program is compiled or split in two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Var

from .block_runs import Back, Count, Row, Run, Same
from .jaxprs import evaluated, replaced, without_dead_code
from .repeated_blocks import LEAST, Finder
from .vectorized_blocks import IndependentBlocks


def rolled(jaxpr: Any) -> tuple[Any, list[Any]]:
    """The same code with loops in place of repeated blocks, and the values of constants that it has after the others.

    So is the code inside of its loops and branches. Code without such blocks is returned as it is.
    """
    eqns = [_rolled_inside(eqn) for eqn in jaxpr.eqns]
    if any(new is not old for new, old in zip(eqns, jaxpr.eqns, strict=True)):
        jaxpr = replaced(jaxpr, eqns=eqns)
    if len(jaxpr.eqns) < LEAST:
        return jaxpr, []
    runs = Finder(jaxpr).runs()
    return _Rolled(jaxpr, runs).code() if runs else (jaxpr, [])


def _rolled_inside(eqn: Any) -> Any:
    """The equation of a loop or a branch with its code rolled up; other equations as they are."""
    changed = {}
    for name, parameter in eqn.params.items():
        parts = parameter if isinstance(parameter, tuple) else (parameter,)
        if parts and all(isinstance(part, ClosedJaxpr) for part in parts):
            new = [_rolled_closed(part) for part in parts]
            if any(n is not part for n, part in zip(new, parts, strict=True)):
                changed[name] = tuple(new) if isinstance(parameter, tuple) else new[0]
    return eqn.replace(params=eqn.params | changed) if changed else eqn


def _rolled_closed(closed: ClosedJaxpr) -> ClosedJaxpr:
    code, added = rolled(closed.jaxpr)
    return closed if code is closed.jaxpr else ClosedJaxpr(code, [*closed.consts, *added])


class _Rolled:
    """The code of a jaxpr with loops in place of runs."""

    def __init__(self, jaxpr: Any, found: list[tuple[Run, IndependentBlocks | None]]) -> None:
        self.jaxpr, self.found = jaxpr, found
        self.runs = runs = [run for run, _ in found]
        self.homes = {
            v: (r, *run.locate(number), o)
            for r, run in enumerate(runs)
            for number in range(run.begin, run.end)
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
        new = replaced(new, constvars=constvars, invars=new.invars[count:])
        return without_dead_code(new, [True] * len(constvars))[0], closed.consts

    def _used(self) -> list[dict[tuple[int, int], set[int]]]:
        """For each run, by place, the blocks whose results are used outside of the run."""
        used: list[dict[tuple[int, int], set[int]]] = [{} for _ in self.runs]

        def note(v: Any, by: int | None) -> None:
            home = self.homes.get(v) if isinstance(v, Var) else None
            if home is not None and home[0] != by:
                r, block, place, o = home
                used[r].setdefault((place, o), set()).add(block)

        inside = {n: r for r, run in enumerate(self.runs) for n in range(run.begin, run.end)}
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
        for r, (run, independent) in enumerate(self.found):
            self._evaluate_part(number, run.begin)
            if independent is None:
                self._loop(r, run)
            else:
                self._at_once(r, run, independent)
            number = run.end
        self._evaluate_part(number, len(self.jaxpr.eqns))
        return [self._read(v) for v in self.jaxpr.outvars]

    def _evaluate_part(self, first: int, last: int) -> None:
        """Evaluate some equations as they are; but for those that join rows of stacks."""
        for number in range(first, last):
            eqn = self.jaxpr.eqns[number]
            parts = self._parts(eqn) if eqn.primitive.name in ("stack", "concatenate") else eqn.invars
            if len(parts) < len(eqn.invars):
                self._evaluate_equations(self.jaxpr.eqns[first:number])
                self.values[eqn.outvars[0]] = self._joined(eqn, parts)
                first = number + 1
        self._evaluate_equations(self.jaxpr.eqns[first:last])

    def _parts(self, eqn: Any) -> list[tuple[Any, list[int], Any]]:
        """The operands of an equation that stacks or concatenates, results of successive blocks together.

        Each part has its stack, if it has one, its blocks, forwards or backwards, and the first operand.
        """
        parts: list[tuple[Any, list[int], Any]] = []
        for v in eqn.invars:
            r, block, *place = self.homes.get(v, (None, 0)) if isinstance(v, Var) else (None, 0)
            stack = (r, tuple(place)) if (r, tuple(place)) in self.stacks else None
            if stack is not None and parts and parts[-1][0] == stack:
                blocks = parts[-1][1]
                step = block - blocks[-1]
                if abs(step) == 1 and (len(blocks) == 1 or step == blocks[-1] - blocks[-2]):
                    blocks.append(block)
                    continue
            parts.append((stack, [block], v))
        return parts

    def _joined(self, eqn: Any, parts: list[tuple[Any, list[int], Any]]) -> Any:
        """The value of an equation that stacks or concatenates, from the stacks themselves."""
        stacks = eqn.primitive.name == "stack"
        axis = eqn.params["axis" if stacks else "dimension"]
        shape, arrays = list(eqn.outvars[0].aval.shape), []
        for stack, blocks, v in parts:
            shape[axis] = len(blocks) * (1 if stacks else v.aval.shape[axis])
            if len(blocks) == 1:
                arrays.append(self._array(v).reshape(shape))
                continue
            rows = jax.lax.slice_in_dim(self.stacks[stack], min(blocks), max(blocks) + 1)
            rows = rows if blocks[0] < blocks[1] else rows[::-1]
            arrays.append(jax.numpy.moveaxis(rows, 0, axis).reshape(shape))
        return arrays[0] if len(arrays) == 1 else jax.lax.concatenate(arrays, axis)

    def _evaluate_equations(self, eqns: list[Any]) -> None:
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

    def _at_once(self, r: int, run: Run, blocks: IndependentBlocks) -> None:
        """Compute the blocks of a run with an axis in front."""
        sums = {back.place: back for back in blocks.sums}
        stacked = [place for place in self.used[r] if place not in sums]
        stacks, totals = blocks.compute(stacked, self._read, lambda operand: self._rows(operand, run.count))
        self.stacks.update(zip([(r, place) for place in stacked], stacks, strict=True))
        for place, back in sums.items():
            self.values[blocks.block[place[0]].outvars[place[1]]] = totals[back]

    def _loop(self, r: int, run: Run) -> None:
        """Run the blocks of a run in a loop."""
        block = self.jaxpr.eqns[run.end - run.period : run.end]
        lone = [place for place, blocks in self.used[r].items() if blocks == {run.count - 1}]
        stacked = [place for place in self.used[r] if place not in lone]
        carried = list(dict.fromkeys(o for o in run.operands.values() if isinstance(o, Back)))
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

    def _evaluate_block(self, run: Run, block: list[Any], operands: dict[Any, Any], i: Any) -> dict[Any, Any]:
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
                results = evaluated(eqn, given)
            values.update(zip(eqn.outvars, results, strict=True))
        return values

    def _array(self, v: Any) -> Any:
        return jax.numpy.asarray(self._read(v), v.aval.dtype)

    def _reader(self, operand: Any) -> Callable[[Any], Any]:
        """The function that gives an operand for an iteration."""
        if isinstance(operand, Same):
            value = self._read(operand.value)
            return lambda i: value
        if isinstance(operand, Count):
            start, move = np.int32(operand.first), np.int32(operand.step)
            return lambda i: (start + move * i).astype(operand.dtype)
        if isinstance(operand, Row):
            stack, axis = self._stack(operand), operand.axis
            first, step = np.int32(operand.first), np.int32(operand.step)
        else:
            stack, axis = self._stacked(operand.values), 0
            first, step = np.int32(0), np.int32(1)
        return lambda i: jax.lax.dynamic_index_in_dim(stack, first + step * i, axis, keepdims=False)

    def _rows(self, operand: Any, count: int) -> Any:
        """An operand for all iterations, stacked."""
        if isinstance(operand, Count):
            return self._reader(operand)(jax.lax.iota(np.int32, count))
        if not isinstance(operand, Row):
            return self._stacked(operand.values)
        first, last = sorted((operand.first, operand.first + operand.step * (count - 1)))
        rows = jax.lax.slice_in_dim(
            self._stack(operand), first, last + 1, abs(operand.step) or 1, operand.axis
        )
        rows = jax.numpy.moveaxis(rows, operand.axis, 0)
        if operand.step == 0:
            return jax.numpy.broadcast_to(rows, (count, *rows.shape[1:]))
        return rows[::-1] if operand.step < 0 else rows

    def _stack(self, operand: Row) -> Any:
        return self.stacks[operand.stack] if isinstance(operand.stack, tuple) else self._read(operand.stack)

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
