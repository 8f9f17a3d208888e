"""Sparse tensors made, taken apart, put together and turned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core import dtypes
from ...core.errors import InvalidArgumentError
from ...core.indexed_slices import IndexedSlices
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert, convert_to_tensor
from ...core.types import Axis, DTypeLike, ShapeLike, TensorLike
from ...engine.arrays import is_traced
from ..array import movement
from ..array.scatter import gather_nd, tensor_scatter_nd_update
from ..known import afford, shape_known, static_number, static_shape
from .sparse_tensor import SparseTensor, checked, elements, in_order, places, positions


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """The elements of a tensor that are not 0 (or, of strings, not empty).

    >>> from_dense([[0, 3], [4, 0]]).values.numpy()
    array([3, 4], dtype=int32)
    """
    dense = convert_to_tensor(tensor)
    known = shape_known("sparse.from_dense", "the tensor", dense._array, "keep it dense")
    indices = np.argwhere(known != (b"" if known.dtype.kind == "O" else 0))
    return SparseTensor(indices, gather_nd(dense, indices), dense.shape)


def to_dense(
    sp_input: SparseTensor,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """The tensor with all its elements.

    Args:
        default_value: where there is none; 0, or the empty string.
        validate_indices: whether indices that repeat or are not in order are an error.

    Raises:
        InvalidArgumentError: if an index lies outside of the shape, repeats, or is out of order.

    >>> to_dense(SparseTensor([[0, 1]], [5.0], [2, 2])).numpy()
    array([[0., 5.],
           [0., 0.]], dtype=float32)
    """
    sparse = checked("to_dense", sp_input)
    kind = sparse.values._array.dtype
    afford("sparse.to_dense", sparse.lengths, kind.itemsize)
    _validate("sparse.to_dense", sparse, in_order=validate_indices)
    blank: Any = b"" if kind.kind == "O" else 0
    default = convert(blank if default_value is None else default_value, kind)._array
    if default.ndim or (default.dtype.kind == "O") != (kind.kind == "O"):
        raise ValueError(
            f"sparse.to_dense: default_value must be one {sparse.dtype.name}, not {default_value!r}"
        )
    whole = np.full(sparse.lengths, default.item(), kind)
    if kind.kind == "O":
        whole[tuple(sparse.indices._array.T)] = sparse.values._array
        return wrap(whole)
    return tensor_scatter_nd_update(wrap(whole), sparse.indices, sparse.values)


def _validate(operation: str, sparse: SparseTensor, *, in_order: bool) -> None:
    indices = sparse.indices._array
    if is_traced(indices) or not len(indices):
        return
    outside = np.flatnonzero(((indices < 0) | (indices >= np.array(sparse.lengths))).any(1))
    if len(outside):
        row = int(outside[0])
        raise InvalidArgumentError(
            f"{operation}: indices[{row}] = {indices[row].tolist()} lies outside of the shape {list(sparse.lengths)}"
        )
    if in_order:
        flat = positions(sparse)._array
        wrong = np.flatnonzero(flat[1:] <= flat[:-1])
        if len(wrong):
            row = int(wrong[0]) + 1
            how = (
                "repeated"
                if flat[row] == flat[row - 1]
                else "out of order: sparse.reorder puts them in order"
            )
            raise InvalidArgumentError(f"{operation}: indices[{row}] = {indices[row].tolist()} is {how}")


def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """The elements in row-major order.

    >>> reorder(SparseTensor([[1, 0], [0, 1]], [1.0, 2.0], [2, 2])).values.numpy()
    array([2., 1.], dtype=float32)
    """
    return in_order(checked("reorder", sp_input))


def reshape(sp_input: SparseTensor, shape: ShapeLike, name: str | None = None) -> SparseTensor:
    """The elements in another shape of as many places; one length may be -1.

    Raises:
        InvalidArgumentError: if the shapes do not fit.

    >>> reshape(SparseTensor([[1, 0]], [5.0], [2, 3]), [-1, 2]).indices.numpy()
    array([[1, 1]])
    """
    sparse = checked("reshape", sp_input)
    size = int(np.prod(sparse.lengths, dtype=object))
    lengths = list(static_shape("sparse.reshape", shape))
    if lengths.count(-1) == 1:
        rest = int(np.prod([n for n in lengths if n != -1], dtype=object))
        if rest and size % rest == 0:
            lengths[lengths.index(-1)] = size // rest
    if min(lengths, default=0) < 0 or int(np.prod(lengths, dtype=object)) != size:
        raise InvalidArgumentError(
            f"sparse.reshape: the shape {list(sparse.lengths)} does not become {lengths}"
        )
    return SparseTensor(places(positions(sparse), tuple(lengths)), sparse.values, lengths)


def transpose(
    sp_input: SparseTensor, perm: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """The axes in another order: turned around, or as `perm` says.

    >>> transpose(SparseTensor([[0, 2]], [5.0], [2, 3])).indices.numpy()
    array([[2, 0]])
    """
    sparse = checked("transpose", sp_input)
    rank = len(sparse.lengths)
    order = tuple(reversed(range(rank))) if perm is None else static_shape("sparse.transpose", perm)
    if sorted(order) != list(range(rank)):
        raise InvalidArgumentError(f"sparse.transpose: perm {list(order)} is no order of {rank} axes")
    turned = movement.gather(sparse.indices, np.array(order, np.int64), axis=1)
    return in_order(SparseTensor(turned, sparse.values, [sparse.lengths[a] for a in order]))


def expand_dims(sp_input: SparseTensor, axis: Axis | None = None, name: str | None = None) -> SparseTensor:
    """A new axis of length 1; the last one by default.

    >>> expand_dims(SparseTensor([[0]], [5.0], [2])).shape
    TensorShape([2, 1])
    """
    sparse = checked("expand_dims", sp_input)
    rank = len(sparse.lengths)
    place = -1 if axis is None else static_number("sparse.expand_dims: axis", axis)
    if not -rank - 1 <= place <= rank:
        raise ValueError(f"sparse.expand_dims: there is no axis {place} in a tensor of rank {rank}")
    place = place + rank + 1 if place < 0 else place
    column = wrap(np.zeros((sparse.values._array.shape[0], 1), np.int64))
    indices = movement.concat([sparse.indices[:, :place], column, sparse.indices[:, place:]], 1)
    return SparseTensor(indices, sparse.values, [*sparse.lengths[:place], 1, *sparse.lengths[place:]])


def _axis(operation: str, sparse: SparseTensor, axis: Any) -> int:
    rank = len(sparse.lengths)
    number = static_number(f"sparse.{operation}: axis", axis)
    if not -rank <= number < rank:
        raise InvalidArgumentError(
            f"sparse.{operation}: there is no axis {number} in a tensor of rank {rank}"
        )
    return number % rank


def concat(
    axis: Axis,
    sp_inputs: Sequence[SparseTensor],
    expand_nonconcat_dims: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Sparse tensors joined along an axis.

    Args:
        expand_nonconcat_dims: whether the other axes are as long as the longest; if not, they must agree.

    Raises:
        InvalidArgumentError: if the shapes do not fit.

    >>> concat(0, [SparseTensor([[0]], [5.0], [2]), SparseTensor([[1]], [6.0], [2])]).indices.numpy().tolist()
    [[0], [3]]
    """
    parts = [
        checked("concat", s) for s in ([sp_inputs] if isinstance(sp_inputs, SparseTensor) else sp_inputs)
    ]
    if not parts:
        raise ValueError("sparse.concat: there is nothing to join")
    place = _axis("concat", parts[0], axis)
    if len({len(s.lengths) for s in parts}) > 1:
        raise InvalidArgumentError(f"sparse.concat: the ranks {[len(s.lengths) for s in parts]} differ")
    lengths = [max(column) for column in zip(*[s.lengths for s in parts], strict=True)]
    others = {tuple(n for a, n in enumerate(s.lengths) if a != place) for s in parts}
    if len(others) > 1 and not expand_nonconcat_dims:
        shapes = [list(s.lengths) for s in parts]
        raise InvalidArgumentError(f"sparse.concat: the shapes {shapes} differ in other axes than {place}")
    shifted, start = [], 0
    for part in parts:
        shift = np.zeros(len(lengths), np.int64)
        shift[place] = start
        shifted.append(part.indices + shift)
        start += part.lengths[place]
    lengths[place] = start
    values = movement.concat([s.values for s in parts], 0)
    return in_order(SparseTensor(movement.concat(shifted, 0), values, lengths))


