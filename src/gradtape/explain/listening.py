"""Turning the witness on and off. While it is off, nothing is left of it."""

from __future__ import annotations

import ast
import contextlib
import dis
import linecache
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any
from weakref import WeakKeyDictionary

from ..core.observers import Observer
from ..core.primitive import local
from ..core.shown_code import is_of_cell
from ..core.tape import GradientTape
from ..core.tensor_conversion import observe, unobserve
from .witness import Witness

_witness: Witness | None = None
_depth = 0


class Tracing:
    """Trace origins until `stop` is called, or to the end of a `with` block.

    Args:
        profile: also measure times.
        values: also remember a picture of each value, for `tape.show`.

    Raises:
        RuntimeError: if times or values are to be noted and origins are traced already without.
    """

    def __init__(self, profile: bool = False, values: bool = False) -> None:
        global _witness, _depth
        if _witness is None:
            _witness = Witness(profile, values)
            observe(_witness)
            _witness.attend()
        elif profile and _witness.ledger is None:
            raise RuntimeError("origins are traced already, without times: stop that first")
        elif values and _witness.pictures is None:
            raise RuntimeError("origins are traced already, without values: stop that first")
        _depth += 1
        self.witness = _witness
        self._on = True
        self._paused = False

    def pause(self) -> None:
        """Trace nothing until `resume`: a pass of a hot tape computes without operations."""
        if not self._paused:
            self._paused = True
            self.witness.leave(local.here)
            unobserve(self.witness)

    def resume(self) -> None:
        """Trace again."""
        if self._paused:
            self._paused = False
            observe(self.witness)
            self.witness.attend()

    def stop(self) -> None:
        """Stop tracing. Tapes of the meantime can still be explained."""
        global _witness, _depth
        if not self._on:
            return
        self.resume()
        self._on = False
        _depth -= 1
        if _depth == 0 and _witness is not None:
            _witness.leave()
            unobserve(_witness)
            _witness = None

    def __enter__(self) -> Tracing:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<origins traced: {len(self.witness.events)} events{'' if self._on else ', ended'}>"


# ---------------------------------------------------------------------------------------------------------------------
# Blocks of tapes in code that shows them

_BLOCKS = 10  # that are traced, of the same code
_traced: WeakKeyDictionary[CodeType, int] = WeakKeyDictionary()


def trace_block(frame: FrameType, tape: GradientTape) -> bool:
    """Trace lines and values in the block of a tape that is entered now, if the code around it shows it.

    Returns:
        Whether to ask again at the next block there.
    """
    if not _shows_a_tape(frame):
        return False
    code = frame.f_code
    if _witness is None and local.here.trace is None and not tape._recording:
        _traced[code] = _traced.get(code, 0) + 1
        _Block(tape)
    return _traced.get(code, 0) < _BLOCKS


def _shows_a_tape(frame: FrameType) -> bool:
    """Return whether code calls `show` on a tape, or on what has no value yet, rather than on a module or a figure."""
    known: dict[Any, Any] = {**frame.f_globals, **frame.f_locals}
    return any(name not in known or isinstance(known[name], GradientTape) for name in _shown_in(frame.f_code))


def _shown_in(code: CodeType) -> Iterator[str]:
    """The names of what code calls `show` on; of a cell, the whole cell. An expression has the name ''."""
    before: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and instruction.argval == "show":
            yield before if isinstance(before, str) else ""
        before = instruction.argval
    if is_of_cell(code):
        with contextlib.suppress(SyntaxError):
            for node in ast.walk(ast.parse("".join(linecache.getlines(code.co_filename)))):
                if isinstance(node, ast.Attribute) and node.attr == "show":
                    yield node.value.id if isinstance(node.value, ast.Name) else ""


class _Block(Observer):
    """Traces lines and values until the block of a tape ends."""

    def __init__(self, tape: GradientTape) -> None:
        self._tape, self._tracing = tape, Tracing(values=True)
        observe(self)

    def _on_stop(self, tape: GradientTape, pauses: bool) -> None:
        if tape is self._tape and not pauses:
            unobserve(self)
            self._tracing.stop()
