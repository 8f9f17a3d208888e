"""Iterator: a user's walk along a dataset. Its position can be saved and gone back to."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidArgumentError, OutOfRangeError
from ..optional import Optional
from ..primitive import local
from .stage import Cursor, Session, Stage


class Iterator:
    """What `iter(dataset)` gives: the elements, one after the other.

    A `train.Checkpoint` saves its position: how many elements it has given, and in which orders they were shuffled.

    >>> from gradtape.data import Dataset
    >>> iterator = iter(Dataset.range(3))
    >>> int(next(iterator)), int(iterator.get_next())
    (0, 1)
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._begin(Session(stage))

    def _begin(self, session: Session) -> None:
        self._session = session
        self._cursor: Cursor = self._stage.open(session)
        self._given = 0

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        here = local.here
        listening, here.tapes = here.tapes, []  # no gradient flows through a dataset
        try:
            got = self._cursor.some(1)
        finally:
            here.tapes = listening
        if not got:
            raise StopIteration
        self._given += 1
        return got[0]

    def get_next(self) -> Any:
        """The next element; OutOfRangeError at the end."""
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

    def _save_state(self) -> dict[str, Any]:
        """The position, as plain numbers and lists."""
        return {"given": self._given, "orders": self._session.orders()}

    def _load_state(self, state: Any) -> None:
        """Go to a saved position. Nothing has changed if that cannot be."""
        session = Session(self._stage, state["orders"])
        cursor = self._stage.open(session)
        passed = cursor.skip(state["given"])
        if passed < state["given"]:
            raise InvalidArgumentError(
                f"the saved iterator had given {state['given']} elements; this dataset has only {passed}"
            )
        session.settle()
        self._session, self._cursor, self._given = session, cursor, passed
