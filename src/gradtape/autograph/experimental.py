"""The public namespace `gradtape.autograph.experimental`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..missing import closed

__all__ = ["do_not_convert"]


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Decorator: leave this function as it is. Eagerly, every function is.

    >>> do_not_convert(lambda x: x + 1)(1)
    2
    """
    return do_not_convert if func is None else func


closed(__name__)
