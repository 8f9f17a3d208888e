"""tf.lookup: tables from keys to values."""

import gc

import numpy as np
import pytest

import gradtape as tf

L = tf.lookup


def static(keys, values, default=-1, **dtypes):
    return L.StaticHashTable(L.KeyValueTensorInitializer(keys, values, **dtypes), default)


def test_a_static_table_looks_up_strings():
    table = static(["a", "b"], [3, 4])
    assert (table.key_dtype, table.value_dtype, int(table.default_value)) == (tf.string, tf.int32, -1)
    assert table.lookup(tf.constant([["a"], ["z"]])).numpy().tolist() == [[3], [-1]]
    assert table[tf.constant("b")].numpy() == 4
    assert table.size().dtype == tf.int64
    keys, values = table.export()
    assert dict(zip(keys.numpy(), values.numpy(), strict=True)) == {b"a": 3, b"b": 4}


def test_a_table_of_strings_by_numbers_and_an_empty_one():
    table = static([1, 2], ["one", "two"], "?", key_dtype="int64")
    assert table.lookup(tf.constant([2, 5], tf.int64)).numpy().tolist() == [b"two", b"?"]
    empty = static(tf.zeros([0], tf.string), tf.zeros([0], tf.int64), 7)
    assert empty.lookup(["a"]).numpy() == 7
    assert empty.export()[0].shape == [0]


def test_sparse_keys_are_looked_up_at_their_places():
    table = static(["a", "b"], [3, 4])
    found = table.lookup(tf.SparseTensor([[0, 1], [1, 0]], ["b", "z"], [2, 2]))
    assert found.values.numpy().tolist() == [4, -1]
    assert found.indices.numpy().tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("values", [[10, 20, 30], [0.5, 1.5, 2.5]])
def test_a_static_table_of_numbers_is_compiled(values):
    table = static([7, -2, 5], values)
    keys = tf.constant([[5, 6, -2], [7, -9, 99]])
    traced = []

    @tf.function
    def look(keys):
        traced.append(keys)
        return table.lookup(keys)

    for _ in range(2):
        np.testing.assert_array_equal(look(keys), table.lookup(keys))
    assert len(traced) == 1
    empty = static(tf.zeros([0], tf.int32), tf.zeros([0], tf.float32), 9.0)
    assert tf.function(empty.lookup)(keys).numpy().tolist() == [[9.0] * 3] * 2


def test_strings_are_looked_up_in_a_function():
    table = static(["a", "b"], [3, 4])
    look = tf.function(lambda words: table.lookup(words) + 1)
    for words, wanted in ((["a", "z"], [4, 0]), (["b", "b"], [5, 5])):
        assert look(tf.constant(words)).numpy().tolist() == wanted


def test_keys_with_two_values_and_other_mistakes():
    with pytest.raises(tf.errors.FailedPreconditionError, match="two values, 3 and 4"):
        static(["a", "a"], [3, 4])
    assert int(static(["a", "a"], [3, 3]).size()) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"shape \[2\], not \[1\]"):
        static(["a", "b"], [3])
    with pytest.raises(TypeError, match="keys must be string, not int32"):
        static(["a"], [1]).lookup(tf.constant([1]))
    with pytest.raises(ValueError, match="one value"):
        static(["a"], [1], [1, 2])
    with pytest.raises(TypeError, match="initializer must be"):
        L.StaticHashTable(3, -1)


# Values of TensorFlow 2.21.
def test_words_outside_of_a_vocabulary_go_to_the_buckets_of_their_hashes():
    words = L.KeyValueTensorInitializer(["a", "b"], np.array([0, 1]))
    table = L.StaticVocabularyTable(words, 3)
    found = table.lookup(["a", "x", "y", "zzz"]).numpy()
    assert found[0] == 0
    assert ((found[1:] >= 2) & (found[1:] < 5)).all()
    assert int(table.size()) == 5
    numbers = L.KeyValueTensorInitializer(np.array([5, 6]), np.array([0, 1]))
    assert L.StaticVocabularyTable(numbers, 3).lookup(tf.constant([5, 7, 8, -3], tf.int64)).numpy().tolist() == [
        0, 3, 3, 2,
    ]  # fmt: skip
    small = L.StaticVocabularyTable(numbers, 3, lookup_key_dtype=tf.int32)
    assert small.lookup(tf.constant([5, 7, 8, -3])).numpy().tolist() == [0, 3, 3, 2]
    buckets = L.StaticVocabularyTable(None, 4)
    assert buckets.lookup(["a"]).numpy().tolist() == [3]
    with pytest.raises(ValueError, match="StaticHashTable"):
        L.StaticVocabularyTable(words, 0)
    with pytest.raises(TypeError, match="int32"):
        L.StaticVocabularyTable(L.KeyValueTensorInitializer(["a"], [0]), 1)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a 10\nb 20\nc 30\n")
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("string", 0, "int64", 1), {b"a": 10, b"b": 20, b"c": 30}),
        (("string", -2, "int64", -1, None, " ", None, 2), {b"a 10": 2, b"b 20": 3, b"c 30": 4}),
        (("int64", -1, "string", -2, 2), {0: b"a 10", 1: b"b 20"}),
        (("int64", 1, "string", 0), {10: b"a", 20: b"b", 30: b"c"}),
    ],
)
def test_a_table_from_a_file(file, arguments, wanted):
    arguments = (*arguments, *(None, " ")[len(arguments) - 4 :]) if len(arguments) < 6 else arguments
    initializer = L.TextFileInitializer(file, *arguments)
    keys, values = L.StaticHashTable(initializer, "?" if arguments[2] == "string" else -1).export()
    assert dict(zip(keys.numpy(), values.numpy(), strict=True)) == wanted


