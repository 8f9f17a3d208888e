"""Explanations go through Keras: they name layers, variables by path, and lines of the user's code."""

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape.explain import Reason, session

keras = pytest.importorskip("keras")
layers, ops = keras.layers, keras.ops

X = np.linspace(0.1, 1.0, 8, dtype="float32").reshape(2, 4)
Y = np.ones((2, 1), "float32")


class Doubled(layers.Layer):
    """A layer of the user's, with one of Keras's inside."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.inner = layers.Dense(3, name="inner")

    def call(self, x):
        y = self.inner(x)
        return tf.stop_gradient(y) * 2.0


@pytest.fixture(autouse=True)
def names_anew():
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(1)


def line_of(text):
    """Where a text first stands in this file, as a report shows it."""
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


def traced(build):
    with tf.debugging.trace_origins(), tf.GradientTape(persistent=True) as tape:
        target = build()
    return tape, target


def doubled_model():
    return keras.Sequential(
        [keras.Input((4,)), layers.Dense(5, activation="relu"), Doubled(), layers.Dense(1)], name="net"
    )


# ---------------------------------------------------------------------------------------------------------------------
# Layers, paths and lines


def test_a_path_names_layers_variables_and_the_users_lines():
    model = doubled_model()
    tape, loss = traced(lambda: ops.mean(model(X)))  # the model is called here
    report = tape.explain(loss, model.trainable_variables)[2]
    assert report.source == "net/doubled/inner/kernel"
    assert report.reason is Reason.STOPPED
    assert report.layer == "doubled (Doubled)"
    assert report.line == "return tf.stop_gradient(y) * 2.0"
    called, inside = line_of("# the model is called here"), line_of("y = self.inner(x)")
    steps = [(step.layer, step.operation, int(step.where.rpartition(":")[2])) for step in report.path]
    assert steps == [
        ("doubled/inner (Dense)", "identity", inside),
        ("doubled/inner (Dense)", "matmul", inside),
        ("doubled/inner (Dense)", "add", inside),
        ("doubled (Doubled)", "stop_gradient", inside + 1),
        ("doubled (Doubled)", "multiply", inside + 1),
        ("dense_1 (Dense)", "matmul", called),
        ("dense_1 (Dense)", "add", called),
        ("", "reduce_mean", called),
    ]
    assert f"test_explain.py:{inside + 1}, in doubled (Doubled):  return tf.stop_gradient(y) * 2.0" in str(
        report
    )
    assert "doubled/inner (Dense): matmul float32[2, 3]" in str(report)
    assert report.to_dict()["path"][0]["layer"] == "doubled/inner (Dense)"


def test_one_variable_and_any_structure_of_them_are_sources():
    model = doubled_model()
    tape, loss = traced(lambda: ops.mean(model(X)))
    kernel, bias = model.layers[-1].trainable_variables
    assert tape.explain(loss, kernel).reason is Reason.CONNECTED
    reports = tape.explain(loss, {"b": bias})
    assert reports["b"].source == "net/dense_1/bias"
    assert tf.debugging.find_nan(tape, loss, [kernel, bias]).direction is None


def test_a_loss_is_named_without_a_class():
    model = keras.Sequential([layers.Dense(1)])
    tape, loss = traced(lambda: keras.losses.MeanSquaredError()(Y, model(X)))
    path = tape.explain(loss, model.layers[0].kernel).path
    assert {step.layer for step in path} == {"dense (Dense)", "mean_squared_error"}


def test_a_summary_names_layers():
    model = doubled_model()
    tape, _ = traced(lambda: ops.mean(model(X)))
    rows = tape.summary().rows
    assert ("doubled/inner (Dense)", "matmul") in [(row.layer, row.operation) for row in rows]
    assert "  doubled/inner (Dense): matmul  " in str(tape.summary())
    assert "site-packages" not in str(tape.summary())


def test_a_plot_names_layers_and_variables(tmp_path):
    model = doubled_model()
    tape, loss = traced(lambda: ops.mean(model(X)))
    tape.plot(tmp_path / "tape.svg", loss, model.trainable_variables)
    picture = (tmp_path / "tape.svg").read_text()
    assert ">doubled/inner (Dense): matmul<" in picture
    assert ">net/doubled/inner/kernel<" in picture
    assert "site-packages" not in picture


def test_layers_that_repeat_are_drawn_once_by_their_class(tmp_path):
    model = keras.Sequential([layers.Dense(4, activation="tanh") for _ in range(8)])
    tape, loss = traced(lambda: ops.mean(model(X)))
    tape.plot(tmp_path / "tape.svg", loss)
    labels = re.findall(r">([^<>]*): tanh<", (tmp_path / "tape.svg").read_text())
    assert "Dense" in labels
    assert len(labels) <= 3


def test_a_nan_is_found_in_a_layer():
    class Log(layers.Layer):
        def call(self, x):
            return tf.math.log(x - x)

    model = keras.Sequential([layers.Dense(3), Log(name="bad"), layers.Dense(1)])
    tape, loss = traced(lambda: ops.mean(model(X)))
    found = tf.debugging.find_nan(tape, loss, model.trainable_variables)
    assert (found.layer, found.operation, found.direction) == ("bad (Log)", "log", "forward")
    assert found.line == "return tf.math.log(x - x)"
    assert str(found).startswith("bad (Log): log made the first Inf\n")


def test_a_profile_and_a_nan_of_a_program_with_fit_name_layers():
    class Log(layers.Layer):
        def call(self, x):
            return tf.math.log(x - x)

    model = keras.Sequential([layers.Dense(1), Log(name="bad")])
    model.compile("sgd", "mse")
    with session(nan=True, profile=True) as observed:
        model.fit(X, Y, verbose=0)
    assert not tf.config.functions_run_eagerly()
    found = observed.report().json
    assert (found["nan"][0]["layer"], found["nan"][0]["operation"]) == ("bad (Log)", "log")
    assert "dense (Dense)" in {row["layer"] for row in found["profile"]["operations"]}


def test_a_forward_accumulator_takes_variables_of_keras():
    dense = layers.Dense(1)
    dense.build((None, 4))
    with tf.autodiff.ForwardAccumulator(dense.kernel, tf.ones((4, 1))) as acc:
        y = dense(X)
    assert np.allclose(acc.jvp(y), X.sum(1, keepdims=True))


# ---------------------------------------------------------------------------------------------------------------------
# Mistakes


def a_frozen_layer():
    model = keras.Sequential([layers.Dense(1, trainable=False)])
    tape, loss = traced(lambda: ops.mean(model(X)))
    return tape.explain(loss, model.variables[0])


def a_moving_average():
    model = keras.Sequential([layers.BatchNormalization()])
    tape, loss = traced(lambda: ops.mean(model(X, training=True)))
    return tape.explain(loss, model.non_trainable_variables[0])


def a_layer_that_is_not_called():
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.used, self.forgotten = layers.Dense(1), layers.Dense(1)

        def build(self, shape):
            self.used.build(shape)
            self.forgotten.build(shape)

        def call(self, x):
            return self.used(x)

    model = Model()
    tape, loss = traced(lambda: ops.mean(model(X)))
    return tape.explain(loss, model.forgotten.kernel)


def numpy_in_a_layer():
    class Squared(layers.Layer):
        def call(self, x):
            return tf.constant(np.square(x.numpy()))

    dense, squared = layers.Dense(1), Squared()
    tape, loss = traced(lambda: ops.mean(squared(dense(X))))
    return tape.explain(loss, dense.kernel)


def the_indices_of_an_embedding():
    embedding = layers.Embedding(5, 3)
    indices = tf.constant([[1, 2]])
    tape, loss = traced(lambda: ops.mean(embedding(indices)))
    return tape.explain(loss, indices)


def floating_indices_of_an_embedding():
    embedding = layers.Embedding(5, 3)
    indices = tf.Variable([[1.0, 2.0]], name="indices")
    tape, loss = traced(lambda: ops.mean(embedding(indices)))
    return tape.explain(loss, indices)


def a_stopped_gradient():
    model = keras.Sequential([layers.Dense(3), layers.Lambda(ops.stop_gradient), layers.Dense(1)])
    tape, loss = traced(lambda: ops.mean(model(X)))
    return tape.explain(loss, model.trainable_variables[0])


def a_model_called_before_the_block():
    model = keras.Sequential([layers.Dense(1)])
    with tf.debugging.trace_origins():
        predictions = model(X)
        with tf.GradientTape() as tape:
            loss = ops.mean(predictions)
    return tape.explain(loss, model.trainable_variables[0])


def a_loss_after_the_block():
    model = keras.Sequential([layers.Dense(1)])
    with tf.debugging.trace_origins():
        with tf.GradientTape() as tape:
            predictions = model(X)
        loss = ops.mean(predictions)
    return tape.explain(loss, model.trainable_variables[0])


def an_argmax():
    model = keras.Sequential([layers.Dense(3)])
    tape, loss = traced(lambda: ops.mean(ops.cast(ops.argmax(model(X), axis=-1), "float32")))
    return tape.explain(loss, model.trainable_variables[0])


def a_metric():
    model = keras.Sequential([layers.Dense(1)])
    metric = keras.metrics.MeanSquaredError()
    tape, loss = traced(lambda: metric(Y, model(X)))
    return tape.explain(loss, model.trainable_variables[0])


def a_prediction():
    model = keras.Sequential([layers.Dense(1)])
    tape, loss = traced(lambda: ops.mean(model.predict_on_batch(X)))
    return tape.explain(loss, model.trainable_variables[0])


@pytest.mark.parametrize(
    ("program", "reason", "layer", "hint"),
    [
        (
            a_frozen_layer,
            Reason.CONNECTED,
            "",
            "sequential/dense/kernel is frozen (trainable=False): it is not one of model.trainable_variables, and "
            "`fit` leaves it as it is. A tape gives its gradient all the same",
        ),
        (
            a_moving_average,
            Reason.NOT_TRAINABLE,
            "batch_normalization (BatchNormalization)",
            "sequential/batch_normalization/moving_mean is state that its layer keeps, such as a moving average, and "
            "no weight to train: ask for model.trainable_variables, or call tape.watch(variable) inside the block",
        ),
        (
            a_layer_that_is_not_called,
            Reason.UNUSED,
            "",
            "nothing in the block used model/dense_1/kernel: its layer was not called there. Call it in the model's "
            "`call`, or take it off the sources",
        ),
        (
            numpy_in_a_layer,
            Reason.LEFT,
            "squared (Squared)",
            "the value left through .numpy(), and what NumPy does leaves no trace on a tape: leave .numpy() out, and "
            "use tf functions",
        ),
        *[
            (
                program,
                Reason.DTYPE,
                "embedding (Embedding)",
                "indices says which entries gather takes, and that has no derivative: ask for the gradient by what "
                "they are taken from, as an embedding's weights, or watch the result of gather",
            )
            for program in (the_indices_of_an_embedding, floating_indices_of_an_embedding)
        ],
        (
            a_stopped_gradient,
            Reason.STOPPED,
            "lambda (Lambda)",
            "tf.stop_gradient ends the path, as it was asked to: leave it out if the gradient is to pass",
        ),
        (
            a_model_called_before_the_block,
            Reason.BEFORE_WATCH,
            "dense (Dense)",
            "sequential/dense/kernel was used before the tape's block began: compute the target inside the block",
        ),
        (
            a_loss_after_the_block,
            Reason.OUTSIDE,
            "",
            "reduce_mean was computed after the tape's block had ended: indent everything up to the target into the "
            "block",
        ),
        (
            an_argmax,
            Reason.NO_GRADIENT,
            "",
            "argmax has no gradient: use tf.reduce_max for the value, tf.nn.softmax for weights that tell which is "
            "largest",
        ),
        (
            a_metric,
            Reason.OVERWRITTEN,
            "",
            "the value was put into the variable mean_squared_error/total inside of what this line calls, and no "
            "gradient passes through that. A metric only counts: differentiate a loss instead, such as those of "
            "keras.losses. Optimizers work after the block",
        ),
        (
            a_prediction,
            Reason.LEFT,
            "",
            "the value left through .numpy() inside of what this line calls, and what NumPy does leaves no trace on a "
            "tape: model.predict gives NumPy arrays; call the model itself, as in model(x)",
        ),
    ],
)
def test_a_mistake_is_explained(program, reason, layer, hint):
    report = program()
    assert (report.reason, report.layer, report.hint) == (reason, layer, hint)
    assert "site-packages" not in str(report)


def test_fit_is_explained_though_it_is_compiled():
    pytest.importorskip("jax")

    class Two(keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.second = Doubled(), layers.Dense(3)

        def call(self, x):
            return ops.mean(self.first(x) + self.second(x), axis=-1, keepdims=True)

    model = Two()
    model.compile("sgd", "mse")
    with session(explain=True) as observed, pytest.warns(UserWarning, match="Gradients do not exist"):
        model.fit(X, Y, verbose=0)
    (asked,) = observed.report().json["explain"]
    kernel, _ = asked["reports"]
    assert kernel["source"] == "two/doubled/inner/kernel"
    assert (kernel["reason"], kernel["layer"]) == ("STOPPED", "doubled (Doubled)")


# ---------------------------------------------------------------------------------------------------------------------
# Errors and warnings


def test_a_layer_that_cannot_be_traced_is_told_its_line():
    pytest.importorskip("jax")

    class Choosing(layers.Layer):
        def call(self, x):
            if ops.sum(x) > 0:  # a decision
                return x
            return -x

        def compute_output_shape(self, shape):
            return shape

    model = keras.Sequential([Choosing(), layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)
    with pytest.raises(TypeError, match=rf"test_explain.py, line {line_of('# a decision')}\)"):
        model.fit(X, Y, verbose=0)


def test_a_tensor_that_left_fit_is_told_the_line_that_made_it():
    pytest.importorskip("jax")

    class Keeping(layers.Layer):
        def call(self, x):
            self.kept = ops.tanh(x)  # made here
            return x

    keeping = Keeping()
    model = keras.Sequential([keeping, layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(X, Y, verbose=0)
    with pytest.raises(
        ValueError, match=rf"made in .*test_explain.py, line {line_of('# made here')}, is used"
    ):
        _ = keeping.kept + 1.0


def test_retracing_names_the_model_and_what_helps_there(caplog):
    pytest.importorskip("jax")
    model = keras.Sequential(
        [keras.Input((None, 4)), layers.GlobalAveragePooling1D(), layers.Dense(1)], name="net"
    )
    model.compile("sgd", "mse", jit_compile=True)  # for each length at once
    with caplog.at_level(logging.WARNING, "gradtape"):
        for length in range(2, 8):
            model.train_on_batch(np.ones((2, length, 4), "float32"), Y)
    (record,) = caplog.records
    assert record.getMessage().startswith("a step of the model net (Sequential) has been traced 5 times")
    assert "pad sequences to one length or a few" in record.getMessage()


def test_a_step_that_is_not_compiled_names_the_model_and_the_line(caplog):
    pytest.importorskip("jax")

    class Texts(layers.Layer):
        def call(self, x):
            return x + tf.strings.to_number(tf.strings.as_string(x))  # texts

    model = keras.Sequential([Texts(), layers.Dense(1)], name="net")
    model.compile("sgd", "mse")
    with caplog.at_level(logging.WARNING, "gradtape"):
        model.fit(X, Y, verbose=0)
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "a step of the model net (Sequential) runs operation by operation: "
    )
    assert f"test_explain.py, line {line_of('# texts')}" in record.getMessage()


def test_to_compile_a_function_does_not_take_the_name_tensorflow():
    pytest.importorskip("jax")
    program = "import sys, gradtape as tf; tf.function(tf.sin)(tf.constant(1.0)); print('tensorflow' in sys.modules)"
    here = os.environ | {"PYTHONPATH": str(Path(tf.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", program], env=here, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
