"""OpenSegment: operations of a function that are noted, and not computed yet. `segments` makes them."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.pending_tensors import fill, is_pending, known_by
from ..core.primitive import Primitive, inside, local
from ..core.tensor import Tensor, array_of, known_array, new_tensor
from ..core.variable import Variable
from .buffers import on_device_tensor, writing
from .deferrable import exactly
from .known_segments import KnownOperation, KnownSegment, Ref, Spec

if TYPE_CHECKING:
    from .segments import Segments

_reference = weakref.ref
_MANY_INPUTS, _MANY_ELEMENTS = 64, 1 << 25
_PYTHON_NUMBERS = frozenset((bool, int, float, complex))

# An operation of a segment, and its inputs. Results are numbered from 0, in order; inputs of the segment as they come.
Noted = tuple[KnownOperation, tuple[Ref, ...]]


class LastContent(NamedTuple):
    """What a segment consisted of."""

    operations: list[Noted]
    kinds: list[int]  # of its inputs
    in_use: list[int]  # results
    segment: KnownSegment | None


_NO_CONTENT = LastContent([], [], [], None)


class _Alive:
    """The arrays without values that somebody has asked a segment's tensors for, as long as they are in use."""

    def __init__(self) -> None:
        self._references: list[weakref.ref[Any]] = []

    def append(self, array: Any) -> None:
        """Add an array; tensors call it."""
        self._references.append(weakref.ref(array))

    def __iter__(self) -> Any:
        return iter([array for reference in self._references if (array := reference()) is not None])


