"""Images in files: JPEG, PNG, BMP, GIF and WebP, decoded to tensors of pixels and encoded again, by Pillow.

A decoder takes one string. Pixels have the shape (height, width, channels), and are uint8 unless asked otherwise.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.dtypes import DType
from ..core.errors import InvalidArgumentError
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.types import DTypeLike, TensorLike
from ..ops.known import afford, known, static_shape
from ..ops.scalars import boolean, choice, integer, text
from ..ops.strings.texts import each
from . import jpeg_xl, png16, quick_jpeg
from .contents import one_string, string_tensor, strings
from .extras import needed

_SIGNATURES = {b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG", b"GIF8": "GIF", b"BM": "BMP"}
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}  # Pillow's, by the number of channels
_LUMA = np.array([9797, 19234, 3737], np.uint32)  # of ITU-R 601, in parts of 32768, as libpng has it
_TRANSFORMS = ("", "INTEGER_FAST", "INTEGER_ACCURATE")
_CHANNELS = {"JPEG": (0, 1, 3), "PNG": (0, 1, 2, 3, 4), "BMP": (0, 1, 3, 4), "GIF": (0, 3), "WEBP": (0, 3, 4),
             "JXL": (0, 1, 3, 4)}  # fmt: skip


def _kind(contents: bytes) -> str | None:
    if contents[:4] == b"RIFF" and contents[8:12] == b"WEBP":
        return "WEBP"
    if contents.startswith((jpeg_xl.BARE, jpeg_xl.BOXED)):
        return "JXL"
    return next((kind for start, kind in _SIGNATURES.items() if contents.startswith(start)), None)


def _opened(operation: str, contents: bytes, formats: tuple[str, ...]) -> Any:
    """The image in these bytes, not decoded yet.

    Raises:
        InvalidArgumentError: if the bytes are no image of these formats.
        ResourceExhaustedError: if the memory does not hold its pixels.
    """
    image_module = needed(operation, "PIL.Image", "Pillow")
    if not contents:
        raise InvalidArgumentError(f"{operation}: the contents are empty")
    try:
        image = image_module.open(io.BytesIO(contents), formats=formats)
    except image_module.UnidentifiedImageError as error:
        found = _kind(contents)
        hint = f"they look like {found}" if found else f"they begin with {contents[:8]!r}"
        raise InvalidArgumentError(
            f"{operation}: the contents are no {' or '.join(formats)}: {hint}"
        ) from error
    except (image_module.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        raise InvalidArgumentError(f"{operation}: the image cannot be read: {error}") from error
    afford(operation, (image.height, image.width, 4), 4)
    return image


def _pixels(operation: str, image: Any, channels: int) -> np.ndarray:
    """The pixels of an image with as many channels; 0 keeps those of the file."""
    wanted = _MODES.get(channels) or _natural_mode(image)
    with _as_damage(operation):
        array = np.asarray(image if image.mode == wanted else _converted(image, wanted))
    return array.reshape(image.height, image.width, -1)


@contextmanager
def _as_damage(operation: str) -> Iterator[None]:
    """Raise Pillow's errors about damaged files as InvalidArgumentError."""
    try:
        yield
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, struct.error) as error:
        raise InvalidArgumentError(f"{operation}: the image is damaged: {error}") from error


def _natural_mode(image: Any) -> str:
    if image.mode in ("1", "L"):
        return "L"
    if image.mode in ("LA", "La"):
        return "LA"
    if image.mode in ("RGBA", "PA") or (image.mode == "P" and "transparency" in image.info):
        return "RGBA"
    return "RGB"


def _converted(image: Any, mode: str) -> Any:
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    if mode in ("L", "LA") and image.mode in ("RGB", "RGBA"):
        pixels = np.asarray(image)
        grey = (pixels[..., :3].astype(np.uint32) @ _LUMA >> 15).astype(np.uint8)
        alpha = pixels[..., 3] if image.mode == "RGBA" else np.full_like(grey, 255)
        return grey if mode == "L" else np.stack([grey, alpha], -1)
    return image.convert(mode)


def _checked_channels(operation: str, channels: Any, kind: str) -> int:
    number = 0 if channels is None else integer(operation, "channels", channels)
    if number not in _CHANNELS[kind]:
        allowed = ", ".join(map(str, _CHANNELS[kind]))
        raise InvalidArgumentError(f"{operation}: channels must be one of {allowed}, not {channels}")
    return number


