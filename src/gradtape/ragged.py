"""The public namespace `gradtape.ragged`: tensors whose rows differ in length."""

from .names.missing import closed
from .ops.ragged.ragged_tensor import RaggedTensor, RaggedTensorSpec
from .ops.ragged.row_creation import (
    constant,
    map_flat_values,
    range,
    row_splits_to_segment_ids,
    segment_ids_to_row_splits,
    stack,
    stack_dynamic_partitions,
)
from .ops.ragged.row_crosses import cross, cross_hashed
from .ops.ragged.row_selection import boolean_mask

__all__ = [
    "RaggedTensor",
    "RaggedTensorSpec",
    "boolean_mask",
    "constant",
    "cross",
    "cross_hashed",
    "map_flat_values",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
    "stack_dynamic_partitions",
]

closed(__name__)
