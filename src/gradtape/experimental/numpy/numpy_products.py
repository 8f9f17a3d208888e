"""Products for `experimental.numpy`: of matrices, vectors and tensors."""

from __future__ import annotations

import builtins
from typing import Any

from ... import math as _tf
from ...core.tensor import Tensor
from ...core.types import Axis, DTypeLike, TensorLike
from ...ops.array import movement as _movement
from ...ops.array.arrange import roll as _roll
from ...ops.linalg.einsum import einsum as _einsum
from ...ops.linalg.einsum import tensordot as _tensordot
from ...ops.linalg.products import matmul as _matmul
from ...ops.scalars import integer as _integer
from .numpy_arrays import array, diagonal_of, together
from .numpy_math import multiply


def matmul(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The matrix product of `x1` and `x2`; vectors stand for a row and a column.

    Raises:
        ValueError: for a scalar.

    >>> float(matmul([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    a, b = together(x1, x2)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: scalars have no matrix product: use multiply")
    product = _matmul(
        _movement.expand_dims(a, 0) if a.ndim == 1 else a, _movement.expand_dims(b, 1) if b.ndim == 1 else b
    )
    gone = ([-2] if a.ndim == 1 else []) + ([-1] if b.ndim == 1 else [])
    return _movement.squeeze(product, gone) if gone else product


def dot(a: TensorLike, b: TensorLike) -> Tensor:
    """The product of matrices or vectors; with a scalar, the plain product.

    Raises:
        ValueError: for more than two axes.

    >>> float(dot([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    x, y = together(a, b)
    if not x.ndim or not y.ndim:
        return multiply(x, y)
    if builtins.max(x.ndim, y.ndim) > 2:
        raise ValueError("dot: for more than two axes, use matmul or einsum")
    return matmul(x, y)


def trace(
    a: TensorLike, offset: int = 0, axis1: Axis = 0, axis2: Axis = 1, dtype: DTypeLike | None = None
) -> Tensor:
    """The sum of the diagonal `offset` of the matrices in the axes `axis1` and `axis2`.

    >>> int(trace([[1, 2], [3, 4]]))
    5
    """
    x = array(a) if dtype is None else array(a, dtype)
    if x.ndim < 2:
        raise ValueError(f"trace: needs two axes, not the shape {list(x.shape)}")
    first, second = (_integer("trace", "axis", axis) for axis in (axis1, axis2))
    if (
        not builtins.all(-x.ndim <= axis < x.ndim for axis in (first, second))
        or (first - second) % x.ndim == 0
    ):
        raise ValueError(f"trace: axes {first} and {second} are no two of {x.ndim}")
    others = [i for i in range(x.ndim) if i not in (first % x.ndim, second % x.ndim)]
    moved = _movement.transpose(x, [*others, first % x.ndim, second % x.ndim])
    return _tf.reduce_sum(diagonal_of(moved, _integer("trace", "offset", offset)), -1)


def einsum(subscripts: str, *operands: TensorLike, **kwargs: Any) -> Tensor:
    """The sum of products of `operands` that `subscripts` describes, as of NumPy's einsum.

    >>> float(einsum("i,i->", [1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    return _einsum(subscripts, *together(*operands), **kwargs)


def tensordot(a: TensorLike, b: TensorLike, axes: Any = 2) -> Tensor:
    """The sum of products over axes of both.

    >>> int(tensordot([1, 2], [3, 4], 1))
    11
    """
    x, y = together(a, b)
    return _tensordot(x, y, axes)


def inner(a: TensorLike, b: TensorLike) -> Tensor:
    """The sum of products over the last axes; with a scalar, the plain product.

    >>> int(inner([1, 2], [3, 4]))
    11
    """
    x, y = together(a, b)
    if not x.ndim or not y.ndim:
        return x * y
    return _tensordot(x, y, [[x.ndim - 1], [y.ndim - 1]])


def outer(a: TensorLike, b: TensorLike) -> Tensor:
    """The products of each element of `a` with each of `b`, both flat.

    >>> outer([1, 2], [3, 4]).numpy()
    array([[3, 4], [6, 8]])
    """
    x, y = together(a, b)
    return _movement.reshape(x, (-1, 1)) * _movement.reshape(y, (1, -1))


def vdot(a: TensorLike, b: TensorLike) -> Tensor:
    """The sum of products of both flat, with the conjugate of `a`.

    >>> int(vdot([1, 2], [3, 4]))
    11
    """
    x, y = (_movement.reshape(v, (-1,)) for v in together(a, b))
    return dot(_tf.conj(x) if x.dtype.is_complex else x, y)


def kron(a: TensorLike, b: TensorLike) -> Tensor:
    """The Kronecker product: `b` times each element of `a`, side by side.

    >>> kron([1, 10], [1, 2]).numpy()
    array([ 1,  2, 10, 20])
    """
    x, y = together(a, b)
    rank = builtins.max(x.ndim, y.ndim)
    first, second = ((1,) * (rank - v.ndim) + v._array.shape for v in (x, y))
    wide = _movement.reshape(x, [n for length in first for n in (length, 1)])
    other = _movement.reshape(y, [n for length in second for n in (1, length)])
    return _movement.reshape(wide * other, [m * n for m, n in zip(first, second, strict=True)])


def cross(
    a: TensorLike,
    b: TensorLike,
    axisa: Axis = -1,
    axisb: Axis = -1,
    axisc: Axis = -1,
    axis: Axis | None = None,
) -> Tensor:
    """The cross product of vectors of length 2 or 3.

    Args:
        axisa, axisb, axisc: the axes of the vectors in `a`, in `b` and in the result.
        axis: for all three.

    >>> cross([1, 0, 0], [0, 1, 0]).numpy()
    array([0, 0, 1])
    """
    of_a, of_b, of_c = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    x, y = together(a, b)
    x, y = _last(x, of_a), _last(y, of_b)
    lengths = x._array.shape[-1], y._array.shape[-1]
    if not {*lengths} <= {2, 3}:
        raise ValueError(f"cross: vectors must have the length 2 or 3, not {lengths}")
    if lengths == (2, 2):
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    zero = [_movement.concat([v, v[..., :1] * 0], -1) if v._array.shape[-1] == 2 else v for v in (x, y)]
    x, y = zero
    made = _roll(x, -1, -1) * _roll(y, -2, -1) - _roll(x, -2, -1) * _roll(y, -1, -1)
    return _movement.transpose(made, _order(made.ndim, -1, of_c))


def _last(x: Tensor, axis: Any) -> Tensor:
    if not x.ndim:
        raise ValueError("cross: takes vectors, not scalars")
    return _movement.transpose(x, _order(x.ndim, axis, -1))


def _order(ndim: int, source: Any, destination: Any) -> list[int]:
    start, end = (_integer("cross", "axis", axis) % ndim for axis in (source, destination))
    order = [axis for axis in range(ndim) if axis != start]
    order.insert(end, start)
    return order
