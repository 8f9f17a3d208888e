"""Reductions over segments: rows that share an id are summed, multiplied or compared.

Primitives take the rows along one axis, the one before the last `trailing` axes, and one id a row; rows of negative ids
are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dtypes import HALF
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import Primitive, apply, numbers, primitive, rounded
from ...core.slicing import along, bounds, gather_, getitem, place, run_starts
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import is_traced, xp
from ..array.movement import reshape
from ..known import afford, shape_known
from ..scalars import integer
from .elementwise import cast_like, divide, divide_no_nan, equal, number, select, truncatediv

_UFUNCS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def with_length(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    """A shape with another length of one axis, counted from the end."""
    return (*shape[:axis], length, *shape[len(shape) + axis + 1 :])


def _reduced(kind: str, x: Any, ids: Any, size: int, trailing: int, empty: Any) -> Any:
    """The sum, prod, max or min of each segment; `empty` where there are no rows."""
    axis = -trailing - 1
    out = np.full(with_length(x.shape, axis, size), empty, x.dtype)
    order = np.argsort(ids, kind="stable")[np.count_nonzero(ids < 0) :]
    if order.size and x.size:
        ordered = ids[order]  # a segment's rows stand together, and one call reduces them all
        starts = run_starts(ordered)
        rows = x.take(order, axis)
        out[along(axis, ordered[starts]).items] = _UFUNCS[kind].reduceat(rows, starts, axis, dtype=x.dtype)
    return out


def _reduced_by_jax(kind: str, x: Any, ids: Any, size: int, trailing: int, empty: Any) -> Any:
    import jax.ops

    m = jax.numpy
    out = getattr(jax.ops, f"segment_{kind}")(m.moveaxis(x, -trailing - 1, 0), ids, size)
    if kind in ("max", "min"):
        rows = jax.ops.segment_sum(m.ones_like(ids), ids, size)
        out = m.where(rows.reshape((-1,) + (1,) * (out.ndim - 1)) > 0, out, m.asarray(empty, x.dtype))
    return m.moveaxis(out, 0, x.ndim - trailing - 1)


@primitive(wide=True, mixed=True, linear=True, check_dtype=numbers, name="segment_sum")
def segment_sum_(x, ids, *, size, trailing):
    return _reduced("sum", x, ids, size, trailing, 0)


@segment_sum_.compiled
def _(x, ids, *, size, trailing):
    return _reduced_by_jax("sum", x, ids, size, trailing, 0)


@primitive(mixed=True, linear=True)
def segment_spread(x, ids, *, trailing):
    """For each row that of its segment, and 0 where it has none: the transpose of the sum."""
    axis = -trailing - 1
    if not x.shape[axis]:
        return np.zeros(with_length(x.shape, axis, ids.shape[0]), x.dtype)
    rows = x.take(np.maximum(ids, 0), axis)
    if not ids.size or ids.min() >= 0:
        return rows
    return np.where((ids >= 0).reshape((-1,) + (1,) * trailing), rows, np.zeros((), x.dtype))


@segment_spread.compiled
def _(x, ids, *, trailing):
    axis = -trailing - 1
    if not x.shape[axis]:
        return xp(x).zeros(with_length(x.shape, axis, ids.shape[0]), x.dtype)
    return gather_.forward(x, ids, axis=axis)  # which is 0 out of bounds


segment_sum_.rules(x=lambda g, ids, trailing: segment_spread(g, ids, trailing=trailing))
segment_spread.rules(
    x=lambda g, ids, x_shape, trailing: segment_sum_(g, ids, size=x_shape[-trailing - 1], trailing=trailing)
)

# ---------------------------------------------------------------------------------------------------------------------
# Extremes


@primitive(wide=True, mixed=True, check_dtype=numbers, name="segment_max")
def segment_max_(x, ids, *, size, trailing, empty):
    return _reduced("max", x, ids, size, trailing, empty)


@segment_max_.compiled
def _(x, ids, *, size, trailing, empty):
    return _reduced_by_jax("max", x, ids, size, trailing, empty)


@primitive(wide=True, mixed=True, check_dtype=numbers, name="segment_min")
def segment_min_(x, ids, *, size, trailing, empty):
    return _reduced("min", x, ids, size, trailing, empty)


@segment_min_.compiled
def _(x, ids, *, size, trailing, empty):
    return _reduced_by_jax("min", x, ids, size, trailing, empty)


def _to_the_extreme(g: Any, x: Any, ids: Any, out: Any, size: int, trailing: int) -> Any:
    """Rows that share a segment's extreme share its gradient."""
    chosen = cast_like(equal(x, segment_spread(out, ids, trailing=trailing)), g)
    shared = divide_no_nan(g, segment_sum_(chosen, ids, size=size, trailing=trailing))
    return segment_spread(shared, ids, trailing=trailing) * chosen


