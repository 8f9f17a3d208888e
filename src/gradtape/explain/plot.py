"""The picture of a tape: an SVG of boxes and lines, written by hand, with what repeats folded into one."""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..core import dtypes, nest
from ..core.stand_in import original
from ..core.tape import GradientTape
from ..core.tensor import wrap
from ..core.user_code import user_frame
from .evidence import Evidence, Trail, name_in, recorded_events
from .layers import inside, kind_of
from .layout import Spot, place
from .observed_sweep import try_sweep
from .origins import Event, history_of
from .profile import amount, bytes_kept
from .reasons import Reason, public_name
from .summary import infer

_HEIGHT = 36.0
_TOP = 54.0
_LINE = 14.0  # height of a line of the legend
_SMALL = 6.2  # width of a character in it
_MARGIN = 24.0
_TIMES = "\N{MULTIPLICATION SIGN}"
_STYLE = """
text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #222; text-anchor: middle }
.small { font-size: 10px; fill: #666 } .head { text-anchor: start }
.times { text-anchor: start; fill: #357; font-weight: bold }
.op { fill: #fff; stroke: #555 } .source { fill: #e8f1fb; stroke: #357 }
.target { fill: #eaf6e6; stroke: #373; stroke-width: 2 }
.cut { fill: #fdeaea; stroke: #c00 } .group { fill: #f6f6f2; stroke: #bba; stroke-dasharray: 6 3 }
path { fill: none; stroke: #456; stroke-linecap: round; opacity: .8 } path.zero { stroke: #aaa; stroke-dasharray: 1 4 }
path.cut { stroke: #c00; stroke-dasharray: 6 4 } path.bad { stroke: #a0a }
"""


@dataclass(slots=True)
class Box:
    """Something in the picture: an operation, or a source."""

    label: str
    below: str = ""
    kind: str = "op"
    hover: str = ""
    key: int = 0
    times: int = 1

    @property
    def text(self) -> str:
        """The text in the box."""
        return (
            self.label if self.kind != "source" or self.times == 1 else f"{self.label} {_TIMES}{self.times}"
        )

    @property
    def width(self) -> float:
        """The width that the text needs."""
        return max(7.4 * len(self.text), _SMALL * len(self.below)) + 18


@dataclass(slots=True)
class Line:
    """From one box to another."""

    norm: float | None = None
    cut: Reason | None = None


@dataclass(slots=True)
class Picture:
    """Boxes, lines between them by the boxes' numbers, and what repeats."""

    boxes: list[Box] = field(default_factory=list)
    lines: dict[tuple[int, int], Line] = field(default_factory=dict)
    groups: list[tuple[list[int], int]] = field(default_factory=list)  # boxes, and how often they repeat
    head: str = ""

    def join(self, a: int, b: int, norm: float | None, cut: Reason | None) -> None:
        """Add a line between two boxes, or merge it with the one there is."""
        line = self.lines.setdefault((a, b), Line(norm, cut))
        line.norm = max((n for n in (line.norm, norm) if n is not None), default=None)
        line.cut = line.cut and cut


