"""Elements in another order or another place: slices, rolling, reversing, repeating, grids, blocks of space.

Most functions are made of the primitives of `movement` and `indexing`. The transpose of a primitive of this file is the
same primitive, with its attributes inverted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import DTypeError, IndexOutOfBoundsError, InvalidArgumentError
from ...core.primitive import apply, apply1, apply2, primitive
from ...core.slicing import Index, along, gather_, getitem
from ...core.structural import broadcast_to_, reshape_
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert
from ...core.types import Axes, Axis, DTypeLike, ShapeLike, TensorLike
from ...core.variable import Variable
from ...engine.arrays import is_traced, xp
from ..known import afford, is_computed, known, shape_known, static_number, static_shape
from ..math.elementwise import less
from ..math.reduction import one_axis
from ..scalars import choice
from .indexing import block, masked, take
from .movement import cast, expand_dims, identity, reshape, transpose
from .padding import pad

# ---------------------------------------------------------------------------------------------------------------------
# Primitives


@primitive(linear=True, name="roll", moves=True)
def roll_(x, *, shift, axis):
    if len(axis) != 1:
        return np.roll(x, shift, axis)
    cut = -shift[0] % max(x.shape[axis[0]], 1)
    front, back = along(axis[0], slice(cut)).items, along(axis[0], slice(cut, None)).items
    return np.concatenate([x[back], x[front]], axis[0])


@roll_.compiled
def _(x, *, shift, axis):
    return xp(x).roll(x, shift, axis)


roll_.rules(x=lambda g, shift, axis: roll_(g, shift=tuple([-s for s in shift]), axis=axis))


@primitive(linear=True, name="reverse", moves=True)
def reverse_(x, *, axis):
    return xp(x).flip(x, axis)


reverse_.rules(x=lambda g, axis: reverse_(g, axis=axis))


@primitive(linear=True, mixed=True, name="reverse_sequence", moves=True)
def reverse_sequence_(x, lengths, *, seq_axis, batch_axis):
    """The first `lengths[b]` elements of each sequence b in reverse order."""
    m = xp(x, lengths)
    position = np.arange(x.shape[seq_axis])
    length = lengths[:, None]
    order = m.where(position < length, length - 1 - position, position)
    shape = [1] * x.ndim
    shape[batch_axis], shape[seq_axis] = order.shape
    order = order if x.ndim + batch_axis < x.ndim + seq_axis else order.T
    return m.take_along_axis(x, order.reshape(shape), seq_axis)


reverse_sequence_.rules(
    x=lambda g, lengths, seq_axis, batch_axis: reverse_sequence_(
        g, lengths, seq_axis=seq_axis, batch_axis=batch_axis
    )
)


@primitive(name="bitcast", discrete=True)
def bitcast_(x, *, dtype):
    """The same bits as another dtype. Where the sizes differ, a last axis of the smaller one holds the parts."""
    kind = dtypes.as_dtype(dtype).numpy_dtype
    if kind.itemsize < x.dtype.itemsize:
        return np.ascontiguousarray(x[..., None]).view(kind)
    shape = x.shape if kind.itemsize == x.dtype.itemsize else x.shape[:-1]
    return np.ascontiguousarray(x).view(kind).reshape(shape)


@bitcast_.compiled
def _(x, *, dtype):
    from jax.lax import bitcast_convert_type

    return bitcast_convert_type(x, dtypes.as_dtype(dtype).numpy_dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Slices


def slice_(input_: TensorLike, begin: ShapeLike, size: ShapeLike, name: str | None = None) -> Tensor:
    """The block of `size` elements along each axis from `begin` on.

    Args:
        begin: the first element along each axis; a `@function` may compute it.
        size: how many elements along each axis; -1 takes all that are left.

    Raises:
        InvalidArgumentError: if `begin` or `size` has not one number for each axis, or the block is not inside.
        NotCompilableError: if `size` is computed in a `@function`.

    >>> slice_([[1, 2, 3], [4, 5, 6]], [0, 1], [2, -1]).numpy()
    array([[2, 3], [5, 6]], dtype=int32)
    """
    x = convert(input_)
    shape = x._array.shape
    sizes = static_shape("slice", size)
    if any(map(is_computed, begin if isinstance(begin, (list, tuple)) else (begin,))):
        return _block("slice", x, convert(begin), sizes)
    starts = static_shape("slice", begin)
    if len(starts) != len(shape) or len(sizes) != len(shape):
        raise InvalidArgumentError(
            f"slice: begin and size must have a number for each axis of shape {list(shape)}, "
            f"not {list(starts)} and {list(sizes)}"
        )
    sizes = tuple([n - s if k == -1 else k for n, s, k in zip(shape, starts, sizes, strict=True)])
    for axis, (n, s, k) in enumerate(zip(shape, starts, sizes, strict=True)):
        if s < 0 or k < 0 or s + k > n:
            raise InvalidArgumentError(f"slice: {s} to {s + k} is outside axis {axis}, of length {n}")
    index = Index((..., *[slice(s, s + k) for s, k in zip(starts, sizes, strict=True)]))
    return apply(getitem, (x,), {"index": index})


def _block(name: str, x: Tensor, start: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The block of known sizes at a place that a `@function` computes; moved inside where it would reach out."""
    shape = x._array.shape
    if not start.dtype.is_integer or start._array.shape != (x.ndim,) or len(sizes) != x.ndim:
        raise InvalidArgumentError(
            f"{name}: begin and size must have an integer for each axis of shape {list(shape)}, "
            f"not {start.dtype.name}{list(start._array.shape)} and {list(sizes)}"
        )
    if any(not 0 <= k <= n for n, k in zip(shape, sizes, strict=True)):
        raise InvalidArgumentError(
            f"{name}: sizes {list(sizes)} do not fit shape {list(shape)}; where begin is computed in a @function, "
            "-1 is no size"
        )
    return apply(block, (x, start), {"sizes": sizes})


