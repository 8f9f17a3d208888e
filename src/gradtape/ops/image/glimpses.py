"""Parts of pictures: glimpses at given places, and boxes drawn on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import ShapeLike, TensorLike
from ..array.movement import cast, gather, reshape, unstack
from ..known import static_shape
from ..math.functions import where
from ..random.stateful import normal, uniform
from ..scalars import boolean, choice

_FLOAT = np.dtype(np.float32)
# The colours of boxes, in turn: yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
_COLOURS = [
    [1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [0.5, 0.0, 0.5, 1.0],
    [0.5, 0.5, 0.0, 1.0], [0.5, 0.0, 0.0, 1.0], [0.0, 0.0, 0.5, 1.0], [0.0, 1.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0],
]  # fmt: skip


def extract_glimpse(
    input: TensorLike,
    size: ShapeLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Tensor:
    """A part of each picture, of one size; what lies outside of the picture is noise.

    Args:
        input: float32 pictures, of shape (batch, height, width, channels).
        size: height and width of a part.
        offsets: rows of two numbers, one for each picture: where its part is.
        centered: whether offsets count from the centre of the picture.
        normalized: whether an offset of 1 is the length of the picture, or, if `centered`, half of it; the offset is
            then that of the centre of the part.
        noise: "uniform", "gaussian" or "zero".

    Raises:
        InvalidArgumentError: if a shape or `noise` is another.

    >>> picture = [[[[1.0], [2.0]], [[3.0], [4.0]]]]
    >>> extract_glimpse(picture, [1, 2], [[0.5, 0.0]], noise="zero").numpy().ravel()
    array([3., 4.], dtype=float32)
    """
    x, at = convert(input, _FLOAT), convert(offsets, _FLOAT)
    lengths = static_shape("extract_glimpse: size", size)
    if x.ndim != 4 or at._array.shape != (x._array.shape[0], 2) or len(lengths) != 2 or min(lengths) < 1:
        raise InvalidArgumentError(
            "extract_glimpse: takes pictures of shape (batch, height, width, channels), two numbers above 0 as size "
            f"and two offsets for each picture, not {list(x.shape)}, {list(lengths)} and {list(at.shape)}"
        )
    choice("extract_glimpse", "noise", noise, ("uniform", "gaussian", "zero"))
    middle = boolean("extract_glimpse", "centered", centered)
    relative = boolean("extract_glimpse", "normalized", normalized)
    batch, height, width, channels = x._array.shape
    inside: Any = None
    places = []
    for axis, (length, full) in enumerate(zip(lengths, (height, width), strict=True)):
        start = at[:, axis]
        if middle and relative:
            start = (start + 1.0) * (full / 2) - length / 2
        elif middle:
            start = start + full / 2
        elif relative:
            start = start * float(full)
        rows = cast(start, "int32")[:, None] + np.arange(length, dtype=np.int32)
        within = (rows >= 0) & (rows < full)
        places.append(where(within, rows, 0))
        shaped = reshape(within, (batch, length, 1, 1) if axis == 0 else (batch, 1, length, 1))
        inside = shaped if inside is None else inside & shaped
    part = _columns(x, places) if batch else x[:, : lengths[0], : lengths[1]]
    shape = (batch, *lengths, channels)
    fill: Any = np.zeros(shape, np.float32)
    if noise == "uniform":
        fill = uniform(shape)
    elif noise == "gaussian":
        fill = normal(shape)
    return where(inside, part, fill)


def _columns(x: Tensor, places: list[Tensor]) -> Tensor:
    batch, _, width, channels = x._array.shape
    rows, columns = places
    flat = reshape(x, (batch, -1, channels))
    index = reshape(rows, (batch, -1, 1)) * np.int32(width) + reshape(columns, (batch, 1, -1))
    found = gather(flat, reshape(index, (batch, -1)), axis=1, batch_dims=1)
    return reshape(found, (batch, rows._array.shape[1], columns._array.shape[1], channels))


def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, colors: TensorLike | None, name: str | None = None
) -> Tensor:
    """Pictures with the outlines of boxes.

    Args:
        images: of shape (batch, height, width, channels), 1, 3 or 4 channels, float32 or float16.
        boxes: of shape (batch, boxes, 4): top, left, bottom and right, where 1 is the whole height or width.
        colors: of shape (colors, channels), used in turn; None for TensorFlow's ten.

    Raises:
        InvalidArgumentError: if a shape is another.

    >>> draw_bounding_boxes([[[[0.0]] * 3] * 3], [[[0.0, 0.0, 1.0, 1.0]]], [[1.0]])[0, 1, :, 0].numpy()
    array([1., 0., 1.], dtype=float32)
    """
    x = convert(images)
    if not x.dtype.is_floating:
        raise InvalidArgumentError(
            f"draw_bounding_boxes: images must be float32 or float16, not {x.dtype.name}"
        )
    ends = convert(boxes, _FLOAT)
    if (
        x.ndim != 4
        or ends.ndim != 3
        or ends._array.shape[0] != x._array.shape[0]
        or ends._array.shape[2] != 4
    ):
        raise InvalidArgumentError(
            "draw_bounding_boxes: takes images of shape (batch, height, width, channels) and boxes of shape (batch, "
            f"boxes, 4), not {list(x.shape)} and {list(ends.shape)}"
        )
    _, height, width, channels = x._array.shape
    table: Any = np.array(_COLOURS, np.float32)[:, :channels] if colors is None else convert(colors)
    if colors is None and channels == 1:
        table = np.ones((1, 1), np.float32)
    shades = unstack(cast(convert(table), x.dtype), axis=0)
    if not shades or any(shade._array.shape != (channels,) for shade in shades):
        raise InvalidArgumentError(
            f"draw_bounding_boxes: colors must be rows of {channels} numbers, not of shape {list(np.shape(table))}"
        )
    for number, box in enumerate(unstack(ends, axis=1)):
        x = where(_outline(box, height, width), shades[number % len(shades)], x)
    return x


def _outline(box: Tensor, height: int, width: int) -> Tensor:
    """Where the outline of a box in each picture is: of shape (batch, height, width, 1)."""
    scale = np.array([height - 1, width - 1, height - 1, width - 1], np.float32)
    ends = cast(box * scale, "int32")
    top, left, bottom, right = (reshape(ends[:, i], (-1, 1, 1, 1)) for i in range(4))
    rows = np.arange(height, dtype=np.int32)[:, None, None]
    columns = np.arange(width, dtype=np.int32)[None, :, None]
    within = (rows >= top) & (rows <= bottom) & (columns >= left) & (columns <= right)
    edge = (rows == top) | (rows == bottom) | (columns == left) | (columns == right)
    return within & edge
