"""Arguments of operations that are one plain value: an integer, a number, one of a few names, a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..core.errors import DTypeError, InvalidArgumentError
from ..core.tensor_conversion import convert
from .known import known


def integer(name: str, what: str, value: Any, least: int | None = None) -> int:
    """The argument `what` of the operation `name` as one integer.

    Args:
        least: the smallest value allowed.

    Raises:
        DTypeError: if it is not one integer.
        InvalidArgumentError: if it is below `least`, or does not fit 64 bits.
    """
    if type(value) is int and (least or 0) <= value < 1 << 63:
        return value
    given = _scalar(name, what, value)
    if given is None or given.dtype.kind not in "iu":
        raise DTypeError(f"{name}: {what} must be one integer, not {value!r}")
    if least is not None and given < least:
        raise InvalidArgumentError(f"{name}: {what} must be at least {least}, not {given}")
    if not -(1 << 63) <= int(given) < 1 << 63:
        raise InvalidArgumentError(f"{name}: {what} must fit 64 bits, and {given} does not")
    return int(given)


def number(name: str, what: str, value: Any) -> float:
    """The argument `what` of the operation `name` as one real number.

    Raises:
        DTypeError: if it is not one real number.
    """
    given = _scalar(name, what, value)
    if given is None or given.dtype.kind in "bcO":
        raise DTypeError(f"{name}: {what} must be one real number, not {value!r}")
    return float(given)


def _scalar(name: str, what: str, value: Any) -> Any:
    """The array of one value; None for anything else."""
    try:
        array = convert(value)._array
    except (ValueError, TypeError):
        return None
    return None if array.ndim else known(name, what, array)


def choice(name: str, what: str, value: Any, among: Iterable[Any]) -> Any:
    """The argument `what` of the operation `name`, which must be one of a few values.

    Args:
        among: the values allowed.

    Raises:
        InvalidArgumentError: if it is none of them.
    """
    options = list(among)
    if not any(type(value) is type(option) and value == option for option in options):
        *others, last = map(repr, options)
        listed = f"{', '.join(others)} or {last}" if others else last
        raise InvalidArgumentError(f"{name}: {what} must be {listed}, not {value!r}")
    return value


def boolean(name: str, what: str, value: Any) -> bool:
    """The argument `what` of the operation `name` as True or False.

    Raises:
        DTypeError: if it is neither.
    """
    if isinstance(value, (bool, np.bool_)) or (type(value) is int and value in (0, 1)):
        return bool(value)
    raise DTypeError(f"{name}: {what} must be True or False, not {value!r}")


def text(name: str, what: str, value: Any) -> str:
    """The argument `what` of the operation `name`, which must be a Python string.

    Raises:
        DTypeError: if it is not.
    """
    if isinstance(value, str):
        return value
    raise DTypeError(f"{name}: {what} must be a string, not {value!r}")


def function(name: str, what: str, value: Any) -> Callable[..., Any]:
    """The argument `what` of the operation `name`, which must be a function.

    Raises:
        TypeError: if it cannot be called.
    """
    if not callable(value):
        raise TypeError(f"{name}: {what} must be a function, not {value!r}")
    return value
