"""Losses as objects: they also weigh the samples, and take their mean or sum."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any, ClassVar, Self

from ..core.dtypes import HALF, as_dtype
from ..core.primitive import rounded
from ..core.scopes import snake_case
from ..core.tensor import Tensor
from ..core.types import Axes, DTypeLike, TensorLike
from ..ops.array.movement import cast
from ..ops.math.functions import divide_no_nan, not_equal
from ..ops.math.reduction import reduce_mean, reduce_sum
from . import per_sample
from .per_sample import match_ranks

_REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none", None, "auto")


class Reduction:
    """Names of the reductions of a loss: how the values of the samples become one.

    >>> MeanSquaredError(reduction=Reduction.SUM).reduction
    'sum'
    """

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"


class Loss:
    """Base class of the losses. To write one of your own, override `call(y_true, y_pred)`.

    A loss is called with `y_true`, `y_pred` and, optionally, `sample_weight`: a weight for each sample.

    Args:
        name: a name; the default is made from the class's.
        reduction: 'sum_over_batch_size' or 'mean' gives the mean of the samples' values, 'sum' their sum,
            'mean_with_sample_weight' their sum over that of the weights, None or 'none' the values themselves.
        dtype: truth and predictions are converted to it; float32 by default.

    Raises:
        ValueError: if there is no such reduction.

    >>> import gradtape as tf
    >>> class Quartic(tf.losses.Loss):
    ...     def call(self, y_true, y_pred):
    ...         return (y_pred - y_true) ** 4
    >>> float(Quartic()([0.0, 0.0], [1.0, 2.0]))
    8.5
    """

    def __init__(
        self,
        name: str | None = None,
        reduction: str | None = "sum_over_batch_size",
        dtype: DTypeLike | None = None,
    ) -> None:
        if not isinstance(reduction, (str, NoneType)) or reduction not in _REDUCTIONS:
            raise ValueError(
                f"{type(self).__name__}: reduction is 'sum_over_batch_size', 'sum', 'mean', "
                f"'mean_with_sample_weight' or None, not {reduction!r}"
            )
        self.name = name or snake_case(type(self).__name__)
        self.reduction = reduction
        self.dtype = "float32" if dtype is None else as_dtype(dtype).name

    def __call__(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Tensor:
        true, predicted = cast(y_true, self.dtype), cast(y_pred, self.dtype)
        values = cast(self.call(true, predicted), self.dtype)
        return self._reduced(values, sample_weight, self._valid(true))

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The value for each sample. `y_true` and `y_pred` are tensors of the loss's dtype."""
        raise NotImplementedError(f"{type(self).__name__} must define call(y_true, y_pred)")

    def _valid(self, true: Tensor) -> Tensor | None:
        """A mask of the samples that count; None if all do."""
        return None

    def _reduced(self, values: Tensor, sample_weight: TensorLike | None, valid: Tensor | None) -> Tensor:
        if values._array.dtype.char in HALF:
            return rounded(self._reduced, values, sample_weight=sample_weight, valid=valid)
        means = self.reduction in ("sum_over_batch_size", "mean", "auto")
        weight = None if sample_weight is None else cast(sample_weight, values.dtype)
        if valid is not None:  # the mean is over the samples that count
            mask = cast(valid, values.dtype)
            mask = mask * divide_no_nan(float(mask._array.size), reduce_sum(mask)) if means else mask
            if weight is not None:
                mask, weight = match_ranks(mask, weight)
            weight = mask if weight is None else weight * mask
        if weight is not None:
            values, weight = match_ranks(values, weight)
            values = values * weight
        if self.reduction in (None, "none") or values.ndim == 0:
            return values
        if self.reduction == "sum":
            return reduce_sum(values)
        if weight is not None and not means:
            return divide_no_nan(reduce_sum(values), reduce_sum(weight))
        return reduce_mean(values) if values._array.size else reduce_sum(values)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor, as `from_config` takes them."""
        return {"name": self.name, "reduction": self.reduction}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The loss that the `config` of a `get_config` describes."""
        return cls(**config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


class _FunctionLoss(Loss):
    """A loss computed by a function of `per_sample`. The function's options are attributes of the loss."""

    _function: ClassVar[Callable[..., Tensor]]
    _name: ClassVar[str | None] = None
    _option_names: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        code = cls._function.__code__
        cls._option_names = code.co_varnames[2 : code.co_argcount]  # all parameters but y_true and y_pred

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name or self._name, reduction, dtype)

    def call(self, y_true: Any, y_pred: Any) -> Tensor:
        return type(self)._function(*match_ranks(y_true, y_pred), **self._options())

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._option_names}

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._options()}


