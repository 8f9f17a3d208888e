"""Ragged tensors from lists, ranges and partitions: functions of `tf.ragged`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core import dtypes, nest
from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert, convert_to_tensor
from ...core.types import Axis, DTypeLike, TensorLike
from ..array.scatter import dynamic_partition
from ..known import known, static_number
from .joining_rows import stacked
from .ragged_constructors import count_of
from .ragged_tensor import RaggedTensor, convert_ragged, levels, ragged
from .row_partition import (
    check_same,
    columns_of_values,
    decided,
    partition,
    rows_of_values,
    splits_of_lengths,
    splits_of_rowids,
)

# ---------------------------------------------------------------------------------------------------------------------
# Lists


def constant(
    pylist: Any,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> Any:
    """A ragged tensor of nested lists; a tensor if there is only one list.

    Args:
        pylist: nested lists, tuples or arrays, with all numbers or texts at the same depth.
        dtype: by default that of `tf.constant`.
        ragged_rank: how many levels of lists are rows; by default all but the outermost, less the `inner_shape`.
        inner_shape: the shape of the values inside of the rows.
        row_splits_dtype: int32 or int64.

    Raises:
        ValueError: if the depth differs, or the arguments do not fit the lists.

    >>> constant([[1, 2], [], [3]])
    <tf.RaggedTensor [[1, 2], [], [3]]>
    """
    given = _as_lists(pylist)
    inner = None if inner_shape is None else tuple(int(n) for n in inner_shape)
    if not isinstance(given, list):
        if ragged_rank or inner:
            raise ValueError(
                f"ragged.constant: {pylist!r} is a single value: ragged_rank and inner_shape must be empty"
            )
        return convert_to_tensor(pylist, dtype)
    scalars, deepest = _depths(given)
    depth = max(deepest, 0 if scalars is None else scalars)
    rows = _ragged_rank(given, depth, ragged_rank, inner)
    if scalars is not None and deepest > scalars:
        raise ValueError(f"ragged.constant: an empty list lies deeper than the values: {_short(pylist)}")
    if inner is None:
        inner = _inner_shape(given, rows, depth)
    splits, flat = [], given
    dtype_of_splits = dtypes.as_dtype(row_splits_dtype).numpy_dtype
    for _ in builtins.range(rows):
        splits.append(splits_of_lengths(np.array([len(row) for row in flat], dtype_of_splits)))
        flat = [item for row in flat for item in row]
    values: Any = _values(flat, inner, dtype, pylist)
    for each in reversed(splits):
        values = ragged(values, each)
    return values


def _values(flat: list[Any], inner: tuple[int, ...], dtype: DTypeLike | None, pylist: Any) -> Tensor:
    if not flat:
        return wrap(np.zeros((0, *inner), dtypes.as_dtype("float32" if dtype is None else dtype).numpy_dtype))
    try:
        values = convert_to_tensor(flat, dtype)
    except ValueError as error:
        raise ValueError(
            f"ragged.constant: the innermost values differ in shape: {_short(pylist)}"
        ) from error
    if values._array.shape[1:] != inner:
        raise ValueError(
            f"ragged.constant: the innermost values have the shape {values.shape[1:]}, not {list(inner)}"
        )
    return values


def _as_lists(value: Any) -> Any:
    if isinstance(value, (np.ndarray, Tensor)):
        array = (
            value if isinstance(value, np.ndarray) else known("ragged.constant", "the value", value._array)
        )
        return [_as_lists(item) for item in array] if array.ndim else array[()]
    if isinstance(value, RaggedTensor):
        raise TypeError("ragged.constant takes lists, and was given a RaggedTensor, which is one already")
    return [_as_lists(item) for item in value] if isinstance(value, (list, tuple)) else value


def _depths(value: Any) -> tuple[int | None, int]:
    """The depth of the values, None if there are none; and the depth of the lists."""
    if not isinstance(value, list):
        return 0, 0
    if not value:
        return None, 1
    scalars, deepest = None, 0
    for item in value:
        at, depth = _depths(item)
        deepest = max(deepest, depth)
        if at is not None:
            if scalars not in (None, at):
                raise ValueError("ragged.constant: all values must lie at the same depth of lists")
            scalars = at
    return None if scalars is None else scalars + 1, deepest + 1


def _ragged_rank(given: Any, depth: int, wanted: int | None, inner: tuple[int, ...] | None) -> int:
    if wanted is None:
        rows = max(0, depth - 1 - (0 if inner is None else len(inner)))
    else:
        rows = static_number("ragged.constant: ragged_rank", wanted)
    if not 0 <= rows < depth or (inner is not None and rows + 1 + len(inner) < depth):
        raise ValueError(
            f"ragged.constant: lists of depth {depth} have no {rows} levels of rows"
            + ("" if inner is None else f" with values of shape {list(inner)}")
        )
    return rows


def _inner_shape(given: Any, rows: int, depth: int) -> tuple[int, ...]:
    """The shape of the first of the innermost values."""
    flat = given
    for _ in builtins.range(rows):
        flat = [item for row in flat for item in row]
    shape = []
    item = flat[0] if flat else None
    while isinstance(item, list):
        shape.append(len(item))
        item = item[0] if item else None
    return tuple(shape) if flat else (0,) * (depth - rows - 1)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


# ---------------------------------------------------------------------------------------------------------------------
# Ranges, stacks, partitions


def range(
    starts: TensorLike,
    limits: TensorLike | None = None,
    deltas: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> RaggedTensor:
    """A range of numbers in each row.

    Args:
        starts: the first numbers; the limits, if these are not given.
        limits: where each range ends; not part of it.
        deltas: the steps.
        dtype: by default that of the arguments.
        row_splits_dtype: int32 or int64.

    Raises:
        InvalidArgumentError: if a step is 0.

    >>> range([2, 0, 3])
    <tf.RaggedTensor [[0, 1], [], [0, 1, 2]]>
    """
    if limits is None:
        starts, limits = 0, starts
    wanted = None if dtype is None else dtypes.as_dtype(dtype).numpy_dtype
    arrays = [decided("ragged.range", convert(x)._array) for x in (starts, limits, deltas)]
    if any(a.dtype.kind not in "iuf" or a.ndim > 1 for a in arrays):
        raise InvalidArgumentError("ragged.range takes numbers or vectors of real numbers")
    kind = wanted or np.result_type(
        *[a.dtype for a in arrays if a.ndim or a.dtype.kind == "f"] or [arrays[1].dtype]
    )
    try:
        first, last, step = np.broadcast_arrays(*[np.atleast_1d(a).astype(kind) for a in arrays])
    except ValueError:
        raise InvalidArgumentError("ragged.range: the vectors differ in length") from None
    if (step == 0).any():
        raise InvalidArgumentError("ragged.range: a step must not be 0")
    counts = np.maximum(np.ceil((last.astype(np.float64) - first) / step), 0).astype(np.int64)
    splits = splits_of_lengths(counts.astype(dtypes.as_dtype(row_splits_dtype).numpy_dtype))
    rows = rows_of_values(splits, int(splits[-1]))
    values = first[rows] + columns_of_values(splits, int(splits[-1])).astype(kind) * step[rows]
    return ragged(wrap(values.astype(kind)), splits)


def stack(values: Sequence[Any], axis: Axis = 0, name: str | None = None) -> Any:
    """Tensors and ragged tensors stacked along a new axis; their rows may differ.

    Raises:
        ValueError: if there are none, or they differ in the number of axes.

    >>> stack([[1, 2], [3]])
    <tf.RaggedTensor [[1, 2], [3]]>
    """
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"ragged.stack: a list of tensors is needed, not {values!r}")
    return stacked("ragged.stack", values, axis)


def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: TensorLike, name: str | None = None
) -> Any:
    """The values of each partition as a row.

    Args:
        data: the values.
        partitions: the row of each.
        num_partitions: the number of rows.

    Raises:
        InvalidArgumentError: if there is no such row.

    >>> stack_dynamic_partitions([1, 2, 3, 4], [0, 1, 0, 2], 4)
    <tf.RaggedTensor [[1, 3], [2], [4], []]>
    """
    x, parts = convert_ragged(data), convert_ragged(partitions)
    count = static_number("stack_dynamic_partitions: num_partitions", num_partitions)
    if not parts.dtype.is_integer:
        raise InvalidArgumentError("stack_dynamic_partitions: partitions must be integers")
    if not len(parts.shape):
        raise ValueError("stack_dynamic_partitions: partitions must have an axis, as the data")
    rows = stacked("stack_dynamic_partitions", dynamic_partition(x, parts, count))
    if isinstance(x, Tensor) and parts.dtype.name in ("int32", "int64"):
        return rows.with_row_splits_dtype(parts.dtype)
    return rows


def row_splits_to_segment_ids(
    splits: TensorLike, name: str | None = None, out_type: DTypeLike | None = None
) -> Tensor:
    """The row of each value, for the splits between rows.

    Raises:
        InvalidArgumentError: if they are no splits.

    >>> row_splits_to_segment_ids([0, 2, 2, 3]).numpy()
    array([0, 0, 2])
    """
    array = decided("row_splits_to_segment_ids", partition("row_splits_to_segment_ids", "splits", splits))
    if not len(array) or array[0] != 0 or (array[1:] < array[:-1]).any():
        raise InvalidArgumentError("row_splits_to_segment_ids: splits must start with 0, and not decrease")
    rows = rows_of_values(array, int(array[-1]))
    return wrap(rows if out_type is None else rows.astype(dtypes.as_dtype(out_type).numpy_dtype))


def segment_ids_to_row_splits(
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    out_type: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The splits between rows, for the row of each value.

    Args:
        segment_ids: the rows, in order.
        num_segments: the number of rows; by default up to the last that has a value.

    Raises:
        InvalidArgumentError: if the rows are not in order.

    >>> segment_ids_to_row_splits([0, 0, 2]).numpy()
    array([0, 2, 2, 3])
    """
    count = (
        None
        if num_segments is None
        else static_number("segment_ids_to_row_splits: num_segments", num_segments)
    )
    ids = partition("segment_ids_to_row_splits", "segment_ids", segment_ids)
    splits = splits_of_rowids("segment_ids_to_row_splits", ids, count)
    return wrap(splits if out_type is None else splits.astype(dtypes.as_dtype(out_type).numpy_dtype))


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function of the innermost values of ragged tensors, all of which have the same rows.

    Args:
        op: a function that keeps the number of values.
        args, kwargs: its arguments, perhaps nested; ragged ones are replaced by their values.

    Raises:
        ValueError: if the rows differ, or the function gives another number of values.

    >>> map_flat_values(lambda x: x * 2, constant([[1, 2], [3]]))
    <tf.RaggedTensor [[2, 4], [6]]>
    """
    if not callable(op):
        raise TypeError(f"ragged.map_flat_values: op must be a function, not {op!r}")
    given = [x for x in nest.flatten((args, kwargs)) if isinstance(x, RaggedTensor)]
    if not given:
        return op(*args, **kwargs)
    first = given[0]
    for other in given[1:]:
        if other.ragged_rank != first.ragged_rank:
            raise ValueError("ragged.map_flat_values: the ragged tensors differ in their number of levels")
        for a, b in zip(levels(first), levels(other), strict=True):
            check_same("ragged.map_flat_values", a._splits, b._splits)
    flat = lambda x: x.flat_values if isinstance(x, RaggedTensor) else x
    args, kwargs = nest.map_structure(flat, (args, kwargs))
    out = convert_to_tensor(op(*args, **kwargs))
    if not out.ndim or out._array.shape[0] != count_of(first.flat_values):
        raise ValueError(
            f"ragged.map_flat_values: op must keep the number of values, {count_of(first.flat_values)}; its result has "
            f"the shape {out.shape}"
        )
    return first.with_flat_values(out)
