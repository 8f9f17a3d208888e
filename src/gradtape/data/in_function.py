"""Iterating inside a @function: the compiled program calls back for each element when it runs.

A loop over a dataset is unrolled: the elements met while tracing tell how many there are, and of which shapes. An
iterator from outside is not moved by tracing, so its `element_spec` must say the shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import dtypes, nest
from ..core.errors import InvalidArgumentError
from ..core.primitive import outside
from ..core.spec import TensorSpec
from ..core.tensor import wrap
from ..engine import host
from .structure import spec_of


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


def is_known(spec: Any) -> bool:
    """Return whether compiled code can take such an element: a tensor of numbers, and of known shape."""
    return isinstance(spec, TensorSpec) and spec.dtype is not dtypes.string and spec.shape.is_fully_defined()


def _kind(spec: Any) -> host.Kind:
    if not is_known(spec):
        raise InvalidArgumentError(
            f"inside a @function the shape of the next element must be known, and it is {spec}: use "
            "batch(..., drop_remainder=True), or take the element outside and give it to the function"
        )
    return tuple(spec.shape), spec.dtype.numpy_dtype


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
