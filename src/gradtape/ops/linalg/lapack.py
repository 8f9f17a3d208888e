"""LAPACK and BLAS by way of SciPy, for one matrix or many, and the checks of users' matrices.

The matrix families use NumPy's linear algebra where it has the function, and SciPy's, which is imported when first
used and runs on one thread (see `blas`), where not.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.dtypes import of
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import Tensor
from ..array.movement import together
from .matrix import at_least_a_matrix

# Up to this size NumPy's loop over a batch beats one over SciPy's functions, which take 2 us a call.
SMALL = 24


@functools.cache
def lapack(name: str, dtype: Any) -> Callable[..., Any]:
    """The function of that name in LAPACK or BLAS for a dtype: `lapack("potrf", float32)` is `spotrf`."""
    import scipy.linalg

    full = {"f": "s", "d": "d", "F": "c", "D": "z"}[dtype.char] + name
    return getattr(scipy.linalg.lapack, full, None) or getattr(scipy.linalg.blas, full)


def each(function: Callable[..., Any], *stacks: Any) -> Any:
    """Apply a function of matrices, whose result is a matrix, to each of a batch."""
    front = stacks[0].shape[:-2]
    if not front:
        return function(*stacks)
    flat = [s.reshape(math.prod(front), *s.shape[-2:]) for s in stacks]
    results = [function(*matrices) for matrices in zip(*flat, strict=True)]
    return np.stack(results).reshape(*front, *results[0].shape)


# ---------------------------------------------------------------------------------------------------------------------
# Checks of arguments


def matrices(name: str, *values: Any, square: bool = True) -> list[Any]:
    """Convert values to floating tensors of one dtype that hold matrices, the first of them square."""
    xs = together(name, list(values))
    for x in xs:
        if not (x.dtype.is_floating or x.dtype.is_complex) or x.dtype.name == "bfloat16":
            raise DTypeError(
                f"{name} takes float16, float32, float64 or complex tensors, not {x.dtype.name}: "
                "use cast(x, 'float32')"
            )
        at_least_a_matrix(name, x)
        if x._array.dtype != xs[0]._array.dtype:
            names = " and ".join([of(xs[0]._array).name, of(x._array).name])
            raise DTypeError(f"{name}: tensors of different dtypes do not mix: {names}. Use cast(x, dtype)")
    if square:
        must_be_square(name, xs[0])
    return list(xs)


def must_be_square(name: str, x: Tensor) -> None:
    """Raise unless the matrices of a tensor are square."""
    shape = x._array.shape
    if shape[-1] != shape[-2]:
        raise InvalidArgumentError(f"{name}: the matrices must be square, not of shape {list(shape[-2:])}")


def not_invertible(name: str) -> InvalidArgumentError:
    """The error for a matrix that has no inverse."""
    return InvalidArgumentError(
        f"{name}: a matrix is not invertible (pinv and lstsq(..., fast=False) take any matrix)"
    )
