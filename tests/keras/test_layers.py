"""Layers of Keras on gradtape: each program runs in a process of its own, in which `tensorflow` is gradtape."""

import json
import os
import subprocess
import sys
import textwrap
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(not find_spec("keras") or not find_spec("jax"), reason="needs keras and jax")


def run(program):
    """What a program prints last, read as JSON, and what it logged."""
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow"}
    command = [
        sys.executable,
        "-c",
        "import gradtape as tf, keras, json, numpy as np\n" + textwrap.dedent(program),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


EMBEDDING = """
    losses = {}
    for name in "rmsprop", "adagrad", "adadelta", "adafactor":
        keras.utils.set_random_seed(0)
        layers = [keras.layers.Embedding(50, 4), keras.layers.Flatten(), keras.layers.Dense(1)]
        model = keras.Sequential(layers)
        x, y = np.random.randint(0, 50, (64, 5)), np.random.rand(64, 1)
        model.compile(name, "mse")
        losses[name] = model.fit(x, y, epochs=2, verbose=0, batch_size=16, shuffle=False).history["loss"]
    print(json.dumps(losses))
"""
OF_TENSORFLOW = {  # the same program with the real TensorFlow 2.21
    "rmsprop": [0.31020259857177734, 0.2825724482536316],
    "adagrad": [0.3182387053966522, 0.3151785731315613],
    "adadelta": [0.3194860517978668, 0.31946709752082825],
    "adafactor": [0.31942635774612427, 0.3190827965736389],
}


def test_optimizers_that_divide_the_slices_of_an_embedding_compile():
    losses, logged = run(EMBEDDING)
    assert "operation by operation" not in logged
    for name, expected in OF_TENSORFLOW.items():
        assert losses[name] == pytest.approx(expected, rel=1e-5), name


RECURRENT = """
    keras.config.set_floatx("float64")
    found = {}
    for name in "LSTM", "GRU", "SimpleRNN":
        keras.utils.set_random_seed(0)
        layer = getattr(keras.layers, name)(4, recurrent_dropout=0.5, dropout=0.3, seed=3)
        x = tf.constant(np.random.rand(3, 5, 2))
        layer(x, training=True)
        state = layer.cell.seed_generator.state
        start = np.array(state)
        variables = layer.trainable_variables

        @tf.function
        def loss(x):
            state.assign(start)
            return tf.reduce_sum(tf.sin(layer(x, training=True)))

        @tf.function
        def gradients(x):
            with tf.GradientTape() as tape:
                y = loss(x)
            return tape.gradient(y, [v.value for v in variables])

        before = [np.array(v) for v in variables]
        directions = [np.random.randn(*v.shape) for v in variables]
        along = sum(float((np.array(g) * d).sum()) for g, d in zip(gradients(x), directions))

        def loss_at(step):
            for variable, value, direction in zip(variables, before, directions):
                variable.assign(value + step * direction)
            return float(loss(x))

        found[name] = along, (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6
    print(json.dumps(found))
"""


def test_gradients_through_recurrent_dropout_are_the_finite_differences():
    for name, (gradient, difference) in run(RECURRENT)[0].items():
        assert gradient == pytest.approx(difference, rel=1e-6), name
