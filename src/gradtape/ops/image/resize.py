"""Images of another size: by resizing, by cropping and padding; and boxes cropped and resized.

Images are tensors of shape (height, width, channels), or batches of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, reals
from ...core.slicing import Index, bounds, gather_, getitem
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import ShapeLike, TensorLike
from ...engine.arrays import xp
from ..array.movement import cast, expand_dims, reshape, static_shape, unstack
from ..array.padding import pad
from ..known import afford
from ..math.elementwise import ceil, floor, select
from ..scalars import choice, integer, number
from .resample import KERNELS, nearest, resample, resizing


def as_images(name: str, value: TensorLike) -> Tensor:
    """An argument as an image or a batch of them: a tensor of rank 3 or 4."""
    x = convert(value)
    if x.ndim not in (3, 4):
        raise InvalidArgumentError(
            f"{name}: an image has shape (height, width, channels), a batch one axis more in front, "
            f"not {list(x._array.shape)}"
        )
    return x


def as_batch(name: str, value: TensorLike) -> Tensor:
    """An argument as a batch of images: a tensor of rank 4."""
    x = convert(value)
    if x.ndim != 4:
        raise InvalidArgumentError(
            f"{name}: images must have shape (batch, height, width, channels), not {list(x._array.shape)}"
        )
    return x


class ResizeMethod:
    """The methods of `resize`, by name.

    >>> import gradtape as tf
    >>> tf.image.resize(tf.ones([2, 2, 1]), [4, 4], ResizeMethod.NEAREST_NEIGHBOR).shape
    TensorShape([4, 4, 1])
    """

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def new_size(x: Tensor, size: ShapeLike, preserve_aspect_ratio: bool) -> tuple[int, int]:
    """The height and width for `size`, if there is the memory for them."""
    wanted = static_shape("resize", size)
    if len(wanted) != 2 or min(wanted) < 1:
        raise InvalidArgumentError(
            f"resize: size must be a height and a width of at least 1, not {list(wanted)}"
        )
    old = x._array.shape[-3:-1]
    if min(old) < 1:
        raise InvalidArgumentError(f"resize: an image of shape {list(x._array.shape)} has no pixels")
    height, width = wanted
    if preserve_aspect_ratio:
        # In float32, and rounding to even, as TensorFlow has it.
        scale = min(np.float32(height) / np.float32(old[0]), np.float32(width) / np.float32(old[1]))
        height, width = (max(1, int(np.rint(scale * np.float32(n)))) for n in old)
    afford("resize", (height + width,), 400)  # the weights, see `resample`
    afford("resize", (*x._array.shape[:-3], height, width, x._array.shape[-1]), 9)
    return height, width


def resize(
    images: TensorLike,
    size: ShapeLike,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """The images in another size, as float32; method 'nearest' keeps their dtype.

    Args:
        size: (height, width).
        method: one of `ResizeMethod`.
        preserve_aspect_ratio: whether to take the largest size of the old proportions that fits into `size`.
        antialias: whether to average over all pixels when an image becomes smaller.

    Raises:
        InvalidArgumentError: if `size` is not two numbers of at least 1, there is no such method, or an image has no
            pixels.

    >>> resize([[[1.0], [3.0]]], (1, 4)).numpy()[0, :, 0]
    array([1. , 1.5, 2.5, 3. ], dtype=float32)
    """
    x = as_images("resize", images)
    sizes = new_size(x, size, preserve_aspect_ratio)
    choice("resize", "method", method, (*KERNELS, "nearest", "area"))
    reals(resample, [x._array], None)
    if method != "nearest":
        x = cast(x, "float32")
    axes = (-3, -2) if sizes[0] < x._array.shape[-3] else (-2, -3)  # columns while there are fewer rows
    for axis in axes:
        n, m = x._array.shape[axis], sizes[axis + 3]
        if method == "nearest" and not x.dtype.is_floating:
            x = apply(gather_, (x, convert(nearest(n, m))), {"axis": axis})
        elif n != m or method in ("gaussian", "mitchellcubic"):  # which blur even when the size stays
            x = apply(resample, (x,), {"weights": resizing(method, n, m, bool(antialias)), "axis": axis})
    return x


def _target(name: str, target_height: int, target_width: int) -> tuple[int, int]:
    return integer(name, "target_height", target_height, 1), integer(name, "target_width", target_width, 1)


def _offset(name: str, offset_height: int, offset_width: int) -> tuple[int, int]:
    return integer(name, "offset_height", offset_height, 0), integer(name, "offset_width", offset_width, 0)


def resize_with_pad(
    image: TensorLike,
    target_height: int,
    target_width: int,
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Tensor:
    """The image resized in its proportions to fit the target, in the middle of zeros.

    `target_height` and `target_width` are the new size; `method` and `antialias` are those of `resize`.

    >>> resize_with_pad([[[1.0], [1.0]]], 2, 2).numpy()[:, :, 0]
    array([[1., 1.],
           [0., 0.]], dtype=float32)
    """
    x = as_images("resize_with_pad", image)
    target = _target("resize_with_pad", target_height, target_width)
    if 0 in x._array.shape[-3:-1]:
        raise InvalidArgumentError(f"resize_with_pad: an image of shape {list(x._array.shape)} has no pixels")
    # In float32, as TensorFlow has it, so that the same sizes come out.
    old, new = np.array(x._array.shape[-3:-1], np.float32), np.array(target, np.float32)
    fitting = old / (old / new).max()
    before = np.floor((new - fitting) / 2).clip(min=0).astype(int)
    resized = resize(x, np.floor(fitting).astype(int), method, antialias=antialias)
    return pad_to_bounding_box(resized, before[0], before[1], *target)


def crop_to_bounding_box(
    image: TensorLike, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Tensor:
    """The part of the image from (`offset_height`, `offset_width`) on, of size (`target_height`, `target_width`).

    Raises:
        InvalidArgumentError: if that part does not lie in the image.

    >>> crop_to_bounding_box([[[1], [2], [3]]], 0, 1, 1, 2).numpy()[0, :, 0]
    array([2, 3], dtype=int32)
    """
    x = as_images("crop_to_bounding_box", image)
    top, left = _offset("crop_to_bounding_box", offset_height, offset_width)
    height, width = _target("crop_to_bounding_box", target_height, target_width)
    shape = x._array.shape
    if top + height > shape[-3] or left + width > shape[-2]:
        raise InvalidArgumentError(
            f"crop_to_bounding_box: {height} x {width} pixels from ({top}, {left}) on do not lie in an image of shape "
            f"{list(shape)}"
        )
    index = Index((..., slice(top, top + height), slice(left, left + width), slice(None)))
    return apply(getitem, (x,), {"index": index})


def pad_to_bounding_box(
    image: TensorLike, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Tensor:
    """The image at (`offset_height`, `offset_width`) in zeros of size (`target_height`, `target_width`).

    Raises:
        InvalidArgumentError: if the image does not fit in.

    >>> pad_to_bounding_box([[[1], [2]]], 0, 1, 1, 3).numpy()[0, :, 0]
    array([0, 1, 2], dtype=int32)
    """
    x = as_images("pad_to_bounding_box", image)
    top, left = _offset("pad_to_bounding_box", offset_height, offset_width)
    height, width = _target("pad_to_bounding_box", target_height, target_width)
    shape = x._array.shape
    below, right = height - top - shape[-3], width - left - shape[-2]
    if min(below, right) < 0:
        raise InvalidArgumentError(
            f"pad_to_bounding_box: an image of shape {list(shape)} at ({top}, {left}) does not lie in "
            f"{height} x {width} pixels"
        )
    return pad(x, [[0, 0]] * (x.ndim - 3) + [[top, below], [left, right], [0, 0]])


def resize_with_crop_or_pad(image: TensorLike, target_height: int, target_width: int) -> Tensor:
    """The middle of the image, cropped or padded with zeros on all sides to (`target_height`, `target_width`).

    >>> resize_with_crop_or_pad([[[1], [2], [3]]], 1, 1).numpy()[0, :, 0]
    array([2], dtype=int32)
    """
    x = as_images("resize_with_crop_or_pad", image)
    target = _target("resize_with_crop_or_pad", target_height, target_width)
    more = [new - old for new, old in zip(target, x._array.shape[-3:-1], strict=True)]
    kept = [new - max(d, 0) for new, d in zip(target, more, strict=True)]
    cut, added = ([max(d // 2, 0) for d in spare] for spare in ([-d for d in more], more))
    cropped = crop_to_bounding_box(x, cut[0], cut[1], kept[0], kept[1])
    return pad_to_bounding_box(cropped, added[0], added[1], *target)


def central_crop(image: TensorLike, central_fraction: float) -> Tensor:
    """The middle of the image: `central_fraction` of its height and width.

    Raises:
        InvalidArgumentError: if `central_fraction` is not in (0, 1].

    >>> central_crop([[[1], [2], [3], [4]]], 0.5).shape
    TensorShape([1, 2, 1])
    """
    fraction = number("central_crop", "central_fraction", central_fraction)
    if not 0 < fraction <= 1:
        raise InvalidArgumentError(
            f"central_crop: central_fraction must lie in (0, 1], not {central_fraction}"
        )
    x = as_images("central_crop", image)
    cut = [int((n - n * fraction) / 2) for n in x._array.shape[-3:-1]]
    kept = [slice(c, n - c) for c, n in zip(cut, x._array.shape[-3:-1], strict=True)]
    return apply(getitem, (x,), {"index": Index((..., *kept, slice(None)))})


# ---------------------------------------------------------------------------------------------------------------------
# Boxes


def _sample_points(low: Tensor, high: Tensor, count: int, n: int) -> Tensor:
    """The coordinates of `count` points from `low` to `high` (0 is the first of n pixels, 1 the last), for each box."""
    if count == 1:
        return expand_dims((low + high) * (0.5 * (n - 1)), 1)
    steps = convert((np.arange(count) / (count - 1)).astype(low._array.dtype))
    return (expand_dims(low, 1) + expand_dims(high - low, 1) * steps) * float(n - 1)


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_indices: TensorLike,
    crop_size: ShapeLike,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Boxes of images, cropped and resized, as float32.

    Gradients flow to the image and, with method 'bilinear', to the boxes.

    Args:
        image: a batch.
        boxes: (n, 4), each (y1, x1, y2, x2) in fractions of the image.
        box_indices: for each box, the number of its image in the batch.
        crop_size: (height, width) of the results.
        method: 'bilinear' or 'nearest'.
        extrapolation_value: the value of points outside of the image.

    Raises:
        InvalidArgumentError: if the shapes do not match, or there is no such image or method.
        DTypeError: if boxes are a tensor of another dtype than float32.

    >>> crop_and_resize([[[[1.0], [3.0]]]], [[0.0, 0.0, 0.0, 1.0]], [0], (1, 3)).numpy()[0, 0, :, 0]
    array([1., 2., 3.], dtype=float32)
    """
    x = cast(as_batch("crop_and_resize", image), "float32")
    corners = convert(boxes, None, np.dtype(np.float32))
    which = convert(box_indices, None, np.dtype(np.int32))._array
    size = static_shape("crop_and_resize", crop_size)
    if 0 in x._array.shape[1:3]:
        raise InvalidArgumentError(f"crop_and_resize: images of shape {list(x._array.shape)} have no pixels")
    if corners._array.shape != (which.size, 4) or which.ndim != 1 or which.dtype.kind not in "iu":
        raise InvalidArgumentError(
            "crop_and_resize: boxes must have shape (n, 4) and box_indices be n integers, "
            f"not {list(corners._array.shape)} and {which.dtype}{list(which.shape)}"
        )
    if len(size) != 2 or min(size) < 1:
        raise InvalidArgumentError(
            f"crop_and_resize: crop_size must be a height and a width of at least 1, not {list(size)}"
        )
    choice("crop_and_resize", "method", method, ("bilinear", "nearest"))
    outside = number("crop_and_resize", "extrapolation_value", extrapolation_value)
    if corners.dtype.name != "float32":
        raise DTypeError(f"crop_and_resize: boxes must be float32, not {corners.dtype.name}")
    bounds("crop_and_resize", which, x._array.shape[0])
    afford("crop_and_resize", (len(which), *size, x._array.shape[-1]), 24)
    return _crop_boxes(x, corners, which, size, method, outside)


