"""Arithmetic composed of elementwise primitives: powers, sums of lists, scaled tensors, polynomials, order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dtypes import HALF, as_dtype
from ...core.errors import DTypeError, InvalidArgumentError
from ...core.indexed_slices import IndexedSlices
from ...core.primitive import Primitive, apply, apply1, apply2, rounded
from ...core.shapes import TensorShape
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert, convert_to_tensor, floating_tensor
from ...core.types import DTypeLike, ShapeLike, TensorLike
from ..array.movement import identity, reshape, together
from .elementwise import add, divide_no_nan, greater, greater_equal, multiply, number, power
from .elementwise import reciprocal as reciprocal_
from .python_operators import raise_to
from .reduction import reduce_all


def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x to the power y, element by element. The gradient of x ** 0 is 0, also at 0.

    >>> float(pow(2.0, 3.0))
    8.0
    """
    if type(y) in (int, float) and type(x) not in (int, float, bool, complex):
        x = convert(x)
    return raise_to(x, y) if type(x) is Tensor else apply2(power, x, y)


def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / x for each element.

    Raises:
        DTypeError: If x holds integers, booleans or strings.

    >>> float(reciprocal(4.0))
    0.25
    """
    return apply1(reciprocal_, floating_tensor("reciprocal", x, allow_complex=True))


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / x for each element, and 0 where x is 0. Raises as `reciprocal` does.

    >>> reciprocal_no_nan([2.0, 0.0]).numpy()
    array([0.5, 0. ], dtype=float32)
    """
    value = floating_tensor("reciprocal_no_nan", x, allow_complex=True)
    return apply(divide_no_nan, (number(1, value), value))


def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Any:
    """A scalar times a tensor, or times the rows of `IndexedSlices`, which stay `IndexedSlices`.

    Raises:
        ValueError: If `scalar` has axes.

    >>> scalar_mul(2.0, [1.0, 2.0]).numpy()
    array([2., 4.], dtype=float32)
    """
    if isinstance(x, IndexedSlices):
        return x.map_values(lambda values: scalar_mul(scalar, values))
    value = convert(x)
    factor = convert(scalar, None, value._array.dtype)
    if factor.ndim:
        raise ValueError(
            f"scalar_mul: the first factor must be a scalar, not of shape {list(factor._array.shape)}"
        )
    return apply(multiply, (factor, value))


def add_n(inputs: Sequence[TensorLike] | Tensor, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape.

    Raises:
        ValueError: If there are none.
        InvalidArgumentError: If their shapes differ.

    >>> float(add_n([1.0, 2.0, 3.0]))
    6.0
    """
    if not isinstance(inputs, (list, tuple, Tensor)) or not len(inputs):
        raise ValueError("add_n takes a list of at least one tensor")
    return _sum_of("add_n", [convert_to_tensor(x) if isinstance(x, IndexedSlices) else x for x in inputs])


def _sum_of(name: str, values: list[Any]) -> Tensor:
    tensors = together(name, values)
    if len(tensors) > 2 and tensors[0]._array.dtype.char in HALF:
        return rounded(lambda *wide: _sum_of(name, list(wide)), *tensors)
    total = tensors[0] if len(tensors) > 1 else identity(tensors[0])
    for x in tensors[1:]:
        if x._array.shape != total._array.shape:
            raise InvalidArgumentError(
                f"{name}: the tensors must have one shape, not {list(total._array.shape)} and {list(x._array.shape)}"
            )
        total = apply(add, (total, x))
    return total


def accumulate_n(
    inputs: Sequence[TensorLike],
    shape: ShapeLike | None = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The sum of tensors of one shape; `shape` and `tensor_dtype`, where given, must be theirs.

    Raises:
        ValueError: If there are no tensors, or they do not have the shape.
        InvalidArgumentError: If their shapes differ.
        DTypeError: If they do not have the dtype.

    >>> accumulate_n([[1.0, 2.0], [3.0, 4.0]]).numpy()
    array([4., 6.], dtype=float32)
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("accumulate_n takes a list of at least one tensor")
    total = _sum_of("accumulate_n", list(inputs))
    if tensor_dtype is not None and as_dtype(tensor_dtype) is not total.dtype:
        raise DTypeError(
            f"accumulate_n: tensor_dtype is {as_dtype(tensor_dtype).name}, but the tensors are {total.dtype.name}"
        )
    if shape is not None and not TensorShape(shape).is_compatible_with(total.shape):
        raise ValueError(
            f"accumulate_n: shape is {TensorShape(shape)}, but the tensors have shape {total.shape}"
        )
    return total


def polyval(coeffs: list[Any], x: TensorLike, name: str | None = None) -> Tensor:
    """The value of a polynomial at `x`.

    Args:
        coeffs: The coefficients, that of the highest power first.
        x: The numbers to take the polynomial at.

    Raises:
        ValueError: If `coeffs` is no list.

    >>> float(polyval([1.0, 2.0, 3.0], 2.0))
    11.0
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"polyval: coeffs must be a list, not {type(coeffs).__name__}: use unstack(coeffs)")
    at = convert(x)
    value = convert(coeffs[0] if coeffs else np.zeros_like(at._array), None, at._array.dtype)
    for c in coeffs[1:]:
        value = value * at + convert(c, None, at._array.dtype)
    return value


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether no element is smaller than the one before it. True if there are fewer than two.

    >>> bool(is_non_decreasing([1, 1, 2]))
    True
    """
    return _each_after(x, greater_equal)


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether each element is larger than the one before it. True if there are fewer than two.

    >>> bool(is_strictly_increasing([1, 1, 2]))
    False
    """
    return _each_after(x, greater)


def _each_after(x: Any, compare: Primitive) -> Tensor:
    """Whether a comparison holds between each element and the one before it."""
    flat = reshape(x, (-1,))
    return reduce_all(apply(compare, (flat[1:], flat[:-1])))
