"""Program: a function on tensors, traced once by JAX and compiled by XLA.

`function` makes one for each signature it is called with. Tracing gives a jaxpr (JAX's list of what was computed), of
which programs are cut: the values alone here; or, for a call that a tape outside listens to, the values with all that
the gradient will need, and the gradient: see `pullback`.
"""

from __future__ import annotations

import copy
import math
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from itertools import compress, starmap
from pathlib import Path
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.extend import source_info_util
from jax.extend.core import Var, jaxprs_in_params
from jax.interpreters.partial_eval import dce_jaxpr_consts

from ..core import nest
from ..core.errors import InvalidArgumentError, NotCompilableError, ResourceExhaustedError
from ..core.indexed_slices import IndexedSlices
from ..core.primitive import local
from ..core.spec import TensorSpec
from ..core.tensor import Tensor, array_of, convert, device_of, wrap
from ..core.trace_errors import OtherInputs, escape, no_value
from ..core.variable import Variable, when_made
from ..engine.arrays import is_traced
from ..engine.host import python_errors
from ..engine.reference_counts import UNSHARED_ITEMS
from ..ops.known import afford
from .buffers import (
    blank,
    cell_of,
    do,
    drop_device,
    from_device,
    on_device,
    set_apart,
    set_device,
    store,
    tensors,
    values_of,
    writing,
    written_out,
    x64,
)
from .placeholders import Parameter, Written, written
from .trace import NAMED, Trace

if TYPE_CHECKING:
    from .pullback import Gradient

source_info_util.register_exclusion(str(Path(__file__).parents[1]))  # a line JAX names is one of the user's


class Code:
    """What a traced function computes: results from the inputs it was given, and those that were found on the way."""

    def __init__(self, closed: Any, trace: Trace) -> None:
        meanings = [trace.meaning(constant) for constant in closed.consts]
        jaxpr, used = _alive(closed.jaxpr, [meaning is not None for meaning in meanings])
        self.jaxpr = _without_names(jaxpr)
        self.constants: list[Any] = []
        self.sources: list[tuple[str, Any]] = []  # for each constant of the jaxpr: what stands in its place
        for constant, meaning in compress(zip(closed.consts, meanings, strict=True), used):
            if is_traced(constant):
                raise no_value("a function", constant)
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
        return any("callback" in eqn.primitive.name for jaxpr in _parts(self.jaxpr) for eqn in jaxpr.eqns)

    @property
    def is_large(self) -> bool:
        """Does it compute an array for which memory may be lacking when it runs?"""
        return any(
            math.prod(getattr(v.aval, "shape", ())) > _LARGE
            for jaxpr in _parts(self.jaxpr)
            for eqn in jaxpr.eqns
            for v in eqn.outvars
        )

    @property
    def precision(self) -> Any:
        """The context to run it in: JAX has no 64-bit numbers but where it is told to, which takes 3 us a call."""
        wide = any(_is_wide(jaxpr) for jaxpr in _parts(self.jaxpr))
        return (lambda: x64(True)) if wide else nullcontext


