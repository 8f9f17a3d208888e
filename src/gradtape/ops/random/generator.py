"""random.Generator: random numbers with a state of their own, which can be saved, restored and split."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...core.draws import drawn
from ...core.errors import InvalidArgumentError
from ...core.settings import settings
from ...core.tensor import Tensor, convert, wrap
from ...core.variable import Variable
from ...engine.arrays import is_traced, xp
from ..array.movement import stack, static_number
from . import distributions, philox
from .distributions import Place
from .stateless import Algorithm, algorithm_number

_WORD = 0xFFFF_FFFF_FFFF_FFFF
_STATE = 3  # the counter's lower and upper half, and the key


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def create_rng_state(seed: Any, alg: Any) -> Tensor:
    """The state of a generator for a seed: one integer of any size, or up to three.

    >>> create_rng_state(1234, "philox").numpy()
    array([1234,    0,    0])
    """
    algorithm_number(alg)
    if isinstance(seed, int):
        words = [seed >> 64 * i & _WORD for i in range(_STATE)]
    else:
        array = convert(seed)._array.reshape(-1)
        if array.dtype.kind not in "iu":
            raise InvalidArgumentError(f"a seed is made of integers, not {seed!r}")
        words = [int(n) & _WORD for n in array[:_STATE]]
    words = [0] * (_STATE - len(words)) + words  # in front: a short seed is to be the key
    return wrap(np.array([_signed(word) for word in words], np.int64))


class Generator:
    """A source of random numbers. Drawing moves its state on; equal states give equal numbers, and TensorFlow's.

    Make one with `from_seed`, `from_non_deterministic_state` or `from_state`.

    >>> g = Generator.from_seed(1234)
    >>> g.normal((2,)).numpy().round(4)
    array([0.9357, 1.0854], dtype=float32)
    """

    def __init__(self, copy_from: Generator | None = None, state: Any = None, alg: Any = None) -> None:
        if copy_from is not None:
            if not isinstance(copy_from, Generator):
                raise TypeError(f"Generator: copy_from must be a Generator, not {copy_from!r}")
            state, alg = copy_from.state.numpy(), copy_from.algorithm
        if state is None or alg is None:
            raise ValueError(
                "a Generator needs copy_from, or state and alg: see also Generator.from_seed(...)"
            )
        self._alg = algorithm_number(alg)
        if isinstance(state, Variable):
            _checked(state.numpy())
            self._state = state
        else:
            self._state = Variable(_checked(state), trainable=False, name="StateVar")

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> Generator:
        """The generator in a given state."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """The generator that a seed starts: an integer of any size, or several."""
        kind = Algorithm.PHILOX.value if alg is None else alg
        return cls(state=create_rng_state(seed, kind), alg=kind)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """A generator that gives other numbers each time."""
        if settings.op_determinism:
            raise RuntimeError(
                "from_non_deterministic_state: not where op determinism is enabled; use from_seed"
            )
        state = np.frombuffer(os.urandom(8 * _STATE), np.int64)
        return cls(state=state, alg=Algorithm.PHILOX.value if alg is None else alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> Generator:
        """The generator with this key, and the counter in two words."""
        return cls(state=[*convert(counter)._array.tolist(), static_number("key", key)], alg=alg)

    def reset(self, state: Any) -> None:
        """Go to a state."""
        self._state.assign(_checked(state))

    def reset_from_seed(self, seed: Any) -> None:
        """Go to where a seed starts."""
        self._state.assign(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Go to this key and counter."""
        self.reset([*convert(counter)._array.tolist(), static_number("key", key)])

    @property
    def state(self) -> Variable:
        """The state: three integers in a variable."""
        return self._state

    @property
    def algorithm(self) -> int:
        """The number of the algorithm: see `Algorithm`."""
        return self._alg

    @property
    def key(self) -> Tensor:
        """What tells this generator's sequence from others'."""
        return self._state[-1]

    def skip(self, delta: Any) -> Tensor:
        """Move on as if `delta` numbers had been drawn; returns the state before."""
        before = self._state.value()
        self._reserve(static_number("Generator.skip: delta", delta))
        return before

    def _reserve(self, count: int) -> Place:
        state = self._state._read()._array
        if is_traced(state):
            words = state.view(np.uint64)
            after = philox.advanced(words[:2], count * philox.RESERVED)
            self._state.assign(wrap(xp(words).concatenate([after, words[2:]]).view(np.int64)))
            return words[2], words[:2]
        return drawn(lambda: self._advance(count))

    def _advance(self, count: int) -> Place:
        state = self._state._read()._array
        low, high, key = state.view(np.uint64).tolist()
        counter = low | high << 64
        after = counter + count * philox.RESERVED
        words = np.array([after & _WORD, after >> 64 & _WORD, key], np.uint64)
        self._state.assign(wrap(words.view(np.int64)))
        return key, counter

    # -- drawing ------------------------------------------------------------------------------------------------------

    def normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = "float32", name: str | None = None
    ) -> Tensor:
        """Normally distributed numbers; gradients flow to `mean` and `stddev`."""
        return distributions.normal("Generator.normal", self._reserve, shape, mean, stddev, dtype)

    def truncated_normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = "float32", name: str | None = None
    ) -> Tensor:
        """Normally distributed numbers within two `stddev` of `mean`."""
        return distributions.truncated_normal(
            "Generator.truncated_normal", self._reserve, shape, mean, stddev, dtype
        )

    def uniform(
        self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = "float32", name: str | None = None
    ) -> Tensor:
        """Numbers evenly distributed in [minval, maxval); integers of all values where both are None."""
        kind = distributions.uniform_dtype("Generator.uniform", dtype)
        return distributions.uniform("Generator.uniform", self._reserve, shape, minval, maxval, kind)

    def uniform_full_int(self, shape: Any, dtype: Any = "uint64", name: str | None = None) -> Tensor:
        """Integers of all values of a dtype."""
        kind = distributions.uniform_dtype("Generator.uniform_full_int", dtype)
        if not kind.is_integer:
            raise InvalidArgumentError(
                f"Generator.uniform_full_int: dtype must be an integer, not {kind.name}"
            )
        return distributions.uniform("Generator.uniform_full_int", self._reserve, shape, None, None, kind)

    def binomial(
        self, shape: Any, counts: Any, probs: Any, dtype: Any = "int32", name: str | None = None
    ) -> Tensor:
        """Samples of binomial distributions of `counts` trials."""
        wanted = distributions.sizes("Generator.binomial", shape)
        return distributions.binomial("Generator.binomial", self._reserve, wanted, counts, probs, dtype)

    def make_seeds(self, count: Any = 1) -> Tensor:
        """`count` seeds for stateless operations, one a column."""
        keys = self.uniform_full_int((count,), "int64")
        return stack([keys, np.zeros(keys.shape, np.int64)])

    def split(self, count: Any = 1) -> list[Generator]:
        """`count` new generators, independent of this one and of each other."""
        keys = self.uniform_full_int((count,), "int64").numpy()
        return [Generator(state=[0, 0, int(key)], alg=self._alg) for key in keys]


def _checked(state: Any) -> Any:
    """A state as three signed 64-bit integers."""
    words = list(state) if isinstance(state, (list, tuple)) else convert(state)._array.reshape(-1).tolist()
    try:
        signed = [_signed(word.__index__() & _WORD) for word in words]
    except (AttributeError, TypeError):
        signed = []
    if len(signed) != _STATE:
        raise ValueError(f"the state of a generator is {_STATE} integers, not {state!r}")
    return np.array(signed, np.int64)


_global: Generator | None = None


def get_global_generator() -> Generator:
    """The generator for everybody, made when first asked for.

    >>> get_global_generator().uniform(()).shape
    TensorShape([])
    """
    global _global
    if _global is None:
        _global = Generator.from_non_deterministic_state()
    return _global


def set_global_generator(generator: Generator) -> None:
    """Make another generator the one for everybody.

    >>> set_global_generator(Generator.from_seed(1))
    """
    global _global
    if not isinstance(generator, Generator):
        raise TypeError(f"set_global_generator: takes a Generator, not {generator!r}")
    _global = generator
