"""Program: a function on tensors, traced once by JAX and compiled by XLA, and its gradient.

`function` makes one for each signature it is called with. Tracing gives a jaxpr (JAX's list of what was computed), of
which programs are cut: the values alone; or, for a call that a tape outside listens to, the values with all that the
gradient will need, and the gradient. Gradients are made while tracing by our own tape, so our rules are in force.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend.core import Var

from . import dtypes, nest
from .engine import is_traced
from .host import python_errors
from .indexed_slices import IndexedSlices
from .primitive import local
from .tape import GradientTape
from .tensor import Tensor, array_of, convert, device_of, key_of, next_key, wrap
from .trace import Trace
from .variable import Variable

x64 = jax.enable_x64
_new = object.__new__


def on_device(tensor: Tensor) -> Any:
    """The array of a tensor where compiled code can use it. Stays with the tensor: the next call finds it there."""
    try:
        return device_of(tensor)
    except AttributeError:
        tensor._device = array = jax.device_put(tensor._array)
        return array


def from_device(array: Any, key: int = 0) -> Tensor:
    """A tensor for what compiled code computed. NumPy's view of it is made when somebody looks."""
    tensor = _new(Tensor)
    tensor._device = array
    tensor._key = key
    return tensor


class Code:
    """What a traced function computes: results from the inputs it was given, and those that were found on the way."""

    def __init__(self, closed: Any, trace: Trace) -> None:
        self.jaxpr = closed.jaxpr
        self.constants: list[Any] = []
        self.sources: list[tuple[str, Any]] = []  # for each constant of the jaxpr: what stands in its place
        for constant in closed.consts:
            meaning = trace.meaning(constant)
            if meaning is None:
                meaning = ("constant", len(self.constants))
                self.constants.append(jax.numpy.asarray(constant))
            self.sources.append(meaning)
        self.variables = list(dict.fromkeys(what for kind, what in self.sources if kind == "variable"))
        self.random = ("random", 0) in self.sources

    def bind(self, state: dict[int, Any], constants: Any, seed: Any) -> list[Any]:
        """The values of the jaxpr's constants; None for gradients, which only part of it needs."""
        values = {"variable": state, "constant": constants, "random": {0: seed}}
        return [values[kind][what] if kind in values else None for kind, what in self.sources]

    @property
    def may_raise(self) -> bool:
        """Does it call Python, which may raise while it runs?"""
        return _calls_python(self.jaxpr)


