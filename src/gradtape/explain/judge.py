"""From the evidence to a report: the path of a gradient, or the reason why there is none."""

from __future__ import annotations

import ast
from types import FrameType
from typing import Any

import numpy as np

from ..core import dtypes, nest
from ..core.stand_in import original
from ..core.tape import GradientTape
from ..core.user_code import user_frame
from . import reasons
from .evidence import Evidence, Hop, Subject, Trail, name_in, subject
from .observed_sweep import Trial, try_sweep
from .origins import Call, Event, Origin, history_of, origin
from .reasons import HINTS, Reason, facts_of, public_name
from .report import Report, Reports, Step


def explain(tape: GradientTape, target: Any, sources: Any) -> Any:
    """The work of `tape.explain`: a report for each source, in the structure of `sources`."""
    frame = user_frame()
    history = history_of(tape)
    targets = [subject(t, name_in(frame, t, "the target"), history) for t in nest.flatten(target)]
    if not targets:
        raise ValueError("explain: there is no target in an empty structure")
    flat = nest.flatten(sources)
    subjects = [subject(s, name_in(frame, s, _numbered(i, flat)), history) for i, s in enumerate(flat)]
    for s in subjects:
        if s.kind == "value":
            raise TypeError(f"explain: a source must be a Tensor or a Variable, and {s.label} is neither")
    evidence = Evidence.of(tape)
    found = Judge(
        evidence, targets, try_sweep(evidence, [original(t) for t in nest.flatten(target)])
    ).reports(subjects)
    return Reports(found) if type(sources) is list else nest.pack_sequence_as(sources, found)


def note_call(
    tape: GradientTape,
    targets: list[Any],
    sources: list[Any],
    frame: FrameType,
    error: BaseException | None = None,
) -> Call:
    """Note a gradient that was None, or was refused with an error, for a later report."""
    history = history_of(tape)
    return Call(
        Evidence.of(tape),
        [subject(t, name_in(frame, t, "the target"), history) for t in targets],
        [subject(s, name_in(frame, s, _numbered(i, sources)), history) for i, s in enumerate(sources)],
        origin(frame),
        error,
    )


def explain_call(asked: Call) -> Reports:
    """Report why the gradients of a noted call were None."""
    return Reports(Judge(asked.evidence, asked.targets, None).reports(asked.sources))


def _numbered(i: int, sources: list[Any]) -> str:
    return "the source" if len(sources) == 1 else f"source {i}"


# ---------------------------------------------------------------------------------------------------------------------
# Judging


