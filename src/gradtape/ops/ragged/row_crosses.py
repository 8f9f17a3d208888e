"""Crosses of features: each combination of the values in the same rows of several tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.tensor import wrap
from ..sparse.crosses import combinations, hashed, joined
from ..sparse.sparse_tensor import SparseTensor
from .padding_rows import from_sparse
from .ragged_tensor import RaggedTensor, convert_ragged, ragged
from .row_partition import splits_of_lengths


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
    return _crossed("ragged.cross", inputs, joined(b"_X_"), object)


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
    combine = hashed("ragged.cross_hashed", num_buckets, hash_key)
    return _crossed("ragged.cross_hashed", inputs, combine, np.int64)


def _crossed(
    operation: str, inputs: Any, combine: Callable[[Sequence[Any]], Any], dtype: Any
) -> RaggedTensor:
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"{operation}: a list of tensors is needed, not {inputs!r}")
    columns = [_rows(operation, value) for value in inputs]
    flat, counts = combinations(operation, columns, combine, dtype)
    return ragged(wrap(flat), splits_of_lengths(counts))


def _rows(operation: str, value: Any) -> list[list[Any]]:
    x = from_sparse(RaggedTensor, value) if isinstance(value, SparseTensor) else convert_ragged(value)
    if len(x.shape) != 2 or not (x.dtype.is_integer or x.dtype.name == "string"):
        raise InvalidArgumentError(
            f"{operation} takes tensors of two axes, of strings or integers, not {x.dtype.name} of shape {x.shape}"
        )
    return x.to_list() if isinstance(x, RaggedTensor) else x.numpy().tolist()
