"""Sparse and ragged features: what VarLenFeature, SparseFeature and RaggedFeature make of the values of examples.

Each function takes the values example by example. `groups` says how examples lie in an outer batch: None for a batch of
one level, or the number of steps of each sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.dtypes import DType
from ..core.errors import InvalidArgumentError
from ..core.tensor import wrap
from ..ops.known import afford
from .features import (
    RaggedFeature,
    RowLengths,
    RowLimits,
    RowSplits,
    RowStarts,
    SparseFeature,
    UniformRowLength,
)

# The values of a feature in one example, by name and dtype; None if there are none.
Get = Callable[[str, DType], np.ndarray | None]


def joined(parts: Sequence[np.ndarray], dtype: DType) -> np.ndarray:
    """Arrays one after the other."""
    return np.concatenate([np.empty(0, dtype.numpy_dtype), *parts])


def splits_of(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """The limits of rows of given lengths."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(lengths, np.int64))])


def variable_length(parts: list[np.ndarray], dtype: DType, groups: list[int] | None, single: bool) -> Any:
    """The values of each example as the rows of a SparseTensor.

    Args:
        groups: the number of parts of each sequence: the first two axes are then sequence and step.
        single: leave out the first axis.
    """
    from ..ops.sparse.sparse_tensor import SparseTensor

    lengths = np.array([len(part) for part in parts], np.int64)
    columns = [
        np.repeat(np.arange(len(parts)), lengths),
        np.arange(lengths.sum()) - np.repeat(splits_of(lengths)[:-1], lengths),
    ]
    shape = [len(parts), int(lengths.max(initial=0))]
    if groups is not None:
        starts = splits_of(groups)
        sequence = np.repeat(np.arange(len(groups)), groups)
        step = np.arange(len(parts)) - np.repeat(starts[:-1], groups)
        columns = [sequence[columns[0]], step[columns[0]], columns[1]]
        shape = [len(groups), max(groups, default=0), shape[1]]
    indices = np.stack(columns, 1).astype(np.int64)
    if single:
        indices, shape = indices[:, 1:], shape[1:]
    return SparseTensor(wrap(np.ascontiguousarray(indices)), wrap(joined(parts, dtype)), shape)


def sparse(
    operation: str,
    examples: Sequence[Get],
    name: str,
    feature: SparseFeature,
    dtypes: tuple[DType, DType],
    single: bool,
) -> Any:
    """The SparseTensor whose indices and values are features of their own.

    Args:
        dtypes: of the values, and int64.

    Raises:
        InvalidArgumentError: if indices and values are not as many, or an index is outside of the size.
    """
    from ..ops.sparse.sparse_tensor import SparseTensor

    dtype, int64 = dtypes
    listed = isinstance(feature.index_key, (list, tuple))
    keys = list(feature.index_key) if listed else [feature.index_key]
    sizes = [int(n) for n in np.asarray(feature.size).reshape(-1)]
    if len(sizes) != len(keys) or min(sizes, default=1) < 1:
        raise InvalidArgumentError(
            f"{operation}: the feature {name!r} needs a size above 0 for each of {keys}, not {feature.size!r}"
        )
    places, parts = [np.empty((0, len(keys) + 1), np.int64)], []
    for i, get in enumerate(examples):
        found = get(feature.value_key, dtype)
        values = np.empty(0, dtype.numpy_dtype) if found is None else found
        columns = [np.empty(0, np.int64) if (at := get(key, int64)) is None else at for key in keys]
        for key, column, size in zip(keys, columns, sizes, strict=True):
            if len(column) != len(values):
                raise InvalidArgumentError(
                    f"{operation}: example {i} has {len(column)} indices {key!r} for {len(values)} values "
                    f"{feature.value_key!r}"
                )
            if len(column) and not (column.min() >= 0 and column.max() < size):
                raise InvalidArgumentError(
                    f"{operation}: an index {key!r} of example {i} is outside of the size {size}"
                )
        if not feature.already_sorted and len(values) > 1:
            order = np.lexsort(columns[::-1])
            columns, values = [column[order] for column in columns], values[order]
        places.append(np.stack([np.full(len(values), i, np.int64), *columns], 1))
        parts.append(values)
    indices, shape = np.concatenate(places), [len(examples), *sizes]
    if single:
        indices, shape = indices[:, 1:], sizes
    return SparseTensor(wrap(np.ascontiguousarray(indices)), wrap(joined(parts, dtype)), shape)


