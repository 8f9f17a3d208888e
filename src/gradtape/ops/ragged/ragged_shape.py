"""DynamicRaggedShape: the lengths of the axes of a ragged tensor, as `tf.shape` gives them."""

from __future__ import annotations

from typing import Any

from ...core import dtypes
from ...core.dtypes import DType
from ...core.types import DTypeLike
from ...engine.arrays import is_traced
from ..array.shape import shape
from ..dispatch import extend
from .ragged_constructors import count_of
from .ragged_tensor import RaggedTensor, axis_of, levels
from .row_partition import lengths_of, number


class DynamicRaggedShape:
    """The length of each axis: a number, or the lengths of all rows.

    Args:
        lengths: for each axis a number, or an array.
        num_row_partitions: the number of axes after the first that are divided into rows.
        dtype: int32 or int64.
    """

    def __init__(self, lengths: list[Any], num_row_partitions: int, dtype: DType) -> None:
        self._lengths, self._partitions, self._dtype = lengths, num_row_partitions, dtype

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self._lengths)

    @property
    def num_row_partitions(self) -> int:
        """The number of axes after the first that are divided into rows."""
        return self._partitions

    @property
    def dtype(self) -> DType:
        """The dtype of the lengths."""
        return self._dtype

    @property
    def inner_rank(self) -> int:
        """The number of axes of the flat values."""
        return self.rank - self._partitions

    def is_uniform(self, axis: int) -> bool:
        """Return whether an axis has one length."""
        return isinstance(self._lengths[axis_of("is_uniform", axis, self.rank)], int)

    def static_lengths(self) -> list[Any]:
        """The lengths: a number for each axis, or a tuple with the lengths of all rows; None for those not known."""
        return [
            n if isinstance(n, int) else None if is_traced(n) else tuple(n.tolist()) for n in self._lengths
        ]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(self.rank)
            if start or step != 1:
                raise ValueError("a part of a ragged shape must begin with the first axis")
            return DynamicRaggedShape(
                self._lengths[:stop], max(min(self._partitions, stop - 1), 0), self._dtype
            )
        if not -self.rank <= index < self.rank:
            raise IndexError(f"there is no axis {index} in a shape of {self.rank} axes")
        length = self._lengths[index]
        if not isinstance(length, int):
            raise ValueError(f"axis {index} is ragged, and has no one length: see row_lengths()")
        return number(length, self._dtype.numpy_dtype)

    def __repr__(self) -> str:
        lengths = ", ".join(map(str, self.static_lengths()))
        return f"<DynamicRaggedShape lengths=[{lengths}] num_row_partitions={self._partitions}>"


@extend(shape, RaggedTensor)
def _shape(input: RaggedTensor, out_type: DTypeLike | None = None, name: str | None = None) -> Any:
    deep = levels(input)
    rows = [level._width if level._width is not None else lengths_of(level._splits) for level in deep]
    lengths = [count_of(input), *rows, *input.flat_values._array.shape[1:]]
    return DynamicRaggedShape(lengths, len(deep), dtypes.as_dtype("int32" if out_type is None else out_type))