def strided_slice(
    input_: TensorLike,
    begin: ShapeLike,
    end: ShapeLike,
    strides: ShapeLike | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Variable | None = None,
    name: str | None = None,
) -> Tensor:
    """`x[begin[0]:end[0]:strides[0], begin[1]:end[1]:strides[1], ...]`.

    Args:
        begin, end, strides: the bounds and the step (1 by default) for each entry of the index.
        begin_mask, end_mask: bit i says that entry i has no begin, or no end.
        ellipsis_mask: bit i says that entry i stands for `...`.
        new_axis_mask: bit i says that entry i is a new axis.
        shrink_axis_mask: bit i says that entry i is the one element at its begin.
        var: the Variable that is sliced, where the result is to be assigned to.

    Raises:
        InvalidArgumentError: if `begin`, `end` and `strides` differ in length, or a stride is 0.
        IndexOutOfBoundsError: if there are more entries than axes.
        DTypeError: if `var` is no Variable.

    >>> strided_slice([1, 2, 3, 4, 5], [4], [0], [-2]).numpy()
    array([5, 3], dtype=int32)
    """
    starts, ends = static_shape("strided_slice", begin), static_shape("strided_slice", end)
    steps = (1,) * len(starts) if strides is None else static_shape("strided_slice", strides)
    if not len(starts) == len(ends) == len(steps):
        raise InvalidArgumentError(
            f"strided_slice: begin, end and strides differ in length: {list(starts)}, {list(ends)}, {list(steps)}"
        )
    items: list[Any] = []
    for i, (first, last, step) in enumerate(zip(starts, ends, steps, strict=True)):
        if ellipsis_mask >> i & 1:
            items.append(...)
        elif new_axis_mask >> i & 1:
            items.append(None)
        elif shrink_axis_mask >> i & 1:
            items.append(first)
        else:
            items.append(
                slice(None if begin_mask >> i & 1 else first, None if end_mask >> i & 1 else last, step)
            )
    if var is not None and not isinstance(var, Variable):
        raise DTypeError(f"strided_slice: var must be the Variable that is sliced, not {var!r}")
    return take(convert(input_) if var is None else var, tuple(items))


