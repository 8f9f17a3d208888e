"""Determinants and their logarithms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...core.primitive import apply, primitive
from ...core.structural import reshape_, sum_, unbroadcast
from ...core.tensor import Tensor
from ...core.types import TensorLike
from ...engine.arrays import xp
from ..array.movement import cast
from ..math.complexes import complex_, imag_, real
from ..math.elementwise import log
from ..math.reduction import reduce_sum
from .factorizations import cholesky_
from .lapack import matrices
from .matrix import array_of, diagonal, swap_last
from .solving import inv_


def _scaled(g: Any, matrix: Any) -> Any:
    """One number for each matrix, times the matrix."""
    return reshape_(g, shape=(*g.shape, 1, 1)) * matrix


@primitive(wide=True, name="det", formula="d det(X) = det(X) trace(X⁻¹ dX)")
def det_(x):
    return xp(x).linalg.det(x)


# d det(A) = <C, dA>, with C the cofactors: det(A) A^-T where A is invertible, and finite where it is not.
det_.rules(x=lambda g, x: _scaled(g, cofactors(x)))


@primitive(wide=True)
def cofactors(x):
    """det(x) x^-T, and its limit where x is not invertible."""
    if x.shape[-1] <= 3:
        return _small_cofactors(x)
    try:
        inverse = np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return _cofactors_by_svd(x)
    # Both come from the same LU factorization, so a tiny pivot that is all rounding cancels in the product.
    whole = np.linalg.det(x)
    if _may_divide(whole, np).all() or not np.isfinite(x).all():
        return whole[..., None, None] * inverse.swapaxes(-1, -2)
    return _cofactors_by_svd(x)


def _small_cofactors(x: Any) -> Any:
    """Those of matrices of up to three rows, without a division."""
    lib, n = xp(x), x.shape[-1]
    if n < 2:
        return lib.ones_like(x)
    if n == 2:
        return x[..., ::-1, ::-1] * np.array([[1, -1], [-1, 1]], x.dtype)
    # Each is made of the elements in the next two rows and columns, the first coming after the last.
    x = lib.concatenate([x, x[..., :2, :]], -2)
    x = lib.concatenate([x, x[..., :2]], -1)
    one, two = slice(1, 4), slice(2, 5)
    return x[..., one, one] * x[..., two, two] - x[..., one, two] * x[..., two, one]


def _may_divide(determinant: Any, lib: Any) -> Any:
    """Whether each determinant is a number that neither overflowed nor lost digits because it is so small."""
    size = lib.abs(determinant)
    return (size > lib.finfo(size.dtype).tiny) & (size < np.inf)


def _cofactors_by_svd(x: Any) -> Any:
    """x = U S V^H, so the cofactors are det(U V^H) conj(U) C(S) V^T, and those of S the products of all others."""
    lib = xp(x)
    u, s, vh = lib.linalg.svd(x)
    return lib.linalg.det(u @ vh)[..., None, None] * (
        (u.conj() * _product_of_others(s, lib)[..., None, :]) @ vh.conj()
    )


@cofactors.compiled
def _cofactors_by_xla(x: Any) -> Any:
    """The same, without singular values where all matrices are invertible: they take 10 to 30 times as long."""
    import jax

    n = x.shape[-1]
    if n <= 3:
        return _small_cofactors(x)
    lib, solve = jax.numpy, jax.lax.linalg.triangular_solve
    # By hand: `inv` has no batches of open lengths.
    lu, pivots, order = jax.lax.linalg.lu(x)
    sign = 1 - 2 * ((pivots != lib.arange(n, dtype=pivots.dtype)).sum(-1) % 2)
    whole = sign.astype(x.dtype) * lib.diagonal(lu, axis1=-2, axis2=-1).prod(-1)
    below = solve(lu, lib.eye(n, dtype=x.dtype)[order], left_side=True, lower=True, unit_diagonal=True)
    inverse = solve(lu, below, left_side=True)
    regular = whole[..., None, None] * inverse.swapaxes(-1, -2)
    is_regular = (_may_divide(whole, lib) & lib.isfinite(regular).all((-2, -1))).all()
    return jax.lax.cond(is_regular, lambda: regular, lambda: _cofactors_by_svd(x))


def _product_of_others(s: Any, lib: Any) -> Any:
    """For each element along the last axis the product of all others, without a division."""
    one = lib.ones_like(s[..., :1])
    before = lib.cumprod(lib.concatenate([one, s[..., :-1]], -1), -1)
    after = lib.cumprod(lib.concatenate([one, s[..., :0:-1]], -1), -1)[..., ::-1]
    return before * after


@primitive(wide=True)
def cofactors_slope(x, d):
    """The derivative of `cofactors(x)` in the direction `d`, a linear and symmetric map, finite for every x.

    With x = U S V^H and E = U^H d V, S + tE has the cofactors C with dC_ii = sum of p_ij E_jj and dC_ij = -p_ij E_ji,
    where p_ij is the product of all singular values but i and j.
    """
    m = xp(x, d)
    u, s, vh = xp(x).linalg.svd(x)
    ut, v = u.conj().swapaxes(-1, -2), vh.conj().swapaxes(-1, -2)
    pairs = _product_but_two(s, xp(x)).astype(x.dtype)
    e = ut @ d @ v
    straight = m.einsum("...ij,...jj->...i", pairs, e)
    unit = m.eye(x.shape[-1], dtype=x.dtype)
    inner = straight[..., None] * unit - pairs * e.swapaxes(-1, -2)
    return xp(x).linalg.det(u @ vh)[..., None, None] * (u.conj() @ inner @ vh.conj())


def _product_but_two(s: Any, lib: Any) -> Any:
    """p_ij = product of all s_k with k neither i nor j; 0 on the diagonal."""
    n = s.shape[-1]
    k = lib.arange(n)
    # Row i is s, with 1 for s_i.
    others = lib.where(k[:, None] == k, lib.ones_like(s)[..., None, :], s[..., None, :])
    return _product_of_others(others, lib) * (1 - lib.eye(n, dtype=s.dtype))


cofactors.rules(x=lambda g, x: cofactors_slope(x, g))


def _slope_by_x(g: Any, x: Any, d: Any, x_shape: tuple[int, ...], out_shape: tuple[int, ...]) -> Any:
    """The third derivative of det, where x is invertible: with B = x^-1, P = B d and Q = B g,

    det(x) B^T [tr P tr Q - tr PQ] - det(x) [tr P Q B + tr Q P B - P Q B - Q P B]^T.
    """
    inverse, whole = inv_(x), det_(x)
    p, q = inverse @ d, inverse @ g
    trace_p, trace_q = (sum_(diagonal(m), axis=(-1,), keepdims=False) for m in (p, q))
    both = p @ q
    inner = trace_p * trace_q - sum_(diagonal(both), axis=(-1,), keepdims=False)
    minus = _scaled(trace_p, q) + _scaled(trace_q, p) - both - q @ p
    total = _scaled(whole, swap_last(_scaled(inner, inverse) - minus @ inverse))
    return unbroadcast(total, x_shape, out_shape)


cofactors_slope.rules(x=_slope_by_x, d=lambda g, x: cofactors_slope(x, g))


@primitive(wide=True, multiple=True, name="slogdet", formula="d log|det(X)| = trace(X⁻¹ dX)")
def slogdet_(x):
    sign, logarithm = xp(x).linalg.slogdet(x)
    return sign, logarithm


def _slogdet_rule(g: Any, x: Any, out: Any) -> Any:
    """d log|det A| = Re w and d sign = i sign Im w, with w = tr(A^-1 dA)."""
    by_sign, by_log = g
    if array_of(x).dtype.kind == "c":
        by_log = complex_(by_log, imag_(by_sign * out[0]))
    return _scaled(by_log, swap_last(inv_(x)))


slogdet_.rules(x=_slogdet_rule)

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


class LogMatrixDeterminant(NamedTuple):
    """The result of `slogdet`."""

    sign: Tensor
    log_abs_determinant: Tensor


def det(input: TensorLike, name: str | None = None) -> Tensor:
    """The determinant of each square matrix. Its gradient, the cofactors, is finite also for singular matrices.

    >>> float(det([[2.0, 0.0], [0.0, 3.0]]))
    6.0
    """
    (x,) = matrices("det", input)
    return apply(det_, (x,))


def slogdet(input: TensorLike, name: str | None = None) -> LogMatrixDeterminant:
    """The sign of each determinant (a number of length 1, if complex), and the logarithm of its absolute value.

    >>> sign, logarithm = slogdet([[0.0, 1.0], [1.0, 0.0]])
    >>> float(sign), float(logarithm)
    (-1.0, 0.0)
    """
    (x,) = matrices("slogdet", input)
    sign, logarithm = apply(slogdet_, (x,))
    return LogMatrixDeterminant(sign, cast(logarithm, x.dtype))


def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of each symmetric (Hermitian) positive definite matrix.

    Raises:
        InvalidArgumentError: If a matrix is not square, or not positive definite.

    >>> float(logdet([[1.0, 0.0], [0.0, 1.0]]))
    0.0
    """
    (x,) = matrices("logdet", matrix)
    half = reduce_sum(apply(log, (real(diagonal(apply(cholesky_, (x,)))),)), -1)
    return half + half
