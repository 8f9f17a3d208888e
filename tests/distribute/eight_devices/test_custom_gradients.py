"""Functions with a gradient of their own in plain functions that `run` is given, by one program and by replicas."""

import pytest
from tests.distribute.plain_runs import CALLS, FOLLOW_FROM, compared, rows

import gradtape as tf


def stepping(make):
    def program(strategy):
        step, state = make(strategy)
        return lambda i: strategy.run(step, args=(rows(strategy, i),)), state

    return program


def scaled(strategy):
    """The gradient function uses what the function has computed, and numbers of Python's that change; it is counted."""
    with strategy.scope():
        w, optimizer = tf.Variable([1.0, 2.0, 3.0, 4.0]), tf.optimizers.Adam(0.1)
    state = {"rate": 1.0, "calls": 0}

    @tf.custom_gradient
    def softplus(x):
        e = tf.exp(x)

        def grad(upstream):
            state["calls"] += 1
            return upstream * (1.0 - 1.0 / (1.0 + e)) * state["rate"]

        return tf.math.log(1.0 + e), grad

    def step(x):
        state["rate"] *= 0.9
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(softplus(softplus(x * w) + 1.0))
        slope = tape.gradient(loss, w)
        optimizer.apply_gradients([(slope, w)])
        return loss, slope

    return step, lambda: [w, dict(state)]


def of_variables(strategy):
    """The function reads variables; it has several results, and no gradient for one of its inputs."""
    with strategy.scope():
        v, w = tf.Variable(2.0), tf.Variable([1.0, 2.0, 3.0, 4.0])

    @tf.custom_gradient
    def product(x, y):
        def grad(a, b, variables=None):
            slopes = {"v": tf.reduce_sum(a * x), "w": tf.reduce_sum(b * 10.0, 0)}
            return (a * v, None), [slopes["v" if z is v else "w"] for z in variables]

        return (x * v, y * w.value()), grad

    def step(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            a, b = product(x, tf.sin(x))
            loss = tf.reduce_sum(a) + tf.reduce_mean(b)
        found = [tape.gradient(loss, z) for z in (x, v, w)]
        del tape
        return found

    return step, lambda: [v, w]


def meeting(strategy):
    """The gradient function adds up over replicas; gradients pass as through the identity."""
    with strategy.scope():
        w = tf.Variable(1.5)

    @tf.custom_gradient
    def synchronized(x):
        return x + 0.0, lambda g: tf.distribute.get_replica_context().all_reduce("MEAN", g)

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(synchronized(tf.grad_pass_through(tf.round)(x * w)) * x)
        slope = tape.gradient(loss, w)
        w.assign_sub(0.01 * tf.distribute.get_replica_context().all_reduce("SUM", slope))
        return loss, slope

    return step, lambda: [w]


def twice(strategy):
    """Second order, Jacobians, and complex numbers."""

    @tf.custom_gradient
    def cube(x):
        return x**3, lambda g: g * 4.0 * x**2

    def step(x):
        row = x[0]
        with tf.GradientTape() as outer:
            outer.watch(row)
            with tf.GradientTape() as tape:
                tape.watch(row)
                y = tf.reduce_sum(cube(row))
            slope = tape.gradient(y, row)
        with tf.GradientTape() as third:
            third.watch(row)
            z = cube(row) * 2.0
        number = tf.complex(row, row)
        with tf.GradientTape() as fourth:
            fourth.watch(number)
            u = tf.math.real(tf.reduce_sum(cube(number)))
        return slope, outer.gradient(slope, row), third.jacobian(z, row), fourth.gradient(u, number)

    return step, list


PROGRAMS = [scaled, of_variables, meeting, twice]


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("program", PROGRAMS)
def test_custom_gradients_are_parts_of_the_program(program, count, start):
    (found,) = compared(stepping(program), count, start).values()
    assert found == {"calls": CALLS, "one program": CALLS - FOLLOW_FROM + 1, "reasons": {}}


def looking(strategy):
    """In some calls the gradient function looks at a value, does something else, or raises."""
    with strategy.scope():
        w = tf.Variable(1.5)
    calls, log = [], []

    @tf.custom_gradient
    def square(x):
        def grad(g):
            call = len(calls) // strategy.num_replicas_in_sync
            if call == 6 and float(tf.reduce_sum(g)) > -1.0:
                return g * 3.0
            if call == 7:
                raise KeyError("in a gradient")
            return tf.sin(g) if call == 9 else g * 2.0 * x

        return x * x, grad

    def step(x):
        calls.append(1)
        with tf.GradientTape() as tape:
            y = square(x * w)
            log.append(y)
            loss = tf.reduce_mean(y)
        try:
            slope = tape.gradient(loss, w)
        except KeyError:
            slope = tf.constant(0.5)
        w.assign_sub(0.1 * tf.distribute.get_replica_context().all_reduce("SUM", slope))
        return loss, slope

    return step, lambda: [w, log]


def reading_late(strategy):
    """The pass is left inside the function, which reads a variable before and after."""
    with strategy.scope():
        v, w = tf.Variable(2.0), tf.Variable(3.0)
    calls = []

    @tf.custom_gradient
    def product(x):
        y = x * v
        if len(calls) > 5 * strategy.num_replicas_in_sync:
            y = tf.cos(y) * float(y[0, 0])

        def grad(g, variables):
            return g, [tf.reduce_sum(g) * (i + 1.0) for i in range(len(variables))]

        return y + w, grad

    def step(x):
        calls.append(1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(product(x))
        return loss, tape.gradient(loss, [v, w])

    return step, list


def with_a_tape(strategy):
    """The gradient function has a tape of its own."""

    @tf.custom_gradient
    def wave(x):
        def grad(g):
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.sin(x)
            return g * inner.gradient(y, x)

        return tf.sin(x), grad

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = wave(x)
        return tape.gradient(y, x)

    return step, list


@pytest.mark.parametrize("program", [looking, reading_late, with_a_tape])
def test_what_leaves_the_program(program, start):
    (found,) = compared(stepping(program), 2, start).values()
    assert found["reasons"], found
