"""ConcreteFunction: a @function for one signature, whose lengths may be open.

With all lengths known it is compiled at once. `function` makes these; `saved_model` saves them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..core import nest
from ..core.composite import CompositeTensor
from ..core.errors import NotCompilableError, UnknownShapeError
from ..core.primitive import leave_hot, local, outside
from ..core.settings import settings
from ..core.spec import TensorSpec, type_spec_from_value
from ..core.tensor import Tensor
from ..core.variable import Variable
from .arguments import SPECS, closed_lengths, example, fit_one, leaf_names, signature_text
from .function_warnings import can_compile
from .placeholders import Specialize

if TYPE_CHECKING:
    from .function import Function
    from .program import Program
    from .sampled_function import SampledFunction


class ConcreteFunction:
    """A function for one signature, compiled now if all shapes are known. Made by `Function.get_concrete_function`.

    >>> import gradtape as tf
    >>> double = tf.function(lambda x: x * 2.0)
    >>> concrete = double.get_concrete_function(tf.TensorSpec([2], tf.float32))
    >>> concrete(tf.constant([1.0, 2.0])).numpy()
    array([2., 4.], dtype=float32)
    """

    def __init__(self, function: Function[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._function = function
        self.name = function.__name__
        given = nest.flatten((args, kwargs))
        self._leaves = [
            type_spec_from_value(leaf) if isinstance(leaf, (Tensor, CompositeTensor)) else leaf
            for leaf in given
        ]
        self._specs = [leaf for leaf in self._leaves if isinstance(leaf, SPECS)]
        self._args, self._kwargs = nest.pack_sequence_as((args, kwargs), self._leaves)
        self._names = list(leaf_names(function._names, self._args, self._kwargs))
        self._programs: list[Program] = []
        if can_compile() and not function._not_compilable and all(map(is_known, given)):
            self._try(*self._with([example(leaf) for leaf in given]))

    def _try(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Program, list[Any]] | None:
        """`_find`; None if the function runs operation by operation, from now on."""
        try:
            return self._find(args, kwargs)
        except NotCompilableError as error:
            if self._function._jit_compile and not isinstance(error, UnknownShapeError):
                raise
            self._function._give_up(error)
        return None

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Program, list[Any]]:
        program, leaves = self._function._find(args, kwargs)
        if program not in self._programs:
            self._programs.append(program)
        return program, leaves

    def _with(self, leaves: list[Any]) -> Any:
        return nest.pack_sequence_as((self._args, self._kwargs), leaves)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it as the function is called, or with its tensors alone, in order or by their specs' names.

        Raises:
            TypeError: if the arguments are neither.
        """
        leave_hot("a compiled function is called")
        values = self._as_called(args, kwargs)
        if values is None:
            named = iter(self._by_name(args, kwargs))
            values = [next(named) if isinstance(leaf, SPECS) else leaf for leaf in self._leaves]
        leaves = [
            fit_one(self.name, leaf, value) if isinstance(leaf, SPECS) else value
            for leaf, value in zip(self._leaves, values, strict=True)
        ]
        args, kwargs = self._with(leaves)
        found = None
        if local.here.trace is None and not settings.run_functions_eagerly and can_compile():
            found = None if self._function._not_compilable else self._try(args, kwargs)
        return self._function(*args, **kwargs) if found is None else self._function._run(*found, args, kwargs)

    def _as_called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """The leaves, if the arguments are those of the function; those that are no tensors may be left out."""
        signature = self._function._signature
        if signature is None:
            return None
        compiled = signature.bind(*self._args, **self._kwargs)
        try:
            given = signature.bind_partial(*args, **kwargs)
            given.arguments = compiled.arguments | given.arguments
            structure = given.args, given.kwargs
            nest.assert_same_structure((self._args, self._kwargs), structure)
        except (TypeError, ValueError):
            return None
        leaves = nest.flatten(structure)
        pairs = zip(self._leaves, leaves, strict=True)
        return leaves if all(_is_like(mine, leaf) for mine, leaf in pairs) else None

    def _by_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The values for the specs, by position or name."""
        rest = self._names[len(args) :]
        if len(args) > len(self._names) or sorted(rest) != sorted(kwargs):
            wanted = ", ".join(f"{n}: {spec}" for n, spec in zip(self._names, self._specs))
            raise TypeError(
                f"the concrete function {self.name} takes {wanted or 'no tensors'}; it was given {len(args)} arguments"
                + (f" and {', '.join(kwargs)}" if kwargs else "")
                + ". What is no tensor must be as it was when the function was compiled"
            )
        return [*args, *[kwargs[name] for name in rest]]

    @property
    def structured_input_signature(self) -> tuple[Any, ...]:
        """The arguments it was compiled for, with `TensorSpec`s for tensors."""
        return self._args, self._kwargs

    @functools.cached_property
    def _sampled(self) -> SampledFunction | None:
        """The function traced at samples of its open lengths; None if it cannot be."""
        from .sampled_function import SampledFunction

        if not can_compile() or self._function._not_compilable:
            return None
        try:
            return SampledFunction(self._function, self._args, self._kwargs)
        except NotCompilableError:
            return None

    @property
    def structured_outputs(self) -> Any:
        """The structure it returns, with `TensorSpec`s for tensors; None if only a call can tell."""
        if self._is_open and self._sampled is not None:
            return self._sampled.outputs
        return self._programs[0].outputs if self._programs else None

    @property
    def _is_open(self) -> bool:
        """Whether a length is open, so that it is looked at for an example."""
        return not all(map(is_known, self._specs))

    @functools.cached_property
    def _program(self) -> Program | None:
        """The program to look at: where lengths are open, one that was traced for an example."""
        if not can_compile() or self._function._not_compilable:
            return None
        if not self._is_open:
            return self._programs[0] if self._programs else None
        if any(not isinstance(spec, TensorSpec) or spec.shape.rank is None for spec in self._specs):
            return None
        closed = [closed_lengths(leaf) if isinstance(leaf, TensorSpec) else leaf for leaf in self._leaves]
        try:
            with outside():
                return self._function._example(*self._with([example(leaf) for leaf in closed]))
        except (NotCompilableError, Specialize):
            return None

    @functools.cached_property
    def graph(self) -> Any:
        """The operations of the function, for looking at: a `GraphView`.

        >>> import gradtape as tf
        >>> concrete = tf.function(lambda x: tf.exp(x)).get_concrete_function(tf.TensorSpec((2,)))
        >>> [op.name for op in concrete.graph.get_operations()]
        ['x', 'Exp', 'Identity']
        """
        from .graph_view import GraphView

        program = self._program
        graph = None if program is None or program.executable is None else program.executable.graph
        names: list[str] = []
        if graph is not None:
            count = len(graph.code.jaxpr.invars)
            names = self._names if len(self._names) == count else [f"argument_{i}" for i in range(count)]
        signature = self.structured_input_signature
        return GraphView(self.name, names, graph, signature, self.structured_outputs, self._is_open)

    @property
    def inputs(self) -> list[Any]:
        """The inputs in the graph: the tensors among the arguments, and the variables that it reads."""
        return list(self.graph.inputs)

    @property
    def outputs(self) -> list[Any]:
        """The results in the graph."""
        return list(self.graph.outputs)

    @property
    def captured_inputs(self) -> list[Any]:
        """The variables that it reads, which are inputs without being arguments."""
        return [variable.handle for variable in self.graph.variables]

    @property
    def output_shapes(self) -> Any:
        """The shapes of the results, in their structure."""
        return nest.map_structure(lambda spec: getattr(spec, "shape", None), self.structured_outputs)

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results, in their structure."""
        return nest.map_structure(lambda spec: getattr(spec, "dtype", None), self.structured_outputs)

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """The arguments, results and variables, one to a line.

        Args:
            verbose: accepted; no effect.
        """
        signature = self._function._signature
        return signature_text(
            self.name, signature, self._args, self._kwargs, self.structured_outputs, self.variables
        )

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables it reads or writes."""
        found = {key: v for program in self._programs for key, v in program.variables.items()}
        if not self._programs and self._sampled is not None:
            found = self._sampled.variables
        return tuple(found.values())

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among the variables."""
        return tuple(v for v in self.variables if v.trainable)

    def is_like(self, other: ConcreteFunction) -> bool:
        """Return whether another concrete function of the same function has the same signature."""
        mine, others = self._leaves, other._leaves
        return len(mine) == len(others) and all(
            type(a) is type(b) and (a is b or bool(a == b)) for a, b in zip(mine, others, strict=True)
        )

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{spec.dtype.name}{list(spec.shape)}" if isinstance(spec, TensorSpec) else str(spec)
            for spec in self._specs
        )
        return f"<ConcreteFunction {self.name} for ({shown})>"


def is_known(leaf: Any) -> bool:
    """Return whether a function can be traced for an argument: a value, or a spec of tensors of one shape."""
    return not isinstance(leaf, SPECS) or (isinstance(leaf, TensorSpec) and leaf.shape.is_fully_defined())


def _is_like(compiled: Any, leaf: Any) -> bool:
    """Return whether an argument can stand for one that a function was compiled for: a tensor, or the same value."""
    if isinstance(leaf, SPECS):
        return False
    if isinstance(compiled, Variable) and isinstance(leaf, Variable):
        wanted = compiled.shape, compiled.dtype, compiled.trainable
        return wanted == (leaf.shape, leaf.dtype, leaf.trainable)
    return isinstance(compiled, SPECS) or compiled is leaf or bool(compiled == leaf)
