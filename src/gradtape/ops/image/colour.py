"""Colours: how pixels are stored, brightness and contrast, colour spaces, and changes at random.

Integer images count from 0 to the largest number of their dtype where floating ones count from 0 to 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply
from ...core.tensor import Tensor, convert
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
from .augment import drawn, drawn_from

# ---------------------------------------------------------------------------------------------------------------------
# How pixels are stored


def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """The image in another dtype, scaled: floating ones count to 1, integers to the largest number of their dtype.

    `saturate` cuts off what the new dtype cannot hold instead of letting it overflow.

    >>> convert_image_dtype(np.uint8([0, 51, 255]), "float32").numpy().round(4)
    array([0. , 0.2, 1. ], dtype=float32)
    """
    x: Any = convert(image)
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


def _to_integers(x: Any, dtype: Any, saturate: bool) -> Any:
    if saturate:
        kind, number = x._array.dtype, float if x.dtype.is_floating else int
        low, high = max(dtype.min, number(x.dtype.min)), min(dtype.max, number(x.dtype.max))
        most = np.asarray(high, kind)
        if number(most) > high:  # 2**31 - 1 is no float32
            most = np.nextafter(most, np.zeros((), kind))
        x = apply(clip, (x, np.asarray(low, kind), most))
    return cast(x, dtype)


def _floating(image: Any) -> Any:
    """The image in float16, float32 or float64."""
    x = convert(image)
    return x if x.dtype.name in ("float16", "float32", "float64") else convert_image_dtype(x, "float32")


def _follow(number: Any, x: Any) -> Any:
    """A number in the dtype of an image."""
    value = convert(number, None, x._array.dtype)
    return value if value.dtype is x.dtype else cast(value, x.dtype)


def _rank(name: str, x: Any, rank: int, channels: int | None = None) -> Any:
    shape = x._array.shape
    if len(shape) < rank or (channels is not None and shape[-1] != channels):
        wanted = f"at least {rank} ax{'es' if rank > 1 else 'is'}"
        if channels is not None:
            wanted += f", the last of length {channels}"
        raise InvalidArgumentError(
            f"{name}: the image must have {wanted}; this one is of shape {list(shape)}"
        )
    return x


# ---------------------------------------------------------------------------------------------------------------------
# Brightness, contrast, gamma


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """The image with `delta` added, where 1 is the range of all values. Integer images are cut off at their ends.

    >>> adjust_brightness([0.1, 0.5], 0.25).numpy()
    array([0.35, 0.75], dtype=float32)
    """
    source = convert(image)
    x = _floating(source)
    return convert_image_dtype(apply(add, (x, _follow(delta, x))), source.dtype, saturate=True)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """The images with each channel's distance from its mean multiplied by `contrast_factor`.

    >>> adjust_contrast([[[1.0], [3.0]]], 2.0).numpy()[0, :, 0]
    array([0., 4.], dtype=float32)
    """
    source = convert(images)
    x = _rank("adjust_contrast", _floating(source), 3)
    mean: Any = reduce_mean(
        reduce_mean(x, -3, keepdims=True), -2, keepdims=True
    )  # 5 times as fast as both at once
    return convert_image_dtype((x - mean) * _follow(contrast_factor, x) + mean, source.dtype, saturate=True)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """gain * image ** gamma.

    >>> adjust_gamma([0.25, 1.0], 0.5).numpy()
    array([0.5, 1. ], dtype=float32)
    """
    source = convert(image)
    x = _floating(source)
    exponent = _follow(gamma, x)
    if not is_traced(exponent._array) and (exponent._array < 0).any():
        raise InvalidArgumentError(f"adjust_gamma: gamma must not be negative, but is {gamma}")
    return convert_image_dtype(_follow(gain, x) * apply(power, (x, exponent)), source.dtype, saturate=True)


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


def _mixed(name: str, x: Any, matrix: list[list[float]]) -> Any:
    """The three channels of each pixel times a matrix."""
    if not x.dtype.is_floating:
        raise DTypeError(
            f"{name} takes floating images, not {x.dtype.name}: use convert_image_dtype(x, 'float32')"
        )
    _rank(name, x, 1, 3)
    mixed = matmul(x if x.ndim > 1 else x[None], np.array(matrix).astype(x._array.dtype))
    return mixed if x.ndim > 1 else mixed[0]


def rgb_to_yiq(images: Any) -> Tensor:
    """The colours of the last axis from red, green, blue to luminance and two of chrominance, as in NTSC.

    >>> rgb_to_yiq([1.0, 1.0, 1.0]).numpy().round(2) + 0
    array([1., 0., 0.], dtype=float32)
    """
    return _mixed("rgb_to_yiq", convert(images), _RGB_TO_YIQ)


def yiq_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yiq`.

    >>> yiq_to_rgb([1.0, 0.0, 0.0]).numpy()
    array([1., 1., 1.], dtype=float32)
    """
    return _mixed("yiq_to_rgb", convert(images), _YIQ_TO_RGB)


