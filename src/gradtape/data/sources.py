"""Where elements come from: arrays, ranges, lists of elements, generators, files.

Elements that lie in arrays are named by their row as long as possible. `Gather` pairs a stage of row numbers with the
rows: shuffling, repeating, taking happen on the numbers, and a batch is cut out of the arrays at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from ..core import dtypes, nest
from ..core.composite import CompositeTensor, TypeSpec
from ..core.errors import (
    DTypeError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from ..core.shapes import TensorShape
from ..core.spec import TensorSpec
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert, convert_to_tensor
from ..files.contents import string_tensor
from ..files.streams import read_lines
from .checks import listed, texts
from .stage import INFINITE, Cursor, Listed, Session, Stage
from .structure import as_element, map_specs, packer, spec_of


class Rows:
    """Elements that can be had in any order, by their numbers."""

    spec: Any

    def row(self, i: int) -> Any:
        """One element."""
        raise NotImplementedError

    def take(self, indices: Sequence[int]) -> Any:
        """The elements with the given numbers (a range, an array or a list), stacked."""
        raise NotImplementedError


class ArrayRows(Rows):
    """The rows of arrays that lie side by side."""

    def __init__(self, template: Any, arrays: list[Any]) -> None:
        self._arrays = arrays
        self._pack = packer(template)
        self.spec = map_specs(lambda s: TensorSpec(s.shape[1:], s.dtype), spec_of(template))

    def row(self, i: int) -> Any:
        return self._pack([wrap(array[i, ...]) for array in self._arrays])

    def take(self, indices: Sequence[int]) -> Any:
        if type(indices) is range:
            part = slice(indices.start, indices.stop, indices.step)
            return self._pack([wrap(array[part]) for array in self._arrays])
        return self._pack([wrap(array.take(indices, 0)) for array in self._arrays])


class Progression(Rows):
    """The integers start, start + step, ..."""

    def __init__(self, start: int, step: int, dtype: Any) -> None:
        self._start, self._step, self._dtype = start, step, dtype.numpy_dtype
        self.spec = TensorSpec((), dtype)

    def row(self, i: int) -> Any:
        try:
            return wrap(np.asarray(self._start + int(i) * self._step, self._dtype))
        except OverflowError:  # what does not fit the dtype starts again from below, as it does in arrays
            return wrap(self.take([i])._array.reshape(()))

    def take(self, indices: Sequence[int]) -> Any:
        if type(indices) is range:
            indices = np.arange(indices.start, indices.stop, indices.step)  # type: ignore[assignment]
        return wrap(
            (self._start + np.asarray(indices, np.int64) * self._step).astype(self._dtype, copy=False)
        )


class ZippedRows(Rows):
    """Rows side by side, put together as one element."""

    def __init__(self, template: Any, parts: list[Rows]) -> None:
        self._parts = parts
        self._pack = packer(template)
        self.spec = nest.pack_sequence_as(template, [part.spec for part in parts])

    def row(self, i: int) -> Any:
        return self._pack([part.row(i) for part in self._parts])

    def take(self, indices: Sequence[int]) -> Any:
        return self._pack([part.take(indices) for part in self._parts])


class Numbers(Stage):
    """The row numbers 0, 1, ... up to a length, or without end."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self._length = length

    def open(self, session: Session) -> Cursor:
        return Listed(range(1 << 62 if self._length == INFINITE else self._length))

    def size(self) -> int:
        return self._length


class Gather(Stage):
    """The rows whose numbers another stage gives."""

    def __init__(self, numbers: Stage, rows: Rows) -> None:
        super().__init__(numbers)
        self.numbers, self.rows = numbers, rows

    def open(self, session: Session) -> Cursor:
        return _GatherCursor(self.numbers.open(session), self.rows)

    def size(self) -> int:
        return self.numbers.size()

    def describe(self) -> Any:
        return self.rows.spec


class _GatherCursor(Cursor):
    def __init__(self, numbers: Cursor, rows: Rows) -> None:
        self._numbers, self._rows = numbers, rows

    def some(self, n: int) -> Sequence[Any]:
        row = self._rows.row
        return [row(i) for i in self._numbers.some(n)]

    def block(self, n: int) -> tuple[int, Any]:
        numbers = self._numbers.some(n)
        return len(numbers), self._rows.take(numbers)

    def skip(self, n: int) -> int:
        return self._numbers.skip(n)


