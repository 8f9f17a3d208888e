"""Saved functions of sparse and ragged tensors: one program for all lengths, with gradients by the values."""

import json

import numpy as np
import pytest

import gradtape as tf

TABLE = np.arange(12, dtype=np.float32).reshape(4, 3) / 10


def module_of(function, *signature):
    module = tf.Module()
    module.table = tf.Variable(TABLE)
    module.f = tf.function(lambda *args: function(module.table, *args), input_signature=list(signature))
    return module


def sparse(rows, seed=0):
    dense = np.random.default_rng(seed).random((rows, 4), dtype=np.float32)
    return tf.sparse.from_dense(np.where(dense > 0.4, dense, 0))


def ragged(*lengths, inner=()):
    count = sum(lengths)
    values = np.random.default_rng(count).random((count, *inner), dtype=np.float32)
    return tf.RaggedTensor.from_row_lengths(values, lengths)


def words(*lengths):
    return tf.RaggedTensor.from_row_lengths(np.arange(sum(lengths)) % 4, lengths)


def embedded(table, ids):
    return tf.ragged.map_flat_values(lambda flat: tf.gather(table, flat), ids)


def nested(*rows):
    return tf.RaggedTensor.from_nested_row_lengths(
        np.arange(sum(map(sum, rows)), dtype=np.float32),
        [[len(row) for row in rows], [n for row in rows for n in row]],
    )


BATCH = tf.RaggedTensorSpec([None, None])
WORDS = tf.RaggedTensorSpec([None, None], "int64")
ROWS = tf.SparseTensorSpec([None, 4])

PROGRAMS = {  # the function, what it takes, and two calls of other lengths
    "a product": (lambda w, x: tf.sparse.sparse_dense_matmul(x, w), [ROWS], [[sparse(3)], [sparse(7)]]),
    "a dense tensor": (lambda w, x: tf.sparse.to_dense(x) @ w, [ROWS], [[sparse(2)], [sparse(5)]]),
    "sparse of sparse": (
        lambda w, x: tf.sparse.map_values(tf.exp, x),
        [tf.SparseTensorSpec([None, None])],
        [[sparse(2)], [sparse(6)]],
    ),
    "sparse of one shape": (
        lambda w, x: {"sum": tf.sparse.reduce_sum(x, 0), "x": x},
        [tf.SparseTensorSpec([3, 4])],
        [[sparse(3, 1)], [sparse(3, 2)]],
    ),
    "sums of rows": (lambda w, x: tf.reduce_sum(x * x, 1), [BATCH], [[ragged(2, 1, 3)], [ragged(4, 0)]]),
    "ragged of ragged": (lambda w, x: 2.0 * x + 1.0, [BATCH], [[ragged(2, 1, 3)], [ragged(5)]]),
    "rows of vectors": (
        lambda w, x: tf.reduce_max(x, 1) @ w,
        [tf.RaggedTensorSpec([None, None, 4], ragged_rank=1)],
        [[ragged(2, 1, inner=(4,))], [ragged(3, 2, 2, inner=(4,))]],
    ),
    "words": (embedded, [WORDS], [[words(2, 3)], [words(1, 0, 4)]]),
    "words and numbers": (
        lambda w, ids, y: tf.reduce_mean(embedded(w, ids), 1) + y,
        [WORDS, tf.TensorSpec([None, 3])],
        [[words(2, 3), tf.ones([2, 3])], [words(1, 1, 2), tf.ones([3, 3])]],
    ),
    "two levels": (
        lambda w, x: tf.reduce_sum(x, 2),
        [tf.RaggedTensorSpec([None, None, None])],
        [[nested((1, 2), (3,))], [nested((2,), (), (1, 1))]],
    ),
    "filled up": (lambda w, x: x.to_tensor(shape=[None, 5]), [BATCH], [[ragged(2, 1, 3)], [ragged(5)]]),
}


def tensors(value):
    """The tensors of numbers with a gradient in a structure of tensors, sparse and ragged ones."""
    found = []
    for leaf in tf.nest.flatten(value):
        if isinstance(leaf, tf.RaggedTensor):
            leaf = leaf.flat_values
        elif isinstance(leaf, tf.SparseTensor):
            leaf = leaf.values
        found += [leaf] if leaf.dtype.is_floating else []
    return found


