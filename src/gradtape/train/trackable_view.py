"""TrackableView: the objects that a checkpoint of an object would visit."""

from __future__ import annotations

from collections import deque
from typing import Any

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
