"""Non-maximum suppression for batches of boxes, with scores for one class or several. Nothing here has a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import is_traced
from ...engine.host import call
from ..known import afford, shape_known
from ..scalars import boolean, integer, number
from .boxes import overlap_with, suppress, threshold_in_unit

_NAME = "combined_non_max_suppression"


def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: int,
    max_total_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`non_max_suppression` for each class of each element of a batch, and the best boxes of all classes.

    Args:
        boxes: (batch, n, q, 4), each (y1, x1, y2, x2); q is 1 if all classes have the same boxes, else their number.
        scores: (batch, n, classes).
        max_output_size_per_class: the largest number of boxes to choose for a class.
        max_total_size: the number of boxes in the result.
        iou_threshold: the largest intersection over union with a box chosen before.
        score_threshold: only boxes with a higher score are chosen.
        pad_per_class: whether the result has `max_output_size_per_class` boxes for each class, if that are fewer.
        clip_boxes: whether boxes are cut off at 0 and 1.

    Returns:
        Boxes (batch, m, 4), scores (batch, m), classes as floats (batch, m), and the number of boxes in each element:
        the others are filled up with 0.

    Raises:
        InvalidArgumentError: if the shapes do not match, or a number is out of its range.

    >>> boxes = [[[[0.0, 0.0, 1.0, 1.0]], [[0.0, 0.0, 1.0, 0.9]], [[0.5, 0.5, 0.7, 0.7]]]]
    >>> found = combined_non_max_suppression(boxes, [[[0.8, 0.1], [0.9, 0.2], [0.3, 0.7]]], 2, 3)
    >>> [part.numpy().tolist() for part in found[2:]]
    [[[0.0, 1.0, 0.0]], [3]]
    """
    corners, values = _checked(boxes, scores)
    each = integer(_NAME, "max_output_size_per_class", max_output_size_per_class, least=1)
    total = integer(_NAME, "max_total_size", max_total_size, least=1)
    limits = (
        each,
        threshold_in_unit(_NAME, iou_threshold),
        number(_NAME, "score_threshold", score_threshold),
        0.0,
    )
    batch, _, classes = values.shape
    size = min(total, each * classes) if pad_per_class else total
    afford(_NAME, (batch, size, 6), 4)
    out = [np.zeros((batch, size, 4), np.float32), *(np.zeros((batch, size), np.float32) for _ in range(2))]
    counts = np.zeros(batch, np.int32)
    for i in range(batch):
        found = _best(corners[i], values[i], limits)
        counts[i] = count = min(size, len(found))
        for k, (score, kind, place) in enumerate(found[:count]):
            box = corners[i, place, kind % corners.shape[2]]
            out[0][i, k] = box.clip(0, 1) if clip_boxes else box
            out[1][i, k], out[2][i, k] = score, kind
    return wrap(out[0]), wrap(out[1]), wrap(out[2]), wrap(counts)


def _checked(boxes: TensorLike, scores: TensorLike) -> tuple[Any, Any]:
    corners, values = convert(boxes)._array, convert(scores)._array
    for what, array in (("boxes", corners), ("scores", values)):
        shape_known(_NAME, what, array, "return the boxes and their scores")
        if array.dtype != np.float32:
            raise InvalidArgumentError(f"{_NAME}: {what} must be float32, not {array.dtype.name}")
    fit = corners.ndim == 4 and values.ndim == 3 and corners.shape[3] == 4
    if not fit or corners.shape[:2] != values.shape[:2] or corners.shape[2] not in (1, values.shape[2]):
        raise InvalidArgumentError(
            f"{_NAME}: boxes of shape (batch, n, 1 or classes, 4) and scores of shape (batch, n, classes) are needed, "
            f"not {list(corners.shape)} and {list(values.shape)}"
        )
    return corners, values


