"""Functions of any matrix by its singular values: the pseudo-inverse, the rank, least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, primitive
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import TensorLike
from ...engine.arrays import xp
from ..array.movement import cast
from .factorizations import cholesky_, singular_values
from .lapack import matrices
from .matrix import adjoint_, conjugate
from .products import matmul
from .solving import cholesky_solve


@primitive(wide=True, mixed=True, name="pinv")
def pinv_(x, rcond):
    """The pseudo-inverse, in which singular values up to `rcond` times the largest count as 0."""
    return xp(x, rcond).linalg.pinv(x, rtol=rcond)


def _pinv_rule(g: Any, x: Any, out: Any) -> Any:
    """-P^H g P^H + (1 - A P) g^H P P^H + P^H P g^H (1 - P A), as long as the rank does not change."""
    p, ph, by_p = out, adjoint_(out), conjugate(g)
    back = adjoint_(by_p)
    first, second = back @ p @ ph, ph @ p @ back
    return conjugate(first - x @ (p @ first) + second - (second @ p) @ x - ph @ by_p @ ph)


pinv_.rules(x=_pinv_rule)


def pinv(
    a: TensorLike, rcond: TensorLike | None = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The pseudo-inverse of each matrix.

    Args:
        a: Matrices of any shape.
        rcond: Singular values up to `rcond` times the largest count as 0; by default those that may be rounding errors.
        validate_args: Not used: arguments are always checked.

    >>> pinv([[2.0, 0.0], [0.0, 0.0]]).numpy()
    array([[0.5, 0. ],
           [0. , 0. ]], dtype=float32)
    """
    (x,) = matrices("pinv", a, square=False)
    epsilon = np.finfo(x._array.dtype).eps
    cutoff = np.float64(10 * max(x._array.shape[-2:]) * epsilon) if rcond is None else convert(rcond)._array
    return apply(pinv_, (x, cutoff))


def matrix_rank(
    a: TensorLike, tol: TensorLike | None = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The rank of each matrix: the number of its singular values above a threshold.

    Args:
        a: Matrices of any shape.
        tol: The threshold, by default the rounding error of 0. It broadcasts against the singular values: a number for
            each of several matrices needs a last axis of length 1.
        validate_args: Not used: arguments are always checked.

    Raises:
        DTypeError: If `tol` is no number.
        InvalidArgumentError: If `tol` does not broadcast.

    >>> int(matrix_rank([[1.0, 1.0], [1.0, 1.0]]))
    1
    """
    (x,) = matrices("matrix_rank", convert(a, None, np.dtype(np.float32)), square=False)
    s = singular_values.forward(x._array)
    if tol is None:
        threshold = np.finfo(s.dtype).eps * max(x._array.shape[-2:]) * s.max(-1, keepdims=True, initial=0)
    else:
        threshold = convert(tol, None, s.dtype)._array
        if threshold.dtype.kind not in "fiu":
            raise DTypeError(f"matrix_rank: tol must be a number, not {tol!r}")
        try:
            np.broadcast_shapes(s.shape, threshold.shape)
        except ValueError:
            raise InvalidArgumentError(
                f"matrix_rank: tol of shape {list(threshold.shape)} does not broadcast against the singular values, "
                f"of shape {list(s.shape)}: give one number, or one for each matrix with a last axis of length 1"
            ) from None
    return convert(xp(s, threshold).sum(s > threshold, -1, dtype=np.int32))


def lstsq(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: TensorLike = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """X that brings `matrix @ X` closest to `rhs`; the shortest such X where there are many.

    Args:
        matrix: Matrices of any shape.
        rhs: The right-hand sides, as columns.
        l2_regularizer: The weight of the squared length of X, if `fast`.
        fast: Solve the normal equations: the matrix must have full rank, or the regularizer be positive. Otherwise
            singular values are used, which take any matrix.

    Raises:
        InvalidArgumentError: If the shapes do not fit, or a matrix does not have full rank where it must.

    >>> lstsq([[3.0], [4.0]], [[9.0], [12.0]]).numpy()
    array([[3.]], dtype=float32)
    """
    a, b = matrices("lstsq", matrix, rhs, square=False)
    if a._array.shape[:-1] != b._array.shape[:-1]:
        raise InvalidArgumentError(
            f"lstsq: matrices of shape {list(a._array.shape)} and right-hand sides of shape {list(b._array.shape)} "
            "do not fit: they may differ in the last axis only"
        )
    if not fast:
        return matmul(pinv(a), b)
    rows, columns = a._array.shape[-2:]
    tall = rows >= columns
    gram: Any = matmul(a, a, adjoint_a=tall, adjoint_b=not tall)
    weight: Any = cast(convert(l2_regularizer), a.dtype)
    if weight.ndim:
        raise InvalidArgumentError(f"lstsq: l2_regularizer must be one number, not of shape {weight.shape}")
    unit = np.eye(min(rows, columns), dtype=a._array.dtype)
    try:
        factor = apply(cholesky_, (gram + weight * unit,))
    except InvalidArgumentError:
        raise InvalidArgumentError(
            "lstsq: a matrix does not have full rank: use fast=False, or a positive l2_regularizer"
        ) from None
    if tall:
        return cholesky_solve(factor, matmul(a, b, adjoint_a=True))
    return matmul(a, cholesky_solve(factor, b), adjoint_a=True)
