"""Devices and switches, and tf.experimental."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import gradtape as tf
from gradtape.core import errors
from gradtape.core.settings import settings
from gradtape.engine import devices

config, experimental = tf.config, tf.config.experimental
CPU = config.PhysicalDevice("/physical_device:CPU:0", "CPU")


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    monkeypatch.setattr(devices, "_visible", {})
    monkeypatch.setattr(devices, "_configurations", {})
    monkeypatch.setattr(settings, "__dict__", dict(vars(settings)))


def test_there_is_one_cpu():
    assert config.list_physical_devices() == config.list_physical_devices("CPU") == [CPU]
    assert repr(CPU) == "PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')"
    assert repr(config.list_logical_devices()) == "[LogicalDevice(name='/device:CPU:0', device_type='CPU')]"
    assert config.list_physical_devices("GPU") == config.list_logical_devices("GPU") == []
    assert experimental.list_physical_devices() == [CPU]


def test_a_program_that_prepares_gpus_runs():
    for gpu in config.list_physical_devices("GPU"):
        experimental.set_memory_growth(gpu, True)
    config.set_visible_devices([], "GPU")
    assert config.get_visible_devices() == [CPU]


def test_a_cpu_may_be_split_and_hidden(monkeypatch):
    monkeypatch.setattr(devices, "_tell_jax", lambda count: None)  # which may have started
    two = [config.LogicalDeviceConfiguration()] * 2
    config.set_logical_device_configuration(CPU, two)
    assert config.get_logical_device_configuration(CPU) == two
    assert [d.name for d in config.list_logical_devices()] == ["/device:CPU:0", "/device:CPU:1"]
    config.set_visible_devices([], "CPU")
    assert config.list_logical_devices() == config.get_visible_devices() == []
    config.set_visible_devices(CPU)
    assert config.get_visible_devices("CPU") == [CPU]


def test_the_accelerators_jax_has_are_listed(monkeypatch):
    gpus = [config.PhysicalDevice(f"/physical_device:GPU:{i}", "GPU") for i in range(2)]
    monkeypatch.setattr(devices, "_accelerators", lambda: dict.fromkeys(gpus))
    assert config.list_physical_devices() == [CPU, *gpus]
    assert config.list_physical_devices("GPU") == config.get_visible_devices("GPU") == gpus
    assert [d.name for d in config.list_logical_devices("GPU")] == ["/device:GPU:0", "/device:GPU:1"]
    config.set_visible_devices(gpus[1], "GPU")
    assert config.get_visible_devices() == [CPU, gpus[1]]
    assert [d.name for d in config.list_logical_devices()] == ["/device:CPU:0", "/device:GPU:0"]
    with pytest.raises(ValueError, match="is not of type 'CPU'"):
        config.set_visible_devices(gpus, "CPU")


PLACED = """
import gradtape as tf
v = tf.Variable([1.0, 2.0])
step = tf.function(lambda x: v.assign_add(x) * 2.0)
def place(name):
    with tf.device(name):
        y = step(tf.constant([1.0, 1.0]))
        print(y.device[-5:], v.device[-5:], y.numpy().tolist())
for name in ("/CPU:1", None, "CPU:0", "/device:GPU:0", "/job:localhost/device:CPU:1", "/CPU:7"):
    place(name)
