"""How much time following saves: an estimate from the events of a trace, never from a clock.

Microseconds, fitted to the loops of bench/hot_tapes.py on several processors, and cautious where these differ. All runs
of a program decide alike.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from .pass_events import (
    Ask,
    Assign,
    Call,
    Enter,
    Exit,
    NewTensor,
    NewVariable,
    Operation,
    Update,
    outs_of,
    specs_of,
)
from .pass_trace import Trace, size

_PASS = 31.0  # to begin a pass, call its program and end it
_THREAD = 10.0  # to have XLA compute in a thread of its own, as it does all but the smallest programs,
_LATE = 25.0  # and to wait for that, because a tensor from outside is another than the expected one
_SMALLEST = 1000  # operations on numbers: below, XLA computes at once
_OPERATION = 3.0  # to compute, record and differentiate one, less the 0.6 to follow it;
_UNRECORDED = 0.8  # and outside of the tapes' blocks, to compute it
_SWEPT = 8.0  # to differentiate one in a block of another tape, which records that
_INPUT = 4.0  # lost for each tensor and variable that the pass takes from outside
_PASSING = 4.0  # lost for each tensor that every pass makes, as of a Python number, to compare the values
_RENEWED = 8.0  # lost for each tensor from outside that is another than in the pass before
_CUT = 4.0  # lost for each part of a tensor from outside that is cut at another index in each pass
_ASSIGN = 2.0
_UPDATE, _VARIABLE = 10.0, 12.0  # an optimizer's step, and each variable in it,
_UPDATED = 0.0007  # and each element of these and of the optimizer's state
_CALL = 60.0  # to call a compiled function under a tape, and its gradient
_ELEMENT = 0.0006  # of an elementwise operation: NumPy goes through memory for each, XLA once for many
_CHECKED = 15.0  # lost for an operation that computes at once: all before it is computed for it
_SPARSE = 140.0  # lost for a sparse gradient, of which XLA looks at all rows
_RERUN = 12.0  # lost if the program runs once more, because somebody looked in the middle
_RERUN_EVENT = 0.2

# The same where the program of a pass is code of NumPy's functions. To begin and end the pass takes less than the tape
# and the question to it do. If the program runs again, each event, element and multiplication is computed once more.
_PASS_BY_NUMPY = 3.0
_OPERATION_BY_NUMPY, _UNRECORDED_BY_NUMPY = 1.5, 0.4
_ASSIGN_BY_NUMPY = 2.0
_ASSIGN_NEW_BY_NUMPY = -15.0  # of a tensor from outside
_VARIABLE_BY_NUMPY = 6.0
_STATE_BY_NUMPY = 3.5  # lost for each variable of an optimizer's state
_RERUN_BY_NUMPY, _ELEMENT_BY_NUMPY, _MULTIPLY_BY_NUMPY = 1.5, 0.002, 1.5e-5

_PRODUCTS = frozenset(("matmul", "gram", "einsum", "convolve", "deconvolve", "correlate"))
_IMPORT = 700_000.0  # to import JAX
_GENERATE, _GENERATE_EVENT = 3_000.0, 80.0  # to import what generates code, and to generate that of an event
# To compile a program that has products, and each event of it; and one without.
_COMPILE, _COMPILE_EVENT = 250_000.0, 10_000.0
_COMPILE_PLAIN, _COMPILE_PLAIN_EVENT = 40_000.0, 400.0


def saved(trace: Trace, by_numpy: bool, runs: float = 1.0, renewed: float = 0.0) -> float:
    """The microseconds that following saves in a pass.

    Args:
        trace: its events.
        by_numpy: whether its programs are code of NumPy's functions, or compiled by XLA.
        runs: how often its programs run.
        renewed: how many tensors from outside are others than in the pass before.
    """
    gain = trace.gains.get(by_numpy)
    if gain is None:
        gain = trace.gains[by_numpy] = _by_numpy(trace) if by_numpy else _by_xla(trace)
    total = gain.once - (runs - 1) * gain.rerun - _CUT * len(trace.cuts)
    if by_numpy:
        return total - _RENEWED * max(renewed, trace.passing)
    return total - _PASSING * trace.passing - _RENEWED * renewed - _LATE * min(renewed, 1.0)


class Gain(NamedTuple):
    """The microseconds that following saves in a pass whose program runs once, and loses if it runs once more."""

    once: float
    rerun: float


def _by_numpy(trace: Trace) -> Gain:
    """The gain if the program of the pass is code of NumPy's functions: see `array_code`."""
    total, tapes = _PASS_BY_NUMPY, 0
    for event in trace.events:
        tapes += isinstance(event, Enter) - isinstance(event, Exit)
        if isinstance(event, Operation):
            total += _OPERATION_BY_NUMPY if tapes else _UNRECORDED_BY_NUMPY
        elif isinstance(event, Assign):
            total += _ASSIGN_NEW_BY_NUMPY if isinstance(event.specs[1], NewTensor) else _ASSIGN_BY_NUMPY
        elif isinstance(event, Update):
            state = (
                len(event.touched) - len(event.variables) - 2
            )  # the others: the count of steps, and the rate
            total += _UPDATE + _VARIABLE_BY_NUMPY * len(event.variables) - _STATE_BY_NUMPY * state
            total += _UPDATED * _updated(event) if not state else 0.0
    rerun = (
        _RERUN_BY_NUMPY * len(trace.events)
        + _MULTIPLY_BY_NUMPY * _multiplications(trace)
        + _ELEMENT_BY_NUMPY * trace.elements
    )
    return Gain(total, rerun)


