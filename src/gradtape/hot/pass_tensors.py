"""Tensors of a pass that share the array of another, and values of variables for its programs."""

from __future__ import annotations

import threading
from typing import Any

from ..core.tensor import Tensor, array_of, device_of, known_array
from ..core.variable import Variable
from ..engine.pending import PendingArray, computed

_moving = threading.Lock()  # held while a variable's value is moved to JAX's device
_drop_array = Tensor.__dict__["_array"].__delete__


def own_result(source: Any, tensor: Tensor) -> Tensor:
    """The tensor that a pass has handed out, for another that shares its array without a value; else the tensor."""
    array = array_of(tensor)
    if type(array) is PendingArray and array.source is source:
        handed: Tensor = source._seen[array.slot]
        return handed
    return tensor


def computed_array(tensor: Tensor) -> Any:
    """The array of a tensor from outside, computed now if that is the array of a result, or one of another pass."""
    array = known_array(tensor)
    if type(array) is PendingArray:
        tensor._array = array = array.value()
    return array


def value_on_device(variable: Variable) -> Tensor:
    """A variable's tensor, moved to JAX's device: eager code may write into NumPy's array."""
    tensor = variable._tensor
    if _has_device(tensor):
        return tensor
    from ..compiled.buffers import on_device  # imports JAX

    computed(tensor._array)  # if it is pending, before the lock: that may take a while, and other locks
    with _moving:
        if not _has_device(tensor):  # else it was computed on the device, or another thread has moved it
            on_device(tensor)
            del tensor._both
            _drop_array(tensor)
            if variable._is_slot:  # an optimizer's state gives a copy, and holds this one from now on
                variable._tensor = tensor
    return tensor


def value_in_memory(variable: Variable) -> Tensor:
    """A variable's tensor, with its value. While the pass holds the tensor, nothing writes into its array."""
    tensor = variable._tensor
    computed_array(tensor)
    return tensor


def _has_device(tensor: Tensor) -> bool:
    """Return whether a tensor has an array on JAX's device."""
    try:
        device_of(tensor)
    except AttributeError:
        return False
    return True