def results(function, table, args):
    """What a function returns, and the gradients by what it takes and by the table, of first and second order."""
    sources = [*tensors(args), table]
    with tf.GradientTape() as outer:
        outer.watch(sources)
        with tf.GradientTape() as tape:
            tape.watch(sources)
            given = function(*args)
            loss = tf.add_n([tf.reduce_sum(tf.sin(t)) for t in tensors(given)])
        first = tape.gradient(loss, sources, unconnected_gradients="zero")
        total = tf.add_n([tf.reduce_sum(tf.convert_to_tensor(g) ** 2) for g in first])
    second = outer.gradient(total, sources, unconnected_gradients="zero")
    return given, [tf.convert_to_tensor(g) for g in [*first, *second]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_saved_function_computes_and_differentiates_as_before(name, tmp_path):
    function, signature, calls = PROGRAMS[name]
    module = module_of(function, *signature)
    tf.saved_model.save(module, tmp_path / "model")
    loaded = tf.saved_model.load(tmp_path / "model")
    for args in calls:
        given, gradients = results(loaded.f, loaded.table, args)
        expected, wanted = results(lambda *args: function(module.table, *args), module.table, args)
        tf.nest.assert_same_structure(given, expected, expand_composites=True)
        for a, b in zip(
            [*tf.nest.flatten(given, expand_composites=True), *gradients],
            [*tf.nest.flatten(expected, expand_composites=True), *wanted],
            strict=True,
        ):
            np.testing.assert_allclose(a, b, 1e-5, 1e-5)


def test_lengths_of_two_arguments_are_not_taken_for_each_other(tmp_path):
    pair = [tf.TensorSpec([None, 3]), tf.TensorSpec([None, 3])]
    module = module_of(lambda w, x, y: (tf.reshape(y, [-1]), tf.reduce_sum(x)), *pair)
    tf.saved_model.save(module, tmp_path / "model")
    given, _ = tf.saved_model.load(tmp_path / "model").f(tf.ones([2, 3]), tf.ones([5, 3]))
    assert given.shape == (15,)


def test_the_signature_of_a_saved_function_is_readable_and_kept(tmp_path):
    module = module_of(lambda w, x, y: x, BATCH, tf.SparseTensorSpec([None, 4], "int64"))
    tf.saved_model.save(module, tmp_path / "model")
    (function,) = json.loads((tmp_path / "model" / "saved_model.json").read_text())["functions"]
    assert function["results"]["ragged"]["ragged_rank"] == 1
    loaded = tf.saved_model.load(tmp_path / "model")
    (args, _) = loaded.f.concrete_functions[0].structured_input_signature
    assert args == (BATCH, tf.SparseTensorSpec([None, 4], "int64"))
    tf.saved_model.save(loaded, tmp_path / "again")
    x = ragged(2, 1)
    again = tf.saved_model.load(tmp_path / "again").f(x, tf.SparseTensor([[0, 1]], np.array([5]), [2, 4]))
    assert again.to_list() == x.to_list()


def test_other_arguments_are_refused(tmp_path):
    module = module_of(lambda w, x: tf.sparse.reduce_sum(x, 1), ROWS)
    tf.saved_model.save(module, tmp_path / "model")
    loaded = tf.saved_model.load(tmp_path / "model")
    for wrong in (tf.ones([2, 4]), ragged(2, 1), tf.sparse.from_dense(np.ones([2, 5], np.float32))):
        with pytest.raises(TypeError, match="was saved for no arguments like"):
            loaded.f(wrong)


def test_a_signature_takes_tensors(tmp_path):
    module = module_of(lambda w, x: tf.sparse.reduce_sum(x, 1), ROWS)
    with pytest.raises(
        ValueError, match="a signature takes tensors, and the function takes SparseTensorSpec"
    ):
        tf.saved_model.save(module, tmp_path / "model", signatures=module.f)
    tf.saved_model.save(module, tmp_path / "model")
    assert not tf.saved_model.load(tmp_path / "model").signatures


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (tf.RaggedTensorSpec([None, None], tf.string), "takes strings"),
        (tf.SparseTensorSpec(None), "a rank is needed"),
    ],
)
def test_what_no_program_takes_is_refused(spec, message, tmp_path):
    module = module_of(lambda w, x: x, spec)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.saved_model.save(module, tmp_path / "model")
    assert not (tmp_path / "model").exists()
