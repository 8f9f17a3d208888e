"""Products of matrices, and convolutions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .equation_rules import Compute, NoRule, is_half, rule
from .sliding_windows import spread, windows

_BLOCK = 1 << 20  # elements of windows that are copied at a time: copies that stay in the cache


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
    convolved = _convolved_by_batch if spec.lhs_spec[0] == x.ndim - 1 else _convolved

    def compute(x: Any, kernel: Any) -> Any:
        x, kernel = x.astype(dtype, copy=False), kernel.astype(dtype, copy=False)
        x = spread(x.transpose(spec.lhs_spec), dilation, padding, 0)  # batch, channels, space...
        kernel = kernel.transpose(spec.rhs_spec)  # out channels, channels of a group, window...
        xs = np.split(x, batch_groups) if batch_groups > 1 else np.split(x, groups, 1)
        kernels = np.split(kernel, len(xs))
        each = [
            convolved(*pair, p["window_strides"], p["rhs_dilation"]) for pair in zip(xs, kernels, strict=True)
        ]
        return (np.concatenate(each, 1) if len(each) > 1 else each[0]).transpose(back)

    return compute


# Both give (batch, out channels, windows...) of (batch, channels, space...) and (out channels, channels, window...). To
# copy windows takes most of the time, and a fourth of it if what is innermost in memory stays innermost.


def _convolved(x: Any, kernel: Any, strides: Any, dilation: Any) -> Any:
    """The product of all windows, with their channels innermost, and the kernels: some images at a time."""
    rank = x.ndim - 2
    # batch, windows..., window..., channels
    view = np.moveaxis(_windows(x, kernel, strides, dilation), 1 + rank, -1)
    shape = view.shape[: 1 + rank]
    rows, width, outs = math.prod(shape[1:]), math.prod(kernel.shape[1:]), len(kernel)
    kernel = np.moveaxis(kernel, 1, -1).reshape(outs, width).T
    out = np.empty((len(x), rows, outs), kernel.dtype)
    images = max(1, _BLOCK // max(rows * width, 1))
    for i in range(0, len(x), images):
        part, place = view[i : i + images], out[i : i + images]
        np.dot(part.reshape(len(part) * rows, width), kernel, out=place.reshape(len(part) * rows, outs))
    return np.moveaxis(out.reshape(*shape, outs), -1, 1)


def _convolved_by_batch(x: Any, kernel: Any, strides: Any, dilation: Any) -> Any:
    """The product of the kernels and all windows, with the batch innermost: as in a gradient by the filters."""
    rank = x.ndim - 2
    view = _windows(x, kernel, strides, dilation)
    # channels, window..., windows..., batch
    view = view.transpose(*range(1 + rank, view.ndim), *range(1, 1 + rank), 0)
    shape = view.shape[1 + rank :]
    width, outs = math.prod(kernel.shape[1:]), len(kernel)
    kernel = np.moveaxis(kernel, 0, -1).reshape(width, outs).T
    product = kernel @ view.reshape(width, math.prod(shape))
    return np.moveaxis(product.reshape(outs, *shape), -1, 0)


def _windows(x: Any, kernel: Any, strides: Any, dilation: Any) -> Any:
    """A view of x: batch, windows..., channels, window..."""
    view = windows(x, (1, *kernel.shape[1:]), (1, 1, *strides), (1, 1, *dilation))
    return view.squeeze((1, x.ndim))
