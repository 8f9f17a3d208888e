"""tf.nest takes structures apart and puts them together as TensorFlow's does."""

import collections
import dataclasses
import subprocess
import sys
import threading
import types
from collections import OrderedDict, UserDict, UserList, defaultdict, deque
from typing import Any, ClassVar, NamedTuple

import attrs
import numpy as np
import pytest

from gradtape.core import nest
from gradtape.core.shapes import TensorShape


class Point(NamedTuple):
    x: Any
    y: Any


class Other(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Layer:
    kernel: Any
    bias: Any = None
    count: ClassVar[int] = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    kernel: Any
    scale: dataclasses.InitVar[int]
    total: Any = dataclasses.field(init=False)

    def __post_init__(self, scale):
        object.__setattr__(self, "total", self.kernel * scale)


@attrs.define
class Slotted:
    kernel: Any
    bias: Any = attrs.field(default=None, validator=attrs.validators.instance_of(int))


@attrs.frozen
class Private:
    _kernel: Any


@dataclasses.dataclass
class Tagged:
    """Says itself, by TensorFlow's protocol, what its leaves are."""

    value: Any
    tag: str

    def __tf_flatten__(self):
        return (self.tag,), (self.value,)

    @classmethod
    def __tf_unflatten__(cls, metadata, components):
        return cls(*components, *metadata)


@dataclasses.dataclass
class ArrayLike:
    """Looks like a structure, and is a value."""

    values: list

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


class MyList(list):
    pass


class MyTuple(tuple):
    pass


class MyDict(dict):
    pass


def filled(cls, **fields):
    """An object with these fields that did not go through __init__."""
    made = cls.__new__(cls)
    for key, value in fields.items():
        object.__setattr__(made, key, value)
    return made


# structure, its leaves, and the same structure with the leaves 10, 11, 12, ...
STRUCTURES = [
    (5, [5], 10),
    (None, [None], 10),
    ("text", ["text"], 10),
    ([], [], []),
    ((), [], ()),
    ({}, [], {}),
    ([1, 2], [1, 2], [10, 11]),
    ((1, None), [1, None], (10, 11)),
    ([1, [2, (3, [])]], [1, 2, 3], [10, [11, (12, [])]]),
    ({"b": 1, "a": 2}, [2, 1], {"b": 11, "a": 10}),
    ({2: "b", 1: "a"}, ["a", "b"], {2: 11, 1: 10}),
    ({"b": 1, 3: 2}, [2, 1], {"b": 11, 3: 10}),
    (OrderedDict(b=1, a=2), [2, 1], OrderedDict(b=11, a=10)),
    (
        [0, OrderedDict(b=[1], a=OrderedDict(d=2, c=3)), 4],
        [0, 3, 2, 1, 4],
        [10, OrderedDict(b=[13], a=OrderedDict(d=12, c=11)), 14],
    ),
    (defaultdict(list, b=1, a=2), [2, 1], defaultdict(list, b=11, a=10)),
    (MyDict(b=1, a=(2, 3)), [2, 3, 1], MyDict(b=12, a=(10, 11))),
    (UserDict(b=1, a=2), [2, 1], UserDict(b=11, a=10)),
    (types.MappingProxyType({"b": 1, "a": 2}), [2, 1], types.MappingProxyType({"b": 11, "a": 10})),
    (Point(1, [2]), [1, 2], Point(10, [11])),
    (Layer(1, [2]), [1, 2], Layer(10, [11])),
    (
        [Layer(Layer(1, 2)), {"b": Slotted(3, 4)}],
        [1, 2, None, 3, 4],
        [Layer(Layer(10, 11), 12), {"b": Slotted(13, 14)}],
    ),
    (Frozen(2, 3), [2, 6], filled(Frozen, kernel=10, total=11)),
    (Slotted(1, 2), [1, 2], Slotted(10, 11)),
    (Private((1, 2)), [1, 2], Private((10, 11))),
    (Tagged([1, 2], "t"), [1, 2], Tagged([10, 11], "t")),
    (MyList([1, 2]), [1, 2], MyList([10, 11])),
    (MyTuple([1, 2]), [1, 2], MyTuple([10, 11])),
    (UserList([1, 2]), [1, 2], UserList([10, 11])),
    (deque([1, 2], maxlen=3), [1, 2], deque([10, 11], maxlen=3)),
    (range(2), [0, 1], [10, 11]),
    ({"b": 1, "a": 2}.values(), [1, 2], [10, 11]),
    ({"b": 1, "a": 2}.keys(), ["b", "a"], [10, 11]),
    ({"b": 1}.items(), ["b", 1], [(10, 11)]),
]


@pytest.mark.parametrize(("structure", "leaves", "packed"), STRUCTURES, ids=lambda x: repr(x)[:40])
def test_a_structure_is_taken_apart_and_put_together(structure, leaves, packed):
    assert nest.flatten(structure) == leaves
    assert nest.flatten([structure, (0,)]) == [*leaves, 0]
    again = nest.pack_sequence_as(structure, list(range(10, 10 + len(leaves))))
    assert again == packed
    assert type(again) is type(packed)
    if isinstance(packed, (dict, OrderedDict)):
        assert list(again) == list(packed)


LEAVES = [
    7,
    2.5,
    1j,
    True,
    None,
    "text",
    b"bytes",
    bytearray(b"bytes"),
    memoryview(b"bytes"),
    np.zeros((2, 3)),
    np.float32(1),
    TensorShape([2, 3]),
    TensorShape(None),
    {1, 2},
    frozenset({1}),
    iter([1, 2]),
    (n for n in (1, 2)),
    slice(1, 2),
    object(),
    types.SimpleNamespace(a=1),
    Layer,
    list,
    len,
    ArrayLike([1, 2]),
]


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("around", [lambda x: x, lambda x: [x], lambda x: {"a": (x,)}])
def test_a_leaf_stays_whole(leaf, around):
    (found,) = nest.flatten(around(leaf))
    assert found is leaf
    assert not nest.is_nested(leaf)


@pytest.mark.parametrize("structure", [s for s, leaves, _ in STRUCTURES if leaves != [s]], ids=repr)
def test_a_structure_is_nested_even_when_empty(structure):
    assert nest.is_nested(structure)


def test_default_factories_survive():
    assert nest.pack_sequence_as(defaultdict(list, a=1), [2]).default_factory is list


def test_objects_are_put_together_without_their_init():
    packed = nest.pack_sequence_as([Slotted(1, 2)], ["kernel", None])[0]
    assert type(packed) is Slotted
    assert (packed.kernel, packed.bias) == ("kernel", None)  # the validator of bias would refuse None


def test_flatten_and_pack_give_new_lists():
    structure, items = [1, 2], [3, 4]
    assert nest.flatten(structure) is not structure
    assert nest.pack_sequence_as(structure, items) is not items


def test_packed_leaves_may_be_structures_themselves():
    assert nest.pack_sequence_as({"a": 0, "b": 0}, [[1, 2], None]) == {"a": [1, 2], "b": None}


@pytest.mark.parametrize("items", [[3, 4], (3, 4), deque([3, 4]), UserList([3, 4]), range(3, 5), Point(3, 4)])
def test_any_sequence_can_be_packed(items):
    assert nest.pack_sequence_as([0, 0], items) == [3, 4]
    assert nest.pack_sequence_as({"a": [0], "b": 0}, items) == {"a": [3], "b": 4}


@pytest.mark.parametrize(
    "items",
    [1, None, "ab", {1, 2}, {"a": 1, "b": 2}, iter([1, 2]), np.array([1, 2])],
    ids=lambda x: type(x).__name__,
)
def test_what_is_no_sequence_is_not_packed(items):
    with pytest.raises(
        TypeError, match="flat_sequence must be a list or a tuple, with one item for each leaf"
    ) as info:
        nest.pack_sequence_as([0, 0], items)
    assert type(items).__name__ in str(info.value)


@pytest.mark.parametrize(
    ("structure", "items", "message"),
    [
        ([0, 0], [1], r"\(list\) has 2 leaves and flat_sequence 1 items"),
        ((0, 0), [1, 2, 3], r"\(tuple\) has 2 leaves and flat_sequence 3 items"),
        ({"a": [0, 0]}, [], r"\(dict\) has 2 leaves and flat_sequence 0 items"),
        ([], [1], r"\(list\) has 0 leaves and flat_sequence 1 items"),
        (5, [1, 2], r"\(int\) has 1 leaves and flat_sequence 2 items"),
    ],
)
def test_one_item_for_each_leaf_is_needed(structure, items, message):
    with pytest.raises(ValueError, match=message + "; one item for each leaf is needed"):
        nest.pack_sequence_as(structure, items)


@pytest.mark.parametrize(
    ("structures", "options", "expected"),
    [
        ([1, 2], {}, 3),
        ([[1, (2,)], [3, (4,)]], {}, [4, (6,)]),
        ([[1, (2,)], [3, [4]]], {"check_types": False}, [4, (6,)]),
        ([{"a": 1, "b": 2}, OrderedDict(b=10, a=20)], {}, {"a": 21, "b": 12}),
        ([OrderedDict(b=10, a=20), {"a": 1, "b": 2}], {}, OrderedDict(b=12, a=21)),
        ([Layer(1, [2]), Layer(3, [4])], {}, Layer(4, [6])),
        ([[1], [2], [3]], {"expand_composites": True}, [6]),
        ([[], []], {}, []),
    ],
)
def test_a_function_is_mapped_over_leaves_in_the_same_place(structures, options, expected):
    assert nest.map_structure(lambda *leaves: sum(leaves), *structures, **options) == expected


def test_none_is_a_leaf_to_map_over():
    assert nest.map_structure(lambda x: x is None, {"a": [None, 1]}) == {"a": [True, False]}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, [1]), TypeError, "func must be callable; got 3"),
        ((max,), ValueError, "at least one structure is needed"),
        ((max, [1, 2], [1]), ValueError, "2 items in the first, 1 in the second"),
        ((max, [1], [1], (1,)), TypeError, "list in the first, tuple in the second"),
    ],
)
def test_a_map_that_cannot_be_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        nest.map_structure(*arguments)


