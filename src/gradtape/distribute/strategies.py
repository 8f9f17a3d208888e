"""The strategies that programs name: which devices of which processes they run on."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from ..core.errors import UnimplementedError
from ..core.scopes import device
from ..engine.devices import list_logical_devices
from .clusters import ClusterResolver, TFConfigClusterResolver
from .meshes import mesh_of_devices
from .mirrored import MirroredExtended
from .multi_worker import MultiWorkerExtended
from .processes import cluster_of, seconds
from .reductions import CrossDeviceOps
from .strategy import Strategy, StrategyExtended

_LATER = "it comes later"


def _full_name(given: Any) -> str:
    """The name of a device, in full.

    Raises:
        ValueError: if it names none.
    """
    if not isinstance(given, str):
        raise ValueError(f"a device is named by a text, such as '/cpu:0', not {given!r}")
    with device(given):
        pass
    match = re.search(r"(cpu|gpu|tpu)(?::(\d+))?/?$", given, re.IGNORECASE)
    if match is None:
        raise ValueError(f"{given!r} names no device: names look like '/cpu:0' or '/device:GPU:1'")
    return f"/job:localhost/replica:0/task:0/device:{match[1].upper()}:{match[2] or 0}"


def _names(kind: str, devices: Any) -> list[str]:
    """The devices of a list of names, in full; by default all accelerators, or else the CPUs.

    Raises:
        ValueError: if it is no such list, or names a device twice.
    """
    if devices is None:
        accelerators = [d for d in list_logical_devices() if d.device_type != "CPU"]
        found = [d.name for d in accelerators or list_logical_devices("CPU")]
        # Known names are not looked up: that would start JAX, which several processes must join first.
        return [f"/job:localhost/replica:0/task:0{name}" for name in found or ["/device:CPU:0"]]
    if isinstance(devices, str) or not isinstance(devices, Sequence):
        raise ValueError(f"{kind}: devices must be a list of names, such as ['/cpu:0'], not {devices!r}")
    names = [_full_name(name) for name in devices] or [_full_name("/cpu:0")]
    if len(set(names)) < len(names):
        raise ValueError(f"{kind}: devices must be different ones, and these are {names}")
    there = {d.name.rpartition("/device:")[2] for d in list_logical_devices()}
    for name in names if len(names) > 1 else ():
        if name.rpartition("/device:")[2] not in there:
            raise ValueError(
                f"{kind}: there is no device {name}: tf.config.list_logical_devices() shows {sorted(there)}. "
                "tf.config.set_logical_device_configuration makes several CPUs of one"
            )
    return names


def _extended(strategy: Strategy, names: list[str]) -> StrategyExtended:
    """What a strategy does on one device, or on several."""
    if len(names) == 1:
        return StrategyExtended(strategy, names)
    return MirroredExtended(strategy, names, lambda: mesh_of_devices(names), len(names))


class OneDeviceStrategy(Strategy):
    """A strategy with one replica, on a device.

    Args:
        device: its name.

    Raises:
        ValueError: if it names no device.

    >>> OneDeviceStrategy("/cpu:0").extended.worker_devices
    ('/job:localhost/replica:0/task:0/device:CPU:0',)
    """

    def __init__(self, device: str) -> None:
        super().__init__(StrategyExtended(self, [_full_name(device)]))


class MirroredStrategy(Strategy):
    """A strategy with a replica, and a copy of each variable, on each of several devices of this machine.

    Args:
        devices: their names; by default all accelerators, or else the CPUs.
        cross_device_ops: accepted; XLA combines values of several devices.

    Raises:
        ValueError: if a name is that of no device.

    >>> MirroredStrategy(["/cpu:0"]).num_replicas_in_sync
    1
    """

    def __init__(
        self, devices: Sequence[str] | None = None, cross_device_ops: CrossDeviceOps | None = None
    ) -> None:
        if cross_device_ops is not None and not isinstance(cross_device_ops, CrossDeviceOps):
            raise ValueError(
                f"MirroredStrategy: cross_device_ops must be tf.distribute.CrossDeviceOps, not {cross_device_ops!r}"
            )
        super().__init__(_extended(self, _names("MirroredStrategy", devices)))


class CommunicationImplementation(enum.Enum):
    """How several machines exchange values.

    >>> CommunicationImplementation("NCCL")
    <CommunicationImplementation.NCCL: 'NCCL'>
    """

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class CommunicationOptions:
    """How values are exchanged between devices and machines.

    Args:
        bytes_per_pack: how much is sent at once; accepted: XLA decides.
        timeout_seconds: how long to wait for a process that does not answer; by default as GRADTAPE_TIMEOUT, in the
            environment, says.
        implementation: by which means; accepted: JAX decides.

    >>> CommunicationOptions().implementation
    <CommunicationImplementation.AUTO: 'AUTO'>
    """

    def __init__(
        self,
        bytes_per_pack: int = 0,
        timeout_seconds: float | None = None,
        implementation: CommunicationImplementation = CommunicationImplementation.AUTO,
    ) -> None:
        if not isinstance(bytes_per_pack, int) or bytes_per_pack < 0:
            raise ValueError(
                f"CommunicationOptions: bytes_per_pack must be at least 0, not {bytes_per_pack!r}"
            )
        if not isinstance(implementation, CommunicationImplementation):
            raise ValueError(
                "CommunicationOptions: implementation must be one of "
                f"tf.distribute.experimental.CommunicationImplementation, not {implementation!r}"
            )
        self.bytes_per_pack = bytes_per_pack
        self.timeout_seconds = timeout_seconds
        self.implementation = implementation


class MultiWorkerMirroredStrategy(Strategy):
    """A strategy with replicas on the devices of several processes, on one machine or many. All run the same program.

    Args:
        cluster_resolver: finds the processes; by default the variable TF_CONFIG of the environment says which they are.
        communication_options: how long to wait for the others, by `timeout_seconds`.

    Raises:
        ValueError: if this process is not one of the cluster's, or TF_CONFIG is no description of one.
        DeadlineExceededError: if another process does not come in time.
        UnavailableError: if the port of this process is in use.

    >>> MultiWorkerMirroredStrategy().num_replicas_in_sync
    1
    """

    def __init__(
        self,
        cluster_resolver: ClusterResolver | None = None,
        communication_options: CommunicationOptions | None = None,
    ) -> None:
        if communication_options is not None and not isinstance(communication_options, CommunicationOptions):
            raise ValueError(
                "MultiWorkerMirroredStrategy: communication_options must be "
                f"tf.distribute.experimental.CommunicationOptions, not {communication_options!r}"
            )
        if cluster_resolver is None:
            cluster_resolver = TFConfigClusterResolver()
        elif not isinstance(cluster_resolver, ClusterResolver):
            raise ValueError(
                "MultiWorkerMirroredStrategy: cluster_resolver must be one of tf.distribute.cluster_resolver, not "
                f"{cluster_resolver!r}"
            )
        self._cluster_resolver = cluster_resolver
        cluster = cluster_of(cluster_resolver)
        names = _names("MultiWorkerMirroredStrategy", None)
        if cluster is None:
            super().__init__(_extended(self, names))
        else:
            given = None if communication_options is None else communication_options.timeout_seconds
            super().__init__(MultiWorkerExtended(self, names, cluster, seconds(given)))

    @property
    def cluster_resolver(self) -> Any:
        """What has found the processes."""
        return self._cluster_resolver


class CentralStorageStrategy(Strategy):
    """A strategy with replicas on several devices. Variables are on each of them, as with MirroredStrategy.

    Args:
        compute_devices: the names of the devices; by default all accelerators, or else the CPUs.
        parameter_device: accepted; no effect.

    Raises:
        ValueError: if a name is that of no device.

    >>> CentralStorageStrategy(["/cpu:0"]).num_replicas_in_sync
    1
    """

    def __init__(
        self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None
    ) -> None:
        if parameter_device is not None:
            _full_name(parameter_device)
        super().__init__(_extended(self, _names("CentralStorageStrategy", compute_devices)))


class TPUStrategy(Strategy):
    """A strategy with a replica on each core of a TPU. It comes later.

    Args:
        tpu_cluster_resolver: where the TPU is.
        experimental_device_assignment: which core runs which replica.
        experimental_spmd_xla_partitioning: whether the compiler divides large tensors.

    Raises:
        UnimplementedError: always.

    >>> from gradtape.errors import UnimplementedError
    >>> try:
    ...     TPUStrategy()
    ... except UnimplementedError as error:
    ...     print("TPUStrategy" in str(error))
    True
    """

    def __init__(
        self,
        tpu_cluster_resolver: Any = None,
        experimental_device_assignment: Any = None,
        experimental_spmd_xla_partitioning: bool = False,
    ) -> None:
        _not_yet("TPUStrategy")


class ParameterServerStrategy(Strategy):
    """A strategy whose variables are on machines of their own. It comes later.

    Args:
        cluster_resolver: the machines.
        variable_partitioner: how large variables are divided.

    Raises:
        UnimplementedError: always.

    >>> from gradtape.errors import UnimplementedError
    >>> try:
    ...     ParameterServerStrategy(None)
    ... except UnimplementedError as error:
    ...     print("ParameterServerStrategy" in str(error))
    True
    """

    def __init__(self, cluster_resolver: Any, variable_partitioner: Any = None) -> None:
        _not_yet("ParameterServerStrategy")


def _not_yet(kind: str) -> NoReturn:
    raise UnimplementedError(
        f"{kind}: {_LATER}. tf.distribute.MirroredStrategy() runs on all devices of one machine, "
        "MultiWorkerMirroredStrategy() on those of several"
    )
