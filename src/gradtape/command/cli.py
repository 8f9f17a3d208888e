"""The command `gradtape`: `run` a TensorFlow script, `check` what of it would be missing, `view` its tapes.

Exit codes: those of the script under `run`; 0, 1 (names missing) and 2 (unreadable input) under `check`; 2 for a
command line that makes no sense.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

import gradtape

_RUN = """\
Runs a program as `python` would, but `import tensorflow` in it gives gradtape, whether or not TensorFlow is installed.
Arguments, exit code, tracebacks and working directory are the program's own. A `tensorflow.py` beside the script wins
over gradtape, with a warning. Of a notebook the code cells run, in order; shell commands in it (`!pip ...`) do not.
"""
_CHECK = """\
Reads programs without running them, and lists the names of TensorFlow they use that gradtape does not have, with their
lines and what to do instead. Exit code: 0 if nothing is missing, 1 if something is, 2 if a file cannot be read.
"""
_VIEW = """\
Opens a page that tape.show or gradtape run --view wrote; of a recording (.json) it makes the page first.
"""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The command line, from `sys.argv` unless it is given. Ends the process, or raises SystemExit."""
    given = list(sys.argv[1:] if argv is None else argv)
    program: list[str] = []
    if given[:1] == ["run"]:
        given, program = split_program(given)
    parser, run_parser = _parsers()
    options = parser.parse_args(given)
    if options.command is None:
        parser.print_help()
        sys.exit(0)
    if options.command == "check":
        from .checking import check

        sys.exit(check(options.paths, as_json=options.json))
    if options.command == "view":
        from .looking import view

        sys.exit(view(options.file, options.out))
    if options.out is not None and not options.view:
        run_parser.error("--out names the file for --view")
    if not program or program in (["-m"], ["-c"]):
        run_parser.error("name a script, a notebook, -m module or -c code to run")
    if options.processes is not None or options.hosts is not None:
        from .launching import launch

        sys.exit(launch(given, program, options, run_parser.error))
    from .running import run

    sys.exit(run(program, options))


def split_program(given: list[str]) -> tuple[list[str], list[str]]:
    """`run` and its own options, and the program with the arguments that are its own.

    >>> split_program(["run", "--nan", "train.py", "--json"])
    (['run', '--nan'], ['train.py', '--json'])
    """
    for i, word in enumerate(given[1:], start=1):
        if given[i - 1] in ("--out", "--processes", "--hosts"):
            continue
        if word == "--":
            return given[:i], given[i + 1 :]
        if not word.startswith("-") or word in ("-m", "-c"):
            return given[:i], given[i:]
    return given, []


def _parsers() -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    parser = argparse.ArgumentParser(
        prog="gradtape",
        description="TensorFlow's GradientTape on its own: run a TensorFlow script without TensorFlow.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gradtape {gradtape.__version__}")
    commands = parser.add_subparsers(dest="command", title="commands")
    run = commands.add_parser(
        "run",
        help="run a TensorFlow script, module or notebook on gradtape",
        description=_RUN,
        usage="gradtape run [options] (script.py | notebook.ipynb | -m module | -c code) [argument ...]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    run.add_argument(
        "--explain", action="store_true", help="say at the end why gradients were None, with lines"
    )
    run.add_argument(
        "--nan", action="store_true", help="say at the end which operation made the first nan or infinity"
    )
    run.add_argument("--profile", action="store_true", help="say at the end where time and memory went")
    run.add_argument(
        "--view",
        action="store_true",
        help="open at the end a page of the program's tapes, with values and steps",
    )
    run.add_argument(
        "--out", metavar="FILE", help="with --view: write the page to a file instead of opening it"
    )
    run.add_argument(
        "--json", action="store_true", help="end with a line of JSON on stderr: exit code, error, report"
    )
    run.add_argument(
        "--processes",
        type=int,
        metavar="N",
        help="start N processes of a cluster on this machine (tf.distribute.MultiWorkerMirroredStrategy)",
    )
    run.add_argument(
        "--hosts",
        metavar="HOST[:PORT],...",
        help="print the command for each machine of a cluster, with N processes on each",
    )
    run.add_argument("--ssh", action="store_true", help="with --hosts: run the commands over ssh")
    view = commands.add_parser(
        "view", help="open a page or a recording of tapes", description=_VIEW, allow_abbrev=False
    )
    view.add_argument("file", help="a page (.html) or a recording (.json)")
    view.add_argument("--out", metavar="FILE", help="write the page to a file instead of opening it")
    check = commands.add_parser(
        "check",
        help="list the names a script uses that gradtape does not have",
        description=_CHECK,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    check.add_argument("paths", nargs="+", metavar="path", help="a script, a notebook, or a folder of them")
    check.add_argument("--json", action="store_true", help="print the findings as JSON")
    return parser, run