def _chosen(sparse: SparseTensor, keep: np.ndarray, shift: Any, lengths: Sequence[int]) -> SparseTensor:
    """The elements at some places, with their indices shifted."""
    rows = np.flatnonzero(keep)
    indices = movement.gather(sparse.indices, rows) - np.asarray(shift, np.int64)
    return SparseTensor(indices, elements(sparse.values, rows), lengths)


def slice(
    sp_input: SparseTensor, start: TensorLike, size: TensorLike, name: str | None = None
) -> SparseTensor:
    """A block of a sparse tensor.

    Args:
        start: its first place along each axis.
        size: its length along each axis; what reaches beyond the end is cut off.

    >>> slice(SparseTensor([[0], [2]], [5.0, 6.0], [3]), [1], [2]).indices.numpy()
    array([[1]])
    """
    sparse = checked("slice", sp_input)
    first, extent = static_shape("sparse.slice", start), static_shape("sparse.slice", size)
    if len(first) != len(sparse.lengths) or len(extent) != len(sparse.lengths):
        raise InvalidArgumentError(
            f"sparse.slice: start and size must have {len(sparse.lengths)} numbers each"
        )
    lengths = [max(0, min(n, s + k) - s) for n, s, k in zip(sparse.lengths, first, extent, strict=True)]
    indices = shape_known("sparse.slice", "the indices", sparse.indices._array, "use a dense tensor")
    inside = ((indices >= np.array(first)) & (indices < np.array(first) + np.array(lengths))).all(1)
    return _chosen(sparse, inside, first, lengths)


