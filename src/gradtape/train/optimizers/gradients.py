"""Preparation of gradients for an update: check them, add up rows of the same place, clip them.

A gradient here is an array, or `IndexedSlices` of arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, IndexOutOfBoundsError, InvalidArgumentError
from ...core.indexed_slices import IndexedSlices
from ...core.tensor import Tensor, array_of
from ...core.tensor_conversion import convert
from ...core.variable import Variable
from ...engine.arrays import xp


def checked(gradient: Any, variable: Any) -> Any:
    """A gradient as an array (or `IndexedSlices`) that fits its variable; None stays None."""
    if type(gradient) is not Tensor:
        if not isinstance(variable, Variable):
            raise _no_variable(variable)
        if gradient is None:
            return None
        if isinstance(gradient, IndexedSlices):
            return _checked_slices(gradient, variable)
        gradient = convert(gradient, None, variable._array.dtype)
    elif not isinstance(variable, Variable):
        raise _no_variable(variable)
    array = gradient._array
    own = variable._tensor._array if type(array) is np.ndarray else array_of(variable._tensor)
    if array.dtype is not own.dtype:
        _check_dtype(array, variable)
    if array.shape != own.shape:
        raise InvalidArgumentError(
            f"the gradient of {variable.name} has shape {list(array.shape)}, the variable {list(own.shape)}"
        )
    return array if array.dtype is own.dtype else array.astype(own.dtype, copy=False)


def _check_dtype(array: Any, variable: Variable) -> None:
    """A gradient may be of another precision than its variable, and of no other kind."""
    kind, own = array.dtype.kind, variable.dtype
    if kind == "O" or (kind == "c" and not own.is_complex):
        raise DTypeError(
            f"the gradient of {variable.name} is {dtypes.of(array).name}, the variable {own.name}: cast one of them"
        )


def misfit(pairs: list[Any]) -> TypeError | None:
    """The error for what should have been pairs; None if they are."""
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            return TypeError(
                f"apply_gradients takes pairs (gradient, variable), not {pair!r}. Write zip(gradients, variables)"
            )
    return None


def _no_variable(given: Any) -> TypeError:
    return TypeError(
        f"apply_gradients takes pairs (gradient, variable); the second of a pair is {given!r} of type "
        f"{type(given).__name__}. Write zip(gradients, variables)"
    )


def _checked_slices(slices: IndexedSlices, variable: Variable) -> IndexedSlices:
    """The slices, with one row for each place where they can be added up now (not while tracing)."""
    own, values, at = variable._array, slices.values._array, slices.indices._array
    if values.shape != at.shape + own.shape[1:]:
        raise InvalidArgumentError(
            f"the gradient of {variable.name} has rows of shape {list(values.shape)} for indices of shape "
            f"{list(at.shape)}, the variable has shape {list(own.shape)}"
        )
    _check_dtype(values, variable)
    values = values.astype(own.dtype, copy=False)
    if type(at) is not np.ndarray or type(values) is not np.ndarray:
        # A negative index is out of bounds and not counted from the end, as JAX does.
        at = at if at.dtype.itemsize >= 4 else at.astype(np.int32)
        return IndexedSlices(values, xp(at).where(at < 0, own.shape[0], at), own.shape)
    if at.size and (at.min() < 0 or at.max() >= own.shape[0]):
        raise IndexOutOfBoundsError(
            f"the gradient of {variable.name} has rows out of bounds: the variable has {own.shape[0]} rows"
        )
    rows, where = np.unique(at.reshape(-1), return_inverse=True)
    values = values.reshape(at.size, *own.shape[1:])
    total = IndexedSlices(values, where.reshape(-1), (rows.size, *own.shape[1:])).dense()
    return IndexedSlices(total, rows, own.shape)


# With so many times as many rows as indices, and so many times as many elements, a program takes less time to sort the
# indices than to go through all rows.
_FEW, _SORT = 4, 800


def has_few_rows(slices: IndexedSlices, arrays: int) -> bool:
    """Return whether slices that are traced have so few rows that the others are better left alone.

    Args:
        slices: the gradient.
        arrays: how many arrays of the variable's shape an update writes.
    """
    indices: Any = slices._indices
    shape: Any = slices._dense_shape
    count, rows = indices.size, shape[0]
    if not all(type(n) is int for n in (count, *shape)):
        return False
    return rows > _FEW * count and math.prod(shape) * arrays > _SORT * count


def sorted_rows(slices: IndexedSlices) -> tuple[Any, Any]:
    """The indices in order, and the gradient of the row at each; where one occurs again, so does the row's gradient."""
    at, total, number, _ = _sums(slices)
    return at, total[number]


