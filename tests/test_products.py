"""Gradients of matrices that are used again and again: their products are put off and done as one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf
from gradtape.core.deferred_products import Products

STEPS, ROWS, WIDTH = 30, 2, 12


def inputs(dtype="float64"):
    rng = np.random.default_rng(0)
    return rng.standard_normal((WIDTH, WIDTH)).astype(dtype) / 4, rng.standard_normal((ROWS, WIDTH)).astype(
        dtype
    )


def rows(h, w):
    return tf.tanh(h @ w)


def columns(h, w):
    return tf.transpose(tf.tanh(tf.matmul(w, h, transpose_b=True)))


def used_otherwise(h, w):
    return tf.tanh(h @ w) + tf.reduce_sum(w) * 0.01 + tf.gather(w, [0, 3]) * 0.1


def through_another(h, w):
    return tf.tanh(h @ (w * 2.0))


PROGRAMS = pytest.mark.parametrize("step", [rows, columns, used_otherwise, through_another])


def run(step, w, h):
    for _ in range(STEPS):
        h = step(h, w)
    return tf.reduce_sum(h * h)


@PROGRAMS
def test_the_gradient_agrees_with_differences(step):
    value, h = inputs()
    w = tf.Variable(value)
    with tf.GradientTape() as tape:
        loss = run(step, w, h)
    found = tf.convert_to_tensor(tape.gradient(loss, w)).numpy()
    for i, j in [(0, 0), (3, 7), (11, 2)]:
        e = np.zeros_like(value)
        e[i, j] = 1e-6
        slope = (run(step, tf.constant(value + e), h) - run(step, tf.constant(value - e), h)) / 2e-6
        assert_allclose(found[i, j], slope, rtol=1e-6, atol=1e-9)


@PROGRAMS
def test_the_same_on_arrays_and_on_tensors(step):
    value, h = inputs()
    w = tf.Variable(value)
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape(persistent=True) as tape:
            loss = run(step, w, h)
        watched = tf.convert_to_tensor(tape.gradient(loss, w))  # on tensors: the outer tape listens
    for _ in range(2):
        assert_allclose(tf.convert_to_tensor(tape.gradient(loss, w)), watched, rtol=1e-10)
    assert_allclose(outer.jacobian(loss, w), watched, rtol=1e-10)


def test_the_products_of_many_steps_are_one(monkeypatch):
    done = []
    dense = Products.dense
    monkeypatch.setattr(Products, "dense", lambda self: done.append(len(self._firsts)) or dense(self))
    value, h = inputs("float32")
    w = tf.Variable(value)
    with tf.GradientTape() as tape:
        loss = run(rows, w, h)
    tape.gradient(loss, w)
    assert sum(done) == STEPS
    assert len(done) < 6


def test_what_is_held_is_bounded():
    total = Products(np.ones((1, 5)), np.ones((1, 4)))
    for _ in range(1000):
        total.add(Products(np.ones((1, 5)), np.ones((1, 4))))
        assert total._rows * (5 + 4) <= 4 * 5 * 4
    other = Products(np.ones((2, 5)), np.ones((2, 4)))
    other.add(total)
    assert_array_equal(other.dense(), np.full((5, 4), 1003.0))
    assert_array_equal(other.dense(), np.full((5, 4), 1003.0))


def test_sums_that_hold_nothing_more_add_up_too():
    totals = []
    for _ in range(2):
        total = Products(np.ones((4, 5)), np.ones((4, 4)))
        total.add(Products(np.ones((5, 5)), np.ones((5, 4))))
        assert total._rows == 0
        totals.append(total)
    totals[0].add(totals[1])
    assert_array_equal(totals[0].dense(), np.full((5, 4), 18.0))


def test_explanations_see_the_gradient_itself():
    value, h = inputs()
    w = tf.Variable(value)
    with tf.GradientTape(persistent=True) as tape:
        loss = run(rows, w, h)
    assert tape.explain(loss, w).reason.name == "CONNECTED"
    with tf.debugging.trace_origins():
        with tf.GradientTape() as tape:
            loss = run(rows, w, h)
        assert tape.gradient(loss, w).shape == (WIDTH, WIDTH)


@pytest.mark.parametrize("count", [0, 1])
def test_no_rows_and_one(count):
    w = tf.Variable(np.ones((5, 4)))
    x = tf.ones((count, 5), tf.float64)
    with tf.GradientTape() as tape:
        y = x @ w + x @ w
    assert_array_equal(tape.gradient(y, w), np.full((5, 4), 2.0 * count))
