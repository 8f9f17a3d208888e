"""Ragged tensors to and from dense and sparse ones. These are methods of `RaggedTensor`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert_to_tensor
from ...core.types import DTypeLike, ShapeLike, TensorLike
from ...engine.arrays import is_traced, xp
from ..array.movement import broadcast_to, concat, expand_dims, gather, reshape
from ..known import afford, known, static_number
from ..sparse.sparse_tensor import SparseTensor, checked, in_order
from .ragged_constructors import count_of
from .ragged_tensor import RaggedTensor, levels, ragged
from .row_partition import (
    columns_of_values,
    decided,
    lengths_of,
    partition,
    rows_of_values,
    splits_of_lengths,
    splits_of_rowids,
    uniform_splits,
)

# ---------------------------------------------------------------------------------------------------------------------
# Dense


def to_tensor(
    self: RaggedTensor,
    default_value: TensorLike | None = None,
    name: str | None = None,
    shape: ShapeLike | None = None,
) -> Tensor:
    """A dense tensor with the rows, filled up to one length.

    Args:
        default_value: what to fill up with; by default zeros, or empty strings.
        shape: the lengths of the result, None where the longest row decides; longer rows are cut.

    Raises:
        ValueError: if the shape does not fit.

    >>> from gradtape import ragged
    >>> ragged.constant([[1, 2], [3]]).to_tensor(-1).numpy()
    array([[ 1,  2],
           [ 3, -1]], dtype=int32)
    """
    flat = self.flat_values
    wanted = _lengths_wanted(self, shape)
    places = _places(self, wanted)
    inner = flat._array.shape[1:]
    fill = _default(flat, default_value)
    if any(n not in (None, m) for n, m in zip(wanted[self.ragged_rank + 1 :], inner, strict=True)):
        raise InvalidArgumentError(
            f"to_tensor: the shape {wanted} does not fit values of shape {list(inner)}"
        )
    try:
        fill = broadcast_to(fill, inner)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(
            f"to_tensor: a default_value of shape {fill.shape} does not fill values of shape {list(inner)}"
        ) from error
    afford("to_tensor", (*places.shape, *inner), flat._array.dtype.itemsize)
    return gather(concat([flat, expand_dims(fill, 0)], 0), wrap(places))


def _default(flat: Tensor, value: TensorLike | None) -> Tensor:
    if value is None:
        empty = np.zeros((), flat._array.dtype)
        if flat._array.dtype.kind == "O":
            empty[()] = b""
        return wrap(empty)
    return convert_to_tensor(value, flat.dtype)


def _lengths_wanted(x: RaggedTensor, shape: Any) -> list[int | None]:
    rank = len(x.shape)
    if shape is None:
        return [None] * rank
    if isinstance(shape, Tensor):
        shape = known("to_tensor", "shape", shape._array).tolist()
    if not isinstance(shape, (list, tuple)):
        raise TypeError(f"to_tensor: a shape is a list of lengths, not {shape!r}")
    lengths = [None if n in (None, -1) else static_number("to_tensor: shape", n) for n in shape]
    if len(lengths) != rank:
        raise ValueError(f"to_tensor: a shape of {len(lengths)} lengths is for no tensor with {rank} axes")
    return lengths


def _places(x: RaggedTensor, wanted: list[int | None]) -> Any:
    """Which flat value stands at each place of the dense tensor; the number of them for the default value."""
    m = xp(*[level._splits for level in levels(x)])
    nrows = len(x._splits) - 1
    rows = nrows if wanted[0] is None else wanted[0]
    at = m.arange(rows)
    exists = at < nrows
    for level, width in zip(levels(x), wanted[1:]):
        splits = level._splits
        if width is None:
            width = level._width
        if width is None:
            width = int(decided("to_tensor without a shape", lengths_of(splits)).max(initial=0))
        if len(splits) == 1:
            at, exists = m.zeros((*at.shape, width), np.int64), m.zeros((*at.shape, width), bool)
            continue
        at = m.where(exists, at, 0)
        lengths = m.where(exists, lengths_of(splits)[at], 0)
        column = m.arange(width)
        exists = column < lengths[..., None]
        at = splits[:-1][at][..., None] + column
    return m.where(exists, at, count_of(x.flat_values))


def from_tensor(
    cls: type[RaggedTensor],
    tensor: TensorLike,
    lengths: Any = None,
    padding: TensorLike | None = None,
    ragged_rank: int = 1,
    name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> RaggedTensor:
    """The rows of a dense tensor.

    Args:
        tensor: of at least two axes.
        lengths: the length of each row, or a list of the lengths at each level; by default whole rows are taken.
        padding: in place of `lengths`: what rows end with that does not belong to them.
        ragged_rank: the number of levels of rows.
        row_splits_dtype: int32 or int64.

    Raises:
        ValueError: if the arguments do not fit each other.

    >>> from gradtape import RaggedTensor
    >>> RaggedTensor.from_tensor([[1, 2, 0], [3, 0, 0]], padding=0)
    <tf.RaggedTensor [[1, 2], [3]]>
    """
    x = convert_to_tensor(tensor)
    depth = static_number("from_tensor: ragged_rank", ragged_rank)
    dtype = dtypes.as_dtype(row_splits_dtype).numpy_dtype
    if lengths is not None and padding is not None:
        raise ValueError("from_tensor: give lengths or padding, not both")
    per_level = _per_level(lengths)
    depth = depth if per_level is None else len(per_level)
    if not 0 < depth < x.ndim:
        raise ValueError(
            f"from_tensor: ragged_rank must be 1 or more, and less than the {x.ndim} axes of the tensor, not {depth}"
        )
    if per_level is not None:
        return _cut(x, per_level, dtype)
    shape = x._array.shape
    outer = math.prod(shape[:depth])
    flat = reshape(x, (outer, *shape[depth:]))
    if padding is not None:
        result = _without_padding(flat, padding, dtype)
    else:
        result = ragged(
            reshape(x, (outer * shape[depth], *shape[depth + 1 :])),
            uniform_splits(outer, shape[depth], dtype),
            shape[depth],
        )
    for axis in range(depth - 1, 0, -1):
        result = ragged(result, uniform_splits(math.prod(shape[:axis]), shape[axis], dtype), shape[axis])
    return result


def _per_level(lengths: Any) -> list[Any] | None:
    if lengths is None:
        return None
    if not isinstance(lengths, (list, tuple)) or not lengths:
        return [lengths]
    nested = all(isinstance(level, (list, tuple)) or getattr(level, "ndim", 0) for level in lengths)
    return list(lengths) if nested else [lengths]


def _cut(x: Tensor, per_level: list[Any], dtype: Any) -> RaggedTensor:
    """The first values of each row, by the lengths of all levels."""
    lengths = partition("from_tensor", "lengths", per_level[0], dtype)
    shape = x._array.shape
    if len(lengths) != shape[0]:
        raise InvalidArgumentError(f"from_tensor: {len(lengths)} lengths for {shape[0]} rows")
    lengths = np.clip(decided("from_tensor", lengths), 0, shape[1])
    splits = splits_of_lengths(lengths)
    count = int(splits[-1])
    rows, columns = rows_of_values(splits, count), columns_of_values(splits, count)
    inner: Any = gather(reshape(x, (shape[0] * shape[1], *shape[2:])), wrap(rows * shape[1] + columns))
    return ragged(_cut(inner, per_level[1:], dtype) if len(per_level) > 1 else inner, splits)


def _without_padding(x: Tensor, padding: TensorLike, dtype: Any) -> RaggedTensor:
    """Rows up to the last value that is not the padding."""
    array = decided("from_tensor with padding", x._array)
    fill = decided("from_tensor with padding", convert_to_tensor(padding, x.dtype)._array)
    if fill.shape not in ((), array.shape[2:]):
        raise ValueError(
            f"from_tensor: padding of shape {list(fill.shape)} is for no values of shape {array.shape[2:]}"
        )
    other = (array != fill).reshape(*array.shape[:2], -1).any(-1)
    lengths = (
        np.where(other.any(1), array.shape[1] - np.argmax(other[:, ::-1], 1), 0) if array.shape[1] else 0
    )
    return _cut(x, [np.broadcast_to(np.asarray(lengths, dtype), array.shape[:1])], dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Sparse


def to_sparse(self: RaggedTensor, name: str | None = None) -> SparseTensor:
    """A sparse tensor with the values at their places.

    >>> from gradtape import ragged
    >>> ragged.constant([[1, 2], [3]]).to_sparse().indices.numpy()
    array([[0, 0],
           [0, 1],
           [1, 0]])
    """
    flat = self.flat_values
    columns = places_of_values(self)
    inner = flat._array.shape[1:]
    if inner:
        size = math.prod(inner)
        columns = [np.repeat(column, size) for column in columns]
        grid = np.indices(inner).reshape(len(inner), -1)
        columns += [np.tile(axis, count_of(flat)) for axis in grid]
        flat = reshape(flat, (-1,))
    shape = self.bounding_shape()._array.tolist()
    return SparseTensor(np.stack(columns, 1).astype(np.int64), flat, shape)


def places_of_values(x: RaggedTensor) -> list[Any]:
    """For each ragged axis and the first, the index of each flat value along it."""
    deep = levels(x)
    out: list[Any] = []
    for level in deep:
        splits, count = decided("to_sparse", level._splits), count_of(level._values)
        rows = rows_of_values(splits, count)
        out = [column[rows] for column in out] if out else [rows]
        out.append(columns_of_values(splits, count))
    return out


def from_sparse(
    cls: type[RaggedTensor],
    st_input: SparseTensor,
    name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> RaggedTensor:
    """The rows of a sparse tensor of two axes whose elements stand at the beginning of the rows.

    Raises:
        ValueError: if it has other axes, or rows with gaps.

    >>> from gradtape import RaggedTensor, sparse
    >>> RaggedTensor.from_sparse(sparse.from_dense([[1, 2], [3, 0]]))
    <tf.RaggedTensor [[1, 2], [3]]>
    """
    sparse = in_order(checked("from_sparse", st_input))
    if len(sparse.lengths) != 2:
        raise ValueError(f"from_sparse takes a sparse tensor with two axes, not {len(sparse.lengths)}")
    indices = sparse.indices._array
    dtype = dtypes.as_dtype(row_splits_dtype).numpy_dtype
    splits = splits_of_rowids("from_sparse", indices[:, 0].astype(dtype), sparse.lengths[0])
    if not is_traced(indices) and (columns_of_values(splits, len(indices)) != indices[:, 1]).any():
        raise InvalidArgumentError("from_sparse: there are gaps between the elements of a row")
    return ragged(sparse.values, splits)


def _install(methods: Sequence[Any], class_methods: Sequence[Any]) -> None:
    for method in methods:
        setattr(RaggedTensor, method.__name__, method)
    for method in class_methods:
        setattr(RaggedTensor, method.__name__, classmethod(method))


_install([to_tensor, to_sparse], [from_tensor, from_sparse])
