"""Ragged tensors give what TensorFlow gives (data/make_ragged.py), in gradients and compiled functions as well."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape import errors

from .data.make_ragged import value

EXPECTED = json.loads((Path(__file__).parent / "data" / "ragged.json").read_text())
R = tf.RaggedTensor
ROWS = [[1.0, 2.0], [3.0], [], [4.0, 5.0, 6.0]]


def ragged():
    return tf.ragged.constant(ROWS)


def same(found, expected):
    """Compare nested lists; floats to 1e-5."""
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return found == pytest.approx(expected, rel=1e-5, abs=2e-6, nan_ok=True)
    return found == expected


@pytest.mark.parametrize("expression", EXPECTED)
def test_the_result_is_tensorflows(expression):
    found = value(tf, expression)
    assert same(found, EXPECTED[expression]), f"{found} instead of {EXPECTED[expression]}"


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: R(1, 2), ValueError, "not made by calling"),
        (lambda: R.from_row_splits([1, 2], [0, 1]), errors.InvalidArgumentError, "hold 1 values together"),
        (lambda: R.from_row_splits([1, 2], [1, 2]), errors.InvalidArgumentError, "must start with 0"),
        (lambda: R.from_row_splits([1, 2], [0, 2, 1]), errors.InvalidArgumentError, "must not decrease"),
        (lambda: R.from_row_splits(3, [0]), errors.InvalidArgumentError, "this is a scalar"),
        (lambda: R.from_row_splits([1], [0.0, 1.0]), ValueError, "vector of int32 or int64"),
        (lambda: R.from_value_rowids([1, 2], [1, 0]), errors.InvalidArgumentError, "not decrease"),
        (lambda: R.from_uniform_row_length([1, 2, 3], 2), ValueError, "do not hold 3 values"),
        (lambda: tf.ragged.constant([[1, 2], [[3]]]), ValueError, "same depth"),
        (lambda: tf.ragged.range(1, 2, 0), errors.InvalidArgumentError, "must not be 0"),
        (lambda: ragged()[7], IndexError, "out of bounds"),
        (lambda: ragged()[:, 0], ValueError, "ragged axis"),
        (lambda: ragged()["a"], TypeError, "indexed by integers"),
        (lambda: ragged() + ragged()[:2], errors.InvalidArgumentError, "do not broadcast"),
        (lambda: ragged() + ragged()[::-1], errors.InvalidArgumentError, "rows of the ragged tensors differ"),
        (lambda: tf.add(ragged(), [1.0, 2.0]), errors.InvalidArgumentError, "differ"),
        (lambda: ragged() + tf.cast(ragged(), "int32"), TypeError, "float32 and int32"),
        (lambda: tf.reduce_sum(ragged(), 5), ValueError, "no axis 5"),
        (lambda: tf.matmul(ragged(), ragged()), ValueError, "RaggedTensor was given .* x.to_tensor\\(\\)"),
        (lambda: tf.convert_to_tensor(ragged()), ValueError, "RaggedTensor was given"),
        (lambda: tf.constant(ragged()), ValueError, "RaggedTensor was given"),
        (lambda: bool(ragged()), TypeError, "neither true nor false"),
        (lambda: hash(ragged()), TypeError, "unhashable"),
        (lambda: tf.gather(ragged(), [4]), errors.InvalidArgumentError, "index 4 is out of bounds"),
        (lambda: tf.concat([ragged(), ragged()[:1]], 1), errors.InvalidArgumentError, "cannot be joined"),
        (lambda: ragged().to_tensor(shape=[1]), ValueError, "shape of 1 lengths"),
        (lambda: ragged().with_values([1.0]), ValueError, "do not fit rows"),
        (lambda: tf.squeeze(ragged()), ValueError, "which axis"),
        (lambda: tf.shape(ragged())[1], ValueError, "axis 1 is ragged"),
        (lambda: tf.shape(ragged())[2], IndexError, "no axis 2"),
        (lambda: tf.strings.split([1]), TypeError, "takes strings, not int32"),
        (lambda: tf.strings.ngrams("a", 2), ValueError, "one string"),
        (lambda: tf.strings.unicode_decode("a", "klingon"), ValueError, "no encoding 'klingon'"),
    ],
)
def test_what_is_wrong_is_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_gradients_flow_through_flat_values():
    x = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        rows = R.from_row_splits(x, [0, 2, 3, 3, 6])
        squares = tf.reduce_sum(tf.reduce_sum(rows * rows, 1) * [1.0, 10.0, 5.0, 100.0])
        part = tf.reduce_sum(tf.gather(rows, [3, 3, 0])[:, 1:])
        padded = tf.reduce_sum(rows.to_tensor(7.0) * tf.constant([[1.0, 2.0, 3.0]]))
        largest = tf.reduce_sum(tf.reduce_max(rows[:2], 1))
        spread = tf.reduce_sum(rows * tf.constant([[1.0], [2.0], [3.0], [4.0]]))
    assert tape.gradient(squares, x).numpy().tolist() == [2.0, 4.0, 60.0, 800.0, 1000.0, 1200.0]
    assert tf.convert_to_tensor(tape.gradient(part, x)).numpy().tolist() == [0.0, 1.0, 0.0, 0.0, 2.0, 2.0]
    assert tf.convert_to_tensor(tape.gradient(padded, x)).numpy().tolist() == [1.0, 2.0, 1.0, 1.0, 2.0, 3.0]
    assert tf.convert_to_tensor(tape.gradient(largest, x)).numpy().tolist() == [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert tape.gradient(spread, x).numpy().tolist() == [1.0, 1.0, 2.0, 4.0, 4.0, 4.0]


def test_an_embedding_of_ragged_ids_has_a_gradient():
    table = tf.Variable(np.ones((4, 2), np.float32))
    with tf.GradientTape() as tape:
        out = tf.reduce_sum(tf.nn.embedding_lookup(table, tf.ragged.constant([[0, 3], [3]])))
    assert tf.convert_to_tensor(tape.gradient(out, table)).numpy()[:, 0].tolist() == [1.0, 0.0, 0.0, 2.0]


# ---------------------------------------------------------------------------------------------------------------------
# Compiled functions


def test_a_function_takes_and_returns_ragged_tensors():
    traces = []

    @tf.function
    def f(x, factor):
        traces.append(1)
        return {"rows": x * factor, "sums": tf.reduce_sum(x, 1), "spread": x * tf.ones((4, 1))}

    out = f(ragged(), tf.constant(2.0))
    assert out["rows"].to_list() == [[2.0, 4.0], [6.0], [], [8.0, 10.0, 12.0]]
    assert out["sums"].numpy().tolist() == [3.0, 3.0, 0.0, 15.0]
    other = f(R.from_row_lengths(tf.range(6.0), [0, 3, 3, 0]), tf.constant(1.0))
    assert other["rows"].to_list() == other["spread"].to_list() == [[], [0.0, 1.0, 2.0], [3.0, 4.0, 5.0], []]
    assert len(traces) == 1  # the same shapes: one program, whatever the splits


def test_gradients_of_a_function_of_ragged_tensors():
    w = tf.Variable(2.0)

    @tf.function
    def f(x):
        return x * w

    flat = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(flat)
        loss = tf.reduce_sum(f(R.from_row_lengths(flat, [1, 2])) ** 2)
    by_w, by_flat = tape.gradient(loss, [w, flat])
    assert float(by_w) == 56.0
    assert by_flat.numpy().tolist() == [8.0, 16.0, 24.0]


def test_a_shape_that_depends_on_the_rows_runs_eagerly():
    @tf.function
    def f(x):
        return x.to_tensor(), x[1:]

    dense, rest = f(ragged())
    assert dense.shape == (4, 3)
    assert rest.to_list() == ROWS[1:]

    @tf.function(jit_compile=True)
    def fixed(x):
        return x.to_tensor(shape=[None, 3])

    assert fixed(ragged()).numpy().tolist() == ragged().to_tensor().numpy().tolist()


def test_strings_and_sparse_tensors_in_functions():
    assert tf.function(tf.strings.split)(tf.constant(["a b", "c"])).to_list() == [[b"a", b"b"], [b"c"]]
    texts = tf.ragged.constant([["a"], ["b", "cc"]])
    assert tf.function(tf.strings.length)(texts).to_list() == [[1], [1, 2]]

    @tf.function
    def f(x):
        return tf.square(x), tf.sparse.to_dense(x)

    squares, dense = f(tf.sparse.from_dense([[1.0, 0.0], [0.0, 3.0]]))
    assert isinstance(squares, tf.SparseTensor)
    assert squares.values.numpy().tolist() == [1.0, 9.0]
    assert dense.numpy().tolist() == [[1.0, 0.0], [0.0, 3.0]]


def test_input_signatures_and_concrete_functions():
    spec = tf.RaggedTensorSpec([None, None], tf.float32)

    @tf.function(input_signature=[spec])
    def f(x):
        return x + 1.0

    assert f(ragged()[:1]).to_list() == [[2.0, 3.0]]
    with pytest.raises(TypeError, match=r"RaggedTensorSpec.* was asked for"):
        f(tf.constant([1.0]))
    concrete = tf.function(lambda x, y: x * y).get_concrete_function(spec, tf.TensorSpec([]))
    assert concrete(ragged()[:2], tf.constant(2.0)).to_list() == [[2.0, 4.0], [6.0]]
    known = tf.function(lambda x: x).get_concrete_function(ragged())
    assert known.structured_outputs == tf.RaggedTensorSpec([4, None], tf.float32)


# ---------------------------------------------------------------------------------------------------------------------
# Composite tensors


def test_nest_expands_composites():
    structure = {"a": ragged(), "b": [tf.sparse.from_dense([[1.0]]), 1]}
    flat = tf.nest.flatten(structure, expand_composites=True)
    assert len(flat) == 6
    again = tf.nest.pack_sequence_as(structure, flat, expand_composites=True)
    assert again["a"].to_list() == ROWS
    assert isinstance(again["b"][0], tf.SparseTensor)
    specs = tf.nest.flatten(tf.RaggedTensorSpec([4, None]), expand_composites=True)
    assert [spec.dtype for spec in specs] == [tf.float32, tf.int64]
    deep = tf.ragged.constant([[[1.0]]])
    with pytest.raises(ValueError, match="differ"):
        tf.nest.assert_same_structure(ragged(), deep, expand_composites=True)
    with pytest.raises(ValueError, match="consists of 2 tensors"):
        tf.nest.pack_sequence_as(ragged(), [1], expand_composites=True)


def test_a_cast_of_slices_is_slices():
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([1]), (2, 1))
    out = tf.cast(slices, "float64")
    assert isinstance(out, tf.IndexedSlices)
    assert out.dtype == tf.float64


def test_functions_imported_before_know_ragged_tensors_later():
    program = (
        "from gradtape import cast, add, constant\n"
        "import gradtape as tf, inspect, sys\n"
        "before, code = inspect.signature(cast), cast.__code__\n"
        "tf.strings.lower('A')\n"
        "assert cast.__code__ is code and 'gradtape.ops.ragged' not in sys.modules\n"
        "x = tf.ragged.constant([[1], [2, 3]])\n"
        "assert cast(add(x, 1), 'float32').to_list() == [[2.0], [3.0, 4.0]]\n"
        "assert inspect.signature(cast) == before and cast.__code__ is not code\n"
        "assert cast(constant(1), 'float32').dtype == tf.float32 and cast.__doc__\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_printing(capsys):
    tf.print(ragged(), output_stream=sys.stdout)
    tf.print(tf.ragged.constant([[True], []]), tf.ragged.constant([["a"]]), output_stream=sys.stdout)
    shown = capsys.readouterr().out.split("\n")
    assert shown[0] == "[[1.000000, 2.000000], [3.000000], [], [4.000000, 5.000000, 6.000000]]"
    assert shown[1] == "[[true], []] [['a']]"


def test_specs():
    spec = tf.RaggedTensorSpec([2, None], tf.int32)
    assert spec.ragged_rank == 1
    assert spec.row_splits_dtype == tf.int64
    wider = spec.most_specific_compatible_type(tf.RaggedTensorSpec([3, None], tf.int32))
    assert wider == tf.RaggedTensorSpec([None, None], tf.int32)
    assert spec.is_subtype_of(wider)
    assert not wider.is_subtype_of(spec)
    assert not spec.is_subtype_of(tf.RaggedTensorSpec([2, None], tf.float32))
    assert wider.is_compatible_with(tf.ragged.constant([[1], []]))
    assert not wider.is_compatible_with(tf.ragged.constant([[1.0], []]))
    assert tf.RaggedTensorSpec([None], tf.int32, ragged_rank=0).is_compatible_with(tf.constant([1]))
    uniform = R.from_uniform_row_length(ragged(), 2)
    components = tf.nest.flatten(uniform, expand_composites=True)
    assert tf.nest.pack_sequence_as(uniform, components, expand_composites=True).shape == (2, 2, None)


# ---------------------------------------------------------------------------------------------------------------------
# Datasets


def rows_of(dataset):
    return [x.to_list() if isinstance(x, R) else x.numpy().tolist() for x in dataset]


def test_rows_of_ragged_tensors_are_elements():
    dataset = tf.data.Dataset.from_tensor_slices(ragged())
    assert rows_of(dataset) == ROWS
    assert dataset.element_spec == tf.RaggedTensorSpec([None], tf.float32, 0)
    batches = dataset.batch(2)
    assert rows_of(batches) == [ROWS[:2], ROWS[2:]]
    assert batches.element_spec == tf.RaggedTensorSpec([None, None], tf.float32)
    assert rows_of(batches.unbatch()) == ROWS
    assert rows_of(batches.map(lambda x: tf.reduce_sum(x, 1))) == [[3.0, 3.0], [0.0, 15.0]]
    pairs = tf.data.Dataset.from_tensor_slices((ragged(), [1, 2, 3, 4])).shuffle(4).batch(4)
    rows, numbers = next(iter(pairs))
    assert rows.to_list() == [ROWS[n - 1] for n in numbers.numpy()]
    with pytest.raises(errors.InvalidArgumentError, match="as many rows"):
        tf.data.Dataset.from_tensor_slices((ragged(), [1]))


def test_ragged_batches():
    lengths = tf.data.Dataset.range(1, 4)
    assert rows_of(lengths.map(tf.range).ragged_batch(2)) == [[[0], [0, 1]], [[0, 1, 2]]]
    dropped = lengths.map(tf.range).ragged_batch(2, drop_remainder=True, row_splits_dtype="int32")
    assert dropped.element_spec == tf.RaggedTensorSpec([2, None], tf.int64, 1, tf.int32)
    wide = lengths.map(lambda n: tf.ones([2, n])).ragged_batch(3)
    assert rows_of(wide) == [[[[1.0] * n] * 2 for n in (1, 2, 3)]]
    assert rows_of(lengths.ragged_batch(3)) == [[1, 2, 3]]
    words = tf.data.Dataset.from_tensor_slices(["a b", "c"]).batch(2).map(tf.strings.split)
    assert rows_of(words) == [[[b"a", b"b"], [b"c"]]]
    assert words.element_spec == tf.RaggedTensorSpec([None, None], tf.string)


def test_sparse_rows_and_batches():
    dense = [[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]
    dataset = tf.data.Dataset.from_tensor_slices(tf.sparse.from_dense(dense))
    assert [tf.sparse.to_dense(x).numpy().tolist() for x in dataset] == dense
    assert [tf.sparse.to_dense(x).numpy().tolist() for x in dataset.batch(2)] == [dense[:2], dense[2:]]
    backwards = dataset.shuffle(3, seed=1).batch(3)
    assert sorted(tf.sparse.to_dense(next(iter(backwards))).numpy().tolist()) == sorted(dense)
    again = dataset.map(lambda x: x).batch(3)
    assert tf.sparse.to_dense(next(iter(again))).numpy().tolist() == dense


def test_a_generator_of_ragged_tensors():
    make = lambda: iter([ragged()[:1], ragged()[1:]])
    spec = tf.RaggedTensorSpec([None, None], tf.float32)
    assert rows_of(tf.data.Dataset.from_generator(make, output_signature=spec)) == [ROWS[:1], ROWS[1:]]
    with pytest.raises(errors.InvalidArgumentError, match="the signature says"):
        list(tf.data.Dataset.from_generator(lambda: iter([1.0]), output_signature=spec))


# ---------------------------------------------------------------------------------------------------------------------
# As sources and targets of tapes


@pytest.mark.parametrize("function", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_a_tape_watches_ragged_and_sparse_tensors_and_gives_such_gradients(function):
    sources = {
        "ragged": tf.ragged.constant([[1.0, 2.0], [], [3.0]]),
        "sparse": tf.sparse.from_dense([[4.0, 0.0], [0.0, 5.0]]),
        "dense": tf.constant(2.0),
    }

    @function
    def loss(x):
        squares = tf.sparse.map_values(tf.square, x["sparse"])
        return tf.reduce_sum(x["ragged"] ** 2) * x["dense"] + tf.sparse.reduce_sum(squares)

    with tf.GradientTape() as tape:
        tape.watch(sources)
        y = loss(sources)
    gradient = tape.gradient(y, sources)
    assert gradient["ragged"].to_list() == [[4.0, 8.0], [], [12.0]]
    np.testing.assert_array_equal(tf.sparse.to_dense(gradient["sparse"]), [[8.0, 0.0], [0.0, 10.0]])
    assert float(gradient["dense"]) == 14.0


def test_ragged_targets_are_summed_and_weighted_by_ragged_tensors():
    x = tf.Variable(2.0)
    rows = tf.ragged.constant([[1.0, 2.0], [3.0]])
    with tf.GradientTape(persistent=True) as tape:
        y = rows * x * x
        z = tf.sparse.map_values(lambda values: values * x, tf.sparse.from_dense([[0.0, 3.0]]))
    assert float(tape.gradient(y, x)) == 24.0
    assert float(tape.gradient(y, x, tf.ragged.constant([[1.0, 0.0], [10.0]]))) == 124.0
    assert float(tape.gradient([y, z], x)) == 27.0


def test_ragged_sources_in_second_order_and_without_a_path():
    x = tf.ragged.constant([[1.0, 2.0], [3.0]])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x**3)
        first = tape.gradient(y, x)
    assert outer.gradient(first, x).to_list() == [[6.0, 12.0], [18.0]]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = tf.constant(1.0)
    assert tape.gradient(z, x) is None
    assert tape.gradient(z, x, unconnected_gradients="zero").to_list() == [[0.0, 0.0], [0.0]]


def test_other_objects_are_no_sources():
    with tf.GradientTape() as tape, pytest.raises(TypeError, match="a source must be a Tensor or a Variable"):
        tape.watch(tf.experimental.Optional.from_value(1.0))
