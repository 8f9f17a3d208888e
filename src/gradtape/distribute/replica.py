"""ReplicaContext: what a function knows of the replica that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.indexed_slices import IndexedSlices
from ..core.nest import map_structure
from ..core.tensor_conversion import convert, convert_to_tensor
from ..core.types import IntLike
from ..ops.scalars import function
from .collectives import OneReplica, gathered, reduced
from .contexts import entered, here
from .reductions import ReduceOp, as_reduce_op


class ReplicaContext:
    """The replica that runs: what `get_replica_context()` gives inside a function that `Strategy.run` runs.

    Args:
        strategy: the strategy whose replica it is.
        replica_id_in_sync_group: the number of the replica, from 0 on.

    >>> import gradtape as tf
    >>> strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    >>> def step():
    ...     context = tf.distribute.get_replica_context()
    ...     return int(context.replica_id_in_sync_group), context.num_replicas_in_sync
    >>> strategy.run(step)
    (0, 1)
    """

    is_one_of_several = False
    _exchange: Any = OneReplica()

    def __init__(self, strategy: Any, replica_id_in_sync_group: IntLike) -> None:
        self._strategy = strategy
        self._replica_id = replica_id_in_sync_group

    @property
    def devices(self) -> tuple[str, ...]:
        """The name of the device on which the replica runs; of replicas that are traced together, of all."""
        names = self._strategy.extended.worker_devices
        return (names[self._replica_id],) if isinstance(self._replica_id, int) else names

    @property
    def strategy(self) -> Any:
        """The strategy whose replica it is."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas over which gradients are summed."""
        return int(self._strategy.num_replicas_in_sync)

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of the replica, from 0 on, as a tensor."""
        return convert(self._replica_id)

    def __enter__(self) -> ReplicaContext:
        self._block = entered(self._strategy, self)
        self._block.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._block.__exit__(*error)

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call a function once for all replicas, across them, and return its result to each.

        Args:
            merge_fn: called as `merge_fn(strategy, *args, **kwargs)`.
            args: arguments, which are those of all replicas.
            kwargs: arguments by name.

        Raises:
            RuntimeError: if this replica does not run now.

        >>> import gradtape as tf
        >>> tf.distribute.get_replica_context().merge_call(lambda strategy, x: x + 1, args=(2,))
        3
        """
        self._check_running("merge_call")
        check_call("merge_call", "merge_fn", merge_fn, args, kwargs)
        return self._merged(merge_fn, args, kwargs or {})

    def _merged_alike(self, merge_fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A merge_call of a function that all replicas give the same arguments."""
        return self.merge_call(merge_fn, args, kwargs)

    def _merged(self, merge_fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        with entered(self._strategy, None):
            return merge_fn(self._strategy, *args, **kwargs)

    def all_reduce(self, reduce_op: ReduceOp | str, value: Any, options: Any = None) -> Any:
        """The sum or the mean over all replicas of a tensor, or of each in a structure. Gradients flow.

        Args:
            reduce_op: `ReduceOp.SUM` or `ReduceOp.MEAN`.
            value: a tensor, `IndexedSlices`, or a structure of them.
            options: accepted; no effect.

        Raises:
            ValueError: for another `reduce_op`.
            RuntimeError: if this replica does not run now.

        >>> import gradtape as tf
        >>> float(tf.distribute.get_replica_context().all_reduce("SUM", 2.0))
        2.0
        """
        op = as_reduce_op("all_reduce", reduce_op)
        self._check_running("all_reduce")
        return map_structure(lambda leaf: reduced(op, _as_tensor(leaf)), value)

    def all_gather(self, value: Any, axis: IntLike, options: Any = None) -> Any:
        """The tensors of all replicas, joined along an axis.

        Args:
            value: a tensor, or a structure of them.
            axis: the axis along which they are joined.
            options: accepted; no effect.

        Raises:
            RuntimeError: if this replica does not run now.

        >>> import gradtape as tf
        >>> tf.distribute.get_replica_context().all_gather(tf.constant([1.0, 2.0]), axis=0).numpy()
        array([1., 2.], dtype=float32)
        """
        self._check_running("all_gather")
        return map_structure(lambda leaf: gathered(convert_to_tensor(leaf), axis), value)

    def _check_running(self, operation: str) -> None:
        place = here()
        if place is None or place.replica is not self:
            raise RuntimeError(
                f"{operation}: this replica does not run now: call it inside the function that Strategy.run runs, on "
                "what tf.distribute.get_replica_context() gives there"
            )


class DefaultReplicaContext(ReplicaContext):
    """The one replica of the default strategy, which runs wherever no other does."""

    @property
    def replica_id_in_sync_group(self) -> int:
        """0."""
        return 0

    def _check_running(self, operation: str) -> None:
        if here() is not None:
            super()._check_running(operation)


def check_call(operation: str, what: str, fn: Any, args: Any, kwargs: Any) -> None:
    """Raise unless `fn(*args, **kwargs)` can be called.

    Raises:
        TypeError: if `fn`, called `what`, is no function.
        ValueError: if `args` is no list or tuple, or `kwargs` no dict.
    """
    function(operation, what, fn)
    if not isinstance(args, (list, tuple)):
        raise ValueError(f"{operation}: args must be a list or tuple of arguments, not {args!r}")
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise ValueError(f"{operation}: kwargs must be a dict of arguments by name, not {kwargs!r}")


def _as_tensor(value: Any) -> Any:
    return value if isinstance(value, IndexedSlices) else convert_to_tensor(value)