segment_max_.rules(x=_to_the_extreme)
segment_min_.rules(x=_to_the_extreme)

# ---------------------------------------------------------------------------------------------------------------------
# Products


@primitive(wide=True, mixed=True, check_dtype=numbers, name="segment_prod")
def segment_prod_(x, ids, *, size, trailing):
    return _reduced("prod", x, ids, size, trailing, 1)


@segment_prod_.compiled
def _(x, ids, *, size, trailing):
    return _reduced_by_jax("prod", x, ids, size, trailing, 1)


segment_prod_.rules(
    x=lambda g, x, ids, trailing: (
        segment_spread(g, ids, trailing=trailing) * _product_of_others(x, ids, trailing)
    ),
)


def _product_of_others(x: Any, ids: Any, trailing: int) -> Any:
    """For each row the product of its segment's other rows, by multiplications only: exact where rows are 0.

    In order of ids, the product of the rows before times the product of the rows after.
    """
    ids = ids._array if type(ids) is Tensor else ids
    m = xp(ids)
    order = m.argsort(ids, stable=True)
    rows = gather_(x, order, axis=-trailing - 1)
    before, after = (_running_product(rows, ids[order], trailing, reverse) for reverse in (False, True))
    return gather_(before * after, m.argsort(order), axis=-trailing - 1)


def _running_product(x: Any, ids: Any, trailing: int, reverse: bool) -> Any:
    """For each row the product of the rows of the same id before it (after it, if reverse).

    The product of 2, 4, 8, ... rows comes from two of half as many: log2(n) steps for a longest segment of n rows, or
    for all rows where ids are not known.
    """
    product, step = _neighbour(x, ids, trailing, 1, reverse), 1
    while step < ids.shape[0] and (xp(ids) is not np or (ids[step:] == ids[:-step]).any()):
        product = product * _neighbour(product, ids, trailing, step, reverse)
        step *= 2
    return product


def _neighbour(x: Any, ids: Any, trailing: int, step: int, reverse: bool) -> Any:
    """For each row the one `step` rows before it (after it, if reverse), or 1 where that has another id."""
    m, n = xp(ids), ids.shape[0]
    same = ids[step:] == ids[: n - step]
    other = m.zeros(min(step, n), bool)
    same = m.concatenate([same, other] if reverse else [other, same])
    first, last = (along(-trailing - 1, s) for s in (slice(0, max(n - step, 0)), slice(step, None)))
    source, target = (last, first) if reverse else (first, last)
    moved = place(getitem(x, index=source), index=target, shape=tuple(x.shape))
    return select(same.reshape((-1,) + (1,) * trailing), moved, number(1, x))


# ---------------------------------------------------------------------------------------------------------------------
# Counts


@primitive(discrete=True, public="count_nonzero")
def count(ids, *, size, dtype):
    """Count how often each number from 0 on occurs; negative ones are left out."""
    return np.bincount(ids[ids >= 0], minlength=size).astype(dtype)


