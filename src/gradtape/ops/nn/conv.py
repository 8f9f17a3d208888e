"""The public convolutions: what users say about windows and channels, validated, and a primitive of `convolve.py`."""

from __future__ import annotations

from ...core.errors import DTypeError, InvalidArgumentError, UnimplementedError
from ...core.primitive import apply
from ...core.structural import reshape_, transpose_
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import ShapeLike, TensorLike
from ..array.movement import static_shape, together
from ..known import afford
from .convolve import convolve, deconvolve
from .windows import Lengths, Padding, Windows, channels_come_first, check_not_both, spatial_rank, windows_of


def _inputs(
    name: str, rank: int | None, input: TensorLike, filters: TensorLike, data_format: str | None
) -> tuple[Tensor, Tensor, int, bool]:
    """Both as tensors, the input's channels last; the number of spatial axes, and whether the channels were first."""
    x, f = together(name, [input, filters])
    rank = spatial_rank(name, "filters", f._array.shape, rank)
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


def _channels_last(x: Tensor, rank: int) -> Tensor:
    batch = x.ndim - rank - 1
    return apply(transpose_, (x,), {"perm": (*range(batch), *range(batch + 1, x.ndim), batch)})


def _channels_first(x: Tensor, rank: int) -> Tensor:
    batch = x.ndim - rank - 1
    return apply(transpose_, (x,), {"perm": (*range(batch), x.ndim - 1, *range(batch, x.ndim - 1))})


def _windows(
    name: str,
    filters: Tensor,
    strides: Lengths | None,
    padding: Padding,
    dilations: Lengths | None,
    space: tuple[int, ...],
    channels_first: bool,
) -> Windows:
    size = filters._array.shape[:-2]
    spatial, channels = windows_of(name, size, strides, padding, dilations, space, channels_first)
    if channels.strides != (1,) or channels.dilations != (1,):
        raise UnimplementedError(f"{name}: strides and dilations must be 1 along the channels")
    return spatial


def _convolution(
    name: str,
    rank: int | None,
    input: TensorLike,
    filters: TensorLike,
    strides: Lengths | None,
    padding: Padding,
    data_format: str | None,
    dilations: Lengths | None,
) -> Tensor:
    x, f, rank, first = _inputs(name, rank, input, filters, data_format)
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
    windows = _windows(name, f, strides, padding, dilations, shape[-rank - 1 : -1], first)
    out = apply(convolve, (x, f), {"windows": windows, "groups": groups})
    return _channels_first(out, rank) if first else out


def _transposed(
    name: str,
    rank: int | None,
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: Lengths | None,
    padding: Padding,
    data_format: str | None,
    dilations: Lengths | None,
) -> Tensor:
    y, f, rank, first = _inputs(name, rank, input, filters, data_format)
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
    windows = _windows(name, f, strides, padding, dilations, space, first)
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
    input: TensorLike,
    filters: TensorLike,
    strides: Lengths | None = None,
    padding: Padding = "VALID",
    data_format: str | None = None,
    dilations: Lengths | None = None,
    name: str | None = None,
) -> Tensor:
    """Sums of the input times the filters over a window, wherever it fits; along 1, 2 or 3 axes, as the filters have.

    Args:
        input: (batch..., space..., channels).
        filters: (window..., channels, out). If the input has k times as many channels, they are k groups, with filters
            of their own.
        strides: steps of the window, one for all axes or one for each; 1 by default.
        padding: "VALID", "SAME" (with zeros, so that strides of 1 keep the shape), or [before, after] for every axis.
        data_format: "NCW", "NCHW" or "NCDHW" if the channels stand in front of space.
        dilations: steps between the elements of a window, given as `strides` are; 1 if a stride is not.

    Raises:
        InvalidArgumentError: if the shapes do not match, or the window does not fit.
        UnimplementedError: if batch or channels have a stride or dilation other than 1.
        ValueError: if both strides and dilations are greater than 1; `conv1d`, `conv2d` and `conv3d` take both.

    >>> convolution([[[1.0], [2.0], [3.0]]], [[[1.0]], [[10.0]]]).numpy()
    array([[[21.],
            [32.]]], dtype=float32)
    """
    check_not_both("convolution", strides, dilations, "tf.nn.conv1d, conv2d and conv3d take both")
    return _convolution("convolution", None, input, filters, strides, padding, data_format, dilations)


