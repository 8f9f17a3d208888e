"""Random tensors: the numbers TensorFlow draws for the same seeds, for normal, uniform, categorical and shuffled ones.

The global seed resets everything. An operation without a seed of its own then gets the next one of a fixed sequence;
one with a seed has a counter of its own, which goes on from call to call.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.draws import drawn
from ...core.dtypes import as_dtype
from ...core.primitive import local, outside
from ...core.settings import settings
from ...core.tensor import Tensor
from ...core.types import DTypeLike, ShapeLike, TensorLike
from ..known import static_number
from . import distributions, philox
from .distributions import Place, Reserve

_MAX_SEED = (1 << 31) - 1
_DEFAULT_GLOBAL_SEED = 87654321  # the global seed where only the operation has a seed


class _Seeds:
    """The global seed, and the counter of each operation."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reset(None)

    def reset(self, seed: int | None) -> None:
        with self.lock:
            self.seed = seed
            self.sequence: Any = None if seed is None else _sequence(seed)
            self.counters: dict[Any, Any] = {}
            self.unseeded_key = int.from_bytes(os.urandom(8), "little")  # used if there is no seed at all
            self.unseeded_counter = 0

    def reserve(self, operation: str, dtype: DTypeLike | None, seed: TensorLike | None, count: int) -> Place:
        """Reserve a place for an operation that uses up to `count` blocks.

        Each operation has a counter of its own for each dtype.
        """
        op_seed = None if seed is None else static_number(f"random.{operation}: seed", seed)
        if local.here.trace is not None:
            place: Place = local.here.trace.place(0 if op_seed is None else op_seed % _MAX_SEED + 1)
            return place
        return drawn(lambda: self._reserve(operation, dtype, op_seed, count))

    def _reserve(self, operation: str, dtype: Any, op_seed: int | None, count: int) -> Place:
        with self.lock:
            if op_seed is None:
                return self._next(count)
            pair = self.pair(op_seed)
            key, start = _start(pair)
            owner = operation, dtype and as_dtype(dtype).name, pair
            counter: Any = self.counters.get(owner, start)
            self.counters[owner] = counter + count
            return key, counter

    def pair(self, op_seed: int) -> tuple[int, int]:
        """The global seed and that of an operation."""
        return (_DEFAULT_GLOBAL_SEED if self.seed is None else self.seed) % _MAX_SEED, op_seed % _MAX_SEED

    def _next(self, count: int) -> Place:
        """Reserve a place for an operation without a seed."""
        if self.seed is not None:
            return _start((self.seed % _MAX_SEED, self.sequence.randint(0, _MAX_SEED) % _MAX_SEED))
        if settings.op_determinism:
            raise RuntimeError(
                "random numbers need a seed where op determinism is enabled: call random.set_seed(...) first"
            )
        self.unseeded_counter += count
        return self.unseeded_key, self.unseeded_counter - count


def share_unseeded(agree: Callable[[int], int]) -> None:
    """Let `agree` choose the key of random numbers without a seed, for processes that must draw the same."""
    _seeds.unseeded_key = agree(_seeds.unseeded_key)


def _sequence(seed: int) -> Any:
    """Python's own generator, which gives seeds to operations that have none, as in TensorFlow."""
    import random

    return random.Random(seed)


def _start(pair: tuple[int, int]) -> Place:
    """The first place of the sequence for a pair of seeds."""
    first, second = pair if pair != (0, 0) else (0, _MAX_SEED)
    return first, second << 64


_seeds = _Seeds()


def seed_of_a_call() -> Any:
    """The seed for one call of a compiled function, which draws as one operation does."""
    with _seeds.lock:
        key, counter = _seeds._next(1)
    return np.array([key % (1 << 64), (counter ^ counter >> 64) % (1 << 64)], np.uint64)


def _reserve_for(operation: str, seed: Any, dtype: Any) -> Reserve:
    """The function that reserves places for an operation."""
    return lambda count: _seeds.reserve(operation, dtype, seed, count * philox.RESERVED)


def place_of_blocks(operation: str, seed: TensorLike | None, count: int) -> Place:
    """Reserve `count` blocks of random bits for an operation."""
    return _seeds.reserve(operation, None, seed, count)


def seed_pair(operation: str, seed: TensorLike | None) -> tuple[int, ...]:
    """The pair of seeds for a dataset's random step: the same each time for a given seed, else the next one."""
    if seed is None:
        with outside():  # a dataset is not part of the @function that makes it
            return _seeds.reserve(operation, None, None, 1)
    return _seeds.pair(static_number(f"{operation}: seed", seed))


# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def set_seed(seed: TensorLike | None) -> None:
    """Fix the global seed: from here on, the same program draws the same numbers.

    An operation without a seed of its own takes the next one of a sequence that the global seed determines.

    Args:
        seed: an integer, or None to draw other numbers in each run.

    Raises:
        DTypeError: if the seed is not one integer.

    >>> set_seed(1)
    >>> a = uniform(())
    >>> set_seed(1)
    >>> b = uniform(())
    >>> float(a) == float(b)
    True
    """
    _seeds.reset(None if seed is None else static_number("random.set_seed: seed", seed))


def normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    seed: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers; gradients flow to `mean` and `stddev`.

    Args:
        mean, stddev: scalars, or tensors that broadcast with `shape`.
        dtype: a floating dtype.
        seed: the operation's own seed, whose sequence goes on from call to call; see `set_seed`.

    Raises:
        DTypeError: for another dtype.
        InvalidArgumentError: if a length is negative.

    >>> normal((2, 3)).shape
    TensorShape([2, 3])
    """
    reserve = _reserve_for("normal", seed, dtype)
    return distributions.normal("random.normal", reserve, shape, mean, stddev, dtype)


def truncated_normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    seed: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers, drawn again where further than two `stddev` from `mean`; gradients flow to both.

    Args:
        mean, stddev: scalars, or tensors that broadcast with `shape`.
        dtype: a floating dtype.
        seed: the operation's own seed, whose sequence goes on from call to call; see `set_seed`.

    Raises:
        DTypeError: for another dtype.
        InvalidArgumentError: if a length is negative.

    >>> bool(abs(truncated_normal((1000,)).numpy()).max() <= 2.0)
    True
    """
    reserve = _reserve_for("truncated_normal", seed, dtype)
    return distributions.truncated_normal("random.truncated_normal", reserve, shape, mean, stddev, dtype)


def uniform(
    shape: ShapeLike,
    minval: TensorLike | None = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    seed: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers evenly distributed in [minval, maxval).

    Args:
        minval, maxval: the bounds; for floats [0, 1) by default, and integers need `maxval`.
        dtype: floating, int32 or int64.
        seed: the operation's own seed, whose sequence goes on from call to call; see `set_seed`.

    Raises:
        ValueError: for integers without bounds, or unsigned ones.
        DTypeError: for another dtype.
        InvalidArgumentError: if a length is negative, or integers have no range.

    >>> x = uniform((100,), 2.0, 3.0).numpy()
    >>> bool(x.min() >= 2.0 and x.max() <= 3.0)
    True
    """
    kind = distributions.uniform_dtype("random.uniform", dtype)
    if kind.is_integer and (minval is None or maxval is None or kind.is_unsigned):
        raise ValueError("random.uniform: integers need minval and maxval, and dtype int32 or int64")
    reserve = _reserve_for("uniform", seed, dtype)
    return distributions.uniform("random.uniform", reserve, shape, minval, maxval, kind)


def gamma(
    shape: ShapeLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    seed: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Samples of gamma distributions; gradients flow to `alpha` and `beta`.

    Args:
        shape: of the samples of each distribution; the parameters' shape comes after it.
        alpha: the shape parameter.
        beta: the rate; 1 by default.
        dtype: a floating dtype.
        seed: the operation's own seed, whose sequence goes on from call to call; see `set_seed`.

    Raises:
        DTypeError: for another dtype.
        InvalidArgumentError: if a length is negative, or the parameters do not broadcast.

    >>> gamma((10,), [0.5, 1.5]).shape
    TensorShape([10, 2])
    """
    wanted = distributions.sizes("random.gamma", shape)
    return distributions.gamma(
        "random.gamma", _reserve_for("gamma", seed, dtype), wanted, alpha, beta, dtype, prepend=True
    )


def poisson(
    shape: ShapeLike,
    lam: TensorLike,
    dtype: DTypeLike = "float32",
    seed: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Samples of Poisson distributions.

    Args:
        shape: of the samples of each distribution; the shape of `lam` comes after it.
        lam: the rate.
        dtype: floating, int32 or int64.
        seed: the operation's own seed, whose sequence goes on from call to call; see `set_seed`.

    Raises:
        DTypeError: for another dtype.
        InvalidArgumentError: if a length is negative, or a rate is not finite.

    >>> poisson((10,), [0.5, 1.5]).shape
    TensorShape([10, 2])
    """
    wanted = distributions.sizes("random.poisson", shape)
    return distributions.poisson(
        "random.poisson", _reserve_for("poisson", seed, dtype), wanted, lam, dtype, prepend=True
    )


def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: DTypeLike | None = None,
    seed: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Classes drawn for each row of `logits` with probabilities softmax(logits).

    Args:
        logits: of shape [batch, classes].
        num_samples: how many to draw for each row.
        dtype: int64 (the default) or int32.
        seed: the operation's own seed, whose sequence goes on from call to call; see `set_seed`.

    Raises:
        DTypeError: for another dtype, or if `logits` are not floating.
        InvalidArgumentError: if `logits` is no matrix, or `num_samples` is negative.

    >>> categorical([[0.0, float("-inf")]], 3).numpy()
    array([[0, 0, 0]])
    """
    reserve = _reserve_for("categorical", seed, "int64" if dtype is None else dtype)
    return distributions.categorical("random.categorical", reserve, logits, num_samples, dtype)


def shuffle(value: TensorLike, seed: TensorLike | None = None, name: str | None = None) -> Tensor:
    """The slices along the first axis in random order.

    Args:
        seed: the operation's own seed, whose sequence goes on from call to call; see `set_seed`.

    Raises:
        DTypeError: if the seed is not one integer.

    >>> sorted(shuffle([1, 2, 3]).numpy().tolist())
    [1, 2, 3]
    """
    return distributions.shuffle(lambda blocks: _seeds.reserve("shuffle", None, seed, blocks), value)
