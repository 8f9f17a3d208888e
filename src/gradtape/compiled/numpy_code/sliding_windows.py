"""Windows that slide over arrays, as views: for convolutions and for reductions of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided


def spread(x: Any, dilation: Sequence[int], padding: Sequence[tuple[int, int]], fill: Any) -> Any:
    """An array with `fill` between its elements and around them; negative padding cuts elements off."""
    if not any(low or high for low, high in padding) and set(dilation) <= {1}:
        return x
    inner = [max((n - 1) * d + 1, 0) for n, d in zip(x.shape, dilation, strict=True)]
    around = [(max(low, 0), max(high, 0)) for low, high in padding]
    shape = tuple([low + n + high for (low, high), n in zip(around, inner, strict=True)])
    result = np.full_like(x, fill, order="K", shape=shape)  # in memory as x is
    places = [slice(low, low + n, d) for (low, _), n, d in zip(around, inner, dilation, strict=True)]
    result[tuple(places)] = x
    cut = [
        slice(max(-low, 0), n - max(-high, 0)) for (low, high), n in zip(padding, result.shape, strict=True)
    ]
    return result[tuple(cut)]


def windows(x: Any, size: Sequence[int], strides: Sequence[int], dilation: Sequence[int]) -> Any:
    """A view (windows..., elements of a window...) of an array."""
    reach = [(n - 1) * d + 1 for n, d in zip(size, dilation, strict=True)]
    count = [max((n - r) // s + 1, 0) for n, r, s in zip(x.shape, reach, strides, strict=True)]
    between = [step * s for step, s in zip(x.strides, strides, strict=True)]
    inside = [step * d for step, d in zip(x.strides, dilation, strict=True)]
    return as_strided(x, (*count, *size), (*between, *inside), writeable=False)
