"""Gradients where there is more than one answer, or none: at ties, kinks, zeros and infinities.

TENSORFLOW lists TensorFlow's own answers (2.21 was asked), OURS those of `docs/differences.md`, where it has none.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gradtape as tf

inf, nan = np.inf, np.nan
empty = np.zeros((0, 2))

# what: (function, inputs, the gradient by each)
TENSORFLOW = {
    "where maximum ties, x has the gradient": (
        tf.maximum,
        [[1.0, 2.0], [1.0, 1.0]],
        [[1.0, 1.0], [0.0, 0.0]],
    ),
    "where minimum ties, x has the gradient": (
        tf.minimum,
        [[1.0, 2.0], [1.0, 3.0]],
        [[1.0, 1.0], [0.0, 0.0]],
    ),
    "maximum of nan goes to y": (tf.maximum, [[nan, 2.0], [1.0, nan]], [[0.0, 0.0], [1.0, 1.0]]),
    "minimum of nan goes to y": (tf.minimum, [[nan, 2.0], [1.0, nan]], [[0.0, 0.0], [1.0, 1.0]]),
    "equal maxima share": (tf.reduce_max, [[1.0, 3.0, 3.0]], [[0.0, 0.5, 0.5]]),
    "equal minima share": (
        lambda x: tf.reduce_min(x, 1),
        [[[1.0, 1.0], [2.0, 3.0]]],
        [[[0.5, 0.5], [1.0, 0.0]]],
    ),
    "infinite maxima share": (tf.reduce_max, [[1.0, inf, inf]], [[0.0, 0.5, 0.5]]),
    "the maximum of nothing": (lambda x: tf.reduce_max(x, 0), [empty], [empty]),
    "clipping passes at the bounds": (
        lambda x: tf.clip_by_value(x, -1.0, 1.0),
        [[-2.0, -1.0, 0.0, 1.0, 2.0]],
        [[0.0, 1.0, 1.0, 1.0, 0.0]],
    ),
    "what clipping takes from x, the bounds have": (
        tf.clip_by_value,
        [[-2.0, -1.0, 0.0, 1.0, 2.0], -1.0, 1.0],
        [[0.0, 1.0, 1.0, 1.0, 0.0], 1.0, 1.0],
    ),
    "of crossed bounds the lower wins": (
        tf.clip_by_value,
        [[-3.0, 0.0, 1.5, 3.0], 2.0, 1.0],
        [[0.0] * 4, 4.0, 0.0],
    ),
    "relu at 0": (tf.nn.relu, [[-1.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]),
    "relu of nan": (tf.nn.relu, [[nan]], [[0.0]]),
    "abs at 0": (tf.abs, [[-1.0, 0.0, 1.0]], [[-1.0, 0.0, 1.0]]),
    "sign is flat": (tf.sign, [[-1.0, 0.0, 1.0]], [[0.0, 0.0, 0.0]]),
    "sqrt at 0": (tf.sqrt, [[0.0, 4.0]], [[inf, 0.25]]),
    "sqrt at 0, weighted by 0": (lambda x: tf.sqrt(x) * [0.0, 1.0], [[0.0, 4.0]], [[0.0, 0.25]]),
    "rsqrt at 0, weighted by 0": (lambda x: tf.math.rsqrt(x) * [0.0, 1.0], [[0.0, 4.0]], [[0.0, -0.0625]]),
    "sqrt in a branch not taken": (lambda x: tf.where(x > 0, tf.sqrt(x), x), [[0.0, 4.0]], [[1.0, 0.25]]),
    "0 to positive powers": (tf.pow, [[0.0, 0.0, 0.0], [1.0, 2.0, 0.5]], [[1.0, 0.0, inf], [0.0, 0.0, 0.0]]),
    "powers of negatives": (tf.pow, [[-2.0, -2.0], [3.0, 2.0]], [[12.0, -4.0], [0.0, 0.0]]),
    "squares": (lambda x: x**2, [[0.0, -2.0]], [[0.0, -4.0]]),
    "cubes": (lambda x: x**3.0, [[0.0, -2.0]], [[0.0, 12.0]]),
    "a product with a zero": (tf.reduce_prod, [[2.0, 0.0, 3.0]], [[0.0, 6.0, 0.0]]),
    "a product with two zeros": (tf.reduce_prod, [[2.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]),
    "the product of nothing": (lambda x: tf.reduce_prod(x, 0), [empty], [empty]),
    "the mean of nothing": (lambda x: tf.reduce_mean(x, 0), [empty], [empty]),
    "the norm of nothing": (tf.norm, [empty], [empty]),
    "x log y with x != 0": (tf.math.xlogy, [[2.0, 2.0], [0.0, -1.0]], [[-inf, nan], [inf, -2.0]]),
    "0 log 0": (tf.math.xlogy, [[0.0], [0.0]], [[0.0], [0.0]]),
    "x / 0 as 0": (
        tf.math.divide_no_nan,
        [[1.0, 0.0, 2.0], [0.0, 0.0, 4.0]],
        [[0.0, 0.0, 0.25], [0.0, 0.0, -0.125]],
    ),
    "x * 0 as 0": (tf.math.multiply_no_nan, [[inf, nan, 2.0], [0.0, 0.0, 0.0]], [[0.0] * 3, [inf, nan, 2.0]]),
    "log at 0": (tf.math.log, [[0.0]], [[inf]]),
    "x / 0": (tf.divide, [[1.0], [0.0]], [[inf], [-inf]]),
    "softplus far out": (tf.math.softplus, [[-1000.0, 0.0, 1000.0]], [[0.0, 0.5, 1.0]]),
    "sigmoid far out": (tf.sigmoid, [[-1000.0, 0.0, 1000.0]], [[0.0, 0.25, 0.0]]),
    "tanh far out": (tf.tanh, [[-1000.0, 0.0, 1000.0]], [[0.0, 1.0, 0.0]]),
    "log-sum-exp with -inf": (tf.reduce_logsumexp, [[-inf, 0.0]], [[0.0, 1.0]]),
    "log-sum-exp far out": (tf.reduce_logsumexp, [[1e5, 1e5]], [[0.5, 0.5]]),
    "softmax with -inf": (lambda x: tf.nn.softmax(x)[1], [[-inf, 0.0, 0.0]], [[0.0, 0.25, -0.25]]),
    "softmax far out": (lambda x: tf.nn.softmax(x)[0], [[1000.0, 1000.0]], [[0.25, -0.25]]),
    "a variance of equals": (tf.math.reduce_variance, [[3.0, 3.0]], [[0.0, 0.0]]),
    "floormod": (tf.math.floormod, [[5.0, -5.0, 6.0], [3.0, 3.0, 3.0]], [[1.0, 1.0, 1.0], [-1.0, 2.0, -2.0]]),
    "clip_by_norm of zeros": (lambda x: tf.clip_by_norm(x, 1.0), [[0.0, 0.0]], [[1.0, 1.0]]),
    "clip_by_norm of less": (lambda x: tf.clip_by_norm(x, 1.0), [[0.25, 0.5]], [[1.0, 1.0]]),
    "clip_by_global_norm of less": (
        lambda x: tf.clip_by_global_norm([x], 8.0)[0],
        [[3.0, 4.0]],
        [[1.0, 1.0]],
    ),
    "an index taken twice": (lambda x: tf.gather(x, [0, 0, 1]), [[1.0, 2.0, 3.0]], [[2.0, 1.0, 0.0]]),
    "1-norm with a zero": (lambda x: tf.norm(x, 1), [[0.0, -2.0]], [[0.0, -1.0]]),
    "3-norm with a zero": (lambda x: tf.norm(x, 3), [[0.0, 1.0]], [[0.0, 1.0]]),
    "infinity-norm of zeros": (lambda x: tf.norm(x, inf), [[0.0, 0.0]], [[0.0, 0.0]]),
    "the length of a complex number": (tf.abs, [[-4j, 0j]], [[-1j, 0j]]),
    "the real part by a cast": (lambda x: tf.cast(x, "float64"), [[3 + 4j]], [[1 + 0j]]),
}

OURS = {
    "norm at 0": (tf.norm, [[0.0, 0.0]], [[0.0, 0.0]]),
    "norm of a row of zeros": (
        lambda x: tf.norm(x, axis=1),
        [[[0.0, 0.0], [0.0, 4.0]]],
        [[[0.0, 0.0], [0.0, 1.0]]],
    ),
    "3-norm at 0": (lambda x: tf.norm(x, 3), [[0.0, 0.0]], [[0.0, 0.0]]),
    "reduce_euclidean_norm at 0": (tf.math.reduce_euclidean_norm, [[0.0, 0.0]], [[0.0, 0.0]]),
    "reduce_std of equals": (tf.math.reduce_std, [[2.0, 2.0]], [[0.0, 0.0]]),
    "clip_by_global_norm of zeros": (
        lambda x: tf.clip_by_global_norm([x], 8.0)[0],
        [[0.0, 0.0]],
        [[1.0, 1.0]],
    ),
    "the cross entropy of labels that sum to 2": (
        lambda labels, logits: tf.nn.softmax_cross_entropy_with_logits(labels, logits),
        [[1.0, 1.0], [0.0, 0.0]],
        [[np.log(2), np.log(2)], [0.0, 0.0]],
    ),
    "x ** 0 at 0": (lambda x: x**0.0, [[0.0, 2.0]], [[0.0, 0.0]]),
    "0 ** 0": (tf.pow, [[0.0], [0.0]], [[0.0], [0.0]]),
    "log-sum-exp of all -inf": (tf.reduce_logsumexp, [[-inf, -inf]], [[0.0, 0.0]]),
    "log-sum-exp with +inf": (tf.reduce_logsumexp, [[inf, 0.0, inf]], [[0.5, 0.0, 0.5]]),
    "x log y at x = 0": (tf.math.xlogy, [[0.0], [1.0 / 2]], [[np.log(0.5)], [0.0]]),
    "log in a branch not taken": (lambda x: tf.where(x > 0, tf.math.log(x), x), [[0.0, 2.0]], [[1.0, 0.5]]),
    "log1p in a branch not taken": (
        lambda x: tf.where(x > -1, tf.math.log1p(x), x),
        [[-1.0, 1.0]],
        [[1.0, 0.5]],
    ),
    "a quotient in a branch not taken": (
        lambda x, y: tf.where(y > 0, x / y, x),
        [[4.0, 4.0], [0.0, 2.0]],
        [[1.0, 0.5], [0.0, -1.0]],
    ),
    "0 / 0 in a branch not taken": (
        lambda x, y: tf.where(y > 0, x / y, x),
        [[0.0, 4.0], [0.0, 2.0]],
        [[1.0, 0.5], [0.0, -1.0]],
    ),
    "a reciprocal in a branch not taken": (
        lambda x: tf.where(x > 0, 1 / x, x),
        [[0.0, 2.0]],
        [[1.0, -0.25]],
    ),
    "a power in a branch not taken": (
        lambda x: tf.where(x > 0, x**-1.5, x),
        [[0.0, 1.0]],
        [[1.0, -1.5]],
    ),
    "log of an element not taken": (lambda x: tf.math.log(x)[1], [[0.0, 2.0]], [[0.0, 0.5]]),
    "lgamma in a branch not taken": (
        lambda x: tf.where(x > 0, x, tf.math.lgamma(1 - x)),
        [[1.0, 2.0]],
        [[1.0, 1.0]],
    ),
}

# what: (function, input, the matrix of second derivatives of its sum)
SECOND_ORDER = {
    "a product with a zero": (tf.reduce_prod, [2.0, 0.0, 3.0], [[0, 3, 0], [3, 0, 2], [0, 2, 0]]),
    "a product with two zeros": (tf.reduce_prod, [2.0, 0.0, 0.0], [[0, 0, 0], [0, 0, 2], [0, 2, 0]]),
    "x ** 1 at 0": (lambda x: x**1.0, [0.0, -2.0], [[0, 0], [0, 0]]),
    "x ** 2 at 0": (lambda x: tf.pow(x, 2.0), [0.0, -2.0], [[2, 0], [0, 2]]),
    "sqrt at 0, weighted by 0": (lambda x: tf.sqrt(x) * [0.0, 32.0], [0.0, 4.0], [[0, 0], [0, -1]]),
    "rsqrt at 0, weighted by 0": (lambda x: tf.math.rsqrt(x) * [0.0, 128.0], [0.0, 4.0], [[0, 0], [0, 3]]),
    "log at 0, weighted by 0": (lambda x: tf.math.log(x) * [0.0, 4.0], [0.0, 2.0], [[0, 0], [0, -1]]),
    "1 / x at 0, weighted by 0": (lambda x: (1 / x) * [0.0, 4.0], [0.0, 2.0], [[0, 0], [0, 1]]),
    "equal maxima": (tf.reduce_max, [1.0, 3.0, 3.0], np.zeros((3, 3))),
    "clipped squares": (lambda x: tf.clip_by_value(x * x, 0.0, 1.0), [0.5, 2.0], [[2, 0], [0, 0]]),
    "norm at 0": (tf.norm, [0.0, 0.0], [[0, 0], [0, 0]]),
    "a cube's length squared, at 0": (lambda x: tf.norm(x) ** 2, [0.0, 0.0], [[0, 0], [0, 0]]),
}


def gradients(function, values):
    sources = [tf.constant(v, tf.complex128 if np.iscomplexobj(v) else tf.float64) for v in values]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        target = function(*sources)
    return tape.gradient(target, sources)


@pytest.mark.parametrize(("function", "values", "wanted"), TENSORFLOW.values(), ids=TENSORFLOW)
def test_the_gradient_is_tensorflows(function, values, wanted):
    for got, expected in zip(gradients(function, values), wanted, strict=True):
        assert_array_equal(tf.convert_to_tensor(got), np.asarray(expected), strict=True)


@pytest.mark.parametrize(("function", "values", "wanted"), OURS.values(), ids=OURS)
def test_where_tensorflow_has_no_useful_answer(function, values, wanted):
    for got, expected in zip(gradients(function, values), wanted, strict=True):
        assert_array_equal(got, np.asarray(expected), strict=True)


@pytest.mark.parametrize(("function", "value", "wanted"), SECOND_ORDER.values(), ids=SECOND_ORDER)
def test_second_derivatives(function, value, wanted):
    x = tf.constant(value, tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        slope = inner.gradient(y, x)
    hessian = outer.jacobian(slope, x, unconnected_gradients="zero")
    assert_array_equal(hessian, np.float64(wanted), strict=True)


def test_float32_log_sum_exp_far_out_does_not_round_its_gradient():
    x = tf.constant([1e5, 1e5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_logsumexp(x)
    assert_array_equal(tape.gradient(y, x), np.float32([0.5, 0.5]), strict=True)
