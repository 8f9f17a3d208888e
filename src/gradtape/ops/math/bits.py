"""Public functions of `tf.bitwise`: each is its primitive, applied to integers.

`__all__` is what the namespace offers.
"""

from __future__ import annotations

from ...core.primitive import apply1, apply2
from ...core.tensor import Tensor
from ...core.types import TensorLike
from . import elementwise

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]


def bitwise_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bits set in both.

    >>> int(bitwise_and(6, 3))
    2
    """
    return apply2(elementwise.bitwise_and, x, y)


def bitwise_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bits set in either.

    >>> int(bitwise_or(6, 3))
    7
    """
    return apply2(elementwise.bitwise_or, x, y)


def bitwise_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bits set in one and not the other.

    >>> int(bitwise_xor(6, 3))
    5
    """
    return apply2(elementwise.bitwise_xor, x, y)


def invert(x: TensorLike, name: str | None = None) -> Tensor:
    """Every bit inverted.

    >>> int(invert(6))
    -7
    """
    return apply1(elementwise.invert, x)


def left_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x with its bits moved up by y places.

    >>> int(left_shift(3, 2))
    12
    """
    return apply2(elementwise.left_shift, x, y)


def right_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x with its bits moved down by y places; the sign stays.

    >>> int(right_shift(-8, 1))
    -4
    """
    return apply2(elementwise.right_shift, x, y)
