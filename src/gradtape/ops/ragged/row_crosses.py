"""Crosses of features: each combination of the values in the same rows of several tensors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.tensor import wrap
from ..scalars import integer
from ..sparse.sparse_tensor import SparseTensor
from ..strings.hashing import fingerprint, joined_fingerprints
from .padding_rows import from_sparse
from .ragged_tensor import RaggedTensor, convert_ragged, ragged
from .row_partition import splits_of_lengths

_KEY = 0xDECAFCAFFE  # TensorFlow's


def cross(inputs: Sequence[Any], name: str | None = None) -> RaggedTensor:
    """The combinations of the values in the same rows of several tensors, as strings joined by `_X_`.

    Args:
        inputs: a list of tensors of two axes, dense, sparse or ragged, of strings or integers.

    Raises:
        ValueError: if the numbers of rows differ.

    >>> from gradtape import ragged
    >>> cross([ragged.constant([["a"], ["b", "c"]]), [["d"], ["e"]]])
    <tf.RaggedTensor [[b'a_X_d'], [b'b_X_e', b'c_X_e']]>
    """
    as_bytes = lambda value: value if isinstance(value, bytes) else str(value).encode()
    return _crossed("ragged.cross", inputs, lambda values: b"_X_".join(map(as_bytes, values)), object)


def cross_hashed(
    inputs: Sequence[Any], num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> RaggedTensor:
    """The combinations of the values in the same rows of several tensors, each as the number of a bucket.

    Args:
        inputs: a list of tensors of two axes, dense, sparse or ragged, of strings or integers.
        num_buckets: the number of buckets; 0 for hashes of 63 bits.
        hash_key: a number that changes the hash.

    Raises:
        ValueError: if the numbers of rows differ.

    >>> from gradtape import ragged
    >>> cross_hashed([ragged.constant([["a"], ["b", "c"]]), [["d"], ["e"]]], num_buckets=100)
    <tf.RaggedTensor [[82], [61, 41]]>
    """
    buckets = integer("ragged.cross_hashed", "num_buckets", num_buckets, 0)
    key = _KEY if hash_key is None else integer("ragged.cross_hashed", "hash_key", hash_key)

    def hashed(values: Sequence[Any]) -> int:
        out = key & (1 << 64) - 1
        for value in values:
            own = fingerprint(value) if isinstance(value, bytes) else value & (1 << 64) - 1
            out = joined_fingerprints(out, own)
        return out % (buckets or (1 << 63) - 1)

    return _crossed("ragged.cross_hashed", inputs, hashed, np.int64)


def _crossed(
    operation: str, inputs: Any, combine: Callable[[Sequence[Any]], Any], dtype: Any
) -> RaggedTensor:
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"{operation}: a list of tensors is needed, not {inputs!r}")
    columns = [_rows(operation, value) for value in inputs]
    counts = {len(rows) for rows in columns}
    if len(counts) > 1:
        raise ValueError(f"{operation}: the numbers of rows differ: {sorted(counts)}")
    found = [[combine(values) for values in itertools.product(*row)] for row in zip(*columns, strict=True)]
    flat = np.empty(sum(map(len, found)), dtype)
    for i, value in enumerate(itertools.chain(*found)):
        flat[i] = value
    return ragged(wrap(flat), splits_of_lengths(np.array([len(row) for row in found], np.int64)))


def _rows(operation: str, value: Any) -> list[list[Any]]:
    x = from_sparse(RaggedTensor, value) if isinstance(value, SparseTensor) else convert_ragged(value)
    if len(x.shape) != 2 or not (x.dtype.is_integer or x.dtype.name == "string"):
        raise InvalidArgumentError(
            f"{operation} takes tensors of two axes, of strings or integers, not {x.dtype.name} of shape {x.shape}"
        )
    return x.to_list() if isinstance(x, RaggedTensor) else x.numpy().tolist()