def boolean_mask(
    tensor: TensorLike, mask: TensorLike, axis: Axis | None = None, name: str | None = "boolean_mask"
) -> Tensor:
    """The elements (or slices, where the mask has fewer axes) at which the mask is true.

    Args:
        mask: booleans, in the shape of the axes of `tensor` from `axis` on.
        axis: the first axis that the mask covers; 0 by default.

    Raises:
        ValueError: if the mask is a scalar.
        InvalidArgumentError: if the mask does not fit the axes.
        NotCompilableError: if the mask is computed in a `@function`: then the shape of the result is not known.

    >>> boolean_mask([1, 2, 3], [True, False, True]).numpy()
    array([1, 3], dtype=int32)
    """
    x = convert(tensor)
    instead = "use where(mask, x, 0), which keeps the shape"
    chosen = shape_known("boolean_mask", "the mask", convert(mask)._array, instead)
    if not chosen.ndim:
        raise ValueError("boolean_mask: the mask must not be a scalar")
    first = 0 if axis is None else static_number("boolean_mask: axis", axis)
    a = one_axis("boolean_mask", first, x.ndim)
    if x.ndim + a + chosen.ndim > x.ndim:
        raise InvalidArgumentError(
            f"boolean_mask: a mask of shape {list(chosen.shape)} has more axes than a tensor of shape {x.shape} "
            f"from axis {first} on"
        )
    return masked(x, chosen.astype(bool, copy=False), a)


# ---------------------------------------------------------------------------------------------------------------------
# Order


def roll(input: TensorLike, shift: TensorLike, axis: Axes, name: str | None = None) -> Tensor:
    """The elements moved along axes; those that leave at one end come in at the other.

    Args:
        shift: the number of places to move by, towards the end; one for each axis.
        axis: one axis or several.

    Raises:
        InvalidArgumentError: if `input` is a scalar, there is not one shift for each axis, or an axis does not exist.

    >>> roll([1, 2, 3, 4], 1, 0).numpy()
    array([4, 1, 2, 3], dtype=int32)
    """
    x = convert(input)
    if is_computed(shift):
        return _roll_traced(x, convert(shift), static_shape("roll", axis))
    shifts, places = static_shape("roll", shift), static_shape("roll", axis)
    if not x.ndim:
        raise InvalidArgumentError("roll: a scalar has no axis to roll along")
    if len(shifts) != len(places):
        raise InvalidArgumentError(
            f"roll: there must be one shift for each axis, not {list(shifts)} for {list(places)}"
        )
    return apply1(roll_, x, {"shift": shifts, "axis": tuple([one_axis("roll", a, x.ndim) for a in places])})


def _roll_traced(x: Tensor, shift: Tensor, along: tuple[int, ...]) -> Tensor:
    """Roll by shifts that a `@function` computes: gather each element from the place it comes from."""
    shifts = shift._array.reshape(-1)
    if len(shifts) != len(along):
        raise InvalidArgumentError(
            f"roll: there must be one shift for each axis, not {len(shifts)} for {list(along)}"
        )
    for i, axis in enumerate(along):
        a = one_axis("roll", axis, x.ndim)
        n = x._array.shape[a]
        x = apply(gather_, (x, wrap((np.arange(n) - shifts[i]) % max(n, 1))), {"axis": a})
    return x


