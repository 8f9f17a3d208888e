"""Steps with datasets inside: window, flat_map, interleave, group_by_window."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np

from ..core import nest
from ..core.errors import InvalidArgumentError
from ..core.shapes import TensorShape
from ..core.spec import TensorSpec
from ..core.tensor_conversion import convert
from ..ops.array.movement import static_number as whole
from .checks import function, stage, wholes
from .sources import Elements
from .stage import Cursor, Session, Stage
from .structure import DatasetSpec, infer, map_specs
from .threads import PrefetchCursor
from .transform import shape_leaves, spread

MakeDataset = Callable[[Stage], Any]


class Window(Stage):
    """Datasets of neighbouring elements: one for each component of the elements."""

    def __init__(
        self, source: Stage, size: int, shift: int, stride: int, drop_remainder: bool, make: MakeDataset
    ) -> None:
        super().__init__(source)
        for name, value in (("size", size), ("shift", shift), ("stride", stride)):
            if value <= 0:
                raise InvalidArgumentError(f"window: {name} must be positive, not {value}")
        self._size, self._shift, self._stride, self._drop = size, shift, stride, drop_remainder
        self._make = make

    def elements(self, session: Session) -> Iterator[Any]:
        source = self.sources[0].open(session)
        span = (self._size - 1) * self._stride + 1
        ahead: list[Any] = []
        while True:
            ahead += source.some(max(span - len(ahead), 0))
            window = ahead[: span : self._stride]
            if not window or (self._drop and len(window) < self._size):
                return
            yield self._datasets(window)
            source.skip(max(self._shift - len(ahead), 0))
            del ahead[: self._shift]

    def _datasets(self, window: list[Any]) -> Any:
        columns = zip(*map(nest.flatten, window))
        return nest.pack_sequence_as(window[0], [self._make(Elements(column)) for column in columns])

    def size(self) -> int:
        there = self.sources[0].size()
        if there < 0:
            return there
        span = (self._size - 1) * self._stride + 1 if self._drop else 1
        return max(0, (there - span) // self._shift + 1)

    def describe(self) -> Any:
        return map_specs(DatasetSpec, self.sources[0].spec)


class Interleave(Stage):
    """The elements of the datasets that a function returns for elements, several of them in turn."""

    infers = True

    def __init__(
        self, source: Stage, map_func: Any, what: str, cycle: int = 1, block: int = 1, ahead: int = 0
    ) -> None:
        super().__init__(source)
        if cycle <= 0 or block <= 0:
            raise InvalidArgumentError(f"{what}: cycle_length and block_length must be positive")
        self._call, self._what = spread(map_func, f"{what}: map_func"), what
        self._cycle, self._block, self._ahead = cycle, block, ahead

    def elements(self, session: Session) -> Iterator[Any]:
        source = iter(self.sources[0].open(session))
        places: list[Cursor | None] = []  # as many as there are elements to fill them with, up to a cycle
        turn, more = 0, True
        while more or any(places):
            if turn == len(places):
                places.append(None)
            if places[turn] is None and more:
                element = next(source, self)
                if element is self:
                    more = False
                else:
                    places[turn] = self._opened(element, session)
            current = places[turn]
            if current is not None:
                part = current.some(self._block)
                yield from part
                if len(part) < self._block:
                    places[turn] = None
            turn = (turn + 1) % (self._cycle if more else len(places))

    def _opened(self, element: Any, session: Session) -> Cursor:
        cursor = self._inner(element).open(session)
        return PrefetchCursor(cursor, self._ahead) if self._ahead else cursor

    def _inner(self, element: Any) -> Stage:
        return stage(f"{self._what}: map_func must return", self._call(element))

    def describe(self) -> Any:
        source = self.sources[0]
        return infer(self._call, source.spec, source.examples).element_spec


class GroupByWindow(Stage):
    """Elements grouped by a key; a function reduces each full group, and at the end each remaining one, to a dataset.

    What the elements are is found out with the `keys` as examples.
    """

    infers = True

    def __init__(
        self,
        source: Stage,
        key: Any,
        reduce: Any,
        window_size: Callable[[int], Any],
        make: MakeDataset,
        keys: Sequence[int] = (0,),
    ) -> None:
        super().__init__(source)
        self._key = spread(key, "group_by_window: key_func")
        self._reduce = function("group_by_window: reduce_func", reduce)
        self._window_size, self._make, self._keys = window_size, make, keys

    def elements(self, session: Session) -> Iterator[Any]:
        groups: dict[int, list[Any]] = {}
        for element in self.sources[0].open(session):
            key = whole("group_by_window: what key_func returns", self._key(element))
            group = groups.setdefault(key, [])
            group.append(element)
            if len(group) >= self._size(key):
                yield from self._reduced(key, groups.pop(key), session)
        for key in sorted(groups):
            yield from self._reduced(key, groups[key], session)

    def _size(self, key: int) -> int:
        size = whole("group_by_window: window_size", self._window_size(key))
        if size <= 0:
            raise InvalidArgumentError(f"group_by_window: window_size must be positive, not {size}")
        return size

    def _reduced(self, key: int, group: list[Any], session: Session) -> Iterator[Any]:
        yield from self._stage(key, Elements(group)).open(session)

    def _stage(self, key: int, group: Stage) -> Stage:
        result = self._reduce(convert(np.int64(key)), self._make(group))
        return stage("group_by_window: reduce_func must return", result)

    def describe(self) -> Any:
        empty = Elements((), self.sources[0].spec)
        specs = [self._stage(key, empty).spec for key in self._keys]
        return reduce(partial(map_specs, TensorSpec.most_specific_compatible_type), specs)


class Buckets:
    """Lengths sorted by boundaries: those below the first, those from it up to the second, ..."""

    def __init__(self, length: Any, boundaries: Any, sizes: Any) -> None:
        self._length = spread(length, "bucket_by_sequence_length: element_length_func")
        self._bounds = wholes("bucket_by_sequence_length: bucket_boundaries", boundaries)
        self.sizes = wholes("bucket_by_sequence_length: bucket_batch_sizes", sizes)
        if len(self.sizes) != len(self._bounds) + 1:
            raise ValueError(
                f"bucket_by_sequence_length: {len(self._bounds)} boundaries make {len(self._bounds) + 1} buckets, and "
                f"there are {len(self.sizes)} batch sizes"
            )
        if any(low >= high for low, high in pairwise(self._bounds)):
            raise ValueError(f"bucket_by_sequence_length: the boundaries must increase, not {self._bounds}")

    def of(self, *parts: Any) -> int:
        """The bucket of an element."""
        return bisect_right(self._bounds, self._length_of(parts))

    def _length_of(self, parts: Any) -> int:
        return whole("bucket_by_sequence_length: what element_length_func returns", self._length(parts))

    def of_bounded(self, *parts: Any) -> int:
        """The same, for elements that have to lie below the last boundary."""
        bucket = self.of(*parts)
        if bucket == len(self._bounds):
            raise InvalidArgumentError(
                f"bucket_by_sequence_length: an element has length {self._length_of(parts)}, and there is no "
                f"boundary above that to pad to; the boundaries are {self._bounds}"
            )
        return bucket

    def padded(self, shapes: Any, spec: Any, bucket: int) -> Any:
        """`shapes`, or the elements' own, with the greatest length of a bucket where they leave a length open."""
        if bucket == len(self._bounds):
            return shapes
        own = [leaf.shape for leaf in nest.flatten(spec)]
        asked = own if shapes is None else shape_leaves(shapes, spec)
        wanted = [s if wish is None else wish for wish, s in zip(asked, own)]
        return nest.pack_sequence_as(spec, [self._filled(shape, bucket) for shape in wanted])

    def _filled(self, shape: TensorShape, bucket: int) -> TensorShape:
        if shape.rank is None:
            raise ValueError(
                "bucket_by_sequence_length: pad_to_bucket_boundary needs to know how many axes elements have: give "
                "padded_shapes"
            )
        return TensorShape([self._bounds[bucket] - 1 if size is None else size for size in shape])
