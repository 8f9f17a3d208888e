"""The public namespace `gradtape.autograph`: how the Python of a `function` becomes part of the program.

`function` converts what it compiles, and what that calls: then `if`, `while` and `for` on tensors whose values are not
known yet become choices and loops of the program. Implemented in `compiled.autograph`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..names.missing import closed
from . import experimental

__all__ = ["experimental", "set_verbosity", "to_code", "to_graph", "trace"]


def to_graph(
    entity: Any, recursive: bool = True, experimental_optional_features: Any = None
) -> Callable[..., Any]:
    """Convert a function as `function` does.

    Args:
        entity: a function written in Python, or made by `function`.
        recursive: accepted; what the function calls is always converted.
        experimental_optional_features: accepted, and ignored.

    Raises:
        TypeError: if `entity` is no function written in Python.
        ValueError: if its source cannot be found or converted.

    >>> import gradtape as tf
    >>> to_graph(tf.function(lambda x: x if x > 0 else -x))(-3)
    3
    """
    from ..compiled.autograph.conversion import converted
    from ..compiled.autograph.source import CannotConvert

    function = _plain("to_graph", entity)
    try:
        return converted(function)
    except CannotConvert as error:
        reason = str(error) or "its source is not there, or uses what cannot be converted"
        raise ValueError(f"to_graph: {function.__qualname__} cannot be converted: {reason}") from error


def to_code(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> str:
    """The converted code of a function, as text.

    Args:
        entity: a function written in Python, or made by `function`.
        recursive: accepted, and ignored.
        experimental_optional_features: accepted, and ignored.

    Raises:
        TypeError: if `entity` is no function written in Python.

    >>> print(to_code(lambda x: x if x > 0 else -x))
    lambda x: ag__...if_exp(x > 0, lambda: x, lambda: -x, 'x > 0')...
    """
    from ..compiled.autograph.syntax import Factory

    return Factory(_plain("to_code", entity)).source


def _plain(name: str, entity: Any) -> Any:
    function = getattr(entity, "python_function", entity)
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__code__"):
        raise TypeError(f"autograph.{name} takes a function written in Python, not {entity!r}")
    return function


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Log the code of each function that is converted, from level 1 on.

    Args:
        level: 0 for no logging.
        alsologtostdout: whether to print the code as well.

    >>> set_verbosity(0)
    """
    from ..compiled.autograph import conversion

    conversion.verbosity = (level, alsologtostdout)


def trace(*args: Any) -> None:
    """Print while a function is traced, and not when it is called again.

    >>> trace("x:", 1)
    x: 1
    """
    print(*args)


closed(__name__)
