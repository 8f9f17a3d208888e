"""The gradient of a program: for a call that a tape outside listens to.

The function is traced under a tape of ours, so our rules are in force. The jaxpr of values and gradients together is
cut in two: what comes before the gradients of the results are known, and what depends on them. The first part also
returns what the second needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend.core import Var

from ..core import dtypes, nest
from ..core.indexed_slices import IndexedSlices
from ..core.primitive import local
from ..core.tensor import Tensor, array_of, wrap
from ..core.variable import Variable
from ..engine.arrays import is_traced
from .blocks import Recording, computing, record, sweep
from .buffers import from_device, on_device, store, values_of
from .program import Program, Values, cut, new_seed, own, raising


class _Recorder(Recording):
    """A tape inside the trace. It watches what the tapes outside know or would watch: `read` says whether they know a
    variable that is read, `known` whether they know a tensor from outside."""

    def __init__(self, read: Callable[[Variable], bool], known: Callable[[int], bool]) -> None:
        super().__init__()
        self.met: dict[int, Tensor] = {}  # by id
        self.accessed: dict[int, Variable] = {}
        self._read = read
        self._known_outside = known

    def _on_read(self, variable: Variable) -> None:
        self.accessed[variable._key] = variable
        if variable._key not in self._watched and self._read(variable):
            self._watch(variable)

    def _on_capture(self, tensor: Tensor) -> None:
        super()._on_capture(tensor)
        if not is_traced(tensor._array) and tensor._key not in self._known:
            self.met[id(tensor)] = tensor
            if tensor._key and self._known_outside(tensor._key):
                self._watch(tensor)


class Gradient:
    """A program that also gives what its gradient needs, and the program of that gradient, for a choice of sources:
    inputs by position, variables, and tensors from outside."""

    def __init__(
        self,
        program: Program,
        leaves: list[Tensor],
        watched: tuple[int, ...],
        read: Callable[[Variable], bool],
        known: Callable[[int], bool],
    ) -> None:
        self.program = program
        self.watched = watched
        self.second: dict[Any, Program] = {}
        self.traced = traced = program.trace(lambda inputs: self._joint(inputs, read, known), leaves)
        counts = [len(nest.flatten(part)) for part in traced.structure]
        results, gradients, _ = cut(traced.rebuild, counts)
        self.rebuild = results, gradients
        self.widths = [
            sum(part) for part in cut(traced.widths, counts)
        ]  # how many arrays these are, and what is kept
        self.precision = traced.code.precision
        self._split()

    def _joint(
        self, inputs: list[Tensor], read: Callable[[Variable], bool], known: Callable[[int], bool]
    ) -> tuple[Any, list[Any], list[Tensor]]:
        """The function's results, the gradients of the sources for gradients of the results that stand open, and the
        tensors that the tape's records need."""
        tape = _Recorder(read, known)
        with tape:
            for i in self.watched:
                tape._watch(inputs[i])
            answer = nest.map_structure(_read, self.program.run(inputs))
            answer = nest.map_structure(lambda leaf: _computed(leaf, tape), answer)
        leaves = nest.flatten(answer)
        self.outputs = _outputs([x for x in leaves if type(x) is not Tensor or is_traced(x._array)])
        self.variables = tape.watched_variables()
        self.captured = [t for t in tape.met.values() if t._key in tape._watched]
        self.program.meet(tape.accessed, tape.met.values())
        self.like = [(o._array.shape, o._array.dtype) for o in self.outputs]  # of what may get a gradient
        seeds = [
            wrap(local.here.trace.input(np.zeros(shape, dtype), ("gradient", i)))
            for i, (shape, dtype) in enumerate(self.like)
        ]
        outside = [*[v._key for v in self.variables], *[t._key for t in self.captured]]
        self.keys = [*[inputs[i]._key for i in self.watched], *outside]  # of the sources
        self.records = tape._records
        kept = [*[inputs[i] for i in self.watched], *tape.kept()]
        self.moved = [t for t in kept if t._key in tape._known.difference(outside)]
        found = sweep(self.records, self.outputs, seeds, self.keys)
        trace = local.here.trace
        self.kept = [t for t in kept if trace.is_of_here(t) or id(t) in trace.bound]
        return answer, [_tensor(found.get(key)) for key in self.keys], self.kept

    def _split(self) -> None:
        """Cut the jaxpr in two: what the results need, and all else, which is what rules do: as in a sweep."""
        code = self.traced.code
        jaxpr = code.jaxpr
        slots = {what: var for var, (kind, what) in zip(jaxpr.constvars, code.sources) if kind == "gradient"}
        results, state, _ = cut(jaxpr.outvars, self.traced.counts)
        values, gradients, kept = cut(results, self.widths)
        first = _leading_to([*values, *state], _without(set(slots.values()), jaxpr.eqns))
        done = {id(eqn) for eqn in first}
        second = _leading_to(gradients, [eqn for eqn in jaxpr.eqns if id(eqn) not in done])
        later = {*slots.values(), *[v for eqn in second for v in eqn.outvars]}
        needed = [v for eqn in second for v in eqn.invars if isinstance(v, Var)]
        needed += [v for v in gradients if isinstance(v, Var)]
        self.needed = list(dict.fromkeys(v for v in needed if v not in later))
        there = {*jaxpr.invars, *jaxpr.constvars}  # no need to return what was given
        self.residuals = [v for v in self.needed if v not in there]
        again, self.saved = computing(kept, jaxpr.eqns)
        names = jaxpr.debug_info.with_unknown_names()
        self.forward_code = jaxpr.replace(
            outvars=[*values, *state, *self.residuals, *self.saved], eqns=first, debug_info=names
        )
        targets = [slots[i] for i in range(len(self.like)) if i in slots]
        self.asked = [i for i in range(len(self.like)) if i in slots]
        self.backward_code = jaxpr.replace(
            constvars=[], invars=[*self.needed, *targets], outvars=gradients, eqns=second, debug_info=names
        )
        self.again_code = jaxpr.replace(
            invars=[*jaxpr.invars, *self.saved], outvars=kept, eqns=again, debug_info=names
        )
        if self.program.values is None:
            alone = jaxpr.replace(outvars=[*values, *state], eqns=first, debug_info=names)
            self.program.values = Values(self.program, self.traced.only(self.widths[0], alone))
        self.forward = raising(code, jax.jit(self._forward))
        self.backward = raising(code, jax.jit(self._backward))
        self.backward_stacked = raising(code, jax.jit(jax.vmap(self._backward_dense, in_axes=(None, 0))))

    def _forward(self, state: Any, constants: Any, seed: Any, inputs: Any) -> list[list[Any]]:
        code = self.traced.code
        bound = code.bind(dict(zip(code.variables, state, strict=True)), constants, seed)
        out = jax.core.eval_jaxpr(self.forward_code, bound, *inputs)
        given = [*state, *constants, *inputs]
        counts = [self.widths[0], self.traced.counts[1], len(self.residuals), len(self.saved)]
        values, written, residuals, saved = cut(out, counts)
        return [own(values, given), own(written, [*given, *values, *residuals, *saved]), residuals, saved]

    def _backward(self, needed: Any, targets: Any) -> list[Any]:
        return jax.core.eval_jaxpr(self.backward_code, [], *needed, *[targets[i] for i in self.asked])

    def _backward_dense(self, needed: Any, targets: Any) -> list[Any]:
        """The gradients without slices: stacked slices would be at different places."""
        arrays = iter(self._backward(needed, targets))
        gradients = [build(arrays) for build in self.rebuild[1]]
        return [None if g is None else _dense(g) for g in gradients]

    def run(self, leaves: list[Tensor], held: dict[int, Any] | None, seed: Any) -> Any:
        """Run the function, and tell the open tapes how to pull gradients back."""
        code = self.traced.code
        with self.precision():
            if code.random and seed is None:
                seed = new_seed()
            if held is None:
                reads = self.traced.reads
                held = dict(zip(reads, values_of(list(reads.values())), strict=True))
            state = [held[key] for key in code.variables]
            inputs = [on_device(t) for t in leaves]
            results, written, residuals, saved = self.forward(state, code.constants, seed, inputs)
        sources = [*[leaves[i] for i in self.watched], *[v._tensor for v in self.variables], *self.captured]
        if not self.program.pure:
            store(self.traced.written, written)
        there = dict(zip((*code.jaxpr.invars, *self.residuals), (*inputs, *residuals), strict=True))
        there.update(zip(code.jaxpr.constvars, code.bind(held, code.constants, seed), strict=True))
        arrays = iter(results)
        built = [build(arrays) for build in self.rebuild[0]]
        outputs = _outputs([t for t, width in zip(built, self.traced.widths) if width])
        given = [*leaves, *map(from_device, saved)]
        pull = _Pull(self, given, held, seed, [there[v] for v in self.needed], tuple(range(len(sources))))
        for tape in local.here.tapes:
            tape._on_custom(pull, sources, outputs)
        return nest.pack_sequence_as(self.traced.structure[0], built)

    def again(self, given: list[Tensor], targets: list[Any]) -> Program:
        """The gradients as a program on tensors, which may be differentiated in turn.

        It computes what the records need as the forward program did, from the same inputs and what is saved of it.
        """
        choice = tuple(None if g is None else tuple(g.shape) for g in targets)
        if choice not in self.second:
            outputs = [o for o, g in zip(self.outputs, targets, strict=True) if g is not None]

            def run(inputs: list[Tensor]) -> list[Any]:
                self._open(inputs[: len(given)])
                found = sweep(self.records, outputs, inputs[len(given) :], self.keys)
                return [_tensor(found.get(key)) for key in self.keys]

            self.second[choice] = Program(self.program.name, run, pure=True)
        return self.second[choice]

    def _open(self, given: list[Tensor]) -> None:
        """Bind the tensors of the records to their values for these inputs: as `Block.open` does."""
        code, trace = self.traced.code, local.here.trace
        state = {key: trace.read(self.traced.reads[key])._array for key in code.variables}
        bound = code.bind(state, code.constants, trace.random() if code.random else None)
        arrays = jax.core.eval_jaxpr(self.again_code, bound, *[t._array for t in given])
        for tensor, array in zip(self.kept, arrays, strict=True):
            trace.bind(tensor, array)

        def pull(gradients: list[Any], lead: tuple[int, ...]) -> list[Any]:
            found = sweep(self.records, self.moved, gradients, self.keys)
            return [found.get(key) for key in self.keys]

        for variable in self.variables:
            for tape in local.here.tapes:
                tape._on_read(variable)
        # Of variables only the key counts: the function may never have read what they hold outside.
        sources = [*[given[i] for i in self.watched], *[v._tensor for v in self.variables], *self.captured]
        if self.moved:
            record(self.program.name, sources, self.moved, pull, [*self.kept, *self.moved])


