"""data.Dataset: what pipelines give, in which order, and what they leave behind."""

import gc
import gzip
import threading
import time
import zlib
from collections import OrderedDict

import numpy as np
import pytest

import gradtape as tf

Dataset = tf.data.Dataset
AUTOTUNE = tf.data.AUTOTUNE


def plain(value):
    """An element as Python numbers, lists and structures; a dataset as the list of its elements."""
    if isinstance(value, (tuple, list)):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if hasattr(value, "element_spec"):
        return [plain(element) for element in value]
    return value.numpy().tolist() if hasattr(value.numpy(), "tolist") else value.numpy()


def rows(*lengths):
    """A dataset of vectors of the given lengths, each filled with its length."""
    spec = tf.TensorSpec((None,), tf.int32)
    return Dataset.from_generator(lambda: ([n] * n for n in lengths), output_signature=spec)


def to_boundary(dataset, length=lambda x: tf.shape(x)[0], **options):
    """Batches of two, of lengths up to 2 and up to 4."""
    return dataset.bucket_by_sequence_length(
        length, [3, 5], [2, 2, 2], pad_to_bucket_boundary=True, **options
    )


# What TensorFlow 2.21 gives for the very same pipelines.
PIPELINES = {
    "range": (lambda: Dataset.range(3), [0, 1, 2]),
    "range downwards": (lambda: Dataset.range(5, 0, -2), [5, 3, 1]),
    "range that does not fit": (lambda: Dataset.range(126, 130, output_type=tf.int8), [126, 127, -128, -127]),
    "empty range": (lambda: Dataset.range(3, 1), []),
    "counter": (lambda: Dataset.counter(3, -1).take(3), [3, 2, 1]),
    "slices": (lambda: Dataset.from_tensor_slices([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    "slices of a tuple": (
        lambda: Dataset.from_tensor_slices(([1, 2], [[3.0], [4.0]])),
        [(1, [3.0]), (2, [4.0])],
    ),
    "slices of a dict": (
        lambda: Dataset.from_tensor_slices({"b": [1, 2], "a": ([3, 4],)}),
        [{"b": 1, "a": (3,)}, {"b": 2, "a": (4,)}],
    ),
    "slices of an ordered dict": (
        lambda: Dataset.from_tensor_slices(OrderedDict(b=[1, 2], a=[3, 4])),
        [{"b": 1, "a": 3}, {"b": 2, "a": 4}],
    ),
    "slices of text": (lambda: Dataset.from_tensor_slices(["a", "b"]).batch(2), [[b"a", b"b"]]),
    "from_tensors": (lambda: Dataset.from_tensors(([1, 2], 3)), [([1, 2], 3)]),
    "batch": (lambda: Dataset.range(5).batch(2), [[0, 1], [2, 3], [4]]),
    "batch, no remainder": (lambda: Dataset.range(5).batch(2, drop_remainder=True), [[0, 1], [2, 3]]),
    "batch of batches": (lambda: Dataset.range(8).batch(2).batch(2), [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]),
    "batch of a structure": (
        lambda: Dataset.from_tensor_slices(({"a": [1, 2, 3]}, [4, 5, 6])).batch(2),
        [({"a": [1, 2]}, [4, 5]), ({"a": [3]}, [6])],
    ),
    "batch after map": (
        lambda: Dataset.range(3).map(lambda x: {"x": x, "y": (x, x * x)}).batch(2),
        [{"x": [0, 1], "y": ([0, 1], [0, 1])}, {"x": [2], "y": ([2], [4])}],
    ),
    "repeat crosses batches": (lambda: Dataset.range(3).repeat(2).batch(2), [[0, 1], [2, 0], [1, 2]]),
    "batch, then repeat": (lambda: Dataset.range(3).batch(2).repeat(2), [[0, 1], [2], [0, 1], [2]]),
    "repeat nothing": (lambda: Dataset.range(3).repeat(0), []),
    "repeat an empty one for ever": (lambda: Dataset.range(0).repeat(), []),
    "take all": (lambda: Dataset.range(3).take(-1), [0, 1, 2]),
    "take too many": (lambda: Dataset.range(2).take(9), [0, 1]),
    "skip all": (lambda: Dataset.range(3).skip(-1), []),
    "skip too many": (lambda: Dataset.range(3).skip(9), []),
    "take, skip": (lambda: Dataset.range(9).take(5).skip(2), [2, 3, 4]),
    "skip after map": (lambda: Dataset.range(4).map(lambda x: x + 1).skip(2), [3, 4]),
    "shard": (lambda: Dataset.range(8).shard(3, 1), [1, 4, 7]),
    "shard after map": (lambda: Dataset.range(8).map(lambda x: x * 10).shard(3, 2).batch(2), [[20, 50]]),
    "concatenate": (lambda: Dataset.range(2).concatenate(Dataset.range(3)).batch(3), [[0, 1, 0], [1, 2]]),
    "concatenate, after map": (
        lambda: Dataset.range(2).map(lambda x: x).concatenate(Dataset.range(5, 7)).skip(1),
        [1, 5, 6],
    ),
    "zip": (lambda: Dataset.zip(Dataset.range(3), Dataset.range(5, 9)), [(0, 5), (1, 6), (2, 7)]),
    "zip of a structure": (
        lambda: Dataset.zip((Dataset.range(2), {"a": Dataset.range(5, 9)})),
        [(0, {"a": 5}), (1, {"a": 6})],
    ),
    "zip of unlike parts": (
        lambda: Dataset.zip((Dataset.range(5).map(lambda x: -x), Dataset.range(4).repeat())).batch(3),
        [([0, -1, -2], [0, 1, 2]), ([-3, -4], [3, 0])],
    ),
    "enumerate": (lambda: Dataset.from_tensor_slices([7, 8]).enumerate(start=5), [(5, 7), (6, 8)]),
    "enumerate after map": (
        lambda: Dataset.range(3).map(lambda x: x * x).enumerate().batch(3),
        [([0, 1, 2], [0, 1, 4])],
    ),
    "cache": (lambda: Dataset.range(3).map(lambda x: x + 1).cache().repeat(2), [1, 2, 3, 1, 2, 3]),
    "prefetch": (lambda: Dataset.range(3).prefetch(2).batch(2), [[0, 1], [2]]),
    "prefetch nothing": (lambda: Dataset.range(3).prefetch(0), [0, 1, 2]),
    "map": (lambda: Dataset.range(3).map(lambda x: x * 2), [0, 2, 4]),
    "map of a tuple": (lambda: Dataset.from_tensor_slices(([1, 2], [3, 4])).map(lambda a, b: a * b), [3, 8]),
    "map to a list": (lambda: Dataset.range(2).map(lambda x: [x, x + 1]), [(0, 1), (1, 2)]),
    "map to Python": (lambda: Dataset.range(2).map(lambda x: (1, 2.5)), [(1, 2.5), (1, 2.5)]),
    "map in threads": (
        lambda: Dataset.range(9).map(lambda x: x * x, num_parallel_calls=3),
        [x * x for x in range(9)],
    ),
    "filter": (lambda: Dataset.range(6).filter(lambda x: x % 3 == 0), [0, 3]),
    "filter of a tuple": (
        lambda: Dataset.from_tensor_slices(([1, 2], [3, 1])).filter(lambda a, b: a < b),
        [(1, 3)],
    ),
    "take_while": (lambda: Dataset.range(9).take_while(lambda x: x < 3), [0, 1, 2]),
    "unique": (lambda: Dataset.from_tensor_slices([1, 2, 1, 3, 2]).unique(), [1, 2, 3]),
    "scan": (
        lambda: Dataset.range(5).scan(np.int64(0), lambda s, x: (s + x, s * 2)),
        [0, 0, 2, 6, 12],
    ),
    "unbatch": (
        lambda: Dataset.from_tensor_slices(([[1, 2], [3, 4]], [[5, 6], [7, 8]])).unbatch(),
        [(1, 5), (2, 6), (3, 7), (4, 8)],
    ),
    "rebatch": (lambda: Dataset.range(10).batch(3).rebatch(4), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]),
    "padded_batch": (lambda: rows(1, 3, 2).padded_batch(2), [[[1, 0, 0], [3, 3, 3]], [[2, 2]]]),
    "padded_batch to a shape": (
        lambda: rows(1, 2).padded_batch(2, padded_shapes=(3,), padding_values=-1),
        [[[1, -1, -1], [2, 2, -1]]],
    ),
    "padded_batch of a tuple": (
        lambda: Dataset.zip((rows(1, 2), Dataset.range(2))).padded_batch(2, padded_shapes=([None], [])),
        [([[1, 0], [2, 2]], [0, 1])],
    ),
    "padded_batch of text": (
        lambda: rows(1, 2).map(lambda x: tf.fill(tf.shape(x), "a")).padded_batch(2),
        [[[b"a", b""], [b"a", b"a"]]],
    ),
    "window": (lambda: Dataset.range(7).window(3), [[0, 1, 2], [3, 4, 5], [6]]),
    "window, shift": (lambda: Dataset.range(7).window(3, shift=2), [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6]]),
    "window, stride": (lambda: Dataset.range(7).window(3, 2, 2), [[0, 2, 4], [2, 4, 6], [4, 6], [6]]),
    "window, no remainder": (
        lambda: Dataset.range(5).window(3, 1, drop_remainder=True),
        [[0, 1, 2], [1, 2, 3], [2, 3, 4]],
    ),
    "window, shift past size": (lambda: Dataset.range(9).window(2, shift=4), [[0, 1], [4, 5], [8]]),
    "window of a tuple": (
        lambda: Dataset.from_tensor_slices(([1, 2, 3], [4, 5, 6])).window(2),
        [([1, 2], [4, 5]), ([3], [6])],
    ),
    "windows as batches": (
        lambda: Dataset.range(5).window(3, 1, drop_remainder=True).flat_map(lambda w: w.batch(3)),
        [[0, 1, 2], [1, 2, 3], [2, 3, 4]],
    ),
    "flat_map": (lambda: Dataset.range(4).flat_map(lambda n: Dataset.range(n)), [0, 0, 1, 0, 1, 2]),
    "interleave": (
        lambda: Dataset.range(1, 7).interleave(
            lambda x: Dataset.from_tensors(x).repeat(6 - x), cycle_length=3, block_length=2
        ),
        [1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 1, 4, 4, 5],
    ),
    "interleave singly": (
        lambda: Dataset.range(5).interleave(
            lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=2, block_length=2
        ),
        [1, 2, 2, 3, 3, 3, 4, 4, 4, 4],
    ),
    "interleave in threads": (
        lambda: Dataset.range(1, 7).interleave(
            lambda x: Dataset.from_tensors(x).repeat(6 - x), cycle_length=3, num_parallel_calls=2
        ),
        [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 1, 4, 5, 4],
    ),
    "interleave of fewer than the cycle": (
        lambda: Dataset.range(3).interleave(lambda x: Dataset.from_tensors(x).repeat(x + 1), 1 << 40),
        [0, 1, 2, 1, 2, 2],
    ),
    "group_by_window": (
        lambda: Dataset.range(10).group_by_window(lambda x: x % 2, lambda key, group: group.batch(3), 3),
        [[0, 2, 4], [1, 3, 5], [6, 8], [7, 9]],
    ),
    "bucket_by_sequence_length": (
        lambda: rows(1, 3, 2, 4, 1).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3], [2, 2]),
        [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]], [[1]]],
    ),
    "buckets padded to their boundaries": (
        lambda: to_boundary(rows(1, 3, 2, 4, 1)),
        [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]], [[1, 0]]],
    ),
    "a length on a boundary is in the bucket above": (
        lambda: to_boundary(rows(3, 3)),
        [[[3, 3, 3, 0], [3, 3, 3, 0]]],
    ),
    "buckets padded, no remainder": (
        lambda: to_boundary(rows(1, 3, 2, 4, 1), drop_remainder=True, padding_values=-1),
        [[[1, -1], [2, 2]], [[3, 3, 3, -1], [4, 4, 4, 4]]],
    ),
    "buckets padded to given shapes": (
        lambda: to_boundary(rows(1, 3, 2, 4, 1), padded_shapes=[6]),
        [
            [[1, 0, 0, 0, 0, 0], [2, 2, 0, 0, 0, 0]],
            [[3, 3, 3, 0, 0, 0], [4, 4, 4, 4, 0, 0]],
            [[1, 0, 0, 0, 0, 0]],
        ],
    ),
    "buckets of dicts, one shape open": (
        lambda: to_boundary(
            rows(1, 3, 2).map(lambda x: {"a": x, "b": x + 1}),
            lambda d: tf.shape(d["a"])[0],
            padded_shapes={"a": [None], "b": [5]},
        ),
        [
            {"a": [[1, 0], [2, 2]], "b": [[2, 0, 0, 0, 0], [3, 3, 0, 0, 0]]},
            {"a": [[3, 3, 3, 0]], "b": [[4, 4, 4, 0, 0]]},
        ],
    ),
    "every open length is padded to the boundary": (
        lambda: to_boundary(rows(1, 2).map(lambda x: (x[:, None] * x, 7)), lambda x, seven: tf.shape(x)[0]),
        [([[[1, 0], [0, 0]], [[4, 4], [4, 4]]], [7, 7])],
    ),
    "buckets without padding have no boundary to pad to": (
        lambda: to_boundary(rows(1, 3, 1, 7, 1), no_padding=True),
        [[[1], [1]], [[1]], [[3, 3, 3]], [[7, 7, 7, 7, 7, 7, 7]]],
    ),
    "choose_from_datasets": (
        lambda: Dataset.choose_from_datasets(
            [Dataset.range(3), Dataset.range(10, 13)],
            Dataset.from_tensor_slices(np.array([0, 1, 1, 0, 0, 0, 1], np.int64)),
        ),
        [0, 10, 11, 1, 2],
    ),
    "generator of a dict": (
        lambda: Dataset.from_generator(
            lambda: iter([{"a": 1, "b": [2, 3]}]),
            output_signature={"a": tf.TensorSpec((), tf.float32), "b": tf.TensorSpec((2,), tf.int64)},
        ),
        [{"a": 1.0, "b": [2, 3]}],
    ),
    "generator with types": (
        lambda: Dataset.from_generator(
            lambda n: ((i, [i, i]) for i in range(n)), (tf.int64, tf.int32), ((), (2,)), args=[2]
        ),
        [(0, [0, 0]), (1, [1, 1])],
    ),
    "apply": (lambda: Dataset.range(4).apply(lambda d: d.batch(2)), [[0, 1], [2, 3]]),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_give_what_tensorflow_gives(name):
    make, expected = PIPELINES[name]
    dataset = make()
    assert [plain(element) for element in dataset] == expected
    assert [plain(element) for element in dataset] == expected, "the second time"
    size = int(dataset.cardinality())
    assert size in (len(expected), tf.data.UNKNOWN_CARDINALITY)


