"""Sparse and ragged tensors and optionals as elements of datasets; errors of generators. Expected: TensorFlow's."""

import numpy as np
import pytest

import gradtape as tf

Dataset = tf.data.Dataset
RAGGED = tf.ragged.constant([[1, 2], [3], [], [4, 5, 6]])
SPARSE = tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 4])


def dense(sparse):
    return tf.sparse.to_dense(sparse).numpy().tolist()


# ---------------------------------------------------------------------------------------------------------------------
# Ragged


def test_rows_of_a_ragged_tensor_and_their_batches():
    rows = Dataset.from_tensor_slices(RAGGED)
    assert rows.element_spec == tf.RaggedTensorSpec([None], tf.int32, 0)
    assert [row.numpy().tolist() for row in rows] == [[1, 2], [3], [], [4, 5, 6]]
    batches = rows.batch(3)
    assert batches.element_spec == tf.RaggedTensorSpec([None, None], tf.int32, 1)
    assert [batch.to_list() for batch in batches] == [[[1, 2], [3], []], [[4, 5, 6]]]
    assert rows.batch(2, drop_remainder=True).element_spec.shape.as_list() == [2, None]


def test_shuffled_rows_of_a_ragged_tensor_stay_together():
    batch = next(iter(Dataset.from_tensor_slices((RAGGED, [2, 1, 0, 3])).shuffle(4, seed=1).batch(4)))
    assert batch[0].row_lengths().numpy().tolist() == batch[1].numpy().tolist()


def test_ragged_elements_are_stacked_and_taken_apart():
    whole = Dataset.from_tensors(RAGGED)
    assert whole.element_spec == tf.RaggedTensorSpec([4, None], tf.int32, 1)
    batches = whole.repeat(2).batch(2)
    assert batches.element_spec == tf.RaggedTensorSpec([None, 4, None], tf.int32, 2)
    assert next(iter(batches)).to_list() == [RAGGED.to_list()] * 2
    assert whole.unbatch().element_spec == tf.RaggedTensorSpec([None], tf.int32, 0)
    assert [row.numpy().tolist() for row in whole.unbatch()] == RAGGED.to_list()


def test_a_function_of_ragged_elements():
    doubled = Dataset.from_tensors(RAGGED).map(lambda x: x * 2)
    assert doubled.element_spec == tf.RaggedTensorSpec([4, None], tf.int32, 1)
    assert next(iter(doubled)).to_list() == [[2, 4], [6], [], [8, 10, 12]]
    words = Dataset.from_tensor_slices(["a b", "c"]).batch(2).map(tf.strings.split)
    assert words.element_spec == tf.RaggedTensorSpec([None, None], tf.string, 1)
    assert next(iter(words)).to_list() == [[b"a", b"b"], [b"c"]]


# ---------------------------------------------------------------------------------------------------------------------
# Sparse


def test_rows_of_a_sparse_tensor_and_their_batches():
    rows = Dataset.from_tensor_slices(SPARSE)
    assert rows.element_spec == tf.SparseTensorSpec([4], tf.float32)
    assert [dense(row) for row in rows] == [[0, 1, 0, 0], [0, 0, 0, 0], [2, 0, 0, 0]]
    batches = rows.batch(2)
    assert batches.element_spec == tf.SparseTensorSpec([None, 4], tf.float32)
    assert [dense(batch) for batch in batches] == [[[0, 1, 0, 0], [0, 0, 0, 0]], [[2, 0, 0, 0]]]
    assert [dense(row) for row in Dataset.from_tensors(SPARSE).unbatch()] == [dense(row) for row in rows]


def test_sparse_and_dense_side_by_side():
    x, y = next(iter(Dataset.from_tensor_slices((SPARSE, [1, 2, 3])).batch(3)))
    assert dense(x) == dense(SPARSE)
    assert y.numpy().tolist() == [1, 2, 3]
    zipped = Dataset.zip((Dataset.from_tensor_slices(SPARSE), Dataset.range(2))).batch(3)
    x, y = next(iter(zipped))
    assert (x.shape.as_list(), y.numpy().tolist()) == ([2, 4], [0, 1])


def test_a_batch_of_sparse_elements_has_the_largest_lengths():
    parts = [tf.SparseTensor([[0]], [1.0], [2]), tf.SparseTensor([[4]], [2.0], [5])]
    dataset = Dataset.from_generator(
        lambda: iter(parts), output_signature=tf.SparseTensorSpec([None], tf.float32)
    )
    assert dense(next(iter(dataset.batch(2)))) == [[1, 0, 0, 0, 0], [0, 0, 0, 0, 2]]


