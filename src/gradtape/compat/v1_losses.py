"""`compat.v1.losses`: TensorFlow 1's losses, weighted and reduced to one number. There are no collections of losses."""

from __future__ import annotations

from typing import Any

import gradtape as tf

from ..core.errors import InvalidArgumentError
from ..core.tensor import Tensor
from ..core.types import TensorLike
from ..ops.scalars import choice


class Reduction:
    """How the losses of a batch become one number."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All ways."""
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS)

    @classmethod
    def validate(cls, key: str) -> None:
        """Raise ValueError unless `key` is one of them."""
        if key not in cls.all():
            raise ValueError(f"Reduction: {key!r} is none of {', '.join(cls.all())}")


_BY_WEIGHTS = Reduction.SUM_BY_NONZERO_WEIGHTS


def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = None,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """Losses times weights, reduced; by default the sum divided by the number of weights that are not 0.

    >>> float(compute_weighted_loss([1.0, 2.0, 6.0], [1.0, 1.0, 0.0]))
    1.5
    """
    choice("compute_weighted_loss", "reduction", reduction, Reduction.all())
    values = tf.convert_to_tensor(losses)
    wide, scale = tf.cast(values, "float32"), tf.cast(weights, "float32")
    lengths = scale.shape.as_list()
    if scale.ndim not in (0, wide.ndim) or any(
        n not in (1, m) for n, m in zip(lengths, wide.shape.as_list(), strict=False)
    ):
        raise InvalidArgumentError(
            f"compute_weighted_loss: weights of shape {lengths} do not fit losses of shape {list(wide.shape)}"
        )
    weighted = wide * scale
    if reduction == Reduction.NONE:
        return tf.cast(weighted, values.dtype)
    total = tf.reduce_sum(weighted)
    every = tf.broadcast_to(scale, wide.shape)
    if reduction == Reduction.MEAN:
        total = tf.math.divide_no_nan(total, tf.reduce_sum(every))
    elif reduction == _BY_WEIGHTS:
        present = tf.reduce_sum(tf.cast(tf.not_equal(every, 0), wide.dtype))
        total = tf.math.divide_no_nan(total, present)
    elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
        total = tf.math.divide_no_nan(total, tf.cast(tf.size(wide), wide.dtype))
    return tf.cast(total, values.dtype)


def _floats(labels: TensorLike, predictions: TensorLike, kind: Any = "float32") -> tuple[Tensor, Tensor]:
    guess = tf.cast(predictions, kind)
    truth = tf.cast(labels, kind)
    if truth.shape != guess.shape:
        raise ValueError(
            f"losses: labels of shape {truth.shape} and predictions of shape {guess.shape} differ"
        )
    return truth, guess


