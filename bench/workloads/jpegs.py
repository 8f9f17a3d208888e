"""1000 JPEG files of 128x128 pixels: listed, read, decoded in parallel, in batches of 50.

The files are written by the library that reads them, before the clock starts: a smooth picture with noise.
"""

import tempfile

import numpy as np

NUMBER = 22
TITLE = "images: read and decode 1000 JPEG files"

COUNT, SIZE, BATCH = 1000, 128, 50


def inputs(rng):
    y, x = np.mgrid[:SIZE, :SIZE] / SIZE
    smooth = 128 + 60 * np.sin(9 * x)[..., None] * np.cos(np.array([5, 7, 9]) * y[..., None])
    noisy = smooth + rng.normal(scale=8, size=(10, SIZE, SIZE, 3))
    return (noisy.clip(0, 255).astype("uint8"),)


def in_tensorflow(tf, images):
    folder = tempfile.TemporaryDirectory()
    for i in range(COUNT):
        tf.io.write_file(f"{folder.name}/{i:04}.jpg", tf.io.encode_jpeg(images[i % len(images)]))

    def load(path):
        return tf.io.decode_jpeg(tf.io.read_file(path), channels=3)

    files = tf.data.Dataset.list_files(f"{folder.name}/*.jpg", shuffle=False)
    batches = files.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(BATCH).prefetch(tf.data.AUTOTUNE)

    def epoch():
        assert folder
        return [
            tf.reduce_mean(tf.cast(tf.concat([batch[:, ::16, ::16] for batch in batches], 0), tf.float32))
        ]

    return epoch, ()
