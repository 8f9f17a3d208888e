"""Products of matrices, and convolutions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .equation_rules import Compute, NoRule, is_half, rule


@rule("dot_general")
def _(eqn: Any) -> Compute:
    (x_sum, y_sum), (x_batch, y_batch) = eqn.params["dimension_numbers"]
    x, y, out = eqn.invars[0].aval, eqn.invars[1].aval, eqn.outvars[0].aval
    x_free = [i for i in range(x.ndim) if i not in (*x_sum, *x_batch)]
    y_free = [i for i in range(y.ndim) if i not in (*y_sum, *y_batch)]
    x_axes, y_axes = (*x_batch, *x_free, *x_sum), (*y_batch, *y_sum, *y_free)
    batch = [x.shape[i] for i in x_batch]
    summed = math.prod(x.shape[i] for i in x_sum)
    x_shape = (*batch, math.prod(x.shape[i] for i in x_free), summed)
    y_shape = (*batch, summed, math.prod(y.shape[i] for i in y_free))
    shape, dtype = out.shape, out.dtype
    narrow = is_half(x.dtype) or is_half(y.dtype)
    if x.dtype != y.dtype and not narrow:
        raise NoRule
    wide = np.dtype(np.float32) if narrow and dtype.itemsize <= 4 else dtype
    multiply = np.matmul if batch else np.dot
    if (x_axes, y_axes, len(x_sum), len(batch)) == ((0, 1), (0, 1), 1, 0) and x.dtype == dtype == wide:
        return np.dot

    def compute(a: Any, b: Any) -> Any:
        a = a.transpose(x_axes).reshape(x_shape).astype(wide, copy=False)
        b = b.transpose(y_axes).reshape(y_shape).astype(wide, copy=False)
        return multiply(a, b).reshape(shape).astype(dtype, copy=False)

    return compute


@rule("conv_general_dilated")
def _(eqn: Any) -> Compute:
    """Windows as a view, and one product for each group; see `_convolved`."""
    p = eqn.params
    spec = p["dimension_numbers"]
    x, out = eqn.invars[0].aval, eqn.outvars[0].aval
    if is_half(x.dtype) or any(low < 0 or high < 0 for low, high in p["padding"]):
        raise NoRule
    back = np.argsort(spec.out_spec)
    groups, batch_groups = p["feature_group_count"], p["batch_group_count"]

    def compute(x: Any, kernel: Any) -> Any:
        x = x.transpose(spec.lhs_spec)  # batch, channels, space...
        kernel = kernel.transpose(spec.rhs_spec)  # out channels, channels of a group, window...
        x = _spread(x, p["lhs_dilation"], p["padding"])
        if batch_groups > 1:
            parts = zip(np.split(x, batch_groups), np.split(kernel, batch_groups), strict=True)
        else:
            parts = zip(np.split(x, groups, 1), np.split(kernel, groups), strict=True)
        each = [_convolved(a, b, p["window_strides"], p["rhs_dilation"]) for a, b in parts]
        whole = each[0] if len(each) == 1 else np.concatenate(each, 1)
        return whole.transpose(back).astype(out.dtype, copy=False)

    return compute


def _spread(x: Any, dilation: Any, padding: Any) -> Any:
    """An array (batch, channels, space...) with zeros between its elements and around them."""
    space = [
        low + high + max((n - 1) * d + 1, 0)
        for (low, high), d, n in zip(padding, dilation, x.shape[2:], strict=True)
    ]
    result = np.zeros((*x.shape[:2], *space), x.dtype)
    index = [
        slice(low, low + (n - 1) * d + 1, d)
        for (low, _), d, n in zip(padding, dilation, x.shape[2:], strict=True)
    ]
    result[(slice(None), slice(None), *index)] = x
    return result


def _convolved(x: Any, kernel: Any, strides: Any, dilation: Any) -> Any:
    """(batch, out channels, windows...) of (batch, channels, space...) and (out channels, channels, window...)."""
    size = kernel.shape[2:]
    reach = [(n - 1) * d + 1 for n, d in zip(size, dilation, strict=True)]
    count = [max((n - r) // s + 1, 0) for n, r, s in zip(x.shape[2:], reach, strides, strict=True)]
    step = x.strides[2:]
    windows = as_strided(
        x,
        (x.shape[0], *count, x.shape[1], *size),
        (
            x.strides[0],
            *[a * s for a, s in zip(step, strides, strict=True)],
            x.strides[1],
            *[a * d for a, d in zip(step, dilation, strict=True)],
        ),
    )
    width = x.shape[1] * math.prod(size)
    rows = windows.reshape(x.shape[0] * math.prod(count), width)
    product = rows @ kernel.reshape(kernel.shape[0], width).T
    return np.moveaxis(product.reshape(x.shape[0], *count, kernel.shape[0]), -1, 1)
