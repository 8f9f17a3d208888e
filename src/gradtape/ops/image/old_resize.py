"""Resizing as TensorFlow 1 does: pixels are points at whole numbers, unless their centres are asked for.

Called by `compat.v1.image` and `raw_ops`. An output i lies at i * n / m, or with `align_corners` at
i * (n - 1) / (m - 1), so that the first and the last pixel stay where they are.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.primitive import apply, reals
from ...core.slicing import gather_
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import ShapeLike, TensorLike
from ..array.movement import cast
from .resample import Weights, resample, resizing, sparse_rows
from .resize import as_batch, new_size


def _scale(n: int, m: int, align_corners: bool) -> Any:
    """Pixels for a step of the output. In float32, because there products round as TensorFlow's do."""
    return np.float32(n - 1) / np.float32(m - 1) if align_corners and m > 1 else np.float32(n) / np.float32(m)


def _places(n: int, m: int, align_corners: bool, half_pixel_centers: bool) -> Any:
    steps = np.arange(m, dtype=np.float32)
    scale = _scale(n, m, align_corners)
    return (steps + np.float32(0.5)) * scale - np.float32(0.5) if half_pixel_centers else steps * scale


def _nearest(n: int, m: int, align_corners: bool, half_pixel_centers: bool) -> Any:
    at = _places(n, m, align_corners, half_pixel_centers) + np.float32(0.5 * half_pixel_centers)
    whole = np.floor(at + np.float32(0.5)) if align_corners else np.floor(at)
    return np.clip(whole.astype(np.intp), 0, n - 1)


def _cubic(x: Any) -> Any:
    """The cubic of Keys with a = -0.75."""
    a = -0.75
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _area(n: int, m: int, align_corners: bool) -> Weights:
    scale = float(_scale(n, m, align_corners)) or 1.0  # 0 for the only pixel
    edges = np.arange(m + 1) * scale
    pixel = np.floor(edges[:-1, None]) + np.arange(int(np.ceil(scale)) + 1)
    covered = np.minimum(pixel + 1, edges[1:, None]) - np.maximum(pixel, edges[:-1, None])
    return sparse_rows(pixel.clip(0, n - 1).astype(np.intp), covered.clip(min=0) / scale, n)


@functools.lru_cache(maxsize=1000)
def _weights(method: str, n: int, m: int, align_corners: bool, half_pixel_centers: bool) -> Weights:
    if method == "nearest":
        return sparse_rows(_nearest(n, m, align_corners, half_pixel_centers)[:, None], np.ones((m, 1)), n)
    if method == "area":
        return _area(n, m, align_corners)
    if method == "bicubic" and half_pixel_centers:
        return resizing("bicubic", n, m, False)
    at = _places(n, m, align_corners, half_pixel_centers).astype(np.float64)
    low = np.floor(at)
    if method == "bilinear":
        columns, values = np.stack([low, low + 1], 1), np.stack([1 - (at - low), at - low], 1)
    else:
        distance = np.rint((at - low) * 1024) / 1024  # TensorFlow has a table of so many
        columns = low[:, None] + np.arange(-1, 3)
        values = _cubic(np.abs(np.arange(-1, 3) - distance[:, None]))
    return sparse_rows(columns.clip(0, n - 1).astype(np.intp), values, n)


def old_resize(
    name: str,
    images: TensorLike,
    size: ShapeLike,
    method: str,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images in another size; float32, but for method "nearest".

    Args:
        name: of the operation, for errors.
        images: of shape (batch, height, width, channels).
        size: the new height and width.
        method: "bilinear", "nearest", "bicubic" or "area".
        align_corners: whether the corners of the old and of the new image are the same.
        half_pixel_centers: whether pixels are squares with their centres at 1/2, as in TensorFlow 2.

    Raises:
        InvalidArgumentError: if a shape or size is another, or `align_corners` and `half_pixel_centers` are both true.

    >>> old_resize("resize_bilinear", [[[[1.0], [3.0]]]], [1, 4], "bilinear").numpy()[0, 0, :, 0]
    array([1., 2., 3., 3.], dtype=float32)
    """
    if align_corners and half_pixel_centers:
        raise InvalidArgumentError(f"{name}: give one of align_corners and half_pixel_centers, not both")
    x = as_batch(name, images)
    sizes = new_size(x, size, False)
    reals(resample, [x._array], None)
    if method != "nearest":
        x = cast(x, "float32")
    for axis in (-3, -2):
        n, m = x._array.shape[axis], sizes[axis + 3]
        if method == "nearest" and not x.dtype.is_floating:
            at = convert(_nearest(n, m, bool(align_corners), bool(half_pixel_centers)))
            x = apply(gather_, (x, at), {"axis": axis})
        else:
            weights = _weights(method, n, m, bool(align_corners), bool(half_pixel_centers))
            x = apply(resample, (x,), {"weights": weights, "axis": axis})
    return x
