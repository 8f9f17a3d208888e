"""`gradtape run`: run a program as `python` would, with gradtape for `import tensorflow`.

The program does not notice: it is `__main__`, tracebacks begin with its own frames, and its exit is the command's.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import contextlib
import importlib
import importlib.util
import json
import linecache
import opcode
import os
import sys
import traceback
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from .. import compat
from ..core.settings import settings
from .launching import end_with_the_command
from .notebooks import Cell, NotANotebook, read_cells

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_ON_PATH = os.path.join(_PACKAGE, "compat", "on_path")
_RAISE = opcode.opmap["RAISE_VARARGS"]
_REPLACED: list[ModuleType] = []  # the former `__main__`: its objects must outlive its name


class Refused(Exception):
    """There is nothing to run: the message says why."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def run(program: list[str], options: argparse.Namespace) -> int:
    """Run a program to its end, and return its exit code.

    Args:
        program: the program and its arguments, as on the command line.
        options: `explain`, `nan`, `profile`, `view`, `out` and `json`, as the command line gives them.

    Raises:
        SystemExit, KeyboardInterrupt: if the program ends by one, as without gradtape.
    """
    error: BaseException | None = None
    end_with_the_command()
    session = _session(options)
    try:
        with session:
            _start(program)
    except Refused as refused:
        print(f"gradtape run: {refused}", file=sys.stderr)
        return refused.exit_code
    except BaseException as raised:
        error = raised
        _show(error)
    report = session.report(error) if hasattr(session, "report") else None
    if report is not None and report.page is not None:
        from .looking import deliver

        deliver(report.page, options.out)
    _tell(error, report, as_json=options.json)
    if isinstance(error, KeyboardInterrupt):
        sys.excepthook = lambda *_: None  # it has been shown
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        raise error
    return int(error is not None)


def _session(options: argparse.Namespace) -> Any:
    """The session that observes the program; one that does nothing if no option asks for any."""
    if not (options.explain or options.nan or options.profile or options.view):
        return contextlib.nullcontext()
    explain = importlib.import_module("gradtape.explain")
    return explain.session(
        explain=options.explain, nan=options.nan, profile=options.profile, view=options.view
    )


# ---------------------------------------------------------------------------------------------------------------------
# Starting


def _start(program: list[str]) -> None:
    if program[0] == "-m":
        _run_module(program[1], program[2:])
    elif program[0] == "-c":
        _set_up("", ["-c", *program[2:]])
        exec(compile(program[1], "<string>", "exec"), _main_module().__dict__)
    elif program[0].endswith(".ipynb"):
        _run_notebook(program[0], program[1:])
    else:
        _run_script(program[0], program[1:])


def _run_script(name: str, arguments: list[str]) -> None:
    path = os.path.abspath(name)
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        raise Refused(f"can't open {name}: {error.strerror}") from None
    if b"\0" in source:
        raise Refused(f"{name} is not a Python script: it contains null bytes")
    _set_up(os.path.dirname(os.path.realpath(path)), [name, *arguments])
    main = _main_module(__file__=path, __loader__=SourceFileLoader("__main__", path), __cached__=None)
    exec(compile(source, path, "exec"), main.__dict__)


def _run_module(name: str, arguments: list[str]) -> None:
    _set_up(os.getcwd(), ["-m", *arguments])
    spec = _module_spec(name)
    code = spec.loader.get_code(spec.name) if hasattr(spec.loader, "get_code") else None  # type: ignore[union-attr]
    if code is None:
        raise Refused(f"module {name} has no code to run", 1)
    sys.argv[0] = str(spec.origin)
    main = _main_module(
        __file__=spec.origin,
        __loader__=spec.loader,
        __cached__=spec.cached,
        __spec__=spec,
        __package__=spec.parent,
    )
    exec(code, main.__dict__)


