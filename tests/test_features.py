"""Features of examples and columns of CSV files: TensorFlow's results, and hostile files."""

import base64
import gzip
import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gradtape as tf
from gradtape import errors
from gradtape.files import example_layouts
from gradtape.files import examples as parsing

from .data.make_features import examples, serialize, tables

EXPECTED = json.loads((Path(__file__).parent / "data" / "features.json").read_text())


def kept(kind):
    return {name: base64.b64decode(text) for name, text in EXPECTED[kind].items()}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    return {**examples(tf, kept("examples"), kept("sequences")), **tables(tf, folder)}


@pytest.mark.parametrize("name", EXPECTED["results"])
def test_results_are_those_of_tensorflow(found, name):
    assert json.loads(json.dumps(found[name])) == EXPECTED["results"][name]


def test_examples_are_written_as_tensorflow_writes_them():
    written, steps = serialize(tf)
    assert written == kept("examples")
    assert steps == kept("sequences")


def test_parsed_in_a_dataset(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for content in kept("examples").values():
            writer.write(content)
    features = {"v": tf.io.VarLenFeature(tf.float32), "s": tf.io.RaggedFeature(tf.string)}
    dataset = tf.data.TFRecordDataset(path).batch(2).map(lambda batch: tf.io.parse_example(batch, features))
    first, second = dataset
    np.testing.assert_array_equal(tf.sparse.to_dense(first["v"]), [[1, 2, 3], [4, 0, 0]])
    assert first["s"].to_list() == [[b"x", b"y"], []]
    assert second["v"].shape == (1, 0)


def test_an_index_outside_of_a_sparse_feature_is_an_error():
    with pytest.raises(errors.InvalidArgumentError, match="'ix' of example 0 is outside of the size 4"):
        tf.io.parse_example([kept("examples")["a"]], {"q": tf.io.SparseFeature("ix", "v", tf.float32, 4)})


@pytest.mark.parametrize(
    "partition",
    [
        tf.io.RaggedFeature.RowLengths("ix"),
        tf.io.RaggedFeature.RowSplits("ix"),
        tf.io.RaggedFeature.RowStarts("ix"),
        tf.io.RaggedFeature.RowLimits("ix"),
        tf.io.RaggedFeature.ValueRowIds("ix"),
        tf.io.RaggedFeature.UniformRowLength(2),
    ],
)
def test_a_partition_that_does_not_fit_is_an_error(partition):
    feature = tf.io.RaggedFeature(tf.float32, "v", [partition])
    with pytest.raises(errors.InvalidArgumentError, match="has 3 values, which"):
        tf.io.parse_example([kept("examples")["a"]], {"z": feature})


@pytest.mark.parametrize(
    "arguments", [{"partitions": 3}, {"partitions": ["splits"]}, {"row_splits_dtype": tf.float32}]
)
def test_ragged_features_are_checked(arguments):
    with pytest.raises(TypeError, match="RaggedFeature"):
        tf.io.RaggedFeature(tf.float32, **arguments)


# ---------------------------------------------------------------------------------------------------------------------
# Hostile contents

DESCRIPTIONS = [
    {"v": tf.io.VarLenFeature(tf.float32)},
    {"s": tf.io.VarLenFeature(tf.string)},
    {"q": tf.io.SparseFeature(["iy", "ix"], "v", tf.float32, [2, 10])},
    {"z": tf.io.RaggedFeature(tf.float32, "v", [tf.io.RaggedFeature.ValueRowIds("rows")])},
    {"z": tf.io.RaggedFeature(tf.float32, "v", [tf.io.RaggedFeature.RowSplits("splits")])},
    {"v": tf.io.FixedLenSequenceFeature([], tf.float32, True)},
]


@given(
    name=st.sampled_from(["a", "b"]),
    at=st.integers(0, 400),
    byte=st.integers(0, 255),
    end=st.integers(0, 400),
    features=st.sampled_from(DESCRIPTIONS),
)
def test_a_damaged_example_is_parsed_or_refused(name, at, byte, end, features):
    content = bytearray(kept("examples")[name])
    content[at % len(content)] = byte
    try:
        tf.io.parse_example([bytes(content[: len(content) - end % 40])], features)
    except errors.InvalidArgumentError as error:
        assert "parse_example" in str(error)


FIXED = {
    "x": tf.io.FixedLenFeature([2], tf.float32),
    "n": tf.io.FixedLenFeature([2, 1], tf.int64, 0),
    "s": tf.io.FixedLenFeature([], tf.string),
}


@st.composite
def fixed_example(draw):
    """An Example with the features of FIXED, or nearly so, and perhaps with others; perhaps damaged."""
    whole = st.integers(0, 127) | st.integers(-(2**63), 2**63 - 1)
    example = tf.train.Example()
    values = example.features.feature
    names = draw(st.permutations(["x", "n", "s", *draw(st.sampled_from([[], ["other"]]))]))
    for name in names[: draw(st.sampled_from([4, 4, 4, 4, 3, 2]))]:
        count = 2 if draw(st.integers(0, 9)) else 3
        if name == "x":
            values[name].float_list.value.extend(
                draw(st.lists(st.floats(width=32), min_size=count, max_size=count))
            )
        elif name == "s":
            values[name].bytes_list.value.extend([draw(st.binary(max_size=2))] * (count - 1))
        else:
            values[name].int64_list.value.extend(draw(st.lists(whole, min_size=count, max_size=count)))
    content = bytearray(example.SerializeToString())
    if not draw(st.integers(0, 9)):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    return bytes(content)


def parsed_or_refused(contents):
    try:
        found = tf.io.parse_example(contents, FIXED)
    except errors.InvalidArgumentError as error:
        return str(error)
    return {name: (t.dtype, t.shape, t.numpy().tolist()) for name, t in found.items()}


@settings(max_examples=200, deadline=None)
@given(st.lists(fixed_example(), min_size=1, max_size=6), st.integers(0, 5))
def test_examples_that_are_cut_by_their_layout_are_those_that_protobuf_parses(contents, again):
    contents = [*contents, contents[again % len(contents)]]
    layouts = example_layouts.Layouts({"x": (2, (2,)), "n": (3, (2, 1)), "s": (1, ())})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "layouts_for", lambda features: None)
        expected = parsed_or_refused(contents)
        patch.setattr(parsing, "layouts_for", lambda features: layouts)
        assert repr(parsed_or_refused(contents)) == repr(expected)
        for content in contents:
            single = repr(parsed_or_refused([content]))
            patch.setattr(parsing, "layouts_for", lambda features: None)
            assert single == repr(parsed_or_refused([content]))
            patch.setattr(parsing, "layouts_for", lambda features: layouts)


