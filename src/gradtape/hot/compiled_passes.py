"""Program: the first events of a trace, compiled by XLA."""

from __future__ import annotations

from typing import Any

from ..compiled.buffers import on_device, tensors
from ..compiled.executable import Executable
from ..compiled.function_graph import FunctionGraph
from ..core.tensor import Tensor, array_of, wrap
from ..core.variable import Variable
from .pass_replay import Replay
from .pass_trace import Trace
from .programs import PassProgram, outside_of_passes


class Program(PassProgram):
    """A compiled program."""

    on_device = staticmethod(on_device)

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
