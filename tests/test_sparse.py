"""Sparse tensors do what the dense ones do, and gradients go to the values."""

import numpy as np
import pytest

import gradtape as tf
from gradtape import errors
from gradtape.compiled.output_specs import output_specs

sp = tf.sparse


def random_sparse(shape, seed=0, density=0.4, dtype=np.float32):
    """A sparse tensor and the same dense."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random(shape) < density, rng.normal(size=shape), 0).astype(dtype)
    indices = np.argwhere(dense != 0)
    return tf.SparseTensor(indices, dense[tuple(indices.T)], shape), dense


A, DENSE_A = random_sparse((3, 4))
B, DENSE_B = random_sparse((3, 4), 1)
CUBE, DENSE_CUBE = random_sparse((2, 3, 4), 2)
M = np.random.default_rng(3).normal(size=(4, 5)).astype(np.float32)

# What is done to A, and the same with NumPy.
SAME = {
    "to_dense": (lambda a: sp.to_dense(a), lambda a: a),
    "from_dense": (lambda a: sp.from_dense(sp.to_dense(a)), lambda a: a),
    "default": (lambda a: sp.to_dense(a, 7.0), lambda a: np.where(a != 0, a, 7)),
    "transpose": (lambda a: sp.transpose(a), lambda a: a.T),
    "reshape": (lambda a: sp.reshape(a, [2, -1]), lambda a: a.reshape(2, 6)),
    "expand_dims": (lambda a: sp.expand_dims(a, 1), lambda a: a[:, None]),
    "expand last": (lambda a: sp.expand_dims(a), lambda a: a[..., None]),
    "concat 0": (lambda a: sp.concat(0, [a, B]), lambda a: np.concatenate([a, DENSE_B])),
    "concat 1": (lambda a: sp.concat(-1, [a, B]), lambda a: np.concatenate([a, DENSE_B], 1)),
    "slice": (lambda a: sp.slice(a, [1, 1], [5, 2]), lambda a: a[1:, 1:3]),
    "split": (lambda a: sp.split(a, 3, 1)[0], lambda a: a[:, :2]),
    "add": (lambda a: sp.add(a, B), lambda a: a + DENSE_B),
    "add dense": (lambda a: sp.add(a, DENSE_B), lambda a: a + DENSE_B),
    "maximum": (lambda a: sp.maximum(a, B), lambda a: np.maximum(a, DENSE_B)),
    "minimum": (lambda a: sp.minimum(a, B), lambda a: np.minimum(a, DENSE_B)),
    "sum": (lambda a: sp.reduce_sum(a), lambda a: a.sum()),
    "sum 0": (lambda a: sp.reduce_sum(a, 0), lambda a: a.sum(0)),
    "sum 1 kept": (lambda a: sp.reduce_sum(a, -1, True), lambda a: a.sum(1, keepdims=True)),
    "sum sparse": (lambda a: sp.reduce_sum(a, 1, output_is_sparse=True), lambda a: a.sum(1)),
    "matmul": (lambda a: sp.sparse_dense_matmul(a, M), lambda a: a @ M),
    "matmul adjoint": (lambda a: sp.sparse_dense_matmul(a, M[:3], adjoint_a=True), lambda a: a.T @ M[:3]),
    "dense matmul": (lambda a: sp.sparse_dense_matmul(M.T[:, :3], a), lambda a: M.T[:, :3] @ a),
    "map_values": (lambda a: sp.map_values(tf.square, a), lambda a: a**2),
    "map two": (lambda a: sp.map_values(tf.multiply, a, a), lambda a: a**2),
    "times": (lambda a: a * DENSE_B, lambda a: a * DENSE_B),
    "times a row": (lambda a: a * M[:, 0], lambda a: a * M[:, 0]),
    "over a number": (lambda a: a / 2.0, lambda a: a / 2),
    "reset_shape": (lambda a: sp.reset_shape(a, [4, 4]), lambda a: np.pad(a, [(0, 1), (0, 0)])),
}  # fmt: skip


def dense_of(x):
    return sp.to_dense(x) if isinstance(x, tf.SparseTensor) else x


@pytest.mark.parametrize("name", SAME)
def test_it_is_what_the_dense_tensor_is(name):
    ours, numpys = SAME[name]
    got, expected = dense_of(ours(A)), numpys(DENSE_A)
    assert got.shape == np.shape(expected)
    assert np.allclose(got, expected, atol=1e-6)


@pytest.mark.parametrize("name", SAME)
def test_gradients_go_to_the_values(name):
    ours, numpys = SAME[name]
    values = tf.constant(A.values.numpy().astype(np.float64))
    double = lambda v: tf.SparseTensor(A.indices, v, A.dense_shape)
    in_float32 = lambda v: dense_of(ours(double(tf.cast(v, tf.float32))))
    with tf.GradientTape() as tape:
        tape.watch(values)
        y = in_float32(values)
        weights = np.random.default_rng(5).normal(size=y.shape).astype(np.float32)
        loss = tf.reduce_sum(y * weights)
    gradient = tape.gradient(loss, values)
    assert isinstance(gradient, tf.Tensor)
    place = tuple(A.indices.numpy().T)
    for i in range(len(values)):
        shift = np.zeros(DENSE_A.shape)
        shift[place[0][i], place[1][i]] = 1e-3
        difference = (numpys(DENSE_A + shift) - numpys(DENSE_A - shift)) * weights
        assert np.isclose(gradient[i], difference.sum() / 2e-3, atol=2e-3)


UNKNOWN_SIZE = {"from_dense", "slice", "split", "add", "maximum", "minimum", "sum sparse"}


@pytest.mark.parametrize("name", [name for name in SAME if name not in UNKNOWN_SIZE])
def test_compiled(name, caplog):
    """With values that are traced."""
    pytest.importorskip("jax")
    ours, numpys = SAME[name]
    run = tf.function(lambda v: dense_of(ours(A.with_values(v))))
    assert np.allclose(run(A.values), numpys(DENSE_A), atol=1e-6)
    assert not caplog.records  # which say that it ran operation by operation


def test_order_is_restored_and_demanded():
    mixed = tf.SparseTensor([[1, 0], [0, 1]], [1.0, 2.0], [2, 2])
    with pytest.raises(errors.InvalidArgumentError, match=r"indices\[1\] = \[0, 1\] is out of order"):
        sp.to_dense(mixed)
    assert sp.reorder(mixed).values.numpy().tolist() == [2, 1]
    assert sp.to_dense(mixed, validate_indices=False).numpy().tolist() == [[0, 2], [1, 0]]
    twice = tf.SparseTensor([[0, 1], [0, 1]], [1.0, 2.0], [2, 2])
    with pytest.raises(errors.InvalidArgumentError, match="is repeated"):
        sp.to_dense(twice)
    with pytest.raises(errors.InvalidArgumentError, match="outside of the shape"):
        sp.to_dense(tf.SparseTensor([[0, 5]], [1.0], [2, 3]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 1]], [1.0, 2.0], [2, 3]), "1 indices of rank 2 do not fit 2 values"),
        (([[0, 1]], [1.0], [2]), "a dense_shape of rank 1"),
        (([0, 1], [1.0], [2]), r"indices must have the shape \(elements, rank\)"),
        (([[0.5]], [1.0], [2]), "indices must be integers"),
        (([[0]], [1.0], [-2]), "a length must be 0 or more"),
    ],
)
def test_parts_that_do_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        tf.SparseTensor(*arguments)


def test_reduce_max_looks_at_what_is_there():
    """TensorFlow's answers."""
    s = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [-1.0, -2.0, 3.0], [3, 3])
    assert sp.reduce_max(s, 1).numpy().tolist() == [-1, 3, 0]
    assert sp.reduce_max(s).numpy() == 3


