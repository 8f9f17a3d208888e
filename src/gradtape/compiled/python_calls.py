"""py_function and numpy_function inside a @function: Python is called while the program runs, once a forward pass.

The call is recorded by a tape of its own, which stays with Python under a number that the program hands to the
gradient. The gradient is a call of a function that sweeps this tape: a pure one, so there are gradients of any order.
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
from ..core.primitive import local, outside
from ..core.tape import GradientTape, UnconnectedGradients
from ..core.tensor import Tensor, convert_to_tensor, key_of, wrap
from ..engine import host
from .blocks import kept_by, sweep, watched

Function = Callable[..., list[Tensor]]  # of tensors that have values

_MANY = 1000  # calls whose gradient may still be asked for

_recorded: OrderedDict[int, tuple[GradientTape, list[Tensor], list[Tensor]]] = OrderedDict()
_next_number = itertools.count(1).__next__
_TICKET = (), np.dtype(np.int32)  # shape and dtype of the number of a recorded call


def call(
    name: str, function: Function, inputs: list[Tensor], kinds: list[host.Kind], *, differentiable: bool
) -> list[Tensor]:
    """What a function of Python's will return: tensors of these shapes and dtypes. It is called once a run."""
    if not differentiable or not watched(inputs):
        return _called(name, function, inputs, kinds, pure=False)
    run = _recording(name, function)
    ticket, *outputs = _called(name, run, inputs, [_TICKET, *kinds], pure=False)
    _record(name, _gradient_of_a_call(name, len(inputs)), [ticket, *inputs], outputs, kinds)
    return outputs


def _called(
    name: str, function: Function, inputs: list[Tensor], kinds: list[host.Kind], *, pure: bool
) -> list[Tensor]:
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


def _record(
    name: str, gradient: Function, inputs: list[Tensor], outputs: list[Tensor], kinds: list[host.Kind]
) -> None:
    """Tell the tapes that `outputs` came from `inputs`; `gradient` takes inputs and the gradients of the outputs."""

    def pull(*gradients: Any) -> list[Any]:
        moving = [x for x in inputs if is_differentiable(x._array)]
        shapes = [(x._array.shape, x._array.dtype) for x in moving]
        given = [*inputs, *gradients]
        results = _called(name, gradient, given, shapes, pure=True)
        _record(name, _gradient(gradient, len(given)), given, results, shapes)
        found = iter(results)
        return [next(found) if is_differentiable(x._array) else None for x in inputs]

    plan = CustomPlan(name, pull, list(kinds), tuple(range(len(inputs))), tuple(inputs))
    for tape in local.here.tapes:
        tape._on_custom(plan, inputs, outputs)


# ---------------------------------------------------------------------------------------------------------------------
# While the program runs


def _recording(name: str, function: Function) -> Function:
    """The function, with the number of its recorded call as another result."""

    def run(*inputs: Tensor) -> list[Tensor]:
        moving = [x for x in inputs if is_differentiable(x._array)]
        with GradientTape(persistent=True) as tape:
            tape.watch(moving)
            outputs = function(*inputs)
        number = _next_number() % (1 << 31)
        _recorded[number] = tape, moving, outputs
        if len(_recorded) > _MANY:
            _recorded.popitem(last=False)
        return [wrap(np.array(number, np.int32)), *outputs]

    return run


def _gradient_of_a_call(name: str, count: int) -> Function:
    """From the number of a recorded call, its `count` inputs and its outputs' gradients to those of its inputs."""

    def gradient(ticket: Tensor, *tensors: Tensor) -> list[Tensor]:
        if int(ticket) not in _recorded:
            raise InvalidArgumentError(
                f"{name}: the gradient of a call is asked for after {_MANY} others, and what it needs has been let go"
            )
        tape, moving, outputs = _recorded[int(ticket)]
        inputs, gradients = tensors[:count], tensors[count:]
        _stand_for(tape, moving, [x for x in inputs if is_differentiable(x._array)])
        return _swept(tape, outputs, gradients, moving)

    return gradient


def _stand_for(tape: GradientTape, before: list[Tensor], now: list[Tensor]) -> None:
    """To the tapes that are open now, what a tape recorded of some tensors before depends on the tensors of now."""
    outputs = [t for t in kept_by(tape._records) if t._key in tape._known]
    keys = [key_of(t) for t in before]

    def pull(*gradients: Any) -> list[Any]:
        found = sweep(tape._records, outputs, list(gradients), keys)
        return [g if g is None or type(g) is Tensor else wrap(g) for g in map(found.get, keys)]

    like = [(t._array.shape, t._array.dtype) for t in outputs]
    plan = CustomPlan("py_function", pull, like, tuple(range(len(now))), tuple(outputs))
    for open_tape in local.here.tapes:
        open_tape._on_custom(plan, now, outputs)


def _gradient(function: Function, count: int) -> Function:
    """From `count` inputs of a pure function and the gradients of all outputs to those of the inputs that have one."""

    def gradient(*tensors: Tensor) -> list[Tensor]:
        inputs, gradients = tensors[:count], tensors[count:]
        moving = [x for x in inputs if is_differentiable(x._array)]
        with GradientTape() as tape:
            tape.watch(moving)
            outputs = function(*inputs)
        return _swept(tape, outputs, gradients, moving)

    return gradient


def _swept(tape: GradientTape, outputs: Any, gradients: Any, moving: list[Tensor]) -> list[Tensor]:
    pairs = [(o, g) for o, g in zip(outputs, gradients, strict=True) if is_differentiable(o._array)]
    found = tape.gradient([o for o, _ in pairs], moving, [g for _, g in pairs], UnconnectedGradients.ZERO)
    return [convert_to_tensor(g) for g in found]
