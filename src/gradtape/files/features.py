"""Descriptions of the features of an example, for `parse_example` and its kin: shape, dtype, and what comes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..core import dtypes
from ..core.types import DTypeLike


class FixedLenFeature(NamedTuple):
    """A feature of a known shape.

    Args:
        shape: of the feature in one example.
        dtype: float32, int64 or string.
        default_value: for examples that have none; without it they are an error.

    >>> import gradtape as tf
    >>> Feature, Int64List = tf.train.Feature, tf.train.Int64List
    >>> features = tf.train.Features(feature={"n": Feature(int64_list=Int64List(value=[3, 5]))})
    >>> text = tf.train.Example(features=features).SerializeToString()
    >>> tf.io.parse_single_example(text, {"n": FixedLenFeature([2], tf.int64)})["n"].numpy()
    array([3, 5])
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of rows of a known shape.

    Args:
        shape: of one row.
        dtype: float32, int64 or string.
        allow_missing: whether an example may have none.
        default_value: fills up examples with fewer rows than others of the batch.

    >>> import gradtape as tf
    >>> Feature, Int64List = tf.train.Feature, tf.train.Int64List
    >>> features = tf.train.Features(feature={"n": Feature(int64_list=Int64List(value=[3, 5]))})
    >>> text = tf.train.Example(features=features).SerializeToString()
    >>> rows = FixedLenSequenceFeature([], tf.int64, allow_missing=True)
    >>> tf.io.parse_single_example(text, {"n": rows})["n"].numpy()
    array([3, 5])
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature of any number of values, parsed as a SparseTensor.

    Args:
        dtype: float32, int64 or string.

    >>> import gradtape as tf
    >>> Feature, Int64List = tf.train.Feature, tf.train.Int64List
    >>> features = tf.train.Features(feature={"n": Feature(int64_list=Int64List(value=[3, 5]))})
    >>> text = tf.train.Example(features=features).SerializeToString()
    >>> tf.sparse.to_dense(tf.io.parse_single_example(text, {"n": VarLenFeature(tf.int64)})["n"]).numpy()
    array([3, 5])
    """

    dtype: Any


class SparseFeature(NamedTuple):
    """A SparseTensor that an example keeps in several features: the values, and an index for each axis.

    Args:
        index_key: name of the feature with the indices, int64; a list of names, one for each axis.
        value_key: name of the feature with the values.
        dtype: of the values: float32, int64 or string.
        size: length of the axis; a list for several.
        already_sorted: leave the values in the order of the file.

    >>> import gradtape as tf
    >>> numbers = lambda *values: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    >>> features = tf.train.Features(feature={"at": numbers(0, 2), "is": numbers(7, 9)})
    >>> text = tf.train.Example(features=features).SerializeToString()
    >>> parsed = tf.io.parse_single_example(text, {"n": SparseFeature("at", "is", tf.int64, size=4)})
    >>> tf.sparse.to_dense(parsed["n"]).numpy()
    array([7, 0, 9, 0])
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class RowSplits(NamedTuple):
    """Rows by their limits: 0, the end of the first row, ..., the number of values."""

    key: str


class RowLengths(NamedTuple):
    """Rows by their lengths."""

    key: str


class RowStarts(NamedTuple):
    """Rows by the index of their first value."""

    key: str


class RowLimits(NamedTuple):
    """Rows by the index after their last value."""

    key: str


class ValueRowIds(NamedTuple):
    """Rows by the number of the row of each value."""

    key: str


class UniformRowLength(NamedTuple):
    """Rows of one length."""

    length: int


_NESTED = {
    cls.__name__: cls for cls in (RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds, UniformRowLength)
}


class _RaggedFields(NamedTuple):
    dtype: Any
    value_key: str | None
    partitions: Sequence[Any]
    row_splits_dtype: Any
    validate: bool


class RaggedFeature(_RaggedFields):
    """A feature of any number of values, parsed as a RaggedTensor.

    Args:
        dtype: float32, int64 or string.
        value_key: name of the feature with the values; by default the key of the description.
        partitions: how the values make rows, the outermost first: `RaggedFeature.RowSplits(key)`, `RowLengths(key)`,
            `RowStarts(key)`, `RowLimits(key)`, `ValueRowIds(key)`, which name a feature;
            `UniformRowLength(length)`.
        row_splits_dtype: int32 or int64.
        validate: accepted; partitions are always validated.

    >>> RaggedFeature("float32", partitions=[RaggedFeature.RowLengths("n")]).partitions
    (RowLengths(key='n'),)
    """

    __slots__ = ()
    RowSplits = RowSplits
    RowLengths = RowLengths
    RowStarts = RowStarts
    RowLimits = RowLimits
    ValueRowIds = ValueRowIds
    UniformRowLength = UniformRowLength

    def __new__(
        cls,
        dtype: DTypeLike,
        value_key: str | None = None,
        partitions: Sequence[Any] = (),
        row_splits_dtype: DTypeLike = dtypes.int32,
        validate: bool = False,
    ) -> RaggedFeature:
        """The description, with its partitions checked."""
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"RaggedFeature: partitions must be a list, not {partitions!r}")
        for partition in partitions:
            if not isinstance(partition, tuple(_NESTED.values())):
                kinds = ", ".join(f"RaggedFeature.{name}" for name in _NESTED)
                raise TypeError(f"RaggedFeature: the partition {partition!r} is none of {kinds}")
        splits = dtypes.as_dtype(row_splits_dtype)
        if splits.name not in ("int32", "int64"):
            raise TypeError(f"RaggedFeature: row_splits_dtype must be int32 or int64, not {splits.name}")
        return super().__new__(cls, dtype, value_key, tuple(partitions), splits, validate)
