"""Measure Keras on gradtape and on its other backends, on the same programs, in one run, and print the ratios.

Each backend lives in a process of its own (keras_worker.py); rounds, results and ratios are those of run.py.
"""

import argparse
import contextlib
import datetime
import os
import sys
from pathlib import Path
from typing import Any

import report
from keras_programs import PROGRAMS
from report import Cell, Row
from run import BUSY, ENVIRONMENT, HERE, Process, agree, busy_cores, machine, time_import

COLUMNS = {"gradtape": "gradtape", "tensorflow": "TensorFlow", "jax": "JAX", "torch": "torch"}
IMPORT = 8


class KerasBench:
    """The backends that are there, and the rows to be filled."""

    def __init__(self, pythons: dict[str, str], only: set[int], clock: str):
        self.pythons = pythons
        self.rows = [Row(program.number, name, program.title, "us") for name, program in PROGRAMS.items()]
        if clock == "wall":
            self.rows.append(Row(IMPORT, "import", "import keras", "ms"))
        self.rows = sorted(
            (row for row in self.rows if not only or row.number in only), key=lambda row: row.number
        )
        self.first_steps = [
            Row(row.number, row.name, f"{row.title.partition(',')[0]}: to {program.until}", "ms")
            for row in self.rows
            if (program := PROGRAMS.get(row.name)) and program.first
        ]
        self.processes: dict[str, Process] = {}
        for backend, python in pythons.items():
            command = python, str(HERE / "keras_worker.py"), backend, clock
            process = Process(*command, environment=self.environment(backend))
            if "versions" in process.hello:
                self.processes[backend] = process
            else:
                print(f"{backend} is skipped: {process.hello.get('error', 'it is not installed')}")
        for row in self.rows + self.first_steps:
            row.cells = {backend: Cell() for backend in self.processes}

    def environment(self, backend: str) -> dict[str, str]:
        chosen = "tensorflow" if backend == "gradtape" else backend
        return ENVIRONMENT | {"KERAS_BACKEND": chosen, "TF_CPP_MIN_LOG_LEVEL": "3"}

    def prepare(self) -> None:
        """Make every program on every backend, time its first step, and compare its results with gradtape's."""
        firsts = {row.name: row for row in self.first_steps}
        for row in self.rows:
            if row.name not in PROGRAMS:
                continue
            print(f"preparing {row.title}", file=sys.stderr)
            replies = {backend: p.ask("prepare", row.name) for backend, p in self.processes.items()}
            ours = replies["gradtape"].get("results")
            for backend, reply in replies.items():
                row.cells[backend].take(reply)
                if "first" in reply:
                    firsts[row.name].cells[backend].take({"value": reply["first"]})
                if ours and "results" in reply and not agree(ours, reply["results"]):
                    row.cells[backend].problem = "differs"

    def round(self, number: int) -> None:
        """Measure every cell once; imports in every third round only."""
        for row in self.rows:
            if row.name == "import" and number % 3:
                continue
            for backend, cell in row.cells.items():
                if not cell.problem:
                    cell.take(self.measure(row, backend))

    def measure(self, row: Row, backend: str) -> dict[str, Any]:
        if row.name == "import":
            module = "gradtape, keras" if backend == "gradtape" else "keras"
            return time_import(self.pythons[backend], module, self.environment(backend))
        return self.processes[backend].ask("measure", row.name)

    def close(self) -> None:
        for process in self.processes.values():
            with contextlib.suppress(OSError):
                process.close()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", help="the Python that has Keras and the other backends")
    for backend in list(COLUMNS)[1:]:
        parser.add_argument(f"--{backend}", metavar="PYTHON", help=f"the Python that has Keras and {backend}")
    parser.add_argument(
        "--only", type=lambda text: {int(n) for n in text.split(",")}, default=set(), help="rows, such as 1,2"
    )
    parser.add_argument(
        "--clock",
        choices=("wall", "processor"),
        default="wall",
        help="processor: time on all cores, which others on the machine disturb least; without imports",
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", type=Path, default=HERE / "results" / "keras.json")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    chosen = {backend: getattr(options, backend, None) or options.python for backend in list(COLUMNS)[1:]}
    pythons = {"gradtape": sys.executable} | {backend: python for backend, python in chosen.items() if python}
    report.COLUMNS.update(COLUMNS)
    bench = KerasBench(pythons, options.only, options.clock)
    if "gradtape" not in bench.processes:
        sys.exit(f"there is nothing to compare with: install 'gradtape[keras,xla]' for {sys.executable}")
    about: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "clock": options.clock,
        "versions": {backend: process.hello["versions"] for backend, process in bench.processes.items()},
        "busy_cores": [],
    }
    bench.prepare()
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        about["busy_cores"].append(busy_cores())
        bench.round(number)
    bench.close()
    rows = bench.rows + bench.first_steps
    print(report.table(rows))
    if (others := max((busy or 0.0 for busy in about["busy_cores"]), default=0.0)) > BUSY:
        print(f"WARNING: others kept {others:.1f} of {os.cpu_count()} cores busy. Do not trust these ratios.")
    report.write_json(rows, about, options.json)
    print(f"written: {options.json}")
    sys.exit(any(cell.failed for row in rows for cell in row.cells.values()))


if __name__ == "__main__":
    main()
