"""Padding: a constant around a tensor, or its edges mirrored."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.primitive import apply, apply1
from ...core.slicing import Index, gather_, place
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import is_traced
from ..known import afford, known
from ..math.elementwise import select


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    constant_values: TensorLike = 0,
    name: str | None = None,
) -> Tensor:
    """The tensor with elements added at both ends of each axis.

    Args:
        paddings: [before, after] for each axis.
        mode: 'CONSTANT'; 'REFLECT', mirrored at the edge element; or 'SYMMETRIC', mirrored after the edge element.
        constant_values: the value of the new elements for 'CONSTANT'.

    Raises:
        InvalidArgumentError: if there is not one pair of at least 0 for each axis, or more elements are to be mirrored
            than there are.
        ValueError: for another mode.
        NotCompilableError: if `paddings` are computed in a `@function`.

    >>> pad([1, 2], [[1, 1]]).numpy()
    array([0, 1, 2, 0], dtype=int32)
    """
    x: Any = convert(tensor)
    widths = _widths(paddings, x._array.ndim)
    kind = str(mode).upper()
    shape = tuple([n + before + after for n, (before, after) in zip(x._array.shape, widths)])
    afford("pad", shape, x._array.dtype.itemsize)
    if kind == "CONSTANT":
        inside, shape = _around(x._array.shape, widths)
        padded = apply1(place, x, {"index": inside, "shape": shape})
        if type(constant_values) in (int, float) and constant_values == 0:
            return padded
        fill = convert(constant_values, None, x._array.dtype)
        if fill._array.ndim == 0 and not is_traced(fill._array) and fill._array == 0 and not fill._key:
            return padded
        outside = np.ones(shape, bool)
        outside[inside.items] = False
        return apply(select, (outside, fill, padded))
    if kind not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"pad: mode must be CONSTANT, REFLECT or SYMMETRIC, not {mode!r}")
    for axis, (before, after) in enumerate(widths):
        n = x._array.shape[axis]
        if max(before, after) > n - (kind == "REFLECT"):
            raise InvalidArgumentError(
                f"pad: {kind} cannot add {max(before, after)} elements to an axis of length {n}"
            )
        if before or after:
            edge = int(kind == "REFLECT")  # how many elements are not repeated
            order = np.arange(-before, n + after)
            order[:before] = np.arange(before + edge, edge, -1) - 1
            order[before + n :] = np.arange(n - edge, n - edge - after, -1) - 1
            x = apply(gather_, (x, wrap(order)), {"axis": axis - x.ndim})
    return x


def _widths(paddings: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """The argument `paddings` as a pair of integers for each axis."""
    if type(paddings) in (list, tuple) and len(paddings) == ndim > 0:
        for pair in paddings:
            if type(pair) not in (list, tuple) or len(pair) != 2:
                break
            before, after = pair
            if not (type(before) is type(after) is int and 0 <= before < 1 << 62 and 0 <= after < 1 << 62):
                break
        else:
            return tuple([tuple(pair) for pair in paddings])
    widths = np.asarray(known("pad", "paddings", convert(paddings)._array))
    if widths.shape != (ndim, 2) or widths.dtype.kind not in "iu" or (widths < 0).any():
        raise InvalidArgumentError(
            f"pad: paddings must be [[before, after], ...] for each of the {ndim} axes, all at least 0, "
            f"not {widths.tolist()}"
        )
    return tuple([tuple(pair) for pair in widths.tolist()])


@functools.lru_cache(maxsize=1000)
def _around(shape: tuple[int, ...], widths: tuple[tuple[int, int], ...]) -> tuple[Index, tuple[int, ...]]:
    """The index of a tensor inside its paddings, and the shape of the padded tensor."""
    pairs = list(zip(shape, widths, strict=True))
    inside = Index((..., *[slice(before, before + n) for n, (before, _) in pairs]))
    return inside, tuple([before + n + after for n, (before, after) in pairs])
