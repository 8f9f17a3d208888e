"""Loops that Python unrolls are rolled up again: the same values and gradients, and code that does not grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradtape as tf

jax = pytest.importorskip("jax")

from gradtape.compiled.jaxprs import inner_code  # noqa: E402  (needs JAX)

_RNG = np.random.default_rng(0)
_MATRIX = tf.constant(_RNG.standard_normal((3, 3), dtype="float32") / 3)
_SERIES = tf.constant(_RNG.standard_normal((40, 4), dtype="float32"))
_WEIGHTS = tf.Variable(_RNG.standard_normal((7, 3), dtype="float32") / 3)
_START = tf.constant([0.3, -0.7, 1.1])
_POINTS = tf.constant(_RNG.standard_normal((7, 3), dtype="float32"))
_BELOW = [[1, 0], [2, 0], [2, 1]]


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


def steps_in_a_loop(x: Any) -> Any:
    def several(x: Any) -> Any:
        for t in range(40):
            x = x + 0.01 * tf.sin(x) * (1.0 + 0.1 * t) - 0.02 * x * x
        return tf.cond(tf.reduce_sum(x) > 0.5, lambda: 0.9 * x, lambda: x[::-1])

    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, several(x)), [0, x])[1]


# Programs whose blocks do not wait for each other


def components(x: Any) -> Any:
    means = _SERIES[:, :3] * x
    factors = tf.exp(0.1 * _SERIES * x[0])
    scores = []
    for k in range(40):
        centered = _POINTS - means[k]
        factor = tf.scatter_nd(_BELOW, factors[k, :3], (3, 3))
        whitened = centered * x[1] + tf.matmul(centered, factor, transpose_b=True)
        scores.append(factors[k, 3] - 0.5 * tf.reduce_sum(tf.square(whitened), axis=1))
    return tf.reduce_sum(tf.reduce_logsumexp(tf.stack(scores, axis=1), axis=1))


def a_sum_with_shared_weights(x: Any) -> Any:
    weights = tf.tensordot(x, tf.constant([1.0, -0.5]), 0)
    total = tf.zeros([])
    for t in range(40):
        hidden = tf.tanh((_POINTS + 0.1 * t) @ weights)
        total += tf.reduce_sum(hidden * _SERIES[t, 0])
    return total * x[2]


def two_sums_in_reverse(x: Any) -> Any:
    rows = x * _SERIES[:, :3]
    total, weighted = tf.zeros([]), tf.reduce_sum(x)
    for t in reversed(range(40)):
        y = tf.sin(rows[t]) * tf.exp(0.1 * rows[t])
        total += tf.reduce_sum(y)
        weighted += tf.reduce_sum(y * rows[t] + x) * 0.1
    return total + weighted**2


def parts_of_a_vector(x: Any) -> Any:
    values = tf.reshape(_SERIES[:, :3] * x, [-1])
    parts = []
    for t in range(20):
        part = values[6 * t : 6 * t + 6]
        parts.append(tf.sin(part) * tf.reverse(part, [0]) + values[2 * t : 2 * t + 1])
    return tf.concat(parts, 0) * 0.5 + tf.concat(parts[::-1], 0)


def columns(x: Any) -> Any:
    table = tf.transpose(_SERIES)[:3] * x[:, None]
    scores = []
    for t in range(40):
        column = table[:, t]
        scores.append(tf.reduce_max(column) * tf.sin(column) + tf.cumsum(column) * float(t))
    return tf.stack(scores)[3] + tf.reduce_mean(tf.stack(scores[2:]), 0) * scores[7]


def windows_that_overlap(x: Any) -> Any:
    values = tf.reshape(_SERIES[:, :3] * x, [-1])
    total = tf.zeros([])
    for t in range(40):
        total += tf.reduce_sum(tf.sin(values[t : t + 3]) * values[t + 1 : t + 4])
    return total


def recurrence(steps: int) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        inputs = tf.tensordot(tf.constant([0.5, -0.3]), x, 0)
        weights = tf.tensordot(x, tf.constant([0.1, 0.3, -0.2, 0.4]), 0)[:, :3] + _MATRIX
        state, rows = tf.zeros([2, 3]), []
        for t in range(steps):
            row = tf.reshape(_SERIES[t % 40], [2, 2]) @ inputs
            state = tf.tanh(row + state @ weights) + 0.1 * tf.sin(state) * state
            rows.append(state)
        return (
            tf.reduce_sum(state) + tf.reduce_sum(tf.concat([*rows[5:30], rows[2], *rows[20:8:-1]], 1), 1)[0]
        )

    return run


def a_recurrence(x: Any) -> Any:
    return recurrence(40)(x)


INDEPENDENT = [components, a_sum_with_shared_weights, two_sums_in_reverse, parts_of_a_vector, columns]
PROGRAMS = [
    *INDEPENDENT,
    windows_that_overlap,
    a_recurrence,
    steps_in_a_loop,
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


def test_the_gradient_of_weights_that_every_step_uses_is_one_product() -> None:
    # Two a step forward, one back, by the state, and 6 by the weights and x.
    assert _operations(recurrence(8)).count("dot_general") == 2 * 8 + 7 + 6
    long, longer = _operations(recurrence(100)), _operations(recurrence(400))
    assert longer == long and "scan" in longer  # whose states are joined as they are stacked


@pytest.mark.parametrize("program", INDEPENDENT, ids=lambda program: program.__name__)
def test_independent_blocks_need_no_loop(program: Callable[[Any], Any]) -> None:
    operations = _operations(program)
    assert "scan" not in operations and len(operations) < 320


def test_the_first_block_of_a_sum_is_one_of_all() -> None:
    def components(count: int) -> Callable[[Any], Any]:
        data = tf.constant(np.linspace(-1.0, 1.0, 3 * count, dtype="float32").reshape(count, 3))

        def run(x: Any) -> Any:
            means = data * x
            total = tf.zeros([])
            for k in range(count):
                distance = tf.reduce_sum(tf.square(_POINTS - means[k]), axis=1) + tf.sin(means[k, 0])
                total += tf.reduce_sum(tf.exp(-distance) * tf.tanh(distance))
            return total

        return run

    few, many = _operations(components(20)), _operations(components(60))
    assert many == few
    assert few.count("exp") == 1  # neither in a block of its own nor in the backward pass


def test_the_code_of_a_loop_does_not_grow_either() -> None:
    def steps(count: int) -> list[int]:
        @tf.function
        def run(xs: Any) -> Any:
            def several(x: Any) -> Any:
                for _ in range(count):
                    x = x + 0.01 * tf.sin(x) * tf.cos(x) - 0.02 * x * x
                return x

            return tf.map_fn(several, xs)

        run(tf.ones((4, 3)))
        (compiled,) = run._programs.values()
        return [len(code.eqns) for code in inner_code(compiled.executable.graph.code.jaxpr)]

    assert steps(40) == steps(200)


def test_a_random_number_for_each_step() -> None:
    @tf.function
    def walk(x: Any) -> Any:
        steps = []
        for _ in range(16):
            steps.append(tf.random.uniform([]) * tf.sin(x))
        return tf.stack(steps)

    tf.random.set_seed(3)
    first = walk(_START)
    assert len({float(row[0]) for row in first.numpy()}) == 16
    tf.random.set_seed(3)
    assert (walk(_START).numpy() == first.numpy()).all()


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
