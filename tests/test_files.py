"""Files: read and written as TensorFlow does, in both directions; damaged and hostile ones are errors."""

import contextlib
import io
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradtape as tf
from gradtape import errors

FILES = np.load(Path(__file__).parent / "data" / "files.npz")


def file_of(name):
    return FILES[name].tobytes()


def named(prefix):
    """What is kept under names that begin so, by the rest of the name."""
    return [name.removeprefix(prefix) for name in FILES.files if name.startswith(prefix)]


# ---------------------------------------------------------------------------------------------------------------------
# Whole files


def test_a_file_is_written_and_read(tmp_path):
    path = str(tmp_path / "new" / "folder" / "a.bin")
    tf.io.write_file(path, b"\0one\0")
    assert tf.io.read_file(path).numpy() == b"\0one\0"
    tf.io.write_file(tf.constant(path), "two")
    assert tf.io.read_file(tf.constant(path)).numpy() == b"two"
    assert os.listdir(tmp_path / "new" / "folder") == ["a.bin"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    tf.io.write_file(str(path), "old")

    def refuse(*paths):
        raise OSError("no")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(errors.UnknownError):
        tf.io.write_file(str(path), "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(errors.NotFoundError, match=r"there is no file '.*absent'"):
        tf.io.read_file(str(tmp_path / "absent"))


def test_matching_files_are_in_order(tmp_path):
    for name in ("b.txt", "a.txt", "c.md"):
        (tmp_path / name).touch()
    found = tf.io.matching_files([str(tmp_path / "*.txt"), str(tmp_path / "c*")]).numpy()
    assert [os.path.basename(path.decode()) for path in found] == ["a.txt", "b.txt", "c.md"]


@pytest.mark.parametrize("root", ["disk", "memory://gradtape-test"])
def test_gfile(root, tmp_path):
    if root != "disk":
        pytest.importorskip("fsspec")
    g = tf.io.gfile
    base = g.join(str(tmp_path) if root == "disk" else root, "base")
    g.makedirs(g.join(base, "inner"))
    a, b = g.join(base, "a.txt"), g.join(base, "b.txt")
    with g.GFile(a, "w") as file:
        file.write("one\ntwo\n")
    with g.GFile(a) as file:
        assert (file.readline(), file.tell(), file.read(), file.size()) == ("one\n", 4, "two\n", 8)
    assert g.exists(a) and not g.exists(b) and g.isdir(base) and not g.isdir(a)
    assert sorted(name for name in g.listdir(base)) == ["a.txt", "inner"]
    g.copy(a, b)
    with pytest.raises(errors.AlreadyExistsError, match="overwrite=True"):
        g.copy(a, b)
    assert [os.path.basename(path) for path in g.glob(g.join(base, "*.txt"))] == ["a.txt", "b.txt"]
    g.rename(b, g.join(base, "c.txt"))
    assert not g.exists(b) and g.stat(g.join(base, "c.txt")).length == 8
    g.remove(a)
    with pytest.raises(errors.NotFoundError):
        g.remove(a)
    with pytest.raises(errors.FailedPreconditionError, match="rmtree"):
        g.remove(base)
    g.rmtree(base)
    assert not g.exists(base)


def test_a_gfile_refuses_what_its_mode_does_not_allow(tmp_path):
    with pytest.raises(errors.InvalidArgumentError, match="mode"):
        tf.io.gfile.GFile(str(tmp_path / "a"), "x")
    with tf.io.gfile.GFile(str(tmp_path / "a"), "w") as file, pytest.raises(errors.PermissionDeniedError):
        file.read()


# ---------------------------------------------------------------------------------------------------------------------
# Images


@pytest.mark.parametrize("name", [name for name in named("image/") if not name.endswith("/file")])
def test_images_are_decoded_as_by_tensorflow(name):
    """Bit by bit. Without simplejpeg, JPEG as by the accurate method."""
    image, _, how = name.partition("/")
    kind, *options = how.split()
    contents, expected = file_of(f"image/{image}/file"), FILES[f"image/{name}"]
    if kind == "ratio":
        got = tf.io.decode_jpeg(contents, ratio=int(options[0]))
    elif kind == "jpeg":
        got = tf.io.decode_jpeg(contents, int(options[0]), dct_method="INTEGER_ACCURATE")
    elif kind in ("default", "coarse"):
        pytest.importorskip("simplejpeg")
        got = tf.io.decode_jpeg(contents, int(options[0]), fancy_upscaling=kind == "default")
    else:
        got = {"png": tf.io.decode_png, "image": tf.io.decode_image}[kind](
            contents, int(options[0]), options[1]
        )
    assert got.numpy().dtype == expected.dtype
    assert got.shape == expected.shape
    assert np.abs(got.numpy().astype(float) - expected).max() <= (1e-6 if expected.dtype.kind == "f" else 0)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_keeps_every_bit(channels, dtype):
    pixels = np.random.default_rng(channels).integers(0, np.iinfo(dtype).max, (6, 5, channels)).astype(dtype)
    assert np.array_equal(tf.io.decode_png(tf.io.encode_png(pixels), dtype=dtype), pixels)
    many = tf.io.encode_png(np.stack([pixels, pixels]))
    assert many.shape == (2,)


@pytest.mark.parametrize("kind", range(5))
def test_16_bit_png_with_every_filter(kind):
    """Written by hand: our own encoder uses one filter, other programs all of them."""
    rng = np.random.default_rng(kind)
    pixels = rng.integers(0, 65536, (4, 3, 3)).astype(np.uint16)
    raw = pixels.astype(">u2").view(np.uint8).reshape(4, 18).astype(int)
    above = np.vstack([np.zeros((1, 18), int), raw[:-1]])
    left = np.hstack([np.zeros((4, 6), int), raw[:, :-6]])
    corner = np.hstack([np.zeros((4, 6), int), above[:, :-6]])
    p = left + above - corner
    distance = np.abs(np.stack([p - left, p - above, p - corner]))
    paeth = np.choose(distance.argmin(0), [left, above, corner])
    guess = [0, left, above, (left + above) // 2, paeth][kind]
    rows = np.hstack([np.full((4, 1), kind), (raw - guess) % 256]).astype(np.uint8)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", 3, 4, 16, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes())),
        (b"IEND", b""),
    ]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(c)) + k + c + struct.pack(">I", zlib.crc32(k + c)) for k, c in parts
    )
    assert np.array_equal(tf.io.decode_png(data, dtype="uint16"), pixels)


