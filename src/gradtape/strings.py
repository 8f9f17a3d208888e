"""The public namespace `gradtape.strings`: operations on strings."""

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from .ops.strings.pieces import (
        bytes_split,
        ngrams,
        split,
        unicode_decode,
        unicode_decode_with_offsets,
        unicode_encode,
        unicode_split,
        unicode_split_with_offsets,
    )
    from .ops.strings.scripts import unicode_script

__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_script",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]

# Imported when first used: they bring ragged tensors, or a table.
closed(
    __name__,
    later={
        "bytes_split": "..ops.strings.pieces",
        "ngrams": "..ops.strings.pieces",
        "split": "..ops.strings.pieces",
        "unicode_decode": "..ops.strings.pieces",
        "unicode_decode_with_offsets": "..ops.strings.pieces",
        "unicode_encode": "..ops.strings.pieces",
        "unicode_script": "..ops.strings.scripts",
        "unicode_split": "..ops.strings.pieces",
        "unicode_split_with_offsets": "..ops.strings.pieces",
    },
)
