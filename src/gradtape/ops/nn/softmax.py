"""Softmax, its logarithm, and the cross entropies of both."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...core.dtypes import HALF
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, apply1, apply2, floats, form_in_pass, primitive, real_floats, rounded
from ...core.slicing import bounds
from ...core.structural import reshape_, sum_, total
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import Axis, TensorLike
from ...engine.arrays import xp
from ..array.movement import broadcast_to, transpose
from ..math.elementwise import exp
from ..math.reduction import largest, one_axis


@primitive(
    wide="rules",
    check_dtype=floats,
    name="softmax",
    flat="it is saturated, or the target sums over all of it, and that sum is always 1",
    formula="d s = s (dx - sum(s dx)), s = softmax(x)",
    words="An element that gains takes from the others, because they add up to 1.",
)
def softmax_(x, *, axis):
    if x.dtype.char in HALF:
        return rounded(softmax_.forward, x, axis=axis)
    if type(x) is np.ndarray and x.size >= 4096 and x.dtype.char in "fd":
        weights = exp.forward(x)
        sums = total(weights, axis, True)
        if np.minimum.reduce(sums, None) >= 1 and np.maximum.reduce(sums, None) < np.inf:
            # In range without subtracting the largest from x first, which costs time and digits.
            weights /= sums
            return weights
    weights = xp(x).exp(x - largest(x, axis))
    return weights / total(weights, axis, True)


def softmax_rule(g: Any, out: Any, axis: int) -> Any:
    """d softmax = s * (dx - sum(s * dx)), its own transpose."""
    if axis == -1 and type(g) is type(out) is np.ndarray and g.dtype.char in "fd" and g.flags.c_contiguous:
        pulled = g - np.vecdot(g, out)[..., None]  # allocates one array less than a product and its sum
        pulled *= out
        return pulled
    return out * (g - sum_(g * out, axis=(axis,), keepdims=True))


softmax_.rules(x=softmax_rule)


@primitive(
    wide="rules", check_dtype=floats, name="log_softmax", formula="d log s = dx - sum(s dx), s = softmax(x)"
)
def log_softmax_(x, *, axis):
    if x.dtype.char in HALF:
        return rounded(log_softmax_.forward, x, axis=axis)
    centred = x - largest(x, axis)
    return centred - xp(x).log(total(xp(x).exp(centred), axis, True))


log_softmax_.rules(x=lambda g, out, axis: g - exp(out) * sum_(g, axis=(axis,), keepdims=True))


@primitive(
    wide=True,
    formula="d loss = sum((softmax(logits) - labels) dlogits)",
    words="The logits get the probabilities minus the labels, times the gradient.",
)
def softmax_cross_entropy(logits, labels):
    """-sum(labels * log_softmax(logits)) over the last axis."""
    return -total(labels * log_softmax_.forward(logits, axis=-1), -1, False)


def _column(g: Any) -> Any:
    """The gradient of one number a row, as a column that broadcasts over the row."""
    return reshape_(g, shape=(*g.shape, 1))


softmax_cross_entropy.rules(
    logits=lambda g, logits, labels: (
        _column(g) * (softmax_(logits, axis=-1) * sum_(labels, axis=(-1,), keepdims=True) - labels)
    ),
    labels=lambda g, logits: -(_column(g) * log_softmax_(logits, axis=-1)),
)


@primitive(
    wide="rules",
    mixed=True,
    multiple=True,
    formula="d loss = sum((softmax(logits) - one_hot(label)) dlogits)",
    words="The logits get the probabilities, minus 1 at the label, times the gradient.",
)
def sparse_softmax_cross_entropy(logits, labels):
    """-log_softmax(logits)[label] for each row; and softmax(logits), which the rule needs."""
    if logits.dtype.char in HALF:
        return rounded(sparse_softmax_cross_entropy.forward, logits, labels)
    m = xp(logits, labels)
    centred = logits - largest(logits, -1)
    weights = m.exp(centred)
    whole = total(weights, -1, True)
    if m is np:  # 1 us for a small batch, where take_along_axis takes 13
        picked = centred.take(_flat_indices(logits.shape, labels))
    else:
        picked = m.take_along_axis(centred, labels[..., None], -1)[..., 0]
    return m.log(whole[..., 0]) - picked, weights / whole


def _flat_indices(shape: tuple[int, ...], labels: Any) -> Any:
    """The index of each row's label in the flattened array of this shape."""
    return _row_starts(shape) + (labels if labels.dtype.kind == "i" else labels.astype(np.int64))


@functools.lru_cache(maxsize=256)
def _row_starts(shape: tuple[int, ...]) -> Any:
    return (np.arange(math.prod(shape[:-1])) * shape[-1]).reshape(shape[:-1])