def test_jpeg_round_trip():
    y, x = np.mgrid[:40, :60]
    pixels = np.stack([4 * x, 6 * y, 255 - 4 * x], -1).astype(np.uint8)
    encoded = tf.io.encode_jpeg(pixels, quality=100, chroma_downsampling=False)
    again = tf.io.decode_jpeg(encoded, dct_method="INTEGER_ACCURATE")
    assert np.abs(again.numpy().astype(int) - pixels).max() <= 3
    assert tf.io.extract_jpeg_shape(tf.io.encode_jpeg(pixels)).numpy().tolist() == [40, 60, 3]
    part = tf.io.decode_and_crop_jpeg(tf.io.encode_jpeg(pixels), [3, 5, 10, 20])
    assert np.array_equal(part, tf.io.decode_jpeg(tf.io.encode_jpeg(pixels))[3:13, 5:25])


def test_webp():
    from PIL import Image

    y, x = np.mgrid[:4, :6]
    pixels = np.stack([40 * x, 60 * y, 255 - 40 * x, np.full_like(x, 200)], -1).astype(np.uint8)

    def file_with(array, **options):
        Image.fromarray(array).save(buffer := io.BytesIO(), "WEBP", lossless=True, **options)
        return buffer.getvalue()

    colour, alpha = file_with(pixels[..., :3].copy()), file_with(pixels)
    np.testing.assert_array_equal(tf.io.decode_webp(colour)[0], pixels[..., :3])
    np.testing.assert_array_equal(tf.io.decode_webp(alpha, channels=4)[0], pixels)
    turned = Image.fromarray(pixels[::-1, :, :3].copy())
    moving = file_with(pixels[..., :3].copy(), save_all=True, append_images=[turned])
    np.testing.assert_array_equal(tf.io.decode_webp(moving)[1], pixels[::-1, :, :3])
    assert tf.io.decode_image(colour).shape == (1, 4, 6, 3)
    assert tf.io.decode_image(colour, expand_animations=False).shape == (4, 6, 3)
    for contents, channels in [(colour, 4), (alpha, 3), (colour, 1), (colour[:30], 0), (b"nope", 0)]:
        with pytest.raises(errors.InvalidArgumentError):
            tf.io.decode_webp(contents, channels=channels)


