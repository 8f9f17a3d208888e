"""Random tensors that are functions of a seed: the same seed, the same numbers, and TensorFlow's.

Gamma, Poisson and binomial numbers are drawn by NumPy: right in distribution, and the same for the same seed, but not
TensorFlow's.
"""

from __future__ import annotations

import enum
from typing import Any, TypeAlias

from ...core.errors import DTypeError, InvalidArgumentError, UnimplementedError
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, ShapeLike, TensorLike
from ..array.movement import stack
from . import distributions, philox
from .distributions import Place, Reserve


class Algorithm(enum.Enum):
    """The algorithm that generates random bits: Philox, which `AUTO_SELECT` selects; there is no other here.

    >>> import gradtape as tf
    >>> float(tf.random.Generator.from_seed(1, alg=Algorithm.PHILOX).uniform([])) < 1.0
    True
    """

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


AlgorithmLike: TypeAlias = Algorithm | str | int

_BY_NAME: dict[Any, Algorithm] = {a.name.replace("_", "").lower(): a for a in Algorithm}
_BY_NUMBER: dict[Any, Algorithm] = {a.value: a for a in Algorithm}


def algorithm_number(alg: AlgorithmLike) -> int:
    """The number of the algorithm `alg`, a name, a number or a member of `Algorithm`.

    Raises:
        ValueError: for an unknown algorithm.
        UnimplementedError: for ThreeFry.
    """
    if isinstance(alg, str):
        alg = _BY_NAME.get(alg.strip().lower().replace("-", "").replace("_", ""), alg)
    found = alg if isinstance(alg, Algorithm) else _BY_NUMBER.get(alg) if type(alg) is int else None
    if found is None:
        raise ValueError(f"alg must be 'philox' or 'auto_select', not {alg!r}")
    if found is Algorithm.THREEFRY:
        raise UnimplementedError("alg: ThreeFry needs an XLA device; 'philox' and 'auto_select' work here")
    return found.value


def place_of_seed(name: str, seed: Any) -> Place:
    """The first place of the sequence for a seed of two integers."""
    pair = convert(seed)._array
    if pair.dtype.kind not in "iu":
        raise DTypeError(f"{name}: seed must be two integers, not of dtype {pair.dtype}")
    if pair.shape != (2,):
        raise InvalidArgumentError(f"{name}: seed must have shape [2], not {list(pair.shape)}")
    return philox.scramble_seed(pair)


def _reserve_from(name: str, seed: Any, alg: Any = "auto_select") -> Reserve:
    """A function that reserves the place of a seed: the same at every call."""
    algorithm_number(alg)
    place = place_of_seed(name, seed)
    return lambda count: place


def stateless_normal(
    shape: ShapeLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
    alg: AlgorithmLike = "auto_select",
) -> Tensor:
    """Normally distributed numbers, as a function of a seed; gradients flow to `mean` and `stddev`.

    Args:
        seed: an integer tensor of shape [2]: the same seed gives the same numbers.
        mean, stddev: scalars, or tensors that broadcast with `shape`.
        dtype: a floating dtype.
        alg: 'philox' or 'auto_select', which is the same; also as a number or a member of `Algorithm`.

    Raises:
        DTypeError: if the seed is not of integers, or for another dtype.
        InvalidArgumentError: if the seed has another shape, or a length is negative.

    >>> stateless_normal((2,), (1, 2)).numpy().round(4)
    array([0.5441, 0.2074], dtype=float32)
    """
    reserve = _reserve_from("random.stateless_normal", seed, alg)
    return distributions.normal("random.stateless_normal", reserve, shape, mean, stddev, dtype)


