"""Random numbers that a function draws, for running it a second time on the same ones.

Operations that draw from a generator with a state ask `drawn` for the place in its sequence that they use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .primitive import local


class Draws:
    """The places that random operations of a block of code used, in order."""

    def __init__(self) -> None:
        self._places: list[Any] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """A block in which each place is noted."""
        outer = local.here.draw

        def draw(reserve: Callable[[], Any]) -> Any:
            place = reserve() if outer is None else outer(reserve)
            self._places.append(place)
            return place

        with _drawing(draw):
            yield

    @contextmanager
    def repeated(self) -> Iterator[None]:
        """A block in which the same places are used again; what it draws beyond them is new."""
        places = iter(self._places)

        def draw(reserve: Callable[[], Any]) -> Any:
            for place in places:
                return place
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
    """The place that a random operation uses: a new one by `reserve()`, unless it is to be one of before."""
    draw = local.here.draw
    return reserve() if draw is None else draw(reserve)
