"""The primitives that the core itself needs: shapes, sums, joining, conjugates and casts without a gradient.

`ops` builds the public functions on them. Axes are counted from the end, so that extra axes in front of a gradient
pass through.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..engine.arrays import unary, xp
from . import dtypes
from .dtypes import HALF
from .errors import DTypeError
from .primitive import Primitive, apply, apply1, cast_, cast_array, numbers, primitive, rounded
from .slicing import Index, along, getitem
from .tensor import Tensor
from .tensor_conversion import convert

# ---------------------------------------------------------------------------------------------------------------------
# Shape


def lead(g: Any, out_shape: tuple[int, ...]) -> tuple[int, ...]:
    """The lengths of the extra axes in front of a gradient."""
    return tuple(g.shape)[: g.ndim - len(out_shape)]


@primitive(
    linear=True,
    name="reshape",
    moves=True,
    formula="d reshape(x) = reshape(dx)",
    words="It only moves elements: the gradient gets the old shape.",
)
def reshape_(x: Any, *, shape: tuple[int, ...]) -> Any:
    if type(x) is np.ndarray and x.size >= 8192 and not x.flags.c_contiguous:
        return _reshape_large(x, shape)
    return x.reshape(shape)


def _reshape_large(x: Any, shape: tuple[int, ...]) -> Any:
    """Reshape a large array that is not contiguous: as a view where that is possible.

    Transposing often leaves the last axis in place, as when heads of attention are put side by side. Its short rows
    are copied as one item each: 60 us instead of 115 for 16384 rows of 16, 160 instead of 860 for rows of two.
    """
    try:
        return x.reshape(shape, copy=False)
    except ValueError:
        row = x.shape[-1] * x.itemsize
        if x.shape[-1] == 1 or x.strides[-1] != x.itemsize or row > 256 or x.dtype.kind not in "biufc":
            return x.reshape(shape)
        return np.ascontiguousarray(x.view(np.dtype((np.void, row)))).view(x.dtype).reshape(shape)


reshape_.rules(x=lambda g, x_shape, out_shape: reshape_(g, shape=lead(g, out_shape) + x_shape))


@primitive(
    linear=True,
    name="transpose",
    moves=True,
    formula="d xᵀ = (dx)ᵀ",
    words="It only moves elements: the gradient is transposed back.",
)
def transpose_(x: Any, *, perm: tuple[int, ...]) -> Any:
    return x.transpose(perm)


@functools.lru_cache(maxsize=1000)
def _inverse(perm: tuple[int, ...], extra: int) -> tuple[int, ...]:
    """The permutation that undoes `perm`, after `extra` axes that stay in front."""
    return (*range(extra), *[extra + perm.index(i) for i in range(len(perm))])


transpose_.rules(x=lambda g, perm: transpose_(g, perm=_inverse(perm, g.ndim - len(perm))))


@primitive(
    linear=True, name="identity", moves=True, formula="d x = dx", words="The gradient passes unchanged."
)
def identity_(x: Any) -> Any:
    return x


identity_.rules(x=lambda g: g)

# ---------------------------------------------------------------------------------------------------------------------
# Sums and broadcasting, each the other's transpose


_sum: Any = np.add.reduce


def total(x: Any, axis: Any, keepdims: bool) -> Any:
    """The sum in the dtype of `x`: NumPy's own would widen small integers, and takes 2 us longer.

    In half precision the sum is computed in float32 and rounded, in `sum` and wherever a broadcast is undone.
    """
    if type(x) is not np.ndarray:
        if x.dtype.char in HALF:
            return rounded(total, x, axis=axis, keepdims=keepdims)
        return xp(x).sum(x, axis=axis, dtype=x.dtype, keepdims=keepdims)
    if x.ndim == 1 and is_short(x) and axis in (-1, (-1,)) and not keepdims:
        return x.dot(ones_like(x))
    if x.size >= 4096 and x.ndim > 1 and x.dtype.char in "fd" and x.flags.c_contiguous:
        by_blas = _total_by_blas(x, axis, keepdims)
        if by_blas is not None:
            return by_blas
    if x.dtype.char in "fdFD":
        # By position, and without a dtype that is not needed: 3 us of 5.6 for a small array.
        return _sum(x, axis, None, None, keepdims)
    if x.dtype.char in HALF:
        return rounded(total, x, axis=axis, keepdims=keepdims)
    return _sum(x, axis, x.dtype, None, keepdims)


def is_short(x: Any) -> bool:
    """Return whether BLAS adds up an array of one axis sooner than NumPy, and as exactly: in 0.4 us instead of 0.6."""
    return x.size <= 256 and x.dtype.char in "fd"


def ones_like(x: Any) -> Any:
    """A vector of ones to add up a short one with."""
    known = _ones_by_size[x.dtype.char]
    ones = known.get(x.size)
    if ones is None:
        ones = known[x.size] = np.ones(x.size, x.dtype)
    return ones


_ones_by_size: dict[str, dict[int, Any]] = {"f": {}, "d": {}}


def _total_by_blas(x: Any, axis: Any, keepdims: bool) -> Any:
    """The sum along the last axis, or all but the last, as a product with ones: 10 us instead of 70 for 2048 x 64.

    Only for short last axes, of which NumPy would sum no more than a few pairwise; None for any other.
    """
    width = x.shape[-1]
    if axis in (-1, (-1,)) and 0 < width <= 128:
        sums = np.dot(x.reshape(-1, width), _ones(width, x.dtype))
        return sums.reshape((*x.shape[:-1], 1) if keepdims else x.shape[:-1])
    if type(axis) is tuple and len(axis) == x.ndim - 1 and axis[-1] == -2 and x.size <= width * 4096:
        sums = np.dot(_ones(x.size // width, x.dtype), x.reshape(-1, width))
        return sums.reshape((1,) * len(axis) + (width,)) if keepdims else sums
    return None


@functools.lru_cache(maxsize=256)
def _ones(count: int, dtype: Any) -> Any:
    return np.ones(count, dtype)


@primitive(
    linear=True,
    check_dtype=numbers,
    name="sum",
    public="reduce_sum",
    formula="d sum(x) = sum(dx)",
    words="Every element that was added gets the gradient of the sum.",
)
def sum_(x: Any, *, axis: tuple[int, ...], keepdims: bool) -> Any:
    return total(x, axis, keepdims)


@primitive(linear=True, moves=True)
def spread(x: Any, *, axis: tuple[int, ...], keepdims: bool, shape: tuple[int, ...]) -> Any:
    """Repeat `x` along the axes that a reduction of a tensor of this shape removed."""
    if not x.ndim:
        return broadcast(x, shape)
    kept = len(shape) if keepdims else len(shape) - len(axis)
    lead = x.shape[: x.ndim - kept]
    if not keepdims:
        ones = tuple([1 if i - len(shape) in axis else n for i, n in enumerate(shape)])
        x = x.reshape(lead + ones)
    return broadcast(x, lead + shape)


def broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast an array to a shape. Small results are copies, because making a view costs NumPy 4 us."""
    if x.shape == shape:
        return x
    if type(x) is not np.ndarray and xp(x) is not np:
        return xp(x).broadcast_to(x, shape)
    if math.prod(shape) > 4096:
        if x.ndim:
            return np.broadcast_to(x, shape)
        out = np.ndarray(shape, x.dtype, np.asarray(x), 0, (0,) * len(shape))  # the same, 10 us sooner
        out.flags.writeable = False
        return out
    out = np.empty(shape, x.dtype)
    if x.ndim or x.dtype.kind == "O":
        out[...] = x
    else:
        out.fill(x)
    return out


