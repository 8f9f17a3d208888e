"""Blocks: parts of a @function that are traced by themselves, once, together with what their gradient needs.

The branch of a choice and the body of a loop are functions on tensors. A block runs such a function once, under a tape
of its own, and keeps JAX's list of what was computed and the tape's records. The records hold tensors of that run,
whose arrays mean nothing outside of the block. To take the gradient elsewhere in the program, `Block.open` computes
these arrays again from the block's inputs, by JAX's list, and binds the tensors to them; then the records are swept as
those of any tape. The user's Python never runs a second time, and neither do calls to the host: their results are
saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np
from jax.extend.core import Var

from ..core import dtypes, nest
from ..core.indexed_slices import IndexedSlices
from ..core.primitive import Listener, Primitive, local
from ..core.sweep import leading_from, sweep_arrays, sweep_tensors
from ..core.tape import GradientTape
from ..core.tensor import Tensor, convert, key_of, wrap
from ..core.variable import Variable
from ..engine.arrays import is_traced
from ..ops.control.tensor_array import TensorArray, must_be_used
from .program import cut
from .trace import RANDOM, Trace, read_name

Tensors = list[Tensor]
Pull = Callable[[list[Any], tuple[int, ...]], list[Any]]


def kept_by(records: list[Any]) -> Tensors:
    """The tensors that records keep, each once."""
    parts = [part for *_, kept in records for x in kept for part in (x if type(x) is tuple else (x,))]
    return list({id(t): t for t in parts if type(t) is Tensor}.values())


class Recording(GradientTape):
    """A tape inside a trace that is swept after the trace has ended."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[int, Tensor] = {}  # every tensor that was seen, by id

    def _on_operation(
        self, primitive: Primitive, inputs: tuple[Tensor, ...], attributes: Any, out: Any
    ) -> None:
        for x in inputs:
            self._on_capture(x)
        super()._on_operation(primitive, inputs, attributes, out)
        for o in out if primitive.multiple else (out,):
            self._seen[id(o)] = o

    def _on_custom(self, plan: Any, inputs: Tensors, outputs: Tensors) -> None:
        for x in inputs:
            self._on_capture(x)
        super()._on_custom(plan, inputs, outputs)
        for o in outputs:
            self._seen[id(o)] = o

    def _on_capture(self, tensor: Tensor) -> None:
        self._seen[id(tensor)] = tensor

    def kept(self) -> Tensors:
        """The tensors that the records need. A user's own gradient function may use any that it has seen."""
        found = {id(t): t for t in kept_by(self._records)}
        if any(getattr(plan, "is_users", False) for _, plan, _, _ in self._records):
            found.update(self._seen)
        return list(found.values())


class _BlockTape(Recording):
    """Records a block on behalf of the tapes around it, and notes which of the tensors they know the block uses."""

    def __init__(self, around: list[Listener]) -> None:
        super().__init__()
        self._around = around
        self.caught: dict[int, Tensor] = {}
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
            self.caught[key] = tensor
            self._known.add(key)

    def _on_read(self, variable: Variable) -> None:
        for tape in self._around:
            tape._on_read(variable)
        key = variable._key
        if key not in self._known and any(tape._knows(key) for tape in self._around):
            self.variables[key] = variable
            self._known.add(key)


