"""The table of a tape's records."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.plan import Plan
from ..core.tape import GradientTape
from .layers import inside
from .not_finite import tensors_in
from .origins import Event, history_of, name_of
from .profile import amount, bytes_kept, duration
from .reasons import public_name
from .report import aligned

Like = tuple[Any, tuple[int, ...]]  # dtype and shape


@dataclass(frozen=True)
class Row:
    """One recorded operation."""

    operation: str
    shape: tuple[int, ...] | None  # of the (first) result; None where the tape had no need to know
    dtype: str
    bytes: int  # kept by it and by no operation before it
    forward: float  # seconds, if profiled
    backward: float
    where: str | None
    layer: str = ""  # of Keras, in which it ran


class Summary:
    """The records of a tape, as a table."""

    def __init__(self, rows: list[Row], note: str = "") -> None:
        self.rows = rows
        self.note = note

    @property
    def bytes(self) -> int:
        """The bytes that the tape keeps, each array counted once."""
        return sum(row.bytes for row in self.rows)

    def _cells(self) -> list[list[str]]:
        timed = any(row.forward or row.backward for row in self.rows)
        placed = any(row.where for row in self.rows)
        head = ["", "operation", "shape", "dtype", "kept"]
        cells = [head + (["forward", "backward"] if timed else []) + (["line"] if placed else [])]
        for i, row in enumerate(self.rows):
            shape = "?" if row.shape is None else str(list(row.shape))
            name = inside(row.layer, row.operation)
            line = [str(i), name, shape, row.dtype or "?", amount(row.bytes) if row.bytes else "-"]
            if timed:
                line += [duration(row.forward), duration(row.backward)]
            cells.append(line + ([row.where or ""] if placed else []))
        return cells

    def __str__(self) -> str:
        cells = self._cells()
        sides = "".join({"operation": "<", "line": "<", "dtype": "<"}.get(title, ">") for title in cells[0])
        if len(cells) > 120:
            left = len(cells) - 101
            cells = [*cells[:51], ["", f"... {left} more", *[""] * (len(cells[0]) - 2)], *cells[-50:]]
        total = f"{len(self.rows)} operations keep {amount(self.bytes)}"
        return "\n".join([*aligned(cells, sides), total, *([self.note] if self.note else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = self._cells()
        head = "".join(f"<th>{html.escape(c)}</th>" for c in cells[0])
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in cells[1:]
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{amount(self.bytes)} kept</p>"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"bytes": self.bytes, "operations": [row.__dict__ for row in self.rows]}


def summarize(tape: GradientTape) -> Summary:
    """The work of `tape.summary`: a table of the records, or of the events if the tape has answered."""
    history = history_of(tape)
    events: dict[int, Event] = {}
    backward: dict[int, float] = {}
    if history is not None:
        events = {
            k: e for e in history.witness.events if e.kind in ("operation", "custom") for k in e.outputs
        }
        backward = history.witness.backward
    if tape._state == "used":
        return _from_events(tape, events, backward)
    likes = infer(tape.watched_variables(), tape._records, events)
    rows = []
    for (key, plan, _, _), size in zip(tape._records, bytes_kept(tape._records), strict=True):
        first = key[0] if type(key) is tuple else key
        dtype, shape = likes.get(first, (None, None))
        rows.append(_row(name_of(plan), dtype, shape, size, events.get(first), backward.get(first, 0.0)))
    return Summary(rows)


def _row(name: str, dtype: Any, shape: Any, size: int, event: Event | None, backward: float) -> Row:
    where = None if event is None else event.where
    return Row(
        public_name(name),
        None if shape is None else tuple(shape),
        "" if dtype is None else dtypes.as_dtype(dtype).name,
        size,
        event.seconds if event is not None else 0.0,
        backward,
        None if where is None else str(where),
        "" if where is None else where.layer,
    )


def _from_events(tape: GradientTape, events: dict[int, Event], backward: dict[int, float]) -> Summary:
    """The table of a tape that has answered, from the events a witness saw."""
    watched = {id(e): e for k, e in events.items() if k in tape._known}
    rows = [
        _row(e.name, *e.made[0], 0, e, sum(backward.get(k, 0.0) for k in e.outputs)) for e in watched.values()
    ]
    note = "this tape has answered: it keeps nothing any more"
    return Summary(rows, note if rows else note + ", and knows no more what it recorded")


# ---------------------------------------------------------------------------------------------------------------------
# Shapes. A tape notes no more than the rules need; most of the rest follows.


def infer(variables: Iterable[Any], records: list[Any], events: dict[int, Event]) -> dict[int, Like]:
    """Dtype and shape of the tensors a tape knows by key, as far as they can be found out."""
    likes: dict[int, Like] = {}
    for key, event in events.items():
        likes[key] = event.made[event.outputs.index(key)]
    for variable in variables:
        likes[variable._key] = (variable._array.dtype, variable._array.shape)
    for record in records:
        for tensor in tensors_in(record[3]):
            if tensor._key:
                likes[tensor._key] = (tensor._array.dtype, tensor._array.shape)
    for direction in (1, -1, 1):
        for record in records[::direction]:
            _infer_one(likes, *record)
    return likes


def _infer_one(likes: dict[int, Like], key: Any, plan: Any, into: Any, kept: Any) -> None:
    outputs = key if type(key) is tuple else (key,)
    if not isinstance(plan, Plan):
        for k, (shape, dtype) in zip(outputs, getattr(plan, "_like", ()), strict=False):
            likes.setdefault(k, (dtype, shape))
        return
    held = dict(zip(plan._parts.kept, kept, strict=True))
    if "out_like" in held:
        for k, (shape, dtype) in zip(outputs, held["out_like"], strict=True):
            likes.setdefault(k, (dtype, shape))
        return
    out = outputs[0]
    same = plan.primitive.elementwise and "out_shape" not in held
    for k in into:
        if same and out in likes:
            likes.setdefault(k, likes[out])
        if same and k in likes:
            likes.setdefault(out, likes[k])
    if out in likes:
        return
    given = [likes[k] for k in into if k in likes]
    if "out_shape" in held and given:
        likes[out] = (given[0][0], held["out_shape"])
    elif out not in likes:
        found = _computed(plan, into, held, likes)
        if found is not None:
            likes[out] = found


def _computed(plan: Any, into: Any, held: dict[str, Any], likes: dict[int, Like]) -> Like | None:
    """Dtype and shape by computing once more, on zeros that take no memory."""
    primitive = plan.primitive
    keys = dict(zip(plan.watched, into, strict=True))
    if primitive.variadic or any(name not in held for name in primitive.attributes):
        return None
    inputs = []
    for i, name in enumerate(primitive.inputs):
        if name in held:
            like: Like | None = (held[name]._array.dtype, held[name]._array.shape)
        elif f"{name}_shape" in held:
            dtype = next((likes[k][0] for k in into if k in likes), np.dtype("float32"))
            like = (dtype, held[f"{name}_shape"])
        else:
            like = likes.get(keys.get(i, 0))
        if like is None:
            return None
        inputs.append(np.broadcast_to(np.ones((), like[0]), like[1]))
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(
                primitive.forward(*inputs, **{name: held[name] for name in primitive.attributes})
            )
    except Exception:  # made-up inputs may be refused, for instance by a factorization
        return None
    return result.dtype, result.shape
