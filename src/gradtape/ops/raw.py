"""Operations that TensorFlow has only in `tf.raw_ops`, as far as libraries call them. They take keywords alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.errors import DTypeError, InvalidArgumentError
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.types import DTypeLike, ShapeLike, TensorLike
from .array.movement import cast, reshape
from .image.projection import projective_transform
from .known import static_shape
from .math.sorting import Unique, UniqueWithCounts, distinct, searchsorted

_BUCKETED = ("int32", "int64", "float32", "float64")


def Bucketize(*, input: TensorLike, boundaries: Sequence[float], name: str | None = None) -> Tensor:
    """The number of boundaries at or below each element.

    Args:
        input: int32, int64, float32 or float64.
        boundaries: numbers in ascending order, which count as float32.

    Raises:
        DTypeError: if the input has another dtype.
        InvalidArgumentError: if the boundaries are not in order.

    >>> Bucketize(input=[-5.0, 3.0, 15.0], boundaries=[0.0, 3.0, 10.0]).numpy()
    array([0, 2, 3], dtype=int32)
    """
    x = convert(input)
    if x.dtype.name not in _BUCKETED:
        raise DTypeError(f"Bucketize: input must be one of {', '.join(_BUCKETED)}, not {x.dtype.name}")
    try:
        edges = np.array(list(boundaries), np.float32).astype(np.float64)
    except (TypeError, ValueError):
        raise DTypeError(f"Bucketize: boundaries must be a list of numbers, not {boundaries!r}") from None
    if edges.ndim != 1 or not (edges[1:] >= edges[:-1]).all():
        raise InvalidArgumentError(
            f"Bucketize: boundaries must be numbers in ascending order, not {boundaries!r}"
        )
    found = searchsorted(edges[None], reshape(cast(x, "float64"), (1, -1)), "right")
    return reshape(found, x._array.shape)


def ImageProjectiveTransformV3(
    *,
    images: TensorLike,
    transforms: TensorLike,
    output_shape: ShapeLike,
    fill_value: TensorLike,
    interpolation: str,
    fill_mode: str = "CONSTANT",
    name: str | None = None,
) -> Tensor:
    """Images transformed: the output at (x, y) is the input at ((a x + b y + c) / k, (d x + e y + f) / k).

    k is g x + h y + 1.

    Args:
        images: of shape (batch, height, width, channels).
        transforms: rows of eight numbers a to h, one for each image or one for all.
        output_shape: the height and width of the result.
        fill_value: outside of the image, with fill_mode="CONSTANT".
        interpolation: "NEAREST" or "BILINEAR".
        fill_mode: continues the image: "CONSTANT", "REFLECT", "WRAP" or "NEAREST".

    Raises:
        DTypeError: if the images have a dtype that cannot be transformed.
        InvalidArgumentError: if a shape or a word is another.

    >>> shift = [[1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]]
    >>> ImageProjectiveTransformV3(
    ...     images=[[[[1], [2], [3]]]], transforms=shift, output_shape=[1, 3], fill_value=9.0,
    ...     interpolation="NEAREST").numpy().reshape(-1)
    array([2, 3, 9], dtype=int32)
    """
    return projective_transform(images, transforms, output_shape, fill_value, interpolation, fill_mode)


def UniqueV2(
    *, x: TensorLike, axis: ShapeLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None
) -> Unique:
    """The distinct slices along an axis in the order they appear, and for each slice the index of its like.

    Args:
        axis: one number in a list; an empty list for a vector.
        out_idx: int32 or int64, of the indices.

    Raises:
        InvalidArgumentError: if there is no such axis.
        NotCompilableError: if `x` is computed in a `@function`: the shape of the result depends on its values.

    >>> UniqueV2(x=[[1, 2], [3, 4], [1, 2]], axis=[0]).idx.numpy()
    array([0, 1, 0], dtype=int32)
    """
    values, which, _ = _along("UniqueV2", x, axis, out_idx)
    return Unique(values, which)


def UniqueWithCountsV2(
    *, x: TensorLike, axis: ShapeLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None
) -> UniqueWithCounts:
    """`UniqueV2`, and how often each slice occurs.

    Args:
        axis: one number in a list; an empty list for a vector.
        out_idx: int32 or int64, of the indices and counts.

    Raises:
        InvalidArgumentError: if there is no such axis.
        NotCompilableError: if `x` is computed in a `@function`: the shape of the result depends on its values.

    >>> UniqueWithCountsV2(x=[[1, 3, 1], [2, 4, 2]], axis=[1]).count.numpy()
    array([2, 1], dtype=int32)
    """
    return UniqueWithCounts(*_along("UniqueWithCountsV2", x, axis, out_idx))


def _along(name: str, x: TensorLike, axis: ShapeLike, out_idx: DTypeLike) -> tuple[Any, ...]:
    value, kind = convert(x), dtypes.as_dtype(out_idx)
    if kind.name not in ("int32", "int64"):
        raise DTypeError(f"{name}: out_idx must be int32 or int64, not {kind.name}")
    axes = static_shape(f"{name}: axis", axis) or (0,) * (value.ndim == 1)
    if len(axes) != 1 or not -value.ndim <= axes[0] < value.ndim:
        raise InvalidArgumentError(
            f"{name}: axis must be one axis of x in a list, not {list(axes)} for the shape {value.shape}"
        )
    slices, which, counts = distinct(name, value, axes[0])
    return wrap(slices), wrap(which.astype(kind.numpy_dtype)), wrap(counts.astype(kind.numpy_dtype))
