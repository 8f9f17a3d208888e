"""progress: a loop over a dataset, or anything else, shown as it goes.

In a terminal it is a bar, drawn by rich, which is imported then; in a notebook it is HTML, one output that changes as
the loop goes. Elsewhere it is a line of text now and then, and one at the end. The iterator that a `for` loop takes
closes the bar when it is dropped: so a `break` or an exception leaves the terminal clean.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import count
from time import perf_counter
from typing import Any, Generic, TextIO, TypeVar

from ..core.types import TensorLike

T = TypeVar("T")

_BETWEEN_FRAMES = 0.05  # seconds between two frames of a bar


class progress(Generic[T]):
    """The elements of `iterable`, and a bar that shows how far the loop is, how fast, and what it is told.

    Where the output is no terminal and no notebook, a line is written every `interval` seconds and at the end. Loops
    may be nested: the bars stand below each other, and that of an inner loop goes when it is done.

    Args:
        iterable: a dataset, a range, a list, ...
        description: a text in front, such as 'epoch 3'.
        total: how many elements there will be, where neither `cardinality()` nor `len()` says it.
        interval: seconds between two lines of text.
        leave: whether the bar stays when the loop is done; by default that of an outermost loop does.
        file: where to write; the default is the standard error stream.

    >>> import gradtape as tf
    >>> data = tf.data.Dataset.range(1000).batch(10)
    >>> for batch in (bar := tf.progress(data, "epoch 1", file=sys.stdout)):
    ...     bar.update(loss=1 / (1 + batch[0]))
    epoch 1: 100/100 in ... s, .../s, loss 0.001009
    """

    def __init__(
        self,
        iterable: Iterable[T],
        description: str = "",
        *,
        total: int | None = None,
        interval: float = 10.0,
        leave: bool | None = None,
        file: TextIO | None = None,
    ) -> None:
        self._iterable = iterable
        self._description = description
        self._total = _size(iterable) if total is None else total
        self._interval, self._leave, self._file = interval, leave, file
        self._values: dict[str, Any] = {}
        self._done = 0

    def __len__(self) -> int:
        if self._total is None:
            raise TypeError("the number of elements is not known: give progress(..., total=...)")
        return self._total

    def update(self, **values: TensorLike) -> None:
        """Show `values` from now on: numbers, tensors of one element, or texts, by their names."""
        self._values.update(values)

    def __iter__(self) -> Iterator[T]:
        view = self._view()
        self._done = 0
        self._start = self._first = self._last = perf_counter()
        due = self._start + view.between
        finished = False
        try:
            for element in self._iterable:
                yield element
                self._done += 1
                now = self._last = perf_counter()
                if self._done == 1:
                    self._first = now
                if now >= due and self._done != self._total:
                    view.show(self)
                    due = now + view.between
            finished = True
        finally:
            view.close(self, finished)

    def _view(self) -> _Lines | _Bar:
        file: Any = sys.stderr if self._file is None else self._file
        file = getattr(file, "rich_proxied_file", file)  # rich replaces the streams while it shows a bar
        cell = _cell() if file in (sys.stderr, sys.stdout) else None
        if cell is not None:
            return _Bar((id(file), cell), _Page, self)
        if file.isatty() and os.environ.get("TERM") != "dumb":
            return _Bar(id(file), lambda: _terminal(file), self)
        return _Lines(file, self._interval)

    # -- texts --------------------------------------------------------------------------------------------------------

    def _under_way(self) -> list[str]:
        """How far and how fast the loop is, and the values of `update`."""
        rate = self._rate()
        left = (
            [f"{_duration((self._total - self._done) / rate)} left"]
            if rate and self._total is not None and self._total > self._done
            else []
        )
        return [self._count(), *_speed(rate), *left, *self._shown_values()]

    def _at_the_end(self, finished: bool) -> list[str]:
        took = _duration(perf_counter() - self._start)
        return [
            f"{self._count()} {'in' if finished else 'stopped after'} {took}",
            *_speed(self._rate()),
            *self._shown_values(),
        ]

    def _count(self) -> str:
        return f"{self._done}" if self._total is None else f"{self._done}/{self._total}"

    def _rate(self) -> float:
        """Elements a second, but for the first, in which much is made ready."""
        since, done = (self._first, self._done - 1) if self._done > 1 else (self._start, self._done)
        seconds = self._last - since
        return done / seconds if seconds > 0 else 0.0

    def _shown_values(self) -> list[str]:
        return [f"{name} {_value(value)}" for name, value in self._values.items()]


def _size(iterable: Any) -> int | None:
    if hasattr(iterable, "cardinality"):
        size = int(iterable.cardinality())
        return size if size >= 0 else None
    return len(iterable) if hasattr(iterable, "__len__") else None


def _speed(rate: float) -> list[str]:
    if not rate:
        return []
    return [f"{rate:.3g}/s" if rate < 1000 else f"{rate:.0f}/s"] if rate >= 1 else [f"{1 / rate:.3g} s each"]


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02} h" if hours else f"{minutes}:{seconds:02} min"


def _value(value: Any) -> str:
    if isinstance(value, (str, bool, int)):
        return str(value)
    try:
        return f"{float(value):.4g}"
    except (TypeError, ValueError):
        return str(value)


def _cell() -> int | None:
    """The number of the notebook's cell that runs now; None if this is no notebook."""
    if "ipykernel" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    return shell.execution_count if hasattr(shell, "kernel") else None


