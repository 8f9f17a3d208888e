"""Keras's LSTM and GRU: the loops of gradtape give what Keras's own loop gives, and leave to it what is left to it."""

import keras
import numpy as np
import pytest
from keras import layers

import gradtape as tf
from gradtape.compat import keras_recurrent

LAYERS = {
    "lstm": lambda: layers.LSTM(3),
    "lstm backwards, all states": lambda: layers.LSTM(
        3, go_backwards=True, return_sequences=True, return_state=True
    ),
    "lstm without bias, other activations": lambda: layers.LSTM(
        3, use_bias=False, activation="softsign", recurrent_activation="hard_sigmoid", return_sequences=True
    ),
    "lstm with dropout, not in training": lambda: layers.LSTM(3, dropout=0.5),
    "both directions": lambda: layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
    "gru": lambda: layers.GRU(3, return_state=True),
    "gru backwards without bias": lambda: layers.GRU(
        3, use_bias=False, go_backwards=True, return_sequences=True
    ),
    "stateful": lambda: layers.GRU(3, stateful=True),
}


def derivatives(layer, x):
    """The results of two calls, their gradients, and gradients of the gradients."""

    def first():
        with tf.GradientTape() as tape:
            tape.watch(x)
            results = [*tf.nest.flatten(layer(x)), *tf.nest.flatten(layer(x))]
            loss = sum(tf.reduce_sum(tf.sin(r * r + r)) for r in results)
        return results, tape.gradient(loss, [x, *layer.trainable_variables])

    with tf.GradientTape() as tape:
        tape.watch(x)
        results, gradients = first()
        total = sum(tf.reduce_sum(g * g) for g in gradients)
    return results, gradients, tape.gradient(total, [x, *layer.trainable_variables])


@pytest.mark.parametrize("name", LAYERS)
def test_the_loop_gives_what_that_of_keras_gives(name, monkeypatch):
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy("float64")
    x = tf.constant(np.random.default_rng(0).normal(size=(2, 4, 3)))
    layer = LAYERS[name]()
    layer.build(x.shape)
    for i, variable in enumerate(layer.trainable_variables):
        variable.assign(np.cos(np.arange(np.prod(variable.shape)) + i).reshape(variable.shape))
    taken = []
    steps = keras_recurrent.scan
    monkeypatch.setattr(keras_recurrent, "scan", lambda *args: taken.append(1) or steps(*args))
    eager, compiled = derivatives(layer, x), None
    assert taken
    if not getattr(layer, "stateful", False):
        compiled = tf.function(lambda x: derivatives(layer, x))(x)
    else:
        layer.reset_states()
    for kind in layers.LSTM, layers.GRU:
        monkeypatch.setattr(kind, "inner_loop", kind.inner_loop.__wrapped__)
    by_keras = derivatives(layer, x)
    for other in filter(None, (eager, compiled)):
        for found, expected in zip(tf.nest.flatten(other), tf.nest.flatten(by_keras), strict=True):
            np.testing.assert_allclose(found, expected, 1e-9, 1e-12)


def test_masks_dropout_and_other_cells_are_left_to_keras(monkeypatch):
    def refuse(*args):
        raise AssertionError("the loop of gradtape was taken")

    monkeypatch.setattr(keras_recurrent, "scan", refuse)
    x = np.ones((2, 4, 3), "float32")
    layers.LSTM(3)(x, mask=np.array([[True, True, False, False], [True, True, True, True]]))
    layers.LSTM(3, dropout=0.5)(x, training=True)
    layers.GRU(3, recurrent_dropout=0.5)(x, training=True)
    layers.GRU(3, reset_after=False)(x)
    layers.LSTM(3, unroll=True)(x)
    layers.LSTM(3)(x.astype("int64"))
    with pytest.raises(AssertionError, match="was taken"):
        layers.LSTM(3, dropout=0.5)(x, training=False)


def test_mixed_precision_computes_in_half():
    keras.config.set_dtype_policy("mixed_float16")
    y = layers.LSTM(3, return_sequences=True)(np.ones((2, 4, 3), "float32"))
    assert y.dtype == "float16" and y.shape == (2, 4, 3)