def reverse(tensor: TensorLike, axis: Axes, name: str | None = None) -> Tensor:
    """The elements in reverse order along axes.

    Args:
        axis: one axis or several, none twice.

    Raises:
        InvalidArgumentError: if an axis does not exist, or is named twice.

    >>> reverse([[1, 2], [3, 4]], [1]).numpy()
    array([[2, 1], [4, 3]], dtype=int32)
    """
    x = convert(tensor)
    along = tuple([one_axis("reverse", a, x.ndim) for a in static_shape("reverse", axis)])
    if len(set(along)) != len(along):
        raise InvalidArgumentError(f"reverse: an axis is named twice in {axis!r}")
    return apply1(reverse_, x, {"axis": along}) if along else identity(x)


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: Axis | None = None,
    batch_axis: Axis | None = None,
    name: str | None = None,
) -> Tensor:
    """Each sequence of a batch reversed in its first elements.

    Args:
        seq_lengths: how many elements to reverse in each sequence.
        seq_axis: the axis along which a sequence runs. It must be given.
        batch_axis: the axis along which the sequences lie; 0 by default.

    Raises:
        DTypeError: if the lengths are no integers.
        TypeError: if `seq_axis` is not given.
        InvalidArgumentError: if the axes are the same, or there is not one length in range for each sequence.

    >>> reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1).numpy()
    array([[2, 1, 3], [6, 5, 4]], dtype=int32)
    """
    x = convert(input)
    lengths = convert(seq_lengths)
    if not lengths.dtype.is_integer:
        raise DTypeError(f"reverse_sequence: seq_lengths must be integers, not {lengths.dtype.name}")
    if seq_axis is None:
        raise TypeError("reverse_sequence: seq_axis must be given: the axis to reverse along")
    along = one_axis("reverse_sequence", seq_axis, x.ndim)
    batch = one_axis("reverse_sequence", 0 if batch_axis is None else batch_axis, x.ndim)
    shape, given = x._array.shape, lengths._array
    if along == batch:
        raise InvalidArgumentError(
            f"reverse_sequence: seq_axis and batch_axis must differ, not both {seq_axis}"
        )
    if given.shape != (shape[batch],):
        raise InvalidArgumentError(
            f"reverse_sequence: there must be {shape[batch]} lengths, one for each sequence, not {list(given.shape)}"
        )
    if given.size and not is_traced(given) and (given.min() < 0 or given.max() > shape[along]):
        raise InvalidArgumentError(
            f"reverse_sequence: a length is outside [0, {shape[along]}]: {given.tolist()}"
        )
    return apply(reverse_sequence_, (x, lengths), {"seq_axis": along, "batch_axis": batch})


