"""Event files, which TensorBoard reads. Its package has their messages and writes their records (extra `tensorboard`).

The package's EventFileWriter is not used: it imports TensorFlow wherever that is installed, and a program that ends
without `close` loses what waits in its thread.
"""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.errors import DataLossError
from .encoding import tensor_message
from .extras import needed
from .paths import as_tensorflow_errors, file_system, is_remote, local_path, open_file, path_of
from .tfrecords import read_records

_VERSION = "brain.Event:2"
_numbers = itertools.count()  # of the files of this process
# The modules of tensorboard.compat.proto.
_MODULES = {
    "Event": "event_pb2",
    "GraphDef": "graph_pb2",
    "RunMetadata": "config_pb2",
    "Summary": "summary_pb2",
    "SummaryMetadata": "summary_pb2",
}


def event_message(name: str) -> Any:
    """The class of a message that event files have, of the package tensorboard.

    Raises:
        ImportError: if the package is not installed.
    """
    module = f"tensorboard.compat.proto.{_MODULES[name]}"
    return getattr(needed(f"a message {name}", module, "tensorboard", extra="tensorboard"), name)


class EventFile:
    """A new event file in a folder, which is made if it is missing.

    Args:
        folder: the folder.
        suffix: the end of the file's name.
        queue: the number of events to hold back at most, until they are written.
        seconds: the time to hold them back at most.
    """

    def __init__(self, folder: Any, suffix: str, queue: int, seconds: float) -> None:
        path = path_of("create_file_writer", folder)
        records: Any = needed(
            "create_file_writer",
            "tensorboard.summary.writer.record_writer",
            "tensorboard",
            extra="tensorboard",
        )
        self._kind = event_message("Event")
        with as_tensorflow_errors("create_file_writer", path):
            if is_remote(path):
                file_system("create_file_writer", path).makedirs(path, exist_ok=True)
            else:
                os.makedirs(local_path(path), exist_ok=True)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}{suffix}"
        self.path = f"{path}/{name}"
        self._lock = threading.Lock()
        self._queue, self._seconds = queue, seconds
        self._waiting, self._flushed = 0, time.monotonic()
        self._records = records.RecordWriter(open_file("create_file_writer", self.path, "wb"))
        first = self._kind(wall_time=time.time(), file_version=_VERSION)
        first.source_metadata.writer = "gradtape"
        self._write(first)
        self.flush()

    def write_tensor(self, tag: str, array: np.ndarray, step: int, metadata: bytes | None) -> None:
        """Write a tensor as the value of a tag at a step."""
        event = self._kind(wall_time=time.time(), step=step)
        value = event.summary.value.add(tag=tag)
        value.tensor.ParseFromString(tensor_message(array).SerializeToString())
        if metadata is not None:
            value.metadata.ParseFromString(metadata)
        self._write(event)

    def write_summary(self, serialized: bytes, step: int) -> None:
        """Write a message Summary, as bytes."""
        event = self._kind(wall_time=time.time(), step=step)
        event.summary.MergeFromString(serialized)
        event.summary.SetInParent()
        self._write(event)

    def write_graph(self, serialized: bytes) -> None:
        """Write a message GraphDef, as bytes."""
        self._write(self._kind(wall_time=time.time(), graph_def=serialized))

    def _write(self, event: Any) -> None:
        with self._lock, as_tensorflow_errors("tf.summary", self.path):
            self._records.write(event.SerializeToString())
            self._waiting += 1
            if self._waiting > self._queue or time.monotonic() - self._flushed > self._seconds:
                self._flush()

    def flush(self) -> None:
        """Write what is held back."""
        with self._lock, as_tensorflow_errors("tf.summary", self.path):
            self._flush()

    def _flush(self) -> None:
        if not self._records.closed:
            self._records.flush()
        self._waiting, self._flushed = 0, time.monotonic()

    def close(self) -> None:
        """Write what is held back, and close the file."""
        with self._lock, as_tensorflow_errors("tf.summary", self.path):
            self._records.close()


def read_events(path: Any) -> Iterator[Any]:
    """The events of a file, as messages, one after the other.

    Args:
        path: of the file.

    Raises:
        NotFoundError: if there is no such file.
        DataLossError: where a record is damaged, or is no Event.

    >>> import tempfile
    >>> file = EventFile(tempfile.mkdtemp(), ".v2", 10, 120.0)
    >>> file.write_tensor("loss", np.float32(0.5), 3, None)
    >>> file.close()
    >>> [event.step for event in read_events(file.path)]
    [0, 3]
    """
    kind = event_message("Event")
    for record in read_records(path):
        try:
            yield kind.FromString(record)
        except Exception as error:
            if type(error).__name__ != "DecodeError":
                raise
            raise DataLossError(f"{path}: a record is no Event: {error}") from error
