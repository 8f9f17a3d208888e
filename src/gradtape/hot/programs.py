"""Programs: the first events of a trace, as one function of arrays for the results that are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..compiled.buffers import tensors
from ..compiled.executable import Executable
from ..compiled.function_graph import FunctionGraph
from ..core.primitive import listeners, local
from ..core.tensor import Tensor, array_of, wrap
from ..core.variable import Variable
from .pass_replay import Replay
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


class Program(PassProgram):
    """A compiled program."""

    def __init__(
        self,
        trace: Trace,
        end: int,
        outputs: tuple[int, ...],
        variables: dict[int, Variable],
        inputs: list[Tensor],
    ) -> None:
        super().__init__(trace, end, outputs)
        variables = {slot: variables[slot] for slot in self.slots if slot in variables}

        def run(tensors: list[Tensor]) -> list[Any]:
            replay = Replay(trace, variables, dict(zip(self.slots, tensors, strict=True)))
            replay.run(end)
            return [wrap(replay.tensors[slot]._array) for slot in outputs]

        with outside_of_passes():
            graph = FunctionGraph("hot tape", run, inputs, may_create=False)
            if graph.reads:
                raise ValueError("a variable is read that is no input of the trace")
            executable = Executable(graph, pure=True)
        variables.clear()
        graph.written.clear()
        is_plain = executable.is_plain and not executable.aliases and graph.packer() is tensors
        self._compiled = executable.compiled if is_plain else None
        self._execute = executable.execute

    def __call__(self, arrays: list[Any]) -> list[Any]:
        """The arrays of the results for the arrays of the inputs: JAX's, and NumPy's of constants."""
        if self._compiled is not None:
            results: list[Any] = self._compiled(*arrays)
            return results
        return [array_of(tensor) for tensor in self._execute(arrays)]
