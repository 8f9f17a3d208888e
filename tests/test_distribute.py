"""tf.distribute with one replica: where a program is, what strategies return, and what they refuse.

The expected behaviour is real TensorFlow's, of MirroredStrategy(["/cpu:0"]) and OneDeviceStrategy("/cpu:0").
"""

import copy
import pickle
import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.distribute.merging import maybe_merge_call, strategy_supports_no_merge_call

D = tf.distribute

KINDS = {
    "default": D.get_strategy,
    "one device": lambda: D.OneDeviceStrategy("/cpu:0"),
    "mirrored": lambda: D.MirroredStrategy(["/cpu:0"]),
    "several workers": D.MultiWorkerMirroredStrategy,
    "central storage": lambda: D.experimental.CentralStorageStrategy(["/cpu:0"]),
}


@pytest.fixture(params=KINDS)
def strategy(request):
    return KINDS[request.param]()


@pytest.fixture(params=[name for name in KINDS if name != "default"])
def own(request):
    """A strategy that is not the default one."""
    return KINDS[request.param]()


def place():
    return D.has_strategy(), D.in_cross_replica_context(), D.get_replica_context() is None


# ---------------------------------------------------------------------------------------------------------------------
# Where a program is


def test_outside_of_scopes_the_replica_of_the_default_strategy_runs():
    assert place() == (False, False, False)
    context = D.get_replica_context()
    assert (context.replica_id_in_sync_group, context.num_replicas_in_sync) == (0, 1)
    assert context.strategy is D.get_strategy()


def test_a_scope_is_across_replicas(own):
    with own.scope() as entered:
        assert entered is own is D.get_strategy()
        assert place() == (True, True, True)
        with own.scope():
            assert place() == (True, True, True)
    assert place() == (False, False, False)


def test_the_scope_of_the_default_strategy_changes_nothing():
    with D.get_strategy().scope() as entered:
        assert entered is D.get_strategy()
        assert place() == (False, False, False)


def test_a_run_is_in_a_replica(own):
    assert own.run(place) == (True, False, False)
    assert own.run(lambda: int(D.get_replica_context().replica_id_in_sync_group)) == 0
    assert D.get_strategy().run(place) == (False, False, False)


def test_scopes_do_not_mix(own):
    other = D.OneDeviceStrategy("/cpu:0")
    with own.scope():
        with pytest.raises(RuntimeError, match="another strategy"), other.scope():
            pass
        with pytest.raises(RuntimeError, match="another strategy"):
            other.run(lambda: 1)
    assert place() == (False, False, False)


def test_a_replica_is_no_place_for_scopes_and_runs(own):
    def in_scope():
        with own.scope():
            pass

    for inner in (in_scope, lambda: own.run(lambda: 1), lambda: own.reduce("SUM", 1.0, axis=None)):
        with pytest.raises(RuntimeError, match="merge_call"):
            own.run(inner)
    with pytest.raises(RuntimeError, match="merge_call"):
        D.get_strategy().run(lambda: D.get_strategy().run(lambda: 1))


def test_an_error_leaves_the_scope(own):
    with pytest.raises(ZeroDivisionError):
        own.run(lambda: 1 / 0)
    assert place() == (False, False, False)


def test_another_thread_is_outside():
    seen = []
    with D.MirroredStrategy(["/cpu:0"]).scope():
        thread = threading.Thread(target=lambda: seen.append(place()))
        thread.start()
        thread.join()
    assert seen == [(False, False, False)]


def test_a_strategy_for_good():
    strategy = D.MirroredStrategy(["/cpu:0"])
    try:
        D.experimental_set_strategy(strategy)
        assert place() == (True, True, True)
        assert D.get_strategy() is strategy
        with strategy.scope(), pytest.raises(RuntimeError, match="leave it"):
            D.experimental_set_strategy(None)
    finally:
        D.experimental_set_strategy(None)
    assert place() == (False, False, False)


# ---------------------------------------------------------------------------------------------------------------------
# Running


def test_run_gives_arguments_and_results_as_they_are(strategy):
    assert float(strategy.run(lambda x, y: x + y, args=(tf.constant(1.0),), kwargs={"y": 2.0})) == 3.0
    assert strategy.run(lambda x: [x, {"a": x}], args=[5]) == [5, {"a": 5}]
    assert strategy.run(lambda: None) is None


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"fn": 3}, TypeError),
        ({"fn": abs, "args": tf.constant(1.0)}, ValueError),
        ({"fn": abs, "kwargs": [1]}, ValueError),
    ],
)
def test_run_refuses(strategy, arguments, error):
    with pytest.raises(error, match=r"Strategy\.run"):
        strategy.run(**arguments)


