"""Document 002: gradients with respect to a matrix, of a product, of a square, of a matrix times its own sums."""

import numpy as np
from numpy.testing import assert_array_equal

import gradtape as tf


def matrix():
    return tf.Variable([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float32)


def test_listing_1_a_product_of_matrices():
    left = matrix()
    right = tf.constant([[5.0, 6.0], [7.0, 8.0]], dtype=tf.float32)
    with tf.GradientTape() as tape:
        product = tf.matmul(left, right)
    assert_array_equal(product, np.float32([[19, 22], [43, 50]]), strict=True)
    # ones @ right^T: each row holds the row sums of right.
    assert_array_equal(tape.gradient(product, left), np.float32([[11, 15], [11, 15]]), strict=True)


def test_listing_2_an_elementwise_square():
    x = matrix()
    with tf.GradientTape() as tape:
        squares = tf.square(x)
    assert_array_equal(squares, np.float32([[1, 4], [9, 16]]), strict=True)
    assert_array_equal(tape.gradient(squares, x), np.float32([[2, 4], [6, 8]]), strict=True)


def test_listing_3_a_matrix_times_its_own_column_sums():
    x = matrix()
    with tf.GradientTape() as tape:
        sums = tf.reduce_sum(x, axis=0)
        result = tf.matmul(x, tf.expand_dims(sums, axis=1))
    assert_array_equal(result, np.float32([[16], [36]]), strict=True)
    # The target's sum is sums . sums, and each element of x enters one of the sums: 2 * sums in every row.
    assert_array_equal(tape.gradient(result, x), np.float32([[8, 12], [8, 12]]), strict=True)


def test_erratum_a_watched_constant_serves_as_well_as_a_variable():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        squares = tf.square(x)
    assert_array_equal(tape.gradient(squares, x), np.float32([[2, 4], [6, 8]]), strict=True)
