"""A loop that gives plain functions to `run`, in several processes: what each computes, and how often its Python runs.

Arguments: the folder; the devices of a process.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

FOLDER, DEVICES = Path(sys.argv[1]), int(sys.argv[2])
RANK = json.loads(os.environ.get("TF_CONFIG", '{"task": {"index": 0}}'))["task"]["index"]
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * DEVICES
)
several = "TF_CONFIG" in os.environ
strategy = tf.distribute.MultiWorkerMirroredStrategy() if several else tf.distribute.MirroredStrategy()
with strategy.scope():
    random = np.random.default_rng(1)
    w = tf.Variable(random.normal(size=(4, 3)).astype("f"))
    u = tf.Variable(random.normal(size=(3, 1)).astype("f"))
    optimizer = tf.optimizers.Adam(0.05)
    seen = tf.metrics.Mean()
    own = tf.Variable(1.0)
    rows = tf.Variable(0.0)  # each replica's copy has its own
    on_read = tf.VariableSynchronization.ON_READ
    counts = tf.Variable(0.0, synchronization=on_read, aggregation=tf.VariableAggregation.SUM)
calls, kept = [], []


def step(x, y):
    calls.append(int(tf.distribute.get_replica_context()._replica_id))
    with tf.GradientTape() as tape:
        losses = tf.reduce_sum((tf.tanh(x @ w) @ u - y) ** 2, 1)
        loss = tf.nn.compute_average_loss(losses, global_batch_size=8)
    optimizer.apply_gradients(zip(tape.gradient(loss, [w, u]), [w, u]))
    seen.update_state(losses)
    own.assign(own * 0.5 + tf.reduce_mean(x))
    kept.append(loss)
    return loss


def looked_at(x, y):
    """Python looks at a value, in the middle, in the second process alone."""
    total = tf.distribute.get_replica_context().all_reduce("SUM", tf.reduce_sum(x * w[:, 0]))
    if RANK == 1 and float(total) > 1e9:
        raise AssertionError
    return total + tf.reduce_sum(y), float(len(calls))


@tf.custom_gradient
def tripled(x):
    return x * 1.0, lambda upstream: upstream * 3.0


@tf.function
def first_column(x):
    seen.update_state(tf.zeros(0))
    return tripled(x[:, 0])


@tf.function
def added_up(x):
    return tf.distribute.get_replica_context().all_reduce("SUM", x)


def in_parts(x, y):
    """Functions, one of which has the replicas meet, a gradient of its own, and copies that replicas update."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(first_column(x))
    strategy.extended.update(rows, lambda v, n: v.assign_add(n), args=(tf.reduce_sum(x[:, 0]),))
    return added_up(tf.reduce_sum(tape.gradient(total, x) * x))


def counted(x, y):
    """Each replica has its own count, which it reads in the next call."""
    counts.assign_add(
        counts * 0.5 + tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, "float32")
    )
    return counts.read_value()


def merged(x, y):
    def add(strategy, value):
        return strategy.reduce("SUM", value, axis=None)

    return tf.distribute.get_replica_context().merge_call(add, args=(tf.reduce_sum(x),))


def failing(x, y):
    if RANK == 1:
        raise KeyError("a replica's own error")
    return tf.distribute.get_replica_context().all_reduce("SUM", x)


table = random.normal(size=(8 * 14 + 3, 5)).astype("f")
dataset = tf.data.Dataset.from_tensor_slices((table[:, :4], table[:, 4:])).batch(8)
losses, totals, columns = [], [], []
for batch in strategy.experimental_distribute_dataset(dataset):
    losses.append(float(strategy.reduce("SUM", strategy.run(step, args=batch), axis=None)))
    columns += [float(v) for v in strategy.experimental_local_results(strategy.run(in_parts, args=batch))[:1]]
    last = strategy.run(counted, args=batch)
    found, number = strategy.run(looked_at, args=batch)
    totals.append(float(strategy.reduce("SUM", found, axis=None)))
    totals += [float(v) for v in strategy.experimental_local_results(strategy.run(merged, args=batch))[:1]]
shares = [[float(v) for v in strategy.experimental_local_results(of)] for of in (last, counts)]
total = float(counts) if RANK == 0 else 0.0  # no process waits for another
counts.assign(8.0)
program = tf.function(lambda: strategy.run(lambda: counts.assign_add(counts)))
shares.append([float(v) for v in strategy.experimental_local_results(program())])
errors = []
try:
    strategy.run(failing, args=batch)
except Exception as error:
    errors.append(f"{type(error).__name__}: {error}")
result = {
    "w": w.numpy().tolist(),
    "u": u.numpy().tolist(),
    "mean": float(seen.result()),
    "own": float(own),
    "losses": losses,
    "totals": totals,
    "columns": columns,
    "rows": float(rows),
    "shares": shares,
    "total": total,
    "kept": [float(loss) for loss in kept],
    "calls": calls,
    "errors": errors,
    "runs": strategy.extended.runs() if hasattr(strategy.extended, "runs") else {},
}
(FOLDER / f"result.{RANK}.json").write_text(json.dumps(result))
