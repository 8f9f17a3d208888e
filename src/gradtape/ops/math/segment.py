"""Reductions over segments: rows that share an id are summed, multiplied or compared.

Primitives take the rows along one axis, the one in front of the last `behind`, and one id a row; rows of negative ids
belong nowhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dtypes import HALF
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import Primitive, apply, numbers, primitive, rounded
from ...core.slicing import along, bounds, gather_, getitem, place, run_starts
from ...core.tensor import Tensor, convert
from ...engine.arrays import is_traced, xp
from ..array.movement import reshape
from ..known import afford, shape_known
from ..scalars import integer
from .elementwise import cast_like, divide, divide_no_nan, equal, number, select, truncatediv

_UFUNCS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def _reduced(kind: str, x: Any, ids: Any, size: int, behind: int, empty: Any) -> Any:
    """The sum, prod, max or min of each segment; `empty` where there are no rows."""
    axis = -behind - 1
    if xp(x, ids) is not np:
        return _traced(kind, x, ids, size, behind, empty)
    out = np.full((*x.shape[:axis], size, *x.shape[x.ndim - behind :]), empty, x.dtype)
    order = np.argsort(ids, kind="stable")[np.count_nonzero(ids < 0) :]
    if order.size and x.size:
        ordered = ids[order]  # a segment's rows stand together, and one call takes them all
        starts = run_starts(ordered)
        rows = x.take(order, axis)
        out[along(axis, ordered[starts]).items] = _UFUNCS[kind].reduceat(rows, starts, axis, dtype=x.dtype)
    return out


def _traced(kind: str, x: Any, ids: Any, size: int, behind: int, empty: Any) -> Any:
    import jax.ops

    m = xp(x, ids)
    out = getattr(jax.ops, f"segment_{kind}")(m.moveaxis(x, -behind - 1, 0), ids, size)
    if kind in ("max", "min"):
        rows = jax.ops.segment_sum(m.ones_like(ids), ids, size)
        out = m.where(rows.reshape((-1,) + (1,) * (out.ndim - 1)) > 0, out, m.asarray(empty, x.dtype))
    return m.moveaxis(out, 0, x.ndim - behind - 1)


@primitive(wide=True, mixed=True, linear=True, check_dtype=numbers, name="segment_sum")
def segment_sum_(x, ids, *, size, behind):
    return _reduced("sum", x, ids, size, behind, 0)


@primitive(mixed=True, linear=True)
def segment_spread(x, ids, *, behind):
    """To each row its segment's, and 0 where it has none: the transpose of the sum."""
    axis = -behind - 1
    if not x.shape[axis]:
        return xp(x).zeros((*x.shape[:axis], ids.shape[0], *x.shape[x.ndim - behind :]), x.dtype)
    if xp(x, ids) is not np:
        return gather_.forward(x, ids, axis=axis)  # which is 0 out of bounds
    rows = x.take(np.maximum(ids, 0), axis)
    if not ids.size or ids.min() >= 0:
        return rows
    return np.where((ids >= 0).reshape((-1,) + (1,) * behind), rows, np.zeros((), x.dtype))


segment_sum_.rules(x=lambda g, ids, behind: segment_spread(g, ids, behind=behind))
segment_spread.rules(
    x=lambda g, ids, x_shape, behind: segment_sum_(g, ids, size=x_shape[-behind - 1], behind=behind)
)

# ---------------------------------------------------------------------------------------------------------------------
# Extremes


@primitive(wide=True, mixed=True, check_dtype=numbers, name="segment_max")
def segment_max_(x, ids, *, size, behind, empty):
    return _reduced("max", x, ids, size, behind, empty)


@primitive(wide=True, mixed=True, check_dtype=numbers, name="segment_min")
def segment_min_(x, ids, *, size, behind, empty):
    return _reduced("min", x, ids, size, behind, empty)


def _to_the_extreme(g: Any, x: Any, ids: Any, out: Any, size: int, behind: int) -> Any:
    """Rows that share a segment's extreme share its gradient."""
    chosen = cast_like(equal(x, segment_spread(out, ids, behind=behind)), g)
    shared = divide_no_nan(g, segment_sum_(chosen, ids, size=size, behind=behind))
    return segment_spread(shared, ids, behind=behind) * chosen


segment_max_.rules(x=_to_the_extreme)
segment_min_.rules(x=_to_the_extreme)

# ---------------------------------------------------------------------------------------------------------------------
# Products


@primitive(wide=True, mixed=True, check_dtype=numbers, name="segment_prod")
def segment_prod_(x, ids, *, size, behind):
    return _reduced("prod", x, ids, size, behind, 1)


