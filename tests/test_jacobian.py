"""`jacobian` and `batch_jacobian`: every derivative of every element, in one sweep or in several."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf

RNG = np.random.default_rng(0)
SWEEPS = [
    {},
    {"parallel_iterations": 1},
    {"parallel_iterations": 2},
    {"parallel_iterations": 1000},
    {"experimental_use_pfor": False},
    {"experimental_use_pfor": False, "parallel_iterations": 3},
]


def row_by_row(f, values):
    """The Jacobian by one gradient for each element of the target."""
    x = tf.constant(values)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    rows = [
        np.asarray(tape.gradient(y, x, tf.reshape(tf.constant(unit), y.shape), tf.UnconnectedGradients.ZERO))
        for unit in np.eye(int(np.prod(y.shape)), dtype=values.dtype)
    ]
    return np.reshape(np.array(rows, values.dtype), (*y.shape, *values.shape))


W = RNG.normal(size=(3, 4))

FUNCTIONS = {
    "elementwise": (lambda x: tf.tanh(x * x) + 1.0 / (x + 3.0), (2, 3)),
    "matrix times vector": (lambda x: tf.tanh(tf.linalg.matmul(W, x[:, tf.newaxis])), (4,)),
    "matrix times itself": (lambda x: x @ tf.transpose(x), (2, 3)),
    "batched product": (lambda x: tf.matmul(x, x, transpose_b=True), (2, 2, 3)),
    "sum to a scalar": (lambda x: tf.reduce_sum(x**2), (2, 3)),
    "from a scalar": (lambda x: tf.stack([x, x * x, tf.exp(x)]), ()),
    "scalar to scalar": (lambda x: tf.sin(x), ()),
    "broadcasting": (lambda x: x * tf.constant([[1.0], [2.0]], tf.float64) + x[0], (3,)),
    "reductions": (
        lambda x: tf.concat([tf.reduce_mean(x, 0), tf.reduce_max(x, 1), tf.reduce_prod(x, 1)], 0),
        (2, 3),
    ),
    "logsumexp and norm": (lambda x: tf.reduce_logsumexp(x, 1) * tf.norm(x), (2, 3)),
    "softmax": (lambda x: tf.nn.softmax(x) + tf.nn.log_softmax(x, axis=0), (2, 3)),
    "shapes": (
        lambda x: tf.transpose(tf.reshape(tf.expand_dims(x, 1), (3, 2)))[::-1, tf.newaxis, 1:],
        (2, 3),
    ),
    "split, stack, tile, pad": (
        lambda x: tf.pad(tf.tile(tf.stack(tf.split(x, 3, axis=1)), (1, 2, 1)), [[0, 1], [1, 0], [0, 0]]),
        (2, 3),
    ),
    "unstack": (lambda x: tf.unstack(x, axis=1)[1] * 2.0, (2, 3)),
    "gather": (lambda x: tf.gather(x, [[0, 1], [0, 0]]), (2, 3)),
    "gather along an axis": (lambda x: tf.gather(x, [2, 0, 2], axis=1) * x, (2, 3)),
    "masks": (
        lambda x: tf.where(x > 0, x * x, -x) + tf.maximum(x, 0.5) + tf.clip_by_value(x, -1.0, 1.0),
        (2, 3),
    ),
    "cumsum": (lambda x: tf.cumsum(x, axis=1) ** 2, (2, 3)),
    "einsum": (lambda x: tf.einsum("ij,kj->ik", x, x), (2, 3)),
    "tensordot": (lambda x: tf.tensordot(x, x, [[0], [0]]), (2, 3)),
    "constant part": (lambda x: tf.concat([x, tf.ones((1, 3), tf.float64)], 0), (2, 3)),
    "identity": (lambda x: x, (2,)),
}


@pytest.mark.parametrize("sweep", SWEEPS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_jacobian_is_that_of_one_gradient_for_each_element(name, sweep):
    f, shape = FUNCTIONS[name]
    values = np.asarray(np.random.default_rng(1).normal(size=shape))
    x = tf.constant(values)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    jacobian = tape.jacobian(y, x, **sweep)
    assert jacobian.shape == (*y.shape, *shape)
    assert jacobian.dtype is tf.float64
    assert_allclose(jacobian, row_by_row(f, values), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sweep", SWEEPS, ids=str)
@pytest.mark.parametrize(
    ("source", "f", "shape"),
    [
        ((2,), lambda x: x[:0], (0, 2)),
        ((0,), lambda x: x * 2.0, (0, 0)),
        ((0, 3), lambda x: tf.reduce_sum(x), (0, 3)),
        ((0, 3), lambda x: tf.reduce_sum(x, 0), (3, 0, 3)),
        ((2, 0), lambda x: tf.matmul(x, x, transpose_b=True), (2, 2, 2, 0)),
        ((2, 3), lambda x: tf.gather(x, np.zeros((0,), np.int32)), (0, 3, 2, 3)),
        ((2, 3), lambda x: tf.zeros((4, 0)) * tf.reduce_sum(x), (4, 0, 2, 3)),
    ],
)
def test_empty_shapes(source, f, shape, sweep):
    x = tf.zeros(source)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    jacobian = tape.jacobian(y, x, **sweep)
    assert_array_equal(jacobian, np.zeros(shape, np.float32), strict=True)


@pytest.mark.parametrize("sweep", SWEEPS, ids=str)
def test_sources_may_be_any_structure(sweep):
    a, b, unused = tf.Variable([1.0, 2.0]), tf.Variable(3.0), tf.Variable([4.0])
    with tf.GradientTape(persistent=True) as tape:
        y = a * a * b
    jacobians = tape.jacobian(y, {"a": a, "b": [b, unused]}, **sweep)
    assert_array_equal(jacobians["a"], [[6.0, 0.0], [0.0, 12.0]])
    assert_array_equal(jacobians["b"][0], [1.0, 4.0])
    assert jacobians["b"][1] is None
    zeros = tape.jacobian(y, unused, unconnected_gradients=tf.UnconnectedGradients.ZERO, **sweep)
    assert_array_equal(zeros, np.zeros((2, 1), np.float32), strict=True)
    assert tape.jacobian(y, [], **sweep) == []


def test_sources_in_between_and_the_target_itself():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        y = x * 3.0
        z = y * y
    assert_array_equal(tape.jacobian(z, y), [[6.0, 0.0], [0.0, 12.0]])
    assert_array_equal(tape.jacobian(z, z), np.eye(2))
    assert_array_equal(tape.jacobian(x, x), np.eye(2))


def test_a_variable_that_is_only_gathered_from_has_a_dense_jacobian():
    table = tf.Variable([[1.0], [2.0], [3.0]])
    with tf.GradientTape() as tape:
        y = tf.gather(table, [2, 0])
    assert_array_equal(tf.reshape(tape.jacobian(y, table), (2, 3)), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


class Rows:
    """Counts how many rows each call of a gradient function is asked for."""

    def __init__(self):
        self.calls = []

    def __call__(self, x):
        @tf.custom_gradient
        def watched(x):
            def grad(upstream):
                self.calls.append(tuple(upstream.shape))
                return upstream * 1.0

            return x * 1.0, grad

        return watched(x)


@pytest.mark.parametrize(
    ("sweep", "sizes"),
    [
        ({}, [5]),
        ({"parallel_iterations": 5}, [5]),
        ({"parallel_iterations": 2}, [2, 2, 1]),
        ({"parallel_iterations": 1}, [1] * 5),
        ({"experimental_use_pfor": False}, [1] * 5),
    ],
)
@pytest.mark.parametrize("method", ["jacobian", "batch_jacobian"])
def test_parallel_iterations_bounds_the_rows_swept_at_once(monkeypatch, method, sweep, sizes):
    """Counted at a primitive that each sweep calls once: the first axis of what it is given."""
    from gradtape.ops.math import elementwise

    seen = []
    rule = elementwise.sin.rule["x"]
    monkeypatch.setitem(elementwise.sin.rule, "x", lambda g, x: seen.append(g.shape[0]) or rule(g, x))
    monkeypatch.setattr(elementwise.sin, "plans", {})
    x = tf.constant(np.ones((1, 5), np.float32))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sin(x)
    getattr(tape, method)(y, x, **sweep)
    assert seen == sizes


@pytest.mark.parametrize("wrong", [0, -1])
@pytest.mark.parametrize("method", ["jacobian", "batch_jacobian"])
def test_parallel_iterations_must_be_positive(method, wrong):
    x = tf.constant([[1.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(
        ValueError, match=f"parallel_iterations must be an integer of at least 1, not {wrong}"
    ):
        getattr(tape, method)(y, x, parallel_iterations=wrong)


def test_a_custom_gradient_is_asked_row_by_row():
    rows = Rows()
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = rows(x) ** 2
    assert_array_equal(tape.jacobian(y, x), np.diag([2.0, 4.0, 6.0]))
    assert rows.calls == [(3,)] * 3


# ---------------------------------------------------------------------------------------------------------------------
# batch_jacobian


@pytest.mark.parametrize("sweep", SWEEPS, ids=str)
@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda x: tf.tanh(tf.matmul(x, W.T[:3])), (5, 3)),
        (lambda x: x * x, (5, 3)),
        (lambda x: tf.reduce_sum(x * x, 1, keepdims=True), (5, 3)),
        (lambda x: tf.reduce_prod(x, 1), (5, 3)),
        (lambda x: tf.einsum("bij,bkj->bik", x, x), (2, 3, 2)),
        (lambda x: tf.reshape(tf.transpose(x, (0, 2, 1)), (2, 3, 2)), (2, 2, 3)),
        (lambda x: tf.gather(x, [1, 0, 1], axis=1), (4, 2)),
        (lambda x: tf.nn.softmax(x), (3, 4)),
        (lambda x: x * x, (5,)),
    ],
)
def test_the_batch_jacobian_is_the_diagonal_of_the_jacobian(f, shape, sweep):
    x = tf.constant(np.random.default_rng(2).normal(size=shape))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    full = tape.jacobian(y, x).numpy()
    examples = np.arange(shape[0])
    expected = np.moveaxis(full, len(y.shape), 1)[examples, examples]
    assert_allclose(tape.batch_jacobian(y, x, **sweep), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("sweep", SWEEPS, ids=str)
@pytest.mark.parametrize(
    ("shape", "f", "expected"),
    [
        ((0, 2), lambda x: x * x, (0, 2, 2)),
        ((2, 3), lambda x: x[:, :0], (2, 0, 3)),
        ((2, 0), lambda x: tf.reduce_sum(x, 1, keepdims=True), (2, 1, 0)),
    ],
)
def test_an_empty_batch_or_example(shape, f, expected, sweep):
    x = tf.zeros(shape)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert_array_equal(tape.batch_jacobian(y, x, **sweep), np.zeros(expected, np.float32), strict=True)


def test_an_unconnected_batch_jacobian():
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.ones((1, 3))
    assert tape.batch_jacobian(y, x) is None
    zeros = tape.batch_jacobian(y, x, unconnected_gradients="zero")
    assert_array_equal(zeros, np.zeros((1, 3, 2), np.float32), strict=True)


@pytest.mark.parametrize(
    ("target", "source", "error", "message"),
    [
        (lambda x: x[:1], lambda x: x, ValueError, r"their shapes are \[1, 2\] and \[3, 2\]"),
        (
            lambda x: tf.reduce_sum(x),
            lambda x: x,
            ValueError,
            r"the batch; their shapes are \[\] and \[3, 2\]",
        ),
        (
            lambda x: x * x,
            lambda x: [x],
            TypeError,
            "(?s)source must be a Tensor or a Variable, not .* of type list",
        ),
        (lambda x: [x * x], lambda x: x, TypeError, "target must be one tensor, not a list"),
        (lambda x: 3.0, lambda x: x, TypeError, r"not 3\.0 of type float"),
    ],
)
def test_what_is_no_batch_is_refused(target, source, error, message):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = target(x)
    with pytest.raises(error, match=message):
        tape.batch_jacobian(y, source(x))


def test_the_target_of_a_jacobian_is_one_tensor():
    x = tf.Variable([1.0])
    with tf.GradientTape() as tape:
        y = x * x
    with pytest.raises(TypeError, match="jacobian: the target must be one tensor, not a list"):
        tape.jacobian([y], x)


# ---------------------------------------------------------------------------------------------------------------------
# Higher orders


def test_a_hessian():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(x**3) * x[0]
        gradient = inner.gradient(y, x)
    assert_array_equal(outer.jacobian(gradient, x), [[12.0, 12.0], [12.0, 12.0]])


def test_the_gradient_and_the_jacobian_of_a_jacobian():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as inner:
            y = x**3 * x[0]
        jacobian = inner.jacobian(y, x)
    assert_array_equal(jacobian, [[4.0, 0.0], [8.0, 12.0]])
    assert_array_equal(outer.gradient(jacobian, x), [24.0, 24.0])
    second = outer.jacobian(jacobian, x)
    assert_array_equal(second, [[[12.0, 0.0], [0.0, 0.0]], [[0.0, 12.0], [12.0, 12.0]]])


def test_the_gradient_of_a_batch_jacobian():
    x = tf.Variable([[1.0, 2.0]])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**3
        jacobian = inner.batch_jacobian(y, x)
    assert_array_equal(outer.gradient(jacobian, x), [[6.0, 12.0]])


def test_a_jacobian_may_be_asked_inside_the_block():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x**3
        jacobian = tape.jacobian(y, x)
    assert_array_equal(jacobian, [[3.0, 0.0], [0.0, 12.0]])


@pytest.mark.parametrize("sweep", SWEEPS, ids=str)
def test_complex_jacobians_are_conjugate_as_gradients_are(sweep):
    z = tf.constant([[1 + 2j, 2.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(z)
        w = z * z * 1j
    assert_array_equal(tape.jacobian(w, z, **sweep)[0, :, 0], [[-4 - 2j, 0], [0, -4j]])
    assert_array_equal(tape.batch_jacobian(w, z, **sweep)[0], [[-4 - 2j, 0], [0, -4j]])


def test_an_integer_source_has_no_jacobian(caplog):
    x = tf.constant([1, 2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(x, tf.float32)
    assert tape.jacobian(y, x) is None
