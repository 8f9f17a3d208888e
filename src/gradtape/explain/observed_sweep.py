"""Trying a sweep that changes nothing, and the size of a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.indexed_slices import IndexedSlices
from ..core.sweep import sweep_observed


def probe(seeds: dict[int, Any], records: list[Any], look: Callable[..., None]) -> dict[int, Any]:
    """Try a sweep that changes nothing: `look` sees each step, as `Observer._on_pull` does. Returns all gradients."""
    keys = {k for key, *_ in records for k in (key if type(key) is tuple else (key,))}
    return sweep_observed(dict(seeds), list(records), keys, look)


def size_of(g: Any) -> float | None:
    """The norm of a gradient; None for none."""
    if g is None:
        return None
    if type(g) is tuple:
        return float(np.sqrt(sum((size_of(part) or 0.0) ** 2 for part in g)))
    array = np.asarray(g.values if type(g) is IndexedSlices else g)
    return float(np.linalg.norm(array.astype(complex if array.dtype.kind == "c" else float).ravel()))
