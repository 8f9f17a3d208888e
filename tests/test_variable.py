"""Variables: cells that hold a value, may be assigned in whole and in part, and go wherever a tensor goes."""

import copy
import operator
import pickle
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gradtape as tf


def holds(variable, expected, dtype="float32"):
    assert variable.dtype == dtype
    assert_array_equal(variable, np.asarray(expected, variable.dtype.as_numpy_dtype), strict=True)


# ---------------------------------------------------------------------------------------------------------------------
# Making one


@pytest.mark.parametrize(
    ("value", "options", "expected", "dtype"),
    [
        (1.5, {}, 1.5, "float32"),
        (3, {}, 3, "int32"),
        (True, {}, True, "bool"),
        ([1, 2], {"dtype": tf.float32}, [1, 2], "float32"),
        (np.array([1.0, 2.0]), {}, [1, 2], "float64"),
        (np.array([1.0, 2.0]), {"dtype": "float16"}, [1, 2], "float16"),
        (tf.constant([1.0]), {}, [1], "float32"),
        (tf.Variable([1.0]), {}, [1], "float32"),
        ([tf.constant(1.0), 2.0], {}, [1, 2], "float32"),
        (lambda: tf.ones(2), {}, [1, 1], "float32"),
        (lambda: 3, {"dtype": tf.float64}, 3, "float64"),
        ([], {}, [], "float32"),
    ],
)
def test_an_initial_value_may_be_anything_that_becomes_a_tensor_or_a_function_that_gives_it(
    value, options, expected, dtype
):
    holds(tf.Variable(value, **options), expected, dtype)


@pytest.mark.parametrize(
    ("value", "options", "error", "message"),
    [
        (None, {}, ValueError, "needs an initial value"),
        (1.5, {"dtype": tf.int32}, TypeError, r"1\.5 is not a value of dtype int32"),
        (tf.constant(1.0), {"dtype": tf.float64}, TypeError, "use cast"),
        ([[1, 2], [3]], {}, ValueError, "rows differ in length"),
        ([1.0, 2.0], {"shape": [3]}, ValueError, r"shape \(2,\), which does not fit shape=\(3,\)"),
        (1.0, {"dtype": "nope"}, TypeError, "'nope' is not a dtype"),
    ],
)
def test_a_wrong_initial_value_is_refused(value, options, error, message):
    with pytest.raises(error, match=message):
        tf.Variable(value, **options)


def test_names():
    assert tf.Variable(1.0).name == "Variable:0"
    assert tf.Variable(1.0, name="w").name == "w:0"


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        (tf.Variable(1.0), "<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.0>"),
        (tf.Variable(0.1, name="w"), "<tf.Variable 'w:0' shape=() dtype=float32, numpy=0.10000000149011612>"),
        (
            tf.Variable([[1, 2], [3, 4]], name="m"),
            "<tf.Variable 'm:0' shape=(2, 2) dtype=int32, numpy=\narray([[1, 2],\n       [3, 4]], dtype=int32)>",
        ),
        (
            tf.Variable([1.0, 2.0], shape=[None]),
            "<tf.Variable 'Variable:0' shape=(None,) dtype=float32, numpy=array([1., 2.], dtype=float32)>",
        ),
    ],
)
def test_a_variable_prints_as_tensorflows_does(variable, expected):
    assert repr(variable) == expected
    assert str(variable) == expected
    assert f"{variable}" == expected


def test_properties():
    v = tf.Variable([[1.0, 2.0]], trainable=False)
    assert v.shape == v.get_shape() == (1, 2)
    assert v.ndim == 2
    assert v.trainable is False
    assert tf.Variable(1).trainable is True
    assert v.constraint is None
    assert v.device.endswith("CPU:0")
    assert bool(v.is_initialized())


# ---------------------------------------------------------------------------------------------------------------------
# Assigning


