"""Non-maximum suppression: the best of overlapping boxes. Nothing here has a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ..known import shape_known
from ..scalars import integer, number


def overlap_with(boxes: Any) -> Callable[[int], Any]:
    """The function from a box to its intersection over union with each, 0 without area.

    A box is given by any two opposite corners.
    """
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    area = (high - low).prod(1)

    def overlap(i: int) -> Any:
        common = (np.minimum(high, high[i]) - np.maximum(low, low[i])).clip(min=0).prod(1)
        union = area + area[i] - common
        return np.divide(common, union, out=np.zeros_like(common), where=(area > 0) & (area[i] > 0))

    return overlap


def suppress(
    overlap: Callable[[int], Any],
    scores: Any,
    most: int,
    overlap_threshold: float,
    score_threshold: float,
    sigma: float,
) -> tuple[Any, Any]:
    """The boxes from the best down, and their scores; overlaps with those before exclude a box, or lower its score."""
    if scores.dtype.kind in "bcO":
        raise DTypeError(f"non_max_suppression: scores must be real numbers, not {dtypes.of(scores).name}")
    left, remaining = scores, scores > score_threshold
    chosen: list[int] = []
    while remaining.any() and len(chosen) < most:
        i = int(np.where(remaining, left, -np.inf).argmax())
        chosen.append(i)
        remaining[i] = False
        common = overlap(i)
        if sigma > 0:
            left = np.where(remaining, left * np.exp(-0.5 / sigma * common * common), left)
            remaining &= left > score_threshold
        else:
            remaining &= common <= overlap_threshold
    return np.array(chosen, np.int32), left[chosen]


def _scores(name: str, scores: TensorLike, count: int) -> Any:
    values = convert(scores)._array
    shape_known(name, "scores", values, "return the boxes and their scores")
    if values.shape != (count,):
        raise InvalidArgumentError(
            f"{name}: scores must be {count} numbers, one a box, not {list(values.shape)}"
        )
    return values


def _boxes(name: str, boxes: TensorLike) -> Any:
    corners = convert(boxes)._array
    shape_known(name, "boxes", corners, "return the boxes and their scores")
    if corners.ndim != 2 or corners.shape[1] != 4:
        raise InvalidArgumentError(f"{name}: boxes must have shape (n, 4), not {list(corners.shape)}")
    return corners


def threshold_in_unit(name: str, value: float) -> float:
    """A threshold between 0 and 1."""
    threshold = number(name, "iou_threshold", value)
    if not 0 <= threshold <= 1:
        raise InvalidArgumentError(f"{name}: iou_threshold must lie in [0, 1], not {threshold}")
    return threshold


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The indices of the boxes, best score first, that overlap none before them too much.

    The shape of the result depends on values: a `@function` that calls this runs operation by operation.

    Args:
        boxes: (n, 4), each (y1, x1, y2, x2).
        scores: n numbers.
        max_output_size: the largest number of boxes to choose.
        iou_threshold: the largest intersection over union with a box chosen before.
        score_threshold: only boxes with a higher score are chosen.

    Raises:
        InvalidArgumentError: if the shapes do not match, or `iou_threshold` is not in [0, 1].

    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [2.0, 2.0, 3.0, 3.0]]
    >>> non_max_suppression(boxes, [0.8, 0.9, 0.5], 10).numpy()
    array([1, 2], dtype=int32)
    """
    return non_max_suppression_with_scores(boxes, scores, max_output_size, iou_threshold, score_threshold)[0]


def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = float("-inf"),
    soft_nms_sigma: float = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`non_max_suppression`, and the scores. With `soft_nms_sigma` above 0, overlaps lower a box's score instead.

    `boxes`, `scores`, `max_output_size`, `iou_threshold` and `score_threshold` are those of `non_max_suppression`.

    >>> non_max_suppression_with_scores([[0.0, 0.0, 1.0, 1.0]], [0.5], 1)[1].numpy()
    array([0.5], dtype=float32)
    """
    corners = _boxes("non_max_suppression", boxes)
    values = _scores("non_max_suppression", scores, len(corners))
    chosen, left = suppress(
        overlap_with(corners),
        values,
        integer("non_max_suppression", "max_output_size", max_output_size),
        threshold_in_unit("non_max_suppression", iou_threshold),
        number("non_max_suppression", "score_threshold", score_threshold),
        number("non_max_suppression", "soft_nms_sigma", soft_nms_sigma),
    )
    return wrap(chosen), wrap(left)


def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    overlap_threshold: float = 0.5,
    score_threshold: float = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """`non_max_suppression` by a matrix of how much each two boxes overlap, `overlap_threshold` at most.

    `scores`, `max_output_size` and `score_threshold` are those of `non_max_suppression`.

    Raises:
        InvalidArgumentError: if `overlaps` is not a square matrix.

    >>> non_max_suppression_overlaps([[1.0, 0.9], [0.9, 1.0]], [0.1, 0.2], 2).numpy()
    array([1], dtype=int32)
    """
    matrix = convert(overlaps)._array
    shape_known("non_max_suppression_overlaps", "overlaps", matrix, "return the overlaps and the scores")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidArgumentError(
            f"non_max_suppression_overlaps: overlaps must be a square matrix, not of shape {list(matrix.shape)}"
        )
    name = "non_max_suppression_overlaps"
    values = _scores(name, scores, len(matrix))
    threshold = number(name, "overlap_threshold", overlap_threshold)
    least = number(name, "score_threshold", score_threshold)
    most = integer(name, "max_output_size", max_output_size)
    return wrap(suppress(lambda i: matrix[i], values, most, threshold, least, 0.0)[0])