@primitive(mixed=True)
def less_one_hot(x, labels):
    """`x`, less 1 at each row's label."""
    if type(labels) is np.ndarray and x.shape[-1] <= 64:
        return x - _identity_matrix(x.shape[-1], x.dtype).take(labels, 0)
    return x - (labels[..., None] == xp(labels).arange(x.shape[-1], dtype=labels.dtype)).astype(x.dtype)


@functools.lru_cache(maxsize=64)
def _identity_matrix(count: int, dtype: Any) -> Any:
    return np.eye(count, dtype=dtype)


less_one_hot.rules(x=lambda g: g)


def _logits_gradient(gs: Any, softmax: Any, labels: Any) -> Any:
    """The gradient by the logits, from that of the loss and (in higher orders) of the softmax, the second output."""
    of_loss, of_softmax = gs
    if of_softmax is None:
        return _column(of_loss) * less_one_hot(softmax, labels)
    pulled = softmax_rule(of_softmax, softmax, -1)
    return pulled if of_loss is None else pulled + _column(of_loss) * less_one_hot(softmax, labels)


sparse_softmax_cross_entropy.rules(logits=lambda gs, out, labels: _logits_gradient(gs, out[1], labels))

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def softmax(logits: TensorLike, axis: Axis | None = None, name: str | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `axis` (the last by default), without overflow.

    >>> softmax([0.0, 0.0]).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    x = convert(logits)
    real_floats(softmax_, [x._array], None)
    return apply1(softmax_, x, {"axis": one_axis("softmax", -1 if axis is None else axis, x._array.ndim)})


def log_softmax(logits: TensorLike, axis: Axis | None = None, name: str | None = None) -> Tensor:
    """The logarithm of softmax along `axis` (the last by default), computed as x - log(sum(exp(x))).

    >>> log_softmax([0.0, 0.0]).numpy()
    array([-0.6931472, -0.6931472], dtype=float32)
    """
    x = convert(logits)
    real_floats(log_softmax_, [x._array], None)
    a = one_axis("log_softmax", -1 if axis is None else axis, x._array.ndim)
    return apply1(log_softmax_, x, {"axis": a})


def softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, axis: int = -1, name: str | None = None
) -> Tensor:
    """The cross entropy between `labels`, a distribution along `axis`, and softmax(logits).

    Raises:
        InvalidArgumentError: if the shapes of labels and logits do not broadcast.

    >>> softmax_cross_entropy_with_logits([[1.0, 0.0]], [[0.0, 0.0]]).numpy()
    array([0.6931472], dtype=float32)
    """
    x = convert(logits)
    real_floats(softmax_cross_entropy, [x._array], None)
    target = convert(labels, None, x._array.dtype)
    if x._array.shape != target._array.shape:
        x, target = _broadcast(x, target)
    a = one_axis("softmax_cross_entropy_with_logits", axis, x.ndim)
    if a != -1:
        x, target = _with_last(x, a), _with_last(target, a)
    return apply2(softmax_cross_entropy, x, target)


def _broadcast(x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    try:
        shape = np.broadcast_shapes(x._array.shape, target._array.shape)
    except ValueError:
        raise InvalidArgumentError(
            f"softmax_cross_entropy_with_logits: labels of shape {list(target._array.shape)} and logits of shape "
            f"{list(x._array.shape)} must have the same shape"
        ) from None
    return broadcast_to(x, shape), broadcast_to(target, shape)


def _with_last(x: Tensor, axis: int) -> Tensor:
    """x with an axis, counted from the end, moved to the end."""
    order = list(range(x.ndim))
    order.append(order.pop(axis + x.ndim))
    return transpose(x, order)


def sparse_softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """The cross entropy between `labels`, one class number a row, and softmax(logits) along the last axis.

    Raises:
        DTypeError: if labels are not integers.
        InvalidArgumentError: if the shape of labels is not that of logits without the last axis, or there is no such
            class.

    >>> sparse_softmax_cross_entropy_with_logits([0], [[0.0, 0.0]]).numpy()
    array([0.6931472], dtype=float32)
    """
    x = logits if type(logits) is Tensor else convert(logits)
    form = form_in_pass(x)
    if form.dtype.kind != "f":
        real_floats(sparse_softmax_cross_entropy, [x._array], None)
    classes = labels if type(labels) is Tensor else convert(labels)
    shape = form.shape
    if classes._array.dtype.kind not in "iu":
        raise DTypeError(
            f"sparse_softmax_cross_entropy_with_logits: labels must be integers, not {classes.dtype.name}"
        )
    if not shape or classes._array.shape != shape[:-1]:
        raise InvalidArgumentError(
            f"sparse_softmax_cross_entropy_with_logits: labels of shape {list(classes._array.shape)} must have "
            f"the shape of the logits, {list(shape)}, without its last axis"
        )
    bounds("sparse_softmax_cross_entropy_with_logits", classes._array, shape[-1])
    return apply(sparse_softmax_cross_entropy, (x, classes))[0]