@pytest.mark.parametrize(
    ("method", "value", "expected"),
    [
        ("assign", [5.0, 6.0], [5, 6]),
        ("assign", [5, 6], [5, 6]),
        ("assign", (True, False), [1, 0]),
        ("assign", np.array([5.0, 6.0]), [5, 6]),
        ("assign", np.array([5, 6]), [5, 6]),
        ("assign", tf.constant([5.0, 6.0]), [5, 6]),
        ("assign", tf.Variable([5.0, 6.0]), [5, 6]),
        ("assign", [tf.constant(5.0), 6.0], [5, 6]),
        ("assign_add", [5.0, 6.0], [6, 8]),
        ("assign_add", np.array([5, 6]), [6, 8]),
        ("assign_sub", [5.0, 6.0], [-4, -4]),
    ],
)
def test_assigning_puts_a_value_of_the_same_shape_and_dtype(method, value, expected):
    v = tf.Variable([1.0, 2.0])
    assert getattr(v, method)(value) is v
    holds(v, expected)


def test_assigning_a_variable_to_itself():
    v = tf.Variable([1.0, 2.0])
    holds(v.assign(v), [1, 2])
    holds(v.assign_add(v), [2, 4])
    holds(v.assign_sub(v), [0, 0])


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([1.0, 2.0, 3.0], ValueError, r"'w' of shape \(2,\) and dtype float32: the value has shape \(3,\)"),
        (1.0, ValueError, r"the value has shape \(\); the shapes must agree"),
        ([[1.0, 2.0]], ValueError, r"the value has shape \(1, 2\)"),
        (tf.constant([1, 2]), TypeError, r"the value has dtype int32: use cast\(value, 'float32'\)"),
        (tf.constant([1.0, 2.0], tf.float64), TypeError, "the value has dtype float64"),
        (tf.Variable([1, 2]), TypeError, "dtype int32"),
        ([1j, 2.0], TypeError, "not of dtype float32"),
        ("ab", TypeError, "is text, not of dtype float32"),
        (None, ValueError, "None of type NoneType is no tensor"),
        ([[1.0], [2.0, 3.0]], ValueError, "rows differ"),
    ],
)
def test_a_failed_assignment_leaves_the_old_value(method, value, error, message):
    v = tf.Variable([1.0, 2.0], name="w")
    with pytest.raises(error, match=message) as raised:
        getattr(v, method)(value)
    if "the value has" in message:
        assert isinstance(raised.value, tf.errors.InvalidArgumentError)
        assert str(raised.value).startswith(f"{method} to the variable 'w'")
    holds(v, [1, 2])


@pytest.mark.parametrize("shape", [[None], tf.TensorShape([None])])
def test_a_length_left_open_may_change(shape):
    v = tf.Variable([1.0, 2.0], shape=shape)
    v.assign([1.0, 2.0, 3.0])
    holds(v, [1, 2, 3])
    assert v.shape == [None]
    holds(v.value() * 2.0, [2, 4, 6])
    with pytest.raises(ValueError, match=r"shape \(1, 1\)"):
        v.assign([[1.0]])
    with pytest.raises(ValueError, match=r"assign_add to .*\(2,\)"):
        v.assign_add([1.0, 2.0])
    holds(v, [1, 2, 3])


def test_an_unknown_shape_takes_any_value():
    v = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None))
    v.assign([[1.0]])
    holds(v, [[1]])
    assert v.shape.rank is None


def test_set_shape_narrows_what_may_be_assigned():
    v = tf.Variable([1.0, 2.0], shape=[None])
    v.set_shape([2])
    assert v.shape == (2,)
    with pytest.raises(ValueError, match="the value has shape"):
        v.assign([1.0])
    with pytest.raises(ValueError, match="not compatible"):
        v.set_shape([5])


