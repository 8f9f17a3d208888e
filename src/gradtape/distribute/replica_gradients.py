"""Functions with a gradient of the user's (`tf.custom_gradient`) in passes of replicas.

The function runs as ever, and its operations are events like others. Its gradient function is called when a tape is
asked, so what it does comes before the question among the events, between `Pull` and `Pulled`. A replica that is
followed calls it with tensors without values; a replay runs the events when the tape's sweep comes to them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

from ..core.custom import record_custom
from ..core.primitive import local
from ..core.tape import GradientTape
from ..core.tensor import Tensor, wrap
from ..core.variable import Variable
from ..hot.following import Follower
from ..hot.learning import Learner, Unfit
from ..hot.pass_events import Ask, Call, Custom, Event, Number, Operation, Pull, Pulled, specs_of
from ..hot.pass_replay import Replay

Gradients = list[Any]


class CustomLearner(Learner):
    """The events of a pass, with those of gradient functions of the user's."""

    notes_calls = True
    _customs = 0  # so far
    _is_asking = _is_pulling = False  # whether a tape is asked, and whether it has called a gradient function

    @property
    def notes_custom(self) -> bool:  # type: ignore[override]
        """Whether functions with a gradient of the user's are part of the pass: nobody else listens."""
        return self._here.tapes is self._listening and not self._is_pulling

    @contextlib.contextmanager
    def telling(self, listener: Any) -> Iterator[None]:
        """A block with one more listener."""
        here = self._here
        self._listening = here.tapes = [*here.tapes, listener]
        try:
            yield
        finally:
            here.tapes = [tape for tape in here.tapes if tape is not listener]
            self._listening = here.tapes

    def custom(
        self, name: str, inputs: list[Any], results: list[Tensor], pull: Callable[..., Gradients]
    ) -> list[Tensor]:
        """Tell the tapes of a gradient as ever and note it; returns copies of the results."""
        copies = [wrap(y._array) for y in results]
        tensors = [x if type(x) is Tensor else x._read() for x in inputs]
        noted = partial(self._pulled, self._customs, pull)
        self._customs += 1
        self._computed(record_custom, name, tensors, copies, noted)
        self._note(self._custom, name, inputs, results, copies)
        return copies

    def _custom(self, name: str, inputs: list[Any], results: list[Tensor], copies: list[Tensor]) -> Event:
        specs = tuple(map(self._spec, inputs)), tuple(map(self._spec, results))
        return Custom(name, *specs, tuple(map(self._out, copies)))

    def ask(
        self, method: str, tape: GradientTape, target: Any, sources: Any, options: tuple[Any, ...]
    ) -> Any:
        """Answer a question as ever and note it, after the gradient functions that it calls."""
        self._is_asking = True
        try:
            return super().ask(method, tape, target, sources, options)
        finally:
            self._is_asking = False

    def _pulled(self, number: int, pull: Callable[..., Gradients], *gradients: Tensor) -> Gradients:
        """Call a gradient function as ever and note what it does."""
        here = self._here
        if not self._is_asking or not self._here_is_mine() or local.here is not here:
            return pull(*gradients)
        given = [self._distinct(g) for g in gradients]
        self._note(lambda: Pull(number, tuple(map(self._out, given))))
        listening, self._listening = self._listening, here.tapes
        here.hot = self if self._here_is_mine() else None
        self._is_pulling = True
        try:
            answer = pull(*given)
        finally:
            here.hot, self._listening, self._is_pulling = None, listening, False
        self._note(self._answered, answer)
        return answer

    def _answered(self, answer: Gradients) -> Event:
        return Pulled(
            tuple(g is not None for g in answer), tuple([self._spec(g) for g in answer if g is not None])
        )

    def _note(self, make: Callable[..., Event], *arguments: Any) -> None:
        if self._is_pulling:
            super()._note(_operation_only, make, *arguments)
        else:
            super()._note(make, *arguments)


def _operation_only(make: Callable[..., Event], *arguments: Any) -> Event:
    event = make(*arguments)
    if not isinstance(event, (Operation, Call)):
        raise Unfit("a gradient function of the user's uses tapes, or assigns to variables")
    return event


class Abandoned(BaseException):
    """Ends a gradient function of a pass that is left: the tape calls it once more, with values."""


