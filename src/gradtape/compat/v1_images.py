"""`compat.v1.image`: TensorFlow 1's ways of resizing and cutting images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradtape as tf

from ..core.errors import InvalidArgumentError
from ..core.tensor import Tensor
from ..core.types import ShapeLike, TensorLike
from ..ops.image.old_resize import old_resize
from ..ops.image.resize import as_images, new_size


class ResizeMethod:
    """The methods of `resize_images`, by number."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS: tuple[Any, ...] = ("bilinear", "nearest", "bicubic", "area")


def resize_bilinear(
    images: TensorLike,
    size: ShapeLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images in another size, as float32; pixels are points.

    Args:
        images: of shape (batch, height, width, channels).
        size: the new height and width.
        align_corners: whether the corners of the old and of the new image are the same.
        half_pixel_centers: whether pixels are squares, as in TensorFlow 2.

    >>> resize_bilinear([[[[1.0], [3.0]]]], [1, 4]).numpy()[0, 0, :, 0]
    array([1., 2., 3., 3.], dtype=float32)
    """
    return old_resize("resize_bilinear", images, size, "bilinear", align_corners, half_pixel_centers)


def resize_nearest_neighbor(
    images: TensorLike,
    size: ShapeLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """`resize_bilinear`, but each pixel is the nearest one; the dtype stays.

    >>> resize_nearest_neighbor([[[[1], [3]]]], [1, 4]).numpy()[0, 0, :, 0]
    array([1, 1, 3, 3], dtype=int32)
    """
    return old_resize("resize_nearest_neighbor", images, size, "nearest", align_corners, half_pixel_centers)


def resize_bicubic(
    images: TensorLike,
    size: ShapeLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """`resize_bilinear` by a cubic of four pixels.

    >>> resize_bicubic(tf.ones([1, 2, 2, 1]), [4, 4]).shape
    TensorShape([1, 4, 4, 1])
    """
    return old_resize("resize_bicubic", images, size, "bicubic", align_corners, half_pixel_centers)


def resize_area(
    images: TensorLike, size: ShapeLike, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """`resize_bilinear` by the mean over the area of each new pixel.

    >>> resize_area([[[[1.0], [3.0]]]], [1, 1]).numpy().item()
    2.0
    """
    return old_resize("resize_area", images, size, "area", align_corners)


def resize_images(
    images: TensorLike,
    size: ShapeLike,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """One image or a batch in another size, which is the image itself if it has that size already.

    Args:
        size: the new height and width.
        method: one of `ResizeMethod`, or TensorFlow 2's name of it.
        align_corners: whether the corners of the old and of the new image are the same.
        preserve_aspect_ratio: whether to take the largest size of the old proportions that fits into `size`.

    Raises:
        InvalidArgumentError: if there is no such method, or a shape or a size is another.

    >>> resize_images([[[1.0], [3.0]]], [1, 4]).numpy()[0, :, 0]
    array([1., 2., 3., 3.], dtype=float32)
    """
    x = as_images("resize_images", images)
    sizes = new_size(x, size, preserve_aspect_ratio)
    if tuple(x.shape[-3:-1]) == sizes:
        return x
    kind: Any = _METHODS[method] if isinstance(method, int) and 0 <= method < len(_METHODS) else method
    if kind not in _METHODS:
        raise InvalidArgumentError(f"resize_images: {method!r} is no method of TensorFlow 1: {_METHODS}")
    batch = x if x.ndim == 4 else x[None]
    made = old_resize("resize_images", batch, sizes, kind, align_corners)
    return made if x.ndim == 4 else made[0]


def resize_image_with_pad(
    image: TensorLike,
    target_height: int,
    target_width: int,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """The image resized in its proportions to fit the target, in the middle of zeros.

    `target_height` and `target_width` are the new size; `method` and `align_corners` are those of `resize_images`.

    >>> resize_image_with_pad([[[1.0], [1.0]]], 2, 2).numpy()[:, :, 0]
    array([[1., 1.],
           [0., 0.]], dtype=float32)
    """
    x = as_images("resize_image_with_pad", image)
    height, width = x.shape[-3:-1]
    ratio = max(width / target_width, height / target_height)
    high, wide = (
        height / ratio,
        width / ratio,
    )  # in parts of pixels, which the offsets count as TensorFlow does
    small = resize_images(x, (int(high), int(wide)), method, align_corners)
    offsets = (int((target_height - high) / 2), int((target_width - wide) / 2))
    return tf.image.pad_to_bounding_box(small, *offsets, target_height, target_width)


def extract_image_patches(
    images: TensorLike,
    ksizes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Sequence[int] | None = None,
) -> Tensor:
    """`tf.image.extract_patches` with TensorFlow 1's names: `ksizes` for sizes.

    >>> extract_image_patches(tf.ones([1, 2, 2, 1]), [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID").shape
    TensorShape([1, 1, 1, 4])
    """
    window = sizes if ksizes is None else ksizes
    if window is None or strides is None or rates is None or padding is None:
        raise ValueError("compat.v1.extract_image_patches: give ksizes, strides, rates and padding")
    return tf.image.extract_patches(images, window, strides, rates, padding)


def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """`tf.image.sample_distorted_bounding_box` with TensorFlow 1's order of arguments.

    Args:
        image_size: three integers: height, width and channels.
        bounding_boxes: (batch, n, 4), each (y1, x1, y2, x2) as parts of the height and the width.
        seed: with the global seed, fixes the crop.
        seed2: counts if there is no `seed`.
        min_object_covered: the least part of some box that the crop must contain.
        aspect_ratio_range: the least and the largest width divided by height.
        area_range: the least and the largest part of the image.
        max_attempts: how many crops are tried.
        use_image_if_no_bounding_boxes: whether the image is the box if there is none.

    >>> sample_distorted_bounding_box([9, 9, 3], [[[0.0, 0.0, 1.0, 1.0]]], 1, area_range=[1.0, 1.0]).begin.numpy()
    array([0, 0, 0], dtype=int32)
    """
    return tf.image.sample_distorted_bounding_box(
        image_size, bounding_boxes, seed or seed2 or 0, min_object_covered, aspect_ratio_range, area_range,
        max_attempts, use_image_if_no_bounding_boxes,
    )  # fmt: skip


IMAGES: dict[str, Any] = {
    "extract_image_patches": extract_image_patches,
    "image.ResizeMethod": ResizeMethod,
    "image.extract_image_patches": extract_image_patches,
    "image.resize": resize_images,
    "image.resize_area": resize_area,
    "image.resize_bicubic": resize_bicubic,
    "image.resize_bilinear": resize_bilinear,
    "image.resize_image_with_crop_or_pad": tf.image.resize_with_crop_or_pad,
    "image.resize_image_with_pad": resize_image_with_pad,
    "image.resize_images": resize_images,
    "image.resize_nearest_neighbor": resize_nearest_neighbor,
    "image.sample_distorted_bounding_box": sample_distorted_bounding_box,
    "image.transpose_image": tf.image.transpose,
}
