"""Datasets of a strategy with several replicas."""

import numpy as np
import pytest

import gradtape as tf

D = tf.distribute


@pytest.fixture(scope="module")
def strategy():
    return D.MirroredStrategy([f"/cpu:{i}" for i in range(4)])


def rows(value):
    return [v.numpy().tolist() for v in value.values]


@pytest.mark.parametrize(
    ("size", "batches"),
    [
        (8, [[[0, 1], [2, 3], [4, 5], [6, 7]]]),
        (12, [[[0, 1], [2, 3], [4, 5], [6, 7]], [[8], [9], [10], [11]]]),
        (10, [[[0, 1], [2, 3], [4, 5], [6, 7]], [[8], [9], [], []]]),
    ],
)
def test_batches_are_divided(strategy, size, batches):
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(size).batch(8))
    assert isinstance(dataset, D.DistributedDataset)
    assert [rows(batch) for batch in dataset] == batches
    assert len(dataset) == len(batches)


def test_specs(strategy):
    dataset = tf.data.Dataset.from_tensor_slices(np.zeros((8, 3), "f")).batch(8, drop_remainder=True)
    spec = strategy.experimental_distribute_dataset(dataset).element_spec
    assert spec.shape == [2, 3]
    assert spec.dtype == tf.float32
    iterator = iter(strategy.experimental_distribute_dataset(dataset))
    assert isinstance(iterator, D.DistributedIterator)
    assert iterator.element_spec == spec
    assert bool(iterator.get_next_as_optional().has_value())
    assert not bool(iterator.get_next_as_optional().has_value())
    with pytest.raises(tf.errors.OutOfRangeError):
        iterator.get_next()


def test_structures_and_strings(strategy):
    dataset = tf.data.Dataset.from_tensor_slices({"x": np.arange(8.0), "name": list("abcdefgh")}).batch(8)
    (batch,) = strategy.experimental_distribute_dataset(dataset)
    assert rows(batch["x"]) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert rows(batch["name"])[3] == [b"g", b"h"]


def test_a_batch_is_on_its_devices(strategy):
    (batch,) = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(8))
    shards = batch.stacked._device.addressable_shards
    assert [(s.device.id, np.asarray(s.data).ravel().tolist()) for s in shards] == [
        (0, [0, 1]),
        (1, [2, 3]),
        (2, [4, 5]),
        (3, [6, 7]),
    ]


def test_elements_must_be_batches(strategy):
    with pytest.raises(ValueError, match="batch"):
        next(iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(8))))


@pytest.mark.parametrize("mode", ["PER_WORKER", "PER_REPLICA"])
def test_datasets_from_a_function(strategy, mode):
    seen = []

    def dataset_fn(context):
        seen.append((context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync))
        dataset = tf.data.Dataset.range(10).shard(context.num_input_pipelines, context.input_pipeline_id)
        return dataset.batch(context.get_per_replica_batch_size(4))

    options = D.InputOptions(experimental_replication_mode=D.InputReplicationMode[mode])
    dataset = strategy.distribute_datasets_from_function(dataset_fn, options)
    found = [rows(batch) for batch in dataset]
    if mode == "PER_WORKER":
        assert seen == [(1, 0, 4)]
        assert found == [[[0], [1], [2], [3]], [[4], [5], [6], [7]], [[8], [9], [], []]]
    else:
        assert seen == [(4, i, 4) for i in range(4)]
        assert found == [[[0], [1], [2], [3]], [[4], [5], [6], [7]], [[8], [9], [], []]]
    assert len(dataset) == 3


def test_in_functions(strategy):
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(20).batch(8))
    total = lambda batch: strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(batch,)), axis=None)

    @tf.function
    def by_argument(batch):
        return total(batch)

    @tf.function
    def by_iterator(iterator):
        return total(next(iterator))

    @tf.function
    def by_loop(dataset):
        result = tf.constant(0, tf.int64)
        for batch in dataset:
            result += total(batch)
        return result

    iterator = iter(dataset)
    assert [int(by_argument(batch)) for batch in dataset] == [28, 92, 70]
    assert [int(by_iterator(iterator)) for _ in range(3)] == [28, 92, 70]
    assert int(by_loop(dataset)) == 190


def test_an_iterator_is_saved(strategy, tmp_path):
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(24).batch(8))
    iterator = iter(dataset)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "c"))
    first = rows(next(iterator))
    again = iter(dataset)
    tf.train.Checkpoint(iterator=again).restore(path)
    assert rows(next(again)) == first


@pytest.mark.parametrize("count", [1, 2, 8])
def test_a_checkpoint_of_many_devices(strategy, tmp_path, count):
    """Saved once from four devices, restored on another number of them."""

    def program(strategy):
        with strategy.scope():
            v = tf.Variable([1.0, 2.0])
            opt = tf.optimizers.Adam(0.1)

        def update():
            opt.apply_gradients([(v * 2.0 / strategy.num_replicas_in_sync, v)])

        step = tf.function(lambda: strategy.run(update))
        return v, step, tf.train.Checkpoint(v=v, opt=opt)

    v, step, checkpoint = program(strategy)
    step()
    path = checkpoint.save(str(tmp_path / "c"))
    step()
    other, other_step, restored = program(D.MirroredStrategy([f"/cpu:{i}" for i in range(count)]))
    restored.restore(path)
    other_step()
    np.testing.assert_allclose(other.numpy(), v.numpy(), rtol=1e-6)


def test_a_step_in_a_function_over_a_distributed_dataset_is_compiled():
    strategy = tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(4)])
    with strategy.scope():
        v = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
    calls = []

    def step(x):
        calls.append(1)
        v.assign_add(tf.reduce_sum(x))

    @tf.function
    def epoch(batches):
        for x in batches:
            strategy.run(step, args=(x,))

    dataset = tf.data.Dataset.from_tensor_slices(tf.ones((80,))).batch(8)
    epoch(strategy.experimental_distribute_dataset(dataset))
    assert v.numpy() == 80.0
    assert len(calls) == 4 + 1  # in each replica for the first batch, then traced