READS = {
    "value": lambda v: v.value(),
    "read_value": lambda v: v.read_value(),
    "convert_to_tensor": tf.convert_to_tensor,
    "identity": tf.identity,
    "constant": tf.constant,
    "asarray": np.asarray,
    "numpy": lambda v: v.numpy(),
    "slice": lambda v: v[1:3],
    "all": lambda v: v[:],
    "row": lambda v: list(v)[2],
    "reshape": lambda v: tf.reshape(v, (2, 2)),
    "transpose": tf.transpose,
    "stop_gradient": tf.stop_gradient,
    "from_dlpack": np.from_dlpack,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "Variable": tf.Variable,
    "pos": operator.pos,
    "cast": lambda v: tf.cast(v, tf.float32),
    "broadcast_to": lambda v: tf.broadcast_to(v, (3, 4)),
}
CHANGES = {
    "assign": lambda v: v.assign([9.0, 9.0, 9.0, 9.0]),
    "assign_add": lambda v: v.assign_add([9.0, 9.0, 9.0, 9.0]),
    "assign_sub": lambda v: v.assign_sub([9.0, 9.0, 9.0, 9.0]),
    "slice": lambda v: v[1:3].assign([9.0, 9.0]),
    "scatter": lambda v: v.scatter_nd_add([[1], [2]], [9.0, 9.0]),
    "optimizer": lambda v: tf.optimizers.SGD(0.1).apply_gradients([(tf.ones(4), v)]),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("read", READS)
def test_what_was_read_does_not_change_with_the_variable(read, change):
    """Assigning may reuse the array only where nobody else can see it."""
    v = tf.Variable(np.arange(4.0, dtype=np.float32))
    x = READS[read](v)
    before = np.array(x)
    CHANGES[change](v)
    assert not np.array_equal(v, np.arange(4.0))
    assert_array_equal(np.array(x), before)


@pytest.mark.parametrize("change", CHANGES)
def test_a_tape_keeps_the_value_it_heard(change):
    v = tf.Variable(np.arange(4.0, dtype=np.float32))
    with tf.GradientTape() as tape:
        y = v * v
        CHANGES[change](v)
        z = y + tf.exp(v * 0.0)
        CHANGES[change](v)
    assert_array_equal(tape.gradient(z, v), [0, 2, 4, 6])


def test_a_variable_that_nobody_else_sees_keeps_its_array():
    v = tf.Variable(np.zeros(4, np.float32))
    v.assign_add(np.ones(4))
    place = np.asarray(v).__array_interface__["data"]
    for _ in range(3):
        v.assign_add(np.ones(4))
        v.assign_sub(np.ones(4))
        assert np.asarray(v).__array_interface__["data"] == place
    holds(v, [1, 1, 1, 1])


def test_assigning_an_array_takes_a_copy_of_it():
    v = tf.Variable([0.0, 0.0])
    array = np.array([1.0, 2.0], np.float32)
    v.assign(array)
    array[:] = 9
    holds(v, [1, 2])
    w = tf.Variable([0.0, 0.0]).assign(v)
    w.assign_add([1.0, 1.0])
    holds(v, [1, 2])
    t = tf.constant([1.0, 2.0])
    v.assign(t)
    v.assign_add([1.0, 1.0])
    assert_array_equal(t, [1, 2])


# ---------------------------------------------------------------------------------------------------------------------
# Assigning in part

M = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (1, [7.0, 8.0], [[1, 2], [7, 8], [5, 6]]),
        (-1, 0.0, [[1, 2], [3, 4], [0, 0]]),
        ((1, 1), 9.0, [[1, 2], [3, 9], [5, 6]]),
        (slice(1, 3), 0, [[1, 2], [0, 0], [0, 0]]),
        (slice(0, 2), [[9.0, 8.0]], [[9, 8], [9, 8], [5, 6]]),
        (slice(None, None, 2), [[9.0, 9.0], [8.0, 8.0]], [[9, 9], [3, 4], [8, 8]]),
        (slice(None, None, -1), [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [[3, 3], [2, 2], [1, 1]]),
        ((slice(None), 0), [7.0, 8.0, 9.0], [[7, 2], [8, 4], [9, 6]]),
        ((..., slice(1, 2)), [[7.0], [8.0], [9.0]], [[1, 7], [3, 8], [5, 9]]),
        ((tf.constant(0), slice(tf.constant(1), None)), tf.constant([9.0]), [[1, 9], [3, 4], [5, 6]]),
        (..., tf.Variable(M), M),
        ((slice(0, 1), tf.newaxis), [[[8.0, 9.0]]], [[8, 9], [3, 4], [5, 6]]),
        (slice(3, None), np.zeros((0, 2), np.float32), M),
    ],
    ids=str,
)
def test_a_slice_of_a_variable_may_be_assigned(key, value, expected):
    v = tf.Variable(M)
    assert v[key].assign(value) is v
    holds(v, expected)


