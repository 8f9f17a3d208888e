"""CheckpointManager: keeps the last few checkpoints of a directory."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import Any

from ..core.errors import DataLossError
from ..core.types import IntLike, PathLike
from . import files, latest
from .checkpoint import Checkpoint


class CheckpointManager:
    """Saves checkpoints into a directory and removes older ones; goes on where an earlier manager stopped.

    Only checkpoints that this or an earlier manager of the same directory and name has saved are removed.

    Args:
        checkpoint: what to save.
        directory: where; it is created if need be.
        max_to_keep: how many to keep; None for all.
        keep_checkpoint_every_n_hours: of those to be removed, keep one for every so many hours.
        checkpoint_name: the name of the files, to which a number is added.
        step_counter: a variable that counts steps, for `checkpoint_interval`.
        checkpoint_interval: `save` does nothing until so many steps have passed since the last time.
        init_fn: called by `restore_or_initialize` where there is no checkpoint.
        last_checkpoint_step: the step at which the last checkpoint was saved, for `checkpoint_interval`.

    Raises:
        ValueError: if `max_to_keep` is not positive, or a `checkpoint_interval` is given without a `step_counter`.

    >>> import gradtape as tf, tempfile
    >>> manager = CheckpointManager(tf.train.Checkpoint(v=tf.Variable(1.0)), tempfile.mkdtemp(), max_to_keep=2)
    >>> for _ in range(3):
    ...     path = manager.save()
    >>> [path[-6:] for path in manager.checkpoints]
    ['ckpt-2', 'ckpt-3']
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: PathLike,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: IntLike | None = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"CheckpointManager: max_to_keep must be positive, or None for all, not {max_to_keep}"
            )
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("CheckpointManager: checkpoint_interval counts steps: give a step_counter too")
        self._checkpoint, self._directory = checkpoint, os.fspath(directory)
        self._max_to_keep, self._hours, self._name = (
            max_to_keep,
            keep_checkpoint_every_n_hours,
            checkpoint_name,
        )
        self._step_counter, self._interval, self._init_fn = step_counter, checkpoint_interval, init_fn
        self._last_step = last_checkpoint_step
        self._times: dict[str, float] = {}  # of the checkpoints that may be removed one day, oldest first
        self._last_preserved = time.time()
        self._latest: str | None = None
        self._resume()

    def _resume(self) -> None:
        """Take over what an earlier manager left."""
        said = latest.read(self._directory)
        if said is None:
            return
        for path, saved in said.times().items():
            if self._is_own(path) and files.file_of(self._full(path)).exists():
                self._times[path] = saved
        self._latest = said.model_checkpoint_path
        if self._latest not in self._times:
            self._latest = next(reversed(self._times), None)
        if said.last_preserved_timestamp is not None:
            self._last_preserved = said.last_preserved_timestamp

    def _is_own(self, path: str) -> bool:
        return path.rpartition("-")[0] == self._name

    def _full(self, path: str) -> str:
        return os.path.join(self._directory, path)

    @property
    def directory(self) -> str:
        """Where the checkpoints are."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that is saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """The number of steps between two checkpoints."""
        return self._interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the last checkpoint, for `Checkpoint.restore`; None if there is none."""
        return None if self._latest is None else self._full(self._latest)

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the checkpoints that are kept, oldest first."""
        return [self._full(path) for path in self._times]

    def save(
        self,
        checkpoint_number: IntLike | None = None,
        check_interval: bool = True,
        options: object = None,
    ) -> str | None:
        """Save, and remove all but the last `max_to_keep` checkpoints.

        Args:
            checkpoint_number: takes the place of the number that counts up.
            check_interval: False to save even if fewer than `checkpoint_interval` steps have passed.
            options: accepted; no effect.

        Returns:
            The path of the checkpoint; None if it was not time for one.
        """
        if check_interval and not self._is_due():
            return None
        return self._checkpoint._counted(
            lambda count: self._full(
                f"{self._name}-{count if checkpoint_number is None else int(checkpoint_number)}"
            ),
            self._enter,
        )

    def _enter(self, path: str) -> None:
        """Record a new checkpoint, first on the disk; then remove those that are too old."""
        newest = os.path.basename(path)
        times = {old: saved for old, saved in self._times.items() if old != newest} | {newest: time.time()}
        surplus, preserved = self._surplus(times)
        everything = self._others() | times
        is_written_here = self._checkpoint._is_written_here()
        if is_written_here:
            latest.update(
                self._directory,
                latest.State(newest, list(everything), list(everything.values()), preserved),
            )
        self._latest, self._times, self._last_preserved = newest, times, preserved
        if self._step_counter is not None:
            self._last_step = int(self._step_counter)
        for old in surplus if is_written_here else ():
            with contextlib.suppress(OSError):  # gone already, or it stays: the new one is safe
                files.remove(self._full(old))

    def _is_due(self) -> bool:
        if self._interval is None or self._last_step is None or self._step_counter is None:
            return True
        return int(self._step_counter) - self._last_step >= self._interval

    def _surplus(self, times: dict[str, float]) -> tuple[list[str], float]:
        """Take the oldest beyond `max_to_keep` out of `times`.

        Returns the checkpoints to remove, and when the last one was saved that is kept for its hour.
        """
        surplus, preserved = [], self._last_preserved
        while self._max_to_keep is not None and len(times) > self._max_to_keep:
            path = next(iter(times))
            saved = times.pop(path)
            if self._hours is not None and saved - self._hours * 3600 >= preserved:
                preserved = saved
            else:
                surplus.append(path)
        return surplus, preserved

    def _others(self) -> dict[str, float]:
        """The checkpoints that another manager keeps in the directory, under another name."""
        try:
            said = latest.read(self._directory)
        except DataLossError:
            return {}
        return {} if said is None else {path: t for path, t in said.times().items() if not self._is_own(path)}

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint and return its path; where there is none, call `init_fn` and return None."""
        path = self.latest_checkpoint
        if path is not None:
            self._checkpoint.restore(path)
            if self._step_counter is not None:
                self._last_step = int(self._step_counter)
            return path
        if self._init_fn is not None:
            self._init_fn()
        return None

    def sync(self) -> None:
        """Do nothing: `save` returns when all is on the disk."""
