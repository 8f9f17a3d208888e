"""`map_fn` over the rows of ragged tensors, or with rows of different lengths as results."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtypes
from ...core.tensor import wrap
from ..control.loops import map_fn, map_fn_over
from ..dispatch import extend
from .joining_rows import stacked
from .ragged_tensor import RaggedTensor, RaggedTensorSpec


def _row_spec(x: RaggedTensor) -> RaggedTensorSpec:
    return RaggedTensorSpec(x.shape[1:], x.dtype, x.ragged_rank - 1, dtypes.of(x._splits))


def _joined(rows: list[Any], spec: RaggedTensorSpec) -> RaggedTensor:
    """The rows as one tensor, ragged even if there is none."""
    if rows:
        return stacked("map_fn", rows)
    empty: Any = wrap(np.zeros(0, spec.dtype.numpy_dtype))
    for _ in range(spec.ragged_rank + 1):
        empty = RaggedTensor.from_row_splits(empty, np.zeros(1, np.int64))
    return empty


for _kind in RaggedTensor, RaggedTensorSpec:
    extend(map_fn, _kind)(map_fn_over(list, _row_spec, _joined))
