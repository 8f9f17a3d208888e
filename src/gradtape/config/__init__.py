"""The public namespace `gradtape.config`: devices and switches, as far as there are any on one machine with a CPU."""

from __future__ import annotations

from typing import Any

from ..devices import (
    LogicalDevice,
    LogicalDeviceConfiguration,
    PhysicalDevice,
    get_logical_device_configuration,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_logical_device_configuration,
    set_visible_devices,
)
from ..errors import UnimplementedError
from ..missing import closed
from ..settings import settings
from . import experimental, optimizer, threading

__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "experimental",
    "experimental_connect_to_cluster",
    "experimental_connect_to_host",
    "experimental_functions_run_eagerly",
    "experimental_run_functions_eagerly",
    "functions_run_eagerly",
    "get_logical_device_configuration",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "optimizer",
    "run_functions_eagerly",
    "set_logical_device_configuration",
    "set_soft_device_placement",
    "set_visible_devices",
    "threading",
]


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Run what `function` decorates as plain Python, for debugging.

    >>> run_functions_eagerly(False)
    """
    settings.run_functions_eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Does what `function` decorates run as plain Python?

    >>> functions_run_eagerly()
    False
    """
    return settings.run_functions_eagerly


experimental_run_functions_eagerly = run_functions_eagerly
experimental_functions_run_eagerly = functions_run_eagerly


def set_soft_device_placement(enabled: bool) -> None:
    """Remembered, and of no consequence: there is one device.

    >>> set_soft_device_placement(True)
    """
    settings.soft_device_placement = bool(enabled)


def get_soft_device_placement() -> bool:
    """What `set_soft_device_placement` was told.

    >>> get_soft_device_placement()
    True
    """
    return settings.soft_device_placement


def experimental_connect_to_cluster(*args: Any, **kwargs: Any) -> None:
    """Not here: gradtape runs in one process."""
    raise UnimplementedError(
        "config.experimental_connect_to_cluster: gradtape runs in one process, without clusters"
    )


def experimental_connect_to_host(*args: Any, **kwargs: Any) -> None:
    """Not here: gradtape runs in one process."""
    raise UnimplementedError(
        "config.experimental_connect_to_host: gradtape runs in one process, without other hosts"
    )


closed(__name__)
