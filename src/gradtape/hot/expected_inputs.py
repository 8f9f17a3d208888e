"""ExpectedInputs: whether the inputs of an event are those that a trace expects, and which slots new ones get."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.pending_tensors import is_pending
from ..core.tensor import Tensor, array_of, wrap
from ..core.variable import Variable
from ..engine.arrays import is_traced
from .pass_events import NewNumber, NewVariable, Number, is_scalar
from .pass_tensors import computed_array
from .pass_trace import SmallInput
from .pending_values import PendingValues

_SMALL = 1 << 10  # elements

MISS: Any = object()  # in place of a result: the event was not the expected one


class ExpectedInputs(PendingValues):
    """The objects of a pass, and what is known of those that come from outside."""

    __slots__ = ()

    def _all_fit(self, specs: tuple[Any, ...], inputs: Any) -> bool:
        """Return whether the inputs are the expected ones. New ones get their slots."""
        if len(specs) != len(inputs):
            return False
        seen = self._seen
        for spec, x in zip(specs, inputs):
            if type(spec) is int and seen[spec] is x:
                continue
            if not self._fits(spec, x):
                return False
        return True

    def _fits(self, spec: Any, x: Any) -> bool:
        kind = type(spec)
        if kind is int:
            known = self._seen[spec]
            if known is x:
                return True
            return isinstance(known, Variable) and type(x) is Tensor and x is known._tensor
        if kind is NewVariable:
            return self._fits_variable(spec, x)
        if kind is Number:
            return spec.fits(x)
        if kind is NewNumber:
            if not is_scalar(x):
                return False
            self._seen[spec.slot] = wrap(np.asarray(x, spec.dtype))
            return True
        if self._seen[spec.slot] is x:  # as in the last pass
            return True
        return self._fits_tensor(spec, x)

    def _fits_tensor(self, spec: Any, x: Any) -> bool:
        """Return whether another tensor than that of the last pass may come from outside."""
        slot = spec.slot
        if type(x) is not Tensor or self._is_key_of_variable(x._key) or self._is_seen(x, slot):
            return False
        array = computed_array(x)
        if tuple(array.shape) != spec.shape or array.dtype != spec.dtype:
            return False
        if (x._key and self._is_key_seen(x._key, slot)) or is_traced(array):
            return False
        trace, seen = self._trace, self._seen
        if not self._by_numpy and self._is_small_again(slot, x, array):
            seen[slot] = x
            return True
        trace.renewed += 1
        if self._values:  # a program was started for the wrong one
            trace.sure *= 2
            self._drop_ahead()
        trace.steady = -1  # see `_complete`
        if id(x) in self._expected_ids:  # the very tensor was expected in another place
            for other in [*trace.outside]:
                if seen[other] is x:
                    seen[other] = None
        seen[slot] = x
        return True

    def _is_small_again(self, slot: int, x: Tensor, array: Any) -> bool:
        """Return whether a small tensor has the value that the last pass was given, and keep a copy if it has not."""
        if type(array) is not np.ndarray or array.size > _SMALL:
            self._small.pop(slot, None)
            return False
        known, bits = self._small.get(slot) or self._trace.small.get(slot), array.tobytes()
        if known is None or known.bits != bits:
            # The trace gets it when a program has run on it: until then, the next pass expects what the last one used.
            self._small[slot] = SmallInput(wrap(array), bits)
            return False
        self._small[slot] = known
        return id(x) not in self._expected_ids  # else the very tensor is expected in another place

    def _is_seen(self, tensor: Tensor, count: int) -> bool:
        """Return whether a tensor has one of the first `count` slots."""
        if not self._counted:
            self._ids = set()
            self._expected_ids = {id(self._seen[slot]) for slot in [*self._trace.outside]}
        if self._counted < count:
            self._ids.update(map(id, self._seen[self._counted : count]))
            self._counted = count
        return id(tensor) in self._ids

    def _is_key_of_variable(self, key: int) -> bool:
        """Return whether a tensor of this key is the value of a variable that the pass reads."""
        return bool(key) and (key in self._read or any(v._key == key for v in self._variables.values()))

    def _is_key_seen(self, key: int, count: int) -> bool:
        """Return whether a tensor in one of the first `count` slots that has its value has this key."""
        return any(type(x) is Tensor and x._key == key and not is_pending(x) for x in self._seen[:count])

    def _fits_variable(self, spec: NewVariable, x: Any) -> bool:
        if type(x) is Tensor:
            variable: Any = self._read.get(x._key)
            if variable is None or variable._tensor is not x:
                return False
            x = variable
        if not isinstance(x, Variable) or x._key != spec.key:
            return False
        value = self._value_before(x)
        if not spec.is_fixed:
            array = array_of(value)
            if tuple(array.shape) != spec.shape or array.dtype != spec.dtype:
                return False
        slot = spec.slot
        at = self._value_at[slot]
        if self._seen[at] is not value and self._seen[at] is not None:
            self._drop_ahead()  # a program has read it, and then another thread has assigned it
        self._read[x._key] = x
        self._seen[at] = value
        self._variables[slot] = x
        self._seen[slot] = x
        return True

    def _forget(self) -> Any:
        """Take back the slots of an event that did not fit."""
        self._drop_ahead()
        start, end = self._trace.starts[self._position], self._trace.starts[-1]
        self._seen[start:end] = [None] * (end - start)
        self._counted = 0
        self._forget_variables(start)
        return MISS

    def read(self, variable: Variable) -> None:
        """Note whose value a tensor is that will be used."""
        self._read[variable._key] = variable
        self._reads.append((self._position, variable))