def repeat(
    input: TensorLike, repeats: TensorLike, axis: Axis | None = None, name: str | None = None
) -> Tensor:
    """Each element, or slice along an axis, repeated in place.

    Args:
        repeats: how often: one number for all, or one for each slice.
        axis: the axis of the slices; without one the input is flattened first.

    Raises:
        DTypeError: if `repeats` are no integers.
        InvalidArgumentError: if one is negative, or there is not one for each slice.
        NotCompilableError: if `repeats` are computed in a `@function`: then the shape of the result is not known.

    >>> repeat([[1, 2], [3, 4]], [1, 2], axis=0).numpy()
    array([[1, 2], [3, 4], [3, 4]], dtype=int32)
    """
    x = convert(input)
    times = shape_known("repeat", "repeats", convert(repeats)._array, "gather with indices of known length")
    if times.dtype.kind not in "iu" and times.size:
        raise DTypeError(f"repeat: repeats must be integers, not {dtypes.of(times).name}")
    if times.ndim > 1 or (times < 0).any():
        raise InvalidArgumentError(
            f"repeat: repeats must be one number of at least 0, or one for each slice, not {times.tolist()}"
        )
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    elif not x.ndim:
        x = reshape(x, (1,))
    a = one_axis("repeat", axis, x.ndim) + x.ndim
    shape = x._array.shape
    length = int(times.sum(dtype=float)) * (shape[a] if times.size == 1 else 1)
    afford("repeat", (*shape[:a], length, *shape[a + 1 :]), x._array.dtype.itemsize + 16 * (times.size > 1))
    if times.size == 1:
        count = int(times.reshape(()))
        lone = apply1(reshape_, x, {"shape": (*shape[: a + 1], 1, *shape[a + 1 :])})
        spread = apply1(broadcast_to_, lone, {"shape": (*shape[: a + 1], count, *shape[a + 1 :])})
        return apply1(reshape_, spread, {"shape": (*shape[:a], shape[a] * count, *shape[a + 1 :])})
    if times.shape != (shape[a],):
        raise InvalidArgumentError(
            f"repeat: {times.size} repeats were given for {shape[a]} slices along axis {axis} of shape {list(shape)}"
        )
    return apply(gather_, (x, np.repeat(np.arange(shape[a]), times.astype(np.int64))), {"axis": a - x.ndim})


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """The coordinates of a grid, one tensor for each of the given vectors.

    Args:
        args: the vectors.
        indexing: 'xy' (the default), where the first vector runs along the second axis, or 'ij', where vector i runs
            along axis i.

    Raises:
        ValueError: if `indexing` is neither.
        TypeError: for an unknown argument.

    >>> [t.numpy().tolist() for t in meshgrid([1, 2], [3, 4])]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    indexing = kwargs.pop("indexing", "xy")
    kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"meshgrid has no argument {next(iter(kwargs))!r}: it takes indexing and name")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    xs = [convert(x) for x in args]
    places = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        places[:2] = 1, 0
    shape = [0] * len(xs)
    for x, place in zip(xs, places, strict=True):
        shape[place] = x._array.size
    afford("meshgrid", (len(xs), *shape), max([x._array.dtype.itemsize for x in xs], default=0))
    lines = [
        apply1(reshape_, x, {"shape": tuple([shape[i] if i == place else 1 for i in range(len(xs))])})
        for x, place in zip(xs, places, strict=True)
    ]
    return [apply1(broadcast_to_, line, {"shape": tuple(shape)}) for line in lines]


def sequence_mask(
    lengths: TensorLike,
    maxlen: TensorLike | None = None,
    dtype: DTypeLike | None = "bool",
    name: str | None = None,
) -> Tensor:
    """For each length, a row that is true in its first so many places.

    Args:
        maxlen: the length of the rows; the largest of `lengths` by default.
        dtype: of the result, in which true is 1.

    Raises:
        DTypeError: if the lengths are no numbers.
        ValueError: if `maxlen` is not a scalar.
        InvalidArgumentError: if `maxlen` is negative or not finite.
        NotCompilableError: if `maxlen`, or without it the lengths, are computed in a `@function`.

    >>> sequence_mask([1, 3], 4, dtype="int32").numpy()
    array([[1, 0, 0, 0], [1, 1, 1, 0]], dtype=int32)
    """
    given = convert(lengths)
    values = given._array
    if not (given.dtype.is_integer or given.dtype.is_floating) or not (
        is_traced(values) or np.isfinite(values).all()
    ):
        raise DTypeError(f"sequence_mask: lengths must be numbers, not {lengths!r}")
    if maxlen is None:
        shape_known("sequence_mask", "lengths", values, "give maxlen")
        maxlen = max(values.max(initial=0), 0)
    limit = convert(maxlen)
    known("sequence_mask", "maxlen", limit._array)
    if limit.ndim:
        raise ValueError(f"sequence_mask: maxlen must be a scalar, not of shape {limit.shape}")
    if not (limit.dtype.is_integer or limit.dtype.is_floating) or not 0 <= limit._array < np.inf:
        raise InvalidArgumentError(f"sequence_mask: maxlen must be a number of at least 0, not {maxlen!r}")
    given = cast(given, limit.dtype)
    kind = dtypes.bool if dtype is None else dtypes.as_dtype(dtype)
    afford("sequence_mask", (max(values.size, 8), math.ceil(limit._array)), 1 + kind.size)
    positions = np.arange(limit._array, dtype=limit._array.dtype)
    mask = apply2(less, positions, expand_dims(given, -1))
    return mask if dtype is None else cast(mask, dtype)


def unravel_index(indices: TensorLike, dims: ShapeLike, name: str | None = None) -> Tensor:
    """The coordinates of elements that are given by their place in a flattened tensor: one row for each axis.

    Args:
        indices: places in the flattened tensor.
        dims: the shape of the tensor.

    Raises:
        DTypeError: if the two are not integers of one dtype.
        IndexOutOfBoundsError: if an index is outside the tensor.

    >>> unravel_index([2, 5], [2, 3]).numpy()
    array([[0, 1], [2, 2]], dtype=int32)
    """
    flat = convert(indices)
    shape = convert(dims, None, flat._array.dtype)
    if not flat.dtype.is_integer or flat.dtype is not shape.dtype:
        raise DTypeError(
            f"unravel_index: indices and dims must be integers of one dtype, not {flat.dtype} and {shape.dtype}"
        )
    lengths = static_shape("unravel_index", shape)
    total = math.prod(lengths)
    at = flat._array
    if at.size and not is_traced(at) and (at.min() < 0 or at.max() >= total):
        raise IndexOutOfBoundsError(f"unravel_index: an index is out of bounds of dims {list(lengths)}")
    found = [at // math.prod(lengths[i + 1 :]) % n for i, n in enumerate(lengths)]
    return wrap(xp(at).stack(found).astype(at.dtype) if found else np.zeros((0, *at.shape), at.dtype))


def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """The bits of the elements as another dtype.

    Args:
        type: the other dtype. A smaller one adds a last axis; for a larger one the last axis must hold the parts, and
            is removed.

    Raises:
        DTypeError: between strings or booleans and another dtype.
        InvalidArgumentError: if the last axis is not as long as the parts are many.

    >>> bitcast(1.0, "int32").numpy()
    np.int32(1065353216)
    """
    x = convert(input)
    to, source = dtypes.as_dtype(type), x.dtype
    if {"string", "bool"} & {to.name, source.name} and to is not source:
        raise DTypeError(f"bitcast: there is no bitcast from {source.name} to {to.name}")
    if to.is_quantized:
        known("bitcast to a quantized dtype", "input", x._array)
    ratio = to.size // source.size
    if ratio > 1 and x._array.shape[-1:] != (ratio,):
        raise InvalidArgumentError(
            f"bitcast: from {source.name} to {to.name} the last axis must have length {ratio}, in shape {x.shape}"
        )
    return apply(bitcast_, (x,), {"dtype": to.name})


# ---------------------------------------------------------------------------------------------------------------------
# Blocks of space


def _blocks(name: str, x: Tensor, block_shape: Any, edges: Any) -> tuple[tuple[int, ...], Any]:
    """A block shape, and the lengths added or cut off at the two ends of each of its axes."""
    block = static_shape(name, block_shape)
    widths = known(name, "what is added or cut off", convert(edges, None, np.dtype(np.int32))._array)
    if x.ndim < 1 + len(block):
        raise InvalidArgumentError(
            f"{name}: a tensor of shape {x.shape} has no batch axis and {len(block)} axes after it"
        )
    if any(n < 1 for n in block):
        raise InvalidArgumentError(f"{name}: block_shape must be at least 1 everywhere, not {list(block)}")
    if widths.shape != (len(block), 2) or widths.dtype.kind not in "iu" or (widths < 0).any():
        raise InvalidArgumentError(
            f"{name}: there must be a pair of numbers of at least 0 for each axis of the block, not {widths.tolist()}"
        )
    return block, widths


def space_to_batch(
    input: TensorLike, block_shape: ShapeLike, paddings: TensorLike, name: str | None = None
) -> Tensor:
    """The axes after the batch, padded and cut into blocks; each place in a block becomes a batch element.

    Args:
        block_shape: the lengths of a block, along as many axes after the batch.
        paddings: for each of these axes how many zeros to add before and after.

    Raises:
        InvalidArgumentError: if there are too few axes, the block does not divide the padded lengths, or `block_shape`
            or `paddings` is out of range.

    >>> space_to_batch([[[[1], [2]], [[3], [4]]]], [2, 2], [[0, 0], [0, 0]]).numpy().ravel()
    array([1, 2, 3, 4], dtype=int32)
    """
    x = convert(input)
    block, widths = _blocks("space_to_batch", x, block_shape, paddings)
    count = len(block)
    x = pad(x, [[0, 0], *widths.tolist(), *[[0, 0]] * (x.ndim - 1 - count)])
    shape = x._array.shape
    spatial = shape[1 : 1 + count]
    if any(n % b for n, b in zip(spatial, block, strict=True)):
        raise InvalidArgumentError(
            f"space_to_batch: the padded lengths {list(spatial)} are no multiples of the block {list(block)}"
        )
    coarse = tuple([n // b for n, b in zip(spatial, block, strict=True)])
    parts = [n for pair in zip(coarse, block, strict=True) for n in pair]
    rest = range(1 + 2 * count, x.ndim + count)
    order = (*range(2, 2 + 2 * count, 2), 0, *range(1, 1 + 2 * count, 2), *rest)
    x = transpose(reshape(x, (shape[0], *parts, *shape[1 + count :])), order)
    return reshape(x, (shape[0] * math.prod(block), *coarse, *shape[1 + count :]))


space_to_batch_nd = space_to_batch


def batch_to_space(
    input: TensorLike, block_shape: ShapeLike, crops: TensorLike, name: str | None = None
) -> Tensor:
    """The inverse of `space_to_batch`: batch elements put together as blocks.

    Args:
        block_shape: the lengths of a block, along as many axes after the batch; one number stands for two.
        crops: for each of these axes how many elements to cut off at the start and at the end.

    Raises:
        InvalidArgumentError: if there are too few axes, the batch does not divide into blocks, or `block_shape` or
            `crops` is out of range.

    >>> batch_to_space([[[[1]]], [[[2]]], [[[3]]], [[[4]]]], 2, [[0, 0], [0, 0]]).numpy().reshape(2, 2)
    array([[1, 2], [3, 4]], dtype=int32)
    """
    x = convert(input)
    if isinstance(block_shape, int):
        block_shape = (block_shape, block_shape)
    block, widths = _blocks("batch_to_space", x, block_shape, crops)
    count, shape = len(block), x._array.shape
    batch, spatial = shape[0] // math.prod(block), shape[1 : 1 + count]
    if shape[0] % math.prod(block):
        raise InvalidArgumentError(
            f"batch_to_space: a batch of {shape[0]} does not divide into blocks of {list(block)}"
        )
    whole = [n * b for n, b in zip(spatial, block, strict=True)]
    if any(n < first + last for n, (first, last) in zip(whole, widths, strict=True)):
        raise InvalidArgumentError(f"batch_to_space: crops {widths.tolist()} leave nothing of {whole}")
    pairs = [axis for i in range(count) for axis in (count + 1 + i, i)]
    rest = range(1 + 2 * count, x.ndim + count)
    x = transpose(reshape(x, (*block, batch, *shape[1:])), (count, *pairs, *rest))
    x = reshape(x, (batch, *whole, *shape[1 + count :]))
    inner = [slice(int(first), n - int(last)) for n, (first, last) in zip(whole, widths, strict=True)]
    return take(x, (slice(None), *inner)) if widths.any() else x


def required_space_to_batch_paddings(
    input_shape: ShapeLike,
    block_shape: ShapeLike,
    base_paddings: TensorLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The paddings that make lengths multiples of a block, and the crops that take them off again.

    Args:
        input_shape: the lengths.
        block_shape: the lengths of a block.
        base_paddings: [before, after] for each axis, the least to add; zeros by default.

    Raises:
        ValueError: if the shapes of the three do not fit.
        InvalidArgumentError: if they are no integers, or a block is shorter than 1.

    >>> [t.numpy().tolist() for t in required_space_to_batch_paddings([5], [2])]
    [[[0, 1]], [[0, 1]]]
    """
    lengths, block = (
        known("required_space_to_batch_paddings", "a shape", convert(v, None, np.dtype(np.int32))._array)
        for v in (input_shape, block_shape)
    )
    base = np.zeros((block.size, 2), np.int32) if base_paddings is None else convert(base_paddings)._array
    if block.ndim != 1 or lengths.shape != block.shape or base.shape != (*block.shape, 2):
        raise ValueError(
            f"required_space_to_batch_paddings: the shapes {list(lengths.shape)}, {list(block.shape)} and "
            f"{list(base.shape)} do not fit: they must be [n], [n] and [n, 2]"
        )
    if any(part.dtype.kind not in "iu" for part in (lengths, block, base)) or (block < 1).any():
        raise InvalidArgumentError(
            f"required_space_to_batch_paddings: takes integers, and blocks of at least 1, not {block_shape!r}"
        )
    extra = -(lengths + base.sum(axis=1)) % block
    zero = np.zeros_like(extra)
    return wrap((base + np.stack([zero, extra], 1)).astype(np.int32)), wrap(
        np.stack([zero, extra], 1).astype(np.int32)
    )


