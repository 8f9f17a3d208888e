"""Functions of networks that are made of several primitives: their values and derivatives, against JAX."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf
from gradtape import nn
from gradtape.ops.nn.embedding import Sparse

from . import checks
from .composed import on, on_each
from .entries import fraction, positive

# ---------------------------------------------------------------------------------------------------------------------
# Convolution and pooling, as users say it: JAX has the same words for padding


def _conv(x, filters, strides=1, padding="VALID", data_format="NHWC", dilations=1, groups=1):
    rank = x.ndim - 2
    space = "DHW"[-rank:]
    return jax.lax.conv_general_dilated(
        x,
        filters,
        (strides,) * rank,
        padding,
        rhs_dilation=(dilations,) * rank,
        dimension_numbers=(data_format, f"{space}IO", data_format),
        feature_group_count=groups,
    )


def _conv_transpose(y, filters, output_shape, **options):
    return jax.vjp(lambda x: _conv(x, filters, **options), jnp.zeros(output_shape))[1](y)[0]


def _depthwise(x, filters, strides, padding):
    height, width, channels, each = filters.shape
    return _conv(x, filters.reshape(height, width, 1, channels * each), strides, padding, groups=channels)


def _separable(x, apart, point, strides, padding):
    return _conv(_depthwise(x, apart, strides, padding), point)


def _average(x, ksize, strides, padding):
    def total(x):
        return jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, ksize, 1), (1, strides, 1), padding)

    return total(x) / total(jnp.ones(x.shape))


def _largest(x, size):
    """Of windows of `size` rows and columns side by side."""
    n, height, width, channels = x.shape
    return x.reshape(n, height // size, size, width // size, size, channels).max((2, 4))


WINDOWS = {
    "conv": [
        *on_each(nn.conv2d, _conv, (1, 3, 3, 1), (2, 2, 1, 2), strides=[1, 2], padding=["SAME", "VALID"]),
        on(nn.conv2d, _conv, (1, 4, 3, 1), (2, 2, 1, 1), strides=1, padding="SAME", dilations=2),
        on(nn.conv2d, _conv, (1, 2, 3, 2), (2, 2, 2, 1), strides=1, padding="SAME", data_format="NCHW"),
        on(
            partial(nn.conv1d, stride=1, padding="SAME"),
            partial(_conv, padding="SAME", data_format="NWC"), (2, 3, 1), (2, 1, 1),
        ),
        on(nn.convolution, _conv, (1, 2, 2, 2, 1), (2, 2, 1, 1, 1), padding="SAME", data_format="NDHWC"),
    ],
    "conv_transpose": [
        *on_each(
            nn.conv2d_transpose, _conv_transpose, (1, 2, 2, 1), (2, 2, 1, 1),
            output_shape=[(1, 4, 3, 1)], strides=[2], padding=["SAME"],
        ),
        on(
            nn.conv_transpose, _conv_transpose, (1, 2, 2), (2, 1, 2),
            output_shape=(1, 1, 4), strides=2, padding="VALID", data_format="NCW",
        ),
    ],
    "depthwise": [
        on(
            lambda x, f: nn.depthwise_conv2d(x, f, [1, 2, 2, 1], "SAME"),
            partial(_depthwise, strides=2, padding="SAME"), (1, 3, 3, 2), (2, 2, 2, 2),
        ),
        on(
            lambda x, f, point: nn.separable_conv2d(x, f, point, [1, 1, 1, 1], "VALID"),
            partial(_separable, strides=1, padding="VALID"), (1, 2, 3, 2), (2, 2, 2, 1), (1, 1, 2, 2),
        ),
    ],
    "pool": [
        *on_each(nn.avg_pool1d, _average, (1, 5, 2), ksize=[2, 3], strides=[1, 2], padding=["SAME", "VALID"]),
        on(lambda x: nn.max_pool2d(x, 2, 2, "VALID"), partial(_largest, size=2), (1, 4, 4, 1)),
        on(
            lambda x: nn.max_pool2d(x, 2, 2, "VALID", data_format="NCHW"),
            lambda x: jnp.moveaxis(_largest(jnp.moveaxis(x, 1, -1), 2), -1, 1), (1, 2, 2, 4),
        ),
    ],
}  # fmt: skip

# ---------------------------------------------------------------------------------------------------------------------
# Activations and normalization


def _moments(x, axes, keepdims=False):
    axes = tuple(axes)
    return jnp.mean(x, axes, keepdims=keepdims), jnp.var(x, axes, keepdims=keepdims)


def _weighted_moments(x, w, axes):
    total = jnp.sum(w * jnp.ones(x.shape), axes, keepdims=True)
    mean = jnp.sum(w * x, axes, keepdims=True) / total
    return mean.squeeze(axes), (jnp.sum(w * (x - mean) ** 2, axes, keepdims=True) / total).squeeze(axes)


def _lrn(x, radius, bias, alpha, beta):
    channels = np.arange(x.shape[-1])
    near = (abs(channels[:, None] - channels) <= radius).astype(float)
    return x / (bias + alpha * (x**2 @ near)) ** beta


LAYERS = {
    "activations": [
        on(nn.gelu, partial(jax.nn.gelu, approximate=False), (2, 3)),
        on(nn.gelu, jax.nn.gelu, (2, 3), approximate=True),
        on(nn.silu, jax.nn.silu, (2, 3)),
        on(lambda x, beta: nn.silu(x, beta), lambda x, beta: x * jax.nn.sigmoid(beta * x), (2, 3), ()),
        on(nn.crelu, lambda x, axis: jax.nn.relu(jnp.concatenate([x, -x], axis)), (2, 3), axis=0),
    ],
    "moments": [
        *on_each(nn.moments, _moments, (2, 3, 2), axes=[[0], [0, 1], [-1]], keepdims=[False, True]),
        on(
            lambda x, w: nn.weighted_moments(x, [0], w),
            partial(_weighted_moments, axes=0), (3, 2), (3, 2), domain=positive,
        ),
        on(
            lambda x, w: nn.weighted_moments(x, [1], w),
            partial(_weighted_moments, axes=1), (2, 3), (3,), domain=positive,
        ),
        on(
            lambda x, s: nn.normalize_moments(*nn.sufficient_statistics(x, [0], s)),
            lambda x, s: (x.mean(0), x.var(0)), (3, 2), (),
        ),
    ],
    "batch_normalization": [
        on(
            lambda x, m, v, b, a: nn.batch_normalization(x, m, v, b, a, 0.1),
            lambda x, m, v, b, a: a * (x - m) / jnp.sqrt(v + 0.1) + b,
            (3, 2), (2,), (2,), (2,), (2,), domain=positive,
        ),
        on(
            lambda x: nn.batch_normalization(x, *nn.moments(x, [0]), None, None, 0.1),
            lambda x: (x - x.mean(0)) / jnp.sqrt(x.var(0) + 0.1), (4, 2),
        ),
    ],
    "local_response_normalization": [
        on(
            lambda x: nn.lrn(x, 1, 2.0, 0.5, 0.75),
            partial(_lrn, radius=1, bias=2.0, alpha=0.5, beta=0.75), (1, 1, 2, 4),
        ),
    ],
    "bias_add": [
        on(nn.bias_add, lambda x, b: x + b, (2, 3), (3,)),
        on(partial(nn.bias_add, data_format="NCHW"), lambda x, b: x + b[:, None, None], (1, 2, 2, 1), (2,)),
    ],
}  # fmt: skip

# ---------------------------------------------------------------------------------------------------------------------
# Losses


def _weighted(labels, logits, weight):
    return -(weight * labels * jax.nn.log_sigmoid(logits) + (1 - labels) * jax.nn.log_sigmoid(-logits))


_DRAWN = (np.array([0, 4, 1]), np.array([[0.5], [0.25]]), np.array([0.5, 0.25, 1.5]))
_TRUE = np.array([[1], [2]])


def _sampled(weights, biases, x):
    """The logits of the true class and of those drawn, and whether a row's true class is drawn."""
    true = jnp.sum(x * weights[_TRUE[:, 0]], 1, keepdims=True) + biases[_TRUE] - np.log(_DRAWN[1])
    drawn = x @ weights[_DRAWN[0]].T + biases[_DRAWN[0]] - np.log(_DRAWN[2])
    return true, drawn, _DRAWN[0] == _TRUE


