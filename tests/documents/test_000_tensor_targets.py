"""Document 000: a scalar made from a tensor by a sum, by a mean, by picking one element."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gradtape as tf


def velocity_field():
    return tf.Variable(tf.random.normal((2, 2), mean=2, stddev=0.5))


def test_listing_1_a_sum_has_gradient_one_everywhere():
    x = velocity_field()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x)
    assert_array_equal(tape.gradient(loss, x), np.ones((2, 2), np.float32), strict=True)


def test_listing_2_a_mean_shares_one_among_its_elements():
    x = velocity_field()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(x)
    assert_array_equal(tape.gradient(loss, x), np.full((2, 2), 0.25, np.float32), strict=True)


def test_listing_3_one_element_has_gradient_one_at_its_own_place():
    x = velocity_field()
    with tf.GradientTape() as tape:
        loss = x[0, 1]
    assert_array_equal(tape.gradient(loss, x), np.float32([[0, 1], [0, 0]]), strict=True)


def test_a_target_that_is_no_scalar_counts_as_its_sum():
    x = velocity_field()
    with tf.GradientTape(persistent=True) as tape:
        y = tf.square(x)
        total = tf.reduce_sum(y)
    assert_array_equal(tape.gradient(y, x), tape.gradient(total, x).numpy(), strict=True)


def test_erratum_the_jacobian_of_a_sum_is_one_row():
    x = velocity_field()
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(x)
        same = tf.identity(x)
    row = tape.jacobian(loss, x)
    assert_array_equal(tf.reshape(row, (1, 4)), np.ones((1, 4), np.float32), strict=True)
    # The 4x4 matrix with ones on its diagonal belongs to the identity.
    square = tape.jacobian(same, x)
    assert_array_equal(tf.reshape(square, (4, 4)), np.eye(4, dtype=np.float32), strict=True)


def test_erratum_the_method_is_called_gradient():
    with pytest.raises(AttributeError, match=r"\bgradient\b"):
        tf.GradientTape().gradients
