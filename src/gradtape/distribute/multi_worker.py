"""What a strategy with replicas in several processes does: it joins them, and shares their input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.primitive import local
from ..core.variable import Variable
from ..data.dataset import Dataset
from .auto_sharding import CoordinatedGroups, sharded
from .exchanges import of_each, of_first, share_seed
from .mirrored import MirroredExtended
from .parties import OwnHere
from .per_replica import PerReplica
from .processes import Cluster, join


class MultiWorkerExtended(MirroredExtended):
    """Replicas on the devices of several processes.

    Args:
        container_strategy: the strategy it belongs to.
        devices: the names of the devices of this process, as without the others.
        cluster: the processes.
        timeout: how many seconds to wait for them.
    """

    def __init__(
        self, container_strategy: Any, devices: Sequence[str], cluster: Cluster, timeout: int
    ) -> None:
        join(cluster, timeout)
        self._cluster = cluster
        count = len(devices) * len(cluster.addresses)
        names = [
            name.replace("/job:localhost", "/job:worker").replace("task:0", f"task:{cluster.rank}")
            for name in devices
        ]
        super().__init__(container_strategy, names, lambda: _mesh(len(devices), cluster), count)
        self._mesh  # noqa: B018  devices differ in number: now is the time to say so
        share_seed()

    def _party(self) -> OwnHere:
        return OwnHere(self)

    def _in_multi_worker_mode(self) -> bool:
        return True

    @property
    def should_checkpoint(self) -> bool:
        """Whether this process is the one that writes checkpoints: the first."""
        return self._cluster.rank == 0

    @property
    def should_save_summary(self) -> bool:
        """Whether this process is the one that writes summaries: the first."""
        return self._cluster.rank == 0

    def _first_replica(self) -> int:
        return self._cluster.rank * len(self._devices)

    def of_each_process(self, array: Any) -> Any:
        """The arrays of all processes, stacked. Each calls it at the same place."""
        return of_each(array)

    def divided_here(self, value: Any, rows: int) -> PerReplica:
        """A part of a batch of this process alone, divided among its own replicas."""
        own = len(self._devices)
        return self._stack(value._array.reshape(own, rows // own, *value._array.shape[1:]))

    def _distribute(self, dataset: Dataset) -> Any:
        return sharded(dataset, self, len(self._cluster.addresses), self._cluster.rank)

    def _grouped(self, datasets: list[Dataset]) -> Any:
        return CoordinatedGroups(datasets, self)

    def _created(self, variable: Variable) -> None:
        """Give a new variable the first process's initial value: random ones differ."""
        super()._created(variable)
        if local.here.trace is None:
            variable._put(of_first(variable._tensor._array))


def _mesh(own: int, cluster: Cluster) -> Any:
    """The mesh of all devices of all processes, in the order of their ranks.

    Raises:
        RuntimeError: if the processes have different numbers of devices.
    """
    import jax

    from .meshes import mesh_of

    devices = sorted(jax.devices(), key=lambda d: (d.process_index, d.id))
    counts = [sum(d.process_index == rank for d in devices) for rank in range(len(cluster.addresses))]
    if counts != [own] * len(counts):
        raise RuntimeError(
            f"{cluster.me} has {own} devices, and the processes have {counts}: let each have as many, by "
            "tf.config.set_logical_device_configuration at the beginning of the program"
        )
    return mesh_of(devices)
