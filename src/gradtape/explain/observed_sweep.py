"""The sweep with somebody looking on at every step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.deferred_products import without_products
from ..core.indexed_slices import IndexedSlices
from ..core.primitive import no_recording
from ..core.sweep import Pull, walk


def probe(seeds: dict[int, Any], records: list[Any], look: Pull) -> dict[int, Any]:
    """Try a sweep that changes nothing: `look(key, plan, into, g, parts)` sees each step. Returns all gradients."""

    def pull(key: Any, plan: Any, into: Any, kept: Any, g: Any) -> Any:
        parts = without_products(plan.arrays(g, kept))
        look(key, plan, into, g, parts)
        return parts

    with no_recording(), np.errstate(all="ignore"):
        keys = {k for key, *_ in records for k in (key if type(key) is tuple else (key,))}
        return walk(dict(seeds), list(records), keys, pull)


def size_of(g: Any) -> float | None:
    """The norm of a gradient; None for none."""
    if g is None:
        return None
    if type(g) is tuple:
        return float(np.sqrt(sum((size_of(part) or 0.0) ** 2 for part in g)))
    array = np.asarray(g.values if type(g) is IndexedSlices else g)
    return float(np.linalg.norm(array.astype(complex if array.dtype.kind == "c" else float).ravel()))
