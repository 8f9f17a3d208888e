"""Callbacks of `fit` that save, stop, log and change what is learnt."""

import csv
import re

import keras
import numpy as np
import pytest
from keras import callbacks, layers

import gradtape as tf
from gradtape.files.encoding import message_array

from .networks import data, network

X, Y = data("mlp")


def fit(model, *calls, epochs=3, **options):
    return model.fit(X, Y, epochs=epochs, shuffle=False, verbose=0, callbacks=list(calls), **options).history


def linear(learning_rate=0.01):
    model = keras.Sequential([keras.Input((8,)), layers.Dense(1, kernel_initializer="zeros")])
    model.compile(keras.optimizers.SGD(learning_rate), "mse", run_eagerly=True)
    return model


class Fail(callbacks.Callback):
    """Raise at the start of an epoch, once."""

    def __init__(self, epoch, error):
        super().__init__()
        self.epoch, self.error = epoch, error

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.epoch:
            self.epoch = None
            raise self.error


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "compiled"])
def test_backup_and_restore_goes_on_after_a_failure(eager, tmp_path):
    expected = fit(network("mlp", run_eagerly=eager), epochs=4)["loss"]
    with pytest.raises(RuntimeError, match="power cut"):
        fit(
            network("mlp", run_eagerly=eager),
            callbacks.BackupAndRestore(tmp_path),
            Fail(2, RuntimeError("power cut")),
            epochs=4,
        )
    model = network("mlp", seed=1, run_eagerly=eager)
    found = fit(model, callbacks.BackupAndRestore(tmp_path), epochs=4)["loss"]
    assert len(found) == 2
    np.testing.assert_allclose(found, expected[2:], 1e-5)


def test_model_checkpoint_keeps_the_best(tmp_path):
    best, weights = tmp_path / "best.keras", str(tmp_path / "{epoch:02d}.weights.h5")
    model = linear()
    history = fit(
        model,
        callbacks.ModelCheckpoint(best, monitor="val_loss", save_best_only=True),
        callbacks.ModelCheckpoint(weights, save_weights_only=True),
        callbacks.LearningRateScheduler(lambda epoch, rate: 10.0 if epoch == 2 else rate),
        validation_data=(X, Y),
    )
    assert np.argmin(history["val_loss"]) == 1
    loaded = keras.saving.load_model(best)
    np.testing.assert_allclose(loaded.evaluate(X, Y, verbose=0), history["val_loss"][1], 1e-5)
    model.load_weights(tmp_path / "01.weights.h5")
    np.testing.assert_allclose(model.evaluate(X, Y, verbose=0), history["val_loss"][0], 1e-5)


def test_early_stopping_restores_the_best_weights():
    model = linear(learning_rate=1.0)  # which diverges
    stop = callbacks.EarlyStopping(monitor="loss", patience=2, restore_best_weights=True)
    history = fit(model, stop, epochs=9)
    assert len(history["loss"]) == stop.stopped_epoch + 1 == 3
    np.testing.assert_allclose(model.evaluate(X, Y, verbose=0), history["loss"][1], 1e-5)


def test_the_learning_rate_falls_on_a_plateau():
    model = linear(learning_rate=1.0)
    history = fit(model, callbacks.ReduceLROnPlateau(monitor="loss", factor=0.1, patience=1), epochs=4)
    np.testing.assert_allclose(history["learning_rate"], [1.0, 1.0, 0.1, 0.01], 1e-5)


def test_csv_logger_and_lambda_callback(tmp_path):
    seen = []
    history = fit(
        linear(),
        callbacks.CSVLogger(tmp_path / "log.csv"),
        callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append((epoch, logs["loss"]))),
    )
    with open(tmp_path / "log.csv") as file:
        rows = list(csv.DictReader(file))
    assert seen == list(enumerate(history["loss"]))
    np.testing.assert_allclose([float(row["loss"]) for row in rows], history["loss"])


def test_training_stops_at_nan():
    history = fit(linear(learning_rate=1e30), callbacks.TerminateOnNaN(), epochs=9)
    assert len(history["loss"]) < 9


def test_tensorboard_writes_what_was_measured(tmp_path):
    history = fit(network("mlp"), callbacks.TensorBoard(tmp_path, histogram_freq=1), validation_data=(X, Y))
    found = {}
    for file in tmp_path.glob("*/*.v2"):
        for event in tf.compat.v1.train.summary_iterator(str(file)):
            for value in event.summary.value:
                if value.HasField("tensor"):
                    found.setdefault((file.parent.name, value.tag), []).append(
                        message_array("test", value.tensor)
                    )
    np.testing.assert_allclose(found["train", "epoch_loss"], history["loss"], 1e-6)
    np.testing.assert_allclose(found["validation", "epoch_mae"], history["val_mae"], 1e-6)
    assert len([tag for _, tag in found if tag.endswith("kernel/histogram")]) == 2


