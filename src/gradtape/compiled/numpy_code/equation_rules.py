"""The table from JAX's primitives to functions of NumPy. The other files of this folder fill it, a family each.

A rule is given an equation and returns a function from arrays to the array of its result (a list, if it has several).
All that depends on shapes and parameters is worked out in the rule, once. Results are those of XLA: indices out of
bounds are clamped, whole numbers divided by zero give -1, NaN converted to a whole number 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Compute = Callable[..., Any]
RULES: dict[str, Callable[[Any], Compute]] = {}


class NoRule(LookupError):
    """An equation that NumPy does not compute: the program is compiled at once."""


def rule(*names: str) -> Callable[[Callable[[Any], Compute]], Callable[[Any], Compute]]:
    """Enter a rule for some primitives into the table."""

    def enter(function: Callable[[Any], Compute]) -> Callable[[Any], Compute]:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


def dtype_of(eqn: Any) -> np.dtype[Any]:
    """The dtype of the first result of an equation."""
    dtype: np.dtype[Any] = eqn.outvars[0].aval.dtype
    return dtype


def is_half(dtype: np.dtype[Any]) -> bool:
    """Return whether numbers have 16 bits or fewer: sums and products of them are computed with 32."""
    return dtype.itemsize <= 2 and dtype.kind in "fV"
