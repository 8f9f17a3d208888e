"""Learner: computes a pass as ever, and notes its events for a trace."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from ..compiled.deferrable import exactly, is_checked
from ..core import nest
from ..core.indexed_slices import IndexedSlices
from ..core.primitive import Primitive, apply, as_tensors, inside, local
from ..core.stand_in import original
from ..core.tape import GradientTape
from ..core.tensor import Tensor, array_of, wrap
from ..core.tensor_conversion import convert
from ..core.variable import Variable
from ..engine.arrays import is_traced
from .function_calls import given, reason_against
from .pass_events import (
    Ask,
    Assign,
    Call,
    Enter,
    Event,
    Exit,
    NewTensor,
    NewVariable,
    Operation,
    Out,
    Spec,
    Update,
    Watch,
    number,
    outs_of,
    written_by,
)
from .pass_trace import Trace
from .sparse_gradients import divided

PYTHON_NUMBERS = frozenset((bool, int, float, complex))
MOST_EVENTS = 20_000
MOST_CALLS = 50  # of compiled functions: a loop of such calls is no part of a pass


class Unfit(Exception):
    """A pass cannot be followed; says why."""


class Learner:
    """The events of one pass of this thread, while it is computed.

    Args:
        done: called with the trace when the pass ends; with the reason if there is none.
        begin: called with the tape of the next pass, and the frame that enters it.
    """

    notes_custom = False  # whether functions with a gradient of the user's are part of a pass,
    notes_calls = (
        False  # and compiled functions: their Python code runs again when the program of the pass is made
    )

    def __init__(self, done: Callable[[Any], None], begin: Callable[[GradientTape, Any], bool]) -> None:
        self._done = done
        self._begin = begin
        self._events: list[Event] = []
        self._seen: list[
            Any
        ] = []  # by slot: weak references to variables and tensors, None for variables' values
        self._slots: dict[int, int] = {}  # of the tensors that are alive, by their id
        self._read: weakref.WeakValueDictionary[int, Variable] = weakref.WeakValueDictionary()  # by key
        self._variables: dict[int, int] = {}  # slots of variables by key
        self._tapes: list[weakref.ref[GradientTape]] = []
        self._written: dict[int, int] = {}  # the slot of the last value, by the key of the variable
        self._calls = 0  # of compiled functions
        self._here = local.here
        self._here.hot = self
        self._listening = self._here.tapes

    def resume(
        self,
        events: list[Event],
        seen: list[Any],
        variables: dict[int, Variable],
        read: dict[int, Variable],
        tapes: list[weakref.ref[GradientTape]],
    ) -> None:
        """Go on with a pass that was followed so far: its events, its objects by slot, and its tapes."""
        self._events = list(events)
        self._seen = list(seen)
        written = {out.slot for event in events if isinstance(event, (Assign, Update)) for out in event.outs}
        written.update(
            out.slot for event in events if isinstance(event, Call) for _, out in written_by(event)
        )
        for slot, x in enumerate(seen):
            if slot in written:
                self._seen[slot] = None  # the value is the variable's
            else:
                self._seen[slot] = self._alive(x, slot) if type(x) is Tensor else weakref.ref(x)
        for slot, variable in variables.items():
            self._variables[variable._key] = slot
        self._read.update(read)
        self._read.update({variable._key: variable for variable in variables.values()})
        for event in events:
            if isinstance(event, Assign):
                self._written[self._key(event.specs[0])] = event.outs[0].slot
            elif isinstance(event, Update):
                for spec, out in zip(event.touched, event.outs):
                    self._written[self._key(spec)] = out.slot
            elif isinstance(event, Call):
                for i, out in written_by(event):
                    self._written[self._key(event.variables[i])] = out.slot
        self._tapes = tapes
        for tape in self._alive_tapes():
            tape._pass = self

    def _key(self, spec: Any) -> int:
        variable = self._seen[spec if isinstance(spec, int) else spec.slot]()
        key: int = variable._key
        return key

    # -- events -------------------------------------------------------------------------------------------------------

    def operation1(self, primitive: Primitive, x: Any, attributes: Any) -> Any:
        """Compute an operation on one input and note it."""
        return self.operation(primitive, (x,), attributes)

    def operation2(self, primitive: Primitive, x: Any, y: Any) -> Any:
        """Compute an operation on two inputs and note it."""
        return self.operation(primitive, (x, y), None)

    def operation(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        """Compute an operation and note it."""
        if self._here.tapes is not self._listening:
            return self._computed(apply, primitive, inputs, attributes)
        if not all(type(x) is Tensor or isinstance(x, Variable) or type(x) in PYTHON_NUMBERS for x in inputs):
            return apply(primitive, as_tensors(primitive, inputs), attributes)
        out = self._computed(apply, primitive, inputs, attributes)
        if self._here.hot is self:
            self._note(self._operation, primitive, inputs, attributes, out)
        return out

    def _operation(self, primitive: Primitive, inputs: Any, attributes: Any, out: Any) -> Event:
        specs = tuple([self._spec(x) for x in inputs])
        results = out if primitive.multiple else (out,)
        outs = tuple([self._out(result) for result in results])
        attributes = attributes or None
        checked = is_checked(primitive, inputs, [out.dtype for out in outs])
        dtype = next((array_of(_tensor(x)).dtype for x in inputs if type(x) not in PYTHON_NUMBERS), None)
        return Operation(primitive, attributes, exactly(attributes), specs, outs, checked, dtype)

    def read(self, variable: Variable) -> None:
        """Note whose value a tensor is that will be used."""
        self._read[variable._key] = variable

    def assign(self, variable: Variable, method: str, value: Any, noted: str | None = None) -> None:
        """Assign a value to a variable and note it, perhaps by another name."""
        value = variable._fitting(value, method)
        self._computed(getattr(variable, method), value)
        if self._here.hot is self:
            self._note(self._assign, variable, noted or method, value)

    def _assign(self, variable: Variable, method: str, value: Tensor) -> Event:
        return Assign(method, (self._spec(variable), self._spec(value)), (self._out_of(variable),))

    def updates(self, optimizer: Any, pairs: list[Any]) -> bool:
        """Return False: no step is expected."""
        return False

    def update(self, optimizer: Any, pairs: list[Any], aggregates: bool | None = None) -> None:
        """Let an optimizer update variables and note it; `aggregates` is for replicas: see `Update`."""
        self._computed(optimizer._apply_as, pairs, aggregates)
        if self._here.hot is self:
            self._note(self._update, optimizer, pairs, aggregates)

    def _update(self, optimizer: Any, pairs: list[Any], aggregates: bool | None) -> Event:
        settings = optimizer._pure_settings()
        if settings is None or any(v._constraint is not None for _, v in pairs):
            raise Unfit("an optimizer runs Python code of the user")
        parts, slices = divided(g for g, _ in pairs)
        if any(type(g) is not Tensor and not isinstance(g, Variable) for g in parts):
            raise Unfit("a gradient for an optimizer is no tensor")
        gradients = tuple([self._spec(part) for part in parts])
        variables = tuple([self._spec(v) for _, v in pairs])
        written = list({v._key: v for v in [*(v for _, v in pairs), *optimizer._touched]}.values())
        touched = tuple([self._spec(v) for v in written])
        outs = tuple([self._out_of(v) for v in written])
        reference = weakref.ref(optimizer)
        return Update(reference, settings, gradients, slices, variables, touched, outs, aggregates)

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a compiled function and note it."""
        if self._here.tapes is not self._listening:
            self.interrupt("a compiled function is called inside another listener's block")
            return NotImplemented
        result = self._computed(function._call, args, kwargs)
        if self._here.hot is self:
            leaves = [self._distinct(leaf) for leaf in nest.flatten(result)]
            result = nest.pack_sequence_as(result, leaves)
            self._note(self._call, function, args, kwargs, leaves, result)
        return result

    def _call(self, function: Any, args: Any, kwargs: Any, leaves: list[Any], result: Any) -> Event:
        if not self.notes_calls:
            raise Unfit("a compiled function is called")
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise Unfit("compiled functions are called too often")
        parts = given(args, kwargs)
        if parts is None:
            raise Unfit("a compiled function takes other arguments than tensors and plain values")
        if function._not_compilable:
            raise Unfit("a function is called that runs as Python")
        # Not `_find`, which traces if the call ran in another way.
        program = function._programs.get(function._arguments(args, kwargs).key)
        reason = reason_against(function, program)
        if reason is not None:
            raise Unfit(reason)
        inputs = tuple([self._spec(x) for x in parts.tensors])
        variables = [*program.variables.values()]
        specs = tuple([self._spec(v) for v in variables])
        written = tuple([i for i, v in enumerate(variables) if v._key in program.written])
        results = nest.pack_sequence_as(result, [... if type(x) is Tensor else x for x in leaves])
        outs = [self._out(x) for x in leaves if type(x) is Tensor]
        outs += [self._out_of(variables[i]) for i in written]
        reference = weakref.ref(function)
        return Call(reference, parts.others, parts.exactly, inputs, specs, written, results, tuple(outs))

    def enter(self, tape: GradientTape, frame: Any) -> bool:
        """Begin a tape's block; that of an outermost tape begins the next pass."""
        if self._here.tapes is not self._listening:
            return False
        if not any(t._recording for t in self._alive_tapes()):
            self.finish()
            return self._begin(tape, frame)
        self.open(tape)
        return True

    def open(self, tape: GradientTape) -> None:
        """Begin a tape's block inside this pass."""
        tape._enter()
        tape._pass = self
        self._tapes.append(weakref.ref(tape))
        self._listening = self._here.tapes
        self._note(lambda: Enter(tape._persistent, tape._watch_accessed_variables))

    def not_entered(self, tape: GradientTape) -> None:
        """Forget a tape whose block does not begin, because an interrupt came."""
        if tape._recording:
            tape._stop()
        self.interrupt("an exception")

    def exit(self, tape: GradientTape, kind: Any) -> bool:
        """End a tape's block; an exception ends the learning."""
        if kind is not None or self._here.tapes is not self._listening:
            self.interrupt("an exception, or a block that ends out of order")
            return False
        if tape._recording:
            tape._stop()
        self._listening = self._here.tapes
        self._note(lambda: Exit(self._number(tape)))
        return True

    def watch(self, tape: GradientTape, things: Any) -> bool:
        """Watch tensors and note it."""
        self._computed(_without_pass, tape, "watch", things)
        self._note(lambda: Watch(self._number(tape), tuple(map(self._spec, _ends(things)))))
        return True

    def ask(
        self, method: str, tape: GradientTape, target: Any, sources: Any, options: tuple[Any, ...]
    ) -> Any:
        """Answer a question as ever and note it."""
        here = self._here
        if here.tapes is not self._listening:
            self.interrupt("a tape is asked inside another listener's block")
            return NotImplemented
        here.hot = None
        try:
            with inside():
                answer = _without_pass(tape, method, target, sources, *options)
        finally:
            here.hot = self if self._here_is_mine() else None
            self._listening = here.tapes
        results = [self._distinct(result) for result in nest.flatten(answer)]
        self._note(self._ask, method, tape, target, sources, options, results)
        return nest.pack_sequence_as(sources, results)

    def _ask(
        self, method: str, tape: Any, target: Any, sources: Any, options: tuple[Any, ...], results: list[Any]
    ) -> Event:
        weights = None
        targets = tuple([self._spec(end) for end in _ends(target)])
        wanted = tuple([self._spec(end) for end in _ends(sources)])
        if method == "gradient":
            output_gradients, *rest = options
            options = tuple(rest)
            if output_gradients is not None:
                weights = tuple([self._spec(end) for end in _ends(output_gradients)])
        parts, slices = divided(results)
        outs = tuple([None if part is None else self._out(part) for part in parts])
        return Ask(method, self._number(tape), targets, wanted, weights, options, outs, slices)

    def _distinct(self, result: Any) -> Any:
        """A tensor of its own where a tape gave one that the pass knows already."""
        if type(result) is IndexedSlices:
            indices = wrap(convert(result._indices)._array)
            return IndexedSlices(self._distinct(result._values), indices, result._dense_shape)
        if type(result) is not Tensor or id(result) not in self._slots:
            return result
        tensor = wrap(result._array)
        tensor._key = result._key
        return tensor

    def release(self, tape: GradientTape) -> None:
        """A tape of this pass is entered again."""
        self.interrupt("a tape is entered twice")

    def rebuild(self, tape: GradientTape) -> None:
        """A tape of this pass is asked for what no trace answers."""
        self.interrupt("a tape is looked into, or stopped")

    # -- notes --------------------------------------------------------------------------------------------------------

    def _computed(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Compute as ever."""
        here = self._here
        here.hot = None
        try:
            with inside():
                return function(*arguments)
        finally:
            if self._here_is_mine():
                here.hot = self

    def _here_is_mine(self) -> bool:
        return self._done is not _nothing

    def _note(self, make: Callable[..., Event], *arguments: Any) -> None:
        if not self._here_is_mine():
            return
        try:
            self._events.append(make(*arguments))
            if len(self._events) > MOST_EVENTS:
                raise Unfit("a pass is too long")
        except Unfit as reason:
            self.interrupt(str(reason))

    def _number(self, tape: GradientTape) -> int:
        for i, own in enumerate(self._tapes):
            if own() is tape:
                return i
        raise Unfit("a tape of another pass")

    def _spec(self, x: Any) -> Spec:
        if isinstance(x, Variable):
            return self._variable(x)
        if type(x) in PYTHON_NUMBERS:
            return number(x)
        if type(x) is not Tensor:
            raise Unfit(f"an input is a {type(x).__name__}")
        slot = self._slots.get(id(x))
        if slot is not None:
            return slot
        if x._key in self._read:
            variable = self._read[x._key]
            if x is variable._tensor:
                return self._variable(variable)
            raise Unfit("an old value of a variable is used")
        array = array_of(x)
        if array.dtype.kind not in "fciub":
            raise Unfit("a tensor of strings is used")
        if is_traced(array):
            raise Unfit("a tensor is traced by JAX")
        return NewTensor(self._add(x), tuple(array.shape), array.dtype)

    def _variable(self, variable: Variable) -> Spec:
        self._read[variable._key] = variable
        slot = self._variables.get(variable._key)
        if slot is not None:
            return slot
        slot = self._variables[variable._key] = len(self._seen)
        self._seen.append(weakref.ref(variable))
        array = array_of(variable._tensor)
        is_fixed = variable.shape.is_fully_defined()
        return NewVariable(slot, variable._key, tuple(array.shape), array.dtype, is_fixed)

    def _add(self, tensor: Tensor) -> int:
        slot = len(self._seen)
        self._seen.append(self._alive(tensor, slot))
        return slot

    def _alive(self, tensor: Tensor, slot: int) -> weakref.ref[Tensor]:
        """Know a tensor by its id, which is another's once the tensor is gone."""
        self._slots[id(tensor)] = slot
        return weakref.ref(tensor, partial(self._slots.pop, id(tensor)))

    def _out(self, result: Any) -> Out:
        if type(result) is not Tensor:
            raise Unfit(f"a result is a {type(result).__name__}")
        array = array_of(result)
        if array.dtype.kind not in "fciub":
            raise Unfit("a tensor of strings is computed")
        return Out(self._add(result), tuple(array.shape), array.dtype)

    def _out_of(self, variable: Variable) -> Out:
        """The result of an assignment: the value itself is the variable's."""
        slot = self._written[variable._key] = len(self._seen)
        self._seen.append(None)
        array = array_of(variable._tensor)
        return Out(slot, tuple(array.shape), array.dtype)

    # -- the end ------------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """End the pass: its events are a trace."""
        done = self._close()
        variables = {slot: self._seen[slot] for slot in self._variables.values()}
        if any(reference() is None for reference in variables.values()):
            done("a variable of the pass is gone")
            return
        results = [out.slot for event in self._events for out in outs_of(event)]
        alive = set(self._slots.values())
        outputs = {slot for slot in results if slot in alive}
        trace = Trace(self._events, variables, outputs | set(self._written.values()))
        trace.passing = sum(slot not in alive for slot in trace.tensor_slots)
        done(trace)

    def interrupt(self, reason: str) -> None:
        """Learn nothing from this pass."""
        if self._here_is_mine():
            self._close()(reason)

    def _alive_tapes(self) -> list[GradientTape]:
        return [tape for reference in self._tapes if (tape := reference()) is not None]

    def _close(self) -> Callable[[Any], None]:
        here = self._here
        here.hot = None
        for tape in self._alive_tapes():
            tape._pass = None
        done, self._done = self._done, _nothing
        return done


def _nothing(result: Any) -> None:
    """The end of a pass that has ended already."""


def _without_pass(tape: GradientTape, method: str, *arguments: Any) -> Any:
    """Call a tape's method itself, not the pass that answers for it."""
    owner, tape._pass = tape._pass, None
    try:
        return getattr(tape, method)(*arguments)
    finally:
        tape._pass = owner


def _tensor(x: Any) -> Tensor:
    value: Tensor = x._tensor if isinstance(x, Variable) else x
    return value


def _ends(structure: Any) -> list[Any]:
    return [original(end) for end in nest.flatten(structure)]