def test_averaged_weights_are_swapped_in_for_validation():
    model = keras.Sequential([keras.Input((8,)), layers.Dense(1, kernel_initializer="zeros")])
    model.compile(keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5), "mse")
    steps, epochs, validations = [], [], []
    note = callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: steps.append(model.get_weights()[0]),
        on_epoch_begin=lambda epoch, logs: epochs.append(model.get_weights()[0]),
        on_test_begin=lambda logs: validations.append(model.get_weights()[0]),
    )
    fit(model, callbacks.SwapEMAWeights(), note, epochs=2, batch_size=8, validation_data=(X, Y))
    averaged = steps[0]
    for step in steps[1:3]:
        averaged = 0.5 * averaged + 0.5 * step
    np.testing.assert_allclose(validations[0], averaged, 1e-5, 1e-7)
    np.testing.assert_allclose(epochs[1], steps[2], 1e-5, 1e-7)


class Steps(callbacks.Callback):
    """Keep what one method is given."""

    def __init__(self, method):
        super().__init__()
        self.seen = []
        setattr(self, method, lambda batch, logs=None: self.seen.append(logs))


@pytest.mark.parametrize("method", ["on_batch_end", "on_train_batch_end"])
def test_metrics_of_each_step_are_floats(method):
    steps = Steps(method)
    loss = fit(network("mlp", run_eagerly=False), steps, epochs=1, batch_size=8)["loss"][-1]
    assert len(steps.seen) == -(-len(X) // 8)
    assert all(type(logs["loss"]) is float for logs in steps.seen)
    assert steps.seen[-1]["loss"] == loss  # the mean over the epoch


@pytest.mark.parametrize("method", ["on_test_batch_end", "on_predict_batch_end"])
def test_batches_of_evaluate_and_predict_are_told(method):
    steps, model = Steps(method), network("mlp", run_eagerly=False)
    if method == "on_test_batch_end":
        loss = model.evaluate(X, Y, batch_size=8, verbose=0, callbacks=[steps], return_dict=True)["loss"]
        assert steps.seen[-1]["loss"] == loss
    else:
        expected = model.predict(X, batch_size=8, verbose=0, callbacks=[steps])
        np.testing.assert_array_equal(np.concatenate([logs["outputs"] for logs in steps.seen]), expected)
    assert len(steps.seen) == -(-len(X) // 8)


def test_no_step_is_waited_for_if_no_callback_looks(monkeypatch):
    """Reading a metric waits for the step that computes it."""
    from keras.src.utils import python_utils

    read = []
    as_keras_does = python_utils.pythonify_logs
    monkeypatch.setattr(
        python_utils, "pythonify_logs", lambda logs: read.append(logs) if logs else as_keras_does(logs)
    )
    callbacks_list = callbacks.CallbackList([callbacks.EarlyStopping()], add_history=True, model=linear())
    for kind in "train", "test", "predict":
        getattr(callbacks_list, f"on_{kind}_batch_end")(0, {"loss": 1.0})
    assert not read
    callbacks_list.callbacks.append(Steps("on_batch_end"))
    callbacks_list.on_train_batch_end(0, {"loss": 1.0})
    assert len(read) == 1


@pytest.mark.parametrize("way", ["fit", "evaluate", "predict"])
def test_the_progress_bar_shows_the_same_metrics_unread(way, monkeypatch, capsys):
    from keras.src.utils import progbar, python_utils

    update, as_keras_does, read = progbar.Progbar.update, python_utils.pythonify_logs, []

    def draw_always(self, *args, **options):
        self.interval = -1.0
        return update(self, *args, **options)

    monkeypatch.setattr(progbar.Progbar, "update", draw_always)
    monkeypatch.setattr(
        python_utils, "pythonify_logs", lambda logs: (logs and read.append(logs), as_keras_does(logs))[1]
    )

    def shown(*calls):
        read.clear()
        model = network("mlp", run_eagerly=False)
        given = (X,) if way == "predict" else (X, Y)
        options = {"shuffle": False} if way == "fit" else {}
        getattr(model, way)(*given, batch_size=8, verbose=1, callbacks=list(calls), **options)
        return re.findall(r"\d+/\d+|- \w+: [-+.e\d]+", capsys.readouterr().out), len(read)

    steps = -(-len(X) // 8)
    (unread, few), (as_floats, many) = shown(), shown(Looking())
    assert unread == as_floats
    assert len(unread) >= steps + 1
    assert many - few >= steps  # a step's metrics were read for the second alone


class Looking(callbacks.Callback):
    """Look at each batch."""

    def on_train_batch_end(self, batch, logs=None): ...
    def on_test_batch_end(self, batch, logs=None): ...
    def on_predict_batch_end(self, batch, logs=None): ...
