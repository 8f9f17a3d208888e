"""Proposals of a region proposal network: boxes made of anchors, the best of those that overlap. No gradient passes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import is_traced
from ...engine.host import call
from ..known import afford
from ..scalars import integer, number
from .boxes import overlap_with, suppress

_LARGEST = np.float32(math.log(1000 / 16))  # of the logarithm by which a side grows


class Proposals(NamedTuple):
    """Boxes of each image, and their scores."""

    rois: Tensor
    roi_probabilities: Tensor


def generate_bounding_box_proposals(
    scores: TensorLike,
    bbox_deltas: TensorLike,
    image_info: TensorLike,
    anchors: TensorLike,
    nms_threshold: float = 0.7,
    pre_nms_topn: int = 6000,
    min_size: float = 16,
    post_nms_topn: int = 300,
    name: str | None = None,
) -> Proposals:
    """The best boxes of each image, from anchors that are moved and stretched, without those that overlap too much.

    Args:
        scores: (images, height, width, anchors), float32.
        bbox_deltas: (images, height, width, 4 * anchors): by which part of its sides each anchor moves down and right,
            and the logarithms by which its height and its width grow.
        image_info: (images, 5): height, width and scale of each image; the others are not used.
        anchors: (height, width, 4 * anchors), each anchor (y1, x1, y2, x2).
        nms_threshold: the largest intersection over union of two boxes of an image.
        pre_nms_topn: how many boxes of an image are looked at, best score first.
        min_size: the least side of a box, times the scale.
        post_nms_topn: how many boxes an image has in the result; where there are fewer, zeros follow.

    Returns:
        Boxes (images, post_nms_topn, 4), cut off at the image's edges, and scores (images, post_nms_topn).

    Raises:
        DTypeError: if a tensor is not float32.
        InvalidArgumentError: if a shape or a number is another.

    >>> found = generate_bounding_box_proposals(
    ...     [[[[0.5, 0.9]]]], [[[[0.0] * 8]]], [[40.0, 40.0, 1.0, 40.0, 40.0]],
    ...     [[[0.0, 0.0, 20.0, 20.0, 0.0, 0.0, 20.0, 50.0]]], post_nms_topn=2)
    >>> found.rois.numpy().tolist()
    [[[0.0, 0.0, 20.0, 40.0], [0.0, 0.0, 20.0, 20.0]]]
    """
    operation = "generate_bounding_box_proposals"
    arrays = [convert(value)._array for value in (scores, bbox_deltas, image_info, anchors)]
    if any(array.dtype != np.float32 for array in arrays):
        raise DTypeError(f"{operation} takes float32, not {', '.join(str(array.dtype) for array in arrays)}")
    shape = arrays[0].shape
    if len(shape) != 4:
        raise InvalidArgumentError(f"{operation}: scores must have four axes, not shape {list(shape)}")
    images, height, width, count = shape
    wanted = ((images, height, width, 4 * count), (images, 5), (height, width, 4 * count))
    others = tuple(array.shape for array in arrays[1:])
    if others != wanted:
        given, needed = (", ".join(str(list(lengths)) for lengths in shapes) for shapes in (others, wanted))
        raise InvalidArgumentError(
            f"{operation}: for scores of shape {list(shape)} the others must have {needed}, not {given}"
        )
    threshold = number(operation, "nms_threshold", nms_threshold)
    if not 0 <= threshold <= 1:
        raise InvalidArgumentError(f"{operation}: nms_threshold must lie from 0 to 1, not {threshold}")
    first = integer(operation, "pre_nms_topn", pre_nms_topn, least=1)
    last = integer(operation, "post_nms_topn", post_nms_topn, least=1)
    smallest = number(operation, "min_size", min_size)
    afford(operation, (images, last, 5), 4)

    def propose(scores: Any, deltas: Any, info: Any, anchors: Any) -> tuple[Any, Any]:
        rois, values = np.zeros((images, last, 4), np.float32), np.zeros((images, last), np.float32)
        for i in range(images):
            flat = scores[i].reshape(-1)
            best = np.argsort(-flat, kind="stable")[:first]
            boxes = _decoded(anchors.reshape(-1, 4)[best], deltas[i].reshape(-1, 4)[best], info[i])
            kept = (boxes[:, 2:] - boxes[:, :2]).min(1, initial=np.inf) >= smallest * info[i, 2]
            boxes, ranked = boxes[kept], flat[best][kept]
            chosen, _ = suppress(overlap_with(boxes), ranked, last, threshold, -np.inf, 0.0)
            rois[i, : len(chosen)], values[i, : len(chosen)] = boxes[chosen], ranked[chosen]
        return rois, values

    if any(map(is_traced, arrays)):
        kinds = [((images, last, 4), np.dtype(np.float32)), ((images, last), np.dtype(np.float32))]
        return Proposals(*map(wrap, call(propose, kinds, arrays)))
    return Proposals(*map(wrap, propose(*arrays)))


def _decoded(anchors: Any, deltas: Any, info: Any) -> Any:
    """Anchors moved and stretched, and cut off at the edges of the image."""
    sides = anchors[:, 2:] - anchors[:, :2]
    centres = anchors[:, :2] + np.float32(0.5) * sides + sides * deltas[:, :2]
    half = np.float32(0.5) * sides * np.exp(np.minimum(deltas[:, 2:], _LARGEST))
    return np.concatenate([centres - half, centres + half], 1).clip(0, np.tile(info[:2], 2))
