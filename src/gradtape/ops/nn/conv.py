"""The public convolutions: what users say about windows and channels, checked, and one primitive of `convolve.py`."""

from __future__ import annotations

from typing import Any

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply
from ...core.structural import reshape_, transpose_
from ...core.tensor import Tensor, convert
from ..array.movement import static_shape, together
from ..known import afford
from .convolve import convolve, deconvolve
from .windows import channels_come_first, numbers_of, padding_of, spatial_windows


def _inputs(
    name: str, input: Any, filters: Any, rank: int | None, data_format: Any
) -> tuple[Any, Any, int, bool]:
    """Both as tensors, the input's channels last; the number of spatial axes, and whether the channels were first."""
    x, f = together(name, [input, filters])
    if rank is None:
        rank = f.ndim - 2
        if rank not in (1, 2, 3):
            raise InvalidArgumentError(
                f"{name}: filters must have 3, 4 or 5 axes (1, 2 or 3 spatial ones), not shape {list(f._array.shape)}"
            )
    if f.ndim != rank + 2:
        raise InvalidArgumentError(
            f"{name}: filters must have {rank + 2} axes, (window..., in, out), not shape {list(f._array.shape)}"
        )
    if x.ndim < rank + 2:
        raise InvalidArgumentError(
            f"{name}: the input must have at least {rank + 2} axes, batch and channels among them, not shape "
            f"{list(x._array.shape)}"
        )
    for tensor in (x, f):
        if tensor.dtype.name not in ("float32", "float64", "float16", "bfloat16", "int32"):
            raise DTypeError(
                f"{name} takes floating tensors, not {tensor.dtype.name}: use cast(x, 'float32')"
            )
    if not f._array.size and 0 in f._array.shape[:-1]:
        raise InvalidArgumentError(
            f"{name}: filters must not be empty, as those of shape {list(f._array.shape)} are"
        )
    first = channels_come_first(name, data_format, rank)
    return (_channels_last(x, rank) if first else x), f, rank, first


def _channels_last(x: Any, rank: int) -> Tensor:
    batch = x.ndim - rank - 1
    return apply(transpose_, (x,), {"perm": (*range(batch), *range(batch + 1, x.ndim), batch)})


def _channels_first(x: Any, rank: int) -> Tensor:
    batch = x.ndim - rank - 1
    return apply(transpose_, (x,), {"perm": (*range(batch), x.ndim - 1, *range(batch, x.ndim - 1))})


def _convolution(
    name: str,
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: Any,
    dilations: Any,
    rank: int | None = None,
) -> Tensor:
    x, f, rank, first = _inputs(name, input, filters, rank, data_format)
    shape, kernel = x._array.shape, f._array.shape
    groups, left = divmod(shape[-1], kernel[-2])
    if left or not groups:
        raise InvalidArgumentError(
            f"{name}: the input's {shape[-1]} channels must be a multiple of the {kernel[-2]} that filters of shape "
            f"{list(kernel)} take"
        )
    if kernel[-1] % groups:
        raise InvalidArgumentError(
            f"{name}: {groups} groups of channels need a number of filters that they divide, not {kernel[-1]}"
        )
    space = shape[-rank - 1 : -1]
    steps, gaps = numbers_of(name, "strides", strides), numbers_of(name, "dilations", dilations)
    windows = spatial_windows(name, kernel[:-2], steps, gaps, padding_of(name, padding), space, first)
    out = apply(convolve, (x, f), {"windows": windows, "groups": groups})
    return _channels_first(out, rank) if first else out


