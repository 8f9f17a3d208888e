"""Make events.json: the events that TensorFlow writes for given tensors, as its own reader returns them.

Run with TensorFlow: python tests/data/make_events.py
"""

import base64
import glob
import json
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf


def metadata(plugin, kind, description="", content=b""):
    made = tf.compat.v1.SummaryMetadata(summary_description=description, data_class=kind)
    made.plugin_data.plugin_name = plugin
    made.plugin_data.content = content
    return made


# tag, tensor, step, metadata
CASES = [
    ("loss", np.float32(0.5), 3, metadata("scalars", 1)),
    ("named/loss", np.float32(2), 4, metadata("scalars", 1, "the *loss*")),
    ("weights", np.array([[1.0, 3.0, 2.0], [3.0, 5.0, 1.0]]), 1, metadata("histograms", 2)),
    ("notes", np.array([b"one", b"two"], object), 2, metadata("text", 2)),
    ("plain", np.arange(6, dtype=np.int64).reshape(2, 3), 5, None),
    ("raw", np.array(b"{}", object), 0, metadata("graph_keras_model", 0, content=b"1")),
]


def main():
    folder = tempfile.mkdtemp()
    writer = tf.summary.create_file_writer(folder)
    with writer.as_default():
        for tag, array, step, meta in CASES:
            tf.summary.write(tag, tf.constant(array), step=step, metadata=meta)
    writer.close()
    (path,) = glob.glob(f"{folder}/*")
    events = []
    for event in tf.compat.v1.train.summary_iterator(path):
        event.wall_time = 0.0
        events.append(base64.b64encode(event.SerializeToString(deterministic=True)).decode())
    file = base64.b64encode(Path(path).read_bytes()).decode()
    there = {"version": tf.__version__, "events": events, "file": file}
    Path(__file__).with_name("events.json").write_text(json.dumps(there, indent=1) + "\n")


if __name__ == "__main__":
    main()