def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride: Lengths,
    padding: Padding,
    data_format: str = "NWC",
    dilations: Lengths | None = None,
    name: str | None = None,
) -> Tensor:
    """`convolution` along one axis: (batch, width, channels) with filters (width, channels, out).

    `stride`, `padding` and `dilations` are those of `convolution`; `data_format` is "NWC" or "NCW".

    >>> conv1d([[[1.0], [2.0], [3.0]]], [[[1.0]], [[1.0]]], 1, "SAME").numpy().ravel()
    array([3., 5., 3.], dtype=float32)
    """
    return _convolution("conv1d", 1, input, filters, stride, padding, data_format, dilations)


def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: Lengths,
    padding: Padding,
    data_format: str = "NHWC",
    dilations: Lengths | None = None,
    name: str | None = None,
) -> Tensor:
    """`convolution` of images: (batch, height, width, channels) with filters (height, width, channels, out).

    `strides`, `padding` and `dilations` are those of `convolution`; `data_format` is "NHWC" or "NCHW".

    >>> import gradtape as tf
    >>> conv2d(tf.ones((1, 3, 3, 1)), tf.ones((2, 2, 1, 1)), 1, "SAME").numpy()[0, :, :, 0]
    array([[4., 4., 2.],
           [4., 4., 2.],
           [2., 2., 1.]], dtype=float32)
    """
    return _convolution("conv2d", 2, input, filters, strides, padding, data_format, dilations)


def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: Lengths,
    padding: Padding,
    data_format: str = "NDHWC",
    dilations: Lengths | None = None,
    name: str | None = None,
) -> Tensor:
    """`convolution` of volumes: (batch, depth, height, width, channels) with filters (window..., channels, out).

    `strides`, `padding` and `dilations` are those of `convolution`; `data_format` is "NDHWC" or "NCDHW".

    >>> import gradtape as tf
    >>> conv3d(tf.ones((1, 2, 2, 2, 1)), tf.ones((2, 2, 2, 1, 1)), 1, "VALID").numpy().item()
    8.0
    """
    return _convolution("conv3d", 3, input, filters, strides, padding, data_format, dilations)


def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: Lengths,
    padding: Padding = "SAME",
    data_format: str | None = None,
    dilations: Lengths | None = None,
    name: str | None = None,
) -> Tensor:
    """The transpose (the gradient) of `convolution`: from its output's shape back to `output_shape`, its input's.

    Args:
        filters: those of the convolution: (window..., out, in), as seen from here.
        output_shape: shape of the result, batch and channels included.
        strides, padding, data_format, dilations: those of the convolution.

    Raises:
        InvalidArgumentError: if the convolution does not take `output_shape` to the shape of the input.

    >>> conv_transpose([[[1.0], [2.0]]], [[[1.0]], [[10.0]]], [1, 4, 1], 2).numpy().ravel()
    array([ 1., 10.,  2., 20.], dtype=float32)
    """
    return _transposed(
        "conv_transpose", None, input, filters, output_shape, strides, padding, data_format, dilations
    )


def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: Lengths,
    padding: Padding = "SAME",
    data_format: str = "NWC",
    dilations: Lengths | None = None,
    name: str | None = None,
) -> Tensor:
    """`conv_transpose` along one axis.

    `filters`, `output_shape`, `strides`, `padding` and `dilations` are those of `conv_transpose`; `data_format` is
    "NWC" or "NCW".

    >>> conv1d_transpose([[[1.0], [2.0]]], [[[1.0]], [[10.0]]], [1, 3, 1], 1, "VALID").numpy().ravel()
    array([ 1., 12., 20.], dtype=float32)
    """
    return _transposed(
        "conv1d_transpose", 1, input, filters, output_shape, strides, padding, data_format, dilations
    )


def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: Lengths,
    padding: Padding = "SAME",
    data_format: str = "NHWC",
    dilations: Lengths | None = None,
    name: str | None = None,
) -> Tensor:
    """`conv_transpose` of images.

    `filters`, `output_shape`, `strides`, `padding` and `dilations` are those of `conv_transpose`; `data_format` is
    "NHWC" or "NCHW".

    >>> import gradtape as tf
    >>> conv2d_transpose(tf.ones((1, 2, 2, 3)), tf.ones((2, 2, 5, 3)), (1, 4, 4, 5), 2).shape
    TensorShape([1, 4, 4, 5])
    """
    return _transposed(
        "conv2d_transpose", 2, input, filters, output_shape, strides, padding, data_format, dilations
    )


