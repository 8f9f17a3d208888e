"""Samples for the primitives of networks: convolution, pooling, activations, losses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from gradtape.ops.nn.windows import Windows

from .entries import binary, case, of, unary


def windows(*axes):
    """Windows from one (size, stride, dilation, before, after) for each axis."""
    size, strides, dilations, before, after = zip(*axes, strict=True)
    return Windows(size, strides, dilations, tuple(zip(before, after, strict=True)))


# ---------------------------------------------------------------------------------------------------------------------
# Convolution


def convolution(x, filters, *, windows, groups):
    rank = len(windows.size)
    letters = "XYZ"[:rank]
    out = jax.lax.conv_general_dilated(
        x.reshape(-1, *x.shape[-rank - 1 :]) if x.size else x,
        filters,
        windows.strides,
        windows.pads,
        rhs_dilation=windows.dilations,
        dimension_numbers=(f"N{letters}C", f"{letters}IO", f"N{letters}C"),
        feature_group_count=groups,
    )
    return out.reshape(x.shape[: -rank - 1] + out.shape[1:])


def _deconvolution(y, filters, *, windows, groups, space):
    zeros = jnp.zeros((*y.shape[: -len(space) - 1], *space, filters.shape[-2] * groups))
    return jax.vjp(lambda x: convolution(x, filters, windows=windows, groups=groups), zeros)[1](y)[0]


def _correlation(x, y, *, windows, groups):
    zeros = jnp.zeros((*windows.size, x.shape[-1] // groups, y.shape[-1]))
    return jax.vjp(lambda f: convolution(x, f, windows=windows, groups=groups), zeros)[1](y)[0]


# The input, the filters, the windows and the number of groups: one for each way convolution is computed.
_CONVOLUTIONS = [
    ((2, 4, 1), (2, 1, 2), windows((2, 1, 1, 0, 1)), 1),
    ((2, 1, 3, 2), (1, 2, 2), windows((1, 1, 1, 0, 0)), 1),  # the windows are the elements; two batch axes
    ((1, 3, 1), (2, 1, 5), windows((2, 1, 1, 1, 0)), 1),  # many filters
    ((1, 5, 2), (2, 2, 1), windows((2, 2, 2, 1, 2)), 1),
    ((1, 3, 1), (2, 1, 1), windows((2, 1, 1, 3, 2)), 1),  # windows that meet padding alone
    ((1, 4, 2), (2, 1, 4), windows((2, 1, 1, 0, 1)), 2),  # each channel alone
    ((1, 3, 4), (2, 2, 2), windows((2, 1, 1, 1, 1)), 2),
    ((1, 4, 4), (2, 2, 2), windows((2, 2, 1, 0, 1)), 2),
    ((1, 3, 3, 1), (2, 2, 1, 2), windows((2, 2, 1, 1, 1), (2, 1, 1, 0, 1)), 1),
    ((1, 2, 2, 3, 1), (2, 1, 2, 1, 1), windows((2, 1, 1, 0, 0), (1, 1, 1, 0, 0), (2, 1, 1, 1, 0)), 1),
    ((0, 3, 1), (2, 1, 1), windows((2, 1, 1, 0, 0)), 1),
]


def _out(x, filters, w):
    rank = len(w.size)
    return (*x[: -rank - 1], *w.fit(x[-rank - 1 : -1]), filters[-1])


def _space(x, w):
    return x[-len(w.size) - 1 : -1]


CONVOLUTION = {
    "convolve": of(convolution, *[case(x, f, windows=w, groups=g) for x, f, w, g in _CONVOLUTIONS]),
    "deconvolve": of(
        _deconvolution,
        *[case(_out(x, f, w), f, windows=w, groups=g, space=_space(x, w)) for x, f, w, g in _CONVOLUTIONS],
    ),
    "correlate": of(
        _correlation, *[case(x, _out(x, f, w), windows=w, groups=g) for x, f, w, g in _CONVOLUTIONS]
    ),
}

# ---------------------------------------------------------------------------------------------------------------------
# Pooling


def cells(x, w, fill):
    """The elements of each window along a last axis; `fill` for those of the padding."""
    rank = len(w.size)
    front = x.ndim - rank
    count = w.fit(x.shape[front:])
    x = jnp.pad(x, ((0, 0),) * front + w.pads, constant_values=fill)
    for i in range(rank):
        at = np.arange(count[i])[:, None] * w.strides[i] + np.arange(w.size[i]) * w.dilations[i]
        x = jnp.take(x, at, front + 2 * i)  # ..., windows, elements, ...
    x = jnp.moveaxis(x, range(front + 1, front + 2 * rank, 2), range(-rank, 0))
    return x.reshape(*x.shape[: front + rank], int(np.prod(w.size)))


def _picked(x, values, largest, *, windows):
    first = jnp.argmax(cells(values, windows, -np.inf), -1)[..., None]
    return jnp.take_along_axis(cells(x, windows, 0.0), first, -1)[..., 0]


def _placed(x, values, largest, *, windows):
    return jax.vjp(lambda z: _picked(z, values, largest, windows=windows), jnp.zeros(values.shape))[1](x)[0]


def _spread(x, *, windows, shape):
    front = x.shape[: x.ndim - len(shape)]
    return jax.vjp(lambda z: cells(z, windows, 0.0).sum(-1), jnp.zeros((*front, *shape)))[1](x)[0]


_POOLS = [
    ((2, 4, 2), windows((2, 2, 1, 0, 0), (1, 1, 1, 0, 0))),
    ((1, 4), windows((3, 1, 1, 1, 1))),
    ((2, 5), windows((2, 2, 2, 1, 0))),
    ((3, 4), windows((2, 1, 1, 0, 1), (3, 2, 1, 1, 1))),
    ((2, 3, 2), windows((2, 1, 1, 0, 0), (2, 2, 1, 1, 0), (2, 1, 1, 0, 0))),
    ((0, 4), windows((2, 2, 1, 0, 0))),
    ((2, 1), windows((2, 1, 1, 0, 0))),  # no window fits
]
_TIED = np.array([[1.0, 1.0, 0.0, 1.0, 1.0], [0.5, 2.0, 2.0, 2.0, -1.0]])


def _with_values():
    """Values to look at, with ties and without; the windows; and the largest of each."""
    drawn = np.random.default_rng(0)
    for shape, w in [
        *_POOLS[:5],
        (_TIED.shape, windows((2, 2, 1, 0, 0))),
        (_TIED.shape, windows((3, 1, 1, 1, 1))),
    ]:
        values = (
            _TIED if shape == _TIED.shape else drawn.permutation(int(np.prod(shape))).reshape(shape) * 0.5
        )
        yield shape, values, np.asarray(cells(values, w, -np.inf).max(-1), np.float64), w


POOLING = {
    "window_sum": of(
        lambda x, *, windows: cells(x, windows, 0.0).sum(-1), *[case(x, windows=w) for x, w in _POOLS]
    ),
    "window_spread": of(
        _spread,
        *[
            case((*x[: -len(w.size)], *w.fit(x[-len(w.size) :])), windows=w, shape=x[-len(w.size) :])
            for x, w in _POOLS
        ],
    ),
    "max_pool": of(
        lambda x, *, windows: cells(x, windows, -np.inf).max(-1), *[case(x, windows=w) for x, w in _POOLS]
    ),
    "pick_largest": of(_picked, *[case(x, v, top, windows=w) for x, v, top, w in _with_values()]),
    "place_largest": of(_placed, *[case(top.shape, v, top, windows=w) for _, v, top, w in _with_values()]),
}

# ---------------------------------------------------------------------------------------------------------------------
# Normalization


def _moments(x, *, axis, keepdims):
    deviations = x - x.mean(axis, keepdims=True)  # not squared by their absolute values, if complex
    return x.mean(axis, keepdims=keepdims), (deviations**2).mean(axis, keepdims=keepdims)


NORMALIZATION = {
    "moments": of(
        _moments,
        case((2, 3), axis=(-2,), keepdims=False),
        case((2, 3), axis=(-1,), keepdims=True),
        case((2, 2, 3), axis=(-3, -2), keepdims=False),
        case((3,), axis=(-1,), keepdims=False),
        case((2, 3), axis=(), keepdims=False),
        case((0, 3), axis=(-1,), keepdims=True),
        complex=True,
    ),
}

# ---------------------------------------------------------------------------------------------------------------------
# Activations and losses

ELEMENTWISE = {
    "relu6": of(jax.nn.relu6, case((2, 3)), case(()), case([5.5, 6.5, -0.5, 0.5]), case((0,))),
    "leaky_relu": of(
        lambda x, *, alpha: jnp.where(x > 0, x, alpha * x),
        *[case((2, 3), alpha=alpha) for alpha in (0.2, 0.0, 1.0, 1.5, -0.5)],
        case((0,), alpha=0.2),
    ),
    "elu": unary(jax.nn.elu),
    "selu": unary(jax.nn.selu),
    "sigmoid_cross_entropy": binary(lambda x, z: jnp.logaddexp(0, x) - x * z),
}
