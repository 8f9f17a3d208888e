"""What takes many numbers together, at a size where half precision has long run out of digits: one row a way to do it.

A row is `name: (function, *inputs)`. An input that is a shape is filled with random numbers between 0 and 1, so that
sums of a hundred thousand stay in the range of float16; an input that is a function makes its own of a generator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradtape as tf

N = 100_000
LONG, TALL, WIDE = (N,), (N // 50, 50), (50, N // 50)

Row = tuple[Any, ...]


def large(*shape: int) -> Callable[..., Any]:
    """Numbers of which the mean fits into float16, and the sum of two hundred does not."""
    return lambda draw: draw.uniform(100, 1000, shape)


def shifted(*shape: int) -> Callable[..., Any]:
    """Numbers further from 0 than from each other."""
    return lambda draw: draw.uniform(7, 9, shape)


def signed(*shape: int) -> Callable[..., Any]:
    return lambda draw: draw.uniform(-3, 3, shape)


def peaks(*shape: int) -> Callable[..., Any]:
    """Numbers below 1, but for a 1 in every 500 along the last axis but one."""
    return lambda draw: np.where(np.arange(shape[-2])[:, None] % 500, draw.uniform(0, 0.9, shape), 1.0)


def near_one(*shape: int) -> Callable[..., Any]:
    """Numbers of which a thousand have a product that is no wonder."""
    return lambda draw: np.exp(draw.uniform(-0.03, 0.03, shape))


def equal(*shape: int) -> Callable[..., Any]:
    return lambda draw: np.ones(shape)


def ids(count: int, rows: int, ordered: bool = True) -> Any:
    """A segment for each row; three of four belong to the first."""
    draw = np.random.default_rng(5)
    found = np.where(draw.random(rows) < 0.75, 0, draw.integers(0, count, rows)).astype(np.int32)
    return np.sort(found) if ordered else found


SOME = ids(7, N // 50)
MIXED = ids(7, N // 50, ordered=False)
LABELS = np.random.default_rng(6).integers(0, N // 50, 50)

# ---------------------------------------------------------------------------------------------------------------------
# Reductions, and what is made of them

REDUCTIONS: dict[str, Row] = {
    "reduce_sum": (tf.reduce_sum, LONG),
    "reduce_sum, first axis": (lambda x: tf.reduce_sum(x, 0), TALL),
    "reduce_sum, last axis": (lambda x: tf.reduce_sum(x, -1), WIDE),
    "reduce_mean": (tf.reduce_mean, LONG),
    "reduce_mean of large numbers": (lambda x: tf.reduce_mean(x, 0), large(*TALL)),
    "reduce_max": (lambda x: tf.reduce_max(x, -1), WIDE),
    "reduce_max of equals": (tf.reduce_max, equal(N)),
    "reduce_min": (lambda x: tf.reduce_min(x, 0), TALL),
    "reduce_prod": (lambda x: tf.reduce_prod(x, 0), near_one(1000, 100)),
    "reduce_variance": (tf.math.reduce_variance, LONG),
    "reduce_variance, shifted": (lambda x: tf.math.reduce_variance(x, 0), shifted(*TALL)),
    "reduce_std": (tf.math.reduce_std, LONG),
    "reduce_std, shifted": (lambda x: tf.math.reduce_std(x, -1), shifted(*WIDE)),
    "reduce_logsumexp": (tf.reduce_logsumexp, signed(N)),
    "reduce_euclidean_norm": (tf.math.reduce_euclidean_norm, LONG),
    "norm of large numbers": (lambda x: tf.norm(x, axis=0), large(*TALL)),
    "norm, ord 1": (lambda x: tf.norm(x, 1), LONG),
    "norm, ord 3": (lambda x: tf.norm(x, 3, axis=0), shifted(*TALL)),
    "normalize": (lambda x: tf.linalg.normalize(x)[0], large(N)),
    "l2_normalize": (lambda x: tf.math.l2_normalize(x, 0), large(*TALL)),
    "l2_loss": (tf.nn.l2_loss, LONG),
    "clip_by_norm": (lambda x: tf.clip_by_norm(x, 3.0), shifted(N)),
    "global_norm": (lambda x, y: tf.linalg.global_norm([x, y]), LONG, TALL),
    "moments": (lambda x: tf.nn.moments(x, [0]), shifted(*TALL)),
    "weighted_moments": (lambda x, w: tf.nn.weighted_moments(x, [0], w), shifted(*TALL), TALL),
    "batch normalization": (
        lambda *given: tf.nn.batch_normalization(*given, 1e-3),
        shifted(*TALL),
        shifted(*TALL[1:]),
        shifted(*TALL[1:]),
        TALL[1:],
        TALL[1:],
    ),
    "local_response_normalization": (
        lambda x: tf.nn.local_response_normalization(x, 60, alpha=0.1),
        (1, 1, 100, 1000),
    ),
    "quantize_and_dequantize": (
        lambda x: tf.quantization.quantize_and_dequantize(x, -2.0, 2.0, num_bits=4, range_given=True),
        signed(100),
    ),
    "softmax": (tf.nn.softmax, signed(*WIDE)),
    "softmax, first axis": (lambda x: tf.nn.softmax(x, 0), signed(*TALL)),
    "log_softmax": (tf.nn.log_softmax, signed(*WIDE)),
    "softmax_cross_entropy": (
        lambda x, p: tf.nn.softmax_cross_entropy_with_logits(p, x),
        signed(*WIDE),
        lambda draw: draw.dirichlet(np.ones(WIDE[1]), WIDE[0]),
    ),
    "sparse_softmax_cross_entropy": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(LABELS, x),
        signed(*WIDE),
    ),
    "sigmoid_cross_entropy, averaged": (
        lambda x, p: tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(p, x)),
        signed(N),
        LONG,
    ),
    "compute_average_loss": (tf.nn.compute_average_loss, large(N)),
    "mean_squared_error": (tf.losses.mean_squared_error, LONG, LONG),
    "a loss with weights, scaled": (  # without scaling, float16 has no numbers for its gradient half way back
        lambda x, y, w: 1000.0 * tf.losses.MeanSquaredError(dtype=x.dtype)(x, y, w),
        (N // 10, 10),
        (N // 10, 10),
        (N // 10,),
    ),
    "trace": (tf.linalg.trace, (20, 5000, 5)),
    "adjust_contrast": (lambda x: tf.image.adjust_contrast(tf.cast(x, "float32"), 2.0), (100, 1000, 1)),
}

# ---------------------------------------------------------------------------------------------------------------------
# Running sums, segments, lists, rows

SUMS: dict[str, Row] = {
    "cumsum": (tf.cumsum, LONG),
    "cumsum, exclusive and reversed": (lambda x: tf.cumsum(x, 0, exclusive=True, reverse=True), TALL),
    "cumprod": (lambda x: tf.math.cumprod(x, 0), near_one(1000, 100)),
    "cumulative_logsumexp": (lambda x: tf.math.cumulative_logsumexp(x, 0), signed(*TALL)),
    "add_n": (lambda x: tf.add_n(tf.unstack(x)), (500, 200)),
    "accumulate_n": (lambda x: tf.math.accumulate_n(tf.unstack(x)), (500, 200)),
    "segment_sum": (lambda x: tf.math.segment_sum(x, SOME), TALL),
    "segment_mean": (lambda x: tf.math.segment_mean(x, SOME), large(*TALL)),
    "segment_max of equals": (lambda x: tf.math.segment_max(x, SOME), equal(*TALL)),
    "segment_min": (lambda x: tf.math.segment_min(x, SOME), TALL),
    "segment_prod": (lambda x: tf.math.segment_prod(x, SOME), near_one(*TALL)),
    "unsorted_segment_sum": (lambda x: tf.math.unsorted_segment_sum(x, MIXED, 7), TALL),
    "unsorted_segment_mean": (lambda x: tf.math.unsorted_segment_mean(x, MIXED, 7), large(*TALL)),
    "unsorted_segment_sqrt_n": (lambda x: tf.math.unsorted_segment_sqrt_n(x, MIXED, 7), TALL),
    "the rows of segments": (lambda x: tf.gather(tf.math.segment_sum(x, [0, 1, 1]), SOME % 2), (3, 50)),
    "gather": (lambda x: tf.gather(x, MIXED), (7, 50)),
    "gather, last axis": (lambda x: tf.gather(x, MIXED, axis=-1), (50, 7)),
    "gather_nd": (lambda x: tf.gather_nd(x, MIXED[:, None]), (7, 50)),
    "scatter_nd": (lambda x: tf.scatter_nd(MIXED[:, None], x, [7, 50]), TALL),
    "tensor_scatter_nd_add": (
        lambda x, y: tf.tensor_scatter_nd_add(x, MIXED[:, None], y),
        (7, 50),
        TALL,
    ),
    "tensor_scatter_nd_max": (
        lambda x, y: tf.tensor_scatter_nd_max(x, MIXED[:, None], y),
        (7, 50),
        TALL,
    ),
    "bincount": (lambda w: tf.math.bincount(MIXED, weights=w, minlength=7, maxlength=7), (N // 50,)),
    "embedding_lookup": (lambda x: tf.nn.embedding_lookup(x, MIXED), (7, 50)),
}

# ---------------------------------------------------------------------------------------------------------------------
# Products

PRODUCTS: dict[str, Row] = {
    "matmul": (tf.matmul, (20, N // 20), (N // 20, 4)),
    "matmul, a batch against one": (tf.matmul, (100, 100, 10), (10, 4)),
    "matmul, one against a batch": (tf.matmul, (4, 10), (100, 10, 100)),
    "matmul with itself": (lambda x: tf.matmul(x, x, transpose_b=True), (20, N // 20)),
    "matvec": (tf.linalg.matvec, (20, N // 20), (N // 20,)),
    "tensordot": (lambda x, y: tf.tensordot(x, y, [[1, 0], [0, 1]]), (50, 1000, 2), (1000, 50)),
    "einsum": (lambda x, y: tf.einsum("bij,bjk->ik", x, y), (50, 4, 500), (50, 500, 3)),
    "einsum of one": (lambda x: tf.einsum("bij->j", x), (50, 400, 5)),
    "einsum of three": (
        lambda x, y, z: tf.einsum("ni,nj,n->ij", x, y, z),
        (N // 10, 10),
        (N // 10, 4),
        (N // 10,),
    ),
    "conv1d": (lambda x, f: tf.nn.conv1d(x, f, 1, "SAME"), (10, 5000, 2), (400, 2, 1)),
    "conv2d": (lambda x, f: tf.nn.conv2d(x, f, 1, "VALID"), (10, 20, 20, 25), (5, 5, 25, 2)),
    "conv2d_transpose": (
        lambda x, f: tf.nn.conv2d_transpose(x, f, [10, 24, 24, 2], 1, "VALID"),
        (10, 20, 20, 25),
        (5, 5, 2, 25),
    ),
    "depthwise_conv2d": (
        lambda x, f: tf.nn.depthwise_conv2d(x, f, [1, 1, 1, 1], "SAME"),
        (10, 50, 50, 4),
        (10, 10, 4, 1),
    ),
}

# ---------------------------------------------------------------------------------------------------------------------
# Windows

WINDOWS: dict[str, Row] = {
    "avg_pool1d": (lambda x: tf.nn.avg_pool1d(x, 500, 500, "VALID"), large(10, 10_000, 1)),
    "avg_pool2d": (lambda x: tf.nn.avg_pool2d(x, 20, 2, "SAME"), large(10, 50, 50, 4)),
    "avg_pool3d": (lambda x: tf.nn.avg_pool3d(x, 10, 10, "VALID"), large(1, 50, 50, 40, 1)),
    "avg_pool of equal gradients": (lambda x: tf.nn.avg_pool1d(x, 500, 1, "SAME"), (10, 1000, 10)),
    "max_pool2d": (lambda x: tf.nn.max_pool2d(x, 4, 1, "SAME"), (1, 100, 100, 10)),
    "max_pool1d, long windows": (lambda x: tf.nn.max_pool1d(x, 400, 1, "SAME"), peaks(1, 10_000, 10)),
    "overlap_and_add": (lambda x: tf.signal.overlap_and_add(x, 1), (500, 200)),
    "frame": (lambda x: tf.signal.frame(x, 400, 1), (2000,)),
    "resize": (lambda x: tf.image.resize(x, (5, 5), antialias=True), (1, 200, 500, 1)),
    "resize by nearest": (lambda x: tf.image.resize(x, (300, 300), "nearest"), (1, 5, 5, 1)),
}

# ---------------------------------------------------------------------------------------------------------------------
# Broadcasts: their gradients are sums

BROADCASTS: dict[str, Row] = {
    "bias_add": (tf.nn.bias_add, TALL, TALL[1:]),
    "bias_add, channels first": (lambda x, b: tf.nn.bias_add(x, b, "NCHW"), (10, 5, 40, 50), (5,)),
    "add": (tf.add, TALL, TALL[1:]),
    "add a scalar": (tf.add, LONG, ()),
    "add a column": (tf.add, WIDE, (WIDE[0], 1)),
    "subtract": (tf.subtract, TALL[1:], TALL),
    "multiply": (tf.multiply, TALL, TALL[1:]),
    "divide": (tf.divide, TALL, shifted(*TALL[1:])),
    "power": (tf.pow, TALL, TALL[1:]),
    "maximum": (tf.maximum, TALL, TALL[1:]),
    "squared_difference": (tf.math.squared_difference, TALL, TALL[1:]),
    "where": (lambda x, y: tf.where(x > 0.5, x, y), TALL, ()),
    "clip_by_value": (tf.clip_by_value, LONG, lambda draw: np.array(0.25), lambda draw: np.array(0.75)),
    "broadcast_to": (lambda x: tf.broadcast_to(x, TALL), TALL[1:]),
    "tile": (lambda x: tf.tile(x, [N // 50, 1]), (1, 50)),
    "repeat": (lambda x: tf.repeat(x, 2000, 0), (50,)),
}

# XLA takes minutes to compile as many steps as their windows have places.
ONLY_EAGER = {"max_pool1d, long windows"}

TABLE: dict[str, Row] = {**REDUCTIONS, **SUMS, **PRODUCTS, **WINDOWS, **BROADCASTS}
