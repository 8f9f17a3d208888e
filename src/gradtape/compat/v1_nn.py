"""Functions of networks and arrays that TensorFlow 1 alone has, or with other arguments: for `compat.v1`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gradtape as tf

from ..core.tensor import Tensor
from ..core.types import DTypeLike, ShapeLike, TensorLike
from ..ops.nn.quantized_nn import (
    quantized_avg_pool,
    quantized_conv2d,
    quantized_max_pool,
    quantized_relu_x,
)


class SparseTensorValue(NamedTuple):
    """The indices, values and shape of a sparse tensor, as arrays."""

    indices: Any
    values: Any
    dense_shape: Any


def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Images normalized over the batch, with the mean and the variance of each channel.

    Args:
        x: of shape (batch, height, width, channels), or with channels second for data_format="NCHW".
        scale, offset: of each channel.
        mean, variance: to normalize by if not `is_training`; the running ones if `exponential_avg_factor` is not 1.
        epsilon: added to the variance.
        exponential_avg_factor: how much the batch counts in the mean and the variance that are returned.

    Returns:
        The normalized images, the mean, and the variance (the unbiased one of the batch, in training); no gradient
        passes through the last two.

    >>> y, mean, variance = fused_batch_norm([[[[1.0]], [[3.0]]]], [1.0], [0.0])
    >>> y.numpy().reshape(-1).round(2), float(mean[0]), float(variance[0])
    (array([-1.,  1.], dtype=float32), 2.0, 2.0)
    """
    value = tf.convert_to_tensor(x)
    first = data_format.startswith("NC")
    axes = [0, *range(2, value.ndim)] if first else [*range(value.ndim - 1)]
    shape = [1, -1, *[1] * (value.ndim - 2)] if first else [-1]
    wide = tf.cast(value, tf.float32) if value.dtype.size < 4 else value
    used_mean: Any = mean
    used_variance: Any = variance
    new_mean, new_variance = used_mean, used_variance
    if is_training:
        used_mean, used_variance = tf.nn.moments(wide, axes)
        count = int(tf.size(value)) // max(int(used_mean.shape[0]), 1)
        new_mean, new_variance = used_mean, used_variance * (count / max(count - 1, 1))
        if exponential_avg_factor != 1.0:
            if mean is None or variance is None:
                raise ValueError(
                    "fused_batch_norm: exponential_avg_factor other than 1 needs mean and variance"
                )
            new_mean = mean + exponential_avg_factor * (new_mean - mean)
            new_variance = variance + exponential_avg_factor * (new_variance - variance)
    elif mean is None or variance is None:
        raise ValueError("fused_batch_norm: mean and variance are needed if not is_training")
    parts = [tf.reshape(part, shape) for part in (used_mean, used_variance, offset, scale)]
    centre, spread, shift, factor = parts
    y = tf.nn.batch_normalization(wide, centre, spread, shift, factor, max(epsilon, 1.001e-5))
    return tf.cast(y, value.dtype), tf.stop_gradient(new_mean), tf.stop_gradient(new_variance)


def batch_norm_with_global_normalization(
    t: TensorLike | None = None,
    m: TensorLike | None = None,
    v: TensorLike | None = None,
    beta: TensorLike | None = None,
    gamma: TensorLike | None = None,
    variance_epsilon: float | None = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
) -> Tensor:
    """`tf.nn.batch_normalization` with a mean `m` and a variance `v`; `gamma` counts if `scale_after_normalization`.

    `input`, `mean` and `variance` are other names for `t`, `m` and `v`; `beta` is added.

    >>> float(batch_norm_with_global_normalization(3.0, 1.0, 4.0, 0.5, 2.0, 0.0, False))
    1.5
    """
    x, centre, spread = (new if old is None else old for old, new in ((t, input), (m, mean), (v, variance)))
    if x is None or centre is None or spread is None or variance_epsilon is None:
        raise ValueError("batch_norm_with_global_normalization: give t, m, v and variance_epsilon")
    scale = gamma if scale_after_normalization else None
    return tf.nn.batch_normalization(x, centre, spread, beta, scale, variance_epsilon)


