"""Graphs of functions as messages: what TensorBoard's page of graphs shows."""

from __future__ import annotations

from typing import Any

from ..core.shapes import TensorShape
from ..files.events import event_message


def graph_message(operations: list[Any]) -> Any:
    """A message GraphDef of operations (or of their entries), with the shapes of their results."""
    made = event_message("GraphDef")()
    made.versions.producer = 1
    for operation in operations:
        entry = getattr(operation, "node_def", operation)
        node = made.node.add(name=entry.name, op=entry.op, input=entry.input, device=entry.device)
        outputs = getattr(operation, "outputs", None)
        shapes = [entry.attr["shape"]] if outputs is None and "shape" in entry.attr else []
        shapes = shapes if outputs is None else [output.shape for output in outputs]
        for shape in shapes:
            _put(node.attr["_output_shapes"].list.shape.add(), shape)
    return made


def _put(found: Any, shape: TensorShape) -> None:
    """Write a shape into a message TensorShapeProto."""
    if shape.rank is None:
        found.unknown_rank = True
        return
    for length in shape.as_list():
        found.dim.add(size=-1 if length is None else length)


def metadata_of(called: list[tuple[str, Any]]) -> bytes:
    """The message RunMetadata with the graph of each program that was called, as bytes."""
    from ..compiled.graph_view import GraphView

    found = event_message("RunMetadata")()
    for name, program in called:
        graph = None if program.executable is None else program.executable.graph
        names = [] if graph is None else [f"argument_{i}" for i in range(len(graph.code.jaxpr.invars))]
        view = GraphView(name, names, graph, None, None, False)
        found.function_graphs.add().pre_optimization_graph.CopyFrom(graph_message(view.get_operations()))
    serialized: bytes = found.SerializeToString()
    return serialized
