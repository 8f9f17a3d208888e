"""XLA's slices at computed places, and products of sparse matrices: what Keras takes from inside of TensorFlow."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.ops.array.dynamic_slices import dynamic_slice, dynamic_update_slice
from gradtape.ops.sparse import matrices


@pytest.mark.parametrize(
    "start", [[1, 2], [0, 0], [5, -4], tf.constant([1, 1]), [tf.constant(2), tf.constant(0)]]
)
def test_slices_at_computed_places(start):
    x, y = tf.reshape(tf.range(12.0), (3, 4)), tf.ones((2, 3)) * -1
    first = np.clip([int(s) for s in start], 0, [1, 1])
    wanted = x.numpy().copy()
    wanted[first[0] : first[0] + 2, first[1] : first[1] + 3] = -1
    part = x.numpy()[first[0] : first[0] + 2, first[1] : first[1] + 3]

    def both(x, y, start):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            out = dynamic_update_slice(x, y, start)
            loss = tf.reduce_sum(out * out)
        return out, dynamic_slice(x, start, [2, 3]), *tape.gradient(loss, [x, y])

    for run in (both, tf.function(both)):
        out, found, by_x, by_y = run(x, y, start)
        np.testing.assert_array_equal(out, wanted)
        np.testing.assert_array_equal(found, part)
        np.testing.assert_array_equal(by_x, np.where(wanted == -1, 0, 2 * wanted))
        np.testing.assert_array_equal(by_y, -2 * np.ones((2, 3)))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([1.0], [1.0, 2.0], [0]), tf.errors.InvalidArgumentError),
        (([1.0], [[1.0]], [0]), tf.errors.InvalidArgumentError),
        (([1.0], tf.constant([1]), [0]), TypeError),
        (([1.0], [1.0], [0, 0]), tf.errors.InvalidArgumentError),
        (([1.0], [1.0], [0.5]), TypeError),
    ],
)
def test_updates_that_do_not_fit(arguments, error):
    with pytest.raises(error, match="dynamic_update_slice"):
        dynamic_update_slice(*arguments)


def sparse(seed, *shape):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random(shape) < 0.4, rng.normal(size=shape), 0).astype(np.float32)
    return tf.sparse.from_dense(dense), dense


def as_matrix(s):
    return matrices.sparse_tensor_to_csr_sparse_matrix(s.indices, s.values, s.dense_shape)


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("turn", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_sparse_matrices(batch, turn):
    shape_a, shape_b = ((5, 4) if turn[0] else (4, 5)), ((6, 5) if turn[1] else (5, 6))
    (a, dense_a), (b, dense_b) = sparse(1, *batch, *shape_a), sparse(2, *batch, *shape_b)
    turned = [np.swapaxes(m, -1, -2) if t else m for m, t in zip((dense_a, dense_b), turn, strict=True)]
    with tf.GradientTape() as tape:
        tape.watch([a.values, b.values])
        product = matrices.sparse_matrix_sparse_mat_mul(as_matrix(a), as_matrix(b), tf.float32, *turn)
        parts = matrices.csr_sparse_matrix_to_sparse_tensor(product, tf.float32)
        loss = tf.reduce_sum(parts.values**2)
    found = tf.sparse.to_dense(tf.SparseTensor(*parts)).numpy()
    np.testing.assert_allclose(found, turned[0] @ turned[1], atol=1e-6)
    with tf.GradientTape() as wanted:
        wanted.watch([a.values, b.values])
        x, y = tf.sparse.to_dense(a), tf.sparse.to_dense(b)
        dense = tf.matmul(x, y, transpose_a=turn[0], transpose_b=turn[1])
        other = tf.reduce_sum(dense**2)
    pairs = zip(
        tape.gradient(loss, [a.values, b.values]), wanted.gradient(other, [a.values, b.values]), strict=True
    )
    for got, want in pairs:
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_a_product_with_nothing_and_mistakes():
    empty = matrices.sparse_tensor_to_csr_sparse_matrix(
        np.zeros((0, 2), int), np.zeros(0, np.float32), [2, 3]
    )
    other, _ = sparse(1, 3, 2)
    assert matrices.sparse_matrix_sparse_mat_mul(empty, other, "float32").shape == [2, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="no product"):
        matrices.sparse_matrix_sparse_mat_mul(other, other, "float32")
    with pytest.raises(TypeError, match="float64"):
        matrices.sparse_matrix_sparse_mat_mul(empty, other, "float64")
