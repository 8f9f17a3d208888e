"""Tensors whose value a pass will compute: how they are told from others, and how they get it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ..compiled.buffers import on_device
from ..core.tensor import Tensor, array_of, device_of
from ..core.variable import Variable
from ..engine.pending import PendingArray, computed

_moving = threading.Lock()  # held while a variable's value is moved to JAX's device
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


def is_pending(tensor: Tensor) -> bool:
    """Return whether a tensor has no value yet."""
    try:
        return type(_both_of(tensor)) is tuple
    except AttributeError:
        return False


def own_result(source: Any, tensor: Tensor) -> Tensor:
    """The tensor that a pass has handed out, for another that shares its array without a value; else the tensor."""
    array = array_of(tensor)
    if type(array) is PendingArray and array.source is source:
        handed: Tensor = source._seen[array.slot]
        return handed
    return tensor


def computed_copy(tensor: Tensor) -> None:
    """Compute the value of a tensor from outside that shares the array of a result, or is one of another pass."""
    array = array_of(tensor)
    if type(array) is PendingArray:
        tensor._array = array.value()


def value_on_device(variable: Variable) -> Tensor:
    """A variable's tensor, moved to JAX's device: eager code may write into NumPy's array."""
    tensor = variable._tensor
    if _has_device(tensor):
        return tensor
    computed(tensor._array)  # if it is pending, before the lock: that may take a while, and other locks
    with _moving:
        if not _has_device(tensor):  # else it was computed on the device, or another thread has moved it
            on_device(tensor)
            del tensor._both
            _drop_array(tensor)
            variable._tensor = tensor  # an optimizer's state gives a copy, and holds this one from now on
    return tensor


def _has_device(tensor: Tensor) -> bool:
    """Return whether a tensor has an array on JAX's device."""
    try:
        device_of(tensor)
    except AttributeError:
        return False
    return True


def fill(tensor: Tensor, array: Any) -> None:
    """Give a tensor without a value the one that was computed for it. It then is the pass's no more.

    Others may hold its array without a value, and readers in other threads find one or the other.
    """
    _, _, *pending = tensor._both
    if pending and type(array) is not np.ndarray:
        tensor._device = array
        _drop_array(tensor)
    else:
        give(tensor, array)
    for one in pending:
        one.source = _Known(tensor)
    del tensor._both


def give(tensor: Tensor, array: Any) -> None:
    """Give a new tensor its value: JAX's array, or NumPy's."""
    if type(array) is np.ndarray:
        tensor._array = array
    else:
        tensor._device = array
