"""Trip counts: how often a `while` loop runs, where that follows from numbers known while the function is traced.

`while i < n: ...; i += 1` is a loop of known length if `n` and the first `i` are plain numbers. Its condition, and what
it depends on, is computed here on numbers, step by step, until it is false.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from jax.extend.core import Var

from ..core.tensor import Tensor
from ..engine.arrays import is_traced
from .blocks import Block

_MOST = 100_000  # steps that are tried

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "max": np.maximum,
    "min": np.minimum,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": operator.and_,
    "or": operator.or_,
    "not": operator.invert,
}
_SAME = frozenset(("broadcast_in_dim", "copy", "name", "reshape", "squeeze", "stop_gradient"))


def trip_count(test: Block, block: Block, carry: list[Tensor], limit: int | None) -> int | None:
    """The number of iterations of a loop with this condition and body, from this carry; None if it is not known."""
    condition = _Code.of(test, 0)
    if condition is None:
        return None
    updates: dict[
        int, _Code
    ] = {}  # of the numbers that the condition depends on, by position among the inputs
    counters: dict[int, Any] = {}
    waiting = set(condition.inputs)
    while waiting:
        position = waiting.pop()
        if position == 0 or position in updates:
            continue
        code = _Code.of(block, position - 1) if position <= len(carry) else None
        if code is None:
            return None
        array = carry[position - 1]._array
        if is_traced(array) or array.size != 1:
            return None
        updates[position], counters[position] = code, array.reshape(())[()]
        waiting |= code.inputs
    return _count(condition, updates, counters, limit)


def _count(test: _Code, updates: dict[int, _Code], counters: dict[int, Any], limit: int | None) -> int | None:
    most = _MOST if limit is None else min(limit, _MOST)
    with np.errstate(all="ignore"):
        for number in range(most + 1):
            now = {0: np.int32(number), **counters}
            if not test(now):
                return number
            if number == limit:
                return limit
            counters = {position: code(now) for position, code in updates.items()}
    return None


class _Code:
    """A number that a block computes from numbers: the equations that lead to one of its results."""

    def __init__(
        self, result: Any, equations: list[Any], values: dict[Any, Any], inputs: dict[Any, int]
    ) -> None:
        self._result, self._equations, self._values = result, equations, values
        self._inputs = inputs
        self.inputs = set(inputs.values())

    @classmethod
    def of(cls, block: Block, position: int) -> _Code | None:
        """The code of a block's result; None if it needs more than numbers and the functions above."""
        jaxpr = block.code
        result = jaxpr.outvars[position]
        places = {v: i for i, v in enumerate(jaxpr.invars)}
        constants = dict(zip(jaxpr.constvars, block.constants, strict=True))
        needed, equations = {result}, []
        for eqn in reversed(jaxpr.eqns):
            if needed.isdisjoint(eqn.outvars):
                continue
            name = eqn.primitive.name
            if name not in _FUNCTIONS and name not in _SAME and name != "convert_element_type":
                return None
            if any(v.aval.size != 1 for v in (*eqn.invars, *eqn.outvars)):
                return None
            equations.append(eqn)
            needed.update(v for v in eqn.invars if isinstance(v, Var))
        values = {v: constants[v] for v in needed if v in constants}
        if any(is_traced(value) or np.size(value) != 1 for value in values.values()):
            return None
        numbers = {v: np.asarray(value).reshape(())[()] for v, value in values.items()}
        return cls(result, equations[::-1], numbers, {v: places[v] for v in needed if v in places})

    def __call__(self, now: dict[int, Any]) -> Any:
        """The number, for those of the inputs."""
        values = dict(self._values)
        values.update({v: now[position] for v, position in self._inputs.items()})

        def value(v: Any) -> Any:
            return values[v] if isinstance(v, Var) else np.asarray(v.val)[()]

        for eqn in self._equations:
            inputs = [value(v) for v in eqn.invars]
            function = _FUNCTIONS.get(eqn.primitive.name)
            made = inputs[0] if function is None else function(*inputs)
            values[eqn.outvars[0]] = np.asarray(made).astype(eqn.outvars[0].aval.dtype)[()]
        return value(self._result)