def slices(tensors: Any) -> Gather:
    """The rows of the tensors in a structure."""
    element = as_element(tensors)
    leaves = nest.flatten(element)
    if any(leaf is None or isinstance(leaf, CompositeTensor) for leaf in leaves):
        return _slices_side_by_side(element, leaves)
    arrays = [_with_rows(leaf) for leaf in leaves]
    if not arrays:
        raise ValueError("from_tensor_slices: there is nothing in it; give an array or a structure of arrays")
    return Gather(Numbers(_same_length({len(array) for array in arrays})), ArrayRows(element, arrays))


class CompositeRows(Rows):
    """The rows of a sparse or ragged tensor."""

    def __init__(self, composite: Any) -> None:
        from . import composite_elements  # brings sparse and ragged tensors

        self._do, self._composite = composite_elements, composite
        self.count = composite_elements.count(composite)
        self.spec = composite_elements.of_rows(composite._type_spec)

    def row(self, i: int) -> Any:
        return self._do.row(self._composite, i)

    def take(self, indices: Sequence[int]) -> Any:
        return self._do.take(self._composite, indices)


class Absent(Rows):
    """None in each row."""

    spec = None

    def row(self, i: int) -> Any:
        return None

    def take(self, indices: Sequence[int]) -> Any:
        return None


def _slices_side_by_side(element: Any, leaves: list[Any]) -> Gather:
    parts: list[Rows] = []
    lengths = set()
    for leaf in leaves:
        if isinstance(leaf, CompositeTensor):
            rows = CompositeRows(leaf)
            parts.append(rows)
            lengths.add(rows.count)
        elif leaf is None:
            parts.append(Absent())
        else:
            array = _with_rows(leaf)
            parts.append(ArrayRows(leaf, [array]))
            lengths.add(len(array))
    return Gather(Numbers(_same_length(lengths)), ZippedRows(element, parts))


def _same_length(lengths: set[int]) -> int:
    if not lengths:
        raise ValueError(
            "from_tensor_slices: there is nothing but None; give an array or a structure of arrays"
        )
    if len(lengths) > 1:
        raise InvalidArgumentError(
            f"from_tensor_slices: all must have as many rows as the others; they have {sorted(lengths)}"
        )
    return lengths.pop()


def _with_rows(leaf: Any) -> Any:
    if type(leaf) is not Tensor or not leaf.ndim:
        raise InvalidArgumentError(
            f"from_tensor_slices: {leaf!r} has no first axis to slice along; from_tensors makes it one element"
        )
    return leaf._array


def progression(start: int, stop: int, step: int, dtype: Any) -> Gather:
    """The integers from start up to stop."""
    if not step:
        raise InvalidArgumentError("range: step must not be 0")
    return Gather(Numbers(len(range(start, stop, step))), Progression(start, step, dtypes.as_dtype(dtype)))


class Elements(Stage):
    """Elements that exist already."""

    def __init__(self, elements: Sequence[Any], spec: Any = None) -> None:
        super().__init__()
        self._elements, self._spec = elements, spec

    def open(self, session: Session) -> Cursor:
        return Listed(self._elements)

    def size(self) -> int:
        return len(self._elements)

    def describe(self) -> Any:
        return spec_of(self._elements[0])


class Strings(Stage):
    """The strings that files hold: lines or records."""

    def __init__(self, what: str, filenames: Stage, read: Callable[[str], Iterator[bytes]]) -> None:
        super().__init__(filenames)
        self._what, self._read = what, read

    def open(self, session: Session) -> Cursor:
        return _StringCursor(self._contents(session))

    def _contents(self, session: Session) -> Iterator[bytes]:
        for names in self.sources[0].open(session):
            for name in texts(f"{self._what}: filenames", names):
                yield from self._read(name)

    def describe(self) -> Any:
        return TensorSpec((), dtypes.string)


class _StringCursor(Cursor):
    def __init__(self, contents: Iterator[bytes]) -> None:
        self._contents = contents

    def some(self, n: int) -> Sequence[Any]:
        return [string_tensor(content) for content in islice(self._contents, n)]

    def block(self, n: int) -> tuple[int, Any]:
        contents = list(islice(self._contents, n))
        return len(contents), string_tensor(contents) if contents else None


def lines(path: str, compression: str) -> Iterator[bytes]:
    """The lines of a text file without their ends."""
    for line in read_lines("TextLineDataset", path, compression):
        yield line.removesuffix(b"\n").removesuffix(b"\r")


# ---------------------------------------------------------------------------------------------------------------------
# Generators


