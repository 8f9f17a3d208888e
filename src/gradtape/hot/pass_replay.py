"""Replay: the events of a trace once more, on other tensors: on JAX's tracers to compile them, or on the values of a
pass to have computed them as ever."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from ..core import nest
from ..core.primitive import apply, local, quietly
from ..core.tape import GradientTape
from ..core.tensor import Tensor, wrap
from ..core.tensor_conversion import convert
from ..core.variable import Variable
from ..engine.arrays import as_array, xp
from .function_calls import arguments_with
from .pass_events import (
    Ask,
    Assign,
    Call,
    Enter,
    Event,
    Exit,
    Meet,
    Number,
    Operation,
    Out,
    Spec,
    Update,
    Watch,
    written_by,
)
from .pass_trace import Trace
from .sparse_gradients import divided, joined


class Replay:
    """A run of the first events of a trace.

    Args:
        trace: the events.
        variables: by slot.
        tensors: by slot: the tensors from outside, and the values of variables before the first event.
        tapes: the tapes to use, in order; others are made in the place of None.
    """

    def __init__(
        self,
        trace: Trace,
        variables: dict[int, Variable],
        tensors: dict[int, Tensor],
        tapes: list[GradientTape | None] | None = None,
    ) -> None:
        self.trace = trace
        self.variables = variables
        self.tensors = dict(tensors)
        self._given = tapes
        self._held: dict[int, Tensor] = {}  # what variables held before they were given other values, by slot
        self.tapes: list[GradientTape] = []
        for slot, variable in variables.items():
            if slot in self.tensors:
                self._set(slot, self.tensors[slot]._array, variable)

    def run(self, end: int) -> None:
        """Run so many events."""
        for event in self.trace.events[:end]:
            self.step(event)

    def step(self, event: Event) -> None:
        """Run one event."""
        self._STEPS[type(event)](self, event)

    def result(self, slot: int, tensor: Tensor) -> None:
        """Note the tensor in a slot."""
        self.tensors[slot] = tensor

    def _set(self, slot: int, array: Any, variable: Variable) -> Tensor:
        """Set the value of a variable from here on. Like all its values, it has the variable's key."""
        tensor = wrap(array)
        tensor._key = variable._key
        self.tensors[slot] = tensor
        if local.here.trace is not None:
            local.here.trace.write(variable, tensor)
        return tensor

    def _input(self, spec: Spec) -> Any:
        """The value for an operation. Tapes hear that a variable is read."""
        if isinstance(spec, Number):
            return spec.value
        slot = spec if isinstance(spec, int) else spec.slot
        if slot in self.variables:
            for tape in local.here.tapes:
                tape._on_read(self.variables[slot])
        return self.tensors[slot]

    def _end(self, spec: Spec) -> Any:
        """The tensor or variable that a tape is asked about."""
        assert not isinstance(spec, Number)
        slot = spec if isinstance(spec, int) else spec.slot
        return self.variables[slot] if slot in self.variables else self.tensors[slot]

    def _operation(self, event: Operation) -> None:
        out = apply(event.primitive, tuple([self._input(spec) for spec in event.specs]), event.attributes)
        for known, result in zip(event.outs, out if event.primitive.multiple else (out,), strict=True):
            self.result(known.slot, result)

    def _enter(self, event: Enter) -> None:
        tape = self._given[len(self.tapes)] if self._given else None
        if tape is None:
            tape = GradientTape(event.persistent, event.watches)
        self.tapes.append(tape)
        tape._enter()

    def _exit(self, event: Exit) -> None:
        tape = self.tapes[event.tape]
        if tape._recording:
            tape._stop()

    def _watch(self, event: Watch) -> None:
        self.tapes[event.tape].watch([self._end(spec) for spec in event.specs])

    def _ask(self, event: Ask) -> None:
        targets: Any = [self._end(spec) for spec in event.targets]
        sources: Any = [self._end(spec) for spec in event.sources]
        options = event.options
        if event.method == "gradient":
            weights = None if event.weights is None else [self._end(spec) for spec in event.weights]
            options = (weights, *options)
        else:
            (targets,) = targets
        if event.method == "batch_jacobian":
            (sources,) = sources
        results = getattr(self.tapes[event.tape], event.method)(targets, sources, *options)
        parts, slices = divided(results if type(results) is list else [results])
        if slices != event.slices:
            raise ValueError("a gradient is sparse in one pass and not in another")
        for known, part in zip(event.outs, parts, strict=True):
            if known is not None:
                self.result(known.slot, part if type(part) is Tensor else convert(part))

    def _assign(self, event: Assign) -> None:
        slot = event.specs[0] if isinstance(event.specs[0], int) else event.specs[0].slot  # type: ignore[union-attr]
        array = self._input(event.specs[1])._array
        if event.method != "assign":
            old = self.tensors[slot]._array
            function = "add" if event.method == "assign_add" else "subtract"
            array = as_array(quietly(getattr(xp(old, array), function), old, array))
            if type(array) is np.ndarray:
                array = np.asarray(array, order="C")  # as `Variable._update` gives it
        self.result(event.outs[0].slot, self._set(slot, array, self.variables[slot]))

    def _put_values(self, slots: list[int]) -> None:
        """Give variables their values of now, for code that knows nothing of the replay."""
        if local.here.trace is None:
            for slot in slots:
                variable = self.variables[slot]
                self._held.setdefault(slot, variable._tensor)
                variable._tensor = self.tensors[slot]

    def give_back(self) -> None:
        """Have the variables hold again what they held. All others are left alone: another thread may assign them."""
        for slot, tensor in self._held.items():
            self.variables[slot]._tensor = tensor

    def _update(self, event: Update) -> None:
        optimizer: Any = event.optimizer()
        slots = [spec if isinstance(spec, int) else spec.slot for spec in event.touched]  # type: ignore[union-attr]
        self._put_values(slots)
        gradients = joined([self._input(spec) for spec in event.gradients], event.slices)
        pairs = [(g, self._end(spec)) for g, spec in zip(gradients, event.variables, strict=True)]
        optimizer._apply_as(pairs, event.aggregates)
        self._note_written(zip(slots, event.outs, strict=True))

    def _note_written(self, pairs: Iterable[tuple[int, Out]]) -> None:
        """Note the values that variables were given by code that knows nothing of the replay."""
        for slot, out in pairs:
            variable = self.variables[slot]
            self.result(out.slot, self._set(slot, variable._now._array, variable))

    def _call(self, event: Call) -> None:
        slots = [spec if isinstance(spec, int) else spec.slot for spec in event.variables]  # type: ignore[union-attr]
        self._put_values(slots)
        for known, tensor in zip(event.outs, self._results_of(event)):
            self.result(known.slot, tensor)
        self._note_written((slots[i], out) for i, out in written_by(event))

    def _results_of(self, event: Call) -> list[Tensor]:
        """Call a compiled function, and return the tensors among its results."""
        function: Any = event.function()
        args, kwargs = arguments_with(event.others, [self._input(spec) for spec in event.inputs])
        leaves = nest.flatten(function(*args, **kwargs))
        tensors = [x for x, kind in zip(leaves, nest.flatten(event.results), strict=True) if kind is ...]
        return [x if type(x) is Tensor else convert(x) for x in tensors]

    def _nothing(self, event: Meet) -> None:
        """Nothing is computed."""

    _STEPS: ClassVar[dict[type, Any]] = {
        Operation: _operation,
        Enter: _enter,
        Exit: _exit,
        Watch: _watch,
        Ask: _ask,
        Assign: _assign,
        Update: _update,
        Call: _call,
        Meet: _nothing,
    }
