"""The devices there are: one CPU. It may be split into logical ones, which are all the same."""

from __future__ import annotations

from typing import Any, NamedTuple


class PhysicalDevice(NamedTuple):
    """A device of the machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as programs name it."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """How a logical device is cut out of a physical one."""

    memory_limit: Any = None
    experimental_priority: Any = None
    experimental_device_ordinal: Any = None


_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")
_visible: list[PhysicalDevice] = [_CPU]
_configurations: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}


def _of_type(devices: Any, device_type: str | None) -> list[Any]:
    if device_type is not None and not isinstance(device_type, str):
        raise ValueError(f"a type of device is a text, such as 'CPU', not {device_type!r}")
    return [d for d in devices if device_type in (None, d.device_type)]


def check_known(device: Any) -> None:
    """Raise unless there is this device."""
    if not isinstance(device, PhysicalDevice) or device != _CPU:
        raise ValueError(f"there is no device {device!r}: config.list_physical_devices() shows {[_CPU]}")


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of the machine, or those of a type: 'CPU', 'GPU', ...

    >>> list_physical_devices()
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    >>> list_physical_devices("GPU")
    []
    """
    return _of_type([_CPU], device_type)


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices as programs name them.

    >>> list_logical_devices()
    [LogicalDevice(name='/device:CPU:0', device_type='CPU')]
    """
    count = len(_configurations.get(_CPU, [None])) if _CPU in _visible else 0
    return _of_type([LogicalDevice(f"/device:CPU:{i}", "CPU") for i in range(count)], device_type)


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that programs may use.

    >>> get_visible_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    return _of_type(_visible, device_type)


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Choose the devices (of a type) that programs may use.

    >>> set_visible_devices([], "GPU")
    """
    chosen = (
        list(devices) if isinstance(devices, (list, set, frozenset)) or type(devices) is tuple else [devices]
    )
    for device in chosen:
        check_known(device)
        if not _of_type([device], device_type):
            raise ValueError(f"config.set_visible_devices: {device!r} is not of type {device_type!r}")
    if _of_type([_CPU], device_type):
        _visible[:] = chosen


def get_logical_device_configuration(device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
    """The logical devices that a physical one was split into; None if it was not.

    >>> cpu = list_physical_devices("CPU")[0]
    >>> set_logical_device_configuration(cpu, [LogicalDeviceConfiguration()])
    >>> len(get_logical_device_configuration(cpu))
    1
    """
    check_known(device)
    return _configurations.get(device)


def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: list[LogicalDeviceConfiguration]
) -> None:
    """Split a physical device into logical ones.

    >>> set_logical_device_configuration(list_physical_devices()[0], [LogicalDeviceConfiguration()])
    """
    check_known(device)
    if not isinstance(logical_devices, (list, tuple)):
        raise ValueError(f"config.set_logical_device_configuration: takes a list, not {logical_devices!r}")
    for configuration in logical_devices:
        if not isinstance(configuration, LogicalDeviceConfiguration):
            raise ValueError(
                f"config.set_logical_device_configuration: {configuration!r} is no LogicalDeviceConfiguration"
            )
        if any(setting is not None for setting in configuration[:2]):
            raise ValueError(
                "config.set_logical_device_configuration: a CPU takes no memory_limit or priority"
            )
    _configurations[device] = list(logical_devices)
