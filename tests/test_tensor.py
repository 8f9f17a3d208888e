"""Tensors: what becomes one, in which dtype, how they print, and how they behave among Python's and NumPy's values."""

import copy
import operator
import pickle
import threading
import weakref

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gradtape as tf
from gradtape.core.stand_in import StandIn


def same(tensor, expected, dtype):
    """The tensor has exactly this value and dtype."""
    assert type(tensor) is tf.Tensor
    assert tensor.dtype is tf.as_dtype(dtype)
    assert_array_equal(
        tensor.numpy(), np.asarray(expected, tensor.dtype.as_numpy_dtype), strict=tensor.ndim > 0
    )


# ---------------------------------------------------------------------------------------------------------------------
# What becomes a tensor, and its dtype


@pytest.mark.parametrize("make", [tf.constant, tf.convert_to_tensor])
@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1.5, "float32"),
        (3, "int32"),
        (-(2**31), "int32"),
        (2**31, "int64"),
        (True, "bool"),
        (1 + 2j, "complex128"),
        ([1.0, 2.0], "float32"),
        ([1, 2.5], "float32"),
        ((1, 2), "int32"),
        ([[1, 2], [3, 4]], "int32"),
        ([2**31, 1], "int64"),
        ([True, False], "bool"),
        ([1, True], "int32"),
        ([1.5, 1j], "complex128"),
        ([], "float32"),
        ([[], []], "float32"),
        (range(3), "int32"),
        (np.float64(1), "float64"),
        (np.int8(1), "int8"),
        (np.array([1, 2]), "int64"),
        (np.array([1.0, 2.0]), "float64"),
        (np.array([1.5], np.float16), "float16"),
        (np.array([True]), "bool"),
        (np.array(7), "int64"),
        (np.arange(6).reshape(2, 3)[:, ::-2], "int64"),
        (np.array([1, 2], ">i4"), "int32"),
        (tf.float32.max, "float32"),
        (tf.TensorShape([2, 3]), "int32"),
        # In a list, NumPy's numbers count as numbers; a first floating one sets the dtype.
        ([np.int64(1), np.int64(2)], "int32"),
        ([np.int64(2**40)], "int64"),
        ([np.array([1, 2]), [3, 4]], "int32"),
        ([np.float64(1), 2], "float64"),
        ([1.0, np.float64(2)], "float32"),
        ([np.float16(1), 2.0], "float16"),
        ([np.float32(1), np.float64(2)], "float32"),
        ([np.array([1.0, 2.0]), [3.0, 4.0]], "float64"),
    ],
)
def test_a_value_becomes_a_tensor_of_the_dtype_tensorflow_gives_it(make, value, dtype):
    same(make(value), value, dtype)


@pytest.mark.parametrize("make", [tf.constant, tf.convert_to_tensor])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("abc", b"abc"),
        (b"abc", b"abc"),
        ("ä", "ä".encode()),
        (np.str_("x"), b"x"),
        (["a", b"bc"], [b"a", b"bc"]),
        ([["a"], ["bc"]], [[b"a"], [b"bc"]]),
        (np.array(["a", "bc"]), [b"a", b"bc"]),
        (np.array([b"a", b"bc"]), [b"a", b"bc"]),
    ],
)
def test_text_becomes_a_tensor_of_strings_held_as_bytes(make, value, expected):
    tensor = make(value)
    assert tensor.dtype is tf.string
    assert tensor.numpy().tolist() == expected if tensor.ndim else tensor.numpy() == expected
    assert make(value, dtype=tf.string).dtype is tf.string


@pytest.mark.parametrize("make", [tf.constant, tf.convert_to_tensor])
@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1, tf.float32, 1.0),
        (1, "float64", 1.0),
        (1, np.int64, 1),
        (1, tf.bfloat16, 1.0),
        (1, tf.complex64, 1.0),
        (1.5, tf.complex128, 1.5),
        (True, tf.float32, 1.0),
        (True, tf.int32, 1),
        (300, tf.int8, 44),
        (-1, tf.uint8, 255),
        (2**63, tf.uint64, 2**63),
        (1e10, tf.float16, np.inf),
        ([1, 2], tf.float32, [1.0, 2.0]),
        ([True, False], tf.int32, [1, 0]),
        ([2**100], tf.float32, [2.0**100]),
        ([], tf.int32, []),
        (np.array([1, 2]), tf.float32, [1.0, 2.0]),
        (np.array([1.5, 2.5]), tf.int32, [1, 2]),
        (np.array([300]), tf.int8, [44]),
        (np.array([1, 0]), tf.bool, [True, False]),
        (np.array([1e300]), tf.float32, [np.inf]),
    ],
)
def test_dtype_asks_for_another(make, value, dtype, expected):
    same(make(value, dtype=dtype), expected, dtype)


