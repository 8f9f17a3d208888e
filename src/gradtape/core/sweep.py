"""The sweep: one walk backwards over a tape's records, with a dictionary from keys to the gradients so far."""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from time import perf_counter
from typing import Any

import numpy as np
from numpy import ndarray

from ..engine.reference_counts import UNSHARED_ITEM
from .deferred_products import Products, without_products
from .dtypes import HALF
from .indexed_slices import IndexedSlices
from .observers import observers
from .primitive import cast_, local, recast
from .structural import identity_
from .tensor import Tensor


def sweep_arrays(gradients: dict[int, Any], records: list[Any], wanted: set[int]) -> dict[int, Any]:
    """The sweep on arrays. Empties `records`, so that what a record kept is freed as soon as it was used."""
    take = records.pop
    pop = gradients.pop
    found: dict[int, Any] = {}
    for _ in range(len(records)):
        key, plan, into, kept = take()
        g = pop(key, None)
        if g is None:
            if type(key) is not tuple or (g := gather(key, gradients, wanted, found)) is None:
                continue
        else:
            if key in wanted:
                found[key] = g
            if type(g) is not ndarray and type(g) in _SPARSE_OR_DEFERRED:
                if type(g) is IndexedSlices and plan.primitive in _ROWWISE:
                    _pass_rows(gradients, into[0], g, plan.arrays(g._values, kept))
                    continue
                g = g.dense()
        for k, part in zip(into, plan.arrays(g, kept)):
            if part is None:
                continue
            if k in gradients:
                _add_to(gradients, k, part)
            else:
                gradients[k] = part
    gradients.update(found)
    for key in wanted:
        g = gradients.get(key)
        if type(g) is Products or type(g) is HalfSum:
            gradients[key] = g.dense()
    return gradients


def sweep_tensors(gradients: dict[int, Any], records: list[Any], wanted: set[int]) -> dict[int, Any]:
    """The sweep on tensors: the open tapes record every step."""
    return walk(gradients, records, wanted, lambda key, plan, into, kept, g: plan.tensors(g, kept))


def sweep_observed(
    gradients: dict[int, Any], records: list[Any], wanted: set[int], look: Callable[..., None] | None = None
) -> dict[int, Any]:
    """The sweep on arrays, which no tape hears: `look` (by default, the observers) is told of each step."""

    def pull(key: Any, plan: Any, into: Any, kept: Any, g: Any) -> Any:
        start = perf_counter()
        parts = without_products(plan.arrays(g, kept))
        (look or _tell_pull)(key, plan, into, kept, g, parts, perf_counter() - start)
        return parts

    arrays = {k: g._array if type(g) is Tensor else g for k, g in gradients.items()}
    here = local.here
    before, here.tapes = here.tapes, []
    try:
        with np.errstate(all="ignore"):
            return walk(arrays, records, wanted, pull)
    finally:
        here.tapes = before


def _tell_pull(*step: Any) -> None:
    for observer in observers:
        observer._on_pull(*step)


Pull = Callable[[Any, Any, Any, Any, Any], Any]


def walk(gradients: dict[int, Any], records: list[Any], wanted: set[int], pull: Pull) -> dict[int, Any]:
    """The same walk, with `pull(key, plan, into, kept, g)` for each step. Nothing is added in place."""
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
            if type(g) is IndexedSlices and plan.primitive in _ROWWISE:
                _pass_rows(gradients, into[0], g, pull(key, plan, into, kept, g._values))
                continue
            g = dense(g)
        for k, part in zip(into, pull(key, plan, into, kept, g), strict=True):
            if part is not None:
                gradients[k] = part if k not in gradients else add(gradients[k], part)
    gradients.update(found)
    return {key: g.dense() if type(g) is HalfSum else g for key, g in gradients.items()}


def _pass_rows(gradients: dict[int, Any], key: int, slices: IndexedSlices, parts: Any) -> None:
    """Add slices, whose values an operation's rule has made `parts` of, to the gradient under `key`."""
    part = slices.map_values(lambda _: next(iter(parts)))
    gradients[key] = add(gradients[key], part) if key in gradients else part


def gather(keys: tuple[int, ...], gradients: dict[int, Any], wanted: set[int], found: dict[int, Any]) -> Any:
    """The gradients of the outputs of an operation that has several; None if none has a gradient."""
    parts = []
    for key in keys:
        part = gradients.pop(key, None)
        if part is not None and key in wanted:
            found[key] = part
        parts.append(dense(part))
    for part in parts:
        if part is not None:
            return tuple(parts)
    return None


def _add_to(gradients: dict[int, Any], key: int, part: Any) -> None:
    """Add `part` to the gradient under `key`, in place if the array is not shared, and in C's order.

    A sum in another order, which later sums depend on to the bit, would have it only where it is made in place.
    """
    total = gradients[key]
    if type(total) is Products and type(part) is Products:
        total.add(part)
    elif (
        getrefcount(total) == UNSHARED_ITEM
        and type(total) is ndarray
        and total.base is None
        and type(part) is ndarray
        and total.itemsize > 2  # no half precision, which is added up in float32
        and total.flags.c_contiguous
    ):
        np.add(total, part, total)
    else:
        gradients[key] = add(total, part)


def add(total: Any, part: Any) -> Any:
    """The sum of two gradients of any kind."""
    if isinstance(total, _PLAIN) and isinstance(part, _PLAIN) and total.itemsize > 2:
        return total + part
    if type(total) is IndexedSlices:
        return total.plus(dense(part) if type(part) in (Products, HalfSum) else part)
    if type(total) is HalfSum:
        return total.plus(dense(part))
    total, part = dense(total), dense(part)
    half = (total._array if type(total) is Tensor else total).dtype
    return HalfSum(total, half).plus(part) if half.char in HALF else total + part


def dense(g: Any) -> Any:
    """A sparse or deferred gradient as an array; others as they are."""
    return g.dense() if type(g) in _SPARSE_OR_DEFERRED else g


class HalfSum:
    """A sum of gradients in half precision, arrays or tensors, accumulated in float32.

    In their own dtype later terms would be lost, as 256 + 1 is 256 in bfloat16.
    """

    __slots__ = ("_half", "_total")

    def __init__(self, first: Any, half: Any) -> None:
        self._half = half
        self._total = recast(first, half, np.float32)

    def plus(self, part: Any) -> HalfSum:
        """Add another gradient to this sum, and return it."""
        self._total = self._total + recast(part, self._half, np.float32)
        return self

    def dense(self) -> Any:
        """The sum, rounded."""
        return recast(self._total, np.float32, self._half)


_PLAIN: Any = (ndarray, np.generic)  # NumPy makes scalars of arrays without axes
# Operations whose rules take rows by themselves: slices stay slices through them.
_ROWWISE = frozenset((identity_, cast_))
_SPARSE_OR_DEFERRED = frozenset((IndexedSlices, Products, HalfSum))


def leading_from(keys: set[int], records: list[Any]) -> list[Any]:
    """The records through which a gradient can reach one of `keys`, each pulling back only to what leads there."""
    needed = []
    for key, plan, into, kept in records:
        if not any(k in keys for k in into):
            continue
        if type(key) is tuple:
            keys.update(key)
        else:
            keys.add(key)
        if all(k in keys for k in into):
            needed.append((key, plan, into, kept))
        else:
            positions = tuple(i for i, k in zip(plan.watched, into, strict=True) if k in keys)
            needed.append((key, plan.only(positions), tuple(k for k in into if k in keys), kept))
    return needed
