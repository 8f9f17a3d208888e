"""`x[...]` on tensors and variables: the values NumPy gives, and gradients that find their way back."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gradtape as tf

ARRAY = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
new = tf.newaxis

PLAIN = [
    0, -1, (1, 2), (0, -1, 2), (1, 2, 3),
    slice(0, 1), slice(None, None, 2), slice(None), slice(5, None), slice(1, 0), slice(-1, None), slice(0, 100),
    slice(-100, 1), (slice(None), slice(1, 3)), (slice(None), slice(None, None, -1)), (slice(None), slice(3, 1, -1)),
    (slice(None), slice(None, None, -2)), (slice(None), slice(0, 0)), (1, slice(None, -1, 2), slice(2, 0, -1)),
    ..., (..., 0), (0, ...), (..., slice(1, 2)), (0, ..., 1), (0, ..., slice(None), 1), (1, 2, 3, ...),
    new, (0, new), (slice(None), new), (..., new), (new, ..., 0), (0, slice(None), new, 1), (new, new, 0, new),
    (),
]  # fmt: skip


@pytest.fixture(params=[tf.constant, tf.Variable])
def x(request):
    return request.param(ARRAY)


def check(x, key, numpy_key):
    """The value is NumPy's, and each element taken sends its weight back to where it came from."""
    expected = ARRAY[numpy_key]
    weights = np.arange(1, expected.size + 1, dtype=np.float32).reshape(expected.shape)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x[key]
    assert_array_equal(y, expected, strict=True)
    by_hand = np.zeros_like(ARRAY)
    np.add.at(by_hand, numpy_key, weights)
    assert_array_equal(tf.convert_to_tensor(tape.gradient(y, x, output_gradients=weights)), by_hand)
    jacobian = np.zeros(expected.shape + ARRAY.shape, np.float32)
    positions = np.arange(ARRAY.size).reshape(ARRAY.shape)[numpy_key]
    np.put_along_axis(jacobian.reshape(*expected.shape, ARRAY.size), positions[..., None], 1, -1)
    assert_array_equal(tape.jacobian(y, x), jacobian)


@pytest.mark.parametrize("key", PLAIN, ids=str)
def test_integers_slices_ellipsis_and_newaxis(x, key):
    check(x, key, key)


@pytest.mark.parametrize(
    "number", [tf.constant, tf.Variable, np.int64, np.array, lambda n: tf.constant(n, "int64")]
)
def test_numbers_may_be_tensors(x, number):
    check(x, number(1), 1)
    check(x, (number(-1), ..., number(2)), (-1, ..., 2))
    check(x, (slice(None), slice(number(1), number(3))), (slice(None), slice(1, 3)))
    check(x, (..., slice(None, None, number(-2))), (..., slice(None, None, -2)))


@pytest.mark.parametrize("wrap", [tf.constant, np.array, tf.Variable])
@pytest.mark.parametrize(
    "key",
    [
        (np.array([1, 0, 1]),),
        (np.array([-1]),),
        (np.array([[0, 1], [1, 1]]),),
        (np.zeros((0,), int),),
        (slice(None), np.array([2, 0])),
        (0, np.array([2, 0, 2])),
        (..., np.array([3, -1])),
        (slice(None), np.array([2, 0]), slice(1, 3)),
        (slice(None), np.array([[2], [0]]), ..., new),
    ],
    ids=str,
)
def test_a_tensor_of_indices_gathers_along_its_axis(x, wrap, key):
    check(x, tuple(wrap(k) if isinstance(k, np.ndarray) else k for k in key), key)


@pytest.mark.parametrize("wrap", [tf.constant, np.array, np.ndarray.tolist])
@pytest.mark.parametrize(
    "key",
    [
        (np.array([True, False]),),
        (np.array([False, False]),),
        (ARRAY > 5,),
        (np.array([[True, False, True], [False, True, True]]),),
        (slice(None), np.array([True, False, True])),
        (..., np.array([True, False, True, False])),
        (slice(None), np.array([True, False, True]), 1),
    ],
    ids=lambda key: str(getattr(key[0], "shape", key)),
)
def test_a_boolean_mask_chooses(x, wrap, key):
    given = tuple(wrap(k) if isinstance(k, np.ndarray) else k for k in key)
    check(x, given if len(given) > 1 else given[0], key)


def test_a_comparison_is_a_mask(x):
    assert_array_equal(x[x > 20.0], [21.0, 22.0, 23.0])


def test_a_list_of_numbers_counts_as_a_tuple_as_in_tensorflow(x):
    check(x, [0, 1], (0, 1))
    check(x, [0, slice(1, 3)], (0, slice(1, 3)))


def test_a_tensor_of_strings_is_indexed_too():
    x = tf.constant(["a", "b", "c"])
    assert x[1].numpy() == b"b"
    assert x[::-1].numpy().tolist() == [b"c", b"b", b"a"]


