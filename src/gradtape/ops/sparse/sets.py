"""Sets in the rows of tensors: the elements along the last axis are the members of one set."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert, convert_to_tensor
from ...core.types import TensorLike
from ..known import shape_known
from ..scalars import boolean
from .sparse_tensor import SparseTensor, checked, in_order, places, positions

_MEMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "string")


def intersection(
    a: TensorLike | SparseTensor, b: TensorLike | SparseTensor, validate_indices: bool = True
) -> SparseTensor:
    """The members of each row's set that are in both.

    Args:
        a: integers or strings, dense or sparse; all axes but the last one are those of `b`.
        b: the same.
        validate_indices: accepted; indices are put in order.

    Raises:
        DTypeError: if the two differ in dtype, or are neither integers nor strings.
        InvalidArgumentError: if their axes do not fit.

    >>> intersection([[1, 2]], [[2, 5]]).values.numpy()
    array([2], dtype=int32)
    """
    return _combined("intersection", a, b, np.intersect1d)


def union(
    a: TensorLike | SparseTensor, b: TensorLike | SparseTensor, validate_indices: bool = True
) -> SparseTensor:
    """The members of each row's set that are in one of them or in both; the arguments are those of `intersection`.

    Args:
        a: the sets of one.
        b: the sets of the other.
        validate_indices: accepted; indices are put in order.

    >>> union([[1, 2]], [[2, 5]]).values.numpy()
    array([1, 2, 5], dtype=int32)
    """
    return _combined("union", a, b, np.union1d)


def difference(
    a: TensorLike | SparseTensor,
    b: TensorLike | SparseTensor,
    aminusb: bool = True,
    validate_indices: bool = True,
) -> SparseTensor:
    """The members of each row's set in `a` that are not in `b`; the other arguments are those of `intersection`.

    Args:
        a: the sets of one.
        b: the sets of the other.
        aminusb: False for those of `b` that are not in `a`.
        validate_indices: accepted; indices are put in order.

    >>> difference([[1, 2]], [[2, 5]]).values.numpy()
    array([1], dtype=int32)
    """
    if boolean("sets.difference", "aminusb", aminusb):
        return _combined("difference", a, b, np.setdiff1d)
    return _combined("difference", b, a, np.setdiff1d)


def size(a: SparseTensor, validate_indices: bool = True) -> Tensor:
    """The number of different members of each row's set.

    Args:
        a: a sparse tensor.
        validate_indices: accepted; indices are put in order.

    Raises:
        TypeError: if it is not sparse.

    >>> size(SparseTensor([[0, 0], [0, 1]], [5, 5], [2, 3])).numpy()
    array([1, 0], dtype=int32)
    """
    rows, values, shape = _rows("size", checked("sets.size", a))
    _, numbers = np.unique(values, return_inverse=True)
    different = np.unique(rows * max(len(values), 1) + numbers.reshape(-1)) // max(len(values), 1)
    return wrap(np.bincount(different, minlength=math.prod(shape)).astype(np.int32).reshape(shape))


def _combined(operation: str, a: Any, b: Any, combine: Callable[[Any, Any], Any]) -> SparseTensor:
    """Combine the sets of each two rows; a member of a row is one number."""
    first = a if isinstance(a, SparseTensor) else convert(a)
    second = b if isinstance(b, SparseTensor) else convert_to_tensor(b, dtype_hint=first.dtype)
    if first.dtype is not second.dtype:
        raise DTypeError(f"sets.{operation}: {first.dtype.name} and {second.dtype.name} do not mix: cast one")
    (rows_a, values_a, shape), (rows_b, values_b, other) = (_rows(operation, x) for x in (first, second))
    if shape != other:
        raise InvalidArgumentError(
            f"sets.{operation}: the axes before the last must be the same, not {list(shape)} and {list(other)}"
        )
    members, numbers = np.unique(np.concatenate([values_a, values_b]), return_inverse=True)
    count = max(len(members), 1)
    pairs = np.concatenate([rows_a, rows_b]) * count + numbers.reshape(-1)
    found = combine(pairs[: len(rows_a)], pairs[len(rows_a) :]).astype(np.int64)
    rows = found // count
    columns = np.arange(len(rows)) - np.searchsorted(rows, rows)
    longest = int(columns.max(initial=-1)) + 1
    at = places(wrap(rows * max(longest, 1) + columns), (*shape, max(longest, 1)))
    return SparseTensor(at, wrap(members[found % count]), (*shape, longest))


def _rows(operation: str, x: Tensor | SparseTensor) -> tuple[Any, Any, tuple[int, ...]]:
    """The row of each member as one number, the members, and the axes before the last."""
    if x.dtype.name not in _MEMBERS:
        raise DTypeError(f"sets.{operation}: members must be integers or strings, not {x.dtype.name}")
    lengths = x.lengths if isinstance(x, SparseTensor) else tuple(x._array.shape)
    if len(lengths) < 2:
        raise InvalidArgumentError(f"sets.{operation}: takes rank 2 or more, not the shape {list(lengths)}")
    if isinstance(x, SparseTensor):
        for part in (x.indices, x.values):
            shape_known(f"sets.{operation}", "the sets", part._array, "compare dense tensors")
        x = in_order(x)
        rows = positions(x, tuple(range(len(lengths) - 1)))._array
        return rows, x.values._array, lengths[:-1]
    values = shape_known(f"sets.{operation}", "the sets", x._array, "compare dense tensors").reshape(-1)
    return np.repeat(np.arange(math.prod(lengths[:-1])), lengths[-1]), values, lengths[:-1]
