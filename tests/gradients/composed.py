"""Samples for public functions that are made of several primitives, and for programs: by family, as in `samples.py`.

`on(function, reference, *inputs, **arguments)` calls both with the same inputs and the same named arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf

from .derivatives import Sample
from .entries import Domain, draw, real, unit

# ---------------------------------------------------------------------------------------------------------------------
# Entries


class on:
    """A function of gradtape's and its reference, at inputs: shapes to fill (tuples), or arrays (still if integer)."""

    def __init__(
        self,
        function: Callable[..., Any],
        reference: Callable[..., Any],
        *inputs: Any,
        domain: Domain = real,
        complex: bool = False,
        **arguments: Any,
    ) -> None:
        self.function = partial(function, **arguments)
        self.reference = partial(reference, **arguments)
        self.inputs, self.domain, self.complex, self.arguments = inputs, domain, complex, arguments

    def sample(self, family: str, number: int) -> Sample:
        shapes = [x for x in self.inputs if isinstance(x, tuple)]
        drawn = iter(draw(f"{family} {number}", shapes, [self.domain] * len(shapes), self.complex))
        inputs = tuple(next(drawn) if isinstance(x, tuple) else np.asarray(x) for x in self.inputs)
        described = [f"{a.dtype}{list(a.shape)}" for a in inputs] + [
            f"{k}={v!r}" for k, v in self.arguments.items()
        ]
        return Sample(
            label=f"COMPOSED[{family!r}][{number}] = {family}({', '.join(described)})",
            function=self.function,
            reference=self.reference,
            inputs=inputs,
            moving=tuple(i for i, a in enumerate(inputs) if a.dtype.kind in "fc"),
        )


def same(function: Callable[..., Any], *inputs: Any, **options: Any) -> on:
    """One function for both: operators and indexing."""
    return on(function, function, *inputs, **options)


def on_each(function: Any, reference: Any, *inputs: Any, **choices: Any) -> list[on]:
    """One entry for each combination of the choices for each argument."""
    return [
        on(function, reference, *inputs, **dict(zip(choices, chosen, strict=True)))
        for chosen in itertools.product(*choices.values())
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Reductions and norms


def _reference_norm(x, ord="euclidean", axis=None, keepdims=False):
    over = tuple(range(x.ndim)) if axis is None else axis
    size = jnp.abs(x)
    if isinstance(over, (list, tuple)) and axis is not None and ord in (1, np.inf):  # of matrices
        rows, columns = axis if ord == 1 else reversed(axis)
        result = jnp.sum(size, rows, keepdims=True).max(columns, keepdims=True)
        return result if keepdims else jnp.squeeze(result, tuple(axis))
    if ord == np.inf:
        return jnp.max(size, over, keepdims=keepdims)
    p = 2 if ord in ("euclidean", "fro") else ord
    return jnp.sum(size**p, tuple(over) if isinstance(over, list) else over, keepdims=keepdims) ** (1 / p)


def _reference_std(x, axis=None, keepdims=False):
    return jnp.sqrt(jnp.var(x, axis, keepdims=keepdims))


_ZEROS = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0], [1.0, -2.0, 0.5]])

REDUCTIONS = {
    "reduce_prod": [
        *on_each(tf.reduce_prod, jnp.prod, (2, 3), axis=[None, 0, -1, (0, 1)], keepdims=[False, True]),
        on(tf.reduce_prod, jnp.prod, (5,)),
        on(tf.reduce_prod, jnp.prod, ()),
        on(tf.reduce_prod, jnp.prod, (2, 3, 2), axis=(0, 2)),
        on(tf.reduce_prod, jnp.prod, (0, 2), axis=0),
        on(tf.reduce_prod, jnp.prod, (2, 0), axis=0),
        on(tf.reduce_prod, jnp.prod, _ZEROS, axis=0),
        on(tf.reduce_prod, jnp.prod, _ZEROS, axis=1),
        on(tf.reduce_prod, jnp.prod, (2, 2), complex=True),
    ],
    "reduce_variance": [
        *on_each(tf.math.reduce_variance, jnp.var, (2, 3), axis=[None, 0, 1], keepdims=[False, True]),
        on(tf.math.reduce_variance, jnp.var, [2.0, 2.0]),
        on(tf.math.reduce_variance, jnp.var, (3,), complex=True),
    ],
    "reduce_std": [
        *on_each(tf.math.reduce_std, _reference_std, (2, 3), axis=[None, 0, 1], keepdims=[False, True]),
        on(tf.math.reduce_std, jnp.std, (3,), complex=True),
    ],
    "norm": [
        *on_each(tf.norm, _reference_norm, (2, 3), ord=["euclidean", 1, 2, np.inf, 3, 2.5]),
        *on_each(
            tf.norm, _reference_norm, (2, 3), ord=["euclidean", 1, 2, np.inf, 1.5], axis=[1], keepdims=[True]
        ),
        *on_each(
            tf.norm, _reference_norm, (2, 2, 3), ord=["fro", 1, np.inf], axis=[[0, 2]], keepdims=[False, True]
        ),
        on(tf.norm, _reference_norm, (2, 2), ord=1, axis=[1, 0]),
        on(tf.norm, _reference_norm, (2, 2), ord=1, complex=True),
    ],
    "squared_difference": [
        on(tf.math.squared_difference, lambda x, y: (x - y) ** 2, (2, 3), (3,)),
        on(tf.math.squared_difference, lambda x, y: (x - y) ** 2, (), (2,)),
    ],
    "add_n": [on(lambda x, y, z: tf.add_n([x, y, z]), lambda x, y, z: x + y + z, (2, 2), (2, 2), (2, 2))],
}

