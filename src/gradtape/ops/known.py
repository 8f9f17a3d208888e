"""What must be known while a `@function` is traced. Shapes are; values computed in the function are not."""

from __future__ import annotations

from typing import Any

from ..engine import is_traced
from ..errors import InvalidArgumentError
from ..traced import where


def known(name: str, what: str, array: Any) -> Any:
    """An argument that decides what is computed, such as a shape: the array itself, or an error if it is traced."""
    if is_traced(array):
        raise InvalidArgumentError(
            f"{name}: {what} must be known while a @function is traced, and its values were computed in the function "
            f"({where()}). Give Python numbers or a constant; lengths are known from x.shape"
        )
    return array


def shape_known(name: str, what: str, array: Any, instead: str) -> Any:
    """An argument whose values decide the shape of the result: the array itself, or an error if it is traced."""
    if is_traced(array):
        raise InvalidArgumentError(
            f"{name}: the shape of the result depends on the values of {what}, which are not known while a @function "
            f"is traced ({where()}): {instead}, or call {name} outside of the function"
        )
    return array
