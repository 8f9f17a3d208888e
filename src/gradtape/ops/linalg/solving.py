"""Linear equations: inverses, and solutions by a matrix, a triangle or a factorization.

The gradient of a solution is the solution with the transposed matrix: nothing is inverted for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import InvalidArgumentError
from ...core.primitive import apply, primitive
from ...core.structural import reshape_, transpose_
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import is_traced, xp
from ...engine.blas import in_scipy
from ..array.creation import eye, ones_like
from ..array.movement import broadcast_to, gather
from .lapack import SMALL, each, lapack, matrices, not_invertible
from .matrix import adjoint_, conjugate, set_diag, swap_last, tril, triu
from .products import matmul

# ---------------------------------------------------------------------------------------------------------------------
# Inverses


@primitive(wide=True, name="inv", formula="d X⁻¹ = -X⁻¹ dX X⁻¹")
def inv_(x):
    try:
        return xp(x).linalg.inv(x)
    except np.linalg.LinAlgError:
        raise not_invertible("inv") from None


# d(A^-1) = -A^-1 dA A^-1
inv_.rules(x=lambda g, out: -(swap_last(out) @ g @ swap_last(out)))

# ---------------------------------------------------------------------------------------------------------------------
# Solutions. A batch of right-hand sides under one matrix is one right-hand side with more columns.


def in_columns(solve: Callable[[Any], Any], b: Any, ndim: int) -> Any:
    """`solve(b)` for a `b` with extra axes in front of its own `ndim`: as columns, and in front again after."""
    extra = b.ndim - ndim
    if not extra:
        return solve(b)
    lead, batch, (n, k) = tuple(b.shape)[:extra], tuple(b.shape)[extra:-2], tuple(b.shape)[-2:]
    fold = (*range(extra, b.ndim - 1), *range(extra), b.ndim - 1)
    columns = reshape_(transpose_(b, perm=fold), shape=(*batch, n, math.prod(lead) * k))
    x = reshape_(solve(columns), shape=(*batch, n, *lead, k))
    rank = len(batch) + 1
    return transpose_(x, perm=(*range(rank, rank + extra), *range(rank), rank + extra))


@primitive(wide=True, name="solve", formula="d X⁻¹y = X⁻¹ (dy - dX X⁻¹y)")
def solve_(a, b, *, transposed):
    """x with a x = b, or a^T x = b. Batches must agree."""
    try:
        return xp(a, b).linalg.solve(a.swapaxes(-1, -2) if transposed else a, b)
    except np.linalg.LinAlgError:
        raise not_invertible("solve") from None


def _solve_back(g: Any, a: Any, transposed: bool) -> Any:
    return in_columns(lambda b: solve_(a, b, transposed=not transposed), g, a.ndim)


def _by_matrix(back: Any, out: Any, transposed: bool) -> Any:
    """A dx = -dA x, so the gradient of A is -(A^-T g) x^T; for one column a product of elements, 5 times as fast."""
    left, right = (out, swap_last(back)) if transposed else (back, swap_last(out))
    return -(left * right if out.shape[-1] == 1 else left @ right)


solve_.rules(
    a=lambda g, a, out, transposed: _by_matrix(_solve_back(g, a, transposed), out, transposed),
    b=lambda g, a, transposed: _solve_back(g, a, transposed),
)


@primitive(wide=True, name="triangular_solve")
def triangular_solve_(a, b, *, lower, transposed):
    """x with a x = b, or a^T x = b, reading one triangle of `a` only. Batches must agree. A 0 divides to inf or nan."""
    if b.size == 0:
        return np.zeros(b.shape, b.dtype)
    if a.ndim > 2 and a.shape[-1] <= SMALL:
        try:
            return _many_small(a, b, lower, transposed)
        except np.linalg.LinAlgError:  # a zero on a diagonal
            pass
    return each(lambda m, x: _one_triangle(m, x, lower, transposed), a, b)


@triangular_solve_.compiled
def _(a, b, *, lower, transposed):
    import jax.scipy.linalg

    if b.size == 0:
        return jax.numpy.zeros(b.shape, b.dtype)
    return jax.scipy.linalg.solve_triangular(a, b, trans=int(transposed), lower=lower)


_BLOCK = 512


def _one_triangle(a: Any, b: Any, lower: bool, transposed: bool) -> Any:
    """Solve large triangles in blocks: the rows solved already are subtracted by NumPy's product, on all cores."""
    n = len(a)
    if n <= _BLOCK:
        return _one_block(a, b, lower, transposed)
    if transposed:
        a, lower = a.T, not lower
    x = np.empty(b.shape, b.dtype)
    for start in range(0, n, _BLOCK) if lower else range((n - 1) // _BLOCK * _BLOCK, -1, -_BLOCK):
        rows = slice(start, start + _BLOCK)
        solved = slice(0, start) if lower else slice(start + _BLOCK, n)
        x[rows] = _one_block(a[rows, rows], b[rows] - a[rows, solved] @ x[solved], lower, False)
    return x


def _one_block(a: Any, b: Any, lower: bool, transposed: bool) -> Any:
    """Solve by BLAS, which reads by columns: arrays stored by rows are transposed to it, so x^T op(a)^T = b^T."""
    a_by_rows, b_by_rows = not a.flags.f_contiguous, not b.flags.f_contiguous or b.flags.c_contiguous
    seen = a.T if a_by_rows else a
    lower, turned = lower != a_by_rows, transposed != a_by_rows
    trsm = lapack("trsm", a.dtype)
    if b_by_rows:
        return in_scipy(lambda: trsm(1.0, seen, b.T, side=1, lower=lower, trans_a=not turned)).T
    return in_scipy(lambda: trsm(1.0, seen, b, side=0, lower=lower, trans_a=turned))


def _many_small(a: Any, b: Any, lower: bool, transposed: bool) -> Any:
    """The LU factorization of an upper triangle is itself, so NumPy's batched `solve` substitutes backwards.

    A lower triangle, read from its last row and column, is an upper one.
    """
    if transposed:
        a = a.swapaxes(-1, -2)
    if lower != transposed:
        return _many_small(a[..., ::-1, ::-1], b[..., ::-1, :], False, False)[..., ::-1, :]
    return np.linalg.solve(triu(a), b)


def _triangle(x: Any, lower: bool) -> Any:
    return tril(x) if lower else triu(x)


def _triangular_back(g: Any, a: Any, lower: bool, transposed: bool) -> Any:
    return in_columns(lambda b: triangular_solve_(a, b, lower=lower, transposed=not transposed), g, a.ndim)


triangular_solve_.rules(
    a=lambda g, a, out, lower, transposed: _triangle(
        _by_matrix(_triangular_back(g, a, lower, transposed), out, transposed), lower
    ),
    b=lambda g, a, lower, transposed: _triangular_back(g, a, lower, transposed),
)

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def _equations(name: str, matrix: Any, rhs: Any) -> tuple[Any, Any]:
    """Validate a matrix and its right-hand sides."""
    a, b = matrices(name, matrix, rhs)
    if a._array.shape[-1] != b._array.shape[-2]:
        raise InvalidArgumentError(
            f"{name}: matrices of shape {list(a._array.shape)} and right-hand sides of shape {list(b._array.shape)} "
            "do not fit: the last but one axis must be as long in both"
        )
    return a, b


def _in_batches(name: str, a: Any, b: Any, solve: Callable[[Any, Any], Any]) -> Any:
    """`solve(a, b)` with the axes in front broadcast; one matrix for many right-hand sides stays one."""
    a_batch, b_batch = a._array.shape[:-2], b._array.shape[:-2]
    if a_batch == b_batch:
        return solve(a, b)
    if not a_batch:
        return in_columns(lambda x: solve(a, x), b, 2)
    try:
        batch = np.broadcast_shapes(a_batch, b_batch)
    except ValueError:
        raise InvalidArgumentError(
            f"{name}: the axes in front of the matrices, {list(a_batch)} and {list(b_batch)}, do not broadcast"
        ) from None
    return solve(broadcast_to(a, batch + a._array.shape[-2:]), broadcast_to(b, batch + b._array.shape[-2:]))


def inv(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverse of each square matrix; with `adjoint`, of its conjugate transpose.

    Raises:
        InvalidArgumentError: If a matrix is not square, or not invertible.

    >>> inv([[2.0, 0.0], [0.0, 4.0]]).numpy()
    array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    (x,) = matrices("inv", input)
    inverse = apply(inv_, (x,))
    return adjoint_(inverse) if adjoint else inverse


def solve(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """X with `matrix @ X = rhs`. The axes in front broadcast.

    Args:
        matrix: Square matrices.
        rhs: The right-hand sides, as columns.
        adjoint: Solve with the conjugate transpose of the matrix.

    Raises:
        InvalidArgumentError: If a matrix is not square or not invertible, or the shapes do not fit.

    >>> solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [2.0]]).numpy()
    array([[1. ],
           [0.5]], dtype=float32)
    """
    a, b = _equations("solve", matrix, rhs)
    options = {"transposed": bool(adjoint)}
    if adjoint:
        a = conjugate(a)
    return _in_batches("solve", a, b, lambda a, b: apply(solve_, (a, b), options))


def triangular_solve(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """X with `matrix @ X = rhs`, reading one triangle of the matrix only. The axes in front broadcast.

    Args:
        matrix: Square matrices. A 0 on the diagonal divides to inf or nan.
        rhs: The right-hand sides, as columns.
        lower: Read the lower triangle; otherwise the upper one.
        adjoint: Solve with the conjugate transpose of the triangle.

    Raises:
        InvalidArgumentError: If a matrix is not square, or the shapes do not fit.

    >>> triangular_solve([[2.0, 9.0], [1.0, 4.0]], [[2.0], [9.0]]).numpy()
    array([[1.],
           [2.]], dtype=float32)
    """
    a, b = _equations("triangular_solve", matrix, rhs)
    options = {"lower": bool(lower), "transposed": bool(adjoint)}
    if adjoint:
        a = conjugate(a)
    return _in_batches("triangular_solve", a, b, lambda a, b: apply(triangular_solve_, (a, b), options))


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """X with `A @ X = rhs`, where `chol` is the Cholesky factor of A, a lower triangle.

    >>> cholesky_solve([[2.0, 0.0], [0.0, 1.0]], [[4.0], [1.0]]).numpy()
    array([[1.],
           [1.]], dtype=float32)
    """
    a, b = _equations("cholesky_solve", chol, rhs)
    return triangular_solve(a, triangular_solve(a, b), adjoint=True)


def _factors(name: str, lower_upper: Any, perm: Any) -> tuple[Any, Any]:
    """Validate the two results of `lu`."""
    (x,) = matrices(name, lower_upper)
    order: Any = convert(perm)
    n = x._array.shape[-1]
    if order._array.dtype.kind not in "iu" or order._array.shape != x._array.shape[:-1]:
        raise InvalidArgumentError(
            f"{name}: perm must hold integers in the shape {list(x._array.shape[:-1])}, "
            f"not {order.dtype.name} in {list(order._array.shape)}"
        )
    if not is_traced(order._array) and not (np.sort(order._array, -1) == np.arange(n)).all():
        raise InvalidArgumentError(f"{name}: perm must hold each of 0 to {n - 1} once")
    return x, order


def lu_solve(
    lower_upper: TensorLike,
    perm: TensorLike,
    rhs: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """X with `A @ X = rhs`, from the factors and the order of rows that `lu(A)` returned.

    Args:
        lower_upper: The factors of square matrices.
        perm: The order of their rows.
        rhs: The right-hand sides, as columns.
        validate_args: Not used: arguments are always checked.

    Raises:
        InvalidArgumentError: If `perm` is no order of the rows, or the shapes do not fit.

    >>> lu_solve([[2.0, 0.0], [0.0, 4.0]], [1, 0], [[4.0], [2.0]]).numpy()
    array([[1.],
           [1.]], dtype=float32)
    """
    x, order = _factors("lu_solve", lower_upper, perm)
    x, b = _equations("lu_solve", x, rhs)
    batch = np.broadcast_shapes(x._array.shape[:-2], b._array.shape[:-2])
    b = broadcast_to(b, batch + b._array.shape[-2:])
    order = broadcast_to(order, batch + order._array.shape[-1:])
    b = gather(b, order, axis=-2, batch_dims=len(batch))
    ones = ones_like(x[..., 0])
    return triangular_solve(x, triangular_solve(set_diag(x, ones), b), lower=False)


def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The matrix whose factors `lu` returned. Arguments are those of `lu_solve`.

    Args:
        lower_upper: both factors in one matrix, as `lu` gives them.
        validate_args: accepted; no effect.

    >>> lu_reconstruct([[2.0, 0.0], [0.0, 4.0]], [1, 0]).numpy()
    array([[0., 4.],
           [2., 0.]], dtype=float32)
    """
    x, order = _factors("lu_reconstruct", lower_upper, perm)
    lower = set_diag(tril(x), ones_like(x[..., 0]))
    back = xp(order._array).argsort(order._array, -1)
    return gather(matmul(lower, triu(x)), back, axis=-2, batch_dims=x.ndim - 2)


def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The inverse of the matrix whose factors `lu` returned. Arguments are those of `lu_solve`.

    Args:
        lower_upper: both factors in one matrix, as `lu` gives them.
        validate_args: accepted; no effect.

    >>> lu_matrix_inverse([[2.0, 0.0], [0.0, 4.0]], [0, 1]).numpy()
    array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    x, order = _factors("lu_matrix_inverse", lower_upper, perm)
    unit = eye(x._array.shape[-1], batch_shape=x._array.shape[:-2], dtype=x.dtype)
    return lu_solve(x, order, unit)
