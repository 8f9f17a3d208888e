"""Steps that work ahead in threads: prefetch, and map with several calls at a time.

A thread knows the source and a queue, never the cursor that the user's loop holds: so the loop can drop it half way,
and a finalizer tells the thread to stop. What fails in a thread is raised in the loop, and ends it.
"""

from __future__ import annotations

import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from time import perf_counter
from typing import Any

from ..core.errors import InvalidArgumentError
from ..engine.arrays import cores
from .stage import Cursor, Session, Stage
from .transform import Map

AUTOTUNE = -1

# AUTOTUNE starts threads only where elements take so long that handing them over costs little in comparison.
_SLOW = 100e-6  # seconds
_TRIALS = 4  # elements
# A thread gets so many elements at once that handing them over, some 50 us, counts little: images that are decoded in
# 80 us each then take 0.6 of the time.
_GROUP_TIME = 1e-3  # seconds
_MOST_IN_GROUP = 16


class _Pace:
    """Measures whether elements are slow to compute: most of them, not just the first."""

    def __init__(self) -> None:
        self._slow, self._elements, self._time = 0, 0, 0.0

    def timed(self, function: Callable[..., Any], *arguments: Any, elements: int = 1) -> Any:
        """The result of a function, which computes so many elements."""
        start = perf_counter()
        result = function(*arguments)
        taken = perf_counter() - start
        self._slow += elements * (taken > _SLOW * elements)
        self._elements += elements
        self._time += taken
        return result

    def group(self) -> int:
        """How many elements to hand over at once."""
        return max(1, min(_MOST_IN_GROUP, int(_GROUP_TIME * self._elements / max(self._time, 1e-9))))

    def is_slow(self) -> bool:
        return self._slow >= _TRIALS and 2 * self._slow > self._elements


# ---------------------------------------------------------------------------------------------------------------------
# Prefetching


class Prefetch(Stage):
    """The source, up to so many elements ahead."""

    def __init__(self, source: Stage, buffer_size: int) -> None:
        super().__init__(source)
        if buffer_size < AUTOTUNE:
            raise InvalidArgumentError(
                f"prefetch: buffer_size must be AUTOTUNE, 0 or positive, not {buffer_size}"
            )
        self._buffer = buffer_size

    def open(self, session: Session) -> Cursor:
        source = self.sources[0].open(session)
        return PrefetchCursor(source, self._buffer) if self._buffer else source

    def size(self) -> int:
        return self.sources[0].size()


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


_END: Any = object()


class PrefetchCursor(Cursor):
    """Elements that a thread has put into a queue. With AUTOTUNE, there is no thread while elements come quickly."""

    def __init__(self, source: Cursor, capacity: int) -> None:
        self._source: Cursor | None = source
        self._pace = _Pace() if capacity == AUTOTUNE else None
        self._queue: queue.Queue[Any] = queue.Queue(2 if capacity == AUTOTUNE else capacity)
        self._thread: threading.Thread | None = None
        self._stop: Callable[[], Any] = lambda: None

    def some(self, n: int) -> Sequence[Any]:
        if self._source is not None and self._pace is not None:
            got = self._pace.timed(self._source.some, n)
            if self._pace.is_slow():
                self._start()
            return got
        if self._source is not None:
            self._start()
        return self._received(n)

    def _start(self) -> None:
        """Start the thread, which alone reads the source from now on."""
        stop = threading.Event()
        self._stop = weakref.finalize(self, _halt, self._queue, stop)
        self._thread = threading.Thread(
            target=_fill, args=(self._source, self._queue, stop), name="gradtape-prefetch", daemon=True
        )
        self._source = None
        self._thread.start()

    def _received(self, n: int) -> list[Any]:
        got: list[Any] = []
        while len(got) < n and self._thread is not None:
            element = self._queue.get()
            if element is _END or type(element) is _Failure:
                self._thread.join()
                self._thread = None
                if element is not _END:
                    raise element.error
            else:
                got.append(element)
        return got