def added_up(slices: IndexedSlices) -> IndexedSlices:
    """The same gradient, with all of a row's at the first index of the row, and zeros where the index occurs again."""
    if type(slices._indices) is np.ndarray and type(slices._values) is np.ndarray:
        return slices  # see `_checked_slices`
    import jax.numpy as jnp

    shape: Any = slices._dense_shape
    if has_few_rows(slices, 1):
        at, total, number, is_first = _sums(slices)
        rows = total[number]
    else:
        at = jnp.asarray(slices._indices).reshape(-1)
        order = jnp.arange(at.size)
        first = jnp.full(shape[0], at.size, order.dtype).at[at].min(order)
        is_first = first.at[at].get(mode="fill", fill_value=-1) == order
        rows = slices.dense().at[at].get(mode="fill", fill_value=0)
    is_first = is_first.reshape(-1, *[1] * (rows.ndim - 1))
    return IndexedSlices(jnp.where(is_first, rows, 0), at, shape)


def _sums(slices: IndexedSlices) -> tuple[Any, Any, Any, Any]:
    """The indices in order; the gradients of the rows; for each index, the number of its row, and whether it is new."""
    import jax.numpy as jnp

    values: Any = slices._values
    indices: Any = slices._indices
    values, at = jnp.asarray(values), jnp.asarray(indices)
    row = values.shape[at.ndim :]
    at = at.reshape(-1)
    order = jnp.argsort(at, stable=True)
    at, values = at[order], values.reshape(at.size, *row)[order]
    is_first = jnp.concatenate([jnp.ones(1, bool), at[1:] != at[:-1]])[: at.size]
    number = jnp.cumsum(is_first) - 1  # of the row among those that occur
    return at, IndexedSlices(values, number, values.shape).dense(), number, is_first


def dense(gradient: Any) -> Any:
    """The gradient as one array."""
    return gradient.dense() if type(gradient) is IndexedSlices else gradient


def over(gradient: Any, function: Callable[[Any], Any]) -> Any:
    """`function` of a gradient's array, or of its rows."""
    return gradient.map_values(function) if type(gradient) is IndexedSlices else function(gradient)


def clip_by_value(gradients: Iterable[Any], limit: float) -> list[Any]:
    """Each element cut to [-limit, limit]."""
    return [over(g, lambda x: xp(x).clip(x, -limit, limit).astype(x.dtype)) for g in gradients]


def clip_each_by_norm(gradients: Iterable[Any], limit: float) -> list[Any]:
    """Each gradient shortened to a norm of at most `limit`."""

    def clip(x: Any) -> Any:
        norm = xp(x).sqrt(_squares(x))
        return x * (limit / xp(x).maximum(norm, limit)).astype(x.dtype)

    return [over(g, clip) for g in gradients]


def clip_all_by_norm(gradients: list[Any], limit: float) -> list[Any]:
    """All gradients shortened alike, to a common norm of at most `limit`; NaN if theirs is infinite."""
    norm: Any = sum(_squares(g._values if type(g) is IndexedSlices else g) for g in gradients) ** 0.5
    scale = limit / xp(norm).maximum(norm, limit) + (norm - norm)
    return [over(g, lambda x: x * scale.astype(x.dtype)) for g in gradients]


def _squares(x: Any) -> Any:
    """The sum of the squares, in at least float32; in float64 where many are added one by one."""
    flat = x.reshape(-1)
    if type(x) is not np.ndarray:
        flat = flat.astype(np.float32) if x.dtype.char in dtypes.HALF else flat
        return xp(x).sum(xp(x).abs(flat) ** 2)
    if x.size > 1 << 14 or x.dtype.itemsize < 4:
        flat = flat.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    return np.vdot(flat, flat).real
