"""Tables that are filled once: `StaticHashTable`, `StaticVocabularyTable`, and the initializer that fills them.

Contents are a Python dictionary. A lookup of traced keys compiles to a search in the sorted keys, which are constants.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.dtypes import DType
from ...core.errors import DTypeError, FailedPreconditionError, InvalidArgumentError
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert, convert_to_tensor
from ...core.types import DTypeLike, TensorLike
from ...engine.arrays import is_traced
from ..array.movement import cast, gather, reshape
from ..known import known
from ..math.functions import where
from ..math.sorting import searchsorted
from ..scalars import integer
from ..sparse.sparse_tensor import SparseTensor
from ..strings.hashing import to_hash_bucket_fast
from ..strings.texts import as_string
from .resource import TrackableResource


class Contents:
    """Keys and their values, all values of one shape and dtype."""

    def __init__(self, key_dtype: DType, value_dtype: DType, default: Tensor) -> None:
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self.default = known("lookup", "default_value", default._array)
        self.by_key: dict[Any, Any] = {}

    def entries(self, operation: str, keys: Any, values: Any) -> list[tuple[Any, Any]]:
        """Keys and values from tensors, after a check that they fit each other and the table."""
        found = convert_to_tensor(keys, self.key_dtype), convert_to_tensor(values, self.value_dtype)
        names, given = (known(operation, "the table's contents", t._array) for t in found)
        wanted = names.shape + self.default.shape
        if given.shape != wanted:
            raise InvalidArgumentError(
                f"{operation}: values for keys of shape {list(names.shape)} must have the shape {list(wanted)}, "
                f"not {list(given.shape)}"
            )
        rows = given.reshape((names.size, *self.default.shape))
        return list(zip(names.reshape(-1).tolist(), rows.tolist() if rows.ndim == 1 else rows, strict=True))

    def find(self, keys: Any, defaults: Any = None) -> Any:
        """The array of values for an array of keys; `defaults`, if given, has a value for each key."""
        names = keys.reshape(-1).tolist()
        if defaults is None:
            default = self.default if self.default.ndim else self.default.item()
            found = [self.by_key.get(key, default) for key in names]
        else:
            rows = defaults.reshape((len(names), *self.default.shape))
            found = [self.by_key.get(key, row) for key, row in zip(names, rows, strict=True)]
        return self._array(found).reshape(keys.shape + self.default.shape)

    def export(self) -> tuple[Tensor, Tensor]:
        """All keys, and their values."""
        values = self._array(list(self.by_key.values())).reshape(-1, *self.default.shape)
        return wrap(np.array(list(self.by_key), self.key_dtype.numpy_dtype)), wrap(values)

    def _array(self, found: list[Any]) -> Any:
        return np.array(found, self.value_dtype.numpy_dtype)

    @functools.cached_property
    def in_order(self) -> tuple[Any, Any]:
        """The keys in ascending order, and their values: of a table that does not change any more."""
        keys, values = self.export()
        order = np.argsort(keys._array)
        return keys._array[order], values._array[order]

    def find_traced(self, keys: Tensor) -> Tensor:
        """The values for keys that are known when the compiled function runs."""
        names, values = self.in_order
        known("StaticHashTable.lookup", "keys of strings", keys._array if values.dtype.kind == "O" else names)
        if not len(names):
            names, values = np.zeros(1, names.dtype), self.default[None]
        at = searchsorted(names[None], reshape(keys, (1, -1)), out_type="int64")
        at = reshape(at, keys._array.shape) % len(names)
        inside = reshape(gather(names, at) == keys, keys._array.shape + (1,) * self.default.ndim)
        return where(inside, gather(values, at), self.default)


class Table(TrackableResource, ABC):
    """What all tables share: dtypes, and lookups of the values of sparse and ragged tensors.

    >>> import gradtape as tf
    >>> initializer = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    >>> table = tf.lookup.StaticHashTable(initializer, default_value=-1)
    >>> isinstance(table, Table), table.lookup(tf.constant(["b", "c"])).numpy()
    (True, array([ 2, -1], dtype=int32))
    """

    _name: str
    key_dtype: DType
    value_dtype: DType

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._name

    @property
    def resource_handle(self) -> Any:
        """The table itself: there is no other handle."""
        return self

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys; the default value for keys that are not there.

        Args:
            keys: a tensor, a sparse tensor or a ragged one, of which the values are looked up.

        Raises:
            TypeError: if the keys have another dtype.
        """
        return self._each(keys, self._dense)

    def _checkpoint_children(self) -> list[tuple[str, Any]]:
        """No parts that a checkpoint would save by themselves."""
        return []

    def _each(self, keys: Any, find: Callable[[Tensor], Tensor]) -> Any:
        """`find` of the values of a dense, sparse or ragged tensor of keys."""
        if isinstance(keys, SparseTensor):
            return keys.with_values(find(self._keys(keys.values)))
        if hasattr(keys, "with_flat_values"):  # ragged
            return keys.with_flat_values(find(self._keys(keys.flat_values)))
        return find(self._keys(keys))

    @abstractmethod
    def _dense(self, keys: Tensor) -> Tensor:
        """The values of a tensor of keys, of the table's dtype."""

    def _keys(self, keys: Any) -> Tensor:
        tensor = convert_to_tensor(keys, dtype_hint=self.key_dtype)
        if tensor.dtype is not self.key_dtype:
            raise DTypeError(
                f"{type(self).__name__}: keys must be {self.key_dtype.name}, not {tensor.dtype.name}"
            )
        return tensor


