"""The public namespace `gradtape.experimental.numpy.random`: random arrays, of float64 and int64 by default."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtypes
from ...core.tensor import Tensor
from ...core.types import DTypeLike, TensorLike
from ...names.missing import closed
from ...ops.array.movement import cast, static_shape
from ...ops.known import afford
from ...ops.random import stateful
from .numpy_arrays import array, together

__all__ = ["poisson", "rand", "randint", "randn", "random", "seed", "standard_normal", "uniform"]


def _lengths(name: str, size: Any) -> tuple[int, ...]:
    return () if size is None else static_shape(name, size)


def seed(s: int) -> None:
    """Set the seed of random numbers to `s`, as `tf.random.set_seed` does.

    >>> seed(1)
    """
    stateful.set_seed(s)


def standard_normal(size: Any = None) -> Tensor:
    """Normal numbers of mean 0 and deviation 1, in the shape `size`.

    >>> standard_normal([2]).shape
    TensorShape([2])
    """
    return stateful.normal(_lengths("standard_normal", size), dtype="float64")


def randn(*args: int) -> Tensor:
    """Normal numbers of mean 0 and deviation 1, in the shape of the arguments.

    >>> randn(2, 3).shape
    TensorShape([2, 3])
    """
    return standard_normal(args)


def uniform(low: TensorLike = 0.0, high: TensorLike = 1.0, size: Any = None) -> Tensor:
    """Numbers from [low, high), in the shape `size`.

    >>> uniform(0, 1, [2]).dtype
    tf.float64
    """
    start, stop = together(array(low, "float64"), array(high, "float64"))
    shape = np.broadcast_shapes(start._array.shape, stop._array.shape) if size is None else size
    drawn = stateful.uniform(_lengths("uniform", shape), dtype="float64")
    return start + drawn * (stop - start)


def rand(*size: int) -> Tensor:
    """Numbers from [0, 1), in the shape of the arguments, `size`.

    >>> rand(2).dtype
    tf.float64
    """
    return uniform(0.0, 1.0, size)


def random(size: Any = None) -> Tensor:
    """Numbers from [0, 1), in the shape `size`.

    >>> random([2]).shape
    TensorShape([2])
    """
    return uniform(0.0, 1.0, () if size is None else size)


def randint(low: int, high: int | None = None, size: Any = None, dtype: DTypeLike = np.int64) -> Tensor:
    """Integers from [low, high), in the shape `size`; from [0, low) if there is no `high`.

    Raises:
        ValueError: if dtype is not int32 or int64.

    >>> randint(5, size=[3]).dtype
    tf.int64
    """
    start, stop = (0, low) if high is None else (low, high)
    kind = dtypes.as_dtype(np.int64 if dtype is int else dtype)
    if kind.name not in ("int32", "int64"):
        raise ValueError(f"randint: dtype must be int32 or int64, not {kind.name}")
    return stateful.uniform(_lengths("randint", size), array(start, kind), array(stop, kind), kind)


def poisson(lam: TensorLike = 1.0, size: Any = None) -> Tensor:
    """Counts of events, of the mean `lam`, in the shape `size`.

    >>> poisson(2.0, [3]).dtype
    tf.int64
    """
    mean = array(lam, "float64")
    shape = mean._array.shape if size is None else _lengths("poisson", size)
    afford("poisson", tuple(shape), 8)
    rates = mean + np.zeros(shape)
    return cast(stateful.poisson((), rates), "int64")


closed(__name__)
