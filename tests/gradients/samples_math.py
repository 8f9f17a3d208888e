"""Samples for scans, segments, counts and sorting."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .entries import case, of

# ---------------------------------------------------------------------------------------------------------------------
# Scans


def _prefixes(reduce):
    """The scan that reduces everything up to each element."""

    def scan(x, *, axis, reverse):
        x = jnp.flip(x, axis) if reverse else x
        starts = [jnp.take(x, jnp.arange(i + 1), axis) for i in range(x.shape[axis])]
        out = jnp.stack([reduce(start, axis) for start in starts], axis) if starts else x
        return jnp.flip(out, axis) if reverse else out

    return scan


def _cumprod(x, *, axis, exclusive, reverse):
    out = _prefixes(jnp.prod)(x, axis=axis, reverse=reverse)
    if not exclusive or not x.shape[axis]:
        return out
    one, behind = jnp.ones_like(jnp.take(out, jnp.arange(1), axis)), jnp.arange(x.shape[axis] - 1)
    if reverse:
        return jnp.concatenate([jnp.take(out, behind + 1, axis), one], axis)
    return jnp.concatenate([one, jnp.take(out, behind, axis)], axis)


def _recurrence(a, b, *, axis, reverse):
    """y = M y + b, with `a` beside the diagonal of M, as a linear system."""
    a, b = (jnp.moveaxis(x, axis, -1) for x in jnp.broadcast_arrays(a, b))
    n = a.shape[-1]
    beside = jnp.eye(n, k=1 if reverse else -1, dtype=a.dtype)
    y = jnp.linalg.solve(jnp.eye(n, dtype=a.dtype) - a[..., None] * beside, b[..., None])[..., 0]
    return jnp.moveaxis(y, -1, axis)


_ALONG = [
    case((5,), axis=-1, reverse=False),
    case((2, 3), axis=-1, reverse=True),
    case((3, 2), axis=-2, reverse=False),
    case((1,), axis=-1, reverse=False),
    case((0, 2), axis=-1, reverse=True),
    case((0, 2), axis=-2, reverse=False),
]

SCANS = {
    "recurrence": of(
        _recurrence,
        case((5,), (5,), axis=-1, reverse=False),
        case((2, 3), (2, 3), axis=-1, reverse=True),
        case((3,), (2, 3), axis=-1, reverse=False),
        case((2, 2, 1), (2, 2), axis=-2, reverse=True),
        case((1,), (1,), axis=-1, reverse=False),
        case([2.0, 0.0, 3.0, 0.0], [1.0, -2.0, 0.5, 4.0], axis=-1, reverse=False),
        case((0,), (0,), axis=-1, reverse=False),
        complex=True,
    ),
    "cumprod": of(
        _cumprod,
        case((5,), axis=-1, exclusive=False, reverse=False),
        case((2, 3), axis=-1, exclusive=True, reverse=True),
        case((3, 2), axis=-2, exclusive=True, reverse=False),
        case((1,), axis=-1, exclusive=False, reverse=True),
        case((1,), axis=-1, exclusive=True, reverse=False),
        case((0, 2), axis=-1, exclusive=True, reverse=True),
        case((0, 2), axis=-2, exclusive=True, reverse=False),
        case([2.0, 0.0, 3.0, 0.0, 1.5], axis=-1, exclusive=False, reverse=False),
        case([[0.0, 2.0], [3.0, 0.0], [4.0, 5.0]], axis=-2, exclusive=True, reverse=True),
        complex=True,
    ),
    "prod": of(
        lambda x: jnp.prod(x, -1),
        case((4,)),
        case((2, 3)),
        case((1,)),
        case((2, 0)),
        case((0, 2)),
        case([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0]]),
        complex=True,
    ),
    "cumulative_logsumexp": of(
        _prefixes(jax.nn.logsumexp), *_ALONG, case([300.0, -400.0, 301.0, 299.0], axis=-1, reverse=False)
    ),
}

# ---------------------------------------------------------------------------------------------------------------------
# Segments


def _segments(reduce, neutral):
    """Each segment reduced by itself, the other rows replaced by what does not count."""

    def reduced(x, ids, *, size, trailing, empty=neutral):
        axis = x.ndim - trailing - 1
        parts = []
        for i in range(size):
            inside = (ids == i).reshape((-1,) + (1,) * trailing)
            part = reduce(jnp.where(inside, x, neutral), axis, initial=neutral)
            parts.append(jnp.where((ids == i).any(), part, empty))
        return jnp.stack(parts, axis)

    return reduced


def _segment_spread(x, ids, *, trailing):
    segments = jax.nn.one_hot(ids, x.shape[-trailing - 1], dtype=x.dtype)
    return jnp.moveaxis(jnp.tensordot(segments, x, [[1], [x.ndim - trailing - 1]]), 0, x.ndim - trailing - 1)


_IDS = np.array([2, 0, 2, -1, 2])


def _rows(**attributes):
    return [
        case((5,), _IDS, size=4, trailing=0, **attributes),
        case((5, 2), _IDS, size=3, trailing=1, **attributes),
        case((3, 1, 2), np.array([0, 0, 1]), size=2, trailing=2, **attributes),
        case((0, 2), np.zeros(0, int), size=2, trailing=1, **attributes),
        case((2, 0), np.array([1, 1]), size=2, trailing=1, **attributes),
    ]


SEGMENTS = {
    "segment_sum": of(
        _segments(jnp.sum, 0.0), *_rows(), case((2, 3), np.array([1, 1, 0]), size=2, trailing=0), complex=True
    ),
    "segment_spread": of(
        _segment_spread,
        case((3,), _IDS, trailing=0),
        case((3, 2), _IDS, trailing=1),
        case((2, 3), np.array([0, 2, 2]), trailing=0),
        case((0, 2), np.array([-1, -1]), trailing=1),
        complex=True,
    ),
    "segment_max": of(_segments(jnp.max, -np.inf), *_rows(empty=0.0), *_rows(empty=-100.0)[:2]),
    "segment_min": of(_segments(jnp.min, np.inf), *_rows(empty=0.0), *_rows(empty=100.0)[:2]),
    "segment_prod": of(
        _segments(jnp.prod, 1.0),
        *_rows(),
        case((6,), np.array([1, 0, 1, 1, 0, 1]), size=2, trailing=0),
        case([2.0, 0.0, 3.0, 0.0, 0.0, 5.0], np.array([0, 0, 1, 1, 1, 0]), size=2, trailing=0),
        complex=True,
    ),
}

# ---------------------------------------------------------------------------------------------------------------------
# Counts


def _fixed_width_bins(values, low, high, *, nbins, dtype):
    return jnp.clip(jnp.digitize(values, jnp.linspace(low, high, nbins + 1)) - 1, 0, nbins - 1).astype(dtype)


COUNTS = {
    "count": of(
        lambda ids, *, size, dtype: (ids == jnp.arange(size)[:, None]).sum(1).astype(dtype),
        case(np.array([3, 0, 3, -1, 1]), size=4, dtype="int32"),
        case(np.array([3, 0, 3]), size=5, dtype="float32"),
        case(np.zeros(0, int), size=2, dtype="int64"),
    ),
    "fixed_width_bins": of(
        _fixed_width_bins,
        case((2, 9), np.array(-1.0), np.array(1.5), nbins=5, dtype="int32"),
        case([-1.0, 0.0, 1.0, 2.0, 5.0, 7.0], np.array(0.0), np.array(5.0), nbins=5, dtype="int64"),
        case((0,), np.array(0.0), np.array(5.0), nbins=5, dtype="int32"),
    ),
}

# ---------------------------------------------------------------------------------------------------------------------
# Sorting


def _argsort(x, *, axis, descending, dtype):
    return jnp.argsort(x, axis, descending=descending, stable=True).astype(dtype)


def _put_along(x, indices, *, axis, size):
    spots = jax.nn.one_hot(indices, size, dtype=x.dtype, axis=axis)
    return jnp.sum(spots * jnp.expand_dims(x, axis), axis - 1)


def _searchsorted(sequence, values, *, side, dtype):
    less = jnp.less if side == "left" else jnp.less_equal
    return less(sequence[..., None, :], values[..., None]).sum(-1).astype(dtype)


def _in_top_k(predictions, targets, *, k):
    own = predictions[np.arange(len(targets)), targets]
    return (predictions > own[:, None]).sum(1) < k


_TIES = np.array([[3.0, 1.0, 3.0, 2.0, 1.0], [0.0, 0.0, -1.0, 0.0, 4.0]])
_SORTED = np.array([[1.0, 2.0, 2.0, 5.0], [-3.0, -3.0, 0.0, 9.0]])
_SOUGHT = np.array([[2.0, 0.0, 7.0], [-3.0, 9.0, 1.0]])

SORTING = {
    "sort": of(
        lambda x, *, axis, descending: jnp.sort(x, axis, descending=descending),
        case((5,), axis=-1, descending=False),
        case((2, 3), axis=-1, descending=True),
        case((3, 2, 2), axis=-3, descending=False),
        case((0, 2), axis=-1, descending=True),
        case((2, 0), axis=-1, descending=False),
    ),
    "argsort": of(
        _argsort,
        case((2, 4), axis=-1, descending=False, dtype="int32"),
        case(_TIES, axis=-1, descending=False, dtype="int32"),
        case(_TIES, axis=-1, descending=True, dtype="int64"),
        case(_TIES, axis=-2, descending=True, dtype="int32"),
        case(np.uint8([3, 0, 255]), axis=-1, descending=True, dtype="int32"),
        case((0, 2), axis=-2, descending=False, dtype="int32"),
    ),
    "take_along": of(
        lambda x, indices, *, axis: jnp.take_along_axis(x, indices, axis),
        case((4,), np.array([3, 0]), axis=-1),
        case((2, 3), np.array([[2, 0], [1, 2]]), axis=-1),
        case((3, 2), np.array([[2, 0]]), axis=-2),
        case((0, 3), np.zeros((0, 2), int), axis=-1),
        complex=True,
    ),
    "put_along": of(
        _put_along,
        case((2,), np.array([3, 0]), axis=-1, size=4),
        case((2, 2), np.array([[2, 0], [1, 2]]), axis=-1, size=3),
        case((1, 2), np.array([[2, 0]]), axis=-2, size=3),
        case((0, 2), np.zeros((0, 2), int), axis=-1, size=3),
        complex=True,
    ),
    "top_k": of(
        lambda x, *, k, dtype: _argsort(x, axis=-1, descending=True, dtype=dtype)[..., :k],
        case((2, 9), k=2, dtype="int32"),
        case(_TIES, k=1, dtype="int32"),
        case(_TIES, k=4, dtype="int64"),
        case(np.tile(_TIES, 4), k=4, dtype="int32"),
        case((2, 3), k=0, dtype="int32"),
    ),
    "searchsorted": of(
        _searchsorted,
        case(_SORTED[0], _SOUGHT[0], side="left", dtype="int32"),
        case(_SORTED, _SOUGHT, side="left", dtype="int32"),
        case(_SORTED, _SOUGHT, side="right", dtype="int64"),
        case(_SORTED[:, :0], _SOUGHT, side="left", dtype="int32"),
        case(_SORTED[:, :1], _SOUGHT, side="right", dtype="int32"),
    ),
    "in_top_k": of(
        _in_top_k,
        case((4, 3), np.array([0, 1, 2, 0]), k=2),
        case(_TIES, np.array([1, 3]), k=1),
        case((0, 3), np.zeros(0, int), k=1),
    ),
    "invert_permutation": of(
        lambda x: jnp.zeros_like(x).at[x].set(jnp.arange(len(x))), case([2, 0, 3, 1]), case(np.zeros(0, int))
    ),
}
