"""Reductions: sums, means, extremes, norms, counts, along given axes.

Public functions take an axis, a list of axes, or None for all of them; with `keepdims` the reduced axes stay, with
length 1. Primitives take `axis` as a tuple of negative numbers, so that extra axes in front of a gradient pass through.
`sum` and the transpose of a broadcast are in `core.structural`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...core.dtypes import HALF, as_dtype
from ...core.errors import DTypeError, IndexOutOfBoundsError, InvalidArgumentError
from ...core.primitive import (
    Primitive,
    apply1,
    apply2,
    cast_,
    floats,
    numbers,
    primitive,
    rank_in_pass,
    reals,
    rounded,
)
from ...core.structural import broadcast, cast_without_gradient, conj, spread, sum_, total
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert, floating_tensor
from ...core.types import Axes, Axis, DTypeLike, TensorLike
from ...engine.arrays import xp
from ..known import known
from .elementwise import (
    cast_like,
    divide,
    divide_no_nan,
    equal,
    exp,
    isinf,
    not_equal,
    number,
    select,
    square,
    subtract,
    without_nan,
    zero_like,
)


def axes(name: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that an argument names, as sorted negative numbers; None names all."""
    if axis is None:
        return _all_axes(ndim)
    if type(axis) is int:
        return (one_axis(name, axis, ndim),)
    if isinstance(axis, (Tensor, np.ndarray)) or hasattr(type(axis), "_read"):
        axis = known(name, "axis", convert(axis)._array).tolist()
    if not isinstance(axis, (list, tuple)):
        return (one_axis(name, axis, ndim),)
    named = {one_axis(name, a, ndim) for a in axis}
    if len(named) != len(axis):
        raise InvalidArgumentError(f"{name}: axis {axis!r} names an axis of a tensor of rank {ndim} twice")
    return tuple(sorted(named))


@functools.lru_cache(maxsize=100)
def _all_axes(ndim: int) -> tuple[int, ...]:
    return tuple(range(-ndim, 0))


def one_axis(name: str, axis: Any, ndim: int) -> int:
    """One axis as a negative number."""
    if type(axis) is int and -ndim <= axis < ndim:
        return axis if axis < 0 else axis - ndim
    try:
        a = axis.__index__()
    except (AttributeError, TypeError):
        raise DTypeError(f"{name}: an axis must be an integer, not {axis!r}") from None
    if not -ndim <= a < ndim:
        raise IndexOutOfBoundsError(
            f"{name}: axis {a} is out of range for a tensor of rank {ndim}: give one of {-ndim} to {ndim - 1}"
            if ndim
            else f"{name}: axis {a} is out of range: a scalar has no axes"
        )
    return int(a if a < 0 else a - ndim)


_max: Any = np.maximum.reduce


def largest(x: Any, axis: Any) -> Any:
    """The largest element along `axis`, which stays with length 1; -inf if there is none."""
    if type(x) is not np.ndarray:
        return xp(x).max(x, axis=axis, keepdims=True, initial=-np.inf)
    return _max(x, axis, None, None, True, -np.inf)


# ---------------------------------------------------------------------------------------------------------------------
# Means


@primitive(
    wide="rules",
    linear=True,
    check_dtype=numbers,
    public="reduce_mean",
    formula="d mean(x) = sum(dx) / n",
    words="Every element gets the gradient of the mean, divided by their number n.",
)
def mean(x, *, axis, keepdims):
    count = count_along(x.shape, axis)
    if x.dtype.char not in "fdFD":
        if x.dtype.char in HALF:
            return rounded(mean.forward, x, axis=axis, keepdims=keepdims)
        if x.dtype.kind in "iu":
            return (x.sum(axis, keepdims=keepdims) / max(count, 1)).astype(x.dtype)
    whole = total(x, axis, keepdims)
    return whole / count if count else whole / xp(x).zeros((), x.dtype)


def _shares(g: Any, x_shape: tuple[int, ...], axis: tuple[int, ...], keepdims: bool) -> Any:
    """The gradient of a mean by each element."""
    count = count_along(x_shape, axis) or 1
    if type(g) is np.ndarray and not g.ndim and g.dtype.char in "fd":
        # 4 us sooner than by NumPy's numbers.
        return broadcast(np.asarray(g.item() / count, g.dtype), x_shape)
    return spread(g / count, axis=axis, keepdims=keepdims, shape=x_shape)


