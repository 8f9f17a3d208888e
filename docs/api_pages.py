"""The API reference: a page for each public name, from its signature and docstring, for `make_site.py`.

Words for arguments that docstrings leave to their names are in data/arguments.txt, docstrings for what has none of its
own in data/docstrings.txt.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import enum
import functools
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import gradtape
from gradtape.names.surface import dotted_names

DOCS = Path(__file__).parent
SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Attributes):\s*$")


def write_reference(folder: Path) -> int:
    """Write a page for each public name, one for each namespace, and the list of these; returns how many names."""
    folder.mkdir(parents=True, exist_ok=True)
    differences = differences_by_name((DOCS / "differences.md").read_text(encoding="utf-8"))
    objects = public_objects()
    others: dict[int, list[str]] = {}
    for name, value in objects.items():
        others.setdefault(id(value), []).append(name)
    spaces: dict[str, list[str]] = {}
    for name, value in objects.items():
        if isinstance(value, ModuleType):
            spaces.setdefault(name, [])
        else:
            spaces.setdefault(name.rpartition(".")[0], []).append(name)
            same = [other for other in others[id(value)] if other != name] if callable(value) else []
            text = name_page(name, value, same, differences.get(name, []))
            (folder / f"{name}.md").write_text(text, encoding="utf-8")
    for space, inside in spaces.items():
        _write_namespace(folder, space, inside, objects)
    rows = [f"| [`tf{'.' * bool(s)}{s}`](namespace-{s or 'tf'}.md) | {len(n)} | {_first_line(_object(s))} |"
            for s, n in sorted(spaces.items())]  # fmt: skip
    head = (
        "# API reference\n\nEvery public name has a page. `tf.keras` is Keras itself, which has its own. "
        "`tf.compat.v1` has further names for the same functions; what is different there has pages.\n\n"
    )
    text = head + "| namespace | names | contents |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    (folder / "index.md").write_text(text, encoding="utf-8")
    return len(objects)


@functools.cache
def public_objects() -> dict[str, Any]:
    """Everything public but Keras, by name; of `tf.compat`, what is not another name for the same."""
    objects = {name: _object(name) for name in dotted_names() if name not in ("keras", "compat")}
    known = {id(value) for value in objects.values()}

    def walk(space: str) -> None:
        objects[space] = module = _object(space)
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if id(value) in known or name in ("v2", "keras", "compat"):
                continue
            if isinstance(value, ModuleType):
                walk(f"{space}.{name}")
            else:
                objects[f"{space}.{name}"] = value

    walk("compat")
    return {name: value for name, value in objects.items() if not _is_empty(name, objects)}


def _is_empty(name: str, objects: dict[str, Any]) -> bool:
    """Whether a namespace has nothing of its own."""
    return isinstance(objects[name], ModuleType) and not any(
        other.startswith(f"{name}.") for other in objects
    )


def _object(name: str) -> Any:
    value: Any = gradtape
    for part in name.split(".") if name else ():
        value = getattr(value, part)
    return value


def _write_namespace(folder: Path, space: str, names: list[str], objects: dict[str, Any]) -> None:
    title = f"tf.{space}" if space else "tf"
    rows = [f"| [`{n.rpartition('.')[2]}`]({n}.md) | {_first_line(objects[n])} |" for n in sorted(names)]
    head = f"{_boost(0.2)}# {title}\n\n[API reference](index.md)\n\n{_first_line(_object(space))}\n\n"
    text = head + "| name | |\n|---|---|\n" + "\n".join(rows) + "\n"
    (folder / f"namespace-{space or 'tf'}.md").write_text(text, encoding="utf-8")


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
    text = (DOCS / "data" / "docstrings.txt").read_text(encoding="utf-8")
    found = re.findall(r"^\[([a-z][\w.]+)\]\n(.*?)(?=^\[[a-z][\w.]+\]$|\Z)", text, re.MULTILINE | re.DOTALL)
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
    lines = (DOCS / "data" / "arguments.txt").read_text(encoding="utf-8").splitlines()
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
    parts = doctest.DocTestParser().parse(text)
    trees = {id(part): ast.parse(part.source) for part in parts if isinstance(part, doctest.Example)}
    meant = _in_namespace(space) - set().union(*map(_bound, trees.values())) | {own}
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


@functools.cache
def _in_namespace(space: str) -> frozenset[str]:
    """The names of a namespace that Python itself does not have."""
    names = [name.rpartition(".") for name in public_objects()]
    return frozenset(name for before, _, name in names if before == space and not hasattr(builtins, name))


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
