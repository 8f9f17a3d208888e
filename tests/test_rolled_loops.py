"""Loops that Python unrolls are rolled up again: the same values and gradients, and code that does not grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradtape as tf

jax = pytest.importorskip("jax")

_RNG = np.random.default_rng(0)
_MATRIX = tf.constant(_RNG.standard_normal((3, 3), dtype="float32") / 3)
_SERIES = tf.constant(_RNG.standard_normal((40, 4), dtype="float32"))
_WEIGHTS = tf.Variable(_RNG.standard_normal((7, 3), dtype="float32") / 3)
_START = tf.constant([0.3, -0.7, 1.1])


def matrix_steps(x: Any) -> Any:
    for _ in range(40):
        x = x + 0.1 * (tf.linalg.matvec(_MATRIX, x) - 0.1 * x**3)
    return x


def network_over_rows(x: Any) -> Any:
    states = []
    for t in range(40):
        x = tf.tanh(tf.linalg.matvec(_WEIGHTS, tf.concat([_SERIES[t], x], 0), transpose_a=True))
        states.append(x)
    return tf.reduce_sum(tf.stack(states) ** 2, 1)


def values_of_earlier_steps(x: Any) -> Any:
    states = [x, 0.5 * x, tf.sin(x)]
    for t in range(40):
        states.append(0.5 * states[-1] + 0.3 * tf.sin(states[-2]) + 0.1 * states[-3] + 0.01 * t)
    return states[-1] + states[20] * states[5]


def rows_that_overlap(x: Any) -> Any:
    rows = x * _SERIES[:, :3]
    total = tf.zeros([])
    for t in range(39):
        total = 0.9 * total + tf.reduce_sum(rows[t] * tf.cos(rows[t + 1]))
    return total


def a_value_for_each_step(x: Any) -> Any:
    total = tf.zeros([])
    for value in tf.unstack(tf.sin(_SERIES[:, 0] * x[0]))[::-1]:
        total = tf.tanh(total + value) * x[1]
    return total


def steps_with_an_exception(x: Any) -> Any:
    for t in range(120):
        x = tf.sin(x) * 1.1
        if t == 60:
            x = x + 1.0
    return x


def branches(x: Any) -> Any:
    for t in range(40):
        x = tf.where(x > 0.01 * t, 0.99 * x, 1.01 * tf.concat([x[1:], x[:1]], 0))
    return x


def all_states(x: Any) -> Any:
    states = []
    for _ in range(64):
        x = tf.sin(x) * 1.1 + 0.1 * x[::-1]
        states.append(x)
    return tf.concat(states[::-1], 0)


PROGRAMS = [
    matrix_steps,
    network_over_rows,
    values_of_earlier_steps,
    rows_that_overlap,
    a_value_for_each_step,
    steps_with_an_exception,
    branches,
    all_states,
]


def _results(program: Callable[[Any], Any], decorate: Callable[[Any], Any]) -> list[Any]:
    """The value, and the gradients of first and second order by tapes outside and inside of the function."""

    def gradients(function: Callable[[Any], Any], x: Any) -> list[Any]:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            first = inner.gradient(y, x)
        return [y, first, outer.gradient(first, x)]

    return [*gradients(decorate(program), _START), *decorate(lambda x: gradients(program, x))(_START)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values_and_gradients(program: Callable[[Any], Any]) -> None:
    for eager, compiled in zip(_results(program, lambda f: f), _results(program, tf.function), strict=True):
        assert (eager is None) == (compiled is None)
        if eager is None:
            continue
        size = max(1.0, float(np.abs(eager.numpy()).max()))
        np.testing.assert_allclose(compiled.numpy(), eager.numpy(), rtol=1e-4, atol=1e-5 * size)


def _operations(program: Callable[[Any], Any]) -> list[str]:
    """The operations of a function and its gradient."""

    @tf.function
    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = program(x)
        return tape.gradient(y, x)

    gradient(_START)
    (compiled,) = gradient._programs.values()
    return [eqn.primitive.name for eqn in compiled.executable.graph.code.jaxpr.eqns]


def test_the_code_does_not_grow_with_the_steps() -> None:
    def steps(count: int) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            for _ in range(count):
                x = x + 0.01 * (tf.linalg.matvec(_MATRIX, x) - 0.1 * x * x * x)
            return tf.reduce_sum(x * x)

        return run

    few, many = _operations(steps(40)), _operations(steps(400))
    assert many == few and many.count("scan") == 2 and len(many) < 40


def test_a_random_number_for_each_step() -> None:
    def walk(x: Any) -> Any:
        for _ in range(40):
            x = x + tf.random.normal([3]) * tf.sin(x)
        return x

    tf.random.set_seed(3)
    first = tf.function(walk)(_START)
    tf.random.set_seed(3)
    assert (tf.function(walk)(_START).numpy() == first.numpy()).all()
    assert np.isfinite(first.numpy()).all()


def test_printing_in_a_step_stays_in_its_place(capfd: Any) -> None:
    @tf.function
    def run(x: Any) -> Any:
        for t in range(40):
            x = 1.01 * tf.sin(x) + x * x - tf.cos(x) * tf.exp(-x)
            if t % 20 == 0:
                tf.print("step", t)
        return x

    run(_START)
    jax.effects_barrier()
    assert capfd.readouterr().err.split() == ["step", "0", "step", "20"]


def test_layers_with_large_weights_are_not_stacked() -> None:
    layers = [tf.Variable(tf.eye(64)) for _ in range(40)]

    @tf.function
    def network(x: Any) -> Any:
        for weights in layers:
            x = tf.nn.relu(x @ weights + 0.1) - 0.1 * tf.sin(x) * tf.cos(x)
        return x

    network(tf.ones((1, 64)))
    (compiled,) = network._programs.values()
    assert all(eqn.primitive.name != "scan" for eqn in compiled.executable.graph.code.jaxpr.eqns)


def test_constants_are_kept_once() -> None:
    @tf.function
    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(5):
                y = tf.linalg.matvec(_MATRIX, y) + tf.gather(y, [2, 0, 1])
        return tape.gradient(y, x)

    run(_START)
    (compiled,) = run._programs.values()
    assert len(compiled.executable.constants) <= 3
