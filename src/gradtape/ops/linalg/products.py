"""Matrix products and norms."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ...core.deferred_products import Products
from ...core.dtypes import HALF, is_differentiable
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, apply1, apply2, numbers, primitive, rounded
from ...core.structural import conj, reshape_, unbroadcast
from ...core.tensor import Tensor, convert
from ..array.movement import cast, reshape, squeeze, static_shape, together, transpose
from ..math.complexes import abs as absolute
from ..math.elementwise import (
    divide_no_nan,
    equal,
    install,
    maximum,
    multiply,
    number,
    power,
    rsqrt,
    select,
    square,
)
from ..math.reduction import axes, euclidean_norm, one_axis, reduce_max, reduce_sum
from .matrix import swap_last


@primitive(multilinear=True, check_dtype=numbers, name="matmul")
def matmul_(x, y):
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-2]:
        raise InvalidArgumentError(
            f"matmul: {list(x.shape)} and {list(y.shape)} do not multiply: both need at least two axes, and the "
            "last of the first must be as long as the last but one of the second"
        )
    if y.ndim == 2 and x.ndim > 2 and type(x) is np.ndarray:
        # One large product instead of a batch of small ones.
        return matmul_.forward(_rows(x), y).reshape(*x.shape[:-1], y.shape[-1])
    return x @ y if x.dtype.char not in HALF else rounded(operator.matmul, x, y)


def _rows(x: Any, before: int = 0) -> Any:
    """All rows of an array or tensor as one matrix, behind so many axes that stay in front."""
    shape = tuple(x.shape)
    return reshape_(x, shape=(*shape[:before], math.prod(shape[before:-1]), shape[-1]))


def _unbatch(g: Any, shape: tuple[int, ...], out_shape: tuple[int, ...]) -> Any:
    """Sum over the matrices that a factor of this shape was multiplied with."""
    return g if len(out_shape) == 2 else unbroadcast(g, shape, out_shape[:-2] + shape[-2:])


def _of_first(g: Any, y: Any, x_shape: tuple[int, ...], out_shape: tuple[int, ...]) -> Any:
    if _few_rows(g, y, x_shape):
        return Products(g.T, y.T)
    return _unbatch(matmul_(g, swap_last(y)), x_shape, out_shape)


def _of_second(g: Any, x: Any, y_shape: tuple[int, ...], out_shape: tuple[int, ...]) -> Any:
    if len(y_shape) == 2 and len(out_shape) > 2:
        # The same here: no sum over the batch.
        x, g, out_shape = _rows(x), _rows(g, g.ndim - len(out_shape)), out_shape[-2:]
    if _few_rows(g, x, y_shape):
        return Products(x, g)
    return _unbatch(matmul_(swap_last(x), g), y_shape, out_shape)


def _few_rows(g: Any, other: Any, shape: tuple[int, ...]) -> bool:
    """Is the gradient of a matrix larger than what it is a product of? Then it may wait for others to join it."""
    return (
        type(g) is np.ndarray
        and type(other) is np.ndarray
        and len(shape) == 2
        and g.size + other.size <= shape[0] * shape[1]
        and g.ndim == 2
        and other.ndim == 2
        and g.dtype.itemsize > 2
    )


matmul_.rules(x=_of_first, y=_of_second)


@primitive(wide=True, check_dtype=numbers)
def gram(x):
    """x x^T, which BLAS computes in half the time, and so does the rule: one product instead of two."""
    return matmul_.forward(x, x.swapaxes(-1, -2))


gram.rules(x=lambda g, x: matmul_(g + swap_last(g), x))

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The matrix product over the last two axes; the axes in front are a batch, and broadcast.

    `transpose_a`, `adjoint_a` and the like transpose (and conjugate) a factor first; `output_type` casts both.

    >>> matmul([[1.0, 2.0]], [[3.0], [4.0]]).numpy()
    array([[11.]], dtype=float32)
    """
    flip_a, flip_b = transpose_a or adjoint_a, transpose_b or adjoint_b
    if type(a) is Tensor and not (flip_a or flip_b) and output_type is None:
        return apply2(matmul_, a, b)
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise ValueError("matmul: only one of transpose and adjoint can be asked for the same factor")
    if type(a) is not Tensor or type(b) is not Tensor:
        a, b = together("matmul", [a, b])
    if output_type is not None:
        a, b = cast(a, output_type), cast(b, output_type)
    same = a._array is b._array and a._key == b._key and a._array.ndim > 1
    if same and flip_a != flip_b and not (adjoint_a or adjoint_b):
        return apply1(gram, _flipped(a, False) if flip_a else a)
    if flip_a:
        a = _flipped(a, adjoint_a)
    if flip_b:
        b = _flipped(b, adjoint_b)
    return apply2(matmul_, a, b)


