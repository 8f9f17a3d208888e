"""Slices at places that compiled code computes. As in XLA, a slice that would not fit is moved until it does."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, primitive
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import ShapeLike, TensorLike
from ..known import static_shape
from .indexing import block, block_at, starts
from .movement import stack


@primitive(mixed=True, linear=True)
def update_block(x, update, start):
    """`x` with `update` in place of the block at `start`, an index for each of the last axes."""
    out = np.array(x)
    out[block_at(start, update.shape[update.ndim - len(start) :], x.shape)] = update
    return out


@update_block.compiled
def _(x, update, start):
    from jax import lax

    return lax.dynamic_update_slice(
        x, update, starts(start, x.ndim - len(start)), allow_negative_indices=False
    )


def _without_block(g: Any, start: Any, update_shape: tuple[int, ...], x_shape: tuple[int, ...]) -> Any:
    """The gradient with zeros where the update went."""
    array = g._array if type(g) is Tensor else g
    front = array.shape[: array.ndim - len(x_shape)]
    return update_block(g, np.zeros(front + update_shape, array.dtype), start)


update_block.rules(
    x=_without_block, update=lambda g, update_shape, start: block(g, start, sizes=update_shape)
)

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def dynamic_update_slice(
    input: TensorLike, update: TensorLike, indices: TensorLike, name: str | None = None
) -> Tensor:
    """A tensor with another one in place of a part of it.

    Args:
        update: what to put there, with as many axes as the input, none of them longer.
        indices: where it begins, one integer for each axis. A part that would not fit is moved until it does.

    Raises:
        DTypeError: if the two have different dtypes, or the indices are no integers.
        InvalidArgumentError: if the shapes do not fit.

    >>> dynamic_update_slice([1, 2, 3, 4], [8, 9], [1]).numpy()
    array([1, 8, 9, 4], dtype=int32)
    """
    x = convert(input)
    y = convert(update, None, x._array.dtype)
    if x.dtype is not y.dtype:
        raise DTypeError(
            f"dynamic_update_slice: {x.dtype.name} cannot be updated with {y.dtype.name}: cast it"
        )
    if x.ndim != y.ndim or any(m > n for n, m in zip(x._array.shape, y._array.shape, strict=True)):
        raise InvalidArgumentError(
            f"dynamic_update_slice: an update of shape {y.shape} does not fit into a tensor of shape {x.shape}"
        )
    return apply(update_block, (x, y, _begin("dynamic_update_slice", indices, x.ndim)))


def dynamic_slice(
    input: TensorLike, start_indices: TensorLike, size_indices: ShapeLike, name: str | None = None
) -> Tensor:
    """A part of a tensor.

    Args:
        start_indices: where it begins, one integer for each axis. A part that would not fit is moved until it does.
        size_indices: how long it is along each axis.

    Raises:
        DTypeError: if the indices are no integers.
        InvalidArgumentError: if the shapes do not fit.

    >>> dynamic_slice([1, 2, 3, 4], [3], [2]).numpy()
    array([3, 4], dtype=int32)
    """
    x, size = convert(input), static_shape("dynamic_slice: size_indices", size_indices)
    if x.ndim != len(size) or any(not 0 <= m <= n for n, m in zip(x._array.shape, size, strict=True)):
        raise InvalidArgumentError(
            f"dynamic_slice: a tensor of shape {x.shape} has no part of shape {list(size)}"
        )
    return apply(block, (x, _begin("dynamic_slice", start_indices, x.ndim)), {"sizes": size})


def _begin(operation: str, indices: Any, ndim: int) -> Tensor:
    listed = isinstance(indices, (list, tuple)) and indices
    start = stack([convert(i) for i in indices]) if listed else convert(indices, None, np.dtype(np.int32))
    if not start._array.size and start.ndim == 1:
        start = convert(np.zeros(0, np.int32))
    if start._array.dtype.kind not in "iu":
        raise DTypeError(f"{operation}: a place is made of integers, not {start.dtype.name}")
    if start._array.shape != (ndim,):
        raise InvalidArgumentError(
            f"{operation}: a place in a tensor of rank {ndim} is {ndim} integers, not of shape {start.shape}"
        )
    return start
