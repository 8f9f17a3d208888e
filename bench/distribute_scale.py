"""How the cost of a step grows with replicas, processes, parameters and rows; gradtape and TensorFlow in one run.

    python bench/distribute_scale.py [--peer PYTHON_WITH_TENSORFLOW] [--rounds 40] [--repeats 2] [--only devices,bytes]

Prints tables. Numbers are processor time of `bench/distribute_step.py`, the best of all rounds and repeats; libraries
take turns. The cores do the work of all devices, so work per device is held constant, and what is shown for one replica
is its share of the step, over the step without a strategy in the same process: 1 is no overhead.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

STEP = Path(__file__).parent / "distribute_step.py"
SIZES = {"pred": 1, "s8": 1, "u8": 1, "f16": 2, "bf16": 2, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "f64": 8}


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--only", default="devices,processes,parameters,rows,bytes")
    return parser.parse_args()


OPTIONS = parsed()
LIBRARIES = ["gradtape", *(["TensorFlow"] if OPTIONS.peer else [])]


def start(library, words, environment=None):
    command = [sys.executable, "-m", "gradtape", "run"] if library == "gradtape" else [OPTIONS.peer]
    return subprocess.Popen(
        [*command, str(STEP), *words, "--rounds", str(OPTIONS.rounds)],
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def times(process):
    """Processor times in ms, by the name of the step."""
    output, _ = process.communicate()
    lines = [line for line in output.splitlines() if line.startswith("best ")]
    if process.returncode or not lines:
        raise SystemExit(f"{process.args} has failed:\n{output}")
    return {name: processor for name, (_, processor) in json.loads(lines[0].removeprefix("best ")).items()}


def mirrored(library, count, *words):
    """A step without a strategy, and one of so many replicas."""
    found = times(start(library, ["--replicas", f"0,{count}", *words]))
    return found["0"], found[str(count)] / count


def workers(library, count, *words):
    """A step without a strategy, and one of so many processes: the mean of all processes."""
    from gradtape.distribute.presence import free_ports

    addresses = [f"127.0.0.1:{port}" for port in free_ports(count)]
    processes = []
    for index in range(count):
        config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        processes.append(start(library, ["--workers", *words], {"TF_CONFIG": json.dumps(config)}))
    found = [times(process) for process in processes]
    return sum(f["0"] for f in found) / count, sum(f["workers"] for f in found) / count


def best(measure, *arguments):
    """For each library the best time without a strategy, and for one replica."""
    rows = {library: [] for library in LIBRARIES}
    for _ in range(OPTIONS.repeats):
        for library in LIBRARIES:
            rows[library].append(measure(library, *arguments))
    return {library: [min(column) for column in zip(*found)] for library, found in rows.items()}


def table(head, cases, measure):
    """One row for each case: its name, and the arguments of `measure`."""
    columns = [
        f"{library}, {what}"
        for library in LIBRARIES
        for what in ("no strategy, ms", "one replica, ms", "ratio")
    ]
    print(f"\n| {head} | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for name, *arguments in cases:
        found = best(measure, *arguments)
        cells = [f"{plain:.2f} | {one:.2f} | {one / plain:.2f}" for plain, one in found.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def reduced_bytes(count, width):
    """The bytes of all results of all-reduce in the programs that XLA has compiled for a step."""
    with tempfile.TemporaryDirectory() as folder:
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={folder} --xla_dump_hlo_as_text"
        words = ["--replicas", str(count), "--width", str(width)]
        times(start("gradtape", words, {"XLA_FLAGS": flags}))
        total = 0
        for path in Path(folder).glob("*cpu_after_optimizations.txt"):
            for result in re.findall(r"= (\S.*?) all-reduce(?:-start)?\(", path.read_text()):
                for kind, lengths in re.findall(r"(\w+)\[([\d,]*)\]", result):
                    size = SIZES[kind]
                    for length in filter(None, lengths.split(",")):
                        size *= int(length)
                    total += size
        return total


def main():
    only = OPTIONS.only.split(",")
    if "devices" in only:
        table("replicas", [(n, n) for n in (1, 2, 4, 8)], mirrored)
    if "processes" in only:
        table("processes", [(n, n) for n in (1, 2, 4)], workers)
    if "parameters" in only:
        widths = (64, 128, 256, 512, 1024)
        table("parameters, 4 replicas", [(3 * w * w, 4, "--width", str(w)) for w in widths], mirrored)
    if "rows" in only:
        table("rows a replica, 4 replicas", [(n, 4, "--rows", str(n)) for n in (8, 64, 512, 2048)], mirrored)
    if "bytes" in only:
        print("\n| replicas, parameters | bytes all-reduced | gradients, once | more |\n|---|---|---|---|")
        for count, width in ((2, 64), (8, 64), (4, 256)):
            found, least = reduced_bytes(count, width), 3 * width * width * 4
            print(f"| {count}, {3 * width * width} | {found} | {least} | {found - least} |", flush=True)


main()
