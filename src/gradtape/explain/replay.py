"""Values of a tape's tensors that it did not keep, computed again from those it kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.plan import Plan
from .not_finite import tensors_in


def kept_values(records: list[Any], ends: list[Any]) -> dict[int, Any]:
    """The arrays that the records keep, and those of tensors and variables in `ends`, by key."""
    values = {t._key: t._array for t in ends if t._key}
    for _, _, _, kept in records:
        values.update({t._key: t._array for t in tensors_in(kept) if t._key})
    return values


def inputs_of(plan: Any, into: Any, kept: Any, values: dict[int, Any]) -> list[Any]:
    """The arrays an operation was computed on; None for those that cannot be had."""
    primitive = plan.primitive
    held = dict(zip(plan._parts.kept, kept, strict=True))
    keys = dict(zip(plan.watched, into, strict=True))
    if primitive.variadic:
        xs = held.get(primitive.inputs[0])
        if xs:
            return [x._array for x in xs]
        return [values.get(keys.get(i, 0)) for i in range(max(keys) + 1)] + [None]  # there may be more
    return [
        held[name]._array if name in held else values.get(keys.get(i, 0))
        for i, name in enumerate(primitive.inputs)
    ]


def compute_again(plan: Any, inputs: list[Any], kept: Any) -> Any:
    """The result of an operation for these inputs; None if an input or an attribute is not known."""
    held = dict(zip(plan._parts.kept, kept, strict=True))
    primitive = plan.primitive
    if any(x is None for x in inputs) or any(name not in held for name in primitive.attributes):
        return None
    with np.errstate(all="ignore"):
        return primitive.forward(*inputs, **{name: held[name] for name in primitive.attributes})


def replay(records: list[Any], values: dict[int, Any]) -> None:
    """Add to `values` what can be computed from it, in the order of the records."""
    for key, plan, into, kept in records:
        if type(key) is not tuple and isinstance(plan, Plan) and values.get(key) is None:
            values[key] = compute_again(plan, inputs_of(plan, into, kept, values), kept)