def _crop_boxes(
    x: Tensor, corners: Tensor, which: Any, size: tuple[int, ...], method: str, outside: float
) -> Tensor:
    batch, height, width, channels = x._array.shape
    y1, x1, y2, x2 = unstack(corners, axis=1)
    down, across = _sample_points(y1, y2, size[0], height), _sample_points(x1, x2, size[1], width)
    pixels = reshape(x, (1, batch * height * width, channels))
    page = which.astype(np.intp)[:, None, None] * (height * width)

    def at(row: Tensor, column: Tensor) -> Tensor:
        rows, columns = (
            xp(i._array).nan_to_num(i._array).clip(0, n - 1).astype(np.intp)
            for i, n in ((row, height), (column, width))
        )
        flat = convert(page + rows[:, :, None] * width + columns[:, None, :])
        return reshape(apply(gather_, (pixels, flat), {"axis": -2}), (len(which), *size, channels))

    if method == "nearest":
        value = at(*[apply(floor, (line + 0.5,)) for line in (down, across)])
    else:
        top, left = (apply(floor, (line,)) for line in (down, across))
        bottom, right = (apply(ceil, (line,)) for line in (down, across))
        lower = reshape(down - top, (len(which), size[0], 1, 1))  # how far below the upper line
        further = reshape(across - left, (len(which), 1, size[1], 1))
        first, second = ((a := at(row, left)) + (at(row, right) - a) * further for row in (top, bottom))
        value = first + (second - first) * lower
    inside = [
        (line >= 0.0)._array & (line <= float(n - 1))._array for line, n in ((down, height), (across, width))
    ]
    seen = inside[0][:, :, None, None] & inside[1][:, None, :, None]
    return apply(select, (convert(seen), value, np.float32(outside)))
