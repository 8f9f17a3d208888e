"""Replicas on several devices: what they exchange, assign, draw and return; compiled, and in threads."""

import numpy as np
import pytest

import gradtape as tf

D = tf.distribute
COUNT = 4


@pytest.fixture(scope="module")
def strategy():
    return D.MirroredStrategy([f"/cpu:{i}" for i in range(COUNT)])


@pytest.fixture(params=["function", "run", "threads"])
def run(request, strategy):
    """`Strategy.run` inside a @function, of a @function, and operation by operation."""
    if request.param == "function":
        yield lambda fn, *args: tf.function(lambda *args: strategy.run(fn, args=args))(*args)
    elif request.param == "run":
        yield lambda fn, *args: strategy.run(tf.function(fn), args=args)
    else:
        yield lambda fn, *args: strategy.run(fn, args=args)


def own(strategy, make):
    """A value for each replica, by its number."""
    return strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(make(context.replica_id_in_sync_group), tf.float32)
    )


def numbers(strategy, value):
    return [v.numpy().tolist() for v in strategy.experimental_local_results(value)]


def context():
    return D.get_replica_context()


# ---------------------------------------------------------------------------------------------------------------------
# Where a program is


def place():
    return D.has_strategy(), D.in_cross_replica_context(), D.get_replica_context() is None


def test_places(strategy, run):
    seen = []
    run(lambda: seen.append((place(), context().num_replicas_in_sync, D.get_strategy() is strategy)))
    assert set(seen) == {((True, False, False), COUNT, True)}
    with strategy.scope():
        assert place() == (True, True, True)
        with pytest.raises(RuntimeError, match="another strategy"), D.OneDeviceStrategy("/cpu:0").scope():
            pass
    D.experimental_set_strategy(strategy)
    try:
        assert place() == (True, True, True)
        assert D.get_strategy() is strategy
    finally:
        D.experimental_set_strategy(None)
    assert place() == (False, False, False)


def test_one_device_of_several():
    strategy = D.OneDeviceStrategy("/cpu:5")
    with strategy.scope():
        v = tf.Variable(2.0)
    step = tf.function(lambda x: strategy.run(lambda x: v * x, args=(x,)))
    assert step(tf.constant([3.0])).numpy().tolist() == [6.0]
    assert strategy.extended.worker_devices == ("/job:localhost/replica:0/task:0/device:CPU:5",)


def test_what_libraries_ask(strategy):
    extended = strategy.extended
    with strategy.scope():
        v = tf.Variable(1.0)
        with extended.colocate_vars_with(v):
            slot = tf.Variable(0.0)
        x = own(strategy, float)
        assert float(extended.reduce_to("SUM", x, destinations=v)) == 6.0
        both = extended.batch_reduce_to("MEAN", [(x, v), (x, slot)])
        assert [float(t) for t in both] == [1.5, 1.5]
        extended.update(v, lambda v, t: v.assign_add(t), args=(x,))
    assert float(v) == 1.0
    assert extended.variable_created_in_scope(slot)
    assert not extended.variable_created_in_scope(tf.Variable(1.0))
    assert extended.value_container(v) is v
    assert len(extended.parameter_devices) == COUNT
    assert not extended.experimental_require_static_shapes


# ---------------------------------------------------------------------------------------------------------------------
# Values


def test_facts(strategy):
    assert strategy.num_replicas_in_sync == COUNT
    assert len(strategy.extended.worker_devices) == COUNT
    assert [d.name for d in tf.config.list_logical_devices()] == [f"/device:CPU:{i}" for i in range(8)]


def test_each_replica_has_its_number_and_its_own_value(strategy, run):
    x = own(strategy, lambda i: 10.0 * i)
    result = run(lambda x: {"a": x + tf.cast(context().replica_id_in_sync_group, "float32"), "b": None}, x)
    assert isinstance(result["a"], D.DistributedValues)
    assert numbers(strategy, result["a"]) == [0.0, 11.0, 22.0, 33.0]
    assert result["b"] is None


def test_other_arguments_are_the_same_for_all(strategy, run):
    v = tf.Variable(2.0)
    result = run(lambda x, y, v: x * y + v, own(strategy, float), tf.constant(3.0), v)
    assert numbers(strategy, result) == [2.0, 5.0, 8.0, 11.0]


