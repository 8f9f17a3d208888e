"""What variables and tensors hold, as compiled programs read and write it.

A program writes variables in place: it is given their arrays, and the memory of those is its own. Whatever else has one
of them (a tape, for a gradient to come; a call in another thread) keeps it: then the program is given a copy.
"""

from __future__ import annotations

import threading
from sys import getrefcount
from typing import Any

import jax
import numpy as np

from .tensor import Tensor, device_of
from .variable import Variable

_new = object.__new__


def on_device(tensor: Tensor) -> Any:
    """The array of a tensor where compiled code can use it. Stays with the tensor: the next call finds it there."""
    try:
        return device_of(tensor)
    except AttributeError:
        tensor._device = array = jax.device_put(tensor._array)
        return array


def from_device(array: Any, key: int = 0) -> Tensor:
    """A tensor for what compiled code computed. NumPy's view of it is made when somebody looks."""
    tensor = _new(Tensor)
    tensor._device = array
    tensor._key = key
    return tensor


# Held while variables are written in place: nobody must take what is about to go.
writing = threading.RLock()


def values_of(variables: list[Variable]) -> list[Any]:
    """The arrays of variables, to be read: as long as somebody has them, they are not given away."""
    if not variables:
        return []
    with writing:
        return [on_device(v._tensor) for v in variables]


def to_give(variables: list[Variable]) -> list[Any]:
    """The arrays of variables, to be written into: copies of those that somebody else has as well."""
    tensors = [v._tensor for v in variables]
    try:
        arrays = [device_of(t) for t in tensors]
    except AttributeError:
        arrays = [on_device(t) for t in tensors]
    if references(tensors, arrays) != ALONE * len(arrays):
        for i in range(len(arrays)):
            if references(tensors[i : i + 1], arrays[i : i + 1]) > ALONE + 2:  # in two more lists
                arrays[i] = jax.numpy.copy(arrays[i])
    return arrays


def references(tensors: list[Tensor], arrays: list[Any]) -> int:
    return sum(map(getrefcount, tensors)) + sum(map(getrefcount, arrays))


def _alone() -> int:
    """What `references` says of a tensor and its array that one variable alone holds."""
    variable = Variable(0.0)
    variable._tensor = _new(Tensor)
    variable._tensor._device = np.zeros(1)
    tensors = [v._tensor for v in [variable]]
    return references(tensors, [t._device for t in tensors])


ALONE = _alone()


def store(variables: list[Variable], arrays: list[Any]) -> None:
    """Put what a program computed for them into variables."""
    for variable, array in zip(variables, arrays):
        tensor = _new(Tensor)  # `from_device`, written out: this is done for each variable in each step
        tensor._device = array
        tensor._key = variable._key
        variable._tensor = tensor