@pytest.mark.parametrize("make", [tf.constant, tf.convert_to_tensor])
@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        (1.5, tf.int32, r"1\.5 is not a value of dtype int32"),
        (1.0, tf.bool, r"1\.0 is not a value of dtype bool"),
        (1, tf.bool, "1 is not a value of dtype bool"),
        (1j, tf.float32, "1j is not a value of dtype float32"),
        (1, tf.string, "1 is not a value of dtype string"),
        ("a", tf.int32, "'a' is text, not of dtype int32"),
        ([1.5, 2], tf.int32, r"\[1.5, 2\] has elements that are not of dtype int32"),
        ([1j], tf.float32, "elements that are not of dtype float32"),
        ([1, 2], tf.string, "elements that are not of dtype string"),
        (np.array([1j]), tf.float32, "dtype complex128 was given where float32 is needed"),
        (np.array([1.0]), tf.string, "dtype float64 was given where string is needed"),
        (
            tf.constant(1),
            tf.float32,
            r"dtype int32 was given where float32 is needed: use cast\(x, 'float32'\)",
        ),
        (np.array(["2020-01-01"], "M8[D]"), None, r"dtype datetime64\[D\] is no tensor"),
        (np.longdouble(1), None, "no such dtype here"),
    ],
)
def test_a_value_that_the_dtype_cannot_hold_is_refused(make, value, dtype, message):
    with pytest.raises(TypeError, match=message) as error:
        make(value, dtype=dtype)
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, tf.errors.InvalidArgumentError)


@pytest.mark.parametrize("make", [tf.constant, tf.convert_to_tensor])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "None of type NoneType is no tensor"),
        ([None], "it holds None of type NoneType"),
        ({"a": 1}, "of type dict is no tensor"),
        ({1}, "of type set is no tensor"),
        (len, "of type builtin_function_or_method is no tensor"),
        (object(), "it holds <object object"),
        ([1, "a"], r"mixes text and numbers is no tensor: \[1, 'a'\]"),
        (["a", 1.5], "mixes text and numbers"),
        ([True, 1], "mixes booleans with numbers"),
        (2**63, "9223372036854775808 does not fit 64 bits"),
        ([2**63], "does not fit 64 bits"),
        ([2**100], "does not fit 64 bits"),
        (1e300, "1e\\+300 is too large for float32: say dtype='float64'"),
        ([1e300], "is too large for float32"),
        ([[1, 2], [3]], r"rows differ in length or depth is no tensor: \[\[1, 2\], \[3\]\]"),
        ([1, [2]], "rows differ in length or depth"),
        (tf.TensorShape([1, None]), "it holds None"),
    ],
)
def test_what_is_no_tensor_is_refused(make, value, message):
    with pytest.raises(ValueError, match=message):
        make(value)


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + None,
        lambda x: None * x,
        lambda x: x @ None,
        lambda x: tf.Variable(x).assign_sub(None),
        lambda x: tf.reduce_sum(None),
        lambda x: tf.stack([x, None]),
        lambda x: tf.function(lambda x: x - None)(x),
    ],
)
def test_of_none_the_message_says_that_a_gradient_may_have_been_none(use):
    with pytest.raises(
        ValueError, match=r"Gradients are None where .*tape\.explain.*unconnected_gradients='zero'"
    ):
        use(tf.constant([1.0, 2.0]))


@pytest.mark.parametrize(
    ("value", "hint", "dtype"),
    [
        (1, tf.float32, "float32"),
        ([1, 2], tf.float64, "float64"),
        (True, tf.float32, "float32"),
        (1.5, tf.int32, "float32"),
        ("a", tf.int32, "string"),
        (np.array([1, 2]), tf.float32, "float32"),
        (np.array([1.5]), tf.int32, "float64"),
        (tf.constant(1), tf.float32, "int32"),
        ([], tf.int32, "int32"),
    ],
)
def test_a_hint_is_met_where_nothing_is_lost(value, hint, dtype):
    assert tf.convert_to_tensor(value, dtype_hint=hint).dtype == dtype


@pytest.mark.parametrize(
    ("value", "shape", "expected"),
    [
        (0.5, (2, 2), [[0.5, 0.5], [0.5, 0.5]]),
        ([1.0, 2.0, 3.0, 4.0], (2, 2), [[1.0, 2.0], [3.0, 4.0]]),
        ([7.0], (2,), [7.0, 7.0]),
        (1.0, (), 1.0),
        (1.0, 2, [1.0, 1.0]),
        (1.0, (0,), []),
        ([], (0, 3), np.zeros((0, 3))),
    ],
)
def test_constant_fills_or_reshapes_to_a_shape(value, shape, expected):
    same(tf.constant(value, shape=shape), expected, "float32")


def test_constant_refuses_a_shape_it_cannot_fill():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"3 elements cannot fill the shape \(2, 2\)"):
        tf.constant([1, 2, 3], shape=(2, 2))


def test_a_tensor_is_itself_and_a_variable_its_value():
    x = tf.constant([1.0])
    v = tf.Variable([1.0])
    assert tf.convert_to_tensor(x) is x
    assert tf.constant(x) is x
    with tf.GradientTape() as tape:
        y = tf.convert_to_tensor(v) * 2.0
    assert_array_equal(tape.gradient(y, v), [2.0])
    with tf.GradientTape() as tape:
        y = tf.constant(v) * 2.0  # a snapshot: nothing flows back
    assert tape.gradient(y, v) is None
    v.assign([5.0])
    assert_array_equal(tf.constant(v, tf.float64), [5.0])