@pytest.mark.parametrize(
    ("op", "axis", "expected"),
    [
        ("SUM", None, [6.0, 10.0]),
        ("MEAN", None, [1.5, 2.5]),
        ("SUM", 0, 16.0),
        ("MEAN", 0, 2.0),
        ("MEAN", -1, 2.0),
    ],
)
@pytest.mark.parametrize("compiled", [True, False])
def test_reduce(strategy, op, axis, expected, compiled):
    x = own(strategy, lambda i: [i, i + 1])
    reduce = lambda x: strategy.reduce(op, x, axis=axis)
    np.testing.assert_allclose((tf.function(reduce) if compiled else reduce)(x), expected)


def test_reduce_of_what_is_the_same_everywhere(strategy):
    assert float(strategy.reduce("SUM", tf.constant(2.0), axis=None)) == 2.0 * COUNT
    assert float(strategy.reduce("MEAN", tf.constant(2.0), axis=None)) == 2.0


def test_reduce_of_uneven_rows(strategy):
    x = strategy.experimental_distribute_values_from_function(
        lambda context: tf.fill(
            (context.replica_id_in_sync_group + 1,), 1.0 * context.replica_id_in_sync_group
        )
    )
    assert float(strategy.reduce("SUM", x, axis=0)) == 0 + 2 + 6 + 12
    assert float(strategy.reduce("MEAN", x, axis=0)) == 2.0
    assert strategy.gather(x, axis=0).numpy().tolist() == [0, 1, 1, 2, 2, 2, 3, 3, 3, 3]


@pytest.mark.parametrize("compiled", [True, False])
def test_gather(strategy, compiled):
    x = own(strategy, lambda i: [[i, i + 0.5]])
    rows = lambda x: strategy.gather(x, axis=0)
    columns = lambda x: strategy.gather(x, axis=-1)
    if compiled:
        rows, columns = tf.function(rows), tf.function(columns)
    np.testing.assert_array_equal(rows(x), [[i, i + 0.5] for i in range(COUNT)])
    np.testing.assert_array_equal(columns(x), [[0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5]])


@pytest.mark.parametrize(
    "wrong",
    [lambda s, x: s.reduce("SUM", x, axis=0), lambda s, x: s.gather(x, axis=0), lambda s, x: tf.add(x, 1.0)],
)
def test_values_of_replicas_are_no_tensors(strategy, wrong):
    with pytest.raises((ValueError, TypeError), match=r"axis|strategy\.reduce"):
        wrong(strategy, own(strategy, float))


def test_values_that_are_no_tensors(strategy):
    words = strategy.experimental_distribute_values_from_function(
        lambda context: "abcd"[context.replica_id_in_sync_group]
    )
    assert [w.numpy() for w in words.values] == [b"a", b"b", b"c", b"d"]


# ---------------------------------------------------------------------------------------------------------------------
# Exchange, and its gradients


def test_all_reduce_and_all_gather(strategy, run):
    def step(x):
        c = context()
        return c.all_reduce("SUM", x), c.all_reduce(D.ReduceOp.MEAN, {"x": x})["x"], c.all_gather(x, axis=0)

    total, mean, rows = run(step, own(strategy, lambda i: [i, 1.0]))
    assert numbers(strategy, total) == [[6.0, 4.0]] * COUNT
    assert numbers(strategy, mean) == [[1.5, 1.0]] * COUNT
    assert numbers(strategy, rows) == [[0.0, 1.0, 1.0, 1.0, 2.0, 1.0, 3.0, 1.0]] * COUNT