def test_images_of_another_jpeg_quality():
    y, x = np.mgrid[:4, :6]
    image = np.stack([40 * x, 60 * y, 255 - 40 * x], -1).astype(np.uint8)
    # TensorFlow 2.21's pixels.
    expected = [5, 16, 186, 24, 17, 172, 59, 19, 144, 97, 21, 111]
    assert tf.image.adjust_jpeg_quality(image, 50).numpy().ravel()[:12].tolist() == expected
    from_0_to_1 = tf.image.adjust_jpeg_quality(image / np.float32(255), 50)
    np.testing.assert_allclose(from_0_to_1.numpy().ravel()[:12] * 255, expected, rtol=1e-5)
    drawn = tf.image.stateless_random_jpeg_quality(image, 75, 95, seed=(1, 2))
    assert drawn.numpy().ravel()[:8].tolist() == [0, 10, 214, 19, 13, 197, 63, 14]
    assert tf.image.random_jpeg_quality(image, 75, 95).shape == (4, 6, 3)
    with pytest.raises(errors.InvalidArgumentError):
        tf.image.adjust_jpeg_quality(image, 500)
    for least, most in [(95, 75), (-5, 75), (5, 105)]:
        with pytest.raises(ValueError, match="must be less than max_jpeg_quality"):
            tf.image.random_jpeg_quality(image, least, most)


def test_examples_in_json():
    text = '{"features": {"feature": {"a": {"int64List": {"value": ["1", "2"]}}}}}'
    found = tf.io.parse_example(
        tf.io.decode_json_example([text]), {"a": tf.io.FixedLenFeature([2], tf.int64)}
    )
    assert found["a"].numpy().tolist() == [[1, 2]]
    assert tf.io.decode_json_example([["{}"], ["{}"]]).numpy().tolist() == [[b""], [b""]]
    for wrong in ("{", '{"x": 1}', b"\xff", '{"features": 3}'):
        with pytest.raises(errors.InvalidArgumentError, match="no Example"):
            tf.io.decode_json_example(wrong)


def test_gif_and_bmp():
    from PIL import Image

    frames = [Image.fromarray(np.full((4, 6, 3), level, np.uint8)) for level in (0, 255)]
    buffer = io.BytesIO()
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
    assert tf.io.decode_gif(buffer.getvalue()).shape == (2, 4, 6, 3)
    assert tf.io.decode_image(buffer.getvalue()).shape == (2, 4, 6, 3)
    assert tf.io.decode_image(buffer.getvalue(), expand_animations=False).shape == (4, 6, 3)
    buffer = io.BytesIO()
    frames[1].save(buffer, "BMP")
    assert np.array_equal(tf.io.decode_bmp(buffer.getvalue()), np.full((4, 6, 3), 255))
    assert np.array_equal(tf.image.decode_image(buffer.getvalue(), dtype="float32"), np.ones((4, 6, 3)))


