"""Objects of other libraries that stand for a tensor or a variable, as Keras's variables do.

The protocol is TensorFlow's: `__tf_tensor__` gives the tensor; an object with `_should_act_as_resource_variable` has a
variable behind it, which `handle` gives.
"""

from __future__ import annotations

from typing import Any

from .tensor import Tensor
from .tensor_conversion import convert
from .variable import Variable


class StandIn:
    """Base of classes whose objects are values in every operation. Subclasses define `__tf_tensor__`.

    >>> import gradtape as tf
    >>> class Seven(StandIn):
    ...     def __tf_tensor__(self, dtype=None, name=None):
    ...         return tf.constant(7.0)
    >>> float(tf.sqrt(tf.add(Seven(), 2.0)))
    3.0
    """

    __array_priority__ = 100
    _should_act_as_resource_variable = False

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Tensor:
        raise TypeError(f"{type(self).__name__} stands for a tensor, and must define __tf_tensor__")

    def _current(self) -> Tensor | Variable:
        """The variable itself, or a tensor: a cast of it, as Keras's mixed precision gives it."""
        if self._should_act_as_resource_variable:
            value: Tensor | Variable = self.value  # type: ignore[attr-defined]  # __tf_tensor__ would copy it
            return value
        return self.__tf_tensor__()

    def _variable(self) -> Variable | None:
        """The variable that this stands for; None if there is none, or none yet."""
        return self.handle if self._should_act_as_resource_variable else None  # type: ignore[attr-defined]

    def _read(self) -> Tensor:
        return convert(self._current())

    def _as_tensor(self) -> Tensor:
        return self.__tf_tensor__()


def original(thing: Any) -> Any:
    """The variable that an object stands for; anything else as it is."""
    if getattr(thing, "_should_act_as_resource_variable", False) and not isinstance(thing, Variable):
        return thing.handle
    return thing