@pytest.mark.parametrize("make", [tf.constant, tf.convert_to_tensor, tf.identity, lambda x: tf.add_n([x])])
def test_two_constants_of_one_value_are_two_tensors(make):
    x, y = make(3.0), make(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = x * y * 3.0
    by_x, by_y = tape.gradient(z, [x, y])
    assert float(by_x) == 9.0
    assert by_y is None


def test_a_tensor_does_not_see_later_changes_of_its_array():
    array = np.array([1.0, 2.0])
    made = [make(array) for make in (tf.constant, tf.convert_to_tensor, tf.Variable, tf.identity)]
    array[:] = 0
    for tensor in made:
        assert_array_equal(tensor, [1.0, 2.0])


@pytest.mark.parametrize(
    ("x", "answer"),
    [
        (tf.constant(1), True),
        (tf.Variable(1.0), True),
        (1, False),
        (np.array(1), False),
        ([tf.constant(1)], False),
    ],
)
def test_is_tensor(x, answer):
    assert tf.is_tensor(x) is answer


def test_a_tensor_is_not_made_by_its_class():
    with pytest.raises(TypeError, match=r"use constant\(\.\.\.\) or convert_to_tensor"):
        tf.Tensor(1.0)


# ---------------------------------------------------------------------------------------------------------------------
# Lists that hold tensors

X, Y = 2.0, 3.0


@pytest.mark.parametrize(
    ("build", "expected", "by_x", "by_y"),
    [
        (lambda x, y: tf.convert_to_tensor([[x, 0.0], [0.0, y]]), [[2, 0], [0, 3]], 1, 1),
        (lambda x, y: tf.constant([[x, 0.0], [0.0, y]]), [[2, 0], [0, 3]], 1, 1),
        (lambda x, y: tf.constant([1, x, np.float64(4), y, True]), [1, 2, 4, 3, 1], 1, 1),
        (lambda x, y: tf.constant([(x, y), [np.float32(1), 2]]), [[2, 3], [1, 2]], 1, 1),
        (lambda x, y: tf.constant([tf.stack([x, y]), [5.0, x]]), [[2, 3], [5, 2]], 2, 1),
        (lambda x, y: tf.constant([[x, y]] * 3), [[2, 3]] * 3, 3, 3),
        (lambda x, y: tf.reduce_sum([x * x, y]), 7, 4, 1),
        (lambda x, y: tf.constant([10.0, 20.0]) * [x, y], [20, 60], 10, 20),
        (lambda x, y: [x, y] * tf.constant([10.0, 20.0]), [20, 60], 10, 20),
        (lambda x, y: tf.matmul([[x, 1.0]], [[y], [x]]), [[8]], 4, 2),
        (lambda x, y: tf.concat([[x], [y, 1.0]], 0), [2, 3, 1], 1, 1),
        (lambda x, y: tf.reshape([[x, y]], [2]), [2, 3], 1, 1),
        (lambda x, y: tf.where([True, False], [x, x], y), [2, 3], 1, 1),
        (lambda x, y: tf.maximum([x, y], 2.5), [2.5, 3], 0, 1),
    ],
)
@pytest.mark.parametrize("kind", [tf.constant, tf.Variable])
def test_lists_that_hold_tensors_are_packed_and_gradients_flow_through(build, expected, by_x, by_y, kind):
    x, y = kind(X), kind(Y)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = build(x, y)
    same(z, expected, "float32")
    assert [float(g) for g in tape.gradient(z, [x, y])] == [by_x, by_y]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([tf.constant(1), tf.constant(1.0)], r"dtype float32 and int32 is no tensor: use cast\(x, 'int32'\)"),
        ([tf.constant(1), 2.5], "dtype float32 and int32 is no tensor"),
        ([tf.constant([1.0, 2.0]), [3.0]], r"different shapes is no tensor: \[2\], \[1\]"),
        ([tf.constant(1.0), None], "None of type NoneType is no tensor"),
    ],
)
def test_a_list_whose_tensors_do_not_fit_is_refused(value, message):
    with pytest.raises(ValueError, match=message):
        tf.convert_to_tensor(value)


# ---------------------------------------------------------------------------------------------------------------------
# Meeting Python's and NumPy's values

FLOAT = tf.constant([1.0, 2.0])
INT = tf.constant([1, 2])