def plot(tape: GradientTape, path: Any, target: Any = None, sources: Any = None) -> None:
    """The work of `tape.plot`: write the picture to a file."""
    file = Path(path)
    if file.suffix.lower() not in ("", ".svg"):
        raise ValueError(
            f"tape.plot writes SVG: name a file such as {file.with_suffix('.svg').name}, not {file.name}"
        )
    picture = _picture(tape, target, sources)
    file.write_text(draw(picture), encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------------------
# From records to boxes


def _picture(tape: GradientTape, target: Any, sources: Any) -> Picture:
    frame = user_frame()
    evidence = Evidence.of(tape)
    trail = Trail(evidence)
    history = history_of(tape)
    events = {} if history is None else {k: e for e in history.witness.events for k in e.outputs}
    likes = infer(tape.watched_variables(), evidence.records, events)
    given = nest.flatten([] if target is None else target)
    by = None if sources is None else nest.flatten(sources)
    named = {original(thing)._key: thing for thing in (*tape.watched_variables(), *(by or ()), *given)}
    names = {key: name_in(frame, thing, "") for key, thing in named.items()}
    targets = [original(t) for t in given]
    for thing in map(original, named.values()):
        likes.setdefault(thing._key, (thing._array.dtype, thing._array.shape))
    shown = shown_events(evidence, trail, targets, by)
    trial = try_sweep(evidence, targets or _last(evidence, likes))
    ends = {t._key for t in targets}
    picture = _boxes(shown, trail, likes, names, ends, trial)
    count = sum(box.times for box in picture.boxes if box.kind != "source")
    picture.head = f"{count} operations"
    if evidence.records:
        picture.head += f", {amount(sum(bytes_kept(evidence.records)))} kept"
    return picture


def _last(evidence: Evidence, likes: dict[int, Any]) -> list[Any]:
    """A stand-in for what was computed last, so that gradients can be shown."""
    if not evidence.records:
        return []
    key = evidence.records[-1][0]
    if type(key) is tuple or key not in likes:
        return []
    tensor = wrap(np.broadcast_to(np.zeros((), likes[key][0]), likes[key][1]))
    tensor._key = key
    return [tensor]


def shown_events(
    evidence: Evidence, trail: Trail, targets: list[Any], sources: list[Any] | None
) -> list[Event]:
    """The operations to show, in the order they happened."""
    if targets:
        found = _leading_to([t._key for t in targets], trail)
        if evidence.history is None:
            # The tape has not seen where a dead end led: it may be the target, so it is shown.
            found = _leading_to(
                [*[t._key for t in targets], *[ends[0] for _, _, ends in evidence.dead_ends]], trail
            )
    else:
        found = [trail.makers[e.outputs[0]][0] for e in recorded_events(evidence)]
    if sources is not None:
        reached: set[int] = set()
        for source in sources:
            reached.update(trail.reached(original(source)._key)[0])
        found = [event for event in found if reached.intersection(event.inputs)]
    if any(event.time for event in found):
        found.sort(key=lambda event: event.time)
    return list(dict.fromkeys(found))


def _trains(event: Event, trail: Trail) -> bool:
    """Return whether an event before the block updated a variable by a gradient: earlier steps of the training."""
    if event.kind != "assign" or trail.state(event) != "before":
        return False
    seen, waiting = set(event.inputs), list(event.inputs)
    while waiting:
        for maker in trail.makers.get(waiting.pop(), ()):
            if maker.name == "gradient":
                return True
            if maker.kind != "assign":
                waiting += [key for key in maker.inputs if key not in seen]
                seen.update(maker.inputs)
    return False


def _leading_to(keys: list[int], trail: Trail) -> list[Event]:
    seen, waiting, found = set(keys), list(keys), []
    while waiting:
        for event in trail.makers.get(waiting.pop(), ()):
            initial = event.name == "tf.Variable(...)" and trail.evidence.known.isdisjoint(event.inputs)
            if event.kind == "entered" or initial:  # a variable made in the block, as layers do, is a source
                continue
            if _trains(event, trail):
                continue
            found.append(event)
            for key in event.inputs:
                if key not in seen:
                    seen.add(key)
                    waiting.append(key)
    order = {id(e): i for i, e in enumerate(dict.fromkeys(e for es in trail.makers.values() for e in es))}
    return sorted(dict.fromkeys(found), key=lambda event: order[id(event)])


def _boxes(
    events: list[Event],
    trail: Trail,
    likes: dict[int, Any],
    names: dict[int, str],
    ends: set[int],
    trial: Any,
) -> Picture:
    made = {key: i for i, event in enumerate(events) for key in event.outputs}
    marks = [_mark(event, likes) for event in events]
    folds = fold(marks, [[i - made[k] for k in e.inputs if made.get(k, i) < i] for i, e in enumerate(events)])
    stand_in = list(range(len(events)))
    times = [1] * len(events)
    for start, period, count in folds:
        for i in range(start, start + period * count):
            stand_in[i] = start + (i - start) % period
            times[i] = count if i < start + period else 0
    picture = Picture()
    number: dict[int, int] = {}
    for i, event in enumerate(events):
        if stand_in[i] == i:
            number[i] = len(picture.boxes)
            picture.boxes.append(_box(event, likes, ends, times[i]))
        elif ends.intersection(event.outputs):
            picture.boxes[number[stand_in[i]]].kind = "target"
    fed: dict[Any, int] = {}
    for i, event in enumerate(events):
        here = number[stand_in[i]]
        for position, key in enumerate(event.inputs):
            cut = trail.cut(event, position, 0)
            norm = trial.arrived.get((event.outputs[0], key)) if trial is not None else None
            j = made.get(key)
            if j is not None and j < i:
                there = number[stand_in[j]]
                if there < here:
                    picture.join(there, here, norm, cut)
            elif key in trail.evidence.known or key in trail.evidence.watched or cut:
                # Sources of what repeats are drawn once: one for each place they feed.
                place_ = ("fold", here, position) if times[stand_in[i]] > 1 else key
                if place_ not in fed:
                    fed[place_] = len(picture.boxes)
                    picture.boxes.append(_source(key, likes, names, trail))
                elif type(place_) is tuple and picture.boxes[fed[place_]].key != key:
                    picture.boxes[fed[place_]].times += 1
                picture.join(fed[place_], here, norm, cut)
    for start, period, count in folds:
        picture.groups.append(([number[i] for i in range(start, start + period)], count))
    return picture


def _mark(event: Event, likes: dict[int, Any]) -> Any:
    like = likes.get(event.outputs[0], (None, None))
    layer = "" if event.where is None else kind_of(event.where.layer)
    return layer, event.name, None if like[0] is None else (str(like[0]), tuple(like[1])), len(event.inputs)


def _shape(key: int, likes: dict[int, Any]) -> str:
    if key not in likes:
        return ""
    dtype, shape = likes[key]
    name = dtypes.as_dtype(dtype).name
    return f"{'' if name == 'float32' else name}{list(shape)}"


def _box(event: Event, likes: dict[int, Any], ends: set[int], times: int) -> Box:
    kind = "target" if ends.intersection(event.outputs) else "op"
    if event.kind == "assign" or (event.passes and not any(event.passes)):
        kind = "cut"
    where = str(event.where) if event.where is not None else ""
    layer = event.where.layer if event.where is not None else ""
    label = inside(layer if times == 1 else kind_of(layer), public_name(event.name))
    return Box(label, _shape(event.outputs[0], likes), kind, where, event.outputs[0], times)


def _source(key: int, likes: dict[int, Any], names: dict[int, str], trail: Trail) -> Box:
    watched = key in trail.evidence.watched
    label = names.get(key) or ("watched" if watched else "not watched")
    return Box(label, _shape(key, likes), "source", "watched" if watched else "", key)


# ---------------------------------------------------------------------------------------------------------------------
# Folding


def fold(marks: list[Any], offsets: list[list[int]] | None = None) -> list[tuple[int, int, int]]:
    """Find stretches of operations that repeat three times or more: start, length, and count of each.

    Two operations are alike if their marks are, and, where offsets are given, if their inputs lie
    equally far back, or are the same.
    """
    folds = []
    start, n = 0, len(marks)
    while start < n:
        best = (0, 0, 0)
        for period in range(1, min((n - start) // 3, 120) + 1):
            count = _repeats(marks, offsets, start, period)
            if count >= 3 and period * count > best[0]:
                best = (period * count, period, count)
        if best[0]:
            folds.append((start, best[1], best[2]))
            start += best[0]
        else:
            start += 1
    return folds


def _repeats(marks: list[Any], offsets: list[list[int]] | None, start: int, period: int) -> int:
    n, count = len(marks), 1
    while start + (count + 1) * period <= n:
        first = start + period if count > 1 else start  # the first stretch may begin from elsewhere
        here = start + count * period
        for j in range(period):
            if marks[here + j] != marks[first + j]:
                return count
            if offsets is None or count == 1:
                continue
            if _uses(offsets, here + j, period + j) != _uses(offsets, first + j, period + j):
                return count
        count += 1
    return count


def _uses(offsets: list[list[int]], i: int, reach: int) -> tuple[list[int], list[int]]:
    """The inputs of an operation: the distance of those within reach, the positions of the others."""
    near = sorted(o for o in offsets[i] if o <= reach)
    return near, sorted(i - o for o in offsets[i] if o > reach)


# ---------------------------------------------------------------------------------------------------------------------
# Drawing


def draw(picture: Picture) -> str:
    """The picture as SVG."""
    floating = {i for i, box in enumerate(picture.boxes) if box.kind == "source"}
    edges = list(picture.lines)
    spots, routes = place([box.width for box in picture.boxes], edges, floating)
    right = max((spot.x + spot.width / 2 for spot in spots), default=0.0)
    bottom = max((spot.y for spot in spots), default=0.0)
    right += 30 if picture.groups else 0  # for how often
    width = max(right + 2 * _MARGIN, 420)
    legend = textwrap.wrap(_legend(picture), int((width - 2 * _MARGIN) / _SMALL))
    top = _TOP + _LINE * max(0, len(legend) - 1)
    height = bottom + _HEIGHT + top + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}"><style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>',
        f'<text class="head" x="{_MARGIN}" y="22">{escape(picture.head)}</text>',
        *[
            f'<text class="head small" x="{_MARGIN}" y="{38 + _LINE * i:.0f}">{escape(line)}</text>'
            for i, line in enumerate(legend)
        ],
        f'<g transform="translate({_MARGIN} {top:.0f})">',
    ]
    parts += [_group(members, times, spots, picture) for members, times in picture.groups]
    low, high = _range(picture)
    parts += [_curve([spots[i] for i in routes[edge]], picture.lines[edge], low, high) for edge in edges]
    parts += [_rectangle(box, spots[i]) for i, box in enumerate(picture.boxes)]
    return "\n".join([*parts, "</g></svg>\n"])


def _norms(picture: Picture) -> list[float]:
    return [line.norm for line in picture.lines.values() if line.norm and math.isfinite(line.norm)]


def _range(picture: Picture) -> tuple[float, float]:
    norms = _norms(picture)
    return (math.log10(min(norms)), math.log10(max(norms))) if norms else (0.0, 0.0)


def _legend(picture: Picture) -> str:
    norms = _norms(picture)
    words = []
    if norms:
        words.append(f"line width: norm of the gradient, {min(norms):.2g} to {max(norms):.2g}")
    if any(line.norm == 0 for line in picture.lines.values()):
        words.append("dotted: zero")
    if any(line.cut for line in picture.lines.values()):
        words.append("red: no gradient passes")
    if any(line.norm is not None and not math.isfinite(line.norm) for line in picture.lines.values()):
        words.append("purple: not finite")
    if picture.groups:
        words.append("dashed box: repeats")
    return "; ".join(words)


def _group(members: list[int], times: int, spots: list[Spot], picture: Picture) -> str:
    inside = set(members)
    feeds = defaultdict(set)
    for a, b in picture.lines:
        feeds[a].add(b)
    inside |= {a for a, bs in feeds.items() if picture.boxes[a].kind == "source" and bs <= set(members)}
    left = min(spots[i].x - spots[i].width / 2 for i in inside) - 9
    right = max(spots[i].x + spots[i].width / 2 for i in inside) + 9
    top = min(spots[i].y for i in inside) - 9
    bottom = max(spots[i].y for i in inside) + _HEIGHT + 9
    return (
        f'<rect class="group" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" '
        f'rx="8"/><text class="times" x="{right + 6:.1f}" y="{(top + bottom) / 2:.1f}">{_TIMES}{times}</text>'
    )


def _curve(route: list[Spot], line: Line, low: float, high: float) -> str:
    width, kind, title = 1.2, "", ""
    if line.cut is not None:
        kind, title = "cut", line.cut.value
    elif line.norm is not None:
        title = f"norm of the gradient: {line.norm:.4g}"
        if line.norm == 0:
            kind = "zero"
        elif not math.isfinite(line.norm):
            kind, width = "bad", 4.0
        else:
            width = 1 + 5 * (math.log10(line.norm) - low) / (high - low) if high > low else 2.0
    first = route[0]
    data = f"M{first.x:.1f} {first.y + _HEIGHT:.1f}"
    y = first.y + _HEIGHT
    for i, spot in enumerate(route[1:], 1):
        end = spot.y if i == len(route) - 1 else spot.y + _HEIGHT / 2
        middle = (y + end) / 2
        data += f" C{route[i - 1].x:.1f} {middle:.1f} {spot.x:.1f} {middle:.1f} {spot.x:.1f} {end:.1f}"
        y = end
    return f'<path class="{kind}" stroke-width="{width:.2f}" d="{data}"><title>{escape(title)}</title></path>'


def _rectangle(box: Box, spot: Spot) -> str:
    left = spot.x - spot.width / 2
    radius = 16 if box.kind == "source" else 4
    y = spot.y + (15 if box.below else 22)
    below = (
        f'<text class="small" x="{spot.x:.1f}" y="{spot.y + 29:.1f}">{escape(box.below)}</text>'
        if box.below
        else ""
    )
    return (
        f'<g><title>{escape(box.hover)}</title><rect class="{box.kind}" x="{left:.1f}" y="{spot.y:.1f}" '
        f'width="{spot.width:.1f}" height="{_HEIGHT}" rx="{radius}"/>'
        f'<text x="{spot.x:.1f}" y="{y:.1f}">{escape(box.text)}</text>{below}</g>'
    )
