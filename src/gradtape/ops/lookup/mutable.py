"""Tables that change: `MutableHashTable` and `DenseHashTable`. Checkpoints save their contents.

They live in eager code: a @function that uses one runs operation by operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import InvalidArgumentError, NotCompilableError
from ...core.primitive import local
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert_to_tensor
from ...core.trace_errors import where
from ...core.types import DTypeLike, TensorLike
from ..known import known
from ..scalars import integer
from .tables import Contents, Table


class MutableHashTable(Table):
    """A table into which keys and values can be inserted at any time.

    Args:
        key_dtype: of the keys.
        value_dtype: of the values.
        default_value: for keys that are not there; its shape is that of all values.
        name: the name of the table.
        checkpoint: whether checkpoints save the contents.
        experimental_is_anonymous: accepted; no effect.

    >>> table = MutableHashTable("string", "int64", default_value=-1)
    >>> table.insert(["a", "b"], [1, 2])
    >>> table.lookup(["b", "z"]).numpy()
    array([ 2, -1])
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self._name = name
        self.key_dtype, self.value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
        default = convert_to_tensor(default_value, self.value_dtype)
        self._contents = Contents(self.key_dtype, self.value_dtype, default)
        self._is_saved = checkpoint

    def size(self, name: str | None = None) -> Tensor:
        """The number of keys, int64."""
        return wrap(np.array(len(self._present().by_key), np.int64))

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> None:
        """Insert keys with their values; a key that is there gets the new value.

        Args:
            keys: a tensor of the table's key dtype.
            values: for each key one.

        Raises:
            InvalidArgumentError: if keys and values do not fit each other.
            TypeError: if they have other dtypes.
        """
        self._present().by_key.update(self._entries(keys, values))

    def remove(self, keys: TensorLike, name: str | None = None) -> None:
        """Remove keys; those that are not there do not matter.

        Args:
            keys: a tensor of the table's key dtype.

        Raises:
            TypeError: if they have another dtype.
        """
        by_key = self._present().by_key
        for key in self._arrays(self._keys(keys)).reshape(-1).tolist():
            by_key.pop(key, None)

    def lookup(  # type: ignore[override]  # TensorFlow's order of arguments
        self, keys: Any, dynamic_default_values: TensorLike | None = None, name: str | None = None
    ) -> Any:
        """The values of keys; the default value for keys that are not there.

        Args:
            keys: a tensor, a sparse tensor or a ragged one, of which the values are looked up.
            dynamic_default_values: defaults instead of the table's: one, or one for each key.

        Raises:
            InvalidArgumentError: if there are neither one nor as many defaults as keys.
            TypeError: if the keys have another dtype.
        """
        if dynamic_default_values is None:
            return self._each(keys, self._dense)
        defaults = self._arrays(convert_to_tensor(dynamic_default_values, self.value_dtype))
        find = self._present().find
        return self._each(keys, lambda k: wrap(find(self._arrays(k), self._spread(k, defaults))))

    def _dense(self, keys: Tensor) -> Tensor:
        return wrap(self._present().find(self._arrays(keys)))

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys, and their values."""
        return self._present().export()

    def _present(self) -> Contents:
        """The contents as they are now, which compiled code cannot see."""
        if local.here.trace is not None:
            raise NotCompilableError(
                f"{type(self).__name__}: a table that changes cannot be used while a @function is traced ({where()}): "
                "look up outside of the function, or in a tf.lookup.StaticHashTable"
            )
        return self._contents

    def _arrays(self, tensor: Tensor) -> Any:
        return known(type(self).__name__, "an argument", tensor._array)

    def _entries(self, keys: TensorLike, values: TensorLike) -> list[tuple[Any, Any]]:
        return self._contents.entries(f"{type(self).__name__}.insert", self._keys(keys), values)

    def _spread(self, keys: Tensor, defaults: Any) -> Any:
        shape = keys._array.shape + self._contents.default.shape
        if defaults.shape not in (shape, self._contents.default.shape):
            raise InvalidArgumentError(
                f"{type(self).__name__}.lookup: dynamic_default_values must have the shape {list(shape)} or that of "
                f"one value, not {list(defaults.shape)}"
            )
        return np.broadcast_to(defaults, shape)

    def _save_state(self) -> dict[str, Any] | None:
        """Keys and values as plain lists, for a checkpoint; None if they are not to be saved."""
        if not self._is_saved:
            return None
        return {name: _plain(t._array) for name, t in zip(("keys", "values"), self._contents.export())}

    def _prepare_state(self, state: Any) -> Callable[[], None]:
        """Read saved contents, and return a function that puts them in place of what is there."""
        if state is None or not self._is_saved:
            return lambda: None
        keys, values = (
            _array(state[name], dtype)
            for name, dtype in (("keys", self.key_dtype), ("values", self.value_dtype))
        )
        shaped = values.reshape(len(keys), *self._contents.default.shape)
        found = dict(self._contents.entries("restore", wrap(keys), wrap(shaped)))

        def go() -> None:
            self._contents.by_key = found

        return go


def _plain(array: Any) -> Any:
    """Nested lists; a string as a text that holds a character for each byte."""
    return [x.decode("latin-1") for x in array.reshape(-1)] if array.dtype.kind == "O" else array.tolist()


def _array(values: list[Any], dtype: dtypes.DType) -> Any:
    if dtype is dtypes.string:
        values = [x.encode("latin-1") for x in values]
    return np.array(values, dtype.numpy_dtype)


class DenseHashTable(MutableHashTable):
    """A table for numbers or strings in which two keys have a meaning of their own and cannot be used.

    TensorFlow's stores its contents in an array; here it is as a `MutableHashTable` but for these keys.

    Args:
        key_dtype: of the keys.
        value_dtype: of the values.
        default_value: for keys that are not there; its shape is that of all values.
        empty_key: a key that is never used.
        deleted_key: another one.
        initial_num_buckets: accepted; no effect.
        name: the name of the table.
        checkpoint: whether checkpoints save the contents.
        experimental_is_anonymous: accepted; no effect.

    Raises:
        InvalidArgumentError: if the two keys are the same.

    >>> table = DenseHashTable("int64", "int64", default_value=-1, empty_key=0, deleted_key=-1)
    >>> table.insert([5], [50])
    >>> table.lookup([5, 6]).numpy()
    array([50, -1])
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        empty_key: TensorLike,
        deleted_key: TensorLike,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)
        if initial_num_buckets is not None:
            integer("DenseHashTable", "initial_num_buckets", initial_num_buckets, 1)
        self._reserved = {
            self._reserved_key(key, word): word
            for key, word in ((empty_key, "empty_key"), (deleted_key, "deleted_key"))
        }
        if len(self._reserved) < 2:
            raise InvalidArgumentError("DenseHashTable: empty_key and deleted_key must differ")

    def _reserved_key(self, key: TensorLike, word: str) -> Any:
        array = self._arrays(convert_to_tensor(key, self.key_dtype))
        if array.ndim:
            raise InvalidArgumentError(
                f"DenseHashTable: {word} must be one key, not of shape {list(array.shape)}"
            )
        return array.item()

    def insert_or_assign(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> None:
        """Insert `keys` with their `values`: the same as `insert`."""
        self.insert(keys, values)

    def erase(self, keys: TensorLike, name: str | None = None) -> None:
        """Remove `keys`: the same as `remove`."""
        self.remove(keys)

    def _keys(self, keys: Any) -> Tensor:
        tensor = super()._keys(keys)
        for key, word in self._reserved.items():
            if (self._arrays(tensor) == key).any():
                raise InvalidArgumentError(
                    f"DenseHashTable: {key!r} is the {word}, which cannot be used as a key"
                )
        return tensor
