"""Datasets whose elements are sparse or ragged tensors or optionals. The expected results are TensorFlow's."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.data import Dataset

ROWS = [[1], [2, 3], []]
DEEP = [[[1], [2, 3]], [], [[4]]]
DENSE = [[1, 0], [0, 2], [3, 0]]


def ragged(rows=ROWS):
    return tf.ragged.constant(rows)


def sparse():
    return tf.sparse.from_dense(DENSE)


def plain(dataset):
    """The elements as lists, each with its class."""
    return [nested(element) for element in dataset]


def nested(element):
    if isinstance(element, tf.RaggedTensor):
        return "ragged", element.to_list()
    if isinstance(element, tf.SparseTensor):
        return "sparse", tf.sparse.to_dense(element).numpy().tolist()
    return "dense", element.numpy().tolist()


def dense(*values):
    return [("dense", value) for value in values]


RAGGED_ROW = tf.RaggedTensorSpec([None], tf.int32, 0)
RAGGED_ROWS = tf.RaggedTensorSpec([None, None], tf.int32)
SPARSE_ROW = tf.SparseTensorSpec([2], tf.int32)
SPARSE_ROWS = tf.SparseTensorSpec([None, None], tf.int32)


def generated(values, spec):
    return Dataset.from_generator(lambda: iter(values), output_signature=spec)


CASES = {
    "rows of ragged": (lambda: Dataset.from_tensor_slices(ragged()), RAGGED_ROW, dense(*ROWS)),
    "batches of them": (
        lambda: Dataset.from_tensor_slices(ragged()).batch(2),
        RAGGED_ROWS,
        [("ragged", [[1], [2, 3]]), ("ragged", [[]])],
    ),
    "rows of rows": (
        lambda: Dataset.from_tensor_slices(ragged(DEEP)),
        RAGGED_ROWS,
        [("ragged", row) for row in DEEP],
    ),
    "batches of rows of rows": (
        lambda: Dataset.from_tensor_slices(ragged(DEEP)).batch(2),
        tf.RaggedTensorSpec([None, None, None], tf.int32),
        [("ragged", DEEP[:2]), ("ragged", DEEP[2:])],
    ),
    "ragged unbatched and batched": (
        lambda: Dataset.from_tensors(ragged()).unbatch().batch(2),
        RAGGED_ROWS,
        [("ragged", ROWS[:2]), ("ragged", ROWS[2:])],
    ),
    "ragged unbatched": (lambda: Dataset.from_tensors(ragged()).unbatch(), RAGGED_ROW, dense(*ROWS)),
    "rows of sparse": (
        lambda: Dataset.from_tensor_slices(sparse()),
        SPARSE_ROW,
        [("sparse", row) for row in DENSE],
    ),
    "sparse batched": (
        lambda: Dataset.from_tensor_slices(sparse()).batch(2, drop_remainder=True),
        tf.SparseTensorSpec([2, 2], tf.int32),
        [("sparse", DENSE[:2])],
    ),
    "sparse unbatched": (
        lambda: Dataset.from_tensors(sparse()).unbatch(),
        SPARSE_ROW,
        [("sparse", row) for row in DENSE],
    ),
    "sparse filtered": (
        lambda: Dataset.from_tensor_slices(sparse()).filter(lambda s: tf.reduce_sum(s.values) > 1),
        SPARSE_ROW,
        [("sparse", row) for row in DENSE[1:]],
    ),
    "map to ragged": (
        lambda: Dataset.range(2).map(lambda i: tf.ragged.range(tf.stack([i, i + 1]))),
        tf.RaggedTensorSpec([2, None], tf.int64),
        [("ragged", [[], [0]]), ("ragged", [[0], [0, 1]])],
    ),
    "ragged_batch": (
        lambda: generated(ROWS, tf.TensorSpec([None], tf.int32)).ragged_batch(2),
        RAGGED_ROWS,
        [("ragged", ROWS[:2]), ("ragged", ROWS[2:])],
    ),
    "ragged_batch of known lengths": (
        lambda: Dataset.from_tensor_slices(DENSE).ragged_batch(2),
        tf.TensorSpec([None, 2], tf.int32),
        dense(DENSE[:2], DENSE[2:]),
    ),
    "sparse generated": (
        lambda: generated([sparse()], SPARSE_ROWS),
        SPARSE_ROWS,
        [("sparse", DENSE)],
    ),
    "ragged generated": (
        lambda: generated([ragged()], RAGGED_ROWS),
        RAGGED_ROWS,
        [("ragged", ROWS)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_elements_and_their_spec(name):
    make, spec, elements = CASES[name]
    assert make().element_spec == spec
    assert plain(make()) == elements


def test_sparse_batches_are_as_long_as_the_longest():
    lengths = Dataset.range(2).map(lambda i: tf.sparse.from_dense(np.ones(int(i) + 1, int)))
    assert nested(lengths.batch(2).get_single_element()) == ("sparse", [[1, 0], [1, 1]])


def test_parts_of_an_element_side_by_side():
    dataset = Dataset.from_tensor_slices((ragged(), sparse(), np.arange(3), None)).batch(2)
    rows, pairs, numbers, nothing = next(iter(dataset))
    assert [nested(part) for part in (rows, pairs, numbers)] == [
        ("ragged", ROWS[:2]),
        ("sparse", DENSE[:2]),
        ("dense", [0, 1]),
    ]
    assert nothing is None


def test_zip_cuts_a_longer_batch():
    dataset = Dataset.zip(Dataset.from_tensor_slices(ragged(DEEP)), Dataset.range(2)).batch(3)
    rows, numbers = dataset.get_single_element()
    assert nested(rows) == ("ragged", DEEP[:2]) and nested(numbers) == ("dense", [0, 1])


def test_as_numpy_iterator_makes_sparse_dense():
    assert [row.tolist() for row in Dataset.from_tensor_slices(sparse()).as_numpy_iterator()] == DENSE


def test_optionals_pass_through():
    spec = tf.OptionalSpec(None)
    empty = tf.experimental.Optional.empty(None)
    dataset = Dataset.from_generator(
        lambda: iter([(1, empty)]), output_signature=(tf.TensorSpec((), tf.int32), spec)
    )
    number, optional = next(iter(dataset.prefetch(1)))
    assert int(number) == 1 and not optional.has_value()
    assert dataset.element_spec[1] == spec


def test_an_optional_of_a_ragged_tensor():
    optional = iter(Dataset.from_tensors(ragged())).get_next_as_optional()
    assert optional.element_spec == tf.RaggedTensorSpec([3, None], tf.int32)
    assert optional.get_value().to_list() == ROWS


def raising(error):
    def generator():
        yield 1
        raise error

    return lambda: list(Dataset.from_generator(generator, output_signature=tf.TensorSpec((), tf.int32)))


@pytest.mark.parametrize(
    "make, error, message",
    [
        (raising(ValueError("odd")), tf.errors.InvalidArgumentError, "ValueError: odd"),
        (raising(KeyError("k")), tf.errors.UnknownError, "KeyError: 'k'"),
        (raising(tf.errors.NotFoundError(None, None, "gone")), tf.errors.NotFoundError, "gone"),
        (
            lambda: list(Dataset.from_generator(lambda: iter([ROWS]), output_signature=RAGGED_ROWS)),
            tf.errors.InvalidArgumentError,
            "the signature says RaggedTensorSpec",
        ),
        (lambda: Dataset.from_generator(lambda: 1, output_signature=3), TypeError, "made of TensorSpec"),
        (
            lambda: list(Dataset.from_tensors(tf.experimental.Optional.from_value(3)).batch(1)),
            TypeError,
            "cannot be put together",
        ),
        (
            lambda: Dataset.from_tensor_slices((ragged(), [1])),
            tf.errors.InvalidArgumentError,
            r"they have \[1, 3\]",
        ),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()
