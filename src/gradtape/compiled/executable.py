"""Executable: the compiled program of a graph that computes its results alone. It writes variables in place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from itertools import starmap
from sys import getrefcount
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec

from ..core.errors import ResourceExhaustedError
from ..core.tensor import Tensor, array_of, device_of
from ..core.variable import Variable
from ..engine.host import python_errors
from ..engine.memory import collection_paused
from ..engine.reference_counts import UNSHARED_ITEMS
from ..engine.tracers import eval_jaxpr
from .buffers import (
    as_argument,
    consume,
    copied,
    copy_shared,
    drop_device,
    from_device,
    on_device,
    on_device_tensor,
    set_device,
    specialize,
    store,
    values_of,
    writing,
    x64,
)
from .first_calls import FirstCalls, is_possible
from .function_graph import Code, FunctionGraph
from .fusion import planned
from .jaxprs import calls_python, is_large, needed_for, replaced, split, without_aliases
from .onednn import by_onednn
from .placeholders import Destination
from .spmd import AXIS, between_processes, mesh_of, placed, sharding_of

Plan = tuple[Any, dict[str, Any] | None]  # code, and the options to compile it with: see `planned`
# Runs the program on arrays. A snapshot has arrays of variables, by key, to use instead of what they hold now.
Execute = Callable[..., Any]

_IN_PLACE = (
    1 << 22
)  # elements: smaller variables of a program that may lack memory are copied, to survive a failure


def _on_mesh(compiled: Callable[..., Any], mesh: Any) -> Callable[..., Any]:
    """A compiled function that puts arguments from elsewhere on the devices of its mesh.

    On CPUs it waits for the results. They share threads, which exchanges of values occupy while they wait: with calls
    that have begun on some devices only, all threads may wait, for ever. And between processes, a failure is then one
    of the call.
    """
    devices = frozenset(mesh.devices.flat)

    def run(*arguments: Any) -> Any:
        return compiled(*jax.tree.map(lambda a: placed(a, mesh, devices), arguments))

    if len(devices) == 1 or mesh.devices.flat[0].platform != "cpu":
        return run

    def wait(*arguments: Any) -> Any:
        with between_processes():
            return jax.block_until_ready(run(*arguments))

    return wait


def _shardings(mesh: Any, written: Sequence[Any], results: list[bool]) -> Any:
    """How the results of a program of a mesh lie on its devices.

    With replicas, all is said: else XLA may choose otherwise, the next call would compile anew, and a process could not
    read its result. Where variables are divided, those keep their layout, and XLA finds that of all else.
    """
    own = [sharding_of(v) for v in written]
    if AXIS not in mesh.axis_names:
        return (own, None) if written else None
    rows, same = NamedSharding(mesh, PartitionSpec(AXIS)), NamedSharding(mesh, PartitionSpec())
    each = [rows if divided else same for divided in results]
    return ([same] * len(own), each) if written else each


def jit(
    code: Code,
    function: Callable[..., Any],
    plan: Plan,
    written: Sequence[Any] = (),
    results: list[bool] | None = None,
    **options: Any,
) -> Callable[..., Any]:
    """Compile a function; where it calls Python, it raises what that raises, and says so if memory is lacking.

    The function is given a way to evaluate its jaxpr before its arguments. Where it runs on a mesh, `results` says of
    each result whether it is divided among the devices; before them it returns the values of variables in `written`.

    (JAX gives an array at once, before XLA has computed it; reading one for which there was no memory ends the
    process.)
    """
    mesh = mesh_of(code.jaxpr) or next((s.mesh for s in map(sharding_of, code.read) if s is not None), None)
    if mesh is not None and results is not None:
        options["out_shardings"] = _shardings(mesh, written, results)
    jaxpr, compiler_options = plan
    if mesh is None:  # a custom call would be run whole on each of its devices
        jaxpr = by_onednn(jaxpr)

    def evaluate(_: Any, constants: Any, *inputs: Any) -> Any:
        with collection_paused():
            return eval_jaxpr(jaxpr, constants, *inputs)

    compiled: Callable[..., Any] = jax.jit(
        partial(function, evaluate), compiler_options=compiler_options, **options
    )
    if mesh is not None:
        compiled = _on_mesh(compiled, mesh)
    if not calls_python(code.jaxpr) and not is_large(code.jaxpr):
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


def new_seed() -> Any:
    """The seed of a call."""
    from ..ops.random.stateful import seed_of_a_call

    return seed_of_a_call()


def first_calls(
    code: Code,
    function: Callable[..., Any],
    compile: Callable[[], Any],
    replace: Any = None,
    jaxpr: Any = None,
) -> Callable[..., Any]:
    """A function that NumPy computes until it is worth compiling; the compiled one if NumPy cannot."""
    jaxpr = jaxpr or code.jaxpr
    on_mesh = mesh_of(code.jaxpr) or any(sharding_of(v) is not None for v in code.read)
    return compile() if on_mesh or not is_possible(jaxpr) else FirstCalls(jaxpr, function, compile, replace)


class Executable:
    """A compiled graph. A pure one leaves variables as they are, whatever the function does to them.

    `execute(arrays, snapshot, seed)` runs it on the arrays of its inputs; `execute_fast(arrays)` does the same in less
    time where the graph is simple.

    Args:
        graph: what to compute.
        pure: leaves variables as they are, whatever the function does to them.
        at_once: whether to compile for the first call. If not, NumPy computes calls until that is worth it.
    """

    def __init__(self, graph: FunctionGraph, pure: bool, at_once: bool = True) -> None:
        self.graph = graph
        self._set_buffers(pure)
        self.aliases = self._aliases()
        self.pack = self._packer()
        code = graph.code
        self.constants, self.precision = code.constants, code.precision
        self.takes_no_context = self.precision is nullcontext and not graph.random
        self.is_plain = self.takes_no_context and not self.constants
        self._use(self._jit() if at_once else first_calls(code, self._compute, self._jit, self._use))

    def _use(self, compiled: Callable[..., Any]) -> None:
        """Run the program by a function from now on."""
        self.compiled = compiled
        self.execute = self._executor(self.donated, self.written[len(self.donated) :])
        self.execute_fast = self._specialized()

    def _jit(self) -> Callable[..., Any]:
        divided = [divided for i, divided in enumerate(self.graph.divided) if i not in self.aliases]
        code, count = self.graph.code, len(self.donated) + len(self.donated_arguments)
        compiled = jit(
            code, self._compute, self._plan, self.written, divided, donate_argnums=tuple(range(count))
        )
        return self._copying(compiled, count) if count and not is_large(code.jaxpr) else compiled

    def _copying(self, compiled: Callable[..., Any], count: int) -> Callable[..., Any]:
        """A function that compiles at its first call, and gives the program copies of what it writes over.

        An interrupt may come after the program has written, while JAX's Python still makes ready for later calls, which
        run without it: what was written would be lost.
        """
        is_first = True

        def run(*arguments: Any) -> Any:
            nonlocal is_first
            if not is_first:
                return compiled(*arguments)
            results = compiled(*map(copied, arguments[:count]), *arguments[count:])
            is_first = False
            self._use(compiled)
            return results

        return run

    @cached_property
    def _plan(self) -> Plan:
        jaxpr = self.graph.code.jaxpr
        sizes = [v.shape.num_elements() or 0 for v in self.donated]  # which have no values while it runs
        sizes += [math.prod(jaxpr.invars[d.position].aval.shape) for d in self.donated_arguments]
        return planned(jaxpr, max(sizes, default=0))

    @property
    def code(self) -> Any:
        """The code as it is compiled."""
        return self._plan[0]

    def _set_buffers(self, pure: bool) -> None:
        """Decide which variables are donated: their memory is the program's, for what they hold afterwards."""
        graph, jaxpr = self.graph, self.graph.code.jaxpr
        # Nothing is donated to a program that may fail half way, or that is given a snapshot.
        writes = [] if pure or calls_python(jaxpr) else [v._key for v in graph.written]
        overwritten = set(writes)
        reads = [graph.reads[key] for key in graph.code.variables]
        least = _IN_PLACE if is_large(jaxpr) else 0
        self.donated = [
            v
            for v in reads
            if v._key in overwritten and v.shape.is_fully_defined() and array_of(v._tensor).size >= least
        ]
        mine = set(map(id, self.donated))
        self.read_only = [v for v in reads if id(v) not in mine]
        arguments = [d for d in graph.written if type(d) is Destination and d._key in writes]
        self.donated_arguments = [d for d in arguments if self._may_donate(d, least)]
        donated = [*[v._key for v in self.donated], *[d._key for d in self.donated_arguments]]
        first = [writes.index(key) for key in donated]
        rest = [i for i in range(len(graph.written)) if i not in first]
        self.order = [] if pure else [*first, *rest]
        self.written = [graph.written[i] for i in self.order]  # the donated ones first
        self.writes_arguments = any(type(d) is Destination for d in self.written)

    def _may_donate(self, destination: Destination, least: int) -> bool:
        """Return whether the program uses the old value of an argument, and may write over it."""
        jaxpr = self.graph.code.jaxpr
        old = jaxpr.invars[destination.position]
        used = any(v is old for eqn in jaxpr.eqns for v in eqn.invars)
        return used and destination.has_one_shape and math.prod(old.aval.shape) >= least

    def _compute(self, evaluate: Any, *arrays: Any) -> Any:
        """The values of written variables, and the results; the results alone if none is written (0.1 us less)."""
        variables = (*self.donated, *self.read_only)
        counts = [len(self.donated), len(self.donated_arguments), len(self.read_only), len(self.constants)]
        counts += [int(self.graph.random), len(arrays)]
        donated, arguments, read_only, constants, seeds, inputs = split(arrays, counts)
        pairs = zip(self.donated_arguments, arguments, strict=True)
        for destination, array in sorted(pairs, key=lambda pair: pair[0].position):
            inputs.insert(destination.position, array)
        state = {v._key: a for v, a in zip(variables, donated + read_only, strict=True)}
        seed = seeds[0] if seeds else None
        results, written, _ = self.graph.evaluate(evaluate, state, constants, seed, inputs)
        written = without_aliases([written[i] for i in self.order], arrays)
        results = [result for i, result in enumerate(results) if i not in self.aliases]
        results = without_aliases(results, [*arrays, *written])
        return (written, results) if self.written else results  # JAX reuses memory in this order

    def _aliases(self) -> dict[int, int]:
        """Results that are values of variables, as in `return v.assign_add(x)`: their positions in `written`.

        Result and variable share one array. If the result is still in use at the next call, the array is copied.
        """
        graph = self.graph
        results, written = split(graph.code.jaxpr.outvars, [graph.counts[0], len(graph.written)])
        positions = {id(written[i]): position for position, i in enumerate(self.order)}
        return {i: positions[id(result)] for i, result in enumerate(results) if id(result) in positions}

    def _packer(self) -> Callable[[list[Any], Any], Any]:
        """The function that builds the results from the arrays of results and of written variables."""
        pack, aliases, count = self.graph.packer(), self.aliases, self.graph.counts[0]
        if not aliases:
            return lambda results, state: pack(results)

        def with_aliases(results: list[Any], state: Any) -> Any:
            remaining = iter(results)
            return pack([state[aliases[i]] if i in aliases else next(remaining) for i in range(count)])

        return with_aliases

    # -- running ------------------------------------------------------------------------------------------------------

    def run(self, leaves: list[Tensor], snapshot: dict[int, Any] | None = None, seed: Any = None) -> Any:
        """Run the program on tensors."""
        return self.execute([as_argument(t) for t in leaves], snapshot, seed)

    def run_with_variables(self, leaves: list[Any]) -> Any:
        """Run the program on tensors and variables."""
        positions = [destination.position for destination in self.donated_arguments]
        inputs = [
            values_of([leaf])[0] if type(leaf) is Variable else on_device(leaf)
            for i, leaf in enumerate(leaves)
            if i not in positions
        ]
        if not self.writes_arguments:
            return self.execute(inputs)
        donated = [*self.donated, *[leaves[i] for i in positions]]
        others = [leaves[v.position] if type(v) is Destination else v for v in self.written[len(donated) :]]
        return self._executor(donated, others)(inputs)

    def _specialized(self) -> Execute:
        """`execute`, or code generated for this graph if it needs only variables and constants and writes nothing."""
        expression = self.graph.result_expression
        if not self.takes_no_context or self.written or expression is None:
            return self.execute
        if calls_python(self.graph.code.jaxpr):
            return self.execute
        return specialize(self.compiled, self.read_only, self.constants, expression, self.execute)

    # The next three give closures, which have at hand what they need: a call takes 2 us less than a method does.

    def _executor(self, donated: list[Variable], others: list[Variable]) -> Execute:
        """A function that runs the program, writes into the memory of `donated`, and stores new arrays in `others`."""
        execute = self._writing(donated, others) if donated else self._reading(others)
        if self.is_plain:
            return execute
        constants, precision, random = self.constants, self.precision, self.graph.random

        def with_constants(inputs: list[Any], snapshot: Any = None, seed: Any = None) -> Any:
            with precision():
                if random:
                    inputs = [new_seed() if seed is None else seed, *inputs]
                return execute(constants + inputs, snapshot)

        return with_constants

    def _reading(self, written: list[Variable]) -> Execute:
        compiled, pack, variables = self.compiled, self.pack, self.read_only

        def execute(inputs: list[Any], snapshot: dict[int, Any] | None = None, seed: Any = None) -> Any:
            values = values_of(variables) if snapshot is None else [snapshot[v._key] for v in variables]
            if not written:
                return pack(compiled(*values, *inputs), ())
            state, results = compiled(*values, *inputs)
            store(written, state)
            return pack(results, state)

        return execute

    def _writing(self, donated: list[Variable], others: list[Variable]) -> Execute:
        """If the program fails, all is as it was; if interrupted, all is as it was, or done.

        (A program that donates is not pure, and is given no snapshot.)
        """
        compiled, pack, read_only = self.compiled, self.pack, self.read_only
        unshared = UNSHARED_ITEMS * len(donated)

        def execute(inputs: list[Any], snapshot: dict[int, Any] | None = None, seed: Any = None) -> Any:
            with writing:
                emptied: list[Tensor] = []
                arrays: list[Any] = []
                done: list[Any] = []
                try:
                    emptied += [v._tensor for v in donated]
                    try:
                        arrays += map(device_of, emptied)
                    except AttributeError:  # not all of them were in compiled code before
                        emptied[:] = map(on_device_tensor, donated)
                        arrays[:] = map(device_of, emptied)
                    consume(map(drop_device, emptied))  # a reader in another thread now waits
                    if sum(map(getrefcount, emptied)) + sum(map(getrefcount, arrays)) != unshared:
                        copy_shared(donated, emptied, arrays)
                    given = values_of(read_only) + inputs if read_only else inputs
                    done += starmap(compiled, (arrays + given,))
                    state, results = done[0]
                    consume(map(set_device, emptied, state))
                    if others:
                        store(others, state[len(emptied) :])
                except BaseException:
                    if done:  # and then interrupted
                        arrays = done[0][0]
                    consume(map(set_device, emptied, arrays))
                    store(others, arrays[len(emptied) :])
                    raise
            return pack(results, state)

        return execute


