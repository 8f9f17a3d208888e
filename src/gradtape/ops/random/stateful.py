"""Random tensors: the numbers TensorFlow draws for the same seeds, for normal, uniform, categorical and shuffled ones.

The global seed resets everything. An operation without a seed of its own then gets the next one of a fixed sequence;
one with a seed has a counter of its own, which goes on from call to call.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from ...core.draws import drawn
from ...core.dtypes import as_dtype
from ...core.primitive import local
from ...core.settings import settings
from ...core.tensor import Tensor
from ..array.movement import static_number
from . import distributions, philox
from .distributions import Place, Reserve

_MAX_SEED = (1 << 31) - 1
_DEFAULT_GLOBAL_SEED = 87654321  # what counts as the global seed where only the operation has one


class _Seeds:
    """The global seed, and how far each operation has counted."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reset(None)

    def reset(self, seed: int | None) -> None:
        with self.lock:
            self.seed = seed
            self.sequence: Any = None if seed is None else _sequence(seed)
            self.counters: dict[Any, Any] = {}
            self.own_key = int.from_bytes(os.urandom(8), "little")  # where nobody gives a seed
            self.own_counter = 0

    def reserve(self, operation: str, dtype: Any, seed: Any, count: int) -> Place:
        """A place for an operation that may use `count` blocks, which nobody else gets then.

        Operations count apart, and so do the dtypes of one.
        """
        own = None if seed is None else static_number(f"random.{operation}: seed", seed)
        if local.here.trace is not None:
            place: Place = local.here.trace.place(0 if own is None else own % _MAX_SEED + 1)
            return place
        return drawn(lambda: self._reserve(operation, dtype, own, count))

    def _reserve(self, operation: str, dtype: Any, own: int | None, count: int) -> Place:
        with self.lock:
            if own is None:
                return self._next(count)
            pair = (_DEFAULT_GLOBAL_SEED if self.seed is None else self.seed) % _MAX_SEED, own % _MAX_SEED
            key, start = _start(pair)
            whose = operation, dtype and as_dtype(dtype).name, pair
            counter: Any = self.counters.get(whose, start)
            self.counters[whose] = counter + count
            return key, counter

    def _next(self, count: int) -> Place:
        """A place for an operation that has no seed."""
        if self.seed is not None:
            return _start((self.seed % _MAX_SEED, self.sequence.randint(0, _MAX_SEED) % _MAX_SEED))
        if settings.op_determinism:
            raise RuntimeError(
                "random numbers need a seed where op determinism is enabled: call random.set_seed(...) first"
            )
        self.own_counter += count
        return self.own_key, self.own_counter - count


def _sequence(seed: int) -> Any:
    """Python's own generator, from which operations without a seed get theirs, as under TensorFlow."""
    import random

    return random.Random(seed)


def _start(pair: tuple[int, int]) -> Place:
    """Where the sequence of a pair of seeds begins."""
    first, second = pair if pair != (0, 0) else (0, _MAX_SEED)
    return first, second << 64


_seeds = _Seeds()


def seed_of_a_call() -> Any:
    """Where the random numbers of one call of a compiled function begin: it draws as one operation does."""
    with _seeds.lock:
        key, counter = _seeds._next(1)
    return np.array([key % (1 << 64), (counter ^ counter >> 64) % (1 << 64)], np.uint64)


def _for(operation: str, seed: Any, dtype: Any) -> Reserve:
    """How an operation reserves its places."""
    return lambda count: _seeds.reserve(operation, dtype, seed, count * philox.RESERVED)


def seed_pair(operation: str, seed: Any) -> tuple[int, ...]:
    """What a dataset's random step starts from: the same each time for a given seed, else the next one there is."""
    if seed is None:
        return _seeds.reserve(operation, None, None, 1)
    own = static_number(f"{operation}: seed", seed)
    return (_DEFAULT_GLOBAL_SEED if _seeds.seed is None else _seeds.seed) % _MAX_SEED, own % _MAX_SEED


# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def set_seed(seed: Any) -> None:
    """Fix the global seed: from here on, the same program draws the same numbers.

    >>> set_seed(1)
    >>> a = uniform(())
    >>> set_seed(1)
    >>> b = uniform(())
    >>> float(a) == float(b)
    True
    """
    _seeds.reset(None if seed is None else static_number("random.set_seed: seed", seed))


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
    reserve = _for("normal", seed, dtype)
    return distributions.normal("random.normal", reserve, shape, mean, stddev, dtype)


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
    reserve = _for("truncated_normal", seed, dtype)
    return distributions.truncated_normal("random.truncated_normal", reserve, shape, mean, stddev, dtype)


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """Numbers evenly distributed in [minval, maxval): [0, 1) by default. Integers need `maxval`.

    >>> x = uniform((100,), 2.0, 3.0).numpy()
    >>> bool(x.min() >= 2.0 and x.max() <= 3.0)
    True
    """
    kind = distributions.uniform_dtype("random.uniform", dtype)
    if kind.is_integer and (minval is None or maxval is None or kind.is_unsigned):
        raise ValueError("random.uniform: integers need minval and maxval, and dtype int32 or int64")
    reserve = _for("uniform", seed, dtype)
    return distributions.uniform("random.uniform", reserve, shape, minval, maxval, kind)


def gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = "float32",
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """`shape` samples of each gamma distribution of shape `alpha` and rate `beta`; gradients flow to both.

    >>> gamma((10,), [0.5, 1.5]).shape
    TensorShape([10, 2])
    """
    wanted = distributions.sizes("random.gamma", shape)
    return distributions.gamma(
        "random.gamma", _for("gamma", seed, dtype), wanted, alpha, beta, dtype, prepend=True
    )


def poisson(
    shape: Any, lam: Any, dtype: Any = "float32", seed: Any = None, name: str | None = None
) -> Tensor:
    """`shape` samples of each Poisson distribution of rate `lam`.

    >>> poisson((10,), [0.5, 1.5]).shape
    TensorShape([10, 2])
    """
    wanted = distributions.sizes("random.poisson", shape)
    return distributions.poisson(
        "random.poisson", _for("poisson", seed, dtype), wanted, lam, dtype, prepend=True
    )


def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: str | None = None
) -> Tensor:
    """For each row of `logits`, `num_samples` classes drawn with the probabilities softmax(logits).

    >>> categorical([[0.0, float("-inf")]], 3).numpy()
    array([[0, 0, 0]])
    """
    reserve = _for("categorical", seed, "int64" if dtype is None else dtype)
    return distributions.categorical("random.categorical", reserve, logits, num_samples, dtype)


def shuffle(value: Any, seed: Any = None, name: str | None = None) -> Tensor:
    """The slices along the first axis in random order.

    >>> sorted(shuffle([1, 2, 3]).numpy().tolist())
    [1, 2, 3]
    """
    return distributions.shuffle(lambda blocks: _seeds.reserve("shuffle", None, seed, blocks), value)
