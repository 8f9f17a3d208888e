"""gradtape's own optimizers, losses, metrics and initializers together with Keras's models."""

import numpy as np
import pytest

import gradtape as tf
from gradtape import keras

X = np.linspace(-1.0, 1.0, 24, dtype=np.float32).reshape(8, 3)
Y = X.sum(1, keepdims=True)


def network():
    keras.utils.set_random_seed(1)
    return keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)]
    )


SCHEDULE = tf.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)


@pytest.mark.parametrize(
    ("own", "same"),
    [
        (tf.optimizers.Adam(0.01, beta_1=0.8), lambda: keras.optimizers.Adam(0.01, beta_1=0.8)),
        (
            tf.optimizers.SGD(SCHEDULE, momentum=0.5),
            lambda: keras.optimizers.SGD(
                keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9), momentum=0.5
            ),
        ),
    ],
)
def test_compile_takes_our_optimizers_for_keras_s(own, same):
    losses = []
    for optimizer in (own, same()):
        model = network()
        model.compile(optimizer=optimizer, loss="mse")
        assert isinstance(model.optimizer, keras.optimizers.Optimizer)
        losses.append(model.fit(X, Y, epochs=3, shuffle=False, verbose=0).history["loss"])
    assert losses[0] == losses[1]


def test_an_optimizer_of_ours_and_keras_s_for_it_are_one():
    own, same = tf.optimizers.Adam(0.05), keras.optimizers.Adam(0.05)
    models = network(), network()
    for model, optimizer in zip(models, (own, same), strict=True):
        model.compile(optimizer=optimizer, loss="mse")
        model.fit(X, Y, epochs=2, shuffle=False, verbose=0)
        optimizer.learning_rate = 0.01
        model.compile(optimizer=optimizer, loss="mse")
        model.fit(X, Y, epochs=2, shuffle=False, verbose=0)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(X) - Y))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        model.optimizer.learning_rate = 0.5
    assert float(own.learning_rate) == 0.5
    assert int(own.iterations) == int(same.iterations) == 5
    for ours, theirs in zip(models[0].get_weights(), models[1].get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_an_optimizer_of_ours_with_state_is_refused():
    model, optimizer = network(), tf.optimizers.Adam(0.1)
    optimizer.apply_gradients([(tf.ones((1,)), model.layers[-1].bias)])
    with pytest.raises(ValueError, match=r"has state from updates before.*keras\.optimizers\.Adam for both"):
        model.compile(optimizer=optimizer)


def test_an_optimizer_that_keras_does_not_have_is_refused_by_keras():
    class Mine(tf.optimizers.Optimizer):
        """An optimizer of the user's own."""

    class SGD(tf.optimizers.SGD):
        """Another, by the name of one that Keras has."""

    for optimizer in (Mine(0.1), SGD(0.1)):
        with pytest.raises(ValueError, match="Could not interpret optimizer"):
            network().compile(optimizer=optimizer)


class Quartic(tf.losses.Loss):
    """A loss of the user's own."""

    def call(self, y_true, y_pred):
        return tf.reduce_mean((y_pred - y_true) ** 4, axis=-1)


class KerasQuartic(keras.losses.Loss):
    """The same for Keras."""

    call = Quartic.call


@pytest.mark.parametrize(
    ("own", "same"),
    [
        (tf.losses.Huber(delta=0.1), keras.losses.Huber(delta=0.1)),
        (tf.losses.MeanAbsoluteError(reduction="sum"), keras.losses.MeanAbsoluteError(reduction="sum")),
        (tf.losses.MeanSquaredError(reduction="auto"), keras.losses.MeanSquaredError()),
        (tf.losses.MeanSquaredError, keras.losses.MeanSquaredError),
        (Quartic(), KerasQuartic()),
    ],
)
def test_a_loss_of_ours_weighs_the_samples(own, same):
    histories = []
    for loss in (own, same):
        model = network()
        model.compile(optimizer="sgd", loss=loss)
        weights = np.arange(8.0)
        histories.append(
            model.fit(X, Y, sample_weight=weights, batch_size=3, epochs=3, shuffle=False, verbose=0)
        )
    np.testing.assert_allclose(histories[0].history["loss"], histories[1].history["loss"], rtol=1e-6)


def test_a_metric_of_ours_is_reset_for_each_epoch_and_weighted():
    own, same = tf.metrics.MeanAbsoluteError(name="own"), keras.metrics.MeanAbsoluteError(name="same")
    weighed, too = tf.metrics.MeanSquaredError(name="weighed"), keras.metrics.MeanSquaredError(name="too")
    model = network()
    model.compile(
        optimizer="sgd",
        loss="mse",
        metrics=[own, same, tf.metrics.RootMeanSquaredError],
        weighted_metrics=[weighed, too],
    )
    options = {"sample_weight": np.arange(8.0), "batch_size": 3, "verbose": 0}
    logs = model.fit(X, Y, epochs=3, validation_data=(X, Y), **options).history
    np.testing.assert_allclose(logs["own"], logs["same"], rtol=1e-6)
    np.testing.assert_allclose(logs["val_own"], logs["val_same"], rtol=1e-6)
    np.testing.assert_allclose(logs["weighed"], logs["too"], rtol=1e-6)
    assert "root_mean_squared_error" in logs
    results = model.evaluate(X, Y, return_dict=True, **options)
    np.testing.assert_allclose(
        [results["own"], float(own.result())], [results["same"], float(same.result())], rtol=1e-6
    )


def test_a_metric_of_ours_in_a_model_is_reset_for_each_epoch():
    class Counting(keras.Model):
        """A model that counts its steps."""

        def __init__(self):
            super().__init__()
            self.steps = tf.metrics.Sum(name="steps")

        def train_step(self, data):
            self.steps.update_state(1.0)
            return {"steps": self.steps.result()}

    model = Counting()
    model.compile()
    assert model.steps in model.metrics
    assert model.fit(X, Y, batch_size=2, epochs=3, verbose=0).history["steps"] == [4.0, 4.0, 4.0]


@pytest.mark.parametrize("compiled", [False, True])
def test_our_optimizers_update_keras_s_variables(compiled):
    def trained(optimizer):
        model = network()

        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        run = tf.function(step) if compiled else step
        return [float(run(tf.constant(X), tf.constant(Y))) for _ in range(5)]

    ours, theirs = trained(tf.optimizers.Adam(0.05)), trained(keras.optimizers.Adam(0.05))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert ours[-1] < ours[0]


def test_minimize_and_build_take_keras_s_variables():
    model, optimizer = network(), tf.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)
    before = float(tf.reduce_sum(model(X)))
    optimizer.minimize(lambda: tf.reduce_sum(model(X)), model.trainable_variables)
    assert float(tf.reduce_sum(model(X))) < before


def test_an_initializer_of_ours_makes_a_layer_s_weights():
    layer = keras.layers.Dense(2, kernel_initializer=tf.initializers.Constant(0.5))
    np.testing.assert_allclose(layer(X), X.sum(1, keepdims=True) * [[0.5, 0.5]], rtol=1e-6, atol=1e-7)


def test_names_of_keras_2_that_tensorflow_keeps():
    assert keras.losses.Reduction.NONE == "none"
    assert keras.losses.MSE is keras.losses.mean_squared_error
    np.testing.assert_array_equal(keras.backend.square(tf.constant([3.0])), [9.0])
    assert keras.layers.ThresholdedReLU(theta=1.0)(tf.constant([[0.5, 2.0]])).numpy().tolist() == [[0.0, 2.0]]
    assert keras.preprocessing.text.text_to_word_sequence("a B!") == ["a", "b"]
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        keras.losses.Nothing
