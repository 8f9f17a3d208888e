"""tf.io.decode_proto and encode_proto. The values expected are TensorFlow 2.21's."""

import contextlib

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given, settings
from hypothesis import strategies as st

import gradtape as tf

errors = tf.errors


def described():
    """A message t.M with fields of many types, as a FileDescriptorSet."""
    found = descriptor_pb2.FileDescriptorSet()
    file = found.file.add(name="t.proto", package="t", syntax="proto2")
    message = file.message_type.add(name="M")
    kind = descriptor_pb2.FieldDescriptorProto
    one, many = kind.LABEL_OPTIONAL, kind.LABEL_REPEATED
    for number, (name, type, label, options) in enumerate(
        [
            ("i", kind.TYPE_INT32, one, {}),
            ("fs", kind.TYPE_FLOAT, many, {}),
            ("s", kind.TYPE_STRING, one, {"default_value": "dd"}),
            ("u", kind.TYPE_UINT64, one, {}),
            ("b", kind.TYPE_BOOL, one, {}),
            ("sub", kind.TYPE_MESSAGE, many, {"type_name": ".t.M"}),
            ("e", kind.TYPE_ENUM, one, {"type_name": ".t.E"}),
            ("d", kind.TYPE_DOUBLE, one, {"default_value": "2.5"}),
        ],
        1,
    ):
        message.field.add(name=name, number=number, type=type, label=label, **options)
    enum = file.enum_type.add(name="E")
    enum.value.add(name="A", number=1)
    enum.value.add(name="B", number=5)
    return found


SET = described()
SOURCE = b"bytes://" + SET.SerializeToString()
POOL = descriptor_pool.DescriptorPool()
POOL.Add(SET.file[0])
M = message_factory.GetMessageClass(POOL.FindMessageTypeByName("t.M"))
FIRST = M(i=3, fs=[1.5, 2.5], s="x", u=2**63, b=True, e=5, sub=[M(i=1)])
MESSAGES = [FIRST.SerializeToString(), M(fs=[7.0]).SerializeToString()]


def decode(messages, **types):
    found = tf.io.decode_proto(messages, "t.M", list(types), list(types.values()), descriptor_source=SOURCE)
    return found.sizes.numpy().tolist(), [value.numpy().tolist() for value in found.values]


def test_fields_of_every_type():
    sizes, values = decode(
        MESSAGES,
        i=tf.int32,
        fs="float32",
        s="string",
        u="uint64",
        b="bool",
        sub="string",
        e="int32",
        d="float64",
    )
    assert sizes == [[1, 2, 1, 1, 1, 1, 1, 0], [0, 1, 0, 0, 0, 0, 0, 0]]
    assert values == [
        [[3], [0]],
        [[1.5, 2.5], [7.0, 0.0]],
        [[b"x"], [b"dd"]],
        [[2**63], [0]],
        [[True], [False]],
        [[b"\x08\x01"], [b""]],
        [[5], [1]],
        [[2.5], [2.5]],
    ]


def test_shapes_and_wider_dtypes():
    assert decode(MESSAGES[0], i="int64", fs="float64") == ([1, 2], [[3], [1.5, 2.5]])
    found = tf.io.decode_proto([MESSAGES], "t.M", ["fs"], [tf.float32], SOURCE)
    assert found.sizes.shape == (1, 2, 1) and found.values[0].shape == (1, 2, 2)
    assert decode(MESSAGES) == ([[], []], [])


def test_texts():
    found = tf.io.decode_proto(
        [["i: 4"], ["fs: [1, 2]"]], "t.M", ["i", "fs"], ["int32", "float32"], SOURCE, message_format="text"
    )
    assert found.sizes.numpy().tolist() == [[[1, 0]], [[0, 2]]]
    assert found.values[1].numpy().tolist() == [[[0.0, 0.0]], [[1.0, 2.0]]]


