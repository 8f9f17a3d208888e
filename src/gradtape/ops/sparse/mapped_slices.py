"""`map_fn` over the slices of sparse tensors, which are sparse tensors."""

from __future__ import annotations

import numpy as np

from ...core.tensor import wrap
from ..control.loops import map_fn, map_fn_over
from ..dispatch import extend
from ..known import shape_known
from .arrangement import concat, expand_dims
from .sparse_tensor import SparseTensor, SparseTensorSpec, elements


def _slices(x: SparseTensor) -> list[SparseTensor]:
    indices = shape_known("map_fn", "the indices", x.indices._array, "use a dense tensor")
    slices = []
    for i in range(x.lengths[0]):
        chosen = np.flatnonzero(indices[:, 0] == i)
        values = elements(x.values, chosen)
        slices.append(SparseTensor(wrap(indices[chosen, 1:]), values, x.lengths[1:]))
    return slices


def _spec(x: SparseTensor) -> SparseTensorSpec:
    return SparseTensorSpec(None, x.dtype)


def _joined(slices: list[SparseTensor], spec: SparseTensorSpec) -> SparseTensor:
    if slices:
        return concat(0, [expand_dims(x, 0) for x in slices])
    lengths = (0, *spec.shape) if spec.shape.is_fully_defined() else (0,)
    return SparseTensor(
        wrap(np.zeros((0, len(lengths)), np.int64)), wrap(np.zeros(0, spec.dtype.numpy_dtype)), lengths
    )


for _kind in SparseTensor, SparseTensorSpec:
    extend(map_fn, _kind)(map_fn_over(_slices, _spec, _joined))
