"""Fractional pooling: windows whose lengths are drawn so that a picture shrinks by any ratio."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ..array.movement import stack
from ..known import known
from ..math.reduction import reduce_max, reduce_mean
from ..random.stateful import uniform
from ..scalars import boolean, integer


def fractional_max_pool(
    value: TensorLike,
    pooling_ratio: float | Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The largest of each window, of windows that shrink height and width by a ratio.

    Args:
        value: of shape (batch, height, width, channels).
        pooling_ratio: one number, or two for height and width, or [1, height, width, 1]; at least 1.
        pseudo_random: draw one number for all windows; else the lengths of windows are shuffled.
        overlapping: whether a window has the first element of the next as well.
        seed: of the windows; 0 draws others at each call.

    Returns:
        The result, and the limits of the windows along height and width.

    Raises:
        InvalidArgumentError: if a ratio is below 1 or above the length.

    >>> fractional_max_pool([[[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]]], [1.0, 1.0, 1.5, 1.0], seed=1)[0].shape
    TensorShape([1, 2, 2, 1])
    """
    return _pool("fractional_max_pool", reduce_max, value, pooling_ratio, pseudo_random, overlapping, seed)


def fractional_avg_pool(
    value: TensorLike,
    pooling_ratio: float | Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The mean of each window; `fractional_max_pool` explains the arguments.

    Args:
        value, pooling_ratio, pseudo_random, overlapping, seed: as of `fractional_max_pool`.

    >>> float(fractional_avg_pool([[[[1.0], [2.0], [3.0]]]], [1.0, 1.0, 3.0, 1.0], seed=1)[0])
    2.0
    """
    return _pool("fractional_avg_pool", reduce_mean, value, pooling_ratio, pseudo_random, overlapping, seed)


def _pool(
    name: str, reduce: Any, value: Any, pooling_ratio: Any, pseudo_random: Any, overlapping: Any, seed: Any
) -> tuple[Tensor, Tensor, Tensor]:
    x = convert(value)
    if x.ndim != 4:
        raise InvalidArgumentError(f"{name}: value must have 4 axes, not the shape {list(x.shape)}")
    ratios = _ratios(name, pooling_ratio)
    number = integer(name, "seed", seed)
    if not number:
        number = int(known(name, "the windows", uniform((), 1, 2**31 - 1, "int32")._array))
    draws = np.random.default_rng(abs(number))
    smooth, both = boolean(name, "pseudo_random", pseudo_random), boolean(name, "overlapping", overlapping)
    limits = []
    for axis, ratio in ((1, ratios[0]), (2, ratios[1])):
        length = x._array.shape[axis]
        count = math.floor(length / ratio)
        if count < 1:
            raise InvalidArgumentError(f"{name}: a ratio of {ratio} leaves nothing of a length of {length}")
        ends = _limits(length, count, smooth, draws)
        lead = (slice(None),) * axis
        windows = [
            x[(*lead, slice(start, min(end + both, length)))] for start, end in itertools.pairwise(ends)
        ]
        x = stack([reduce(window, axis) for window in windows], axis)
        limits.append(wrap(np.array(ends, np.int64)))
    return x, limits[0], limits[1]


def _ratios(name: str, given: Any) -> list[float]:
    array = known(name, "pooling_ratio", convert(given)._array)
    values = array.reshape(-1).tolist() if array.dtype.kind in "fiu" else []
    if len(values) == 4 and values[0] == values[3] == 1:
        values = values[1:3]
    pair = values * 2 if len(values) == 1 else values
    if len(pair) != 2 or not all(1 <= ratio < math.inf for ratio in pair):
        raise InvalidArgumentError(
            f"{name}: pooling_ratio must be one or two numbers from 1 on, or [1, height, width, 1], not {given!r}"
        )
    return pair


def _limits(length: int, count: int, smooth: bool, draws: np.random.Generator) -> list[int]:
    """The limits of `count` windows over `length` elements, whose lengths differ by 1 at most."""
    if smooth:
        share = length / count
        start = draws.random()
        inner = [math.ceil(share * (i + start)) - math.ceil(share * start) for i in range(count)]
        return [*(min(at, length - count + i) for i, at in enumerate(inner)), length]
    lengths = np.full(count, length // count)
    lengths[: length % count] += 1
    draws.shuffle(lengths)
    return [0, *np.cumsum(lengths).tolist()]
