"""Sequences in place of random numbers: Sobol points, and permutations that need no memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, IntLike, TensorLike
from ..known import afford, known
from ..scalars import integer

_MOST_AXES = 1111  # of TensorFlow's points


def sobol_sample(
    dim: IntLike,
    num_results: IntLike,
    skip: IntLike = 0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Points of the Sobol sequence, which fill a cube evenly: of shape (num_results, dim), in [0, 1).

    Args:
        dim: the number of coordinates, at most 1111.
        num_results: the number of points.
        skip: the number of points to leave out at the beginning.
        dtype: float32 or float64.

    Raises:
        InvalidArgumentError: if a number is out of range.

    >>> sobol_sample(2, 3).numpy()
    array([[0.5 , 0.5 ], [0.75, 0.25], [0.25, 0.75]], dtype=float32)
    """
    axes = integer("sobol_sample", "dim", dim, 1)
    count = integer("sobol_sample", "num_results", num_results, 1)
    first = integer("sobol_sample", "skip", skip, 0)
    kind = dtypes.as_dtype(dtype)
    if kind.name not in ("float32", "float64"):
        raise InvalidArgumentError(f"sobol_sample: dtype must be float32 or float64, not {kind.name}")
    if axes > _MOST_AXES or first + count > 2**31 - 2:
        raise InvalidArgumentError(
            f"sobol_sample: there are points of up to {_MOST_AXES} coordinates, numbered up to {2**31 - 2}"
        )
    afford("sobol_sample", (count, axes), 16)
    from scipy.stats import qmc

    sequence: Any = qmc.Sobol(axes, scramble=False, bits=31)
    sequence.fast_forward(first + 1)
    points = np.floor(sequence.random(count) * 2.0**31) / 2.0**31
    return wrap(points.astype(kind.numpy_dtype))


def index_shuffle(index: TensorLike, seed: TensorLike, max_index: TensorLike) -> Tensor:
    """The place of an index in a permutation of 0, ..., max_index that the seed chooses; nothing else is computed.

    Args:
        index: integers from 0 to `max_index`.
        seed: two or three integers.
        max_index: the largest index.

    Raises:
        InvalidArgumentError: if an index is out of range, or `seed` is another.

    >>> sorted(index_shuffle(np.arange(5), [1, 2], 4).numpy().tolist())
    [0, 1, 2, 3, 4]
    """
    at = known("index_shuffle", "index", convert(index)._array)
    key = known("index_shuffle", "seed", convert(seed)._array)
    last = known("index_shuffle", "max_index", convert(max_index)._array)
    if any(array.dtype.kind not in "iu" for array in (at, key, last)):
        raise InvalidArgumentError("index_shuffle: index, seed and max_index must be integers")
    if key.shape not in ((2,), (3,)) or last.ndim:
        raise InvalidArgumentError(
            f"index_shuffle: seed must be two or three integers and max_index one, not of shape {list(key.shape)} "
            f"and {list(last.shape)}"
        )
    if at.size and not 0 <= at.min() <= at.max() <= int(last):
        raise InvalidArgumentError(f"index_shuffle: an index is outside of 0, ..., {int(last)}")
    return wrap(_permuted(at.astype(np.uint64), key, int(last)).astype(at.dtype))


def _permuted(at: np.ndarray, key: np.ndarray, last: int) -> np.ndarray:
    """A Feistel network on the least even number of bits; results out of range go through it again."""
    half = max((last.bit_length() + 1) // 2, 1)
    mask = np.uint64((1 << half) - 1)
    keys = np.random.SeedSequence([int(k) & 0xFFFFFFFF for k in key]).generate_state(8, np.uint64)
    out = at.copy()
    waiting = np.ones(at.shape, bool)
    while waiting.any():
        left, right = out[waiting] >> np.uint64(half), out[waiting] & mask
        for one in keys:
            mixed = (right + one) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
            left, right = right, left ^ ((mixed * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(32)) & mask
        out[waiting] = (left << np.uint64(half)) | right
        waiting = out > np.uint64(last)
    return out