def test_gradients_of_all_reduce(strategy, run):
    """y = (sum of x)**3, in every replica: each x gets the gradients of all y."""

    def step(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = context().all_reduce("SUM", x) ** 3
            first = tape.gradient(y, x)
        return first, outer.gradient(first, x)

    first, second = run(step, own(strategy, lambda i: i / 10))
    s = 0.6
    np.testing.assert_allclose(numbers(strategy, first), [COUNT * 3 * s**2] * COUNT, rtol=1e-6)
    np.testing.assert_allclose(numbers(strategy, second), [COUNT**2 * 6 * s] * COUNT, rtol=1e-6)


def test_gradients_of_a_mean(strategy, run):
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * context().all_reduce("MEAN", x * x)
        return tape.gradient(y, x)

    found = numbers(strategy, run(step, own(strategy, lambda i: i + 1.0)))
    x = np.arange(1.0, COUNT + 1)
    np.testing.assert_allclose(found, (x**2).mean() + 2 * x * x.mean(), rtol=1e-6)


def test_gradients_of_all_gather(strategy, run):
    """Each replica weighs the gathered rows by its own numbers."""

    def step(x, w):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(w * context().all_gather(x, axis=0) ** 3)
            first = tape.gradient(y, x)
        return first, outer.gradient(first, x)

    random = np.random.default_rng(0)
    xs, ws = random.normal(size=(COUNT, 2)), random.normal(size=(COUNT, 2 * COUNT))
    x, w = own(strategy, lambda i: xs[i]), own(strategy, lambda i: ws[i])
    first, second = run(step, x, w)
    total = ws.sum(0).reshape(COUNT, 2)
    np.testing.assert_allclose(numbers(strategy, first), total * 3 * xs**2, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(numbers(strategy, second), total * 6 * xs, rtol=1e-4, atol=1e-4)


def test_gather_of_uneven_rows_has_a_gradient(strategy):
    x = strategy.experimental_distribute_values_from_function(
        lambda context: tf.fill((context.replica_id_in_sync_group + 1, 1), 2.0)
    )

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = context().all_gather(x, axis=0) ** 2
        return tape.gradient(y, x), tf.shape(y)[0]

    gradients, rows = strategy.run(step, args=(x,))
    assert [g.numpy().ravel().tolist() for g in gradients.values] == [[16.0] * (i + 1) for i in range(COUNT)]
    assert numbers(strategy, rows) == [10] * COUNT


def test_slices_are_gathered(strategy, run):
    def step(x):
        slices = tf.IndexedSlices(x[None, :], [tf.cast(tf.reduce_max(x), "int32")], [5, 2])
        return tf.convert_to_tensor(context().all_reduce("SUM", slices))

    total = run(step, own(strategy, lambda i: [i, 1.0]))
    assert numbers(strategy, total)[2] == [[0, 0], [1, 2], [2, 1], [3, 1], [0, 0]]


def test_a_tape_outside_of_run(strategy):
    """The gradient of what all replicas share is the sum over them; to second order."""
    w = tf.Variable([1.0, 2.0])
    x = own(strategy, lambda i: [i + 1.0, 1.0])

    def loss():
        return strategy.reduce("SUM", strategy.run(lambda x: tf.reduce_sum(w**3 * x), args=(x,)), axis=None)

    for f in (loss, tf.function(loss)):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                y = f()
            first = tape.gradient(y, w)
        np.testing.assert_allclose(first, [10 * 3.0, 4 * 12.0])
        np.testing.assert_allclose(outer.gradient(first, w), [10 * 6.0, 4 * 12.0])


def test_a_jacobian_through_run(strategy):
    x = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def f():
        scaled = strategy.run(lambda n: x * x * n, args=(own_numbers,))
        return strategy.reduce("SUM", scaled, axis=None)

    own_numbers = own(strategy, lambda i: i + 1.0)
    with tf.GradientTape() as tape:
        y = f()
    np.testing.assert_allclose(tape.jacobian(y, x), np.diag([20.0, 40.0, 60.0]))


def test_merge_call(strategy, run):
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)

    def merged(given, x, scale):
        assert given is strategy
        assert D.in_cross_replica_context()
        total = given.reduce("SUM", x, axis=None)
        given.extended.update(v, lambda v, t: v.assign_add(t), args=(total,))
        return total * scale, x

    total, x = run(
        lambda x: context().merge_call(merged, args=(x,), kwargs={"scale": 2.0}), own(strategy, float)
    )
    assert numbers(strategy, total) == [12.0] * COUNT
    assert numbers(strategy, x) == [0.0, 1.0, 2.0, 3.0]
    assert float(v) == 7.0


# ---------------------------------------------------------------------------------------------------------------------
# Variables


@pytest.mark.parametrize(
    ("aggregation", "assigned", "added"),
    [("SUM", 6.0, 16.0), ("MEAN", 1.5, 11.5), ("ONLY_FIRST_REPLICA", 0.0, 10.0)],
)
@pytest.mark.parametrize("synchronization", ["AUTO", "ON_WRITE"])
def test_assigning_in_replicas(strategy, run, aggregation, assigned, added, synchronization):
    with strategy.scope():
        v, w, s = (
            tf.Variable(
                value,
                aggregation=tf.VariableAggregation[aggregation],
                synchronization=tf.VariableSynchronization[synchronization],
            )
            for value in (0.0, 10.0, [10.0, 0.0])
        )

    def step(x):
        v.assign(x)
        w.assign_add(x)
        s.scatter_nd_add([[0]], [x])
        return v.value(), w.value()

    found = run(step, own(strategy, float))
    assert (float(v), float(w)) == (assigned, added)
    assert s.numpy().tolist() == [added, 0.0]
    assert numbers(strategy, found[0]) == [assigned] * COUNT
    assert v.aggregation is tf.VariableAggregation[aggregation]
    assert v.synchronization is tf.VariableSynchronization.ON_WRITE
    assert isinstance(v, (tf.Variable, D.DistributedValues))


def test_assigning_without_a_policy(strategy, run):
    """Each replica has its own value while it runs; the first one's is read afterwards."""
    with strategy.scope():
        v, w = tf.Variable(1.0), tf.Variable(1.0)

    def step(x):
        v.assign(x + 5)
        w.assign_add(2.0)
        return v + 0.0 * context().all_reduce("SUM", x), w.read_value()

    found = run(step, own(strategy, float))
    assert numbers(strategy, found[0]) == [5.0, 6.0, 7.0, 8.0]
    assert numbers(strategy, found[1]) == [3.0] * COUNT
    assert (float(v), float(w)) == (5.0, 3.0)


def test_copies_of_variables(strategy, run):
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
        with pytest.raises(ValueError, match="synchronization=NONE"):
            tf.Variable(1.0, synchronization=tf.VariableSynchronization.NONE)
    run(lambda x: v.assign(x), own(strategy, float))
    assert [float(copy) for copy in v.values] == [6.0] * COUNT
    assert len(strategy.experimental_local_results(v)) == COUNT


def test_logical_devices_of_a_replica(strategy, run):
    result = run(lambda x: strategy.experimental_assign_to_logical_device(x, 0) + 1.0, own(strategy, float))
    assert numbers(strategy, result) == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="one logical device"):
        strategy.experimental_assign_to_logical_device(1.0, 1)


