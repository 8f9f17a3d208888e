"""Python and NumPy functions as operations."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import dtypes, nest
from ...core.errors import InvalidArgumentError, NotCompilableError
from ...core.primitive import local
from ...core.scopes import outside_function
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tensor_conversion import convert, convert_to_tensor
from ...core.types import TensorLike


def py_function(
    func: Callable[..., Any] | None = None,
    inp: TensorLike | None = None,
    Tout: Any = None,
    name: str | None = None,
) -> Any:
    """Call a Python function on tensors. The operations it calls are recorded, so gradients flow.

    Inside a `@function` it is called on every run.

    Args:
        func: the function; without it this is a decorator.
        inp: a list of tensors to call it on.
        Tout: the dtype of the result, or those of several in their structure. Inside a `@function` also the shapes:
            `TensorSpec(shape, dtype)`.

    Raises:
        TypeError: without `Tout`, or for `inp` without `func`.
        ValueError: if `func` is no function.
        InvalidArgumentError: if the results are not as many, or not of the dtypes, that `Tout` says.
        NotCompilableError: inside a `@function`, if `Tout` does not give the shapes.

    >>> float(py_function(lambda x: x * x, [convert(3.0)], "float32"))
    9.0
    """
    return _operation("py_function", func, inp, Tout, _on_tensors)


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: TensorLike | None = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call a function of NumPy arrays on tensors; no gradient passes.

    Inside a `@function` it is called on every run.

    Args:
        func: the function; without it this is a decorator.
        inp: a list of tensors to call it on.
        Tout: the dtype of the result, or those of several in their structure. Inside a `@function` also the shapes:
            `TensorSpec(shape, dtype)`.
        stateful: accepted and ignored.

    Raises:
        TypeError: without `Tout`, or for `inp` without `func`.
        ValueError: if `func` is no function.
        InvalidArgumentError: if the results are not as many, or not of the dtypes, that `Tout` says.
        NotCompilableError: inside a `@function`, if `Tout` does not give the shapes.

    >>> import numpy as np
    >>> float(numpy_function(np.sinh, [convert(0.0)], "float32"))
    0.0
    """
    return _operation("numpy_function", func, inp, Tout, _on_arrays)


def timestamp(name: str | None = None) -> Tensor:
    """Seconds since 1970, as float64; inside a `@function` those of each run.

    >>> bool(timestamp() > 1e9)
    True
    """
    moment: Tensor = numpy_function(lambda: np.float64(time.time()), [], TensorSpec((), dtypes.float64))
    return moment


def _on_tensors(func: Any, inputs: list[Tensor]) -> Any:
    return func(*inputs)


def _on_arrays(func: Any, inputs: list[Tensor]) -> Any:
    return func(*[x.numpy() for x in inputs])


def _operation(name: str, func: Any, inp: Any, signature: Any, call: Callable[..., Any]) -> Any:
    if signature is None:
        raise TypeError(f"{name}: Tout must say the dtype of the result, or those of several in a list")
    if func is None:
        if inp is not None:
            raise TypeError(f"{name}: without func this is a decorator, and takes no inp")
        return lambda function: _decorated(name, function, signature, call)
    if not callable(func):
        raise ValueError(f"{name}: func must be a function, not {func!r}")
    given = [convert_to_tensor(x) for x in (inp if isinstance(inp, (list, tuple)) else [inp])]
    if local.here.trace is not None:
        return _call_when_run(name, func, given, signature, call)
    with outside_function():
        result = call(func, given)
    return _checked_results(name, result, signature)


def _call_when_run(
    name: str, func: Any, inputs: list[Tensor], signature: Any, call: Callable[..., Any]
) -> Any:
    """The results of a call that is made whenever the compiled function runs."""
    kinds = []
    for s in nest.flatten(signature):
        if not isinstance(s, TensorSpec) or not s.shape.is_fully_defined():
            raise NotCompilableError(
                f"{name}: inside a @function the shape of a result must be known: "
                f"Tout=TensorSpec(shape, dtype), not {s!r}"
            )
        kinds.append((tuple(s.shape), s.dtype.numpy_dtype))

    def function(*tensors: Tensor) -> list[Tensor]:
        return nest.flatten(_checked_results(name, call(func, list(tensors)), signature))

    tensors = local.here.trace.call_python(name, function, inputs, kinds, differentiable=call is _on_tensors)
    return nest.pack_sequence_as(signature, tensors)


def _decorated(name: str, function: Callable[..., Any], signature: Any, call: Callable[..., Any]) -> Any:
    @functools.wraps(function)
    def operation(*inputs: Any) -> Any:
        return _operation(name, function, list(inputs), signature, call)

    return operation


def _checked_results(name: str, result: Any, signature: Any) -> Any:
    """The results as tensors, of the dtypes that `Tout` says."""
    wanted = [s.dtype if isinstance(s, TensorSpec) else dtypes.as_dtype(s) for s in nest.flatten(signature)]
    if not wanted:
        return signature
    if nest.is_nested(signature):
        results = nest.flatten(result)
    else:
        results = [result[0] if isinstance(result, (list, tuple)) and len(result) == 1 else result]
    if len(results) != len(wanted):
        raise InvalidArgumentError(
            f"{name}: func returned {len(results)} results, and Tout says {len(wanted)}"
        )
    tensors = []
    for r, dtype in zip(results, wanted, strict=True):
        tensor = convert(r, None, dtype.numpy_dtype)
        if tensor.dtype is not dtype:
            raise InvalidArgumentError(
                f"{name}: func returned {tensor.dtype.name}, and Tout says {dtype.name}: cast the result, or say so"
            )
        tensors.append(tensor)
    return nest.pack_sequence_as(signature, tensors)
