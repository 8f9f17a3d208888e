"""Mesh and Layout: how a tensor is divided among devices that lie in several directions, under DTensor's names."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.tensor_conversion import convert_to_tensor
from ..engine.devices import cpu_devices, list_logical_devices, place
from .processes import joined

UNSHARDED = "unsharded"  # an axis of which every device has all
MATCH = "match"  # an axis whose layout is to be found out


class Mesh:
    """Devices in a grid with named directions; `create_mesh` and `create_distributed_mesh` make one.

    Args:
        dim_names: the names of the directions.
        global_device_ids: the numbers of all devices, in the grid.
        local_device_ids: the numbers of those that are this process's.
        local_devices: their names.
        mesh_name: a name.
        global_devices: the names of all devices.
        use_xla_spmd: accepted: it is always so.

    >>> mesh = Mesh(["batch", "model"], [[0]], [0], ["CPU:0"])
    >>> mesh.dim_size("batch"), mesh.size
    (1, 1)
    """

    def __init__(
        self,
        dim_names: Sequence[str],
        global_device_ids: Any,
        local_device_ids: Sequence[int],
        local_devices: Sequence[Any],
        mesh_name: str = "",
        global_devices: Sequence[Any] | None = None,
        use_xla_spmd: bool = False,
    ) -> None:
        ids = np.asarray(global_device_ids)
        if len(set(dim_names)) < len(dim_names) or len(dim_names) != ids.ndim:
            raise ValueError(f"a mesh has a name for each direction, not {list(dim_names)} for {ids.ndim}")
        own = [int(i) for i in local_device_ids]
        if len(own) != len(local_devices) or not set(own) <= set(ids.ravel().tolist()):
            raise ValueError(
                f"a mesh has a number and a name for each device of this process, not {own} and {list(local_devices)}"
            )
        self._names = tuple(dim_names)
        self._ids = ids
        self._own = tuple(own)
        self._devices = tuple(full_name(device) for device in local_devices)
        self._global = tuple(str(device) for device in global_devices or ())
        self.name = mesh_name
        self._spmd = bool(use_xla_spmd)

    def _key(self) -> tuple[Any, ...]:
        return self._names, self._ids.shape, tuple(self._ids.ravel().tolist()), self._own, self._devices

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        dims = ", ".join(f"{n}={s}" for n, s in zip(self._names, self._ids.shape, strict=True))
        return f"Mesh({dims}, {self.device_type()})"

    @property
    def dim_names(self) -> list[str]:
        """The names of the directions."""
        return list(self._names)

    @property
    def size(self) -> int:
        """The number of devices."""
        return self._ids.size

    @property
    def strides(self) -> list[int]:
        """How far apart neighbours in each direction are, in the order of the devices."""
        shape = self._ids.shape
        return [math.prod(shape[i + 1 :]) for i in range(len(shape))]

    def shape(self) -> list[int]:
        """How many devices lie in each direction."""
        return list(self._ids.shape)

    def dim_size(self, dim_name: str) -> int:
        """How many devices lie in a direction.

        Raises:
            ValueError: if there is no such direction.
        """
        if dim_name not in self._names:
            raise ValueError(f"{self} has no direction {dim_name!r}")
        return int(self._ids.shape[self._names.index(dim_name)])

    def __getitem__(self, dim_name: str) -> int:
        return self.dim_size(dim_name)

    def contains_dim(self, dim_name: str) -> bool:
        """Return whether there is a direction of this name."""
        return dim_name in self._names

    def device_type(self) -> str:
        """The kind of the devices, as 'CPU'."""
        return _kind_and_number(self._devices[0])[0]

    def use_xla_spmd(self) -> bool:
        """What was said of it."""
        return self._spmd

    def is_remote(self) -> bool:
        """Return whether this process has no device of the mesh."""
        return not self._own

    def local_devices(self) -> list[str]:
        """The names of the devices of this process."""
        return list(self._devices)

    def num_local_devices(self) -> int:
        """The number of devices of this process."""
        return len(self._own)

    def local_device_ids(self) -> list[int]:
        """The numbers of the devices of this process."""
        return list(self._own)

    def global_devices(self) -> list[str]:
        """The names of all devices, where they were given."""
        return list(self._global)

    def global_device_ids(self) -> Any:
        """The numbers of all devices, in the grid."""
        return self._ids.copy()

    def min_global_device_id(self) -> int:
        """The smallest number."""
        return int(self._ids.min())

    def host_mesh(self) -> Mesh:
        """The mesh of the CPUs beside the devices; of CPUs, the mesh itself.

        Raises:
            ValueError: for accelerators, whose CPUs are not devices of a mesh here.
        """
        if self.device_type() != "CPU":
            raise ValueError(f"{self} has no mesh of CPUs: create_mesh(..., device_type='CPU') makes one")
        return self

    def coords(self, device_idx: int) -> Any:
        """Where the device of a number lies, as a tensor."""
        return convert_to_tensor(self.device_location(device_idx))

    def device_location(self, device_id: int) -> list[int]:
        """Where the device of a number lies."""
        at = np.unravel_index(int(device_id) - self.min_global_device_id(), self._ids.shape)
        return [int(i) for i in at]

    def unravel_index(self) -> dict[int, dict[str, int]]:
        """Where each device lies, by the names of the directions."""
        places = [np.unravel_index(i, self._ids.shape) for i in range(self.size)]
        return {
            i: {n: int(at) for n, at in zip(self._names, found, strict=True)}
            for i, found in enumerate(places)
        }

    def local_device_locations(self) -> list[dict[str, int]]:
        """Where each device of this process lies, by the names of the directions."""
        places, first = self.unravel_index(), self.min_global_device_id()
        return [places[i - first] for i in self._own]

    def to_string(self) -> str:
        """The mesh as one text."""
        dims = ",".join(f"{n}={s}" for n, s in zip(self._names, self._ids.shape, strict=True))
        numbers = ",".join(str(i) for i in self._ids.ravel())
        return f"{self.name}|{dims}|{numbers}|{','.join(map(str, self._own))}|{','.join(self._devices)}"

    @functools.cached_property
    def jax_mesh(self) -> Any:
        """JAX's own mesh of these devices. Each process has as many, with the same numbers."""
        import jax

        here = dict(zip(self._own, jax_devices(self._devices), strict=True))
        cluster = joined()
        if cluster is not None and len(self._own) < self.size:
            here |= _elsewhere(list(here.values()), len(cluster.addresses))
        grid = np.array([here[int(i)] for i in self._ids.ravel()], dtype=object).reshape(self._ids.shape)
        kinds = (jax.sharding.AxisType.Auto,) * len(self._names)
        made = jax.sharding.Mesh(grid, self._names, axis_types=kinds)
        _meshes[made] = self
        return made

    @property
    def own_devices(self) -> list[Any]:
        """JAX's devices of this process."""
        return jax_devices(self._devices)


