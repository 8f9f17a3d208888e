"""CSV: the fields of rows, the values of columns, and `decode_csv`."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.errors import InvalidArgumentError
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.types import TensorLike
from ..ops.known import static_shape
from ..ops.scalars import boolean, text
from .contents import strings

_TYPES = ("float32", "float64", "int32", "int64", "string")


class CsvColumn:
    """A column of CSV: its dtype, and the value of an empty field."""

    def __init__(self, operation: str, number: int, default: Any) -> None:
        self._number = number
        self._default: Any = None
        if isinstance(default, (dtypes.DType, type, np.dtype)) or (
            isinstance(default, str) and default in _TYPES
        ):
            self.dtype = dtypes.as_dtype(default)
        else:
            array = convert(default)._array
            self.dtype = dtypes.of(array)
            if array.size > 1:
                raise InvalidArgumentError(
                    f"{operation}: the default of column {number} must be one value or none"
                )
            if array.size:
                self._default = array.reshape(-1)[0]
        if self.dtype.name not in _TYPES:
            raise InvalidArgumentError(
                f"{operation}: column {number} must be one of {', '.join(_TYPES)}, not {self.dtype.name}"
            )

    def value(self, what: str, field: str, missing: str) -> Any:
        """The value of a field of the row `what`."""
        if not field or field == missing:
            if self._default is None:
                raise InvalidArgumentError(f"{what}: field {self._number} is required, and empty")
            return self._default
        try:
            if self.dtype is dtypes.string:
                return field.encode("utf-8", "surrogateescape")
            return np.array(_number(field, self.dtype.is_integer), self.dtype.numpy_dtype)[()]
        except (ValueError, OverflowError):
            raise InvalidArgumentError(
                f"{what}: field {self._number} is {field[:40]!r}, no {self.dtype.name}"
            ) from None

    def array(self, values: list[Any]) -> np.ndarray:
        """Values as an array of the column's dtype."""
        array = np.empty(len(values), self.dtype.numpy_dtype)
        array[:] = values
        return array


def _number(field: str, whole: bool) -> Any:
    if "_" in field:  # Python takes 1_000
        raise ValueError
    if whole:
        return int(field)
    return float.fromhex(field) if "x" in field or "X" in field else float(field)


def csv_columns(operation: str, record_defaults: Any) -> list[CsvColumn]:
    """The columns that a list of dtypes and default values describes."""
    if not isinstance(record_defaults, (list, tuple)):
        raise InvalidArgumentError(f"{operation}: record_defaults must be a list, not {record_defaults!r}")
    return [CsvColumn(operation, i, default) for i, default in enumerate(record_defaults)]


class CsvForm:
    """The form of CSV rows: the delimiter, whether quotes hold fields, and the text of missing fields."""

    def __init__(self, operation: str, field_delim: Any, use_quote_delim: Any, na_value: Any) -> None:
        self._delimiter = text(operation, "field_delim", field_delim)
        if len(self._delimiter) != 1:
            raise InvalidArgumentError(f"{operation}: field_delim must be one character, not {field_delim!r}")
        self._missing = text(operation, "na_value", na_value)
        self._quotes = boolean(operation, "use_quote_delim", use_quote_delim)

    def rows(
        self, lines: Iterable[bytes], what: str, skip_errors: bool = False
    ) -> Iterator[tuple[int, list[str]]]:
        """The fields of each row, with the number of its last line.

        Bytes that are no UTF-8 come as surrogates. A field in quotes may hold line breaks.

        Args:
            lines: the text, line by line.
            what: the text, for errors.
            skip_errors: whether rows that break the rules of quotes are left out.

        Raises:
            InvalidArgumentError: if a row breaks the rules of quotes.
        """
        reader = csv.reader(
            (part for line in lines for part in _parts(line.decode("utf-8", "surrogateescape"))),
            delimiter=self._delimiter,
            quoting=csv.QUOTE_MINIMAL if self._quotes else csv.QUOTE_NONE,
            strict=self._quotes,
        )
        while True:
            try:
                fields = next(reader, None)
            except csv.Error as error:
                if skip_errors:
                    continue
                raise InvalidArgumentError(f"{what}: line {reader.line_num} is not CSV: {error}") from error
            if fields is None:
                return
            yield reader.line_num, fields or [""]

    def append_row(
        self,
        what: str,
        fields: list[str],
        columns: Sequence[CsvColumn],
        chosen: Sequence[int],
        exact: bool,
        found: list[list[Any]],
    ) -> None:
        """Append the values of the chosen fields of a row to the lists of their columns.

        Args:
            exact: whether the row must have no other fields.

        Raises:
            InvalidArgumentError: if there are too few or too many fields, or one is no value of its column.
        """
        if (exact and len(fields) != len(columns)) or len(fields) <= max(chosen, default=-1):
            raise InvalidArgumentError(
                f"{what} has {len(fields)} fields, and {max(chosen, default=-1) + 1} are expected"
            )
        values = [
            column.value(what, fields[at], self._missing) for column, at in zip(columns, chosen, strict=True)
        ]
        for column_values, value in zip(found, values, strict=True):
            column_values.append(value)


def _parts(line: str) -> list[str]:
    r"""A line, divided after each \r that does not belong to \r\n: a row may end there."""
    if "\r" not in line:
        return [line]
    body, end = (line[:-2], "\r\n") if line.endswith("\r\n") else (line, "")
    parts = [f"{part}\r" for part in body.split("\r")]
    parts[-1] = parts[-1][:-1] + end
    return parts if parts[-1] else parts[:-1]


def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """The columns of lines of CSV, one tensor each, of the shape of `records`.

    Args:
        records: a line for each string.
        record_defaults: for each column a value for where it is empty, whose dtype the column has; a dtype, or an empty
            list, makes the column required.
        field_delim: the character between fields.
        use_quote_delim: whether a field may stand in double quotes, and then contain the delimiter.
        na_value: a field with this text also counts as empty.
        select_cols: the numbers of the columns to take, in order; all by default.

    Raises:
        InvalidArgumentError: if a line has another number of fields, a required one is empty, or one is no number.

    >>> [column.numpy() for column in decode_csv(["1,2.5", "3,"], [0, 0.5])]
    [array([1, 3], dtype=int32), array([2.5, 0.5], dtype=float32)]
    """
    array = strings("decode_csv", "records", records)
    form = CsvForm("decode_csv", field_delim, use_quote_delim, na_value)
    columns = csv_columns("decode_csv", record_defaults)
    chosen = list(range(len(columns)) if select_cols is None else static_shape("decode_csv", select_cols))
    if len(chosen) != len(columns) or sorted(set(chosen)) != chosen:
        raise InvalidArgumentError(
            f"decode_csv: select_cols {chosen} must be in order, one for each of the {len(columns)} record_defaults"
        )
    found: list[list[Any]] = [[] for _ in columns]
    for i, line in enumerate(array.reshape(-1).tolist()):
        what = f"decode_csv: record {i}"
        _, fields = next(form.rows([line], what), (0, [""]))
        form.append_row(what, fields, columns, chosen, exact=select_cols is None, found=found)
    return [
        wrap(column.array(values).reshape(array.shape)) for column, values in zip(columns, found, strict=True)
    ]
