"""Readers of files that lie: damaged bytes, huge declared sizes, decompression bombs, and paths out of the folder.

Each reader answers with a value or with an error of TensorFlow's, in bounded memory. Other readers are in test_files.py
(records, images, sound, tensors), test_features.py (examples, lines, CSV, records of one length), test_checkpoint.py,
test_dataset_cache.py and test_saved_model.py.
"""

import contextlib
import gzip
import io
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gradtape as tf
from gradtape.core import storage
from gradtape.files import encoding, streams
from gradtape.train import files, parts

errors = tf.errors
FEW = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
REFUSED = (errors.InvalidArgumentError, errors.ResourceExhaustedError, errors.DataLossError)


def picture(kind, **options):
    from PIL import Image

    y, x = np.mgrid[:12, :16]
    pixels = np.stack([16 * x, 20 * y, 255 - 16 * x], -1).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **options)
    return buffer.getvalue()


def damaged(data, draw):
    """These bytes with some changed, and perhaps cut off."""
    made = bytearray(data)
    place = st.integers(0, 1 << 16)  # whatever the length, which may differ from run to run
    for _ in range(draw(st.integers(0, 4))):
        made[draw(place) % len(made)] ^= draw(st.integers(1, 255))
    return bytes(made[: draw(place) % len(made)] if draw(st.booleans()) else made)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@FEW
@given(st.sampled_from(["BMP", "GIF", "JPEG", "PNG", "WEBP"]), st.data())
def test_a_damaged_picture_is_an_error_or_a_picture(kind, data):
    contents = damaged(picture(kind), data.draw)
    for decode in (tf.io.decode_image, getattr(tf.io, f"decode_{kind.lower()}")):
        try:
            assert decode(contents).dtype is tf.uint8
        except REFUSED:
            continue


def with_size(contents, kind, size):
    """A picture whose header says that both its sides are that long."""
    if kind == "GIF":
        side = struct.pack("<H", size)
        return contents[:6] + side + side + contents[10:]
    if kind == "BMP":
        side = struct.pack("<i", size)
        return contents[:18] + side + side + contents[26:]
    at = contents.index(b"\xff\xc0")  # the frame of a JPEG: length, precision, height, width
    side = struct.pack(">H", size)
    return contents[: at + 5] + side + side + contents[at + 9 :]


@pytest.mark.parametrize(
    ("kind", "size"), [("BMP", 2**31 - 1), ("BMP", 60_000), ("GIF", 65535), ("JPEG", 65000)]
)
def test_a_picture_that_claims_to_be_huge_is_refused_before_it_is_decoded(kind, size, monkeypatch):
    from gradtape.ops import known

    monkeypatch.setattr(known, "available", lambda: 1 << 30)
    contents = with_size(picture(kind), kind, size)
    tracemalloc.start()
    try:
        with pytest.raises(REFUSED):
            tf.io.decode_image(contents)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


