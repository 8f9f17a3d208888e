"""`map_fn` over the slices of sparse tensors, which are sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import nest
from ...core.spec import TensorSpec
from ...core.tensor import Tensor, wrap
from ...core.tensor_conversion import convert_to_tensor
from ..control.loops import checked_result, map_fn, result_spec, stacked_results
from ..dispatch import extend
from ..known import shape_known
from ..scalars import function
from .arrangement import concat, expand_dims
from .sparse_tensor import SparseTensor, SparseTensorSpec, elements


@extend(map_fn, SparseTensor)
@extend(map_fn, SparseTensorSpec)
def _map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """The results are stacked, as sparse tensors where the signature, or without one the argument, is sparse."""
    function("map_fn", "fn", fn)
    columns = [_slices(leaf) for leaf in nest.flatten(elems)]
    lengths = sorted({len(column) for column in columns})
    if len(lengths) > 1:
        raise ValueError(f"map_fn: the first axes of elems must agree, and have lengths {lengths}")
    signature = dtype if fn_output_signature is None else fn_output_signature
    wanted = elems if signature is None else signature
    specs = [_spec(s) for s in nest.flatten(wanted)]
    rows = []
    for slices in zip(*columns, strict=True):
        result = fn(nest.pack_sequence_as(elems, list(slices)))
        nest.assert_same_structure(wanted, result)
        rows.append([_checked(r, spec) for r, spec in zip(nest.flatten(result), specs, strict=True)])
    return nest.pack_sequence_as(wanted, [_stacked([row[i] for row in rows], s) for i, s in enumerate(specs)])


def _slices(leaf: Any) -> Any:
    """The slices along the first axis."""
    if not isinstance(leaf, SparseTensor):
        return convert_to_tensor(leaf)
    indices = shape_known("map_fn", "the indices", leaf.indices._array, "use a dense tensor")
    slices = []
    for i in range(leaf.lengths[0]):
        chosen = np.flatnonzero(indices[:, 0] == i)
        values = elements(leaf.values, chosen)
        slices.append(SparseTensor(wrap(indices[chosen, 1:]), values, leaf.lengths[1:]))
    return slices


def _spec(given: Any) -> Any:
    """The spec of a result; one that an argument gives fixes kind and dtype only."""
    if isinstance(given, SparseTensor):
        return SparseTensorSpec(None, given.dtype)
    return given if isinstance(given, SparseTensorSpec) else result_spec(given)


def _checked(result: Any, spec: Any) -> Any:
    if not isinstance(spec, SparseTensorSpec):
        return checked_result(result, spec)
    if not isinstance(result, SparseTensor) or not spec.is_compatible_with(result):
        raise ValueError(f"map_fn: fn returned {result!r} where {spec} was expected")
    return result


def _stacked(column: list[Any], spec: TensorSpec | SparseTensorSpec) -> Tensor | SparseTensor:
    if isinstance(spec, TensorSpec):
        return stacked_results([[result] for result in column], [spec])[0]
    if column:
        return concat(0, [expand_dims(result, 0) for result in column])
    lengths = (0, *spec.shape) if spec.shape.is_fully_defined() else (0,)
    return SparseTensor(
        wrap(np.zeros((0, len(lengths)), np.int64)), wrap(np.zeros(0, spec.dtype.numpy_dtype)), lengths
    )
