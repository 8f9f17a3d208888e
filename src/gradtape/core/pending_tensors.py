"""Tensors without a value yet: `hot` and `compiled.segments` hand them out, and compute them when somebody looks."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from .tensor import Tensor

_both_of = Tensor.__dict__["_both"].__get__
_drop_array = Tensor.__dict__["_array"].__delete__


class _Known:
    """The source of a pending array that others may hold, once the tensor it was made for has its value."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def value_of(self, slot: int) -> Any:
        """The NumPy array."""
        return self._tensor._array


def known_by(tensor: Tensor) -> _Known:
    """The source of an array without a value whose tensor has one now."""
    return _Known(tensor)


def is_pending(tensor: Tensor | None) -> bool:
    """Return whether a tensor has no value yet."""
    try:
        return type(_both_of(tensor)) is tuple
    except (AttributeError, TypeError):  # TypeError: None, of an event that an interrupt cut short
        return False


def fill(tensor: Tensor, array: Any) -> None:
    """Give a tensor without a value the one that was computed for it. It then is the pass's no more.

    Others may hold its array without a value, and readers in other threads find one or the other.
    """
    _, _, *pending = tensor._both
    if pending and type(array) is not np.ndarray:
        tensor._device = array
        with suppress(AttributeError):  # an interrupt came after this, and it is given the value once more
            _drop_array(tensor)
    else:
        give(tensor, array)
    for one in pending:
        one.source = known_by(tensor)
    del tensor._both


def give(tensor: Tensor, array: Any) -> None:
    """Give a new tensor its value: JAX's array, or NumPy's."""
    if type(array) is np.ndarray:
        tensor._array = array
    else:
        tensor._device = array
