"""The code of one function, traced at several samples of its open lengths, as code for all lengths.

The jaxprs must be the same but for numbers that follow from the lengths; `evaluate` computes what they compute, with
symbols in place of those numbers, while `jax.export` traces it. The shape of every result is compared with the traced
ones. A function whose code differs in any other way is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from .open_constants import constant
from .open_lengths import LengthError, OpenLengths, columns

# Calls of inner code, by the parameter that holds it. Derivatives are gradtape's own, and traced as code of their own:
# JAX's for these calls are not needed.
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "checkpoint": "jaxpr",
    "remat2": "jaxpr",
}


def evaluate(
    lengths: OpenLengths, jaxprs: Sequence[Any], constants: Sequence[Any], inputs: Sequence[Any]
) -> list[Any]:
    """The results of code that was traced once for each sample, for arrays with symbols as lengths.

    Args:
        jaxprs: one for each sample.
        constants: values for their `constvars`.
        inputs: arrays for their `invars`.

    Raises:
        LengthError: if the code depends on the lengths in a way that is not known.
    """
    return _Evaluation(lengths, jaxprs).run(constants, inputs)


class _Evaluation:
    """One evaluation of the code of a function, a branch or the body of a loop."""

    def __init__(self, lengths: OpenLengths, jaxprs: Sequence[Any]) -> None:
        self._lengths = lengths
        self._jaxprs = jaxprs
        self._numbers: list[dict[Any, int]] = [{} for _ in jaxprs]  # of variables, the same in each jaxpr
        self._arrays: list[Any] = []  # by these numbers

    def run(self, constants: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        self._define([j.constvars for j in self._jaxprs], constants, "the function")
        self._define([j.invars for j in self._jaxprs], inputs, "the function")
        waiting = [list(reversed(j.eqns)) for j in self._jaxprs]
        while any(waiting):
            self._step([rest.pop() for rest in self._aligned(waiting)])
        return [self._read(atoms, "the results") for atoms in columns([j.outvars for j in self._jaxprs])]

    def _aligned(self, waiting: list[list[Any]]) -> list[list[Any]]:
        """The equations that are left, last to first, with slices that were left out because they are the whole array.

        Random numbers are computed in blocks, of which the last is cut off unless it is full.
        """
        next_ones = [rest[-1] if rest else None for rest in waiting]
        sliced = [i for i, eqn in enumerate(next_ones) if eqn is not None and eqn.primitive.name == "slice"]
        if not sliced or len(sliced) == len(waiting):
            self._check_same(next_ones)
            return waiting
        model: Any = next_ones[sliced[0]]
        number = self._numbers[sliced[0]][model.invars[0]]
        for i, rest in enumerate(waiting):
            if i not in sliced:
                whole = next(v for v, n in self._numbers[i].items() if n == number)
                rest.append(_WholeSlice(model, whole))
        return waiting

    def _check_same(self, eqns: list[Any]) -> None:
        names = ["the end" if e is None else e.primitive.name for e in eqns]
        if len(set(names)) > 1:
            raise LengthError(
                f"it is another program for each length: {', '.join(names)} for {self._lengths.described()}"
            )

    def _define(self, variables: Sequence[Any], arrays: Sequence[Any], where: str) -> None:
        """Let the variables of each jaxpr have these values, and compare shapes and dtypes."""
        for same, array in columns([list(columns(variables)), list(arrays)]):
            aval = jax.typeof(array)
            traced = list(columns([v.aval.shape for v in same]))
            if aval.dtype != same[0].aval.dtype or [self._lengths.values(n) for n in aval.shape] != traced:
                raise LengthError(
                    f"{where} gives shape {aval.shape} and dtype {aval.dtype}, and "
                    f"{[v.aval.str_short() for v in same]} for {self._lengths.described()}"
                )
            for n in aval.shape:
                self._lengths.note(n)
            for numbers, variable in zip(self._numbers, same, strict=True):
                numbers[variable] = len(self._arrays)
            self._arrays.append(array)

    def _read(self, atoms: Sequence[Any], where: str) -> Any:
        if all(isinstance(a, Literal) for a in atoms):
            values = [np.asarray(a.val, a.aval.dtype) for a in atoms]
            if len({v.tobytes() for v in values}) == 1:
                return atoms[0].val
            return constant(self._lengths, values, where)
        if any(isinstance(a, Literal) for a in atoms):
            raise LengthError(f"{where} uses a constant for one length, and no constant for another")
        places = {numbers[a] for numbers, a in zip(self._numbers, atoms, strict=True)}
        if len(places) > 1:
            raise LengthError(f"{where} uses other values for other lengths")
        return self._arrays[places.pop()]

    def _step(self, eqns: Sequence[Any]) -> None:
        first = eqns[0]
        name = first.primitive.name
        where = f"the operation {name}"
        inputs = [self._read(atoms, where) for atoms in columns([e.invars for e in eqns])]
        special = getattr(self, f"_{name}", None)
        if name in _CALLS:
            results = self._inner([e.params[_CALLS[name]] for e in eqns], inputs)
        elif name in ("cond", "while", "scan") and special is not None:
            results = special([e.params for e in eqns], inputs)
        else:
            params = {
                key: self._parameter([e.params[key] for e in eqns], where)
                for key in first.params
                if key != "padding"
            }
            if "padding" in first.params:
                params["padding"] = self._padding([e.params["padding"] for e in eqns], name, inputs, params)
            results = first.primitive.bind(*inputs, **params)
            results = results if first.primitive.multiple_results else [results]
        self._define([e.outvars for e in eqns], results, where)

    def _parameter(self, values: Sequence[Any], where: str) -> Any:
        """A parameter of an operation: the same at all samples, or numbers that follow from the lengths."""
        first = values[0]
        if all(isinstance(v, (int, np.integer)) and not isinstance(v, (bool, Enum)) for v in values):
            return self._lengths.length(values, where)
        if isinstance(first, (tuple, list)) and all(
            type(v) is type(first) and len(v) == len(first) for v in values
        ):
            parts = [self._parameter(part, where) for part in zip(*values, strict=True)]
            return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
        if isinstance(first, (Jaxpr, ClosedJaxpr)):
            if len({str(v) for v in values}) == 1:
                return first
        elif isinstance(first, np.ndarray):
            if all(np.array_equal(v, first) for v in values):
                return first
        elif all(v is first or v == first for v in values) or (
            callable(first) and len({getattr(v, "__qualname__", v) for v in values}) == 1
        ):
            return first
        raise LengthError(f"{where} has parameters that depend on {self._lengths.described()}")

    def _padding(
        self, values: Sequence[Any], name: str, inputs: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """The padding of windows along each axis: the same at all samples, or "SAME" along an axis of open length."""
        if all(v == values[0] for v in values):
            return values[0]
        axes = _windows(name, inputs, params)
        if axes is None or any(len(v) != len(axes) for v in values):
            raise LengthError(
                f"the operation {name} has a padding that depends on {self._lengths.described()}"
            )
        paddings = []
        for pairs, axis in zip(zip(*values, strict=True), axes, strict=True):
            padding = pairs[0] if all(p == pairs[0] for p in pairs) else _same_padding(*axis)
            if list(zip(*map(self._lengths.values, padding), strict=True)) != [tuple(p) for p in pairs]:
                raise LengthError(
                    f"the operation {name} has the paddings {list(pairs)} for {self._lengths.described()}"
                )
            paddings.append(padding)
        return tuple(paddings)

    # -- inner code ---------------------------------------------------------------------------------------------------

    def _inner(self, closed: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        jaxprs = [getattr(c, "jaxpr", c) for c in closed]
        constants = [
            constant(self._lengths, arrays, "the function")
            for arrays in columns([getattr(c, "consts", ()) for c in closed])
        ]
        return evaluate(self._lengths, jaxprs, constants, inputs)

    def _cond(self, params: Sequence[Any], inputs: list[Any]) -> list[Any]:
        index, *operands = inputs
        branches = [
            lambda *arrays, codes=codes: self._inner(codes, arrays)
            for codes in columns([p["branches"] for p in params])
        ]
        return list(lax.switch(index, branches, *operands))

    def _while(self, params: Sequence[Any], inputs: list[Any]) -> list[Any]:
        counts = params[0]["cond_nconsts"], params[0]["body_nconsts"]
        for_condition, for_body = inputs[: counts[0]], inputs[counts[0] : sum(counts)]
        conditions = [p["cond_jaxpr"] for p in params]
        bodies = [p["body_jaxpr"] for p in params]
        return list(
            lax.while_loop(
                lambda carry: self._inner(conditions, [*for_condition, *carry])[0],
                lambda carry: self._inner(bodies, [*for_body, *carry]),
                list(map(jnp.asarray, inputs[sum(counts) :])),
            )
        )

    def _scan(self, params: Sequence[Any], inputs: list[Any]) -> list[Any]:
        about = params[0]
        outside = inputs[: about["num_consts"]]
        carry = list(map(jnp.asarray, inputs[about["num_consts"] :][: about["num_carry"]]))
        rows = inputs[about["num_consts"] + about["num_carry"] :]
        bodies = [p["jaxpr"] for p in params]
        length = self._lengths.length([p["length"] for p in params], "a loop")

        def step(carry: Any, row: Any) -> Any:
            results = self._inner(bodies, [*outside, *carry, *row])
            return results[: len(carry)], results[len(carry) :]

        if not isinstance(length, int):
            return _loop(step, carry, rows, length, about["reverse"])
        carry, stacked = lax.scan(step, carry, rows, length, about["reverse"], about["unroll"])
        return [*carry, *stacked]


def _windows(name: str, inputs: Sequence[Any], params: dict[str, Any]) -> list[tuple[Any, int, int]] | None:
    """The length, the size of the window and its stride along each axis that windows move along."""
    shape = inputs[0].shape
    if name == "conv_general_dilated":
        numbers, filters = params["dimension_numbers"], inputs[1].shape
        pairs = zip(numbers.lhs_spec[2:], numbers.rhs_spec[2:], strict=True)
        sizes = [
            (shape[at], (filters[of] - 1) * dilation + 1)
            for (at, of), dilation in zip(pairs, params["rhs_dilation"], strict=True)
        ]
        if set(params["lhs_dilation"]) != {1}:
            return None
    elif "window_dimensions" in params and set(params.get("base_dilation", (1,))) == {1}:
        sizes = [
            (n, (size - 1) * dilation + 1)
            for n, size, dilation in zip(
                shape, params["window_dimensions"], params["window_dilation"], strict=True
            )
        ]
    else:
        return None
    return [(*size, stride) for size, stride in zip(sizes, params["window_strides"], strict=True)]


def _same_padding(length: Any, size: int, stride: int) -> tuple[Any, Any]:
    """The padding with which there is a window for every `stride` elements; 0 if windows are smaller than that."""
    if size < stride:
        return 0, 0
    total = ((length - 1) // stride) * stride + size - length
    return total // 2, total - total // 2


class _WholeSlice:
    """A slice like another equation's, of the whole array, that JAX has left out: its result is the array itself."""

    def __init__(self, model: Any, array: Any) -> None:
        self.primitive = model.primitive
        self.invars = self.outvars = [array]
        shape = array.aval.shape
        self.params = model.params | {"start_indices": (0,) * len(shape), "limit_indices": tuple(shape)}


