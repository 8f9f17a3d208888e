"""PendingValues: the objects of a pass that is followed, and how its results get their values.

By a compiled program if all goes as expected; if it does not, as ever: the tapes then get their records, as well.
"""

from __future__ import annotations

import threading
from sys import getrefcount
from typing import Any

from ..compiled.buffers import on_device
from ..core.primitive import listeners, local
from ..core.tape import GradientTape
from ..core.tensor import Tensor, device_of
from ..core.variable import Variable
from ..engine.pending import PendingArray
from ..engine.reference_counts import RELIABLE
from .learning import UNSHARED
from .pass_events import Event
from .pass_replay import Replay
from .pass_trace import Trace
from .programs import Program

_array_of = Tensor.__dict__["_array"].__get__
_drop_array = Tensor.__dict__["_array"].__delete__


class PendingValues:
    """The objects of one pass by slot, and the position in its trace."""

    def __init__(self, trace: Trace) -> None:
        self._position = 0
        self._seen: list[Any] = []  # by slot
        self._before: dict[int, Tensor] = {}  # the values of variables before the pass, by slot
        self._early: dict[int, Tensor] = {}  # the same, where a program needed them before the pass read them
        self._variables: dict[int, Variable] = {}  # by slot
        self._values: dict[int, Tensor] = {}  # results that a program has computed, by slot
        self._tapes: list[GradientTape] = []
        self._reads: list[tuple[int, Variable]] = []  # that tapes would have been told of, and at which event
        self._over = False
        self._lock = threading.RLock()
        self._here = local.here
        self._use(trace)

    def _use(self, trace: Trace) -> None:
        self._trace = trace
        self._events: list[Event] = trace.with_end
        self._quick = trace.quick

    def _give_up(self, reason: str, learn: bool = False) -> None:
        """Compute all that was handed out as ever: there is no program."""
        raise NotImplementedError

    # -- by a program -------------------------------------------------------------------------------------------------

    def value_of(self, slot: int) -> Any:
        """The NumPy array of a result, computed now if it was not before."""
        with self._lock:
            tensor: Any = self._seen[slot] if self._seen else None
            if tensor is None or is_pending(tensor):
                mine = self._here is local.here and not self._over
                if not self._computed_by_program(self._ahead() if mine else self._position, {slot}):
                    if not mine:
                        return self._computed_by_hand(slot)
                    self._give_up("the trace cannot be compiled")
            return (self._values[slot] if tensor is None else tensor)._array

    def _ahead(self) -> int:
        """How many events can be computed now: up to one that needs something new."""
        end = self._trace.reach(self._position)
        if end > self._position:
            specs = self._trace.inputs(end)[len(self._trace.inputs(self._position)) :]
            if any(self._trace.variables[spec.slot]() is None for spec in specs):
                return self._position
        return end

    def _computed_by_program(self, end: int, wanted: set[int]) -> bool:
        """Compute what is wanted of the first `end` events; returns whether there is a program."""
        if self._trace.is_broken:
            return False
        try:
            self._run(end, wanted)
        except Exception as error:  # whatever JAX raises
            self._trace.is_broken = f"{type(error).__name__}: {error}"
            return False
        return True

    def _run(self, end: int, wanted: set[int]) -> None:
        """Run the program for the results that are wanted, and for those that passes like this one need."""
        trace = self._trace
        trace.wants(wanted)
        if end > self._position:
            self._read_early(end)
        program = trace.current.get(end)
        if program is None or not wanted <= program.covered:  # another thread may have wanted less
            outputs = tuple(sorted(slot for slot in trace.outputs if slot < trace.starts[end]))
            program = trace.programs.get((end, outputs))
            if program is None:
                variables = {slot: v for slot, r in trace.variables.items() if (v := r()) is not None}
                inputs = [self._input(spec.slot) for spec in trace.inputs(end)]
                program = trace.programs[end, outputs] = Program(trace, end, outputs, variables, inputs)
            trace.current[end] = program
        results = program([self._array(slot) for slot in program.slots])
        seen, values = self._seen, self._values
        for slot, result in zip(program.outputs, results, strict=True):
            if slot not in values:
                values[slot] = result
                if slot < len(seen) and seen[slot] is not None and is_pending(seen[slot]):
                    fill(seen[slot], result)

    def _read_early(self, end: int) -> None:
        """Read the variables that are first used by events to come."""
        for spec in self._trace.inputs(end):
            if spec.slot >= len(self._seen) and spec.slot not in self._early:
                variable: Any = self._trace.variables[spec.slot]()
                self._early[spec.slot] = value_on_device(variable)

    def _input(self, slot: int) -> Tensor:
        if slot in self._trace.variables:
            return self._before[slot] if slot in self._before else self._early[slot]
        tensor: Tensor = self._seen[slot]
        return tensor

    def _array(self, slot: int) -> Any:
        """The array of an input as JAX takes it: one that the last pass used as well stays on JAX's device."""
        tensor = self._input(slot)
        try:
            return device_of(tensor)
        except AttributeError:
            pass
        last = self._trace.last_inputs.get(slot)
        self._trace.last_inputs[slot] = id(tensor)
        return on_device(tensor) if last == id(tensor) else tensor._array

    def _in_use(self) -> set[int]:
        """The slots of results that something else holds, and that have no value yet."""
        seen = self._seen
        counts = map(getrefcount, seen)
        held = (
            [slot for slot, count in enumerate(counts) if count > UNSHARED] if RELIABLE else range(len(seen))
        )
        return {slot for slot in held if type(seen[slot]) is Tensor and is_pending(seen[slot])}

    def _let_go(self) -> None:
        """Keep of a pass that is finished what tapes may still ask for.

        Tensors without values, which nothing uses any more, refer to the pass, and would keep it alive.
        """
        seen, inputs = self._seen, [spec.slot for spec in self._trace.inputs(self._position)]
        needed = any(tape._pass is self for tape in self._tapes) or not RELIABLE
        counts = map(getrefcount, seen)
        kept: list[Any] = [
            x if needed and (count > UNSHARED or not RELIABLE) else None for x, count in zip(seen, counts)
        ]
        for slot in inputs:
            kept[slot] = seen[slot]
        self._seen = kept

    # -- as ever ------------------------------------------------------------------------------------------------------

    def _computed_by_hand(self, slot: int) -> Any:
        """The NumPy array of a result, for another thread, or after the pass: nothing else changes."""
        inputs = {spec.slot: self._input(spec.slot) for spec in self._trace.inputs(self._position)}
        held = {key: variable._tensor for key, variable in self._variables.items()}
        hot, local.here.hot = local.here.hot, None
        try:
            with listeners([], None):
                replay = Replay(self._trace, self._variables, inputs)
                replay.run(self._position)
        finally:
            local.here.hot = hot
            for key, variable in self._variables.items():
                variable._tensor = held[key]
        return replay.tensors[slot]._array

    def _replayed(self, finished: bool = False) -> list[Any]:
        """Run the events as ever, and return the listeners that are open then.

        After the pass is finished that gives tapes their records, and variables nothing.
        """
        here = local.here
        before, here.tapes = here.tapes, []
        tapes = [tape if tape._pass is self else GradientTape() for tape in self._tapes]
        for tape in self._tapes:
            if tape._pass is self:
                tape._pass = None
        held = {slot: variable._tensor for slot, variable in self._variables.items()}
        replay = _Restored(self._trace, self._variables, self._seen, self._before, tapes, self._reads)
        with self._lock:
            try:
                replay.run(self._position)
            finally:
                here.tapes, opened = before, here.tapes
        ours = set(map(id, self._seen))
        for slot, variable in self._variables.items():
            mine = not finished and id(held[slot]) in ours
            variable._tensor = replay.tensors[slot] if mine else held[slot]
        return opened


