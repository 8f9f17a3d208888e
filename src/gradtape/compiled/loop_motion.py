"""Code motion for loops that pull gradients back: computing for all steps at once what need not be done in turn.

A loop backwards computes each step again before it pulls gradients through it. That depends on the inputs of the step,
which are known for all steps by then, and not on the carry: it is hoisted, and computed for all steps before the loop.
And the gradient of a weight that all steps share is a sum of products, one of each step: they are computed after the
loop, as one product. So many small products become few large ones. Likewise the gradient of a tensor of which each step
reads a row is a sum of scattered rows: they are scattered after the loop, all at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import jax
from jax.extend.core import Var, jaxprs_in_params

from ..engine.tracers import eval_jaxpr
from .jaxprs import replaced

_SLOW = ("gather", "scatter", "dynamic_slice", "dynamic_update_slice", "sort")  # for several steps at once
_PRODUCTS = ("dot_general", "conv_general_dilated")
_CHEAP = ("add", "mul", "neg", "sub")  # faster to compute than to read
_LARGE = 8  # times the size of a step's inputs: too much to keep for all steps


def hoist(jaxpr: Any, constants: list[Any], rows: list[int], count: int) -> SplitStep | None:
    """Split a step's code into parts; None if there is no product to compute before the loop, and no row to scatter."""
    parts = SplitStep(jaxpr, constants, rows, count)
    moves_products = any(eqn.primitive.name in _PRODUCTS for eqn in parts.before_code.eqns)
    moves_rows = any(term.primitive.name == "scatter-add" for *_, term in parts.sums)
    return parts if moves_products or moves_rows else None


class SplitStep:
    """The code of a step in three parts: before, inside and after the loop.

    Args:
        rows: positions of the inputs that are known for all steps before the loop begins.
        count: the first `count` other inputs are the carry, and so are the first `count` results.
    """

    def __init__(self, jaxpr: Any, constants: list[Any], rows: list[int], count: int) -> None:
        self.constants = constants
        self.count = len(jaxpr.outvars)
        known = {jaxpr.invars[i] for i in rows}
        fixed, before, inside, unknown = _sorted_equations(jaxpr, known)
        carry = [v for i, v in enumerate(jaxpr.invars) if i not in rows][:count]
        self.sums = _sums(jaxpr, fixed + inside, carry, known | unknown)
        moved = {id(eqn) for *_, add, term in self.sums for eqn in (add, term)}
        inside = [eqn for eqn in inside if id(eqn) not in moved]
        results = list(jaxpr.outvars)
        for position, *_ in self.sums:
            results[position] = carry[position]
        factors = list(dict.fromkeys(v for *_, term in self.sums for v in term.invars[-2:]))
        used = {v for v in [*results, *factors, *_inputs(inside)] if isinstance(v, Var)}
        repeated = _cheap_to_repeat([eqn for eqn in before if eqn.outvars[0] not in factors], used)
        self.hoisted = [v for eqn in before for v in eqn.outvars if v in used and v not in repeated]
        self.factors = [v for v in factors if v not in self.hoisted]  # those that a step computes
        self.before_code = replaced(
            jaxpr, invars=[jaxpr.invars[i] for i in rows], outvars=self.hoisted, eqns=fixed + before
        )
        self.step_code = replaced(
            jaxpr,
            invars=[*jaxpr.invars, *self.hoisted],
            outvars=[*results, *self.factors],
            eqns=[*fixed, *repeated.values(), *inside],
        )

    def before(self, rows: list[Any]) -> list[Any]:
        """Compute the hoisted values of all steps, from the rows of all."""
        return jax.vmap(lambda *row: jax.core.eval_jaxpr(self.before_code, self.constants, *row))(*rows)

    def step(self, inputs: Any, hoisted: list[Any]) -> tuple[list[Any], list[Any]]:
        """Compute a step's results, the sums unchanged, and its factors."""
        out = eval_jaxpr(self.step_code, self.constants, *inputs, *hoisted)
        return out[: self.count], out[self.count :]

    def after(self, carry: list[Any], hoisted: list[Any], factors: list[Any]) -> list[Any]:
        """Add the sums to the last carry."""
        stacks = dict(zip((*self.hoisted, *self.factors), (*hoisted, *factors), strict=True))
        carry = list(carry)
        for position, _, term in self.sums:
            x, y = (stacks[v] for v in term.invars[-2:])
            total = carry[position]
            if term.primitive.name == "dot_general":
                carry[position] = total + summed_product(term, x, y).astype(total.dtype)
            else:
                carry[position] = _scattered(term, total, x, y)
        return carry