def absolute_difference(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = None,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """The absolute difference.

    >>> float(absolute_difference([1.0, 2.0], [1.0, 4.0]))
    1.0
    """
    truth, guess = _floats(labels, predictions)
    return compute_weighted_loss(tf.abs(guess - truth), weights, reduction=reduction)


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = None,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """The squared difference.

    >>> float(mean_squared_error([1.0, 2.0], [1.0, 4.0]))
    2.0
    """
    truth, guess = _floats(labels, predictions)
    return compute_weighted_loss(tf.math.squared_difference(guess, truth), weights, reduction=reduction)


def huber_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = None,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """Half the squared difference up to `delta`, linear above.

    >>> float(huber_loss([0.0, 0.0], [1.0, 3.0]))
    1.5
    """
    truth, guess = _floats(labels, predictions)
    apart = tf.abs(guess - truth)
    near = tf.minimum(apart, delta)
    return compute_weighted_loss(0.5 * near * near + delta * (apart - near), weights, reduction=reduction)


def log_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = None,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """The cross entropy of probabilities, to which `epsilon` is added.

    >>> round(float(log_loss([1.0], [0.5])), 4)
    0.6931
    """
    truth, guess = _floats(labels, predictions)
    found = -truth * tf.math.log(guess + epsilon) - (1 - truth) * tf.math.log(1 - guess + epsilon)
    return compute_weighted_loss(found, weights, reduction=reduction)


def hinge_loss(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = None,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """max(0, 1 - logits), with the sign changed where the label, 0 or 1, is 0.

    >>> float(hinge_loss([1.0, 0.0], [0.5, -3.0]))
    0.25
    """
    truth, guess = _floats(labels, logits)
    return compute_weighted_loss(tf.nn.relu(1 - (2 * truth - 1) * guess), weights, reduction=reduction)


def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = None,
    reduction: str = _BY_WEIGHTS,
    dim: int | None = None,
) -> Tensor:
    """1 less the product of vectors, which should have the length 1, along an axis.

    >>> float(cosine_distance([[1.0, 0.0]], [[0.0, 1.0]], axis=1))
    1.0
    """
    along = dim if axis is None else axis
    if along is None:
        raise ValueError("compat.v1.losses.cosine_distance: give the axis")
    truth, guess = _floats(labels, predictions)
    found = 1 - tf.reduce_sum(truth * guess, along, keepdims=True)
    return compute_weighted_loss(found, weights, reduction=reduction)


def sigmoid_cross_entropy(
    multi_class_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = None,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """`tf.nn.sigmoid_cross_entropy_with_logits`; `label_smoothing` moves labels towards 1/2.

    >>> round(float(sigmoid_cross_entropy([1.0], [0.0])), 4)
    0.6931
    """
    truth, guess = _floats(multi_class_labels, logits, tf.convert_to_tensor(logits).dtype)
    if label_smoothing > 0:
        truth = truth * (1 - label_smoothing) + 0.5 * label_smoothing
    found = tf.nn.sigmoid_cross_entropy_with_logits(truth, guess)
    return compute_weighted_loss(found, weights, reduction=reduction)


def softmax_cross_entropy(
    onehot_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = None,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """`tf.nn.softmax_cross_entropy_with_logits`; `label_smoothing` moves labels towards equal ones.

    >>> round(float(softmax_cross_entropy([[1.0, 0.0]], [[0.0, 0.0]])), 4)
    0.6931
    """
    truth, guess = _floats(onehot_labels, logits, tf.convert_to_tensor(logits).dtype)
    if label_smoothing > 0:
        truth = truth * (1 - label_smoothing) + label_smoothing / guess.shape[-1]
    found = tf.nn.softmax_cross_entropy_with_logits(tf.stop_gradient(truth), guess)
    return compute_weighted_loss(found, weights, reduction=reduction)


def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = None,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """`tf.nn.sparse_softmax_cross_entropy_with_logits`.

    >>> round(float(sparse_softmax_cross_entropy([0], [[0.0, 0.0]])), 4)
    0.6931
    """
    found = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return compute_weighted_loss(found, weights, reduction=reduction)


def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = None,
) -> Tensor:
    """The mean, over all pairs of elements of a sample, of the squared error of their difference; summed over samples.

    >>> round(float(mean_pairwise_squared_error([[0.0, 1.0]], [[0.0, 3.0]])), 4)
    4.0
    """
    truth, guess = _floats(labels, predictions)
    error, scale = guess - truth, tf.cast(weights, "float32")
    axes = list(range(1, error.ndim))
    if scale.ndim == 1 and error.ndim > 1:
        scale = tf.reshape(scale, [-1] + [1] * len(axes))
    used = tf.cast(tf.not_equal(tf.broadcast_to(scale, error.shape), 0), "float32")
    n = tf.reduce_sum(used, axes, keepdims=True)
    # The mean over i != j of (e_i - e_j)^2 is 2 (sum e^2 / (n - 1) - (sum e)^2 / (n (n - 1))).
    squares = tf.reduce_sum(error * error, axes, keepdims=True)
    total = tf.reduce_sum(error, axes, keepdims=True)
    pairs = tf.math.divide_no_nan(squares, tf.maximum(n - 1, 0.0)) - tf.math.divide_no_nan(
        total * total, tf.maximum(n * (n - 1), 0.0)
    )
    return tf.reduce_sum(2.0 * pairs * scale)


LOSSES: dict[str, Any] = {
    "losses.Reduction": Reduction,
    **{
        f"losses.{function.__name__}": function
        for function in (
            absolute_difference, compute_weighted_loss, cosine_distance, hinge_loss, huber_loss, log_loss,
            mean_pairwise_squared_error, mean_squared_error, sigmoid_cross_entropy, softmax_cross_entropy,
            sparse_softmax_cross_entropy,
        )
    },
}  # fmt: skip
