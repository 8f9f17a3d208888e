"""The file `checkpoint` of a directory, in JSON: which checkpoints there are, and which is the latest."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..core import storage
from ..core.errors import DataLossError
from ..core.types import PathLike
from . import files


@dataclass
class State:
    """Contents of the file. Paths are relative to its directory, so that it can be moved."""

    model_checkpoint_path: str
    all_model_checkpoint_paths: list[str] = field(default_factory=list)
    all_model_checkpoint_timestamps: list[float] = field(default_factory=list)
    last_preserved_timestamp: float | None = None

    def __post_init__(self) -> None:
        if not self.all_model_checkpoint_paths:
            self.all_model_checkpoint_paths = [self.model_checkpoint_path]

    def times(self) -> dict[str, float]:
        """The time at which each checkpoint was saved; the current time where that is not recorded."""
        missing = len(self.all_model_checkpoint_paths) - len(self.all_model_checkpoint_timestamps)
        times = [*self.all_model_checkpoint_timestamps, *[time.time()] * missing]
        return dict(zip(self.all_model_checkpoint_paths, times))


def update(directory: str, state: State, latest_filename: str | None = None) -> None:
    """Write the file."""
    path = Path(directory or ".") / (latest_filename or "checkpoint")
    storage.replace(path, json.dumps(asdict(state), indent=1).encode())


def read(directory: PathLike, latest_filename: str | None = None) -> State | None:
    """Read the file; None if there is no such file."""
    path = Path(os.fspath(directory)) / (latest_filename or "checkpoint")
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        said = State(**json.loads(content))
        texts = [said.model_checkpoint_path, *said.all_model_checkpoint_paths]
        numbers = [said.last_preserved_timestamp or 0.0, *said.all_model_checkpoint_timestamps]
        if not all(isinstance(t, str) for t in texts) or not all(
            isinstance(n, (int, float)) for n in numbers
        ):
            raise TypeError("paths must be texts, and times numbers")
    except (ValueError, TypeError) as error:
        raise DataLossError(
            f"{str(path)!r}, which says what checkpoints there are, is damaged or of another program ({error}). "
            "Restore one by its name, or remove the file"
        ) from error
    return said


def get_checkpoint_state(checkpoint_dir: PathLike, latest_filename: str | None = None) -> State | None:
    """The checkpoints of a directory, with full paths; None if there are none.

    Args:
        checkpoint_dir: the directory.
        latest_filename: the name of the file there that lists them; 'checkpoint' by default.

    Raises:
        DataLossError: if that file is damaged.

    >>> import gradtape as tf, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(folder + "/ckpt")
    >>> get_checkpoint_state(folder).model_checkpoint_path == path
    True
    """
    said = read(checkpoint_dir, latest_filename)
    if said is not None:
        folder = os.fspath(checkpoint_dir)
        said.model_checkpoint_path = os.path.join(folder, said.model_checkpoint_path)
        said.all_model_checkpoint_paths = [os.path.join(folder, p) for p in said.all_model_checkpoint_paths]
    return said


def latest_checkpoint(checkpoint_dir: PathLike, latest_filename: str | None = None) -> str | None:
    """The path of the latest checkpoint of a directory, for `Checkpoint.restore`; None if there is none.

    Args:
        checkpoint_dir: the directory.
        latest_filename: the name of the file there that lists the checkpoints; 'checkpoint' by default.

    Raises:
        DataLossError: if that file is damaged.

    >>> import gradtape as tf, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> print(latest_checkpoint(folder))
    None
    >>> tf.train.Checkpoint(v=tf.Variable(1.0)).save(folder + "/ckpt") == latest_checkpoint(folder)
    True
    """
    said = get_checkpoint_state(checkpoint_dir, latest_filename)
    if said is None or not files.file_of(said.model_checkpoint_path).exists():
        return None
    return said.model_checkpoint_path


def checkpoints_iterator(
    checkpoint_dir: PathLike,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """The latest checkpoint of a directory, and each new one when it comes.

    Args:
        checkpoint_dir: the directory.
        min_interval_secs: the least number of seconds between two checkpoints that are yielded.
        timeout: how many seconds to wait for the next; None to wait without end.
        timeout_fn: called after a timeout; the iterator goes on if it returns False, and ends without it.

    >>> import tempfile
    >>> list(checkpoints_iterator(tempfile.mkdtemp(), timeout=0))
    []
    """
    last = None
    while True:
        path = _next_checkpoint(checkpoint_dir, last, timeout)
        if path is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        last, shown = path, time.monotonic()
        yield path
        time.sleep(max(0.0, shown + min_interval_secs - time.monotonic()))


def _next_checkpoint(directory: PathLike, last: str | None, timeout: float | None) -> str | None:
    """A checkpoint that is not the last one, waited for up to `timeout` seconds."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        path = latest_checkpoint(directory)
        if path is not None and path != last:
            return path
        if deadline is not None and time.monotonic() >= deadline:
            return None
        time.sleep(0.1 if deadline is None else min(0.1, max(0.0, deadline - time.monotonic())))
