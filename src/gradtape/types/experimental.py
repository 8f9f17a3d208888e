"""The public namespace `gradtape.types.experimental`: the classes of functions and of what converts to tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ..compiled.concrete_function import ConcreteFunction
from ..compiled.function import Function
from ..core.types import TensorLike
from ..names.missing import closed
from . import distributed

__all__ = [
    "Callable",
    "ConcreteFunction",
    "GenericFunction",
    "PolymorphicFunction",
    "TensorLike",
    "distributed",
]

GenericFunction = PolymorphicFunction = Function


class Callable(ABC):
    """What `function` makes: a function for many kinds of arguments, or the concrete one for one kind.

    >>> import gradtape as tf
    >>> isinstance(tf.function(lambda x: x), Callable), isinstance(len, Callable)
    (True, False)
    """

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function."""


Callable.register(Function)
Callable.register(ConcreteFunction)

closed(__name__)
