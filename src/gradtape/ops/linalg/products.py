"""Matrix products, and the operator `@`."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from ...core.deferred_products import Products
from ...core.dtypes import HALF
from ...core.errors import InvalidArgumentError
from ...core.primitive import apply1, apply2, local, numbers, primitive, rounded
from ...core.structural import conj, reshape_, transpose_, unbroadcast
from ...core.tensor import Tensor
from ...core.types import DTypeLike, TensorLike
from ..array.movement import cast, reshape, together
from ..math.python_operators import install
from .matrix import swap_last

# The cost of one more product of small matrices, and of copying a number of a factor into another order. The unit: to
# write a number, and to sum it.
_CALL, _COPY = 64, 4
# In compiled code: rows of factors, and elements of two whose product takes longer to begin than to compute.
_ROWS, _SMALL = 32, 1 << 13


@primitive(
    multilinear=True,
    check_dtype=numbers,
    name="matmul",
    formula="d(X Y) = dX Y + X dY, so X gets g Yᵀ and Y gets Xᵀ g",
    words="Each matrix gets the gradient times the transpose of the other.",
)
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
    """All rows of an array or tensor as one matrix, after the first `before` axes."""
    shape = tuple(x.shape)
    return reshape_(x, shape=(*shape[:before], math.prod(shape[before:-1]), shape[-1]))


def _unbatch(g: Any, shape: tuple[int, ...], out_shape: tuple[int, ...]) -> Any:
    """Sum over the matrices that a factor of this shape was multiplied with."""
    return g if len(out_shape) == 2 else unbroadcast(g, shape, out_shape[:-2] + shape[-2:])


def of_first(g: Any, y: Any, x_shape: tuple[int, ...], out_shape: tuple[int, ...]) -> Any:
    if len(out_shape) > 2:
        plan = _contraction(x_shape, tuple(y.shape), out_shape)
        if plan is not None:
            return _contracted(g, y, x_shape, out_shape, plan)
    elif _few_rows(g, y, x_shape):
        return Products(g.T, y.T)
    return _unbatch(matmul_(g, swap_last(y)), x_shape, out_shape)


def of_second(g: Any, x: Any, y_shape: tuple[int, ...], out_shape: tuple[int, ...]) -> Any:
    if len(y_shape) == 2 and len(out_shape) > 2:
        # One large product, and no sum over the batch.
        x, g, out_shape = _rows(x), _rows(g, g.ndim - len(out_shape)), out_shape[-2:]
    if len(out_shape) > 2:
        # The transpose of the product is that of the transposes, in the other order.
        shapes = [(*shape[:-2], shape[-1], shape[-2]) for shape in (y_shape, tuple(x.shape), out_shape)]
        plan = _contraction(*shapes)
        if plan is not None:
            return swap_last(_contracted(swap_last(g), swap_last(x), shapes[0], shapes[2], plan))
    elif _few_rows(g, x, y_shape):
        return Products(x, g)
    return _unbatch(matmul_(swap_last(x), g), y_shape, out_shape)


@functools.lru_cache(maxsize=1000)
def _contraction(
    x_shape: tuple[int, ...], y_shape: tuple[int, ...], out_shape: tuple[int, ...]
) -> tuple[list[int], list[int], list[int]] | None:
    """The axes of the batch that both factors have, that only x has, and that only y has: the last are summed for x.

    None if nothing is to be summed, or if it takes less to multiply all matrices, and to sum the products.
    """
    rank = len(out_shape) - 2
    first = (1,) * (len(out_shape) - len(x_shape)) + x_shape
    second = (1,) * (len(out_shape) - len(y_shape)) + y_shape
    axes = [i for i in range(rank) if out_shape[i] != 1]
    shared = [i for i in axes if first[i] == second[i]]
    rows = [i for i in axes if second[i] == 1]
    summed = [i for i in axes if first[i] == 1]
    matrices = math.prod(out_shape[:-2])
    products = matrices * (x_shape[-2] * x_shape[-1] + _CALL)
    worthwhile = products > _COPY * (math.prod(out_shape) + math.prod(y_shape))
    return (shared, rows, summed) if summed and worthwhile else None


def _contracted(g: Any, y: Any, x_shape: tuple[int, ...], out_shape: tuple[int, ...], plan: Any) -> Any:
    """The gradient of a factor x that was broadcast: the axes that are summed are contracted with the last one.

    That is one product of matrices: those of g have the rows of x, those of y its columns.
    """
    shared, rows, summed = plan
    lead, rank, missing = g.ndim - len(out_shape), len(out_shape), len(out_shape) - y.ndim
    front = tuple(g.shape)[:lead]
    batch = tuple([out_shape[i] for i in shared])
    inner = math.prod([out_shape[i] for i in summed]) * out_shape[-1]
    order = _order_of([*shared, *rows, rank - 2, *summed, rank - 1], rank)
    left = transpose_(g, perm=(*range(lead), *[lead + i for i in order]))
    count = math.prod([out_shape[i] for i in rows]) * out_shape[-2]
    left = reshape_(left, shape=(*front, *batch, count, inner))
    order = _order_of([i - missing for i in (*shared, *summed, rank - 1, rank - 2)], y.ndim)
    right = reshape_(transpose_(y, perm=order), shape=(*batch, inner, x_shape[-1]))
    kept = [*shared, *rows]
    product = reshape_(
        matmul_(left, right), shape=(*front, *[out_shape[i] for i in kept], out_shape[-2], x_shape[-1])
    )
    back = [lead + kept.index(i) for i in sorted(kept)]
    product = transpose_(product, perm=(*range(lead), *back, lead + len(kept), lead + len(kept) + 1))
    return reshape_(product, shape=(*front, *x_shape))


def _order_of(last: list[int], rank: int) -> tuple[int, ...]:
    """All axes: first those that have length 1, then the given ones."""
    return (*[i for i in range(rank) if i not in last], *last)


def _few_rows(g: Any, other: Any, shape: tuple[int, ...]) -> bool:
    """Return whether the product for a matrix's gradient is deferred: if the factors have few rows."""
    if len(shape) != 2 or g.ndim != 2 or other.ndim != 2 or type(g) is Tensor or type(other) is Tensor:
        return False
    elements, is_small = g.size + other.size, False
    if type(g) is not np.ndarray or type(other) is not np.ndarray:
        if local.here.any_length or elements > _ROWS * sum(shape):  # other lengths may have more
            return False
        is_small = elements <= _SMALL
    return (is_small or elements <= shape[0] * shape[1]) and g.dtype.itemsize > 2


