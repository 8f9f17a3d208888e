"""The replicas of a compiled program: one trace stands for all of them, and JAX's collectives connect them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ..compiled.spmd import AXIS, first_of_all, run_on_mesh
from ..core import nest
from ..core.primitive import local
from ..core.replicas import VariableAggregation
from ..core.tensor import Tensor, wrap
from .collectives import gathered, reduced, spread_rows
from .contexts import entered
from .per_replica import PerReplica
from .reductions import ReduceOp
from .replica import ReplicaContext
from .several import SeveralReplicas


class ProgramExchange:
    """How a replica of a compiled program exchanges arrays: by JAX's collectives."""

    offered: Any = None

    def __init__(self, count: int, number: Tensor) -> None:
        self.count = count
        self._number = number

    def sum(self, array: Any) -> Any:
        """The sum over all replicas."""
        return jax.lax.psum(array, AXIS)

    def first(self, array: Any) -> Any:
        """The first replica's array."""
        return first_of_all(array)

    def gather(self, array: Any, axis: int) -> Any:
        """The arrays of all replicas, joined along an axis."""
        return jax.lax.all_gather(array, AXIS, axis=axis, tiled=True)

    def part(self, array: Any, axis: int, length: int) -> Any:
        """This replica's part of a gathered array."""
        start = jax.lax.axis_index(AXIS) * length
        return jax.lax.dynamic_slice_in_dim(array, start, length, axis)

    def spread(self, array: Any, axis: int, whole: int) -> Any:
        """Zeros of a gathered array, with this replica's part in place."""
        return spread_rows(array, axis, whole, jax.lax.axis_index(AXIS) * array.shape[axis])


class InProgram(PerReplica):
    """A value of the replica that is traced, seen from across replicas, in a merge_call."""

    __slots__ = ("own",)

    def __init__(self, own: Any) -> None:
        self.own = own
        self._values = None
        self._stacked = None

    @property
    def values(self) -> tuple[Any, ...]:
        """The value of each replica, gathered from all."""
        if self._values is None:
            array = jax.lax.all_gather(self.own._array, AXIS)
            self._values = tuple(wrap(array[i]) for i in range(array.shape[0]))
        return self._values


class ReplicaInProgram(SeveralReplicas, ReplicaContext):
    """A replica that is traced for all of them."""

    def __init__(self, strategy: Any, number: Tensor) -> None:
        super().__init__(strategy, number)
        self._exchange = ProgramExchange(strategy.num_replicas_in_sync, number)

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of the replica, from 0 on, as a tensor."""
        return self._replica_id

    def _merged(self, merge_fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        args, kwargs = nest.map_structure(_seen_from_across, (tuple(args), dict(kwargs)))
        with entered(self._strategy, None, self):
            result = merge_fn(self._strategy, *args, **kwargs)
        return nest.map_structure(lambda leaf: leaf.own if isinstance(leaf, InProgram) else leaf, result)

    def once(self, update: Callable[[], Any]) -> Any:
        """Call a function that updates variables alike in every replica."""
        here = local.here
        here.replica, before = None, here.replica
        try:
            return update()
        finally:
            here.replica = before

    alike = once

    def _merged_alike(self, merge_fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function that updates variables alike in every replica, whose arguments are the same."""
        return merge_fn(self._strategy, *args, **kwargs)

    def aggregate(self, policy: VariableAggregation, own: Tensor) -> Tensor:
        """The aggregate of the values that replicas have of a variable, in a merge_call."""
        with entered(self._strategy, self):
            return wrap(self._together(policy, own._array))

    def across(self, op: ReduceOp | None, value: Any, axis: Any = None) -> Any:
        """`Strategy.reduce`, or for no operation `gather`, of a value in a merge_call."""
        with entered(self._strategy, self):
            return reduced(op, value.own) if op is not None else gathered(value.own, axis)


def _seen_from_across(leaf: Any) -> Any:
    return InProgram(leaf) if type(leaf) is Tensor else leaf


def run_in_program(strategy: Any, mesh: Any, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Trace `fn` as a part of the present program that runs in every replica. Returns `PerReplica` for tensors."""
    leaves = nest.flatten((args, kwargs))
    inputs = [leaf.stacked for leaf in leaves if isinstance(leaf, PerReplica)]

    def one(number: Tensor, *rows: Tensor) -> Any:
        remaining = iter(rows)
        own = [next(remaining) if isinstance(leaf, PerReplica) else leaf for leaf in leaves]
        own_args, own_kwargs = nest.pack_sequence_as((args, kwargs), own)
        return fn(*own_args, **own_kwargs)

    found = run_on_mesh("run", mesh, one, inputs, inside=lambda number: ReplicaInProgram(strategy, number))
    return found.pack([PerReplica.of(t) for t in found.tensors])


def copies_on(mesh: Any, arrays: Sequence[Any]) -> Any:
    """One array of which each device of a mesh has another copy: those of this process's replicas."""
    from jax.sharding import NamedSharding, PartitionSpec

    own = [d for d in mesh.devices.flat if d.process_index == jax.process_index()]
    with jax.enable_x64(True):
        parts = [jax.device_put(np.asarray(a), d) for a, d in zip(arrays, own, strict=True)]
        return jax.make_array_from_single_device_arrays(
            parts[0].shape, NamedSharding(mesh, PartitionSpec()), parts
        )


def stacked_on(mesh: Any, arrays: Sequence[Any]) -> Any:
    """Arrays of one shape, those of this process's replicas, as one array with a row on each device of a mesh."""
    from jax.sharding import NamedSharding, PartitionSpec

    sharding = NamedSharding(mesh, PartitionSpec(AXIS))
    with jax.enable_x64(True):
        if sharding.is_fully_addressable:
            rows = arrays if isinstance(arrays, np.ndarray) else np.stack(arrays)
            return jax.device_put(rows, sharding)
        own = [d for d in mesh.devices.flat if d.process_index == jax.process_index()]
        parts = [jax.device_put(np.asarray(a)[None], d) for a, d in zip(arrays, own, strict=True)]
        shape = (mesh.shape[AXIS], *parts[0].shape[1:])
        return jax.make_array_from_single_device_arrays(shape, sharding, parts)