# ---------------------------------------------------------------------------------------------------------------------
# Products


def _flip(x, transpose, adjoint):
    return jnp.conj(x.swapaxes(-1, -2)) if adjoint else x.swapaxes(-1, -2) if transpose else x


def _reference_matmul(a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False):
    return _flip(a, transpose_a, adjoint_a) @ _flip(b, transpose_b, adjoint_b)


def einsum(equation: str, *shapes: tuple[int, ...], **options: Any) -> on:
    return on(partial(tf.einsum, equation), partial(jnp.einsum, equation), *shapes, **options)


PRODUCTS = {
    "matmul": [
        *on_each(
            tf.matmul, _reference_matmul, (2, 2), (2, 2), transpose_a=[False, True], transpose_b=[False, True]
        ),
        on(tf.matmul, _reference_matmul, (3, 2), (3, 2), transpose_a=True),
        on(tf.matmul, _reference_matmul, (2, 3), (2, 3), adjoint_b=True),
        on(tf.matmul, _reference_matmul, (2, 3), (2, 3), adjoint_b=True, complex=True),
        on(tf.matmul, _reference_matmul, (3, 2), (3, 1), adjoint_a=True, complex=True),
        on(tf.matmul, _reference_matmul, (2, 2, 3), (3, 2)),
        on(tf.matmul, _reference_matmul, (2, 2, 3), (1, 3), transpose_b=True),
        on(tf.matmul, _reference_matmul, (2, 3), (2, 3, 1)),
        on(tf.matmul, _reference_matmul, (2, 1, 1, 2), (3, 2, 1)),
        on(tf.matmul, _reference_matmul, (0, 2, 3), (3, 2)),
        same(lambda x: x @ x, (2, 2)),
        same(lambda x, y: x @ y, (2, 2, 2), (2, 1)),
    ],
    "tensordot": [
        on(tf.tensordot, jnp.tensordot, (3,), (3,), axes=1),
        on(tf.tensordot, jnp.tensordot, (2,), (3,), axes=0),
        on(tf.tensordot, jnp.tensordot, (2, 3), (2, 3), axes=2),
        on(tf.tensordot, jnp.tensordot, (2, 3, 2), (2, 3), axes=[[1, 0], [1, 0]]),
        on(tf.tensordot, jnp.tensordot, (2, 3), (2, 1), axes=[[-2], [-2]]),
        on(tf.tensordot, jnp.tensordot, (2, 0), (0, 2), axes=1),
        on(tf.tensordot, jnp.tensordot, (2, 2), (2,), axes=1, complex=True),
    ],
    "einsum": [
        einsum("ij,jk->ik", (2, 3), (3, 2)),
        einsum("ij,jk", (2, 3), (3, 2)),
        einsum("ba", (2, 3)),
        einsum("ij->ji", (2, 3)),
        einsum("ij->", (2, 3)),
        einsum("ijk->j", (2, 3, 2)),
        einsum("ii->", (3, 3)),
        einsum("ii->i", (3, 3)),
        einsum("ii", (3, 3)),
        einsum("iji->j", (2, 3, 2)),
        einsum("iijj->ij", (2, 2, 2, 2)),
        einsum("ii,ij->j", (2, 2), (2, 3)),
        einsum("ij,ij->ij", (2, 2), (2, 2)),
        einsum("ij,kl->ik", (2, 2), (2, 3)),
        einsum("i,i,i->", (3,), (3,), (3,)),
        einsum("ij,jk,kl->il", (2, 2), (2, 2), (2, 1)),
        einsum("ij,jk,k->", (2, 2), (2, 2), (2,)),
        einsum(",i->i", (), (3,)),
        einsum("...ij,...jk->...ik", (2, 1, 2), (2, 2, 1)),
        einsum("...ij,...jk->...ik", (2, 2), (2, 2, 1)),
        einsum("...ij,...jk->...ik", (1, 2, 2), (2, 2, 1)),
        einsum("i...->...", (2, 3)),
        einsum("...i,i->...", (2, 2, 2), (2,)),
        einsum("...,...->...", (2, 1), (3,)),
        einsum("bi...,i->b...", (2, 2, 2), (2,)),
        einsum("ij,jk->ik", (2, 0), (0, 3)),
        einsum("...i->...", (0, 2)),
        einsum("ij,jk->ik", (2, 2), (2, 2), complex=True),
        einsum("ii,i->i", (2, 2), (2,), complex=True),
    ],
}

