"""Trying a sweep that changes nothing, and the size of a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.indexed_slices import IndexedSlices
from ..core.sweep import sweep_observed
from .evidence import Evidence


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


class Trial:
    """The result of a trial sweep over the tape's records: the norms of gradients, and where they were lost."""

    def __init__(self) -> None:
        self.norms: dict[int, float | None] = {}
        self.arrived: dict[tuple[int, int], float | None] = {}  # from an output's key to an input's
        self.names: dict[int, str] = {}

    def look(self, key: Any, plan: Any, into: Any, kept: Any, g: Any, parts: Any, seconds: float) -> None:
        """Note the norms of one step."""
        for output in key if type(key) is tuple else (key,):
            self.norms[output] = size_of(g)
            for k, part in zip(into, parts, strict=True):
                self.arrived[output, k] = size_of(part)


def try_sweep(evidence: Evidence, targets: list[Any]) -> Trial | None:
    """Try the sweep from the targets; None if the tape has no records."""
    if not evidence.records:
        return None
    trial = Trial()
    seeds = {
        t._key: np.ones(t._array.shape, t._array.dtype)
        for t in targets
        if getattr(t, "_key", 0) and dtypes.is_differentiable(t._array)
    }
    gradients = probe(seeds, evidence.records, trial.look)
    trial.norms.update({key: size_of(g) for key, g in gradients.items()})
    return trial