"""


def test_functions_run_on_the_device_of_the_block_if_there_is_one():
    pytest.importorskip("jax")
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    run = subprocess.run(
        [sys.executable, "-c", PLACED], env=os.environ | flags, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    places = ["CPU:1", "CPU:0", "CPU:0", "CPU:0", "CPU:1", "CPU:0"]
    values = [[2.0 * i + 4.0, 2.0 * i + 6.0] for i in range(6)]
    assert run.stdout.splitlines() == [f"{p} {p} {value}" for p, value in zip(places, values)]


def test_which_engine_is_in_use():
    assert config.engine() == ("numpy" if find_spec("jax") is None else "xla")
    config.run_functions_eagerly(True)
    assert config.engine() == "numpy"


@pytest.mark.parametrize(
    ("set_", "value", "get", "expected"),
    [
        (config.run_functions_eagerly, True, config.functions_run_eagerly, True),
        (config.run_functions_eagerly, False, config.functions_run_eagerly, False),
        (config.set_soft_device_placement, True, config.get_soft_device_placement, True),
        (config.optimizer.set_jit, True, config.optimizer.get_jit, "autoclustering"),
        (config.optimizer.set_jit, False, config.optimizer.get_jit, ""),
        (
            config.threading.set_inter_op_parallelism_threads,
            0,
            config.threading.get_inter_op_parallelism_threads,
            0,
        ),
        (
            config.threading.set_intra_op_parallelism_threads,
            0,
            config.threading.get_intra_op_parallelism_threads,
            0,
        ),
        (
            experimental.enable_tensor_float_32_execution,
            True,
            experimental.tensor_float_32_execution_enabled,
            True,
        ),
        (experimental.set_synchronous_execution, True, experimental.get_synchronous_execution, True),
        (experimental.set_device_policy, "silent", experimental.get_device_policy, "silent"),
        (config.optimizer.set_experimental_options, {}, config.optimizer.get_experimental_options, {}),
    ],
)
def test_switches_are_remembered(set_, value, get, expected):
    set_(value)
    assert get() == expected


GPU = config.PhysicalDevice("/physical_device:GPU:0", "GPU")
BAD = {
    "no such device": (lambda: config.set_visible_devices([GPU]), ValueError, "there is no device"),
    "another type": (lambda: config.set_visible_devices([CPU], "GPU"), ValueError, "is not of type 'GPU'"),
    "growth": (lambda: experimental.set_memory_growth(CPU, True), ValueError, "is for GPUs"),
    "growth of nothing": (
        lambda: experimental.set_memory_growth(GPU, True),
        ValueError,
        "there is no device",
    ),
    "memory limit": (
        lambda: config.set_logical_device_configuration(
            CPU, [config.LogicalDeviceConfiguration(memory_limit=5)]
        ),
        ValueError,
        "takes no memory_limit",
    ),
    "details": (lambda: experimental.get_device_details(3), ValueError, "takes a PhysicalDevice"),
    "memory": (lambda: experimental.get_memory_info("CPU:0"), ValueError, "nothing is counted"),
    "policy": (lambda: experimental.set_device_policy("x"), ValueError, "must be None, "),
    "cluster": (
        lambda: config.experimental_connect_to_cluster({"worker": ["a:1", "b:1"]}),
        errors.UnimplementedError,
        "MultiWorkerMirroredStrategy",
    ),
    "no cluster": (lambda: config.experimental_connect_to_cluster(None), ValueError, "takes a cluster"),
    "host": (
        lambda: config.experimental_connect_to_host("a:1"),
        errors.UnimplementedError,
        "'a:1' cannot be used",
    ),
    "no host": (lambda: config.experimental_connect_to_host(), ValueError, "at least one remote_host"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_there_is_not_is_refused(name):
    compute, error, message = BAD[name]
    with pytest.raises(error, match=re.escape(message)):
        compute()


# ---------------------------------------------------------------------------------------------------------------------
# experimental


def test_optional():
    made = tf.experimental.Optional.from_value((3, {"a": 4.0}))
    assert bool(made.has_value())
    assert float(made.get_value()[1]["a"]) == 4.0
    assert made.element_spec[0] == tf.TensorSpec((), tf.int32)
    empty = tf.experimental.Optional.empty(tf.TensorSpec((), tf.int32))
    assert not bool(empty.has_value())
    with pytest.raises(errors.InvalidArgumentError, match="there is no value"):
        empty.get_value()


tnp, c = tf.experimental.numpy, tf.constant
NUMPY = [
    (lambda: tnp.array([1, 2]), [1, 2], "int64"),
    (lambda: tnp.array(1.5), 1.5, "float64"),
    (lambda: tnp.array(c([1.0]), ndmin=2), [[1.0]], "float32"),
    (lambda: tnp.asarray([c(1.0), 2.0]), [1.0, 2.0], "float32"),
    (lambda: tnp.add(c(1.0), 1), 2.0, "float32"),
    (lambda: tnp.add(c(1.0), c(1)), 2.0, "float64"),
    (lambda: tnp.add(c(1), 1.0), 2.0, "float64"),
    (lambda: tnp.zeros(2), [0.0, 0.0], "float64"),
    (lambda: tnp.ones((1,), np.int32), [1], "int32"),
    (lambda: tnp.full(2, 3), [3, 3], "int64"),
    (lambda: tnp.full_like(c([1.0]), 3), [3.0], "float32"),
    (lambda: tnp.arange(1, 4, 2), [1, 3], "int64"),
    (lambda: tnp.linspace(0, 1, 3), [0.0, 0.5, 1.0], "float64"),
    (lambda: tnp.eye(2, k=1), [[0.0, 1.0], [0.0, 0.0]], "float64"),
    (lambda: tnp.hstack([c([1.0]), c([2.0, 3.0])]), [1.0, 2.0, 3.0], "float32"),
    (lambda: tnp.hstack([c([[1.0], [2.0]]), c([[3], [4]])]), [[1.0, 3.0], [2.0, 4.0]], "float64"),
    (lambda: tnp.hstack([1.0, 2.0]), [1.0, 2.0], "float64"),
    (lambda: tnp.vstack([[1, 2], [3.0, 4.0]]), [[1.0, 2.0], [3.0, 4.0]], "float64"),
    (lambda: tnp.dstack([c([1.0, 2.0]), c([3.0, 4.0])]), [[[1.0, 3.0], [2.0, 4.0]]], "float32"),
    (lambda: tnp.concatenate([c([[1.0]]), c([[2.0]])], axis=1), [[1.0, 2.0]], "float32"),
    (
        lambda: tnp.select([c([True, False]), c([True, True])], [c([1.0, 2.0]), c([3.0, 4.0])]),
        [1.0, 4.0],
        "float32",
    ),
    (lambda: tnp.select([c([True, False])], [c([1, 2])], default=c(9.5)), [1.0, 9.5], "float64"),
    (lambda: tnp.where([1, 0], c(1.0), 2), [1.0, 2.0], "float32"),
    (lambda: tnp.sum(c([1, 2])), 3, "int64"),
    (lambda: tnp.sum([[1.0, 2.0]], axis=1, keepdims=True), [[3.0]], "float64"),
    (lambda: tnp.mean(c([1, 2])), 1.5, "float64"),
    (lambda: tnp.any([0, 1]), True, "bool"),
    (lambda: tnp.argmax([[1, 3], [4, 2]]), 2, "int64"),
    (lambda: tnp.exp(0), 1.0, "float64"),
    (lambda: tnp.clip(c([1.0, 5.0]), 2, 3), [2.0, 3.0], "float32"),
    (lambda: tnp.matmul([1.0, 2.0], [[3.0], [4.0]]), [11.0], "float64"),
    (lambda: tnp.dot(2.0, c([3.0, 4.0])), [6.0, 8.0], "float32"),
    (lambda: tnp.dot([[1.0, 2.0]], [3.0, 4.0]), [11.0], "float64"),
    (lambda: tnp.tile([1, 2], (2, 1)), [[1, 2], [1, 2]], "int64"),
    (lambda: tnp.flip([[1, 2], [3, 4]]), [[4, 3], [2, 1]], "int64"),
]


@pytest.mark.parametrize(("compute", "expected", "dtype"), NUMPY)
def test_numpy(compute, expected, dtype):
    result = compute()
    assert (np.asarray(result).tolist(), result.dtype.name) == (expected, dtype)


def test_numpys_dtypes():
    assert tnp.finfo(tf.float32).max == tf.float32.max
    assert float(tnp.finfo("bfloat16").eps) == 2**-7
    assert tnp.iinfo(tf.int8).max == 127
    assert tnp.result_type(c(1.0), 1) is tf.float32
    assert (tnp.shape([[1]]), tnp.size([[1]]), tnp.ndim([[1]])) == ((1, 1), 1, 2)
    assert [t.numpy().tolist() for t in tnp.where([False, True])] == [[1]]


def test_gradients_flow_through_numpys_names():
    x = c([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tnp.sum(tnp.hstack([x, tnp.square(x)]) * tnp.select([x > 1.5], [x], 1.0)[0])
    assert tape.gradient(y, x).numpy().tolist() == [3.0, 5.0]


def test_numpy_refuses():
    with pytest.raises(ValueError, match="each condition, at least one, needs a choice"):
        tnp.select([], [])
    with pytest.raises(ValueError, match="scalars have no matrix product"):
        tnp.matmul(1.0, [2.0])
    with pytest.raises(AttributeError, match=r"no tf\.experimental\.nump"):
        tf.experimental.nump
