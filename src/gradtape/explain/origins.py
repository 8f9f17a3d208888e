"""Origins: lines of the user's code, the events that happened there, and the history of each tape."""

from __future__ import annotations

import linecache
import os
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from ..core.tape import GradientTape
from ..core.user_code import user_frame
from .layers import running_layer

if TYPE_CHECKING:
    from .witness import Witness

# ---------------------------------------------------------------------------------------------------------------------
# Places in the code


class Origin(NamedTuple):
    """A line of the user's code, the layer of Keras that ran there, and the calls that led there."""

    file: str
    line: int
    function: str
    layer: str = ""
    calls: tuple[
        tuple[str, int], ...
    ] = ()  # functions, the outermost first, each with the line that called it

    def __str__(self) -> str:
        path = os.path.relpath(self.file) if self.file.startswith(os.getcwd() + os.sep) else self.file
        return f"{path}:{self.line}"

    @property
    def text(self) -> str:
        """The code at the line, if it can be read."""
        return linecache.getline(self.file, self.line).strip()


def origin(frame: FrameType | None = None) -> Origin:
    """The line of the user's code that runs now, or the line of a frame."""
    frame = frame or user_frame()
    code = frame.f_code
    return Origin(code.co_filename, frame.f_lineno, code.co_name, running_layer(), _calls(frame))


def _calls(frame: FrameType) -> tuple[tuple[str, int], ...]:
    """The functions of the user's code that run now, up to the module, each with the line that called it."""
    found: list[tuple[str, int]] = []
    while frame.f_code.co_name != "<module>":
        above = user_frame(frame.f_back) if frame.f_back is not None else None
        if above is None:
            break
        if not frame.f_code.co_name.startswith("<"):
            found.append((frame.f_code.co_name, above.f_lineno))
        frame = above
    return tuple(reversed(found))


# ---------------------------------------------------------------------------------------------------------------------
# Events, and the histories of tapes


@dataclass(slots=True, eq=False)
class Event:
    """Something that happened to tensors, by their keys."""

    time: int
    kind: str  # "operation", "custom", "assign", "left", "entered"
    name: str
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    given: tuple[tuple[Any, tuple[int, ...]], ...] = ()  # dtype and shape of each input
    made: tuple[tuple[Any, tuple[int, ...]], ...] = ()  # and of each output
    passes: tuple[bool, ...] = ()  # for each input: whether it has a rule for its gradient
    where: Origin | None = None
    bad: str = ""  # "NaN", "Inf" where the result is not finite and the inputs were
    values: str = ""  # and then the inputs,
    cure: str = ""  # and the cure
    seconds: float = 0.0  # forward, if profiled
    backward: float = 0.0  # and backward
    link: Event | None = None  # for a value that entered: the departure of the very same value,
    since: int = 0  # and when that value entered first
    sweep: str = ""  # the tape whose sweep computed it, under another tape


@dataclass(slots=True, eq=False)
class History:
    """The times at which a tape recorded, and from which it watched its sources."""

    witness: Witness
    spans: list[list[Any]] = field(default_factory=list)  # [from, to or None, entered rather than resumed]
    watched: dict[int, tuple[int, Origin]] = field(default_factory=dict)
    since: int = 0  # the last reset: earlier records are forgotten

    def state(self, time: int) -> str:
        """The state of the tape at a time: "on", "before", "paused", "after" or "forgotten"."""
        if not self.spans or time < self.spans[0][0]:
            return "before"
        for i, (start, end, _) in enumerate(self.spans):
            if start <= time and (end is None or time <= end):
                return "on" if time >= self.since else "forgotten"
            following = self.spans[i + 1] if i + 1 < len(self.spans) else None
            if end is not None and end < time and (following is None or time < following[0]):
                return "paused" if following is not None and not following[2] else "after"
        return "after"


histories: WeakKeyDictionary[GradientTape, History] = WeakKeyDictionary()


def history_of(tape: GradientTape) -> History | None:
    """The history of a tape, if a witness saw any of it."""
    return histories.get(tape)


@dataclass(slots=True, eq=False)
class Call:
    """A gradient that was asked for while the witness looked on, and gave None."""

    evidence: Any
    targets: list[Any]
    sources: list[Any]  # those whose gradient was None
    where: Origin
    error: BaseException | None = None  # with which it was refused


def name_of(plan: Any) -> str:
    """The name of a record's operation."""
    return plan.primitive.name if hasattr(plan, "primitive") else plan.name