@pytest.mark.parametrize("name", PIPELINES)
def test_skipping_comes_to_the_same_place_as_walking(name):
    make, expected = PIPELINES[name]
    for count in range(len(expected) + 2):
        iterator = iter(make())
        for _ in range(min(count, len(expected))):
            next(iterator)
        again = iter(make())
        again._prepare_state(iterator._save_state())()
        assert [plain(element) for element in again] == expected[count:]


@pytest.mark.parametrize(
    ("dataset", "size"),
    [
        (Dataset.range(5).repeat(), -1),
        (Dataset.range(5).repeat(3), 15),
        (Dataset.range(5).filter(lambda x: True), -2),
        (Dataset.range(5).repeat().take(3), 3),
        (Dataset.range(5).batch(2), 3),
        (Dataset.range(5).batch(2, drop_remainder=True), 2),
        (Dataset.range(5).skip(3).shard(2, 1), 1),
        (Dataset.range(7).window(3, shift=2, drop_remainder=True), 3),
        (Dataset.range(5).shuffle(3).prefetch(1).cache(), 5),
        (Dataset.range(3).skip(-1), 0),
        (Dataset.zip(Dataset.range(3), Dataset.range(3).repeat()), 3),
        (Dataset.range(5).flat_map(lambda x: Dataset.range(2)), -2),
        (Dataset.range(4).batch(2).unbatch(), -2),
        (Dataset.range(0).repeat(), 0),
        (Dataset.range(5).concatenate(Dataset.range(2).repeat()), -1),
        (Dataset.range(5).map(lambda x: x, num_parallel_calls=2), 5),
        (Dataset.random(seed=1), -1),
        (Dataset.counter(), -1),
    ],
)
def test_cardinality_is_tensorflows(dataset, size):
    assert int(dataset.cardinality()) == size
    assert int(tf.data.experimental.cardinality(dataset)) == size
    if size >= 0:
        assert len(dataset) == size
    else:
        with pytest.raises(TypeError, match="infinite" if size == -1 else "known only at the end"):
            len(dataset)


