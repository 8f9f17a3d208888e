"""The code cells of a notebook as Python, for `gradtape run` and `gradtape check`.

Lines for IPython alone (`%matplotlib inline`, `!pip install ...`) are recognized where Python cannot read them, and
left out; the lines below keep their numbers.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

_TIMED = re.compile(r"%(time|prun)\s+(?=\S)")  # line magics followed by a statement
_AROUND = ("time", "capture", "prun")  # cell magics around plain Python
_HARMLESS = (
    "%matplotlib",
    "%load_ext",
    "%reload_ext",
    "%unload_ext",
    "%autoreload",
    "%config",
    "%tensorflow_version",
)


class NotANotebook(ValueError):
    """The file is no notebook of Python cells."""


@dataclass
class Cell:
    """A code cell: its number as Jupyter counts, its Python, and the lines left out, by number."""

    number: int
    source: str
    left_out: list[tuple[int, str]] = field(default_factory=list)


def read_cells(path: Path) -> list[Cell]:
    """The code cells of a notebook file, in order.

    Raises:
        NotANotebook: if the file is not in Jupyter's format 4, or not in Python.
    """
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        language = notebook.get("metadata", {}).get("kernelspec", {}).get("language", "python")
        sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NotANotebook(f"{path} is not a notebook of Jupyter's format 4") from None
    if language.lower() != "python":
        raise NotANotebook(f"{path} is a notebook in {language}, not in Python")
    return [python_of(source, number) for number, source in enumerate(sources, start=1)]


def python_of(source: str, number: int = 1) -> Cell:
    """A cell without lines for IPython alone. Other syntax errors stay.

    >>> python_of("%matplotlib inline\\nx = 1").source
    'pass\\nx = 1'
    """
    lines = source.split("\n")
    cell = Cell(number, source)
    if lines[0].startswith("%%"):
        magic = lines[0][2:].split(" ")[0]
        if magic not in _AROUND:
            cell.left_out.append((1, lines[0]))
            lines = ["" for _ in lines]
        lines[0] = "pass"
    while (at := _first_mistake(lines)) is not None and _is_for_ipython(lines[at]):
        _leave_out(lines, at, cell)
    cell.source = "\n".join(lines)
    return cell


def _first_mistake(lines: list[str]) -> int | None:
    try:
        ast.parse("\n".join(lines))
    except SyntaxError as error:
        return min(max(error.lineno or 1, 1), len(lines)) - 1
    except ValueError:  # null bytes
        return None
    return None


def _is_for_ipython(line: str) -> bool:
    code = line.strip()
    return (
        code.startswith(("%", "!", "?"))
        or code.endswith("?")
        or re.match(r"[\w, ]+=\s*[!%]", code) is not None
    )


def _leave_out(lines: list[str], at: int, cell: Cell) -> None:
    code = lines[at].strip()
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    if _TIMED.match(code):
        lines[at] = indent + _TIMED.sub("", code)
        return
    if re.match(r"[\w, ]+=", code):
        lines[at] = (
            f"{indent}raise NotImplementedError('gradtape run: only IPython can do this: ' + {code!r})"
        )
        return
    if not code.startswith(_HARMLESS) and "?" not in (code[0], code[-1]):
        cell.left_out.append((at + 1, code))
    lines[at] = indent + "pass"
    while code.endswith("\\") and at + 1 < len(lines):  # the command goes on
        at += 1
        code, lines[at] = lines[at].strip(), ""
