"""`x[...]` on tensors and variables, and its transpose.

An index is a static attribute: lengths known, `...` in front, counted from the end, so that extra axes in front of a
gradient pass through.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine import xp
from ..errors import DTypeError, IndexOutOfBoundsError, InvalidArgumentError
from ..primitive import Primitive, apply, primitive
from ..tensor import Tensor, convert
from ..variable import Variable
from .elementwise import install


class Index:
    """A hashable NumPy index: `...`, then an integer, slice or None (a new axis) for every axis."""

    __slots__ = ("_hash", "items")

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items = items
        self._hash: int | None = None

    def _frozen(self) -> tuple[Any, ...]:
        return tuple((i.start, i.stop, i.step) if isinstance(i, slice) else i for i in self.items)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._frozen())
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self._frozen() == other._frozen()

    def __repr__(self) -> str:
        def show(item: Any) -> str:
            if isinstance(item, slice):
                ends = ["" if end is None else str(end) for end in (item.start, item.stop)]
                return ":".join(ends if item.step in (None, 1) else [*ends, str(item.step)])
            return "..." if item is Ellipsis else str(item)

        return f"[{', '.join(map(show, self.items))}]"


@primitive(linear=True)
def getitem(x, *, index):
    return x[index.items]


@primitive(linear=True)
def place(x, *, index, shape):
    """Zeros of a shape, with `x` at an index: the transpose of `getitem`."""
    taken = [i for i in index.items if i is not Ellipsis]
    rank = len(shape) - sum(isinstance(i, int) for i in taken) + sum(i is None for i in taken)
    front = x.shape[: x.ndim - rank]
    if xp(x) is not np:
        return xp(x).zeros(front + shape, x.dtype).at[index.items].set(x)
    out = np.zeros(front + shape, x.dtype)
    out[index.items] = x
    return out


getitem.rules(x=lambda g, x_shape, index: place(g, index=index, shape=x_shape))
place.rules(x=lambda g, index: getitem(g, index=index))


def _static(item: Any) -> Any:
    """A number as a Python int; None where it is no number."""
    if item is None or type(item) is int:
        return item
    try:
        return item.__index__()
    except (AttributeError, TypeError):
        raise DTypeError(
            f"a slice bound or index must be an integer, not {item!r} of type {type(item).__name__}"
        ) from None


def _is_array(item: Any) -> bool:
    if isinstance(item, (Tensor, Variable, np.ndarray)):
        return item.ndim > 0 or item.dtype == bool
    return isinstance(item, (list, bool, np.bool_))


def take(self: Any, key: Any) -> Any:
    """`x[key]`: integers, slices, `...`, `newaxis`, and at most one mask or tensor of indices."""
    x = self if type(self) is Tensor else self._read()
    items = key if type(key) is tuple else tuple(key) if _is_list_of_indices(key) else (key,)
    if any(_is_array(item) for item in items):
        return _take_array(x, items)
    index = _normalize(items, x._array.ndim)
    out = apply(getitem, (x,), {"index": index})
    if type(self) is Variable:
        out._origin = (self, index.items)
    return out


def _is_list_of_indices(key: Any) -> bool:
    """TensorFlow reads x[[0, 1]] as x[0, 1]; a list of booleans or of lists is a mask, or indices, here."""
    return type(key) is list and not any(isinstance(item, (bool, np.bool_, list)) for item in key)


def _normalize(items: tuple[Any, ...], ndim: int) -> Index:
    """The index with `...` in front and an entry for every axis."""
    used = sum(item is not None and item is not Ellipsis for item in items)
    ellipses = sum(item is Ellipsis for item in items)
    if used > ndim:
        raise IndexOutOfBoundsError(f"too many indices: {used} for a tensor of rank {ndim}")
    if ellipses > 1:
        raise InvalidArgumentError("an index may hold only one '...'")
    rest = [slice(None)] * (ndim - used)
    full: list[Any] = [...]
    for item in items if ellipses else (*items, ...):
        if item is Ellipsis:
            full += rest
        elif isinstance(item, slice):
            full.append(slice(_static(item.start), _static(item.stop), _step(item.step)))
        elif isinstance(item, (str, bytes, float, np.floating)):
            raise DTypeError(
                f"an index is an integer, a slice, '...', newaxis, a mask or a tensor of integers, not {item!r}"
            )
        else:
            full.append(_static(item))
    return Index(tuple(full))


def _step(step: Any) -> Any:
    step = _static(step)
    if step == 0:
        raise InvalidArgumentError("a slice's step must not be 0")
    return step


def _take_array(x: Tensor, items: tuple[Any, ...]) -> Any:
    """An index with a mask or a tensor of indices in it: the plain part first, then a gather along that axis."""
    arrays = [i for i, item in enumerate(items) if _is_array(item)]
    if len(arrays) > 1:
        raise InvalidArgumentError(
            "an index may hold only one mask or tensor of indices: use gather_nd for more"
        )
    (position,) = arrays
    chosen = convert(items[position])._array
    if chosen.dtype.kind not in "biu":
        raise DTypeError(f"a tensor used as an index must hold integers or booleans, not {chosen.dtype}")
    mask = chosen.dtype.kind == "b"
    if mask and not chosen.ndim:
        raise InvalidArgumentError(f"a mask must have at least one axis: {items[position]!r} has none")
    covered = chosen.ndim if mask else 1
    plain = (*items[:position], *[slice(None)] * covered, *items[position + 1 :])
    index = _normalize(plain, x._array.ndim)
    whole = all(item is Ellipsis or item == slice(None) for item in index.items)
    rest: Any = x if whole else apply(getitem, (x,), {"index": index})
    behind = index.items[1:][_axis_of(items, position, x._array.ndim, covered) + covered :]
    axis = -sum(not isinstance(item, int) for item in behind) - covered
    return _masked(rest, chosen, axis) if mask else _indexed(rest, chosen, axis)


def _axis_of(items: tuple[Any, ...], position: int, ndim: int, covered: int) -> int:
    """How many entries of the full index stand in front of the array."""
    before = items[:position]
    used = sum(item is not None and item is not Ellipsis for item in items) - 1 + covered
    return sum(ndim - used if item is Ellipsis else 1 for item in before)


def _indexed(x: Any, indices: Any, axis: int) -> Any:
    size = x._array.shape[axis]
    if indices.size and (indices.min() < -size or indices.max() >= size):
        raise IndexOutOfBoundsError(f"an index is out of bounds for an axis of length {size}")
    gather = Primitive.registry["gather"]
    return apply(gather, (x, convert(np.where(indices < 0, indices + size, indices))), {"axis": axis})


def _masked(x: Any, mask: Any, axis: int) -> Any:
    shape = x._array.shape
    start = len(shape) + axis
    if shape[start : start + mask.ndim] != mask.shape:
        raise InvalidArgumentError(
            f"a mask of shape {list(mask.shape)} does not fit the lengths {list(shape[start : start + mask.ndim])}"
        )
    flat = (*shape[:start], mask.size, *shape[start + mask.ndim :])
    x = apply(Primitive.registry["reshape"], (x,), {"shape": flat})
    where = convert(np.flatnonzero(mask))
    return apply(Primitive.registry["gather"], (x, where), {"axis": start - len(flat)})


install({"__getitem__": take})