def test_a_variable_of_no_scope_is_one_for_all(strategy, run):
    v = tf.Variable(1.0)
    run(lambda x: v.assign_add(x), own(strategy, float))
    assert float(v) == 7.0


@pytest.mark.parametrize(
    ("aggregation", "expected"), [("SUM", 4 * 5.0 + 12.0), ("MEAN", 5.0 + 3.0), ("ONLY_FIRST_REPLICA", 5.0)]
)
def test_variables_that_are_aggregated_when_read(strategy, run, aggregation, expected):
    with strategy.scope():
        v = tf.Variable(
            5.0,
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation[aggregation],
        )
    x = own(strategy, float)
    for _ in range(2):
        run(lambda x: v.assign(v + x), x)
    assert float(v) == expected
    v.assign(1.0)
    assert float(v) == 1.0


def test_metrics(strategy, run):
    with strategy.scope():
        mean, auc = tf.metrics.Mean(), tf.metrics.Precision()

    def step(x):
        mean.update_state(x)
        auc.update_state(x > 1, x > 0)

    run(step, own(strategy, float))
    assert float(mean.result()) == 1.5
    assert float(auc.result()) == pytest.approx(2 / 3)


def test_losses_are_divided_by_the_rows_of_all_replicas(strategy, run):
    def step(x):
        return tf.nn.compute_average_loss(x), tf.nn.scale_regularization_loss(tf.reduce_sum(x))

    average, regularization = run(step, own(strategy, lambda i: [i, i + 1.0]))
    assert numbers(strategy, average) == [0.125, 0.375, 0.625, 0.875]
    assert numbers(strategy, regularization) == [0.25, 0.75, 1.25, 1.75]
    with strategy.scope():
        for wrong in (tf.nn.compute_average_loss, tf.nn.scale_regularization_loss):
            with pytest.raises(RuntimeError, match="across replicas"):
                wrong(tf.constant([1.0]))