def _best(corners: Any, values: Any, limits: tuple[Any, ...]) -> list[tuple[float, int, int]]:
    """Score, class and number of the chosen boxes, from the best down."""
    found = []
    for kind in range(values.shape[1]):
        overlap = overlap_with(corners[:, kind % corners.shape[1]])
        chosen, left = suppress(overlap, values[:, kind], *limits)
        found += [(float(score), kind, int(place)) for score, place in zip(left, chosen, strict=True)]
    return sorted(found, key=lambda one: -one[0])


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Tensor, Tensor]:
    """`non_max_suppression` for boxes or batches of them, with indices filled up with 0 to one length.

    With `pad_to_max_output_size` a `@function` compiles it, by a call of the host. Boxes of four zeros are not chosen:
    they fill up a batch.

    Args:
        boxes: (..., n, 4), each (y1, x1, y2, x2), or any two opposite corners.
        scores: (..., n).
        max_output_size: the largest number of boxes to choose.
        iou_threshold: a box is left out from this intersection over union on with one chosen before.
        score_threshold: only boxes with a higher score are chosen.
        pad_to_max_output_size: whether to fill up, which batches need.
        sorted_input: whether the boxes come in the order of their scores, best first, which is then not looked at.
        canonicalized_coordinates: whether the first corner is the lower one; it makes no difference here.
        tile_size: not used.

    Returns:
        The indices, int32, and how many of them are of chosen boxes.

    Raises:
        InvalidArgumentError: if the shapes do not match, or a batch is not to be filled up.

    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [2.0, 2.0, 3.0, 3.0]]
    >>> chosen, count = non_max_suppression_padded(boxes, [0.8, 0.9, 0.5], 4, pad_to_max_output_size=True)
    >>> chosen.numpy(), int(count)
    (array([1, 2, 0, 0], dtype=int32), 2)
    """
    operation = "non_max_suppression_padded"
    corners, values = convert(boxes)._array, convert(scores)._array
    if (
        corners.ndim < 2
        or corners.shape[-1] != 4
        or values.shape != corners.shape[:-1]
        or values.dtype.kind != "f"
    ):
        raise InvalidArgumentError(
            f"{operation}: boxes of shape (..., n, 4) and as many scores, floating, are needed, not "
            f"{list(corners.shape)} and {list(values.shape)} of {values.dtype}"
        )
    most = integer(operation, "max_output_size", max_output_size, least=0)
    # A box that overlaps by just the threshold is left out, unlike by `suppress`.
    overlap = np.nextafter(np.float32(number(operation, "iou_threshold", iou_threshold)), np.float32(-1))
    least = number(operation, "score_threshold", score_threshold)
    in_order = boolean(operation, "sorted_input", sorted_input)
    batch = corners.shape[:-2]
    padded = boolean(operation, "pad_to_max_output_size", pad_to_max_output_size)
    if not padded:
        if batch:
            raise InvalidArgumentError(f"{operation}: a batch needs pad_to_max_output_size=True")
        shape_known(operation, "boxes and scores", corners, "say pad_to_max_output_size=True")
        shape_known(operation, "boxes and scores", values, "say pad_to_max_output_size=True")
        chosen = _chosen(corners, values, most, overlap, least, in_order)
        return wrap(chosen), wrap(np.asarray(len(chosen), np.int32))
    afford(operation, (*batch, most), 4)

    def choose(corners: Any, values: Any) -> tuple[Any, Any]:
        out, counts = np.zeros((*batch, most), np.int32), np.zeros(batch, np.int32)
        for place in np.ndindex(*batch):
            found = _chosen(corners[place], values[place], most, overlap, least, in_order)
            out[place][: len(found)] = found
            counts[place] = len(found)
        return out, counts

    if is_traced(corners) or is_traced(values):
        kinds = [((*batch, most), np.dtype(np.int32)), (batch, np.dtype(np.int32))]
        indices, counts = call(choose, kinds, [corners, values])
    else:
        indices, counts = choose(corners, values)
    return wrap(indices), wrap(counts)


def _chosen(corners: Any, values: Any, most: int, overlap: Any, least: float, in_order: bool) -> Any:
    """The indices of the boxes to choose, best first."""
    keep = corners.any(1)
    if least > -np.inf:
        keep &= values > least
    places = np.flatnonzero(keep)
    ranks = -np.arange(len(places), dtype=np.float64) if in_order else values[places]
    ranks = np.maximum(ranks, np.finfo(ranks.dtype).min)
    found = suppress(overlap_with(corners[places]), ranks, most, overlap, -np.inf, 0.0)[0]
    return places[found].astype(np.int32)
