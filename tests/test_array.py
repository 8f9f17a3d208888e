"""Shapes, slices, and elements in another order: the values, what is refused, gradients where elements come from."""

import itertools
import math
import re

import numpy as np
import pytest

import gradtape as tf
from gradtape.core import errors

CUBE = np.arange(24.0).reshape(2, 3, 4).astype(np.float32)
IMAGES = np.arange(2 * 4 * 6 * 3.0).reshape(2, 4, 6, 3).astype(np.float32)


def plain(result):
    return [plain(r) for r in result] if isinstance(result, (list, tuple)) else np.asarray(result).tolist()


# ---------------------------------------------------------------------------------------------------------------------
# Values

VALUES = {
    "shape": (lambda: tf.shape(CUBE), [2, 3, 4]),
    "shape of a scalar": (lambda: tf.shape(1.0), []),
    "shape of sparse gradients": (lambda: tf.shape(tf.IndexedSlices(tf.ones((1, 2)), [0], [5, 2])), [5, 2]),
    "shape_n": (lambda: tf.shape_n([[1, 2], 3]), [[2], []]),
    "size": (lambda: tf.size(CUBE), 24),
    "rank": (lambda: tf.rank(CUBE), 3),
    "ensure_shape": (lambda: tf.ensure_shape([1, 2], (None,)), [1, 2]),
    "identity_n": (lambda: tf.identity_n([1, [2]]), [1, [2]]),
    "broadcast_dynamic_shape": (lambda: tf.broadcast_dynamic_shape([2, 1], [3]), [2, 3]),
    "slice": (lambda: tf.slice(CUBE, [0, 1, 1], [1, 1, -1]), CUBE[:1, 1:2, 1:].tolist()),
    "strided_slice": (
        lambda: tf.strided_slice(CUBE, [0, 0, 3], [2, 3, 0], [1, 2, -1]),
        CUBE[:, ::2, 3:0:-1].tolist(),
    ),
    "strided_slice, masks": (
        lambda: tf.strided_slice(
            CUBE, [0, 9, 0, 1], [0, 2, 0, 2], ellipsis_mask=1, begin_mask=2, new_axis_mask=4
        ),
        CUBE[..., :2, None, 1:2].tolist(),
    ),
    "strided_slice, one element": (
        lambda: tf.strided_slice(CUBE, [-1], [0], shrink_axis_mask=1),
        CUBE[-1].tolist(),
    ),
    "boolean_mask": (lambda: tf.boolean_mask(CUBE, [True, False, True], axis=1), CUBE[:, [0, 2]].tolist()),
    "boolean_mask of two axes": (
        lambda: tf.boolean_mask(CUBE, [[True, False, True], [False, False, True]]),
        CUBE[[0, 0, 1], [0, 2, 2]].tolist(),
    ),
    "roll": (lambda: tf.roll(CUBE, [1, -2], [0, 2]), np.roll(CUBE, (1, -2), (0, 2)).tolist()),
    "reverse": (lambda: tf.reverse(CUBE, [0, -1]), CUBE[::-1, :, ::-1].tolist()),
    "reverse nothing": (lambda: tf.reverse([1, 2], []), [1, 2]),
    "reverse strings": (lambda: tf.reverse(["a", "b"], [0]), [b"b", b"a"]),
    "reverse_sequence": (
        lambda: tf.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1),
        [[2, 1, 3], [6, 5, 4]],
    ),
    "reverse_sequence, batch behind": (
        lambda: tf.reverse_sequence([[1, 2], [3, 4], [5, 6]], [2, 3], seq_axis=0, batch_axis=1),
        [[3, 6], [1, 4], [5, 2]],
    ),
    "repeat": (lambda: tf.repeat([[1, 2], [3, 4]], 2), [1, 1, 2, 2, 3, 3, 4, 4]),
    "repeat along an axis": (lambda: tf.repeat([[1, 2], [3, 4]], [0, 2], axis=-1), [[2, 2], [4, 4]]),
    "repeat a scalar": (lambda: tf.repeat(3, 2), [3, 3]),
    "meshgrid": (lambda: tf.meshgrid([1, 2, 3], [4, 5]), [[[1, 2, 3], [1, 2, 3]], [[4, 4, 4], [5, 5, 5]]]),
    "meshgrid, ij": (
        lambda: tf.meshgrid([1, 2, 3], [4, 5], indexing="ij"),
        [[[1, 1], [2, 2], [3, 3]], [[4, 5], [4, 5], [4, 5]]],
    ),
    "meshgrid of nothing": (lambda: tf.meshgrid(), []),
    "sequence_mask": (lambda: tf.sequence_mask([1, 3, 0]), [[True, False, False], [True] * 3, [False] * 3]),
    "sequence_mask, dtype": (
        lambda: tf.sequence_mask([[1], [2]], 2, tf.float32),
        [[[1.0, 0.0]], [[1.0, 1.0]]],
    ),
    "unravel_index": (lambda: tf.unravel_index([2, 5], [2, 3]), [[0, 1], [2, 2]]),
    "bitcast": (lambda: tf.bitcast([1.0, -2.0], tf.int32), [1065353216, -1073741824]),
    "bitcast to smaller": (lambda: tf.bitcast(tf.constant([258], tf.int32), tf.uint8), [[2, 1, 0, 0]]),
    "bitcast to larger": (lambda: tf.bitcast(tf.constant([[1, 2]], tf.int32), tf.int64), [(2 << 32) + 1]),
    "space_to_batch": (
        lambda: tf.space_to_batch(CUBE[..., None], [3, 2], [[0, 0], [1, 1]])[..., 0],
        [
            np.pad(CUBE, [(0, 0), (0, 0), (1, 1)])[b, i::3, j::2].tolist()
            for i in range(3)
            for j in range(2)
            for b in range(2)
        ],
    ),
    "required paddings": (
        lambda: tf.required_space_to_batch_paddings([5, 4], [2, 3], [[1, 0], [0, 1]]),
        [[[1, 0], [0, 2]], [[0, 0], [0, 1]]],
    ),
    "space_to_depth": (
        lambda: tf.nn.space_to_depth(IMAGES, 2)[0, 1, 2],
        IMAGES[0, 2:4, 4:6].reshape(-1).tolist(),
    ),
    "guarantee_const": (lambda: tf.guarantee_const(1.5), 1.5),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    compute, expected = VALUES[name]
    assert plain(compute()) == expected


