"""Checkpoint: saves the variables of an object graph to a file, and restores them from it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.errors import NotFoundError
from ..core.types import PathLike
from ..core.variable import Variable
from . import files, latest
from .graph import children, is_trackable, walk
from .parts import is_divided
from .restore import CheckpointLoadStatus, InitializationOnlyStatus, Restoration


class Checkpoint:
    """The variables of objects, to be saved and restored.

    Objects are given by keyword. Their variables are found in attributes, lists, tuples and dictionaries, however deep;
    iterators of datasets are saved with their positions. A value is restored to the variable that is found under the
    same names as when it was saved: the objects themselves may be new.

    Args:
        root: an object whose own parts are saved under their names.
        kwargs: the other objects to save, by their names.

    Raises:
        ValueError: for an object that cannot be restored into, or a name that is taken.

    >>> import gradtape as tf, tempfile
    >>> v = tf.Variable(1.0)
    >>> path = Checkpoint(step=v).save(tempfile.mkdtemp() + "/ckpt")
    >>> path[-7:], float(v.assign(5.0))
    ('/ckpt-1', 5.0)
    >>> status = Checkpoint(step=v).restore(path).assert_consumed()
    >>> float(v)
    1.0
    """

    def __init__(self, root: object = None, **kwargs: object) -> None:
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
        """The objects to save: parts of the root, those given by name, and `save_counter`."""
        own = {name: value for name, value in vars(self).items() if name not in ("_root", "_save_counter")}
        inside = {} if self._root is None else dict(children(self._root))
        counter = {} if self._save_counter is None else {"save_counter": self._save_counter}
        return [*(inside | own | counter).items()]

    @property
    def save_counter(self) -> Variable:
        """The number of calls of `save`: a variable, which is itself saved."""
        if self._save_counter is None:
            self._save_counter = Variable(np.int64(0), trainable=False, name="save_counter")
        return self._save_counter

    def save(self, file_prefix: PathLike, options: object = None) -> str:
        """Save under a name with a number that counts up, and make this the latest checkpoint of its directory.

        Args:
            file_prefix: the path of the file but for the number.
            options: accepted; no effect.

        Returns:
            The path to give to `restore`. The file itself ends in '.safetensors'.
        """
        prefix = os.fspath(file_prefix)

        def is_latest(path: str) -> None:
            if self._is_written_here():
                latest.update(os.path.dirname(path), latest.State(os.path.basename(path)))

        return self._counted(lambda number: f"{prefix}-{number}", is_latest)

    def _counted(self, name: Callable[[int], str], then: Callable[[str], None]) -> str:
        """Add one to the count, write, and call `then`; if any of this fails the count is restored."""
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

    def _is_written_here(self) -> bool:
        """Return whether this process keeps the record of checkpoints: of values that are divided, the first does."""
        divided = any(is_divided(node.thing) for node in walk(self) if isinstance(node.thing, Variable))
        return not divided or files.is_first()

    def write(self, file_prefix: PathLike, options: object = None) -> str:
        """Save under this very name, without counting.

        Where variables are divided among processes, all of these call it, and each writes what it has.

        Args:
            file_prefix: the path of the file but for '.safetensors'.
            options: accepted; no effect.

        Returns:
            The path to give to `restore` or `read`.

        Raises:
            InvalidArgumentError: if a variable holds strings.
        """
        prefix = os.fspath(file_prefix)
        nodes, tensors, divided = [], {}, {}
        for node in walk(self):
            entry: dict[str, Any] = {"children": node.children}
            if isinstance(node.thing, Variable):
                entry["tensor"] = node.name
                if is_divided(node.thing):
                    divided[node.name] = node.thing
                else:
                    tensors[node.name] = np.asarray(node.thing._array)
            elif hasattr(type(node.thing), "_save_state"):
                entry["state"] = node.thing._save_state()
            nodes.append(entry)
        files.save(prefix, files.Saved(nodes, tensors, divided))
        return prefix

    def restore(
        self, save_path: PathLike | None, options: object = None
    ) -> CheckpointLoadStatus | InitializationOnlyStatus:
        """Restore what `save` or `write` wrote.

        All or nothing: if the file is damaged, or a value does not fit its variable, nothing changes. Variables that
        are added to the objects later get their values then.

        Args:
            save_path: what `save` or `latest_checkpoint` returned; None restores nothing.
            options: accepted; no effect.

        Returns:
            A status that can be asked whether every value was used: `assert_consumed()`, ...

        Raises:
            NotFoundError: if there is no such file.
            DataLossError: if it is damaged.
            InvalidArgumentError: if a value does not fit its variable.
        """
        if save_path is None:
            return InitializationOnlyStatus()
        saved = files.load(save_path)
        self.save_counter  # noqa: B018  so that it is there to be restored
        return CheckpointLoadStatus(Restoration(saved), self)

    def read(self, save_path: PathLike, options: object = None) -> CheckpointLoadStatus:
        """Restore what `write` wrote to `save_path`, as `restore` does, but leave `save_counter` alone.

        `options` are accepted and have no effect.
        """
        return CheckpointLoadStatus(Restoration(files.load(save_path)), self)

    def sync(self) -> None:
        """Do nothing: `save` returns when all is on the disk."""


class DTensorCheckpoint(Checkpoint):
    """A checkpoint of variables that are divided among devices. `Checkpoint` saves them just as well.

    Args:
        mesh: accepted: variables know theirs.
        root: as for `Checkpoint`.
        kwargs: as for `Checkpoint`.

    >>> import gradtape as tf, tempfile
    >>> mesh = tf.experimental.dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> DTensorCheckpoint(mesh, v=tf.Variable(1.0)).save(tempfile.mkdtemp() + "/ckpt")[-6:]
    'ckpt-1'
    """

    def __init__(self, mesh: Any, root: object = None, **kwargs: object) -> None:
        super().__init__(root, **kwargs)


def _check(name: str, value: Any, named: bool = True) -> None:
    if isinstance(value, Variable) and not named:
        raise ValueError("Checkpoint: a variable needs a name: Checkpoint(v=variable)")
    if not is_trackable(value):
        raise ValueError(
            f"Checkpoint: {name} is {value!r}, which cannot be restored into. Put a value into a Variable: "
            f"Checkpoint({name}=Variable(...))"
        )


# ---------------------------------------------------------------------------------------------------------------------
# Reading a checkpoint


class CheckpointOptions:
    """Options of TensorFlow's for saving and restoring, which `Checkpoint` accepts: none of them changes the result.

    Args:
        experimental_io_device: where files are written; no effect.
        experimental_enable_async_checkpoint: another name for `enable_async`.
        experimental_write_callbacks: no effect.
        enable_async: whether a thread writes the file; here it is written when `save` returns.
        experimental_skip_slot_variables: no effect.
        experimental_sharding_callback: no effect: there is one file.

    >>> CheckpointOptions(enable_async=True).enable_async
    True
    """

    def __init__(
        self,
        experimental_io_device: str | None = None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks: Any = None,
        enable_async: bool = False,
        experimental_skip_slot_variables: bool = False,
        experimental_sharding_callback: Any = None,
    ) -> None:
        self.experimental_io_device = experimental_io_device
        self.enable_async = experimental_enable_async_checkpoint or enable_async
        self.experimental_enable_async_checkpoint = self.enable_async
        self.experimental_write_callbacks = experimental_write_callbacks
        self.experimental_skip_slot_variables = experimental_skip_slot_variables
        self.experimental_sharding_callback = experimental_sharding_callback


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
        """Return whether there is a value of this name."""
        return _own_name(tensor_str) in self._tensors

    def get_tensor(self, tensor_str: str) -> Any:
        """A value, as a NumPy array. TensorFlow's longer names work as well.

        Raises:
            NotFoundError: if there is no value of this name.
        """
        if not self.has_tensor(tensor_str):
            raise NotFoundError(
                f"the checkpoint has no value {tensor_str!r}; it has {', '.join(sorted(self._tensors))}"
            )
        return self._tensors[_own_name(tensor_str)].copy()


def _own_name(name: str) -> str:
    return name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE")


def load_checkpoint(ckpt_dir_or_file: PathLike) -> CheckpointReader:
    """The values of a checkpoint, for reading.

    Args:
        ckpt_dir_or_file: the path that `save` returned, or a directory, of which the latest checkpoint is read.

    Raises:
        NotFoundError: if there is none.

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


def list_variables(ckpt_dir_or_file: PathLike) -> list[tuple[str, list[int]]]:
    """The names and shapes of the values in a checkpoint; `ckpt_dir_or_file` is as for `load_checkpoint`.

    >>> import gradtape as tf, tempfile
    >>> list_variables(tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(tempfile.mkdtemp() + "/best"))
    [('v', [2])]
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: PathLike, name: str) -> Any:
    """One value of a checkpoint, as a NumPy array; `ckpt_dir_or_file` is as for `load_checkpoint`.

    >>> import gradtape as tf, tempfile
    >>> load_variable(tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(tempfile.mkdtemp() + "/best"), "v")
    array([1., 2.], dtype=float32)
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)
