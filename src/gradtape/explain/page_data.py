"""The data of the page: operations with their values and gradients, the steps of the sweep, and what was found out.

Collected from a tape's records, and from a witness's events where there is one. The sweep is run once more, on the
side, and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from types import FrameType
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.plan import Plan
from ..core.stand_in import original
from ..core.sweep import add, dense
from ..core.tensor import Tensor, key_of
from ..core.variable import Variable
from .evidence import Evidence, Trail, name_in, subject
from .gradient_marks import Marks
from .judge import Judge
from .layers import kind_of
from .not_finite import bad, describe
from .observed_sweep import Trial, probe, size_of
from .origins import Event, Origin
from .page_groups import Group, grouped, scopes_of
from .plot import shown_events
from .reasons import Reason, facts_of, public_name
from .replay import inputs_of, kept_values, replay
from .report import Report
from .rule_text import rule_text
from .summary import infer
from .value_picture import Picture, picture_of

_DETAILED = 600  # operations whose elements are shown; of more, the statistics
_OPERATIONS = 12_000  # that a page shows; of more, the first and the last
_JACOBIAN = 4096  # elements of a Jacobian that is shown
_INSIDE = 400  # operations of a compiled function that are listed

Data = dict[str, Any]


class Collector:
    """Collects the data of one question: the gradient of targets by sources.

    Args:
        evidence: the tape's records, and what a witness saw.
        variables: those that the tape watches.
        targets: tensors and variables.
        sources: likewise, as the user gave them.
        frame: of the user's code that asked.
        seeds: the gradients of the targets by key; by default ones.
    """

    def __init__(
        self,
        evidence: Evidence,
        variables: Any,
        targets: list[Any],
        sources: list[Any],
        frame: FrameType,
        seeds: dict[int, Any] | None = None,
    ) -> None:
        self.evidence, self.frame = evidence, frame
        self.given_sources = sources
        self.targets, self.sources = [original(t) for t in targets], [original(s) for s in sources]
        for end in (*self.targets, *self.sources):
            key_of(end)
        self.seeds = _seeds(self.targets, seeds or {})
        self.history = evidence.history
        self.trail = Trail(evidence)
        self.reached = set(evidence.known).union(*[self.trail.reached(s._key)[0] for s in self.sources])
        events = shown_events(evidence, self.trail, self.targets, None)
        # What has nothing to do with the sources is a constant, however it was computed.
        self.events = [event for event in events if self.reached.intersection(event.inputs)] or events
        self.left_out = max(0, len(self.events) - _OPERATIONS)
        if self.left_out:
            half = _OPERATIONS // 2
            self.events = self.events[:half] + self.events[-half:]
        seen = {} if self.history is None else {k: e for e in self.history.witness.events for k in e.outputs}
        self.likes = infer(variables, evidence.records, seen)
        self.pictures: dict[int, Picture] = (self.history and self.history.witness.pictures) or {}
        named, self.names = _named(frame, [*variables, *sources, *targets])
        ends = [*named, *variables, *self.sources, *self.targets]
        self.values = kept_values(evidence.records, ends)
        replay(evidence.records, self.values)
        self.records = {k: record for record in evidence.records for k in _keys(record[0])}
        self.nodes: list[Data] = []
        self.at: dict[int, tuple[int, int]] = {}  # node and output, by key
        self.rules: dict[str, int] = {}
        self.files: dict[str, set[int]] = {}
        step = max(1, len(self.events) // _DETAILED)
        self.detailed = step == 1
        self._every = step

    def data(self) -> Data:
        """The data, for JSON."""
        ends = {t._key for t in self.targets}
        for event in self.events:
            self._operation(event, ends)
        for source in self.sources:
            if source._key not in self.at:
                self._outer(source._key, "source")
        trial, steps, gradients = self._sweep()
        self._gradients(gradients)
        return {
            "target": ", ".join(self.names.get(t._key) or "the target" for t in self.targets),
            "targets": [list(self.at[k]) for k in ends if k in self.at],
            "nodes": self.nodes,
            "groups": self._groups(),
            "steps": steps,
            "sources": self._reports(trial),
            "jacobians": self._jacobians(),
            "rules": [rule_text(name) for name in self.rules],
            "layers": list(dict.fromkeys(event.sweep for event in self.events)),
            "notes": self._notes(),
            "where": self._place(_origin_of(self.frame)),
        }

    # -- operations and values ----------------------------------------------------------------------------------------

    def _operation(self, event: Event, ends: set[int]) -> None:
        number = len(self.nodes)
        record = self.records.get(event.outputs[0])
        inputs = [
            self._input(event, i, key, array) for i, (key, array) in enumerate(self._inputs(event, record))
        ]
        number = len(self.nodes)
        is_cut = event.kind == "assign" or bool(event.passes and not any(event.passes))
        node: Data = {
            "op": public_name(event.name),
            "kind": "target" if ends.intersection(event.outputs) else "cut" if is_cut else "op",
            "inputs": inputs,
            "outs": [self._out(key, number) for key in event.outputs],
            "rule": self.rules.setdefault(event.name, len(self.rules)),
        }
        if event.where is not None:
            node["at"] = self._place(event.where)
            if event.where.layer:
                node["layer"] = event.where.layer
        if event.sweep:
            node["sweep"] = event.sweep
        if record is not None and hasattr(record[1], "graph"):
            node["inside"] = _inside(record[1])
        mark = self._forward_mark(event, inputs)
        if mark:
            node["marks"] = [mark]
        for i, key in enumerate(event.outputs):
            self.at[key] = (number, i)
        self.nodes.append(node)

    def _inputs(self, event: Event, record: Any) -> list[tuple[int, Any]]:
        """The inputs of an operation: keys, or 0 and the array, or 0 and None where nobody kept it."""
        if event.given or record is None or not isinstance(record[1], Plan):
            return [(key, None) for key in event.inputs]
        _, plan, into, kept = record
        keys = dict(zip(plan.watched, into, strict=True))
        arrays = inputs_of(plan, into, kept, self.values)
        if plan.primitive.variadic and arrays[-1] is None:
            arrays.pop()
        return [(keys.get(i, 0), array) for i, array in enumerate(arrays)]

    def _input(self, event: Event, position: int, key: int, array: Any) -> Any:
        if key and key not in self.at:
            watched = key in self.evidence.watched or any(key == s._key for s in self.sources)
            self._outer(key, "source" if watched else "constant")
        elif not key:
            self.nodes.append(
                {"op": "", "kind": "constant", "inputs": [], "outs": [{"value": picture_of(array)}]}
            )
            return [len(self.nodes) - 1, 0]
        cut = self.trail.cut(event, position, 0) if position < len(event.inputs) else None
        return [*self.at[key], cut.value] if cut and self._leads_from_source(key) else list(self.at[key])

    def _leads_from_source(self, key: int) -> bool:
        """Return whether a gradient by this value would matter: it is a source, or comes of one."""
        node = self.nodes[self.at[key][0]]
        return node["kind"] != "constant" and (node["kind"] == "source" or key in self.reached)

    def _outer(self, key: int, kind: str) -> None:
        """A node for a value that was there before: a source, or a constant."""
        self.at[key] = (len(self.nodes), 0)
        self.nodes.append(
            {
                "op": "",
                "kind": kind,
                "inputs": [],
                "outs": [self._out(key, 0)],
                "watched": key in self.evidence.watched,
            }
        )

    def _out(self, key: int, number: int) -> Data:
        out: Data = {}
        picture = self.pictures.get(key)
        if picture is None:
            picture = picture_of(self.values.get(key), self._in_detail(number))
        if picture is None and key in self.likes:
            dtype, shape = self.likes[key]
            picture = {"dtype": dtypes.as_dtype(dtype).name, "shape": list(shape), "unknown": True}
        if picture is not None:
            out["value"] = picture if self._in_detail(number) else _statistics(picture)
        if self.names.get(key):
            out["name"] = self.names[key]
        return out

    def _in_detail(self, number: int) -> bool:
        return self.detailed or number % self._every == 0 or number < 20

    def _forward_mark(self, event: Event, inputs: list[Any]) -> Data | None:
        """The mark of an operation that makes a NaN or an infinity of finite values."""
        if event.bad:
            return {
                "kind": event.bad.lower(),
                "text": f"the first {event.bad} is made here",
                "hint": event.cure,
            }
        values = [self.values.get(key) for key in event.outputs]
        kind = next(filter(None, [bad(v) for v in values if isinstance(v, np.ndarray)]), "")
        if event.given or not kind:
            return None
        pictures = [self.nodes[i[0]]["outs"][i[1]].get("value") for i in inputs]
        if any(p is None or p.get("nan") or p.get("inf") for p in pictures):
            return None
        arrays = [self.values[k] for k in event.inputs if self.values.get(k) is not None]
        cure = facts_of(event.name).cure
        hint = (
            cure(*arrays)
            if callable(cure) and len(arrays) == len(inputs)
            else cure
            if isinstance(cure, str)
            else ""
        )
        shown = ", ".join(describe(x) for x in arrays)
        return {"kind": kind.lower(), "text": f"the first {kind} is made here, of {shown}", "hint": hint}

    def _place(self, where: Origin | None) -> list[Any] | None:
        if where is None:
            return None
        self.files.setdefault(where.file, set()).add(where.line)
        return [where.file, where.line, where.function]

    # -- the sweep ----------------------------------------------------------------------------------------------------

    def _sweep(self) -> tuple[Trial, list[Data], dict[int, Any]]:
        """Run the sweep on the side; returns the norms, the steps, and all gradients by key."""
        trial, marks = Trial(), Marks(self.seeds)
        steps: list[Data] = []
        shared = {
            k for k, count in Counter(k for r in self.evidence.records for k in r[2]).items() if count > 1
        }
        totals: dict[int, Any] = {}

        def look(key: Any, plan: Any, into: Any, kept: Any, g: Any, parts: Any, seconds: float) -> None:
            trial.look(key, plan, into, kept, g, parts, seconds)
            first = _keys(key)[0]
            if first not in self.at:
                return
            node = self.at[first][0]
            found = []
            for position, k, part in zip(self._positions(node, plan, into), into, parts, strict=True):
                entry: Data = {"input": position}
                if part is None:
                    entry["none"] = True
                elif k in shared:
                    totals[k] = part if k not in totals else add(totals[k], part)
                    if self._in_detail(len(steps)):
                        entry["part"] = picture_of(_conjugate(dense(part)))
                        entry["sum"] = picture_of(_conjugate(dense(totals[k])))
                found.append(entry)
            steps.append({"node": node, "parts": found})
            mark = marks.look(key, plan, kept, g, parts)
            if mark:
                self.nodes[node].setdefault("marks", []).append(mark)

        seeds = {k: g for k, g in self.seeds.items() if g is not None}
        gradients = probe(seeds, self.evidence.records, look) if self.evidence.records else dict(seeds)
        trial.norms.update({key: size_of(g) for key, g in gradients.items()})
        return trial, steps, gradients

    def _positions(self, node: int, plan: Any, into: Any) -> Any:
        """The positions, among the inputs of a node, that a step pulls back to."""
        count = len(self.nodes[node]["inputs"])
        return plan.watched if plan.watched and max(plan.watched) < count else range(len(into))

    def _gradients(self, gradients: dict[int, Any]) -> None:
        for key, g in gradients.items():
            if key in self.at:
                node, out = self.at[key]
                self.nodes[node]["outs"][out]["gradient"] = picture_of(
                    _conjugate(dense(g)), self._in_detail(node)
                )

    def _jacobians(self) -> list[Data]:
        """The Jacobian by each source, where it is small and the target no scalar."""
        target = self.targets[0]
        size = int(np.prod(target._array.shape, dtype=int))
        if size < 2 or len(self.targets) > 1 or not self.evidence.records:
            return []
        sources = [s for s in self.sources if size * max(1, s._array.size) <= _JACOBIAN]
        if not sources or not dtypes.is_differentiable(target._array):
            return []
        rows = np.eye(size, dtype=target._array.dtype).reshape(size, *target._array.shape)
        found = probe({target._key: rows}, self.evidence.records, lambda *step: None)
        jacobians: list[Data] = []
        for source in sources:
            g = found.get(source._key)
            if g is None or (source is target):
                continue
            matrix = np.asarray(_conjugate(dense(g))).reshape(size, -1)
            shown = picture_of(np.abs(matrix) if matrix.dtype.kind == "c" else matrix)
            assert shown is not None
            whole: Data = {"rows": size, "columns": matrix.shape[1], "values": _rounded(np.real(matrix))}
            jacobians.append(
                {
                    "source": self.names.get(source._key, ""),
                    "target": self.names.get(target._key, ""),
                    "shape": [list(target._array.shape), list(source._array.shape)],
                    "picture": {**shown, "heat": whole},
                }
            )
        return jacobians

    # -- reports, groups, notes ---------------------------------------------------------------------------------------

    def _reports(self, trial: Trial) -> list[Data]:
        targets = [subject(t, self.names.get(t._key) or "the target", self.history) for t in self.targets]
        asked = [
            subject(s, self.names.get(original(s)._key) or f"source {i}", self.history)
            for i, s in enumerate(self.given_sources)
        ]
        judge = Judge(self.evidence, targets, trial if self.evidence.records else None)
        found = []
        for source, report in zip(self.sources, judge.reports(asked), strict=True):
            data: Data = {k: v for k, v in report.to_dict().items() if k != "path"}
            data |= {"words": report.reason.value, "node": self.at[source._key][0]}
            at = self._node_of(report)
            if at is not None:
                data["cut"] = at
                self.nodes[at]["reason"] = {"words": report.reason.value, "hint": report.hint}
            found.append(data)
        return found

    def _node_of(self, report: Report) -> int | None:
        """The operation at which the path of a report is cut."""
        if report.reason.is_connected or report.reason is Reason.TOO_LATE:
            return None
        name = report.operation
        for i, node in enumerate(self.nodes):
            if node["op"] and node["op"] == name and any(len(entry) > 2 for entry in node["inputs"]):
                return i
        return None

    def _groups(self) -> list[Data]:
        """The tree of groups, as a list in which each names its parent; nodes name their group."""
        numbers = [i for i, node in enumerate(self.nodes) if node["op"]]
        paths = [scopes_of(event) for event in self.events]
        groups: list[Data] = []

        def note(members: list[Any], parent: int) -> None:
            for member in members:
                if isinstance(member, Group):
                    groups.append({"kind": member.kind, "label": member.label, "parent": parent})
                    note(member.members, len(groups) - 1)
                elif parent >= 0:
                    self.nodes[numbers[member]]["group"] = parent

        note(grouped(paths, [_likeness(self.nodes[i]) for i in numbers]), -1)
        return groups

    def _notes(self) -> list[str]:
        notes = []
        if not self.detailed:
            notes.append(
                f"Elements are shown for every {self._every}th of the {len(self.events):,} operations; of the others, "
                "the smallest, largest and mean element."
            )
        if self.left_out:
            notes.append(
                f"{self.left_out:,} operations in the middle are left out. The gradients are those of the whole."
            )
        unknown = sum("unknown" in (out.get("value") or {}) for node in self.nodes for out in node["outs"])
        if unknown:
            notes.append(
                f"{unknown:,} values are not known: no rule needed them, so the tape did not keep them. gradtape run "
                "--view, or tf.debugging.trace_origins(values=True), keeps a sample of each."
            )
        return notes


# ---------------------------------------------------------------------------------------------------------------------
# Pieces


def _keys(key: Any) -> tuple[int, ...]:
    return key if type(key) is tuple else (key,)


def _seeds(targets: list[Any], given: dict[int, Any]) -> dict[int, Any]:
    """The gradient of each target: the one given, unless that is a stack of rows for a Jacobian, or ones."""
    seeds = {}
    for target in targets:
        array = target._array
        seed = given.get(target._key)
        seed = seed._array if type(seed) is Tensor else seed
        if seed is None or np.shape(seed) != array.shape:
            seed = np.ones(array.shape, array.dtype)
        if dtypes.is_differentiable(array):
            seeds[target._key] = seed
    return seeds


def _conjugate(g: Any) -> Any:
    """Gradients as `tape.gradient` gives them: rules are plain transposes."""
    return np.conj(g) if isinstance(g, np.ndarray) and g.dtype.kind == "c" else g


def _named(frame: FrameType, things: list[Any]) -> tuple[list[Any], dict[int, str]]:
    """The tensors and variables that have a name in the user's code, and their names by key."""
    found: list[Any] = []
    names: dict[int, str] = {}
    for scope in (frame.f_globals, frame.f_locals):
        for name, value in list(scope.items()):
            inner = original(value)
            if isinstance(inner, (Tensor, Variable)) and inner._key and not name.startswith("_"):
                names[inner._key] = name
                found.append(inner)
    for thing in things:
        key = original(thing)._key
        if key not in names or thing is not original(thing):
            names[key] = name_in(frame, thing, "")
    return found, names


