"""Write files.npz with the real TensorFlow: encoded images, sound, records and messages, and what it decodes them to.

python tests/data/make_files.py        # in an environment with tensorflow-cpu
"""

import os
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
found = {}


def put(name, value):
    """Keep an array; bytes as an array of uint8."""
    found[name] = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else np.asarray(value)


def images():
    smooth = np.linspace(0, 255, 20 * 30 * 3).reshape(20, 30, 3).astype(np.uint8)
    noise = rng.integers(0, 256, (17, 23, 3)).astype(np.uint8)
    encoded = {"jpeg smooth": tf.io.encode_jpeg(smooth), "jpeg noise": tf.io.encode_jpeg(noise, quality=60)}
    encoded["jpeg grey"] = tf.io.encode_jpeg(smooth[..., :1])
    for channels in (1, 2, 3, 4):
        pixels = rng.integers(0, 256, (5, 7, channels)).astype(np.uint8)
        encoded[f"png {channels}"] = tf.io.encode_png(pixels)
        deep = rng.integers(0, 65536, (5, 7, channels)).astype(np.uint16)
        encoded[f"png16 {channels}"] = tf.io.encode_png(deep)
    for name, contents in encoded.items():
        put(f"image/{name}/file", contents.numpy())
        for channels in (0, 1, 3) if "jpeg" in name else (0, 1, 3, 4):
            if "jpeg" in name:
                put(
                    f"image/{name}/jpeg {channels}",
                    tf.io.decode_jpeg(contents, channels, dct_method="INTEGER_ACCURATE"),
                )
                put(f"image/{name}/default {channels}", tf.io.decode_jpeg(contents, channels))
                put(
                    f"image/{name}/coarse {channels}",
                    tf.io.decode_jpeg(contents, channels, fancy_upscaling=False),
                )
                continue
            for dtype in ("uint8", "uint16"):
                put(f"image/{name}/png {channels} {dtype}", tf.io.decode_png(contents, channels, dtype))
            put(f"image/{name}/image {channels} float32", tf.io.decode_image(contents, channels, "float32"))
    for ratio in (2, 4, 8):
        put(
            f"image/jpeg noise/ratio {ratio}",
            tf.io.decode_jpeg(encoded["jpeg noise"], ratio=ratio, dct_method="INTEGER_ACCURATE"),
        )


def sound():
    audio = rng.uniform(-1.2, 1.2, (50, 2)).astype(np.float32)
    put("sound/audio", audio)
    contents = tf.audio.encode_wav(audio, 8000)
    put("sound/file", contents.numpy())
    for channels, samples in ((-1, -1), (1, -1), (3, -1), (-1, 20), (-1, 70), (3, 70)):
        put(f"sound/{channels} {samples}", tf.audio.decode_wav(contents, channels, samples).audio)


def messages():
    for dtype in (
        "float32",
        "float64",
        "int32",
        "int64",
        "bool",
        "uint8",
        "float16",
        "complex64",
        "bfloat16",
    ):
        put(f"tensor/{dtype}", tf.io.serialize_tensor(tf.cast([[1, 0, 3]], dtype)).numpy())
    put("tensor/string", tf.io.serialize_tensor([["a", "bc", ""]]).numpy())
    feature = tf.train.Feature
    example = tf.train.Example(
        features=tf.train.Features(
            feature={
                "a": feature(float_list=tf.train.FloatList(value=[1, 2.5])),
                "b": feature(bytes_list=tf.train.BytesList(value=[b"x\0y"])),
                "c": feature(int64_list=tf.train.Int64List(value=[-5])),
            }
        )
    )
    put("example", example.SerializeToString(deterministic=True))


def records():
    folder = Path(tempfile.mkdtemp())
    strings = [bytes(rng.integers(0, 256, n).astype(np.uint8)) for n in (0, 1, 100, 5000)]
    for number, string in enumerate(strings):
        put(f"record/{number}", string)
    for compression in ("", "GZIP", "ZLIB"):
        path = os.fspath(folder / f"file{compression}")
        with tf.io.TFRecordWriter(path, compression) as writer:
            for string in strings:
                writer.write(string)
        put(f"records/{compression}", Path(path).read_bytes())


if __name__ == "__main__":
    images()
    sound()
    messages()
    records()
    np.savez_compressed(Path(__file__).with_name("files.npz"), **found)
