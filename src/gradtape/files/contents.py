"""String arguments of operations on files: the bytes of a tensor, one text or many."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import DTypeError, InvalidArgumentError
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.types import TensorLike
from ..ops.known import known


def strings(operation: str, argument: str, value: Any) -> np.ndarray:
    """The elements of a string tensor, as an array of `bytes`.

    Raises:
        DTypeError: if the value is no string tensor.
        NotCompilableError: if the value is traced.
    """
    if hasattr(value, "__fspath__"):
        value = value.__fspath__()
    array = known(operation, argument, convert(value)._array)
    if array.dtype.kind != "O":
        if array.size == 0:
            return array.astype(object)
        raise DTypeError(f"{operation}: {argument} must be a string tensor, not of dtype {array.dtype}")
    return array


def one_string(operation: str, argument: str, value: TensorLike) -> bytes:
    """The only element of a string tensor.

    Raises:
        InvalidArgumentError: if there is not exactly one.
    """
    array = strings(operation, argument, value)
    if array.size != 1 or array.ndim:
        raise InvalidArgumentError(
            f"{operation}: {argument} must be one string, not a tensor of shape {list(array.shape)}: "
            "use tf.map_fn, or Dataset.map, for many"
        )
    content: bytes = array.item()
    return content


def string_tensor(value: bytes | list[bytes] | np.ndarray) -> Tensor:
    """A string tensor of these bytes."""
    if isinstance(value, np.ndarray):
        return wrap(value)
    array = np.empty(() if isinstance(value, bytes) else len(value), object)
    array[...] = value
    return wrap(array)
