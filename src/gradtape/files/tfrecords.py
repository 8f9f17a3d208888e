"""TFRecord files: strings one after the other, each with its length and the checksums of both.

A record is the length (8 bytes, little-endian), the masked CRC-32C of these 8 bytes, the data, and its masked CRC-32C.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from ..core.errors import DataLossError, InvalidArgumentError
from .extras import needed
from .paths import as_tensorflow_errors, open_file, path_of
from .streams import BROKEN, decompressed, read

_HEADER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
_COMPRESSIONS = ("", "GZIP", "ZLIB")
_AHEAD = 1 << 16  # bytes read at a time


def _checksum() -> Any:
    """The function that computes a masked CRC-32C."""
    crc = needed("TFRecord", "google_crc32c", "google-crc32c").value

    def masked(data: bytes) -> int:
        value = crc(data)
        return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF

    return masked


def checked_compression(operation: str, compression: Any) -> str:
    """The name of a compression: "", "GZIP" or "ZLIB".

    Raises:
        InvalidArgumentError: for any other.
    """
    if isinstance(compression, TFRecordOptions):
        compression = compression.compression_type
    kind = "" if compression is None else compression
    if not isinstance(kind, str) or kind not in _COMPRESSIONS:
        raise InvalidArgumentError(
            f"{operation}: the compression {compression!r} is none of '', 'GZIP' and 'ZLIB'"
        )
    return str(kind)


class TFRecordOptions:
    """How a TFRecord file is written.

    Args:
        compression_type: "", "GZIP" or "ZLIB".
        compression_level: from 0 to 9; zlib's default if None.
        flush_mode, input_buffer_size, output_buffer_size, window_bits, compression_method, mem_level,
            compression_strategy: accepted; zlib's defaults are used.

    >>> TFRecordOptions(compression_type="GZIP").compression_type
    'GZIP'
    """

    def __init__(
        self,
        compression_type: str | None = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.compression_type = checked_compression("TFRecordOptions", compression_type)
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy


class TFRecordWriter:
    """Writes records to a file, for `with` or until `close`.

    Args:
        path: of the file, which is replaced.
        options: a compression ("GZIP", "ZLIB"), or TFRecordOptions.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/a.tfrecord"
    >>> with TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    >>> list(read_records(path))
    [b'one']
    """

    def __init__(self, path: Any, options: str | TFRecordOptions | None = None) -> None:
        self._path = path_of("TFRecordWriter", path)
        self._masked = _checksum()
        kind = checked_compression("TFRecordWriter", options)
        level = options.compression_level if isinstance(options, TFRecordOptions) else None
        self._file: Any = open_file("TFRecordWriter", self._path, "wb")
        self._stream: Any = self._file
        if kind == "GZIP":
            self._stream = gzip.GzipFile(
                fileobj=self._file, mode="wb", compresslevel=9 if level is None else level
            )
        elif kind == "ZLIB":
            self._stream = _Deflating(self._file, -1 if level is None else level)

    def write(self, record: bytes) -> None:
        """Write one record.

        Raises:
            InvalidArgumentError: if it is not bytes, or the writer is closed.
        """
        if isinstance(record, str):
            record = record.encode()
        if not isinstance(record, (bytes, bytearray, memoryview)):
            raise InvalidArgumentError(
                f"TFRecordWriter.write takes bytes, such as example.SerializeToString(), not {type(record).__name__}"
            )
        if self._stream is None:
            raise InvalidArgumentError(f"the TFRecordWriter of {self._path!r} is closed")
        data = bytes(record)
        length = struct.pack("<Q", len(data))
        with as_tensorflow_errors("TFRecordWriter.write", self._path):
            self._stream.write(
                b"".join(
                    (length, _CHECKSUM.pack(self._masked(length)), data, _CHECKSUM.pack(self._masked(data)))
                )
            )

    def flush(self) -> None:
        """Write what is buffered."""
        if self._stream is not None:
            self._stream.flush()
            self._file.flush()

    def close(self) -> None:
        """Finish and close the file."""
        if self._stream is not None:
            stream, self._stream = self._stream, None
            try:
                if stream is not self._file:
                    stream.close()
            finally:
                self._file.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Deflating:
    """A file that compresses what is written to it, as zlib does."""

    def __init__(self, file: Any, level: int) -> None:
        self._file, self._compressor = file, zlib.compressobj(level)

    def write(self, data: bytes) -> None:
        self._file.write(self._compressor.compress(data))

    def flush(self) -> None:
        self._file.write(self._compressor.flush(zlib.Z_SYNC_FLUSH))

    def close(self) -> None:
        self._file.write(self._compressor.flush())


def read_records(path: Any, compression_type: Any = None) -> Iterator[bytes]:
    """The records of a file, one after the other.

    Raises:
        NotFoundError: if there is no such file.
        DataLossError: where a record ends early or does not fit its checksum; the text says at which byte.
    """
    name = path_of("TFRecord", path)
    kind = checked_compression("TFRecord", compression_type)
    with open_file("TFRecord", name, "rb") as file:
        yield from _records(name, kind, decompressed(file, kind))


def _records(name: str, kind: str, stream: Any) -> Iterator[bytes]:
    """Records of an open stream, cut out of parts of it: reading each by itself takes twice the time."""
    masked = _checksum()
    position = 0  # of the record, in the stream
    part, at = b"", 0  # what is read, and where in it the record begins

    def more(size: int) -> bytes:
        """What is left of the part, and at least `size` bytes in all unless the stream ends."""
        left = part[at:]
        try:
            return left + read(stream, max(size - len(left), _AHEAD))
        except BROKEN as error:
            raise DataLossError(
                f"{name}: the {kind} stream breaks off after byte {position}: {error}"
            ) from error

    while True:
        if len(part) - at < _HEADER.size:
            part, at = more(_HEADER.size), 0
            if not part:
                return
        length = _length(name, position, part[at : at + _HEADER.size], masked)
        size = _HEADER.size + length + _CHECKSUM.size
        if len(part) - at < size:
            part, at = more(size), 0
            if len(part) < size:
                raise DataLossError(
                    f"{name}: the record at byte {position} ends early: it has {len(part) - _HEADER.size} of "
                    f"{length + _CHECKSUM.size} bytes"
                )
        data = part[at + _HEADER.size : at + _HEADER.size + length]
        if _CHECKSUM.unpack_from(part, at + size - _CHECKSUM.size)[0] != masked(data):
            raise DataLossError(f"{name}: the record at byte {position} does not fit its checksum")
        yield data
        position += size
        at += size


def _length(name: str, position: int, header: bytes, masked: Any) -> int:
    if len(header) < _HEADER.size:
        raise DataLossError(
            f"{name}: the record at byte {position} ends early: its header has {len(header)} bytes"
        )
    length, checksum = _HEADER.unpack(header)
    if checksum != masked(header[:8]):
        raise DataLossError(
            f"{name}: the length of the record at byte {position} does not fit its checksum: the file is damaged, "
            "compressed in another way, or no TFRecord file"
        )
    return int(length)