@pytest.mark.parametrize(
    ("x", "y", "expected", "dtype"),
    [
        (FLOAT, 2, [2, 4], "float32"),
        (FLOAT, 2.5, [2.5, 5], "float32"),
        (FLOAT, True, [1, 2], "float32"),
        (FLOAT, [3, 4], [3, 8], "float32"),
        (FLOAT, [3.0, 4.0], [3, 8], "float32"),
        (FLOAT, np.array([3.0, 4.0]), [3, 8], "float32"),
        (FLOAT, np.array([3, 4]), [3, 8], "float32"),
        (FLOAT, np.float64(3), [3, 6], "float32"),
        (FLOAT, np.int64(3), [3, 6], "float32"),
        (FLOAT, 1e300, [np.inf, np.inf], "float32"),
        (INT, 2, [2, 4], "int32"),
        (INT, True, [1, 2], "int32"),
        (INT, np.array([3, 4]), [3, 8], "int32"),
        (INT, np.int64(3), [3, 6], "int32"),
        (tf.constant([1.0, 2.0], tf.float64), 0.1, [0.1, 0.2], "float64"),
        (tf.constant([1.0, 2.0], tf.float64), np.float32(2), [2, 4], "float64"),
        (tf.constant([1.0, 2.0], tf.float16), 2.5, [2.5, 5], "float16"),
        (tf.constant([1.0, 2.0], tf.bfloat16), 2.5, [2.5, 5], "bfloat16"),
        (tf.constant([1, 2], tf.uint8), 3, [3, 6], "uint8"),
        (tf.constant([1j, 2.0]), 2.5, [2.5j, 5], "complex128"),
        (tf.constant([1j, 2.0], tf.complex64), 2, [2j, 4], "complex64"),
        (tf.Variable([1.0, 2.0]), 2, [2, 4], "float32"),
        (tf.Variable([1.0, 2.0]), np.array([3.0, 4.0]), [3, 8], "float32"),
    ],
)
def test_scalars_and_arrays_take_the_dtype_of_the_tensor_they_meet_on_either_side(x, y, expected, dtype):
    same(x * y, expected, dtype)
    same(y * x, expected, dtype)
    same(tf.multiply(x, y), expected, dtype)
    same(tf.multiply(y, x), expected, dtype)


@pytest.mark.parametrize(
    "operate",
    [
        operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
        operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
    ],
)  # fmt: skip
@pytest.mark.parametrize("left", [np.array([3.0, 1.0]), np.float64(3.0), np.array(3.0), 3.0, [3.0, 1.0]])
@pytest.mark.parametrize("right", [tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0])])
def test_every_operator_gives_a_tensor_with_numpy_on_the_left(operate, left, right):
    result = operate(left, right)
    plain = operate(np.asarray(left, np.float32), np.float32([1.0, 2.0]))
    same(result, plain, plain.dtype)


def test_a_numpy_matrix_on_the_left_of_matmul_gives_a_tensor():
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    same(matrix @ tf.constant([[1.0], [1.0]]), [[3], [7]], "float32")
    same(tf.Variable([[1.0, 1.0]]) @ matrix, [[4, 6]], "float32")


def test_gradients_flow_through_operators_with_numpy_on_the_left():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = np.array([3.0, 4.0]) * x + np.float64(2.0) ** x - np.array([[1.0], [2.0]]) / x
    expected = 2 * (np.array([3.0, 4.0]) + np.log(2) * np.array([2.0, 4.0])) + 3 / np.array([1.0, 4.0])
    np.testing.assert_allclose(tape.gradient(y, x), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("x", "y", "names"),
    [
        (FLOAT, tf.constant([1.0, 2.0], tf.float64), "float32 and float64"),
        (FLOAT, INT, "float32 and int32"),
        (INT, FLOAT, "int32 and float32"),
        (INT, tf.constant([1, 2], tf.int64), "int32 and int64"),
        (FLOAT, tf.constant([True, False]), "float32 and bool"),
        (FLOAT, tf.constant(["a", "b"]), "float32 and string"),
        (tf.Variable([1.0, 2.0]), INT, "float32 and int32"),
        (INT, 2.5, "int32 and float32"),
        (INT, [1.0, 2.0], "int32 and float32"),
        (INT, np.array([1.0, 2.0]), "int32 and float64"),
        (FLOAT, 1j, "float32 and complex128"),
        (FLOAT, "a", "float32 and string"),
    ],
)
@pytest.mark.parametrize("operate", [operator.add, tf.multiply, tf.maximum, operator.lt, operator.eq])
def test_tensors_of_different_dtypes_do_not_mix(operate, x, y, names):
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=f"different dtypes do not mix: {names}"
    ) as error:
        operate(x, y)
    assert isinstance(error.value, TypeError)
    advice = "A string is no number" if "string" in names else f"Use cast(x, '{names.split()[0]}')"
    assert advice in str(error.value)


@pytest.mark.parametrize("value", [None, object(), {"a": 1}])
def test_an_operator_refuses_what_is_no_tensor(value):
    with pytest.raises(ValueError, match="tensor"):
        FLOAT + value
    with pytest.raises(ValueError, match="tensor"):
        value * FLOAT


# ---------------------------------------------------------------------------------------------------------------------
# Comparing