class MeanSquaredError(_FunctionLoss):
    """The mean of the squares of the errors.

    `reduction`, `name` and `dtype` are those of `Loss`.

    >>> float(MeanSquaredError()([[0.0, 1.0]], [[2.0, 1.0]]))
    2.0
    """

    _function = per_sample.mean_squared_error


class MeanAbsoluteError(_FunctionLoss):
    """The mean of the errors' absolute values.

    `reduction`, `name` and `dtype` are those of `Loss`.

    >>> float(MeanAbsoluteError()([[0.0, 1.0]], [[2.0, 1.0]]))
    1.0
    """

    _function = per_sample.mean_absolute_error


class MeanAbsolutePercentageError(_FunctionLoss):
    """The mean of the errors in percent of the true values.

    `reduction`, `name` and `dtype` are those of `Loss`.

    >>> float(MeanAbsolutePercentageError()([[2.0, 1.0]], [[1.0, 1.0]]))
    25.0
    """

    _function = per_sample.mean_absolute_percentage_error


class MeanSquaredLogarithmicError(_FunctionLoss):
    """The mean of the squares of the differences of log(1 + value).

    `reduction`, `name` and `dtype` are those of `Loss`.

    >>> float(MeanSquaredLogarithmicError()([[1.0]], [[1.0]]))
    0.0
    """

    _function = per_sample.mean_squared_logarithmic_error


class LogCosh(_FunctionLoss):
    """The mean of log(cosh(error)).

    `reduction`, `name` and `dtype` are those of `Loss`.

    >>> float(LogCosh()([[1.0]], [[1.0]]))
    0.0
    """

    _function = per_sample.log_cosh


class Hinge(_FunctionLoss):
    """The mean of max(1 - true * predicted, 0), for truths -1 and 1 (or 0 and 1).

    `reduction`, `name` and `dtype` are those of `Loss`.

    >>> float(Hinge()([[1.0, -1.0]], [[0.5, -2.0]]))
    0.25
    """

    _function = per_sample.hinge


class SquaredHinge(_FunctionLoss):
    """The mean of max(1 - true * predicted, 0) squared, for truths -1 and 1 (or 0 and 1).

    `reduction`, `name` and `dtype` are those of `Loss`.

    >>> float(SquaredHinge()([[1.0, -1.0]], [[0.5, -2.0]]))
    0.125
    """

    _function = per_sample.squared_hinge


class CategoricalHinge(_FunctionLoss):
    """The mean of max(1 + the largest prediction for another class - that for the true class, 0).

    `reduction`, `name` and `dtype` are those of `Loss`.

    >>> float(CategoricalHinge()([[0.0, 1.0]], [[0.5, 1.0]]))
    0.5
    """

    _function = per_sample.categorical_hinge


class KLDivergence(_FunctionLoss):
    """The mean of the Kullback-Leibler divergences of predicted from true distributions.

    `reduction`, `name` and `dtype` are those of `Loss`.

    >>> float(KLDivergence()([[0.5, 0.5]], [[0.5, 0.5]]))
    0.0
    """

    _function = per_sample.kl_divergence
    _name = "kl_divergence"


class Poisson(_FunctionLoss):
    """The mean of predicted - true * log(predicted).

    `reduction`, `name` and `dtype` are those of `Loss`.

    >>> round(float(Poisson()([[2.0]], [[1.0]])), 5)
    1.0
    """

    _function = per_sample.poisson