# ---------------------------------------------------------------------------------------------------------------------
# Views


class _Lines:
    """Lines of text."""

    def __init__(self, file: TextIO, interval: float) -> None:
        self._file, self.between = file, interval

    def show(self, loop: progress[Any]) -> None:
        self._print(loop, loop._under_way())

    def close(self, loop: progress[Any], finished: bool) -> None:
        self._print(loop, loop._at_the_end(finished))

    def _print(self, loop: progress[Any], parts: list[str]) -> None:
        name = f"{loop._description}: " if loop._description else ""
        print(name + ", ".join(parts), file=self._file, flush=True)


_screens: dict[Hashable, list[Any]] = {}  # by the output: what draws its bars, and how many there are


class _Bar:
    """A bar on a screen that all bars of one output share."""

    between = _BETWEEN_FRAMES

    def __init__(self, output: Hashable, make_screen: Callable[[], Any], loop: progress[Any]) -> None:
        self._output = output
        if output not in _screens:
            _screens[output] = [make_screen(), 0]
        screen = _screens[output]
        self._drawing = screen[0]
        self._leave = screen[1] == 0 if loop._leave is None else loop._leave
        screen[1] += 1
        self._task = self._drawing.add_task(loop._description, total=loop._total, status="")
        self._drawing.refresh()

    def show(self, loop: progress[Any]) -> None:
        self._draw(loop, loop._under_way())

    def close(self, loop: progress[Any], finished: bool) -> None:
        self._draw(loop, loop._at_the_end(finished))
        self._drawing.stop_task(self._task)
        screen = _screens[self._output]
        screen[1] -= 1
        if not self._leave:
            self._drawing.remove_task(self._task)
        if not screen[1]:
            del _screens[self._output]
            self._drawing.stop()

    def _draw(self, loop: progress[Any], parts: list[str]) -> None:
        self._drawing.update(self._task, completed=loop._done, status=" · ".join(parts))
        self._drawing.refresh()


def _terminal(file: TextIO) -> Any:
    """Create what draws bars in a terminal. There is no thread: the loop says when to draw."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    drawing = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[status]}", markup=False),
        console=Console(file=file),
        auto_refresh=False,
    )
    drawing.start()
    return drawing


# ---------------------------------------------------------------------------------------------------------------------
# Notebooks


@dataclass
class _Row:
    """A bar as a notebook shows it."""

    description: str
    total: int | None
    status: str
    completed: int = 0

    def html(self) -> str:
        share = "" if self.total is None else f' value="{self.completed}" max="{max(self.total, 1)}"'
        bar = f'<progress{share} style="width:100%"></progress>'
        return f"<span>{escape(self.description)}</span>{bar}<span>{escape(self.status)}</span>"

    def text(self) -> str:
        return f"{self.description}: {self.status}" if self.description else self.status


class _Page:
    """Draws bars in a notebook as rich's `Progress` does in a terminal: in one output, which is replaced each time."""

    def __init__(self) -> None:
        self._rows: dict[int, _Row] = {}
        self._numbers = count()
        self._output: Any = None

    def add_task(self, description: str, total: int | None, status: str) -> int:
        number = next(self._numbers)
        self._rows[number] = _Row(description, total, status)
        return number

    def update(self, number: int, completed: int, status: str) -> None:
        self._rows[number].completed, self._rows[number].status = completed, status

    def stop_task(self, number: int) -> None:
        row = self._rows[number]
        if row.total is None:  # a bar without a value moves for ever
            row.total = row.completed

    def remove_task(self, number: int) -> None:
        del self._rows[number]

    def refresh(self) -> None:
        shown = {
            "text/html": _GRID + "".join(row.html() for row in self._rows.values()) + "</div>",
            "text/plain": "\n".join(row.text() for row in self._rows.values()),
        }
        if self._output is None:
            from IPython.display import display

            self._output = display(shown, raw=True, display_id=True)
        else:
            self._output.update(shown, raw=True)

    stop = refresh


_GRID = (
    '<div style="display:grid;grid-template-columns:max-content 24ch auto;column-gap:1.5ch;align-items:center;'
    'font-family:monospace">'
)
