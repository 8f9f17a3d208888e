"""The public namespace `gradtape.autograph`: how the control flow of a `function` becomes part of the program.

`function` converts the functions it compiles, and those they call: then `if`, `while` and `for` on traced tensors
become conditionals and loops of the program. The work is done in `compiled.autograph`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..names.missing import closed
from . import experimental

__all__ = ["experimental", "set_verbosity", "to_code", "to_graph", "trace"]


def to_graph(
    entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: object = None
) -> Callable[..., Any]:
    """Convert a function, as `function` does.

    Args:
        entity: a function written in Python, or what `function` made of one.
        recursive: accepted; no effect.
        experimental_optional_features: accepted; no effect.

    Raises:
        TypeError: if there is no Python to convert.
        ValueError: if it cannot be converted.

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


def to_code(
    entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: object = None
) -> str:
    """The converted code of a function, as text.

    Args:
        entity: as for `to_graph`.
        recursive: accepted; no effect.
        experimental_optional_features: accepted; no effect.

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
    """Choose whether converted code is shown.

    Args:
        level: from 1 on, the code of each function that is converted is logged.
        alsologtostdout: whether it is printed as well.

    >>> set_verbosity(0)
    """
    from ..compiled.autograph import conversion

    conversion.verbosity = (level, alsologtostdout)


def trace(*args: object) -> None:
    """Call Python's `print`: while a function is traced, and not when it is called again.

    >>> trace("x:", 1)
    x: 1
    """
    print(*args)


closed(__name__)
