"""Tapes and Keras: gradients of layers, Keras's variables as values, functions and rules of one's own in layers."""

import keras
import numpy as np
import pytest
from keras import layers

import gradtape as tf

GENERATOR = np.random.default_rng(2)

# Layers, and the shape of their input.
LAYERS = {
    "Dense": (lambda: layers.Dense(3, activation="tanh"), (2, 4)),
    "Conv2D": (lambda: layers.Conv2D(2, 2, strides=2, padding="same"), (2, 3, 3, 2)),
    "DepthwiseConv1D": (lambda: layers.DepthwiseConv1D(2), (2, 4, 2)),
    "LSTM": (lambda: layers.LSTM(2), (2, 3, 2)),
    "GRU": (lambda: layers.GRU(2, return_sequences=True, go_backwards=True), (2, 3, 2)),
    "MultiHeadAttention": (lambda: SelfAttention(2, 2), (2, 3, 2)),
    "BatchNormalization": (lambda: layers.BatchNormalization(), (4, 3)),
    "LayerNormalization": (lambda: layers.LayerNormalization(), (2, 4)),
}


class SelfAttention(layers.MultiHeadAttention):
    def build(self, shape):
        super().build(shape, shape)

    def call(self, x, training=None):
        return super().call(x, x, training=training)

    def compute_output_shape(self, shape):
        return shape


def loss_of(layer, x):
    y = layer(x, training=True)
    weights = np.cos(np.arange(np.prod(y.shape))).reshape(y.shape)
    return tf.reduce_sum(y * weights)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_layers_agree_with_differences(name):
    keras.config.set_dtype_policy("float64")
    make, shape = LAYERS[name]
    x, layer = tf.Variable(GENERATOR.normal(size=shape)), make()
    loss_of(layer, x)

    def gradients():
        with tf.GradientTape() as tape:
            loss = loss_of(layer, x)
        return tape.gradient(loss, [x, *layer.trainable_variables])

    eager, compiled = gradients(), tf.function(gradients)()
    for variable, found, same in zip([x, *layer.trainable_variables], eager, compiled, strict=True):
        variable.assign(
            variable + 0.1 * GENERATOR.normal(size=variable.shape)
        )  # biases of 0 would hide errors
        np.testing.assert_allclose(found, same, 1e-7, 1e-10)
    for variable, found in zip([x, *layer.trainable_variables], gradients(), strict=True):
        direction = GENERATOR.normal(size=variable.shape)
        start = variable.numpy()
        values = []
        for step in (1e-5, -1e-5):
            variable.assign(start + step * direction)
            values.append(float(loss_of(layer, x)))
        variable.assign(start)
        np.testing.assert_allclose(
            np.sum(found * direction), (values[0] - values[1]) / 2e-5, 1e-5, 1e-8, err_msg=str(variable)
        )


# ---------------------------------------------------------------------------------------------------------------------
# A Keras variable as a value


def test_a_keras_variable_is_an_operand():
    v = keras.Variable([1.0, 4.0])
    assert tf.sqrt(v).numpy().tolist() == [1.0, 2.0]
    assert tf.concat([v, v], 0).shape == tf.stack([v, tf.ones(2)]).shape[0] * 2
    assert (tf.constant(2.0) * v).numpy().tolist() == (v * tf.constant(2.0)).numpy().tolist() == [2.0, 8.0]
    assert float(tf.function(lambda: tf.reduce_sum(v))()) == 5.0
    assert float(tf.function(tf.reduce_sum)(v)) == 5.0


def test_a_keras_variable_is_a_source():
    v, still = keras.Variable([1.0, 2.0]), keras.Variable([3.0], trainable=False)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v * still
    assert tape.gradient(y, v).numpy().tolist() == [6.0, 12.0]
    assert tape.jacobian(y, v).numpy().tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert tape.gradient(y, [still])[0] is None
    assert [w is v.value for w in tape.watched_variables()] == [True]
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(still)
        y = v * still
    assert tape.gradient(y, {"v": v, "still": still})["v"] is None
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(v**3)
        first = inner.gradient(y, v)
    assert outer.gradient(first, v).numpy().tolist() == [6.0, 12.0]


def test_a_keras_variable_counts_up_in_a_function():
    v = keras.Variable(0.0)

    @tf.function
    def count(by):
        v.assign_add(by)
        v.assign(v * 2.0)
        return v + 0.0

    assert [float(count(tf.constant(1.0))) for _ in range(3)] == [2.0, 6.0, 14.0]
    assert float(v) == 14.0


# ---------------------------------------------------------------------------------------------------------------------
# Layers of one's own


class Clipped(layers.Layer):
    """Identity with a gradient of at most 1, by a rule of its own."""

    def call(self, x):
        @tf.custom_gradient
        def clipped(x):
            return tf.identity(x), lambda upstream: tf.clip_by_value(upstream, -1.0, 1.0)

        return clipped(x)


class Powered(layers.Layer):
    """A method that is compiled by itself."""

    def build(self, shape):
        self.power = self.add_weight(shape=(), initializer=lambda shape, dtype: tf.constant(3.0, dtype))

    @tf.function
    def call(self, x):
        return tf.abs(x) ** self.power


class Rule(layers.Layer):
    """A rule that reads a variable of the layer."""

    def build(self, shape):
        self.scale = self.add_weight(shape=(), initializer="ones")

    def call(self, x):
        @tf.custom_gradient
        def scaled(x):
            def rule(upstream, variables=None):
                return upstream * 10.0, [tf.reduce_sum(upstream * x)]

            return x * self.scale, rule

        return scaled(x)


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "compiled"])
def test_rules_and_functions_in_layers(eager):
    model = keras.Sequential([keras.Input((2,)), Clipped(), Powered(), Rule()])
    x = tf.constant([[1.0, 2.0]])

    def gradients(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(model(x))
        return y, *tape.gradient(y, [x, *model.trainable_variables])

    y, to_x, to_power, to_scale = (gradients if eager else tf.function(gradients))(x)
    np.testing.assert_allclose(y, 9.0)
    np.testing.assert_allclose(to_x, [[1.0, 1.0]])
    np.testing.assert_allclose(to_power, 10 * 8 * np.log(2.0), 1e-6)
    np.testing.assert_allclose(to_scale, 9.0)
    model.compile(keras.optimizers.SGD(0.01), "mse", run_eagerly=eager)
    model.fit(np.ones((4, 2)), np.zeros((4, 2)), verbose=0)
    np.testing.assert_allclose(model.layers[-1].scale, 1.0 - 0.02, 1e-5)
