"""Programs of TensorFlow's guides give TensorFlow's numbers."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import gradtape as tf

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE.parent / "data" / "distribute.json").read_text())


def test_two_devices():
    program = HERE / "programs" / "guide.py"
    done = subprocess.run(
        [sys.executable, "-m", "gradtape", "run", str(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("found ")]
    found = json.loads(line.removeprefix("found "))
    assert found.keys() == EXPECTED.keys()
    for name, expected in EXPECTED.items():
        pairs = zip(tf.nest.flatten(found[name]), tf.nest.flatten(expected), strict=True)
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5, err_msg=name)
