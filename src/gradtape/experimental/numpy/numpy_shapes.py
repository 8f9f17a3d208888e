"""The shapes of arrays for `experimental.numpy`: joining, splitting and moving."""

from __future__ import annotations

import itertools
import math as _math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import math as _tf
from ...core.errors import InvalidArgumentError
from ...core.shapes import TensorShape
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import Axes, Axis, ShapeLike, TensorLike
from ...ops.array import movement as _movement
from ...ops.array.arrange import repeat as _repeat
from ...ops.array.arrange import reverse as _reverse
from ...ops.array.arrange import roll as _roll
from ...ops.array.padding import pad as _pad
from ...ops.known import known, static_shape
from ...ops.scalars import choice
from ...ops.scalars import integer as _integer
from .numpy_arrays import array, asarray, diagonal_of, together


def at_least(x: Tensor, ndim: int) -> Tensor:
    """With axes of length 1 in front, if there are too few."""
    return _movement.reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape)) if x.ndim < ndim else x


def axis_of(operation: str, axis: Any, ndim: int) -> int:
    """An axis counted from the front."""
    number = _integer(operation, "axis", axis)
    if not -ndim <= number < ndim:
        raise ValueError(f"{operation}: there is no axis {number} among {ndim}")
    return number % ndim


# ---------------------------------------------------------------------------------------------------------------------
# Joining