def split(
    sp_input: SparseTensor | None = None,
    num_split: int | None = None,
    axis: Axis | None = None,
    name: str | None = None,
) -> list[SparseTensor]:
    """Blocks along an axis; if they cannot be equal, the first ones are longer by one.

    Args:
        num_split: how many.

    >>> [part.shape for part in split(SparseTensor([[0]], [5.0], [3]), 2, 0)]
    [TensorShape([2]), TensorShape([1])]
    """
    if sp_input is None or num_split is None or axis is None:
        raise ValueError("sparse.split: give sp_input, num_split and axis")
    sparse = checked("split", sp_input)
    place, count = _axis("split", sparse, axis), static_number("sparse.split: num_split", num_split)
    if not 0 < count <= sparse.lengths[place]:
        raise InvalidArgumentError(
            f"sparse.split: {count} parts of an axis of length {sparse.lengths[place]}"
        )
    least, longer = divmod(sparse.lengths[place], count)
    parts, at = [], 0
    for i in range(count):
        first, extent = [0] * len(sparse.lengths), list(sparse.lengths)
        first[place], extent[place] = at, least + (i < longer)
        parts.append(slice(sparse, first, extent))
        at += extent[place]
    return parts


def retain(sp_input: SparseTensor, to_retain: TensorLike) -> SparseTensor:
    """The elements for which a vector of booleans holds.

    Args:
        to_retain: the booleans, one for each element.

    >>> retain(SparseTensor([[0], [2]], [1.0, 2.0], [3]), [False, True]).values.numpy()
    array([2.], dtype=float32)
    """
    sparse = checked("retain", sp_input)
    keep = shape_known("sparse.retain", "to_retain", convert(to_retain)._array, "use where on the values")
    if keep.shape != sparse.values._array.shape or keep.dtype != bool:
        raise InvalidArgumentError(
            f"sparse.retain: to_retain must be {sparse.values._array.shape[0]} booleans, not {keep.dtype} of shape "
            f"{list(keep.shape)}"
        )
    return _chosen(sparse, keep, 0, sparse.lengths)


def reset_shape(sp_input: SparseTensor, new_shape: ShapeLike | None = None) -> SparseTensor:
    """The same elements in a larger shape; without one, in the smallest that holds them.

    Args:
        new_shape: the larger shape.

    Raises:
        InvalidArgumentError: if an element would lie outside.

    >>> reset_shape(SparseTensor([[1]], [5.0], [9])).shape
    TensorShape([2])
    """
    sparse = checked("reset_shape", sp_input)
    if new_shape is not None:
        lengths = static_shape("sparse.reset_shape", new_shape)
        if len(lengths) != len(sparse.lengths) or any(
            n < m for n, m in zip(lengths, sparse.lengths, strict=True)
        ):
            raise InvalidArgumentError(
                f"sparse.reset_shape: the shape {list(lengths)} does not hold one of {list(sparse.lengths)}"
            )
        return SparseTensor(sparse.indices, sparse.values, lengths)
    indices = shape_known("sparse.reset_shape", "the indices", sparse.indices._array, "give new_shape")
    return SparseTensor(sparse.indices, sparse.values, (indices.max(0, initial=-1) + 1).tolist())