def test_sums_over_replicas_already(strategy, run):
    with strategy.scope():
        v = tf.Variable(0.0)
        opt = tf.optimizers.SGD(1.0)

    def step(x):
        g = context().all_reduce("SUM", x)
        opt.apply_gradients([(g, v)], skip_gradients_aggregation=True)
        opt.apply_gradients([(x, v)])

    run(step, own(strategy, float))
    assert float(v) == -12.0
    assert int(opt.iterations) == 2


def test_a_constraint_and_slices(strategy, run):
    with strategy.scope():
        v = tf.Variable([[1.0], [1.0], [1.0]], constraint=lambda v: tf.maximum(v, -1.0))
        opt = tf.optimizers.Adagrad(1.0, initial_accumulator_value=0.0)

    def step(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(v, tf.cast(x, "int32") % 2))
        opt.apply_gradients([(tape.gradient(y, v), v)])

    run(step, own(strategy, lambda i: [i]))
    np.testing.assert_allclose(v.numpy().ravel(), [0.0, 0.0, 1.0], atol=1e-6)


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers


def test_each_replica_draws_its_own(strategy, run):
    def draws():
        tf.random.set_seed(7)
        return np.array(numbers(strategy, run(lambda: tf.random.normal((50,)))))

    first = draws()
    assert np.abs(np.corrcoef(first) - np.eye(COUNT)).max() < 0.5
    np.testing.assert_array_equal(first, draws())


def test_dropout(strategy, run):
    kept = numbers(strategy, run(lambda x: tf.nn.dropout(x, 0.5), own(strategy, lambda i: [1.0] * 40)))
    assert len({tuple(k) for k in kept}) == COUNT


def test_stateless_numbers_are_the_same(strategy, run):
    found = numbers(strategy, run(lambda: tf.random.stateless_normal((3,), seed=(1, 2))))
    assert found == [found[0]] * COUNT


def test_a_generator_of_a_scope(strategy, run):
    with strategy.scope():
        g = tf.random.Generator.from_seed(3)
    first, second = (np.array(numbers(strategy, run(lambda: g.normal((20,))))) for _ in range(2))
    assert len({tuple(row) for row in (*first, *second)}) == 2 * COUNT


def test_initial_values_are_the_same(strategy):
    with strategy.scope():
        v = tf.Variable(tf.random.normal((3,)))
    found = numbers(strategy, strategy.run(lambda: v.value()))
    assert found == [v.numpy().tolist()] * COUNT


@pytest.mark.parametrize(
    ("aggregation", "assigned", "added"),
    [("SUM", 10.0, 16.0), ("MEAN", 2.5, 4.0), ("ONLY_FIRST_REPLICA", 1.0, 1.0)],
)
def test_each_replica_has_its_own_value_until_it_is_read(strategy, run, aggregation, assigned, added):
    with strategy.scope():
        v = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation[aggregation],
        )

    def number():
        return tf.cast(context().replica_id_in_sync_group, tf.float32)

    def assign():
        v.assign(number() + 1.0)
        return v.read_value()

    assert numbers(strategy, run(assign)) == [1.0, 2.0, 3.0, 4.0]
    assert v.numpy() == assigned
    run(lambda: v.assign_add(number()))
    assert v.numpy() == added


def test_python_outside_of_a_function_runs_in_each_call(strategy):
    with strategy.scope():
        v = tf.Variable(0.0)
    calls = []
    for step in range(1, 4):
        rate = 0.5 * step

        def update(rate=rate):
            calls.append(rate)
            v.assign_add(rate)

        strategy.run(update)
    assert v.numpy() == 3.0
    assert calls == [0.5] * COUNT + [1.0] * COUNT + [1.5] * COUNT


# ---------------------------------------------------------------------------------------------------------------------
# Errors


def test_an_error_in_a_replica(strategy, run):
    def step(x):
        raise ZeroDivisionError("here")

    with pytest.raises(ZeroDivisionError, match="here"):
        run(step, own(strategy, float))
    assert not D.has_strategy()