def raising(code: Code, compiled: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function that, where it calls Python, raises what that raises; or says that memory is lacking.

    (JAX gives an array at once, of which XLA finds out later; who looks at one for which there was no memory ends the
    process.)
    """
    if not code.may_raise and not code.is_large:
        return compiled

    def run(*arguments: Any) -> Any:
        try:
            with python_errors():
                return jax.block_until_ready(compiled(*arguments))
        except jax.errors.JaxRuntimeError as error:
            if not str(error).startswith("RESOURCE_EXHAUSTED"):
                raise
            raise ResourceExhaustedError(f"a compiled function: {error}") from error

    return run


_LARGE = 1 << 26  # elements: arrays for which memory may be lacking
_IN_PLACE = (
    1 << 22
)  # elements: below, variables of such a program are copied, so that they survive if it fails


def _alive(jaxpr: Any, needed: list[bool]) -> tuple[Any, list[bool]]:
    """The code without what its results do not need, in loops and branches too; and which constants are left.

    XLA finds all that itself, in more time. Constants that are `needed`, and inputs, stay anyway.
    """
    stay = [*needed, *[True] * len(jaxpr.invars)]
    jaxpr, used, _ = dce_jaxpr_consts(jaxpr, [True] * len(jaxpr.outvars), stay)
    return jaxpr, used


def _without_names(jaxpr: Any) -> Any:
    """The code with an input in place of each name that `Trace.input` gave it."""
    inputs: dict[Any, Any] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "name" and eqn.params["name"].startswith(NAMED):
            (given,) = eqn.invars
            inputs[eqn.outvars[0]] = inputs.get(given, given) if isinstance(given, Var) else given

    def through(variables: list[Any]) -> list[Any]:
        return [inputs.get(v, v) if isinstance(v, Var) else v for v in variables]

    kept = [eqn for eqn in jaxpr.eqns if eqn.outvars[:1] == [] or eqn.outvars[0] not in inputs]
    eqns = [eqn.replace(invars=through(eqn.invars)) for eqn in kept]
    names = jaxpr.debug_info.with_unknown_names()
    return jaxpr.replace(eqns=eqns, outvars=through(jaxpr.outvars), debug_info=names)


def _parts(jaxpr: Any) -> Iterator[Any]:
    """The code, and all code inside it: branches, bodies of loops."""
    yield jaxpr
    for eqn in jaxpr.eqns:
        for inner in jaxprs_in_params(eqn.params):
            yield from _parts(inner)


def _is_wide(jaxpr: Any) -> bool:
    variables = [*jaxpr.invars, *jaxpr.constvars, *jaxpr.outvars, *[v for e in jaxpr.eqns for v in e.outvars]]
    return any(getattr(v.aval, "dtype", _NARROW) in _WIDE for v in variables)


_WIDE = frozenset(np.dtype(name) for name in ("int64", "uint64", "float64", "complex128"))
_NARROW = np.dtype(np.float32)


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
            trace.begin()
            inputs = [wrap(a) for a in arrays]
            answer = run(inputs)
            kept["structure"] = answer
            kept["outputs"] = outputs = [_output(leaf) for leaf in nest.flatten(answer)]
            results = [o for o in outputs if type(o) is _Traced]
            state = [trace.values[key]._array for key in trace.written]
            initial = [new.initial for new in trace.created if new.initial is not None]
            return [part for r in results for part in r.parts], state, initial

        flat.__name__ = name  # what JAX calls it
        before = here.tapes, here.trace
        here.tapes, here.trace = [], trace
        try:
            with x64(True):
                closed, shapes = jax.make_jaxpr(flat, return_shape=True)(*[_like(t) for t in leaves])
                self.code = Code(closed, trace)
        except BaseException as error:
            if trace.fail() and isinstance(error, NotCompilableError):
                raise InvalidArgumentError(
                    str(error)
                ) from None  # it made variables, and cannot make them again
            if isinstance(error, jax.errors.UnexpectedTracerError):
                raise escape(error) from None
            raise
        finally:
            here.tapes, here.trace = before
            trace.unbind()
        for shape in shapes[0]:
            afford(f"the function {name}", shape.shape, shape.dtype.itemsize)
        self.reads = dict(trace.read_)
        self.written = [written(variable) for variable in trace.written.values()]
        self.created = [new._replace(initial=None) for new in trace.created]
        self.random = self.code.random
        self.structure = nest.map_structure(lambda leaf: None, kept["structure"])
        self.counts = [len(part) for part in shapes]  # results, state, initial values
        self.widths = [len(o.parts) if type(o) is _Traced else 0 for o in kept["outputs"]]
        self.outputs = nest.pack_sequence_as(self.structure, [_spec(o) for o in kept["outputs"]])
        self.rebuild = [o.forget() if type(o) is _Traced else _always(o) for o in kept["outputs"]]
        self.pack = self._packer()

    def only(self, count: int, jaxpr: Any) -> Traced:
        """The first part of a pair of results, as `jaxpr` computes it."""
        part = copy.copy(self)
        part.code = copy.copy(self.code)
        part.code.jaxpr = jaxpr
        part.structure = self.structure[0]
        part.outputs = self.outputs[0]
        part.rebuild = self.rebuild[: len(nest.flatten(part.structure))]
        part.counts = [count, *self.counts[1:]]
        part.pack = part._packer()
        return part

    def compute(self, state: dict[int, Any], constants: Any, seed: Any, inputs: Any) -> list[list[Any]]:
        """The results, what variables hold afterwards, and initial values of new ones, of arrays by JAX."""
        out = jax.core.eval_jaxpr(self.code.jaxpr, self.code.bind(state, constants, seed), *inputs)
        return cut(out, self.counts)

    def _packer(self) -> Callable[[list[Any]], Any]:
        """What makes the function's results from the arrays that the compiled one gave."""
        if all(build is _one_tensor for build in self.rebuild):
            if not nest.is_nested(self.structure):
                return _only_tensor
            if nest._is_flat(self.structure):
                return tensors if type(self.structure) is list else lambda arrays: tuple(tensors(arrays))

        def pack(arrays: list[Any]) -> Any:
            parts = iter(arrays)
            return nest.pack_sequence_as(self.structure, [build(parts) for build in self.rebuild])

        return pack

    @property
    def form(self) -> str | None:
        """The results as `written_out` takes them; None if they are other than a tensor or a few in a list or tuple."""
        if not 0 < len(self.rebuild) <= 10 or any(build is not _one_tensor for build in self.rebuild):
            return None
        names = "".join(f"t{i}, " for i in range(len(self.rebuild)))
        if not nest.is_nested(self.structure):
            return "t0"
        if not nest._is_flat(self.structure):
            return None
        return f"[{names}]" if type(self.structure) is list else f"({names})"


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


def _one_tensor(arrays: Any) -> Tensor:
    return from_device(next(arrays))


def _only_tensor(arrays: list[Any]) -> Tensor:
    tensor = blank(Tensor)
    tensor._device = arrays[0]
    tensor._key = 0
    return tensor


def _spec(output: Any) -> Any:
    if type(output) is _Traced and output.rebuild is _one_tensor:
        output = wrap(output.parts[0])
    return TensorSpec.from_tensor(output) if type(output) is Tensor else output


def _output(leaf: Any) -> Any:
    """A leaf of what a function returned: what is traced is a result of the program, the rest stays as it is."""
    if isinstance(leaf, Variable):
        leaf = leaf._read()
    if isinstance(leaf, IndexedSlices):
        shape = leaf._dense_shape
        parts = [leaf.values._array, leaf.indices._array]
        return _Traced(parts, lambda a: IndexedSlices(from_device(next(a)), from_device(next(a)), shape))
    if isinstance(leaf, (int, float, complex, str, bytes, np.ndarray, np.generic)):
        return convert(leaf)
    if type(leaf) is not Tensor or not is_traced(leaf._array):
        return leaf
    return _Traced([leaf._array], _one_tensor)


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
        self,
        name: str,
        run: Callable[[list[Tensor]], Any],
        arguments: Any = None,
        *,
        may_create: bool = False,
        pure: bool = False,
    ) -> None:
        self.name = name
        self.run = run
        self.arguments = arguments
        self.takes_variables = arguments is not None and bool(arguments.variables)
        self.may_create = may_create
        self.pure = pure
        self.values: Values | None = None  # traced when first needed
        self.gradients: dict[Any, Gradient] = {}
        self.made_variables = False
        self.variables: dict[int, Variable] = {}  # those it reads or writes, by key
        self.accessed: dict[int, Variable] = {}  # those that tapes may hear of
        self.open: list[Variable] = []  # those whose shape is open,
        self.others: dict[Any, Program] = {}  # and programs for all shapes they had
        self.captured: list[Any] | None = (
            None  # references to tensors from outside, which tapes may know one day
        )

    @property
    def is_dead(self) -> bool:
        """Is it for an object that is gone?"""
        return self.arguments is not None and self.arguments.is_dead

    @property
    def outputs(self) -> Any:
        """What it returns, with specs for tensors."""
        return None if self.values is None else self.values.traced.outputs

    def trace(self, run: Callable[[list[Tensor]], Any], leaves: list[Tensor]) -> Traced:
        """Trace `run`; twice if it makes variables, so that the second time they are there, as in TensorFlow."""
        traced = Traced(self.name, run, leaves, self.may_create)
        if traced.created:
            for look in when_made:
                look()
            _initialize(traced, leaves)
            self.made_variables, self.may_create = True, False
            traced = Traced(self.name, run, leaves, may_create=False)
        own = {v._key: v for v in traced.written if type(v) is not Written}
        self.variables = {**traced.reads, **own}
        self.open = [v for v in self.variables.values() if not v.shape.is_fully_defined()]
        self.others.setdefault(self._shapes(), self)
        return traced

    def _shapes(self) -> Any:
        return tuple([array_of(v._tensor).shape for v in self.open])

    def _for_these_shapes(self) -> Program:
        """The program for the shapes that variables of an open shape have now."""
        shapes = self._shapes()
        if shapes not in self.others:
            self.others[shapes] = program = Program(self.name, self.run, self.arguments)
            program.others = self.others
        return self.others[shapes]

    def __call__(self, leaves: list[Any], held: dict[int, Any] | None = None, seed: Any = None) -> Any:
        """Run it. `held` are arrays that variables held, to use instead of what they hold now."""
        program = self if held is not None or not self.open else self._for_these_shapes()
        if self.takes_variables:
            return program._for_variables(leaves)
        return program.prepare(leaves).run(leaves, held, seed)

    def _for_variables(self, leaves: list[Any]) -> Any:
        """Run it for these variables among the leaves."""
        if local.here.tapes:
            tensors = self.read(leaves)
            gradient = self._watched(tensors)
            if gradient is not None:
                with writing:
                    result = gradient.run(tensors, None, None)
                    for cell in gradient.traced.written:
                        if type(cell) is Written:
                            variable, tensor = leaves[cell.position], cell._tensor
                            tensor._key = variable._key
                            variable._tensor = tensor
                            del cell._tensor
                return result
            del tensors  # else whoever writes into variables would find them in use
        if self.values is None:
            self.values = Values(self, self.trace(self.run, self.read(leaves)))
        return self.values.run_for(leaves)

    def read(self, leaves: list[Any]) -> list[Tensor]:
        """The leaves with what variables hold in the variables' place; tapes hear that they were read."""
        if not self.takes_variables:
            return leaves
        for variable in leaves:
            if type(variable) is Variable:
                for tape in local.here.tapes:
                    tape._on_read(variable)
        with writing:
            return [cell_of(leaf) if type(leaf) is Variable else leaf for leaf in leaves]

    def prepare(self, leaves: list[Tensor]) -> Values | Gradient:
        """What to run: the values alone, or what the open tapes need; traced now if it was not before."""
        if local.here.tapes:
            gradient = self._watched(leaves)
            if gradient is not None:
                return gradient
        if self.values is None:
            self.values = Values(self, self.trace(self.run, leaves))
        return self.values

    def _watched(self, leaves: list[Tensor]) -> Gradient | None:
        """The program for the open tapes, with a gradient for what they listen to; None if that is nothing."""
        tapes = local.here.tapes

        def known(key: int) -> bool:
            return any(tape._knows(key) for tape in tapes)

        def read(variable: Variable) -> bool:
            if type(variable) is Parameter:  # it is among the leaves
                return False
            for tape in tapes:
                tape._on_read(variable)
            return known(variable._key)

        watched = tuple(i for i, t in enumerate(leaves) if t._key and known(t._key))
        choice = self._choice(watched, read, known)
        if choice is None or (any(choice) and choice not in self.gradients):
            from .pullback import Gradient

            gradient = Gradient(self, leaves, watched, read, known)
            choice = self._choice(watched, read, known)
            self.gradients[choice] = gradient
        return self.gradients[choice] if any(choice) else None

    def meet(self, variables: dict[int, Variable], tensors: Iterable[Tensor]) -> None:
        """Note what the function uses and tapes may listen to: variables, and tensors that are no inputs of it.

        Of the tensors, those from outside stay alive.
        """
        own = {key: v for key, v in variables.items() if type(v) is not Parameter}
        self.accessed = {**self.accessed, **own}
        met = [*(self.captured or ()), *map(weakref.ref, tensors)]
        self.captured = [reference for reference in met if reference() is not None]

    def _choice(self, watched: Any, read: Callable[[Variable], bool], known: Callable[[int], bool]) -> Any:
        """What the tapes listen to; None if it is not known yet what there is to listen to."""
        if self.captured is None:
            return None
        variables = tuple([key for key, variable in self.accessed.items() if read(variable)])
        outside = [t._key for t in map(_deref, self.captured) if t is not None]
        return watched, variables, tuple([key for key in outside if key and known(key)])


