"""Operations on strings for ragged tensors."""

from __future__ import annotations

import functools
from typing import Any

from ..dispatch import extend
from ..strings import hashing, scripts, texts
from .broadcasting_rows import apply_elementwise, several, unary
from .ragged_tensor import RaggedTensor
from .row_reduction import reduced

for _function in (
    texts.as_string,
    texts.length,
    texts.lower,
    texts.regex_full_match,
    texts.regex_replace,
    texts.strip,
    texts.to_number,
    texts.unicode_transcode,
    texts.upper,
    hashing.to_hash_bucket,
    hashing.to_hash_bucket_fast,
    hashing.to_hash_bucket_strong,
    scripts.unicode_script,
):
    unary(_function)
several(texts.substr, 3)


@extend(texts.join, RaggedTensor)
def _join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    return apply_elementwise("strings.join", lambda *flats: texts.join(flats, separator), inputs)


@extend(texts.reduce_join, RaggedTensor)
def _reduce_join(
    inputs: Any, axis: Any = None, keepdims: Any = False, separator: str = "", name: str | None = None
) -> Any:
    dense = functools.partial(texts.reduce_join, separator=separator)
    functools.update_wrapper(dense, texts.reduce_join)
    return reduced(
        dense, functools.partial(texts.unsorted_segment_join, separator=separator), inputs, axis, keepdims
    )
