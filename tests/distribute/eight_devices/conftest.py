"""Eight virtual CPUs, for all tests of this folder."""

import pytest

import gradtape as tf
from gradtape.distribute import run_places

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 8
)


@pytest.fixture
def start(monkeypatch):
    """Sets the first call of a function that one program may run."""
    return lambda call: monkeypatch.setattr(run_places.policy, "follow_from", call)