# ---------------------------------------------------------------------------------------------------------------------
# Elements moved


def _in_batches(axis: int) -> Callable[..., Any]:
    return jax.vmap(lambda x, i: jnp.take(x, i, axis))


def _gather(indices: Any, **arguments: Any) -> Callable[[Any], Any]:
    return lambda x: tf.gather(x, np.asarray(indices), **arguments)


def _reference_pad(x, paddings, mode="CONSTANT"):
    return jnp.pad(x, paddings, mode.lower())


_MASK = np.array([[True, False, True], [False, False, True]])

MOVES = {
    "getitem": [
        same(lambda x: x[1], (3,)),
        same(lambda x: x[-1], (2, 3)),
        same(lambda x: x[1:3], (4,)),
        same(lambda x: x[::-1], (4,)),
        same(lambda x: x[::-2, 2:0:-1], (4, 3)),
        same(lambda x: x[-3:-1], (4,)),
        same(lambda x: x[5:9], (4,)),
        same(lambda x: x[..., 0], (2, 3)),
        same(lambda x: x[0, ..., 1], (2, 2, 2)),
        same(lambda x: x[:, None, ..., 1:, None], (2, 3)),
        same(lambda x: x[...], (2,)),
        same(lambda x: x[None], ()),
        same(lambda x: x[()], (2,)),
        same(lambda x: x[0][1] * x[1, 0], (2, 2)),
        same(lambda x: x[_MASK], (2, 3)),
        same(lambda x: x[_MASK[0]], (3, 2)),
        same(lambda x: x[:, _MASK[1]], (2, 3)),
        same(lambda x: x[..., _MASK[0], None], (2, 3)),
        same(lambda x: x[np.array([2, 0, 2])], (3, 2)),
        same(lambda x: x[:, np.array([[1, -1], [0, 1]])], (2, 3)),
        same(lambda x: x[1, np.array([1, 1])], (2, 3)),
        on(lambda x: x[tf.constant([1, 0, 1])], lambda x: x[np.array([1, 0, 1])], (2, 2)),
        on(lambda x: x[tf.constant(1) :, tf.constant(0)], lambda x: x[1:, 0], (3, 2)),
        on(lambda x: x[x > 0], lambda x: x[np.array([0, 2])], [1.5, -2.0, 0.5]),
        same(lambda x: x[::-1, 1], (2, 2), complex=True),
    ],
    "gather": [
        on(_gather([2, 0, 2]), lambda x: x[np.array([2, 0, 2])], (3, 2)),
        on(_gather([[1, 1], [0, 2]], axis=1), lambda x: jnp.take(x, np.array([[1, 1], [0, 2]]), 1), (2, 3)),
        on(_gather([1, 1], axis=-2), lambda x: jnp.take(x, np.array([1, 1]), -2), (2, 3, 2)),
        on(_gather(1), lambda x: x[1], (3, 2)),
        on(_gather(np.zeros((0,), int)), lambda x: x[:0], (3, 2)),
        on(
            _gather([[1, 1], [0, 2]], batch_dims=1),
            lambda x: _in_batches(0)(x, np.array([[1, 1], [0, 2]])),
            (2, 3),
        ),
        on(
            _gather([[1, 1], [0, 2]], batch_dims=1, axis=2),
            lambda x: _in_batches(1)(x, np.array([[1, 1], [0, 2]])),
            (2, 2, 3),
        ),
        on(_gather([1, 2], batch_dims=1), lambda x: x[np.arange(2), np.array([1, 2])], (2, 3, 2)),
        on(
            _gather([[[0], [1]], [[1], [1]]], batch_dims=-1),
            lambda x: jnp.take_along_axis(x, np.array([[[0], [1]], [[1], [1]]]), 2),
            (2, 2, 2),
        ),
        on(
            lambda x: tf.nn.embedding_lookup(x, [[1, 0], [1, 1]]),
            lambda x: x[np.array([[1, 0], [1, 1]])],
            (2, 3),
        ),
        on(lambda x: tf.gather(x, [0, 0]) + x[0], lambda x: x[np.array([0, 0])] + x[0], (2, 2)),
        on(
            lambda x: tf.gather(x, [0, 1]) * tf.gather(x, [1, 1]) ** 2,  # two sparse gradients of one table
            lambda x: x * x[np.array([1, 1])] ** 2,
            (2, 2),
        ),
        on(_gather([1, 0, 1]), lambda x: x[np.array([1, 0, 1])], (2, 2), complex=True),
    ],
    "pad": [
        on(tf.pad, _reference_pad, (2, 2), paddings=[[1, 0], [0, 2]]),
        on(tf.pad, _reference_pad, (3,), paddings=[[2, 1]], mode="REFLECT"),
        on(tf.pad, _reference_pad, (2, 3), paddings=[[1, 1], [0, 2]], mode="REFLECT"),
        on(tf.pad, _reference_pad, (3,), paddings=[[3, 2]], mode="SYMMETRIC"),
        on(tf.pad, _reference_pad, (2, 2), paddings=[[0, 1], [2, 1]], mode="SYMMETRIC"),
        on(tf.pad, _reference_pad, (0, 2), paddings=[[1, 1], [0, 0]]),
        on(
            lambda x, c: tf.pad(x, [[1, 2]], constant_values=c),
            lambda x, c: jnp.concatenate([jnp.stack([c]), x, jnp.stack([c, c])]),
            (2,),
            (),
        ),
        on(tf.pad, _reference_pad, (2,), paddings=[[1, 1]], complex=True),
    ],
    "split": [
        on(lambda x: tf.split(x, 2), lambda x: jnp.split(x, 2), (4,)),
        on(lambda x: tf.split(x, [1, -1], 1), lambda x: jnp.split(x, [1], 1), (2, 3)),
        on(lambda x: tf.split(x, 3, -1)[1], lambda x: x[:, 1:2], (2, 3)),  # the others have no gradient
        on(lambda x: tf.split(x, [2, 0, 1])[0] * 2.0, lambda x: x[:2] * 2.0, (3,)),
    ],
    "unstack": [
        on(tf.unstack, lambda x: [x[0], x[1]], (2, 2)),
        on(lambda x: tf.unstack(x, axis=-1), lambda x: [x[:, 0], x[:, 1]], (2, 2)),
        on(lambda x: tf.unstack(x)[2] ** 3, lambda x: x[2] ** 3, (3,)),
    ],
    "stack and concat": [
        on(lambda x, y: tf.stack([x, y], 1), lambda x, y: jnp.stack([x, y], 1), (2, 2), (2, 2)),
        on(lambda x: tf.stack([x, x, x], -1), lambda x: jnp.stack([x, x, x], -1), (2,)),
        on(lambda x, y: tf.concat([x, y], 1), lambda x, y: jnp.concatenate([x, y], 1), (2, 1), (2, 2)),
        on(lambda x: tf.concat([x, 2 * x], -2), lambda x: jnp.concatenate([x, 2 * x], -2), (1, 2)),
        on(
            lambda x, y: tf.convert_to_tensor([[x, 1.0], [y, x * y]]),
            lambda x, y: jnp.stack([jnp.stack([x, jnp.ones(())]), jnp.stack([y, x * y])]),
            (),
            (),
        ),
        on(
            lambda x, y, z: tf.concat([x, y, z], 0),
            lambda x, y, z: jnp.concatenate([x, y, z]),
            (1,),
            (2,),
            (0,),
            complex=True,
        ),
    ],
    "shape": [
        on(lambda x: tf.reshape(x, (3, -1)), lambda x: x.reshape(3, -1), (2, 3)),
        on(lambda x: tf.reshape(x, -1), lambda x: x.reshape(-1), (2, 2)),
        on(tf.transpose, jnp.transpose, (2, 1, 3)),
        on(lambda x: tf.transpose(x, [-1, 0, 1]), lambda x: jnp.transpose(x, [-1, 0, 1]), (2, 1, 3)),
        on(lambda x: tf.transpose(x, conjugate=True), lambda x: x.T.conj(), (2, 2), complex=True),
        *on_each(tf.expand_dims, jnp.expand_dims, (2, 2), axis=[0, 1, -1]),
        on(tf.squeeze, jnp.squeeze, (1, 2, 1)),
        on(lambda x: tf.squeeze(x, [0]), lambda x: x[0], (1, 2, 1)),
        on(tf.tile, lambda x, multiples: jnp.tile(x, multiples), (2, 1), multiples=[2, 3]),
        on(tf.broadcast_to, jnp.broadcast_to, (2, 1), shape=(2, 2, 2)),
        on(tf.identity, lambda x: x, (2,)),
    ],
}

