"""Gradients of matrices that are used again and again: their products are put off and done as one.

And of those that are broadcast over a batch: the batch is contracted.
"""

import tracemalloc

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


# ---------------------------------------------------------------------------------------------------------------------
# Batches that broadcast

BROADCAST = [
    ((3, 4, 5), (7, 1, 5, 1)),
    ((7, 1, 4, 5), (3, 5, 2)),
    ((4, 5), (7, 5, 1)),
    ((7, 4, 5), (5, 2)),
    ((2, 1, 3, 4, 5), (6, 1, 5, 1)),
    ((1, 1, 4, 5), (6, 3, 5, 1)),
    ((6, 3, 4, 5), (1, 5, 1)),
    ((6, 1, 1, 5), (1, 3, 5, 8)),
    ((2, 6, 1, 4, 5), (2, 1, 3, 5, 1)),
    ((1, 6, 4, 5), (6, 5, 1)),
    ((2, 3, 1, 1), (1, 1, 4)),
    ((2, 3, 1, 5), (3, 5, 1)),
    ((0, 4, 5), (7, 1, 5, 1)),
    ((3, 4, 0), (7, 1, 0, 1)),
]
PRODUCTS = {
    "matmul": (tf.matmul, lambda jnp: jnp.matmul),
    "einsum": (
        lambda x, y: tf.einsum("...ij,...jk->...ik", x, y),
        lambda jnp: lambda x, y: jnp.einsum("...ij,...jk->...ik", x, y),
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("shapes", BROADCAST, ids=str)
def test_a_broadcast_batch_of_first_and_second_order_and_its_jacobian(shapes, name):
    jax = pytest.importorskip("jax")
    product, of_jax = PRODUCTS[name][0], PRODUCTS[name][1](jax.numpy)
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(shape) for shape in shapes]
    factors = [tf.constant(v) for v in values]

    def derivatives(x, y):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([x, y])
            with tf.GradientTape(persistent=True) as tape:
                tape.watch([x, y])
                z = product(x, y)
                total = tf.reduce_sum(tf.sin(z))
            first = tape.gradient(total, [x, y])
            square = tf.reduce_sum(tf.sin(first[0])) + tf.reduce_sum(tf.sin(first[1]))
        return [z, *first, *outer.gradient(square, [x, y]), *tape.jacobian(z, [x, y])]

    def expected(x, y):
        first = jax.grad(lambda x, y: jax.numpy.sum(jax.numpy.sin(of_jax(x, y))), (0, 1))
        second = jax.grad(lambda x, y: sum(jax.numpy.sum(jax.numpy.sin(g)) for g in first(x, y)), (0, 1))
        return [of_jax(x, y), *first(x, y), *second(x, y), *jax.jacobian(of_jax, (0, 1))(x, y)]

    with jax.enable_x64(True):
        reference = [np.asarray(e) for e in expected(*values)]
    for ask in (derivatives, tf.function(derivatives)):
        for actual, e in zip(ask(*factors), reference, strict=True):
            assert actual.shape == e.shape
            assert_allclose(actual, e, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "product",
    [
        lambda a, x: tf.linalg.matvec(a, x[:, None]),
        lambda a, x: tf.matmul(a, x[:, None, :, None]),
        lambda a, x: tf.einsum("...ij,...j->...i", a, x[:, None]),
    ],
    ids=["matvec", "matmul", "einsum"],
)
def test_the_gradient_of_a_broadcast_matrix_needs_no_product_for_each_row(product):
    rows, matrices, width = 500, 5, 40
    a = tf.constant(np.ones((matrices, width, width), np.float32))
    x = tf.constant(np.ones((rows, width), np.float32))
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = tf.reduce_sum(product(a, x) ** 2)
    tracemalloc.start()
    tape.gradient(y, a)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * rows * matrices * width * width / 4  # bytes: a quarter of all products


def test_products_of_constants_come_before_one_of_traced_values():
    random = np.random.default_rng(0)
    w = tf.Variable(random.normal(size=(16, 16)))
    x, constant, weight = (tf.constant(random.normal(size=(8, 16))) for _ in range(3))

    def gradient(x):
        with tf.GradientTape() as tape:
            targets = [tf.tanh(x @ w), constant @ w]
        return tape.gradient(targets, w, output_gradients=[tf.ones_like(x), weight])

    assert_allclose(tf.function(gradient, jit_compile=True)(x), gradient(x), rtol=1e-12, atol=1e-12)
