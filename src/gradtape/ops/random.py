"""Random tensors. The global seed fixes the sequence of all numbers drawn; an operation's seed its own sequence."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import DTypeError, InvalidArgumentError
from ..primitive import apply
from ..tensor import Tensor, convert, wrap
from .array import new_shape
from .elementwise import add, minimum, multiply

_lock = threading.Lock()
_global_seed: int | None = None
# By the operation's seed; None is the generator of all operations without one. Made when first used: NumPy's random
# module takes 20 ms to import.
_generators: dict[int | None, np.random.Generator] = {}


def set_seed(seed: Any) -> None:
    """Fix the global seed: from here on, the same program draws the same numbers.

    >>> set_seed(1)
    >>> a = uniform(())
    >>> set_seed(1)
    >>> b = uniform(())
    >>> float(a) == float(b)
    True
    """
    global _global_seed
    with _lock:
        _global_seed = None if seed is None else int(seed)
        _generators.clear()


def generator(seed: Any) -> np.random.Generator:
    """The generator for an operation with this seed argument."""
    number = None if seed is None else int(seed)
    with _lock:
        if number not in _generators:
            seeds = [s & 0xFFFF_FFFF_FFFF_FFFF for s in (_global_seed, number) if s is not None]
            _generators[number] = np.random.default_rng(seeds or None)
        return _generators[number]


def _floating(name: str, dtype: Any) -> Any:
    kind = dtypes.as_dtype(dtype)
    if not kind.is_floating:
        raise DTypeError(f"{name}: dtype must be floating, not {kind.name}")
    return kind.numpy_dtype


def normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers; gradients flow to `mean` and `stddev`.

    >>> normal((2, 3)).shape
    TensorShape([2, 3])
    """
    kind = _floating("random.normal", dtype)
    drawn = np.asarray(
        generator(seed).standard_normal(new_shape("random.normal", shape), _native(kind)), kind
    )
    return _scaled(wrap(drawn), mean, stddev)


def _native(kind: Any) -> Any:
    """What NumPy's generators can draw: float32 for the shorter dtypes."""
    return kind if kind.itemsize >= 4 else np.dtype(np.float32)


def _scaled(drawn: Any, shift: Any, scale: Any) -> Tensor:
    if type(scale) is not float or scale != 1.0:
        drawn = apply(multiply, (drawn, scale))
    if type(shift) is not float or shift != 0.0:
        drawn = apply(add, (drawn, shift))
    return drawn


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Numbers evenly distributed in [minval, maxval): [0, 1) by default. Integers need `maxval`.

    >>> x = uniform((100,), 2.0, 3.0)
    >>> bool(float(x.numpy().min()) >= 2.0 and float(x.numpy().max()) < 3.0)
    True
    """
    kind = dtypes.as_dtype(dtype)
    size = new_shape("random.uniform", shape)
    if kind.is_integer:
        if maxval is None:
            raise ValueError("random.uniform: integers need maxval")
        low, high = convert(minval)._array, convert(maxval)._array
        if (low >= high).any():
            raise InvalidArgumentError(f"random.uniform: minval must be below maxval, not {low} and {high}")
        return wrap(np.asarray(generator(seed).integers(low, high, size, kind.numpy_dtype)))
    numpy_kind = _floating("random.uniform", dtype)
    drawn = wrap(np.asarray(generator(seed).random(size, _native(numpy_kind)), numpy_kind))
    low = 0.0 if type(minval) is int and minval == 0 else minval
    if maxval is None:
        return _scaled(drawn, low, 1.0)
    span = maxval - low if type(low) is not float or low != 0.0 else maxval
    result = _scaled(drawn, low, span)
    return _below(result, convert(low, None, numpy_kind)._array, convert(maxval, None, numpy_kind)._array)


def _below(result: Tensor, low: Any, high: Any) -> Tensor:
    """Numbers that rounding has landed on `high`, just below it."""
    array = result._array
    if array.dtype.kind != "f" or not ((array >= high) & (high > low)).any():
        return result
    return apply(minimum, (result, np.nextafter(high, -np.inf, dtype=array.dtype)))


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers, drawn again where further than two `stddev` from `mean`.

    >>> bool(abs(truncated_normal((1000,)).numpy()).max() <= 2.0)
    True
    """
    kind = _floating("random.truncated_normal", dtype)
    draw = generator(seed)
    drawn = draw.standard_normal(new_shape("random.truncated_normal", shape), _native(kind))
    while (outside := np.abs(drawn) > 2).any():
        drawn = np.where(outside, draw.standard_normal(drawn.shape, _native(kind)), drawn)
    return _scaled(wrap(np.asarray(drawn, kind)), mean, stddev)
