"""Warnings about a @function that is slower than it could be. A step of a Keras model is named after the model."""

from __future__ import annotations

import functools
import inspect
import logging
from importlib.util import find_spec
from types import FunctionType
from typing import Any

import numpy as np

from .forks import expect_forks

logger = logging.getLogger("gradtape")

_ADVICE = (
    "Pass numbers that change as tensors, pad tensors to one shape, and make functions once, outside of loops"
)
_ADVICE_FOR_KERAS = (
    "Give batches of one shape: leave out a smaller last one (drop_remainder=True), and pad sequences to one length "
    "or a few (keras.utils.pad_sequences)"
)


def warn_of_retracing(name: str, function: Any, count: int, before: Any, now: Any) -> None:
    """Warn that a function is traced again and again, and name the argument that changes."""
    logger.warning(
        "%s has been traced %d times, each of which costs far more than running it: %s. %s",
        _title(name, function),
        count,
        _difference(before, now),
        _ADVICE_FOR_KERAS if _is_keras(function) else _ADVICE,
    )


def warn_of_giving_up(name: str, function: Any, error: Exception) -> None:
    """Warn that a function runs operation by operation from now on."""
    logger.warning("%s runs operation by operation: %s", _title(name, function), error)


def warn_of_truncation(name: str, function: Any, error: Exception) -> None:
    """Warn that some calls of a function run operation by operation."""
    logger.warning(
        "a call of %s runs operation by operation, as others like it will: %s", _title(name, function), error
    )


def _is_keras(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("keras.")


def _title(name: str, function: Any) -> str:
    """The function by its name; what Keras made of a model by the name of the model."""
    function = inspect.unwrap(function)
    if _is_keras(function) and isinstance(function, FunctionType):
        places = zip(function.__code__.co_freevars, function.__closure__ or ())
        model: Any = next((cell.cell_contents for variable, cell in places if variable == "self"), None)
        if hasattr(model, "name"):
            return f"a step of the model {model.name} ({type(model).__name__})"
    return f"the function {name}"


def _difference(before: list[tuple[str, str]], now: list[tuple[str, str]]) -> str:
    for (name, was), (_, is_) in zip(before, now):
        if was != is_:
            return f"its argument {name} was {was} and is now {is_}"
    return "its arguments differ from call to call"


@functools.cache
def can_compile() -> bool:
    """Return whether JAX is installed; warn once if it is not."""
    if find_spec("jax") is not None:
        state = np.random.get_state()  # noqa: NPY002  (JAX, while imported, draws from this generator, the user's)
        import jax  # noqa: F401

        np.random.set_state(state)  # noqa: NPY002
        expect_forks()
        return True
    logger.warning(
        "@function runs as plain Python, because JAX is not installed: pip install 'gradtape[xla]' compiles it"
    )
    return False
