"""Sparse tensors as strings and back: three serialized tensors each, its indices, values and shape."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.errors import DTypeError, InvalidArgumentError
from ..core.tensor import Tensor, wrap
from ..core.types import DTypeLike, TensorLike
from ..ops.known import known
from ..ops.sparse.sparse_tensor import SparseTensor
from .contents import string_tensor, strings
from .encoding import message_array, tensor_message
from .messages import message


def _as_string(out_type: DTypeLike, operation: str) -> None:
    if dtypes.as_dtype(out_type) is not dtypes.string:
        raise DTypeError(f"{operation}: out_type must be tf.string, not {out_type}")


def _sparse(operation: str, value: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if not isinstance(value, SparseTensor):
        raise TypeError(f"{operation}: sp_input must be a SparseTensor, not {type(value).__name__}")
    parts = (value.indices, value.values, value.dense_shape)
    indices, values, shape = (known(operation, "sp_input", part._array) for part in parts)
    return indices, values, shape


def _strings(*parts: np.ndarray) -> list[bytes]:
    return [tensor_message(part).SerializeToString() for part in parts]


def serialize_sparse(sp_input: Any, name: str | None = None, out_type: DTypeLike = dtypes.string) -> Tensor:
    """A sparse tensor as a vector of three strings.

    Args:
        sp_input: the sparse tensor.
        out_type: tf.string.

    >>> sparse = SparseTensor([[0, 1]], [5], [2, 2])
    >>> deserialize_many_sparse([serialize_sparse(sparse)], "int32").shape
    TensorShape([1, 2, 2])
    """
    _as_string(out_type, "serialize_sparse")
    return string_tensor(_strings(*_sparse("serialize_sparse", sp_input)))


def serialize_many_sparse(
    sp_input: Any, name: str | None = None, out_type: DTypeLike = dtypes.string
) -> Tensor:
    """The slices of a sparse tensor along its first axis, each as a row of three strings.

    Args:
        sp_input: a sparse tensor of two axes or more.
        out_type: tf.string.

    Raises:
        InvalidArgumentError: if there is no other axis.

    >>> serialize_many_sparse(SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])).shape
    TensorShape([3, 3])
    """
    _as_string(out_type, "serialize_many_sparse")
    indices, values, shape = _sparse("serialize_many_sparse", sp_input)
    if len(shape) < 2:
        raise InvalidArgumentError(
            f"serialize_many_sparse: sp_input must have two axes or more, not the shape {shape.tolist()}"
        )
    order = np.argsort(indices[:, 0], kind="stable")
    ends = np.searchsorted(indices[order, 0], np.arange(shape[0] + 1))
    rows = [order[start:end] for start, end in pairwise(ends)]
    made = np.empty((len(rows), 3), object)
    for row, at in enumerate(rows):
        made[row] = _strings(np.ascontiguousarray(indices[at, 1:]), values[at], shape[1:])
    return wrap(made)


def deserialize_many_sparse(
    serialized_sparse: TensorLike, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Sparse tensors of rows of three strings, one above the other along a new first axis.

    Args:
        serialized_sparse: of shape (number, 3): what `serialize_sparse` and `serialize_many_sparse` give.
        dtype: of the values.
        rank: how many axes each has; checked if it is given.

    Raises:
        InvalidArgumentError: if the strings are no sparse tensors, or of another dtype or another number of axes.

    >>> rows = serialize_many_sparse(SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2]))
    >>> deserialize_many_sparse(rows, "int32").indices.numpy()
    array([[0, 1],
           [2, 0]])
    """
    operation = "deserialize_many_sparse"
    rows = strings(operation, "serialized_sparse", serialized_sparse)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise InvalidArgumentError(
            f"{operation}: serialized_sparse must have the shape (number, 3), not {list(rows.shape)}"
        )
    wanted = dtypes.as_dtype(dtype)
    found = [_checked(operation, i, row, wanted) for i, row in enumerate(rows.tolist())]
    ranks = {len(shape) for _, _, shape in found} | ({rank} if rank is not None else set())
    if len(ranks) > 1:
        raise InvalidArgumentError(
            f"{operation}: the tensors have different numbers of axes: {sorted(ranks)}"
        )
    width = ranks.pop() if ranks else 0
    indices = [np.pad(at, [(0, 0), (1, 0)], constant_values=i) for i, (at, _, _) in enumerate(found)]
    longest = np.max([shape for _, _, shape in found], axis=0) if found else np.zeros(width, np.int64)
    return SparseTensor(
        wrap(np.concatenate([*indices, np.empty((0, width + 1), np.int64)])),
        wrap(np.concatenate([*(values for _, values, _ in found), np.empty(0, wanted.numpy_dtype)])),
        wrap(np.array([len(found), *longest], np.int64)),
    )


def _checked(
    operation: str, number: int, row: list[bytes], dtype: dtypes.DType
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three parts of a sparse tensor, which must fit each other."""
    try:
        indices, values, shape = (
            message_array(operation, message("TensorProto").FromString(part)) for part in row
        )
    except InvalidArgumentError:
        raise
    except Exception as error:
        if type(error).__name__ != "DecodeError":
            raise
        raise InvalidArgumentError(f"{operation}: row {number} is no sparse tensor: {error}") from error
    fits = (
        indices.dtype == shape.dtype == np.int64
        and (indices.ndim, values.ndim, shape.ndim) == (2, 1, 1)
        and indices.shape == (len(values), len(shape))
        and bool(((indices >= 0) & (indices < shape)).all())
    )
    if not fits:
        raise InvalidArgumentError(
            f"{operation}: the parts of row {number} are no sparse tensor: indices of shape {list(indices.shape)}, "
            f"values of shape {list(values.shape)}, the shape {shape.tolist()}"
        )
    if dtypes.of(values) is not dtype:
        raise InvalidArgumentError(
            f"{operation}: the values of row {number} are {dtypes.of(values).name}, not {dtype.name}"
        )
    return indices, values, shape
