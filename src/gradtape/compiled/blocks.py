"""Blocks: parts of a @function that are traced by themselves, once, with the records that their gradient needs.

The branch of a choice and the body of a loop are functions on tensors. A block runs such a function once, under a tape
of its own, and keeps JAX's code of what was computed and the tape's records: see `records` for how they are swept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ..core import dtypes, nest
from ..core.indexed_slices import IndexedSlices
from ..core.primitive import Listener, local
from ..core.tensor import Tensor, key_of, wrap
from ..core.tensor_conversion import convert
from ..core.variable import Variable
from ..engine.arrays import is_traced
from ..engine.tracers import eval_jaxpr
from ..ops.control.tensor_array import TensorArray, must_be_used
from .jaxprs import recomputation, replaced, split
from .records import Recording, Records, Tensors, record
from .trace import RANDOM, Trace, placeholder_name


class _BlockTape(Recording):
    """Records a block on behalf of the tapes around it; captures the tensors and variables they know."""

    def __init__(self, around: list[Listener]) -> None:
        super().__init__()
        self._around = around
        self.captures: dict[int, Tensor] = {}
        self.variables: dict[int, Variable] = {}

    def _knows(self, key: int) -> bool:
        return key in self._known or any(tape._knows(key) for tape in self._around)

    def _inside(self, tape: Listener) -> list[Any] | None:
        for around in self._around:
            records = [] if around is tape else around._inside(tape)
            if records is not None:
                return [*records, *self._records]
        return None

    def _on_capture(self, tensor: Tensor) -> None:
        super()._on_capture(tensor)
        for tape in self._around:
            tape._on_capture(tensor)
        key = tensor._key
        if key and key not in self._known and any(tape._knows(key) for tape in self._around):
            self.captures[key] = tensor
            self._known.add(key)

    def _on_read(self, variable: Variable) -> None:
        for tape in self._around:
            tape._on_read(variable)
        key = variable._key
        if key not in self._known and any(tape._knows(key) for tape in self._around):
            self.variables[key] = variable
            self._known.add(key)


class Block:
    """A function on tensors, traced by itself.

    Args:
        inputs: tensors of the shapes and dtypes of its arguments.
        iteration: the position among them of the number of a loop's iteration, on which random numbers depend.
        ranges: the least and the largest value of integers among them, by position.
        axes: the axes of a mesh of devices, by name, that collective operations of the block name, and their lengths.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: Tensors,
        iteration: int | None = None,
        ranges: dict[int, tuple[int, int]] | None = None,
        axes: list[tuple[str, int]] | None = None,
    ) -> None:
        here = local.here
        trace = here.trace.child()
        tape = _BlockTape(here.tapes)

        def run(placeholders: Tensors) -> Any:
            self.placeholders = placeholders
            arrays = [t._array for t in placeholders]
            for tensor in placeholders:
                if dtypes.is_differentiable(tensor._array):
                    tape._watch(tensor)
            if iteration is not None:
                trace.iteration = arrays[iteration]
            for position, ends in (ranges or {}).items():
                trace.set_range(arrays[position], *ends)
            self._set_results(function(*placeholders))
            must_be_used(trace.unused)
            self._keep_records(tape, trace)
            state = [trace.values[key]._array for key in trace.written]
            return [t._array for t in self.results], state, [t._array for t in self._records.residuals]

        closed, (specs, _, _) = trace.jaxpr_of(run, inputs, [tape] if here.tapes else [], axes)
        self.written: dict[int, Variable] = trace.written
        self.specs = specs  # shape and dtype of each result
        self.outer_variables: dict[int, Variable] = dict(trace.outer_reads)
        self.captures = {**tape.captures, **{k: here.trace.read(v) for k, v in tape.variables.items()}}
        self._jaxpr = closed.jaxpr
        self._jaxpr_constants = [wrap(c) if is_traced(c) else c for c in closed.consts]
        # The code around reads the values that variables have where the block begins, and the seed, and passes them.
        self._outer_values: dict[Any, Tensor] = {
            k: wrap(here.trace.read(v)._array) for k, v in trace.outer_reads.items()
        }
        if trace.outer_seed is not None:
            self._outer_values[RANDOM] = wrap(here.trace.seed())
        self.set_state({})

    def _set_results(self, structure: Any) -> None:
        """Note what the function returned. Its tensors are dropped: outside of the block they have no value."""
        found = nest.flatten(structure, expand_composites=True)
        leaves = list(map(_as_result, found))
        self.structure = structure
        self.results = [leaf for leaf in leaves if type(leaf) is Tensor]
        self.static_leaves = [None if type(leaf) is Tensor else (leaf,) for leaf in leaves]
        self._tensor_arrays = {i: leaf for i, leaf in enumerate(found) if isinstance(leaf, TensorArray)}

    def _keep_records(self, tape: _BlockTape, trace: Trace) -> None:
        for tensor in self.results:
            tape._on_capture(tensor)
        captures = [*tape.captures, *tape.variables]
        self._records = Records(tape, tape.kept(), map(key_of, self.placeholders), captures)
        inner = {id(t) for t in self._records.find_residuals(trace)} | trace.bound
        # A captured tensor may also be a variable's value of this level. Of that only the key counts.
        outer = [*self._records.tensors, *tape.captures.values()]
        self._outer = [t for t in outer if id(t) not in inner and trace.is_outer(t)]

    @property
    def outer_tensors(self) -> Tensors:
        """The tensors from around that the block's code and its gradients of any order need."""
        return [*[c for c in self._constants if type(c) is Tensor], *self._outer]

    # -- the code -----------------------------------------------------------------------------------------------------

    def set_state(self, variables: dict[int, Variable]) -> None:
        """Let the values of these variables be inputs of the code, after the others: the state of a loop."""
        self.state = variables
        names = {placeholder_name(key): key for key in self._outer_values}
        values: dict[Any, Any] = {}
        eqns = []
        for eqn in self._jaxpr.eqns:
            if eqn.primitive.name == "name" and eqn.params["name"] in names:
                values[names[eqn.params["name"]]] = eqn.outvars[0]
            else:
                eqns.append(eqn)
        self._state_used = [i for i, key in enumerate(variables) if key in values]
        fixed = [key for key in values if key not in variables]
        self._constants = [*self._jaxpr_constants, *[self._outer_values[key] for key in fixed]]
        # The keys of variables whose values are among the constants, by position.
        self.constant_keys = dict(enumerate(fixed, len(self._jaxpr_constants)))
        constvars = [*self._jaxpr.constvars, *[values[key] for key in fixed]]
        invars = [*self._jaxpr.invars, *[values[key] for key in variables if key in values]]
        jaxpr = self._jaxpr.replace(constvars=constvars, invars=invars, eqns=eqns)
        count = len(self.results) + len(self.written)
        self._recomputation, self.host_results = recomputation(jaxpr, jaxpr.outvars[count:])
        self.code = replaced(jaxpr, outvars=[*jaxpr.outvars[:count], *self.host_results])

    def let_read(self, values: dict[int, Tensor]) -> None:
        """Pass the code other values of variables from around, by their keys."""
        self._outer_values |= values
        self.set_state({})

    @property
    def constants(self) -> list[Any]:
        """The arrays from around, as they are bound now."""
        return [c._array if type(c) is Tensor else c for c in self._constants]

    def code_inputs(self, inputs: Any, state: Any) -> list[Any]:
        """The inputs of the code: those of the function, then those of the variables' values that it reads."""
        return [*inputs, *[state[i] for i in self._state_used]]

    def evaluate(self, inputs: Any = (), state: Any = ()) -> list[list[Any]]:
        """The results, the values of the written variables, and the results of calls to the host, as arrays."""
        out = eval_jaxpr(self.code, self.constants, *self.code_inputs(inputs, state))
        return split(out, [len(self.specs), len(self.written), len(self.host_results)])

    def pack(self, tensors: Tensors) -> Any:
        """The structure that the function returns, with these tensors in it."""
        remaining = iter(tensors)
        leaves = [next(remaining) if leaf is None else leaf[0] for leaf in self.static_leaves]
        for i, array in self._tensor_arrays.items():
            leaves[i] = array.holding(leaves[i])
        return nest.pack_sequence_as(self.structure, leaves, expand_composites=True)

    # -- the gradient -------------------------------------------------------------------------------------------------

    def connected(self) -> set[int]:
        """The keys of all tensors that a result depends on."""
        return self._records.leading_to(self.results)

    def recompute(self, inputs: Tensors, state: Tensors, host_results: Tensors) -> None:
        """Bind the tensors of the records to their values for these inputs, until the current trace ends.

        To tapes that are open now these tensors depend on the inputs and the captures.
        """
        arrays = [[t._array for t in part] for part in (inputs, state, host_results)]
        given = [*self.code_inputs(arrays[0], arrays[1]), *arrays[2]]
        self._records.bind(eval_jaxpr(self._recomputation, self.constants, *given))
        self._records.connect("block", [*inputs, *self.captures.values()])

    def pull_back(
        self, gradients: list[Any], sources: list[tuple[int, Any]], lead: tuple[int, ...]
    ) -> Tensors:
        """The gradients of the sources, given as (key, array like it), for those of the results: zeros for none."""
        found = self._records.sweep(self.results, gradients, [key for key, _ in sources])
        return [or_zeros(found.get(key), array, lead) for key, array in sources]


