"""Measure gradtape and its peers on the same programs, in one run, and print the ratios.

Each library lives in a process of its own (worker.py). A round goes through the workloads, and each workload
through all the libraries, so that a machine that drifts drifts for all of them. The best round counts.
"""

import argparse
import contextlib
import datetime
import json
import math
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import chart
import report
import workloads
from libraries import MODES
from report import Cell, Row

HERE = Path(__file__).parent
COMPILED_ALONE = {17, 18, 19, 20, 21}  # programs that show how they are compiled
COMPILED_ROWS = {1, 2, 3, 4, 9, 10, 11, 14} | COMPILED_ALONE
BUSY = 0.2  # cores that others may use before the ratios are doubtful
TOLERANCE = 1e-3  # relative: what float32 and another order of summation may change

# Processors are compared, not graphics cards; and no one compiles their source anew at each import.
ENVIRONMENT = os.environ | {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)


class Process:
    """A worker and the conversation with it."""

    def __init__(self, *command: str, environment: dict[str, str] = ENVIRONMENT):
        self.popen = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # start-up messages; what goes wrong is in the replies
            text=True,
            env=environment,
        )
        self.hello = self.reply()

    def ask(self, request: str, workload: str) -> dict[str, Any]:
        if "error" in self.hello:
            return self.hello
        with contextlib.suppress(OSError):  # it has died; the reply says so
            print(json.dumps([request, workload]), file=self.popen.stdin, flush=True)
        return self.reply()

    def reply(self) -> dict[str, Any]:
        line = self.popen.stdout.readline()
        return json.loads(line) if line else {"error": f"the process ended with code {self.popen.wait()}"}

    def close(self) -> None:
        """End its input, upon which it ends."""
        self.popen.communicate()


def time_import(python: str, module: str, environment: dict[str, str] = ENVIRONMENT) -> dict[str, Any]:
    """The time of an import in a fresh process, without the interpreter's own start; a reply as a worker's."""
    code = f"from time import perf_counter as now; start = now(); import {module}; print(now() - start)"
    done = subprocess.run([python, "-c", code], check=False, env=environment, capture_output=True, text=True)
    return {"error": done.stderr} if done.returncode else {"value": float(done.stdout.split()[-1])}


