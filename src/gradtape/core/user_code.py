"""The user's code: the innermost frame that belongs neither to gradtape, nor to a library above or below it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import FrameType

# Packages, by name. Keras runs the operations of its layers for the user, and calls the layers that the user wrote.
KERAS = ("keras", "keras_hub")
_NOT_THE_USERS = frozenset(
    ("gradtape", *KERAS, "optree", "numpy", "jax", "malt", "contextlib", "functools", "importlib")
)
_is_users: dict[str, bool] = {}  # by the module's name


def keras_folders() -> list[str]:
    """The folders of Keras and its libraries, where installed."""
    specs = [find_spec(name) for name in KERAS]
    return [folder for spec in specs if spec is not None for folder in spec.submodule_search_locations or ()]


def user_frame() -> FrameType:
    """The innermost frame of the user's code; the caller's if there is none."""
    frame: FrameType | None = sys._getframe(1)
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
