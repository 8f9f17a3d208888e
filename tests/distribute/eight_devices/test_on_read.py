"""Variables that are aggregated when they are read: each replica keeps its own value. The numbers are TensorFlow's."""

import pytest

import gradtape as tf

D = tf.distribute
AGGREGATES = [("SUM", sum), ("MEAN", lambda values: sum(values) / 2), ("ONLY_FIRST_REPLICA", lambda v: v[0])]
each_aggregate = pytest.mark.parametrize(
    ("aggregation", "aggregate"), AGGREGATES, ids=[a for a, _ in AGGREGATES]
)


@pytest.fixture(scope="module")
def strategy():
    return D.MirroredStrategy(["/cpu:0", "/cpu:1"])


@pytest.fixture(params=["function", "run", "threads"])
def run(request, strategy):
    """`Strategy.run` inside a @function, of a @function, and operation by operation."""
    if request.param == "function":
        return lambda fn: tf.function(lambda: strategy.run(fn))()
    if request.param == "run":
        return lambda fn: strategy.run(tf.function(fn))
    return strategy.run


def new(strategy, aggregation, value=0.0):
    policy = {"synchronization": tf.VariableSynchronization.ON_READ, "trainable": False}
    with strategy.scope():
        return tf.Variable(value, aggregation=tf.VariableAggregation[aggregation], **policy)


def number():
    return tf.cast(D.get_replica_context().replica_id_in_sync_group, tf.float32)


def own(strategy, value):
    return [v.numpy().tolist() for v in strategy.experimental_local_results(value)]


@each_aggregate
def test_each_replica_keeps_its_value(strategy, run, aggregation, aggregate):
    v = new(strategy, aggregation, 5.0)
    for expected in ([6.0, 7.0], [7.0, 9.0]):
        assert own(strategy, run(lambda: v.assign_add(number() + 1.0))) == expected
        assert own(strategy, run(lambda: v + 0.0)) == own(strategy, v) == expected
        assert float(v) == float(v.read_value()) == aggregate(expected)
        assert float(strategy.reduce("SUM", v, axis=None)) == sum(expected)
    v.assign(9.0)
    share = 4.5 if aggregation == "SUM" else 9.0
    assert float(v) == 9.0
    assert own(strategy, run(lambda: v * 2.0)) == [share * 2.0] * 2
    strategy.extended.update(v, lambda v, x: v.assign(x), args=(7.0,))
    assert own(strategy, v) == [7.0, 7.0]


@each_aggregate
def test_plain_runs_that_are_one_program(strategy, start, aggregation, aggregate):
    v = new(strategy, aggregation, 3.0)
    start(4)

    def step(x):
        v.assign_add(x * (number() + 1.0))
        v.assign(v * 1.5)
        return v + 1.0

    for k in range(15):
        returned = strategy.run(step, (tf.constant(0.1 * k),))
    assert strategy.extended.runs()[step.__qualname__]["one program"] > 5
    assert own(strategy, returned) == pytest.approx([1572.318, 1829.955], rel=1e-5)
    assert own(strategy, v) == pytest.approx([1571.318, 1828.955], rel=1e-5)
    assert float(v) == pytest.approx(aggregate([1571.318, 1828.955]), rel=1e-5)


@pytest.mark.parametrize(
    ("aggregation", "loops", "inner"),
    [
        ("SUM", [(34.0, [4.0, 6.0]), (36.0, [3.0, 4.0])], [0.375, 2.25]),
        ("MEAN", [(21.0, [6.0, 8.0]), (24.0, [5.0, 6.0])], [0.625, 2.5]),
        ("ONLY_FIRST_REPLICA", [(18.0, [6.0, 8.0]), (20.0, [5.0, 6.0])], [0.625, 2.5]),
    ],
)
def test_functions_that_read_and_assign_between_runs(strategy, aggregation, loops, inner):
    v = new(strategy, aggregation, 2.0)

    @tf.function
    def around(n):
        total = tf.constant(0.0)
        for i in tf.range(n):
            strategy.run(lambda: v.assign_add(number() + 1.0))
            total += v.read_value()
            if i == 1:
                v.assign(4.0)
        return total

    for n, expected in zip((4, 3), loops, strict=True):
        assert (float(around(tf.constant(n))), own(strategy, v)) == expected

    @tf.function
    def inside(n):
        def halved():
            for _ in tf.range(n):
                v.assign(v * 0.5 + number())
            return v.read_value()

        return strategy.run(halved)

    assert own(strategy, inside(tf.constant(3))) == own(strategy, v) == inner

    @tf.function
    def values():
        first, second = strategy.experimental_local_results(v)
        return first * 1.0, second * 1.0, strategy.reduce("SUM", v, axis=None)

    assert [float(x) for x in values()] == [*inner, sum(inner)]


