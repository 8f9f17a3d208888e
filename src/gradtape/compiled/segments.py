"""Segments: the parts of a function that XLA cannot compile as a whole, which are compiled where that pays.

Such a function runs as Python at each call. Its operations are noted, and their results handed out without values. When
a value is needed, by an operation whose shape depends on it, by Python, or for a gradient, the operations noted so far
are computed: as a program, if the same segment has come often enough, else one by one. To tapes a program is one
operation, whose gradient is a program as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..core.hot_door import ask_passes, eager_apply
from ..core.observers import observers
from ..core.pending_tensors import is_pending
from ..core.primitive import Primitive, as_tensors, as_tensors2, inside, local
from ..core.tape import GradientTape
from ..core.tensor import Tensor, array_of, known_array
from ..core.variable import Variable
from ..engine.blas import in_numpy
from .deferrable import exactly
from .known_segments import KnownOperation, KnownSegment, Spec
from .open_segments import LastContent, OpenSegment
from .rare_shapes import PRODUCT

_SAMPLED = 8  # as long as nothing is compiled, one call of so many is noted, and fewer as there are more
_REVIEW = 16  # calls after which it is checked whether segments pay, and after twice as many, and so on
_LOOK = 2.0  # us lost by an operation that is computed at once, because it was looked up
_OFTEN = 8  # calls in which an operation came, if most others are without it
_IDLE = 3  # times that nothing was gained, after which an operation begins no segment
_MOST_KNOWN = 20_000  # operations and segments that are remembered


class Segments:
    """What is known of the segments of a function.

    Args:
        name: of the function.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = 0  # in which operations were noted
        self._skipped = 0  # calls since the last of these,
        self._all_calls = 0  # and all until then
        self._has_programs = False
        self.operations: dict[Any, KnownOperation] = {}
        self._lock = threading.Lock()
        self._specs: list[Spec] = []
        self.kinds: dict[Spec, int] = {}  # numbers of the same
        self.segments: dict[Any, KnownSegment] = {}
        # How often nothing was gained by a segment that began with an operation after another one.
        self.idle: dict[tuple[KnownOperation | None, KnownOperation], int] = {}
        self.contents: dict[Any, LastContent] = {}  # of segments, by how they begin, as `idle`
        self.noted = 0  # operations whose results were handed out without values
        self.single = 0  # operations that were computed at once
        self._reviewed = 0, 0  # calls and single operations before the last review
        self.is_off = False  # whether nothing is gained, and operations are computed as they come
        self._largest_product = 0  # multiplications

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function, operation by operation and segment by segment."""
        if not self.calls or self._largest_product > PRODUCT:
            return self._run(function, args, kwargs)
        return in_numpy(lambda: self._run(function, args, kwargs))  # see `RareShapes.run`

    def _run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        here = local.here
        if self.is_off or observers or here.trace is not None or here.replica is not None:
            return function(*args, **kwargs)
        weight = 1
        if self.calls >= _SAMPLED and not self._has_programs:  # most calls are then as quick as without notes
            self._skipped += 1
            if self._skipped < max(_SAMPLED, self._all_calls // _SAMPLED):
                return function(*args, **kwargs)
            self._skipped, weight = 0, self._skipped
        ask_passes()
        self.calls += 1
        self._all_calls += weight
        collector = _Collector(self, weight)
        try:
            return function(*args, **kwargs)
        finally:
            collector.close()
            self._has_programs = self._has_programs or any(s.is_compiled for s in self.segments.values())
            if self.calls >= _REVIEW and self.calls.bit_count() == 1:
                self._review()

    def _review(self) -> None:
        """Stop to note operations if that takes more time than programs save."""
        often = [s for s in self.segments.values() if s.calls * 2 > self._all_calls and s.failure is None]
        saved = sum(s.saved for s in often if s.saved > 0)
        self.is_off = saved <= _LOOK * (self.single - self._reviewed[1]) / max(
            self.calls - self._reviewed[0], 1
        )
        self._reviewed = self.calls, self.single
        if max(len(self.operations), len(self.segments)) > _MOST_KNOWN:
            self.operations = {key: o for key, o in self.operations.items() if o.calls * 2 > self.calls}
            self.idle, self.contents = {}, {}
            self.segments = {key: s for key, s in self.segments.items() if s.is_compiled}

    def kind_of(self, array: Any) -> int:
        """A number for the shape and dtype of an array."""
        spec = array.shape, array.dtype
        with self._lock:
            kind = self.kinds.get(spec)
            if kind is None:
                kind = len(self._specs)
                self._specs.append(spec)
                self.kinds[spec] = kind
            return kind

    def spec(self, kind: int) -> Spec:
        """The shape and dtype of a number."""
        return self._specs[kind]

    def learn(self, key: tuple[Any, ...], attributes: Any, inputs: list[Spec], out: Any) -> None:
        """Remember an operation that was computed."""
        primitive = key[0]
        kinds = [self.kind_of(array_of(o)) for o in (out if primitive.multiple else (out,))]
        outs = [(self._specs[kind], kind) for kind in kinds]
        known = self.operations[key] = KnownOperation(primitive, attributes, inputs, outs, self.calls)
        self._largest_product = max(self._largest_product, known.multiplications)

    def segment(self, key: tuple[Any, Any], inputs: list[Tensor]) -> KnownSegment:
        """The segment with these operations and outputs."""
        segment = self.segments.get(key)
        if segment is None:
            sizes = [known_array(x).size for x in inputs]
            segment = self.segments[key] = KnownSegment(self.name, key[0], key[1], sizes)
        return segment


class _Collector:
    """Takes the operations of one call of a function in this thread, as a pass of a hot tape does: see `hot`."""

    notes_custom = False

    def __init__(self, owner: Segments, weight: int) -> None:
        self._owner = owner
        self._weight = weight
        self._here = here = local.here
        self._outer, here.hot = here.hot, self
        self._segment: OpenSegment | None = None
        self._previous: KnownOperation | None = None  # the operation before
        self._read: dict[int, Variable] = {}  # variables by the ids of their values
        self._listening: Any = None  # the list of tapes that was looked at last
        self._defers = False
        self._owned: list[tuple[GradientTape, Any]] = []  # tapes that tell, and whom they told before
        for tape in here.tapes:
            self._own(tape)

    def _own(self, tape: Any) -> None:
        if type(tape) is GradientTape and tape._pass is not self:
            self._owned.append((tape, tape._pass))
            tape._pass = self

    def close(self) -> None:
        """End the call: what is in use has its value."""
        try:
            self._flush()
        finally:
            for tape, before in self._owned:
                if tape._pass is self:
                    tape._pass = before
            self._here.hot = self._outer

    def _flush(self) -> None:
        segment, self._segment = self._segment, None
        if segment is not None:
            self._previous = segment.last or self._previous
            segment.compute()

    # -- operations ---------------------------------------------------------------------------------------------------

    def operation1(self, primitive: Primitive, x: Any, attributes: Any) -> Any:
        """Note an operation on one input, or compute it."""
        return self.operation(primitive, (x,), attributes)

    def operation2(self, primitive: Primitive, x: Any, y: Any) -> Any:
        """Note an operation on two inputs, or compute it."""
        return self.operation(primitive, (x, y), None)

    def operation(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        """Note an operation, or compute it."""
        segment = self._segment
        if segment is not None and self._here.tapes is self._listening:
            out = segment.follow(primitive, inputs, attributes)
            if out is not None:
                return out
        return self._looked_up(primitive, inputs, attributes)

    def _looked_up(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        """Note an operation that was not expected, or compute it."""
        here, owner = self._here, self._owner
        if here.trace is not None:
            return eager_apply(primitive, inputs, attributes)
        if here.tapes is not self._listening:
            self._listen()
        given = inputs
        for x in inputs:
            if type(x) is not Tensor:
                inputs = (
                    as_tensors2(primitive, *inputs) if len(inputs) == 2 else as_tensors(primitive, inputs)
                )
                break
        if not self._defers:
            return self._computed(primitive, inputs, attributes)
        segment = self._segment
        if segment is not None:
            self._previous = segment.last or self._previous
            if segment.values is not None:
                segment = self._segment = None
        refs: list[Any] = []  # None for what is no result of the segment
        key: list[Any] = [primitive]
        if attributes:
            key.append(_attributes_key(attributes))
        kinds = owner.kinds
        for x in inputs:
            ref = None if segment is None else segment.numbers.get(id(x))
            if ref is not None and segment.results[ref]() is x:  # type: ignore[union-attr]
                key.append(segment.kinds[ref])  # type: ignore[union-attr]
            else:
                ref = None
                array = known_array(x)
                kind = kinds.get((array.shape, array.dtype))
                key.append(owner.kind_of(array) if kind is None else kind)
            refs.append(ref)
        try:
            known = owner.operations.get(tuple(key))
        except TypeError:  # an attribute has no hash
            return self._computed(primitive, inputs, attributes)
        if known is None:
            specs = [owner.spec(kind) for kind in key[-len(inputs) :]]
            out = self._computed(primitive, inputs, attributes)
            owner.learn(tuple(key), attributes, specs, out)
            return out
        start, self._previous = (self._previous, known), known
        known.note(owner.calls)
        is_steady = known.calls * 2 > owner.calls
        if not known.is_deferrable or not (is_steady or known.calls >= _OFTEN):
            return self._computed(primitive, inputs, attributes)
        if segment is None and (known.is_of_integers or owner.idle.get(start, 0) >= _IDLE):
            return self._computed(primitive, inputs, attributes)
        if segment is None or segment.is_steady is not is_steady or segment.is_full:
            self._flush()
            refs = [None] * len(refs)
            segment = OpenSegment(owner, here.tapes, self._read, start, is_steady, self._weight)
            self._segment = segment
        return segment.note(known, inputs, given, refs)

    def _listen(self) -> None:
        """Look at the listeners: only tapes that tell this object of all they are asked let operations be noted."""
        self._flush()
        here = self._here
        self._listening = here.tapes
        tapes = all(type(tape) is GradientTape and tape._pass is self for tape in here.tapes)
        self._defers = tapes and not observers and here.replica is None

    def _computed(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Any:
        """Compute an operation as ever."""
        for x in inputs:
            if is_pending(x):
                x._both[0].compute()
        self._owner.single += 1
        return eager_apply(primitive, inputs, attributes)

    # -- all else is computed as ever ---------------------------------------------------------------------------------

    def _as_ever(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self._flush()
        here = self._here
        here.hot = None
        try:
            with inside():
                return function(*arguments)
        finally:
            here.hot = self

    def read(self, variable: Variable) -> None:
        """Note whose value a tensor is."""
        self._read[id(variable._tensor)] = variable

    def assign(self, variable: Variable, method: str, value: Any) -> None:
        """Assign a value to a variable."""
        self._as_ever(getattr(variable, method), value)

    def updates(self, optimizer: Any, pairs: list[Any]) -> bool:
        """Return False: no step is expected."""
        return False

    def update(self, optimizer: Any, pairs: list[Any], aggregates: bool | None = None) -> None:
        """Let an optimizer update variables."""
        self._as_ever(optimizer._apply_as, pairs, aggregates)

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a compiled function."""
        return self._as_ever(function._call, args, kwargs)

    def enter(self, tape: GradientTape, frame: Any) -> bool:
        """Compute what the tape does not record."""
        self._flush()
        if self._here.trace is None:
            self._own(tape)
        return False

    def not_entered(self, tape: GradientTape) -> None:
        """The block of a tape does not begin, because an interrupt came."""

    def exit(self, tape: GradientTape, kind: Any) -> bool:
        """Compute what the tape records."""
        self._flush()
        return False

    def watch(self, tape: GradientTape, things: Any) -> bool:
        """Compute what comes before."""
        self._flush()
        return False

    def ask(
        self, method: str, tape: GradientTape, target: Any, sources: Any, options: tuple[Any, ...]
    ) -> Any:
        """The tape's own answer."""
        tape._pass = None
        try:
            return self._as_ever(getattr(tape, method), target, sources, *options)
        finally:
            tape._pass = self

    def release(self, tape: GradientTape) -> None:
        """A tape is entered again."""

    def rebuild(self, tape: GradientTape) -> None:
        """A tape is looked into: it has all its records then."""
        self._flush()

    def interrupt(self, reason: str) -> None:
        """Something happens that is no operation."""
        self._flush()
        self._listening = None


def _attributes_key(attributes: dict[str, Any] | None) -> Any:
    return (*attributes.items(), *exactly(attributes)) if attributes else None
