"""The public namespace `gradtape.config.experimental`."""

from __future__ import annotations

from typing import Any

from ..core.settings import settings
from ..engine.devices import LogicalDeviceConfiguration as VirtualDeviceConfiguration
from ..engine.devices import (
    PhysicalDevice,
    check_known,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_visible_devices,
)
from ..engine.devices import get_logical_device_configuration as get_virtual_device_configuration
from ..engine.devices import set_logical_device_configuration as set_virtual_device_configuration
from ..names.missing import closed
from ..ops.scalars import choice

__all__ = [
    "VirtualDeviceConfiguration",
    "enable_op_determinism",
    "enable_tensor_float_32_execution",
    "get_device_details",
    "get_device_policy",
    "get_memory_growth",
    "get_memory_info",
    "get_memory_usage",
    "get_synchronous_execution",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "hot_tapes",
    "list_logical_devices",
    "list_physical_devices",
    "reset_memory_stats",
    "set_device_policy",
    "set_hot_tapes",
    "set_memory_growth",
    "set_synchronous_execution",
    "set_virtual_device_configuration",
    "set_visible_devices",
    "tensor_float_32_execution_enabled",
]


def enable_op_determinism() -> None:
    """Refuse to draw random numbers without a seed. Operations are deterministic in any case.

    >>> enable_op_determinism()
    >>> settings.op_determinism
    True
    >>> settings.op_determinism = False  # for the examples that follow
    """
    settings.op_determinism = True


def set_hot_tapes(enabled: bool) -> None:
    """Compile passes through a tape's place in the code once they have proved alike: see docs/hot-tapes.md.

    Args:
        enabled: whether to do so from now on, in all threads. They are on from the start, unless the environment has
            GRADTAPE_HOT=0. XLA compiles where JAX is installed.

    >>> set_hot_tapes(False)
    >>> set_hot_tapes(True)
    """
    from ..hot.places import switch

    if not isinstance(enabled, bool):
        raise TypeError(f"config.experimental.set_hot_tapes: enabled must be True or False, not {enabled!r}")
    switch(enabled)


def hot_tapes() -> dict[str, Any]:
    """What hot tapes have done: the counts of passes begun, learned, followed and left, in all and for each place.

    >>> [name for name in ("passes", "learned", "followed", "left") if name in hot_tapes()]
    ['passes', 'learned', 'followed', 'left']
    """
    from ..hot.places import counts

    return counts()


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Raise an error: `enable` is for GPUs, and the memory of `device`, a CPU, always grows as needed.

    Raises:
        ValueError: always.

    >>> import gradtape as tf
    >>> for gpu in tf.config.list_physical_devices("GPU"):
    ...     set_memory_growth(gpu, True)
    """
    check_known(device)
    raise ValueError("config.experimental.set_memory_growth: is for GPUs, and this is a CPU")


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Return True: memory of `device` is always allocated as it is needed.

    >>> get_memory_growth(list_physical_devices("CPU")[0])
    True
    """
    check_known(device)
    return True


def get_device_details(device: PhysicalDevice) -> dict[str, Any]:
    """Details of `device`: none for a CPU.

    Raises:
        ValueError: if it is no `PhysicalDevice`.

    >>> get_device_details(list_physical_devices("CPU")[0])
    {}
    """
    if not isinstance(device, PhysicalDevice):
        raise ValueError(f"config.experimental.get_device_details: takes a PhysicalDevice, not {device!r}")
    return {}


def get_memory_info(device: str) -> dict[str, int]:
    """Raise a ValueError: memory of `device`, a CPU, is not counted.

    >>> try:
    ...     get_memory_info("CPU:0")
    ... except ValueError as error:
    ...     print("nothing is counted" in str(error))
    True
    """
    raise ValueError(
        f"config.experimental.get_memory_info: nothing is counted for {device!r}; there is the CPU only"
    )


def get_memory_usage(device: str) -> int:
    """Raise a ValueError: memory of `device`, a CPU, is not counted.

    >>> try:
    ...     get_memory_usage("CPU:0")
    ... except ValueError as error:
    ...     print("nothing is counted" in str(error))
    True
    """
    raise ValueError(
        f"config.experimental.get_memory_usage: nothing is counted for {device!r}; there is the CPU only"
    )


def reset_memory_stats(device: str) -> None:
    """Raise a ValueError: memory of `device`, a CPU, is not counted.

    >>> try:
    ...     reset_memory_stats("CPU:0")
    ... except ValueError as error:
    ...     print("nothing is counted" in str(error))
    True
    """
    raise ValueError(f"config.experimental.reset_memory_stats: nothing is counted for {device!r}")


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Store `enabled`, which has no effect: a CPU has no TensorFloat-32.

    >>> enable_tensor_float_32_execution(True)
    """
    settings.tensor_float_32 = bool(enabled)


def tensor_float_32_execution_enabled() -> bool:
    """The value given to `enable_tensor_float_32_execution`.

    >>> tensor_float_32_execution_enabled()
    True
    """
    return settings.tensor_float_32


def get_synchronous_execution() -> bool:
    """Return True: an operation has run when its call returns.

    >>> get_synchronous_execution()
    True
    """
    return True


def set_synchronous_execution(enable: bool) -> None:
    """Accept `enable`, which has no effect: execution is always synchronous.

    >>> set_synchronous_execution(True)
    """


def get_device_policy() -> str:
    """Return 'silent': nothing is ever copied between devices.

    >>> get_device_policy()
    'silent'
    """
    return "silent"


def set_device_policy(device_policy: str | None) -> None:
    """Accept `device_policy`, which has no effect: nothing is ever copied between devices.

    Raises:
        InvalidArgumentError: for another value than None, 'silent', 'silent_for_int32', 'warn' and 'explicit'.

    >>> set_device_policy("silent")
    """
    known = (None, "silent", "silent_for_int32", "warn", "explicit")
    choice("config.experimental.set_device_policy", "device_policy", device_policy, known)


closed(__name__)