def rgb_to_yuv(images: Any) -> Tensor:
    """The colours of the last axis from red, green, blue to luminance and two of chrominance, as in PAL.

    >>> rgb_to_yuv([1.0, 1.0, 1.0]).numpy().round(2) + 0
    array([1., 0., 0.], dtype=float32)
    """
    return _mixed("rgb_to_yuv", convert(images), _RGB_TO_YUV)


def yuv_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yuv`.

    >>> yuv_to_rgb([1.0, 0.0, 0.0]).numpy()
    array([1., 1., 1.], dtype=float32)
    """
    return _mixed("yuv_to_rgb", convert(images), _YUV_TO_RGB)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """The luminance of the colours of the last axis, which gets length 1.

    >>> rgb_to_grayscale(np.uint8([[[0, 0, 255]]])).numpy()
    array([[[29]]], dtype=uint8)
    """
    source = convert(images)
    return convert_image_dtype(_mixed("rgb_to_grayscale", _floating(source), _LUMA), source.dtype)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """The last axis, of length 1, three times.

    >>> grayscale_to_rgb([[[1]]]).numpy()
    array([[[1, 1, 1]]], dtype=int32)
    """
    x = _rank("grayscale_to_rgb", convert(images), 1, 1)
    return tile(x, [1] * (x.ndim - 1) + [3])


# ---------------------------------------------------------------------------------------------------------------------
# Hue and saturation


def _channels(name: str, images: Any) -> list[Any]:
    x = _rank(name, convert(images), 1, 3)
    if not x.dtype.is_floating:
        raise DTypeError(
            f"{name} takes floating images, not {x.dtype.name}: use convert_image_dtype(x, 'float32')"
        )
    return unstack(x, axis=-1)


def _extremes(red: Any, green: Any, blue: Any) -> tuple[Any, Any]:
    """The largest and the smallest of the three."""
    return (
        apply(maximum, (apply(maximum, (red, green)), blue)),
        apply(minimum, (apply(minimum, (red, green)), blue)),
    )


def _hue(red: Any, green: Any, blue: Any, top: Any, span: Any) -> Any:
    """The hue in [0, 6): which channel is largest, and how far the other two are apart. Grey has hue 0."""
    red_leads, green_leads = (apply(equal, (channel, top)) for channel in (red, green))
    ahead = apply(select, (red_leads, green - blue, apply(select, (green_leads, blue - red, red - green))))
    kind = top._array.dtype.type
    start = apply(select, (red_leads, kind(0), apply(select, (green_leads, kind(2), kind(4)))))
    hue = apply(divide_no_nan, (ahead, span)) + start
    return apply(select, (hue < 0.0, hue + 6.0, hue))


def _shares(hue: Any) -> list[Any]:
    """For a hue in [0, 6], the share in [0, 1] of each channel in a full colour."""
    red = apply(abs_, (hue - 3.0,)) - 1.0
    green, blue = (2.0 - apply(abs_, (hue - at,)) for at in (2.0, 4.0))
    return [apply(clip, (share, 0.0, 1.0)) for share in (red, green, blue)]


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """The colours of the last axis from red, green, blue to hue, saturation, value, all in [0, 1].

    >>> rgb_to_hsv([0.0, 0.5, 0.0]).numpy().round(4)
    array([0.3333, 1.    , 0.5   ], dtype=float32)
    """
    red, green, blue = _channels("rgb_to_hsv", images)
    top, bottom = _extremes(red, green, blue)
    span = top - bottom
    saturation = _saturation(top, span)
    return stack([_hue(red, green, blue, top, span) / 6.0, saturation, top], -1)


def _saturation(top: Any, span: Any) -> Any:
    ratio = apply(divide_no_nan, (span, top))
    return apply(select, (top > 0.0, ratio, np.zeros((), ratio._array.dtype)))


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """The inverse of `rgb_to_hsv`.

    >>> hsv_to_rgb([1 / 3, 1.0, 0.5]).numpy().round(4)
    array([0. , 0.5, 0. ], dtype=float32)
    """
    hue, saturation, value = _channels("hsv_to_rgb", images)
    return stack([(1.0 - saturation + saturation * share) * value for share in _shares(hue * 6.0)], -1)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """The image with `delta`, between -1 and 1, added to the hue of each pixel; 1 is once around.

    >>> adjust_hue([[[1.0, 0.0, 0.0]]], 1 / 3).numpy().round(4)
    array([[[0., 1., 0.]]], dtype=float32)
    """
    source = convert(image)
    x = _rank("adjust_hue", _floating(source), 3, 3)
    turn = _follow(delta, x)
    if not is_traced(turn._array) and not -1 <= number("adjust_hue", "delta", turn) <= 1:
        raise InvalidArgumentError(f"adjust_hue: delta must lie between -1 and 1, not {delta}")
    red, green, blue = unstack(x, axis=-1)
    top, bottom = _extremes(red, green, blue)
    span = top - bottom
    hue = apply(floormod, (_hue(red, green, blue, top, span) + turn * 6.0, 6.0))
    return convert_image_dtype(stack([bottom + span * share for share in _shares(hue)], -1), source.dtype)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """The image with the saturation of each pixel multiplied by `saturation_factor`.

    >>> adjust_saturation([[[1.0, 0.5, 0.5]]], 2.0).numpy().round(4)
    array([[[1., 0., 0.]]], dtype=float32)
    """
    source = convert(image)
    x = _rank("adjust_saturation", _floating(source), 3, 3)
    red, green, blue = unstack(x, axis=-1)
    top, bottom = _extremes(red, green, blue)
    span = top - bottom
    more = apply(clip, (_saturation(top, span) * _follow(saturation_factor, x), 0.0, 1.0))
    shares = _shares(_hue(red, green, blue, top, span))
    return convert_image_dtype(
        stack([(1.0 - more + more * share) * top for share in shares], -1), source.dtype
    )


# ---------------------------------------------------------------------------------------------------------------------
# At random


def _symmetric(name: str, max_delta: Any, most: float, draw: Any) -> Any:
    limit = number(name, "max_delta", max_delta)
    if not 0 <= limit <= most:
        above = f", nor above {most}" if most < np.inf else ""
        raise InvalidArgumentError(f"{name}: max_delta must not be negative{above}, but is {limit}")
    return draw((), minval=-limit, maxval=limit)


def _factor(name: str, lower: Any, upper: Any, draw: Any) -> Any:
    low, high = number(name, "lower", lower), number(name, "upper", upper)
    if not 0 <= low < high:
        raise InvalidArgumentError(f"{name}: 0 <= lower < upper must hold, not 0 <= {low:g} < {high:g}")
    return draw((), minval=low, maxval=high)


def random_brightness(image: Any, max_delta: Any, seed: Any = None) -> Tensor:
    """`adjust_brightness` by a random number between -max_delta and max_delta.

    >>> random_brightness([[[0.5]]], 0.1).shape
    TensorShape([1, 1, 1])
    """
    return adjust_brightness(image, _symmetric("random_brightness", max_delta, np.inf, drawn(seed)))


def stateless_random_brightness(image: Any, max_delta: Any, seed: Any) -> Tensor:
    """`random_brightness` as a function of a seed of two integers.

    >>> stateless_random_brightness([[[0.5]]], 0.1, (1, 2)).shape
    TensorShape([1, 1, 1])
    """
    return adjust_brightness(
        image, _symmetric("stateless_random_brightness", max_delta, np.inf, drawn_from(seed))
    )


def random_contrast(image: Any, lower: Any, upper: Any, seed: Any = None) -> Tensor:
    """`adjust_contrast` by a random factor between `lower` and `upper`.

    >>> random_contrast([[[0.5]]], 0.5, 1.5).shape
    TensorShape([1, 1, 1])
    """
    return adjust_contrast(image, _factor("random_contrast", lower, upper, drawn(seed)))


def stateless_random_contrast(image: Any, lower: Any, upper: Any, seed: Any) -> Tensor:
    """`random_contrast` as a function of a seed of two integers.

    >>> stateless_random_contrast([[[0.5]]], 0.5, 1.5, (1, 2)).shape
    TensorShape([1, 1, 1])
    """
    return adjust_contrast(image, _factor("stateless_random_contrast", lower, upper, drawn_from(seed)))


def random_hue(image: Any, max_delta: Any, seed: Any = None) -> Tensor:
    """`adjust_hue` by a random number between -max_delta and max_delta, which is at most 0.5.

    >>> random_hue([[[0.5, 0.0, 0.0]]], 0.1).shape
    TensorShape([1, 1, 3])
    """
    return adjust_hue(image, _symmetric("random_hue", max_delta, 0.5, drawn(seed)))


def stateless_random_hue(image: Any, max_delta: Any, seed: Any) -> Tensor:
    """`random_hue` as a function of a seed of two integers.

    >>> stateless_random_hue([[[0.5, 0.0, 0.0]]], 0.1, (1, 2)).shape
    TensorShape([1, 1, 3])
    """
    return adjust_hue(image, _symmetric("stateless_random_hue", max_delta, 0.5, drawn_from(seed)))


def random_saturation(image: Any, lower: Any, upper: Any, seed: Any = None) -> Tensor:
    """`adjust_saturation` by a random factor between `lower` and `upper`.

    >>> random_saturation([[[0.5, 0.0, 0.0]]], 0.5, 1.5).shape
    TensorShape([1, 1, 3])
    """
    return adjust_saturation(image, _factor("random_saturation", lower, upper, drawn(seed)))


def stateless_random_saturation(image: Any, lower: Any, upper: Any, seed: Any = None) -> Tensor:
    """`random_saturation` as a function of a seed of two integers.

    >>> stateless_random_saturation([[[0.5, 0.0, 0.0]]], 0.5, 1.5, (1, 2)).shape
    TensorShape([1, 1, 3])
    """
    return adjust_saturation(image, _factor("stateless_random_saturation", lower, upper, drawn_from(seed)))
