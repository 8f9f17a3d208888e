"""Shape, size and rank of a tensor, and the shape that shapes broadcast to: no element is read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.indexed_slices import IndexedSlices
from ...core.shapes import TensorShape
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import DTypeLike, ShapeLike, TensorLike
from ...engine.arrays import is_traced
from ..known import known
from .movement import identity


def _shape_of(x: Any) -> tuple[int, ...]:
    if isinstance(x, IndexedSlices):
        return tuple(x.shape)
    return x._array.shape if type(x) is Tensor else convert(x)._array.shape


def _integers(name: str, values: Any, out_type: Any) -> Tensor:
    kind = dtypes.as_dtype("int32" if out_type is None else out_type)
    if kind.name not in ("int32", "int64"):
        raise DTypeError(f"{name}: out_type must be int32 or int64, not {kind.name}")
    return wrap(np.array(values, kind.numpy_dtype))


def shape(input: TensorLike, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """The shape as a tensor.

    Args:
        out_type: int32 (the default) or int64.

    Raises:
        DTypeError: for another `out_type`.

    >>> shape([[1, 2, 3], [4, 5, 6]]).numpy()
    array([2, 3], dtype=int32)
    """
    return _integers("shape", _shape_of(input), out_type)


def shape_n(
    input: Iterable[TensorLike], out_type: DTypeLike = "int32", name: str | None = None
) -> list[Tensor]:
    """The shape of each tensor of a list.

    Args:
        out_type: int32 (the default) or int64.

    Raises:
        DTypeError: for another `out_type`.

    >>> [s.numpy().tolist() for s in shape_n([[1, 2], 3])]
    [[2], []]
    """
    return [shape(x, out_type) for x in input]


def size(input: TensorLike, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """The number of elements.

    Args:
        out_type: int32 (the default) or int64.

    Raises:
        DTypeError: for another `out_type`.

    >>> int(size([[1, 2, 3], [4, 5, 6]]))
    6
    """
    return _integers("size", math.prod(_shape_of(input)), out_type)


def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """The number of axes.

    >>> int(rank([[1, 2, 3]]))
    2
    """
    return _integers("rank", len(_shape_of(input)), None)


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """The tensor itself, if it has a given shape.

    Args:
        shape: lengths, in which None fits any.

    Raises:
        InvalidArgumentError: if the tensor has another shape.

    >>> ensure_shape([1.0, 2.0], (None,)).numpy()
    array([1., 2.], dtype=float32)
    """
    tensor = convert(x)
    wanted = TensorShape(shape)
    if not wanted.is_compatible_with(tensor.shape):
        raise InvalidArgumentError(f"ensure_shape: a tensor of shape {tensor.shape} is not of shape {wanted}")
    return identity(tensor)


def broadcast_static_shape(shape_x: ShapeLike | None, shape_y: ShapeLike | None) -> TensorShape:
    """The shape that `shape_x` and `shape_y` broadcast to; lengths may be unknown (None).

    Raises:
        InvalidArgumentError: if they do not broadcast.

    >>> broadcast_static_shape([2, 1, None], [3, 1])
    TensorShape([2, 3, None])
    """
    x, y = TensorShape(shape_x), TensorShape(shape_y)
    if x.rank is None or y.rank is None:
        return TensorShape(None)
    count = max(len(x), len(y))
    pairs = zip((1,) * (count - len(x)) + tuple(x), (1,) * (count - len(y)) + tuple(y), strict=True)
    return TensorShape([_broadcast_length(a, b, x, y) for a, b in pairs])


def _broadcast_length(a: int | None, b: int | None, x: TensorShape, y: TensorShape) -> int | None:
    """The length that two lengths of the shapes x and y broadcast to; an unknown one (None) takes the other's."""
    if a == 1 or b == 1:
        return b if a == 1 else a
    if a is None or b is None:
        return b if a is None else a
    if a != b:
        raise InvalidArgumentError(
            f"broadcast_static_shape: the shapes {x} and {y} do not broadcast: {a} meets {b}"
        )
    return a


def broadcast_dynamic_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> Tensor:
    """The shape that `shape_x` and `shape_y`, tensors of integers, broadcast to.

    Raises:
        DTypeError: if the shapes are not integers of one dtype.
        InvalidArgumentError: if they are no vectors, or do not broadcast.

    >>> broadcast_dynamic_shape([2, 1], [3]).numpy()
    array([2, 3], dtype=int32)
    """
    x = known("broadcast_dynamic_shape", "a shape", convert(shape_x, None, np.dtype(np.int32))._array)
    y = known("broadcast_dynamic_shape", "a shape", convert(shape_y, None, x.dtype)._array)
    if x.dtype.kind not in "iu" or x.dtype != y.dtype:
        raise DTypeError(
            f"broadcast_dynamic_shape: shapes are integers of one dtype, not of {x.dtype} and {y.dtype}"
        )
    if x.ndim != 1 or y.ndim != 1:
        raise InvalidArgumentError("broadcast_dynamic_shape: a shape is a vector of lengths")
    try:
        return wrap(np.array(np.broadcast_shapes(tuple(x.tolist()), tuple(y.tolist())), x.dtype))
    except ValueError:
        raise InvalidArgumentError(
            f"broadcast_dynamic_shape: {x.tolist()} and {y.tolist()} do not broadcast"
        ) from None


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor as a NumPy array.

    None for a variable, whose value may change, and for a tensor that a `@function` computes; anything else as it is.

    Args:
        partial: accepted and ignored.

    >>> get_static_value(convert([1, 2]))
    array([1, 2], dtype=int32)
    """
    if type(tensor) is Tensor:
        return None if is_traced(tensor._array) else tensor.numpy()
    return None if hasattr(type(tensor), "_read") else tensor


def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:
    """The same value. TensorFlow takes this as a promise that the value does not change; here it has no effect.

    >>> float(guarantee_const(1.0))
    1.0
    """
    return identity(input)


def identity_n(input: Iterable[TensorLike], name: str | None = None) -> list[Tensor]:
    """A new tensor for each one of a list.

    >>> [float(t) for t in identity_n([1.0, 2.0])]
    [1.0, 2.0]
    """
    return [identity(x) for x in input]
