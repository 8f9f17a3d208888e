"""Colours: dtypes of pixels, brightness and contrast, colour spaces, and random changes.

Integer images count from 0 to the largest number of their dtype where floating ones count from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, TensorLike
from ...engine.arrays import is_traced
from ..array.movement import cast, identity, stack, tile, unstack
from ..linalg.products import matmul
from ..math.elementwise import (
    abs_,
    add,
    clip,
    divide_no_nan,
    equal,
    floormod,
    maximum,
    minimum,
    power,
    select,
)
from ..math.reduction import reduce_mean
from ..scalars import number
from .augment import sampler, stateless_sampler

# ---------------------------------------------------------------------------------------------------------------------
# Dtypes of pixels


def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """The image in another dtype, scaled: floating ones count to 1, integers to the largest number of their dtype.

    `saturate` clips values that the new dtype cannot hold, instead of letting them overflow.

    Raises:
        DTypeError: if one of the dtypes is neither floating nor integer.

    >>> convert_image_dtype(np.uint8([0, 51, 255]), "float32").numpy().round(4)
    array([0. , 0.2, 1. ], dtype=float32)
    """
    x = convert(image)
    source, to = x.dtype, dtypes.as_dtype(dtype)
    for kind in (source, to):
        if not (kind.is_floating or kind.is_integer):
            raise DTypeError(
                f"convert_image_dtype: an image is of floating or integer dtype, not {kind.name}"
            )
    if source is to:
        return identity(x)
    if source.is_floating:
        return cast(x, to) if to.is_floating else _to_integers(x * (to.max + 0.5), to, saturate)
    if to.is_floating:
        return cast(x, to) * (1.0 / source.max)
    if source.max > to.max:
        return _to_integers(x // ((source.max + 1) // (to.max + 1)), to, saturate)
    return _to_integers(x, to, saturate) * ((to.max + 1) // (source.max + 1))


def _to_integers(x: Tensor, dtype: dtypes.DType, saturate: bool) -> Tensor:
    if saturate:
        kind, number = x._array.dtype, float if x.dtype.is_floating else int
        low, high = max(dtype.min, number(x.dtype.min)), min(dtype.max, number(x.dtype.max))
        most = np.asarray(high, kind)
        if number(most) > high:  # 2**31 - 1 is no float32
            most = np.nextafter(most, np.zeros((), kind))
        x = apply(clip, (x, np.asarray(low, kind), most))
    return cast(x, dtype)


def _as_floats(image: TensorLike) -> Tensor:
    """The image in float16, float32 or float64."""
    x = convert(image)
    return x if x.dtype.name in ("float16", "float32", "float64") else convert_image_dtype(x, "float32")


def _like(x: Tensor, number: TensorLike) -> Tensor:
    """A number in the dtype of an image."""
    value = convert(number, None, x._array.dtype)
    return value if value.dtype is x.dtype else cast(value, x.dtype)


def _check_shape(name: str, x: Tensor, rank: int, channels: int | None = None) -> Tensor:
    """The image itself; raise if it has fewer axes than `rank`, or another number of channels."""
    shape = x._array.shape
    if len(shape) < rank or (channels is not None and shape[-1] != channels):
        wanted = f"at least {rank} ax{'es' if rank > 1 else 'is'}"
        if channels is not None:
            wanted += f", the last of length {channels}"
        raise InvalidArgumentError(
            f"{name}: the image must have {wanted}; this one is of shape {list(shape)}"
        )
    return x


def _check_colours(name: str, x: Tensor) -> Tensor:
    """The image itself; raise if it is not floating, or does not have three channels."""
    if not x.dtype.is_floating:
        raise DTypeError(
            f"{name} takes floating images, not {x.dtype.name}: use convert_image_dtype(x, 'float32')"
        )
    return _check_shape(name, x, 1, 3)


# ---------------------------------------------------------------------------------------------------------------------
# Brightness, contrast, gamma


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """The image with `delta` added, where 1 is the range of all values. Integer images are clipped at their ends.

    >>> adjust_brightness([0.1, 0.5], 0.25).numpy()
    array([0.35, 0.75], dtype=float32)
    """
    source = convert(image)
    x = _as_floats(source)
    return convert_image_dtype(apply(add, (x, _like(x, delta))), source.dtype, saturate=True)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """The images with each channel's distance from its mean multiplied by `contrast_factor`.

    >>> adjust_contrast([[[1.0], [3.0]]], 2.0).numpy()[0, :, 0]
    array([0., 4.], dtype=float32)
    """
    source = convert(images)
    x = _check_shape("adjust_contrast", _as_floats(source), 3)
    # One axis after the other: 5 times as fast as both at once.
    mean = reduce_mean(reduce_mean(x, -3, keepdims=True), -2, keepdims=True)
    return convert_image_dtype((x - mean) * _like(x, contrast_factor) + mean, source.dtype, saturate=True)


def adjust_gamma(image: TensorLike, gamma: TensorLike = 1, gain: TensorLike = 1) -> Tensor:
    """gain * image ** gamma.

    Raises:
        InvalidArgumentError: if `gamma` is negative.

    >>> adjust_gamma([0.25, 1.0], 0.5).numpy()
    array([0.5, 1. ], dtype=float32)
    """
    source = convert(image)
    x = _as_floats(source)
    exponent = _like(x, gamma)
    if not is_traced(exponent._array) and (exponent._array < 0).any():
        raise InvalidArgumentError(f"adjust_gamma: gamma must not be negative, but is {gamma!r}")
    return convert_image_dtype(_like(x, gain) * apply(power, (x, exponent)), source.dtype, saturate=True)


# ---------------------------------------------------------------------------------------------------------------------
# Colour spaces: products with a matrix

_RGB_TO_YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_YIQ_TO_RGB = [
    [1.0, 1.0, 1.0],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_RGB_TO_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_YUV_TO_RGB = [
    [1.0, 1.0, 1.0],
    [0.0, -0.394642334, 2.03206185],
    [1.13988303, -0.58062185, 0.0],
]
_LUMA = [[0.2989], [0.5870], [0.1140]]


def _times_matrix(name: str, x: Tensor, matrix: list[list[float]]) -> Tensor:
    """The three channels of each pixel times a matrix."""
    _check_colours(name, x)
    mixed = matmul(x if x.ndim > 1 else x[None], np.array(matrix).astype(x._array.dtype))
    return mixed if x.ndim > 1 else mixed[0]


def rgb_to_yiq(images: TensorLike) -> Tensor:
    """The colours of the last axis from red, green, blue to luminance and two of chrominance, as in NTSC.

    Raises:
        InvalidArgumentError: if the last axis does not have length 3.
        DTypeError: if the images are not floating.

    >>> rgb_to_yiq([1.0, 1.0, 1.0]).numpy().round(2) + 0
    array([1., 0., 0.], dtype=float32)
    """
    return _times_matrix("rgb_to_yiq", convert(images), _RGB_TO_YIQ)


def yiq_to_rgb(images: TensorLike) -> Tensor:
    """The inverse of `rgb_to_yiq`.

    >>> yiq_to_rgb([1.0, 0.0, 0.0]).numpy()
    array([1., 1., 1.], dtype=float32)
    """
    return _times_matrix("yiq_to_rgb", convert(images), _YIQ_TO_RGB)


def rgb_to_yuv(images: TensorLike) -> Tensor:
    """The colours of the last axis from red, green, blue to luminance and two of chrominance, as in PAL.

    Raises:
        InvalidArgumentError: if the last axis does not have length 3.
        DTypeError: if the images are not floating.

    >>> rgb_to_yuv([1.0, 1.0, 1.0]).numpy().round(2) + 0
    array([1., 0., 0.], dtype=float32)
    """
    return _times_matrix("rgb_to_yuv", convert(images), _RGB_TO_YUV)


def yuv_to_rgb(images: TensorLike) -> Tensor:
    """The inverse of `rgb_to_yuv`.

    >>> yuv_to_rgb([1.0, 0.0, 0.0]).numpy()
    array([1., 1., 1.], dtype=float32)
    """
    return _times_matrix("yuv_to_rgb", convert(images), _YUV_TO_RGB)


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """The luminance of the colours of the last axis, which gets length 1.

    >>> rgb_to_grayscale(np.uint8([[[0, 0, 255]]])).numpy()
    array([[[29]]], dtype=uint8)
    """
    source = convert(images)
    return convert_image_dtype(_times_matrix("rgb_to_grayscale", _as_floats(source), _LUMA), source.dtype)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """The last axis, of length 1, three times.

    >>> grayscale_to_rgb([[[1]]]).numpy()
    array([[[1, 1, 1]]], dtype=int32)
    """
    x = _check_shape("grayscale_to_rgb", convert(images), 1, 1)
    return tile(x, [1] * (x.ndim - 1) + [3])


# ---------------------------------------------------------------------------------------------------------------------
# Hue and saturation


def _extremes(red: Tensor, green: Tensor, blue: Tensor) -> tuple[Tensor, Tensor]:
    """The largest and the smallest of the three."""
    return (
        apply(maximum, (apply(maximum, (red, green)), blue)),
        apply(minimum, (apply(minimum, (red, green)), blue)),
    )


def _hue(red: Tensor, green: Tensor, blue: Tensor, top: Tensor, span: Tensor) -> Tensor:
    """The hue in [0, 6): which channel is largest, and how far the other two are apart. Grey has hue 0."""
    red_leads, green_leads = (apply(equal, (channel, top)) for channel in (red, green))
    difference = apply(
        select, (red_leads, green - blue, apply(select, (green_leads, blue - red, red - green)))
    )
    kind = top._array.dtype.type
    start = apply(select, (red_leads, kind(0), apply(select, (green_leads, kind(2), kind(4)))))
    hue = apply(divide_no_nan, (difference, span)) + start
    return apply(select, (hue < 0.0, hue + 6.0, hue))


def _shares(hue: Tensor) -> list[Tensor]:
    """For a hue in [0, 6], the share in [0, 1] of each channel in a full colour."""
    red = apply(abs_, (hue - 3.0,)) - 1.0
    green, blue = (2.0 - apply(abs_, (hue - at,)) for at in (2.0, 4.0))
    return [apply(clip, (share, 0.0, 1.0)) for share in (red, green, blue)]


def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """The colours of the last axis from red, green, blue to hue, saturation, value, all in [0, 1].

    Raises:
        InvalidArgumentError: if the last axis does not have length 3.
        DTypeError: if the images are not floating.

    >>> rgb_to_hsv([0.0, 0.5, 0.0]).numpy().round(4)
    array([0.3333, 1.    , 0.5   ], dtype=float32)
    """
    red, green, blue = unstack(_check_colours("rgb_to_hsv", convert(images)), axis=-1)
    top, bottom = _extremes(red, green, blue)
    span = top - bottom
    saturation = _saturation(top, span)
    return stack([_hue(red, green, blue, top, span) / 6.0, saturation, top], -1)


def _saturation(top: Tensor, span: Tensor) -> Tensor:
    ratio = apply(divide_no_nan, (span, top))
    return apply(select, (top > 0.0, ratio, np.zeros((), ratio._array.dtype)))


def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of `rgb_to_hsv`.

    >>> hsv_to_rgb([1 / 3, 1.0, 0.5]).numpy().round(4)
    array([0. , 0.5, 0. ], dtype=float32)
    """
    hue, saturation, value = unstack(_check_colours("hsv_to_rgb", convert(images)), axis=-1)
    return stack([(1.0 - saturation + saturation * share) * value for share in _shares(hue * 6.0)], -1)


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """The image with `delta`, between -1 and 1, added to the hue of each pixel; 1 is once around.

    Raises:
        InvalidArgumentError: if `delta` is out of range, or the image does not have three channels.

    >>> adjust_hue([[[1.0, 0.0, 0.0]]], 1 / 3).numpy().round(4)
    array([[[0., 1., 0.]]], dtype=float32)
    """
    source = convert(image)
    x = _check_shape("adjust_hue", _as_floats(source), 3, 3)
    turn = _like(x, delta)
    if not is_traced(turn._array) and not -1 <= number("adjust_hue", "delta", turn) <= 1:
        raise InvalidArgumentError(f"adjust_hue: delta must lie between -1 and 1, not {delta!r}")
    red, green, blue = unstack(x, axis=-1)
    top, bottom = _extremes(red, green, blue)
    span = top - bottom
    hue = apply(floormod, (_hue(red, green, blue, top, span) + turn * 6.0, 6.0))
    return convert_image_dtype(stack([bottom + span * share for share in _shares(hue)], -1), source.dtype)


