"""Factorizations: Cholesky, LU, QR, singular values, eigenvalues.

The literature gives these gradients as conjugate transposes; rules here are plain ones. So a rule conjugates what it
gets, computes what the literature says, and conjugates the result: for real matrices that is nothing.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from ...core.dtypes import as_dtype, of
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.primitive import apply, cast_, primitive
from ...core.slicing import Index, getitem
from ...core.structural import concat_, reshape_
from ...core.tensor import Tensor
from ...engine.arrays import xp
from ...engine.blas import in_scipy
from ..array.movement import cast
from ..math.complexes import complex_, imag_
from ..math.elementwise import select, zero_like
from .lapack import lapack, matrices, not_invertible, scipy_linalg
from .matrix import adjoint_, array_of, conjugate, diagonal, on_diagonal, swap_last, tril, triu
from .solving import in_columns, inv_, triangular_solve_


def _like(x: Any, reference: Any) -> Any:
    """A real tensor or array in the dtype, maybe complex, of another."""
    source, dtype = of(array_of(x)).name, of(array_of(reference)).name
    return x if source == dtype else cast_(x, dtype=dtype, source=source)


def _row(x: Any) -> Any:
    return reshape_(x, shape=(*x.shape[:-1], 1, x.shape[-1]))


def _column(x: Any) -> Any:
    return reshape_(x, shape=(*x.shape, 1))


def _columns(x: Any, start: int | None, stop: int | None) -> Any:
    return getitem(x, index=Index((..., slice(start, stop))))


def _triangular(a: Any, b: Any, *, lower: bool, transposed: bool = False) -> Any:
    """`triangular_solve` for a `b` that may have extra axes in front."""
    return in_columns(lambda x: triangular_solve_(a, x, lower=lower, transposed=transposed), b, a.ndim)


def _divided(b: Any, r: Any) -> Any:
    """b r^-H for an upper triangle r: (r^-1 b^H)^H, once more."""
    return adjoint_(_triangular(r, adjoint_(b), lower=False))


# ---------------------------------------------------------------------------------------------------------------------
# Cholesky: A = L L^H


@primitive(wide=True, name="cholesky")
def cholesky_(x):
    """L of A = L L^H, from the lower triangle of A."""
    if xp(x) is not np:
        import jax

        return jax.lax.linalg.cholesky(x, symmetrize_input=False)
    if x.ndim == 2 and 0 < len(x) <= 1024:  # NumPy's computes float32 in float64, twice as long
        upper, failed = in_scipy(lambda: lapack("potrf", x.dtype)(x.T, lower=0, clean=1))
        if not failed:
            return upper.T
    else:
        try:
            return np.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            pass
    raise InvalidArgumentError(
        "cholesky: a matrix is not positive definite. If it should be, add a small multiple of the unit matrix"
    )


@functools.lru_cache(maxsize=64)
def _weights(n: int, dtype: Any, below: float, on: float) -> Any:
    """A matrix of one number below the diagonal, another on it, and zeros above."""
    weights = np.tri(n, k=-1) * below + np.eye(n) * on
    weights = weights.astype(dtype)
    weights.flags.writeable = False
    return weights


def _lower(x: Any, below: float, on: float) -> Any:
    """The lower triangle, times one number below the diagonal and another on it."""
    n, array = x.shape[-1], array_of(x)
    if xp(array) is np:
        return x * _weights(n, array.dtype, below, on)
    lib = xp(array)
    return x * (lib.tri(n, k=-1, dtype=array.dtype) * below + lib.eye(n, dtype=array.dtype) * on)


def _product_below(x: Any, y: Any) -> Any:
    """The lower triangle of x^H y for a lower triangle x, and anything above it.

    Of arrays the upper right quarter is left out, and so are x's zeros: half of the work.
    """
    n = x.shape[-1]
    if type(y) is not np.ndarray or n < 64:
        return adjoint_(x) @ y
    half = n // 2
    out = np.zeros(y.shape, y.dtype)
    out[..., :half, :half] = adjoint_(x[..., :half]) @ y[..., :half]
    out[..., half:, :] = adjoint_(x[..., half:, half:]) @ y[..., half:, :]
    return out


def _cholesky_rule(g: Any, out: Any) -> Any:
    """L^-H sym(P) L^-1, with P the lower triangle of L^H g, its diagonal halved."""
    half = _lower(_product_below(out, conjugate(g)), 0.5, 0.25)
    middle = half + adjoint_(half)
    back = conjugate(out)
    left = _triangular(back, middle, lower=True, transposed=True)
    # x L^-1 = (L^-H x^H)^H
    return swap_last(_triangular(back, adjoint_(left), lower=True, transposed=True))


cholesky_.rules(x=_cholesky_rule)

# ---------------------------------------------------------------------------------------------------------------------
# LU: the rows of A, in the order p, are L U


@primitive(wide=True, multiple=True, name="lu")
def lu_(x, *, index_dtype):
    """L below the diagonal and U on and above it, in one matrix, and the order of the rows."""
    if xp(x) is not np:
        import jax

        packed, _, order = jax.lax.linalg.lu(x)
        return packed, order.astype(index_dtype)
    if x.size == 0:
        return x, np.zeros(x.shape[:-1], index_dtype)
    place, lower, upper = in_scipy(lambda: scipy_linalg(x).lu(x, p_indices=True, check_finite=False))
    packed = np.tril(lower, -1) + upper
    if not packed.diagonal(0, -2, -1).all() or np.isnan(packed).any():
        raise not_invertible("lu")
    return packed, np.argsort(place, -1).astype(index_dtype)


def _lu_rule(g: Any, out: Any) -> Any:
    """P^T L^-T (tril(L^T g_L) + triu(g_U U^T)) U^-T, where L has ones on its diagonal."""
    packed, order = out
    unit = np.eye(packed.shape[-1], dtype=array_of(packed).dtype)
    lower, upper = tril(packed, -1) + unit, triu(packed)
    middle = tril(swap_last(lower) @ tril(g[0], -1), -1) + triu(triu(g[0]) @ swap_last(upper))
    middle = _triangular(lower, middle, lower=True, transposed=True)
    middle = swap_last(_triangular(upper, swap_last(middle), lower=False))
    # Rows back to their places: a product with P^T, which is A's rows out of order.
    where = (array_of(order)[..., None] == np.arange(packed.shape[-1])).astype(unit.dtype)
    return swap_last(where) @ middle


lu_.rules(x=_lu_rule)

# ---------------------------------------------------------------------------------------------------------------------
# QR


@primitive(wide=True, multiple=True, name="qr")
def qr_(x, *, full):
    q, r = xp(x).linalg.qr(x, "complete" if full else "reduced")
    return q, r


def _qr_rule(g: Any, x: Any, out: Any) -> Any:
    """For a wide A = [X Y]: Q R = X and Q V = Y, so Q hears from V too, and the rest is the rule for X."""
    (by_q, by_r), (q, r) = (conjugate(part) for part in g), out
    rows, columns = x.shape[-2:]
    if rows >= columns:
        return conjugate(_tall_qr_rule(by_q, by_r, q, r, columns))
    by_v = _columns(by_r, rows, None)
    by_q = by_q + _columns(x, rows, None) @ adjoint_(by_v)
    by_x = _tall_qr_rule(by_q, _columns(by_r, None, rows), q, _columns(r, None, rows), rows)
    return conjugate(concat_(by_x, q @ by_v, axis=-1))


def _tall_qr_rule(by_q: Any, by_r: Any, q: Any, r: Any, columns: int) -> Any:
    """(g_Q + Q (T + T^H + Re diag N)) R^-H, with N = g_R R^H - Q^H g_Q and T its upper triangle.

    Columns of a full Q behind those of A span what A does not: as it turns, they turn with it.
    """
    first, by_first = q, by_q
    if q.shape[-1] > columns:
        first, rest = _columns(q, None, columns), _columns(q, columns, None)
        by_first, by_rest = _columns(by_q, None, columns), _columns(by_q, columns, None)
        by_first = by_first - rest @ (adjoint_(by_rest) @ first)
        index = Index((..., slice(None, columns), slice(None)))
        r, by_r = getitem(r, index=index), getitem(by_r, index=index)
    n = by_r @ adjoint_(r) - adjoint_(first) @ by_first
    above = triu(n, 1)
    symmetric = above + adjoint_(above) + on_diagonal(_real_part(diagonal(n)))
    return _divided(by_first + first @ symmetric, r)


def _real_part(x: Any) -> Any:
    """The real part, in the dtype of x."""
    return (x + conjugate(x)) * 0.5 if array_of(x).dtype.kind == "c" else x


qr_.rules(x=_qr_rule)

# ---------------------------------------------------------------------------------------------------------------------
# Eigenvalues of symmetric (Hermitian) matrices: A V = V diag(w)


def _inverse(x: Any, values: Any) -> Any:
    """1 / x for matrices x, and 0 where x is 0 as far as rounding can tell, beside the largest of `values`.

    LAPACK finds equal eigenvalues and singular values within 16 roundings of each other (measured up to 300 x 300).
    """
    largest = abs(array_of(values)).max(-1, initial=0)[..., None, None]
    nothing = abs(array_of(x)) <= largest * (16 * np.finfo(largest.dtype).eps)
    one = zero_like(x) + 1
    return select(nothing, zero_like(x), 1 / select(nothing, one, x))


def _inverse_gaps(w: Any) -> Any:
    """1 / (w_j - w_i), and 0 where both are equal: vectors that share a value do not turn among each other."""
    return _inverse(_row(w) - _column(w), w)


@primitive(wide=True, multiple=True, name="eigh")
def eigh_(x):
    """Eigenvalues, from the smallest to the largest, and eigenvectors, from the lower triangle of x."""
    if xp(x) is not np:
        w, v = xp(x).linalg.eigh(x, symmetrize_input=False)
        return w, v
    try:
        w, v = np.linalg.eigh(x)
    except np.linalg.LinAlgError:
        raise _no_eigenvalues("eigh") from None
    if np.isnan(w).any():
        raise _no_eigenvalues("eigh")
    return w, v


def _no_eigenvalues(name: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{name}: the eigenvalues could not be found: does the matrix hold inf or nan?"
    )


def _eigh_rule(g: Any, out: Any) -> Any:
    """V (diag(g_w) + F * (V^H g_V)) V^H, with F the inverse gaps; on the lower triangle, from which A is read."""
    (by_w, by_v), (w, v) = g, out
    inner = on_diagonal(_like(by_w, v)) + _like(_inverse_gaps(w), v) * (adjoint_(v) @ conjugate(by_v))
    return conjugate(_to_lower(v @ inner @ adjoint_(v)))


def _to_lower(x: Any) -> Any:
    """The gradient of a lower triangle that a whole Hermitian matrix was made of."""
    return _lower(x + adjoint_(x), 1.0, 0.5)


eigh_.rules(x=_eigh_rule)


@primitive(wide=True, name="eigvalsh")
def eigvalsh_(x):
    if xp(x) is not np:
        return xp(x).linalg.eigvalsh(x, symmetrize_input=False)
    try:
        w = np.linalg.eigvalsh(x)
    except np.linalg.LinAlgError:
        raise _no_eigenvalues("eigvalsh") from None
    if np.isnan(w).any():
        raise _no_eigenvalues("eigvalsh")
    return w


def _eigvalsh_rule(g: Any, x: Any) -> Any:
    _, v = eigh_(x)
    return conjugate(_to_lower((v * _row(_like(g, v))) @ adjoint_(v)))


eigvalsh_.rules(x=_eigvalsh_rule)

# ---------------------------------------------------------------------------------------------------------------------
# Eigenvalues of any square matrix: complex, and so are the eigenvectors, of length 1


@primitive(wide=True, multiple=True, name="eig")
def eig_(x):
    try:
        w, v = xp(x).linalg.eig(x)
    except np.linalg.LinAlgError:
        raise _no_eigenvalues("eig") from None
    to = np.result_type(x.dtype, np.complex64)
    return w.astype(to), v.astype(to)


def _eig_rule(g: Any, x: Any, out: Any) -> Any:
    """V^-H (diag(g_w) + conj(F) * (W - V^H V Re diag W)) V^H, with W = V^H g_V.

    The part behind the minus keeps the eigenvectors' length. Their phase is free; nothing depends on it.
    """
    (by_w, by_v), (w, v) = (conjugate(part) for part in g), out
    vh = adjoint_(v)
    turned = vh @ by_v
    turned = turned - (vh @ v) * _row(_real_part(diagonal(turned)))
    inner = on_diagonal(by_w) + conjugate(_inverse_gaps(w)) * turned
    return _from_eigenvectors(inner, v, x)


def _from_eigenvectors(inner: Any, v: Any, x: Any) -> Any:
    """V^-H inner V^H, conjugated, as a gradient of x."""
    total = conjugate(adjoint_(inv_(v)) @ inner @ adjoint_(v))
    dtype = of(array_of(x)).name
    source = of(array_of(total)).name
    return total if dtype == source else cast_(total, dtype=dtype, source=source)


eig_.rules(x=_eig_rule)


@primitive(wide=True, name="eigvals")
def eigvals_(x):
    try:
        w = xp(x).linalg.eigvals(x)
    except np.linalg.LinAlgError:
        raise _no_eigenvalues("eigvals") from None
    return w.astype(np.result_type(x.dtype, np.complex64))


def _eigvals_rule(g: Any, x: Any) -> Any:
    _, v = eig_(x)
    return _from_eigenvectors(on_diagonal(conjugate(g)), v, x)


eigvals_.rules(x=_eigvals_rule)

# ---------------------------------------------------------------------------------------------------------------------
# Singular values: A = U diag(s) V^H


@primitive(wide=True, multiple=True, name="svd")
def svd_(x, *, full):
    """The singular values, from the largest to the smallest, U and V; nan for matrices with inf or nan."""
    u, s, vh = _finite(lambda x: xp(x).linalg.svd(x, full_matrices=full), x)
    return s, u, vh.conj().swapaxes(-1, -2)


@primitive(wide=True)
def singular_values(x):
    (s,) = _finite(lambda x: (xp(x).linalg.svd(x, compute_uv=False),), x)
    return s


def _finite(decompose: Any, x: Any) -> Any:
    """What `decompose` gives, and nan for the matrices that hold inf or nan, which LAPACK does not take."""
    if xp(x) is not np or np.isfinite(x).all():
        return decompose(x)
    whole = np.isfinite(x).all((-2, -1))
    parts = decompose(np.where(whole[..., None, None], x, 0))
    for part in parts:
        part[~whole] = np.nan
    return parts


def _svd_rule(g: Any, x_shape: tuple[int, ...], out: Any) -> Any:
    """U ((F * (W - W^H)) S + S (F * (Z - Z^H)) + diag(g_s)) V^H, with W = U^H g_U, Z = V^H g_V, F_ij = 1/(s_j² - s_i²).

    What g_U and g_V say about directions outside of U and V comes on top. A common phase of a pair of complex singular
    vectors is free: it is counted with U.
    """
    (by_s, by_u, by_v), (s, u, v) = g, out
    by_u, by_v = conjugate(by_u), conjugate(by_v)
    rows, columns = x_shape[-2:]
    size = min(rows, columns)
    left, by_left = _columns(u, None, size), _columns(by_u, None, size)
    right, by_right = _columns(v, None, size), _columns(by_v, None, size)
    w, z = adjoint_(left) @ by_left, adjoint_(right) @ by_right
    f = _like(_inverse_gaps(s) * _inverse(_row(s) + _column(s), s), u)
    along, inverse = _like(_row(s), u), _like(_inverse(_row(s), s), u)
    inner = (f * (w - adjoint_(w))) * along + swap_last(along) * (f * (z - adjoint_(z)))
    inner = inner + on_diagonal(_like(by_s, u))
    if array_of(u).dtype.kind == "c":
        phase = imag_(diagonal(w))
        inner = inner + on_diagonal(complex_(phase * zero_like(phase), phase)) * inverse
    whole = left @ inner @ adjoint_(right)
    if rows > size:
        outside = _outside(u, by_u, left, by_left, w, size)
        whole = whole + (outside * inverse) @ adjoint_(right)
    if columns > size:
        outside = _outside(v, by_v, right, by_right, z, size)
        whole = whole + left @ adjoint_(outside * inverse)
    return conjugate(whole)


def _outside(u: Any, by_u: Any, left: Any, by_left: Any, w: Any, size: int) -> Any:
    """The part of a gradient of singular vectors that points out of their span; a full U's others turn with it."""
    outside = by_left - left @ w
    if u.shape[-1] > size:
        outside = outside - _columns(u, size, None) @ (adjoint_(_columns(by_u, size, None)) @ left)
    return outside


