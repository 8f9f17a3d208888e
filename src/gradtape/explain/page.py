"""The page on which one looks at a tape: one HTML file with its data, which needs nothing else.

`page.html` beside this file is built from the sources in the folder `page` of the project, by `make page`.
"""

from __future__ import annotations

import html as html_module
import json
import linecache
import os
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from ..core import nest
from ..core.stand_in import original
from ..core.tape import GradientTape
from ..core.tensor import Tensor
from ..core.user_code import user_frame
from ..core.variable import Variable
from .evidence import Evidence, name_in
from .page_data import Collector, Data

VERSION = 1  # of the data
_MOST = 4_500_000  # bytes of data: the file stays under 5 MB
# What is left out of a file that would be larger, one after the other: its name, and the parts of pictures.
_TOO_MUCH = {
    "Samples of elements": ("values", "heat", "histogram", "text"),
    "The smallest, largest and mean elements": ("low", "high", "mean"),
}


class Page:
    """A page about one tape or several: shown in a notebook, saved to a file, or opened in the browser."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self._shown_in: Any = None  # the number of the cell that shows it already

    @property
    def html(self) -> str:
        """The whole page, as the text of an HTML file."""
        template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
        # JSON with < as \u003c ends no script element, whatever the program's texts are.
        text = self.json.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
        return template.replace("{{data}}", text, 1)

    @property
    def json(self) -> str:
        """The data alone."""
        return json.dumps(self.data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def save(self, path: Any) -> None:
        """Write the page to a file; the data alone if its name ends in `.json`."""
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"tape.show: path must be the name of a file, not {type(path).__name__}")
        path = Path(path)
        path.write_text(self.json if path.suffix == ".json" else self.html, encoding="utf-8")

    def open(self) -> Path:
        """Open the page in the browser, from a temporary file; returns the file."""
        folder = Path(tempfile.mkdtemp(prefix="gradtape-"))
        path = folder / "tape.html"
        self.save(path)
        open_file(path)
        return path

    def display(self) -> None:
        """Show the page in the running cell of a notebook, also if it is not the value of the cell."""
        sys.modules["IPython"].display.display(self)
        self._shown_in = _shell().execution_count

    def _repr_html_(self) -> str | None:
        if self._shown_in is not None and self._shown_in == _shell().execution_count:
            return None  # it is the value of the cell as well
        frame = 'style="width:100%;height:720px;border:1px solid #8888" title="gradtape"'
        return f'<iframe srcdoc="{html_module.escape(self.html)}" {frame}></iframe>'

    def __repr__(self) -> str:
        tapes = self.data["tapes"]
        count = sum(bool(node["op"]) for tape in tapes for node in tape["nodes"])
        return f"<page of {len(tapes)} tape{'s' * (len(tapes) != 1)}, {count} operation{'s' * (count != 1)}>"


def open_file(path: Path) -> None:
    """Open a file in the browser, or say where it is."""
    if not webbrowser.open(path.resolve().as_uri()):
        print(f"there is no browser to open: the page is {path}", file=sys.stderr)


def show(tape: GradientTape, target: Any, sources: Any, path: Any = None) -> Page:
    """The work of `tape.show`: collect the data, and write or open the page."""
    frame = user_frame()
    targets, given = nest.flatten(target), nest.flatten(sources)
    _check(targets, given)
    evidence = Evidence.of(tape)
    if evidence.used:
        raise RuntimeError(
            "show: this tape has answered already and forgot what it recorded. Call show before gradient, use "
            "GradientTape(persistent=True), or see all tapes of a program with gradtape run --view"
        )
    if not evidence.records and not evidence.known and tape._state == "new":
        raise RuntimeError(
            "show: this tape has not recorded anything: compute the target inside `with tape:`"
        )
    collector = Collector(evidence, tape.watched_variables(), targets, given, frame)
    data = {**collector.data(), "label": name_in(frame, tape, "tape")}
    page = Page(document([(data, collector.files)]))
    if path is not None:
        page.save(path)
    elif _in_notebook():
        page.display()
    else:
        page.open()
    return page


def document(tapes: list[tuple[Data, dict[str, set[int]]]], notes: list[str] | None = None) -> Data:
    """The data of a page of several tapes, with the program's files; made smaller if it is too large for a page."""
    notes = list(notes or ())
    files: dict[str, set[int]] = {}
    for _, lines in tapes:
        for file, shown in lines.items():
            files.setdefault(file, set()).update(shown)
    data: Data = {
        "version": VERSION,
        "gradtape": sys.modules["gradtape"].__version__,
        "title": Path(_name_of(next(iter(files), "tape"))).name,
        "files": _source_files(files),
        "types": _share_types([tape for tape, _ in tapes], list(files)),
        "tapes": [tape for tape, _ in tapes],
        "notes": notes,
    }
    for words, parts in _TOO_MUCH.items():
        if _size(data) > _MOST:
            notes.append(f"{words} were left out, because the file would be too large with them.")
            for tape in data["tapes"]:
                _leave_out(parts, tape, data["types"])
    left_out = 0
    while len(data["tapes"]) > 1 and _size(data) > _MOST:
        kept = data["tapes"][::2]
        left_out += len(data["tapes"]) - len(kept)
        data["tapes"] = kept
    if left_out:
        notes.append(f"{left_out} tapes were left out, because the file would be too large with them.")
    return data


