"""Tensors made from nothing: zeros, ones, ranges, unit matrices, one-hot codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, InvalidArgumentError, ResourceExhaustedError
from ...core.primitive import apply, apply2
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import Axis, DTypeLike, ShapeLike, TensorLike
from ...engine.arrays import xp
from ..known import afford, new_shape, shape_known
from ..math.elementwise import add, divide, multiply, select, subtract
from ..math.reduction import one_axis
from ..scalars import integer
from .movement import broadcast_to, cast, expand_dims


def _numpy(dtype: Any) -> Any:
    return dtypes.as_dtype(dtype).numpy_dtype


def zeros(
    shape: ShapeLike, dtype: DTypeLike = "float32", name: str | None = None, layout: object = None
) -> Tensor:
    """A tensor of zeros; of empty strings for dtype string.

    Args:
        layout: accepted and ignored.

    Raises:
        InvalidArgumentError: if a length is negative.
        ResourceExhaustedError: if there is no memory for the shape.

    >>> zeros((2,)).numpy()
    array([0., 0.], dtype=float32)
    """
    kind = dtypes.as_dtype(dtype)
    return _filled("zeros", new_shape("zeros", shape), kind, b"" if kind is dtypes.string else None)


def ones(
    shape: ShapeLike, dtype: DTypeLike = "float32", name: str | None = None, layout: object = None
) -> Tensor:
    """A tensor of ones.

    Args:
        layout: accepted and ignored.

    Raises:
        InvalidArgumentError: if a length is negative.
        DTypeError: for dtype string.
        ResourceExhaustedError: if there is no memory for the shape.

    >>> ones((2,)).numpy()
    array([1., 1.], dtype=float32)
    """
    kind = dtypes.as_dtype(dtype)
    if kind is dtypes.string:
        raise DTypeError("ones: 1 is no string")
    return _filled("ones", new_shape("ones", shape), kind, 1)


def _filled(name: str, lengths: tuple[int, ...], kind: Any, value: Any = None) -> Tensor:
    """Zeros, or one value everywhere: in half the time of np.full."""
    afford(name, lengths, kind.size)
    try:
        array = (np.zeros if value is None else np.empty)(lengths, kind.numpy_dtype)
    except MemoryError as error:
        raise ResourceExhaustedError(f"{name}: no memory for the shape {list(lengths)}: {error}") from error
    if value is not None:
        array.fill(value)
    return wrap(array)


def zeros_like(
    input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, layout: object = None
) -> Tensor:
    """Zeros in the shape of another tensor.

    Args:
        dtype: of the result; that of `input` by default.
        layout: accepted and ignored.

    >>> zeros_like([1, 2]).numpy()
    array([0, 0], dtype=int32)
    """
    x = convert(input)
    kind = x.dtype if dtype is None else dtypes.as_dtype(dtype)
    return _filled("zeros_like", x._array.shape, kind, b"" if kind is dtypes.string else None)


def ones_like(
    input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, layout: object = None
) -> Tensor:
    """Ones in the shape of another tensor.

    Args:
        dtype: of the result; that of `input` by default.
        layout: accepted and ignored.

    Raises:
        DTypeError: for strings.

    >>> ones_like([1, 2]).numpy()
    array([1, 1], dtype=int32)
    """
    x = convert(input)
    return ones(x._array.shape, x.dtype if dtype is None else dtype)


def fill(dims: ShapeLike, value: TensorLike, name: str | None = None, layout: object = None) -> Tensor:
    """One value repeated over a shape; gradients flow to the value.

    Args:
        dims: the shape.
        value: a scalar.
        layout: accepted and ignored.

    Raises:
        InvalidArgumentError: if the value is not a scalar.

    >>> fill((2,), 3.0).numpy()
    array([3., 3.], dtype=float32)
    """
    x = convert(value)
    if x.ndim:
        raise InvalidArgumentError(f"fill: the value must be a scalar, not of shape {list(x._array.shape)}")
    return broadcast_to(x, dims)


def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    batch_shape: ShapeLike | None = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """The identity matrix, or a batch of them.

    Args:
        num_rows, num_columns: the lengths; there are as many columns as rows by default.
        batch_shape: the shape of the batch in front of the matrices.

    Raises:
        InvalidArgumentError: if a length is negative.
        DTypeError: for dtype string, or lengths that are no integers.

    >>> eye(2).numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    rows = integer("eye", "num_rows", num_rows, 0)
    columns = rows if num_columns is None else integer("eye", "num_columns", num_columns, 0)
    batch = () if batch_shape is None else new_shape("eye", batch_shape)
    kind = dtypes.as_dtype(dtype)
    if kind is dtypes.string:
        raise DTypeError("eye: 1 is no string")
    unit = _filled("eye", new_shape("eye", (rows, columns)), kind)
    unit._array.reshape(-1)[: columns * columns : columns + 1] = 1
    return broadcast_to(unit, (*batch, rows, columns)) if batch else unit


