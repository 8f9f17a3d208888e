"""tf.sets: sets in the rows of dense and sparse tensors. The wanted results are TensorFlow 2.21's."""

import numpy as np
import pytest

import gradtape as tf

S = tf.sets
A, B = [[1, 2, 2], [3, 4, 0]], [[2, 5], [0, 0]]
SPARSE_A = tf.SparseTensor([[0, 0], [0, 3], [2, 1]], [5, 1, 7], [3, 4])
SPARSE_B = tf.SparseTensor([[0, 1], [1, 0], [2, 2]], [1, 9, 7], [3, 4])


def parts(sparse):
    return [part.numpy().tolist() for part in (sparse.indices, sparse.values, sparse.dense_shape)]


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (lambda: S.intersection(A, B), [[[0, 0], [1, 0]], [2, 0], [2, 1]]),
        (
            lambda: S.union(A, B),
            [[[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]], [1, 2, 5, 0, 3, 4], [2, 3]],
        ),
        (lambda: S.difference(A, B), [[[0, 0], [1, 0], [1, 1]], [1, 3, 4], [2, 2]]),
        (lambda: S.difference(A, B, aminusb=False), [[[0, 0]], [5], [2, 1]]),
        (lambda: S.intersection(SPARSE_A, SPARSE_B), [[[0, 0], [2, 0]], [1, 7], [3, 1]]),
        (lambda: S.union(SPARSE_A, SPARSE_B), [[[0, 0], [0, 1], [1, 0], [2, 0]], [1, 5, 9, 7], [3, 2]]),
        (lambda: S.difference(SPARSE_A, SPARSE_B), [[[0, 0]], [5], [3, 1]]),
        (lambda: S.difference(SPARSE_A, SPARSE_B, aminusb=False), [[[1, 0]], [9], [3, 1]]),
        (lambda: S.difference(SPARSE_A, [[1], [2], [7]]), [[[0, 0]], [5], [3, 1]]),
        (lambda: S.union([["a", "b"]], [["c"]]), [[[0, 0], [0, 1], [0, 2]], [b"a", b"b", b"c"], [1, 3]]),
        (lambda: S.union(np.zeros((2, 0), int), np.zeros((2, 0), int)), [[], [], [2, 0]]),
        (lambda: S.intersection([[1]], [[2]]), [[], [], [1, 0]]),
    ],
)
def test_sets_are_combined_row_by_row(found, wanted):
    assert parts(found()) == wanted


def test_sets_of_three_axes():
    x = tf.SparseTensor([[0, 0, 0], [1, 2, 0]], np.int8([1, 1]), [2, 3, 1])
    y = tf.SparseTensor([[0, 1, 0], [1, 2, 0]], np.int8([1, 1]), [2, 3, 1])
    assert parts(S.intersection(x, y)) == [[[1, 2, 0]], [1], [2, 3, 1]]
    assert S.size(
        tf.SparseTensor([[0, 0, 0], [0, 0, 1], [1, 1, 0]], [1, 1, 1], [2, 2, 3])
    ).numpy().tolist() == [
        [1, 0],
        [0, 1],
    ]
    assert S.size(SPARSE_A).numpy().tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: S.intersection(A, B[:1]), tf.errors.InvalidArgumentError),
        (lambda: S.union([1, 2], [2, 3]), tf.errors.InvalidArgumentError),
        (lambda: S.union([[1.0]], [[1.0]]), TypeError),
        (lambda: S.union(tf.constant([[1]], tf.int64), tf.constant([[1]])), TypeError),
        (lambda: S.size(A), TypeError),
    ],
)
def test_what_is_no_pair_of_sets(call, error):
    with pytest.raises(error, match="sets"):
        call()
