"""Public functions on sparse tensors: those that keep zeros zero work on the values; shape, size and rank are known."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.tensor import Tensor, wrap
from ...core.types import DTypeLike
from ..array.movement import cast, identity
from ..array.shape import rank, shape, size
from ..dispatch import extend
from ..math import complexes, functions, special_functions
from .sparse_tensor import SparseTensor


def _on_values(function: Any) -> None:
    first = next(iter(inspect.signature(function).parameters))

    @extend(function, SparseTensor)
    def handler(*args: Any, **kwargs: Any) -> SparseTensor:
        x, args = (args[0], args[1:]) if args else (kwargs.pop(first), ())
        return x.with_values(function(x.values, *args, **kwargs))


for _function in (
    cast,
    complexes.abs,
    complexes.sign,
    functions.asin,
    functions.asinh,
    functions.atan,
    functions.atanh,
    functions.erf,
    functions.negative,
    functions.sin,
    functions.sqrt,
    functions.square,
    functions.tan,
    functions.tanh,
    identity,
    special_functions.bessel_i0e,
    special_functions.bessel_i1e,
):
    _on_values(_function)


def _integers(values: Any, out_type: DTypeLike | None) -> Tensor:
    return wrap(np.array(values, dtypes.as_dtype("int32" if out_type is None else out_type).numpy_dtype))


@extend(shape, SparseTensor)
def _shape(input: SparseTensor, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    return _integers(input.lengths, out_type)


@extend(size, SparseTensor)
def _size(input: SparseTensor, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    return _integers(np.prod(input.lengths, dtype=np.int64), out_type)


@extend(rank, SparseTensor)
def _rank(input: SparseTensor, name: str | None = None) -> Tensor:
    return _integers(len(input.lengths), None)
