"""The origin of a NaN or infinity, forward or backward, and what usually helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import nest
from ..core.stand_in import original
from ..core.tape import GradientTape
from ..core.tensor import Tensor
from ..core.variable import Variable
from .evidence import Evidence, Trail
from .layers import inside
from .not_finite import BackwardStep, backward_step, bad, describe, forward_cure
from .observed_sweep import probe
from .origins import Event, Origin, name_of
from .reasons import public_name
from .replay import compute_again, inputs_of, kept_values

WHERE = (
    "the derivative is infinite at values that tf.where does not take, and 0 times infinity is nan: make those safe "
    "before the operation too, as in safe = tf.where(ok, x, 1.0); y = tf.where(ok, f(safe), 0.0)"
)
SOFTMAX = (
    "exp overflows before the division can help: use tf.nn.softmax(x), which subtracts the maximum first"
)
LOGSUMEXP = "exp overflows before the logarithm can help: use tf.reduce_logsumexp(x), which subtracts the maximum first"


@dataclass(frozen=True)
class NanReport:
    """The first operation that made a NaN or an infinity; false if there is none.

    direction: 'forward', 'backward', 'input' for one that came in with the data, or None. kind: 'NaN', 'Inf'.
    """

    direction: str | None
    kind: str = ""
    operation: str = ""
    inputs: str = ""
    where: str | None = None
    line: str = ""
    layer: str = ""
    hint: str = ""

    def __bool__(self) -> bool:
        return self.direction is not None

    def __str__(self) -> str:
        if self.direction is None:
            return "no NaN, no infinity: neither forward nor backward"
        operation = inside(self.layer, self.operation)
        if self.direction == "input":
            head = f"{self.kind} came in with the data: an input of {operation}"
        elif self.direction == "forward":
            head = f"{operation} made the first {self.kind}"
        else:
            head = f"the gradient of {operation} made the first {self.kind}, on the way back"
        lines = [head]
        if self.where:
            lines.append(f"  at {self.where}" + (f":  {self.line}" if self.line else ""))
        if self.inputs:
            lines.append(f"  inputs: {self.inputs}")
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {**self.__dict__, "line": self.line or None, "layer": self.layer or None}


def find_nan(tape: GradientTape, target: Any, sources: Any) -> NanReport:
    """The work of `debugging.find_nan`: the first operation that made a NaN or an infinity."""
    if not isinstance(tape, GradientTape):
        raise TypeError(f"find_nan: takes a GradientTape, not {tape!r}")
    tape._rebuild()
    targets = [original(t) for t in nest.flatten(target)]
    ends = [*targets, *map(original, nest.flatten(sources))]
    for end in ends:
        if not isinstance(end, (Tensor, Variable)):
            raise TypeError(f"find_nan: target and sources must be Tensors or Variables, not {end!r}")
    evidence = Evidence.of(tape)
    if evidence.blind:
        raise RuntimeError(
            "find_nan: this tape has answered already and forgot what it recorded. Ask before gradient, use "
            "GradientTape(persistent=True), or turn on debugging.trace_origins()"
        )
    trail = Trail(evidence)
    backward = _backward(evidence, targets)
    masked = not any(bad(t._array) for t in targets)
    if backward is None and masked:
        return NanReport(None)
    forward = _watched(trail, [t._key for t in targets], masked) or _replayed(evidence, trail, ends, masked)
    if forward is not None:
        return forward
    assert backward is not None
    return backward_report(backward, trail, [name_of(plan) for _, plan, _, _ in evidence.records])


# ---------------------------------------------------------------------------------------------------------------------
# Forward


def _watched(trail: Trail, targets: list[int], masked: bool) -> NanReport | None:
    """The first one that a witness saw on the way to the targets; `masked`: the targets are finite."""
    seen, waiting, bad = set(targets), list(targets), []
    while waiting:
        for event in trail.makers.get(waiting.pop(), ()):
            if event.bad:
                bad.append(event)
            for key in event.inputs:
                if key not in seen:
                    seen.add(key)
                    waiting.append(key)
    if not bad:
        return None
    return forward_report(min(bad, key=lambda event: event.time), trail, masked)


def forward_report(event: Event, trail: Trail, masked: bool = False) -> NanReport:
    """The report of the event that made the first one."""
    _, later = trail.reached(event.outputs[0])
    hint = _hint_of_pattern(event.name, [e.name for e in later], masked) or event.cure
    return NanReport(
        "forward", event.bad, public_name(event.name), event.values, *_place(event.where), hint=hint
    )


def _hint_of_pattern(name: str, later: list[str], masked: bool) -> str:
    """The hint for an operation followed by others: a masked value, a softmax or a logsumexp by hand."""
    if masked and "select" in later:
        return WHERE
    if name != "exp" or "sum" not in later:
        return ""
    return SOFTMAX if "divide" in later else LOGSUMEXP if "log" in later else ""


def _replayed(evidence: Evidence, trail: Trail, ends: list[Any], masked: bool) -> NanReport | None:
    """The first one among the values the tape kept; others are computed again where that is possible."""
    values = kept_values(evidence.records, ends)
    names = [name_of(plan) for _, plan, _, _ in evidence.records]
    made = {k for key, *_ in evidence.records for k in (key if type(key) is tuple else (key,))}
    for position, (key, plan, into, kept) in enumerate(evidence.records):
        if type(key) is tuple or not hasattr(plan, "primitive"):
            continue
        inputs = inputs_of(plan, into, kept, values)
        out = values.get(key)
        if out is None:
            out = values[key] = compute_again(plan, inputs, kept)
        if out is None or not bad(out):
            continue
        name = name_of(plan)
        arrays = [x for x in inputs if x is not None]
        spoiled = [x for x in arrays if bad(x)]
        shown = ", ".join(describe(x) for x in arrays)
        place = _place(trail.origin(key))
        if spoiled and not any(bad(values[k]) for k in into if k in values and k in made):
            return NanReport("input", bad(spoiled[0]), public_name(name), shown, *place)
        hint = _hint_of_pattern(name, names[position:], masked) or forward_cure(name, arrays)
        return NanReport("forward", bad(out), public_name(name), shown, *place, hint=hint)
    return None


# ---------------------------------------------------------------------------------------------------------------------
# Backward


def backward_report(step: BackwardStep, trail: Trail, names: list[str]) -> NanReport:
    """The report of a step of a sweep; `names` are those of the operations around it."""
    hint = WHERE if step.untaken and "select" in names else step.hint
    place = _place(trail.origin(step.key))
    return NanReport("backward", step.kind, public_name(step.operation), step.inputs, *place, hint=hint)


def _backward(evidence: Evidence, targets: list[Any]) -> BackwardStep | None:
    found: list[BackwardStep] = []

    def look(key: Any, plan: Any, into: Any, kept: Any, g: Any, parts: Any, seconds: float) -> None:
        if not found:
            step = backward_step(key, plan, kept, g, parts)
            if step is not None:
                found.append(step)

    seeds = {t._key: np.ones(t._array.shape, t._array.dtype) for t in targets if t._key}
    probe(seeds, evidence.records, look)
    return found[0] if found else None


def _place(where: Origin | None) -> tuple[str | None, str, str]:
    """A place, what stands there, and the layer that ran."""
    return (None, "", "") if where is None else (str(where), where.text, where.layer)
