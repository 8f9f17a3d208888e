"""CSV files: CsvDataset, a tuple of scalars for each row, and make_csv_dataset, batches of columns by name."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.errors import InvalidArgumentError, OpError
from ..core.spec import TensorSpec
from ..core.tensor import wrap
from ..core.types import IntLike, TensorLike
from ..files.csv_rows import CsvColumn, CsvForm, csv_columns
from ..files.streams import read_lines
from ..files.tfrecords import checked_compression
from ..ops.array.movement import static_number as whole
from ..ops.scalars import boolean
from .checks import texts, wholes
from .dataset import Dataset
from .file_batches import batches_of, check_label, files_of, with_label
from .stage import Session, Stage
from .structure import is_dataset


class CsvFiles:
    """How the rows of CSV files are read: the form of rows, the compression, and whether there is a header."""

    def __init__(self, operation: str, form: CsvForm, compression: Any, header: Any) -> None:
        self.operation, self.form = operation, form
        self._compression = checked_compression(operation, compression)
        self.header = boolean(operation, "header", header)

    def rows(
        self, path: str, with_header: bool = False, skip_errors: bool = False
    ) -> Iterator[tuple[int, list[str]]]:
        """The fields of each row, with the number of its last line."""
        lines = read_lines(self.operation, path, self._compression)
        rows = self.form.rows(lines, f"{self.operation}: {path!r}", skip_errors)
        return islice(rows, 1 if self.header and not with_header else 0, None)


class Columns(Stage):
    """Chosen columns of the rows of CSV files, as a tuple of scalars for each row."""

    def __init__(
        self,
        filenames: Stage,
        files: CsvFiles,
        columns: Sequence[CsvColumn],
        chosen: list[int] | None,
        excluded: list[int] | None,
        skip_errors: bool = False,
    ) -> None:
        super().__init__(filenames)
        self._files, self._columns, self._chosen, self._excluded = files, columns, chosen, excluded
        self._skip_errors = skip_errors

    def elements(self, session: Session) -> Iterator[Any]:
        """The rows."""
        operation = self._files.operation
        for names in self.sources[0].open(session):
            for path in texts(f"{operation}: filenames", names):
                for line, fields in self._files.rows(path, skip_errors=self._skip_errors):
                    try:
                        row = self._row(f"{operation}: line {line} of {path!r}", fields)
                    except OpError:
                        if not self._skip_errors:
                            raise
                    else:
                        yield row

    def _row(self, what: str, fields: list[str]) -> tuple[Any, ...]:
        if self._excluded is not None:
            fields = [field for at, field in enumerate(fields) if at not in self._excluded]
        found: list[list[Any]] = [[] for _ in self._columns]
        chosen = range(len(self._columns)) if self._chosen is None else self._chosen
        self._files.form.append_row(what, fields, self._columns, chosen, self._chosen is None, found)
        return tuple(
            wrap(column.array(values).reshape(()))
            for column, values in zip(self._columns, found, strict=True)
        )

    def describe(self) -> Any:
        """The spec of a row."""
        return tuple(TensorSpec((), column.dtype) for column in self._columns)


class CsvDataset(Dataset):
    """The rows of CSV files, each a tuple of scalars.

    Args:
        filenames: one path or many, or a dataset of paths.
        record_defaults: for each column taken, a dtype if a value is required, or the value of an empty field: of
            float32, float64, int32, int64 or string.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size: accepted.
        header: whether the first row of each file is left out.
        field_delim: the character between fields.
        use_quote_delim: whether double quotes may hold a field, which may then contain delimiters and line breaks.
        na_value: a further text of empty fields.
        select_cols: the numbers of the columns to take, ascending; by default all.
        exclude_cols: the numbers of the columns to leave out, ascending.

    Raises:
        InvalidArgumentError: when a row is reached that has another number of fields, or a field that is no value
            of its column.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text("1,2.5\\n3,\\n")
    >>> [(int(a), float(b)) for a, b in CsvDataset(str(path), [dtypes.int32, 0.5])]
    [(1, 2.5), (3, 0.5)]
    """

    def __init__(
        self,
        filenames: TensorLike | Dataset,
        record_defaults: Sequence[Any],
        compression_type: str | None = None,
        buffer_size: IntLike | None = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
    ) -> None:
        name = "CsvDataset"
        files = CsvFiles(
            name, CsvForm(name, field_delim, use_quote_delim, na_value), compression_type, header
        )
        columns = csv_columns(name, record_defaults)
        chosen = _ascending("select_cols", select_cols)
        excluded = _ascending("exclude_cols", exclude_cols)
        if chosen is not None and excluded is not None:
            raise InvalidArgumentError(f"{name}: give select_cols or exclude_cols, not both")
        if chosen is not None and len(chosen) != len(columns):
            raise InvalidArgumentError(
                f"{name}: select_cols are {len(chosen)} columns, and there are {len(columns)} record_defaults"
            )
        source = filenames if is_dataset(filenames) else Dataset.from_tensors(filenames)
        super().__init__(Columns(source._stage, files, columns, chosen, excluded))  # type: ignore[union-attr]


def _ascending(what: str, numbers: Any) -> list[int] | None:
    if numbers is None:
        return None
    found = wholes(f"CsvDataset: {what}", numbers)
    if sorted({*found}) != found or (found and found[0] < 0):
        raise InvalidArgumentError(f"CsvDataset: {what} must be numbers of columns, ascending, not {found}")
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Batches of columns by name


def make_csv_dataset(
    file_pattern: Any,
    batch_size: IntLike,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: IntLike | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: IntLike = 10000,
    shuffle_seed: IntLike | None = None,
    prefetch_buffer_size: IntLike | None = None,
    num_parallel_reads: IntLike | None = None,
    sloppy: bool = False,
    num_rows_for_inference: IntLike | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Batches of the columns of CSV files: dicts of tensors by name, or pairs of such a dict and the label.

    Args:
        file_pattern: a path or pattern, or a list of them.
        batch_size: rows of a batch.
        column_names: of all columns, if the files have no header.
        column_defaults: for each column taken, a dtype or the value of an empty field; by default the dtypes are
            inferred: int32, int64, float32, float64 or string.
        label_name: the column that is the label.
        select_columns: names or numbers of the columns to take; by default all.
        field_delim, use_quote_delim, na_value, compression_type: as of `CsvDataset`.
        header: whether the first row of each file has the names.
        num_epochs: how often the files are read; by default again and again, in full batches.
        shuffle: whether files and rows are shuffled.
        shuffle_buffer_size: rows to draw from.
        shuffle_seed: of the shuffling.
        prefetch_buffer_size: accepted as `Dataset.prefetch` takes it.
        num_parallel_reads: the number of files that are read in turn, row by row.
        sloppy: accepted; the order is always that of the files.
        num_rows_for_inference: rows from which dtypes are inferred; None for all.
        ignore_errors: whether rows that cannot be parsed are left out.
        encoding: of the header: utf-8.

    Raises:
        ValueError: if no file matches, or names, labels and files do not fit each other.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text("x,y\\n1,2.5\\n3,4.5\\n")
    >>> for features, label in make_csv_dataset(str(path), 2, label_name="y", num_epochs=1, shuffle=False):
    ...     print(features["x"].numpy(), label.numpy())
    [1 3] [2.5 4.5]
    """
    name = "make_csv_dataset"
    files = CsvFiles(name, CsvForm(name, field_delim, use_quote_delim, na_value), compression_type, header)
    paths = files_of(name, file_pattern)
    names = _names(files, paths, column_names)
    chosen = _chosen(names, select_columns)
    labels = [names[at] for at in chosen]
    check_label(name, "label_name", label_name, labels)
    if column_defaults is None:
        column_defaults = _inferred(files, paths, len(names), chosen, na_value, num_rows_for_inference)
    of_file = _reader(files, _columns(name, column_defaults, len(chosen)), chosen, len(names), ignore_errors)
    buffer = (shuffle_buffer_size, shuffle_seed) if shuffle else None
    dataset = batches_of(paths, of_file, batch_size, num_epochs, buffer, num_parallel_reads, False)
    by_name = lambda *values: collections.OrderedDict(zip(labels, values, strict=True))
    return with_label(dataset, by_name, label_name, prefetch_buffer_size)


