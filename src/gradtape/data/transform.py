"""Steps that compute new elements: map, filter, batch, unbatch, zip and so on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from ..core import dtypes, nest
from ..core.composite import CompositeSpec, CompositeTensor
from ..core.errors import DTypeError, InvalidArgumentError, OpError
from ..core.shapes import TensorShape
from ..core.spec import TensorSpec
from ..core.tensor import Tensor, wrap
from .checks import function as checked
from .checks import shape as one_shape
from .rehearsal import rehearse
from .sources import slices
from .stage import INFINITE, UNKNOWN, Cursor, Session, Stage, Stream
from .structure import array_of, as_element, batched_spec, infer, map_specs, packer, pad, same_state, stack

Function = Callable[..., Any]


def spread(function: Any, what: str) -> Callable[[Any], Any]:
    """A user's function as a function of an element: the parts of a tuple become arguments."""
    checked(what, function)

    def call(element: Any) -> Any:
        try:
            return function(*element) if type(element) is tuple else function(element)
        except StopIteration as error:  # would end the loop over the dataset without a word
            raise RuntimeError(f"{what} raised StopIteration") from error

    return call


def _truth(value: Any, what: str) -> bool:
    tensor = as_element(value)
    if type(tensor) is not Tensor or tensor.dtype is not dtypes.bool or tensor.ndim:
        raise DTypeError(f"{what} must return one boolean, and returned {value!r}")
    return bool(tensor)


# ---------------------------------------------------------------------------------------------------------------------
# One element for one


class Map(Stage):
    """A function of each element."""

    infers = True

    def __init__(self, source: Stage, function: Any) -> None:
        super().__init__(source)
        self._call = spread(function, "map: map_func")
        if source.known():
            self._spec = rehearse(self.made, getattr(function, "__code__", None), source.spec)

    def made(self, element: Any) -> Any:
        """The new element for an element. A list of results becomes a tuple, as in TensorFlow."""
        result = self._call(element)
        return as_element(tuple(result) if type(result) is list else result)

    def open(self, session: Session) -> Cursor:
        return _MapCursor(self.sources[0].open(session), self.made)

    def size(self) -> int:
        return self.sources[0].size()

    def describe(self) -> Any:
        return infer(self.made, self.sources[0].spec, self.sources[0].examples)

    def several_kinds(self) -> list[Any] | None:
        kinds = self.sources[0].kinds()
        found = [] if kinds is None else [infer(self.made, kind) for kind in kinds]
        return None if kinds is None or None in found else found


class _MapCursor(Cursor):
    def __init__(self, source: Cursor, function: Function) -> None:
        self._source, self._function = source, function

    def some(self, n: int) -> Sequence[Any]:
        return [self._function(element) for element in self._source.some(n)]

    def skip(self, n: int) -> int:
        return self._source.skip(n)  # skipped elements need not be computed


class Scan(Stage):
    """A function of a state and each element, which returns the next state and the new element."""

    infers = True

    def __init__(self, source: Stage, initial_state: Any, function: Function) -> None:
        super().__init__(source)
        self._initial = as_element(initial_state)
        self._function = checked("scan: scan_func", function)

    def elements(self, session: Session) -> Iterator[Any]:
        state = self._initial
        for element in self.sources[0].open(session):
            state, made = self._step(state, element)
            yield made

    def _step(self, state: Any, element: Any) -> tuple[Any, Any]:
        result = self._function(state, element)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(f"scan: scan_func must return (new_state, output), and returned {result!r}")
        return same_state("scan", state, result[0]), as_element(result[1])

    def size(self) -> int:
        return self.sources[0].size()

    def describe(self) -> Any:
        source = self.sources[0]
        return infer(lambda element: self._step(self._initial, element)[1], source.spec, source.examples)


# ---------------------------------------------------------------------------------------------------------------------
# Some of the elements


