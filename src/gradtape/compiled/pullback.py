"""The gradient of a program: for a call that a tape outside listens to.

The function is traced under a tape of ours, so our rules are in force. The jaxpr of values and gradients together is
split in two: the forward part, which can be computed before the gradients of the results are known, and the backward
part, which depends on them. The forward part also returns the residuals: what the backward part needs of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.extend.core import Var

from ..core import dtypes, nest
from ..core.indexed_slices import IndexedSlices
from ..core.primitive import local
from ..core.pullback_plan import PullbackPlan, as_arrays
from ..core.tensor import Tensor, array_of, wrap
from ..core.variable import Variable
from ..engine.arrays import is_traced
from ..engine.tracers import eval_jaxpr
from .buffers import from_device, on_device, store, values_of
from .executable import Executable, first_calls, jit, new_seed
from .fusion import planned
from .graph_view import GraphView
from .jaxprs import independent_of, needed_for, recomputation, replaced, split, without_aliases
from .placeholders import ArgumentVariable
from .records import Recording, Records, as_tensor

if TYPE_CHECKING:
    from .program import Program


_tracing = (
    threading.RLock()
)  # held while the gradient of a gradient is traced, which binds tensors of records


class Listening:
    """The tapes that are open now, and the inputs they listen to."""

    def __init__(self, leaves: list[Tensor]) -> None:
        self._tapes = local.here.tapes
        self.watched = tuple(i for i, t in enumerate(leaves) if t._key and self.knows(t._key))

    def knows(self, key: int) -> bool:
        """Return whether a tape knows what has this key."""
        for tape in self._tapes:  # noqa: SIM110  (faster than any(...))
            if tape._knows(key):
                return True
        return False

    def reads(self, variable: Variable) -> bool:
        """Tell the tapes that a variable is read; return whether they know it. Arguments are among the leaves."""
        if type(variable) is ArgumentVariable:
            return False
        for tape in self._tapes:
            tape._on_read(variable)
        return self.knows(variable._key)


class _FunctionTape(Recording):
    """A tape inside the trace of a function. It watches what the tapes outside know or would watch."""

    def __init__(self, outside: Listening) -> None:
        super().__init__()
        self.outer_tensors: dict[int, Tensor] = {}  # used in the function and no inputs of it, by id
        self.accessed: dict[int, Variable] = {}
        self._outside = outside

    def _on_read(self, variable: Variable) -> None:
        self.accessed[variable._key] = variable
        if variable._key not in self._watched and self._outside.reads(variable):
            self._watch(variable)

    def _on_capture(self, tensor: Tensor) -> None:
        super()._on_capture(tensor)
        if not is_traced(tensor._array) and tensor._key not in self._known:
            self.outer_tensors[id(tensor)] = tensor
            if tensor._key and self._outside.knows(tensor._key):
                self._watch(tensor)


class Gradient:
    """A program that also gives the residuals of its gradient, and the program of that gradient.

    It is for one choice of sources: inputs by position, variables, and captured tensors.
    """

    forward: Callable[..., Any]
    backward: Callable[..., Any]

    def __init__(self, program: Program, leaves: list[Tensor], listening: Listening) -> None:
        self.program = program
        self.watched = listening.watched
        self.higher_order: dict[Any, Program] = {}  # by the shapes of the gradients
        self.graph = graph = program.trace(lambda inputs: self._with_gradients(inputs, listening), leaves)
        counts = [len(nest.flatten(part)) for part in graph.structure]
        self.builders = split(graph.builders, counts)[:2]  # of results and gradients
        self.widths = [
            sum(part) for part in split(graph.widths, counts)
        ]  # arrays of each, and of what is kept
        self.precision = graph.code.precision
        self._split()

    def _with_gradients(
        self, inputs: list[Tensor], listening: Listening
    ) -> tuple[Any, list[Any], list[Tensor]]:
        """The function's results; the gradients of the sources, for placeholders for those of the results; and the
        tensors that the tape's records need."""
        trace = local.here.trace
        tape = _FunctionTape(listening)
        with tape:
            for i in self.watched:
                tape._watch(inputs[i])
            answer = nest.map_structure(_read, self.program.function(inputs))
            answer = nest.map_structure(lambda leaf: _computed(leaf, tape), answer)
        leaves = nest.flatten(answer)
        self.outputs = _differentiable([x for x in leaves if _is_computed(x)])
        self.like = [(o._array.shape, o._array.dtype) for o in self.outputs]
        self.variables = tape.watched_variables()
        self.captures = [t for t in tape.outer_tensors.values() if t._key in tape._watched]
        self.program.note_uses(tape.accessed, tape.outer_tensors.values())
        watched = [inputs[i] for i in self.watched]
        outside = [*[v._key for v in self.variables], *[t._key for t in self.captures]]
        self.records = Records(tape, [*watched, *tape.kept()], [t._key for t in watched], outside)
        self.paths = self._find_paths()
        seeds = [
            wrap(trace.input(np.zeros(shape, dtype), ("gradient", i)))
            for i, (shape, dtype) in enumerate(self.like)
        ]
        return answer, self._pulled_back(self.outputs, seeds), self.records.find_residuals(trace)

    def _find_paths(self) -> list[set[int]] | None:
        """The positions of the sources that each output depends on; None if the gradient is of all outputs."""
        if not self.program.exact_paths:
            return None
        keys = self.records.keys
        leading = [self.records.leading_to([output]) for output in self.outputs]
        return [{i for i, key in enumerate(keys) if key in led} for led in leading]

    def _pulled_back(self, outputs: list[Tensor], gradients: list[Tensor]) -> list[Any]:
        found = self.records.sweep(outputs, gradients, self.records.keys)
        return [as_tensor(found.get(key)) for key in self.records.keys]

    def _split(self) -> None:
        """Split the jaxpr in two: the code of the results, and that of the gradients. Compile both."""
        code = self.graph.code
        jaxpr = code.jaxpr
        slots = {what: v for v, (kind, what) in zip(jaxpr.constvars, code.meanings) if kind == "gradient"}
        results, state, _ = split(jaxpr.outvars, self.graph.counts)
        values, gradients, kept = split(results, self.widths)
        forward = needed_for([*values, *state], independent_of(slots.values(), jaxpr.eqns))
        done = {id(eqn) for eqn in forward}
        backward = needed_for(gradients, [eqn for eqn in jaxpr.eqns if id(eqn) not in done])
        later = {*slots.values(), *[v for eqn in backward for v in eqn.outvars]}
        needed = [v for eqn in backward for v in eqn.invars if isinstance(v, Var)]
        needed += [v for v in gradients if isinstance(v, Var)]
        self.needed = list(dict.fromkeys(v for v in needed if v not in later))
        inputs = {*jaxpr.invars, *jaxpr.constvars}  # which need not be returned
        self.residuals = [v for v in self.needed if v not in inputs]
        self.recomputation, self.host_results = recomputation(jaxpr, kept)
        outvars = [*values, *state, *self.residuals, *self.host_results]
        self.forward_code = replaced(jaxpr, outvars=outvars, eqns=forward)
        self._run_by("forward", self._forward, self.forward_code)
        self.slots_used = [i for i in range(len(self.like)) if i in slots]
        invars = [*self.needed, *[slots[i] for i in self.slots_used]]
        self.backward_code = replaced(jaxpr, constvars=[], invars=invars, outvars=gradients, eqns=backward)
        self._run_by("backward", self._backward, self.backward_code)
        if self.program.executable is None:
            alone = replaced(jaxpr, outvars=[*values, *state], eqns=forward)
            graph = self.graph.first_of_pair(self.widths[0], alone)
            self.program.executable = Executable(graph, self.program.pure, self.program.at_once)

    def _run_by(self, name: str, function: Any, jaxpr: Any) -> None:
        """Set an attribute to a function that evaluates some code, as it is called."""
        code, use = self.graph.code, partial(setattr, self, name)
        compile = lambda: jit(code, function, planned(jaxpr))
        use(compile() if self.program.at_once else first_calls(code, function, compile, use, jaxpr))

    @cached_property
    def backward_stacked(self) -> Any:
        """The gradients for several gradients of the results at once, along a first axis."""

        def stacked(evaluate: Any, needed: Any, gradients: Any) -> Any:
            return jax.vmap(partial(self._backward_dense, evaluate), in_axes=(None, 0))(needed, gradients)

        return jit(self.graph.code, stacked, planned(self.backward_code))

    def _forward(self, evaluate: Any, state: Any, constants: Any, seed: Any, inputs: Any) -> list[list[Any]]:
        code = self.graph.code
        bound = code.bound_constants(dict(zip(code.variables, state, strict=True)), constants, seed)
        out = evaluate(self.forward_code, bound, *inputs)
        counts = [self.widths[0], self.graph.counts[1], len(self.residuals), len(self.host_results)]
        values, written, residuals, host_results = split(out, counts)
        given = [*state, *constants, *inputs]
        distinct = without_aliases(written, [*given, *values, *residuals, *host_results])
        return [without_aliases(values, given), distinct, residuals, host_results]

    def _backward(self, evaluate: Any, needed: Any, gradients: Any) -> list[Any]:
        found: list[Any] = evaluate(self.backward_code, [], *needed, *[gradients[i] for i in self.slots_used])
        return found

    def _backward_dense(self, evaluate: Any, needed: Any, gradients: Any) -> list[Any]:
        """The gradients without slices: stacked slices would be at different places."""
        arrays = iter(self._backward(evaluate, needed, gradients))
        return [None if g is None else _dense(g) for g in (build(arrays) for build in self.builders[1])]

    def run(self, leaves: list[Tensor], snapshot: dict[int, Any] | None = None, seed: Any = None) -> Any:
        """Run the function, and tell the open tapes how to pull gradients back."""
        code = self.graph.code
        with self.precision():
            if code.random and seed is None:
                seed = new_seed()
            if snapshot is None:
                reads = self.graph.reads
                snapshot = dict(zip(reads, values_of(list(reads.values())), strict=True))
            state = [snapshot[key] for key in code.variables]
            inputs = [on_device(t) for t in leaves]
            results, written, residuals, host_results = self.forward(state, code.constants, seed, inputs)
        sources = self._sources(leaves)
        if not self.program.pure:
            store(self.graph.written, written)
        there = dict(zip((*code.jaxpr.invars, *self.residuals), (*inputs, *residuals), strict=True))
        bound = code.bound_constants(snapshot, code.constants, seed)
        there.update(zip(code.jaxpr.constvars, bound, strict=True))
        arrays = iter(results)
        built = [build(arrays) for build in self.builders[0]]
        outputs = _differentiable([t for t, width in zip(built, self.graph.widths) if width])
        call = _Call(
            [*leaves, *map(from_device, host_results)], snapshot, seed, [there[v] for v in self.needed]
        )
        _CompiledPlan(self, call, len(sources)).record(sources, outputs)
        return nest.pack_sequence_as(self.graph.structure[0], built)

    def _sources(self, leaves: list[Tensor]) -> list[Tensor]:
        # Of variables only the key counts: the function may never have read what they hold outside.
        return [*[leaves[i] for i in self.watched], *[v._tensor for v in self.variables], *self.captures]

    def as_program(self, count: int, gradients: list[Any]) -> Program:
        """The gradients as a program on tensors, which may be differentiated in turn.

        Its inputs are `count` inputs and host results of the forward program, from which it computes the tensors of
        the records as that program did, and the gradients of the results.
        """
        choice = tuple(None if g is None else tuple(g.shape) for g in gradients)
        if choice not in self.higher_order:
            outputs = [o for o, g in zip(self.outputs, gradients, strict=True) if g is not None]

            def function(inputs: list[Tensor]) -> list[Any]:
                self._recompute(inputs[:count])
                return self._pulled_back(outputs, inputs[count:])

            self.higher_order[choice] = self.program.derived(function)
        return self.higher_order[choice]

    def _recompute(self, inputs: list[Tensor]) -> None:
        """Bind the tensors of the records to their values for these inputs: as `Block.recompute` does."""
        code, trace = self.graph.code, local.here.trace
        state = {key: trace.read(self.graph.reads[key])._array for key in code.variables}
        bound = code.bound_constants(state, code.constants, trace.seed() if code.random else None)
        arrays = eval_jaxpr(self.recomputation, bound, *[t._array for t in inputs])
        self.records.bind(arrays)
        for variable in self.variables:
            for tape in local.here.tapes:
                tape._on_read(variable)
        self.records.connect(self.program.name, self._sources(inputs))