def _loop(step: Any, carry: list[Any], rows: list[Any], length: Any, reverse: bool) -> list[Any]:
    """`lax.scan` of an open length, which JAX does not take: a loop that writes its results into arrays.

    An array that may be empty gets one more row, which is not used: JAX takes no row of an array without rows.
    """
    one = jax.eval_shape(step, carry, [jax.ShapeDtypeStruct(row.shape[1:], row.dtype) for row in rows])[1]
    more = 0 if _has_rows(length) else 1
    rows = [
        lax.pad(row, np.zeros((), row.dtype), [(0, more, 0), *[(0, 0, 0)] * (row.ndim - 1)]) for row in rows
    ]
    stacked = [jnp.zeros((length + more, *part.shape), part.dtype) for part in one]
    count = jnp.asarray(length)

    def body(i: Any, state: Any) -> Any:
        carry, stacked = state
        at = count - 1 - i if reverse else i
        carry, parts = step(carry, [lax.dynamic_index_in_dim(row, at, keepdims=False) for row in rows])
        return carry, [
            lax.dynamic_update_index_in_dim(s, p, at, 0) for s, p in zip(stacked, parts, strict=True)
        ]

    carry, stacked = lax.fori_loop(jnp.zeros_like(count), count, body, (carry, stacked))
    return [*carry, *[lax.slice_in_dim(s, 0, length) for s in stacked]]


def _has_rows(length: Any) -> bool:
    """Return whether a length is surely one or more."""
    try:
        return bool(length >= 1)
    except jax.errors.InconclusiveDimensionOperation:
        return False
