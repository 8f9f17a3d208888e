"""The events of a replica: noted while it computes as ever, and run once more, in its thread or in a program of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ..core.primitive import local
from ..core.tape import GradientTape
from ..core.variable import Variable
from ..hot.learning import Unfit
from ..hot.pass_events import Assign, Call, Event, Meet, Number, Out, Spec, Update, written_by
from ..hot.pending_values import Restored
from ..hot.sparse_gradients import joined
from .replica_gradients import CustomLearner, CustomReplay

ON_COPY = "on its copy: "  # before the name of a method by which a replica assigns to its copy of a variable


class ReplicaLearner(CustomLearner):
    """The events of a replica, while it computes as ever."""

    def __init__(self, done: Callable[[Any], None], thread: Any) -> None:
        super().__init__(done, begin_none)
        self._thread = thread

    def enter(self, tape: GradientTape, frame: Any) -> bool:
        """Begin a tape's block; all are of this pass, which lasts as long as the function."""
        if self._here.tapes is not self._listening:
            return False
        self.open(tape)
        return True

    def assign(self, variable: Variable, method: str, value: Any, noted: str | None = None) -> None:
        """Assign a value to a variable, and note whether that is the replica's copy."""
        super().assign(variable, method, value, name_of(method, self._here.replica))

    def ask(
        self, method: str, tape: GradientTape, target: Any, sources: Any, options: tuple[Any, ...]
    ) -> Any:
        """Answer a question as ever, and note whether replicas met for the gradient of a sum over them."""
        before = self._thread.meetings
        answer = super().ask(method, tape, target, sources, options)
        if self._thread.meetings > before:
            self._note(lambda: Meet(method))
        return answer

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a compiled function and note it; not while copies of variables are updated."""
        if self._here.replica.updates_copies:
            self.interrupt("a compiled function is called in an update of variables")
            return NotImplemented
        return super().call(function, args, kwargs)

    def _call(self, function: Any, args: Any, kwargs: Any, leaves: list[Any], result: Any) -> Event:
        try:
            return super()._call(function, args, kwargs, leaves, result)
        except Unfit:  # as one that draws random numbers: what it does is noted the next time
            function.is_python_in_replicas = True
            raise

    def end(self) -> None:
        """End the pass with the function, if it is still learned."""
        if self._here_is_mine():
            self.finish()


class ReplicaReplay(CustomReplay):
    """A run of events inside a replica, which assigns to the variables themselves."""

    def _input(self, spec: Spec) -> Any:
        if isinstance(spec, Number):
            return spec.value
        return self._end(spec)

    def _assign(self, event: Assign) -> None:
        variable, value = self._end(event.specs[0]), self._input(event.specs[1])
        method = getattr(variable, event.method.removeprefix(ON_COPY))
        if event.method.startswith(ON_COPY):
            local.here.replica.alike(lambda: method(value))
        else:
            method(value)
        self.result(event.outs[0].slot, variable._now)

    def _update(self, event: Update) -> None:
        optimizer: Any = event.optimizer()
        gradients = joined([self._end(spec) for spec in event.gradients], event.slices)
        variables = [self._end(spec) for spec in event.variables]
        optimizer._apply_as(list(zip(gradients, variables, strict=True)), event.aggregates)
        for spec, out in zip(event.touched, event.outs, strict=True):
            self.result(out.slot, self._end(spec)._now)

    def _call(self, event: Call) -> None:
        for slot, result in zip([out.slot for out in event.outs], self._results_of(event)):
            self.result(slot, result)
        for spec, out in writes_of(event):
            self.result(out.slot, self._end(spec)._now)

    _STEPS: ClassVar[dict[type, Any]] = {**CustomReplay._STEPS, Assign: _assign, Update: _update, Call: _call}


class RestoredReplica(ReplicaReplay, Restored):
    """A replay that gives the tensors of a replica their values and keys, and tapes their records."""


def name_of(method: str, replica: Any) -> str:
    """The name by which passes know a method of a variable that a replica calls."""
    return ON_COPY + method if replica.updates_copies else method


def begin_none(tape: GradientTape, frame: Any) -> bool:
    """The pass ends with the function."""
    return False


def slot_of(spec: Any) -> int:
    """The slot of a tensor or variable, new or known."""
    slot: int = spec if isinstance(spec, int) else spec.slot
    return slot


def writes_of(event: Event) -> list[tuple[Spec, Out]]:
    """The variables that an event writes, with their new values."""
    if isinstance(event, Assign):
        return [(event.specs[0], event.outs[0])]
    if isinstance(event, Call):
        return [(event.variables[i], out) for i, out in written_by(event)]
    return list(zip(event.touched, event.outs, strict=True)) if isinstance(event, Update) else []
