"""Reductions along the axes of ragged tensors, segments of their rows, running sums, softmax and counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.tensor import Tensor, wrap
from ...core.types import DTypeLike
from ...engine.arrays import is_traced
from ..array.creation import ones_like
from ..array.movement import cast, expand_dims, reshape, squeeze
from ..array.scatter import gather_nd
from ..dispatch import extend
from ..known import static_number, static_shape
from ..math import cumulative, reduction, segment
from ..math.counting import bincount
from ..math.functions import divide, exp, log, sqrt, square
from ..nn.softmax import softmax
from ..scalars import boolean
from ..sparse import sums
from ..sparse.sparse_tensor import SparseTensor
from .padding_rows import places_of_values
from .ragged_constructors import count_of
from .ragged_tensor import RaggedTensor, axis_of, ragged
from .row_partition import columns_of_values, decided, lengths_of, rows_of_values, splits_of_lengths

_Segments = Callable[[Any, Any, int], Any]


def in_segments(combine: _Segments, x: Any, ids: Any, count: int) -> Any:
    """Rows of the same segment combined: the first values of the rows, the second ones, and so on."""
    if not isinstance(x, RaggedTensor):
        return combine(x, wrap(ids), count)
    ids = decided("a reduction of ragged rows", ids)
    splits = decided("a reduction of ragged rows", x._splits)
    longest = np.zeros(count, splits.dtype)
    np.maximum.at(longest, ids, lengths_of(splits))
    new = splits_of_lengths(longest)
    values = count_of(x._values)
    places = new[:-1][ids[rows_of_values(splits, values)]] + columns_of_values(splits, values)
    return ragged(in_segments(combine, x._values, places, int(new[-1])), new)


def _along(dense: Any, combine: _Segments, x: Any, axis: int, keepdims: bool) -> Any:
    """A reduction along one axis."""
    if not isinstance(x, RaggedTensor):
        return dense(x, axis=axis, keepdims=keepdims)
    if axis > 1:
        return x.with_values(_along(dense, combine, x._values, axis - 1, keepdims))
    if axis == 1:
        rows = rows_of_values(x._splits, count_of(x._values))
        out = in_segments(combine, x._values, rows, count_of(x))
        return expand_dims(out, 1) if keepdims else out
    out = in_segments(combine, x, np.zeros(count_of(x), np.int64), 1)._values
    return expand_dims(out, 0) if keepdims else out


def reduced(dense: Any, combine: _Segments, x: RaggedTensor, axis: Any, keepdims: Any) -> Any:
    """A reduction along axes: `dense` does it for tensors, `combine` for the values of segments."""
    name = dense.__name__
    keepdims = boolean(name, "keepdims", keepdims)
    rank = len(x.shape)
    if axis is None:
        total = dense(x.flat_values)
        return reshape(total, (1,) * rank) if keepdims else total
    axes = sorted({axis_of(name, a, rank) for a in static_shape(name, axis)}, reverse=True)
    out: Any = x
    for a in axes:  # the last one first, so that the others keep their numbers
        out = _along(dense, combine, out, a, keepdims)
    return out


def _booleans(combine: _Segments) -> _Segments:
    return lambda x, ids, count: cast(combine(cast(x, "int32"), ids, count), "bool")


_COMBINE: dict[Any, _Segments] = {
    reduction.reduce_sum: segment.unsorted_segment_sum,
    cumulative.reduce_prod: segment.unsorted_segment_prod,
    reduction.reduce_max: segment.unsorted_segment_max,
    reduction.reduce_min: segment.unsorted_segment_min,
    reduction.reduce_any: _booleans(segment.unsorted_segment_sum),
    reduction.reduce_all: _booleans(
        segment.unsorted_segment_min
    ),  # of nothing: the largest number, which is true
}


def _register(dense: Any, combine: _Segments) -> None:
    @extend(dense, RaggedTensor)
    def handler(input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None) -> Any:
        return reduced(dense, combine, input_tensor, axis, keepdims)


for _dense, _combine in _COMBINE.items():
    _register(_dense, _combine)


@extend(reduction.reduce_mean, RaggedTensor)
def _mean(input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None) -> Any:
    total = reduction.reduce_sum(input_tensor, axis, keepdims)
    return divide(total, reduction.reduce_sum(ones_like(input_tensor), axis, keepdims))


@extend(reduction.reduce_variance, RaggedTensor)
def _variance(input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None) -> Any:
    """The mean of the squares, less the square of the mean."""
    squares = reduction.reduce_mean(square(input_tensor), axis, keepdims)
    return squares - square(reduction.reduce_mean(input_tensor, axis, keepdims))


@extend(reduction.reduce_std, RaggedTensor)
def _std(input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None) -> Any:
    return sqrt(_variance(input_tensor, axis, keepdims))


@extend(reduction.reduce_logsumexp, RaggedTensor)
def _logsumexp(input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None) -> Any:
    largest = reduction.reduce_max(input_tensor, axis, keepdims=True)
    out = log(reduction.reduce_sum(exp(input_tensor - largest), axis, keepdims=True)) + largest
    if boolean("reduce_logsumexp", "keepdims", keepdims):
        return out
    return squeeze(out, list(range(len(input_tensor.shape))) if axis is None else axis)


@extend(softmax, RaggedTensor)
def _softmax(logits: Any, axis: Any = None, name: str | None = None) -> Any:
    a = axis_of("softmax", -1 if axis is None else axis, len(logits.shape))
    if a > logits.ragged_rank:
        return logits.with_flat_values(softmax(logits.flat_values, a - logits.ragged_rank))
    if a != logits.ragged_rank:
        raise ValueError(
            "softmax: the axis of a ragged tensor must be the innermost of its ragged axes, or after"
        )
    weights = exp(logits - reduction.reduce_max(logits, a, keepdims=True))
    return weights / reduction.reduce_sum(weights, a, keepdims=True)


@extend(cumulative.cumsum, RaggedTensor)
def _cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    running = cumulative.cumsum(x.to_tensor(), axis, exclusive, reverse)
    return x.with_flat_values(gather_nd(running, np.stack(places_of_values(x), 1)))


def _register_segments(function: Any) -> None:
    @extend(function, RaggedTensor)
    def handler(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        count = static_number(f"{function.__name__}: num_segments", num_segments)
        if isinstance(segment_ids, RaggedTensor):
            if not isinstance(data, RaggedTensor):
                raise ValueError(f"{function.__name__}: ragged segment_ids need ragged data of the same rows")
            return function(data._values, segment_ids._values, count)
        ids = segment.integers(function.__name__, "segment_ids", segment_ids)._array
        if ids.shape != (count_of(data),) or (not is_traced(ids) and ((ids < 0) | (ids >= count)).any()):
            raise ValueError(
                f"{function.__name__}: segment_ids must say for each of {count_of(data)} rows a number from 0 to "
                f"{count - 1}"
            )
        return in_segments(function, data, ids, count)


for _function in (
    segment.unsorted_segment_max,
    segment.unsorted_segment_mean,
    segment.unsorted_segment_min,
    segment.unsorted_segment_prod,
    segment.unsorted_segment_sqrt_n,
    segment.unsorted_segment_sum,
):
    _register_segments(_function)


@extend(bincount, RaggedTensor)
def _bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
    axis: Any = None,
    binary_output: bool = False,
) -> Tensor:
    flat_weights = weights.flat_values if isinstance(weights, RaggedTensor) else weights
    if axis is None or static_number("bincount: axis", axis) == 0:
        return bincount(
            arr.flat_values, flat_weights, minlength, maxlength, dtype, axis=axis, binary_output=binary_output
        )
    values = decided("bincount", arr.flat_values._array)
    bins = int(values.max(initial=-1)) + 1
    bins = max(bins, 0 if minlength is None else static_number("bincount: minlength", minlength))
    bins = min(bins, bins if maxlength is None else static_number("bincount: maxlength", maxlength))
    # Rows are filled up with a number that is too large to be counted.
    padded = arr.to_tensor(max(bins, 0))
    by = None if weights is None else weights.to_tensor() if isinstance(weights, RaggedTensor) else weights
    return bincount(padded, by, bins, bins, dtype, axis=-1, binary_output=binary_output)


@extend(sums.bincount, RaggedTensor)
def _sparse_bincount(
    values: Any,
    weights: Any = None,
    axis: int | None = 0,
    minlength: int | None = None,
    maxlength: int | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    numbers, amounts = (x.to_sparse() if isinstance(x, RaggedTensor) else x for x in (values, weights))
    return sums.bincount(numbers, amounts, axis, minlength, maxlength, binary_output)
