"""Follower: expects the events of a trace, and hands out tensors whose values are computed when somebody looks."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..compiled.deferrable import exactly
from ..core import nest
from ..core.pending_tensors import give, is_pending
from ..core.primitive import Primitive, apply, as_tensors, inside
from ..core.stand_in import original
from ..core.tape import GradientTape
from ..core.tensor import Tensor, array_of, wrap
from ..core.variable import Variable
from .expected_inputs import MISS, ExpectedInputs
from .learning import PYTHON_NUMBERS, Learner
from .pass_events import (
    Ask,
    Assign,
    Enter,
    Exit,
    Operation,
    Out,
    Update,
    Watch,
)
from .pass_trace import Trace
from .pending_values import own_result

_new = object.__new__
_MUCH = 1 << 16  # elements from outside, which are freed as soon as the pass is complete,
_SMALL = 1 << 10  # and of a result that is computed for that although nobody may look


class Follower(ExpectedInputs):
    """One pass of this thread that is expected to be like an earlier one.

    Args:
        trace: the expected events.
        traces: all traces of the place in the code, for another path.
        done: called with None when the pass ends, or with the reason why it was left.
        learner: gives what learns the rest of a pass that took an unknown path.
        begin: called with the tape of the next pass.
        patience: how often a pass must end inside a trace before that is compiled.
    """

    __slots__ = (
        "_asked",
        "_begin",
        "_done",
        "_is_complete",
        "_learner",
        "_listening",
        "_open",
        "_optimizers",
        "_patience",
        "_traces",
    )

    def __init__(
        self,
        trace: Trace,
        traces: list[Trace],
        done: Callable[[Any], None],
        learner: Callable[[], Learner],
        begin: Callable[[GradientTape], bool],
        patience: int = 2,
    ) -> None:
        super().__init__(trace)
        self._traces = traces
        self._done = done
        self._learner = learner
        self._begin = begin
        self._patience = patience
        self._open: list[GradientTape] = []
        self._asked: set[int] = set()  # the numbers of tapes
        self._is_complete = False  # whether all has happened and is computed
        self._optimizers: list[Any] = []  # the trace itself does not keep them alive
        self._here.hot = self
        self._listening: list[Any] = []  # a list of its own, by which it is known: see `operation1`
        self._here.tapes = self._listening

    # -- operations ---------------------------------------------------------------------------------------------------

    # The common cases, written out: expected tensors and numbers, one result. They take 0.3 us.

    def operation1(self, primitive: Primitive, x: Any, attributes: Any) -> Any:
        """The result of the expected operation on one input, without a value; of any other, the result as ever."""
        expected, a, wanted, types, slot, out = self._singles[self._position]
        if (
            expected is primitive
            and self._seen[a] is x
            and self._here.tapes is self._listening
            and (attributes or None) == wanted
            and (types is None or [*map(type, attributes.values())] == types)
        ):
            self._seen[slot] = tensor = _new(Tensor)
            tensor._key = 0
            tensor._both = (self, out)
            self._position += 1
            return tensor
        return self._general(primitive, (x,), attributes)

    def operation2(self, primitive: Primitive, x: Any, y: Any) -> Any:
        """The same for two inputs and no attributes."""
        expected, a, b, slot, out = self._pairs[self._position]
        if expected is primitive and self._here.tapes is self._listening:
            seen = self._seen
            u, v = seen[a], seen[b]
            if (u is x or (a < 0 and type(u) is type(x) and u == x and x)) and (
                v is y or (b < 0 and type(v) is type(y) and v == y and y)
            ):
                seen[slot] = tensor = _new(Tensor)
                tensor._key = 0
                tensor._both = (self, out)
                self._position += 1
                return tensor
        return self._general(primitive, (x, y), None)

    def operation(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        """The same for any number of inputs."""
        if len(inputs) == 2 and not attributes:
            return self.operation2(primitive, *inputs)
        return self._general(primitive, inputs, attributes)

    def _general(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        if self._here.tapes is not self._listening:
            return self._outside(primitive, inputs, attributes)
        out = self._operation(primitive, inputs, attributes)
        if out is MISS:
            for x in inputs:
                if type(x) is not Tensor and not isinstance(x, Variable) and type(x) not in PYTHON_NUMBERS:
                    return apply(primitive, as_tensors(primitive, inputs), attributes)
            out = self._on_another_path(lambda: self._operation(primitive, inputs, attributes))
            if out is MISS:
                self._leave(f"{primitive.name} was not expected", learn=True)
                return apply(primitive, inputs, attributes)
        return out

    def _operation(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        event: Any = self._events[self._position]
        if type(event) is not Operation or event.primitive is not primitive:
            return MISS
        attributes = attributes or None
        if attributes is not None or event.attributes is not None:  # noqa: SIM102
            if attributes != event.attributes or exactly(attributes) != event.exactly:
                return MISS
        if not self._all_fit(event.specs, inputs):
            return self._forget()
        if event.checked:
            return self._checked(event, inputs)
        if primitive.multiple:
            out: Any = tuple([self._pending(known) for known in event.outs])
        else:
            out = self._pending(event.outs[0])
        self._position += 1
        self._end_reached()
        return out

    def _checked(self, event: Operation, inputs: tuple[Any, ...]) -> Any:
        """The result of an operation that computes at once."""
        out = self._outside(event.primitive, inputs, event.attributes)
        results = out if event.primitive.multiple else (out,)
        for known, result in zip(event.outs, results):
            if result._array.shape != known.shape or result._array.dtype != known.dtype:
                return self._forget()
            self._seen[known.slot] = result
        self._position += 1
        self._end_reached()
        return out

    def _pending(self, known: Out) -> Tensor:
        """A tensor for a result, which has its value already if a program was run before."""
        slot = known[0]
        self._seen[slot] = tensor = _new(Tensor)
        tensor._key = 0
        if slot in self._values:
            give(tensor, self._values[slot])
        else:
            tensor._both = (self, known)
        return tensor

    # -- other events -------------------------------------------------------------------------------------------------

    def assign(self, variable: Variable, method: str, value: Any) -> None:
        """Give a variable a value that is computed when somebody looks."""
        if type(value) is not Tensor or not is_pending(value):
            value = own_result(self, variable._fitting(value, method))
        if self._here.tapes is not self._listening:
            self.interrupt("a variable is assigned inside another listener's block")
        elif not self._expects(Assign, lambda event: event.method == method, (variable, value)):
            self._leave(f"{method} was not expected", learn=True)
        if self._over:
            getattr(variable, method)(value)
            return
        event: Any = self._events[self._position - 1]
        if method == "assign" and type(array_of(value)) is np.ndarray:
            self._seen[event.outs[0].slot] = tensor = wrap(value._array)
        else:
            tensor = self._pending(event.outs[0])
        tensor._key = variable._key
        variable._tensor = tensor
        self._end_reached()

    def update(self, optimizer: Any, pairs: list[Any]) -> None:
        """Give the variables of an optimizer values that are computed when somebody looks."""
        settings: Any = optimizer._pure_settings()
        given = [*[g for g, _ in pairs], *[v for _, v in pairs]]

        def fits(event: Update) -> bool:
            same = event.optimizer() is optimizer and len(event.gradients) == len(pairs)
            return same and event.settings == settings

        def inputs(event: Update) -> Any:
            return [*given, *map(self._touched, event.touched)]

        if self._here.tapes is not self._listening:
            self.interrupt("an optimizer steps inside another listener's block")
        elif not self._expects(Update, fits, inputs):
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
        self._end_reached()

    def _touched(self, spec: Any) -> Any:
        """The variable that an optimizer will write."""
        slot = spec if type(spec) is int else spec.slot
        known = self._seen[slot]
        return self._trace.variables[slot]() if known is None else known

    def _expects(self, kind: type, check: Callable[[Any], bool], inputs: Any) -> bool:
        """Return whether an event of this kind with these inputs is expected, on this path or another."""
        if self._happens(kind, check, inputs) is True:
            return True
        return self._on_another_path(lambda: self._happens(kind, check, inputs)) is True

    def _happens(self, kind: type, check: Callable[[Any], bool], inputs: Any) -> Any:
        """Return True if the next event is this one; `inputs` may be a function of it."""
        event: Any = self._events[self._position]
        if type(event) is not kind or not check(event):
            return MISS
        given = inputs(event) if callable(inputs) else inputs
        if not self._all_fit(self._trace.specs[self._position], given):
            return self._forget()
        self._position += 1
        return True

    def _on_another_path(self, attempt: Callable[[], Any]) -> Any:
        """Try the event on the other traces that began as this one did."""
        mine = self._trace
        if len(self._traces) == 1 or self._is_complete:
            return MISS
        start = mine.starts[self._position]
        # A program may have run ahead: what it computed of events to come is for this path alone.
        self._values = {slot: value for slot, value in self._values.items() if slot < start}
        self._early = {}
        for other in self._traces:
            if other is not mine and mine.shared_with(other) >= self._position:
                self._use(other)
                result = attempt()
                if result is not MISS:
                    return result
        self._use(mine)
        return MISS

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
        wanted = Enter(tape._persistent, tape._watch_accessed_variables)
        if tape._state != "entered" and self._events[self._position] == wanted:
            self._position += 1
        elif tape._state == "entered" or not self._expects(Enter, wanted.__eq__, ()):
            self._leave("a tape was not expected", learn=True)
            tape.__enter__()
            return True
        tape._pass = self
        self._tapes.append(weakref.ref(tape))
        self._open.append(tape)
        return True

    def exit(self, tape: GradientTape, kind: Any) -> bool:
        """End a tape's block."""
        if self._over:
            return False
        inside = kind is None and self._here.tapes is self._listening
        event: Any = self._events[self._position]
        if inside and type(event) is Exit and self._is(tape, event.tape):
            self._position += 1
        elif not inside or not self._expects(Exit, lambda event: self._is(tape, event.tape), ()):
            self._leave(
                "a block was not expected to end" if kind is None else "an exception", learn=kind is None
            )
            tape.__exit__(kind, None, None)
            return True
        if tape in self._open:  # not if it was asked inside its block
            self._open.remove(tape)
        self._end_reached()
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
        targets, wanted, weights = _flat(target), _flat(sources), None
        ends = [*targets, *wanted]
        if method == "gradient":
            if options[0] is not None:
                weights = nest.flatten(options[0])
                ends += weights
            options = options[1:]
        for i, end in enumerate(ends):
            if type(end) is not Tensor and type(end) is not Variable:
                ends[i] = original(end)

        def fits(event: Ask) -> bool:
            same = event.method == method and event.options == options and self._is(tape, event.tape)
            return (
                same and len(event.targets) == len(targets) and (event.weights is None) is (weights is None)
            )

        if self._here.tapes is not self._listening or not self._expects(Ask, fits, ends):
            self._leave(f"{method} was not expected", learn=True)
            self.rebuild(tape)
            return getattr(tape, method)(target, sources, *given)
        event: Any = self._events[self._position - 1]
        if tape in self._open and not tape._persistent:
            self._open.remove(tape)
        self._asked.add(event.tape)
        results = [None if out is None else self._pending(out) for out in event.outs]
        self._end_reached()
        return results[0] if wanted and sources is wanted[0] else nest.pack_sequence_as(sources, results)

    def _is(self, tape: GradientTape, number: int) -> bool:
        return number < len(self._tapes) and self._tapes[number]() is tape

    # -- computing as ever -------------------------------------------------------------------------------------------

    def _outside(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        """Compute an operation as ever, for its value alone."""
        for x in inputs:
            tensor = x._tensor if isinstance(x, Variable) else x
            if type(tensor) is Tensor and is_pending(tensor):
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
            with inside():
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
        if not self._is_complete and not self._complete(trace.held(end, self._seen)):
            return
        self._close()
        self._done(None)

    def _end_reached(self) -> None:
        """End the pass now if its last event has happened, and nothing is in use that passes like it do not need.

        What it took from outside is then freed as soon as it would be otherwise. Where that is much, small results that
        nobody has asked for are computed as well.
        """
        trace = self._trace
        if self._position < len(trace.events) or self._open or trace.is_prefix:
            return
        held = trace.held(self._position, self._seen)
        others = [slot for slot in held if slot not in trace.outputs and is_pending(self._seen[slot])]
        if not others or (
            trace.input_elements > _MUCH and all(trace.sizes[slot] <= _SMALL for slot in others)
        ):
            self._complete(held)

    def _complete(self, held: list[int]) -> bool:
        """Compute the results that something holds; returns False if the pass was left, because that failed."""
        needed = [slot for slot in held if is_pending(self._seen[slot])]
        if needed and not self._computed_by_program(self._position, needed):
            self._give_up("the trace cannot be compiled")
            return False
        for number, reference in enumerate(self._tapes):
            tape = reference()
            if number in self._asked and tape is not None and not tape._persistent:
                self._settle(tape, number)
        self._let_go(held)
        self._is_complete = True
        return True

    def _settle(self, tape: GradientTape, number: int) -> None:
        """Leave a tape that has answered its only question as it would be: without records, and with its variables."""
        tape._pass = None
        tape._state = "used"
        if tape._watch_accessed_variables:
            for slot in self._trace.read_in(number, self._position):
                variable = self._variables[slot]
                if variable._watchable:
                    tape._watched[variable._key] = variable

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
            self._replayed(finished=True)

    def _leave(self, reason: str, learn: bool = False) -> None:
        """Compute all that was handed out as ever, tapes included; `learn` the rest of the pass."""
        if self._position == len(self._trace.events) and not self._open:
            self.finish()
        else:
            self._give_up(reason, learn)

    def _give_up(self, reason: str, learn: bool = False) -> None:
        self._close()
        here, tapes = self._here, [tape for tape in map(_referent, self._tapes) if self._answers_for(tape)]
        is_heard = here.tapes is self._listening
        # In place: blocks with other listeners give the list back when they end.
        self._listening[:] = self._replayed()
        learn = learn and is_heard and len(tapes) == len(self._tapes)
        self._done((reason, learn))
        if learn:
            events = self._trace.events[: self._position]
            seen = self._seen[: self._trace.starts[self._position]]
            self._learner().resume(events, seen, self._variables, self._read, tapes)

    def _close(self) -> None:
        self._over = True
        self._here.hot = None


def _flat(structure: Any) -> list[Any]:
    """The leaves of what a tape is asked about; a tensor or variable is itself one."""
    if type(structure) is Tensor or type(structure) is Variable:
        return [structure]
    leaves: list[Any] = nest.flatten(structure)
    return leaves


def _referent(reference: weakref.ref[GradientTape]) -> GradientTape | None:
    return reference()