mean.rules(x=_shares)


def count_along(shape: tuple[int, ...], axis: tuple[int, ...]) -> int:
    count = 1
    for a in axis:
        count *= shape[a]
    return count


# ---------------------------------------------------------------------------------------------------------------------
# Extremes


@primitive(
    wide="rules",
    check_dtype=numbers,
    name="max",
    public="reduce_max",
    formula="d max(x) = dx at the largest element",
    words="The gradient goes to the largest element; where several are largest they share it.",
)
def max_(x, *, axis, keepdims):
    _ordered("reduce_max", x)
    return (
        x.max(axis, keepdims=keepdims, initial=_lowest(x))
        if _empty(x, axis)
        else x.max(axis, keepdims=keepdims)
    )


@primitive(
    wide="rules",
    check_dtype=numbers,
    name="min",
    public="reduce_min",
    formula="d min(x) = dx at the smallest element",
    words="The gradient goes to the smallest element; where several are smallest they share it.",
)
def min_(x, *, axis, keepdims):
    _ordered("reduce_min", x)
    return (
        x.min(axis, keepdims=keepdims, initial=_highest(x))
        if _empty(x, axis)
        else x.min(axis, keepdims=keepdims)
    )


def _ordered(name: str, x: Any) -> None:
    if x.dtype.kind == "c":
        raise DTypeError(
            f"{name} takes real numbers, not {x.dtype}, which has no order: use abs(x), or real(x)"
        )


def _empty(x: Any, axis: tuple[int, ...]) -> bool:
    return count_along(x.shape, axis) == 0


def _lowest(x: Any) -> Any:
    return -np.inf if x.dtype.kind in "fV" else np.iinfo(x.dtype).min


def _highest(x: Any) -> Any:
    return np.inf if x.dtype.kind in "fV" else np.iinfo(x.dtype).max