def _without(unknown: set[Any], eqns: list[Any]) -> list[Any]:
    """Those of the equations that can be computed without knowing some variables."""
    possible = []
    for eqn in eqns:
        if any(isinstance(v, Var) and v in unknown for v in eqn.invars):
            unknown.update(eqn.outvars)
        else:
            possible.append(eqn)
    return possible


def _leading_to(results: list[Any], eqns: list[Any]) -> list[Any]:
    """Those of the equations that the results need, or that do something beside computing."""
    needed = {v for v in results if isinstance(v, Var)}
    kept = []
    for eqn in reversed(eqns):
        if eqn.effects or any(v in needed for v in eqn.outvars):
            needed.update(v for v in eqn.invars if isinstance(v, Var))
            kept.append(eqn)
    return kept[::-1]


def _read(leaf: Any) -> Any:
    return leaf._read() if isinstance(leaf, Variable) else leaf


def _computed(leaf: Any, tape: _Recorder) -> Any:
    """A result that depends on nothing but tensors from outside that a tape knows is one of the program's as well."""
    if (
        type(leaf) is Tensor
        and not is_traced(leaf._array)
        and leaf._key in tape._known - tape._watched.keys()
    ):
        key, leaf = leaf._key, wrap(local.here.trace.constant(leaf._array))
        leaf._key = key
    return leaf


