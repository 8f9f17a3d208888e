"""The constructors of RaggedTensor, named `from_...`: from the splits, lengths, starts or indices of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ...core.composite import CompositeTensor
from ...core.errors import InvalidArgumentError
from ...core.tensor_conversion import convert_to_tensor
from ...core.types import TensorLike
from ...engine.arrays import xp
from ..known import static_number
from .row_partition import (
    check_splits,
    partition,
    splits_of_lengths,
    splits_of_rowids,
    uniform_splits,
)

MADE = object()  # given by those who may make a ragged tensor: they know that values and splits fit


class RaggedConstructors(CompositeTensor):
    """The parts that RaggedTensor, the only class derived from this one, consists of, and what makes one."""

    _values: Any  # a tensor, or a ragged tensor
    _splits: Any  # the array of the row splits
    _width: int | None  # the length of all rows, if they are known to have one

    def __init__(self, values: Any, splits: Any, width: int | None = None, _made: Any = None) -> None:
        if _made is not MADE:
            raise ValueError(
                "a RaggedTensor is not made by calling RaggedTensor(...): use RaggedTensor.from_row_splits(...) or "
                "another of its methods"
            )
        self._values, self._splits, self._width = values, splits, width

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: TensorLike, name: str | None = None, validate: bool = True
    ) -> Self:
        """Rows that end where the next one begins.

        Args:
            values: the values of all rows, joined: a tensor, or a ragged tensor.
            row_splits: [0, end of the first row, ...].
            validate: whether the splits are checked.

        Raises:
            InvalidArgumentError: if the splits do not divide the values.

        >>> from gradtape import RaggedTensor
        >>> RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 3])
        <tf.RaggedTensor [[1, 2], [3]]>
        """
        return cls._made(
            "from_row_splits", values, partition("from_row_splits", "row_splits", row_splits), validate
        )

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: TensorLike, name: str | None = None, validate: bool = True
    ) -> Self:
        """Rows of given lengths.

        Raises:
            InvalidArgumentError: if the lengths do not add up to the number of values.

        >>> from gradtape import RaggedTensor
        >>> RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 1])
        <tf.RaggedTensor [[1, 2], [], [3]]>
        """
        lengths = partition("from_row_lengths", "row_lengths", row_lengths)
        return cls._made("from_row_lengths", values, splits_of_lengths(lengths), validate)

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: TensorLike,
        nrows: TensorLike | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Self:
        """Values each of which says its row.

        Args:
            value_rowids: the row of each value, in order.
            nrows: the number of rows; by default up to the last that has a value.

        Raises:
            InvalidArgumentError: if the rows are not in order.

        >>> from gradtape import RaggedTensor
        >>> RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2], nrows=4)
        <tf.RaggedTensor [[1, 2], [], [3], []]>
        """
        count = None if nrows is None else static_number("from_value_rowids: nrows", nrows)
        rowids = partition("from_value_rowids", "value_rowids", value_rowids)
        return cls._made(
            "from_value_rowids", values, splits_of_rowids("from_value_rowids", rowids, count), validate
        )

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: TensorLike, name: str | None = None, validate: bool = True
    ) -> Self:
        """Rows that begin at given places.

        Raises:
            InvalidArgumentError: if the places do not divide the values.

        >>> from gradtape import RaggedTensor
        >>> RaggedTensor.from_row_starts([1, 2, 3], [0, 2, 2])
        <tf.RaggedTensor [[1, 2], [], [3]]>
        """
        values = as_values("from_row_starts", values)
        starts = partition("from_row_starts", "row_starts", row_starts)
        m = xp(starts)
        splits = m.concatenate([starts, m.asarray([count_of(values)], starts.dtype)])
        return cls._made("from_row_starts", values, splits, validate)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: TensorLike, name: str | None = None, validate: bool = True
    ) -> Self:
        """Rows that end at given places.

        Raises:
            InvalidArgumentError: if the places do not divide the values.

        >>> from gradtape import RaggedTensor
        >>> RaggedTensor.from_row_limits([1, 2, 3], [2, 2, 3])
        <tf.RaggedTensor [[1, 2], [], [3]]>
        """
        limits = partition("from_row_limits", "row_limits", row_limits)
        m = xp(limits)
        return cls._made(
            "from_row_limits", values, m.concatenate([m.zeros(1, limits.dtype), limits]), validate
        )

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: TensorLike,
        nrows: TensorLike | None = None,
        validate: bool = True,
        name: str | None = None,
    ) -> Self:
        """Rows of one length.

        Args:
            uniform_row_length: the length.
            nrows: the number of rows; needed if the length is 0.

        Raises:
            ValueError: if the values are not so many.

        >>> from gradtape import RaggedTensor
        >>> RaggedTensor.from_uniform_row_length(RaggedTensor.from_row_lengths([1, 2, 3], [2, 1]), 2).shape
        TensorShape([1, 2, None])
        """
        values = as_values("from_uniform_row_length", values)
        length = static_number("from_uniform_row_length: uniform_row_length", uniform_row_length)
        if length < 0:
            raise ValueError(f"from_uniform_row_length: a length must be 0 or more, not {length}")
        count = count_of(values)
        given = None if nrows is None else static_number("from_uniform_row_length: nrows", nrows)
        rows = given if given is not None else count // length if length else 0
        if rows * length != count:
            raise ValueError(
                f"from_uniform_row_length: {rows} rows of length {length} do not hold {count} values"
            )
        dtype = values._splits.dtype if isinstance(values, RaggedConstructors) else np.int64
        return cls(values, uniform_splits(rows, length, dtype), length, MADE)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Sequence[TensorLike],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Rows of rows, given the splits of each level, the outermost first.

        >>> from gradtape import RaggedTensor
        >>> RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 1, 2], [0, 2, 3]])
        <tf.RaggedTensor [[[1, 2]],
         [[3]]]>
        """
        result = as_values("from_nested_row_splits", flat_values)
        for splits in reversed(_levels("from_nested_row_splits", nested_row_splits)):
            result = cls.from_row_splits(result, splits, validate=validate)
        return result

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Sequence[TensorLike],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Rows of rows, given the lengths of each level, the outermost first.

        >>> from gradtape import RaggedTensor
        >>> RaggedTensor.from_nested_row_lengths([1, 2, 3], [[1, 1], [2, 1]]).to_list()
        [[[1, 2]], [[3]]]
        """
        result = as_values("from_nested_row_lengths", flat_values)
        for lengths in reversed(_levels("from_nested_row_lengths", nested_row_lengths)):
            result = cls.from_row_lengths(result, lengths, validate=validate)
        return result

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Sequence[TensorLike],
        nested_nrows: Sequence[TensorLike] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Rows of rows, given the row of each value at each level, the outermost first.

        >>> from gradtape import RaggedTensor
        >>> RaggedTensor.from_nested_value_rowids([1, 2, 3], [[0, 1], [0, 0, 1]]).to_list()
        [[[1, 2]], [[3]]]
        """
        result = as_values("from_nested_value_rowids", flat_values)
        levels = _levels("from_nested_value_rowids", nested_value_rowids)
        counts = [None] * len(levels) if nested_nrows is None else list(nested_nrows)
        if len(counts) != len(levels):
            raise ValueError(
                f"from_nested_value_rowids: {len(counts)} nested_nrows for {len(levels)} nested_value_rowids"
            )
        for rowids, nrows in zip(reversed(levels), reversed(counts), strict=True):
            result = cls.from_value_rowids(result, rowids, nrows, validate=validate)
        return result

    @classmethod
    def _made(cls, operation: str, values: Any, splits: Any, validate: bool = True) -> Self:
        inner = as_values(operation, values)
        if isinstance(inner, RaggedConstructors) and inner._splits.dtype != splits.dtype:
            raise ValueError(
                f"{operation}: the splits of one tensor are all int32 or all int64: see with_row_splits_dtype"
            )
        if validate:
            check_splits(operation, splits, count_of(inner))
        return cls(inner, splits, None, MADE)


def as_values(operation: str, values: Any) -> Any:
    """Values that can be divided into rows: a ragged tensor, or a tensor with an axis."""
    if isinstance(values, RaggedConstructors):
        return values
    tensor = convert_to_tensor(values)
    if not tensor.ndim:
        raise InvalidArgumentError(
            f"{operation}: values must have an axis to divide into rows, and this is a scalar"
        )
    return tensor


def count_of(values: Any) -> int:
    """The number of values: the length of the first axis."""
    return len(values._splits) - 1 if isinstance(values, RaggedConstructors) else values._array.shape[0]


def _levels(operation: str, value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{operation}: a list with one entry for each level is needed, not {value!r}")
    return list(value)
