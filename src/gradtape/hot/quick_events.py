"""QuickEvents: the common operations of a trace, as `Follower` compares them without looking closer."""

from __future__ import annotations

from typing import Any

from .pass_events import Event, NewTensor, NewVariable, Number, Operation

_NO_SINGLE: tuple[Any, ...] = (None, 0, None, None, 0, None)
_NO_PAIR: tuple[Any, ...] = (None, 0, 0, 0, None)


class QuickEvents:
    """The operations of one result that take known tensors and numbers, by their position in the trace.

    Attributes:
        singles: of one input: the primitive, the input's index, the attributes and their types, the result's slot and
            `Out`. Of all other events, one that is never met.
        pairs: of two inputs and no attributes: the primitive, the indices of the inputs, the result's slot and `Out`.
        blank: the objects of a pass before it begins: None for each slot, and behind them the numbers, which have
            negative indices.
    """

    def __init__(self, events: list[Event], slots: int) -> None:
        self.blank: list[Any] = [None] * slots
        self._numbers: dict[Any, tuple[Any, int]] = {}  # with their indices, by type and text
        # The last event is looked at closely: see `Follower._end_reached`.
        self.singles = [*[self._single(event) for event in events[:-1]], _NO_SINGLE, _NO_SINGLE]
        self.pairs = [*[self._pair(event) for event in events[:-1]], _NO_PAIR, _NO_PAIR]
        self.blank += [value for value, _ in self._numbers.values()][::-1]
        self.no_singles = [_NO_SINGLE] * len(self.singles)
        self.no_pairs = [_NO_PAIR] * len(self.pairs)

    def _single(self, event: Any) -> tuple[Any, ...]:
        if not _is_quick(event, 1):
            return _NO_SINGLE
        types = event.exactly or None
        if types and any(isinstance(kind, str) for kind in types):
            return _NO_SINGLE
        out = event.outs[0]
        return event.primitive, self._index(event.specs[0]), event.attributes, types, out.slot, out

    def _pair(self, event: Any) -> tuple[Any, ...]:
        if not _is_quick(event, 2) or event.attributes:
            return _NO_PAIR
        out = event.outs[0]
        return event.primitive, *map(self._index, event.specs), out.slot, out

    def _index(self, spec: Any) -> int:
        """Where `seen` has an input: its slot, or for a number a place counted from the end."""
        if not isinstance(spec, Number):
            slot: int = getattr(spec, "slot", spec)
            return slot
        _, index = self._numbers.setdefault(
            (type(spec.value), spec.text), (spec.value, -1 - len(self._numbers))
        )
        return index


def _is_quick(event: Any, count: int) -> bool:
    """Return whether an operation is of the common kind, and takes so many inputs."""
    if not isinstance(event, Operation) or event.checked or len(event.outs) != 1 or event.primitive.multiple:
        return False
    return len(event.specs) == count and not event.primitive.variadic and all(map(_is_plain, event.specs))


def _is_plain(spec: Any) -> bool:
    if isinstance(spec, Number):
        return type(spec.value) is not complex
    return isinstance(spec, (int, NewTensor)) and not isinstance(spec, NewVariable)
