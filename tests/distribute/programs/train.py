"""A program of several processes: trains a small network, and says how, in a file for each rank.

Arguments: the folder; what happens (nothing, or a fault with the step and the rank); and where input comes from.
"""

import json
import os
import select
import signal
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from gradtape.distribute.processes import watches

FOLDER, FAULT, INPUT = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
RANK = json.loads(os.environ.get("TF_CONFIG", '{"task": {"index": 0}}'))["task"]["index"]
BATCH = 8


def resolver():
    """What finds the processes: TF_CONFIG by itself, or another resolver that says the same."""
    kind, cluster = os.environ.get("RESOLVER"), tf.distribute.cluster_resolver
    if kind == "simple":
        spec = tf.train.ClusterSpec(json.loads(os.environ.pop("TF_CONFIG"))["cluster"])
        return cluster.SimpleClusterResolver(spec, task_type="worker", task_id=RANK)
    if kind == "slurm":  # all on one node, on consecutive ports
        addresses = json.loads(os.environ.pop("TF_CONFIG"))["cluster"]["worker"]
        host, _, port = addresses[0].partition(":")
        job = {"PROCID": RANK, "STEP_NODELIST": host, "STEP_TASKS_PER_NODE": len(addresses)}
        os.environ.update({f"SLURM_{name}": str(value) for name, value in job.items()})
        return cluster.SlurmClusterResolver(port_base=int(port))
    return None


options = None
if FAULT.startswith(("stop", "leave")):  # wait long until all have come, and less for one that is lost
    options = tf.distribute.experimental.CommunicationOptions(timeout_seconds=60)
strategy = tf.distribute.MultiWorkerMirroredStrategy(resolver(), options)
if options is not None:
    watches[0].timeout = 3
with strategy.scope():
    random = np.random.default_rng(1)
    w = tf.Variable(random.normal(size=(4, 3)).astype("f"))
    u = tf.Variable(random.normal(size=(3, 1)).astype("f"))
    steps = tf.Variable(0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
    optimizer = tf.optimizers.Adam(0.05)
    seen = tf.metrics.Mean()
checkpoint = tf.train.Checkpoint(w=w, u=u, steps=steps, optimizer=optimizer)
manager = tf.train.CheckpointManager(checkpoint, str(FOLDER / "checkpoints"), max_to_keep=2)
manager.restore_or_initialize()


def rows(record):
    numbers = tf.io.decode_raw(record, tf.float32)
    return numbers[:4], numbers[4:]


def own_rows(context):
    """Every second row, in batches of a replica's size; the last ones are of two rows, and of one."""
    table = np.load(FOLDER / "rows.npy")[context.input_pipeline_id :: context.num_input_pipelines]
    parts = tf.data.Dataset.from_tensor_slices((table[:, :4], table[:, 4:]))
    return parts.batch(context.get_per_replica_batch_size(BATCH))


def batches():
    if INPUT == "function":
        return strategy.distribute_datasets_from_function(own_rows)
    return strategy.experimental_distribute_dataset(dataset())


def dataset():
    if INPUT == "files":
        names = tf.data.Dataset.list_files(str(FOLDER / "*.tfrecord"), shuffle=False)
        return tf.data.TFRecordDataset(names).map(rows).batch(BATCH)
    table = np.load(FOLDER / "rows.npy")
    return tf.data.Dataset.from_tensor_slices((table[:, :4], table[:, 4:])).batch(BATCH)


def step(x, y):
    with tf.GradientTape() as tape:
        losses = tf.reduce_sum((tf.tanh(x @ w) @ u - y) ** 2, 1)
        loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH)
    optimizer.apply_gradients(zip(tape.gradient(loss, [w, u]), [w, u]))
    seen.update_state(losses)
    steps.assign_add(1)
    return loss


@tf.function
def train(batch):
    return strategy.reduce("SUM", strategy.run(step, args=batch), axis=None)


def maybe_fail(number):
    kind, *at = FAULT.split(":")
    if not at or number != int(at[0]) or (len(at) > 1 and int(at[1]) != RANK):
        return
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif kind == "exit":
        os._exit(0)
    elif kind == "leave":
        sys.exit(0)
    elif kind == "wait":
        wait_for_a_signal()


def wait_for_a_signal():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    (FOLDER / f"waiting.{RANK}").touch()
    select.select([reading], [], [], 300)


def main():
    handler = None
    if FAULT.startswith("wait"):
        with strategy.scope():
            handler = tf.distribute.experimental.PreemptionCheckpointHandler(None, manager)
    losses = []
    for _ in range(3):
        for batch in batches():
            if len(losses) < int(steps):
                losses.append(None)  # before the checkpoint
                continue
            maybe_fail(int(steps))
            losses.append(float(handler.run(train, batch) if handler else train(batch)))
            if FAULT != "none" and strategy.extended.should_checkpoint and not handler:
                manager.save()
    result = {
        "w": w.numpy().tolist(),
        "u": u.numpy().tolist(),
        "losses": losses,
        "mean": float(seen.result()),
    }
    result["replicas"] = strategy.num_replicas_in_sync
    (FOLDER / f"result.{RANK}.json").write_text(json.dumps(result))
    if FAULT == "save" and strategy.extended.should_checkpoint:
        manager.save()


main()
