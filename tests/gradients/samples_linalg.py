"""Samples for the primitives of linear algebra.

Many take matrices of a kind (symmetric, positive definite, far from singular): those are made of random ones, by the
same formula on both sides, so that every direction of the random matrix is one the primitive may move in. Complex
singular vectors and eigenvectors have a free phase; there what does not depend on it is compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf

from .derivatives import Sample, listed
from .entries import case, of


class Gradtape:
    """What the formulas below need, by gradtape."""

    adjoint = staticmethod(tf.linalg.adjoint)
    concat = staticmethod(tf.concat)
    abs = staticmethod(tf.abs)
    inv = staticmethod(tf.linalg.inv)

    @staticmethod
    def like(array: np.ndarray, x: Any) -> Any:
        return tf.constant(array.astype(x.dtype.as_numpy_dtype))


class Jax:
    """The same by JAX."""

    concat = staticmethod(jnp.concatenate)
    abs = staticmethod(jnp.abs)
    inv = staticmethod(jnp.linalg.inv)

    @staticmethod
    def adjoint(x: Any) -> Any:
        return x.conj().swapaxes(-1, -2)

    @staticmethod
    def like(array: np.ndarray, x: Any) -> Any:
        return array.astype(x.dtype)


class through(of):
    """Samples whose inputs are made by `before(lib, *inputs)`, and whose outputs are seen through `after`."""

    def __init__(self, *args: Any, before: Any = None, after: Any = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.before = before or (lambda lib, *inputs: inputs)
        self.after = after or (lambda lib, *outputs: outputs)

    def _sample(self, *args: Any) -> Sample:
        sample = super()._sample(*args)

        def wrapped(function: Callable[..., Any], lib: Any) -> Callable[..., Any]:
            return lambda *inputs: self.after(lib, *listed(function(*self.before(lib, *inputs))))

        return dataclasses.replace(
            sample, function=wrapped(sample.function, Gradtape), reference=wrapped(sample.reference, Jax)
        )


# ---------------------------------------------------------------------------------------------------------------------
# Matrices of a kind


def _unit(lib, a):
    return lib.like(np.eye(a.shape[-1]), a)


def positive_definite(lib, a):
    return (a @ lib.adjoint(a) + _unit(lib, a),)


def symmetric(lib, a):
    return (a + lib.adjoint(a),)


def regular(lib, a, *rest):
    return (a + _unit(lib, a) * 4.0, *rest)


def dominant(lib, d, b):
    """Three diagonals, of which the middle one prevails."""
    return d + lib.like(np.array([[0.0], [6.0], [0.0]]), d), b


def near_one(lib, a):
    return (a * 0.02 + _unit(lib, a),)


def small(lib, a):
    return (a * 0.25,)


# ---------------------------------------------------------------------------------------------------------------------
# What does not depend on phases


def _weighted(lib, v):
    n = v.shape[-1]
    return v * lib.like(np.arange(1.0, n + 1), v)


def projections(lib, w, v):
    return w, _weighted(lib, v) @ lib.adjoint(v)


def lengths(lib, w, v):
    return w, lib.abs(v), _weighted(lib, v) @ lib.inv(v)


def singular_projections(lib, s, u, v):
    size = s.shape[-1]
    u, v = u[..., :size], v[..., :size]
    return s, _weighted(lib, u) @ lib.adjoint(v), _weighted(lib, u) @ lib.adjoint(u)


def first(lib, *outputs):
    return outputs[0]


# ---------------------------------------------------------------------------------------------------------------------
# References that JAX does not have


def _positions(rows, columns, lower, upper, align):
    """(row, column, number of the diagonal, place in it) of every element of the diagonals."""
    length = {k: min(rows + min(k, 0), columns - max(k, 0)) for k in range(lower, upper + 1)}
    width = max(length.values())
    above, below = align.split("_")
    for d, k in enumerate(range(upper, lower - 1, -1)):
        shift = 0 if (above if k >= 0 else below) == "LEFT" else width - length[k]
        for i in range(length[k]):
            yield i - min(k, 0), i + max(k, 0), d, i + shift


def _diag_part(x, *, lower, upper, align):
    places = list(_positions(*x.shape[-2:], lower, upper, align))
    width = max(p[3] for p in places) + 1
    out = jnp.zeros((*x.shape[:-2], upper - lower + 1, width), x.dtype)
    for i, j, d, k in places:
        out = out.at[..., d, k].set(x[..., i, j])
    return out[..., 0, :] if lower == upper else out


def _diag(x, *, lower, upper, align, rows, columns):
    x = x[..., None, :] if lower == upper else x
    out = jnp.zeros((*x.shape[:-2], rows, columns), x.dtype)
    for i, j, d, k in _positions(rows, columns, lower, upper, align):
        out = out.at[..., i, j].set(x[..., d, k])
    return out


def _band(x, *, lower, upper):
    k = np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None]
    return jnp.where((k >= lower) & (k <= upper), x, 0)


def _series(coefficients, about):
    """A function of matrices near a multiple of the unit matrix, by its power series."""

    def function(x):
        one = jnp.eye(x.shape[-1])
        total = coefficients[-1] * one
        for c in coefficients[-2::-1]:
            total = total @ (x - about * one) + c * one
        return jnp.broadcast_to(total, x.shape).astype(x.dtype)

    return function


_EXP = 1 / np.cumprod([1.0, *range(1, 24)])
_LOG = [0.0] + [(-1) ** (k + 1) / k for k in range(1, 16)]
_SQRT = np.cumprod([1.0] + [(1.5 - k) / k for k in range(1, 16)])


def _eig(x):
    w, v = jax.lax.linalg.eig(x, compute_left_eigenvectors=False, enable_eigvec_derivs=True)
    return w, v


def _cofactors(x):
    return jnp.linalg.det(x)[..., None, None] * jnp.linalg.inv(x).swapaxes(-1, -2)


def _lu(x, *, index_dtype):
    return jax.lax.linalg.lu(x)[0]


def _svd(x, *, full):
    u, s, vh = jnp.linalg.svd(x, full_matrices=full)
    return s, u, vh.conj().swapaxes(-1, -2)


def _solve(a, b, *, transposed):
    return jnp.linalg.solve(a.swapaxes(-1, -2) if transposed else a, b)


def _triangular_solve(a, b, *, lower, transposed):
    return jax.scipy.linalg.solve_triangular(a, b, trans=int(transposed), lower=lower)


def _tridiagonal_solve(d, b):
    n = d.shape[-1]
    whole = _diag(d, lower=-1, upper=1, align="LEFT_RIGHT", rows=n, columns=n)
    return jnp.linalg.solve(whole, b)


def _qr(x, *, full):
    return jnp.linalg.qr(x, "complete" if full else "reduced")


def _wide_qr(x, *, full):
    """JAX has no gradient for it: from the square part in front."""
    q, r = jnp.linalg.qr(x[..., : x.shape[-2]])
    return q, jnp.concatenate([r, q.conj().swapaxes(-1, -2) @ x[..., x.shape[-2] :]], -1)


# ---------------------------------------------------------------------------------------------------------------------
# The table

_SQUARES = [case((2, 2)), case((2, 3, 3)), case((1, 1)), case((0, 0)), case((0, 2, 2))]
_ONE = {"lower": 0, "upper": 0, "align": "RIGHT_LEFT"}
_THREE = {"lower": -1, "upper": 1, "align": "RIGHT_LEFT"}

LINALG = {
    "gram": of(lambda x: x @ x.swapaxes(-1, -2), case((2, 3)), case((2, 2, 1)), case((0, 2)), complex=True),
    "band_part": of(
        _band,
        case((3, 3), lower=-1, upper=0),
        case((2, 3, 4), lower=0, upper=1 << 40),
        case((2, 0), lower=0, upper=0),
        complex=True,
    ),
    "diag_part": of(
        _diag_part,
        case((3, 3), **_ONE),
        case((2, 2, 3), **{**_ONE, "lower": 1, "upper": 1}),
        case((3, 2), **{**_ONE, "lower": -2, "upper": -2}),
        case((2, 3, 4), **_THREE),
        case((4, 3), **{**_THREE, "lower": -3, "upper": -1, "align": "LEFT_RIGHT"}),
        case((2, 3), **{**_THREE, "lower": 0, "upper": 2, "align": "LEFT_LEFT"}),
        case((3, 3), **{**_THREE, "align": "RIGHT_RIGHT"}),
        complex=True,
    ),
    "diag": of(
        _diag,
        case((3,), **_ONE, rows=3, columns=3),
        case((2, 2), **_ONE, rows=2, columns=4),
        case((2,), **{**_ONE, "lower": -1, "upper": -1}, rows=3, columns=3),
        case((2, 3, 3), **_THREE, rows=3, columns=4),
        case((3, 3), **{**_THREE, "align": "LEFT_RIGHT"}, rows=3, columns=3),
        case((0,), **_ONE, rows=0, columns=0),
        complex=True,
    ),
    "cross": of(jnp.cross, case((3,), (3,)), case((2, 1, 3), (2, 1, 3)), case((0, 3), (0, 3))),
    "inv": through(jnp.linalg.inv, *_SQUARES, before=regular, complex=True),
    "solve": through(
        _solve,
        case((2, 2), (2, 1), transposed=False),
        case((2, 2), (2, 2), transposed=True),
        case((2, 2, 2), (2, 2, 1), transposed=False),
        case((2, 2, 2), (2, 2, 2), transposed=True),
        case((2, 2), (2, 0), transposed=False),
        case((0, 0), (0, 2), transposed=False),
        before=regular,
        complex=True,
    ),
    "triangular_solve": through(
        _triangular_solve,
        case((2, 2), (2, 1), lower=True, transposed=False),
        case((2, 2), (2, 2), lower=False, transposed=True),
        case((2, 2, 2), (2, 2, 1), lower=True, transposed=True),
        case((2, 2, 2), (2, 2, 2), lower=False, transposed=False),
        case((2, 2), (2, 0), lower=True, transposed=False),
        case((0, 0), (0, 2), lower=True, transposed=False),
        before=regular,
        complex=True,
    ),
    "tridiagonal_solve": through(
        _tridiagonal_solve,
        case((3, 3), (3, 1)),
        case((2, 3, 2), (2, 2, 2)),
        case((3, 1), (1, 2)),
        case((3, 2), (2, 0)),
        before=dominant,
        complex=True,
    ),
    "det": of(jnp.linalg.det, *_SQUARES[:3], case((0, 2, 2)), complex=True),
    "cofactors": of(_cofactors, *_SQUARES[:3], complex=True),
    "cofactors_slope": of(
        lambda x, d: jax.jvp(_cofactors, (x,), (d,))[1],
        case((2, 2), (2, 2)),
        case((2, 3, 3), (2, 3, 3)),
        case((1, 1), (1, 1)),
        complex=True,
    ),
    "slogdet": of(jnp.linalg.slogdet, *_SQUARES[:3], case((0, 2, 2)), complex=True),
    "cholesky": through(jnp.linalg.cholesky, *_SQUARES, before=positive_definite, complex=True),
    "lu": through(
        _lu, *[case(*c.inputs, index_dtype="int32") for c in _SQUARES[:3]], after=first, complex=True
    ),
    "qr": through(
        _qr,
        case((2, 2), full=False),
        case((2, 3, 2), full=False),
        case((3, 1), full=False),
        case((2, 2), full=True),
        case((0, 3, 2), full=False),
        complex=True,
    ),
    "eigh": through(
        jnp.linalg.eigh, case((2, 2)), case((2, 3, 3)), case((1, 1)), case((0, 2, 2)), before=symmetric
    ),
    "eigvalsh": through(jnp.linalg.eigvalsh, *_SQUARES[:3], before=symmetric, complex=True),
    "eig": through(_eig, case((2, 2)), case((2, 3, 3)), after=lengths, complex=True),
    "eigvals": of(lambda x: _eig(x)[0], *_SQUARES[:3], complex=True),
    "svd": of(
        _svd,
        case((2, 2), full=False),
        case((2, 3, 2), full=False),
        case((1, 3), full=False),
        case((2, 2), full=True),
        case((0, 3, 2), full=False),
    ),
    "singular_values": of(
        lambda x: jnp.linalg.svd(x, compute_uv=False),
        case((2, 2)),
        case((2, 3, 2)),
        case((0, 2, 2)),
        complex=True,
    ),
    "pinv": of(
        lambda x, rcond: jnp.linalg.pinv(x, rtol=1e-15),
        case((2, 2), 1e-15),
        case((2, 3, 2), 1e-15),
        case((1, 3), 1e-15),
        complex=True,
    ),
    "expm": through(
        _series(_EXP, 0), case((2, 2)), case((1, 3, 3)), case((1, 1)), before=small, complex=True
    ),
    "logm": through(_series(_LOG, 1), case((2, 2)), before=near_one, complex=True),
    "sqrtm": through(_series(_SQRT, 1), case((2, 2)), case((1, 3, 3)), before=near_one, complex=True),
}

# The same primitives again, with complex matrices or shapes for which only part of the outputs has a meaning.
MORE = {
    "qr": through(_wide_qr, case((2, 3), full=False), case((1, 3), full=True), complex=True),
    "eigh": through(
        jnp.linalg.eigh, case((2, 2)), case((2, 3, 3)), before=symmetric, after=projections, complex=True
    ),
    "svd": through(
        _svd,
        case((2, 2), full=False),
        case((2, 3, 2), full=False),
        case((2, 3), full=False),
        after=singular_projections,
        complex=True,
    ),
}
