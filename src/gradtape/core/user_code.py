"""The user's code: the innermost frame that belongs neither to gradtape, nor to a library above or below it."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from types import FrameType

# Packages, by name. Keras runs the operations of its layers for the user, and calls the layers that the user wrote.
KERAS = ("keras", "keras_hub")
_NOT_THE_USERS = frozenset(
    ("gradtape", *KERAS, "optree", "numpy", "jax", "malt", "contextlib", "functools", "importlib")
)
_is_users: dict[str, bool] = {}  # by the module's name


def keras_folders() -> list[str]:
    """The folders of Keras and its libraries, where installed."""
    return [folder for name in KERAS for folder in _folders(name)]


def _folders(package: str) -> list[str]:
    if package in sys.modules:
        return list(getattr(sys.modules[package], "__path__", ()))
    spec = PathFinder.find_spec(package)  # without the hook for an import of Keras
    return [] if spec is None else list(spec.submodule_search_locations or ())


def user_frame(start: FrameType | None = None) -> FrameType:
    """The innermost frame of the user's code; the caller's if there is none.

    Args:
        start: the frame to begin with, by default the caller's.
    """
    frame: FrameType | None = start or sys._getframe(1)
    caller = frame
    while frame is not None:
        name = frame.f_globals.get("__name__", "gradtape")  # what plans compile has no name
        users = _is_users.get(name)
        if users is None:
            users = _is_users[name] = name.partition(".")[0] not in _NOT_THE_USERS
        if users:
            return frame
        frame = frame.f_back
    assert caller is not None
    return caller