def _reader(files: CsvFiles, columns: Any, chosen: list[int], count: int, ignore_errors: bool) -> Any:
    """A function from a path to the dataset of a file's rows: the columns chosen, of `count`."""
    every = chosen if len(chosen) < count else None

    def of_file(path: Any) -> Dataset:
        return Dataset(Columns(Dataset.from_tensors(path)._stage, files, columns, every, None, ignore_errors))

    return of_file


def _columns(name: str, defaults: Sequence[Any], count: int) -> Any:
    if len(defaults) != count:
        raise ValueError(f"{name}: {len(defaults)} column_defaults for {count} columns: give one for each")
    return csv_columns(name, list(defaults))


def _names(files: CsvFiles, paths: list[str], given: Any) -> list[str]:
    """The names of the columns, which all files must agree about."""
    name = files.operation
    if given is None and not files.header:
        raise ValueError(f"{name}: give column_names, or header=True if the files begin with them")
    names = list(given) if given is not None else _header(files, paths[0])
    if len({*names}) != len(names):
        raise ValueError(f"{name}: a name stands twice among the columns {names}")
    if given is None:
        for path in paths[1:]:
            if _header(files, path) != names:
                raise ValueError(f"{name}: {path!r} has other columns than {paths[0]!r}, {names}")
    return names


