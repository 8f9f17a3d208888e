"""JAX's meshes: the devices of a strategy, in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..engine.devices import cpu_devices, list_logical_devices, place

AXIS = "replica"  # as `compiled.spmd` names it


def mesh_of_devices(names: Sequence[str]) -> Any:
    """A mesh of the devices with these names.

    Raises:
        RuntimeError: if JAX has started, and knows fewer devices.
    """
    cpus = len(list_logical_devices("CPU"))
    devices = []
    for name in names:
        kind, _, number = name.rpartition("device:")[2].partition(":")
        devices.append(cpu_devices(cpus)[int(number)] if kind == "CPU" else place(name))
    return mesh_of(devices)


def mesh_of(devices: Sequence[Any]) -> Any:
    """A mesh of JAX's devices, in a row."""
    import jax

    kind = jax.sharding.AxisType.Auto
    return jax.make_mesh((len(devices),), (AXIS,), devices=devices, axis_types=(kind,))