def _by_xla(trace: Trace) -> Gain:
    """The gain if the program of the pass is compiled by XLA."""
    total, numbers, operations, tapes = 0.0, 0, 0, 0
    shapes: dict[int, tuple[int, ...]] = {}
    before: list[int] = []  # the operations before each tape's block
    for event in trace.events:
        new = [spec for spec in specs_of(event) if isinstance(spec, (NewTensor, NewVariable))]
        shapes |= {part.slot: part.shape for part in (*new, *outs_of(event))}
        tapes += isinstance(event, Enter) - isinstance(event, Exit)
        total -= _INPUT * len(new)
        if isinstance(event, Enter):
            before.append(operations)
        elif isinstance(event, Operation):
            operations += 1
            inner = _inner(event, shapes)
            elements = sum(map(size, event.outs))
            numbers += 3 * elements * max(2 * inner, 1)  # forward and back
            total += _saved_by_operation(event, elements, tapes > 0)
        elif isinstance(event, Ask):
            total -= _SPARSE * sum(shape is not None for shape in event.slices)
            total += _SWEPT * (operations - before[event.tape]) * (tapes > 0)
        elif isinstance(event, Assign):
            total += _ASSIGN
        elif isinstance(event, Call):
            numbers += _SMALLEST
            total += _CALL
        elif isinstance(event, Update):
            total += _UPDATE + _VARIABLE * len(event.variables) + _UPDATED * _updated(event)
    thread = _THREAD if numbers >= _SMALLEST else 0.0
    return Gain(total - _PASS - thread, _RERUN + _RERUN_EVENT * len(trace.events) + thread)


def to_generate(trace: Trace) -> float:
    """The microseconds that it takes to make a program of NumPy's functions."""
    return _GENERATE + _GENERATE_EVENT * len(trace.events)


def to_compile(trace: Trace) -> float:
    """The microseconds that it takes to compile the program of a pass, and to import JAX if nothing has done so yet."""
    has_products = any(
        isinstance(e, Call) or (isinstance(e, Operation) and _is_product(e)) for e in trace.events
    )
    once, event = (_COMPILE, _COMPILE_EVENT) if has_products else (_COMPILE_PLAIN, _COMPILE_PLAIN_EVENT)
    return once + event * len(trace.events) + (0.0 if "jax" in sys.modules else _IMPORT)


def _multiplications(trace: Trace) -> float:
    """How many numbers are multiplied in products, forward and back."""
    shapes: dict[int, tuple[int, ...]] = {}
    total = 0
    for event in trace.events:
        new = [spec for spec in specs_of(event) if isinstance(spec, (NewTensor, NewVariable))]
        shapes |= {part.slot: part.shape for part in (*new, *outs_of(event))}
        if isinstance(event, Operation):
            total += 3 * sum(map(size, event.outs)) * _inner(event, shapes)
    return total


def _updated(event: Update) -> int:
    """How many numbers an optimizer's step writes; 0 if it has a sparse gradient, which eagerly writes few of them."""
    return 0 if any(shape is not None for shape in event.slices) else sum(map(size, event.outs))


def _is_product(event: Operation) -> bool:
    return event.primitive.name in _PRODUCTS


def _inner(event: Operation, shapes: dict[int, tuple[int, ...]]) -> int:
    """How many products are added up for each element; 0 if that is not what an operation does."""
    if not _is_product(event):
        return 0
    first: Any = event.specs[0]
    shape = shapes.get(getattr(first, "slot", first), ())
    return shape[-1] if shape else 1


def _saved_by_operation(event: Operation, elements: int, is_recorded: bool) -> float:
    """The same for one operation."""
    if event.checked:
        return -_CHECKED
    once = _OPERATION if is_recorded else _UNRECORDED
    return once + (_ELEMENT * elements if event.primitive.elementwise else 0.0)
