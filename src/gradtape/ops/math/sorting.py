"""Sorting and searching: order, the largest elements, places in a sorted row, distinct values."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from ...core.dtypes import as_dtype
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, primitive, real_floats
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import Axis, DTypeLike, TensorLike
from ...engine.arrays import is_traced, xp
from ..array.movement import reshape, transpose
from ..known import known, shape_known
from ..scalars import choice, integer
from .reduction import one_axis
from .segment import comparable, integers, with_length

# ---------------------------------------------------------------------------------------------------------------------
# Elements taken along an axis, and put back


@primitive(mixed=True, linear=True)
def take_along(x, indices, *, axis):
    """The elements of each row at that row's indices."""
    return xp(x, indices).take_along_axis(x, _in_front(indices, x.ndim), axis)


@primitive(mixed=True, linear=True)
def put_along(x, indices, *, axis, size):
    """Zeros, with the elements of each row at that row's indices, of which no two are the same."""
    out = np.zeros(with_length(x.shape, axis, size), x.dtype)
    np.put_along_axis(out, _in_front(indices, x.ndim), x, axis)
    return out


@put_along.compiled
def _(x, indices, *, axis, size):
    m = xp(x, indices)
    out = m.zeros(with_length(x.shape, axis, size), x.dtype)
    return m.put_along_axis(out, _in_front(indices, x.ndim), x, axis, inplace=False)


def _in_front(indices: Any, ndim: int) -> Any:
    """Indices with as many axes as the elements, which may have extra ones in front."""
    return indices.reshape((1,) * (ndim - indices.ndim) + indices.shape)


take_along.rules(x=lambda g, indices, x_shape, axis: put_along(g, indices, axis=axis, size=x_shape[axis]))
put_along.rules(x=lambda g, indices, axis: take_along(g, indices, axis=axis))

# ---------------------------------------------------------------------------------------------------------------------
# Sorting


def _downwards(x: Any) -> Any:
    """Numbers in the opposite order. ~x reverses integers without overflow."""
    return -x if x.dtype.kind in "fV" else ~x


@primitive(name="argsort", instead="tf.sort, through which gradients pass")
def argsort_(x, *, axis, descending, dtype):
    """The order that sorts each row; equal elements keep theirs."""
    return np.argsort(_downwards(x) if descending else x, axis, stable=True).astype(dtype)


@argsort_.compiled
def _(x, *, axis, descending, dtype):
    return _sorted_by_jax(_downwards(x) if descending else x, axis)[1].astype(dtype)


@primitive(name="sort")
def sort_(x, *, axis, descending):
    """The elements of each row in order: nine times as fast as finding the order, which only the gradient needs."""
    return _downwards(np.sort(_downwards(x), axis)) if descending else np.sort(x, axis)


@sort_.compiled
def _(x, *, axis, descending):
    if descending:
        return _downwards(_sorted_by_jax(_downwards(x), axis)[0])
    return _sorted_by_jax(x, axis)[0]


def _sorted_by_jax(x: Any, axis: int) -> Any:
    """The elements in order, and the order. XLA computes only those of the two that are used, and both in one sort."""
    from jax import lax

    axis += x.ndim
    numbers = lax.broadcasted_iota(np.int64 if x.shape[axis] >> 31 else np.int32, x.shape, axis)
    return lax.sort((x, numbers), dimension=axis, is_stable=True, num_keys=1)


def _unsort(g: Any, x: Any, x_shape: tuple[int, ...], axis: int, descending: bool) -> Any:
    order = argsort_(x, axis=axis, descending=descending, dtype="int64")
    return put_along(g, order, axis=axis, size=x_shape[axis])


sort_.rules(x=_unsort)


@primitive(
    name="top_k", instead="tf.math.top_k's values, through which gradients pass: its indices are integers"
)
def top_k_(x, *, k, dtype):
    """The indices of the k largest elements of each row, largest first; of equals, those that come first."""
    n = x.shape[-1]
    if 4 * k < n:
        chosen = _largest(x.reshape(-1, n), k)
        if chosen is not None:
            values = np.take_along_axis(x.reshape(-1, n), chosen, -1)
            order = np.argsort(_downwards(values), -1, kind="stable")
            return np.take_along_axis(chosen, order, -1).astype(dtype).reshape(*x.shape[:-1], k)
    return np.argsort(_downwards(x), -1, stable=True)[..., :k].astype(dtype)