def _nce(weights, biases, x):
    true, drawn, _ = _sampled(weights, biases, x)
    return jnp.logaddexp(0, -true).sum(1) + jnp.logaddexp(0, drawn).sum(1)


def _sampled_softmax(weights, biases, x):
    true, drawn, hit = _sampled(weights, biases, x)
    both = jnp.concatenate([true, jnp.where(hit, -1e9, drawn)], 1)
    return -jax.nn.log_softmax(both)[:, 0]


def _with_samples(loss, **options):
    return lambda w, b, x: loss(w, b, _TRUE, x, 3, 5, sampled_values=_DRAWN, **options)


def _collapsed(path, blank):
    return tuple(k for k, _ in itertools.groupby(path) if k != blank)


def _all_paths(logits, labels, times, blank=0):
    """The loss by its definition: the sum over every path that collapses to the labels."""
    scores = jax.nn.log_softmax(logits)
    losses = []
    for i, (wanted, time) in enumerate(zip(labels, times, strict=True)):
        paths = itertools.product(range(logits.shape[2]), repeat=time)
        good = [path for path in paths if _collapsed(path, blank) == wanted]
        each = [sum((scores[t, i, k] for t, k in enumerate(path)), jnp.zeros(())) for path in good]
        losses.append(-jax.scipy.special.logsumexp(jnp.stack(each)))
    return jnp.stack(losses)