def test_a_file_of_descriptors_and_the_messages_of_tensorflow(tmp_path):
    path = tmp_path / "set.pb"
    path.write_bytes(SET.SerializeToString())
    assert tf.io.decode_proto(MESSAGES[0], "t.M", ["i"], ["int32"], str(path)).values[0].numpy() == [3]
    example = tf.train.Example()
    example.features.feature["a"].int64_list.value.extend([5, 6])
    features = tf.io.decode_proto(example.SerializeToString(), "tensorflow.Example", ["features"], ["string"])
    entries = tf.io.decode_proto(features.values[0], "tensorflow.Features", ["feature"], ["string"])
    assert entries.values[0].shape == (1, 1)
    back = tf.io.encode_proto(entries.sizes, entries.values, ["feature"], "tensorflow.Features")
    assert back.numpy().tolist() == features.values[0].numpy().tolist()


def test_encode():
    made = tf.io.encode_proto(
        [[1, 2], [0, 1]],
        [tf.constant([[3], [0]]), tf.constant([[1.5, 2.5], [7.0, 0.0]])],
        ["i", "fs"],
        "t.M",
        SOURCE,
    )
    assert made.numpy().tolist() == [b"\x08\x03\x15\x00\x00\xc0?\x15\x00\x00 @", b"\x15\x00\x00\xe0@"]
    made = tf.io.encode_proto([[1, 1]], [[["x"]], [[b"\x08\x01"]]], ["s", "sub"], "t.M", SOURCE)
    assert made.numpy().tolist() == [b"\x1a\x01x2\x02\x08\x01"]


@pytest.mark.parametrize(
    "fields, kind",
    [
        ({"u": "int64"}, "takes uint64, not int64"),
        ({"i": "float32"}, "takes int32 or int64"),
        ({"none": "int32"}, "has no field 'none'"),
    ],
)
def test_fields_that_do_not_fit(fields, kind):
    with pytest.raises(errors.InvalidArgumentError, match=kind):
        decode(MESSAGES, **fields)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.io.decode_proto(b"", "t.Q", [], [], SOURCE),
        lambda: tf.io.decode_proto(b"", "none.Q", [], []),
        lambda: tf.io.decode_proto(b"", "t.M", ["i"], [], SOURCE),
        lambda: tf.io.decode_proto([], "t.M", ["i"], ["int32"], SOURCE),
        lambda: tf.io.decode_proto(b"", "t.M", ["i"], ["int32"], b"bytes://\xff"),
        lambda: tf.io.decode_proto(b"", "t.M", ["i"], ["int32"], SOURCE, message_format="json"),
        lambda: tf.io.encode_proto([[2]], [[[3]]], ["i"], "t.M", SOURCE),
        lambda: tf.io.encode_proto([[2]], [[[3, 4]]], ["i"], "t.M", SOURCE),
        lambda: tf.io.encode_proto([[1]], [[[3.0]]], ["i"], "t.M", SOURCE),
        lambda: tf.io.encode_proto([[1]], [[3]], ["i"], "t.M", SOURCE),
        lambda: tf.io.encode_proto([[1, 1]], [[[3]]], ["i"], "t.M", SOURCE),
        lambda: tf.io.encode_proto([[1]], [np.array([[1 << 40]])], ["i"], "t.M", SOURCE),
        lambda: tf.io.encode_proto([[1]], [[[b"\xff"]]], ["s"], "t.M", SOURCE),
        lambda: tf.io.encode_proto([[1]], [[[b"\xff"]]], ["sub"], "t.M", SOURCE),
    ],
)
def test_bad_input(call):
    with pytest.raises(errors.InvalidArgumentError):
        call()


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=40), st.integers(0, len(MESSAGES[0])))
def test_any_bytes_are_a_message_or_refused(data, cut):
    with contextlib.suppress(errors.DataLossError):
        decode([MESSAGES[0][:cut] + data], i="int32", fs="float32", s="string", sub="string")
    with contextlib.suppress(errors.InvalidArgumentError):
        tf.io.decode_proto(MESSAGES[0], "t.M", ["i"], ["int32"], SOURCE[: 8 + cut] + data)
