"""`model.fit` of Keras under a strategy's scope gives the weights of one device."""

import numpy as np
import pytest

import gradtape as tf

pytest.importorskip("keras")
X = np.random.default_rng(0).normal(size=(46, 6)).astype("f")
Y = np.sin(X.sum(1, keepdims=True)).astype("f")


def fitted(strategy, optimizer):
    keras = tf.keras
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = keras.Sequential(
            [keras.Input((6,)), keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)]
        )
        model.compile(optimizer=optimizer(keras), loss="mse", metrics=["mae"])
    history = model.fit(X, Y, batch_size=16, epochs=2, shuffle=False, verbose=0)
    evaluated = model.evaluate(X, Y, batch_size=16, verbose=0)
    return history.history, evaluated, model.get_weights(), model.predict(X, batch_size=16, verbose=0)


@pytest.mark.parametrize(
    "optimizer",
    [lambda keras: keras.optimizers.SGD(0.1, momentum=0.9), lambda keras: keras.optimizers.Adam(0.01)],
)
def test_fit_evaluate_and_predict(optimizer):
    """Batches of 16, 16 and 14 rows: the last ones are 7 and 7, or 4, 4, 3 and 3."""
    alone = fitted(tf.distribute.get_strategy(), optimizer)
    for count in (2, 4):
        found = fitted(tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(count)]), optimizer)
        for a, b in zip(found[2], alone[2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found[1], alone[1], rtol=1e-4)
        np.testing.assert_allclose(found[3], alone[3], rtol=1e-4, atol=1e-5)
        for name, values in alone[0].items():
            np.testing.assert_allclose(found[0][name], values, rtol=1e-4)
