"""A program as a user types it: type checkers must know what its expressions are, and report its mistakes.

A line that ends in `# wrong` must be reported, and no other. `assert_type` says what a checker must infer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import gradtape as tf

# ---------------------------------------------------------------------------------------------------------------------
# Tensors and variables

x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
w = tf.Variable(tf.random.normal([2, 3], seed=1), name="w")
b = tf.Variable(np.zeros(3, np.float32))

assert_type(x, tf.Tensor)
assert_type(x + 1, tf.Tensor)
assert_type(2 * x, tf.Tensor)
assert_type(w * 2.0, tf.Tensor)
assert_type(1.0 - b, tf.Tensor)
assert_type(x @ w + b, tf.Tensor)
assert_type(-w, tf.Tensor)
assert_type(x > 0, tf.Tensor)
assert_type(x[:, 0], tf.Tensor)
assert_type(w[0], tf.Tensor)
assert_type(w.value(), tf.Tensor)
assert_type(w.assign_sub(0.1 * w), tf.Variable)
assert_type(float(x[0, 0]), float)
assert_type(x.shape[:1], tf.TensorShape)
assert_type(x.dtype, tf.DType)
assert_type(tf.cast(x, tf.float64), tf.Tensor)
assert_type(tf.cast(x, "int32"), tf.Tensor)
assert_type(tf.zeros([2, 3], dtype=np.float32), tf.Tensor)
assert_type(tf.reshape(w, [-1]), tf.Tensor)
assert_type(tf.ones_like(b), tf.Tensor)

# ---------------------------------------------------------------------------------------------------------------------
# Functions

assert_type(tf.math.log(x), tf.Tensor)
assert_type(tf.math.add(w, [1.0, 2.0, 3.0]), tf.Tensor)
assert_type(tf.exp(b), tf.Tensor)
assert_type(tf.matmul(x, w, transpose_a=True), tf.Tensor)
assert_type(tf.reduce_sum(x, axis=0), tf.Tensor)
assert_type(tf.reduce_mean(x, axis=[0, 1], keepdims=True), tf.Tensor)
assert_type(tf.nn.relu(x), tf.Tensor)
assert_type(tf.nn.softmax(x, axis=-1), tf.Tensor)
assert_type(tf.linalg.inv(x), tf.Tensor)
assert_type(tf.stop_gradient(x), tf.Tensor)
assert_type(tf.concat([x, w], axis=1), tf.Tensor)
assert_type(tf.stack([b, b]), tf.Tensor)
assert_type(tf.one_hot([0, 1], depth=2), tf.Tensor)
assert_type(tf.where(x > 0, x, 0.0), tf.Tensor)
assert_type(tf.argmax(x, axis=1), tf.Tensor)
assert_type(tf.clip_by_value(x, 0.0, 1.0), tf.Tensor)
assert_type(tf.math.special.bessel_j0(x), tf.Tensor)
assert_type(tf.losses.mean_squared_error(x, x), tf.Tensor)


class Column:
    """An array of another library."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.zeros(3)


assert_type(tf.math.log(Column()), tf.Tensor)

tf.math.logg(x)  # wrong
tf.nn.rel(x)  # wrong
tf.exp()  # wrong
tf.exp(object())  # wrong
tf.reduce_sum(x, axes=0)  # wrong
tf.Variable(1.0, trainable="yes")  # wrong

# ---------------------------------------------------------------------------------------------------------------------
# Layers by hand, a step of training


class Dense(tf.Module):
    def __init__(self, inputs: int, outputs: int, activation: Callable[[tf.Tensor], tf.Tensor]) -> None:
        super().__init__()
        self.w = tf.Variable(tf.initializers.GlorotUniform(seed=1)([inputs, outputs]), name="w")
        self.b = tf.Variable(tf.zeros([outputs]), name="b")
        self.activation = activation

    def __call__(self, inputs: tf.Tensor) -> tf.Tensor:
        return self.activation(inputs @ self.w + self.b)


