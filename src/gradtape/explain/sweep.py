"""The sweep once more, with somebody looking on at every step. The real one, in `tape`, has no time for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..custom import no_recording
from ..indexed_slices import IndexedSlices
from ..sweep import add, gather

Pull = Callable[[Any, Any, Any, Any, Any], Any]


def walk(gradients: dict[int, Any], records: list[Any], wanted: set[int], pull: Pull) -> dict[int, Any]:
    """Walk back over `records`, taking them apart; `pull(key, plan, into, kept, g)` takes each step."""
    found: dict[int, Any] = {}
    while records:
        key, plan, into, kept = records.pop()
        g = gradients.pop(key, None)
        if g is None:
            if type(key) is not tuple or (g := gather(key, gradients, wanted, found)) is None:
                continue
        else:
            if key in wanted:
                found[key] = g
            if type(g) is IndexedSlices:
                g = g.dense()
        for k, part in zip(into, pull(key, plan, into, kept, g), strict=True):
            if part is not None:
                gradients[k] = part if k not in gradients else add(gradients[k], part)
    gradients.update(found)
    return gradients


def probe(seeds: dict[int, Any], records: list[Any], look: Pull) -> dict[int, Any]:
    """Try a sweep that changes nothing: `look(key, plan, into, g, parts)` sees each step. Returns all gradients."""

    def pull(key: Any, plan: Any, into: Any, kept: Any, g: Any) -> Any:
        parts = plan.arrays(g, kept)
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
