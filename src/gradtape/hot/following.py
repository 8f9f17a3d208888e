"""Follower: expects the events of a trace, and hands out tensors whose values are computed when somebody looks."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from ..core import nest
from ..core.pending_tensors import fill, is_pending
from ..core.stand_in import original
from ..core.tape import GradientTape
from ..core.tensor import Tensor, array_of, new_tensor, wrap
from ..core.variable import Variable
from .expected_operations import ExpectedOperations
from .function_calls import arguments_with, given
from .learning import Learner
from .pass_events import (
    Ask,
    Assign,
    Call,
    Enter,
    Exit,
    Out,
    Update,
    Watch,
)
from .pass_tensors import own_result
from .pass_trace import OFTEN, Trace, UsualEnd
from .pending_values import PendingValues
from .sparse_gradients import divided, joined

_numpy_of = Tensor.__dict__["_array"].__get__
_MUCH = 1 << 16  # elements from outside, which are freed as soon as the pass is complete,
_SMALL = 1 << 10  # and of a result that is computed for that although nobody may look


class Follower(ExpectedOperations):
    """One pass of this thread that is expected to be like an earlier one.

    Args:
        trace: the expected events.
        traces: all traces of the place in the code, for another path.
        done: called with None when the pass ends, or with the reason why it was left.
        learner: gives what learns the rest of a pass that took an unknown path.
        begin: called with the tape of the next pass, and the frame that enters it.
        goes_on: begins the next pass with the same trace, if it may; called with that and `traces` as well. Returns
            whether it did.
        patience: how often a pass must end inside a trace before that is compiled.
    """

    __slots__ = ("_begin", "_done", "_goes_on", "_learner", "_patience")

    def __init__(
        self,
        trace: Trace,
        traces: list[Trace],
        done: Callable[[Any], None],
        learner: Callable[[], Learner],
        begin: Callable[[GradientTape, Any], bool],
        goes_on: Callable[[Trace, list[Trace], GradientTape, Any], bool] | None = None,
        patience: int = 2,
    ) -> None:
        PendingValues.__init__(self, trace, traces)
        self._done = done
        self._learner = learner
        self._begin = begin
        self._goes_on = goes_on
        self._patience = patience
        self._here.hot = self
        self._here.tapes = self._listening

    # -- variables and functions --------------------------------------------------------------------------------------

    def assign(self, variable: Variable, method: str, value: Any, noted: str | None = None) -> None:
        """Give a variable a value that is computed when somebody looks; traces may know the method by another name."""
        noted = noted or method
        position = self._position
        quick = self._assigns.get(position)
        if quick is not None and self._here.tapes is self._listening:
            expected, a, b, slot, out, before = quick
            seen = self._seen
            if (
                expected == noted
                and seen[a] is variable
                and seen[b] is value
                and (not before or seen[before] is variable._tensor)
            ):
                self._position = position + 1
                if self._values or not self._by_numpy:
                    self._give_variable(variable, self._pending(out))
                else:
                    tensor = new_tensor()
                    tensor._key = variable._key
                    tensor._both = (self, out)
                    seen[slot] = variable._tensor = tensor
                if position == self._last:
                    self._end_reached()
                return
        if type(value) is not Tensor or not is_pending(value):
            value = own_result(self, variable._fitting(value, method))
        if self._here.tapes is not self._listening:
            self.interrupt("a variable is assigned inside another listener's block")
        elif not self._expects(Assign, lambda event: event.method == noted, (variable, value)):
            self._leave(f"{method} was not expected", learn=True)
        if self._over:
            getattr(variable, method)(value)
            return
        event: Any = self._events[self._position - 1]
        self._give_variable(variable, self._assigned(event.outs[0], method, value))
        self._end_reached()

    def _give_variable(self, variable: Variable, tensor: Tensor) -> None:
        tensor._key = variable._key
        variable._tensor = tensor

    def _assigned(self, out: Out, method: str, value: Tensor) -> Tensor:
        """The new value of a variable."""
        if method == "assign" and type(array_of(value)) is np.ndarray:
            self._seen[out.slot] = tensor = wrap(value._array)
            return tensor
        return self._pending(out)

    def update(self, optimizer: Any, pairs: list[Any], aggregates: bool | None = None) -> None:
        """Give the variables of an optimizer values that are computed when somebody looks."""
        settings: Any = optimizer._pure_settings()
        parts, slices = divided(g for g, _ in pairs)
        given = [*parts, *[v for _, v in pairs]]

        def fits(event: Update) -> bool:
            same = event.optimizer() is optimizer and event.slices == slices
            return same and event.settings == settings and event.aggregates is aggregates

        def inputs(event: Update) -> Any:
            return [*given, *map(self._touched, event.touched)]

        if self._here.tapes is not self._listening:
            self.interrupt("an optimizer steps inside another listener's block")
        elif not self._expects(Update, fits, inputs):
            self._leave("an optimizer's step was not expected", learn=True)
        if self._over:
            optimizer._apply_as(pairs, aggregates)
            return
        self._optimizers.append(optimizer)
        event: Any = self._events[self._position - 1]
        for spec, out in zip(event.touched, event.outs):
            self._give_variable(self._seen[spec if type(spec) is int else spec.slot], self._pending(out))
        self._end_reached()

    def updates(self, optimizer: Any, pairs: list[Any]) -> bool:
        """Do the same if this is the expected step, for the very gradients and variables; returns whether it is."""
        quick = self._trace.quick.updates.get(self._position)
        if quick is None or self._here.tapes is not self._listening:
            return False
        reference, wanted, gradients, variables, first, written = quick
        if reference() is not optimizer or len(pairs) != len(gradients):
            return False
        seen = self._seen
        for pair, a, b in zip(pairs, gradients, variables):
            if type(pair) is not tuple or len(pair) != 2 or seen[a] is not pair[0] or seen[b] is not pair[1]:
                return False
        if optimizer._pure_settings() != wanted or not self._are_read(first):
            return False
        self._optimizers.append(optimizer)
        self._position += 1
        if self._values or not self._by_numpy:
            for slot, out in written:
                self._give_variable(seen[slot], self._pending(out))
        else:
            for slot, out in written:
                variable, tensor = seen[slot], new_tensor()
                tensor._key = variable._key
                tensor._both = (self, out)
                seen[out[0]] = tensor
                variable._tensor = tensor
        self._end_reached()
        return True

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The results of the expected call of a compiled function, and values of the variables that it writes."""
        if self._here.tapes is not self._listening:
            self.interrupt("a compiled function is called inside another listener's block")
            return NotImplemented
        parts: Any = given(args, kwargs)

        def fits(event: Call) -> bool:
            same = event.function() is function and event.exactly == parts.exactly
            return same and event.others == parts.others

        def inputs(event: Call) -> Any:
            return [*parts.tensors, *map(self._touched, event.variables)]

        if parts is None or not self._expects(Call, fits, inputs):
            self._leave("a compiled function was not expected", learn=True)
            return function._call(args, kwargs)
        event: Any = self._events[self._position - 1]
        tensors = [self._pending(out) for out in event.outs]
        count = len(tensors) - len(event.written)
        for i, tensor in zip(event.written, tensors[count:]):
            self._give_variable(self._touched(event.variables[i]), tensor)
        self._end_reached()
        return arguments_with(event.results, tensors[:count])

    def _touched(self, spec: Any) -> Any:
        """The variable that an optimizer or a function will read or write."""
        slot = spec if type(spec) is int else spec.slot
        known = self._seen[slot]
        return self._trace.variables[slot]() if known is None else known

    # -- tapes --------------------------------------------------------------------------------------------------------

    def enter(self, tape: GradientTape, frame: Any) -> bool:
        """Begin a tape's block; that of an outermost tape begins the next pass."""
        if self._here.tapes is not self._listening:
            return False
        if self._open:
            return self.open(tape)
        usual = self._trace.usual
        if usual is not None and self._computes_as_usual(usual):
            if self._starts_again(usual, tape, frame):
                return True
            self._close_as_usual(usual)
            self._done(None)
            return self._begin(tape, frame)
        if not self._can_wait():
            self.finish()
            return self._begin(tape, frame)
        self._close()
        self._done(None)  # first: if it closes the door, the next pass is not followed
        is_begun = self._begin(tape, frame)
        self._complete(self._trace.held(self._position, self._seen))
        return is_begun

    def start(self, tape: GradientTape) -> bool:
        """Begin the block of the outermost tape, with which the trace begins."""
        if tape._state == "entered":
            return self.open(tape)
        self._position = 1
        tape._pass = self
        self._tapes.append(weakref.ref(tape))
        self._open.append(tape)
        if not self._by_numpy:
            self._guess()
        return True

    def _starts_again(self, usual: UsualEnd, tape: GradientTape, frame: Any) -> bool:
        """Begin the next pass with this object, if that pass may be like this one; returns whether it has begun."""
        trace, here, goes_on, before = self._trace, self._here, self._goes_on, self._seen
        # Nobody waits for a result of this pass: those in use have their values, and no array stands for another.
        if (
            goes_on is None
            or usual.kept is None
            or self._arrays
            or here.replica is not None
            or here.is_inside
            or tape._state == "entered"
        ):
            return False
        seen = self._blank[:]
        for slot, value, result in usual.kept:
            variable, tensor = before[slot], before[result]
            if variable._tensor is not tensor:  # somebody else has assigned it
                return False
            seen[slot], seen[value] = variable, tensor
        if not goes_on(trace, self._traces, tape, frame):
            return False
        last = self._tapes[0]()
        if last is not None:
            self._settle(last, 0)
        self._asked.clear()
        if self._optimizers:
            self._optimizers = []
        if self._values:
            self._values = {}
        if self._read or self._reads:
            self._read, self._reads = {}, []
        if self._small:
            self._small = {}
        self._counted = 0
        self._seen = seen
        before = []  # frees what nothing else has of the last pass
        for slot, reference in [*trace.outside.items()]:  # another thread may add some
            seen[slot] = reference()
        self._position = 1
        self._tapes = [weakref.ref(tape)]
        self._open.append(tape)
        tape._pass = self
        return True

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
        if self._position == 1:
            self._guess()
        return True

    def not_entered(self, tape: GradientTape) -> None:
        """Forget a tape whose block does not begin, because an interrupt came."""
        if self._over:
            return
        tape._pass = None
        self._tapes = [reference for reference in self._tapes if reference() is not tape]
        self._open = [other for other in self._open if other is not tape]
        enters = [i for i, event in enumerate(self._trace.events) if type(event) is Enter]
        if len(self._tapes) < len(enters):
            self._position = min(self._position, enters[len(self._tapes)])
        if not self._open:
            self._close()
            self._done(("an exception", False))

    def exit(self, tape: GradientTape, kind: Any) -> bool:
        """End a tape's block."""
        if self._over:
            return False
        inside = kind is None and self._here.tapes is self._listening
        position, is_open = self._position, self._open
        event: Any = self._events[position]
        if inside and type(event) is Exit and self._tapes[event.tape]() is tape:
            self._position = position + 1
            if len(is_open) == 1 and is_open[0] is tape:
                is_open.pop()
                if position == self._last:
                    self._end_reached()
                return True
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
        position, seen = self._position, self._seen
        quick = self._asks.get(position)
        if quick is None or method != "gradient" or self._here.tapes is not self._listening:
            return self._ask_in_general(method, tape, target, sources, options)
        number, a, slots, unconnected, outs = quick
        is_list = type(sources) is list
        wanted = sources if is_list else (sources,)
        if (
            seen[a] is not target
            or options[0] is not None
            or options[1] is not unconnected
            or len(wanted) != len(slots)
            or self._tapes[number]() is not tape
        ):
            return self._ask_in_general(method, tape, target, sources, options)
        for slot, x in zip(slots, wanted):
            if seen[slot] is not x:
                return self._ask_in_general(method, tape, target, sources, options)
        self._position = position + 1
        results: list[Any]
        if self._open or self._values or position == self._last:
            results = self._answer(tape, number, outs)
            return results if is_list else results[0]
        self._asked.add(number)
        results = []
        for out in outs:
            tensor = None
            if out is not None:  # as `_pending` does
                tensor = new_tensor()
                tensor._key = 0
                tensor._both = (self, out)
                seen[out[0]] = tensor
            results.append(tensor)
        return results if is_list else results[0]

    def _ask_in_general(
        self, method: str, tape: GradientTape, target: Any, sources: Any, options: tuple[Any, ...]
    ) -> Any:
        """The same for any question."""
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
        results = joined(self._answer(tape, event.tape, event.outs), event.slices)
        return results[0] if wanted and sources is wanted[0] else nest.pack_sequence_as(sources, results)

    def _answer(self, tape: GradientTape, number: int, outs: tuple[Out | None, ...]) -> list[Any]:
        """The results of a question, after which a tape's block has ended unless it is persistent."""
        if self._open and tape in self._open and not tape._persistent:
            self._open.remove(tape)
        self._asked.add(number)
        results = [None if out is None else self._pending(out) for out in outs]
        if self._position == self._end:
            self._end_reached()
        return results

    def _is(self, tape: GradientTape, number: int) -> bool:
        return number < len(self._tapes) and self._tapes[number]() is tape

    # -- the end ------------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """End the pass where it is: compute what is in use."""
        trace, end = self._trace, self._position
        if end < len(trace.events):
            trace.straight = 0
            trace.stops[end] += 1
            if trace.stops[end] < self._patience:
                self._leave("the pass ended early")
                return
        if not self._is_complete:
            held = trace.held(end, self._seen)
            if self._by_numpy:
                trace.usual = trace.usual_end(end, held)
            if not self._complete(held):
                return
        self._close()
        self._done(None)

    def _computes_as_usual(self, usual: UsualEnd) -> bool:
        """Compute the results if the same are in use as at the end of the last pass; returns whether that is so.

        With `_close_as_usual` it does what `finish` does for any pass, but to call `_done`, in 4 us instead of 11.
        """
        if self._position != self._end or self._is_complete or self._trace.is_broken:
            return False
        seen = self._seen
        if [*map(getrefcount, usual.take(seen))] != usual.counts:
            return False
        with self._lock:
            values = self._values
            if not values:
                try:
                    results = self._usual_results(usual)
                except Exception:  # `finish` runs it again, and finds out what to do
                    return False
            elif values.keys() >= usual.program.covered:
                results = [values[slot] for slot in usual.program.outputs]
            else:
                return False
            for slot, i in usual.held:
                tensor = seen[slot]
                try:
                    promise = tensor._both
                except AttributeError:  # it has its value
                    continue
                if type(promise) is tuple:
                    if len(promise) == 2:  # as `fill` does
                        tensor._array = results[i]
                        del tensor._both
                    else:
                        fill(tensor, results[i])
        return True

    def _close_as_usual(self, usual: UsualEnd) -> None:
        """End a pass whose results are computed, and let it go."""
        with self._lock:
            self._is_complete = True
            self._close()
            tape = self._tapes[0]()
            if tape is not None:
                self._settle(tape, 0)
            if self._arrays:
                self._let_go([slot for slot, _ in usual.held])
            else:  # tensors without values, which nothing uses any more, refer to the pass
                self._seen, self._variables = [], {}

    def _computed_as_usual(self, slot: int) -> bool:
        usual = self._trace.usual
        if usual is None or self._position != self._end or self._values or self._trace.is_broken:
            return False
        program = usual.program
        if slot not in program.covered:
            return False
        try:
            results = self._usual_results(usual)
        except Exception:  # `_run` runs it again, and finds out what to do
            return False
        self._values = dict(zip(program.outputs, results))
        return True

    def _usual_results(self, usual: UsualEnd) -> list[Any]:
        """The results of the whole pass, by NumPy; as `_run` computes them."""
        trace, seen = self._trace, self._seen
        results: list[Any] = self._here.run(usual.program.function, *map(_numpy_of, usual.inputs(seen)))
        if trace.steady < 0:  # not the tensors of the last pass: see `_fits_tensor`
            for slot in trace.tensor_slots:
                last = trace.outside.get(slot)
                if last is None or last() is not seen[slot]:
                    trace.came_from_outside(slot, seen[slot], self._small.get(slot))
            trace.steady = 0
        trace.runs += 1
        return results

    def _can_wait(self) -> bool:
        """Return whether all is computed, and is so little that the next pass may begin before this one is let go."""
        trace = self._trace
        if self._position < len(trace.events) or self._is_complete or self._ready_at != -1:
            return False
        return trace.elements + trace.input_elements < _MUCH and self._values.keys() >= trace.outputs

    def _end_reached(self) -> None:
        """End the pass now if its last event has happened, and nothing is in use that passes like it do not need.

        What it took from outside is then freed as soon as it would be otherwise. Where that is much, small results that
        nobody has asked for are computed as well.
        """
        trace = self._trace
        if self._position < len(trace.events) or self._open or trace.is_prefix:
            return
        usual = trace.usual_at_once
        if usual is not None and self._computes_as_usual(usual):
            self._close_as_usual(usual)
            self._done(None)
            return
        if trace.late >= OFTEN:
            return
        is_much = trace.input_elements > _MUCH
        held = trace.held(self._position, self._seen)
        others = [slot for slot in held if slot not in trace.outputs and is_pending(self._seen[slot])]
        if not others or (is_much and all(trace.sizes[slot] <= _SMALL for slot in others)):
            if self._by_numpy:
                trace.usual_at_once = trace.usual_end(self._position, held)
            self._complete(held)
        else:
            trace.late += 1
            self._last = trace.last

    def _complete(self, held: list[int]) -> bool:
        """Compute the results that something holds; returns False if the pass was left, because that failed."""
        seen, values = self._seen, self._values
        needed = [slot for slot in held if is_pending(seen[slot])]
        missing = [slot for slot in needed if slot not in values]
        if missing and not self._computed_by_program(self._position, missing):
            if self._over:  # the next pass has begun
                self._values |= {slot: self._computed_by_hand(slot) for slot in missing}
            else:
                self._give_up("the trace cannot be compiled")
                return False
        with self._lock:
            values = self._values
            for slot in needed:
                if is_pending(seen[slot]):  # else another thread has looked at it meanwhile
                    fill(seen[slot], values[slot])
        del seen
        if self._position == len(self._trace.events):
            self._trace.straight += 1
            self._trace.steady += 1
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
        if tape._known:  # it was used before
            tape._forget()
        tape._state = "used"
        trace, variables, watched = self._trace, self._variables, {}
        asked, read = trace.watched_by(number, self._position)
        for slot in asked:
            variable = variables[slot]
            if variable.dtype.has_gradients:
                watched[variable._key] = variable
        if tape._watch_accessed_variables:
            for slot in read:
                variable = variables[slot]
                if variable._watchable:
                    watched[variable._key] = variable
            if self._reads:
                start, stop = trace.block(number, self._position)
                between = [variable for at, variable in self._reads if start <= at <= stop]
                watched.update({variable._key: variable for variable in between if variable._watchable})
        tape._watched = watched

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
            self._replayed()

    def _leave(self, reason: str, learn: bool = False) -> None:
        """Compute all that was handed out as ever, tapes included; `learn` the rest of the pass."""
        if self._position == len(self._trace.events) and not self._open:
            self.finish()
        else:
            self._give_up(reason, learn)

    def _give_up(self, reason: str, learn: bool = False) -> None:
        self._trace.straight = 0
        self._close()
        here, tapes = self._here, [reference() for reference in self._tapes]
        # A tape that is gone, as that of a function which has returned its gradients, is asked no more.
        is_known = all(tape is None or self._answers_for(tape) for tape in tapes)
        learn = learn and is_known and here.tapes is self._listening
        # In place: blocks with other listeners give the list back when they end.
        self._listening[:] = self._replayed()
        self._done((reason, learn))
        if learn:
            events = self._trace.events[: self._position]
            seen = self._seen[: self._trace.starts[self._position]]
            used = {slot: variable for slot, variable in self._variables.items() if slot < len(seen)}
            self._learner().resume(events, seen, used, self._read, self._tapes)

    def _close(self) -> None:
        self._over = True
        self._here.hot = None


def _flat(structure: Any) -> list[Any]:
    """The leaves of what a tape is asked about; a tensor or variable is itself one."""
    if type(structure) is Tensor or type(structure) is Variable:
        return [structure]
    leaves: list[Any] = nest.flatten(structure)
    return leaves
