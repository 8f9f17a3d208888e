"""GraphView: what a concrete function computes, as a list of named operations to look at. Nothing runs from it.

It is read off the jaxpr of a `function_graph.FunctionGraph`, under the names of TensorFlow's operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jax.extend.core import Literal

from ..core import dtypes
from ..core.shapes import TensorShape
from ..core.variable import Variable
from .arguments import open_lengths

_INLINED = (
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "remat",
    "checkpoint",
)
# TensorFlow's name of the operation for each of JAX's; others keep theirs, in capitals.
_TYPES = {
    "add": "AddV2",
    "add_any": "AddV2",
    "sub": "Sub",
    "mul": "Mul",
    "div": "RealDiv",
    "rem": "FloorMod",
    "max": "Maximum",
    "min": "Minimum",
    "pow": "Pow",
    "integer_pow": "Pow",
    "dot_general": "MatMul",
    "reduce_sum": "Sum",
    "reduce_max": "Max",
    "reduce_min": "Min",
    "reduce_prod": "Prod",
    "reduce_and": "All",
    "reduce_or": "Any",
    "argmax": "ArgMax",
    "argmin": "ArgMin",
    "logistic": "Sigmoid",
    "broadcast_in_dim": "BroadcastTo",
    "squeeze": "Squeeze",
    "concatenate": "ConcatV2",
    "slice": "StridedSlice",
    "dynamic_slice": "Slice",
    "gather": "GatherV2",
    "scatter": "TensorScatterUpdate",
    "scatter-add": "TensorScatterAdd",
    "scatter_add": "TensorScatterAdd",
    "select_n": "SelectV2",
    "convert_element_type": "Cast",
    "eq": "Equal",
    "ne": "NotEqual",
    "lt": "Less",
    "le": "LessEqual",
    "gt": "Greater",
    "ge": "GreaterEqual",
    "and": "LogicalAnd",
    "or": "LogicalOr",
    "not": "LogicalNot",
    "conv_general_dilated": "Conv2D",
    "iota": "Range",
    "while": "While",
    "scan": "While",
    "cond": "If",
    "io_callback": "PyFunc",
    "pure_callback": "PyFunc",
    "copy": "Identity",
    "copy_p": "Identity",
    "rev": "ReverseV2",
    "pad": "PadV2",
    "log1p": "Log1p",
    "expm1": "Expm1",
    "cumsum": "Cumsum",
    "cumprod": "Cumprod",
    "bitcast_convert_type": "Bitcast",
    "lgamma": "Lgamma",
}


class GraphTensor:
    """The result of an operation of a graph: a name, a shape and a dtype."""

    def __init__(self, op: GraphOperation, value_index: int, shape: TensorShape, dtype: dtypes.DType) -> None:
        self.op = op
        self.value_index = value_index
        self.shape = shape
        self.dtype = dtype

    @property
    def name(self) -> str:
        """The operation's name, and the number of the result."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> GraphView:
        """The graph it belongs to."""
        return self.op.graph

    def consumers(self) -> list[GraphOperation]:
        """The operations that take it."""
        return [op for op in self.graph.get_operations() if any(t is self for t in op.inputs)]

    def __repr__(self) -> str:
        return f"<tf.Tensor {self.name!r} shape={self.shape} dtype={self.dtype.name}>"


class GraphOperation:
    """An operation of a graph, for looking at."""

    device = ""

    def __init__(
        self,
        graph: GraphView,
        name: str,
        type_: str,
        inputs: Sequence[GraphTensor] = (),
        attributes: dict[str, Any] | None = None,
    ) -> None:
        self.graph = graph
        self.name = name
        self.type = type_
        self.inputs = tuple(inputs)
        self.control_inputs: list[GraphOperation] = []
        self.outputs: list[GraphTensor] = []
        self._attributes = attributes or {}

    def values(self) -> tuple[GraphTensor, ...]:
        """The results."""
        return tuple(self.outputs)

    def get_attr(self, name: str) -> Any:
        """An attribute.

        Raises:
            ValueError: if the operation has no such attribute.
        """
        if name not in self._attributes:
            known = ", ".join(self._attributes) or "none"
            raise ValueError(f"the operation {self.name} has no attribute {name!r}; its attributes: {known}")
        return self._attributes[name]

    @property
    def node_def(self) -> NodeDef:
        """The operation as an entry of a `GraphDef`."""
        names = [t.op.name if not t.value_index else t.name for t in self.inputs]
        return NodeDef(self.name, self.type, names, dict(self._attributes))

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"

    def __str__(self) -> str:
        return str(self.node_def)