class _Restored(Replay):
    """A replay that gives the tensors of a pass their values and keys, and tapes their records."""

    def __init__(
        self,
        trace: Trace,
        variables: dict[int, Variable],
        seen: list[Any],
        before: dict[int, Tensor],
        tapes: list[GradientTape],
        reads: list[tuple[int, Variable]],
    ) -> None:
        outside = {spec.slot for spec in trace.inputs(len(trace.events))}
        given = {slot: x for slot, x in enumerate(seen) if slot in outside and type(x) is Tensor}
        super().__init__(trace, variables, given | before, tapes)
        self._seen = seen
        self._reads = reads

    def run(self, end: int) -> None:
        """Run so many events, and tell the tapes which variables were read in between."""
        waiting = self._reads[::-1]
        for i in range(end + 1):
            while waiting and waiting[-1][0] == i:
                _, variable = waiting.pop()
                for tape in local.here.tapes:
                    tape._on_read(variable)
            if i < end:
                self.step(self.trace.events[i])

    def result(self, slot: int, tensor: Tensor) -> None:
        """Give the tensor that was handed out the value of the one that was computed."""
        own = self._seen[slot]
        if own is None:  # nothing uses it
            self.tensors[slot] = tensor
            return
        own._key = tensor._key
        if is_pending(own):
            own._array.source = _Known(own)
            own._array = tensor._array
        self.tensors[slot] = own


class _Known:
    """The source of a pending array that others may hold, once the tensor it was made for has its value."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def value_of(self, slot: int) -> Any:
        """The NumPy array."""
        return self._tensor._array


def is_pending(tensor: Tensor) -> bool:
    """Return whether a tensor has no value yet."""
    try:
        return type(_array_of(tensor)) is PendingArray
    except AttributeError:  # compiled code's, of which there is no NumPy view yet
        return False


def value_on_device(variable: Variable) -> Tensor:
    """A variable's tensor, moved to JAX's device: eager code may write into NumPy's array."""
    tensor = variable._tensor
    try:
        device_of(tensor)
    except AttributeError:
        on_device(tensor)
        del tensor._both
        _drop_array(tensor)
        variable._tensor = tensor  # an optimizer's state gives a copy, and holds this one from now on
    return tensor


def fill(tensor: Tensor, result: Tensor) -> None:
    """Give a tensor the value of another, as compiled code has it."""
    if is_pending(tensor):
        tensor._array.source = _Known(tensor)
        _drop_array(tensor)
    try:
        tensor._device = device_of(result)
    except AttributeError:  # a constant of the program
        tensor._array = result._array
