"""PendingArray: the array of a tensor whose value is computed when somebody looks at it.

Shape and dtype are known; anything else that is asked of it computes the value and asks NumPy. `hot` makes them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np


class PendingArray:
    """Stands for one NumPy array: the result `slot` of `source`, whose `value_of(slot)` computes it.

    Args:
        source: computes the value.
        result: the slot, the shape and the dtype.
    """

    __slots__ = ("__weakref__", "dtype", "shape", "slot", "source")
    __array_priority__ = 50

    def __init__(self, source: Any, result: tuple[int, tuple[int, ...], np.dtype[Any]]) -> None:
        self.source = source
        self.slot, self.shape, self.dtype = result

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    def value(self) -> Any:
        """The NumPy array, computed now if it was not before."""
        value = self.source.value_of(self.slot)
        # None if the pass of a hot tape has ended in another thread meanwhile, which has given this another source.
        return self.source.value_of(self.slot) if value is None else value

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.value(), dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*map(computed, inputs), **options)

    def __reduce__(self) -> Any:
        return np.asarray, (self.value(),)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.value(), name)


def computed(array: Any) -> Any:
    """The array itself, and the value of a pending one."""
    return array.value() if type(array) is PendingArray else array


def _unary(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: function(self.value())


def _binary(function: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return (
        lambda self, other: function(self.value(), computed(other)),
        lambda self, other: function(computed(other), self.value()),
    )


# Python looks operators up on the class, so that `__getattr__` does not serve them.
for _name in ("neg", "pos", "abs", "invert", "index"):
    setattr(PendingArray, f"__{_name}__", _unary(getattr(operator, _name)))
for _kind in (bool, int, float, complex, iter, repr, str):
    setattr(PendingArray, f"__{_kind.__name__}__", _unary(_kind))
for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
):
    _function = getattr(operator, f"__{_name}__")
    _straight, _reflected = _binary(_function)
    setattr(PendingArray, f"__{_name}__", _straight)
    setattr(PendingArray, f"__r{_name}__", _reflected)
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "getitem", "contains"):
    setattr(PendingArray, f"__{_name}__", _binary(getattr(operator, _name))[0])
