"""The trace of a @function as operations see it: `local.here.trace` with control flow and calls of Python.

`ops` and `core` call these methods, and do not know who implements them.
"""

from __future__ import annotations

from .control_flow import call_recomputing, choose, loop, try_iteration, while_loop
from .python_calls import call_python
from .trace import Trace


class FunctionTrace(Trace):
    """A trace whose parts are compiled as XLA's conditionals, loops and callbacks. Its children are of this class."""

    choose = staticmethod(choose)
    loop = staticmethod(loop)
    while_loop = staticmethod(while_loop)
    try_iteration = staticmethod(try_iteration)
    call_python = staticmethod(call_python)
    call_recomputing = staticmethod(call_recomputing)
