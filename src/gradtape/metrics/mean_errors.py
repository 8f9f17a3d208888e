"""Metrics that are the means of losses."""

from __future__ import annotations

from ..core.tensor import Tensor
from ..core.types import DTypeLike, TensorLike
from ..losses import per_sample
from ..ops.array.movement import cast
from ..ops.math.functions import sqrt, square
from .metric import FunctionMean


class MeanSquaredError(FunctionMean):
    """The mean of the squares of the errors.

    >>> float(MeanSquaredError()([[0.0, 1.0]], [[2.0, 1.0]]))
    2.0
    """

    _function = per_sample.mean_squared_error


class MeanAbsoluteError(FunctionMean):
    """The mean of the errors' absolute values.

    >>> float(MeanAbsoluteError()([[0.0, 1.0]], [[2.0, 1.0]]))
    1.0
    """

    _function = per_sample.mean_absolute_error


class MeanAbsolutePercentageError(FunctionMean):
    """The mean of the errors in percent of the true values.

    >>> float(MeanAbsolutePercentageError()([[2.0, 1.0]], [[1.0, 1.0]]))
    25.0
    """

    _function = per_sample.mean_absolute_percentage_error


class MeanSquaredLogarithmicError(FunctionMean):
    """The mean of the squares of the differences of log(1 + value).

    >>> float(MeanSquaredLogarithmicError()([[1.0]], [[1.0]]))
    0.0
    """

    _function = per_sample.mean_squared_logarithmic_error


def _squared_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    true, predicted = per_sample.match_ranks(cast(y_true, "float32"), cast(y_pred, "float32"))
    return square(predicted - true)


class RootMeanSquaredError(FunctionMean):
    """The root of the mean of the squares of the errors.

    >>> float(RootMeanSquaredError()([[0.0, 0.0]], [[2.0, 2.0]]))
    2.0
    """

    _function = _squared_error

    def result(self) -> Tensor:
        """The root of the mean so far."""
        return sqrt(super().result())


def _cosine(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Tensor:
    return -per_sample.cosine_similarity(y_true, y_pred, axis)


class CosineSimilarity(FunctionMean):
    """The mean of the cosines of the angles between true and predicted vectors along `axis`: 1 for the same direction.

    >>> float(CosineSimilarity()([[0.0, 1.0]], [[0.0, 2.0]]))
    1.0
    """

    _function = _cosine

    def __init__(
        self, name: str | None = "cosine_similarity", dtype: DTypeLike | None = None, axis: int = -1
    ) -> None:
        super().__init__(name, dtype)
        self._fn_kwargs = {"axis": axis}


class LogCoshError(FunctionMean):
    """The mean of log(cosh(error)).

    >>> float(LogCoshError()([[1.0]], [[1.0]]))
    0.0
    """

    _function = per_sample.log_cosh
    _name = "logcosh"


class Hinge(FunctionMean):
    """The mean of max(1 - true * predicted, 0), for truths -1 and 1 (or 0 and 1).

    >>> float(Hinge()([[1.0, -1.0]], [[0.5, -2.0]]))
    0.25
    """

    _function = per_sample.hinge


class SquaredHinge(FunctionMean):
    """The mean of max(1 - true * predicted, 0) squared, for truths -1 and 1 (or 0 and 1).

    >>> float(SquaredHinge()([[1.0, -1.0]], [[0.5, -2.0]]))
    0.125
    """

    _function = per_sample.squared_hinge


class CategoricalHinge(FunctionMean):
    """The mean of max(1 + the largest prediction for another class - that for the true class, 0).

    >>> float(CategoricalHinge()([[0.0, 1.0]], [[0.5, 1.0]]))
    0.5
    """

    _function = per_sample.categorical_hinge


class KLDivergence(FunctionMean):
    """The mean of the Kullback-Leibler divergences of predicted from true distributions.

    >>> float(KLDivergence()([[0.5, 0.5]], [[0.5, 0.5]]))
    0.0
    """

    _function = per_sample.kl_divergence
    _name = "kl_divergence"


class Poisson(FunctionMean):
    """The mean of predicted - true * log(predicted).

    >>> round(float(Poisson()([[2.0]], [[1.0]])), 5)
    1.0
    """

    _function = per_sample.poisson


class BinaryCrossentropy(FunctionMean):
    """The mean cross entropy between truths 0 or 1 and predicted probabilities (or logits).

    Args:
        from_logits: whether predictions are logits, not probabilities.
        label_smoothing: how far truths are moved from 0 and 1 towards 1/2: 1 moves them all the way.

    >>> round(float(BinaryCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]])), 4)
    0.6931
    """

    _function = per_sample.binary_crossentropy

    def __init__(
        self,
        name: str | None = "binary_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(name, dtype)
        self._fn_kwargs = {"from_logits": from_logits, "label_smoothing": label_smoothing}


class CategoricalCrossentropy(FunctionMean):
    """The mean cross entropy between true and predicted probabilities (or logits) of classes.

    Args:
        from_logits: whether predictions are logits, not probabilities.
        label_smoothing: the share of the truth that is spread evenly over all classes.
        axis: the axis of the classes.

    >>> round(float(CategoricalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]])), 4)
    0.6931
    """

    _function = per_sample.categorical_crossentropy

    def __init__(
        self,
        name: str | None = "categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
    ) -> None:
        super().__init__(name, dtype)
        self._fn_kwargs = {"from_logits": from_logits, "label_smoothing": label_smoothing, "axis": axis}


class SparseCategoricalCrossentropy(FunctionMean):
    """The mean cross entropy between true classes, as integers, and predicted probabilities (or logits) of all.

    Args:
        from_logits: whether predictions are logits, not probabilities.
        ignore_class: a class whose samples give 0.
        axis: the axis of the classes.

    >>> round(float(SparseCategoricalCrossentropy()([1], [[0.5, 0.5]])), 4)
    0.6931
    """

    _function = per_sample.sparse_categorical_crossentropy

    def __init__(
        self,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        ignore_class: int | None = None,
        axis: int = -1,
    ) -> None:
        super().__init__(name, dtype)
        self._fn_kwargs = {"from_logits": from_logits, "ignore_class": ignore_class, "axis": axis}
