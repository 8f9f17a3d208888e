"""Casts that stay within the range of a dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, TensorLike
from ..array.movement import cast
from .clip import clip_by_value
from .complexes import real
from .functions import maximum, minimum


def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """`cast`, where values outside of the range of `dtype` become its smallest or largest.

    Args:
        value: numbers; of complex ones, the real part counts for a real dtype.

    >>> saturate_cast([300.0, -5.0, 2.7], "uint8").numpy()
    array([255,   0,   2], dtype=uint8)
    """
    x, kind = convert(value), dtypes.as_dtype(dtype)
    if kind.name == "string" or x.dtype.name == "string":
        raise DTypeError("saturate_cast: takes numbers, not strings")
    if x.dtype.is_complex and not kind.is_complex:
        x = real(x)
    if kind.is_bool or kind.is_complex or x.dtype.is_bool or x.dtype is kind:
        return cast(x, kind)
    low, high = _within(x.dtype, kind)
    if x.dtype.is_floating:
        x = maximum(minimum(x, high), low)
    else:
        x = clip_by_value(x, low, high)
    return cast(x, kind)


def _within(of: dtypes.DType, kind: dtypes.DType) -> tuple[Any, Any]:
    """The smallest and largest value of one dtype that another holds."""
    own = of.numpy_dtype
    if of.is_integer:
        ends = (int(of.min), int(of.max))
        if kind.is_integer:
            ends = (max(ends[0], int(kind.min)), min(ends[1], int(kind.max)))
        return own.type(ends[0]), own.type(ends[1])
    low, high = own.type(max(float(kind.min), float(of.min))), own.type(min(float(kind.max), float(of.max)))
    if float(high) > float(kind.max) or (kind.is_integer and float(high) >= float(int(kind.max) + 1)):
        high = np.nextafter(high, own.type(0))  # rounded up: one that the other dtype holds
    if float(low) < float(kind.min):
        low = np.nextafter(low, own.type(0))
    return low, high
