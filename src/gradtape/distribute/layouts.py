"""Mesh and Layout: how a tensor is divided among devices that lie in several directions, under DTensor's names."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..engine.devices import cpu_devices, list_logical_devices, place

UNSHARDED = "unsharded"  # an axis of which every device has all
MATCH = "match"  # an axis whose layout is to be found out


class Mesh:
    """Devices in a grid with named directions.

    Args:
        dim_names: the names of the directions.
        sizes: how many devices lie in each.
        devices: the names of all devices, row by row.
        mesh_name: a name.

    >>> mesh = Mesh(["batch", "model"], [1, 1], ["CPU:0"])
    >>> mesh.dim_size("batch"), mesh.size
    (1, 1)
    """

    def __init__(
        self, dim_names: Sequence[str], sizes: Sequence[int], devices: Sequence[str], mesh_name: str = ""
    ) -> None:
        if len(set(dim_names)) < len(dim_names) or len(dim_names) != len(sizes):
            raise ValueError(f"a mesh has a name and a size for each direction, not {dim_names} and {sizes}")
        if math.prod(sizes) != len(devices):
            raise ValueError(
                f"a mesh of sizes {list(sizes)} takes {math.prod(sizes)} devices, not {len(devices)}"
            )
        self._names = tuple(dim_names)
        self._sizes = tuple(int(n) for n in sizes)
        self._devices = tuple(devices)
        self.name = mesh_name

    def _key(self) -> tuple[Any, ...]:
        return self._names, self._sizes, self._devices

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        dims = ", ".join(f"{n}={s}" for n, s in zip(self._names, self._sizes, strict=True))
        return f"Mesh({dims}, {self.device_type()})"

    @property
    def dim_names(self) -> list[str]:
        """The names of the directions."""
        return list(self._names)

    @property
    def size(self) -> int:
        """The number of devices."""
        return len(self._devices)

    def shape(self) -> list[int]:
        """How many devices lie in each direction."""
        return list(self._sizes)

    def dim_size(self, dim_name: str) -> int:
        """How many devices lie in a direction.

        Raises:
            ValueError: if there is no such direction.
        """
        if dim_name not in self._names:
            raise ValueError(f"{self} has no direction {dim_name!r}")
        return self._sizes[self._names.index(dim_name)]

    def __getitem__(self, dim_name: str) -> int:
        return self.dim_size(dim_name)

    def contains_dim(self, dim_name: str) -> bool:
        """Return whether there is a direction of this name."""
        return dim_name in self._names

    def device_type(self) -> str:
        """The kind of the devices, as 'CPU'."""
        return self._devices[0].rpartition("/")[2].removeprefix("device:").partition(":")[0].upper()

    def local_devices(self) -> list[str]:
        """The names of the devices of this process."""
        return list(self._devices)

    def num_local_devices(self) -> int:
        """The number of devices of this process."""
        return len(self._devices)

    def local_device_ids(self) -> list[int]:
        """The numbers of the devices of this process, row by row."""
        return list(range(len(self._devices)))

    def global_device_ids(self) -> Any:
        """The numbers of all devices, in the grid."""
        return np.arange(len(self._devices)).reshape(self._sizes)

    def unravel_index(self) -> list[dict[str, int]]:
        """Where each device lies, by the names of the directions."""
        places = [np.unravel_index(i, self._sizes) for i in range(len(self._devices))]
        return [{n: int(at) for n, at in zip(self._names, found, strict=True)} for found in places]

    @functools.cached_property
    def jax_mesh(self) -> Any:
        """JAX's own mesh of these devices."""
        import jax

        cpus = len(list_logical_devices("CPU"))
        found = []
        for name in self._devices:
            kind, _, number = name.rpartition("/")[2].removeprefix("device:").partition(":")
            found.append(cpu_devices(cpus)[int(number or 0)] if kind.upper() == "CPU" else place(name))
        kinds = (jax.sharding.AxisType.Auto,) * len(self._names)
        made = jax.make_mesh(self._sizes, self._names, devices=found, axis_types=kinds)
        _meshes[made] = self
        return made


_meshes: dict[Any, Mesh] = {}  # by JAX's


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
        devices: the names of the devices; by default the first ones of their kind.
        device_type: their kind; CPU by default.
        use_xla_spmd: accepted: it is always so.

    Raises:
        ValueError: if there are not as many devices.

    >>> create_mesh([("batch", 1)]).dim_names
    ['batch']
    """
    there = [d.name for d in list_logical_devices((device_type or "CPU").upper())]
    names = there if devices is None else [str(d) for d in devices]
    pairs = [("x", len(names))] if mesh_dims is None else list(dict(mesh_dims).items())
    needed = math.prod(size for _, size in pairs)
    if devices is None and needed <= len(names):
        names = names[:needed]
    if needed != len(names):
        raise ValueError(
            f"create_mesh: {dict(pairs)} takes {needed} devices, and there are {len(names)}: "
            "tf.config.set_logical_device_configuration makes several CPUs of one"
        )
    return Mesh([name for name, _ in pairs], [size for _, size in pairs], names, mesh_name)


class Layout:
    """How each axis of a tensor is divided: along a direction of a mesh, or not at all.

    Args:
        sharding_specs: for each axis the name of a direction, or UNSHARDED.
        mesh: the mesh.

    Raises:
        ValueError: if a name is that of no direction, or appears twice.

    >>> mesh = create_mesh([("batch", 1)])
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

    def local_shape_from_global_shape(self, global_shape: Sequence[int]) -> list[int]:
        """The shape of each device's part."""
        return [n // self.num_shards(i) for i, n in enumerate(global_shape)]

    def global_shape_from_local_shape(self, local_shape: Sequence[int]) -> list[int]:
        """The shape of the tensor, for that of each device's part."""
        return [n * self.num_shards(i) for i, n in enumerate(local_shape)]

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