def decode_jpeg(
    contents: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The pixels of a JPEG, uint8 of shape (height, width, channels). PNG, GIF and BMP are also taken.

    Args:
        channels: 1 for grey, 3 for colour, 0 for what the file has.
        ratio: 1, 2, 4 or 8: how much smaller the image is decoded.
        try_recover_truncated: whether the missing part of a file that ends early is filled in.
        fancy_upscaling: whether colours of lower resolution are interpolated.
        dct_method: "INTEGER_ACCURATE", or "INTEGER_FAST", which is the default as in TensorFlow.
        acceptable_fraction: accepted.

    Pixels are TensorFlow's, bit for bit. Pillow decodes what simplejpeg does not (smaller images, CMYK), or everything
    where that is not installed; it always interpolates and is accurate.

    Raises:
        InvalidArgumentError: if the contents are no image, or a damaged one.

    >>> image = decode_jpeg(encode_jpeg(np.full((2, 3, 3), 128, np.uint8)))
    >>> image.shape, image.dtype
    (TensorShape([2, 3, 3]), tf.uint8)
    """
    data = one_string("decode_jpeg", "contents", contents)
    if _kind(data) not in ("JPEG", None):
        return decode_image(data, channels, expand_animations=False)
    ratio = choice("decode_jpeg", "ratio", ratio, (1, 2, 4, 8))
    recover = boolean("decode_jpeg", "try_recover_truncated", try_recover_truncated)
    number = _checked_channels("decode_jpeg", channels, "JPEG")
    accurate = choice("decode_jpeg", "dct_method", dct_method, _TRANSFORMS) == "INTEGER_ACCURATE"
    if ratio == 1:
        smooth = boolean("decode_jpeg", "fancy_upscaling", fancy_upscaling)
        quick = quick_jpeg.pixels("decode_jpeg", data, number, accurate, smooth)
        if quick is not None:
            return wrap(quick)
    image = _opened("decode_jpeg", data, ("JPEG",))
    if ratio > 1 or number == 1:  # grey is one of the channels that a JPEG has
        image.draft(
            "L" if number == 1 else None, (max(image.width // ratio, 1), max(image.height // ratio, 1))
        )
    return wrap(_decoded_jpeg(image, number, recover))


def _decoded_jpeg(image: Any, channels: int, recover: bool) -> np.ndarray:
    if not recover:
        return _pixels("decode_jpeg", image, channels)
    files: Any = needed("decode_jpeg", "PIL.ImageFile", "Pillow")
    before, files.LOAD_TRUNCATED_IMAGES = files.LOAD_TRUNCATED_IMAGES, True
    try:
        return _pixels("decode_jpeg", image, channels)
    finally:
        files.LOAD_TRUNCATED_IMAGES = before


def decode_and_crop_jpeg(
    contents: TensorLike,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A part of a JPEG.

    Args:
        crop_window: its first row, its first column, its height and its width.

    The other arguments are those of `decode_jpeg`.

    Raises:
        InvalidArgumentError: if the window reaches beyond the image.

    >>> decode_and_crop_jpeg(encode_jpeg(np.zeros((4, 4, 3), np.uint8)), [1, 1, 2, 3]).shape
    TensorShape([2, 3, 3])
    """
    window = static_shape("decode_and_crop_jpeg", crop_window)
    if len(window) != 4:
        raise InvalidArgumentError(
            f"decode_and_crop_jpeg: crop_window must be four numbers, not {list(window)}"
        )
    y, x, height, width = window
    whole = decode_jpeg(
        contents, channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
    )._array
    if min(y, x) < 0 or min(height, width) <= 0 or y + height > whole.shape[0] or x + width > whole.shape[1]:
        raise InvalidArgumentError(
            f"decode_and_crop_jpeg: the window {[y, x, height, width]} reaches beyond an image of "
            f"{whole.shape[0]} by {whole.shape[1]}"
        )
    return wrap(whole[y : y + height, x : x + width])


def decode_png(
    contents: TensorLike, channels: int = 0, dtype: DTypeLike = dtypes.uint8, name: str | None = None
) -> Tensor:
    """The pixels of a PNG, of shape (height, width, channels). JPEG, GIF and BMP are also taken.

    Args:
        channels: 1 grey, 2 grey and alpha, 3 colour, 4 colour and alpha, 0 for what the file has.
        dtype: uint8 or uint16.

    Raises:
        InvalidArgumentError: if the contents are no image, or a damaged one.

    >>> decode_png(encode_png(np.zeros((2, 3, 4), np.uint8)), channels=1).shape
    TensorShape([2, 3, 1])
    """
    kind = _image_dtype("decode_png", dtype, (dtypes.uint8, dtypes.uint16))
    data = one_string("decode_png", "contents", contents)
    if _kind(data) not in ("PNG", None):
        return decode_image(data, channels, kind, expand_animations=False)
    number = _checked_channels("decode_png", channels, "PNG")
    if png16.is_deep(data):
        needed("decode_png", "PIL.Image", "Pillow")
        pixels = _with_channels(png16.decode(data), number)
        return wrap(pixels if kind is dtypes.uint16 else (pixels >> np.uint16(8)).astype(np.uint8))
    image = _opened("decode_png", data, ("PNG",))
    pixels = _pixels("decode_png", image, number)
    return wrap(pixels.astype(np.uint16) * np.uint16(257) if kind is dtypes.uint16 else pixels)


def _with_channels(pixels: np.ndarray, channels: int) -> np.ndarray:
    """Pixels of 16 bits with another number of channels; 0 keeps them."""
    given = pixels.shape[-1]
    if channels in (0, given):
        return pixels
    colour = pixels[..., : given - 1 + given % 2]
    alpha = pixels[..., -1:] if given % 2 == 0 else np.full_like(pixels[..., :1], 65535)
    if channels > 2 and colour.shape[-1] == 1:
        colour = np.repeat(colour, 3, -1)
    elif channels <= 2 and colour.shape[-1] == 3:
        colour = ((colour.astype(np.uint32) @ _LUMA + 16384) >> 15).astype(np.uint16)[..., None]
    return colour if channels % 2 else np.concatenate([colour, alpha], -1)


def decode_bmp(contents: TensorLike, channels: int = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP, uint8 of shape (height, width, channels).

    Args:
        channels: 1 grey, 3 colour, 4 colour and alpha, 0 for what the file has.

    Raises:
        InvalidArgumentError: if the contents are no BMP, or a damaged one.

    >>> from PIL import Image
    >>> Image.new("RGB", (3, 2)).save(file := io.BytesIO(), "BMP")
    >>> decode_bmp(file.getvalue()).shape
    TensorShape([2, 3, 3])
    """
    number = _checked_channels("decode_bmp", channels, "BMP")
    image = _opened("decode_bmp", one_string("decode_bmp", "contents", contents), ("BMP",))
    return wrap(_pixels("decode_bmp", image, number))


def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """The frames of a GIF, uint8 of shape (frames, height, width, 3).

    Raises:
        InvalidArgumentError: if the contents are no GIF, or a damaged one.

    >>> from PIL import Image
    >>> Image.new("RGB", (3, 2)).save(file := io.BytesIO(), "GIF")
    >>> decode_gif(file.getvalue()).shape
    TensorShape([1, 2, 3, 3])
    """
    image = _opened("decode_gif", one_string("decode_gif", "contents", contents), ("GIF",))
    return wrap(_frames("decode_gif", image, 3))


def decode_webp(
    contents: TensorLike, channels: int = 0, dtype: DTypeLike = dtypes.uint8, name: str | None = None
) -> Tensor:
    """The frames of a WebP, uint8 of shape (frames, height, width, channels).

    Args:
        channels: 3 colour, 4 colour and alpha, as the file has them; 0 for either.
        dtype: uint8.

    Raises:
        InvalidArgumentError: if the contents are no WebP, a damaged one, or one of other channels.

    >>> from PIL import Image
    >>> Image.new("RGB", (3, 2)).save(file := io.BytesIO(), "WEBP")
    >>> decode_webp(file.getvalue()).shape
    TensorShape([1, 2, 3, 3])
    """
    number = _checked_channels("decode_webp", channels, "WEBP")
    _image_dtype("decode_webp", dtype, (dtypes.uint8,))
    image = _opened("decode_webp", one_string("decode_webp", "contents", contents), ("WEBP",))
    found = len(image.getbands())
    if number not in (0, found):
        raise InvalidArgumentError(f"decode_webp: the image has {found} channels, not {number}")
    return wrap(_frames("decode_webp", image, found))


def _frames(operation: str, image: Any, channels: int) -> np.ndarray:
    """The pixels of all frames of an image."""
    with _as_damage(operation):
        frames = getattr(image, "n_frames", 1)
    afford(operation, (frames, image.height, image.width, channels), 2)
    pixels = []
    for i in range(frames):
        with _as_damage(operation):
            image.seek(i)
            frame = image.convert(_MODES[channels])
        pixels.append(_pixels(operation, frame, channels))
    return np.stack(pixels)


def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The pixels of a JPEG, PNG, BMP, GIF, WebP or JPEG XL, whichever it is.

    Args:
        channels: 0 or None for what the file has.
        dtype: uint8, uint16, or float32 for numbers from 0 to 1.
        expand_animations: whether a GIF or WebP has an axis for its frames in front; if not, the result is the first.

    Raises:
        InvalidArgumentError: if the contents are no such image, or a damaged one.

    >>> decode_image(encode_png(np.zeros((2, 3, 1), np.uint8))).shape
    TensorShape([2, 3, 1])
    """
    kind = _image_dtype("decode_image", dtype, (dtypes.uint8, dtypes.uint16, dtypes.float32))
    data = one_string("decode_image", "contents", contents)
    found = _kind(data)
    if found is None:
        raise InvalidArgumentError(
            f"decode_image: the contents are no JPEG, PNG, GIF, BMP or WebP: they begin with {data[:8]!r}"
        )
    number = _checked_channels("decode_image", channels, found)
    if found == "PNG" and kind is not dtypes.uint8:
        pixels = decode_png(data, number, dtypes.uint16)._array
    elif found == "PNG":
        pixels = decode_png(data, number)._array
    elif found == "JPEG":
        pixels = decode_jpeg(data, number)._array
    elif found == "BMP":
        pixels = decode_bmp(data, number)._array
    elif found == "JXL":
        pixels = jpeg_xl.decode_jxl(data, number)._array
    else:
        pixels = (decode_gif(data) if found == "GIF" else decode_webp(data, number))._array
        pixels = pixels if boolean("decode_image", "expand_animations", expand_animations) else pixels[0]
    return wrap(_scaled(pixels, kind))


def _scaled(pixels: np.ndarray, dtype: DType) -> np.ndarray:
    """Pixels in another dtype: the largest number of the one is the largest of the other."""
    if dtypes.of(pixels) is dtype:
        return pixels
    if dtype is dtypes.float32:
        return (pixels * np.float32(1 / np.iinfo(pixels.dtype).max)).astype(np.float32)
    return pixels.astype(np.uint16) * np.uint16(256)


def _image_dtype(operation: str, dtype: DTypeLike, allowed: tuple[DType, ...]) -> DType:
    kind = dtypes.as_dtype(dtype)
    if kind not in allowed:
        raise InvalidArgumentError(
            f"{operation}: dtype must be {' or '.join(d.name for d in allowed)}, not {kind.name}"
        )
    return kind


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Whether strings begin as a JPEG does.

    >>> bool(is_jpeg(b"\\xff\\xd8\\xff\\xe0"))
    True
    """
    array = strings("is_jpeg", "contents", contents)
    return wrap(each(lambda content: _kind(content) == "JPEG", array, bool))


def extract_jpeg_shape(
    contents: TensorLike, output_type: DTypeLike = dtypes.int32, name: str | None = None
) -> Tensor:
    """The height, width and channels of a JPEG, without decoding it.

    Args:
        output_type: int32 or int64.

    >>> extract_jpeg_shape(encode_jpeg(np.zeros((2, 3, 1), np.uint8))).numpy()
    array([2, 3, 1], dtype=int32)
    """
    image = _opened("extract_jpeg_shape", one_string("extract_jpeg_shape", "contents", contents), ("JPEG",))
    shape = (image.height, image.width, len(image.getbands()))
    return wrap(np.array(shape, dtypes.as_dtype(output_type).numpy_dtype))


# ---------------------------------------------------------------------------------------------------------------------
# Encoding


def encode_jpeg(
    image: TensorLike,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str | bytes = "",
    name: str | None = None,
) -> Tensor:
    """A JPEG of pixels, as a string tensor.

    Args:
        image: uint8 of shape (height, width, 1 or 3).
        format: "grayscale", "rgb", or "" for what the channels say.
        quality: from 0 to 100.
        chroma_downsampling: whether colours are kept at half the resolution.
        density_unit, x_density, y_density: points per "in" or "cm", noted in the file.
        xmp_metadata: XMP, noted in the file.
        progressive: whether the image loads from coarse to fine.
        optimize_size: whether to spend more time on a smaller file.

    Raises:
        InvalidArgumentError: if the shape, dtype or format do not fit.

    >>> encode_jpeg(np.zeros((2, 3, 1), np.uint8)).numpy()[:3]
    b'\\xff\\xd8\\xff'
    """
    pixels = _to_encode("encode_jpeg", image, (1, 3), (np.uint8,))
    channels = {"": pixels.shape[-1], "grayscale": 1, "rgb": 3}.get(text("encode_jpeg", "format", format))
    if channels != pixels.shape[-1]:
        raise InvalidArgumentError(
            f"encode_jpeg: the format {format!r} does not fit an image of {pixels.shape[-1]} channels"
        )
    if not 0 <= integer("encode_jpeg", "quality", quality) <= 100:
        raise InvalidArgumentError(f"encode_jpeg: quality must be from 0 to 100, not {quality}")
    options: dict[str, Any] = {}
    if isinstance(xmp_metadata, bytes) or text("encode_jpeg", "xmp_metadata", xmp_metadata):
        options["xmp"] = xmp_metadata if isinstance(xmp_metadata, bytes) else xmp_metadata.encode()
    factor = 2.54 if choice("encode_jpeg", "density_unit", density_unit, ("in", "cm")) == "cm" else 1
    density = [integer("encode_jpeg", "the density", d, 0) * factor for d in (x_density, y_density)]
    if max(density) > 65535 or len(options.get("xmp", b"")) > 65000:
        raise InvalidArgumentError("encode_jpeg: the density, or the metadata, is too large for a JPEG")
    return _encoded(
        "encode_jpeg",
        pixels,
        "JPEG",
        quality=quality,
        progressive=boolean("encode_jpeg", "progressive", progressive),
        optimize=boolean("encode_jpeg", "optimize_size", optimize_size),
        subsampling="4:2:0"
        if boolean("encode_jpeg", "chroma_downsampling", chroma_downsampling)
        else "4:4:4",
        dpi=(round(density[0]), round(density[1])),
        **options,
    )


def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Tensor:
    """A PNG of pixels, as a string tensor.

    Args:
        image: uint8 or uint16 of shape (height, width, 1 to 4); axes in front make a tensor of strings.
        compression: from 0, none, to 9, most; -1 for zlib's default.

    Raises:
        InvalidArgumentError: if the shape or dtype do not fit.

    >>> encode_png(np.zeros((2, 3, 1), np.uint8)).numpy()[1:4]
    b'PNG'
    """
    if not -1 <= integer("encode_png", "compression", compression) <= 9:
        raise InvalidArgumentError(f"encode_png: compression must be from -1 to 9, not {compression}")
    level = 6 if compression == -1 else compression
    array = known("encode_png", "the image", convert(image)._array)
    if array.ndim <= 3:
        pixels = _to_encode("encode_png", array, (1, 2, 3, 4), (np.uint8, np.uint16))
        if pixels.dtype == np.uint16:
            return string_tensor(png16.encode(pixels, level))
        return _encoded("encode_png", pixels, "PNG", compress_level=level)
    out = np.empty(array.shape[:-3], object)
    for index in np.ndindex(out.shape):
        out[index] = encode_png(array[index], compression)._array.item()
    return wrap(out)


def _to_encode(operation: str, image: Any, channels: tuple[int, ...], kinds: tuple[Any, ...]) -> np.ndarray:
    array = known(operation, "the image", convert(image)._array)
    if array.dtype not in kinds:
        names = " or ".join(np.dtype(kind).name for kind in kinds)
        raise InvalidArgumentError(f"{operation}: pixels must be {names}, not {dtypes.of(array).name}")
    if array.ndim != 3 or array.shape[-1] not in channels or not array.size:
        raise InvalidArgumentError(
            f"{operation}: an image has the shape (height, width, {' or '.join(map(str, channels))}), not {array.shape}"
        )
    return array


def _encoded(operation: str, pixels: np.ndarray, format: str, **options: Any) -> Tensor:
    image_module = needed(operation, "PIL.Image", "Pillow")
    buffer = io.BytesIO()
    flat = pixels[..., 0] if pixels.shape[-1] == 1 else pixels
    image_module.fromarray(np.ascontiguousarray(flat)).save(buffer, format, **options)
    return string_tensor(buffer.getvalue())
