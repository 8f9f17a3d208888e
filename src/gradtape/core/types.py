"""The types of what users pass: values that become tensors, dtypes, shapes, axes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union

import numpy as np

if TYPE_CHECKING:
    from .dtypes import DType
    from .indexed_slices import IndexedSlices
    from .shapes import TensorShape
    from .tensor import Tensor
    from .variable import Variable


class SupportsArray(Protocol):
    """An array of another library: JAX's, a table's column, ..."""

    def __array__(self) -> np.ndarray: ...


# A tensor, a variable, or what `convert_to_tensor` makes a tensor of; nested lists may hold any of them.
TensorLike: TypeAlias = Union[
    "Tensor",
    "Variable",
    "IndexedSlices",
    np.ndarray,
    np.generic,
    SupportsArray,
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    Sequence[Any],
]
# The gradient by one source: a tensor, or sometimes `IndexedSlices` or None, for which no checker is to ask.
Gradient: TypeAlias = Union["Tensor", Any]
DTypeLike: TypeAlias = Union["DType", str, np.dtype, type]
IntLike: TypeAlias = Union[int, np.integer, "Tensor", "Variable"]
PathLike: TypeAlias = str | os.PathLike[str]
ShapeLike: TypeAlias = Union["TensorShape", "Tensor", np.ndarray, Iterable[Any], int]
Axis: TypeAlias = Union[int, "Tensor", np.integer]
Axes: TypeAlias = Union[Axis, Sequence[int], "Tensor", np.ndarray, None]
