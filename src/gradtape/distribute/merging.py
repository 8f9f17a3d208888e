"""Calls across replicas, made only where a strategy needs them: `tf.__internal__.distribute`'s functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .default_strategy import get_replica_context, get_strategy
from .strategy import Strategy


def strategy_supports_no_merge_call() -> bool:
    """Return whether the present strategy updates variables inside a replica.

    >>> strategy_supports_no_merge_call()
    True
    """
    return not get_strategy().extended._use_merge_call()


def maybe_merge_call(fn: Callable[..., Any], strategy: Strategy, *args: Any, **kwargs: Any) -> Any:
    """Call `fn(strategy, *args, **kwargs)`: across replicas if the strategy needs that, else in this replica.

    >>> maybe_merge_call(lambda strategy, x: x + 1, get_strategy(), 2)
    3
    """
    replica = get_replica_context()
    if strategy_supports_no_merge_call() or replica is None:
        return fn(strategy, *args, **kwargs)
    return replica._merged_alike(fn, args, kwargs)
