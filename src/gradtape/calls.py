"""py_function inside a @function: Python is called while the program runs, and for the gradient once more.

Its gradient is a call, too, of a function that runs the first under a tape: so there are gradients of any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import host
from .custom import CustomPlan
from .dtypes import is_differentiable
from .errors import InvalidArgumentError
from .primitive import local, outside
from .tape import GradientTape, UnconnectedGradients
from .tensor import Tensor, convert_to_tensor, wrap

Function = Callable[..., list[Tensor]]  # of tensors that have values


def call(
    name: str, function: Function, inputs: list[Tensor], kinds: list[host.Kind], *, pure: bool = False
) -> list[Tensor]:
    """What the function will return: tensors of these shapes and dtypes."""

    def on_arrays(*arrays: Any) -> list[Any]:
        with outside():
            results = [t._array for t in function(*[wrap(array) for array in arrays])]
        for array, (shape, dtype) in zip(results, kinds, strict=True):
            if array.shape != shape or array.dtype != dtype:
                raise InvalidArgumentError(
                    f"{name}: func returned {array.dtype}{list(array.shape)}, and Tout says {dtype}{list(shape)}"
                )
        return results

    outputs = [wrap(a) for a in host.call(on_arrays, kinds, [x._array for x in inputs], pure=pure)]

    def pull(*gradients: Any) -> list[Any]:
        moving = [x for x in inputs if is_differentiable(x._array)]
        shapes = [(x._array.shape, x._array.dtype) for x in moving]
        found = iter(call(name, _gradient(function, len(inputs)), [*inputs, *gradients], shapes, pure=True))
        return [next(found) if is_differentiable(x._array) else None for x in inputs]

    plan = CustomPlan(name, pull, [(shape, dtype) for shape, dtype in kinds], tuple(range(len(inputs))))
    for tape in local.here.tapes:
        tape._record_custom(plan, inputs, outputs)
    return outputs


def _gradient(function: Function, count: int) -> Function:
    """From `count` inputs and the gradients of all outputs to the gradients of those inputs that have one."""

    def gradient(*tensors: Tensor) -> list[Tensor]:
        inputs, gradients = tensors[:count], tensors[count:]
        moving = [x for x in inputs if is_differentiable(x._array)]
        with GradientTape() as tape:
            tape.watch(moving)
            outputs = function(*inputs)
        pairs = [(o, g) for o, g in zip(outputs, gradients, strict=True) if is_differentiable(o._array)]
        found = tape.gradient([o for o, _ in pairs], moving, [g for _, g in pairs], UnconnectedGradients.ZERO)
        return [convert_to_tensor(g) for g in found]

    return gradient