@pytest.mark.parametrize("inside", [True, False])
def test_a_training_step(strategy, inside):
    """The step as a compiled function inside `run`, and `run` inside a compiled function."""
    with strategy.scope():
        w = tf.Variable([1.0, 2.0])
        optimizer = tf.optimizers.SGD(0.5)

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * w * x)
        gradients = D.get_replica_context().all_reduce(D.ReduceOp.SUM, tape.gradient(loss, [w]))
        optimizer.apply_gradients(zip(gradients, [w], strict=True))
        return loss

    x = tf.constant([1.0, 0.5])
    if inside:
        compiled = tf.function(step)
        losses = [strategy.run(compiled, args=(x,)) for _ in range(2)]
    else:
        compiled = tf.function(lambda x: strategy.reduce("SUM", strategy.run(step, args=(x,)), axis=None))
        losses = [compiled(x) for _ in range(2)]
    np.testing.assert_allclose([float(loss) for loss in losses], [3.0, 0.5])
    np.testing.assert_allclose(w.numpy(), [0.0, 0.5])


def test_functions_given_to_run_are_converted_in_a_function(strategy):
    @tf.function
    def step(x):
        def branch(x):
            if tf.reduce_sum(x) > 0:
                return x
            return -x

        return strategy.run(branch, args=(x,))

    assert float(step(tf.constant(-2.0))) == 2.0


def test_an_outer_tape_sees_through_run_and_all_reduce(strategy):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = strategy.run(lambda x: D.get_replica_context().all_reduce("mean", x * x), args=(x,))
    assert float(tape.gradient(y, x)) == 6.0


# ---------------------------------------------------------------------------------------------------------------------
# Merging, reducing, gathering


def test_merge_call_runs_across_replicas(strategy):
    def merged(given, x, y):
        return given is strategy, D.in_cross_replica_context(), D.get_replica_context(), x, y

    def step():
        return D.get_replica_context().merge_call(merged, args=(1,), kwargs={"y": 2})

    assert strategy.run(step) == (True, True, None, 1, 2)
    if not D.has_strategy() and strategy is D.get_strategy():
        assert step() == (True, True, None, 1, 2)


def test_a_context_is_used_where_its_replica_runs(own):
    context = own.run(D.get_replica_context)
    for misuse in (
        lambda: context.merge_call(lambda strategy: 1),
        lambda: context.all_reduce("SUM", 1.0),
        lambda: context.all_gather([1.0], 0),
    ):
        with pytest.raises(RuntimeError, match="does not run now"):
            misuse()
    with own.scope(), pytest.raises(RuntimeError, match="does not run now"):
        context.all_reduce("SUM", 1.0)
    with pytest.raises(TypeError, match="merge_fn"):
        own.run(lambda: D.get_replica_context().merge_call(3))


def test_all_reduce_takes_structures_and_slices():
    context = D.get_replica_context()
    reduced = context.all_reduce("mean", {"a": 1.0, "b": [2]})
    assert isinstance(reduced["a"], tf.Tensor)
    assert reduced["b"][0].dtype == tf.int32
    slices = tf.IndexedSlices(tf.ones((1, 2)), [0], [3, 2])
    assert context.all_reduce(D.ReduceOp.SUM, [slices])[0] is slices
    with pytest.raises(ValueError, match="reduce_op"):
        context.all_reduce("max", 1.0)


@pytest.mark.parametrize(
    ("op", "value", "axis", "expected", "dtype"),
    [
        ("SUM", [1.0, 2.0], None, [1.0, 2.0], tf.float32),
        ("SUM", [1.0, 2.0], 0, 3.0, tf.float32),
        ("mean", [[1.0, 2.0], [3.0, 4.0]], 0, [2.0, 3.0], tf.float32),
        ("MEAN", [[1.0, 2.0], [3.0, 4.0]], -1, [1.5, 3.5], tf.float32),
        ("MEAN", [[1.0, 2.0], [3.0, 4.0]], (0, 1), 2.5, tf.float32),
        ("MEAN", [1, 2], 0, 1.5, tf.float64),
    ],
)
def test_reduce(strategy, op, value, axis, expected, dtype):
    result = strategy.reduce(op, tf.constant(value), axis=axis)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.numpy(), expected)


def test_reduce_refuses(strategy):
    for op in ("MAX", 3, None):
        with pytest.raises(ValueError, match="reduce_op"):
            strategy.reduce(op, 1.0, axis=None)
    with pytest.raises(ValueError, match="axis"):
        strategy.reduce("MEAN", tf.constant([1.0]), axis=5)


def test_gather_and_local_results(strategy):
    assert strategy.gather(tf.constant([1.0, 2.0]), axis=0).numpy().tolist() == [1.0, 2.0]
    assert strategy.experimental_local_results([1, 2]) == ([1, 2],)
    got = strategy.experimental_distribute_values_from_function(
        lambda context: (context.replica_id_in_sync_group, context.num_replicas_in_sync)
    )
    assert got == (0, 1)


def test_calls_across_replicas_only_where_needed(strategy):
    assert strategy_supports_no_merge_call()

    def update(given, x):
        return given is strategy, D.in_cross_replica_context(), x

    assert strategy.run(lambda: maybe_merge_call(update, strategy, 4)) == (True, False, 4)


# ---------------------------------------------------------------------------------------------------------------------
# Input


