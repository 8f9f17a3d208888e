"""Metrics of the confusion matrix: true and false positives and negatives, counted for one or more thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ..core.tensor import Tensor
from ..core.tensor_conversion import convert_to_tensor
from ..core.types import DTypeLike, TensorLike
from ..core.variable import Variable
from ..losses.per_sample import EPSILON, match_ranks
from ..ops.array.creation import one_hot, zeros_like
from ..ops.array.movement import broadcast_to, cast, expand_dims, reshape, stack
from ..ops.math.cumulative import cumsum
from ..ops.math.functions import (
    ceil,
    divide_no_nan,
    equal,
    greater,
    log,
    logical_and,
    maximum,
    minimum,
    sigmoid,
    where,
)
from ..ops.math.reduction import reduce_max, reduce_mean, reduce_sum
from ..ops.math.segment import unsorted_segment_sum
from ..ops.math.sorting import top_k
from ..ops.scalars import choice, integer, number
from .metric import Metric, accumulate

# One threshold, several, or None for the default.
Thresholds: TypeAlias = float | Sequence[float] | None

_BELOW_ALL = -1e10  # a prediction that no threshold lies below
_COUNTS = ("true_positives", "false_positives", "true_negatives", "false_negatives")


class _Counts(Metric):
    """Some of the four counts, one for each threshold, in variables of those names."""

    _counts: ClassVar[tuple[str, ...]] = _COUNTS

    def __init__(self, name: str | None, dtype: DTypeLike | None, thresholds: list[float]) -> None:
        super().__init__(dtype, name)
        self._limits = thresholds
        self._even = _evenly_spaced(thresholds)

    def _create_counts(self, *labels: int) -> None:
        for name in self._counts:
            setattr(self, name, self.add_variable((len(self._limits), *labels), name=name))

    def _count(self, true: Tensor, predicted: Tensor, weight: Tensor | None) -> None:
        """Add the counts of a batch, over all axes."""
        counts = _counted(true, predicted, weight, self._limits, self._even)
        for name in self._counts:
            accumulate(getattr(self, name), counts[name])

    def _prepared(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Truth, predictions and weights in the metric's dtype, of matching ranks."""
        predicted, true = match_ranks(cast(y_pred, self.dtype), cast(y_true, self.dtype))
        if sample_weight is None:
            return true, predicted, None
        weight = expand_dims(cast(sample_weight, self.dtype), -1)
        return true, predicted, match_ranks(true, weight, grow=False)[1]


def _evenly_spaced(thresholds: list[float]) -> bool:
    count = len(thresholds)
    return count > 2 and np.allclose(thresholds, np.linspace(0, 1, count), atol=EPSILON)


def _counted(
    true: Tensor, predicted: Tensor, weight: Tensor | None, thresholds: list[float], even: bool
) -> dict[str, Tensor]:
    """All four counts of a batch, by name, for each threshold."""
    dtype = predicted.dtype
    yes = cast(cast(reshape(true, [-1]), "bool"), dtype)
    p = reshape(predicted, [-1])
    w = 1.0 if weight is None else reshape(broadcast_to(weight, predicted.shape), [-1])
    positive, negative = yes * w, (1.0 - yes) * w
    if even:
        found_true, found_false = (_above_even(part, p, thresholds) for part in (positive, negative))
    else:
        found = cast(greater(p, reshape(convert_to_tensor(thresholds, dtype), [-1, 1])), dtype)
        found_true, found_false = reduce_sum(found * positive, 1), reduce_sum(found * negative, 1)
    return {
        "true_positives": found_true,
        "false_positives": found_false,
        "true_negatives": reduce_sum(negative) - found_false,
        "false_negatives": reduce_sum(positive) - found_true,
    }


def _above_even(part: Tensor, p: Tensor, thresholds: list[float]) -> Tensor:
    """The sum of `part` where p lies above, for each of evenly spaced thresholds: by sorting p into their gaps."""
    count = len(thresholds)
    gap = ceil(minimum(maximum(p, 0.0), 1.0) * (count - 1.0)) - 1.0
    if thresholds[0] < 0:  # then even 0 lies above the first
        gap = maximum(gap, 0.0)
    return cumsum(unsorted_segment_sum(part, cast(gap, "int32"), count), reverse=True)


def _in_range(thresholds: Thresholds, default: float) -> list[float]:
    """The thresholds as a list, each in [0, 1]."""
    chosen = thresholds if isinstance(thresholds, (list, tuple)) else [thresholds]
    if thresholds is None:
        return [default]
    for threshold in chosen:
        if threshold is None or not 0 <= number("a metric", "a threshold", threshold) <= 1:
            raise ValueError(f"thresholds must lie in [0, 1], not {threshold}")
    return list(chosen)