def test_a_string_that_decompresses_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(encoding, "_MOST", 1 << 16)
    bomb = gzip.compress(bytes(1 << 24))
    tracemalloc.start()
    try:
        with pytest.raises(errors.InvalidArgumentError, match="too large"):
            tf.io.decode_compressed(bomb, "GZIP")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_a_file_that_decompresses_to_one_long_line_is_refused(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(streams, "_LONGEST", 1 << 16)
    path = tmp_path / "bomb"
    path.write_bytes({"GZIP": gzip.compress, "ZLIB": zlib.compress}[kind](bytes(1 << 25)))
    tracemalloc.start()
    try:
        with pytest.raises(errors.ResourceExhaustedError, match="longer than"):
            list(tf.data.TextLineDataset(str(path), kind))
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_records_that_decompress_to_too_much_are_read_one_by_one(tmp_path, kind):
    """A file of 64 KB that holds 64 MB of records: memory is taken for one record at a time."""
    plain = tmp_path / "plain"
    with tf.io.TFRecordWriter(str(plain)) as writer:
        writer.write(bytes(1 << 16))
    path = tmp_path / "bomb"
    path.write_bytes({"GZIP": gzip.compress, "ZLIB": zlib.compress}[kind](plain.read_bytes() * 512))
    tracemalloc.start()
    try:
        assert sum(1 for _ in tf.data.TFRecordDataset(str(path), kind)) == 512
        assert tracemalloc.get_traced_memory()[1] < 1 << 23
    finally:
        tracemalloc.stop()


@FEW
@given(
    st.binary(max_size=40),
    st.sampled_from(
        [
            lambda text: tf.io.decode_csv(text, [[0], ["a"], [0.5]]),
            lambda text: tf.io.decode_raw(text, tf.int16),
            lambda text: tf.io.decode_base64(text),
            lambda text: tf.io.decode_json_example(text),
            lambda text: tf.io.decode_compressed(text, "GZIP"),
            lambda text: tf.io.decode_compressed(text, "ZLIB"),
            lambda text: tf.strings.unicode_decode(text, "UTF-8", errors="strict"),
            lambda text: tf.strings.to_number(text),
        ]
    ),
)
def test_any_string_is_decoded_or_refused(text, decode):
    with contextlib.suppress(*REFUSED):
        decode(tf.constant(text))


@FEW
@given(st.data())
def test_damaged_strings_of_sparse_tensors_are_tensors_or_refused(data):
    sparse = tf.SparseTensor([[0, 1], [1, 2]], [5.0, 6.0], [3, 4])
    rows = tf.io.serialize_many_sparse(sparse).numpy()
    row, column = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
    rows[row, column] = damaged(rows[row, column], data.draw) if rows[row, column] else b"?"
    try:
        found = tf.io.deserialize_many_sparse(tf.constant(rows), tf.float32)
    except REFUSED:
        return
    assert isinstance(found, tf.SparseTensor)
    assert len(found.indices) == len(found.values)


def test_a_sparse_tensor_that_claims_to_be_huge_takes_no_memory():
    """Its shape is a declaration, as that of any sparse tensor: dense it is refused."""
    rows = tf.io.serialize_sparse(tf.SparseTensor([[0]], [1.0], [1 << 60]))
    found = tf.io.deserialize_many_sparse(rows[None], tf.float32)
    assert found.shape == (1, 1 << 60)
    with pytest.raises(errors.ResourceExhaustedError):
        tf.sparse.to_dense(found)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    module = tf.Module()
    module.w = tf.Variable([1.0, 2.0])
    module.double = tf.function(lambda x: 2.0 * x * module.w, input_signature=[tf.TensorSpec([2])])
    module.rows = tf.function(lambda x: 2.0 * x, input_signature=[tf.RaggedTensorSpec([None, None])])
    folder = tmp_path_factory.mktemp("model")
    tf.saved_model.save(module, str(folder))
    return folder, {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@settings(parent=FEW, max_examples=25)
@given(st.data())
def test_a_damaged_saved_model_is_loaded_or_refused_and_touches_nothing(model, tmp_path_factory, data):
    _, files = model
    name = data.draw(st.sampled_from(sorted(files)))
    made = damaged(files[name], data.draw)
    outside = tmp_path_factory.mktemp("outside")
    copy = outside / "model"
    for path, contents in files.items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_bytes(made if path == name else contents)
    try:
        loaded = tf.saved_model.load(str(copy))
        if made == files[name]:
            np.testing.assert_array_equal(loaded.double(tf.ones(2)), [2.0, 4.0])
    except (*REFUSED, errors.NotFoundError, errors.FailedPreconditionError):
        pass
    assert [path.name for path in outside.iterdir()] == ["model"]


@pytest.mark.parametrize("name", ["../escaped.txt", "/absolute", "a\0b", "..\\up"])
def test_words_of_a_vocabulary_that_look_like_paths_are_words(tmp_path, name):
    """Contents of files never become paths."""
    path = tmp_path / "words.txt"
    path.write_bytes(name.encode() + b"\n\xff\xfe\n")
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(str(path), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                                      tf.lookup.TextFileIndex.LINE_NUMBER), 1)  # fmt: skip
    assert table.lookup(tf.constant([name.encode(), b"\xff\xfe", b"other"])).numpy().tolist() == [0, 1, 2]
    assert [p.name for p in tmp_path.iterdir()] == ["words.txt"]


# ---------------------------------------------------------------------------------------------------------------------
# Checkpoints, datasets, event files, URLs


def damaged_copy(folder, copy, draw):
    """The files of a folder in another, one of them damaged; returns whether it is."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    name = files[draw(st.integers(0, 1 << 16)) % len(files)]
    contents = damaged(name.read_bytes(), draw)
    for path in files:
        target = copy / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(contents if path == name else path.read_bytes())
    return contents != name.read_bytes()


@FEW
@given(st.data())
def test_a_damaged_checkpoint_is_restored_or_refused(tmp_path_factory, data):
    folder, outside = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("outside")
    source = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0]), n=tf.Variable(3))
    tf.train.CheckpointManager(source, str(folder), max_to_keep=1).save()
    is_damaged = damaged_copy(folder, outside / "copy", data.draw)
    target = tf.train.Checkpoint(v=tf.Variable([7.0, 7.0]), n=tf.Variable(7))
    try:
        latest = tf.train.latest_checkpoint(str(outside / "copy"))
        if latest is not None:
            target.restore(latest)
            tf.train.list_variables(latest)
    except (*REFUSED, errors.NotFoundError):
        assert is_damaged
    values = target.v.numpy().tolist(), int(target.n)
    assert values in [([1.0, 2.0], 3), ([7.0, 7.0], 7)]  # all of it or nothing
    assert [path.name for path in outside.iterdir()] == ["copy"]


ANYTHING = st.recursive(
    st.one_of(st.none(), st.integers(-2, 1 << 50), st.sampled_from(["", "..", "../secret", "v", "0" * 64])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["children", "tensor", "shapes", "digests", "starts", "v"]), inner),
    ),
    max_leaves=6,
)


def changed(table, draw):
    """A table in which some value, at any depth, is another."""
    if not isinstance(table, (dict, list)) or not table or draw(st.integers(0, 3)) == 0:
        return draw(ANYTHING)
    keys = list(table) if isinstance(table, dict) else range(len(table))
    key = draw(st.sampled_from(keys))
    made = table.copy()
    made[key] = changed(table[key], draw)
    return made


@FEW
@given(st.booleans(), st.data())
def test_a_checkpoint_whose_table_lies_is_refused(tmp_path_factory, in_parts, data):
    """Its checksums are right: somebody has made it so."""
    folder = tmp_path_factory.mktemp("whole")
    path, pieces = folder / "ckpt.safetensors", {"v:0": np.float32([1.0]), "v:1": np.float32([2.0])}
    nodes = [{"children": {"v": 1}}, {"children": {}, "tensor": "v"}]
    contents = {"nodes": nodes}
    if in_parts:
        starts = data.draw(st.just({"v:0": [0], "v:1": [1]}) | ANYTHING)
        content, digest = storage.packed(parts.PART.name, {"starts": starts}, pieces)
        parts._path(path, digest).write_bytes(content)
        contents["parts"] = {"shapes": {"v": [2]}, "digests": [digest]}
    key = data.draw(st.sampled_from(list(contents)))
    contents[key] = changed(contents[key], data.draw)
    tensors = {} if in_parts else {"v": np.float32([1.0, 2.0])}
    path.write_bytes(storage.packed(files.CHECKPOINT.name, contents, tensors)[0])
    v = tf.Variable([7.0, 7.0])
    with contextlib.suppress(*REFUSED):
        tf.train.Checkpoint(v=v).restore(str(folder / "ckpt"))
    assert v.numpy().tolist() in ([7.0, 7.0], [1.0, 2.0])


@FEW
@given(st.sampled_from(["save", "cache"]), st.data())
def test_a_damaged_dataset_is_read_or_refused(tmp_path_factory, way, data):
    folder, outside = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("outside")
    dataset = tf.data.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"]))
    if way == "save":
        dataset.save(folder)
    else:
        list(dataset.cache(str(folder / "kept")))
    is_damaged = damaged_copy(folder, outside / "copy", data.draw)
    try:
        copy = outside / "copy"
        read = tf.data.Dataset.load(copy) if way == "save" else dataset.cache(str(copy / "kept"))
        assert [(int(n), text.numpy()) for n, text in read] == [(1, b"a"), (2, b"b"), (3, b"c")]
    except (*REFUSED, errors.NotFoundError):
        assert is_damaged
    assert [path.name for path in outside.iterdir()] == ["copy"]


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "a/b", "", "."])
def test_an_index_of_a_dataset_names_files_of_its_folder_only(tmp_path, name):
    tf.data.Dataset.range(3).save(tmp_path / "saved")
    index = tmp_path / "saved" / "dataset.index"
    kind = storage.Kind("cache", "")
    contents = storage.read(index, kind)[0]
    contents["chunks"][0]["file"] = name
    index.write_bytes(storage.packed("cache", contents, {})[0])
    with pytest.raises(errors.DataLossError):
        list(tf.data.Dataset.load(tmp_path / "saved"))


@FEW
@given(st.data())
def test_a_damaged_event_file_gives_its_first_events_or_an_error(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("events")
    with tf.summary.create_file_writer(str(folder)).as_default():
        for step in range(3):
            tf.summary.scalar("loss", 0.5 * step, step=step)
    (path,) = folder.iterdir()
    path.write_bytes(damaged(path.read_bytes(), data.draw))
    steps = []
    try:
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            steps.append(event.step)
    except errors.DataLossError as error:
        assert str(path) in str(error)
    assert steps == [0, 0, 1, 2][: len(steps)]


@FEW
@given(st.sampled_from(["records", "lines", "picture"]), st.data())
def test_damaged_files_at_urls_are_read_or_refused(kind, data):
    url = "memory://hostile/file"
    if kind == "records":
        with tf.io.TFRecordWriter(url) as writer:
            for record in (b"one", b"two" * 50, b""):
                writer.write(record)
    else:
        tf.io.write_file(url, picture("PNG") if kind == "picture" else b"one\ntwo\n")
    contents = damaged(tf.io.read_file(url).numpy(), data.draw)
    tf.io.write_file(url, contents)
    assert tf.io.gfile.stat(url).length == len(contents)
    try:
        if kind == "records":
            read = [record.numpy() for record in tf.data.TFRecordDataset(url)]
            assert read == [b"one", b"two" * 50, b""][: len(read)]
        elif kind == "lines":
            assert b"\n".join(line.numpy() for line in tf.data.TextLineDataset(url)) in contents.replace(
                b"\r\n", b"\n"
            )
        else:
            tf.io.decode_png(tf.io.read_file(url))
    except REFUSED:
        assert kind != "lines"


@pytest.mark.parametrize("path", ["nosuch://a/b", "memory://hostile/none", "://", "memory://"])
def test_urls_that_lead_nowhere_are_errors(path):
    with pytest.raises(errors.OpError):
        tf.io.read_file(path)
