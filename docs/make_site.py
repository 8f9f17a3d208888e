"""Assemble the pages of the site in build/docs: README, guides, tutorials with live pictures, and the API reference.

`make docs` runs this file, then mkdocs. Snippets of the tutorials run here, so that the pages they write are shown.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import doctest
import enum
import functools
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
DATA = ROOT / "docs" / "data"

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
    for name in ("site.css", "iframe-worker.js"):
        shutil.copy(ROOT / "docs" / name, BUILD)


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
    head = f"{_boost(0.2)}# {title}\n\n[API reference](index.md)\n\n{_first_line(_object(space))}\n\n"
    text = head + "| name | |\n|---|---|\n" + "\n".join(rows) + "\n"
    (BUILD / "api" / f"namespace-{space or 'tf'}.md").write_text(text, encoding="utf-8")


def _boost(by: float) -> str:
    """The head of a page that search puts higher or lower than others."""
    return f"---\nsearch:\n  boost: {by}\n---\n\n"


def _first_line(value: Any) -> str:
    doc = "" if _is_plain(value) else text_of(value)
    line = " ".join(doc.partition("\n\n")[0].split())
    return line.replace("|", "\\|").replace("<", "&lt;")


def _is_plain(value: Any) -> bool:
    """Whether a name is a value, such as pi or a dtype, whose class has the docstring."""
    return not (inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, ModuleType))


def name_page(name: str, value: Any, same: list[str], differences: list[str]) -> str:
    """The page of a public name: signature, text, arguments, example, other names, differences from TensorFlow."""
    space = name.rpartition(".")[0]
    usual = not name.startswith(("raw_ops.", "experimental."))
    parts = [f"{_boost(3 if usual else 1)}# tf.{name}"]
    parts.append(
        f"[API reference](index.md) / [`tf{'.' * bool(space)}{space}`](namespace-{space or 'tf'}.md)"
    )
    if _is_plain(value):
        parts.append(
            f"A value: `{type(value).__name__}`.\n\n**Example**\n\n```pycon\n>>> tf.{name}\n{_short(repr(value))}\n```"
        )
    else:
        text, args, rest, example = divided(text_of(value))
        parts += [_signature(f"tf.{name}", value, args), docstring(text), arguments(name, value, args, text)]
        parts += [docstring(rest), docstring(qualified(example, name))]
    if inspect.isclass(value):
        parts += _members(value)
    if same:
        links = ", ".join(f"[`tf.{other}`]({other}.md)" for other in same)
        parts.append(f"## Other names\n\n{links}")
    listed = "\n".join(differences) or "None known: documented behaviour is TensorFlow's."
    parts.append(f"## Differences from TensorFlow\n\n{listed}\n\n[All differences](../differences.md)")
    return "\n\n".join(part for part in parts if part) + "\n"


@functools.cache
def _docstrings() -> dict[int, str]:
    """Docstrings for classes that are NumPy's or protobuf's own, by the id of the class."""
    text = (DATA / "docstrings.txt").read_text(encoding="utf-8")
    found = re.findall(r"^\[([\w.]+)\]\n(.*?)(?=^\[[\w.]+\]$|\Z)", text, re.MULTILINE | re.DOTALL)
    return {id(_object(name)): doc.strip() for name, doc in found}


def text_of(value: Any) -> str:
    """The docstring of a function or class."""
    return _docstrings().get(id(value)) or inspect.getdoc(value) or ""


def divided(text: str) -> tuple[str, dict[str, str], str, str]:
    """The parts of a docstring: its text, its arguments with what is said of each, other sections, and its example."""
    lines, args = text.splitlines(), {}
    said: tuple[list[str], list[str]] = ([], [])
    i = 0
    while i < len(lines) and not lines[i].startswith(">>>"):
        section = SECTION.match(lines[i])
        if section and section[1] == "Args":
            block, i = _indented(lines, i + 1)
            for names, words in _named_entries(block):
                args |= {one.strip().lstrip("*"): words for one in names.split(",") if one}
        elif section:
            end = _indented(lines, i + 1)[1]
            said[1].extend(lines[i:end])
            i = end
        else:
            said[0].append(lines[i])
            i += 1
    return "\n".join(said[0]), args, "\n".join(said[1]), "\n".join(lines[i:])


@functools.cache
def _glossary() -> dict[str, str]:
    """Words for arguments that docstrings leave to their names."""
    lines = (DATA / "arguments.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if not line.startswith("#"))


def key_of(name: str, parameter: str, args: dict[str, str], text: str) -> str | None:
    """Where the glossary has words for an argument; None if the docstring has them, or nothing has."""
    is_described = parameter in args or re.search(rf"`[^`]*\b{parameter}\b[^`]*`", text)
    space, _, last = name.rpartition(".")
    keys = (f"{last}.{parameter}", f"{space}.{parameter}", parameter)
    return None if is_described else next((key for key in keys if key in _glossary()), None)


def words_for(name: str, parameter: str, args: dict[str, str], text: str) -> str:
    """What is said of an argument: by its entry in the docstring, in the docstring's text, or in the glossary."""
    key = key_of(name, parameter, args, text)
    if key is not None:
        return _glossary()[key]
    return args.get(parameter) or ("see above." if re.search(rf"`[^`]*\b{parameter}\b", text) else "")


