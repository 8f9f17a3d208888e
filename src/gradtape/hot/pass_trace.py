"""Trace: the events of one pass, as they are expected of the next, and the programs compiled from them."""

from __future__ import annotations

import functools
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import prod
from operator import itemgetter
from sys import getrefcount
from typing import Any, NamedTuple

from ..core.slicing import getitem
from ..core.tensor import Tensor
from ..core.variable import Variable
from ..engine.reference_counts import RELIABLE
from .pass_events import (
    END,
    Ask,
    Assign,
    Call,
    Custom,
    Enter,
    Event,
    Exit,
    NewNumber,
    NewTensor,
    NewVariable,
    Number,
    Operation,
    Out,
    Update,
    Watch,
    is_scalar,
    outs_of,
    slot_of,
    specs_of,
)
from .quick_events import QuickEvents

_held_here = [object(), object()]
_UNSHARED = max(
    map(getrefcount, itemgetter(0, 1)(_held_here))
)  # the count of what only one list holds, as below


OFTEN = 8  # passes that could not be completed with their last event, after which that is not tried again


class SmallInput(NamedTuple):
    """A copy of a small tensor from outside, as `tf.zeros([8])` gives one in every pass: others may have its value."""

    tensor: Tensor
    bits: bytes


@dataclass(slots=True)
class UsualEnd:
    """What is left to do at the end of a pass, if the same is in use as at the end of the last one."""

    take: Callable[[list[Any]], tuple[Any, ...]]  # the results among the objects of a pass,
    counts: list[int]  # and their reference counts
    held: list[
        tuple[int, int]
    ]  # the slots of those that are in use, and their positions in what the program gives
    inputs: Callable[[list[Any]], tuple[Any, ...]]  # what the program takes, among the objects of a pass
    program: Any
    # Each variable, and where among the objects are its values before and after the pass; None if shapes are not known.
    kept: list[tuple[int, int, int]] | None


