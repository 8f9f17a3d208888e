"""Run Keras's own tests on gradtape, folder by folder, and say what fails there and passes on TensorFlow.

    python tests/keras/own_tests.py --source KERAS [--peer PYTHON] [--out FOLDER] [--only ops,layers/rnn] [-n 2]

KERAS is a checkout of keras-team/keras at the installed version: the wheel has no tests. What failed is run again on
TensorFlow if PYTHON has tensorflow-cpu and keras; what fails there as well does not count. Every result is appended to
a file in FOLDER at once, so that a run that was stopped goes on where it stopped. This file is also the plugin of
pytest that writes those files, in PYTHON as well: it needs the standard library alone.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORD = "GRADTAPE_KERAS_RECORD"  # environment variable: the file to which the plugin appends
EARLIER = "GRADTAPE_KERAS_EARLIER"  # how many lines of it earlier runs have written
LIMIT = 600  # seconds for one test, after which its process ends and the next test has a new one
# Most of these tests compile something small, once.
QUICK_COMPILER = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"

Results = dict[str, dict[str, str]]  # by the name of the test: outcome and reason


# The plugin.


def pytest_configure(config: Any) -> None:
    if RECORD in os.environ and not hasattr(config, "workerinput"):  # not in the workers of xdist
        config.pluginmanager.register(Recorder(Path(os.environ[RECORD])))


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Leave out what an earlier run has finished; in each worker alike, a late one as well."""
    if RECORD in os.environ:
        done = read(Path(os.environ[RECORD]), int(os.environ[EARLIER]))
        items[:] = [item for item in items if item.nodeid not in done]


class Recorder:
    """Appends the outcome of each test to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or not report.passed:  # a set-up that passed says nothing
            self._write(report, "skipped" if report.skipped else report.outcome)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._write(report, "failed")

    def _write(self, report: Any, outcome: str) -> None:
        reason = last_line(report.longreprtext) if outcome == "failed" else ""
        with self._path.open("a") as file:
            print(json.dumps({"test": report.nodeid, "outcome": outcome, "reason": reason}), file=file)


def last_line(text: str) -> str:
    """Return the error of a traceback as pytest writes it: its type and the beginning of its message."""
    errors = re.findall(r"^E +(?!For simplicity, JAX)(.*\S)", text, re.MULTILINE)
    named = [error for error in errors if re.match(r"([a-z_]\w*\.)*[A-Z]\w+:", error)]
    lines = named[-1:] or errors[-1:] or text.strip().splitlines()[-1:]
    return lines[0][:200] if lines else "no message"


# The runs.


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def read(path: Path, lines: int | None = None) -> Results:
    """Return the results in a file or in its first lines. A test that failed once, be it in its end, has failed."""
    results: Results = {}
    for line in lines_of(path)[:lines]:
        result = json.loads(line)
        if results.get(result["test"], {}).get("outcome") != "failed":
            results[result["test"]] = result
    return results


def run(python: str, source: Path, record: Path, tests: list[str], plugins: list[str], workers: int) -> None:
    """Run tests and append the results to the record. A test that crashes or hangs has failed; the others go on."""
    environment = os.environ | {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment |= {RECORD: str(record), EARLIER: str(len(lines_of(record)))}
    environment.setdefault("XLA_FLAGS", QUICK_COMPILER)
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]).rstrip(
        os.pathsep
    )
    limits = ["-o", f"faulthandler_timeout={LIMIT}", "-o", "faulthandler_exit_on_timeout=true"]
    arguments = ["-q", "--tb=short", "-p", "no:cacheprovider", "-o", "addopts=", "-n", str(workers), *limits]
    for plugin in plugins:
        arguments += ["-p", plugin]
    with record.with_suffix(".log").open("a") as log:
        subprocess.run(
            [python, "-m", "pytest", *arguments, *tests],
            cwd=source,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )


def folders_of(source: Path, only: list[str]) -> list[str]:
    """Return the folders that hold tests, relative to keras/src, or those of them that start with a name in `only`."""
    root = source / "keras" / "src"
    folders = sorted({str(path.parent.relative_to(root)) for path in root.rglob("*_test.py")})
    return [
        folder
        for folder in folders
        if not only or any((folder + "/").startswith(name + "/") for name in only)
    ]


def run_folder(options: argparse.Namespace, folder: str) -> tuple[Results, Results]:
    """Run a folder's tests here, and again on TensorFlow those that failed. Return both results."""
    name = folder.replace("/", "-")
    ours, theirs = options.out / f"{name}.jsonl", options.out / f"{name}-tensorflow.jsonl"
    done = options.out / f"{name}.done"
    if options.anew:
        for path in ours, theirs, done:
            path.unlink(missing_ok=True)
    if options.failed and forget_failed(ours, read(theirs)):
        done.unlink(missing_ok=True)
    if not done.exists():
        files = sorted((options.source / "keras" / "src" / folder).glob("*_test.py"))
        tests = [str(path.relative_to(options.source)) for path in files]
        run(sys.executable, options.source, ours, tests, ["gradtape", "own_tests"], options.workers)
        done.touch()
    results = read(ours)
    if options.peer:
        again = [test for test, result in results.items() if result["outcome"] == "failed"]
        again = [test for test in again if not any(done.startswith(test) for done in read(theirs))]
        if again:
            run(options.peer, options.source, theirs, again, ["own_tests"], options.workers)
    return one_by_one(results, read(theirs)), read(theirs)


