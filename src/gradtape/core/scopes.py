"""Blocks that set the device and the names of what is computed in them."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator
from typing import Any

from ..engine import devices
from .errors import InvalidArgumentError
from .primitive import local, outside
from .settings import settings

# ---------------------------------------------------------------------------------------------------------------------
# Names


class name_scope:
    """A block that prefixes the names of variables made in it.

    >>> with name_scope("layer") as scope:
    ...     scope
    'layer/'
    """

    def __init__(self, name: str | None) -> None:
        if name is not None and not isinstance(name, str):
            raise ValueError(f"name_scope: a name is a text, not {name!r}")
        self._name = name
        self._before: list[str] = []  # a block may be entered inside itself

    @property
    def name(self) -> str | None:
        """The name given."""
        return self._name

    def __enter__(self) -> str:
        here = local.here
        self._before.append(here.scope)
        if not self._name:
            here.scope = ""
        elif self._name.endswith("/"):  # a whole scope, entered again
            here.scope = self._name
        else:
            here.scope = f"{here.scope}{self._name}/"
        return here.scope

    def __exit__(self, *exception: object) -> None:
        local.here.scope = self._before.pop()


def get_current_name_scope() -> str:
    """The names of the open `name_scope` blocks, joined by '/'.

    >>> with name_scope("a"), name_scope("b"):
    ...     get_current_name_scope()
    'a/b'
    """
    return local.here.scope.rstrip("/")


def snake_case(name: str) -> str:
    """The name of an object for the name of its class: 'conv_layer' for ConvLayer.

    >>> snake_case("ConvLayer"), snake_case("SGD")
    ('conv_layer', 'sgd')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<!^)(?=[A-Z][a-z])", "_", name).lower()


# ---------------------------------------------------------------------------------------------------------------------
# Places

_DEVICE = re.compile(
    r"(/?(job:[a-zA-Z0-9_]+|replica:\d+|task:\d+|(device:)?([a-zA-Z_]+):(\d+|\*)|(device:)?(cpu|gpu|tpu)))*/?",
    re.IGNORECASE,
)


@contextlib.contextmanager
def device(device_name: Any) -> Iterator[None]:
    """A block in which what `function` compiles runs on a device, if JAX has it. All else runs on the CPU.

    Args:
        device_name: a name such as '/GPU:0'; None for no choice.

    Raises:
        ValueError: if this is no name of a device.
        InvalidArgumentError: if there is no such device, after `tf.config.set_soft_device_placement(False)`.

    >>> with device("/GPU:0"):
    ...     pass
    """
    if callable(device_name):
        raise RuntimeError("device: a function of operations is for graphs; give a name, such as 'CPU:0'")
    name = device_name if device_name is None or isinstance(device_name, str) else str(device_name)
    if name is not None and not _DEVICE.fullmatch(name):
        raise ValueError(
            f"device: {device_name!r} names no device; names look like '/CPU:0' or '/device:GPU:1'"
        )
    if name is not None and not settings.soft_device_placement and not devices.is_there(name):
        there = [d.name for d in devices.list_logical_devices()]
        raise InvalidArgumentError(
            f"device: there is no {name!r}, but {there}, and tf.config.set_soft_device_placement(False) lets no other "
            "take its place"
        )
    place = None if name is None else devices.place(name)
    if place is None:
        yield
    else:
        import jax

        with jax.default_device(place):
            yield


@contextlib.contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """A block that runs after `control_inputs` have been computed. Eagerly, they have been.

    >>> with control_dependencies(None):
    ...     pass
    """
    if callable(control_inputs):
        control_inputs()
    yield


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """A block outside of any compiled function, which no tape records.

    >>> with init_scope():
    ...     pass
    """
    with outside(), outside_function():
        yield


@contextlib.contextmanager
def outside_function() -> Iterator[None]:
    """A block that is not part of the @function whose Python runs operation by operation."""
    here = local.here
    before, here.runs_function = here.runs_function, False
    try:
        yield
    finally:
        here.runs_function = before


def executing_eagerly() -> bool:
    """Return whether the code that runs is no part of a @function.

    >>> executing_eagerly()
    True
    """
    return local.here.trace is None and not local.here.runs_function


def inside_function() -> bool:
    """Return whether the code that runs is part of a @function.

    >>> inside_function()
    False
    """
    return not executing_eagerly()


class Graph:
    """Operations that belong together. They run when they are called, as anywhere: no session runs them later.

    >>> graph = Graph()
    >>> with graph.as_default(), graph.name_scope("layer"):
    ...     get_current_name_scope()
    'layer'
    """

    building_function = False  # what `function` traces is no object of this kind
    name_scope = staticmethod(name_scope)
    device = staticmethod(device)
    control_dependencies = staticmethod(control_dependencies)

    def __init__(self) -> None:
        self._finalized = False

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Graph]:
        """A block of the graph's own: names begin anew in it. A finalized graph takes no more."""
        if self._finalized:
            raise RuntimeError(
                "this graph is finalized: nothing can be added to it. Make another with Graph()"
            )
        with name_scope(None):
            yield self

    def finalize(self) -> None:
        """Let nothing more be added."""
        self._finalized = True

    @property
    def finalized(self) -> bool:
        """Whether `finalize` was called."""
        return self._finalized


def get_logger() -> logging.Logger:
    """The logger of this library: `get_logger().setLevel("ERROR")` silences its warnings.

    >>> get_logger().name
    'gradtape'
    """
    return logging.getLogger("gradtape")