_meshes: dict[Any, Mesh] = {}  # by JAX's


def _elsewhere(own: list[Any], processes: int) -> dict[int, Any]:
    """The devices of all processes, by their numbers: those that are to each what `own` are to this one.

    Raises:
        RuntimeError: if a process has fewer devices.
    """
    import jax

    positions = [jax.local_devices(backend=own[0].platform).index(device) for device in own]
    found: dict[int, Any] = {}
    for rank in range(processes):
        there = [d for d in jax.devices(own[0].platform) if d.process_index == rank]
        if len(there) <= max(positions):
            raise RuntimeError(
                f"process {rank} has {len(there)} devices, and {max(positions) + 1} are needed of each: call "
                "tf.config.set_logical_device_configuration in all of them"
            )
        found |= {rank * len(own) + i: there[at] for i, at in enumerate(positions)}
    return found


def jax_devices(names: Sequence[str]) -> list[Any]:
    """JAX's devices of these names, which are this process's.

    Raises:
        RuntimeError: if JAX has started, and knows fewer devices.
    """
    cpus, found = len(list_logical_devices("CPU")), []
    for name in names:
        kind, number = _kind_and_number(name)
        found.append(cpu_devices(cpus)[number] if kind == "CPU" else place(name))
    return found


def _kind_and_number(name: str) -> tuple[str, int]:
    kind, _, number = name.rpartition("/")[2].removeprefix("device:").partition(":")
    return kind.upper(), int(number or 0)


def full_name(device: Any) -> str:
    """The name of a device of this process in full.

    >>> full_name("CPU:1")
    '/job:localhost/replica:0/task:0/device:CPU:1'
    """
    kind, number = _kind_and_number(str(device))
    cluster = joined()
    task = "localhost/replica:0/task:0" if cluster is None else f"worker/replica:0/task:{cluster.rank}"
    return f"/job:{task}/device:{kind}:{number}"


