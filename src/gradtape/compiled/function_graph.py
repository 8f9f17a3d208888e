"""FunctionGraph: one run of a function with traced tensors, as JAX's code, and what the function returned and did.

`program` compiles graphs: see `executable` for their results alone, `pullback` for their results with gradients.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext
from itertools import compress
from pathlib import Path
from typing import Any

import jax
from jax.extend import source_info_util

from ..core import nest
from ..core.composite import CompositeSpec, CompositeTensor, composite_spec
from ..core.errors import InvalidArgumentError, NotCompilableError
from ..core.indexed_slices import IndexedSlices
from ..core.spec import TensorSpec
from ..core.tensor import Tensor, wrap
from ..core.trace_errors import escape, is_escape, needs_values, no_value, not_compilable
from ..core.user_code import keras_folders
from ..engine.arrays import is_traced
from ..ops.known import afford
from .buffers import blank, from_device, tensors, x64
from .function_trace import FunctionTrace
from .jaxprs import is_wide, split, without_copies, without_dead_code, without_names
from .placeholders import as_destination
from .plain_runs import as_output
from .rolled_loops import rolled
from .trace import NAMED

for folder in (str(Path(__file__).parents[1]), *keras_folders()):
    source_info_util.register_exclusion(folder)  # a line JAX names is one of the user's


class Code:
    """A jaxpr, and what its constants stand for: inputs that were found while tracing, and constants proper."""

    def __init__(self, closed: Any, trace: FunctionTrace) -> None:
        is_input = lambda constant: trace.meaning(constant) is not None
        jaxpr, consts = without_copies(closed.jaxpr, closed.consts, is_input)
        meanings = [trace.meaning(constant) for constant in consts]
        jaxpr, used = without_dead_code(jaxpr, [meaning is not None for meaning in meanings])
        self.jaxpr = without_names(jaxpr, NAMED)
        added: list[Any] = []
        # A function that creates variables is traced again; this code runs only if it computes their initial values.
        if not trace.created or any(new.initial is not None for new in trace.created):
            self.jaxpr, added = rolled(self.jaxpr)
        self.constants: list[Any] = []
        self.meanings: list[tuple[str, Any]] = []  # of the jaxpr's constants
        for constant, meaning in [
            *compress(zip(consts, meanings, strict=True), used),
            *[(c, None) for c in added],
        ]:
            if is_traced(constant):
                raise no_value("a function", constant)
            if meaning is None:
                meaning = ("constant", len(self.constants))
                self.constants.append(jax.numpy.asarray(constant))
            self.meanings.append(meaning)
        self.variables = list(dict.fromkeys(what for kind, what in self.meanings if kind == "variable"))
        self.random = ("random", 0) in self.meanings
        self.read: list[Any] = []  # variables that are divided among devices

    def bound_constants(self, state: dict[int, Any], constants: Any, seed: Any) -> list[Any]:
        """The values of the jaxpr's constants; None for gradients, which only part of the code needs."""
        values = {"variable": state, "constant": constants, "random": {0: seed}}
        return [values[kind][what] if kind in values else None for kind, what in self.meanings]

    @property
    def precision(self) -> Callable[[], Any]:
        """The context to run the code in: JAX has no 64-bit numbers unless it is told to, which takes 3 us a call."""
        return (lambda: x64(True)) if is_wide(self.jaxpr) else nullcontext


