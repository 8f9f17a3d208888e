"""Samples for the primitives of Fourier and cosine transforms, and of frames."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from .entries import case, of


def _complex(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(len(shape))
    return rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)


def _fft(x, *, axes, inverse):
    return (jnp.fft.ifftn if inverse else jnp.fft.fftn)(x, axes=axes) if x.size else x


def _rfft(x, *, axes):
    if x.size:
        return jnp.fft.rfftn(x, axes=axes)
    return jnp.zeros((*x.shape[:-1], x.shape[-1] // 2 + 1 if x.shape[-1] else 0), complex)


def _irfft(x, *, axes, length):
    return (
        jnp.fft.irfftn(x, [*[x.shape[a] for a in axes[:-1]], length], axes)
        if x.size
        else jnp.zeros((0, length))
    )


FOURIER = {
    "fft": of(
        _fft,
        case(_complex(5), axes=(-1,), inverse=False),
        case(_complex(2, 4), axes=(-1,), inverse=True),
        case(_complex(3, 2), axes=(-2,), inverse=False),
        case(_complex(2, 3), axes=(-2, -1), inverse=True),
        case(_complex(2, 1, 3), axes=(-1, -3), inverse=False),
        case(_complex(1, 2, 1, 2), axes=(-3, -2, -1), inverse=False),
        case(_complex(0, 3), axes=(-1,), inverse=False),
        case(_complex(2, 0), axes=(-1,), inverse=True),
    ),
    "rfft": of(
        _rfft,
        case((1,), axes=(-1,)),
        case((2,), axes=(-1,)),
        case((5,), axes=(-1,)),
        case((2, 4), axes=(-1,)),
        case((4, 2), axes=(-2,)),
        case((3, 4), axes=(-2, -1)),
        case((3, 2), axes=(-1, -2)),
        case((2, 2, 3), axes=(-3, -2, -1)),
        case((0, 3), axes=(-1,)),
        case((2, 0), axes=(-1,)),
    ),
    "irfft": of(
        _irfft,
        case(_complex(1), axes=(-1,), length=1),
        case(_complex(2), axes=(-1,), length=2),
        case(_complex(2), axes=(-1,), length=3),
        case(_complex(2, 3), axes=(-1,), length=4),
        case(_complex(3, 2), axes=(-2,), length=5),
        case(_complex(2, 3), axes=(-2, -1), length=5),
        case(_complex(2, 3), axes=(-1, -2), length=2),
        case(_complex(2, 1, 2), axes=(-3, -2, -1), length=2),
        case(_complex(0, 3), axes=(-1,), length=4),
    ),
}


def _frame(x, *, length, step):
    count = max(0, 1 + (x.shape[-1] - length) // step)
    return x[..., np.arange(count)[:, None] * step + np.arange(length)]


def _overlap_add(x, *, step, size):
    at = np.arange(x.shape[-2])[:, None] * step + np.arange(x.shape[-1])
    return jnp.zeros((*x.shape[:-2], size), x.dtype).at[..., at].add(x)


FRAMES = {
    "frame": of(
        _frame,
        case((5,), length=3, step=1),
        case((7,), length=2, step=3),
        case((2, 6), length=4, step=2),
        case((4,), length=4, step=9),
        case((3,), length=4, step=1),
        case((0, 3), length=2, step=1),
        complex=True,
    ),
    "overlap_add": of(
        _overlap_add,
        case((3, 3), step=1, size=5),
        case((2, 2), step=3, size=7),
        case((2, 2, 4), step=2, size=6),
        case((4, 3), step=2, size=9),
        case((2, 5), step=1, size=6),
        case((1, 4), step=9, size=4),
        case((0, 4), step=1, size=3),
        complex=True,
    ),
}

# ---------------------------------------------------------------------------------------------------------------------
# Cosine transforms, by their definitions


def _cosines(n: int, type: int, ortho: bool) -> np.ndarray:
    """The matrix that takes a column to its transform."""
    k, j = np.arange(n)[:, None], np.arange(n)
    if type == 1:
        matrix = 2 * np.cos(np.pi * k * j / (n - 1))
        matrix[:, [0, -1]] /= 2
        return matrix
    matrix = {
        2: 2 * np.cos(np.pi * k * (2 * j + 1) / (2 * n)),
        3: 2 * np.cos(np.pi * (2 * k + 1) * j / (2 * n)),
        4: 2 * np.cos(np.pi * (2 * k + 1) * (2 * j + 1) / (4 * n)),
    }[type]
    if type == 3:
        matrix[:, 0] /= np.sqrt(2) if ortho else 2
    if type == 2 and ortho:
        matrix[0] /= np.sqrt(2)
    return matrix / np.sqrt(2 * n) if ortho else matrix


def _dct(x, *, type, ortho):
    return x @ _cosines(x.shape[-1], type, ortho).T if x.shape[-1] else x


COSINES = {
    "dct": of(
        _dct,
        *[case((2, 3), type=type, ortho=False) for type in (1, 2, 3, 4)],
        *[case((4,), type=type, ortho=True) for type in (2, 3, 4)],
        *[case((1,), type=type, ortho=ortho) for type in (2, 3, 4) for ortho in (False, True)],
        case((2,), type=1, ortho=False),
        case((0, 3), type=2, ortho=False),
        case((2, 0), type=2, ortho=False),
    )
}
