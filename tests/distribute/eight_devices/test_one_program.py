"""Plain functions that `run` is given outside of a @function: one program gives what replica by replica gives."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.distribute.plain_runs import CALLS, FOLLOW_FROM, compared, dense, per_replica, plain, predict, rows
from tests.distribute.random_replicas import wrong

import gradtape as tf
from gradtape.distribute import run_places
from gradtape.distribute.merging import maybe_merge_call


@pytest.fixture(params=[2, 4])
def strategy(request):
    return tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(request.param)])


# ---------------------------------------------------------------------------------------------------------------------
# Programs: functions of a strategy that return a call and what there is to see afterwards


def training(make_optimizer):
    def program(strategy):
        with strategy.scope():
            ws = dense(np.random.default_rng(0))
            optimizer = make_optimizer()
            mean = tf.metrics.Mean()

        def step(x):
            with tf.GradientTape() as tape:
                losses = tf.reduce_sum((predict(ws, x) - 1.0) ** 2, 1)
                loss = tf.nn.compute_average_loss(losses)
            gradients = tape.gradient(loss, ws)
            optimizer.apply_gradients(zip(gradients, ws, strict=True))
            mean.update_state(losses)
            return {"loss": loss, "gradients": gradients}

        def call(i):
            found = strategy.run(step, args=(rows(strategy, i),))
            return found, strategy.reduce("SUM", found["loss"], axis=None)

        return call, lambda: [*ws, *optimizer.variables, mean.result()]

    return program


def batch_norm(strategy):
    policy = {
        "trainable": False,
        "synchronization": tf.VariableSynchronization.ON_READ,
        "aggregation": tf.VariableAggregation.MEAN,
    }
    with strategy.scope():
        ws = dense(np.random.default_rng(0))
        gamma, beta = tf.Variable(np.ones(5, "f")), tf.Variable(np.zeros(5, "f"))
        mean, variance = tf.Variable(np.zeros(5, "f"), **policy), tf.Variable(np.ones(5, "f"), **policy)
        optimizer = tf.optimizers.SGD(0.1, momentum=0.9)

    def step(x):
        variables = [ws[0], ws[2], gamma, beta]
        with tf.GradientTape() as tape:
            h = x @ ws[0]
            m, v = tf.nn.moments(h, [0])
            mean.assign(0.9 * mean + 0.1 * m)
            variance.assign(0.9 * variance + 0.1 * v)
            loss = tf.reduce_mean(tf.nn.batch_normalization(h, m, v, beta, gamma, 1e-3) @ ws[2])
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss, mean + 0.0

    def call(i):
        return strategy.run(step, args=(rows(strategy, i, count=12),))

    return call, lambda: [*ws, gamma, beta, mean, variance]


def collectives(strategy):
    with strategy.scope():
        w = tf.Variable(1.5)
    log = []

    def step(x, scale):
        context = tf.distribute.get_replica_context()
        number = tf.cast(context.replica_id_in_sync_group, tf.float32)
        with tf.GradientTape(persistent=True) as outer:
            with tf.GradientTape() as tape:
                total = context.all_reduce("MEAN", tf.sin(x * w) * number)
                joined = context.all_gather(x * w, 0)
                loss = tf.reduce_sum(total**2) + tf.reduce_sum(joined) * scale
            log.append("before")  # replicas meet in the gradient
            slope = tape.gradient(loss, w)
            log.append("after")
        second = outer.gradient(slope, w)
        log.append("at last")
        del outer
        w.assign_add(0.01 * context.all_reduce("SUM", slope))
        return loss, slope, second, joined

    def call(i):
        return strategy.run(step, args=(rows(strategy, i),), kwargs={"scale": 0.1 * i})

    return call, lambda: [w, log]


def python_state(strategy):
    """A counter, a rate computed in Python, a dict and a list: each replica sees what the one before has left."""
    with strategy.scope():
        w = tf.Variable(np.ones(4, "f"))
        optimizer = tf.optimizers.SGD(0.1)
    state = {"calls": 0, "rate": 1.0, "last": None}
    log, kept = [], []

    def step(x):
        state["calls"] += 1
        state["rate"] *= 0.97
        log.append(("begin", state["calls"]))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(x * w) * state["rate"]
        log.append("before the update")
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        log.append("after the update")
        state["last"] = loss
        kept.append(loss * 2.0)
        kept.append(w + 0.0)
        return loss

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), lambda: [w, dict(state), log, kept]


def python_random(strategy):
    random = np.random.default_rng(5)

    def step(x):
        context = tf.distribute.get_replica_context()
        first = tf.constant(random.normal(size=4).astype("f"))
        total = context.all_reduce("SUM", x * first)
        return total * float(random.normal()) + first

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), list


def drawn(strategy):
    tf.random.set_seed(7)

    def step(x):
        return tf.nn.dropout(x + tf.random.normal((4,)), 0.5)

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), lambda: [tf.random.normal(())]


def policies(strategy):
    kinds = tf.VariableAggregation
    with strategy.scope():
        ws = [
            tf.Variable(1.0, aggregation=kind, synchronization=s)
            for kind in (kinds.SUM, kinds.MEAN, kinds.ONLY_FIRST_REPLICA)
            for s in (tf.VariableSynchronization.ON_READ, tf.VariableSynchronization.ON_WRITE)
        ]
        own = tf.Variable(2.0)
    outside = tf.Variable(3.0)

    def step(x):
        seen = []
        for w in [*ws, own, outside]:
            w.assign(tf.reduce_mean(x) + 0.5 * w)
            seen.append(w * 1.0)
            w.assign_add(tf.reduce_max(x))
            w.assign_sub(0.25)
            seen.append(w * 1.0)
        return seen, ws[0]

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), lambda: [*ws, own, outside]


def captured(strategy):
    """Tensors from outside, the same and others in each call, and wide ones."""
    table = tf.constant(np.arange(12.0).reshape(3, 4), tf.float64)
    box = [tf.constant(0.0)]

    def step(x, number):
        return tf.cast(x, tf.float64) * table + tf.cast(box[0], tf.float64), tf.cast(x, tf.int64) * number

    def call(i):
        box[0] = tf.constant(float(i))
        return strategy.run(step, args=(rows(strategy, i), tf.constant(i, tf.int64)))

    return call, list


def several_paths(strategy):
    with strategy.scope():
        w = tf.Variable(1.0)
    calls = []

    def step(x):
        calls.append(1)
        if (len(calls) - 1) // strategy.num_replicas_in_sync % 2:
            w.assign_add(1.0)
            return tf.reduce_sum(x) * w
        return tf.reduce_max(x) - w

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), lambda: [w]


def methods(strategy):
    """A step that is a method, a callable object, and a function that is made anew for each call."""

    class Model:
        def __init__(self):
            with strategy.scope():
                self.w = tf.Variable(2.0)

        def step(self, x):
            self.w.assign_add(0.5)
            return x * self.w

        def __call__(self, x):
            return x - self.w

    model = Model()

    def call(i):
        x = rows(strategy, i)

        def made():
            return tf.distribute.get_replica_context().all_reduce("SUM", model.w * 2.0)

        return strategy.run(model.step, args=(x,)), strategy.run(model, args=(x,)), strategy.run(made)

    return call, lambda: [model.w]


def embedding(strategy):
    with strategy.scope():
        table = tf.Variable(np.arange(12.0, dtype="f").reshape(6, 2))
        optimizer = tf.optimizers.Adam(0.1)

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table, [1, 1, 3]) * x[:, :2])
        optimizer.apply_gradients([(tape.gradient(loss, table), table)])
        return loss

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), lambda: [table]


def arrays(strategy):
    """NumPy functions on tensors, and a Python loop over one."""

    def step(x):
        y = x * 2.0
        return np.sum(y), [row + 1.0 for row in y], y.shape, len(y)

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), list


def updates_for_all(strategy, looks=False):
    """What Keras's optimizers do: each replica updates its copies, after the sum of gradients."""
    with strategy.scope():
        w, momentum = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])
        count = tf.Variable(0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
    log = []

    def update(distribution, gradient):
        def one(v, g):
            log.append("update")
            momentum.assign(0.9 * momentum + g)
            momentum.assign_add([0.01, 0.02])
            if looks and len(log) > 18:
                log.append(round(float(momentum[0]), 3))
            v.assign_sub(0.1 * momentum)

        distribution.extended.update(w, one, args=(gradient,), group=False)

    def step(x):
        context = tf.distribute.get_replica_context()
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x[:, :2] * w) ** 2)
        log.append("begin")
        gradient = context.all_reduce("SUM", tape.gradient(loss, w))
        maybe_merge_call(update, strategy, gradient)
        count.assign_add(1)
        log.append("end")
        return loss, w * 1.0

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), lambda: [w, momentum, count, log]