class Filter(Stage):
    """The elements of which a predicate is true."""

    def __init__(self, source: Stage, predicate: Any) -> None:
        super().__init__(source)
        self._call = spread(predicate, "filter: predicate")

    def elements(self, session: Session) -> Iterator[Any]:
        for element in self.sources[0].open(session):
            if _truth(self._call(element), "filter: predicate"):
                yield element


class IgnoreErrors(Stage):
    """The elements that are computed without an error. A source that ends by its error gives no more."""

    def __init__(self, source: Stage, log_warning: bool) -> None:
        super().__init__(source)
        self._log = log_warning

    def elements(self, session: Session) -> Iterator[Any]:
        source = self.sources[0].open(session)
        while True:
            try:
                got = source.some(1)
            except OpError as error:
                if self._log:
                    logging.getLogger("gradtape").warning("ignore_errors leaves out an element: %s", error)
                continue
            if not len(got):
                return
            yield got[0]


class TakeWhile(Stage):
    """The elements before the first of which a predicate is false."""

    def __init__(self, source: Stage, predicate: Any) -> None:
        super().__init__(source)
        self._call = spread(predicate, "take_while: predicate")

    def elements(self, session: Session) -> Iterator[Any]:
        for element in self.sources[0].open(session):
            if not _truth(self._call(element), "take_while: predicate"):
                return
            yield element


class Unique(Stage):
    """Each element the first time it comes."""

    def elements(self, session: Session) -> Iterator[Any]:
        seen = set()
        for element in self.sources[0].open(session):
            array = array_of(element, "unique: the elements")
            key = array.tolist() if array.dtype.kind == "O" else array.tobytes()
            if (array.shape, str(key)) not in seen:
                seen.add((array.shape, str(key)))
                yield element


# ---------------------------------------------------------------------------------------------------------------------
# Many elements as one, and back


class Batch(Stage):
    """So many elements stacked; the last may hold fewer."""

    def __init__(self, source: Stage, size: int, drop_remainder: bool) -> None:
        super().__init__(source)
        if size <= 0:
            raise InvalidArgumentError(f"batch: batch_size must be positive, not {size}")
        self.batch_size, self._drop = size, drop_remainder

    def open(self, session: Session) -> Cursor:
        source = self.sources[0]
        if source.known() and any(map(_is_row, nest.flatten(source.spec))):
            return Stream(self._ragged(session))
        return _BatchCursor(source.open(session), self.batch_size, self._drop)

    def _ragged(self, session: Session) -> Iterator[Any]:
        """Batches of which some parts are ragged: those for which the spec of the batches says so."""
        from . import composite_elements

        source = self.sources[0].open(session)
        specs = nest.flatten(self.spec)
        while elements := source.some(self.batch_size):
            if len(elements) < self.batch_size and self._drop:
                return
            columns = zip(*[nest.flatten(element) for element in elements])
            yield nest.pack_sequence_as(
                elements[0],
                [
                    composite_elements.ragged_stack(column, spec)
                    if hasattr(spec, "ragged_rank")
                    else None
                    if spec is None
                    else stack(column)
                    for column, spec in zip(columns, specs, strict=True)
                ],
            )

    def size(self) -> int:
        there = self.sources[0].size()
        return (
            there if there < 0 else there // self.batch_size if self._drop else -(-there // self.batch_size)
        )

    def describe(self) -> Any:
        return batched_spec(self.sources[0].spec, self.batch_size if self._drop else None)

    def several_kinds(self) -> list[Any] | None:
        """Whole batches, and the last one if it holds fewer."""
        kinds, there = self.sources[0].kinds(), self.sources[0].size()
        if kinds is None or len(kinds) > 1 or there == UNKNOWN:
            return None
        whole = there == INFINITE or there >= self.batch_size
        sizes = [self.batch_size] * whole + [there % self.batch_size] * (there > 0)
        return [batched_spec(kinds[0], size) for size in sizes if size]


