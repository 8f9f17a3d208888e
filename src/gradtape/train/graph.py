"""The object graph of a checkpoint: the variables that can be reached from an object, and the path to each.

Attributes, lists, tuples and dictionaries are searched breadth first. Values are variables, and objects with a state of
their own (`_save_state`, as iterators of datasets have). All other objects only lead to values.
"""

from __future__ import annotations

import enum
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from ..core.stand_in import StandIn
from ..core.tensor import Tensor
from ..core.variable import Variable

# Objects of these modules hold no variables of the user's, and lead far away. Containers are handled before.
_FOREIGN = sys.stdlib_module_names | {"numpy", "jax", "jaxlib", "scipy", "matplotlib", "rich"}
# Nor do tapes, traced functions, and Keras's notes of calls: variables that they hold are found elsewhere.
_WORKINGS = (
    "gradtape.core.",
    "gradtape.compiled.",
    "keras.src.backend.common.keras_tensor",
    "keras.src.ops.",
    "keras.src.utils.tracking",
)


def is_value(thing: Any) -> bool:
    """Return whether this is saved itself."""
    return isinstance(thing, Variable) or hasattr(type(thing), "_save_state")


def children(thing: Any) -> Iterator[tuple[str, Any]]:
    """The parts of an object that may be saved or lead to what is, by their names."""
    if hasattr(type(thing), "_checkpoint_children"):
        parts: Any = thing._checkpoint_children()
    elif isinstance(thing, Mapping):
        parts = thing.items()
    elif isinstance(thing, (list, tuple)):
        parts = enumerate(thing)
    else:
        parts = vars(thing).items()
    for name, part in parts:
        part = part._variable() if isinstance(part, StandIn) else part
        if is_trackable(part):
            yield str(name), part


def is_trackable(thing: Any) -> bool:
    """Return whether this is saved, or may lead to what is."""
    if is_value(thing) or isinstance(thing, (Mapping, list, tuple, SimpleNamespace)):
        return True
    if isinstance(thing, (type, Tensor, enum.Enum)) or not hasattr(thing, "__dict__"):
        return False
    module = type(thing).__module__
    return module.partition(".")[0] not in _FOREIGN and not module.startswith(_WORKINGS)


class Node(NamedTuple):
    """An object on the way: its path, and the numbers of its children by their names."""

    thing: Any
    path: tuple[str, ...]
    children: dict[str, int]

    @property
    def name(self) -> str:
        """The path as one text."""
        return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in self.path)


def walk(
    root: Any,
    parts: Callable[[Any], Iterable[tuple[str, Any]]] = children,
    is_end: Callable[[Any], bool] = is_value,
) -> list[Node]:
    """The objects that are saved and those that lead to them; number 0 is `root`. An object has one number.

    Checkpoints save variables and states, by `children` and `is_value`; saved models functions as well.
    """
    nodes = [Node(root, (), {})]
    numbers = {id(root): 0}
    waiting = deque([0])
    while waiting:
        node = nodes[waiting.popleft()]
        if node.path and is_end(node.thing):
            continue
        for name, part in parts(node.thing):
            if name in node.children:
                raise ValueError(
                    f"two parts of {node.name or 'the root'} are named {name!r}: rename one of them"
                )
            number = numbers.get(id(part))
            if number is None:
                number = numbers[id(part)] = len(nodes)
                nodes.append(Node(part, (*node.path, name), {}))
                waiting.append(number)
            node.children[name] = number
    return _pruned(nodes, is_end)


def _pruned(nodes: list[Node], is_end: Callable[[Any], bool]) -> list[Node]:
    """The nodes without those that lead to nothing."""
    wanted = leading([node.children for node in nodes], {i for i, n in enumerate(nodes) if is_end(n.thing)})
    kept = sorted(wanted | {0})
    renumbered = {old: new for new, old in enumerate(kept)}
    return [
        nodes[old]._replace(
            children={name: renumbered[i] for name, i in nodes[old].children.items() if i in renumbered}
        )
        for old in kept
    ]


def leading(edges: list[dict[str, int]], ends: set[int]) -> set[int]:
    """The numbers of the nodes from which one of `ends` can be reached, these included."""
    before: list[list[int]] = [[] for _ in edges]
    for number, out in enumerate(edges):
        for child in out.values():
            before[child].append(number)
    found, waiting = set(ends), list(ends)
    while waiting:
        for number in before[waiting.pop()]:
            if number not in found:
                found.add(number)
                waiting.append(number)
    return found
