"""OwnValues: the values that replicas in threads have of variables of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..core.replicas import VariableAggregation, VariableSynchronization
from ..core.tensor import Tensor, device_of, wrap
from ..core.variable import Variable


class OwnValues:
    """The values that each replica has of variables of its own, while threads take turns.

    These are variables that are aggregated when they are read, and those of which replicas write copies of their own:
    because they have no aggregation, or by `extended.update`. The latter have another value on each device, unless all
    copies are equal. As in a compiled program, the former hold the aggregate before and after, and the copies of their
    `own_values` are the replicas'. One that was not made in the scope has none: of a sum, the first replica then has
    all of it and the others zeros.

    Args:
        variables: those that are known.
        party: which replicas are threads here, and how they exchange values with others: see `parties`.
        spread: gives a variable one array, of which each device has another copy, for those of this process's replicas.
    """

    def __init__(self, variables: Sequence[Variable], party: Any, spread: Any) -> None:
        self._party = party
        self._spread = spread
        self._variables: list[Variable] = []
        self._whole: list[Tensor] = []  # what each variable held, for all replicas
        self._given: list[list[Tensor]] = []  # for each variable, what the replicas had at first,
        self._own: list[list[Tensor]] = []  # and have now
        self._known: set[int] = set()  # the keys of the variables, and of those that replicas have copies of
        self._copied: set[int] = set()
        self._index: int | None = None  # of the replica whose values the variables hold
        self.add_known(variables)

    def add(self, variable: Variable, copied: bool = False) -> None:
        """Let each replica have its own value of a variable from now on; `copied` if nothing is aggregated."""
        if variable._key not in self._known:
            self._known.add(variable._key)
            if copied:
                self._copied.add(variable._key)
            shares = self._shares(variable)
            self._variables.append(variable)
            self._whole.append(variable._tensor)
            self._given.append(shares)
            self._own.append(list(shares))
            if self._index is not None:
                variable._tensor = shares[self._index]

    def add_known(self, variables: Sequence[Variable]) -> None:
        """Add variables that are aggregated when they are read, or that devices have different copies of."""
        for variable in variables:
            self.add(variable, copied=variable._synchronization is not VariableSynchronization.ON_READ)

    def has(self, variable: Variable) -> bool:
        """Return whether each replica has its own value of a variable."""
        return variable._key in self._known

    def _shares(self, variable: Any) -> list[Tensor]:
        if not self._is_aggregated(variable):
            return [copy_of(variable, i) for i in range(len(self._party.numbers))]
        if not hasattr(variable, "own_values"):
            return [_share(variable, number) for number in self._party.numbers]
        arrays = self._party.of_all([value._array for value in variable.own_copies()])
        return [_value(variable, array) for array in arrays]

    def _is_aggregated(self, variable: Variable) -> bool:
        """Return whether the values of replicas become one after a run."""
        return variable._key not in self._copied

    @contextlib.contextmanager
    def of(self, index: int) -> Iterator[None]:
        """Let the variables hold the values of one replica of this process."""
        for variable, own in zip(self._variables, self._own, strict=True):
            variable._tensor = own[index]
        self._index = index
        try:
            yield
        finally:
            self._index = None
            for variable, own in zip(self._variables, self._own, strict=True):
                own[index] = variable._tensor

    def restore(self) -> None:
        """Let the variables hold what they held for all replicas."""
        for variable, whole in zip(self._variables, self._whole, strict=True):
            variable._tensor = whole

    def aggregate(self) -> None:
        """Let the variables hold what their replicas have together; those that no replica wrote are as before."""
        self.restore()
        apart = [not self._is_aggregated(variable) for variable in self._variables]
        written = [
            any(a is not b for a, b in zip(given, own, strict=True))
            for given, own in zip(self._given, self._own, strict=True)
        ]
        shared = [i for i, is_apart in enumerate(apart) if not is_apart]
        found = self._party.arrays_of_variables(
            [written[i] for i in shared], lambda k: self._arrays(shared[k])
        )
        for i, arrays in zip(shared, found, strict=True):
            if arrays is not None:
                self._put_aggregate(self._variables[i], arrays, self._arrays(i))
        for i, variable in enumerate(self._variables):
            if apart[i] and written[i]:
                self._put_copies(variable, self._arrays(i))

    def _put_aggregate(self, variable: Variable, arrays: list[Any], here: list[Any]) -> None:
        """Let a variable hold the aggregate of arrays, and its own values those of the replicas that are threads."""
        variable._put_computed(_aggregated(variable, arrays))
        own: Variable | None = getattr(variable, "own_values", None)
        if own is not None:
            self._put_copies(own, self._party.of_process(here), is_known=False)

    def _put_copies(self, variable: Variable, arrays: list[Any], is_known: bool = True) -> None:
        first, *others = arrays
        if all(first is a or np.array_equal(first, a, equal_nan=first.dtype.kind in "fc") for a in others):
            variable._put(first)
        else:
            self._spread(variable, arrays, is_known)

    def _arrays(self, i: int) -> list[Any]:
        return [tensor._array for tensor in self._own[i]]

    def keep_what_is_done(self) -> None:
        """After an error: let the variables hold what the replicas of this process have; with others, as before."""
        if self._party.is_alone:
            self.aggregate()
        else:
            self.restore()

    def forget(self) -> None:
        """Let the variables hold what they hold now: a program has computed their values."""
        self._variables, self._whole, self._given, self._own = [], [], [], []
        self._known, self._copied = set(), set()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Let the variables hold their aggregates; replicas keep their own values of those that are not written."""
        self.aggregate()
        before = [variable._tensor for variable in self._variables]
        yield
        for i, variable in enumerate(self._variables):
            self._whole[i] = variable._tensor
            if variable._tensor is not before[i]:
                self._given[i] = self._shares(variable)
                self._own[i] = list(self._given[i])


