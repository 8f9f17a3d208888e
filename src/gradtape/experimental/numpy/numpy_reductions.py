"""Reductions for `experimental.numpy`: sums, means, extremes, and running sums."""

from __future__ import annotations

import builtins
import math as _math
from collections.abc import Callable
from typing import Any, Protocol

from ... import math as _tf
from ...core.tensor import Tensor
from ...core.types import Axes, Axis, DTypeLike, TensorLike
from ...ops.array import movement as _movement
from ...ops.math.functions import where as _where
from ...ops.scalars import integer as _integer
from .numpy_arrays import array, inexact_array, together
from .numpy_math import named


class _Reduction(Protocol):
    def __call__(self, a: TensorLike, axis: Axes = None, keepdims: bool | None = None) -> Tensor: ...


class _TypedReduction(Protocol):
    def __call__(
        self, a: TensorLike, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool | None = None
    ) -> Tensor: ...


def _reduction(
    of: Callable[[Any, Any, bool], Tensor], name: str, doc: str, take: Callable[[Any], Tensor]
) -> _Reduction:
    def function(a: TensorLike, axis: Axes = None, keepdims: bool | None = None) -> Tensor:
        return of(take(a), axis, bool(keepdims))

    return named(function, name, doc)


def _typed_reduction(
    of: Callable[[Any, Any, bool], Tensor], name: str, doc: str, take: Callable[[Any], Tensor]
) -> _TypedReduction:
    def function(
        a: TensorLike, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool | None = None
    ) -> Tensor:
        return of(take(a) if dtype is None else array(a, dtype), axis, bool(keepdims))

    return named(function, name, doc)


def _summable(a: Any) -> Tensor:
    """As NumPy sums it: small integers and booleans as int64."""
    x = array(a)
    short = x.dtype.is_bool or (x.dtype.is_integer and x.dtype.size < 8)
    return _movement.cast(x, "uint64" if x.dtype.is_unsigned else "int64") if short else x


def _truth(a: Any) -> Tensor:
    return array(a, bool)


sum = _typed_reduction(_tf.reduce_sum, "sum", "The sum.\n\n>>> int(sum([1, 2]))\n3", _summable)
prod = _typed_reduction(_tf.reduce_prod, "prod", "The product.\n\n>>> int(prod([2, 3]))\n6", _summable)
std = _reduction(
    _tf.reduce_std, "std", "The standard deviation.\n\n>>> float(std([1, 3]))\n1.0", inexact_array
)
max = _reduction(_tf.reduce_max, "max", "The largest.\n\n>>> int(max([1, 2]))\n2", array)
min = _reduction(_tf.reduce_min, "min", "The smallest.\n\n>>> int(min([1, 2]))\n1", array)
all = _reduction(_tf.reduce_all, "all", "Whether all are true.\n\n>>> bool(all([1, 0]))\nFalse", _truth)
any = _reduction(_tf.reduce_any, "any", "Whether any is true.\n\n>>> bool(any([1, 0]))\nTrue", _truth)


def argmax(a: TensorLike, axis: Axis | None = None) -> Tensor:
    """The index of the largest element, along an axis or in the flat tensor.

    >>> int(argmax([1, 3, 2]))
    1
    """
    return _tf.argmax(_movement.reshape(array(a), (-1,)), 0) if axis is None else _tf.argmax(array(a), axis)


def argmin(a: TensorLike, axis: Axis | None = None) -> Tensor:
    """The index of the smallest element, along an axis or in the flat tensor.

    >>> int(argmin([2, 1, 3]))
    1
    """
    return _tf.argmin(_movement.reshape(array(a), (-1,)), 0) if axis is None else _tf.argmin(array(a), axis)


