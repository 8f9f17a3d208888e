"""The layers of Keras that operations run in, by the name scopes that Keras opens for them."""

from __future__ import annotations

import sys


def running_layer() -> str:
    """The layer that runs now, as `block/dense_1 (Dense)`, without the model around it; empty outside of Keras."""
    state = sys.modules.get("keras.src.backend.common.global_state")
    scopes = state.get_global_attribute("name_scope_stack") if state is not None else None
    if not scopes:
        return ""
    path = "/".join(scope.name for scope in (scopes[1:] or scopes))
    caller = scopes[-1].caller  # a loss has a name only
    return path if caller is None else f"{path} ({type(caller).__name__})"


def kind_of(layer: str) -> str:
    """The class of a layer for what `running_layer` gave, or its name if the class is not known.

    >>> kind_of("block/dense_1 (Dense)")
    'Dense'
    """
    name, _, kind = layer.partition(" (")
    return kind[:-1] or name


def inside(layer: str, operation: str) -> str:
    """An operation with the layer that it ran in, for people.

    >>> inside("dense_1 (Dense)", "matmul"), inside("", "matmul")
    ('dense_1 (Dense): matmul', 'matmul')
    """
    return f"{layer}: {operation}" if layer else operation