@pytest.mark.parametrize("decode", ["decode_jpeg", "decode_png", "decode_bmp", "decode_gif", "decode_image"])
@pytest.mark.parametrize(
    "contents", [b"", b"no image", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM"]
)
def test_what_is_no_image_is_refused(decode, contents):
    with pytest.raises(errors.InvalidArgumentError, match=decode[:6]):
        getattr(tf.io, decode)(contents)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["png 3", "png16 3", "jpeg noise"]), st.data())
def test_a_damaged_image_is_an_error_or_an_image(name, data):
    contents = bytearray(file_of(f"image/{name}/file"))
    for _ in range(data.draw(st.integers(1, 4))):
        contents[data.draw(st.integers(0, len(contents) - 1))] ^= data.draw(st.integers(1, 255))
    del contents[data.draw(st.integers(20, len(contents))) :]
    try:
        image = tf.io.decode_image(bytes(contents))
    except (errors.InvalidArgumentError, errors.ResourceExhaustedError):
        return
    assert image.dtype is tf.uint8


def test_a_png_that_claims_to_be_huge_is_refused():
    header = struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 16, 6, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(c)) + k + c + struct.pack(">I", zlib.crc32(k + c)) for k, c in parts
    )
    with pytest.raises((errors.ResourceExhaustedError, errors.InvalidArgumentError)):
        tf.io.decode_png(data, dtype="uint16")
    with pytest.raises((errors.ResourceExhaustedError, errors.InvalidArgumentError)):
        tf.io.decode_png(data.replace(b"\x10\x06\0\0\0", b"\x08\x06\0\0\0", 1))


# ---------------------------------------------------------------------------------------------------------------------
# Records


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_records_of_tensorflow_are_read_and_ours_are_the_same(compression, tmp_path):
    records = [file_of(f"record/{i}") for i in range(4)]
    path = tmp_path / "theirs"
    path.write_bytes(file_of(f"records/{compression}"))
    assert [r.numpy() for r in tf.data.TFRecordDataset(str(path), compression)] == records
    ours = str(tmp_path / "ours")
    with tf.io.TFRecordWriter(ours, compression) as writer:
        for record in records:
            writer.write(record)
    assert [r.numpy() for r in tf.data.TFRecordDataset([ours, str(path)], compression)] == records * 2
    if not compression:
        assert Path(ours).read_bytes() == path.read_bytes()


def test_a_torn_file_gives_the_whole_records_and_says_where_it_ends(tmp_path):
    data = file_of("records/")
    path = tmp_path / "torn"
    path.write_bytes(data[:-1])
    got = []
    with pytest.raises(errors.DataLossError, match="the record at byte 149 ends early"):
        for record in tf.data.TFRecordDataset(str(path)):
            got.append(record.numpy())
    assert len(got) == 3


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["", "GZIP", "ZLIB"]), st.data())
def test_a_flipped_bit_is_noticed(tmp_path_factory, compression, data):
    contents = bytearray(file_of(f"records/{compression}"))
    place = data.draw(st.integers(0, len(contents) - 1))
    contents[place] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path_factory.mktemp("records") / "flipped"
    path.write_bytes(contents)
    records = [file_of(f"record/{i}") for i in range(4)]
    got = []
    try:
        got.extend(r.numpy() for r in tf.data.TFRecordDataset(str(path), compression))
    except errors.DataLossError:
        assert got == records[: len(got)]
    else:
        assert got == records  # of the header of gzip, nothing but its start matters


def test_a_record_that_claims_to_be_huge_takes_no_memory(tmp_path):
    google_crc32c = pytest.importorskip("google_crc32c")
    length = struct.pack("<Q", 1 << 60)
    crc = google_crc32c.value(length)
    path = tmp_path / "huge"
    path.write_bytes(length + struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF) + b"abc")
    with pytest.raises(errors.DataLossError, match="it has 3 of"):
        list(tf.data.TFRecordDataset(str(path)))


