"""Dilation and erosion of images: the largest sum, or least difference, of a window's elements and a filter's."""

from __future__ import annotations

import itertools

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ..array.arrange import reverse
from ..array.movement import cast, gather, stack
from ..array.padding import pad
from ..math.functions import negative
from ..math.reduction import argmax
from ..scalars import choice
from .windows import Lengths, windows_of


def dilation2d(
    input: TensorLike,
    filters: TensorLike,
    strides: Lengths,
    padding: str,
    data_format: str,
    dilations: Lengths,
    name: str | None = None,
) -> Tensor:
    """Grayscale dilation: at each place, the largest of a window's elements plus the filter's.

    The gradient goes to the element and the filter's element that are largest, the first of equals.

    Args:
        input: images, (batch, height, width, channels).
        filters: (height, width, channels).
        strides: the steps of the window, [1, height, width, 1].
        padding: 'SAME' or 'VALID'; padding is never the largest.
        data_format: 'NHWC'.
        dilations: the gaps between the window's elements, [1, height, width, 1].

    Raises:
        InvalidArgumentError: if shapes do not fit.

    >>> x = [[[[1.0], [5.0], [2.0]]]]
    >>> dilation2d(x, [[[0.0], [10.0]]], [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]).numpy().ravel()
    array([15., 12.], dtype=float32)
    """
    return _dilated("dilation2d", convert(input), convert(filters), strides, padding, data_format, dilations)


def erosion2d(
    value: TensorLike,
    filters: TensorLike,
    strides: Lengths,
    padding: str,
    data_format: str,
    dilations: Lengths,
    name: str | None = None,
) -> Tensor:
    """Grayscale erosion: at each place, the least of a window's elements less those of the filter, turned around.

    The arguments are those of `dilation2d`, of which this is the dual; `value` are the images.

    >>> x = [[[[1.0], [5.0], [2.0]]]]
    >>> erosion2d(x, [[[0.0], [0.0]]], [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]).numpy().ravel()
    array([1., 2.], dtype=float32)
    """
    turned = reverse(convert(filters), [0, 1])
    return negative(
        _dilated("erosion2d", negative(convert(value)), turned, strides, padding, data_format, dilations)
    )


def _dilated(
    name: str,
    x: Tensor,
    filters: Tensor,
    strides: Lengths,
    padding: str,
    data_format: str,
    dilations: Lengths,
) -> Tensor:
    choice(name, "data_format", data_format, ("NHWC",))
    choice(name, "padding", padding, ("SAME", "VALID"))
    if x.dtype.is_complex or x._array.dtype.kind not in "fiuV":
        raise DTypeError(f"{name} takes real numbers, not {x.dtype.name}: use cast(x, 'float32')")
    if x.dtype is not filters.dtype:
        raise DTypeError(
            f"{name}: the images are {x.dtype.name}, and the filters {filters.dtype.name}: cast one of them"
        )
    if x.ndim != 4 or filters.ndim != 3 or x.shape[-1] != filters.shape[-1]:
        raise InvalidArgumentError(
            f"{name} takes images (batch, height, width, channels) and filters (height, width, channels), and not "
            f"{list(x.shape)} and {list(filters.shape)}"
        )
    if not x.dtype.is_floating:  # integers have no number that stays the least when a filter is added
        exact, kernel = cast(x, "float64"), cast(filters, "float64")
        return cast(_dilated(name, exact, kernel, strides, padding, data_format, dilations), x.dtype)
    size = tuple(filters._array.shape[:2])
    windows, _ = windows_of(name, size, strides, padding, dilations, tuple(x._array.shape[1:3]), False)
    height, width = windows.fit(tuple(x._array.shape[1:3]))
    padded = pad(x, [(0, 0), *windows.pads, (0, 0)], constant_values=-np.inf)
    down, right = windows.strides
    sums = []
    for i, j in itertools.product(*map(range, size)):
        top, left = i * windows.dilations[0], j * windows.dilations[1]
        rows = slice(top, top + (height - 1) * down + 1, down)
        columns = slice(left, left + (width - 1) * right + 1, right)
        sums.append(padded[:, rows, columns] + filters[i, j])
    together = stack(sums, -1)
    return gather(together, argmax(together, -1), batch_dims=4)