def test_a_slice_may_be_added_to():
    v = tf.Variable(M)
    v[1:].assign_add([[1.0, 1.0], [2.0, 2.0]])
    v[0].assign_sub(1.0)
    holds(v, [[0, 1], [4, 5], [7, 8]])


@pytest.mark.parametrize(
    ("key", "value", "error", "message"),
    [
        (
            slice(0, 2),
            [1.0, 2.0, 3.0],
            ValueError,
            r"slice of shape \[2, 2\] of .* the value has shape \(3,\)",
        ),
        (0, tf.constant([1, 2]), TypeError, "the value has dtype int32: cast it"),
        (0, [1j, 2.0], TypeError, "not of dtype float32"),
        (3, 0.0, IndexError, "out of bounds"),
    ],
)
def test_a_failed_assignment_to_a_slice_leaves_the_old_value(key, value, error, message):
    v = tf.Variable(M)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message) as raised:
        v[key].assign(value)
    assert isinstance(raised.value, error)
    holds(v, M)


def test_only_a_slice_taken_from_a_variable_may_be_assigned():
    v = tf.Variable(M)
    for tensor in (v.value()[0], v[0] + 1.0, v[tf.constant([0, 1])], v[v > 2.0]):
        with pytest.raises(AttributeError, match="a Tensor has no 'assign': it is immutable"):
            tensor.assign(0.0)
    with pytest.raises(TypeError, match=r"write v\[index\]\.assign\(value\)"):
        v[0] = [0.0, 0.0]
    holds(v, M)


@pytest.mark.parametrize(
    ("method", "indices", "updates", "expected"),
    [
        ("scatter_nd_update", [[0], [2]], [[7.0, 8.0], [9.0, 9.0]], [[7, 8], [3, 4], [9, 9]]),
        ("scatter_nd_update", [[0, 1], [2, 0]], [7.0, 8.0], [[1, 7], [3, 4], [8, 6]]),
        ("scatter_nd_update", [[[0, 1]], [[2, 0]]], [[7.0], [8.0]], [[1, 7], [3, 4], [8, 6]]),
        ("scatter_nd_update", [[1], [1]], [[7, 7], [8, 8]], [[1, 2], [8, 8], [5, 6]]),
        ("scatter_nd_update", np.zeros((0, 2), np.int64), np.zeros(0, np.float32), M),
        ("scatter_nd_add", [[0, 0], [0, 0], [1, 1]], [1.0, 10.0, 100.0], [[12, 2], [3, 104], [5, 6]]),
        ("scatter_nd_sub", tf.constant([[2]]), tf.constant([[1.0, 2.0]]), [[1, 2], [3, 4], [4, 4]]),
        ("scatter_nd_max", [[0], [2]], [[0.0, 9.0], [9.0, 0.0]], [[1, 9], [3, 4], [9, 6]]),
        ("scatter_nd_min", [[0], [2]], [[0.0, 9.0], [9.0, 0.0]], [[0, 2], [3, 4], [5, 0]]),
    ],
)
def test_scatter_nd_writes_at_coordinates(method, indices, updates, expected):
    v = tf.Variable(M)
    assert getattr(v, method)(indices, updates) is v
    holds(v, expected)


