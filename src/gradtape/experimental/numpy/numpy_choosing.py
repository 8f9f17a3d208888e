"""Choosing for `experimental.numpy`: by conditions, by numbers, and by order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import math as _tf
from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor
from ...core.types import Axis, TensorLike
from ...ops.array import movement as _movement
from ...ops.known import is_computed
from ...ops.math.sorting import argsort as _argsort
from ...ops.math.sorting import sort as _sort
from ...ops.scalars import choice
from .numpy_arrays import _moved, array, together
from .numpy_math import maximum, minimum
from .numpy_shapes import at_least, axis_of, ravel


def where(condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None) -> Any:
    """`x` where `condition` holds, `y` elsewhere; of a condition alone, the indices along each axis.

    >>> where([True, False], 1.0, 2).numpy()
    array([1., 2.])
    """
    chosen = array(condition, bool)
    if x is None and y is None:
        return _movement.unstack(_tf.where(chosen), axis=1)
    taken, other = together(x, y)
    return _tf.where(chosen, taken, other)


def select(
    condlist: Sequence[TensorLike], choicelist: Sequence[TensorLike], default: TensorLike = 0
) -> Tensor:
    """Choose element by element, by the first condition that holds.

    Args:
        condlist: conditions.
        choicelist: a tensor for each condition.
        default: for elements for which no condition holds.

    Raises:
        ValueError: if there is no condition, or not one for each choice.

    >>> select([[True, False]], [[1.0, 2.0]], 9.0).numpy()
    array([1., 9.])
    """
    if not len(condlist) or len(condlist) != len(choicelist):
        raise ValueError(
            f"select: each condition, at least one, needs a choice; got {len(condlist)} and {len(choicelist)}"
        )
    *choices, result = together(*choicelist, default)
    for condition, chosen in reversed(list(zip(condlist, choices, strict=True))):
        result = _tf.where(array(condition, bool), chosen, result)
    return result


def clip(a: TensorLike, a_min: TensorLike | None, a_max: TensorLike | None) -> Tensor:
    """The nearest values in [`a_min`, `a_max`]; None for no bound.

    >>> clip([1, 5], 2, 3).numpy()
    array([2, 3])
    """
    x = array(a)
    if a_min is not None:
        x = maximum(x, a_min)
    return x if a_max is None else minimum(x, a_max)


def take(
    a: TensorLike, indices: TensorLike, axis: Axis | None = None, out: None = None, mode: str = "clip"
) -> Tensor:
    """The elements at indices along an axis, or of the flat array.

    Args:
        indices: integers; below 0 counted from the end, with mode="wrap".
        out: must be None.
        mode: "clip" takes the nearest element for indices outside; "wrap" goes round; "raise" raises.

    >>> take([1, 2, 3], [2, 0]).numpy()
    array([3, 1])
    """
    if out is not None:
        raise ValueError("take: tensors are immutable, so out must be None")
    choice("take", "mode", mode, ("clip", "wrap", "raise"))
    x = ravel(a) if axis is None else array(a)
    along = 0 if axis is None else axis
    at = array(indices)
    length = x._array.shape[axis_of("take", along, x.ndim)]
    if mode == "clip":
        at = _tf.minimum(_tf.maximum(at, 0), length - 1)
    elif mode == "wrap":
        at = _tf.floormod(at, length)
    elif not is_computed(at) and at._array.size:
        if not -length <= at._array.min() <= at._array.max() < length:
            raise InvalidArgumentError(f"take: an index is outside of the {length} elements")
        at = _tf.floormod(at, length)
    return _movement.gather(x, at, axis=along)


def take_along_axis(arr: TensorLike, indices: TensorLike, axis: Axis | None) -> Tensor:
    """For each place the element of `arr` at its own index along an axis; `indices` as `argsort` gives them.

    >>> take_along_axis([[3, 1]], [[1, 0]], 1).numpy()
    array([[1, 3]])
    """
    x, at = array(arr), array(indices)
    if axis is None:
        return take(x, ravel(at), None, mode="wrap")
    if x.ndim != at.ndim:
        raise ValueError(
            f"take_along_axis: arr and indices must have as many axes, not {x.ndim} and {at.ndim}"
        )
    along = axis_of("take_along_axis", axis, x.ndim)
    lengths = np.broadcast_shapes(*([n for i, n in enumerate(y._array.shape) if i != along] for y in (x, at)))
    common = list(lengths)
    last = [_movement.transpose(y, _moved(x.ndim, along, -1)) for y in (x, at)]
    wide = [_movement.broadcast_to(y, (*common, y._array.shape[-1])) for y in last]
    found = _movement.gather(wide[0], _tf.floormod(wide[1], wide[0]._array.shape[-1]), batch_dims=len(common))
    return _movement.transpose(found, _moved(x.ndim, -1, along))


def compress(condition: TensorLike, a: TensorLike, axis: Axis | None = None) -> Tensor:
    """The slices along an axis, or elements of the flat array, for which `condition` holds.

    >>> compress([True, False, True], [1, 2, 3]).numpy()
    array([1, 3])
    """
    x = ravel(a) if axis is None else array(a)
    chosen = array(condition, bool)
    if chosen.ndim != 1:
        raise ValueError(f"compress: condition must be a vector, not of shape {list(chosen.shape)}")
    along = 0 if axis is None else axis
    return _movement.gather(x, _movement.reshape(_tf.where(chosen), (-1,)), axis=along)


def nonzero(a: TensorLike) -> list[Tensor]:
    """The indices of the elements that are not 0, along each axis.

    >>> [i.numpy().tolist() for i in nonzero([0, 5, 6])]
    [[1, 2]]
    """
    x = array(a, bool)
    return _movement.unstack(_tf.where(at_least(x, 1)), axis=1)


def sort(a: TensorLike, axis: Axis | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
    """The elements in ascending order along an axis, or of the flat array.

    Args:
        kind: accepted.
        order: must be None.

    >>> sort([3, 1, 2]).numpy()
    array([1, 2, 3])
    """
    _sorting("sort", kind, order)
    return _sort(ravel(a), 0) if axis is None else _sort(array(a), axis)


def argsort(a: TensorLike, axis: Axis | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
    """The indices that put the elements in ascending order along an axis, or in the flat array.

    Args:
        kind: "quicksort" or "stable": equal elements always stay in order.
        order: must be None.

    >>> argsort([3, 1, 2]).numpy()
    array([1, 2, 0])
    """
    _sorting("argsort", kind, order)
    found = _argsort(ravel(a), 0, stable=True) if axis is None else _argsort(array(a), axis, stable=True)
    return _movement.cast(found, "int64")


def _sorting(name: str, kind: Any, order: Any) -> None:
    choice(name, "kind", kind, ("quicksort", "mergesort", "heapsort", "stable"))
    if order is not None:
        raise ValueError(f"{name}: arrays have no fields: order must be None")
