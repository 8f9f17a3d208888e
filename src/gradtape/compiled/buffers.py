"""The arrays of variables and tensors, as compiled programs read and write them.

A program writes variables in place: their arrays are donated, and the program reuses their memory. If anything else has
one of them (a tape, for a gradient to come; a call in another thread), the program is given a copy.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import jax
import numpy as np
from jax._src.lib import xla_client  # type: ignore[attr-defined]

from ..core.errors import FailedPreconditionError, UnimplementedError
from ..core.pending_tensors import create_array
from ..core.tensor import Tensor, create_missing_by, device_of
from ..core.trace_errors import no_value
from ..core.variable import Variable
from ..engine.arrays import is_traced
from ..engine.pending import computed
from ..engine.reference_counts import UNSHARED_ITEMS
from .placeholders import Text

blank = object.__new__
_numpy_of = Tensor.__dict__["_array"].__get__
x64 = jax.enable_x64
writing = threading.RLock()  # held while a compiled function writes variables


def _create_view(self: Tensor, name: str) -> Any:
    """Create the NumPy view of a compiled result on first access."""
    if name == "_array":
        try:
            device = device_of(self)
        except AttributeError:
            promise: Any = getattr(self, "_both", None)
            pending = create_array(self)  # of a result in the pass of a hot tape
            if pending is not None:
                return pending
            try:
                return _numpy_of(self)  # another thread has given it its value meanwhile
            except AttributeError:
                pass
            if type(promise) is Text:  # an argument of a function that is being traced
                self._array = array = promise.read()
                return array
            device = self._device
        if not device.is_fully_addressable and not device.is_fully_replicated:
            raise UnimplementedError(
                f"a tensor of shape {list(device.shape)} is divided among several processes, and this one has a part "
                "of it: read it in a @tf.function, or first relayout(tensor, Layout.replicated(mesh, rank)) by "
                "tf.experimental.dtensor, which all processes must call"
            )
        self._both = device
        self._array = array = np.asarray(device)
        return array
    if (
        name == "_key" and type(promise := getattr(self, "_both", None)) is tuple
    ):  # a result of an open segment
        promise[0].compute()
        return object.__getattribute__(self, name)
    if name[:7] == "__array":  # NumPy asks for ways to an array that tensors do not offer
        raise AttributeError(name)
    if name != "_device":
        return object.__getattribute__(self, name)  # says what is missing
    with writing:  # a compiled function in another thread may be computing it
        try:
            return device_of(self)
        except AttributeError:
            pass
    raise FailedPreconditionError(
        "a Variable whose initial value a @function was to compute has none, because the function failed: make "
        "the variable anew, and call the function again"
    )


create_missing_by(_create_view)


def on_device(tensor: Tensor) -> Any:
    """The array of a tensor on JAX's device. It stays with the tensor: the next call finds it there."""
    try:
        return device_of(tensor)
    except AttributeError:
        if is_traced(tensor._array):
            raise no_value("an argument of a function", tensor._array) from None
        tensor._both = tensor._device = array = _put(tensor._array)
        return array


def as_argument(tensor: Tensor) -> Any:
    """The array of a tensor for one call of a program.

    A tensor that comes for the first time, such as a batch, is passed as NumPy's array, which takes JAX 2 us, and 15 us
    to put it on the device before. One that comes again is put there, and stays.
    """
    try:
        return device_of(tensor)
    except AttributeError:
        array = tensor._array
    if type(array) is not np.ndarray or hasattr(tensor, "_both"):
        return on_device(tensor)
    tensor._both = None
    return array


_copy = jax.jit(lambda array: array)
_puts: dict[Any, int] = {}  # how many small arrays of each shape and dtype were put on the device
_SMALL = 1 << 16  # bytes
_OFTEN = 128  # to compile a copy takes 20 ms


def _put(array: Any) -> Any:
    """An array on JAX's device.

    `device_put` takes 60 us, and compiled code that is given the array 6 us: worth compiling for the batches of a loop.
    """
    put = jax.device_put
    array = computed(array)
    if array.nbytes <= _SMALL:
        kind = array.shape, array.dtype
        count = _puts[kind] = _puts.get(kind, 0) + 1
        put = _copy if count > _OFTEN else put
    if array.dtype.itemsize < 8:
        return put(array)
    with x64(True):  # else JAX makes 32 bits of 64
        return put(array)


def tensors(arrays: list[Any]) -> list[Tensor]:
    """`from_device` of each."""
    return [from_device(array) for array in arrays]


