"""QuickEvents: the common operations of a trace, as `Follower` compares them without looking closer."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
from typing import Any

from .pass_events import Ask, Assign, Event, NewNumber, NewVariable, Number, Operation, Update

# Operations at which a replica waits for the others: see `distribute.replica_passes`.
MEETINGS = frozenset(("all_reduce", "all_gather"))
_NO_SINGLE: tuple[Any, ...] = (None, 0, None, None, 0, None, 0)
_NO_PAIR: tuple[Any, ...] = (None, 0, 0, 0, None, 0, 0)


class Use(IntEnum):
    """Whether an input is a variable, and whether the pass has used it before."""

    NONE, FIRST, LATER = 0, 1, 2


class QuickEvents:
    """The common events of a trace, by their position in it.

    Inputs are given by their index in the list of the objects of a pass: the slot, or for a number a negative index. In
    between are the values that variables have before the pass.

    Attributes:
        singles: operations of one result on one input: the primitive, the input, the attributes and their types, the
            result's slot and `Out`, the index of the value if the input is a variable that is used first, or 0. Of all
            other events, one that is never met.
        pairs: the same of two inputs and no attributes: the primitive, the inputs, the result's slot and `Out`, the
            input that is a variable and is used first and the index of its value, or 0 and 0.
        mixed: operations of several results, and those of one with variables among their inputs, whose value may be
            given in their place: the primitive, pairs of an input and its `Use`, the attributes and their types, the
            `Out`, or a plain tuple of all.
        assigns: updates of variables by known tensors: the method, the variable, the value, the `Out`, and the variable
            again if it is used first.
        asks: gradients of a known tensor by known ones: the tape's number, the target, the sources, the option, the
            `Out`s.
        updates: steps of optimizers for known gradients: the optimizer, its settings, the gradients, the variables, the
            variables that are used first, pairs of a variable that is written and its `Out`.
        blank: the objects of a pass before it begins: None for each slot and each value of a variable, and behind them
            the numbers.
        value_at: the index of the value that a variable has before the pass, by the variable's slot.
    """

    def __init__(self, events: list[Event], variables: Collection[int], slots: int) -> None:
        self._variables = variables
        self.value_at = {slot: slots + i for i, slot in enumerate(variables)}
        self.blank: list[Any] = [None] * (slots + len(self.value_at))
        self._numbers: dict[Any, tuple[Any, int]] = {}  # with their indices, by type and text
        # The last operation is looked at closely: see `Follower._end_reached`.
        inner = events[:-1]
        self.singles = [*[self._single(event) for event in inner], _NO_SINGLE, _NO_SINGLE]
        self.pairs = [*[self._pair(event) for event in inner], _NO_PAIR, _NO_PAIR]
        self.mixed = {i: found for i, event in enumerate(inner) if (found := self._mixed(event))}
        self.assigns = {i: found for i, event in enumerate(events) if (found := self._assign(event))}
        self.asks = {i: found for i, event in enumerate(events) if (found := self._ask(event))}
        self.updates = {i: found for i, event in enumerate(events) if (found := self._update(event))}
        self.blank += [value for value, _ in self._numbers.values()][::-1]

    def _single(self, event: Any) -> tuple[Any, ...]:
        if not _is_quick(event) or not self._are_known(event.specs, 1) or not _is_plain(event):
            return _NO_SINGLE
        out = event.outs[0]
        return (
            event.primitive,
            self._index(event.specs[0]),
            event.attributes,
            event.exactly or None,
            out.slot,
            out,
            max((self.value_at[slot] for slot in self._first(event)), default=0),
        )

    def _pair(self, event: Any) -> tuple[Any, ...]:
        if not _is_quick(event) or not self._are_known(event.specs, 2) or event.attributes:
            return _NO_PAIR
        out, first = event.outs[0], self._first(event)
        if len(first) > 1:
            return _NO_PAIR
        used = (first[0], self.value_at[first[0]]) if first else (0, 0)
        return event.primitive, *map(self._index, event.specs), out.slot, out, *used

    def _first(self, event: Operation) -> tuple[int, ...]:
        """The variables that an operation uses before any other does."""
        return tuple([spec.slot for spec in event.specs if isinstance(spec, NewVariable)])

    def _mixed(self, event: Any) -> tuple[Any, ...] | None:
        has_several = isinstance(event, Operation) and event.primitive.multiple
        if not _is_quick(event, has_several) or not _is_plain(event):
            return None
        if any(isinstance(s, NewNumber) for s in event.specs):
            return None
        if any(isinstance(s, NewVariable) and not s.is_fixed for s in event.specs):
            return None
        uses = [self._use(spec) for spec in event.specs]
        if not has_several and not any(uses):
            return None
        inputs = [*zip(map(self._index, event.specs), uses)]
        outs = tuple(event.outs) if has_several else event.outs[0]
        return event.primitive, inputs, event.attributes, event.exactly or None, outs

    def _assign(self, event: Any) -> tuple[Any, ...] | None:
        if not isinstance(event, Assign) or event.method == "assign":
            return None
        variable, value = event.specs
        if not isinstance(value, int) or value in self._variables:
            return None
        slot, before, out = variable, 0, event.outs[0]
        if isinstance(variable, NewVariable):
            if not variable.is_fixed:
                return None
            slot, before = variable.slot, self.value_at[variable.slot]
        return event.method, slot, value, out.slot, out, before

    def _ask(self, event: Any) -> tuple[Any, ...] | None:
        if not isinstance(event, Ask) or event.method != "gradient" or event.weights is not None:
            return None
        if len(event.targets) != 1 or any(shape is not None for shape in event.slices):
            return None
        if not all(isinstance(spec, int) for spec in event.specs):
            return None
        return event.tape, event.targets[0], event.sources, event.options[0], event.outs

    def _update(self, event: Any) -> tuple[Any, ...] | None:
        if not isinstance(event, Update) or event.aggregates is not None:
            return None
        if any(shape is not None for shape in event.slices) or not all(
            isinstance(s, int) for s in event.gradients
        ):
            return None
        others: Any = (*event.variables, *event.touched)
        new = [spec for spec in others if isinstance(spec, NewVariable)]
        if not all(spec.is_fixed for spec in new):
            return None
        variables = tuple(map(self._index, event.variables))
        written = [*zip(map(self._index, event.touched), event.outs, strict=True)]
        first = tuple([spec.slot for spec in new])
        return event.optimizer, event.settings, event.gradients, variables, first, written

    def _use(self, spec: Any) -> Use:
        if isinstance(spec, NewVariable):
            return Use.FIRST
        return Use.LATER if isinstance(spec, int) and spec in self._variables else Use.NONE

    def _are_known(self, specs: tuple[Any, ...], count: int) -> bool:
        """Return whether there are so many inputs, and the pass may have all of them before the operation."""
        return len(specs) == count and not any(
            isinstance(s, NewNumber) or (isinstance(s, NewVariable) and not s.is_fixed) for s in specs
        )

    def _index(self, spec: Any) -> int:
        """Where `seen` has an input: its slot, or for a number a place counted from the end."""
        if not isinstance(spec, Number):
            slot: int = getattr(spec, "slot", spec)
            return slot
        _, index = self._numbers.setdefault(
            (type(spec.value), spec.text), (spec.value, -1 - len(self._numbers))
        )
        return index


def _is_quick(event: Any, has_several: bool = False) -> bool:
    """Return whether an operation has one result, or several, which can be handed out without values."""
    if not isinstance(event, Operation) or event.checked or event.primitive.multiple is not has_several:
        return False
    if not has_several and len(event.outs) != 1:
        return False
    if event.primitive.name in MEETINGS:
        return False
    return not any(isinstance(s, Number) and type(s.value) is complex for s in event.specs)


def _is_plain(event: Operation) -> bool:
    """Return whether the attributes are told apart by their values and types alone."""
    return not any(isinstance(kind, str) for kind in event.exactly or ())
