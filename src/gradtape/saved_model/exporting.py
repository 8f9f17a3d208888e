"""One signature of a @function as programs in StableHLO: the function itself, its gradient, and the gradient of that.

The gradients are computed by gradtape's rules, so that `stop_gradient`, `custom_gradient` and the values at edges are
kept. All programs are pure: values of variables, captured constants and the seed of random numbers are inputs, and what
the function assigns is among the results. `saving` calls this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.export
import numpy as np
from jax.extend import source_info_util

from ..compiled.buffers import x64
from ..compiled.concrete_function import ConcreteFunction
from ..compiled.function_graph import FunctionGraph
from ..compiled.jaxprs import calls_python, inner_code, replaced
from ..compiled.open_code import evaluate
from ..compiled.open_constants import constant
from ..compiled.open_lengths import LengthError, columns
from ..compiled.sampled_function import Kind, SampledFunction
from ..core.errors import NotCompilableError
from ..core.primitive import local
from ..core.tape import GradientTape
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert_to_tensor
from ..core.variable import Variable
from ..engine.arrays import is_traced
from ..engine.host import is_check

ORDERS = 2  # how many times a saved function can be differentiated
_LARGE = 3000  # operations of a gradient, above which its own gradient is not saved: tracing takes minutes
_SMALL = 1024  # bytes: smaller constants are part of the program
PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


class Program(NamedTuple):
    """A program and its inputs.

    An input is ("constant", array), ("variable", Variable), ("seed", None) or ("argument", position).
    """

    code: bytes
    platforms: tuple[str, ...]
    inputs: list[tuple[str, Any]]
    gives: list[bool]  # of a gradient: which sources it has a gradient of


class Check(NamedTuple):
    """An assertion of the function: a result that must not have this value, and the line it is from."""

    fails_at: int
    line: str


class ExportedTrace:
    """The programs of a function for one signature.

    Attributes:
        sampled: the function, and how its open lengths are named.
        programs: the function, its gradient, and the gradient of the gradient, as far as there are such.
        no_more: the reason why there is no further gradient.

    Raises:
        NotCompilableError: if the function cannot be saved.
    """

    def __init__(self, sampled: SampledFunction, orders: int) -> None:
        self.sampled = sampled
        self.checks: list[Check] = []
        graphs = sampled.graphs
        _same(sampled, [[v._key for v in g.written] for g in graphs])
        self.written = list(graphs[0].written)
        reads = {key: v for g in graphs for key, v in g.reads.items()}
        self.variables = [v for v in reads.values() if v._watchable]  # those that have gradients
        self.programs = [self._program(graphs, sampled.kinds, with_state=True)]
        self.results = self._kinds(graphs)
        self.no_more = f"it was saved with gradients up to order {orders}"
        self._add_gradients(orders)

    def _add_gradients(self, orders: int) -> None:
        """Add the programs of the gradients: each takes what the one before takes, and gradients of its results."""
        run: Callable[[list[Tensor]], list[Any]] = self.sampled.run
        kinds, results = self.sampled.kinds, self.results
        for order in range(orders):
            sources = [i for i, (_, dtype) in enumerate(kinds) if dtype.has_gradients]
            targets = [i for i, (_, dtype) in enumerate(results) if dtype.has_gradients]
            if not targets or not (sources or self.variables):
                self.no_more = "nothing that it computes has a gradient"
                return
            pull = _pullback(run, len(kinds), sources, targets, self.variables)
            kinds = [*kinds, *[results[i] for i in targets]]
            gives: list[list[bool]] = []
            try:
                graphs = self.sampled.trace(_connected(pull, gives), kinds)
                connected = _same(self.sampled, gives)
                self.programs.append(self._program(graphs, kinds)._replace(gives=connected))
                results = self._kinds(graphs)
            except Exception as error:
                self.no_more = f"its gradient could not be saved: {error}"
                return
            if order + 1 < orders and len(graphs[0].code.jaxpr.eqns) > _LARGE:
                self.no_more = (
                    "the program of its gradient is large, and the next would be several times as large"
                )
                return
            run = _only_connected(pull)

    def _kinds(self, graphs: list[FunctionGraph]) -> list[Kind]:
        """The shapes, with expressions for open lengths, and dtypes of the results."""
        lengths = self.sampled.lengths
        return [
            (
                tuple(lengths.length(n, "a result") for n in columns([s.shape for s in specs])),
                specs[0].dtype,
            )
            for specs in columns([g.outputs for g in graphs])
        ]

    def _program(self, graphs: list[FunctionGraph], kinds: list[Kind], with_state: bool = False) -> Program:
        name = self.sampled.name
        jaxprs = []
        for graph in graphs:
            count = graph.counts[0] + (graph.counts[1] if with_state else 0)
            jaxpr, checks = _without_checks(graph.code.jaxpr, graph.code.jaxpr.outvars[:count], with_state)
            if calls_python(jaxpr):
                raise NotCompilableError(
                    f"{name} calls Python ({_python_calls(jaxpr)}), which cannot be saved: leave out tf.print, "
                    "summaries, py_function and functions that XLA lacks"
                )
            jaxprs.append(jaxpr)
            if with_state:
                self.checks = checks
        inputs = self._inputs(graphs, len(kinds))
        function = self._pure(graphs, jaxprs, inputs)
        symbols = self.sampled.lengths.symbols
        specs = [_struct(self._array_of(meaning, kinds), symbols) for meaning in inputs]
        with x64(True):
            exported = _exported(name, function, specs)
            return Program(bytes(exported.serialize(vjp_order=0)), exported.platforms, inputs, [])

    def _inputs(self, graphs: list[FunctionGraph], count: int) -> list[tuple[str, Any]]:
        """The inputs of the program: large constants that are the same for all lengths are the first."""
        code = graphs[0].code
        kept = [a for a in columns([g.code.constants for g in graphs]) if _is_input(a)]
        constants = [("constant", np.asarray(arrays[0])) for arrays in kept]
        seed = [("seed", None)] if code.random else []
        variables = [("variable", graphs[0].reads[key]) for key in code.variables]
        return [*constants, *seed, *variables, *[("argument", i) for i in range(count)]]

    def _array_of(self, meaning: tuple[str, Any], kinds: list[Kind]) -> Kind:
        kind, what = meaning
        if kind == "argument":
            shape, dtype = kinds[what]
            return shape, dtype.numpy_dtype
        if kind == "seed":
            return (2,), np.dtype(np.uint64)
        array = what._tensor._array if isinstance(what, Variable) else what
        return array.shape, array.dtype

    def _pure(self, graphs: list[FunctionGraph], jaxprs: list[Any], inputs: list[Any]) -> Callable[..., Any]:
        codes = [g.code for g in graphs]
        lengths = self.sampled.lengths
        _same(self.sampled, [[m if m[0] != "constant" else m[0] for m in code.meanings] for code in codes])

        def function(*arrays: Any) -> Any:
            given = [
                iter([a for a, (kind, _) in zip(arrays, inputs, strict=True) if kind == k]) for k in _KINDS
            ]
            constants, seeds, variables, arguments = given
            seed = next(seeds, None)
            state = dict(zip(codes[0].variables, variables, strict=True))
            numbers = []
            for same in columns([code.constants for code in codes]):
                numbers.append(
                    next(constants) if _is_input(same) else constant(lengths, same, "the function")
                )
            bound = codes[0].bound_constants(state, numbers, seed)
            if len(jaxprs) == 1:
                return jax.core.eval_jaxpr(jaxprs[0], bound, *arguments)
            return evaluate(lengths, jaxprs, bound, list(arguments))

        function.__name__ = self.sampled.name
        return function


_KINDS = ("constant", "seed", "variable", "argument")


def _exported(name: str, function: Callable[..., Any], specs: list[Any]) -> Any:
    """The program, for all kinds of devices if that can be, else for this one."""
    function.__name__ = "".join(c if c.isalnum() else "_" for c in name) or "function"
    errors: list[Exception] = []
    for platforms in (PLATFORMS, None):
        try:
            return jax.export.export(jax.jit(function), platforms=platforms)(*specs)
        except LengthError:
            raise
        except Exception as error:  # JAX has many reasons
            errors.append(error)
    is_open = any(not isinstance(n, int) for spec in specs for n in spec.shape)
    message = f"{name} cannot be saved: {str(errors[-1]).partition(chr(10))[0]}"
    raise (LengthError if is_open else NotCompilableError)(message) from errors[-1]


def _struct(kind: Kind, symbols: dict[str, Any]) -> Any:
    shape, dtype = kind
    return jax.ShapeDtypeStruct(tuple(symbols.get(n, n) if isinstance(n, str) else n for n in shape), dtype)


def _is_input(arrays: Any) -> bool:
    """Return whether a constant is an input of the program: if it is large, and the same for all lengths."""
    first = np.asarray(arrays[0])
    same = all(a.shape == first.shape and np.asarray(a).tobytes() == first.tobytes() for a in arrays)
    return same and first.nbytes > _SMALL


def _same(sampled: SampledFunction, values: list[Any]) -> Any:
    """Return what is the same at all samples, or raise."""
    if any(value != values[0] for value in values):
        raise LengthError(f"{sampled.name} does something else for each of {sampled.lengths.described()}")
    return values[0]


def exported_trace(
    concrete: ConcreteFunction, args: tuple[Any, ...], kwargs: dict[str, Any], orders: int
) -> ExportedTrace:
    """The programs of a concrete function; of one that takes tensors of any rank, for arguments of one rank.

    Of the ways to name open lengths, the most general one that works is taken.

    Raises:
        NotCompilableError: if the function cannot be saved.
        Exception: what the function raises when it is traced.
    """
    traced = vars(concrete).get("_sampled")  # if Keras has asked for variables
    sampled = traced or SampledFunction(concrete._function, args, kwargs)
    while True:
        try:
            return ExportedTrace(sampled, orders)
        except LengthError as error:
            if sampled.is_last_way:
                raise LengthError(
                    f"{sampled.name} cannot be saved for open lengths, as in {[str(s) for s in sampled.specs]}: "
                    f"{error}. Give the lengths in the signature"
                ) from error
        sampled = SampledFunction(concrete._function, args, kwargs, sampled.way + 1)


# ---------------------------------------------------------------------------------------------------------------------
# Gradients


def _pullback(
    run: Callable[[list[Tensor]], list[Tensor]],
    count: int,
    sources: list[int],
    targets: list[int],
    variables: list[Variable],
) -> Callable[[list[Tensor]], list[Any]]:
    """The function from `count` inputs, and gradients of the targets, to the gradients of sources and variables."""

    def pull(inputs: list[Tensor]) -> list[Any]:
        with GradientTape(watch_accessed_variables=False) as tape:
            watched = [*[inputs[i] for i in sources], *variables]
            for source in watched:
                tape.watch(source)
            results = run(inputs[:count])
        return list(tape.gradient([results[i] for i in targets], watched, inputs[count:]))

    return pull


def _connected(run: Callable[..., list[Any]], gives: list[list[bool]]) -> Callable[..., list[Any]]:
    """The gradients that there are; notes which ones these are."""

    def connected(inputs: list[Tensor]) -> list[Any]:
        found = run(inputs)
        gives.append([g is not None for g in found])
        return [_traced(convert_to_tensor(g)) for g in found if g is not None]

    return connected


def _only_connected(run: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    return lambda inputs: [convert_to_tensor(g) for g in run(inputs) if g is not None]


def _traced(gradient: Tensor) -> Tensor:
    """A gradient as a result of the program, a constant one as well."""
    if is_traced(gradient._array):
        return gradient
    return wrap(local.here.trace.constant(gradient._array))


# ---------------------------------------------------------------------------------------------------------------------
# Assertions


def _without_checks(jaxpr: Any, outvars: list[Any], keep: bool) -> tuple[Any, list[Check]]:
    """The code without its assertions, which call Python; their conditions become results if they are to be kept."""
    checks, conditions, eqns = [], [], []
    for eqn in jaxpr.eqns:
        branches = eqn.params["branches"] if eqn.primitive.name == "cond" and not eqn.outvars else ()
        failing = [i for i, branch in enumerate(branches) if any(map(is_check, branch.jaxpr.eqns))]
        if len(failing) == 1:
            checks.append(Check(failing[0], source_info_util.summarize(eqn.source_info)))
            conditions.append(eqn.invars[0])
        else:
            eqns.append(eqn)
    outvars = [*outvars, *conditions] if keep else outvars
    return replaced(jaxpr, eqns=eqns, outvars=outvars), checks


def _python_calls(jaxpr: Any) -> str:
    lines = {
        source_info_util.summarize(eqn.source_info)
        for code in inner_code(jaxpr)
        for eqn in code.eqns
        if "callback" in eqn.primitive.name
    }
    return ", ".join(sorted(lines)) or "somewhere"
