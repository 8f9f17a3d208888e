"""The public namespace `gradtape.sparse`: tensors given by the elements that are there."""

from .names.missing import closed
from .ops.sparse.arrangement import (
    concat,
    expand_dims,
    eye,
    fill_empty_rows,
    from_dense,
    map_values,
    mask,
    reorder,
    reset_shape,
    reshape,
    retain,
    slice,
    split,
    to_dense,
    transpose,
)
from .ops.sparse.crosses import cross, cross_hashed
from .ops.sparse.sparse_tensor import SparseTensor
from .ops.sparse.sums import (
    add,
    bincount,
    maximum,
    minimum,
    reduce_max,
    reduce_sum,
    sampled_addmm,
    segment_mean,
    segment_sqrt_n,
    segment_sum,
    softmax,
    sparse_dense_matmul,
    to_indicator,
)

__all__ = [
    "SparseTensor",
    "add",
    "bincount",
    "concat",
    "cross",
    "cross_hashed",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "map_values",
    "mask",
    "maximum",
    "minimum",
    "reduce_max",
    "reduce_sum",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "sampled_addmm",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]

closed(__name__)