class FunctionGraph:
    """A function traced for inputs like `leaves`. Raises what the function raises."""

    def __init__(
        self, name: str, function: Callable[[list[Tensor]], Any], leaves: list[Tensor], may_create: bool
    ) -> None:
        trace = FunctionTrace(name, may_create=may_create)

        def run(inputs: list[Tensor]) -> Any:
            structure = function(inputs)
            outputs = [_as_result(leaf) for leaf in nest.flatten(structure)]
            arrays = [array for o in outputs if type(o) is _Result for array in o.arrays]
            self._set_outputs(structure, outputs)
            state = [trace.values[key]._array for key in trace.written]
            initial = [new.initial for new in trace.created if new.initial is not None]
            return arrays, state, initial

        try:
            with x64(True):
                closed, specs = trace.jaxpr_of(run, leaves, [])
                self.code = Code(closed, trace)
        except BaseException as error:
            if trace.fail() and isinstance(error, NotCompilableError):
                raise InvalidArgumentError(
                    str(error)
                ) from None  # it created variables, and cannot do so again
            if is_escape(error):
                raise escape(error) from None
            if needs_values(error):
                raise not_compilable(f"a part of the function {name}") from None
            raise
        for spec in specs[0]:
            afford(f"the function {name}", spec.shape, spec.dtype.itemsize)
        self.counts = [len(part) for part in specs]  # results, state, initial values
        self.reads = dict(trace.reads)
        self.code.read = [v for v in (*trace.reads.values(), *trace.written.values()) if hasattr(v, "layout")]
        self.written = [as_destination(variable) for variable in trace.written.values()]
        self.created = [new._replace(initial=None) for new in trace.created]
        self.random = self.code.random

    def _set_outputs(self, structure: Any, outputs: list[Any]) -> None:
        """Note how to build what the function returned from arrays, without keeping traced ones."""
        self.structure = nest.map_structure(lambda leaf: None, structure)
        self.widths = [len(o.arrays) if type(o) is _Result else 0 for o in outputs]  # arrays of each output
        self.outputs = nest.pack_sequence_as(self.structure, [_spec(o) for o in outputs])
        self.builders = [o.build if type(o) is _Result else _always(o) for o in outputs]
        # Which arrays have rows on different devices.
        self.divided = [
            getattr(o.spec, "is_divided", False) for o in outputs if type(o) is _Result for _ in o.arrays
        ]

    def first_of_pair(self, count: int, jaxpr: Any) -> FunctionGraph:
        """The graph of the first of several results, `count` arrays that `jaxpr` computes."""
        part = copy.copy(self)
        part.code = copy.copy(self.code)
        part.code.jaxpr = jaxpr
        part.structure = self.structure[0]
        part.outputs = self.outputs[0]
        part.builders = self.builders[: len(nest.flatten(part.structure))]
        part.counts = [count, *self.counts[1:]]
        return part

    def evaluate(
        self, evaluate: Any, state: dict[int, Any], constants: Any, seed: Any, inputs: Any
    ) -> list[list[Any]]:
        """The results, the values of written variables, and the initial values of new ones, as JAX's arrays.

        `evaluate` takes a jaxpr, the values of its constants and its inputs.
        """
        out = evaluate(self.code.jaxpr, self.code.bound_constants(state, constants, seed), *inputs)
        return split(out, self.counts)

    def packer(self) -> Callable[[list[Any]], Any]:
        """The function that builds the results from arrays."""
        if all(build is _build_tensor for build in self.builders):
            if not nest.is_nested(self.structure):
                return _only_tensor
            if nest._is_flat(self.structure):
                return tensors if type(self.structure) is list else lambda arrays: tuple(tensors(arrays))
        builders = self.builders
        # Flattened once: `nest.pack_sequence_as` does so at each call, which for a dict takes 12 us.
        unflatten = nest._flatten(self.structure)[1].unflatten

        def pack(arrays: list[Any]) -> Any:
            parts = iter(arrays)
            return unflatten([build(parts) for build in builders])

        return pack

    @property
    def result_expression(self) -> str | None:
        """The results as `buffers.specialize` takes them; None unless they are a tensor or a few in a list or tuple."""
        if not 0 < len(self.builders) <= 10 or any(build is not _build_tensor for build in self.builders):
            return None
        names = "".join(f"t{i}, " for i in range(len(self.builders)))
        if not nest.is_nested(self.structure):
            return "t0"
        if not nest._is_flat(self.structure):
            return None
        return f"[{names}]" if type(self.structure) is list else f"({names})"


class _Result:
    """A leaf of what a function returned that the program computes: its arrays, and how to build it from others."""

    def __init__(self, arrays: list[Any], build: Callable[[Any], Any], spec: Any = None) -> None:
        self.arrays = arrays
        self.build = build
        self.spec = spec  # of a sparse or ragged tensor


def _as_result(leaf: Any) -> Any:
    """A leaf of what a function returned: a `_Result` if it is traced, else the leaf itself."""
    leaf = as_output(leaf)
    if isinstance(leaf, IndexedSlices):
        shape = leaf._dense_shape
        arrays = [leaf.values._array, leaf.indices._array]
        return _Result(arrays, lambda a: IndexedSlices(from_device(next(a)), from_device(next(a)), shape))
    spec = composite_spec(leaf) if isinstance(leaf, CompositeTensor) else None
    if spec is not None:
        return _composite_result(leaf, spec)
    if type(leaf) is not Tensor or not is_traced(leaf._array):
        return leaf
    return _Result([leaf._array], _build_tensor)


def _composite_result(composite: CompositeTensor, spec: CompositeSpec) -> Any:
    """A sparse or ragged tensor of which a part is traced: all parts but strings are computed by the program."""
    components = spec._to_components(composite)
    if not any(is_traced(c._array) for c in components):
        return composite
    text = [c._array.dtype.kind == "O" for c in components]
    builders = [_always(c) if is_text else _build_tensor for c, is_text in zip(components, text, strict=True)]
    arrays = [c._array for c, is_text in zip(components, text, strict=True) if not is_text]
    return _Result(arrays, lambda a: spec._from_components([build(a) for build in builders]), spec)


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda arrays: value


def _build_tensor(arrays: Any) -> Tensor:
    return from_device(next(arrays))


def _only_tensor(arrays: list[Any]) -> Tensor:
    tensor = blank(Tensor)
    tensor._device = arrays[0]
    tensor._key = 0
    return tensor


def _spec(output: Any) -> Any:
    if type(output) is _Result and output.spec is not None:
        return output.spec
    if type(output) is _Result and output.build is _build_tensor:
        output = wrap(output.arrays[0])
    return TensorSpec.from_tensor(output) if type(output) is Tensor else output