def test_softmax_looks_at_what_is_there():
    got = sp.softmax(CUBE)
    there = DENSE_CUBE != 0
    powers = np.where(there, np.exp(DENSE_CUBE), 0)
    assert np.allclose(sp.to_dense(got), powers / np.maximum(powers.sum(-1, keepdims=True), 1e-30), atol=1e-6)


def test_rows_are_filled():
    s = tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [4, 2])
    filled, empty = sp.fill_empty_rows(s, 9.0)
    assert sp.to_dense(filled).numpy().tolist() == [[0, 1], [9, 0], [2, 0], [9, 0]]
    assert empty.numpy().tolist() == [False, True, False, True]


def test_strings():
    s = tf.SparseTensor([[0, 1]], ["a"], [1, 2])
    assert sp.to_dense(s).numpy().tolist() == [[b"", b"a"]]
    assert sp.from_dense([["", "b"]]).values.numpy().tolist() == [b"b"]


def test_threshold_leaves_small_sums_out():
    a = tf.SparseTensor([[0], [1]], [1.0, 2.0], [3])
    b = tf.SparseTensor([[0], [2]], [-1.0, 5.0], [3])
    assert sp.add(a, b).indices.numpy().tolist() == [[0], [1], [2]]
    assert sp.add(a, b, 0.5).indices.numpy().tolist() == [[1], [2]]


