"""The witness: while origins are traced, it hears of every operation on every tensor, and where in the code it was.

It listens like a tape, and remembers keys, dtypes, shapes and lines, but no arrays. `tracing` tells it what no listener
hears of.
"""

from __future__ import annotations

import itertools
import linecache
import os
import sys
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from ..core.primitive import Listener, Primitive, local
from ..core.tape import GradientTape
from ..core.tensor import Tensor, key_of
from ..core.variable import Variable
from ..ops.math.numerics import not_finite

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIMIT = 200_000  # events remembered: some 100 MB; the oldest go first

# ---------------------------------------------------------------------------------------------------------------------
# Places in the code


class Origin(NamedTuple):
    """A line of the user's code."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        path = os.path.relpath(self.file) if self.file.startswith(os.getcwd() + os.sep) else self.file
        return f"{path}:{self.line}"

    @property
    def text(self) -> str:
        """What stands there, if it can be read."""
        return linecache.getline(self.file, self.line).strip()


_NOT_THE_USERS = frozenset(("gradtape", "numpy", "jax", "malt", "contextlib", "functools", "importlib"))
_ours: dict[str, bool] = {}  # by the module's name


def user_frame() -> FrameType:
    """The innermost frame that belongs neither to gradtape nor to what it calls."""
    frame: FrameType | None = sys._getframe(1)
    outermost = frame
    while frame is not None:
        name = frame.f_globals.get("__name__", "gradtape")  # what plans compile has no name
        ours = _ours.get(name)
        if ours is None:
            ours = _ours[name] = name.partition(".")[0] in _NOT_THE_USERS
        if not ours:
            return frame
        frame = frame.f_back
    assert outermost is not None
    return outermost


def origin(frame: FrameType | None = None) -> Origin:
    """Where the user's code is now."""
    frame = frame or user_frame()
    return Origin(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


# ---------------------------------------------------------------------------------------------------------------------
# What is remembered


@dataclass(slots=True, eq=False)
class Event:
    """Something that happened to tensors, which it knows by their keys."""

    time: int
    kind: str  # "operation", "custom", "assign", "left", "entered"
    name: str
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    given: tuple[tuple[Any, tuple[int, ...]], ...] = ()  # dtype and shape of each input
    made: tuple[tuple[Any, tuple[int, ...]], ...] = ()  # and of each output
    passes: tuple[bool, ...] = ()  # for each input: is there a rule for its gradient?
    where: Origin | None = None
    bad: str = ""  # "NaN", "Inf" where the result is not finite and the inputs were
    values: str = ""  # and then: what they were,
    cure: str = ""  # and what helps
    seconds: float = 0.0  # forward, if profiled
    backward: float = 0.0  # and backward
    link: Event | None = None  # for what entered: the departure of the very same value,
    since: int = 0  # and when that value entered first


@dataclass(slots=True, eq=False)
class History:
    """When a tape listened, and since when it watched what."""

    witness: Witness
    spans: list[list[Any]] = field(default_factory=list)  # [from, to or None, entered rather than resumed]
    watched: dict[int, tuple[int, Origin]] = field(default_factory=dict)
    since: int = 0  # what was before is forgotten

    def state(self, time: int) -> str:
        """What the tape did at that time: "on", "before", "paused", "after" (or "forgotten")."""
        if not self.spans or time < self.spans[0][0]:
            return "before"
        for i, (start, end, _) in enumerate(self.spans):
            if start <= time and (end is None or time <= end):
                return "on" if time >= self.since else "forgotten"
            following = self.spans[i + 1] if i + 1 < len(self.spans) else None
            if end is not None and end < time and (following is None or time < following[0]):
                return "paused" if following is not None and not following[2] else "after"
        return "after"


def history_of(tape: GradientTape) -> History | None:
    """What the witness noted about a tape, if it was on."""
    return tape.__dict__.get("_history")


@dataclass(slots=True, eq=False)
class Call:
    """A gradient that was asked for while the witness looked on, and gave None."""

    evidence: Any
    targets: list[Any]
    sources: list[Any]  # those whose gradient was None
    where: Origin
    error: BaseException | None = None  # with which it was refused


class Witness(Listener):
    """Hears of everything, and remembers the lighter part of it: keys, dtypes, shapes and lines, but no arrays."""

    def __init__(self, profile: bool = False) -> None:
        self.events: deque[Event] = deque(maxlen=_LIMIT)
        self.calls: deque[Call] = deque(maxlen=50)
        self.variables: dict[int, str] = {}
        self.profile = profile
        self.elapsed = 0.0
        self.ledger: Any = None
        self.backward: dict[int, float] = {}  # seconds, by an output's key
        self.first: Event | None = None  # the first that was not finite
        self.nan: Any = None  # the first step of a sweep that made a NaN or infinity
        self.gradients: set[int] = set()  # keys of what tapes answered
        self.lost: set[tuple[int, int]] = (
            set()
        )  # where a user's own rule gave None: from an output, to an input
        self._clock = itertools.count(1)
        self._muted = False
        self._entered: dict[int, tuple[Any, Event]] = {}  # by the array's id
        self._departed: dict[int, tuple[Callable[[], Any], Event]] = {}  # by the id of what was given out
        self._firsts: dict[int, tuple[Any, int]] = {}  # by the id of what came in
        self._runs: dict[int, tuple[Any, Any]] = {}
        if profile:
            from .profile import Ledger

            self.ledger = Ledger()

    @property
    def is_full(self) -> bool:
        """Has it begun to forget?"""
        return len(self.events) == _LIMIT

    def history(self) -> History:
        """Of no tape in particular."""
        return History(self)

    @property
    def now(self) -> int:
        return next(self._clock)

    # -- listening ----------------------------------------------------------------------------------------------------

    def _on_operation(
        self, primitive: Primitive, inputs: tuple[Tensor, ...], attributes: Any, out: Any
    ) -> None:
        outputs = out if primitive.multiple else (out,)
        passes = tuple([primitive.rule_of(i) is not None for i in range(len(inputs))])
        self._note("operation", primitive.name, inputs, outputs, passes)

    def _on_custom(self, plan: Any, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        self._note("custom", plan.name, inputs, outputs, (True,) * len(inputs))

    def _on_read(self, variable: Any) -> None:
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
        )
        self.elapsed = 0.0
        event.bad = next(filter(None, [_bad(o._array) for o in outputs]), "")
        if event.bad and (name == "gradient" or any(_bad(x._array) for x in inputs)):
            event.bad = ""
        if event.bad:
            from .nan import describe, forward_cure

            event.values = ", ".join(describe(x._array) for x in inputs)
            event.cure = forward_cure(name, [x._array for x in inputs])
            self.first = self.first or event
        self.events.append(event)
        if self.ledger is not None:
            self.ledger.forward(event)

    def key(self, x: Any) -> int:
        """The key of a tensor. One that came from NumPy or Python a moment ago is seen here for the first time."""
        fresh = not x._key
        key = key_of(x)
        if fresh:
            array = x._array
            known = self._entered.get(id(array))
            if known is not None and known[0]() is array:
                event = known[1]
                event.outputs = (*event.outputs, key)
        return key

    # -- what no listener hears of ------------------------------------------------------------------------------------

    def left(self, x: Any, how: str, value: Any) -> None:
        """A value was given to NumPy or Python."""
        if self._muted:
            return
        key = self.key(x)
        event = Event(
            self.now,
            "left",
            _ours_inside() or how,
            (key,),
            given=((x._array.dtype, x._array.shape),),
            where=origin(),
        )
        self.events.append(event)
        if isinstance(value, np.ndarray):
            self._departed[id(value)] = (weakref.ref(value), event)
        elif not isinstance(value, bool):
            self._departed[id(value)] = (lambda: value, event)
        if len(self._departed) > 10_000:
            self._departed.clear()

    def entered(self, value: Any, array: Any) -> None:
        """A value came from NumPy or Python, and `array` is what it became."""
        frame = user_frame()
        if not isinstance(array, np.ndarray):
            return
        if _literal(value, frame):
            self._entered.pop(id(array), None)
            return
        event = Event(self.now, "entered", type(value).__name__, where=origin(frame))
        event.made = ((array.dtype, array.shape),)
        event.link = self._departure_of(value)
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
        known = self._firsts.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        if len(self._firsts) > 10_000:
            self._firsts.clear()
        self._firsts[id(value)] = (holder, time)
        return time

    def _departure_of(self, value: Any) -> Event | None:
        for candidate in value if isinstance(value, (list, tuple)) else (value,):
            while candidate is not None:
                held = self._departed.get(id(candidate))
                if held is not None and held[0]() is candidate:
                    return held[1]
                candidate = getattr(candidate, "base", None)
        return None

    def assigned(self, variable: Variable, name: str, value: Any) -> None:
        """A variable was given a new value, of a tensor or variable."""
        self.variables[variable._key] = variable._name
        keys = (self.key(value),) if type(value) is Tensor or hasattr(type(value), "_read") else ()
        like = (variable._array.dtype, variable._array.shape)
        self.events.append(
            Event(
                self.now, "assign", name, keys, (variable._key,), (like,) * len(keys), (like,), where=origin()
            )
        )

    def answered(self, targets: list[Any], sources: list[Any], gradients: list[Any]) -> None:
        """A tape gave gradients. Where no other tape listened, nothing was recorded of how they were computed."""
        answers = [g for g in gradients if type(g) is Tensor]
        self.gradients.update(key_of(g) for g in answers)
        if any(not isinstance(listener, Witness) for listener in local.here.tapes):
            return
        used = [s for s, g in zip(sources, gradients, strict=True) if g is not None]
        inputs = [x for x in (*targets, *used) if type(x) is Tensor or hasattr(type(x), "_read")]
        for g in answers:
            self._note("operation", "gradient", inputs, [g], (True,) * len(inputs))

    @contextmanager
    def muted(self) -> Any:
        """What happens here is not the user's doing."""
        before, self._muted = self._muted, True
        try:
            yield
        finally:
            self._muted = before

    # -- threads ------------------------------------------------------------------------------------------------------

    def attend(self, here: Any) -> None:
        """Listen in a thread."""
        if self not in here.tapes:
            here.tapes = [self, *here.tapes]
            if self.profile:
                self._runs[id(here)] = (here, here.run)
                here.run = _timed(here.run, self)

    def leave(self, here: Any) -> None:
        """Listen there no longer."""
        here.tapes = [listener for listener in here.tapes if listener is not self]
        if id(here) in self._runs:
            here.run = self._runs.pop(id(here))[1]


def _bad(array: Any) -> str:
    return not_finite(array) if type(array) is np.ndarray else ""


def _timed(run: Any, witness: Witness) -> Any:
    def timed(function: Any, *arrays: Any, **attributes: Any) -> Any:
        start = perf_counter()
        try:
            return run(function, *arrays, **attributes)
        finally:
            witness.elapsed = perf_counter() - start

    return timed


def _literal(value: Any, frame: FrameType | None) -> bool:
    """Does a value stand in the code as it is? Then it is that very object, and did not come from a tensor."""
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


# What leaves inside one of our own functions leaves through that.
_INSIDE = {"constant": "tf.constant()", "_on_arrays": "tf.numpy_function"}


def _ours_inside() -> str:
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        if frame.f_code.co_qualname in _INSIDE:
            return _INSIDE[frame.f_code.co_qualname]
        frame = frame.f_back
    return ""
