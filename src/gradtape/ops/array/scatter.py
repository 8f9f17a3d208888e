"""Elements at given places: taken by coordinates, scattered, updated, taken apart and stitched together.

Coordinates become numbers along one axis, on which the primitives work; the functions reshape there and back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, IndexOutOfBoundsError, InvalidArgumentError
from ...core.indexed_slices import gather_rows
from ...core.primitive import apply, numbers, primitive
from ...core.slicing import along, distinct, gather_, scatter_along
from ...core.structural import concat_
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import ShapeLike, TensorLike
from ...core.variable import Variable
from ...engine.arrays import is_traced, xp
from ..known import afford, shape_known, static_number, static_shape
from ..math.elementwise import cast_like, equal, select, zero_like
from .movement import gather, reshape, split_, together

# ---------------------------------------------------------------------------------------------------------------------
# Primitives


@primitive(linear=True, mixed=True)
def put(x, updates, indices, *, axis):
    """`x` with the slices at `indices` (none twice) along `axis` replaced."""
    out = x.copy()
    out[along(axis, indices).items] = updates
    return out


@put.compiled
def _(x, updates, indices, *, axis):
    places = xp(x, updates, indices).asarray(x).at[along(axis, indices).items]
    return places.set(updates, mode="drop")


put.rules(
    x=lambda g, indices, axis: put(g, zero_like(g), indices, axis=axis),
    updates=lambda g, indices, axis: gather_(g, indices, axis=axis),
)


@primitive(mixed=True, check_dtype=numbers)
def put_extreme(x, updates, indices, *, largest):
    """The largest (or smallest) of each slice of `x` along its first axis and the updates for it."""
    out = x.copy()
    (np.maximum if largest else np.minimum).at(out, indices, updates)
    return out


@put_extreme.compiled
def _(x, updates, indices, *, largest):
    places = xp(x, updates, indices).asarray(x).at[indices]
    return (places.max if largest else places.min)(updates, mode="drop")


# Where several are the largest, they share the gradient.
put_extreme.rules(
    x=lambda g, x, updates, indices, out: (
        g * cast_like(equal(x, out), g) / _sharers(g, x, updates, indices, out)
    ),
    updates=lambda g, x, updates, indices, out: (
        gather_(g / _sharers(g, x, updates, indices, out), indices, axis=-x.ndim)
        * cast_like(equal(updates, gather_(out, indices, axis=-x.ndim)), g)
    ),
)


def _sharers(g: Any, x: Any, updates: Any, indices: Any, out: Any) -> Any:
    """The number of values that equal each element of `out`, as a constant; 1 where a nan equals none."""
    hits = cast_like(equal(updates, gather_(out, indices, axis=-x.ndim)), g)
    indices = indices._array if type(indices) is Tensor else indices
    count = scatter_along(hits, indices, axis=-x.ndim, size=x.shape[0]) + cast_like(equal(x, out), g)
    return xp(count).maximum(count, xp(count).ones((), count.dtype))


# ---------------------------------------------------------------------------------------------------------------------
# Gathering by coordinates


def gather_nd(
    params: TensorLike,
    indices: TensorLike,
    batch_dims: TensorLike = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Tensor:
    """The elements, or slices, of `params` at coordinates.

    Args:
        indices: the coordinates, which the last axis holds: a number for each of the first axes of `params`.
        batch_dims: the number of first axes that `params` and `indices` share; coordinates are for those after them.
        bad_indices_policy: 'IGNORE' gives zeros for what is out of bounds; by default it is an error.

    Raises:
        DTypeError: if the indices are no integers.
        IndexOutOfBoundsError: if an index is out of bounds.
        InvalidArgumentError: if the shapes or `batch_dims` do not fit, or there is no such policy.

    >>> gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy()
    array([2, 3], dtype=int32)
    """
    x: Any = convert(params)
    at = convert(indices)._array
    if at.dtype.kind not in "iu":
        raise DTypeError(f"gather_nd: indices must be integers, not {dtypes.of(at).name}")
    batch = static_number("gather_nd: batch_dims", batch_dims)
    shape = x._array.shape
    if not 0 <= batch < max(at.ndim, 1) or batch > len(shape) or shape[:batch] != at.shape[:batch]:
        raise InvalidArgumentError(
            f"gather_nd: batch_dims={batch} does not fit params of shape {list(shape)} and indices of shape "
            f"{list(at.shape)}"
        )
    depth = at.shape[-1] if at.ndim else 0
    if not at.ndim or batch + depth > len(shape):
        raise InvalidArgumentError(
            f"gather_nd: indices of shape {list(at.shape)} name more axes than params of shape {list(shape)} has"
        )
    sizes = shape[batch : batch + depth]
    flat, outside = flat_indices("gather_nd", at, sizes, bad_indices_policy)
    if depth != 1:
        x = reshape(x, (*shape[:batch], math.prod(sizes), *shape[batch + depth :]))
    if outside is None and not batch:
        return apply(gather_rows, (x, wrap(flat)))
    found = gather(x, flat, axis=batch, batch_dims=batch)
    if outside is None:
        return found
    outside = outside.reshape(outside.shape + (1,) * (found.ndim - outside.ndim))
    return apply(select, (outside, np.zeros((), x._array.dtype), found))


def flat_indices(name: str, at: Any, sizes: tuple[int, ...], policy: str = "") -> tuple[Any, Any]:
    """Coordinates, along the last axis, as places in the flattened axes, and a mask of those out of bounds.

    The place of one out of bounds is 0. The mask is None if all are inside; for traced coordinates there is always one.

    Args:
        at: the coordinates.
        sizes: the lengths of the axes.
        policy: 'IGNORE' lets coordinates be out of bounds.

    Raises:
        InvalidArgumentError: for an unknown policy.
        IndexOutOfBoundsError: if a coordinate is out of bounds, unless it is traced.
    """
    wanted = str(policy).upper()
    if wanted not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise InvalidArgumentError(
            f"{name}: bad_indices_policy must be DEFAULT, ERROR or IGNORE, not {policy!r}"
        )
    if type(at) is np.ndarray and sizes and wanted != "IGNORE":
        try:
            return np.asarray(
                np.ravel_multi_index(tuple([at[..., i] for i in range(len(sizes))]), sizes)
            ), None
        except (ValueError, TypeError):  # one is out of bounds, or their dtype is uint64: the slower way
            pass
    outside = ((at < 0) | (at >= np.array(sizes, np.int64))).any(-1)
    if wanted != "IGNORE" and not is_traced(at) and outside.any():
        raise IndexOutOfBoundsError(
            f"{name}: the index {at[outside][0].tolist()} is out of bounds of {list(sizes)}"
        )
    flat = at.astype(np.int64) @ np.array([math.prod(sizes[i + 1 :]) for i in range(len(sizes))], np.int64)
    if not is_traced(at) and not outside.any():
        return flat, None
    return xp(at).where(outside, 0, flat), outside


def _gather_nd(self: Variable, indices: Any, name: str | None = None) -> Tensor:
    """The elements or slices at `indices`, as `gather_nd` gives them."""
    return gather_nd(self, indices)


Variable.gather_nd = _gather_nd  # type: ignore[attr-defined]

# ---------------------------------------------------------------------------------------------------------------------
# Scattering


class _Places:
    """The places updates go to: a shape whose indexed axes are flattened into one, and the numbers along it."""

    def __init__(
        self, name: str, indices: TensorLike, updates: Tensor, shape: tuple[int, ...], policy: str
    ) -> None:
        at = convert(indices)._array
        if at.dtype.kind not in "iu":
            raise DTypeError(f"{name}: indices must be integers, not {dtypes.of(at).name}")
        given = updates._array.shape
        depth = at.shape[-1] if at.ndim else 0
        if not at.ndim or depth > len(shape) or given != at.shape[:-1] + shape[depth:]:
            fitting = (
                f", but of shape {[*at.shape[:-1], *shape[depth:]]}"
                if at.ndim and depth <= len(shape)
                else ""
            )
            raise InvalidArgumentError(
                f"{name}: updates of shape {list(given)} do not go at indices of shape {list(at.shape)} into shape "
                f"{list(shape)}{fitting}"
            )
        flat, outside = flat_indices(name, at, shape[:depth], policy)
        self.shape = shape
        self.inner = shape[depth:]
        self.count = math.prod(shape[:depth])
        self.indices = flat.reshape(-1)
        self.inside = None if outside is None else ~outside.reshape(-1)  # None: all are inside

    def updates(self, updates: Tensor, some: Any = None) -> tuple[Tensor, Any]:
        """The updates, one a row, with the place of each; only those in the mask `some` and inside the bounds."""
        rows = reshape(updates, (len(self.indices), *self.inner))
        taken = self.inside if some is None else some if self.inside is None else self.inside & some
        if taken is None:
            return rows, self.indices
        if is_traced(taken):  # an update that is not taken goes after the end, where `put` drops it
            return rows, xp(taken).where(taken, self.indices, self.count)
        if taken.all():
            return rows, self.indices
        kept = np.flatnonzero(taken)
        return apply(gather_, (rows, kept), {"axis": -rows.ndim}), self.indices[kept]

    def last(self) -> Any:
        """A mask of the updates that are the last for their place; None if all are."""
        if is_traced(self.indices):
            order = np.arange(len(self.indices))
            places = xp(self.indices).where(self.inside, self.indices, self.count)
            last = xp(places).zeros(self.count, order.dtype).at[places].max(order, mode="drop")
            return gather_(last, places, axis=-1) == order
        if distinct(self.indices):
            return None
        inside = np.arange(len(self.indices)) if self.inside is None else np.flatnonzero(self.inside)
        _, position = np.unique(self.indices[inside][::-1], return_index=True)
        kept = np.zeros(len(self.indices), bool)
        kept[inside[len(inside) - 1 - position]] = True
        return kept

    def fold(self, x: Tensor) -> Tensor:
        return reshape(x, (self.count, *self.inner))

    def unfold(self, x: Tensor) -> Tensor:
        return reshape(x, self.shape)


def scatter_nd(
    indices: TensorLike,
    updates: TensorLike,
    shape: ShapeLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Zeros of a shape, with the updates added at coordinates.

    Args:
        indices: the coordinates, which the last axis holds: a number for each of the first axes of `shape`.
        updates: the elements, or slices, to add.
        shape: of the result.
        bad_indices_policy: 'IGNORE' leaves out updates that are out of bounds; by default they are an error.

    Raises:
        DTypeError: if the indices are no integers, or the updates are strings.
        IndexOutOfBoundsError: if an index is out of bounds.
        InvalidArgumentError: if the shapes do not fit.

    >>> scatter_nd([[1], [3], [1]], [5.0, 6.0, 7.0], [4]).numpy()
    array([ 0., 12.,  0.,  6.], dtype=float32)
    """
    values = convert(updates)
    wanted = static_shape("scatter_nd", shape)
    if min(wanted, default=0) < 0:
        raise InvalidArgumentError(f"scatter_nd: a shape has no negative lengths, as in {list(wanted)}")
    if values.dtype.name == "string":
        raise DTypeError("scatter_nd: strings cannot be added up")
    afford("scatter_nd", wanted, values._array.dtype.itemsize)
    places = _Places("scatter_nd", indices, values, wanted, bad_indices_policy)
    rows, at = places.updates(values)
    return places.unfold(apply(scatter_along, (rows, at), {"axis": -rows.ndim, "size": places.count}))


