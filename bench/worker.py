"""One library in a process of its own: answers the requests of run.py, a JSON line each, until they end.

Started as `python worker.py LIBRARY MODE` by the Python that has the library. The first line it writes names the
versions it found, or says that the library is missing.
"""

import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import traceback
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import workloads
from libraries import MODES, Library

BATCHES = 2  # of runs in one measurement; the best counts
SECONDS = 0.04  # what a batch takes, unless a single run takes longer
FIRST_CALLS = (
    3  # of programs made anew, each compiled by itself; the best counts. A workload may have its own
)
WARM_UP = 80, 5.0  # runs, unless they take so many seconds: after them all is compiled that is worth it
SAMPLES = 200  # elements of each result that are compared between the libraries


def clock(run: Callable[[], object], count: int) -> float:
    start = perf_counter()
    for _ in range(count):
        run()
    return perf_counter() - start


def warm_up(run: Callable[[], object]) -> None:
    count, seconds = WARM_UP
    while count > 0 and seconds > 0:
        seconds -= clock(run, 1)
        count -= 1


def repeats(run: Callable[[], object]) -> int:
    """How many runs fill SECONDS."""
    count = 1
    while (elapsed := clock(run, count)) < SECONDS:
        count *= 2
    return max(1, round(count * SECONDS / elapsed))


def peak_memory() -> int:
    """The most bytes this process has ever held at once."""
    import resource  # not there on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def describe(result: Any) -> dict[str, Any]:
    """The type of a result, the mean size of its elements, and some of them, evenly spread."""
    array = np.asarray(result.detach() if hasattr(result, "detach") else result)
    places = np.linspace(0, array.size - 1, min(array.size, SAMPLES)).astype(int)
    return {
        "dtype": str(array.dtype),
        "shape": array.shape,
        "size": float(abs(array).mean(dtype="float64")),
        "sample": array.ravel()[places].tolist(),
    }


class Worker:
    """A library and the programs made ready in it. The requests are `prepare`, `measure` and `memory`."""

    def __init__(self, library: Library):
        self.library = library
        importlib.import_module(library.module)
        self.module = sys.modules[library.package]
        self.workloads = workloads.load()
        self.ready: dict[str, tuple[Callable[[], object], int]] = {}

    def versions(self) -> dict[str, str]:
        package = self.library.package
        version = getattr(self.module, "__version__", None) or importlib.metadata.version(package)
        return {package: version, "numpy": np.__version__, "python": platform.python_version()}

    def build(self, workload: str, scale: float = 1.0) -> Callable[[], Any]:
        """The workload's program in this library, on inputs multiplied by `scale`, ready to be called."""
        program = self.workloads[workload]
        inputs = program.inputs(np.random.default_rng(0))
        if scale != 1.0:
            inputs = [a * scale if a.dtype.kind == "f" else a for a in inputs]
        step, arguments = getattr(program, self.library.program)(self.module, *inputs)
        step = self.library.prepare(self.module, step)
        if getattr(program, "ALL_ARGUMENTS", False):
            return lambda: [step(*each) for each in arguments][-1]
        return lambda: step(*arguments)

    def prepare(self, workload: str) -> dict[str, Any]:
        """Make the program ready to be measured, and describe what it computes.

        It is described on other inputs than it is timed on: the gradient of document 004 is zero at its own. What takes
        minutes to compile in some library, and has one first call therefore, is compiled once. A small program is run
        before it, which pays for what a library imports with its first program; of three first calls, the first pays.
        """
        if not hasattr(self.workloads[workload], self.library.program):
            return {"absent": True}
        count = getattr(self.workloads[workload], "FIRST_CALLS", FIRST_CALLS)
        if count == 1:
            self.build("regression")()
        runs = [self.build(workload) for _ in range(count)]
        first = min(clock(run, 1) for run in runs)
        check = self.build(workload, scale=1.1) if count > 1 else runs[0]
        results = [describe(result) for result in check()]
        warm_up(runs[-1])
        self.ready[workload] = runs[-1], repeats(runs[-1])
        return {"results": results, "first": first}

    def measure(self, workload: str) -> dict[str, float]:
        """Seconds of one run."""
        run, count = self.ready[workload]
        return {"value": min(clock(run, count) for _ in range(BATCHES)) / count}

    def memory(self, workload: str) -> dict[str, float]:
        """Bytes by which the process grows beyond what it held after the import. Ask in a fresh process."""
        before = peak_memory()
        clock(self.build(workload), 3)
        return {"value": peak_memory() - before}


def serve(package: str, make: Callable[[], Any]) -> None:
    """Answer the requests for a worker that `make` makes, if its package is installed."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints must not end up between the replies

    def reply(content: dict[str, Any]) -> None:
        print(json.dumps(content), file=replies)

    if importlib.util.find_spec(package) is None:
        reply({"missing": True})
        return
    try:
        worker = make()
        reply({"versions": worker.versions()})
    except Exception:
        reply({"error": traceback.format_exc()})
        return
    for line in sys.stdin:
        request, workload = json.loads(line)
        try:
            reply(getattr(worker, request)(workload))
        except Exception:
            reply({"error": traceback.format_exc()})


if __name__ == "__main__":
    library = MODES[sys.argv[2]][sys.argv[1]]
    serve(library.package, lambda: Worker(library))
