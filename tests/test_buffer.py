"""`memoryview(tensor)`, the array interface, and what makes the first work on Python 3.11 (engine/buffer_slot.py)."""

import collections
import ctypes
import gc
import operator
import pickle
import signal
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest

import gradtape as tf
from gradtape.engine import buffer_slot

AS_IN_C = sys.version_info < (3, 12)


def test_a_tensor_has_a_buffer():
    view = memoryview(tf.constant([[1.0, 2.0]]))
    assert (view.format, view.shape, view.readonly, view.tolist()) == ("f", (1, 2), True, [[1.0, 2.0]])
    with pytest.raises(TypeError, match="read-only"):
        view[0, 0] = 3.0


@pytest.mark.parametrize(
    "value, format, elements",
    [
        (tf.constant(3.0), "f", 3.0),
        (tf.constant([1, 2]), "i", [1, 2]),
        (tf.constant([], "int64"), "l", []),
        (tf.constant([True, False]), "?", [True, False]),
        (tf.transpose(tf.constant([[1, 2], [3, 4]], "int8")), "b", [[1, 3], [2, 4]]),
    ],
    ids=str,
)
def test_formats(value, format, elements):
    view = memoryview(value)
    assert (view.format, view.tolist()) == (format, elements)


def test_who_reads_bytes_takes_a_tensor():
    t = tf.constant([1.0, 2.0])
    assert bytes(t) == bytearray(t) == t.numpy().tobytes()
    assert b"".join([t, t]) == bytes(t) * 2
    assert np.frombuffer(t, "float32").tolist() == [1.0, 2.0]


def test_results_of_compiled_functions_have_a_buffer():
    double = tf.function(lambda x: x + x)
    assert memoryview(double(tf.constant([1.0, 2.0]))).tolist() == [2.0, 4.0]


def test_the_view_keeps_the_memory():
    view = memoryview(tf.range(100_000))
    gc.collect()
    assert view[99_999] == 99_999


def test_strings_are_objects():
    assert memoryview(tf.constant(["a", "b"])).format == "O"
    assert np.asarray(tf.constant(["a"])).tolist() == [b"a"]


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_dtypes_that_buffers_lack(dtype):
    t = tf.cast([1.0, 2.0], dtype)
    with pytest.raises(ValueError, match="cannot include dtype"):
        memoryview(t)
    assert np.asarray(t).dtype == dtype
    assert not hasattr(t, "__array_interface__")


def test_a_traced_tensor_has_no_values():
    seen = []

    @tf.function
    def f(x):
        with pytest.raises(TypeError, match=r"memoryview\(tensor\) needs the value"):
            memoryview(x)
        seen.append(hasattr(x, "__array_interface__"))
        return x

    f(tf.constant(1.0))
    assert seen == [False]


def test_a_variable_has_none_as_in_tensorflow():
    with pytest.raises(TypeError, match="bytes-like object"):
        memoryview(tf.Variable(1.0))


def test_failures_leave_no_objects_behind():
    t, without = tf.constant([1.0]), tf.cast([1.0], "bfloat16")

    def views():
        for _ in range(200):
            with pytest.raises(ValueError):
                memoryview(without)
            memoryview(t)

    views()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        views()
        assert len(gc.get_objects()) - before < 50
    finally:
        gc.enable()
    assert sys.getrefcount(t) == sys.getrefcount(without)


def test_threads():
    t, without = tf.constant([1.0, 2.0]), tf.cast([1.0], "bfloat16")
    answers = []

    def look():
        for _ in range(500):
            answers.append(memoryview(t).tolist())
            try:
                memoryview(without)
            except ValueError:
                answers.append([1.0, 2.0])

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[1.0, 2.0]] * 8000


def test_pickles_and_copies_are_as_before():
    assert pickle.loads(pickle.dumps(tf.constant([1, 2]))).numpy().tolist() == [1, 2]


def test_the_array_interface():
    t = tf.constant([[1.0, 2.0]])
    described = t.__array_interface__
    assert (described["shape"], described["typestr"], described["data"][1]) == (
        (1, 2),
        np.dtype("f4").str,
        True,
    )

    class Wrapped:
        __array_interface__ = described

    assert np.shares_memory(np.asarray(Wrapped()), np.asarray(t))


def test_explain_knows_that_a_buffer_left():
    with tf.debugging.trace_origins():
        x = tf.Variable([1.0, 2.0])
        with tf.GradientTape() as tape:
            z = tf.reduce_sum(tf.constant(np.asarray(x * x)))
        assert "the value went into NumPy" in str(tape.explain(z, x))


# -- CPython 3.11 ------------------------------------------------------------------------------------------------------


def test_the_slot_is_installed_where_it_was_tested():
    """Fails on a build of 3.11 where the fields of types are elsewhere; `install` then leaves classes alone."""
    assert buffer_slot._is_tested() == AS_IN_C

    class Bytes:
        def __buffer__(self, flags):
            return memoryview(b"ab")

    assert buffer_slot.install(Bytes) == AS_IN_C
    assert bytes(Bytes()) == b"ab"


@pytest.mark.skipif(not AS_IN_C, reason="Python's own slot")
def test_interrupts_are_raised_where_they_arrive():
    """No Python code runs between the interrupt and `memoryview`: it arrives at the first instruction of the slot's."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("interrupts arrive in the main thread")
    t = tf.constant([1.0, 2.0])
    steps = [ctypes.pythonapi.PyErr_SetInterrupt, partial(memoryview, t)]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job ignores
    try:
        for _ in range(50):
            with pytest.raises(KeyboardInterrupt):
                collections.deque(map(operator.call, steps), 0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert memoryview(t).tolist() == [1.0, 2.0]


@pytest.mark.skipif(not AS_IN_C, reason="Python's own slot")
def test_a_class_whose_fields_differ_is_left_alone(monkeypatch):
    class Bytes:
        def __buffer__(self, flags):
            return memoryview(b"ab")

    monkeypatch.setattr(buffer_slot._TypeObject, "tp_flags", buffer_slot._TypeObject.tp_weaklistoffset)
    assert not buffer_slot.install(Bytes)
    with pytest.raises(TypeError, match="bytes-like object"):
        memoryview(Bytes())


@pytest.mark.skipif(not AS_IN_C, reason="Python's own slot")
def test_the_end_of_the_interpreter():
    """The last reference to a tensor may go, and its memory be asked for, when modules are empty already."""
    program = """
import atexit
import gradtape as tf
t = tf.constant([1], "int8")
class Late:
    def __init__(self): self.t = t
    def __del__(self, bytes=bytes, print=print): print(bytes(self.t))
late = Late()
late.itself = late  # goes with the last collection of garbage
atexit.register(lambda: print(bytes(t)))
"""
    run = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert run.returncode == 0 and not run.stderr, run.stderr
    assert run.stdout.split() == [r"b'\x01'"] * 2


@pytest.mark.skipif(not AS_IN_C, reason="Python's own slot")
def test_subinterpreters_are_left_alone():
    program = """
import _xxsubinterpreters as interpreters
code = '''
class Bytes:
    def __buffer__(self, flags): return memoryview(b"ab")
import importlib.util
spec = importlib.util.spec_from_file_location("buffer_slot", %r)
slot = importlib.util.module_from_spec(spec)
spec.loader.exec_module(slot)
print(slot.install(Bytes))
'''
interpreters.run_string(interpreters.create(), code)
"""
    run = subprocess.run(
        [sys.executable, "-c", program % buffer_slot.__file__], check=False, capture_output=True, text=True
    )
    assert run.stdout == "False\n", run.stdout + run.stderr
