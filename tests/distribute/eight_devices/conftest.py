"""Eight virtual CPUs, for all tests of this folder."""

import gradtape as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 8
)
