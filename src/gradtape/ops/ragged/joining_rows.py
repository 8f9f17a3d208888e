"""Ragged tensors joined, stacked, repeated, and with axes added and removed; what is known of their shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.types import Axis, DTypeLike
from ...engine.arrays import xp
from ..array.creation import one_hot
from ..array.movement import concat, expand_dims, reshape, squeeze, stack, tile
from ..array.shape import rank, size
from ..dispatch import extend
from ..known import static_number, static_shape
from ..math.functions import where
from ..nn.embedding import embedding_lookup
from .broadcasting_rows import apply_elementwise
from .padding_rows import places_of_values
from .ragged_constructors import count_of
from .ragged_tensor import RaggedTensor, axis_of, convert_ragged, ragged
from .row_partition import check_same, decided, lengths_of, splits_of_lengths, uniform_splits
from .row_selection import one_row, rows_at

# ---------------------------------------------------------------------------------------------------------------------
# Joining


@extend(concat, RaggedTensor)
def _concat(values: Any, axis: Axis, name: str | None = None) -> Any:
    given = list(values) if isinstance(values, (list, tuple)) else [values]
    hint = next(x.dtype for x in given if isinstance(x, RaggedTensor))
    tensors = [convert_ragged(x, hint) for x in given]
    ranks = {len(x.shape) for x in tensors}
    if len(ranks) > 1:
        raise ValueError(f"concat: tensors of {sorted(ranks)} axes cannot be joined: all must have as many")
    return joined("concat", tensors, axis_of("concat", axis, ranks.pop()))


def joined(operation: str, tensors: list[Any], axis: int) -> Any:
    """Tensors of the same number of axes, dense or ragged, joined along an axis."""
    if not any(isinstance(x, RaggedTensor) for x in tensors):
        inner = {x._array.shape[1:] for x in tensors}
        if axis == 0 and len(inner) > 1:
            tensors = [_as_rows(x) for x in tensors]
        elif axis:
            return concat(tensors, axis)
    if len(tensors) == 1:
        return tensors[0]
    if not any(isinstance(x, RaggedTensor) for x in tensors):
        return concat(tensors, 0)
    rows = [_as_rows(x) for x in tensors]
    if axis == 0:
        return _joined_first(operation, rows)
    if axis == 1:
        return _joined_rows(operation, rows)
    for x in rows[1:]:
        check_same(operation, rows[0]._splits, x._splits)
    return rows[0].with_values(joined(operation, [x._values for x in rows], axis - 1))


def _as_rows(x: Any) -> RaggedTensor:
    return x if isinstance(x, RaggedTensor) else RaggedTensor.from_tensor(x)


def _joined_first(operation: str, rows: list[RaggedTensor]) -> RaggedTensor:

    splits = [x._splits for x in rows]
    starts = np.cumsum([0, *[count_of(x._values) for x in rows[:-1]]])
    parts = [
        splits[0],
        *[s[1:] + np.asarray(n, s.dtype) for s, n in zip(splits[1:], starts[1:], strict=True)],
    ]
    widths = {x._width for x in rows}
    width = widths.pop() if len(widths) == 1 else None
    return ragged(
        joined(operation, [x._values for x in rows], 0),
        xp(*parts).concatenate(parts).astype(splits[0].dtype),
        width,
    )


def _joined_rows(operation: str, rows: list[RaggedTensor]) -> RaggedTensor:
    """Each row of the first, followed by the same row of the others."""
    count = count_of(rows[0])
    if any(count_of(x) != count for x in rows):
        raise InvalidArgumentError(
            f"{operation}: tensors of {[count_of(x) for x in rows]} rows cannot be joined along axis 1"
        )
    order = np.arange(count * len(rows)).reshape(len(rows), count).T.reshape(-1)
    interleaved = rows_at(_joined_first(operation, rows), order)
    lengths = sum(lengths_of(x._splits) for x in rows)
    return ragged(interleaved._values, splits_of_lengths(lengths))


def stacked(operation: str, values: Any, axis: Axis = 0) -> Any:
    """Tensors of the same number of axes, dense or ragged, stacked along a new axis."""
    given = list(values)
    if not given:
        raise ValueError(f"{operation}: needs at least one tensor")
    hint = next((x.dtype for x in given if isinstance(x, RaggedTensor)), None)
    tensors = [convert_ragged(x, hint) for x in given]
    ranks = {len(x.shape) for x in tensors}
    if len(ranks) > 1:
        raise ValueError(
            f"{operation}: tensors of {sorted(ranks)} axes cannot be stacked: all must have as many"
        )
    count = ranks.pop()
    place = axis_of(operation, axis, count + 1)
    if not count:
        return stack(tensors)
    if place == 0:
        return _stacked_first(operation, tensors)
    return joined(operation, [_expanded(x, place) for x in tensors], place)


def _stacked_first(operation: str, tensors: list[Any]) -> Any:
    counts = [count_of(x) for x in tensors]
    dtype = next((x._splits.dtype for x in tensors if isinstance(x, RaggedTensor)), np.dtype(np.int64))
    together = joined(operation, tensors, 0)
    width = counts[0] if len(set(counts)) == 1 and len(tensors) == 1 else None
    return ragged(together, splits_of_lengths(np.array(counts, dtype)), width)


@extend(stack, RaggedTensor)
def _stack(values: Any, axis: Axis = 0, name: str | None = None) -> Any:
    return stacked("stack", values, axis)


@extend(tile, RaggedTensor)
def _tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    times = static_shape("tile", multiples)
    if len(times) != len(input.shape) or min(times) < 0:
        raise InvalidArgumentError(
            f"tile: multiples must have one number of at least 0 for each of {len(input.shape)} axes, not {list(times)}"
        )
    return _tiled(input, times)


def _tiled(x: Any, times: tuple[int, ...]) -> Any:
    if not isinstance(x, RaggedTensor):
        return tile(x, times)
    inner = (1, *times[2:])
    if any(n != 1 for n in inner):
        x = x.with_values(_tiled(x._values, inner))
    if times[1] != 1:
        rows = np.repeat(np.arange(count_of(x)), times[1])
        repeated = rows_at(x, rows)
        width = None if x._width is None else x._width * times[1]
        x = ragged(repeated._values, decided("tile", x._splits) * times[1], width)
    return x if times[0] == 1 else rows_at(x, np.tile(np.arange(count_of(x)), times[0]))


# ---------------------------------------------------------------------------------------------------------------------
# Axes


@extend(expand_dims, RaggedTensor)
def _expand_dims(input: Any, axis: Axis, name: str | None = None) -> Any:
    return _expanded(input, axis_of("expand_dims", axis, len(input.shape) + 1))


def _expanded(x: Any, axis: int) -> Any:
    if not isinstance(x, RaggedTensor):
        return expand_dims(x, axis)
    if axis == 0:
        return one_row(x)
    if axis == 1:
        return ragged(x, uniform_splits(count_of(x), 1, x._splits.dtype), 1)
    return x.with_values(_expanded(x._values, axis - 1))


@extend(squeeze, RaggedTensor)
def _squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    if axis is None:
        raise ValueError("squeeze: say which axis of a ragged tensor to remove")
    axes = {axis_of("squeeze", a, len(input.shape)) for a in static_shape("squeeze", axis)}
    for a in sorted(axes, reverse=True):
        input = _squeezed(input, a)
    return input


def _squeezed(x: Any, axis: int) -> Any:
    if not isinstance(x, RaggedTensor):
        return squeeze(x, axis)
    if axis == 0:
        if count_of(x) != 1:
            raise InvalidArgumentError(f"squeeze: there are {count_of(x)} rows, and only one can go")
        return x._values
    if axis == 1:
        if x._width != 1 and (decided("squeeze", lengths_of(x._splits)) != 1).any():
            raise InvalidArgumentError("squeeze: there are rows of other lengths than 1")
        return x._values
    return x.with_values(_squeezed(x._values, axis - 1))


@extend(reshape, RaggedTensor)
def _reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    wanted = static_shape("reshape", shape)
    flat = tensor.flat_values
    if len(wanted) == 1:
        return reshape(flat, wanted)
    lengths = tensor.bounding_shape()._array
    if math.prod(lengths.tolist()) != math.prod(flat._array.shape):
        raise InvalidArgumentError(
            "reshape: the rows differ in length: they can only become one axis, as in [-1]"
        )
    return reshape(flat, wanted)


# ---------------------------------------------------------------------------------------------------------------------
# Shapes, choices, tables


@extend(size, RaggedTensor)
def _size(input: Any, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    return size(input.flat_values, out_type)


@extend(rank, RaggedTensor)
def _rank(input: Any, name: str | None = None) -> Tensor:
    return wrap(np.array(len(input.shape), np.int32))


@extend(where, RaggedTensor)
def _where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    if (x is None) != (y is None):
        raise ValueError("where: give both x and y, or neither")
    if x is not None:
        return apply_elementwise("where", where, [condition, x, y])
    flat = condition.flat_values
    inner = where(flat)._array  # the places of the true ones among the flat values
    columns = [column[inner[:, 0]] for column in places_of_values(condition)]
    return wrap(np.stack([*columns, *inner[:, 1:].T], 1).astype(np.int64))


@extend(one_hot, RaggedTensor)
def _one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Any:
    if axis is not None:
        axis = static_number("one_hot: axis", axis)
        if axis >= 0:
            axis -= indices.ragged_rank
            if axis < 1:
                raise ValueError("one_hot: axis must lie after the ragged axes")
    return indices.with_flat_values(one_hot(indices.flat_values, depth, on_value, off_value, axis, dtype))


@extend(embedding_lookup, RaggedTensor)
def _embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: str | None = None) -> Any:
    if not isinstance(ids, RaggedTensor):
        raise TypeError("embedding_lookup: a table of embeddings is dense; only ids may be ragged")
    return ids.with_flat_values(embedding_lookup(params, ids.flat_values, max_norm))
