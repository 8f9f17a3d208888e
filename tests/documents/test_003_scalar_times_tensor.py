"""Document 003: a scalar times a tensor, alone, in a loss that SGD minimizes, and at rank three."""

import numpy as np
from numpy.testing import assert_array_equal

import gradtape as tf


def test_listing_1_the_gradient_of_the_scalar_is_the_sum_of_the_matrix():
    s = tf.constant(2.0)
    t = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(s)
        tape.watch(t)
        product = s * t
    ds, dt = tape.gradient(product, [s, t])
    assert_array_equal(ds.numpy(), np.float32(10), strict=True)
    assert_array_equal(dt, np.full((2, 2), 2, np.float32), strict=True)


def descend(start, learning_rate):
    """Ten steps towards s * t = target from a given start: the scalar, and every gradient on the way."""
    s = tf.Variable(start)
    t = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    target = tf.constant([[2.0, 4.0], [6.0, 8.0]])
    optimizer = tf.optimizers.SGD(learning_rate=learning_rate)
    gradients = []
    for _ in range(10):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(s * t - target))
        (ds,) = tape.gradient(loss, [s])
        optimizer.apply_gradients(zip([ds], [s]))
        gradients.append(ds.numpy())
    return s.numpy(), gradients


def test_listing_2_descent_that_starts_at_the_optimum_stays_there():
    s, gradients = descend(start=2.0, learning_rate=0.1)
    assert_array_equal(s, np.float32(2), strict=True)
    assert gradients == [0.0] * 10


def test_erratum_the_optimum_is_two_from_any_start():
    # loss = 30 (s - 2)^2, so a step multiplies the distance to 2 by 1 - 60 * learning_rate.
    s, _ = descend(start=1.0, learning_rate=0.01)
    np.testing.assert_allclose(s, 2 - 0.4**10, rtol=1e-6)
    s, _ = descend(start=1.0, learning_rate=0.1)
    np.testing.assert_allclose(s, 2 - 5.0**10, rtol=1e-6)


def test_listing_3_the_gradient_of_the_scalar_is_the_sum_of_a_rank_3_tensor():
    s = tf.constant(3.0)
    t = tf.constant([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    with tf.GradientTape() as tape:
        tape.watch(s)
        tape.watch(t)
        product = s * t
    ds, dt = tape.gradient(product, [s, t])
    assert_array_equal(ds.numpy(), np.float32(36), strict=True)
    assert_array_equal(dt, np.full((2, 2, 2), 3, np.float32), strict=True)


def test_erratum_the_tensor_itself_is_the_jacobian_of_the_scalar():
    s = tf.constant(2.0)
    t = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(s)
        product = s * t
    assert_array_equal(tape.jacobian(product, s), t.numpy(), strict=True)
