"""Images as they are after JPEG has encoded and decoded them: `tf.image.adjust_jpeg_quality` and its random kin."""

from __future__ import annotations

from typing import Any

from ..core import dtypes
from ..core.tensor import Tensor
from ..core.tensor_conversion import convert
from ..core.types import IntLike, TensorLike
from ..ops.image.colour import convert_image_dtype
from ..ops.random.stateful import uniform
from ..ops.random.stateless import stateless_uniform
from ..ops.scalars import integer
from .images import decode_jpeg, encode_jpeg


def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: IntLike, dct_method: str = "", name: str | None = None
) -> Tensor:
    """An image as it is after JPEG has encoded and decoded it, in its own dtype. No gradient passes.

    Args:
        image: (height, width, 3), uint8, or numbers from 0 to 1.
        jpeg_quality: from 0 to 100.
        dct_method: as for `tf.io.decode_jpeg`.

    Raises:
        InvalidArgumentError: if the quality is not in that range.

    >>> import gradtape as tf
    >>> adjust_jpeg_quality(tf.zeros([8, 8, 3], "uint8"), 75).shape
    TensorShape([8, 8, 3])
    """
    x = convert(image)
    quality = integer("adjust_jpeg_quality", "jpeg_quality", jpeg_quality, 0)
    pixels = convert_image_dtype(x, dtypes.uint8, saturate=True)
    decoded = decode_jpeg(encode_jpeg(pixels, quality=quality), channels=3, dct_method=dct_method)
    return convert_image_dtype(decoded, x.dtype, saturate=True)


def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: IntLike, max_jpeg_quality: IntLike, seed: IntLike | None = None
) -> Tensor:
    """`adjust_jpeg_quality` with a quality drawn at random.

    Args:
        image: (height, width, 3), uint8, or numbers from 0 to 1.
        min_jpeg_quality, max_jpeg_quality: the least quality, and the one above the largest.
        seed: with the global seed, fixes the draw.

    Raises:
        ValueError: if these are not in order, and from 0 to 100.

    >>> import gradtape as tf
    >>> random_jpeg_quality(tf.zeros([8, 8, 3], "uint8"), 75, 95).shape
    TensorShape([8, 8, 3])
    """
    least, most = _range("random_jpeg_quality", min_jpeg_quality, max_jpeg_quality)
    drawn: Any = uniform((), least, most, dtypes.int32, seed)
    return adjust_jpeg_quality(image, drawn)


def stateless_random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: IntLike, max_jpeg_quality: IntLike, seed: TensorLike
) -> Tensor:
    """`random_jpeg_quality` with a seed, a pair of integers, that alone decides the quality.

    >>> import gradtape as tf
    >>> stateless_random_jpeg_quality(tf.zeros([8, 8, 3], "uint8"), 75, 95, seed=[1, 2]).shape
    TensorShape([8, 8, 3])
    """
    least, most = _range("stateless_random_jpeg_quality", min_jpeg_quality, max_jpeg_quality)
    drawn: Any = stateless_uniform((), seed, least, most, dtypes.int32)
    return adjust_jpeg_quality(image, drawn)


def _range(name: str, least: IntLike, most: IntLike) -> tuple[int, int]:
    low, high = integer(name, "min_jpeg_quality", least), integer(name, "max_jpeg_quality", most)
    if not 0 <= low < high <= 100:
        raise ValueError(
            f"{name}: min_jpeg_quality must be less than max_jpeg_quality, and both from 0 to 100, not {low} and {high}"
        )
    return low, high
