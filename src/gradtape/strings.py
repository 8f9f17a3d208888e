"""The public namespace `gradtape.strings`: operations on strings."""

from .names.missing import closed
from .ops.strings.hashing import to_hash_bucket, to_hash_bucket_fast, to_hash_bucket_strong
from .ops.strings.texts import (
    as_string,
    format,
    join,
    length,
    lower,
    reduce_join,
    regex_full_match,
    regex_replace,
    strip,
    substr,
    to_number,
    unicode_transcode,
    unsorted_segment_join,
    upper,
)

__all__ = [
    "as_string",
    "format",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]

closed(__name__)
