"""What there is of Keras: the parts that gradtape has in namespaces of its own. Models and layers come later."""

from __future__ import annotations

from typing import Any

import gradtape

from .missing import missing

__path__: list[
    str
] = []  # `import tensorflow.keras.layers` is then answered by a sentence, not by "not a package"

_PARTS = ("optimizers", "losses", "metrics", "initializers", "regularizers", "constraints", "activations")


def parts() -> list[str]:
    """The namespaces of Keras that are here.

    >>> "optimizers" in parts()
    True
    """
    return [part for part in _PARTS if hasattr(gradtape, part)]


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return parts()
    if name in _PARTS and hasattr(gradtape, name):
        return getattr(gradtape, name)
    raise missing(f"keras.{name}")


def __dir__() -> list[str]:
    return parts()
