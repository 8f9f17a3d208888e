"""Rows and values chosen from ragged tensors: indexing, `gather`, `gather_nd`, masks, reversing and splitting."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.errors import IndexOutOfBoundsError, InvalidArgumentError
from ...core.slicing import as_indices
from ...core.tensor import wrap
from ...core.types import Axis
from ..array.arrange import boolean_mask as boolean_mask_of_dense
from ..array.arrange import reverse
from ..array.movement import gather, reshape, split
from ..array.scatter import dynamic_partition, gather_nd
from ..dispatch import extend
from ..known import static_number, static_shape
from .ragged_constructors import count_of
from .ragged_tensor import RaggedTensor, axis_of, convert_ragged, levels, ragged
from .row_partition import (
    check_same,
    decided,
    lengths_of,
    ranges,
    rows_of_values,
    splits_of_lengths,
    uniform_splits,
)

# ---------------------------------------------------------------------------------------------------------------------
# Rows


def rows_at(x: Any, indices: Any) -> Any:
    """The rows of a tensor at a vector of indices, an array of known values for ragged ones."""
    if not isinstance(x, RaggedTensor):
        return gather(x, wrap(indices))
    indices = decided("gather", indices)
    _check_bounds("gather", indices, count_of(x))
    splits = decided("gather", x._splits)
    lengths = lengths_of(splits)[indices]
    inner = rows_at(x._values, ranges("gather", splits[:-1][indices], lengths))
    return ragged(inner, splits_of_lengths(lengths), x._width)


def _check_bounds(operation: str, indices: Any, count: int) -> None:
    bad = (indices < 0) | (indices >= count)
    if bad.any():
        raise InvalidArgumentError(
            f"{operation}: the index {int(indices[bad][0])} is out of bounds: there are {count} rows"
        )


@extend(gather, RaggedTensor)
def _gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: Any = 0,
    name: str | None = None,
) -> Any:
    x = convert_ragged(params)
    at = indices if isinstance(indices, RaggedTensor) else as_indices("gather", indices)
    rank = len(x.shape)
    batch = static_number("gather: batch_dims", batch_dims)
    batch += len(at.shape) if batch < 0 else 0
    a = batch if axis is None else axis_of("gather", axis, rank)
    if not 0 <= batch <= min(len(at.shape), a):
        raise InvalidArgumentError(
            f"gather: batch_dims={batch_dims} does not fit axis {a} and indices of shape {at.shape}"
        )
    found = _gathered(x, at, a, batch)
    if isinstance(at, RaggedTensor) and a and not batch:
        return found  # in which each row has as many rows as there are of indices
    return _of_any_lengths(found)


def _of_any_lengths(x: Any) -> Any:
    """A ragged tensor whose shape leaves the lengths of rows open, as most results of TensorFlow's gather do."""
    return ragged(_of_any_lengths(x._values), x._splits) if isinstance(x, RaggedTensor) else x


def _gathered(x: Any, at: Any, axis: int, batch: int) -> Any:
    if not isinstance(x, RaggedTensor) and not isinstance(at, RaggedTensor):
        return gather(x, at, axis=axis, batch_dims=batch)
    if batch:
        uniform = None if isinstance(at, RaggedTensor) else at._array.shape
        x, at = (_as_rows(part) for part in (x, at))
        if count_of(x) != count_of(at):
            raise ValueError(
                f"gather: the first {batch} lengths of params of shape {x.shape} and indices of shape {at.shape} "
                "must agree"
            )
        if batch > 1:
            check_same("gather", x._splits, at._splits)
            return at.with_values(_gathered(x._values, at._values, axis - 1, batch - 1))
        if axis == 1:
            out = _gathered_in_rows(x, at)
            if uniform is None or isinstance(x._values, RaggedTensor):
                return out
            return reshape(out.flat_values, (*uniform, *x._values._array.shape[1:]))
        rows = rows_of_values(
            x._splits, count_of(x._values)
        )  # of each value, which meets the indices of its row
        return x.with_values(_gathered(x._values, rows_at(at, rows), axis - 1, 1))
    if axis == 0:
        return _gathered_rows(x, at)
    if axis > 1:
        x = _as_rows(x)
        return x.with_values(_gathered(x._values, at, axis - 1, 0))
    return _gathered(x, _repeated(at, count_of(x)), 1, 1)


def _repeated(at: Any, count: int) -> Any:
    """The same indices `count` times, stacked."""
    if not isinstance(at, RaggedTensor):
        return wrap(np.broadcast_to(at._array, (count, *at._array.shape)))
    rows = count_of(at)
    copies = rows_at(at, np.tile(np.arange(rows), count))
    return ragged(copies, uniform_splits(count, rows, at._splits.dtype), rows)