SPEC = tf.TensorSpec


@pytest.mark.parametrize(
    ("dataset", "spec"),
    [
        (Dataset.range(3), SPEC((), tf.int64)),
        (Dataset.range(3, output_type=tf.int32), SPEC((), tf.int32)),
        (Dataset.range(3).batch(2), SPEC((None,), tf.int64)),
        (Dataset.range(3).batch(2, drop_remainder=True), SPEC((2,), tf.int64)),
        (Dataset.range(5).enumerate(), (SPEC((), tf.int64), SPEC((), tf.int64))),
        (to_boundary(rows(1, 3)), SPEC((None, None), tf.int32)),
        (to_boundary(rows(1, 3), padded_shapes=[6]), SPEC((None, 6), tf.int32)),
        (
            Dataset.from_tensor_slices({"a": [1, 2], "b": [[1.0], [2.0]]}).batch(2),
            {"a": SPEC((None,), tf.int32), "b": SPEC((None, 1), tf.float32)},
        ),
        (Dataset.from_tensors((1, [2, 3])), (SPEC((), tf.int32), SPEC((2,), tf.int32))),
        (
            Dataset.range(3).map(lambda x: {"b": x, "a": (x, tf.cast(x, "float32"))}),
            {"b": SPEC((), tf.int64), "a": (SPEC((), tf.int64), SPEC((), tf.float32))},
        ),
        (
            Dataset.range(3).batch(2).map(lambda x: (x, tf.reduce_sum(x))),
            (SPEC((None,), tf.int64), SPEC((), tf.int64)),
        ),
        (Dataset.from_tensor_slices([[1, 2]]).map(lambda x: [x, x]), (SPEC((2,), tf.int32),) * 2),
        (rows(1), SPEC((None,), tf.int32)),
        (rows(1).padded_batch(2), SPEC((None, None), tf.int32)),
        (rows(1).padded_batch(2, (4,)), SPEC((None, 4), tf.int32)),
        (Dataset.range(3).batch(2).unbatch(), SPEC((), tf.int64)),
        (Dataset.range(3).flat_map(lambda x: Dataset.range(2).batch(2)), SPEC((None,), tf.int64)),
        (Dataset.range(3).filter(lambda x: x > 1).shuffle(2).repeat().prefetch(1), SPEC((), tf.int64)),
        (Dataset.range(3).scan(0, lambda s, x: (s, tf.cast(x, "float32"))), SPEC((), tf.float32)),
        (Dataset.from_tensor_slices(["a"]).map(lambda s: (s, 1)), (SPEC((), tf.string), SPEC((), tf.int32))),
        (Dataset.range(3).window(2), tf.data.DatasetSpec(SPEC((), tf.int64))),
        (Dataset.from_generator(lambda: iter([]), tf.int32), SPEC(None, tf.int32)),
    ],
)
def test_element_spec_is_tensorflows(dataset, spec):
    assert dataset.element_spec == spec
    assert iter(dataset).element_spec == spec


def test_element_spec_of_a_function_that_takes_no_zeros_comes_from_an_element():
    def halve(x):
        assert x, "not zero"
        return tf.cast(x, "float32") / 2

    assert Dataset.range(1, 3).map(halve).element_spec == SPEC((), tf.float32)


# -- errors -----------------------------------------------------------------------------------------------------------

ERRORS = [
    (lambda: Dataset.from_tensor_slices(5), ValueError, "no first axis"),
    (lambda: Dataset.from_tensor_slices(([1, 2], [1, 2, 3])), ValueError, r"as many rows.*\[2, 3\]"),
    (lambda: Dataset.from_tensor_slices({}), ValueError, "nothing in it"),
    (lambda: Dataset.range(3).batch(0), tf.errors.InvalidArgumentError, "must be positive"),
    (lambda: Dataset.range(3).batch(1.5), TypeError, "one integer"),
    (lambda: Dataset.range(3).shuffle(0), tf.errors.InvalidArgumentError, "must be positive"),
    (lambda: Dataset.range(3).map(5), ValueError, "must be a function"),
    (lambda: Dataset.range(3).map(lambda x: x, num_parallel_calls=0), ValueError, "num_parallel_calls"),
    (lambda: list(Dataset.range(3).filter(lambda x: x)), ValueError, "one boolean"),
    (lambda: list(Dataset.range(3).flat_map(lambda x: x)), TypeError, "must return a Dataset"),
    (
        lambda: list(rows(1, 2).batch(2)),
        tf.errors.InvalidArgumentError,
        r"differ in shape.*\[1\].*\[2\].*padded_batch",
    ),
    (lambda: list(rows(2).padded_batch(2, (1,))), tf.errors.DataLossError, "does not fit"),
    (lambda: list(rows(2).padded_batch(2, padding_values=-1.0)), TypeError, "float32.*int32"),
    (lambda: Dataset.range(3).concatenate(Dataset.from_tensors(1.0)), TypeError, "must be alike"),
    (lambda: Dataset.range(3).get_single_element(), tf.errors.InvalidArgumentError, "more than one"),
    (lambda: Dataset.range(0).get_single_element(), tf.errors.InvalidArgumentError, "no element"),
    (lambda: Dataset.range(3).shard(2, 2), tf.errors.InvalidArgumentError, "between 0 and"),
    (lambda: Dataset.range(3).shard(0, 0), tf.errors.InvalidArgumentError, "must be positive"),
    (lambda: Dataset.range(1, 2, 0), tf.errors.InvalidArgumentError, "must not be 0"),
    (lambda: Dataset.zip([Dataset.range(3)]), TypeError, "tuple or dict"),
    (lambda: Dataset.zip(), TypeError, "at least one"),
    (lambda: Dataset.range(3).apply(lambda d: 5), TypeError, "must return a Dataset"),
    (lambda: Dataset.from_generator([1, 2], tf.int32), TypeError, "must be a function"),
    (lambda: Dataset.from_generator(lambda: iter([1])), TypeError, "output_signature"),
    (
        lambda: list(Dataset.from_generator(lambda: iter(["a"]), tf.int32)),
        TypeError,
        "element 0 is 'a', which is no int32",
    ),
    (
        lambda: list(Dataset.from_generator(lambda: iter([1, [2]]), tf.int32, ())),
        ValueError,
        "element 1 is of shape",
    ),
    (
        lambda: list(Dataset.from_generator(lambda: iter([1]), (tf.int32, tf.int32))),
        ValueError,
        "a tuple of 2",
    ),
    (lambda: Dataset.range(9).reduce(0, lambda s, x: tf.cast(x, "float32")), TypeError, "int32 to float32"),
    (lambda: list(Dataset.range(3).scan(0, lambda s, x: s)), TypeError, "new_state, output"),
    (lambda: Dataset.range(3).concatenate(5), TypeError, "concatenate: dataset must be a Dataset, not 5"),
    (lambda: Dataset.range(3).reduce(0, 5), ValueError, "reduce_func must be a function, not 5"),
    (lambda: Dataset.range(3).scan(0, 5), ValueError, "scan_func must be a function, not 5"),
    (lambda: Dataset.range(3).with_options({}), TypeError, r"must be data\.Options"),
    (lambda: Dataset.list_files(5), TypeError, "file_pattern must be texts, not 5"),
    (lambda: list(tf.data.TextLineDataset([5])), TypeError, "filenames must be texts"),
    (lambda: Dataset.choose_from_datasets([5], Dataset.range(3)), TypeError, "each is a Dataset, not 5"),
    (lambda: Dataset.sample_from_datasets([Dataset.range(3)], [1.0, 2.0]), ValueError, "the 1 datasets"),
    (lambda: Dataset.sample_from_datasets([Dataset.range(3)], ["a"]), TypeError, "must be real numbers"),
    (lambda: Dataset.range(3).padded_batch(2, 5.5), TypeError, "padded_shapes must be a list, not 5.5"),
    (lambda: Dataset.range(3).padded_batch(2, [], [0, 0]), ValueError, "1 components"),
    (lambda: rows(1).map(lambda x: {"a": x}).padded_batch(2, {"b": [3]}), ValueError, "the components"),
    (lambda: list(Dataset.range(3).group_by_window(lambda x: 0.5, min, 2)), TypeError, "one integer"),
    (lambda: list(Dataset.range(3).group_by_window(lambda x: 0, min, 0)), ValueError, "positive"),
    (lambda: Dataset.from_generator(iter, tf.int32, args=5), TypeError, "args must be a list, not 5"),
    (lambda: tf.data.experimental.cardinality(5), TypeError, "dataset must be a Dataset, not 5"),
    (
        lambda: list(to_boundary(rows(1, 5))),
        tf.errors.InvalidArgumentError,
        "length 5, and there is no bound",
    ),
    (
        lambda: to_boundary(rows(1), padded_shapes=tf.TensorShape(None)).element_spec,
        ValueError,
        "how many axes",
    ),
    (lambda: list(to_boundary(rows(3), lambda x: 1)), tf.errors.DataLossError, "does not fit"),
    (lambda: rows(1).bucket_by_sequence_length(len, [5, 3], [1, 1, 1]), ValueError, "must increase"),
    (lambda: rows(1).bucket_by_sequence_length(len, [5, 3], [1]), ValueError, "make 3 buckets"),
    (lambda: rows(1).bucket_by_sequence_length(len, [2.5], [1, 1]), TypeError, "one integer"),
    (lambda: list(Dataset.range(3).map(lambda x: next(iter([])))), RuntimeError, "StopIteration"),
    (lambda: list(Dataset.range(2).window(2).batch(2)), TypeError, "flat_map"),
    (lambda: iter(Dataset.range(0)).get_next(), tf.errors.OutOfRangeError, "no more"),
    (lambda: next(iter(Dataset.range(0))), StopIteration, "^$"),
    (
        lambda: list(Dataset.range(3).apply(tf.data.experimental.assert_cardinality(2))),
        tf.errors.FailedPreconditionError,
        "more",
    ),
    (
        lambda: list(Dataset.range(1).apply(tf.data.experimental.assert_cardinality(2))),
        tf.errors.FailedPreconditionError,
        "are 1",
    ),
    (lambda: setattr(tf.data.Options(), "foo", 1), AttributeError, "deterministic"),
    (lambda: list(tf.data.TextLineDataset("/no/such/file")), tf.errors.NotFoundError, "no file"),
]