def test_a_closed_writer_refuses(tmp_path):
    writer = tf.io.TFRecordWriter(str(tmp_path / "a"))
    writer.close()
    with pytest.raises(errors.InvalidArgumentError, match="is closed"):
        writer.write(b"x")
    with (
        pytest.raises(errors.InvalidArgumentError, match="takes bytes"),
        tf.io.TFRecordWriter(str(tmp_path / "b")) as w,
    ):
        w.write(3)


# ---------------------------------------------------------------------------------------------------------------------
# Examples


def example(**features):
    lists = {
        float: ("float_list", tf.train.FloatList),
        int: ("int64_list", tf.train.Int64List),
        bytes: ("bytes_list", tf.train.BytesList),
    }
    made = {}
    for name, values in features.items():
        field, kind = lists[type(values[0])]
        made[name] = tf.train.Feature(**{field: kind(value=values)})
    return tf.train.Example(features=tf.train.Features(feature=made))


def test_an_example_is_the_bytes_that_tensorflow_writes():
    ours = example(a=[1.0, 2.5], b=[b"x\0y"], c=[-5])
    assert ours.SerializeToString(deterministic=True) == file_of("example")
    assert tf.train.Example.FromString(file_of("example")) == ours


def test_examples_are_parsed():
    strings = [
        example(a=[1.0, 2.0], b=[b"x"]).SerializeToString(),
        example(a=[3.0, 4.0], c=[7]).SerializeToString(),
    ]
    features = {
        "a": tf.io.FixedLenFeature([2], tf.float32),
        "b": tf.io.FixedLenFeature([], tf.string, default_value="none"),
        "c": tf.io.FixedLenFeature([1], tf.int64, default_value=-1),
    }
    batch = tf.io.parse_example(strings, features)
    assert batch["a"].numpy().tolist() == [[1, 2], [3, 4]]
    assert batch["b"].numpy().tolist() == [b"x", b"none"]
    assert batch["c"].numpy().tolist() == [[-1], [7]]
    one = tf.io.parse_single_example(strings[1], features)
    assert (one["a"].numpy().tolist(), one["c"].numpy().tolist()) == ([3, 4], [7])
    rows = tf.io.parse_example(
        [example(x=[1, 2, 3, 4]).SerializeToString(), example(x=[5, 6]).SerializeToString()],
        {"x": tf.io.FixedLenSequenceFeature([2], tf.int64, allow_missing=True)},
    )
    assert rows["x"].numpy().tolist() == [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"q": tf.io.FixedLenFeature([], tf.float32)}, "example 0 has no feature 'q'"),
        ({"a": tf.io.FixedLenFeature([3], tf.float32)}, "has 2 values, and the shape .3. has 3"),
        ({"a": tf.io.FixedLenFeature([2], tf.int64)}, "is a float_list, not int64"),
        ({"a": tf.io.FixedLenFeature([2], tf.float64)}, "must be float32, int64 or string"),
        ({"a": 3}, "is described by 3"),
        ({}, "features is empty"),
    ],
)
def test_features_that_do_not_fit(features, message):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        tf.io.parse_single_example(example(a=[1.0, 2.0]).SerializeToString(), features)


def test_a_string_that_is_no_example():
    with pytest.raises(errors.InvalidArgumentError, match="string 0 is no Example"):
        tf.io.parse_example([b"\xff\xff"], {"a": tf.io.FixedLenFeature([], tf.float32)})


