"""Which operations may be computed later than they are called: those whose errors depend on shapes and dtypes alone.

All others are checked: computed at once, so that they raise where they are called. `segments` and `hot` ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..core.primitive import Primitive

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


def is_checked(primitive: Primitive, inputs: Sequence[Any], dtypes: Iterable[Any]) -> bool:
    """Return whether an operation with these inputs and dtypes of results must be computed at once."""
    name = primitive.name
    if primitive.elementwise:
        if name in _ANY_NUMBERS:
            return False
        return name in _ELEMENTWISE_CHECKED or any(dtype.kind in "iu" for dtype in dtypes)
    if name in _INDEXING:
        return len(inputs) > 1
    return name not in _OTHERS


def exactly(attributes: dict[str, Any] | None) -> Any:
    """The types of attributes, and their text if there is a 0.0 or -0.0 among them.

    It tells attributes apart that are equal, as 1, 1.0 and True are.
    """
    if not attributes:
        return None
    values = attributes.values()
    return [
        *map(type, values),
        *([repr(attributes)] if 0.0 in [v for v in values if type(v) is float] else []),
    ]
