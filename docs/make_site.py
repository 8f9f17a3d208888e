"""Assemble the pages of the site in build/docs: README, guides, tutorials with live pictures, and the API reference.

`make docs` runs this file, then mkdocs. Snippets of the tutorials run here, so that the pages they write are shown.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import linecache
import os
import re
import shutil
import sys
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import gradtape
from gradtape.names.surface import dotted_names

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "docs"
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")
SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Attributes):\s*$")

# ---------------------------------------------------------------------------------------------------------------------
# Pages that are written by hand


def copy_pages() -> None:
    """Copy README and docs/, with links that lead out of them led to pages of their own."""
    pages = {ROOT / "README.md": BUILD / "index.md"}
    pages |= {ROOT / name: BUILD / name.lower() for name in ("CONTRIBUTING.md", "CHANGELOG.md")}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        name = page.relative_to(ROOT / "docs")
        pages[page] = BUILD / (name.with_name("index.md") if name.name == "README.md" else name)
    for page, target in pages.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        led = partial(_led, page=page, target=target, pages=pages)
        target.write_text(LINK.sub(led, page.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "pictures", BUILD / "pictures", dirs_exist_ok=True)
    shutil.copy(ROOT / "docs" / "site.css", BUILD)


def _led(match: re.Match[str], page: Path, target: Path, pages: dict[Path, Path]) -> str:
    """A link as it has to be on the site."""
    before, link, after = match.groups()
    if "://" in link or link.startswith("mailto:"):
        return match[0]
    found = (page.parent / link).resolve()
    if found in pages:
        to = pages[found]
    elif found.is_relative_to(ROOT / "docs" / "pictures"):
        to = BUILD / found.relative_to(ROOT / "docs")
    elif found.is_file():
        to = _file_page(found)
    else:
        return match[0]
    return f"{before}{Path(os.path.relpath(to, target.parent)).as_posix()}{after}"


def _file_page(file: Path) -> Path:
    """A page that shows a file of the project."""
    name = file.relative_to(ROOT)
    page = BUILD / "files" / name.with_name(f"{name.name}.md")
    page.parent.mkdir(parents=True, exist_ok=True)
    language = {".py": "python", ".toml": "toml"}.get(file.suffix, "text")
    text = file.read_text(encoding="utf-8").replace("```", "'''") if language == "text" else file.read_text()
    page.write_text(f"# {name}\n\n```{language}\n{text.rstrip()}\n```\n", encoding="utf-8")
    return page


def run_tutorials() -> None:
    """Run the snippets of the tutorials, in the folder where the site expects the pages that they write."""
    folder = BUILD / "tutorials"
    for page in sorted(folder.glob("*.md")):
        namespace: dict[str, Any] = {"__name__": "__main__"}
        for i, match in enumerate(SNIPPET.finditer(page.read_text(encoding="utf-8")), start=1):
            name = f"{page.stem}_{i}.py"
            linecache.cache[name] = (len(match[1]), None, match[1].splitlines(keepends=True), name)
            with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(match[1], name, "exec"), namespace)


# ---------------------------------------------------------------------------------------------------------------------
# The API reference


def write_reference() -> int:
    """Write a page for each public name, one for each namespace, and the list of these; returns how many names."""
    differences = differences_by_name((ROOT / "docs" / "differences.md").read_text(encoding="utf-8"))
    names = [name for name in dotted_names() if name not in ("keras", "compat")]
    objects = {name: _object(name) for name in names}
    others: dict[int, list[str]] = {}
    for name, value in objects.items():
        others.setdefault(id(value), []).append(name)
    spaces: dict[str, list[str]] = {}
    for name, value in objects.items():
        if isinstance(value, ModuleType):
            spaces.setdefault(name, [])
        else:
            spaces.setdefault(name.rpartition(".")[0], []).append(name)
            path = BUILD / "api" / f"{name}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            same = [other for other in others[id(value)] if other != name] if callable(value) else []
            path.write_text(name_page(name, value, same, differences.get(name, [])), encoding="utf-8")
    for space, inside in spaces.items():
        _write_namespace(space, inside, objects)
    rows = [f"| [`tf{'.' * bool(s)}{s}`](namespace-{s or 'tf'}.md) | {len(n)} | {_first_line(_object(s))} |"
            for s, n in sorted(spaces.items())]  # fmt: skip
    head = (
        "# API reference\n\nEvery public name has a page. `tf.keras` is Keras itself, which has its own.\n\n"
    )
    text = head + "| namespace | names | contents |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    (BUILD / "api" / "index.md").write_text(text, encoding="utf-8")
    return len(names)


def _object(name: str) -> Any:
    value: Any = gradtape
    for part in name.split(".") if name else ():
        value = getattr(value, part)
    return value


def _write_namespace(space: str, names: list[str], objects: dict[str, Any]) -> None:
    title = f"tf.{space}" if space else "tf"
    rows = [f"| [`{n.rpartition('.')[2]}`]({n}.md) | {_first_line(objects[n])} |" for n in sorted(names)]
    text = f"# {title}\n\n{_first_line(_object(space))}\n\n| name | |\n|---|---|\n" + "\n".join(rows) + "\n"
    (BUILD / "api" / f"namespace-{space or 'tf'}.md").write_text(text, encoding="utf-8")


def _first_line(value: Any) -> str:
    doc = "" if _is_plain(value) else inspect.getdoc(value) or ""
    line = " ".join(doc.partition("\n\n")[0].split())
    return line.replace("|", "\\|").replace("<", "&lt;")


def _is_plain(value: Any) -> bool:
    """Whether a name is a value, such as pi or a dtype, whose class has the docstring."""
    return not (inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, ModuleType))


def name_page(name: str, value: Any, same: list[str], differences: list[str]) -> str:
    """The page of a public name: signature, arguments, example, other names, differences from TensorFlow."""
    parts = [f"# tf.{name}"]
    if _is_plain(value):
        parts.append(f"`{type(value).__name__}`: `{_short(repr(value))}`")
    else:
        parts += [_signature(f"tf.{name}", value), docstring(inspect.getdoc(value) or "")]
    if inspect.isclass(value):
        parts += _members(value)
    if same:
        links = ", ".join(f"[`tf.{other}`]({other}.md)" for other in same)
        parts.append(f"## Other names\n\n{links}")
    listed = "\n".join(differences) or "None known: documented behaviour is TensorFlow's."
    parts.append(f"## Differences from TensorFlow\n\n{listed}\n\n[All differences](../differences.md)")
    return "\n\n".join(part for part in parts if part) + "\n"


def _signature(name: str, value: Any) -> str:
    try:
        text = str(inspect.signature(value))
    except (ValueError, TypeError):
        text = "(...)"
    text = re.sub(r"gradtape\.(?:[\w]+\.)+", "", text)
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations are strings
    if len(name + text) > 90 and "," in text:
        inner, _, after = text[1:].rpartition(")")
        text = "(\n    " + ",\n    ".join(_split(inner)) + ",\n)" + after
    return f"```python\n{name}{text}\n```"


def _split(parameters: str) -> list[str]:
    """The parameters of a signature, divided at commas outside of brackets."""
    found, depth = [""], 0
    for character in parameters:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            found.append("")
        else:
            found[-1] += character
    return [one.strip() for one in found]


def _short(text: str) -> str:
    return text if len(text) < 80 else text[:79] + "…"


def _members(value: type) -> list[str]:
    """The public methods and properties of a class."""
    parts = []
    for name, member in sorted(vars(value).items()):
        if name.startswith("_") or not inspect.getdoc(member):
            continue
        function = getattr(member, "__func__", member)
        if inspect.isfunction(function):
            parts.append(
                f"### {name}\n\n{_signature(name, function)}\n\n{docstring(inspect.getdoc(function) or '')}"
            )
        elif isinstance(member, property):
            parts.append(f"### {name}\n\n{docstring(inspect.getdoc(member) or '')}")
    return ["## Methods and properties", *parts] if parts else []


def docstring(text: str) -> str:
    """A docstring as Markdown: sections as lists, examples as code."""
    out: list[str] = []
    lines = text.splitlines()
    i = 0
    while i < len(lines):
        line = lines[i]
        section = SECTION.match(line)
        if section:
            block, i = _indented(lines, i + 1)
            out += ["", f"**{section[1]}**", "", *_entries(block), ""]
            continue
        if line.lstrip().startswith(">>>"):
            example = []
            while i < len(lines) and lines[i].strip():
                example.append(lines[i])
                i += 1
            out += [
                "",
                "**Example**",
                "",
                "```pycon",
                *inspect.cleandoc("\n".join(example)).splitlines(),
                "```",
                "",
            ]
            continue
        out.append(_escaped(line))
        i += 1
    return "\n".join(out).strip()


def _escaped(text: str) -> str:
    """A line with what would be HTML outside of code made text."""
    return "".join(
        part if i % 2 else part.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
        for i, part in enumerate(re.split(r"(`[^`]*`)", text))
    )


def _indented(lines: list[str], start: int) -> tuple[list[str], int]:
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
        end += 1
    return inspect.cleandoc("\n".join(["", *lines[start:end]])).splitlines(), end


def _entries(lines: list[str]) -> list[str]:
    """The entries of a section as a list: `name: text`, with further lines indented."""
    out: list[str] = []
    for line in lines:
        if not line.strip():
            continue
        named = re.match(r"([\w*, .]+): (.*)", line)
        if line.startswith(" ") and out:
            out[-1] += f" {_escaped(line.strip())}"
        elif named:
            out.append(f"- `{named[1]}`: {_escaped(named[2])}")
        else:
            out.append(f"- {_escaped(line)}")
    return out


def differences_by_name(page: str) -> dict[str, list[str]]:
    """The rows and points of the page on differences that name a public name in code, by that name."""
    known: dict[str, list[str]] = {}
    for name in dotted_names():
        known.setdefault(name.rpartition(".")[2], []).append(name)
    found: dict[str, list[str]] = {}
    for text in _statements(page):
        words = {
            word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"[A-Za-z_][\w.]+", code)
        }
        for word in words:
            plain = word.removeprefix("tf.")
            for name in known.get(plain.rpartition(".")[2], ()):
                if name == plain or (
                    name.endswith(f".{plain}") and not name.startswith(("raw_ops", "experimental.numpy"))
                ):
                    found.setdefault(name, []).append(text)
    return found


def _statements(page: str) -> list[str]:
    """The rows of tables, as sentences, and the points of lists."""
    found = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) >= 3 and cells[1] != "TensorFlow":
            found.append(f"- {cells[0]}: TensorFlow: {cells[1]}; gradtape: {cells[2]}.")
        elif line.startswith("- "):
            found.append(line)
        elif line.startswith("  ") and found and found[-1].startswith("- "):
            found[-1] += f" {line.strip()}"
    return [re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text) for text in found]


def main() -> None:
    """Write all pages anew."""
    shutil.rmtree(BUILD, ignore_errors=True)
    copy_pages()
    importlib.import_module("gradtape.debugging")
    run_tutorials()
    print(f"{write_reference()} public names", file=sys.stderr)


if __name__ == "__main__":
    main()