class KeyValueTensorInitializer:
    """Keys and values to fill a table with.

    Args:
        keys: a tensor of keys.
        values: a tensor of the same shape.
        key_dtype: of the keys; by default as they are.
        value_dtype: of the values.

    >>> KeyValueTensorInitializer(["a", "b"], [1, 2]).key_dtype
    tf.string
    """

    def __init__(
        self,
        keys: TensorLike,
        values: TensorLike,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        self._keys = convert_to_tensor(keys, key_dtype)
        self._values = convert_to_tensor(values, value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._keys.dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype

    def initialize(self, table: StaticHashTable) -> None:
        """Fill a table: the table calls this.

        Raises:
            FailedPreconditionError: if a key has two values.
            InvalidArgumentError: if keys and values differ in shape.
        """
        table._fill(self._keys, self._values)


class StaticHashTable(Table):
    """A table that an initializer fills, and that stays as it is.

    Args:
        initializer: a `KeyValueTensorInitializer`, a `TextFileInitializer`, or an object of their kind.
        default_value: for keys that are not there.
        name: the name of the table.
        experimental_is_anonymous: accepted; no effect.

    Raises:
        TypeError: if the initializer is no such object, or the default value has another dtype.
        ValueError: if the default value is not one value.

    >>> table = StaticHashTable(KeyValueTensorInitializer(["a", "b"], [1, 2]), default_value=-1)
    >>> table.lookup(["b", "z"]).numpy()
    array([ 2, -1], dtype=int32)
    """

    def __init__(
        self,
        initializer: Any,
        default_value: TensorLike,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if not hasattr(initializer, "initialize"):
            raise TypeError(
                f"StaticHashTable: initializer must be a KeyValueTensorInitializer or a TextFileInitializer, "
                f"not {initializer!r}"
            )
        self.key_dtype, self.value_dtype = map(
            dtypes.as_dtype, (initializer.key_dtype, initializer.value_dtype)
        )
        default = convert_to_tensor(default_value, self.value_dtype)
        if default.ndim:
            raise ValueError(
                f"StaticHashTable: default_value must be one value, not of shape {default.shape}"
            )
        self._name = name or "hash_table"
        self._contents = Contents(self.key_dtype, self.value_dtype, default)
        self._initializer = initializer
        initializer.initialize(self)

    @property
    def default_value(self) -> Tensor:
        """The value for keys that are not there."""
        return wrap(self._contents.default)

    def size(self, name: str | None = None) -> Tensor:
        """The number of keys, int64."""
        return wrap(np.array(len(self._contents.by_key), np.int64))

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys, and their values.

        >>> StaticHashTable(KeyValueTensorInitializer([1], [2]), 0).export()[1].numpy()
        array([2], dtype=int32)
        """
        return self._contents.export()

    def _fill(self, keys: Any, values: Any) -> None:
        found = self._contents.by_key
        for key, value in self._contents.entries("StaticHashTable", keys, values):
            if found.setdefault(key, value) != value:
                raise FailedPreconditionError(
                    f"StaticHashTable: the key {key!r} has two values, {found[key]!r} and {value!r}"
                )

    def _dense(self, keys: Tensor) -> Tensor:
        if is_traced(keys._array):
            return self._contents.find_traced(keys)
        return wrap(self._contents.find(keys._array))


class StaticVocabularyTable(Table):
    """A table from words to their numbers, with buckets for words that are not in it.

    A word that is not there gets a number after those of the vocabulary: that of the bucket of its hash.

    Args:
        initializer: fills the table, with int64 values; None for a table of buckets alone.
        num_oov_buckets: how many buckets there are.
        lookup_key_dtype: the dtype of the keys to look up: string, or an integer that is cast to int64. By default
            that of the initializer.
        name: the name of the table.
        experimental_is_anonymous: accepted; no effect.

    Raises:
        TypeError: if the dtypes do not fit.
        ValueError: if there is no bucket.

    >>> words = KeyValueTensorInitializer(["a", "b"], [0, 1], value_dtype="int64")
    >>> StaticVocabularyTable(words, num_oov_buckets=1).lookup(["b", "z"]).numpy()
    array([1, 2])
    """

    value_dtype = dtypes.int64

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self._buckets = integer("StaticVocabularyTable", "num_oov_buckets", num_oov_buckets)
        if self._buckets <= 0:
            raise ValueError(
                "StaticVocabularyTable: num_oov_buckets must be positive; or use StaticHashTable"
            )
        self._name = name or "string_to_index"
        self._table = None if initializer is None else StaticHashTable(initializer, -1)
        if lookup_key_dtype is not None:
            self.key_dtype = dtypes.as_dtype(lookup_key_dtype)
        elif self._table is not None:
            self.key_dtype = self._table.key_dtype
        else:
            self.key_dtype = dtypes.string
        self._check()

    def _check(self) -> None:
        if self.key_dtype is not dtypes.string and not self.key_dtype.is_integer:
            raise TypeError(
                f"StaticVocabularyTable: keys must be strings or integers, not {self.key_dtype.name}"
            )
        if self._table is None:
            return
        inside = self._table.key_dtype
        if self._table.value_dtype is not dtypes.int64 or inside not in (dtypes.string, dtypes.int64):
            raise TypeError(
                "StaticVocabularyTable: the initializer must have keys of string or int64 and values of int64, not "
                f"{inside.name} and {self._table.value_dtype.name}"
            )
        if inside.is_integer != self.key_dtype.is_integer:
            raise TypeError(
                f"StaticVocabularyTable: a table with keys of {inside.name} cannot look up {self.key_dtype.name}"
            )

    def size(self, name: str | None = None) -> Tensor:
        """The number of words and buckets, int64."""
        words = 0 if self._table is None else int(self._table.size())
        return wrap(np.array(words + self._buckets, np.int64))

    def _dense(self, keys: Tensor) -> Tensor:
        texts = keys if self.key_dtype is dtypes.string else as_string(cast(keys, "int64"))
        buckets = to_hash_bucket_fast(texts, self._buckets)
        if self._table is None:
            return buckets
        found = self._table._dense(convert(keys) if self.key_dtype is dtypes.string else cast(keys, "int64"))
        return where(found == -1, buckets + self._table.size(), found)
