"""Random programs agree with JAX in float64: value, gradient, Jacobian and Hessian-vector product; and with themselves
compiled: value and gradient."""

from __future__ import annotations

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings

import gradtape as tf
from gradtape.core.tensor import wrap

from .programs import Program, listing, programs

COUNT = int(os.environ.get("GRADTAPE_FUZZ", "200"))  # `make fuzz N=10000` sets it
PARTS = 4  # so that two processes can share the work
COMPILED = COUNT if "GRADTAPE_FUZZ_XLA" in os.environ else min(COUNT, 8)  # each takes a second
TOLERANCE = 1e-8  # relative to the largest element


def close(got, wanted, what: str) -> None:
    got, wanted = np.asarray(got), np.asarray(wanted)
    scale = max(1.0, float(np.abs(wanted).max(initial=0)))
    assert got.shape == wanted.shape, what
    assert float(np.abs(got - wanted).max(initial=0)) <= TOLERANCE * scale, f"{what}: {got} is not {wanted}"


def wanted(program: Program, inputs: list[np.ndarray], direction: list[np.ndarray]):
    """What JAX says, compiled as one function: operation by operation it would compile each for each shape."""

    def loss(xs):
        return sum(jnp.sum(v) * (i + 1) for i, v in enumerate(program.run("jax", jnp, xs)))

    def everything(xs, ds):
        value, slopes = jax.value_and_grad(loss)(xs)
        products = jax.jvp(jax.grad(loss), (xs,), (ds,))[1]
        rows = jax.jacrev(lambda ys: program.run("jax", jnp, ys)[-1])(xs)
        largest = jnp.max(jnp.stack([jnp.max(jnp.abs(v), initial=0) for v in program.run("jax", jnp, xs)]))
        return value, slopes, products, rows, largest

    return jax.jit(everything)(inputs, direction)


def dense(g, x):
    """None counts as zeros, as JAX gives them."""
    return np.zeros(x.shape) if g is None else tf.convert_to_tensor(g).numpy()


def loss_in_tape(program: Program, inputs):
    return tf.add_n([tf.reduce_sum(v) * float(i + 1) for i, v in enumerate(program.run("tape", tf, inputs))])


@pytest.mark.parametrize("part", range(PARTS))
@settings(
    max_examples=COUNT // PARTS, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck)
)
@given(program=programs())
def test_a_random_program_agrees_with_jax(part, program):
    note(listing(program))
    with jax.enable_x64(True):
        try:
            check(program)
        except AssertionError:
            # XLA miscompiles some programs (jax 0.10.2: Hessian-vector products with a variance): JAX operation by
            # operation has the last word.
            with jax.disable_jit():
                check(program)


def check(program: Program) -> None:
    inputs = program.values()
    direction = [np.cos(np.arange(x.size)).reshape(x.shape) for x in inputs]
    value, slopes, wanted_products, wanted_rows, largest = wanted(program, inputs, direction)
    assume(largest < 1e6)  # beyond, float64 comparisons say little
    tensors = [tf.constant(x) for x in inputs]

    with tf.GradientTape() as outer:
        outer.watch(tensors)
        with tf.GradientTape() as inner:
            inner.watch(tensors)
            loss = loss_in_tape(program, tensors)
        gradients = inner.gradient(loss, tensors, unconnected_gradients="zero")
        along = tf.add_n([tf.reduce_sum(g * d) for g, d in zip(gradients, direction, strict=True)])
    products = outer.gradient(along, tensors)
    close(loss, value, "value")
    for g, slope in zip(gradients, slopes, strict=True):
        close(tf.convert_to_tensor(g), slope, "gradient")
    for x, p, product in zip(inputs, products, wanted_products, strict=True):
        close(dense(p, x), product, "Hessian-vector product")

    with tf.GradientTape() as tape:
        tape.watch(tensors)
        last = program.run("tape", tf, tensors)[-1]
    for row, wanted_row in zip(
        tape.jacobian(last, tensors, unconnected_gradients="zero"), wanted_rows, strict=True
    ):
        close(row, wanted_row, "Jacobian")


@pytest.mark.parametrize("part", range(2))
@settings(max_examples=COMPILED // 2, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_a_random_program_is_the_same_compiled(part, program):
    note(listing(program))
    inputs = program.values()
    with jax.enable_x64(True):
        value, slopes = jax.jit(lambda *arrays: differentiated(program, arrays))(*inputs)
    wanted_value, wanted_slopes = differentiated(program, inputs)
    close(value, wanted_value, "value")
    for slope, wanted_slope in zip(slopes, wanted_slopes, strict=True):
        close(slope, wanted_slope, "gradient")


def differentiated(program: Program, arrays):
    """The loss and its gradient, of NumPy's arrays or traced ones."""
    tensors = [wrap(array) for array in arrays]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        loss = loss_in_tape(program, tensors)
    gradients = tape.gradient(loss, tensors, unconnected_gradients="zero")
    return loss._array, [tf.convert_to_tensor(g)._array for g in gradients]
