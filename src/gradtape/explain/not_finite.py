"""Steps that make a NaN or an infinity of finite values: how to see one, describe its inputs, and what helps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.indexed_slices import IndexedSlices
from ..core.tensor import Tensor
from ..ops.math.numerics import not_finite
from .origins import name_of
from .reasons import facts_of


def bad(value: Any) -> str:
    """Return "NaN" or "Inf" for an array or gradient that is not finite, else ""."""
    if value is None:
        return ""
    if type(value) is tuple:
        return next(filter(None, [bad(part) for part in value]), "")
    array = _array(value)
    return not_finite(array) if isinstance(array, (np.ndarray, np.generic)) else ""


def _array(g: Any) -> Any:
    if type(g) is tuple:
        return next(part for part in g if part is not None)
    return g.values._array if type(g) is IndexedSlices else g


def tensors_in(kept: Any) -> Iterator[Tensor]:
    """The tensors that a record keeps."""
    for value in kept:
        if type(value) is Tensor:
            yield value
        elif type(value) is tuple:
            yield from tensors_in(value)


@dataclass(frozen=True)
class BackwardStep:
    """A step of a sweep that made a NaN or infinity of a finite gradient."""

    key: int
    operation: str
    kind: str
    inputs: str
    hint: str
    untaken: bool  # the gradient that came was 0 where it happened
    time: int = 0


def backward_step(key: Any, plan: Any, kept: Any, g: Any, parts: Any) -> BackwardStep | None:
    """The step that took the finite gradient `g` to `parts`, if one of these is not finite."""
    kind = next(filter(None, [bad(part) for part in parts]), "")
    if not kind or bad(g):
        return None
    name = name_of(plan)
    part = next(p for p in parts if bad(p))
    held = [t._array for t in tensors_in(kept)]
    shown = ", ".join([f"gradient {describe(_array(g))}", *[describe(x) for x in held]])
    first = key[0] if type(key) is tuple else key
    return BackwardStep(first, name, kind, shown, facts_of(name).slope_cure, _came_with_zero(g, part))


def _came_with_zero(g: Any, part: Any) -> bool:
    """Return whether the gradient that came is 0 wherever `part` is not finite."""
    arriving, leaving = np.asarray(_array(g)), np.asarray(_array(part))
    if arriving.shape != leaving.shape:
        return False
    return bool((arriving[~np.isfinite(leaving)] == 0).all())


def describe(array: Any) -> str:
    """A small summary of an array: its values if they are few, else their range."""
    array = np.asarray(array)
    kind = f"{array.dtype}{list(array.shape)}"
    if array.size <= 6 or array.dtype.kind not in "fc":
        return f"{kind} {np.array2string(array, threshold=6, edgeitems=2, precision=4)}".replace("\n", "")
    flat = array.ravel()
    finite = flat[np.isfinite(flat)]
    parts = []
    if finite.size and array.dtype.kind == "f":
        parts.append(f"{finite.min():.4g} to {finite.max():.4g}")
    parts += [
        f"{count} {what}"
        for what, count in (
            ("zero", int((flat == 0).sum())),
            ("nan", int(np.isnan(flat).sum())),
            ("inf", int(np.isinf(flat).sum())),
        )
        if count
    ]
    return f"{kind} {', '.join(parts)}"


def forward_cure(operation: str, inputs: list[Any]) -> str:
    """The cure for finite inputs of an operation that give NaN or infinity; empty if there is none."""
    cure = facts_of(operation).cure
    return cure(*inputs) if callable(cure) else cure