def test_what_cannot_be_stacked_says_so():
    optionals = Dataset.from_tensors(tf.experimental.Optional.from_value(1)).batch(1)
    with pytest.raises(TypeError, match="cannot be stacked"):
        next(iter(optionals))


# ---------------------------------------------------------------------------------------------------------------------
# Generators


def generated(values, signature):
    return list(Dataset.from_generator(lambda: iter(values), output_signature=signature))


def test_generators_of_composites():
    (x,) = generated([RAGGED], tf.RaggedTensorSpec([None, None], tf.int32))
    assert x.to_list() == RAGGED.to_list()
    (x,) = generated([SPARSE], tf.SparseTensorSpec([None, None], tf.float32))
    assert x is SPARSE
    empty = tf.experimental.Optional.empty(None)
    ((x, y),) = generated([(1.0, empty)], (tf.TensorSpec([], tf.float32), tf.OptionalSpec(None)))
    assert float(x) == 1.0
    assert not y.has_value()


@pytest.mark.parametrize(
    ("value", "spec"),
    [
        (tf.constant([[1]]), tf.RaggedTensorSpec([None, None], tf.int32)),
        ([[1], [2, 3]], tf.RaggedTensorSpec([None, None], tf.int32)),
        (np.ones((1, 1), np.float32), tf.SparseTensorSpec([None, None], tf.float32)),
        (SPARSE, tf.SparseTensorSpec([None, None], tf.int32)),
        (SPARSE, tf.SparseTensorSpec([None, 5], tf.float32)),
        (1.0, tf.OptionalSpec(None)),
    ],
)
def test_a_generator_keeps_to_its_signature(value, spec):
    with pytest.raises(tf.errors.InvalidArgumentError, match="signature says"):
        generated([value], spec)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("why"), tf.errors.InvalidArgumentError),
        (TypeError("why"), tf.errors.InvalidArgumentError),
        (KeyError("why"), tf.errors.UnknownError),
        (ZeroDivisionError("why"), tf.errors.UnknownError),
        (NotImplementedError("why"), tf.errors.UnimplementedError),
        (MemoryError("why"), tf.errors.ResourceExhaustedError),
        (tf.errors.NotFoundError(None, None, "why"), tf.errors.NotFoundError),
    ],
)
def test_errors_of_a_generator_are_tensorflows(error, kind):
    def values():
        yield 1
        raise error

    iterator = iter(Dataset.from_generator(values, output_signature=tf.TensorSpec([], tf.int32)))
    assert int(next(iterator)) == 1
    with pytest.raises(kind, match="why") as raised:
        next(iterator)
    assert raised.value is error or raised.value.__cause__ is error


def test_a_generator_function_that_fails_at_once():
    dataset = Dataset.from_generator(lambda: iter(3), output_signature=tf.TensorSpec([], tf.int32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="TypeError"):
        next(iter(dataset))


# ---------------------------------------------------------------------------------------------------------------------
# Side by side, and taken apart and joined again


def test_rows_that_were_taken_apart_are_ragged_again():
    rows = Dataset.from_tensors((RAGGED, np.arange(4))).unbatch().prefetch(1)
    joined, numbers = next(iter(rows.batch(3)))
    assert joined.to_list() == [[1, 2], [3], []] and numbers.numpy().tolist() == [0, 1, 2]
    uniform = Dataset.from_tensor_slices(tf.RaggedTensor.from_tensor([[1, 2], [3, 4]])).batch(2)
    assert next(iter(uniform)).shape == uniform.element_spec.shape.merge_with([2, 2]) == [2, 2]


def test_none_stays_in_each_row():
    rows = Dataset.from_tensor_slices((RAGGED, None, np.arange(4)))
    assert rows.element_spec[1] is None
    ragged, nothing, numbers = rows.batch(4).get_single_element()
    assert ragged.to_list() == RAGGED.to_list() and nothing is None and numbers.shape == [4]
    zipped = Dataset.zip(rows, Dataset.range(2)).batch(3).get_single_element()
    assert zipped[0][1] is None and zipped[0][0].to_list() == [[1, 2], [3]]
    with pytest.raises(ValueError, match="nothing but None"):
        Dataset.from_tensor_slices((None,))


def test_as_numpy_iterator_makes_sparse_dense():
    rows = [row.tolist() for row in Dataset.from_tensor_slices(SPARSE).as_numpy_iterator()]
    assert rows == dense(SPARSE)


def test_an_optional_of_a_ragged_tensor():
    optional = iter(Dataset.from_tensors(RAGGED)).get_next_as_optional()
    assert optional.element_spec == tf.RaggedTensorSpec([4, None], tf.int32)
    assert optional.get_value().to_list() == RAGGED.to_list()