def test_most_examples_of_a_file_are_cut_by_a_layout(monkeypatch):
    def message(number):
        example = tf.train.Example()
        example.features.feature["x"].float_list.value.extend([number, 1.0])
        example.features.feature["n"].int64_list.value.extend([number, -number])
        example.features.feature["s"].bytes_list.value.append(b"%04d" % number)
        return example.SerializeToString()

    contents = [message(number) for number in range(1, 1001)]
    monkeypatch.setattr(parsing, "_parsed", None)  # messages are not parsed
    found = tf.io.parse_example(contents, FIXED)
    assert found["n"].numpy()[:, :, 0].tolist() == [[n, -n] for n in range(1, 1001)]
    assert found["s"].numpy().tolist() == [b"%04d" % n for n in range(1, 1001)]
    single = tf.io.parse_single_example(contents[299], FIXED)
    assert single["x"].numpy().tolist() == [300.0, 1.0]
    assert single["n"].shape == (2, 1)
    assert single["s"].numpy() == b"0300"


@given(at=st.integers(0, 400), byte=st.integers(0, 255), ragged=st.booleans())
def test_a_damaged_sequence_is_parsed_or_refused(at, byte, ragged):
    content = bytearray(kept("sequences")["a"])
    content[at % len(content)] = byte
    kind = tf.io.RaggedFeature if ragged else tf.io.VarLenFeature
    try:
        tf.io.parse_sequence_example([bytes(content)], None, {"y": kind(tf.int64)})
    except errors.InvalidArgumentError as error:
        assert "parse_sequence_example" in str(error)