@pytest.mark.parametrize(
    ("indices", "updates", "error", "message"),
    [
        ([[3]], [[1.0, 1.0]], IndexError, r"the index \[3\] is out of bounds"),
        ([[0, -1]], [1.0], IndexError, r"the index \[0, -1\] is out of bounds"),
        ([[0]], [1.0], ValueError, r"indices of shape \[1, 1\] need updates of shape \[1, 2\], not \[1\]"),
        ([[0]], 1.0, ValueError, r"not \[\]"),
        ([[0, 0, 0]], [1.0], ValueError, "must hold from 1 to 2 coordinates"),
        (0, [1.0, 1.0], ValueError, "must hold from 1 to 2 coordinates"),
        ([[0.5]], [[1.0, 1.0]], TypeError, "indices must be integers, not float32"),
        ([[0]], tf.constant([[1, 1]]), TypeError, "dtype int32 was given where float32 is needed"),
    ],
)
def test_a_failed_scatter_leaves_the_old_value(indices, updates, error, message):
    v = tf.Variable(M)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message) as raised:
        v.scatter_nd_update(indices, updates)
    assert isinstance(raised.value, error)
    holds(v, M)


@pytest.mark.parametrize(
    ("method", "values", "indices", "expected"),
    [
        ("scatter_add", [[1.0, 1.0], [2.0, 2.0]], [0, 0], [[4, 5], [3, 4], [5, 6]]),
        ("scatter_sub", [[1.0, 1.0], [2.0, 2.0]], [0, 2], [[0, 1], [3, 4], [3, 4]]),
        ("scatter_update", [[1.0, 1.0], [2.0, 2.0]], [0, 2], [[1, 1], [3, 4], [2, 2]]),
        ("scatter_mul", [[2.0, 10.0]], [1], [[1, 2], [6, 40], [5, 6]]),
        ("scatter_div", [[2.0, 10.0]], [0], [[0.5, 0.2], [3, 4], [5, 6]]),
        ("scatter_max", [[0.0, 10.0]], [0], [[1, 10], [3, 4], [5, 6]]),
        ("scatter_min", [[0.0, 10.0]], [0], [[0, 2], [3, 4], [5, 6]]),
        ("scatter_add", [[[1.0, 1.0]], [[2.0, 2.0]]], [[1], [1]], [[1, 2], [6, 7], [5, 6]]),
    ],
)
def test_scatter_writes_rows(method, values, indices, expected):
    v = tf.Variable(M)
    assert getattr(v, method)(tf.IndexedSlices(tf.constant(values), tf.constant(indices))) is v
    holds(v, expected)


def test_scatter_takes_indexed_slices_only():
    v = tf.Variable(M)
    with pytest.raises(TypeError, match=r"scatter_add takes IndexedSlices\(values, indices\), not Tensor"):
        v.scatter_add(tf.constant([1.0]))
    with pytest.raises(IndexError, match=r"the index \[7\] is out of bounds"):
        v.scatter_add(tf.IndexedSlices(tf.constant([[1.0, 1.0]]), tf.constant([7])))
    holds(v, M)


def test_sparse_read_is_a_gather():
    v = tf.Variable(M)
    with tf.GradientTape() as tape:
        rows = v.sparse_read([2, 0])
    assert_array_equal(rows, [[5, 6], [1, 2]])
    assert_array_equal(tape.gradient(rows, v).indices, [2, 0])


@pytest.mark.parametrize(
    ("operate", "symbol", "instead"),
    [
        (operator.iadd, "+", "v.assign_add(x)"),
        (operator.isub, "-", "v.assign_sub(x)"),
        (operator.imul, "*", "v.assign(v * x)"),
        (operator.itruediv, "/", "v.assign(v / x)"),
        (operator.ifloordiv, "//", "v.assign(v // x)"),
        (operator.imod, "%", "v.assign(v % x)"),
        (operator.ipow, "**", "v.assign(v ** x)"),
        (operator.imatmul, "@", "v.assign(v @ x)"),
    ],
)
def test_augmented_assignment_is_refused(operate, symbol, instead):
    """It would quietly put a tensor in the variable's place."""
    v = tf.Variable([[1.0]])
    with pytest.raises(RuntimeError) as error:
        operate(v, 2.0)
    assert f"`v {symbol}= x`" in str(error.value)
    assert instead in str(error.value)
    holds(v, [[1]])


