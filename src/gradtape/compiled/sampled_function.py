"""SampledFunction: a @function for one signature, traced at samples of its open lengths.

`concrete_function` asks it for variables and results; `saved_model` makes a program for all lengths of the traces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from ..core import nest
from ..core.composite import CompositeSpec, CompositeTensor, composite_spec
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
from .program_values import from_program, parts_of

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
        _check(self.name, self.leaves)
        self._parts = [part for i, leaf in enumerate(self.leaves) for part in parts_of(i, leaf)]
        self.specs: list[TensorSpec] = [part.spec for part in self._parts]
        may_create = not function._created_variables and not function._programs
        self._program = Program(self.name, self.run, None, may_create=may_create)
        self._choose_lengths(way)

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Call the function with these tensors in place of the specs; return the tensors that it returns.

        All of these are computed by the program, constants as well; None is kept in the structure alone.
        """
        args, kwargs = nest.pack_sequence_as(self.structure, from_program(self.leaves, inputs))
        results = self.function._traced(args, kwargs)
        flat = nest.flatten(results)
        specs = [None if leaf is None else _spec_for(self.name, leaf) for leaf in flat]
        self._structures.append(nest.pack_sequence_as(results, specs))
        tensors: list[Tensor] = []
        for leaf, spec in zip(flat, specs, strict=True):
            if spec is not None:
                parts = spec._to_program(leaf) if isinstance(spec, CompositeSpec) else (leaf,)
                tensors += [_computed(self.name, part) for part in parts]
        return tensors

    def _choose_lengths(self, first: int) -> None:
        """Choose the most general way to name the open lengths in which the function can be traced."""
        ways = assignments([spec.shape for spec in self.specs], [part.counts for part in self._parts])
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
        tensors = [iter(graph.outputs) for graph in self.graphs]
        structures = self._structures[-len(self.graphs) :]
        found: list[list[Any]] = []
        try:
            for structure, given in zip(structures, tensors, strict=True):
                nest.assert_same_structure(structures[0], structure)
                found.append([_spec_of_result(spec, given) for spec in nest.flatten(structure)])
            merged = [_in_common(same) for same in zip(*found, strict=True)]
        except (ValueError, TypeError) as error:
            raise LengthError(
                f"{self.name} returns other structures for {self.lengths.described()}"
            ) from error
        return nest.pack_sequence_as(structures[0], merged)


_DENSE = object()  # stands for the spec of a tensor among those of results


def _spec_for(name: str, leaf: Any) -> Any:
    """The spec of a sparse or ragged result, or what stands for that of a tensor.

    Raises:
        NotCompilableError: for other objects.
    """
    spec = composite_spec(leaf)
    if isinstance(leaf, (IndexedSlices, CompositeTensor)) and not (spec and spec._program_parts()):
        raise NotCompilableError(
            f"{name} returns a {type(leaf).__name__}: return the tensors it consists of, or a dense one"
        )
    return spec or _DENSE


def _spec_of_result(spec: Any, tensors: Iterator[TensorSpec]) -> Any:
    """The spec of a result; those of the tensors that it consists of are taken from all of them."""
    if spec is None:
        return None
    found = [next(tensors) for _ in (spec._program_parts() if isinstance(spec, CompositeSpec) else (spec,))]
    return found[0] if spec is _DENSE else spec


def _in_common(specs: tuple[Any, ...]) -> Any:
    first, *others = specs
    if first is None and others == [None] * len(others):
        return None
    for other in others:
        first = first.most_specific_compatible_type(other)
    return first


def _computed(name: str, leaf: Any) -> Tensor:
    """A leaf of what a function returned as a traced tensor: a constant becomes part of the program."""
    tensor = leaf._read() if isinstance(leaf, Variable) else convert(leaf)
    if is_traced(tensor._array):
        return tensor
    if tensor._array.dtype.kind == "O":
        raise NotCompilableError(f"{name} returns strings, which XLA does not compute: return numbers")
    array = tensor._array
    traced = wrap(local.here.trace.constant(array) if array.size else jnp.zeros(array.shape, array.dtype))
    traced._key = tensor._key
    return traced


def _check(name: str, leaves: list[Any]) -> None:
    """Refuse arguments for which there is no one program."""
    for leaf in leaves:
        if isinstance(leaf, CompositeSpec) and not leaf._program_parts():
            raise NotCompilableError(
                f"{name} takes {leaf}: a rank is needed; other objects give as their tensors"
            )
        if isinstance(leaf, Variable):
            raise NotCompilableError(f"{name} takes a variable: let it use the variable, or take its value")
        if isinstance(leaf, (TensorSpec, CompositeSpec)) and leaf.dtype.name == "string":  # type: ignore[union-attr]
            raise NotCompilableError(
                f"{name} takes strings, which XLA does not compute: look them up before, and give it numbers"
            )
        if isinstance(leaf, TensorSpec) and leaf.shape.rank is None:
            raise NotCompilableError(
                f"{name} takes {leaf}, of any rank: give a rank, with None for open lengths"
            )