def adjust_saturation(image: TensorLike, saturation_factor: TensorLike, name: str | None = None) -> Tensor:
    """The image with the saturation of each pixel multiplied by `saturation_factor`.

    Raises:
        InvalidArgumentError: if the image does not have three channels.

    >>> adjust_saturation([[[1.0, 0.5, 0.5]]], 2.0).numpy().round(4)
    array([[[1., 0., 0.]]], dtype=float32)
    """
    source = convert(image)
    x = _check_shape("adjust_saturation", _as_floats(source), 3, 3)
    red, green, blue = unstack(x, axis=-1)
    top, bottom = _extremes(red, green, blue)
    span = top - bottom
    more = apply(clip, (_saturation(top, span) * _like(x, saturation_factor), 0.0, 1.0))
    shares = _shares(_hue(red, green, blue, top, span))
    return convert_image_dtype(
        stack([(1.0 - more + more * share) * top for share in shares], -1), source.dtype
    )


# ---------------------------------------------------------------------------------------------------------------------
# At random


def _random_delta(name: str, max_delta: float, most: float, draw: Callable[..., Tensor]) -> Tensor:
    """A random number between -max_delta and max_delta, which is `most` at most."""
    limit = number(name, "max_delta", max_delta)
    if not 0 <= limit <= most:
        above = f", nor above {most}" if most < np.inf else ""
        raise InvalidArgumentError(f"{name}: max_delta must not be negative{above}, but is {limit}")
    return draw((), minval=-limit, maxval=limit)


