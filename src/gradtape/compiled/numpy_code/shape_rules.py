"""Equations that move elements, and those that make arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .equation_rules import Compute, dtype_of, rule


@rule("reshape")
def _(eqn: Any) -> Compute:
    shape, order = eqn.outvars[0].aval.shape, eqn.params["dimensions"]
    if order is None:
        return lambda x: x.reshape(shape)
    return lambda x: x.transpose(order).reshape(shape)


@rule("squeeze")
def _(eqn: Any) -> Compute:
    shape = eqn.outvars[0].aval.shape
    return lambda x: x.reshape(shape)


@rule("broadcast_in_dim")
def _(eqn: Any) -> Compute:
    shape, axes = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    before = eqn.invars[0].aval.shape
    inner = [1] * len(shape)
    for axis, n in zip(axes, before, strict=True):
        inner[axis] = n
    if tuple(inner) == tuple(shape):
        return lambda x: x.reshape(shape)
    if tuple(inner)[len(shape) - len(before) :] == tuple(before):
        return lambda x: np.broadcast_to(x, shape)
    return lambda x: np.broadcast_to(x.reshape(inner), shape)


@rule("transpose")
def _(eqn: Any) -> Compute:
    axes = eqn.params["permutation"]
    return lambda x: x.transpose(axes)


@rule("rev")
def _(eqn: Any) -> Compute:
    axes = eqn.params["dimensions"]
    index = tuple(slice(None, None, -1 if i in axes else 1) for i in range(eqn.invars[0].aval.ndim))
    return lambda x: x[index]


@rule("slice")
def _(eqn: Any) -> Compute:
    starts, ends, strides = (eqn.params[k] for k in ("start_indices", "limit_indices", "strides"))
    index = tuple(map(slice, starts, ends, strides or [1] * len(starts)))
    return lambda x: x[index]


@rule("concatenate")
def _(eqn: Any) -> Compute:
    axis = eqn.params["dimension"]
    return lambda *xs: np.concatenate(xs, axis)


@rule("stack")
def _(eqn: Any) -> Compute:
    axis = eqn.params["axis"]
    return lambda *xs: np.stack(xs, axis)


@rule("split")
def _(eqn: Any) -> Compute:
    axis = eqn.params["axis"]
    ends = np.cumsum(eqn.params["sizes"])[:-1]
    return lambda x: np.split(x, ends, axis)


@rule("tile")
def _(eqn: Any) -> Compute:
    repeats = eqn.params["reps"]
    return lambda x: np.tile(x, repeats)


@rule("pad")
def _(eqn: Any) -> Compute:
    config, shape, dtype = eqn.params["padding_config"], eqn.outvars[0].aval.shape, dtype_of(eqn)
    into, source = [], []
    for (low, _, inner), n, size in zip(config, eqn.invars[0].aval.shape, shape, strict=True):
        step = inner + 1
        first = max(-(low // step), 0) if low < 0 else 0  # the first element that is not cut off
        start = low + first * step
        count = max(min(n - first, -(-(size - start) // step)), 0)
        into.append(slice(start, start + count * step, step))
        source.append(slice(first, first + count))
    to, of = tuple(into), tuple(source)

    def compute(x: Any, value: Any) -> Any:
        result = np.full(shape, value, dtype)
        result[to] = x[of]
        return result

    return compute


@rule("iota")
def _(eqn: Any) -> Compute:
    shape, axis, dtype = (eqn.params[k] for k in ("shape", "dimension", "dtype"))
    numbers = np.arange(shape[axis]).astype(dtype)
    whole = np.broadcast_to(numbers.reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape)
    return lambda: whole


@rule("dynamic_slice")
def _(eqn: Any) -> Compute:
    sizes = eqn.params["slice_sizes"]
    most = [n - size for n, size in zip(eqn.invars[0].aval.shape, sizes, strict=True)]

    def compute(x: Any, *starts: Any) -> Any:
        clamped = [min(max(int(start), 0), last) for start, last in zip(starts, most, strict=True)]
        return x[tuple(slice(start, start + size) for start, size in zip(clamped, sizes, strict=True))]

    return compute


@rule("dynamic_update_slice")
def _(eqn: Any) -> Compute:
    sizes = eqn.invars[1].aval.shape
    most = [n - size for n, size in zip(eqn.invars[0].aval.shape, sizes, strict=True)]

    def compute(x: Any, update: Any, *starts: Any) -> Any:
        clamped = [min(max(int(start), 0), last) for start, last in zip(starts, most, strict=True)]
        result = np.array(x)
        result[tuple(slice(start, start + size) for start, size in zip(clamped, sizes, strict=True))] = update
        return result

    return compute
