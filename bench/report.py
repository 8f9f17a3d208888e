"""What was measured, as a table for the terminal and as JSON: rows are workloads, cells are libraries."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

COLUMNS: dict[str, str] = {}  # of the libraries that are compared: run.py fills it in

UNITS = {"us": 1e6, "ms": 1e3, "MB": 1e-6}  # of a second, of a byte


@dataclass
class Cell:
    """One library on one workload: the seconds (or bytes) of every round, or why there are none."""

    rounds: list[float] = field(default_factory=list)
    problem: str = ""  # "absent", "error" or "differs"
    error: str = ""

    def take(self, reply: dict[str, Any]) -> None:
        """Note what a worker answered."""
        if "value" in reply:
            self.rounds.append(reply["value"])
        elif "error" in reply:
            self.problem, self.error = "error", reply["error"]
        elif "absent" in reply:
            self.problem = "absent"

    @property
    def failed(self) -> bool:
        return self.problem in ("error", "differs")


@dataclass
class Row:
    number: int
    name: str
    title: str
    unit: str
    cells: dict[str, Cell] = field(default_factory=dict)

    @property
    def peers(self) -> list[str]:
        return [library for library in self.cells if library in COLUMNS and library != "gradtape"]

    def value(self, library: str) -> float | None:
        """The best round of a time, to which noise only adds; the median of a growth, which it also lowers."""
        cell = self.cells[library]
        if cell.problem or not cell.rounds:
            return None
        return median(cell.rounds) if self.unit == "MB" else min(cell.rounds)

    def ratio(self, peer: str) -> float | None:
        """How many times gradtape's cost a peer has, if both computed the same."""
        ours, theirs = self.value("gradtape"), self.value(peer)
        return theirs / ours if ours and theirs else None

    def cost(self) -> str:
        """gradtape's own cost with its unit, or why there is none."""
        value = self.value("gradtape")
        if value is None:
            return self.cells["gradtape"].problem
        return f"{value * UNITS[self.unit]:,.0f} {self.unit}"

    def relative_cost(self, peer: str) -> str:
        """The ratio to two or three digits (123x, 12.3x, 1.23x, 0.12x, 0.012x), or why there is none."""
        ratio = self.ratio(peer)
        if ratio is None:
            return self.cells[peer].problem or "-"
        if ratio < 0.1:
            return f"{ratio:.2g}x"
        return f"{ratio:.{0 if ratio >= 100 else 1 if ratio >= 10 else 2}f}x"


def table(rows: list[Row]) -> str:
    """The rows as aligned text: gradtape's own cost, the ratio of each peer, and notes."""
    peers = rows[0].peers
    lines = [["", "", "gradtape", *(COLUMNS[peer] for peer in peers)]]
    for row in rows:
        lines.append([str(row.number), row.title, row.cost(), *map(row.relative_cost, peers)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [
        f"{number:>{widths[0]}}  {title:<{widths[1]}}"
        + "".join(f"  {text:>{width}}" for text, width in zip(texts, widths[2:], strict=True))
        for number, title, *texts in lines
    ]
    return "\n".join(["", *aligned, "", *notes(rows)])


def notes(rows: list[Row]) -> list[str]:
    said = []
    if rows[0].peers:
        said.append(
            "A ratio is a peer's cost divided by gradtape's in this run: above 1x, gradtape is ahead."
        )
    for row in rows:
        if "numpy" in row.cells and (ours := row.value("gradtape")) and (numpy := row.value("numpy")):
            more = (ours - numpy) * 1e3
            said.append(f"NumPy's own import takes {numpy * 1e3:.0f} ms, gradtape's {more:.0f} ms more.")
        for library, cell in row.cells.items():
            if cell.problem == "differs":
                said.append(f"{row.title}: {library} does not compute what gradtape computes.")
            if cell.problem == "error":
                said.append(f"{row.title}: {library} failed.\n{cell.error}")
    return said


def write_json(rows: list[Row], about: dict[str, Any], path: Path) -> None:
    """Everything that was measured, every round of it, in seconds and bytes."""
    measured = [
        {
            "number": row.number,
            "name": row.name,
            "title": row.title,
            "unit": "byte" if row.unit == "MB" else "second",
            "value": {library: row.value(library) for library in row.cells},
            "ratio": {peer: row.ratio(peer) for peer in row.peers},
            "rounds": {library: cell.rounds for library, cell in row.cells.items()},
            "problem": {library: cell.problem for library, cell in row.cells.items() if cell.problem},
        }
        for row in rows
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(about | {"workloads": measured}, indent=2) + "\n")