def looks_in_an_update(strategy):
    return updates_for_all(strategy, looks=True)


def no_gradient(strategy):
    with strategy.scope():
        w, v = tf.Variable(1.0), tf.Variable(2.0)
        optimizer = tf.optimizers.SGD(0.1)

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(x * w)
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, v]), [w, v], strict=True))
        return loss

    def call(i):
        with pytest.warns(UserWarning, match="are None") as seen:
            found = strategy.run(step, args=(rows(strategy, i),))
        return found, [str(one.message) for one in seen]  # one for all replicas

    return call, lambda: [w, v]


FOLLOWED = {
    "sgd": training(lambda: tf.optimizers.SGD(0.1)),
    "momentum": training(lambda: tf.optimizers.SGD(0.05, momentum=0.9, nesterov=True)),
    "adam": training(lambda: tf.optimizers.Adam(0.02, clipnorm=1.0)),
    "schedule": training(lambda: tf.optimizers.Adam(tf.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5))),
    "batch norm": batch_norm,
    "collectives": collectives,
    "Python state": python_state,
    "Python's random numbers": python_random,
    "random numbers": drawn,
    "policies": policies,
    "captured": captured,
    "methods": methods,
    "updates for all": updates_for_all,
    "few operations are looked at": arrays,
    "sparse gradients": embedding,
    "gradients that are None": no_gradient,
}