def create_mesh(
    mesh_dims: Sequence[tuple[str, int]] | Mapping[str, int] | None = None,
    mesh_name: str = "",
    devices: Sequence[str] | None = None,
    device_type: str | None = None,
    use_xla_spmd: bool = False,
) -> Mesh:
    """A mesh of this process's devices.

    Args:
        mesh_dims: the name and the size of each direction; by default one, named 'x', of all devices.
        mesh_name: a name.
        devices: the names of the devices; by default all of their kind.
        device_type: their kind; CPU by default.
        use_xla_spmd: accepted: it is always so.

    Raises:
        ValueError: if there are not as many devices.

    >>> create_mesh([("batch", 1)], devices=["CPU:0"]).dim_names
    ['batch']
    """
    names = _of_kind(devices, device_type)
    dims = [("x", len(names))] if mesh_dims is None else list(dict(mesh_dims).items())
    sizes = [size for _, size in dims]
    _check_size("create_mesh", dict(dims), len(names))
    ids = list(range(len(names)))
    return Mesh(
        [n for n, _ in dims], np.array(ids).reshape(sizes), ids, names, mesh_name, use_xla_spmd=use_xla_spmd
    )


def create_distributed_mesh(
    mesh_dims: Sequence[tuple[str, int]] | Mapping[str, int],
    mesh_name: str = "",
    local_devices: Sequence[str] | None = None,
    device_type: str | None = None,
    use_xla_spmd: bool = False,
) -> Mesh:
    """A mesh of the devices of all processes, in the order of their ranks. Each has as many.

    Args:
        mesh_dims: the name and the size of each direction.
        mesh_name: a name.
        local_devices: the names of this process's devices; by default all of their kind.
        device_type: their kind; CPU by default.
        use_xla_spmd: accepted: it is always so.

    Raises:
        ValueError: if there are not as many devices.

    >>> create_distributed_mesh([("batch", 1)], local_devices=["CPU:0"]).size
    1
    """
    names = _of_kind(local_devices, device_type)
    cluster = joined()
    rank, processes = (0, 1) if cluster is None else (cluster.rank, len(cluster.addresses))
    dims = dict(mesh_dims)
    _check_size("create_distributed_mesh", dims, len(names) * processes)
    ids = np.arange(len(names) * processes).reshape(list(dims.values()))
    own = [rank * len(names) + i for i in range(len(names))]
    return Mesh(list(dims), ids, own, names, mesh_name, use_xla_spmd=use_xla_spmd)


def _of_kind(devices: Sequence[Any] | None, device_type: str | None) -> list[str]:
    there = [d.name for d in list_logical_devices((device_type or "CPU").upper())]
    return there if devices is None else [str(d) for d in devices]


def _check_size(operation: str, dims: dict[str, int], count: int) -> None:
    if math.prod(dims.values()) != count:
        raise ValueError(
            f"{operation}: {dims} takes {math.prod(dims.values())} devices, and there are {count}. `devices` names "
            "fewer of them; tf.config.set_logical_device_configuration makes several CPUs of one"
        )


