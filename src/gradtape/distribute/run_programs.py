"""RunProgram: the events that replicas have noted, as one SPMD program over the mesh, and its inputs and results."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..compiled.buffers import from_device, on_device_tensor, store, writing
from ..compiled.executable import Executable
from ..compiled.function_graph import FunctionGraph
from ..compiled.spmd import placed, replicated
from ..core.primitive import listeners, local
from ..core.tensor import Tensor, array_of, device_of, wrap
from ..core.variable import Variable
from ..hot.pass_events import NewVariable
from ..hot.pass_trace import Trace
from ..hot.pending_tensors import fill, is_pending
from .per_replica import PerReplica
from .replica_events import ReplicaReplay
from .replica_passes import ReplicaFollower
from .replicas_in_program import run_in_program, stacked_on

_LARGE = 1 << 16  # bytes


class RunProgram:
    """A trace compiled for all replicas of a mesh: gradients, sums over replicas and updates are inside.

    Args:
        strategy: whose replicas run.
        mesh: JAX's, of all devices.
        trace: the events of each replica.
        inputs: the tensors that the program takes.
        arrays: those of one call.
        outputs: the slots of the results that are wanted.
    """

    def __init__(
        self,
        strategy: Any,
        mesh: Any,
        trace: Trace,
        inputs: RunInputs,
        arrays: list[Any],
        outputs: tuple[int, ...],
    ) -> None:
        self._mesh, self._devices = mesh, frozenset(mesh.devices.flat)
        self._outputs = outputs
        variables: dict[int, Any] = {slot: reference() for slot, reference in trace.variables.items()}
        written: list[Variable] = []

        def one(*tensors: Tensor) -> list[Tensor]:
            replay = ReplicaReplay(trace, variables, inputs.tensors(list(tensors)))
            replay.run(len(trace.events))
            return [wrap(replay.tensors[slot]._array) for slot in outputs]

        def run(tensors: list[Tensor]) -> Any:
            results = run_in_program(strategy, mesh, one, inputs.as_arguments(tensors), {})
            written[:] = local.here.trace.written.values()
            return results, [v._read() for v in written]

        with listeners([], None):
            graph = FunctionGraph("run", run, [from_device(a) for a in arrays], may_create=False)
            executable = Executable(graph, pure=True)
        self._compiled = executable.compiled
        self._constants, self._precision = executable.constants, executable.precision
        # Programs are kept for functions that are called again, and keep no variables alive.
        self._read = [weakref.ref(v) for v in executable.read_only]
        self._written = [weakref.ref(v) for v in written]
        executable.read_only = [SimpleNamespace(_key=v._key) for v in executable.read_only]  # type: ignore[misc]
        graph.reads, graph.written = {}, []
        del executable.execute, executable.execute_fast

    def __call__(self, arrays: list[Any]) -> dict[int, Any]:
        """Run the program, store what it assigns, and return the results by slot, with a row for each replica."""
        with writing:
            values = [self._value(reference()) for reference in self._read]
        with self._precision():
            results = self._compiled(*values, *self._constants, *arrays)
        count = len(self._outputs)
        with writing:
            store([v for reference in self._written if (v := reference()) is not None], results[count:])
        return dict(zip(self._outputs, results[:count], strict=True))

    def _value(self, variable: Any) -> Any:
        """The array of a variable, on all devices. It stays there: the next call finds it."""
        array = device_of(on_device_tensor(variable))
        on_mesh = placed(array, self._mesh, self._devices)
        if on_mesh is not array:
            variable._tensor = from_device(on_mesh, variable._key)
        return on_mesh


class RunInputs:
    """The tensors from outside that the programs of a trace take, and how they are passed.

    By "rows": a `PerReplica` argument of the call, which lies on the devices. As "one": a large tensor that is the very
    same in all replicas and calls; it stays on the devices. All others are "packed" into one array for each dtype: to
    put an array on several devices takes longer than to compute with a small one.
    """

    def __init__(self, trace: Trace, mesh: Any) -> None:
        specs = trace.inputs(len(trace.events))
        self._shapes = {s.slot: getattr(s, "shape", ()) for s in specs if not isinstance(s, NewVariable)}
        self._types = {slot: np.dtype(s.dtype) for s in specs if (slot := s.slot) in self._shapes}
        self._mesh = mesh
        # What is one object here may be another in other processes.
        self._is_alone = len({device.process_index for device in mesh.devices.flat}) == 1
        self._kinds: dict[int, str] = {}
        self._placed: dict[int, tuple[weakref.ref[Tensor], Any]] = {}  # those that are one, by slot

    @property
    def key(self) -> Any:
        """Tells apart how programs are passed their inputs."""
        return tuple(self._kinds.items())

    def arrays(
        self, members: Sequence[ReplicaFollower], rows: dict[int, tuple[PerReplica, int]]
    ) -> list[Any]:
        """The arrays of a call; `rows` are the rows of its `PerReplica` arguments, by the id of the tensor."""
        given = {slot: [member._seen[slot] for member in members] for slot in self._shapes}
        whole = {slot: _whole(tensors, rows) for slot, tensors in given.items()}
        for slot, tensors in given.items():
            kind = self._kind(slot, tensors, whole[slot])
            if self._kinds.get(slot) != "packed":  # else one program would follow the other
                self._kinds[slot] = kind
        single = [
            array_of(whole[slot].stacked) if kind == "rows" else self._placed[slot][1]
            for slot, kind in self._kinds.items()
            if kind != "packed"
        ]
        return [*single, *[self._pack([given[slot] for slot in slots]) for slots in self._packs()]]

    def _kind(self, slot: int, tensors: list[Tensor], whole: PerReplica | None) -> str:
        if whole is not None:
            return "rows"
        first = tensors[0]
        if not self._is_alone or first._array.nbytes < _LARGE or any(t is not first for t in tensors):
            return "packed"
        known = self._placed.get(slot)
        if known is None:
            self._placed[slot] = weakref.ref(first), replicated(first._array, self._mesh)
        return "one" if known is None or known[0]() is first else "packed"

    def _packs(self) -> list[list[int]]:
        """The slots of those that are packed, for each dtype."""
        found: dict[str, list[int]] = {}
        for slot, kind in self._kinds.items():
            if kind == "packed":
                found.setdefault(self._types[slot].name, []).append(slot)
        return list(found.values())

    def _pack(self, tensors: list[list[Tensor]]) -> Any:
        own = range(len(tensors[0]))
        return stacked_on(self._mesh, [np.concatenate([t[i]._array.ravel() for t in tensors]) for i in own])

    def tensors(self, arrays: list[Tensor]) -> dict[int, Tensor]:
        """The tensors of a replica by slot, for its parts of the arrays."""
        remaining = iter(arrays)
        found = {slot: next(remaining) for slot, kind in self._kinds.items() if kind != "packed"}
        for slots, packed in zip(self._packs(), remaining, strict=True):
            start = 0
            for slot in slots:
                shape = self._shapes[slot]
                end = start + prod(shape)
                found[slot], start = wrap(packed._array[start:end].reshape(shape)), end
        return found

    def as_arguments(self, tensors: list[Tensor]) -> list[Any]:
        """Those that have a row for each replica, as `PerReplica`, and the others."""
        kinds = [kind for kind in self._kinds.values() if kind != "packed"]
        return [
            t if i < len(kinds) and kinds[i] == "one" else PerReplica.of(t) for i, t in enumerate(tensors)
        ]


def _whole(tensors: list[Tensor], rows: dict[int, tuple[PerReplica, int]]) -> Any:
    """The argument whose rows the replicas have; None if they have other tensors."""
    known = [rows.get(id(t)) for t in tensors]
    first = known[0]
    if first is None or any(k is None or k[0] is not first[0] or k[1] != i for i, k in enumerate(known)):
        return None
    return first[0]


def give_rows(member: ReplicaFollower, held: set[int], row: int, results: dict[int, Any]) -> None:
    """Give the tensors of a replica that something holds their values."""
    with member._lock:  # a thread of the program's own may look at one now
        for slot in held:
            tensor = member._seen[slot]
            if is_pending(tensor):
                fill(tensor, row_of(results[slot], row)._array)


def row_of(stacked: Any, row: int) -> Tensor:
    """The value of a replica of this process, of those of all."""
    own = stacked.addressable_shards[row].data  # on the replica's device, with an axis of length 1 in front
    return wrap(np.asarray(own).reshape(stacked.shape[1:]))


def program_for(strategy: Any, mesh: Any, trace: Trace, inputs: RunInputs, arrays: list[Any]) -> RunProgram:
    """The program of a trace for the results that are wanted of it, compiled now if there is none."""
    outputs = tuple(sorted(trace.outputs))
    key = outputs, inputs.key
    program: RunProgram | None = trace.programs.get(key)
    if program is None:
        program = trace.programs[key] = RunProgram(strategy, mesh, trace, inputs, arrays, outputs)
    return program
