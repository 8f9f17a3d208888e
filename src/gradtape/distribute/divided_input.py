"""Datasets of a strategy with several replicas: each batch is divided among them, and goes to their devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..core import nest
from ..core.errors import InvalidArgumentError, UnknownShapeError
from ..core.primitive import outside
from ..core.shapes import TensorShape
from ..core.tensor import Tensor, array_of
from ..data.dataset import Dataset
from ..data.iterator import Iterator
from ..data.stage import Stage
from .distributed_input import DistributedDataset, DistributedIterator
from .per_replica import PerReplicaSpec


class DividedIterator(DistributedIterator):
    """The batches of a distributed dataset, each divided among the replicas.

    Args:
        stage: the last stage of the dataset of whole batches.
        extended: what the strategy does.
    """

    _steps_outside = True  # a @function that moves it runs as plain Python, and `run` in it is compiled

    def __init__(self, stage: Stage, extended: Any) -> None:
        self._extended = extended
        super().__init__(stage)

    def _advance(self) -> Any:
        element = super()._advance()
        with outside():
            return divided(self._extended, element)

    def _traced(self) -> Any:
        raise UnknownShapeError(
            "a batch that is divided among replicas is put on their devices outside of compiled programs: give the "
            "iterator to the @function as an argument, or the batch"
        )

    @property
    def element_spec(self) -> Any:
        """The structure of specs of the elements."""
        return divided_spec(self._extended, self._stage.spec)

    def _feed(self) -> Any:
        return self._traced()


class DividedDataset(DistributedDataset):
    """A dataset whose batches are divided among the replicas of a strategy.

    Args:
        dataset: the batches, each of the rows of all of this process's replicas.
        extended: what the strategy does.
    """

    _runs_as_python = True  # a @function that is given it runs as plain Python, and `run` in it is compiled

    def __init__(self, dataset: Dataset, extended: Any) -> None:
        super().__init__(dataset)
        self._extended = extended

    def __iter__(self) -> DividedIterator:
        return DividedIterator(self._dataset._stage, self._extended)

    def _feed(self) -> Any:
        raise UnknownShapeError(
            "a loop over a distributed dataset moves batches to the devices outside of compiled programs"
        )

    def _numbered(self, start: Any) -> Any:
        return self._feed()

    @property
    def element_spec(self) -> Any:
        """The specs of the elements."""
        return divided_spec(self._extended, self._dataset.element_spec)


class GroupedIterator(Iterator):
    """The batches of several replicas, one for each, taken together.

    Args:
        stages: the last stage of the dataset of each replica of this process; or one, of which each takes a batch.
        extended: what the strategy does.
    """

    _steps_outside = True

    def __init__(self, stages: Sequence[Stage], extended: Any) -> None:
        self._extended = extended
        super().__init__(stages[0])
        count = len(extended.worker_devices)
        own = [Iterator(stage) for stage in stages]
        self._own = own * count if len(own) == 1 else own

    def _advance(self) -> Any:
        """A batch for each replica. At the end, replicas without one get none of its rows."""
        found: list[Any] = []
        with outside():
            for iterator in self._own:
                element = next(iterator, None)
                if element is None and not found:
                    raise StopIteration
                found.append(found[0] if element is None else element)
                if element is None:
                    found[-1] = nest.map_structure(lambda leaf: leaf[:0], found[0])
            self._given += 1
            return self._together(found)

    def _together(self, elements: list[Any]) -> Any:
        """One element for those of this process's replicas."""
        leaves = [nest.flatten(one) for one in elements]
        return nest.pack_sequence_as(
            elements[0], [self._extended.per_replica(at) for at in zip(*leaves, strict=True)]
        )

    def _traced(self) -> Any:
        return DividedIterator._traced(self)  # type: ignore[arg-type]

    def _feed(self) -> Any:
        return self._traced()

    @property
    def element_spec(self) -> Any:
        """The structure of specs of the elements."""
        return own_spec(self._extended, self._stage.spec)


class GroupedDataset(DividedDataset):
    """A dataset of batches of one replica's size, of which each replica takes one.

    Args:
        datasets: one for all replicas of this process, or one for each.
        extended: what the strategy does.
    """

    def __init__(self, datasets: Sequence[Dataset], extended: Any) -> None:
        super().__init__(datasets[0], extended)
        self._datasets = datasets

    def __iter__(self) -> Any:
        return GroupedIterator([d._stage for d in self._datasets], self._extended)

    @property
    def element_spec(self) -> Any:
        """The specs of the elements."""
        return own_spec(self._extended, self._dataset.element_spec)

    @property
    def cardinality(self) -> Tensor:
        """The number of elements, as `Dataset.cardinality()` says it."""
        there = self._dataset.cardinality()
        count = len(self._extended.worker_devices)
        if len(self._datasets) > 1 or int(there) < 0:
            return there
        return (there + count - 1) // count

    def __len__(self) -> int:
        return int(self.cardinality) if int(self.cardinality) >= 0 else len(self._dataset)


def shares(rows: int, count: int) -> list[int]:
    """How many of so many rows each replica gets: equal shares, and the last ones what is left, as in TensorFlow.

    >>> shares(10, 4)
    [3, 3, 3, 1]
    """
    share = -(-rows // count)
    return [max(min(share, rows - i * share), 0) for i in range(count)]


def divided(extended: Any, element: Any) -> Any:
    """A batch as `PerReplica` values: each replica's rows of each tensor.

    Raises:
        InvalidArgumentError: if the element is no batch.
    """
    leaves = nest.flatten(element)
    first = next((len_of(leaf) for leaf in leaves), 0)
    if any(len_of(leaf) != first for leaf in leaves):
        raise InvalidArgumentError(
            f"a distributed dataset gives batches, and the parts of this one have {[len_of(x) for x in leaves]} rows"
        )
    return nest.pack_sequence_as(element, [extended.divided(leaf, first) for leaf in leaves])


def len_of(leaf: Any) -> int:
    """The number of rows of a part of a batch."""
    shape = array_of(leaf).shape if type(leaf) is Tensor else tuple(leaf.shape)
    if not shape:
        raise InvalidArgumentError(
            "experimental_distribute_dataset: each element is divided among the replicas by its first axis, and a part "
            "of this one has none: use dataset.batch(global_batch_size)"
        )
    return int(shape[0])


def divided_spec(extended: Any, spec: Any) -> Any:
    """The specs of divided batches."""
    return nest.map_structure(lambda leaf: _divided_spec(extended, leaf), spec)


def _divided_spec(extended: Any, spec: Any) -> Any:
    if getattr(spec, "shape", None) is None or spec.shape.rank in (None, 0):
        return spec
    rows = spec.shape[0]
    count = extended.rows_divide_by()
    own = None if rows is None or rows % count else rows // count
    return PerReplicaSpec(TensorShape([own, *spec.shape[1:]]), spec.dtype, extended._num_replicas_in_sync)


def own_spec(extended: Any, spec: Any) -> Any:
    """The specs of `PerReplica` values, for those of one replica's."""
    count = extended._num_replicas_in_sync
    return nest.map_structure(lambda leaf: PerReplicaSpec(leaf.shape, leaf.dtype, count), spec)


def starts(lengths: Iterable[int]) -> list[int]:
    """Where each of several parts begins.

    >>> starts([3, 3, 2])
    [0, 3, 6]
    """
    found, at = [], 0
    for length in lengths:
        found.append(at)
        at += length
    return found
