"""The witness: while origins are traced, it hears of every operation on every tensor, and where in the code it was.

It listens like a tape, and observes values that leave for NumPy or Python and come back, assignments, and tapes. It
remembers keys, dtypes, shapes and lines, but no arrays.
"""

from __future__ import annotations

import itertools
import os
import sys
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from types import FrameType
from typing import Any

import numpy as np

from ..core.observers import Observer
from ..core.primitive import Here, Listener, Primitive, leave_hot, local
from ..core.stand_in import original
from ..core.tape import GradientTape
from ..core.tensor import Tensor, key_of
from ..core.tensor_conversion import is_tensor
from ..core.user_code import user_frame
from ..core.variable import Variable
from .evidence import name_in
from .judge import note_call
from .not_finite import BackwardStep, backward_step, bad, describe, forward_cure
from .origins import Call, Event, History, histories, name_of, origin
from .profile import Ledger
from .value_picture import Picture, picture_of

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIMIT = 200_000  # events remembered: some 100 MB; the oldest go first


class Witness(Listener, Observer):
    """Hears of everything, and remembers the lighter part: keys, dtypes, shapes and lines, but no arrays.

    Args:
        profile: also measure times.
        values: also remember a picture of each value: statistics, and a sample of the elements.
    """

    def __init__(self, profile: bool = False, values: bool = False) -> None:
        self.events: deque[Event] = deque(maxlen=_LIMIT)
        self.calls: deque[Call] = deque(maxlen=50)
        self.variables: dict[int, str] = {}  # names, by key
        self.ledger = Ledger() if profile else None
        self.elapsed = 0.0  # seconds of the operation that is being computed, if profiled
        self.backward: dict[int, float] = {}  # seconds, by an output's key
        self.first: Event | None = None  # the first that was not finite
        self.nan: BackwardStep | None = None  # the first step of a sweep that made a NaN or infinity
        self.gradients: set[int] = set()  # keys of gradients that tapes gave
        # Where a user's own rule gave None: from an output's key, to an input's.
        self.lost: set[tuple[int, int]] = set()
        self.pictures: dict[int, Picture] | None = {} if values else None  # by key
        self._sweep = ""  # the tape that sweeps now, on tensors
        self._clock = itertools.count(1)
        self._home = local.here  # of the thread that began it
        self._entered: dict[int, tuple[Any, Event]] = {}  # by the array's id
        self._departed: dict[int, tuple[Callable[[], Any], Event]] = {}  # by the id of what was given out
        self._firsts: dict[int, tuple[Any, int]] = {}  # by the id of what came in
        self._runs: dict[int, tuple[Here, Any]] = {}  # what `Here.run` was, by the id of the thread's Here

    @property
    def is_full(self) -> bool:
        """Whether the oldest events have been forgotten."""
        return len(self.events) == _LIMIT

    @property
    def now(self) -> int:
        """The time: each moment is later than those before."""
        return next(self._clock)

    def key(self, x: Any) -> int:
        """The key of a tensor. One that came from NumPy or Python a moment ago is seen here for the first time."""
        fresh = not x._key
        key = key_of(x)
        if fresh:
            array = x._array
            entry = self._entered.get(id(array))
            if entry is not None and entry[0]() is array:
                event = entry[1]
                event.outputs = (*event.outputs, key)
        return key

    # -- operations ---------------------------------------------------------------------------------------------------

    def _on_operation(
        self, primitive: Primitive, inputs: tuple[Tensor, ...], attributes: Any, out: Any
    ) -> None:
        outputs = out if primitive.multiple else (out,)
        passes = tuple([primitive.rule_of(i) is not None for i in range(len(inputs))])
        self._note("operation", primitive.name, inputs, outputs, passes)

    def _on_custom(self, plan: Any, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        self._note("custom", plan.name, inputs, outputs, (True,) * len(inputs))

    def _on_read(self, variable: Variable) -> None:
        self.variables[variable._key] = variable._name

    def _note(self, kind: str, name: str, inputs: Any, outputs: Any, passes: tuple[bool, ...]) -> None:
        event = Event(
            self.now,
            kind,
            name,
            tuple([self.key(x) for x in inputs]),
            tuple([key_of(o) for o in outputs]),
            tuple([(x._array.dtype, x._array.shape) for x in inputs]),
            tuple([(o._array.dtype, o._array.shape) for o in outputs]),
            passes,
            origin(),
            seconds=self.elapsed,
            sweep=self._sweep,
        )
        self.elapsed = 0.0
        if self.pictures is not None:
            self._picture([*zip(event.inputs, inputs), *zip(event.outputs, outputs)])
        event.bad = next(filter(None, [bad(o._array) for o in outputs]), "")
        if event.bad and (name == "gradient" or any(bad(x._array) for x in inputs)):
            event.bad = ""
        if event.bad:
            event.values = ", ".join(describe(x._array) for x in inputs)
            event.cure = forward_cure(name, [x._array for x in inputs])
            self.first = self.first or event
        self.events.append(event)
        if self.ledger is not None:
            self.ledger.forward(event)

    def _picture(self, values: list[tuple[int, Any]]) -> None:
        """Remember values that were not seen before."""
        assert self.pictures is not None
        if len(self.pictures) > _LIMIT:
            self.pictures.clear()
        for key, tensor in values:
            if key not in self.pictures and (picture := picture_of(tensor._array)) is not None:
                self.pictures[key] = picture

    # -- values that leave and come back ------------------------------------------------------------------------------

    def _on_export(self, tensor: Tensor, how: str, value: Any) -> None:
        key = self.key(tensor)
        event = Event(
            self.now,
            "left",
            _ours_inside() or how,
            (key,),
            given=((tensor._array.dtype, tensor._array.shape),),
            where=origin(),
        )
        self.events.append(event)
        if isinstance(value, (np.ndarray, memoryview)):
            self._departed[id(value)] = (weakref.ref(value), event)
        elif not isinstance(value, bool):
            self._departed[id(value)] = (lambda: value, event)
        if len(self._departed) > 10_000:
            self._departed.clear()

    def _on_import(self, value: Any, array: Any) -> None:
        if not isinstance(array, np.ndarray):
            return
        frame = user_frame()
        if _literal(value, frame):
            self._entered.pop(id(array), None)
            return
        event = Event(self.now, "entered", type(value).__name__, where=origin(frame))
        event.made = ((array.dtype, array.shape),)
        event.link = self.departure_of(value)
        event.since = self._first_entry(value, event.time)
        self.events.append(event)
        if len(self._entered) > 10_000:
            self._entered = {k: v for k, v in self._entered.items() if v[0]() is not None}
        self._entered[id(array)] = (weakref.ref(array), event)

    def _first_entry(self, value: Any, time: int) -> int:
        """When this very object came in for the first time: what left after that is not what it was made of."""
        try:
            holder: Any = weakref.ref(value)
        except TypeError:  # a number or a list
            return time
        entry = self._firsts.get(id(value))
        if entry is not None and entry[0]() is value:
            return entry[1]
        if len(self._firsts) > 10_000:
            self._firsts.clear()
        self._firsts[id(value)] = (holder, time)
        return time

    def departure_of(self, value: Any) -> Event | None:
        """The departure of a value of NumPy's or Python's, or of the array it is a view of; None if not seen."""
        for candidate in value if isinstance(value, (list, tuple)) else (value,):
            while candidate is not None:
                held = self._departed.get(id(candidate))
                if held is not None and held[0]() is candidate:
                    return held[1]
                # An array of NumPy's has its memory from its base, and a memoryview from its obj.
                candidate = getattr(candidate, "obj" if type(candidate) is memoryview else "base", None)
        return None

    def _on_assign(self, variable: Variable, method: str, value: Any) -> None:
        if method == "tf.Variable(...)" and type(value) is not Tensor:
            return
        self.variables[variable._key] = variable._name
        if self.pictures is not None:
            self.pictures.pop(variable._key, None)
        keys = (self.key(value),) if is_tensor(value) else ()
        like = (variable._array.dtype, variable._array.shape)
        given = (like,) * len(keys)
        event = Event(self.now, "assign", method, keys, (variable._key,), given, (like,), where=origin())
        self.events.append(event)

    # -- tapes --------------------------------------------------------------------------------------------------------

    def _history(self, tape: GradientTape) -> History:
        history = histories.get(tape)
        if history is None or history.witness is not self:
            history = histories[tape] = History(self)
        return history

    def _on_start(self, tape: GradientTape, resumes: bool) -> None:
        self.attend()
        self._sweep = ""
        history = self._history(tape)
        if not tape._records and not tape._known:  # it begins, or begins anew
            history.spans.clear()
            history.watched.clear()
        history.spans.append([self.now, None, not resumes])

    def _on_stop(self, tape: GradientTape, pauses: bool) -> None:
        spans = self._history(tape).spans
        if spans:
            spans[-1][1] = self.now
        here = local.here
        if here is not self._home and here.tapes == [self]:
            self.leave(here)

    def _on_watch(self, tape: GradientTape, thing: Any) -> None:
        self._history(tape).watched.setdefault(key_of(thing), (self.now, origin()))

    def _on_reset(self, tape: GradientTape) -> None:
        history = self._history(tape)
        history.watched.clear()
        history.since = self.now

    def _on_gradients(
        self, tape: GradientTape, targets: list[Any], sources: list[Any], gradients: list[Any]
    ) -> None:
        self._sweep = ""
        found = [g for g in gradients if type(g) is Tensor]
        self.gradients.update(key_of(g) for g in found)
        if local.here.tapes in ([], [self]):  # no tape recorded how they were computed
            used = [original(s) for s, g in zip(sources, gradients, strict=True) if g is not None]
            inputs = [x for x in (*targets, *used) if is_tensor(x)]
            for g in found:
                self._note("operation", "gradient", inputs, [g], (True,) * len(inputs))
        missing = [s for s, g in zip(sources, gradients, strict=True) if g is None]
        if missing:
            self.calls.append(note_call(tape, targets, missing, user_frame()))

    def _on_refusal(
        self, tape: GradientTape, targets: list[Any], sources: list[Any], error: TypeError
    ) -> None:
        proper = [s for s in sources if isinstance(original(s), (Tensor, Variable))]
        if proper:
            self.calls.append(note_call(tape, targets, proper, user_frame(), error))

    # -- sweeps -------------------------------------------------------------------------------------------------------

    def _on_sweep(self, tape: GradientTape, seeds: dict[int, Any], records: list[Any]) -> None:
        self._sweep = f"gradient by {name_in(user_frame(), tape, 'tape')}"
        if self.ledger is not None:
            self.ledger.keeps(records)

    def _on_pull(self, key: Any, plan: Any, into: Any, kept: Any, g: Any, parts: Any, seconds: float) -> None:
        outputs = key if type(key) is tuple else (key,)
        if self.ledger is not None:
            first = outputs[0]
            if len(self.backward) > 1_000_000:
                self.backward.clear()
            self.backward[first] = self.backward.get(first, 0.0) + seconds
            self.ledger.backward(first, name_of(plan), seconds)
        lost = [k for k, part in zip(into, parts, strict=True) if part is None]
        self.lost.update((output, k) for k in lost for output in outputs)
        if self.nan is None:
            step = backward_step(key, plan, kept, g, parts)
            self.nan = step and replace(step, time=self.now)

    # -- threads ------------------------------------------------------------------------------------------------------

    def attend(self) -> None:
        """Listen in this thread."""
        here = local.here
        leave_hot("origins are traced")
        if self not in here.tapes:
            here.tapes = [self, *here.tapes]
            if self.ledger is not None:
                self._runs[id(here)] = (here, here.run)
                here.run = _timed(here.run, self)

    def leave(self, here: Here | None = None) -> None:
        """No longer listen in a thread, by default the one that began."""
        here = here or self._home
        here.tapes = [listener for listener in here.tapes if listener is not self]
        if id(here) in self._runs:
            here.run = self._runs.pop(id(here))[1]


def _timed(run: Any, witness: Witness) -> Any:
    def timed(function: Any, *arrays: Any, **attributes: Any) -> Any:
        start = perf_counter()
        try:
            return run(function, *arrays, **attributes)
        finally:
            witness.elapsed = perf_counter() - start

    return timed


def _literal(value: Any, frame: FrameType | None) -> bool:
    """Return whether a value stands in the code as it is, so that it did not come from a tensor."""
    if isinstance(value, (list, tuple)):
        return all(_literal(element, frame) for element in value)
    if isinstance(value, (bool, int, str, bytes)):
        return True
    if not isinstance(value, (float, complex)):
        return False
    while frame is not None:
        for constant in frame.f_code.co_consts:
            if constant is value or (type(constant) is tuple and any(one is value for one in constant)):
                return True
        frame = frame.f_back
    return False


# A value that leaves inside one of our own functions leaves through that function.
_INSIDE = {"constant": "tf.constant()", "_on_arrays": "tf.numpy_function"}


def _ours_inside() -> str:
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        if frame.f_code.co_qualname in _INSIDE:
            return _INSIDE[frame.f_code.co_qualname]
        frame = frame.f_back
    return ""
