"""Random crops of an image that keep enough of an object: TensorFlow's numbers for the same seeds.

Attempts are rejected until one holds, which compiled code cannot say: there the host is called. Nothing has a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import is_traced
from ...engine.host import call
from ..known import afford
from ..random import philox
from ..random.stateful import place_of_blocks
from ..random.stateless import place_of_seed
from ..scalars import boolean, integer, number

_ATTEMPTS = 100
_SPARE = 8  # blocks for words that are passed over, of which there are few


class DistortedBox(NamedTuple):
    """Where a crop begins, its size, both for `slice`, and its box for `draw_bounding_boxes`."""

    begin: Tensor
    size: Tensor
    bboxes: Tensor


def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = 0,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> DistortedBox:
    """A random crop that contains enough of one of the boxes; the whole image if none is found.

    Args:
        image_size: three integers: height, width and channels.
        bounding_boxes: (batch, n, 4), each (y1, x1, y2, x2) as parts of the height and the width.
        seed: with the global seed, fixes the crop, unless it is 0.
        min_object_covered: the least part of some box that the crop must contain.
        aspect_ratio_range: the least and the largest width divided by height; 0.75 and 1.33 without.
        area_range: the least and the largest part of the image; 0.05 and 1 without.
        max_attempts: how many crops are tried; 100 without.
        use_image_if_no_bounding_boxes: whether the image is the box if there is none, which is an error otherwise.

    Raises:
        InvalidArgumentError: if a shape is another, a box lies outside of the image, or there is none.

    >>> crop = sample_distorted_bounding_box([20, 30, 3], [[[0.1, 0.2, 0.5, 0.9]]], area_range=[1.0, 1.0], seed=1)
    >>> crop.size.numpy()
    array([20, 30, -1], dtype=int32)
    """
    return _sampled(
        "sample_distorted_bounding_box", image_size, bounding_boxes,
        lambda count: place_of_blocks("sample_distorted_bounding_box", seed or None, count),
        min_object_covered, aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes,
    )  # fmt: skip


def stateless_sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: TensorLike,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> DistortedBox:
    """`sample_distorted_bounding_box` as a function of a seed.

    Args:
        image_size: three integers: height, width and channels.
        bounding_boxes: (batch, n, 4), each (y1, x1, y2, x2) as parts of the height and the width.
        seed: two integers: the same seed gives the same crop.
        min_object_covered: the least part of some box that the crop must contain.
        aspect_ratio_range: the least and the largest width divided by height; 0.75 and 1.33 without.
        area_range: the least and the largest part of the image; 0.05 and 1 without.
        max_attempts: how many crops are tried; 100 without.
        use_image_if_no_bounding_boxes: whether the image is the box if there is none, which is an error otherwise.

    >>> stateless_sample_distorted_bounding_box([100, 120, 3], [[[0.1, 0.2, 0.5, 0.7]]], [1, 2]).begin.numpy()
    array([ 9, 27,  0], dtype=int32)
    """
    return _sampled(
        "stateless_sample_distorted_bounding_box", image_size, bounding_boxes,
        lambda count: place_of_seed("stateless_sample_distorted_bounding_box", seed),
        min_object_covered, aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes,
    )  # fmt: skip


def _sampled(
    name: str,
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    place: Callable[[int], tuple[Any, Any]],
    min_object_covered: TensorLike,
    aspect_ratio_range: Sequence[float] | None,
    area_range: Sequence[float] | None,
    max_attempts: int | None,
    use_image: bool | None,
) -> DistortedBox:
    size, boxes = convert(image_size)._array, convert(bounding_boxes, None, np.dtype(np.float32))._array
    if size.dtype.kind not in "iu" or boxes.dtype != np.float32:
        raise DTypeError(
            f"{name}: image_size must be integers and bounding_boxes float32, not {size.dtype}, {boxes.dtype}"
        )
    if size.shape != (3,) or boxes.ndim != 3 or boxes.shape[2] != 4:
        raise InvalidArgumentError(
            f"{name}: image_size of shape [3] and bounding_boxes of shape [batch, n, 4] are needed, not "
            f"{list(size.shape)} and {list(boxes.shape)}"
        )
    whole = boolean(name, "use_image_if_no_bounding_boxes", use_image or False)
    if not boxes.size and not whole:
        raise InvalidArgumentError(
            f"{name}: there is no bounding box: say use_image_if_no_bounding_boxes=True"
        )
    covered = number(name, "min_object_covered", min_object_covered)
    ratios = _pair(name, "aspect_ratio_range", aspect_ratio_range, (0.75, 1.33))
    areas = _pair(name, "area_range", area_range, (0.05, 1.0))
    attempts = _ATTEMPTS if max_attempts is None else integer(name, "max_attempts", max_attempts, least=1)
    afford(name, (attempts, philox.WORDS), 16)
    words = philox.blocks(*place(attempts), attempts + _SPARE).reshape(-1)

    def crop(size: Any, boxes: Any, words: Any) -> tuple[Any, Any, Any]:
        height, width = (int(n) for n in size[:2])
        objects = _objects(name, boxes, height, width)
        tries = _crops(_Draws(words), height, width, ratios, areas, attempts)
        holding = (tried for tried in tries if _covers(tried, objects, np.float32(covered)))
        y, x, bottom, right = next(holding, (0, 0, height, width))
        box = np.array([y, x, bottom, right], np.float32) / np.array([height, width] * 2, np.float32)
        begin, extent = np.array([y, x, 0]), np.array([bottom - y, right - x, -1])
        return begin.astype(size.dtype), extent.astype(size.dtype), box.reshape(1, 1, 4)

    if any(map(is_traced, (size, boxes, words))):
        kinds = [((3,), size.dtype), ((3,), size.dtype), ((1, 1, 4), np.dtype(np.float32))]
        return DistortedBox(*map(wrap, call(crop, kinds, [size, boxes, words])))
    return DistortedBox(*map(wrap, crop(size, boxes, words)))


def _pair(name: str, what: str, value: Any, otherwise: tuple[float, float]) -> tuple[Any, Any]:
    low, high = otherwise
    if value is not None:
        if not isinstance(value, (list, tuple, np.ndarray)) or len(value) != 2:
            raise InvalidArgumentError(f"{name}: {what} must be two numbers, not {value!r}")
        low, high = (number(name, what, end) for end in value)
    if what == "aspect_ratio_range" and not 0 < low <= high:
        raise InvalidArgumentError(
            f"{name}: {what} must be two numbers above 0 in order, not {low} and {high}"
        )
    return np.float32(low), np.float32(high)


def _objects(name: str, boxes: Any, height: int, width: int) -> list[tuple[int, ...]]:
    """The boxes in pixels; the image itself if there are none."""
    if height <= 0 or width <= 0:
        raise InvalidArgumentError(f"{name}: the image of {height} x {width} pixels is empty")
    if not ((boxes >= 0) & (boxes <= 1)).all():
        raise InvalidArgumentError(f"{name}: the coordinates of bounding_boxes must lie from 0 to 1")
    pixels = (boxes.reshape(-1, 4) * np.array([height, width] * 2, np.float32)).astype(int)
    return [tuple(box) for box in pixels.tolist()] or [(0, 0, height, width)]


class _Draws:
    """Random numbers, one word each, from a list of words."""

    def __init__(self, words: Any) -> None:
        self._words: Iterator[int] = iter(words.tolist())

    def fraction(self) -> Any:
        """A float32 from 0 to 1, of 23 bits."""
        return np.uint32(0x3F800000 | next(self._words) & 0x7FFFFF).view(np.float32) - np.float32(1)

    def below(self, count: int) -> int:
        """An integer from 0 to `count` - 1. Words that would make the least ones likelier are passed over."""
        word = next(self._words)
        if count & (count - 1):
            skewed = 0xFFFF_FFFF % count + 1
            while word < skewed:
                word = next(self._words)
        return word % count


def _crops(
    draws: _Draws, height: int, width: int, ratios: tuple[Any, Any], areas: tuple[Any, Any], attempts: int
) -> Iterator[tuple[int, int, int, int]]:
    """Crops of allowed areas, as (y, x, bottom, right), in up to so many attempts."""
    least, most = (area * np.float32(width) * np.float32(height) for area in areas)
    if not most > 0 or not least <= most:
        return
    for _ in range(attempts):
        ratio = draws.fraction() * (ratios[1] - ratios[0]) + ratios[0]
        found = _extent(draws, height, width, ratio, least, most)
        if found is not None:
            high, wide = found
            y = draws.below(height - high) if high < height else 0
            x = draws.below(width - wide) if wide < width else 0
            yield y, x, y + high, x + wide


def _extent(
    draws: _Draws, height: int, width: int, ratio: Any, least: Any, most: Any
) -> tuple[int, int] | None:
    """The height and the width of a crop of this ratio, whose area lies from `least` to `most`; or None."""

    def wide_of(high: int) -> int:
        return int(np.rint(np.float32(high) * ratio))

    high, highest = (int(np.rint(np.sqrt(area / ratio))) for area in (least, most))
    if wide_of(highest) > width:
        highest = int((width + 0.5 - 1e-7) / float(ratio))
        highest -= wide_of(highest) > width
    highest = min(highest, height)
    high = min(high, highest)
    if high < highest:
        high += draws.below(highest - high + 1)
    # Where rounding has made the area too small or too large, the next height may fit.
    high += wide_of(high) * high < least
    high -= wide_of(high) * high > most
    wide = wide_of(high)
    fits = least <= wide * high <= most and 0 < wide <= width and 0 < high <= height
    return (high, wide) if fits else None


def _covers(crop: tuple[int, ...], objects: list[tuple[int, ...]], part: Any) -> bool:
    """Return whether a crop contains that part of some object's area."""
    for y, x, bottom, right in objects:
        area = (bottom - y) * (right - x) if bottom > y and right > x else 0
        high, wide = min(bottom, crop[2]) - max(y, crop[0]), min(right, crop[3]) - max(x, crop[1])
        common = high * wide if high > 0 and wide > 0 else 0
        if area >= 1 and np.float32(common) / np.float32(area) >= part:
            return True
    return False