# ---------------------------------------------------------------------------------------------------------------------
# Everywhere a tensor is accepted


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda v: v + v, [2, 4]),
        (lambda v: v - 1, [0, 1]),
        (lambda v: 2 * v, [2, 4]),
        (lambda v: v / 4, [0.25, 0.5]),
        (lambda v: v // 2, [0, 1]),
        (lambda v: v % 2, [1, 0]),
        (lambda v: v**2, [1, 4]),
        (lambda v: 2**v, [2, 4]),
        (lambda v: -v, [-1, -2]),
        (lambda v: abs(-v), [1, 2]),
        (lambda v: tf.reduce_sum(v), 3),
        (lambda v: tf.concat([v, v], 0), [1, 2, 1, 2]),
        (lambda v: tf.stack([v, [1.0, 2.0]]), [[1, 2], [1, 2]]),
        (lambda v: tf.where([True, False], v, 0.0), [1, 0]),
        (lambda v: tf.gather(v, [1, 0]), [2, 1]),
        (lambda v: tf.gather(v, tf.Variable([1])), [2]),
        (lambda v: tf.reshape(v, tf.Variable([2, 1])), [[1], [2]]),
        (lambda v: tf.reduce_sum(tf.stack([v, v]), tf.Variable(0)), [2, 4]),
        (lambda v: tf.tensordot(v, v, 1), 5),
        (lambda v: tf.matmul([v], [[1.0], [1.0]]), [[3]]),
        (lambda v: tf.einsum("i,j->ij", v, v), [[1, 2], [2, 4]]),
        (lambda v: tf.cast(v, tf.float32), [1, 2]),
        (lambda v: tf.clip_by_value(v, v - 1.0, 1.5), [1, 1.5]),
        (lambda v: tf.convert_to_tensor([v[0], v[1]]), [1, 2]),
        (lambda v: tf.zeros_like(v), [0, 0]),
        (lambda v: tf.nn.relu(v), [1, 2]),
        (lambda v: v.value(), [1, 2]),
        (lambda v: v.read_value(), [1, 2]),
        (lambda v: list(v)[1], 2),
    ],
)
def test_operations_take_variables(compute, expected):
    result = compute(tf.Variable([1.0, 2.0]))
    assert type(result) is tf.Tensor
    assert_array_equal(result, np.float32(expected), strict=True)


def test_value_is_a_tensor_connected_to_the_variable():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        x = v.value()
        v.assign(5.0)
        y = x * x
    assert float(y) == 9.0
    assert float(tape.gradient(y, v)) == 6.0


def test_a_tensor_read_outside_the_block_is_a_constant_inside_it():
    v = tf.Variable(3.0)
    x = tf.convert_to_tensor(v)
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, v) is None


# ---------------------------------------------------------------------------------------------------------------------
# Copies


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
def test_a_copy_is_a_variable_of_its_own(duplicate):
    v = tf.Variable([1.0, 2.0], trainable=False, name="w", shape=[None])
    w = duplicate(v)
    assert w.name == "w:0"
    assert w.trainable is False
    assert w.shape == [None]
    v.assign([0.0])
    holds(w, [1, 2])
    w.assign_add([1.0, 1.0])
    holds(v, [0])


def test_a_tape_tells_a_variable_from_its_copy():
    v = tf.Variable(2.0)
    w = copy.deepcopy(v)
    with tf.GradientTape() as tape:
        y = v * v * w
    assert [float(g) for g in tape.gradient(y, [v, w])] == [8.0, 4.0]


LARGE = np.arange(40_000, dtype="float32").reshape(200, 200)


def kept_by_name(v, delta):
    v.assign_sub(delta)
    return delta


def seen_as_an_array(v, delta):
    seen = np.asarray(delta)
    del delta
    v.assign_sub(tf.constant(seen))
    return seen


def passed_through_c(v, delta):
    deltas = [delta]
    del delta
    list(map(v.assign_sub, deltas))
    return deltas[0]


