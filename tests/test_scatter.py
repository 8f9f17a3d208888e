"""Gathering, scattering and updating by coordinates; taking apart and stitching together."""

import re

import numpy as np
import pytest

import gradtape as tf
from gradtape.core import errors

PAIRS = [[1.0, 2.0], [3.0, 4.0]]
CUBE = np.arange(24.0).reshape(2, 3, 4).astype(np.float32)


def plain(result):
    return [plain(r) for r in result] if isinstance(result, (list, tuple)) else np.asarray(result).tolist()


VALUES = {
    "gather_nd": (lambda: tf.gather_nd(CUBE, [[0, 1], [1, 2]]), CUBE[[0, 1], [1, 2]].tolist()),
    "gather_nd of elements": (lambda: tf.gather_nd(CUBE, [[[0, 1, 3]], [[1, 2, 0]]]), [[7.0], [20.0]]),
    "gather_nd in batches": (lambda: tf.gather_nd(CUBE, [[2, 0], [1, 3]], batch_dims=1), [8.0, 19.0]),
    "gather_nd of all": (lambda: tf.gather_nd(PAIRS, np.zeros((2, 0), int)), [PAIRS, PAIRS]),
    "gather_nd, bad ignored": (
        lambda: tf.gather_nd(PAIRS, [[0], [5]], bad_indices_policy="IGNORE"),
        [[1.0, 2.0], [0.0, 0.0]],
    ),
    "scatter_nd": (lambda: tf.scatter_nd([[1], [3], [1]], [5, 6, 7], [4]), [0, 12, 0, 6]),
    "scatter_nd of slices": (lambda: tf.scatter_nd([[1]], [[1, 2]], [3, 2]), [[0, 0], [1, 2], [0, 0]]),
    "scatter_nd of nothing": (
        lambda: tf.scatter_nd(np.zeros((0, 1), int), np.zeros(0, np.int32), [2]),
        [0, 0],
    ),
    "scatter_nd, bad ignored": (
        lambda: tf.scatter_nd([[0], [5]], [1, 2], [2], bad_indices_policy="IGNORE"),
        [1, 0],
    ),
    "scatter_nd of booleans": (lambda: tf.scatter_nd([[0], [0]], [True, False], [2]), [True, False]),
    "update": (
        lambda: tf.tensor_scatter_nd_update(PAIRS, [[0, 1], [1, 0]], [8, 9]),
        [[1.0, 8.0], [9.0, 4.0]],
    ),
    "update, the last wins": (lambda: tf.tensor_scatter_nd_update([1, 2], [[0], [0]], [7, 8]), [8, 2]),
    "update strings": (lambda: tf.tensor_scatter_nd_update(["a", "b"], [[0]], ["c"]), [b"c", b"b"]),
    "add": (lambda: tf.tensor_scatter_nd_add([1, 2], [[0], [0]], [7, 8]), [16, 2]),
    "sub": (lambda: tf.tensor_scatter_nd_sub([1, 2], [[0], [0]], [7, 8]), [-14, 2]),
    "max": (lambda: tf.tensor_scatter_nd_max([1, 9], [[0], [0], [1]], [7, 8, 5]), [8, 9]),
    "min": (lambda: tf.tensor_scatter_nd_min([1, 9], [[0], [1], [1]], [7, 8, 5]), [1, 5]),
    "partition": (lambda: tf.dynamic_partition([10, 20, 30], [0, 1, 0], 3), [[10, 30], [20], []]),
    "partition by more axes": (
        lambda: tf.dynamic_partition([[1, 2], [3, 4]], [[0, 1], [1, 0]], 2),
        [[1, 4], [2, 3]],
    ),
    "partition a scalar": (lambda: tf.dynamic_partition(5, 0, 2), [[5], []]),
    "stitch": (
        lambda: tf.dynamic_stitch([2, [3, 0], [[1]]], [[5, 6], [[7, 8], [1, 2]], [[[3, 4]]]]),
        [[1, 2], [3, 4], [5, 6], [7, 8]],
    ),
    "stitch, the last wins": (lambda: tf.dynamic_stitch([[0], [0]], [[1.0], [2.0]]), [2.0]),
    "stitch, gaps": (lambda: tf.dynamic_stitch([[0, 2]], [[1.0, 2.0]]), [1.0, 0.0, 2.0]),
    "stitch nothing": (lambda: tf.dynamic_stitch([np.zeros(0, int)], [tf.zeros((0, 2))]), []),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    compute, expected = VALUES[name]
    assert plain(compute()) == expected


X, U = [1.0, 2.0, 3.0], [2.0, 5.0]
GRADIENTS = {
    "gather_nd": (lambda x, u: tf.gather_nd(x, [[1], [1]]), [0.0, 3.0, 0.0], None),
    "gather_nd, ignored": (
        lambda x, u: tf.gather_nd(x, [[9], [1]], bad_indices_policy="IGNORE"),
        [0.0, 2.0, 0.0],
        None,
    ),
    "scatter_nd": (lambda x, u: tf.scatter_nd([[2], [2]], u, [3]), None, [3.0, 3.0]),
    "update": (lambda x, u: tf.tensor_scatter_nd_update(x, [[1], [2]], u), [1.0, 0.0, 0.0], [2.0, 3.0]),
    # What was overwritten has no gradient.
    "update twice": (lambda x, u: tf.tensor_scatter_nd_update(x, [[1], [1]], u), [1.0, 0.0, 3.0], [0.0, 2.0]),
    "add": (lambda x, u: tf.tensor_scatter_nd_add(x, [[1], [1]], u), [1.0, 2.0, 3.0], [2.0, 2.0]),
    "sub": (lambda x, u: tf.tensor_scatter_nd_sub(x, [[1], [1]], u), [1.0, 2.0, 3.0], [-2.0, -2.0]),
    # At 2.0 the tensor and an update are equal, and share.
    "max": (lambda x, u: tf.tensor_scatter_nd_max(x, [[1], [2]], u), [1.0, 1.0, 0.0], [1.0, 3.0]),
    "max twice": (lambda x, u: tf.tensor_scatter_nd_max(x, [[1], [1]], u), [1.0, 0.0, 3.0], [0.0, 2.0]),
    "min": (lambda x, u: tf.tensor_scatter_nd_min(x, [[2], [0]], u), [1.0, 2.0, 0.0], [3.0, 0.0]),
    "partition": (lambda x, u: tf.concat(tf.dynamic_partition(x, [1, 0, 1], 2), 0), [2.0, 1.0, 3.0], None),
    "stitch": (lambda x, u: tf.dynamic_stitch([[0, 1, 3], [1, 2]], [x, u]), [1.0, 0.0, 4.0], [2.0, 3.0]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    compute, by_x, by_u = GRADIENTS[name]
    x, u = tf.constant(X), tf.constant(U)
    with tf.GradientTape() as tape:
        tape.watch([x, u])
        y = compute(x, u)
        total = tf.reduce_sum(y * tf.range(1.0, y.shape[0] + 1.0))
    got = [None if g is None else plain(tf.convert_to_tensor(g)) for g in tape.gradient(total, [x, u])]
    assert got == [by_x, by_u]


def test_a_gathered_variable_has_a_sparse_gradient():
    v = tf.Variable(CUBE)
    with tf.GradientTape() as tape:
        y = tf.gather_nd(v, [[0], [0]])
    assert isinstance(tape.gradient(y, v), tf.IndexedSlices)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64", "int8"])
def test_dtypes_stay(dtype):
    x = tf.cast([1, 2], dtype)
    for update in (tf.tensor_scatter_nd_update, tf.tensor_scatter_nd_add):
        assert update(x, [[0]], x[1:]).dtype.name == dtype


Invalid = errors.InvalidArgumentError
BAD = {
    "gather, bounds": (
        lambda: tf.gather_nd(PAIRS, [[0], [5]]),
        IndexError,
        "the index [5] is out of bounds of [2]",
    ),
    "gather, negative": (lambda: tf.gather_nd(PAIRS, [[-1]]), Invalid, "the index [-1] is out of bounds"),
    "gather, depth": (lambda: tf.gather_nd(PAIRS, [0, 0, 0]), Invalid, "name more axes"),
    "gather, scalar": (lambda: tf.gather_nd(PAIRS, 1), Invalid, "indices of shape []"),
    "gather, floats": (lambda: tf.gather_nd(PAIRS, [[0.0]]), Invalid, "must be integers, not float32"),
    "gather, batch": (lambda: tf.gather_nd(PAIRS, [[0]], batch_dims=1), Invalid, "batch_dims=1 does not fit"),
    "gather, policy": (
        lambda: tf.gather_nd(PAIRS, [[0]], bad_indices_policy="X"),
        Invalid,
        "must be DEFAULT, ERROR or IGNORE",
    ),
    "scatter, bounds": (
        lambda: tf.scatter_nd([[3]], [1.0], [3]),
        Invalid,
        "the index [3] is out of bounds of [3]",
    ),
    "scatter, shapes": (
        lambda: tf.scatter_nd([[0], [1]], [1.0, 2.0, 3.0], [3]),
        Invalid,
        "updates of shape [3] do not go at indices of shape [2, 1] into shape [3], but of shape [2]",
    ),
    "scatter, negative": (lambda: tf.scatter_nd([[0]], [1.0], [-3]), Invalid, "no negative lengths"),
    "scatter, floats": (lambda: tf.scatter_nd([[0.0]], [1.0], [3]), Invalid, "must be integers"),
    "scatter, strings": (lambda: tf.scatter_nd([[0]], ["a"], [3]), TypeError, "cannot be added"),
    "update, dtype": (
        lambda: tf.tensor_scatter_nd_update(PAIRS, [[0]], tf.constant([[1, 2]])),
        Invalid,
        "the tensor is float32 and the updates are int32",
    ),
    "max, order": (lambda: tf.tensor_scatter_nd_max([1j], [[0]], [2j]), TypeError, "complex128 has no order"),
    "partition, range": (lambda: tf.dynamic_partition([5], [2], 2), Invalid, "lie in [0, 2)"),
    "partition, shape": (lambda: tf.dynamic_partition([5, 6], [0], 2), Invalid, "must start with"),
    "partition, floats": (lambda: tf.dynamic_partition([5], [0.0], 2), TypeError, "must be integers"),
    "stitch, negative": (lambda: tf.dynamic_stitch([[-1]], [[1.0]]), Invalid, "index -1 is negative"),
    "stitch, shape": (lambda: tf.dynamic_stitch([[0, 1]], [[1.0]]), Invalid, "data[0] must have shape [2]"),
    "stitch, counts": (lambda: tf.dynamic_stitch([[0]], []), Invalid, "as many indices as data"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    compute, error, message = BAD[name]
    with pytest.raises(error, match=re.escape(message)):
        compute()