def test_a_sequence_example_is_parsed():
    steps = [tf.train.Feature(int64_list=tf.train.Int64List(value=[i, i + 1])) for i in range(3)]
    sequence = tf.train.SequenceExample(
        context=tf.train.Features(
            feature={"n": tf.train.Feature(float_list=tf.train.FloatList(value=[2.0]))}
        ),
        feature_lists=tf.train.FeatureLists(feature_list={"x": tf.train.FeatureList(feature=steps)}),
    )
    context, sequences = tf.io.parse_single_sequence_example(
        sequence.SerializeToString(),
        {"n": tf.io.FixedLenFeature([], tf.float32)},
        {"x": tf.io.FixedLenSequenceFeature([2], tf.int64)},
    )
    assert float(context["n"]) == 2.0
    assert sequences["x"].numpy().tolist() == [[0, 1], [1, 2], [2, 3]]


# ---------------------------------------------------------------------------------------------------------------------
# Numbers in strings


@pytest.mark.parametrize("dtype", named("tensor/"))
def test_tensors_as_messages_are_tensorflows(dtype):
    contents = file_of(f"tensor/{dtype}")
    tensor = tf.io.parse_tensor(contents, dtype)
    assert tensor.shape == (1, 3)
    assert tf.io.serialize_tensor(tensor).numpy() == contents
    with pytest.raises(errors.InvalidArgumentError, match="is wanted"):
        tf.io.parse_tensor(contents, "int8")


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_tensor_or_an_error(data):
    with contextlib.suppress(errors.InvalidArgumentError, errors.ResourceExhaustedError):
        tf.io.parse_tensor(data, tf.float32)


@pytest.mark.parametrize(
    ("records", "defaults", "expected"),
    [
        (["1,2.5,x", '3,,"y,z"'], [0, 0.5, "d"], [[1, 3], [2.5, 0.5], [b"x", b"y,z"]]),
        (['"a ""b""",1'], ["", 0], [[b'a "b"'], [1]]),
        ([" 1, 2"], [0, 0], [[1], [2]]),
        (["9999999999"], [tf.constant(0, tf.int64)], [[9999999999]]),
        (["1e3,inf"], [0.0, 0.0], [[1000.0], [np.inf]]),
        (["1,2"], [tf.int32, [0]], [[1], [2]]),
    ],
)
def test_csv(records, defaults, expected):
    assert [column.numpy().tolist() for column in tf.io.decode_csv(records, defaults)] == expected


def test_csv_options():
    assert tf.io.decode_csv("1;NA;3", [0, 7, 0], field_delim=";", na_value="NA")[1] == 7
    assert [int(x) for x in tf.io.decode_csv("1,2,3", [0, 0], select_cols=[0, 2])] == [1, 3]
    assert tf.io.decode_csv('"a,b', ["", ""], use_quote_delim=False)[0].numpy() == b'"a'


@pytest.mark.parametrize(
    ("records", "defaults", "message"),
    [
        (["x"], [0], "is 'x', no int32"),
        (["1,2,3"], [0, 0], "has 3 fields, and 2 are expected"),
        ([","], [tf.int32, 0], "field 0 is required"),
        (['"a'], [""], "is not CSV"),
    ],
)
def test_csv_that_does_not_fit(records, defaults, message):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        tf.io.decode_csv(records, defaults)


def test_raw_bytes():
    assert tf.io.decode_raw([b"\1\0\2\0"], tf.int16).numpy().tolist() == [[1, 2]]
    assert tf.io.decode_raw(b"\1\0\2\0", tf.int16, little_endian=False).numpy().tolist() == [256, 512]
    assert tf.io.decode_raw([b"abc", b"a"], tf.uint8, fixed_length=2).numpy().tolist() == [[97, 98], [97, 0]]
    with pytest.raises(errors.InvalidArgumentError, match="give fixed_length"):
        tf.io.decode_raw([b"ab", b"a"], tf.uint8)
    with pytest.raises(errors.InvalidArgumentError, match="no multiple of 2"):
        tf.io.decode_raw(b"abc", tf.int16)


