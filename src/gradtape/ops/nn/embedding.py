"""Embeddings: rows of a table by their ids, one by one or combined for each example."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, apply2
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert, is_tensor
from ...core.types import TensorLike
from ..array.movement import cast, concat, gather, reshape
from ..known import known, shape_known
from ..math.clip import clip_by_norm
from ..math.elementwise import divide_no_nan, sqrt, square
from ..math.segment import segment_sum_
from ..scalars import choice, integer


class Sparse(NamedTuple):
    """The parts of a sparse tensor: the indices of its values (a row each), the values, and its shape."""

    indices: Tensor
    values: Tensor
    dense_shape: Tensor


def as_table(params: TensorLike) -> TensorLike:
    """`params` as one table: the rows of a list of tensors follow one another."""
    if not isinstance(params, (list, tuple)) or not all(
        is_tensor(p) or isinstance(p, np.ndarray) for p in params
    ):
        return params
    if not params:
        raise InvalidArgumentError("embedding_lookup: params must not be an empty list")
    return params[0] if len(params) == 1 else concat(params, 0)


def embedding_lookup(
    params: TensorLike, ids: TensorLike, max_norm: float | None = None, name: str | None = None
) -> Tensor:
    """The rows of a table at `ids`.

    Args:
        params: the table; a list of tensors is one table, cut into parts.
        max_norm: rows that are longer are scaled down to this length.

    Raises:
        InvalidArgumentError: if there is no such row.

    >>> embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1]).numpy()
    array([[3., 4.]], dtype=float32)
    """
    rows = gather(as_table(params), ids)
    if max_norm is None:
        return rows
    axes = list(range(convert(ids).ndim, rows.ndim))
    return clip_by_norm(rows, max_norm, axes=axes)


def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids: Any,
    sp_weights: Any,
    combiner: str | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """For each example the rows of a table at its ids, combined.

    Args:
        params: the table; a list of tensors is one table, cut into parts.
        sp_ids: a sparse tensor of ids: anything with `indices`, `values` and `dense_shape`. The first column of the
            indices is the example.
        sp_weights: a sparse tensor of their weights, or None for ones.
        combiner: the weighted "sum", "mean" (the default) or "sqrtn": the sum over the root of the sum of the weights'
            squares.
        max_norm: rows that are longer are scaled down to this length.
        allow_fast_lookup: not used.

    Raises:
        DTypeError: if `sp_ids` or `sp_weights` is not sparse.
        InvalidArgumentError: if they have values at different places, or there is no such row or combiner.

    >>> ids = Sparse([[0, 0], [0, 1], [1, 0]], [0, 1, 1], [2, 2])
    >>> embedding_lookup_sparse([[1.0, 2.0], [3.0, 4.0]], ids, None, "sum").numpy()
    array([[4., 6.],
           [3., 4.]], dtype=float32)
    """
    name = "embedding_lookup_sparse"
    where, ids, _ = _parts(name, "sp_ids", sp_ids)
    weights = None if sp_weights is None else _parts(name, "sp_weights", sp_weights)[1]
    if weights is not None and weights._array.shape != ids._array.shape:
        raise InvalidArgumentError(f"{name}: sp_ids and sp_weights must have values at the same places")
    examples = where[:, 0].astype(np.int64)
    count = int(examples.max(initial=-1)) + 1
    return _combined(
        name, params, ids, weights, examples, count, "mean" if combiner is None else combiner, max_norm
    )


def safe_embedding_lookup_sparse(
    embedding_weights: TensorLike,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """`embedding_lookup_sparse` that leaves out negative ids, and weights that are not positive unless summing.

    Args:
        embedding_weights: the table, as `params` of `embedding_lookup_sparse`.
        sparse_ids, sparse_weights: sparse tensors, all axes but the last of which number the examples.
        default_id: the row of an example without ids; zeros by default.
        combiner, max_norm, allow_fast_lookup: those of `embedding_lookup_sparse`.

    >>> ids = Sparse([[0, 0], [2, 0]], [1, -1], [3, 1])
    >>> safe_embedding_lookup_sparse([[1.0, 2.0], [3.0, 4.0]], ids).numpy()
    array([[3., 4.],
           [0., 0.],
           [0., 0.]], dtype=float32)
    """
    name = "safe_embedding_lookup_sparse"
    where, ids, shape = _parts(name, "sparse_ids", sparse_ids)
    weights: Any = None if sparse_weights is None else _parts(name, "sparse_weights", sparse_weights)[1]
    front = shape[:-1]
    count = int(np.prod(front, dtype=int))
    examples = np.ravel_multi_index(tuple(where[:, :-1].T), front) if len(where) else np.zeros(0, np.int64)
    good = ids._array >= 0
    if weights is not None and combiner != "sum":
        good &= weights._array > 0
    examples, numbers = examples[good], ids._array[good]
    if weights is not None:
        weights = gather(weights, np.flatnonzero(good))
    if default_id is not None:
        empty = np.setdiff1d(np.arange(count), examples)
        examples = np.concatenate([examples, empty])
        numbers = np.concatenate([numbers, np.full(len(empty), integer(name, "default_id", default_id, 0))])
        if weights is not None:
            weights = concat([weights, np.ones(len(empty), weights._array.dtype)], 0)
    rows = _combined(name, embedding_weights, numbers, weights, examples, count, combiner, max_norm)
    return reshape(rows, (*front, *rows._array.shape[1:]))


def _parts(name: str, what: str, sparse: Any) -> tuple[Any, Tensor, tuple[int, ...]]:
    """The indices as an array, the values as a tensor, and the shape."""
    try:
        indices, values, shape = sparse.indices, sparse.values, sparse.dense_shape
    except AttributeError:
        raise DTypeError(
            f"{name}: {what} must be a sparse tensor, with indices, values and dense_shape, not {type(sparse).__name__}"
        ) from None
    lengths = tuple(known(name, f"the shape of {what}", convert(shape)._array).tolist())
    where = convert(indices)._array
    for array in (where, convert(values)._array):
        shape_known(
            name, what, array, "look up a matrix of ids, padded, with embedding_lookup, and weight its rows"
        )
    if where.dtype.kind not in "iu" or len(lengths) < 2 or where.size % len(lengths):
        raise InvalidArgumentError(f"{name}: {what} must be a sparse matrix, not of shape {list(lengths)}")
    return where.reshape(-1, len(lengths)), convert(values), lengths


def _combined(
    name: str,
    params: TensorLike,
    ids: Any,
    weights: Any,
    examples: Any,
    count: int,
    combiner: str,
    max_norm: float | None,
) -> Tensor:
    """The weighted rows of each of `count` examples, combined; `examples` has the number of each row's."""
    choice(name, "combiner", combiner, ("sum", "mean", "sqrtn"))
    rows = embedding_lookup(params, ids, max_norm)
    dtype = rows.dtype
    if dtype.size == 2:
        rows = cast(rows, "float32")
    if weights is None:
        weights = np.ones(len(examples), rows._array.dtype)
    weights = reshape(cast(weights, rows.dtype), (-1, *[1] * (rows.ndim - 1)))
    options = {"size": count, "trailing": rows.ndim - 1}
    at = convert(examples)
    total = apply(segment_sum_, (rows * weights, at), options)
    if combiner == "mean":
        total = apply2(divide_no_nan, total, apply(segment_sum_, (weights, at), options))
    elif combiner == "sqrtn":
        squares = apply(segment_sum_, (apply(square, (weights,)), at), options)
        total = apply2(divide_no_nan, total, apply(sqrt, (squares,)))
    return cast(total, dtype)