def ragged(
    operation: str,
    examples: Sequence[Get],
    name: str,
    feature: RaggedFeature,
    dtypes: tuple[DType, DType],
    groups: list[int] | None,
    single: bool,
) -> Any:
    """The RaggedTensor of a feature and its partitions.

    Raises:
        InvalidArgumentError: if a partition does not divide the values of an example.
    """
    from ..ops.ragged.ragged_tensor import RaggedTensor

    dtype, int64 = dtypes
    key = name if feature.value_key is None else feature.value_key
    parts, levels = [], [[] for _ in feature.partitions]  # type: ignore[var-annotated]
    outermost = []
    for i, get in enumerate(examples):
        found = get(key, dtype)
        parts.append(np.empty(0, dtype.numpy_dtype) if found is None else found)
        count = len(parts[-1])
        for level, partition in reversed(list(enumerate(feature.partitions))):
            lengths = _lengths(
                operation, f"the feature {name!r} of example {i}", partition, get, int64, count
            )
            levels[level].append(lengths)
            count = len(lengths)
        outermost.append(count)
    values: Any = wrap(joined(parts, dtype))
    splits = feature.row_splits_dtype.numpy_dtype
    for partition, lengths in reversed(list(zip(feature.partitions, levels, strict=True))):
        together = np.concatenate([np.empty(0, np.int64), *lengths])
        if not isinstance(partition, UniformRowLength):
            values = RaggedTensor.from_row_splits(values, wrap(splits_of(together).astype(splits)))
        elif isinstance(values, RaggedTensor):
            values = RaggedTensor.from_uniform_row_length(values, partition.length, len(together))
        else:
            values = wrap(values._array.reshape(len(together), partition.length, *values._array.shape[1:]))
    for rows in ([outermost] if groups is None else [outermost, groups])[: -1 if single else None]:
        values = RaggedTensor.from_row_splits(values, wrap(splits_of(rows).astype(splits)))
    return values


def _lengths(operation: str, what: str, partition: Any, get: Get, int64: DType, count: int) -> np.ndarray:
    """The lengths of the rows that a partition makes of `count` values."""
    if isinstance(partition, UniformRowLength):
        length = int(partition.length)
        if length < 1 or count % length:
            raise InvalidArgumentError(
                f"{operation}: {what} has {count} values, which are no rows of length {length}"
            )
        return np.full(count // length, length, np.int64)
    found = get(partition.key, int64)
    rows = np.empty(0, np.int64) if found is None else found
    if isinstance(partition, RowLengths):
        lengths = rows
    elif isinstance(partition, RowStarts):
        lengths = np.diff(np.append(rows, count)) if len(rows) and not rows[0] else rows
    elif isinstance(partition, RowLimits):
        lengths = np.diff(rows, prepend=0)
    elif isinstance(partition, RowSplits):
        lengths = np.diff(rows) if not len(rows) or not rows[0] else -rows
    else:  # the row of each value
        if len(rows) != count or np.any(np.diff(rows, prepend=0) < 0):
            raise _no_rows(operation, what, partition, count)
        total = int(rows[-1]) + 1 if len(rows) else 0
        afford(operation, (total,), 8)
        lengths = np.bincount(rows, minlength=total)
    if np.any(lengths < 0) or sum(lengths.tolist()) != count:
        raise _no_rows(operation, what, partition, count)
    return lengths


def _no_rows(operation: str, what: str, partition: Any, count: int) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{operation}: {what} has {count} values, which {type(partition).__name__} {partition.key!r} does not "
        "divide into rows"
    )