def test_base64_and_compression():
    assert tf.io.encode_base64(["hello?>", b"\xff\xfe"]).numpy().tolist() == [b"aGVsbG8_Pg", b"__4"]
    assert tf.io.decode_base64(["aGVsbG8_Pg==", "__4"]).numpy().tolist() == [b"hello?>", b"\xff\xfe"]
    with pytest.raises(errors.InvalidArgumentError, match="web-safe base64"):
        tf.io.decode_base64("a+b/")
    assert tf.io.decode_compressed(zlib.compress(b"abc"), "ZLIB").numpy() == b"abc"
    with pytest.raises(errors.InvalidArgumentError, match="is not ZLIB"):
        tf.io.decode_compressed(b"abc", "ZLIB")


# ---------------------------------------------------------------------------------------------------------------------
# Sound


def test_sound_is_written_as_by_tensorflow():
    assert tf.audio.encode_wav(FILES["sound/audio"], 8000).numpy() == file_of("sound/file")


@pytest.mark.parametrize("name", [name for name in named("sound/") if name not in ("audio", "file")])
def test_sound_is_read_as_by_tensorflow(name):
    channels, samples = map(int, name.split())
    sound = tf.audio.decode_wav(file_of("sound/file"), channels, samples)
    assert np.array_equal(sound.audio, FILES[f"sound/{name}"])
    assert sound.sample_rate == 8000


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_damaged_wav_is_an_error_or_sound(data):
    contents = bytearray(file_of("sound/file"))
    for _ in range(data.draw(st.integers(1, 3))):
        contents[data.draw(st.integers(0, 50))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(errors.InvalidArgumentError, errors.ResourceExhaustedError):
        tf.audio.decode_wav(bytes(contents))


# ---------------------------------------------------------------------------------------------------------------------
# In programs


def test_a_folder_of_images_becomes_batches(tmp_path):
    """The pipeline that tutorials write."""
    for i in range(6):
        tf.io.write_file(
            str(tmp_path / f"{i % 2}" / f"{i}.png"), tf.io.encode_png(np.full((8, 6, 3), 40 * i, np.uint8))
        )

    def load(path):
        image = tf.image.convert_image_dtype(
            tf.image.decode_png(tf.io.read_file(path), channels=3), tf.float32
        )
        return tf.image.resize(image, [4, 4])

    paths = tf.data.Dataset.list_files(str(tmp_path / "*" / "*.png"), shuffle=False)
    (batch,) = list(paths.map(load).batch(6))
    assert batch.shape == (6, 4, 4, 3)
    assert np.allclose(np.sort(batch.numpy().mean((1, 2, 3))), np.arange(6) * 40 / 255, atol=1e-6)


def test_records_become_training_data(tmp_path):
    path = str(tmp_path / "train.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(8):
            writer.write(example(x=[float(i), 1.0], y=[2.0 * i + 1.0]).SerializeToString())
    features = {"x": tf.io.FixedLenFeature([2], tf.float32), "y": tf.io.FixedLenFeature([1], tf.float32)}
    parse = lambda string: tf.io.parse_single_example(string, features)
    w = tf.Variable(tf.zeros([2, 1]))
    optimizer = tf.optimizers.Adam(0.3)
    for batch in tf.data.TFRecordDataset(path).map(parse).shuffle(8, seed=1).repeat(200).batch(8):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(batch["x"] @ w - batch["y"]))
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    assert np.allclose(w[:, 0], [2, 1], atol=0.05)


def test_without_the_libraries_the_error_names_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ImportError, match=r"pip install 'gradtape\[files\]'"):
        tf.io.decode_png(file_of("image/png 3/file"))


def test_globs_of_several_patterns(tmp_path):
    for name in ("a.txt", "b.csv"):
        (tmp_path / name).touch()
    patterns = [f"{tmp_path}/*.txt", f"{tmp_path}/*.csv"]
    for several in (patterns, tuple(patterns), set(patterns), iter(patterns)):
        assert sorted(tf.io.gfile.glob(several)) == [str(tmp_path / "a.txt"), str(tmp_path / "b.csv")]