def test_blocks_of_space_come_back():
    to, back = tf.nn.space_to_depth(IMAGES, 2), tf.nn.depth_to_space
    assert np.array_equal(back(to, 2), IMAGES)
    channels_first = tf.nn.space_to_depth(IMAGES.transpose(0, 3, 1, 2), 2, data_format="NCHW")
    assert np.array_equal(channels_first, to.numpy().transpose(0, 3, 1, 2))
    assert np.array_equal(back(channels_first, 2, "NCHW"), IMAGES.transpose(0, 3, 1, 2))
    batched = tf.space_to_batch_nd(IMAGES, [2, 2], [[1, 1], [0, 2]])
    assert np.array_equal(tf.batch_to_space(batched, [2, 2], [[1, 1], [0, 2]]), IMAGES)


@pytest.mark.parametrize(
    ("result", "dtype"),
    [
        (lambda: tf.shape([1]), "int32"),
        (lambda: tf.shape([1], out_type=tf.int64), "int64"),
        (lambda: tf.size([1], tf.int64), "int64"),
        (lambda: tf.rank(1), "int32"),
        (lambda: tf.sequence_mask([1]), "bool"),
        (lambda: tf.unravel_index(np.int64([1]), [2]), "int64"),
        (lambda: tf.roll(tf.constant([1.0, 2.0], tf.bfloat16), 1, 0), "bfloat16"),
        (lambda: tf.repeat(tf.constant([1.0, 2.0], tf.float16), 2), "float16"),
        (lambda: tf.bitcast(tf.constant([16256], tf.uint16), tf.bfloat16), "bfloat16"),
        (lambda: tf.meshgrid(tf.constant([1], tf.int8), tf.constant([1], tf.int8))[0], "int8"),
    ],
)
def test_dtypes(result, dtype):
    assert result().dtype.name == dtype


