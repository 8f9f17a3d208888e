"""What the steps of a loop need not compute one after the other.

A loop backwards runs each step again before it pulls gradients through it. That depends on what the step was given,
which is known for all steps by then, and not on what comes round: it is computed for all of them before the loop. And
the gradient of a weight that all steps share is a sum of products, one of each step: they are computed after the loop,
as one product. So many small products become few large ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import jax
from jax.extend.core import Var, jaxprs_in_params

# Of several steps at once these are slow.
_SLOW = ("gather", "scatter", "dynamic_slice", "dynamic_update_slice", "sort")
_PRODUCTS = ("dot_general", "conv_general_dilated")
_QUICK = ("add", "mul", "neg", "sub")  # quicker to compute than to read
_LARGE = 8  # times as large as what a step is given: too much to keep for all of them


def ahead(jaxpr: Any, consts: list[Any], rows: list[int], count: int) -> Parts | None:
    """The parts of a step's code; None if there are no products to do before the loop."""
    parts = Parts(jaxpr, consts, rows, count)
    return parts if any(eqn.primitive.name in _PRODUCTS for eqn in parts.before_code.eqns) else None


class Parts:
    """A step's code in three parts. Its inputs at the positions `rows` are known for all steps before the loop begins;
    the first `count` others come round, and are the first `count` results."""

    def __init__(self, jaxpr: Any, consts: list[Any], rows: list[int], count: int) -> None:
        self.consts = consts
        self.jaxpr = jaxpr
        known = {jaxpr.invars[i] for i in rows}
        unknown = {v for v in jaxpr.invars if v not in known}
        limit = _LARGE * _size(known)
        fixed: list[Any] = []
        before: list[Any] = []
        later: list[Any] = []
        for eqn in jaxpr.eqns:
            inputs = {v for v in eqn.invars if isinstance(v, Var)}
            if not inputs & unknown and not inputs & known and not eqn.effects:
                fixed.append(eqn)
            elif not inputs & unknown and _is_plain(eqn) and _size(eqn.outvars) <= limit:
                before.append(eqn)
                known.update(eqn.outvars)
            else:
                later.append(eqn)
                unknown.update(eqn.outvars)
        round_ = [v for i, v in enumerate(jaxpr.invars) if i not in rows][:count]
        self.sums = _sums(jaxpr, later, round_, known | unknown)
        done = {id(eqn) for *_, add, product in self.sums for eqn in (add, product)}
        later = [eqn for eqn in later if id(eqn) not in done]
        results = list(jaxpr.outvars)
        for place, *_ in self.sums:
            results[place] = round_[place]
        factors = list(dict.fromkeys(v for *_, product in self.sums for v in product.invars))
        used = {v for v in [*results, *factors, *_inputs(later)] if isinstance(v, Var)}
        anew = _anew([eqn for eqn in before if eqn.outvars[0] not in factors], used)
        kept = [v for eqn in before for v in eqn.outvars if v in used and v not in anew]
        self.inner = [v for v in factors if v not in kept]  # the factors that a step gives
        self.kept = kept
        self.before_code = self._part([jaxpr.invars[i] for i in rows], kept, fixed + before)
        step = [*fixed, *anew.values(), *later]
        self.step_code = self._part([*jaxpr.invars, *kept], [*results, *self.inner], step)
        self.count = len(results)

    def _part(self, inputs: list[Any], results: list[Any], eqns: list[Any]) -> Any:
        names = self.jaxpr.debug_info.with_unknown_names()
        return self.jaxpr.replace(invars=inputs, outvars=results, eqns=eqns, debug_info=names)

    def before(self, rows: list[Any]) -> list[Any]:
        """What can be known of all steps, from the rows of all."""
        return jax.vmap(lambda *row: jax.core.eval_jaxpr(self.before_code, self.consts, *row))(*rows)

    def step(self, inputs: Any, known: list[Any]) -> tuple[list[Any], list[Any]]:
        """A step's results, the sums as they came; and its factors."""
        out = jax.core.eval_jaxpr(self.step_code, self.consts, *inputs, *known)
        return out[: self.count], out[self.count :]

    def after(self, last: list[Any], known: list[Any], factors: list[Any]) -> list[Any]:
        """What came round, with the sums."""
        stacks = dict(zip((*self.kept, *self.inner), (*known, *factors), strict=True))
        last = list(last)
        for place, _, product in self.sums:
            x, y = (stacks[v] for v in product.invars)
            last[place] = last[place] + _summed(product, x, y).astype(last[place].dtype)
        return last


def _size(variables: Iterable[Any]) -> int:
    return sum(math.prod(v.aval.shape) for v in variables)


def _inputs(eqns: list[Any]) -> list[Any]:
    return [v for eqn in eqns for v in eqn.invars]


def _is_plain(eqn: Any) -> bool:
    name = eqn.primitive.name
    return not (eqn.effects or name.startswith(_SLOW) or "call" in name or any(jaxprs_in_params(eqn.params)))


def _anew(before: list[Any], used: set[Any]) -> dict[Any, Any]:
    """What a step computes again from what it needs anyway: the values, and the code of each."""
    found: dict[Any, Any] = {}
    for eqn in before:
        inputs = [v for v in eqn.invars if isinstance(v, Var)]
        if eqn.primitive.name in _QUICK and all(v in used or v in found for v in inputs):
            found[eqn.outvars[0]] = eqn
    return found


def _sums(jaxpr: Any, eqns: list[Any], round_: list[Any], moving: set[Any]) -> list[tuple[int, Any, Any]]:
    """What comes round and only has a product of matrices added: its place, the sum and the product."""
    made = {v: eqn for eqn in eqns for v in eqn.outvars}
    uses: dict[Any, int] = {}
    for v in [*_inputs(jaxpr.eqns), *jaxpr.outvars]:
        if isinstance(v, Var):
            uses[v] = uses.get(v, 0) + 1
    found = []
    for place, (before, after) in enumerate(zip(round_, jaxpr.outvars)):
        add = made.get(after) if isinstance(after, Var) else None
        if add is None or add.primitive.name not in ("add", "add_any") or before not in add.invars:
            continue
        (part,) = [v for v in add.invars if v is not before] or [None]
        product = made.get(part) if isinstance(part, Var) else None
        if product is None or not _is_of_matrices(product, moving):
            continue
        if uses[before] == uses[after] == uses[part] == 1:
            found.append((place, add, product))
    return found


def _is_of_matrices(eqn: Any, moving: set[Any]) -> bool:
    if eqn.primitive.name != "dot_general" or eqn.params["dimension_numbers"][1] != ((), ()):
        return False
    return all(isinstance(v, Var) and v in moving for v in eqn.invars)


def _summed(product: Any, x: Any, y: Any) -> Any:
    """The sum over all steps of a product: one in which the steps are summed over, too."""
    (of_x, of_y), _ = product.params["dimension_numbers"]
    return jax.lax.dot_general(
        x,
        y,
        (((0, *[i + 1 for i in of_x]), (0, *[i + 1 for i in of_y])), ((), ())),
        precision=product.params["precision"],
        preferred_element_type=product.params["preferred_element_type"],
    )