def test_replicas_that_do_not_meet(strategy):
    x = strategy.experimental_distribute_values_from_function(
        lambda context: tf.zeros((context.replica_id_in_sync_group,))
    )

    def step(x):
        return context().all_reduce("SUM", 1.0) if len(x) else x

    with pytest.raises(RuntimeError, match="replica 0 has ended"):
        strategy.run(step, args=(x,))


def test_devices_that_are_not_there():
    with pytest.raises(ValueError, match="CPU:9"):
        D.MirroredStrategy(["/cpu:0", "/cpu:9"])
    with pytest.raises(ValueError, match="different"):
        D.MirroredStrategy(["/cpu:0", "/cpu:0"])


def test_what_needs_values_runs_in_threads(strategy, caplog):
    def step(x):
        return x * float(x)

    assert numbers(strategy, strategy.run(step, args=(own(strategy, float),))) == [0.0, 1.0, 4.0, 9.0]


def test_a_function_is_compiled_once(strategy):
    traces = []

    @tf.function
    def step(x):
        traces.append(1)
        return x * 2

    for _ in range(3):
        strategy.run(step, args=(own(strategy, float),))
    assert len(traces) == 1


# ---------------------------------------------------------------------------------------------------------------------
# Devices


def test_devices_after_jax_has_started(strategy):
    """As in TensorFlow, it is too late for more of them."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    assert numbers(strategy, strategy.run(tf.function(lambda: tf.constant(1.0)))) == [1.0] * COUNT
    with pytest.raises(RuntimeError, match="at the beginning"):
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 9)
    assert (
        len(tf.config.list_logical_devices("CPU"))
        == len(tf.config.get_logical_device_configuration(cpu))
        == 8
    )


def test_devices_of_blocks():
    double = tf.function(lambda x: x * 2)
    with tf.device("/cpu:3"):
        assert double(tf.ones((3,))).device.endswith("CPU:3")
    tf.config.set_soft_device_placement(False)
    try:
        with tf.device("/job:localhost/replica:0/task:0/device:CPU:7"):
            pass
        for name in ("/cpu:8", "/gpu:0"):
            with pytest.raises(tf.errors.InvalidArgumentError, match="CPU:7"), tf.device(name):
                pass
    finally:
        tf.config.set_soft_device_placement(True)
    with tf.device("/gpu:0"):
        assert float(tf.constant(1.0) + 1.0) == 2.0


@pytest.mark.parametrize("compiled", [False, True])
def test_updates_by_arguments_that_differ(compiled):
    """Each replica updates its copy, in a merge_call as well; TensorFlow gives these numbers."""
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        own, shared = tf.Variable(0.0), tf.Variable(1.0)

    def merge(strategy, x):
        strategy.extended.update(own, lambda v, x: v.assign_add(x), args=(x,))
        total = strategy.reduce("SUM", x, axis=None)
        strategy.extended.update(shared, lambda v, x: v.assign_add(x), args=(total,))

    def step():
        context = tf.distribute.get_replica_context()
        number = tf.cast(context.replica_id_in_sync_group, tf.float32)
        context.merge_call(merge, args=(number + 1.0,))
        return own * 1.0, shared * 1.0

    def run():
        return strategy.run(step)

    run = tf.function(run) if compiled else run
    found = [[[float(v) for v in values.values] for values in run()] for _ in range(2)]
    assert found == [[[1.0, 2.0], [4.0, 4.0]], [[2.0, 4.0], [7.0, 7.0]]]
    assert float(own) == 2.0 and float(shared) == 7.0


def test_a_tensor_that_is_the_same_in_all_replicas_counts_once():
    """As in TensorFlow; not one that was computed in each of them."""
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    outside = tf.constant(3.0)

    def step(inside):
        context = tf.distribute.get_replica_context()
        tensor = tf.identity(outside) if inside else outside
        return context.all_reduce("SUM", tensor), context.all_reduce("MEAN", tensor)

    for inside, expected in ((False, 3.0), (True, 6.0)):
        for _ in range(12):
            total, mean = strategy.run(step, args=(inside,))
            assert [float(v) for v in total.values] == [expected] * 2
            assert [float(v) for v in mean.values] == [3.0] * 2
