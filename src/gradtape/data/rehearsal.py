"""Rehearsals: a function given to `map` is traced once when the dataset is made, as TensorFlow does.

So a mistake in it is seen at once, and the specs of what it returns are known before it runs. It runs on placeholders:
no variable changes, and no random number is drawn. A program that has not imported JAX has no placeholders, and is not
made to wait for them: then a function is first called with the first element.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..core import dtypes, nest
from ..core.composite import TypeSpec
from ..core.errors import InaccessibleTensorError, OperatorNotAllowedInGraphError, OpError
from ..core.primitive import local
from ..core.spec import TensorSpec

_seen: set[Any] = (
    set()
)  # a function given to flat_map makes a dataset, with the same functions, for each element
_MOST = 1000


def rehearse(function: Callable[[Any], Any], code: Any, spec: Any) -> Any:
    """The specs of what a function returns for elements of a spec; None if that is seen only on real elements.

    Args:
        function: takes an element and returns one.
        code: the code of the user's function, which is traced once for each spec; None to trace it each time.

    Raises:
        ValueError: raised by the function, whatever the values.
        TypeError: the same.
    """
    leaves = nest.flatten(spec)
    if "jax" not in sys.modules or local.here.trace is not None or not all(map(_has_placeholder, leaves)):
        return None
    key = code, tuple(leaves)
    if code is not None and key in _seen:
        return None
    found = _traced(function, spec, leaves)
    if len(_seen) >= _MOST:
        _seen.clear()
    _seen.add(key)
    return found


def _traced(function: Callable[[Any], Any], spec: Any, leaves: list[TensorSpec]) -> Any:
    from ..compiled.output_specs import output_specs

    structure: list[Any] = []

    def on_leaves(inputs: list[Any]) -> list[Any]:
        result = function(nest.pack_sequence_as(spec, inputs))
        structure[:] = [result]
        return nest.flatten(result)

    try:
        found = output_specs("map_func", on_leaves, leaves, compute=False)  # type: ignore[arg-type]
    except (OpError, OperatorNotAllowedInGraphError, InaccessibleTensorError):
        return None  # it needs values
    except (ValueError, TypeError) as error:
        if type(error) in (ValueError, TypeError):
            raise
        return None
    except Exception:
        return None
    if not all(leaf is None or isinstance(leaf, TypeSpec) for leaf in found):
        return None
    return nest.pack_sequence_as(structure[0], found)


def _has_placeholder(spec: Any) -> bool:
    return isinstance(spec, TensorSpec) and spec.dtype is not dtypes.string and spec.shape.rank is not None