class Judge:
    """Judges, from the evidence, whether and how a gradient of the targets reaches each source."""

    def __init__(self, evidence: Evidence, targets: list[Subject], trial: Trial | None) -> None:
        self.evidence = evidence
        self.trail = Trail(evidence)
        self.targets = targets
        self.trial = trial
        self.traced = evidence.history is not None

    def reports(self, sources: list[Subject]) -> list[Report]:
        """A report for each source."""
        return [self._best(source) for source in sources]

    def _best(self, source: Subject) -> Report:
        """For several targets: how one of them gives a gradient, or why the first does not."""
        answers = [self._judge(source, target) for target in self.targets]
        return next((a for a in answers if a.reason.is_connected), answers[0])

    def _judge(self, source: Subject, target: Subject) -> Report:
        self.source, self.target = source, target
        self.hops = self.trail.path(source.key, target) if source.key else []
        if source.key == target.key and source.key in self.evidence.watched:
            return self._report(Reason.CONNECTED)
        if target.kind == "value":
            return self._of_a_value()
        if not target.differentiable:
            return self._of_an_integer_target()
        if not source.differentiable:
            hint = self._indices() or reasons.SOURCE_DTYPE.format(s=source.label, dtype=_dtype(source.dtype))
            return self._report(Reason.DTYPE, hint, self._first_use())
        if source.key not in self.evidence.known:
            report = self._of_the_unknown()
            if report is not None:
                return report
        return self._of_the_path() if self.hops else self._of_no_path()

    # -- without a path -----------------------------------------------------------------------------------------------

    def _of_a_value(self) -> Report:
        cut = next((hop for hop in self.hops if hop.cut), None)
        if cut is not None:
            return self._at(cut)
        return self._report(Reason.LEFT, reasons.LEFT_TARGET.format(kind="a NumPy or Python value"))

    def _of_an_integer_target(self) -> Report:
        made = self.trail.makers.get(self.target.key, [])
        cut = next((hop for hop in self.hops if hop.cut), None)
        if cut is not None and cut.cut in (Reason.DTYPE, Reason.NO_GRADIENT):
            return self._at(cut)
        name = public_name(made[-1].name) if made else ""
        cure = f"it comes from {name}" if name else "write 3.0 for 3, or tf.cast what it is computed from"
        hint = reasons.TARGET_DTYPE.format(dtype=_dtype(self.target.dtype), cure=cure)
        return self._report(Reason.DTYPE, hint, made[-1].where if made else None)

    def _of_the_unknown(self) -> Report | None:
        """Report on a source that the tape does not know; None if the path tells more."""
        source, evidence = self.source, self.evidence
        where = self._first_use()
        if source.kind == "variable":
            if not source.trainable:
                state = reasons.STATE.format(s=source.label) if source.of_keras else None
                return self._report(Reason.NOT_TRAINABLE, state, where)
            return None if evidence.automatic else self._report(Reason.NOT_AUTOMATIC, where=where)
        replaced = self._replaced()
        if replaced is not None:
            line = replaced.where.text if replaced.where else ""
            hint = HINTS[Reason.REPLACED].format(s=source.label, code=source.code, line=line or replaced.name)
            return self._report(Reason.REPLACED, hint, replaced.where)
        return self._report(Reason.NOT_WATCHED, where=where)

    def _replaced(self) -> Event | None:
        """The operation by which a line such as `v = v - g` put a tensor in a variable's place."""
        if self.evidence.history is None:
            return None
        variables = self.evidence.history.witness.variables
        for event in self.trail.makers.get(self.source.key, ()):
            line = event.where.text if event.where is not None else ""
            before = self._ancestors(event, variables)
            if before and (not line or _assigns_to_itself(line)):
                return event
        return None

    def _ancestors(self, event: Event, variables: dict[int, str]) -> bool:
        """Return whether an event used a variable, directly or through lines such as `v = v - g`."""
        waiting, seen = [event], set()
        while waiting:
            one = waiting.pop()
            for key in one.inputs:
                if key in variables:
                    return True
                for maker in self.trail.makers.get(key, ()):
                    if id(maker) not in seen and maker.where and _assigns_to_itself(maker.where.text):
                        seen.add(id(maker))
                        waiting.append(maker)
        return False

    # -- along the path -----------------------------------------------------------------------------------------------

    def _of_the_path(self) -> Report:
        cut = next((hop for hop in self.hops if hop.cut), None)
        if cut is not None:
            return self._at(cut)
        norm = self.trial.norms.get(self.source.key) if self.trial else None
        if self.trial is not None and self.source.key not in self.trial.norms:
            return self._lost()
        if norm == 0:
            return self._vanished()
        return self._report(
            Reason.CONNECTED, reasons.FROZEN.format(s=self.source.label) if self.source.frozen else None
        )

    def _lost(self) -> Report:
        """Report on a whole path on which the rule of a custom gradient gave None."""
        assert self.trial is not None
        hop = next(
            (h for h in reversed(self.hops) if self._norm(h) is None and h.event.kind != "entered"),
            self.hops[0],
        )
        hop.cut = Reason.NO_GRADIENT
        return self._report(
            Reason.NO_GRADIENT, reasons.CUSTOM.format(op=hop.event.name), hop.event.where, certain=True
        )

    def _norm(self, hop: Hop) -> float | None:
        return self.trial.arrived.get((hop.to, hop.event.inputs[hop.position])) if self.trial else None

    def _vanished(self) -> Report:
        hop = next((h for h in reversed(self.hops) if self._norm(h) == 0), self.hops[0])
        name = hop.event.name
        hint = facts_of(name).flat or reasons.VANISHING.format(op=public_name(name))
        return self._report(Reason.ZERO, hint, hop.event.where)

    def _at(self, hop: Hop) -> Report:
        """Report that the path is cut at a step."""
        assert hop.cut is not None
        event, reason = hop.event, hop.cut
        is_first = event.inputs[:1] and self.source.key in event.inputs and hop is self.hops[0]
        where = event.where
        certain = True
        if reason is Reason.OUTSIDE and is_first:
            reason = hop.cut = Reason.AFTER_BLOCK
        if reason is Reason.LEFT:
            return self._left(hop)
        if reason is Reason.BEFORE_WATCH and not self._watched_later(event):
            hint = reasons.BEFORE_BLOCK.format(s=self.source.label)
        elif reason is Reason.DTYPE:
            hint = self._indices() or _dtype_hint(event)
        elif reason is Reason.NO_GRADIENT:
            hint = (
                reasons.CUSTOM.format(op=event.name)
                if event.kind == "custom"
                else _no_gradient_hint(event.name)
            )
        elif reason is Reason.OVERWRITTEN and event.name.isidentifier() and _does_not_say(event.name, where):
            hint = reasons.KEPT.format(v=self.trail.variable(event.outputs[0]))
        else:
            hint = HINTS[reason].format(
                s=self.source.label, code=self.source.code, op=public_name(event.name)
            )
        return self._report(reason, hint, where, certain)

    def _indices(self) -> str:
        """The hint for a path that goes on as indices into something else; empty for other paths."""
        for hop in self.hops:
            given, made = hop.event.given, hop.event.made
            if hop.cut is not Reason.DTYPE or not given or hop.event.name == "cast_without_gradient":
                continue
            if not _is_number(given[hop.position][0]) and _is_number(made[0][0]):
                return reasons.INDICES.format(s=self.source.label, op=public_name(hop.event.name))
        return ""

    def _watched_later(self, event: Event) -> bool:
        return self.source.key in self.evidence.watched and self.trail.state(event) == "on"

    def _left(self, hop: Hop) -> Report:
        event, certain = hop.event, True
        departure: Event | None = event
        if event.kind == "entered":
            certain = event.link is not None
            departure = event.link or self.trail.departure(self._before(hop), event.since)
        assert departure is not None
        hint = _leaving_hint(departure.name)
        if departure.name == ".numpy()" and _does_not_say("numpy", departure.where):
            hint = reasons.PREDICTED
        return self._report(Reason.LEFT, hint, departure.where, certain)

    def _before(self, hop: Hop) -> int:
        """The key from which a step starts."""
        i = self.hops.index(hop)
        return self.hops[i - 1].to if i else self.source.key

    # -- where there is no path ---------------------------------------------------------------------------------------

    def _of_no_path(self) -> Report:
        source, evidence = self.source, self.evidence
        if evidence.blind:
            if not evidence.known or source.key in evidence.known:
                return self._report(Reason.TOO_LATE, certain=False)
            return self._report(Reason.UNUSED, self._unused())
        _, events = self.trail.reached(source.key)
        if not self.traced:
            return self._unseen(events)
        made = self.trail.makers.get(self.target.key, [])
        decided = [e for e in events if e.kind == "left" and e.name == "bool()"]
        if decided and made and decided[0].time < made[-1].time:
            return self._report(Reason.LEFT, _leaving_hint("bool()"), decided[0].where, certain=False)
        if evidence.history is not None and self.target.key in evidence.history.witness.gradients:
            hint = reasons.CONSTANT.format(s=source.label, t=self.target.label)
            return self._report(Reason.UNUSED, hint, made[-1].where if made else None)
        operations = [e for e in events if e.kind in ("operation", "custom")]
        where = made[-1].where if made else None
        assert evidence.history is not None
        whole = not evidence.history.witness.is_full
        if not operations:
            return self._report(Reason.UNUSED, self._unused(), where, whole)
        names = _listed([public_name(e.name) for e in operations])
        hint = reasons.UNUSED_RESULT.format(s=source.label, op=names)
        return self._report(Reason.UNUSED, hint, operations[-1].where or where, whole)

    def _unused(self) -> str:
        hint = reasons.UNUSED_LAYER if self.source.of_keras else reasons.UNUSED
        return hint.format(s=self.source.label)

    def _unseen(self, events: list[Event]) -> Report:
        """Report without a witness: the tape knows its records, and the operations that end them."""
        source = self.source
        ends = [e for e in events if not all(e.passes)]
        reached = self.target.key in self.evidence.known
        if ends:
            end = next((e for e in ends if self.target.key in e.outputs), ends[-1])
            self.hops = self._toward(end)
            report = self._at(self.hops[-1])
            return self._unsure(report) if self.target.key not in end.outputs else report
        names = _listed([public_name(e.name) for e in events])
        if not reached and events:
            hint = reasons.OUTSIDE_UNSEEN.format(s=source.label, op=names)
            return self._report(Reason.OUTSIDE, hint, certain=False)
        if events:
            hint = reasons.UNUSED_RESULT.format(s=source.label, op=names)
            return self._report(Reason.UNUSED, hint, certain=False)
        if reached:
            return self._report(Reason.UNUSED, self._unused())
        return self._report(Reason.UNUSED, reasons.UNUSED_UNSEEN.format(s=source.label), certain=False)

    def _toward(self, end: Event) -> list[Hop]:
        """The path from the source to an event."""
        position = next(
            i
            for i, key in enumerate(end.inputs)
            if key == self.source.key or self.trail.path(self.source.key, _at_key(key))
        )
        start = self.trail.path(self.source.key, _at_key(end.inputs[position]))
        cut = self.trail.cut(end, position, self.source.key)
        return [*start, Hop(end, position, end.outputs[0], cut)]

    def _unsure(self, report: Report) -> Report:
        return Report(**{**report.__dict__, "certain": False})

    # -- the report ---------------------------------------------------------------------------------------------------

    def _first_use(self) -> Origin | None:
        if self.hops:
            return self.hops[0].event.where
        uses = [e for e in self.trail.uses.get(self.source.key, ()) if e.where is not None]
        uses.sort(key=lambda e: self.trail.state(e) != "on")
        return uses[0].where if uses else None

    def _report(
        self, reason: Reason, hint: str | None = None, where: Origin | None = None, certain: bool = True
    ) -> Report:
        if hint is None:
            hint = HINTS[reason].format(s=self.source.label, code=self.source.code)
        return Report(
            self.source.label,
            self.target.label,
            reason,
            None if where is None else str(where),
            "" if where is None else where.text,
            [self._step(hop, reason.is_connected) for hop in self.hops],
            hint,
            certain,
            "" if where is None else where.layer,
        )

    def _step(self, hop: Hop, connected: bool) -> Step:
        event = hop.event
        made = None
        if hop.to in event.outputs and event.made:
            made = event.made[min(event.outputs.index(hop.to), len(event.made) - 1)]
        elif hop.to == self.target.key and self.target.kind != "value":
            made = (self.target.dtype, self.target.shape)
        return Step(
            _shown(event),
            "" if made is None else _dtype(made[0]),
            None if made is None else tuple(made[1]),
            None if event.where is None else str(event.where),
            hop.cut,
            self.trial.norms.get(hop.to) if self.trial is not None and connected else None,
            "" if event.where is None else event.where.layer,
        )