def _square_blocks(name: str, input: Any, block_size: Any, data_format: str) -> tuple[Any, int]:
    """The input with channels last, checked, and the side of its blocks."""
    x, size = convert(input), static_number(f"{name}: block_size", block_size)
    choice(name, "data_format", data_format, ("NHWC", "NCHW"))
    if x.ndim != 4 or size < 2:
        raise InvalidArgumentError(
            f"{name}: takes images, of rank 4, and a block_size of at least 2; got shape {x.shape} and {size}"
        )
    return (transpose(x, (0, 2, 3, 1)) if data_format == "NCHW" else x), size


def space_to_depth(
    input: TensorLike, block_size: TensorLike, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Each block of an image as one element with more channels.

    Args:
        block_size: the side of a block, at least 2.
        data_format: 'NHWC', or 'NCHW' where the channels come before the image.

    Raises:
        InvalidArgumentError: if `input` has not rank 4, or its sides are no multiples of `block_size`.

    >>> space_to_depth([[[[1], [2]], [[3], [4]]]], 2).numpy()
    array([[[[1, 2, 3, 4]]]], dtype=int32)
    """
    x, size = _square_blocks("space_to_depth", input, block_size, data_format)
    batch, height, width, depth = x._array.shape
    if height % size or width % size:
        raise InvalidArgumentError(
            f"space_to_depth: an image of {height} x {width} does not divide into blocks of {size} x {size}"
        )
    x = reshape(x, (batch, height // size, size, width // size, size, depth))
    x = reshape(transpose(x, (0, 1, 3, 2, 4, 5)), (batch, height // size, width // size, size * size * depth))
    return transpose(x, (0, 3, 1, 2)) if data_format == "NCHW" else x


def depth_to_space(
    input: TensorLike, block_size: TensorLike, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The inverse of `space_to_depth`: channels laid out as a block.

    Args:
        block_size: the side of a block, at least 2.
        data_format: 'NHWC', or 'NCHW' where the channels come before the image.

    Raises:
        InvalidArgumentError: if `input` has not rank 4, or the channels do not divide into blocks.

    >>> depth_to_space([[[[1, 2, 3, 4]]]], 2).numpy().reshape(2, 2)
    array([[1, 2], [3, 4]], dtype=int32)
    """
    x, size = _square_blocks("depth_to_space", input, block_size, data_format)
    batch, height, width, depth = x._array.shape
    if depth % (size * size):
        raise InvalidArgumentError(
            f"depth_to_space: {depth} channels do not divide into blocks of {size} x {size}"
        )
    x = transpose(reshape(x, (batch, height, width, size, size, -1)), (0, 1, 3, 2, 4, 5))
    x = reshape(x, (batch, height * size, width * size, depth // (size * size)))
    return transpose(x, (0, 3, 1, 2)) if data_format == "NCHW" else x
