"""Where arrays are computed: silence about infinities, several cores for large arrays, memory kept for the next one."""

import os
import subprocess
import sys
import threading
import types
import warnings

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.primitive import local
from gradtape.engine import arrays

SLOW = ["exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh"]


@pytest.mark.parametrize("name", SLOW)
@pytest.mark.parametrize("shape", [(arrays.LARGE + 3,), (2, arrays.LARGE)])
def test_large_arrays_give_what_numpy_gives(name, shape):
    x = np.linspace(0.1, 2.0, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    function = getattr(tf.math, name)
    np.testing.assert_array_equal(function(x), getattr(np, name)(x))


def test_a_large_array_that_is_no_single_block_of_memory_works_too():
    x = np.linspace(0.0, 1.0, 4 * arrays.LARGE).reshape(2, -1).T[::2]
    np.testing.assert_array_equal(tf.exp(x), np.exp(x))


@pytest.mark.parametrize("size", [3, 2 * arrays.LARGE])
def test_infinities_are_computed_in_silence(size):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = tf.fill((size,), 1000.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.exp(x) - tf.exp(x)
        assert np.isnan(y.numpy()).all()
        assert np.isnan(tape.gradient(y, x).numpy()).all()


def test_numpys_own_warnings_are_left_alone():
    tf.exp(tf.constant(1000.0))
    with pytest.warns(RuntimeWarning):
        np.exp(np.float32(1000.0))


def test_an_operation_inside_an_operation_of_the_same_thread_works():
    """As when a finalizer computes while NumPy is at work: the thread's quiet context is taken."""
    x = tf.constant([1.0, 1000.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = local.here.run(lambda: tf.exp(x))
    np.testing.assert_array_equal(result, [np.exp(np.float32(1)), np.inf])


def test_threads_have_contexts_of_their_own():
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(float(tf.exp(tf.constant(0.0))))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1.0] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_large_arrays_after_a_fork():
    program = """
import os, gradtape as tf, numpy as np
x = np.ones(1 << 18, np.float32)
tf.exp(x)
child = os.fork()
if child == 0:
    os._exit(0 if float(tf.exp(x)[0]) > 2.7 else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=60)


def test_omp_num_threads_is_heeded():
    program = "from gradtape.engine.arrays import cores; print(cores())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "1"


@pytest.mark.skipif(sys.platform != "linux", reason="this is glibc's")
def test_memory_is_kept_unless_the_user_has_said_how():
    program = "from gradtape.engine.arrays import keep_freed_memory; print(keep_freed_memory())"
    for setting, kept in (({}, "True"), ({"MALLOC_ARENA_MAX": "2"}, "False")):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")} | setting
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == kept


@pytest.mark.parametrize("names", [(), ("core",), ("Array", "core")])
def test_arrays_are_told_apart_while_another_thread_imports_jax(names, monkeypatch):
    partial = types.ModuleType("jax")
    for name in names:
        setattr(partial, name, types.ModuleType(name) if name == "core" else type(name, (), {}))
    monkeypatch.setitem(sys.modules, "jax", partial)
    assert int(tf.Variable(np.int64(3)) + 1) == 4
    assert not arrays.is_jax(np.int64(3))
    assert not arrays.is_traced(np.int64(3))
