"""`jax.numpy` as `xp` gives it: functions that are traced often write their equation at once, as in `tracers`.

All others are those of `jax.numpy`, and so are these for arguments that need a conversion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy
import numpy as np
from jax import lax

from .tracers import (
    ALL,
    BINARY,
    BOOL,
    FLOATS,
    INEXACT,
    NUMBERS,
    REALS,
    QuickTracer,
    broadcast_in_dim,
    current_trace,
    operand,
    written1,
    written2,
)

_ACCURACY = {"accuracy": None}
_UNARY: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "negative": (lax.neg_p, {}, NUMBERS),
    "square": (lax.square_p, {}, NUMBERS),
    "abs": (lax.abs_p, {}, FLOATS),
    "absolute": (lax.abs_p, {}, FLOATS),
    "floor": (lax.floor_p, {}, FLOATS),
    "ceil": (lax.ceil_p, {}, FLOATS),
    "isfinite": (lax.is_finite_p, {}, FLOATS),
    "logical_not": (lax.not_p, {}, BOOL),
    "sqrt": (lax.sqrt_p, _ACCURACY, INEXACT),
    "exp": (lax.exp_p, _ACCURACY, INEXACT),
    "log": (lax.log_p, _ACCURACY, INEXACT),
    "log1p": (lax.log1p_p, _ACCURACY, INEXACT),
    "expm1": (lax.expm1_p, _ACCURACY, INEXACT),
    "sin": (lax.sin_p, _ACCURACY, INEXACT),
    "cos": (lax.cos_p, _ACCURACY, INEXACT),
    "tanh": (lax.tanh_p, _ACCURACY, INEXACT),
}
_BINARY: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "add": BINARY["add"],
    "subtract": BINARY["sub"],
    "multiply": BINARY["mul"],
    "divide": BINARY["truediv"],
    "true_divide": BINARY["truediv"],
    "less": BINARY["lt"],
    "less_equal": BINARY["le"],
    "greater": BINARY["gt"],
    "greater_equal": BINARY["ge"],
    "equal": BINARY["eq"],
    "not_equal": BINARY["ne"],
    "maximum": (lax.max_p, {}, REALS),
    "minimum": (lax.min_p, {}, REALS),
    "logical_and": (lax.and_p, {}, BOOL),
    "logical_or": (lax.or_p, {}, BOOL),
}


def _unary(name: str, primitive: Any, params: dict[str, Any], allowed: Any) -> Callable[..., Any]:
    by_jax = getattr(jax.numpy, name)

    def function(x: Any, *rest: Any, **options: Any) -> Any:
        out = None if rest or options else written1(primitive, params, allowed, x)
        return by_jax(x, *rest, **options) if out is None else out

    return function


def _binary(name: str, primitive: Any, params: dict[str, Any], allowed: Any) -> Callable[..., Any]:
    by_jax = getattr(jax.numpy, name)

    def function(x: Any, y: Any, *rest: Any, **options: Any) -> Any:
        out = None if rest or options else written2(primitive, params, allowed, x, y)
        return by_jax(x, y, *rest, **options) if out is None else out

    return function


for _name, _entry in _UNARY.items():
    globals()[_name] = _unary(_name, *_entry)
for _name, _entry in _BINARY.items():
    globals()[_name] = _binary(_name, *_entry)


_ARRAYS = (QuickTracer, np.ndarray)


def power(x: Any, y: Any) -> Any:
    """`jax.numpy.power`; an integer exponent is another operation there."""
    if type(x) in _ARRAYS and type(y) in _ARRAYS:
        out = written2(lax.pow_p, {}, FLOATS, x, y)
        if out is not None:
            return out
    return jax.numpy.power(x, y)


def where(condition: Any, x: Any = None, y: Any = None, **options: Any) -> Any:
    """`jax.numpy.where`, without a function of its own in the jaxpr."""
    out = None if options or x is None or y is None else _selected(condition, x, y)
    return jax.numpy.where(condition, x, y, **options) if out is None else out


def _selected(condition: Any, x: Any, y: Any) -> Any:
    trace = current_trace(condition)
    known = x if type(x) is QuickTracer else y
    if trace is None or condition.aval.dtype not in BOOL or current_trace(known) is not trace:
        return None
    dtype = known.aval.dtype
    x, y = operand(x, trace, dtype), operand(y, trace, dtype)
    if dtype not in ALL or x is None or y is None:
        return None
    parts = [condition, x, y]
    shapes = [part.aval.shape for part in parts]
    if not shapes[0] == shapes[1] == shapes[2]:
        try:
            # A condition without axes chooses between whole arrays.
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            return None
        if 0 in shape:
            return None
        parts = [_broadcast(trace, part, shape) for part in parts[not shapes[0] :]]
        parts = parts if shapes[0] else [condition, *parts]
    elif 0 in shapes[0]:
        return None
    condition, x, y = parts
    return trace.write(lax.select_n_p, [condition, y, x], {})


def _broadcast(trace: Any, x: Any, shape: tuple[int, ...]) -> Any:
    if x.aval.shape == shape:
        return x
    return broadcast_in_dim(trace, x, shape, tuple(range(len(shape) - x.aval.ndim, len(shape))))


def broadcast_to(x: Any, shape: Any, **options: Any) -> Any:
    """`jax.numpy.broadcast_to`."""
    trace = None if options or type(shape) is not tuple else current_trace(x)
    if trace is not None and _fits(x.aval.shape, shape):
        return _broadcast(trace, x, shape)
    return jax.numpy.broadcast_to(x, shape, **options)


def _fits(old: tuple[int, ...], new: tuple[Any, ...]) -> bool:
    """Return whether an array of a shape broadcasts to another."""
    ends = new[len(new) - len(old) :]
    return (
        len(old) <= len(new)
        and all(type(n) is int for n in new)
        and all(n in (1, m) for n, m in zip(old, ends, strict=True))
    )


def sum(x: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
    """`jax.numpy.sum`."""
    keepdims = options.get("keepdims", False)
    if len(options) == ("keepdims" in options):
        trace = current_trace(x)
        wide = trace is not None and x.aval.dtype in _SUMMED and (dtype is None or dtype == x.aval.dtype)
        axes = _axes(axis, x.aval.ndim) if wide else None
        if axes is not None:
            out = trace.write(lax.reduce_sum_p, [x], {"axes": axes, "out_sharding": None})
            return _with_axes(trace, out, x.aval.shape, axes) if keepdims and axes else out
    return jax.numpy.sum(x, axis=axis, dtype=dtype, **options)


_SUMMED = frozenset(map(np.dtype, (np.float32, np.float64, np.complex64, np.complex128)))


def _axes(axis: Any, rank: int) -> tuple[int, ...] | None:
    """The axes of a reduction, in the order in which they were given; None if they are not simply integers."""
    if axis is None:
        return tuple(range(rank))
    given = axis if type(axis) is tuple else (axis,)
    for a in given:
        if type(a) is not int or not -rank <= a < rank:
            return None
    axes = tuple([a % rank for a in given])
    return axes if len(set(axes)) == len(axes) else None


def _with_axes(trace: Any, x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """The result of a reduction with axes of length 1 where they were."""
    kept = tuple([i for i in range(len(shape)) if i not in axes])
    full = tuple([1 if i in axes else n for i, n in enumerate(shape)])
    return broadcast_in_dim(trace, x, full, kept)


def __getattr__(name: str) -> Any:
    value = getattr(jax.numpy, name)
    globals()[name] = value  # the next time it is found here
    return value
