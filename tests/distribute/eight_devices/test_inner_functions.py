"""Plain functions that `run` is given outside of a @function, and that call one: by one program and by replicas."""

import numpy as np
import pytest
from tests.distribute.plain_runs import CALLS, FOLLOW_FROM, compared, dense, per_replica, predict, rows

import gradtape as tf


def calling(make):
    """A program whose step calls functions; `make` gives it, and what there is to see."""

    def program(strategy):
        step, state = make(strategy)
        return lambda i: strategy.run(step, args=(rows(strategy, i),)), state

    return program


def forward(strategy):
    with strategy.scope():
        ws, optimizer = dense(np.random.default_rng(0)), tf.optimizers.Adam(0.05)

    @tf.function
    def predicted(x):
        return predict(ws, x)

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((predicted(x) - 1.0) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, ws), ws, strict=True))
        return loss

    return step, lambda: [*ws, *optimizer.variables]


def forward_and_back(strategy):
    """The function has the tape, a loop, a branch, and arguments that are no tensors."""
    with strategy.scope():
        w = tf.Variable([1.0, 2.0, 3.0, 4.0])

    @tf.function
    def slopes(x, count, *, scale=1.0):
        with tf.GradientTape() as tape:
            y = x
            for _ in tf.range(count):
                y = tf.tanh(y * w)
            if tf.reduce_sum(y) > 0:
                y = y * scale
            loss = tf.reduce_mean(y)
        return {"loss": loss, "slope": tape.gradient(loss, w)}

    count = tf.constant(2)

    def step(x):
        found = slopes(x, count, scale=2.0)
        w.assign_sub(tf.distribute.get_replica_context().all_reduce("MEAN", found["slope"]))
        return found

    return step, lambda: [w]


def own_values(strategy):
    """The function writes variables of which each replica has its own value."""
    on_read = tf.VariableSynchronization.ON_READ
    kinds = tf.VariableAggregation
    with strategy.scope():
        total = tf.Variable(0.0, aggregation=kinds.SUM, synchronization=on_read)
        mean = tf.Variable(0.0, aggregation=kinds.MEAN, synchronization=on_read)
        own = tf.Variable(0.0)

    @tf.function
    def counted(x):
        total.assign_add(tf.reduce_sum(x))
        mean.assign(0.5 * mean + tf.reduce_mean(x))
        own.assign_add(1.0)
        return x + total

    def step(x):
        y = counted(x)
        own.assign_add(tf.reduce_max(x))
        return y + mean, counted(y), own * 1.0

    return step, lambda: [total, mean, own]


def methods(strategy):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(2.0)

        @tf.function
        def __call__(self, x):
            return x * self.w

    with strategy.scope():
        models = [Model(), Model()]

    def step(x):
        with tf.GradientTape(persistent=True) as tape:
            y = tf.reduce_sum(models[1](models[0](x)) ** 2)
        slopes = [tape.gradient(y, model.w) for model in models]
        del tape
        return y, slopes

    return step, lambda: [model.w for model in models]


def meeting(strategy):
    """The functions, one in the other, have the replicas meet: TensorFlow refuses them."""
    with strategy.scope():
        ws, optimizer = dense(np.random.default_rng(0)), tf.optimizers.SGD(0.1)
        mean = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)

    @tf.function
    def learn(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((predict(ws, x) - 1.0) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, ws), ws, strict=True))
        return loss

    @tf.function
    def outer(x):
        loss = learn(x)
        mean.assign(loss)
        return tf.distribute.get_replica_context().all_reduce("SUM", loss)

    return (lambda x: outer(x) * 2.0), lambda: [*ws, mean]


def numbered(strategy):
    """The function asks for the number of its replica."""

    @tf.function
    def scaled(x):
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return x * tf.cast(number, tf.float32)

    return (lambda x: scaled(x) + 1.0), list


PROGRAMS = [forward, forward_and_back, own_values, methods, meeting, numbered]
CASES = [(program, 2) for program in PROGRAMS] + [(forward, 8), (own_values, 4), (meeting, 4)]


@pytest.mark.parametrize(("program", "count"), CASES, ids=lambda case: getattr(case, "__name__", case))
def test_functions_inside_are_parts_of_the_program(program, count, start):
    (found,) = compared(calling(program), count, start).values()
    assert found == {"calls": CALLS, "one program": CALLS - FOLLOW_FROM + 1, "reasons": {}}


def drawing(strategy):
    tf.random.set_seed(3)

    @tf.function
    def dropped(x):
        return tf.nn.dropout(x, 0.5)

    return (lambda x: dropped(x) + 1.0), lambda: [tf.random.normal(())]


def of_any_length(strategy):
    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def doubled(x):
        return x * 2.0

    return (lambda x: doubled(x) + 1.0), list


def given_a_variable(strategy):
    with strategy.scope():
        w = tf.Variable(2.0)

    @tf.function
    def times(x, w):
        return x * w

    return (lambda x: times(x, w) + 1.0), list


@pytest.mark.parametrize("program", [of_any_length, given_a_variable])
def test_functions_that_cannot_be_noted_run_as_python(program, start):
    """From the next call on."""
    (found,) = compared(calling(program), 2, start).values()
    assert found["one program"] == CALLS - FOLLOW_FROM and sum(found["reasons"].values()) == 1, found


def test_random_numbers_in_a_function(start):
    start(FOLLOW_FROM)
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    step, _ = drawing(strategy)
    ones = per_replica(strategy, lambda number: tf.ones((100,)))
    shown = [strategy.run(step, args=(ones,)).values for _ in range(CALLS)]
    drawn = np.array([[value.numpy() for value in values] for values in shown]).reshape(-1, 100)
    assert set(drawn.ravel()) == {1.0, 3.0} and len({row.tobytes() for row in drawn}) == len(drawn)
    (found,) = strategy.extended.runs().values()
    assert found["one program"] == CALLS - FOLLOW_FROM, found


def test_a_function_that_was_traced_outside_aggregates_inside():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        v = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

    @tf.function
    def add(x):
        v.assign_add(x)

    add(tf.constant(1.0))
    strategy.run(add.python_function, args=(tf.constant(1.0),))
    strategy.run(lambda: add(tf.constant(1.0)))
    add(tf.constant(1.0))
    assert float(v) == 6.0


def test_a_function_itself_is_one_program():
    """Its Python runs once."""
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        w, optimizer = tf.Variable(1.0), tf.optimizers.SGD(0.5)
    traces = []

    @tf.function
    def step(x):
        traces.append(1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(x) * w
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    for i in range(3):
        strategy.run(step, args=(rows(strategy, i),))
    assert len(traces) == 1 and strategy.extended.runs() == {}
