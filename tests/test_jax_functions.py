"""Functions of JAX arrays as functions of tensors."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import gradtape as tf
from gradtape.compat.jax_functions import on_tensors

X = [1.0, 2.0, 3.0]


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_two_orders(compiled):
    cube = on_tensors(lambda x: jnp.sum(x**3))

    def derivatives(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = cube(x)
            first = inner.gradient(y, x)
        return y, first, outer.gradient(first, x)

    y, first, second = (tf.function(derivatives) if compiled else derivatives)(tf.constant(X))
    assert_allclose([float(y), *first, *second], [36, 3, 12, 27, 6, 12, 18])


def test_structures_integers_and_none():
    def pick(parts, number, nothing):
        assert nothing is None
        return {"row": parts["table"][number] * 2, "number": number + 1}

    table = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        out = on_tensors(pick)({"table": table}, tf.constant(1), None)
        loss = tf.reduce_sum(out["row"])
    assert out["row"].numpy().tolist() == [6, 8] and int(out["number"]) == 2
    assert tf.convert_to_tensor(tape.gradient(loss, table)).numpy().tolist() == [[0, 0], [2, 2]]


def test_float64_is_float32_to_jax_and_the_gradient_is_float64_again():
    x = tf.constant(X, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = on_tensors(lambda x: jnp.sum(x * jnp.ones(3)))(x)
    assert y.dtype is tf.float32
    assert tape.gradient(y, x).dtype is tf.float64


@pytest.mark.parametrize("compiled", [False, True])
def test_no_tensor_becomes_an_array_of_jax_by_itself(compiled):
    """JAX's operators leave tensors to ours, which tapes see."""

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = jnp.ones(3) * x
        return tape.gradient(y, x)

    assert_allclose((tf.function(gradient) if compiled else gradient)(tf.constant(X)), np.ones(3))