def _random_factor(name: str, lower: float, upper: float, draw: Callable[..., Tensor]) -> Tensor:
    """A random number between `lower` and `upper`, neither of which is negative."""
    low, high = number(name, "lower", lower), number(name, "upper", upper)
    if not 0 <= low < high:
        raise InvalidArgumentError(f"{name}: 0 <= lower < upper must hold, not 0 <= {low:g} < {high:g}")
    return draw((), minval=low, maxval=high)


def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a random number between -max_delta and max_delta.

    Raises:
        InvalidArgumentError: if `max_delta` is negative.

    >>> random_brightness([[[0.5]]], 0.1).shape
    TensorShape([1, 1, 1])
    """
    return adjust_brightness(image, _random_delta("random_brightness", max_delta, np.inf, sampler(seed)))


def stateless_random_brightness(image: TensorLike, max_delta: float, seed: TensorLike) -> Tensor:
    """`random_brightness` up to `max_delta`, as a function of `seed`, two integers.

    >>> stateless_random_brightness([[[0.5]]], 0.1, (1, 2)).shape
    TensorShape([1, 1, 1])
    """
    return adjust_brightness(
        image, _random_delta("stateless_random_brightness", max_delta, np.inf, stateless_sampler(seed))
    )


def random_contrast(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` by a random factor between `lower` and `upper`.

    Raises:
        InvalidArgumentError: unless 0 <= lower < upper.

    >>> random_contrast([[[0.5]]], 0.5, 1.5).shape
    TensorShape([1, 1, 1])
    """
    return adjust_contrast(image, _random_factor("random_contrast", lower, upper, sampler(seed)))


