"""ExpectedOperations: whether the next event is the expected one, on this path or another; operations foremost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compiled.deferrable import exactly
from ..core.pending_tensors import give, is_pending
from ..core.primitive import Primitive, apply, as_tensors, inside
from ..core.slicing import getitem
from ..core.tensor import Tensor, new_tensor
from ..core.variable import Variable
from .expected_inputs import MISS, ExpectedInputs
from .learning import PYTHON_NUMBERS
from .pass_events import Operation, Out
from .quick_events import Use


class ExpectedOperations(ExpectedInputs):
    """A pass that goes through the events of a trace."""

    __slots__ = ()

    def _leave(self, reason: str, learn: bool = False) -> None:
        """Compute all that was handed out as ever, tapes included; `learn` the rest of the pass."""
        raise NotImplementedError

    def _end_reached(self) -> None:
        """End the pass now if its last event has happened."""
        raise NotImplementedError

    # The common cases, written out: expected tensors and numbers, one result. They take 0.3 us.

    def operation1(self, primitive: Primitive, x: Any, attributes: Any) -> Any:
        """The result of the expected operation on one input, without a value; of any other, the result as ever."""
        expected, a, wanted, types, slot, out, value = self._singles[self._position]
        if (
            expected is primitive
            and ((known := self._seen[a]) is x or (type(known) is Variable and known._tensor is x))
            and self._here.tapes is self._listening
            and (
                attributes is wanted
                or (
                    (attributes or None) == wanted
                    and (types is None or [*map(type, attributes.values())] == types)
                )
            )
            and (not value or self._seen[value] is known._tensor)
        ):
            tensor = new_tensor()
            tensor._key = 0
            tensor._both = (self, out)
            self._seen[slot] = tensor  # when it is complete: an interrupt may come anywhere
            self._position += 1
            return tensor
        return self._general(primitive, (x,), attributes)

    def operation2(self, primitive: Primitive, x: Any, y: Any) -> Any:
        """The same for two inputs and no attributes."""
        expected, a, b, slot, out, variable, value = self._pairs[self._position]
        if expected is primitive and self._here.tapes is self._listening:
            seen = self._seen
            u, v = seen[a], seen[b]
            if (
                (
                    u is x
                    or (a < 0 and type(u) is type(x) and u == x and x)
                    or (type(u) is Variable and u._tensor is x)
                )
                and (
                    v is y
                    or (b < 0 and type(v) is type(y) and v == y and y)
                    or (type(v) is Variable and v._tensor is y)
                )
                and (not value or seen[value] is seen[variable]._tensor)
            ):
                tensor = new_tensor()
                tensor._key = 0
                tensor._both = (self, out)
                seen[slot] = tensor
                self._position += 1
                return tensor
        return self._general(primitive, (x, y), None)

    def _are_read(self, slots: tuple[int, ...]) -> bool:
        """Return whether variables that are used first have the values that were read early."""
        seen, value_at = self._seen, self._value_at
        for slot in slots:
            variable = seen[slot]
            if variable is None or seen[value_at[slot]] is not variable._tensor:
                return False
        return True

    def operation(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        """The same for any number of inputs."""
        if len(inputs) == 2 and not attributes:
            return self.operation2(primitive, *inputs)
        return self._general(primitive, inputs, attributes)

    def _general(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        if self._here.tapes is not self._listening or (primitive is getitem and self._is_cut(inputs[0])):
            return self._outside(primitive, inputs, attributes)
        out = self._with_variables(primitive, inputs, attributes)
        if out is not MISS:
            return out
        for x in inputs:
            if type(x) is not Tensor and not isinstance(x, Variable) and type(x) not in PYTHON_NUMBERS:
                return apply(primitive, as_tensors(primitive, inputs), attributes)
        out = self._operation(primitive, inputs, attributes)
        if out is MISS:
            out = self._on_another_path(lambda: self._operation(primitive, inputs, attributes))
            if out is MISS:
                self._leave(f"{primitive.name} was not expected", learn=True)
                return apply(primitive, inputs, attributes)
        return out

    def _is_cut(self, x: Any) -> bool:
        """Return whether an index is to be taken at once, of a tensor that no tape knows: see `Trace.cuts`."""
        position, mine = self._position, self._trace
        cuts = [trace for trace in self._traces if position in trace.cuts]
        if not any(trace is mine or mine.shared_with(trace) >= position for trace in cuts):
            return False
        if type(x) is not Tensor or x._key or is_pending(x):
            return False
        if any(self._seen[slot] is x for slot in mine.watched_slots(position)):
            return False
        is_result = self._is_seen(x, mine.starts[position])
        return not is_result or any(self._seen[slot] is x for slot in mine.tensor_slots)

    def _with_variables(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        """The result of the expected operation on variables, whose values are read already: see `_read_early`.

        Also of one with several results.
        """
        quick = self._trace.quick.mixed.get(self._position)
        if quick is None:
            return MISS
        expected, uses, wanted, types, outs = quick
        if expected is not primitive or len(uses) != len(inputs) or (attributes or None) != wanted:
            return MISS
        if types is not None and [*map(type, attributes.values())] != types:
            return MISS
        seen = self._seen
        for (index, use), x in zip(uses, inputs):
            known = seen[index]
            if not use:
                if known is not x and not (index < 0 and type(known) is type(x) and known == x and x):
                    return MISS
            else:
                is_known = known is not None and (known is x or known._tensor is x)
                if not is_known or (use is Use.FIRST and not self._are_read((index,))):
                    return MISS
        out: Any = tuple(map(self._pending, outs)) if type(outs) is tuple else self._pending(outs)
        self._advance()
        return out

    def _operation(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        event: Any = self._events[self._position]
        if type(event) is not Operation or event.primitive is not primitive:
            return MISS
        attributes = attributes or None
        if attributes is not None or event.attributes is not None:  # noqa: SIM102
            if attributes != event.attributes or exactly(attributes) != event.exactly:
                return MISS
        if not self._all_fit(event.specs, inputs):
            return self._forget()
        if event.checked:
            return self._checked(event, inputs)
        if primitive.multiple:
            out: Any = tuple([self._pending(known) for known in event.outs])
        else:
            out = self._pending(event.outs[0])
        self._advance()
        self._end_reached()
        return out

    def _checked(self, event: Operation, inputs: tuple[Any, ...]) -> Any:
        """The result of an operation that computes at once."""
        out = self._outside(event.primitive, inputs, event.attributes)
        results = out if event.primitive.multiple else (out,)
        for known, result in zip(event.outs, results):
            if result._array.shape != known.shape or result._array.dtype != known.dtype:
                return self._forget()
            self._seen[known.slot] = result
        self._advance()
        self._end_reached()
        return out

    def _pending(self, known: Out) -> Tensor:
        """A tensor for a result, which has its value already if a program was run before."""
        slot = known[0]
        tensor = new_tensor()
        tensor._key = 0
        if self._values and slot in self._values:
            give(tensor, self._values[slot])
        else:
            tensor._both = (self, known)
        self._seen[slot] = tensor
        return tensor

    # -- any event ----------------------------------------------------------------------------------------------------

    def _expects(self, kind: type, check: Callable[[Any], bool], inputs: Any) -> bool:
        """Return whether an event of this kind with these inputs is expected, on this path or another."""
        if self._happens(kind, check, inputs) is True:
            return True
        return self._on_another_path(lambda: self._happens(kind, check, inputs)) is True

    def _happens(self, kind: type, check: Callable[[Any], bool], inputs: Any) -> Any:
        """Return True if the next event is this one; `inputs` may be a function of it."""
        event: Any = self._events[self._position]
        if type(event) is not kind or not check(event):
            return MISS
        given = inputs(event) if callable(inputs) else inputs
        if not self._all_fit(self._trace.specs[self._position], given):
            return self._forget()
        self._advance()
        return True

    def _advance(self) -> None:
        """Go to the next event. When all is known that the pass takes from outside, its program can be started."""
        self._position += 1
        if self._position == self._ready_at:
            self._launch()

    def _on_another_path(self, attempt: Callable[[], Any]) -> Any:
        """Try the event on the other traces that began as this one did."""
        mine = self._trace
        if len(self._traces) == 1 or self._is_complete:
            return MISS
        self._forget()  # a program may have run ahead, and what it computed of events to come is for this path alone
        for other in self._traces:
            if other is not mine and mine.shared_with(other) >= self._position:
                self._use(other)
                result = attempt()
                if result is not MISS:
                    return result
        self._use(mine)
        return MISS

    # -- computing as ever -------------------------------------------------------------------------------------------

    def _outside(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        """Compute an operation as ever, for its value alone."""
        for x in inputs:
            tensor = x._tensor if isinstance(x, Variable) else x
            if type(tensor) is Tensor and is_pending(tensor):
                tensor._array.value()
        before = self._here.tapes
        self._here.tapes = [] if before is self._listening else before
        try:
            return self._computed(apply, primitive, inputs, attributes)
        finally:
            self._here.tapes = before

    def _computed(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self._here.hot = None
        try:
            with inside():
                return function(*arguments)
        finally:
            if not self._over:
                self._here.hot = self
