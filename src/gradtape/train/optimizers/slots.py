"""Where optimizers keep their state, and how one call updates many small variables.

An update is elementwise, so the values and the state of many variables may lie end to end in one buffer: a dozen NumPy
calls then serve two hundred variables, where they would otherwise serve one.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.tensor import Tensor, wrap
from ...core.variable import Variable
from ...engine.arrays import LARGE, cores, pool

# (value, gradient, state) -> the new value and state. NumPy arrays, but for the gradient, may be written into.
Advance = Callable[[Any, Any, list[Any]], tuple[Any, list[Any]]]

SMALL = 1 << 14  # elements: up to here, copying a variable into a buffer costs less than the calls it saves
MANY = 8  # variables: from here on, a compiled program updates them as one
CHUNK = 1 << 16  # elements whose temporaries stay in the processor's cache


class Slot(Variable):
    """A variable of an optimizer's own state. Its array is private: reading gives a copy.

    So an update may write into the array without counting references, and it may be a part of a larger buffer.
    """

    _is_slot = True

    __slots__ = ("_given", "_home", "layout")

    def __init__(self, value: Any, name: str, layout: Any = None) -> None:
        self._home = value
        self.layout = layout  # of a variable that is divided among devices: its state is divided alike
        self._given: Tensor | None = (
            None  # a value that was assigned, until the next update copies it to `_home`
        )
        super().__init__(wrap(value), trainable=False)
        self._name = name
        self._given = None

    @property
    def _tensor(self) -> Tensor:
        if self._given is not None:
            return self._given
        tensor = wrap(self._home.copy())
        tensor._key = self._key
        return tensor

    @_tensor.setter
    def _tensor(self, tensor: Tensor) -> None:
        self._given = tensor

    def home(self) -> Any:
        """The private array, with the value in it."""
        if self._given is not None:
            self._home[...] = self._given._array
            self._given = None
        return self._home

    def __copy__(self) -> Slot:
        return Slot(np.array(self._array), self._name, self.layout)

    def __reduce__(self) -> tuple[Any, ...]:
        return Slot, (np.array(self._array), self._name)


class Pack:
    """Variables of one dtype that are updated together: their values, gradients and state lie end to end."""

    __slots__ = ("_arrays", "_gradient", "_parts", "_slots", "_state", "_value", "_variables")

    def __init__(self, variables: list[Variable], slots: list[list[Slot]]) -> None:
        self._variables = variables
        self._slots = [slot for row in slots for slot in row]
        ends = np.cumsum([0] + [v._array.size for v in variables]).tolist()
        spans = [slice(start, end) for start, end in pairwise(ends)]
        shapes = [v._array.shape for v in variables]
        dtype = variables[0]._array.dtype
        self._value = np.empty(ends[-1], dtype)
        self._gradient = np.empty(ends[-1], dtype)
        self._parts = [self._value[span].reshape(shape) for span, shape in zip(spans, shapes)]
        # The arrays that the last step assigned to the variables: `_value` already holds their values.
        self._arrays: list[Any] = [None] * len(variables)
        self._state = [np.empty(ends[-1], dtype) for _ in slots[0]]
        for row, span, shape in zip(slots, spans, shapes):
            for buffer, slot in zip(self._state, row):
                part = buffer[span].reshape(shape)
                part[...] = slot.home()
                slot._home = part

    def step(self, gradients: list[Any], advance: Advance) -> None:
        """Update all the variables and their state."""
        np.concatenate(gradients, axis=None, out=self._gradient)
        for variable, part, known in zip(self._variables, self._parts, self._arrays):
            array = variable._tensor._array
            if array is not known:
                part[...] = array
        for slot in self._slots:
            if slot._given is not None:
                slot.home()
        write(advance, self._value, self._gradient, self._state)
        # Copies: a reference to a part would keep the whole buffer alive.
        self._arrays = [part.copy() for part in self._parts]
        for variable, array in zip(self._variables, self._arrays):
            variable._put(array)


def write(advance: Advance, value: Any, gradient: Any, state: list[Any]) -> None:
    """Advance NumPy arrays in place; large ones in chunks that fit the cache, on all cores.

    Adam makes a dozen passes over its arrays; in chunks, only the first and the last leave the cache. A million
    elements take 2.7 ms instead of 3.9, on two cores.
    """
    arrays = [value, gradient, *state]
    if value.size < LARGE or not all(array.flags.c_contiguous for array in arrays):
        _write_part(advance, arrays)
        return
    flat = [array.reshape(-1) for array in arrays]
    chunks = range(0, value.size, CHUNK)
    threads = cores()
    # In the context of this thread, where NumPy's warnings are off.
    others = [
        pool().submit(contextvars.copy_context().run, _write_chunks, advance, flat, chunks[i::threads])
        for i in range(1, threads)
    ]
    _write_chunks(advance, flat, chunks[::threads])
    for other in others:
        other.result()


def _write_chunks(advance: Advance, flat: list[Any], chunks: range) -> None:
    for start in chunks:
        _write_part(advance, [array[start : start + CHUNK] for array in flat])


def _write_part(advance: Advance, arrays: list[Any]) -> None:
    value, gradient, *state = arrays
    new, new_state = advance(value, gradient, state)
    for array, result in zip([value, *state], [new, *new_state]):
        if result is not array:
            array[...] = result


def step_traced(advance: Advance, gradients: list[Any], columns: list[list[Variable]]) -> None:
    """Update variables, the first of `columns`, and their state, the others, in a program that is being traced."""
    import jax.numpy as jnp

    arrays = [[jnp.asarray(cell._read()._array) for cell in column] for column in columns]
    if len(gradients) == 1:
        value, *state = (column[0] for column in arrays)
        new, new_state = advance(value, gradients[0], state)
        for (cell,), after in zip(columns, [new, *new_state]):
            cell._put(after)
        return
    shapes = [value.shape for value in arrays[0]]
    ends = np.cumsum([value.size for value in arrays[0]])[:-1].tolist()
    gradient, value, *state = (
        jnp.concatenate([array.reshape(-1) for array in column]) for column in [gradients, *arrays]
    )
    new, new_state = advance(value, gradient, state)
    for column, after in zip(columns, [new, *new_state]):
        for cell, part, shape in zip(column, jnp.split(after, ends), shapes):
            cell._put(part.reshape(shape))
