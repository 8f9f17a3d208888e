"""Samples for primitives that put elements in another order or another place."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import gradtape.ops.array.dynamic_slices  # noqa: F401  no public namespace imports it

from .entries import case, of


def _reverse_sequence(x, lengths, *, seq_axis, batch_axis):
    """By a matrix for each sequence that has a 1 where an element goes."""
    i, j = jnp.mgrid[: x.shape[seq_axis], : x.shape[seq_axis]]
    n = lengths[:, None, None]
    matrices = jnp.where(i < n, i + j == n - 1, i == j).astype(x.dtype)
    moved = jnp.moveaxis(x, (batch_axis, seq_axis), (0, 1))
    return jnp.moveaxis(jnp.einsum("bij,bj...->bi...", matrices, moved), (0, 1), (batch_axis, seq_axis))


def _put(x, updates, indices, *, axis):
    return jnp.asarray(x).at[(..., indices, *[slice(None)] * (-axis - 1))].set(updates)


def _put_extreme(x, updates, indices, *, largest):
    """The extreme of each element and all updates for it, set side by side."""
    rest = np.inf * (-1 if largest else 1)
    beside = [x]
    for i in range(len(indices)):
        beside.append(jnp.full_like(x, rest).at[indices[i]].set(updates[i]))
    return (jnp.max if largest else jnp.min)(jnp.stack(beside), 0)


ORDER = {
    "roll": of(
        lambda x, *, shift, axis: jnp.roll(x, shift, axis),
        case((4,), shift=(1,), axis=(-1,)),
        case((2, 3), shift=(-2, 5), axis=(-1, -2)),
        case((2, 3), shift=(1, 1), axis=(-1, -1)),
        case((0, 2), shift=(1,), axis=(-1,)),
        complex=True,
    ),
    "reverse": of(
        lambda x, *, axis: jnp.flip(x, axis),
        case((4,), axis=(-1,)),
        case((2, 3, 2), axis=(-1, -3)),
        case((0, 2), axis=(-2,)),
        complex=True,
    ),
    "reverse_sequence": of(
        _reverse_sequence,
        case((2, 3), np.array([2, 3]), seq_axis=-1, batch_axis=-2),
        case((3, 2, 2), np.array([0, 3]), seq_axis=-3, batch_axis=-1),
        case((2, 3, 2), np.array([1, 2]), seq_axis=-1, batch_axis=-3),
        case((0, 3), np.zeros(0, int), seq_axis=-1, batch_axis=-2),
        complex=True,
    ),
    "bitcast": of(
        lambda x, *, dtype: jax.lax.bitcast_convert_type(x, dtype),
        case(np.float32([1.0, -2.5]), dtype="int32"),
        case(np.int64([1, 1 << 40]), dtype="int32"),
        case(np.int32([[1, 2], [3, 4]]), dtype="int64"),
        case(np.int32(7), dtype="float32"),
    ),
    "put": of(
        _put,
        case((4,), (2,), np.array([3, 0]), axis=-1),
        case((3, 2), (1, 2), np.array([1]), axis=-2),
        case((3, 2), (3, 1), np.array([1]), axis=-1),
        case((2,), (0,), np.zeros(0, int), axis=-1),
        case((0, 2), (0, 0), np.zeros(0, int), axis=-1),
        complex=True,
    ),
    "put_extreme": of(
        _put_extreme,
        case((3,), (4,), np.array([1, 2, 1, 1]), largest=True),
        case((2, 2), (2, 2), np.array([0, 0]), largest=False),
        case((2, 2), (1, 2), np.array([1]), largest=True),
        case((0,), (0,), np.zeros(0, int), largest=True),
    ),
    "check_numerics": of(lambda x, *, message: x, case((2, 3), message=""), case((0,), message="")),
}

# ---------------------------------------------------------------------------------------------------------------------
# Slices at places computed


def _update_block(x, update, start):
    return jax.lax.dynamic_update_slice(x, update, [jnp.maximum(s, 0) for s in start])


DYNAMIC_SLICES = {
    "update_block": of(
        _update_block,
        case((5,), (2,), np.array([1])),
        case((3, 4), (2, 2), np.array([2, -3])),
        case((3, 4), (3, 1), np.array([9, 2])),
        case((), (), np.zeros(0, int)),
        case((2, 3), (0, 3), np.array([1, 0])),
        complex=True,
    ),
}
