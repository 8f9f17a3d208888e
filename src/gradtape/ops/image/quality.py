"""Measures of an image and of the similarity of two: edges, differences, variation, PSNR and SSIM."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ..array.movement import cast, stack
from ..array.padding import pad
from ..known import known
from ..math.cumulative import reduce_prod
from ..math.elementwise import abs_, log, maximum, power, select, square
from ..math.reduction import reduce_mean, reduce_std, reduce_sum
from ..scalars import integer, number
from .colour import convert_image_dtype
from .resample import Weights, filtering, halving, reflected, resample
from .resize import as_batch, as_images


def _along(x: Tensor, weights: Weights, axis: int) -> Tensor:
    return apply(resample, (x,), {"weights": weights, "axis": axis})


def per_image_standardization(image: TensorLike) -> Tensor:
    """Each image less its mean, divided by its standard deviation (at least 1 / sqrt(pixels)), as float32.

    Raises:
        InvalidArgumentError: if the image has fewer than 3 axes.

    >>> per_image_standardization([[[1.0], [3.0]]]).numpy()[0, :, 0]
    array([-1.,  1.], dtype=float32)
    """
    x = cast(image, "float32")
    if x.ndim < 3:
        raise InvalidArgumentError(
            f"per_image_standardization: an image has shape (height, width, channels), not {list(x._array.shape)}"
        )
    count = np.prod(x._array.shape[-3:])
    least = np.float32(1 / np.sqrt(count)) if count else np.float32(0)
    deviation = reduce_std(x, (-3, -2, -1), keepdims=True)
    return (x - reduce_mean(x, (-3, -2, -1), keepdims=True)) / apply(maximum, (deviation, least))


# ---------------------------------------------------------------------------------------------------------------------
# Differences between neighbours


def _differences(x: Tensor) -> tuple[Tensor, Tensor]:
    """Each pixel less the one above it, and less the one to its left."""
    return x[..., 1:, :, :] - x[..., :-1, :, :], x[..., 1:, :] - x[..., :-1, :]


def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """The sum of the absolute differences of neighbours, above and beside, of an image or of each of a batch.

    Raises:
        DTypeError: if the images are unsigned integers.

    >>> float(total_variation([[[1.0], [3.0], [2.0]]]))
    3.0
    """
    x = as_images("total_variation", images)
    if x.dtype.is_unsigned:  # a difference would wrap around
        raise DTypeError(f"total_variation does not take dtype {x.dtype.name}: use cast(x, 'float32')")
    down, across = (reduce_sum(apply(abs_, (d,)), (-3, -2, -1)) for d in _differences(x))
    return down + across


def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """The differences of each pixel to the one below it, and to the one to its right; 0 in the last row, column.

    >>> dy, dx = image_gradients([[[[1.0], [3.0], [2.0]]]])
    >>> dx.numpy()[0, 0, :, 0]
    array([ 2., -1.,  0.], dtype=float32)
    """
    x = as_batch("image_gradients", image)
    down, across = _differences(x)
    none = [0, 0]
    return pad(down, [none, [0, 1], none, none]), pad(across, [none, none, [0, 1], none])


def sobel_edges(image: TensorLike) -> Tensor:
    """Sobel's differences down and across, in a new last axis of length 2. Beyond the edges the image is mirrored.

    Raises:
        DTypeError: if the image is not floating.
        InvalidArgumentError: if it has fewer than 2 x 2 pixels.

    >>> sobel_edges([[[[0.0], [1.0]], [[0.0], [1.0]]]]).shape
    TensorShape([1, 2, 2, 1, 2])
    """
    x = as_batch("sobel_edges", image)
    if not x.dtype.is_floating:
        raise DTypeError(f"sobel_edges takes floating images, not {x.dtype.name}: use cast(x, 'float32')")
    height, width = x._array.shape[1:3]
    if min(height, width) < 2:
        raise InvalidArgumentError(
            f"sobel_edges: an image of {height} x {width} pixels cannot be mirrored: it takes 2 x 2 at least"
        )
    slope, smooth = (-1.0, 0.0, 1.0), (1.0, 2.0, 1.0)
    down = _along(_along(x, reflected(slope, height), -3), reflected(smooth, width), -2)
    across = _along(_along(x, reflected(smooth, height), -3), reflected(slope, width), -2)
    return stack([down, across], -1)


# ---------------------------------------------------------------------------------------------------------------------
# Similarity of two images


def _pair(
    name: str, first: TensorLike, second: TensorLike, max_val: TensorLike
) -> tuple[Tensor, Tensor, Tensor]:
    """Two images, or batches that broadcast, and the range of their values, as float32."""
    a = convert(first)
    b = convert(second, None, a._array.dtype)
    alike = a.ndim >= 3 <= b.ndim and a._array.shape[-3:] == b._array.shape[-3:]
    try:
        np.broadcast_shapes(a._array.shape, b._array.shape)
    except ValueError:
        alike = False
    if not alike:
        raise InvalidArgumentError(
            f"{name}: the images must have the same height, width and channels, and batches that broadcast, "
            f"not the shapes {list(a._array.shape)} and {list(b._array.shape)}"
        )
    range_ = cast(convert(max_val), a.dtype)
    x, y, limit = (convert_image_dtype(part, "float32") for part in (a, b, range_))
    return x, y, limit


def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio in decibel, for each pair of images; `max_val` is the range of their values.

    It is infinite for equal images, with gradient 0.

    Raises:
        InvalidArgumentError: if the images differ in height, width or channels, or the batches do not broadcast.

    >>> float(psnr([[[0.0]]], [[[0.1]]], 1.0))
    20.0
    """
    x, y, range_ = _pair("psnr", a, b, max_val)
    error = reduce_mean(apply(square, (x - y,)), (-3, -2, -1))
    some = error > 0.0
    logarithm = apply(log, (apply(select, (some, error, np.float32(1))),))
    noise = apply(select, (some, logarithm, np.float32(-np.inf)))
    return (apply(log, (range_,)) * 2.0 - noise) * (10 / np.log(10))