def test_adding_outside_of_replicas(strategy):
    total, mean = new(strategy, "SUM"), new(strategy, "MEAN")
    for add in (total.assign_add, total.assign_sub, tf.function(lambda x: total.assign_add(x))):
        with pytest.raises(ValueError, match=r"inside Strategy\.run"):
            add(1.0)
    strategy.run(lambda: mean.assign_add(number()))
    mean.assign_add(4.0)
    assert own(strategy, mean) == [4.0, 5.0]
    tf.function(lambda: mean.assign_sub(2.0))()
    assert own(strategy, mean) == own(strategy, strategy.run(lambda: mean + 0.0)) == [2.0, 3.0]
    assert float(mean) == 2.5


def test_sums_of_integers_are_divided_without_a_rest(strategy):
    v = new(strategy, "SUM", 5)
    v.assign(9)
    assert (own(strategy, v), int(v)) == ([4, 4], 8)


@each_aggregate
def test_checkpoints_have_the_aggregate(strategy, tmp_path, aggregation, aggregate):
    model, other = tf.Module(), tf.Module()
    model.v = v = new(strategy, aggregation, 1.0)
    strategy.run(lambda: v.assign_add(number()))
    saved = aggregate([1.0, 2.0])
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "c"))
    strategy.run(lambda: v.assign_add(number()))
    tf.train.Checkpoint(model=model).restore(path)
    share = saved / 2 if aggregation == "SUM" else saved
    assert (own(strategy, v), float(v)) == ([share] * 2, saved)
    tf.train.Checkpoint(model=other).restore(path)
    other.v = new(strategy, aggregation, 7.0)  # restored when it is first used
    assert own(strategy, strategy.run(lambda: other.v.assign_add(number()))) == [share, share + 1.0]


@each_aggregate
@pytest.mark.parametrize("compiled", [False, True])
def test_merge_calls_are_across_replicas(strategy, aggregation, aggregate, compiled):
    v = new(strategy, aggregation)

    def step():
        v.assign(number() + 3.0)
        merge = D.get_replica_context().merge_call
        before = merge(lambda strategy: v.read_value())
        merge(lambda strategy: v.assign(10.0))
        return before, v.read_value()

    before, after = tf.function(lambda: strategy.run(step))() if compiled else strategy.run(step)
    assert own(strategy, before) == [aggregate([3.0, 4.0])] * 2
    assert own(strategy, after) == [5.0 if aggregation == "SUM" else 10.0] * 2


@each_aggregate
def test_variables_that_functions_make(strategy, aggregation, aggregate):
    made = []

    @tf.function
    def function():
        if not made:
            made.append(new(strategy, aggregation, lambda: tf.constant(3.0) * 2.0))
        return strategy.run(lambda: made[0].assign_add(number() + 1.0))

    for expected in ([7.0, 8.0], [8.0, 10.0]):
        assert own(strategy, function()) == own(strategy, made[0]) == expected
        assert float(made[0]) == aggregate(expected)


def test_results_of_metrics_inside_and_outside(strategy, run):
    with strategy.scope():
        mean = tf.metrics.Mean()

    def step():
        mean.update_state([number(), number() + 3.0])
        return mean.result()

    for _ in range(2):
        assert own(strategy, run(step)) == [1.5, 2.5]
    assert float(mean.result()) == 2.0
    mean.update_state([10.0, 20.0])
    assert float(mean.result()) == pytest.approx(4.6)
    mean.reset_state()
    assert own(strategy, run(step)) == [1.5, 2.5]


def test_gradients_are_of_each_replicas_value(strategy):
    v = new(strategy, "SUM", 5.0)
    strategy.run(lambda: v.assign_add(number()))

    def gradient():
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = strategy.reduce("SUM", strategy.run(lambda: x * x * (v + 1.0)), axis=None)
        return tape.gradient(y, x)

    assert float(gradient()) == float(tf.function(gradient)()) == 52.0


def test_many_calls_that_nobody_waits_for():
    """CPUs share threads: with calls begun on some of them only, all would wait for others."""
    strategy = D.MirroredStrategy([f"/cpu:{i}" for i in range(4)])
    v = new(strategy, "SUM")
    step = tf.function(lambda: strategy.run(lambda: v.assign_add(1.0)))
    for _ in range(300):
        step()
    assert float(v) == 1200.0
