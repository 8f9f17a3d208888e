"""SparseTensor: the places and values of the elements that are there, and the shape of the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.composite import CompositeSpec, CompositeTensor, ProgramPart
from ...core.dtypes import DType
from ...core.errors import InvalidArgumentError
from ...core.primitive import apply
from ...core.shapes import TensorShape
from ...core.slicing import gather_
from ...core.spec import TensorSpec
from ...core.tensor import Tensor, array_of, wrap
from ...core.tensor_conversion import convert, convert_to_tensor
from ...core.types import DTypeLike, ShapeLike, TensorLike
from ...engine.arrays import is_traced
from ..array.movement import cast, gather
from ..control.printing import as_text
from ..known import static_shape


class SparseTensor(CompositeTensor):
    """A tensor given by the elements that are there.

    Args:
        indices: int64 of shape (elements, rank): where the elements are. Most operations want them in row-major order.
        values: of shape (elements,): what they are.
        dense_shape: the shape of the whole; must be known while a @function is traced.

    Raises:
        ValueError: if the three do not fit each other.

    >>> to_show = SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 3])
    >>> to_show.shape, to_show.dtype
    (TensorShape([2, 3]), tf.float32)
    """

    _dense_by = "tf.sparse.to_dense(x)"

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: ShapeLike) -> None:
        self._indices = _as_int64(indices)
        self._values = convert_to_tensor(values)
        lengths = static_shape("SparseTensor: dense_shape", dense_shape)
        if self._indices.ndim != 2 or self._values.ndim != 1:
            raise ValueError(
                "SparseTensor: indices must have the shape (elements, rank) and values the shape (elements,), not "
                f"{self._indices.shape} and {self._values.shape}"
            )
        count, rank = self._indices._array.shape
        if count != self._values._array.shape[0] or rank != len(lengths):
            raise ValueError(
                f"SparseTensor: {count} indices of rank {rank} do not fit {self._values._array.shape[0]} values and a "
                f"dense_shape of rank {len(lengths)}"
            )
        if min(lengths, default=0) < 0:
            raise ValueError(f"SparseTensor: a length must be 0 or more, in the dense_shape {list(lengths)}")
        self.lengths = lengths  # the dense shape as plain numbers

    @property
    def indices(self) -> Tensor:
        """Where the elements are, one row each."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The elements."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the whole, as a tensor."""
        return wrap(np.array(self.lengths, np.int64))

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return TensorShape(self.lengths)

    def get_shape(self) -> TensorShape:
        """The shape of the whole."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Check that the shape is compatible with another one, which may leave lengths open.

        Raises:
            ValueError: if it is not.
        """
        self.shape.assert_is_compatible_with(TensorShape(shape))

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype

    def with_values(self, new_values: TensorLike) -> SparseTensor:
        """Other values at the same places.

        Raises:
            ValueError: if their number is another.
        """
        return SparseTensor(self._indices, new_values, self.lengths)

    def __mul__(self, other: TensorLike) -> SparseTensor:
        return self.with_values(self._values * _at_places(self, "*", other))

    def __truediv__(self, other: TensorLike) -> SparseTensor:
        return self.with_values(self._values / _at_places(self, "/", other))

    def __rmul__(self, other: TensorLike) -> SparseTensor:
        return self * other

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self._indices!s}, values={self._values!s}, dense_shape={self.dense_shape!s})"

    def _text(self, summarize: int) -> str:
        parts = [as_text(part._array, summarize) for part in (self._indices, self._values, self.dense_shape)]
        return "'SparseTensor(indices={}, values={}, shape={})'".format(*parts)

    def _gradient_tensor(self) -> Tensor:
        return self._values

    def _with_gradient(self, gradient: Any) -> SparseTensor:
        return self.with_values(gradient)

    @property
    def _type_spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self.shape, self.dtype)


def _as_int64(indices: TensorLike) -> Tensor:
    tensor = convert(indices, None, np.dtype(np.int64))
    if not tensor._array.size and tensor._array.dtype.kind == "f":
        return wrap(tensor._array.astype(np.int64))
    if tensor._array.dtype.kind not in "iu":
        raise InvalidArgumentError(f"SparseTensor: indices must be integers, not {tensor.dtype.name}")
    return tensor if tensor._array.dtype == np.int64 else cast(tensor, "int64")


def _at_places(sparse: SparseTensor, operator: str, other: TensorLike) -> Tensor:
    """The elements of a dense tensor, spread to the shape of a sparse one, at its places."""
    dense = convert_to_tensor(other, dtype_hint=sparse.dtype)
    if not dense.ndim:
        return dense
    from ..array.movement import broadcast_to
    from ..array.scatter import gather_nd

    try:
        return gather_nd(broadcast_to(dense, sparse.lengths), sparse.indices)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(
            f"SparseTensor {operator}: a tensor of shape {dense.shape} does not broadcast to {sparse.shape}"
        ) from error


class SparseTensorSpec(CompositeSpec):
    """The shape and dtype of a sparse tensor.

    Args:
        shape: may leave lengths open; None if nothing is known.
        dtype: of the values.

    >>> SparseTensorSpec([2, None], "int32")
    SparseTensorSpec(TensorShape([2, None]), tf.int32)
    """

    def __init__(self, shape: ShapeLike | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        self.shape = TensorShape(shape)
        self.dtype = dtypes.as_dtype(dtype)

    @property
    def value_type(self) -> type:
        """The class of what it describes."""
        return SparseTensor

    def _parts(self) -> tuple[Any, ...]:
        return self.shape, self.dtype

    def _component_specs(self) -> tuple[TensorSpec, ...]:
        rank = self.shape.rank
        return TensorSpec([None, rank], "int64"), TensorSpec([None], self.dtype), TensorSpec([rank], "int64")

    def _to_components(self, value: SparseTensor) -> tuple[Tensor, ...]:
        return value.indices, value.values, value.dense_shape

    def _from_components(self, components: Sequence[Any]) -> SparseTensor:
        indices, values, dense_shape = components
        return SparseTensor(indices, values, self.shape if self.shape.is_fully_defined() else dense_shape)

    def _program_parts(self) -> tuple[ProgramPart, ...]:
        """Indices, values, and an array without elements whose other lengths are those of the dense shape."""
        if self.shape.rank is None:
            return ()
        indices, values, _ = self._component_specs()
        shape = TensorSpec([*self.shape, 0], "bool")
        return ProgramPart(indices, "elements"), ProgramPart(values, "elements"), ProgramPart(shape)

    def _to_program(self, value: SparseTensor) -> tuple[Tensor, ...]:
        from ..array.creation import zeros

        return value.indices, value.values, zeros([*value.lengths, 0], "bool")

    def _from_program(self, tensors: Sequence[Any]) -> SparseTensor:
        indices, values, shape = tensors
        return SparseTensor(indices, values, array_of(shape).shape[:-1])

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self.shape!r}, {self.dtype!r})"


# ---------------------------------------------------------------------------------------------------------------------
# Places


def checked(operation: str, value: Any) -> SparseTensor:
    """An argument that must be a SparseTensor.

    Raises:
        TypeError: if it is not.
    """
    if not isinstance(value, SparseTensor):
        raise TypeError(
            f"sparse.{operation} takes a SparseTensor, not {type(value).__name__}: tf.sparse.from_dense makes one"
        )
    return value


def positions(sparse: SparseTensor, axes: tuple[int, ...] | None = None) -> Tensor:
    """The place of each element as one number: in row-major order, along some axes."""
    chosen = range(len(sparse.lengths)) if axes is None else axes
    lengths = [sparse.lengths[a] for a in chosen]
    if math.prod(lengths) >= 1 << 63:
        raise InvalidArgumentError(
            f"a sparse tensor of shape {list(sparse.lengths)} has more than 2**63 - 1 places"
        )
    strides = np.zeros(len(sparse.lengths), np.int64)
    for axis, stride in zip(chosen, _strides(lengths), strict=True):
        strides[axis] = stride
    from ..math.reduction import reduce_sum

    return reduce_sum(sparse.indices * strides, 1)


def _strides(lengths: list[int]) -> list[int]:
    return [math.prod(lengths[i + 1 :]) for i in range(len(lengths))]


def places(flat: Tensor, lengths: tuple[int, ...]) -> Tensor:
    """The rows of indices of elements, given the place of each as one number."""
    from ..array.movement import stack

    if not lengths:
        return wrap(np.zeros((flat._array.shape[0], 0), np.int64))
    columns = [
        flat // max(stride, 1) % max(n, 1) for n, stride in zip(lengths, _strides(list(lengths)), strict=True)
    ]
    return stack(columns, 1)


def elements(values: Tensor, places: Any) -> Tensor:
    """The values at some places. Their gradient is a tensor: `gather` of a vector would give `IndexedSlices`."""
    result: Tensor = apply(gather_, (values, convert(places)), {"axis": -1})
    return result


def in_order(sparse: SparseTensor) -> SparseTensor:
    """The elements in row-major order."""
    from ..math.sorting import argsort

    flat = positions(sparse)
    if not is_traced(flat._array) and bool(np.all(flat._array[1:] >= flat._array[:-1])):
        return sparse
    order = argsort(flat, stable=True)
    return SparseTensor(gather(sparse.indices, order), elements(sparse.values, order), sparse.lengths)
