"""What there is of Keras: the parts that gradtape has in namespaces of its own. Models and layers come later."""

from __future__ import annotations

from typing import Any

import gradtape

from .names.missing import KERAS, missing

__path__: list[
    str
] = []  # `import tensorflow.keras.layers` is then answered by a sentence, not by "not a package"


def parts() -> list[str]:
    """The namespaces of Keras that are here.

    >>> "optimizers" in parts()
    True
    """
    return [part for part in KERAS if hasattr(gradtape, part)]


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return parts()
    if name in KERAS and hasattr(gradtape, name):
        return getattr(gradtape, name)
    raise missing(f"keras.{name}")


def __dir__() -> list[str]:
    return parts()
