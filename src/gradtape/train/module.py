"""Module: an object that finds the variables and modules in its attributes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from ..core.scopes import name_scope, snake_case
from ..core.variable import Variable

Method = TypeVar("Method", bound=Callable[..., Any])


class Module:
    """Base class for layers and models. Call `super().__init__()` in a subclass, and put variables in attributes.

    Variables and modules are found in attributes, and in lists, tuples and dictionaries there: those of the module
    itself in the order of the attributes' names, then those of its modules. What occurs twice counts once.

    Args:
        name: a name, such as a Python variable could have; the default is made from the class's.

    Raises:
        ValueError: for another kind of name.

    >>> import gradtape as tf
    >>> class Line(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope, self.offset = tf.Variable(2.0, name="slope"), tf.Variable(1.0, name="offset")
    ...
    ...     def __call__(self, x):
    ...         return self.slope * x + self.offset
    >>> line = Line()
    >>> line.name, [v.name for v in line.variables], float(line(3.0))
    ('line', ['offset:0', 'slope:0'], 7.0)
    """

    def __init__(self, name: str | None = None) -> None:
        name = snake_case(type(self).__name__) if name is None else name
        if not name.isidentifier():
            raise ValueError(
                f"{name!r} is no name for a module: it must look like a Python name, such as 'encoder' or 'layer_1'"
            )
        self._name = name
        with name_scope(name) as scope:
            self._scope = scope

    @property
    def name(self) -> str:
        """The name given, or made from the class's."""
        self._check_made()
        return self._name

    def _check_made(self) -> None:
        if "_name" not in vars(self):
            raise AttributeError(
                f"this {type(self).__name__} has no name yet: call super().__init__() at the start of its __init__"
            )

    @property
    def name_scope(self) -> name_scope:
        """A block in which the names of new variables begin with this module's name.

        >>> with Module("encoder").name_scope:
        ...     Variable(0.0, name="w").name
        'encoder/w:0'
        """
        self._check_made()
        return name_scope(self._scope)

    @classmethod
    def with_name_scope(cls, method: Method) -> Method:
        """Make a method run in the module's `name_scope`.

        >>> class Layer(Module):
        ...     @Module.with_name_scope
        ...     def make(self):
        ...         return Variable(0.0, name="w")
        >>> Layer().make().name
        'layer/w:0'
        """

        @functools.wraps(method)
        def scoped(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped  # type: ignore[return-value]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables of this module and of the modules in it."""
        return tuple(found for found in self._find() if isinstance(found, Variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The variables that tapes watch by themselves."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """The other variables."""
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules in this one, and those in them.

        >>> outer = Module("outer")
        >>> outer.layers = [Module("a"), Module("b")]
        >>> [module.name for module in outer.submodules]
        ['a', 'b']
        """
        return tuple(found for found in self._find() if isinstance(found, Module))

    def _find(self, seen: set[int] | None = None) -> Iterator[Any]:
        """The variables and modules in the attributes, then what is in those modules, each once."""
        seen = {id(self)} if seen is None else seen
        inner = []
        for _, value in sorted(vars(self).items()):
            for found in _leaves(value, seen):
                yield found
                if isinstance(found, Module):
                    inner.append(found)
        for module in inner:
            yield from module._find(seen)


def _leaves(value: Any, seen: set[int]) -> Iterator[Any]:
    """The variables and modules in a structure of lists, tuples and dictionaries that have not been seen yet."""
    if not isinstance(value, (Variable, Module, Mapping, list, tuple)) or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, (Variable, Module)):
        yield value
    elif isinstance(value, Mapping):
        for key in _in_order(value):
            yield from _leaves(value[key], seen)
    else:
        for part in value:
            yield from _leaves(part, seen)


def _in_order(mapping: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:  # keys of different kinds: as they were put in
        return list(mapping)