def test_rows_that_no_memory_holds_are_refused():
    example = tf.train.Example()
    example.features.feature["v"].float_list.value.append(1.0)
    example.features.feature["rows"].int64_list.value.append(2**60)
    with pytest.raises(errors.ResourceExhaustedError):
        tf.io.parse_example([example.SerializeToString()], DESCRIPTIONS[3])


COMPRESSED = {"": lambda data: data, "GZIP": gzip.compress, "ZLIB": zlib.compress}
IN_A_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@IN_A_FOLDER
@given(data=st.binary(max_size=200), kind=st.sampled_from(list(COMPRESSED)))
def test_lines_are_those_that_were_written(tmp_path, data, kind):
    path = tmp_path / "lines"
    path.write_bytes(COMPRESSED[kind](data))
    lines = [line.numpy() for line in tf.data.TextLineDataset(str(path), kind)]
    expected = [line.removesuffix(b"\r") for line in data.split(b"\n")]
    assert lines == (expected if not data.endswith(b"\n") and data else expected[:-1])


@IN_A_FOLDER
@given(
    data=st.binary(max_size=60),
    length=st.integers(1, 9),
    header=st.integers(0, 5),
    footer=st.integers(0, 5),
    kind=st.sampled_from(list(COMPRESSED)),
)
def test_records_of_one_length(tmp_path, data, length, header, footer, kind):
    path = tmp_path / "records"
    path.write_bytes(COMPRESSED[kind](data))
    dataset = tf.data.FixedLengthRecordDataset(str(path), length, header, footer, compression_type=kind)
    body = data[header : len(data) - footer]
    if len(data) < header + footer or len(body) % length:
        with pytest.raises(errors.InvalidArgumentError, match="bytes, which are not"):
            list(dataset)
    else:
        assert [r.numpy() for r in dataset] == [body[i : i + length] for i in range(0, len(body), length)]


@IN_A_FOLDER
@given(data=st.binary(max_size=100), cut=st.integers(1, 30), kind=st.sampled_from(["GZIP", "ZLIB"]))
def test_compressed_data_that_breaks_off(tmp_path, data, cut, kind):
    path = tmp_path / "damaged"
    path.write_bytes(COMPRESSED[kind](data)[:-cut])
    readers = [
        lambda: tf.data.TextLineDataset(str(path), kind),
        lambda: tf.data.FixedLengthRecordDataset(str(path), 1, compression_type=kind),
        lambda: tf.data.experimental.CsvDataset(str(path), [""], kind),
    ]
    for reader in readers:
        try:
            list(reader())
        except (errors.DataLossError, errors.InvalidArgumentError):
            continue
        assert not path.read_bytes()  # nothing is left, which counts as an empty file


@IN_A_FOLDER
@given(
    rows=st.lists(
        st.tuples(
            st.text(alphabet=st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=8),
            st.integers(-(2**31), 2**31 - 1),
        ),
        max_size=5,
    )
)
def test_csv_gives_back_what_was_written(tmp_path, rows):
    path = tmp_path / "a.csv"
    lines = ['"' + text.replace('"', '""') + f'",{number}\n' for text, number in rows]
    path.write_bytes("".join(lines).encode())
    found = [(a.numpy().decode(), int(b)) for a, b in tf.data.experimental.CsvDataset(str(path), ["", 0])]
    assert found == rows


@IN_A_FOLDER
@given(data=st.binary(max_size=80))
def test_any_bytes_are_csv_or_refused(tmp_path, data):
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    try:
        list(tf.data.experimental.CsvDataset(str(path), ["", 0], na_value="NA"))
    except errors.InvalidArgumentError as error:
        assert "CsvDataset" in str(error)


