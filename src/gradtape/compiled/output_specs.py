"""Specs of a function's results for inputs of which some lengths are open, without computing them.

The function runs on placeholders, once with one length in place of every open one and once with another: lengths of
results that differ are open as well. The lengths have many divisors, because open axes are reshaped and split.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..core.composite import CompositeTensor, TypeSpec
from ..core.errors import NotCompilableError
from ..core.primitive import outside
from ..core.shapes import TensorShape
from ..core.spec import TensorSpec
from ..core.tensor import Tensor, wrap
from ..ops.sparse.sparse_tensor import SparseTensor, SparseTensorSpec

_TRACED_LENGTHS = 240, 480
_COMPUTED_LENGTHS = 24, 48  # where the function computes on zeros, smaller ones


def output_specs(
    name: str, function: Callable[[list[Any]], list[Any]], specs: list[TypeSpec], compute: bool = True
) -> list[Any]:
    """The specs of what a function returns for values of these specs; leaves that are no tensors as they are.

    Args:
        name: the function's name in errors.
        function: from a list of tensors, or sparse tensors, to a list.
        specs: one for each input: a `TensorSpec` or a `SparseTensorSpec`.
        compute: whether a function that cannot be traced is computed on zeros.

    Raises what the function raises.

    >>> import gradtape as tf
    >>> output_specs("f", lambda inputs: [inputs[0] @ tf.ones((3, 2))], [tf.TensorSpec([None, 3])])
    [TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)]
    """
    first, second = _specs_for(name, function, specs, 0, compute), []
    if any(not spec.shape.is_fully_defined() for spec in specs):  # type: ignore[attr-defined]
        second = _specs_for(name, function, specs, 1, compute)
    return [
        one.most_specific_compatible_type(other) if isinstance(one, TypeSpec) else one
        for one, other in zip(first, second or first, strict=True)
    ]


def _specs_for(
    name: str, function: Callable[[list[Any]], list[Any]], specs: Any, which: int, compute: bool
) -> list[Any]:
    if find_spec("jax") is not None and not any(spec.dtype.name == "string" for spec in specs):
        try:
            return _traced(name, function, specs, _TRACED_LENGTHS[which])
        except NotCompilableError:  # the lengths of its results depend on values
            if not compute:
                raise
    with outside():
        length = _COMPUTED_LENGTHS[which]
        inputs = [_put_together(spec, length, _zeros(spec, length)) for spec in specs]
        return [_spec(result) for result in function(inputs)]


def _traced(name: str, function: Callable[[list[Any]], list[Any]], specs: Any, length: int) -> list[Any]:
    from .buffers import x64
    from .function_trace import FunctionTrace

    parts = [_zeros(spec, length) for spec in specs]
    results: list[Any] = []

    def run(placeholders: list[Tensor]) -> None:
        tensors = iter(placeholders)
        inputs = [
            _put_together(spec, length, [next(tensors) for _ in part]) for spec, part in zip(specs, parts)
        ]
        results.extend(_spec(result) for result in function(inputs))

    trace = FunctionTrace(name, may_create=True)
    try:
        with x64(True):
            trace.jaxpr_of(run, [tensor for part in parts for tensor in part], [])
    except BaseException:
        trace.fail()
        raise
    return results


def _zeros(spec: Any, length: int) -> list[Tensor]:
    """The tensors of a value of this spec, with a length in place of the open ones; zeros take no memory.

    A sparse tensor has as many elements as the length, or fewer if it has no more places, in order.
    """
    lengths = _lengths(spec.shape, length)
    if isinstance(spec, SparseTensorSpec):
        places = list(itertools.islice(np.ndindex(*lengths), length))
        indices = np.array(places, np.int64).reshape(len(places), len(lengths))
        return [wrap(indices), _zero(spec.dtype, (len(places),))]
    return [_zero(spec.dtype, lengths)]


def _put_together(spec: Any, length: int, tensors: list[Tensor]) -> Any:
    if isinstance(spec, SparseTensorSpec):
        indices, values = tensors
        return SparseTensor(indices, values, _lengths(spec.shape, length))
    return tensors[0]


def _lengths(shape: TensorShape, length: int) -> tuple[int, ...]:
    return tuple(length if n is None else n for n in shape)


def _zero(dtype: Any, shape: tuple[int, ...]) -> Tensor:
    dtype = TensorSpec((), dtype).dtype
    zero = np.array(b"", object) if dtype.name == "string" else np.zeros((), dtype.numpy_dtype)
    return wrap(np.broadcast_to(zero, shape))


def _spec(result: Any) -> Any:
    if isinstance(result, CompositeTensor):
        return result._type_spec
    return TensorSpec(result.shape, result.dtype) if isinstance(result, Tensor) else result