class _BatchCursor(Cursor):
    def __init__(self, source: Cursor, batch: int, drop: bool) -> None:
        self._source, self._batch, self._drop = source, batch, drop

    def some(self, n: int) -> Sequence[Any]:
        batches: list[Any] = []
        while len(batches) < n:
            count, block = self._source.block(self._batch)
            if count == 0 or (self._drop and count < self._batch):
                break
            batches.append(block)
        return batches

    def skip(self, n: int) -> int:
        whole, rest = divmod(self._source.skip(n * self._batch), self._batch)
        return whole + (rest > 0 and not self._drop)


class PaddedBatch(Batch):
    """So many elements, filled up to one shape and stacked."""

    def __init__(self, source: Stage, size: int, shapes: Any, values: Any, drop_remainder: bool) -> None:
        super().__init__(source, size, drop_remainder)
        self._shapes = None if shapes is None else shape_leaves(shapes, source.spec)
        self._values = None if values is None else value_leaves(values, source.spec)

    def open(self, session: Session) -> Cursor:
        return Stream(self.elements(session))

    def elements(self, session: Session) -> Iterator[Any]:
        source = self.sources[0].open(session)
        while elements := source.some(self.batch_size):
            if len(elements) == self.batch_size or not self._drop:
                yield pad(elements, self._shapes, self._values)

    def describe(self) -> Any:
        source = nest.map_structure(_of_dense, self.sources[0].spec)
        wanted = iter([None] * len(nest.flatten(source)) if self._shapes is None else self._shapes)
        return batched_spec(
            map_specs(lambda s: TensorSpec(_either(next(wanted), s.shape), s.dtype), source),
            self.batch_size if self._drop else None,
        )


def _of_dense(spec: Any) -> Any:
    """The spec of rows of a ragged tensor, which are dense, as that of tensors."""
    return TensorSpec(spec.shape, spec.dtype) if _is_row(spec) else spec


def _is_row(spec: Any) -> bool:
    """Return whether a spec is that of rows of a ragged tensor, which are tensors of any length."""
    return getattr(spec, "ragged_rank", None) == 0


def _either(asked: TensorShape | None, own: TensorShape) -> TensorShape:
    return own if asked is None or asked.rank is None else asked


def shape_leaves(shapes: Any, spec: Any) -> list[Any]:
    """padded_shapes with one entry a leaf: the elements' own structure says where a shape begins."""
    if isinstance(spec, dict):
        if not isinstance(shapes, Mapping) or shapes.keys() != spec.keys():
            raise ValueError(
                f"padded_batch: elements have the components {list(spec)}, padded_shapes are {shapes!r}"
            )
        return [leaf for key in sorted(spec) for leaf in shape_leaves(shapes[key], spec[key])]
    if isinstance(spec, tuple):
        if not isinstance(shapes, (tuple, list)) or len(shapes) != len(spec):
            raise ValueError(
                f"padded_batch: elements have {len(spec)} components, padded_shapes are {shapes!r}"
            )
        return [leaf for part, own in zip(shapes, spec) for leaf in shape_leaves(part, own)]
    return [one_shape("padded_batch: padded_shapes", shapes)]


def value_leaves(values: Any, spec: Any) -> list[Any]:
    """padding_values with one entry a leaf; one value alone is that of all."""
    leaves = nest.flatten(spec)
    given = nest.flatten(values)
    if not nest.is_nested(values):
        given = [values] * len(leaves)
    if len(given) != len(leaves):
        raise ValueError(
            f"padded_batch: elements have {len(leaves)} components, padding_values are {values!r}"
        )
    return [None if value is None else _padding(value, leaf) for value, leaf in zip(given, leaves)]


def _padding(value: Any, leaf: TensorSpec) -> Any:
    tensor = as_element(value)
    fits = tensor.dtype is leaf.dtype or (type(value) is int and leaf.dtype.is_numeric)
    if not fits:
        raise TypeError(
            f"padded_batch: the padding value {value!r} is {tensor.dtype.name}, the component is {leaf.dtype.name}"
        )
    if tensor.ndim:
        raise InvalidArgumentError(f"padded_batch: the padding value {value!r} must be one value")
    return tensor._array[()]