class CustomFollower(Follower):
    """A pass that calls gradient functions of the user's with tensors without values."""

    __slots__ = ("_asked_at", "_pulls", "_told")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._pulls: list[Callable[..., Gradients]] = []  # the gradient functions, in the order of `Custom`
        self._told: list[tuple[int, Any]] = []  # listeners that hear of variables, and since which position
        self._asked_at = -1  # the position before the gradient functions that are called now

    @property
    def notes_custom(self) -> bool:  # type: ignore[override]
        """Whether functions with a gradient of the user's are part of the pass: nobody else listens."""
        return self._here.tapes is self._listening and self._asked_at < 0

    @contextlib.contextmanager
    def telling(self, listener: Any) -> Iterator[None]:
        """A block whose reads of variables a listener hears of, at its end."""
        self._told.append((self._position, listener))
        try:
            yield
        finally:
            if self._over:  # it was left, and the listener hears for itself
                self._here.tapes = [tape for tape in self._here.tapes if tape is not listener]
            else:
                self._tell(*self._told.pop())

    def _tell(self, start: int, listener: Any) -> None:
        """Tell a listener of the variables that were read since a position."""
        for event in self._events[start : self._position]:
            if isinstance(event, (Operation, Call, Custom)):
                for spec in specs_of(event):
                    slot: Any = None if isinstance(spec, Number) else getattr(spec, "slot", spec)
                    if slot in self._variables:
                        listener._on_read(self._variables[slot])
        for position, variable in self._reads:
            if position >= start:
                listener._on_read(variable)

    def custom(
        self, name: str, inputs: list[Any], results: list[Tensor], pull: Callable[..., Gradients]
    ) -> Any:
        """Expect a function with a gradient; returns copies of its results, without values."""

        def fits(event: Custom) -> bool:
            return event.name == name and len(event.inputs) == len(inputs)

        if not self._expects(Custom, fits, (*inputs, *results)):
            self._leave(f"{name} was not expected", learn=True)
            return NotImplemented
        event: Any = self._events[self._position - 1]
        self._pulls.append(pull)
        return [self._pending(out) for out in event.outs]

    def ask(
        self, method: str, tape: GradientTape, target: Any, sources: Any, options: tuple[Any, ...]
    ) -> Any:
        """The gradients that are expected of a tape, after it has called gradient functions."""
        if not self._over and type(self._events[self._position]) is Pull:
            asked: Any = next(e for e in self._events[self._position :] if type(e) is Ask)
            if asked.method == method and self._is(tape, asked.tape):
                self._call_gradient_functions()
        return super().ask(method, tape, target, sources, options)

    def _call_gradient_functions(self) -> None:
        self._asked_at = self._position
        try:
            while type(self._events[self._position]) is Pull:
                event: Any = self._events[self._position]
                self._position += 1
                self._end_pull(self._pulls[event.number](*[self._pending(out) for out in event.outs]))
        except Abandoned:
            pass
        finally:
            self._asked_at = -1

    def _end_pull(self, answer: Gradients) -> None:
        given = tuple(g is not None for g in answer)
        if not self._expects(
            Pulled, lambda event: event.given == given, [g for g in answer if g is not None]
        ):
            self._leave("a gradient was not expected", learn=True)

    def _give_up(self, reason: str, learn: bool = False) -> None:
        is_pulling = self._asked_at >= 0
        if is_pulling:
            self._position = self._asked_at
        for start, listener in self._told:
            self._tell(start, listener)
        super()._give_up(reason, learn)
        self._listening += [listener for _, listener in self._told]
        if is_pulling:
            raise Abandoned


class CustomReplay(Replay):
    """A replay with gradient functions of the user's: their events run when a tape calls them."""

    pulls: list[Callable[..., Gradients]] | None = (
        None  # the functions themselves, for questions after the events
    )
    _customs = 0
    _collected: list[Event] | None = None  # of a gradient function, up to its end
    _waiting: list[list[Event]]  # of those that the next question calls

    def step(self, event: Event) -> None:
        """Run one event."""
        if isinstance(event, Pull):
            self._collected = []
        if self._collected is None:
            super().step(event)
            return
        self._collected.append(event)
        if isinstance(event, Pulled):
            self._waiting, self._collected = [*getattr(self, "_waiting", []), self._collected], None

    def _custom(self, event: Custom) -> None:
        copies = [wrap(self._value(spec)._array) for spec in event.copied]
        real = self.pulls[self._customs] if self.pulls else None
        pull = partial(self._pull, self._customs, real)
        self._customs += 1
        record_custom(event.name, [self._value(spec) for spec in event.inputs], copies, pull)
        for out, copy in zip(event.outs, copies, strict=True):
            self.result(out.slot, copy)

    def _pull(self, number: int, real: Any, *gradients: Tensor) -> Gradients:
        if not getattr(self, "_waiting", None):
            return list(real(*gradients))
        first, *body, last = self._waiting.pop(0)
        if not isinstance(first, Pull) or not isinstance(last, Pulled) or first.number != number:
            raise ValueError("gradient functions of the user's are called in another order")
        for out, gradient in zip(first.outs, gradients, strict=True):
            self.result(out.slot, gradient)
        for event in body:
            self.step(event)
        answer = iter([self._value(spec) for spec in last.specs])
        return [next(answer) if given else None for given in last.given]

    def _value(self, spec: Any) -> Tensor:
        """The tensor, or the value of the variable."""
        end = self._end(spec)
        tensor: Tensor = end._read() if isinstance(end, Variable) else end
        return tensor

    _STEPS: ClassVar[dict[type, Any]] = {**Replay._STEPS, Custom: _custom}
