"""The classes of variables that are made in the scope of a strategy with several replicas."""

from __future__ import annotations

import functools
from typing import Any

from ..core.primitive import local
from ..core.replicas import VariableAggregation, VariableSynchronization
from ..core.variable import Variable
from .per_replica import DistributedValues


class Mirrored(DistributedValues):
    """A value that is the same in every replica.

    >>> import gradtape as tf
    >>> issubclass(tf.types.experimental.distributed.Mirrored, tf.distribute.DistributedValues)
    True
    """

    __slots__ = ()


class MirroredVariable(Mirrored, Variable):
    """A variable with a copy on each device; all copies are one array."""

    __slots__ = ()
    _copies = 1  # how many are this process's

    @property
    def values(self) -> tuple[Any, ...]:
        """The variable, for each device of this process."""
        return (self,) * self._copies

    @property
    def _primary(self) -> Variable:
        return self


class SyncOnReadVariable(DistributedValues, Variable):
    """A variable of which each replica has its own value while it runs, aggregated after it."""

    __slots__ = ()
    _copies = 1

    values = MirroredVariable.values
    _primary = MirroredVariable._primary


@functools.cache
def _with_copies(kind: Any, count: int) -> Any:
    """A class of variables with so many copies in this process."""
    return type(kind.__name__, (kind,), {"__slots__": (), "__module__": kind.__module__, "_copies": count})


def mirror(variable: Variable, replicas: int, own: int) -> None:
    """Let a new variable be of the class that says how its copies are kept equal.

    In TensorFlow each replica's share of a sum begins with the initial value.

    Args:
        variable: the variable.
        replicas: how many copies there are.
        own: how many of them are this process's.

    Raises:
        ValueError: if it is to have no synchronization.
    """
    if type(variable) is not Variable:
        return
    policy = variable._synchronization
    if policy is VariableSynchronization.NONE:
        raise ValueError(
            f"{variable.name}: a strategy keeps the copies of its variables equal, and synchronization=NONE says that "
            "they are not: use AUTO, ON_WRITE or ON_READ"
        )
    on_read = policy is VariableSynchronization.ON_READ
    if policy is VariableSynchronization.AUTO:
        variable._synchronization = VariableSynchronization.ON_WRITE
    variable.__class__ = _with_copies(SyncOnReadVariable if on_read else MirroredVariable, own)
    if on_read and variable._aggregation is VariableAggregation.SUM and local.here.trace is None:
        array = variable._tensor._array
        variable._put(array * array.dtype.type(replicas))