@pytest.mark.parametrize(
    ("operate", "expected"),
    [
        (operator.lt, [True, False, False]),
        (operator.le, [True, True, False]),
        (operator.gt, [False, False, True]),
        (operator.ge, [False, True, True]),
        (operator.eq, [False, True, False]),
        (operator.ne, [True, False, True]),
    ],
)
@pytest.mark.parametrize(
    "other", [2.0, 2, [2.0, 2.0, 2.0], tf.constant(2.0), tf.Variable(2.0), np.float64(2)]
)
def test_comparisons_are_elementwise(operate, expected, other):
    same(operate(tf.constant([1.0, 2.0, 3.0]), other), expected, "bool")


def test_what_cannot_be_compared_is_unequal():
    assert (FLOAT == None) is False  # noqa: E711
    assert (FLOAT != None) is True  # noqa: E711
    longer = tf.constant([1.0, 2.0, 3.0])
    assert bool(longer == FLOAT) is False
    assert bool(longer != FLOAT) is True


@pytest.mark.parametrize(
    ("operate", "expected"),
    [
        (operator.and_, [True, False, False, False]),
        (operator.or_, [True, True, True, False]),
        (operator.xor, [False, True, True, False]),
    ],
)
def test_logic_on_booleans(operate, expected):
    a, b = tf.constant([True, True, False, False]), tf.constant([True, False, True, False])
    same(operate(a, b), expected, "bool")
    same(operate(a, b.numpy()), expected, "bool")
    same(operate(a.numpy(), b), expected, "bool")


def test_bits_of_integers():
    a = tf.constant([12, 10])
    same(a & 10, [8, 10], "int32")
    same(a | 3, [15, 11], "int32")
    same(a ^ 6, [10, 12], "int32")
    same(~a, [-13, -11], "int32")
    same(~tf.constant([True, False]), [False, True], "bool")


# ---------------------------------------------------------------------------------------------------------------------
# Printing. The strings are TensorFlow 2.21's.


@pytest.mark.parametrize(
    ("value", "dtype", "expected_repr", "expected_str"),
    [
        (
            1.0,
            None,
            "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>",
            "tf.Tensor(1.0, shape=(), dtype=float32)",
        ),
        (
            0.1,
            None,
            "<tf.Tensor: shape=(), dtype=float32, numpy=0.10000000149011612>",
            "tf.Tensor(0.1, shape=(), dtype=float32)",
        ),
        (
            1e20,
            None,
            "<tf.Tensor: shape=(), dtype=float32, numpy=1.0000000200408773e+20>",
            "tf.Tensor(1e+20, shape=(), dtype=float32)",
        ),
        (
            -0.0,
            None,
            "<tf.Tensor: shape=(), dtype=float32, numpy=-0.0>",
            "tf.Tensor(-0.0, shape=(), dtype=float32)",
        ),
        (
            float("nan"),
            None,
            "<tf.Tensor: shape=(), dtype=float32, numpy=nan>",
            "tf.Tensor(nan, shape=(), dtype=float32)",
        ),
        (
            True,
            None,
            "<tf.Tensor: shape=(), dtype=bool, numpy=True>",
            "tf.Tensor(True, shape=(), dtype=bool)",
        ),
        (5, None, "<tf.Tensor: shape=(), dtype=int32, numpy=5>", "tf.Tensor(5, shape=(), dtype=int32)"),
        (
            1 + 2j,
            None,
            "<tf.Tensor: shape=(), dtype=complex128, numpy=(1+2j)>",
            "tf.Tensor((1+2j), shape=(), dtype=complex128)",
        ),
        (
            "a",
            None,
            "<tf.Tensor: shape=(), dtype=string, numpy=b'a'>",
            "tf.Tensor(b'a', shape=(), dtype=string)",
        ),
        (
            0.1,
            "float64",
            "<tf.Tensor: shape=(), dtype=float64, numpy=0.1>",
            "tf.Tensor(0.1, shape=(), dtype=float64)",
        ),
        (
            1.5,
            "bfloat16",
            "<tf.Tensor: shape=(), dtype=bfloat16, numpy=1.5>",
            "tf.Tensor(1.5, shape=(), dtype=bfloat16)",
        ),
        (
            [1.0, 2.5],
            None,
            "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1. , 2.5], dtype=float32)>",
            "tf.Tensor([1.  2.5], shape=(2,), dtype=float32)",
        ),
        (
            [1, 2],
            "int64",
            "<tf.Tensor: shape=(2,), dtype=int64, numpy=array([1, 2])>",
            "tf.Tensor([1 2], shape=(2,), dtype=int64)",
        ),
        (
            [True, False],
            None,
            "<tf.Tensor: shape=(2,), dtype=bool, numpy=array([ True, False])>",
            "tf.Tensor([ True False], shape=(2,), dtype=bool)",
        ),
        (
            [],
            None,
            "<tf.Tensor: shape=(0,), dtype=float32, numpy=array([], dtype=float32)>",
            "tf.Tensor([], shape=(0,), dtype=float32)",
        ),
        (
            [[1.0, 2.0], [3.0, 4.0]],
            None,
            "<tf.Tensor: shape=(2, 2), dtype=float32, numpy=\narray([[1., 2.],\n       [3., 4.]], dtype=float32)>",
            "tf.Tensor(\n[[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float32)",
        ),
        (
            [["a"], ["bc"]],
            None,
            "<tf.Tensor: shape=(2, 1), dtype=string, numpy=\narray([[b'a'],\n       [b'bc']], dtype=object)>",
            "tf.Tensor(\n[[b'a']\n [b'bc']], shape=(2, 1), dtype=string)",
        ),
    ],
)
def test_a_tensor_prints_as_tensorflows_does(value, dtype, expected_repr, expected_str):
    tensor = tf.constant(value, dtype)
    assert repr(tensor) == expected_repr
    assert str(tensor) == expected_str


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{tf.constant(2.0):.2f}", "2.00"),
        (f"{tf.constant(2.0)}", "2.0"),
        (f"{tf.constant([1.0, 2.0])}", "[1. 2.]"),
        (f"{tf.constant(7):03d}", "007"),
        (f"{tf.constant(True)}", "True"),
        (f"{tf.constant('a')}", "b'a'"),
        (f"{tf.constant(1.0)!r}", "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"),
        ("%.1f" % tf.constant(2.0), "2.0"),  # noqa: UP031
        (f"{tf.Variable(2.5):.1f}", "2.5"),
    ],
)
def test_format(text, expected):
    assert text == expected


