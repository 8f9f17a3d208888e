"""The processes of a program with DTensor's tensors, which TensorFlow calls clients, and their devices.

The variables DTENSOR_JOBS, DTENSOR_CLIENT_ID and DTENSOR_NUM_CLIENTS of the environment say which they are, or else
TF_CONFIG, as for MultiWorkerMirroredStrategy.
"""

from __future__ import annotations

import os

import numpy as np

from ..engine.devices import (
    LogicalDeviceConfiguration,
    cpu_devices,
    list_logical_devices,
    list_physical_devices,
    set_logical_device_configuration,
)
from .clusters import TFConfigClusterResolver
from .exchanges import of_each, share_seed
from .layouts import Mesh, full_name
from .processes import Cluster, cluster_of, join, joined, seconds


def _cluster() -> Cluster | None:
    """The processes that the environment names; None if there is one.

    Raises:
        ValueError: if the variables do not fit together.
    """
    addresses = jobs()
    if not addresses:
        return cluster_of(TFConfigClusterResolver())
    rank, count = os.environ.get("DTENSOR_CLIENT_ID", "0"), os.environ.get("DTENSOR_NUM_CLIENTS", "1")
    if not (rank.isdigit() and count.isdigit() and int(rank) < int(count) == len(addresses)):
        raise ValueError(
            f"DTENSOR_JOBS names {len(addresses)} processes, DTENSOR_NUM_CLIENTS is {count!r}, and DTENSOR_CLIENT_ID "
            f"{rank!r}: the last must be less than the number of processes, which the others agree on"
        )
    return Cluster(tuple(addresses), int(rank)) if len(addresses) > 1 else None


def initialize_accelerator_system(
    device_type: str | None = None,
    enable_coordination_service: bool | None = True,
    num_logical_cpu_devices: int | None = None,
    experimental_reset_context: bool | None = False,
    experimental_enable_megcore: bool | None = False,
) -> str:
    """Join the other processes, if there are any, and make the devices ready.

    Args:
        device_type: their kind; by default accelerators, if there are any, or else CPUs.
        enable_coordination_service: accepted; no effect.
        num_logical_cpu_devices: how many CPUs to make of one.
        experimental_reset_context: accepted; no effect.
        experimental_enable_megcore: accepted; no effect.

    Returns:
        Their kind.

    Raises:
        ValueError: if the environment describes no cluster that this process belongs to.
        DeadlineExceededError: if another process does not come in time.

    >>> initialize_accelerator_system("CPU")
    'CPU'
    """
    if num_logical_cpu_devices is not None:
        parts = [LogicalDeviceConfiguration()] * num_logical_cpu_devices
        set_logical_device_configuration(list_physical_devices("CPU")[0], parts)
    cluster = _cluster()
    if cluster is not None and joined() is None:
        join(cluster, seconds(None))
        share_seed()
    if num_logical_cpu_devices is not None:
        cpu_devices(num_logical_cpu_devices)
    return (device_type or preferred_device_type()).upper()


initialize_multi_client = initialize_accelerator_system


def shutdown_accelerator_system() -> None:
    """Accepted; no effect: a process leaves the others when it ends.

    >>> shutdown_accelerator_system()
    """


def preferred_device_type() -> str:
    """The kind of devices that there are, accelerators first.

    >>> preferred_device_type() in ("CPU", "GPU", "TPU")
    True
    """
    kinds = [d.device_type for d in list_logical_devices()]
    return next((kind for kind in kinds if kind != "CPU"), "CPU")


def local_devices(device_type: str, for_client_id: int | None = None) -> list[str]:
    """The names of this process's devices of a kind.

    Args:
        device_type: the kind.
        for_client_id: accepted; no effect.

    >>> local_devices("CPU")[0]
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """
    return [full_name(d.name) for d in list_logical_devices(device_type.upper())]


def num_local_devices(device_type: str) -> int:
    """The number of this process's devices of a kind.

    Args:
        device_type: the kind.

    >>> num_local_devices("CPU") == len(local_devices("CPU"))
    True
    """
    return len(local_devices(device_type))


def num_global_devices(device_type: str) -> int:
    """The number of all processes' devices of a kind. Each has as many.

    Args:
        device_type: the kind.

    >>> num_global_devices("CPU") == num_clients() * num_local_devices("CPU")
    True
    """
    return num_local_devices(device_type) * num_clients()


def num_clients() -> int:
    """The number of processes.

    >>> num_clients()
    1
    """
    cluster = joined()
    return 1 if cluster is None else len(cluster.addresses)


def client_id() -> int:
    """The rank of this process among them.

    >>> client_id()
    0
    """
    cluster = joined()
    return 0 if cluster is None else cluster.rank


def jobs() -> list[str]:
    """The addresses of all processes, as the environment variable DTENSOR_JOBS names them.

    >>> jobs()
    []
    """
    return [address for address in os.environ.get("DTENSOR_JOBS", "").split(",") if address]


def job_name() -> str:
    """The name of the job that all processes are tasks of.

    >>> job_name()
    'localhost'
    """
    return os.environ.get("DTENSOR_JOB_NAME", "localhost" if num_clients() == 1 else "worker")


def full_job_name(task_id: int | None = None) -> str:
    """The name of a process.

    Args:
        task_id: its rank; by default this one's.

    >>> full_job_name()
    'localhost/replica:0/task:0'
    """
    return f"{job_name()}/replica:0/task:{client_id() if task_id is None else int(task_id)}"


def heartbeat_enabled() -> bool:
    """Return whether processes notice when one is gone: they do.

    >>> heartbeat_enabled()
    True
    """
    return True


def barrier(mesh: Mesh, barrier_name: str | None = None, timeout_in_ms: int | None = None) -> None:
    """Wait until all processes of a mesh have come here.

    Args:
        mesh: the mesh.
        barrier_name: accepted; no effect.
        timeout_in_ms: accepted: the time to wait for a lost process is GRADTAPE_TIMEOUT, in the environment.

    Raises:
        UnavailableError: if one of them is gone.

    >>> barrier(Mesh(["batch"], [0], [0], ["CPU:0"]))
    """
    if mesh.num_local_devices() < mesh.size:
        of_each(np.zeros((), np.int32))
