"""Images seen through a projective transform: each output pixel is read from a place in the input."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import quietly
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert, convert_to_tensor
from ...core.types import ShapeLike, TensorLike
from ...engine.arrays import xp
from ..array.creation import fill as full
from ..array.movement import cast, expand_dims, gather, reshape
from ..known import static_shape
from ..math.functions import where
from ..scalars import choice

FILL_MODES = ("CONSTANT", "REFLECT", "WRAP", "NEAREST")
INTERPOLATIONS = ("NEAREST", "BILINEAR")
_IMAGES = ("uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64")


def projective_transform(
    images: TensorLike,
    transforms: TensorLike,
    output_shape: ShapeLike,
    fill_value: TensorLike = 0.0,
    interpolation: str = "NEAREST",
    fill_mode: str = "CONSTANT",
) -> Tensor:
    """Images transformed: the output at (x, y) is the input at ((a x + b y + c) / k, (d x + e y + f) / k).

    k is g x + h y + 1. The gradient passes to the images, as the transpose of this; the transforms have none.

    Args:
        images: of shape (batch, height, width, channels).
        transforms: rows of eight numbers a to h, one for each image or one for all.
        output_shape: the height and width of the result.
        fill_value: outside of the image, with fill_mode="CONSTANT".
        interpolation: "NEAREST" takes the nearest pixel, "BILINEAR" the mean of four.
        fill_mode: continues the image: "CONSTANT", "REFLECT" as in dcba|abcd|dcba, "WRAP" as in abcd|abcd|abcd,
            "NEAREST" as in aaaa|abcd|dddd.

    Raises:
        DTypeError: if the images have a dtype that cannot be transformed.
        InvalidArgumentError: if a shape or a word is another.

    >>> shift = [[1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]]
    >>> projective_transform([[[[1.0], [2.0], [3.0]]]], shift, [1, 3]).numpy().reshape(-1)
    array([2., 3., 0.], dtype=float32)
    """
    x, matrices = _checked(images, transforms)
    name = "ImageProjectiveTransformV3"
    size = static_shape(f"{name}: output_shape", output_shape)
    if len(size) != 2 or min(size) <= 0:
        raise InvalidArgumentError(f"{name}: output_shape must be a height and a width, not {list(size)}")
    choice(name, "interpolation", interpolation, INTERPOLATIONS)
    choice(name, "fill_mode", fill_mode, FILL_MODES)
    fill = cast(wrap(convert_to_tensor(fill_value, dtype_hint="float32")._array), x.dtype)
    if fill.ndim:
        raise InvalidArgumentError(f"{name}: fill_value must be one number, not of shape {fill.shape}")
    batch, height, width, channels = x._array.shape
    shape = (batch, *size, channels)
    if 0 in x._array.shape:
        return full(shape, fill)
    rows, columns = quietly(_places, matrices._array, size, (height, width), fill_mode)
    pixels = Pixels(x, fill, rows.shape[0])
    read = pixels.bilinear if interpolation == "BILINEAR" else pixels.nearest
    return reshape(read(rows, columns), shape)


def _checked(images: TensorLike, transforms: TensorLike) -> tuple[Tensor, Tensor]:
    x = convert(images)
    if x.dtype.name not in _IMAGES:
        raise DTypeError(
            f"ImageProjectiveTransformV3: images must be one of {', '.join(_IMAGES)}, not {x.dtype.name}"
        )
    matrices = convert(transforms, None, np.dtype(np.float32))
    if matrices.dtype is not dtypes.float32:
        raise DTypeError(
            f"ImageProjectiveTransformV3: transforms must be float32, not {matrices.dtype.name}: cast them"
        )
    if x.ndim != 4:
        raise InvalidArgumentError(
            f"ImageProjectiveTransformV3: images must have the shape (batch, height, width, channels), not {x.shape}"
        )
    if (
        matrices.ndim != 2
        or matrices._array.shape[1] != 8
        or matrices._array.shape[0] not in (1, x._array.shape[0])
    ):
        raise InvalidArgumentError(
            "ImageProjectiveTransformV3: transforms must have the shape (1, 8) or (batch, 8), not "
            f"{matrices.shape} for images of shape {x.shape}"
        )
    return x, matrices


# ---------------------------------------------------------------------------------------------------------------------
# Places, in float32 as TensorFlow computes them: it decides which pixel is the nearest


def _places(matrices: Any, size: tuple[int, int], lengths: tuple[int, int], mode: str) -> tuple[Any, Any]:
    """The row and column in the input of each output pixel: (transforms, pixels), nan where there is none."""
    m = xp(matrices)
    y, x = (grid.reshape(-1).astype(np.float32) for grid in np.indices(size))
    a, b, c, d, e, f, g, h = (matrices[:, i, None] for i in range(8))
    scale = g * x + h * y + np.float32(1)
    scale = m.where(scale == 0, np.float32(np.nan), scale)
    rows, columns = (d * x + e * y + f) / scale, (a * x + b * y + c) / scale
    return _continued(rows, lengths[0], mode), _continued(columns, lengths[1], mode)


def _continued(at: Any, length: int, mode: str) -> Any:
    """Places in an axis for places beyond its ends."""
    m = xp(at)
    if mode == "CONSTANT":
        return at
    if mode == "REFLECT":
        at = _reflected(m, at, length)
    elif mode == "WRAP":
        at = _wrapped(m, at, length)
    return m.where(m.isnan(at), at, m.clip(at, 0, length - 1)).astype(np.float32)


def _reflected(m: Any, at: Any, length: int) -> Any:
    """With a period of twice the length; place -1 is pixel 0 again."""
    period = np.float32(2 * length)
    before = at + period * m.trunc(-at / period)
    before = m.where(before < -length, before + period, -before - 1)
    after = at - period * m.trunc(at / period)
    after = m.where(after >= length, period - after - 1, after)
    return m.where(at < 0, before, m.where(at > length - 1, after, at))


def _wrapped(m: Any, at: Any, length: int) -> Any:
    """Shifted by whole lengths; TensorFlow counts them in steps of length - 1."""
    steps = np.float32(max(length - 1, 1))
    before = at + length * (m.trunc(-at / steps) + 1)
    after = at - length * m.trunc(at / steps)
    return m.where(at < 0, before, m.where(at > length - 1, after, at))


class Pixels:
    """Images to be read at places: `rows` and `columns` are arrays of shape (transforms, places)."""

    def __init__(self, images: Tensor, fill: Tensor, transforms: int) -> None:
        batch, self.height, self.width, channels = images._array.shape
        self.flat = reshape(images, (batch, self.height * self.width, channels))
        self.fill = fill
        self.shared = transforms == 1  # one transform for all images

    def nearest(self, rows: Any, columns: Any) -> Tensor:
        """The pixel at the nearest place, halves away from 0."""
        return self._at(_rounded(rows), _rounded(columns))

    def bilinear(self, rows: Any, columns: Any) -> Tensor:
        """The mean of four pixels, weighted by how near they are, and computed in float32 unless they are float64."""
        m = xp(rows)
        nowhere = m.isnan(rows) | m.isnan(columns)
        # A place far outside has no pixels around it, and differences there would be inf - inf.
        rows, columns = (
            m.clip(m.where(nowhere, np.float32(-2), at), -2, n + 1)
            for at, n in ((rows, self.height), (columns, self.width))
        )
        top, left = m.floor(rows), m.floor(columns)
        dtype = "float64" if self.flat.dtype is dtypes.float64 else "float32"
        corner = lambda down, right: cast(self._at(top + down, left + right), dtype)
        weight = lambda near: expand_dims(wrap(near.astype(dtype)), -1)
        right, down = weight(columns - left), weight(rows - top)
        from_right, from_below = weight(left + 1 - columns), weight(top + 1 - rows)
        above = from_right * corner(0, 0) + right * corner(0, 1)
        below = from_right * corner(1, 0) + right * corner(1, 1)
        return cast(from_below * above + down * below, self.flat.dtype)

    def _at(self, rows: Any, columns: Any) -> Tensor:
        """The pixels at whole places, the fill value outside of the image."""
        m = xp(rows)
        inside = (rows >= 0) & (rows < self.height) & (columns >= 0) & (columns < self.width)
        flat = m.where(inside, rows * self.width + columns, 0).astype(np.int64)
        if self.shared:
            found = gather(self.flat, wrap(flat[0]), axis=1)
        else:
            found = gather(self.flat, wrap(flat), batch_dims=1)
        return where(wrap(inside[..., None]), found, self.fill)


def _rounded(at: Any) -> Any:
    """To the nearest whole number, halves away from 0."""
    m = xp(at)
    whole = m.trunc(at)
    return whole + m.where(m.abs(at - whole) >= 0.5, m.sign(at), 0).astype(at.dtype)
