"""TFRecordDataset and FixedLengthRecordDataset: the records of files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..core.errors import InvalidArgumentError
from ..core.types import IntLike, TensorLike
from ..files.streams import read_fixed
from ..files.tfrecords import checked_compression, read_records
from ..ops.array.movement import static_number as whole
from .dataset import Dataset
from .sources import Strings
from .structure import is_dataset


class TFRecordDataset(Dataset):
    """The records of TFRecord files, as strings.

    Args:
        filenames: one path or many, or a dataset of paths.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size, num_parallel_reads: accepted; files are read one after the other.

    Raises:
        DataLossError: when a record is reached that is torn, or does not fit its checksum.

    >>> import gradtape as tf, tempfile
    >>> path = tempfile.mkdtemp() + "/a.tfrecord"
    >>> with tf.io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    >>> [record.numpy() for record in TFRecordDataset(path)]
    [b'one']
    """

    def __init__(
        self,
        filenames: TensorLike | Dataset,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        kind = checked_compression("TFRecordDataset", compression_type)
        files = filenames if is_dataset(filenames) else Dataset.from_tensors(filenames)
        read = partial(read_records, compression_type=kind)
        super().__init__(Strings("TFRecordDataset", files._stage, read))  # type: ignore[union-attr]


class FixedLengthRecordDataset(Dataset):
    """The records of binary files, all of one length, as strings.

    Args:
        filenames: one path or many, or a dataset of paths.
        record_bytes: the length of a record.
        header_bytes, footer_bytes: bytes to leave out at the beginning and the end of each file.
        buffer_size, num_parallel_reads: accepted; files are read one after the other.
        compression_type: "", "GZIP" or "ZLIB".

    Raises:
        InvalidArgumentError: when a file is reached that is no whole number of records.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.bin"
    >>> _ = path.write_bytes(b"#aabb")
    >>> [record.numpy() for record in FixedLengthRecordDataset(str(path), 2, header_bytes=1)]
    [b'aa', b'bb']
    """

    def __init__(
        self,
        filenames: TensorLike | Dataset,
        record_bytes: IntLike,
        header_bytes: IntLike | None = None,
        footer_bytes: IntLike | None = None,
        buffer_size: IntLike | None = None,
        compression_type: str | None = None,
        num_parallel_reads: IntLike | None = None,
        name: str | None = None,
    ) -> None:
        kind = checked_compression("FixedLengthRecordDataset", compression_type)
        lengths = [
            whole(f"FixedLengthRecordDataset: {what}", 0 if value is None else value)
            for what, value in (
                ("record_bytes", record_bytes),
                ("header_bytes", header_bytes),
                ("footer_bytes", footer_bytes),
            )
        ]
        if lengths[0] < 1 or min(lengths) < 0:
            raise InvalidArgumentError(
                "FixedLengthRecordDataset: record_bytes must be above 0, header_bytes and footer_bytes not below 0, "
                f"not {lengths}"
            )
        files = filenames if is_dataset(filenames) else Dataset.from_tensors(filenames)

        def read(path: str) -> Iterator[bytes]:
            return read_fixed("FixedLengthRecordDataset", path, kind, *lengths)

        super().__init__(Strings("FixedLengthRecordDataset", files._stage, read))  # type: ignore[union-attr]