def concatenate(arys: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Join the tensors in `arys` along an axis they have.

    >>> concatenate([[1], [2.5]]).numpy()
    array([1. , 2.5])
    """
    return _movement.concat(together(*arys), axis)


def stack(arrays: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Join the tensors in `arrays` along a new axis.

    >>> stack([1, 2]).numpy()
    array([1, 2])
    """
    return _movement.stack(together(*arrays), axis)


def hstack(tup: Sequence[TensorLike]) -> Tensor:
    """Join the tensors in `tup` side by side: along the second axis, or the only one.

    >>> hstack([[[1.0], [2.0]], [[3.0], [4.0]]]).numpy()
    array([[1., 3.], [2., 4.]])
    """
    xs = [at_least(x, 1) for x in together(*tup)]
    return _movement.concat(xs, 0 if xs[0].ndim == 1 else 1)


def vstack(tup: Sequence[TensorLike]) -> Tensor:
    """Join the tensors in `tup` one below the other: along the first axis, vectors as rows.

    >>> vstack([[1, 2], [3, 4]]).numpy()
    array([[1, 2], [3, 4]])
    """
    return _movement.concat([at_least(x, 2) for x in together(*tup)], 0)


def dstack(tup: Sequence[TensorLike]) -> Tensor:
    """Join the tensors in `tup` along the third axis.

    >>> dstack([[1, 2], [3, 4]]).shape
    TensorShape([1, 2, 2])
    """
    xs = [at_least(x, 2) for x in together(*tup)]
    return _movement.concat([_movement.expand_dims(x, 2) if x.ndim == 2 else x for x in xs], 2)


# ---------------------------------------------------------------------------------------------------------------------
# Shape


def shape(a: TensorLike) -> TensorShape:
    """The shape.

    >>> shape([[1, 2]])
    TensorShape([1, 2])
    """
    return array(a).shape


def size(a: TensorLike) -> int:
    """The number of elements.

    >>> size([[1, 2]])
    2
    """
    return _math.prod(shape(a))


def ndim(a: TensorLike) -> int:
    """The number of axes.

    >>> ndim([[1, 2]])
    2
    """
    return array(a).ndim


def reshape(a: TensorLike, newshape: ShapeLike) -> Tensor:
    """The same elements in the shape `newshape`, of which one size may be -1.

    >>> reshape([1, 2], (2, 1)).shape
    TensorShape([2, 1])
    """
    return _movement.reshape(array(a), newshape)


def ravel(a: TensorLike) -> Tensor:
    """The elements in a row.

    >>> ravel([[1, 2]]).numpy()
    array([1, 2])
    """
    return _movement.reshape(array(a), (-1,))


def transpose(a: TensorLike, axes: ShapeLike | None = None) -> Tensor:
    """The axes in the order `axes`, reversed by default.

    >>> transpose([[1, 2]]).shape
    TensorShape([2, 1])
    """
    return _movement.transpose(array(a), axes)


def expand_dims(a: TensorLike, axis: Axis) -> Tensor:
    """A new axis of length 1.

    >>> expand_dims([1], 0).shape
    TensorShape([1, 1])
    """
    return _movement.expand_dims(array(a), axis)


def squeeze(a: TensorLike, axis: Axes = None) -> Tensor:
    """Without axes of length 1.

    >>> squeeze([[1]]).shape
    TensorShape([])
    """
    return _movement.squeeze(array(a), axis)


def broadcast_to(array: TensorLike, shape: ShapeLike) -> Tensor:
    """Repeat `array` over a shape that it broadcasts to.

    >>> broadcast_to([1], (2,)).numpy()
    array([1, 1])
    """
    return _movement.broadcast_to(asarray(array), shape)


def tile(a: TensorLike, reps: ShapeLike) -> Tensor:
    """Repeat the whole tensor `reps` times along each axis.

    >>> tile([1, 2], 2).numpy()
    array([1, 2, 1, 2])
    """
    times = list(_movement.static_shape("tile", reps))
    x = at_least(array(a), len(times))
    return _movement.tile(x, [1] * (x.ndim - len(times)) + times)


def repeat(a: TensorLike, repeats: TensorLike, axis: Axis | None = None) -> Tensor:
    """Repeat each element `repeats` times, along an axis or in the flat tensor.

    >>> repeat([1, 2], 2).numpy()
    array([1, 1, 2, 2])
    """
    return _repeat(array(a), repeats, axis)


def flip(m: TensorLike, axis: Axes = None) -> Tensor:
    """The elements of `m` in reverse order along axes, all by default.

    >>> flip([1, 2]).numpy()
    array([2, 1])
    """
    x = array(m)
    return _reverse(x, list(range(x.ndim)) if axis is None else axis)


# ---------------------------------------------------------------------------------------------------------------------
# Splitting and moving


def append(arr: TensorLike, values: TensorLike, axis: Axis | None = None) -> Tensor:
    """`values` after `arr`, along an axis or both flat.

    >>> append([1], [2, 3]).numpy()
    array([1, 2, 3])
    """
    first, second = together(arr, values)
    if axis is None:
        return _movement.concat([ravel(first), ravel(second)], 0)
    return _movement.concat([first, second], axis)


def _of_each(arys: Any, change: Any) -> Any:
    made = [change(array(x)) for x in arys]
    return made[0] if len(made) == 1 else made


def atleast_1d(*arys: TensorLike) -> Any:
    """Arrays, those in `arys`, of at least one axis.

    >>> atleast_1d(1).shape
    TensorShape([1])
    """
    return _of_each(arys, lambda x: at_least(x, 1))


def atleast_2d(*arys: TensorLike) -> Any:
    """Arrays, those in `arys`, of at least two axes.

    >>> atleast_2d([1, 2]).shape
    TensorShape([1, 2])
    """
    return _of_each(arys, lambda x: at_least(x, 2))


def atleast_3d(*arys: TensorLike) -> Any:
    """Arrays, those in `arys`, of at least three axes; a matrix gets its new axis last.

    >>> atleast_3d([1, 2]).shape
    TensorShape([1, 2, 1])
    """
    return _of_each(arys, lambda x: x if x.ndim > 2 else _movement.expand_dims(at_least(x, 2), -1))


def broadcast_arrays(*args: TensorLike, **kwargs: Any) -> list[Tensor]:
    """Arrays repeated to the shape they have in common.

    Args:
        subok: must be False.

    >>> [x.shape for x in broadcast_arrays([1, 2], 3)]
    [TensorShape([2]), TensorShape([2])]
    """
    if kwargs.pop("subok", False) or kwargs:
        raise ValueError("broadcast_arrays: takes arrays only")
    arrays = [array(x) for x in args]
    try:
        common = np.broadcast_shapes(*(x._array.shape for x in arrays))
    except ValueError as error:
        raise InvalidArgumentError(f"broadcast_arrays: {error}") from None
    return [_movement.broadcast_to(x, common) for x in arrays]


def split(ary: TensorLike, indices_or_sections: Any, axis: Axis = 0) -> list[Tensor]:
    """Divide `ary` along an axis: `indices_or_sections` is a number of equal parts, or the indices where parts begin.

    >>> [part.numpy().tolist() for part in split([1, 2, 3], [1])]
    [[1], [2, 3]]
    """
    x = array(ary)
    along = axis_of("split", axis, x.ndim)
    length = x._array.shape[along]
    if not convert(indices_or_sections).ndim:
        count = _integer("split", "indices_or_sections", indices_or_sections, 1)
        if length % count or count > max(length, 1):
            raise ValueError(f"split: {length} elements make no {count} equal parts")
        return _movement.split(x, count, axis=along)
    ends = [0, *static_shape("split: indices_or_sections", indices_or_sections), length]
    places = [min(max(end + length if end < 0 else end, 0), length) for end in ends]
    sizes = [max(b - a, 0) for a, b in itertools.pairwise(places)]
    starts = places[:-1]
    lead = (slice(None),) * along
    return [x[(*lead, slice(start, start + size))] for start, size in zip(starts, sizes)]


def hsplit(ary: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """Divide `ary` along the second axis, or the only one; `indices_or_sections` as for `split`.

    >>> [part.shape for part in hsplit([[1, 2]], 2)]
    [TensorShape([1, 1]), TensorShape([1, 1])]
    """
    x = array(ary)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(ary: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """Divide `ary` along the first axis; `indices_or_sections` as for `split`.

    >>> [part.shape for part in vsplit([[1], [2]], 2)]
    [TensorShape([1, 1]), TensorShape([1, 1])]
    """
    return split(ary, indices_or_sections, 0)


def dsplit(ary: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """Divide `ary` along the third axis; `indices_or_sections` as for `split`.

    >>> [part.shape for part in dsplit([[[1, 2]]], 2)]
    [TensorShape([1, 1, 1]), TensorShape([1, 1, 1])]
    """
    return split(ary, indices_or_sections, 2)


def flatten(a: TensorLike, order: str = "C") -> Tensor:
    """The elements in a row.

    Args:
        order: "C", "A" or "K" for the last axis first, "F" for the first axis first.

    >>> flatten([[1, 2], [3, 4]], "F").numpy()
    array([1, 3, 2, 4])
    """
    choice("flatten", "order", order, ("C", "A", "K", "F"))
    return ravel(transpose(a) if order == "F" else a)


def fliplr(m: TensorLike) -> Tensor:
    """The elements of `m` in reverse order along the second axis.

    >>> fliplr([[1, 2]]).numpy()
    array([[2, 1]])
    """
    return flip(m, 1)


def flipud(m: TensorLike) -> Tensor:
    """The elements of `m` in reverse order along the first axis.

    >>> flipud([1, 2]).numpy()
    array([2, 1])
    """
    return flip(m, 0)


def moveaxis(a: TensorLike, source: Any, destination: Any) -> Tensor:
    """Move axes from `source` to `destination`.

    >>> moveaxis([[[1, 2, 3]]], -1, 0).shape
    TensorShape([3, 1, 1])
    """
    x = array(a)
    pairs = [static_shape("moveaxis", v) for v in (source, destination)]
    sources, targets = ([axis_of("moveaxis", v, x.ndim) for v in part] for part in pairs)
    if len(sources) != len(targets) or len({*sources}) != len(sources) or len({*targets}) != len(targets):
        raise ValueError(f"moveaxis: {sources} cannot be moved to {targets}")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources)):
        order.insert(target, axis)
    return _movement.transpose(x, order)


def swapaxes(a: TensorLike, axis1: Axis, axis2: Axis) -> Tensor:
    """Exchange the axes `axis1` and `axis2`.

    >>> swapaxes([[1, 2, 3]], 0, 1).shape
    TensorShape([3, 1])
    """
    x = array(a)
    order = list(range(x.ndim))
    first, second = axis_of("swapaxes", axis1, x.ndim), axis_of("swapaxes", axis2, x.ndim)
    order[first], order[second] = second, first
    return _movement.transpose(x, order)


def roll(a: TensorLike, shift: Any, axis: Axes = None) -> Tensor:
    """Move elements by `shift` along axes, or in the flat array; those that leave come in at the other end.

    >>> roll([1, 2, 3], 1).numpy()
    array([3, 1, 2])
    """
    x = array(a)
    if axis is None:
        return _movement.reshape(_roll(ravel(x), shift, 0), x.shape)
    shifts, axes = (list(static_shape("roll", v)) for v in (shift, axis))
    return _roll(x, shifts * len(axes) if len(shifts) == 1 else shifts, axes)


def rot90(m: TensorLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """Turn `m` by `k` times 90 degrees in the plane of two axes.

    >>> rot90([[1, 2], [3, 4]]).numpy()
    array([[2, 4], [1, 3]])
    """
    x = array(m)
    plane = [axis_of("rot90", axis, x.ndim) for axis in static_shape("rot90", axes)]
    if len(plane) != 2 or plane[0] == plane[1]:
        raise ValueError(f"rot90: axes must be two, not {axes!r}")
    first, second = plane
    turns = _integer("rot90", "k", k) % 4
    if turns == 2:
        return flip(x, [first, second])
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second) if turns == 3 else x


def pad(array: TensorLike, pad_width: Any, mode: str, **kwargs: Any) -> Tensor:
    """New elements around an array.

    Args:
        pad_width: for each axis how many before and after; or one pair or number for all.
        mode: "constant", "reflect" or "symmetric".
        constant_values: with "constant", 0 by default.

    >>> pad([1, 2], 1, "constant", constant_values=9).numpy()
    array([9, 1, 2, 9])
    """
    choice("pad", "mode", mode, ("constant", "reflect", "symmetric"))
    fill = kwargs.pop("constant_values", 0)
    if kwargs:
        raise ValueError(f"pad: {sorted(kwargs)} are not known: takes constant_values")
    x = asarray(array)
    given = known("pad", "pad_width", convert(pad_width)._array)
    try:
        widths = np.broadcast_to(given, (x.ndim, 2)).tolist()
    except ValueError:
        raise InvalidArgumentError(
            f"pad: pad_width must be a pair for each of {x.ndim} axes, or one for all, not of shape {list(given.shape)}"
        ) from None
    return _pad(x, widths, mode, asarray(fill, x.dtype) if mode == "constant" else 0)


def diagonal(a: TensorLike, offset: int = 0, axis1: Axis = 0, axis2: Axis = 1) -> Tensor:
    """A diagonal of the matrices in the axes `axis1` and `axis2`, as the last axis.

    Args:
        offset: which one: positive above the main one, negative below.

    >>> diagonal([[1, 2], [3, 4]]).numpy()
    array([1, 4])
    """
    first, second = (_integer("diagonal", name, axis) for name, axis in (("axis1", axis1), ("axis2", axis2)))
    return diagonal_of(moveaxis(a, [first, second], [-2, -1]), _integer("diagonal", "offset", offset))


def tril(m: TensorLike, k: int = 0) -> Tensor:
    """`m` with zeros above the diagonal `k`.

    >>> tril([[1, 2], [3, 4]]).numpy()
    array([[1, 0], [3, 4]])
    """
    return _triangle("tril", m, k, True)


def triu(m: TensorLike, k: int = 0) -> Tensor:
    """`m` with zeros below the diagonal `k`.

    >>> triu([[1, 2], [3, 4]]).numpy()
    array([[1, 2], [0, 4]])
    """
    return _triangle("triu", m, k, False)


def _triangle(name: str, m: Any, k: Any, lower: bool) -> Tensor:
    x, diagonal = array(m), _integer(name, "k", k)
    if x.ndim < 2:
        raise ValueError(f"{name}: needs two axes, not the shape {list(x.shape)}")
    rows, columns = x._array.shape[-2:]
    kept = np.tri(rows, columns, diagonal if lower else diagonal - 1, dtype=bool)
    return _tf.where(kept if lower else ~kept, x, array(0, x.dtype))
