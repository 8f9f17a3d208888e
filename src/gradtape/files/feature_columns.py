"""Feature columns: descriptions of the features of examples, of which `make_parse_example_spec` makes what is parsed.

The layers that took such columns ended with Keras 2. What is left are the descriptions, as `parse_example` needs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes
from ..core.tensor_conversion import convert
from ..core.types import DTypeLike
from ..ops.scalars import integer, number
from .features import FixedLenFeature, VarLenFeature


class FeatureColumn(NamedTuple):
    """A description of a feature. The functions of `tf.feature_column` make one.

    Attributes:
        name: of the column.
        parse_example_spec: the descriptions that `tf.io.parse_example` takes, by name.
        is_categorical: whether the values are classes.
        options: the other arguments that it was made with.
    """

    name: str
    parse_example_spec: Mapping[str, Any]
    is_categorical: bool
    options: Mapping[str, Any]


def _tuples(values: Any) -> Any:
    return tuple(map(_tuples, values)) if isinstance(values, list) else values


def _key(function: str, key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"{function}: key must be the name of a feature, not {key!r}")
    return key


def _classes(function: str, column: Any) -> FeatureColumn:
    if not isinstance(column, FeatureColumn) or not column.is_categorical:
        raise ValueError(
            f"{function}: a column made by categorical_column_with_... is needed, not {column!r}"
        )
    return column


def _kind(function: str, dtype: Any) -> dtypes.DType:
    kind = dtypes.as_dtype(dtype)
    if kind is not dtypes.string and not kind.is_integer:
        raise ValueError(f"{function}: dtype must be string or integer, not {kind.name}")
    return kind


def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: DTypeLike = "float32",
    normalizer_fn: Any = None,
) -> FeatureColumn:
    """Numbers of a known shape.

    Args:
        key: the name of the feature.
        shape: of the feature in one example.
        default_value: for examples that have none.
        dtype: a dtype of numbers.
        normalizer_fn: a function of the tensor, kept with the column.

    >>> make_parse_example_spec([numeric_column("age")])["age"].shape
    (1,)
    """
    kind = dtypes.as_dtype(dtype)
    if not kind.is_floating and not kind.is_integer:
        raise ValueError(f"numeric_column: dtype must be one of numbers, not {kind.name}")
    lengths = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    sizes = tuple(integer("numeric_column", "shape", n, least=1) for n in lengths)
    if default_value is not None:
        default_value = _tuples(
            np.broadcast_to(convert(default_value, kind.numpy_dtype)._array, sizes).tolist()
        )
    spec = {_key("numeric_column", key): FixedLenFeature(sizes, kind, default_value)}
    return FeatureColumn(key, spec, False, {"normalizer_fn": normalizer_fn})


def bucketized_column(source_column: FeatureColumn, boundaries: Sequence[float]) -> FeatureColumn:
    """The interval that a number lies in.

    Args:
        source_column: the number, as a numeric_column.
        boundaries: where intervals begin, in ascending order.

    >>> bucketized_column(numeric_column("age"), [18.0, 65.0]).name
    'age_bucketized'
    """
    if not isinstance(source_column, FeatureColumn) or "normalizer_fn" not in source_column.options:
        raise ValueError(
            f"bucketized_column: a column made by numeric_column is needed, not {source_column!r}"
        )
    limits = [number("bucketized_column", "boundaries", limit) for limit in boundaries]
    if not limits or any(a >= b for a, b in pairwise(limits)):
        raise ValueError(f"bucketized_column: boundaries must increase, not {boundaries!r}")
    name = f"{source_column.name}_bucketized"
    return FeatureColumn(name, source_column.parse_example_spec, True, {"boundaries": limits})


def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = "string"
) -> FeatureColumn:
    """Classes by the hashes of texts or integers.

    Args:
        key: the name of the feature.
        hash_bucket_size: the number of classes.
        dtype: string, or an integer dtype.

    >>> make_parse_example_spec([categorical_column_with_hash_bucket("word", 10)])["word"]
    VarLenFeature(dtype=tf.string)
    """
    function = "categorical_column_with_hash_bucket"
    size = integer(function, "hash_bucket_size", hash_bucket_size, least=1)
    spec = {_key(function, key): VarLenFeature(_kind(function, dtype))}
    return FeatureColumn(key, spec, True, {"num_buckets": size})


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> FeatureColumn:
    """Classes that are numbers from 0 on already.

    Args:
        key: the name of the feature.
        num_buckets: the number of classes.
        default_value: the class of other numbers; without it they are errors.

    >>> make_parse_example_spec([categorical_column_with_identity("day", 7)])["day"]
    VarLenFeature(dtype=tf.int64)
    """
    function = "categorical_column_with_identity"
    size = integer(function, "num_buckets", num_buckets, least=1)
    spec = {_key(function, key): VarLenFeature(dtypes.int64)}
    return FeatureColumn(key, spec, True, {"num_buckets": size, "default_value": default_value})


def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> FeatureColumn:
    """Classes by their place in a list of texts or integers.

    Args:
        key: the name of the feature.
        vocabulary_list: the values, each once.
        dtype: of the feature; by default string or int64, as the list has it.
        default_value: the class of values that are not in the list.
        num_oov_buckets: the number of classes for such values.

    >>> make_parse_example_spec([categorical_column_with_vocabulary_list("c", ["red", "blue"])])["c"]
    VarLenFeature(dtype=tf.string)
    """
    function = "categorical_column_with_vocabulary_list"
    words = list(vocabulary_list)
    if not words or len({*words}) != len(words):
        raise ValueError(f"{function}: vocabulary_list must have values, each once, not {vocabulary_list!r}")
    found = dtypes.string if isinstance(words[0], (str, bytes)) else dtypes.int64
    kind = found if dtype is None else _kind(function, dtype)
    if (kind is dtypes.string) != (found is dtypes.string):
        raise ValueError(f"{function}: dtype {kind.name} does not fit the vocabulary {words}")
    spec = {_key(function, key): VarLenFeature(kind)}
    options = {"vocabulary_list": words, "default_value": default_value, "num_oov_buckets": num_oov_buckets}
    return FeatureColumn(key, spec, True, options)


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    dtype: DTypeLike = "string",
    default_value: int | None = None,
    num_oov_buckets: int = 0,
) -> FeatureColumn:
    """Classes by the lines of a file.

    Args:
        key: the name of the feature.
        vocabulary_file: the path, with one value a line.
        vocabulary_size: the number of lines that count.
        dtype: string, or an integer dtype.
        default_value: the class of values that are not in the file.
        num_oov_buckets: the number of classes for such values.

    >>> categorical_column_with_vocabulary_file("word", "words.txt").name
    'word'
    """
    function = "categorical_column_with_vocabulary_file"
    spec = {_key(function, key): VarLenFeature(_kind(function, dtype))}
    options = {
        "vocabulary_file": vocabulary_file,
        "vocabulary_size": vocabulary_size,
        "default_value": default_value,
        "num_oov_buckets": num_oov_buckets,
    }
    return FeatureColumn(key, spec, True, options)


def weighted_categorical_column(
    categorical_column: FeatureColumn, weight_feature_key: str, dtype: DTypeLike = "float32"
) -> FeatureColumn:
    """Classes with weights, which are another feature.

    Args:
        categorical_column: the classes.
        weight_feature_key: the name of the feature with the weights.
        dtype: of the weights.

    >>> words = categorical_column_with_hash_bucket("word", 10)
    >>> sorted(make_parse_example_spec([weighted_categorical_column(words, "count")]))
    ['count', 'word']
    """
    function = "weighted_categorical_column"
    column = _classes(function, categorical_column)
    weights = VarLenFeature(dtypes.as_dtype(dtype))
    spec = {**column.parse_example_spec, _key(function, weight_feature_key): weights}
    return FeatureColumn(f"{column.name}_weighted_by_{weight_feature_key}", spec, True, {"column": column})


def indicator_column(categorical_column: FeatureColumn) -> FeatureColumn:
    """Vectors of zeros and ones for classes.

    Args:
        categorical_column: the classes.

    >>> indicator_column(categorical_column_with_identity("day", 7)).name
    'day_indicator'
    """
    column = _classes("indicator_column", categorical_column)
    return FeatureColumn(f"{column.name}_indicator", column.parse_example_spec, False, {"column": column})


def embedding_column(
    categorical_column: FeatureColumn, dimension: int, combiner: str = "mean", **options: Any
) -> FeatureColumn:
    """Vectors that are learned for classes.

    Args:
        categorical_column: the classes.
        dimension: the length of a vector.
        combiner: how those of several classes become one: "mean", "sqrtn" or "sum".
        options: `initializer`, `max_norm`, `trainable` and others, kept with the column.

    >>> embedding_column(categorical_column_with_identity("day", 7), 3).name
    'day_embedding'
    """
    column = _classes("embedding_column", categorical_column)
    size = integer("embedding_column", "dimension", dimension, least=1)
    given = {"column": column, "dimension": size, "combiner": combiner, **options}
    return FeatureColumn(f"{column.name}_embedding", column.parse_example_spec, False, given)


def make_parse_example_spec(feature_columns: Iterable[FeatureColumn]) -> dict[str, Any]:
    """The descriptions of features that `tf.io.parse_example` takes, for some columns.

    Args:
        feature_columns: the columns.

    Raises:
        ValueError: if one is no column, or two describe a feature in different ways.

    >>> columns = [numeric_column("age"), categorical_column_with_hash_bucket("word", 10)]
    >>> make_parse_example_spec(columns)["word"]
    VarLenFeature(dtype=tf.string)
    """
    made: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"make_parse_example_spec: {column!r} is no feature column")
        for key, feature in column.parse_example_spec.items():
            if made.setdefault(key, feature) != feature:
                raise ValueError(
                    f"make_parse_example_spec: the feature {key!r} is described as {made[key]} and as {feature}"
                )
    return made