CASES = [(name, 2) for name in FOLLOWED] + [
    (name, count) for name in ("sgd", "momentum", "adam", "batch norm", "policies") for count in (4, 8)
]


@pytest.mark.parametrize(("name", "count"), CASES)
def test_one_program_does_the_same(name, count, start):
    counts = compared(FOLLOWED[name], count, start)
    for found in counts.values():
        assert found == {"calls": CALLS, "one program": CALLS - FOLLOW_FROM + 1, "reasons": {}}


# ---------------------------------------------------------------------------------------------------------------------
# Programs of which one program cannot run every call: those run replica by replica, and their Python runs once


def looks(strategy):
    """Python looks at values, before and after the replicas have met, and prints."""
    with strategy.scope():
        w = tf.Variable(1.0)
        optimizer = tf.optimizers.Adam(0.1)
    best, log = [100.0], []

    def step(x):
        log.append("begin")
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x * w - 1.0) ** 2)
        if loss < best[0]:
            best[0] = float(loss)
            log.append(("best", round(best[0], 3)))
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        log.append(round(float(w), 3))
        return loss

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), lambda: [w, best, log]


def looks_now_and_then(strategy):
    with strategy.scope():
        w = tf.Variable(1.0)
        mean = tf.metrics.Mean()
    log = []

    def step(x, i):
        y = tf.reduce_sum(x) * w
        mean.update_state(y)
        w.assign_add(tf.distribute.get_replica_context().all_reduce("MEAN", y))
        log.append(y)
        if i == 6:
            log.append(round(float(y + w), 3))
            mean.update_state(1.0)
        return y + w

    return lambda i: strategy.run(step, args=(rows(strategy, i), i)), lambda: [w, log, mean.result()]


def one_replica_looks(strategy):
    """The last replica looks at a value of its own, and at one that the first one has left."""
    left = {}

    def step(x):
        number = tf.distribute.get_replica_context()._replica_id
        y = tf.sin(x) + 1.0
        if number == 0:
            left["first"] = y
        total = tf.distribute.get_replica_context().all_reduce("SUM", y)
        if number == strategy.num_replicas_in_sync - 1:
            return total * float(tf.reduce_sum(left["first"]))
        return total * 2.0

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), lambda: [dict(left)]


def other_shapes(strategy):
    """Shapes that depend on values."""

    def step(x):
        return tf.reduce_sum(tf.boolean_mask(x, x > 0)), tf.where(x > 1)[:1] * 0

    return lambda i: strategy.run(step, args=(rows(strategy, i, 8),)), list


def raises(strategy):
    """A replica raises, now and then, after all have met once: what was assigned before stays."""
    with strategy.scope():
        w = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
        mean = tf.metrics.Sum()
    log = []

    def step(x, i):
        w.assign_add(tf.reduce_mean(x))
        mean.update_state(1.0)
        log.append(tf.reduce_sum(x) * w)
        if i in (5, 7) and tf.distribute.get_replica_context()._replica_id == 1:
            raise KeyError(i)
        w.assign_sub(0.5)
        return w * 2.0

    def call(i):
        try:
            return strategy.run(step, args=(rows(strategy, i), i))
        except KeyError as error:
            return repr(error)

    return call, lambda: [w, mean.result(), log]


