"""Raise where an operation gives infinity or nan: a listener to all operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from ..core.errors import InvalidArgumentError
from ..core.primitive import Listener, Primitive, leave_hot, local
from ..core.tensor import wrap
from ..engine.arrays import is_traced, xp
from .control.printing import demand
from .math.numerics import not_finite


class _NumericsChecker(Listener):
    """A listener that raises where an operation gives an infinity or nan."""

    def _on_operation(self, primitive: Primitive, inputs: Any, attributes: Any, out: Any) -> None:
        if primitive.facts.moves:  # it is not where a nan began
            return

        def error(array: Any, *arrays: Any) -> InvalidArgumentError:
            given = [wrap(a) for a in arrays]
            shown = ", ".join(f"{x.dtype.name}{list(x.shape)}" for x in given)
            return InvalidArgumentError(
                f"{not_finite(array)} in the result of {primitive.name}({shown}), of shape {list(array.shape)} and "
                f"dtype {dtypes.of(array).name}: {_counts(array)}. Its inputs: {', '.join(str(x) for x in given)}"
            )

        for o in out if primitive.multiple else (out,):
            arrays = [o._array, *[x._array for x in inputs]]
            if is_traced(o._array) and dtypes.is_differentiable(o._array):
                demand(xp(o._array).isfinite(o._array).all(), error, arrays)
            elif not is_traced(o._array) and not_finite(o._array):
                raise error(*arrays)


def _counts(array: Any) -> str:
    kinds = {"NaN": np.isnan(array), "Inf": np.isinf(array)}
    return ", ".join(f"{int(np.sum(is_it))} {kind}" for kind, is_it in kinds.items() if is_it.any())


_checker = _NumericsChecker()


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Raise, from here on and on this thread, where an operation or a gradient gives infinity or nan.

    The error is an InvalidArgumentError that names the operation and its inputs.

    Args:
        stack_height_limit, path_length_limit: accepted and ignored.

    >>> enable_check_numerics()
    >>> disable_check_numerics()
    """
    leave_hot("numbers are checked")
    if _checker not in local.here.tapes:
        local.here.tapes = [*local.here.tapes, _checker]


def disable_check_numerics() -> None:
    """Stop raising where an operation gives infinity or nan.

    >>> disable_check_numerics()
    """
    local.here.tapes = [listener for listener in local.here.tapes if listener is not _checker]