def _flipped(x: Tensor, adjoint: bool) -> Tensor:
    if x._array.ndim < 2:
        raise InvalidArgumentError(
            f"matmul: a tensor of shape {list(x._array.shape)} is no matrix to transpose"
        )
    x = apply1(swap_last, x)
    return apply1(conj, x) if adjoint and x._array.dtype.kind == "c" else x


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The matrices `a` times the vectors along the last axis of `b`; the axes in front broadcast.

    >>> matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
    array([3., 7.], dtype=float32)
    """
    x, y = together("matvec", [a, b])
    if not y.ndim:
        raise InvalidArgumentError("matvec: b must hold vectors along its last axis, a scalar has none")
    column = reshape(y, (*y._array.shape, 1))
    product = matmul(x, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
    return reshape(product, product._array.shape[:-1])


# ---------------------------------------------------------------------------------------------------------------------
# Norms


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """The norm of the vectors along `axis` (all elements as one vector by default), or of the matrices in two axes.

    `ord`: 'euclidean', 1, 2, np.inf or any positive number for vectors; 'euclidean' or 'fro' (the root of the sum of
    squares), 1 (the largest sum of a column), np.inf (of a row) or 2 (the largest singular value) for matrices. The
    gradient at 0 is 0.

    >>> float(norm([3.0, 4.0]))
    5.0
    """
    x: Any = convert(tensor)
    if not is_differentiable(x._array):
        raise DTypeError(f"norm takes floating tensors, not {x.dtype.name}: use cast(x, 'float32')")
    if isinstance(axis, (list, tuple, np.ndarray)):
        return _matrix_norm(x, ord, static_shape("norm: axis", axis), bool(keepdims))
    real = isinstance(ord, (int, float, np.integer, np.floating)) and ord > 0
    if not real and not (isinstance(ord, str) and ord == "euclidean"):
        raise ValueError(
            f"norm: ord must be 'euclidean', np.inf or a positive number for vectors, not {ord!r}: matrix norms need "
            "an axis of two numbers"
        )
    over = axes("norm", axis, x.ndim)
    if ord in ("euclidean", 2):
        return _euclidean(x, over, bool(keepdims))
    size = absolute(x)
    if ord == np.inf:
        return reduce_max(size, over, bool(keepdims))
    if ord == 1:
        return reduce_sum(size, over, bool(keepdims))
    if x._array.dtype.char in HALF:
        return rounded(norm, x, ord=ord, axis=axis, keepdims=keepdims)
    total = reduce_sum(apply(power, (size, float(ord))), over, bool(keepdims))
    zero = apply(equal, (total, 0.0))  # there the slope of the root is infinite
    root = apply(power, (apply(select, (zero, number(1.0, total), total)), 1.0 / ord))
    return apply(select, (zero, number(0.0, total), root))


def _euclidean(x: Any, over: tuple[int, ...], keepdims: bool) -> Tensor:
    """The root of the sum of squares: of complex tensors in their own dtype, as in TensorFlow."""
    length = apply1(euclidean_norm, x, {"axis": over, "keepdims": keepdims})
    return cast(length, x.dtype) if x._array.dtype.kind == "c" else length


def _matrix_norm(x: Any, ord: Any, axis: tuple[int, ...], keepdims: bool) -> Tensor:
    if len(axis) != 2 or one_axis("norm", axis[0], x.ndim) == one_axis("norm", axis[1], x.ndim):
        raise ValueError(f"norm: axis must be None, a number, or two different ones, not {list(axis)}")
    if not isinstance(ord, (str, int, float)) or ord not in ("euclidean", "fro", 1, 2, np.inf):
        raise ValueError(f"norm: ord must be 'euclidean', 'fro', 1, 2 or np.inf for matrices, not {ord!r}")
    rows, columns = (one_axis("norm", a, x.ndim) for a in axis)
    if ord in ("euclidean", "fro"):
        return _euclidean(x, axes("norm", axis, x.ndim), keepdims)
    if ord == 2:
        from .factorizations import svd

        rest = [a for a in range(-x.ndim, 0) if a not in (rows, columns)]
        x = transpose(x, (*rest, rows, columns))
        result = reduce_max(svd(x, compute_uv=False), -1)
        kept = list(x._array.shape[:-2])
        for a in sorted((rows + x.ndim, columns + x.ndim)):
            kept.insert(a, 1)
        return reshape(result, kept) if keepdims else result
    summed, across = (rows, columns) if ord == 1 else (columns, rows)
    result = reduce_max(reduce_sum(absolute(x), summed, True), across, True)
    return result if keepdims else squeeze(result, [rows, columns])


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The tensor divided by its norm over `axis`, and the norm (see `norm`). Zeros stay zeros, with gradient 0.

    >>> unit, length = normalize([3.0, 4.0])
    >>> unit.numpy(), length.numpy()
    (array([0.6, 0.8], dtype=float32), array([5.], dtype=float32))
    """
    x = convert(tensor)
    if x._array.dtype.char in HALF and x.dtype.is_floating:
        return rounded(normalize, x, ord=ord, axis=axis)
    length = cast(norm(x, ord, axis, keepdims=True), x.dtype)
    return apply(divide_no_nan, (x, length)), length


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """The tensor divided by the root of its sum of squares over `axis`, or of `epsilon` where that is larger.

    >>> l2_normalize([3.0, 4.0]).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    value: Any = convert(x)
    if not is_differentiable(value._array):
        raise DTypeError(
            f"l2_normalize takes floating tensors, not {value.dtype.name}: use cast(x, 'float32')"
        )
    if value._array.dtype.char in HALF:
        return rounded(l2_normalize, value, axis=axis, epsilon=epsilon, dim=dim)
    size = absolute(value) if value._array.dtype.kind == "c" else value
    total = reduce_sum(apply1(square, size), dim if axis is None else axis, keepdims=True)
    scale = apply1(rsqrt, apply2(maximum, total, epsilon))
    return apply2(multiply, value, cast(scale, value.dtype))


install(
    {
        "__matmul__": lambda self, other: apply2(matmul_, self, other),
        "__rmatmul__": lambda self, other: apply2(matmul_, other, self),
    }
)