def test_zero_sized_tensors():
    empty = tf.zeros((0, 3))
    assert tf.roll(empty, 1, 1).shape == tf.reverse(empty, [0]).shape == (0, 3)
    assert tf.repeat(empty, 2, axis=0).shape == (0, 3)
    assert tf.boolean_mask(empty, np.zeros(0, bool)).shape == (0, 3)
    assert tf.reverse_sequence(empty, np.zeros(0, int), 1).shape == (0, 3)
    assert tf.sequence_mask([], 3).shape == (0, 3)
    assert tf.nn.space_to_depth(tf.zeros((0, 2, 2, 1)), 2).shape == (0, 1, 1, 4)
    assert [t.shape for t in tf.meshgrid([1.0], tf.zeros(0))] == [(0, 1), (0, 1)]


def test_static_shapes_broadcast_with_unknown_lengths():
    shapes = tf.broadcast_static_shape
    assert shapes([2, 1, None], [3, 1]) == tf.TensorShape([2, 3, None])
    assert shapes([None], [4]) == tf.TensorShape([4])
    assert shapes(None, [4]).rank is None
    with pytest.raises(ValueError, match="2 meets 3"):
        shapes([2], [3])


def test_static_values():
    assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2]
    assert tf.get_static_value(tf.Variable(1.0)) is None
    assert tf.get_static_value(3) == 3


# ---------------------------------------------------------------------------------------------------------------------
# Gradients: a weight for every element of the result, added up at the element it came from


