"""TensorShape behaves as TensorFlow's does, and is a tuple."""

import copy
import pickle

import numpy as np
import pytest

from gradtape.core.shapes import TensorShape

UNKNOWN = TensorShape(None)


@pytest.mark.parametrize(
    ("dims", "sizes"),
    [
        ([], []),
        ([2, 3], [2, 3]),
        ((2, None), [2, None]),
        (3, [3]),
        (np.int64(3), [3]),
        (np.array(3), [3]),
        (np.array([2, 3]), [2, 3]),
        ([np.int32(2), np.array(3)], [2, 3]),
        (range(2), [0, 1]),
        ((n for n in (2, 3)), [2, 3]),
        (TensorShape([2, None]), [2, None]),
        ([2**70], [2**70]),
    ],
)
def test_a_shape_is_made_from_sizes(dims, sizes):
    shape = TensorShape(dims)
    assert shape.as_list() == sizes
    assert shape.dims == sizes
    assert all(size is None or type(size) is int for size in shape)
    assert shape.rank == shape.ndims == len(shape) == len(sizes)


@pytest.mark.parametrize(
    ("dims", "error", "message"),
    [
        (2.5, TypeError, r"integer or None; got 2.5 \(float\) in the shape 2.5"),
        ([2, "3"], TypeError, r"got '3' \(str\) in the shape \[2, '3'\]"),
        ([[1]], TypeError, r"got \[1\] \(list\)"),
        ("23", TypeError, r"cannot be made from '23'; give a list of integers, such as \[2, 3\]"),
        (b"23", TypeError, r"cannot be made from b'23'"),
        ([2, -1], ValueError, r"0 or more, or None if unknown; got -1 in the shape \[2, -1\]"),
        (-1, ValueError, r"got -1 in the shape -1"),
    ],
)
def test_what_is_no_shape_is_refused(dims, error, message):
    with pytest.raises(error, match=message):
        TensorShape(dims)


def test_the_unchecked_constructor_gives_the_same_shape():
    shape = TensorShape._of(np.zeros((2, 3)).shape)
    assert type(shape) is TensorShape
    assert repr(shape) == "TensorShape([2, 3])"


def test_a_shape_is_a_tuple_that_numpy_takes():
    shape = TensorShape([2, 3])
    assert isinstance(shape, tuple)
    assert np.zeros(shape).shape == shape
    assert np.arange(6).reshape(shape).shape == (2, 3)
    assert np.prod(shape) == 6
    assert {shape: "found"}[2, 3] == "found"
    a, b = shape
    assert (a, b) == (2, 3)


@pytest.mark.parametrize(
    ("shape", "expected_repr", "expected_str"),
    [
        (TensorShape([]), "TensorShape([])", "()"),
        (TensorShape([2]), "TensorShape([2])", "(2,)"),
        (TensorShape([2, None]), "TensorShape([2, None])", "(2, None)"),
        (UNKNOWN, "TensorShape(None)", "<unknown>"),
    ],
)
def test_a_shape_prints_as_in_tensorflow(shape, expected_repr, expected_str):
    assert repr(shape) == expected_repr
    assert str(shape) == f"{shape}" == expected_str


@pytest.mark.parametrize(
    ("shape", "other", "equal"),
    [
        ([2, None], [2, None], True),
        ([2, None], (2, None), True),
        ([2, None], TensorShape([2, None]), True),
        ([2, None], TensorShape([2, 3]), False),
        ([2, None], None, False),
        ([2], 2, True),
        ([2], [2, 2], False),
        ([2], np.array([2]), True),
        ([2], 2.5, False),
        ([2], "2", False),
        ([2], [-3], False),
        ([2], [[2]], False),
        ([], [], True),
        ([], (), True),
        ([], UNKNOWN, False),
        (None, UNKNOWN, True),
        (None, None, True),
        (None, (), False),
        (None, [], False),
    ],
)
def test_shapes_are_equal_if_all_is_the_same_even_what_is_unknown(shape, other, equal):
    shape = TensorShape(shape)
    assert (shape == other) is equal
    assert (shape != other) is not equal
    if not isinstance(other, np.ndarray):  # an array compares its elements
        assert (other == shape) is equal
        assert (other != shape) is not equal


def test_equal_shapes_have_equal_hashes():
    assert hash(TensorShape([2, None])) == hash((2, None))
    assert hash(UNKNOWN) == hash(TensorShape(None)) == hash(None)


@pytest.mark.parametrize(
    ("shape", "truth"), [([], True), ([0], True), ([2, 3], True), ([None], True), (None, False)]
)
def test_only_an_unknown_rank_is_false(shape, truth):
    assert bool(TensorShape(shape)) is truth


@pytest.mark.parametrize(
    ("shape", "key", "expected"),
    [
        ([2, None], 0, 2),
        ([2, None], 1, None),
        ([2, 3], -1, 3),
        ([2, 3], np.int64(1), 3),
        ([2, 3, 4], slice(1, None), TensorShape([3, 4])),
        ([2, 3, 4], slice(None, None, -1), TensorShape([4, 3, 2])),
        ([2, 3], slice(5, None), TensorShape([])),
        (None, 7, None),
        (None, slice(1, 3), TensorShape([None, None])),
        (None, slice(None, 2), TensorShape([None, None])),
        (None, slice(4, 2), TensorShape([])),
        (None, slice(1, None), UNKNOWN),
        (None, slice(None, -1), UNKNOWN),
        (None, slice(-2, None), UNKNOWN),
        (None, slice(-2, 1), UNKNOWN),
        (None, slice(0, 5, 2), UNKNOWN),
    ],
)
def test_an_index_gives_a_size_and_a_slice_a_shape(shape, key, expected):
    found = TensorShape(shape)[key]
    assert repr(found) == repr(expected)


