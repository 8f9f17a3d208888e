"""Random tensors that are functions of a seed: the same seed, the same numbers, and TensorFlow's.

Gamma, Poisson and binomial numbers are drawn by NumPy: right in distribution, and the same for the same seed, but not
TensorFlow's.
"""

from __future__ import annotations

import enum
from typing import Any

from ...core.errors import DTypeError, InvalidArgumentError, UnimplementedError
from ...core.tensor import Tensor, convert
from ..array.movement import stack
from . import distributions, philox
from .distributions import Place, Reserve


class Algorithm(enum.Enum):
    """How random bits are made. There is one way here, Philox; `AUTO_SELECT` selects it."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


_BY_NAME: dict[Any, Algorithm] = {a.name.replace("_", "").lower(): a for a in Algorithm}
_BY_NUMBER: dict[Any, Algorithm] = {a.value: a for a in Algorithm}


def algorithm_number(alg: Any) -> int:
    """The number of an algorithm given by name, number or member of `Algorithm`."""
    if isinstance(alg, str):
        alg = _BY_NAME.get(alg.strip().lower().replace("-", "").replace("_", ""), alg)
    found = alg if isinstance(alg, Algorithm) else _BY_NUMBER.get(alg) if type(alg) is int else None
    if found is None:
        raise ValueError(f"alg must be 'philox' or 'auto_select', not {alg!r}")
    if found is Algorithm.THREEFRY:
        raise UnimplementedError("alg: ThreeFry needs an XLA device; 'philox' and 'auto_select' work here")
    return found.value


def _place(name: str, seed: Any) -> Place:
    """Where the sequence of a seed of two integers begins."""
    pair = convert(seed)._array
    if pair.dtype.kind not in "iu":
        raise DTypeError(f"{name}: seed must be two integers, not of dtype {pair.dtype}")
    if pair.shape != (2,):
        raise InvalidArgumentError(f"{name}: seed must have shape [2], not {list(pair.shape)}")
    return philox.scramble_seed(pair)


def _from(name: str, seed: Any, alg: Any = "auto_select") -> Reserve:
    algorithm_number(alg)
    place = _place(name, seed)
    return lambda count: place


def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Normally distributed numbers that depend on `seed`, two integers, alone.

    >>> stateless_normal((2,), (1, 2)).numpy().round(4)
    array([0.5441, 0.2074], dtype=float32)
    """
    reserve = _from("random.stateless_normal", seed, alg)
    return distributions.normal("random.stateless_normal", reserve, shape, mean, stddev, dtype)


def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Normally distributed numbers within two `stddev` of `mean`, a function of `seed`.

    >>> bool(abs(stateless_truncated_normal((1000,), (1, 2)).numpy()).max() < 2.0)
    True
    """
    reserve = _from("random.stateless_truncated_normal", seed, alg)
    return distributions.truncated_normal(
        "random.stateless_truncated_normal", reserve, shape, mean, stddev, dtype
    )


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Numbers evenly distributed in [minval, maxval), a function of `seed`. Integers of all values where both are None.

    >>> stateless_uniform((2,), (1, 2), maxval=10, dtype="int32").numpy()
    array([0, 9], dtype=int32)
    """
    kind = distributions.uniform_dtype("random.stateless_uniform", dtype)
    reserve = _from("random.stateless_uniform", seed, alg)
    return distributions.uniform("random.stateless_uniform", reserve, shape, minval, maxval, kind)


def stateless_gamma(
    shape: Any, seed: Any, alpha: Any, beta: Any = None, dtype: Any = "float32", name: str | None = None
) -> Tensor:
    """Samples of gamma distributions, a function of `seed`; `shape` is the result's. Gradients flow to both parameters.

    >>> stateless_gamma((10, 2), (1, 2), [0.5, 1.5]).shape
    TensorShape([10, 2])
    """
    what = "random.stateless_gamma"
    wanted = distributions.sizes(what, shape)
    return distributions.gamma(what, _from(what, seed), wanted, alpha, beta, dtype, prepend=False)


def stateless_poisson(
    shape: Any, seed: Any, lam: Any, dtype: Any = "int32", name: str | None = None
) -> Tensor:
    """Samples of Poisson distributions, a function of `seed`; `shape` is that of the result.

    >>> stateless_poisson((10, 2), (1, 2), [0.5, 1.5]).shape
    TensorShape([10, 2])
    """
    what = "random.stateless_poisson"
    wanted = distributions.sizes(what, shape)
    return distributions.poisson(what, _from(what, seed), wanted, lam, dtype, prepend=False)


def stateless_binomial(
    shape: Any, seed: Any, counts: Any, probs: Any, output_dtype: Any = "int32", name: str | None = None
) -> Tensor:
    """Samples of binomial distributions of `counts` trials, a function of `seed`.

    >>> stateless_binomial((3,), (1, 2), counts=10.0, probs=1.0).numpy()
    array([10, 10, 10], dtype=int32)
    """
    what = "random.stateless_binomial"
    wanted = distributions.sizes(what, shape)
    return distributions.binomial(what, _from(what, seed), wanted, counts, probs, output_dtype)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = "int64", name: str | None = None
) -> Tensor:
    """For each row of `logits`, `num_samples` classes drawn with probabilities softmax(logits), a function of `seed`.

    >>> stateless_categorical([[0.0, float("-inf")]], 3, (1, 2)).numpy()
    array([[0, 0, 0]])
    """
    reserve = _from("random.stateless_categorical", seed)
    return distributions.categorical("random.stateless_categorical", reserve, logits, num_samples, dtype)


def stateless_shuffle(value: Any, seed: Any, alg: Any = "auto_select", name: str | None = None) -> Tensor:
    """The slices along the first axis in an order that depends on `seed` alone.

    >>> sorted(stateless_shuffle([1, 2, 3], (8, 9)).numpy().tolist())
    [1, 2, 3]
    """
    return distributions.shuffle(_from("random.stateless_shuffle", seed, alg), value)


def split(seed: Any, num: Any = 2, alg: Any = "auto_select") -> Tensor:
    """`num` new seeds, one a row, from one.

    >>> split([1, 2], 3).numpy()
    array([[1105988140, 1738052849],
           [-335576002,  370444179],
           [  10670227, -246211131]], dtype=int32)
    """
    given = convert(seed)
    return stateless_uniform((num, 2), given, None, None, given.dtype, alg=alg)


def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Tensor:
    """A new seed from a seed and a number, such as that of a step or of a replica.

    >>> fold_in([1, 2], 3).numpy()
    array([1105988140,          3], dtype=int32)
    """
    number = convert(data)
    if number.ndim or not number.dtype.is_integer:
        raise InvalidArgumentError(f"random.fold_in: data must be one integer, not {data!r}")
    return stack([stateless_uniform((), seed, None, None, number.dtype, alg=alg), number])