def _as_rows(x: Any) -> Any:
    """A dense tensor as rows of one length; a ragged tensor as it is."""
    return x if isinstance(x, RaggedTensor) else RaggedTensor.from_tensor(x)


def _gathered_rows(x: Any, at: Any) -> Any:
    if isinstance(at, RaggedTensor):
        return at.with_values(_gathered_rows(x, at._values))
    if not isinstance(x, RaggedTensor):
        return gather(x, at)
    indices = at._array
    if indices.ndim == 1:
        return rows_at(x, indices)
    if not indices.ndim:
        return rows_at(x, indices.reshape(1))._values
    result = rows_at(x, indices.reshape(-1))
    for axis in range(indices.ndim - 1, 0, -1):
        rows = math.prod(indices.shape[:axis])
        result = ragged(result, uniform_splits(rows, indices.shape[axis], x._splits.dtype))
    return result


def _gathered_in_rows(x: RaggedTensor, at: RaggedTensor) -> Any:
    """The values of each row at the indices that the same row of `at` has."""
    splits = x._splits
    inner = at._values
    rows = rows_of_values(at._splits, count_of(inner))
    if isinstance(inner, RaggedTensor):
        for level in levels(inner):
            rows = rows[rows_of_values(level._splits, count_of(level._values))]
    flat = inner.flat_values if isinstance(inner, RaggedTensor) else inner
    own = rows.reshape(-1, *[1] * (flat.ndim - 1))
    _check_in_rows(flat._array, lengths_of(splits)[own])
    at_flat = wrap(splits[:-1][own] + flat._array)
    placed = inner.with_flat_values(at_flat) if isinstance(inner, RaggedTensor) else at_flat
    return at.with_values(_gathered_rows(x._values, placed))


def _check_in_rows(indices: Any, lengths: Any) -> None:
    bad = decided("gather", (indices < 0) | (indices >= lengths))
    if bad.any():
        raise InvalidArgumentError("gather: an index is out of bounds of its row")


@extend(gather_nd, RaggedTensor)
def _gather_nd(params: Any, indices: Any, batch_dims: Any = 0, name: str | None = None) -> Any:
    if static_number("gather_nd: batch_dims", batch_dims):
        raise ValueError("gather_nd: batch_dims must be 0 for ragged tensors")
    x = convert_ragged(params)
    if isinstance(indices, RaggedTensor):
        if isinstance(indices._values, RaggedTensor) or indices._values.ndim > 1:
            return indices.with_values(_gather_nd(x, indices._values))
        raise ValueError("gather_nd: the last axis of indices must not be ragged")
    at = as_indices("gather_nd", indices)
    if not isinstance(x, RaggedTensor):
        return gather_nd(x, at)
    depth, front = at._array.shape[-1], at._array.shape[:-1]
    rows = decided("gather_nd", at._array.reshape(-1, depth))
    if not depth:
        raise ValueError("gather_nd: the last axis of indices must not be empty for ragged tensors")
    _check_bounds("gather_nd", rows[:, 0], count_of(x))
    flat, used = rows[:, 0], 1
    values: Any = x
    while used < depth and isinstance(values, RaggedTensor):
        if ((rows[:, used] < 0) | (rows[:, used] >= lengths_of(values._splits)[flat])).any():
            raise InvalidArgumentError("gather_nd: an index is out of bounds of its row")
        flat = values._splits[:-1][flat] + rows[:, used]
        values, used = values._values, used + 1
    if used < depth:
        return gather_nd(values, np.concatenate([flat[:, None], rows[:, used:]], 1).reshape(*front, -1))
    return _gathered_rows(values, wrap(flat.reshape(front)))


# ---------------------------------------------------------------------------------------------------------------------
# Indexing


def _getitem(self: RaggedTensor, key: Any) -> Any:
    """The part of the tensor that Python's indices name.

    An integer is for the first axis, or for axes of one length; slices, `tf.newaxis` and `...` are for any.
    """
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    if sum(k is Ellipsis for k in keys) > 1:
        raise ValueError("only one ... may be in an index")
    return _indexed(self, [_plain(k) for k in keys])


def _plain(key: Any) -> Any:
    """A key as an integer, a slice of integers, None or `...`."""
    if key is None or key is Ellipsis:
        return key
    if isinstance(key, slice):
        return slice(
            *[None if n is None else static_number("an index", n) for n in (key.start, key.stop, key.step)]
        )
    if getattr(key, "ndim", 0) or isinstance(key, (float, bool, str)):
        raise TypeError(
            f"a ragged tensor is indexed by integers, slices, tf.newaxis and ..., not {key!r}: see tf.gather"
        )
    return static_number("an index", key)


