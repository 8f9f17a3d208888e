"""Lookup tables of a saved model: their kind, dtypes and contents. Numbers are tensors of the file, strings texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from ..core.tensor import wrap
from ..ops.lookup.mutable import DenseHashTable, MutableHashTable
from ..ops.lookup.tables import KeyValueTensorInitializer, StaticHashTable, StaticVocabularyTable, Table


def encode_table(table: Table, prefix: str, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    """Describe a table; its numbers go to `tensors`, under names that begin with `prefix`."""
    about: dict[str, Any] = {"table": type(table).__name__, "name": table.name}
    if isinstance(table, StaticVocabularyTable):
        inner = None if table._table is None else encode_table(table._table, prefix, tensors)
        return about | {"key_dtype": table.key_dtype.name, "buckets": table._buckets, "words": inner}
    assert isinstance(table, (StaticHashTable, MutableHashTable))
    keys, values = table._contents.export()
    about |= {"key_dtype": table.key_dtype.name, "value_dtype": table.value_dtype.name}
    parts = {"keys": keys._array, "values": values._array, "default": table._contents.default}
    if isinstance(table, DenseHashTable):
        dtype = table.key_dtype.numpy_dtype
        parts |= {word: np.array(key, dtype) for key, word in table._reserved.items()}
    for part, array in parts.items():
        about[part] = _encode_array(np.asarray(array), f"{prefix}/{part}", tensors)
    return about


def decode_table(about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Table:
    """The table that `encode_table` described."""
    kind, name = about["table"], about["name"]
    if kind == "StaticVocabularyTable":
        inner = None if about["words"] is None else decode_table(about["words"], tensors)
        initializer = None if inner is None else KeyValueTensorInitializer(*inner.export())  # type: ignore[attr-defined]
        return StaticVocabularyTable(initializer, about["buckets"], about["key_dtype"], name)
    parts = {
        part: wrap(_decode_array(about[part], tensors))
        for part in ("keys", "values", "default", "empty_key", "deleted_key")
        if part in about
    }
    kinds = dtypes.as_dtype(about["key_dtype"]), dtypes.as_dtype(about["value_dtype"])
    if kind == "StaticHashTable":
        initializer = KeyValueTensorInitializer(parts["keys"], parts["values"], *kinds)
        return StaticHashTable(initializer, parts["default"], name)
    if kind == "MutableHashTable":
        table = MutableHashTable(*kinds, parts["default"], name)
    elif kind == "DenseHashTable":
        table = DenseHashTable(*kinds, parts["default"], parts["empty_key"], parts["deleted_key"], name=name)
    else:
        raise ValueError(f"{kind!r} is no kind of table")
    if len(parts["keys"]._array):
        table.insert(parts["keys"], parts["values"])
    return table


def _encode_array(array: np.ndarray, name: str, tensors: dict[str, np.ndarray]) -> Any:
    if array.dtype.kind != "O":
        tensors[name] = array
        return {"tensor": name}
    return {"shape": list(array.shape), "strings": [x.decode("latin-1") for x in array.reshape(-1)]}


def _decode_array(coded: dict[str, Any], tensors: dict[str, np.ndarray]) -> np.ndarray:
    if "tensor" in coded:
        return tensors[coded["tensor"]]
    array = np.empty(len(coded["strings"]), object)
    array[:] = [x.encode("latin-1") for x in coded["strings"]]
    return array.reshape(coded["shape"])
