"""Placeholders for variables and strings among the arguments of a @function while it is traced.

The compiled function serves any variable of the same shape, dtype and trainability: its value is an input of the
program, and what is assigned to it is stored in the variable that was given. Strings are no values of compiled code; a
string that the function does not read may be any.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from ..core import dtypes
from ..core.primitive import local
from ..core.shapes import TensorShape
from ..core.tensor import Reference, Tensor, key_of
from ..core.variable import Variable


class Specialize(BaseException):
    """Raised by a function that asks which variable, or which text, an argument is: trace it for that one alone.

    With `GraphTape`: trace it under such a tape. No `except Exception` of the user's catches it.
    """

    def __init__(self, kind: type[Any]) -> None:
        super().__init__(kind)
        self.kind = kind


class VariableSpec(NamedTuple):
    """The part of the cache key for a variable."""

    shape: tuple[int, ...]
    dtype: Any
    declared: tuple[int | None, ...] | None
    trainable: bool
    position: int  # among the inputs of the program: a variable that is given twice is one input


class ArgumentVariable(Variable):
    """Placeholder for a variable among the arguments. It holds the input with its value, under the input's key."""

    __slots__ = ("position",)

    def __init__(self, tensor: Tensor, spec: VariableSpec) -> None:
        self.position = spec.position
        self._key = key_of(tensor)
        self._tensor = tensor
        self._shape = TensorShape(spec.declared)
        self._name = "argument"
        self._trainable = spec.trainable
        self._watchable = spec.trainable and dtypes.is_differentiable(tensor._array)
        self._constraint = None
        local.here.trace.values[self._key] = tensor

    @property
    def name(self) -> NoReturn:
        """A name is one variable's."""
        raise Specialize(Variable)

    def ref(self) -> Reference:
        """A reference is to one variable: optimizers keep their state by it."""
        raise Specialize(Variable)

    @property
    def _aggregation(self) -> NoReturn:  # type: ignore[override]
        """Replicas ask how to write: the policy is one variable's."""
        raise Specialize(Variable)

    @property
    def _synchronization(self) -> NoReturn:  # type: ignore[override]
        raise Specialize(Variable)

    def __repr__(self) -> str:
        return f"<tf.Variable of an argument, shape={self._shape} dtype={self.dtype.name}, traced>"


class Destination:
    """Stands for an `ArgumentVariable` that was assigned: `buffers.store` puts the result here, as in a variable."""

    __slots__ = ("_key", "_tensor", "has_one_shape", "position")
    _tensor: Tensor

    def __init__(self, variable: ArgumentVariable) -> None:
        self._key = variable._key
        self.position = variable.position
        self.has_one_shape = variable.shape.is_fully_defined()

    def store_in(self, variable: Variable) -> None:
        """Move the result into the variable that was given."""
        tensor = self._tensor
        tensor._key = variable._key
        variable._tensor = tensor
        del self._tensor


def as_destination(variable: Variable) -> Any:
    """A variable that a trace wrote to, without what is traced."""
    return Destination(variable) if type(variable) is ArgumentVariable else variable


class RunsAsPython(Exception):
    """A call runs as plain Python: an argument cannot be part of a program, or a replica in a thread meets others."""


class Text:
    """Placeholder for a tensor of strings among the arguments; notes whether the function reads it."""

    def __init__(self, shape: tuple[int, ...], array: Any = None) -> None:
        self.shape = shape
        self.array = array  # None if the function was traced, and did not read it
        self.was_read = False

    def read(self) -> Any:
        """The array."""
        if self.array is None:
            raise Specialize(Text)
        self.was_read = True
        return self.array

    def tensor(self) -> Tensor:
        """A tensor without an array: `buffers` calls `read` on first access."""
        tensor = object.__new__(Tensor)
        tensor._both = self
        tensor._key = 0
        return tensor
