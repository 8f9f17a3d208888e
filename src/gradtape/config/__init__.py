"""The public namespace `gradtape.config`: devices, switches, and which engine computes."""

from __future__ import annotations

from collections.abc import Sequence
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
    """The engine that runs a `function`: 'xla', or 'numpy', as for all other code, if JAX is missing or not to be used.

    >>> engine() in ("xla", "numpy")
    True
    """
    return "numpy" if settings.run_functions_eagerly or find_spec("jax") is None else "xla"


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Run functions that `function` decorates as plain Python if `run_eagerly`, for debugging.

    >>> run_functions_eagerly(False)
    """
    settings.run_functions_eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Return whether functions that `function` decorates run as plain Python.

    >>> functions_run_eagerly()
    False
    """
    return settings.run_functions_eagerly


experimental_run_functions_eagerly = run_functions_eagerly
experimental_functions_run_eagerly = functions_run_eagerly


def set_soft_device_placement(enabled: bool) -> None:
    """Let `tf.device` take the CPU in place of a device that is not there, or, if not `enabled`, refuse its name.

    >>> set_soft_device_placement(True)
    """
    settings.soft_device_placement = bool(enabled)


def get_soft_device_placement() -> bool:
    """The value given to `set_soft_device_placement`.

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
    cluster_device_filters: object = None,
) -> None:
    """Connect to a cluster: a no-op for a cluster of one task, which is this process.

    Args:
        cluster_spec_or_resolver: a dict from jobs to the addresses of their tasks; or an object with `as_dict()`, or
            with `cluster_spec()`, which returns such an object.
        job_name: accepted; no effect, as the following ones.
        task_index: accepted; no effect.
        protocol: accepted; no effect.
        make_master_device_default: accepted; no effect.
        cluster_device_filters: accepted; no effect.

    Raises:
        ValueError: if this is no cluster.
        UnimplementedError: if it has several tasks.

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
            f"config.experimental_connect_to_cluster: {jobs!r} has several processes, which join each other by "
            "tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver)"
        )


def experimental_connect_to_host(
    remote_host: str | Sequence[str] | None = None, job_name: str = "worker"
) -> None:
    """Raise an error: processes join each other by `tf.distribute.MultiWorkerMirroredStrategy`.

    Args:
        remote_host: an address, or several.
        job_name: accepted; no effect.

    Raises:
        ValueError: without a `remote_host`.
        UnimplementedError: with one.

    >>> try:
    ...     experimental_connect_to_host("localhost:8470")
    ... except UnimplementedError as error:
    ...     print("MultiWorkerMirroredStrategy" in str(error))
    True
    """
    if not isinstance(remote_host, (str, list, tuple)) or not remote_host:
        raise ValueError("config.experimental_connect_to_host: give at least one remote_host")
    raise UnimplementedError(
        f"config.experimental_connect_to_host: {remote_host!r} cannot be used from here: processes join each other by "
        "tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver)"
    )


closed(__name__)
