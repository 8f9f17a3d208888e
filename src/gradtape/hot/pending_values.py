"""PendingValues: the objects of a pass that is followed, and how its results get their values.

By a compiled program if all goes as expected; if it does not, as ever: the tapes then get their records, as well.
"""

from __future__ import annotations

import threading
import weakref
from sys import getrefcount
from typing import Any

import numpy as np

from ..compiled.buffers import on_device
from ..core.pending_tensors import fill, is_pending
from ..core.primitive import listeners, local
from ..core.tape import GradientTape
from ..core.tensor import Tensor, array_of, device_of
from ..core.variable import Variable
from ..engine.pending import PendingArray, computed
from ..engine.reference_counts import RELIABLE
from .pass_events import Event
from .pass_replay import Replay
from .pass_trace import Trace
from .programs import Program

_UNSHARED = next(map(getrefcount, [object()]))  # the count of what only one list holds
_moving = threading.Lock()  # held while a variable's value is moved to JAX's device
_drop_array = Tensor.__dict__["_array"].__delete__


class PendingValues:
    """The objects of one pass by slot, and the position in its trace."""

    __slots__ = (
        "__weakref__",
        "_arrays",
        "_before",
        "_early",
        "_events",
        "_here",
        "_lock",
        "_over",
        "_pairs",
        "_position",
        "_reads",
        "_seen",
        "_singles",
        "_tapes",
        "_trace",
        "_values",
        "_variables",
    )

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._events: list[Event] = trace.with_end
        self._singles = trace.quick.singles
        self._pairs = trace.quick.pairs
        self._position = 0
        # By slot, with the tensors from outside of the last pass; after the last slot, the numbers: see `QuickEvents`.
        self._seen: list[Any] = trace.quick.blank[:]
        for slot, reference in [*trace.outside.items()]:  # another thread may change them
            self._seen[slot] = reference()
        self._before: dict[int, Tensor] = {}  # the values of variables before the pass, by slot
        self._early: dict[int, Tensor] = {}  # the same, where a program needed them before the pass read them
        self._variables: dict[int, Variable] = {}  # by slot
        self._values: dict[int, Any] = {}  # arrays of results that a program has computed, by slot
        self._tapes: list[weakref.ref[GradientTape]] = []
        self._reads: list[tuple[int, Variable]] = []  # that tapes would have been told of, and at which event
        self._arrays: list[Any] = []  # without values, of results that somebody has asked for their shapes
        self._over = False
        self._lock = threading.RLock()
        self._here = local.here

    def _use(self, trace: Trace) -> None:
        """Go on with another trace, which began as this one did."""
        count = self._trace.starts[self._position]
        self._trace = trace
        self._events = trace.with_end
        self._singles, self._pairs = trace.quick.singles, trace.quick.pairs
        if self._values:
            self._look_closely()
        self._seen = self._seen[:count] + trace.quick.blank[count:]

    def _look_closely(self) -> None:
        """Take no event for a common one: results that have values already are handed out with them."""
        self._singles, self._pairs = self._trace.quick.no_singles, self._trace.quick.no_pairs

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
                if not self._computed_by_program(self._ahead() if mine else self._position, [slot]):
                    if not mine:
                        return self._computed_by_hand(slot)
                    self._give_up("the trace cannot be compiled")
            return np.asarray(self._values[slot]) if tensor is None else tensor._array

    def _ahead(self) -> int:
        """How many events can be computed now: up to one that needs something new."""
        end = self._trace.reach(self._position)
        if end > self._position:
            specs = self._trace.inputs(end)[len(self._trace.inputs(self._position)) :]
            if any(self._trace.variables[spec.slot]() is None for spec in specs):
                return self._position
        return end

    def _computed_by_program(self, end: int, wanted: list[int]) -> bool:
        """Compute what is wanted of the first `end` events; returns whether there is a program."""
        if self._trace.is_broken:
            return False
        try:
            with self._lock:
                self._run(end, wanted)
        except Exception as error:  # whatever JAX raises
            self._trace.is_broken = f"{type(error).__name__}: {error}"
            return False
        return True

    def _run(self, end: int, wanted: list[int]) -> None:
        """Run the program for the results that are wanted, and for those that passes like this one need."""
        trace = self._trace
        trace.wants(wanted)
        if end > self._position:
            self._read_early(end)
        program = trace.current.get(end)
        if program is None or not program.covered.issuperset(wanted):  # another thread may have wanted less
            program = trace.current[end] = self._program(end)
        arrays = []
        before, seen = self._before, self._seen
        for slot, is_variable in program.inputs:
            if not is_variable:
                tensor = seen[slot]
            else:
                tensor = before[slot] if slot in before else self._early[slot]
            try:
                arrays.append(device_of(tensor))
            except AttributeError:
                arrays.append(self._moved(slot, tensor))
        values, count = self._values, trace.starts[self._position]
        for slot, result in zip(program.outputs, program(arrays), strict=True):
            if slot not in values:
                values[slot] = result
                if slot < count and seen[slot] is not None and is_pending(seen[slot]):
                    fill(seen[slot], result)
        trace.runs += 1
        self._look_closely()

    def _program(self, end: int) -> Program:
        """The program for the results that passes like this one need of the first `end` events, made now if need be."""
        trace = self._trace
        outputs = tuple(sorted(slot for slot in trace.outputs if slot < trace.starts[end]))
        program: Program | None = trace.programs.get((end, outputs))
        if program is None:
            variables = {slot: v for slot, r in trace.variables.items() if (v := r()) is not None}
            inputs = [self._input(spec.slot) for spec in trace.inputs(end)]
            program = trace.programs[end, outputs] = Program(trace, end, outputs, variables, inputs)
        return program

    def _read_early(self, end: int) -> None:
        """Read the variables that are first used by events to come."""
        count = self._trace.starts[self._position]
        for spec in self._trace.inputs(end):
            if spec.slot >= count and spec.slot not in self._early:
                variable: Any = self._trace.variables[spec.slot]()
                self._early[spec.slot] = value_on_device(variable)

    def _value_before(self, slot: int) -> Tensor:
        """The value of a variable before the pass."""
        return self._before[slot] if slot in self._before else self._early[slot]

    def _input(self, slot: int) -> Tensor:
        if slot in self._trace.variables:
            return self._value_before(slot)
        tensor: Tensor = self._seen[slot]
        return tensor

    def _moved(self, slot: int, tensor: Tensor) -> Any:
        """The array of an input as JAX takes it: one that the last pass used as well stays on JAX's device."""
        last = self._trace.outside.get(slot)
        if last is not None and last() is tensor:
            return on_device(tensor)
        self._trace.came_from_outside(slot, tensor)
        return tensor._array

    def _let_go(self, held: list[int]) -> None:
        """Keep of a pass whose results are computed what tapes, or arrays without their tensors, may still ask for.

        Tensors without values, which nothing uses any more, refer to the pass, and would keep it alive.
        """
        seen = self._seen
        kept: list[Any] = [None] * len(seen)
        tapes_may_ask = not RELIABLE
        for reference in self._tapes:
            tapes_may_ask = tapes_may_ask or self._answers_for(reference())
        if tapes_may_ask:
            for slot in held:
                kept[slot] = seen[slot]
        for slot in self._trace.input_slots(self._position):
            kept[slot] = seen[slot]
        self._seen = kept
        del seen
        if not tapes_may_ask and max(map(getrefcount, self._arrays), default=0) <= _UNSHARED:
            self._seen = []
            self._before, self._early, self._values, self._variables, self._reads = {}, {}, {}, {}, []
        self._arrays = []

    def _answers_for(self, tape: GradientTape | None) -> bool:
        """Return whether a tape has no records, because this pass answers for it."""
        return tape is not None and tape._pass is self

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
        tapes = [
            tape if self._answers_for(tape) else None for tape in [reference() for reference in self._tapes]
        ]
        for tape in tapes:
            if tape is not None:
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
        tapes: list[GradientTape | None],
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
            fill(own, tensor._array)
        self.tensors[slot] = own