def _indexed(x: Any, keys: list[Any]) -> Any:
    if not keys:
        return x
    if not isinstance(x, RaggedTensor):
        return x[tuple(keys)]
    key, rest = keys[0], keys[1:]
    if key is Ellipsis:
        missing = len(x.shape) - sum(k is not None for k in rest)
        return _indexed(x, [slice(None)] * missing + rest)
    if key is None:
        inner = _indexed(x, rest)
        return one_row(inner)
    if isinstance(key, int):
        return _indexed(_row(x, key), rest)
    chosen = x if key == slice(None) else rows_at(x, np.arange(count_of(x))[key])
    return chosen if not rest else _indexed_inside(chosen, rest)


def _row(x: RaggedTensor, index: int) -> Any:
    count = count_of(x)
    if not -count <= index < count:
        raise IndexOutOfBoundsError(f"the row {index} is out of bounds: there are {count}")
    start, end = (int(n) for n in decided("indexing a ragged tensor", x._splits)[index % count :][:2])
    return x._values[start:end]


def one_row(x: Any) -> Any:
    """A new first axis of length 1."""
    if not isinstance(x, RaggedTensor):
        return reshape(x, (1, *x._array.shape))
    return ragged(x, uniform_splits(1, count_of(x), x._splits.dtype), count_of(x))


def _indexed_inside(x: RaggedTensor, keys: list[Any]) -> Any:
    """`keys` for the axes after the first, in all rows."""
    key, rest = keys[0], keys[1:]
    if key is Ellipsis:
        missing = len(x.shape) - 1 - sum(k is not None for k in rest)
        return _indexed_inside(x, [slice(None)] * missing + rest) if missing or rest else x
    if key is None:
        if rest:
            x = _indexed_inside(x, rest)
        if not isinstance(x, RaggedTensor):
            return reshape(x, (x._array.shape[0], 1, *x._array.shape[1:]))
        return ragged(x, uniform_splits(count_of(x), 1, x._splits.dtype), 1)
    if isinstance(key, int):
        if x._width is None:
            raise ValueError(
                "an integer cannot be an index along a ragged axis, whose rows may be too short: use a slice, or "
                "to_tensor() first"
            )
        if not -x._width <= key < x._width:
            raise IndexOutOfBoundsError(f"the index {key} is out of bounds of rows of length {x._width}")
        places = np.asarray(decided("indexing a ragged tensor", x._splits))[:-1] + key % x._width
        inner = rows_at(x._values, places)
        return inner if not rest else _indexed_inside(_as_rows(inner), rest)
    sliced = x if key == slice(None) else _sliced(x, key)
    if not rest:
        return sliced
    inner = sliced._values
    if isinstance(inner, RaggedTensor):
        return sliced.with_values(_indexed_inside(inner, rest))
    return sliced.with_values(inner[(slice(None), *rest)])


