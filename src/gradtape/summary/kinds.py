"""Kinds of summaries: numbers, histograms, images, texts and sounds, in the forms that TensorBoard shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from ..core.errors import DTypeError, InvalidArgumentError
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.types import IntLike, TensorLike
from ..files.images import encode_png
from ..files.sound import encode_wav
from ..ops.image.colour import convert_image_dtype
from ..ops.scalars import integer
from .recording import plugin_metadata, record, summary_scope

_SCALAR, _TENSOR, _BLOBS = 1, 2, 3  # TensorBoard's classes of data
_OLD = 0  # none: TensorBoard takes the labels out of what earlier versions wrote, as of sounds
_WAV = b"\x10\x0b"  # field 2 (the encoding) is 11


def scalar(
    name: str, data: TensorLike, step: IntLike | None = None, description: str | None = None
) -> Tensor:
    """Record a number, as float32.

    Args:
        data: one number.
        step: the step; by default that of `experimental.set_step`.
        description: a text in Markdown.

    Returns:
        Whether it was written.

    Raises:
        ValueError: if it is not one number, or there is no step.

    >>> bool(scalar("loss", 0.5, step=1))  # no writer
    False
    """
    with summary_scope(name, "scalar_summary") as (tag, _):
        value = convert(data)
        if value.dtype is dtypes.string or value.dtype.is_complex:
            raise DTypeError(f"summary.scalar: data must be a real number, not of dtype {value.dtype.name}")
        if value.shape.rank != 0:
            raise InvalidArgumentError(
                f"summary.scalar: data must be one number, not a tensor of shape {value.shape}"
            )
        metadata = plugin_metadata("scalars", _SCALAR, description)
        return record(tag, value, step, metadata, lambda array: array.astype(np.float32))


def histogram(
    name: str,
    data: TensorLike,
    step: IntLike | None = None,
    buckets: IntLike | None = None,
    description: str | None = None,
) -> Tensor:
    """Record how the elements of a tensor are distributed.

    Args:
        data: numbers, of any shape.
        step: the step; by default that of `experimental.set_step`.
        buckets: the number of intervals between the least and the largest; 30 by default.
        description: a text in Markdown.

    Returns:
        Whether it was written.

    Raises:
        ValueError: if there is no step.

    >>> bool(histogram("weights", [1.0, 2.0, 2.0], step=1))  # no writer
    False
    """
    count = 30 if buckets is None else max(0, integer("summary.histogram", "buckets", buckets))
    with summary_scope(name, "histogram_summary") as (tag, _):
        values = convert(data)
        if values.dtype is dtypes.string or values.dtype.is_complex:
            raise DTypeError(
                f"summary.histogram: data must be real numbers, not of dtype {values.dtype.name}"
            )
        metadata = plugin_metadata("histograms", _TENSOR, description)
        return record(tag, values, step, metadata, lambda array: in_buckets(array, count))


def in_buckets(array: np.ndarray, count: int) -> np.ndarray:
    """Rows of left edge, right edge and number of elements, for intervals of equal width.

    Without elements all is zero. Where all elements are equal, so are all edges, and the last interval has them.

    >>> in_buckets(np.array([0.0, 1.0, 3.0, 4.0]), 2)
    array([[0., 2., 2.],
           [2., 4., 2.]])
    """
    data = array.reshape(-1).astype(np.float64)
    rows = np.zeros((count, 3))
    if not data.size or not count:
        return rows
    least, most = data.min(), data.max()
    if least == most:
        rows[:, :2] = least
        rows[-1, 2] = data.size
        return rows
    edges = np.linspace(least, most, count + 1)
    rows[:, 0], rows[:, 1] = edges[:-1], edges[1:]
    with np.errstate(all="ignore"):
        places = np.floor((data - least) / ((most - least) / count))
    finite = np.isfinite(places)
    rows[:, 2] = np.bincount(np.clip(places[finite].astype(np.int64), 0, count - 1), minlength=count)
    return rows


def image(
    name: str,
    data: TensorLike,
    step: IntLike | None = None,
    max_outputs: IntLike = 3,
    description: str | None = None,
) -> Tensor:
    """Record images.

    Args:
        data: images of shape [number, height, width, channels], with 1 to 4 channels: floating ones in [0, 1], or
            integers.
        step: the step; by default that of `experimental.set_step`.
        max_outputs: the number of images recorded at most.
        description: a text in Markdown.

    Returns:
        Whether they were written.

    Raises:
        ValueError: if the shape is another, or there is no step.

    >>> bool(image("digits", np.zeros((1, 8, 8, 1)), step=1))  # no writer
    False
    """
    most = integer("summary.image", "max_outputs", max_outputs, least=0)
    with summary_scope(name, "image_summary") as (tag, _):
        images = convert(data)
        if images.shape.rank != 4 or images.shape[3] not in (1, 2, 3, 4):
            raise InvalidArgumentError(
                "summary.image: data must be images of shape [number, height, width, channels], with 1 to 4 channels, "
                f"not {images.shape}"
            )

        def encoded(array: np.ndarray) -> np.ndarray:
            pixels = convert_image_dtype(wrap(array[:most]), "uint8", saturate=True)
            sizes = [str(array.shape[2]).encode(), str(array.shape[1]).encode()]
            return _texts([*sizes, *(encode_png(one).numpy() for one in pixels)])

        return record(tag, images, step, plugin_metadata("images", _BLOBS, description), encoded)


def text(name: str, data: TensorLike, step: IntLike | None = None, description: str | None = None) -> Tensor:
    """Record texts, which TensorBoard reads as Markdown.

    Args:
        data: a text, or several.
        step: the step; by default that of `experimental.set_step`.
        description: a text in Markdown.

    Returns:
        Whether they were written.

    Raises:
        TypeError: if these are no texts.
        ValueError: if there is no step.

    >>> bool(text("notes", "**better**", step=1))  # no writer
    False
    """
    with summary_scope(name, "text_summary") as (tag, _):
        texts = convert(data)
        if texts.dtype is not dtypes.string:
            raise DTypeError(f"summary.text: data must be texts, not of dtype {texts.dtype.name}")
        return record(tag, texts, step, plugin_metadata("text", _TENSOR, description))


def audio(
    name: str,
    data: TensorLike,
    sample_rate: IntLike,
    step: IntLike | None = None,
    max_outputs: IntLike = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Tensor:
    """Record sounds.

    Args:
        data: sounds of shape [number, samples, channels], between -1 and 1.
        sample_rate: the number of samples in a second.
        step: the step; by default that of `experimental.set_step`.
        max_outputs: the number of sounds recorded at most.
        encoding: "wav", the default.
        description: a text in Markdown.

    Returns:
        Whether they were written.

    Raises:
        ValueError: if the shape or the encoding is another, or there is no step.

    >>> bool(audio("speech", np.zeros((1, 80, 1), np.float32), 8000, step=1))  # no writer
    False
    """
    if encoding not in (None, "wav"):
        raise ValueError(f"summary.audio: the encoding {encoding!r} is not 'wav'")
    most = integer("summary.audio", "max_outputs", max_outputs, least=0)
    rate = integer("summary.audio", "sample_rate", sample_rate, least=1)
    with summary_scope(name, "audio_summary") as (tag, _):
        sounds = convert(data)
        if sounds.shape.rank != 3 or not sounds.dtype.is_floating:
            raise InvalidArgumentError(
                "summary.audio: data must be floating numbers of shape [number, samples, channels], not "
                f"{sounds.dtype.name} of shape {sounds.shape}"
            )

        def encoded(array: np.ndarray) -> np.ndarray:
            clips = [encode_wav(wrap(one.astype(np.float32)), rate).numpy() for one in array[:most]]
            return _texts([part for clip in clips for part in (clip, b"")]).reshape(len(clips), 2)

        return record(tag, sounds, step, plugin_metadata("audio", _OLD, description, _WAV), encoded)


def _texts(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = values
    return array
