"""IndexedSlices: a gradient that touches only some rows, kept as those rows."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from .dtypes import DType
from .errors import DTypeError, IndexOutOfBoundsError
from .primitive import apply, primitive
from .shapes import TensorShape
from .slicing import as_indices, bounds, gather_, scatter_along
from .structural import concat_, reshape_
from .tensor import Tensor
from .tensor_conversion import convert
from .types import ShapeLike, TensorLike


def _lengths(dense_shape: Any) -> tuple[int, ...]:
    try:
        return tuple([n.__index__() for n in dense_shape])
    except (AttributeError, TypeError):
        raise DTypeError(
            f"IndexedSlices: dense_shape must be a list of integers, not {dense_shape!r}"
        ) from None


class IndexedSlices:
    """Rows of a tensor that is zero elsewhere: the gradient of a variable that was only gathered from.

    `convert_to_tensor` makes it dense, as do all operations.

    Args:
        values: the rows.
        indices: the position of each row along the first axis; rows of equal indices add up.
        dense_shape: the shape of the whole tensor, needed to make it dense.

    Raises:
        TypeError: if `dense_shape` is no list of integers.

    >>> import gradtape as tf
    >>> table = tf.Variable(tf.zeros((3, 2)))
    >>> with tf.GradientTape() as tape:
    ...     rows = tf.gather(table, [0, 2, 0])
    >>> g = tape.gradient(rows, table)
    >>> g.indices.numpy()
    array([0, 2, 0], dtype=int32)
    >>> tf.convert_to_tensor(g).numpy()
    array([[2., 2.],
           [0., 0.],
           [1., 1.]], dtype=float32)
    """

    __slots__ = ("_dense_shape", "_indices", "_values")

    def __init__(self, values: TensorLike, indices: TensorLike, dense_shape: ShapeLike | None = None) -> None:
        # Inside a sweep the parts are arrays, as gradients are there; users see tensors.
        self._values = convert(values) if isinstance(values, (list, tuple)) else values
        self._indices = convert(indices) if isinstance(indices, (list, tuple)) else indices
        self._dense_shape = None if dense_shape is None else _lengths(dense_shape)

    @property
    def values(self) -> Tensor:
        """The rows."""
        return convert(self._values)

    @property
    def indices(self) -> Tensor:
        """The position of each row."""
        return convert(self._indices)

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the whole, as a tensor."""
        return None if self._dense_shape is None else convert(list(self._dense_shape))

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return TensorShape(self._dense_shape)

    @property
    def dtype(self) -> DType:
        """The dtype of the rows."""
        return self.values.dtype

    def dense(self) -> Any:
        """The whole tensor: zeros, with the rows added at their positions. Of arrays, an array.

        Raises:
            ValueError: if there is no `dense_shape`.
        """
        if self._dense_shape is None:
            raise ValueError("these IndexedSlices have no dense_shape, so they cannot be made dense")
        shape = self._dense_shape
        return scatter_along(self._values, self._indices, axis=-len(shape), size=shape[0])

    def plus(self, other: Any) -> Any:
        """The sum with other slices, as slices; with anything else, dense."""
        if type(other) is not IndexedSlices:
            return self.dense() + other
        return IndexedSlices(
            concat_(self._values, other._values, axis=0),
            concat_(self._indices, other._indices, axis=0),
            self._dense_shape,
        )

    def map_values(self, function: Callable[[Any], Any]) -> IndexedSlices:
        """The same positions, with `function` of the rows."""
        return IndexedSlices(function(self._values), self._indices, self._dense_shape)

    def _read(self) -> Tensor:
        return convert(self.dense())

    _as_tensor = _read

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._read().__array__(dtype, copy)

    def numpy(self) -> Any:
        """The whole, as a NumPy array."""
        return self._read().numpy()

    @property
    def device(self) -> str:
        """The name of the device that holds the rows."""
        return self.values.device

    def __neg__(self) -> IndexedSlices:
        return self.map_values(lambda values: -values)

    def __repr__(self) -> str:
        return f"IndexedSlices(indices={self.indices!s}, values={self.values!s}, dense_shape={self.dense_shape!s})"


@primitive(
    mixed=True,
    linear=True,
    moves=True,
    public="gather",
    words="Each row that was taken gets its gradient; a row taken twice gets the sum, one not taken 0.",
)
def gather_rows(x: Any, indices: Any) -> Any:
    """Gather along the first axis, as from a table of embeddings: the gradient is `IndexedSlices`."""
    return gather_.forward(x, indices, axis=-x.ndim)


def _ungather(g: Any, indices: Any, x_shape: tuple[int, ...], out_shape: tuple[int, ...]) -> Any:
    if g.ndim > len(out_shape):
        return scatter_along(g, indices, axis=-len(x_shape), size=x_shape[0])
    count = prod(indices.shape)
    return IndexedSlices(reshape_(g, shape=(count, *x_shape[1:])), reshape_(indices, shape=(count,)), x_shape)


gather_rows.rules(x=_ungather)


def rows_at(x: Tensor, indices: Any) -> Tensor:
    """The rows of a tensor at `indices`, which are validated."""
    at = as_indices("gather", indices)
    if not x.ndim:
        raise IndexOutOfBoundsError("gather: axis 0 is out of range: a scalar has no axes")
    bounds("gather", at._array, x._array.shape[0])
    result: Tensor = apply(gather_rows, (x, at))
    return result
