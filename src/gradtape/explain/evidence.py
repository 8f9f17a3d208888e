"""Evidence: the records of a tape, the events a witness saw, and the paths from sources to a target in both."""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.stand_in import original
from ..core.tape import GradientTape
from ..core.tensor import Tensor, key_of
from ..core.variable import Variable
from .origins import Event, History, Origin, history_of, name_of
from .reasons import Reason, facts_of

# ---------------------------------------------------------------------------------------------------------------------
# Targets and sources


@dataclass(slots=True)
class Subject:
    """A target or source, without its array."""

    key: int
    label: str
    kind: str  # "tensor", "variable", or "value" for what is neither
    dtype: Any = None
    shape: tuple[int, ...] = ()
    trainable: bool = True
    of_keras: bool = False
    frozen: bool = False  # for a variable of Keras: nothing trains it, though tapes watch it
    departure: Event | None = None  # for a value: how it left, if that was seen

    @property
    def code(self) -> str:
        """The label in a piece of code."""
        return "it" if "/" in self.label else self.label

    @property
    def differentiable(self) -> bool:
        return self.kind == "value" or dtypes.is_differentiable(np.empty(0, self.dtype))


def subject(thing: Any, label: str, history: History | None) -> Subject:
    """Describe a target or source, without holding its array."""
    given, thing = thing, original(thing)
    if type(thing) is not Tensor and not isinstance(thing, Variable):
        departure = history.witness.departure_of(thing) if history is not None else None
        return Subject(0, label, "value", departure=departure)
    key = thing._key
    if not key:
        key = history.witness.key(thing) if history is not None else key_of(thing)
    array = thing._array
    if isinstance(thing, Variable):
        frozen = thing.trainable and not given.trainable
        return Subject(
            key, label, "variable", array.dtype, array.shape, thing.trainable, given is not thing, frozen
        )
    return Subject(key, label, "tensor", array.dtype, array.shape)


def name_in(frame: FrameType, thing: Any, default: str) -> str:
    """The name of a value in the code of a frame: `w`, or `model.w`. A variable of Keras is known by its path."""
    if original(thing) is not thing:
        return str(thing.path)
    scopes = (frame.f_locals, frame.f_globals)
    for scope in scopes:
        for name, value in list(scope.items()):
            if value is thing and name.isidentifier() and not name.startswith("_"):
                return name
    if isinstance(thing, Variable) and thing._name != "Variable":
        return thing._name
    for scope in scopes:
        for name, value in list(scope.items()):
            inside = (
                _inside(value, thing) if name.isidentifier() and not isinstance(value, ModuleType) else ""
            )
            if inside:
                return name + inside
    return default


def _inside(value: Any, thing: Any) -> str:
    """The path to a value from an object or collection that holds it: `.w`, `[0]`; empty if it is not there."""
    if isinstance(value, (list, tuple)):
        return next((f"[{i}]" for i, held in enumerate(value) if held is thing), "")
    if isinstance(value, dict):
        return next((f"[{key!r}]" for key, held in value.items() if held is thing), "")
    attributes = getattr(value, "__dict__", None) or {}
    return next((f".{name}" for name, held in list(attributes.items()) if held is thing), "")


# ---------------------------------------------------------------------------------------------------------------------
# Records and events


@dataclass(slots=True)
class Evidence:
    """The state of a tape, and its history if a witness saw it."""

    known: set[int]
    watched: Container[int]
    records: list[Any]
    dead_ends: list[Any]
    automatic: bool  # whether variables are watched unasked
    used: bool  # whether the tape has answered, and forgotten its records
    history: History | None

    @classmethod
    def of(cls, tape: GradientTape) -> Evidence:
        """The evidence of a tape as it is now."""
        return cls(
            tape._known,
            tape._watched,
            tape._records,
            tape._dead_ends,
            tape._watch_accessed_variables,
            tape._state == "used",
            history_of(tape),
        )

    @property
    def blind(self) -> bool:
        """Whether nothing is left of what the tape recorded."""
        return self.used and self.history is None


@dataclass(slots=True)
class Hop:
    """One step of a path: from one input of an event to one of its outputs, and the reason if no gradient passes."""

    event: Event
    position: int
    to: int
    cut: Reason | None


_OUTSIDE = {
    "before": Reason.BEFORE_WATCH,
    "after": Reason.OUTSIDE,
    "paused": Reason.PAUSED,
    "forgotten": Reason.FORGOTTEN,
}
# The cost of a step with such a reason in the search for a path: the likeliest explanation is the cheapest path.
_COST = {
    None: 0.0,
    Reason.BEFORE_WATCH: 0.01,
    Reason.OUTSIDE: 0.01,
    Reason.PAUSED: 0.01,
    Reason.FORGOTTEN: 0.01,
}
_GUESSED = 50.0