Twin = collections.namedtuple("Point", "x y")

SAME = [
    (1, "a"),
    (None, np.zeros(2)),
    ([1, 2], ["a", None]),
    ({"b": 1, "a": [2]}, {"a": [1], "b": 2}),
    ({"b": 1, "a": 2}, OrderedDict(a=1, b=2)),
    (OrderedDict(b=[1], a=2), OrderedDict(a=1, b=[2])),
    ({"a": 1}, defaultdict(int, a=1)),
    ({"a": 1}, MyDict(a=1)),
    (UserDict(a=1), {"a": 1}),
    ([(1,)], MyList([(1,)])),
    (Point(1, 2), Twin(1, 2)),
    (Layer(1, (2,)), Layer("a", (None,))),
    (Tagged(1, "t"), Tagged(1, "u")),
]

# Different in type or in keys alone: ( ..., error, message).
DIFFERENT_TYPES = [
    (
        [1, 2],
        (3, 4),
        TypeError,
        "differ at the top: list in the first, tuple in the second; check_types=False",
    ),
    ([], (), TypeError, "list in the first, tuple in the second"),
    ({"a": [1, (2,)]}, {"a": [1, [2]]}, TypeError, r"differ at \['a'\]\[1\]: tuple in the first"),
    (Point(1, 2), (1, 2), TypeError, "Point in the first, tuple in the second"),
    (Point(1, 2), Other(1, 2), TypeError, "Point in the first, Other in the second"),
    ((1,), MyTuple([1]), TypeError, "tuple in the first, MyTuple in the second"),
    ([1], deque([1]), TypeError, "list in the first, deque in the second"),
    ([0], range(1), TypeError, "list in the first, range in the second"),
    ([1, 2], {"a": 1, "b": 2}, TypeError, "list in the first, dict in the second"),
    ([Layer((1,))], [Layer([1])], TypeError, r"differ at \[0\]\.kernel: tuple in the first"),
    (Layer(1, 2), Slotted(1, 2), TypeError, "Layer in the first, Slotted in the second"),
    ({"a": 1}, {"b": 1}, ValueError, r"the keys \['a'\] in the first, \['b'\] in the second"),
    ([{"a": 1}], [OrderedDict(b=1)], ValueError, r"differ at \[0\]: the keys"),
]