class Trace:
    """The events of a pass, and the programs compiled from them.

    Args:
        events: in the order in which they happened.
        variables: by slot.
        outputs: the slots of results that were in use when the pass ended.
        by_numpy: whether its programs are code of NumPy's functions, and not compiled.
    """

    def __init__(
        self,
        events: list[Event],
        variables: dict[int, weakref.ref[Variable]],
        outputs: set[int],
        by_numpy: bool = False,
    ) -> None:
        self.events = events
        self.variables = variables
        self.outputs = outputs
        self.by_numpy = by_numpy
        self.programs: dict[Any, Any] = {}  # by the number of events and the outputs
        self.stops: Counter[int] = Counter()  # how often a pass ended after so many events
        self.starts = list(_slots_before(events))  # the number of slots before each event, and after the last
        self.gains: dict[bool, Any] = {}  # by NumPy's functions, and by XLA: see `gains`
        self.runs = 0  # of its programs, since `Place` has last looked at that
        self.renewed = 0  # tensors from outside that were others than in the pass before, in the same time;
        self.usually_renewed = 0.0  # and in a pass of the time before
        self.passing = (
            0  # tensors from outside that were gone when the pass ended, and so are others in each pass
        )
        # After how many events tensors from outside are cut, at other indices in each pass. Their parts are inputs.
        self.cuts: frozenset[int] = frozenset()
        # Why its programs cannot be NumPy's functions, or compiled, if that was tried in vain.
        self.unfit: str | None = None
        self.uncompiled: str | None = None
        self.is_broken: Any = False  # why it cannot be compiled, if it cannot
        # Tensors from outside that passes were given last, by slot; never one of them twice.
        self.outside: dict[int, weakref.ref[Tensor]] = {}
        self._likely: list[tuple[int, weakref.ref[Any]]] | None = None  # see `expected`
        self._slots_outside: dict[int, int] = {}  # of them, by their id,
        self._ids_outside: dict[int, int] = {}  # and the other way round
        self.small: dict[
            int, SmallInput
        ] = {}  # copies of small ones among them, which are likely to come again
        self._lock = threading.Lock()
        self.current: dict[int, Any] = {}  # the programs for the outputs of now, by the number of events
        self.with_end: list[Event] = [*events, END]
        self.begins_plainly = events[:1] == [Enter(False, True)]  # with a tape as most are
        self._updates = [(i, event) for i, event in enumerate(events) if isinstance(event, Update)]
        self.specs = [specs_of(event) for event in self.with_end]
        self.quick = QuickEvents(events, self.variables, self.starts[-1])
        # How the last pass ended that went as passes go: with the next pass, or with its last event.
        self.usual: UsualEnd | None = None
        self.usual_at_once: UsualEnd | None = None
        self._held: dict[int, tuple[list[int], list[int]]] = {}
        self._results: dict[int, list[int]] = {}
        self._getters: dict[int, Callable[[list[Any]], tuple[Any, ...]]] = {}
        self._reach: dict[int, int] = {}
        self._inputs: dict[int, tuple[list[Any], list[int]]] = {}
        self._variables_of: dict[int, list[tuple[NewVariable, weakref.ref[Variable]]]] = {}
        self._watched_by: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        self.sizes = {out.slot: prod(out.shape) for event in events for out in outs_of(event)}  # by slot
        self.elements = sum(self.sizes.values())
        self.input_elements = sum(prod(getattr(spec, "shape", ())) for spec in self.inputs(len(events)))
        # What the steps of optimizers write, which a compiled pass has twice for a while: before and after.
        self.updated_elements = sum(self.sizes[out.slot] for _, event in self._updates for out in event.outs)
        self.late = (
            0  # passes whose results were in use with their last event that are not with the next pass
        )
        self.is_prefix = False  # whether another trace of its place goes on where this one ends
        # Passes in a row that went to the end of the trace, and of them those that were given the same tensors.
        self.straight = self.steady = 0
        self.sure = 3  # how many of them it takes to start programs before the end of a pass
        blocking = [i for i, event in enumerate(events) if _takes_new(event)]
        self.ready_at = blocking[-1] + 1 if blocking else 0  # after so many events all from outside is known
        self.tensor_slots = [spec.slot for spec in self.inputs(len(events)) if isinstance(spec, NewTensor)]
        # Whether a program may be started for the tensors of the last pass: all else it takes are variables.
        self.can_guess = not any(_computes(event) for event in events)

    def computed(self, by_numpy: bool) -> Trace:
        """The trace whose programs are code of NumPy's functions, or are compiled: this one, or another like it.

        Passes of other threads that are followed now go on with this one.
        """
        if by_numpy is self.by_numpy:
            return self
        other = Trace([*self.events], self.variables, {*self.outputs}, by_numpy)
        other.sure, other.passing, other.cuts, other.stops = (
            self.sure,
            self.passing,
            self.cuts,
            self.stops.copy(),
        )
        other.unfit, other.uncompiled = self.unfit, self.uncompiled
        other.usually_renewed = self.usually_renewed
        return other

    @property
    def last(self) -> int:
        """The position of the event with which passes may be completed; -1 if they are with the next pass."""
        return len(self.events) - 1 if self.late < OFTEN or self.usual_at_once is not None else -1

    def expected(self) -> list[Any]:
        """The objects that the next pass is likely to meet, by slot; and after these the numbers: see `QuickEvents`."""
        likely = self._likely
        if likely is None:
            with self._lock:
                # Those of compiled programs are read before the pass begins: see `Follower._guess`.
                variables = self.variables.items() if self.by_numpy else ()
                likely = self._likely = [*self.outside.items(), *variables]
        objects = self.quick.blank[:]
        for slot, reference in likely:
            objects[slot] = reference()
        return objects

    def shared_with(self, other: Trace) -> int:
        """The number of events that two traces begin with in common."""
        for i, (mine, others) in enumerate(zip(self.events, other.events)):
            if mine is not others and mine != others:
                return i
        return min(len(self.events), len(other.events))

    def is_prefix_of(self, other: Trace) -> bool:
        """Return whether another trace begins with all events of this one, and goes on."""
        return len(other.events) > len(self.events) == self.shared_with(other)

    def shares_variables(self, other: Trace) -> bool:
        """Return whether two traces have a variable in common, or both have none."""
        mine, others = (
            {spec.key for spec, _ in trace.variables_of(len(trace.events))} for trace in (self, other)
        )
        return not mine.isdisjoint(others) or not (mine or others)

    def share(self, other: Trace, count: int) -> None:
        """Take over the first events of another trace, equal to these: what is one is quick to compare."""
        self.events[:count] = self.with_end[:count] = other.events[:count]

    def reach(self, position: int) -> int:
        """How many events can be computed when so many have happened: up to one that needs something new."""
        if position not in self._reach:
            self._reach[position] = self._find_reach(position)
        return self._reach[position]

    def _find_reach(self, position: int) -> int:
        for i in range(position, len(self.events)):
            if _takes_new(self.events[i]):
                return i
        return len(self.events)

    def settings_hold(self, start: int, end: int) -> bool:
        """Return whether the optimizers of these events have the expected settings, which a program is made with."""
        return all(
            (optimizer := event.optimizer()) is not None and optimizer._pure_settings() == event.settings
            for i, event in self._updates
            if start <= i < end
        )

    def inputs(self, end: int) -> list[NewNumber | NewTensor | NewVariable]:
        """What the first `end` events take from outside."""
        if end not in self._inputs:
            specs = [spec for event in self.events[:end] for spec in specs_of(event)]
            found = [spec for spec in specs if isinstance(spec, (NewNumber, NewTensor, NewVariable))]
            self._inputs[end] = found, [spec.slot for spec in found]
        return self._inputs[end][0]

    def input_slots(self, end: int) -> list[int]:
        """The slots of what the first `end` events take from outside."""
        self.inputs(end)
        return self._inputs[end][1]

    def variables_of(self, end: int) -> list[tuple[NewVariable, weakref.ref[Variable]]]:
        """The variables that the first `end` events use."""
        if end not in self._variables_of:
            specs = [spec for spec in self.inputs(end) if isinstance(spec, NewVariable)]
            self._variables_of[end] = [(spec, self.variables[spec.slot]) for spec in specs]
        return self._variables_of[end]

    def came_from_outside(self, slot: int, tensor: Tensor, small: SmallInput | None) -> None:
        """Note a tensor from outside, or its value, which the next pass is likely to be given as well."""
        with self._lock:
            self.small.pop(slot, None)
            if small is not None:
                self.small[slot] = small
            other = self._slots_outside.get(id(tensor))
            if other is not None:
                self.outside.pop(other, None)
            self._slots_outside.pop(self._ids_outside.get(slot, 0), None)
            self._slots_outside[id(tensor)] = slot
            self._ids_outside[slot] = id(tensor)
            self.outside[slot] = weakref.ref(tensor)
            self._likely = None

    def held(self, position: int, seen: list[Any]) -> list[int]:
        """The slots of results of the first events that something else holds than `seen`; all if nobody can tell."""
        slots = self._results.get(position)
        if slots is None:
            slots = [out.slot for event in self.events[:position] for out in outs_of(event)]
            self._results[position] = slots
            if len(slots) > 1:
                self._getters[position] = itemgetter(*slots)
        if not RELIABLE or len(slots) < 2:
            return slots
        counts = [*map(getrefcount, self._getters[position](seen))]
        last = self._held.get(position)
        if last is not None and last[0] == counts:  # as in most passes
            return last[1]
        found = [slot for slot, count in zip(slots, counts) if count > _UNSHARED]
        self._held[position] = counts, found
        return found

    def usual_end(self, position: int, held: list[int]) -> UsualEnd | None:
        """What was in use at the end of a pass, as `held` has just found it; None if that cannot be told."""
        program = self.current.get(position)
        if position != len(self.events) or position not in self._getters or program is None or not RELIABLE:
            return None
        counts, found = self._held[position]
        if found is not held or not self._has_one_tape or not program.covered.issuperset(held):
            return None
        results = [(slot, program.outputs.index(slot)) for slot in held]
        inputs = _getter([self.quick.value_at.get(slot, slot) for slot in program.slots])
        return UsualEnd(self._getters[position], counts, results, inputs, program, self._kept_values())

    def _kept_values(self) -> list[tuple[int, int, int]] | None:
        """The slots of the variables, and the indices of their values before the pass and after it."""
        if len(self.fixed_variables) < len(self.quick.value_at):
            return None
        last = dict(self.fixed_variables)
        for event in self.events:
            if isinstance(event, Assign):
                last[slot_of(event.specs[0])] = event.outs[0].slot
            elif isinstance(event, Update):
                last |= {slot_of(spec): out.slot for spec, out in zip(event.touched, event.outs, strict=True)}
            elif isinstance(event, Call):
                return None
        return [(slot, before, last[slot]) for slot, before in self.fixed_variables]

    @functools.cached_property
    def _has_one_tape(self) -> bool:
        """Whether passes have one tape, which is asked once and then keeps nothing."""
        tapes = [event for event in self.events if isinstance(event, Enter)]
        asked = [event for event in self.events if isinstance(event, Ask)]
        return len(tapes) == len(asked) == 1 and not tapes[0].persistent

    def wants(self, slots: Iterable[int]) -> None:
        """Add results to those that passes like this one need."""
        if not self.outputs.issuperset(slots):
            self.outputs.update(slots)
            self.current = {}
            self.usual = self.usual_at_once = None

    @functools.cached_property
    def fixed_variables(self) -> list[tuple[int, int]]:
        """The slots of the variables whose shapes are known, and the indices of their values: see `QuickEvents`."""
        found = [spec.slot for spec, _ in self.variables_of(len(self.events)) if spec.is_fixed]
        return [(slot, self.quick.value_at[slot]) for slot in found]

    def watched_by(self, number: int, end: int) -> tuple[list[int], list[int]]:
        """The slots of the variables that a tape was asked to watch, and of those read while its block was open."""
        found = self._watched_by.get((number, end))
        if found is None:
            asked = [e for e in self.events[:end] if isinstance(e, Watch) and e.tape == number]
            start, stop = self.block(number, end)
            read = [e for e in self.events[start:stop] if isinstance(e, (Operation, Call, Custom))]
            found = self._watched_by[number, end] = self._variables_in(asked), self._variables_in(read)
        return found

    def watched_slots(self, end: int) -> set[int]:
        """The slots of all that tapes were told to watch in the first `end` events."""
        watched: Any = [
            spec for event in self.events[:end] if isinstance(event, Watch) for spec in event.specs
        ]
        return {spec if isinstance(spec, int) else spec.slot for spec in watched}

    def _variables_in(self, events: list[Any]) -> list[int]:
        slots = [s if isinstance(s, int) else getattr(s, "slot", -1) for e in events for s in e.specs]
        return [*dict.fromkeys(slot for slot in slots if slot in self.variables)]

    def block(self, number: int, end: int) -> tuple[int, int]:
        """The position of the first event in the block of a tape, and of the one that ended it."""
        start = [i for i, event in enumerate(self.events) if isinstance(event, Enter)][number] + 1
        for i in range(start, end):
            event = self.events[i]
            if isinstance(event, (Exit, Ask)) and event.tape == number:
                return start, i
        return start, end

    @functools.cached_property
    def producers(self) -> dict[int, Event]:
        """The event that each result is of, by slot."""
        return {out.slot: event for event in self.events for out in outs_of(event)}

    def first_write(self, slot: int) -> int:
        """The slot of the first value that a variable, known by its own slot, is given."""
        return self._first_writes[slot]

    @functools.cached_property
    def _first_writes(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for event in self.events:
            specs = event.specs[:1] if isinstance(event, Assign) else getattr(event, "touched", ())
            for spec, out in zip(specs, outs_of(event)):
                found.setdefault(spec if isinstance(spec, int) else spec.slot, out.slot)
        return found

    @functools.cached_property
    def fingerprint(self) -> str:
        """Tells traces of different processes apart: the events, without what only this process knows."""
        import hashlib  # takes 3 ms, and replicas alone need it

        text = "\n".join(repr(_told(event)) for event in self.events)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def is_dead(self) -> bool:
        """Whether a variable or optimizer of it is gone."""
        optimizers = [event.optimizer for event in self.events if isinstance(event, Update)]
        return any(reference() is None for reference in [*self.variables.values(), *optimizers])


# Of an event: references, and inputs, which `specs` has as well.
_SPECS = frozenset(
    [
        "optimizer",
        "function",
        "targets",
        "sources",
        "gradients",
        "inputs",
        "variables",
        "touched",
        "weights",
        "copied",
    ]
)


def _told(event: Event) -> Any:
    """An event as another process would know it."""
    parts = {"specs": [s._replace(key=0) if isinstance(s, NewVariable) else s for s in specs_of(event)]}
    for name, value in event._asdict().items():
        if name == "primitive":
            parts[name] = value.name
        elif name == "settings":  # begins with the ids of objects
            parts[name] = value[2:]
        elif name not in _SPECS:
            parts.setdefault(name, value)
    return type(event).__name__, parts


def merged(old: Trace, new: Trace) -> Trace | None:
    """One trace for two passes; None if they differ in more than it can leave open.

    That are Python numbers, which become inputs, and the indices by which tensors from outside are cut. Such parts of
    them are computed at once, and are inputs as well.
    """
    new = _rewritten(new, cuts=_cuts_as(old, new))
    if len(old.events) != len(new.events):
        return None
    numbers = [
        (i, k)
        for i, (a, b) in enumerate(zip(old.events, new.events))
        for k, (x, y) in enumerate(zip(specs_of(a), specs_of(b)))
        if isinstance(x, NewNumber) and isinstance(y, Number) and is_scalar(y.value)
    ]
    new = _rewritten(new, numbers)
    differences = _differences(old, new)
    if differences is None:
        return None
    if not any(differences):
        old.wants(new.outputs)
        return old
    new.cuts |= old.cuts
    return _rewritten(new, *differences)


def _differences(old: Trace, new: Trace) -> tuple[list[tuple[int, int]], list[int]] | None:
    """The places in which two traces differ; None if more differs.

    Returns:
        The places of Python numbers, as events and inputs; and the events that cut tensors from outside.
    """
    numbers, cuts = [], []
    can_cut = set(_cuts(new))
    for i, (a, b) in enumerate(zip(old.events, new.events)):
        if a is b or a == b:
            continue
        if not (isinstance(a, Operation) and isinstance(b, Operation) and len(a.specs) == len(b.specs)):
            return None
        if i in can_cut and a._replace(attributes=None, exactly=None) == b._replace(
            attributes=None, exactly=None
        ):
            cuts.append(i)
            continue
        if a._replace(specs=()) != b._replace(specs=()) or not _takes_floats(a):
            return None
        for k, (x, y) in enumerate(zip(a.specs, b.specs)):
            if x != y:
                if not (isinstance(x, Number) and isinstance(y, Number)):
                    return None
                if not is_scalar(x.value) or not is_scalar(y.value):
                    return None
                numbers.append((i, k))
    return numbers, cuts


def _cuts(trace: Trace) -> Iterator[int]:
    """The events that cut a tensor from outside, or a part of one, that no tape watches."""
    outside = {*trace.tensor_slots}.difference(trace.watched_slots(len(trace.events)))
    for i, event in enumerate(trace.events):
        if isinstance(event, Operation) and event.primitive is getitem:
            spec: Any = event.specs[0]
            if (spec if isinstance(spec, int) else spec.slot) in outside:
                outside.add(event.outs[0].slot)
                yield i


def _cuts_as(old: Trace, new: Trace) -> list[int]:
    """The events by which a trace cuts tensors from outside where another one computes that at once."""
    found: list[int] = []
    if old.cuts:
        for i in _cuts(new):
            if i - len(found) in old.cuts:
                found.append(i)
    return found


def _takes_floats(event: Operation) -> bool:
    """Return whether a Python number among the inputs becomes a scalar of the other inputs' dtype, of floats."""
    primitive = event.primitive
    return (
        primitive.elementwise and not primitive.mixed and event.dtype is not None and event.dtype.kind == "f"
    )


def _rewritten(trace: Trace, numbers: Iterable[tuple[int, int]] = (), cuts: Iterable[int] = ()) -> Trace:
    """A trace with the numbers at these places as inputs, and without these events, whose results become inputs.

    The slots are numbered anew.
    """
    numbers, cuts = set(numbers), set(cuts)
    if not numbers and not cuts:
        return trace
    moved: dict[int, int] = {}
    events: list[Event] = []
    later: dict[int, NewTensor] = {}  # tensors from outside that are yet to be used
    count = 0
    for i, event in enumerate(trace.events):
        specs: list[Any] = list(specs_of(event))
        if i in cuts:
            later |= {spec.slot: spec for spec in specs if not isinstance(spec, int)}
            later |= {out.slot: NewTensor(*out) for out in outs_of(event)}
            continue
        changed: dict[str, Any] = {}
        for k, spec in enumerate(specs):
            if isinstance(spec, int) and spec in later:
                spec = later.pop(spec)
            if (i, k) in numbers:
                specs[k] = NewNumber(count, event.dtype)  # type: ignore[union-attr]
                count += 1
            elif isinstance(spec, int):
                specs[k] = moved[spec]
            elif not isinstance(spec, Number):
                moved[spec.slot] = count
                specs[k] = spec._replace(slot=count)
                count += 1
        outs: list[Any] = []
        for out in getattr(event, "outs", ()):
            if out is not None:
                moved[out.slot] = count
                out = out._replace(slot=count)
                count += 1
            outs.append(out)
        rest = iter(specs)
        for name in (
            "specs",
            "targets",
            "sources",
            "weights",
            "gradients",
            "inputs",
            "copied",
            "variables",
            "touched",
        ):
            part = event._asdict().get(name)
            if part is not None:
                changed[name] = tuple(next(rest) for _ in part)
        if hasattr(event, "outs"):
            changed["outs"] = tuple(outs)
        events.append(event._replace(**changed))
    variables = {moved[slot]: reference for slot, reference in trace.variables.items()}
    outputs = {moved[slot] for slot in trace.outputs if slot in moved}
    other = Trace(events, variables, outputs, trace.by_numpy)
    other.sure, other.passing = trace.sure, trace.passing
    before = [i - sum(cut < i for cut in cuts) for i in (*trace.cuts, *cuts)]
    other.cuts = frozenset(before)
    return other


def _getter(slots: list[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """A function that takes the objects in these slots out of those of a pass."""
    if len(slots) > 1:
        return itemgetter(*slots)
    return lambda objects: tuple([objects[slot] for slot in slots])


def _takes_new(event: Event) -> bool:
    """Return whether an event takes something from outside that may be another in every pass, or computes at once."""
    return _computes(event) or any(isinstance(spec, NewTensor) for spec in specs_of(event))


def _computes(event: Event) -> bool:
    """Return whether an event computes at once, or takes a Python number that may be another in every pass."""
    if isinstance(event, Operation) and event.checked:
        return True
    return any(isinstance(spec, NewNumber) for spec in specs_of(event))


def _slots_before(events: list[Event]) -> Iterator[int]:
    count = 0
    for event in events:
        yield count
        count += sum(not isinstance(spec, (int, Number)) for spec in specs_of(event)) + len(outs_of(event))
    yield count


def size(out: Out) -> int:
    """The number of elements of a result."""
    return prod(out.shape)