class Trail:
    """The events by the tensors they made and used, as far as tape and witness know."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.history = evidence.history
        self.makers: dict[int, list[Event]] = defaultdict(list)
        self.uses: dict[int, list[Event]] = defaultdict(list)
        self.departures: list[Event] = []
        self._begin = self.history.spans[0][0] if self.history is not None and self.history.spans else 0
        self._on_tape: set[int] = set()  # ids of events from the tape's own records
        if self.history is not None:
            for event in self.history.witness.events:
                self._add(event)
        seen = set(self.makers)
        for event in recorded_events(evidence):
            self._on_tape.add(id(event))
            if not seen.issuperset(event.outputs):
                self._add(event)

    def _add(self, event: Event) -> None:
        if event.kind == "left":
            self.departures.append(event)
        for key in event.outputs:
            self.makers[key].append(event)
        for key in event.inputs:
            self.uses[key].append(event)

    def state(self, event: Event) -> str:
        """The state of the tape at an event: "on", "before", "paused", "after" or "forgotten"."""
        if id(event) in self._on_tape:
            return "on"
        if self.history is not None and self.history.spans:
            return self.history.state(event.time)
        return "on" if self.evidence.known.intersection(event.outputs) else "after"

    def cut(self, event: Event, position: int, source: int) -> Reason | None:
        """The reason why no gradient passes from an input of an event to its outputs; None if one does."""
        if event.kind == "assign":
            return Reason.OVERWRITTEN
        if event.kind == "entered":
            return Reason.LEFT
        state = self.state(event)
        if state != "on":
            return _OUTSIDE[state]
        if event.inputs[position] == source and self.history is not None:
            since = self.history.watched.get(source)
            if since is not None and event.time < since[0]:
                return Reason.BEFORE_WATCH
        if event.name == "stop_gradient":
            return Reason.STOPPED
        if self.history is not None and self.history.witness.lost:
            into = event.inputs[position]
            if any((key, into) in self.history.witness.lost for key in event.outputs):
                return Reason.NO_GRADIENT
        if event.passes and not event.passes[position]:
            is_number = not event.given or dtypes.is_differentiable(np.empty(0, event.given[position][0]))
            return Reason.DTYPE if facts_of(event.name).discrete or not is_number else Reason.NO_GRADIENT
        return None

    def path(self, source: int, target: Subject) -> list[Hop]:
        """The likeliest path from source to target, with the reasons that cut it; empty if there is none."""
        costs: dict[int, float] = {}
        after: dict[int, Hop | None] = {}
        tie = itertools.count()
        waiting: list[tuple[float, int, int, int, Hop | None]] = []
        for cost, key, hop in self._start(target):
            heapq.heappush(waiting, (cost, next(tie), key, 1 << 62, hop))
        while waiting:
            cost, _, key, time, hop = heapq.heappop(waiting)
            if key in costs:
                continue
            costs[key], after[key] = cost, hop
            if key == source and hop is not None:
                break
            for event in self._makers_before(key, time):
                for position, origin, extra in self._inputs_of(event):
                    cut = self.cut(event, position, source)
                    step = cost + 1e-6 + (extra or _COST.get(cut, 1.0))
                    heapq.heappush(
                        waiting, (step, next(tie), origin, event.time, Hop(event, position, key, cut))
                    )
        hops = []
        hop = after.get(source)
        while hop is not None:
            hops.append(hop)
            hop = after.get(hop.to)
        return hops

    def _start(self, target: Subject) -> Iterator[tuple[float, int, Hop | None]]:
        if target.kind != "value":
            yield 0.0, target.key, None
            return
        found = [target.departure] if target.departure is not None else self.departures[-100:]
        for event in reversed(found):
            yield float(target.departure is None), event.inputs[0], Hop(event, 0, 0, Reason.LEFT)

    def _makers_before(self, key: int, time: int) -> list[Event]:
        events = [event for event in self.makers.get(key, ()) if event.time < time or not event.time]
        assigned = [event for event in events if event.kind == "assign"]
        # A value assigned before the block is the variable's own: that is how it is trained.
        return [event for event in assigned[-1:] if event.time >= self._begin] if assigned else events

    def _inputs_of(self, event: Event) -> Iterator[tuple[int, int, float]]:
        """The inputs of an event: position, key, and a cost if the input is only a guess."""
        if event.kind != "entered":
            for i, key in enumerate(event.inputs):
                yield i, key, 0.0
        elif event.link is not None:
            yield 0, event.link.inputs[0], 0.0
        else:
            earlier = [
                d for d in self.departures if self._begin <= d.time < event.since and d.name != "bool()"
            ]
            for i, departure in enumerate(reversed(earlier[-100:])):
                yield 0, departure.inputs[0], _GUESSED + 0.01 * i

    def reached(self, source: int) -> tuple[set[int], list[Event]]:
        """The keys of all tensors computed from a source, and the events on the way."""
        keys, events, waiting = {source}, {}, [source]
        while waiting:
            for event in self.uses.get(waiting.pop(), ()):
                events[id(event)] = event
                for key in event.outputs:
                    if key not in keys:
                        keys.add(key)
                        waiting.append(key)
        return keys, list(events.values())

    def origin(self, key: int) -> Origin | None:
        """The line at which a tensor was made, if known."""
        made = self.makers.get(key)
        return made[-1].where if made else None

    def variable(self, key: int) -> str:
        """The name of a variable that a witness saw."""
        return self.history.witness.variables.get(key, "") if self.history is not None else ""

    def departure(self, key: int, before: int) -> Event | None:
        """The last departure of a tensor before a time."""
        found = [d for d in self.departures if d.inputs[0] == key and d.time < before]
        return found[-1] if found else None


def recorded_events(evidence: Evidence) -> Iterator[Event]:
    """The tape's own records as events, which have no time, dtypes or lines."""
    for key, plan, into, _ in evidence.records:
        outputs = key if type(key) is tuple else (key,)
        yield Event(0, "operation", name_of(plan), into, outputs, passes=(True,) * len(into))
    for name, inputs, outputs in evidence.dead_ends:
        yield Event(0, "operation", name, inputs, outputs, passes=(False,) * len(inputs))
