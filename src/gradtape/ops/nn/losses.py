"""Losses: logistic, squared, Poisson, and those over a sample of the classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dtypes import HALF
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, apply1, apply2, floats, local, ordered, primitive, real_floats, rounded
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import is_traced, xp
from ..array.movement import cast, concat, gather, reshape, together
from ..linalg.products import matmul
from ..math.elementwise import (
    divide_no_nan,
    exp,
    log,
    multiply,
    negative,
    select,
    sigmoid,
    softplus,
    square,
    zero_like,
)
from ..math.reduction import reduce_sum
from ..scalars import integer
from .candidates import accidental_hits, log_uniform_candidate_sampler
from .embedding import as_table
from .softmax import softmax_cross_entropy_with_logits


@primitive(
    elementwise=True,
    check_dtype=floats,
    formula="d loss = (sigmoid(logits) - labels) dlogits",
    words="The logits get the probability minus the label, times the gradient.",
)
def sigmoid_cross_entropy(logits, labels):
    """max(x, 0) - x * z + log(1 + exp(-|x|)): no overflow at either end."""
    m = xp(logits)
    return m.maximum(logits, zero_like(logits)) - logits * labels + m.log1p(m.exp(-m.abs(logits)))


sigmoid_cross_entropy.rules(
    logits=lambda g, logits, labels: g * (sigmoid(logits) - labels),
    labels=lambda g, logits: -g * logits,
)


def _same_shape(name: str, first: str, a: TensorLike, second: str, b: TensorLike) -> tuple[Tensor, Tensor]:
    """Two arguments as tensors, which must have one shape."""
    x, y = together(name, [a, b])
    if x._array.shape != y._array.shape:
        raise InvalidArgumentError(
            f"{name}: {first} and {second} must have the same shape, not {list(x._array.shape)} and "
            f"{list(y._array.shape)}"
        )
    return x, y


def sigmoid_cross_entropy_with_logits(
    labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """The cross entropy between `labels`, each the probability of a yes, and sigmoid(logits).

    Raises:
        InvalidArgumentError: if labels and logits differ in shape.
        ValueError: if one of them is missing.

    >>> sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=[0.0, 0.0]).numpy()
    array([0.6931472, 0.6931472], dtype=float32)
    """
    if labels is None or logits is None:
        raise ValueError("sigmoid_cross_entropy_with_logits: give both labels and logits")
    x, target = _same_shape("sigmoid_cross_entropy_with_logits", "logits", logits, "labels", labels)
    return ordered(sigmoid_cross_entropy, apply2(sigmoid_cross_entropy, x, target))


def weighted_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Tensor:
    """`sigmoid_cross_entropy_with_logits` of `labels` and `logits` where a missed yes counts `pos_weight` times.

    Raises:
        InvalidArgumentError: if labels and logits differ in shape.

    >>> weighted_cross_entropy_with_logits([1.0, 0.0], [0.0, 0.0], 2.0).numpy()
    array([1.3862944, 0.6931472], dtype=float32)
    """
    x, target = _same_shape("weighted_cross_entropy_with_logits", "logits", logits, "labels", labels)
    missed = apply(softplus, (apply(negative, (x,)),))
    weight = convert(pos_weight, None, x._array.dtype)
    return (1 - target) * x + (1 + (weight - 1) * target) * missed


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Half the sum of the squares.

    >>> float(l2_loss([3.0, 4.0]))
    12.5
    """
    x = convert(t)
    real_floats(square, [x._array], None)
    if x._array.dtype.char in HALF:
        return rounded(l2_loss, x)
    return apply2(multiply, reduce_sum(apply1(square, x)), 0.5)


