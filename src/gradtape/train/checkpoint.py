"""Checkpoint: saves the variables of an object graph to a file, and restores them from it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.errors import NotFoundError
from ..core.variable import Variable
from . import files, latest
from .graph import children, is_trackable, walk
from .restore import CheckpointLoadStatus, InitializationOnlyStatus, Restoration


class Checkpoint:
    """The variables of objects, to be saved and restored.

    Objects are given by keyword. Their variables are found in attributes, lists, tuples and dictionaries, however deep;
    iterators of datasets are saved with their positions. What a name led to when it was saved, the same name gets when
    it is restored: the objects themselves may be new.

    Args:
        root: an object whose own parts are saved under their names.
        kwargs: the other objects to save, by their names.

    >>> import gradtape as tf, tempfile
    >>> v = tf.Variable(1.0)
    >>> path = Checkpoint(step=v).save(tempfile.mkdtemp() + "/ckpt")
    >>> path[-7:], float(v.assign(5.0))
    ('/ckpt-1', 5.0)
    >>> status = Checkpoint(step=v).restore(path).assert_consumed()
    >>> float(v)
    1.0
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        self._root = root
        self._save_counter: Variable | None = None
        if root is not None:
            _check("root", root, named=False)
        inside = {} if root is None else dict(children(root))
        for name, value in kwargs.items():
            _check(name, value)
            if hasattr(type(self), name) and name != "save_counter":
                raise ValueError(f"Checkpoint({name}=...): the name is taken by a method; choose another")
            if name in inside and inside[name] is not value:
                raise ValueError(f"Checkpoint: root has another {name!r} already; choose another name")
            setattr(self, name, value)

    def _checkpoint_children(self) -> list[tuple[str, Any]]:
        """What is saved: parts of the root, what was given by name, and the count of savings."""
        own = {name: value for name, value in vars(self).items() if name not in ("_root", "_save_counter")}
        inside = {} if self._root is None else dict(children(self._root))
        counter = {} if self._save_counter is None else {"save_counter": self._save_counter}
        return [*(inside | own | counter).items()]

    @property
    def save_counter(self) -> Variable:
        """How often `save` was called: a variable, which is saved too."""
        if self._save_counter is None:
            self._save_counter = Variable(np.int64(0), trainable=False, name="save_counter")
        return self._save_counter

    def save(self, file_prefix: Any, options: Any = None) -> str:
        """Save under `file_prefix` and a number that counts up, and make it the latest of its directory.

        Returns:
            The path to give to `restore`. The file itself ends in '.safetensors'.
        """
        prefix = os.fspath(file_prefix)

        def is_latest(path: str) -> None:
            latest.update(os.path.dirname(path), latest.State(os.path.basename(path)))

        return self._counted(lambda number: f"{prefix}-{number}", is_latest)

    def _counted(self, name: Callable[[int], str], then: Callable[[str], None]) -> str:
        """Count one more, write, and do what is to be done then; if any of it fails the count is as it was."""
        counter = self.save_counter
        before = counter._array.copy()
        counter.assign_add(1)
        try:
            path = self.write(name(int(counter)))
            then(path)
        except BaseException:
            counter._put(before)
            raise
        return path

    def write(self, file_prefix: Any, options: Any = None) -> str:
        """Save under this very name, without counting."""
        prefix = os.fspath(file_prefix)
        nodes, tensors = [], {}
        for node in walk(self):
            entry: dict[str, Any] = {"children": node.children}
            if isinstance(node.thing, Variable):
                entry["tensor"] = node.name
                tensors[node.name] = np.asarray(node.thing._array)
            elif hasattr(type(node.thing), "_save_state"):
                entry["state"] = node.thing._save_state()
            nodes.append(entry)
        files.save(prefix, files.Saved(nodes, tensors))
        return prefix

    def restore(self, save_path: Any, options: Any = None) -> CheckpointLoadStatus | InitializationOnlyStatus:
        """Restore what `save` or `write` wrote; None, as `latest_checkpoint` may give it, restores nothing.

        The file is checked as a whole first: if it is damaged, or a value does not fit its variable, nothing changes.
        Variables that come to the objects later get their values when they come.

        Returns:
            A status that can be asked whether all found its place: `assert_consumed()`, ...
        """
        if save_path is None:
            return InitializationOnlyStatus()
        saved = files.load(save_path)
        self.save_counter  # noqa: B018  so that it is there to be restored
        return CheckpointLoadStatus(Restoration(saved), self)

    def read(self, save_path: Any, options: Any = None) -> CheckpointLoadStatus:
        """Restore, but for the count of savings."""
        return CheckpointLoadStatus(Restoration(files.load(save_path)), self)

    def sync(self) -> None:
        """Nothing is under way: `save` returns when all is on the disk."""


def _check(name: str, value: Any, named: bool = True) -> None:
    if isinstance(value, Variable) and not named:
        raise ValueError("Checkpoint: a variable needs a name: Checkpoint(v=variable)")
    if not is_trackable(value):
        raise ValueError(
            f"Checkpoint: {name} is {value!r}, which cannot be restored into. Put a value into a Variable: "
            f"Checkpoint({name}=Variable(...))"
        )


# ---------------------------------------------------------------------------------------------------------------------
# Looking into a checkpoint


class CheckpointReader:
    """The values of a checkpoint, by their names: the paths to the variables, such as 'model/w'."""

    def __init__(self, prefix: str) -> None:
        self._tensors = files.load(prefix).tensors

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shapes of all values."""
        return {name: list(array.shape) for name, array in self._tensors.items()}

    def get_variable_to_dtype_map(self) -> dict[str, dtypes.DType]:
        """The dtypes of all values."""
        return {name: dtypes.of(array) for name, array in self._tensors.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Is there a value of this name?"""
        return _own_name(tensor_str) in self._tensors

    def get_tensor(self, tensor_str: str) -> Any:
        """A value, as a NumPy array. TensorFlow's longer names do too."""
        if not self.has_tensor(tensor_str):
            raise NotFoundError(
                f"the checkpoint has no value {tensor_str!r}; it has {', '.join(sorted(self._tensors))}"
            )
        return self._tensors[_own_name(tensor_str)].copy()


def _own_name(name: str) -> str:
    return name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE")


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """The values of a checkpoint, or of the latest in a directory, to look at.

    >>> import gradtape as tf, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).save(folder + "/ckpt")
    >>> load_checkpoint(folder).get_tensor("v")
    array([1., 2.], dtype=float32)
    """
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        found = latest.latest_checkpoint(path)
        if found is None:
            raise NotFoundError(f"there is no checkpoint in the directory {path!r}")
        path = found
    return CheckpointReader(path)


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """The names and shapes of the values in a checkpoint.

    >>> import gradtape as tf, tempfile
    >>> list_variables(tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(tempfile.mkdtemp() + "/best"))
    [('v', [2])]
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """One value of a checkpoint, as a NumPy array.

    >>> import gradtape as tf, tempfile
    >>> load_variable(tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(tempfile.mkdtemp() + "/best"), "v")
    array([1., 2.], dtype=float32)
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)
