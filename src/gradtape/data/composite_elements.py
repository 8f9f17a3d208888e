"""Sparse and ragged tensors as elements of datasets: their rows, their batches, and the specs of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.composite import CompositeSpec, CompositeTensor
from ..core.dtypes import DType
from ..core.errors import InvalidArgumentError
from ..core.spec import TensorSpec
from ..core.tensor import Tensor, wrap
from ..ops.ragged import RaggedTensor, RaggedTensorSpec
from ..ops.ragged.joining_rows import stacked as stacked_rows
from ..ops.ragged.row_selection import rows_at
from ..ops.sparse.arrangement import concat, expand_dims, to_dense
from ..ops.sparse.sparse_tensor import SparseTensor, SparseTensorSpec


def as_numpy(leaf: Any) -> Any:
    """A part of an element for NumPy: a sparse tensor as a dense array."""
    if leaf is None:
        return None
    return (to_dense(leaf) if isinstance(leaf, SparseTensor) else leaf).numpy()


def count(composite: CompositeTensor) -> int:
    """The number of rows."""
    if not isinstance(composite, (RaggedTensor, SparseTensor)):
        kind = type(composite).__name__
        raise TypeError(
            f"from_tensor_slices: a {kind} has no slices: slice its fields, and map them to a {kind}"
        )
    length = composite.shape[0] if len(composite.shape) else None
    if length is None:
        raise InvalidArgumentError(f"from_tensor_slices: {composite!r} has no first axis to slice along")
    return int(length)


def row(composite: Any, i: int) -> Any:
    """One row: of a ragged tensor with one level of rows, a tensor."""
    if isinstance(composite, RaggedTensor):
        return composite[int(i)]
    taken = take(composite, [i])
    return SparseTensor(wrap(taken.indices._array[:, 1:]), taken.values, taken.lengths[1:])


def take(composite: Any, numbers: Sequence[int]) -> Any:
    """The rows with these numbers."""
    wanted = np.asarray(numbers if not isinstance(numbers, range) else list(numbers), np.int64)
    if isinstance(composite, RaggedTensor):
        return rows_at(composite, wanted)
    indices = composite.indices._array
    order = np.argsort(indices[:, 0], kind="stable")
    first = np.searchsorted(indices[order, 0], wanted)
    lengths = np.searchsorted(indices[order, 0], wanted, side="right") - first
    new = np.repeat(np.arange(len(wanted)), lengths)
    places = order[
        np.arange(len(new)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(first, lengths)
    ]
    found = np.concatenate([new[:, None], indices[places, 1:]], 1)
    return SparseTensor(
        wrap(found), wrap(composite.values._array[places]), (len(wanted), *composite.lengths[1:])
    )


def stack(column: Sequence[Any]) -> Any:
    """Elements along a new first axis. Sparse ones may differ in shape: the largest lengths count.

    Raises:
        TypeError: for elements that cannot be stacked, or are not all of one kind.
    """
    kind = type(column[0])
    if kind not in (RaggedTensor, SparseTensor) or any(type(x) is not kind for x in column):
        kinds = sorted({type(x).__name__ for x in column})
        raise TypeError(f"batch: the elements are {' and '.join(kinds)}, which cannot be stacked")
    if kind is RaggedTensor:
        return stacked_rows("batch", column)
    ranks = {len(x.lengths) for x in column}
    if len(ranks) > 1:
        raise InvalidArgumentError(f"batch: sparse elements differ in rank: {sorted(ranks)}")
    return concat(0, [expand_dims(x, 0) for x in column], expand_nonconcat_dims=True)


def batched(spec: CompositeSpec, size: int | None) -> CompositeSpec:
    """The spec of elements along a new first axis."""
    if isinstance(spec, RaggedTensorSpec):
        shape = None if spec.shape.rank is None else [size, *spec.shape]
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype)
    assert isinstance(spec, SparseTensorSpec)
    return SparseTensorSpec(None if spec.shape.rank is None else [size, *spec.shape], spec.dtype)


def of_rows(spec: CompositeSpec) -> CompositeSpec:
    """The spec of rows of values of this spec."""
    shape = spec.shape[1:]  # type: ignore[attr-defined]
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype)
    assert isinstance(spec, SparseTensorSpec)
    return SparseTensorSpec(shape, spec.dtype)


def zeros(spec: CompositeSpec, length: int) -> Any:
    """An example: open lengths and rows are `length` long."""
    shape = [length if n is None else n for n in spec.shape]  # type: ignore[attr-defined]
    dtype = spec.dtype.numpy_dtype  # type: ignore[attr-defined]
    dense = wrap(np.full(shape, b"" if dtype.kind == "O" else 0, dtype))
    if not isinstance(spec, RaggedTensorSpec):
        return SparseTensor(np.zeros((0, len(shape)), np.int64), wrap(dense._array.reshape(-1)[:0]), shape)
    if not spec.ragged_rank:
        return dense
    lengths = [np.full(int(np.prod(shape[:axis])), shape[axis]) for axis in range(1, spec.ragged_rank + 1)]
    flat = dense._array.reshape(-1, *shape[spec.ragged_rank + 1 :])
    return RaggedTensor.from_nested_row_lengths(wrap(flat), lengths)


# ---------------------------------------------------------------------------------------------------------------------
# Dense elements of different shapes


def ragged_spec(spec: Any, size: int | None, splits: DType) -> Any:
    """The spec of a batch of elements, ragged where lengths are open."""
    if isinstance(spec, CompositeSpec):
        return batched(spec, size)
    if not isinstance(spec, TensorSpec):
        return spec
    if spec.shape.rank is None:
        raise InvalidArgumentError("ragged_batch: the number of axes of the elements must be known")
    if spec.shape.is_fully_defined():
        return TensorSpec([size, *spec.shape], spec.dtype)
    levels = 1 + max(axis for axis, n in enumerate(spec.shape) if n is None)
    return RaggedTensorSpec([size, *spec.shape], spec.dtype, levels, splits)


def ragged_stack(column: Sequence[Any], spec: RaggedTensorSpec) -> Any:
    """Dense elements of different shapes along a new first axis."""
    rows: list[Any] = list(column)
    if type(column[0]) is Tensor and spec.ragged_rank > 1:
        rows = [RaggedTensor.from_tensor(x, ragged_rank=spec.ragged_rank - 1) for x in column]
    joined = stacked_rows("ragged_batch", rows).with_row_splits_dtype(spec.row_splits_dtype)
    return spec._from_components(spec._to_components(joined))  # with the lengths that the spec knows
