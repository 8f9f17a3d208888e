"""Operations on the values of all replicas, inside of one: sums, means and gathering, with their gradients.

The replica that runs says how: inside a compiled program by JAX's collectives, else by meeting the other threads. With
one replica they change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.indexed_slices import IndexedSlices
from ..core.primitive import apply1, listeners, local, numbers, primitive
from ..core.tensor import Tensor
from ..core.types import IntLike
from ..engine.arrays import xp
from ..ops.array.movement import concat, split
from ..ops.math.arithmetic import add_n
from ..ops.scalars import integer
from .contexts import here
from .reductions import ReduceOp


class OneReplica:
    """How the only replica exchanges values: they are its own."""

    count = 1
    offered: Any = (
        None  # the tensor that a replica adds up with those of the others: see `ThreadExchange.sum`
    )

    def sum(self, array: Any) -> Any:
        """The sum over all replicas."""
        return array

    def first(self, array: Any) -> Any:
        """The first replica's array."""
        return array

    def gather(self, array: Any, axis: int) -> Any:
        """The arrays of all replicas, joined along an axis."""
        return array


_ONE = OneReplica()


def exchange() -> Any:
    """How the replica that runs exchanges values with the others."""
    place = here()
    return _ONE if place is None or place.replica is None else place.replica._exchange


@primitive(linear=True, check_dtype=numbers, public="distribute.ReplicaContext.all_reduce")
def all_reduce(x: Any, *, mean: bool) -> Any:
    others = exchange()
    total = others.sum(x)
    if not mean or others.count == 1:
        return total
    return (
        (total // x.dtype.type(others.count)) if x.dtype.kind in "iu" else total / x.dtype.type(others.count)
    )


# Every replica's result depends on every replica's x: the sum of the gradients of all.
all_reduce.rules(x=lambda g, mean: _summed(g, mean))


@primitive(linear=True, moves=True, public="distribute.ReplicaContext.all_gather")
def all_gather(x: Any, *, axis: int) -> Any:
    return exchange().gather(x, x.ndim + axis)


@primitive(linear=True, moves=True)
def own_rows(x: Any, *, axis: int, length: int) -> Any:
    """The part of a gathered array that this replica gave."""
    return exchange().part(x, x.ndim + axis, length) if exchange().count > 1 else x


@primitive(linear=True, moves=True)
def rows_in_place(x: Any, *, axis: int, whole: int) -> Any:
    """An array as the part of a gathered one, with zeros for the other replicas'."""
    return exchange().spread(x, x.ndim + axis, whole) if exchange().count > 1 else x


all_gather.rules(x=lambda g, axis, x_shape: _own_part(g, axis, x_shape[axis]))
own_rows.rules(x=lambda g, axis, x_shape: rows_in_place(g, axis=axis, whole=x_shape[axis]))
rows_in_place.rules(x=lambda g, axis, x_shape: own_rows(g, axis=axis, length=x_shape[axis]))


def reduced(op: ReduceOp, value: Tensor | IndexedSlices) -> Tensor | IndexedSlices:
    """The sum or the mean over all replicas; of slices, the rows of all."""
    mean = op is ReduceOp.MEAN
    if not isinstance(value, IndexedSlices):
        reduce = partial(apply1, all_reduce, attributes={"mean": mean})
        if not mean:
            exchange().offered = value
        return _seen_outside(reduce, value, partial(_pull_reduced, mean=mean))
    if exchange().count == 1:
        return value
    rows = value.values / exchange().count if mean else value.values
    return IndexedSlices(gathered(rows, 0), gathered(value.indices, 0), value._dense_shape)


def gathered(value: Tensor, axis: IntLike) -> Tensor:
    """The tensors of all replicas, joined along an axis.

    Raises:
        ValueError: for a scalar, or an axis that is not there.
    """
    at = integer("all_gather", "axis", axis)
    rank = value.ndim
    if not -rank <= at < rank:
        raise ValueError(f"all_gather: a tensor of shape {value.shape} has no axis {at} to be joined along")
    axis = at - rank if at >= 0 else at
    gather = partial(apply1, all_gather, attributes={"axis": axis})
    return _seen_outside(gather, value, partial(_pull_gathered, axis=axis))


def _summed(g: Any, mean: bool) -> Any:
    """The gradient of a sum over replicas, of arrays or tensors."""
    return _seen_outside(partial(all_reduce, mean=mean), g, partial(_pull_reduced, mean=mean))


def _own_part(g: Any, axis: int, length: int) -> Any:
    """The gradient of what a replica gave to a gathered array, of arrays or tensors."""

    def part(g: Any) -> Any:
        return own_rows(all_reduce(g, mean=False), axis=axis, length=length)

    return _seen_outside(part, g, partial(_pull_part, axis=axis))


def _seen_outside(function: Callable[[Any], Any], value: Any, pull: Callable[..., Any]) -> Any:
    """The result of a function. To a tape around the run, those of all replicas come from the values of all."""
    others, here = exchange(), local.here
    around = [tape for tape in here.tapes if any(tape is known for known in getattr(others, "around", ()))]
    if not around or type(value) is not Tensor:
        return function(value)
    with listeners([tape for tape in here.tapes if not any(tape is known for known in around)]):
        result = function(value)
    others.record_around(value, result, pull)
    return result


def _pull_reduced(values: list[Tensor], gradients: tuple[Any, ...], mean: bool) -> list[Any]:
    """The gradient of each replica's value: the sum, or the mean, of the gradients of all results."""
    total = add_n(list(gradients))
    return [total / len(values) if mean else total] * len(values)


def _pull_part(values: list[Tensor], gradients: tuple[Any, ...], axis: int) -> list[Any]:
    """The gradient of each replica's gradient of a gathered array: those of all parts, joined."""
    return [concat(list(gradients), axis)] * len(values)


def _pull_gathered(values: list[Tensor], gradients: tuple[Any, ...], axis: int) -> list[Any]:
    """The gradient of each replica's value: its part of the sum of the gradients of all results."""
    return list(split(add_n(list(gradients)), [int(v.shape[axis]) for v in values], axis))


def spread_rows(x: Any, axis: int, whole: int, start: Any) -> Any:
    """An array of zeros, with `x` in it from `start` on."""
    shape = (*x.shape[:axis], whole, *x.shape[axis + 1 :])
    m = xp(x)
    if m is np:
        out = np.zeros(shape, x.dtype)
        out[(slice(None),) * axis + (slice(start, start + x.shape[axis]),)] = x
        return out
    import jax

    return jax.lax.dynamic_update_slice_in_dim(m.zeros(shape, x.dtype), x, start, axis)