def _at_key(key: int) -> Subject:
    return Subject(key, "", "tensor", np.dtype("float32"))


def _shown(event: Event) -> str:
    if event.kind == "entered":
        return f"from Python ({event.name})"
    return public_name(event.name)


def _is_number(dtype: Any) -> bool:
    return dtypes.is_differentiable(np.empty(0, dtype))


def _dtype(dtype: Any) -> str:
    return dtypes.as_dtype(dtype).name


def _listed(names: list[str]) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _dtype_hint(event: Event) -> str:
    made = _dtype(event.made[0][0]) if event.made else "an integer or boolean"
    if event.name == "cast_without_gradient":
        given = event.given[0][0] if event.given else None
        if given is not None and not _is_number(given):
            made = _dtype(given)
        return reasons.CAST.format(dtype=made)
    return reasons.COMPARED.format(op=public_name(event.name), dtype=made)


def _no_gradient_hint(name: str) -> str:
    instead = facts_of(name).instead
    if instead:
        return reasons.NO_GRADIENT.format(op=public_name(name), instead=instead)
    return reasons.NO_GRADIENT_ELSE.format(op=public_name(name))


def _leaving_hint(how: str) -> str:
    return reasons.LEAVING.get(how, reasons.LEFT_ELSE.format(op=how))


def _does_not_say(word: str, where: Origin | None) -> bool:
    """Return whether a line is known and lacks a word: what happened there was inside of what the line calls."""
    return where is not None and bool(where.text) and word not in where.text


def _assigns_to_itself(line: str) -> bool:
    """Return whether a line is like `v = v - ...`, `self.v = ...` or `a, b = ...`, of the assigned names."""
    try:
        (statement,) = ast.parse(line).body
    except (SyntaxError, ValueError):
        return False
    if isinstance(statement, ast.AugAssign):
        return True
    if not isinstance(statement, ast.Assign):
        return False
    targets = {ast.dump(_loaded(n)) for t in statement.targets for n in _names(t)}
    return any(ast.dump(_loaded(n)) in targets for n in ast.walk(statement.value) if isinstance(n, ast.expr))


def _names(target: Any) -> list[Any]:
    return (
        [n for part in target.elts for n in _names(part)]
        if isinstance(target, (ast.Tuple, ast.List))
        else [target]
    )


def _loaded(node: ast.expr) -> ast.expr:
    """The expression for reading an assigned name."""
    return ast.parse(ast.unparse(node), mode="eval").body
