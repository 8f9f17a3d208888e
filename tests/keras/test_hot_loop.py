"""A training loop of one's own around a Keras model is followed by hot tapes."""

import keras
import numpy as np
from keras import layers

import gradtape as tf
from gradtape.hot import places


def train(steps):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4,)), layers.Dense(8, activation="tanh"), layers.Dense(1)])
    optimizer, loss_of = keras.optimizers.Adam(0.01), keras.losses.MeanSquaredError()
    x = np.random.default_rng(0).normal(size=(16, 4)).astype("float32")
    losses = []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = loss_of(x.sum(1, keepdims=True), model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        losses.append(float(loss))
    return losses


def test_a_loop_around_a_model_is_followed(monkeypatch):
    monkeypatch.setattr(places, "places", {})
    monkeypatch.setattr(places, "policy", places.Policy())
    places.policy.always()
    before = places.is_on()
    places.switch(False)
    cold = train(6)
    places.switch(True)
    warm = train(6)
    places.switch(before)
    np.testing.assert_allclose(warm, cold, rtol=1e-4)
    assert places.counts()["followed"] >= 4