layers = [Dense(2, 4, tf.nn.relu), Dense(4, 1, tf.identity)]
variables = [v for layer in layers for v in layer.trainable_variables]
assert_type(variables, list[tf.Variable])

schedule = tf.optimizers.schedules.ExponentialDecay(0.1, decay_steps=100, decay_rate=0.9)
optimizer = tf.optimizers.Adam(learning_rate=schedule, clipnorm=1.0)
tf.optimizers.SGD(0.1, momentum=0.9, weight_decay=1e-4)
tf.optimizers.Adam(0.1, clip_norm=1.0)  # wrong
tf.optimizers.SGD("fast")  # wrong


@tf.function
def step(inputs: tf.Tensor, target: tf.Tensor, scale: float = 1.0) -> tf.Tensor:
    """One step of training."""
    with tf.GradientTape() as tape:
        for layer in layers:
            inputs = layer(inputs)
        loss = scale * tf.reduce_mean(tf.square(inputs - target))
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(gradients, variables, strict=True))
    return loss


@tf.function(jit_compile=True, reduce_retracing=True)
def squared(value: tf.Tensor) -> tf.Tensor:
    return value * value


assert_type(step(x, x), tf.Tensor)
assert_type(step(x, target=x, scale=2.0), tf.Tensor)
assert_type(squared(x), tf.Tensor)
step(x)  # wrong
step(x, x, scale="large")  # wrong
squared(value=1.0)  # wrong
squared.get_concrete_function(x)
squared.no_such_method()  # wrong


class Counter(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = tf.Variable(0)

    @tf.function
    def add(self, amount: int) -> tf.Tensor:
        return self.count.assign_add(amount).value()


assert_type(Counter().add(3), tf.Tensor)
Counter().add("three")  # wrong


@tf.custom_gradient
def log1pexp(value: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    e = tf.exp(value)
    return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))


assert_type(log1pexp(x), tf.Tensor)
log1pexp(x, x)  # wrong

# ---------------------------------------------------------------------------------------------------------------------
# Tapes

with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    y = tf.reduce_sum(x @ w)

assert_type(tape, tf.GradientTape)
assert_type(tape.watched_variables(), tuple[tf.Variable, ...])
assert_type(tape.gradient(y, w), tf.Tensor | Any)
assert_type(tape.gradient(y, [w, b]), list[tf.Tensor | Any])
named = {"w": w}
assert_type(tape.gradient(y, named), dict[str, tf.Tensor | Any])
first, second = tape.gradient(y, (w, b), unconnected_gradients="zero")
print(first + second)
rows = tape.jacobian(y, x)
tape.gradient(y)  # wrong
tf.GradientTape(persist=True)  # wrong

# ---------------------------------------------------------------------------------------------------------------------
# Data, checkpoints, metrics

dataset = tf.data.Dataset.from_tensor_slices((np.zeros((8, 2), np.float32), np.zeros((8, 1), np.float32)))
dataset = (
    dataset.shuffle(8, seed=1)
    .map(lambda a, b: (a * 2, b))
    .batch(4, drop_remainder=True)
    .prefetch(tf.data.AUTOTUNE)
)
assert_type(dataset, tf.data.Dataset)
for features, target in tf.progress(dataset, "epoch 1"):
    step(features, target)
dataset.bach(2)  # wrong
dataset.batch()  # wrong
dataset.batch("large")  # wrong

checkpoint = tf.train.Checkpoint(layers=layers, optimizer=optimizer)
manager = tf.train.CheckpointManager(checkpoint, "checkpoints", max_to_keep=3)
assert_type(manager.save(), str | None)
assert_type(tf.train.latest_checkpoint("checkpoints"), str | None)
tf.train.Checkpont()  # wrong

mean = tf.metrics.Mean()
mean.update_state(y)
assert_type(mean.result(), tf.Tensor)
tf.keras.optimizers.Adam(1e-3)
tf.config.run_functions_eagerly(False)