def _transposed(
    name: str,
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any,
    data_format: Any,
    dilations: Any,
    rank: int | None = None,
) -> Tensor:
    y, f, rank, first = _inputs(name, input, filters, rank, data_format)
    wanted = static_shape(name, output_shape)
    if y.ndim != rank + 2 or len(wanted) != rank + 2:
        raise InvalidArgumentError(
            f"{name}: the input and output_shape must have {rank + 2} axes, not {y.ndim} and {len(wanted)}"
        )
    if first:
        wanted = (wanted[0], *wanted[2:], wanted[1])
    shape, kernel = y._array.shape, f._array.shape
    if shape[-1] != kernel[-1] or wanted[-1] != kernel[-2] or wanted[0] != shape[0]:
        raise InvalidArgumentError(
            f"{name}: filters of shape {list(kernel)}, (window..., out, in), do not take a batch of {shape[0]} with "
            f"{shape[-1]} channels to one of {wanted[0]} with {wanted[-1]}"
        )
    space = wanted[1:-1]
    afford(name, wanted, y._array.dtype.itemsize)
    steps, gaps = numbers_of(name, "strides", strides), numbers_of(name, "dilations", dilations)
    windows = spatial_windows(name, kernel[:-2], steps, gaps, padding_of(name, padding), space, first)
    if windows.fit(space) != shape[1:-1]:
        raise InvalidArgumentError(
            f"{name}: with these strides and this padding an output of spatial shape {list(space)} comes from an input "
            f"of {list(windows.fit(space))}, not {list(shape[1:-1])}"
        )
    out = apply(deconvolve, (y, f), {"windows": windows, "groups": 1, "space": space})
    return _channels_first(out, rank) if first else out


# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def convolution(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Sums of the input times the filters over a window, wherever it fits; along 1, 2 or 3 axes, as the filters have.

    The input is (batch..., space..., channels), the filters (window..., channels, out); `data_format` "NCW", "NCHW" or
    "NCDHW" puts the channels in front of space. `padding` is "VALID", "SAME" (with zeros, so that strides of 1 keep the
    shape) or a list of [before, after] for every axis. Filters that take only a part of the channels are divided
    among the parts.

    >>> convolution([[[1.0], [2.0], [3.0]]], [[[1.0]], [[10.0]]]).numpy()
    array([[[21.],
            [32.]]], dtype=float32)
    """
    return _convolution("convolution", input, filters, strides, padding, data_format, dilations)


def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`convolution` along one axis.

    >>> conv1d([[[1.0], [2.0], [3.0]]], [[[1.0]], [[1.0]]], 1, "SAME").numpy().ravel()
    array([3., 5., 3.], dtype=float32)
    """
    return _convolution("conv1d", input, filters, stride, padding, data_format, dilations, 1)


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`convolution` of images: (batch, height, width, channels) with filters (height, width, channels, out).

    >>> import gradtape as tf
    >>> conv2d(tf.ones((1, 3, 3, 1)), tf.ones((2, 2, 1, 1)), 1, "SAME").numpy()[0, :, :, 0]
    array([[4., 4., 2.],
           [4., 4., 2.],
           [2., 2., 1.]], dtype=float32)
    """
    return _convolution("conv2d", input, filters, strides, padding, data_format, dilations, 2)


def conv3d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`convolution` of volumes: (batch, depth, height, width, channels).

    >>> import gradtape as tf
    >>> conv3d(tf.ones((1, 2, 2, 2, 1)), tf.ones((2, 2, 2, 1, 1)), 1, "VALID").numpy().item()
    8.0
    """
    return _convolution("conv3d", input, filters, strides, padding, data_format, dilations, 3)


def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose (the gradient) of `convolution`: from its output's shape back to `output_shape`, its input's.

    The filters are those of that convolution: (window..., out, in), as seen from here.

    >>> conv_transpose([[[1.0], [2.0]]], [[[1.0]], [[10.0]]], [1, 4, 1], 2).numpy().ravel()
    array([ 1., 10.,  2., 20.], dtype=float32)
    """
    return _transposed(
        "conv_transpose", input, filters, output_shape, strides, padding, data_format, dilations
    )


def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`conv_transpose` along one axis.

    >>> conv1d_transpose([[[1.0], [2.0]]], [[[1.0]], [[10.0]]], [1, 3, 1], 1, "VALID").numpy().ravel()
    array([ 1., 12., 20.], dtype=float32)
    """
    return _transposed(
        "conv1d_transpose", input, filters, output_shape, strides, padding, data_format, dilations, 1
    )


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`conv_transpose` of images.

    >>> import gradtape as tf
    >>> conv2d_transpose(tf.ones((1, 2, 2, 3)), tf.ones((2, 2, 5, 3)), (1, 4, 4, 5), 2).shape
    TensorShape([1, 4, 4, 5])
    """
    return _transposed(
        "conv2d_transpose", input, filters, output_shape, strides, padding, data_format, dilations, 2
    )


def conv3d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`conv_transpose` of volumes.

    >>> import gradtape as tf
    >>> x, filters = tf.ones((1, 1, 1, 1, 3)), tf.ones((2, 2, 2, 1, 3))
    >>> conv3d_transpose(x, filters, (1, 2, 2, 2, 1), 2).numpy().ravel()
    array([3., 3., 3., 3., 3., 3., 3., 3.], dtype=float32)
    """
    return _transposed(
        "conv3d_transpose", input, filters, output_shape, strides, padding, data_format, dilations, 3
    )


