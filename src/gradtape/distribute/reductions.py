"""ReduceOp, and the ways of combining values of several devices, which strategies take as an argument."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor_conversion import convert_to_tensor
from ..core.types import TensorLike
from ..ops.scalars import integer


class ReduceOp(enum.Enum):
    """The way in which the values of several replicas become one.

    >>> import gradtape as tf
    >>> strategy = tf.distribute.get_strategy()
    >>> float(strategy.reduce(tf.distribute.ReduceOp.SUM, tf.constant(2.0), axis=None))
    2.0
    """

    SUM = "SUM"
    MEAN = "MEAN"


def as_reduce_op(operation: str, given: Any) -> ReduceOp:
    """A `ReduceOp`, or the one of a name in any case.

    Raises:
        ValueError: for anything else.

    >>> as_reduce_op("reduce", "sum")
    <ReduceOp.SUM: 'SUM'>
    """
    if isinstance(given, ReduceOp):
        return given
    if isinstance(given, str) and given.upper() in ReduceOp.__members__:
        return ReduceOp[given.upper()]
    raise ValueError(
        f"{operation}: reduce_op must be tf.distribute.ReduceOp.SUM or MEAN, or its name, not {given!r}"
    )


class CrossDeviceOps:
    """A way of combining values of several devices. On one device all ways are the same.

    >>> float(CrossDeviceOps().reduce(ReduceOp.SUM, 2.0, "/cpu:0"))
    2.0
    """

    def reduce(
        self, reduce_op: ReduceOp, per_replica_value: TensorLike, destinations: Any, options: Any = None
    ) -> Any:
        """The sum or the mean over all replicas.

        Args:
            reduce_op: which of both.
            per_replica_value: the value of each replica.
            destinations: the devices that get the result.
            options: accepted; no effect.

        Raises:
            ValueError: for another `reduce_op`.
        """
        as_reduce_op("CrossDeviceOps.reduce", reduce_op)
        return convert_to_tensor(per_replica_value)

    def batch_reduce(
        self,
        reduce_op: ReduceOp,
        value_destination_pairs: Sequence[tuple[TensorLike, Any]],
        options: Any = None,
    ) -> list[Any]:
        """`reduce` of several values.

        Args:
            reduce_op: as for `reduce`.
            value_destination_pairs: each value with its devices.
            options: accepted; no effect.

        Raises:
            ValueError: if the pairs are none.

        >>> CrossDeviceOps().batch_reduce("SUM", [(1.0, "/cpu:0")])[0].numpy()
        np.float32(1.0)
        """
        return [self.reduce(reduce_op, value, place) for value, place in pairs(value_destination_pairs)]

    def broadcast(self, tensor: TensorLike, destinations: Any) -> Any:
        """Copy a tensor to the devices of `destinations`.

        >>> float(CrossDeviceOps().broadcast(1.0, "/cpu:0"))
        1.0
        """
        return convert_to_tensor(tensor)


def pairs(value_destination_pairs: Any) -> list[tuple[Any, Any]]:
    """A list of values, each with the devices it goes to.

    Raises:
        ValueError: if these are no pairs.
    """
    given = value_destination_pairs
    if not isinstance(given, (list, tuple)) or not all(
        isinstance(p, (list, tuple)) and len(p) == 2 for p in given
    ):
        raise ValueError(f"value_destination_pairs must be a list of (value, destinations), not {given!r}")
    return [(value, place) for value, place in given]


class ReductionToOneDevice(CrossDeviceOps):
    """Copy all values to one device, and combine them there.

    Args:
        reduce_to_device: the device; that of the first value by default.
        accumulation_fn: a function from a list of tensors to their sum; `add_n` by default.

    >>> ReductionToOneDevice("/cpu:0").reduce_to_device
    '/cpu:0'
    """

    def __init__(
        self, reduce_to_device: str | None = None, accumulation_fn: Callable[..., Any] | None = None
    ) -> None:
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = accumulation_fn


class _Packed(CrossDeviceOps):
    """Combine on all devices at once, values packed together."""

    def __init__(self, num_packs: int = 1) -> None:
        self._num_packs = integer(type(self).__name__, "num_packs", num_packs, least=0)


class NcclAllReduce(_Packed):
    """Combine values with NVIDIA's library for it.

    Args:
        num_packs: in how many parts values are sent.

    Raises:
        ValueError: if `num_packs` is negative.

    >>> isinstance(NcclAllReduce(num_packs=2), CrossDeviceOps)
    True
    """


class HierarchicalCopyAllReduce(_Packed):
    """Combine values of neighbours first.

    Args:
        num_packs: in how many parts values are sent.

    Raises:
        ValueError: if `num_packs` is negative.

    >>> isinstance(HierarchicalCopyAllReduce(), CrossDeviceOps)
    True
    """