def _fill(source: Cursor, elements: queue.Queue[Any], stop: threading.Event) -> None:
    """Main function of the thread."""
    last = _END
    try:
        while not stop.is_set():
            got = source.some(1)
            if not len(got):
                break
            elements.put(got[0])
    except BaseException as error:
        last = _Failure(error)
    if not stop.is_set():
        elements.put(last)


def _halt(elements: queue.Queue[Any], stop: threading.Event) -> None:
    """Stop the thread, which may be waiting for room in the queue."""
    stop.set()
    try:
        while True:
            elements.get_nowait()
    except queue.Empty:
        pass


# ---------------------------------------------------------------------------------------------------------------------
# Mapping


class ParallelMap(Map):
    """A function of each element, several of them at a time."""

    def __init__(self, source: Stage, function: Any, calls: int, deterministic: bool) -> None:
        super().__init__(source, function)
        if calls != AUTOTUNE and calls <= 0:
            raise InvalidArgumentError(f"map: num_parallel_calls must be AUTOTUNE or positive, not {calls}")
        self._calls, self._deterministic = calls, deterministic

    def open(self, session: Session) -> Cursor:
        source = self.sources[0].open(session)
        return _ParallelMapCursor(source, self.made, self._calls, self._deterministic)


class _ParallelMapCursor(Cursor):
    def __init__(self, source: Cursor, function: Callable[[Any], Any], calls: int, ordered: bool) -> None:
        self._source, self._function, self._ordered = source, function, ordered
        self._calls = max(2, cores()) if calls == AUTOTUNE else calls
        self._pace = _Pace() if calls == AUTOTUNE else None
        self._running: deque[Future[Any]] = deque()
        self._ready: deque[Any] = deque()  # results, and a failure at the end
        self._pool: ThreadPoolExecutor | None = None
        self._ended = False

    def some(self, n: int) -> Sequence[Any]:
        made: list[Any] = []
        while len(made) < n and not self._ended:
            if self._pace is not None and not self._pace.is_slow():
                got = self._source.some(min(n - len(made), self._pace.group()))
                made.extend(self._pace.timed(_each, self._function, got, elements=len(got)))
                self._ended = not len(got)
            else:
                made.extend(self._next(n - len(made)))
        return made

    def skip(self, n: int) -> int:
        idle = not self._running and not self._ready
        return self._source.skip(n) if idle else super().skip(n)

    def _next(self, most: int) -> list[Any]:
        """The next results, at least one and not more than `most`; nothing if there are no more."""
        try:
            if not self._ready:
                self._submit()
                if not self._running:
                    self._finish()
                    return []
                self._ready.extend(self._done().result())
                self._submit()
            if type(self._ready[0]) is _Failure:
                raise self._ready[0].error
        except BaseException:
            self._finish()
            raise
        count = min(most, len(self._ready) - (type(self._ready[-1]) is _Failure))
        return [self._ready.popleft() for _ in range(count)]

    def _submit(self) -> None:
        """Start calls, up to the limit."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._calls, thread_name_prefix="gradtape-map")
            self._close = weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)
        size = 1 if self._pace is None else self._pace.group()
        for _ in range(self._calls - len(self._running)):
            group = self._source.some(size)
            if not len(group):
                return
            self._running.append(self._pool.submit(_mapped, self._function, group))

    def _done(self) -> Future[Any]:
        """The call whose result is next: the first begun, or the first finished."""
        if self._ordered:
            return self._running.popleft()
        future = next(iter(wait(self._running, return_when=FIRST_COMPLETED).done))
        self._running.remove(future)
        return future

    def _finish(self) -> None:
        self._ended = True
        self._running.clear()
        self._ready.clear()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def _each(function: Callable[[Any], Any], elements: Sequence[Any]) -> list[Any]:
    return [function(element) for element in elements]


def _mapped(function: Callable[[Any], Any], group: Sequence[Any]) -> list[Any]:
    """The results for a group of elements, up to one that fails."""
    results: list[Any] = []
    for element in group:
        try:
            results.append(function(element))
        except BaseException as error:
            results.append(_Failure(error))
            break
    return results