# ---------------------------------------------------------------------------------------------------------------------
# Creation and choice

CREATION = {
    "linspace": [
        on(tf.linspace, jnp.linspace, (), (), num=4),
        on(tf.linspace, jnp.linspace, (), (), num=1),
        on(tf.linspace, jnp.linspace, (2,), (2,), num=3, axis=0),
        on(tf.linspace, jnp.linspace, (2,), (2,), num=3, axis=-1),
    ],
    "fill": [on(lambda x: tf.fill((2, 3), x), lambda x: jnp.full((2, 3), x), ())],
    "one_hot": [
        on(
            lambda on, off: tf.one_hot([2, 0, 5], 3, on, off),
            lambda on, off: jnp.where(np.array([[0, 0, 1], [1, 0, 0], [0, 0, 0]], bool), on, off),
            (),
            (),
        ),
        on(
            lambda on: tf.one_hot([1, 0], 3, on, axis=0),
            lambda on: jnp.where(np.array([[0, 1], [1, 0], [0, 0]], bool), on, 0.0),
            (),
        ),
    ],
    "where": [
        on(lambda x, y: tf.where(_MASK, x, y), lambda x, y: jnp.where(_MASK, x, y), (2, 3), (3,)),
        on(lambda x, y: tf.where(x > y, x * y, y), lambda x, y: jnp.where(x > y, x * y, y), (3,), (2, 1)),
        on(lambda x: tf.where(_MASK[0], x, 1.0), lambda x: jnp.where(_MASK[0], x, 1.0), (2, 3)),
    ],
}