def conv2d_backprop_input(
    input_sizes: ShapeLike,
    filter: TensorLike | None = None,
    out_backprop: TensorLike | None = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """The gradient of a convolution with respect to its input, of shape `input_sizes`.

    `out_backprop` is the gradient of its result; the other arguments are those of the convolution.

    >>> conv2d_backprop_input([1, 2, 2, 1], tf.ones([1, 1, 1, 1]), tf.ones([1, 2, 2, 1]), [1, 1, 1, 1], "SAME").shape
    TensorShape([1, 2, 2, 1])
    """
    kernel = filters if filter is None else filter
    if kernel is None or out_backprop is None:
        raise ValueError("conv2d_backprop_input: give filter and out_backprop")
    return _pulled_back(
        lambda x: tf.nn.conv2d(x, kernel, strides, padding, data_format, list(dilations)),
        input_sizes,
        out_backprop,
    )


def conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: ShapeLike,
    out_backprop: TensorLike,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of a convolution with respect to its filter, of shape `filter_sizes`.

    `out_backprop` is the gradient of its result; the other arguments are those of the convolution.

    >>> conv2d_backprop_filter(tf.ones([1, 2, 2, 1]), [1, 1, 1, 1], tf.ones([1, 2, 2, 1]), [1, 1, 1, 1], "SAME").shape
    TensorShape([1, 1, 1, 1])
    """
    return _pulled_back(
        lambda kernel: tf.nn.conv2d(input, kernel, strides, padding, data_format, list(dilations)),
        filter_sizes,
        out_backprop,
    )


def conv3d_backprop_filter(
    input: TensorLike,
    filter_sizes: ShapeLike,
    out_backprop: TensorLike,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """`conv2d_backprop_filter` for `tf.nn.conv3d`.

    >>> ones, steps = tf.ones([1, 1, 2, 2, 1]), [1, 1, 1, 1, 1]
    >>> conv3d_backprop_filter(ones, [1, 1, 1, 1, 1], ones, steps, "SAME").numpy().ravel()
    array([4.], dtype=float32)
    """
    return _pulled_back(
        lambda kernel: tf.nn.conv3d(input, kernel, strides, padding, data_format, list(dilations)),
        filter_sizes,
        out_backprop,
    )


def depthwise_conv2d_backprop_input(
    input_sizes: ShapeLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """`conv2d_backprop_input` for `tf.nn.depthwise_conv2d`.

    >>> ones = tf.ones([1, 2, 2, 1])
    >>> depthwise_conv2d_backprop_input([1, 2, 2, 1], tf.ones([1, 1, 1, 1]), ones, [1, 1, 1, 1], "SAME").shape
    TensorShape([1, 2, 2, 1])
    """
    apart = _spatial(dilations, data_format)
    return _pulled_back(
        lambda x: tf.nn.depthwise_conv2d(x, filter, strides, padding, data_format, apart),
        input_sizes,
        out_backprop,
    )


def depthwise_conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: ShapeLike,
    out_backprop: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """`conv2d_backprop_filter` for `tf.nn.depthwise_conv2d`.

    >>> ones = tf.ones([1, 2, 2, 1])
    >>> depthwise_conv2d_backprop_filter(ones, [1, 1, 1, 1], ones, [1, 1, 1, 1], "SAME").numpy().ravel()
    array([4.], dtype=float32)
    """
    apart = _spatial(dilations, data_format)
    return _pulled_back(
        lambda kernel: tf.nn.depthwise_conv2d(input, kernel, strides, padding, data_format, apart),
        filter_sizes,
        out_backprop,
    )


def _spatial(dilations: Any, data_format: str) -> list[int]:
    """The dilations along height and width, of those along all axes."""
    return list(dilations)[2:] if data_format == "NCHW" else list(dilations)[1:3]


def _pulled_back(function: Callable[[Tensor], Tensor], shape: ShapeLike, g: TensorLike) -> Tensor:
    """The gradient of a linear function of a tensor of a shape, for the gradient `g` of its result."""
    given = tf.convert_to_tensor(g)
    with tf.GradientTape() as tape:
        x = tf.zeros(shape, given.dtype)
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x, given)


def dilation2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    filters: TensorLike | None = None,
    dilations: Any = None,
) -> Tensor:
    """`tf.nn.dilation2d`; `filter` and `rates` are other names for `filters` and `dilations`.

    >>> dilation2d([[[[1.0], [5.0]]]], [[[2.0]]], [1, 1, 1, 1], [1, 1, 1, 1], "SAME").numpy().ravel()
    array([3., 7.], dtype=float32)
    """
    kernel, apart = filters if filter is None else filter, dilations if rates is None else rates
    if kernel is None or strides is None or apart is None or padding is None:
        raise ValueError("dilation2d: give filters, strides, dilations and padding")
    return tf.nn.dilation2d(input, kernel, strides, padding, "NHWC", apart)


def erosion2d(
    value: TensorLike, kernel: TensorLike, strides: Any, rates: Any, padding: Any, name: str | None = None
) -> Tensor:
    """`tf.nn.erosion2d`; `kernel` and `rates` are other names for `filters` and `dilations`.

    >>> erosion2d([[[[1.0], [5.0]]]], [[[2.0]]], [1, 1, 1, 1], [1, 1, 1, 1], "SAME").numpy().ravel()
    array([-1.,  3.], dtype=float32)
    """
    return tf.nn.erosion2d(value, kernel, strides, padding, "NHWC", rates)


def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y as Python 2 has it: the quotient of integers is rounded down.

    >>> int(div(-7, 2)), float(div(7.0, 2.0))
    (-4, 3.5)
    """
    first = tf.convert_to_tensor(x)
    return tf.math.floordiv(first, y) if first.dtype.is_integer else tf.divide(first, y)


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """The tensor, scaled down if its norm by the number of its elements is above `clip_norm`.

    >>> clip_by_average_norm([3.0, 4.0], 1.0).numpy()
    array([1.2, 1.6], dtype=float32)
    """
    x = tf.convert_to_tensor(t)
    average = tf.norm(x) / tf.cast(tf.size(x), x.dtype)
    return x * (clip_norm / tf.maximum(average, clip_norm))


def space_to_batch(
    input: TensorLike,
    paddings: TensorLike,
    block_size: Any = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Tensor:
    """`tf.space_to_batch` of images, in blocks of `block_size` by `block_size` (or of `block_shape`).

    >>> space_to_batch(tf.ones([1, 2, 2, 1]), [[0, 0], [0, 0]], 2).shape
    TensorShape([4, 1, 1, 1])
    """
    shape = [block_size, block_size] if block_shape is None else block_shape
    return tf.space_to_batch(input, shape, paddings)


def batch_to_space(
    input: TensorLike, crops: TensorLike, block_size: Any, name: str | None = None, block_shape: Any = None
) -> Tensor:
    """The inverse of `space_to_batch`; `crops` are left out.

    >>> batch_to_space(tf.ones([4, 1, 1, 1]), [[0, 0], [0, 0]], 2).shape
    TensorShape([1, 2, 2, 1])
    """
    shape = [block_size, block_size] if block_shape is None else block_shape
    return tf.batch_to_space(input, shape, crops)


def random_poisson(
    lam: TensorLike,
    shape: ShapeLike,
    dtype: DTypeLike = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """`tf.random.poisson` with TensorFlow 1's order: `lam`, the means, come first.

    >>> random_poisson([1.0, 2.0], [3]).shape
    TensorShape([3, 2])
    """
    return tf.random.poisson(shape, lam, dtype, seed)


def string_split(
    source: TensorLike,
    sep: str | None = None,
    skip_empty: bool = True,
    delimiter: str | None = " ",
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Each string of a vector in pieces between any of the characters of `delimiter`.

    Args:
        sep: another name for `delimiter`.
        skip_empty: whether empty pieces are left out.
        result_type: "SparseTensor" or "RaggedTensor".

    >>> string_split(["a b", "c"]).values.numpy().tolist()
    [b'a', b'b', b'c']
    """
    between = tf.compat.as_text((delimiter if sep is None else sep) or "")
    strings = tf.convert_to_tensor(source)
    if between:
        pattern = "[" + "".join("\\" + c for c in between) + "]"
        if len(between) > 1:
            strings = tf.strings.regex_replace(strings, pattern, between[0])
        rows = tf.strings.split(strings, between[0])
    else:
        rows = tf.strings.bytes_split(strings)
    if skip_empty:
        rows = tf.ragged.boolean_mask(rows, tf.ragged.map_flat_values(tf.not_equal, rows, b""))
    return rows.to_sparse() if result_type == "SparseTensor" else rows


def sparse_to_dense(
    sparse_indices: TensorLike,
    output_shape: TensorLike,
    sparse_values: TensorLike,
    default_value: TensorLike = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A dense tensor with values at indices: a number, a vector of them, or a row of numbers for each.

    Args:
        sparse_values: one for each index, or one for all.
        default_value: elsewhere.
        validate_indices: whether indices must be in order, without repetitions.

    >>> sparse_to_dense([0, 2], [3], 5).numpy()
    array([5, 0, 5], dtype=int32)
    """
    at = tf.cast(tf.convert_to_tensor(sparse_indices), tf.int64)
    rows = tf.reshape(at, [-1, 1]) if at.ndim < 2 else at
    values = tf.broadcast_to(tf.convert_to_tensor(sparse_values), [rows.shape[0]])
    sparse = tf.SparseTensor(rows, values, tf.cast(output_shape, tf.int64))
    return tf.sparse.to_dense(sparse, default_value, validate_indices)


def setdiff1d(x: TensorLike, y: TensorLike, index_dtype: DTypeLike = "int32", name: str | None = None) -> Any:
    """The elements of a vector that are not in another, and their places, of `index_dtype`.

    >>> setdiff1d([1, 2, 3], [2]).out.numpy()
    array([1, 3], dtype=int32)
    """
    operations: Any = tf.raw_ops
    return operations.ListDiff(x=x, y=y, out_idx=index_dtype)


def sparse_split(
    keyword_required: Any = None,
    sp_input: Any = None,
    num_split: int | None = None,
    axis: int | None = None,
    name: str | None = None,
    split_dim: int | None = None,
) -> Any:
    """`tf.sparse.split` with keywords; `split_dim` is another name for `axis`.

    >>> [part.shape for part in sparse_split(sp_input=tf.sparse.from_dense([1, 2]), num_split=2, axis=0)]
    [TensorShape([1]), TensorShape([1])]
    """
    along = split_dim if axis is None else axis
    if sp_input is None or num_split is None or along is None:
        raise ValueError("sparse_split: give sp_input, num_split and axis by their names")
    return tf.sparse.split(sp_input, num_split, along)


def _matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    *sparse: Any,
    **named: Any,
) -> Tensor:
    """`tf.matmul`, whatever is said about zeros."""
    return tf.matmul(a, b, transpose_a, transpose_b)


def _cast(dtype: str) -> Any:
    return lambda x, name=None: tf.cast(x, dtype)


NETWORKS: dict[str, Any] = {
    "SparseTensorValue": SparseTensorValue,
    "batch_to_space": batch_to_space,
    "clip_by_average_norm": clip_by_average_norm,
    "div": div,
    "nn.batch_norm_with_global_normalization": batch_norm_with_global_normalization,
    "nn.conv2d_backprop_filter": conv2d_backprop_filter,
    "nn.conv2d_backprop_input": conv2d_backprop_input,
    "nn.conv3d_backprop_filter": conv3d_backprop_filter,
    "nn.conv3d_backprop_filter_v2": conv3d_backprop_filter,
    "nn.depthwise_conv2d_backprop_filter": depthwise_conv2d_backprop_filter,
    "nn.depthwise_conv2d_backprop_input": depthwise_conv2d_backprop_input,
    "nn.depthwise_conv2d_native_backprop_filter": depthwise_conv2d_backprop_filter,
    "nn.depthwise_conv2d_native_backprop_input": depthwise_conv2d_backprop_input,
    "nn.dilation2d": dilation2d,
    "nn.erosion2d": erosion2d,
    "nn.fused_batch_norm": fused_batch_norm,
    "nn.quantized_avg_pool": quantized_avg_pool,
    "nn.quantized_conv2d": quantized_conv2d,
    "nn.quantized_max_pool": quantized_max_pool,
    "nn.quantized_relu_x": quantized_relu_x,
    "nn.space_to_batch": space_to_batch,
    "no_regularizer": None,
    "random.poisson": random_poisson,
    "random_poisson": random_poisson,
    "realdiv": tf.divide,
    "sparse_matmul": _matmul,
    "setdiff1d": setdiff1d,
    "space_to_batch": space_to_batch,
    "sparse_split": sparse_split,
    "sparse_to_dense": sparse_to_dense,
    "string_split": string_split,
    **{f"to_{dtype}": _cast(dtype) for dtype in ("bfloat16", "complex64", "complex128", "int32", "int64")},
    "to_double": _cast("float64"),
    "to_float": _cast("float32"),
}
