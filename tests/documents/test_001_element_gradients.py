"""Document 001: the gradient of one element, of one element of a product, of a sum, by watching a constant."""

import numpy as np
from numpy.testing import assert_array_equal

import gradtape as tf


def test_listing_1_an_element_of_a_watched_constant():
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    row, column = 1, 2
    with tf.GradientTape() as tape:
        tape.watch(x)
        element = x[row, column]
    assert element.numpy() == 6.0
    assert_array_equal(tape.gradient(element, x), np.float32([[0, 0, 0], [0, 0, 1], [0, 0, 0]]), strict=True)


def test_listing_2_an_element_of_a_product_of_matrices():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float32)
    y = tf.constant([[5.0, 6.0], [7.0, 8.0]], dtype=tf.float32)
    row, column = 0, 0
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = tf.matmul(x, y)
        element = z[row, column]
    assert_array_equal(z, np.float32([[19, 22], [43, 50]]), strict=True)
    # z[0, 0] is the first row of x times the first column of y.
    assert_array_equal(tape.gradient(element, x), np.float32([[5, 7], [0, 0]]), strict=True)


def test_listing_3_the_sum_of_a_watched_constant():
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(x)
    assert_array_equal(total.numpy(), np.float32(21), strict=True)
    assert_array_equal(tape.gradient(total, x), np.ones((2, 3), np.float32), strict=True)


def test_an_element_of_a_constant_nobody_watched_has_no_gradient():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        element = x[0, 1]
    assert tape.gradient(element, x) is None


def test_erratum_watching_makes_a_tensor_a_variable_of_the_derivative():
    x = tf.constant([2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        moves = x * x
        stays = x * tf.stop_gradient(x)
    assert_array_equal(tape.gradient(moves, x), np.float32([4, 6]), strict=True)
    assert_array_equal(tape.gradient(stays, x), np.float32([2, 3]), strict=True)