def _sliced(x: RaggedTensor, part: slice) -> RaggedTensor:
    """A slice of each row."""
    step = 1 if part.step is None else part.step
    if step == 0:
        raise ValueError("the step of a slice must not be 0")
    splits = decided("slicing a ragged tensor", x._splits)
    lengths = lengths_of(splits)
    low, high = (0, lengths) if step > 0 else (-1, lengths - 1)
    start = _end(part.start, 0 if step > 0 else lengths - 1, lengths, low, high)
    stop = _end(part.stop, lengths if step > 0 else np.full_like(lengths, -1), lengths, low, high)
    counts = np.maximum((stop - start + (step - (1 if step > 0 else -1))) // step, 0)
    counts = np.broadcast_to(counts, lengths.shape).astype(splits.dtype)
    new = splits_of_lengths(counts)
    rows = rows_of_values(new, int(new[-1]))
    columns = np.arange(int(new[-1])) - new[:-1][rows]
    start = np.broadcast_to(start, lengths.shape)
    places = splits[:-1][rows] + start[rows] + columns * step
    width = None if x._width is None or not len(counts) else int(counts[0])
    return ragged(rows_at(x._values, places), new, width)


def _end(given: int | None, default: Any, lengths: Any, low: Any, high: Any) -> Any:
    if given is None:
        return default
    return np.clip(np.where(given < 0, lengths + given, given), low, high)


RaggedTensor.__getitem__ = _getitem  # type: ignore[method-assign]
_getitem.__name__ = "__getitem__"

# ---------------------------------------------------------------------------------------------------------------------
# Masks, and parts


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The values at which a mask is true, in the rows that they come from.

    Args:
        data: a tensor or ragged tensor.
        mask: booleans, whose shape is that of the first axes of `data`.

    Raises:
        ValueError: if the shapes do not fit.

    >>> boolean_mask([[1, 2, 3], [4, 5, 6]], [[True, False, True], [False, False, True]])
    <tf.RaggedTensor [[1, 3], [6]]>
    """
    x = convert_ragged(data)
    chosen = convert_ragged(mask)
    if not chosen.dtype.is_bool:
        raise TypeError(f"ragged.boolean_mask: a mask is made of booleans, not {chosen.dtype.name}")
    rank = len(chosen.shape)
    if not 0 < rank <= len(x.shape):
        raise ValueError(
            f"ragged.boolean_mask: a mask of shape {chosen.shape} is not for data of shape {x.shape}"
        )
    return _masked(x, chosen)


def _masked(x: Any, mask: Any) -> Any:
    if isinstance(mask, RaggedTensor) or mask.ndim > 1:
        both = mask, x = _as_rows(mask), _as_rows(x)
        check_same("ragged.boolean_mask", *[part._splits for part in both])
        if not isinstance(mask._values, RaggedTensor) and mask._values.ndim == 1:
            chosen = decided("ragged.boolean_mask", mask._values._array).astype(mask._splits.dtype)
            counts = splits_of_lengths(chosen)[decided("ragged.boolean_mask", mask._splits)]
            return ragged(_masked(x._values, mask._values), counts)
        return x.with_values(_masked(x._values, mask._values))
    if not isinstance(x, RaggedTensor):
        return boolean_mask_of_dense(x, mask)
    chosen = decided("ragged.boolean_mask", mask._array)
    if len(chosen) != count_of(x):
        raise ValueError(f"ragged.boolean_mask: a mask of length {len(chosen)} is not for {count_of(x)} rows")
    return rows_at(x, np.flatnonzero(chosen))


@extend(reverse, RaggedTensor)
def _reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    axes = {axis_of("reverse", a, len(tensor.shape)) for a in static_shape("reverse", axis)}
    backwards = slice(None, None, -1)
    return tensor[tuple(backwards if a in axes else slice(None) for a in range(len(tensor.shape)))]


@extend(split, RaggedTensor)
def _split(
    value: Any, num_or_size_splits: Any, axis: Axis = 0, num: int | None = None, name: str | None = None
) -> list[Any]:
    a = axis_of("split", axis, len(value.shape))
    length = value.shape[a]
    if length is None:
        raise ValueError(f"split: axis {a} is ragged: only an axis of one length can be split")
    if isinstance(num_or_size_splits, int) or getattr(num_or_size_splits, "ndim", 1) == 0:
        count = static_number("split: num_or_size_splits", num_or_size_splits)
        if count < 1 or length % count:
            raise InvalidArgumentError(
                f"split: an axis of length {length} does not split into {count} equal parts"
            )
        sizes = [length // count] * count
    else:
        sizes = list(static_shape("split", num_or_size_splits))
        if sizes.count(-1) == 1:
            sizes = [length - sum(sizes) - 1 if n == -1 else n for n in sizes]
        if sum(sizes) != length or min(sizes, default=0) < 0:
            raise InvalidArgumentError(
                f"split: the sizes {sizes} do not add up to the axis's length {length}"
            )
    ends = np.cumsum([0, *sizes]).tolist()
    front = (slice(None),) * a
    return [value[(*front, slice(start, end))] for start, end in pairwise(ends)]


@extend(dynamic_partition, RaggedTensor)
def _dynamic_partition(data: Any, partitions: Any, num_partitions: Any, name: str | None = None) -> list[Any]:
    x, parts = convert_ragged(data), convert_ragged(partitions)
    if isinstance(parts, RaggedTensor):
        check_same("dynamic_partition", _as_rows(x)._splits, parts._splits)
        return _dynamic_partition(_as_rows(x)._values, parts._values, num_partitions)
    count = static_number("dynamic_partition: num_partitions", num_partitions)
    if not isinstance(x, RaggedTensor):
        return dynamic_partition(x, parts, count)
    ids = decided("dynamic_partition", parts._array)
    if ids.ndim != 1 or len(ids) != count_of(x) or (len(ids) and not (ids.min() >= 0 and ids.max() < count)):
        raise InvalidArgumentError(
            f"dynamic_partition: partitions of shape {list(ids.shape)} must say for each of {count_of(x)} rows a "
            f"number from 0 to {count - 1}"
        )
    return [rows_at(x, np.flatnonzero(ids == i)) for i in range(count)]
