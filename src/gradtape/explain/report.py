"""The answers of `explain`: reports as text, as a table in a notebook, and as plain data."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .layers import inside
from .reasons import Reason


@dataclass(frozen=True)
class Step:
    """One operation on the way from a source to the target."""

    operation: str
    dtype: str  # of the result; '' where nobody noted it
    shape: tuple[int, ...] | None
    where: str | None
    cut: Reason | None = None
    norm: float | None = None  # of the gradient that arrives there
    layer: str = ""  # of Keras, in which it ran

    def __str__(self) -> str:
        text = inside(self.layer, self.operation)
        if self.shape is not None:
            text += f" {self.dtype}{list(self.shape)}"
        if self.norm is not None:
            text += f", gradient {self.norm:.3g}"
        if self.where:
            text += f"  at {self.where}"
        return f"{text}   <-- {self.cut.value}" if self.cut else text

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "operation": self.operation,
            "layer": self.layer or None,
            "dtype": self.dtype or None,
            "shape": None if self.shape is None else list(self.shape),
            "where": self.where,
            "cut": None if self.cut is None else self.cut.name,
            "norm": self.norm,
        }


@dataclass(frozen=True)
class Report:
    """The path of the gradient by one source, or the reason why it is None.

    reason: one of `Reason`. where: the file and line of the cut, if known. line: the code there. path: the
    operations from the source to the target. hint: what to change. certain: False for the likeliest explanation only.
    layer: the layer of Keras that ran there, if one did.
    """

    source: str
    target: str
    reason: Reason
    where: str | None = None
    line: str = ""
    path: list[Step] = field(default_factory=list)
    hint: str = ""
    certain: bool = True
    layer: str = ""

    @property
    def operation(self) -> str | None:
        """The operation at which the path is cut."""
        return next((step.operation for step in self.path if step.cut), None)

    def __str__(self) -> str:
        is_none = not self.reason.is_connected and self.reason is not Reason.TOO_LATE
        verdict = " is None" if is_none else ""
        sure = "" if self.certain or self.reason is Reason.TOO_LATE else "probably "
        lines = [f"gradient of {self.target} by {self.source}{verdict}: {sure}{self.reason.value}"]
        if self.where:
            inside = f", in {self.layer}" if self.layer else ""
            lines.append(f"  at {self.where}{inside}" + (f":  {self.line}" if self.line else ""))
        if self.path:
            lines.append(f"  from {self.source}")
            lines += [f"    {step}" for step in _shortened(self.path)]
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return table([self])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "source": self.source,
            "target": self.target,
            "reason": self.reason.name,
            "connected": self.reason.is_connected,
            "where": self.where,
            "line": self.line or None,
            "layer": self.layer or None,
            "path": [step.to_dict() for step in self.path],
            "hint": self.hint,
            "certain": self.certain,
        }


class Reports(list[Report]):
    """Reports for a list of sources, which print one below the other, and as a table in a notebook."""

    def __repr__(self) -> str:
        return "\n".join(str(report) for report in self)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return table(self)

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain data, for JSON."""
        return [report.to_dict() for report in self]


def _shortened(path: list[Step]) -> Iterator[Any]:
    """The path, without the middle of a long one, but with everything that cuts it."""
    if len(path) <= 16:
        yield from path
        return
    skipped = 0
    for i, step in enumerate(path):
        if i < 6 or i >= len(path) - 6 or step.cut:
            if skipped:
                yield f"... {skipped} more"
                skipped = 0
            yield step
        else:
            skipped += 1


def table(reports: list[Report]) -> str:
    """The reports as a table for a notebook."""
    rows = []
    for report in reports:
        path = " → ".join(
            f'<span style="color:#c00">{html.escape(s.operation)}</span>'
            if s.cut
            else html.escape(s.operation)
            for s in report.path
        )
        colour = "#080" if report.reason.is_connected else "#c00"
        cells = [
            f"<b>{html.escape(report.source)}</b>",
            f'<span style="color:{colour}">{html.escape(report.reason.value)}</span>',
            html.escape(report.where or ""),
            path,
            html.escape(report.hint),
        ]
        rows.append("<tr>" + "".join(f'<td style="text-align:left">{c}</td>' for c in cells) + "</tr>")
    head = "".join(
        f'<th style="text-align:left">{h}</th>' for h in ("source", "reason", "where", "path", "hint")
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def aligned(rows: list[list[str]], sides: str) -> list[str]:
    """The rows of a table as lines of text, each column '<' to the left or '>' to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(sides))]
    return [
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
