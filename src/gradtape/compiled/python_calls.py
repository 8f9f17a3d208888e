"""py_function and numpy_function inside a @function: Python is called while the program runs, once a forward pass.

The call is recorded by a tape of its own, which stays with Python under a number, the ticket, that the program hands
to the gradient. The gradient is a call of a function that sweeps this tape: a pure one, so there are gradients of any
order.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.custom import CustomPlan
from ..core.dtypes import is_differentiable
from ..core.errors import InvalidArgumentError
from ..core.primitive import outside
from ..core.tape import GradientTape
from ..core.tape_ends import UnconnectedGradients
from ..core.tensor import Tensor, key_of, wrap
from ..core.tensor_conversion import convert_to_tensor
from ..engine import host
from .records import Records, Tensors, is_watched, kept_by

Function = Callable[..., Tensors]  # of tensors that have values

_MANY = 1000  # calls whose gradient may still be asked for

_recorded: OrderedDict[int, tuple[GradientTape, Tensors, Tensors]] = OrderedDict()  # by ticket
_next_number = itertools.count(1).__next__
_TICKET = (), np.dtype(np.int32)  # shape and dtype


def call_python(
    name: str, function: Function, inputs: Tensors, kinds: list[host.Kind], *, differentiable: bool
) -> Tensors:
    """The results of a Python function, tensors of these shapes and dtypes. It is called once a run."""
    if not differentiable or not is_watched(inputs):
        return _call(name, function, inputs, kinds, pure=False)
    ticket, *outputs = _call(name, _recording(function), inputs, [_TICKET, *kinds], pure=False)
    _record(name, _gradient_of_call(name, len(inputs)), [ticket, *inputs], outputs, kinds)
    return outputs


def _call(name: str, function: Function, inputs: Tensors, kinds: list[host.Kind], *, pure: bool) -> Tensors:
    def on_arrays(*arrays: Any) -> list[Any]:
        with outside():
            results = [t._array for t in function(*[wrap(array) for array in arrays])]
        for array, (shape, dtype) in zip(results, kinds, strict=True):
            if array.shape != shape or array.dtype != dtype:
                raise InvalidArgumentError(
                    f"{name}: func returned {array.dtype}{list(array.shape)}, and Tout says {dtype}{list(shape)}"
                )
        return results

    return [wrap(a) for a in host.call(on_arrays, kinds, [x._array for x in inputs], pure=pure)]


def _record(name: str, gradient: Function, inputs: Tensors, outputs: Tensors, kinds: list[host.Kind]) -> None:
    """Tell the tapes that `outputs` came from `inputs`; `gradient` takes inputs and the gradients of the outputs."""

    def pull(*gradients: Any) -> list[Any]:
        differentiable = [x for x in inputs if is_differentiable(x._array)]
        shapes = [(x._array.shape, x._array.dtype) for x in differentiable]
        given = [*inputs, *gradients]
        results = _call(name, gradient, given, shapes, pure=True)
        _record(name, _gradient_of(gradient, len(given)), given, results, shapes)
        found = iter(results)
        return [next(found) if is_differentiable(x._array) else None for x in inputs]

    plan = CustomPlan(name, pull, list(kinds), tuple(range(len(inputs))), tuple(inputs))
    plan.record(inputs, outputs)


# ---------------------------------------------------------------------------------------------------------------------
# While the program runs


def _recording(function: Function) -> Function:
    """The function, with the ticket of its recorded call as its first result."""

    def run(*inputs: Tensor) -> Tensors:
        differentiable = [x for x in inputs if is_differentiable(x._array)]
        with GradientTape(persistent=True) as tape:
            tape.watch(differentiable)
            outputs = function(*inputs)
        number = _next_number() % (1 << 31)
        _recorded[number] = tape, differentiable, outputs
        if len(_recorded) > _MANY:
            _recorded.popitem(last=False)
        return [wrap(np.array(number, np.int32)), *outputs]

    return run


def _gradient_of_call(name: str, count: int) -> Function:
    """From the ticket of a recorded call, its `count` inputs and its outputs' gradients to those of its inputs."""

    def gradient(ticket: Tensor, *tensors: Tensor) -> Tensors:
        if int(ticket) not in _recorded:
            raise InvalidArgumentError(
                f"{name}: the gradient of a call is asked for after {_MANY} others, and what it needs has been let go"
            )
        tape, recorded, outputs = _recorded[int(ticket)]
        inputs = [x for x in tensors[:count] if is_differentiable(x._array)]
        # To the tapes that are open now, what the tape recorded depends on the inputs of now.
        Records(tape, kept_by(tape._records), map(key_of, recorded)).connect(name, inputs)
        return _gradients(tape, outputs, tensors[count:], recorded)

    return gradient


def _gradient_of(function: Function, count: int) -> Function:
    """From `count` inputs of a pure function and the gradients of all outputs to those of the inputs that have one."""

    def gradient(*tensors: Tensor) -> Tensors:
        inputs, gradients = tensors[:count], tensors[count:]
        differentiable = [x for x in inputs if is_differentiable(x._array)]
        with GradientTape() as tape:
            tape.watch(differentiable)
            outputs = function(*inputs)
        return _gradients(tape, outputs, gradients, differentiable)

    return gradient


def _gradients(tape: GradientTape, outputs: Any, gradients: Any, sources: Tensors) -> Tensors:
    """The gradients of the sources, zeros for none."""
    pairs = [(o, g) for o, g in zip(outputs, gradients, strict=True) if is_differentiable(o._array)]
    found = tape.gradient([o for o, _ in pairs], sources, [g for _, g in pairs], UnconnectedGradients.ZERO)
    return [convert_to_tensor(g) for g in found]