def one_by_one(ours: Results, theirs: Results) -> Results:
    """A file that could not be imported here as its tests, if it can be there: each of them failed."""
    results: Results = {}
    for test, result in ours.items():
        tests = [] if "::" in test else [name for name in theirs if name.startswith(f"{test}::")]
        results |= dict.fromkeys(tests or [test], result)
    return results


def forget_failed(ours: Path, theirs: Results) -> bool:
    """Leave out of the record what failed here and not on TensorFlow, so that it is run again; False if nothing did."""
    results = read(ours)
    kept = [
        r for test, r in results.items() if r["outcome"] != "failed" or fails_on_both(test, results, theirs)
    ]
    ours.write_text("".join(json.dumps(result) + "\n" for result in kept))
    return len(kept) < len(results)


# The report.


def row_of(folder: str, ours: Results, theirs: Results) -> list[Any]:
    """Return a line of the table: folder, passed, failed, failed on TensorFlow as well, skipped."""
    counts = collections.Counter(result["outcome"] for result in ours.values())
    both = sum(fails_on_both(test, ours, theirs) for test in ours)
    return [folder, counts["passed"], counts["failed"] - both, both, counts["skipped"]]


def fails_on_both(test: str, ours: Results, theirs: Results) -> bool:
    """Return whether a test fails here and does not pass on TensorFlow."""
    return (
        ours[test]["outcome"] == "failed" and theirs.get(test, {"outcome": "passed"})["outcome"] != "passed"
    )


def group(pairs: list[tuple[Results, Results]]) -> dict[str, list[str]]:
    """Return the tests that fail here alone, by their reason, the most frequent reason first."""
    by_reason: dict[str, list[str]] = collections.defaultdict(list)
    for ours, theirs in pairs:
        for test, result in ours.items():
            if result["outcome"] == "failed" and not fails_on_both(test, ours, theirs):
                by_reason[result["reason"]].append(test)
    return dict(sorted(by_reason.items(), key=lambda item: -len(item[1])))


def report(rows: list[list[Any]], reasons: dict[str, list[str]], versions: str, peer: bool) -> str:
    """Return the table and the list of what is left, in Markdown."""
    total = ["all", *(sum(row[k] for row in rows) for k in range(1, 5))]
    share = 100 * total[1] / max(total[1] + total[2], 1)
    what = (
        "of the tests that do not fail on TensorFlow" if peer else "of the tests (none was run on TensorFlow)"
    )
    lines = [f"# Keras's own tests on gradtape: {versions}", "", f"{share:.2f} % {what} pass.", ""]
    lines += [
        "| folder | passed | failed | failed on TensorFlow as well | skipped |",
        "|---|---|---|---|---|",
    ]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in [*rows, total]]
    lines += ["", "## What fails on gradtape alone, by reason", ""]
    for reason, tests in reasons.items():
        lines += [f"{len(tests)}: `{reason}`", *(f"- {test}" for test in tests), ""]
    return "\n".join(lines) + "\n"


def source_of(text: str | None) -> Path:
    """Return the checkout of Keras, if it is one and of the installed version."""
    installed = metadata.version("keras")
    how = f"Give a checkout of keras-team/keras at v{installed}: make test-keras KERAS_SOURCE=path/to/keras"
    if not text:
        sys.exit(f"Keras's tests are in its repository, not in the installed package. {how}")
    version_file = Path(text) / "keras" / "src" / "version.py"
    if not version_file.exists():
        sys.exit(f"{text} is no checkout of Keras: it has no keras/src/version.py. {how}")
    found = re.search(r'__version__ = "(.*)"', version_file.read_text())
    if not found or found[1] != installed:
        sys.exit(
            f"{text} is Keras {found[1] if found else 'of unknown version'}; {installed} is installed. {how}"
        )
    return Path(text).resolve()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--source", help="checkout of keras-team/keras")
    parser.add_argument("--peer", help="Python with tensorflow-cpu, keras, pytest and pytest-xdist")
    parser.add_argument(
        "--out", type=Path, default=Path("bench/results/keras"), help="folder for the results"
    )
    parser.add_argument("--only", default="", help="folders below keras/src, such as ops,layers/rnn")
    parser.add_argument("-n", "--workers", type=int, default=1, help="processes")
    parser.add_argument("--failed", action="store_true", help="run again what failed in an earlier run")
    parser.add_argument("--anew", action="store_true", help="run again what an earlier run has finished")
    options = parser.parse_args()
    options.source = source_of(options.source)
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.peer:  # the tests run in another folder; a link stays one, for its environment
        options.peer = os.path.abspath(
            shutil.which(options.peer) or parser.error(f"{options.peer} is no Python")
        )

    rows, pairs = [], []
    only = [name.strip("/") for name in options.only.split(",") if name]
    for folder in folders_of(options.source, only):
        ours, theirs = run_folder(options, folder)
        pairs.append((ours, theirs))
        rows.append(row_of(folder, ours, theirs))
        print(
            "{}: {} passed, {} failed, {} failed on TensorFlow as well, {} skipped".format(*rows[-1]),
            flush=True,
        )

    text = report(rows, group(pairs), f"Keras {metadata.version('keras')}", bool(options.peer))
    (options.out / "report.md").write_text(text)
    print("\n" + text + f"\nThis report: {options.out / 'report.md'}")


if __name__ == "__main__":
    main()
