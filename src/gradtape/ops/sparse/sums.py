"""Sums, extremes, softmax and products of sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert, convert_to_tensor
from ...core.types import Axes, DTypeLike, ShapeLike, TensorLike
from ...engine.arrays import is_traced
from ..array import movement
from ..array.scatter import gather_nd, scatter_nd, tensor_scatter_nd_add
from ..known import afford, shape_known, static_number, static_shape
from ..linalg.products import matmul
from ..math import functions, segment
from ..scalars import boolean, choice, integer, number
from .arrangement import retain, transpose
from .sparse_tensor import SparseTensor, checked, elements, in_order, places, positions


def add(a: Any, b: Any, threshold: TensorLike = 0) -> Any:
    """The sum of two sparse tensors, which is sparse, or of a sparse and a dense one, which is dense.

    Args:
        threshold: elements of a sparse sum that are smaller, in absolute value, are left out.

    Raises:
        TypeError: if neither is sparse.

    >>> one = SparseTensor([[0]], [1.0], [2])
    >>> add(one, one).values.numpy(), add(one, [1.0, 1.0]).numpy()
    (array([2.], dtype=float32), array([2., 1.], dtype=float32))
    """
    if not isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise TypeError(
            "sparse.add: at least one of the two must be a SparseTensor: use tf.add for dense ones"
        )
    if not isinstance(b, SparseTensor):
        return _plus_dense(a, b)
    if not isinstance(a, SparseTensor):
        return _plus_dense(b, a)
    total = _combined("add", a, b, segment.unsorted_segment_sum)
    least = number("sparse.add", "threshold", threshold)
    if not least:
        return total
    size = np.abs(shape_known("sparse.add", "the values", total.values._array, "leave threshold out"))
    return retain(total, size >= least)


def _plus_dense(sparse: SparseTensor, dense: TensorLike) -> Tensor:
    tensor = convert(dense, None, sparse.values._array.dtype)
    if tuple(tensor._array.shape) != sparse.lengths:
        raise InvalidArgumentError(
            f"sparse.add: a sparse tensor of shape {sparse.shape} and a dense one of {tensor.shape}: they must agree"
        )
    return tensor_scatter_nd_add(tensor, sparse.indices, sparse.values)


def _combined(operation: str, a: SparseTensor, b: SparseTensor, combine: Any) -> SparseTensor:
    """The elements of both, those at the same place combined; an operand without an element there counts as 0."""
    if a.lengths != b.lengths:
        raise InvalidArgumentError(f"sparse.{operation}: the shapes {a.shape} and {b.shape} differ")
    flat = [
        shape_known(f"sparse.{operation}", "the indices", positions(s)._array, "use dense tensors")
        for s in (a, b)
    ]
    found = np.unique(np.concatenate(flat))
    values = [
        _spread(s.values, np.searchsorted(found, places), len(found))
        for s, places in zip((a, b), flat, strict=True)
    ]
    rows = np.concatenate([np.arange(len(found))] * 2)
    total = combine(movement.concat(values, 0), rows, len(found))
    return SparseTensor(places(wrap(found), a.lengths), total, a.lengths)


def _spread(values: Tensor, rows: np.ndarray, count: int) -> Tensor:
    return scatter_nd(rows[:, None], values, [count])


def maximum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """The larger elements; a place where only one has an element counts as 0 in the other.

    >>> maximum(SparseTensor([[0]], [-1.0], [2]), SparseTensor([[1]], [3.0], [2])).values.numpy()
    array([0., 3.], dtype=float32)
    """
    pair = checked("maximum", sp_a), checked("maximum", sp_b)
    return _combined("maximum", *pair, segment.unsorted_segment_max)


def minimum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """The smaller elements; a place where only one has an element counts as 0 in the other.

    >>> minimum(SparseTensor([[0]], [-1.0], [2]), SparseTensor([[1]], [3.0], [2])).values.numpy()
    array([-1.,  0.], dtype=float32)
    """
    pair = checked("minimum", sp_a), checked("minimum", sp_b)
    return _combined("minimum", *pair, segment.unsorted_segment_min)


def reduce_sum(
    sp_input: SparseTensor,
    axis: Axes = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Sums along axes; of all elements by default.

    Args:
        keepdims: whether the axes stay, with length 1.
        output_is_sparse: whether the result is a SparseTensor.

    >>> reduce_sum(SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 3]), 1).numpy()
    array([1., 2.], dtype=float32)
    """
    return _reduced("reduce_sum", sp_input, axis, keepdims, output_is_sparse, segment.unsorted_segment_sum)