def _blur(name: str, filter_size: int, filter_sigma: float) -> tuple[float, ...]:
    """The taps of a Gaussian."""
    length = integer(name, "filter_size", filter_size, 1)
    width = number(name, "filter_sigma", filter_sigma)
    if not width > 0:
        raise InvalidArgumentError(f"{name}: filter_sigma must be positive, not {width}")
    bell = np.exp(-0.5 * ((np.arange(length) - (length - 1) / 2) / width) ** 2)
    return tuple((bell / bell.sum()).tolist())


def _similarity(
    name: str, x: Tensor, y: Tensor, range_: Tensor, taps: tuple[float, ...], k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """SSIM at each place where the filter fits in, and its factor that compares contrast and structure."""
    height, width = x._array.shape[-3:-1]
    if min(height, width) < len(taps):
        raise InvalidArgumentError(
            f"{name}: filter_size {len(taps)} does not fit into an image of {height} x {width} pixels"
        )
    down, across = filtering(taps, height), filtering(taps, width)

    def mean(z: Tensor) -> Tensor:
        return _along(_along(z, down, -3), across, -2)

    c1, c2 = (apply(square, (range_ * number(name, what, k),)) for what, k in (("k1", k1), ("k2", k2)))
    mean_x, mean_y = mean(x), mean(y)
    product, squares = mean_x * mean_y * 2.0, apply(square, (mean_x,)) + apply(square, (mean_y,))
    luminance = (product + c1) / (squares + c1)
    covariance = mean(x * y) * 2.0 - product
    variances = mean(apply(square, (x,)) + apply(square, (y,))) - squares
    contrast = (covariance + c2) / (variances + c2)
    return luminance * contrast, contrast


def _mean_over_places(x: Tensor) -> Tensor:
    return reduce_mean(reduce_mean(x, -3), -2)


def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """The structural similarity of each pair of images.

    Args:
        max_val: the range of the images' values.
        filter_size, filter_sigma: length and standard deviation of the Gaussian filter.
        k1, k2: in units of `max_val`, the constants that keep the quotients of luminance and contrast finite.
        return_index_map: whether to return the similarity at each place, not its mean.

    Raises:
        InvalidArgumentError: if the images differ in height, width or channels, or the filter does not fit in.

    >>> float(ssim(np.ones((11, 11, 1)), np.ones((11, 11, 1)), 1.0))
    1.0
    """
    x, y, range_ = _pair("ssim", img1, img2, max_val)
    index, _ = _similarity("ssim", x, y, range_, _blur("ssim", filter_size, filter_sigma), k1, k2)
    return reduce_mean(index if return_index_map else _mean_over_places(index), -1)


_MSSSIM_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors: Sequence[float] = _MSSSIM_WEIGHTS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of each pair of images over several scales, each half of the one before.

    Where a scale's similarity is not positive, it counts as 0, with gradient 0.

    Args:
        power_factors: exponents of the scales in the product.
        max_val, filter_size, filter_sigma, k1, k2: those of `ssim`.

    Raises:
        InvalidArgumentError: as `ssim` does, at any scale.

    >>> float(ssim_multiscale(np.ones((32, 32, 1)), np.ones((32, 32, 1)), 1.0, (0.5, 0.5)))
    1.0
    """
    x, y, range_ = _pair("ssim_multiscale", img1, img2, max_val)
    taps = _blur("ssim_multiscale", filter_size, filter_sigma)
    exponents = known("ssim_multiscale", "power_factors", convert(power_factors)._array)
    if exponents.ndim != 1 or exponents.dtype.kind != "f" or not exponents.size:
        raise InvalidArgumentError(
            f"ssim_multiscale: power_factors must be a list of numbers, not {power_factors!r}"
        )
    scales = []
    for i, exponent in enumerate(exponents.tolist()):
        if i:
            x, y = (
                _along(_along(z, halving(z._array.shape[-3]), -3), halving(z._array.shape[-2]), -2)
                for z in (x, y)
            )
        both, contrast = _similarity("ssim_multiscale", x, y, range_, taps, k1, k2)
        last = i == len(exponents) - 1
        scales.append(_positive_power(_mean_over_places(both if last else contrast), exponent))
    return reduce_mean(reduce_prod(stack(scales, -1), -1), -1)


def _positive_power(x: Tensor, exponent: float) -> Tensor:
    """x ** exponent, and 0, with gradient 0, where x is not positive."""
    positive = x > 0.0
    raised = apply(power, (apply(select, (positive, x, np.float32(1))), float(exponent)))
    return apply(select, (positive, raised, np.float32(0)))