def _deref(reference: Any) -> Any:
    return reference()


class Values:
    """The compiled program that gives the results alone. Variables are written in place."""

    def __init__(self, program: Program, traced: Traced) -> None:
        self.traced = traced
        self.pure = program.pure
        # Nothing is written in place by a program that may fail half way, or is given what variables held before.
        writes = [] if self.pure or traced.code.may_raise else [v._key for v in traced.written]
        reads = [traced.reads[key] for key in traced.code.variables]
        least = _IN_PLACE if traced.code.is_large else 0
        self.donated = [
            v
            for v in reads
            if v._key in writes and v.shape.is_fully_defined() and array_of(v._tensor).size >= least
        ]
        self.kept = [v for v in reads if not any(v is d for d in self.donated)]
        arguments = [cell for cell in traced.written if type(cell) is Written and cell._key in writes]
        self.given = [cell for cell in arguments if self._may_donate(cell, least)]
        places = [writes.index(key) for key in [v._key for v in self.donated] + [w._key for w in self.given]]
        self.order = (
            [] if self.pure else [*places, *[i for i in range(len(traced.written)) if i not in places]]
        )
        self.written = [traced.written[i] for i in self.order]  # the donated ones first
        self.writes_arguments = any(type(cell) is Written for cell in self.written)
        self.shared = self._shared()
        self.packed = self._packer()
        self.constants = traced.code.constants
        self.precision = traced.code.precision
        count = len(self.donated) + len(self.given)
        self.compiled = raising(traced.code, jax.jit(self._compute, donate_argnums=tuple(range(count))))
        self.execute = self._executing(self.donated, self.written[len(self.donated) :])
        plain = self.precision is nullcontext and not (traced.random or self.constants)
        self.on = self.execute if plain else self._on
        form = None if not plain or self.written or traced.code.may_raise else traced.form
        self.quick = self.on if form is None else written_out(self.compiled, self.kept, form, self.on)

    def _compute(self, *arrays: Any) -> tuple[list[Any], list[Any]]:
        variables = (*self.donated, *self.kept)
        counts = [
            len(self.donated),
            len(self.given),
            len(self.kept),
            len(self.constants),
            int(self.traced.random),
        ]
        donated, given, kept, constants, seed = cut(arrays, counts)
        held = donated + kept
        inputs = list(arrays[sum(counts) :])
        for cell, array in sorted(zip(self.given, given, strict=True), key=lambda pair: pair[0].position):
            inputs.insert(cell.position, array)
        if [_kind(x) for x in inputs] != [_kind(x) for x in self.traced.code.jaxpr.invars]:
            raise OtherInputs
        state = {v._key: a for v, a in zip(variables, held, strict=True)}
        results, written, _ = self.traced.compute(state, constants, seed[0] if seed else None, inputs)
        written = own([written[i] for i in self.order], arrays)
        results = [result for i, result in enumerate(results) if i not in self.shared]
        return written, own(results, [*arrays, *written])  # JAX finds memory for them in this order

    def _shared(self) -> dict[int, int]:
        """Results that are what variables hold in the end, as in `return v.assign_add(x)`: where they are in `written`.

        Results and variables have the same array then. Who still has the result at the next call keeps it, see `cells`.
        """
        count = self.traced.counts[0]
        results, written = cut(self.traced.code.jaxpr.outvars, [count, len(self.traced.written)])
        places = {id(written[i]): place for place, i in enumerate(self.order)}
        return {i: places[id(result)] for i, result in enumerate(results) if id(result) in places}

    def _packer(self) -> Callable[[list[Any], list[Any]], Any]:
        """What makes the function's results from arrays that the compiled one gave, and those that variables hold."""
        pack, shared, count = self.traced.pack, self.shared, self.traced.counts[0]
        if not shared:
            return lambda results, state: pack(results)

        def whole(results: list[Any], state: list[Any]) -> Any:
            own = iter(results)
            return pack([state[shared[i]] if i in shared else next(own) for i in range(count)])

        return whole

    def _may_donate(self, cell: Written, least: int) -> bool:
        """Does the program use the old value of a variable that was given, and may it write over it?"""
        jaxpr = self.traced.code.jaxpr
        old = jaxpr.invars[cell.position]
        used = any(v is old for eqn in jaxpr.eqns for v in eqn.invars)
        return used and cell.has_one_shape and math.prod(old.aval.shape) >= least

    def run(self, leaves: list[Tensor], held: dict[int, Any] | None = None, seed: Any = None) -> Any:
        return self.on([on_device(t) for t in leaves], held, seed)

    def run_for(self, leaves: list[Any]) -> Any:
        """Run it for these variables among the leaves."""
        taken = [cell.position for cell in self.given]
        inputs = [
            values_of([leaf])[0] if type(leaf) is Variable else on_device(leaf)
            for i, leaf in enumerate(leaves)
            if i not in taken
        ]
        if not self.writes_arguments:
            return self.on(inputs)
        donated = [*self.donated, *[leaves[i] for i in taken]]
        others = [leaves[v.position] if type(v) is Written else v for v in self.written[len(donated) :]]
        return self._on(inputs, execute=self._executing(donated, others))

    def _on(
        self,
        inputs: list[Any],
        held: dict[int, Any] | None = None,
        seed: Any = None,
        execute: Callable[..., Any] | None = None,
    ) -> Any:
        """Run it on the arrays of its inputs."""
        with self.precision():
            if self.traced.random:
                inputs = [new_seed() if seed is None else seed, *inputs]
            return (execute or self.execute)(self.constants + inputs, held)

    def _executing(self, donated: list[Variable], others: list[Variable]) -> Callable[..., Any]:
        """What runs the program; it writes into the memory of some variables, and puts new arrays into others."""
        return self._writing(donated, others) if donated else self._reading(others)

    # The next two are closures, which have at hand what they need: a call takes 2 us less than a method does.

    def _reading(self, written: list[Variable]) -> Callable[..., Any]:
        compiled, packed, variables = self.compiled, self.packed, self.kept

        def execute(inputs: list[Any], held: dict[int, Any] | None = None, seed: Any = None) -> Any:
            kept = values_of(variables) if held is None else [held[v._key] for v in variables]
            state, results = compiled(*kept, *inputs)
            if state:
                store(written, state)
            return packed(results, state)

        return execute

    def _writing(self, donated: list[Variable], others: list[Variable]) -> Callable[..., Any]:
        """It is given the arrays of variables to be written into. If it fails, all is as it was; if interrupted, all is
        as it was, or done. (`held` is for pure programs, which write nothing.)"""
        compiled, packed, kept = self.compiled, self.packed, self.kept
        unshared = UNSHARED_ITEMS * len(donated)

        def execute(inputs: list[Any], held: dict[int, Any] | None = None, seed: Any = None) -> Any:
            with writing:
                emptied: list[Tensor] = []
                arrays: list[Any] = []
                done: list[Any] = []
                try:
                    emptied += [v._tensor for v in donated]
                    try:
                        arrays += map(device_of, emptied)
                    except AttributeError:  # not all of them were in compiled code before
                        emptied[:] = map(cell_of, donated)
                        arrays[:] = map(device_of, emptied)
                    do(map(drop_device, emptied))  # who looks for one in another thread now waits
                    if sum(map(getrefcount, emptied)) + sum(map(getrefcount, arrays)) != unshared:
                        set_apart(donated, emptied, arrays)
                    given = values_of(kept) + inputs if kept else inputs
                    done += starmap(compiled, (arrays + given,))
                    state, results = done[0]
                    do(map(set_device, emptied, state))
                    if others:
                        store(others, state[len(emptied) :])
                except BaseException:
                    if done:  # and then interrupted
                        arrays = done[0][0]
                    do(map(set_device, emptied, arrays))
                    store(others, arrays[len(emptied) :])
                    raise
            return packed(results, state)

        return execute