def range_(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str | None = "range",
) -> Tensor:
    """Numbers from `start` up to `limit`, which is not included.

    Args:
        start: the first number; if it is the only argument, the limit, and the first number is 0.
        delta: the difference of neighbours.
        dtype: of the result; by default the widest of the arguments.

    Raises:
        InvalidArgumentError: if the arguments are no scalars or not finite, `delta` is 0, or `limit` lies on the other
            side.
        DTypeError: if they are no real numbers.
        NotCompilableError: if they are computed in a `@function`: then the length is not known.

    >>> range_(3).numpy()
    array([0, 1, 2], dtype=int32)
    """
    if limit is None:
        start, limit = 0, start
    parts = [
        shape_known("range", "start, limit and delta", convert(v)._array, "add to a range of known length")
        for v in (start, limit, delta)
    ]
    kinds = [p.dtype for p in parts]
    if parts[0].ndim or parts[1].ndim or parts[2].ndim:
        raise InvalidArgumentError("range: start, limit and delta must be scalars")
    if dtype is not None:
        kind = _numpy(dtype)
    elif kinds[0] is kinds[1] is kinds[2]:
        kind = kinds[0]
    else:
        kind = max(kinds, key=lambda d: ("biuVfc".find(d.kind), d.itemsize))
    if kind.kind in "bcO" or any(k.kind in "bcO" for k in kinds):
        raise DTypeError(
            f"range: start, limit and delta must be real numbers, not {', '.join(map(str, parts))}"
        )
    if not all(k.kind in "iu" or np.isfinite(p) for p, k in zip(parts, kinds, strict=True)):
        raise InvalidArgumentError(f"range: {', '.join(map(str, parts))} are not all finite")
    first, last, step = [p.astype(kind, copy=False)[()] for p in parts]
    if step == 0:
        raise InvalidArgumentError("range: delta must not be 0")
    if (last < first) if step > 0 else (last > first):
        raise InvalidArgumentError(f"range: {last} is not reached from {first} in steps of {step}")
    afford("range", (steps(first, last, step),), kind.itemsize)
    try:
        return wrap(np.arange(first, last, step, dtype=kind))
    except MemoryError as error:
        raise ResourceExhaustedError(f"range: no memory for {first} to {last} by {step}: {error}") from error


def steps(first: Any, last: Any, step: Any) -> int:
    """The number of elements of the range from `first` to `last` by `step`, or one less."""
    return int(min(max(0.0, (float(last) - float(first)) / float(step)), 1e30))


def linspace_nd(
    start: TensorLike, stop: TensorLike, num: TensorLike, name: str | None = None, axis: int = 0
) -> Tensor:
    """Evenly spaced numbers from `start` to `stop`, both included, along a new axis; gradients flow to both.

    Args:
        num: how many numbers.
        axis: the position of the new axis.

    Raises:
        DTypeError: if the ends are no numbers, or `num` is no integer.
        InvalidArgumentError: if the ends differ in shape, `num` is negative, or there is no such axis.

    >>> linspace_nd(0.0, 1.0, 3).numpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    first: Any = convert(start)
    last: Any = convert(stop, None, first._array.dtype)
    if first.dtype.is_integer:
        first, last = cast(first, "float64"), cast(last, "float64")
    if not first.dtype.is_floating:
        raise DTypeError(f"linspace takes numbers for its ends, not {first.dtype.name}")
    count = integer("linspace", "num", num, 0)
    if first._array.shape != last._array.shape:
        raise InvalidArgumentError(
            f"linspace: start and stop must have one shape, not {list(first.shape)} and {list(last.shape)}"
        )
    a = one_axis("linspace", axis, first.ndim + 1) + first.ndim + 1
    afford("linspace", (count, *first._array.shape), 4 * first.dtype.size)
    steps = np.arange(count, dtype=first._array.dtype).reshape(*[1] * a, count, *[1] * (first.ndim - a))
    if first.ndim:  # numbers broadcast as they are
        first, last = expand_dims(first, a), expand_dims(last, a)
    slope = apply2(divide, apply2(subtract, last, first), float(max(count - 1, 1)))
    between = apply2(add, first, apply2(multiply, slope, wrap(steps)))
    return apply(select, (wrap(steps == count - 1), last, between)) if count > 1 else between


def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: Axis | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Rows with one value at an index and another one elsewhere, along a new axis.

    Args:
        indices: the index in each row; one outside the row marks nothing.
        depth: the length of a row.
        on_value, off_value: the values at the index (1 by default) and elsewhere (0 by default).
        axis: the position of the new axis; by default the last.
        dtype: of the result; by default that of the values, or float32.

    Raises:
        DTypeError: if the indices are no integers, or the values not of the dtype.
        InvalidArgumentError: if `depth` is negative, or there is no such axis.

    >>> one_hot([0, 2], 3).numpy()
    array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    at = convert(indices, None, np.dtype(np.int32))._array
    if at.dtype.kind not in "iu":
        raise DTypeError(f"one_hot: indices must be integers, not {at.dtype}")
    a = -1 if axis is None else integer("one_hot", "axis", axis)
    if not -1 <= a <= at.ndim:
        raise InvalidArgumentError(
            f"one_hot: axis {axis} is out of range for indices of shape {list(at.shape)}"
        )
    length = integer("one_hot", "depth", depth, 0)
    afford("one_hot", (max(at.size, 8), length), 1 + (4 if dtype is None else dtypes.as_dtype(dtype).size))
    hot = at[..., None] == np.arange(length)
    if a != -1:
        hot = xp(at).moveaxis(hot, -1, a)
    values = [v for v in (on_value, off_value) if v is not None]
    if dtype is not None:
        kind = _numpy(dtype)
    else:
        kind = convert(values[0])._array.dtype if values else np.dtype(np.float32)
    if not values and kind.kind != "O":
        return wrap(hot.astype(kind))
    on = convert(1 if on_value is None else on_value, None, kind)
    off = convert(0 if off_value is None else off_value, None, kind)
    if kind.kind == "b":
        on, off = (
            convert(True if on_value is None else on_value),
            convert(False if off_value is None else off_value),
        )
    for value in (on, off):
        if value._array.dtype != kind:
            raise DTypeError(f"one_hot: on_value and off_value must be of dtype {dtypes.as_dtype(kind).name}")
    return apply(select, (hot, on, off))