def merges(strategy):
    with strategy.scope():
        w = tf.Variable(1.0)

    def add(strategy, value):
        total = strategy.reduce("SUM", value, None)
        return strategy.extended.update(w, lambda v, x: v.assign_add(x).value(), args=(total,))

    def step(x):
        return tf.distribute.get_replica_context().merge_call(add, args=(tf.reduce_sum(x),)) * 2.0

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), lambda: [w]


def recomputed(strategy):
    """What keeps nothing for its gradient."""
    with strategy.scope():
        w = tf.Variable(1.1)
    wave = tf.recompute_grad(lambda x: tf.sin(x * w))

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(wave(x))
        return tape.gradient(loss, w)

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), list


def writes_a_part(strategy):
    with strategy.scope():
        w = tf.Variable([1.0, 2.0, 3.0], aggregation=tf.VariableAggregation.SUM)

    def step(x):
        w.assign_add(x[0, :3])
        w[1:2].assign(x[0, :1])
        w.scatter_nd_add([[0]], x[1, :1])
        return w * 1.0

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), lambda: [w]


def tapes_outlive(strategy):
    """A tape is asked after the run."""
    kept = []

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sin(x))
        kept.append((tape, x, y))
        return y * 2.0

    def call(i):
        kept.clear()
        found = strategy.run(step, args=(rows(strategy, i),))
        return found, [tape.gradient(y, x) for tape, x, y in kept]

    return call, list


def generator(strategy):
    with strategy.scope():
        numbers = tf.random.Generator.from_seed(3)

    return lambda i: strategy.run(lambda: numbers.normal((2,))), lambda: [numbers.normal(())]


def strings(strategy):
    return lambda i: strategy.run(lambda x: tf.strings.as_string(x), args=(rows(strategy, i, 1, 1),)), list


def paused(strategy):
    """Replicas meet while a tape does not record."""

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x)
            with tape.stop_recording():
                total = tf.distribute.get_replica_context().all_reduce("SUM", tf.reduce_sum(y))
            loss = tf.reduce_sum(y) * total
        return tape.gradient(loss, x)

    return lambda i: strategy.run(step, args=(rows(strategy, i),)), list


# Programs, and one of the reasons why calls of them run replica by replica.
LEFT = {
    looks: "a value is looked at",
    looks_now_and_then: "a value is looked at",
    looks_in_an_update: "getitem was not expected",
    one_replica_looks: "sum was not expected",
    raises: "an exception",
    merges: "merge_call",
    recomputed: "another listener is open",
    writes_a_part: "a replica writes into a part of a variable",
    tapes_outlive: "a tape may be asked after the run",
    strings: "there is nothing to compile",
    paused: "a tape is looked into, or stopped",
    several_paths: "max was not expected",
}


@pytest.mark.parametrize("program", LEFT, ids=[program.__name__ for program in LEFT])
def test_what_one_program_cannot_do(program, start):
    counts = compared(program, 2, start)
    assert any(reason.startswith(LEFT[program]) for c in counts.values() for reason in c["reasons"]), counts


def test_several_ways_through_a_function(start):
    """Both are compiled, after a few calls."""
    start(FOLLOW_FROM)
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    call, _ = several_paths(strategy)
    for i in range(20):
        call(i)
    (counts,) = strategy.extended.runs().values()
    assert counts["one program"] >= 10, counts


def test_shapes_that_depend_on_values(start):
    (counts,) = compared(other_shapes, 2, start).values()
    assert counts["one program"] == 0


def counted(strategy):
    (counts,) = strategy.extended.runs().values()
    return counts["calls"], counts["one program"]


def test_a_function_that_is_called_a_few_times_is_not_compiled(strategy):
    with strategy.scope():
        v = tf.Variable(0.0)

    def step(x):
        v.assign_add(1.0)
        return tf.reduce_sum(x) + v

    for i in range(12):
        strategy.run(step, args=(rows(strategy, i),))
        assert counted(strategy) == (i + 1, max(0, i - 8))  # from the tenth call on
    assert float(v) == 12.0


def test_who_listens_sees_operations_one_by_one(strategy, start, monkeypatch):
    """A tape outside of the run, an observer, and functions that run eagerly for debugging."""
    start(2)
    x = tf.constant([1.0, 2.0])

    def step():
        return tf.reduce_sum(x * x)

    for _ in range(4):
        strategy.run(step)
    assert counted(strategy)[1] > 0
    before = counted(strategy)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = strategy.reduce("SUM", strategy.run(step), axis=None)
    np.testing.assert_allclose(tape.gradient(total, x), 2 * strategy.num_replicas_in_sync * x.numpy())
    monkeypatch.setattr(run_places, "observers", [None])
    strategy.run(step)
    monkeypatch.undo()
    tf.config.run_functions_eagerly(True)
    try:
        strategy.run(step)
    finally:
        tf.config.run_functions_eagerly(False)
    assert counted(strategy) == before


