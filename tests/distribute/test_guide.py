"""Programs of TensorFlow's guides run unchanged, and give TensorFlow's numbers."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE.parent / "data" / "distribute.json").read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_numbers(name, tmp_path):
    """The numbers of one process; or, of two workers, those of the first."""
    if name.endswith("_loop"):
        pytest.importorskip("keras")
    workers = ["--processes", "2"] if name == "workers_loop" else []
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "gradtape",
            "run",
            *workers,
            str(HERE / "programs" / f"{name}.py"),
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.removeprefix("[0] ").startswith("found ")]
    found = json.loads(line.partition("found ")[2])
    expected = EXPECTED[name]
    tf.nest.assert_same_structure(found, expected)
    for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    if name == "eager_loop":  # outside of a @function one program runs both steps, from the tenth call on
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("runs ")]
        runs = json.loads(line.removeprefix("runs "))
        assert all(counts["one program"] >= 10 for counts in runs.values()), runs
