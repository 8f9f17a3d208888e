"""A TFRecord file of 10 000 examples, each 16 numbers and a label: read, checked, parsed in batches of 64.

The file is written by the library that reads it, before the clock starts. The result is the sum of labels and the mean.
"""

import tempfile

NUMBER = 20
TITLE = "records: read and parse 10 000 examples"

COUNT, LENGTH, BATCH = 10_000, 16, 64


def inputs(rng):
    return rng.random((COUNT, LENGTH), dtype="float32"), rng.integers(0, 10, COUNT).astype("int64")


def write(tf, path, numbers, labels):
    with tf.io.TFRecordWriter(path) as writer:
        for row, label in zip(numbers, labels):
            x = tf.train.Feature(float_list=tf.train.FloatList(value=row))
            y = tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))
            example = tf.train.Example(features=tf.train.Features(feature={"x": x, "y": y}))
            writer.write(example.SerializeToString())


def in_tensorflow(tf, numbers, labels):
    folder = tempfile.TemporaryDirectory()
    path = f"{folder.name}/examples.tfrecord"
    write(tf, path, numbers, labels)
    features = {"x": tf.io.FixedLenFeature([LENGTH], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}
    records = tf.data.TFRecordDataset(path).batch(BATCH)
    batches = records.map(lambda serialized: tf.io.parse_example(serialized, features))

    def epoch():
        assert folder
        seen = [(batch["x"], batch["y"]) for batch in batches]
        return [
            tf.reduce_mean(tf.concat([x for x, _ in seen], 0)),
            tf.reduce_sum(tf.concat([y for _, y in seen], 0)),
        ]

    return epoch, ()