def _as_result(leaf: Any) -> Any:
    if isinstance(leaf, (Variable, IndexedSlices)):
        return leaf._read()
    if isinstance(leaf, TensorArray):
        return leaf.stack()
    if isinstance(leaf, (bool, int, float, complex, np.ndarray, np.generic)):
        return convert(leaf)
    return leaf


def or_zeros(g: Any, like: Any, lead: tuple[int, ...]) -> Tensor:
    """A gradient as a tensor; for None, zeros like an array, with extra leading axes."""
    if g is None:
        return wrap(jax.numpy.zeros(lead + like.shape, like.dtype))
    if isinstance(g, IndexedSlices):
        g = g.dense()
    return g if type(g) is Tensor else wrap(g)


def write(variables: dict[int, Variable], arrays: list[Any]) -> None:
    """Let variables hold arrays that a part of the program has computed."""
    for variable, array in zip(variables.values(), arrays, strict=True):
        variable._put_computed(array)


# Calls a function that pulls gradients back, given also its name, these gradients, and what its results are like.
Puller = Callable[[str, list[Any], Callable[[], Tensors], list[Any]], Tensors]


def _at_once(name: str, gradients: list[Any], pull: Callable[[], Tensors], like: list[Any]) -> Tensors:
    return pull()


def call(name: str, block: Block, inputs: Tensors, puller: Puller = _at_once) -> Tensors:
    """The results of a block for these inputs, at this point of the program."""
    state = [wrap(local.here.trace.read(v)._array) for v in block.state.values()]
    outputs, after = call_with_state(name, block, inputs, state, puller)
    write(block.written, [t._array for t in after])
    return outputs


def call_with_state(
    name: str, block: Block, inputs: Tensors, state: Tensors, puller: Puller = _at_once
) -> tuple[Tensors, Tensors]:
    """The results of a block for these inputs and values of its variables, and their values afterwards."""
    results, after, saved = block.evaluate([t._array for t in inputs], [t._array for t in state])
    outputs = [wrap(a) for a in results]
    host_results = [wrap(a) for a in saved]
    connected = block.connected()
    captures = block.captures.values()
    pairs = zip((*inputs, *captures), (*block.placeholders, *captures), strict=True)
    sources = [(source, key_of(inner)) for source, inner in pairs if key_of(inner) in connected]

    def pull(gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
        def run() -> Tensors:
            block.recompute(inputs, state, host_results)
            return block.pull_back(gradients, [(key, t._array) for t, key in sources], lead)

        like = [jax.ShapeDtypeStruct(lead + t._array.shape, t._array.dtype) for t, _ in sources]
        return puller(name, gradients, run, like)

    kept = [*inputs, *state, *host_results, *block.outer_tensors]
    record(name, [t for t, _ in sources], outputs, pull, kept)
    return outputs, [wrap(a) for a in after]
