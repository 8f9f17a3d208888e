"""Convolution and its two transposes on JAX's arrays: which program of XLA's is the quickest. `convolve.py` calls it.

There are three kinds of programs: XLA's own convolution, by oneDNN or Eigen (`compiled/onednn.py` and
`compiled/fusion.py` choose these libraries); windows that are copied side by side, and one product with the filters;
products or sums for each position in the window. Which one is the quickest follows from the shapes. The figures in
comments are for float32 on two cores, XLA's own by Eigen; bench/convolutions.py measures all of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.primitive import local
from ...core.traced_once import traced
from .windows import Windows, taps

_MOST_TAPS = 25  # positions in a window that are treated one by one: more take seconds to compile
_MOST_TERMS = 27  # products that are added up in one expression: three channels of 3x3
_MOST_COPIES = 1 << 21  # elements of windows that are copied, while the copies fit the cache
_MOST_STORED = 1 << 24  # elements of the same, where XLA's own program is at most twice as slow
_FEW_IMAGES = 4  # for these, the gradient by the filters takes XLA two to six times as long as one by one


def convolved_by_xla(x: Any, filters: Any, windows: Windows, groups: int) -> Any:
    """x convolved with the filters."""
    rank = len(windows.size)
    shape = (*x.shape[: -rank - 1], *windows.fit(x.shape[-rank - 1 : -1]), filters.shape[-1])
    if not (x.size and filters.size and math.prod(shape)):  # JAX takes no space of length 0
        return _zeros(shape, x)
    if _is_quick_as_sum(filters.shape, windows, groups):
        return _by_sum(x, filters, windows, groups)
    as_product = _is_quick_as_product(x.shape, filters.shape, windows, groups, few_channels=4)
    return _convolved(x, filters, windows, groups, _moving_parts if as_product else None)


def deconvolved_by_xla(y: Any, filters: Any, windows: Windows, groups: int, space: tuple[int, ...]) -> Any:
    """The transpose of a convolution on an input with these spatial lengths."""
    shape = (*y.shape[: -len(space) - 1], *space, filters.shape[-2] * groups)
    if not (y.size and filters.size and math.prod(shape)):
        return _zeros(shape, y)
    if _is_pointwise(y, filters, windows, groups):
        return _product(y, filters, 1, 1).reshape(shape)
    if _is_depthwise(filters.shape, windows, groups):
        # Fused, what comes before is computed anew for each position: up to 2.5 times the time.
        y = _unfused(y)
        if set(windows.strides) == {1} and filters.shape[-1] == groups:
            return _by_sum(y, filters[(slice(None, None, -1),) * len(space)], windows.reversed(), groups)
        return _transposed(lambda x, f: _by_sum(x, f, windows, groups), shape, y, filters)
    # XLA's own is slow where its result has few channels: 2.1 ms instead of 1.0 for 8, but 0.24 instead of 0.37 for 16.
    as_product = _is_quick_as_product(shape, filters.shape, windows, groups, few_channels=8)
    function = lambda x, f: _convolved(x, f, windows, groups, _parts if as_product else None)
    x = _transposed(function, shape, y, filters)
    return _unfused(x) if as_product and math.prod(windows.size) > 1 else x


def correlated_by_xla(x: Any, y: Any, windows: Windows, groups: int) -> Any:
    """The gradient of <y, convolve(x, filters)> by the filters."""
    shape = kernel_shape(x, y, windows, groups)
    if not (x.size and y.size and math.prod(shape)):
        return _zeros(shape, y)
    if _is_pointwise(y, x, windows, groups):
        return _product(x, y, 0, 0).reshape(shape)
    if _is_depthwise(shape, windows, groups):
        return _correlated_by_sum(x, y, windows).reshape(shape)
    few_images = math.prod(x.shape[: -len(windows.size) - 1]) <= _FEW_IMAGES
    as_product = _is_quick_as_product(x.shape, shape, windows, groups, few_channels=4 if few_images else 0)
    if not as_product and _is_quick_by_taps(x, y, windows, groups, few_images):
        return _correlated_by_taps(x, y, windows, groups).reshape(shape)
    function = lambda f, x: _convolved(x, f, windows, groups, _moving_parts if as_product else None)
    return _transposed(function, shape, y, x)


def kernel_shape(x: Any, y: Any, windows: Windows, groups: int) -> tuple[int, ...]:
    """The shape of the filters with which a convolution takes x to y."""
    return (*windows.size, x.shape[-1] // groups, y.shape[-1])


# ---------------------------------------------------------------------------------------------------------------------
# Which program is the quickest. On a CPU, and where all lengths are known.


def _may_choose() -> bool:
    import jax

    return jax.default_backend() == "cpu" and not local.here.any_length


def _is_quick_as_product(
    shape: tuple[int, ...], filters: tuple[int, ...], windows: Windows, groups: int, few_channels: int
) -> bool:
    """Return whether XLA is quicker at copying the windows of an array of this shape, and multiplying.

    So it is with few channels (32 images of 28x28 with four: 0.5 ms instead of 1.0), and with more filters than
    windows, because filters are copied then (512 channels of 3x3: 2.3 instead of 4.3).
    """
    rank, size = len(windows.size), math.prod(windows.size)
    if groups > 1 or not _may_choose():
        return False
    if size == 1:  # nothing is copied
        return True
    if size > _MOST_TAPS or set(windows.strides + windows.dilations) != {1}:
        return False
    count = math.prod(shape[: -rank - 1] + windows.fit(shape[-rank - 1 : -1]))
    is_quick = shape[-1] <= few_channels or count < 2 * filters[-1]
    return is_quick and count * shape[-1] * size <= _MOST_COPIES


def _is_depthwise(filters: tuple[int, ...], windows: Windows, groups: int) -> bool:
    """Return whether each channel is by itself, and XLA is quicker at adding up shifted products.

    A step over one such layer takes a fifth to a twentieth of the time at the shapes of MobileNetV2.
    """
    import jax

    each = groups > 1 and filters[-2] == 1
    return each and math.prod(windows.size) <= _MOST_TAPS and jax.default_backend() == "cpu"


def _is_quick_as_sum(filters: tuple[int, ...], windows: Windows, groups: int) -> bool:
    """Return whether XLA is quicker at adding up shifted products, because few numbers make one of the result.

    32 images of 28x28 with one channel take 0.1 ms instead of 0.8, and with three 0.4 instead of 1.0.
    """
    if groups > 1:
        return _is_depthwise(filters, windows, groups)
    return math.prod(filters[:-1]) <= _MOST_TERMS and _may_choose()


def _is_quick_by_taps(x: Any, y: Any, windows: Windows, groups: int, few_images: bool) -> bool:
    """Return whether XLA is quicker at one product for each position in the window, as gradient by the filters.

    Its own program for groups is a plain loop: 455 ms instead of 1.7 for 32 groups of 8 images of 14x14. Of few images,
    the elements at all positions may be stored at once.
    """
    size = math.prod(windows.size)
    if groups == 1 and (not few_images or x.size * size > _MOST_STORED):
        return False
    return size <= _MOST_TAPS and _may_choose() and _are_floats(x, y)


def _is_pointwise(y: Any, other: Any, windows: Windows, groups: int) -> bool:
    """Return whether a convolution is the product of all elements with one matrix: then so are its transposes."""
    plain = groups == 1 and set(windows.size + windows.strides) == {1} and not any(map(any, windows.pads))
    return plain and _may_choose() and _are_floats(y, other)


def _are_floats(x: Any, y: Any) -> bool:
    """Return whether two arrays have one dtype, which has gradients."""
    return dtypes.is_differentiable(x) and bool(x.dtype == y.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# The programs.


def _convolved(x: Any, filters: Any, windows: Windows, groups: int, parts: Any) -> Any:
    """x convolved with the filters: by XLA's own convolution if `parts` is None, and else by a product of windows.

    `parts` gives the elements at each position of the windows.
    """
    import jax

    rank = len(windows.size)
    if parts is not None:
        return _by_product(parts(x, windows), filters)
    letters = "XYZ"[:rank]
    out = jax.lax.conv_general_dilated(
        x.reshape(-1, *x.shape[-rank - 1 :]),
        filters,
        windows.strides,
        windows.pads,
        rhs_dilation=windows.dilations,
        dimension_numbers=(f"N{letters}C", f"{letters}IO", f"N{letters}C"),
        feature_group_count=groups,
    )
    return out.reshape(x.shape[: -rank - 1] + out.shape[1:])


def _product(x: Any, y: Any, axis: int, other: int) -> Any:
    """The product of the rows of two arrays, as matrices, along these axes: what JAX's transpose would be."""
    from jax import lax

    x, y = x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1])
    return lax.dot_general(x, y, (((axis,), (other,)), ((), ())), preferred_element_type=x.dtype)


