"""Follower: expects the events of a trace, and hands out tensors whose values are computed when somebody looks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from ..compiled.buffers import on_device
from ..core import nest
from ..core.primitive import Primitive, apply, as_tensors, local
from ..core.stand_in import original
from ..core.tape import GradientTape
from ..core.tensor import Tensor, array_of, device_of, wrap
from ..core.variable import Variable
from ..engine.pending import PendingArray
from ..engine.reference_counts import RELIABLE
from .events import (
    Ask,
    Assign,
    Enter,
    Event,
    Exit,
    NewNumber,
    NewVariable,
    Number,
    Operation,
    Out,
    Update,
    Watch,
    exactly,
)
from .learning import PYTHON_NUMBERS, UNSHARED, Learner
from .pass_trace import Trace
from .programs import Program
from .replay import Replay

_new = object.__new__
_array_of = Tensor.__dict__["_array"].__get__
_drop_array = Tensor.__dict__["_array"].__delete__
_MISS: Any = object()


class Follower:
    """One pass of this thread that is expected to be like an earlier one.

    Args:
        trace: the expected events.
        traces: all traces of the place in the code, for another path.
        done: called with None when the pass ends, or with the reason why it was left.
        learner: gives what learns the rest of a pass that took an unknown path.
        begin: called with the tape of the next pass.
        patience: how often a pass must end inside a trace before that is compiled.
    """

    def __init__(
        self,
        trace: Trace,
        traces: list[Trace],
        done: Callable[[Any], None],
        learner: Callable[[], Learner],
        begin: Callable[[GradientTape], bool],
        patience: int = 2,
    ) -> None:
        self._traces = traces
        self._done = done
        self._learner = learner
        self._begin = begin
        self._patience = patience
        self._position = 0
        self._seen: list[Any] = []  # by slot
        self._before: dict[int, Tensor] = {}  # the values of variables before the pass, by slot
        self._early: dict[int, Tensor] = {}  # the same, where a program needed them before the pass read them
        self._variables: dict[int, Variable] = {}  # by slot
        self._read: dict[int, Variable] = {}  # by key
        self._reads: list[tuple[int, Variable]] = []  # that tapes would have been told of, and at which event
        self._keys: set[int] = set()  # of tensors from outside
        self._values: dict[int, Tensor] = {}  # results that a program has computed, by slot
        self._ids: set[int] = set()  # of the first `_counted` objects in `_seen`
        self._counted = 0
        self._tapes: list[GradientTape] = []
        self._open: list[GradientTape] = []
        self._asked: list[GradientTape] = []
        self._optimizers: list[Any] = []  # the trace itself does not keep them alive
        self._over = False
        self._lock = threading.RLock()
        self._use(trace)
        self._here = local.here
        self._here.hot = self
        self._here.tapes = self._listening = []  # of its own, by which it is known: see `operation`

    def _use(self, trace: Trace) -> None:
        self._trace = trace
        self._events: list[Event] = trace.with_end
        self._quick = trace.quick

    # -- events -------------------------------------------------------------------------------------------------------

    def operation(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        """The result of the expected operation, without a value; of any other, the result as ever."""
        # The common case, written out: known tensors and literals, one result. It takes 0.7 us.
        expected, specs, attributes_expected, types, slot, shape, dtype = self._quick[self._position]
        if expected is primitive and self._here.tapes is self._listening and not self._values:
            if attributes == attributes_expected and (
                not attributes or [*map(type, attributes.values())] == types
            ):
                seen = self._seen
                for x, spec in zip(inputs, specs):
                    if type(spec) is int:
                        if seen[spec] is not x:
                            break
                    elif spec.value is not x:
                        break
                else:
                    tensor = _new(Tensor)
                    tensor._key = 0
                    tensor._array = array = _new(PendingArray)
                    array.shape = shape
                    array.dtype = dtype
                    array.slot = slot
                    array.source = self
                    seen.append(tensor)
                    self._position += 1
                    return tensor
        return self._general(primitive, inputs, attributes)

    def _general(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        if self._here.tapes is not self._listening:
            return self._outside(primitive, inputs, attributes)
        out = self._operation(primitive, inputs, attributes)
        if out is _MISS:
            for x in inputs:
                if type(x) is not Tensor and not isinstance(x, Variable) and type(x) not in PYTHON_NUMBERS:
                    return apply(primitive, as_tensors(primitive, inputs), attributes)
            out = self._on_another_path(lambda: self._operation(primitive, inputs, attributes))
            if out is _MISS:
                self._leave(f"{primitive.name} was not expected", learn=True)
                return apply(primitive, inputs, attributes)
        return out

    def _operation(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        event: Any = self._events[self._position]
        if type(event) is not Operation or event.primitive is not primitive:
            return _MISS
        if attributes or event.attributes:
            if attributes != event.attributes or exactly(attributes) != event.exactly:
                return _MISS
        if len(inputs) != len(event.specs):
            return _MISS
        seen = self._seen
        for x, spec in zip(inputs, event.specs):
            if type(spec) is int and seen[spec] is x:
                continue
            if not self._fits(spec, x):
                return self._forget()
        if event.checked:
            return self._checked(event, inputs)
        if primitive.multiple:
            out: Any = tuple([self._pending(known) for known in event.outs])
        else:
            out = self._pending(event.outs[0])
        self._position += 1
        return out

    def _checked(self, event: Operation, inputs: tuple[Any, ...]) -> Any:
        """The result of an operation that computes at once."""
        out = self._outside(event.primitive, inputs, event.attributes)
        results = out if event.primitive.multiple else (out,)
        for known, result in zip(event.outs, results):
            if result._array.shape != known.shape or result._array.dtype != known.dtype:
                return self._forget()
        self._seen.extend(results)
        self._position += 1
        return out

    def _pending(self, known: Out) -> Tensor:
        """A tensor for a result, which has its value already if a program was run before."""
        slot, shape, dtype = known
        tensor = _new(Tensor)
        tensor._key = 0
        if slot in self._values:
            _fill(tensor, self._values[slot])
        else:
            tensor._array = array = _new(PendingArray)
            array.shape = shape
            array.dtype = dtype
            array.slot = slot
            array.source = self
        self._seen.append(tensor)
        return tensor

    def _fits(self, spec: Any, x: Any) -> bool:
        """Return whether an input is the expected one. A new one gets its slot."""
        kind = type(spec)
        if kind is int:
            known = self._seen[spec]
            if known is x:
                return True
            return isinstance(known, Variable) and type(x) is Tensor and x is known._tensor
        if kind is Number:
            return spec.fits(x)
        if kind is NewNumber:
            if type(x) is not float:
                return False
            self._seen.append(wrap(np.asarray(x, spec.dtype)))
            return True
        if kind is NewVariable:
            return self._fits_variable(spec, x)
        if type(x) is not Tensor or x._key in self._read or self._is_seen(x):
            return False
        array = array_of(x)
        if tuple(array.shape) != spec.shape or array.dtype != spec.dtype or (x._key and x._key in self._keys):
            return False
        self._keys.add(x._key)
        self._seen.append(x)
        return True

    def _is_seen(self, tensor: Tensor) -> bool:
        """Return whether the pass knows a tensor already."""
        if self._counted < len(self._seen):
            self._ids.update(map(id, self._seen[self._counted :]))
            self._counted = len(self._seen)
        return id(tensor) in self._ids

    def _fits_variable(self, spec: NewVariable, x: Any) -> bool:
        if type(x) is Tensor and x._key == spec.key:
            variable: Any = self._read.get(x._key)
            if variable is None or variable._tensor is not x:
                return False
            x = variable
        if not isinstance(x, Variable) or x._key != spec.key:
            return False
        value = x._tensor = x._tensor  # an optimizer's state gives a copy, and holds this one from now on
        array = array_of(value)
        if tuple(array.shape) != spec.shape or array.dtype != spec.dtype:
            return False
        if spec.slot in self._early and self._early[spec.slot] is not value:
            return False
        self._read[x._key] = x
        self._before[spec.slot] = value
        self._variables[spec.slot] = x
        self._seen.append(x)
        return True

    def _forget(self) -> Any:
        """Take back the slots of an event that did not fit."""
        start = self._trace.starts[self._position]
        for x in self._seen[start:]:
            if type(x) is Tensor:
                self._keys.discard(x._key)
        del self._seen[start:]
        self._ids, self._counted = set(), 0
        for slot in [slot for slot in self._variables if slot >= start]:
            del self._variables[slot], self._before[slot]
        return _MISS

    def read(self, variable: Variable) -> None:
        """Note whose value a tensor is that will be used."""
        self._read[variable._key] = variable
        self._reads.append((self._position, variable))

    def assign(self, variable: Variable, method: str, value: Tensor) -> None:
        """Give a variable a value that is computed when somebody looks."""
        if type(value) is Tensor and _is_pending(value) and value._array.source is self:
            value = self._seen[value._array.slot]
        if self._here.tapes is not self._listening:
            self.interrupt("a variable is assigned inside another listener's block")
        elif not self._expects(Assign, lambda event: event.method == method, [variable, value]):
            self._leave(f"{method} was not expected", learn=True)
        if self._over:
            getattr(variable, method)(value)
            return
        event: Any = self._events[self._position - 1]
        if method == "assign" and type(array_of(value)) is np.ndarray:
            tensor = wrap(value._array)
            self._seen.append(tensor)
        else:
            tensor = self._pending(event.outs[0])
        tensor._key = variable._key
        variable._tensor = tensor

    def update(self, optimizer: Any, pairs: list[Any]) -> None:
        """Give the variables of an optimizer values that are computed when somebody looks."""
        gradients, variables = [g for g, _ in pairs], [v for _, v in pairs]
        touched: list[Any] = []

        def fits(event: Update) -> bool:
            touched[:] = [self._touched(spec) for spec in event.touched]
            count = len(event.gradients)
            return (
                event.optimizer() is optimizer
                and event.settings == optimizer._pure_settings()
                and count == len(pairs)
            )

        if self._here.tapes is not self._listening:
            self.interrupt("an optimizer steps inside another listener's block")
        elif not self._expects(Update, fits, lambda: [*gradients, *variables, *touched]):
            self._leave("an optimizer's step was not expected", learn=True)
        if self._over:
            optimizer._apply(pairs)
            return
        self._optimizers.append(optimizer)
        event: Any = self._events[self._position - 1]
        for spec, out in zip(event.touched, event.outs):
            variable = self._seen[spec if type(spec) is int else spec.slot]
            tensor = self._pending(out)
            tensor._key = variable._key
            variable._tensor = tensor

    def _touched(self, spec: Any) -> Any:
        """The variable that an optimizer will write."""
        if type(spec) is int:
            return self._seen[spec] if spec < len(self._seen) else self._trace.variables[spec]()
        return self._trace.variables[spec.slot]()

    def _expects(self, kind: type, check: Callable[[Any], bool], inputs: Any) -> bool:
        """Return whether an event of this kind with these inputs is expected, on this path or another."""

        def attempt() -> Any:
            event: Any = self._events[self._position]
            if type(event) is not kind or not check(event):
                return _MISS
            given = inputs() if callable(inputs) else inputs
            specs = getattr(event, "specs", ())
            if len(specs) != len(given) or not all(map(self._fits, specs, given)):
                return self._forget()
            self._position += 1
            return True

        return attempt() is True or self._on_another_path(attempt) is True

    def _on_another_path(self, attempt: Callable[[], Any]) -> Any:
        """Try the event on the other traces that began as this one did."""
        mine = self._trace
        start = mine.starts[self._position]
        # A program may have run ahead: what it computed of events to come is for this path alone.
        self._values = {slot: value for slot, value in self._values.items() if slot < start}
        self._early = {}
        for other in self._traces:
            if other is not mine and mine.shared_with(other) >= self._position:
                self._use(other)
                result = attempt()
                if result is not _MISS:
                    return result
        self._use(mine)
        return _MISS

    def enter(self, tape: GradientTape) -> bool:
        """Begin a tape's block; that of an outermost tape begins the next pass."""
        if self._here.tapes is not self._listening:
            return False
        if not self._open:
            self.finish()
            return self._begin(tape)
        return self.open(tape)

    def open(self, tape: GradientTape) -> bool:
        """Begin a tape's block inside this pass."""

        def fits(event: Enter) -> bool:
            return event.persistent == tape._persistent and event.watches == tape._watch_accessed_variables

        if tape._state == "entered" or not self._expects(Enter, fits, ()):
            self._leave("a tape was not expected", learn=True)
            tape.__enter__()
            return True
        tape._pass = self
        self._tapes.append(tape)
        self._open.append(tape)
        return True

    def exit(self, tape: GradientTape, kind: Any) -> bool:
        """End a tape's block."""
        if self._over:
            return False
        inside = kind is None and self._here.tapes is self._listening
        if not inside or not self._expects(Exit, lambda event: self._is(tape, event.tape), ()):
            self._leave(
                "a block was not expected to end" if kind is None else "an exception", learn=kind is None
            )
            tape.__exit__(kind, None, None)
            return True
        if tape in self._open:  # not if it was asked inside its block
            self._open.remove(tape)
        return True

    def watch(self, tape: GradientTape, things: Any) -> bool:
        """Expect that a tape watches these tensors."""
        if self._over:
            self.rebuild(tape)
            return False
        ends = [original(end) for end in nest.flatten(things)]
        if not self._expects(Watch, lambda event: self._is(tape, event.tape), ends):
            self._leave("watch was not expected", learn=True)
            self.rebuild(tape)
            tape.watch(things)
        return True

    def ask(
        self, method: str, tape: GradientTape, target: Any, sources: Any, options: tuple[Any, ...]
    ) -> Any:
        """The gradients that are expected of a tape, without values."""
        if self._over:
            self.rebuild(tape)
            return getattr(tape, method)(target, sources, *options)
        given = options
        ends = nest.flatten(target) + nest.flatten(sources)
        weights = None
        if method == "gradient":
            if options[0] is not None:
                weights = nest.flatten(options[0])
                ends += weights
            options = options[1:]

        def fits(event: Ask) -> bool:
            same = event.method == method and self._is(tape, event.tape) and event.options == options
            return same and (event.weights is None) == (weights is None)

        inside = self._here.tapes is self._listening
        if not inside or not self._expects(Ask, fits, [original(end) for end in ends]):
            self._leave(f"{method} was not expected", learn=True)
            self.rebuild(tape)
            return getattr(tape, method)(target, sources, *given)
        event: Any = self._events[self._position - 1]
        if tape in self._open and not tape._persistent:
            self._open.remove(tape)
        self._asked.append(tape)
        results = [None if out is None else self._pending(out) for out in event.outs]
        return nest.pack_sequence_as(sources, results)

    def _is(self, tape: GradientTape, number: int) -> bool:
        return number < len(self._tapes) and self._tapes[number] is tape

    # -- values -------------------------------------------------------------------------------------------------------

    def value_of(self, slot: int) -> Any:
        """The NumPy array of a result, computed now if it was not before."""
        with self._lock:
            tensor = self._seen[slot]
            if _is_pending(tensor):
                position = self._position
                end = position if self._over or self._here is not local.here else self._trace.reach(position)
                self._compute(end, {slot})
            return tensor._array

    def _compute(self, end: int, wanted: set[int]) -> None:
        """Compute by a program; as ever, if there can be none."""
        if not self._trace.is_broken:
            try:
                self._run(end, wanted)
                return
            except Exception as error:  # whatever JAX raises
                self._trace.is_broken = f"{type(error).__name__}: {error}"
        if self._over:
            self._replay(finished=True)
        else:
            self._leave("the trace cannot be compiled")

    def _run(self, end: int, wanted: set[int]) -> None:
        """Compute results of the first `end` events: those wanted, and those that passes like this one need."""
        trace = self._trace
        trace.wants(wanted)
        program = trace.current.get(end)
        if program is None:
            outputs = tuple(sorted(slot for slot in trace.outputs if slot < trace.starts[end]))
            program = trace.programs.get((end, outputs))
        if end > self._position:
            self._read_early(end)
        if program is None:
            refs = {slot: v for slot, r in trace.variables.items() if (v := r()) is not None}
            inputs = [self._input(spec.slot) for spec in trace.inputs(end)]
            program = trace.programs[end, outputs] = Program(trace, end, outputs, refs, inputs)
        trace.current[end] = program
        results = program([self._array(slot) for slot in program.slots])
        for slot, result in zip(program.outputs, results, strict=True):
            if slot in self._values:
                continue
            self._values[slot] = result
            if slot < len(self._seen) and _is_pending(self._seen[slot]):
                _fill(self._seen[slot], result)

    def _read_early(self, end: int) -> None:
        """Read the variables that are first used by events to come."""
        for spec in self._trace.inputs(end):
            if spec.slot >= len(self._seen) and spec.slot not in self._early:
                variable: Any = self._trace.variables[spec.slot]()
                self._early[spec.slot] = variable._tensor = variable._tensor

    def _input(self, slot: int) -> Tensor:
        if slot in self._trace.variables:
            return self._before[slot] if slot in self._before else self._early[slot]
        tensor: Tensor = self._seen[slot]
        return tensor

    def _array(self, slot: int) -> Any:
        """The array of an input as JAX takes it: one that was used before stays on JAX's device."""
        tensor = self._input(slot)
        try:
            return device_of(tensor)
        except AttributeError:
            if slot in self._trace.variables:  # eager code may write into NumPy's array
                return tensor._array
        last = self._trace.last_inputs.get(slot)
        self._trace.last_inputs[slot] = id(tensor)
        return on_device(tensor) if last == id(tensor) else tensor._array

    def _outside(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        """Compute an operation as ever, for its value alone."""
        for x in inputs:
            tensor = x._tensor if isinstance(x, Variable) else x
            if type(tensor) is Tensor and _is_pending(tensor):
                tensor._array.value()
        before = self._here.tapes
        self._here.tapes = [] if before is self._listening else before
        try:
            return self._computed(apply, primitive, inputs, attributes)
        finally:
            self._here.tapes = before

    def _computed(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self._here.hot = None
        try:
            return function(*arguments)
        finally:
            if not self._over:
                self._here.hot = self

    # -- the end ------------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """End the pass where it is: compute what is in use."""
        trace, end = self._trace, self._position
        if end < len(trace.events):
            trace.stops[end] += 1
            if trace.stops[end] < self._patience:
                self._leave("the pass ended early")
                return
        needed = self._needed()
        if needed:
            self._compute(end, needed)
            if self._over:  # left, because there is no program
                return
        self._close()
        for tape in self._tapes:
            if tape in self._asked and not tape._persistent:
                self._settle(tape)
        self._release_pending()
        self._done(None)

    def _release_pending(self) -> None:
        """Let go of tensors without values, which nothing uses any more: they and this pass refer to each other."""
        waiting = [x._array for x in self._seen if type(x) is Tensor and _is_pending(x)]
        if sum(map(getrefcount, waiting)) == len(waiting) * (UNSHARED + 1) and all(
            t._pass is None for t in self._tapes
        ):
            self._seen.clear()

    def _needed(self) -> set[int]:
        """The slots of results that are in use and have no value yet."""
        counts = list(map(getrefcount, self._seen))
        return {
            slot
            for slot, count in enumerate(counts)
            if (count > UNSHARED or not RELIABLE)
            and type(self._seen[slot]) is Tensor
            and _is_pending(self._seen[slot])
        }

    def _settle(self, tape: GradientTape) -> None:
        """Leave a tape that has answered its only question as it would be: without records, and with its variables."""
        tape._pass = None
        tape._state = "used"
        if tape._watch_accessed_variables:
            for slot in self._trace.read_in(self._number(tape), self._position):
                variable = self._variables[slot]
                if variable._watchable:
                    tape._watched[variable._key] = variable

    def _number(self, tape: GradientTape) -> int:
        return next(i for i, own in enumerate(self._tapes) if own is tape)

    def interrupt(self, reason: str) -> None:
        """Leave: what happens next is not for this pass."""
        if not self._over:
            self._leave(reason)

    def release(self, tape: GradientTape) -> None:
        """A tape of this pass is entered again."""
        self.rebuild(tape)

    def rebuild(self, tape: GradientTape) -> None:
        """Have the tapes of this pass record what they would have recorded."""
        if not self._over:
            self._leave("a tape is looked into, or stopped")
        if tape._pass is self:
            self._replay(finished=True)

    def _leave(self, reason: str, learn: bool = False) -> None:
        """Compute all that was handed out as ever, tapes included; `learn` the rest of the pass."""
        if self._position == len(self._trace.events) and not self._open and not self._trace.is_broken:
            self.finish()
            return
        self._close()
        tapes = [tape for tape in self._tapes if tape._pass is self]
        self._replay()
        learn = (
            learn
            and tapes == self._tapes
            and self._here is local.here
            and self._here.tapes is self._listening
        )
        self._done((reason, learn))
        if learn:
            events = self._trace.events[: self._position]
            self._learner().resume(events, self._seen, self._variables, self._read, self._tapes)

    def _replay(self, finished: bool = False) -> None:
        """Run the events as ever. After the pass is finished that gives tapes their records, and variables nothing."""
        here = local.here
        before, here.tapes = here.tapes, []
        tapes = [tape if tape._pass is self else GradientTape() for tape in self._tapes]
        for tape in self._tapes:
            tape._pass = None
        held = {slot: variable._tensor for slot, variable in self._variables.items()}
        replay = _Restored(self._trace, self._variables, self._seen, self._before, tapes, self._reads)
        with self._lock:
            try:
                replay.run(self._position)
            finally:
                self._listening[:] = here.tapes
                here.tapes = self._listening if before is self._listening else before
        ours = set(map(id, self._seen))
        for slot, variable in self._variables.items():
            mine = not finished and id(held[slot]) in ours
            variable._tensor = replay.tensors[slot] if mine else held[slot]

    def _close(self) -> None:
        self._over = True
        self._here.hot = None


class _Restored(Replay):
    """A replay that gives the tensors of a pass their values and keys, and variables theirs."""

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
        """Run so many events, and tell the tapes which variables were read."""
        reads = iter([*self._reads, (end + 1, None)])
        position, variable = next(reads)
        for i in range(end + 1):
            while position == i and variable is not None:
                for tape in local.here.tapes:
                    tape._on_read(variable)
                position, variable = next(reads)
            if i < end:
                self.step(self.trace.events[i])

    def result(self, slot: int, tensor: Tensor) -> None:
        """Give the tensor that was handed out the value of the one that was computed."""
        own = self._seen[slot]
        own._key = tensor._key
        if _is_pending(own):
            own._array.source = _Known(own)
            own._array = tensor._array
        self.tensors[slot] = own


def _is_pending(tensor: Tensor) -> bool:
    """Return whether a tensor has no value yet."""
    try:
        return type(_array_of(tensor)) is PendingArray
    except AttributeError:  # compiled code's, of which there is no NumPy view yet
        return False


class _Known:
    """The source of a pending array that others may hold, once the tensor it was made for has its value."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def value_of(self, slot: int) -> Any:
        """The NumPy array."""
        return self._tensor._array


def _fill(tensor: Tensor, result: Tensor) -> None:
    """Give a tensor the value of another, as compiled code has it."""
    if _is_pending(tensor):
        tensor._array.source = _Known(tensor)
        _drop_array(tensor)
    try:
        tensor._device = device_of(result)
    except AttributeError:  # a constant of the program
        tensor._array = result._array