def _read(leaf: Any) -> Any:
    return leaf._read() if isinstance(leaf, Variable) else leaf


def _computed(leaf: Any, tape: _FunctionTape) -> Any:
    """Let a result that depends on nothing but captured tensors be computed by the program as well."""
    if (
        type(leaf) is Tensor
        and not is_traced(leaf._array)
        and leaf._key in tape._known - tape._watched.keys()
    ):
        key, leaf = leaf._key, wrap(local.here.trace.constant(leaf._array))
        leaf._key = key
    return leaf


def _is_computed(leaf: Any) -> bool:
    """Return whether a result is computed by the program, or part of it is."""
    parts = nest.flatten(leaf, expand_composites=True)
    return any(type(part) is not Tensor or is_traced(part._array) for part in parts)


def _differentiable(leaves: list[Any]) -> list[Tensor]:
    """The tensors among the results that may have a gradient: of slices the rows, of other composites their parts."""
    parts = nest.flatten(leaves, expand_composites=True)
    tensors = [leaf.values if isinstance(leaf, IndexedSlices) else leaf for leaf in parts]
    return [t for t in tensors if type(t) is Tensor and dtypes.is_differentiable(array_of(t))]


class _Call:
    """The data of one forward call that its gradient needs."""

    def __init__(self, inputs: list[Tensor], snapshot: dict[int, Any], seed: Any, needed: list[Any]) -> None:
        self.inputs = inputs  # and host results
        self.snapshot = snapshot
        self.seed = seed
        self.needed = needed  # inputs and residuals that the backward code needs


