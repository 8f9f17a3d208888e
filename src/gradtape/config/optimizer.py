"""The public namespace `gradtape.config.optimizer`. XLA optimizes what it compiles; these settings have no effect."""

from __future__ import annotations

from typing import Any

from ..core.settings import settings
from ..names.missing import closed

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]


def set_jit(enabled: bool | str) -> None:
    """Store `enabled`, which has no effect: XLA compiles functions that `function` decorates, and nothing else.

    >>> set_jit(False)
    """
    settings.jit = enabled if isinstance(enabled, str) else "autoclustering" if enabled else ""


def get_jit() -> str:
    """The setting of `set_jit`: 'autoclustering' or ''.

    >>> set_jit(False)
    >>> get_jit()
    ''
    """
    return "autoclustering" if settings.jit == "autoclustering" else ""


def set_experimental_options(options: dict[str, Any]) -> None:
    """Store `options` of TensorFlow's graph optimizer, which have no effect.

    Raises:
        TypeError: if they are no dict.

    >>> set_experimental_options({})
    """
    if not isinstance(options, dict):
        raise TypeError(f"config.optimizer.set_experimental_options: takes a dict, not {options!r}")
    settings.optimizer_options.update(options)


def get_experimental_options() -> dict[str, Any]:
    """The options given to `set_experimental_options`.

    >>> get_experimental_options()
    {}
    """
    return dict(settings.optimizer_options)


closed(__name__)
