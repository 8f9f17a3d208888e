"""Operations that move elements: reshape, transpose, join, split, repeat, gather, cast.

The primitives that the core also needs are in `core.structural` and `core.slicing`. Primitives count axes from the end,
so that extra axes in front of a gradient pass through.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.indexed_slices import IndexedSlices, rows_at
from ...core.primitive import apply, apply1, primitive, read_tensors
from ...core.slicing import along, as_indices, bounds, gather_, getitem
from ...core.structural import (
    broadcast_to_,
    concat_,
    conj,
    identity_,
    lead,
    recast_to,
    reshape_,
    stack_,
    sum_,
    transpose_,
)
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import Axes, Axis, DTypeLike, ShapeLike, TensorLike
from ...engine.arrays import xp
from ..known import afford, known, static_number, static_shape
from ..math.python_operators import install
from ..math.reduction import one_axis

# ---------------------------------------------------------------------------------------------------------------------
# Joining and splitting


@primitive(
    linear=True, multiple=True, name="split", moves=True, words="The gradients of the parts are joined again."
)
def split_(x, *, axis, sizes):
    return tuple([x[part] for part in _parts(axis, sizes)])


@functools.lru_cache(maxsize=1000)
def _parts(axis: int, sizes: tuple[int, ...]) -> list[tuple[Any, ...]]:
    return [along(axis, slice(end - n, end)).items for end, n in zip(accumulate(sizes), sizes)]


split_.rules(x=lambda g, axis: concat_(*g, axis=axis))


@primitive(
    linear=True,
    multiple=True,
    name="unstack",
    moves=True,
    words="The gradients of the slices are stacked again.",
)
def unstack_(x, *, axis):
    if type(x) is np.ndarray:
        rows = x if axis == -x.ndim else np.moveaxis(x, axis, 0)
        return [rows[i, ...] for i in range(len(rows))]
    return [getitem.forward(x, index=along(axis, i)) for i in range(x.shape[axis])]


unstack_.rules(x=lambda g, axis: stack_(*g, axis=axis))


@primitive(linear=True, name="tile", moves=True, words="The gradient is summed over the copies.")
def tile_(x, *, multiples):
    if type(x) is not np.ndarray or not x.size:
        return xp(x).tile(x, multiples)
    out, inner = x, x.size  # the slices along an axis and the axes after it are repeated as a whole
    for times, length in zip(multiples, x.shape, strict=True):
        if times != 1:
            out = out.reshape(-1, inner).repeat(times, 0)
        inner //= length
    return out.reshape([times * length for times, length in zip(multiples, x.shape, strict=True)])


def _untile(g: Any, x_shape: tuple[int, ...], out_shape: tuple[int, ...], multiples: tuple[int, ...]) -> Any:
    pairs = tuple([n for pair in zip(multiples, x_shape, strict=True) for n in pair])
    g = reshape_(g, shape=lead(g, out_shape) + pairs)
    return sum_(g, axis=tuple(range(-len(pairs), 0, 2)), keepdims=False)


tile_.rules(x=_untile)

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def reshape(tensor: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """The same elements in another shape.

    Args:
        shape: the new shape; one length may be -1, and is inferred from the number of elements.

    Raises:
        ValueError: if the shape is not for as many elements, or has more than one -1.

    >>> reshape([1, 2, 3, 4], (2, -1)).numpy()
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    x = convert(tensor)
    wanted = static_shape("reshape", shape)
    if -1 in wanted:
        wanted = _inferred(wanted, x._array.shape)
    elif math.prod(wanted) != x._array.size:
        raise _does_not_fit(wanted, x._array.shape)
    return apply1(reshape_, x, {"shape": wanted})


