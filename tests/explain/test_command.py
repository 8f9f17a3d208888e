"""`gradtape run --explain`, `--nan` and `--profile`, through the real command line; and compiled functions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape as tf
from gradtape.explain import Reason, session

SCRIPT = """
import tensorflow as tf

w = tf.Variable([1.0, 4.0])
with tf.GradientTape() as tape:
    predictions = tf.sqrt(w - 1.0)
    loss = tf.reduce_sum(tf.round(predictions))
gradient = tape.gradient(loss, w)
with tf.GradientTape() as tape:
    other = tf.reduce_sum(tf.sqrt(w - 1.0))
tape.gradient(other, w)
print(gradient.numpy())
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)

    def run_with(*options):
        command = [sys.executable, "-m", "gradtape", "run", *options, "train.py"]
        here = os.environ | {"PYTHONPATH": str(Path(tf.__file__).parents[1])}
        return subprocess.run(command, cwd=tmp_path, env=here, capture_output=True, text=True, check=False)

    return run_with


def test_a_script_is_explained_checked_and_timed(run):
    done = run("--explain", "--nan", "--profile")
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "AttributeError: 'NoneType' object has no attribute 'numpy'" in said
    assert "gradient of loss by w is None: cut by an operation without gradient" in said
    assert "at train.py:7:  loss = tf.reduce_sum(tf.round(predictions))" in said
    assert "the gradient of sqrt made the first Inf, on the way back\n  at train.py:10" in said
    assert "in all: " in said


def test_a_nan_inside_a_function_is_found_at_its_line():
    @tf.function
    def logarithm(x):
        y = tf.math.log(x)
        return tf.where(tf.math.is_inf(y), 0.0, y)

    with session(nan=True) as observed:
        logarithm(tf.constant([0.0, 1.0]))
    (found,) = observed.report().json["nan"]
    assert (found["operation"], found["line"]) == ("log", "y = tf.math.log(x)")
    assert not tf.config.functions_run_eagerly()


def test_in_a_compiled_function_lines_are_known_too():
    pytest.importorskip("jax")
    w, u = tf.Variable([1.0, 2.0]), tf.Variable(1.0)

    @tf.function
    def scaled(x):
        return tf.sin(x) * w

    with tf.debugging.trace_origins(), tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(tf.stop_gradient(scaled(u)) + scaled(w))
    stopped, connected = tape.explain(y, [u, w])
    assert (stopped.reason, connected.reason) == (Reason.STOPPED, Reason.CONNECTED)
    assert [step.operation for step in connected.path] == ["scaled", "add", "reduce_sum"]
    assert "scaled" in str(tape.summary())
    assert tape.gradient(y, u) is None


def test_a_tape_in_a_compiled_function_is_explained():
    pytest.importorskip("jax")
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.round(w * x))
        assert tape.gradient(loss, w) is None
        return loss

    with session(explain=True) as observed:
        step(tf.constant(2.0))
    report = observed.report().json["explain"][0]["reports"][0]
    assert report["reason"] == "NO_GRADIENT"
    assert "test_command.py" in report["where"]