def test_mistakes_about_a_file(file):
    with pytest.raises(tf.errors.NotFoundError):
        L.StaticHashTable(L.TextFileInitializer(file + "x", "int64", -1, "string", -2), "?")
    with pytest.raises(tf.errors.InvalidArgumentError, match="columns"):
        L.StaticHashTable(L.TextFileInitializer(file, "string", 0, "int64", 5), 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="vocab_size"):
        L.StaticHashTable(L.TextFileInitializer(file, "int64", -1, "string", -2, vocab_size=7), "?")
    with pytest.raises(tf.errors.InvalidArgumentError, match="no int64"):
        L.StaticHashTable(L.TextFileInitializer(file, "string", 0, "int64", 0), 1)
    for bad in (("string", -1), ("int64", -3)):
        with pytest.raises(ValueError, match="key_"):
            L.TextFileInitializer(file, *bad, "string", -2)


# ---------------------------------------------------------------------------------------------------------------------
# Tables that change


def test_a_mutable_table():
    table = L.experimental.MutableHashTable("string", "int64", -1)
    table.insert(["a", "b"], [1, 2])
    table.insert("b", 5)
    assert table.lookup(["a", "b", "z"]).numpy().tolist() == [1, 5, -1]
    defaults = tf.constant([7, 8], tf.int64)
    assert table.lookup(["b", "z"], dynamic_default_values=defaults).numpy().tolist() == [5, 8]
    assert table.lookup(["b", "z"], 9).numpy().tolist() == [5, 9]
    table.remove(["a", "q"])
    assert int(table.size()) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        table.insert(["a", "b"], [1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="dynamic_default_values"):
        table.lookup(["a", "b", "c"], [1, 2])


def test_values_may_be_vectors():
    table = L.experimental.MutableHashTable("int64", "float32", [0.0, 0.5])
    table.insert([1, 2], [[1.0, 2.0], [3.0, 4.0]])
    assert table.lookup([[1, 9]]).numpy().tolist() == [[[1.0, 2.0], [0.0, 0.5]]]
    assert table.export()[1].numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    table.remove([1, 2])
    assert table.export()[1].shape == [0, 2]


def test_a_function_sees_a_mutable_table_as_it_is():
    table = L.experimental.MutableHashTable("int64", "int64", -1)

    @tf.function
    def count(keys):
        table.insert(keys, table.lookup(keys) + 1)
        return table.lookup(keys)

    keys = tf.constant([4, 5], tf.int64)
    assert [count(keys).numpy().tolist() for _ in range(3)] == [[0, 0], [1, 1], [2, 2]]


def test_the_reserved_keys_of_a_dense_table():
    table = L.experimental.DenseHashTable("int64", "int64", -1, empty_key=0, deleted_key=-1)
    table.insert_or_assign([1, 2], [3, 4])
    table.erase([2])
    assert table.lookup([1, 2]).numpy().tolist() == [3, -1]
    for use in (lambda: table.insert([0], [1]), lambda: table.lookup([-1]), lambda: table.remove([0])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="_key"):
            use()
    with pytest.raises(tf.errors.InvalidArgumentError, match="differ"):
        L.experimental.DenseHashTable("int64", "int64", -1, empty_key=0, deleted_key=0)


@pytest.mark.parametrize(
    ("dtypes", "default", "keys", "values"),
    [
        (("string", "int64"), -1, [b"a", b"\xff"], [1, 2]),
        (("int64", "string"), "", [1, -2], [b"x", b"\xc3"]),
        (("int64", "float32"), [0.0, 0.0], [1, 2], [[1.0, 2.0], [3.0, 0.1]]),
    ],
)
def test_a_checkpoint_saves_a_mutable_table(tmp_path, dtypes, default, keys, values):
    table = L.experimental.MutableHashTable(*dtypes, default)
    table.insert(keys, values)
    path = tf.train.Checkpoint(table=table).save(str(tmp_path / "ckpt"))
    other = L.experimental.MutableHashTable(*dtypes, default)
    other.insert(keys[:1], values[1:])
    tf.train.Checkpoint(table=other).restore(path).assert_consumed()
    np.testing.assert_array_equal(other.lookup(keys), table.lookup(keys))
    forgetful = L.experimental.MutableHashTable(*dtypes, default, checkpoint=False)
    tf.train.Checkpoint(table=forgetful).restore(path)
    assert int(forgetful.size()) == 0


def test_a_resource_is_made_when_it_is_needed_and_destroyed_with_its_object():
    """As in TensorFlow's documentation of TrackableResource."""
    destroyed = []

    class Numbers(tf.saved_model.experimental.TrackableResource):
        def __init__(self):
            super().__init__()
            self._initialize()

        def _create_resource(self):
            return tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2])

        def _initialize(self):
            tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=tf.ones([2]))

        def _destroy_resource(self):
            destroyed.append(tf.raw_ops.DestroyResourceOp(resource=self.resource_handle))

    numbers = Numbers()
    assert numbers.resource_handle is numbers.resource_handle
    assert tf.raw_ops.ReadVariableOp(resource=numbers.resource_handle, dtype=tf.float32).numpy().tolist() == [
        1.0,
        1.0,
    ]
    del numbers
    gc.collect()
    assert len(destroyed) == 1
    with pytest.raises(NotImplementedError, match="_create_resource"):
        _ = tf.saved_model.experimental.TrackableResource().resource_handle
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), 0)
    assert isinstance(table, tf.saved_model.experimental.TrackableResource)
