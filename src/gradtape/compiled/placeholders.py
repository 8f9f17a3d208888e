"""What stands for variables and strings among the arguments of a @function while it is traced.

The compiled function serves any variable of the same shape, dtype and trainability: its value is an input of the
program, and what is assigned to it is put into the variable that was given. Strings are no values of compiled code; one
that the function does not look at may be any.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from ..core import dtypes
from ..core.primitive import local
from ..core.shapes import TensorShape
from ..core.tensor import Reference, Tensor, key_of
from ..core.variable import Variable


class Particular(BaseException):
    """The function that is traced asks which variable, or which text, an argument is: trace it for that one alone.

    No `except Exception` of the user's catches it.
    """

    def __init__(self, kind: type[Variable | Text]) -> None:
        super().__init__(kind)
        self.kind = kind


class VariableSpec(NamedTuple):
    """What programs for a variable depend on."""

    shape: tuple[int, ...]
    dtype: Any
    declared: tuple[int | None, ...] | None
    trainable: bool
    number: int  # among the different variables of the arguments: one that is given twice is one


class Parameter(Variable):
    """A variable that is an argument of a function being traced. It holds the input with its value, under its key."""

    __slots__ = ("position",)

    def __init__(self, tensor: Tensor, spec: VariableSpec, position: int) -> None:
        self.position = position  # among the inputs of the program
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
        """Each variable has its own."""
        raise Particular(Variable)

    def ref(self) -> Reference:
        """Who keeps something for this very variable, as optimizers do, needs to know which it is."""
        raise Particular(Variable)

    def __repr__(self) -> str:
        return f"<tf.Variable of an argument, shape={self._shape} dtype={self.dtype.name}, traced>"


class Written:
    """Where a program puts what a parameter holds in the end, for a moment: a variable to `cells.store`."""

    __slots__ = ("_key", "_tensor", "has_one_shape", "position")
    _tensor: Tensor

    def __init__(self, parameter: Parameter) -> None:
        self._key = parameter._key
        self.position = parameter.position
        self.has_one_shape = parameter.shape.is_fully_defined()


def written(variable: Variable) -> Any:
    """What a trace wrote to, without what is traced."""
    return Written(variable) if type(variable) is Parameter else variable


class Text:
    """A tensor of strings among the arguments, and whether somebody has looked at it."""

    def __init__(self, shape: tuple[int, ...], array: Any = None) -> None:
        self.shape = shape
        self.array = array  # None when the function was traced, and did not look
        self.was_seen = False

    def look(self) -> Any:
        """The array, for whoever needs it."""
        if self.array is None:
            raise Particular(Text)
        self.was_seen = True
        return self.array

    def tensor(self) -> Tensor:
        """A tensor without an array, for which `cells` calls `look` when it is first asked for one."""
        tensor = object.__new__(Tensor)
        tensor._both = self
        tensor._key = 0
        return tensor
