"""Equations along axes: sums and their kin, cumulative ones, windows, orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from .equation_rules import RULES, Compute, NoRule, dtype_of, is_half, rule
from .sliding_windows import spread, windows


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32) if is_half(dtype) else dtype


@rule("reduce_sum", "reduce_prod")
def _(eqn: Any) -> Compute:
    dtype, axes = dtype_of(eqn), eqn.params["axes"]
    wide = _wide(dtype)
    reduce = (np.add if eqn.primitive.name == "reduce_sum" else np.multiply).reduce
    if wide == dtype:
        return lambda x: reduce(x, axis=axes, dtype=dtype)
    return lambda x: reduce(x, axis=axes, dtype=wide).astype(dtype)


def _extreme(ufunc: np.ufunc, smallest: bool) -> Any:
    def entry(eqn: Any) -> Compute:
        axes, dtype = eqn.params["axes"], dtype_of(eqn)
        if eqn.invars[0].aval.size:
            return lambda x: ufunc.reduce(x, axis=axes)
        initial = _least(dtype) if smallest else _most(dtype)
        return lambda x: ufunc.reduce(x, axis=axes, initial=initial)

    return entry


RULES["reduce_max"] = _extreme(np.maximum, True)
RULES["reduce_min"] = _extreme(np.minimum, False)


def _least(dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "fV":
        return dtype.type(-np.inf)
    return dtype.type(False) if dtype.kind == "b" else np.iinfo(dtype).min


def _most(dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "fV":
        return dtype.type(np.inf)
    return dtype.type(True) if dtype.kind == "b" else np.iinfo(dtype).max


def _bits(ufunc: np.ufunc) -> Any:
    def entry(eqn: Any) -> Compute:
        axes = eqn.params["axes"]
        return lambda x: ufunc.reduce(x, axis=axes)

    return entry


RULES["reduce_and"] = _bits(np.bitwise_and)
RULES["reduce_or"] = _bits(np.bitwise_or)
RULES["reduce_xor"] = _bits(np.bitwise_xor)


@rule("argmax", "argmin")
def _(eqn: Any) -> Compute:
    (axis,), dtype = eqn.params["axes"], dtype_of(eqn)
    find = np.argmax if eqn.primitive.name == "argmax" else np.argmin
    return lambda x: np.asarray(find(x, axis)).astype(dtype)


def _cumulative(ufunc: np.ufunc) -> Any:
    def entry(eqn: Any) -> Compute:
        axis, dtype = eqn.params["axis"], dtype_of(eqn)
        wide = _wide(dtype)
        backwards = tuple(slice(None, None, -1 if i == axis else 1) for i in range(eqn.invars[0].aval.ndim))

        def accumulate(x: Any) -> Any:
            return ufunc.accumulate(x.astype(wide, copy=False), axis).astype(dtype, copy=False)

        return (lambda x: accumulate(x[backwards])[backwards]) if eqn.params["reverse"] else accumulate

    return entry


RULES["cumsum"] = _cumulative(np.add)
RULES["cumprod"] = _cumulative(np.multiply)
RULES["cummax"] = _cumulative(np.maximum)
RULES["cummin"] = _cumulative(np.minimum)
RULES["cumlogsumexp"] = _cumulative(np.logaddexp)


# ---------------------------------------------------------------------------------------------------------------------
# Windows


@rule("reduce_window_sum", "reduce_window_max", "reduce_window_min")
def _(eqn: Any) -> Compute:
    p, dtype = eqn.params, dtype_of(eqn)
    kind = eqn.primitive.name.removeprefix("reduce_window_")
    ufunc = {"sum": np.add, "max": np.maximum, "min": np.minimum}[kind]
    empty = {"sum": lambda d: d.type(0), "max": _least, "min": _most}[kind](dtype)
    rank = len(p["window_dimensions"])
    last, wide = tuple(range(rank, 2 * rank)), _wide(dtype) if kind == "sum" else dtype

    def compute(x: Any) -> Any:
        x = spread(x, p["base_dilation"], p["padding"], empty)
        view = windows(x, p["window_dimensions"], p["window_strides"], p["window_dilation"])
        return ufunc.reduce(view, axis=last, dtype=wide).astype(dtype, copy=False)

    return compute


# ---------------------------------------------------------------------------------------------------------------------
# Orders: NaN comes last, equal elements stay in their order


@rule("sort")
def _(eqn: Any) -> Compute:
    axis, keys = eqn.params["dimension"], eqn.params["num_keys"]
    if any(v.aval.dtype.kind in "cV" for v in eqn.invars[:keys]):
        raise NoRule(eqn.primitive.name)
    if len(eqn.invars) == 1:
        return lambda x: [np.sort(x, axis, kind="stable")]

    def compute(*xs: Any) -> list[Any]:
        if keys == 1:
            order = np.argsort(xs[0], axis, kind="stable")
        else:
            order = np.lexsort(xs[keys - 1 :: -1], axis)
        return [np.take_along_axis(x, order, axis) for x in xs]

    return compute


@rule("top_k")
def _(eqn: Any) -> Compute:
    axis, k = eqn.params["axis"], eqn.params["k"]
    if eqn.invars[0].aval.dtype.kind == "V":
        raise NoRule(eqn.primitive.name)
    dtype = eqn.outvars[1].aval.dtype

    def compute(x: Any) -> list[Any]:
        # Backwards twice, so that of equal elements the first comes first.
        order = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        order = x.shape[axis] - 1 - np.take(order, np.arange(k), axis)
        return [np.take_along_axis(x, order, axis), order.astype(dtype)]

    return compute


@rule("fft")
def _(eqn: Any) -> Compute:
    lengths, dtype = tuple(eqn.params["fft_lengths"]), dtype_of(eqn)
    axes = tuple(range(-len(lengths), 0))
    function: Compute = getattr(np.fft, f"{eqn.params['fft_type'].name.lower()}n")
    return lambda x: function(x, lengths, axes).astype(dtype, copy=False)