svd_.rules(x=_svd_rule)


def _singular_values_rule(g: Any, x: Any) -> Any:
    _, u, v = svd_(x, full=False)
    return conjugate((u * _row(_like(g, u))) @ adjoint_(v))


singular_values.rules(x=_singular_values_rule)

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


class Qr(NamedTuple):
    """What `qr` returns."""

    q: Tensor
    r: Tensor


class Lu(NamedTuple):
    """What `lu` returns."""

    lu: Tensor
    p: Tensor


def cholesky(input: Any, name: str | None = None) -> Tensor:
    """L, a lower triangle, with `L @ adjoint(L) = input`, for symmetric (Hermitian) positive definite matrices.

    Only the lower triangle is read; the gradient is symmetric. Raises InvalidArgumentError for other matrices.

    >>> cholesky([[4.0, 2.0], [2.0, 2.0]]).numpy()
    array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    (x,) = matrices("cholesky", input)
    return apply(cholesky_, (x,))


def lu(input: Any, output_idx_type: Any = "int32", name: str | None = None) -> Lu:
    """The factors of each square matrix: L (without its diagonal of ones) and U in one matrix, and the order of rows.

    >>> factors = lu([[0.0, 2.0], [4.0, 1.0]])
    >>> factors.lu.numpy().tolist(), factors.p.numpy().tolist()
    ([[4.0, 1.0], [0.0, 2.0]], [1, 0])
    """
    (x,) = matrices("lu", input)
    return Lu(*apply(lu_, (x,), {"index_dtype": as_dtype(output_idx_type).name}))


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Q with orthonormal columns and R, an upper triangle, with `Q @ R = input`; a square Q with `full_matrices`.

    >>> q, r = qr([[3.0, 1.0], [4.0, 2.0]])
    >>> (q @ r).numpy().round(4).tolist()
    [[3.0, 1.0], [4.0, 2.0]]
    """
    (x,) = matrices("qr", input, square=False)
    return Qr(*apply(qr_, (x,), {"full": bool(full_matrices)}))


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """The singular values s, and (unless `compute_uv` is False) U and V, with `tensor = U @ diag(s) @ adjoint(V)`.

    Where singular values are equal, gradients do not turn their vectors among each other: TensorFlow's are infinite.

    >>> svd([[3.0, 0.0], [0.0, 4.0]], compute_uv=False).numpy()
    array([4., 3.], dtype=float32)
    """
    (x,) = matrices("svd", tensor, square=False)
    if not compute_uv:
        return apply(singular_values, (x,))
    return apply(svd_, (x,), {"full": bool(full_matrices)})


