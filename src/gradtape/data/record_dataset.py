"""TFRecordDataset: the records of TFRecord files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core import dtypes
from ..core.spec import TensorSpec
from ..core.types import TensorLike
from ..files.contents import string_tensor
from ..files.tfrecords import checked_compression, read_records
from .checks import texts
from .dataset import Dataset
from .stage import Session, Stage
from .structure import is_dataset


class Records(Stage):
    """The records of files, one after the other."""

    def __init__(self, filenames: Stage, compression: str) -> None:
        super().__init__(filenames)
        self._compression = compression

    def elements(self, session: Session) -> Iterator[Any]:
        """The records, as strings."""
        for names in self.sources[0].open(session):
            for name in texts("TFRecordDataset: filenames", names):
                for record in read_records(name, self._compression):
                    yield string_tensor(record)

    def describe(self) -> Any:
        """The spec of an element."""
        return TensorSpec((), dtypes.string)


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
        super().__init__(Records(files._stage, kind))  # type: ignore[union-attr]
