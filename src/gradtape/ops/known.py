"""Arguments that must be known when an operation is called: shapes, sizes, places, numbers.

While a `@function` is traced, shapes are known; values computed in the function are not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.errors import DTypeError, InvalidArgumentError, ResourceExhaustedError, UnknownShapeError
from ..core.shapes import TensorShape
from ..core.tensor import Tensor
from ..core.tensor_conversion import convert
from ..core.trace_errors import where
from ..engine.arrays import is_traced
from ..engine.memory import available


def is_computed(value: Any) -> bool:
    """Return whether an argument is a tensor or variable whose value is known only when the compiled function runs."""
    return is_traced(getattr(value, "_array", None))


def known(name: str, what: str, array: Any) -> Any:
    """The array of an argument that decides what is computed, such as a shape.

    Args:
        name: the operation, for the error.
        what: the argument, for the error.

    Raises:
        UnknownShapeError: if the array is traced.
    """
    if is_traced(array):
        raise UnknownShapeError(
            f"{name}: {what} must be known while a @function is traced, and its values were computed in the function "
            f"({where()}). Give Python numbers or a constant; lengths are known from x.shape"
        )
    return array


def shape_known(name: str, what: str, array: Any, instead: str) -> Any:
    """The array of an argument whose values decide the shape of the result.

    Args:
        name: the operation, for the error.
        what: the argument, for the error.
        instead: what to do instead, for the error.

    Raises:
        UnknownShapeError: if the array is traced.
    """
    if is_traced(array):
        raise UnknownShapeError(
            f"{name}: the shape of the result depends on the values of {what}, which are not known while a @function "
            f"is traced ({where()}): {instead}, or call {name} outside of the function"
        )
    return array


_INTEGERS = frozenset([int])


def static_shape(name: str, shape: Any) -> tuple[int, ...]:
    """A shape argument (numbers, tensors, a tensor of numbers) as a tuple; -1 stays.

    Raises:
        DTypeError: if it is not made of integers.
        UnknownShapeError: if it is traced.
    """
    if (type(shape) is tuple or type(shape) is list) and _INTEGERS.issuperset(map(type, shape)):
        return tuple(shape)
    if isinstance(shape, Tensor) or hasattr(type(shape), "_read"):
        shape = known(name, "a shape, size or place", convert(shape)._array).tolist()
    if not isinstance(shape, (list, tuple, np.ndarray, TensorShape)) or not getattr(shape, "ndim", 1):
        shape = (shape,)
    try:
        return tuple([n.__index__() for n in shape])
    except (AttributeError, TypeError):
        pass
    try:
        return tuple([_length(name, n) for n in shape])
    except (AttributeError, TypeError):
        raise DTypeError(f"{name}: a shape is made of integers, not {shape!r}") from None


def _length(name: str, n: Any) -> int:
    """An integer, or a tensor or variable that holds one, of a floating dtype as well."""
    if type(n) is Tensor or hasattr(type(n), "_read"):
        number = known(name, "a shape, size or place", convert(n)._array).item()
        n = int(number) if isinstance(number, float) and number.is_integer() else number
    length: int = n.__index__()
    return length


def new_shape(name: str, shape: Any) -> tuple[int, ...]:
    """The shape of a tensor to be made, as a tuple: all lengths must be known.

    Raises:
        InvalidArgumentError: if a length is negative, or there are more than 2**63 - 1 elements.
    """
    lengths = static_shape(name, shape)
    if min(lengths, default=0) < 0:
        raise InvalidArgumentError(f"{name}: a length must be 0 or more, in the shape {list(lengths)}")
    if math.prod(lengths) >= 1 << 63 or max(lengths, default=0) >= 1 << 63:
        raise InvalidArgumentError(f"{name}: the shape {list(lengths)} has more than 2**63 - 1 elements")
    return lengths


_SMALL = 1 << 24  # elements, which fit any machine


def afford(name: str, shape: tuple[int, ...], size: int) -> None:
    """Raise if there is no memory to make a tensor of this shape.

    Call it wherever a shape comes from numbers that users give: a process that fills the memory is killed, which no
    `except` sees.

    Args:
        name: the operation, for the error.
        size: bytes for an element, those of intermediate results included.

    Raises:
        ResourceExhaustedError: if the memory does not suffice.
    """
    count = math.prod(shape)
    if count <= _SMALL:
        return
    free = available()
    if (free is not None and count * size > free) or count * size >= 1 << 63:
        raise ResourceExhaustedError(
            f"{name}: the shape {list(shape)} takes {_gigabytes(count * size)}"
            + (
                f" to make, and there are {_gigabytes(free)}"
                if free is not None
                else ": no memory holds that"
            )
        )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"


def static_number(what: str, value: Any) -> int:
    """An integer argument that may come as a tensor.

    Args:
        what: the operation and the argument, as in "split: axis", for the error.

    Raises:
        DTypeError: if it is not one integer.
        InvalidArgumentError: if it does not fit 64 bits.
        UnknownShapeError: if it is traced.
    """
    if type(value) is int and value.bit_length() < 64:
        return value
    name, _, argument = what.partition(": ")
    array = known(name, argument, convert(value)._array)
    try:
        number = array.reshape(()).item().__index__()
    except (AttributeError, ValueError, TypeError):
        raise DTypeError(f"{what} must be one integer, not {value!r}") from None
    if not -(1 << 63) <= number < 1 << 63:
        raise InvalidArgumentError(f"{what} must fit 64 bits, and {number} does not")
    return int(number)
