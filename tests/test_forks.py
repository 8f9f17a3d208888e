"""A process made by a fork has none of XLA's threads: it computes operation by operation."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_PROGRAM = """
import multiprocessing, sys
import gradtape as tf

x = tf.Variable([0.5, -0.25])
loss_of = tf.function(lambda: tf.reduce_sum(tf.sin(x) * x))
double = tf.function(lambda: x.assign(2.0 * x))

def descend(steps=4):
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = loss_of()
        x.assign_sub(0.1 * tape.gradient(loss, x))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.sin(x)))
        x.assign_sub(0.1 * tape.gradient(loss, x))
    return x.numpy().tolist(), double().numpy().tolist()

if __name__ == "__main__":
    descend()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        child = pool.apply_async(descend).get(timeout=120)
    parent = descend()
    print(child, parent)
    tf.debugging.assert_near(child[0], parent[0], 1e-5)
    tf.debugging.assert_near(child[1], parent[1], 1e-5)
    assert not tf.config.functions_run_eagerly()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("hot", ["0", "always"])
def test_a_child_computes_what_its_parent_would(tmp_path, hot):
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    environment = {**os.environ, "GRADTAPE_HOT": hot}
    done = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
