"""Input of several processes: by which policy each gets its part, and how all take their steps together."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core import nest
from ..core.errors import InvalidArgumentError
from ..core.primitive import outside
from ..core.tensor import wrap
from ..data.checks import texts
from ..data.csv_dataset import Columns
from ..data.dataset import Dataset
from ..data.nested import Interleave
from ..data.options import AutoShardPolicy
from ..data.sources import Strings
from ..data.stage import INFINITE, Session, Stage
from .divided_input import (
    DividedDataset,
    DividedIterator,
    GroupedDataset,
    GroupedIterator,
    len_of,
    shares,
    starts,
)
from .exchanges import objects_of_each
from .per_replica import PerReplica

_READERS = (Strings, Columns)  # stages whose source are names of files


class _OwnFiles(Stage):
    """Every so many-th of the names of files, from a certain one on."""

    def __init__(self, source: Stage, count: int, rank: int) -> None:
        super().__init__(source)
        self._count, self._rank = count, rank

    def elements(self, session: Session) -> Iterator[Any]:
        """The names, one by one."""
        for i, name in enumerate(_names(self.sources[0], session)):
            if i % self._count == self._rank:
                yield wrap(np.array(name.encode(), object))


def _names(stage: Stage, session: Session) -> Iterator[str]:
    for names in stage.open(session):
        yield from texts("names of files", names)


class _Pieces(Stage):
    """Each batch, in so many pieces, one after the other."""

    def __init__(self, source: Stage, count: int) -> None:
        super().__init__(source)
        self._count = count

    def elements(self, session: Session) -> Iterator[Any]:
        """The pieces that have rows."""
        for batch in self.sources[0].open(session):
            rows = len_of(nest.flatten(batch)[0])
            parts = shares(rows, self._count)
            for start, n in zip(starts(parts), parts, strict=True):
                if n:
                    yield nest.map_structure(lambda leaf, a=start, b=start + n: leaf[a:b], batch)


def _reads_files(stage: Stage) -> bool:
    if isinstance(stage, _READERS):
        return True
    spec = stage.sources[0].spec if isinstance(stage, Interleave) else None
    return getattr(getattr(spec, "dtype", None), "name", "") == "string"


def files_of(stage: Stage) -> list[Stage]:
    """The stages of a pipeline that read files."""
    found = [stage] if _reads_files(stage) else []
    return found or [reader for source in stage.sources for reader in files_of(source)]


def with_own_files(stage: Stage, count: int, rank: int) -> Stage:
    """The pipeline, with a part of the files it reads."""
    if _reads_files(stage):
        sources: tuple[Stage, ...] = (_OwnFiles(stage.sources[0], count, rank),)
    else:
        sources = tuple(with_own_files(source, count, rank) for source in stage.sources)
    result = copy.copy(stage)
    result.sources = sources
    return result


def sharded(dataset: Dataset, extended: Any, count: int, rank: int) -> DividedDataset:
    """The input of one process of several.

    By elements, every process reads all batches, and takes its rows of each. By files, it reads its own files, and
    takes batches of its part of the rows; without sharding likewise, of all files.

    Raises:
        InvalidArgumentError: by files, if there are none, or fewer than processes.
    """
    policy = getattr(dataset.options().experimental_distribute, "auto_shard_policy", None)
    policy = AutoShardPolicy.AUTO if policy is None else AutoShardPolicy(policy)
    readers = files_of(dataset._stage)
    if policy is AutoShardPolicy.AUTO:
        enough = bool(readers) and all(_count(reader) >= count for reader in readers)
        policy = AutoShardPolicy.FILE if enough else AutoShardPolicy.DATA
    if policy is AutoShardPolicy.FILE:
        if not readers or any(_count(reader) < count for reader in readers):
            raise InvalidArgumentError(
                f"experimental_distribute_dataset: AutoShardPolicy.FILE needs a file for each of {count} processes, "
                f"and the dataset reads {[_count(reader) for reader in readers]}: use AutoShardPolicy.DATA"
            )
        own = with_own_files(dataset._stage, count, rank)
        return CoordinatedDataset(Dataset(_Pieces(own, count), dataset.options()), extended)
    if policy is AutoShardPolicy.OFF:
        return CoordinatedDataset(Dataset(_Pieces(dataset._stage, count), dataset.options()), extended)
    return DividedDataset(dataset, extended)


def _count(reader: Stage) -> int:
    source = reader.sources[0]
    with outside():
        return sum(1 for _ in _names(source, Session.next(source)))


# ---------------------------------------------------------------------------------------------------------------------
# Steps of processes that read different rows


class CoordinatedDataset(DividedDataset):
    """A dataset of which each process has batches of its own. A step is one of all processes."""

    def __iter__(self) -> CoordinatedIterator:
        return CoordinatedIterator(self._dataset._stage, self._extended)


class CoordinatedIterator(DividedIterator):
    """The batches of this process, as long as any process has one."""

    def _advance(self) -> Any:
        try:
            element = super(DividedIterator, self)._advance()
        except StopIteration:
            element = None
        with outside():
            rows = 0 if element is None else len_of(nest.flatten(element)[0])
            counts = [int(n) for n in self._extended.of_each_process(np.array(rows, np.int32))]
            if not any(counts):
                raise StopIteration
            own = len(self._extended.worker_devices)
            if len(set(counts)) == 1 and rows % own == 0:
                return nest.map_structure(lambda leaf: self._extended.divided_here(leaf, rows), element)
            return self._exchanged(element, counts)

    def _exchanged(self, element: Any, counts: list[int]) -> Any:
        """The rows of all processes in each: they are not as many in each, and no program could take them."""
        arrays = None if element is None else [leaf._array for leaf in nest.flatten(element)]
        own, everyone = len(self._extended.worker_devices), []
        for count, of_one in zip(counts, objects_of_each(arrays), strict=True):
            for start, rows in zip(starts(shares(count, own)), shares(count, own), strict=True):
                everyone.append(None if of_one is None else [array[start : start + rows] for array in of_one])
        return _of_all_replicas(self._stage.spec, everyone)


class CoordinatedGroups(GroupedDataset):
    """A dataset of batches of one replica's size in each of several processes. A step is one of all processes.

    Processes agree before each step whether all have rows; where datasets never end, they need not.
    """

    def __iter__(self) -> Any:
        endless = all(int(d.cardinality()) == INFINITE for d in self._datasets)
        if self._extended.of_each_process(np.array(endless, np.int32)).all():
            return super().__iter__()
        return CoordinatedGroupsIterator([d._stage for d in self._datasets], self._extended)


class CoordinatedGroupsIterator(GroupedIterator):
    """A batch for each replica of all processes, as long as any has one."""

    def _advance(self) -> Any:
        with outside():
            found = [next(iterator, None) for iterator in self._own]
            rows = [-1 if one is None else len_of(nest.flatten(one)[0]) for one in found]
            counts = self._extended.of_each_process(np.array(rows, np.int32))
            if counts.max() < 0:
                raise StopIteration
            self._given += 1
            if counts.min() == counts.max():
                return self._together(found)
            own = [None if one is None else [leaf._array for leaf in nest.flatten(one)] for one in found]
            everyone = [arrays for of_one in objects_of_each(own) for arrays in of_one]
            return _of_all_replicas(self._stage.spec, everyone)


def _of_all_replicas(spec: Any, everyone: list[Any]) -> Any:
    """An element of `PerReplica` values for the arrays of all replicas; those without any get none of the rows."""
    like = next(arrays for arrays in everyone if arrays is not None)
    rows = [[array[:0] for array in like] if arrays is None else arrays for arrays in everyone]
    return nest.pack_sequence_as(spec, [PerReplica([wrap(a) for a in at]) for at in zip(*rows, strict=True)])
