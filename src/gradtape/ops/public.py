"""Public functions for primitives that need nothing but their inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..primitive import Primitive, apply, apply2
from ..tensor import Tensor


def public(primitive: Primitive, doc: str, name: str | None = None) -> Callable[..., Tensor]:
    """The function users call: takes values of any kind, and TensorFlow's `name`; returns a tensor."""
    if len(primitive.inputs) == 1:

        def function(x: Any, name: str | None = None) -> Tensor:
            return apply(primitive, (x,))

    else:

        def function(x: Any, y: Any, name: str | None = None) -> Tensor:  # type: ignore[misc]
            return apply2(primitive, x, y)

    function.__name__ = function.__qualname__ = name or primitive.name
    function.__doc__ = doc
    return function
