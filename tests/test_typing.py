"""Type checkers understand a user's program: they report its mistakes, and nothing else."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape

PROGRAM = Path(__file__).parent / "typing" / "user_program.py"
SOURCE = Path(gradtape.__file__).parent.parent


def marked():
    return {i for i, line in enumerate(PROGRAM.read_text().splitlines(), 1) if line.endswith("# wrong")}


def check(reported, output):
    assert marked()
    assert reported == marked(), output


def test_mypy():
    """With the project's own settings, so that it shares the cache of `mypy src`."""
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", str(PROGRAM)]
    run = subprocess.run(
        command,
        cwd=PROGRAM.parents[2],
        env={"MYPYPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line.split(":", 2) for line in run.stdout.splitlines() if ": error: " in line]
    assert {Path(file).name for file, *_ in lines} == {PROGRAM.name}, run.stdout + run.stderr
    check({int(line) for _, line, _ in lines}, run.stdout)


def test_pyright(tmp_path):
    folder = Path(sys.executable).parent
    pyright = shutil.which("pyright", path=str(folder)) or shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    shutil.copy(PROGRAM, tmp_path)
    settings = {"include": [PROGRAM.name], "extraPaths": [str(SOURCE)], "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    run = subprocess.run(
        [pyright, "--outputjson", "--pythonpath", sys.executable, "--project", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(run.stdout)["generalDiagnostics"]
    check({d["range"]["start"]["line"] + 1 for d in found if d["severity"] == "error"}, run.stdout)