def from_device(array: Any, key: int = 0) -> Tensor:
    """A tensor for a result of compiled code. NumPy's view of it is created on first access."""
    tensor = blank(Tensor)
    tensor._device = array
    tensor._key = key
    return tensor


def values_of(variables: list[Variable]) -> list[Any]:
    """The arrays of variables, to be read: as long as they are in use, they are not donated."""
    if not variables:
        return []
    with writing:
        try:
            return [device_of(v._tensor) for v in variables]
        except AttributeError:
            return [device_of(on_device_tensor(v)) for v in variables]


def on_device_tensor(variable: Variable) -> Tensor:
    """A variable's tensor, with an array on JAX's device and no other: eager code may write into NumPy's."""
    tensor = variable._tensor
    try:
        device_of(tensor)
    except AttributeError:
        layout = getattr(variable, "layout", None)  # of a variable that is divided among devices
        array = _put(tensor._array) if layout is None else spread(tensor._array, layout.sharding)
        tensor = variable._tensor = from_device(array, variable._key)
    return tensor


def spread(array: Any, sharding: Any) -> Any:
    """An array on the devices of a sharding. With several processes, each has all of it, and no one asks another."""
    with x64(True):
        if sharding.is_fully_addressable:
            return jax.device_put(array, sharding)
        host = np.asarray(array)
        return jax.make_array_from_callback(host.shape, sharding, lambda index: host[index])


def specialize(
    compiled: Callable[..., Any],
    variables: list[Variable],
    constants: list[Any],
    expression: str,
    fallback: Callable[[list[Any]], Any],
) -> Callable[[list[Any]], Any]:
    """Generate the code of a call that reads variables, adds constants, computes, and returns tensors as in "[t0]".

    It takes 1 us less than a general one. `fallback` is called if a variable was not in compiled code before, or is
    being written in another thread.
    """
    names: dict[str, Any] = {f"v{i}": variable for i, variable in enumerate(variables)}
    values = "".join(f"device_of({name}._tensor), " for name in names)
    names |= {f"c{i}": constant for i, constant in enumerate(constants)}
    values += "".join(f"c{i}, " for i in range(len(constants)))
    lines = ["def run(inputs):"]
    if values:
        lines += [
            f"    try: given = ({values}*inputs,)",
            "    except AttributeError: return fallback(inputs)",
        ]
    lines.append(f"    results = compiled(*{'given' if values else 'inputs'})")
    for i in range(expression.count("t")):
        lines += [f"    t{i} = blank(Tensor)", f"    t{i}._device = results[{i}]", f"    t{i}._key = 0"]
    names |= {"device_of": device_of, "blank": blank, "Tensor": Tensor}
    names |= {"compiled": compiled, "fallback": fallback}
    exec("\n".join([*lines, f"    return {expression}"]), names)
    run: Callable[[list[Any]], Any] = names["run"]
    return run


def store(variables: list[Variable], arrays: list[Any]) -> None:
    """Store the results of a program in variables."""
    for variable, array in zip(variables, arrays):
        variable._tensor = from_device(array, variable._key)


# ---------------------------------------------------------------------------------------------------------------------
# Writing in place


# `consume(map(set_device, tensors, arrays))` runs in C from beginning to end: a Ctrl-C comes before it or after it.
consume = deque[Any](maxlen=0).extend
set_device = Tensor.__dict__["_device"].__set__
drop_device = Tensor.__dict__["_device"].__delete__


_copied_by_program = jax.jit(
    jax.numpy.copy
)  # without jit it is Python code of JAX's, which takes no interrupt well


def copied(array: Any) -> Any:
    """A copy of an array, on its device, without a program of XLA's. One on several devices is given as it is."""
    sharding = array.sharding
    if len(sharding.device_set) > 1:
        return array
    return xla_client.batched_device_put(
        array.aval, sharding, [np.array(array)], list(sharding.device_set), array.committed
    )


def copy_shared(variables: list[Variable], tensors: list[Tensor], arrays: list[Any]) -> None:
    """Copy those arrays, taken out of the tensors of variables, that are in use elsewhere.

    The old tensor keeps the array; the variable gets another tensor, and the copy is donated.
    """
    for i in range(len(arrays)):
        if getrefcount(tensors[i]) + getrefcount(arrays[i]) > UNSHARED_ITEMS:
            other, copy = blank(Tensor), _copied_by_program(arrays[i])
            other._key = variables[i]._key
            set_device(tensors[i], arrays[i])
            arrays[i], tensors[i] = copy, other
            variables[i]._tensor = other