class OpenSegment:
    """Operations that are noted, and not computed yet.

    Args:
        owner: the segments of the function.
        tapes: those that listen.
        read: the variables whose values may be among the inputs, by the ids of these.
        start: the operation before it, and its first.
        is_steady: whether its operations come in most calls.
        weight: of how many calls this one is a sample.
    """

    def __init__(
        self,
        owner: Segments,
        tapes: list[Any],
        read: dict[int, Variable],
        start: Any,
        is_steady: bool,
        weight: int,
    ) -> None:
        self._owner = owner
        self._weight = weight
        self._start = start
        self._tapes = tapes
        self._read = read
        self.is_steady = is_steady
        self._operations: list[Noted] = []
        self._last: KnownOperation | None = None  # of them, once they are computed
        self.results: list[weakref.ref[Tensor]] = []
        self.kinds: list[int] = []  # of the results: see `Segments.kind_of`
        self.numbers: dict[int, int] = {}  # of results, by the ids of their tensors
        self._inputs: list[Tensor] = []
        self._input_elements = 0
        self._input_numbers: dict[int, int] = {}
        self._arrays = _Alive()
        self._lock = threading.RLock()
        self.values: dict[int, Tensor] | None = None
        # What was noted the last time after the same start, and how much of it may come again: all, or nothing.
        self._expected: LastContent = owner.contents.get(start, _NO_CONTENT)
        self._followed = len(self._expected.operations)

    def follow(self, primitive: Primitive, inputs: tuple[Any, ...], attributes: Any) -> Tensor | None:
        """Add an operation if it is the one that came here the last time, which takes less to find out than `note`.

        Returns its result, or None if it is another one.
        """
        position = len(self._operations)
        if position >= self._followed:
            return None
        noted = self._expected.operations[position]
        known, refs = noted
        if known.primitive is not primitive or len(refs) != len(inputs) or primitive.multiple:
            return None
        if (attributes or known.attributes) and (
            attributes != known.attributes or exactly(attributes) != known.exactly
        ):
            return None
        with self._lock:
            if self.values is not None:
                return None
            for ref, x in zip(refs, inputs):
                if type(ref) is not int:
                    kind, _, value = ref  # type: ignore[misc]
                    if type(x) is not kind or x != value or (not x and repr(x) != ref[1]):  # type: ignore[index]
                        return None
                elif ref >= 0:
                    if self.results[ref]() is not x:
                        return None
                elif not self._is_input(~ref, x):
                    return None
            self._operations.append(noted)
            return self._result(known.outs[0])

    def _is_input(self, number: int, x: Any) -> bool:
        """Return whether this is the input of a number; a new one is added if it is like that of the last time."""
        if type(x) is not Tensor:
            if not isinstance(x, Variable):
                return False
            x = x._read()
        if number < len(self._inputs):
            return self._inputs[number] is x
        if is_pending(x) or id(x) in self._input_numbers or number != len(self._inputs):
            return False
        array = known_array(x)
        if self._owner.kinds.get((array.shape, array.dtype)) != self._expected.kinds[number]:
            return False
        self._add_input(x)
        return True

    @property
    def is_full(self) -> bool:
        """Whether it keeps so many inputs alive that it is time to compute: Python may have no more use for them."""
        return len(self._inputs) > _MANY_INPUTS and self._input_elements > _MANY_ELEMENTS

    @property
    def last(self) -> KnownOperation | None:
        """The last operation."""
        return self._operations[-1][0] if self._operations else self._last

    def note(
        self, known: KnownOperation, inputs: tuple[Tensor, ...], given: tuple[Any, ...], refs: list[Any]
    ) -> Any:
        """Add an operation; returns its results, without values.

        Args:
            known: the operation.
            inputs: its inputs as tensors.
            given: its inputs as they were given.
            refs: the numbers of inputs that are results of the segment, and None for others.
        """
        with self._lock:
            if None in refs:
                refs = [self._ref(inputs[i], given[i]) if r is None else r for i, r in enumerate(refs)]
            noted = known, tuple(refs)
            position = len(self._operations)
            if position < self._followed and self._expected.operations[position] != noted:
                self._followed = 0
            self._operations.append(noted)
            if not known.primitive.multiple:
                return self._result(known.outs[0])
            return tuple([self._result(out) for out in known.outs])

    def _ref(self, tensor: Tensor, original: Any) -> Ref:
        kind = type(original)
        if kind in _PYTHON_NUMBERS:
            return kind, original or repr(original), original  # 0.0 is not -0.0
        number = self._input_numbers.get(id(tensor))
        if number is None:
            number = self._add_input(tensor)
        return ~number

    def _add_input(self, tensor: Tensor) -> int:
        number = self._input_numbers[id(tensor)] = len(self._inputs)
        self._inputs.append(tensor)
        self._input_elements += known_array(tensor).size
        return number

    def _result(self, out: tuple[Spec, int]) -> Tensor:
        """A tensor without a value and without a key: who looks at either has the segment computed."""
        (shape, dtype), kind = out
        number = len(self.kinds)
        tensor = new_tensor()
        tensor._both = self, (number, shape, dtype)
        self.numbers[id(tensor)] = number
        self.results.append(_reference(tensor))
        self.kinds.append(kind)
        return tensor

    def value_of(self, number: int) -> Any:
        """The NumPy array of a result."""
        self.compute()
        assert self.values is not None
        return self.values[number]._array

    def compute(self) -> None:
        """Give the results that are in use their values and keys, and tell the tapes."""
        with self._lock:
            if self.values is not None:
                return
            here = local.here
            before = here.tapes, here.trace, here.hot
            here.tapes, here.trace, here.hot = self._tapes, None, None
            try:
                with inside():
                    self.values = self._computed()
            finally:
                here.tapes, here.trace, here.hot = before
            self._owner.noted += len(self._operations)
            self._last = self.last
            self._operations, self._inputs, self._input_numbers, self.numbers = [], [], {}, {}

    def _computed(self) -> dict[int, Tensor]:
        held = {i: tensor for i, r in enumerate(self.results) if (tensor := r()) is not None}
        arrays = list(self._arrays)
        in_use = sorted({*held, *[array.slot for array in arrays]})
        segment, inputs = self._found(in_use)
        idle = self._owner.idle
        idle[self._start] = 0 if segment.saved > 0 else idle.get(self._start, 0) + 1
        results = segment.run(inputs, self._on_device, self._weight)
        values: dict[int, Tensor] = {}
        for number, result in zip(in_use, results, strict=True):
            values[number] = tensor = held.get(number, result)
            if tensor is not result and is_pending(tensor):
                tensor._key = result._key
                fill(tensor, array_of(result))
        for array in arrays:
            array.source = known_by(values[array.slot])
        return values

    def _found(self, in_use: list[int]) -> tuple[KnownSegment, list[Tensor]]:
        """The segment as one that may have come before, and its inputs."""
        owner, expected = self._owner, self._expected
        count = len(self._operations)
        if count == self._followed == len(expected.operations) and in_use == expected.in_use:
            for known, _ in self._operations:
                known.note(owner.calls)
            assert expected.segment is not None
            return expected.segment, self._inputs
        operations, outputs, inputs = _needed(self._operations, in_use, self._inputs)
        segment = owner.segment((operations, outputs), inputs)
        if inputs is self._inputs:
            kinds = [owner.kind_of(known_array(x)) for x in inputs]
            owner.contents[self._start] = LastContent(self._operations, kinds, in_use, segment)
        return segment, inputs

    def _on_device(self, tensor: Tensor) -> Tensor:
        """An input for a program: the value of a variable is moved, as eager code may write into NumPy's array."""
        variable = self._read.get(id(tensor))
        if variable is None:
            return tensor
        with writing:
            return on_device_tensor(variable) if variable._tensor is tensor else tensor


def _needed(
    operations: list[Noted], in_use: list[int], inputs: list[Tensor]
) -> tuple[tuple[Noted, ...], tuple[int, ...], list[Tensor]]:
    """The operations that results in use depend on, the numbers of these results, and the inputs, numbered anew."""
    wanted: set[Any] = set(in_use)
    end = sum(len(known.outs) for known, _ in operations)
    needed = []
    for noted in reversed(operations):
        start = end - len(noted[0].outs)
        if not wanted.isdisjoint(range(start, end)):
            needed.append((start, noted))
            wanted.update(noted[1])
        end = start
    if len(needed) == len(operations):
        return tuple(operations), tuple(in_use), inputs
    numbers: dict[Any, int] = {}
    found: list[Noted] = []
    kept: list[Tensor] = []
    count = 0
    for start, (known, refs) in reversed(needed):
        for ref in refs:
            if type(ref) is int and ref not in numbers:
                numbers[ref] = ~len(kept)
                kept.append(inputs[~ref])
        found.append((known, tuple([numbers[r] if type(r) is int else r for r in refs])))
        for i in range(len(known.outs)):
            numbers[start + i] = count
            count += 1
    return tuple(found), tuple([numbers[n] for n in in_use]), kept
