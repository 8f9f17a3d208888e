"""Feed: elements that the host hands to a loop of a @function, one by one, while the program runs.

`data` describes its datasets and iterators by feeds; `autograph` and `Dataset.reduce` loop over them. An open feed is
known to the program by a number, its ticket, so that two runs at the same time do not meet.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..core import dtypes, nest
from ..core.errors import UnknownShapeError
from ..core.primitive import local, outside
from ..core.spec import TensorSpec
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..engine import host
from ..ops.control.branching import for_loop, while_loop
from ..ops.control.printing import demand
from ..ops.control.tensor_array import TensorArray
from ..ops.math.functions import logical_and, logical_not, logical_or

Carry = list[Any]  # tensors and TensorArrays

_MANY = 1000  # feeds that may be open at the same time; those of programs that failed are never closed
_STACKED_BYTES = 1 << 24  # of the elements that are read all at once
_NUMBER = (), np.dtype(np.int32)
_FLAG = (), np.dtype(bool)
_INDEX = TensorSpec((), "int64")

_next_number = itertools.count(1).__next__
_open: OrderedDict[int, _Reader] = OrderedDict()  # by ticket


class Feed:
    """The elements of a loop.

    Args:
        start: returns an iterator over the elements; called when the program runs.
        kinds: structures of specs with known shapes: each element is of one of these.
        length: the number of elements; None if it is not known.
        count: returns the number of elements by reading them, None for no end; called while a function is traced.
    """

    def __init__(
        self,
        start: Callable[[], Iterator[Any]],
        kinds: list[Any],
        length: int | None = None,
        count: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._start = start
        self._count = count
        self._kinds = kinds
        # Shape and dtype of each leaf, for each kind.
        self._leaves = [
            [(tuple(spec.shape), spec.dtype.numpy_dtype) for spec in nest.flatten(kind)] for kind in kinds
        ]
        self.length = length
        self._taken = 0  # out of the loop, before it

    def without_first(self) -> Feed:
        """The feed after an element was taken out of the loop."""
        rest = copy.copy(self)
        rest._taken += 1
        rest.length = None if self.length is None else self.length - 1
        return rest

    def numbered(self, start: Any) -> Feed:
        """Pairs of a number, counted from `start`, and the element."""
        first = int(start)

        def pairs() -> Iterator[Any]:
            numbers = (wrap(np.array(i, np.int64)) for i in itertools.count(first))
            return zip(numbers, self._start())

        return Feed(pairs, [(_INDEX, kind) for kind in self._kinds], self.length, self._count)

    def count(self) -> int | None:
        """The number of elements, found by reading them; None if there is no end, or they can be read only once."""
        found = self._count()
        return None if found is None else found - self._taken

    # -- all at once --------------------------------------------------------------------------------------------------

    @property
    def is_small(self) -> bool:
        """Whether the elements are stacked and read at once: a call of Python for each takes some 60 us."""
        if self.length is None or len(self._kinds) != 1:
            return False
        sizes = [math.prod(shape) * dtype.itemsize for shape, dtype in self._leaves[0]]
        return self.length * sum(sizes) <= _STACKED_BYTES

    def stacked(self) -> tuple[list[Tensor], Callable[[list[Tensor]], Any]]:
        """All elements: the leaves of each stacked, and the function from rows of them to an element."""
        length = self.length or 0
        kinds = [((length, *shape), dtype) for shape, dtype in self._leaves[0]]

        def read() -> list[Any]:
            stacks = [np.empty(shape, dtype) for shape, dtype in kinds]
            reader = _Reader(self, self._start())
            for i in range(length):
                for stack, array in zip(stacks, reader.take(), strict=True):
                    stack[i] = array
            return stacks

        tensors = [wrap(a) for a in host.call(read, kinds, [], pure=False)]
        return tensors, lambda rows: nest.pack_sequence_as(self._kinds[0], rows)

    # -- one by one ---------------------------------------------------------------------------------------------------

    def begin(self) -> Tensor:
        """Open the feed. Returns its ticket."""

        def start() -> list[Any]:
            with outside():
                reader = _Reader(self, self._start())
            number = _next_number() % (1 << 31)
            _open[number] = reader
            if len(_open) > _MANY:
                _open.popitem(last=False)
            return [number]

        return wrap(host.call(start, [_NUMBER], [], pure=False)[0])

    def end(self, ticket: Tensor) -> None:
        """Close the feed."""

        def close(number: Any) -> list[Any]:
            _open.pop(int(number), None)
            return []

        host.call(close, [], [ticket._array], pure=False)

    @property
    def has_next(self) -> bool:
        """Whether each step is known to have an element, of one kind."""
        return self.length is not None and self.kinds == 1

    @property
    def kinds(self) -> int:
        """The number of different shapes and dtypes that elements have."""
        return len(self._kinds)

    def take(self, ticket: Tensor) -> Any:
        """The next element, if `has_next`."""
        return self._packed(0, self._call(ticket, lambda reader: reader.take(), self._leaves[0]))

    def advance(self, ticket: Tensor) -> Tensor:
        """Move to the next element; returns the number of its kind, from 1 on, or 0 at the end."""
        return wrap(self._call(ticket, lambda reader: [reader.advance()], [_NUMBER])[0])

    def current(self, ticket: Tensor, kind: int) -> Any:
        """The element that `advance` has moved to, of this kind (from 0 on)."""
        return self._packed(kind, self._call(ticket, lambda reader: reader.current, self._leaves[kind]))

    def step(
        self, ticket: Tensor, use: Callable[[Any], Carry], otherwise: Callable[[], Carry]
    ) -> tuple[Tensor, Carry]:
        """`use(element)` of the next element, and whether there was one; if not, `otherwise()`."""
        choose = local.here.trace.choose
        if self.has_next:
            return convert(True), use(self.take(ticket))
        if self.kinds > 1:
            number = self.advance(ticket)
            branches = [lambda k=k: use(self.current(ticket, k)) for k in range(self.kinds)]
            return number > 0, choose("for", number, [otherwise, *branches])
        more, *leaves = self._call(ticket, _Reader.next_or_zeros, [_FLAG, *self._leaves[0]])
        return wrap(more), choose("for", wrap(more), [otherwise, lambda: use(self._packed(0, leaves))])

    def _call(
        self, ticket: Tensor, function: Callable[[_Reader], list[Any]], kinds: list[host.Kind]
    ) -> list[Any]:
        return host.call(lambda number: function(_open[int(number)]), kinds, [ticket._array], pure=False)

    def _packed(self, kind: int, leaves: list[Any]) -> Any:
        return nest.pack_sequence_as(self._kinds[kind], [wrap(array) for array in leaves])

    def zeros(self) -> list[Any]:
        """Leaves that stand for an element where there is none."""
        return [np.zeros(*kind) for kind in self._leaves[0]]

    def kind_of(self, leaves: list[Any]) -> int:
        """The number of the kind of an element with these arrays."""
        found = [(array.shape, array.dtype) for array in leaves]
        if found in self._leaves:
            return self._leaves.index(found)
        kinds = " or ".join(map(_described, self._leaves))
        raise UnknownShapeError(
            f"a @function was traced for a loop over elements {kinds}, and the dataset now gives {_described(found)}: "
            "loop over the dataset outside of the function"
        )


class _Reader:
    """An open feed, on the host."""

    def __init__(self, feed: Feed, elements: Iterator[Any]) -> None:
        self._feed = feed
        self._elements: Iterator[Any] | None = elements
        self.current: list[Any] = []

    def next(self) -> tuple[int, list[Any]] | None:
        """The number of the kind of the next element, and its leaves; None at the end."""
        if self._elements is None:
            return None
        with outside():
            for element in self._elements:
                leaves = [leaf._array for leaf in nest.flatten(element)]
                return self._feed.kind_of(leaves), leaves
        self._elements = None
        return None

    def take(self) -> list[Any]:
        """The leaves of the next element, which must be there."""
        found = self.next()
        if found is None:
            raise UnknownShapeError(
                f"a dataset says that it has {self._feed.length} elements, and has fewer: "
                "data.experimental.assert_cardinality says how many there are"
            )
        return found[1]

    def next_or_zeros(self) -> list[Any]:
        """Whether there is a next element, and its leaves, or zeros."""
        found = self.next()
        return [False, *self._feed.zeros()] if found is None else [True, *found[1]]

    def advance(self) -> int:
        """Move to the next element; returns the number of its kind, from 1 on, or 0 at the end."""
        found = self.next()
        if found is None:
            return 0
        number, self.current = found
        return number + 1


def _described(kinds: list[host.Kind]) -> str:
    return ", ".join(f"{dtypes.as_dtype(dtype).name}{list(shape)}" for shape, dtype in kinds)


# ---------------------------------------------------------------------------------------------------------------------
# The loop


def loop_over(
    feed: Feed,
    ticket: Tensor,
    body: Callable[[Any, Carry], Carry],
    carry: Carry,
    test: Callable[[Carry], Tensor] | None = None,
    limit: int | None = None,
) -> Carry:
    """`carry = body(element, carry)` for each element, as long as `test(carry)` holds, `limit` times at most."""

    def step(state: Carry) -> tuple[Tensor, Carry]:
        return feed.step(ticket, lambda element: body(element, _copied(state)), lambda: _copied(state))

    if feed.length is None:
        return _until_the_end(feed, step, carry, test, limit)
    length = feed.length if limit is None else min(feed.length, limit)
    if test is None:
        return list(for_loop(lambda i, *state: step(list(state))[1], length, carry))
    after = while_loop(
        lambda i, *state: logical_and(i < length, test(list(state))),
        lambda i, *state: [i + 1, *step(list(state))[1]],
        [convert(0), *carry],
        maximum_iterations=length,
    )
    return list(after[1:])


def _until_the_end(
    feed: Feed,
    step: Callable[[Carry], tuple[Tensor, Carry]],
    carry: Carry,
    test: Callable[[Carry], Tensor] | None,
    limit: int | None,
) -> Carry:
    """A loop of unknown length. For a gradient the elements are counted in advance, while the function is traced."""
    goes_on = test or (lambda state: convert(True))
    count = feed.count() if limit is None and local.here.tapes else None
    more, *after = while_loop(
        lambda more, *state: logical_and(more, goes_on(list(state))),
        lambda more, *state: [x for part in _flat(step(list(state))) for x in part],
        [convert(True), *carry],
        maximum_iterations=limit if count is None else count + 1,
    )
    if count is not None:
        ended = logical_or(logical_not(more), logical_not(goes_on(_copied(after))))
        demand(ended._array, lambda: _grown(count), [])
    return after


def _flat(result: tuple[Tensor, Carry]) -> tuple[Carry, Carry]:
    return [result[0]], result[1]


def _grown(count: int) -> Exception:
    return UnknownShapeError(
        f"a @function was traced for the gradient of a loop over {count} elements of a dataset, and there are more "
        "now: loop over the dataset outside of the function"
    )


def _copied(carry: Carry) -> Carry:
    """The carry with copies of TensorArrays, which a branch writes in place."""
    return [x.copy() if isinstance(x, TensorArray) else x for x in carry]