def parameters(value: Any, args: dict[str, str]) -> list[inspect.Parameter]:
    """The parameters of a function or class; those that a docstring names where Python knows none."""
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        return []
    try:
        found = list(inspect.signature(value).parameters.values())
    except (ValueError, TypeError):
        found = [inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, default=None) for one in args]
    return [one for one in found if not one.name.startswith("_")]


def arguments(name: str, value: Any, args: dict[str, str], text: str) -> str:
    """The list of arguments, in the order of the signature."""
    rows = []
    for one in parameters(value, args):
        kind = "" if one.annotation is one.empty else _annotation(str(one.annotation))
        default = "" if one.default is one.empty else f"default `{_short(repr(one.default))}`"
        facts = ", ".join(filter(None, (f"`{kind}`" if kind else "", default)))
        rows.append(
            f"- `{one.name}`{f' ({facts})' if facts else ''}: {_escaped(words_for(name, one.name, args, text))}"
        )
    return "\n".join(["**Arguments**", "", *rows]) if rows else ""


def qualified(text: str, name: str) -> str:
    """Examples with `tf.` before the names of their namespace, which docstrings use as they are."""
    space, _, own = name.rpartition(".")
    siblings = {n.rpartition(".")[2] for n in dotted_names() if n.rpartition(".")[0] == space}
    parts = doctest.DocTestParser().parse(text)
    trees = {id(part): ast.parse(part.source) for part in parts if isinstance(part, doctest.Example)}
    meant = {one for one in siblings if not hasattr(builtins, one)} - set().union(
        *map(_bound, trees.values())
    ) | {own}
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(part)
            continue
        lines = part.source.splitlines()
        names = [
            node for node in ast.walk(trees[id(part)]) if isinstance(node, ast.Name) and node.id in meant
        ]
        for node in sorted(names, key=lambda node: -node.col_offset):
            line, start = lines[node.lineno - 1], node.col_offset
            if line.startswith(node.id, start):  # elsewhere inside of an f-string
                lines[node.lineno - 1] = f"{line[:start]}tf.{space}{'.' * bool(space)}{line[start:]}"
        out.append("\n".join([f">>> {lines[0]}", *[f"... {line}" for line in lines[1:]], part.want]))
    return "".join(out)


def _bound(tree: ast.AST) -> set[str]:
    """The names that a statement binds."""
    names = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    names |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return names | {node.asname or node.name for node in ast.walk(tree) if isinstance(node, ast.alias)}


def _annotation(text: str) -> str:
    """An annotation without quotes and the paths of modules."""
    text = re.sub(r"ForwardRef\('([^']*)'\)", r"\1", text)
    text = re.sub(r"gradtape\.(?:[\w]+\.)+", "", text)
    text = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", text)
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def _signature(name: str, value: Any, args: dict[str, str]) -> str:
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        return "```python\n" + "\n".join(f"{name}.{one.name}" for one in value) + "\n```"
    try:
        text = str(inspect.signature(value))
    except (ValueError, TypeError):
        text = f"({', '.join(f'{one}=None' for one in args) or '*args'})"
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", _annotation(text))  # annotations are strings
    if inspect.isclass(value):
        text = text.removesuffix(" -> None")
    if len(name + text) > 84 and "," in text:
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
                f"### {name}\n\n{_signature(name, function, {})}\n\n{docstring(inspect.getdoc(function) or '')}"
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
    """The entries of a section as a list."""
    return [f"- {f'`{names}`: ' * bool(names)}{_escaped(said)}" for names, said in _named_entries(lines)]


def _named_entries(lines: list[str]) -> list[tuple[str, str]]:
    """The entries of a section: `name: text`, with further lines indented; '' where there is no name."""
    joined: list[str] = []
    for line in filter(str.strip, lines):
        if line.startswith(" ") and joined:
            joined[-1] += f" {line.strip()}"
        else:
            joined.append(line)
    matches = [(re.match(r"([\w*, .]+): (.*)", entry), entry) for entry in joined]
    return [(match[1], match[2]) if match else ("", entry) for match, entry in matches]


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
