"""Metrics of overlap, for segmentation: intersection over union of truth and prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..core.tensor import Tensor
from ..core.types import DTypeLike, TensorLike
from ..losses.per_sample import EPSILON
from ..ops.array.creation import zeros_like
from ..ops.array.movement import broadcast_to, cast, gather, reshape
from ..ops.linalg.matrix import diag_part
from ..ops.math.counting import confusion_matrix
from ..ops.math.functions import greater, logical_and, not_equal, where
from ..ops.math.reduction import argmax, reduce_sum
from ..ops.scalars import integer
from .metric import Metric, accumulate


class IoU(Metric):
    """The intersection over the union of truth and prediction: the mean over some classes.

    Args:
        num_classes: how many classes there are.
        target_class_ids: those that count.
        ignore_class: a class whose samples do not count.
        sparse_y_true, sparse_y_pred: whether classes are given as integers, or else as probabilities along `axis`.

    Raises:
        ValueError: if a target class is none of the `num_classes`, or there is none.

    >>> round(float(IoU(2, [0])([0, 0, 1, 1], [0, 1, 0, 1])), 4)
    0.3333
    """

    _option_names: ClassVar[tuple[str, ...]] = (
        "num_classes",
        "target_class_ids",
        "ignore_class",
        "sparse_y_true",
        "sparse_y_pred",
        "axis",
    )

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: DTypeLike | None = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        super().__init__("int64" if dtype is None else dtype, name)
        count = integer(type(self).__name__, "num_classes", num_classes, 1)
        if not isinstance(target_class_ids, (list, tuple, range)) or not target_class_ids:
            raise ValueError(
                f"{type(self).__name__}: target_class_ids must be a list of classes, not {target_class_ids!r}"
            )
        if max(integer(type(self).__name__, "a target class", i, 0) for i in target_class_ids) >= count:
            raise ValueError(
                f"{type(self).__name__}: there is no class {max(target_class_ids)} among {num_classes} classes"
            )
        self.num_classes, self.target_class_ids = num_classes, list(target_class_ids)
        self.ignore_class, self.axis = ignore_class, axis
        self.sparse_y_true, self.sparse_y_pred = sparse_y_true, sparse_y_pred
        self.total_cm = self.add_variable((num_classes, num_classes), name="total_confusion_matrix")

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count a batch of truths and predictions."""
        true = y_true if self.sparse_y_true else argmax(y_true, self.axis)
        predicted = y_pred if self.sparse_y_pred else argmax(y_pred, self.axis)
        true, predicted = (reshape(cast(x, "int64"), [-1]) for x in (true, predicted))
        counts = logical_and(self._exists(true), self._exists(predicted))
        if self.ignore_class is not None:
            counts = logical_and(counts, not_equal(true, self.ignore_class))
        weight = cast(1 if sample_weight is None else sample_weight, self.dtype)
        weight = broadcast_to(reshape(weight, [-1]), true.shape) * cast(counts, self.dtype)
        true, predicted = (where(counts, x, zeros_like(x)) for x in (true, predicted))
        accumulate(self.total_cm, confusion_matrix(true, predicted, self.num_classes, weight, self.dtype))

    def _exists(self, classes: Tensor) -> Tensor:
        return logical_and(classes >= 0, classes < self.num_classes)

    def result(self) -> Tensor:
        """The mean overlap so far, of the classes that occur."""
        matrix = cast(self.total_cm, "float32")
        both = diag_part(matrix)
        either = reduce_sum(matrix, 0) + reduce_sum(matrix, 1) - both
        both, either = (gather(x, self.target_class_ids) for x in (both, either))
        occurs = cast(greater(either, 1e-9), "float32")
        return reduce_sum(occurs * both / (either + EPSILON)) / (reduce_sum(occurs) + EPSILON)


class MeanIoU(IoU):
    """The mean over all classes of the intersection over the union of truth and prediction.

    `num_classes`, `ignore_class`, `sparse_y_true`, `sparse_y_pred` and `axis` are those of `IoU`.

    >>> round(float(MeanIoU(2)([0, 0, 1, 1], [0, 1, 0, 1])), 4)
    0.3333
    """

    _option_names = ("num_classes", "ignore_class", "sparse_y_true", "sparse_y_pred", "axis")

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        classes = range(num_classes)
        super().__init__(num_classes, classes, name, dtype, ignore_class, sparse_y_true, sparse_y_pred, axis)


class BinaryIoU(IoU):
    """The mean intersection over union of two classes: predictions below `threshold` (0), and those from it on (1).

    `target_class_ids` are the classes that count.

    >>> round(float(BinaryIoU(threshold=0.3)([0, 1, 0, 1], [0.1, 0.2, 0.4, 0.7])), 4)
    0.3333
    """

    _option_names = ("target_class_ids", "threshold")

    def __init__(
        self,
        target_class_ids: Sequence[int] = (0, 1),
        threshold: float = 0.5,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(2, target_class_ids, name, dtype)
        self.threshold = threshold

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count a batch of truths and predictions."""
        super().update_state(y_true, cast(y_pred, "float32") >= self.threshold, sample_weight)
