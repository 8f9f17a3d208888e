"""`x[...]` on tensors and variables, and its transpose.

An index is a static attribute: lengths known, `...` in front, counted from the end, so that extra axes in front of a
gradient pass through.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...core.errors import DTypeError, IndexOutOfBoundsError, InvalidArgumentError, TruncatedError
from ...core.primitive import apply, apply1, primitive
from ...core.ranges import bounds, distance
from ...core.slicing import Index, gather_, getitem
from ...core.structural import reshape_
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.trace_errors import where
from ...core.variable import Variable
from ...engine.arrays import is_traced, xp
from ...engine.host import check
from ..known import is_computed, shape_known
from ..math.python_operators import install


@primitive(linear=True, mixed=True)
def block(x, start, *, sizes):
    """The block of these sizes at `start`, an index for each of the last axes; moved inside where it reaches out."""
    return x[block_at(start, sizes, x.shape)]


@block.compiled
def _(x, start, *, sizes):
    from jax import lax

    front = x.shape[: x.ndim - len(sizes)]
    return lax.dynamic_slice(x, starts(start, len(front)), front + sizes, allow_negative_indices=False)


@primitive(linear=True, mixed=True)
def place_block(x, start, *, shape):
    """Zeros of a shape with the block `x` at `start`: the transpose of `block`."""
    front = x.shape[: x.ndim - len(shape)]
    out = np.zeros(front + shape, x.dtype)
    out[block_at(start, x.shape[len(front) :], shape)] = x
    return out


@place_block.compiled
def _(x, start, *, shape):
    from jax import lax, numpy

    front = x.shape[: x.ndim - len(shape)]
    zeros = numpy.zeros(front + shape, x.dtype)
    return lax.dynamic_update_slice(zeros, x, starts(start, len(front)), allow_negative_indices=False)


def starts(start: Any, extra: int) -> list[Any]:
    """The start of a block along each axis: 0 along the `extra` axes in front."""
    inside = (
        np.maximum(start, 0) if type(start) is np.ndarray else start
    )  # of known ones, JAX refuses negative ones
    return [0] * extra + [inside[i] for i in range(len(inside))]


def block_at(start: Any, sizes: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    inside = np.clip(start, 0, np.subtract(shape[len(shape) - len(sizes) :], sizes)).tolist()
    return (..., *[slice(s, s + n) for s, n in zip(inside, sizes, strict=True)])


block.rules(x=lambda g, start, x_shape: place_block(g, start, shape=x_shape))
place_block.rules(x=lambda g, start, x_shape: block(g, start, sizes=x_shape))


def _static(item: Any) -> Any:
    """An index or slice bound as a Python int; None stays None."""
    if item is None or type(item) is int:
        return item
    shape_known(
        "x[first:last]",
        "first, last and step",
        getattr(item, "_array", None),
        "take a block of known size with slice(x, begin, size), or elements with gather",
    )
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
    """`x[key]` of a tensor or variable.

    Args:
        key: integers, slices, `...`, `newaxis`, and at most one mask or tensor of indices.

    Raises:
        IndexOutOfBoundsError: if there are more indices than axes, or one is outside its axis.
        DTypeError: if an index is neither an integer nor a boolean.
        InvalidArgumentError: if a step is 0, a mask does not fit, or there are two masks, tensors or `...`.

    >>> take(convert([1, 2, 3]), slice(1, None)).numpy()
    array([2, 3], dtype=int32)
    """
    x = self if type(self) is Tensor else self._read()
    if type(key) is int:
        index = _row(key, x._array.ndim)
    elif type(key) is tuple and len(key) == 2 and type(key[1]) is int and _is_whole(key[0]):
        index = _column(key[1], x._array.ndim)
    else:
        items = key if type(key) is tuple else tuple(key) if _is_list_of_indices(key) else (key,)
        for position, item in enumerate(items):
            kind = type(item)
            if kind is slice:
                start, stop = item.start, item.stop
                if type(start) in _KNOWN and type(stop) in _KNOWN:
                    continue
                if is_computed(start) or is_computed(stop):
                    return _take_block(x, items, position)
                continue
            if kind in _PLAIN:
                continue
            if _is_array(item):
                return _take_array(x, items)
            if is_computed(item):
                part = _take_traced(x, items, position)
                if isinstance(self, Variable) and not any(map(_is_array, items)):
                    part._origin = (self, tuple([getattr(item, "_array", item) for item in items]))
                return part
        index = _normalize(items, x._array.ndim)
    out: Any = apply1(getitem, x, {"index": index})
    if isinstance(self, Variable):
        out._origin = (self, index.items)
    return out


_WHOLE = slice(None)
_KNOWN = {int, type(None)}
_PLAIN = {int, type(None), type(Ellipsis)}


@functools.lru_cache(maxsize=1000)
def _row(number: int, ndim: int) -> Index:
    return _normalize((number,), ndim)


@functools.lru_cache(maxsize=1000)
def _column(number: int, ndim: int) -> Index:
    """The index of x[:, number]: made once, it is found equal at once where indices are compared."""
    return _normalize((_WHOLE, number), ndim)


def _is_whole(item: Any) -> bool:
    return type(item) is slice and item.start is None and item.stop is None and item.step is None


def _is_list_of_indices(key: Any) -> bool:
    """Return whether a list stands for a tuple, as x[[0, 1]] for x[0, 1]; one of booleans or lists is an array."""
    return type(key) is list and not any(isinstance(item, (bool, np.bool_, list)) for item in key)


def _normalize(items: tuple[Any, ...], ndim: int) -> Index:
    """The index with `...` in front and an entry for every axis."""
    ellipses = used = 0
    for item in items:
        if item is Ellipsis:
            ellipses += 1
        elif item is not None:
            used += 1
    if used > ndim:
        raise IndexOutOfBoundsError(f"too many indices: {used} for a tensor of rank {ndim}")
    if ellipses > 1:
        raise InvalidArgumentError("an index may hold only one '...'")
    rest = [_WHOLE] * (ndim - used)
    full: list[Any] = [...]
    for item in items if ellipses else (*items, ...):
        if type(item) is int:
            full.append(item)
        elif item is Ellipsis:
            full += rest
        elif type(item) is slice:
            full.append(_static_slice(item))
        elif isinstance(item, (str, bytes, float, np.floating)):
            raise DTypeError(
                f"an index is an integer, a slice, '...', newaxis, a mask or a tensor of integers, not {item!r}"
            )
        else:
            full.append(_static(item))
    return Index(tuple(full))


def _static_slice(item: slice) -> slice:
    """A slice with Python ints and None as its bounds."""
    start, stop, step = item.start, item.stop, item.step
    if step is None and type(start) in _KNOWN and type(stop) in _KNOWN:
        return item
    return slice(_static(start), _static(stop), _step(step))


def _step(step: Any) -> Any:
    step = _static(step)
    if step == 0:
        raise InvalidArgumentError("a slice's step must not be 0")
    return step


def _take_array(x: Tensor, items: tuple[Any, ...]) -> Any:
    """Take by an index that holds a mask or a tensor: its plain part first, then a gather along the array's axis."""
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
    after = index.items[1:][_entries_before(items, position, x._array.ndim, covered) + covered :]
    axis = -sum(not isinstance(item, int) for item in after) - covered
    return masked(rest, chosen, axis) if mask else _indexed(rest, chosen, axis)


