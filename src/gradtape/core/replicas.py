"""Policies for a variable that several replicas of a program write, which programs name: `distribute` follows them."""

from __future__ import annotations

import enum
from typing import Any


class VariableSynchronization(enum.Enum):
    """The time at which copies of a variable are made equal.

    >>> import gradtape as tf
    >>> tf.Variable(1.0, synchronization=tf.VariableSynchronization.ON_READ).synchronization.name
    'ON_READ'
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """The way in which values written to copies of a variable become one.

    >>> import gradtape as tf
    >>> tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN).aggregation.name
    'MEAN'
    """

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def as_synchronization(given: Any) -> VariableSynchronization:
    """A policy, which may also be given as a member of an equal enum or as None.

    >>> as_synchronization(None)
    <VariableSynchronization.AUTO: 0>
    """
    return _member(VariableSynchronization, "synchronization", given, VariableSynchronization.AUTO)


def as_aggregation(given: Any) -> VariableAggregation:
    """A policy, which may also be given as a member of an equal enum or as None.

    >>> as_aggregation(None)
    <VariableAggregation.NONE: 0>
    """
    return _member(VariableAggregation, "aggregation", given, VariableAggregation.NONE)


def _member(kind: Any, argument: str, given: Any, default: Any) -> Any:
    if given is None:
        return default
    if isinstance(given, kind):
        return given
    name = getattr(given, "name", given)
    if isinstance(name, str) and name.upper() in kind.__members__:
        return kind[name.upper()]
    raise ValueError(f"a Variable's {argument} is a member of tf.{kind.__name__}, not {given!r}")
