"""The devices there are: the CPU, and what else JAX can compile for.

The CPU may be split into logical ones, which JAX takes for as many devices. Eager code always runs on the CPU.
"""

from __future__ import annotations

import contextlib
import functools
import re
from importlib.util import find_spec
from typing import Any, NamedTuple


class PhysicalDevice(NamedTuple):
    """A device of the machine.

    >>> list_physical_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as programs name it.

    >>> list_logical_devices("CPU")[0]
    LogicalDevice(name='/device:CPU:0', device_type='CPU')
    """

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """The part of a physical device that a logical one gets.

    >>> LogicalDeviceConfiguration(memory_limit=1024).memory_limit
    1024
    """

    memory_limit: Any = None
    experimental_priority: Any = None
    experimental_device_ordinal: Any = None


_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")
_visible: dict[str, list[PhysicalDevice]] = {}  # by type, where somebody chose
_configurations: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}


def _of_type(devices: Any, device_type: str | None) -> list[Any]:
    if device_type is not None and not isinstance(device_type, str):
        raise ValueError(f"a type of device is a text, such as 'CPU', not {device_type!r}")
    return [d for d in devices if device_type in (None, d.device_type)]


@functools.cache
def _accelerators() -> dict[PhysicalDevice, Any]:
    """The GPUs and TPUs that JAX has. JAX, which takes a second to import, is not where nothing could be found."""
    if find_spec("jax") is None or not (find_spec("jax_plugins") or find_spec("libtpu")):
        return {}
    import jax

    found = [d for d in jax.local_devices() if d.platform != "cpu"]
    return {PhysicalDevice(f"/physical_device:{_type(d)}:{i}", _type(d)): d for i, d in enumerate(found)}


def _type(device: Any) -> str:
    """TensorFlow's name for what kind of device one of JAX's is."""
    kind = device.platform.upper()
    return "GPU" if kind in ("CUDA", "ROCM") else kind


def place(name: str) -> Any:
    """JAX's device of a name such as '/device:GPU:0'; None if there is no such device, or only one CPU."""
    match = re.search(r"(cpu|gpu|tpu)(?::(\d+))?/?$", name, re.IGNORECASE)
    if match is None:
        return None
    kind, number = match[1].upper(), int(match[2] or 0)
    if kind != "CPU":
        of_kind = [d for device, d in _accelerators().items() if device.device_type == kind]
    elif find_spec("jax") is not None and (number or _accelerators()):
        import jax

        of_kind = jax.local_devices(backend="cpu")
    else:
        return None
    return of_kind[number] if number < len(of_kind) else None


def is_there(name: str) -> bool:
    """Return whether there is a logical device of a name such as '/device:GPU:0'.

    >>> is_there("/cpu:0")
    True
    """
    match = re.search(r"([a-z_]+)(?::(\d+|\*))?/?$", name, re.IGNORECASE)
    number = 0 if match is None or match[2] in (None, "*") else int(match[2])
    return match is not None and number < len(list_logical_devices(match[1].upper()))


def _tell_jax(count: int) -> None:
    """Let JAX start with so many CPUs, at least."""
    import jax

    if count > max(jax.config.values["jax_num_cpu_devices"], 1):
        jax.config.update("jax_num_cpu_devices", count)


def cpu_devices(count: int) -> list[Any]:
    """JAX's devices for so many logical CPUs of this process.

    Raises:
        RuntimeError: if JAX has started with fewer: it cannot be told afterwards.
    """
    import jax

    with contextlib.suppress(RuntimeError):  # it has started
        _tell_jax(count)
    found = jax.local_devices(backend="cpu")
    if len(found) < count:
        raise RuntimeError(
            f"{count} logical CPUs are needed, and JAX has started with {len(found)}: call "
            "tf.config.set_logical_device_configuration at the beginning of the program, before anything is compiled"
        )
    return found[:count]


def name_of(array: Any) -> str:
    """The name of the device that an array of JAX's is on."""
    place = array.device
    return f"{_type(place)}:{place.id}" if hasattr(place, "platform") else "CPU:0"


def check_known(device: Any) -> None:
    """Raise unless there is this device."""
    there = list_physical_devices()
    if not isinstance(device, PhysicalDevice) or device not in there:
        raise ValueError(f"there is no device {device!r}: config.list_physical_devices() shows {there}")


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of the machine, or those of a type: 'CPU', 'GPU', ...

    >>> list_physical_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    only_cpu = isinstance(device_type, str) and device_type == "CPU"
    return _of_type([_CPU] if only_cpu else [_CPU, *_accelerators()], device_type)


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices as programs name them.

    >>> list_logical_devices("CPU")
    [LogicalDevice(name='/device:CPU:0', device_type='CPU')]
    """
    counts: dict[str, int] = {}
    for device in get_visible_devices(device_type):
        parts = len(_configurations.get(device, [None]))
        counts[device.device_type] = counts.get(device.device_type, 0) + parts
    return [LogicalDevice(f"/device:{kind}:{i}", kind) for kind, n in counts.items() for i in range(n)]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that programs may use.

    >>> get_visible_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    return [d for d in list_physical_devices(device_type) if d in _visible.get(d.device_type, [d])]


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Choose the devices (of a type) that programs may use.

    Args:
        device_type: the kind of devices that is meant; all by default.

    >>> set_visible_devices([], "GPU")
    """
    chosen = (
        list(devices) if isinstance(devices, (list, set, frozenset)) or type(devices) is tuple else [devices]
    )
    for device in chosen:
        check_known(device)
        if device_type not in (None, device.device_type):
            raise ValueError(f"config.set_visible_devices: {device!r} is not of type {device_type!r}")
    kinds = {d.device_type for d in list_physical_devices()} if device_type is None else {device_type}
    for kind in kinds:
        _visible[kind] = _of_type(chosen, kind)


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

    Args:
        device: the physical one.
        logical_devices: what to divide the device into.

    Raises:
        ValueError: if there is no such device, or a setting that it does not take.
        RuntimeError: if JAX has started with fewer CPUs: it cannot be told afterwards.

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
    if device == _CPU and len(logical_devices) > 1 and find_spec("jax") is not None:
        try:
            _tell_jax(len(logical_devices))
        except RuntimeError:  # it has started
            cpu_devices(len(logical_devices))
    _configurations[device] = list(logical_devices)
