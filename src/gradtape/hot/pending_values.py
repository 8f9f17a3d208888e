"""PendingValues: the objects of a pass that is followed, and how its results get their values.

By a compiled program if all goes as expected; if it does not, as ever: the tapes then get their records, as well.
"""

from __future__ import annotations

import weakref
from _thread import RLock
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np
from numpy import ndarray

from ..core.pending_tensors import create_missing_arrays, fill, is_pending
from ..core.primitive import listeners, local
from ..core.tape import GradientTape
from ..core.tensor import Tensor, array_of, device_of
from ..core.variable import Variable
from ..engine.reference_counts import RELIABLE
from .array_code import ArrayProgram, Unfit
from .pass_events import Event
from .pass_replay import Replay
from .pass_tensors import value_in_memory, value_on_device
from .pass_trace import SmallInput, Trace
from .programs import PassProgram

_numpy_of = Tensor.__dict__["_array"].__get__
_UNSHARED = next(map(getrefcount, [object()]))  # the count of what only one list holds

create_missing_arrays()


class PendingValues:
    """The objects of one pass by slot, and the position in its trace.

    Args:
        trace: the expected events.
        traces: all traces of the place in the code, for another path.
    """

    __slots__ = (
        "__weakref__",
        "_arrays",
        "_asked",
        "_asks",
        "_assigns",
        "_blank",
        "_by_numpy",
        "_counted",
        "_end",
        "_events",
        "_expected_ids",
        "_here",
        "_ids",
        "_is_complete",
        "_last",
        "_listening",
        "_lock",
        "_open",
        "_optimizers",
        "_over",
        "_pairs",
        "_position",
        "_read",
        "_reads",
        "_ready_at",
        "_seen",
        "_singles",
        "_small",
        "_tapes",
        "_trace",
        "_traces",
        "_value_at",
        "_values",
        "_variables",
    )
    notes_custom = False

    # All that a pass starts with is set here: each `__init__` of a class more takes 0.15 us of some 20.
    def __init__(self, trace: Trace, traces: list[Trace]) -> None:
        self._traces = traces
        self._expect(trace)
        self._by_numpy = trace.by_numpy
        self._listening: list[Any] = []  # a list of its own, by which it is known: see `operation1`
        self._lock = RLock()
        self._here = local.here
        self._position = 0
        # Objects by slot; after the last slot the values of variables before the pass, and numbers: see `QuickEvents`.
        self._seen: list[Any] = trace.expected()
        self._variables: dict[int, Variable] = {}  # whose values were read, by slot
        if self._by_numpy:
            self._read_from_memory()
        self._values: dict[int, Any] = {}  # arrays of results that a program has computed, by slot
        self._tapes: list[weakref.ref[GradientTape]] = []
        self._reads: list[tuple[int, Variable]] = []  # that tapes would have been told of, and at which event
        self._arrays: list[Any] = []  # without values, of results that somebody has asked for their shapes
        self._small: dict[int, SmallInput] = {}  # copies of small tensors that the pass was given, or may be
        self._over = False
        self._is_complete = False  # whether all has happened and is computed
        self._read: dict[int, Variable] = {}  # by key
        self._counted = 0  # of the objects in `_seen`, those that `_ids` has: see `_is_seen`
        self._ids: set[int]
        self._expected_ids: set[int]  # of tensors from outside that the pass began with
        self._open: list[GradientTape] = []
        self._asked: set[int] = set()  # the numbers of tapes
        self._optimizers: list[Any] = []  # the trace itself does not keep them alive

    def _expect(self, trace: Trace) -> None:
        """Expect the events of a trace."""
        self._trace = trace
        self._events: list[Event] = trace.with_end
        self._end = len(trace.events)
        self._last = trace.last
        quick = trace.quick
        self._blank = quick.blank
        self._singles, self._pairs, self._value_at = quick.singles, quick.pairs, quick.value_at
        self._assigns, self._asks = quick.assigns, quick.asks
        self._ready_at = trace.ready_at  # the position at which to start the program; -1 if it was started

    def _use(self, trace: Trace) -> None:
        """Go on with another trace, which began as this one did."""
        count = self._trace.starts[self._position]
        self._trace.straight = 0
        trace.renewed += 4  # which takes about as long
        self._counted = 0
        with self._lock:  # another thread may look
            self._forget_variables(count)
            values = {slot: self._seen[self._value_at[slot]] for slot in self._variables}
            self._expect(trace)
            seen = self._seen[:count]
            ids = {id(x) for x in seen if type(x) is Tensor}  # which come no more as tensors from outside
            seen += [None if id(x) in ids else x for x in trace.expected()[count:]]
            for slot, value in values.items():
                seen[self._value_at[slot]] = value
            self._seen = seen
        if self._by_numpy:
            self._read_from_memory()

    def _give_up(self, reason: str, learn: bool = False) -> None:
        """Compute all that was handed out as ever: there is no program."""
        raise NotImplementedError

    def _computed_as_usual(self, slot: int) -> bool:
        """Compute a result with all others of the pass, if it has gone as passes go; returns whether it has."""
        raise NotImplementedError

    # -- by a program -------------------------------------------------------------------------------------------------

    def value_of(self, slot: int) -> Any:
        """The NumPy array of a result, computed now if it was not before.

        None if the pass has ended since another thread asked: the tensor has its value then.
        """
        self.read_ahead(slot)
        with self._lock:
            if not self._seen and slot not in self._values:
                return None
            tensor: Any = self._seen[slot] if self._seen else None
            if tensor is not None and not is_pending(tensor):
                return tensor._array
            if slot not in self._values:
                mine = self._here is local.here and not self._over
                if not (mine and self._computed_as_usual(slot)) and not self._computed_by_program(
                    self._ahead() if mine else self._position, [slot]
                ):
                    if not mine or tensor is None:
                        return self._computed_by_hand(slot)
                    self._give_up("the trace cannot be compiled")
                    return tensor._array
            if tensor is None:
                return np.asarray(self._values[slot])
            fill(tensor, self._values[slot])
            return tensor._array

    def read_ahead(self, slot: int) -> None:
        """Read the variables that a result may be computed from, before that holds the lock of this pass.

        A variable's value may have to wait for a pass of another thread, which may be waiting for this one.
        """
        if self._here is local.here and not self._over and slot not in self._values:
            self._read_early(self._trace.reach(self._position))

    def _ahead(self) -> int:
        """How many events can be computed now: up to one that needs something new."""
        position, trace = self._position, self._trace
        end = trace.reach(position)
        is_known = end == position or (trace.settings_hold(position, end) and self._read_early(end))
        return end if is_known else position

    def _computed_by_program(self, end: int, wanted: list[int]) -> bool:
        """Compute what is wanted of the first `end` events; returns whether there is a program."""
        trace = self._trace
        if trace.is_broken:
            return False
        try:
            with self._lock:
                trace.wants(wanted)
                program = trace.current.get(end)
                # Another thread may have wanted less.
                if program is None or not program.covered.issuperset(wanted):
                    program = trace.current[end] = self._program(end)
                self._run(program)
        except Unfit as error:  # the next passes are compiled
            trace.unfit = str(error)
            return False
        except Exception as error:  # whatever JAX raises
            trace.is_broken = f"{type(error).__name__}: {error}"
            return False
        return True

    def _run(self, program: Any) -> None:
        """Start a program. XLA may compute its results while Python goes on."""
        arrays = []
        seen, value_at = self._seen, self._value_at
        if self._by_numpy:
            for slot, is_variable in program.inputs:
                if is_variable:
                    arrays.append(seen[value_at[slot]]._array)
                else:
                    tensor = seen[slot]
                    arrays.append(tensor._array)
                    last = self._trace.outside.get(slot)
                    if last is None or last() is not tensor:
                        self._trace.came_from_outside(slot, tensor, self._small.get(slot))
        else:
            for slot, is_variable in program.inputs:
                if is_variable:
                    arrays.append(device_of(seen[value_at[slot]]))
                else:
                    arrays.append(self._from_outside(slot, seen[slot], program.on_device))
        # Those that were handed out already stay as they are.
        self._values = dict(zip(program.outputs, program(arrays), strict=True)) | self._values
        self._trace.runs += 1

    def _guess(self) -> None:
        """At the beginning, start the program for the tensors that the last pass was given, if they are likely."""
        trace, seen = self._trace, self._seen
        if trace.can_guess and (trace.steady >= trace.sure or not trace.tensor_slots):
            for slot in trace.tensor_slots:
                if seen[slot] is None:
                    if slot not in trace.small:
                        return
                    self._small[slot] = trace.small[slot]
            self._launch()

    def _launch(self) -> None:
        """Start the program of the whole pass before its end, while Python goes on."""
        trace = self._trace
        program = trace.current.get(len(trace.events))
        if self._by_numpy or program is None or trace.straight < trace.sure or trace.is_broken:
            return
        if not self._read_early(len(trace.events)):
            return
        self._ready_at = -1
        try:
            with self._lock:
                self._run(program)
        except Exception as error:  # whatever JAX raises
            trace.is_broken = f"{type(error).__name__}: {error}"

    def _drop_ahead(self) -> None:
        """Forget what was computed of events to come: something else came from outside than was expected."""
        self._ready_at = self._trace.ready_at
        self._small = {}
        if self._values:
            start = self._trace.starts[self._position]
            self._values = {slot: value for slot, value in self._values.items() if slot < start}

    def _program(self, end: int) -> PassProgram:
        """The program for the results that passes like this one need of the first `end` events, made now if need be."""
        trace = self._trace
        outputs = tuple(sorted(slot for slot in trace.outputs if slot < trace.starts[end]))
        program: PassProgram | None = trace.programs.get((end, outputs))
        if program is None:
            variables = {slot: v for slot, r in trace.variables.items() if (v := r()) is not None}
            inputs = [self._input(spec.slot) for spec in trace.inputs(end)]
            make: Any = ArrayProgram if self._by_numpy else _compiled_program()
            program = trace.programs[end, outputs] = make(trace, end, outputs, variables, inputs)
        return program

    def _read_early(self, end: int) -> bool:
        """Read the variables that events to come use first; returns False if one is gone, or has another shape."""
        for spec, reference in self._trace.variables_of(end):
            slot = spec.slot
            if slot not in self._variables:
                variable = reference()
                if variable is None:
                    return False
                value = self._value_before(variable)
                if not spec.is_fixed and tuple(array_of(value).shape) != spec.shape:
                    return False
                self._seen[slot] = self._variables[slot] = variable
                self._seen[self._value_at[slot]] = value
        return True

    def _read_from_memory(self) -> None:
        """Read the variables of events to come, of those whose shapes stay, where NumPy has their values."""
        seen, variables = self._seen, self._variables
        for slot, at in self._trace.fixed_variables:
            variable = seen[slot]
            if variable is not None and slot not in variables:
                tensor = variable._tensor
                try:
                    array = _numpy_of(tensor)
                except AttributeError:  # on JAX's device alone, or without a value
                    continue
                if type(array) is ndarray:
                    seen[at] = tensor
                    variables[slot] = variable

    def _forget_variables(self, start: int) -> None:
        """Take back the values of variables in these slots and later ones, which were read early."""
        for slot in [slot for slot in self._variables if slot >= start]:
            del self._variables[slot]
            self._seen[self._value_at[slot]] = None

    def _value_before(self, variable: Variable) -> Tensor:
        """The value of a variable that the pass uses first, where its programs take it from."""
        return value_in_memory(variable) if self._by_numpy else value_on_device(variable)

    def _input(self, slot: int) -> Tensor:
        tensor: Tensor = self._seen[self._value_at.get(slot, slot)]
        return tensor

    def _from_outside(self, slot: int, tensor: Tensor | None, on_device: Callable[[Tensor], Any]) -> Any:
        """The array of an input as JAX takes it: one that the last pass used as well stays on JAX's device.

        Any other is given as it is: to put the labels of a minibatch on the device takes 15 us.
        """
        trace = self._trace
        small: Any = self._small.get(slot)
        if tensor is None:  # a small one that is expected again
            return on_device(small.tensor)
        last = trace.outside.get(slot)
        if last is not None and last() is tensor:
            return on_device(tensor)
        comes_again = small is not None and trace.small.get(slot) is small
        trace.came_from_outside(slot, tensor, small)
        return on_device(small.tensor) if comes_again else array_of(tensor)

    def _let_go(self, held: list[int]) -> None:
        """Keep of a pass whose results are computed what tapes, or arrays without their tensors, may still ask for.

        Tensors without values, which nothing uses any more, refer to the pass, and would keep it alive.
        """
        tapes_may_ask = not RELIABLE
        for reference in self._tapes:
            tapes_may_ask = tapes_may_ask or self._answers_for(reference())
        with self._lock:  # another thread may look
            if tapes_may_ask or self._arrays:
                seen = self._seen
                kept: list[Any] = [None] * len(seen)
                for slot in [*(held if tapes_may_ask else ()), *self._trace.input_slots(self._position)]:
                    kept[slot] = seen[slot]
                for at in self._value_at.values():
                    kept[at] = seen[at]
                self._seen = kept
                del seen
            if not tapes_may_ask and max(map(getrefcount, self._arrays), default=0) <= _UNSHARED:
                self._seen = []
                self._values, self._variables, self._reads = {}, {}, []
            self._arrays = []

    def _answers_for(self, tape: GradientTape | None) -> bool:
        """Return whether a tape has no records, because this pass answers for it."""
        return tape is not None and tape._pass is self

    # -- as ever ------------------------------------------------------------------------------------------------------

    def _computed_by_hand(self, slot: int) -> Any:
        """The NumPy array of a result, for another thread, or after the pass: nothing else changes."""
        end = self._position  # the thread of the pass goes on meanwhile
        inputs = {spec.slot: self._input(spec.slot) for spec in self._trace.inputs(end)}
        hot, local.here.hot = local.here.hot, None
        replay = Replay(self._trace, self._variables.copy(), inputs)
        try:
            with listeners([], None):
                replay.run(end)
        finally:
            local.here.hot = hot
            replay.give_back()
        return replay.tensors[slot]._array

    def _replayed(self) -> list[Any]:
        """Run the events as ever, which gives tapes their records, and return the listeners that are open then."""
        here = local.here
        before, here.tapes = here.tapes, []
        tapes = [
            tape if self._answers_for(tape) else None for tape in [reference() for reference in self._tapes]
        ]
        for tape in tapes:
            if tape is not None:
                tape._pass = None
        values = {slot: self._seen[self._value_at[slot]] for slot in self._variables}
        replay = Restored(self._trace, self._variables, self._seen, values, tapes, self._reads)
        with self._lock:
            try:
                replay.run(self._position)
            finally:
                here.tapes, opened = before, here.tapes
                # The tensors themselves, which have their values now: whoever has just read one will use it as the
                # variable's.
                replay.give_back()
        return opened


def _compiled_program() -> type[PassProgram]:
    from .compiled_passes import Program  # imports JAX

    return Program


class Restored(Replay):
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
        if own._key and tensor._key not in (0, own._key):
            _rename(tensor, own._key)  # a tape of a later pass knows it by that key
        own._key = own._key or tensor._key
        if is_pending(own):
            fill(own, tensor._array)
        self.tensors[slot] = own


def _rename(tensor: Tensor, key: int) -> None:
    """Have the open tapes know a tensor, which they have just recorded, by another key."""
    old = tensor._key
    for tape in local.here.tapes:
        if not isinstance(tape, GradientTape) or not tape._records:
            continue
        made, plan, into, kept = tape._records[-1]
        keys = made if type(made) is tuple else (made,)
        if old in keys:
            renamed = tuple(key if k == old else k for k in keys)
            tape._records[-1] = (renamed if type(made) is tuple else key, plan, into, kept)
            if old in tape._known:
                tape._known.discard(old)
                tape._known.add(key)
    tensor._key = key