class NodeDef:
    """An entry of a `GraphDef`: name, operation, names of inputs, attributes."""

    device = ""

    def __init__(self, name: str, op: str, input: list[str], attr: dict[str, Any]) -> None:
        self.name, self.op, self.input, self.attr = name, op, input, attr

    def __str__(self) -> str:
        lines = [f'name: "{self.name}"', f'op: "{self.op}"', *[f'input: "{name}"' for name in self.input]]
        lines += [f"attr {{ {key}: {_shown(value)} }}" for key, value in self.attr.items()]
        return "\n".join(lines) + "\n"

    __repr__ = __str__


class GraphDef:
    """The operations of a graph as plain entries, with a text."""

    def __init__(self, node: list[NodeDef]) -> None:
        self.node = node

    def __str__(self) -> str:
        return "".join(f"node {{\n{_indented(str(node))}}}\n" for node in self.node)

    __repr__ = __str__


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=6).replace("\n", "")
    return value.name if isinstance(value, dtypes.DType) else str(value)


class GraphView:
    """The operations of a concrete function.

    Args:
        name: of the function.
        names: of the arrays among the arguments.
        graph: the traced function; None if it runs operation by operation.
        signature: the arguments, with specs for tensors.
        outputs: the results, with specs for tensors.
        is_example: whether it was traced for an example of open lengths.

    >>> import gradtape as tf
    >>> graph = tf.function(lambda x: 2.0 * x).get_concrete_function(tf.TensorSpec(())).graph
    >>> [op.type for op in graph.get_operations()]
    ['Placeholder', 'Const', 'Mul', 'Identity']
    """

    building_function = True

    def __init__(
        self, name: str, names: list[str], graph: Any, signature: Any, outputs: Any, is_example: bool
    ) -> None:
        self.name = name
        self._is_example = is_example
        self.structured_input_signature = signature
        self.structured_outputs = outputs
        self.inputs: list[GraphTensor] = []
        self.outputs: list[GraphTensor] = []
        self.captures: list[tuple[Any, GraphTensor]] = []
        self._operations: dict[str, GraphOperation] = {}
        if graph is None:
            self._add("PyFunc", f"{name}/PyFunc")
        else:
            self._read(names, graph)

    # -- looking ------------------------------------------------------------------------------------------------------

    def get_operations(self) -> list[GraphOperation]:
        """The operations, in the order of the program."""
        return list(self._operations.values())

    def get_operation_by_name(self, name: str) -> GraphOperation:
        """The operation of a name.

        Raises:
            KeyError: if there is none.
        """
        if name not in self._operations:
            raise KeyError(f"the graph of {self.name} has no operation {name!r}: get_operations() lists them")
        return self._operations[name]

    def get_tensor_by_name(self, name: str) -> GraphTensor:
        """The result `name:number` of an operation.

        Raises:
            KeyError: if there is none.
        """
        operation, _, number = name.partition(":")
        outputs = self.get_operation_by_name(operation).outputs
        if not number.isdigit() or int(number) >= len(outputs):
            raise KeyError(f"{name!r} is no result: those of {operation} are {[t.name for t in outputs]}")
        return outputs[int(number)]

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """The operations as plain entries; their text shows the whole graph.

        Args:
            from_version: accepted; no effect.
            add_shapes: accepted: shapes are always there.
        """
        return GraphDef([op.node_def for op in self.get_operations()])

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the function reads."""
        return tuple(outside for outside, _ in self.captures if isinstance(outside, Variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among the variables."""
        return tuple(v for v in self.variables if v.trainable)

    def __repr__(self) -> str:
        return f"FuncGraph(name={self.name}, id={id(self)})"

    # -- reading the jaxpr --------------------------------------------------------------------------------------------

    def _read(self, names: list[str], graph: Any) -> None:
        code, jaxpr = graph.code, graph.code.jaxpr
        at: dict[Any, GraphTensor] = {}
        for v, name in zip(jaxpr.invars, names, strict=True):
            at[v] = self._add("Placeholder", name, like=[v])[0]
            self.inputs.append(at[v])
        for v, (kind, what) in zip(jaxpr.constvars, code.meanings, strict=True):
            if kind == "constant":
                at[v] = self._add("Const", "Const", like=[v], value=np.asarray(code.constants[what]))[0]
            elif kind == "variable":
                variable = graph.reads[what]
                name = variable.name.partition(":")[0]
                handle = self._add("Placeholder", f"{name}/resource", like=[v])[0]
                at[v] = self._add("ReadVariableOp", f"{name}/Read", [handle], like=[v])[0]
                self.captures.append((variable, handle))
                self.inputs.append(handle)
            else:
                at[v] = self._add("Placeholder", kind, like=[v])[0]
        self._read_equations(jaxpr, at)
        results = jaxpr.outvars[: graph.counts[0]]
        state = jaxpr.outvars[graph.counts[0] : sum(graph.counts[:2])]
        for v in results:
            self.outputs += self._add("Identity", "Identity", [self._tensor(v, at)], like=[v])
        for variable, v in zip(graph.written, state, strict=True):
            name = getattr(variable, "name", "argument").partition(":")[0]
            self._add("AssignVariableOp", f"{name}/Assign", [self._tensor(v, at)])

    def _read_equations(self, jaxpr: Any, at: dict[Any, GraphTensor]) -> None:
        for eqn in jaxpr.eqns:
            inner = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr")
            inputs = [self._tensor(v, at) for v in eqn.invars]
            if eqn.primitive.name in _INLINED and inner is not None:
                body = getattr(inner, "jaxpr", inner)
                constants = getattr(inner, "consts", ())
                within = dict(zip(body.invars, inputs, strict=False))
                for v, c in zip(body.constvars, constants, strict=False):
                    within[v] = self._add("Const", "Const", like=[v], value=np.asarray(c))[0]
                self._read_equations(body, within)
                outputs = [self._tensor(v, within) for v in body.outvars]
            else:
                outputs = self._add(
                    _type_of(eqn.primitive.name), None, inputs, eqn.outvars, **_plain(eqn.params)
                )
            at.update(zip(eqn.outvars, outputs, strict=True))

    def _tensor(self, v: Any, at: dict[Any, GraphTensor]) -> GraphTensor:
        if isinstance(v, Literal):
            return self._add("Const", "Const", like=[v], value=np.asarray(v.val))[0]
        return at[v]

    def _add(
        self,
        type_: str,
        name: str | None = None,
        inputs: Sequence[GraphTensor] = (),
        like: Sequence[Any] = (),
        **attributes: Any,
    ) -> list[GraphTensor]:
        """Add an operation with results like these variables of a jaxpr; returns the results."""
        avals = [v.aval for v in like if hasattr(v.aval, "dtype")]
        if avals:
            attributes = {"dtype": _dtype(avals[0]), "shape": self._shape(avals[0]), **attributes}
        chosen = self._unique(name or re.sub(r"V\d$", "", type_))
        operation = self._operations[chosen] = GraphOperation(self, chosen, type_, inputs, attributes)
        operation.outputs = [
            GraphTensor(operation, i, self._shape(v.aval), _dtype(v.aval)) for i, v in enumerate(like)
        ]
        return operation.outputs

    def _shape(self, aval: Any) -> TensorShape:
        shape = TensorShape(getattr(aval, "shape", ()))
        return open_lengths(shape) if self._is_example else shape

    def _unique(self, name: str) -> str:
        return next(chosen for chosen in _numbered(name) if chosen not in self._operations)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 1
    while True:
        yield f"{name}_{number}"
        number += 1


def _type_of(primitive: str) -> str:
    return _TYPES.get(primitive) or "".join(word.capitalize() for word in re.split(r"[_-]", primitive))


def _dtype(aval: Any) -> dtypes.DType:
    dtype = getattr(aval, "dtype", np.dtype(bool))
    return dtypes.as_dtype(dtype) if isinstance(dtype, np.dtype) else dtypes.as_dtype("bool")


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are numbers, texts, or tuples of them."""
    return {
        key: value
        for key, value in parameters.items()
        if isinstance(value, (bool, int, float, str))
        or (isinstance(value, tuple) and all(isinstance(x, (int, tuple)) for x in value))
    }