def agree(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> bool:
    """Whether two libraries computed the same: as many results, of equal types, with equal elements."""

    def close(a: dict[str, Any], b: dict[str, Any]) -> bool:
        return (
            (a["dtype"], a["shape"]) == (b["dtype"], b["shape"])
            and math.isclose(a["size"], b["size"], rel_tol=TOLERANCE)
            and all(
                math.isclose(x, y, rel_tol=TOLERANCE, abs_tol=TOLERANCE * a["size"])
                for x, y in zip(a["sample"], b["sample"], strict=True)
            )
        )

    return len(ours) == len(theirs) and all(map(close, ours, theirs))


class Bench:
    """The libraries that are there, each with its Python and its process, and the rows to be filled."""

    def __init__(self, mode: str, pythons: dict[str, str], only: set[int]):
        programs = [Row(file.NUMBER, name, file.TITLE, "us") for name, file in workloads.load().items()]
        others = [Row(7, "import", "import", "ms"), Row(8, "memory", "memory growth, running 4", "MB")]
        if mode == "compiled":
            programs = [row for row in programs if row.number in COMPILED_ROWS]
            others = []
        else:
            programs = [row for row in programs if row.number not in COMPILED_ALONE]
        rows = sorted(programs + others, key=lambda row: row.number)
        self.rows = [row for row in rows if not only or row.number in only]
        self.first_calls = [Row(row.number, row.name, f"{row.title}: first call", "ms") for row in self.rows]
        self.programs = {row.name for row in programs}
        self.mode = mode
        self.pythons = pythons
        self.processes: dict[str, Process] = {}
        for library in pythons:
            process = self.start(library)
            if "versions" in process.hello:
                self.processes[library] = process
            else:
                print(f"{library} is skipped: {process.hello.get('error', 'it is not installed')}")

    def start(self, library: str) -> Process:
        return Process(self.pythons[library], str(HERE / "worker.py"), library, self.mode)

    def prepare(self) -> None:
        """Warm every program up in every library, and compare its results with gradtape's."""
        for row, first in zip(self.rows, self.first_calls, strict=True):
            row.cells = {library: Cell() for library in self.processes}
            first.cells = {library: Cell() for library in self.processes}
            if row.name == "import":
                row.cells["numpy"] = Cell()
            if row.name not in self.programs:
                continue
            replies = {library: p.ask("prepare", row.name) for library, p in self.processes.items()}
            ours = replies["gradtape"].get("results")
            for library, reply in replies.items():
                row.cells[library].take(reply)
                if "first" in reply:
                    first.cells[library].take({"value": reply["first"]})
                if ours and "results" in reply and not agree(ours, reply["results"]):
                    row.cells[library].problem = "differs"

    def round(self, number: int) -> None:
        """Measure every cell once; what needs a process of its own in every third round only."""
        for row in self.rows:
            if number % 3 and row.name not in self.programs:
                continue
            for library, cell in row.cells.items():
                if not cell.problem:
                    cell.take(self.measure(row, library))

    def measure(self, row: Row, library: str) -> dict[str, Any]:
        if row.name == "import":
            if library == "numpy":
                return time_import(sys.executable, "numpy")
            return time_import(self.pythons[library], MODES[self.mode][library].module)
        if row.name == "memory":
            with contextlib.closing(self.start(library)) as fresh:
                return fresh.ask("memory", "large_elementwise")
        return self.processes[library].ask("measure", row.name)

    def close(self) -> None:
        for process in self.processes.values():
            process.close()


def machine() -> dict[str, Any]:
    processor = platform.processor()
    with contextlib.suppress(OSError):  # Linux says more
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        processor = found[1] if found else processor
    return {"system": platform.platform(), "processor": processor, "cores": os.cpu_count()}


def busy_cores(seconds: float = 0.5) -> float | None:
    """How many cores others use while every worker waits. Only Linux tells."""

    def used() -> float:
        line = Path("/proc/stat").read_text().splitlines()[0]
        user, nice, system, _idle, _iowait, *rest = map(int, line.split()[1:9])
        return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")

    try:
        before = used()
        time.sleep(seconds)
        return (used() - before) / seconds
    except OSError:
        return None


def arguments() -> argparse.Namespace:
    compiled = "--compiled" in sys.argv
    peers = [name for name in MODES["compiled" if compiled else "eager"] if name != "gradtape"]

    def names(text: str) -> list[str]:
        chosen = [name for name in text.split(",") if name]
        if unknown := set(chosen) - set(peers):
            raise argparse.ArgumentTypeError(f"no peer is named {', '.join(unknown)}, but {', '.join(peers)}")
        return chosen

    def numbers(text: str) -> set[int]:
        return {int(number) for number in text.split(",")}

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", help="the Python that has the peers; without it, gradtape runs alone")
    parser.add_argument("--peers", type=names, default=peers, help=f"which of {','.join(peers)}; default all")
    parser.add_argument("--only", type=numbers, default=set(), help="which rows, such as 1,2; default all")
    parser.add_argument("--compiled", action="store_true", help="compiled programs against compiled ones")
    parser.add_argument("--rounds", type=int, default=20)
    name = "compiled.json" if compiled else "latest.json"
    parser.add_argument("--json", type=Path, default=HERE / "results" / name)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    pythons = {"gradtape": sys.executable}
    if options.python:
        pythons |= dict.fromkeys(options.peers, options.python)
    mode = "compiled" if options.compiled else "eager"
    report.COLUMNS.update({name: library.column for name, library in MODES[mode].items()})
    bench = Bench(mode, pythons, options.only)
    if "gradtape" not in bench.processes:
        sys.exit(f"there is nothing to compare with: install gradtape for {sys.executable}")
    if not bench.rows:
        sys.exit("--only names no row")
    about: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": {library: process.hello["versions"] for library, process in bench.processes.items()},
        "busy_cores": [],
    }
    bench.prepare()
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        about["busy_cores"].append(busy_cores())
        bench.round(number)
    bench.close()
    if options.compiled:
        bench.rows += bench.first_calls
    print(report.table(bench.rows))
    if (others := max(busy or 0.0 for busy in about["busy_cores"])) > BUSY:
        print(f"WARNING: others kept {others:.1f} of {os.cpu_count()} cores busy. Do not trust these ratios.")
    report.write_json(bench.rows, about, options.json)
    print(f"written: {options.json}")
    if len(bench.processes) > 1:
        print(chart.draw(bench.rows, options.json.with_suffix(".png")))
    sys.exit(any(cell.failed for row in bench.rows for cell in row.cells.values()))


if __name__ == "__main__":
    main()
