"""Dropout: each element 0 with probability `rate`, and the others scaled up so that the mean stays."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply2
from ...core.shapes import TensorShape
from ...core.tensor import Tensor, convert, wrap
from ...engine.arrays import as_array
from ..array.movement import cast, static_shape
from ..math.elementwise import divide, multiply
from ..random.stateful import uniform
from ..random.stateless import stateless_uniform


def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> Tensor:
    """Elements set to 0 at random, with probability `rate`, and the others divided by 1 - rate.

    `noise_shape` has length 1 along the axes whose elements are kept or dropped together.

    >>> x = dropout([1.0] * 1000, 0.5, seed=1).numpy()
    >>> sorted(set(x.tolist())), bool(400 < (x > 0).sum() < 600)
    ([0.0, 2.0], True)
    """
    return _dropped("dropout", x, rate, noise_shape, functools.partial(uniform, seed=seed))


def stateless_dropout(
    x: Any, rate: Any, seed: Any, rng_alg: Any = None, noise_shape: Any = None, name: str | None = None
) -> Tensor:
    """`dropout` as a function of `seed`, two integers: the same seed drops the same elements.

    >>> a, b = (stateless_dropout([1.0] * 9, 0.5, seed=(1, 2)).numpy() for _ in range(2))
    >>> bool((a == b).all())
    True
    """
    algorithm = "auto_select" if rng_alg is None else rng_alg
    sampler = functools.partial(stateless_uniform, seed=seed, alg=algorithm)
    return _dropped("stateless_dropout", x, rate, noise_shape, sampler)


def general_dropout(
    x: Any, rate: Any, uniform_sampler: Callable[..., Any], noise_shape: Any = None, name: str | None = None
) -> Tensor:
    """`dropout` by the numbers that `uniform_sampler(shape=..., dtype=...)` gives: those below `rate` drop.

    >>> import gradtape as tf
    >>> general_dropout([1.0, 1.0], 0.5, lambda shape, dtype: tf.constant([0.3, 0.7])).numpy()
    array([0., 2.], dtype=float32)
    """
    return _dropped("general_dropout", x, rate, noise_shape, uniform_sampler)


def _dropped(name: str, value: Any, rate: Any, noise_shape: Any, sampler: Callable[..., Any]) -> Tensor:
    x = convert(value)
    if not callable(sampler):
        raise DTypeError(f"{name}: uniform_sampler must be a function of shape and dtype, not {sampler!r}")
    if x._array.dtype.kind != "f" and not x.dtype.is_floating:
        raise DTypeError(f"{name} takes floating tensors, not {x.dtype.name}: use cast(x, 'float32')")
    fixed = float(rate) if isinstance(rate, numbers.Real) else None
    if fixed is not None and not 0 <= fixed < 1:
        raise InvalidArgumentError(f"{name}: rate must lie in [0, 1), not {rate}")
    if fixed == 0:
        sampler(shape=(0,), dtype=x.dtype)  # whatever is drawn next is the same with dropout and without
        return x
    drawn = convert(sampler(shape=_noise_shape(name, x, noise_shape), dtype=x.dtype))._array
    if drawn.dtype.kind in "bcO":
        raise DTypeError(f"{name}: uniform_sampler must give real numbers, not {dtypes.of(drawn).name}")
    if fixed is not None:
        kept = drawn >= np.asarray(fixed, drawn.dtype)
        factors = kept.astype(x._array.dtype) * np.asarray(1 / (1 - fixed), x._array.dtype)
        return apply2(multiply, x, wrap(as_array(factors)))
    share: Any = cast(convert(rate, None, x._array.dtype), x.dtype)
    if share.ndim:
        raise InvalidArgumentError(
            f"{name}: rate must be one number, not of shape {list(share._array.shape)}"
        )
    kept = drawn >= share._array
    return apply2(multiply, apply2(divide, x, 1 - share), wrap(as_array(kept.astype(x._array.dtype))))


def _noise_shape(name: str, x: Tensor, noise_shape: Any) -> tuple[int, ...]:
    """The shape of the numbers drawn; None in it stands for the length of x there."""
    own = x._array.shape
    if noise_shape is None:
        return own
    if isinstance(noise_shape, (list, tuple, TensorShape)) and len(noise_shape) == len(own):
        noise_shape = [n if w is None else w for n, w in zip(own, noise_shape)]
    wanted = static_shape(name, noise_shape)
    try:
        fits = np.broadcast_shapes(wanted, own) == own
    except ValueError:
        fits = False
    if not fits:
        raise InvalidArgumentError(f"{name}: noise_shape {list(wanted)} does not broadcast to {list(own)}")
    return wanted
