"""The primitives of convolution: windows as views, copied side by side in the cache, and one matrix product.

There are three, closed under differentiation, because <y, convolve(x, f)> is linear in each of x, f and y: `convolve`
gives its gradient by y, `deconvolve` that by x, `correlate` that by f. Channels are last, and all axes in front of
the spatial ones are the batch; so extra axes in front of a gradient are more batch, or more channels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...core.primitive import primitive
from ...core.structural import reshape_, transpose_
from ...core.traced_once import traced_once
from .convolve_by_xla import convolved_by_xla, correlated_by_xla, deconvolved_by_xla, kernel_shape
from .windows import Windows, taps

# Elements copied before they are multiplied: copies that stay in the cache save a third of the time.
_BLOCK = 1 << 20

# ---------------------------------------------------------------------------------------------------------------------
# The three primitives. x: (batch..., space..., C), filters: (window..., C / groups, O), out: (batch..., windows..., O)


@primitive(wide=True, multilinear=True)
def convolve(x, filters, *, windows, groups):
    rank = len(windows.size)
    front, space = x.shape[: -rank - 1], x.shape[-rank - 1 : -1]
    x = x.reshape(-1 if x.size else math.prod(front), *space, x.shape[-1])
    out = _convolved(x, filters, windows, groups)
    return out.reshape(front + out.shape[1:])


@convolve.compiled
@traced_once
def _(x, filters, *, windows, groups):
    return convolved_by_xla(x, filters, windows, groups)


@primitive(wide=True, multilinear=True)
def deconvolve(y, filters, *, windows, groups, space):
    """The transpose of `convolve` on an input with these spatial lengths."""
    front = y.shape[: -len(space) - 1]
    y = y.reshape(-1 if y.size else math.prod(front), *y.shape[-len(space) - 1 :])
    out = _deconvolved(y, filters, windows, groups, space)
    return out.reshape(front + out.shape[1:])


@deconvolve.compiled
@traced_once
def _(y, filters, *, windows, groups, space):
    return deconvolved_by_xla(y, filters, windows, groups, space)


@primitive(
    wide=True,
    multilinear=True,
    words="The input gets the gradient convolved with the kernel, the kernel gets it correlated with the input.",
)
def correlate(x, y, *, windows, groups):
    """The gradient of <y, convolve(x, filters)> by the filters."""
    if not (x.size and y.size):
        return np.zeros(kernel_shape(x, y, windows, groups), x.dtype)
    rank = len(windows.size)
    return _correlated(
        x.reshape(-1, *x.shape[-rank - 1 :]), y.reshape(-1, *y.shape[-rank - 1 :]), windows, groups
    )


@correlate.compiled
@traced_once
def _(x, y, *, windows, groups):
    return correlated_by_xla(x, y, windows, groups)


# ---------------------------------------------------------------------------------------------------------------------
# Rules. A gradient by the filters keeps extra axes separate as channels.


def _fold(g: Any, extra: int, groups: int, axis: int) -> tuple[Any, tuple[int, ...]]:
    """The first `extra` axes moved into a channel axis, after its groups; also returns their lengths."""
    shape = tuple(g.shape)
    front, rest = shape[:extra], shape[extra:]
    at = len(shape) + axis
    g = reshape_(g, shape=(*shape[:at], groups, shape[at] // groups, *shape[at + 1 :]))
    g = transpose_(g, perm=(*range(extra, at + 1), *range(extra), *range(at + 1, len(shape) + 1)))
    folded = list(rest)
    folded[axis] *= math.prod(front)
    return reshape_(g, shape=tuple(folded)), front


def _unfold(out: Any, front: tuple[int, ...], groups: int, axis: int) -> Any:
    """Undo `_fold`: the axes go back to the front."""
    shape = tuple(out.shape)
    at, extra = len(shape) + axis, len(front)
    inner = shape[at] // groups // math.prod(front) if shape[at] else 0
    out = reshape_(out, shape=(*shape[:at], groups, *front, inner, *shape[at + 1 :]))
    out = transpose_(
        out,
        perm=(*range(at + 1, at + 1 + extra), *range(at + 1), *range(at + 1 + extra, len(shape) + 1 + extra)),
    )
    return reshape_(out, shape=(*front, *shape[:at], groups * inner, *shape[at + 1 :]))


def _extra_axes_as_channels(
    contract: Any, g: Any, out_shape: tuple[int, ...], fold: tuple[int, int], unfold: tuple[int, int]
) -> Any:
    """`contract(g)`, which has no batch axis for the extra axes of g: fold them into channels, by (groups, axis)."""
    extra = g.ndim - len(out_shape)
    if not extra:
        return contract(g)
    folded, front = _fold(g, extra, *fold)
    return _unfold(contract(folded), front, *unfold)


convolve.rules(
    x=lambda g, filters, x_shape, windows, groups: deconvolve(
        g, filters, windows=windows, groups=groups, space=x_shape[-len(windows.size) - 1 : -1]
    ),
    filters=lambda g, x, out_shape, windows, groups: _extra_axes_as_channels(
        lambda g: correlate(x, g, windows=windows, groups=groups), g, out_shape, (groups, -1), (groups, -1)
    ),
)
deconvolve.rules(
    y=lambda g, filters, windows, groups: convolve(g, filters, windows=windows, groups=groups),
    filters=lambda g, y, out_shape, windows, groups: _extra_axes_as_channels(
        lambda g: correlate(g, y, windows=windows, groups=groups), g, out_shape, (groups, -1), (1, -2)
    ),
)
correlate.rules(
    x=lambda g, y, x_shape, out_shape, windows, groups: _extra_axes_as_channels(
        lambda g: deconvolve(y, g, windows=windows, groups=groups, space=x_shape[-len(windows.size) - 1 : -1]),
        g, out_shape, (1, -2), (groups, -1),
    ),
    y=lambda g, x, out_shape, windows, groups: _extra_axes_as_channels(
        lambda g: convolve(x, g, windows=windows, groups=groups), g, out_shape, (groups, -1), (groups, -1)
    ),
)  # fmt: skip

# ---------------------------------------------------------------------------------------------------------------------
# On NumPy's arrays. Here the batch is one axis.


def _padded(x: Any, pads: tuple[tuple[int, int], ...]) -> Any:
    """x with zeros around the spatial axes; a negative number takes elements away."""
    if not any(map(any, pads)):
        return x
    space = x.shape[1:-1]
    out = np.zeros((x.shape[0], *[n + b + a for n, (b, a) in zip(space, pads)], x.shape[-1]), x.dtype)
    inside = tuple([slice(max(b, 0), n + b + min(a, 0)) for n, (b, a) in zip(space, pads)])
    taken = tuple([slice(max(-b, 0), n + min(a, 0)) for n, (b, a) in zip(space, pads)])
    out[:, *inside] = x[:, *taken]
    return out


def _window_view(x: Any, windows: Windows) -> Any:
    """A view of x with one window for each place where it fits: (batch, windows..., window..., C)."""
    count = windows.fit(x.shape[1:-1])
    x = _padded(x, windows.pads)
    batch, *space, channel = x.strides
    steps = [n * s for n, s in zip(space, windows.strides)]
    gaps = [n * d for n, d in zip(space, windows.dilations)]
    shape = (x.shape[0], *count, *windows.size, x.shape[-1])
    return as_strided(x, shape, (batch, *steps, *gaps, channel), writeable=False)


def _blocks(shape: tuple[int, ...], row: int) -> Iterator[tuple[slice, slice]]:
    """Parts of a (batch, rows, ...) grid, each of about _BLOCK elements: some images, or some rows of one image."""
    image = math.prod(shape[1:]) * row
    if image <= _BLOCK:
        step = max(1, _BLOCK // max(image, 1))
        for i in range(0, shape[0], step):
            yield slice(i, i + step), slice(None)
    else:
        step = max(1, _BLOCK * shape[1] // image)
        for i in range(shape[0]):
            for j in range(0, shape[1], step):
                yield slice(i, i + 1), slice(j, j + step)


def _convolved(x: Any, filters: Any, windows: Windows, groups: int) -> Any:
    space = x.shape[1:-1]
    out = np.empty((x.shape[0], *windows.fit(space), filters.shape[-1]), x.dtype)
    if not (out.size and x.size):
        out.fill(0)
        return out
    if filters.shape[-2] == 1 and groups > 1:
        return _depthwise(x, filters, windows, out)
    if groups > 1:
        return _in_groups(x, filters, windows, groups, out)
    matrix = filters.reshape(-1, filters.shape[-1])
    for part, columns in _columns(x, windows):
        block = out[part]
        np.matmul(columns, matrix, out=block.reshape(-1, block.shape[-1]))
    return out


def _columns(x: Any, windows: Windows) -> Iterator[tuple[Any, Any]]:
    """The windows as the rows of matrices, block by block: where they belong in the output, and the matrix."""
    view = _window_view(x, windows)
    rank = len(windows.size)
    row = math.prod(view.shape[rank + 1 :])
    if all(n == 1 for n in (*windows.size, *windows.strides)):  # the windows are the elements
        yield ..., view.reshape(-1, row)
        return
    for part in _blocks(view.shape[: rank + 1], row):
        yield part, view[part].reshape(-1, row)


def _in_groups(x: Any, filters: Any, windows: Windows, groups: int, out: Any) -> Any:
    """A stack of products, one for each group of channels."""
    matrices = filters.reshape(-1, groups, filters.shape[-1] // groups).swapaxes(0, 1)
    for part, columns in _group_columns(x, windows, groups):
        block = out[part]
        block[...] = (columns @ matrices).swapaxes(0, 1).reshape(block.shape)
    return out


def _group_columns(x: Any, windows: Windows, groups: int) -> Iterator[tuple[Any, Any]]:
    """The windows of each group's channels as the rows of matrices, block by block: (groups, rows, window)."""
    view = _window_view(x, windows)
    rank = len(windows.size)
    row = math.prod(view.shape[rank + 1 :])
    view = np.moveaxis(view.reshape(*view.shape[:-1], groups, -1), -2, 0)  # splitting an axis copies nothing
    for part in _blocks(view.shape[1 : rank + 2], row):
        yield part, view[:, *part].reshape(groups, -1, row // groups)


def _letters(rank: int) -> tuple[str, str]:
    """Subscripts for the batch and the windows, and for the positions in a window."""
    return "nxyz"[: rank + 1], "ijk"[:rank]


def _depthwise(x: Any, filters: Any, windows: Windows, out: Any) -> Any:
    """Each channel by itself, for one of its filters after another: no matrix product has so little to add up."""
    at, position = _letters(len(windows.size))
    view = _window_view(x, windows)
    weights = filters.reshape(*windows.size, x.shape[-1], -1)
    grid = out.reshape(*out.shape[:-1], x.shape[-1], -1)
    for m in range(weights.shape[-1]):
        np.einsum(f"{at}{position}c,{position}c->{at}c", view, weights[..., m], out=grid[..., m])
    return out


def _deconvolved(y: Any, filters: Any, windows: Windows, groups: int, space: tuple[int, ...]) -> Any:
    each, outs = filters.shape[-2], filters.shape[-1] // groups
    shape = (y.shape[0], *space, each * groups)
    if not (y.size and math.prod(shape)):
        return np.zeros(shape, y.dtype)
    by_one = all(s == 1 for s in windows.strides)
    grid = y.shape[:-1]
    if each == 1 and groups > 1:
        y = y.reshape(*grid, groups, outs)
        if by_one:
            return _depthwise_reversed(y, filters, windows, shape)
        product = lambda weights: (y * weights.reshape(groups, outs)).sum(-1)
    elif by_one and 4 * each >= outs:
        # A third faster, unless it copies more.
        return _convolved(y, *_reversed(filters, windows, groups), groups)
    elif groups == 1:
        y = y.reshape(-1, outs)
        product = lambda weights: y @ weights.T
    else:
        y = y.reshape(-1, groups, outs).swapaxes(0, 1)
        product = lambda weights: (y @ weights.reshape(each, groups, outs).transpose(1, 2, 0)).swapaxes(0, 1)
    out = np.zeros(shape, y.dtype)
    for tap in taps(windows, space):
        part = product(filters[tap.position]).reshape(*grid, -1)
        met = out[:, *tap.elements]
        met += part[:, *tap.windows]
    return out


def _depthwise_reversed(y: Any, filters: Any, windows: Windows, shape: tuple[int, ...]) -> Any:
    turned, back = _reversed(filters, windows, y.shape[-2])
    turned = np.moveaxis(turned, -2, -1)  # (window..., channels, filters of each)
    out, part = np.zeros(shape, y.dtype), np.empty(shape, y.dtype)
    for m in range(y.shape[-1]):
        out += _depthwise(y[..., m], turned[..., m], back, part)
    return out


def _reversed(filters: Any, windows: Windows, groups: int) -> tuple[Any, Windows]:
    """The filters and windows with which `convolve` does what `deconvolve` does, for windows that move by 1."""
    rank = len(windows.size)
    *size, each, outs = filters.shape
    turned = filters[(slice(None, None, -1),) * rank].reshape(*size, each, groups, outs // groups)
    turned = np.moveaxis(turned, -1, rank).swapaxes(-1, -2).reshape(*size, outs // groups, groups * each)
    return turned, windows.reversed()


def _correlated(x: Any, y: Any, windows: Windows, groups: int) -> Any:
    each, outs = x.shape[-1] // groups, y.shape[-1]
    shape = (*windows.size, each, outs)
    if each == 1 and groups > 1:
        at, position = _letters(len(windows.size))
        view, y = _window_view(x, windows), y.reshape(*y.shape[:-1], groups, -1)
        total = np.empty((*windows.size, groups, outs // groups), x.dtype)
        for m in range(outs // groups):
            np.einsum(f"{at}{position}c,{at}c->{position}c", view, y[..., m], out=total[..., m])
        return total.reshape(shape)
    if groups == 1:
        total = np.zeros((math.prod(shape[:-1]), outs), x.dtype)
        for part, columns in _columns(x, windows):
            total += columns.T @ y[part].reshape(-1, outs)
        return total.reshape(shape)
    total = np.zeros((groups, math.prod(shape[:-1]), outs // groups), x.dtype)
    for part, columns in _group_columns(x, windows, groups):
        rows = y[part].reshape(-1, groups, outs // groups).swapaxes(0, 1)
        total += columns.swapaxes(-1, -2) @ rows
    return total.swapaxes(0, 1).reshape(shape)