def conv3d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: Lengths,
    padding: Padding = "SAME",
    data_format: str = "NDHWC",
    dilations: Lengths | None = None,
    name: str | None = None,
) -> Tensor:
    """`conv_transpose` of volumes.

    `filters`, `output_shape`, `strides`, `padding` and `dilations` are those of `conv_transpose`; `data_format` is
    "NDHWC" or "NCDHW".

    >>> import gradtape as tf
    >>> x, filters = tf.ones((1, 1, 1, 1, 3)), tf.ones((2, 2, 2, 1, 3))
    >>> conv3d_transpose(x, filters, (1, 2, 2, 2, 1), 2).numpy().ravel()
    array([3., 3., 3., 3., 3., 3., 3., 3.], dtype=float32)
    """
    return _transposed(
        "conv3d_transpose", 3, input, filters, output_shape, strides, padding, data_format, dilations
    )


def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate: Lengths, padding: Padding, name: str | None = None
) -> Tensor:
    """`conv2d` of `value` by `filters` with `rate - 1` elements left out between those of the window.

    `padding` is that of `convolution`.

    >>> import gradtape as tf
    >>> atrous_conv2d(tf.ones((1, 3, 3, 1)), tf.ones((2, 2, 1, 1)), 2, "VALID").numpy().item()
    4.0
    """
    return _convolution("atrous_conv2d", 2, value, filters, 1, padding, "NHWC", rate)


def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    rate: Lengths,
    padding: Padding,
    name: str | None = None,
) -> Tensor:
    """The transpose of `atrous_conv2d` with this `rate` and `padding`; `output_shape` is that of the result.

    >>> import gradtape as tf
    >>> x, filters = tf.ones((1, 1, 1, 1)), tf.ones((2, 2, 1, 1))
    >>> atrous_conv2d_transpose(x, filters, (1, 3, 3, 1), 2, "VALID").numpy()[0, :, :, 0]
    array([[1., 0., 1.],
           [0., 0., 0.],
           [1., 0., 1.]], dtype=float32)
    """
    return _transposed("atrous_conv2d_transpose", 2, value, filters, output_shape, 1, padding, "NHWC", rate)


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: Lengths,
    padding: Padding,
    data_format: str | None = None,
    dilations: Lengths | None = None,
    name: str | None = None,
) -> Tensor:
    """`conv2d` of each channel with filters of its own.

    Args:
        filter: (height, width, channels, filters a channel).
        strides, padding, dilations: those of `convolution`.
        data_format: "NHWC" or "NCHW".

    Raises:
        InvalidArgumentError: if the numbers of channels differ, or the window does not fit.

    >>> depthwise_conv2d([[[[1.0, 2.0]]]], [[[[1.0, 10.0], [1.0, 10.0]]]], [1, 1, 1, 1], "VALID").numpy().ravel()
    array([ 1., 10.,  2., 20.], dtype=float32)
    """
    return _depthwise_conv2d("depthwise_conv2d", input, filter, strides, padding, data_format, dilations)


def _depthwise_conv2d(
    name: str,
    input: TensorLike,
    filter: TensorLike,
    strides: Lengths,
    padding: Padding,
    data_format: str | None,
    dilations: Lengths | None,
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
    return _convolution(name, 2, x, f, strides, padding, data_format, dilations)


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: Lengths,
    padding: Padding,
    data_format: str | None = None,
    dilations: Lengths | None = None,
    name: str | None = None,
) -> Tensor:
    """`depthwise_conv2d`, then `conv2d` with filters of one element, which mix the channels.

    Args:
        depthwise_filter: (height, width, channels, filters a channel).
        pointwise_filter: (1, 1, channels times filters a channel, out).
        strides, padding, data_format, dilations: those of `depthwise_conv2d`.

    Raises:
        InvalidArgumentError: if the numbers of channels differ, or the window does not fit.

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
    return _convolution("separable_conv2d", 2, apart, point, 1, "VALID", data_format, None)
