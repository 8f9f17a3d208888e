"""Counts: of numbers, of numbers in bins, of pairs of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dtypes import as_dtype
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, primitive
from ...core.slicing import bounds
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, TensorLike
from ...engine.arrays import is_traced, xp
from ..array.movement import cast, reshape, squeeze
from ..known import afford, known, shape_known
from ..scalars import choice, integer
from .segment import count, integers, segment_sum_


@primitive(mixed=True)
def fixed_width_bins(values, low, high, *, nbins, dtype):
    """The index of the one of `nbins` equal bins that each value lies in; those outside lie in the first or last."""
    m = xp(values, low, high)
    position = m.floor((values - low) / (high - low) * nbins)
    return m.clip(position, 0, nbins - 1).astype(dtype)


# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: int | Tensor | None = None,
    maxlength: int | Tensor | None = None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """Count how often each number from 0 on occurs in `arr`, or sum its `weights`, which have gradients.

    Args:
        arr: Integers of at least 0.
        weights: A weight for each of them, instead of 1.
        minlength: The least number of counts; by default as many as the largest number asks for.
        maxlength: The largest number of counts: larger numbers are left out.
        dtype: The dtype of counts without weights.
        axis: None or 0 counts all numbers together, -1 each row by itself.
        binary_output: Give 1 for any count above 0.

    Raises:
        DTypeError: If `arr` does not hold integers.
        InvalidArgumentError: If `arr` holds negative numbers, or `weights` has another shape.
        ValueError: If `weights` and `binary_output` are both given.

    >>> bincount([1, 1, 3]).numpy()
    array([0, 2, 0, 1], dtype=int32)
    """
    choice("bincount", "axis", axis, (None, 0, -1))
    if weights is not None and binary_output:
        raise ValueError("bincount: give weights or binary_output, not both")
    at = convert(arr)._array
    if at.dtype.kind in "cO" or not (is_traced(at) or np.isfinite(at).all()):
        raise DTypeError(f"bincount: arr must hold integers, not {arr!r}")
    at = at.astype(np.int64)  # of uint64, what is beyond becomes negative
    size = _bins(
        at,
        0 if minlength is None else integer("bincount", "minlength", minlength, 0),
        None if maxlength is None else integer("bincount", "maxlength", maxlength, 0),
    )
    rows = at.reshape(-1, at.shape[-1]) if axis == -1 and at.ndim > 1 else at.reshape(1, -1)
    afford("bincount", (len(rows), size), 12)
    inside = (rows >= 0) & (rows < size)
    ids = xp(rows).where(inside, rows + np.arange(len(rows))[:, None] * size, -1).reshape(-1)
    shape = (*at.shape[:-1], size) if axis == -1 and at.ndim > 1 else (size,)
    attributes = {"size": len(rows) * size}
    if weights is not None and convert(weights)._array.size:
        value = convert(weights)
        if value._array.size != at.size:
            raise InvalidArgumentError(
                f"bincount: weights of shape {list(value._array.shape)} must have the shape of arr, {list(at.shape)}"
            )
        total = apply(segment_sum_, (reshape(value, (-1,)), ids), {**attributes, "trailing": 0})
    else:
        kind = as_dtype(dtype) if weights is None else convert(weights).dtype
        total = apply(count, (ids,), {**attributes, "dtype": kind.name})
        total = cast(total > 0, kind) if binary_output else total
    return reshape(total, shape)


def _bins(at: Any, least: int, most: int | None) -> int:
    """The number of counts."""
    if most is None or least < most:
        shape_known("bincount", "arr", at, "give minlength and maxlength, both the number of counts")
    if most is not None and is_traced(at):
        return most
    if at.size and at.min() < 0:
        raise InvalidArgumentError(f"bincount: arr must hold numbers of at least 0, not {at.min()}")
    size = max(int(at.max()) + 1 if at.size else 0, least)
    return size if most is None else min(size, most)


def _range(name: str, values: Any, value_range: Any, nbins: Any) -> tuple[Tensor, Any, int]:
    x = convert(values)
    if x._array.dtype.kind in "bcO":
        raise DTypeError(f"{name}: values must be real numbers, not {x.dtype.name}")
    ends = convert(value_range, None, x._array.dtype)
    if ends._array.shape != (2,) or ends._array.dtype.kind in "bcO":
        raise InvalidArgumentError(
            f"{name}: value_range must be [low, high], not of shape {list(ends._array.shape)}"
        )
    bins = known(name, "nbins", integers(name, "nbins", nbins)._array)
    if bins.ndim or bins < 1:
        raise InvalidArgumentError(f"{name}: nbins must be a number of at least 1, not {bins.tolist()}")
    if not is_traced(ends._array) and not ends._array[0] < ends._array[1]:
        raise InvalidArgumentError(f"{name}: value_range must be [low, high], not {ends._array.tolist()}")
    afford(name, (int(bins),), 12)
    return x, ends._array, int(bins)


def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: int | Tensor = 100,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """The index of the bin that each value lies in: one of `nbins` equal parts of a range.

    Args:
        values: Real numbers. Those outside of the range lie in the first or last bin.
        value_range: The two ends of the range, the lower first.
        nbins: The number of bins.
        dtype: The integer dtype of the result.

    Raises:
        DTypeError: If `values` are no real numbers.
        InvalidArgumentError: If `value_range` is no range, or `nbins` is less than 1.

    >>> histogram_fixed_width_bins([-1.0, 0.0, 1.5, 15.0], [0.0, 5.0], nbins=5).numpy()
    array([0, 0, 1, 4], dtype=int32)
    """
    x, (low, high), bins = _range("histogram_fixed_width_bins", values, value_range, nbins)
    kind = as_dtype(dtype).name
    return apply(fixed_width_bins, (x, low, high), {"nbins": bins, "dtype": kind})


def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: int | Tensor = 100,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """The number of values in each of `nbins` equal parts of a range.

    Arguments and errors are those of `histogram_fixed_width_bins`; nan is an error as well.

    Args:
        value_range: the ends of the first and of the last bin.

    >>> histogram_fixed_width([-1.0, 0.0, 1.5, 15.0], [0.0, 5.0], nbins=5).numpy()
    array([2, 1, 0, 0, 1], dtype=int32)
    """
    x, (low, high), bins = _range("histogram_fixed_width", values, value_range, nbins)
    kind = as_dtype(dtype)
    if not kind.is_integer:
        raise DTypeError(f"histogram_fixed_width: dtype must be int32 or int64, not {kind.name}")
    array = x._array
    if array.dtype.kind == "f" and not is_traced(array) and np.isnan(array).any():
        raise InvalidArgumentError("histogram_fixed_width: values holds nan, which lies in no bin")
    exact = array.astype(np.float64).reshape(-1)
    low, high = low.astype(np.float32), high.astype(np.float32)
    ids = apply(fixed_width_bins, (exact, low, high), {"nbins": bins, "dtype": "int64"})
    return apply(count, (ids,), {"size": bins, "dtype": kind.name})


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int | Tensor | None = None,
    weights: TensorLike | None = None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Count how often each label (the row) met each prediction (the column), or sum its `weights`.

    Args:
        labels: The classes of the samples, integers from 0 on.
        predictions: The predicted classes.
        num_classes: The number of classes, by default one more than the largest class.
        weights: A weight for each sample, instead of 1.
        dtype: The dtype of the result.

    Raises:
        InvalidArgumentError: If labels and predictions differ in shape, or a class is out of range.
        ValueError: If `weights` has another shape.

    >>> confusion_matrix([0, 1, 1], [0, 1, 0]).numpy()
    array([[1, 0],
           [1, 1]], dtype=int32)
    """
    true, given = (cast(_vector(v), "int64")._array for v in (labels, predictions))
    if true.shape != given.shape:
        raise InvalidArgumentError(
            f"confusion_matrix: labels of shape {list(true.shape)} and predictions of shape {list(given.shape)} "
            "must have the same shape"
        )
    if num_classes is None:
        for array in (true, given):
            shape_known("confusion_matrix", "labels and predictions", array, "give num_classes")
        n = int(max(true.max(initial=-1), given.max(initial=-1))) + 1
    else:
        n = integer("confusion_matrix", "num_classes", num_classes, 0)
    afford("confusion_matrix", (n, n), 12)
    bounds("confusion_matrix: labels", true, n)
    bounds("confusion_matrix: predictions", given, n)
    inside = (true >= 0) & (true < n) & (given >= 0) & (given < n)
    ids = xp(true, given).where(inside, true * n + given, -1).reshape(-1)
    if weights is None:
        return reshape(apply(count, (ids,), {"size": n * n, "dtype": as_dtype(dtype).name}), (n, n))
    value = convert(weights)
    if value._array.shape != given.shape:
        raise ValueError(
            f"confusion_matrix: weights of shape {list(value._array.shape)} must have the shape of the predictions, "
            f"{list(given.shape)}"
        )
    total = apply(segment_sum_, (reshape(cast(value, dtype), (-1,)), ids), {"size": n * n, "trailing": 0})
    return reshape(total, (n, n))


def _vector(value: Any) -> Tensor:
    """A column as a vector; any other tensor as it is."""
    x = convert(value)
    return squeeze(x, -1) if x.ndim == 2 and x._array.shape[1] == 1 else x
