"""Keras under a strategy's scope: `model.fit` gives the weights of one device; loops of the user's."""

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


OPTIMIZERS = {
    "adam": lambda keras: keras.optimizers.Adam(0.01, global_clipnorm=1.0),
    "accumulation": lambda keras: keras.optimizers.SGD(0.1, momentum=0.9, gradient_accumulation_steps=2),
    "averages": lambda keras: keras.optimizers.Adam(0.01, use_ema=True, ema_overwrite_frequency=3),
}


def looped(optimizer, compiled):
    """The weights after a loop of the user's, the state of the optimizer, and the counts of its runs."""
    keras = tf.keras
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.Input((6,)),
                keras.layers.Dense(4, use_bias=False),  # its gradient would be rounding alone
                keras.layers.BatchNormalization(),
                keras.layers.Dense(1),
            ]
        )
        optimizer = optimizer(keras)
        mean = keras.metrics.Mean()

    def step(x, y):
        with tf.GradientTape() as tape:
            losses = keras.losses.mean_squared_error(y, model(x, training=True))
            loss = tf.nn.compute_average_loss(losses, global_batch_size=8)
        slopes = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(slopes, model.trainable_variables, strict=True))
        mean.update_state(losses)
        return loss

    def train(batch):
        return strategy.reduce("SUM", strategy.run(step, args=batch), axis=None)

    train = tf.function(train) if compiled else train
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    batches = list(strategy.experimental_distribute_dataset(dataset))
    losses = [float(train(batch)) for _ in range(4) for batch in batches]
    state = [v.numpy() for v in optimizer.variables if v.dtype == "float32"]
    return [losses, *model.get_weights(), *state, mean.result().numpy()], strategy.extended.runs()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_loop_without_a_function(name):
    """Each replica has its own sums of gradients, as in a function; one program runs most calls."""
    expected, _ = looped(OPTIMIZERS[name], compiled=True)
    found, counts = looped(OPTIMIZERS[name], compiled=False)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)
    (count,) = counts.values()
    assert count["calls"] == 24 and count["one program"] >= 11, count