_IDS = Sparse([[0, 0], [0, 1], [2, 0]], [1, 0, 1], [3, 2])


def _lookup(combiner, weighted):
    def ours(table, w):
        weights = Sparse(_IDS.indices, w, _IDS.dense_shape) if weighted else None
        return nn.safe_embedding_lookup_sparse(table, _IDS, weights, combiner) + 0 * tf.reduce_sum(w)

    def reference(table, w):
        w = w if weighted else jnp.ones(3)
        share = {"sum": lambda w: 1.0, "mean": jnp.sum, "sqrtn": lambda w: jnp.sqrt(jnp.sum(w**2))}[combiner]
        first = (table[1] * w[0] + table[0] * w[1]) / share(w[:2])
        return jnp.stack([first, jnp.zeros(2), table[1] * w[2] / share(w[2:])])

    return on(ours, reference, (2, 2), (3,), domain=positive)


LOSSES = {
    "cross entropies": [
        on(nn.sigmoid_cross_entropy_with_logits, partial(_weighted, weight=1.0), (2, 3), (2, 3), domain=fraction),
        on(nn.weighted_cross_entropy_with_logits, _weighted, (2, 3), (2, 3), ()),
        on(nn.weighted_cross_entropy_with_logits, _weighted, (2, 3), np.zeros((2, 3)), (3,)),
    ],
    "sums": [
        on(nn.l2_loss, lambda x: jnp.sum(x**2) / 2, (2, 3)),
        on(nn.log_poisson_loss, lambda z, c: jnp.exp(c) - z * c, (2, 3), (2, 3)),
        on(
            partial(nn.log_poisson_loss, [0.5, 1.0, 3.0], compute_full_loss=True),
            lambda c: jnp.exp(c) - np.array([0.5, 1.0, 3.0]) * c
            + np.array([0, 0, 3 * np.log(3) - 3 + np.log(6 * np.pi) / 2]), (3,),
        ),
        on(nn.compute_average_loss, lambda x, w: jnp.sum(x * w[:, None]) / 3, (3, 2), (3,)),
        on(nn.scale_regularization_loss, jnp.sum, (2,)),
    ],
    "sampled": [
        on(_with_samples(nn.nce_loss), _nce, (5, 2), (5,), (2, 2)),
        on(_with_samples(nn.sampled_softmax_loss), _sampled_softmax, (5, 2), (5,), (2, 2)),
    ],
    "ctc_loss": [
        on(
            lambda x: nn.ctc_loss([[1, 1], [2, 0]], x, [2, 1], [4, 3]),
            partial(_all_paths, labels=[(1, 1), (2,)], times=[4, 3]), (4, 2, 3),
        ),
        on(
            lambda x: nn.ctc_loss([[0, 1], [1, 9]], x, [2, 0], [3, 2], logits_time_major=False, blank_index=-1),
            lambda x: _all_paths(x.swapaxes(0, 1), [(0, 1), ()], [3, 2], blank=2), (2, 3, 3),
        ),
    ],
    "embeddings": [_lookup(combiner, weighted) for combiner in ("sum", "mean", "sqrtn") for weighted in (True, False)],
}  # fmt: skip

SAMPLES = {
    name: tuple(entry.sample(name, i) for i, entry in enumerate(entries))
    for family in (WINDOWS, LAYERS, LOSSES)
    for name, entries in family.items()
}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_check_holds_at_every_sample(name, subtests):
    for check in checks.ALL:
        with subtests.test(check.__name__):
            check(SAMPLES[name])
