"""compat.v1.train, and collections: TensorFlow 1's names in eager mode, with TensorFlow's numbers."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf

from .data.make_v1_training import OPTIMIZERS, averages, rates, trained

EXPECTED = json.loads((Path(__file__).parent / "data" / "v1_training.json").read_text())
v1 = tf.compat.v1


def close(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            close(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            close(a, b)
    else:
        np.testing.assert_allclose(found, expected, 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("name", "i"), [(name, i) for name in OPTIMIZERS for i in range(len(OPTIMIZERS[name]))]
)
def test_optimizers_step_as_tensorflow_s(name, i):
    close(trained(tf, name, OPTIMIZERS[name][i]), EXPECTED["optimizers"][f"{name} {i}"])


@pytest.mark.parametrize("step", [0, 3, 10, 25])
def test_learning_rates_fall_as_tensorflow_s(step):
    close(rates(tf, step), EXPECTED["rates"][str(step)])


def test_moving_averages_are_tensorflow_s():
    close(averages(tf), EXPECTED["averages"])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_compiled_step_is_the_eager_one(name):
    options = OPTIMIZERS[name][-1]

    def run(function):
        optimizer = getattr(v1.train, name)(**options)
        v = tf.Variable([1.0, -2.0])
        step = function(lambda: optimizer.minimize(lambda: tf.reduce_sum(v**3), var_list=[v]))
        for _ in range(3):
            step()
        return v.numpy()

    np.testing.assert_allclose(run(tf.function), run(lambda f: f), 1e-5)


def test_a_rate_that_falls_is_used_by_the_optimizer():
    step, v = v1.train.get_or_create_global_step(), tf.Variable(0.0)
    step.assign(0)
    optimizer = v1.train.GradientDescentOptimizer(v1.train.polynomial_decay(1.0, step, 4, 0.0))
    for _ in range(3):
        optimizer.minimize(lambda: 1.0 * v, global_step=step)
    assert float(v) == -(1.0 + 0.75 + 0.5)
    assert v1.train.global_step(None, step) == 3
    v1.reset_default_graph()
    assert v1.train.get_global_step() is None


def test_optimizers_say_what_is_wrong():
    optimizer, v = v1.train.AdamOptimizer(), tf.Variable(1.0)
    with pytest.raises(RuntimeError, match="must be a function"):
        optimizer.minimize(v * v)
    with pytest.raises(ValueError, match="depends on none of"):
        optimizer.minimize(lambda: tf.constant(1.0), var_list=[v])
    with pytest.raises(ValueError, match="no gradient"):
        optimizer.apply_gradients([(None, v)])
    assert optimizer.get_slot(v, "m") is None


def test_gradients_are_clipped_between_computing_and_applying():
    v = tf.Variable([3.0, 4.0])
    optimizer = v1.train.GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(lambda: tf.reduce_sum(v * v))
    optimizer.apply_gradients([(tf.clip_by_norm(g, 5.0), v) for g, v in pairs])
    np.testing.assert_allclose(v.numpy(), [0.0, 0.0], atol=1e-6)


def test_collections_keep_what_is_added():
    v1.reset_default_graph()
    tf.Variable(1.0)
    assert v1.trainable_variables() == v1.global_variables() == []
    v1.losses.add_loss(tf.constant(2.0))
    v1.add_to_collections(["a", "b"], 5)
    assert v1.get_collection("a") == v1.get_collection("b") == [5]
    assert [float(loss) for loss in v1.losses.get_losses()] == [2.0]
    assert v1.get_collection(v1.GraphKeys.LOSSES)
    v1.reset_default_graph()
    assert v1.get_collection("a") == []
    assert v1.global_variables_initializer() is None


def test_a_template_uses_its_variables_again():
    layer = v1.make_template(
        "layer", lambda x: x * v1.get_variable("w", [], initializer=tf.ones_initializer())
    )
    with tf.GradientTape() as tape:
        y = layer(tf.constant(2.0)) + layer(tf.constant(3.0))
    (w,) = tape.watched_variables()
    assert (float(y), float(tape.gradient(y, w)), w.name) == (5.0, 5.0, "layer/w:0")


def test_print_returns_what_it_is_given(capfd):
    assert float(v1.Print(tf.constant(2.0), [tf.constant([1, 2])], "now: ")) == 2.0
    assert "now: [[1 2]]" in capfd.readouterr().err


def test_flags_and_app_are_those_of_absl(tmp_path):
    pytest.importorskip("absl")
    (tmp_path / "program.py").write_text(
        "import gradtape as tf\n"
        "flags = tf.compat.v1.flags\n"
        "flags.DEFINE_integer('steps', 3, 'how many')\n"
        "def main(argv):\n"
        "    print('steps', flags.FLAGS.steps)\n"
        "tf.compat.v1.app.run(main)\n"
    )
    ran = subprocess.run(
        [sys.executable, "program.py", "--steps=7"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "steps 7" in ran.stdout, ran.stdout + ran.stderr