@pytest.mark.parametrize(
    ("shape", "key", "error", "message"),
    [
        ([2, 3], 2, IndexError, r"shape \(2, 3\) has rank 2; it has no axis 2"),
        ([2, 3], -3, IndexError, r"it has no axis -3"),
        ([2, 3], "a", TypeError, "str"),
        (None, "a", TypeError, "str"),
    ],
)
def test_a_bad_index_is_refused(shape, key, error, message):
    with pytest.raises(error, match=message):
        TensorShape(shape)[key]


@pytest.mark.parametrize(
    ("shape", "count", "defined"),
    [([], 1, True), ([2, 3], 6, True), ([2, 0], 0, True), ([2, None], None, False), (None, None, False)],
)
def test_elements_can_be_counted_if_all_is_known(shape, count, defined):
    shape = TensorShape(shape)
    assert shape.num_elements() == count
    assert shape.is_fully_defined() is defined
    if defined:
        shape.assert_is_fully_defined()
    else:
        with pytest.raises(ValueError, match="is not fully defined; every size must be known"):
            shape.assert_is_fully_defined()


@pytest.mark.parametrize(
    ("a", "b", "compatible", "merged", "agreed"),
    [
        ([2, None], [None, 3], True, [2, 3], [None, None]),
        ([2, None], [2, 3], True, [2, 3], [2, None]),
        ([2, 4], [2, 4], True, [2, 4], [2, 4]),
        ([], [], True, [], []),
        (None, [None, 3], True, [None, 3], None),
        (None, None, True, None, None),
        ([2, 4], [3, 4], False, None, [None, 4]),
        ([2, None], [2], False, None, None),
        ([], [1], False, None, None),
    ],
)
def test_two_shapes_are_compatible_if_no_known_size_differs(a, b, compatible, merged, agreed):
    for one, two in [(a, b), (b, a)]:
        shape = TensorShape(one)
        assert shape.is_compatible_with(two) is compatible
        assert shape.most_specific_compatible_shape(two) == TensorShape(agreed)
        if compatible:
            shape.assert_is_compatible_with(two)
            assert shape.merge_with(two) == TensorShape(merged)
            continue
        for check in shape.assert_is_compatible_with, shape.merge_with:
            with pytest.raises(
                ValueError, match="are not compatible: the rank or a known size differs"
            ) as info:
                check(two)
            assert str(shape) in str(info.value)
            assert str(TensorShape(two)) in str(info.value)


def test_ranks_are_checked():
    shape = TensorShape([2, None])
    shape.assert_has_rank(2)
    shape.assert_same_rank([5, 6])
    shape.assert_same_rank(None)
    assert shape.with_rank(2) == shape.with_rank_at_least(1) == shape.with_rank_at_most(3) == shape


@pytest.mark.parametrize(
    ("method", "argument", "message"),
    [
        ("assert_has_rank", 3, r"shape \(2, None\) has rank 2; rank 3 is needed"),
        ("with_rank", 3, r"shape \(2, None\) has rank 2; rank 3 is needed"),
        ("with_rank_at_least", 3, r"shape \(2, None\) has rank 2; a rank of at least 3 is needed"),
        ("with_rank_at_most", 1, r"shape \(2, None\) has rank 2; a rank of at most 1 is needed"),
        (
            "assert_same_rank",
            [1],
            r"shapes \(2, None\) and \(1,\) have ranks 2 and 1; the same rank is needed",
        ),
    ],
)
def test_a_wrong_rank_is_refused(method, argument, message):
    with pytest.raises(ValueError, match=message):
        getattr(TensorShape([2, None]), method)(argument)


def test_an_unknown_rank_fits_any():
    UNKNOWN.assert_has_rank(3)
    UNKNOWN.assert_same_rank([1, 2])
    assert UNKNOWN.with_rank(2) == [None, None]
    assert UNKNOWN.with_rank_at_least(2) is UNKNOWN
    assert UNKNOWN.with_rank_at_most(2) is UNKNOWN
    assert UNKNOWN.rank is UNKNOWN.ndims is UNKNOWN.dims is None


@pytest.mark.parametrize(
    "question", [len, iter, list, tuple, TensorShape.as_list, lambda s: 2 in s, reversed]
)
def test_an_unknown_rank_is_not_mistaken_for_no_axes(question):
    with pytest.raises(ValueError, match=r"a shape of unknown rank has no .*; with_rank\(n\) sets the rank"):
        question(UNKNOWN)


def test_numpy_does_not_mistake_an_unknown_rank_for_a_scalar():
    with pytest.raises(TypeError, match=r"TensorShape\(None\)"):
        np.zeros(UNKNOWN)


@pytest.mark.parametrize(
    ("a", "b", "joined"),
    [
        ([2], [3, None], [2, 3, None]),
        ([2], 3, [2, 3]),
        ([], [], []),
        ([2], None, None),
        (None, [2], None),
    ],
)
def test_shapes_are_joined(a, b, joined):
    expected = TensorShape(joined)
    assert TensorShape(a).concatenate(b) == expected
    for both in TensorShape(a) + b, a + TensorShape(b), TensorShape(a) + TensorShape(b):
        assert isinstance(both, TensorShape)
        assert both == expected


def test_a_tuple_and_a_shape_join_to_a_shape():
    one = (1,)
    assert repr(one + TensorShape([2])) == "TensorShape([1, 2])"
    assert repr(TensorShape([2]) + one) == "TensorShape([2, 1])"


@pytest.mark.parametrize("dims", [[], [2, None], None])
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copy_is_the_same_shape(dims, duplicate):
    shape = TensorShape(dims)
    again = duplicate(shape)
    assert type(again) is type(shape)
    assert again == shape
    assert again.rank == shape.rank
