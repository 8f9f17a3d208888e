"""Strategy: how a step runs on replicas. What all strategies share; `StrategyExtended` runs one replica.

A strategy for several replicas overrides what `StrategyExtended` does for one.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..core import nest
from ..core.scopes import device
from ..core.tensor_conversion import convert_to_tensor
from ..core.types import Axes, IntLike, TensorLike
from ..core.variable import Variable, when_new
from ..data.checks import stage
from ..data.dataset import Dataset
from ..ops.array.movement import cast
from ..ops.math.reduction import reduce_sum
from ..ops.scalars import function, integer
from .contexts import check_across_replicas, entered, here
from .distributed_input import DistributedDataset, InputContext, InputOptions, RunOptions, ValueContext
from .reductions import ReduceOp, as_reduce_op, pairs
from .replica import ReplicaContext, check_call


class StrategyExtended:
    """What optimizers and libraries ask of a strategy: its devices, and how variables are updated.

    Args:
        container_strategy: the strategy it belongs to.
        devices: the names of its devices.

    >>> import gradtape as tf
    >>> v = tf.Variable(1.0)
    >>> extended = tf.distribute.get_strategy().extended
    >>> float(extended.update(v, lambda v, step: v.assign_add(step), args=(2.0,)))
    3.0
    """

    def __init__(self, container_strategy: Strategy, devices: Sequence[str] = ("/device:CPU:0",)) -> None:
        self._strategy = container_strategy
        self._devices = tuple(devices)
        self._made: set[int] = set()  # keys of the variables made in the strategy's scope

    # -- facts --------------------------------------------------------------------------------------------------------

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The names of the devices on which replicas run."""
        return self._devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The names of the devices that hold variables."""
        return self._devices

    @property
    def experimental_require_static_shapes(self) -> bool:
        """Whether all shapes must be known."""
        return False

    @property
    def should_checkpoint(self) -> bool:
        """Whether this process is the one that writes checkpoints."""
        return True

    @property
    def should_save_summary(self) -> bool:
        """Whether this process is the one that writes summaries."""
        return True

    @property
    def _num_replicas_in_sync(self) -> int:
        return 1

    def _in_multi_worker_mode(self) -> bool:
        return False

    def of_each_process(self, array: Any) -> Any:
        """The arrays of all processes, stacked."""
        return array[None]

    def runs(self) -> dict[str, Any]:
        """The counts of functions that several replicas ran outside of a @function, by name: see docs/distribute.md.

        >>> import gradtape as tf
        >>> tf.distribute.OneDeviceStrategy("/cpu:0").extended.runs()  # one replica runs as without a strategy
        {}
        """
        return {}

    def _use_merge_call(self) -> bool:
        """Whether updates of variables must be made across replicas."""
        return False

    # -- variables ----------------------------------------------------------------------------------------------------

    def variable_created_in_scope(self, v: Variable) -> bool:
        """Return whether the variable `v` was made in the strategy's scope.

        Raises:
            ValueError: if it is no variable.

        >>> import gradtape as tf
        >>> strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        >>> with strategy.scope():
        ...     v = tf.Variable(1.0)
        >>> strategy.extended.variable_created_in_scope(v)
        True
        """
        if not isinstance(v, Variable):
            raise ValueError(f"variable_created_in_scope takes a Variable, not {v!r}")
        return v._key in self._made

    def _created(self, variable: Variable) -> None:
        """Note a variable that was made in the strategy's scope."""
        self._made.add(variable._key)

    def colocate_vars_with(self, colocate_with_variable: Variable) -> contextlib.AbstractContextManager[None]:
        """A block whose variables are on the devices of `colocate_with_variable`.

        Raises:
            ValueError: if that is no variable.

        >>> import gradtape as tf
        >>> with tf.distribute.get_strategy().extended.colocate_vars_with(tf.Variable(1.0)):
        ...     slot = tf.Variable(0.0)
        """
        if not isinstance(colocate_with_variable, Variable):
            raise ValueError(f"colocate_vars_with takes a Variable, not {colocate_with_variable!r}")
        return contextlib.nullcontext()

    def value_container(self, value: Any) -> Any:
        """The variable to which a replica's `value` belongs: itself.

        >>> import gradtape as tf
        >>> v = tf.Variable(1.0)
        >>> tf.distribute.get_strategy().extended.value_container(v) is v
        True
        """
        return value

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        """Call `fn(variable, *args, **kwargs)` for each copy of a variable.

        Args:
            var: the variable.
            fn: the function.
            args: further arguments.
            kwargs: arguments by name.
            group: whether one result is returned, or a tuple of all.
        """
        check_call("update", "fn", fn, args, kwargs)
        result = fn(var, *args, **(kwargs or {}))
        return result if group else nest.map_structure(lambda one: (one,), result)

    # -- values of replicas -------------------------------------------------------------------------------------------

    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: Any, options: Any = None) -> Any:
        """The sum or the mean over all replicas.

        Args:
            reduce_op: which of both.
            value: the value of each replica.
            destinations: the devices, or the variable, where it is needed.
            options: accepted; no effect.

        Raises:
            ValueError: for another `reduce_op`.
            RuntimeError: inside a replica.

        >>> import gradtape as tf
        >>> float(tf.distribute.get_strategy().extended.reduce_to("SUM", tf.constant(2.0), "/cpu:0"))
        2.0
        """
        check_across_replicas("reduce_to", self._strategy)
        return self._reduce(as_reduce_op("reduce_to", reduce_op), value)

    def batch_reduce_to(
        self,
        reduce_op: ReduceOp | str,
        value_destination_pairs: Sequence[tuple[Any, Any]],
        options: Any = None,
    ) -> list[Any]:
        """`reduce_to` of several values.

        Args:
            reduce_op: as for `reduce_to`.
            value_destination_pairs: each value with its devices.
            options: accepted; no effect.

        >>> import gradtape as tf
        >>> len(tf.distribute.get_strategy().extended.batch_reduce_to("SUM", [(tf.constant(2.0), "/cpu:0")]))
        1
        """
        return [self.reduce_to(reduce_op, value, place) for value, place in pairs(value_destination_pairs)]

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """`Strategy.run` without options.

        Args:
            fn: the function.
            args: its arguments.
            kwargs: its arguments by name.

        >>> import gradtape as tf
        >>> tf.distribute.get_strategy().extended.call_for_each_replica(lambda x: x + 1, args=(2,))
        3
        """
        check_call("Strategy.run", "fn", fn, args, kwargs)
        check_across_replicas("Strategy.run", self._strategy)
        with self._placed(), ReplicaContext(self._strategy, 0):
            return fn(*args, **(kwargs or {}))

    def _placed(self) -> contextlib.AbstractContextManager[None]:
        """A block on the device of the replica."""
        return device(self._devices[0])

    def _reduce(self, op: ReduceOp, value: Any) -> Any:
        return value

    def _along_axis(self, op: ReduceOp, value: TensorLike, axis: Axes) -> Any:
        """The sum along an axis; for the mean, divided by how many rows there are."""
        tensor = convert_to_tensor(value)
        total = reduce_sum(tensor, axis)
        if op is ReduceOp.SUM:
            return total
        rows = math.prod(tensor.shape) // max(math.prod(total.shape), 1)
        return total / cast(rows, total.dtype)

    def _as_gathered(self, value: Any) -> Any:
        """A value as `gather` takes it."""
        return convert_to_tensor(value)

    def _all_gather(self, value: Any, axis: IntLike) -> Any:
        return value

    def _local_results(self, value: Any) -> tuple[Any, ...]:
        return (value,)

    # -- input --------------------------------------------------------------------------------------------------------

    def _distribute(self, dataset: Dataset) -> Any:
        return DistributedDataset(dataset)

    def _distribute_from_function(
        self, dataset_fn: Callable[[InputContext], Dataset], options: InputOptions | None = None
    ) -> Any:
        dataset = dataset_fn(InputContext(1, 0, self._num_replicas_in_sync))
        stage("distribute_datasets_from_function: dataset_fn must return", dataset)
        return self._distribute(dataset)

    def _values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        return value_fn(ValueContext(0, self._num_replicas_in_sync))


