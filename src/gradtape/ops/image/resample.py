"""Products of a sparse matrix with one axis: resizing, blurring and differences of images, an axis at a time.

The transpose is the same primitive with the transposed matrix. A sparse product also keeps a nan or infinity in its
place: in a dense product the zeros of the matrix would spread it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.primitive import primitive
from ...engine.arrays import xp


class Weights:
    """A sparse matrix as a static, hashable attribute: `values[i]` at `(rows[i], columns[i])`, rows in order."""

    __slots__ = ("__dict__", "columns", "rows", "shape", "values")

    def __init__(self, rows: Any, columns: Any, values: Any, shape: tuple[int, int]) -> None:
        order = np.lexsort((columns, rows))
        self.rows, self.columns, self.values = rows[order], columns[order], values[order]
        self.shape = shape

    @functools.cached_property
    def T(self) -> Weights:
        """The transpose, whose own transpose is this very object."""
        transposed = Weights(self.columns, self.rows, self.values, self.shape[::-1])
        transposed.__dict__["T"] = self
        return transposed

    @functools.cached_property
    def padded(self) -> tuple[Any, Any]:
        """The columns and values of each row, padded with weights of 0 to the length of the longest row."""
        counts = np.bincount(self.rows, minlength=self.shape[0])
        columns = np.zeros((self.shape[0], counts.max(initial=0)), np.intp)
        values = np.zeros(columns.shape)
        position = np.arange(len(self.rows)) - (np.cumsum(counts) - counts)[self.rows]
        columns[self.rows, position], values[self.rows, position] = self.columns, self.values
        return columns, values

    @functools.cached_property
    def _frozen(self) -> tuple[Any, ...]:
        return self.shape, self.rows.tobytes(), self.columns.tobytes(), self.values.tobytes()

    @functools.cached_property
    def _hash(self) -> int:
        return hash(self._frozen)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Weights) and self._frozen == other._frozen)

    def __repr__(self) -> str:
        return f"<{len(self.values)} weights of a matrix of shape {list(self.shape)}>"


def sparse_rows(columns: Any, values: Any, size: int) -> Weights:
    """The matrix of `size` columns with a row for each row of `columns`: the sums of `values` at those columns."""
    rows = np.repeat(np.arange(len(columns)), columns.shape[1])
    flat, found = columns.reshape(-1), values.reshape(-1).astype(np.float64)
    taken = found != 0
    return Weights(rows[taken], flat[taken], found[taken], (len(columns), size))


@functools.lru_cache(maxsize=8)
def _matrix(weights: Weights, count: int, dtype: Any) -> Any:
    """SciPy's sparse matrix of these weights, `count` times along the diagonal: a batch takes one product."""
    import scipy.sparse

    (m, n), size = weights.shape, len(weights.values)
    at = np.arange(count, dtype=np.int32)[:, None]
    columns = (weights.columns.astype(np.int32) + n * at).reshape(-1)
    ends = np.searchsorted(weights.rows, np.arange(m), side="right").astype(np.int32) + size * at
    values = np.tile(weights.values.astype(dtype), count)
    starts = np.append(np.int32(0), ends)
    return scipy.sparse.csr_array((values, columns, starts), shape=(count * m, count * n))