def _take_traced(x: Tensor, items: tuple[Any, ...], position: int) -> Any:
    """Take by an index that a `@function` computes: a block of length 1 there, then the rest of the index."""
    number = convert(items[position])._array
    if number.dtype.kind not in "iu":
        raise DTypeError(f"an index must be an integer, not of dtype {number.dtype}")
    axis = _axis_of(x, items, position)
    n = x._array.shape[axis]
    at = xp(number).where(number < 0, number + n, number)
    start = xp(number).zeros(x.ndim, number.dtype).at[axis].set(at)
    sizes = tuple([1 if i == axis else size for i, size in enumerate(x._array.shape)])
    one = apply(block, (x, wrap(start)), {"sizes": sizes})
    return take(one, (*items[:position], 0, *items[position + 1 :]))


def _take_block(x: Tensor, items: tuple[Any, ...], position: int) -> Any:
    """Take by a slice whose bounds a `@function` computes: a block, if its length does not depend on values."""
    item, axis = items[position], _axis_of(x, items, position)
    n = x._array.shape[axis]
    first = convert(0 if item.start is None else item.start)._array
    last = convert(n if item.stop is None else item.stop)._array
    length = distance(first, last)
    if (
        length is None
        or length < 0
        or item.step not in (None, 1)
        or {first.dtype.kind, last.dtype.kind} - {*"iu"}
    ):
        _static(item.start), _static(item.stop), _static(item.step)  # raises: one of them is traced
    assert length is not None
    ends = bounds(first)
    if ends is None:
        line = where()
        check(
            (first >= 0) & (first <= n - length),
            lambda at: TruncatedError(
                f"x[first:last] ({line}): the elements {int(at)} to {int(at) + length} of an axis of length {n} are "
                f"fewer than {length}, and a compiled slice always has the same length"
            ),
            first,
        )
    elif ends[0] < 0 or ends[1] + length > n:
        shape_known(
            "x[first:last]", "first and last, as it reaches beyond the end", first, "take blocks that fit"
        )
    start = xp(first).zeros(x.ndim, first.dtype).at[axis].set(first)
    sizes = tuple([length if i == axis else size for i, size in enumerate(x._array.shape)])
    part = apply(block, (x, wrap(start)), {"sizes": sizes})
    return take(part, (*items[:position], slice(None), *items[position + 1 :]))


