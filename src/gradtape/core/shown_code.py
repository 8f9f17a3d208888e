"""Code that shows its tapes by `tape.show`: lines and values of operations are traced there, without being asked for.

A tape's block may be entered a million times, and tracing takes some tens of microseconds an operation. So the code
around a block is looked at once for a call of `show`; after that, entering a block costs a look-up here (0.1 us).
"""

from __future__ import annotations

import sys
import weakref
from types import CodeType, FrameType
from typing import Any

# By the id of the code: where no tape is shown, or enough of them have been traced.
shows_nothing: dict[int, weakref.ref[CodeType]] = {}


def is_of_cell(code: CodeType) -> bool:
    """Return whether code may be one of the statements of a notebook's cell, which IPython compiles one by one."""
    return code.co_name.startswith("<") and "IPython" in sys.modules


def look_at(frame: FrameType, tape: Any) -> None:
    """Trace the block of a tape that is entered now, if the code around it calls `show`."""
    code = frame.f_code
    if "show" in code.co_names or is_of_cell(code):
        from ..explain.listening import trace_block

        if trace_block(frame, tape):
            return
    number = id(code)
    shows_nothing[number] = weakref.ref(code, lambda _: shows_nothing.pop(number, None))