def test_datasets_of_a_strategy(own):
    dataset = own.experimental_distribute_dataset(tf.data.Dataset.range(5).batch(2))
    assert isinstance(dataset, D.DistributedDataset)
    assert isinstance(iter(dataset), D.DistributedIterator)
    assert [batch.numpy().tolist() for batch in dataset] == [[0, 1], [2, 3], [4]]
    assert dataset.element_spec == tf.TensorSpec([None], tf.int64)
    assert (int(dataset.cardinality), len(dataset)) == (3, 3)
    iterator = iter(dataset)
    assert int(tf.reduce_sum(own.run(lambda x: x * 2, args=(iterator.get_next(),)))) == 2
    assert bool(iterator.get_next_as_optional().has_value())


def test_the_default_strategy_leaves_datasets_alone():
    dataset = tf.data.Dataset.range(4)
    assert D.get_strategy().experimental_distribute_dataset(dataset) is dataset


def test_a_distributed_iterator_in_a_function(own):
    dataset = own.experimental_distribute_dataset(tf.data.Dataset.range(6).batch(2, drop_remainder=True))
    iterator = iter(dataset)

    @tf.function
    def step(iterator):
        return own.run(tf.reduce_sum, args=(next(iterator),))

    assert [int(step(iterator)) for _ in range(3)] == [1, 5, 9]


def test_datasets_from_a_function(strategy):
    seen = []

    def dataset_fn(context):
        seen.append((context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync))
        return tf.data.Dataset.range(4).batch(context.get_per_replica_batch_size(2))

    dataset = strategy.distribute_datasets_from_function(dataset_fn)
    assert seen == [(1, 0, 1)]
    assert len(list(dataset)) == 2


def test_input_refuses(strategy):
    with pytest.raises(TypeError, match="Dataset"):
        strategy.experimental_distribute_dataset([1])
    with pytest.raises(TypeError, match="Dataset"):
        strategy.distribute_datasets_from_function(lambda context: 3)
    with pytest.raises(TypeError, match="dataset_fn"):
        strategy.distribute_datasets_from_function(3)


def test_input_context():
    context = D.InputContext(2, 1, 4)
    assert str(context) == "tf.distribute.InputContext(input pipeline id 1, total: 2)"
    assert context.get_per_replica_batch_size(8) == 2
    with pytest.raises(ValueError, match="7"):
        context.get_per_replica_batch_size(7)


# ---------------------------------------------------------------------------------------------------------------------
# Variables and devices


def test_variables_of_a_scope(own):
    before = tf.Variable(0.0)
    with own.scope():
        inside = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
    assert own.extended.variable_created_in_scope(inside)
    assert not own.extended.variable_created_in_scope(before)
    assert not own.extended.variable_created_in_scope(tf.Variable(2.0))
    assert D.get_strategy().extended.variable_created_in_scope(inside)


def test_updates(strategy):
    with strategy.scope():
        v = tf.Variable(1.0)
        extended = strategy.extended
        assert float(extended.update(v, lambda v, a: v.assign_add(a), args=(2.0,))) == 3.0
        (ungrouped,) = extended.update(v, lambda v, a: v.assign_add(a), args=(2.0,), group=False)
        assert float(ungrouped) == 5.0
        with extended.colocate_vars_with(v):
            tf.Variable(0.0)
        assert float(extended.reduce_to("SUM", tf.constant(1.0), v)) == 1.0
        assert [float(x) for x in extended.batch_reduce_to("MEAN", [(tf.constant(2.0), "/cpu:0")])] == [2.0]


def test_devices(own):
    cpu = "/job:localhost/replica:0/task:0/device:CPU:0"
    assert own.extended.worker_devices == own.extended.parameter_devices == (cpu,)
    assert not own.extended._in_multi_worker_mode()


@pytest.mark.parametrize(
    "make",
    [
        D.TPUStrategy,
        lambda: D.ParameterServerStrategy(None),
    ],
)
def test_other_machines_are_refused(make):
    with pytest.raises(tf.errors.UnimplementedError, match="later"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: D.OneDeviceStrategy("nowhere"),
        lambda: D.OneDeviceStrategy(3),
        lambda: D.MirroredStrategy("/cpu:0"),
        lambda: D.MirroredStrategy(["/cpu:0", "/cpu:1000"]),
        lambda: D.MultiWorkerMirroredStrategy(cluster_resolver="device"),
        lambda: D.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1000"]),
        lambda: D.MirroredStrategy(["/cpu:0"], cross_device_ops=3),
        lambda: D.NcclAllReduce(-1),
    ],
)
def test_arguments_that_make_no_strategy(make):
    with pytest.raises(ValueError, match=r"device|num_packs|cluster_resolver"):
        make()


def test_mirrored_takes_the_cpu_by_default():
    strategy = D.MirroredStrategy(cross_device_ops=D.ReductionToOneDevice())
    assert strategy.num_replicas_in_sync == 1


def test_copies_are_the_same_strategy(strategy):
    assert copy.deepcopy({"a": strategy})["a"] is strategy
    assert pickle.loads(pickle.dumps(D.get_strategy())) is D.get_strategy()
