"""Where a NaN or an infinity began: forward, or on the way back; and what usually helps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import nest
from ..core.indexed_slices import IndexedSlices
from ..core.tape import GradientTape
from ..core.tensor import Tensor
from ..core.variable import Variable
from ..ops.math.numerics import not_finite
from .evidence import Evidence, Trail, name_of
from .observed_sweep import probe
from .origins import Event, Origin
from .reasons import public_name

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
    hint: str = ""

    def __bool__(self) -> bool:
        return self.direction is not None

    def __str__(self) -> str:
        if self.direction is None:
            return "no NaN, no infinity: neither forward nor backward"
        if self.direction == "input":
            head = f"{self.kind} came in with the data: an input of {self.operation}"
        elif self.direction == "forward":
            head = f"{self.operation} made the first {self.kind}"
        else:
            head = f"the gradient of {self.operation} made the first {self.kind}, on the way back"
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
        """As plain data, for JSON."""
        return {**self.__dict__, "line": self.line or None}


def find_nan(tape: GradientTape, target: Any, sources: Any) -> NanReport:
    """What `debugging.find_nan` does."""
    if not isinstance(tape, GradientTape):
        raise TypeError(f"find_nan: takes a GradientTape, not {tape!r}")
    for end in (*nest.flatten(target), *nest.flatten(sources)):
        if not isinstance(end, (Tensor, Variable)):
            raise TypeError(f"find_nan: target and sources must be Tensors or Variables, not {end!r}")
    evidence = Evidence.of(tape)
    if evidence.blind:
        raise RuntimeError(
            "find_nan: this tape has answered already and forgot what it recorded. Ask before gradient, use "
            "GradientTape(persistent=True), or turn on debugging.trace_origins()"
        )
    targets = nest.flatten(target)
    trail = Trail(evidence)
    backward = _backward(evidence, targets)
    masked = not any(_bad(t._array) for t in targets)
    if backward is None and masked:
        return NanReport(None)
    forward = _watched(trail, [t._key for t in targets], masked) or _replayed(
        evidence, trail, [*targets, *nest.flatten(sources)], masked
    )
    if forward is not None:
        return forward
    assert backward is not None
    return backward.report(trail, [name_of(plan) for _, plan, _, _ in evidence.records])


# ---------------------------------------------------------------------------------------------------------------------
# Forward


def _watched(trail: Trail, targets: list[int], masked: bool) -> NanReport | None:
    """The first that a witness saw, among what led to the target; `masked` says that it did not get there."""
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
    """An event that made the first one."""
    _, later = trail.reached(event.outputs[0])
    hint = _by_what_follows(event.name, [e.name for e in later], masked) or event.cure
    return NanReport(
        "forward", event.bad, public_name(event.name), event.values, *_place(event.where), hint=hint
    )


def _by_what_follows(name: str, later: list[str], masked: bool) -> str:
    if masked and "select" in later:
        return WHERE
    if name != "exp" or "sum" not in later:
        return ""
    return SOFTMAX if "divide" in later else LOGSUMEXP if "log" in later else ""


def _replayed(evidence: Evidence, trail: Trail, ends: list[Any], masked: bool) -> NanReport | None:
    """The first among what the tape kept; what it did not keep is computed again where that is possible."""
    values = {t._key: t._array for t in ends if t._key}
    for _, _, _, kept in evidence.records:
        values.update({t._key: t._array for t in _tensors(kept) if t._key})
    names = [name_of(plan) for _, plan, _, _ in evidence.records]
    made = {k for key, *_ in evidence.records for k in (key if type(key) is tuple else (key,))}
    for position, (key, plan, into, kept) in enumerate(evidence.records):
        if type(key) is tuple or not hasattr(plan, "primitive"):
            continue
        inputs = _inputs(plan, into, kept, values)
        out = values.get(key)
        if out is None and inputs is not None:
            out = values[key] = _again(plan, inputs, kept)
        if out is None or not _bad(out):
            continue
        name = name_of(plan)
        known = [x for x in inputs or [values.get(k) for k in into] if x is not None]
        spoiled = [x for x in known if _bad(x)]
        shown = ", ".join(describe(x) for x in known)
        place = _place(trail.origin(key))
        if spoiled and not any(_bad(values[k]) for k in into if k in values and k in made):
            return NanReport("input", _bad(spoiled[0]), public_name(name), shown, *place)
        hint = _by_what_follows(name, names[position:], masked) or forward_cure(name, known)
        return NanReport("forward", _bad(out), public_name(name), shown, *place, hint=hint)
    return None


def _tensors(kept: Any) -> Iterator[Tensor]:
    for value in kept:
        if type(value) is Tensor:
            yield value
        elif type(value) is tuple:
            yield from _tensors(value)


def _inputs(plan: Any, into: Any, kept: Any, values: dict[int, Any]) -> list[Any] | None:
    """The arrays an operation was computed on, if they can be had."""
    primitive = plan.primitive
    held = dict(zip(plan._parts.kept, kept, strict=True))
    if primitive.variadic:
        xs = held.get(primitive.inputs[0])
        return [x._array for x in xs] if xs else None
    keys = dict(zip(plan.watched, into, strict=True))
    found = []
    for i, name in enumerate(primitive.inputs):
        if name in held:
            found.append(held[name]._array)
        elif i in keys and keys[i] in values:
            found.append(values[keys[i]])
        else:
            return None
    return found


def _again(plan: Any, inputs: list[Any], kept: Any) -> Any:
    held = dict(zip(plan._parts.kept, kept, strict=True))
    primitive = plan.primitive
    if any(name not in held for name in primitive.attributes):
        return None
    with np.errstate(all="ignore"):
        return primitive.forward(*inputs, **{name: held[name] for name in primitive.attributes})


# ---------------------------------------------------------------------------------------------------------------------
# Backward


@dataclass(frozen=True)
class BackwardStep:
    """A step of a sweep that made a NaN or infinity of a finite gradient."""

    key: int
    operation: str
    kind: str
    inputs: str
    hint: str
    untaken: bool  # the gradient that came was 0 where it happened
    time: int = 0

    def report(self, trail: Trail, names: list[str]) -> NanReport:
        """With the place where the operation was."""
        hint = WHERE if self.untaken and "select" in names else self.hint
        place = _place(trail.origin(self.key))
        return NanReport("backward", self.kind, public_name(self.operation), self.inputs, *place, hint=hint)


def backward_step(key: Any, plan: Any, kept: Any, g: Any, parts: Any) -> BackwardStep | None:
    """Did this step of a sweep make the first one?"""
    kind = next(filter(None, [_bad(part) for part in parts]), "")
    if not kind or _bad(g):
        return None
    name = name_of(plan)
    part = next(p for p in parts if _bad(p))
    held = [t._array for t in _tensors(kept)]
    shown = ", ".join([f"gradient {describe(_array(g))}", *[describe(x) for x in held]])
    first = key[0] if type(key) is tuple else key
    return BackwardStep(first, name, kind, shown, _BACKWARD.get(name, ""), _came_with_zero(g, part))


def _backward(evidence: Evidence, targets: list[Any]) -> BackwardStep | None:
    found: list[BackwardStep] = []
    kept_of = {key: kept for key, _, _, kept in evidence.records}

    def look(key: Any, plan: Any, into: Any, g: Any, parts: Any) -> None:
        if not found:
            step = backward_step(key, plan, kept_of[key], g, parts)
            if step is not None:
                found.append(step)

    seeds = {t._key: np.ones(t._array.shape, t._array.dtype) for t in targets if t._key}
    probe(seeds, evidence.records, look)
    return found[0] if found else None


def _came_with_zero(g: Any, part: Any) -> bool:
    """Was the gradient that came 0 at all places where this is not finite?"""
    arriving, leaving = np.asarray(_array(g)), np.asarray(_array(part))
    if arriving.shape != leaving.shape:
        return False
    return bool((arriving[~np.isfinite(leaving)] == 0).all())


def _array(g: Any) -> Any:
    if type(g) is tuple:
        return next(part for part in g if part is not None)
    return g.values._array if type(g) is IndexedSlices else g


def _bad(value: Any) -> str:
    if value is None:
        return ""
    if type(value) is tuple:
        return next(filter(None, [_bad(part) for part in value]), "")
    array = _array(value)
    return not_finite(array) if isinstance(array, (np.ndarray, np.generic)) else ""


def _place(where: Origin | None) -> tuple[str | None, str]:
    """A place, and what stands there."""
    return (None, "") if where is None else (str(where), where.text)


# ---------------------------------------------------------------------------------------------------------------------
# Words


def describe(array: Any) -> str:
    """A small summary of an array: its values if they are few, else their range."""
    array = np.asarray(array)
    kind = f"{array.dtype}{list(array.shape)}"
    if array.size <= 6 or array.dtype.kind not in "fc":
        return f"{kind} {np.array2string(array, threshold=6, edgeitems=2, precision=4)}".replace("\n", "")
    flat = array.ravel()
    finite = flat[np.isfinite(flat)]
    parts = []
    if finite.size and array.dtype.kind == "f":
        parts.append(f"{finite.min():.4g} to {finite.max():.4g}")
    parts += [
        f"{count} {what}"
        for what, count in (
            ("zero", int((flat == 0).sum())),
            ("nan", int(np.isnan(flat).sum())),
            ("inf", int(np.isinf(flat).sum())),
        )
        if count
    ]
    return f"{kind} {', '.join(parts)}"


def forward_cure(name: str, inputs: list[Any]) -> str:
    """What helps where a finite input gives something that is not."""
    for condition, cure in _FORWARD.get(name, ()):
        if condition(*inputs[:1]) if name not in ("divide", "power") else condition(*inputs):
            return cure
    return ""


_DIVISION = "a division by 0: use tf.math.divide_no_nan(x, y), or add a small number to the divisor"
_FORWARD: dict[str, list[tuple[Any, str]]] = {
    "log": [
        (
            lambda x: (x == 0).any(),
            "log(0) is -inf: use tf.math.log(tf.maximum(x, 1e-12)), or a loss that takes logits, such as "
            "tf.nn.softmax_cross_entropy_with_logits",
        ),
        (lambda x: True, "the logarithm of a negative number is nan: make sure that x > 0"),
    ],
    "log1p": [(lambda x: True, "log1p(x) needs x > -1")],
    "sqrt": [(lambda x: True, "the root of a negative number is nan: use tf.sqrt(tf.maximum(x, 0.0))")],
    "rsqrt": [(lambda x: True, "rsqrt(0) is inf: add a small number, as in tf.math.rsqrt(x + 1e-12)")],
    "reciprocal": [(lambda x: True, _DIVISION)],
    "divide": [(lambda *xs: len(xs) < 2 or (xs[-1] == 0).any(), _DIVISION)],
    "exp": [
        (
            lambda x: True,
            "exp overflows (in float32 above 88.7): subtract the maximum first, or use tf.nn.softmax, "
            "tf.nn.softplus or tf.reduce_logsumexp",
        )
    ],
    "power": [
        (
            lambda *xs: (xs[0] < 0).any(),
            "a negative number to a broken power is nan: use tf.abs(x), or tf.maximum(x, 0.0)",
        ),
        (lambda *xs: (xs[0] == 0).any(), "0 to a negative power is inf: add a small number to the base"),
    ],
    "asin": [(lambda x: True, "asin needs -1 <= x <= 1: use tf.clip_by_value(x, -1.0, 1.0)")],
    "acos": [(lambda x: True, "acos needs -1 <= x <= 1: use tf.clip_by_value(x, -1.0, 1.0)")],
    "atanh": [(lambda x: True, "atanh needs -1 < x < 1: use tf.clip_by_value")],
}
_BACKWARD = {
    "sqrt": "the derivative of sqrt at 0 is infinite: use tf.sqrt(tf.maximum(x, 1e-12)), or for a length tf.norm, "
    "whose gradient at 0 is 0",
    "rsqrt": "the derivative of rsqrt at 0 is infinite: add a small number, as in tf.math.rsqrt(x + 1e-12)",
    "log": "the derivative of log at 0 is infinite: use tf.math.log(tf.maximum(x, 1e-12)), or a loss that takes logits",
    "divide": _DIVISION,
    "reciprocal": _DIVISION,
    "power": "the derivative of x ** p at 0 is infinite for p < 1: add a small number to the base",
    "asin": "the derivative of asin at -1 and 1 is infinite: keep its input inside, with tf.clip_by_value",
    "acos": "the derivative of acos at -1 and 1 is infinite: keep its input inside, with tf.clip_by_value",
    "atan2": "atan2(0, 0) has no derivative: keep one of the two from 0",
    "exp": "exp overflows: subtract the maximum first, or use tf.nn.softmax or tf.reduce_logsumexp",
}