# ---------------------------------------------------------------------------------------------------------------------
# Counts


class _Count(_Counts):
    """One of the counts."""

    _option_names = ("thresholds",)

    def __init__(
        self, thresholds: Thresholds = None, name: str | None = None, dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(name, dtype, _in_range(thresholds, 0.5))
        self.thresholds = thresholds
        self._create_counts()

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count a batch of truths and predictions."""
        self._count(*self._prepared(y_true, y_pred, sample_weight))

    def result(self) -> Tensor:
        """The count so far; one for each threshold if there are several."""
        count: Variable = getattr(self, self._counts[0])
        return count[0] if len(self._limits) == 1 else count.value()


class TruePositives(_Count):
    """The number of predictions above the threshold that are true, for each of `thresholds` (0.5 by default).

    >>> float(TruePositives()([0, 1, 1], [0.9, 0.9, 0.1]))
    1.0
    """

    _counts = ("true_positives",)


class FalsePositives(_Count):
    """The number of predictions above the threshold that are false, for each of `thresholds` (0.5 by default).

    >>> float(FalsePositives()([0, 1, 1], [0.9, 0.9, 0.1]))
    1.0
    """

    _counts = ("false_positives",)


class TrueNegatives(_Count):
    """The number of predictions below the threshold that are false, for each of `thresholds` (0.5 by default).

    >>> float(TrueNegatives()([0, 1, 1], [0.9, 0.9, 0.1]))
    0.0
    """

    _counts = ("true_negatives",)


class FalseNegatives(_Count):
    """The number of predictions below the threshold that are true, for each of `thresholds` (0.5 by default).

    >>> float(FalseNegatives()([0, 1, 1], [0.9, 0.9, 0.1]))
    1.0
    """

    _counts = ("false_negatives",)


# ---------------------------------------------------------------------------------------------------------------------
# Shares


class _Share(_Counts):
    """The share of the true positives in the sum of two counts."""

    _option_names = ("thresholds", "top_k", "class_id")

    def __init__(
        self,
        thresholds: Thresholds = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name, dtype, _in_range(thresholds, 0.5 if top_k is None else _BELOW_ALL))
        self.thresholds, self.top_k, self.class_id = thresholds, top_k, class_id
        self._create_counts()

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count a batch of truths and predictions."""
        true, predicted, weight = self._prepared(y_true, y_pred, sample_weight)
        if self.top_k is not None:
            places = top_k(predicted, self.top_k)[1]
            chosen = reduce_sum(one_hot(places, predicted._array.shape[-1], dtype=self.dtype), -2)
            predicted = predicted * chosen + _BELOW_ALL * (1.0 - chosen)
        if self.class_id is not None:
            if predicted.ndim < 2:
                raise ValueError(
                    f"{type(self).__name__}: class_id needs predictions of shape (samples, classes), not "
                    f"{predicted.shape}"
                )
            true, predicted = true[..., self.class_id, None], predicted[..., self.class_id, None]
        self._count(true, predicted, weight)

    def result(self) -> Tensor:
        """The share so far; one for each threshold if there are several."""
        right, other = (getattr(self, name) for name in self._counts)
        shares = divide_no_nan(right, right + other)
        return shares[0] if len(self._limits) == 1 else shares


class Precision(_Share):
    """The share of the predictions above the threshold (or among the largest) that are true.

    Args:
        thresholds: one or several in [0, 1]; 0.5 by default, and none with `top_k`.
        top_k: how many of a sample's largest predictions count as found, instead of those above a threshold.
        class_id: the only class that is counted.

    Raises:
        ValueError: if a threshold is not in [0, 1], or `class_id` meets predictions without an axis of classes.

    >>> float(Precision()([0, 1, 1, 1], [0.9, 0.9, 0.1, 0.1]))
    0.5
    """

    _counts = ("true_positives", "false_positives")


class Recall(_Share):
    """The share of the true samples whose predictions lie above the threshold (or are among the largest).

    `thresholds`, `top_k` and `class_id` are those of `Precision`.

    >>> float(Recall()([0, 1, 1, 1, 1], [0.9, 0.9, 0.1, 0.1, 0.1]))
    0.25
    """

    _counts = ("true_positives", "false_negatives")


class FBetaScore(Metric):
    """The weighted harmonic mean of precision and recall, which counts `beta` times as much, for each class.

    Args:
        average: None for a score for each class; 'micro' counts all classes together, 'macro' takes the classes' mean,
            'weighted' that by how often each occurs.
        beta: how much recall counts.
        threshold: predictions above it count as found; by default the largest of each sample.

    Raises:
        ValueError: if `beta` is not positive or `threshold` not in ]0, 1].

    >>> float(FBetaScore(average="micro", threshold=0.5)([[1.0, 0.0]], [[0.9, 0.9]]))
    0.6666...
    """

    _option_names: ClassVar[tuple[str, ...]] = ("average", "beta", "threshold")
    _counts = ("true_positives", "false_positives", "false_negatives", "intermediate_weights")

    def __init__(
        self,
        average: str | None = None,
        beta: float = 1.0,
        threshold: float | None = None,
        name: str | None = "fbeta_score",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(dtype, name)
        choice("FBetaScore", "average", average, (None, "micro", "macro", "weighted"))
        if number("FBetaScore", "beta", beta) <= 0:
            raise ValueError(f"beta must be positive, it is {beta}")
        if threshold is not None and not 0 < number("FBetaScore", "threshold", threshold) <= 1:
            raise ValueError(f"threshold must lie in ]0, 1], not {threshold}")
        self.average, self.beta, self.threshold = average, beta, threshold

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count a batch of truths and predictions, both of shape (samples, classes)."""
        true, predicted = cast(y_true, self.dtype), cast(y_pred, self.dtype)
        if true.ndim != 2 or predicted.ndim != 2:
            raise ValueError(
                f"{type(self).__name__}: truths and predictions have the shape (samples, classes), not {true.shape} "
                f"and {predicted.shape}"
            )
        if not self.variables:
            shape = () if self.average == "micro" else predicted.shape[-1:]
            for name in self._counts:
                setattr(self, name, self.add_variable(shape, name=name))
        if self.threshold is None:
            largest = reduce_max(predicted, -1, keepdims=True)
            found = logical_and(predicted >= largest, greater(predicted * predicted, 1e-18))
        else:
            found = greater(predicted, self.threshold)
        chosen = cast(found, self.dtype)
        weight = 1.0 if sample_weight is None else expand_dims(cast(sample_weight, self.dtype), 1)
        axis = None if self.average == "micro" else 0
        for name, part in zip(
            self._counts, (chosen * true, chosen * (1.0 - true), (1.0 - chosen) * true, true), strict=True
        ):
            accumulate(getattr(self, name), reduce_sum(part * weight, axis))

    def result(self) -> Tensor:
        """The score so far."""
        if not self.variables:
            raise ValueError(
                f"{type(self).__name__}: there is no score before the first update_state, which says how many classes "
                "there are"
            )
        right, wrong, missed, occurring = (getattr(self, name) for name in self._counts)
        precision, recall = right / (right + wrong + EPSILON), right / (right + missed + EPSILON)
        square = self.beta**2
        score = precision * recall / (square * precision + recall + EPSILON) * (1.0 + square)
        if self.average == "weighted":
            return reduce_sum(score * (occurring / (reduce_sum(occurring) + EPSILON)))
        return score if self.average is None else reduce_mean(score)


class F1Score(FBetaScore):
    """The harmonic mean of precision and recall, for each class; the arguments are those of `FBetaScore`.

    >>> float(F1Score(average="micro", threshold=0.5)([[1.0, 0.0]], [[0.9, 0.9]]))
    0.6666...
    """

    _option_names = ("average", "threshold")

    def __init__(
        self,
        average: str | None = None,
        threshold: float | None = None,
        name: str | None = "f1_score",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(average, 1.0, threshold, name, dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Curves


class AUC(_Counts):
    """The area under a curve that the threshold draws: of recall over the rate of false positives, or others.

    Args:
        num_thresholds: how many thresholds, evenly spaced, or
        thresholds: which, besides 0 and 1.
        curve: 'ROC', 'PR' (precision over recall) or 'PRGAIN' (the gains of both over always saying yes).
        summation_method: 'interpolation', or 'minoring' and 'majoring' for sums below and above the curve.
        multi_label: whether each column is a label of its own: then the mean of their areas.
        num_labels: how many, if known before the first batch.
        label_weights: how much each label counts.
        from_logits: whether predictions are logits, not probabilities.

    Raises:
        ValueError: if there is no such curve or method, or a threshold is not in [0, 1].

    >>> round(float(AUC()([0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9])), 3)
    0.75
    """

    _option_names = (
        "num_thresholds",
        "curve",
        "summation_method",
        "multi_label",
        "num_labels",
        "label_weights",
        "from_logits",
    )

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: DTypeLike | None = None,
        thresholds: Sequence[float] | None = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: TensorLike | None = None,
        from_logits: bool = False,
    ) -> None:
        if thresholds is None:
            count = integer("AUC", "num_thresholds", num_thresholds)
            if count < 2:
                raise ValueError(f"AUC: num_thresholds is a whole number from 2 on, not {count}")
            inner = (np.arange(1, count - 1) / (count - 1)).tolist()
        else:
            inner = sorted(_in_range(list(thresholds), 0.5))
        super().__init__(name, dtype, [-EPSILON, *inner, 1.0 + EPSILON])
        self.num_thresholds = len(self._limits)
        self._inner = None if thresholds is None else inner
        self.curve = _one_of("curve", str(curve).upper(), ("ROC", "PR", "PRGAIN"))
        methods = ("interpolation", "majoring", "minoring")
        self.summation_method = _one_of("summation_method", str(summation_method).lower(), methods)
        self.multi_label, self.num_labels, self.from_logits = multi_label, num_labels, from_logits
        self.label_weights = label_weights
        if not multi_label:
            self._create_counts()
        elif num_labels is not None:
            self._create_counts(num_labels)

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count a batch of truths and predictions."""
        true, predicted, weight = self._prepared(y_true, y_pred, sample_weight)
        if self.from_logits:
            predicted = sigmoid(predicted)
        if not self.multi_label:
            if self.label_weights is not None:
                labels = cast(self.label_weights, self.dtype)
                weight = labels if weight is None else weight * labels
            self._count(true, predicted, weight)
            return
        labels = predicted._array.shape[-1]
        if not self.variables:
            self._create_counts(labels)
        each = []
        for i in range(labels):
            own = None if weight is None else broadcast_to(weight, predicted.shape)[:, i]
            each.append(_counted(true[:, i], predicted[:, i], own, self._limits, self._even))
        for name in self._counts:
            accumulate(getattr(self, name), stack([counts[name] for counts in each], 1))

    def result(self) -> Tensor:
        """The area so far."""
        if self.curve == "PR" and self.summation_method == "interpolation":
            areas = self._interpolated_pr()
        else:
            x, y = self._points()
            pair = y[:-1], y[1:]
            if self.summation_method == "interpolation":
                height = (pair[0] + pair[1]) / 2.0
            else:
                height = (minimum if self.summation_method == "minoring" else maximum)(*pair)
            areas = (x[:-1] - x[1:]) * height
        if not self.multi_label:
            return reduce_sum(areas)
        by_label = reduce_sum(areas, 0)
        if self.label_weights is None:
            return reduce_mean(by_label)
        weights = cast(self.label_weights, self.dtype)
        return divide_no_nan(reduce_sum(by_label * weights), reduce_sum(weights))

    def _points(self) -> tuple[Tensor, Tensor]:
        """The coordinates of the curve, x and y, at each threshold."""
        tp, fp, tn, fn = (getattr(self, name).value() for name in _COUNTS)
        recall = divide_no_nan(tp, tp + fn)
        if self.curve == "ROC":
            return divide_no_nan(fp, fp + tn), recall
        if self.curve == "PR":
            return recall, divide_no_nan(tp, tp + fp)
        scale = divide_no_nan(tp + fn, tn + fp)
        nothing = equal(tp, 0.0)
        recall_gain = maximum(where(nothing, 0.0, 1.0 - scale * divide_no_nan(fn, tp)), 0.0)
        return recall_gain, where(nothing, 1.0, 1.0 - scale * divide_no_nan(fp, tp))

    def _interpolated_pr(self) -> Tensor:
        """The areas under the curve of precision over recall, between every two thresholds.

        There true positives are taken to grow linearly with all positives p: precision is tp / p = slope + intercept
        / p, whose integral over tp has a logarithm.
        """
        tp, fp, _, fn = (getattr(self, name).value() for name in _COUNTS)
        p = tp + fp
        gained = tp[:-1] - tp[1:]
        slope = divide_no_nan(gained, maximum(p[:-1] - p[1:], 0.0))
        intercept = tp[1:] - slope * p[1:]
        both = logical_and(p[:-1] > 0.0, p[1:] > 0.0)
        ratio = where(both, divide_no_nan(p[:-1], maximum(p[1:], 0.0)), zeros_like(p[1:]) + 1.0)
        return divide_no_nan(slope * (gained + intercept * log(ratio)), maximum(tp[1:] + fn[1:], 0.0))

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor, as `from_config` takes them."""
        config = super().get_config()
        return config if self._inner is None else {**config, "thresholds": self._inner}


def _one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ValueError(f"AUC: {name} is one of {', '.join(map(repr, known))}, not {value!r}")
    return value