def _origin_of(frame: FrameType) -> Origin:
    return Origin(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def _statistics(picture: Picture) -> Picture:
    """A picture without its elements."""
    shape = picture["shape"]
    if not any(n != 1 for n in shape):
        return picture
    return {k: v for k, v in picture.items() if k not in ("values", "text", "heat", "histogram")}


def _rounded(matrix: Any) -> list[Any]:
    from .value_picture import number

    return [number(x, 9) for x in matrix.ravel().tolist()]


def _likeness(node: Data) -> Any:
    value = node["outs"][0].get("value") or {}
    return kind_of(node.get("layer", "")), node["op"], tuple(value.get("shape", ())), len(node["inputs"])


def _inside(plan: Any) -> Data:
    """The operations of a compiled function, and a note of what was compiled together."""
    operations = plan.graph.get_operations()
    number = {id(op): i for i, op in enumerate(operations)}
    listed = [
        {
            "op": op.type,
            "name": op.name,
            "shape": [list(t.shape) for t in op.outputs],
            "inputs": [number[id(t.op)] for t in op.inputs],
        }
        for op in operations[:_INSIDE]
    ]
    forward, backward = plan.program_sizes
    note = (
        f"XLA compiled the {forward} operations of {plan.name} into one program, and the {backward} of its gradient "
        "into another. Values inside are not kept; gradtape run --view runs the function operation by operation."
    )
    if len(operations) > _INSIDE:
        note += f" The first {_INSIDE} of {len(operations)} are listed."
    return {"name": plan.name, "operations": listed, "note": note}
