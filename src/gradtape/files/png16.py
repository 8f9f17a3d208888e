"""PNG with 16 bits a channel, which Pillow reads and writes in grey alone.

A PNG is a row of chunks; the pixels are in the chunks IDAT, compressed by zlib, row by row. Each row begins with the
number of the filter that was applied to its bytes: a byte is then the difference to the ones left of it and above it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np

from ..core.errors import InvalidArgumentError
from ..ops.known import afford

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # by the colour type
_TYPES = {count: kind for kind, count in _CHANNELS.items()}
_HEADER = struct.Struct(">IIBBBBB")


def is_deep(data: bytes) -> bool:
    """Return whether a PNG has 16 bits a channel."""
    return data.startswith(SIGNATURE) and len(data) > 24 and data[24] == 16


def decode(data: bytes) -> np.ndarray:
    """The pixels, of shape (height, width, channels).

    Raises:
        InvalidArgumentError: if the file is damaged, or interlaced.
    """
    compressed, header = [], b""
    for kind, content in _chunks(data):
        if kind == b"IHDR":
            header = content
        elif kind == b"IDAT":
            compressed.append(content)
    if len(header) != _HEADER.size:
        raise InvalidArgumentError("decode_png: the image has no header")
    width, height, depth, colour, _, _, interlaced = _HEADER.unpack(header)
    if depth != 16 or colour not in _CHANNELS or not width or not height:
        raise InvalidArgumentError(
            f"decode_png: no such image: {width} by {height}, {depth} bits, colour type {colour}"
        )
    if interlaced:
        raise InvalidArgumentError(
            "decode_png: an interlaced image of 16 bits a channel: save it without interlacing"
        )
    channels = _CHANNELS[colour]
    afford("decode_png", (height, width, channels), 6)
    stride = 2 * channels * width
    raw = _decompressed(b"".join(compressed), height * (stride + 1))
    rows = np.frombuffer(raw, np.uint8).reshape(height, stride + 1)
    pixels = _unfiltered(rows, 2 * channels)
    return pixels.view(">u2").astype(np.uint16).reshape(height, width, channels)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = len(SIGNATURE)
    while position + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, position)
        end = position + 8 + length
        if end + 4 > len(data):
            raise InvalidArgumentError(f"decode_png: the image ends early, at byte {len(data)}")
        kind, content = data[position + 4 : position + 8], data[position + 8 : end]
        if zlib.crc32(kind + content) != struct.unpack_from(">I", data, end)[0]:
            raise InvalidArgumentError(f"decode_png: the part at byte {position} does not fit its checksum")
        yield kind, content
        if kind == b"IEND":
            return
        position = end + 4


def _decompressed(data: bytes, size: int) -> bytes:
    try:
        raw = zlib.decompressobj().decompress(data, size)
    except zlib.error as error:
        raise InvalidArgumentError(f"decode_png: the image is damaged: {error}") from error
    if len(raw) < size:
        raise InvalidArgumentError(f"decode_png: the image ends early: {len(raw)} of {size} bytes of pixels")
    return raw


def _unfiltered(rows: np.ndarray, step: int) -> np.ndarray:
    """The bytes of all rows, `step` bytes a pixel, with the filters undone."""
    out = np.empty((rows.shape[0], rows.shape[1] - 1), np.uint8)
    above = np.zeros(out.shape[1], np.uint8)
    for row, kind in enumerate(rows[:, 0].tolist()):
        line = rows[row, 1:]
        if kind == 0:
            out[row] = line
        elif kind == 1:
            out[row] = np.cumsum(line.reshape(-1, step), 0, np.uint8).reshape(-1)
        elif kind == 2:
            out[row] = line + above
        elif kind in (3, 4):
            out[row] = _predicted(line.tolist(), above.tolist(), step, _mean if kind == 3 else _paeth)
        else:
            raise InvalidArgumentError(f"decode_png: row {row} has the filter {kind}, which there is not")
        above = out[row]
    return out


def _predicted(line: list[int], above: list[int], step: int, predict: object) -> list[int]:
    out: list[int] = []
    for i, value in enumerate(line):
        left = out[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        out.append((value + predict(left, above[i], corner)) & 255)  # type: ignore[operator]
    return out


def _mean(left: int, above: int, corner: int) -> int:
    return (left + above) >> 1


def _paeth(left: int, above: int, corner: int) -> int:
    """Whichever of the three is nearest to left + above - corner."""
    to_left, to_above = abs(above - corner), abs(left - corner)
    to_corner = abs(left + above - 2 * corner)
    if to_left <= to_above and to_left <= to_corner:
        return left
    return above if to_above <= to_corner else corner


def encode(pixels: np.ndarray, level: int) -> bytes:
    """A PNG of pixels of shape (height, width, channels). Rows are stored as differences to the pixel on the left."""
    height, width, channels = pixels.shape
    raw = np.ascontiguousarray(pixels.astype(">u2")).view(np.uint8).reshape(height, width, 2 * channels)
    rows = np.empty((height, 1 + width * 2 * channels), np.uint8)
    rows[:, 0] = 1
    differences = raw.copy()
    differences[:, 1:] -= raw[:, :-1]
    rows[:, 1:] = differences.reshape(height, -1)
    header = _HEADER.pack(width, height, 16, _TYPES[channels], 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), level)), (b"IEND", b"")]
    return SIGNATURE + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )
