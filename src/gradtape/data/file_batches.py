"""Batches of the elements of many files: what `make_csv_dataset` and `make_batched_features_dataset` share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.types import IntLike
from ..files.examples import parse_example
from ..files.paths import matching
from .checks import function, texts
from .dataset import Dataset
from .record_dataset import TFRecordDataset


def files_of(name: str, pattern: Any) -> list[str]:
    """The files of a pattern, or of several, in order of their names.

    Raises:
        ValueError: if no file matches.
    """
    found = [path for one in texts(f"{name}: file_pattern", pattern) for path in matching(name, one)]
    if not found:
        raise ValueError(f"{name}: no file matches {pattern!r}")
    return sorted(found)


def batches_of(
    paths: Sequence[str],
    of_file: Callable[[Any], Dataset],
    batch_size: IntLike,
    num_epochs: IntLike | None,
    shuffle: tuple[IntLike, IntLike | None] | None,
    reads: IntLike | None,
    drop_last: bool,
) -> Dataset:
    """Batches of the elements of files.

    Args:
        of_file: a function from a path to the dataset of its elements.
        num_epochs: how often the files are read; None for again and again.
        shuffle: the number of elements to draw from, and the seed; None leaves the order.
        reads: how many files are read in turn.
        drop_last: whether a last batch of fewer elements is left out.
    """
    dataset = Dataset.from_tensor_slices(list(paths))
    if shuffle is not None:
        dataset = dataset.shuffle(len(paths), shuffle[1])
    dataset = dataset.interleave(of_file, 1 if reads is None else reads)
    if shuffle is not None:
        dataset = dataset.shuffle(*shuffle)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    return dataset.batch(batch_size, drop_remainder=drop_last or num_epochs is None)


def check_label(name: str, argument: str, label: str | None, features: list[str]) -> None:
    """Raise a ValueError unless the label is one of the features, or None."""
    if label is not None and label not in features:
        raise ValueError(f"{name}: {argument} must be one of {features}, not {label!r}")


def with_label(
    dataset: Dataset, features: Callable[..., dict[str, Any]], label: str | None, prefetch: IntLike | None
) -> Dataset:
    """The dicts that a function makes of elements, or pairs of such a dict and its label, prefetched if asked."""

    def element(*values: Any) -> Any:
        found = features(*values)
        return found if label is None else (found, found.pop(label))

    mapped = dataset.map(element)
    return mapped if prefetch is None else mapped.prefetch(prefetch)


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: IntLike,
    features: Mapping[str, Any],
    reader: Callable[..., Dataset] | None = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: IntLike | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: IntLike = 10000,
    shuffle_seed: IntLike | None = None,
    prefetch_buffer_size: IntLike | None = None,
    reader_num_threads: IntLike | None = None,
    parser_num_threads: IntLike | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Batches of the examples in record files, parsed: dicts of tensors by name, or pairs of such a dict and the label.

    Args:
        file_pattern: a path or pattern, or a list of them.
        batch_size: examples of a batch.
        features: what to take, by name, as for `tf.io.parse_example`.
        reader: a function from a path to a dataset of strings, or of pairs with a string second; by default
            `TFRecordDataset`.
        label_key: the feature that is the label.
        reader_args: further arguments of the reader.
        num_epochs: how often the files are read; by default again and again, in full batches.
        shuffle: whether files and examples are shuffled.
        shuffle_buffer_size: examples to draw from.
        shuffle_seed: of the shuffling.
        prefetch_buffer_size: accepted as `Dataset.prefetch` takes it.
        reader_num_threads: the number of files that are read in turn.
        parser_num_threads, sloppy_ordering: accepted; the order is always that of the files.
        drop_final_batch: whether a last batch of fewer examples is left out.

    Raises:
        ValueError: if no file matches, or the label is none of the features.

    >>> import gradtape as tf, tempfile
    >>> path = tempfile.mkdtemp() + "/a.tfrecord"
    >>> with tf.io.TFRecordWriter(path) as writer:
    ...     for n in range(3):
    ...         made = tf.train.Example()
    ...         made.features.feature["n"].int64_list.value.append(n)
    ...         writer.write(made.SerializeToString())
    >>> wanted = {"n": tf.io.FixedLenFeature([], tf.int64)}
    >>> [b["n"].numpy() for b in make_batched_features_dataset(path, 2, wanted, num_epochs=1, shuffle=False)]
    [array([0, 1]), array([2])]
    """
    name = "make_batched_features_dataset"
    check_label(name, "label_key", label_key, list(features))
    read = TFRecordDataset if reader is None else function(f"{name}: reader", reader)
    arguments = () if reader_args is None else tuple(reader_args)

    def of_file(path: Any) -> Dataset:
        return read(path, *arguments)

    buffer = (shuffle_buffer_size, shuffle_seed) if shuffle else None
    paths = files_of(name, file_pattern)
    dataset = batches_of(
        paths, of_file, batch_size, num_epochs, buffer, reader_num_threads, bool(drop_final_batch)
    )
    return with_label(
        dataset, lambda *elements: parse_example(elements[-1], features), label_key, prefetch_buffer_size
    )
