"""Products of matrices, and convolutions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .equation_rules import Compute, NoRule, is_half, rule
from .sliding_windows import spread, windows


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
        raise NoRule(eqn.primitive.name)
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
    """Windows as a view, and one product for each group."""
    p = eqn.params
    spec = p["dimension_numbers"]
    x, dtype = eqn.invars[0].aval, eqn.outvars[0].aval.dtype
    if is_half(x.dtype):
        raise NoRule(eqn.primitive.name)
    back = np.argsort(spec.out_spec)
    batch_groups, groups = p["batch_group_count"], p["feature_group_count"]
    dilation, padding = (1, 1, *p["lhs_dilation"]), ((0, 0), (0, 0), *p["padding"])

    def compute(x: Any, kernel: Any) -> Any:
        x, kernel = x.astype(dtype, copy=False), kernel.astype(dtype, copy=False)
        x = spread(x.transpose(spec.lhs_spec), dilation, padding, 0)  # batch, channels, space...
        kernel = kernel.transpose(spec.rhs_spec)  # out channels, channels of a group, window...
        xs = np.split(x, batch_groups) if batch_groups > 1 else np.split(x, groups, 1)
        kernels = np.split(kernel, len(xs))
        each = [
            _convolved(*pair, p["window_strides"], p["rhs_dilation"])
            for pair in zip(xs, kernels, strict=True)
        ]
        return np.concatenate(each, 1).transpose(back)

    return compute


def _convolved(x: Any, kernel: Any, strides: Any, dilation: Any) -> Any:
    """(batch, out channels, windows...) of (batch, channels, space...) and (out channels, channels, window...)."""
    size, rank = kernel.shape[1:], x.ndim - 2
    view = windows(
        x, (1, *size), (1, 1, *strides), (1, 1, *dilation)
    )  # batch, 1, windows..., 1, channels, window...
    count, width = view.shape[2 : 2 + rank], math.prod(size)
    product = view.reshape(x.shape[0] * math.prod(count), width) @ kernel.reshape(len(kernel), width).T
    return np.moveaxis(product.reshape(x.shape[0], *count, kernel.shape[0]), -1, 1)
