"""Norms of vectors and matrices, and tensors divided by their norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dtypes import HALF, is_differentiable
from ...core.errors import DTypeError
from ...core.primitive import apply, apply1, apply2, rounded
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import Axes, TensorLike
from ..array.movement import cast, reshape, squeeze, static_shape, transpose
from ..math.complexes import abs as absolute
from ..math.elementwise import divide_no_nan, equal, maximum, multiply, number, power, rsqrt, select, square
from ..math.reduction import axes, euclidean_norm, one_axis, reduce_max, reduce_sum


def _floating(name: str, value: Any) -> Any:
    """Convert a value to a tensor, which must be floating or complex."""
    x = convert(value)
    if not is_differentiable(x._array):
        raise DTypeError(f"{name} takes floating tensors, not {x.dtype.name}: use cast(x, 'float32')")
    return x


def norm(
    tensor: TensorLike,
    ord: str | float = "euclidean",
    axis: Axes = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """The norm of the vectors along `axis`, or of the matrices in two axes. The gradient at 0 is 0.

    Args:
        tensor: A floating or complex tensor.
        ord: For vectors 'euclidean', 1, 2, np.inf or any positive number. For matrices 'euclidean' or 'fro' (the root
            of the sum of squares), 1 (the largest sum of a column), np.inf (the largest sum of a row) or 2 (the largest
            singular value).
        axis: One axis for vectors, a list of two for matrices. By default all elements are one vector.
        keepdims: Keep the axes, with length 1.

    Raises:
        ValueError: If `ord` is no norm for vectors or matrices, or `axis` lists other than two axes.
        DTypeError: If the tensor holds integers, booleans or strings.

    >>> float(norm([3.0, 4.0]))
    5.0
    """
    x = _floating("norm", tensor)
    if isinstance(axis, (list, tuple, np.ndarray)):
        return _matrix_norm(x, ord, static_shape("norm: axis", axis), bool(keepdims))
    positive = isinstance(ord, (int, float, np.integer, np.floating)) and ord > 0
    if not positive and not (isinstance(ord, str) and ord == "euclidean"):
        raise ValueError(
            f"norm: ord must be 'euclidean', np.inf or a positive number for vectors, not {ord!r}: matrix norms need "
            "an axis of two numbers"
        )
    over = axes("norm", axis, x.ndim)
    if ord in ("euclidean", 2):
        return _euclidean(x, over, bool(keepdims))
    size = absolute(x)
    if ord == np.inf:
        return reduce_max(size, over, bool(keepdims))
    if ord == 1:
        return reduce_sum(size, over, bool(keepdims))
    if x._array.dtype.char in HALF:
        return rounded(norm, x, ord=ord, axis=axis, keepdims=keepdims)
    total = reduce_sum(apply(power, (size, float(ord))), over, bool(keepdims))
    zero = apply(equal, (total, 0.0))  # where the slope of the root is infinite
    root = apply(power, (apply(select, (zero, number(1.0, total), total)), 1.0 / float(ord)))
    return apply(select, (zero, number(0.0, total), root))


def _euclidean(x: Any, over: tuple[int, ...], keepdims: bool) -> Tensor:
    """The root of the sum of squares: of complex tensors in their own dtype, as in TensorFlow."""
    length = apply1(euclidean_norm, x, {"axis": over, "keepdims": keepdims})
    return cast(length, x.dtype) if x._array.dtype.kind == "c" else length


def _matrix_norm(x: Any, ord: Any, axis: tuple[int, ...], keepdims: bool) -> Tensor:
    """The norm of the matrices in two axes."""
    if len(axis) != 2 or one_axis("norm", axis[0], x.ndim) == one_axis("norm", axis[1], x.ndim):
        raise ValueError(f"norm: axis must be None, a number, or two different ones, not {list(axis)}")
    if not isinstance(ord, (str, int, float)) or ord not in ("euclidean", "fro", 1, 2, np.inf):
        raise ValueError(f"norm: ord must be 'euclidean', 'fro', 1, 2 or np.inf for matrices, not {ord!r}")
    rows, columns = (one_axis("norm", a, x.ndim) for a in axis)
    if ord in ("euclidean", "fro"):
        return _euclidean(x, axes("norm", axis, x.ndim), keepdims)
    if ord == 2:
        return _spectral(x, rows, columns, keepdims)
    summed, across = (rows, columns) if ord == 1 else (columns, rows)
    result = reduce_max(reduce_sum(absolute(x), summed, True), across, True)
    return result if keepdims else squeeze(result, [rows, columns])


def _spectral(x: Any, rows: int, columns: int, keepdims: bool) -> Tensor:
    """The largest singular value of the matrices in two axes."""
    from .factorizations import svd

    rest = [a for a in range(-x.ndim, 0) if a not in (rows, columns)]
    x = transpose(x, (*rest, rows, columns))
    result = reduce_max(svd(x, compute_uv=False), -1)
    kept = list(x._array.shape[:-2])
    for a in sorted((rows + x.ndim, columns + x.ndim)):
        kept.insert(a, 1)
    return reshape(result, kept) if keepdims else result


def normalize(
    tensor: TensorLike, ord: str | float = "euclidean", axis: Axes = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The tensor divided by its norm, and the norm. Zeros stay zeros, with gradient 0.

    `ord` and `axis` are those of `norm`.

    >>> unit, length = normalize([3.0, 4.0])
    >>> unit.numpy(), length.numpy()
    (array([0.6, 0.8], dtype=float32), array([5.], dtype=float32))
    """
    x = convert(tensor)
    if x._array.dtype.char in HALF and x.dtype.is_floating:
        return rounded(normalize, x, ord=ord, axis=axis)
    length = cast(norm(x, ord, axis, keepdims=True), x.dtype)
    return apply(divide_no_nan, (x, length)), length


def l2_normalize(
    x: TensorLike, axis: Axes = None, epsilon: float = 1e-12, name: str | None = None, dim: Axes = None
) -> Tensor:
    """The tensor divided by the root of its sum of squares.

    Args:
        x: A floating or complex tensor.
        axis: The axes to sum over, all by default.
        epsilon: The least value of the sum of squares: vectors of zeros stay zeros.
        dim: An old name of `axis`.

    Raises:
        DTypeError: If `x` holds integers, booleans or strings.

    >>> l2_normalize([3.0, 4.0]).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    value = _floating("l2_normalize", x)
    if value._array.dtype.char in HALF:
        return rounded(l2_normalize, value, axis=axis, epsilon=epsilon, dim=dim)
    size = absolute(value) if value._array.dtype.kind == "c" else value
    total = reduce_sum(apply1(square, size), dim if axis is None else axis, keepdims=True)
    scale = apply1(rsqrt, apply2(maximum, total, epsilon))
    return apply2(multiply, value, cast(scale, value.dtype))
