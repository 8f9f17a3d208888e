"""Accuracies: shares of right predictions. As functions, 1 for each right sample and 0 for each wrong one."""

from __future__ import annotations

from ..core.tensor import Tensor
from ..core.tensor_conversion import convert_to_tensor
from ..core.types import DTypeLike, TensorLike
from ..losses.per_sample import match_ranks
from ..ops.array.movement import cast, expand_dims, reshape, squeeze
from ..ops.math.functions import equal, greater
from ..ops.math.reduction import argmax, reduce_any
from ..ops.math.sorting import in_top_k
from .metric import FunctionMean


def accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """1 where prediction and truth are equal, else 0.

    >>> accuracy([1, 2], [1, 3]).numpy()
    array([1., 0.], dtype=float32)
    """
    predicted = convert_to_tensor(y_pred)
    true, predicted = match_ranks(cast(y_true, predicted.dtype), predicted)
    return cast(equal(true, predicted), "float32")


def binary_accuracy(y_true: TensorLike, y_pred: TensorLike, threshold: float = 0.5) -> Tensor:
    """1 where the prediction lies on the truth's side of `threshold`, else 0.

    >>> binary_accuracy([1.0, 0.0], [0.7, 0.7]).numpy()
    array([1., 0.], dtype=float32)
    """
    true, predicted = match_ranks(convert_to_tensor(y_true), convert_to_tensor(y_pred))
    yes = greater(predicted, cast(threshold, predicted.dtype))
    return cast(equal(true, cast(yes, true.dtype)), "float32")


def categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """1 where the largest prediction is that for the true class, which is the largest of `y_true`, else 0.

    >>> categorical_accuracy([[0.0, 1.0], [1.0, 0.0]], [[0.4, 0.6], [0.4, 0.6]]).numpy()
    array([1., 0.], dtype=float32)
    """
    return cast(equal(argmax(y_true, -1), argmax(y_pred, -1)), "float32")


def sparse_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """1 where the largest prediction is that for the true class, an integer, else 0.

    >>> sparse_categorical_accuracy([1, 0], [[0.4, 0.6], [0.4, 0.6]]).numpy()
    array([1., 0.], dtype=float32)
    """
    predicted, true = convert_to_tensor(y_pred), cast(y_true, "int64")
    found = argmax(predicted, -1)
    if true.ndim == predicted.ndim and true._array.shape[-1] == 1:
        true = squeeze(true, -1)
    return cast(equal(true, found), "float32")


def top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """1 where the true class, the largest of `y_true`, is among the `k` largest predictions, else 0.

    >>> top_k_categorical_accuracy([[0.0, 0.0, 1.0]], [[0.5, 0.3, 0.2]], k=2).numpy()
    array([0.], dtype=float32)
    """
    return sparse_top_k_categorical_accuracy(argmax(y_true, -1), y_pred, k)


def sparse_top_k_categorical_accuracy(
    y_true: TensorLike, y_pred: TensorLike, k: int = 5, from_sorted_ids: bool = False
) -> Tensor:
    """1 where the true class, an integer, is among the `k` largest predictions, else 0.

    With `from_sorted_ids` the predictions are classes, the most likely first.

    Raises:
        ValueError: if the predictions have no axis of classes.

    >>> sparse_top_k_categorical_accuracy([1], [[0.5, 0.3, 0.2]], k=2).numpy()
    array([1.], dtype=float32)
    """
    predicted = convert_to_tensor(y_pred)
    true = cast(y_true, predicted.dtype if from_sorted_ids else "int64")
    if not predicted.ndim:
        raise ValueError(
            f"sparse_top_k_categorical_accuracy: y_pred must have an axis of classes, unlike {y_pred!r}"
        )
    rows = reshape(predicted, [-1, predicted._array.shape[-1]])
    flat = reshape(true, [-1])
    if from_sorted_ids:
        found = reduce_any(equal(expand_dims(flat, 1), rows[:, :k]), 1)
    else:
        found = in_top_k(flat, cast(rows, "float32"), k)
    return reshape(cast(found, "float32"), true.shape)


class Accuracy(FunctionMean):
    """The share of samples whose prediction and truth are equal.

    >>> float(Accuracy()([1, 2], [1, 3]))
    0.5
    """

    _function = accuracy


class BinaryAccuracy(FunctionMean):
    """The share of predictions that lie on the truth's side of `threshold`.

    >>> float(BinaryAccuracy()([1.0, 0.0], [0.7, 0.7]))
    0.5
    """

    _function = binary_accuracy

    def __init__(
        self, name: str | None = "binary_accuracy", dtype: DTypeLike | None = None, threshold: float = 0.5
    ) -> None:
        super().__init__(name, dtype)
        self._fn_kwargs = {"threshold": threshold}


class CategoricalAccuracy(FunctionMean):
    """The share of samples whose largest prediction is that for the true class, given as the largest of `y_true`.

    >>> float(CategoricalAccuracy()([[0.0, 1.0], [1.0, 0.0]], [[0.4, 0.6], [0.4, 0.6]]))
    0.5
    """

    _function = categorical_accuracy


class SparseCategoricalAccuracy(FunctionMean):
    """The share of samples whose largest prediction is that for the true class, given as an integer.

    >>> float(SparseCategoricalAccuracy()([1, 0], [[0.4, 0.6], [0.4, 0.6]]))
    0.5
    """

    _function = sparse_categorical_accuracy


class TopKCategoricalAccuracy(FunctionMean):
    """The share of samples whose true class, the largest of `y_true`, is among the `k` largest predictions.

    >>> float(TopKCategoricalAccuracy(k=2)([[0.0, 0.0, 1.0]], [[0.5, 0.3, 0.2]]))
    0.0
    """

    _function = top_k_categorical_accuracy

    def __init__(
        self, k: int = 5, name: str | None = "top_k_categorical_accuracy", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(name, dtype)
        self._fn_kwargs = {"k": k}


class SparseTopKCategoricalAccuracy(FunctionMean):
    """The share of samples whose true class, an integer, is among the `k` largest predictions.

    With `from_sorted_ids` the predictions are classes, the most likely first.

    >>> float(SparseTopKCategoricalAccuracy(k=2)([1], [[0.5, 0.3, 0.2]]))
    1.0
    """

    _function = sparse_top_k_categorical_accuracy

    def __init__(
        self,
        k: int = 5,
        name: str | None = "sparse_top_k_categorical_accuracy",
        dtype: DTypeLike | None = None,
        from_sorted_ids: bool = False,
    ) -> None:
        super().__init__(name, dtype)
        self._fn_kwargs = {"k": k, "from_sorted_ids": from_sorted_ids}