def _outputs(leaves: list[Any]) -> list[Tensor]:
    """The tensors among the results that may have a gradient: of slices it is the rows."""
    tensors = [leaf.values if isinstance(leaf, IndexedSlices) else leaf for leaf in leaves]
    return [t for t in tensors if type(t) is Tensor and dtypes.is_differentiable(array_of(t))]


def _tensor(g: Any) -> Any:
    if g is None or isinstance(g, (Tensor, IndexedSlices)):
        return g
    return wrap(g)


class _Pull:
    """A plan (see `plan.Plan`) that runs the compiled gradient of one call."""

    kept = ()

    def __init__(
        self,
        gradient: Gradient,
        leaves: list[Tensor],
        values: dict[int, Any],
        seed: Any,
        needed: list[Any],
        watched: tuple[int, ...],
    ) -> None:
        self.name = gradient.program.name
        self.watched = watched
        self._of = gradient
        self._leaves = leaves
        self._values = values
        self._seed = seed
        self._needed = needed

    def only(self, positions: tuple[int, ...]) -> _Pull:
        return _Pull(self._of, self._leaves, self._values, self._seed, self._needed, positions)

    def arrays(self, gradients: tuple[Any, ...], kept: tuple[()] = ()) -> list[Any]:
        like = self._of.like
        given = next(i for i, g in enumerate(gradients) if g is not None)
        lead = np.shape(gradients[given])[: np.ndim(gradients[given]) - len(like[given][0])]
        rows = int(np.prod(lead, dtype=int))
        targets = []
        for g, (shape, dtype) in zip(gradients, like, strict=True):
            whole = np.zeros(lead + shape, dtype) if g is None else g
            targets.append(whole.reshape((rows, *shape)) if lead else whole)
        with self._of.precision():
            if not lead:
                parts = iter(self._of.backward(self._needed, targets))
                found = [build(parts) for build in self._of.rebuild[1]]
            else:
                stacked = self._of.backward_stacked(self._needed, targets)
                found = [None if g is None else from_device(g.reshape(lead + g.shape[1:])) for g in stacked]
        return [_as_arrays(found[i]) for i in self.watched]

    def tensors(self, gradients: tuple[Any, ...], kept: tuple[()] = ()) -> list[Any]:
        program = self._of.again(self._leaves, list(gradients))
        present = [g for g in gradients if g is not None]
        found = program([*self._leaves, *present], self._values, self._seed)
        return [found[i] for i in self.watched]


def _dense(g: Any) -> Any:
    """The whole array of a gradient that is still traced."""
    if type(g) is Tensor:
        return on_device(g)
    return IndexedSlices(on_device(g.values), on_device(g.indices), tuple(g.shape)).dense()


def _as_arrays(g: Any) -> Any:
    if type(g) is Tensor:
        return g._array
    if isinstance(g, IndexedSlices):
        return IndexedSlices(g.values._array, g.indices._array, tuple(g.shape))
    return g
