"""Clipping: by value, by norm, by the norm of many tensors together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.dtypes import HALF
from ...core.indexed_slices import IndexedSlices
from ...core.primitive import apply, apply1, apply2, ordered, rounded
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import Axes, TensorLike
from .elementwise import clip, divide, divide_no_nan, isfinite, maximum, multiply, number, select
from .reduction import reduce_euclidean_norm


def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor:
    """Each element brought into [clip_value_min, clip_value_max]. Gradients pass where nothing was clipped.

    >>> clip_by_value([-2.0, 0.5, 2.0], -1.0, 1.0).numpy()
    array([-1. ,  0.5,  1. ], dtype=float32)
    """
    x = convert(t)
    dtype = x._array.dtype
    bounds = convert(clip_value_min, None, dtype), convert(clip_value_max, None, dtype)
    return ordered(clip, apply(clip, (x, *bounds)))


def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: Axes = None, name: str | None = None) -> Any:
    """The tensor scaled down so that its norm is at most `clip_norm`; zeros stay, with gradient 1.

    Args:
        t: A tensor, or `IndexedSlices`, which stay `IndexedSlices`.
        clip_norm: The largest norm.
        axes: The axes of the norm, all by default.

    >>> clip_by_norm([3.0, 4.0], 1.0).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    if isinstance(t, IndexedSlices):
        return t.map_values(lambda values: clip_by_norm(values, clip_norm, axes))
    x = convert(t)
    limit: Any = convert(clip_norm, None, x._array.dtype)
    if x._array.dtype.char in HALF:
        return rounded(clip_by_norm, x, limit, axes=axes)
    length = reduce_euclidean_norm(x, axes, keepdims=True)
    return apply2(divide_no_nan, apply2(multiply, x, limit), apply2(maximum, length, limit))


def _check_list(name: str, t_list: Any) -> None:
    if not isinstance(t_list, (list, tuple)):
        raise TypeError(f"{name}: t_list must be a list of tensors, not {t_list!r}")


def global_norm(t_list: Sequence[TensorLike | None], name: str | None = None) -> Tensor:
    """The norm of all tensors together, as one vector. None is left out; the norm of an empty list is 0.

    Raises:
        TypeError: If `t_list` is no list.

    >>> float(global_norm([[3.0], [4.0]]))
    5.0
    """
    _check_list("global_norm", t_list)
    rows = [t.values if isinstance(t, IndexedSlices) else convert(t) for t in t_list if t is not None]
    return reduce_euclidean_norm([reduce_euclidean_norm(row) for row in rows] or 0.0)


def clip_by_global_norm(
    t_list: Sequence[TensorLike | None],
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Any], Tensor]:
    """All tensors scaled down together so that their global norm is at most `clip_norm`; returns them and the norm.

    If the norm is infinite or nan, all elements become nan: finite ones would hide that a gradient was not.

    Args:
        t_list: Tensors; None stays None.
        clip_norm: The largest global norm.
        use_norm: The global norm, if it is known already.

    Raises:
        TypeError: If `t_list` is no list.

    >>> clipped, length = clip_by_global_norm([[3.0], [4.0]], 1.0)
    >>> [t.numpy().tolist() for t in clipped], float(length)
    ([[0.6000000238418579], [0.800000011920929]], 5.0)
    """
    _check_list("clip_by_global_norm", t_list)
    length: Any = global_norm(t_list) if use_norm is None else convert(use_norm)
    limit: Any = convert(clip_norm, None, length._array.dtype)
    scale = apply2(divide, limit, apply2(maximum, length, limit))
    scale = apply(select, (apply1(isfinite, length), scale, number(float("nan"), length)))

    def scaled(t: Any) -> Any:
        if t is None:
            return None
        if isinstance(t, IndexedSlices):
            return t.map_values(lambda values: apply2(multiply, convert(values), scale))
        return apply2(multiply, convert(t), scale)

    return [scaled(t) for t in t_list], length