class Generated(Stage):
    """The values that a Python generator yields, checked against a signature."""

    def __init__(self, generator: Callable[..., Any], args: Any, signature: Any) -> None:
        super().__init__()
        if not callable(generator):
            raise TypeError(
                f"from_generator: generator must be a function that gives an iterator, not {type(generator).__name__}"
            )
        given = [] if args is None else listed("from_generator: args", args)
        self._generator, self._args = generator, [convert_to_tensor(value).numpy() for value in given]
        self._spec = signature

    def elements(self, session: Session) -> Iterator[Any]:
        with _as_tensorflow_errors():
            values = enumerate(self._generator(*self._args))
        while True:
            with _as_tensorflow_errors():
                number, value = next(values, (0, self))
            if value is self:
                return
            yield _matching(value, self._spec, number)


_ERRORS: list[tuple[tuple[type[Exception], ...], type[OpError]]] = [
    ((ValueError, TypeError), InvalidArgumentError),
    ((MemoryError,), ResourceExhaustedError),
    ((NotImplementedError,), UnimplementedError),
    ((Exception,), UnknownError),
]


@contextmanager
def _as_tensorflow_errors() -> Iterator[None]:
    """Raise an error of the user's generator as TensorFlow's class for it; the error itself is the cause."""
    try:
        yield
    except OpError:
        raise
    except Exception as error:
        kind = next(own for kinds, own in _ERRORS if isinstance(error, kinds))
        raise kind(f"from_generator: the generator raised {type(error).__name__}: {error}") from error


def signature_of(output_types: Any, output_shapes: Any, output_signature: Any) -> Any:
    """The arguments of `from_generator` that describe its elements, as a structure of specs."""
    if output_signature is not None:
        if output_types is not None or output_shapes is not None:
            raise TypeError(
                "from_generator: output_signature says it all; leave output_types and output_shapes out"
            )
        for spec in nest.flatten(output_signature):
            if not isinstance(spec, TypeSpec):
                raise TypeError(
                    f"from_generator: output_signature must be made of TensorSpec and its kin, and has {spec!r}"
                )
        return output_signature
    if output_types is None:
        raise TypeError("from_generator: say what is generated, with output_signature (or output_types)")
    types = tuple(output_types) if isinstance(output_types, list) else output_types
    leaves = nest.flatten(types)
    shapes = [None] * len(leaves) if output_shapes is None else _shapes_like(types, output_shapes)
    return nest.pack_sequence_as(types, [TensorSpec(s, t) for s, t in zip(shapes, leaves)])


def _shapes_like(types: Any, shapes: Any) -> list[TensorShape]:
    """The shapes in the places of the types: a shape is itself a tuple, so the types tell where one begins."""
    if isinstance(types, dict):
        return [s for key in sorted(types) for s in _shapes_like(types[key], shapes[key])]
    if isinstance(types, tuple):
        return [s for t, part in zip(types, shapes, strict=True) for s in _shapes_like(t, part)]
    return [TensorShape(shapes)]


def _matching(value: Any, spec: Any, number: int) -> Any:
    """A generated value as tensors, which must be what the signature says."""
    if isinstance(spec, TensorSpec):
        return _leaf(value, spec, number)
    if isinstance(spec, TypeSpec):
        if not spec.is_compatible_with(value):
            raise _mismatch(number, f"{value!r}", f"{spec}")
        return value
    if isinstance(spec, dict):
        if not isinstance(value, dict) or value.keys() != spec.keys():
            raise _mismatch(number, f"{value!r}", f"a dict with the keys {list(spec)}")
        return {key: _matching(value[key], spec[key], number) for key in spec}
    parts = nest.flatten(spec) if not isinstance(spec, tuple) else spec
    if not isinstance(value, (tuple, list)) or len(value) != len(parts):
        raise _mismatch(number, f"{value!r}", f"a tuple of {len(parts)}")
    made = [_matching(part, own, number) for part, own in zip(value, parts)]
    return tuple(made) if type(spec) is tuple else nest.pack_sequence_as(spec, made)


def _leaf(value: Any, spec: TensorSpec, number: int) -> Tensor:
    try:
        if spec.dtype is dtypes.string:
            tensor = convert(value, spec.dtype.numpy_dtype)
        else:  # as TensorFlow does: a copy, because a generator may use its buffer again
            tensor = wrap(np.array(value, spec.dtype.numpy_dtype))
    except (TypeError, ValueError) as error:
        raise DTypeError(
            f"from_generator: element {number} is {value!r}, which is no {spec.dtype.name}"
        ) from error
    if not spec.shape.is_compatible_with(tensor.shape):
        raise _mismatch(number, f"of shape {tensor.shape}", f"shape {spec.shape}")
    return tensor


def _mismatch(number: int, given: str, wanted: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"from_generator: element {number} is {given}, and the signature says {wanted}"
    )