def _to_the_extreme(g: Any, x: Any, out: Any, x_shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """Equal elements share the gradient of the extreme."""
    reached = equal(x, spread(out, axis=axis, keepdims=keepdims, shape=x_shape))
    chosen = cast_like(reached, x)
    shared = g / sum_(chosen, axis=axis, keepdims=keepdims)
    return spread(shared, axis=axis, keepdims=keepdims, shape=x_shape) * chosen


for _extreme in (max_, min_):
    _extreme.rules(x=_to_the_extreme)


@primitive(name="any", discrete=True, public="reduce_any")
def any_(x, *, axis, keepdims):
    return (
        x.any(axis, keepdims=keepdims)
        if xp(x) is not np
        else np.logical_or.reduce(x, axis, keepdims=keepdims)
    )


@primitive(name="all", discrete=True, public="reduce_all")
def all_(x, *, axis, keepdims):
    return (
        x.all(axis, keepdims=keepdims)
        if xp(x) is not np
        else np.logical_and.reduce(x, axis, keepdims=keepdims)
    )


@primitive(
    name="argmax", instead="tf.reduce_max for the value, tf.nn.softmax for weights that tell which is largest"
)
def argmax_(x, *, axis, dtype):
    return x.argmax(axis).astype(dtype)


@primitive(
    name="argmin",
    instead="tf.reduce_min for the value, tf.nn.softmax of the negative for weights that tell which is smallest",
)
def argmin_(x, *, axis, dtype):
    return x.argmin(axis).astype(dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Norms and log-sum-exp


@primitive(wide=True, check_dtype=floats, formula="d ‖x‖ = sum(x dx) / ‖x‖")
def euclidean_norm(x, *, axis, keepdims):
    if x.dtype.char in "fd":
        squares = total(x * x, axis, keepdims)
        if _are_within(squares, *_SAFE_SQUARES[x.dtype.char]):
            return np.sqrt(squares)
    return _scaled_norm(x, axis, keepdims)


def _scaled_norm(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """The norm of numbers whose squares might overflow or underflow."""
    scale = xp(x).abs(x).max(axis, keepdims=True, initial=0)
    scale = xp(x).where((scale > 0) & (scale < np.inf), scale, xp(x).ones_like(scale))
    root = xp(x).sqrt(xp(x).sum(xp(x).square(xp(x).abs(x) / scale), axis, keepdims=keepdims))
    return (root * scale.reshape(root.shape)).astype(xp(x).abs(x).dtype)


@euclidean_norm.compiled
def _norm_by_xla(x: Any, *, axis: tuple[int, ...], keepdims: bool) -> Any:
    """The same. To find the scales takes as long as to add up the squares, so large arrays have a branch without."""
    import jax

    if x.dtype.char not in "fd" or not (type(x.size) is int and x.size >= _LARGE):
        return _scaled_norm(x, axis, keepdims)
    squares = jax.numpy.sum(x * x, axis, keepdims=keepdims)
    least, most = _SAFE_SQUARES[x.dtype.char]
    are_within = ((squares > least) & (squares < most)).all()
    return jax.lax.cond(are_within, lambda: jax.numpy.sqrt(squares), lambda: _scaled_norm(x, axis, keepdims))


_LARGE = 1 << 14  # elements
# Sums of squares that neither overflow nor have lost digits to numbers too small for a square.
_SAFE_SQUARES = {"f": (1e-30, 1e38), "d": (1e-290, 1e308)}
_SAFE_NORMS = {"f": (1e-15, 1e15), "d": (1e-150, 1e150)}  # by which all that is divided stays in range


def _are_within(x: Any, least: float, most: float) -> bool:
    """Return whether all elements lie between two numbers, so that none is nan."""
    if not x.ndim:
        return least < float(x) < most
    return bool(x.size and least < np.minimum.reduce(x, None) and np.maximum.reduce(x, None) < most)


def _norm_rule(g: Any, x: Any, out: Any, x_shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """d|x| = conj(x) . dx / |x|; at 0, where every unit vector is a subgradient, the shortest: 0."""
    kind = (x._array if type(x) is Tensor else x).dtype.char
    if kind not in "fd" or (type(out) is np.ndarray and _are_within(out, *_SAFE_NORMS[kind])):
        return _times_conj(spread(divide_no_nan(g, out), axis=axis, keepdims=keepdims, shape=x_shape), x)
    # x / |x| first: g / |x|, and what its derivative is made of, may be too small or too large a number.
    length = select(equal(out, 0.0), number(np.inf, out), out)
    g, length = (spread(part, axis=axis, keepdims=keepdims, shape=x_shape) for part in (g, length))
    return g * (x / length)


euclidean_norm.rules(x=_norm_rule)


def _times_conj(g: Any, x: Any) -> Any:
    """g * conj(x), where g is real and x may be complex."""
    if (x._array if type(x) is Tensor else x).dtype.kind != "c":
        return g * x
    return cast_(g, dtype=x.dtype.name, source=g.dtype.name) * conj(x)


@primitive(
    wide=True,
    check_dtype=floats,
    formula="d logsumexp(x) = sum(softmax(x) dx)",
    words="Every element gets its share, softmax(x), of the gradient.",
)
def logsumexp(x, *, axis, keepdims):
    m = xp(x)
    top = largest(x, axis)
    if m is not np or not without_nan(top - top):
        top = m.where(m.isfinite(top), top, m.zeros_like(top))
    whole = total(m.exp(x - top), axis, keepdims)
    return m.log(whole) + top.reshape(whole.shape)


def _softmax_of(x: Any, out: Any, x_shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """exp(x - logsumexp(x)), and 0 where all of x is -inf. Divided by its sum, which rounding moves away from 1.

    Elements that are +inf share the whole.
    """
    whole = spread(out, axis=axis, keepdims=keepdims, shape=x_shape)
    shifted = x - whole
    if not without_nan(shifted):
        lowest = number(-np.inf, x)
        shifted = select(isinf(whole), select(equal(x, np.inf), zero_like(x), lowest), shifted)
    weights = exp(shifted)
    total = spread(sum_(weights, axis=axis, keepdims=keepdims), axis=axis, keepdims=keepdims, shape=x_shape)
    return divide_no_nan(weights, total)


logsumexp.rules(
    x=lambda g, x, out, x_shape, axis, keepdims: (
        spread(g, axis=axis, keepdims=keepdims, shape=x_shape) * _softmax_of(x, out, x_shape, axis, keepdims)
    )
)

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


def _reduce(reduction: Primitive, name: str, input_tensor: Any, axis: Any, keepdims: Any) -> Any:
    x = input_tensor if type(input_tensor) is Tensor else convert(input_tensor)
    ndim = rank_in_pass(x)
    if axis is None and keepdims is False:
        return apply1(reduction, x, _WHOLE[ndim])
    if (axis is None or type(axis) is int) and type(keepdims) is bool:
        return apply1(reduction, x, _attributes(name, axis, keepdims, ndim))
    return apply1(reduction, x, {"axis": axes(name, axis, ndim), "keepdims": bool(keepdims)})


@functools.lru_cache(maxsize=1000)
def _attributes(name: str, axis: int | None, keepdims: bool, ndim: int) -> dict[str, Any]:
    return {"axis": axes(name, axis, ndim), "keepdims": keepdims}


_WHOLE: list[dict[str, Any]] = [
    {"axis": _all_axes(ndim), "keepdims": False} for ndim in range(65)
]  # for tensors of each rank


def reduce_sum(
    input_tensor: TensorLike, axis: Axes = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The sum of the elements along `axis` (all axes by default).

    >>> float(reduce_sum([[1.0, 2.0], [3.0, 4.0]]))
    10.0
    """
    return _reduce(sum_, "reduce_sum", input_tensor, axis, keepdims)


def reduce_mean(
    input_tensor: TensorLike, axis: Axes = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean of the elements along `axis` (all axes by default). Integers give an integer, rounded towards 0.

    >>> reduce_mean([[1.0, 2.0], [3.0, 4.0]], axis=0).numpy()
    array([2., 3.], dtype=float32)
    """
    return _reduce(mean, "reduce_mean", input_tensor, axis, keepdims)


def reduce_max(
    input_tensor: TensorLike, axis: Axes = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The largest element along `axis` (all axes by default). Equal ones share its gradient.

    Raises:
        TypeError: of complex numbers, booleans or strings, which have no order.

    >>> float(reduce_max([1.0, 3.0, 2.0]))
    3.0
    """
    return _reduce(max_, "reduce_max", input_tensor, axis, keepdims)


def reduce_min(
    input_tensor: TensorLike, axis: Axes = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The smallest element along `axis` (all axes by default). Equal ones share its gradient.

    Raises:
        TypeError: of complex numbers, booleans or strings, which have no order.

    >>> float(reduce_min([1.0, 3.0, 2.0]))
    1.0
    """
    return _reduce(min_, "reduce_min", input_tensor, axis, keepdims)


def reduce_any(
    input_tensor: TensorLike, axis: Axes = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return whether any element along `axis` (all axes by default) is true.

    Raises:
        TypeError: if the elements are not booleans.

    >>> bool(reduce_any([False, True]))
    True
    """
    return _reduce(any_, "reduce_any", _booleans("reduce_any", input_tensor), axis, keepdims)


def reduce_all(
    input_tensor: TensorLike, axis: Axes = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return whether all elements along `axis` (all axes by default) are true.

    Raises:
        TypeError: if the elements are not booleans.

    >>> bool(reduce_all([False, True]))
    False
    """
    return _reduce(all_, "reduce_all", _booleans("reduce_all", input_tensor), axis, keepdims)


def _booleans(name: str, value: Any) -> Tensor:
    x = convert(value)
    if not x._array.size and isinstance(value, (list, tuple)):  # nothing in it says what it is a list of
        x = wrap(np.zeros(x._array.shape, bool))
    if x._array.dtype.kind != "b":
        raise DTypeError(f"{name} takes booleans, not {x.dtype.name}: compare first, as in x > 0")
    return x


def reduce_logsumexp(
    input_tensor: TensorLike, axis: Axes = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """log(sum(exp(x))) along `axis` (all axes by default), without overflow.

    Raises:
        TypeError: if the elements are not floating.

    >>> float(reduce_logsumexp([1000.0, 1000.0]))
    1000.6931762695312
    """
    x = input_tensor if type(input_tensor) is Tensor else convert(input_tensor)
    if x._array.dtype.kind != "f" and not x.dtype.is_floating:
        raise DTypeError(
            f"reduce_logsumexp takes floating tensors, not {x.dtype.name}: use cast(x, 'float32')"
        )
    return _reduce(logsumexp, "reduce_logsumexp", x, axis, keepdims)


def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: Axes = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The root of the sum of squares along `axis` (all axes by default). The gradient at 0 is 0.

    >>> float(reduce_euclidean_norm([3.0, 4.0]))
    5.0
    """
    return _reduce(euclidean_norm, "reduce_euclidean_norm", input_tensor, axis, keepdims)


def reduce_variance(
    input_tensor: TensorLike, axis: Axes = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean squared deviation from the mean along `axis` (all axes by default).

    Raises:
        TypeError: if the elements are neither floating nor complex.

    >>> float(reduce_variance([1.0, 3.0]))
    1.0
    """
    x = floating_tensor("reduce_variance", input_tensor, allow_complex=True)
    if x._array.dtype.char in HALF:
        return rounded(reduce_variance, x, axis=axis, keepdims=keepdims)
    over = axes("reduce_variance", axis, x._array.ndim)
    centred = _centred(x, over)
    if x._array.dtype.kind != "c":
        squares = apply1(square, centred)
    else:
        kinds = {"dtype": "float32" if x.dtype.size == 8 else "float64", "source": x.dtype.name}
        squares = apply1(cast_, centred * conj(centred), kinds)
    return apply1(mean, squares, {"axis": over, "keepdims": bool(keepdims)})


def reduce_std(
    input_tensor: TensorLike, axis: Axes = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The standard deviation along `axis` (all axes by default). The gradient is 0 where all elements are equal.

    Raises:
        TypeError: if the elements are neither floating nor complex.

    >>> float(reduce_std([1.0, 3.0]))
    1.0
    """
    x = floating_tensor("reduce_std", input_tensor, allow_complex=True)
    if x._array.dtype.char in HALF:
        return rounded(reduce_std, x, axis=axis, keepdims=keepdims)
    over = axes("reduce_std", axis, x._array.ndim)
    root = math.sqrt(count_along(x._array.shape, over))
    length = apply1(euclidean_norm, _centred(x, over), {"axis": over, "keepdims": bool(keepdims)})
    return apply2(divide, length, root)


def _centred(x: Tensor, over: tuple[int, ...]) -> Any:
    return apply2(subtract, x, apply1(mean, x, {"axis": over, "keepdims": True}))


def count_nonzero(
    input: TensorLike,
    axis: Axes = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = "int64",
    name: str | None = None,
) -> Tensor:
    """The number of elements along `axis` that are not 0; of strings, not empty.

    >>> int(count_nonzero([0.0, 2.0, 3.0]))
    2
    """
    x = convert(input)
    zero = b"" if x.dtype.name == "string" else np.zeros((), x._array.dtype)
    kind = as_dtype(dtype).name
    found = apply1(cast_without_gradient, apply2(not_equal, x, zero), {"dtype": "int64"})
    total = _reduce(sum_, "count_nonzero", found, axis, keepdims)
    return total if kind == "int64" else apply1(cast_without_gradient, total, {"dtype": kind})


def argmax(
    input: TensorLike,
    axis: Axis | None = None,
    output_type: DTypeLike | None = "int64",
    name: str | None = None,
) -> Tensor:
    """The index of the largest element along `axis` (the first axis by default); of equal ones the first.

    Args:
        output_type: int64 (the default, or None), int32, int16 or uint16.

    Raises:
        TypeError: of another `output_type`, or of complex numbers or strings, which have no order.

    >>> int(argmax([1.0, 3.0, 2.0]))
    1
    """
    return _arg(argmax_, "argmax", input, axis, output_type)


def argmin(
    input: TensorLike,
    axis: Axis | None = None,
    output_type: DTypeLike | None = "int64",
    name: str | None = None,
) -> Tensor:
    """The index of the smallest element along `axis` (the first axis by default); of equal ones the first.

    Args:
        output_type: int64 (the default, or None), int32, int16 or uint16.

    Raises:
        TypeError: of another `output_type`, or of complex numbers or strings, which have no order.

    >>> int(argmin([1.0, 3.0, 2.0]))
    0
    """
    return _arg(argmin_, "argmin", input, axis, output_type)


def _arg(which: Primitive, name: str, value: Any, axis: Any, output_type: Any) -> Tensor:
    x = convert(value)
    if x._array.dtype.kind in "cO":
        reals(which, [x._array], None)
    a = one_axis(name, 0 if axis is None else axis, x.ndim)
    kind = "int64" if output_type is None else as_dtype(output_type).name
    if kind not in ("int64", "int32", "int16", "uint16"):
        raise DTypeError(
            f"{name}: output_type must be int64, int32, int16 or uint16, not {kind}: cast the result"
        )
    return apply1(which, x, {"axis": a, "dtype": kind})