def atrous_conv2d(value: Any, filters: Any, rate: Any, padding: Any, name: str | None = None) -> Tensor:
    """`conv2d` with `rate - 1` elements left out between those of the window.

    >>> import gradtape as tf
    >>> atrous_conv2d(tf.ones((1, 3, 3, 1)), tf.ones((2, 2, 1, 1)), 2, "VALID").numpy().item()
    4.0
    """
    return _convolution("atrous_conv2d", value, filters, 1, padding, "NHWC", rate, 2)


def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: Any, padding: Any, name: str | None = None
) -> Tensor:
    """The transpose of `atrous_conv2d`.

    >>> import gradtape as tf
    >>> x, filters = tf.ones((1, 1, 1, 1)), tf.ones((2, 2, 1, 1))
    >>> atrous_conv2d_transpose(x, filters, (1, 3, 3, 1), 2, "VALID").numpy()[0, :, :, 0]
    array([[1., 0., 1.],
           [0., 0., 0.],
           [1., 0., 1.]], dtype=float32)
    """
    return _transposed("atrous_conv2d_transpose", value, filters, output_shape, 1, padding, "NHWC", rate, 2)


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`conv2d` of each channel with filters of its own: (height, width, channels, filters a channel).

    >>> depthwise_conv2d([[[[1.0, 2.0]]]], [[[[1.0, 10.0], [1.0, 10.0]]]], [1, 1, 1, 1], "VALID").numpy().ravel()
    array([ 1., 10.,  2., 20.], dtype=float32)
    """
    return _depthwise_conv2d("depthwise_conv2d", input, filter, strides, padding, data_format, dilations)


def _depthwise_conv2d(
    name: str, input: Any, filter: Any, strides: Any, padding: Any, data_format: Any, dilations: Any
) -> Tensor:
    x, f = together(name, [input, filter])
    if f.ndim != 4 or x.ndim < 4:
        raise InvalidArgumentError(
            f"{name}: the input and the filters must have 4 axes, not the shapes {list(x._array.shape)} and "
            f"{list(f._array.shape)}"
        )
    height, width, channels, multiplier = f._array.shape
    axis = -3 if channels_come_first(name, data_format, 2) else -1
    if x._array.shape[axis] != channels:
        raise InvalidArgumentError(
            f"{name}: filters of shape {list(f._array.shape)} take {channels} channels, and the input of shape "
            f"{list(x._array.shape)} has {x._array.shape[axis]}"
        )
    f = apply(reshape_, (f,), {"shape": (height, width, 1, channels * multiplier)})
    return _convolution(name, x, f, strides, padding, data_format, dilations, 2)


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`depthwise_conv2d`, then `conv2d` with filters of one element, (1, 1, channels, out), which mix the channels.

    >>> x, apart, point = [[[[1.0, 2.0]]]], [[[[1.0], [10.0]]]], [[[[1.0], [1.0]]]]
    >>> separable_conv2d(x, apart, point, [1, 1, 1, 1], "VALID").numpy().item()
    21.0
    """
    apart = _depthwise_conv2d(
        "separable_conv2d", input, depthwise_filter, strides, padding, data_format, dilations
    )
    point = convert(pointwise_filter, None, apart._array.dtype)
    if point.ndim != 4 or point._array.shape[:2] != (1, 1):
        raise InvalidArgumentError(
            f"separable_conv2d: pointwise_filter must be of shape (1, 1, channels, out), not {list(point._array.shape)}"
        )
    return _convolution("separable_conv2d", apart, point, 1, "VALID", data_format, None, 2)