def test_format_refuses_a_number_format_for_many_elements():
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{tf.constant([1.0, 2.0]):.2f}"


# ---------------------------------------------------------------------------------------------------------------------
# Python's protocols


@pytest.mark.parametrize(
    ("convert", "value", "expected"),
    [
        (float, 1.5, 1.5),
        (float, [1.5], 1.5),
        (int, 2.7, 2),
        (int, 3, 3),
        (int, [[3]], 3),
        (float, True, 1.0),
        (complex, 1 + 2j, 1 + 2j),
        (complex, 1.5, 1.5 + 0j),
        (bool, 0.0, False),
        (bool, [[2]], True),
        (len, [1, 2, 3], 3),
        (len, [[], []], 2),
    ],
)
@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
def test_one_element_becomes_a_python_number(make, convert, value, expected):
    result = convert(make(value))
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
@pytest.mark.parametrize(
    ("convert", "value", "error", "message"),
    [
        (
            float,
            [1.0, 2.0],
            TypeError,
            r"only a tensor of one element becomes a Python float, not one of shape \(2,\)",
        ),
        (int, [], TypeError, r"one element becomes a Python int, not one of shape \(0,\)"),
        (complex, [1.0, 2.0], TypeError, "becomes a Python complex"),
        (bool, [1.0, 2.0], ValueError, r"truth value of a tensor of shape \(2,\) is ambiguous.*reduce_any"),
        (bool, [], ValueError, "ambiguous"),
        (len, 1.0, TypeError, r"a scalar tensor has no len\(\)"),
        (list, 1.0, TypeError, "cannot iterate over a scalar"),
        (hash, 1.0, TypeError, r"unhashable.*Use (tensor|variable)\.ref\(\) as the key"),
        (lambda x: {x: 1}, 1.0, TypeError, "unhashable"),
        (lambda x: [1, 2][x], 1.0, TypeError, "only a scalar integer tensor can be an index"),
        (lambda x: [1, 2][x], [1], TypeError, r"not one of shape \(1,\) and dtype int32"),
    ],
)
def test_what_needs_one_element_or_none_says_so(make, convert, value, error, message):
    with pytest.raises(error, match=message):
        convert(make(value))


