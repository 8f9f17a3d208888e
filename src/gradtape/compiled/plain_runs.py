"""The Python of a @function that runs operation by operation, with a @function's arguments and results all the same."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from ..core import nest
from ..core.primitive import local
from ..core.tensor import Tensor
from ..core.tensor_conversion import convert
from ..core.variable import Variable
from .graph_tape import GraphTape

_NUMBERS = int, float, complex, str, bytes, np.ndarray, np.generic


def run_python(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], uses_graph_tape: bool
) -> Any:
    """The results of a call, as tensors.

    Args:
        uses_graph_tape: whether the function calls `tf.gradients`.
    """
    here = local.here
    before, here.runs_function = here.runs_function, True
    try:
        if uses_graph_tape:
            with GraphTape():
                result = function(*args, **kwargs)
        else:
            result = function(*args, **kwargs)
        return result if type(result) is Tensor else nest.map_structure(as_output, result)
    finally:
        here.runs_function = before


def as_output(leaf: Any) -> Any:
    """A leaf of what a function returns: the value of a variable, tensors for numbers and texts."""
    if isinstance(leaf, Variable):
        return leaf._read()
    return convert(leaf) if isinstance(leaf, _NUMBERS) else leaf


def mentions_gradients(function: Callable[..., Any]) -> bool:
    """Return whether `tf.gradients` or `tf.hessians` is called in a function, or in a function inside of it.

    One that another function calls is found when it is called: then the Python runs once more.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and not {"gradients", "hessians"}.isdisjoint(_names(code))


def _names(code: CodeType) -> set[str]:
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)