def test_programs_keep_no_variables_alive(strategy, start):
    start(3)

    def trained():
        with strategy.scope():
            v = tf.Variable(np.ones(3, "f"))

        def step():
            v.assign_add(v * 2.0)

        for _ in range(4):
            strategy.run(step)
        return weakref.ref(v)

    left = trained()
    gc.collect()
    assert counted(strategy)[1] > 0 and left() is None


def test_a_look_from_another_thread(start):
    """It gets what the replica has by itself. What all have together, it cannot wait for: a replica may wait for it."""
    start(3)
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        w = tf.Variable(2.0)

    def step(x, what):
        y = tf.reduce_sum(x * w)
        for _ in range(10):
            y = tf.sin(y)
        w.assign_add(tf.distribute.get_replica_context().all_reduce("SUM", y))
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: float(y if what == "own" else w)).result() if what else 0.0

    def call(i, what):
        return plain(strategy.run(step, args=(rows(strategy, i), what)))

    for i in range(3):
        call(i, "")
    start(10**9)
    before = w.numpy()
    expected = call(3, "own")
    start(3)
    w.assign(before)
    found = call(3, "own")
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert counted(strategy)[1] == 1
    with pytest.raises(RuntimeError, match="look at it in the replica itself"):
        call(4, "all")


@pytest.mark.parametrize("compiled", [False, True])
def test_a_tape_around_the_run_sees_through_sums_over_replicas(strategy, compiled):
    """To second order, and through gradients inside; against central differences."""
    values = per_replica(strategy, lambda number: tf.constant([float(number) + 1.0, 0.3]))

    def total(x):
        def step(r):
            context = tf.distribute.get_replica_context()
            with tf.GradientTape() as inner:
                inner.watch(r)
                a, b = context.all_reduce("SUM", x * r), context.all_reduce("MEAN", tf.sin(x * r))
                c = context.all_gather(x * r * r, 0)
                y = tf.reduce_sum(a * a * r) + tf.reduce_sum(b * r) + tf.reduce_sum(c**2) * r[0]
            return y + tf.reduce_sum(inner.gradient(y, r))

        return strategy.reduce("SUM", strategy.run(step, args=(values,)), axis=None)

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = total(x)
        return tape.gradient(y, x)

    def curvature(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            along = tf.reduce_sum(slope(x) * [1.0, 2.0])
        return tape.gradient(along, x)

    def difference(function, at):
        step = 0.01
        sides = [function(tf.constant(at + sign * step)).numpy() for sign in np.eye(2, dtype="f")]
        other = [function(tf.constant(at - sign * step)).numpy() for sign in np.eye(2, dtype="f")]
        return (np.array(sides) - np.array(other)) / (2 * step)

    at = np.array([0.5, 0.7], "f")
    wrap = tf.function if compiled else (lambda function: function)
    np.testing.assert_allclose(wrap(slope)(tf.constant(at)), difference(wrap(total), at), rtol=1e-2)
    expected = difference(wrap(slope), at) @ [1.0, 2.0]
    np.testing.assert_allclose(wrap(curvature)(tf.constant(at)), expected, rtol=1e-2)


@pytest.mark.parametrize("first", [10**9, 4])
def test_variables_of_which_each_replica_keeps_its_own_value(start, first):
    """As in TensorFlow, between runs as well, by a program and replica by replica."""
    start(first)
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        v = tf.Variable(2.0)

    def step():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        v.assign(v * 0.5 + tf.cast(number, tf.float32))
        return v * 1.0

    found = [plain(strategy.run(step)) for _ in range(6)]
    expected = [[1.0, 2.0], [0.5, 2.0], [0.25, 2.0], [0.125, 2.0], [0.0625, 2.0], [0.03125, 2.0]]
    assert np.array(found).tolist() == expected
    assert float(v) == 0.03125


@pytest.mark.parametrize("seed", range(6))
def test_random_functions(seed, monkeypatch):
    """More of them: see tests/distribute/random_replicas.py."""
    monkeypatch.setattr(run_places.policy, "follow_from", run_places.policy.follow_from)  # which they change
    found, _ = wrong(seed)
    assert not found, found[:3]
