"""Running sums, products and log-sum-exps along an axis; and whole products, whose gradients are made of running ones.

The gradient of a running product or log-sum-exp is a linear recurrence, and so is the gradient of a linear recurrence:
with that one primitive gradients of all orders are exact, also where elements are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError
from ...core.primitive import apply, apply1, floats, numbers, primitive
from ...core.slicing import along, getitem, place
from ...core.structural import reshape_, spread, transpose_, unbroadcast
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert
from ...core.types import Axes, Axis, TensorLike
from ...engine.arrays import xp
from .elementwise import exp, maximum, number, select
from .reduction import axes, count_along, one_axis


@primitive(
    wide=True,
    linear=True,
    check_dtype=numbers,
    name="cumsum",
    formula="d cumsum(x) = cumsum(dx)",
    words="Every element gets the sum of the gradients from its place on.",
)
def cumsum_(x, *, axis, exclusive, reverse):
    if reverse:
        x = np.flip(x, axis)
    total = x.cumsum(axis, x.dtype)
    if exclusive:
        first = np.zeros_like(total[along(axis, slice(0, 1)).items])
        total = np.concatenate([first, total[along(axis, slice(0, -1)).items]], axis)
    return np.flip(total, axis) if reverse else total


@cumsum_.compiled
def _(x, *, axis, exclusive, reverse):
    return _running_by_jax("cumsum", shifted(x, axis, reverse) if exclusive else x, axis, reverse)


def _running_by_jax(name: str, x: Any, axis: int, reverse: bool) -> Any:
    """A running function of `jax.lax` along an axis, in either direction."""
    import jax.lax

    return getattr(jax.lax, name)(x, axis + x.ndim, reverse)


cumsum_.rules(
    x=lambda g, axis, exclusive, reverse: cumsum_(g, axis=axis, exclusive=exclusive, reverse=not reverse),
)

# ---------------------------------------------------------------------------------------------------------------------
# Linear recurrences


@primitive(wide=True)
def recurrence(a, b, *, axis, reverse):
    """y[i] = a[i] y[i-1] + b[i] along the axis, from y[-1] = 0; in reverse y[i] = a[i] y[i+1] + b[i] from the end.

    Each step combines elements that are 1, 2, 4, ... apart: log2(n) steps on whole arrays.
    """
    m = xp(a, b)
    shape = np.broadcast_shapes(a.shape, b.shape)
    b = m.broadcast_to(b, shape)
    if reverse:
        a, b = m.flip(a, axis), m.flip(b, axis)
    step = 1
    while step < shape[axis]:
        start, head, tail = (along(axis, s).items for s in (slice(step), slice(-step), slice(step, None)))
        b = m.concatenate([b[start], b[tail] + a[tail] * b[head]], axis)
        a = m.concatenate([a[start], a[tail] * a[head]], axis)
        step *= 2
    return m.flip(b, axis) if reverse else b


def _pulled(g: Any, a: Any, axis: int, reverse: bool) -> Any:
    """The gradient by b: l[i] = g[i] + a[i+1] l[i+1], the same recurrence the other way."""
    return recurrence(shifted(a, axis, not reverse), g, axis=axis, reverse=not reverse)


def shifted(x: Any, axis: int, back: bool) -> Any:
    """`x` moved by one along the axis, forwards or back; a 0 comes in."""
    source, target = along(axis, slice(0, -1)), along(axis, slice(1, None))
    if back:
        source, target = target, source
    shape = tuple(x.shape)
    return place(getitem(x, index=source), index=target, shape=shape)


recurrence.rules(
    a=lambda g, a, out, a_shape, out_shape, axis, reverse: unbroadcast(
        _pulled(g, a, axis, reverse) * shifted(out, axis, reverse), a_shape, out_shape
    ),
    b=lambda g, a, b_shape, out_shape, axis, reverse: unbroadcast(
        _pulled(g, a, axis, reverse), b_shape, out_shape
    ),
)

# ---------------------------------------------------------------------------------------------------------------------
# Products, running and whole


@primitive(wide=True, check_dtype=numbers, name="cumprod")
def cumprod_(x, *, axis, exclusive, reverse):
    if exclusive:
        x = _after_one(x, axis, reverse)
    running = np.cumprod(np.flip(x, axis) if reverse else x, axis, dtype=x.dtype)
    return np.flip(running, axis) if reverse else running


@cumprod_.compiled
def _(x, *, axis, exclusive, reverse):
    return _running_by_jax("cumprod", _after_one(x, axis, reverse) if exclusive else x, axis, reverse)


def _after_one(x: Any, axis: int, reverse: bool) -> Any:
    """`x` moved by one along the axis; a 1 comes in."""
    m = xp(x)
    first = m.ones_like(x[along(axis, slice(0, 1)).items])
    rest = x[along(axis, slice(1, None) if reverse else slice(0, -1)).items]
    return m.concatenate([rest, first] if reverse else [first, rest], axis)


def _unmultiply(g: Any, x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    """dx[i] = (product before i) s[i], with s[i] = sum over k >= i of g[k] (product between i and k).

    s[i] = g[i] + x[i+1] s[i+1]; for exclusive products with g[i+1] in place of g[i].
    """
    back = not reverse
    later = recurrence(
        shifted(x, axis, back), shifted(g, axis, back) if exclusive else g, axis=axis, reverse=back
    )
    return later * cumprod_(x, axis=axis, exclusive=True, reverse=reverse)


cumprod_.rules(x=_unmultiply)


@primitive(
    wide=True,
    check_dtype=numbers,
    name="prod",
    public="reduce_prod",
    formula="d prod(x) = sum over i of (product of the others) dxᵢ",
)
def prod_(x):
    """The product along the last axis."""
    return np.multiply.reduce(x, -1, x.dtype)


@prod_.compiled
def _(x):
    return xp(x).prod(x, -1, dtype=x.dtype)


# The product without x[i] is that of the elements before it times that of the elements after it.
prod_.rules(
    x=lambda g, x, x_shape: (
        spread(g, axis=(-1,), keepdims=False, shape=x_shape)
        * cumprod_(x, axis=-1, exclusive=True, reverse=False)
        * cumprod_(x, axis=-1, exclusive=True, reverse=True)
    )
)

# ---------------------------------------------------------------------------------------------------------------------
# Running log-sum-exps


@primitive(wide=True, check_dtype=floats, name="cumulative_logsumexp")
def cumulative_logsumexp_(x, *, axis, reverse):
    running: Any = np.logaddexp.accumulate(np.flip(x, axis) if reverse else x, axis)
    return np.flip(running, axis) if reverse else running


@cumulative_logsumexp_.compiled
def _(x, *, axis, reverse):
    if x.dtype.kind == "c":  # NumPy's function says so itself
        raise DTypeError(f"cumulative_logsumexp does not take {x.dtype}: cast to another dtype first")
    return _running_by_jax("cumlogsumexp", x, axis, reverse)


def _share(g: Any, x: Any, out: Any, axis: int, reverse: bool) -> Any:
    """dx[i] = exp(x[i] - out[i]) t[i], with t[i] = g[i] + exp(out[i] - out[i+1]) t[i+1]: no factor above 1."""
    lowest = number(float(dtypes.of(out if type(out) is not Tensor else out._array).min), out)
    out = maximum(out, lowest)  # instead of -inf, of which differences are nan
    current, later = along(axis, slice(0, -1)), along(axis, slice(1, None))
    if reverse:
        current, later = later, current
    fall = getitem(out, index=current) - getitem(out, index=later)
    shares = exp(place(fall, index=current, shape=tuple(out.shape)))
    return exp(x - out) * recurrence(shares, g, axis=axis, reverse=not reverse)


cumulative_logsumexp_.rules(x=_share)

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def cumsum(
    x: TensorLike, axis: Axis = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The running sum along `axis`.

    Args:
        x: Numbers.
        axis: The axis to sum along.
        exclusive: Leave each element out of its own sum.
        reverse: Sum from the end.

    >>> cumsum([1.0, 2.0, 3.0]).numpy()
    array([1., 3., 6.], dtype=float32)
    """
    value = convert(x)
    if value._array.dtype.kind == "O":
        raise DTypeError("cumsum takes numbers, not strings")
    a = one_axis("cumsum", axis, value.ndim)
    return apply1(cumsum_, value, {"axis": a, "exclusive": bool(exclusive), "reverse": bool(reverse)})


