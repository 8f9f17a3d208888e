"""`model.fit` of Keras under a strategy's scope gives the weights of one device."""

import numpy as np
import pytest

import gradtape as tf

pytest.importorskip("keras")
X = np.random.default_rng(0).normal(size=(48, 6)).astype("f")
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


def test_a_smaller_last_batch():
    """16 rows, and 14, which are 4, 4, 4 and 2 and run in threads. Each replica's mean has the same weight."""
    strategy = tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(4)])
    with strategy.scope():
        model = tf.keras.Sequential(
            [tf.keras.Input((6,)), tf.keras.layers.Dense(1, kernel_initializer="ones")]
        )
        model.compile(optimizer="sgd", loss="mse")
    model.fit(X[:30], Y[:30], batch_size=16, shuffle=False, verbose=0)
    kernel, bias = np.ones((6, 1)), np.zeros(1)
    for parts in ([4, 8, 12, 16], [20, 24, 28, 30]):
        slope, shift = np.zeros((6, 1)), np.zeros(1)
        for rows in np.split(np.arange(parts[3]), [parts[0] - 4, *parts])[1:5]:
            error = X[rows] @ kernel + bias - Y[rows]
            slope += 2 * X[rows].T @ error / len(rows) / 4
            shift += 2 * error.mean() / 4
        kernel, bias = kernel - 0.01 * slope, bias - 0.01 * shift
    np.testing.assert_allclose(model.get_weights()[0], kernel, rtol=1e-4)
    np.testing.assert_allclose(model.get_weights()[1], bias, rtol=1e-4)


@pytest.mark.parametrize(
    "optimizer",
    [lambda keras: keras.optimizers.SGD(0.1, momentum=0.9), lambda keras: keras.optimizers.Adam(0.01)],
)
def test_fit_evaluate_and_predict(optimizer):
    """Equal rows: Keras divides the mean of each replica's rows by the number of replicas."""
    alone = fitted(tf.distribute.get_strategy(), optimizer)
    for count in (2, 4):
        found = fitted(tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(count)]), optimizer)
        for a, b in zip(found[2], alone[2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found[1], alone[1], rtol=1e-4)
        np.testing.assert_allclose(found[3], alone[3], rtol=1e-4, atol=1e-5)
        for name, values in alone[0].items():
            np.testing.assert_allclose(found[0][name], values, rtol=1e-4)
