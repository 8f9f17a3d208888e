"""Equations that read and write elements at places that values give."""

from __future__ import annotations

from typing import Any

import numpy as np

from .equation_rules import RULES, Compute, NoRule, rule


class _Places:
    """Where the windows of a gather or a scatter lie in its operand, for each row of indices."""

    def __init__(
        self, shape: Any, sizes: Any, mapped: Any, batching: Any, batch_axes: Any, mode: Any
    ) -> None:
        self.shape, self.sizes, self.mapped = shape, sizes, tuple(mapped)
        self.batching = dict(zip(batching, batch_axes, strict=True))
        name = mode.name if mode is not None else "FILL_OR_DROP"
        if name not in ("CLIP", "FILL_OR_DROP", "PROMISE_IN_BOUNDS", "ONE_HOT"):
            raise NoRule(name)
        self.drops = name == "FILL_OR_DROP"

    def find(self, indices: Any) -> tuple[list[Any], Any]:
        """The indices along each axis of the operand, for windows in bounds, and which windows are."""
        rows = indices.shape[:-1]
        valid = np.ones(rows, bool)
        along = []
        for axis, (n, size) in enumerate(zip(self.shape, self.sizes, strict=True)):
            if axis in self.mapped:
                start = indices[..., self.mapped.index(axis)].astype(np.int64)
                inside = (start >= 0) & (start <= n - size)
                valid &= inside
                start = np.clip(start, 0, n - size)
            elif axis in self.batching:
                where = self.batching[axis]
                start = np.arange(n).reshape([-1 if i == where else 1 for i in range(len(rows))])
            else:
                start = np.zeros((1,) * len(rows), np.int64)
            window = [1] * len(self.shape)
            window[axis] = size
            along.append(
                start.reshape(start.shape + (1,) * len(self.shape)) + np.arange(size).reshape(window)
            )
        return along, valid


@rule("gather")
def _(eqn: Any) -> Compute:
    d, sizes, mode = eqn.params["dimension_numbers"], eqn.params["slice_sizes"], eqn.params["mode"]
    operand, out = eqn.invars[0].aval, eqn.outvars[0].aval
    if operand.size == 0:
        raise NoRule(eqn.primitive.name)
    batch_axes = d.start_indices_batching_dims
    places = _Places(operand.shape, sizes, d.start_index_map, d.operand_batching_dims, batch_axes, mode)
    missing = {*d.collapsed_slice_dims, *d.operand_batching_dims}
    rows = out.ndim - len(d.offset_dims)
    dropped = tuple(rows + i for i in range(operand.ndim) if i in missing)
    order = _positions(out.ndim, d.offset_dims, rows)
    fill = eqn.params["fill_value"]
    if fill is None:
        fill = _default_fill(out.dtype)
    whole_rows = d.start_index_map == (0,) and d.collapsed_slice_dims == (0,) and not d.operand_batching_dims
    whole_rows = whole_rows and tuple(sizes[1:]) == operand.shape[1:]

    def compute(x: Any, indices: Any) -> Any:
        if whole_rows:
            index = indices[..., 0]
            valid = (index >= 0) & (index < x.shape[0])
            result = np.take(x, index, 0, mode="clip")
        else:
            along, valid = places.find(indices)
            result = x[tuple(along)]
            result = result.reshape([n for i, n in enumerate(result.shape) if i not in dropped])
        if places.drops and not valid.all():
            result = np.asarray(result)  # of NumPy's `take`, a number is no array
            result[~valid] = fill
        return result.transpose(order)

    return compute


def _positions(ndim: int, windows: Any, rows: int) -> list[int]:
    """The permutation from (rows..., windows...) to the order in which the axes at `windows` are those of windows."""
    row, window = iter(range(rows)), iter(range(rows, ndim))
    return [next(window) if i in windows else next(row) for i in range(ndim)]


def _default_fill(dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "fcV":
        return dtype.type(np.nan)
    if dtype.kind == "b":
        return True
    return np.iinfo(dtype).max if dtype.kind == "u" else np.iinfo(dtype).min


def _scatter(ufunc: np.ufunc | None) -> Any:
    def entry(eqn: Any) -> Compute:
        d, mode = eqn.params["dimension_numbers"], eqn.params["mode"]
        operand, updates = eqn.invars[0].aval, eqn.invars[2].aval
        if operand.size == 0 or (ufunc is not None and operand.dtype.kind == "V"):
            raise NoRule(eqn.primitive.name)
        if ufunc is None and eqn.params["update_jaxpr"] is not None:  # a function of the old elements
            raise NoRule(eqn.primitive.name)
        gone = {*d.inserted_window_dims, *d.operand_batching_dims}
        lengths = iter(updates.shape[i] for i in d.update_window_dims)
        sizes = [1 if i in gone else next(lengths) for i in range(operand.ndim)]
        batch_axes = d.scatter_indices_batching_dims
        places = _Places(
            operand.shape, sizes, d.scatter_dims_to_operand_dims, d.operand_batching_dims, batch_axes, mode
        )
        clips = mode is not None and mode.name == "CLIP"
        rows = [i for i in range(updates.ndim) if i not in d.update_window_dims]
        order = (*rows, *d.update_window_dims)
        shape = (*[updates.shape[i] for i in rows], *sizes)

        def compute(x: Any, indices: Any, updates: Any) -> Any:
            result = np.array(x)
            along, valid = places.find(indices)
            updates = updates.transpose(order).reshape(shape)
            if not clips and not valid.all():
                along = [np.broadcast_to(a, shape)[valid] for a in along]
                updates = updates[valid]
            if ufunc is None:
                result[tuple(along)] = updates
            else:
                ufunc.at(result, tuple(along), updates)
            return result

        return compute

    return entry


RULES["scatter"] = _scatter(None)
RULES["scatter-add"] = _scatter(np.add)
RULES["scatter-sub"] = _scatter(np.subtract)
RULES["scatter-mul"] = _scatter(np.multiply)
RULES["scatter-min"] = _scatter(np.minimum)
RULES["scatter-max"] = _scatter(np.maximum)
