"""The MLP of TensorFlow's DTensor guide on eight CPUs: data parallel, model parallel, and both.

Runs on TensorFlow and on gradtape, and prints numbers as JSON: tests/data/make_distribute.py stores TensorFlow's.
"""

import json
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.experimental import dtensor

BATCH, WORDS, HIDDEN, CLASSES = 16, 24, 8, 2

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * 8)
DEVICES = [f"CPU:{i}" for i in range(8)]
RATE = tf.constant(0.05)
found = {}


class Dense(tf.Module):
    def __init__(self, inputs, outputs, seed, weight_layout, activation=None):
        super().__init__()
        # Drawn whole, and then divided: TensorFlow draws other numbers for other layouts.
        initializer = tf.function(tf.random.stateless_normal)
        whole = dtensor.Layout.replicated(weight_layout.mesh, rank=2)
        weight = dtensor.call_with_layout(initializer, whole, shape=[inputs, outputs], seed=seed)
        self.weight = dtensor.DVariable(dtensor.relayout(weight, weight_layout))
        self.activation = activation or (lambda x: x)
        bias_layout = weight_layout.delete([0])
        self.bias = dtensor.DVariable(dtensor.call_with_layout(tf.zeros, bias_layout, [outputs]))

    def __call__(self, x):
        return self.activation(tf.matmul(x, self.weight) + self.bias)


class BatchNorm(tf.Module):
    def __call__(self, x, training=True):
        if not training:
            return x
        mean, variance = tf.nn.moments(x, axes=[0])
        return tf.nn.batch_normalization(x, mean, variance, 0.0, 1.0, 1e-5)


class MLP(tf.Module):
    def __init__(self, layouts):
        super().__init__()
        self.dense1 = Dense(WORDS, HIDDEN, (1, 2), layouts[0], activation=tf.nn.relu)
        self.bn = BatchNorm()
        self.dense2 = Dense(HIDDEN, CLASSES, (3, 4), layouts[1])

    def __call__(self, x):
        return self.dense2(self.bn(self.dense1(x)))


@tf.function
def train_step(model, x, y, learning_rate=RATE):
    with tf.GradientTape() as tape:
        logits = model(x)
        loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=y))
    parameters = model.trainable_variables
    for parameter, gradient in zip(parameters, tape.gradient(loss, parameters)):
        parameter.assign_sub(learning_rate * gradient)
    hits = tf.cast(tf.equal(tf.argmax(logits, axis=-1, output_type=tf.int64), y), tf.float32)
    return loss / len(x), tf.reduce_sum(hits) / len(x)


def repacked(x, layout):
    """A tensor of this process, cut into the parts of its devices."""
    parts, dims = [tf.convert_to_tensor(x)], []
    for axis, dim in enumerate(layout.sharding_specs):
        if dim == dtensor.UNSHARDED:
            continue
        pieces = layout.num_shards(axis)
        parts = tf.nest.map_structure(lambda t: tf.split(t, pieces, axis=axis), parts)  # noqa: B023
        dims.append(dim)
    components = []
    for location in layout.mesh.local_device_locations():
        part = parts[0]
        for dim in dims:
            part = part[location[dim]]
        components.append(part)
    return dtensor.pack(components, layout)


random = np.random.default_rng(3)
X = random.poisson(0.4, size=(4 * BATCH, WORDS)).astype("f")
Y = (X[:, :12].sum(1) > X[:, 12:].sum(1)).astype("int64")
batches = list(tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH))


def program(name, mesh, layouts, x_layout, y_layout, epochs=2):
    model = MLP([dtensor.Layout(specs, mesh) for specs in layouts])
    results = []
    for _ in range(epochs):
        for x, y in batches:
            loss, accuracy = train_step(model, repacked(x, x_layout), repacked(y, y_layout))
            results.append([float(loss), float(accuracy)])
    parameters = [
        np.asarray(dtensor.relayout(v, dtensor.Layout.replicated(mesh, rank=v.shape.rank)).numpy()).tolist()
        for v in model.trainable_variables
    ]
    parts = [[list(p.shape) for p in dtensor.unpack(v.read_value())] for v in model.trainable_variables]
    found[name] = {"steps": results, "parameters": parameters, "parts": parts}
    return model


U = dtensor.UNSHARDED
mesh = dtensor.create_mesh([("batch", 8)], devices=DEVICES)
program(
    "data",
    mesh,
    [[U, U], [U, U]],
    dtensor.Layout(["batch", U], mesh),
    dtensor.Layout(["batch"], mesh),
)
mesh = dtensor.create_mesh([("batch", 4), ("model", 2)], devices=DEVICES)
model = program(
    "model",
    mesh,
    [[U, "model"], ["model", U]],
    dtensor.Layout(["batch", U], mesh),
    dtensor.Layout(["batch"], mesh),
)
with tempfile.TemporaryDirectory() as folder:
    manager = tf.train.CheckpointManager(
        dtensor.DTensorCheckpoint(mesh=mesh, root=model), folder, max_to_keep=None
    )
    manager.save()
    model.dense1.weight.assign(model.dense1.weight * 0.0)
    manager.restore_or_initialize()
    whole = dtensor.relayout(model.dense1.weight, dtensor.Layout.replicated(mesh, rank=2))
    found["restored"] = np.asarray(whole.numpy()).tolist()
mesh = dtensor.create_mesh([("batch", 2), ("feature", 2), ("model", 2)], devices=DEVICES)
program(
    "spatial",
    mesh,
    [["feature", "model"], ["model", U]],
    dtensor.Layout(["batch", "feature"], mesh),
    dtensor.Layout(["batch"], mesh),
)

print("found", json.dumps(found))
