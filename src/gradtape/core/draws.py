"""The random numbers that a function draws, recorded so that it can run again on the same ones.

Operations that draw from a stateful generator ask `drawn` for the position in its sequence that they use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .primitive import local


class Draws:
    """The positions that the random operations of a block of code used, in order."""

    def __init__(self) -> None:
        self._positions: list[Any] = []

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """A block in which each position is recorded."""
        outer = local.here.draw

        def draw(reserve: Callable[[], Any]) -> Any:
            position = reserve() if outer is None else outer(reserve)
            self._positions.append(position)
            return position

        with _drawing(draw):
            yield

    @contextmanager
    def replayed(self) -> Iterator[None]:
        """A block in which the same positions are used again; further draws are new."""
        positions = iter(self._positions)

        def draw(reserve: Callable[[], Any]) -> Any:
            for position in positions:
                return position
            return reserve()

        with _drawing(draw):
            yield


@contextmanager
def _drawing(draw: Callable[[Callable[[], Any]], Any]) -> Iterator[None]:
    here = local.here
    before, here.draw = here.draw, draw
    try:
        yield
    finally:
        here.draw = before


def drawn(reserve: Callable[[], Any]) -> Any:
    """The position that a random operation uses: a new one by `reserve()`, or a recorded one while replaying."""
    draw = local.here.draw
    return reserve() if draw is None else draw(reserve)