def _raising(code: Any, compiled: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function that, where it calls Python, raises what that raises."""
    if not code.may_raise:
        return compiled

    def run(*arguments: Any) -> Any:
        with python_errors():
            return jax.block_until_ready(compiled(*arguments))

    return run


def _calls_python(jaxpr: Any) -> bool:
    from jax.extend.core import jaxprs_in_params

    return any(
        "callback" in eqn.primitive.name or any(_calls_python(j) for j in jaxprs_in_params(eqn.params))
        for eqn in jaxpr.eqns
    )


# ---------------------------------------------------------------------------------------------------------------------
# Tracing


class Traced:
    """One run of a function with traced tensors: the jaxpr of it, and what the function returned and did."""

    def __init__(
        self, name: str, run: Callable[[list[Tensor]], Any], leaves: list[Tensor], may_create: bool = True
    ) -> None:
        trace = Trace(name, may_create=may_create)
        here = local.here
        kept: dict[str, Any] = {}

        def flat(*arrays: Any) -> Any:
            inputs = [wrap(a) for a in arrays]
            answer = run(inputs)
            kept["structure"] = answer
            kept["outputs"] = outputs = [_output(leaf) for leaf in nest.flatten(answer)]
            results = [o for o in outputs if type(o) is _Traced]
            state = [trace.values[key]._array for key in trace.written]
            initial = [array for _, array in trace.created if array is not None]
            return [part for r in results for part in r.parts], state, initial

        before = here.tapes, here.trace
        here.tapes, here.trace = [], trace
        try:
            with x64(True):
                closed, shapes = jax.make_jaxpr(flat, return_shape=True)(*[_like(t) for t in leaves])
        finally:
            here.tapes, here.trace = before
        self.code = Code(closed, trace)
        self.reads = dict(trace.read_)
        self.written = list(trace.written.values())
        self.created = [(variable, array is not None) for variable, array in trace.created]
        self.random = self.code.random
        self.structure = kept["structure"]
        self.counts = [len(part) for part in shapes]  # results, state, initial values
        self.widths = [len(o.parts) if type(o) is _Traced else 0 for o in kept["outputs"]]
        self.rebuild = [o.forget() if type(o) is _Traced else _always(o) for o in kept["outputs"]]

    def only(self, count: int, jaxpr: Any) -> Traced:
        """The first part of a pair of results, as `jaxpr` computes it."""
        part = copy.copy(self)
        part.code = copy.copy(self.code)
        part.code.jaxpr = jaxpr
        part.structure = self.structure[0]
        part.rebuild = self.rebuild[: len(nest.flatten(part.structure))]
        part.counts = [count, *self.counts[1:]]
        return part

    def compute(self, state: dict[int, Any], constants: Any, seed: Any, inputs: Any) -> list[list[Any]]:
        """The results, what variables hold afterwards, and initial values of new ones, of arrays by JAX."""
        out = jax.core.eval_jaxpr(self.code.jaxpr, self.code.bind(state, constants, seed), *inputs)
        return cut(out, self.counts)

    def pack(self, arrays: Any) -> Any:
        """What the function returns, from the arrays that the compiled one gave."""
        arrays = iter(arrays)
        return nest.pack_sequence_as(self.structure, [build(arrays) for build in self.rebuild])


class _Traced:
    """One result of a traced function that the compiled one is to give: a tensor, or slices of one."""

    def __init__(self, parts: list[Any], rebuild: Callable[[Any], Any]) -> None:
        self.parts = parts
        self.rebuild = rebuild

    def forget(self) -> Callable[[Any], Any]:
        """How to make the result of the arrays the compiled function gave. The traced ones are dropped."""
        self.parts = []
        return self.rebuild


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda arrays: value


def _output(leaf: Any) -> Any:
    """A leaf of what a function returned: what is traced is a result of the program, the rest stays as it is."""
    if isinstance(leaf, Variable):
        leaf = leaf._read()
    if isinstance(leaf, IndexedSlices):
        shape = leaf._dense_shape
        parts = [leaf.values._array, leaf.indices._array]
        return _Traced(parts, lambda a: IndexedSlices(from_device(next(a)), from_device(next(a)), shape))
    if isinstance(leaf, (int, float, complex, np.ndarray, np.generic)):
        return convert(leaf)
    if type(leaf) is not Tensor or not is_traced(leaf._array):
        return leaf
    return _Traced([leaf._array], lambda arrays: from_device(next(arrays)))


def _like(tensor: Tensor) -> Any:
    array = array_of(tensor)
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Running


class Program:
    """A compiled function of tensors, for one choice of their shapes and dtypes.

    A pure one leaves variables as they are, whatever the function does to them.
    """

    def __init__(
        self, name: str, run: Callable[[list[Tensor]], Any], *, may_create: bool = False, pure: bool = False
    ) -> None:
        self.name = name
        self.run = run
        self.may_create = may_create
        self.pure = pure
        self.values: Values | None = None  # traced when first needed
        self.gradients: dict[Any, Gradient] = {}
        self.made_variables = False
        self.reads: dict[int, Variable] | None = None  # variables, by key; None: not traced yet
        self.captured: dict[int, Tensor] = {}  # tensors from outside that a tape may know

    def trace(self, run: Callable[[list[Tensor]], Any], leaves: list[Tensor]) -> Traced:
        """Trace `run`; twice if it makes variables, so that the second time they are there, as in TensorFlow."""
        traced = Traced(self.name, run, leaves, self.may_create)
        if traced.created:
            _initialize(traced, leaves)
            self.made_variables, self.may_create = True, False
            traced = Traced(self.name, run, leaves, may_create=False)
        self.reads = traced.reads
        return traced

    def __call__(self, leaves: list[Tensor], held: dict[int, Any] | None = None, seed: Any = None) -> Any:
        """Run it. `held` are arrays that variables held, to use instead of what they hold now."""
        return self.prepare(leaves)(leaves, held, seed)

    def prepare(self, leaves: list[Tensor]) -> Values | Gradient:
        """What to run: the values alone, or what the open tapes need; traced now if it was not before."""
        if local.here.tapes:
            gradient = self._heard(leaves)
            if gradient is not None:
                return gradient
        if self.values is None:
            self.values = Values(self, self.trace(self.run, leaves))
        return self.values

    def _heard(self, leaves: list[Tensor]) -> Gradient | None:
        """The program for the open tapes, with a gradient for what they listen to; None if that is nothing."""
        tapes = local.here.tapes

        def known(key: int) -> bool:
            return any(tape._knows(key) for tape in tapes)

        def read(variable: Variable) -> bool:
            for tape in tapes:
                tape._access(variable)
            return known(variable._key)

        heard = tuple(i for i, t in enumerate(leaves) if t._key and known(t._key))
        if self.reads is not None:
            choice = self._choice(heard, read, known)
            if choice in self.gradients:
                return self.gradients[choice]
        gradient = Gradient(self, leaves, heard, read, known)
        if not any(choice := self._choice(heard, read, known)):
            return None
        self.gradients[choice] = gradient
        return gradient

    def _choice(self, heard: Any, read: Callable[[Variable], bool], known: Callable[[int], bool]) -> Any:
        assert self.reads is not None
        variables = tuple([key for key, variable in self.reads.items() if read(variable)])
        return heard, variables, tuple([key for key in self.captured if known(key)])


def store(variables: list[Variable], arrays: list[Any]) -> None:
    """Put what a program computed for them into variables."""
    for variable, array in zip(variables, arrays, strict=True):
        variable._tensor = from_device(array, variable._key)


class Values:
    """The compiled program that gives the results alone. Variables are written in place."""

    def __init__(self, program: Program, traced: Traced) -> None:
        self.traced = traced
        self.pure = program.pure
        # Nothing is written in place by a program that may fail half way, or is given what variables held before.
        in_place = set() if self.pure or traced.code.may_raise else {v._key for v in traced.written}
        reads = [traced.reads[key] for key in traced.code.variables]
        self.donated = [v for v in reads if v._key in in_place]
        self.kept = [v for v in reads if v._key not in in_place]
        self.compiled = _raising(traced.code, jax.jit(self._compute, donate_argnums=0))

    def _compute(
        self, donated: Any, kept: Any, constants: Any, seed: Any, inputs: Any
    ) -> tuple[list[Any], list[Any]]:
        arrays = (*donated, *kept)
        state = {v._key: a for v, a in zip((*self.donated, *self.kept), arrays, strict=True)}
        results, written, _ = self.traced.compute(state, constants, seed, inputs)
        given = [*arrays, *constants, *inputs]
        return _own(results, given), [] if self.pure else _own(written, [*given, *results])

    def __call__(self, leaves: list[Tensor], held: dict[int, Any] | None, seed: Any) -> Any:
        traced = self.traced
        with x64(True):
            if traced.random and seed is None:
                seed = new_seed()
            if held is None:
                donated = [on_device(v._tensor) for v in self.donated]
                kept = [on_device(v._tensor) for v in self.kept]
            else:
                donated, kept = [], [held[v._key] for v in self.kept]
            inputs = [on_device(t) for t in leaves]
            results, state = self.compiled(donated, kept, traced.code.constants, seed, inputs)
        if state:
            store(traced.written, state)
        return traced.pack(results)


def new_seed() -> Any:
    """Where this call's random numbers begin."""
    from .ops.random import seed_of_a_call

    return seed_of_a_call()


def cut(values: list[Any], counts: list[int]) -> list[list[Any]]:
    """A list in pieces of the given lengths."""
    pieces, start = [], 0
    for count in counts:
        pieces.append(list(values[start : start + count]))
        start += count
    return pieces


def _own(results: list[Any], given: list[Any]) -> list[Any]:
    """Results that share no memory with an input, nor with each other: variables are written in place."""
    seen = {id(a) for a in given}
    own = []
    for result in results:
        own.append(jax.numpy.copy(result) if id(result) in seen else result)
        seen.add(id(result))
    return own


def _initialize(traced: Traced, leaves: list[Tensor]) -> None:
    """Compute the initial values that the function computes for its variables, and put them there."""
    variables = [variable for variable, unknown in traced.created if unknown]
    if not variables:
        return
    keys = traced.code.variables

    def initial(state: Any, constants: Any, seed: Any, inputs: Any) -> list[Any]:
        return traced.compute(dict(zip(keys, state, strict=True)), constants, seed, inputs)[2]

    with x64(True):
        state = [on_device(traced.reads[k]._tensor) for k in keys]
        seed = new_seed() if traced.random else None
        values = jax.jit(initial)(state, traced.code.constants, seed, [on_device(t) for t in leaves])
    for variable, value in zip(variables, values, strict=True):
        variable._tensor = from_device(value, variable._key)


# ---------------------------------------------------------------------------------------------------------------------
# Gradients


class _Recorder(GradientTape):
    """A tape inside the trace. It watches what the tapes outside know or would watch: `read` says whether they know a
    variable that is read, `known` whether they know a tensor from outside."""

    def __init__(self, read: Callable[[Variable], bool], known: Callable[[int], bool]) -> None:
        super().__init__()
        self.captured: dict[int, Tensor] = {}
        self._read = read
        self._known_outside = known
        self._made_before = next_key()

    def _access(self, variable: Variable) -> None:
        if variable._key not in self._watched and self._read(variable):
            self._watch(variable)

    def _hear(self, primitive: Any, inputs: tuple[Tensor, ...], attributes: Any, out: Any) -> None:
        for x in inputs:
            if 0 < x._key < self._made_before and not is_traced(x._array):
                self.captured[x._key] = x
                if self._known_outside(x._key):
                    self._watch(x)
        super()._hear(primitive, inputs, attributes, out)


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
        self._split()

    def _run(self, inputs: list[Tensor], tape: _Recorder) -> tuple[Any, list[Tensor]]:
        """Run the function under a tape: what it returns, and those tensors of it that may have a gradient."""
        with tape:
            for i in self.heard:
                tape._watch(inputs[i])
            answer = self.program.run(inputs)
        outputs = [t for t in nest.flatten(answer) if type(t) is Tensor and is_traced(t._array)]
        return answer, [t for t in outputs if dtypes.is_differentiable(t._array)]

    def _joint(
        self, inputs: list[Tensor], read: Callable[[Variable], bool], known: Callable[[int], bool]
    ) -> tuple[Any, list[Any]]:
        """The function's results, and the gradients of the sources for gradients of the results that stand open."""
        tape = _Recorder(read, known)
        answer, outputs = self._run(inputs, tape)
        self.variables = tape.watched_variables()
        self.captured = [t for key, t in tape.captured.items() if key in tape._watched]
        self.program.captured.update(tape.captured)
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
        """Cut the jaxpr in two: what depends on the gradients of the results, and what comes before."""
        code = self.traced.code
        jaxpr = code.jaxpr
        slots = {what: var for var, (kind, what) in zip(jaxpr.constvars, code.sources) if kind == "gradient"}
        later = set(slots.values())
        first, second = [], []
        for eqn in jaxpr.eqns:
            if any(isinstance(v, Var) and v in later for v in eqn.invars):
                later.update(eqn.outvars)
                second.append(eqn)
            else:
                first.append(eqn)
        results, state, _ = cut(jaxpr.outvars, self.traced.counts)
        values, gradients = results[: self.width], results[self.width :]
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
        self.forward = _raising(code, jax.jit(self._forward))
        self.backward = _raising(code, jax.jit(self._backward))
        self.backward_stacked = jax.jit(jax.vmap(self._backward_dense, in_axes=(None, 0)))

    def _forward(self, state: Any, constants: Any, seed: Any, inputs: Any) -> list[list[Any]]:
        code = self.traced.code
        bound = code.bind(dict(zip(code.variables, state, strict=True)), constants, seed)
        out = jax.core.eval_jaxpr(self.forward_code, bound, *inputs)
        given = [*state, *constants, *inputs]
        values, written, residuals = cut(out, [self.width, self.traced.counts[1], len(self.residuals)])
        return [_own(values, given), _own(written, [*given, *values, *residuals]), residuals]

    def _backward(self, needed: Any, targets: Any) -> list[Any]:
        return jax.core.eval_jaxpr(self.backward_code, [], *needed, *[targets[i] for i in self.asked])

    def _backward_dense(self, needed: Any, targets: Any) -> list[Any]:
        """The gradients without slices: stacked slices would be at different places."""
        arrays = iter(self._backward(needed, targets))
        gradients = [build(arrays) for build in self.rebuild[1]]
        return [None if g is None else _dense(g) for g in gradients]

    def __call__(self, leaves: list[Tensor], held: dict[int, Any] | None, seed: Any) -> Any:
        """Run the function, and tell the open tapes how to pull gradients back."""
        code = self.traced.code
        with x64(True):
            if code.random and seed is None:
                seed = new_seed()
            if held is None:
                held = {key: on_device(v._tensor) for key, v in self.traced.reads.items()}
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
        outputs = [t for t, width in zip(built, self.traced.widths) if width and type(t) is Tensor]
        outputs = [t for t in outputs if dtypes.is_differentiable(array_of(t))]
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

    def arrays(self, gradients: tuple[Any, ...]) -> list[Any]:
        like = self._of.like
        given = next(i for i, g in enumerate(gradients) if g is not None)
        lead = np.shape(gradients[given])[: np.ndim(gradients[given]) - len(like[given][0])]
        rows = int(np.prod(lead, dtype=int))
        targets = []
        for g, (shape, dtype) in zip(gradients, like, strict=True):
            whole = np.zeros(lead + shape, dtype) if g is None else g
            targets.append(whole.reshape((rows, *shape)) if lead else whole)
        with x64(True):
            if not lead:
                parts = iter(self._of.backward(self._needed, targets))
                found = [build(parts) for build in self._of.rebuild[1]]
            else:
                stacked = self._of.backward_stacked(self._needed, targets)
                found = [None if g is None else from_device(g.reshape(lead + g.shape[1:])) for g in stacked]
        return [_as_arrays(found[i]) for i in self.heard]

    def tensors(self, gradients: tuple[Any, ...]) -> list[Any]:
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