@pytest.mark.parametrize(("act", "error", "message"), ERRORS)
def test_errors_say_what_is_wrong(act, error, message):
    with pytest.raises(error, match=message):
        act()


# -- shuffling --------------------------------------------------------------------------------------------------------


def numbers(dataset):
    return [int(x) for x in dataset]


SHUFFLES = {
    "rows": lambda seed, **how: Dataset.range(100).shuffle(100, seed, **how),
    "rows, small buffer": lambda seed, **how: Dataset.range(100).shuffle(10, seed, **how),
    "elements": lambda seed, **how: Dataset.range(100).map(lambda x: x).shuffle(200, seed, **how),
    "elements, small buffer": lambda seed, **how: (
        Dataset.range(100).map(lambda x: x).shuffle(10, seed, **how)
    ),
    "shuffled twice": lambda seed, **how: Dataset.range(100).shuffle(9, seed, **how).shuffle(20, seed, **how),
    "unknown size": lambda seed, **how: Dataset.range(100).filter(lambda x: True).shuffle(-2, seed, **how),
}


@pytest.mark.parametrize("kind", SHUFFLES)
def test_a_shuffle_is_a_permutation_and_follows_from_its_seed(kind):
    shuffled = SHUFFLES[kind]
    first, again, other = (numbers(shuffled(seed)) for seed in (1, 1, 2))
    assert sorted(first) == list(range(100)) != first
    assert first == again != other


@pytest.mark.parametrize("kind", SHUFFLES)
def test_each_loop_has_another_order_unless_told_otherwise(kind):
    dataset = SHUFFLES[kind](1)
    loops = [numbers(dataset) for _ in range(3)]
    assert loops[0] != loops[1] != loops[2]
    dataset = SHUFFLES[kind](1)
    assert [numbers(dataset) for _ in range(3)] == loops
    fixed = SHUFFLES[kind](1, reshuffle_each_iteration=False)
    assert numbers(fixed) == numbers(fixed)
    twice = numbers(fixed.repeat(2))
    assert twice[:100] == twice[100:]
    twice = numbers(dataset.repeat(2))
    assert twice[:100] != twice[100:] and sorted(twice[:100]) == sorted(twice[100:]) == list(range(100))


def test_a_small_buffer_lets_no_element_come_early():
    for kind in ("rows, small buffer", "elements, small buffer"):
        for place, element in enumerate(numbers(SHUFFLES[kind](3))):
            assert element < place + 10


@pytest.mark.parametrize("mapped", [False, True])
def test_a_small_buffer_draws_evenly(mapped):
    """With a buffer of 3 of 4 elements, the first is one of three, each as often; 3000 draws, five sigma."""
    source = Dataset.range(4).map(lambda x: x) if mapped else Dataset.range(4)
    firsts = numbers(source.shuffle(3, seed=7).repeat(3000).shard(4, 0))
    counts = np.bincount(firsts, minlength=4)
    assert counts[3] == 0
    assert (abs(counts[:3] - 1000) < 5 * np.sqrt(3000 * 2 / 9)).all()


def test_the_global_seed_fixes_orders_without_a_seed():
    def orders():
        tf.random.set_seed(5)
        return numbers(Dataset.range(20).shuffle(20)), numbers(Dataset.range(20).shuffle(20))

    first = orders()
    assert first[0] != first[1]
    assert orders() == first
    tf.random.set_seed(6)
    assert numbers(Dataset.range(20).shuffle(20, seed=1)) != numbers(SHUFFLES["rows"](1).take(20))


def test_components_stay_together():
    x = np.arange(50)
    for a, b in Dataset.from_tensor_slices((x, -x)).shuffle(50).repeat(2).batch(7):
        np.testing.assert_array_equal(a.numpy(), -b.numpy())


def test_sampling_follows_the_weights():
    parts = [Dataset.from_tensors(i).repeat() for i in range(3)]
    drawn = numbers(Dataset.sample_from_datasets(parts, [0.5, 0.5, 0.0], seed=1).take(400))
    assert 140 < drawn.count(0) < 260
    assert drawn.count(2) == 0
    finite = [Dataset.range(3), Dataset.range(10, 12)]
    assert sorted(numbers(Dataset.sample_from_datasets(finite, seed=1))) == [0, 1, 2, 10, 11]
    assert len(numbers(Dataset.sample_from_datasets(finite, seed=1, stop_on_empty_dataset=True))) < 5


# -- arrays -----------------------------------------------------------------------------------------------------------