def _pair(name: str, tensor: Any, indices: Any, updates: Any, policy: str = "") -> tuple[Any, Any, _Places]:
    x = convert(tensor)
    values = convert(updates, None, x._array.dtype)
    if values.dtype is not x.dtype:
        raise DTypeError(
            f"{name}: the tensor is {x.dtype.name} and the updates are {values.dtype.name}: cast one"
        )
    return x, values, _Places(name, indices, values, x._array.shape, policy)


def tensor_scatter_nd_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """The tensor with the elements, or slices, at coordinates replaced.

    Args:
        indices: the coordinates, which the last axis holds: a number for each of the first axes of `tensor`.
        updates: the new elements; of several for one place, the last counts.

    Raises:
        DTypeError: if the indices are no integers, or the updates are not of the tensor's dtype.
        IndexOutOfBoundsError: if an index is out of bounds.
        InvalidArgumentError: if the shapes do not fit.

    >>> tensor_scatter_nd_update([1, 2, 3], [[0], [2]], [7, 8]).numpy()
    array([7, 2, 8], dtype=int32)
    """
    x, values, places = _pair("tensor_scatter_nd_update", tensor, indices, updates)
    rows, at = places.updates(values, places.last())
    return places.unfold(apply(put, (places.fold(x), rows, at), {"axis": -1 - len(places.inner)}))


