"""What variables and tensors hold, as compiled programs read and write it.

A program writes variables in place: it is given their arrays, and the memory of those is its own. Whatever else has one
of them (a tape, for a gradient to come; a call in another thread) keeps it: then the program is given a copy.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import jax
import numpy as np

from .engine import is_traced
from .errors import FailedPreconditionError
from .tensor import Tensor, device_of
from .traced import no_value
from .variable import Variable

blank = object.__new__
x64 = jax.enable_x64
writing = threading.RLock()  # held while a compiled function computes what variables are to hold


def _look(self: Tensor, name: str) -> Any:
    """What a tensor has not: NumPy's view of what compiled code computed for it, until somebody looks."""
    if name == "_array":
        self._array = array = np.asarray(self._device)
        return array
    if name != "_device":
        return object.__getattribute__(self, name)  # says what is missing
    with writing:  # a compiled function in another thread may be computing it
        pass
    try:
        return device_of(self)
    except AttributeError:
        pass
    raise FailedPreconditionError(
        "a Variable whose initial value a @function was to compute has none, because the function failed: make "
        "the variable anew, and call the function again"
    )


# With it, any attribute takes 0.05 us longer, which is 8 % of an eager program's time: so only where code is compiled.
Tensor.__getattr__ = _look  # type: ignore[attr-defined]


def on_device(tensor: Tensor) -> Any:
    """The array of a tensor where compiled code can use it. Stays with the tensor: the next call finds it there."""
    try:
        return device_of(tensor)
    except AttributeError:
        if is_traced(tensor._array):
            raise no_value("an argument of a function", tensor._array) from None
        tensor._device = array = _put(tensor._array)
        return array


def _put(array: Any) -> Any:
    if array.dtype.itemsize < 8:
        return jax.device_put(array)
    with x64(True):  # else JAX makes 32 bits of 64
        return jax.device_put(array)


def tensors(arrays: list[Any]) -> list[Tensor]:
    """`from_device` of each."""
    made = []
    for array in arrays:
        tensor = blank(Tensor)
        tensor._device = array
        tensor._key = 0
        made.append(tensor)
    return made


def from_device(array: Any, key: int = 0) -> Tensor:
    """A tensor for what compiled code computed. NumPy's view of it is made when somebody looks."""
    tensor = blank(Tensor)
    tensor._device = array
    tensor._key = key
    return tensor


def values_of(variables: list[Variable]) -> list[Any]:
    """The arrays of variables, to be read: as long as somebody has them, they are not given away."""
    if not variables:
        return []
    with writing:
        try:
            return [device_of(v._tensor) for v in variables]
        except AttributeError:
            return [value_of(v) for v in variables]


def value_of(variable: Variable) -> Any:
    """The array of a variable. It is all that the variable holds from here on: eager code may write into NumPy's."""
    tensor = variable._tensor
    try:
        return device_of(tensor)
    except AttributeError:
        array = _put(tensor._array)
        variable._tensor = from_device(array, variable._key)
        return array


def reader(variables: list[Variable]) -> Callable[[], Any]:
    """A function that gives the arrays of these variables: `values_of` written out, in a third of the time.

    It raises AttributeError where a variable was not in compiled code before, or is being written in another thread.
    """
    names = {f"v{i}": variable for i, variable in enumerate(variables)}
    arrays = "".join([f"device_of({name}._tensor), " for name in names])
    function: Callable[[], Any] = eval(f"lambda: ({arrays})", {"device_of": device_of, **names})
    return function


def store(variables: list[Variable], arrays: list[Any]) -> None:
    """Put what a program computed for them into variables."""
    for variable, array in zip(variables, arrays):
        variable._tensor = from_device(array, variable._key)


# ---------------------------------------------------------------------------------------------------------------------
# Written in place


# `do(map(set_value, variables, tensors))` runs inside of C from beginning to end: a Ctrl-C comes before it or after it.
do = deque[Any](maxlen=0).extend
set_value = Variable.__dict__["_tensor"].__set__
set_device = Tensor.__dict__["_device"].__set__


_copied = jax.jit(jax.numpy.copy)  # by itself it is Python code of JAX's, which takes no interrupt well


def to_give(tensors: list[Tensor]) -> list[Any]:
    """The arrays of tensors that were in variables, to be written into: copies of those that somebody else has, too."""
    try:
        arrays = [*map(device_of, tensors)]
    except AttributeError:
        arrays = [on_device(t) for t in tensors]
    if sum(map(getrefcount, tensors)) + sum(map(getrefcount, arrays)) != ALONE * len(arrays):
        for i in range(len(arrays)):
            if _references(tensors[i : i + 1], arrays[i : i + 1]) > ALONE + 2:  # in two more lists
                arrays[i] = _copied(arrays[i])
    return arrays


def _references(tensors: list[Tensor], arrays: list[Any]) -> int:
    return sum(map(getrefcount, tensors)) + sum(map(getrefcount, arrays))


def _alone() -> int:
    """What `_references` says of a tensor and its array that nobody but two lists have."""
    tensors = [from_device(np.zeros(1))]
    return _references(tensors, [t._device for t in tensors])


ALONE = _alone()
