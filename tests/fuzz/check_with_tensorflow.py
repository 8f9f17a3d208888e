"""Proves that the programs of `sources` mean what we take them to mean, with the real TensorFlow. Run by hand:

    .venv/bin/python -m tests.fuzz.check_with_tensorflow --python PYTHON_WITH_TENSORFLOW FIRST LAST

For each seed, TensorFlow compiled must agree with TensorFlow eager, and gradtape eager with TensorFlow eager. Programs
that TensorFlow cannot compile are counted by the reason; those marked `beyond` are expected to be among them.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import warnings
from collections import defaultdict
from typing import Any

from .observe import Seen, agree, difference, inconsistency, kind, observe
from .sources import write

# Programs that are right and that TensorFlow 2.21 fails to compile or to run, by words of its error.
OWN_FAILURES = {
    "unsupported dtype 10": "the second gradient of a choice adds up truth values",
    "KeyError: b'pyfunc_": "the gradient of py_function in a loop",
}


def work(first: int, last: int) -> None:
    """In the other Python: what TensorFlow shows, as pickles on stdout."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    for seed in range(first, last):
        source = write(seed)
        shown: list[Any] = []
        for compiled in (False, True):
            try:
                shown.append(observe(tf, source, compiled=compiled))
            except Exception as error:
                shown.append(f"{type(error).__name__}: {error}")
        pickle.dump((seed, *shown), sys.stdout.buffer)
        sys.stdout.buffer.flush()


def across(eager: Seen, theirs: Seen) -> str:
    """How gradtape's eager execution differs from TensorFlow's."""
    for name, wanted in theirs.items():
        if not agree(eager[name], wanted) or (eager[name] is None) != (wanted is None):
            return f"{name}: {eager[name]}, TensorFlow {wanted}"
    return ""


def verdict(seed: int, eager: Seen | str, compiled: Seen | str) -> tuple[str, str]:
    """What is to be said of a program, if anything: under which heading, and in detail."""
    import gradtape as tf

    source = write(seed)
    try:
        ours: Seen | str = observe(tf, source, compiled=False)
    except Exception as error:
        ours = f"{type(error).__name__}: {error}"
    if isinstance(eager, str):
        return f"TensorFlow does not run it: {kind(eager)}", eager
    if isinstance(ours, str):
        return f"gradtape does not run it: {kind(ours)}", ours
    report = inconsistency(source, ours, "eager") if source.degree else across(ours, eager)
    if report:
        return f"gradtape is not TensorFlow eagerly: {kind(report)}", report
    if isinstance(compiled, str):
        known = [why for words, why in OWN_FAILURES.items() if words in compiled]
        if source.beyond or known:
            return f"expected refusal: {known[0] if known else 'beyond'}", ""
        return f"TensorFlow does not compile it: {kind(compiled)}", compiled
    report = difference(source, eager, compiled)
    if report and not source.beyond:
        return f"TensorFlow compiled is not TensorFlow eagerly: {kind(report)}", report
    return "", ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", help="a Python that has TensorFlow")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    options = parser.parse_args()
    if options.worker:
        work(options.first, options.last)
        return
    warnings.simplefilter("ignore")
    command = [options.python, "-m", "tests.fuzz.check_with_tensorflow", "--worker"]
    process = subprocess.Popen(
        [*command, str(options.first), str(options.last)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    said = defaultdict(list)
    for _ in range(options.first, options.last):
        seed, eager, compiled = pickle.load(process.stdout)  # type: ignore[arg-type]
        heading, report = verdict(seed, eager, compiled)
        if heading:
            said[heading].append((seed, report))
    process.wait()
    for heading, reports in sorted(said.items(), key=lambda item: -len(item[1])):
        print(f"{len(reports):5} {heading}: seeds {[seed for seed, _ in reports[:10]]}")
        if reports[0][1]:
            print("      " + reports[0][1][:800].replace("\n", "\n      "))
    wrong = sum(len(reports) for heading, reports in said.items() if not heading.startswith("expected"))
    print(f"{options.last - options.first} programs, {wrong} to look at")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
