"""Iterator: one pass over a dataset. Its position can be saved and restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import nest
from ..core.errors import InvalidArgumentError, OutOfRangeError
from ..core.primitive import local, outside
from .optional import Optional
from .stage import Cursor, Session, Stage, resume
from .structure import is_known


class Iterator:
    """The elements of a dataset, one after the other: what `iter(dataset)` returns.

    A `train.Checkpoint` saves its position: how many elements it has yielded, and in which orders they were shuffled.

    Args:
        stage: the last stage of the dataset.

    >>> from gradtape.data import Dataset
    >>> iterator = iter(Dataset.range(3))
    >>> int(next(iterator)), int(iterator.get_next())
    (0, 1)
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._session = Session(stage)
        self._cursor: Cursor = stage.open(self._session)
        self._given = 0
        self._loop = None if local.here.trace is None else _loop(stage)

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        if local.here.trace is not None:
            return self._traced()
        return self._advance()

    def _advance(self) -> Any:
        here = local.here
        if here.tapes or here.trace is not None:
            with outside():  # no gradient flows through a dataset, nor is it part of a @function
                got = self._cursor.some(1)
        else:  # the same, 0.4 us quicker
            got = self._cursor.some(1)
        if not got:
            raise StopIteration
        self._given += 1
        return got[0]

    def _traced(self) -> Any:
        """The next element inside a @function. An iterator created there reads ahead while tracing."""
        from .in_function import element

        if self._loop is None:
            return element(self.get_next, self.element_spec)
        try:
            example = self._advance()
        except StopIteration:
            self._loop.end()
            raise
        return self._loop.next(example)

    def get_next(self) -> Any:
        """The next element.

        Raises:
            OutOfRangeError: at the end of the dataset.
        """
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError("get_next: the dataset has no more elements") from None

    def get_next_as_optional(self) -> Optional:
        """The next element as an `Optional`, which has no value at the end."""
        try:
            return Optional.from_value(next(self))
        except StopIteration:
            return Optional.empty(self.element_spec)

    @property
    def element_spec(self) -> Any:
        """The structure of specs of the elements."""
        return self._stage.spec

    @property
    def _steps_outside(self) -> bool:
        """Whether the shapes of elements are open: a @function takes each element as plain Python then."""
        return not all(map(is_known, nest.flatten(self.element_spec)))

    def _feed(self) -> Any:
        """The elements from here on, for a loop of a @function."""
        from ..compiled.feeds import Feed
        from .in_function import kinds_of

        if self._loop is not None:
            return self._loop.feed(self._stage)
        return Feed(lambda: self, kinds_of(self._stage))

    def _numbered(self, start: Any) -> Any:
        """`enumerate` of a loop of a @function."""
        return _Numbered(self, start)

    def _save_state(self) -> dict[str, Any]:
        """The position, as plain numbers and lists."""
        return {"given": self._given, "orders": self._session.orders()}

    def _prepare_state(self, state: Any) -> Callable[[], None]:
        """Find a saved position, and return a function that goes there. Until it is called nothing changes."""
        given, session = state["given"], Session(self._stage, state["orders"])
        resume_orders = resume(self._stage, state["orders"])
        cursor = self._stage.open(session)
        passed = cursor.skip(given)
        if passed < given:
            raise InvalidArgumentError(
                f"the saved iterator had given {given} elements; this dataset has only {passed}"
            )

        def go() -> None:
            resume_orders()
            self._session, self._cursor, self._given = session, cursor, given

        return go


class _Numbered:
    """An iterator's elements, each with a number, for a loop of a @function."""

    def __init__(self, iterator: Iterator, start: Any) -> None:
        self._iterator, self._start = iterator, start

    def _feed(self) -> Any:
        return self._iterator._feed().numbered(self._start)


def _loop(stage: Stage) -> Any:
    from .in_function import Loop

    return Loop(lambda: Iterator(stage))