@top_k_.compiled
def _(x, *, k, dtype):
    from jax import lax

    return lax.top_k(x, k)[1].astype(dtype)


def _largest(x: Any, k: int) -> Any:
    """The indices, in order, of the k largest elements of each row, without sorting them all; None if some are nan."""
    if k == 0:
        return np.zeros((len(x), 0), np.intp)
    n = x.shape[1]
    least = np.partition(x, n - k, axis=1)[:, n - k, None]
    above, level = x > least, x == least
    missing = k - np.count_nonzero(above, axis=1, keepdims=True)
    chosen = above | (level & (np.cumsum(level, axis=1) <= missing))
    found = np.nonzero(chosen)[1]
    return found.reshape(len(x), k) if found.size == len(x) * k and (least == least).all() else None


# ---------------------------------------------------------------------------------------------------------------------
# Searching


@primitive(name="searchsorted")
def searchsorted_(sequence, values, *, side, dtype):
    """The index at which each value belongs in its row of `sequence`."""
    if sequence.ndim == 1:
        return np.searchsorted(sequence, values, side).astype(dtype)
    return _bisected(sequence, values, side=side, dtype=dtype)


def _bisected(sequence: Any, values: Any, *, side: str, dtype: Any) -> Any:
    """The same in many rows, by halving all intervals at once."""
    m, n = xp(sequence, values), sequence.shape[-1]
    low, high = m.zeros(values.shape, int), m.full(values.shape, n)
    for _ in range(n.bit_length()):
        middle = (low + high) // 2
        found = m.take_along_axis(sequence, m.minimum(middle, n - 1), -1)
        above = (found < values if side == "left" else found <= values) & (low < high)
        low, high = m.where(above, middle + 1, low), m.where(above, high, middle)
    return low.astype(dtype)


searchsorted_.compiled(_bisected)


@primitive(mixed=True, name="in_top_k", discrete=True)
def in_top_k_(predictions, targets, *, k):
    """Return whether fewer than k predictions of the row are larger than the target's, and all are finite."""
    m, n = xp(predictions, targets), predictions.shape[1]
    inside = (targets >= 0) & (targets < n) & m.isfinite(predictions).all(1)
    if not n:
        return inside
    own = m.take_along_axis(predictions, m.clip(targets, 0, n - 1)[:, None], 1)
    return inside & ((predictions > own).sum(1) < k)


