"""Keras's JaxLayer, whose functions JAX itself runs here."""

import numpy as np

import gradtape as tf
from gradtape import keras


def test_a_layer_in_jax_learns():
    def init(rng, inputs):
        return {"slope": np.zeros((2, 1), np.float32)}

    def call(params, inputs):
        return inputs @ params["slope"]

    model = keras.Sequential([keras.Input((2,)), keras.layers.JaxLayer(call, init)])
    model.compile("sgd", "mse")
    x = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
    y = x @ np.array([[1.0], [2.0]], np.float32)
    before = model.evaluate(x, y, verbose=0)
    after = model.fit(x, y, epochs=3, batch_size=16, verbose=0).history["loss"][-1]
    assert after < before / 1.3
    assert isinstance(model(x), tf.Tensor) and model.output_shape == (None, 1)