def _by_product(parts: list[Any], filters: Any) -> Any:
    """A convolution as one product, of the windows and the filters."""
    import jax.numpy as m

    columns = m.concatenate(parts, -1)
    out = columns.reshape(-1, columns.shape[-1]) @ filters.reshape(-1, filters.shape[-1])
    return out.reshape(*columns.shape[:-1], out.shape[-1])


def _by_sum(x: Any, filters: Any, windows: Windows, groups: int) -> Any:
    """A convolution as the sum of all its products, in one loop: of each channel by itself, or of few."""
    channels, outs = x.shape[-1], filters.shape[-1]
    if groups == 1:
        x, windows = _padded(x, windows)
        parts = [part[..., i : i + 1] for part in _parts(_unfused(x), windows) for i in range(channels)]
        weights = filters.reshape(-1, outs)
    else:
        parts = [part[..., None] for part in _parts(x, windows)]
        weights = filters.reshape(-1, channels, outs // channels)
    products = [part * each for part, each in zip(parts, weights, strict=True)]
    out = sum(products[1:], products[0])
    return out.reshape(*parts[0].shape[: x.ndim - 1], outs)


def _correlated_by_sum(x: Any, y: Any, windows: Windows) -> Any:
    """The gradient of a depthwise convolution by the filters."""
    import jax.numpy as m

    y = y.reshape(*y.shape[:-1], x.shape[-1], -1)
    sums = [(part[..., None] * y).sum(range(y.ndim - 2), y.dtype) for part in _parts(x, windows)]
    return m.stack(sums)


def _correlated_by_taps(x: Any, y: Any, windows: Windows, groups: int) -> Any:
    """The gradient by the filters: for each position in the window, the product of the elements there with y."""
    import jax.numpy as m
    from jax import lax

    rows = y.reshape(-1, groups, y.shape[-1] // groups)
    products = [
        lax.dot_general(
            part.reshape(-1, groups, x.shape[-1] // groups), rows, (((0,), (0,)), ((1,), (1,)))
        )  # (groups, channels, filters)
        for part in _parts(x, windows)
    ]
    return m.stack(products).swapaxes(1, 2)


def _transposed(function: Any, shape: tuple[int, ...], y: Any, other: Any) -> Any:
    """The transpose at `y` of `function(x, other)`, linear in an x of this shape. JAX transposes in floats alone."""
    import jax

    wide = y.dtype if dtypes.is_differentiable(y) else np.dtype(np.float64)
    other = other.astype(wide)
    like = jax.ShapeDtypeStruct(shape, wide)
    code = traced(function, like, other)  # which JAX transposes in half the time
    transpose = jax.linear_transpose(
        lambda x: jax.core.eval_jaxpr(code.jaxpr, code.consts, x, other)[0], like
    )
    return transpose(y.astype(wide))[0].astype(y.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# The elements at each position of the windows.


def _parts(x: Any, windows: Windows) -> list[Any]:
    """The elements at each position of the windows."""
    x, windows = _padded(x, windows)
    space = x.shape[-len(windows.size) - 1 : -1]
    return [_sliced(x, tap.elements) for tap in taps(windows, space)]


def _sliced(x: Any, elements: Any) -> Any:
    """`x[..., *elements, :]`, in a tenth of the time that `jax.numpy` takes to analyse the index."""
    from jax import lax

    front = x.ndim - len(elements) - 1
    known = [e.indices(n) for e, n in zip(elements, x.shape[front:-1], strict=True)]
    starts, ends, steps = zip(*[(0, n, 1) for n in x.shape[:front]], *known, (0, x.shape[-1], 1), strict=True)
    return lax.slice(x, starts, ends, None if set(steps) == {1} else steps)


def _moving_parts(x: Any, windows: Windows) -> list[Any]:
    """The same, where XLA does not know at which element a part begins: one kernel copies all of them.

    A kernel for each position took a quarter of the time to compile ResNet50. Of use where parts are stored.
    """
    import jax

    if math.prod(windows.size) == 1:
        return _parts(x, windows)
    x, windows = _padded(x, windows)
    x, rank, zero = _unfused(x), len(windows.size), np.int32(0)
    space = x.shape[-rank - 1 : -1]
    places = [jax.lax.optimization_barrier(np.int32(n)) for n in range(max(windows.reach()))]
    lengths = [(n - 1) * s + 1 for n, s in zip(windows.fit(space), windows.strides)]
    shape = (*x.shape[: -rank - 1], *lengths, x.shape[-1])
    strided = [slice(None, None, s) for s in windows.strides]
    parts = []
    for tap in taps(windows, space):
        starts = [zero] * (x.ndim - rank - 1) + [places[e.start] for e in tap.elements] + [zero]
        part = jax.lax.dynamic_slice(x, starts, shape, allow_negative_indices=False)
        parts.append(_sliced(part, strided))
    return parts


def _padded(x: Any, windows: Windows) -> tuple[Any, Windows]:
    """x with its zeros around it, and the windows that need no more."""
    from jax import lax

    rank = len(windows.size)
    if any(map(any, windows.pads)):
        pads = [(0, 0)] * (x.ndim - rank - 1) + [*windows.pads, (0, 0)]
        x = lax.pad(x, np.zeros((), x.dtype), [(*ends, 0) for ends in pads])
    return x, windows._replace(pads=((0, 0),) * rank)


def _zeros(shape: tuple[int, ...], like: Any) -> Any:
    import jax

    return jax.numpy.zeros(shape, like.dtype)


def _unfused(x: Any) -> Any:
    """The same array, which XLA stores (see `compiled/fusion.py`).

    Fused, a sum over windows is computed anew for each reader of an element: four times where the gradient of a pool
    follows.
    """
    import jax

    return jax.lax.optimization_barrier(x)