class Strategy:
    """How a step runs on replicas, each of which has a part of the batch and the same variables.

    Args:
        extended: what the strategy does, for one replica or several.

    >>> import gradtape as tf
    >>> strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    >>> with strategy.scope():
    ...     v = tf.Variable(1.0)
    >>> float(strategy.run(lambda x: v * x, args=(tf.constant(3.0),)))
    3.0
    """

    is_default = False

    def __init__(self, extended: StrategyExtended) -> None:
        if not isinstance(extended, StrategyExtended):
            raise TypeError(
                "a Strategy is not made by calling Strategy(...): use tf.distribute.get_strategy(), OneDeviceStrategy "
                "or MirroredStrategy"
            )
        self._extended = extended

    @property
    def extended(self) -> StrategyExtended:
        """What optimizers and libraries ask of the strategy."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas over which gradients are summed."""
        return self._extended._num_replicas_in_sync

    @property
    def cluster_resolver(self) -> Any:
        """The description of the machines; None where there is one."""
        return None

    def scope(self) -> contextlib.AbstractContextManager[Strategy]:
        """A block whose variables are made for the strategy, and in which `get_strategy()` is this one.

        Raises:
            RuntimeError: in a scope of another strategy, or inside a replica.

        >>> import gradtape as tf
        >>> with tf.distribute.OneDeviceStrategy("/cpu:0").scope() as strategy:
        ...     tf.distribute.get_strategy() is strategy
        True
        """
        return self._scope()

    @contextlib.contextmanager
    def _scope(self) -> Iterator[Strategy]:
        check_across_replicas("Strategy.scope", self)
        if _note_owner not in when_new:
            when_new.append(_note_owner)
        with self._extended._placed(), entered(self, None):
            yield self

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: RunOptions | None = None,
    ) -> Any:
        """Call a function in each replica.

        Args:
            fn: the function, which may be a `@function`.
            args: its arguments, a list or tuple.
            kwargs: its arguments by name.
            options: accepted; no effect.

        Returns:
            What the function returned in the one replica there is.

        Raises:
            ValueError: if `args` is no list or tuple, or `kwargs` no dict.
            RuntimeError: inside a replica, or in the scope of another strategy.

        >>> import gradtape as tf
        >>> int(tf.distribute.get_strategy().run(lambda x: x + 1, args=(2,)))
        3
        """
        return self._extended.call_for_each_replica(fn, args, kwargs)

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: Axes | None) -> Any:
        """The sum or the mean over all replicas and, unless `axis` is None, along an axis.

        Args:
            reduce_op: `ReduceOp.SUM` or `ReduceOp.MEAN`.
            value: what `run` returned: a tensor, or a structure of them.
            axis: the axis, or several.

        Raises:
            ValueError: for another `reduce_op`, or an axis that is not there.
            RuntimeError: inside a replica, or in the scope of another strategy.

        >>> import gradtape as tf
        >>> float(tf.distribute.get_strategy().reduce("MEAN", tf.constant([1.0, 4.0]), axis=0))
        2.5
        """
        check_across_replicas("Strategy.reduce", self)
        op = as_reduce_op("Strategy.reduce", reduce_op)
        if axis is None:
            return self._extended._reduce(op, value)
        return nest.map_structure(lambda one: self._extended._along_axis(op, one, axis), value)

    def gather(self, value: Any, axis: IntLike) -> Any:
        """The tensors of all replicas, joined along an axis.

        Args:
            value: what `run` returned: a tensor, or a structure of them.
            axis: the axis along which they are joined.

        Raises:
            RuntimeError: inside a replica, or in the scope of another strategy.

        >>> import gradtape as tf
        >>> tf.distribute.get_strategy().gather(tf.constant([1, 2]), axis=0).numpy()
        array([1, 2], dtype=int32)
        """
        check_across_replicas("Strategy.gather", self)
        return self._extended._all_gather(nest.map_structure(self._extended._as_gathered, value), axis)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of this process's replicas.

        >>> import gradtape as tf
        >>> tf.distribute.get_strategy().experimental_local_results(5)
        (5,)
        """
        return self._extended._local_results(value)

    def experimental_assign_to_logical_device(self, tensor: Any, logical_device_id: IntLike) -> Any:
        """Accepted: return the tensor. A replica has one logical device, of number 0.

        Args:
            tensor: a tensor.
            logical_device_id: the number of the device of the replica that is to have it.

        Raises:
            ValueError: for another number than 0.

        >>> import gradtape as tf
        >>> float(tf.distribute.get_strategy().experimental_assign_to_logical_device(tf.constant(1.0), 0))
        1.0
        """
        number = integer("experimental_assign_to_logical_device", "logical_device_id", logical_device_id)
        if number != 0:
            raise ValueError(
                f"experimental_assign_to_logical_device: each replica has one logical device, 0, and not {number}. To "
                "divide a tensor among devices, use tf.experimental.dtensor"
            )
        return tensor

    def experimental_distribute_dataset(self, dataset: Dataset, options: InputOptions | None = None) -> Any:
        """Divide each batch of a dataset among the replicas.

        Args:
            dataset: a dataset of batches, as large as they are for all replicas together.
            options: accepted; no effect.

        Raises:
            TypeError: if it is no dataset.

        >>> import gradtape as tf
        >>> strategy = tf.distribute.get_strategy()
        >>> len(strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2)))
        2
        """
        stage("experimental_distribute_dataset takes", dataset)
        return self._extended._distribute(dataset)

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Dataset], options: InputOptions | None = None
    ) -> Any:
        """The dataset that a function makes for each part of the input.

        Args:
            dataset_fn: a function from an `InputContext` to a dataset of batches, as large as for one replica.
            options: whether `dataset_fn` is called for each process, or for each replica.

        Raises:
            TypeError: if `dataset_fn` is no function, or returns no dataset.

        >>> import gradtape as tf
        >>> dataset_fn = lambda context: tf.data.Dataset.range(4).batch(context.get_per_replica_batch_size(2))
        >>> len(tf.distribute.get_strategy().distribute_datasets_from_function(dataset_fn))
        2
        """
        function("distribute_datasets_from_function", "dataset_fn", dataset_fn)
        return self._extended._distribute_from_function(dataset_fn, options)

    def experimental_distribute_values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        """The value that `value_fn` returns for each replica; with one replica, just its value.

        >>> import gradtape as tf
        >>> tf.distribute.get_strategy().experimental_distribute_values_from_function(
        ...     lambda context: context.replica_id_in_sync_group
        ... )
        0
        """
        function("experimental_distribute_values_from_function", "value_fn", value_fn)
        return self._extended._values_from_function(value_fn)

    def __copy__(self) -> Strategy:
        return self

    def __deepcopy__(self, memo: Any) -> Strategy:
        """The strategy itself: copies of a model belong to the same one."""
        return self


def _note_owner(variable: Variable) -> None:
    """Let the strategy whose scope is open know of a new variable."""
    place = here()
    if place is not None:
        place.strategy.extended._created(variable)
