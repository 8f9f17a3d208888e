"""Files and checkpoints of Keras models: they load with equal predictions, and training goes on where it was."""

import shutil
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import layers
from keras.src.legacy.saving import json_utils

import gradtape as tf

from . import networks

FILES = Path(__file__).parents[1] / "data" / "keras"


def test_files_of_keras_on_tensorflow_go_on_as_there():
    assert networks.check_files(FILES) == list(networks.FILES)


@pytest.mark.parametrize("ending", [".keras", ".weights.h5"])
def test_files_go_on_as_the_models_that_were_saved(ending, tmp_path):
    networks.write_files(tmp_path, [f"mlp{ending}"])
    networks.check_files(tmp_path)


class Registered(tf.experimental.ExtensionType):
    __name__ = "tests.keras.Registered"
    values: tf.Tensor


def test_keras_s_json_knows_shapes_specs_and_values_made_of_tensors():
    content = {
        "shapes": [tf.TensorShape(None), tf.TensorShape([3, None]), (1, 2)],
        "spec": tf.RaggedTensorSpec([None, None], tf.int32),
        "value": Registered([1.0, 2.0]),
    }
    loaded = json_utils.decode(json_utils.Encoder().encode(content))
    assert bool(loaded.pop("value") == content.pop("value"))
    assert loaded == content
    assert [isinstance(shape, tf.TensorShape) for shape in loaded["shapes"]] == [True, True, False]


# ---------------------------------------------------------------------------------------------------------------------
# Checkpoints


class Subclassed(keras.Model):
    """Layers in attributes, lists and dictionaries, and variables of both kinds."""

    def __init__(self):
        super().__init__()
        self.first = layers.Dense(3)
        self.stack = [layers.Dense(2), layers.Dense(2)]
        self.named = {"last": layers.Dense(2)}
        self.dropout, self.norm = layers.Dropout(0.5), layers.BatchNormalization()

    def build(self, shape):
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")
        self.offset = tf.Variable(0.5)
        super().build(shape)

    def call(self, x, training=False):
        x = self.first(x)
        for layer in self.stack:
            x = layer(x)
        x = self.named["last"](x) * self.scale + self.offset
        return self.norm(self.dropout(x, training=training), training=training)


def sequential():
    return keras.Sequential([layers.Dense(3), layers.Dense(3), layers.Dense(3), layers.Dense(2)])


def functional():
    x = keras.Input((5,))
    h = layers.BatchNormalization()(layers.Dense(3)(x))
    return keras.Model(x, layers.LSTM(2)(layers.Reshape((3, 1))(h)))


X = np.random.default_rng(0).normal(size=(8, 5)).astype("float32")


def train(model, optimizer, steps=2):
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(X, training=True) - X[:, :2]) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


@pytest.mark.parametrize("built", ["nothing", "model", "both"])
@pytest.mark.parametrize("make", [Subclassed, sequential, functional])
def test_a_checkpoint_restores_a_fresh_model_and_optimizer(make, built, tmp_path):
    model, optimizer = make(), keras.optimizers.Adam(0.01)
    train(model, optimizer)
    path = tf.train.Checkpoint(model=model, optimizer=optimizer).save(tmp_path / "ckpt")
    train(model, optimizer)

    again, its_optimizer = make(), keras.optimizers.Adam(0.5)
    if built != "nothing":
        again(X)
    if built == "both":
        its_optimizer.build(again.trainable_variables)
    status = tf.train.Checkpoint(model=again, optimizer=its_optimizer).restore(path)
    if built == "both":
        status.assert_consumed()
    train(again, its_optimizer)
    status.assert_consumed()
    np.testing.assert_allclose(again(X), model(X), 1e-5)
    for ours, expected in zip(its_optimizer.variables, optimizer.variables, strict=True):
        np.testing.assert_allclose(ours, expected, 1e-4, 1e-7, err_msg=expected.path)


def test_names_in_a_checkpoint_are_those_of_attributes(tmp_path):
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1)])
    path = tf.train.Checkpoint(model=model, step=keras.Variable(1.0)).write(tmp_path / "ckpt")
    assert tf.train.list_variables(path) == [
        ("model/_layers/0/_kernel", [2, 1]),
        ("model/_layers/0/bias", [1]),
        ("step", []),
    ]


def test_a_checkpoint_saves_metrics_and_single_variables(tmp_path):
    mean, auc, step = keras.metrics.Mean(), keras.metrics.AUC(num_thresholds=5), keras.Variable(3.0)
    mean.update_state([1.0, 5.0])
    auc.update_state([0, 1, 1], [0.2, 0.6, 0.4])
    expected = mean.result(), auc.result()
    checkpoint = tf.train.Checkpoint(mean=mean, auc=auc, step=step)
    path = checkpoint.save(tmp_path / "ckpt")
    mean.reset_state()
    auc.reset_state()
    step.assign(0.0)
    checkpoint.restore(path).assert_consumed()
    assert (mean.result(), auc.result(), float(step)) == (*expected, 3.0)


def test_a_checkpoint_that_does_not_fit_changes_nothing(tmp_path):
    path = tf.train.Checkpoint(keras.Sequential([keras.Input((3,)), layers.Dense(2)])).write(
        tmp_path / "ckpt"
    )
    other = keras.Sequential([keras.Input((4,)), layers.Dense(2)])
    before = other.get_weights()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"_layers\.0\._kernel"):
        tf.train.Checkpoint(other).restore(path)
    for now, was in zip(other.get_weights(), before, strict=True):
        np.testing.assert_array_equal(now, was)


def test_a_manager_goes_on_with_fit(tmp_path):
    def manager(model):
        return tf.train.CheckpointManager(tf.train.Checkpoint(model), tmp_path, max_to_keep=2)

    model = networks.network("mlp", run_eagerly=True)
    x, y = networks.data("mlp")
    for _ in range(3):
        model.fit(x, y, shuffle=False, verbose=0)
        manager(model).save(checkpoint_number=int(model.optimizer.iterations))
    assert len(manager(model).checkpoints) == 2
    expected = model.fit(x, y, shuffle=False, verbose=0).history

    model = networks.network("mlp", seed=1)
    assert manager(model).restore_or_initialize()
    assert int(model.optimizer.iterations) == 3
    found = model.fit(x, y, shuffle=False, verbose=0).history
    np.testing.assert_allclose(found["loss"], expected["loss"], 1e-5)


# ---------------------------------------------------------------------------------------------------------------------
# What else saves


def test_damaged_files_are_refused(tmp_path):
    copy = shutil.copy(FILES / "mlp.keras", tmp_path / "mlp.keras")
    content = Path(copy).read_bytes()
    Path(copy).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="zip"):
        keras.saving.load_model(copy)


def test_a_custom_layer_is_saved_with_its_own_variables(tmp_path):
    @keras.saving.register_keras_serializable(package="tests")
    class Scaled(layers.Layer):
        def __init__(self, factor, **kwargs):
            super().__init__(**kwargs)
            self.factor = factor

        def build(self, shape):
            self.shift = self.add_weight(shape=shape[1:], initializer="uniform")

        def call(self, x):
            return x * self.factor + self.shift

        def get_config(self):
            return super().get_config() | {"factor": self.factor}

    model = keras.Sequential([keras.Input((5,)), Scaled(2.5), layers.Dense(1)])
    model.save(tmp_path / "m.keras")
    loaded = keras.saving.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(loaded(X), model(X))