def _axis_of(x: Tensor, items: tuple[Any, ...], position: int) -> int:
    """The axis that an item of an index is for."""
    if Ellipsis in items[:position]:
        return x.ndim - sum(item is not None for item in items[position:])
    return sum(item is not None for item in items[:position])


def _entries_before(items: tuple[Any, ...], position: int, ndim: int, covered: int) -> int:
    """The number of entries of the full index in front of the array at `position`, which covers so many axes."""
    before = items[:position]
    used = sum(item is not None and item is not Ellipsis for item in items) - 1 + covered
    return sum(ndim - used if item is Ellipsis else 1 for item in before)


def _indexed(x: Any, indices: Any, axis: int) -> Any:
    size = x._array.shape[axis]
    if indices.size and not is_traced(indices) and (indices.min() < -size or indices.max() >= size):
        raise IndexOutOfBoundsError(f"an index is out of bounds for an axis of length {size}")
    return apply(
        gather_, (x, convert(xp(indices).where(indices < 0, indices + size, indices))), {"axis": axis}
    )


def masked(x: Any, mask: Any, axis: int) -> Any:
    """The slices of `x` where a mask over the axes from `axis` on is true; `axis` counts from the end."""
    shape = x._array.shape
    start = len(shape) + axis
    if shape[start : start + mask.ndim] != mask.shape:
        raise InvalidArgumentError(
            f"a mask of shape {list(mask.shape)} does not fit the lengths {list(shape[start : start + mask.ndim])}"
        )
    flat = (*shape[:start], mask.size, *shape[start + mask.ndim :])
    if flat != shape:
        x = apply1(reshape_, x, {"shape": flat})
    shape_known("x[mask]", "the mask", mask, "use where(mask, x, 0), which keeps the shape")
    where = wrap(np.flatnonzero(mask))
    return apply(gather_, (x, where), {"axis": start - len(flat)})


install({"__getitem__": take})
