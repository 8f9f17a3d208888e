"""Isotonic regression: the nearest ordered sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import Axis, TensorLike
from ...engine.arrays import is_traced
from ...engine.host import on_host
from ..array.movement import cast, gather, reshape, transpose
from ..math.segment import unsorted_segment_mean
from ..scalars import boolean, integer


def isotonic_regression(
    inputs: TensorLike, decreasing: bool = True, axis: Axis = -1
) -> tuple[Tensor, Tensor]:
    """The ordered sequence with the least squared distance to `inputs`, along an axis.

    Args:
        inputs: numbers; integers count as float64.
        decreasing: whether the sequence goes down; else up.
        axis: along which the sequences lie.

    Returns:
        The sequences, and for each element the number of its segment: elements of a segment were averaged.

    Raises:
        ValueError: if there is no such axis.

    >>> isotonic_regression([3.0, 1.0, 2.0])[0].numpy()
    array([3. , 1.5, 1.5], dtype=float32)
    """
    x = convert(inputs)
    if not x.dtype.is_floating:
        x = cast(x, "float64")
    along = integer("isotonic_regression", "axis", axis)
    if not -x.ndim <= along < x.ndim:
        raise ValueError(f"isotonic_regression: there is no axis {along} among {x.ndim}")
    down = boolean("isotonic_regression", "decreasing", decreasing)
    order = [i for i in range(x.ndim) if i != along % x.ndim] + [along % x.ndim]
    back = np.argsort(order).tolist()
    moved = transpose(x, order)
    shape = moved._array.shape
    segments = _segments_of(moved, down)
    length = shape[-1]
    rows = int(np.prod(shape[:-1]))
    flat = reshape(segments, (rows, length)) + np.arange(rows, dtype=np.int32)[:, None] * np.int32(length)
    ids = reshape(flat, (-1,))
    means = unsorted_segment_mean(reshape(moved, (-1,)), ids, rows * length)
    output = reshape(gather(means, ids), shape)
    return transpose(output, back), transpose(segments, back)


def _segments_of(x: Tensor, down: bool) -> Tensor:
    array = x._array
    if is_traced(array):
        return wrap(on_host(lambda values: _segments(values, down), array.shape, np.int32, array))
    return wrap(_segments(array, down))


def _segments(array: Any, down: bool) -> np.ndarray:
    """The number of the segment of each element along the last axis, by pooling neighbours that are out of order."""
    values = np.asarray(array, np.float64) * (1 if down else -1)
    found = np.empty(values.shape, np.int32)
    rows, out = values.reshape(-1, values.shape[-1]), found.reshape(-1, values.shape[-1])
    for row, ids in zip(rows, out, strict=True):
        sums: list[float] = []
        counts: list[int] = []
        for value in row.tolist():
            sums.append(value)
            counts.append(1)
            while len(sums) > 1 and sums[-2] * counts[-1] < sums[-1] * counts[-2]:
                total, count = sums.pop(), counts.pop()
                sums[-1] += total
                counts[-1] += count
        ids[:] = np.repeat(np.arange(len(counts)), counts)
    return found