matmul_.rules(x=of_first, y=of_second)


@primitive(wide=True, check_dtype=numbers)
def gram(x):
    """x x^T, which BLAS computes in half the time; the rule takes one product instead of two."""
    return matmul_.forward(x, x.swapaxes(-1, -2))


gram.rules(x=lambda g, x: matmul_(g + swap_last(g), x))

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike | None = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The matrix product over the last two axes; the axes in front are a batch, and broadcast.

    Args:
        a: The first factor, of rank 2 or more.
        b: The second factor.
        transpose_a: Transpose the matrices of `a` first; likewise `transpose_b`.
        adjoint_a: Transpose and conjugate the matrices of `a` first; likewise `adjoint_b`.
        a_is_sparse: Not used, nor are `b_is_sparse`, `grad_a` and `grad_b`.
        output_type: The dtype to cast both factors to first.

    Raises:
        InvalidArgumentError: If a factor is no matrix, or the shapes do not multiply.
        ValueError: If both transpose and adjoint are asked for one factor.

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
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The matrices `a` times the vectors along the last axis of `b`; the axes in front broadcast.

    `transpose_a` and `adjoint_a` are those of `matmul`.

    Args:
        a_is_sparse: accepted; no effect.
        b_is_sparse: accepted; no effect.

    Raises:
        InvalidArgumentError: If `b` is a scalar, or the shapes do not multiply.

    >>> matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
    array([3., 7.], dtype=float32)
    """
    x, y = together("matvec", [a, b])
    if not y.ndim:
        raise InvalidArgumentError("matvec: b must hold vectors along its last axis, a scalar has none")
    column = reshape(y, (*y._array.shape, 1))
    product = matmul(x, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
    return reshape(product, product._array.shape[:-1])


install(
    {
        "__matmul__": lambda self, other: apply2(matmul_, self, other),
        "__rmatmul__": lambda self, other: apply2(matmul_, other, self),
    }
)
