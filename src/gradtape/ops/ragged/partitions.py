"""RowPartition: how values are divided into rows, without the values. A ragged tensor of empty values does the work."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dtypes import DType
from ...core.tensor import Tensor, wrap
from ...core.types import DTypeLike, TensorLike
from ...engine.arrays import is_traced
from ..known import static_number
from .ragged_tensor import RaggedTensor
from .row_partition import columns_of_values, partition

_ONE = object()  # only this file makes partitions


class RowPartition:
    """A division of values into rows. The methods named `from_...` make one.

    >>> rows = RowPartition.from_row_lengths([2, 0, 1])
    >>> rows.row_splits().numpy().tolist(), rows.value_rowids().numpy().tolist()
    ([0, 2, 2, 3], [0, 0, 2])
    """

    def __init__(self, rows: RaggedTensor, _made: Any = None) -> None:
        if _made is not _ONE:
            raise ValueError(
                "a RowPartition is not made by calling RowPartition(...): use RowPartition.from_row_splits(...) or "
                "another of its methods"
            )
        self._rows = rows

    @classmethod
    def from_row_splits(
        cls, row_splits: TensorLike, validate: bool = True, dtype: DTypeLike | None = None
    ) -> RowPartition:
        """Rows that end where the next one begins.

        Raises:
            InvalidArgumentError: if the splits do not begin with 0 and increase.

        >>> RowPartition.from_row_splits([0, 2, 3]).row_lengths().numpy().tolist()
        [2, 1]
        """
        splits = partition("RowPartition.from_row_splits", "row_splits", row_splits)
        count = splits[-1] if len(splits) else 0
        return cls._of(RaggedTensor.from_row_splits(_values(count), wrap(splits), validate=validate), dtype)

    @classmethod
    def from_row_lengths(
        cls, row_lengths: TensorLike, validate: bool = True, dtype: DTypeLike | None = None
    ) -> RowPartition:
        """Rows of given lengths.

        >>> RowPartition.from_row_lengths([2, 1]).row_splits().numpy().tolist()
        [0, 2, 3]
        """
        lengths = partition("RowPartition.from_row_lengths", "row_lengths", row_lengths)
        made = RaggedTensor.from_row_lengths(_values(lengths.sum()), wrap(lengths), validate=validate)
        return cls._of(made, dtype)

    @classmethod
    def from_value_rowids(
        cls,
        value_rowids: TensorLike,
        nrows: TensorLike | None = None,
        validate: bool = True,
        dtype: DTypeLike | None = None,
    ) -> RowPartition:
        """The row of each value, in order; `nrows` is by default the last of them and 1.

        >>> RowPartition.from_value_rowids([0, 0, 2], nrows=4).row_lengths().numpy().tolist()
        [2, 0, 1, 0]
        """
        rowids = partition("RowPartition.from_value_rowids", "value_rowids", value_rowids)
        made = RaggedTensor.from_value_rowids(_values(len(rowids)), wrap(rowids), nrows, validate=validate)
        return cls._of(made, dtype)

    @classmethod
    def from_row_starts(
        cls, row_starts: TensorLike, nvals: TensorLike, validate: bool = True, dtype: DTypeLike | None = None
    ) -> RowPartition:
        """Rows that begin at given places, up to `nvals`.

        >>> RowPartition.from_row_starts([0, 2], nvals=3).row_lengths().numpy().tolist()
        [2, 1]
        """
        count = static_number("RowPartition.from_row_starts: nvals", nvals)
        return cls._of(RaggedTensor.from_row_starts(_values(count), row_starts, validate=validate), dtype)

    @classmethod
    def from_row_limits(
        cls, row_limits: TensorLike, validate: bool = True, dtype: DTypeLike | None = None
    ) -> RowPartition:
        """Rows that end at given places.

        >>> RowPartition.from_row_limits([2, 3]).row_lengths().numpy().tolist()
        [2, 1]
        """
        limits = partition("RowPartition.from_row_limits", "row_limits", row_limits)
        count = limits[-1] if len(limits) else 0
        return cls._of(RaggedTensor.from_row_limits(_values(count), wrap(limits), validate=validate), dtype)

    @classmethod
    def from_uniform_row_length(
        cls,
        uniform_row_length: TensorLike,
        nvals: TensorLike | None = None,
        nrows: TensorLike | None = None,
        validate: bool = True,
        dtype: DTypeLike | None = None,
    ) -> RowPartition:
        """Rows of one length: as many as `nvals` values fill, or `nrows`.

        Raises:
            ValueError: if neither is given, or both and they do not fit.

        >>> RowPartition.from_uniform_row_length(2, nvals=6).row_splits().numpy().tolist()
        [0, 2, 4, 6]
        """
        what = "RowPartition.from_uniform_row_length"
        length = static_number(f"{what}: uniform_row_length", uniform_row_length)
        if nvals is None and nrows is None:
            raise ValueError(f"{what}: nvals or nrows is needed")
        count = (
            static_number(f"{what}: nvals", nvals)
            if nvals is not None
            else length * static_number(f"{what}: nrows", nrows)
        )
        return cls._of(RaggedTensor.from_uniform_row_length(_values(count), length, nrows), dtype)

    @classmethod
    def _of(cls, rows: RaggedTensor, dtype: DTypeLike | None) -> RowPartition:
        return cls(rows if dtype is None else rows.with_row_splits_dtype(dtype), _ONE)

    @property
    def dtype(self) -> DType:
        """The dtype of the splits: int32 or int64."""
        return self._rows.row_splits.dtype

    def row_splits(self) -> Tensor:
        """[0, end of the first row, ...]."""
        return self._rows.row_splits

    def row_lengths(self) -> Tensor:
        """The length of each row."""
        return self._rows.row_lengths()

    def row_starts(self) -> Tensor:
        """Where each row begins."""
        return self._rows.row_starts()

    def row_limits(self) -> Tensor:
        """Where each row ends."""
        return self._rows.row_limits()

    def value_rowids(self) -> Tensor:
        """The row of each value."""
        return self._rows.value_rowids()

    def offsets_in_rows(self) -> Tensor:
        """The place of each value in its row."""
        return wrap(columns_of_values(self._rows._splits, self._rows.values.shape[0]))

    def nrows(self) -> Tensor:
        """The number of rows."""
        return self._rows.nrows()

    def nvals(self) -> Tensor:
        """The number of values."""
        return wrap(np.asarray(self._rows.values.shape[0], self._rows._splits.dtype))

    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows, if `from_uniform_row_length` gave one; otherwise None."""
        return self._rows.uniform_row_length

    def is_uniform(self) -> bool:
        """Return whether the rows are known to have one length."""
        return self._rows.uniform_row_length is not None

    @property
    def static_nrows(self) -> int | None:
        """The number of rows, as a plain number."""
        return self._rows.shape[0]

    @property
    def static_nvals(self) -> int | None:
        """The number of values, as a plain number."""
        return self._rows.values.shape[0]

    @property
    def static_uniform_row_length(self) -> int | None:
        """The length of all rows, as a plain number, if there is one."""
        return self._rows._width

    def with_dtype(self, dtype: DTypeLike) -> RowPartition:
        """The same division with splits of another dtype."""
        return RowPartition._of(self._rows, dtype)

    def __repr__(self) -> str:
        return f"tf.RowPartition(row_splits={self.row_splits().numpy().tolist()})"


def _values(count: Any) -> Tensor:
    """So many values, of a byte each.

    Raises:
        ValueError: if the number is not known while a @function is traced.
    """
    if is_traced(count):
        raise ValueError(
            "RowPartition: in a @function the number of values must be known: from_value_rowids and from_row_starts "
            "know it"
        )
    return wrap(np.zeros(max(int(count), 0), np.uint8))
