"""Losses as objects: they also weigh the samples, and take their mean or sum."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any, ClassVar

from ..core.dtypes import HALF, as_dtype
from ..core.primitive import rounded
from ..core.scopes import snake_case
from ..core.tensor import Tensor
from ..ops.array.movement import cast
from ..ops.math.functions import divide_no_nan, not_equal
from ..ops.math.reduction import reduce_mean, reduce_sum
from . import per_sample
from .per_sample import of_one_rank

_REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none", None, "auto")


class Reduction:
    """The names of what a loss does with the values of its samples.

    >>> MeanSquaredError(reduction=Reduction.SUM).reduction
    'sum'
    """

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"


class Loss:
    """What losses have in common. To write one of your own, override `call(y_true, y_pred)`.

    Args:
        name: a name.
        reduction: what is done with the values of the samples: 'sum_over_batch_size' or 'mean' gives their mean, 'sum'
            their sum, 'mean_with_sample_weight' their sum over that of the weights, None or 'none' the values.
        dtype: what the truth and the predictions are converted to; float32 by default.

    >>> import gradtape as tf
    >>> class Quartic(tf.losses.Loss):
    ...     def call(self, y_true, y_pred):
    ...         return (y_pred - y_true) ** 4
    >>> float(Quartic()([0.0, 0.0], [1.0, 2.0]))
    8.5
    """

    def __init__(
        self, name: str | None = None, reduction: str | None = "sum_over_batch_size", dtype: Any = None
    ) -> None:
        if not isinstance(reduction, (str, NoneType)) or reduction not in _REDUCTIONS:
            raise ValueError(
                f"{type(self).__name__}: reduction is 'sum_over_batch_size', 'sum', 'mean', "
                f"'mean_with_sample_weight' or None, not {reduction!r}"
            )
        self.name = name or snake_case(type(self).__name__)
        self.reduction = reduction
        self.dtype = "float32" if dtype is None else as_dtype(dtype).name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        true, predicted = cast(y_true, self.dtype), cast(y_pred, self.dtype)
        values = cast(self.call(true, predicted), self.dtype)
        return self._reduced(values, sample_weight, self._valid(true))

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The value for each sample."""
        raise NotImplementedError(f"{type(self).__name__} must define call(y_true, y_pred)")

    def _valid(self, true: Any) -> Any:
        """Which samples count, if not all do."""
        return None

    def _reduced(self, values: Any, sample_weight: Any, valid: Any) -> Tensor:
        if values._array.dtype.char in HALF:
            return rounded(self._reduced, values, sample_weight=sample_weight, valid=valid)
        means = self.reduction in ("sum_over_batch_size", "mean", "auto")
        weight = None if sample_weight is None else cast(sample_weight, values.dtype)
        if valid is not None:  # those that do not count are not counted in the mean either
            mask = cast(valid, values.dtype)
            mask = mask * divide_no_nan(float(mask._array.size), reduce_sum(mask)) if means else mask
            if weight is not None:
                mask, weight = of_one_rank(mask, weight)
            weight = mask if weight is None else weight * mask
        if weight is not None:
            values, weight = of_one_rank(values, weight)
            values = values * weight
        if self.reduction in (None, "none") or values.ndim == 0:
            return values
        if self.reduction == "sum":
            return reduce_sum(values)
        if weight is not None and not means:
            return divide_no_nan(reduce_sum(values), reduce_sum(weight))
        return reduce_mean(values) if values._array.size else reduce_sum(values)

    def get_config(self) -> dict[str, Any]:
        """The arguments this was made with."""
        return {"name": self.name, "reduction": self.reduction}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The loss that `get_config` described."""
        return cls(**config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


class _OfFunction(Loss):
    """A loss that is a function, with arguments that do not change."""

    _function: ClassVar[Callable[..., Any]]
    _name: ClassVar[str | None] = None
    _settings: tuple[str, ...] = ()

    def __init__(
        self, reduction: str | None = "sum_over_batch_size", name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(name or self._name, reduction, dtype)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return type(self)._function(*of_one_rank(y_true, y_pred), **self._options())

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._settings}

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._options()}


class MeanSquaredError(_OfFunction):
    """The mean of the squares of the errors.

    >>> float(MeanSquaredError()([[0.0, 1.0]], [[2.0, 1.0]]))
    2.0
    """

    _function = per_sample.mean_squared_error


class MeanAbsoluteError(_OfFunction):
    """The mean of the errors' absolute values.

    >>> float(MeanAbsoluteError()([[0.0, 1.0]], [[2.0, 1.0]]))
    1.0
    """

    _function = per_sample.mean_absolute_error


class MeanAbsolutePercentageError(_OfFunction):
    """The mean of the errors in percent of the true values.

    >>> float(MeanAbsolutePercentageError()([[2.0, 1.0]], [[1.0, 1.0]]))
    25.0
    """

    _function = per_sample.mean_absolute_percentage_error


class MeanSquaredLogarithmicError(_OfFunction):
    """The mean of the squares of the differences of log(1 + value).

    >>> float(MeanSquaredLogarithmicError()([[1.0]], [[1.0]]))
    0.0
    """

    _function = per_sample.mean_squared_logarithmic_error


class LogCosh(_OfFunction):
    """The mean of log(cosh(error)).

    >>> float(LogCosh()([[1.0]], [[1.0]]))
    0.0
    """

    _function = per_sample.log_cosh


class Hinge(_OfFunction):
    """The mean of max(1 - true * predicted, 0), for truths -1 and 1 (or 0 and 1).

    >>> float(Hinge()([[1.0, -1.0]], [[0.5, -2.0]]))
    0.25
    """

    _function = per_sample.hinge


class SquaredHinge(_OfFunction):
    """The mean of max(1 - true * predicted, 0) squared, for truths -1 and 1 (or 0 and 1).

    >>> float(SquaredHinge()([[1.0, -1.0]], [[0.5, -2.0]]))
    0.125
    """

    _function = per_sample.squared_hinge


class CategoricalHinge(_OfFunction):
    """The mean of max(1 + the largest prediction for another class - that for the true class, 0).

    >>> float(CategoricalHinge()([[0.0, 1.0]], [[0.5, 1.0]]))
    0.5
    """

    _function = per_sample.categorical_hinge


class KLDivergence(_OfFunction):
    """The mean of the Kullback-Leibler divergences of predicted from true distributions.

    >>> float(KLDivergence()([[0.5, 0.5]], [[0.5, 0.5]]))
    0.0
    """

    _function = per_sample.kl_divergence
    _name = "kl_divergence"


class Poisson(_OfFunction):
    """The mean of predicted - true * log(predicted).

    >>> round(float(Poisson()([[2.0]], [[1.0]])), 5)
    1.0
    """

    _function = per_sample.poisson


class CosineSimilarity(_OfFunction):
    """The mean of the negative cosines of the angles between true and predicted vectors.

    >>> float(CosineSimilarity()([[0.0, 1.0]], [[0.0, 2.0]]))
    -1.0
    """

    _function = per_sample.cosine_similarity
    _settings = ("axis",)

    def __init__(
        self,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "cosine_similarity",
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.axis = axis


class Huber(_OfFunction):
    """The mean of half the errors' squares, continued as a line from `delta` on.

    >>> float(Huber()([[0.0, 0.0]], [[1.0, 3.0]]))
    1.5
    """

    _function = per_sample.huber
    _settings = ("delta",)

    def __init__(
        self,
        delta: float = 1.0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "huber_loss",
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.delta = delta


class BinaryCrossentropy(_OfFunction):
    """The mean cross entropy between truths 0 or 1 and predicted probabilities (or logits).

    >>> round(float(BinaryCrossentropy(from_logits=True)([[0.0, 1.0]], [[0.0, 0.0]])), 4)
    0.6931
    """

    _function = per_sample.binary_crossentropy
    _settings = ("from_logits", "label_smoothing", "axis")

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "binary_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.from_logits, self.label_smoothing, self.axis = from_logits, label_smoothing, axis


class BinaryFocalCrossentropy(_OfFunction):
    """`BinaryCrossentropy` where easy samples count less.

    >>> round(float(BinaryFocalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]])), 4)
    0.1733
    """

    _function = per_sample.binary_focal_crossentropy
    _settings = ("apply_class_balancing", "alpha", "gamma", "from_logits", "label_smoothing", "axis")

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "binary_focal_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.apply_class_balancing, self.alpha, self.gamma = apply_class_balancing, alpha, gamma
        self.from_logits, self.label_smoothing, self.axis = from_logits, label_smoothing, axis


class CategoricalCrossentropy(_OfFunction):
    """The mean cross entropy between true and predicted probabilities (or logits) of classes.

    >>> round(float(CategoricalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]])), 4)
    0.6931
    """

    _function = per_sample.categorical_crossentropy
    _settings = ("from_logits", "label_smoothing", "axis")

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.from_logits, self.label_smoothing, self.axis = from_logits, label_smoothing, axis


class CategoricalFocalCrossentropy(_OfFunction):
    """`CategoricalCrossentropy` where easy samples count less.

    >>> round(float(CategoricalFocalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]])), 4)
    0.0433
    """

    _function = per_sample.categorical_focal_crossentropy
    _settings = ("alpha", "gamma", "from_logits", "label_smoothing", "axis")

    def __init__(
        self,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_focal_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.alpha, self.gamma = alpha, gamma
        self.from_logits, self.label_smoothing, self.axis = from_logits, label_smoothing, axis


class SparseCategoricalCrossentropy(_OfFunction):
    """The mean cross entropy between true classes, as integers, and predicted probabilities (or logits) of all.

    Samples of `ignore_class` do not count.

    >>> round(float(SparseCategoricalCrossentropy(from_logits=True)([1, 0], [[0.0, 0.0], [0.0, 0.0]])), 4)
    0.6931
    """

    _function = per_sample.sparse_categorical_crossentropy
    _settings = ("from_logits", "ignore_class", "axis")

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        axis: int = -1,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.from_logits, self.ignore_class, self.axis = from_logits, ignore_class, axis

    def _valid(self, true: Any) -> Any:
        return None if self.ignore_class is None else not_equal(true, float(self.ignore_class))


class Dice(_OfFunction):
    """1 - twice the overlap of truth and prediction over the sum of both.

    >>> float(Dice()([[1.0, 0.0]], [[1.0, 0.0]]))
    0.0
    """

    _function = per_sample.dice
    _settings = ("axis",)

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "dice",
        axis: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.axis = axis


class Tversky(_OfFunction):
    """1 - the overlap over itself plus `alpha` times what was missed plus `beta` times what was wrongly found.

    >>> round(float(Tversky()([[1.0, 0.0]], [[1.0, 0.0]])), 4)
    0.0
    """

    _function = per_sample.tversky
    _settings = ("alpha", "beta", "axis")

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "tversky",
        axis: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.alpha, self.beta, self.axis = alpha, beta, axis
