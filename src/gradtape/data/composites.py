"""Tensors of all kinds as elements: their rows, many of them as one, and their specs.

Ragged tensors take 0.2 s to import: what knows them is imported when a value that is not dense is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.composite import CompositeSpec, CompositeTensor
from ..core.errors import InvalidArgumentError
from ..core.spec import TensorSpec
from ..core.tensor import Tensor, wrap

SPECS = (TensorSpec, CompositeSpec)  # of tensors of all kinds


def is_composite(leaf: Any) -> bool:
    """Return whether this is a value that consists of tensors."""
    return isinstance(leaf, CompositeTensor)


def _is_sparse(leaf: Any) -> bool:
    from ..ops.sparse.sparse_tensor import SparseTensor

    return isinstance(leaf, SparseTensor)


def _is_ragged(leaf: Any) -> bool:
    from ..ops.ragged.ragged_tensor import RaggedTensor

    return isinstance(leaf, RaggedTensor)


def stack(leaves: Sequence[Any], where: str) -> Any:
    """Sparse or ragged tensors along a new first axis. Sparse ones may differ in shape: the largest lengths count.

    Raises:
        TypeError: for other values, or if the tensors are not all of one kind.
    """
    if all(map(_is_ragged, leaves)):
        from ..ops.ragged.joining_rows import stacked

        return stacked("batch", leaves)
    if not all(map(_is_sparse, leaves)):
        kinds = sorted({type(leaf).__name__ for leaf in leaves})
        raise TypeError(f"batch: {where} are {' and '.join(kinds)}, which cannot be stacked")
    from ..ops.sparse.arrangement import concat, expand_dims

    ranks = {len(leaf.lengths) for leaf in leaves}
    if len(ranks) > 1:
        raise InvalidArgumentError(f"batch: {where} are sparse tensors that differ in rank: {sorted(ranks)}")
    return concat(0, [expand_dims(leaf, 0) for leaf in leaves], expand_nonconcat_dims=True)


def row_count(leaf: Any) -> int | None:
    """The length of the first axis of a tensor of any kind; None for a scalar, or what is no tensor."""
    if type(leaf) is Tensor:
        lengths = leaf._array.shape
    elif not is_composite(leaf):
        return None
    elif _is_ragged(leaf):
        return int(leaf.nrows())
    elif _is_sparse(leaf):
        lengths = leaf.lengths
    else:
        return None
    return int(lengths[0]) if lengths else None


def row(leaf: Any, i: int) -> Any:
    """One row of a tensor of any kind."""
    if type(leaf) is Tensor:
        return wrap(leaf._array[i, ...])
    if _is_ragged(leaf):
        return leaf[int(i)]
    from ..ops.sparse.sparse_tensor import SparseTensor

    block = _block(leaf, int(i), 1)
    return SparseTensor(block.indices[:, 1:], block.values, leaf.lengths[1:])


def rows(leaf: Any, indices: Sequence[int]) -> Any:
    """Some rows of a tensor of any kind, stacked."""
    numbers = np.asarray(indices, np.int64)
    if type(leaf) is Tensor:
        return wrap(leaf._array.take(numbers, 0))
    if _is_ragged(leaf):
        from ..ops.array.movement import gather

        return gather(leaf, wrap(numbers))
    return stack([row(leaf, i) for i in numbers], "the rows") if numbers.size else _block(leaf, 0, 0)


def _block(sparse: Any, start: int, count: int) -> Any:
    from ..ops.sparse.arrangement import slice as block

    rest = sparse.lengths[1:]
    return block(sparse, [start, *([0] * len(rest))], [count, *rest])


def row_spec(spec: Any) -> Any:
    """The spec of the rows of a tensor with this spec."""
    return _with_shape(spec, None if spec.shape.rank is None else spec.shape[1:], -1)


def batched_spec(spec: Any, size: int | None) -> Any:
    """The spec of tensors with this spec, stacked along a new first axis."""
    return _with_shape(spec, None if spec.shape.rank is None else [size, *spec.shape], 1)


def _with_shape(spec: Any, shape: Any, levels: int) -> Any:
    """A spec with another shape; a ragged one with so many more levels."""
    if not hasattr(spec, "ragged_rank"):
        return type(spec)(shape, spec.dtype)
    return type(spec)(shape, spec.dtype, max(spec.ragged_rank + levels, 0), spec.row_splits_dtype)
