"""The public namespace `gradtape.data.experimental`: earlier names of what `data` has, and a few more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..core.errors import FailedPreconditionError
from ..core.tensor import Tensor
from ..core.types import DTypeLike, IntLike
from ..names.missing import closed
from ..ops.array.movement import static_number as whole
from . import checks
from .dataset import Dataset
from .iterator import Iterator as DatasetIterator
from .optional import Optional
from .options import (
    AutoShardPolicy,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ThreadingOptions,
)
from .stage import INFINITE as INFINITE_CARDINALITY
from .stage import UNKNOWN as UNKNOWN_CARDINALITY
from .stage import Session, Stage
from .steps import (
    Counter,
    bucket_by_sequence_length,
    choose_from_datasets,
    copy_to_device,
    enumerate_dataset,
    group_by_window,
    ignore_errors,
    load,
    map_and_batch,
    parallel_interleave,
    prefetch_to_device,
    sample_from_datasets,
    save,
    scan,
    shuffle_and_repeat,
    snapshot,
    take_while,
    unbatch,
    unique,
)
from .threads import AUTOTUNE

if TYPE_CHECKING:
    from .csv_dataset import CsvDataset, make_csv_dataset
    from .file_batches import make_batched_features_dataset

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "Optional",
    "ThreadingOptions",
    "assert_cardinality",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_ragged_batch",
    "enumerate_dataset",
    "get_single_element",
    "get_structure",
    "group_by_window",
    "ignore_errors",
    "load",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "parallel_interleave",
    "prefetch_to_device",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "take_while",
    "unbatch",
    "unique",
]


def cardinality(dataset: Dataset) -> Tensor:
    """The number of elements of a dataset: `dataset.cardinality()`.

    >>> int(cardinality(Dataset.range(4)))
    4
    """
    checks.stage("cardinality: dataset must be", dataset)
    return dataset.cardinality()


def dense_to_ragged_batch(
    batch_size: IntLike, drop_remainder: bool = False, row_splits_dtype: DTypeLike = "int64"
) -> Callable[[Dataset], Dataset]:
    """A step for `Dataset.apply`: `Dataset.ragged_batch` with `batch_size`, `drop_remainder` and `row_splits_dtype`.

    >>> rows = Dataset.from_tensor_slices([[1, 2], [3, 4]]).apply(dense_to_ragged_batch(2))
    >>> rows.get_single_element().numpy().tolist()
    [[1, 2], [3, 4]]
    """
    size = whole("dense_to_ragged_batch: batch_size", batch_size)
    return lambda dataset: dataset.ragged_batch(size, drop_remainder, row_splits_dtype)


def get_single_element(dataset: Dataset) -> Any:
    """The element of a dataset that has just one.

    >>> int(get_single_element(Dataset.from_tensors(5)))
    5
    """
    checks.stage("get_single_element: dataset must be", dataset)
    return dataset.get_single_element()


def get_structure(dataset_or_iterator: Dataset | DatasetIterator) -> Any:
    """The specs of the elements: the `element_spec` of `dataset_or_iterator`.

    Raises:
        TypeError: if it is neither a dataset nor an iterator of one.

    >>> get_structure(Dataset.range(4))
    TensorSpec(shape=(), dtype=tf.int64, name=None)
    """
    if not isinstance(dataset_or_iterator, (Dataset, DatasetIterator)):
        raise TypeError(f"get_structure takes a Dataset or an iterator of one, not {dataset_or_iterator!r}")
    return dataset_or_iterator.element_spec


def assert_cardinality(expected_cardinality: int) -> Callable[[Dataset], Dataset]:
    """A step for `Dataset.apply`: the dataset has `expected_cardinality` elements, which is checked while it is read.

    Raises:
        FailedPreconditionError: while the dataset is read, if it has more or fewer.

    >>> odd = Dataset.range(6).filter(lambda x: x % 2 == 1).apply(assert_cardinality(3))
    >>> len(odd)
    3
    """
    count = whole("assert_cardinality: expected_cardinality", expected_cardinality)
    return lambda dataset: Dataset(_Counted(dataset._stage, count), dataset.options())


class _Counted(Stage):
    def __init__(self, source: Stage, count: int) -> None:
        super().__init__(source)
        self._count = count

    def elements(self, session: Session) -> Iterator[Any]:
        seen = 0
        for element in self.sources[0].open(session):
            seen += 1
            if 0 <= self._count < seen:
                break
            yield element
        if self._count >= 0 and seen != self._count:
            raise FailedPreconditionError(
                f"assert_cardinality: {self._count} elements were promised, and there are "
                f"{'more' if seen > self._count else seen}"
            )

    def size(self) -> int:
        return self._count


closed(
    __name__,
    later={
        "CsvDataset": "..csv_dataset",
        "make_batched_features_dataset": "..file_batches",
        "make_csv_dataset": "..csv_dataset",
    },
)