def _source_files(files: dict[str, set[int]]) -> list[Data]:
    """The program's files, as far as lines of them are shown: a large file by the lines around those."""
    found = []
    for file, lines in files.items():
        text = [line.rstrip("\n") for line in linecache.getlines(file)]
        first = 1
        if len(text) > 1500:
            first, last = max(1, min(lines) - 100), max(lines) + 100
            text = text[first - 1 : min(last, first + 1499)]
        found.append({"file": file, "path": _name_of(file), "first": first, "lines": text})
    return found


def _name_of(file: str) -> str:
    """The name of a file as users know it: relative to the current folder; of a notebook's cell, "Cell In[3]"."""
    shell = _shell()
    cell = shell.compile.format_code_name(file) if hasattr(shell, "compile") else None
    if cell is not None:
        return " ".join(cell)
    return os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file


def _size(data: Data) -> int:
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())


def _pictures(tape: Data) -> Iterator[Data]:
    """All pictures of values on a tape."""
    for node in tape["nodes"]:
        for out in node["outs"]:
            yield from filter(None, (out.get("value"), out.get("gradient")))
    for step in tape["steps"]:
        for part in step["parts"]:
            yield from filter(None, (part.get("part"), part.get("sum")))


def _share_types(tapes: list[Data], files: list[str]) -> list[Any]:
    """Put numbers in place of dtypes with shapes, and of files, which repeat; returns the former by number."""
    types: dict[Any, int] = {}
    numbers = {file: i for i, file in enumerate(files)}
    for tape in tapes:
        for picture in _pictures(tape):
            if "dtype" in picture:  # it may stand at several places
                of = (picture.pop("dtype"), tuple(picture.pop("shape")))
                picture["type"] = types.setdefault(of, len(types))
        for place in (tape["where"], *[node.get("at") for node in tape["nodes"]]):
            if place is not None:
                place[0] = numbers[place[0]]
    return [[dtype, list(shape)] for dtype, shape in types]


def _leave_out(parts: tuple[str, ...], tape: Data, types: list[Any]) -> None:
    """Leave parts out of the pictures of a tape's values, but not of scalars."""
    for picture in _pictures(tape):
        if any(n != 1 for n in types[picture["type"]][1]):
            for part in parts:
                picture.pop(part, None)


def _check(targets: list[Any], sources: list[Any]) -> None:
    if not targets or not sources:
        raise ValueError("show: needs a target and at least one source, and was given an empty structure")
    for end in map(original, (*targets, *sources)):
        if not isinstance(end, (Tensor, Variable)):
            raise TypeError(f"show: target and sources must be Tensors or Variables, not {end!r}")


def _shell() -> Any:
    """IPython's shell, if it runs this."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def _in_notebook() -> bool:
    """Return whether a notebook's kernel runs this, which shows values in place."""
    return bool(getattr(_shell(), "kernel", None))