@pytest.mark.parametrize(
    "move",
    [
        lambda x: tf.slice(x, [1, 0, 1], [1, 2, 2]),
        lambda x: tf.strided_slice(x, [0, 2, 0], [2, 0, 4], [1, -1, 3]),
        lambda x: tf.boolean_mask(x, [True, False, True], axis=1),
        lambda x: tf.repeat(x, [2, 0, 1], axis=1),
        lambda x: tf.repeat(x, 3, axis=-1),
        lambda x: tf.space_to_batch(x, [3], [[1, 2]]),
        lambda x: tf.batch_to_space(x, [2, 1], [[1, 0], [0, 2]]),
        lambda x: tf.meshgrid(tf.reshape(x, (-1,)), [1.0, 2.0])[0],
        lambda x: tf.ensure_shape(x, (None, 3, 4)),
        lambda x: tf.identity_n([x])[0],
    ],
)
def test_gradients_go_where_elements_came_from(move):
    x = tf.Variable(CUBE.astype(np.float64))
    with tf.GradientTape() as tape:
        y = move(x)
        weights = np.random.default_rng(0).normal(size=y.shape)
        total = tf.reduce_sum(y * weights)
    numbered = np.asarray(move(tf.constant(CUBE + 1))).astype(int)  # each element's own number; 0 for padding
    expected = np.zeros(25)
    np.add.at(expected, numbered.reshape(-1), weights.reshape(-1))
    got = tf.convert_to_tensor(tape.gradient(total, x))
    np.testing.assert_allclose(np.asarray(got).reshape(-1), expected[1:], atol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Bad input

Invalid = errors.InvalidArgumentError
BAD = {
    "shape, dtype": (lambda: tf.shape([1], tf.float32), Invalid, "out_type must be int32 or int64"),
    "ensure_shape": (
        lambda: tf.ensure_shape([1], (2,)),
        Invalid,
        "a tensor of shape (1,) is not of shape (2,)",
    ),
    "broadcast_dynamic_shape": (lambda: tf.broadcast_dynamic_shape([2], [3]), Invalid, "do not broadcast"),
    "broadcast_dynamic_shape of floats": (
        lambda: tf.broadcast_dynamic_shape([2], [3.0]),
        TypeError,
        "are integers",
    ),
    "slice, rank": (lambda: tf.slice(CUBE, [0], [1]), Invalid, "a number for each axis of shape [2, 3, 4]"),
    "slice, bounds": (
        lambda: tf.slice(CUBE, [0, 0, 3], [1, 1, 2]),
        Invalid,
        "3 to 5 is outside axis 2, of length 4",
    ),
    "strided_slice, lengths": (lambda: tf.strided_slice(CUBE, [0, 1], [1]), Invalid, "differ in length"),
    "strided_slice, stride 0": (lambda: tf.strided_slice(CUBE, [0], [1], [0]), Invalid, "step must not be 0"),
    "strided_slice, bounds": (
        lambda: tf.strided_slice(CUBE, [5], [6], shrink_axis_mask=1),
        IndexError,
        "out of bounds",
    ),
    "mask, scalar": (lambda: tf.boolean_mask(CUBE, True), ValueError, "must not be a scalar"),
    "mask, shape": (lambda: tf.boolean_mask(CUBE, [True] * 3), ValueError, "a mask of shape [3]"),
    "mask, rank": (lambda: tf.boolean_mask([1], [[True]]), ValueError, "more axes"),
    "stack, kinds": (lambda: tf.stack([True, 1]), Invalid, "booleans and numbers do not mix"),
    "concat, kinds": (lambda: tf.concat([[1.0], [True]], 0), Invalid, "booleans and numbers do not mix"),
    "stack, dtypes": (lambda: tf.stack([tf.constant(1), 2.5]), Invalid, "int32 and float32"),
    "roll, counts": (lambda: tf.roll(CUBE, [1], [0, 1]), Invalid, "one shift for each axis"),
    "roll, axis": (lambda: tf.roll(CUBE, 1, 3), Invalid, "axis 3 is out of range"),
    "roll, scalar": (lambda: tf.roll(1.0, 1, 0), Invalid, "a scalar has no axis"),
    "roll, fraction": (lambda: tf.roll(CUBE, 0.5, 0), Invalid, "integers"),
    "reverse, twice": (lambda: tf.reverse(CUBE, [0, -3]), Invalid, "named twice"),
    "sequence, no axis": (lambda: tf.reverse_sequence(CUBE, [1, 2]), TypeError, "seq_axis must be given"),
    "sequence, same axis": (lambda: tf.reverse_sequence(CUBE, [1, 2], 0, 0), Invalid, "must differ"),
    "sequence, count": (lambda: tf.reverse_sequence(CUBE, [1], 1), Invalid, "there must be 2 lengths"),
    "sequence, length": (lambda: tf.reverse_sequence(CUBE, [1, 4], 1), Invalid, "outside [0, 3]"),
    "sequence, floats": (lambda: tf.reverse_sequence(CUBE, [1.0, 2.0], 1), Invalid, "must be integers"),
    "repeat, count": (lambda: tf.repeat([1, 2, 3], [1, 2]), ValueError, "2 repeats were given for 3 slices"),
    "repeat, rank": (lambda: tf.repeat([1, 2], [[1, 2]]), ValueError, "one number of at least 0"),
    "repeat, floats": (lambda: tf.repeat([1, 2], 1.5), TypeError, "must be integers"),
    "meshgrid, indexing": (lambda: tf.meshgrid([1], indexing="ab"), ValueError, "must be 'xy' or 'ij'"),
    "meshgrid, argument": (lambda: tf.meshgrid([1], index="ij"), TypeError, "no argument 'index'"),
    "sequence_mask, maxlen": (lambda: tf.sequence_mask([1], [3]), ValueError, "must be a scalar"),
    "unravel_index": (lambda: tf.unravel_index([6], [2, 3]), Invalid, "out of bounds of dims [2, 3]"),
    "bitcast, shape": (lambda: tf.bitcast([1, 2, 3], tf.int64), Invalid, "last axis must have length 2"),
    "bitcast, bool": (lambda: tf.bitcast([1.0], tf.bool), Invalid, "no bitcast from float32 to bool"),
    "block, multiple": (
        lambda: tf.space_to_batch(CUBE, [2], [[0, 0]]),
        Invalid,
        "no multiples of the block [2]",
    ),
    "block, size": (lambda: tf.space_to_batch(CUBE, [0], [[0, 0]]), Invalid, "at least 1 everywhere"),
    "block, paddings": (lambda: tf.space_to_batch(CUBE, [3], [[0, -1]]), Invalid, "at least 0"),
    "batch, divide": (lambda: tf.batch_to_space(CUBE, [3, 1], [[0, 0]] * 2), Invalid, "does not divide"),
    "batch, crops": (lambda: tf.batch_to_space(CUBE, [2], [[4, 4]]), Invalid, "leave nothing of [6]"),
    "required paddings": (lambda: tf.required_space_to_batch_paddings([5], [2, 3]), ValueError, "do not fit"),
    "depth, rank": (lambda: tf.nn.space_to_depth(CUBE, 2), Invalid, "of rank 4"),
    "depth, block": (
        lambda: tf.nn.space_to_depth(IMAGES, 3),
        Invalid,
        "does not divide into blocks of 3 x 3",
    ),
    "depth, channels": (lambda: tf.nn.depth_to_space(IMAGES, 2), Invalid, "3 channels do not divide"),
    "depth, format": (lambda: tf.nn.space_to_depth(IMAGES, 2, "HWC"), Invalid, "must be 'NHWC' or 'NCHW'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    compute, error, message = BAD[name]
    with pytest.raises(error, match=re.escape(message)):
        compute()


# ---------------------------------------------------------------------------------------------------------------------
# Padding


@pytest.mark.parametrize("mode", ["CONSTANT", "REFLECT", "SYMMETRIC"])
def test_padding_is_numpys(mode):
    for length in range(1, 5):
        most = length - 1 if mode == "REFLECT" else length
        for before, after in itertools.product(range(most + 1), repeat=2):
            x = np.arange(2 * length).reshape(2, length)
            widths = [(1, 0), (before, after)]
            for given in (
                widths,
                [list(pair) for pair in widths],
                np.array(widths),
                tf.constant(widths, "int64"),
            ):
                padded = tf.pad(x, given, mode.lower())
                np.testing.assert_array_equal(padded, np.pad(x, widths, mode.lower()))


@pytest.mark.parametrize(
    ("x", "paddings"),
    [
        (1.0, []),
        ([1.0], []),
        ([1.0], [1, 1]),
        ([1.0], [[1, 1], [0, 0]]),
        ([1.0], [[1, 1, 1]]),
        ([1.0], [[-1, 1]]),
        ([1.0], [[1.0, 1.0]]),
        ([1.0], [[True, False]]),
    ],
)
def test_paddings_that_do_not_fit_are_refused(x, paddings):
    with pytest.raises(errors.InvalidArgumentError, match="paddings must be"):
        tf.pad(x, paddings)


# ---------------------------------------------------------------------------------------------------------------------
# Repeating and rolling


@pytest.mark.parametrize("multiples", list(itertools.product((0, 1, 3), repeat=2)))
def test_tiling_is_numpys(multiples):
    for shape in ((2, 3), (1, 4), (0, 2)):
        x = np.arange(math.prod(shape)).reshape(shape)
        np.testing.assert_array_equal(tf.tile(x, multiples), np.tile(x, multiples))


def test_rolling_is_numpys():
    for shape, shift, axis in itertools.product(((2, 3), (1, 4), (0, 2)), (0, 1, -1, 5, -7), (0, 1, -1)):
        x = np.arange(math.prod(shape)).reshape(shape)
        np.testing.assert_array_equal(tf.roll(x, shift, axis), np.roll(x, shift, axis))
    np.testing.assert_array_equal(tf.roll(x, [1, -2], [0, 1]), np.roll(x, (1, -2), (0, 1)))


# ---------------------------------------------------------------------------------------------------------------------
# Large tensors in another order, in another shape


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int8", "bool", "bfloat16"])
@pytest.mark.parametrize("width", [1, 2, 16, 100])
def test_a_large_transposed_tensor_in_another_shape(dtype, width):
    x = tf.cast(tf.random.uniform((4, 8, 512, width), 0, 3, "int32", seed=1), dtype)
    for order in itertools.permutations(range(4)):
        y = tf.transpose(x, order)
        for tensor in (y, y[::-1], y[:, ::2], y[..., ::-1]):
            expected = np.asarray(tensor).reshape(tensor.shape[0], -1)
            found = tf.reshape(tensor, (tensor.shape[0], -1))
            assert found.dtype == dtype
            np.testing.assert_array_equal(np.asarray(found), expected)


def test_a_shape_that_needs_no_copy_gets_none():
    x = tf.transpose(tf.zeros((4, 8, 512, 2)), (0, 2, 1, 3))
    assert np.shares_memory(tf.reshape(x, (2, 2, 512, 8, 2)), x)
    assert not np.shares_memory(tf.reshape(x, (4, 512, 16)), x)


def test_a_list_of_lengths_may_hold_floating_tensors_of_whole_numbers():
    x, three = tf.range(9.0), tf.constant(3.0)
    assert tf.reshape(x, (three, 3)).shape == tf.reshape(x, [three, three]).shape == (3, 3)
    assert tf.function(lambda x: tf.reshape(x, (three, 3)))(x).shape == (3, 3)
    for shape in (three + 0.5, 2), (3.0, 3), tf.constant([3.0, 3.0]):
        with pytest.raises(TypeError, match="made of integers"):
            tf.reshape(x, shape)
