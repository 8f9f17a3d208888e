"""The classes of variables that are made in the scope of a strategy with several replicas."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..core.primitive import leave_hot, local, quietly
from ..core.replicas import VariableAggregation, VariableSynchronization
from ..core.tensor import Tensor, next_key, wrap
from ..core.variable import Variable
from ..engine.arrays import as_array, xp
from .contexts import here, in_replica
from .own_values import copy_of, on_each_copy
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
    """A variable of which each replica has its own value, and that is their aggregate outside of replicas.

    Its array is the aggregate, so that any process can read it. The values of the replicas are the copies of another
    variable, `own_values`. What writes the one writes the other.
    """

    __slots__ = ()
    _copies = 1
    _replicas = 1  # of all processes

    _primary = MirroredVariable._primary

    @property
    def values(self) -> tuple[Any, ...]:
        """The value of each replica of this process; in a replica, the variable."""
        if in_replica():
            return (self,) * self._copies
        return self.own_copies()

    def own_copies(self) -> tuple[Tensor, ...]:
        """The values of this process's replicas, outside of them."""
        return tuple(copy_of(self.own_values, i) for i in range(self._copies))

    @property
    def own_values(self) -> Variable:
        """The variable whose copies are the values of the replicas; it is made when it is first needed."""
        known: Variable | None = getattr(self, "_own", None)
        if known is not None:
            return known
        known = self._own = object.__new__(Variable)  # no user knows of it
        known._key, known._name, known._shape = next_key(), self._name, self._shape
        known._trainable = known._watchable = False
        known._constraint, known._aggregation = None, VariableAggregation.NONE
        known._synchronization = VariableSynchronization.ON_WRITE
        known._tensor = wrap(self._share(self._tensor._array))
        known._tensor._key = known._key
        trace = local.here.trace
        if trace is not None and trace.writes(self):  # a new variable, whose value is still to be computed
            known._put(self._share(trace.read(self)._array))
        return known

    def _share(self, array: Any) -> Any:
        """What each replica has of a value for all: of a sum, an equal part."""
        if self._aggregation is not VariableAggregation.SUM or array.dtype.kind == "b":
            return array
        return (array / self._replicas).astype(array.dtype)

    def _read(self) -> Tensor:
        tensor, place = super()._read(), here()
        if place is None or place.merging is None:
            return tensor
        found: Tensor = place.merging.aggregate(self._aggregation, tensor)
        return found

    def _put_computed(self, array: Any) -> None:
        super()._put(array)  # what has computed it has computed the own values as well

    def _put(self, array: Any, given: Any = None) -> None:
        if in_replica():
            merges = here().merging is not None  # type: ignore[union-attr]
            super()._put(self._share(array) if merges else array, given)
            return
        leave_hot("a variable that replicas have their own values of is assigned")
        share = self._share(array)
        if array.dtype.kind in "iu" and share is not array:  # what is left of the division is lost
            array = share * array.dtype.type(self._replicas)
        self.own_values._put(share)
        super()._put(array)

    def _update(self, function: np.ufunc, delta: Any, method: str) -> None:
        if in_replica():
            super()._update(function, delta, method)
            return
        if self._aggregation is VariableAggregation.SUM:
            raise ValueError(
                f"{method} to {self._describe()}: it is the sum of the values of replicas, and outside of them nothing "
                f"says to which {method} applies: call {method} inside Strategy.run, or assign the sum by assign"
            )
        leave_hot("a variable that replicas have their own values of is assigned")
        operand, own = self._fitting(delta, method)._array, self.own_values

        def updated(array: Any) -> Any:
            return as_array(quietly(getattr(xp(array, operand), function.__name__), array, operand))

        super()._put(updated(self._array))
        if local.here.trace is None:
            own._tensor = on_each_copy(own, updated)
        else:
            own._put(updated(own._array))


@functools.cache
def _with_copies(kind: Any, own: int, replicas: int) -> Any:
    """A class of variables with so many copies in this process, and in all."""
    numbers = {"_copies": own, "_replicas": replicas}
    return type(kind.__name__, (kind,), {"__slots__": (), "__module__": kind.__module__, **numbers})


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
    variable.__class__ = _with_copies(SyncOnReadVariable if on_read else MirroredVariable, own, replicas)
    if on_read:
        _begin_with_shares(variable, replicas)


def _begin_with_shares(variable: Variable, replicas: int) -> None:
    """Let each replica begin with the initial value of a new variable, of sums as well."""
    times = replicas if variable._aggregation is VariableAggregation.SUM else 1
    trace = local.here.trace
    if trace is not None and trace.writes(variable):  # with a value that is still to be computed
        if not in_replica():  # else that is the replica's own
            array = trace.read(variable)._array
            variable._put(array * array.dtype.type(times))
        return
    if times > 1:
        array = variable._tensor._array
        if trace is None:
            variable._put(array * array.dtype.type(times))
        else:
            variable._tensor = wrap(array * array.dtype.type(times))
            variable._tensor._key = variable._key
