"""Program: a function on tensors, compiled for one signature.

`function` creates one for each signature it is called with. A call runs its `Executable`, for the results alone; or,
if a tape outside listens to what the function uses, a `Gradient` for what the tapes listen to.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from ..core.primitive import local
from ..core.tensor import Tensor, array_of
from ..core.variable import Variable, when_made
from ..engine.memory import collection_paused
from .arguments import Arguments
from .buffers import on_device_tensor, writing
from .executable import Executable, initialize
from .function_graph import FunctionGraph
from .jaxprs import has_side_effects
from .placeholders import ArgumentVariable, Destination
from .pullback import Gradient, Listening


class Program:
    """A compiled function of tensors, for one choice of their shapes and dtypes.

    Args:
        function: takes the traced inputs, and returns any structure.
        arguments: those it is compiled for; None for a gradient.
        may_create: whether the function may create variables.
        pure: leaves variables as they are, whatever the function does to them.
        exact_paths: whether a gradient is None where no path leads from the results that have one to the source, as
            operation by operation, and not zeros, as of a function that a tape outside records.
        at_once: whether to compile for the first call. If not, NumPy computes calls until that is worth it.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[list[Tensor]], Any],
        arguments: Arguments | None = None,
        *,
        may_create: bool = False,
        pure: bool = False,
        exact_paths: bool = False,
        at_once: bool = True,
    ) -> None:
        self.name = name
        self.function = function
        self.arguments = arguments
        self.takes_variables = arguments is not None and bool(arguments.variables)
        self.may_create = may_create
        self.pure = pure
        self.exact_paths = exact_paths
        self.at_once = at_once
        self.executable: Executable | None = None  # traced when first needed
        self.gradients: dict[Any, Gradient] = {}  # by what the tapes listen to
        self.created_variables = False
        self.variables: dict[int, Variable] = {}  # those it reads or writes, by key,
        self.written: set[int] = set()  # and the keys of the latter
        self.unshaped: list[Variable] = []  # variables whose shape is not fully defined,
        self._for_shapes: dict[Any, Program] = {}  # and programs for all shapes they had
        # For tapes: variables by key, and weak references to captured tensors (None if not known yet).
        self._accessed: dict[int, Variable] = {}
        self._captures: list[weakref.ref[Tensor]] | None = None

    def derived(self, function: Callable[[list[Tensor]], Any]) -> Program:
        """A pure program of another function, for the gradient of this one."""
        return Program(self.name, function, pure=True, at_once=self.at_once)

    @property
    def is_dead(self) -> bool:
        """Whether it is for an object that is gone."""
        return self.arguments is not None and self.arguments.is_dead

    @property
    def outputs(self) -> Any:
        """The structure it returns, with specs for tensors."""
        return None if self.executable is None else self.executable.graph.outputs

    @property
    def has_side_effects(self) -> bool:
        """Whether it calls Python for more than values and checks."""
        return self.executable is not None and has_side_effects(self.executable.graph.code.jaxpr)

    @property
    def codes(self) -> list[Any]:
        """The jaxprs that it was traced to so far."""
        traced = [each for each in (self.executable, *self.gradients.values()) if each is not None]
        return [each.graph.code.jaxpr for each in traced]

    def trace(self, function: Callable[[list[Tensor]], Any], leaves: list[Tensor]) -> FunctionGraph:
        """Trace a function; twice if it creates variables, so that the second time they exist, as in TensorFlow."""
        graph = FunctionGraph(self.name, function, leaves, self.may_create)
        if graph.created:
            for look in when_made:
                look()
            initialize(graph, leaves, self.at_once)
            self.created_variables, self.may_create = True, False
            graph = FunctionGraph(self.name, function, leaves, may_create=False)
        written = {v._key: v for v in graph.written if type(v) is not Destination}
        self.variables = {**graph.reads, **written}
        self.written = set(written)
        self.unshaped = [v for v in self.variables.values() if not v.shape.is_fully_defined()]
        self._for_shapes.setdefault(self._shapes(), self)
        return graph

    def _shapes(self) -> Any:
        return tuple([array_of(v._tensor).shape for v in self.unshaped])

    def _for_current_shapes(self) -> Program:
        """The program for the current shapes of variables whose shape is not fully defined."""
        shapes = self._shapes()
        if shapes not in self._for_shapes:
            self._for_shapes[shapes] = program = Program(
                self.name, self.function, self.arguments, at_once=self.at_once
            )
            program._for_shapes = self._for_shapes
        return self._for_shapes[shapes]

    # -- running ------------------------------------------------------------------------------------------------------

    def __call__(self, leaves: list[Any], snapshot: dict[int, Any] | None = None, seed: Any = None) -> Any:
        """Run the program. A snapshot has arrays of variables, by key, to use instead of what they hold now."""
        program = self if snapshot is not None or not self.unshaped else self._for_current_shapes()
        if self.takes_variables:
            return program._run_with_variables(leaves)
        return program.prepare(leaves).run(leaves, snapshot, seed)

    def _run_with_variables(self, leaves: list[Any]) -> Any:
        if local.here.tapes:
            tensors = self.read(leaves)
            gradient = self._gradient(tensors)
            if gradient is not None:
                with writing:
                    result = gradient.run(tensors)
                    for destination in gradient.graph.written:
                        if type(destination) is Destination:
                            destination.store_in(leaves[destination.position])
                return result
            del tensors  # else the values of variables would be in use, and not be written in place
        if self.executable is None:
            self._compile(self.read(leaves))
        assert self.executable is not None
        return self.executable.run_with_variables(leaves)

    def read(self, leaves: list[Any]) -> list[Tensor]:
        """The leaves with the values of variables in their place; tapes hear that the variables were read."""
        if not self.takes_variables:
            return leaves
        for variable in leaves:
            if type(variable) is Variable:
                for tape in local.here.tapes:
                    tape._on_read(variable)
        with writing:
            return [on_device_tensor(leaf) if type(leaf) is Variable else leaf for leaf in leaves]

    def prepare(self, leaves: list[Tensor]) -> Executable | Gradient:
        """The code to run: the executable, or a gradient for the open tapes; traced now if it was not before."""
        if local.here.tapes:
            gradient = self._gradient(leaves)
            if gradient is not None:
                return gradient
        return self.executable or self._compile(leaves)

    def _compile(self, leaves: list[Tensor]) -> Executable:
        with collection_paused():
            self.executable = Executable(self.trace(self.function, leaves), self.pure, self.at_once)
        return self.executable

    # -- tapes --------------------------------------------------------------------------------------------------------

    def _gradient(self, leaves: list[Tensor]) -> Gradient | None:
        """The gradient for what the open tapes listen to; None if that is nothing."""
        listening = Listening(leaves)
        sources = self._sources(listening)
        if sources is None or (any(sources) and sources not in self.gradients):
            with collection_paused():
                gradient = Gradient(self, leaves, listening)
            sources = self._sources(listening)
            assert sources is not None
            self.gradients[sources] = gradient
        return self.gradients[sources] if any(sources) else None

    def _sources(self, listening: Listening) -> tuple[Any, ...] | None:
        """The inputs, variables and captures that the tapes listen to; None if not traced under a tape yet."""
        if self._captures is None:
            return None
        variables = tuple([key for key, variable in self._accessed.items() if listening.reads(variable)])
        captures = [t._key for t in (reference() for reference in self._captures) if t is not None]
        return listening.watched, variables, tuple([key for key in captures if key and listening.knows(key)])

    def note_uses(self, variables: dict[int, Variable], tensors: Iterable[Tensor]) -> None:
        """Note what the function uses and tapes may listen to: variables, and tensors that are no inputs of it.

        Those tensors that are alive outside of the function stay alive.
        """
        accessed = {key: v for key, v in variables.items() if type(v) is not ArgumentVariable}
        self._accessed = {**self._accessed, **accessed}
        captures = [*(self._captures or ()), *map(weakref.ref, tensors)]
        self._captures = [reference for reference in captures if reference() is not None]