DIFFERENT = [
    ([1, 2], [3], ValueError, "differ at the top: 2 items in the first, 1 in the second"),
    ({"a": 1}, {"a": 1, "b": 2}, ValueError, "the keys"),
    (
        [1, 2],
        [3, [4]],
        ValueError,
        r"differ at \[1\]: a leaf \(int\) in the first, a structure \(list\) in the second",
    ),
    ([1], 1, ValueError, r"a structure \(list\) in the first, a leaf \(int\) in the second"),
    (1, [1], ValueError, r"a leaf \(int\) in the first, a structure \(list\) in the second"),
    (None, [], ValueError, r"a leaf \(NoneType\) in the first, a structure \(list\) in the second"),
    ([1], np.zeros(1), ValueError, r"a leaf \(ndarray\) in the second"),
    (
        OrderedDict(b=1, a=[2]),
        OrderedDict(a=[3, 4], b=1),
        ValueError,
        r"differ at \['a'\]: 1 items in the first",
    ),
    ((Point(1, (2,)),), (Point(1, ()),), ValueError, r"differ at \[0\]\[1\]: 1 items in the first"),
]


@pytest.mark.parametrize(("a", "b"), SAME, ids=repr)
@pytest.mark.parametrize("check_types", [True, False])
def test_structures_nested_alike_are_the_same(a, b, check_types):
    nest.assert_same_structure(a, b, check_types=check_types)
    nest.assert_same_structure([b], [a], check_types=check_types)


