"""Steps for `Dataset.apply`, and functions, under the earlier names of what `Dataset` has as methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.types import IntLike
from . import checks
from .dataset import Dataset

Step = Callable[[Dataset], Dataset]


def unique() -> Step:
    """`Dataset.unique`, for `apply`.

    >>> [int(x) for x in Dataset.from_tensor_slices([1, 2, 1]).apply(unique())]
    [1, 2]
    """
    return lambda dataset: dataset.unique()


def unbatch() -> Step:
    """`Dataset.unbatch`, for `apply`.

    >>> [int(x) for x in Dataset.range(3).batch(2).apply(unbatch())]
    [0, 1, 2]
    """
    return lambda dataset: dataset.unbatch()


def take_while(predicate: Callable[..., Any]) -> Step:
    """`Dataset.take_while`, for `apply`; `predicate` is a function of an element.

    >>> [int(x) for x in Dataset.range(5).apply(take_while(lambda x: x < 2))]
    [0, 1]
    """
    return lambda dataset: dataset.take_while(predicate)


def enumerate_dataset(start: IntLike = 0) -> Step:
    """`Dataset.enumerate`, for `apply`; `start` is the first number.

    >>> [int(n) for n, _ in Dataset.range(2).apply(enumerate_dataset(5))]
    [5, 6]
    """
    return lambda dataset: dataset.enumerate(start)


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Step:
    """`Dataset.scan`, for `apply`; `scan_func` makes a state and an element of a state, `initial_state` at first.

    >>> import gradtape as tf
    >>> [int(x) for x in Dataset.range(3).apply(scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s + x)))]
    [0, 1, 3]
    """
    return lambda dataset: dataset.scan(initial_state, scan_func)


def shuffle_and_repeat(
    buffer_size: IntLike, count: IntLike | None = None, seed: IntLike | None = None
) -> Step:
    """`shuffle` among `buffer_size` elements with a `seed`, then `repeat` `count` times, for `apply`.

    >>> len(list(Dataset.range(3).apply(shuffle_and_repeat(3, 2))))
    6
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: IntLike,
    num_parallel_batches: IntLike | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: IntLike | None = None,
) -> Step:
    """`map` by `map_func`, then `batch` of `batch_size`, for `apply`.

    `num_parallel_calls` is that of `map`, `drop_remainder` that of `batch`; `num_parallel_batches` is accepted.

    >>> [x.numpy().tolist() for x in Dataset.range(3).apply(map_and_batch(lambda x: x * x, 2))]
    [[0, 1], [4]]
    """
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(batch_size, drop_remainder)


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: IntLike | None = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Step:
    """`Dataset.group_by_window`, for `apply`.

    Args:
        key_func: a function from an element to the number of its group.
        reduce_func: a function from that number and a dataset of elements to a dataset.
        window_size, window_size_func: how many elements go together, or a function from a number to that.

    >>> step = group_by_window(lambda x: x % 2, lambda key, window: window.batch(2), 2)
    >>> [x.numpy().tolist() for x in Dataset.range(4).apply(step)]
    [[0, 2], [1, 3]]
    """
    return lambda dataset: dataset.group_by_window(key_func, reduce_func, window_size, window_size_func)


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Step:
    """`Dataset.bucket_by_sequence_length`, for `apply`.

    Args:
        element_length_func: a function from an element to its length.
        bucket_boundaries, bucket_batch_sizes: the lengths that part the buckets, and the batch size of each.
        padded_shapes, padding_values: as `padded_batch` takes them.
        pad_to_bucket_boundary: whether elements are filled up to the boundary, and not to the longest.
        no_padding: whether elements are not filled up.
        drop_remainder: whether a last batch of fewer elements is left out.

    >>> step = bucket_by_sequence_length(lambda x: 1, [2], [2, 2])
    >>> [x.shape[0] for x in Dataset.range(3).apply(step)]
    [2, 1]
    """
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: IntLike,
    block_length: IntLike = 1,
    sloppy: bool | None = False,
    buffer_output_elements: IntLike | None = None,
    prefetch_input_elements: IntLike | None = None,
) -> Step:
    """`Dataset.interleave` of `cycle_length` datasets that `map_func` makes, `block_length` elements each, for `apply`.

    `sloppy`, `buffer_output_elements` and `prefetch_input_elements` are accepted.

    >>> step = parallel_interleave(lambda x: Dataset.from_tensors(x).repeat(2), 2)
    >>> [int(x) for x in Dataset.range(2).apply(step)]
    [0, 1, 0, 1]
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def prefetch_to_device(device: Any, buffer_size: IntLike | None = None) -> Step:
    """`Dataset.prefetch` of `buffer_size`, for `apply`: there is one device, whatever `device` says.

    >>> len(list(Dataset.range(2).apply(prefetch_to_device("/cpu:0"))))
    2
    """
    return lambda dataset: dataset.prefetch(-1 if buffer_size is None else buffer_size)


def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Step:
    """The dataset itself, for `apply`: there is one device, whatever `target_device` and `source_device` say.

    >>> len(list(Dataset.range(2).apply(copy_to_device("/cpu:0"))))
    2
    """
    return lambda dataset: dataset


def ignore_errors(log_warning: bool = False) -> Step:
    """`Dataset.ignore_errors`, for `apply`; `log_warning` says whether errors are logged.

    >>> [int(x) for x in Dataset.range(2).apply(ignore_errors())]
    [0, 1]
    """
    return lambda dataset: dataset.ignore_errors(log_warning)


def snapshot(
    path: Any,
    compression: str | None = "AUTO",
    reader_func: Callable[[Dataset], Dataset] | None = None,
    shard_func: Callable[..., Any] | None = None,
) -> Step:
    """`Dataset.snapshot` in the folder `path`, for `apply`; `compression`, `reader_func`, `shard_func` are its own.

    >>> import tempfile
    >>> [int(x) for x in Dataset.range(2).apply(snapshot(tempfile.mkdtemp()))]
    [0, 1]
    """
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


def save(
    dataset: Dataset,
    path: Any,
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    checkpoint_args: Any = None,
) -> None:
    """`dataset.save` to the folder `path`; `compression`, `shard_func` and `checkpoint_args` are its own.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> save(Dataset.range(2), folder)
    >>> [int(x) for x in load(folder)]
    [0, 1]
    """
    checks.stage("save: dataset must be", dataset)
    dataset.save(path, compression, shard_func, checkpoint_args)


def load(
    path: Any,
    element_spec: Any = None,
    compression: str | None = None,
    reader_func: Callable[[Dataset], Dataset] | None = None,
) -> Dataset:
    """`Dataset.load` from the folder `path`; `element_spec`, `compression` and `reader_func` are its own.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> save(Dataset.range(2), folder)
    >>> [int(x) for x in load(folder)]
    [0, 1]
    """
    return Dataset.load(path, element_spec, compression, reader_func)


def Counter(start: IntLike = 0, step: IntLike = 1, dtype: Any = "int64") -> Dataset:
    """`Dataset.counter`: numbers from `start` on, `step` apart.

    >>> [int(x) for x in Counter(2).take(2)]
    [2, 3]
    """
    return Dataset.counter(start, step, dtype)


def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """`Dataset.choose_from_datasets`.

    Args:
        datasets: a list of them.
        choice_dataset: the numbers of the datasets from which the elements come.
        stop_on_empty_dataset: whether the end of one is the end of all.

    >>> [int(x) for x in choose_from_datasets([Dataset.range(2), Dataset.range(5, 7)], Dataset.range(2))]
    [0, 5]
    """
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: Any = None,
    seed: IntLike | None = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """`Dataset.sample_from_datasets`.

    Args:
        datasets: a list of them.
        weights: how often each is drawn from; by default all alike.
        seed: of the draws.
        stop_on_empty_dataset: whether the end of one is the end of all.

    >>> len(list(sample_from_datasets([Dataset.range(2), Dataset.range(2)], seed=1)))
    4
    """
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)
