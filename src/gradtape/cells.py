"""What variables and tensors hold, as compiled programs read and write it.

A program writes variables in place: it is given their arrays, and the memory of those is its own. Whatever else has one
of them (a tape, for a gradient to come; a call in another thread) keeps it: then the program is given a copy.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import jax
import numpy as np

from .engine import is_traced
from .tensor import Tensor, device_of, writing
from .traced import no_value
from .variable import Variable

_new = object.__new__


def on_device(tensor: Tensor) -> Any:
    """The array of a tensor where compiled code can use it. Stays with the tensor: the next call finds it there."""
    try:
        return device_of(tensor)
    except AttributeError:
        if is_traced(tensor._array):
            raise no_value("an argument of a function", tensor._array) from None
        tensor._device = array = jax.device_put(tensor._array)
        return array


def from_device(array: Any, key: int = 0) -> Tensor:
    """A tensor for what compiled code computed. NumPy's view of it is made when somebody looks."""
    tensor = _new(Tensor)
    tensor._device = array
    tensor._key = key
    return tensor


def values_of(variables: list[Variable]) -> list[Any]:
    """The arrays of variables, to be read: as long as somebody has them, they are not given away."""
    if not variables:
        return []
    with writing:
        return [value_of(v) for v in variables]


def value_of(variable: Variable) -> Any:
    """The array of a variable. It is all that the variable holds from here on: eager code may write into NumPy's."""
    tensor = variable._tensor
    try:
        return device_of(tensor)
    except AttributeError:
        array = jax.device_put(tensor._array)
        variable._tensor = from_device(array, variable._key)
        return array


def store(variables: list[Variable], arrays: list[Any]) -> None:
    """Put what a program computed for them into variables."""
    for variable, array in zip(variables, arrays):
        variable._tensor = from_device(array, variable._key)


# ---------------------------------------------------------------------------------------------------------------------
# Written in place


def emptied(variables: list[Variable]) -> list[Tensor]:
    """New tensors in the variables, without a value yet. Whoever reads one in another thread waits for `writing`."""
    tensors = []
    for variable in variables:
        variable._tensor = tensor = _new(Tensor)
        tensor._key = variable._key
        tensors.append(tensor)
    return tensors


def to_give(tensors: list[Tensor], held: int) -> list[Any]:
    """The arrays of tensors that were in variables, to be written into: copies of those that somebody else has, too.

    `held` is how many lists of ours have them.
    """
    try:
        arrays = [device_of(t) for t in tensors]
    except AttributeError:
        arrays = [on_device(t) for t in tensors]
    if _references(tensors, arrays) != (ALONE + held) * len(arrays):
        for i in range(len(arrays)):
            if _references(tensors[i : i + 1], arrays[i : i + 1]) > ALONE + held + 2:  # in two more lists
                arrays[i] = jax.numpy.copy(arrays[i])
    return arrays


def _references(tensors: list[Tensor], arrays: list[Any]) -> int:
    return sum(map(getrefcount, tensors)) + sum(map(getrefcount, arrays))


def _alone() -> int:
    """What `_references` says of a tensor and its array that nobody but its two lists holds."""
    tensors = [from_device(np.zeros(1))]
    return _references(tensors, [t._device for t in tensors]) - 1


ALONE = _alone()
