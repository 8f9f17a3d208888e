"""JPEG XL: decoded by a plugin of Pillow's (extra `jxl`), which decodes a file as it opens it.

So the size of an image is read here first: a small file that says it is huge is refused before memory is taken.
"""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.errors import InvalidArgumentError
from ..core.tensor import Tensor, wrap
from ..core.types import DTypeLike, TensorLike
from ..ops.known import afford
from ..ops.scalars import integer
from .contents import one_string
from .extras import needed

BARE = b"\xff\x0a"  # how a codestream begins
BOXED = b"\x00\x00\x00\x0cJXL \x0d\x0a\x87\x0a"  # how a file of boxes begins, one of which has the codestream
_RATIOS = {1: (1, 1), 2: (12, 10), 3: (4, 3), 4: (3, 2), 5: (16, 9), 6: (5, 4), 7: (2, 1)}  # width to height
_CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4, "I;16": 1}  # by Pillow's mode


def decode_jxl(
    contents: TensorLike, channels: int = 0, dtype: DTypeLike = dtypes.uint8, name: str | None = None
) -> Tensor:
    """The pixels of a JPEG XL, uint8 of shape (height, width, channels). It needs the extra `jxl`.

    Args:
        contents: one string.
        channels: 1 grey, 3 colour, 4 colour and alpha, as the file has them; 0 for any.
        dtype: uint8.

    Raises:
        InvalidArgumentError: if the contents are no JPEG XL, a damaged one, or one of other channels.
        ImportError: if the extra is not installed.

    >>> decode_jxl(b"GIF89a")
    Traceback (most recent call last):
    gradtape.errors.InvalidArgumentError: decode_jxl: the contents are no JPEG XL: they begin with b'GIF89a'
    """
    operation = "decode_jxl"
    wanted = integer(operation, "channels", channels)
    if wanted not in (0, 1, 3, 4) or dtypes.as_dtype(dtype) is not dtypes.uint8:
        raise InvalidArgumentError(
            f"{operation}: channels must be 0, 1, 3 or 4 and dtype uint8, not {channels} and {dtype}"
        )
    data = one_string(operation, "contents", contents)
    if not data.startswith((BARE, BOXED)):
        raise InvalidArgumentError(f"{operation}: the contents are no JPEG XL: they begin with {data[:8]!r}")
    height, width = size_of(data)
    afford(operation, (height, width, 4), 8)
    image = _opened(operation, data)
    found = _CHANNELS.get(image.mode)
    if found is None or wanted not in (0, found):
        raise InvalidArgumentError(
            f"{operation}: the image has mode {image.mode}, not {wanted} channels of uint8"
        )
    pixels = np.asarray(image)
    if pixels.dtype == np.uint16:
        pixels = ((pixels.astype(np.uint32) * 255 + 32767) // 65535).astype(np.uint8)
    return wrap(pixels.reshape(image.height, image.width, found))


def _opened(operation: str, data: bytes) -> Any:
    """The image, decoded."""
    needed(operation, "pillow_jxl", "pillow-jxl-plugin", "jxl")
    image_module = needed(operation, "PIL.Image", "Pillow")
    try:
        image = image_module.open(io.BytesIO(data), formats=("JXL",))
        image.load()
    except MemoryError:
        raise
    except Exception as error:  # the plugin has its own
        raise InvalidArgumentError(f"{operation}: the image is damaged: {error}") from error
    return image


def size_of(data: bytes) -> tuple[int, int]:
    """The height and the width that a JPEG XL says it has.

    Raises:
        InvalidArgumentError: if it ends before.
    """
    try:
        return _size(_codestream(data))
    except (IndexError, struct.error):
        raise InvalidArgumentError("decode_jxl: the image is damaged: it ends before its size") from None


def _codestream(data: bytes) -> bytes:
    """The beginning of the codestream, in a file of boxes that of the box which has it."""
    if data.startswith(BARE):
        return data[:16]
    at = 0
    while True:
        size, kind = struct.unpack_from(">I4s", data, at)
        start = at + 8
        if size == 1:
            (size,) = struct.unpack_from(">Q", data, start)
            start += 8
        if kind in (b"jxlc", b"jxlp"):
            start += 4 * (kind == b"jxlp")  # the number of the part
            if data[start : start + 2] != BARE:
                raise IndexError
            return data[start : start + 16]
        if size < start - at:
            raise IndexError
        at += size


def _size(codestream: bytes) -> tuple[int, int]:
    """The header of sizes: a length has 5 bits and counts eights, or as many bits as two bits before it say."""
    if len(codestream) < 4:
        raise IndexError
    bits, place = int.from_bytes(codestream[2:], "little"), 0

    def read(count: int) -> int:
        nonlocal place
        place += count
        if place > 8 * (len(codestream) - 2):
            raise IndexError
        return bits >> (place - count) & ((1 << count) - 1)

    small = read(1)

    def length() -> int:
        return 8 * (read(5) + 1) if small else read((9, 13, 18, 30)[read(2)]) + 1

    height = length()
    ratio = read(3)
    if ratio:
        wide, high = _RATIOS[ratio]
        return height, height * wide // high
    return height, length()