def _product(weights: Weights, x: Any) -> Any:
    """The matrix times each matrix of `x`, as many at a time as keep the sparse one below some megabytes."""
    (m, n), (front, _, rest) = weights.shape, x.shape
    dtype = x.real.dtype
    limit = max(1, 2**19 // len(weights.values))
    count = -(-front // -(-front // limit))
    parts = []
    for start in range(0, front, count):
        part = x[start : start + count]
        parts.append(_matrix(weights, len(part), dtype) @ part.reshape(len(part) * n, rest))
    return (parts[0] if len(parts) == 1 else np.concatenate(parts)).reshape(front, m, rest)


@primitive(wide=True, linear=True)
def resample(x, *, weights, axis):
    """The product of the matrix of `weights` with each column of `x` along an axis."""
    shape = _resampled_shape(x, weights, axis)
    if not x.size or not len(weights.values):
        return np.zeros(shape, x.dtype)
    front, rest = math.prod(shape[:axis]), math.prod(shape[len(shape) + axis + 1 :])
    return _product(weights, x.reshape(front, x.shape[axis], rest)).reshape(shape)


@resample.compiled
def _(x, *, weights, axis):
    """A few elements of each row, one after the other; where rows have many, a dense product."""
    m = xp(x)
    if not x.size or not len(weights.values):
        return m.zeros(_resampled_shape(x, weights, axis), x.dtype)
    columns, values = weights.padded
    if columns.shape[1] > 16:
        dense = np.zeros(weights.shape)
        dense[weights.rows, weights.columns] = weights.values
        return m.moveaxis(m.moveaxis(x, axis, -1) @ dense.T.astype(x.dtype), -1, axis)
    shape = (-1, *[1] * (-axis - 1))
    parts = [
        m.take(x, at, axis, mode="clip") * factor.reshape(shape).astype(x.dtype)
        for at, factor in zip(columns.T, values.T, strict=True)
    ]
    return sum(parts[1:], parts[0])


def _resampled_shape(x: Any, weights: Weights, axis: int) -> tuple[int, ...]:
    return (*x.shape[:axis], weights.shape[0], *x.shape[x.ndim + axis + 1 :])


resample.rules(x=lambda g, weights, axis: resample(g, weights=weights.T, axis=axis))

# ---------------------------------------------------------------------------------------------------------------------
# Resizing: output i lies at (i + 1/2) n / m on an axis where pixel j has its centre at j + 1/2

Kernel = tuple[float, Callable[[Any], Any]]  # how far it reaches, and its value at a distance


def _keys_cubic(x: Any) -> Any:
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _mitchell_cubic(x: Any) -> Any:
    near = (7 * x - 12) * x * x / 6 + 8 / 9
    far = (((-7 / 18) * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(radius: float) -> Kernel:
    return radius, lambda x: np.where(x < radius, np.sinc(x) * np.sinc(x / radius), 0)


KERNELS: dict[str, Kernel] = {
    "bilinear": (1.0, lambda x: np.maximum(1 - x, 0)),
    "bicubic": (2.0, _keys_cubic),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
    "gaussian": (1.5, lambda x: np.where(x < 1.5, np.exp(-2 * x * x), 0)),
    "mitchellcubic": (2.0, _mitchell_cubic),
}


def _kernel_weights(kernel: Kernel, n: int, m: int, antialias: bool) -> Weights:
    """Each output is the mean of the pixels around it, weighted by a kernel, which shrinking with antialias widens."""
    radius, value = kernel
    # Places in float32, as TensorFlow computes them: it matters at the edge of a kernel that ends with a step.
    scale = np.float32(1) / (np.float32(m) / np.float32(n))
    stretch = max(scale, np.float32(1)) if antialias else np.float32(1)
    centre = (np.arange(m, dtype=np.float32)[:, None] + np.float32(0.5)) * scale
    first = np.ceil(centre - np.float32(radius) * stretch - np.float32(0.5))
    near = first + np.arange(int(np.ceil(2 * radius * stretch)) + 1, dtype=np.float32)
    distance = np.abs(near + np.float32(0.5) - centre) * (np.float32(1) / stretch)
    found = value(distance.astype(np.float64)) * ((near >= 0) & (near < n))
    return sparse_rows(near.clip(0, n - 1).astype(np.intp), found / found.sum(1, keepdims=True), n)


def _bilinear_weights(n: int, m: int) -> Weights:
    at = (np.arange(m) + 0.5) * (n / m) - 0.5
    low = np.floor(at)
    columns = np.stack([low, low + 1], 1).clip(0, n - 1).astype(np.intp)
    return sparse_rows(columns, np.stack([1 - (at - low), at - low], 1), n)


def _bicubic_weights(n: int, m: int) -> Weights:
    """Keys's cubic at four pixels, at a distance TensorFlow rounds to 1/1024; those beyond the edge do not count."""
    at = (np.arange(m) + 0.5) * (n / m) - 0.5
    low = np.floor(at)
    distance = np.rint((at - low) * 1024) / 1024
    near = low[:, None] + np.arange(-1, 3)
    found = _keys_cubic(np.abs(np.arange(-1, 3) - distance[:, None])) * ((near >= 0) & (near < n))
    return sparse_rows(near.clip(0, n - 1).astype(np.intp), found / found.sum(1, keepdims=True), n)


def _area_weights(n: int, m: int) -> Weights:
    """Each output is the mean over its share of the axis, pixels counting as far as they lie in it."""
    edges = np.arange(m + 1) * (n / m)
    first = np.floor(edges[:-1, None])
    pixel = first + np.arange(int(np.ceil(n / m)) + 1)
    covered = np.minimum(pixel + 1, edges[1:, None]) - np.maximum(pixel, edges[:-1, None])
    return sparse_rows(pixel.clip(0, n - 1).astype(np.intp), covered.clip(min=0) * (m / n), n)


def nearest(n: int, m: int) -> Any:
    """The pixel each output lies in. In float32, because there the products round as TensorFlow's do."""
    at = (np.arange(m, dtype=np.float32) + np.float32(0.5)) * (np.float32(n) / np.float32(m))
    return np.minimum(np.floor(at).astype(np.intp), n - 1)


@functools.lru_cache(maxsize=1000)
def resizing(method: str, n: int, m: int, antialias: bool) -> Weights:
    """The weights that resize an axis of length `n` to `m`."""
    if method == "nearest":
        return sparse_rows(nearest(n, m)[:, None], np.ones((m, 1)), n)
    if method == "area":
        return _area_weights(n, m)
    if not antialias and method in ("bilinear", "bicubic"):
        return _bilinear_weights(n, m) if method == "bilinear" else _bicubic_weights(n, m)
    return _kernel_weights(KERNELS[method], n, m, antialias)


# ---------------------------------------------------------------------------------------------------------------------
# Filters


@functools.lru_cache(maxsize=1000)
def filtering(taps: tuple[float, ...], n: int) -> Weights:
    """The weights that slide `taps` over an axis of length `n`, as far as they fit in."""
    columns = np.arange(n - len(taps) + 1)[:, None] + np.arange(len(taps))
    return sparse_rows(columns, np.broadcast_to(np.array(taps), columns.shape), n)


@functools.lru_cache(maxsize=1000)
def reflected(taps: tuple[float, ...], n: int) -> Weights:
    """The weights that slide `taps` over all of an axis of length `n`, mirrored at its first and its last pixel."""
    half = len(taps) // 2
    at = np.pad(np.arange(n), half, mode="reflect")
    columns = at[np.arange(n)[:, None] + np.arange(len(taps))]
    return sparse_rows(columns, np.broadcast_to(np.array(taps), columns.shape), n)


@functools.lru_cache(maxsize=1000)
def halving(n: int) -> Weights:
    """The weights of the mean of every two pixels; an odd last one counts twice."""
    columns = np.arange(0, n, 2)[:, None] + np.arange(2)
    return sparse_rows(columns.clip(max=n - 1), np.full(columns.shape, 0.5), n)
