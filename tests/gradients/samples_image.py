"""Samples for the primitive by which images are resized and filtered."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from gradtape.ops.image.resample import Weights, filtering, halving, reflected, resizing

from .entries import case, of


def dense(weights: Weights) -> np.ndarray:
    matrix = np.zeros(weights.shape)
    np.add.at(matrix, (weights.rows, weights.columns), weights.values)
    return matrix


def _resample(x, *, weights, axis):
    return jnp.moveaxis(jnp.tensordot(dense(weights), x, (1, axis)), 0, axis)


_NOTHING = np.zeros(0, int)

IMAGES = {
    "resample": of(
        _resample,
        case((3,), weights=resizing("bilinear", 3, 5, False), axis=-1),
        case((5, 2), weights=resizing("lanczos3", 5, 2, True), axis=-2),
        case((2, 3, 2), weights=resizing("nearest", 3, 4, False), axis=-2),
        case((2, 4, 1, 2), weights=resizing("area", 4, 3, False), axis=-3),
        case((2, 3), weights=resizing("bicubic", 3, 4, False).T.T, axis=-1),
        case((2, 4), weights=resizing("bicubic", 3, 4, False).T, axis=-1),
        case((4,), weights=filtering((0.25, 0.5, 0.25), 4), axis=-1),
        case((3, 2), weights=reflected((-1.0, 0.0, 1.0), 3), axis=-2),
        case((5,), weights=halving(5), axis=-1),
        case((2, 3), weights=Weights(_NOTHING, _NOTHING, np.zeros(0), (2, 3)), axis=-1),
        case((0, 3), weights=resizing("bilinear", 3, 5, False), axis=-1),
        complex=True,
    ),
}