class Layout:
    """How each axis of a tensor is divided: along a direction of a mesh, or not at all.

    Args:
        sharding_specs: for each axis the name of a direction, or UNSHARDED.
        mesh: the mesh.

    Raises:
        ValueError: if a name is that of no direction, or appears twice.

    >>> mesh = create_mesh([("batch", 1)], devices=["CPU:0"])
    >>> Layout(["batch", UNSHARDED], mesh).num_shards(0)
    1
    """

    def __init__(self, sharding_specs: Sequence[str], mesh: Mesh) -> None:
        if not isinstance(mesh, Mesh):
            raise ValueError(f"Layout takes a mesh of tf.experimental.dtensor.create_mesh, not {mesh!r}")
        named = [spec for spec in sharding_specs if spec not in (UNSHARDED, MATCH)]
        if len(set(named)) < len(named) or any(not mesh.contains_dim(name) for name in named):
            raise ValueError(
                f"Layout: each direction of {mesh} divides one axis at most, and these specs are {list(sharding_specs)}"
            )
        self._specs = tuple(sharding_specs)
        self._mesh = mesh

    @classmethod
    def replicated(cls, mesh: Mesh, rank: int) -> Layout:
        """The layout of a tensor that every device has all of.

        Args:
            mesh: the mesh.
            rank: the number of axes.
        """
        return cls([UNSHARDED] * rank, mesh)

    @classmethod
    def batch_sharded(cls, mesh: Mesh, batch_dim: str, rank: int, axis: int = 0) -> Layout:
        """The layout of a tensor of which one axis is divided, the first by default.

        Args:
            mesh: the mesh.
            batch_dim: the direction along which it is.
            rank: the number of axes.
            axis: which one.
        """
        return cls([batch_dim if i == axis % rank else UNSHARDED for i in range(rank)], mesh)

    @classmethod
    def inner_sharded(cls, mesh: Mesh, inner_dim: str, rank: int) -> Layout:
        """The layout of a tensor whose last axis is divided.

        Args:
            mesh: the mesh.
            inner_dim: the direction along which it is.
            rank: the number of axes.
        """
        return cls.batch_sharded(mesh, inner_dim, rank, rank - 1)

    @property
    def sharding_specs(self) -> list[str]:
        """For each axis the direction that divides it, or UNSHARDED."""
        return list(self._specs)

    @property
    def mesh(self) -> Mesh:
        """The mesh."""
        return self._mesh

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self._specs)

    def num_shards(self, idx: int) -> int:
        """Among how many devices an axis is divided."""
        spec = self._specs[idx]
        return 1 if spec in (UNSHARDED, MATCH) else self._mesh.dim_size(spec)

    def is_fully_replicated(self) -> bool:
        """Return whether every device has all of the tensor."""
        return all(self.num_shards(i) == 1 for i in range(self.rank))

    def is_batch_parallel(self) -> bool:
        """Return whether the first axis is divided, and no other."""
        return bool(self._specs) and all(spec == UNSHARDED for spec in self._specs[1:])

    def delete(self, dims: Sequence[int]) -> Layout:
        """The layout without some axes."""
        return Layout([spec for i, spec in enumerate(self._specs) if i not in dims], self._mesh)

    @property
    def shape(self) -> list[int]:
        """How many devices lie in each direction of the mesh."""
        return self._mesh.shape()

    def local_shape_from_global_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of each device's part."""
        return tuple(n // self.num_shards(i) for i, n in enumerate(global_shape))

    def global_shape_from_local_shape(self, local_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the tensor, for that of each device's part."""
        return tuple(n * self.num_shards(i) for i, n in enumerate(local_shape))

    def offset_to_shard(self) -> list[tuple[int, ...]]:
        """Which part of the tensor each device has: for each axis its number."""
        return [
            tuple(0 if spec in (UNSHARDED, MATCH) else at[spec] for spec in self._specs)
            for at in self._mesh.unravel_index().values()
        ]

    def to_string(self) -> str:
        """The layout as one text."""
        return f"sharding_specs:{''.join(spec + ',' for spec in self._specs)} mesh:{self._mesh.to_string()}"

    @property
    def sharding(self) -> Any:
        """JAX's own sharding."""
        from jax.sharding import NamedSharding, PartitionSpec

        names = [None if spec in (UNSHARDED, MATCH) else spec for spec in self._specs]
        return NamedSharding(self._mesh.jax_mesh, PartitionSpec(*names))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and (self._specs, self._mesh) == (other._specs, other._mesh)

    def __hash__(self) -> int:
        return hash((self._specs, self._mesh))

    def __repr__(self) -> str:
        return f"Layout(sharding_specs={list(self._specs)}, mesh={self._mesh})"


def layout_of(array: Any) -> Layout | None:
    """The layout of an array of JAX's; None if it lies on no mesh of ours."""
    sharding = getattr(array, "sharding", None)
    mesh = _meshes.get(getattr(sharding, "mesh", None))
    if mesh is None or sharding is None:
        return None
    specs = [UNSHARDED if s is None else (s[0] if isinstance(s, tuple) else s) for s in sharding.spec]
    return Layout([*specs, *[UNSHARDED] * (array.ndim - len(specs))], mesh)


def laid_out(array: Any, layout: Layout) -> Any:
    """An array on the devices of a layout's mesh. With several processes each has all of it, or it lies there already.

    Args:
        array: NumPy's or JAX's.
        layout: how it is to be divided.
    """
    import jax

    from ..compiled.buffers import spread
    from ..compiled.spmd import between_processes

    if not isinstance(array, jax.Array) or array.is_fully_addressable:
        return spread(array, layout.sharding)
    with jax.enable_x64(True), between_processes():
        return jax.block_until_ready(jax.jit(lambda a: a, out_shardings=layout.sharding)(array))