@count.compiled
def _(ids, *, size, dtype):
    import jax.ops

    return jax.ops.segment_sum(jax.numpy.ones(ids.shape, dtype), ids, size)


# ---------------------------------------------------------------------------------------------------------------------
# The public functions: ids in order, one for each row of `data`


def _rows(name: str, data: Any) -> Tensor:
    """Convert the rows to a tensor, which must hold numbers."""
    x = convert(data)
    if x._array.dtype.kind in "bO":
        raise DTypeError(f"{name} takes numbers, not {x.dtype.name}")
    return x


def _in_order(name: str, data: Any, segment_ids: Any) -> tuple[Tensor, Tensor, dict[str, int]]:
    """The rows, their ids, and the attributes of the primitives."""
    x, ids = _rows(name, data), integers(name, "segment_ids", segment_ids)
    at = ids._array
    if at.ndim != 1 or x._array.shape[:1] != at.shape:
        raise InvalidArgumentError(
            f"{name}: segment_ids must be a vector with one id for each row of data, "
            f"not of shape {list(at.shape)} for data of shape {list(x._array.shape)}"
        )
    shape_known(name, "segment_ids", at, f"use unsorted_{name}, and give num_segments")
    if at.size and (at[0] < 0 or (at[1:] < at[:-1]).any()):
        raise InvalidArgumentError(
            f"{name}: segment_ids must be 0 or more, and in order; use unsorted_{name} for others"
        )
    return x, ids, {"size": int(at[-1]) + 1 if at.size else 0, "trailing": x.ndim - 1}


def integers(name: str, argument: str, value: Any) -> Tensor:
    """An argument that must be a tensor of integers; an empty list is one."""
    tensor = convert(value)
    if tensor._array.dtype.kind not in "iu":
        if tensor._array.size:
            raise DTypeError(f"{name}: {argument} must be integers, not {tensor.dtype.name}")
        tensor = convert(tensor._array.astype(np.int32))
    return tensor


def comparable(name: str, value: Any) -> Tensor:
    """Convert an argument to a tensor, which must hold numbers that have an order."""
    x = convert(value)
    if not (x.dtype.is_floating or x.dtype.is_integer):
        raise DTypeError(f"{name} takes real numbers, not {x.dtype.name}")
    return x


def _row_counts(ids: Tensor, size: int, trailing: int, dtype: Any) -> Any:
    """The number of rows of each segment, at least 1, to divide by."""
    counts = count.forward(ids._array, size=size, dtype="int64")
    return xp(counts).maximum(counts, 1).astype(dtype).reshape((-1,) + (1,) * trailing)


def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The sum of the rows of each segment: rows with the same id. Missing ids give 0.

    Args:
        data: The rows, along the first axis.
        segment_ids: The id of each row, in ascending order.

    Raises:
        InvalidArgumentError: If `segment_ids` is not one id for each row, in order.

    >>> segment_sum([1.0, 2.0, 4.0], [0, 0, 2]).numpy()
    array([3., 0., 4.], dtype=float32)
    """
    x, ids, attributes = _in_order("segment_sum", data, segment_ids)
    return apply(segment_sum_, (x, ids), attributes)


def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The mean of the rows of each segment, as in `segment_sum`. Missing ids give 0.

    Raises:
        InvalidArgumentError: If `segment_ids` is not one id for each row, in order.

    >>> segment_mean([1.0, 2.0, 4.0], [0, 0, 2]).numpy()
    array([1.5, 0. , 4. ], dtype=float32)
    """
    x, ids, attributes = _in_order("segment_mean", data, segment_ids)
    if x._array.dtype.char in HALF:
        return rounded(segment_mean, x, segment_ids=ids)
    counts = _row_counts(ids, attributes["size"], attributes["trailing"], x._array.dtype)
    total = apply(segment_sum_, (x, ids), attributes)
    return apply(truncatediv if x.dtype.is_integer else divide, (total, counts))