class FilledRows(NamedTuple):
    """The sparse tensor with an element in each row, and which rows had none."""

    sparse: SparseTensor
    empty: Tensor


def fill_empty_rows(sp_input: SparseTensor, default_value: TensorLike, name: str | None = None) -> FilledRows:
    """An element at the start of each row that has none.

    Args:
        default_value: of these elements.

    >>> fill_empty_rows(SparseTensor([[1, 0]], [5.0], [2, 2]), 9.0).sparse.values.numpy()
    array([9., 5.], dtype=float32)
    """
    sparse = checked("fill_empty_rows", sp_input)
    if not sparse.lengths:
        raise ValueError("sparse.fill_empty_rows: a tensor without axes has no rows")
    indices = shape_known(
        "sparse.fill_empty_rows", "the indices", sparse.indices._array, "use a dense tensor"
    )
    empty = np.ones(sparse.lengths[0], bool)
    empty[indices[:, 0]] = False
    rows = np.flatnonzero(empty)
    added = np.zeros((len(rows), len(sparse.lengths)), np.int64)
    added[:, 0] = rows
    default = convert(default_value, sparse.values._array.dtype)
    if default.ndim:
        raise ValueError(f"sparse.fill_empty_rows: default_value must be one value, not {default_value!r}")
    filled = np.full(len(rows), default._array.item(), sparse.values._array.dtype)
    values = movement.concat([sparse.values, wrap(filled)], 0)
    whole = SparseTensor(movement.concat([sparse.indices, wrap(added)], 0), values, sparse.lengths)
    return FilledRows(in_order(whole), wrap(empty))


def eye(
    num_rows: int, num_columns: int | None = None, dtype: DTypeLike = dtypes.float32, name: str | None = None
) -> SparseTensor:
    """A matrix with ones on its diagonal.

    Args:
        num_rows: how many rows.
        num_columns: how many columns; as many by default.

    >>> eye(2, 3).indices.numpy().tolist()
    [[0, 0], [1, 1]]
    """
    rows = static_number("sparse.eye: num_rows", num_rows)
    columns = rows if num_columns is None else static_number("sparse.eye: num_columns", num_columns)
    diagonal = np.arange(min(rows, columns))
    ones = np.ones(len(diagonal), dtypes.as_dtype(dtype).numpy_dtype)
    return SparseTensor(np.stack([diagonal, diagonal], 1), wrap(ones), (rows, columns))


def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> SparseTensor:
    """A function of the values, at the same places.

    Args:
        op: called with `args` and `kwargs`, in which each sparse tensor is replaced by its values.

    Raises:
        ValueError: if there is no sparse tensor among them, or their places differ.

    >>> map_values(abs, SparseTensor([[0]], [-1.0], [2])).values.numpy()
    array([1.], dtype=float32)
    """
    given = [a for a in (*args, *kwargs.values()) if isinstance(a, SparseTensor)]
    if not given:
        raise ValueError("sparse.map_values: there is no SparseTensor among the arguments")
    first = given[0]
    for other in given[1:]:
        same = other.lengths == first.lengths and (
            other.indices is first.indices
            or is_traced(other.indices._array)
            or np.array_equal(other.indices._array, first.indices._array)
        )
        if not same:
            raise ValueError("sparse.map_values: the sparse tensors have their elements at different places")
    plain = lambda a: a.values if isinstance(a, SparseTensor) else a
    return first.with_values(op(*map(plain, args), **{k: plain(a) for k, a in kwargs.items()}))


def mask(a: IndexedSlices, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """The rows of IndexedSlices but those with some indices.

    Args:
        mask_indices: the indices of the rows to leave out.

    >>> rows = IndexedSlices(convert([[1.0], [2.0]]), convert([3, 5]))
    >>> mask(rows, [3]).indices.numpy()
    array([5], dtype=int32)
    """
    if not isinstance(a, IndexedSlices):
        raise TypeError(f"sparse.mask takes IndexedSlices, not {type(a).__name__}")
    left_out = convert(mask_indices)._array
    known = shape_known("sparse.mask", "the indices", a.indices._array, "use where on the values")
    rows = np.flatnonzero(~np.isin(known, left_out))
    return IndexedSlices(movement.gather(a.values, rows), movement.gather(a.indices, rows), a.dense_shape)
