"""Tensors without a value yet: `hot` and `compiled.segments` hand them out, and compute them when somebody looks."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ..engine.pending import PendingArray
from .tensor import Tensor, create_missing_by

_both_of = Tensor.__dict__["_both"].__get__
_numpy_of = Tensor.__dict__["_array"].__get__
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


def create_array(tensor: Tensor) -> Any:
    """Create the array of a tensor without a value when it is first asked for; None if it has none to be computed."""
    promise = getattr(tensor, "_both", None)
    if type(promise) is not tuple:
        return None
    source, result = promise[:2]
    with source._lock:
        if getattr(tensor, "_both", None) is promise:
            tensor._array = pending = PendingArray(source, result)
            tensor._both = (source, result, pending)
            source._arrays.append(pending)
            return pending
    return None


def create_missing(tensor: Tensor, name: str) -> Any:
    """Create what a tensor lacks, in a program that compiles nothing: see `tensor.create_missing_by`."""
    if name != "_array":
        return object.__getattribute__(tensor, name)  # says what is missing
    array = create_array(tensor)
    return _numpy_of(tensor) if array is None else array  # another thread has given it its value meanwhile


def create_missing_arrays() -> None:
    """Have the arrays of tensors without values be created, also where nothing is compiled."""
    if not hasattr(Tensor, "__getattr__"):  # else `compiled.buffers` does so
        create_missing_by(create_missing)


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