def test_batches_are_cut_out_of_the_arrays(monkeypatch):
    """No element is made by itself, whatever chooses and orders rows before the batch."""
    from gradtape.data import sources

    def refuse(self, i):
        raise AssertionError("an element was made")

    monkeypatch.setattr(sources.ArrayRows, "row", refuse)
    x = np.arange(40.0).reshape(20, 2)
    data = Dataset.from_tensor_slices((x, x[:, 0]))
    zipped = Dataset.zip((data, Dataset.range(20)))
    for dataset in (data, zipped, data.enumerate()):
        steps = dataset.take(18).skip(2).shard(2, 0).cache().shuffle(4).repeat(3)
        batches = list(steps.concatenate(dataset.take(2)).batch(4).prefetch(1))
        assert sum(len(tf.nest.flatten(b)[0]) for b in batches) == 26


def test_the_arrays_are_copied_once_and_tensors_do_not_change():
    x = np.zeros(4, np.float32)
    dataset = Dataset.from_tensor_slices(x).batch(2)
    first = next(iter(dataset))
    x[:] = 1
    assert plain(dataset) == [[0, 0], [0, 0]]
    first.numpy()[:] = 2
    assert plain(dataset) == [[0, 0], [0, 0]]


def test_a_generator_may_use_its_buffer_again():
    def counting():
        buffer = np.zeros(2)
        for i in range(3):
            buffer[:] = i
            yield buffer

    spec = tf.TensorSpec((2,), tf.float64)
    assert plain(Dataset.from_generator(counting, output_signature=spec).batch(3)) == [
        [[0, 0], [1, 1], [2, 2]]
    ]


@pytest.mark.parametrize("dtype", [tf.bfloat16, tf.complex64, tf.bool, tf.uint8, tf.string, tf.float16])
def test_dtypes_come_through(dtype):
    values = tf.constant(["a", "b"]) if dtype is tf.string else tf.cast([0, 1], dtype)
    data = Dataset.from_tensor_slices(values)
    for dataset in (data.batch(2), data.map(lambda x: x).batch(2), data.shuffle(2).batch(2)):
        assert dataset.element_spec.dtype is dtype
        assert next(iter(dataset)).dtype is dtype


def test_no_gradient_flows_through_a_dataset():
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = next(iter(Dataset.from_tensors(3.0).map(lambda x: x * v))) * v
    assert float(tape.gradient(y, v)) == 6.0
    with tf.GradientTape() as tape:
        next(iter(Dataset.from_tensors(3.0).map(lambda x: x * v)))
    assert tape.watched_variables() == ()


def test_a_tape_inside_a_map_works():
    def derivative(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    assert plain(Dataset.from_tensor_slices([1.0, 2.0]).map(derivative)) == [2.0, 4.0]


# -- threads ----------------------------------------------------------------------------------------------------------


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("gradtape-")]


def wait_for_no_threads():
    gc.collect()
    deadline = time.monotonic() + 5
    while threads() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert not threads()


def failing(x):
    if x == 5:
        raise KeyError("five")
    return x


THREADED = {
    "prefetch": lambda f: Dataset.range(20).map(f).prefetch(3),
    "map": lambda f: Dataset.range(20).map(f, num_parallel_calls=3),
    "map in any order": lambda f: Dataset.range(20).map(f, num_parallel_calls=3, deterministic=False),
    "both": lambda f: (
        Dataset.range(20).map(f, num_parallel_calls=2).prefetch(2).batch(1).prefetch(2).unbatch()
    ),
    "interleave": lambda f: Dataset.range(4).interleave(
        lambda i: Dataset.range(5).map(lambda x: f(5 * i + x)), cycle_length=2, num_parallel_calls=2
    ),
}


@pytest.mark.parametrize("kind", THREADED)
def test_threads_end_with_the_loop(kind):
    assert sorted(numbers(THREADED[kind](lambda x: x))) == list(range(20))
    wait_for_no_threads()


@pytest.mark.parametrize("kind", THREADED)
def test_what_fails_in_a_thread_is_raised_in_the_loop_and_no_thread_stays(kind):
    with pytest.raises(KeyError, match="five"):
        numbers(THREADED[kind](failing))
    wait_for_no_threads()


@pytest.mark.parametrize("kind", THREADED)
def test_an_iterator_dropped_half_way_stops_its_threads(kind):
    for _ in THREADED[kind](lambda x: x):
        break
    iterator = iter(THREADED[kind](lambda x: x).repeat())
    for _ in range(30):
        next(iterator)
    del iterator
    wait_for_no_threads()


def test_an_error_does_not_come_before_its_turn():
    iterator = iter(Dataset.range(20).map(failing).prefetch(10))
    assert [int(next(iterator)) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(KeyError):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


def test_prefetch_works_ahead_as_far_as_it_may_and_no_further():
    made = []
    dataset = Dataset.range(100).map(lambda x: made.append(x) or x).prefetch(3)
    made.clear()  # without the rehearsal
    iterator = iter(dataset)
    assert not made
    next(iterator)
    deadline = time.monotonic() + 5
    while len(made) < 5 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.02)
    assert len(made) == 5  # one given, three in the queue, one waiting for its place


def test_calls_run_at_the_same_time_and_keep_their_order():
    barrier = threading.Barrier(4, timeout=5)

    def meet(x):
        if tf.inside_function():
            return x  # a rehearsal
        barrier.wait()
        time.sleep(0.01 if x % 2 else 0)
        return x

    assert numbers(Dataset.range(8).map(meet, num_parallel_calls=4)) == list(range(8))


def test_calls_in_any_order_give_what_is_ready():
    gate = threading.Event()

    def held(x):
        if x == 0:
            assert gate.wait(5)
        return x

    iterator = iter(Dataset.range(3).map(held, num_parallel_calls=2, deterministic=False))
    assert int(next(iterator)) == 1
    gate.set()
    assert {int(x) for x in iterator} == {0, 2}


def test_autotune_uses_threads_for_slow_functions_only():
    def seen(function):
        names = set()
        for _ in Dataset.range(30).map(
            lambda x: names.add(threading.current_thread().name) or function(x), AUTOTUNE
        ):
            pass
        return {name for name in names if name.startswith("gradtape-")}

    assert not seen(lambda x: x)
    assert seen(lambda x: time.sleep(0.001) or x)
    slow = Dataset.range(30).map(lambda x: time.sleep(0.001) or x).prefetch(AUTOTUNE)
    assert numbers(slow) == list(range(30))
    wait_for_no_threads()


