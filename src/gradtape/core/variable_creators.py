"""Functions that are asked for a variable before one is made: `tf.variable_creator_scope`."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .variable import Variable

Creator = Callable[..., Any]


class _Scopes(threading.local):
    creators: tuple[Creator, ...] = ()


_scopes = _Scopes()


@contextmanager
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """A block in which a function makes the variables.

    Args:
        variable_creator: called as variable_creator(next_creator, **arguments) with the arguments of `tf.Variable`, for
            each variable; returns the variable, which next_creator(**arguments) makes.

    >>> def not_trainable(next_creator, **arguments):
    ...     return next_creator(**(arguments | {"trainable": False}))
    >>> with variable_creator_scope(not_trainable):
    ...     Variable(1.0).trainable
    False
    """
    if not callable(variable_creator):
        raise TypeError(f"variable_creator_scope takes a function, not {variable_creator!r}")
    if "__new__" not in vars(
        Variable
    ):  # from the first scope on: other programs make variables as quickly as before
        Variable.__new__ = staticmethod(_new)  # type: ignore[method-assign,assignment]
    before = _scopes.creators
    _scopes.creators = (*before, variable_creator)
    try:
        yield
    finally:
        _scopes.creators = before


def _new(cls: type[Variable], *args: Any, **kwargs: Any) -> Any:
    """`Variable.__new__`: the variable that the creators make. `Variable.__init__` leaves it as it is."""
    if cls is not Variable or not _scopes.creators:
        return object.__new__(cls)
    return _made(_scopes.creators, **_arguments(*args, **kwargs))


_new.__wrapped__ = Variable.__init__  # type: ignore[attr-defined]  # whose signature is that of the class


def _arguments(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """All arguments of `Variable`, by name."""
    import inspect

    bound = inspect.signature(Variable.__init__).bind(None, *args, **kwargs)
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if name != "self"}


def _made(creators: tuple[Creator, ...], /, **arguments: Any) -> Any:
    """The variable that the last of the creators makes, with those before it for its `next_creator`."""
    if creators:
        return creators[-1](functools.partial(_made, creators[:-1]), **arguments)
    before, _scopes.creators = _scopes.creators, ()
    try:
        return Variable(**arguments)
    finally:
        _scopes.creators = before
