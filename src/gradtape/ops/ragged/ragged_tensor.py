"""RaggedTensor: rows of different lengths, as the values of all rows in one tensor and the splits between the rows.

Methods that compute with other operations are put on the class by the files that define them, such as `row_selection`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...core import dtypes
from ...core.composite import CompositeSpec, ProgramPart
from ...core.dtypes import DType
from ...core.shapes import TensorShape
from ...core.spec import TensorSpec
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert_to_tensor
from ...core.types import DTypeLike, ShapeLike, TensorLike
from ...engine.arrays import is_traced
from ..array.movement import reshape
from ..control.printing import rows_as_text
from ..known import static_number
from .ragged_constructors import MADE, RaggedConstructors, as_values, count_of
from .row_partition import (
    decided,
    lengths_of,
    number,
    rows_of_values,
    splits_of_lengths,
)


class RaggedTensor(RaggedConstructors):
    """A tensor whose rows differ in length. `tf.ragged.constant` and the methods named `from_...` make one.

    >>> x = RaggedTensor.from_row_splits([1, 2, 3, 4], [0, 2, 2, 4])
    >>> x
    <tf.RaggedTensor [[1, 2], [], [3, 4]]>
    >>> x.shape, x[0].numpy()
    (TensorShape([3, None]), array([1, 2], dtype=int32))
    """

    _dense_by = "x.to_tensor()"
    __array_priority__ = 200  # NumPy's operators and those of tensors defer to ours

    # -- parts --------------------------------------------------------------------------------------------------------

    @property
    def values(self) -> Any:
        """The values of all rows, joined: a tensor, or a ragged tensor of one level less."""
        return self._values

    @property
    def flat_values(self) -> Any:
        """The innermost values, a tensor."""
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def row_splits(self) -> Tensor:
        """[0, end of the first row, ...]."""
        return wrap(self._splits)

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits of each level, the outermost first."""
        return tuple([wrap(level._splits) for level in levels(self)])

    @property
    def ragged_rank(self) -> int:
        """The number of levels of rows."""
        return len(levels(self))

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows, if the tensor was made with one length; else None."""
        return None if self._width is None else number(self._width, self._splits.dtype)

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        dtype: DType = self._values.dtype
        return dtype

    @property
    def shape(self) -> TensorShape:
        """The length of each axis; None where rows differ."""
        return TensorShape([len(self._splits) - 1, self._width, *list(self._values.shape)[1:]])

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Check that the shape is compatible with another one.

        Raises:
            ValueError: if it is not.
        """
        self.shape.assert_is_compatible_with(TensorShape(shape))

    def nrows(self, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
        """The number of rows."""
        return number(len(self._splits) - 1, self._chosen(out_type))

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """The length of each row; with `axis` above 1, of the rows inside, as a ragged tensor.

        Raises:
            ValueError: if there is no such axis.
        """
        axis = axis_of("row_lengths", axis, len(self.shape))
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return wrap(lengths_of(self._splits))
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.row_lengths(axis - 1))
        shape = self._values._array.shape
        return self.with_values(wrap(np.full(shape[: axis - 1], shape[axis - 1], self._splits.dtype)))

    def row_starts(self, name: str | None = None) -> Tensor:
        """Where each row begins among the values."""
        return wrap(self._splits[:-1])

    def row_limits(self, name: str | None = None) -> Tensor:
        """Where each row ends among the values."""
        return wrap(self._splits[1:])

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The row of each value."""
        return wrap(rows_of_values(self._splits, count_of(self._values)))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The lengths of the rows of each level, the outermost first."""
        return tuple([level.row_lengths() for level in levels(self)])

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The row of each value at each level, the outermost first."""
        return tuple([level.value_rowids() for level in levels(self)])

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: DTypeLike | None = None
    ) -> Tensor:
        """The shape of the smallest dense tensor that holds all rows.

        Args:
            axis: the axis or axes wanted; by default all.
            out_type: int32 or int64; by default as the splits.
        """
        shape = bounding_lengths("bounding_shape", self)
        dtype = self._chosen(out_type)
        if axis is None:
            return wrap(np.array(shape, dtype))
        if isinstance(axis, (list, tuple)):
            return wrap(np.array([shape[axis_of("bounding_shape", a, len(shape))] for a in axis], dtype))
        return number(shape[axis_of("bounding_shape", axis, len(shape))], dtype)

    def _chosen(self, out_type: DTypeLike | None) -> Any:
        return self._splits.dtype if out_type is None else dtypes.as_dtype(out_type).numpy_dtype

    # -- changing parts -----------------------------------------------------------------------------------------------

    def with_values(self, new_values: Any) -> RaggedTensor:
        """Other values in the same rows.

        Raises:
            ValueError: if there are not as many.
        """
        values = as_values("with_values", new_values)
        if count_of(values) != count_of(self._values):
            raise ValueError(
                f"with_values: {count_of(values)} values do not fit rows with {count_of(self._values)}"
            )
        return RaggedTensor(values, self._splits, self._width, MADE)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """Other innermost values in the same rows.

        Raises:
            ValueError: if there are not as many.
        """
        inner = self._values
        return self.with_values(
            inner.with_flat_values(new_values) if isinstance(inner, RaggedTensor) else new_values
        )

    def _gradient_tensor(self) -> Any:
        return self.flat_values

    def _with_gradient(self, gradient: Any) -> RaggedTensor:
        return self.with_flat_values(gradient)

    def with_row_splits_dtype(self, dtype: DTypeLike) -> RaggedTensor:
        """The same with splits in int32 or int64.

        Raises:
            ValueError: for any other dtype.
        """
        wanted = dtypes.as_dtype(dtype)
        if wanted.name not in ("int32", "int64"):
            raise ValueError(f"with_row_splits_dtype: splits are int32 or int64, not {wanted.name}")
        inner = self._values
        if isinstance(inner, RaggedTensor):
            inner = inner.with_row_splits_dtype(wanted)
        return RaggedTensor(inner, self._splits.astype(wanted.numpy_dtype), self._width, MADE)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """The tensor with the axes from `outer_axis` to `inner_axis` joined into one.

        Raises:
            ValueError: if there are no such axes, or they are in the wrong order.
        """
        rank = len(self.shape)
        outer = axis_of("merge_dims", outer_axis, rank)
        inner = axis_of("merge_dims", inner_axis, rank)
        if outer > inner:
            raise ValueError(f"merge_dims: outer_axis {outer_axis} lies after inner_axis {inner_axis}")
        return _merged(self, outer, inner)

    # -- Python's values ----------------------------------------------------------------------------------------------

    def numpy(self) -> Any:
        """The rows as NumPy arrays: one array if they have one length, else an array of arrays."""
        inner = self._values.numpy()
        splits = decided("numpy", self._splits)
        rows = [inner[start:end] for start, end in pairwise(splits)]
        if not rows:
            return np.empty((0, 0, *inner.shape[1:]), inner.dtype)
        if len({len(row) for row in rows}) == 1:
            return np.stack(rows)
        out = np.empty(len(rows), object)
        for i, row in enumerate(rows):
            out[i] = row
        return out

    def to_list(self) -> list[Any]:
        """The rows as nested lists."""
        inner = self._values
        items = inner.to_list() if isinstance(inner, RaggedTensor) else inner.numpy().tolist()
        splits = decided("to_list", self._splits)
        return [items[start:end] for start, end in pairwise(splits)]

    def _text(self, summarize: int) -> str:
        return rows_as_text(self.to_list(), summarize)

    def consumers(self) -> list[Any]:
        """No operations: nothing keeps a list of those that use a tensor."""
        return []

    def __repr__(self) -> str:
        if any(is_traced(part) for part in (self.flat_values._array, *[x._splits for x in levels(self)])):
            return f"<tf.RaggedTensor: shape={self.shape}, dtype={self.dtype.name}, traced>"
        with np.printoptions(formatter={"all": _shown}):
            return f"<tf.RaggedTensor {_shown(self.numpy())}>"

    __str__ = __repr__

    def __bool__(self) -> NoReturn:
        raise TypeError("a RaggedTensor is neither true nor false: use tf.reduce_any(x) or tf.reduce_all(x)")

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self._splits) - 1))

    __hash__ = None  # type: ignore[assignment]  # equality is element by element

    @property
    def _type_spec(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, dtypes.of(self._splits))

    if TYPE_CHECKING:  # see the file's docstring

        @classmethod
        def from_tensor(
            cls,
            tensor: TensorLike,
            lengths: Any = None,
            padding: TensorLike | None = None,
            ragged_rank: int = 1,
            name: str | None = None,
            row_splits_dtype: DTypeLike = ...,
        ) -> RaggedTensor: ...
        @classmethod
        def from_sparse(
            cls, st_input: Any, name: str | None = None, row_splits_dtype: DTypeLike = ...
        ) -> RaggedTensor: ...
        def to_tensor(
            self,
            default_value: TensorLike | None = None,
            name: str | None = None,
            shape: ShapeLike | None = None,
        ) -> Tensor: ...
        def to_sparse(self, name: str | None = None) -> Any: ...
        def __getitem__(self, key: Any) -> Any: ...
        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __rfloordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __rmod__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Any: ...
        def __rpow__(self, other: Any) -> Any: ...
        def __and__(self, other: Any) -> Any: ...
        def __rand__(self, other: Any) -> Any: ...
        def __or__(self, other: Any) -> Any: ...
        def __ror__(self, other: Any) -> Any: ...
        def __xor__(self, other: Any) -> Any: ...
        def __rxor__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __eq__(self, other: Any) -> Any: ...
        def __ne__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __invert__(self) -> Any: ...


def _shown(x: Any) -> str:
    if isinstance(x, np.ndarray) and not x.size and x.ndim > 1:
        return f"[{', '.join(map(_shown, x))}]"
    return (
        np.array2string(x, separator=", ", formatter={"all": _shown}) if isinstance(x, np.ndarray) else str(x)
    )


# ---------------------------------------------------------------------------------------------------------------------
# Making ragged tensors, for the files of this room


def ragged(values: Any, splits: Any, width: int | None = None) -> RaggedTensor:
    """A ragged tensor of values and an array of splits that are known to fit; `width` if all rows have one length."""
    return RaggedTensor(values, splits, width, MADE)


def convert_ragged(value: Any, hint: Any = None) -> Any:
    """A ragged tensor as it is, anything else as a tensor."""
    return value if isinstance(value, RaggedTensor) else convert_to_tensor(value, dtype_hint=hint)


def levels(x: Any) -> list[RaggedTensor]:
    """The tensor, its values, their values, as long as they are ragged."""
    out = []
    while isinstance(x, RaggedTensor):
        out.append(x)
        x = x._values
    return out


def axis_of(operation: str, axis: Any, rank: int) -> int:
    """An axis counted from the front.

    Raises:
        ValueError: if there is none.
    """
    a = static_number(f"{operation}: axis", axis)
    if not -rank <= a < rank:
        raise ValueError(f"{operation}: there is no axis {a} in a tensor of {rank} axes")
    return a % rank


def bounding_lengths(operation: str, x: RaggedTensor) -> list[int]:
    """The length of each axis of the smallest dense tensor that holds all rows."""
    lengths = [len(x._splits) - 1]
    for level in levels(x):
        width = level._width
        if width is None:
            width = int(decided(operation, lengths_of(level._splits)).max(initial=0))
        lengths.append(width)
    return lengths + list(x.flat_values._array.shape[1:])


def nested(flat_values: Any, like: RaggedTensor, depth: int) -> Any:
    """Values in the first `depth` levels of rows of another tensor."""
    result = flat_values
    for level in reversed(levels(like)[:depth]):
        result = ragged(result, level._splits, level._width)
    return result


def _merged(x: Any, outer: int, inner: int) -> Any:
    if outer == inner:
        return x
    if not isinstance(x, RaggedTensor):
        shape = x._array.shape
        return reshape(x, (*shape[:outer], int(np.prod(shape[outer : inner + 1])), *shape[inner + 1 :]))
    if outer:
        if outer > 1 or inner == outer:
            return x.with_values(_merged(x._values, outer - 1, inner - 1))
        if isinstance(x._values, RaggedTensor):  # rows of rows become rows
            within = x._values
            splits = within._splits[x._splits]
            width = None if None in (x._width, within._width) else x._width * within._width  # type: ignore[operator]
            return _merged(ragged(within._values, splits, width), 1, inner - 1)
        shape = x._values._array.shape
        size = int(np.prod(shape[1:inner]))
        merged = _merged(x._values, 0, inner - 1)
        return ragged(merged, x._splits * size, None if x._width is None else x._width * size)
    return _merged(x._values, 0, inner - 1)


# ---------------------------------------------------------------------------------------------------------------------
# The spec


class RaggedTensorSpec(CompositeSpec):
    """The shape, dtype and number of ragged levels of a ragged tensor.

    Args:
        shape: None where rows differ; None if nothing is known.
        dtype: of the values.
        ragged_rank: the number of levels of rows; by default one less than there are axes.
        row_splits_dtype: int32 or int64.
        flat_values_spec: the spec of the innermost values; gives the dtype if that is None.

    Raises:
        ValueError: if the arguments do not fit each other.

    >>> RaggedTensorSpec([2, None], "int32")
    RaggedTensorSpec(TensorShape([2, None]), tf.int32, 1, tf.int64)
    """

    def __init__(
        self,
        shape: ShapeLike | None = None,
        dtype: DTypeLike | None = dtypes.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: DTypeLike = dtypes.int64,
        flat_values_spec: TensorSpec | None = None,
    ) -> None:
        self._shape = TensorShape(shape)
        self._row_splits_dtype = dtypes.as_dtype(row_splits_dtype)
        if flat_values_spec is not None and not isinstance(flat_values_spec, TensorSpec):
            raise TypeError(
                f"RaggedTensorSpec: flat_values_spec must be a TensorSpec, not {flat_values_spec!r}"
            )
        if flat_values_spec is not None:
            if dtype not in (None, flat_values_spec.dtype):
                raise ValueError(
                    f"RaggedTensorSpec: dtype must be None or that of flat_values_spec, not {dtype!r}"
                )
            dtype = flat_values_spec.dtype
        elif dtype is None:
            raise ValueError("RaggedTensorSpec: a dtype or a flat_values_spec is needed")
        self._dtype = dtypes.as_dtype(dtype)
        self._flat_values_spec = flat_values_spec
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("RaggedTensorSpec: a shape or a ragged_rank is needed")
            ragged_rank = rank - 1
        self._ragged_rank = static_number("RaggedTensorSpec: ragged_rank", ragged_rank)
        if rank is not None and not 0 <= self._ragged_rank < max(rank, 1):
            raise ValueError(
                f"RaggedTensorSpec: ragged_rank {ragged_rank} must be 0 or more, and less than the rank {rank}"
            )

    @property
    def shape(self) -> TensorShape:
        """The shape; None where rows differ."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._dtype

    @property
    def ragged_rank(self) -> int:
        """The number of levels of rows."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> DType:
        """The dtype of the splits."""
        return self._row_splits_dtype

    @property
    def flat_values_spec(self) -> TensorSpec | None:
        """The spec of the innermost values, if one was given."""
        return self._flat_values_spec

    @property
    def value_type(self) -> type:
        """The class of the values: `RaggedTensor`, or `Tensor` if there are no levels of rows."""
        return RaggedTensor if self._ragged_rank else Tensor

    @classmethod
    def from_value(cls, value: RaggedTensor) -> RaggedTensorSpec:
        """The spec of a ragged tensor."""
        return value._type_spec

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a ragged tensor, or the spec of one, has this shape, dtype and number of levels."""
        if not self._ragged_rank and isinstance(spec_or_value, (Tensor, TensorSpec)):
            return TensorSpec(self._shape, self._dtype).is_compatible_with(spec_or_value)
        return super().is_compatible_with(spec_or_value)

    def _parts(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype, self._flat_values_spec

    def _component_specs(self) -> tuple[TensorSpec, ...]:
        shape = self._shape
        inner = None if shape.rank is None else list(shape)[self._ragged_rank + 1 :]
        values = self._flat_values_spec or TensorSpec(None if inner is None else [None, *inner], self._dtype)
        rows = None if shape.rank is None or shape[0] is None else shape[0] + 1
        splits = [
            TensorSpec([rows if i == 0 else None], self._row_splits_dtype) for i in range(self._ragged_rank)
        ]
        return (values, *splits)

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        return (value.flat_values, *value.nested_row_splits) if isinstance(value, RaggedTensor) else (value,)

    def _from_components(self, components: Sequence[Any]) -> Any:
        result = components[0]
        widths = [None] * self._ragged_rank if self._shape.rank is None else list(self._shape)[1:]
        for splits, width in zip(components[:0:-1], widths[self._ragged_rank - 1 :: -1], strict=False):
            result = ragged(result, splits._array, width)
        return result

    def _program_parts(self) -> tuple[ProgramPart, ...]:
        """The innermost values, and the lengths of the rows of each level: the first are as many as there are rows."""
        if self._shape.rank is None:
            return ()
        values, *_ = self._component_specs()
        splits = self._row_splits_dtype
        first = [ProgramPart(TensorSpec(self._shape[:1], splits))] if self._ragged_rank else []
        inner = [ProgramPart(TensorSpec([None], splits), f"rows{i}_") for i in range(1, self._ragged_rank)]
        return (ProgramPart(values, "values"), *first, *inner)

    def _to_program(self, value: Any) -> tuple[Any, ...]:
        values, *splits = self._to_components(value)
        return (values, *[wrap(lengths_of(each._array)) for each in splits])

    def _from_program(self, tensors: Sequence[Any]) -> Any:
        values, *lengths = tensors
        return self._from_components([values, *[wrap(splits_of_lengths(each._array)) for each in lengths]])

    def __repr__(self) -> str:
        return f"RaggedTensorSpec({self._shape!r}, {self._dtype!r}, {self._ragged_rank}, {self._row_splits_dtype!r})"