@pytest.mark.parametrize("use", [kept_by_name, seen_as_an_array, passed_through_c])
def test_a_large_update_that_somebody_has_stays_as_it_is(use):
    v = tf.Variable(LARGE)
    delta = use(v, tf.constant(LARGE) * 0.5)
    assert_array_equal(np.asarray(delta), LARGE * 0.5)
    assert_array_equal(v.numpy(), LARGE * 0.5)


@pytest.mark.parametrize("method", ["assign_add", "assign_sub"])
def test_a_large_update_that_nobody_has_becomes_the_value(method):
    v, seen = tf.Variable(LARGE), tf.constant(LARGE)
    before = v.value()
    where = v._tensor._array.ctypes.data
    getattr(v, method)(seen * 0.5)
    assert v._tensor._array.ctypes.data != where
    assert_array_equal(v.numpy(), LARGE * (1.5 if method == "assign_add" else 0.5))
    assert_array_equal(before.numpy(), LARGE)
    v.assign_sub(tf.transpose(seen) * 1.0)
    assert v._tensor._array.flags.c_contiguous


@pytest.mark.parametrize("update", ["assign_add", "assign_sub"])
@pytest.mark.parametrize("shared", [False, True])
def test_updates_of_a_single_number(update, shared, recwarn):
    v = tf.Variable(3e38)
    before = v.value() if shared else None
    getattr(v, update)(tf.constant(3e38 if update == "assign_add" else -3e38))
    assert type(v._tensor._array) is np.ndarray
    assert np.isinf(v.numpy())
    assert before is None or float(before) == np.float32(3e38)
    assert not recwarn  # as everywhere, infinity comes in silence


def test_a_variable_is_updated_inside_an_operation():
    v = tf.Variable([1.0, 2.0])

    def count(x):
        v.assign_add(x)
        return x

    tf.py_function(count, [tf.constant([1.0, 1.0])], tf.float32)
    assert v.numpy().tolist() == [2.0, 3.0]


@pytest.mark.parametrize("update", ["assign", "assign_add", "assign_sub"])
@pytest.mark.parametrize("size", [3, 20_000])
def test_a_variable_is_updated_by_another_which_stays_as_it_is(update, size):
    v, w = tf.Variable(np.full(size, 5.0)), tf.Variable(np.ones(size))
    getattr(v, update)(w)
    assert w.numpy().tolist() == [1.0] * size
    w.assign_add(np.ones(size))
    assert v.numpy().tolist() == [{"assign": 1.0, "assign_add": 6.0, "assign_sub": 4.0}[update]] * size


# ---------------------------------------------------------------------------------------------------------------------
# Creators


def test_creators_are_asked_from_the_inside_out():
    asked = []

    def creator(tag, **changes):
        def create(next_creator, **arguments):
            asked.append((tag, arguments["name"], arguments["trainable"]))
            return next_creator(**(arguments | changes))

        return create

    with (
        tf.variable_creator_scope(creator("outer")),
        tf.variable_creator_scope(creator("inner", trainable=False)),
    ):
        v = tf.Variable(2.0, name="v")
    assert asked == [("inner", "v", None), ("outer", "v", False)]
    assert (v.name, v.trainable, float(v)) == ("v:0", False, 2.0)
    assert tf.Variable(1.0).trainable and len(asked) == 2


def test_a_creator_may_return_another_variable():
    shared = tf.Variable([1.0, 2.0])
    with tf.variable_creator_scope(lambda next_creator, **arguments: shared):
        assert tf.Variable(0.0) is shared
    assert shared.numpy().tolist() == [1.0, 2.0]


def test_creators_belong_to_a_thread_and_end_with_their_block():
    made = []
    with (
        pytest.raises(RuntimeError, match="stop"),
        tf.variable_creator_scope(lambda next_creator, **arguments: made.append(1)),
    ):
        thread = threading.Thread(target=lambda: tf.Variable(1.0))
        thread.start()
        thread.join()
        raise RuntimeError("stop")
    assert not made and float(tf.Variable(3.0)) == 3.0
    with pytest.raises(TypeError, match="takes a function"), tf.variable_creator_scope(None):
        pass
