"""What the replicas of a strategy with several share: how they assign to variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.primitive import no_recording
from ..core.replicas import VariableAggregation, VariableSynchronization
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert

_FIRST = VariableAggregation.ONLY_FIRST_REPLICA


class SeveralReplicas:
    """One of several replicas: `Variable` asks it what to assign."""

    is_one_of_several = True
    updates_copies = False
    _strategy: Any
    _exchange: Any
    replica_id_in_sync_group: Any

    def summed(self, gradients: list[Any]) -> list[Any]:
        """The sums of gradients over all replicas; None stays."""
        from .collectives import reduced
        from .reductions import ReduceOp

        with no_recording():
            return [None if g is None else reduced(ReduceOp.SUM, g) for g in gradients]

    def stream(self, m: Any) -> Any:
        """Three words that change the state of a random generator into one of this replica's own; m is NumPy or JAX."""
        number = m.asarray(convert(self.replica_id_in_sync_group)._array).astype(np.uint64)
        zero = m.zeros((), np.uint64)
        return m.stack([zero, number << np.uint64(48), zero])

    def _keep_own(self, variable: Any) -> None:
        """Let this replica have a value of its own of a variable, until the run ends."""

    def assigns_together(self, variable: Any) -> bool:
        """Return whether the values that all replicas assign become one; else each keeps its own."""
        if variable._aggregation is VariableAggregation.NONE:  # not in the scope: one for all replicas
            return not self._strategy.extended.variable_created_in_scope(variable)
        return variable._synchronization is not VariableSynchronization.ON_READ

    def _policy(self, variable: Any, adds: bool) -> VariableAggregation | None:
        """How the values that all replicas assign become one; None if each keeps its own."""
        if not self.assigns_together(variable):
            if variable._aggregation is VariableAggregation.NONE:
                self._strategy.extended.keep_apart(variable)
            self._keep_own(variable)
            return None
        policy: VariableAggregation = variable._aggregation
        if policy is VariableAggregation.NONE:
            return VariableAggregation.SUM if adds else _FIRST
        return policy

    def aggregated(self, variable: Any, method: str, value: Tensor) -> Tensor:
        """What all replicas together assign to a variable, or add to it."""
        policy = self._policy(variable, method != "assign")
        if policy is None:
            return value
        together = self._together(policy, value._array)
        return wrap(together if method == "assign" else self._added_once(variable, together))

    def _added_once(self, variable: Any, array: Any) -> Any:
        """What this replica adds to a variable, of a sum that all of them have."""
        return array

    def aggregated_rows(self, variable: Any, method: str, array: Any) -> Any:
        """The value of a variable after all replicas have written into a part of it."""
        adds = method.endswith(("add", "sub"))
        policy = self._policy(variable, adds)
        if policy is None:
            return array
        if policy is not VariableAggregation.SUM or not adds:
            return self._together(policy, array)
        before = variable._array
        return before + self._together(policy, array - before)

    def keep_copy(self, variable: Any) -> None:
        """Let this replica have a copy of its own of a variable, until the run ends."""

    def _together(self, policy: VariableAggregation, array: Any) -> Any:
        from .collectives import all_reduce

        if policy in (_FIRST, VariableAggregation.NONE):
            return self._exchange.first(array)
        return all_reduce(array, mean=policy is VariableAggregation.MEAN)


class OfCopies:
    """A replica, while it updates its own copies of variables: as `extended.update` lets it, nothing is aggregated.

    Copies that are equal after the run are one value again.
    """

    updates_copies = True

    def __init__(self, replica: Any) -> None:
        self._replica = replica

    def __getattr__(self, name: str) -> Any:
        return getattr(self._replica, name)

    def assigns_together(self, variable: Any) -> bool:
        """Return whether the values that all replicas assign become one."""
        return False

    def aggregated(self, variable: Any, method: str, value: Tensor) -> Tensor:
        """What this replica assigns to its copy of a variable, or adds to it."""
        self._replica.keep_copy(variable)
        return value

    def aggregated_rows(self, variable: Any, method: str, array: Any) -> Any:
        """The value of its copy after it has written into a part of it."""
        self._replica.keep_copy(variable)
        return array
