"""Dropout: each element 0 with probability `rate`, and the others scaled up so that the mean stays."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply2
from ...core.shapes import TensorShape
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import ShapeLike, TensorLike
from ...engine.arrays import as_array
from ..array.movement import cast, static_shape
from ..math.elementwise import divide, multiply
from ..random.stateful import uniform
from ..random.stateless import stateless_uniform


def dropout(
    x: TensorLike,
    rate: TensorLike,
    noise_shape: ShapeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Elements set to 0 at random, with probability `rate`, and the others divided by 1 - rate.

    Args:
        rate: a number in [0, 1).
        noise_shape: shape of the draws, with 1 for axes whose elements are kept or dropped together and None for the
            length that x has.
        seed: with the global seed, fixes the draws.

    Raises:
        DTypeError: if x is not floating.
        InvalidArgumentError: if `rate` is not in [0, 1), or `noise_shape` does not broadcast to the shape of x.

    >>> x = dropout([1.0] * 1000, 0.5, seed=1).numpy()
    >>> sorted(set(x.tolist())), bool(400 < (x > 0).sum() < 600)
    ([0.0, 2.0], True)
    """
    return _dropped("dropout", x, rate, noise_shape, functools.partial(uniform, seed=seed))


def stateless_dropout(
    x: TensorLike,
    rate: TensorLike,
    seed: TensorLike,
    rng_alg: str | int | None = None,
    noise_shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` as a function of `seed`, two integers: the same seed drops the same elements.

    `rng_alg` names the generator, as `random.stateless_uniform` takes it; `rate` and `noise_shape` are those of
    `dropout`.

    >>> a, b = (stateless_dropout([1.0] * 9, 0.5, seed=(1, 2)).numpy() for _ in range(2))
    >>> bool((a == b).all())
    True
    """
    algorithm = "auto_select" if rng_alg is None else rng_alg
    sampler = functools.partial(stateless_uniform, seed=seed, alg=algorithm)
    return _dropped("stateless_dropout", x, rate, noise_shape, sampler)


def general_dropout(
    x: TensorLike,
    rate: TensorLike,
    uniform_sampler: Callable[..., TensorLike],
    noise_shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` by the numbers of `uniform_sampler(shape=..., dtype=...)`: elements with a number below `rate` drop.

    `rate` and `noise_shape` are those of `dropout`.

    >>> import gradtape as tf
    >>> general_dropout([1.0, 1.0], 0.5, lambda shape, dtype: tf.constant([0.3, 0.7])).numpy()
    array([0., 2.], dtype=float32)
    """
    return _dropped("general_dropout", x, rate, noise_shape, uniform_sampler)


def _dropped(
    name: str,
    value: TensorLike,
    rate: TensorLike,
    noise_shape: ShapeLike | None,
    sampler: Callable[..., TensorLike],
) -> Tensor:
    x = convert(value)
    if not callable(sampler):
        raise DTypeError(f"{name}: uniform_sampler must be a function of shape and dtype, not {sampler!r}")
    if x._array.dtype.kind != "f" and not x.dtype.is_floating:
        raise DTypeError(f"{name} takes floating tensors, not {x.dtype.name}: use cast(x, 'float32')")
    fixed = float(rate) if isinstance(rate, numbers.Real) else None
    if fixed is not None and not 0 <= fixed < 1:
        raise InvalidArgumentError(f"{name}: rate must lie in [0, 1), not {fixed}")
    if fixed == 0:
        sampler(shape=(0,), dtype=x.dtype)  # so that later draws are the same as with any other rate
        return x
    drawn = convert(sampler(shape=_noise_shape(name, x, noise_shape), dtype=x.dtype))._array
    if drawn.dtype.kind in "bcO":
        raise DTypeError(f"{name}: uniform_sampler must give real numbers, not {dtypes.of(drawn).name}")
    if fixed is not None:
        kept = drawn >= np.asarray(fixed, drawn.dtype)
        factors = kept.astype(x._array.dtype) * np.asarray(1 / (1 - fixed), x._array.dtype)
        return apply2(multiply, x, wrap(as_array(factors)))
    share = cast(convert(rate, None, x._array.dtype), x.dtype)
    if share.ndim:
        raise InvalidArgumentError(
            f"{name}: rate must be one number, not of shape {list(share._array.shape)}"
        )
    kept = drawn >= share._array
    return apply2(multiply, apply2(divide, x, 1 - share), wrap(as_array(kept.astype(x._array.dtype))))


def _noise_shape(name: str, x: Tensor, noise_shape: ShapeLike | None) -> tuple[int, ...]:
    """The shape of the numbers drawn. None in `noise_shape` stands for the length of x."""
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
