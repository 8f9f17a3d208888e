"""Sparse and ragged tensors as elements: their rows, many of them as one, and their specs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.composite import CompositeTensor
from ..core.errors import InvalidArgumentError
from ..core.tensor import Tensor, wrap
from ..ops.array.movement import gather
from ..ops.ragged.joining_rows import stacked
from ..ops.ragged.ragged_tensor import RaggedTensor, RaggedTensorSpec
from ..ops.sparse import arrangement as sparse
from ..ops.sparse.sparse_tensor import SparseTensor, SparseTensorSpec


def stack(leaves: Sequence[Any], where: str) -> Any:
    """Sparse or ragged tensors along a new first axis. Sparse ones may differ in shape: the largest lengths count.

    Raises:
        TypeError: for other values, or if the tensors are not all of one kind.
    """
    kind = type(leaves[0])
    if kind not in (SparseTensor, RaggedTensor) or any(type(leaf) is not kind for leaf in leaves):
        kinds = sorted({type(leaf).__name__ for leaf in leaves})
        raise TypeError(f"batch: {where} are {' and '.join(kinds)}, which cannot be stacked")
    if kind is RaggedTensor:
        return stacked("batch", leaves)
    lengths = {len(leaf.lengths) for leaf in leaves}
    if len(lengths) > 1:
        raise InvalidArgumentError(
            f"batch: {where} are sparse tensors of {sorted(lengths)} axes: all must have as many"
        )
    return sparse.concat(0, [sparse.expand_dims(leaf, 0) for leaf in leaves], expand_nonconcat_dims=True)


def row_count(leaf: Any) -> int | None:
    """The length of the first axis of a tensor of any kind; None for a scalar."""
    if isinstance(leaf, RaggedTensor):
        return int(leaf.nrows())
    lengths = leaf.lengths if isinstance(leaf, SparseTensor) else leaf._array.shape
    return int(lengths[0]) if lengths else None


def row(leaf: Any, i: int) -> Any:
    """One row of a tensor of any kind."""
    if isinstance(leaf, RaggedTensor):
        return leaf[int(i)]
    if isinstance(leaf, SparseTensor):
        rest = leaf.lengths[1:]
        block = sparse.slice(leaf, [int(i)] + [0] * len(rest), [1, *rest])
        return SparseTensor(block.indices[:, 1:], block.values, rest)
    return wrap(leaf._array[i, ...])


def rows(leaf: Any, indices: Sequence[int]) -> Any:
    """Some rows of a tensor of any kind, stacked."""
    if isinstance(leaf, SparseTensor):
        chosen = [row(leaf, i) for i in indices]
        return (
            stack(chosen, "the rows")
            if chosen
            else sparse.slice(leaf, [0] * len(leaf.lengths), [0, *leaf.lengths[1:]])
        )
    numbers = np.asarray(indices, np.int64)
    if isinstance(leaf, RaggedTensor):
        return gather(leaf, wrap(numbers))  # type: ignore[arg-type]
    return wrap(leaf._array.take(numbers, 0))


def is_composite(leaf: Any) -> bool:
    """Return whether this is a value that consists of tensors."""
    return isinstance(leaf, CompositeTensor)


def has_rows(leaf: Any) -> bool:
    """Return whether this is a tensor of any kind with a first axis."""
    return isinstance(leaf, (Tensor, RaggedTensor, SparseTensor)) and row_count(leaf) is not None


def row_spec(spec: Any) -> Any:
    """The spec of the rows of a tensor with this spec."""
    if isinstance(spec, RaggedTensorSpec):
        shape = None if spec.shape.rank is None else spec.shape[1:]
        return RaggedTensorSpec(shape, spec.dtype, max(spec.ragged_rank - 1, 0), spec.row_splits_dtype)
    return type(spec)(None if spec.shape.rank is None else spec.shape[1:], spec.dtype)


def batched_spec(spec: Any, size: int | None) -> Any:
    """The spec of tensors with this spec, stacked along a new first axis."""
    shape = None if spec.shape.rank is None else [size, *spec.shape]
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype)
    return type(spec)(shape, spec.dtype)


SHAPED = (RaggedTensorSpec, SparseTensorSpec)  # the specs of composite tensors that can be stacked