def stateless_truncated_normal(
    shape: ShapeLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
    alg: AlgorithmLike = "auto_select",
) -> Tensor:
    """Normally distributed numbers within two `stddev` of `mean`, as a function of a seed; gradients flow to both.

    Args:
        seed: an integer tensor of shape [2]: the same seed gives the same numbers.
        mean, stddev: scalars, or tensors that broadcast with `shape`.
        dtype: a floating dtype.
        alg: 'philox' or 'auto_select', which is the same; also as a number or a member of `Algorithm`.

    Raises:
        DTypeError: if the seed is not of integers, or for another dtype.
        InvalidArgumentError: if the seed has another shape, or a length is negative.

    >>> bool(abs(stateless_truncated_normal((1000,), (1, 2)).numpy()).max() < 2.0)
    True
    """
    reserve = _reserve_from("random.stateless_truncated_normal", seed, alg)
    return distributions.truncated_normal(
        "random.stateless_truncated_normal", reserve, shape, mean, stddev, dtype
    )


def stateless_uniform(
    shape: ShapeLike,
    seed: TensorLike,
    minval: TensorLike | None = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
    alg: AlgorithmLike = "auto_select",
) -> Tensor:
    """Numbers evenly distributed in [minval, maxval), as a function of a seed.

    Args:
        seed: an integer tensor of shape [2]: the same seed gives the same numbers.
        minval, maxval: the bounds; for floats [0, 1) by default. None for both gives integers of all values.
        dtype: floating, or an integer of 32 or 64 bits; unsigned integers need None for both bounds.
        alg: 'philox' or 'auto_select', which is the same; also as a number or a member of `Algorithm`.

    Raises:
        ValueError: for integers with one bound.
        DTypeError: if the seed is not of integers, or for another dtype.
        InvalidArgumentError: if the seed has another shape, a length is negative, or integers have no range.

    >>> stateless_uniform((2,), (1, 2), maxval=10, dtype="int32").numpy()
    array([0, 9], dtype=int32)
    """
    kind = distributions.uniform_dtype("random.stateless_uniform", dtype)
    reserve = _reserve_from("random.stateless_uniform", seed, alg)
    return distributions.uniform("random.stateless_uniform", reserve, shape, minval, maxval, kind)


def stateless_gamma(
    shape: ShapeLike,
    seed: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Samples of gamma distributions, as a function of a seed; gradients flow to `alpha` and `beta`.

    Args:
        shape: of the result, to which the parameters broadcast.
        seed: an integer tensor of shape [2]: the same seed gives the same numbers.
        alpha: the shape parameter.
        beta: the rate; 1 by default.
        dtype: a floating dtype.

    Raises:
        DTypeError: if the seed is not of integers, or for another dtype.
        InvalidArgumentError: if the seed has another shape, a length is negative, or the parameters do not
            broadcast.

    >>> stateless_gamma((10, 2), (1, 2), [0.5, 1.5]).shape
    TensorShape([10, 2])
    """
    what = "random.stateless_gamma"
    wanted = distributions.sizes(what, shape)
    return distributions.gamma(what, _reserve_from(what, seed), wanted, alpha, beta, dtype, prepend=False)


def stateless_poisson(
    shape: ShapeLike, seed: TensorLike, lam: TensorLike, dtype: DTypeLike = "int32", name: str | None = None
) -> Tensor:
    """Samples of Poisson distributions, as a function of a seed.

    Args:
        shape: of the result, to which `lam` broadcasts.
        seed: an integer tensor of shape [2]: the same seed gives the same numbers.
        lam: the rate.
        dtype: floating, int32 or int64.

    Raises:
        DTypeError: if the seed is not of integers, or for another dtype.
        InvalidArgumentError: if the seed has another shape, a length is negative, a rate is not finite, or `lam`
            does not broadcast.

    >>> stateless_poisson((10, 2), (1, 2), [0.5, 1.5]).shape
    TensorShape([10, 2])
    """
    what = "random.stateless_poisson"
    wanted = distributions.sizes(what, shape)
    return distributions.poisson(what, _reserve_from(what, seed), wanted, lam, dtype, prepend=False)


def stateless_binomial(
    shape: ShapeLike,
    seed: TensorLike,
    counts: TensorLike,
    probs: TensorLike,
    output_dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Samples of binomial distributions, as a function of a seed.

    Args:
        shape: of the result, to which the parameters broadcast.
        seed: an integer tensor of shape [2]: the same seed gives the same numbers.
        counts: the numbers of trials.
        probs: the probabilities of success.
        output_dtype: of the result.

    Raises:
        DTypeError: if the seed is not of integers, or the parameters are no numbers.
        InvalidArgumentError: if the seed has another shape, a length is negative, or a parameter is out of range or
            does not broadcast.

    >>> stateless_binomial((3,), (1, 2), counts=10.0, probs=1.0).numpy()
    array([10, 10, 10], dtype=int32)
    """
    what = "random.stateless_binomial"
    wanted = distributions.sizes(what, shape)
    return distributions.binomial(what, _reserve_from(what, seed), wanted, counts, probs, output_dtype)


def stateless_categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    dtype: DTypeLike = "int64",
    name: str | None = None,
) -> Tensor:
    """Classes drawn for each row of `logits` with probabilities softmax(logits), as a function of a seed.

    Args:
        logits: of shape [batch, classes].
        num_samples: how many to draw for each row.
        seed: an integer tensor of shape [2]: the same seed gives the same numbers.
        dtype: int32 or int64.

    Raises:
        DTypeError: if the seed is not of integers, or for another dtype.
        InvalidArgumentError: if the seed has another shape, `num_samples` is negative, or `logits` is no matrix.

    >>> stateless_categorical([[0.0, float("-inf")]], 3, (1, 2)).numpy()
    array([[0, 0, 0]])
    """
    reserve = _reserve_from("random.stateless_categorical", seed)
    return distributions.categorical("random.stateless_categorical", reserve, logits, num_samples, dtype)


