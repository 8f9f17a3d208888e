"""A training loop of Keras's layers, losses, metrics and optimizers by hand is followed by hot tapes."""

import keras
import numpy as np
import pytest

import gradtape as tf
from gradtape.hot import places


def train(steps):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(6, activation="relu"), keras.layers.Dense(1)]
    )
    optimizer, loss, mean = keras.optimizers.Adam(0.01), keras.losses.MeanSquaredError(), keras.metrics.Mean()
    random, found = np.random.default_rng(0), []
    for _ in range(steps):
        x = random.normal(size=(16, 8)).astype("float32")
        with tf.GradientTape() as tape:
            value = loss(x[:, :1], model(x, training=True))
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        mean.update_state(value)
        found.append(float(value))
    return [*found, float(mean.result()), *np.concatenate([np.ravel(w) for w in model.get_weights()])]


def test_a_training_loop_of_keras_is_followed(monkeypatch):
    cold = train(8)
    monkeypatch.setattr(places, "places", {})
    monkeypatch.setattr(places, "policy", places.Policy())
    places.policy.always()
    before = places.is_on()
    places.switch(True)
    try:
        warm = train(8)
        counts = places.counts()
    finally:
        places.switch(before)
    assert warm == pytest.approx(cold, rel=1e-4, abs=1e-6)
    assert (counts["passes"], counts["left"]) == (8, 0), counts
    assert counts["followed"] >= 6, counts
