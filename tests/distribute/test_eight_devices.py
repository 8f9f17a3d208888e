"""The tests in eight_devices/, each file in a process whose CPU is eight: JAX counts devices when it starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parent / "eight_devices").glob("test_*.py"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_on_eight_devices(path):
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", str(path)]
    environment = {**os.environ, "GRADTAPE_DEVICES": "8"}
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-5000:]
