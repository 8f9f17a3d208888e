"""Tensors made from nothing, and random ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf


def same(tensor, expected, dtype):
    assert tensor.dtype == dtype
    assert_array_equal(tensor, np.asarray(expected, tensor.dtype.as_numpy_dtype), strict=True)


@pytest.mark.parametrize(
    "shape", [(), [2, 3], (2, 3), 3, (0, 3), np.array([2, 2]), tf.TensorShape([2])], ids=str
)
def test_a_shape_may_be_given_in_many_ways(shape):
    expected = np.zeros(tuple(shape) if np.ndim(shape) else shape)
    same(tf.zeros(shape), expected, "float32")
    same(tf.ones(shape), expected + 1, "float32")
    if np.ndim(shape):
        same(tf.fill(shape, 7), expected + 7, "int32")
    assert tf.random.normal(shape).shape == expected.shape


def test_a_shape_may_be_made_of_tensors():
    same(tf.zeros(tf.constant([2, 1])), [[0], [0]], "float32")
    same(tf.ones([tf.constant(2), 1]), [[1], [1]], "float32")
    assert tf.random.uniform([tf.Variable(2), 3]).shape == (2, 3)


@pytest.mark.parametrize(
    "make", [tf.zeros, tf.ones, tf.random.normal, tf.random.uniform, tf.random.truncated_normal]
)
def test_a_bad_shape_is_refused(make):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"length.*\[2, -1\]"):
        make([2, -1])
    with pytest.raises(TypeError, match=r"made of integers, not \[2\.0\]"):
        make([2.0])


@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16", "int8", "uint64", "bool", "complex64"])
def test_zeros_and_ones_of_any_dtype(dtype):
    same(tf.zeros((2,), dtype), [0, 0], dtype)
    same(tf.ones((2,), dtype), [1, 1], dtype)
    same(tf.zeros_like([1.0, 2.0], dtype=dtype), [0, 0], dtype)
    same(tf.ones_like(tf.zeros((2,), dtype)), [1, 1], dtype)


def test_strings_have_a_zero_but_no_one():
    assert tf.zeros((2,), tf.string).numpy().tolist() == [b"", b""]
    with pytest.raises(TypeError, match="1 is no string"):
        tf.ones((2,), tf.string)


@pytest.mark.parametrize(
    ("like", "dtype"),
    [
        ([1, 2], "int32"),
        ([1.0, 2.0], "float32"),
        (np.array([1.0, 2.0]), "float64"),
        (tf.Variable([1.0, 2.0]), "float32"),
    ],
)
def test_zeros_like_takes_shape_and_dtype(like, dtype):
    same(tf.zeros_like(like), [0, 0], dtype)
    same(tf.ones_like(like), [1, 1], dtype)


def test_fill_spreads_a_value_and_its_gradient():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.fill([2, 3], x)
    same(y, np.full((2, 3), 3), "float32")
    assert float(tape.gradient(y, x)) == 6.0
    assert tf.fill([2], "a").numpy().tolist() == [b"a", b"a"]
    same(tf.fill([], 1.5), 1.5, "float32")
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"the value must be a scalar, not of shape \[2\]"
    ):
        tf.fill([2], [1, 2])


def test_eye():
    same(tf.eye(2), [[1, 0], [0, 1]], "float32")
    same(tf.eye(2, 3, dtype=tf.int32), [[1, 0, 0], [0, 1, 0]], "int32")
    same(tf.eye(2, batch_shape=[3]), [[[1, 0], [0, 1]]] * 3, "float32")
    same(tf.eye(4, 2), [[1, 0], [0, 1], [0, 0], [0, 0]], "float32")
    same(tf.eye(0), np.zeros((0, 0)), "float32")
    same(tf.eye(tf.constant(1), dtype=tf.bool), [[True]], "bool")
    with pytest.raises(TypeError, match="1 is no string"):
        tf.eye(2, dtype=tf.string)


@pytest.mark.parametrize(
    ("arguments", "options", "expected", "dtype"),
    [
        ((5,), {}, [0, 1, 2, 3, 4], "int32"),
        ((2, 5), {}, [2, 3, 4], "int32"),
        ((0, 10, 3), {}, [0, 3, 6, 9], "int32"),
        ((5, 0, -2), {}, [5, 3, 1], "int32"),
        ((0,), {}, [], "int32"),
        ((2.5,), {}, [0, 1, 2], "float32"),
        ((0, 1, 0.25), {}, [0, 0.25, 0.5, 0.75], "float32"),
        ((1, 5.5), {}, [1, 2, 3, 4, 5], "float32"),
        ((3,), {"dtype": tf.float64}, [0, 1, 2], "float64"),
        ((0,), {"limit": 3}, [0, 1, 2], "int32"),
        ((np.int64(2),), {}, [0, 1], "int64"),
        ((tf.constant(1), tf.constant(3, tf.int64)), {}, [1, 2], "int64"),
    ],
)
def test_range(arguments, options, expected, dtype):
    same(tf.range(*arguments, **options), expected, dtype)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5, 0), "delta must not be 0"),
        ((5, 2), "2 is not reached from 5 in steps of 1"),
        ((0, 5, -1), "5 is not reached from 0 in steps of -1"),
        (([1, 2],), "must be scalars"),
    ],
)
def test_range_refuses(arguments, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.range(*arguments)


@pytest.mark.parametrize(
    ("arguments", "options", "expected", "dtype"),
    [
        ((0.0, 1.0, 3), {}, [0, 0.5, 1], "float32"),
        ((0.0, 10.0, 4), {}, [0, 3.3333333, 6.6666665, 10], "float32"),
        ((10.0, 12.0, 3), {}, [10, 11, 12], "float32"),
        ((5.0, 1.0, 1), {}, [5], "float32"),
        ((0.0, 1.0, 0), {}, [], "float32"),
        ((0, 10, 5), {}, [0, 2.5, 5, 7.5, 10], "float64"),
        (([0.0, 1.0], [1.0, 3.0], 3), {}, [[0, 1], [0.5, 2], [1, 3]], "float32"),
        (([0.0, 1.0], [1.0, 3.0], 3), {"axis": -1}, [[0, 0.5, 1], [1, 2, 3]], "float32"),
        ((np.float64(0), 1.0, 2), {}, [0, 1], "float64"),
    ],
)
def test_linspace(arguments, options, expected, dtype):
    same(tf.linspace(*arguments, **options), expected, dtype)


def test_gradients_flow_to_both_ends_of_a_linspace():
    start, stop = tf.Variable(0.0), tf.Variable(4.0)
    with tf.GradientTape() as tape:
        y = tf.linspace(start, stop, 5)
    weights = tf.constant([0.0, 1.0, 0.0, 0.0, 10.0])
    assert_allclose(tape.gradient(y, [start, stop], output_gradients=weights), [0.75, 10.25])


def test_linspace_refuses():
    with pytest.raises(tf.errors.InvalidArgumentError, match="num must be at least 0, not -1"):
        tf.linspace(0.0, 1.0, -1)
    with pytest.raises(TypeError, match="takes numbers for its ends, not string"):
        tf.linspace("a", "b", 2)


@pytest.mark.parametrize(
    ("arguments", "options", "expected", "dtype"),
    [
        (([0, 2], 3), {}, [[1, 0, 0], [0, 0, 1]], "float32"),
        (([-1, 3], 3), {}, [[0, 0, 0], [0, 0, 0]], "float32"),
        ((1, 3), {}, [0, 1, 0], "float32"),
        (([0, 1], 3, 5, -1), {}, [[5, -1, -1], [-1, 5, -1]], "int32"),
        (([0, 1], 2, True, False), {}, [[True, False], [False, True]], "bool"),
        (([0, 1], 3), {"axis": 0}, [[1, 0], [0, 1], [0, 0]], "float32"),
        (([[0, 1], [2, 0]], 3), {"axis": 1}, [[[1, 0], [0, 1], [0, 0]], [[0, 1], [0, 0], [1, 0]]], "float32"),
        (([0], 2), {"dtype": tf.int64}, [[1, 0]], "int64"),
        (([0], 2), {"on_value": 5.0}, [[5, 0]], "float32"),
        (([0], 0), {}, np.zeros((1, 0)), "float32"),
        (([], 3), {}, np.zeros((0, 3)), "float32"),
    ],
)
def test_one_hot(arguments, options, expected, dtype):
    same(tf.one_hot(*arguments, **options), expected, dtype)


def test_gradients_flow_to_the_values_of_a_one_hot_code():
    on, off = tf.Variable(2.0), tf.Variable(0.5)
    with tf.GradientTape() as tape:
        y = tf.one_hot([0, 1], 3, on, off)
    assert [float(g) for g in tape.gradient(y, [on, off])] == [2.0, 4.0]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0.5], 3), {}, "indices must be integers"),
        (([0], 2), {"axis": 3}, r"axis 3 is out of range for indices of shape \[1\]"),
        (([0], 2, 5, 0.5), {}, "must be of dtype int32"),
    ],
)
def test_one_hot_refuses(arguments, options, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.one_hot(*arguments, **options)


# ---------------------------------------------------------------------------------------------------------------------
# cast

CASTS = [
    (1.8, "int32", 1),
    (-1.8, "int32", -1),
    ([0, 2], "bool", [False, True]),
    ([0.0, 0.5, np.nan], "bool", [False, True, True]),
    (True, "float32", 1.0),
    (300, "int8", 44),
    (1.5, "complex64", 1.5),
    (1 + 2j, "float32", 1.0),
    (0.1, "float64", np.float64(np.float32(0.1))),
    (1.0 + 2.0**-9, "bfloat16", 1.0),
    (np.array([1.0, 2.0]), "float16", [1.0, 2.0]),
]


@pytest.mark.parametrize(("value", "dtype", "expected"), CASTS)
def test_cast(value, dtype, expected):
    result = tf.cast(value, dtype)
    assert result.dtype == dtype
    assert_array_equal(result.numpy(), np.asarray(expected, tf.as_dtype(dtype).as_numpy_dtype))


@pytest.mark.parametrize(
    ("source", "target", "flows"),
    [
        ("float32", "float64", True),
        ("float64", "float16", True),
        ("float32", "bfloat16", True),
        ("float32", "complex64", True),
        ("complex64", "float32", True),
        ("complex64", "complex128", True),
        ("float32", "int32", False),
        ("float32", "bool", False),
    ],
)
def test_gradients_pass_a_cast_between_floating_and_complex_dtypes_in_the_sources_dtype(
    source, target, flows
):
    x = tf.constant([1.0, 2.0], source)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(tf.cast(x, target), source) * tf.cast(3.0, source)
    gradient = tape.gradient(y, x)
    if flows:
        assert gradient.dtype == source
        assert_array_equal(gradient.numpy(), np.array([3, 3], gradient.dtype.as_numpy_dtype))
    else:
        assert gradient is None


def test_cast_refuses_strings_and_unknown_dtypes():
    with pytest.raises(TypeError, match="no cast from string to int32"):
        tf.cast("1", tf.int32)
    with pytest.raises(TypeError, match="'nope' is not a dtype"):
        tf.cast(1.0, "nope")


# ---------------------------------------------------------------------------------------------------------------------
# Random tensors


@pytest.mark.parametrize("draw", [tf.random.normal, tf.random.uniform, tf.random.truncated_normal])
def test_the_global_seed_fixes_the_sequence(draw):
    def three():
        return np.stack([draw((4,)), draw((4,)), draw((4,))])

    tf.random.set_seed(7)
    first = three()
    tf.random.set_seed(7)
    assert_array_equal(three(), first)
    tf.random.set_seed(8)
    assert not np.array_equal(three(), first)
    assert len(np.unique(first)) == 12


def test_an_operations_seed_has_a_sequence_of_its_own():
    tf.random.set_seed(7)
    first = [tf.random.normal((3,), seed=1), tf.random.normal((3,), seed=1)]
    tf.random.set_seed(7)
    again = [tf.random.normal((3,), seed=1), tf.random.normal((3,), seed=2)]
    assert_array_equal(again[0], first[0].numpy())
    assert not np.array_equal(again[1], first[1])
    assert not np.array_equal(first[1], first[0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_distributions(dtype):
    tf.random.set_seed(1)
    normal = np.asarray(tf.random.normal((20000,), 3.0, 2.0, dtype), np.float64)
    assert abs(normal.mean() - 3) < 0.1
    assert abs(normal.std() - 2) < 0.1
    clipped = np.asarray(tf.random.truncated_normal((20000,), 3.0, 2.0, dtype), np.float64)
    assert -1 <= clipped.min() < -0.9
    assert 6.9 < clipped.max() <= 7
    even = np.asarray(tf.random.uniform((20000,), -1.0, 3.0, dtype), np.float64)
    assert -1 <= even.min() < -0.98
    assert 2.96 < even.max() <= (3 if dtype == "bfloat16" else np.nextafter(3.0, 0.0))
    assert abs(even.mean() - 1) < 0.1
    assert tf.random.normal((1,), dtype=dtype).dtype == dtype
    assert tf.random.uniform((), dtype=dtype).dtype == dtype


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_uniform_integers(dtype):
    tf.random.set_seed(1)
    drawn = tf.random.uniform((1000,), 2, 5, dtype)
    assert drawn.dtype == dtype
    assert set(drawn.numpy().tolist()) == {2, 3, 4}
    assert tf.random.uniform((), 0, 1, dtype).shape == ()


def test_uniform_between_equal_ends_is_that_end():
    same(tf.random.uniform((2,), 3.0, 3.0), [3, 3], "float32")


def test_gradients_flow_to_the_parameters_of_a_distribution():
    mean, deviation = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.random.normal((5, 2), mean, deviation)
    by_mean, by_deviation = tape.gradient(y, [mean, deviation])
    assert_array_equal(by_mean, [5, 5])
    assert_allclose(by_deviation, np.sum((y - mean) / deviation), rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tf.random.normal((2,), dtype=tf.int32), TypeError, "dtype must be floating, not int32"),
        (lambda: tf.random.uniform((2,), dtype=tf.bool), TypeError, "dtype must be floating.*, not bool"),
        (lambda: tf.random.uniform((2,), dtype=tf.int32), ValueError, "integers need.*maxval"),
        (lambda: tf.random.uniform((2,), 5, 2, tf.int32), ValueError, "minval must be below maxval"),
    ],
)
def test_random_refuses(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("count", [2, 5000])
def test_strings_fill_as_strings(count):
    filled = tf.fill([count], "ab").numpy()
    assert {type(x) for x in filled} == {bytes}
    assert set(filled) == {b"ab"}
