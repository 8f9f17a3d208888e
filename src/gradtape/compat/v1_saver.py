"""`compat.v1.train.Saver` as in TensorFlow's eager mode: variables by their names, in gradtape's checkpoints."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.errors import InvalidArgumentError, NotFoundError
from ..core.types import IntLike, PathLike
from ..core.variable import Variable
from ..train import files, latest
from ..train.checkpoint import CheckpointReader


class Saver:
    """Saves variables under their names, and restores them; the oldest files go when there are too many.

    Args:
        var_list: the variables, in a list (saved by `v.name` without ':0'), or in a dictionary by other names.
        reshape: whether a value of another shape, with as many elements, is restored.
        max_to_keep: how many checkpoints stay; None or 0 for all.
        keep_checkpoint_every_n_hours: one checkpoint in so many hours stays for good.
        pad_step_number: whether steps in file names have eight digits.
        sharded, name, restore_sequentially, saver_def, builder, defer_build, allow_empty, write_version,
            save_relative_paths, filename: accepted; no effect.

    Raises:
        RuntimeError: without variables.
        ValueError: if two variables have one name.

    >>> import gradtape as tf, tempfile
    >>> v = tf.Variable([1.0, 2.0], name="v")
    >>> saver = Saver([v])
    >>> path = saver.save(None, tempfile.mkdtemp() + "/model", global_step=3)
    >>> path[-8:], v.assign([0.0, 0.0]).numpy()
    ('/model-3', array([0., 0.], dtype=float32))
    >>> saver.restore(None, path)
    >>> v.numpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        var_list: Mapping[str, Variable] | Iterable[Variable] | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if var_list is None:
            raise RuntimeError(
                "Saver: give var_list, a list or dictionary of variables: there is no graph to find them in"
            )
        self._variables = _by_name(var_list)
        self._reshape, self._pad = reshape, pad_step_number
        self._max_to_keep, self._hours = max_to_keep or None, keep_checkpoint_every_n_hours
        self._kept: dict[str, float] = {}
        self._next_for_good = time.time() + self._hours * 3600

    def save(
        self,
        sess: None,
        save_path: PathLike,
        global_step: IntLike | None = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str:
        """Save the variables.

        Args:
            sess: None: there are no sessions.
            save_path: the path of the file but for '.safetensors'.
            global_step: a number that is added to the path.
            latest_filename: the file in the same folder that lists the checkpoints; 'checkpoint' by default.
            write_state: whether that file is written.
            meta_graph_suffix, write_meta_graph, strip_default_attrs, save_debug_info: accepted; there is no graph.

        Returns:
            The path, for `restore`.
        """
        prefix = os.fspath(save_path)
        if global_step is not None:
            prefix += f"-{int(global_step):0{8 if self._pad else 1}d}"
        nodes: list[dict[str, Any]] = [{"children": {name: i + 1 for i, name in enumerate(self._variables)}}]
        nodes += [{"children": {}, "tensor": name} for name in self._variables]
        values = {name: np.asarray(variable._array) for name, variable in self._variables.items()}
        files.save(prefix, files.Saved(nodes, values))
        self._kept.pop(prefix, None)
        self._kept[prefix] = time.time()
        surplus = self._surplus()
        if write_state:
            folder = os.path.dirname(prefix)
            kept = {os.path.relpath(path, folder or "."): saved for path, saved in self._kept.items()}
            latest.update(
                folder,
                latest.State(os.path.basename(prefix), list(kept), list(kept.values())),
                latest_filename,
            )
        for old in surplus:
            with contextlib.suppress(OSError):  # gone already
                files.remove(old)
        return prefix

    def _surplus(self) -> list[str]:
        """Take the oldest beyond `max_to_keep` out of those kept, and return which of them are to be removed."""
        surplus = []
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            path = next(iter(self._kept))
            saved = self._kept.pop(path)
            if saved > self._next_for_good:
                self._next_for_good += self._hours * 3600
            else:
                surplus.append(path)
        return surplus

    def restore(self, sess: None, save_path: PathLike) -> None:
        """Restore the variables: all of them, or none if one does not fit.

        Args:
            sess: None: there are no sessions.
            save_path: what `save` returned, or a checkpoint of `tf.train.Checkpoint` with these names.

        Raises:
            ValueError: if there is no such checkpoint.
            NotFoundError: if it has no value of a variable's name.
            InvalidArgumentError: if a value has another shape, or the checkpoint is in TensorFlow's own format.
        """
        try:
            saved = CheckpointReader(os.fspath(save_path))
        except (TypeError, NotFoundError) as error:
            raise ValueError(f"Saver.restore: there is no checkpoint {save_path!r}") from error
        values = {name: saved.get_tensor(name) for name in self._variables if saved.has_tensor(name)}
        lacking = [name for name in self._variables if name not in values]
        if lacking:
            there = ", ".join(sorted(saved.get_variable_to_shape_map()))
            raise NotFoundError(
                f"Saver.restore: {save_path!r} has no value of {', '.join(lacking)}; it has {there}"
            )
        for name, variable in self._variables.items():
            found, wanted = values[name], variable._array
            fits = found.shape == wanted.shape or (self._reshape and found.size == wanted.size)
            if not fits or found.dtype != wanted.dtype:
                raise InvalidArgumentError(
                    f"Saver.restore: the variable {name!r} is {wanted.dtype} of shape {list(wanted.shape)}, and the "
                    f"saved value {found.dtype} of shape {list(found.shape)}"
                )
        for name, variable in self._variables.items():
            variable.assign(values[name].reshape(variable._array.shape))

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that are kept, the oldest first."""
        return list(self._kept)

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Take over checkpoints of an earlier run, the oldest first, as if they had been saved now."""
        self._kept = dict.fromkeys(last_checkpoints, time.time())

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: Sequence[tuple[str, float]]) -> None:
        """Take over checkpoints of an earlier run, the oldest first, each with the time when it was saved."""
        self._kept = dict(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Take over those of the checkpoints of an earlier run that still exist."""
        self.set_last_checkpoints([path for path in checkpoint_paths if checkpoint_exists(path)])


def _by_name(given: Mapping[str, Variable] | Iterable[Variable]) -> dict[str, Variable]:
    pairs = (
        list(given.items())
        if isinstance(given, Mapping)
        else [(str(getattr(v, "name", "")).removesuffix(":0"), v) for v in given]
    )
    found: dict[str, Variable] = {}
    for name, variable in pairs:
        if not isinstance(variable, Variable):
            raise TypeError(f"Saver: var_list must have variables, and not {variable!r}")
        if name in found and found[name] is not variable:
            raise ValueError(
                f"Saver: two variables are named {name!r}: give them names of their own in a dictionary"
            )
        found[name] = variable
    return found


def checkpoint_exists(checkpoint_prefix: PathLike) -> bool:
    """Return whether there is a checkpoint of this prefix.

    >>> checkpoint_exists("/nowhere/ckpt-1")
    False
    """
    return files.file_of(checkpoint_prefix).exists()


def remove_checkpoint(
    checkpoint_prefix: PathLike, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Remove a checkpoint, if there is one of this prefix. The other arguments are accepted, and have no effect.

    >>> remove_checkpoint("/nowhere/ckpt-1")
    """
    with contextlib.suppress(FileNotFoundError):
        files.remove(os.fspath(checkpoint_prefix))


def NewCheckpointReader(filepattern: str) -> CheckpointReader:
    """The values of a checkpoint, for reading; `filepattern` is its prefix.

    >>> import tempfile
    >>> v = Variable(1.0, name="v")
    >>> NewCheckpointReader(Saver([v]).save(None, tempfile.mkdtemp() + "/model")).get_tensor("v")
    array(1., dtype=float32)
    """
    return CheckpointReader(filepattern)


SAVERS: dict[str, Any] = {
    "train.NewCheckpointReader": NewCheckpointReader,
    "train.Saver": Saver,
    "train.checkpoint_exists": checkpoint_exists,
    "train.remove_checkpoint": remove_checkpoint,
}