def test_bincount():
    s = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 1, 3], [2, 2])
    assert sp.to_dense(sp.bincount(s, axis=-1)).numpy().tolist() == [[0, 2, 0, 0], [0, 0, 0, 1]]
    assert sp.to_dense(sp.bincount([1, 1, 0])).numpy().tolist() == [1, 2]
    assert sp.to_dense(sp.bincount([1, 1, 0], binary_output=True, minlength=3)).numpy().tolist() == [1, 1, 0]
    assert sp.to_dense(sp.bincount([5, 1], maxlength=2)).numpy().tolist() == [0, 1]


def test_indicator_segments_and_addmm():
    s = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [2, 0, 1], [2, 2])
    assert sp.to_indicator(s, 3).numpy().tolist() == [[False, False, True], [True, True, False]]
    data = tf.constant([[1.0], [2.0], [3.0]])
    assert sp.segment_sum(data, [0, 2, 1], [0, 0, 2]).numpy().tolist() == [[4], [0], [2]]
    assert sp.segment_mean(data, [0, 2], [0, 0], num_segments=2).numpy().tolist() == [[2], [0]]
    indices, values, _ = sp.sampled_addmm(A.indices, A.values, A.dense_shape, DENSE_A[:, :2], DENSE_A[:2])
    expected = (DENSE_A + DENSE_A[:, :2] @ DENSE_A[:2])[tuple(indices.numpy().T)]
    assert np.allclose(values, expected, atol=1e-5)


def test_a_sparse_layer_is_trained():
    """The factorization of a sparse matrix of ratings, as the embedding tutorials have it."""
    ratings = tf.SparseTensor([[0, 1], [1, 0], [1, 2], [2, 1]], [5.0, 3.0, 1.0, 4.0], [3, 3])
    users, items = tf.Variable(tf.ones([3, 2]) * 0.5), tf.Variable([[0.3, 0.6], [0.9, 0.2], [0.1, 0.5]])
    optimizer = tf.optimizers.Adam(0.1)
    for _ in range(300):
        with tf.GradientTape() as tape:
            guess = tf.gather_nd(tf.matmul(users, items, transpose_b=True), ratings.indices)
            loss = tf.reduce_mean((guess - ratings.values) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, [users, items]), [users, items]))
    assert loss < 1e-3


def test_it_reads_well():
    assert (
        repr(tf.SparseTensorSpec([2, None], tf.int32)) == "SparseTensorSpec(TensorShape([2, None]), tf.int32)"
    )
    assert tf.SparseTensorSpec([3, None]).is_compatible_with(A)
    assert not tf.SparseTensorSpec([2, None]).is_compatible_with(A)
    assert not tf.SparseTensorSpec([3, None]).is_compatible_with(tf.ones((3, 4)))
    assert "dense_shape=tf.Tensor([3 4]" in repr(A)
    with pytest.raises(TypeError, match="takes a SparseTensor, not list"):
        sp.reorder([[1.0]])


def test_the_specs_of_results_are_found_where_their_lengths_depend_on_values():
    def program(inputs):
        dense = sp.to_dense(inputs[0])
        return [dense, inputs[0].values, tf.boolean_mask(dense, dense > 0.0)]

    dense, values, chosen = output_specs("program", program, [tf.SparseTensorSpec([None, 3])])
    assert dense == tf.TensorSpec([None, 3])
    assert values == tf.TensorSpec([None])
    assert chosen.shape.rank == 1


# ---------------------------------------------------------------------------------------------------------------------
# Crosses. The numbers are TensorFlow's.


