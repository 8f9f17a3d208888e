"""TrackableView: the objects that a checkpoint of an object would visit. CheckpointView: those that one has."""

from __future__ import annotations

from collections import deque
from typing import Any

from ..core.types import PathLike
from . import files
from .graph import children, is_trackable, is_value


class TrackableView:
    """The objects that can be reached from one: variables, tables, iterators, and what leads to them.

    Args:
        root: the object to start from.

    Raises:
        ValueError: if the object is a plain value, which has no parts.

    >>> import gradtape as tf
    >>> module = tf.Module()
    >>> module.v = tf.Variable(1.0)
    >>> list(TrackableView.children(module)), len(TrackableView(module).descendants())
    (['v'], 2)
    """

    def __init__(self, root: Any) -> None:
        if not is_trackable(root):
            raise ValueError(f"TrackableView: root must be an object that holds variables, not {root!r}")
        self._root = root

    @property
    def root(self) -> Any:
        """The object to start from."""
        return self._root

    @classmethod
    def children(cls, obj: Any, save_type: Any = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """The parts of an object, by their names.

        Args:
            obj: the object.
            save_type: accepted; no effect.
            kwargs: accepted; no effect.
        """
        return {} if is_value(obj) or not is_trackable(obj) else dict(children(obj))

    def descendants(self) -> list[Any]:
        """The object itself and all that can be reached from it, the nearest first, each once."""
        found, seen = [self._root], {id(self._root)}
        waiting = deque(found)
        while waiting:
            for part in self.children(waiting.popleft()).values():
                if id(part) not in seen:
                    seen.add(id(part))
                    found.append(part)
                    waiting.append(part)
        return found


class CheckpointView:
    """The objects in a checkpoint, by numbers; 0 is the one that was saved.

    Args:
        save_path: what `Checkpoint.save` or `write` returned.

    Raises:
        NotFoundError: if there is no such checkpoint.

    >>> import gradtape as tf, tempfile
    >>> module = tf.Module()
    >>> module.v = tf.Variable(1.0)
    >>> view = CheckpointView(tf.train.Checkpoint(module).write(tempfile.mkdtemp() + "/one"))
    >>> view.children(0), view.descendants(), view.match(module)[1] is module.v
    ({'v': 1}, [0, 1], True)
    """

    def __init__(self, save_path: PathLike) -> None:
        self._nodes: list[dict[str, Any]] = files.load(save_path).nodes

    def children(self, node_id: int) -> dict[str, int]:
        """The numbers of an object's parts, by their names.

        Args:
            node_id: the object's number.

        Raises:
            IndexError: if there is no such number.
        """
        if type(node_id) is not int or not 0 <= node_id < len(self._nodes):
            raise IndexError(
                f"CheckpointView: there is no object {node_id!r} in a checkpoint of {len(self._nodes)}"
            )
        return dict(self._nodes[node_id]["children"])

    def descendants(self) -> list[int]:
        """The numbers of all objects, the nearest to the one that was saved first."""
        found = {0: None}
        waiting = deque(found)
        while waiting:
            new = dict.fromkeys(n for n in self.children(waiting.popleft()).values() if n not in found)
            found |= new
            waiting.extend(new)
        return list(found)

    def match(self, obj: Any) -> dict[int, Any]:
        """The parts of an object that are also in the checkpoint, by their numbers there.

        Args:
            obj: an object like the one that was saved.
        """
        found = {0: TrackableView(obj).root}
        waiting = deque(found)
        while waiting:
            number = waiting.popleft()
            own = TrackableView.children(found[number])
            for name, part in self.children(number).items():
                if name in own and part not in found:
                    found[part] = own[name]
                    waiting.append(part)
        return found

    def diff(self, obj: Any) -> tuple[dict[int, Any], list[int], list[Any]]:
        """What `match` gives, the numbers of the others in the checkpoint, and the object's parts that it lacks.

        Args:
            obj: an object like the one that was saved.
        """
        found = self.match(obj)
        known = {id(part) for part in found.values()}
        others = [part for part in TrackableView(obj).descendants() if id(part) not in known]
        return found, [number for number in self.descendants() if number not in found], others