sum_.rules(x=lambda g, x_shape, axis, keepdims: spread(g, axis=axis, keepdims=keepdims, shape=x_shape))
spread.rules(x=lambda g, axis, keepdims: sum_(g, axis=axis, keepdims=keepdims))


@primitive(linear=True, name="broadcast_to", moves=True, words="The gradient is summed over the copies.")
def broadcast_to_(x: Any, *, shape: tuple[int, ...]) -> Any:
    return broadcast(x, shape)


broadcast_to_.rules(x=lambda g, x_shape, out_shape: unbroadcast(g, x_shape, out_shape))


def unbroadcast(g: Any, shape: tuple[int, ...], out_shape: tuple[int, ...]) -> Any:
    """Sum `g`, of shape `out_shape` after any extra axes, to `shape`, which had been broadcast to `out_shape`."""
    if shape == out_shape:
        return g
    axis, squeezed = broadcast_axes(shape, out_shape)
    if not axis:
        summed = g
    elif type(g) is np.ndarray:
        summed = total(g, axis, False)
    else:
        summed = sum_(g, axis=axis, keepdims=False)
    if not squeezed:
        return summed
    return reshape_(summed, shape=tuple(g.shape)[: g.ndim - len(out_shape)] + shape)


@functools.lru_cache(maxsize=10_000)
def broadcast_axes(shape: tuple[int, ...], out_shape: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """The axes along which `shape` was repeated, and whether any had length 1, which a sum would remove."""
    missing = len(out_shape) - len(shape)
    axis = [
        i - len(out_shape)
        for i, n in enumerate(out_shape)
        if i < missing or (shape[i - missing] == 1 and n != 1)
    ]
    return tuple(axis), len(axis) != missing or missing < 0


# ---------------------------------------------------------------------------------------------------------------------
# Dtype and sign of the imaginary part


@primitive(discrete=True, public="cast")
def cast_without_gradient(x: Any, *, dtype: str) -> Any:
    """From or to a dtype that has no derivatives."""
    return cast_array(x, dtype)


def recast_to(x: Tensor, dtype: dtypes.DType) -> Tensor:
    """A tensor in another dtype of numbers or booleans, with a gradient where both dtypes have derivatives."""
    source = x.dtype
    if dtype.has_gradients and source.has_gradients:
        return apply1(cast_, x, {"dtype": dtype.name, "source": source.name})
    return apply1(cast_without_gradient, x, {"dtype": dtype.name})


conj = Primitive(unary(np.conj), "conj", ("x",), elementwise=True, check_dtype=numbers)
conj.rules(x=lambda g: conj(g))

# ---------------------------------------------------------------------------------------------------------------------
# Joining


@primitive(linear=True, name="concat", moves=True, words="Each input gets its own part of the gradient.")
def concat_(*xs: Any, axis: int) -> Any:
    return xp(*xs).concatenate(xs, axis)


@functools.lru_cache(maxsize=1000)
def _part(position: int, shapes: tuple[tuple[int, ...], ...], axis: int) -> Index:
    """The index, in the joined tensor, of the input at a position among inputs of these shapes."""
    start = sum(shape[axis] for shape in shapes[:position])
    axis = axis if axis < 0 else axis - len(shapes[position])
    return along(axis, slice(start, start + shapes[position][axis]))


concat_.rules(xs=lambda g, position, xs_shapes, axis: getitem(g, index=_part(position, xs_shapes, axis)))


@primitive(linear=True, name="stack", words="Each input gets its own slice of the gradient.")
def stack_(*xs: Any, axis: int) -> Any:
    m = xp(*xs)
    first = xs[0]
    if m is not np or axis != -first.ndim - 1 or not first.ndim:
        return m.stack(xs, axis)
    return np.concatenate(xs).reshape(len(xs), *first.shape)  # the same, in a third of the time


stack_.rules(xs=lambda g, position, axis: getitem(g, index=along(axis, position)))


def pack(values: Any, dtype: Any, hint: Any = None) -> Tensor:
    """Nested lists that hold tensors as one tensor, differentiably. Only to a `dtype` are the tensors cast.

    `hint` is the dtype of what is no tensor, if no tensor is among the values.
    """
    found = dtype or _first_dtype(values) or hint
    parts = [
        pack(v, dtype, found) if isinstance(v, (list, tuple)) else _converted(v, dtype, found) for v in values
    ]
    if not parts:
        raise ValueError("stack: needs at least one tensor")
    for part in parts:
        if part._array.dtype != found:
            raise DTypeError(
                f"a list that mixes tensors of dtype {part.dtype.name} and {dtypes.as_dtype(found).name} is no tensor: "
                f"use cast(x, {dtypes.as_dtype(found).name!r})"
            )
    if len({part._array.shape for part in parts}) > 1:
        raise ValueError(
            "a list of tensors of different shapes is no tensor: "
            + ", ".join(str(list(part._array.shape)) for part in parts)
        )
    result: Tensor = apply(stack_, tuple(parts), {"axis": -parts[0].ndim - 1})
    return result


def _converted(value: Any, dtype: Any, hint: Any) -> Tensor:
    if not _is_tensor(value):
        return convert(value, dtype, hint)
    tensor = convert(value)
    if dtype is None or tensor._array.dtype == dtype or "O" in (dtype.kind, tensor._array.dtype.kind):
        return tensor
    return recast_to(tensor, dtypes.as_dtype(dtype))


def _is_tensor(value: Any) -> bool:
    return type(value) is Tensor or hasattr(type(value), "_read")


def _first_dtype(values: Any) -> Any:
    for v in values:
        if isinstance(v, (list, tuple)):
            found = _first_dtype(v)
            if found is not None:
                return found
        elif _is_tensor(v):
            return dtypes.as_dtype(v.dtype).numpy_dtype  # a name, of a Keras variable
    return None