# ---------------------------------------------------------------------------------------------------------------------
# Clipping


def _clipped(x, limit, axes=None):
    length = jnp.sqrt(jnp.sum(x * x, axes, keepdims=True))
    return x * limit / jnp.maximum(length, limit)


def _clipped_together(xs, limit):
    length = jnp.sqrt(sum(jnp.sum(x * x) for x in xs))
    return [x * limit / jnp.maximum(length, limit) for x in xs] + [length]


def _clip_together(xs, limit):
    clipped, length = tf.clip_by_global_norm(xs, limit)
    return [*clipped, length]


CLIPPING = {
    "clip_by_value": [
        on(lambda x: tf.clip_by_value(x, -1.0, 1.5), lambda x: jnp.clip(x, -1.0, 1.5), (2, 4)),
        on(lambda x, a: tf.clip_by_value(x, -a, a), lambda x, a: jnp.clip(x, -a, a), (4,), [1.1]),
    ],
    "clip_by_norm": [
        on(lambda x: tf.clip_by_norm(x, 1.0), lambda x: _clipped(x, 1.0), (2, 3)),
        on(lambda x: tf.clip_by_norm(x, 100.0), lambda x: _clipped(x, 100.0), (2, 3)),
        on(
            lambda x: tf.clip_by_norm(x, 1.2, axes=[1]),
            lambda x: _clipped(x, 1.2, 1),
            [[0.1, 0.2], [3.0, 4.0]],
        ),
        on(tf.clip_by_norm, _clipped, (3,), [0.7]),
    ],
    "clip_by_global_norm": [
        on(
            lambda x, y: _clip_together([x, y], 1.0),
            lambda x, y: _clipped_together([x, y], 1.0),
            (2, 2),
            (3,),
        ),
        on(lambda x, y: _clip_together([x, y], 50.0), lambda x, y: _clipped_together([x, y], 50.0), (2,), ()),
    ],
    "global_norm": [
        on(
            lambda x, y: tf.linalg.global_norm([x, None, y]),
            lambda x, y: jnp.sqrt(jnp.sum(x * x) + jnp.sum(y * y)),
            (2, 2),
            (3,),
        )
    ],
}