class Block:
    """A function on tensors, traced by itself. `inputs` give the shapes and dtypes of its arguments.

    `turn` is the position among them of the number of a loop's turn, on which random numbers depend; `ranges` says, by
    position, between which numbers integers lie.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: Tensors,
        turn: int | None = None,
        ranges: dict[int, tuple[int, int]] | None = None,
    ) -> None:
        here = local.here
        before = here.tapes, here.trace
        trace = Trace(here.trace.name, parent=here.trace)
        tape = _BlockTape(here.tapes)

        def flat(*arrays: Any) -> Any:
            trace.begin()
            self.given = [wrap(a) for a in arrays]
            for tensor in self.given:
                if dtypes.is_differentiable(tensor._array):
                    tape._watch(tensor)
            if turn is not None:
                trace.turn = arrays[turn]
            for place, ends in (ranges or {}).items():
                trace.set_range(arrays[place], *ends)
            self.structure = function(*self.given)
            found = nest.flatten(self.structure)
            self._arrays = {i: leaf for i, leaf in enumerate(found) if isinstance(leaf, TensorArray)}
            self.leaves = list(map(_leaf, found))
            must_be_used(trace.unused)
            self.results = [leaf for leaf in self.leaves if type(leaf) is Tensor]
            for tensor in self.results:
                tape._on_capture(tensor)
            self._records_keep = tape.kept()
            own = {id(t) for t in self._records_keep if trace.is_of_here(t)} | trace.bound
            self._own = [t for t in self._records_keep if id(t) in own]
            # What was caught may also be a variable's value of this level. Of that only the key counts.
            outer = [*self._records_keep, *tape.caught.values()]
            self._outer = [t for t in outer if id(t) not in own and trace.is_of_around(t)]
            state = [trace.values[key]._array for key in trace.written]
            return [t._array for t in self.results], state, [t._array for t in self._own]

        flat.__name__ = trace.name
        here.tapes, here.trace = [tape] if here.tapes else [], trace
        try:
            closed, (results, _, _) = jax.make_jaxpr(flat, return_shape=True)(*map(like, inputs))
        finally:
            here.tapes, here.trace = before
            trace.unbind()
        self._records, self._known = tape._records, tape._known
        self.written: dict[int, Variable] = trace.written
        self.like = results  # shape and dtype of each result
        # What is not traced any more once we are back outside must not be looked at by accident.
        self.leaves = [None if type(leaf) is Tensor else (leaf,) for leaf in self.leaves]
        self.caught = {**tape.caught, **{k: here.trace.read(v) for k, v in tape.variables.items()}}
        self._consts = [wrap(c) if is_traced(c) else c for c in closed.consts]
        # What variables hold where the block begins is read by the code around, and given to it; so is the seed.
        self._seen: dict[Any, Tensor] = {k: wrap(here.trace.read(v)._array) for k, v in trace.seen.items()}
        if trace.given_seed is not None:
            self._seen[RANDOM] = wrap(here.trace.random())
        self._jaxpr = closed.jaxpr
        self.take({})

    @property
    def kept(self) -> Tensors:
        """The tensors from around that the block's code and its gradients of any order need."""
        return [*[c for c in self._given_consts if type(c) is Tensor], *self._outer]

    def take(self, variables: dict[int, Variable]) -> Block:
        """Let the values of these variables be inputs, after the others: they go round in a loop."""
        self.state = variables
        reads = {read_name(key): key for key in self._seen}
        values: dict[Any, Any] = {}
        eqns = []
        for eqn in self._jaxpr.eqns:
            if eqn.primitive.name == "name" and eqn.params["name"] in reads:
                values[reads[eqn.params["name"]]] = eqn.outvars[0]
            else:
                eqns.append(eqn)
        self._takes = [i for i, key in enumerate(variables) if key in values]
        fixed = [key for key in values if key not in variables]
        self._given_consts = [*self._consts, *[self._seen[key] for key in fixed]]
        constants = [*self._jaxpr.constvars, *[values[key] for key in fixed]]
        inputs = [*self._jaxpr.invars, *[values[key] for key in variables if key in values]]
        self._split(self._jaxpr.replace(constvars=constants, invars=inputs, eqns=eqns))
        return self

    def _split(self, jaxpr: Any) -> None:
        """Cut the code in two: that of the results, and that of what the gradient needs, without calls to the host."""
        counts = len(self.results), len(self.written)
        results, own = jaxpr.outvars[: sum(counts)], jaxpr.outvars[sum(counts) :]
        again, self.saved = computing(own, jaxpr.eqns)
        names = jaxpr.debug_info.with_unknown_names()
        self.code = jaxpr.replace(outvars=[*results, *self.saved], debug_info=names)
        self._again = jaxpr.replace(
            invars=[*jaxpr.invars, *self.saved], outvars=own, eqns=again, debug_info=names
        )

    @property
    def consts(self) -> list[Any]:
        """The arrays from around, as they are bound now."""
        return [c._array if type(c) is Tensor else c for c in self._given_consts]

    def arguments(self, inputs: Any, state: Any) -> list[Any]:
        """The inputs of the code: those of the function, then those of the variables' values that it reads."""
        return [*inputs, *[state[i] for i in self._takes]]

    def __call__(self, inputs: Any = (), state: Any = ()) -> list[list[Any]]:
        """The results, what the written variables hold, and what is saved, as arrays."""
        out = jax.core.eval_jaxpr(self.code, self.consts, *self.arguments(inputs, state))
        return cut(out, [len(self.like), len(self.written), len(self.saved)])

    def pack(self, tensors: Tensors) -> Any:
        """What the function returns, with these tensors in it."""
        given = iter(tensors)
        leaves = [next(given) if leaf is None else leaf[0] for leaf in self.leaves]
        for i, array in self._arrays.items():
            leaves[i] = array.holding(leaves[i])
        return nest.pack_sequence_as(self.structure, leaves)

    # -- the gradient -------------------------------------------------------------------------------------------------

    def connected(self) -> set[int]:
        """The keys of all tensors that a result depends on."""
        keys = {key_of(t) for t in self.results}
        for made, _, into, _ in reversed(self._records):
            if not keys.isdisjoint(made if type(made) is tuple else (made,)):
                keys.update(into)
        return keys

    def open(self, inputs: Tensors, state: Tensors, saved: Tensors) -> None:
        """Bind the tensors of the records to their values for these inputs, until the current trace ends.

        To tapes that are open now these tensors depend on the inputs, and on what the block caught.
        """
        arrays = [[t._array for t in part] for part in (inputs, state, saved)]
        given = [*self.arguments(arrays[0], arrays[1]), *arrays[2]]
        for tensor, array in zip(
            self._own, jax.core.eval_jaxpr(self._again, self.consts, *given), strict=True
        ):
            local.here.trace.bind(tensor, array)
        known = self._known - self.caught.keys()
        moved = [t for t in self._records_keep if t._key in known]
        if not moved or not local.here.tapes:
            return

        records, sources = self._records, [*map(key_of, self.given), *self.caught]

        def pull(gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
            found = sweep(records, moved, gradients, sources)
            return [found.get(key) for key in sources]

        record("block", [*inputs, *self.caught.values()], moved, pull, self._records_keep)

    def pull(self, gradients: list[Any], sources: list[tuple[int, Any]], lead: tuple[int, ...]) -> Tensors:
        """The gradients of the sources, given as (key, array like it), for those of the results: zeros for none."""
        found = sweep(self._records, self.results, gradients, [key for key, _ in sources])
        return [or_zeros(found.get(key), array, lead) for key, array in sources]


def computing(results: list[Any], eqns: list[Any]) -> tuple[list[Any], list[Any]]:
    """The equations that compute some variables again, and the results of calls to the host that these need."""
    needed = {v for v in results if isinstance(v, Var)}
    again: list[Any] = []
    saved: list[Any] = []
    for eqn in reversed(eqns):
        if not any(v in needed for v in eqn.outvars):
            continue
        if eqn.effects:
            saved += [v for v in eqn.outvars if v in needed]
        else:
            again.append(eqn)
            needed.update(v for v in eqn.invars if isinstance(v, Var))
    return again[::-1], saved


def sweep(records: list[Any], targets: Tensors, gradients: list[Any], sources: list[int]) -> dict[int, Any]:
    """The gradients of the sources, by key, for those of the targets; on tensors if tapes are open now."""
    seeds: dict[int, Any] = {}
    listening = bool(local.here.tapes)
    for target, g in zip(targets, gradients, strict=True):
        if g is not None and dtypes.is_differentiable(target._array):
            value = g if listening else g._array
            key = key_of(target)
            seeds[key] = seeds[key] + value if key in seeds else value
    needed = leading_from(set(sources), records)
    return (sweep_tensors if listening else sweep_arrays)(seeds, needed, set(sources))


def _leaf(leaf: Any) -> Any:
    if isinstance(leaf, (Variable, IndexedSlices)):
        return leaf._read()
    if isinstance(leaf, TensorArray):
        return leaf.stack()
    if isinstance(leaf, (bool, int, float, complex, np.ndarray, np.generic)):
        return convert(leaf)
    return leaf


def like(tensor: Tensor) -> Any:
    """The shape and dtype of a tensor."""
    return jax.ShapeDtypeStruct(tensor._array.shape, tensor._array.dtype)


def or_zeros(g: Any, like: Any, lead: tuple[int, ...]) -> Tensor:
    """A gradient as a tensor; zeros like an array, with more axes in front, if there is none."""
    if g is None:
        return wrap(jax.numpy.zeros(lead + like.shape, like.dtype))
    if isinstance(g, IndexedSlices):
        g = g.dense()
    return g if type(g) is Tensor else wrap(g)


def call(name: str, block: Block, inputs: Tensors) -> Tensors:
    """What a block gives for these inputs, at this point of the program."""
    trace = local.here.trace
    state = [wrap(trace.read(v)._array) for v in block.state.values()]
    results, after, saved = block([t._array for t in inputs], [t._array for t in state])
    write(block.written, after)
    outputs = [wrap(a) for a in results]
    kept = [wrap(a) for a in saved]
    connected = block.connected()
    sources = [
        (source, key_of(inner))
        for source, inner in zip(
            (*inputs, *block.caught.values()), (*block.given, *block.caught.values()), strict=True
        )
        if key_of(inner) in connected
    ]

    def pull(gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
        block.open(inputs, state, kept)
        return block.pull(gradients, [(key, t._array) for t, key in sources], lead)

    record(name, [t for t, _ in sources], outputs, pull, [*inputs, *state, *kept, *block.kept])
    return outputs


def once(name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a function returns for these arguments. Of what it computes, nothing is kept for its gradient."""
    leaves = nest.flatten(args)
    inputs = [leaf for leaf in leaves if type(leaf) is Tensor]

    def run(*tensors: Tensor) -> Any:
        given = iter(tensors)
        packed = [next(given) if type(leaf) is Tensor else leaf for leaf in leaves]
        return function(*nest.pack_sequence_as(args, packed), **kwargs)

    block = Block(run, inputs)
    return block.pack(call(name, block, inputs))


def watched(tensors: Iterable[Tensor]) -> bool:
    """Does an open tape know one of the tensors? Those from outside of the function it meets here."""
    known = False
    for tape in local.here.tapes:
        for tensor in tensors:
            tape._on_capture(tensor)
            known |= tensor._key != 0 and tape._knows(tensor._key)
    return known


def write(variables: dict[int, Variable], arrays: list[Any]) -> None:
    """Let variables hold these arrays."""
    for variable, array in zip(variables.values(), arrays, strict=True):
        variable._put(array)


def record(name: str, inputs: Tensors, outputs: Tensors, pull: Pull, kept: Tensors) -> None:
    """Tell the open tapes that `outputs` came from `inputs`; `kept` are the tensors that `pull` reads."""
    if inputs:
        plan = BlockPlan(name, pull, outputs, tuple(range(len(inputs))), tuple(kept))
        for tape in local.here.tapes:
            tape._on_custom(plan, inputs, outputs)


class BlockPlan:
    """A plan (see `plan.Plan`) for a choice, a loop or a block as a whole."""

    def __init__(
        self, name: str, pull: Pull, outputs: Tensors, watched: tuple[int, ...], kept: tuple[Tensor, ...]
    ) -> None:
        self.name = name
        self.watched = watched
        self.kept = kept
        self._pull = pull
        self._outputs = outputs

    def only(self, positions: tuple[int, ...]) -> BlockPlan:
        return BlockPlan(self.name, self._pull, self._outputs, positions, self.kept)

    def arrays(self, gradients: tuple[Any, ...], kept: Any = ()) -> list[Any]:
        tensors = tuple(None if g is None else wrap(g) for g in gradients)
        return [g._array if type(g) is Tensor else g for g in self.tensors(tensors)]

    def tensors(self, gradients: tuple[Any, ...], kept: Any = ()) -> list[Any]:
        gradients = tuple(
            g if dtypes.is_differentiable(output._array) else None
            for g, output in zip(gradients, self._outputs, strict=True)
        )
        given = next((i for i, g in enumerate(gradients) if g is not None), None)
        if given is None:
            return [None] * len(self.watched)
        shape = gradients[given]._array.shape
        lead = shape[: len(shape) - self._outputs[given].ndim]
        pulled = self._pull(list(gradients), lead)
        return [pulled[i] for i in self.watched]