@functools.lru_cache(maxsize=1000)
def _inferred(wanted: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The wanted shape for a tensor of the given one, with a length in place of -1."""
    if wanted.count(-1) > 1:
        raise InvalidArgumentError(f"reshape: only one length may be -1, in {list(wanted)}")
    size, given = math.prod(shape), -math.prod(wanted)
    if size % given if given else size:
        raise _does_not_fit(wanted, shape)
    return tuple([(size // given if given else 0) if n == -1 else n for n in wanted])


def _does_not_fit(wanted: tuple[int, ...], shape: tuple[int, ...]) -> Exception:
    return InvalidArgumentError(
        f"reshape: {math.prod(shape)} elements of shape {list(shape)} do not fit the shape {list(wanted)}"
    )


def transpose(
    a: TensorLike, perm: ShapeLike | None = None, conjugate: bool = False, name: str | None = "transpose"
) -> Tensor:
    """The same elements with the axes in another order.

    Args:
        perm: the axes in their new order; by default they are reversed.
        conjugate: whether to also take the complex conjugate.

    Raises:
        ValueError: if `perm` does not name each axis once.

    >>> transpose([[1, 2], [3, 4]]).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    x = convert(a)
    order = _order(None if perm is None else static_shape("transpose", perm), x._array.shape)
    x = apply1(transpose_, x, {"perm": order})
    return apply1(conj, x) if conjugate and x.dtype.is_complex else x


@functools.lru_cache(maxsize=1000)
def _order(perm: tuple[int, ...] | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes in the order `perm`, counted from the front; reversed if `perm` is None."""
    axes = range(len(shape))
    if perm is None:
        return tuple(axes[::-1])
    try:
        order = tuple([axes[i] for i in perm])
    except IndexError:
        order = ()
    if sorted(order) != [*axes]:
        raise InvalidArgumentError(
            f"transpose: perm must name each of the {len(shape)} axes of shape {list(shape)} once, not {list(perm)}"
        )
    return order


def expand_dims(input: TensorLike, axis: Axis, name: str | None = None) -> Tensor:
    """The tensor with a new axis of length 1 at position `axis`; -1 is after all others.

    Raises:
        IndexError: if there is no such position.

    >>> expand_dims([1, 2], 0).shape
    TensorShape([1, 2])
    """
    x = convert(input)
    shape = x._array.shape
    a = one_axis("expand_dims", static_number("expand_dims: axis", axis), len(shape) + 1) + len(shape) + 1
    return apply1(reshape_, x, {"shape": (*shape[:a], 1, *shape[a:])})


def squeeze(input: TensorLike, axis: Axes = None, name: str | None = None) -> Tensor:
    """The tensor without its axes of length 1.

    Args:
        axis: the axis or axes to remove; by default all of length 1.

    Raises:
        ValueError: if a named axis has another length.

    >>> squeeze([[[1], [2]]]).shape
    TensorShape([2])
    """
    x = convert(input)
    shape = x._array.shape
    if axis is None or (isinstance(axis, list) and not axis):
        return apply1(reshape_, x, {"shape": tuple([n for n in shape if n != 1])})
    gone = {one_axis("squeeze", a, len(shape)) + len(shape) for a in static_shape("squeeze", axis)}
    for a in gone:
        if shape[a] != 1:
            raise InvalidArgumentError(
                f"squeeze: axis {a} of shape {list(shape)} has length {shape[a]}; only length 1 can go"
            )
    return apply1(reshape_, x, {"shape": tuple([n for i, n in enumerate(shape) if i not in gone])})


def broadcast_to(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """The tensor repeated along new axes in front, and along axes of length 1, to the given shape.

    Raises:
        ValueError: if the tensor's shape does not broadcast to it.

    >>> broadcast_to([1, 2], (2, 2)).numpy()
    array([[1, 2],
           [1, 2]], dtype=int32)
    """
    x = convert(input)
    wanted = static_shape("broadcast_to", shape)
    own = x._array.shape
    if len(own) > len(wanted) or any(n not in (1, w) for n, w in zip(own[::-1], wanted[::-1], strict=False)):
        raise InvalidArgumentError(
            f"broadcast_to: the shape {list(own)} does not broadcast to {list(wanted)}"
        )
    afford("broadcast_to", wanted, x._array.dtype.itemsize)
    return apply1(broadcast_to_, x, {"shape": wanted})


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """A new tensor with the same value, through which gradients pass.

    >>> float(identity(1.0))
    1.0
    """
    return apply1(identity_, input)


def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """The tensor in another dtype; `IndexedSlices` stay slices.

    Gradients pass between floating and complex dtypes only.

    Raises:
        TypeError: from or to strings.

    >>> cast([1.8, 2.2], "int32").numpy()
    array([1, 2], dtype=int32)
    """
    if type(x) is Tensor:
        given = x
    elif type(x) is IndexedSlices:
        slices: Any = x.map_values(lambda rows: cast(rows, dtype))
        return slices
    else:
        given = convert(x)
    to, source = dtypes.as_dtype(dtype), given.dtype
    if to is source:
        return given if type(x) is Tensor else identity(given)
    if "string" in (to.name, source.name):
        raise DTypeError(f"cast: there is no cast from {source.name} to {to.name}")
    if to.is_quantized:
        known("cast to a quantized dtype", "x", given._array)
    return recast_to(given, to)


def concat(values: TensorLike, axis: Axis, name: str | None = "concat") -> Tensor:
    """Join tensors along an axis they have.

    Args:
        values: a list of tensors whose shapes differ along `axis` only.

    Raises:
        ValueError: if there are none, or the shapes do not fit.

    >>> concat([[1, 2], [3]], 0).numpy()
    array([1, 2, 3], dtype=int32)
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    xs = together("concat", values)
    ndim = xs[0].ndim
    if ndim == 0:
        raise InvalidArgumentError("concat: scalars cannot be joined along an axis: use stack")
    a = one_axis("concat", axis, ndim)
    first = xs[0]._array.shape
    for x in xs:
        s = x._array.shape
        if s != first and (
            len(s) != ndim or s[:a] != first[:a] or s[ndim + a + 1 :] != first[ndim + a + 1 :]
        ):
            raise InvalidArgumentError(
                f"concat: the shapes {', '.join(str(x.shape.as_list()) for x in xs)} may differ along axis {axis} only"
            )
    return apply(concat_, tuple(xs), {"axis": a})


def stack(values: Iterable[TensorLike], axis: int = 0, name: str | None = "stack") -> Tensor:
    """Join tensors of one shape along a new axis.

    Args:
        values: a list of tensors, or a tensor, whose slices are then stacked.
        axis: the position of the new axis.

    Raises:
        TypeError: if `values` is no list.
        ValueError: if there are none, or the shapes differ.

    >>> stack([[1, 2], [3, 4]], axis=1).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    if not isinstance(values, Iterable):
        raise DTypeError(f"stack: values must be a list of tensors, not {values!r}")
    xs = together("stack", list(values))
    shapes = {x._array.shape for x in xs}
    if len(shapes) > 1:
        raise InvalidArgumentError(
            f"stack: the shapes must be the same, not {', '.join(str(list(s)) for s in sorted(shapes))}"
        )
    return apply(stack_, tuple(xs), {"axis": one_axis("stack", axis, xs[0].ndim + 1)})


def together(name: str, values: Any) -> list[Tensor]:
    """A list of values as tensors of one dtype: that of the first tensor among them, or the widest of the values."""
    tensors, others, hint = read_tensors(values)
    if not tensors:
        raise ValueError(f"{name}: needs at least one tensor")
    if others and hint is None:
        own = [convert(x)._array.dtype for x in values]
        hint = max(own, key=lambda dtype: "OSUbuiVfc".find(dtype.kind))
        if any((dtype.kind == "b") != (hint.kind == "b") for dtype in own):
            raise DTypeError(
                f"{name}: booleans and numbers do not mix: write 1 for True, or cast(x, 'int32')"
            )
    for i in others:
        tensors[i] = convert(values[i], None, hint)
    return tensors


def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str | None = "unstack"
) -> list[Tensor]:
    """The slices along `axis`, as a list.

    Args:
        num: the expected number of slices.

    Raises:
        ValueError: if there are not `num` slices.

    >>> [int(t) for t in unstack([1, 2, 3])]
    [1, 2, 3]
    """
    x = convert(value)
    a = one_axis("unstack", axis, x.ndim)
    if num is not None and static_number("unstack: num", num) != x._array.shape[a]:
        raise ValueError(f"unstack: axis {axis} has length {x._array.shape[a]}, not num={num}")
    return list(apply(unstack_, (x,), {"axis": a}))


def split(
    value: TensorLike,
    num_or_size_splits: ShapeLike,
    axis: Axis = 0,
    num: int | None = None,
    name: str | None = "split",
) -> list[Tensor]:
    """Split a tensor into parts along `axis`.

    Args:
        num_or_size_splits: the number of equal parts, or a list of their lengths, one of which may be -1.
        num: ignored.

    Raises:
        ValueError: if the axis does not split so.

    >>> [t.numpy().tolist() for t in split([1, 2, 3, 4], 2)]
    [[1, 2], [3, 4]]
    """
    x = convert(value)
    a = one_axis("split", axis, x.ndim)
    length = x._array.shape[a]
    if isinstance(num_or_size_splits, (int, np.integer)) or getattr(num_or_size_splits, "ndim", 1) == 0:
        count = static_number("split: num_or_size_splits", num_or_size_splits)
        if count < 1 or length % count:
            raise InvalidArgumentError(
                f"split: an axis of length {length} does not split into {count} equal parts"
            )
        sizes: tuple[int, ...] = (length // count,) * count
    else:
        sizes = static_shape("split", num_or_size_splits)
        if sizes.count(-1) == 1:
            sizes = tuple([length - sum(sizes) - 1 if n == -1 else n for n in sizes])
        if sum(sizes) != length or min(sizes, default=0) < 0:
            raise InvalidArgumentError(
                f"split: the sizes {list(sizes)} do not add up to the axis's length {length}"
            )
    return list(apply(split_, (x,), {"axis": a, "sizes": sizes}))


def tile(input: TensorLike, multiples: ShapeLike, name: str | None = None) -> Tensor:
    """The tensor repeated `multiples[i]` times along each axis `i`.

    Raises:
        ValueError: if there is not one number of at least 0 for each axis.

    >>> tile([1, 2], [2]).numpy()
    array([1, 2, 1, 2], dtype=int32)
    """
    x = convert(input)
    times = static_shape("tile", multiples)
    if len(times) != x._array.ndim or min(times, default=0) < 0:
        raise InvalidArgumentError(
            f"tile: multiples must have one number of at least 0 for each axis of shape {x.shape}, not {list(times)}"
        )
    afford("tile", tuple(map(operator.mul, x._array.shape, times)), x._array.dtype.itemsize)
    return apply1(tile_, x, {"multiples": times})


def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    axis: Axis | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """The slices of `params` at `indices` along `axis`.

    The gradient by a variable is `IndexedSlices` if `axis` is the first.

    Args:
        indices: integers, of any shape, which replaces the axis in the result.
        validate_indices: ignored: indices are always validated, except while a @function is traced.
        axis: by default the first after `batch_dims`.
        batch_dims: the number of first axes in which `params` and `indices` agree and are matched one to one.

    Raises:
        IndexError: if an index is out of bounds.
        TypeError: if the indices are not integers.

    >>> gather([10, 20, 30], [2, 0]).numpy()
    array([30, 10], dtype=int32)
    """
    x = convert(params)
    at = as_indices("gather", indices)
    ndim = x._array.ndim
    batch = static_number("gather: batch_dims", batch_dims)
    batch += at.ndim if batch < 0 else 0
    if not 0 <= batch <= min(at._array.ndim, ndim):
        raise InvalidArgumentError(
            f"gather: batch_dims={batch_dims} does not fit indices of shape {at.shape}"
        )
    a = one_axis("gather", batch if axis is None else axis, ndim)
    if a + ndim < batch:
        raise InvalidArgumentError(
            f"gather: axis {axis} must not be one of the first batch_dims={batch_dims}"
        )
    if a == -ndim:
        return rows_at(x, at)
    bounds("gather", at._array, x._array.shape[a])
    if not batch:
        return apply(gather_, (x, at), {"axis": a})
    return _gather_in_batches(x, at, a + ndim, batch)


def _gather_in_batches(x: Any, indices: Tensor, axis: int, batch: int) -> Tensor:
    """One gather along one flat axis, in which each batch element has a stretch of its own."""
    shape, at = x._array.shape, indices._array
    if shape[:batch] != at.shape[:batch]:
        raise InvalidArgumentError(
            f"gather: the first {batch} lengths of {list(shape)} and {list(at.shape)} must agree"
        )
    inner = [i for i in range(batch, len(shape)) if i != axis]
    if axis != batch:
        x = transpose(x, (*range(batch), axis, *inner))
    count = math.prod(shape[:batch])
    x = reshape(x, (count * shape[axis], *[shape[i] for i in inner]))
    offsets = (np.arange(count) * shape[axis]).reshape(*shape[:batch], *[1] * (at.ndim - batch))
    x = apply(gather_, (x, wrap(at + offsets)), {"axis": -x.ndim})
    if axis == batch:
        return x
    # (batch..., indices..., inner...) -> (batch..., inner before axis..., indices..., inner after)
    before, after = axis - batch, len(shape) - axis - 1
    extra = at.ndim - batch
    order = [*range(batch), *range(batch + extra, batch + extra + before), *range(batch, batch + extra)]
    return transpose(x, order + list(range(batch + extra + before, batch + extra + before + after)))


# ---------------------------------------------------------------------------------------------------------------------
# Lists that hold tensors, and tensors as lists


def _iterate(self: Any) -> Iterator[Tensor]:
    """Iterate over the slices along the first axis."""
    x = self if type(self) is Tensor else self._read()
    if x._array.ndim == 0:
        raise TypeError(f"cannot iterate over a scalar {type(self).__name__.lower()}")
    return _rows(x)


def _rows(x: Tensor, at_once: int = 1000) -> Iterator[Tensor]:
    """The slices, taken many at once: then one step of the sweep serves all, instead of one over the whole for each."""
    count = len(x._array)
    for start in range(0, count, at_once):
        part = x if count <= at_once else x[start : start + at_once]
        yield from apply(unstack_, (part,), {"axis": -x._array.ndim})


install({"__iter__": _iterate})