def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The largest of the rows of each segment, element by element, as in `segment_sum`. Missing ids give 0.

    Rows that share the maximum share its gradient.

    Raises:
        InvalidArgumentError: If `segment_ids` is not one id for each row, in order.

    >>> segment_max([1.0, 2.0, 4.0], [0, 0, 2]).numpy()
    array([2., 0., 4.], dtype=float32)
    """
    x, ids, attributes = _in_order("segment_max", data, segment_ids)
    comparable("segment_max", x)
    return apply(segment_max_, (x, ids), {**attributes, "empty": 0})


def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The smallest of the rows of each segment, element by element, as in `segment_sum`. Missing ids give 0.

    Rows that share the minimum share its gradient.

    Raises:
        InvalidArgumentError: If `segment_ids` is not one id for each row, in order.

    >>> segment_min([1.0, 2.0, 4.0], [0, 0, 2]).numpy()
    array([1., 0., 4.], dtype=float32)
    """
    x, ids, attributes = _in_order("segment_min", data, segment_ids)
    comparable("segment_min", x)
    return apply(segment_min_, (x, ids), {**attributes, "empty": 0})


def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The product of the rows of each segment, as in `segment_sum`. Missing ids give 1.

    Its gradients, of any order, are exact where elements are 0.

    Raises:
        InvalidArgumentError: If `segment_ids` is not one id for each row, in order.

    >>> segment_prod([2.0, 3.0, 4.0], [0, 0, 2]).numpy()
    array([6., 1., 4.], dtype=float32)
    """
    x, ids, attributes = _in_order("segment_prod", data, segment_ids)
    return apply(segment_prod_, (x, ids), attributes)


# ---------------------------------------------------------------------------------------------------------------------
# The public functions: ids in any order and shape


def _in_any_order(
    name: str, data: Any, segment_ids: Any, num_segments: Any
) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """The rows in one axis, their ids as a vector, and the attributes of the primitives."""
    x, ids = _rows(name, data), integers(name, "segment_ids", segment_ids)
    size = integer(name, "num_segments", num_segments, 0)
    at = ids._array
    if x._array.shape[: at.ndim] != at.shape:
        raise InvalidArgumentError(
            f"{name}: the shape of segment_ids, {list(at.shape)}, must start that of data, {list(x._array.shape)}"
        )
    if not is_traced(at):
        bounds(name, np.maximum(at, 0), size if at.size else 1)
    rest = x._array.shape[at.ndim :]
    afford(name, (size, *rest), x._array.dtype.itemsize)
    return reshape(x, (at.size, *rest)), reshape(ids, (at.size,)), {"size": size, "trailing": len(rest)}


def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: int | Tensor, name: str | None = None
) -> Tensor:
    """The sum of the slices of `data` with the same id; negative ids are left out, missing ones give 0.

    Args:
        data: The slices.
        segment_ids: The id of each, in any order; its shape starts that of `data`.
        num_segments: The number of segments, which is the length of the result.

    Raises:
        InvalidArgumentError: If the shape of `segment_ids` does not start that of `data`, or an id is `num_segments` or
            more.

    >>> unsorted_segment_sum([1.0, 2.0, 4.0], [2, 0, 2], 3).numpy()
    array([2., 0., 5.], dtype=float32)
    """
    x, ids, attributes = _in_any_order("unsorted_segment_sum", data, segment_ids, num_segments)
    return apply(segment_sum_, (x, ids), attributes)


def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: int | Tensor, name: str | None = None
) -> Tensor:
    """The mean of the slices of `data` with the same id; negative ids are left out, missing ones give 0.

    Raises:
        InvalidArgumentError: If the shape of `segment_ids` does not start that of `data`, or an id is `num_segments` or
            more.

    >>> unsorted_segment_mean([1.0, 2.0, 4.0], [2, 0, 2], 3).numpy()
    array([2. , 0. , 2.5], dtype=float32)
    """
    x, ids, attributes = _in_any_order("unsorted_segment_mean", data, segment_ids, num_segments)
    if x._array.dtype.char in HALF:
        return rounded(unsorted_segment_mean, x, segment_ids=ids, num_segments=num_segments)
    counts = _row_counts(ids, attributes["size"], attributes["trailing"], x._array.dtype)
    return apply(divide, (apply(segment_sum_, (x, ids), attributes), counts))


def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: int | Tensor, name: str | None = None
) -> Tensor:
    """The sum of the slices of `data` with the same id over the root of their number; negative ids are left out.

    Raises:
        InvalidArgumentError: If the shape of `segment_ids` does not start that of `data`, or an id is `num_segments` or
            more.

    >>> unsorted_segment_sqrt_n([1.0, 2.0, 4.0, 1.0, 1.0], [1, 0, 1, 1, 1], 2).numpy()
    array([2. , 3.5], dtype=float32)
    """
    x, ids, attributes = _in_any_order("unsorted_segment_sqrt_n", data, segment_ids, num_segments)
    if x._array.dtype.char in HALF:
        return rounded(unsorted_segment_sqrt_n, x, segment_ids=ids, num_segments=num_segments)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise DTypeError(f"unsorted_segment_sqrt_n takes floating tensors, not {x.dtype.name}")
    counts = _row_counts(ids, attributes["size"], attributes["trailing"], np.float64)
    total = apply(segment_sum_, (x, ids), attributes)
    return apply(divide, (total, (counts**0.5).astype(x._array.dtype)))


def unsorted_segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: int | Tensor, name: str | None = None
) -> Tensor:
    """The largest of the slices of `data` with the same id; negative ids are left out.

    Missing ids give the lowest number of the dtype. Slices that share the maximum share its gradient.

    Raises:
        InvalidArgumentError: If the shape of `segment_ids` does not start that of `data`, or an id is `num_segments` or
            more.

    >>> unsorted_segment_max([1, 2, 4], [1, 0, 1], 2).numpy()
    array([2, 4], dtype=int32)
    """
    return _unsorted_extreme(segment_max_, "unsorted_segment_max", data, segment_ids, num_segments)


def unsorted_segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: int | Tensor, name: str | None = None
) -> Tensor:
    """The smallest of the slices of `data` with the same id; negative ids are left out.

    Missing ids give the highest number of the dtype. Slices that share the minimum share its gradient.

    Raises:
        InvalidArgumentError: If the shape of `segment_ids` does not start that of `data`, or an id is `num_segments` or
            more.

    >>> unsorted_segment_min([1, 2, 4], [1, 0, 1], 2).numpy()
    array([2, 1], dtype=int32)
    """
    return _unsorted_extreme(segment_min_, "unsorted_segment_min", data, segment_ids, num_segments)


def _unsorted_extreme(which: Primitive, name: str, data: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    x, ids, attributes = _in_any_order(name, data, segment_ids, num_segments)
    comparable(name, x)
    limit = x.dtype.min if which is segment_max_ else x.dtype.max
    empty = int(limit) if x.dtype.is_integer else float(limit)
    return apply(which, (x, ids), {**attributes, "empty": empty})


def unsorted_segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: int | Tensor, name: str | None = None
) -> Tensor:
    """The product of the slices of `data` with the same id; negative ids are left out, missing ones give 1.

    Its gradients, of any order, are exact where elements are 0.

    Raises:
        InvalidArgumentError: If the shape of `segment_ids` does not start that of `data`, or an id is `num_segments` or
            more.

    >>> unsorted_segment_prod([2.0, 3.0, 4.0], [1, 0, 1], 2).numpy()
    array([3., 8.], dtype=float32)
    """
    x, ids, attributes = _in_any_order("unsorted_segment_prod", data, segment_ids, num_segments)
    return apply(segment_prod_, (x, ids), attributes)
