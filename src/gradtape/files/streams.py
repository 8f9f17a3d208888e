"""Files read from front to back, compressed or not, no more at a time than is asked for."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from typing import Any

from ..core.errors import DataLossError, InvalidArgumentError, ResourceExhaustedError
from .paths import as_tensorflow_errors, open_file

PART = 1 << 20  # bytes read at a time: a declared length is not believed until the bytes are there
BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)  # what a damaged compressed file raises
_LONGEST = 1 << 30  # bytes of a line


class _Inflating(io.RawIOBase):
    """A file that reads what zlib compressed, no more at a time than is asked for."""

    def __init__(self, file: Any) -> None:
        self._file, self._decompressor = file, zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = b""
        while not part and not self._decompressor.eof and len(buffer):
            source = self._decompressor.unconsumed_tail or self._file.read(PART)
            part = self._decompressor.decompress(source, len(buffer))
            if not part and not source:
                raise EOFError("the file ends before the compressed data does")
        buffer[: len(part)] = part
        return len(part)


def decompressed(file: Any, compression: str) -> Any:
    """An open file as one whose `read(size)` and `readline(size)` give what was compressed.

    Args:
        compression: "", "GZIP" or "ZLIB".
    """
    if compression == "GZIP":
        return gzip.GzipFile(fileobj=file, mode="rb")
    if compression == "ZLIB":
        return io.BufferedReader(_Inflating(file))
    return file if isinstance(file, io.BufferedIOBase) else io.BufferedReader(file)


@contextlib.contextmanager
def opened(operation: str, path: str, compression: str) -> Iterator[Any]:
    """A file opened and `decompressed`.

    Raises:
        NotFoundError: if there is no such file.
        DataLossError: where the compressed data ends early or is damaged.
    """
    with as_tensorflow_errors(operation, path), open_file(operation, path, "rb") as file:
        try:
            yield decompressed(file, compression)
        except BROKEN as error:
            raise DataLossError(
                f"{operation}: the {compression} data of {path!r} is damaged: {error}"
            ) from error


def read(stream: Any, size: int) -> bytes:
    """The next `size` bytes, fewer at the end; memory is taken only for bytes that are there."""
    if size <= PART:
        return bytes(stream.read(size))
    parts = []
    while size > 0:
        part = stream.read(min(size, PART))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_lines(operation: str, path: str, compression: str) -> Iterator[bytes]:
    r"""The lines of a file with their ends, each b"\n"; the last line may have none.

    Raises:
        ResourceExhaustedError: if a line is longer than 1 GiB.
    """
    with opened(operation, path, compression) as stream:
        while line := stream.readline(_LONGEST):
            if len(line) == _LONGEST and not line.endswith(b"\n"):
                raise ResourceExhaustedError(
                    f"{operation}: a line of {path!r} is longer than {_LONGEST} bytes"
                )
            yield line


def read_fixed(
    operation: str, path: str, compression: str, length: int, header: int, footer: int
) -> Iterator[bytes]:
    """The records of `length` bytes between the header and the footer of a file.

    Raises:
        InvalidArgumentError: if what is between them is no whole number of records.
    """
    with opened(operation, path, compression) as stream:
        if not compression and stream.seekable():
            _check_size(operation, path, stream.seek(0, io.SEEK_END), length, header, footer)
            stream.seek(0)
        start = len(read(stream, header))
        ahead = read(stream, footer)  # what is read, and may be the footer
        if start < header or len(ahead) < footer:
            _check_size(operation, path, start + len(ahead), length, header, footer)
        size = header + footer
        while part := read(stream, length):
            size += len(part)
            if len(part) < length:
                _check_size(operation, path, size, length, header, footer)
            ahead += part
            yield ahead[:length]
            ahead = ahead[length:]


def _check_size(operation: str, path: str, size: int, length: int, header: int, footer: int) -> None:
    body = size - header - footer
    if body < 0 or body % length:
        raise InvalidArgumentError(
            f"{operation}: {path!r} has {size} bytes, which are not {header} of a header, records of {length} and "
            f"{footer} of a footer"
        )