def initialize(graph: FunctionGraph, leaves: list[Tensor], at_once: bool) -> None:
    """Compute the initial values of the variables that a function creates, and store those still missing."""
    computed = [new for new in graph.created if new.zeros is not None]
    pending = [new.is_pending for new in computed]
    if not any(pending):
        return
    code, keys = graph.code, graph.code.variables
    *_, values = split(code.jaxpr.outvars, graph.counts)
    jaxpr = replaced(code.jaxpr, outvars=values, eqns=needed_for(values, code.jaxpr.eqns))

    def initial(evaluate: Any, state: Any, constants: Any, seed: Any, inputs: Any) -> list[Any]:
        bound = code.bound_constants(dict(zip(keys, state, strict=True)), constants, seed)
        found: list[Any] = evaluate(jaxpr, bound, *inputs)
        return found

    def compiled() -> Callable[..., Any]:
        return jit(code, initial, (jaxpr, None))

    with x64(True):
        state = values_of([graph.reads[k] for k in keys])
        seed = new_seed() if graph.random else None
        compute = compiled() if at_once else first_calls(code, initial, compiled, jaxpr=jaxpr)
        values = compute(state, code.constants, seed, [on_device(t) for t in leaves])
    for new, is_pending, value in zip(computed, pending, values, strict=True):
        if is_pending:
            new.variable._tensor = from_device(value, new.variable._key)
