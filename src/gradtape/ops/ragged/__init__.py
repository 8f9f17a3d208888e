"""Ragged tensors, whose rows differ in length. Importing this extends public functions for them: see `ops.dispatch`."""

from . import (
    broadcasting_rows,
    joining_rows,
    mapped_rows,
    padding_rows,
    ragged_shape,
    row_creation,
    row_crosses,
    row_reduction,
    row_selection,
    row_texts,
)
from .ragged_tensor import RaggedTensor, RaggedTensorSpec, ragged

__all__ = [
    "RaggedTensor",
    "RaggedTensorSpec",
    "broadcasting_rows",
    "joining_rows",
    "mapped_rows",
    "padding_rows",
    "ragged",
    "ragged_shape",
    "row_creation",
    "row_crosses",
    "row_reduction",
    "row_selection",
    "row_texts",
]
