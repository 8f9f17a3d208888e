"""Code of a primitive that is traced once for each choice of shapes, dtypes and attributes, and copied afterwards."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .primitive import local

_MOST = 500  # jaxprs of a function that are kept


def traced(function: Callable[..., Any], *types: Any) -> Any:
    """The closed jaxpr of a function of arrays; each of `types` has a shape and a dtype."""
    import jax

    from ..engine.tracers import quicken

    def run(*tracers: Any) -> Any:
        quicken(tracers[0]._trace, tracers)
        return function(*tracers)

    return jax.make_jaxpr(run)(*[jax.ShapeDtypeStruct(t.shape, t.dtype) for t in types])


def traced_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator, for `Primitive.compiled`: keep the equations that a function of JAX's arrays writes.

    For functions that take long to trace, such as transposes, and that use nothing but their arguments: a network has
    many layers of the same shapes. To copy an equation takes 3 us.
    """

    @functools.lru_cache(_MOST)
    def code(types: tuple[Any, ...], attributes: tuple[Any, ...], context: Any) -> Any:
        return traced(functools.partial(function, **dict(attributes)), *types)

    def copied(*arrays: Any, **attributes: Any) -> Any:
        from jax import config

        from ..engine.tracers import current_trace

        trace = current_trace(arrays[0])
        if trace is None or any(current_trace(array) is not trace for array in arrays[1:]):
            return function(*arrays, **attributes)
        context = local.here.any_length, config.read("jax_enable_x64")
        closed = code(tuple([array.aval for array in arrays]), tuple(attributes.items()), context)
        (out,) = trace.copy_code(closed.jaxpr, closed.consts, arrays, trace.line())
        return out

    return copied
