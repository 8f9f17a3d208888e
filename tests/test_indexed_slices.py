"""IndexedSlices: the gradient of a gather stays as the rows it touches, until somebody asks for the whole."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf
from gradtape.core.slicing import scatter_along

TABLE = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


@pytest.fixture
def made_dense(monkeypatch):
    """How many times rows were made dense."""
    calls = []
    scatter = scatter_along.forward
    monkeypatch.setattr(
        scatter_along,
        "forward",
        lambda *args, **options: calls.append(1) or scatter(*args, **options),
    )
    return calls


@pytest.mark.parametrize(
    ("look_up", "indices", "values"),
    [
        (lambda v: tf.gather(v, [0, 2, 0]), [0, 2, 0], [[1, 1]] * 3),
        (lambda v: tf.gather(v, [[0, 2], [1, 1]]), [0, 2, 1, 1], [[1, 1]] * 4),
        (lambda v: tf.gather(v, 1), [1], [[1, 1]]),
        (lambda v: tf.gather(v, np.zeros(0, np.int32)), [], np.zeros((0, 2))),
        (lambda v: tf.gather(v, tf.constant([2], tf.int64)) * 3.0, [2], [[3, 3]]),
        (lambda v: tf.nn.embedding_lookup(v, [[0, 2], [1, 1]]), [0, 2, 1, 1], [[1, 1]] * 4),
        (lambda v: v.sparse_read([1]), [1], [[1, 1]]),
        (lambda v: tf.gather(v, [0]) * 2.0 + tf.gather(v, [2]), [2, 0], [[1, 1], [2, 2]]),
    ],
)
def test_the_gradient_of_a_gather_is_the_rows_it_touched(look_up, indices, values, made_dense):
    v = tf.Variable(TABLE)
    with tf.GradientTape() as tape:
        y = look_up(v)
    g = tape.gradient(y, v)
    assert type(g) is tf.IndexedSlices
    assert made_dense == []
    assert_array_equal(g.indices, indices)
    assert_array_equal(g.values, np.float32(np.reshape(values, (-1, 2))), strict=True)
    assert_array_equal(g.dense_shape, [3, 2])
    assert g.shape == (3, 2)
    assert g.dtype is tf.float32
    expected = np.zeros((3, 2), np.float32)
    np.add.at(expected, np.asarray(indices, int), np.reshape(values, (-1, 2)))
    assert_array_equal(tf.convert_to_tensor(g), expected, strict=True)
    assert len(made_dense) == 1


@pytest.mark.parametrize(
    "pick",
    [
        lambda x: x[tf.constant([True, False, True])],
        lambda x: x[x[:, 0] > 2.0],
        lambda x: x[tf.constant([1, 1])],
        lambda x: tf.boolean_mask(x, [True, False, True]),
        lambda x: tf.pad(x, [[1, 1], [0, 0]], "REFLECT"),
        lambda x: tf.pad(x, [[1, 1], [0, 0]], "SYMMETRIC"),
        lambda x: tf.repeat(x, [1, 2, 0], axis=0),
        lambda x: tf.roll(x, tf.constant([1]), [0]),
        lambda x: tf.random.experimental.stateless_shuffle(x, [1, 2]),
    ],
)
@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
def test_what_is_no_gather_has_a_dense_gradient_to_subtract(pick, make):
    x = make(TABLE)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = pick(x)
    g = tape.gradient(y, x)
    assert type(g) is tf.Tensor
    assert (x - 0.1 * g).shape == x.shape


def test_a_thousand_look_ups_are_summed_without_making_them_dense(made_dense):
    v = tf.Variable(np.zeros((1000, 2), np.float32))
    with tf.GradientTape() as tape:
        total = tf.constant(0.0)
        for i in range(100):
            total += tf.reduce_sum(tf.gather(v, [i, i + 1]) * float(i))
    g = tape.gradient(total, v)
    assert made_dense == []
    assert g.values.shape == (200, 2)
    expected = np.zeros(1000)
    expected[:101] = np.r_[np.arange(100.0), 0] + np.r_[0, np.arange(100.0)]
    assert_array_equal(tf.convert_to_tensor(g)[:, 0], expected)


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda v: tf.reduce_sum(tf.gather(v, [0, 2, 0])) + tf.reduce_sum(v), [[3, 3], [1, 1], [2, 2]]),
        (lambda v: tf.reduce_sum(v) + tf.reduce_sum(tf.gather(v, [0, 2, 0])), [[3, 3], [1, 1], [2, 2]]),
        (lambda v: tf.gather(v * 2.0, [0, 2]), [[2, 2], [0, 0], [2, 2]]),
        (lambda v: tf.gather(v, [0, 0], axis=1), [[2, 0], [2, 0], [2, 0]]),
        (lambda v: tf.gather(tf.gather(v, [0, 2, 2]), [1, 1]), None),
    ],
)
def test_what_is_not_only_gathered_is_dense(compute, expected):
    v = tf.Variable(TABLE)
    with tf.GradientTape() as tape:
        y = compute(v)
    g = tape.gradient(y, v)
    if expected is None:
        assert isinstance(g, tf.IndexedSlices)
        assert_array_equal(tf.convert_to_tensor(g), [[0, 0], [0, 0], [2, 2]])
    else:
        assert type(g) is tf.Tensor
        assert_array_equal(g, expected)


def test_operations_take_them_as_the_tensor_they_stand_for():
    g = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([1, 1]), tf.constant([3, 2]))
    dense = [[0, 0], [4, 6], [0, 0]]
    assert tf.is_tensor(g)
    assert float(tf.reduce_sum(g)) == 10.0
    assert_array_equal(tf.add(g, 1.0), np.add(dense, 1))
    assert_array_equal(tf.constant([[2.0, 2.0]]) * g, np.multiply(dense, 2))
    assert_array_equal(np.asarray(g), dense)
    assert_array_equal(g.numpy(), dense)
    assert_array_equal(tf.stack([g, g])[1], dense)


def test_minus_negates_the_rows():
    g = -tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]), [3, 2])
    assert type(g) is tf.IndexedSlices
    assert_array_equal(g.values, [[-1.0, -2.0]])
    assert_array_equal(g, [[0, 0], [-1, -2], [0, 0]])


def test_without_a_dense_shape_they_stay_rows():
    g = tf.IndexedSlices([[1.0, 2.0]], [1])
    assert g.dense_shape is None
    assert g.shape.rank is None
    assert_array_equal(g.values, [[1.0, 2.0]])
    with pytest.raises(ValueError, match="no dense_shape"):
        tf.convert_to_tensor(g)


def test_they_print_as_tensorflows_do():
    g = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]), tf.constant([3, 2]))
    assert str(g) == (
        "IndexedSlices(indices=tf.Tensor([1], shape=(1,), dtype=int32), "
        "values=tf.Tensor([[1. 2.]], shape=(1, 2), dtype=float32), "
        "dense_shape=tf.Tensor([3 2], shape=(2,), dtype=int32))"
    )


def test_unconnected_zeros_are_dense():
    v, w = tf.Variable(TABLE), tf.Variable(TABLE)
    with tf.GradientTape() as tape:
        y = tf.gather(v, [0])
    by_v, by_w = tape.gradient(y, [v, w], unconnected_gradients="zero")
    assert isinstance(by_v, tf.IndexedSlices)
    assert_array_equal(by_w, np.zeros((3, 2), np.float32), strict=True)


def test_higher_orders_pass_through_the_rows():
    v = tf.Variable(TABLE)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(tf.gather(v, [0, 2, 0]) ** 3)
        first = inner.gradient(y, v)
        assert isinstance(first, tf.IndexedSlices)
        total = tf.reduce_sum(tf.convert_to_tensor(first) * [[1.0], [1.0], [10.0]])
    assert_array_equal(tf.convert_to_tensor(outer.gradient(total, v)), [[12, 24], [0, 0], [300, 360]])


def test_the_rows_themselves_may_be_differentiated():
    v = tf.Variable(TABLE)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(tf.gather(v, [0, 2]) ** 3)
        rows = inner.gradient(y, v).values
    assert_array_equal(rows, [[3, 12], [75, 108]])
    assert_array_equal(tf.convert_to_tensor(outer.gradient(rows, v)), [[6, 12], [0, 0], [30, 36]])


def test_clipping_keeps_them_sparse():
    g = tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1]), [3, 2])
    (clipped,), norm = tf.clip_by_global_norm([g], 1.0)
    assert isinstance(clipped, tf.IndexedSlices)
    assert_allclose(clipped.values, [[0.6, 0.8]], rtol=1e-6)
    assert float(norm) == 5.0


def test_complex_rows_are_conjugate_as_gradients_are():
    v = tf.Variable([[1 + 2j], [3 + 4j]])
    with tf.GradientTape() as tape:
        y = tf.gather(v, [1]) * 1j
    assert_array_equal(tape.gradient(y, v).values, [[-1j]])


@pytest.mark.parametrize(
    "step",
    [
        tf.convert_to_tensor,
        tf.identity,
        lambda v: tf.cast(v, "float64"),
        lambda v: tf.identity(tf.identity(v)),
    ],
)
def test_slices_stay_slices_through_identity_and_cast(step):
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def gradient():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(step(table), [2, 0, 2]) ** 2)
        return tape.gradient(loss, table)

    for slices in gradient(), tf.function(gradient)():
        assert isinstance(slices, tf.IndexedSlices)
        assert slices.dtype == tf.float32 and slices.indices.numpy().tolist() == [2, 0, 2]
        assert tf.convert_to_tensor(slices).numpy().tolist() == [[2, 4], [0, 0], [20, 24]]


def test_slices_through_identity_add_up_with_other_gradients():
    table = tf.Variable([[1.0], [2.0]])
    with tf.GradientTape(persistent=True) as tape:
        rows = tf.gather(tf.identity(table), [1])
        twice = tf.reduce_sum(rows) + tf.reduce_sum(tf.gather(tf.identity(table), [0, 1]))
        dense = tf.reduce_sum(rows) + tf.reduce_sum(table)
    assert tape.gradient(twice, table).indices.numpy().tolist() in ([1, 0, 1], [0, 1, 1])
    assert tape.gradient(dense, table).numpy().tolist() == [[1], [2]]
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            square = tf.reduce_sum(tf.gather(tf.identity(table), [1]) ** 2)
        first = tf.reduce_sum(tf.convert_to_tensor(inner.gradient(square, table)))
    assert tf.convert_to_tensor(outer.gradient(first, table)).numpy().tolist() == [[0], [2]]


@pytest.mark.parametrize("decorate", [lambda f: f, tf.function], ids=["eager", "compiled"])
@pytest.mark.parametrize("use_pfor", [True, False])
def test_the_jacobian_of_slices_is_that_of_the_whole_tensor(decorate, use_pfor):
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def hessian(as_slices):
        with tf.GradientTape(persistent=True) as outer:
            with tf.GradientTape() as inner:
                rows = tf.gather(table, [0, 2, 0])
                y = tf.reduce_sum(rows**3) + tf.reduce_prod(rows)
            g = inner.gradient(y, table)
            assert type(g) is tf.IndexedSlices
            if not as_slices:
                g = tf.convert_to_tensor(g)
        by_example = outer.batch_jacobian(g, table, experimental_use_pfor=use_pfor)
        return outer.jacobian(g, table, experimental_use_pfor=use_pfor), by_example

    found, expected = decorate(lambda: hessian(True))(), hessian(False)
    assert float(tf.reduce_sum(tf.abs(expected[0]))) > 100
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)