def _header(files: CsvFiles, path: str) -> list[str]:
    _, fields = next(files.rows(path, with_header=True), (0, None))
    if fields is None:
        raise ValueError(f"{files.operation}: {path!r} is empty, and has no header")
    return fields


def _chosen(names: list[str], select: Any) -> list[int]:
    """The numbers of the columns to take, ascending."""
    if select is None:
        return list(range(len(names)))
    numbers = []
    for one in select:
        known = one in names if isinstance(one, str) else 0 <= whole("make_csv_dataset", one) < len(names)
        if not known:
            raise ValueError(f"make_csv_dataset: select_columns has {one!r}, and the columns are {names}")
        numbers.append(names.index(one) if isinstance(one, str) else int(one))
    if len({*numbers}) != len(numbers):
        raise ValueError(f"make_csv_dataset: a column stands twice in select_columns {list(select)}")
    return sorted(numbers)


_KINDS = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string]


def _inferred(
    files: CsvFiles, paths: list[str], count: int, chosen: list[int], missing: str, rows: IntLike | None
) -> list[Any]:
    """The default of each chosen column: 0 or b"", of the first dtype in `_KINDS` that holds all of its fields."""
    kinds = [0] * count
    seen = [False] * count
    limit = None if rows is None else whole("make_csv_dataset: num_rows_for_inference", rows)
    for line, fields in islice((row for path in paths for row in files.rows(path)), limit):
        if len(fields) != count:
            raise ValueError(
                f"make_csv_dataset: no dtypes can be inferred: line {line} has {len(fields)} fields, not {count}: give "
                "column_defaults"
            )
        for at in chosen:
            if fields[at] not in ("", missing):
                seen[at] = True
                while not _holds(_KINDS[kinds[at]], fields[at]):
                    kinds[at] += 1
    found = [_KINDS[kinds[at]] if seen[at] else dtypes.string for at in chosen]
    return [wrap(np.array([b"" if kind is dtypes.string else 0], kind.numpy_dtype)) for kind in found]


def _holds(kind: dtypes.DType, field: str) -> bool:
    if kind is dtypes.string:
        return True
    try:
        number = int(field) if kind.is_integer else float(field)
    except ValueError:
        return False
    return "_" not in field and (
        int(kind.min) <= number <= int(kind.max)
        if kind.is_integer
        else float(kind.min) < number < float(kind.max)
    )