@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
def test_iteration_gives_tensors_through_which_gradients_flow(make):
    x = make([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        first, second = x
        y = tf.reduce_sum(first * 10.0 + second)
    assert first.numpy().tolist() == [1, 2]
    assert_array_equal(tape.gradient(y, x), [[10, 10], [1, 1]])


@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
def test_an_integer_scalar_is_an_index(make):
    assert [10, 20, 30][make(1)] == 20
    assert list(range(10))[make(1) : make(3)] == [1, 2]


def test_a_condition_on_one_element_works_in_if_and_while():
    x = tf.constant(3.0)
    steps = 0
    while x > 0:
        x -= 1
        steps += 1
    assert steps == 3
    assert 1.0 in tf.constant([1.0, 2.0])
    assert 5.0 not in tf.constant([1.0, 2.0])


def test_references_stand_for_the_object():
    x, same_value, v = tf.constant(1.0), tf.constant(1.0), tf.Variable(1.0)
    table = {x.ref(): "x", v.ref(): "v"}
    assert table[x.ref()] == "x"
    assert table[v.ref()] == "v"
    assert same_value.ref() not in table
    assert x.ref() != same_value.ref()
    assert x.ref() != "x"
    assert x.ref().deref() is x
    assert repr(x.ref()) == "<Reference wrapping <tf.Tensor: shape=(), dtype=float32, numpy=1.0>>"


def test_references_are_keys_of_weak_dictionaries():
    x = tf.constant(1.0)
    table = weakref.WeakKeyDictionary()
    reference = x.ref()
    table[reference] = "x"
    assert table[x.ref()] == "x"
    del reference
    assert not table


def test_a_complex_number_is_no_real_one():
    for x in (tf.constant(3 + 0j), tf.Variable(3 + 1j)):
        for number in (int, float):
            with pytest.raises(TypeError, match="not 'complex'"):
                number(x)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("value", [1.5, [1, 2], ["a", "b"], [[1j]], np.zeros((0, 2)), True])
def test_copies_and_pickles_have_the_same_value_and_no_past(duplicate, value):
    x = tf.constant(value)
    y = duplicate(x)
    assert y is not x
    assert y.dtype is x.dtype
    assert_array_equal(y.numpy(), x.numpy())
    watched = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(watched)
        z = duplicate(watched) * 3.0
    assert tape.gradient(z, watched) is None


def test_a_bfloat16_tensor_pickles():
    x = pickle.loads(pickle.dumps(tf.constant([1.5, 2.0], tf.bfloat16)))
    same(x, [1.5, 2.0], "bfloat16")


def test_a_deep_copy_of_a_structure_keeps_what_is_shared():
    x = tf.constant(1.0)
    v = tf.Variable(1.0)
    duplicate = copy.deepcopy({"a": x, "b": [v, v]})
    assert duplicate["b"][0] is duplicate["b"][1]
    assert duplicate["b"][0] is not v


def test_a_tensor_knows_its_shape_rank_and_place():
    x = tf.zeros((2, 3))
    assert x.shape == (2, 3)
    assert type(x.shape) is tf.TensorShape
    assert x.get_shape() == [2, 3]
    assert x.ndim == 2
    assert x.device.endswith("CPU:0")
    x.set_shape([None, 3])
    with pytest.raises(ValueError, match="not compatible"):
        x.set_shape([3, 3])


@pytest.mark.parametrize("name", ["foo", "astype", "assign"])
def test_what_a_tensor_has_not_it_says(name):
    with pytest.raises(AttributeError, match=f"Tensor.* has no.*{name!r}"):
        getattr(tf.constant(1.0), name)


def test_unary_operators():
    x = tf.constant([1.0, -2.0])
    same(-x, [-1, 2], "float32")
    same(abs(x), [1, 2], "float32")
    assert +x is x
    v = tf.Variable([1.0, -2.0])
    same(+v, [1, -2], "float32")
    same(-v, [-1, 2], "float32")


# ---------------------------------------------------------------------------------------------------------------------
# NumPy and DLPack


def test_a_test_may_replace_the_method_numpy_of_one_tensor():
    x, other = tf.constant(1.0), tf.constant(1.0)
    x.numpy = lambda: "replaced"
    assert (x.numpy(), other.numpy(), tf.Tensor.numpy(other)) == ("replaced", 1.0, 1.0)


@pytest.mark.parametrize(
    ("value", "kind"),
    [(1.5, np.float32), (3, np.int32), (True, np.bool_), (1j, np.complex128), ("a", bytes)],
)
def test_numpy_gives_a_scalar_where_there_are_no_axes(value, kind):
    assert type(tf.constant(value).numpy()) is kind
    assert type(tf.Variable(value).numpy()) is kind


@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
def test_numpy_gives_a_copy_that_may_be_written(make):
    x = make([1.0, 2.0])
    array = x.numpy()
    array[:] = 0
    assert_array_equal(x, [1.0, 2.0])


@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
@pytest.mark.parametrize("value", [[1.0, 2.0], 3.0, [[1, 2]]])
def test_asarray_gives_a_view_that_may_not(make, value):
    x = make(value)
    view = np.asarray(x)
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[...] = 0
    assert np.shares_memory(view, np.asarray(x))
    assert_array_equal(view, value)


def test_array_copies_when_asked_or_needed():
    x = tf.constant([1.0, 2.0])
    assert np.array(x).flags.writeable
    assert not np.shares_memory(np.array(x), np.asarray(x))
    assert np.asarray(x, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="without a copy"):
        x.__array__(np.float64, copy=False)
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, np.float64, copy=False)


@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
def test_numpy_functions_take_tensors(make):
    x = make([[1.0, 2.0], [3.0, 4.0]])
    assert np.sum(x) == 10
    assert_array_equal(np.mean(x, axis=0), [2, 3])
    assert np.stack([x, x]).shape == (2, 2, 2)
    assert np.allclose(x, x)
    assert_array_equal(np.dot(x, np.ones(2)), [3, 7])
    assert_array_equal(np.array([x[0, 0], x[1, 1]]), [1, 4])


@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
def test_dlpack_out_is_read_only_or_a_copy(make):
    x = make([1.0, 2.0])
    shared = np.from_dlpack(x)
    assert_array_equal(shared, np.float32([1.0, 2.0]), strict=True)
    assert not shared.flags.writeable
    assert np.shares_memory(shared, np.asarray(x))
    assert x.__dlpack_device__() == (1, 0)
    taken = np.from_dlpack(Exports(tf.experimental.dlpack.to_dlpack(x)))
    if taken.flags.writeable:
        taken[:] = 0
    assert_array_equal(x, [1.0, 2.0])


class Exports:
    """An old library's array: it gives a capsule, and knows nothing of versions or read-only."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **options):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "complex64", "bool"])
def test_dlpack_in(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    from_object = tf.experimental.dlpack.from_dlpack(array)
    same(from_object, array, dtype)
    from_capsule = tf.experimental.dlpack.from_dlpack(array.__dlpack__())
    same(from_capsule, array, dtype)
    kept = array.copy()
    array[:] = 0
    same(from_object, kept, dtype)
    same(from_capsule, kept, dtype)


def test_dlpack_goes_round():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    y = tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(x))
    same(y, x.numpy(), "float32")


# ---------------------------------------------------------------------------------------------------------------------
# A tensor never changes


def test_a_tensor_refuses_item_assignment():
    x = tf.constant([1.0, 2.0])
    with pytest.raises(
        TypeError, match=r"does not support item assignment: it is immutable\. Use a Variable"
    ):
        x[0] = 5.0
    assert_array_equal(x, [1.0, 2.0])


def test_augmented_assignment_rebinds_the_name():
    x = y = tf.constant([1.0, 2.0])
    x += 1.0
    assert_array_equal(x, [2.0, 3.0])
    assert_array_equal(y, [1.0, 2.0])


def test_an_operation_may_run_inside_another(monkeypatch):
    """As in a finalizer: it finds NumPy as silent as outside."""
    from gradtape.ops.math import elementwise

    sine = elementwise.sin.forward

    def busy(x):
        assert float(tf.constant(2.0) / 0.0) == np.inf
        assert float(tf.exp(tf.constant(1000.0)) - tf.reduce_sum([1.0, 2.0])) == np.inf
        return sine(x)

    monkeypatch.setattr(elementwise.sin, "forward", busy)
    same(tf.sin(tf.constant([0.0])), [0], "float32")


def test_inf_and_nan_are_computed_in_silence():
    x = tf.constant([1.0, 0.0, -1.0])
    assert_array_equal(x / 0.0, [np.inf, np.nan, -np.inf])
    assert_array_equal(tf.math.log(x), [0.0, -np.inf, np.nan])
    assert_array_equal(tf.sqrt(x), [1.0, 0.0, np.nan])
    assert_array_equal(tf.exp(x * 1000.0), [np.inf, 1.0, 0.0])


def test_operations_run_in_many_threads_at_once():
    results = {}

    def work(n):
        x = tf.constant(float(n))
        for _ in range(200):
            x = x + 1.0
        results[n] = float(x / 0.0 * 0.0 if n < 0 else x)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: n + 200.0 for n in range(8)}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"a\0\0", b"a\0\0"),
        ("a\0", b"a\0"),
        ([b"\0", "b"], [b"\0", b"b"]),
        ([["a\0", "b"], ["c", "\0\0"]], [[b"a\0", b"b"], [b"c", b"\0\0"]]),
        (np.bytes_(b"a\0"), b"a\0"),
        (["a", b"\xff"], [b"a", b"\xff"]),
    ],
)
def test_text_keeps_the_zeros_at_its_end(value, expected):
    assert tf.constant([value]).numpy().tolist() == [expected]
    assert np.asarray(tf.constant(value)).tolist() == expected


@pytest.mark.parametrize("compile", [False, True])
def test_lists_of_tensors_are_cast_to_the_dtype_that_is_asked_for(compile):
    whole, half, number = tf.constant(1), tf.constant(2.5, "float16"), tf.Variable(3.5)

    def pack(dtype):
        return tf.convert_to_tensor([whole, half, number, 4], dtype)

    pack = tf.function(pack) if compile else pack
    assert pack("float32").numpy().tolist() == [1, 2.5, 3.5, 4]
    assert pack("int32").numpy().tolist() == [1, 2, 3, 4]
    with pytest.raises(TypeError, match="mixes tensors"):
        pack(None)
    with pytest.raises(TypeError, match="is not a value"):
        tf.convert_to_tensor([whole, 2.5], "int32")
    with tf.GradientTape() as tape:
        tape.watch(half)
        y = tf.convert_to_tensor([[whole, half], [number, 2]], "float64") ** 2
    gradients = tape.gradient(y, [half, number])
    assert [g.dtype.name for g in gradients] == ["float16", "float32"]
    assert [float(g) for g in gradients] == [5, 7]


def test_objects_that_stand_for_tensors_are_packed_and_are_lengths():
    class Three(StandIn):
        dtype = "int32"  # by name, as of Keras's variables

        def __tf_tensor__(self, dtype=None, name=None):
            return tf.constant(3)

    three = Three()
    assert tf.convert_to_tensor([three, 4]).numpy().tolist() == [3, 4]
    assert tf.convert_to_tensor([[1.5], [three]], "float32").numpy().tolist() == [[1.5], [3.0]]
    assert tf.reshape(tf.range(6), [three, -1]).shape == (3, 2)