# -- iterators --------------------------------------------------------------------------------------------------------


def test_iterators_know_optionals():
    iterator = iter(Dataset.range(1))
    there = iterator.get_next_as_optional()
    assert there.has_value() and int(there.get_value()) == 0
    gone = iterator.get_next_as_optional()
    assert not gone.has_value()
    assert gone.element_spec == SPEC((), tf.int64)


RESUMED = {
    "shuffle, repeat, batch": lambda: Dataset.range(50).shuffle(50, seed=3).repeat().batch(8).take(30),
    "no seed": lambda: Dataset.range(50).shuffle(20).repeat(5),
    "map, prefetch": lambda: (
        Dataset.range(50).shuffle(50).map(lambda x: x + 1).repeat(3).batch(7).prefetch(2)
    ),
    "parallel": lambda: Dataset.range(60).shuffle(9).map(lambda x: x, num_parallel_calls=3).batch(4),
    "zip of shuffles": lambda: Dataset.zip(
        Dataset.range(30).shuffle(30), Dataset.range(30).shuffle(5)
    ).repeat(2),
    "filter": lambda: Dataset.range(50).shuffle(50).filter(lambda x: x % 2 == 0).repeat(2),
    "batch, then shuffle": lambda: Dataset.range(50).batch(4).shuffle(5).repeat(3).unbatch().batch(3),
    "samples": lambda: Dataset.sample_from_datasets([Dataset.range(40), Dataset.range(90, 99)]),
    "interleave": lambda: Dataset.range(6).shuffle(6).interleave(lambda x: Dataset.range(x), cycle_length=2),
    "cached": lambda: Dataset.range(20).shuffle(20).cache().repeat(3),
}


@pytest.mark.parametrize("kind", RESUMED)
@pytest.mark.parametrize("given", [0, 1, 7, 13])
def test_an_iterator_goes_on_where_it_was_saved(kind, given):
    """Into a new pipeline, as in a new process, and whatever other iterators there were before."""
    original = RESUMED[kind]()
    next(iter(original))
    iterator = iter(original)
    next(iter(original))
    for _ in range(given):
        next(iterator)
    state = iterator._save_state()
    rest = [plain(element) for element in iterator]

    fresh = RESUMED[kind]()
    resumed = iter(fresh)
    resumed._prepare_state(state)()
    assert [plain(element) for element in resumed] == rest


def test_the_loops_after_a_resumed_one_have_the_orders_they_would_have_had():
    original = Dataset.range(30).shuffle(30)
    iterator = iter(original)
    next(iterator)
    state = iterator._save_state()
    expected = [numbers(iterator), numbers(original), numbers(original)]
    resumed = Dataset.range(30).shuffle(30)
    iterator = iter(resumed)
    iterator._prepare_state(state)()
    assert [numbers(iterator), numbers(resumed), numbers(resumed)] == expected


def test_a_position_that_does_not_exist_is_refused_and_changes_nothing():
    long, short = iter(Dataset.range(9)), iter(Dataset.range(3))
    for _ in range(5):
        next(long)
    next(short)
    with pytest.raises(tf.errors.InvalidArgumentError, match="given 5 elements; this dataset has only 3"):
        short._prepare_state(long._save_state())()
    with pytest.raises(tf.errors.InvalidArgumentError, match="1 random steps; this one has 0"):
        short._prepare_state(iter(Dataset.range(9).shuffle(2))._save_state())()
    assert numbers(short) == [1, 2]


# -- inside a function ------------------------------------------------------------------------------------------------


def test_a_loop_inside_a_function_sees_the_dataset_anew_each_time():
    order = []
    dataset = Dataset.range(5).shuffle(5, seed=1).map(lambda x: order.append(int(x)) or x).batch(2)

    @tf.function
    def total():
        result = tf.constant(0, tf.int64)
        for batch in dataset:
            result = result * 100 + tf.reduce_sum(batch)
        return result

    results = set()
    for _ in range(4):
        order.clear()
        found = int(total())
        last = order[-5:]
        assert found == (last[0] + last[1]) * 10000 + (last[2] + last[3]) * 100 + last[4]
        results.add(found)
    assert len(results) > 1


def test_an_iterator_moves_on_inside_a_function():
    iterator = iter(
        Dataset.from_tensor_slices(([1.0, 2.0, 3.0, 4.0], [1, 2, 3, 4])).batch(2, drop_remainder=True)
    )

    @tf.function
    def step(it):
        x, n = next(it)
        return tf.reduce_sum(x) + tf.cast(tf.reduce_sum(n), "float32")

    assert [float(step(iterator)), float(step(iterator))] == [6.0, 14.0]
    with pytest.raises((tf.errors.OutOfRangeError, RuntimeError)):  # the latter is what XLA makes of it
        float(step(iterator))


def test_a_function_takes_elements_of_open_shape_as_plain_python():
    step = tf.function(lambda x: tf.reduce_sum(x))
    several = tf.function(lambda iterator: [step(next(iterator)), step(iterator.get_next())])
    iterator = iter(Dataset.range(5).batch(2).take(2).concatenate(Dataset.range(3).batch(3)))
    assert [int(x) for x in several(iterator)] == [1, 5]
    assert step.experimental_get_tracing_count() == 1
    with pytest.raises(tf.errors.OutOfRangeError):
        several(iterator)


def test_a_dataset_may_change_its_length_between_calls_of_a_function():
    most = [2]
    dataset = Dataset.range(9).take_while(lambda x: x < most[0])

    @tf.function
    def count():
        result = tf.constant(0)
        for _ in dataset:
            result += 1
        return result

    for most[0] in (2, 3, 1):
        assert int(count()) == most[0]


def test_an_unrolled_loop_over_a_dataset_keeps_its_length():
    """A comprehension is no loop of the program."""
    most = [2]
    dataset = Dataset.range(9).take_while(lambda x: x < most[0])
    doubled = tf.function(lambda: [x * 2 for x in dataset])
    assert [int(x) for x in doubled()] == [0, 2]
    most[0] = 3
    with pytest.raises((tf.errors.InvalidArgumentError, RuntimeError)):
        doubled()
    most[0] = 1
    with pytest.raises((tf.errors.OutOfRangeError, RuntimeError)):
        doubled()


# -- the rest ---------------------------------------------------------------------------------------------------------


