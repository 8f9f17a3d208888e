"""JPEG XL: its size is read before it is decoded, which needs the extra `jxl` and is tested where that is installed."""

import base64
import random
import sys

import numpy as np
import pytest

import gradtape as tf
from gradtape.files.jpeg_xl import size_of

# 5 x 4 pixels without loss, grey and in colour; TensorFlow decodes the same numbers.
GREY = base64.b64decode("/wogAAaAoLgRCAABAJAASxiLFVJcWG/4/BxSSk0Ej2mbDkcl7fVFD6w6/IGdUwm0yYkA")
COLOUR = base64.b64decode(
    "/wogAAaASAgAAQCUAUsYixVSXHYn96vujedH8a6boDN+T7lAUACT6Mvnow7o45+Sw5t3+jZ+9W0TVN6QbvJdJA9w7fmjgQk8q8Wdy9DBFD7yUddf"
    "UqEsMdMlskLgBjuS6ZZeviAqpgNAt1C8JZlZGrIG"
)
BOXES = b"\0\0\0\x0cJXL \r\n\x87\n" + b"\0\0\0\x14ftypjxl \0\0\0\0jxl "


def boxed(contents, kind=b"jxlc", head=b"", wide=False):
    size = 8 + 8 * wide + len(head) + len(contents)
    length = (
        (1).to_bytes(4, "big") + kind + size.to_bytes(8, "big") if wide else size.to_bytes(4, "big") + kind
    )
    return BOXES + length + head + contents


def stream(*fields):
    """A codestream that begins with these numbers of so many bits."""
    bits = place = 0
    for value, count in fields:
        bits |= value << place
        place += count
    return b"\xff\x0a" + bits.to_bytes(10, "little")


@pytest.mark.parametrize(
    ("contents", "size"),
    [
        (GREY, (5, 4)),
        (COLOUR, (5, 4)),
        (boxed(COLOUR), (5, 4)),
        (boxed(COLOUR, wide=True), (5, 4)),
        (boxed(COLOUR, b"jxlp", b"\x80\0\0\0"), (5, 4)),
        (stream((1, 1), (3, 5), (0, 3), (1, 5)), (32, 16)),  # in eights
        (stream((1, 1), (3, 5), (7, 3)), (32, 64)),  # twice as wide as high
        (stream((0, 1), (2, 2), (99_999, 18), (0, 3), (3, 2), (2**30 - 1, 30)), (100_000, 2**30)),
    ],
)
def test_the_size_is_read_first(contents, size):
    assert size_of(contents) == size


def test_what_is_refused_without_decoding(monkeypatch):
    from gradtape.ops import known

    for contents in (b"", b"GIF89a", b"\xff"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="no JPEG XL"):
            tf.io.decode_jxl(contents)
    for contents in (b"\xff\x0a", BOXES, BOXES + b"\0\0\0\x02abcd", boxed(b"nothing"), COLOUR[:4]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="damaged"):
            tf.io.decode_jxl(contents)
    with pytest.raises(tf.errors.InvalidArgumentError, match="channels must be"):
        tf.image.decode_jxl(COLOUR, channels=2)
    monkeypatch.setattr(known, "available", lambda: 1 << 30)
    huge = stream((0, 1), (3, 2), (2**30 - 1, 30), (1, 3))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="decode_jxl"):
        tf.io.decode_jxl(huge)


def test_a_missing_plugin_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pillow_jxl", None)
    for decode in (tf.io.decode_jxl, tf.io.decode_image):
        with pytest.raises(ImportError, match=r"pip install 'gradtape\[jxl\]'"):
            decode(COLOUR)


def test_pixels():
    pytest.importorskip("pillow_jxl")
    assert tf.image.decode_jxl(COLOUR).numpy()[0, :2].tolist() == [[230, 39, 87], [174, 88, 81]]
    assert tf.io.decode_jxl(GREY, channels=1).shape == (5, 4, 1)
    np.testing.assert_array_equal(tf.io.decode_jxl(boxed(COLOUR)), tf.io.decode_image(COLOUR))
    with pytest.raises(tf.errors.InvalidArgumentError, match="channels"):
        tf.io.decode_jxl(COLOUR, channels=4)


def test_damaged_files():
    pytest.importorskip("pillow_jxl")
    draw = random.Random(0)
    for _ in range(200):
        made = bytearray(COLOUR)
        for _ in range(draw.randint(1, 4)):
            made[draw.randrange(2, len(made))] = draw.randrange(256)
        try:
            assert (
                tf.io.decode_jxl(bytes(made[: draw.choice([None, draw.randrange(len(made))])])).dtype
                is tf.uint8
            )
        except (tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError):
            continue
