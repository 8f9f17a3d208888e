"""PreemptionCheckpointHandler: a program that is asked to end saves a checkpoint first, and goes on when restarted."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..distribute.default_strategy import get_strategy
from .checkpoint import Checkpoint
from .manager import CheckpointManager


class TerminationConfig:
    """What happens when a program is asked to end.

    Args:
        termination_watcher_fn: a function that says whether it is; by default SIGTERM asks.
        exit_fn: ends the program after saving; by default `sys.exit(0)`.
        grace_period: accepted: the program saves after the step that runs.
        save_fn: saves, in place of the checkpoint manager's `save`.

    >>> TerminationConfig(grace_period=30).grace_period
    30
    """

    def __init__(
        self,
        termination_watcher_fn: Callable[[], bool] | None = None,
        exit_fn: Callable[[], Any] | None = None,
        grace_period: float | None = None,
        save_fn: Callable[..., Any] | None = None,
    ) -> None:
        self.termination_watcher_fn = termination_watcher_fn
        self.exit_fn = exit_fn
        self.grace_period = grace_period
        self.save_fn = save_fn


class PreemptionCheckpointHandler:
    """Restores the last checkpoint, runs steps, and saves when SIGTERM, to any process, asks the program to end.

    Args:
        cluster_resolver: accepted: the strategy in use knows the processes.
        checkpoint_or_checkpoint_manager: what to save, or the manager that does.
        checkpoint_dir: the folder, for a checkpoint without a manager.
        termination_config: what happens then.

    Raises:
        ValueError: for a checkpoint without a folder.

    >>> import gradtape as tf, tempfile
    >>> step = tf.Variable(0)
    >>> manager = tf.train.CheckpointManager(tf.train.Checkpoint(step=step), tempfile.mkdtemp(), max_to_keep=1)
    >>> handler = tf.distribute.experimental.PreemptionCheckpointHandler(None, manager)
    >>> for _ in range(3):
    ...     _ = handler.run(lambda: step.assign_add(1))
    >>> handler.total_run_calls
    3
    """

    def __init__(
        self,
        cluster_resolver: Any,
        checkpoint_or_checkpoint_manager: Checkpoint | CheckpointManager,
        checkpoint_dir: str | None = None,
        termination_config: TerminationConfig | None = None,
    ) -> None:
        if termination_config is not None and not isinstance(termination_config, TerminationConfig):
            raise TypeError(
                "PreemptionCheckpointHandler: termination_config must be a TerminationConfig, "
                f"not {type(termination_config).__name__}"
            )
        given = checkpoint_or_checkpoint_manager
        if isinstance(given, CheckpointManager):
            self._manager = given
        elif checkpoint_dir is None:
            raise ValueError(
                "PreemptionCheckpointHandler: a checkpoint needs checkpoint_dir; or give a CheckpointManager"
            )
        else:
            self._manager = CheckpointManager(given, checkpoint_dir, max_to_keep=1)
        self._config = termination_config or TerminationConfig()
        self._asked = False
        self._calls = 0
        self._extended = get_strategy().extended
        self._manager.restore_or_initialize()
        if self._config.termination_watcher_fn is None:
            signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, number: int, frame: Any) -> None:
        self._asked = True

    @property
    def total_run_calls(self) -> int:
        """How many steps `run` has run in this process."""
        return self._calls

    def run(self, distributed_train_function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run one step; afterwards save and end, if the program was asked to.

        Args:
            distributed_train_function: the step.
            args, kwargs: its arguments.
        """
        result = distributed_train_function(*args, **kwargs)
        self._calls += 1
        self.save_checkpoint_if_preempted()
        return result

    def save_checkpoint_if_preempted(self, *args: Any, **kwargs: Any) -> None:
        """Save and end, if any process was asked to end. All processes call it after the same steps.

        Args:
            args, kwargs: go to the manager's `save`.
        """
        watch = self._config.termination_watcher_fn
        asked = self._asked or (watch is not None and bool(watch()))
        if not self._anywhere(asked):
            return
        save = self._config.save_fn or self._manager.save
        if self._extended.should_checkpoint or self._config.save_fn is not None:
            save(*args, **kwargs)
        self._anywhere(True)  # no process ends before the checkpoint is there
        (self._config.exit_fn or (lambda: sys.exit(0)))()

    def _anywhere(self, asked: bool) -> bool:
        """Whether this is so in any process."""
        if not self._extended._in_multi_worker_mode():
            return asked
        return bool(np.any(self._extended.of_each_process(np.array(asked, np.int32))))