class Unbatch(Stage):
    """The rows of each element."""

    def elements(self, session: Session) -> Iterator[Any]:
        for batch in self.sources[0].open(session):
            pack = packer(batch)
            leaves = nest.flatten(batch)
            if any(isinstance(leaf, CompositeTensor) for leaf in leaves):
                yield from slices(batch).open(session)
                continue
            arrays = [array_of(leaf) for leaf in leaves]
            lengths = {array.shape[:1] for array in arrays}
            if len(lengths) != 1 or () in lengths:
                raise InvalidArgumentError(
                    "unbatch: all components need the same first axis; their shapes are "
                    f"{[list(array.shape) for array in arrays]}"
                )
            for i in range(len(arrays[0])):
                yield pack([wrap(array[i, ...]) for array in arrays])

    def describe(self) -> Any:
        return nest.map_structure(_of_rows, self.sources[0].spec)


def _of_rows(spec: Any) -> Any:
    if isinstance(spec, TensorSpec):
        return TensorSpec(None if spec.shape.rank is None else spec.shape[1:], spec.dtype)
    if not isinstance(spec, CompositeSpec):
        return spec
    from . import composite_elements

    return composite_elements.of_rows(spec)


class RaggedBatch(Batch):
    """So many elements as rows of ragged tensors, where their shapes may differ."""

    def __init__(self, source: Stage, size: int, drop_remainder: bool, row_splits_dtype: Any) -> None:
        super().__init__(source, size, drop_remainder)
        self._splits = dtypes.as_dtype(row_splits_dtype)
        if self._splits.name not in ("int32", "int64"):
            raise InvalidArgumentError(f"ragged_batch: splits are int32 or int64, not {self._splits.name}")

    def open(self, session: Session) -> Cursor:
        return Stream(self._ragged(session))

    def describe(self) -> Any:
        from . import composite_elements

        size = self.batch_size if self._drop else None
        return nest.map_structure(
            lambda spec: composite_elements.ragged_spec(spec, size, self._splits), self.sources[0].spec
        )


class Zip(Stage):
    """Elements of several sources side by side, up to the end of the shortest."""

    def __init__(self, template: Any, sources: list[Stage]) -> None:
        super().__init__(*sources)
        self._template = template

    def open(self, session: Session) -> Cursor:
        return _ZipCursor([source.open(session) for source in self.sources], packer(self._template))

    def size(self) -> int:
        sizes = [source.size() for source in self.sources]
        finite = [size for size in sizes if size != INFINITE]
        return INFINITE if not finite else UNKNOWN if UNKNOWN in finite else min(finite)

    def describe(self) -> Any:
        return nest.pack_sequence_as(self._template, [source.spec for source in self.sources])

    def several_kinds(self) -> list[Any] | None:
        kinds = [source.kinds() for source in self.sources]
        if None in kinds:
            return None
        return [nest.pack_sequence_as(self._template, list(parts)) for parts in product(*kinds)]  # type: ignore[arg-type]


class _ZipCursor(Cursor):
    def __init__(self, cursors: list[Cursor], pack: Function) -> None:
        self._cursors, self._pack = cursors, pack

    def some(self, n: int) -> Sequence[Any]:
        return [self._pack(list(parts)) for parts in zip(*(cursor.some(n) for cursor in self._cursors))]

    def block(self, n: int) -> tuple[int, Any]:
        counts, blocks = zip(*(cursor.block(n) for cursor in self._cursors))
        count = min(counts)
        if not count:
            return 0, None
        return count, self._pack([_trimmed(b, count) if c > count else b for c, b in zip(counts, blocks)])

    def skip(self, n: int) -> int:
        return min(cursor.skip(n) for cursor in self._cursors)


def _trimmed(block: Any, count: int) -> Any:
    def trimmed(leaf: Any) -> Any:
        if leaf is None:
            return None
        if not isinstance(leaf, CompositeTensor):
            return wrap(leaf._array[:count])
        from . import composite_elements

        return composite_elements.take(leaf, range(count))

    return nest.map_structure(trimmed, block)
