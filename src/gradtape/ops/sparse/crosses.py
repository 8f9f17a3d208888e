"""Crosses of features, as sparse tensors: each combination of the values in the same rows of several tensors.

`ragged.row_crosses` makes ragged tensors of the same combinations.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.types import TensorLike
from ..known import known
from ..scalars import integer, text
from ..strings.hashing import fingerprint, joined_fingerprints
from .sparse_tensor import SparseTensor

_KEY = 0xDECAFCAFFE  # TensorFlow's


def cross(
    inputs: Sequence[TensorLike], name: str | None = None, separator: str | None = None
) -> SparseTensor:
    """The combinations of the values in the same rows of several tensors, as strings.

    Args:
        inputs: a list of tensors of two axes, dense or sparse, of strings or integers. Sparse ones go first.
        separator: the text between the values; by default `_X_`.

    Raises:
        TypeError: if `inputs` is no list of such tensors.
        InvalidArgumentError: if the numbers of rows differ.

    >>> from gradtape import constant
    >>> cross([constant([["a"], ["b"]]), constant([["c", "d"], ["e", "f"]])]).values.numpy()
    array([b'a_X_c', b'a_X_d', b'b_X_e', b'b_X_f'], dtype=object)
    """
    between = b"_X_" if separator is None else text("sparse.cross", "separator", separator).encode()
    return _crossed("sparse.cross", inputs, joined(between), object)


def cross_hashed(
    inputs: Sequence[TensorLike], num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """The combinations of the values in the same rows of several tensors, each as the number of a bucket.

    Args:
        inputs: a list of tensors of two axes, dense or sparse, of strings or integers. Sparse ones go first.
        num_buckets: the number of buckets; 0 for hashes of 63 bits.
        hash_key: a number that changes the hash.

    Raises:
        TypeError: if `inputs` is no list of such tensors.
        InvalidArgumentError: if the numbers of rows differ.

    >>> from gradtape import constant
    >>> cross_hashed([constant([["a"], ["b"]]), constant([["d"], ["e"]])], num_buckets=100).values.numpy()
    array([82, 61])
    """
    return _crossed(
        "sparse.cross_hashed", inputs, hashed("sparse.cross_hashed", num_buckets, hash_key), np.int64
    )


def joined(separator: bytes) -> Callable[[Sequence[Any]], bytes]:
    """The function from values to one string."""
    as_bytes = lambda value: value if isinstance(value, bytes) else str(value).encode()
    return lambda values: separator.join(map(as_bytes, values))


def hashed(operation: str, num_buckets: int, hash_key: int | None) -> Callable[[Sequence[Any]], int]:
    """The function from values to the number of a bucket."""
    buckets = integer(operation, "num_buckets", num_buckets, 0)
    key = _KEY if hash_key is None else integer(operation, "hash_key", hash_key)

    def hashed(values: Sequence[Any]) -> int:
        out = key & (1 << 64) - 1
        for value in values:
            own = fingerprint(value) if isinstance(value, bytes) else value & (1 << 64) - 1
            out = joined_fingerprints(out, own)
        return out % (buckets or (1 << 63) - 1)

    return hashed


def combinations(
    operation: str, columns: list[list[list[Any]]], combine: Callable[[Sequence[Any]], Any], dtype: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The combined values, row after row, and their numbers in each row; `columns` are lists of rows."""
    counts = {len(rows) for rows in columns}
    if len(counts) > 1:
        raise InvalidArgumentError(f"{operation}: the numbers of rows differ: {sorted(counts)}")
    found = [[combine(values) for values in itertools.product(*row)] for row in zip(*columns, strict=True)]
    flat = np.empty(sum(map(len, found)), dtype)
    for i, value in enumerate(itertools.chain(*found)):
        flat[i] = value
    return flat, np.array([len(row) for row in found], np.int64)


def _crossed(
    operation: str, inputs: Any, combine: Callable[[Sequence[Any]], Any], dtype: Any
) -> SparseTensor:
    if not isinstance(inputs, (list, tuple)) or not all(
        isinstance(x, (SparseTensor, Tensor)) for x in inputs
    ):
        raise TypeError(f"{operation}: a list of dense and sparse tensors is needed, not {inputs!r}")
    ordered = sorted(inputs, key=lambda x: not isinstance(x, SparseTensor))
    flat, counts = combinations(operation, [_rows(operation, x) for x in ordered], combine, dtype)
    rows = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(len(flat)) - np.repeat(np.cumsum(counts) - counts, counts)
    lengths = len(counts), int(counts.max(initial=0))
    return SparseTensor(wrap(np.stack([rows, places], 1)), wrap(flat), lengths)


def _rows(operation: str, x: Any) -> list[list[Any]]:
    if len(x.shape) != 2 or not (x.dtype.is_integer or x.dtype.name == "string"):
        raise InvalidArgumentError(
            f"{operation} takes tensors of two axes, of strings or integers, not {x.dtype.name} of shape {x.shape}"
        )
    values = known(operation, "the values", (x.values if isinstance(x, SparseTensor) else x)._array)
    if not isinstance(x, SparseTensor):
        return values.tolist()
    rows: list[list[Any]] = [[] for _ in range(x.lengths[0])]
    for row, value in zip(
        known(operation, "the indices", x.indices._array)[:, 0], values.tolist(), strict=True
    ):
        rows[row].append(value)
    return rows