def stateless_shuffle(
    value: TensorLike, seed: TensorLike, alg: AlgorithmLike = "auto_select", name: str | None = None
) -> Tensor:
    """The slices along the first axis in a random order, as a function of a seed.

    Args:
        seed: an integer tensor of shape [2]: the same seed gives the same numbers.
        alg: 'philox' or 'auto_select', which is the same; also as a number or a member of `Algorithm`.

    Raises:
        DTypeError: if the seed is not of integers.
        InvalidArgumentError: if the seed has another shape.

    >>> sorted(stateless_shuffle([1, 2, 3], (8, 9)).numpy().tolist())
    [1, 2, 3]
    """
    return distributions.shuffle(_reserve_from("random.stateless_shuffle", seed, alg), value)


def split(seed: TensorLike, num: TensorLike = 2, alg: AlgorithmLike = "auto_select") -> Tensor:
    """New seeds from a seed, one a row.

    Args:
        seed: an integer tensor of shape [2].
        num: how many.
        alg: 'philox' or 'auto_select', which is the same; also as a number or a member of `Algorithm`.

    Raises:
        DTypeError: if the seed is not of integers.
        InvalidArgumentError: if the seed has another shape.

    >>> split([1, 2], 3).numpy()
    array([[1105988140, 1738052849],
           [-335576002,  370444179],
           [  10670227, -246211131]], dtype=int32)
    """
    given = convert(seed)
    return stateless_uniform((num, 2), given, None, None, given.dtype, alg=alg)


def fold_in(seed: TensorLike, data: TensorLike, alg: AlgorithmLike = "auto_select") -> Tensor:
    """A new seed from a seed and a number.

    Args:
        seed: an integer tensor of shape [2].
        data: one integer, such as that of a step or of a replica.
        alg: 'philox' or 'auto_select', which is the same; also as a number or a member of `Algorithm`.

    Raises:
        DTypeError: if the seed is not of integers.
        InvalidArgumentError: if the seed has another shape, or `data` is not one integer.

    >>> fold_in([1, 2], 3).numpy()
    array([1105988140,          3], dtype=int32)
    """
    number = convert(data)
    if number.ndim or not number.dtype.is_integer:
        raise InvalidArgumentError(f"random.fold_in: data must be one integer, not {data!r}")
    return stack([stateless_uniform((), seed, None, None, number.dtype, alg=alg), number])
