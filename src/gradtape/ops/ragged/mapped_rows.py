"""`map_fn` over the rows of ragged tensors, or with rows of different lengths as results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import dtypes, nest
from ...core.composite import TypeSpec
from ...core.spec import TensorSpec
from ...core.tensor import wrap
from ..array.movement import stack
from ..control.loops import map_fn
from ..dispatch import extend
from ..scalars import function
from .joining_rows import stacked
from .ragged_tensor import RaggedTensor, RaggedTensorSpec, convert_ragged, count_of


@extend(map_fn, RaggedTensor)
@extend(map_fn, RaggedTensorSpec)
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
    """The results are stacked, as ragged tensors where the signature, or without one the argument, is ragged."""
    function("map_fn", "fn", fn)
    leaves = [convert_ragged(leaf) for leaf in nest.flatten(elems)]
    count = count_of(leaves[0])
    if any(count_of(leaf) != count for leaf in leaves):
        raise ValueError("map_fn: the first axes of the elems differ in length")
    signature = dtype if fn_output_signature is None else fn_output_signature
    wanted = elems if signature is None else signature
    specs = (
        [_row_spec(leaf) for leaf in leaves]
        if signature is None
        else [_spec(s) for s in nest.flatten(signature)]
    )
    rows = []
    for i in range(count):
        result = fn(nest.pack_sequence_as(elems, [leaf[i] for leaf in leaves]))
        nest.assert_same_structure(wanted, result)
        rows.append([_checked(r, spec) for r, spec in zip(nest.flatten(result), specs, strict=True)])
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(specs)
    return nest.pack_sequence_as(wanted, [_joined(c, spec) for c, spec in zip(columns, specs, strict=True)])


def _row_spec(x: Any) -> Any:
    """The spec of one row of an argument."""
    shape = list(x.shape)[1:]
    if isinstance(x, RaggedTensor):
        return RaggedTensorSpec(shape, x.dtype, x.ragged_rank - 1, dtypes.of(x._splits))
    return TensorSpec(None, x.dtype)


def _spec(given: Any) -> Any:
    return given if isinstance(given, TypeSpec) else TensorSpec(None, given)


def _checked(result: Any, spec: Any) -> Any:
    x = convert_ragged(result, spec.dtype)
    if x.dtype is not spec.dtype or not spec.shape.is_compatible_with(x.shape):
        raise ValueError(
            f"map_fn: fn returned {x.dtype.name} of shape {x.shape} where {spec} was expected: say so with "
            "fn_output_signature"
        )
    return x


def _joined(column: Any, spec: Any) -> Any:
    if isinstance(spec, RaggedTensorSpec):
        if column:
            return stacked("map_fn", column)
        empty = RaggedTensor.from_row_splits(wrap(np.zeros(0, spec.dtype.numpy_dtype)), np.zeros(1, np.int64))
        for _ in range(spec.ragged_rank):
            empty = RaggedTensor.from_row_splits(empty, np.zeros(1, np.int64))
        return empty
    if column:
        return stack(column)
    shape = tuple(spec.shape) if spec.shape.is_fully_defined() else ()
    return wrap(np.zeros((0, *shape), spec.dtype.numpy_dtype))
