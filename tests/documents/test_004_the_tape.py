"""Document 004: a regression, a result in between, a watched constant."""

import numpy as np
from numpy.testing import assert_array_equal

import gradtape as tf


def regression_gradients(weight, bias):
    w = tf.Variable(weight)
    b = tf.Variable(bias)
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    y = tf.constant([3.0, 5.0, 7.0, 9.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(w * x + b - y))
    dw, db = tape.gradient(loss, [w, b])
    return loss.numpy(), dw.numpy(), db.numpy()


def test_listing_1_a_line_that_fits_exactly_has_no_slope_to_descend():
    loss, dw, db = regression_gradients(weight=2.0, bias=1.0)
    for value in (loss, dw, db):
        assert_array_equal(value, np.float32(0), strict=True)


def test_erratum_a_line_that_does_not_fit_has():
    # Residuals 1, 2, 3, 4: dw = 2 mean(r x) = 15, db = 2 mean(r) = 5.
    assert regression_gradients(weight=3.0, bias=1.0) == (7.5, 15.0, 5.0)


def test_listing_2_a_polynomial_by_way_of_a_result_in_between():
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x**2
        z = y + x
    assert_array_equal(tape.gradient(z, x).numpy(), np.float32(5), strict=True)
    assert_array_equal(tape.gradient(z, y).numpy(), np.float32(1), strict=True)


def test_listing_3_a_watched_constant():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    assert_array_equal(tape.gradient(y, x).numpy(), np.float32(4), strict=True)


def test_a_constant_nobody_watched_has_no_gradient():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        y = x**2
    assert tape.gradient(y, x) is None