def cumprod(
    x: TensorLike, axis: Axis = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The running product along `axis`. Its gradients, of any order, are exact where elements are 0.

    `exclusive` and `reverse` are those of `cumsum`.

    >>> cumprod([1.0, 2.0, 3.0]).numpy()
    array([1., 2., 6.], dtype=float32)
    """
    value = convert(x)
    a = one_axis("cumprod", axis, value.ndim)
    return apply1(cumprod_, value, {"axis": a, "exclusive": bool(exclusive), "reverse": bool(reverse)})


def reduce_prod(
    input_tensor: TensorLike, axis: Axes = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The product of the elements along `axis`. Its gradients, of any order, are exact where elements are 0.

    >>> float(reduce_prod([2.0, 3.0, 4.0]))
    24.0
    """
    x: Any = convert(input_tensor)
    shape = x._array.shape
    over = axes("reduce_prod", axis, len(shape))
    rest = tuple([a for a in range(-len(shape), 0) if a not in over])
    if over != tuple(range(-len(over), 0)):
        x = apply1(transpose_, x, {"perm": tuple([a + len(shape) for a in rest + over])})
    if len(over) != 1:
        x = apply1(reshape_, x, {"shape": (*[shape[a] for a in rest], count_along(shape, over))})
    x = apply1(prod_, x)
    if not keepdims:
        return x
    kept = tuple([1 if a in over else shape[a] for a in range(-len(shape), 0)])
    return apply1(reshape_, x, {"shape": kept})


def cumulative_logsumexp(
    x: TensorLike, axis: Axis = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The running log(sum(exp(x))) along `axis`, without overflow; `exclusive` and `reverse` as in `cumsum`.

    >>> cumulative_logsumexp([0.0, 0.0]).numpy()
    array([0.       , 0.6931472], dtype=float32)
    """
    value = convert(x)
    a = one_axis("cumulative_logsumexp", axis, value.ndim)
    running = apply(cumulative_logsumexp_, (value,), {"axis": a, "reverse": bool(reverse)})
    if not exclusive:
        return running
    first = np.zeros((value._array.shape[a],) + (1,) * (-a - 1), bool)
    first[-1 if reverse else 0 : None if reverse else 1] = True
    return apply(select, (first, number(-np.inf, running), shifted(running, a, bool(reverse))))