def mean(
    a: TensorLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The mean.

    Args:
        dtype: in which to compute; by default that of `a`, float64 for integers.
        out: must be None.

    >>> float(mean([1, 2]))
    1.5
    """
    _no_output("mean", out)
    return _tf.reduce_mean(inexact_array(a) if dtype is None else array(a, dtype), axis, bool(keepdims))


def _no_output(name: str, out: Any) -> None:
    if out is not None:
        raise ValueError(f"{name}: tensors are immutable, so out must be None")


def var(
    a: TensorLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool | None = None,
) -> Tensor:
    """The variance.

    Args:
        dtype: in which to compute; by default that of `a`, float64 for integers.
        out: must be None.
        ddof: the sum of squares is divided by the number of elements less this.

    >>> float(var([1, 3]))
    1.0
    """
    _no_output("var", out)
    x = inexact_array(a) if dtype is None else inexact_array(array(a, dtype))
    found = _tf.reduce_variance(x, axis, bool(keepdims))
    if not ddof:
        return found
    count = _math.prod(x._array.shape) // builtins.max(_math.prod(found._array.shape), 1)
    return found * array(count / (count - ddof) if count != ddof else _math.nan, found.dtype)


def amax(a: TensorLike, axis: Axes = None, out: None = None, keepdims: bool | None = None) -> Tensor:
    """The largest; `out` must be None.

    >>> int(amax([1, 2]))
    2
    """
    _no_output("amax", out)
    return max(a, axis, keepdims)


def amin(a: TensorLike, axis: Axes = None, out: None = None, keepdims: bool | None = None) -> Tensor:
    """The smallest; `out` must be None.

    >>> int(amin([1, 2]))
    1
    """
    _no_output("amin", out)
    return min(a, axis, keepdims)


def ptp(a: TensorLike, axis: Axes = None, keepdims: bool | None = None) -> Tensor:
    """The largest less the smallest.

    >>> int(ptp([1, 5]))
    4
    """
    x = array(a)
    return max(x, axis, keepdims) - min(x, axis, keepdims)


def count_nonzero(a: TensorLike, axis: Axes = None) -> Tensor:
    """The number of elements that are not 0.

    >>> int(count_nonzero([0, 5, 6]))
    2
    """
    return _tf.count_nonzero(array(a), axis)


def average(
    a: TensorLike, axis: Axis | None = None, weights: TensorLike | None = None, returned: bool = False
) -> Any:
    """The mean, weighted.

    Args:
        weights: of the shape of `a`, or a vector along the axis.
        returned: whether to return the sum of the weights as well.

    >>> float(average([1, 3], weights=[3, 1]))
    1.5
    """
    x = inexact_array(a)
    if weights is None:
        found = _tf.reduce_mean(x, axis)
        count = _math.prod(x._array.shape) // builtins.max(_math.prod(found._array.shape), 1)
        return (found, found * 0 + count) if returned else found
    x, w = together(x, inexact_array(weights))
    if w._array.shape != x._array.shape:
        if axis is None or w.ndim != 1:
            raise ValueError(
                f"average: weights of shape {list(w.shape)} need an axis, or the shape {list(x.shape)} of the array"
            )
        along = _integer("average", "axis", axis) % builtins.max(x.ndim, 1)
        w = _movement.reshape(w, [-1 if i == along else 1 for i in range(x.ndim)]) + x * 0
    total = _tf.reduce_sum(w, axis)
    found = _tf.reduce_sum(x * w, axis) / total
    return (found, total) if returned else found


def _without_nan(name: str, a: Any, dtype: Any, instead: float) -> tuple[Tensor, Tensor]:
    x = _summable(a) if dtype is None else array(a, dtype)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return x, _tf.equal(x, x)
    there = _tf.equal(x, x)
    return _where(there, x, array(instead, x.dtype)), there


def nansum(
    a: TensorLike, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The sum of the elements that are not NaN.

    >>> float(nansum([1.0, float("nan")]))
    1.0
    """
    return _tf.reduce_sum(_without_nan("nansum", a, dtype, 0)[0], axis, bool(keepdims))


def nanprod(
    a: TensorLike, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The product of the elements that are not NaN.

    >>> float(nanprod([2.0, float("nan")]))
    2.0
    """
    return _tf.reduce_prod(_without_nan("nanprod", a, dtype, 1)[0], axis, bool(keepdims))


def nanmean(
    a: TensorLike, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool | None = None
) -> Tensor:
    """The mean of the elements that are not NaN.

    >>> float(nanmean([1.0, 3.0, float("nan")]))
    2.0
    """
    values, there = _without_nan("nanmean", inexact_array(a), dtype, 0)
    count = _tf.reduce_sum(_movement.cast(there, values.dtype), axis, bool(keepdims))
    return _tf.reduce_sum(values, axis, bool(keepdims)) / count


def cumsum(a: TensorLike, axis: Axis | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """The sums of the elements up to each one, along an axis or in the flat array.

    >>> cumsum([1, 2, 3]).numpy()
    array([1, 3, 6])
    """
    return _running(_tf.cumsum, a, axis, dtype)


def cumprod(a: TensorLike, axis: Axis | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """The products of the elements up to each one, along an axis or in the flat array.

    >>> cumprod([1, 2, 3]).numpy()
    array([1, 2, 6])
    """
    return _running(_tf.cumprod, a, axis, dtype)


def _running(of: Any, a: Any, axis: Any, dtype: Any) -> Tensor:
    x = _summable(a) if dtype is None else array(a, dtype)
    if axis is None:
        x, axis = _movement.reshape(x, (-1,)), 0
    found: Tensor = of(x, axis)
    return found


def diff(a: TensorLike, n: int = 1, axis: Axis = -1) -> Tensor:
    """The differences of neighbours along an axis, `n` times.

    >>> diff([1, 4, 9]).numpy()
    array([3, 5])
    """
    x, times = array(a), _integer("diff", "n", n, 0)
    if not x.ndim:
        raise ValueError("diff: needs an axis")
    along = _integer("diff", "axis", axis)
    if not -x.ndim <= along < x.ndim:
        raise ValueError(f"diff: there is no axis {along} among {x.ndim}")
    lead = (slice(None),) * (along % x.ndim)
    for _ in range(builtins.min(times, x._array.shape[along])):
        after, before = x[(*lead, slice(1, None))], x[(*lead, slice(None, -1))]
        x = _tf.logical_xor(after, before) if x.dtype.is_bool else after - before
    return x