def log_poisson_loss(
    targets: TensorLike, log_input: TensorLike, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """exp(c) - z * c for counts z, the `targets`, and predicted logarithms c of their means, the `log_input`.

    `compute_full_loss` adds Stirling's approximation of log(z!), which is 0 up to z = 1.

    Raises:
        InvalidArgumentError: if the two differ in shape.

    >>> log_poisson_loss([2.0], [0.0]).numpy()
    array([1.], dtype=float32)
    """
    c, z = _same_shape("log_poisson_loss", "log_input", log_input, "targets", targets)
    loss: Tensor = apply(exp, (c,)) - c * z
    if not compute_full_loss:
        return loss
    # 1 stands in where the approximation is not taken, so that no infinity meets its gradient.
    small = (z._array >= 0) & (z._array <= 1)
    safe = apply(select, (small, np.ones((), z._array.dtype), z))
    stirling = safe * apply(log, (safe,)) - safe + apply(log, (safe * (2 * math.pi),)) * 0.5
    return loss + apply(select, (small, np.zeros((), z._array.dtype), stirling))


def compute_average_loss(
    per_example_loss: TensorLike,
    sample_weight: TensorLike | None = None,
    global_batch_size: TensorLike | None = None,
) -> Tensor:
    """The sum of the (weighted) losses over the batch size.

    Args:
        per_example_loss: the losses, with a first axis for the examples.
        sample_weight: weights, one for each loss or for each example.
        global_batch_size: by default the number of examples times that of replicas.

    Raises:
        RuntimeError: in the scope of a strategy, outside of its replicas.
        InvalidArgumentError: if there is no axis for the examples, or the batch size is no integer of at least 0.

    >>> float(compute_average_loss([1.0, 2.0, 3.0], global_batch_size=6))
    1.0
    """
    replicas = _replicas("compute_average_loss")
    losses = convert(per_example_loss)
    if losses._array.dtype.char in HALF:
        given = {"sample_weight": sample_weight, "global_batch_size": global_batch_size}
        return rounded(compute_average_loss, losses, **given)
    if losses.ndim == 0:
        raise InvalidArgumentError(
            "compute_average_loss: per_example_loss must have an axis for the examples, and a scalar has none"
        )
    default = losses._array.shape[0] * replicas
    size = convert(default if global_batch_size is None else global_batch_size)._array
    if size.ndim or size.dtype.kind not in "iu" or (not is_traced(size) and size < 0):
        raise InvalidArgumentError(
            f"compute_average_loss: global_batch_size must be an integer of at least 0, not {global_batch_size!r}"
        )
    if sample_weight is not None:
        losses = losses * _weights_for(losses, sample_weight)
    return apply2(divide_no_nan, reduce_sum(losses), size.astype(losses._array.dtype))


def _weights_for(losses: Tensor, sample_weight: TensorLike) -> Tensor:
    """The weights, with axes of length 1 for the last axes of the losses that they lack."""
    weights = cast(convert(sample_weight, None, losses._array.dtype), losses.dtype)
    missing = losses.ndim - weights.ndim
    if weights.ndim and weights._array.shape != losses._array.shape and missing > 0:
        weights = reshape(weights, (*weights._array.shape, *[1] * missing))
    return weights


def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """The sum of `regularization_loss` over the number of replicas: added up over these, it counts once.

    Raises:
        RuntimeError: in the scope of a strategy, outside of its replicas.

    >>> float(scale_regularization_loss([1.0, 2.0]))
    3.0
    """
    replicas = _replicas("scale_regularization_loss")
    total: Tensor = reduce_sum(regularization_loss)
    return total if replicas == 1 else total / replicas


def _replicas(name: str) -> int:
    """The number of replicas of which one runs here."""
    here = local.here
    if here.across:
        raise RuntimeError(
            f"{name} is for one replica, and this is code across replicas: call it in the function that Strategy.run "
            "runs"
        )
    return 1 if here.replica is None else int(here.replica.num_replicas_in_sync)


# ---------------------------------------------------------------------------------------------------------------------
# Losses over a sample of the classes


def _sampled_logits(
    name: str,
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Sequence[TensorLike] | None,
    remove_accidental_hits: bool,
    seed: int | None,
) -> tuple[Tensor, Any]:
    """The logits of the true and of the sampled classes, less the log of how often each is drawn; and the labels."""
    x = convert(inputs)
    true = convert(labels)
    num_true = integer(name, "num_true", num_true)
    if true._array.dtype.kind not in "iu":
        raise DTypeError(f"{name}: labels must be integers, not {true.dtype.name}")
    batch = x._array.shape[0] if x.ndim == 2 else -1
    if true._array.shape != (batch, num_true):
        raise InvalidArgumentError(
            f"{name}: inputs must be a matrix and labels have {num_true} numbers for each of its rows, not the shapes "
            f"{list(x._array.shape)} and {list(true._array.shape)}"
        )
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(true, num_true, num_sampled, True, num_classes, seed)
    if not isinstance(sampled_values, (list, tuple)) or len(sampled_values) != 3:
        raise InvalidArgumentError(f"{name}: sampled_values must be the three tensors of a candidate sampler")
    drawn, true_count, drawn_count = (convert(value)._array for value in sampled_values)
    ids = xp(true._array, drawn).concatenate([true._array.reshape(-1), drawn]).astype(np.int64)
    rows = cast(gather(as_table(weights), ids), x.dtype)
    shifts = cast(gather(as_table(biases), ids), x.dtype)
    cut = batch * num_true
    true_rows = reshape(rows[:cut], (batch, num_true, x._array.shape[1]))
    true_logits = reduce_sum(reshape(x, (batch, 1, -1)) * true_rows, 2) + reshape(
        shifts[:cut], (batch, num_true)
    )
    logits = matmul(x, rows[cut:], transpose_b=True) + shifts[cut:]
    if remove_accidental_hits:
        logits = logits + accidental_hits(true._array, drawn, x._array.dtype)
    kind = x._array.dtype
    true_logits = true_logits - apply(log, (true_count.astype(kind),))
    logits = concat([true_logits, logits - apply(log, (drawn_count.astype(kind),))], 1)
    wanted = np.zeros(logits._array.shape, kind)
    wanted[:, :num_true] = 1 / num_true
    return logits, wanted


def nce_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[TensorLike] | None = None,
    remove_accidental_hits: bool = False,
    name: str | None = "nce_loss",
) -> Tensor:
    """Noise-contrastive estimation: for each row of `inputs` the true classes against some drawn at random.

    Args:
        weights: (classes, width), those of a dense layer; a list of tensors is one table, cut into parts.
        biases: (classes), of the same layer.
        labels: (batch, num_true), the true classes.
        inputs: (batch, width).
        num_sampled: how many classes are drawn for the whole batch.
        num_classes: how many classes there are.
        sampled_values: the result of a candidate sampler; by default of `log_uniform_candidate_sampler`.
        remove_accidental_hits: whether true classes among the drawn ones do not count as wrong.

    Raises:
        DTypeError: if labels are not integers.
        InvalidArgumentError: if the shapes do not match.

    >>> import gradtape as tf
    >>> nce_loss(tf.zeros((9, 2)), tf.zeros(9), [[1], [2]], tf.ones((2, 2)), 3, 9).shape
    TensorShape([2])
    """
    logits, wanted = _sampled_logits(
        "nce_loss", weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, None,
    )  # fmt: skip
    return reduce_sum(apply(sigmoid_cross_entropy, (logits, wanted)), 1)


def sampled_softmax_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[TensorLike] | None = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
    name: str | None = "sampled_softmax_loss",
) -> Tensor:
    """The softmax cross entropy over the true classes and some drawn at random.

    `weights`, `biases`, `labels`, `inputs`, `num_sampled`, `num_classes`, `num_true`, `sampled_values` and
    `remove_accidental_hits` are those of `nce_loss`; `seed` is that of the draws.

    >>> import gradtape as tf
    >>> sampled_softmax_loss(tf.zeros((9, 2)), tf.zeros(9), [[1], [2]], tf.ones((2, 2)), 3, 9).shape
    TensorShape([2])
    """
    logits, wanted = _sampled_logits(
        "sampled_softmax_loss", weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, seed,
    )  # fmt: skip
    return softmax_cross_entropy_with_logits(wanted, logits)
