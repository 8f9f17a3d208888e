"""Which operations may be computed later than they are called: those whose errors depend on shapes and dtypes alone.

All others are checked: computed at once, so that they raise where they are called.
"""

from __future__ import annotations

from typing import Any

from ..core.primitive import Primitive
from .pass_events import Out

# Indices and labels are validated before the door, which asks for their values.
# Of any numbers. Integers are divided, raised and shifted only by operations that are checked.
_ANY_NUMBERS = frozenset(
    [
        "conj",
        "add",
        "subtract",
        "multiply",
        "negative",
        "square",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "equal",
        "not_equal",
        "logical_and",
        "logical_or",
        "logical_xor",
        "logical_not",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "invert",
        "is_nan",
        "is_inf",
        "is_finite",
        "select",
        "maximum",
        "minimum",
        "clip",
        "relu",
        "sign",
        "abs",
    ]
)
_ELEMENTWISE_CHECKED = frozenset(["gamma_sample", "fake_quant", "fake_quant_region", "nextafter"])
_OTHERS = frozenset(
    [
        "cast",
        "reshape",
        "transpose",
        "identity",
        "sum",
        "spread",
        "broadcast_to",
        "concat",
        "stack",
        "constant_in",
        "mean",
        "max",
        "min",
        "any",
        "all",
        "argmax",
        "argmin",
        "euclidean_norm",
        "logsumexp",
        "split",
        "unstack",
        "tile",
        "block",
        "place_block",
        "swap_last",
        "band_part",
        "diag_part",
        "diag",
        "cross",
        "matmul",
        "gram",
        "softmax",
        "log_softmax",
        "softmax_cross_entropy",
        "less_one_hot",
        "real",
        "imag",
        "complex_abs",
        "angle",
        "cumsum",
        "cumprod",
        "prod",
        "cumulative_logsumexp",
        "stop_gradient",
        "roll",
        "reverse",
        "einsum",
        "convolve",
        "deconvolve",
        "correlate",
        "window_sum",
        "window_spread",
        "max_pool",
        "pick_largest",
        "place_largest",
        "sort",
        "argsort",
        "gather",
        "gather_rows",
        "sparse_softmax_cross_entropy",
        "all_reduce",
        "all_gather",
        "bitcast",
        "cast_without_gradient",
    ]
)
_INDEXING = frozenset(["getitem", "place"])  # safe where the index is an attribute


def is_checked(primitive: Primitive, inputs: tuple[Any, ...], outs: tuple[Out, ...]) -> bool:
    """Return whether an operation with these inputs and results must be computed at once."""
    name = primitive.name
    if primitive.elementwise:
        if name in _ANY_NUMBERS:
            return False
        return name in _ELEMENTWISE_CHECKED or any(out.dtype.kind in "iu" for out in outs)
    if name in _INDEXING:
        return len(inputs) > 1
    return name not in _OTHERS