def _module_spec(name: str) -> ModuleSpec:
    """The spec of a module; of a package, that of its `__main__`."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        spec = None
    except ValueError:
        spec = None
    if spec is None:
        raise Refused(f"no module named {name}", 1)
    if spec.submodule_search_locations is not None:
        return _module_spec(f"{name}.__main__")
    return spec


def _run_notebook(name: str, arguments: list[str]) -> None:
    path = os.path.abspath(name)
    try:
        cells = read_cells(Path(path))
    except OSError as error:
        raise Refused(f"can't open {name}: {error.strerror}") from None
    except NotANotebook as error:
        raise Refused(str(error)) from None
    os.chdir(os.path.dirname(path))  # where Jupyter would run it
    _set_up(os.getcwd(), [name, *arguments])
    sys.excepthook = _show_cells  # Python's own would look for the lines in files
    main = _main_module(display=_display)
    for cell in cells:
        for line, code in cell.left_out:
            print(
                f"gradtape run: left out, {os.path.basename(path)}:cell {cell.number}:{line}: {code}",
                file=sys.stderr,
            )
        _run_cell(cell, f"{path}:cell {cell.number}", main)


def _run_cell(cell: Cell, name: str, main: ModuleType) -> None:
    """Run a cell, and show the value of its last expression, as a notebook does."""
    lines = [f"{line}\n" for line in cell.source.split("\n")]
    linecache.cache[name] = (len(cell.source), None, lines, name)
    tree = ast.parse(cell.source, name)
    last: list[ast.stmt] = []
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not cell.source.rstrip().endswith(";"):
        last = [tree.body.pop()]
    exec(compile(tree, name, "exec"), main.__dict__)
    exec(compile(ast.Interactive(last), name, "single"), main.__dict__)


def _display(*objects: Any) -> None:
    for value in objects:
        print(repr(value))


def _show_cells(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
    traceback.print_exception(kind, error, tb)


def _set_up(folder: str, argv: list[str]) -> None:
    """Set `sys.argv` and `sys.path` as Python does, and install `tensorflow`, here and in processes it starts."""
    sys.argv = argv
    if sys.flags.safe_path:
        sys.path.insert(0, _ON_PATH)
    else:
        sys.path[:1] = [folder, _ON_PATH]
    compat.install(beside=None if sys.flags.safe_path else folder)


def _main_module(**attributes: Any) -> ModuleType:
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, **attributes)
    _REPLACED.append(sys.modules["__main__"])
    sys.modules["__main__"] = main
    return main


# ---------------------------------------------------------------------------------------------------------------------
# Ending


def _show(error: BaseException) -> None:
    """Print an error as Python would, by the program's own hook, without our frames."""
    if isinstance(error, SystemExit):
        return
    link: BaseException | None = error
    seen: set[int] = set()
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.__traceback__ = _theirs(link.__traceback__)
        link = link.__cause__ or link.__context__
    sys.excepthook(type(error), error, error.__traceback__)


def _theirs(tb: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames that started the program, and without gradtape's where gradtape raised the error.

    Where another error occurs inside gradtape, the frames stay.
    """
    frames = list(_walk(tb))
    while frames and _is_ours(frames[0]):
        frames.pop(0)
    shown: TracebackType | None = None
    needed = not (frames and settings.traceback_filtering and _is_raised(frames[-1]))
    for frame in reversed(frames):
        if not _is_ours(frame):
            needed = not settings.traceback_filtering or "site-packages" in frame.tb_frame.f_code.co_filename
        elif not needed:
            continue
        shown = TracebackType(shown, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return shown


def _walk(tb: TracebackType | None) -> Any:
    while tb is not None:
        yield tb
        tb = tb.tb_next


def _is_ours(tb: TracebackType) -> bool:
    return tb.tb_frame.f_code.co_filename.startswith((_PACKAGE, "<frozen importlib"))


def _is_raised(tb: TracebackType) -> bool:
    return tb.tb_frame.f_code.co_code[tb.tb_lasti] == _RAISE


def _tell(error: BaseException | None, report: Any, as_json: bool) -> None:
    """Print the report after the program has ended, on stderr: stdout is the program's own."""
    text, data = getattr(report, "text", report), getattr(report, "json", None)
    if as_json:
        told = {"exit": _exit_code(error), "error": _described(error), "report": data}
        print(json.dumps(told, default=str), file=sys.stderr)
    elif text:
        print(text, file=sys.stderr)


def _exit_code(error: BaseException | None) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    return 130 if isinstance(error, KeyboardInterrupt) else int(error is not None)


def _described(error: BaseException | None) -> dict[str, Any] | None:
    if error is None or isinstance(error, SystemExit):
        return None
    frames = list(_walk(error.__traceback__))
    place = (frames[-1].tb_frame.f_code.co_filename, frames[-1].tb_lineno) if frames else (None, None)
    if isinstance(error, SyntaxError):
        place = (error.filename, error.lineno)
    return {"type": type(error).__name__, "message": str(error), "file": place[0], "line": place[1]}