@pytest.mark.parametrize("arguments", [(0,), (-1,), (1, -1), (1, 0, -1)])
def test_lengths_of_records_are_checked(arguments):
    with pytest.raises(errors.InvalidArgumentError, match="record_bytes must be above 0"):
        tf.data.FixedLengthRecordDataset("a", *arguments)


def test_rows_with_errors_are_left_out_if_wanted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,2\n3\n"x"y,4\n5,6\n')
    batches = tf.data.experimental.make_csv_dataset(
        str(path), 1, column_defaults=[0, 0], num_epochs=1, shuffle=False, ignore_errors=True
    )
    assert [(int(b["a"][0]), int(b["b"][0])) for b in batches] == [(1, 2), (5, 6)]


def test_files_are_read_in_turn(tmp_path):
    for name, start in (("a.csv", 0), ("b.csv", 10)):
        (tmp_path / name).write_text("n\n" + "".join(f"{start + i}\n" for i in range(3)))
    batches = tf.data.experimental.make_csv_dataset(
        str(tmp_path / "*.csv"), 6, num_epochs=1, shuffle=False, num_parallel_reads=2
    )
    assert next(iter(batches))["n"].numpy().tolist() == [0, 10, 1, 11, 2, 12]


def test_shuffled_rows_are_all_there_and_seeded(tmp_path):
    (tmp_path / "a.csv").write_text("n\n" + "".join(f"{i}\n" for i in range(50)))

    def order(seed):
        dataset = tf.data.experimental.make_csv_dataset(
            str(tmp_path / "a.csv"), 50, num_epochs=1, shuffle_seed=seed
        )
        return next(iter(dataset))["n"].numpy().tolist()

    assert sorted(order(1)) == list(range(50)) and order(1) == order(1) != order(2)


def test_batches_of_features(tmp_path):
    for part in range(2):
        with tf.io.TFRecordWriter(str(tmp_path / f"{part}.tfrecord")) as writer:
            for n in range(3):
                example = tf.train.Example()
                example.features.feature["x"].float_list.value.extend([part, n])
                example.features.feature["y"].int64_list.value.append(3 * part + n)
                writer.write(example.SerializeToString())
    wanted = {"x": tf.io.FixedLenFeature([2], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}
    make, pattern = tf.data.experimental.make_batched_features_dataset, str(tmp_path / "*.tfrecord")
    dataset = make(pattern, 4, wanted, label_key="y", num_epochs=1, shuffle=False)
    (first, labels), (last, rest) = dataset
    assert (labels.numpy().tolist(), rest.numpy().tolist()) == ([0, 1, 2, 3], [4, 5])
    assert first["x"].numpy().tolist() == [[0, 0], [0, 1], [0, 2], [1, 0]]
    assert set(first) == set(last) == {"x"}
    assert [len(b["y"]) for b in make(pattern, 4, wanted, num_epochs=1, drop_final_batch=True)] == [4]
    again = [batch["y"].numpy() for batch in make(pattern, 4, wanted, shuffle_seed=1).take(3)]
    assert sorted(np.concatenate(again).tolist()) == sorted([*range(6)] * 2)
    with pytest.raises(ValueError, match="label_key"):
        make(pattern, 4, wanted, label_key="z")
    with pytest.raises(ValueError, match="no file"):
        make(str(tmp_path / "none*"), 4, wanted)


def test_a_single_string_is_a_tensor_like_any_other():
    example = tf.train.Example()
    example.features.feature["name"].bytes_list.value.append(b"cat")
    parsed = tf.io.parse_single_example(
        example.SerializeToString(), {"name": tf.io.FixedLenFeature([], tf.string)}
    )
    assert parsed["name"].numpy() == b"cat"
    assert tf.strings.length(parsed["name"]).numpy() == 3
