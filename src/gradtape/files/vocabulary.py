"""TextFileInitializer: keys and values of a table from the lines of a text file."""

from __future__ import annotations

from typing import Any

from ..core import dtypes
from ..core.dtypes import DType
from ..core.errors import InvalidArgumentError
from ..core.types import DTypeLike, TensorLike
from ..ops.lookup.tables import StaticHashTable
from ..ops.scalars import integer, text
from ..ops.strings.texts import to_number
from .contents import one_string, string_tensor
from .gfile import GFile


class TextFileIndex:
    """Places for keys and values other than columns: the whole line, or its number.

    >>> TextFileIndex.WHOLE_LINE, TextFileIndex.LINE_NUMBER
    (-2, -1)
    """

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TextFileInitializer:
    """Keys and values to fill a table with, from a text file: one entry a line.

    Args:
        filename: the file.
        key_dtype: of the keys.
        key_index: the column with the keys, from 0 on; or a `TextFileIndex`.
        value_dtype: of the values.
        value_index: the column with the values; or a `TextFileIndex`.
        vocab_size: how many lines to read; all by default.
        delimiter: stands between columns.
        value_index_offset: added to line numbers that are values.

    Raises:
        ValueError: if the file has no name, a column does not exist, or a dtype does not fit it.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
    ...     _ = file.write("emerson\\nlake\\npalmer\\n")
    >>> words = TextFileInitializer(file.name, "string", TextFileIndex.WHOLE_LINE, "int64", TextFileIndex.LINE_NUMBER)
    >>> StaticHashTable(words, -1).lookup(["palmer", "keith"]).numpy()
    array([ 2, -1])
    """

    def __init__(
        self,
        filename: TensorLike,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        self._path = one_string("TextFileInitializer", "filename", filename).decode()
        if not self._path:
            raise ValueError("TextFileInitializer: filename is empty")
        self.key_dtype = _column("key", key_dtype, key_index)
        self.value_dtype = _column("value", value_dtype, value_index)
        self._key_index, self._value_index = key_index, value_index
        self._size = None if vocab_size is None else integer("TextFileInitializer", "vocab_size", vocab_size)
        if self._size is not None and self._size <= 0:
            raise ValueError(f"TextFileInitializer: vocab_size must be positive, not {self._size}")
        self._delimiter = text("TextFileInitializer", "delimiter", delimiter).encode()
        if len(self._delimiter) != 1:
            raise ValueError(f"TextFileInitializer: delimiter must be one character, not {delimiter!r}")
        self._offset = integer("TextFileInitializer", "value_index_offset", value_index_offset)

    def initialize(self, table: StaticHashTable) -> None:
        """Fill a table: the table calls this.

        Raises:
            InvalidArgumentError: if a line has too few columns, or there are fewer lines than `vocab_size`.
            NotFoundError: if there is no such file.
        """
        with GFile(self._path, "rb") as file:
            lines = file.read().splitlines()
        if self._size is not None and len(lines) < self._size:
            raise InvalidArgumentError(
                f"TextFileInitializer: vocab_size is {self._size}, and {self._path!r} has {len(lines)} lines"
            )
        lines = lines[: self._size]
        table._fill(
            self._read(lines, self._key_index, self.key_dtype, 0),
            self._read(lines, self._value_index, self.value_dtype, self._offset),
        )

    def _read(self, lines: list[bytes], index: int, dtype: DType, offset: int) -> Any:
        """The keys or the values of all lines."""
        if index == TextFileIndex.LINE_NUMBER:
            return [offset + number for number in range(len(lines))]
        if index >= 0:
            rows = [line.split(self._delimiter) for line in lines]
            for number, row in enumerate(rows):
                if index >= len(row):
                    raise InvalidArgumentError(
                        f"TextFileInitializer: line {number} of {self._path!r} has {len(row)} columns, and none "
                        f"with the number {index}"
                    )
            lines = [row[index] for row in rows]
        texts = string_tensor(lines)
        return texts if dtype is dtypes.string else to_number(texts, dtype)


def _column(what: str, dtype: DTypeLike, index: int) -> DType:
    """The dtype of the keys or values, which must fit where they are read."""
    found = dtypes.as_dtype(dtype)
    if integer("TextFileInitializer", f"{what}_index", index) < -2:
        raise ValueError(
            f"TextFileInitializer: {what}_index must be a column or a TextFileIndex, not {index}"
        )
    if index == TextFileIndex.LINE_NUMBER and found is not dtypes.int64:
        raise ValueError(
            f"TextFileInitializer: {what}_dtype must be int64 for line numbers, not {found.name}"
        )
    if index == TextFileIndex.WHOLE_LINE and not (found is dtypes.string or found.is_integer):
        raise ValueError(
            f"TextFileInitializer: {what}_dtype must be string or an integer for whole lines, not {found.name}"
        )
    return found