def stateless_random_contrast(image: TensorLike, lower: float, upper: float, seed: TensorLike) -> Tensor:
    """`random_contrast` between `lower` and `upper`, as a function of `seed`, two integers.

    >>> stateless_random_contrast([[[0.5]]], 0.5, 1.5, (1, 2)).shape
    TensorShape([1, 1, 1])
    """
    return adjust_contrast(
        image, _random_factor("stateless_random_contrast", lower, upper, stateless_sampler(seed))
    )


def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a random number between -max_delta and max_delta, which is at most 0.5.

    Raises:
        InvalidArgumentError: if `max_delta` is negative or above 0.5.

    >>> random_hue([[[0.5, 0.0, 0.0]]], 0.1).shape
    TensorShape([1, 1, 3])
    """
    return adjust_hue(image, _random_delta("random_hue", max_delta, 0.5, sampler(seed)))


def stateless_random_hue(image: TensorLike, max_delta: float, seed: TensorLike) -> Tensor:
    """`random_hue` up to `max_delta`, as a function of `seed`, two integers.

    >>> stateless_random_hue([[[0.5, 0.0, 0.0]]], 0.1, (1, 2)).shape
    TensorShape([1, 1, 3])
    """
    return adjust_hue(image, _random_delta("stateless_random_hue", max_delta, 0.5, stateless_sampler(seed)))


def random_saturation(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_saturation` by a random factor between `lower` and `upper`.

    Raises:
        InvalidArgumentError: unless 0 <= lower < upper.

    >>> random_saturation([[[0.5, 0.0, 0.0]]], 0.5, 1.5).shape
    TensorShape([1, 1, 3])
    """
    return adjust_saturation(image, _random_factor("random_saturation", lower, upper, sampler(seed)))


def stateless_random_saturation(
    image: TensorLike, lower: float, upper: float, seed: TensorLike | None = None
) -> Tensor:
    """`random_saturation` between `lower` and `upper`, as a function of `seed`, two integers.

    >>> stateless_random_saturation([[[0.5, 0.0, 0.0]]], 0.5, 1.5, (1, 2)).shape
    TensorShape([1, 1, 3])
    """
    return adjust_saturation(
        image, _random_factor("stateless_random_saturation", lower, upper, stateless_sampler(seed))
    )
