"""Which names of gradtape are public: `tensorflow` shows them, `gradtape check` accepts them, errors suggest them."""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any

# The namespaces that TensorFlow has. A module of gradtape with another name is internal.
NAMESPACES = frozenset((
    "audio", "autodiff", "autograph", "bitwise", "compat", "config", "data", "debugging", "distribute",
    "dtypes", "errors", "experimental", "feature_column", "image", "initializers", "io", "keras",
    "linalg", "lookup", "losses", "math", "metrics", "nest", "nn", "optimizers", "profiler",
    "quantization", "ragged", "random", "raw_ops", "saved_model", "sets", "signal", "sparse", "strings",
    "summary", "sysconfig", "test", "train", "types", "version", "xla",
))  # fmt: skip

# What namespaces import for their own use.
_TOOLS = frozenset((
    "Any", "TYPE_CHECKING", "annotations", "apply", "closed", "convert", "import_module", "public", "together",
))  # fmt: skip


def is_public(module: ModuleType, name: str) -> bool:
    """Does a namespace of gradtape offer this name to its users?"""
    offered = getattr(module, "__all__", None)
    if offered is not None:
        return name in offered
    if name.startswith("_") or name in _TOOLS or not hasattr(module, name):
        return False
    value = getattr(module, name)
    if isinstance(value, ModuleType):
        return (
            name in NAMESPACES
            if module.__name__ == "gradtape"
            else _says_so(value, f"{module.__name__}.{name}")
        )
    return str(getattr(value, "__module__", None) or "gradtape").startswith(("gradtape", "numpy"))


def _says_so(module: ModuleType, name: str) -> bool:
    return (module.__doc__ or "").startswith(f"The public namespace `{name}`")


def names(module: ModuleType) -> list[str]:
    """The public names of a namespace.

    >>> import gradtape
    >>> "GradientTape" in names(gradtape), "import_module" in names(gradtape)
    (True, False)
    """
    offered = getattr(module, "__all__", None)
    return sorted(offered if offered is not None else (n for n in dir(module) if is_public(module, n)))


@functools.cache
def dotted_names() -> tuple[str, ...]:
    """Every public name as it is written after `tf.`, for suggestions: the plainest first.

    >>> "math.log" in dotted_names()
    True
    """
    found: list[str] = []

    def walk(module: ModuleType, prefix: str) -> None:
        for name in names(module):
            value: Any = getattr(module, name)
            found.append(prefix + name)
            if isinstance(value, ModuleType) and prefix + name not in ("compat", "keras"):
                walk(value, f"{prefix}{name}.")

    walk(sys.modules["gradtape"], "")
    return tuple(sorted(found, key=lambda name: (name.startswith("experimental."), name.count("."), name)))