def test_options_are_remembered():
    options = tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 3
    options.experimental_optimization.map_fusion = True
    dataset = Dataset.range(3).with_options(options).map(lambda x: x).batch(2)
    assert dataset.options().deterministic is False
    assert dataset.options().threading.private_threadpool_size == 3
    more = tf.data.Options()
    more.experimental_slack = True
    merged = dataset.with_options(more).options()
    assert (merged.deterministic, merged.experimental_slack) == (False, True)
    assert plain(dataset) == [[0, 1], [2]]


def test_repeating_what_turns_out_empty_ends():
    assert plain(Dataset.range(3).filter(lambda x: x > 5).repeat()) == []


def test_a_dataset_is_true_even_if_empty():
    assert Dataset.range(0)


def test_reduce_takes_structures():
    total, count = Dataset.range(5).reduce((np.int64(0), 0), lambda state, x: (state[0] + x, state[1] + 1))
    assert (int(total), int(count)) == (10, 5)


def test_as_numpy_iterator_gives_structures_of_numpy():
    (element,) = Dataset.from_tensors({"a": [1, 2], "b": 3.0}).as_numpy_iterator()
    assert isinstance(element["a"], np.ndarray) and element["b"] == np.float32(3)


def test_namedtuples_stay_what_they_are():
    from collections import namedtuple

    Point = namedtuple("Point", "x y")
    dataset = Dataset.from_tensor_slices(Point([1, 2], [3, 4])).map(lambda p: Point(p.y, p.x)).batch(2)
    (element,) = dataset
    assert type(element) is Point and plain(element.x) == [3, 4]


@pytest.mark.parametrize(
    ("compression", "write"), [(None, bytes), ("GZIP", gzip.compress), ("ZLIB", zlib.compress)]
)
def test_lines_of_files(tmp_path, compression, write):
    paths = [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    for path, text in zip(paths, (b"one\ntwo\r\n", b"three")):
        with open(path, "wb") as file:
            file.write(write(text))
    assert plain(tf.data.TextLineDataset(paths, compression)) == [b"one", b"two", b"three"]
    listed = Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
    assert [name.decode() for name in plain(listed)] == paths
    assert len(plain(listed.flat_map(lambda path: tf.data.TextLineDataset(path, compression)))) == 3


def test_a_range_of_any_length_costs_nothing():
    huge = Dataset.range(10**15)
    assert numbers(huge.skip(10**14).take(2)) == [10**14, 10**14 + 1]
    assert numbers(huge.repeat().skip(10**15 + 3).take(1)) == [3]


def test_the_example_of_training_works():
    x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]
    w = tf.Variable([[0.0]])
    optimizer = tf.optimizers.SGD(0.5)
    data = Dataset.from_tensor_slices((x, 3 * x)).shuffle(64, seed=1).batch(16).prefetch(AUTOTUNE)
    for _ in range(20):
        for a, b in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(a @ w - b))
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    assert abs(float(w[0, 0]) - 3) < 1e-3


# ---------------------------------------------------------------------------------------------------------------------
# Rehearsals


def test_a_mistake_in_a_function_shows_when_the_dataset_is_made():
    import jax  # noqa: F401 (a rehearsal needs it)

    def wrong(x):
        raise ValueError("no class weights for this")

    for _ in range(2):
        with pytest.raises(ValueError, match="class weights"):
            tf.data.Dataset.range(3).map(wrong)
    with pytest.raises(ValueError, match="class weights"):
        tf.data.Dataset.range(3).batch(2).map(wrong, num_parallel_calls=2)


def test_a_rehearsal_changes_nothing_and_is_made_once():
    import jax  # noqa: F401

    calls, v = [], tf.Variable(0)

    def count(x):
        calls.append(1)
        v.assign_add(1)
        return x + tf.cast(tf.random.uniform([], 0, 1), tf.int64), tf.ones([2])

    tf.random.set_seed(1)
    dataset = tf.data.Dataset.range(3).map(count)
    drawn = float(tf.random.uniform([]))
    assert (len(calls), int(v)) == (1, 0)
    assert dataset.element_spec == (tf.TensorSpec([], tf.int64), tf.TensorSpec([2], tf.float32))
    assert len(calls) == 1
    tf.random.set_seed(1)
    assert drawn == float(tf.random.uniform([]))
    assert len(list(dataset)) == int(v) == 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x: {"a": x}[(x.numpy() and "a") or "a"],
        lambda x: tf.constant(10 // (int(x) + 1)),
        lambda x: tf.numpy_function(lambda a: a + 1, [x], tf.int64),
        lambda x: tf.io.decode_json_example(x) if x is None else tf.boolean_mask([x, x], [x > 0, x > 1]),
    ],
)
def test_a_function_that_needs_values_gets_them(function):
    import jax  # noqa: F401

    assert len(list(tf.data.Dataset.range(1, 4).map(function))) == 3


def test_elements_before_a_failure_come_from_a_parallel_map():
    """Threads get several slow elements at once; those before the one that fails are not lost."""

    def slow(x):
        time.sleep(2e-4)
        tf.debugging.assert_less(x, tf.constant(37, tf.int64))
        return x

    seen = []
    with pytest.raises(tf.errors.InvalidArgumentError):
        for x in Dataset.range(100).map(
            tf.autograph.experimental.do_not_convert(slow), num_parallel_calls=-1
        ):
            seen.append(int(x))
    assert seen == list(range(37))


@pytest.mark.parametrize(
    ("lines", "batch", "function", "shape"),
    [
        (["1,2", "3,4", "5,6", "7,8"], 2, lambda s: tf.io.decode_csv(s, [0.0, 0.0])[0], [None]),
        (["1,2", "3,4"], None, lambda s: tf.io.decode_csv(s, [0.0, 0.0])[0], []),
        (["1 2", "3 4 5"], None, lambda s: tf.strings.to_number(tf.strings.split(s)), [None]),
    ],
)
def test_lengths_that_differ_between_strings_are_open(lines, batch, function, shape):
    dataset = tf.data.Dataset.from_tensor_slices(lines)
    dataset = (dataset.batch(batch) if batch else dataset).map(function)
    assert dataset.element_spec == tf.TensorSpec(shape)


def test_padding_to_one_length():
    rows = tf.data.Dataset.range(1, 3).map(lambda n: tf.fill([n], n))
    assert rows.padded_batch(2, padded_shapes=4).get_single_element().numpy().tolist() == [
        [1, 0, 0, 0],
        [2, 2, 0, 0],
    ]
