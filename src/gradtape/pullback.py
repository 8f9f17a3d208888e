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

from . import dtypes, nest
from .cells import from_device, on_device, store, values_of
from .engine import is_traced
from .indexed_slices import IndexedSlices
from .primitive import local
from .program import Program, Values, cut, new_seed, own, raising
from .tape import GradientTape
from .tensor import Tensor, array_of, key_of, wrap
from .variable import Variable


class _Recorder(GradientTape):
    """A tape inside the trace. It watches what the tapes outside know or would watch: `read` says whether they know a
    variable that is read, `known` whether they know a tensor from outside."""

    def __init__(self, read: Callable[[Variable], bool], known: Callable[[int], bool]) -> None:
        super().__init__()
        self.met: dict[int, Tensor] = {}  # by id
        self.accessed: dict[int, Variable] = {}
        self._read = read
        self._known_outside = known

    def _access(self, variable: Variable) -> None:
        self.accessed[variable._key] = variable
        if variable._key not in self._watched and self._read(variable):
            self._watch(variable)

    def _meet(self, tensor: Tensor) -> None:
        if not is_traced(tensor._array) and tensor._key not in self._known:
            self.met[id(tensor)] = tensor
            if tensor._key and self._known_outside(tensor._key):
                self._watch(tensor)

    def _hear(self, primitive: Any, inputs: tuple[Tensor, ...], attributes: Any, out: Any) -> None:
        for x in inputs:
            self._meet(x)
        super()._hear(primitive, inputs, attributes, out)

    def _record_custom(self, plan: Any, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        for x in inputs:
            self._meet(x)
        super()._record_custom(plan, inputs, outputs)


class Gradient:
    """A program that also gives what its gradient needs, and the program of that gradient, for a choice of sources:
    inputs by position, variables, and tensors from outside."""

    def __init__(
        self,
        program: Program,
        leaves: list[Tensor],
        heard: tuple[int, ...],
        read: Callable[[Variable], bool],
        known: Callable[[int], bool],
    ) -> None:
        self.program = program
        self.heard = heard
        self.second: dict[Any, Program] = {}
        self.traced = traced = program.trace(lambda inputs: self._joint(inputs, read, known), leaves)
        count = len(nest.flatten(traced.structure[0]))
        self.rebuild = traced.rebuild[:count], traced.rebuild[count:]  # results, gradients
        self.width = sum(traced.widths[:count])  # how many arrays the results are
        self.precision = traced.code.precision
        self._split()

    def _run(self, inputs: list[Tensor], tape: _Recorder) -> tuple[Any, list[Tensor]]:
        """Run the function under a tape: what it returns, and those tensors of it that may have a gradient."""
        with tape:
            for i in self.heard:
                tape._watch(inputs[i])
            answer = nest.map_structure(_read, self.program.run(inputs))
            answer = nest.map_structure(lambda leaf: _computed(leaf, tape), answer)
        return answer, _outputs(
            [x for x in nest.flatten(answer) if type(x) is not Tensor or is_traced(x._array)]
        )

    def _joint(
        self, inputs: list[Tensor], read: Callable[[Variable], bool], known: Callable[[int], bool]
    ) -> tuple[Any, list[Any]]:
        """The function's results, and the gradients of the sources for gradients of the results that stand open."""
        tape = _Recorder(read, known)
        answer, outputs = self._run(inputs, tape)
        self.variables = tape.watched_variables()
        self.captured = [t for t in tape.met.values() if t._key in tape._watched]
        self.program.meet(tape.accessed, tape.met.values())
        self.like = [(o._array.shape, o._array.dtype) for o in outputs]  # of what may get a gradient
        seeds = [
            wrap(local.here.trace.input(np.zeros(shape, dtype), ("gradient", i)))
            for i, (shape, dtype) in enumerate(self.like)
        ]
        return answer, _swept(tape, outputs, seeds, self._keys(inputs))

    def _keys(self, inputs: list[Tensor]) -> list[int]:
        """The keys of the sources."""
        return [
            *[inputs[i]._key for i in self.heard],
            *[v._key for v in self.variables],
            *[t._key for t in self.captured],
        ]

    def _split(self) -> None:
        """Cut the jaxpr in two: what the results need, and all else, which is what rules do: as in a sweep."""
        code = self.traced.code
        jaxpr = code.jaxpr
        slots = {what: var for var, (kind, what) in zip(jaxpr.constvars, code.sources) if kind == "gradient"}
        results, state, _ = cut(jaxpr.outvars, self.traced.counts)
        values, gradients = results[: self.width], results[self.width :]
        first = _leading_to([*values, *state], _without(set(slots.values()), jaxpr.eqns))
        done = {id(eqn) for eqn in first}
        second = [eqn for eqn in jaxpr.eqns if id(eqn) not in done]
        later = {*slots.values(), *[v for eqn in second for v in eqn.outvars]}
        needed = [v for eqn in second for v in eqn.invars if isinstance(v, Var)]
        needed += [v for v in gradients if isinstance(v, Var)]
        self.needed = list(dict.fromkeys(v for v in needed if v not in later))
        there = {*jaxpr.invars, *jaxpr.constvars}  # no need to return what was given
        self.residuals = [v for v in self.needed if v not in there]
        names = jaxpr.debug_info.with_unknown_names()
        self.forward_code = jaxpr.replace(
            outvars=[*values, *state, *self.residuals], eqns=first, debug_info=names
        )
        targets = [slots[i] for i in range(len(self.like)) if i in slots]
        self.asked = [i for i in range(len(self.like)) if i in slots]
        self.backward_code = jaxpr.replace(
            constvars=[], invars=[*self.needed, *targets], outvars=gradients, eqns=second, debug_info=names
        )
        if self.program.values is None:
            alone = jaxpr.replace(outvars=[*values, *state], eqns=first, debug_info=names)
            self.program.values = Values(self.program, self.traced.only(self.width, alone))
        self.forward = raising(code, jax.jit(self._forward))
        self.backward = raising(code, jax.jit(self._backward))
        self.backward_stacked = raising(code, jax.jit(jax.vmap(self._backward_dense, in_axes=(None, 0))))

    def _forward(self, state: Any, constants: Any, seed: Any, inputs: Any) -> list[list[Any]]:
        code = self.traced.code
        bound = code.bind(dict(zip(code.variables, state, strict=True)), constants, seed)
        out = jax.core.eval_jaxpr(self.forward_code, bound, *inputs)
        given = [*state, *constants, *inputs]
        values, written, residuals = cut(out, [self.width, self.traced.counts[1], len(self.residuals)])
        return [own(values, given), own(written, [*given, *values, *residuals]), residuals]

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
            results, written, residuals = self.forward(state, code.constants, seed, inputs)
        sources = [*[leaves[i] for i in self.heard], *[v._tensor for v in self.variables], *self.captured]
        if not self.program.pure:
            store(self.traced.written, written)
        there = dict(zip((*code.jaxpr.invars, *self.residuals), (*inputs, *residuals), strict=True))
        there.update(zip(code.jaxpr.constvars, code.bind(held, code.constants, seed), strict=True))
        arrays = iter(results)
        built = [build(arrays) for build in self.rebuild[0]]
        outputs = _outputs([t for t, width in zip(built, self.traced.widths) if width])
        pull = _Pull(self, leaves, held, seed, [there[v] for v in self.needed], tuple(range(len(sources))))
        for tape in local.here.tapes:
            tape._record_custom(pull, sources, outputs)
        return nest.pack_sequence_as(self.traced.structure[0], built)

    def again(self, leaves: list[Tensor], targets: list[Any]) -> Program:
        """The gradients as a program on tensors, which may be differentiated in turn."""
        choice = tuple(None if g is None else tuple(g.shape) for g in targets)
        if choice not in self.second:
            given = [i for i, g in enumerate(targets) if g is not None]
            variables = {v._key for v in self.variables}
            captured = {t._key for t in self.captured}

            def run(inputs: list[Tensor]) -> list[Any]:
                tape = _Recorder(lambda variable: variable._key in variables, captured.__contains__)
                _, outputs = self._run(inputs[: len(leaves)], tape)
                seeds = inputs[len(leaves) :]
                return _swept(tape, [outputs[i] for i in given], seeds, self._keys(inputs))

            self.second[choice] = Program(self.program.name, run, pure=True)
        return self.second[choice]


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


def _swept(tape: GradientTape, outputs: list[Tensor], seeds: list[Tensor], keys: list[int]) -> list[Any]:
    """The gradients, by the sources' keys, for gradients of the outputs."""
    start: dict[int, Any] = {}
    for output, seed in zip(outputs, seeds, strict=True):
        key = key_of(output)
        value = seed if local.here.tapes else seed._array
        start[key] = start[key] + value if key in start else value
    found = tape._sweep(start, keys)
    return [_tensor(found.get(key)) for key in keys]


def _tensor(g: Any) -> Any:
    if g is None or isinstance(g, (Tensor, IndexedSlices)):
        return g
    return wrap(g)


class _Pull:
    """A plan (see `primitive.Plan`) that runs the compiled gradient of one call."""

    kept = ()

    def __init__(
        self,
        gradient: Gradient,
        leaves: list[Tensor],
        values: dict[int, Any],
        seed: Any,
        needed: list[Any],
        heard: tuple[int, ...],
    ) -> None:
        self.name = gradient.program.name
        self.heard = heard
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
        return [_as_arrays(found[i]) for i in self.heard]

    def tensors(self, gradients: tuple[Any, ...], kept: tuple[()] = ()) -> list[Any]:
        program = self._of.again(self._leaves, list(gradients))
        present = [g for g in gradients if g is not None]
        found = program([*self._leaves, *present], self._values, self._seed)
        return [found[i] for i in self.heard]


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
