"""The custom training loop of TensorFlow's guide to distributed training, and more of tf.distribute, on two CPUs.

Runs on TensorFlow and on gradtape, and prints numbers as JSON: tests/data/make_distribute.py stores TensorFlow's.
"""

import json

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
BATCH = 8
found = {"replicas": strategy.num_replicas_in_sync}
random = np.random.default_rng(5)
X = random.normal(size=(27, 6)).astype("f")
Y = (X.sum(1) > 0).astype("int64")


def numbers(value):
    return [np.asarray(v).tolist() for v in strategy.experimental_local_results(value)]


# Training, with a last batch of three rows
with strategy.scope():
    w1 = tf.Variable(random.normal(size=(6, 5)).astype("f") * 0.5)
    w2 = tf.Variable(random.normal(size=(5, 2)).astype("f") * 0.5)
    optimizer = tf.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build([w1, w2])
    test_loss = tf.metrics.Mean()
    accuracy = tf.metrics.SparseCategoricalAccuracy()


def train_step(inputs):
    x, y = inputs
    with tf.GradientTape() as tape:
        logits = tf.nn.relu(x @ w1) @ w2
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
        loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH)
    gradients = tape.gradient(loss, [w1, w2])
    optimizer.apply_gradients(zip(gradients, [w1, w2]))
    accuracy.update_state(y, logits)
    return loss


def test_step(inputs):
    x, y = inputs
    logits = tf.nn.relu(x @ w1) @ w2
    test_loss.update_state(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
    return logits


@tf.function
def distributed_train_step(inputs):
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(train_step, args=(inputs,)), axis=None)


@tf.function
def distributed_test_step(inputs):
    return strategy.run(test_step, args=(inputs,))


dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH))
found["losses"] = [float(distributed_train_step(x)) for _ in range(3) for x in dataset]
logits = [distributed_test_step(x) for x in dataset]
found["logits"] = [np.asarray(strategy.gather(z, axis=0)).tolist() for z in logits]
found["parts"] = [[len(part) for part in numbers(z)] for z in logits]
found["test"] = float(test_loss.result())
found["accuracy"] = float(accuracy.result())
found["weights"] = [w1.numpy().tolist(), w2.numpy().tolist()]

# Values
per_replica = strategy.experimental_distribute_values_from_function(
    lambda context: tf.constant([1.0, 2.0]) * (context.replica_id_in_sync_group + 1)
)
for op in ("SUM", "MEAN"):
    for axis in (None, 0):
        found[f"reduce {op} {axis}"] = np.asarray(strategy.reduce(op, per_replica, axis=axis)).tolist()


@tf.function
def exchange(x):
    def step(x):
        context = tf.distribute.get_replica_context()
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            a = x * context.all_reduce("SUM", x * x)
            b = x * context.all_reduce(tf.distribute.ReduceOp.MEAN, x * x)
            c = context.all_gather(x, axis=0) ** 2 * (1.0 + tf.reduce_sum(x))
        return a, b, c, tape.gradient(a, x), tape.gradient(b, x), tape.gradient(c, x)

    return strategy.run(step, args=(x,))


found["exchange"] = [numbers(v) for v in exchange(per_replica)]

# Variables
for synchronization in ("AUTO", "ON_READ"):
    for aggregation in ("SUM", "MEAN", "ONLY_FIRST_REPLICA"):
        with strategy.scope():
            v = tf.Variable(
                [1.0, 1.0],
                trainable=False,
                synchronization=tf.VariableSynchronization[synchronization],
                aggregation=tf.VariableAggregation[aggregation],
            )

        @tf.function
        def assign(x):
            def step(x):
                v.assign_add(x)  # noqa: B023

            strategy.run(step, args=(x,))

        assign(per_replica)
        assign(per_replica)
        found[f"{synchronization} {aggregation}"] = np.asarray(v.read_value()).tolist()

print("found", json.dumps(found))
