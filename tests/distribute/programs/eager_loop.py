"""Training with MirroredStrategy without a @tf.function: Keras models and optimizers, Python that keeps state.

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
random = np.random.default_rng(4)
X = random.normal(size=(59, 6, 6, 1)).astype("f")
Y = X[:, :3].mean((1, 2, 3)).argsort().argsort() // 20
found = {"replicas": strategy.num_replicas_in_sync}

with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.Input((6, 6, 1)),
            tf.keras.layers.Conv2D(3, 3, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(8, activation="tanh"),
            tf.keras.layers.Dense(3),
        ]
    )
    model.set_weights([random.normal(size=w.shape).astype("f") * 0.3 for w in model.get_weights()])
    optimizer = tf.keras.optimizers.Adam(0.01)
    loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
    accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
    mean = tf.keras.metrics.Mean()
    w = tf.Variable([1.0, 2.0], aggregation=tf.VariableAggregation.MEAN)
    own = tf.Variable(2.0)
state = {"calls": 0, "scale": 1.0}
kept = []


def train_step(inputs):
    """A step with Python state: a counter, a factor that shrinks, and losses that are kept."""
    x, y = inputs
    state["calls"] += 1
    with tf.GradientTape() as tape:
        predictions = model(x, training=True)
        loss = (
            tf.nn.compute_average_loss(loss_object(y, predictions), global_batch_size=BATCH) * state["scale"]
        )
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    accuracy.update_state(y, predictions)
    mean.update_state(loss)
    kept.append(loss)
    return loss


def exchange(x):
    context = tf.distribute.get_replica_context()
    number = tf.cast(context.replica_id_in_sync_group, tf.float32)
    y = tf.reduce_mean(x, axis=(0, 2, 3))[:2]
    with tf.GradientTape() as tape:
        tape.watch(y)
        z = y * context.all_reduce("SUM", y * w) + context.all_gather(y, axis=0)[:2]
    w.assign(0.9 * w + 0.1 * context.all_reduce("MEAN", y) + number)
    own.assign(own * 0.5 + number)
    return z, tape.gradient(z, y), own * 1.0


def numbers(value):
    return [np.asarray(v).tolist() for v in strategy.experimental_local_results(value)]


dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH))
losses, exchanged = [], []
for epoch in range(3):
    state["scale"] = 0.9**epoch
    optimizer.learning_rate = 0.01 / (1 + epoch)
    for batch in dataset:
        per_replica = strategy.run(train_step, args=(batch,))
        losses.append(float(strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)))
        exchanged.append([numbers(v) for v in strategy.run(exchange, args=(batch[0],))])
found["losses"] = losses
found["exchanged"] = exchanged
found["kept"] = [float(loss) for loss in kept]
found["calls"] = state["calls"]
found["accuracy"] = float(accuracy.result())
found["mean"] = float(mean.result())
found["weights"] = [np.asarray(v).tolist() for v in model.get_weights()]
found["variables"] = [w.numpy().tolist(), own.numpy().tolist()]
print("found", json.dumps(found))
if hasattr(strategy.extended, "runs"):
    print("runs", json.dumps(strategy.extended.runs()))