def _kind(x: Any) -> Any:
    return x.aval.shape, x.aval.dtype


def new_seed() -> Any:
    """Where this call's random numbers begin."""
    from ..ops.random.stateful import seed_of_a_call

    return seed_of_a_call()


def cut(values: Any, counts: list[int]) -> list[list[Any]]:
    """A list in pieces of the given lengths."""
    pieces, start = [], 0
    for count in counts:
        pieces.append(list(values[start : start + count]))
        start += count
    return pieces


def own(results: list[Any], given: Any) -> list[Any]:
    """Results that share no memory with an input, nor with each other: variables are written in place."""
    seen = {id(a) for a in given}
    own = []
    for result in results:
        own.append(jax.numpy.copy(result) if id(result) in seen else result)
        seen.add(id(result))
    return own


def _initialize(traced: Traced, leaves: list[Tensor]) -> None:
    """Compute the initial values that the function computes for its variables, and put them where they are missing."""
    computed = [new for new in traced.created if new.zeros is not None]
    waiting = [new.waits for new in computed]
    if not any(waiting):
        return
    keys = traced.code.variables

    def initial(state: Any, constants: Any, seed: Any, inputs: Any) -> list[Any]:
        return traced.compute(dict(zip(keys, state, strict=True)), constants, seed, inputs)[2]

    with x64(True):
        state = values_of([traced.reads[k] for k in keys])
        seed = new_seed() if traced.random else None
        values = jax.jit(initial)(state, traced.code.constants, seed, [on_device(t) for t in leaves])
    for new, waits, value in zip(computed, waiting, values, strict=True):
        if waits:
            new.variable._tensor = from_device(value, new.variable._key)
