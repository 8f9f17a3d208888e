"""RowPartition: each way to make one gives the same division."""

import pytest

import gradtape as tf

RowPartition = tf.experimental.RowPartition

SAME = {
    "row_splits": lambda: RowPartition.from_row_splits([0, 2, 2, 3]),
    "row_lengths": lambda: RowPartition.from_row_lengths([2, 0, 1]),
    "value_rowids": lambda: RowPartition.from_value_rowids([0, 0, 2], nrows=3),
    "row_starts": lambda: RowPartition.from_row_starts([0, 2, 2], nvals=3),
    "row_limits": lambda: RowPartition.from_row_limits([2, 2, 3]),
}


@pytest.mark.parametrize("way", SAME)
def test_each_way_gives_the_same_rows(way):
    rows = SAME[way]()
    assert rows.row_splits().numpy().tolist() == [0, 2, 2, 3]
    assert rows.row_lengths().numpy().tolist() == [2, 0, 1]
    assert rows.row_starts().numpy().tolist() == [0, 2, 2]
    assert rows.row_limits().numpy().tolist() == [2, 2, 3]
    assert rows.value_rowids().numpy().tolist() == [0, 0, 2]
    assert rows.offsets_in_rows().numpy().tolist() == [0, 1, 0]
    assert (int(rows.nrows()), int(rows.nvals()), rows.static_nrows) == (3, 3, 3)
    assert rows.dtype is tf.int64 and not rows.is_uniform() and rows.uniform_row_length() is None


def test_rows_of_one_length():
    rows = RowPartition.from_uniform_row_length(2, nrows=3, dtype=tf.int32)
    assert rows.row_splits().numpy().tolist() == [0, 2, 4, 6]
    assert rows.is_uniform() and rows.static_uniform_row_length == 2 and int(rows.uniform_row_length()) == 2
    assert rows.dtype is tf.int32 and rows.with_dtype(tf.int64).dtype is tf.int64


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: RowPartition(None), ValueError, "from_row_splits"),
        (lambda: RowPartition.from_row_splits([1, 2]), tf.errors.InvalidArgumentError, "start with 0"),
        (lambda: RowPartition.from_row_splits([0.5]), ValueError, "int32 or int64"),
        (lambda: RowPartition.from_uniform_row_length(2), ValueError, "nvals or nrows"),
        (lambda: RowPartition.from_uniform_row_length(2, nvals=3), ValueError, "do not hold 3"),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()
