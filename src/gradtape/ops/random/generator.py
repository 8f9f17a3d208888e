"""random.Generator: random numbers with a state of their own, which can be saved, restored and split."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...core.draws import drawn
from ...core.errors import InvalidArgumentError
from ...core.primitive import local
from ...core.replicas import VariableAggregation, VariableSynchronization
from ...core.settings import settings
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, ShapeLike, TensorLike
from ...core.variable import Variable
from ...engine.arrays import is_traced, xp
from ..array.movement import stack
from ..known import static_number
from . import distributions, philox
from .distributions import Place
from .stateless import Algorithm, AlgorithmLike, algorithm_number

_STATE = 3  # the counter's lower and upper half, and the key


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def create_rng_state(seed: TensorLike, alg: AlgorithmLike) -> Tensor:
    """The state of a generator for a seed.

    Args:
        seed: one integer of any size, or up to three.
        alg: the algorithm: 'philox' or 'auto_select'; also as a number or a member of `Algorithm`.

    Raises:
        InvalidArgumentError: if the seed is not made of integers.
        ValueError: for an unknown algorithm.

    >>> create_rng_state(1234, "philox").numpy()
    array([1234,    0,    0])
    """
    algorithm_number(alg)
    if isinstance(seed, int):
        words = [seed >> 64 * i & philox.MASK64 for i in range(_STATE)]
    else:
        array = convert(seed)._array.reshape(-1)
        if array.dtype.kind not in "iu":
            raise InvalidArgumentError(f"a seed is made of integers, not {seed!r}")
        words = [int(n) & philox.MASK64 for n in array[:_STATE]]
    words = [0] * (_STATE - len(words)) + words  # zeros in front, so that a short seed is the key
    return wrap(np.array([_signed(word) for word in words], np.int64))


class Generator:
    """A source of random numbers with a state. Equal states give equal numbers, and TensorFlow's.

    Make one with `from_seed`, `from_non_deterministic_state` or `from_state`.

    Args:
        copy_from: a generator whose state and algorithm to take.
        state: three integers (or a Variable of them, which the generator then advances).
        alg: the algorithm: 'philox' or 'auto_select'; also as a number or a member of `Algorithm`.

    Raises:
        TypeError: if `copy_from` is no generator.
        ValueError: without `copy_from` and without `state` and `alg`; for another state; for an unknown algorithm.

    >>> g = Generator.from_seed(1234)
    >>> g.normal((2,)).numpy().round(4)
    array([0.9357, 1.0854], dtype=float32)
    """

    def __init__(
        self,
        copy_from: Generator | None = None,
        state: TensorLike | None = None,
        alg: AlgorithmLike | None = None,
    ) -> None:
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
            self._state = Variable(
                _checked(state),
                trainable=False,
                name="StateVar",
                synchronization=VariableSynchronization.ON_READ,  # all replicas advance it alike
                aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            )

    @classmethod
    def from_state(cls, state: TensorLike, alg: AlgorithmLike) -> Generator:
        """A generator in a given state.

        Args:
            state: three integers.
            alg: the algorithm: 'philox' or 'auto_select'; also as a number or a member of `Algorithm`.

        >>> Generator.from_state([1, 2, 3], "philox").key.numpy()
        np.int64(3)
        """
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: TensorLike, alg: AlgorithmLike | None = None) -> Generator:
        """The generator that starts from a seed.

        Args:
            seed: one integer of any size, or up to three.
            alg: the algorithm: 'philox' (the default) or 'auto_select'; also as a number or a member of `Algorithm`.

        Raises:
            InvalidArgumentError: if the seed is not made of integers.

        >>> Generator.from_seed(1).uniform((2,)).shape
        TensorShape([2])
        """
        kind = Algorithm.PHILOX.value if alg is None else alg
        return cls(state=create_rng_state(seed, kind), alg=kind)

    @classmethod
    def from_non_deterministic_state(cls, alg: AlgorithmLike | None = None) -> Generator:
        """A generator that gives other numbers each time.

        Args:
            alg: the algorithm: 'philox' (the default) or 'auto_select'; also as a number or a member of `Algorithm`.

        Raises:
            RuntimeError: if op determinism is enabled.

        >>> Generator.from_non_deterministic_state().uniform(()).shape
        TensorShape([])
        """
        if settings.op_determinism:
            raise RuntimeError(
                "from_non_deterministic_state: not where op determinism is enabled; use from_seed"
            )
        state = np.frombuffer(os.urandom(8 * _STATE), np.int64)
        return cls(state=state, alg=Algorithm.PHILOX.value if alg is None else alg)

    @classmethod
    def from_key_counter(cls, key: TensorLike, counter: TensorLike, alg: AlgorithmLike) -> Generator:
        """A generator with a given key and counter.

        Args:
            key: one integer.
            counter: two integers, the lower half first.
            alg: the algorithm: 'philox' or 'auto_select'; also as a number or a member of `Algorithm`.

        >>> Generator.from_key_counter(3, [1, 2], "philox").state.numpy()
        array([1, 2, 3])
        """
        return cls(state=[*convert(counter)._array.tolist(), static_number("key", key)], alg=alg)

    def reset(self, state: TensorLike) -> None:
        """Go to a state of three integers.

        Raises:
            ValueError: for another state.
        """
        self._state.assign(_checked(state))

    def reset_from_seed(self, seed: TensorLike) -> None:
        """Go to the state that a seed starts from."""
        self._state.assign(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key: TensorLike, counter: TensorLike) -> None:
        """Go to a given key and counter.

        Args:
            key: one integer.
            counter: two integers, the lower half first.
        """
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
        """The number that distinguishes this generator's sequence."""
        return self._state[-1]

    def skip(self, delta: TensorLike) -> Tensor:
        """Advance as if `delta` numbers had been drawn, and return the state before.

        >>> Generator.from_seed(1).skip(1).numpy()
        array([1, 0, 0])
        """
        before = self._state.value()
        self._reserve(static_number("Generator.skip: delta", delta))
        return before

    def _reserve(self, count: int) -> Place:
        state = self._state._read()._array
        if is_traced(state):
            words = state.view(np.uint64)
            after = philox.advanced(words[:2], count * philox.RESERVED)
            self._state.assign(wrap(xp(words).concatenate([after, words[2:]]).view(np.int64)))
            replica = local.here.replica
            if replica is not None:
                words = words ^ replica.stream(xp(words))
            return words[2], words[:2]
        return drawn(lambda: self._advance(count))

    def _advance(self, count: int) -> Place:
        state = self._state._read()._array
        low, high, key = state.view(np.uint64).tolist()
        counter = low | high << 64
        after = counter + count * philox.RESERVED
        words = np.array([after & philox.MASK64, after >> 64 & philox.MASK64, key], np.uint64)
        self._state.assign(wrap(words.view(np.int64)))
        replica = local.here.replica
        if replica is not None:
            low, high, key = (replica.stream(np) ^ np.array([low, high, key], np.uint64)).tolist()
            counter = low | high << 64
        return key, counter

    # -- drawing ------------------------------------------------------------------------------------------------------

    def normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Normally distributed numbers; gradients flow to `mean` and `stddev`.

        Args:
            mean, stddev: scalars, or tensors that broadcast with `shape`.
            dtype: a floating dtype.

        Raises:
            DTypeError: for another dtype.
            InvalidArgumentError: if a length is negative.
        """
        return distributions.normal("Generator.normal", self._reserve, shape, mean, stddev, dtype)

    def truncated_normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Normally distributed numbers within two `stddev` of `mean`; gradients flow to both.

        Args:
            mean, stddev: scalars, or tensors that broadcast with `shape`.
            dtype: a floating dtype.

        Raises:
            DTypeError: for another dtype.
            InvalidArgumentError: if a length is negative.
        """
        return distributions.truncated_normal(
            "Generator.truncated_normal", self._reserve, shape, mean, stddev, dtype
        )

    def uniform(
        self,
        shape: ShapeLike,
        minval: TensorLike | None = 0,
        maxval: TensorLike | None = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Numbers evenly distributed in [minval, maxval).

        Args:
            minval, maxval: the bounds; for floats [0, 1) by default. None for both gives integers of all values.
            dtype: floating, or an integer of 32 or 64 bits; unsigned integers need None for both bounds.

        Raises:
            ValueError: for integers with one bound.
            DTypeError: for another dtype.
            InvalidArgumentError: if a length is negative, or integers have no range.
        """
        kind = distributions.uniform_dtype("Generator.uniform", dtype)
        return distributions.uniform("Generator.uniform", self._reserve, shape, minval, maxval, kind)

    def uniform_full_int(
        self, shape: ShapeLike, dtype: DTypeLike = "uint64", name: str | None = None
    ) -> Tensor:
        """Integers of all values of a dtype.

        Args:
            dtype: an integer of 32 or 64 bits.

        Raises:
            InvalidArgumentError: for another dtype, or if a length is negative.
        """
        kind = distributions.uniform_dtype("Generator.uniform_full_int", dtype)
        if not kind.is_integer:
            raise InvalidArgumentError(
                f"Generator.uniform_full_int: dtype must be an integer, not {kind.name}"
            )
        return distributions.uniform("Generator.uniform_full_int", self._reserve, shape, None, None, kind)

    def binomial(
        self,
        shape: ShapeLike,
        counts: TensorLike,
        probs: TensorLike,
        dtype: DTypeLike = "int32",
        name: str | None = None,
    ) -> Tensor:
        """Samples of binomial distributions.

        Args:
            shape: of the result, to which the parameters broadcast.
            counts: the numbers of trials.
            probs: the probabilities of success.

        Raises:
            DTypeError: if the parameters are no numbers.
            InvalidArgumentError: if a length is negative, or a parameter is out of range or does not broadcast.
        """
        wanted = distributions.sizes("Generator.binomial", shape)
        return distributions.binomial("Generator.binomial", self._reserve, wanted, counts, probs, dtype)

    def make_seeds(self, count: TensorLike = 1) -> Tensor:
        """Draw `count` seeds for stateless operations, one a column."""
        keys = self.uniform_full_int((count,), "int64")
        return stack([keys, np.zeros(keys.shape, np.int64)])

    def split(self, count: TensorLike = 1) -> list[Generator]:
        """Make `count` new generators, independent of this one and of each other."""
        keys = self.uniform_full_int((count,), "int64").numpy()
        return [Generator(state=[0, 0, int(key)], alg=self._alg) for key in keys]


def _checked(state: Any) -> Any:
    """A state as three signed 64-bit integers."""
    words = list(state) if isinstance(state, (list, tuple)) else convert(state)._array.reshape(-1).tolist()
    try:
        signed = [_signed(word.__index__() & philox.MASK64) for word in words]
    except (AttributeError, TypeError):
        signed = []
    if len(signed) != _STATE:
        raise ValueError(f"the state of a generator is {_STATE} integers, not {state!r}")
    return np.array(signed, np.int64)


_global: Generator | None = None


def get_global_generator() -> Generator:
    """The global generator, made when first asked for.

    >>> get_global_generator().uniform(()).shape
    TensorShape([])
    """
    global _global
    if _global is None:
        _global = Generator.from_non_deterministic_state()
    return _global


def set_global_generator(generator: Generator) -> None:
    """Replace the global generator.

    Raises:
        TypeError: if `generator` is no Generator.

    >>> set_global_generator(Generator.from_seed(1))
    """
    global _global
    if not isinstance(generator, Generator):
        raise TypeError(f"set_global_generator: takes a Generator, not {generator!r}")
    _global = generator
