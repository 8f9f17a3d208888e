"""Linear algebra: values against NumPy and SciPy, gradients of what is composed, edges, bad input."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

import gradtape as tf
from gradtape.engine import blas

la = tf.linalg
RANDOM = np.random.default_rng(0)


def random(*shape, complex=False):
    x = RANDOM.normal(size=shape)
    return x + 1j * RANDOM.normal(size=shape) if complex else x


def regular(*shape, complex=False):
    return random(*shape, complex=complex) + 4 * np.eye(shape[-1])


def positive(*shape, complex=False):
    x = random(*shape, complex=complex)
    return x @ x.conj().swapaxes(-1, -2) + np.eye(shape[-1])


def gradient(function, *arrays):
    """The gradients of the sum of the squares of all that a function returns."""
    tensors = [tf.constant(a) for a in arrays]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        total = loss(function, *tensors)
    return [g.numpy() for g in tape.gradient(total, tensors)]


def loss(function, *tensors):
    parts = tf.nest.flatten(function(*tensors))
    return sum(tf.reduce_sum(tf.square(tf.abs(p))) for p in parts)


def differences(function, *arrays, step=1e-6):
    results = []
    for i, a in enumerate(arrays):
        slope = np.zeros_like(a)
        for at in np.ndindex(a.shape):
            for unit in (1, 1j) if np.iscomplexobj(a) else (1,):
                ends = []
                for sign in (1, -1):
                    moved = [b.copy() for b in arrays]
                    moved[i][at] += sign * step * unit
                    ends.append(float(loss(function, *map(tf.constant, moved))))
                slope[at] += (ends[0] - ends[1]) / (2 * step) * unit
        results.append(slope)
    return results


A, B, S, H = regular(2, 3, 3), random(2, 3, 2), positive(2, 3, 3), positive(3, 3, complex=True)
TALL, WIDE, C = random(4, 2), random(2, 4), regular(3, 3, complex=True)
T = tf.constant(B)
EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("bij,bkj->bik", (2, 2, 3), (2, 4, 3)),
    ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
    ("jki,lj->kil", (3, 2, 4), (5, 3)),
    ("ij,kj->k", (2, 3), (4, 3)),
    ("iij,j->i", (2, 2, 3), (3,)),
    ("i,j->ji", (2,), (3,)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("bi,bi->b", (2, 3), (2, 3)),
    ("ab,cd->", (2, 3), (2, 2)),
    ("ij,jk,kl->li", (2, 3), (3, 4), (4, 2)),
    ("a,b,c,d->ca", (2,), (3,), (2,), (4,)),
    ("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 4)),
    ("i...->...", (2, 3)),
    ("ii->i", (3, 3)),
    ("ij,jk->ik", (2, 0), (0, 3)),
]


@pytest.mark.parametrize("equation, shapes", [(e, s) for e, *s in EQUATIONS])
@pytest.mark.parametrize("dtype", ["float64", "complex64", "int32"])
def test_einsum(equation, shapes, dtype):
    xs = [(10 * random(*s)).astype(dtype) for s in shapes]
    assert_allclose(tf.einsum(equation, *xs), np.einsum(equation, *xs), rtol=1e-5, atol=1e-4)


def from_singular_values(s, u, v):
    return la.matmul(u * tf.cast(s, u.dtype)[..., None, :], v, adjoint_b=True)


def from_eigenvalues(e, v):
    return (v * e[..., None, :]) @ la.inv(v)


VALUES = {
    "matmul with itself, transposed": (lambda: la.matmul(T, T, transpose_b=True), B @ B.swapaxes(-1, -2)),
    "matmul with itself, the other way": (lambda: la.matmul(T, T, transpose_a=True), B.swapaxes(-1, -2) @ B),
    "matvec": (lambda: la.matvec(A, B[..., 0]), np.einsum("bij,bj->bi", A, B[..., 0])),
    "matvec transposed": (
        lambda: la.matvec(A, B[..., 0], transpose_a=True),
        np.einsum("bji,bj->bi", A, B[..., 0]),
    ),
    "inv": (lambda: la.inv(A), np.linalg.inv(A)),
    "inv adjoint": (lambda: la.inv(C, adjoint=True), np.linalg.inv(C.conj().T)),
    "solve": (lambda: la.solve(A, B), np.linalg.solve(A, B)),
    "solve adjoint": (lambda: la.solve(C, C, adjoint=True), np.linalg.solve(C.conj().T, C)),
    "solve, one matrix for many": (lambda: la.solve(A[0], B), np.linalg.solve(A[:1].repeat(2, 0), B)),
    "solve, many matrices for one": (lambda: la.solve(A, B[0]), np.linalg.solve(A, B[:1].repeat(2, 0))),
    "triangular_solve": (lambda: la.triangular_solve(A, B), np.linalg.solve(np.tril(A), B)),
    "triangular_solve upper": (
        lambda: la.triangular_solve(A, B, lower=False),
        np.linalg.solve(np.triu(A), B),
    ),
    "triangular_solve adjoint": (
        lambda: la.triangular_solve(C, C, adjoint=True),
        np.linalg.solve(np.tril(C).conj().T, C),
    ),
    "triangular_solve upper adjoint": (
        lambda: la.triangular_solve(C, C, lower=False, adjoint=True),
        np.linalg.solve(np.triu(C).conj().T, C),
    ),
    "triangular_solve, one matrix for many": (
        lambda: la.triangular_solve(A[0], B),
        np.linalg.solve(np.tril(A[0]), B),
    ),
    "cholesky": (lambda: la.cholesky(S), np.linalg.cholesky(S)),
    "cholesky, one": (lambda: la.cholesky(H), np.linalg.cholesky(H)),
    "cholesky reads the lower triangle": (lambda: la.cholesky(np.tril(S[0])), np.linalg.cholesky(S[0])),
    "cholesky_solve": (lambda: la.cholesky_solve(la.cholesky(S), B), np.linalg.solve(S, B)),
    "lu_solve": (lambda: la.lu_solve(*la.lu(A), B), np.linalg.solve(A, B)),
    "lu_reconstruct": (lambda: la.lu_reconstruct(*la.lu(A)), A),
    "lu_matrix_inverse": (lambda: la.lu_matrix_inverse(*la.lu(A)), np.linalg.inv(A)),
    "lstsq": (lambda: la.lstsq(TALL, TALL + 1), np.linalg.lstsq(TALL, TALL + 1)[0]),
    "lstsq wide": (lambda: la.lstsq(WIDE, WIDE + 1), np.linalg.lstsq(WIDE, WIDE + 1)[0]),
    "lstsq slow": (lambda: la.lstsq(WIDE, WIDE + 1, fast=False), np.linalg.lstsq(WIDE, WIDE + 1)[0]),
    "lstsq regularized": (
        lambda: la.lstsq(TALL, TALL, l2_regularizer=0.5),
        np.linalg.solve(TALL.T @ TALL + 0.5 * np.eye(2), TALL.T @ TALL),
    ),
    "pinv": (lambda: la.pinv(TALL), np.linalg.pinv(TALL)),
    "pinv, rcond": (lambda: la.pinv(np.diag([1.0, 0.1]), rcond=0.5), np.diag([1.0, 0.0])),
    "qr": (lambda: la.qr(A).q @ la.qr(A).r, A),
    "qr full": (lambda: la.qr(TALL, full_matrices=True).q, np.linalg.qr(TALL, "complete").Q),
    "svd values": (lambda: la.svd(A, compute_uv=False), np.linalg.svd(A)[1]),
    "svd": (lambda: from_singular_values(*la.svd(A)), A),
    "svd complex": (lambda: from_singular_values(*la.svd(C)), C),
    "svd full": (lambda: la.svd(WIDE, full_matrices=True)[2], np.linalg.svd(WIDE)[2].T),
    "eigh": (lambda: from_eigenvalues(*la.eigh(S)), S),
    "eigvalsh": (lambda: la.eigvalsh(S), np.linalg.eigvalsh(S)),
    "eig": (lambda: from_eigenvalues(*la.eig(A)), A.astype(complex)),
    "eigvals": (lambda: la.eigvals(A), np.linalg.eigvals(A) + 0j),
    "det": (lambda: la.det(A), np.linalg.det(A)),
    "slogdet sign": (lambda: la.slogdet(-A).sign, np.linalg.slogdet(-A)[0]),
    "slogdet": (lambda: la.slogdet(A).log_abs_determinant, np.linalg.slogdet(A)[1]),
    "slogdet complex": (lambda: la.slogdet(C)[1], np.linalg.slogdet(C)[1] + 0j),
    "logdet": (lambda: la.logdet(S), np.linalg.slogdet(S)[1]),
    "logdet complex": (lambda: la.logdet(H), np.linalg.slogdet(H)[1]),
    "expm": (lambda: la.expm(A), scipy.linalg.expm(A)),
    "logm": (lambda: la.logm(H), scipy.linalg.logm(H)),
    "sqrtm": (lambda: la.matmul(la.sqrtm(S), la.sqrtm(S)), S),
    "sqrtm without a real root": (
        lambda: la.sqrtm([np.eye(2), -np.eye(2)]),
        [np.eye(2), np.full((2, 2), np.nan)],
    ),
    "trace": (lambda: la.trace(B), B[:, 0, 0] + B[:, 1, 1]),
    "cross": (lambda: la.cross(A, A[:, ::-1]), np.cross(A, A[:, ::-1])),
    "adjoint": (lambda: la.adjoint(C), C.conj().T),
    "matrix_transpose": (lambda: la.matrix_transpose(C), C.T),
    "matrix_transpose conjugate": (lambda: la.matrix_transpose(C, conjugate=True), C.conj().T),
    "matrix_rank": (
        lambda: la.matrix_rank([np.eye(3), np.ones((3, 3)), np.zeros((3, 3))]),
        np.int32([3, 1, 0]),
    ),
    "matrix_rank, tol": (lambda: la.matrix_rank(np.diag([1.0, 0.1]), tol=0.5), np.int32(1)),
    "matrix_rank, a tol for each": (
        lambda: la.matrix_rank([np.diag([1.0, 0.1]), np.diag([1.0, 0.1])], tol=[[0.5], [0.01]]),
        np.int32([1, 2]),
    ),
    "matrix_rank, a tol for each singular value": (
        lambda: la.matrix_rank([np.diag([1.0, 0.1]), np.diag([1.0, 0.01])], tol=[0.5, 0.05]),
        np.int32([2, 1]),
    ),
    "matrix_rank of Python's integers": (lambda: la.matrix_rank([[1, 2], [2, 4]]), np.int32(1)),
    "norm 2": (lambda: la.norm(A, 2, axis=[-2, -1]), np.linalg.norm(A, 2, axis=(-2, -1))),
    "norm 1": (lambda: la.norm(A, 1, axis=[-2, -1]), np.linalg.norm(A, 1, axis=(-2, -1))),
    "norm inf": (lambda: la.norm(A, np.inf, axis=[-2, -1]), np.linalg.norm(A, np.inf, axis=(-2, -1))),
    "norm fro": (lambda: la.norm(A, "fro", axis=[-2, -1]), np.linalg.norm(A, axis=(-2, -1))),
    "norm 2, keepdims": (
        lambda: la.norm(A, 2, axis=[0, 2], keepdims=True),
        np.linalg.norm(A, 2, (0, 2), True),
    ),
    "norm 3": (lambda: la.norm(A, 3, axis=1), np.linalg.norm(A, 3, axis=1)),
    "norm complex": (lambda: la.norm(C), np.linalg.norm(C) + 0j),
    "normalize": (lambda: la.normalize(A, axis=1)[0], A / np.linalg.norm(A, axis=1, keepdims=True)),
    "normalize zeros": (lambda: la.normalize([0.0, 0.0])[0], np.float32([0, 0])),
    "l2_normalize": (lambda: la.l2_normalize(A, axis=1), A / np.linalg.norm(A, axis=1, keepdims=True)),
    "l2_normalize complex": (lambda: la.l2_normalize(C), C / np.linalg.norm(C)),
    "tensor_diag": (lambda: la.tensor_diag(WIDE)[1, 2, 1], [0, 0, WIDE[1, 2], 0]),
    "tensor_diag_part": (lambda: la.tensor_diag_part(la.tensor_diag(WIDE)), WIDE),
    "band_part": (lambda: la.band_part(A, 1, 0), np.triu(np.tril(A), -1)),
    "band_part drops nan": (
        lambda: la.band_part([[1.0, np.nan], [2.0, 3.0]], -1, 0),
        np.float32([[1, 0], [2, 3]]),
    ),
    "tridiagonal_solve": (
        lambda: la.tridiagonal_solve(la.diag_part(A, k=(-1, 1), align="LEFT_RIGHT"), B),
        np.linalg.solve(np.triu(np.tril(A, 1), -1), B),
    ),
    "tridiagonal_solve of a vector, from a matrix": (
        lambda: la.tridiagonal_solve(A, B[..., 0], diagonals_format="matrix"),
        np.linalg.solve(np.triu(np.tril(A, 1), -1), B)[..., 0],
    ),
    "tridiagonal_matmul from a sequence": (
        lambda: la.tridiagonal_matmul([A[0, 0, :2], A[0, 1], A[0, 2, 1:]], B[0], diagonals_format="sequence"),
        (np.diag(A[0, 0, :2], 1) + np.diag(A[0, 1]) + np.diag(A[0, 2, 1:], -1)) @ B[0],
    ),
}


@pytest.mark.parametrize("what", VALUES)
def test_value(what):
    function, wanted = VALUES[what]
    got = function()
    assert got.dtype == np.asarray(wanted).dtype
    assert_allclose(got, wanted, rtol=1e-10, atol=1e-10)


# Made of the numbers 1, 2, ... in the way TensorFlow 2.21 does it.
DIAGONALS = {
    "diag": (lambda: la.diag([1, 2]), [[1, 0], [0, 2]]),
    "diag k": (lambda: la.diag([1, 2], k=1), [[0, 1, 0], [0, 0, 2], [0, 0, 0]]),
    "diag k below, padding": (
        lambda: la.diag([1, 2], k=-1, padding_value=9),
        [[9, 9, 9], [1, 9, 9], [9, 2, 9]],
    ),
    "diag rows": (lambda: la.diag([1, 2], k=-1, num_rows=3, num_cols=2), [[0, 0], [1, 0], [0, 2]]),
    "diag several": (
        lambda: la.diag([[0, 8, 9], [1, 2, 3], [4, 5, 0]], k=(-1, 1)),
        [[1, 8, 0], [4, 2, 9], [0, 5, 3]],
    ),
    "diag several, left": (
        lambda: la.diag([[8, 9, 0], [1, 2, 3], [0, 4, 5]], k=(-1, 1), align="LEFT_RIGHT"),
        [[1, 8, 0], [4, 2, 9], [0, 5, 3]],
    ),
    "diag_part": (lambda: la.diag_part([[1, 2, 3], [4, 5, 6]]), [1, 5]),
    "diag_part k": (lambda: la.diag_part([[1, 2, 3], [4, 5, 6]], k=1), [2, 6]),
    "diag_part several": (lambda: la.diag_part([[1, 2, 3], [4, 5, 6]], k=(-1, 1)), [[2, 6], [1, 5], [4, 0]]),
    "diag_part padding": (
        lambda: la.diag_part([[1, 2, 3], [4, 5, 6]], k=(0, 2), padding_value=9),
        [[9, 3], [2, 6], [1, 5]],
    ),
    "diag_part right": (
        lambda: la.diag_part([[1, 2], [3, 4], [5, 6]], k=(-2, 0), align="RIGHT_RIGHT"),
        [[1, 4], [3, 6], [0, 5]],
    ),
    "set_diag": (lambda: la.set_diag(np.zeros((2, 3), int), [1, 2]), [[1, 0, 0], [0, 2, 0]]),
    "set_diag several": (
        lambda: la.set_diag(np.zeros((2, 3), int), [[1, 2], [3, 4]], k=(0, 1)),
        [[3, 1, 0], [0, 4, 2]],
    ),
    "of booleans": (lambda: la.diag_part(la.diag([True, False])), [True, False]),
}


@pytest.mark.parametrize("what", DIAGONALS)
def test_diagonals(what):
    function, wanted = DIAGONALS[what]
    assert function().numpy().tolist() == wanted


def rest_of_u(x):
    s, u, _ = la.svd(x, full_matrices=True)
    rest = u[..., s.shape[-1] :]
    return s, rest @ la.adjoint(rest)


def rest_of_q(x):
    q, r = la.qr(x, full_matrices=True)
    rest = q[..., r.shape[-1] :]
    return rest @ la.adjoint(rest), r


COMPOSED = {
    "matmul with itself": (lambda x: la.matmul(x, x, transpose_a=True), random(2, 3)),
    "matvec": (la.matvec, regular(2, 2), random(2)),
    "solve, one matrix for many": (la.solve, regular(2, 2), random(2, 2, 1)),
    "triangular_solve, many matrices for one": (la.triangular_solve, regular(2, 2, 2), random(2, 1)),
    "cholesky_solve": (
        lambda a, b: la.cholesky_solve(la.cholesky(a @ la.adjoint(a)), b),
        regular(2, 2),
        random(2, 1),
    ),
    "lu_solve": (lambda a, b: la.lu_solve(*la.lu(a), b), regular(2, 2), random(2, 2)),
    "lu_reconstruct": (lambda a: la.lu_reconstruct(*la.lu(a)), regular(2, 2)),
    "lstsq": (la.lstsq, random(3, 2), random(3, 1)),
    "lstsq wide": (la.lstsq, random(2, 3), random(2, 1)),
    "lstsq slow": (lambda a, b: la.lstsq(a, b, fast=False), random(3, 2), random(3, 1)),
    "lstsq regularized": (
        lambda a, b, c: la.lstsq(a, b, l2_regularizer=c),
        random(3, 2),
        random(3, 1),
        np.array(0.5),
    ),
    "lstsq complex": (la.lstsq, random(3, 2, complex=True), random(3, 1, complex=True)),
    "logdet": (lambda a: la.logdet(a @ la.adjoint(a)), regular(2, 2)),
    "logdet complex": (lambda a: la.logdet(a @ la.adjoint(a)), regular(2, 2, complex=True)),
    "slogdet complex": (lambda a: la.slogdet(a), regular(2, 2, complex=True)),
    "inv adjoint": (lambda a: la.inv(a, adjoint=True), regular(2, 2, complex=True)),
    "norm 2": (lambda a: la.norm(a, 2, axis=[0, 1]), random(2, 3)),
    "norm 3": (lambda a: la.norm(a, 3), random(2, 3)),
    "normalize": (lambda a: la.normalize(a, 1)[0] * np.arange(3.0), random(3)),
    "l2_normalize complex": (lambda a: la.l2_normalize(a) + 1, random(3, complex=True)),
    "set_diag": (lambda a, d: la.set_diag(a, d, k=(0, 1)), random(2, 3), random(2, 2)),
    "diag": (lambda d, p: la.diag(d, padding_value=p), random(2), np.array(0.5)),
    "diag_part": (lambda a, p: la.diag_part(a, k=(-1, 1), padding_value=p), random(2, 3), np.array(0.5)),
    "tensor_diag": (la.tensor_diag, random(2)),
    "tensor_diag_part": (la.tensor_diag_part, random(2, 2)),
    "tridiagonal_matmul": (la.tridiagonal_matmul, random(3, 3), random(3, 2)),
    "what a full qr adds": (rest_of_q, random(3, 1)),
    "what a full svd adds": (rest_of_u, random(3, 1)),
    "what a full svd adds, complex": (rest_of_u, random(3, 1, complex=True)),
}


@pytest.mark.parametrize("what", COMPOSED)
def test_gradient(what):
    function, *inputs = COMPOSED[what]
    for got, wanted in zip(gradient(function, *inputs), differences(function, *inputs), strict=True):
        assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------------------------------------------------------------
# Edges


def hessian(function, x):
    x = tf.constant(x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        slope = inner.gradient(y, x)
    return slope.numpy(), outer.jacobian(slope, x).numpy()


@pytest.mark.parametrize("x", [[[1.0, 2.0], [2.0, 4.0]], np.zeros((2, 2)), np.arange(9.0).reshape(3, 3)])
def test_the_determinant_of_a_singular_matrix_has_gradients(x):
    x = np.asarray(x)
    slope, bend = hessian(la.det, x)
    units = np.eye(x.size).reshape(-1, *x.shape)
    near = [(np.linalg.det(x + 1e-3 * u) - np.linalg.det(x - 1e-3 * u)) / 2e-3 for u in units]
    assert_allclose(slope.ravel(), near, atol=1e-9)  # det is linear in each element
    mixed = [
        [
            np.linalg.det(x + u + v) - np.linalg.det(x + u) - np.linalg.det(x + v) + np.linalg.det(x)
            for v in units
        ]
        for u in units
    ]
    assert_allclose(bend.reshape(x.size, x.size), mixed, atol=1e-9)


@pytest.mark.parametrize(
    "values",
    [lambda x: la.eigh(x)[0], la.eigvalsh, lambda x: la.svd(x)[0], lambda x: la.svd(x, compute_uv=False)],
)
@pytest.mark.parametrize(
    "x", [np.eye(3), np.diag([1.0, 1.0, 2.0]), scipy.linalg.hadamard(4) @ np.diag([1.0, 1, 2, 2])]
)
def test_equal_eigenvalues_and_singular_values_have_gradients(values, x):
    x = x @ x.T / len(x)
    slope, bend = hessian(lambda a: tf.reduce_sum(values((a + la.adjoint(a)) * 0.5)), x)
    assert_allclose(slope, np.eye(len(x)), atol=1e-12)  # their sum is the trace
    assert_allclose(bend, 0, atol=1e-9)


def test_vectors_of_equal_values_get_finite_gradients():
    for function in (la.eigh, la.svd):
        for g in gradient(function, np.eye(3)):
            assert np.isfinite(g).all()


def test_gradients_at_zero():
    zeros = np.zeros((2, 3))
    for function in (lambda x: la.norm(x, 2, axis=[0, 1]), la.norm, lambda x: la.normalize(x)[0], la.svd):
        assert_allclose(gradient(function, zeros)[0], 0)


def test_nan_in_a_batch_stays_in_its_matrix():
    x = np.stack([np.eye(2), np.full((2, 2), np.nan)])
    s, u, v = la.svd(x)
    assert_allclose(s, [[1, 1], [np.nan, np.nan]])
    assert np.isnan(u[1]).all() and np.isnan(v[1]).all() and np.isfinite(u[0]).all()


@pytest.mark.parametrize("shape", [(2, 2), (2, 2, 2), (30, 30), (2, 30, 30)])
def test_a_zero_on_the_diagonal_of_a_triangle_gives_inf(shape):
    a = np.broadcast_to(np.tril(np.ones(shape[-2:])), shape).copy()
    a[..., 0, 0] = 0
    x = la.triangular_solve(a, np.ones((*shape[:-1], 1))).numpy()
    assert np.isinf(x[..., 0, 0]).all()


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("columns", [1, 40])
def test_large_triangles(lower, transposed, columns):
    a, b = regular(1100, 1100) * 0.01 + np.eye(1100), random(1100, columns)
    x = la.triangular_solve(a, b, lower=lower, adjoint=transposed).numpy()
    triangle = np.tril(a) if lower else np.triu(a)
    assert_allclose((triangle.T if transposed else triangle) @ x, b, atol=1e-9)
    by_columns = la.triangular_solve(tf.constant(np.asfortranarray(a)), b, lower=lower, adjoint=transposed)
    assert_allclose(by_columns, x, atol=1e-9)


def test_large_cholesky():
    for n in (100, 1100):
        x = positive(n, n)
        assert_allclose(la.cholesky(x), np.linalg.cholesky(x), atol=1e-8)
    (half,) = gradient(lambda a: la.cholesky(a)[0, 0], x)
    assert_allclose(half, np.pad([[1.0]], (0, n - 1)), atol=1e-12)  # L[0, 0] ** 2 = A[0, 0]


def test_scipy_gets_its_threads_back():
    alone, threads = blas.in_scipy, blas.in_scipy.threads
    if threads is None:
        pytest.skip("another BLAS, or a single core")
    assert alone(alone, threads.get) == 1
    assert threads.get() == threads.first
    with pytest.raises(ZeroDivisionError):
        alone(lambda: 1 / 0)
    assert threads.get() == threads.first


# ---------------------------------------------------------------------------------------------------------------------
# Dtypes and nothing at all

MOVE = [
    la.trace, la.diag, la.diag_part, la.norm, la.normalize, la.l2_normalize, la.adjoint, la.tensor_diag,
    lambda x: la.matmul(x, x), lambda x: tf.einsum("ij,jk->ik", x, x), lambda x: tf.tensordot(x, x, 1),
    lambda x: la.cross(x, x), lambda x: la.band_part(x, 1, 0), lambda x: la.matvec(x, x[0]),
]  # fmt: skip
SOLVE = [
    la.inv, la.pinv, la.cholesky, la.qr, la.lu, la.svd, la.eigh, la.det, la.slogdet, la.logdet, la.expm, la.sqrtm,
    lambda x: la.solve(x, x), lambda x: la.triangular_solve(x, x), lambda x: la.lstsq(x, x),
    lambda x: la.norm(x, 2, axis=[0, 1]), lambda x: la.tridiagonal_solve(x, x),
]  # fmt: skip


@pytest.mark.parametrize(
    "function, dtype",
    [(f, dtype) for f in MOVE + SOLVE for dtype in ("float16", "float32")] + [(f, "bfloat16") for f in MOVE],
)
def test_floating_dtypes_are_kept(function, dtype):
    x = tf.cast(S[0], dtype)
    exact = [part for part in tf.nest.flatten(function(tf.cast(x, "float64"))) if part.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(x)
        parts = [part for part in tf.nest.flatten(function(x)) if part.dtype.is_floating]
    for part, wanted in zip(parts, exact, strict=True):
        assert part.dtype.name == dtype
        assert_allclose(tf.cast(part, "float64"), wanted, rtol=0.1, atol=0.2)
    assert tape.gradient(parts, x).dtype.name == dtype


@pytest.mark.parametrize("function", SOLVE)
def test_no_bfloat16_where_tensorflow_has_none(function):
    with pytest.raises(TypeError, match="takes float16, float32, float64 or complex tensors, not bfloat16"):
        function(tf.cast(S[0], "bfloat16"))


COMPLEX = {
    "eigh": (lambda x: la.eigh(x)[0], "complex64"),
    "eigvalsh": (la.eigvalsh, "complex64"),
    "slogdet": (lambda x: la.slogdet(x)[1], "complex64"),
    "norm": (la.norm, "complex64"),
    "norm 1": (lambda x: la.norm(x, 1), "float32"),
    "norm 2 of a matrix": (lambda x: la.norm(x, 2, axis=[0, 1]), "float32"),
    "svd": (lambda x: la.svd(x)[0], "float32"),
    "logdet": (la.logdet, "float32"),
}


@pytest.mark.parametrize("what", COMPLEX)
def test_which_results_of_complex_matrices_are_real(what):
    function, dtype = COMPLEX[what]
    assert function(H.astype("complex64")).dtype.name == dtype


def test_eigenvalues_of_real_matrices_are_complex():
    assert [x.dtype.name for x in la.eig(np.eye(2, dtype="float32"))] == ["complex64", "complex64"]
    assert la.eigvals(np.eye(2)).dtype.name == "complex128"
    assert la.lu(np.eye(2), output_idx_type="int64").p.dtype.name == "int64"


EMPTY = {
    "inv": (la.inv, (0, 0), [(0, 0)]),
    "no matrices": (la.inv, (0, 2, 2), [(0, 2, 2)]),
    "solve": (lambda x: la.solve(x, x), (0, 2, 2), [(0, 2, 2)]),
    "triangular_solve": (lambda x: la.triangular_solve(x, x), (0, 30, 30), [(0, 30, 30)]),
    "no columns": (lambda x: la.triangular_solve(x, x[..., :0]), (2, 2), [(2, 0)]),
    "cholesky": (la.cholesky, (2, 0, 0), [(2, 0, 0)]),
    "lu": (la.lu, (0, 0), [(0, 0), (0,)]),
    "qr": (la.qr, (0, 3), [(0, 0), (0, 3)]),
    "qr full": (lambda x: la.qr(x, full_matrices=True), (3, 0), [(3, 3), (3, 0)]),
    "svd": (la.svd, (0, 3), [(0,), (0, 0), (3, 0)]),
    "eigh": (la.eigh, (0, 0), [(0,), (0, 0)]),
    "det": (la.det, (0, 0), [()]),
    "pinv": (la.pinv, (0, 2), [(2, 0)]),
    "lstsq": (lambda x: la.lstsq(x, np.ones((3, 2))), (3, 0), [(0, 2)]),
    "expm": (la.expm, (0, 0), [(0, 0)]),
    "sqrtm": (la.sqrtm, (2, 0, 0), [(2, 0, 0)]),
    "logm": (lambda x: la.logm(tf.cast(x, "complex128")), (0, 2, 2), [(0, 2, 2)]),
    "matrix_rank": (la.matrix_rank, (0, 3), [()]),
    "tridiagonal_solve": (lambda x: la.tridiagonal_solve(x, x), (0, 3, 3), [(0, 3, 3)]),
    "diag": (la.diag, (0,), [(0, 0)]),
    "diag_part": (la.diag_part, (0, 2), [(0,)]),
    "trace": (la.trace, (0, 2), [()]),
    "band_part": (lambda x: la.band_part(x, 0, 0), (0, 2), [(0, 2)]),
    "cross": (lambda x: la.cross(x, x), (0, 3), [(0, 3)]),
    "norm": (la.norm, (0,), [()]),
}


@pytest.mark.parametrize("what", EMPTY)
def test_nothing(what):
    function, shape, shapes = EMPTY[what]
    x = tf.zeros(shape, "float64")
    with tf.GradientTape() as tape:
        tape.watch(x)
        parts = tf.nest.flatten(function(x))
    assert [tuple(p.shape) for p in parts] == shapes
    slope = tape.gradient([p for p in parts if not p.dtype.is_integer], x, unconnected_gradients="zero")
    assert tuple(slope.shape) == shape


# ---------------------------------------------------------------------------------------------------------------------
# Bad input

INVALID = tf.errors.InvalidArgumentError
ONES, EYE, VECTOR = np.ones((2, 2)), np.eye(2), tf.constant([1.0])

BAD = {
    "inv of a singular matrix": (lambda: la.inv(ONES), INVALID, "inv: .* not invertible"),
    "inv of a vector": (lambda: la.inv([1.0]), INVALID, r"inv: .*\[1\].* two axes"),
    "inv of a rectangle": (lambda: la.inv(np.ones((2, 3))), INVALID, r"inv: .* square, not of shape \[2, 3\]"),
    "inv of integers": (lambda: la.inv([[1, 0], [0, 1]]), TypeError, "inv takes float16, .* not int32"),
    "solve with a singular matrix": (lambda: la.solve(ONES, ONES), INVALID, "solve: .* not invertible"),
    "solve for a vector": (lambda: la.solve(EYE, [1.0, 2.0]), INVALID, "solve: .* two axes"),
    "solve of other length": (lambda: la.solve(EYE, np.ones((3, 1))), INVALID, r"solve: .*\[2, 2\].*\[3, 1\]"),
    "solve of other dtype": (
        lambda: la.solve(tf.constant(EYE), tf.constant([[1.0], [2.0]])), TypeError, "float64 and float32",
    ),
    "solve in batches": (
        lambda: la.solve(np.ones((2, 2, 2)), np.ones((3, 2, 1))), INVALID, r"solve: .*\[2\] and \[3\]",
    ),
    "cholesky": (lambda: la.cholesky(-EYE), INVALID, "cholesky: .* not positive definite"),
    "cholesky of many": (lambda: la.cholesky([EYE, -EYE]), INVALID, "cholesky: .* not positive definite"),
    "lu": (lambda: la.lu(ONES), INVALID, "lu: .* not invertible"),
    "lu_solve": (lambda: la.lu_solve(EYE, [0, 0], EYE), INVALID, "lu_solve: perm must hold each of 0 to 1 once"),
    "lu_reconstruct": (lambda: la.lu_reconstruct(EYE, [0.0, 1.0]), INVALID, "lu_reconstruct: perm must hold integers"),
    "eigh of nan": (lambda: la.eigh(ONES * np.nan), INVALID, "eigh: .* nan"),
    "eig of nan": (lambda: la.eig(ONES * np.nan), INVALID, "eig: .* nan"),
    "lstsq": (lambda: la.lstsq(np.zeros((3, 2)), np.ones((3, 1))), INVALID, "lstsq: .* fast=False"),
    "lstsq of other length": (lambda: la.lstsq(ONES, np.ones((3, 1))), INVALID, r"lstsq: .*\[2, 2\].*\[3, 1\]"),
    "logm of real matrices": (lambda: la.logm(EYE), TypeError, "logm takes complex tensors, not float64"),
    "cross of pairs": (lambda: la.cross([1.0, 2.0], [1.0, 2.0]), tf.errors.FailedPreconditionError, "length 3"),
    "cross of different shapes": (lambda: la.cross(np.ones((2, 3)), np.ones(3)), INVALID, "cross: the shapes"),
    "band_part": (lambda: la.band_part(ONES, 3, 0), INVALID, "num_lower must be negative .* at most 2 .* not 3"),
    "band_part of a vector": (lambda: la.band_part([1.0], 0, 0), INVALID, "band_part: .* two axes"),
    "diag_part": (lambda: la.diag_part(ONES, k=2), INVALID, r"diag_part: .*\[2, 2\] have no diagonal 2"),
    "diag_part, upside down": (lambda: la.diag_part(ONES, k=(1, 0)), INVALID, r"diag_part: k must be .* \[1, 0\]"),
    "diag_part, aligned": (lambda: la.diag_part(ONES, align="UP"), INVALID, "align must be 'RIGHT_LEFT'.* 'UP'"),
    "diag, padded": (lambda: la.diag([1.0], padding_value=[1.0]), INVALID, "diag: padding_value must be a scalar"),
    "diag": (lambda: la.diag([1.0, 2.0], num_rows=1), INVALID, "diag: .* 1 rows .* need 2 rows"),
    "diag of several": (lambda: la.diag([1.0, 2.0], k=(0, 1)), INVALID, "diag: .* names 2 diagonals"),
    "set_diag": (lambda: la.set_diag(ONES, [1.0]), INVALID, r"set_diag: .* have the shape \[2\], not \[1\]"),
    "tensor_diag": (lambda: la.tensor_diag(1.0), INVALID, "tensor_diag: a scalar"),
    "tensor_diag_part": (lambda: la.tensor_diag_part(np.ones((2, 3))), INVALID, r"tensor_diag_part: .*\[2, 3\]"),
    "trace": (lambda: la.trace([1.0]), INVALID, "trace: .* two axes"),
    "adjoint": (lambda: la.adjoint([1.0]), ValueError, "adjoint: .* two axes"),
    "matmul of a vector with itself": (
        lambda: la.matmul(VECTOR, VECTOR, transpose_b=True), INVALID, "no matrix to transpose",
    ),
    "norm, ord": (lambda: la.norm(ONES, "nuc"), ValueError, "norm: ord must be .* 'nuc'"),
    "norm, ord of vectors": (lambda: la.norm(ONES, "fro"), ValueError, "norm: ord must be .* axis of two numbers"),
    "norm, ord of matrices": (lambda: la.norm(ONES, 3, axis=[0, 1]), ValueError, "norm: ord must be .* matrices"),
    "norm, axis": (lambda: la.norm(ONES, axis=[0, 0]), ValueError, "norm: axis must be .* two different"),
    "norm of integers": (lambda: la.norm([1, 2]), TypeError, "norm takes floating tensors, not int32"),
    "matvec": (lambda: la.matvec(ONES, 1.0), INVALID, "matvec: b must hold vectors"),
    "einsum, operands": (lambda: tf.einsum("ij,jk->ik", ONES), ValueError, "2 operands, 1 were given"),
    "einsum, letters": (lambda: tf.einsum("i1->i", ONES), ValueError, "may hold letters"),
    "einsum, dots": (lambda: tf.einsum("i..->i", ONES), ValueError, "'...' once"),
    "einsum, rank": (lambda: tf.einsum("ijk->i", ONES), INVALID, "'ijk' do not fit a tensor of rank 2"),
    "einsum, lengths": (lambda: tf.einsum("ij,ij->", ONES, np.ones((1, 2))), INVALID, "named 'i' of lengths 2 and 1"),
    "einsum, broadcast": (lambda: tf.einsum("...i->i", ONES), INVALID, "must hold it too"),
    "einsum, output": (lambda: tf.einsum("ij->ii", ONES), ValueError, "each subscript once"),
    "einsum, option": (lambda: tf.einsum("ij->i", ONES, order=1), TypeError, "no argument order"),
    "tensordot, number": (lambda: tf.tensordot(ONES, ONES, 3), ValueError, "axes=3 does not fit"),
    "tensordot, lengths": (lambda: tf.tensordot(ONES, np.ones((3, 2)), 1), INVALID, "different lengths"),
    "tensordot, counts": (lambda: tf.tensordot(ONES, ONES, [[0, 1], [0]]), ValueError, "as many axes"),
    "tridiagonal_solve": (lambda: la.tridiagonal_solve(ONES, ONES), INVALID, "the compact form has 3 rows"),
    "tridiagonal_solve, singular": (
        lambda: la.tridiagonal_solve(np.zeros((3, 2)), [1.0, 1.0]), INVALID, "not invertible",
    ),
    "tridiagonal_solve, format": (
        lambda: la.tridiagonal_solve(ONES, ONES, diagonals_format="dense"), ValueError, "must be 'compact', .* 'dense'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_input(what):
    function, kind, message = BAD[what]
    with pytest.raises(kind, match=message):
        function()


@pytest.mark.parametrize("options", [{}, {"transpose_a": True, "transpose_b": True}])
def test_plain_values_multiply_as_the_widest_kind_among_them(options):
    floats, whole = [[1.0, 2.0], [3.0, 4.0]], np.ones((2, 2), int)
    for a, b in ((floats, whole), (whole, floats), (floats, np.ones((2, 2)))):
        product = tf.matmul(a, b, **options)
        assert product.dtype == tf.float32
        expected = np.transpose(a) @ np.transpose(b) if options else np.matmul(a, b)
        assert_allclose(product, expected)


def test_many_matrices_times_one_are_one_operation():
    x, w = tf.Variable(np.ones((5, 3, 4))), tf.Variable(np.ones((4, 2)))
    with tf.GradientTape(persistent=True) as tape:
        y = x @ w
    assert len(tape._records) == 1
    by_x, by_w = tape.gradient(y, [x, w])
    assert_allclose(by_x, np.full((5, 3, 4), 2.0))
    assert_allclose(by_w, np.full((4, 2), 15.0))
    assert tape.jacobian(y, w).shape == (5, 3, 2, 4, 2)


def _operators_of_one_argument():
    o = tf.linalg
    vector, square = [1.5, 2.0, -0.5], [[2.0, 0.3, 0.1], [0.2, 1.5, 0.4], [0.1, 0.3, 3.0]]
    return [
        (o.LinearOperatorFullMatrix, square),
        (o.LinearOperatorLowerTriangular, square),
        (o.LinearOperatorDiag, vector),
        (lambda s: o.LinearOperatorScaledIdentity(3, s), 2.0),
        (o.LinearOperatorHouseholder, vector),
        (lambda s: o.LinearOperatorCirculant(s, input_output_dtype="float32"), [1.5, 2.0, 2.0]),
        (lambda c: o.LinearOperatorToeplitz(c, [1.5, 0.2, 0.1]), vector),
        (o.LinearOperatorTridiag, [[0.3, 0.2, 0.0], [2.0, 1.5, 3.0], [0.0, 0.4, 0.1]]),
        (lambda u: o.LinearOperatorLowRankUpdate(o.LinearOperatorIdentity(3), u), [[0.5], [0.2], [0.1]]),
    ]


@pytest.mark.parametrize("number", range(9))
def test_an_operator_reads_its_variable_at_each_use(number):
    make, value = _operators_of_one_argument()[number]
    variable = tf.Variable(value)
    operator = make(variable)
    x = tf.constant([[1.0], [2.0], [-1.0]])

    def used(operator):
        return tf.reduce_sum(operator.matmul(x) ** 2) + tf.reduce_sum(operator.solve(x))

    for scale in (1.0, 1.5):
        variable.assign(tf.constant(value) * scale)
        given = variable.value()
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(given)
            y, expected = used(operator), used(make(given))
            compiled = tf.function(lambda: used(operator))()
        np.testing.assert_allclose(y, expected, rtol=1e-5)
        np.testing.assert_allclose(
            tape.gradient(y, variable), tape.gradient(expected, given), rtol=1e-4, atol=1e-5
        )
        np.testing.assert_allclose(
            tape.gradient(compiled, variable), tape.gradient(expected, given), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_conjugate_gradients_solve_and_pass_gradients(compiled, dtype):
    draw = np.random.default_rng(0)
    root, b = draw.standard_normal((2, 4, 4)).astype(dtype), draw.standard_normal((2, 4)).astype(dtype)
    if dtype == "complex128":
        root += 1j * draw.standard_normal(root.shape)
    matrix = root @ root.conj().transpose(0, 2, 1) + np.eye(4)

    def solved(a, b, **options):
        operator = tf.linalg.LinearOperatorFullMatrix(a, is_self_adjoint=True, is_positive_definite=True)
        return tf.linalg.experimental.conjugate_gradient(operator, b, tol=1e-12, **options)

    def gradients(solve, a, b):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            y = tf.reduce_sum(tf.abs(solve(a, b)) ** 2)
        return tape.gradient(y, [a, b])

    run = tf.function(gradients) if compiled else gradients
    near = tf.linalg.LinearOperatorDiag(1 / np.diagonal(matrix, axis1=1, axis2=2))
    for options in ({}, {"x": b}, {"preconditioner": near}):
        state = solved(tf.constant(matrix), b, **options)
        np.testing.assert_allclose(state.x, np.linalg.solve(matrix, b[..., None])[..., 0], rtol=1e-9)
        assert 3 <= int(state.i) <= 6
    assert int(solved(tf.constant(matrix), b, max_iter=2).i) == 2
    found = run(lambda a, b: solved(a, b).x, tf.constant(matrix), tf.constant(b))
    wanted = gradients(
        lambda a, b: tf.linalg.solve(a, b[..., None])[..., 0], tf.constant(matrix), tf.constant(b)
    )
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-7)
    # The steps also use that the matrix is self-adjoint: they differ from the solution's gradient by what keeps it so.
    both = [(g + tf.linalg.adjoint(g)).numpy() for g in (found[0], wanted[0])]
    np.testing.assert_allclose(*both, rtol=1e-6, atol=1e-9)


def test_conjugate_gradients_refuse_other_operators():
    solve = tf.linalg.experimental.conjugate_gradient
    with pytest.raises(TypeError, match="must be a LinearOperator"):
        solve(np.eye(2), [1.0, 2.0])
    with pytest.raises(ValueError, match="self-adjoint and positive definite"):
        solve(tf.linalg.LinearOperatorFullMatrix([[1.0]], is_positive_definite=False), [1.0])


@pytest.mark.parametrize("scale", [1.0, 1e30, 1e-30, 0.0, np.inf, np.nan])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_norms_of_large_arrays_in_compiled_code_neither_overflow_nor_lose_small_numbers(scale, axis):
    x = np.random.default_rng(0).normal(size=(130, 130)).astype("float32")
    x[:, 7] *= np.float32(scale)
    x[11] = 0.0
    x = tf.constant(x)

    def derivatives(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.norm(x, axis=axis)
            slope = inner.gradient(y, x)
            s = tf.reduce_sum(slope * slope * x)
        return y, slope, outer.gradient(s, x), tf.math.reduce_std(x, axis)

    for mine, own in zip(tf.function(derivatives, jit_compile=True)(x), derivatives(x), strict=True):
        np.testing.assert_allclose(mine, own, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kinds", [("regular",), ("singular",), ("regular", "singular", "zero")])
def test_the_gradient_of_determinants_in_compiled_code_is_finite_where_some_are_singular(kinds):
    matrices = {
        "regular": [[2.0, 1.0, 0.5], [0.3, 1.0, 0.2], [0.1, 0.4, 1.5]],
        "singular": [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.5, 0.1, 0.7]],
        "zero": np.zeros((3, 3)),
    }
    x = tf.constant(np.stack([matrices[kind] for kind in kinds]), tf.float64)

    def slopes(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.linalg.det(x)
        return tape.gradient(y, x)

    np.testing.assert_allclose(tf.function(slopes, jit_compile=True)(x), slopes(x), rtol=1e-9, atol=1e-12)
    for matrix, slope in zip(x.numpy(), slopes(x).numpy(), strict=True):
        for i, j in np.ndindex(3, 3):
            minor = np.delete(np.delete(matrix, i, 0), j, 1)
            np.testing.assert_allclose(slope[i, j], (-1.0) ** (i + j) * np.linalg.det(minor), atol=1e-9)


def slope_of_det(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.linalg.det(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("kind", ["regular", "rank one", "nearly rank one", "tiny", "huge", "tiny pivot"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_cofactors_are_exact_where_determinants_cancel_or_are_out_of_range(n, kind):
    random = np.random.default_rng(n)
    x, one = random.normal(size=(n, n)), np.outer(random.normal(size=n), random.normal(size=n))
    scale = 10.0 ** (33 / max(n - 1, 1))  # of the cofactors: 1e33
    matrices = {
        "regular": x,
        "rank one": one,
        "nearly rank one": one + 1e-6 * x,
        "tiny": x / scale,
        "huge": x * scale,
        "tiny pivot": np.diag([1e-40, *np.ones(n - 1)]),
    }
    x = matrices[kind].astype("float32")
    minors = [
        [np.linalg.det(np.delete(np.delete(x.astype("float64"), i, 0), j, 1)) for j in range(n)]
        for i in range(n)
    ]
    wanted = np.array(minors) * (-1.0) ** np.add.outer(np.arange(n), np.arange(n))
    unit = float(np.abs(x).max()) ** (n - 1)
    for slope in (slope_of_det, tf.function(slope_of_det, jit_compile=True)):
        np.testing.assert_allclose(slope(tf.constant(x)).numpy() / unit, wanted / unit, atol=2e-6)


@pytest.mark.parametrize("n", [3, 4])
def test_the_gradient_of_determinants_can_be_saved_for_any_batch(n, tmp_path):
    module = tf.Module()
    module.slope = tf.function(slope_of_det, input_signature=[tf.TensorSpec([None, n, n], "float64")])
    tf.saved_model.save(module, str(tmp_path))
    x = np.random.default_rng(0).normal(size=(2, n, n))
    np.testing.assert_allclose(
        tf.saved_model.load(str(tmp_path)).slope(x), slope_of_det(tf.constant(x)), atol=1e-12
    )


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e-18, 1e20, 1e30])
def test_second_derivatives_of_norms_do_not_depend_on_the_scale(scale, compiled):
    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.norm(x)
            slope = inner.gradient(y, x)
            s = tf.reduce_sum(slope * slope * x)
        return outer.gradient(s, x)

    def bent(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.norm(x, axis=1)
            s = tf.reduce_sum(inner.gradient(y, x)[:, :2] * [[1.0, -2.0]])
        return outer.gradient(s, x)

    x = np.random.default_rng(0).normal(size=(3, 4))
    run = tf.function(bent, jit_compile=True) if compiled else bent
    got = run(tf.constant(x * scale, tf.float32)) * scale
    np.testing.assert_allclose(got, bent(tf.constant(x, tf.float32)), rtol=1e-5, atol=1e-6)
    second = tf.function(second, jit_compile=True) if compiled else second
    got, wanted = second(tf.constant(x * scale, tf.float32)), second(tf.constant(x))
    np.testing.assert_allclose(got, wanted, atol=1e-6)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_norm_of_complex_numbers_with_an_infinity_is_infinite(compiled):
    norm = tf.function(tf.norm, jit_compile=True) if compiled else tf.norm
    assert float(tf.math.real(norm(tf.constant([np.inf, 1 + 1j], tf.complex64)))) == np.inf
