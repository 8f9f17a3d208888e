"""The public namespace `gradtape.feature_column`: descriptions of features, for `tf.io.parse_example`."""

from .files.feature_columns import (
    bucketized_column,
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
    embedding_column,
    indicator_column,
    make_parse_example_spec,
    numeric_column,
    weighted_categorical_column,
)
from .names.missing import closed

__all__ = [
    "bucketized_column",
    "categorical_column_with_hash_bucket",
    "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file",
    "categorical_column_with_vocabulary_list",
    "embedding_column",
    "indicator_column",
    "make_parse_example_spec",
    "numeric_column",
    "weighted_categorical_column",
]

closed(__name__)
