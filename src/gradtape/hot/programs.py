"""PassProgram: the first events of a trace, as one function of arrays for the results that are wanted.

Imports nothing of JAX's: which kind of program pays is estimated before JAX is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..core.primitive import listeners, local
from .pass_trace import Trace


class PassProgram:
    """What all programs have: the first `end` events of a trace, what they take, and the results in `outputs`.

    They do not keep variables alive: a place in the code may have programs of models that are gone.
    """

    def __init__(self, trace: Trace, end: int, outputs: tuple[int, ...]) -> None:
        self.slots = [spec.slot for spec in trace.inputs(end)]
        self.inputs = [(slot, slot in trace.variables) for slot in self.slots]
        self.outputs = outputs
        self.covered = set(outputs)


@contextmanager
def outside_of_passes() -> Iterator[None]:
    """A block that no pass of a hot tape follows, and that no tape records."""
    here = local.here
    hot, here.hot = here.hot, None
    try:
        with listeners([], None):
            yield
    finally:
        here.hot = hot
