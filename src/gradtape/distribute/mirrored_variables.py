"""The classes of variables that are made in the scope of a strategy with several replicas."""

from __future__ import annotations

from typing import Any

from ..core.primitive import local
from ..core.replicas import VariableAggregation, VariableSynchronization
from ..core.tensor import array_of
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

    @property
    def values(self) -> tuple[Any, ...]:
        """The variable, for each device."""
        return (self,) * _copies(self)

    @property
    def _primary(self) -> Variable:
        return self


class SyncOnReadVariable(DistributedValues, Variable):
    """A variable of which each replica has its own value while it runs, aggregated after it."""

    __slots__ = ()

    values = MirroredVariable.values
    _primary = MirroredVariable._primary


def _copies(variable: Variable) -> int:
    sharding = getattr(array_of(variable._tensor), "sharding", None)
    return 1 if sharding is None else len(sharding.device_set)


def mirror(variable: Variable, count: int) -> None:
    """Let a new variable be of the class that says how its copies, on so many devices, are kept equal.

    In TensorFlow each replica's share of a sum begins with the initial value.
    """
    if type(variable) is Variable:
        on_read = variable._synchronization is VariableSynchronization.ON_READ
        if variable._synchronization is VariableSynchronization.AUTO:
            variable._synchronization = VariableSynchronization.ON_WRITE
        variable.__class__ = SyncOnReadVariable if on_read else MirroredVariable
        if on_read and variable._aggregation is VariableAggregation.SUM and local.here.trace is None:
            array = variable._tensor._array
            variable._put(array * array.dtype.type(count))
