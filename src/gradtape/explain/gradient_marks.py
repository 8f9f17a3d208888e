"""Marks on the steps of a sweep: where gradients begin to be NaN or infinite, to explode, or to vanish."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .not_finite import backward_step
from .observed_sweep import size_of
from .origins import name_of
from .reasons import facts_of

_FAR = 1e4  # the typical element is so many times as large as the target's, or as small


class Marks:
    """Looks at each step, and marks the one that leaves the range of what is usual.

    Args:
        seeds: the gradients of the targets, by key.
    """

    def __init__(self, seeds: dict[int, Any]) -> None:
        sizes = [_typical(g) for g in seeds.values() if g is not None]
        self._usual = max(sizes, default=0.0) or 1.0

    def look(self, key: Any, plan: Any, kept: Any, g: Any, parts: Any) -> dict[str, Any] | None:
        """The mark of the step that took `g` to `parts`; None for most."""
        step = backward_step(key, plan, kept, g, parts)
        if step is not None:
            return {
                "kind": step.kind.lower(),
                "text": f"the gradient becomes {step.kind} here",
                "hint": step.hint,
            }
        arriving = _typical(g)
        leaving = [_typical(part) for part in parts if part is not None]
        if not leaving or not math.isfinite(arriving) or not math.isfinite(max(leaving)):
            return None
        largest, usual = max(leaving), self._usual
        if largest > _FAR * usual >= arriving:
            return {
                "kind": "exploding",
                "text": f"the gradient explodes: {_ratio(largest, usual)}",
                "hint": "",
            }
        if largest == 0 < arriving:
            hint = facts_of(name_of(plan)).flat
            return {"kind": "vanishing", "text": "the gradient is 0 from here on", "hint": hint}
        if 0 < largest < usual / _FAR <= arriving:
            return {
                "kind": "vanishing",
                "text": f"the gradient vanishes: {_ratio(largest, usual)}",
                "hint": "",
            }
        return None


def _ratio(size: float, usual: float) -> str:
    return f"elements of about {size:.2g}, where those of the target's are {usual:.2g}"


def _typical(g: Any) -> float:
    """The root of the mean square of a gradient's elements."""
    norm = size_of(g)
    if norm is None:
        return 0.0
    count = sum(np.size(part) for part in g if part is not None) if type(g) is tuple else _count(g)
    return norm / math.sqrt(count) if count else 0.0


def _count(g: Any) -> int:
    return int(np.size(getattr(g, "_values", g)))
