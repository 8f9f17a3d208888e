"""Steps that choose and order elements without looking into them: shuffle, repeat, take, skip, shard, cache, ...

They work on elements and on row numbers alike; `Dataset` applies them to the numbers where there are some.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core import nest
from ..core.errors import InvalidArgumentError
from ..core.spec import TensorSpec
from ..core.tensor import wrap
from ..ops.array.movement import static_number as whole
from ..ops.random.stateful import seed_pair
from .stage import INFINITE, UNKNOWN, Cursor, Listed, Random, Session, Stage
from .structure import map_specs


def joined(parts: list[Sequence[Any]]) -> Sequence[Any]:
    """Several sequences as one: row numbers as an array, elements as a list."""
    filled = [part for part in parts if len(part)]
    if len(filled) == 1:
        return filled[0]
    if filled and all(isinstance(part, (range, np.ndarray)) for part in filled):
        return np.concatenate([np.asarray(part, np.intp) for part in filled])  # type: ignore[return-value]
    return [element for part in filled for element in part]


# ---------------------------------------------------------------------------------------------------------------------
# Shuffling


class Shuffle(Random):
    """Elements drawn from a buffer that is filled up again from the source.

    A buffer that holds them all makes every order equally likely.
    """

    def __init__(self, source: Stage, buffer_size: Any, seed: Any, anew: bool | None) -> None:
        size = whole("shuffle: buffer_size", buffer_size)
        if size <= 0 and size != UNKNOWN:
            raise InvalidArgumentError(f"shuffle: buffer_size must be positive, not {size}")
        super().__init__(seed_pair("data.shuffle", seed), anew is not False, source)
        self._buffer = 1 << 62 if size == UNKNOWN else size

    def open(self, session: Session) -> Cursor:
        source = self.sources[0]
        return _ShuffleCursor(source.open(session), self._buffer, session.generator(self), source.size())

    def size(self) -> int:
        return self.sources[0].size()


class _ShuffleCursor(Cursor):
    def __init__(self, source: Cursor, capacity: int, rng: np.random.Generator, size: int) -> None:
        self._source, self._capacity, self._rng = source, capacity, rng
        self._size = size  # of the source, where it is known
        self._buffer: Any = None  # a list once the cursor is used, as long as the source has more
        self._tail: Cursor | None = None  # the remaining elements, after the end of the source

    def some(self, n: int) -> Sequence[Any]:
        if self._tail is not None:
            return self._tail.some(n)
        if self._buffer is None:
            self._buffer = self._source.some(self._capacity)
        incoming = self._source.some(n)
        drawn: Sequence[Any] = self._swapped(incoming)
        if len(incoming) < n:
            self._tail = Listed(_permuted(self._buffer, self._rng))
            self._buffer = None
            drawn = joined([drawn, self._tail.some(n - len(incoming))])
        return drawn

    def _swapped(self, incoming: Sequence[Any]) -> list[Any]:
        """Put the incoming into random places of the buffer, one by one; returns what they replaced."""
        if not len(incoming):
            return []
        if type(self._buffer) is not list:
            self._buffer = list(self._buffer)
        buffer, drawn = self._buffer, []
        for place, new in zip(self._rng.integers(0, len(buffer), len(incoming)).tolist(), incoming):
            drawn.append(buffer[place])
            buffer[place] = new
        return drawn

    def skip(self, n: int) -> int:
        untouched = self._buffer is None and self._tail is None
        if untouched and 0 <= self._size <= n:  # a whole epoch: no need to know its order
            self._tail = Listed(())
            return self._size
        return super().skip(n)


def _permuted(buffer: Any, rng: np.random.Generator) -> Sequence[Any]:
    order: Any = rng.permutation(len(buffer))
    if isinstance(buffer, range):
        return order if buffer.start == 0 and buffer.step == 1 else np.asarray(buffer)[order]
    return buffer[order] if isinstance(buffer, np.ndarray) else [buffer[i] for i in order.tolist()]


# ---------------------------------------------------------------------------------------------------------------------
# Some of the elements, or more than once


class Repeat(Stage):
    """The source, so many times over; without end if `count` is negative."""

    def __init__(self, source: Stage, count: int) -> None:
        super().__init__(source)
        self._count = INFINITE if count < 0 else count

    def open(self, session: Session) -> Cursor:
        return _RepeatCursor(self.sources[0], session, self._count)

    def size(self) -> int:
        once = self.sources[0].size()
        if once == 0 or self._count == 0:
            return 0
        if self._count == INFINITE:
            return INFINITE
        return once if once < 0 else once * self._count


class _RepeatCursor(Cursor):
    def __init__(self, source: Stage, session: Session, count: int) -> None:
        self._source, self._session = source, session
        self._left = count
        self._cursor: Cursor | None = None
        self._empty = True  # whether the current round has yielded nothing yet

    def some(self, n: int) -> Sequence[Any]:
        parts: list[Sequence[Any]] = []
        missing = n
        while missing and self._opened():
            part = self._cursor.some(missing)  # type: ignore[union-attr]
            parts.append(part)
            self._passed(len(part), missing)
            missing -= len(part)
        return joined(parts)

    def skip(self, n: int) -> int:
        missing = n
        while missing and self._opened():
            passed = self._cursor.skip(missing)  # type: ignore[union-attr]
            self._passed(passed, missing)
            missing -= passed
        return n - missing

    def _opened(self) -> bool:
        """Start the next round if the last has ended and there is one left."""
        if self._cursor is None:
            if not self._left:
                return False
            self._left -= 1
            self._cursor, self._empty = self._source.open(self._session), True
        return True

    def _passed(self, got: int, wanted: int) -> None:
        self._empty = self._empty and not got
        if got < wanted:
            self._cursor = None
            if self._empty:  # an empty round: there is no end to wait for
                self._left = 0


class Take(Stage):
    """The first so many elements."""

    def __init__(self, source: Stage, count: int) -> None:
        super().__init__(source)
        self._count = count

    def open(self, session: Session) -> Cursor:
        source = self.sources[0].open(session)
        return _TakeCursor(source, self._count) if self._count >= 0 else source

    def size(self) -> int:
        there = self.sources[0].size()
        if self._count < 0 or there == UNKNOWN:
            return there
        return self._count if there == INFINITE else min(there, self._count)


class _TakeCursor(Cursor):
    def __init__(self, source: Cursor, count: int) -> None:
        self._source, self._left = source, count

    def some(self, n: int) -> Sequence[Any]:
        got = self._source.some(min(n, self._left)) if self._left else ()
        self._left -= len(got)
        return got

    def block(self, n: int) -> tuple[int, Any]:
        if not self._left:
            return 0, None
        count, block = self._source.block(min(n, self._left))
        self._left -= count
        return count, block

    def skip(self, n: int) -> int:
        passed = self._source.skip(min(n, self._left))
        self._left -= passed
        return passed


class Skip(Stage):
    """All but the first so many elements; none if `count` is negative."""

    def __init__(self, source: Stage, count: int) -> None:
        super().__init__(source)
        self._count = count

    def open(self, session: Session) -> Cursor:
        if self._count < 0:
            return Listed(())
        return _SkipCursor(self.sources[0].open(session), self._count)

    def size(self) -> int:
        if self._count < 0:
            return 0
        there = self.sources[0].size()
        return there if there < 0 else max(there - self._count, 0)


class _SkipCursor(Cursor):
    def __init__(self, source: Cursor, count: int) -> None:
        self._source, self._count = source, count

    def _moved(self) -> Cursor:
        """The source, past the elements to be skipped."""
        if self._count:
            count, self._count = self._count, 0
            self._source.skip(count)
        return self._source

    def some(self, n: int) -> Sequence[Any]:
        return self._moved().some(n)

    def block(self, n: int) -> tuple[int, Any]:
        return self._moved().block(n)

    def skip(self, n: int) -> int:
        return self._moved().skip(n)


class Shard(Stage):
    """Every num_shards-th element, from number `index` on."""

    def __init__(self, source: Stage, num_shards: int, index: int) -> None:
        if num_shards <= 0:
            raise InvalidArgumentError(f"shard: num_shards must be positive, not {num_shards}")
        if not 0 <= index < num_shards:
            raise InvalidArgumentError(
                f"shard: index must lie between 0 and num_shards - 1 = {num_shards - 1}, and is {index}"
            )
        super().__init__(source)
        self._shards, self._index = num_shards, index

    def open(self, session: Session) -> Cursor:
        return _ShardCursor(self.sources[0].open(session), self._shards, self._index)

    def size(self) -> int:
        there = self.sources[0].size()
        return there if there < 0 else len(range(self._index, there, self._shards))


class _ShardCursor(Cursor):
    def __init__(self, source: Cursor, shards: int, index: int) -> None:
        self._source, self._shards, self._index = source, shards, index

    def some(self, n: int) -> Sequence[Any]:
        return self._source.some(n * self._shards)[self._index :: self._shards]


class Concatenate(Stage):
    """One source after the other."""

    def __init__(self, first: Stage, second: Stage) -> None:
        super().__init__(first, second)

    def open(self, session: Session) -> Cursor:
        return _ConcatenateCursor([source.open(session) for source in self.sources])

    def size(self) -> int:
        sizes = [source.size() for source in self.sources]
        return INFINITE if INFINITE in sizes else UNKNOWN if UNKNOWN in sizes else sum(sizes)

    def several_kinds(self) -> list[Any] | None:
        first, second = (source.kinds() for source in self.sources)
        return None if first is None or second is None else [*first, *[k for k in second if k not in first]]

    def describe(self) -> Any:
        first, second = (source.spec for source in self.sources)
        try:
            nest.assert_same_structure(first, second)
            return map_specs(TensorSpec.most_specific_compatible_type, first, second)
        except (TypeError, ValueError):
            raise TypeError(
                f"concatenate: the elements of both must be alike; they are {first} and {second}"
            ) from None


class _ConcatenateCursor(Cursor):
    def __init__(self, cursors: list[Cursor]) -> None:
        self._cursors = cursors

    def some(self, n: int) -> Sequence[Any]:
        parts: list[Sequence[Any]] = []
        missing = n
        while missing and self._cursors:
            parts.append(self._cursors[0].some(missing))
            missing -= len(parts[-1])
            if missing:
                del self._cursors[0]
        return joined(parts)

    def skip(self, n: int) -> int:
        missing = n
        while missing and self._cursors:
            missing -= self._cursors[0].skip(missing)
            if missing:
                del self._cursors[0]
        return n - missing


class Cache(Stage):
    """The source, kept in memory once a loop has come to its end."""

    def __init__(self, source: Stage) -> None:
        super().__init__(source)
        self._kept: Sequence[Any] | None = None

    def open(self, session: Session) -> Cursor:
        if self._kept is not None:
            return Listed(self._kept)
        return _CacheCursor(self.sources[0].open(session), self)

    def keep(self, parts: list[Sequence[Any]]) -> None:
        """Keep the elements, now that all are known: the next loop need not read the source."""
        self._kept = joined(parts)

    def size(self) -> int:
        return self.sources[0].size()


class _CacheCursor(Cursor):
    def __init__(self, source: Cursor, stage: Cache) -> None:
        self._source, self._stage = source, stage
        self._parts: list[Sequence[Any]] = []

    def some(self, n: int) -> Sequence[Any]:
        got = self._source.some(n)
        self._parts.append(got)
        if len(got) < n:
            self._stage.keep(self._parts)
        return got


# ---------------------------------------------------------------------------------------------------------------------
# Several sources


class Choose(Stage):
    """Elements from the sources that another stage names, by number."""

    def __init__(self, sources: list[Stage], choices: Stage, stop_on_empty: bool) -> None:
        super().__init__(*sources, choices)
        self._stop_on_empty = stop_on_empty

    def elements(self, session: Session) -> Iterator[Any]:
        *cursors, choices = (source.open(session) for source in self.sources)
        ended = [False] * len(cursors)
        for choice in choices:
            number = int(choice)
            if not 0 <= number < len(cursors):
                raise InvalidArgumentError(
                    f"choose_from_datasets: the choice {number} names none of the {len(cursors)} datasets"
                )
            got = cursors[number].some(1)
            if len(got):
                yield got[0]
            elif self._stop_on_empty:
                return
            else:
                ended[number] = True
                if all(ended):
                    return


class Draws(Random):
    """Random numbers of a source, without end: `weights` says how often each number."""

    def __init__(self, weights: Any, seed: Any, anew: bool) -> None:
        super().__init__(seed_pair("data.sample_from_datasets", seed), anew)
        self._weights = np.asarray(weights, np.float64) / np.sum(weights)

    def elements(self, session: Session) -> Iterator[Any]:
        rng = session.generator(self)
        while True:
            yield from rng.choice(len(self._weights), 256, p=self._weights)

    def size(self) -> int:
        return INFINITE


class RandomIntegers(Random):
    """Random 32-bit integers, without end."""

    def __init__(self, seed: Any, anew: bool) -> None:
        super().__init__(seed_pair("data.random", seed), anew)

    def elements(self, session: Session) -> Iterator[Any]:
        rng = session.generator(self)
        while True:
            for number in rng.integers(0, 1 << 32, 256):
                yield wrap(np.asarray(number))

    def size(self) -> int:
        return INFINITE

    def describe(self) -> Any:
        return TensorSpec((), "int64")
