"""Every public name of gradtape, for suggestions in errors."""

from __future__ import annotations

import functools
import sys
from types import ModuleType


@functools.cache
def dotted_names() -> tuple[str, ...]:
    """Every public name as it is written after `tf.`, the plainest first.

    >>> "math.log" in dotted_names(), "math.Any" in dotted_names()
    (True, False)
    """
    found: list[str] = []

    def walk(module: ModuleType, prefix: str) -> None:
        for name in module.__all__:
            found.append(prefix + name)
            if prefix + name in ("compat", "keras"):  # other names for the same, and another library
                continue
            value = getattr(module, name)
            if isinstance(value, ModuleType):
                walk(value, f"{prefix}{name}.")

    walk(sys.modules["gradtape"], "")
    return tuple(sorted(found, key=lambda name: (name.startswith("experimental."), name.count("."), name)))