class CosineSimilarity(_FunctionLoss):
    """The mean of the negative cosines of the angles between true and predicted vectors.

    `axis` is the axis of the vectors; `reduction`, `name` and `dtype` are those of `Loss`.

    >>> float(CosineSimilarity()([[0.0, 1.0]], [[0.0, 2.0]]))
    -1.0
    """

    _function = per_sample.cosine_similarity

    def __init__(
        self,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "cosine_similarity",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.axis = axis


class Huber(_FunctionLoss):
    """The mean of half the errors' squares, continued as a line from `delta` on.

    `reduction`, `name` and `dtype` are those of `Loss`.

    >>> float(Huber()([[0.0, 0.0]], [[1.0, 3.0]]))
    1.5
    """

    _function = per_sample.huber

    def __init__(
        self,
        delta: float = 1.0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "huber_loss",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.delta = delta


class BinaryCrossentropy(_FunctionLoss):
    """The mean cross entropy between truths 0 or 1 and predicted probabilities (or logits).

    Args:
        from_logits: whether predictions are logits, not probabilities.
        label_smoothing: how far truths are moved from 0 and 1 towards 1/2: 1 moves them all the way.
        axis: the axis over which the mean is taken before the reduction.
        reduction, name, dtype: those of `Loss`.

    >>> round(float(BinaryCrossentropy(from_logits=True)([[0.0, 1.0]], [[0.0, 0.0]])), 4)
    0.6931
    """

    _function = per_sample.binary_crossentropy

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "binary_crossentropy",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.from_logits, self.label_smoothing, self.axis = from_logits, label_smoothing, axis


class BinaryFocalCrossentropy(_FunctionLoss):
    """`BinaryCrossentropy` where easy samples count less.

    Args:
        apply_class_balancing: whether truths 1 count `alpha` times, and truths 0 1 - alpha times.
        gamma: the higher, the less easy samples count: times (1 - probability of the truth) ** gamma.
        from_logits, label_smoothing, axis: those of `BinaryCrossentropy`.
        reduction, name, dtype: those of `Loss`.

    >>> round(float(BinaryFocalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]])), 4)
    0.1733
    """

    _function = per_sample.binary_focal_crossentropy

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
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.apply_class_balancing, self.alpha, self.gamma = apply_class_balancing, alpha, gamma
        self.from_logits, self.label_smoothing, self.axis = from_logits, label_smoothing, axis


class CategoricalCrossentropy(_FunctionLoss):
    """The mean cross entropy between true and predicted probabilities (or logits) of classes.

    Args:
        from_logits: whether predictions are logits, not probabilities.
        label_smoothing: the share of the truth that is spread evenly over all classes.
        axis: the axis of the classes.
        reduction, name, dtype: those of `Loss`.

    >>> round(float(CategoricalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]])), 4)
    0.6931
    """

    _function = per_sample.categorical_crossentropy

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_crossentropy",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.from_logits, self.label_smoothing, self.axis = from_logits, label_smoothing, axis


class CategoricalFocalCrossentropy(_FunctionLoss):
    """`CategoricalCrossentropy` where easy samples count less: times alpha * (1 - probability) ** gamma.

    Args:
        alpha: factor of all samples.
        gamma: the higher, the less easy samples count.
        from_logits, label_smoothing, axis: those of `CategoricalCrossentropy`.
        reduction, name, dtype: those of `Loss`.

    >>> round(float(CategoricalFocalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]])), 4)
    0.0433
    """

    _function = per_sample.categorical_focal_crossentropy

    def __init__(
        self,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_focal_crossentropy",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.alpha, self.gamma = alpha, gamma
        self.from_logits, self.label_smoothing, self.axis = from_logits, label_smoothing, axis


class SparseCategoricalCrossentropy(_FunctionLoss):
    """The mean cross entropy between true classes, as integers, and predicted probabilities (or logits) of all.

    Args:
        from_logits: whether predictions are logits, not probabilities.
        ignore_class: a class whose samples do not count.
        axis: the axis of the classes.
        reduction, name, dtype: those of `Loss`.

    >>> round(float(SparseCategoricalCrossentropy(from_logits=True)([1, 0], [[0.0, 0.0], [0.0, 0.0]])), 4)
    0.6931
    """

    _function = per_sample.sparse_categorical_crossentropy

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        axis: int = -1,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.from_logits, self.ignore_class, self.axis = from_logits, ignore_class, axis

    def _valid(self, true: Tensor) -> Tensor | None:
        return None if self.ignore_class is None else not_equal(true, float(self.ignore_class))


class Dice(_FunctionLoss):
    """1 - twice the overlap of truth and prediction over the sum of both.

    `axis` is what overlap and sum are taken over, all axes by default; `reduction`, `name` and `dtype` are those of
    `Loss`.

    >>> float(Dice()([[1.0, 0.0]], [[1.0, 0.0]]))
    0.0
    """

    _function = per_sample.dice

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "dice",
        axis: Axes = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.axis = axis


class Tversky(_FunctionLoss):
    """1 - the overlap over itself plus `alpha` times what was missed plus `beta` times what was wrongly found.

    `axis` is what the sums are taken over, all axes by default; `reduction`, `name` and `dtype` are those of `Loss`.

    >>> round(float(Tversky()([[1.0, 0.0]], [[1.0, 0.0]])), 4)
    0.0
    """

    _function = per_sample.tversky

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "tversky",
        axis: Axes = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype)
        self.alpha, self.beta, self.axis = alpha, beta, axis
