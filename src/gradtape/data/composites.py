"""Sparse and ragged tensors in elements of datasets: their rows, several of them as one, and their specs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.composite import CompositeTensor, TypeSpec
from ..core.errors import InvalidArgumentError
from ..core.spec import TensorSpec
from ..core.tensor import wrap
from ..ops.ragged.joining_rows import stacked as stacked_rows
from ..ops.ragged.ragged_tensor import RaggedTensor, RaggedTensorSpec
from ..ops.sparse.arrangement import concat, expand_dims, to_dense
from ..ops.sparse.sparse_tensor import SparseTensor, SparseTensorSpec, in_order


def stacked(leaves: Sequence[Any], where: str) -> Any:
    """Sparse or ragged tensors along a new first axis; also tensors, the rows of a ragged tensor, of any lengths.

    Sparse tensors of different lengths become one of the greatest, as in TensorFlow.
    """
    kinds = {type(leaf).__name__ for leaf in leaves}
    if len(kinds) > 1 or (isinstance(leaves[0], CompositeTensor) and not _has_rows(leaves[0])):
        raise TypeError(f"batch: {where} are of {sorted(kinds)}, which cannot be put together as one tensor")
    if not isinstance(leaves[0], SparseTensor):
        return stacked_rows("batch", leaves)
    ranks = {len(leaf.lengths) for leaf in leaves}
    if len(ranks) > 1:
        raise InvalidArgumentError(f"batch: {where} have {sorted(ranks)} axes: all must have as many")
    return concat(0, [expand_dims(leaf, 0) for leaf in leaves], expand_nonconcat_dims=True)


def _has_rows(value: Any) -> bool:
    return isinstance(value, (SparseTensor, RaggedTensor))


def as_numpy(leaf: Any) -> Any:
    """A part of an element for NumPy."""
    if leaf is None:
        return None
    return (to_dense(leaf) if isinstance(leaf, SparseTensor) else leaf).numpy()


class CompositeRows:
    """The rows along the first axis of a sparse or a ragged tensor, which are one column of `data.sources.Rows`."""

    def __init__(self, value: Any, what: str) -> None:
        if not _has_rows(value) or not value.shape.rank:
            raise InvalidArgumentError(f"{what}: {value!r} has no first axis to slice along")
        self._value: Any = value
        self._starts: Any = None
        self.spec = row_spec(value._type_spec)
        self.length = int(value.nrows()) if isinstance(value, RaggedTensor) else int(value.lengths[0])
        if isinstance(value, SparseTensor):
            self._value = in_order(value)
            first_axis = self._value.indices._array[:, 0]
            self._starts = np.searchsorted(first_axis, np.arange(self.length + 1))

    def row(self, i: int) -> Any:
        """One row: a tensor, if the ragged tensor has no rows of rows."""
        if self._starts is None:
            return self._value[int(i)]
        part = slice(self._starts[i], self._starts[i + 1])
        indices, values = self._value.indices._array, self._value.values._array
        return SparseTensor(wrap(indices[part, 1:]), wrap(values[part]), self._value.lengths[1:])

    def take(self, indices: Sequence[int]) -> Any:
        """Several rows, as one sparse or ragged tensor."""
        return stacked([self.row(i) for i in indices], "the elements")


def is_ragged_row(spec: Any) -> bool:
    """Return whether a spec is that of rows of a ragged tensor: tensors, which `batch` makes a ragged one of."""
    return isinstance(spec, RaggedTensorSpec) and not spec.ragged_rank


def as_ragged_row(spec: Any, splits: Any) -> Any:
    """The spec of tensors as rows of a ragged tensor, if their lengths are open; others stay."""
    if not isinstance(spec, TensorSpec) or spec.shape.is_fully_defined():
        return spec
    return RaggedTensorSpec(spec.shape, spec.dtype, 0, splits)


def batch_spec(spec: Any, size: int | None) -> Any:
    """The spec of several of what `spec` describes along a new first axis."""
    shape = None if spec.shape.rank is None else [size, *spec.shape]
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype)
    return type(spec)(shape, spec.dtype)


def row_spec(spec: Any) -> Any:
    """The spec of one row of what `spec` describes."""
    shape = None if spec.shape.rank is None else spec.shape[1:]
    if isinstance(spec, RaggedTensorSpec):
        if spec.ragged_rank == 0:
            return TensorSpec(shape, spec.dtype)
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype)
    return type(spec)(shape, spec.dtype)


def has_batches(spec: Any) -> bool:
    """Return whether `batch_spec` and `row_spec` know such a spec."""
    return isinstance(spec, (TensorSpec, SparseTensorSpec, RaggedTensorSpec))


def zeros(spec: TypeSpec, length: int) -> Any:
    """A value of this spec without content, with `length` for each length that the spec leaves open.

    Raises:
        ValueError: if none can be made.
    """
    if not has_batches(spec) or spec.shape.rank is None:  # type: ignore[attr-defined]
        raise ValueError(f"no example can be made for {spec}")
    dtype, shape = spec.dtype, [length if size is None else size for size in spec.shape]  # type: ignore[attr-defined]
    if isinstance(spec, SparseTensorSpec):
        indices = np.zeros((0, len(shape)), np.int64)
        return SparseTensor(wrap(indices), wrap(np.zeros(0, dtype.numpy_dtype)), shape)
    filler = b"" if dtype is dtypes.string else 0
    dense = wrap(np.full(shape, filler, dtype.numpy_dtype))
    if isinstance(spec, RaggedTensorSpec) and spec.ragged_rank:
        return RaggedTensor.from_tensor(
            dense, None, None, spec.ragged_rank, row_splits_dtype=spec.row_splits_dtype
        )
    return dense