def test_crosses():
    words = tf.sparse.from_dense([["a", ""], ["b", "c"]])
    others = tf.constant([["d"], ["e"]])
    numbers = tf.constant([[1, -2], [3, 4]])
    crossed = tf.sparse.cross([others, words])  # sparse tensors go first
    assert crossed.indices.numpy().tolist() == [[0, 0], [1, 0], [1, 1]]
    assert crossed.values.numpy().tolist() == [b"a_X_d", b"b_X_e", b"c_X_e"]
    assert crossed.shape == (2, 2)
    dashed = tf.sparse.cross([numbers, others], separator="-")
    assert dashed.values.numpy().tolist() == [b"1-d", b"-2-d", b"3-e", b"4-e"]
    hashed = tf.sparse.cross_hashed([others, words, numbers], 1000)
    assert hashed.values.numpy().tolist() == [921, 415, 88, 438, 867, 297]
    first = tf.constant([[1], [2]])
    assert tf.sparse.cross_hashed([first, others], 100, hash_key=7).values.numpy().tolist() == [92, 38]
    whole = tf.sparse.cross_hashed([first, others]).values
    assert whole.numpy().tolist() == [8731989417520980377, 6870019135446212689]
    rare = tf.sparse.from_dense([["", ""], ["b", "c"]])
    squared = tf.sparse.cross_hashed([rare, rare], 100)
    assert squared.values.numpy().tolist() == [47, 54, 51, 32]
    assert squared.indices.numpy().tolist() == [[1, 0], [1, 1], [1, 2], [1, 3]] and squared.shape == (2, 4)
    assert tf.sparse.cross([]).shape == (0, 0)


def test_crosses_of_what_cannot_be_crossed():
    words = tf.constant([["a"], ["b"]])
    for inputs in words, [["a"]], [words, [["a"]]]:
        with pytest.raises(TypeError, match="a list of dense and sparse tensors"):
            tf.sparse.cross_hashed(inputs)
    with pytest.raises(errors.InvalidArgumentError, match=r"the numbers of rows differ: \[1, 2\]"):
        tf.sparse.cross([words, words[:1]])
    for bad in words[:, 0], tf.constant([[1.0]]):
        with pytest.raises(errors.InvalidArgumentError, match="two axes, of strings or integers"):
            tf.sparse.cross([bad])


# ---------------------------------------------------------------------------------------------------------------------
# Slices


def test_map_fn_over_slices():
    sparse = tf.sparse.from_dense([[1.0, 0.0], [2.0, 3.0], [0.0, 0.0]])
    dense = tf.constant([1.0, 2.0, 3.0])
    assert tf.map_fn(tf.sparse.to_dense, sparse, fn_output_signature=tf.float32).numpy().tolist() == [
        [1.0, 0.0],
        [2.0, 3.0],
        [0.0, 0.0],
    ]
    with tf.GradientTape() as tape:
        tape.watch(sparse.values)
        total = tf.map_fn(
            lambda pair: tf.sparse.reduce_sum(pair[0]) * pair[1],
            (sparse, dense),
            fn_output_signature=tf.float32,
        )
    assert total.numpy().tolist() == [1.0, 10.0, 0.0]
    assert tape.gradient(total, sparse.values).numpy().tolist() == [1.0, 2.0, 2.0]
    for signature in None, tf.SparseTensorSpec([2]):
        doubled = tf.map_fn(lambda row: row * 2.0, sparse, fn_output_signature=signature)
        assert np.array_equal(dense_of(doubled), 2 * dense_of(sparse))
    empty = tf.SparseTensor(tf.zeros((0, 2), "int64"), tf.zeros(0), [0, 2])
    spec = tf.SparseTensorSpec([2])
    assert tf.map_fn(lambda row: row, empty, fn_output_signature=spec).shape == (0, 2)


def test_map_fn_over_slices_that_do_not_fit():
    sparse = tf.sparse.from_dense([[1.0, 0.0], [2.0, 3.0]])
    with pytest.raises(ValueError, match=r"have lengths \[2, 3\]"):
        tf.map_fn(lambda pair: pair[1], (sparse, tf.ones(3)), fn_output_signature=tf.float32)
    with pytest.raises(ValueError, match="was expected"):
        tf.map_fn(tf.sparse.to_dense, sparse, fn_output_signature=tf.SparseTensorSpec([2]))
    with pytest.raises(errors.InvalidArgumentError, match="fn returned float32 where int32"):
        tf.map_fn(tf.sparse.reduce_sum, sparse, fn_output_signature=tf.int32)