segment_prod_.rules(
    x=lambda g, x, ids, behind: segment_spread(g, ids, behind=behind) * _product_of_others(x, ids, behind),
)


def _product_of_others(x: Any, ids: Any, behind: int) -> Any:
    """For each row the product of its segment's other rows: exact where rows are 0, and made of multiplications.

    In order of ids, the product of those before times that of those after.
    """
    ids = ids._array if type(ids) is Tensor else ids
    m = xp(ids)
    order = m.argsort(ids, stable=True)
    rows = gather_(x, order, axis=-behind - 1)
    before, after = (_running_product(rows, ids[order], behind, reverse) for reverse in (False, True))
    return gather_(before * after, m.argsort(order), axis=-behind - 1)


def _running_product(x: Any, ids: Any, behind: int, reverse: bool) -> Any:
    """The product of the rows of the same id before each (after, if reverse), without itself.

    That of the next 1, 2, 4, ... rows is that of half as many, twice: log2 of the longest segment's length steps.
    """
    product, step = _neighbour(x, ids, behind, 1, reverse), 1
    while step < ids.shape[0] and (xp(ids) is not np or (ids[step:] == ids[:-step]).any()):
        product = product * _neighbour(product, ids, behind, step, reverse)
        step *= 2
    return product


def _neighbour(x: Any, ids: Any, behind: int, step: int, reverse: bool) -> Any:
    """To each row that `step` rows before it (after, if reverse), or 1 where that is of another id."""
    m, n = xp(ids), ids.shape[0]
    same = ids[step:] == ids[: n - step]
    other = m.zeros(min(step, n), bool)
    same = m.concatenate([same, other] if reverse else [other, same])
    first, last = (along(-behind - 1, s) for s in (slice(0, max(n - step, 0)), slice(step, None)))
    source, target = (last, first) if reverse else (first, last)
    moved = place(getitem(x, index=source), index=target, shape=tuple(x.shape))
    return select(same.reshape((-1,) + (1,) * behind), moved, number(1, x))


# ---------------------------------------------------------------------------------------------------------------------
# The public functions: ids in order, one for each row of `data`


def _rows(name: str, data: Any) -> Tensor:
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
    return x, ids, {"size": int(at[-1]) + 1 if at.size else 0, "behind": x.ndim - 1}


def integers(name: str, argument: str, value: Any) -> Tensor:
    """An argument that must be a tensor of integers; an empty list is one."""
    tensor = convert(value)
    if tensor._array.dtype.kind not in "iu":
        if tensor._array.size:
            raise DTypeError(f"{name}: {argument} must be integers, not {tensor.dtype.name}")
        tensor = convert(tensor._array.astype(np.int32))
    return tensor


def _ordered(name: str, x: Tensor) -> None:
    if not (x.dtype.is_floating or x.dtype.is_integer):
        raise DTypeError(f"{name} takes real numbers, not {x.dtype.name}")


def _rows_of(ids: Tensor, size: int, behind: int, dtype: Any) -> Any:
    """How many rows each segment has, at least 1, to divide by."""
    at, m = ids._array, xp(ids._array)
    if m is np:
        counts = np.bincount(at[at >= 0], minlength=size)
    else:
        counts = segment_sum_.forward(m.ones(at.shape, int), at, size=size, behind=0)
    return m.maximum(counts, 1).astype(dtype).reshape((-1,) + (1,) * behind)


def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The sum of the rows of each segment: rows with the same id, which are in order. Missing ids give 0.

    >>> segment_sum([1.0, 2.0, 4.0], [0, 0, 2]).numpy()
    array([3., 0., 4.], dtype=float32)
    """
    x, ids, attributes = _in_order("segment_sum", data, segment_ids)
    return apply(segment_sum_, (x, ids), attributes)


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The mean of the rows of each segment: rows with the same id, which are in order. Missing ids give 0.

    >>> segment_mean([1.0, 2.0, 4.0], [0, 0, 2]).numpy()
    array([1.5, 0. , 4. ], dtype=float32)
    """
    x, ids, attributes = _in_order("segment_mean", data, segment_ids)
    if x._array.dtype.char in HALF:
        return rounded(segment_mean, x, segment_ids=ids)
    counts = _rows_of(ids, attributes["size"], attributes["behind"], x._array.dtype)
    total = apply(segment_sum_, (x, ids), attributes)
    return apply(truncatediv if x.dtype.is_integer else divide, (total, counts))