def test_a_scalar_takes_what_needs_no_axis():
    s = tf.constant(2.0)
    assert_array_equal(s[...], 2.0)
    assert_array_equal(s[()], 2.0)
    assert_array_equal(s[new, new], [[2.0]])


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (2, IndexError, "out of bounds"),
        (-3, IndexError, "out of bounds"),
        ((0, 3), IndexError, "out of bounds"),
        ((0, 0, 0, 0), IndexError, "too many indices: 4 for a tensor of rank 3"),
        (tf.constant([0, 2]), IndexError, "out of bounds for an axis of length 2"),
        (tf.constant([-3]), IndexError, "out of bounds for an axis of length 2"),
        ((..., ...), ValueError, "only one '...'"),
        (slice(None, None, 0), ValueError, "step must not be 0"),
        (1.0, TypeError, r"not 1\.0"),
        ("a", TypeError, "not 'a'"),
        (tf.constant(1.0), TypeError, "must be an integer"),
        (slice(1, 2.0), TypeError, r"must be an integer, not 2\.0 of type float"),
        (tf.constant([0.5]), TypeError, "must hold integers or booleans"),
        ({}, TypeError, "not {} of type dict"),
        (True, ValueError, "a mask must have at least one axis: True has none"),
        (tf.constant(True), ValueError, "at least one axis"),
        ([True, False, True], ValueError, r"shape \[3\] does not fit the lengths \[2\]"),
        (
            (tf.constant([0]), tf.constant([1])),
            ValueError,
            "only one mask or tensor of indices: use gather_nd",
        ),
    ],
    ids=str,
)
def test_a_wrong_index_says_what_is_wrong(x, key, error, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message) as raised:
        x[key]
    assert isinstance(raised.value, error)


def test_an_element_taken_twice_gets_both_gradients():
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = x[0] * x[1] + x[0:2][0] * 10.0 + tf.reduce_sum(x[tf.constant([0, 0])])
    assert_array_equal(tf.convert_to_tensor(tape.gradient(y, x)), [2 + 10 + 2, 1, 0])


def test_indexing_has_higher_derivatives():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x[0] ** 3 * x[1]
        first = inner.gradient(y, x)
    assert_array_equal(first, [6.0, 1.0])
    assert_array_equal(outer.jacobian(first, x), [[12.0, 3.0], [3.0, 0.0]])


@pytest.mark.parametrize(
    ("shape", "indices", "expected"),
    [
        ((3, 2), [[0, 1], [2, 0]], [1, 4]),
        ((3, 2), [[0], [1]], [[0, 1], [2, 3]]),
        ((3, 2), [2, 1], 5),
        ((3, 2), [[[0, 0]], [[1, 1]]], [[0], [3]]),
        ((2, 3, 2), [[0, 2], [1, 0]], [[4, 5], [6, 7]]),
        ((3, 2), np.zeros((0, 2), np.int32), np.zeros(0)),
    ],
)
def test_gather_nd_takes_elements_or_slices_at_coordinates(shape, indices, expected):
    x = tf.Variable(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))
    with tf.GradientTape() as tape:
        y = tf.gather_nd(x, indices)
    assert_array_equal(y, np.float32(expected), strict=True)
    assert_array_equal(x.gather_nd(indices), np.float32(expected))
    by_hand = np.zeros(shape, np.float32)
    np.add.at(by_hand, tuple(np.moveaxis(np.asarray(indices), -1, 0)), 1)
    assert_array_equal(tape.gradient(y, x), by_hand)


def test_gather_nd_in_batches():
    x = tf.constant([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    assert_array_equal(tf.gather_nd(x, [[1], [0]], batch_dims=1), [[3, 4], [5, 6]])
    assert_array_equal(tf.gather_nd(x, [[1, 0], [0, 1]], batch_dims=1), [3, 6])


@pytest.mark.parametrize(
    ("indices", "batch_dims", "error", "message"),
    [
        ([[0, 5]], 0, IndexError, r"index \[0, 5\] is out of bounds of \[3, 2\]"),
        ([[-1, 0]], 0, IndexError, "out of bounds"),
        ([[0, 1, 0]], 0, ValueError, r"shape \[1, 3\] name more axes than params of shape \[3, 2\]"),
        ([[0.5]], 0, TypeError, "indices must be integers, not float32"),
        ([[0]], 1, ValueError, "batch_dims=1 does not fit"),
    ],
)
def test_gather_nd_refuses(indices, batch_dims, error, message):
    with pytest.raises(error, match=message) as raised:
        tf.gather_nd(tf.zeros((3, 2)), indices, batch_dims)
    assert isinstance(raised.value, tf.errors.InvalidArgumentError)
