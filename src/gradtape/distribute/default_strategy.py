"""The default strategy, with one replica, and where a program is: in a scope, in a replica, or outside of both."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..core.variable import Variable
from ..data.dataset import Dataset
from .contexts import enter_for_good, here
from .replica import DefaultReplicaContext, ReplicaContext
from .strategy import Strategy, StrategyExtended


class _DefaultExtended(StrategyExtended):
    def variable_created_in_scope(self, v: Variable) -> bool:
        super().variable_created_in_scope(v)
        return True

    def _placed(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def _distribute(self, dataset: Dataset) -> Dataset:
        return dataset


class DefaultStrategy(Strategy):
    """The strategy outside of all scopes: one replica, on the devices that `tf.device` says."""

    is_default = True

    def __init__(self) -> None:
        super().__init__(_DefaultExtended(self))

    @contextlib.contextmanager
    def _scope(self) -> Iterator[Strategy]:
        if has_strategy():
            raise RuntimeError("Strategy.scope: the scope of another strategy is open: leave it first")
        yield self

    def __reduce__(self) -> Any:
        return _default_strategy, ()


_default = DefaultStrategy()
_default_replica = DefaultReplicaContext(_default, 0)


def _default_strategy() -> DefaultStrategy:
    return _default


# ---------------------------------------------------------------------------------------------------------------------
# Where a program is


def get_strategy() -> Strategy:
    """The strategy whose scope is open, or the default strategy, with one replica.

    >>> get_strategy().num_replicas_in_sync
    1
    """
    place = here()
    return _default if place is None else place.strategy


def has_strategy() -> bool:
    """Return whether the scope of a strategy other than the default is open.

    >>> has_strategy()
    False
    """
    place = here()
    return place is not None and place.strategy is not _default


def in_cross_replica_context() -> bool:
    """Return whether this is code across replicas: in a scope, but in no function that `Strategy.run` runs.

    >>> in_cross_replica_context()
    False
    """
    place = here()
    return place is not None and place.replica is None


def get_replica_context() -> ReplicaContext | None:
    """The replica that runs: outside of all scopes that of the default strategy; None across replicas.

    >>> get_replica_context().num_replicas_in_sync
    1
    """
    place = here()
    return _default_replica if place is None else place.replica


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Open the scope of a strategy for the rest of the program, or until this is called again.

    Args:
        strategy: None for the default one.

    Raises:
        RuntimeError: inside a scope.
        TypeError: if it is no strategy.

    >>> experimental_set_strategy(None)
    """
    if strategy is not None and not isinstance(strategy, Strategy):
        raise TypeError(f"experimental_set_strategy takes a Strategy or None, not {strategy!r}")
    enter_for_good(None if strategy is _default else strategy)