def _share(variable: Variable, number: int) -> Tensor:
    """The share of a replica in what a variable holds for all: of a sum, the first one has all of it."""
    tensor = variable._tensor
    if variable._aggregation is VariableAggregation.SUM and number:
        return _value(variable, np.zeros_like(tensor._array))
    return tensor


def copy_of(variable: Variable, index: int) -> Tensor:
    """The copy that a device of this process has of a variable."""
    tensor = variable._tensor
    try:
        shards = device_of(tensor).addressable_shards
    except AttributeError:  # it was never on several devices
        return tensor
    return tensor if len(shards) == 1 else _value(variable, np.asarray(shards[index].data))


def own_value(variable: Variable, index: int) -> Tensor:
    """The value that a replica of this process has of a variable, outside of it."""
    return copy_of(getattr(variable, "own_values", variable), index)


def on_each_copy(variable: Variable, function: Callable[[Any], Any]) -> Tensor:
    """The value of a variable with a function applied to each copy that this process has."""
    import jax

    tensor = variable._tensor
    try:
        array = device_of(tensor)
    except AttributeError:
        return _value(variable, np.asarray(function(tensor._array)))
    with jax.enable_x64(True):
        parts = [
            jax.device_put(np.asarray(function(np.asarray(shard.data))), shard.device)
            for shard in array.addressable_shards
        ]
        whole = jax.make_array_from_single_device_arrays(array.shape, array.sharding, parts)
    tensor = Tensor.__new__(Tensor)
    tensor._device, tensor._key = whole, variable._key
    return tensor


def _value(variable: Variable, array: Any) -> Tensor:
    tensor = wrap(array)
    tensor._key = variable._key
    return tensor


def _aggregated(variable: Variable, arrays: list[Any]) -> Any:
    if variable._aggregation is VariableAggregation.SUM:
        return total(arrays)
    if variable._aggregation is VariableAggregation.MEAN:
        found = total(arrays)
        return (found / len(arrays)).astype(found.dtype)
    return arrays[0]


def total(arrays: list[Any]) -> Any:
    """The sum of arrays."""
    found = arrays[0]
    for array in arrays[1:]:
        found = found + array
    return np.asarray(found)
