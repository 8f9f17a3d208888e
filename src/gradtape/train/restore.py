"""Restoring: match saved values with objects, now and when more objects are created later.

All values are matched and checked before the first one changes. Values without an object wait: when an attribute is set
on an object that lacks a value, it is matched again. For this its class gets a `__setattr__` as long as a value waits.
For lists and dictionaries `arrivals` calls back, when a new variable is first used.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.errors import InvalidArgumentError, OpError
from ..core.primitive import local, outside
from ..core.tensor import wrap
from ..core.variable import Variable, when_made
from . import arrivals
from .files import Saved
from .graph import children, is_value, leading, walk


class Restoration:
    """A checkpoint that was read, and which of its values have found their objects. It keeps none of these alive."""

    def __init__(self, saved: Saved) -> None:
        self._saved = saved
        self._names = _names(saved.nodes)
        self._bound: dict[int, weakref.ref[Any]] = {}  # by the number of the node
        self._values = {i for i, node in enumerate(saved.nodes) if "tensor" in node or "state" in node}
        self._lacking = self._incomplete()

    def match(self, thing: Any, number: int) -> None:
        """Give the values at this node and below to the objects found in `thing`.

        All or nothing: if any value does not fit, nothing changes.
        """
        trace = local.here.trace
        # Outside of a trace: a @function may create variables while it is traced.
        with _one_at_a_time, arrivals.looking(), outside():
            for found in self._match(thing, number):
                if trace is not None and isinstance(found, Variable):
                    trace.restored(found)

    def _match(self, thing: Any, number: int) -> list[Any]:
        """Do the work of `match`, and return the objects that got a value."""
        changes: dict[int, tuple[Any, Callable[[], None]]] = {}
        waiting, seen, incomplete = [(thing, number)], set(), []
        while waiting:
            thing, number = waiting.pop()
            if (id(thing), number) in seen:
                continue
            seen.add((id(thing), number))
            node = self._saved.nodes[number]
            if is_value(thing):
                if number in self._values and number not in self._bound and number not in changes:
                    changes[number] = thing, self._change(thing, node, number)
                continue
            if number in self._lacking and hasattr(thing, "__dict__"):
                incomplete.append((thing, number))
            waiting += [
                (part, node["children"][name])
                for name, part in children(thing)
                if node["children"].get(name) in self._lacking
            ]
        for number, (thing, change) in changes.items():
            change()
            self._bound[number] = weakref.ref(thing)
            self._saved.tensors.pop(self._saved.nodes[number].get("tensor", ""), None)
        if changes:
            self._lacking = self._incomplete()
        self._wait(incomplete)
        return [thing for thing, _ in changes.values()]

    def _change(self, thing: Any, node: dict[str, Any], number: int) -> Callable[[], None]:
        """A function that puts a saved value into its object, after checking that it fits."""
        try:
            if isinstance(thing, Variable) and "tensor" in node:
                tensor = thing._fitting(wrap(self._saved.tensors[node["tensor"]].copy()), "restore")
                return lambda: thing._put(tensor._array)
            if not isinstance(thing, Variable) and "state" in node:
                return thing._prepare_state(node["state"])
        except OpError as error:
            raise type(error)(f"{self._names[number]}: {error}. Nothing was restored") from None
        raise InvalidArgumentError(
            f"{self._names[number]}: a {type(thing).__name__} cannot take the value that was saved under this name. "
            "Nothing was restored"
        )

    def _incomplete(self) -> set[int]:
        """The nodes that lead to values without an object."""
        return leading([node["children"] for node in self._saved.nodes], self._values - self._bound.keys())

    def _wait(self, incomplete: list[tuple[Any, int]]) -> None:
        for thing, number in incomplete:
            if number in self._lacking:
                waiting = _waiting_for(thing)
                if (self, number) not in waiting:
                    waiting.append((self, number))

    # -- for statuses -------------------------------------------------------------------------------------------

    def unclaimed(self) -> list[str]:
        """The names of the values in the checkpoint that no object has."""
        return sorted(self._names[number] for number in self._values - self._bound.keys())

    def unmatched(self, root: Any) -> list[str]:
        """The names of the variables, and the like, that got no value from the checkpoint."""
        bound = {id(thing()) for thing in self._bound.values()}
        return [
            node.name
            for node in walk(root)
            if is_value(node.thing) and id(node.thing) not in bound and node.path != ("save_counter",)
        ]

    def any(self) -> bool:
        """Return whether any object got a value."""
        return bool(self._bound)


def _names(nodes: list[dict[str, Any]]) -> dict[int, str]:
    """The path to each node, as a text."""
    names = {0: ""}
    waiting = [0]
    while waiting:
        number = waiting.pop(0)
        for name, child in nodes[number]["children"].items():
            if child not in names:
                names[child] = f"{names[number]}.{name}".lstrip(".")
                waiting.append(child)
    return names


# ---------------------------------------------------------------------------------------------------------------------
# Objects that lack values


class _Lacking(NamedTuple):
    """An object that lacks values, and the nodes to match again when an attribute is set on it."""

    thing: weakref.ref[Any]
    tries: list[tuple[Restoration, int]]


_lacking: dict[int, _Lacking] = {}  # by the object's id
_one_at_a_time = threading.RLock()
# Classes with our `__setattr__`: the number of objects that lack values, ours, and what was there before.
_reporting: dict[type, list[Any]] = {}


def _waiting_for(thing: Any) -> list[tuple[Restoration, int]]:
    """The nodes to match again when an attribute is set on the object."""
    known = _lacking.get(id(thing))
    if known is None:
        try:
            weakref.finalize(thing, _forget, id(thing), type(thing)).atexit = False
        except TypeError:  # no weak references: we would not know when it is gone
            return []
        known = _lacking[id(thing)] = _Lacking(weakref.ref(thing), [])
        _tell(type(thing))
        arrivals.expect(_try_all)
    return known.tries


def _tell(cls: Any) -> None:
    """Make the objects of a class report when an attribute is set on them."""
    if cls in _reporting:
        _reporting[cls][0] += 1
        return
    plain = cls.__setattr__

    def __setattr__(self: Any, name: str, value: Any) -> None:
        plain(self, name, value)
        if id(self) in _lacking:
            _try_again(self)

    _reporting[cls] = [1, __setattr__, cls.__dict__.get("__setattr__")]
    cls.__setattr__ = __setattr__


def _forget(number: int, cls: Any) -> None:
    """Note that an object lacks nothing any more; restore its class if no other of its objects does."""
    if _lacking.pop(number, None) is None:
        return
    if not _lacking:
        arrivals.expect_none()
    _reporting[cls][0] -= 1
    count, ours, before = _reporting[cls]
    if not count:
        del _reporting[cls]
        if cls.__dict__.get("__setattr__") is not ours:
            return  # another wraps ours, which does no harm
        if before is None:
            del cls.__setattr__
        else:
            cls.__setattr__ = before


def _try_again(thing: Any) -> None:
    with _one_at_a_time:
        if id(thing) not in _lacking:
            return
        waiting = _lacking[id(thing)].tries
        tries = waiting[:]
        waiting.clear()
        for restoration, number in tries:
            restoration.match(thing, number)
        if not waiting:
            _forget(id(thing), type(thing))


def _try_all() -> None:
    """Match all waiting objects again: there are new variables, perhaps in lists and dictionaries."""
    for lacking in list(_lacking.values()):
        thing = lacking.thing()
        if thing is not None:
            _try_again(thing)


when_made.append(_try_all)


# ---------------------------------------------------------------------------------------------------------------------
# Results of `restore`


class CheckpointLoadStatus:
    """Status of a restored checkpoint."""

    def __init__(self, restoration: Restoration, root: Any) -> None:
        self._restoration, self._root = restoration, root
        restoration.match(root, 0)

    def assert_consumed(self) -> CheckpointLoadStatus:
        """Raise AssertionError unless all values were restored and all variables got one."""
        self._restoration.match(self._root, 0)
        unclaimed = self._restoration.unclaimed()
        if unclaimed:
            raise AssertionError(f"the checkpoint has values that no object has taken: {_listed(unclaimed)}")
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Raise AssertionError unless all variables that exist got a value."""
        self._restoration.match(self._root, 0)
        unmatched = self._restoration.unmatched(self._root)
        if unmatched:
            raise AssertionError(f"the checkpoint has no value for {_listed(unmatched)}")
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """Raise AssertionError if no variable got a value."""
        if not self._restoration.any():
            raise AssertionError("the checkpoint has no value for any of the objects")
        return self

    def expect_partial(self) -> CheckpointLoadStatus:
        """State that not all values will be used. Nothing warns of unused values here."""
        return self


class InitializationOnlyStatus:
    """Status of `restore(None)`: there was no checkpoint."""

    def assert_consumed(self) -> InitializationOnlyStatus:
        """Raise AssertionError."""
        raise AssertionError("there was no checkpoint to restore: the path was None")

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def expect_partial(self) -> InitializationOnlyStatus:
        """Do nothing: no value was expected."""
        return self


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"
