"""NumpyProgram: a jaxpr as a list of calls of NumPy, and the equations of control flow, which contain other jaxprs."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from jax.extend.core import Literal

from . import elementwise_rules, indexing_rules, product_rules, reduction_rules, shape_rules  # noqa: F401
from .equation_rules import RULES, Compute, NoRule, rule

_INLINED = {"jit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat2": "jaxpr"}
_INLINED |= {"checkpoint": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}


class TooLong(Exception):
    """A loop has more iterations than NumPy should compute: compiled, the program takes less time in all."""


class _Meter(threading.local):
    """The operations that loops may still compute in the call of this thread."""

    left = 0


meter = _Meter()


class NumpyProgram:
    """The results of a jaxpr, computed by NumPy equation by equation. Arrays are dropped after their last use.

    Raises:
        NoRule: if an equation has no rule.
    """

    def __init__(self, jaxpr: Any) -> None:
        self._slots: dict[Any, int] = {}  # of each variable in the list of values
        self._initial: list[Any] = []  # the list of values before a call: constants, and None
        self._steps: list[tuple[Compute, tuple[int, ...], Any, tuple[int, ...]]] = []
        self._inputs = [self._slot(v) for v in (*jaxpr.constvars, *jaxpr.invars)]
        self._add(jaxpr)
        self._results = [self._slot(v) for v in jaxpr.outvars]
        self._drop_after_last_use()
        self.operations = max(len(self._steps), 1)

    def _slot(self, v: Any) -> int:
        """The place of a variable or a constant."""
        if isinstance(v, Literal):
            aval: Any = v.aval
            self._initial.append(np.asarray(v.val, aval.dtype)[()])
            return len(self._initial) - 1
        if v not in self._slots:
            self._slots[v] = len(self._initial)
            self._initial.append(None)
        return self._slots[v]

    def _add(self, jaxpr: Any) -> None:
        for eqn in jaxpr.eqns:
            name = eqn.primitive.name
            if name in _INLINED:
                self._inline(eqn, eqn.params[_INLINED[name]])
                continue
            if name not in RULES:
                raise NoRule(name)
            places = tuple([self._slot(v) for v in eqn.invars])
            results: Any = [self._slot(v) for v in eqn.outvars]
            if not eqn.primitive.multiple_results or (name == "optimization_barrier" and len(results) == 1):
                (results,) = results
            self._steps.append((RULES[name](eqn), places, results, ()))

    def _inline(self, eqn: Any, inner: Any) -> None:
        """Add the equations of code that is called, with the variables of the call for its own."""
        consts = getattr(inner, "consts", ())
        inner = getattr(inner, "jaxpr", inner)
        for v, constant in zip(inner.constvars, consts, strict=True):
            self._slots[v] = len(self._initial)
            self._initial.append(np.asarray(constant))
        self._slots.update(zip(inner.invars, [self._slot(v) for v in eqn.invars], strict=True))
        for each in inner.eqns:  # the same code may be called twice
            for v in each.outvars:
                self._slots.pop(v, None)
        self._add(inner)
        for v, result in zip(eqn.outvars, inner.outvars, strict=True):
            self._slots[v] = self._slot(result)

    def _drop_after_last_use(self) -> None:
        kept = {*self._results}
        for i in range(len(self._steps) - 1, -1, -1):
            function, places, results, _ = self._steps[i]
            made = results if isinstance(results, list) else [results]
            last = tuple({*places, *made} - kept)
            kept.update(last)
            self._steps[i] = function, places, results, last

    def __call__(self, arrays: list[Any]) -> list[Any]:
        """The results for the values of the jaxpr's constants and inputs."""
        values = self._initial.copy()
        for slot, array in zip(self._inputs, arrays, strict=True):
            values[slot] = array
        for function, places, results, last in self._steps:
            result = function(*[values[i] for i in places])
            if type(results) is int:
                values[results] = result
            else:
                for slot, each in zip(results, result, strict=True):
                    values[slot] = each
            for i in last:
                values[i] = None
        return [values[i] for i in self._results]


def _closed(inner: Any) -> tuple[NumpyProgram, list[Any]]:
    """The program of a closed jaxpr, and its constants."""
    return NumpyProgram(inner.jaxpr), [np.asarray(constant) for constant in inner.consts]


# ---------------------------------------------------------------------------------------------------------------------
# Control flow


@rule("cond")
def _(eqn: Any) -> Compute:
    branches = [_closed(branch) for branch in eqn.params["branches"]]

    def compute(which: Any, *operands: Any) -> list[Any]:
        program, constants = branches[min(max(int(which), 0), len(branches) - 1)]
        return program([*constants, *operands])

    return compute


@rule("while")
def _(eqn: Any) -> Compute:
    condition, condition_constants = _closed(eqn.params["cond_jaxpr"])
    body, body_constants = _closed(eqn.params["body_jaxpr"])
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]

    def compute(*operands: Any) -> list[Any]:
        before = [*condition_constants, *operands[:first]]
        inside = [*body_constants, *operands[first : first + second]]
        carry = list(operands[first + second :])
        while np.any(goes := condition([*before, *carry])[0]):
            _count(body.operations)
            after = body([*inside, *carry])
            if np.ndim(goes):  # a loop for each row, of which some have ended
                after = [
                    np.where(_leading(goes, new), new, old) for new, old in zip(after, carry, strict=True)
                ]
            carry = after
        return carry

    return compute


@rule("scan")
def _(eqn: Any) -> Compute:
    body, body_constants = _closed(eqn.params["jaxpr"])
    length, backwards = eqn.params["length"], eqn.params["reverse"]
    consts, carries = eqn.params["num_consts"], eqn.params["num_carry"]
    stacked = [(v.aval.shape, v.aval.dtype) for v in eqn.outvars[carries:]]
    order = range(length - 1, -1, -1) if backwards else range(length)

    def compute(*operands: Any) -> list[Any]:
        constants = [*body_constants, *operands[:consts]]
        carry, rows = list(operands[consts : consts + carries]), operands[consts + carries :]
        results = [np.empty(shape, dtype) for shape, dtype in stacked]
        for i in order:
            _count(body.operations)
            out = body([*constants, *carry, *[row[i] for row in rows]])
            carry = out[:carries]
            for result, value in zip(results, out[carries:], strict=True):
                result[i] = value
        return [*carry, *results]

    return compute


def _leading(goes: Any, x: Any) -> Any:
    """Truth values along the first axes of an array."""
    return goes.reshape(goes.shape + (1,) * (np.ndim(x) - goes.ndim))


def _count(operations: int) -> None:
    meter.left -= operations
    if meter.left < 0:
        raise TooLong
