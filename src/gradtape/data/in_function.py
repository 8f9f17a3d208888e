"""Iterating inside a @function: the compiled program calls back for each element when it runs.

A `for` statement over a dataset or an iterator is a loop of the program: see `compiled.feeds`. An iterator created in
the function that is moved by `next` is unrolled: the elements met while tracing tell how many there are, and of which
shapes. An iterator from outside is not moved by tracing, so its `element_spec` must say the shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from ..compiled.feeds import Feed, loop_over
from ..core import nest
from ..core.errors import InvalidArgumentError, UnknownShapeError
from ..core.primitive import outside
from ..core.tensor import wrap
from ..engine import host
from .stage import INFINITE, Session, Stage
from .structure import is_known, same_state, spec_of

_KINDS = 8  # shapes of elements for which the body of a loop is traced
_READ = 1000  # elements of a dataset without end that are read to find out their shapes


def element(fetch: Callable[[], Any], spec: Any) -> Any:
    """Placeholder for the element of this spec that `fetch` will return when the program runs."""
    kinds = [_kind(leaf) for leaf in nest.flatten(spec)]

    def arrays() -> list[Any]:
        with outside():
            fetched = fetch()
        if nest.flatten(spec_of(fetched)) != nest.flatten(spec):
            raise InvalidArgumentError(
                f"a @function was traced for an element {spec}, and the dataset now gives {spec_of(fetched)}: "
                "loop over the dataset outside of the function"
            )
        return [leaf._array for leaf in nest.flatten(fetched)]

    return nest.pack_sequence_as(spec, [wrap(array) for array in host.call(arrays, kinds, [], pure=False)])


def _kind(spec: Any) -> host.Kind:
    if not is_known(spec):
        raise InvalidArgumentError(
            f"inside a @function the shape of the next element must be known, and it is {spec}: use "
            "batch(..., drop_remainder=True), or take the element outside and give it to the function"
        )
    return tuple(spec.shape), spec.dtype.numpy_dtype


# ---------------------------------------------------------------------------------------------------------------------
# Loops


def feed(stage: Stage, start: Callable[[], Any]) -> Feed:
    """The elements of a dataset whose last stage this is; `start` returns an iterator over them."""
    size = stage.size()
    count = (lambda: None) if size == INFINITE else (lambda: sum(1 for _ in _read(stage)))
    return Feed(start, kinds_of(stage), size if size >= 0 else None, count)


def kinds_of(stage: Stage) -> list[Any]:
    """The specs of elements, of known shapes; if the stages do not tell them, all elements are read.

    Raises:
        UnknownShapeError: if there are many, or compiled code cannot take such elements.
    """
    with outside():
        found = stage.kinds()
        for i, element in enumerate(_read(stage) if found is None else ()):
            found = found or []
            spec = spec_of(element)
            if spec not in found:
                found.append(spec)
            if len(found) > _KINDS or (i == _READ and stage.size() == INFINITE):
                break
    if not found or len(found) > _KINDS or not all(is_known(leaf) for leaf in nest.flatten(found)):
        raise UnknownShapeError(
            f"a loop over a dataset inside a @function is compiled for each shape of its elements, {_KINDS} at most; "
            f"the elements are {stage.spec}"
        )
    return found


def _read(stage: Stage) -> Any:
    """The elements, as the next loop will see them: what is random is drawn again there."""
    with outside():
        yield from stage.open(Session.next(stage))


def reduce(stage: Stage, start: Callable[[], Any], state: Any, function: Callable[..., Any]) -> Any:
    """The last state of a loop over the elements: `Dataset.reduce`."""
    elements = feed(stage, start)
    if elements.length == 0:
        return state
    if find_spec("malt") is not None:
        from ..compiled.autograph.conversion import called

        function = called(function)

    def body(element: Any, carry: list[Any]) -> list[Any]:
        before = nest.pack_sequence_as(state, carry)
        after = nest.flatten(same_state("reduce", before, function(before, element)))
        for old, new in zip(carry, after, strict=True):
            if old.shape != new.shape:
                raise UnknownShapeError(
                    f"reduce: the state changed from shape {old.shape} to {new.shape}, and a compiled loop keeps it: "
                    "start with zeros of that shape"
                )
        return after

    ticket = elements.begin()
    result = loop_over(elements, ticket, body, nest.flatten(state))
    elements.end(ticket)
    return nest.pack_sequence_as(state, result)


class Loop:
    """The iterator of a loop inside a @function: each run of the program has one of its own."""

    def __init__(self, start: Callable[[], Any]) -> None:
        self._start = start
        self._now: Any = None
        self._traced = 0

    def next(self, example: Any) -> Any:
        """The next element of a run, which will be like the example."""
        first = not self._traced
        self._traced += 1

        def fetch() -> Any:
            if first:
                self._now = self._start()
            return self._now.get_next()

        return element(fetch, spec_of(example))

    def feed(self, stage: Stage) -> Feed:
        """The elements from here on, for a loop over this iterator."""
        first = not self._traced
        self._traced += 1

        def start() -> Any:
            if first:
                self._now = self._start()
            return self._now

        return feed(stage, start) if first else Feed(start, kinds_of(stage))

    def end(self) -> None:
        """Check that there are no more elements, as there were none while tracing."""
        empty = not self._traced

        def check() -> list[Any]:
            with outside():
                more = next(self._start() if empty else self._now, None) is not None
            if more:
                raise InvalidArgumentError(
                    f"a @function was traced for {self._traced} elements of a dataset, and there are more now: loop "
                    "over the dataset outside of the function"
                )
            return []

        host.call(check, [], [], pure=False)