# ---------------------------------------------------------------------------------------------------------------------
# Neural networks


def _cross_entropy(labels, logits, axis=-1):
    return -jnp.sum(labels * jax.nn.log_softmax(logits, axis), axis)


_CLASSES = np.array([1, 0])

NETWORKS = {
    "softmax": [
        *on_each(tf.nn.softmax, jax.nn.softmax, (2, 3), axis=[0, 1]),
        *on_each(tf.nn.log_softmax, jax.nn.log_softmax, (2, 3), axis=[0, 1]),
        on(tf.reduce_logsumexp, jax.scipy.special.logsumexp, (2, 3), axis=0),
    ],
    "softmax_cross_entropy_with_logits": [
        on(tf.nn.softmax_cross_entropy_with_logits, _cross_entropy, (2, 3), (2, 3)),
        on(tf.nn.softmax_cross_entropy_with_logits, _cross_entropy, (2, 3), (2, 3), axis=0),
        on(tf.nn.softmax_cross_entropy_with_logits, _cross_entropy, (1, 3), (2, 3)),
    ],
    "sparse_softmax_cross_entropy_with_logits": [
        on(
            lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(_CLASSES, x),
            lambda x: -jax.nn.log_softmax(x)[np.arange(2), _CLASSES],
            (2, 3),
        )
    ],
    "embedding_lookup": [
        on(
            lambda x: tf.nn.embedding_lookup(x, [[1, 0], [1, 1]], max_norm=1.0),
            lambda x: _clipped(x[np.array([[1, 0], [1, 1]])], 1.0, -1),
            (2, 3),
        )
    ],
}

# ---------------------------------------------------------------------------------------------------------------------
# Programs


def _layers(m: Any, activation: Any) -> Callable[..., Any]:
    return lambda x, w, b, v: activation(m.tanh(x @ w + b) @ v)


def _attention(m: Any, softmax: Any, transposed: Any) -> Callable[..., Any]:
    return lambda q, k, v: softmax(q @ transposed(k) / 2.0) @ v


def _recurrent(m: Any) -> Callable[..., Any]:
    def run(state, w):
        for _ in range(4):
            state = m.sin(state @ w) + state
        return state

    return run


def _many_uses(m: Any) -> Callable[..., Any]:
    return lambda x: x * x + m.exp(-x) / (x * x + 1.0) - x**3 + 2.0**x


def _normalized(m: Any, mean: Any) -> Callable[..., Any]:
    def run(x, scale, shift):
        centred = x - mean(x)
        return centred / m.sqrt(mean(m.square(centred)) + 1e-3) * scale + shift

    return run


PROGRAMS = {
    "two layers": [
        on(
            _layers(tf, tf.nn.softmax),
            _layers(jnp, jax.nn.softmax),
            (2, 2),
            (2, 2),
            (2,),
            (2, 2),
            domain=unit,
        )
    ],
    "attention": [
        on(
            _attention(tf, tf.nn.softmax, tf.transpose),
            _attention(jnp, jax.nn.softmax, jnp.transpose),
            (2, 3),
            (2, 3),
            (2, 2),
        )
    ],
    "recurrence": [on(_recurrent(tf), _recurrent(jnp), (1, 2), (2, 2), domain=unit)],
    "many uses": [
        on(_many_uses(tf), _many_uses(jnp), (2, 3), domain=unit),
        on(_many_uses(tf), _many_uses(jnp), ()),
    ],
    "normalization": [
        on(
            _normalized(tf, lambda x: tf.reduce_mean(x, -1, keepdims=True)),
            _normalized(jnp, lambda x: jnp.mean(x, -1, keepdims=True)),
            (2, 3),
            (3,),
            (3,),
        )
    ],
    "holomorphic": [
        on(
            lambda z, w: tf.exp(z) * w / (z + 3.0),
            lambda z, w: jnp.exp(z) * w / (z + 3.0),
            (2,),
            (),
            complex=True,
        ),
        on(lambda z: z * tf.math.conj(z) * z, lambda z: z * jnp.conj(z) * z, (3,), complex=True),
    ],
}

COMPOSED: dict[str, tuple[Sample, ...]] = {
    name: tuple(entry.sample(name, i) for i, entry in enumerate(entries))
    for family in (REDUCTIONS, PRODUCTS, MOVES, CREATION, CLIPPING, NETWORKS, PROGRAMS)
    for name, entries in family.items()
}