def own_result(source: Any, tensor: Tensor) -> Tensor:
    """The tensor that a pass has handed out, for another that shares its array without a value; else the tensor."""
    array = array_of(tensor)
    if type(array) is PendingArray and array.source is source:
        handed: Tensor = source._seen[array.slot]
        return handed
    return tensor


def computed_copy(tensor: Tensor) -> None:
    """Compute the value of a tensor from outside that shares the array of a result, or is one of another pass."""
    array = array_of(tensor)
    if type(array) is PendingArray:
        tensor._array = array.value()


def value_on_device(variable: Variable) -> Tensor:
    """A variable's tensor, moved to JAX's device: eager code may write into NumPy's array."""
    tensor = variable._tensor
    if _has_device(tensor):
        return tensor
    computed(tensor._array)  # if it is pending, before the lock: that may take a while, and other locks
    with _moving:
        if not _has_device(tensor):  # else it was computed on the device, or another thread has moved it
            on_device(tensor)
            del tensor._both
            _drop_array(tensor)
            variable._tensor = tensor  # an optimizer's state gives a copy, and holds this one from now on
    return tensor


def _has_device(tensor: Tensor) -> bool:
    """Return whether a tensor has an array on JAX's device."""
    try:
        device_of(tensor)
    except AttributeError:
        return False
    return True
