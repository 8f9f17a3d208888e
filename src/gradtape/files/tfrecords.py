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

import numpy as np

from ..core.errors import DataLossError, InvalidArgumentError
from .extras import needed
from .paths import as_tensorflow_errors, open_file, path_of
from .streams import BROKEN, decompressed, read

_HEADER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
_COMPRESSIONS = ("", "GZIP", "ZLIB")
_MASK = 0xA282EAD8
_AHEAD = 1 << 16  # bytes read at a time
_MOST_LENGTHS = 1024  # that are remembered


def _crc() -> Any:
    """The function that computes a CRC-32C."""
    return needed("TFRecord", "google_crc32c", "google-crc32c").value


def _masked(checksum: int) -> int:
    return ((checksum >> 15 | checksum << 17) + _MASK) & 0xFFFFFFFF


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
        self._crc = _crc()
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
            self._stream.write(b"".join((length, self._checksum(length), data, self._checksum(data))))

    def _checksum(self, data: bytes) -> bytes:
        return _CHECKSUM.pack(_masked(self._crc(data)))

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
    """Records of an open stream, cut out of parts of it and checked part by part: a third of the time of one by one."""
    crc = _crc()
    lengths: dict[bytes, int] = {}
    part, position = b"", 0  # what is read and not yet cut, and its place in the stream
    missing = _HEADER.size
    while True:
        try:
            more = read(stream, max(missing, _AHEAD))
        except BROKEN as error:
            raise DataLossError(
                f"{name}: the {kind} stream breaks off after byte {position}: {error}"
            ) from error
        if not more:
            if part:
                raise _ends_early(name, position, part)
            return
        part += more
        records, ends, missing = _cut(part, lengths, crc)
        sound = _sound(records, ends, part, crc)
        yield from records[:sound]
        if sound < len(records):
            at = position + (ends[sound - 1] if sound else 0)
            raise DataLossError(f"{name}: the record at byte {at} does not fit its checksum")
        cut = ends[-1] if ends else 0
        part, position = part[cut:], position + cut
        if missing < 0:
            raise DataLossError(
                f"{name}: the length of the record at byte {position} does not fit its checksum: the file is damaged, "
                "compressed in another way, or no TFRecord file"
            )


def _cut(part: bytes, lengths: dict[bytes, int], crc: Any) -> tuple[list[bytes], list[int], int]:
    """The whole records in a part, where each ends, and how many bytes the next one lacks: -1 if its length is damaged.

    Args:
        lengths: the lengths by headers whose checksums fit; most records of a file have one of few.
    """
    records: list[bytes] = []
    ends: list[int] = []
    at, size = 0, len(part)
    while True:
        header = part[at : at + _HEADER.size]
        length = lengths.get(header)
        if length is None:
            if len(header) < _HEADER.size:
                return records, ends, _HEADER.size - len(header)
            length, checksum = _HEADER.unpack(header)
            if checksum != _masked(crc(header[:8])):
                return records, ends, -1
            if len(lengths) < _MOST_LENGTHS:
                lengths[header] = length
        start = at + _HEADER.size
        at = start + length + _CHECKSUM.size
        if at > size:
            return records, ends, at - size
        records.append(part[start : start + length])
        ends.append(at)


def _sound(records: list[bytes], ends: list[int], part: bytes, crc: Any) -> int:
    """How many of the records fit their checksums, up to the first that does not."""
    found = np.fromiter(map(crc, records), np.uint32, len(records))
    written = np.frombuffer(b"".join([part[end - _CHECKSUM.size : end] for end in ends]), "<u4")
    wrong = np.flatnonzero((found >> 15 | found << 17) + np.uint32(_MASK) != written)
    return int(wrong[0]) if len(wrong) else len(records)


def _ends_early(name: str, position: int, part: bytes) -> DataLossError:
    found = f"its header has {len(part)} bytes"
    if len(part) >= _HEADER.size:
        length = _HEADER.unpack_from(part)[0] + _CHECKSUM.size
        found = f"it has {len(part) - _HEADER.size} of {length} bytes"
    return DataLossError(f"{name}: the record at byte {position} ends early: {found}")
