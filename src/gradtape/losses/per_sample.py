"""Losses as functions of `y_true` and `y_pred`: one value for each sample. Made of operations, which tapes record."""

from __future__ import annotations

import math

from ..core.errors import InvalidArgumentError
from ..core.tensor import Tensor
from ..core.tensor_conversion import convert_to_tensor
from ..core.types import Axes, TensorLike
from ..ops.array.creation import zeros_like
from ..ops.array.movement import cast, expand_dims, squeeze, transpose
from ..ops.linalg.norms import l2_normalize
from ..ops.math.arithmetic import pow
from ..ops.math.complexes import abs
from ..ops.math.functions import (
    equal,
    log,
    log1p,
    logical_or,
    maximum,
    minimum,
    not_equal,
    sigmoid,
    softplus,
    square,
    where,
)
from ..ops.math.reduction import one_axis, reduce_all, reduce_max, reduce_mean, reduce_sum
from ..ops.nn.losses import sigmoid_cross_entropy_with_logits
from ..ops.nn.softmax import (
    softmax,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from ..ops.scalars import number

EPSILON = 1e-7  # keeps logarithms and quotients finite


def as_floats(y_true: TensorLike, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    """Both as floating tensors of the prediction's dtype."""
    predicted = convert_to_tensor(y_pred)
    if not predicted.dtype.is_floating:
        predicted = cast(predicted, "float32")
    return cast(y_true, predicted.dtype), predicted


def match_ranks(x: TensorLike, y: TensorLike, grow: bool = True) -> tuple[Tensor, Tensor]:
    """Both as tensors of one rank: a last axis of length 1 is dropped or (to a vector, if `grow`) added."""
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    if x._array.ndim == y._array.ndim:
        return x, y
    for this, other, back in ((x, y, False), (y, x, True)):
        if this.ndim == other.ndim + 1 and this._array.shape[-1] == 1:
            if other.ndim == 1 and grow:
                other = expand_dims(other, -1)
            else:
                this = squeeze(this, -1)
            return (other, this) if back else (this, other)
    return x, y


def _pair(y_true: TensorLike, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    return match_ranks(*as_floats(y_true, y_pred))


def mean_squared_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean over the last axis of the squares of the errors.

    >>> mean_squared_error([[0.0, 1.0]], [[2.0, 1.0]]).numpy()
    array([2.], dtype=float32)
    """
    true, predicted = _pair(y_true, y_pred)
    return reduce_mean(square(true - predicted), -1)


def mean_absolute_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean over the last axis of the errors' absolute values.

    >>> mean_absolute_error([[0.0, 1.0]], [[2.0, 1.0]]).numpy()
    array([1.], dtype=float32)
    """
    true, predicted = _pair(y_true, y_pred)
    return reduce_mean(abs(true - predicted), -1)


def mean_absolute_percentage_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean over the last axis of the errors in percent of the true values.

    >>> mean_absolute_percentage_error([[2.0, 1.0]], [[1.0, 1.0]]).numpy()
    array([25.], dtype=float32)
    """
    true, predicted = _pair(y_true, y_pred)
    return 100.0 * reduce_mean(abs((true - predicted) / maximum(abs(true), EPSILON)), -1)


def mean_squared_logarithmic_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean over the last axis of the squares of the differences of log(1 + value).

    >>> mean_squared_logarithmic_error([[0.0]], [[math.e - 1]]).numpy().round(5)
    array([1.], dtype=float32)
    """
    true, predicted = _pair(y_true, y_pred)
    difference = log1p(maximum(predicted, EPSILON)) - log1p(maximum(true, EPSILON))
    return reduce_mean(square(difference), -1)


def cosine_similarity(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Tensor:
    """The negative cosine of the angle between two vectors along `axis`: -1 where they point the same way.

    >>> cosine_similarity([[0.0, 1.0]], [[0.0, 2.0]]).numpy()
    array([-1.], dtype=float32)
    """
    true, predicted = _pair(y_true, y_pred)
    return -reduce_sum(_normalized(true, axis) * _normalized(predicted, axis), axis)


def _normalized(x: Tensor, axis: int) -> Tensor:
    return l2_normalize(x, axis, epsilon=EPSILON**2)


def huber(y_true: TensorLike, y_pred: TensorLike, delta: float = 1.0) -> Tensor:
    """The mean over the last axis of half the errors' squares, continued as a line from `delta` on.

    >>> huber([[0.0, 0.0]], [[1.0, 3.0]]).numpy()
    array([1.5], dtype=float32)
    """
    true, predicted = _pair(y_true, y_pred)
    error = predicted - true
    size = abs(error)
    return reduce_mean(where(size <= delta, 0.5 * square(error), delta * size - 0.5 * delta * delta), -1)


def log_cosh(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean over the last axis of log(cosh(error)).

    >>> log_cosh([[0.0]], [[0.0]]).numpy()
    array([0.], dtype=float32)
    """
    true, predicted = _pair(y_true, y_pred)
    error = predicted - true
    return reduce_mean(error + softplus(-2.0 * error) - math.log(2), -1)


def hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean over the last axis of max(1 - true * predicted, 0), for truths -1 and 1 (or 0 and 1).

    >>> hinge([[1.0, -1.0]], [[0.5, -2.0]]).numpy()
    array([0.25], dtype=float32)
    """
    return reduce_mean(_margins(y_true, y_pred), -1)


def squared_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean over the last axis of max(1 - true * predicted, 0) squared, for truths -1 and 1 (or 0 and 1).

    >>> squared_hinge([[1.0, -1.0]], [[0.5, -2.0]]).numpy()
    array([0.125], dtype=float32)
    """
    return reduce_mean(square(_margins(y_true, y_pred)), -1)


def _margins(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    true, predicted = as_floats(y_true, y_pred)
    binary = reduce_all(logical_or(equal(true, 0.0), equal(true, 1.0)))
    return maximum(1.0 - where(binary, 2.0 * true - 1.0, true) * predicted, 0.0)


def categorical_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """max(1 + the largest prediction for another class - that for the true class, 0).

    >>> categorical_hinge([[0.0, 1.0]], [[0.5, 1.0]]).numpy()
    array([0.5], dtype=float32)
    """
    true, predicted = as_floats(y_true, y_pred)
    right, wrong = reduce_sum(true * predicted, -1), reduce_max((1.0 - true) * predicted, -1)
    return maximum(wrong - right + 1.0, 0.0)


def kl_divergence(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The sum over the last axis of true * log(true / predicted).

    >>> kl_divergence([[0.5, 0.5]], [[0.5, 0.5]]).numpy()
    array([0.], dtype=float32)
    """
    true, predicted = (_clipped(x, 1.0) for x in as_floats(y_true, y_pred))
    return reduce_sum(true * log(true / predicted), -1)


def poisson(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean over the last axis of predicted - true * log(predicted).

    >>> poisson([[2.0]], [[1.0]]).numpy().round(5)
    array([1.], dtype=float32)
    """
    true, predicted = as_floats(y_true, y_pred)
    return reduce_mean(predicted - true * log(predicted + EPSILON), -1)


def _clipped(x: Tensor, top: float = 1.0 - EPSILON) -> Tensor:
    return maximum(minimum(x, top), EPSILON)


def _smoothed(
    y_true: TensorLike, y_pred: TensorLike, label_smoothing: float, classes: int | None = None
) -> tuple[Tensor, Tensor]:
    """Both as floats, the truth mixed with an even distribution over the classes, by default the last axis."""
    true, predicted = as_floats(y_true, y_pred)
    share = number("a cross entropy", "label_smoothing", label_smoothing)
    if not share:
        return true, predicted
    if classes is None:
        if not true.ndim:
            raise InvalidArgumentError(
                "a cross entropy needs an axis of classes, and y_true is a single number"
            )
        classes = true._array.shape[-1]
    return true * (1.0 - share) + share / classes, predicted


def binary_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """The mean over an axis of the cross entropy between truths 0 or 1 and predicted probabilities (or logits).

    Args:
        from_logits: whether predictions are logits, not probabilities.
        label_smoothing: how far truths are moved from 0 and 1 towards 1/2: 1 moves them all the way.
        axis: the axis over which the mean is taken.

    >>> binary_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    array([0.6931472], dtype=float32)
    """
    true, predicted = _smoothed(y_true, y_pred, label_smoothing, classes=2)
    return reduce_mean(_binary(true, predicted, from_logits), axis)


def _binary(true: Tensor, predicted: Tensor, from_logits: bool) -> Tensor:
    if from_logits:
        return sigmoid_cross_entropy_with_logits(true, predicted)
    p = _clipped(predicted)
    return -(true * log(p) + (1.0 - true) * log(1.0 - p))


def binary_focal_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """`binary_crossentropy` where easy samples count less: times (1 - probability of the truth) ** gamma.

    Args:
        apply_class_balancing: whether truths 1 count `alpha` times, and truths 0 1 - alpha times.
        gamma: the higher, the less easy samples count.
        from_logits, label_smoothing, axis: those of `binary_crossentropy`.

    >>> binary_focal_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    array([0.1732868], dtype=float32)
    """
    true, predicted = _smoothed(y_true, y_pred, label_smoothing, classes=2)
    if from_logits:
        predicted = sigmoid(predicted)
    right = true * predicted + (1.0 - true) * (1.0 - predicted)
    result = pow(1.0 - right, gamma) * _binary(true, predicted, False)
    if apply_class_balancing:
        result = (true * alpha + (1.0 - true) * (1.0 - alpha)) * result
    return reduce_mean(result, axis)


def categorical_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """The cross entropy between true and predicted probabilities (or logits) of classes.

    Args:
        from_logits: whether predictions are logits, not probabilities.
        label_smoothing: the share of the truth that is spread evenly over all classes.
        axis: the axis of the classes.

    >>> categorical_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    array([0.6931472], dtype=float32)
    """
    true, predicted = _smoothed(y_true, y_pred, label_smoothing)
    if from_logits:
        return softmax_cross_entropy_with_logits(true, predicted, axis)
    p = _clipped(predicted / reduce_sum(predicted, axis, keepdims=True))
    return -reduce_sum(true * log(p), axis)


def categorical_focal_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """`categorical_crossentropy` where easy samples count less: times alpha * (1 - probability) ** gamma.

    `from_logits`, `label_smoothing` and `axis` are those of `categorical_crossentropy`.

    >>> categorical_focal_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    array([0.0433217], dtype=float32)
    """
    true, predicted = _smoothed(y_true, y_pred, label_smoothing)
    if from_logits:
        predicted = softmax(predicted, axis)
    p = _clipped(predicted / reduce_sum(predicted, axis, keepdims=True))
    return -reduce_sum(alpha * pow(1.0 - p, gamma) * true * log(p), axis)


def sparse_categorical_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    from_logits: bool = False,
    ignore_class: int | None = None,
    axis: int = -1,
) -> Tensor:
    """The cross entropy between the true classes, as integers, and predicted probabilities (or logits) of all.

    Args:
        from_logits: whether predictions are logits, not probabilities.
        ignore_class: a class whose samples give 0.
        axis: the axis of the classes.

    >>> sparse_categorical_crossentropy([1], [[0.25, 0.75]]).numpy()
    array([0.28768212], dtype=float32)
    """
    predicted = convert_to_tensor(y_pred)
    true = cast(y_true, "int64")
    at = one_axis("sparse_categorical_crossentropy", axis, predicted.ndim)
    if true.ndim == predicted.ndim and true._array.shape[axis] == 1:
        true = squeeze(true, axis)
    if at != -1:
        order = [i for i in range(-predicted.ndim, 0) if i != at]
        predicted = transpose(predicted, [*order, at])
    if not from_logits:
        predicted = log(_clipped(predicted))
    if ignore_class is None:
        return sparse_softmax_cross_entropy_with_logits(true, predicted)
    valid = not_equal(true, ignore_class)
    result = sparse_softmax_cross_entropy_with_logits(where(valid, true, zeros_like(true)), predicted)
    return where(valid, result, zeros_like(result))


def dice(y_true: TensorLike, y_pred: TensorLike, axis: Axes = None) -> Tensor:
    """1 - twice the overlap of truth and prediction over the sum of both, along `axis` or all axes.

    >>> float(dice([[1.0, 0.0]], [[1.0, 0.0]]))
    0.0
    """
    true, predicted = as_floats(y_true, y_pred)
    both = reduce_sum(true, axis) + reduce_sum(predicted, axis)
    return 1.0 - 2.0 * reduce_sum(true * predicted, axis) / (both + EPSILON)


def tversky(
    y_true: TensorLike, y_pred: TensorLike, alpha: float = 0.5, beta: float = 0.5, axis: Axes = None
) -> Tensor:
    """1 - the overlap over itself plus `alpha` times what was missed plus `beta` times what was wrongly found.

    `axis` is what the sums are taken over; all axes by default.

    >>> round(float(tversky([[1.0, 0.0]], [[1.0, 0.0]])), 4)
    0.0
    """
    true, predicted = as_floats(y_true, y_pred)
    overlap = reduce_sum(true * predicted, axis)
    missed = reduce_sum(true * (1.0 - predicted), axis)
    wrong = reduce_sum((1.0 - true) * predicted, axis)
    return 1.0 - overlap / (overlap + missed * alpha + wrong * beta + EPSILON)


MSE = mse = mean_squared_error
MAE = mae = mean_absolute_error
MAPE = mape = mean_absolute_percentage_error
MSLE = msle = mean_squared_logarithmic_error
KLD = kld = kullback_leibler_divergence = kl_divergence
logcosh = log_cosh
