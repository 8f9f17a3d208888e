"""A program of several processes whose variables are divided among all: trains, saves, and says how.

Arguments: the folder; the number of CPUs of each process; `train` or `restore`. Four devices lie in two directions.
"""

import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.experimental import dtensor

FOLDER, CPUS, WHAT = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dtensor.initialize_accelerator_system("CPU", num_logical_cpu_devices=CPUS)
U = dtensor.UNSHARDED
mesh = dtensor.create_distributed_mesh([("batch", 2), ("model", 2)], device_type="CPU")
assert mesh.size == 4
assert len(mesh.local_devices()) == CPUS
assert dtensor.num_global_devices("CPU") == 4


def variable(values, specs):
    return dtensor.DVariable(dtensor.relayout(values, dtensor.Layout(specs, mesh)))


random = np.random.default_rng(1)
w = variable(random.normal(size=(4, 6)).astype("f"), [U, "model"])
u = variable(random.normal(size=(6, 2)).astype("f"), ["model", "batch"])
steps = tf.Variable(0)
optimizer = tf.optimizers.Adam(0.05)
checkpoint = tf.train.Checkpoint(w=w, u=u, steps=steps, optimizer=optimizer)
manager = tf.train.CheckpointManager(checkpoint, str(FOLDER / "checkpoints"), max_to_keep=1)
manager.restore_or_initialize()
table = np.load(FOLDER / "rows.npy")[:24]
dataset = dtensor.DTensorDataset(
    tf.data.Dataset.from_tensor_slices((table[:, :4], table[:, 4:])),
    mesh=mesh,
    layouts=(dtensor.Layout(["batch", U], mesh), dtensor.Layout(["batch", U], mesh)),
    global_batch_size=8,
)


@tf.function
def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.tanh(x @ w) @ u - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, [w, u]), [w, u]))
    steps.assign_add(1)
    return loss


losses = [float(train(x, y)) for _ in range(2) for x, y in dataset]
for _ in range(2):
    if WHAT == "train":
        manager.save()
whole = [dtensor.relayout(v, dtensor.Layout.replicated(mesh, rank=2)).numpy().tolist() for v in (w, u)]
result = {
    "losses": losses,
    "values": whole,
    "steps": int(steps),
    "parts": [list(part.shape) for v in (w, u) for part in dtensor.unpack(v)],
    "clients": dtensor.num_clients(),
}
try:
    u.numpy()
except tf.errors.UnimplementedError as error:
    result["error"] = str(error)
assert "divided among processes" in repr(u.value())
(FOLDER / f"result.{dtensor.client_id()}.json").write_text(json.dumps(result))
dtensor.barrier(mesh)