@primitive(name="invert_permutation")
def invert_permutation_(x):
    return xp(x).argsort(x).astype(x.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# The public functions

TopKV2 = namedtuple("TopKV2", ["values", "indices"])
Unique = namedtuple("Unique", ["y", "idx"])
UniqueWithCounts = namedtuple("UniqueWithCounts", ["y", "idx", "count"])


def _descending(name: str, direction: Any) -> bool:
    return bool(choice(name, "direction", direction, ("ASCENDING", "DESCENDING")) == "DESCENDING")


def sort(
    values: TensorLike, axis: Axis = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """The elements along `axis` in order.

    Args:
        values: Real numbers.
        axis: The axis to sort along.
        direction: 'ASCENDING' for the smallest first, 'DESCENDING' for the largest.

    Raises:
        DTypeError: If the values have no order.
        InvalidArgumentError: If `direction` is another word.

    >>> sort([3.0, 1.0, 2.0]).numpy()
    array([1., 2., 3.], dtype=float32)
    """
    x = comparable("sort", values)
    a, descending = one_axis("sort", axis, x.ndim), _descending("sort", direction)
    return apply(sort_, (x,), {"axis": a, "descending": descending})


def argsort(
    values: TensorLike,
    axis: Axis = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """The order that sorts the elements along `axis`; equal elements keep theirs, `stable` or not. See `sort`.

    Args:
        direction: "ASCENDING" or "DESCENDING".

    >>> argsort([3.0, 1.0, 2.0]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    x = comparable("argsort", values)
    a, descending = one_axis("argsort", axis, x.ndim), _descending("argsort", direction)
    return apply(argsort_, (x,), {"axis": a, "descending": descending, "dtype": "int32"})


def top_k(
    input: TensorLike,
    k: int | Tensor = 1,
    sorted: bool = True,
    index_type: DTypeLike = "int32",
    name: str | None = None,
) -> TopKV2:
    """The `k` largest elements along the last axis and their indices, largest first; of equals, those that come first.

    Args:
        input: Real numbers.
        k: The number of elements.
        sorted: Not used: the elements are always sorted.
        index_type: The dtype of the indices.

    Raises:
        DTypeError: If the elements have no order.
        InvalidArgumentError: If `k` is negative, or larger than the last axis.

    >>> top_k([1.0, 3.0, 2.0], k=2).indices.numpy()
    array([1, 2], dtype=int32)
    """
    x = comparable("top_k", input)
    count = known("top_k", "k", integers("top_k", "k", k)._array)
    if not x.ndim:
        raise InvalidArgumentError("top_k: input must have at least one axis, a scalar has none")
    if count.ndim or not 0 <= count <= x._array.shape[-1]:
        raise InvalidArgumentError(
            f"top_k: k must lie between 0 and the length of the last axis of shape {list(x._array.shape)}, "
            f"not {count.tolist()}"
        )
    indices = apply(top_k_, (x,), {"k": int(count), "dtype": as_dtype(index_type).name})
    return TopKV2(apply(take_along, (x, indices), {"axis": -1}), indices)


class ApproxTopK(NamedTuple):
    """Values and their indices."""

    values: Tensor
    indices: Tensor


def approx_max_k(
    operand: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The `k` largest elements along an axis and their indices: exactly, where TPUs give them approximately.

    Args:
        operand: floating numbers.
        k: how many.
        reduction_dimension: the axis.
        recall_target, reduction_input_size_override, aggregate_to_topk: accepted; no effect.

    Raises:
        DTypeError: if the elements are not floating numbers.
        InvalidArgumentError: if there are fewer than `k`.

    >>> approx_max_k([1.0, 3.0, 2.0], 2).values.numpy()
    array([3., 2.], dtype=float32)
    """
    return _approximate("approx_max_k", operand, k, reduction_dimension, 1)


def approx_min_k(
    operand: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The `k` least elements along an axis and their indices. The arguments are those of `approx_max_k`.

    >>> approx_min_k([1.0, 3.0, 2.0], 2).values.numpy()
    array([1., 2.], dtype=float32)
    """
    return _approximate("approx_min_k", operand, k, reduction_dimension, -1)


def _approximate(name: str, operand: TensorLike, k: int, dimension: int, sign: int) -> ApproxTopK:
    x = convert(operand)
    if not x.dtype.is_floating:
        raise DTypeError(
            f"{name} takes floating tensors, not {x.dtype.name}: use top_k, or cast(x, 'float32')"
        )
    axis = one_axis(name, dimension, x.ndim) % x.ndim
    order = [*[i for i in range(x.ndim) if i != axis], axis]
    back = [order.index(i) for i in range(x.ndim)]
    values, indices = top_k(sign * transpose(x, order), k)
    return ApproxTopK(sign * transpose(values, back), transpose(indices, back))


def in_top_k(
    targets: TensorLike, predictions: TensorLike, k: int | Tensor, name: str | None = None
) -> Tensor:
    """Whether each row's target is among its `k` largest predictions; equal ones count together.

    False for rows that hold inf or nan.

    Args:
        targets: The index of one prediction for each row.
        predictions: A matrix of real numbers.
        k: The number of predictions.

    Raises:
        InvalidArgumentError: If the shapes do not fit.

    >>> in_top_k([1, 0], [[0.1, 0.9], [0.2, 0.8]], k=1).numpy()
    array([ True, False])
    """
    x, at = convert(predictions), integers("in_top_k", "targets", targets)
    if x.ndim != 2 or at.ndim != 1 or x._array.shape[0] != at._array.shape[0]:
        raise InvalidArgumentError(
            f"in_top_k: predictions must be a matrix and targets have a number for each row, not of shapes "
            f"{list(x._array.shape)} and {list(at._array.shape)}"
        )
    real_floats(in_top_k_, [x._array], None)
    return apply(in_top_k_, (x, at), {"k": integer("in_top_k", "k", k)})


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """The index at which each value belongs in `sorted_sequence` along the last axis.

    Args:
        sorted_sequence: Real numbers in ascending order along the last axis; the axes before it are a batch.
        values: The values to find, with the same batch.
        side: 'left' for the index before equal elements, 'right' for the index after.
        out_type: The integer dtype of the result.

    Raises:
        DTypeError: If the sequence has no order, or `out_type` is no integer dtype.
        InvalidArgumentError: If the batches differ, or `side` is another word.

    >>> searchsorted([1.0, 2.0, 2.0, 3.0], [2.0, 4.0]).numpy()
    array([1, 4], dtype=int32)
    """
    choice("searchsorted", "side", side, ("left", "right"))
    kind = as_dtype(out_type)
    if not kind.is_integer:
        raise DTypeError(f"searchsorted: out_type must be int32 or int64, not {kind.name}")
    sequence = comparable("searchsorted", sorted_sequence)
    x = convert(values, None, sequence._array.dtype)
    rows, shape = sequence._array.shape, x._array.shape
    if not rows or not shape or math.prod(rows[:-1]) != math.prod(shape[:-1]):
        raise InvalidArgumentError(
            f"searchsorted: sorted_sequence of shape {list(rows)} and values of shape {list(shape)} must have "
            "the same axes before the last, and a last one"
        )
    sequence = reshape(sequence, (*shape[:-1], rows[-1]))
    return apply(searchsorted_, (sequence, x), {"side": side, "dtype": kind.name})


def distinct(name: str, value: Any, axis: int = 0) -> tuple[Any, Any, Any]:
    """The distinct slices along an axis, in order of appearance; which of them each slice is; and their counts."""
    x = convert(value)._array
    shape_known(name, "x", x, "sort it and compare neighbours, which keeps the shape")
    rows = x
    if x.ndim > 1:
        numbers = np.unique(x, return_inverse=True)[1] if x.dtype.kind == "O" else x
        rows = np.moveaxis(numbers.reshape(x.shape), axis, 0).reshape(x.shape[axis], -1 if x.size else 0)
    by_row = 0 if x.ndim > 1 else None
    _, first, which, counts = np.unique(rows, True, True, True, axis=by_row, equal_nan=False)
    order = np.argsort(first)
    rank = np.argsort(order)
    return x.take(first[order], axis), rank[which.reshape(-1)], counts[order]


def _of_vector(name: str, value: Any) -> tuple[Any, Any, Any]:
    x = convert(value)
    if x.ndim != 1:
        raise InvalidArgumentError(f"{name}: takes a vector, not a tensor of shape {list(x._array.shape)}")
    return distinct(name, x)


def unique(x: TensorLike, out_idx: DTypeLike = "int32", name: str | None = None) -> Unique:
    """The distinct elements of a vector in the order they appear, and for each element the index of its value.

    Args:
        x: A vector.
        out_idx: The dtype of the indices.

    Raises:
        InvalidArgumentError: If `x` is no vector.
        NotCompilableError: If `x` is computed in a `@function`: the shape of the result depends on its values.

    >>> unique([3, 1, 3]).idx.numpy()
    array([0, 1, 0], dtype=int32)
    """
    values, which, _ = _of_vector("unique", x)
    return Unique(convert(values), convert(which.astype(as_dtype(out_idx).numpy_dtype)))


def unique_with_counts(
    x: TensorLike, out_idx: DTypeLike = "int32", name: str | None = None
) -> UniqueWithCounts:
    """The distinct elements of a vector, for each element the index of its value, and the counts. See `unique`.

    Args:
        out_idx: dtype of the positions and counts.

    >>> unique_with_counts([3, 1, 3]).count.numpy()
    array([2, 1], dtype=int32)
    """
    kind = as_dtype(out_idx).numpy_dtype
    values, which, counts = _of_vector("unique_with_counts", x)
    return UniqueWithCounts(convert(values), convert(which.astype(kind)), convert(counts.astype(kind)))


def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of a permutation: a vector that holds each number from 0 up to its length once.

    Raises:
        InvalidArgumentError: If `x` is no permutation.

    >>> invert_permutation([2, 0, 1]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    value = integers("invert_permutation", "x", x)
    array = value._array
    if array.ndim != 1 or not (is_traced(array) or np.array_equal(np.sort(array), np.arange(array.size))):
        raise InvalidArgumentError(
            "invert_permutation: x must be a vector that holds each number from 0 up to its length once, "
            f"not {value if is_traced(array) else str(array.tolist())[:60]}"
        )
    return apply(invert_permutation_, (value,))