def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The largest of the rows of each segment, element by element; ids are in order, missing ones give 0.

    Rows that share the maximum share its gradient.

    >>> segment_max([1.0, 2.0, 4.0], [0, 0, 2]).numpy()
    array([2., 0., 4.], dtype=float32)
    """
    x, ids, attributes = _in_order("segment_max", data, segment_ids)
    _ordered("segment_max", x)
    return apply(segment_max_, (x, ids), {**attributes, "empty": 0})


def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The smallest of the rows of each segment, element by element; ids are in order, missing ones give 0.

    Rows that share the minimum share its gradient.

    >>> segment_min([1.0, 2.0, 4.0], [0, 0, 2]).numpy()
    array([1., 0., 4.], dtype=float32)
    """
    x, ids, attributes = _in_order("segment_min", data, segment_ids)
    _ordered("segment_min", x)
    return apply(segment_min_, (x, ids), {**attributes, "empty": 0})


def segment_prod(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The product of the rows of each segment; ids are in order, missing ones give 1.

    Its gradients, of any order, are exact where elements are 0.

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
    return reshape(x, (at.size, *rest)), reshape(ids, (at.size,)), {"size": size, "behind": len(rest)}


def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The sum of the slices of `data` with the same id; negative ids are left out, missing ones give 0.

    >>> unsorted_segment_sum([1.0, 2.0, 4.0], [2, 0, 2], 3).numpy()
    array([2., 0., 5.], dtype=float32)
    """
    x, ids, attributes = _in_any_order("unsorted_segment_sum", data, segment_ids, num_segments)
    return apply(segment_sum_, (x, ids), attributes)


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The mean of the slices of `data` with the same id; negative ids are left out, missing ones give 0.

    >>> unsorted_segment_mean([1.0, 2.0, 4.0], [2, 0, 2], 3).numpy()
    array([2. , 0. , 2.5], dtype=float32)
    """
    x, ids, attributes = _in_any_order("unsorted_segment_mean", data, segment_ids, num_segments)
    if x._array.dtype.char in HALF:
        return rounded(unsorted_segment_mean, x, segment_ids=ids, num_segments=num_segments)
    counts = _rows_of(ids, attributes["size"], attributes["behind"], x._array.dtype)
    return apply(divide, (apply(segment_sum_, (x, ids), attributes), counts))


def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sum of the slices of `data` with the same id over the root of their number; negative ids are left out.

    >>> unsorted_segment_sqrt_n([1.0, 2.0, 4.0, 1.0, 1.0], [1, 0, 1, 1, 1], 2).numpy()
    array([2. , 3.5], dtype=float32)
    """
    x, ids, attributes = _in_any_order("unsorted_segment_sqrt_n", data, segment_ids, num_segments)
    if x._array.dtype.char in HALF:
        return rounded(unsorted_segment_sqrt_n, x, segment_ids=ids, num_segments=num_segments)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise DTypeError(f"unsorted_segment_sqrt_n takes floating tensors, not {x.dtype.name}")
    counts = _rows_of(ids, attributes["size"], attributes["behind"], np.float64)
    total = apply(segment_sum_, (x, ids), attributes)
    return apply(divide, (total, (counts**0.5).astype(x._array.dtype)))


def unsorted_segment_max(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The largest of the slices of `data` with the same id; negative ids are left out.

    Missing ids give the lowest number of the dtype. Slices that share the maximum share its gradient.

    >>> unsorted_segment_max([1, 2, 4], [1, 0, 1], 2).numpy()
    array([2, 4], dtype=int32)
    """
    return _unsorted_extreme(segment_max_, "unsorted_segment_max", data, segment_ids, num_segments)


def unsorted_segment_min(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The smallest of the slices of `data` with the same id; negative ids are left out.

    Missing ids give the highest number of the dtype. Slices that share the minimum share its gradient.

    >>> unsorted_segment_min([1, 2, 4], [1, 0, 1], 2).numpy()
    array([2, 1], dtype=int32)
    """
    return _unsorted_extreme(segment_min_, "unsorted_segment_min", data, segment_ids, num_segments)


def _unsorted_extreme(which: Primitive, name: str, data: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    x, ids, attributes = _in_any_order(name, data, segment_ids, num_segments)
    _ordered(name, x)
    limit = x.dtype.min if which is segment_max_ else x.dtype.max
    empty = int(limit) if x.dtype.is_integer else float(limit)
    return apply(which, (x, ids), {**attributes, "empty": empty})


def unsorted_segment_prod(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The product of the slices of `data` with the same id; negative ids are left out, missing ones give 1.

    Its gradients, of any order, are exact where elements are 0.

    >>> unsorted_segment_prod([2.0, 3.0, 4.0], [1, 0, 1], 2).numpy()
    array([3., 8.], dtype=float32)
    """
    x, ids, attributes = _in_any_order("unsorted_segment_prod", data, segment_ids, num_segments)
    return apply(segment_prod_, (x, ids), attributes)
