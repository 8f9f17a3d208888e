"""Makes distribute.json: what TensorFlow's tf.distribute and DTensor compute, in one process and in two.

Run it where TensorFlow is installed: `python tests/data/make_distribute.py`.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
PROGRAMS = FOLDER.parent / "distribute" / "programs"
PORTS = (20301, 20302)


def found(output):
    (line,) = [line for line in output.splitlines() if line.startswith("found ")]
    return json.loads(line.removeprefix("found "))


def started(name, *words, environment=None):
    return subprocess.Popen(
        [sys.executable, str(PROGRAMS / f"{name}.py"), *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )


def by_workers(name, folder):
    """The numbers of the first of two workers."""
    cluster = {"worker": [f"localhost:{port}" for port in PORTS]}
    workers = []
    for index in range(len(PORTS)):
        config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
        workers.append(started(name, folder, environment={"TF_CONFIG": config}))
    outputs = [worker.communicate()[0] for worker in workers]
    return found(outputs[0])


if __name__ == "__main__":
    results = {
        name: found(started(name).communicate()[0])
        for name in ("guide", "mirrored_loop", "dtensor_mlp", "eager_loop")
    }
    with tempfile.TemporaryDirectory() as folder:
        results["workers_loop"] = by_workers("workers_loop", folder)
    lines = [f"{json.dumps(name)}: {json.dumps(result)}" for name, result in results.items()]
    (FOLDER / "distribute.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
