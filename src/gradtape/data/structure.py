"""Elements of datasets: structures (tuples and dicts, nested) of tensors; how they are created, stacked and described.

Lists are no structures here: as in TensorFlow, a list in an element becomes a tensor.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, Protocol, TypeAlias, Union

import numpy as np

from ..core import dtypes, nest
from ..core.composite import CompositeSpec, CompositeTensor, TypeSpec
from ..core.errors import DataLossError, DTypeError, InvalidArgumentError
from ..core.shapes import TensorShape
from ..core.spec import TensorSpec, type_spec_from_value
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert_to_tensor
from ..core.types import ShapeLike, TensorLike

# A value that becomes an element: values that become tensors, in tuples and dicts; datasets; None.
Element: TypeAlias = Union[TensorLike, Mapping[Any, Any], "_Dataset", None]
# The specs of an element, in the same structure.
Specs: TypeAlias = Union[TensorSpec, "DatasetSpec", Sequence[Any], Mapping[Any, Any]]


class _Dataset(Protocol):
    """A dataset, for type checkers: `dataset` imports this file."""

    @property
    def element_spec(self) -> Any: ...


class DatasetSpec:
    """The spec of a dataset that is itself an element, as those of `window` are.

    Args:
        element_spec: the specs of its elements.
        dataset_shape: the shape of a tensor of datasets; () for a single one.

    >>> DatasetSpec(TensorSpec((), "int64"))
    DatasetSpec(TensorSpec(shape=(), dtype=tf.int64, name=None), TensorShape([]))
    """

    def __init__(self, element_spec: Specs, dataset_shape: ShapeLike = ()) -> None:
        self.element_spec = element_spec
        self.dataset_shape = TensorShape(dataset_shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec) and self.element_spec == other.element_spec

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}, {self.dataset_shape!r})"


def is_dataset(value: Any) -> bool:
    """Return whether this is a dataset: no other objects have stages."""
    return hasattr(type(value), "element_spec") and hasattr(value, "_stage")


def as_element(value: Any) -> Any:
    """A structure of tensors for a structure of anything that can become tensors. Datasets and None stay."""
    kind = type(value)
    if kind is Tensor:
        return value
    if kind is tuple:
        return tuple([as_element(part) for part in value])
    if kind is dict:
        return {key: as_element(part) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return kind(*map(as_element, value))
    if value is None or is_dataset(value):
        return value
    if isinstance(value, MutableMapping):  # an OrderedDict, a defaultdict: also here a list is a tensor
        made = copy.copy(value)
        made.update({key: as_element(part) for key, part in value.items()})
        return made
    if isinstance(value, CompositeTensor):
        return value
    if isinstance(value, list) or not nest.is_nested(value):
        return convert_to_tensor(value)
    return nest.pack_sequence_as(value, [as_element(leaf) for leaf in nest.flatten(value)])


def packer(template: Any) -> Callable[[list[Any]], Any]:
    """A function that packs leaves into the structure of `template`; the two usual kinds take no time."""
    if not nest.is_nested(template):
        return lambda leaves: leaves[0]
    if type(template) is tuple and not any(map(nest.is_nested, template)):
        return tuple
    return lambda leaves: nest.pack_sequence_as(template, leaves)


def component(structure: Any, i: int) -> str:
    """The name of the i-th leaf of an element in an error."""
    return "the elements" if not nest.is_nested(structure) else f"component {i} of the elements"


# ---------------------------------------------------------------------------------------------------------------------
# Many elements as one


def stack(elements: Sequence[Any]) -> Any:
    """One element that holds the given ones along a new first axis."""
    first = elements[0]
    if type(first) is Tensor:
        return _stacked(elements, "the elements")
    if type(first) is dict and (columns_by_key := _columns_by_key(elements, first)) is not None:
        return columns_by_key
    columns = zip(*(_leaves(element, first) for element in elements))
    return nest.pack_sequence_as(
        first,
        [
            None if column[0] is None else _stacked(column, component(first, i))
            for i, column in enumerate(columns)
        ],
    )


def _columns_by_key(elements: Sequence[Any], first: dict[Any, Any]) -> dict[Any, Any] | None:
    """Dicts of tensors stacked; None if there is another element. Saves 8 us for each that parsing gives."""
    if any(type(element) is not dict or element.keys() != first.keys() for element in elements):
        return None
    columns = {key: [element[key] for element in elements] for key in first}
    if any(type(leaf) is not Tensor for column in columns.values() for leaf in column):
        return None
    return {
        key: _stacked(column, f"the components {key!r} of the elements") for key, column in columns.items()
    }


def _leaves(element: Any, first: Any) -> list[Any]:
    """The leaves of an element that must be built like the first."""
    if element is not first:
        nest.assert_same_structure(first, element)
    return nest.flatten(element)


def _stacked(leaves: Sequence[Any], where: str) -> Any:
    if isinstance(leaves[0], CompositeTensor):
        from . import composite_elements  # brings sparse and ragged tensors

        return composite_elements.stack(leaves)
    arrays = [array_of(leaf, where) for leaf in leaves]
    first = arrays[0]
    for i, array in enumerate(arrays):
        if array.shape != first.shape:
            raise InvalidArgumentError(
                f"batch: {where} differ in shape: the first has {list(first.shape)}, number {i} has "
                f"{list(array.shape)}. Use padded_batch or ragged_batch, or map them to one shape"
            )
        if array.dtype != first.dtype:
            raise _different_dtypes(first, array, i, where)
    return wrap(np.stack(arrays))


def pad(elements: Sequence[Any], shapes: Any, values: Any) -> Any:
    """One element that holds the given ones along a new first axis, each filled up to `shapes` with `values`.

    Both are lists with one entry a leaf, or None: then shapes are as small as can be, and values zeros.
    """
    first = elements[0]
    columns = zip(*(_leaves(element, first) for element in elements))
    return nest.pack_sequence_as(
        first,
        [
            _padded(column, shapes and shapes[i], values and values[i], component(first, i))
            for i, column in enumerate(columns)
        ],
    )


def _padded(leaves: Sequence[Any], shape: Any, value: Any, where: str) -> Tensor:
    arrays = [array_of(leaf, where) for leaf in leaves]
    first = arrays[0]
    for i, array in enumerate(arrays):
        if array.ndim != first.ndim:
            raise InvalidArgumentError(
                f"padded_batch: {where} differ in rank: the first has shape {list(first.shape)}, number {i} has "
                f"{list(array.shape)}"
            )
        if array.dtype != first.dtype:
            raise _different_dtypes(first, array, i, where)
    largest = [max(sizes) for sizes in zip(*(array.shape for array in arrays))]
    wanted = _full_shape(largest, shape, where)
    filler = (b"" if first.dtype.kind == "O" else 0) if value is None else value
    out = np.full((len(arrays), *wanted), filler, first.dtype)
    for row, array in zip(out, arrays) if first.ndim else ():
        row[tuple(map(slice, array.shape))] = array
    if not first.ndim:
        out[:] = arrays
    return wrap(out)


def _full_shape(largest: list[int], shape: Any, where: str) -> list[int]:
    """The shape to pad to: as asked, and as large as the largest element where that is left open."""
    if shape is None:
        return largest
    asked = TensorShape(shape)
    if asked.rank is None:
        return largest
    if asked.rank != len(largest):
        raise InvalidArgumentError(
            f"padded_batch: {where} have {len(largest)} axes, and padded_shapes says {asked.rank}"
        )
    wanted = [size if wish is None or wish == -1 else wish for size, wish in zip(largest, asked)]
    if any(size > wish for size, wish in zip(largest, wanted)):
        raise DataLossError(
            f"padded_batch: {where} reach shape {largest}, which does not fit into padded_shapes {asked}"
        )
    return wanted


def _different_dtypes(first: Any, array: Any, i: int, where: str) -> DTypeError:
    return DTypeError(
        f"batch: {where} differ in dtype: the first is {dtypes.of(first).name}, number {i} is "
        f"{dtypes.of(array).name}: cast them"
    )


def array_of(leaf: Any, where: str = "the elements") -> Any:
    """The array of a leaf that must be a tensor."""
    if type(leaf) is not Tensor:
        what = "datasets, as window makes them" if is_dataset(leaf) else type(leaf).__name__
        raise TypeError(
            f"{where} must be tensors here, and are {what}: use flat_map to get at their elements"
        )
    return leaf._array


# ---------------------------------------------------------------------------------------------------------------------
# Elements described


def spec_of(element: Any) -> Any:
    """The structure of specs for an element."""
    return nest.map_structure(_leaf_spec, element)


def _leaf_spec(leaf: Any) -> Any:
    if leaf is None:
        return None
    return DatasetSpec(leaf.element_spec) if is_dataset(leaf) else type_spec_from_value(leaf)


def batched_spec(spec: Any, size: int | None) -> Any:
    """The spec of elements stacked along a new first axis."""

    def batched(leaf: Any) -> Any:
        if isinstance(leaf, TensorSpec):
            return TensorSpec([size, *leaf.shape] if leaf.shape.rank is not None else None, leaf.dtype)
        if not isinstance(leaf, CompositeSpec):
            return leaf
        from . import composite_elements

        return composite_elements.batched(leaf, size)

    return nest.map_structure(batched, spec)


def map_specs(function: Callable[..., Any], *specs: Any) -> Any:
    """`function` of the TensorSpecs in the same place; other leaves stay as they are in the first."""
    return nest.map_structure(
        lambda *leaves: function(*leaves) if isinstance(leaves[0], TensorSpec) else leaves[0], *specs
    )


def infer(function: Callable[[Any], Any], spec: Any, example: Callable[[], Any]) -> Any:
    """The spec of the results of `function` for elements of `spec`, found by calling it.

    It is called on zeros, and on ones that are of another length where `spec` leaves lengths open: what differs then is
    open in the result too. A function that cannot take these is called on a real element, from `example`.
    """
    try:
        small, large = (
            spec_of(function(_example(spec, value, length))) for value, length in ((0, 2), (1, 3))
        )
    except Exception:
        return spec_of(function(example()))
    return nest.map_structure(
        lambda a, b: a.most_specific_compatible_type(b) if isinstance(a, TypeSpec) else a, small, large
    )


def _example(spec: Any, value: int, length: int) -> Any:
    """An element with 0 or 1 everywhere, in strings one character for 1; open lengths are `length`."""

    def filled(s: Any) -> Any:
        if not isinstance(s, (TensorSpec, CompositeSpec)):
            return s
        if s.shape.rank is None:  # type: ignore[union-attr]
            raise ValueError("no example can be made for an unknown rank")
        if isinstance(s, CompositeSpec):
            from . import composite_elements

            return composite_elements.zeros(s, length)
        shape = [length if size is None else size for size in s.shape]
        filler = b"a" * value if s.dtype is dtypes.string else value
        return wrap(np.full(shape, filler, s.dtype.numpy_dtype))

    if any(isinstance(leaf, DatasetSpec) for leaf in nest.flatten(spec)):
        raise ValueError("no example can be made for a dataset")
    return nest.map_structure(filled, spec)


def is_known(spec: Any) -> bool:
    """Return whether compiled code can take such an element: a tensor of numbers, and of known shape."""
    return isinstance(spec, TensorSpec) and spec.dtype is not dtypes.string and spec.shape.is_fully_defined()


def same_state(what: str, before: Any, after: Any) -> Any:
    """The next state, which must be built like the one before."""
    state = as_element(after)
    try:
        nest.assert_same_structure(before, state)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what}: the state changed its structure: {error}") from None
    for old, new in zip(nest.flatten(before), nest.flatten(state)):
        if old.dtype is not new.dtype:
            raise DTypeError(f"{what}: the state changed from {old.dtype.name} to {new.dtype.name}: cast it")
    return state
