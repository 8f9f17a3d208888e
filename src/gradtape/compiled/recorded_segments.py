"""Segments that tapes recorded as one operation, and how they record them operation by operation after all.

One record answers for the gradients of what comes out by what goes in. It does not answer for the gradient by a result
in the middle, nor for what another tape, which did not listen, would know of the values in between.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ..core.hot_door import eager_apply
from ..core.primitive import inside, local
from ..core.structural import identity_
from ..core.tape import GradientTape
from ..core.tensor import Tensor, wrap

if TYPE_CHECKING:
    from .known_segments import KnownSegment


class RecordedSegment:
    """One run of a segment's program, in the records of tapes.

    Args:
        inputs: of the segment.
        results: its outputs.
    """

    def __init__(self, segment: KnownSegment, inputs: list[Tensor], results: list[Tensor]) -> None:
        self._segment = segment
        self._inputs = inputs
        self._keys = {n: t._key for n, t in zip(segment.outputs, results, strict=True) if t._key}
        self._inner = {self._keys[n] for n in segment.inner if n in self._keys}
        self._tapes: list[weakref.ref[GradientTape]] = []

    def attach(self, tapes: list[Any], lengths: list[int]) -> None:
        """Note which of the tapes have a record of it: they had so many records before."""
        for tape, length in zip(tapes, lengths, strict=True):
            if len(tape._records) > length:
                tape._records[-1][1].segment = self
                tape._expand = expand
                self._tapes.append(weakref.ref(tape))

    def needs_expansion(self, wanted: list[int]) -> bool:
        """Return whether the record cannot answer for the gradients of these keys, or of the gradients themselves."""
        listeners = local.here.tapes
        if not listeners:
            return not self._inner.isdisjoint(wanted)
        own = [reference() for reference in self._tapes]
        return bool(self._inner) or any(listener not in own for listener in listeners)

    def expand(self) -> None:
        """Put the records of the operations in the place of the one, in all tapes at once.

        The operations are computed again, so that the tapes know the values in between by the same keys.
        """
        here = local.here
        tapes, later = [], []
        for tape in [reference() for reference in self._tapes]:
            at = None if tape is None else self._position(tape)
            if tape is not None and at is not None:
                tapes.append(tape)
                later.append(tape._records[at + 1 :])
                tape._records = tape._records[:at]
        before = here.tapes, here.hot, here.trace
        here.tapes, here.hot, here.trace = list(tapes), None, None
        try:
            with inside():
                self._segment.replay(self._inputs, eager_apply, self._known_as)
        finally:
            here.tapes, here.hot, here.trace = before
            for tape, records in zip(tapes, later, strict=True):
                tape._records += records

    def _position(self, tape: GradientTape) -> int | None:
        """The position of the record; None if the tape has dropped it."""
        plans = (plan for _, plan, _, _ in tape._records)
        return next((i for i, plan in enumerate(plans) if getattr(plan, "segment", None) is self), None)

    def _known_as(self, number: int, result: Tensor) -> Tensor:
        """The result under the key that the tapes know it by."""
        key = self._keys.get(number)
        if key is None:
            return result
        tensor = wrap(result._array)
        tensor._key = key
        for tape in local.here.tapes:
            tape._on_operation(identity_, (result,), None, tensor)
        return tensor


def expand(tape: GradientTape, wanted: list[int]) -> None:
    """Expand the segments in a tape's records that cannot answer; called before a sweep for these keys."""
    for _, plan, _, _ in list(tape._records):
        recorded = getattr(plan, "segment", None)
        if recorded is not None and recorded.needs_expansion(wanted):
            recorded.expand()
