"""Groups of operations on the page: layers, functions and repeated stretches, none with more than a screenful in it.

A group holds operations and groups. The page shows a closed group as one box.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from .origins import Event
from .plot import fold

Scope = tuple[str, str, int]  # kind, label, and the line of the call

_FEW = 9  # operations that are not worth folding
_MOST = 40  # members of a group, so that the layout of one takes no time


@dataclass(slots=True)
class Group:
    """Operations and groups that stand together, in order."""

    kind: str  # "layer", "function", "repeat", "turn" (one of what repeats) or "stretch"
    label: str
    members: list[Any] = field(default_factory=list)  # numbers of operations, and groups

    @property
    def operations(self) -> list[int]:
        """The numbers of all operations inside."""
        return [i for one in self.members for i in (one.operations if isinstance(one, Group) else (one,))]


def grouped(paths: list[tuple[Scope, ...]], marks: list[Any]) -> list[Any]:
    """The operations in groups: numbers, and groups of them.

    Args:
        paths: for each operation, the layers or functions that it ran in, the outermost first.
        marks: for each operation, what it has in common with those that repeat it.
    """
    return _level(list(range(len(paths))), 0, paths, marks)


def _level(numbers: list[int], depth: int, paths: list[Any], marks: list[Any]) -> list[Any]:
    members: list[Any] = []
    for scope, run in groupby(numbers, lambda i: paths[i][depth] if len(paths[i]) > depth else None):
        inside = list(run)
        if scope is None:
            members += inside
        elif len(inside) == len(numbers) or len(inside) == 1:  # a box around everything says nothing
            members += _level(inside, depth + 1, paths, marks)
        else:
            members.append(Group(scope[0], scope[1], _level(inside, depth + 1, paths, marks)))
    return _stretches(_folded(members, marks))


def _folded(members: list[Any], marks: list[Any]) -> list[Any]:
    """The members, with those that repeat three times or more in a group."""
    of = [_mark(member, marks) for member in members]
    found: list[Any] = []
    done = 0
    for start, period, count in fold(of):
        if _count(members[start : start + period * count]) < _FEW:
            continue
        found += members[done:start]
        done = start + period * count
        turns: list[Any] = members[start:done]
        if period > 1:
            turns = [
                Group("turn", f"{i + 1} of {count}", turns[i * period : (i + 1) * period])
                for i in range(count)
            ]
        found.append(Group("repeat", f"repeats {count} times", _stretches(turns)))
    return found + members[done:]


def _mark(member: Any, marks: list[Any]) -> Any:
    if not isinstance(member, Group):
        return marks[member]
    label = member.label.partition(" (")[2] or member.label
    return member.kind, label, tuple(marks[i] for i in member.operations)


def _stretches(members: list[Any]) -> list[Any]:
    """The members, in as many groups of consecutive ones as leave no more than a screenful."""
    while len(members) > _MOST:
        size = max(2, min(_MOST, -(-len(members) // _MOST)))
        cut = [members[i : i + size] for i in range(0, len(members), size)]
        members = [
            part[0] if len(part) == 1 else Group("stretch", f"{_count(part)} operations", part)
            for part in cut
        ]
    return members


def _label(members: list[Any]) -> str:
    """The label of a stretch: its turns, where it has such, or the number of operations."""
    turns: list[Group] = members
    while isinstance(turns[0], Group) and turns[0].kind == "stretch":
        turns = [turn for one in turns if isinstance(one, Group) for turn in one.members]
    if all(isinstance(turn, Group) and turn.kind == "turn" for turn in turns):
        return f"{turns[0].label.partition(' ')[0]} to {turns[-1].label}"
    return f"{_count(members)} operations"


def _count(members: list[Any]) -> int:
    return sum(len(one.operations) if isinstance(one, Group) else 1 for one in members)


def scopes_of(event: Event) -> tuple[Scope, ...]:
    """The layers, or the calls of functions, that an operation ran in."""
    scopes: list[Scope] = []
    if event.sweep:
        scopes.append(("sweep", event.sweep, 0))
    if event.where is None:
        return tuple(scopes)
    if event.where.layer:
        path, _, kind = event.where.layer.partition(" (")
        *outer, last = path.split("/")
        scopes += [("layer", label, 0) for label in (*outer, f"{last} ({kind}" if kind else last)]
    else:
        scopes += [("function", name, line) for name, line in event.where.calls]
    return tuple(scopes)
