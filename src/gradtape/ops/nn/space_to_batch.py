"""Operations with gaps between a window's elements, by operations without: `with_space_to_batch`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import ShapeLike, TensorLike
from ..array.arrange import batch_to_space, required_space_to_batch_paddings, space_to_batch
from ..array.movement import transpose
from ..known import known
from ..scalars import choice


def with_space_to_batch(
    input: TensorLike,
    dilation_rate: ShapeLike,
    padding: str,
    op: Callable[[Tensor, int, str], Tensor],
    filter_shape: ShapeLike | None = None,
    spatial_dims: Sequence[int] | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Call an operation on windows with gaps, which it does not know: each of the images has every so many pixels.

    Args:
        input: (batch, ..., channels).
        dilation_rate: how far the window's elements are apart, along each spatial axis.
        padding: 'SAME' or 'VALID'.
        op: called as op(images, number of spatial axes, padding).
        filter_shape: the window's lengths along the spatial axes; for 'SAME'.
        spatial_dims: which axes these are, in ascending order; by default those after the batch, or after the channels.
        data_format: begins with 'NC' if the channels come second.

    Raises:
        ValueError: if rates are not positive, or `filter_shape` is missing.

    >>> import gradtape as tf
    >>> x = tf.reshape(tf.range(5.0), [1, 5, 1])
    >>> with_space_to_batch(x, [2], "VALID", lambda x, n, padding: x[:, 1:] - x[:, :-1]).numpy().ravel()
    array([2., 2., 2.], dtype=float32)
    """
    name = "with_space_to_batch"
    choice(name, "padding", padding, ("SAME", "VALID"))
    rates = _numbers("dilation_rate", dilation_rate)
    if (rates < 1).any():
        raise ValueError(f"{name}: dilation_rate must be positive, not {dilation_rate!r}")
    x, count = convert(input), len(rates)
    if (rates == 1).all():
        return op(x, count, padding)
    first = 2 if isinstance(data_format, str) and data_format.startswith("NC") else 1
    axes = (
        [*range(first, first + count)] if spatial_dims is None else [*_numbers("spatial_dims", spatial_dims)]
    )
    if len(axes) != count or sorted(set(axes)) != axes or not all(0 < axis < x.ndim for axis in axes):
        raise ValueError(
            f"{name}: {count} rates need as many spatial axes after the batch, in ascending order, and not {axes} of "
            f"shape {list(x.shape)}"
        )
    base = np.zeros((count, 2), np.int32)
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError(f"{name}: padding 'SAME' needs filter_shape")
        whole = (_numbers("filter_shape", filter_shape)[:count] - 1) * rates
        base = np.stack([whole // 2, whole - whole // 2], 1).astype(np.int32)
    order = [0, *axes, *[axis for axis in range(1, x.ndim) if axis not in axes]]
    back = [order.index(axis) for axis in range(x.ndim)]
    lengths = [x._array.shape[axis] for axis in axes]
    paddings, crops = required_space_to_batch_paddings(lengths, rates, base)
    parts = space_to_batch(transpose(x, order), rates, paddings)
    found = op(transpose(parts, back), count, "VALID")
    return transpose(batch_to_space(transpose(found, order), rates, crops), back)


def _numbers(what: str, given: Any) -> np.ndarray:
    """An argument that is a list of integers."""
    array: np.ndarray = known("with_space_to_batch", what, convert(given)._array)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"with_space_to_batch: {what} must be a list of integers, not {given!r}")
    return array