def _sorted_equations(jaxpr: Any, known: set[Any]) -> tuple[list[Any], list[Any], list[Any], set[Any]]:
    """The equations that depend on no input, those to compute before the loop, those inside, and their variables.

    `known` are the inputs known before the loop; what is computed before the loop is added.
    """
    unknown = {v for v in jaxpr.invars if v not in known}
    limit = _LARGE * _size(known)
    fixed: list[Any] = []
    before: list[Any] = []
    inside: list[Any] = []
    for eqn in jaxpr.eqns:
        inputs = {v for v in eqn.invars if isinstance(v, Var)}
        if not inputs & unknown and not inputs & known and not eqn.effects:
            fixed.append(eqn)
        elif (
            not inputs & unknown
            and (_can_be_hoisted(eqn) or _reads_one_row(eqn, known))
            and _size(eqn.outvars) <= limit
        ):
            before.append(eqn)
            known.update(eqn.outvars)
        else:
            inside.append(eqn)
            unknown.update(eqn.outvars)
    return fixed, before, inside, unknown


def _size(variables: Iterable[Any]) -> int:
    return sum(math.prod(v.aval.shape) for v in variables)


def _inputs(eqns: list[Any]) -> list[Any]:
    return [v for eqn in eqns for v in eqn.invars]


def _can_be_hoisted(eqn: Any) -> bool:
    name = eqn.primitive.name
    return not (eqn.effects or name.startswith(_SLOW) or "call" in name or any(jaxprs_in_params(eqn.params)))


def _reads_one_row(eqn: Any, known: set[Any]) -> bool:
    """Return whether an equation reads a row of a tensor that all steps share: all rows are read by one gather."""
    return eqn.primitive.name == "gather" and eqn.invars[0] not in known and eqn.invars[1].aval.size == 1


def _cheap_to_repeat(before: list[Any], used: set[Any]) -> dict[Any, Any]:
    """The values that a step computes again from others that it needs anyway, with the equation of each."""
    found: dict[Any, Any] = {}
    for eqn in before:
        inputs = [v for v in eqn.invars if isinstance(v, Var)]
        if eqn.primitive.name in _CHEAP and all(v in used or v in found for v in inputs):
            found[eqn.outvars[0]] = eqn
    return found


def _sums(jaxpr: Any, eqns: list[Any], carry: list[Any], varying: set[Any]) -> list[tuple[int, Any, Any]]:
    """The parts of the carry to which a step only adds a product of matrices, or rows: position, sum and term."""
    made = {v: eqn for eqn in eqns for v in eqn.outvars}
    uses: dict[Any, int] = {}
    for v in [*_inputs(jaxpr.eqns), *jaxpr.outvars]:
        if isinstance(v, Var):
            uses[v] = uses.get(v, 0) + 1
    found = []
    for position, (before, after) in enumerate(zip(carry, jaxpr.outvars)):
        add = made.get(after) if isinstance(after, Var) else None
        if add is None or add.primitive.name not in ("add", "add_any") or before not in add.invars:
            continue
        (part,) = [v for v in add.invars if v is not before] or [None]
        term = made.get(part) if isinstance(part, Var) else None
        if term is None or not (_is_of_matrices(term, varying) or _is_of_rows(term, varying, made)):
            continue
        if uses[before] == uses[after] == uses[part] == 1:
            found.append((position, add, term))
    return found


def _is_of_matrices(eqn: Any, varying: set[Any]) -> bool:
    if eqn.primitive.name != "dot_general" or eqn.params["dimension_numbers"][1] != ((), ()):
        return False
    return all(isinstance(v, Var) and v in varying for v in eqn.invars)


def _is_of_rows(eqn: Any, varying: set[Any], made: dict[Any, Any]) -> bool:
    """Return whether an equation scatters rows into zeros, of the dtype of the rows."""
    if eqn.primitive.name != "scatter-add" or eqn.params["dimension_numbers"].operand_batching_dims:
        return False
    zeros = made.get(eqn.invars[0]) if isinstance(eqn.invars[0], Var) else None
    if zeros is None or zeros.primitive.name != "broadcast_in_dim" or isinstance(zeros.invars[0], Var):
        return False
    return zeros.invars[0].val == 0 and all(isinstance(v, Var) and v in varying for v in eqn.invars[1:])


def _scattered(term: Any, total: Any, indices: Any, rows: Any) -> Any:
    """The total with the rows of all steps added: one scatter, with an axis for the steps in front."""
    numbers = term.params["dimension_numbers"]
    numbers = numbers._replace(update_window_dims=tuple([d + 1 for d in numbers.update_window_dims]))
    return jax.lax.scatter_add(total, indices, rows.astype(total.dtype), numbers, mode=term.params["mode"])


def summed_product(product: Any, x: Any, y: Any) -> Any:
    """The sum over all steps of a product: one product that also sums over the steps."""
    (of_x, of_y), _ = product.params["dimension_numbers"]
    return jax.lax.dot_general(
        x,
        y,
        (((0, *[i + 1 for i in of_x]), (0, *[i + 1 for i in of_y])), ((), ())),
        precision=product.params["precision"],
        preferred_element_type=product.params["preferred_element_type"],
    )