class _CompiledPlan(PullbackPlan):
    """A plan that runs the compiled gradient of one call."""

    def __init__(self, gradient: Gradient, call: _Call, count: int) -> None:
        super().__init__(gradient.program.name, gradient.like, tuple(range(count)))
        self._gradient = gradient
        self._call = call

    def record(self, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        """Tell the open tapes; with exact paths, they know of the outputs those that depend on what they know."""
        super().record(inputs, outputs)
        paths = self._gradient.paths
        if paths is not None:
            for tape in local.here.tapes:
                known = {i for i, x in enumerate(inputs) if tape._knows(x._key)}
                without = {o._key for o, path in zip(outputs, paths, strict=True) if path.isdisjoint(known)}
                tape._known -= without  # type: ignore[attr-defined]

    @property
    def graph(self) -> GraphView:
        """What the function computes, for looking at."""
        executable = self._gradient.program.executable
        assert executable is not None
        graph = executable.graph
        names = [f"argument_{i}" for i in range(len(graph.code.jaxpr.invars))]
        return GraphView(self.name, names, graph, None, None, False)

    @property
    def program_sizes(self) -> tuple[int, int]:
        """The number of operations in the forward program and in the backward program."""
        return len(self._gradient.forward_code.eqns), len(self._gradient.backward_code.eqns)

    def arrays(self, gradients: tuple[Any, ...], kept: Any = ()) -> list[Any]:
        gradient, lead = self._gradient, self.leading_axes(gradients)
        rows = int(np.prod(lead, dtype=int))
        targets = []
        for g, (shape, dtype) in zip(gradients, self.like, strict=True):
            whole = np.zeros(lead + shape, dtype) if g is None else g
            targets.append(whole.reshape((rows, *shape)) if lead else whole)
        with gradient.precision():
            if not lead:
                parts = iter(gradient.backward(self._call.needed, targets))
                found = [build(parts) for build in gradient.builders[1]]
            else:
                stacked = gradient.backward_stacked(self._call.needed, targets)
                found = [None if g is None else from_device(g.reshape(lead + g.shape[1:])) for g in stacked]
        if gradient.paths is not None:
            led = set().union(
                *[path for path, g in zip(gradient.paths, gradients, strict=True) if g is not None]
            )
            found = [g if i in led else None for i, g in enumerate(found)]
        return [as_arrays(found[i]) for i in self.watched]

    def tensors(self, gradients: tuple[Any, ...], kept: Any = ()) -> list[Any]:
        call = self._call
        inputs = [*call.inputs, *[g for g in gradients if g is not None]]
        with _tracing:
            program = self._gradient.as_program(len(call.inputs), list(gradients))
            program.prepare(inputs)
        found = program(inputs, call.snapshot, call.seed)
        return [found[i] for i in self.watched]


def _dense(g: Any) -> Any:
    """The whole array of a gradient that is still traced."""
    if type(g) is Tensor:
        return on_device(g)
    return IndexedSlices(on_device(g.values), on_device(g.indices), tuple(g.shape)).dense()
