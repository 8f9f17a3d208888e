"""SampledFunction: a @function for one signature, traced at samples of its open lengths.

`concrete_function` asks it for variables and results; `saved_model` makes a program for all lengths of the traces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core import nest
from ..core.composite import CompositeSpec, CompositeTensor
from ..core.errors import NotCompilableError
from ..core.indexed_slices import IndexedSlices
from ..core.primitive import local
from ..core.spec import TensorSpec
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.variable import Variable
from ..engine.arrays import is_traced
from .arguments import example
from .function_graph import FunctionGraph
from .open_lengths import SAMPLES, LengthError, OpenLengths, assignments, axes_of
from .program import Program

if TYPE_CHECKING:
    from .function import Function

Kind = tuple[tuple[Any, ...], Any]  # shape, with a name for an open length, and dtype


class SampledFunction:
    """A function traced for tensors of these specs; other leaves of the arguments are values.

    The traces change nothing, but for variables that the function makes when it first runs.

    Raises:
        NotCompilableError: if the function cannot be compiled for tensors of these specs.
        Exception: what the function raises.
    """

    def __init__(
        self, function: Function[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], way: int = 0
    ) -> None:
        self.function = function
        self.name = function.__name__
        self.structure = args, kwargs
        self.leaves = nest.flatten(self.structure)
        self.specs = [leaf for leaf in self.leaves if isinstance(leaf, TensorSpec)]
        _check(self.name, self.leaves)
        may_create = not function._created_variables and not function._programs
        self._program = Program(self.name, self.run, None, may_create=may_create)
        self._choose_lengths(way)

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Call the function with these tensors in place of the specs; return the tensors that it returns.

        All of these are computed by the program, constants as well; None is kept in the structure alone.
        """
        tensors = iter(inputs)
        leaves = [next(tensors) if isinstance(leaf, TensorSpec) else leaf for leaf in self.leaves]
        args, kwargs = nest.pack_sequence_as(self.structure, leaves)
        results = self.function._traced(args, kwargs)
        flat = nest.flatten(results)
        self._structures.append(nest.pack_sequence_as(results, [leaf is not None for leaf in flat]))
        return [_computed(self.name, leaf) for leaf in flat if leaf is not None]

    def _choose_lengths(self, first: int) -> None:
        """Choose the most general way to name the open lengths in which the function can be traced."""
        ways = assignments([spec.shape for spec in self.specs])
        for self.way in range(first, len(ways)):
            self.is_last_way = self.way == len(ways) - 1
            self.names, self.lengths = ways[self.way], OpenLengths(axes_of(ways[self.way]))
            self._structures: list[Any] = []
            try:
                self.graphs = self.trace(self.run, self.kinds)
                self.outputs = self._outputs()
                return
            except NotCompilableError as error:
                if not isinstance(error, LengthError) or self.is_last_way:
                    raise
            except Exception:  # the function's own: with other lengths that are the same, it may be right
                if self.is_last_way:
                    raise

    @property
    def is_open(self) -> bool:
        """Whether there are open lengths."""
        return bool(self.lengths.symbols)

    @property
    def kinds(self) -> list[Kind]:
        """Shapes, with names of open lengths, and dtypes of the tensors that the function takes."""
        return [
            (
                tuple(n if name is None else name for n, name in zip(spec.shape, names, strict=True)),
                spec.dtype,
            )
            for spec, names in zip(self.specs, self.names, strict=True)
        ]

    @property
    def variables(self) -> dict[int, Variable]:
        """The variables that the function reads or writes, by key."""
        return self._program.variables

    def trace(self, run: Callable[[list[Tensor]], Any], kinds: list[Kind]) -> list[FunctionGraph]:
        """Trace a function of tensors of these kinds, once for each sample of the lengths."""
        graphs = []
        here = local.here
        before, here.any_length = here.any_length, self.is_open
        try:
            for i in range(SAMPLES if self.is_open else 1):
                shapes = [
                    [n if isinstance(n, int) else self._sample(n, i) for n in shape] for shape, _ in kinds
                ]
                leaves = [example(TensorSpec(s, dtype)) for s, (_, dtype) in zip(shapes, kinds, strict=True)]
                graphs.append(self._program.trace(run, leaves))
        finally:
            here.any_length = before
        self.function._created_variables |= self._program.created_variables
        return graphs

    def _sample(self, length: Any, i: int) -> int:
        return self.lengths.samples[length][i] if isinstance(length, str) else self.lengths.values(length)[i]

    def _outputs(self) -> Any:
        """The structure that the function returns, with specs, whose lengths are open where the samples differ."""
        structure = self._structures[-1]
        samples = [graph.outputs for graph in self.graphs]
        if any(each != structure for each in self._structures) or len({len(s) for s in samples}) > 1:
            raise LengthError(f"{self.name} returns other structures for {self.lengths.described()}")
        specs = []
        for same in zip(*samples, strict=True):
            spec = same[0]
            for other in same[1:]:
                spec = spec.most_specific_compatible_type(other)
            specs.append(spec)
        merged = iter(specs)
        return nest.map_structure(lambda is_tensor: next(merged) if is_tensor else None, structure)


def _computed(name: str, leaf: Any) -> Tensor:
    """A leaf of what a function returned as a traced tensor: a constant becomes part of the program."""
    if isinstance(leaf, (IndexedSlices, CompositeTensor)):
        raise NotCompilableError(
            f"{name} returns a {type(leaf).__name__}: return the tensors it consists of, or a dense one"
        )
    tensor = leaf._read() if isinstance(leaf, Variable) else convert(leaf)
    if is_traced(tensor._array):
        return tensor
    if tensor._array.dtype.kind == "O":
        raise NotCompilableError(f"{name} returns strings, which XLA does not compute: return numbers")
    traced = wrap(local.here.trace.constant(tensor._array))
    traced._key = tensor._key
    return traced


def _check(name: str, leaves: list[Any]) -> None:
    """Refuse arguments for which there is no one program."""
    for leaf in leaves:
        if isinstance(leaf, CompositeSpec):
            raise NotCompilableError(
                f"{name} takes {leaf}: give its tensors (indices and values, or values and row splits) as arguments"
            )
        if isinstance(leaf, Variable):
            raise NotCompilableError(f"{name} takes a variable: let it use the variable, or take its value")
        if isinstance(leaf, TensorSpec) and leaf.dtype.name == "string":
            raise NotCompilableError(
                f"{name} takes strings, which XLA does not compute: look them up before, and give it numbers"
            )
        if isinstance(leaf, TensorSpec) and leaf.shape.rank is None:
            raise NotCompilableError(
                f"{name} takes {leaf}, of any rank: give a rank, with None for open lengths"
            )
