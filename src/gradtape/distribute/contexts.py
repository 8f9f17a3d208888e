"""Where a thread is: in the scope of a strategy, across all replicas, or inside one replica.

A stack for each thread. Below it lies the default strategy, whose single replica every thread is in.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, NamedTuple

from ..core.primitive import leave_hot, local


class Place(NamedTuple):
    """A strategy, and the replica that runs; None for code that runs across all replicas.

    In a merge_call of a compiled program, `merging` is the replica that is traced.
    """

    strategy: Any
    replica: Any
    merging: Any = None


class _Stack(threading.local):
    def __init__(self) -> None:
        self.places: list[Place] = []
        self.lasting = False  # whether the outermost place stays until `enter_for_good` is called again


_stack = _Stack()


def here() -> Place | None:
    """The innermost place of this thread; None outside of all scopes."""
    places = _stack.places
    return places[-1] if places else None


class entered:
    """A block in a place."""

    def __init__(self, strategy: Any, replica: Any, merging: Any = None) -> None:
        self._place = Place(strategy, replica, merging)

    def __enter__(self) -> Any:
        _stack.places.append(self._place)
        here, replica = local.here, self._place.replica
        self._before = here.replica, here.across
        leave_hot("a replica runs")
        here.across = _is_across(self._place)
        here.replica = replica if replica is not None and replica.is_one_of_several else None
        return replica

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _stack.places.pop()
        local.here.replica, local.here.across = self._before


def _is_across(place: Place) -> bool:
    return place.replica is None and not place.strategy.is_default


def in_replica() -> bool:
    """Return whether one of several replicas runs here, or is traced."""
    place = here()
    if place is None:
        return False
    replica = place.merging if place.replica is None else place.replica
    return replica is not None and replica.is_one_of_several


def enter_for_good(strategy: Any) -> None:
    """Make the scope of a strategy the outermost of this thread; None leaves it.

    Raises:
        RuntimeError: inside a scope.
    """
    if len(_stack.places) > _stack.lasting:
        raise RuntimeError("experimental_set_strategy: a scope of a strategy is open here: leave it first")
    _stack.places[:] = [] if strategy is None else [Place(strategy, None)]
    _stack.lasting = strategy is not None
    local.here.across = _stack.lasting


def check_across_replicas(operation: str, strategy: Any) -> None:
    """Raise unless this thread is outside of all replicas, or in that of the default strategy.

    Raises:
        RuntimeError: inside a function that `Strategy.run` runs, or in the scope of another strategy.
    """
    place = here()
    if place is None:
        return
    if place.strategy is not strategy:
        raise RuntimeError(
            f"{operation}: the scope of another strategy is open: leave it first, or use that strategy, "
            "tf.distribute.get_strategy()"
        )
    if place.replica is not None:
        raise RuntimeError(
            f"{operation} is for code across replicas, and this is one of them: call "
            "tf.distribute.get_replica_context().merge_call(...), or leave the function that Strategy.run runs"
        )