def reduce_max(
    sp_input: SparseTensor,
    axis: Axes = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The largest elements along axes, of those that are there; 0 where there are none.

    The arguments are those of `reduce_sum`.

    >>> reduce_max(SparseTensor([[0, 1]], [-1.0], [1, 3]), 1).numpy()
    array([-1.], dtype=float32)
    """
    return _reduced("reduce_max", sp_input, axis, keepdims, output_is_sparse, segment.unsorted_segment_max)


def _reduced(operation: str, value: Any, axis: Any, keepdims: Any, as_sparse: bool, combine: Any) -> Any:
    sparse = checked(operation, value)
    rank = len(sparse.lengths)
    gone = (
        set(range(rank))
        if axis is None
        else {_checked_axis(operation, a, rank) for a in static_shape(operation, axis)}
    )
    kept = tuple(a for a in range(rank) if a not in gone)
    lengths = tuple(sparse.lengths[a] for a in kept)
    shape = tuple(1 if a in gone else n for a, n in enumerate(sparse.lengths)) if keepdims else lengths
    rows = positions(sparse, kept)
    if not as_sparse:
        count = int(np.prod(lengths, dtype=object))
        afford(f"sparse.{operation}", lengths, 8)
        total = combine(sparse.values, rows, count)
        if combine is segment.unsorted_segment_max:
            ones = wrap(np.ones(sparse.values._array.shape, np.int32))
            there = segment.unsorted_segment_sum(ones, rows, count) > 0
            total = functions.where(there, total, functions.multiply_no_nan(total, _zeros(total)))
        return movement.reshape(total, shape)
    known = shape_known(f"sparse.{operation}", "the indices", rows._array, "leave output_is_sparse out")
    found, inverse = np.unique(known, return_inverse=True)
    total = combine(sparse.values, inverse, len(found))
    return SparseTensor(places(wrap(found), shape), total, shape)


def _zeros(like: Tensor) -> Tensor:
    return wrap(np.zeros(like._array.shape, like._array.dtype))


def _checked_axis(operation: str, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise InvalidArgumentError(f"sparse.{operation}: there is no axis {axis} in a tensor of rank {rank}")
    return axis % rank


def softmax(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Softmax along the last axis, over the elements that are there.

    >>> softmax(SparseTensor([[0, 0], [0, 2]], [1.0, 1.0], [1, 3])).values.numpy()
    array([0.5, 0.5], dtype=float32)
    """
    sparse = checked("softmax", sp_input)
    if len(sparse.lengths) < 2:
        raise InvalidArgumentError(f"sparse.softmax: the rank must be 2 or more, not {len(sparse.lengths)}")
    sparse = in_order(sparse)
    rows, count = _compact(sparse, tuple(range(len(sparse.lengths) - 1)))
    largest = segment.unsorted_segment_max(sparse.values, rows, count)
    powers = functions.exp(sparse.values - movement.gather(largest, rows))
    totals = segment.unsorted_segment_sum(powers, rows, count)
    return sparse.with_values(powers / movement.gather(totals, rows))


def _compact(sparse: SparseTensor, axes: tuple[int, ...]) -> tuple[Any, int]:
    """For each element the number of its row, counting rows along some axes; and how many there are."""
    flat = positions(sparse, axes)
    if is_traced(flat._array):
        return flat, int(np.prod([sparse.lengths[a] for a in axes], dtype=object))
    found, rows = np.unique(flat._array, return_inverse=True)
    return rows, len(found)


def sparse_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of two matrices, one of which is sparse.

    Args:
        adjoint_a, adjoint_b: whether to take the conjugate transpose of the factor first.

    Raises:
        InvalidArgumentError: if the shapes do not fit.

    >>> sparse_dense_matmul(SparseTensor([[0, 1]], [2.0], [2, 2]), [[1.0], [3.0]]).numpy()
    array([[6.],
           [0.]], dtype=float32)
    """
    if isinstance(b, SparseTensor):
        if isinstance(sp_a, SparseTensor):
            raise TypeError(
                "sparse.sparse_dense_matmul: one of the factors must be dense: use sparse.to_dense"
            )
        flipped = sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a)
        return functions.conj(movement.transpose(flipped))
    sparse = checked("sparse_dense_matmul", sp_a)
    dense = convert(b, None, sparse.values._array.dtype)
    if len(sparse.lengths) != 2 or dense.ndim != 2:
        raise InvalidArgumentError(
            f"sparse.sparse_dense_matmul: two matrices are multiplied, not shapes {sparse.shape} and {dense.shape}"
        )
    if adjoint_a:
        sparse = transpose(sparse.with_values(functions.conj(sparse.values)))
    if adjoint_b:
        dense = functions.conj(movement.transpose(dense))
    if sparse.lengths[1] != dense._array.shape[0]:
        raise InvalidArgumentError(
            f"sparse.sparse_dense_matmul: matrices of shapes {sparse.shape} and {dense.shape} do not multiply"
        )
    rows, columns = sparse.indices[:, 0], sparse.indices[:, 1]
    products = movement.gather(dense, columns) * sparse.values[:, None]
    return segment.unsorted_segment_sum(products, rows, sparse.lengths[0])


def sampled_addmm(
    indices: TensorLike,
    values: TensorLike,
    dense_shape: ShapeLike,
    mat1: TensorLike,
    mat2: TensorLike,
    beta: float = 1.0,
    alpha: float = 1.0,
    output_type: DTypeLike = dtypes.float32,
) -> tuple[Tensor, Tensor, Tensor]:
    """The elements of alpha * mat1 @ mat2 at some places, plus beta times the values that are there.

    Returns the indices, the new values and the dense shape.

    Args:
        indices: (..., elements, 2): the places in each matrix.
        values: (..., elements).
        dense_shape: shape of a matrix.
        output_type: dtype of the new values.

    >>> sampled_addmm([[0, 0]], [1.0], [1, 1], [[2.0]], [[3.0]])[1].numpy()
    array([7.], dtype=float32)
    """
    at, there = convert_to_tensor(indices), convert_to_tensor(values)
    if at.ndim < 2 or at.shape[:-1] != there.shape or not at.dtype.is_integer:
        raise ValueError(
            f"sparse.sampled_addmm: indices (..., elements, 2) and values (..., elements) do not fit: "
            f"{list(at.shape)} and {list(there.shape)}"
        )
    shape: Any = dense_shape
    product = matmul(convert_to_tensor(mat1), convert_to_tensor(mat2))
    found = gather_nd(product, at, batch_dims=at.ndim - 2)
    return (
        at,
        movement.cast(beta * there + alpha * found, output_type),
        convert_to_tensor(shape),
    )


def to_indicator(sp_input: SparseTensor, vocab_size: int, name: str | None = None) -> Tensor:
    """Which numbers are among the values of each row: booleans, with a last axis of `vocab_size`.

    Raises:
        InvalidArgumentError: if a value is not from 0 to vocab_size - 1.

    >>> to_indicator(SparseTensor([[0, 0], [0, 1]], [2, 0], [1, 2]), 3).numpy()
    array([[ True, False,  True]])
    """
    sparse = checked("to_indicator", sp_input)
    if not sparse.dtype.is_integer:
        raise TypeError(f"sparse.to_indicator: the values must be integers, not {sparse.dtype.name}")
    size = static_number("sparse.to_indicator: vocab_size", vocab_size)
    values = shape_known("sparse.to_indicator", "the values", sparse.values._array, "use one_hot")
    if len(values) and (values.min() < 0 or values.max() >= size):
        raise InvalidArgumentError(f"sparse.to_indicator: the values must be from 0 to {size - 1}")
    shape = (*sparse.lengths[:-1], size)
    afford("sparse.to_indicator", shape, 1)
    found = np.zeros(shape, bool)
    found[(*sparse.indices._array[:, :-1].T, values)] = True
    return wrap(found)


def segment_sum(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: int | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Sums of some rows of `data`, by segment.

    Args:
        indices: which rows.
        segment_ids: the segment of each, in order.
        num_segments: how many there are; one more than the last id by default.
        sparse_gradient: accepted; the gradient is what `gather` gives.

    >>> segment_sum([1.0, 2.0, 3.0], [0, 2], [0, 0]).numpy()
    array([4.], dtype=float32)
    """
    return _by_segment(segment.unsorted_segment_sum, data, indices, segment_ids, num_segments)


def segment_mean(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: int | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Means of some rows of `data`, by segment; the arguments are those of `segment_sum`.

    >>> segment_mean([1.0, 2.0, 3.0], [0, 2], [0, 0]).numpy()
    array([2.], dtype=float32)
    """
    return _by_segment(segment.unsorted_segment_mean, data, indices, segment_ids, num_segments)


def segment_sqrt_n(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: int | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Sums over the root of their number, by segment; the arguments are those of `segment_sum`.

    >>> segment_sqrt_n([1.0, 2.0, 3.0, 4.0], [0, 1, 2, 3], [0, 0, 0, 0]).numpy()
    array([5.], dtype=float32)
    """
    return _by_segment(segment.unsorted_segment_sqrt_n, data, indices, segment_ids, num_segments)


def _by_segment(combine: Any, data: Any, indices: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    ids = convert(segment_ids)
    if num_segments is None:
        known = shape_known("sparse.segment_sum", "segment_ids", ids._array, "give num_segments")
        if known.dtype.kind not in "iu":
            raise InvalidArgumentError(
                f"sparse.segment_sum: segment_ids must be integers, not {ids.dtype.name}"
            )
        num_segments = int(known.max()) + 1 if known.size else 0
    result: Tensor = combine(movement.gather(convert(data), convert(indices)), ids, num_segments)
    return result


def bincount(
    values: Any,
    weights: Any = None,
    axis: int | None = 0,
    minlength: int | None = None,
    maxlength: int | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """How often each number occurs: for each row, or for all together with axis=0.

    Args:
        values: integers, dense or sparse, of one or two axes.
        weights: to be summed instead of counting; of the same structure.
        axis: 0 or -1.
        minlength: the least length of the last axis of the result.
        maxlength: numbers from here on are left out.
        binary_output: whether it is 1 for each number that occurs.

    >>> bincount([1, 1, 3]).values.numpy()
    array([2, 1], dtype=int32)
    """
    along = int(choice("sparse.bincount", "axis", axis, (0, -1)))
    binary_output = boolean("sparse.bincount", "binary_output", binary_output)
    least = 0 if minlength is None else integer("sparse.bincount", "minlength", minlength, 0)
    most = None if maxlength is None else integer("sparse.bincount", "maxlength", maxlength, 0)
    if weights is not None and binary_output:
        raise ValueError("sparse.bincount: either weights or binary_output")
    numbers, rows, height, amounts = _counted(values, weights, along)
    if len(numbers) and numbers.min() < 0:
        raise InvalidArgumentError("sparse.bincount: the values must not be negative")
    keep = np.ones(len(numbers), bool) if most is None else numbers < most
    numbers, rows = numbers[keep], rows[keep]
    width = max(int(numbers.max(initial=-1)) + 1, least)
    width = width if most is None else min(width, most)
    found, inverse = np.unique(rows * max(width, 1) + numbers, return_inverse=True)
    if amounts is None:
        counted = np.bincount(inverse, minlength=len(found)).astype(_count_dtype(values))
        totals: Tensor = wrap(np.minimum(counted, 1) if binary_output else counted)
    else:
        totals = segment.unsorted_segment_sum(elements(amounts, np.flatnonzero(keep)), inverse, len(found))
    if height is None:
        return SparseTensor(found[:, None], totals, [width])
    return SparseTensor(np.stack([found // max(width, 1), found % max(width, 1)], 1), totals, [height, width])


def _count_dtype(values: Any) -> Any:
    """The dtype of counts: that of the values if it is int32, else int64."""
    given = values if isinstance(values, SparseTensor) else convert(values)
    return np.int32 if given.dtype.name == "int32" else np.int64


def _counted(
    values: Any, weights: Any, axis: int
) -> tuple[np.ndarray, np.ndarray, int | None, Tensor | None]:
    """The numbers, the row of each, how many rows there are (None for one sum of all), and the weights."""
    sparse = isinstance(values, SparseTensor)
    given = values.values if sparse else convert(values)
    array = shape_known("sparse.bincount", "the values", given._array, "use math.bincount")
    if array.dtype.kind not in "iu" or not 1 <= (len(values.lengths) if sparse else array.ndim) <= 2:
        raise InvalidArgumentError(
            f"sparse.bincount: the values must be integers of one or two axes, not {given.dtype.name} of shape "
            f"{list(values.lengths if sparse else array.shape)}"
        )
    numbers = array.reshape(-1).astype(np.int64)
    amounts = None
    if weights is not None:
        amounts = movement.reshape(checked("bincount", weights).values if sparse else convert(weights), [-1])
        if amounts._array.shape != numbers.shape:
            raise InvalidArgumentError("sparse.bincount: there must be one weight for each value")
    if axis == 0 or (len(values.lengths) if sparse else array.ndim) == 1:
        return numbers, np.zeros(len(numbers), np.int64), None, amounts
    if sparse:
        return numbers, values.indices._array[:, 0], values.lengths[0], amounts
    return numbers, np.repeat(np.arange(array.shape[0]), array.shape[1]), array.shape[0], amounts
