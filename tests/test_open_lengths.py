"""Functions that expect tensors of many lengths: compiled for the first, and for others only if they come often."""

import numpy as np
import pytest

import gradtape as tf

pytest.importorskip("jax")

LENGTHS = range(1, 13)
OPEN = [tf.TensorSpec([None])]
OFTEN = 128  # calls until a few small operations are compiled


def counted(**options):
    """A function that counts how often its Python runs."""
    calls = []

    @tf.function(**options)
    def total(x):
        calls.append(1)
        return tf.reduce_sum(x * x)

    return total, calls


@pytest.mark.parametrize("options", [{"input_signature": OPEN}, {"reduce_retracing": True}])
def test_other_lengths_are_not_compiled_until_they_come_often(options):
    total, _ = counted(**options)
    for n in LENGTHS:
        assert float(total(tf.ones(n))) == n
    assert total.experimental_get_tracing_count() == 1
    for _ in range(OFTEN - 1):
        assert float(total(tf.ones(5))) == 5
    assert total.experimental_get_tracing_count() == 1
    assert float(total(tf.ones(5))) == 5
    assert total.experimental_get_tracing_count() == 2
    assert float(total(tf.ones(6))) == 6
    assert total.experimental_get_tracing_count() == 2


def test_other_arguments_than_lengths_are_compiled_at_once():
    @tf.function(reduce_retracing=True)
    def total(batch):
        x, weights = (*batch, None)[:2]
        return tf.reduce_sum(x if weights is None else x * weights)

    assert float(total((tf.ones(3), tf.ones(3)))) == 3
    for n in 3, 4, 5:
        assert float(total((tf.ones(n), None))) == n
    assert total.experimental_get_tracing_count() == 2
    assert float(total((tf.ones(3),))) == 3
    assert total.experimental_get_tracing_count() == 3


def test_the_more_shapes_are_compiled_the_more_often_another_one_must_come():
    total, _ = counted(reduce_retracing=True)
    for n in range(1, 18):
        x = tf.ones((n, n))
        for _ in range(OFTEN + 1):
            total(x)
    assert total.experimental_get_tracing_count() == 16
    for _ in range(OFTEN):
        total(x)
    assert total.experimental_get_tracing_count() == 17


def test_a_long_loop_is_compiled_sooner():
    @tf.function(reduce_retracing=True)
    def last(xs):
        return tf.foldl(lambda state, x: tf.tanh(state + x) * 0.9 - tf.sin(state), xs)

    last(tf.ones(300))
    for _ in range(30):
        last(tf.ones(301))
    assert last.experimental_get_tracing_count() == 2


def test_once_compiled_no_python_runs():
    total, calls = counted(input_signature=OPEN)
    for _ in range(OFTEN + 20):
        total(tf.ones(3))
        total(tf.ones(4))
    assert len(calls) == 1 + OFTEN + 1  # traced for 3; run for 4 until it is often; traced for 4


@pytest.mark.parametrize("options", [{}, {"input_signature": OPEN, "jit_compile": True}])
def test_other_functions_are_compiled_for_each_shape(options):
    total, _ = counted(**options)
    for n in LENGTHS:
        total(tf.ones(n))
    assert total.experimental_get_tracing_count() == len(LENGTHS)


def test_the_smaller_last_batch_is_compiled_at_once():
    @tf.function(reduce_retracing=True)
    def loss(x, y):
        return tf.reduce_mean(tf.square(tf.reduce_sum(x, 1) - y))

    for rows, columns, traces in [(32, 4, 1), (8, 4, 2), (5, 4, 2), (32, 5, 2), (8, 4, 2)]:
        assert float(loss(tf.ones((rows, columns)), tf.zeros(rows))) == columns**2
        assert loss.experimental_get_tracing_count() == traces


def test_the_smaller_last_batch_is_compiled_at_once_for_each_kind_of_batch():
    @tf.function(reduce_retracing=True)
    def total(batch):
        return tf.reduce_sum(batch[0])

    x = tf.ones((32, 2))
    total((x, None))  # as `train_on_batch` of Keras gives one,
    for rows, traces in [(32, 2), (8, 3), (8, 3), (5, 3)]:  # and then `fit`
        assert float(total((x[:rows],))) == 2 * rows
        assert total.experimental_get_tracing_count() == traces


def test_large_tensors_are_compiled_at_once():
    total, _ = counted(reduce_retracing=True)
    total(tf.ones(1))
    total(tf.ones((1 << 20) + 1))
    assert total.experimental_get_tracing_count() == 2


def test_arguments_are_converted_as_in_compiled_code():
    total, _ = counted(input_signature=[tf.TensorSpec([None], tf.float64)])
    total([1.0])
    result = total([1.0, 2.0])
    assert result.dtype == tf.float64
    assert float(result) == 5.0
    with pytest.raises(TypeError, match="shape"):
        total([[1.0, 2.0]])
    kinds = []

    @tf.function(reduce_retracing=True)
    def kind(x):
        kinds.append(type(x))
        return x

    for n in (1, 2):
        kind(np.ones(n))
    assert kinds == [tf.Tensor, tf.Tensor]


def test_gradients_and_variables_are_those_of_compiled_code():
    weight = tf.Variable(2.0)

    @tf.function(reduce_retracing=True)
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(weight * x - 1.0))
        gradient = tape.gradient(loss, weight)
        weight.assign_sub(0.1 * gradient)
        return gradient

    expected = 2.0
    for n in (3, 4, 5, 4, 3):
        x = np.arange(n, dtype="float32")
        slope = np.mean(2 * (expected * x - 1) * x)
        np.testing.assert_allclose(step(tf.constant(x)), slope, rtol=1e-5)
        expected -= 0.1 * slope
        np.testing.assert_allclose(weight, expected, rtol=1e-5)
    assert step.experimental_get_tracing_count() == 1


def test_a_tape_outside_sees_through_both():
    total, _ = counted(reduce_retracing=True)
    for n in (2, 3):
        x = tf.ones(n)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = total(x)
        assert tape.gradient(y, x).numpy().tolist() == [2.0] * n
    assert total.experimental_get_tracing_count() == 1


def test_methods_and_copies_keep_the_option():
    class Model:
        @tf.function(reduce_retracing=True)
        def total(self, x):
            return tf.reduce_sum(x)

    model = Model()
    for n in LENGTHS:
        model.total(tf.ones(n))
    assert model.total.experimental_get_tracing_count() == 1
