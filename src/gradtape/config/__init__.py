"""The public namespace `gradtape.config`: devices, switches, and which engine computes."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from ..core.errors import UnimplementedError
from ..core.settings import settings
from ..engine.devices import (
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
from ..names.missing import closed
from . import experimental, optimizer, threading

__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "engine",
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


def engine() -> str:
    """What computes a `function`: 'xla', or 'numpy', as for all other code, where JAX is missing or not to be used.

    >>> engine() in ("xla", "numpy")
    True
    """
    return "numpy" if settings.run_functions_eagerly or find_spec("jax") is None else "xla"


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


def experimental_connect_to_cluster(
    cluster_spec_or_resolver: Any,
    job_name: str = "localhost",
    task_index: int = 0,
    protocol: str | None = None,
    make_master_device_default: bool = True,
    cluster_device_filters: Any = None,
) -> None:
    """Connect to a cluster. One of at most one task is this process, to which there is nothing to do.

    A cluster is a dict from jobs to the addresses of their tasks, or has `as_dict()`, or `cluster_spec()` which has.

    Raises:
        ValueError: for what is no cluster. UnimplementedError: for one of several tasks, which gradtape has not.

    >>> experimental_connect_to_cluster({"worker": ["localhost:2222"]})
    """
    cluster = cluster_spec_or_resolver
    cluster = cluster.cluster_spec() if hasattr(cluster, "cluster_spec") else cluster
    jobs = cluster.as_dict() if hasattr(cluster, "as_dict") else cluster
    if not isinstance(jobs, dict):
        raise ValueError(
            "config.experimental_connect_to_cluster: takes a cluster, that is jobs and the addresses of their tasks, "
            f"not {cluster_spec_or_resolver!r}"
        )
    if sum(len(tasks) if isinstance(tasks, (list, tuple, dict)) else 1 for tasks in jobs.values()) > 1:
        raise UnimplementedError(
            f"config.experimental_connect_to_cluster: gradtape runs in one process, and {jobs!r} has several"
        )


def experimental_connect_to_host(remote_host: Any = None, job_name: str = "worker") -> None:
    """Not here: gradtape runs in one process."""
    if not isinstance(remote_host, (str, list, tuple)) or not remote_host:
        raise ValueError("config.experimental_connect_to_host: give at least one remote_host")
    raise UnimplementedError(
        f"config.experimental_connect_to_host: gradtape runs in one process, and cannot reach {remote_host!r}"
    )


closed(__name__)