def tensor_scatter_nd_add(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """The tensor with updates added at coordinates.

    Args:
        indices: the coordinates, which the last axis holds: a number for each of the first axes of `tensor`.
        updates: the elements, or slices, to add.
        bad_indices_policy: 'IGNORE' leaves out updates that are out of bounds; by default they are an error.

    Raises:
        DTypeError: if the indices are no integers, or the updates are not of the tensor's dtype.
        IndexOutOfBoundsError: if an index is out of bounds.
        InvalidArgumentError: if the shapes do not fit.

    >>> tensor_scatter_nd_add([1, 2, 3], [[0], [0]], [7, 8]).numpy()
    array([16,  2,  3], dtype=int32)
    """
    x, values, _ = _pair("tensor_scatter_nd_add", tensor, indices, updates, bad_indices_policy)
    return x + scatter_nd(indices, values, x._array.shape, bad_indices_policy)


def tensor_scatter_nd_sub(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """The tensor with updates subtracted at coordinates.

    Args:
        indices: the coordinates, which the last axis holds: a number for each of the first axes of `tensor`.
        updates: the elements, or slices, to subtract.
        bad_indices_policy: 'IGNORE' leaves out updates that are out of bounds; by default they are an error.

    Raises:
        DTypeError: if the indices are no integers, or the updates are not of the tensor's dtype.
        IndexOutOfBoundsError: if an index is out of bounds.
        InvalidArgumentError: if the shapes do not fit.

    >>> tensor_scatter_nd_sub([1, 2, 3], [[0], [0]], [7, 8]).numpy()
    array([-14,   2,   3], dtype=int32)
    """
    x, values, _ = _pair("tensor_scatter_nd_sub", tensor, indices, updates, bad_indices_policy)
    return x - scatter_nd(indices, values, x._array.shape, bad_indices_policy)


def _extreme(name: str, tensor: Any, indices: Any, updates: Any, policy: str, largest: bool) -> Tensor:
    x, values, places = _pair(name, tensor, indices, updates, policy)
    if not (x.dtype.is_floating or x.dtype.is_integer):
        raise DTypeError(f"{name}: {x.dtype.name} has no order")
    rows, at = places.updates(values)
    return places.unfold(apply(put_extreme, (places.fold(x), rows, at), {"largest": largest}))


def tensor_scatter_nd_max(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """The tensor with the elements at coordinates raised to the updates where those are larger.

    Args:
        indices: the coordinates, which the last axis holds: a number for each of the first axes of `tensor`.
        updates: the elements, or slices, to compare with.
        bad_indices_policy: 'IGNORE' leaves out updates that are out of bounds; by default they are an error.

    Raises:
        DTypeError: if the indices are no integers, or the updates are not of the tensor's dtype, or have no order.
        IndexOutOfBoundsError: if an index is out of bounds.
        InvalidArgumentError: if the shapes do not fit.

    >>> tensor_scatter_nd_max([1, 2, 3], [[0], [2]], [7, 0]).numpy()
    array([7, 2, 3], dtype=int32)
    """
    return _extreme("tensor_scatter_nd_max", tensor, indices, updates, bad_indices_policy, True)


def tensor_scatter_nd_min(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """The tensor with the elements at coordinates lowered to the updates where those are smaller.

    Args:
        indices: the coordinates, which the last axis holds: a number for each of the first axes of `tensor`.
        updates: the elements, or slices, to compare with.
        bad_indices_policy: 'IGNORE' leaves out updates that are out of bounds; by default they are an error.

    Raises:
        DTypeError: if the indices are no integers, or the updates are not of the tensor's dtype, or have no order.
        IndexOutOfBoundsError: if an index is out of bounds.
        InvalidArgumentError: if the shapes do not fit.

    >>> tensor_scatter_nd_min([1, 2, 3], [[0], [2]], [7, 0]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    return _extreme("tensor_scatter_nd_min", tensor, indices, updates, bad_indices_policy, False)


# ---------------------------------------------------------------------------------------------------------------------
# Taking apart, stitching together


def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The elements, or slices, of `data` dealt out to several tensors.

    Args:
        partitions: the number of the tensor that each goes to; its shape is how that of `data` begins.
        num_partitions: how many tensors there are.

    Raises:
        DTypeError: if `partitions` are no integers.
        InvalidArgumentError: if the shapes do not fit, or a number is not in [0, num_partitions).
        NotCompilableError: if `partitions` are computed in a `@function`: then the shapes are not known.

    >>> [t.numpy().tolist() for t in dynamic_partition([10, 20, 30], [0, 1, 0], 2)]
    [[10, 30], [20]]
    """
    x = convert(data)
    chosen = shape_known(
        "dynamic_partition",
        "partitions",
        convert(partitions)._array,
        "use where(partitions == i, data, 0), which keeps the shape, or unsorted_segment_sum",
    )
    shape = x._array.shape
    if chosen.dtype.kind not in "iu":
        raise DTypeError(f"dynamic_partition: partitions must be integers, not {dtypes.of(chosen).name}")
    if shape[: chosen.ndim] != chosen.shape:
        raise InvalidArgumentError(
            f"dynamic_partition: the shape of data must start with that of partitions; got {list(shape)} and "
            f"{list(chosen.shape)}"
        )
    count = static_number("dynamic_partition: num_partitions", num_partitions)
    if count < 1 or (chosen.size and (chosen.min() < 0 or chosen.max() >= count)):
        raise InvalidArgumentError(
            f"dynamic_partition: num_partitions must be at least 1, and partitions lie in [0, {count})"
        )
    flat = chosen.reshape(-1)
    rows = reshape(x, (flat.size, *shape[chosen.ndim :]))
    sorted_rows = apply(gather_, (rows, np.argsort(flat, kind="stable")), {"axis": -rows.ndim})
    sizes = tuple(np.bincount(flat.astype(np.int64), minlength=count).tolist())
    return list(apply(split_, (sorted_rows,), {"axis": -rows.ndim, "sizes": sizes}))


def dynamic_stitch(
    indices: Sequence[TensorLike], data: Sequence[TensorLike], name: str | None = None
) -> Tensor:
    """One tensor with `data[i][...]` at the places `indices[i][...]` along its first axis.

    Args:
        indices: a list of tensors of places; of several data for one place, the last counts.
        data: as many tensors; the shape of each begins with that of its indices, and goes on alike in all.

    Raises:
        TypeError: if either is no list.
        DTypeError: if the indices are no integers.
        IndexOutOfBoundsError: if an index is negative.
        InvalidArgumentError: if the lists are empty or differ in length, or shapes do not fit.
        NotCompilableError: if indices are computed in a `@function`: then the shape is not known.

    >>> dynamic_stitch([[0, 2], [1]], [[10, 30], [20]]).numpy()
    array([10, 20, 30], dtype=int32)
    """
    if not isinstance(indices, (list, tuple)) or not isinstance(data, (list, tuple)):
        raise TypeError("dynamic_stitch: indices and data must be lists of tensors")
    if len(indices) != len(data) or not len(data):
        raise InvalidArgumentError(
            f"dynamic_stitch: there must be as many indices as data, at least one; got {len(indices)} and {len(data)}"
        )
    places = [
        shape_known(
            "dynamic_stitch",
            "indices",
            convert(i, None, np.dtype(np.int32))._array,
            "use tensor_scatter_nd_update, into a tensor of known shape",
        )
        for i in indices
    ]
    xs = together("dynamic_stitch", list(data))
    inner = xs[0]._array.shape[places[0].ndim :]
    for i, (at, x) in enumerate(zip(places, xs, strict=True)):
        if at.dtype.kind not in "iu":
            raise DTypeError(f"dynamic_stitch: indices must be integers, not {dtypes.of(at).name}")
        if x._array.shape != at.shape + inner:
            raise InvalidArgumentError(
                f"dynamic_stitch: data[{i}] must have shape {[*at.shape, *inner]}, not {list(x._array.shape)}"
            )
    parts = [reshape(x, (at.size, *inner)) for at, x in zip(places, xs, strict=True)]
    rows = apply(concat_, tuple(parts), {"axis": -1 - len(inner)})
    at = np.concatenate([p.reshape(-1) for p in places])
    if at.size and at.min() < 0:
        raise IndexOutOfBoundsError(f"dynamic_stitch: index {at.min()} is negative")
    source = np.full(int(at.max(initial=-1)) + 1, -1)
    source[at] = np.arange(at.size)
    stitched = apply(gather_, (rows, np.maximum(source, 0)), {"axis": -rows.ndim})
    if (source >= 0).all():
        return stitched
    missing = (source < 0).reshape(-1, *[1] * len(inner))
    return apply(select, (missing, np.zeros((), rows._array.dtype), stitched))