@pytest.mark.parametrize(("a", "b", "error", "message"), DIFFERENT_TYPES + DIFFERENT, ids=repr)
def test_a_difference_is_reported_with_its_place(a, b, error, message):
    with pytest.raises(error, match=message):
        nest.assert_same_structure(a, b)
    with pytest.raises(error):
        nest.assert_same_structure(b, a)


@pytest.mark.parametrize(("a", "b"), [case[:2] for case in DIFFERENT_TYPES], ids=repr)
def test_types_and_keys_may_differ_if_they_are_not_checked(a, b):
    nest.assert_same_structure(a, b, check_types=False)
    nest.assert_same_structure(b, a, check_types=False)


@pytest.mark.parametrize(("a", "b"), [case[:2] for case in DIFFERENT], ids=repr)
def test_nesting_is_checked_even_if_types_are_not(a, b):
    with pytest.raises(ValueError, match="the structures differ at"):
        nest.assert_same_structure(a, b, check_types=False)


def test_a_class_met_by_many_threads_at_once_is_taken_apart_by_all():
    classes = [dataclasses.make_dataclass(f"Made{n}", ["a", "b"]) for n in range(50)]
    together = threading.Barrier(4)
    found = []

    def work():
        together.wait()
        found.append([nest.flatten([cls(1, [2])]) for cls in classes])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[[1, 2]] * 50] * 4


def test_optree_is_imported_only_for_nested_structures():
    program = """
import sys
from gradtape import nest
assert nest.flatten([1, None, "a", object()])[:2] == [1, None]
assert nest.flatten(5) == [5]
assert nest.pack_sequence_as((1, 2), [3, 4]) == (3, 4)
assert nest.pack_sequence_as(5, [6]) == 6
assert nest.map_structure(max, [1, 5], [4, 2]) == [4, 5]
assert nest.map_structure(max, 1, 2) == 2
assert "optree" not in sys.modules
assert nest.flatten([[1]]) == [1]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
