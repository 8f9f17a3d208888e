"""How values are divided into rows, on arrays: splits, lengths, starts, limits, and the row of each value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import is_traced, xp
from ..known import shape_known


def partition(operation: str, what: str, value: TensorLike, dtype: Any = None) -> Any:
    """The array of an argument that divides values into rows: int64, unless it is an int32 tensor or array.

    Raises:
        ValueError: if it is not a vector of integers.
    """
    array = convert(value, None, np.dtype(np.int64))._array
    if array.ndim == 1 and not array.size and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.name not in ("int32", "int64"):
        raise ValueError(
            f"{operation}: {what} must be a vector of int32 or int64, not {array.dtype.name} of shape "
            f"{list(array.shape)}"
        )
    return array if dtype is None else array.astype(dtype)


def splits_of_lengths(lengths: Any) -> Any:
    """[0, and the running sum]."""
    m = xp(lengths)
    return m.concatenate([m.zeros(1, lengths.dtype), m.cumsum(lengths, dtype=lengths.dtype)])


def lengths_of(splits: Any) -> Any:
    """The length of each row."""
    return splits[1:] - splits[:-1]


def rows_of_values(splits: Any, count: int) -> Any:
    """The row of each of `count` values."""
    if not is_traced(splits):
        return np.repeat(np.arange(len(splits) - 1, dtype=splits.dtype), lengths_of(splits))
    m = xp(splits)
    ends = m.zeros(count, splits.dtype).at[splits[1:]].add(1, mode="drop")
    return m.cumsum(ends, dtype=splits.dtype)  # how many rows end before or at the value


def columns_of_values(splits: Any, count: int) -> Any:
    """The place of each of `count` values in its row."""
    m = xp(splits)
    rows = rows_of_values(splits, count)
    return m.arange(count, dtype=splits.dtype) - splits[:-1][rows] if count else rows


def ranges(operation: str, starts: Any, lengths: Any) -> Any:
    """starts[0], starts[0] + 1, ..., and so on for each start, joined: the values that chosen rows hold."""
    lengths = decided(operation, lengths)
    ends = np.cumsum(lengths, dtype=np.int64)
    count = int(ends[-1]) if len(ends) else 0
    return np.arange(count) + np.repeat(starts - (ends - lengths), lengths)


def decided(operation: str, array: Any) -> Any:
    """An array of row lengths or splits that decides the shape of a result.

    Raises:
        NotCompilableError: while a @function is traced, if its values are not known.
    """
    return shape_known(operation, "row_splits", array, "compute on x.flat_values, or give to_tensor a shape")


def uniform_splits(nrows: int, length: int, dtype: Any = np.int64) -> Any:
    """The splits of rows of one length."""
    return np.arange(nrows + 1, dtype=dtype) * np.asarray(length, dtype)


def check_splits(operation: str, splits: Any, count: int) -> None:
    """Raise unless splits divide `count` values; traced ones are not looked at."""
    if not len(splits):
        raise InvalidArgumentError(f"{operation}: row_splits must not be empty: it starts with 0")
    if is_traced(splits):
        return
    if splits[0] != 0:
        raise InvalidArgumentError(f"{operation}: row_splits must start with 0, not {splits[0]}")
    if (splits[1:] < splits[:-1]).any():
        raise InvalidArgumentError(f"{operation}: row_splits must not decrease: {_text(splits)}")
    if splits[-1] != count:
        raise InvalidArgumentError(
            f"{operation}: the rows hold {splits[-1]} values together, and there are {count}"
        )


def check_same(operation: str, a: Any, b: Any) -> None:
    """Raise unless two arrays of splits are the same; of traced ones only shapes are compared."""
    if a is b or (a.shape == b.shape and (is_traced(a) or is_traced(b) or bool((a == b).all()))):
        return
    raise InvalidArgumentError(
        f"{operation}: the rows of the ragged tensors differ: row_splits {_text(a)} and {_text(b)}. Their ragged axes "
        "must have the same lengths; only dense tensors with axes of length 1 are broadcast"
    )


def splits_of_rowids(operation: str, rowids: Any, nrows: int | None) -> Any:
    """The splits for the row of each value, in order."""
    rowids = decided(operation, rowids)
    if len(rowids) and (rowids[0] < 0 or (rowids[1:] < rowids[:-1]).any()):
        raise InvalidArgumentError(
            f"{operation}: value_rowids must start with 0 or more, and not decrease: {_text(rowids)}"
        )
    if nrows is None:
        nrows = int(rowids[-1]) + 1 if len(rowids) else 0
    elif nrows < 0 or (len(rowids) and rowids[-1] >= nrows):
        raise ValueError(f"{operation}: value_rowids {_text(rowids)} do not fit nrows={nrows}")
    return splits_of_lengths(np.bincount(rowids, minlength=nrows).astype(rowids.dtype))


def _text(array: Any) -> str:
    return "traced" if is_traced(array) else np.array2string(np.asarray(array), threshold=10)


def number(value: int, dtype: Any) -> Tensor:
    """A scalar tensor."""
    return wrap(np.array(value, dtype))
