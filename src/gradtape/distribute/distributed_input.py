"""Datasets and values of several replicas, and the options with which they are made."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from ..core.tensor import Tensor
from ..core.types import IntLike
from ..data.dataset import Dataset
from ..data.iterator import Iterator
from ..ops.scalars import integer


class DistributedIterator(Iterator):
    """The batches of a `DistributedDataset`, one after the other.

    Args:
        stage: the last stage of the dataset.

    >>> import gradtape as tf
    >>> strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    >>> dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    >>> next(iter(dataset)).numpy()
    array([0, 1])
    """


class DistributedDataset:
    """A dataset whose batches go to the replicas of a strategy: what `experimental_distribute_dataset` returns.

    Args:
        dataset: the batches of the one replica there is.

    >>> import gradtape as tf
    >>> strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    >>> dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    >>> [batch.numpy().tolist() for batch in dataset]
    [[0, 1], [2, 3]]
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __iter__(self) -> DistributedIterator:
        return DistributedIterator(self._dataset._stage)

    def _feed(self) -> Any:
        """The elements, for a loop of a @function."""
        return self._dataset._feed()

    def _numbered(self, start: Any) -> Dataset:
        """`enumerate` in a @function."""
        return self._dataset.enumerate(start)

    @property
    def element_spec(self) -> Any:
        """The specs of the elements."""
        return self._dataset.element_spec

    @property
    def cardinality(self) -> Tensor:
        """The number of elements, as `Dataset.cardinality()` says it."""
        return self._dataset.cardinality()

    def __len__(self) -> int:
        return len(self._dataset)


class InputContext:
    """Which part of the input a function is asked for: the argument of `distribute_datasets_from_function`'s function.

    Args:
        num_input_pipelines: the number of parts.
        input_pipeline_id: the number of this part, from 0 on.
        num_replicas_in_sync: the number of replicas.

    >>> InputContext(num_replicas_in_sync=4).get_per_replica_batch_size(32)
    8
    """

    def __init__(
        self,
        num_input_pipelines: IntLike = 1,
        input_pipeline_id: IntLike = 0,
        num_replicas_in_sync: IntLike = 1,
    ) -> None:
        self._num_input_pipelines = integer(
            "InputContext", "num_input_pipelines", num_input_pipelines, least=1
        )
        self._input_pipeline_id = integer("InputContext", "input_pipeline_id", input_pipeline_id, least=0)
        self._num_replicas_in_sync = integer(
            "InputContext", "num_replicas_in_sync", num_replicas_in_sync, least=1
        )

    @property
    def num_input_pipelines(self) -> int:
        """The number of parts."""
        return self._num_input_pipelines

    @property
    def input_pipeline_id(self) -> int:
        """The number of this part."""
        return self._input_pipeline_id

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return self._num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: IntLike) -> int:
        """The size of each replica's part of a batch.

        Raises:
            ValueError: if `global_batch_size` is no multiple of the number of replicas.
        """
        size = integer("get_per_replica_batch_size", "global_batch_size", global_batch_size)
        if size % self._num_replicas_in_sync:
            raise ValueError(
                f"get_per_replica_batch_size: {size} rows cannot be divided evenly among "
                f"{self._num_replicas_in_sync} replicas"
            )
        return size // self._num_replicas_in_sync

    def __str__(self) -> str:
        return (
            f"tf.distribute.InputContext(input pipeline id {self._input_pipeline_id}, "
            f"total: {self._num_input_pipelines})"
        )


class InputReplicationMode(enum.Enum):
    """Whether `distribute_datasets_from_function` calls its function once for each worker, or for each replica.

    >>> InputReplicationMode.PER_REPLICA
    <InputReplicationMode.PER_REPLICA: 'PER_REPLICA'>
    """

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class InputOptions(NamedTuple):
    """How a distributed dataset reads ahead. Stored, without an effect on one device.

    >>> InputOptions().experimental_replication_mode
    <InputReplicationMode.PER_WORKER: 'PER_WORKER'>
    """

    experimental_fetch_to_device: bool | None = True
    experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER
    experimental_place_dataset_on_device: bool = False
    experimental_per_replica_buffer_size: int = 1


class RunOptions(NamedTuple):
    """How `Strategy.run` compiles for TPUs. Stored, without an effect elsewhere.

    >>> RunOptions().experimental_enable_dynamic_batch_size
    True
    """

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None


class ValueContext(NamedTuple):
    """Which replica's value a function is asked for: the argument of a function that makes values.

    >>> ValueContext().num_replicas_in_sync
    1
    """

    replica_id_in_sync_group: int = 0
    num_replicas_in_sync: int = 1
