"""Stages, of which a pipeline consists, and cursors, which read it.

A stage describes one step (a source, a shuffle, a batch) and can be opened any number of times; each time gives a
cursor. A cursor hands out elements when asked for some: exactly as many as were asked for, until the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..core import nest
from ..core.errors import InvalidArgumentError
from ..core.spec import TensorSpec
from .structure import is_known, stack

INFINITE = -1
UNKNOWN = -2


class Cursor:
    """One pass over a stage. A subclass must define `some`; the other methods may be faster than through `some`."""

    def some(self, n: int) -> Sequence[Any]:
        """The next n elements: fewer only at the end."""
        raise NotImplementedError

    def block(self, n: int) -> tuple[int, Any]:
        """The number of elements among the next n, and these stacked into one."""
        elements = self.some(n)
        return len(elements), stack(elements) if len(elements) else None

    def skip(self, n: int) -> int:
        """Pass over the next n elements; returns how many there were."""
        passed = 0
        while passed < n:
            got = len(self.some(min(n - passed, 256)))
            if not got:
                break
            passed += got
        return passed

    def __iter__(self) -> Iterator[Any]:
        while True:
            got = self.some(1)
            if not len(got):
                return
            yield got[0]


class Stream(Cursor):
    """A cursor over a Python iterator."""

    def __init__(self, elements: Iterator[Any]) -> None:
        self._elements = elements

    def some(self, n: int) -> Sequence[Any]:
        return list(islice(self._elements, n))


class Listed(Cursor):
    """A cursor along a sequence: a list of elements, or a range or an array of indices."""

    def __init__(self, sequence: Sequence[Any]) -> None:
        self._sequence = sequence
        self._at = 0

    def some(self, n: int) -> Sequence[Any]:
        start, self._at = self._at, self._at + n
        return self._sequence[start : self._at]

    def skip(self, n: int) -> int:
        left = max(len(self._sequence) - self._at, 0)
        self._at += n
        return min(n, left)


class Stage:
    """One step of a pipeline, and those it takes its elements from.

    A stage says how it is opened, either by `open` or by `elements`, a generator. It `infers` if it calls a user's
    function to find out what its elements are.
    """

    infers = False

    def __init__(self, *sources: Stage) -> None:
        self.sources = sources
        self._spec: Any = None

    def open(self, session: Session) -> Cursor:
        """A new cursor over this stage."""
        return Stream(self.elements(session))

    def elements(self, session: Session) -> Iterator[Any]:
        """The elements of a new pass, one by one."""
        raise NotImplementedError

    def size(self) -> int:
        """The number of elements, or INFINITE, or UNKNOWN."""
        return UNKNOWN

    @property
    def spec(self) -> Any:
        """The structure of specs of the elements."""
        if self._spec is None:
            self._spec = self.describe()
        return self._spec

    def known(self) -> bool:
        """Return whether `spec` is known without calling a user's function."""
        return self._spec is not None or (not self.infers and all(s.known() for s in self.sources))

    def describe(self) -> Any:
        """Compute `spec`; called once. By default that of the source."""
        return self.sources[0].spec

    def kinds(self) -> list[Any] | None:
        """Specs of known shapes, of which each element has one, found without reading; None if they are not known."""
        leaves = nest.flatten(self.spec)
        if all(map(is_known, leaves)):
            return [self.spec]
        return self.several_kinds() if all(isinstance(leaf, TensorSpec) for leaf in leaves) else None

    def several_kinds(self) -> list[Any] | None:
        """The same for a stage with elements of several shapes. One that has its source's spec has its elements."""
        passes_on = type(self).describe is Stage.describe and len(self.sources) == 1
        return self.sources[0].kinds() if passes_on else None

    def examples(self) -> list[Any]:
        """The first elements: two, if there are as many."""
        found = list(islice(self.open(Session(self)), 2))
        if not found:
            raise InvalidArgumentError(
                "element_spec: this dataset is empty, so what its functions return cannot be found out"
            )
        return found


class Random(Stage):
    """A stage that draws random numbers: others on each walk, unless told otherwise.

    The numbers of a walk follow from the seed, from how many iterators there were before this one (`walks`), and from
    how many times the iterator has come here already. So any walk can be repeated: see `Session`.
    """

    def __init__(self, seed: tuple[int, ...], anew: bool, *sources: Stage) -> None:
        super().__init__(*sources)
        self.seed, self.anew = seed, anew
        self.walks = 0


class Session:
    """One iterator's way through the stages: which random numbers each of them draws.

    `orders`, those of an earlier session, repeats that one.
    """

    def __init__(self, root: Stage, orders: list[list[Any]] | None = None) -> None:
        self._root = root
        self._walk: dict[Random, tuple[tuple[int, ...], int]] = {}
        self._rounds: dict[Random, int] = {}
        stages = random_stages(root)
        if orders is None:
            for stage in stages:
                self._number(stage)
        else:
            for stage, (seed, walk, _) in zip(stages, _fitting(orders, stages)):
                self._walk[stage] = tuple(seed), walk

    @classmethod
    def next(cls, root: Stage) -> Session:
        """The session that the next iterator will have, without taking its place."""
        return cls(root, [[list(stage.seed), stage.walks, stage.walks] for stage in random_stages(root)])

    def _number(self, stage: Random) -> tuple[tuple[int, ...], int]:
        walk = self._walk[stage] = stage.seed, stage.walks
        stage.walks += 1
        return walk

    def orders(self) -> list[list[Any]]:
        """The state from which another session, and those after it, draw the same numbers: lists of integers."""
        return [
            [list(self._walk[stage][0]), self._walk[stage][1], stage.walks]
            for stage in random_stages(self._root)
        ]

    def generator(self, stage: Random) -> np.random.Generator:
        """The random numbers for a stage that is being opened."""
        seed, walk = self._walk.get(stage) or self._number(stage)
        turn = self._rounds.get(stage, 0)
        self._rounds[stage] = turn + 1
        key = (*seed, walk, turn) if stage.anew else seed
        return np.random.default_rng(np.random.SeedSequence(key))


def random_stages(root: Stage) -> list[Random]:
    """The random stages of a pipeline, each once, in a fixed order."""
    found: dict[Stage, None] = {}
    waiting = [root]
    while waiting:
        stage = waiting.pop()
        if stage not in found:
            found[stage] = None
            waiting.extend(stage.sources)
    return [stage for stage in found if isinstance(stage, Random)]


def resume(root: Stage, orders: list[list[Any]]) -> Callable[[], None]:
    """A function that makes coming sessions those that would have followed where `orders` were taken."""
    stages = random_stages(root)
    found = list(zip(stages, _fitting(orders, stages)))

    def check_dtype() -> None:
        for stage, (seed, *_, walks) in found:
            stage.seed, stage.walks = tuple(seed), walks

    return check_dtype


def _fitting(orders: list[list[Any]], stages: list[Random]) -> list[list[Any]]:
    if len(orders) != len(stages):
        raise InvalidArgumentError(
            f"the saved position is that of a dataset with {len(orders)} random steps; this one has {len(stages)}"
        )
    return orders