def eigh(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The eigenvalues (ascending) and eigenvectors, in columns, of symmetric (Hermitian) matrices.

    Only the lower triangle is read, and gets the gradient. Where eigenvalues are equal, gradients do not turn their
    vectors among each other: TensorFlow's are infinite.

    >>> e, v = eigh([[2.0, 0.0], [0.0, 1.0]])
    >>> e.numpy()
    array([1., 2.], dtype=float32)
    """
    (x,) = matrices("eigh", tensor)
    w, v = apply(eigh_, (x,))
    return cast(w, x.dtype), v


def eigvalsh(tensor: Any, name: str | None = None) -> Tensor:
    """The eigenvalues (ascending) of symmetric (Hermitian) matrices; see `eigh`.

    >>> eigvalsh([[2.0, 0.0], [0.0, 1.0]]).numpy()
    array([1., 2.], dtype=float32)
    """
    (x,) = matrices("eigvalsh", tensor)
    return cast(apply(eigvalsh_, (x,)), x.dtype)


def _with_complex(name: str, tensor: Any) -> list[Tensor]:
    """Square matrices of a dtype that has a complex one of its precision."""
    given = matrices(name, tensor)
    if given[0].dtype.size == 2:
        raise DTypeError(
            f"{name}: there is no complex dtype for {given[0].dtype.name}: use cast(x, 'float32')"
        )
    return given


def eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The eigenvalues, in no particular order, and eigenvectors, in columns of length 1, of square matrices; complex.

    >>> e, v = eig([[0.0, 1.0], [-1.0, 0.0]])
    >>> sorted(e.numpy().imag.tolist())
    [-1.0, 1.0]
    """
    (x,) = _with_complex("eig", tensor)
    w, v = apply(eig_, (x,))
    return w, v


def eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """The eigenvalues, in no particular order, of square matrices; complex.

    >>> sorted(eigvals([[0.0, 1.0], [-1.0, 0.0]]).numpy().imag.tolist())
    [-1.0, 1.0]
    """
    (x,) = _with_complex("eigvals", tensor)
    return apply(eigvals_, (x,))
