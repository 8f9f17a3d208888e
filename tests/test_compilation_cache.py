"""JAX's cache of compiled programs on disk serves gradtape's functions: another process finds them."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("jax")

PROGRAM = """
import gradtape as tf

w = tf.Variable(tf.ones([4, 3]))
b = tf.Variable(tf.zeros([3]))
adam = tf.optimizers.Adam(0.1)


@tf.function
def step(xs):
    total = tf.constant(0.0)
    with tf.GradientTape() as tape:
        for x in xs:
            h = tf.nn.dropout(tf.tanh(x @ w + b), 0.5, seed=1)
            if tf.reduce_sum(h) > 0.0:
                total += tf.reduce_sum(h * h)
    adam.apply_gradients(zip(tape.gradient(total, [w, b]), [w, b]))
    return total


step(tf.ones([5, 2, 4]))


@tf.function
def cubed(x):
    return x**3


x = tf.constant([1.0, 2.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = cubed(x)
tape.gradient(y, x)
"""


def test_another_process_compiles_nothing_anew(tmp_path):
    script, cache = tmp_path / "script.py", tmp_path / "cache"
    script.write_text(PROGRAM)

    def programs_after_a_run(hash_seed: int) -> set[str]:
        environment = os.environ | {
            "JAX_COMPILATION_CACHE_DIR": str(cache),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "PYTHONHASHSEED": str(hash_seed),
        }
        subprocess.run([sys.executable, str(script)], env=environment, check=True)
        return {path.name for path in cache.iterdir() if path.name.endswith("-cache")}

    first = programs_after_a_run(1)
    assert len(first) >= 3
    assert programs_after_a_run(2) == first
