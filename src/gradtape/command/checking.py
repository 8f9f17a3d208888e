"""`gradtape check`: the names of TensorFlow that a program uses and gradtape lacks. The program is read, not run.

Names are followed through imports and plain assignments (`K = tf.keras`), in the scope where they hold.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import gradtape

from ..compat.views import View, tensorflow
from ..names.missing import instead, nearest
from .notebooks import NotANotebook, read_cells

_PACKAGES = ("tensorflow_", "tf_keras")  # packages of their own, which need TensorFlow itself
_GUARDS = frozenset(("AttributeError", "ImportError", "ModuleNotFoundError"))


@dataclass(frozen=True)
class Missing:
    """A name that gradtape lacks, as written after `tf.`, and the line that uses it."""

    name: str
    line: int
    cell: int | None = None

    @property
    def hint(self) -> str:
        """An alternative, or the nearest names; '' if there are none."""
        if self.name.startswith(_PACKAGES):
            return "a package of its own, which needs TensorFlow"
        near = ", ".join(f"tf.{name}" for name in nearest(self.name))
        return instead(self.name) or (f"near it: {near}" if near else "")

    @property
    def place(self) -> str:
        """The line, in a notebook after its cell."""
        return f"{self.line}" if self.cell is None else f"cell {self.cell}:{self.line}"

    def __str__(self) -> str:
        name = self.name if self.name.startswith(_PACKAGES) else f"tf.{self.name}"
        return f"{name}: {self.hint}" if self.hint else name


@dataclass
class Findings:
    """The findings in a file: the names of TensorFlow it uses, those missing, or why it could not be read."""

    path: str
    used: set[str] = field(default_factory=set)
    missing: list[Missing] = field(default_factory=list)
    unreadable: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        rows = [{"line": m.line, "cell": m.cell, "name": m.name, "hint": m.hint} for m in self.missing]
        return {
            "file": self.path,
            "names": len(self.used),
            "missing": rows,
            "unreadable": self.unreadable or None,
        }


def check(paths: Iterable[str], as_json: bool = False) -> int:
    """Print the missing names of scripts, notebooks and folders, and return the exit code.

    Args:
        paths: files, and folders to search for `.py` and `.ipynb` files.
        as_json: print the findings as JSON instead of as text.

    Returns:
        0 if nothing is missing, 1 if a name is, 2 if a file cannot be read.
    """
    found = [check_file(path) for given in paths for path in _files(given)]
    missing = sum(len(findings.missing) for findings in found)
    if as_json:
        print(json.dumps({"files": [findings.as_dict() for findings in found], "missing": missing}, indent=2))
    else:
        _print(found, missing)
    return 2 if any(findings.unreadable for findings in found) else int(missing > 0)


def _print(found: list[Findings], missing: int) -> None:
    for findings in found:
        if findings.unreadable:
            print(f"gradtape check: {findings.unreadable}", file=sys.stderr)
        for name in findings.missing:
            print(f"{findings.path}:{name.place}: {name}")
    read = [findings for findings in found if not findings.unreadable]
    used = len(set().union(*(findings.used for findings in read)))
    if read and missing:
        print(
            f"{_count(missing, 'use')} of names that gradtape does not have, in {_count(len(read), 'file')}"
        )
    elif read:
        print(f"nothing missing: {_count(used, 'name')} of TensorFlow in {_count(len(read), 'file')}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + "s" * (number != 1)


def _files(given: str) -> Iterator[str]:
    """The file itself, or the scripts and notebooks below a folder, without hidden folders and environments."""
    if not os.path.isdir(given):
        yield given
        return
    for folder, folders, files in os.walk(given):
        folders[:] = sorted(
            f for f in folders if not f.startswith((".", "__")) and not _is_environment(folder, f)
        )
        yield from (os.path.join(folder, f) for f in sorted(files) if f.endswith((".py", ".ipynb")))


def _is_environment(folder: str, name: str) -> bool:
    return os.path.exists(os.path.join(folder, name, "pyvenv.cfg")) or name == "site-packages"


def check_file(path: str) -> Findings:
    """Find the names of TensorFlow in one script or notebook."""
    findings = Findings(path)
    reader = Reader(findings)
    try:
        if path.endswith(".ipynb"):
            for cell in read_cells(Path(path)):
                reader.read(cell.source, cell.number)
        else:
            reader.read(Path(path).read_bytes())
    except SyntaxError as error:
        findings.unreadable = f"{path}{f':{error.lineno}' if error.lineno else ''}: not Python: {error.msg}"
    except NotANotebook as error:
        findings.unreadable = str(error)
    except ValueError:
        findings.unreadable = f"{path}: not Python: it contains null bytes"
    except OSError as error:
        findings.unreadable = f"can't open {path}: {error.strerror}"
    reader.finish()
    findings.missing.sort(key=lambda name: (name.cell or 0, name.line))
    return findings


class Reader(ast.NodeVisitor):
    """Walk through a program. `_names`: the names bound to something of TensorFlow's in the current scope."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._names: dict[str, str] = {}
        self._later: list[Callable[[], None]] = []
        self._guarded: frozenset[str] = frozenset()
        self._cell: int | None = None

    def read(self, source: str | bytes, cell: int | None = None) -> None:
        """Read a script, or the next cell of a notebook."""
        tree = ast.parse(source)
        self._cell = cell
        self.visit(tree)

    def finish(self) -> None:
        """Read the bodies of functions, which run after everything around them."""
        while self._later:
            self._later.pop(0)()

    # Names

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            root = alias.name.partition(".")[0]
            if root.startswith(_PACKAGES):
                self._note(
                    Missing(root, node.lineno, self._cell),
                    "ImportError",
                )
            elif root in ("tensorflow", "gradtape"):
                self._use(alias.name, node.lineno, "ImportError")
                self._names[alias.asname or root] = alias.name if alias.asname else root
            else:
                self._names.pop(alias.asname or root, None)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        root = (node.module or "").partition(".")[0]
        if node.level == 0 and root.startswith(_PACKAGES):
            self._note(Missing(root, node.lineno, self._cell), "ImportError")
        for alias in node.names:
            name = alias.asname or alias.name
            if node.level or root not in ("tensorflow", "gradtape"):
                self._names.pop(name, None)
            elif alias.name == "*":
                self._use(node.module or "", node.lineno, "ImportError")
                self._names.update({each: f"{node.module}.{each}" for each in _offered(node.module or "")})
            else:
                self._names[name] = f"{node.module}.{alias.name}"
                self._use(self._names[name], alias.lineno, "ImportError")

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        meant = self._meaning(node.value)
        for target in node.targets:
            self.visit(target)
            if isinstance(target, ast.Name) and meant is not None:
                self._names[target.id] = meant

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._names.pop(node.id, None)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        meant = self._meaning(node)
        if meant is None:
            self.generic_visit(node)
        elif isinstance(node.ctx, ast.Load):
            self._use(meant, node.lineno, "AttributeError")

    def _meaning(self, node: ast.expr) -> str | None:
        """The dotted name of an expression, as `tensorflow.math.log`; None if it is not TensorFlow's."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id)
        if isinstance(node, ast.Attribute):
            above = self._meaning(node.value)
            return above and f"{above}.{node.attr}"
        return None

    # Scopes

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for outside in [
            *node.decorator_list,
            *_values_of(node.args),
            *([node.returns] if node.returns else []),
        ]:
            self.visit(outside)
        self._names.pop(node.name, None)
        self._afterwards(node.args, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for outside in _values_of(node.args):
            self.visit(outside)
        self._afterwards(node.args, [node.body])

    def _afterwards(self, arguments: ast.arguments, body: Iterable[ast.AST]) -> None:
        around, guarded, cell = self._names, self._guarded, self._cell
        given = {a.arg for a in ast.walk(arguments) if isinstance(a, ast.arg)}

        def read() -> None:
            self._names = {name: meant for name, meant in around.items() if name not in given}
            self._guarded, self._cell = guarded, cell
            for statement in body:
                self.visit(statement)

        self._later.append(read)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        around = self._names
        self._names = dict(around)
        self.generic_visit(node)
        self._names = around
        self._names.pop(node.name, None)

    def visit_ListComp(self, node: Any) -> None:
        around = self._names
        self._names = dict(around)
        for generator in node.generators:
            self.visit(generator)
        for value in (getattr(node, part, None) for part in ("key", "value", "elt")):
            if value is not None:
                self.visit(value)
        self._names = around

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp

    def visit_Try(self, node: Any) -> None:
        """Skip names that the program expects to be missing, and bindings such as `tf = None` after a failed import."""
        caught = {
            name.id
            for h in node.handlers
            if h.type
            for name in ast.walk(h.type)
            if isinstance(name, ast.Name)
        }
        guarded, self._guarded = self._guarded, self._guarded | (caught & _GUARDS)
        for statement in node.body:
            self.visit(statement)
        self._guarded = guarded
        bound = dict(self._names)
        for statement in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(statement)
        self._names.update({name: meant for name, meant in bound.items() if name not in self._names})

    visit_TryStar = visit_Try

    # Uses

    def _use(self, path: str, line: int, guard: str) -> None:
        name = path.partition(".")[2]
        if not name or name.startswith("__"):
            return
        self._findings.used.add(name)
        if not exists(path):
            self._note(Missing(name, line, self._cell), guard)

    def _note(self, missing: Missing, guard: str) -> None:
        guards = {guard, "ModuleNotFoundError"} if guard == "ImportError" else {guard}
        if not guards & self._guarded and missing not in self._findings.missing:
            self._findings.missing.append(missing)


def _values_of(arguments: ast.arguments) -> Iterator[ast.expr]:
    """The expressions that are evaluated where a function is defined: defaults and annotations."""
    yield from (default for default in (*arguments.defaults, *arguments.kw_defaults) if default is not None)
    yield from (
        a.annotation for a in ast.walk(arguments) if isinstance(a, ast.arg) and a.annotation is not None
    )


def exists(path: str) -> bool:
    """Return whether gradtape has a dotted name that begins with `tensorflow` or `gradtape`.

    >>> exists("tensorflow.math.log"), exists("tensorflow.log")
    (True, False)
    """
    found = _root(path)
    for name in path.split(".")[1:]:
        try:
            found = getattr(found, name)
        except AttributeError:
            return False
    return True


def _offered(module: str) -> list[str]:
    """The names that `from module import *` gives."""
    found = _root(module)
    for name in module.split(".")[1:]:
        found = getattr(found, name, None)
    return list(getattr(found, "__all__", ())) if isinstance(found, ModuleType) else []


def _root(path: str) -> Any:
    return _TENSORFLOW if path.partition(".")[0] == "tensorflow" else gradtape


_TENSORFLOW: View = tensorflow()
