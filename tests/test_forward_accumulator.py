"""ForwardAccumulator: derivatives along a direction, alone, nested, over tapes and under them."""

import logging

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf
from gradtape.core.primitive import local

Forward = tf.autodiff.ForwardAccumulator


def jvp(f, x, tangent):
    with Forward(x, tangent) as acc:
        y = f(x)
    return acc.jvp(y)


# ---------------------------------------------------------------------------------------------------------------------
# Numbers

DOUBLE = np.float64
FUNCTIONS = {
    "arithmetic": (lambda x: (x * x + x) / (x - 3.0) - 2.0**x, (3,)),
    "powers": (lambda x: tf.square(x) + tf.sqrt(x * x + 1.0) + tf.pow(x * x, 1.5), (3,)),
    "elementwise": (lambda x: tf.tanh(tf.sin(x)) * tf.exp(-x) + tf.sigmoid(x) + tf.math.log1p(x * x), (2, 3)),
    "broadcasting": (lambda x: x * [[1.0], [2.0]] + x[0], (3,)),
    "choices": (
        lambda x: tf.where(x > 0, x * x, -x) + tf.maximum(x, 0.5) + tf.clip_by_value(x, -1.0, 1.0),
        (5,),
    ),
    "abs and relu": (lambda x: tf.abs(x) + tf.nn.relu(x), (5,)),
    "matmul": (lambda x: tf.matmul(x, x, transpose_b=True), (2, 3)),
    "batched matmul": (lambda x: x @ tf.transpose(x, (0, 2, 1)), (2, 2, 3)),
    "einsum": (lambda x: tf.einsum("ij,ik->jk", x, x), (2, 3)),
    "tensordot": (lambda x: tf.tensordot(x, x, 2), (2, 3)),
    "sums": (lambda x: tf.reduce_sum(x * x, 0) + tf.reduce_mean(x, 0, keepdims=True), (2, 3)),
    "extremes": (lambda x: tf.reduce_max(x, 1) * tf.reduce_min(x), (2, 3)),
    "logsumexp": (lambda x: tf.reduce_logsumexp(x, 1), (2, 3)),
    "std": (lambda x: tf.math.reduce_std(x) + tf.math.reduce_variance(x, 1), (2, 3)),
    "norm": (lambda x: tf.norm(x) + tf.norm(x, axis=1), (2, 3)),
    "softmax": (lambda x: tf.nn.softmax(x) + tf.nn.log_softmax(x), (2, 3)),
    "cross entropy": (lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits([0, 2], x), (2, 3)),
    "shapes": (lambda x: tf.transpose(tf.reshape(tf.expand_dims(x, 1), (3, 2)))[::-1, 1:], (2, 3)),
    "joining": (lambda x: tf.concat([x, tf.ones((1, 3), DOUBLE), x * 2.0], 0), (2, 3)),
    "stacking": (lambda x: tf.stack([x, [1.0, 2.0, 3.0], x * x]), (3,)),
    "splitting": (lambda x: tf.split(x, [1, 2], axis=1), (2, 3)),
    "unstacking": (lambda x: tf.unstack(x * x, axis=1), (2, 3)),
    "tile and pad": (lambda x: tf.pad(tf.tile(x, (1, 2)), [[0, 1], [1, 0]]), (2, 3)),
    "gather": (lambda x: tf.gather(x, [2, 0, 2]) * tf.gather(x, [0, 0, 1]), (3,)),
    "indexing": (lambda x: x[1] * x[0, ::2, tf.newaxis], (2, 3)),
    "cumsum": (lambda x: tf.cumsum(x * x), (3,)),
    "casts": (lambda x: tf.cast(tf.cast(x, tf.complex128) * (2 + 1j), tf.float64), (3,)),
    "identity": (lambda x: tf.identity(x), (3,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_product_is_that_of_the_jacobian_and_the_direction(name):
    f, shape = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    x, tangent = tf.constant(rng.normal(size=shape)), tf.constant(rng.normal(size=shape))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        ys = tf.nest.flatten(f(x))
    for y, product in zip(ys, tf.nest.flatten(jvp(f, x, tangent)), strict=True):
        jacobian = np.reshape(tape.jacobian(y, x), (-1, np.prod(shape)))
        expected = np.reshape(jacobian @ np.ravel(tangent), y.shape)
        assert product.dtype is tf.float64
        assert_allclose(product, expected, rtol=1e-10, atol=1e-12)


def test_a_direction_for_each_of_several_primals():
    x, y, v = tf.constant(2.0), tf.constant([3.0, 4.0]), tf.Variable(5.0)
    primals = {"x": x, "rest": [y, v]}
    with Forward(primals, {"x": tf.constant(1.0), "rest": [tf.constant([10.0, 0.0]), 100.0]}) as acc:
        z = x * y * v
    assert_array_equal(acc.jvp(z), [3 * 5 + 10 * 10 + 100 * 6, 4 * 5 + 100 * 8])


@pytest.mark.parametrize("tangent", [np.array([1.0, 10.0]), np.array([1, 10]), tf.Variable([1.0, 10.0])])
def test_a_tangent_may_be_anything_that_becomes_a_tensor(tangent):
    assert_array_equal(jvp(lambda x: x * x, tf.constant([1.0, 2.0]), tangent), [2.0, 40.0])


def test_results_may_be_asked_for_in_any_structure_inside_the_block_and_after():
    x = tf.constant(2.0)
    with Forward(x, tf.constant(1.0)) as acc:
        y = x * x
        inside = acc.jvp(y)
        z = {"a": y * x, "b": [x * 3.0]}
    after = acc.jvp(z)
    assert float(inside) == 4.0
    assert float(after["a"]) == 12.0
    assert float(after["b"][0]) == 3.0
    assert float(acc.jvp(y)) == 4.0
    assert float(acc.jvp(x)) == 1.0


def test_what_is_not_connected_gives_none_or_zeros():
    x = tf.constant(2.0)
    with Forward(x, tf.constant(1.0)) as acc:
        other = tf.constant([1.0, 2.0]) * 2.0
        stopped = tf.stop_gradient(x) * 3.0
        rounded = tf.cast(x, tf.int32)
    outside = x * x
    for y in (other, stopped, rounded, outside):
        assert acc.jvp(y) is None
    assert_array_equal(acc.jvp(other, tf.UnconnectedGradients.ZERO), np.zeros(2, np.float32), strict=True)
    assert_array_equal(acc.jvp(other, unconnected_gradients="zero"), [0.0, 0.0])


def test_a_variable_assigned_inside_moves_with_each_value():
    v = tf.Variable(3.0)
    with Forward(v, tf.constant(1.0)) as acc:
        y = v * v
        v.assign(5.0)
        z = v * v
    assert [float(acc.jvp(t)) for t in (y, z)] == [6.0, 10.0]


def test_entering_again_goes_on():
    x = tf.constant(2.0)
    acc = Forward(x, tf.constant(1.0))
    with acc:
        y = x * x
    with acc:
        z = y * x
    assert float(acc.jvp(z)) == 12.0


def test_an_exception_closes_the_block():
    acc = Forward(tf.constant(2.0), tf.constant(1.0))
    with pytest.raises(KeyError), acc:
        raise KeyError
    assert local.here.tapes == []


@pytest.mark.parametrize(
    ("f", "tangent", "expected"),
    [
        # A product with a direction is not conjugated: it is the derivative times the tangent.
        (lambda z: z * z * 1j, 1j, 2 * (1 + 2j) * 1j * 1j),
        (lambda z: tf.exp(z), 0.5 + 1j, np.exp(1 + 2j) * (0.5 + 1j)),
        (lambda z: tf.math.conj(z), 1j, -1j),
        (lambda z: tf.reduce_sum([z, 2.0 * z]), 1j, 3j),
    ],
)
def test_complex_numbers(f, tangent, expected):
    assert_allclose(jvp(f, tf.constant(1 + 2j), tf.constant(tangent)), expected, rtol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Among tapes and other accumulators


def test_over_a_tape_a_hessian_times_a_vector():
    x = tf.Variable([1.0, 2.0])
    with Forward(x, tf.constant([1.0, 0.0])) as acc:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(x**3) * x[1]
        gradient = tape.gradient(y, x)
    assert_array_equal(gradient, [6.0, 33.0])
    assert_array_equal(acc.jvp(gradient), [12.0, 3.0])


def test_under_a_tape_the_gradient_of_a_product():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        with Forward(x, tf.constant([1.0, 0.0])) as acc:
            y = tf.reduce_sum(x**3) * x[1]
        product = acc.jvp(y)
    assert float(product) == 6.0
    assert_array_equal(tape.gradient(product, x), [12.0, 3.0])


def test_under_a_tape_the_direction_may_be_differentiated_too():
    x, tangent = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0])
    with tf.GradientTape() as tape:
        with Forward(x, tangent) as acc:
            y = tf.reduce_sum(x * x)
        product = acc.jvp(y)
    assert_array_equal(tape.gradient(product, tangent), [2.0, 4.0])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_nested_to_any_depth(order):
    x = tf.constant(2.0)

    def derivative(n):
        if n == 0:
            return x**5
        with Forward(x, tf.constant(1.0)) as acc:
            y = derivative(n - 1)
        return acc.jvp(y)

    assert float(derivative(order)) == [80, 160, 240, 240][order - 1]


def test_an_outer_accumulator_knows_the_inner_results_too():
    x = tf.constant(2.0)
    with Forward(x, tf.constant(1.0)) as outer:
        with Forward(x, tf.constant(10.0)) as inner:
            y = x**3
        first = inner.jvp(y)
    assert [float(first), float(outer.jvp(y)), float(outer.jvp(first))] == [120.0, 12.0, 120.0]


def test_two_side_by_side_do_not_mix():
    x = tf.constant(2.0)
    with Forward(x, tf.constant(1.0)) as a, Forward(x, tf.constant(10.0)) as b:
        y = x * x
    assert [float(a.jvp(y)), float(b.jvp(y))] == [4.0, 40.0]


@pytest.mark.parametrize(
    "name", ["elementwise", "matmul", "softmax", "extremes", "splitting", "gather", "norm"]
)
def test_all_ways_to_the_second_order_agree(name):
    f, shape = FUNCTIONS[name]
    rng = np.random.default_rng(1)
    x, t = tf.constant(rng.normal(size=shape)), tf.constant(rng.normal(size=shape))

    def total():
        return tf.add_n([tf.reduce_sum(y * y) for y in tf.nest.flatten(f(x))])

    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = total()
        gradient = tf.convert_to_tensor(inner.gradient(y, x))
    expected = np.tensordot(outer.jacobian(gradient, x), t, len(shape))

    with Forward(x, t) as over:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = total()
        gradient = tf.convert_to_tensor(tape.gradient(y, x))
    assert_allclose(over.jvp(gradient), expected, rtol=1e-9, atol=1e-10)

    with tf.GradientTape() as tape:
        tape.watch(x)
        with Forward(x, t) as under:
            y = total()
        product = under.jvp(y)
    assert_allclose(tape.gradient(product, x), expected, rtol=1e-9, atol=1e-10)

    with Forward(x, t) as outer_forward:
        with Forward(x, t) as inner_forward:
            y = total()
        product = inner_forward.jvp(y)
    assert_allclose(outer_forward.jvp(product), np.sum(expected * t.numpy()), rtol=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# Custom gradients: the user's own gradient holds forward too


def test_a_custom_gradient_is_transposed():
    @tf.custom_gradient
    def seven(x):
        return x * x, lambda upstream: upstream * 7.0

    assert float(jvp(seven, tf.constant(3.0), tf.constant(2.0))) == 14.0


def test_a_custom_gradient_of_several_inputs_and_outputs():
    @tf.custom_gradient
    def f(x, y):
        return (x * y, x + y), lambda a, b: (a * 2.0 + b * 3.0, a * 5.0 + b * 7.0)

    x, y = tf.constant(1.0), tf.constant(1.0)
    with Forward([x, y], [tf.constant(1.0), tf.constant(10.0)]) as acc:
        p, q = f(x, y)
    assert [float(acc.jvp(p)), float(acc.jvp(q))] == [52.0, 73.0]


def test_recompute_grad_and_grad_pass_through():
    x = tf.constant(3.0)
    assert float(jvp(tf.recompute_grad(lambda x: x * x), x, tf.constant(1.0))) == 6.0
    assert float(jvp(tf.grad_pass_through(tf.round), x, tf.constant(5.0))) == 5.0


# ---------------------------------------------------------------------------------------------------------------------
# Mistakes


@pytest.mark.parametrize(
    ("primals", "tangents", "error", "message"),
    [
        (
            tf.constant([1.0, 2.0]),
            tf.constant(1.0),
            ValueError,
            r"shape \(\) and dtype float32 does not match",
        ),
        (
            tf.constant(1.0),
            tf.constant(1.0, tf.float64),
            ValueError,
            "dtype float64 does not match its primal",
        ),
        ([tf.constant(1.0)], [1.0, 2.0], ValueError, "1 items in the first, 2 in the second"),
        (
            1.0,
            tf.constant(1.0),
            TypeError,
            r"a primal must be a Tensor or a Variable, not 1\.0 of type float",
        ),
    ],
)
def test_primals_and_tangents_must_fit(primals, tangents, error, message):
    with pytest.raises(error, match=message):
        Forward(primals, tangents)


def test_a_primal_may_be_given_once():
    x = tf.constant(3.0)
    with pytest.raises(ValueError, match=r"given twice.*the sum of its tangents"):
        Forward([x, x], [tf.constant(1.0), tf.constant(10.0)])


def test_an_integer_primal_does_not_move_and_a_log_says_so(caplog):
    n, x = tf.constant(3), tf.constant(2.0)
    with caplog.at_level(logging.WARNING, logger="gradtape"):
        acc = Forward([n, x], [tf.constant(1), tf.constant(1.0)])
    with acc:
        y = tf.cast(n, tf.float32) * x
    assert caplog.records[0].getMessage() == "the dtype of a primal must be floating, not int32"
    assert float(acc.jvp(y)) == 3.0


def test_it_cannot_be_entered_inside_its_own_block():
    acc = Forward(tf.constant(1.0), tf.constant(1.0))
    with acc, pytest.raises(ValueError, match="recording already"), acc:
        pass


def test_jvp_takes_tensors_and_variables_only():
    acc = Forward(tf.constant(1.0), tf.constant(1.0))
    with pytest.raises(TypeError, match=r"jvp: 3\.0 of type float is no Tensor or Variable"):
        acc.jvp(3.0)
