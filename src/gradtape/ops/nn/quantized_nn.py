"""Layers on quantized tensors, for `compat.v1.nn`. Each takes the ends of its inputs' ranges, and returns its result's.

The integers are computed with as float64, where sums and products of them are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.dtypes import as_dtype, plain
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.types import DTypeLike, TensorLike
from ..math.quantized import as_integers, bounds, end, quantized, zero_point
from .conv import conv2d
from .pool import avg_pool2d, max_pool2d

_BYTES = ("quint8", "qint8")


class QuantizedLayer(NamedTuple):
    """A quantized result, and the range that its integers stand for."""

    output: Tensor
    min_output: Tensor
    max_output: Tensor


class QuantizedActivations(NamedTuple):
    """Quantized activations, and the range that their integers stand for."""

    activations: Tensor
    min_activations: Tensor
    max_activations: Tensor


def quantized_avg_pool(
    input: TensorLike,
    min_input: TensorLike,
    max_input: TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    name: str | None = None,
) -> QuantizedLayer:
    """The mean of each window of quantized images, rounded towards 0.

    Args:
        input: quint8 or qint8, of shape (batch, height, width, channels).
        min_input: the least number of the range that the integers stand for.
        max_input: the largest.
        ksize: the window along each axis.
        strides: the steps along each axis.
        padding: "VALID" or "SAME".

    >>> import gradtape as tf
    >>> x = tf.constant([[[[1], [2]], [[3], [4]]]], tf.quint8)
    >>> quantized_avg_pool(x, 0.0, 1.0, [1, 2, 2, 1], [1, 2, 2, 1], "VALID").output.numpy().item()
    2
    """
    operation = "quantized_avg_pool"
    x, low, high = _input(operation, input, min_input, max_input)
    means = avg_pool2d(wrap(plain(x._array).astype(np.float64)), ksize, strides, padding)
    return QuantizedLayer(as_integers(np.trunc(means._array), x.dtype), wrap(low), wrap(high))


def quantized_max_pool(
    input: TensorLike,
    min_input: TensorLike,
    max_input: TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    name: str | None = None,
) -> QuantizedLayer:
    """The largest element of each window of quantized images.

    Args:
        input: quint8 or qint8, of shape (batch, height, width, channels).
        min_input: the least number of the range that the integers stand for.
        max_input: the largest.
        ksize: the window along each axis.
        strides: the steps along each axis.
        padding: "VALID" or "SAME".

    >>> import gradtape as tf
    >>> x = tf.constant([[[[1], [2]], [[3], [4]]]], tf.quint8)
    >>> quantized_max_pool(x, 0.0, 1.0, [1, 2, 2, 1], [1, 2, 2, 1], "VALID").output.numpy().item()
    4
    """
    operation = "quantized_max_pool"
    x, low, high = _input(operation, input, min_input, max_input)
    largest = max_pool2d(wrap(plain(x._array).astype(np.float64)), ksize, strides, padding)
    return QuantizedLayer(as_integers(largest._array, x.dtype), wrap(low), wrap(high))


def quantized_conv2d(
    input: TensorLike,
    filter: TensorLike,
    min_input: TensorLike,
    max_input: TensorLike,
    min_filter: TensorLike,
    max_filter: TensorLike,
    strides: Sequence[int],
    padding: str,
    out_type: DTypeLike = "qint32",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> QuantizedLayer:
    """The convolution of quantized images with quantized filters, as qint32.

    Args:
        input: quint8 or qint8, of shape (batch, height, width, channels).
        filter: quint8 or qint8, of shape (height, width, channels, out).
        min_input: the least number of the range that the input's integers stand for.
        max_input: the largest.
        min_filter: the least number of the filters' range.
        max_filter: the largest.
        strides: the steps along each axis.
        padding: "VALID" or "SAME".
        out_type: qint32.
        dilations: the distance of a filter's elements along each axis.

    >>> import gradtape as tf
    >>> x, f = tf.constant([[[[2], [3]]]], tf.quint8), tf.constant([[[[10]]]], tf.quint8)
    >>> quantized_conv2d(x, f, 0.0, 255.0, 0.0, 255.0, [1, 1, 1, 1], "VALID").output.numpy().ravel()
    array([20, 30], dtype=int32)
    """
    operation, to = "quantized_conv2d", as_dtype(out_type)
    if to.name != "qint32":
        raise DTypeError(f"{operation}: out_type must be qint32, not {to.name}")
    x, low, high = _input(operation, input, min_input, max_input)
    f, f_low, f_high = _input(operation, filter, min_filter, max_filter, "filter")
    centred = wrap(plain(x._array) - zero_point(np.float32(0), low, high, x.dtype))
    kernel = wrap(plain(f._array) - zero_point(np.float32(0), f_low, f_high, f.dtype))
    sums = conv2d(centred, kernel, strides, padding, dilations=dilations)
    # An integer of the result stands for the product of what an integer of each input stands for.
    unit = np.float32(_unit(x, low, high) * _unit(f, f_low, f_high))
    ends = [np.asarray(unit * np.float32(bound)) for bound in bounds(to)]
    return QuantizedLayer(as_integers(sums._array, to), *map(wrap, ends))


def quantized_relu_x(
    features: TensorLike,
    max_value: TensorLike,
    min_features: TensorLike,
    max_features: TensorLike,
    out_type: DTypeLike = "quint8",
    name: str | None = None,
) -> QuantizedActivations:
    """Quantized numbers cut off below 0 and above `max_value`.

    Args:
        features: quint8, or qint8 with that `out_type`.
        max_value: the largest number, not quantized.
        min_features: the least number of the range that the integers stand for.
        max_features: the largest.
        out_type: the dtype of the features.

    >>> import gradtape as tf
    >>> x = tf.constant([0, 100, 200], tf.quint8)
    >>> quantized_relu_x(x, 1.0, -1.0, 2.0).activations.numpy()
    array([ 85, 100, 170], dtype=uint8)
    """
    operation = "quantized_relu_x"
    x, low, high = _input(
        operation, features, min_features, max_features, "features", "min_features", "max_features"
    )
    if as_dtype(out_type) is not x.dtype:
        raise DTypeError(f"{operation}: out_type must be {x.dtype.name}, as the features have it")
    top = end(operation, "max_value", max_value)
    limits = [zero_point(value, low, high, x.dtype) for value in (np.float32(0), top)]
    least, most = np.clip(limits, *bounds(x.dtype))
    return QuantizedActivations(
        as_integers(plain(x._array).astype(np.float64).clip(least, most), x.dtype), wrap(low), wrap(high)
    )


def _input(
    operation: str,
    value: TensorLike,
    low: TensorLike,
    high: TensorLike,
    what: str = "input",
    *names: str,
) -> tuple[Tensor, Any, Any]:
    """A quantized input, and the ends of its range."""
    x = quantized(operation, what, value, _BYTES)
    low_name, high_name = names or (f"min_{what}", f"max_{what}")
    ends = np.asarray(end(operation, low_name, low)), np.asarray(end(operation, high_name, high))
    if ends[0] > ends[1]:
        raise InvalidArgumentError(f"{operation}: {low_name} must not be above {high_name}")
    return x, *ends


def _unit(x: Tensor, low: Any, high: Any) -> Any:
    """The number that a step of one integer stands for."""
    least, most = bounds(x.dtype)
    return (high - low) / np.float32(most - least)
