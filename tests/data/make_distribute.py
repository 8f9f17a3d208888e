"""Makes distribute.json: what TensorFlow's tf.distribute computes on two virtual CPUs.

Run it where TensorFlow is installed: `python tests/data/make_distribute.py`.
"""

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PROGRAM = FOLDER.parent / "distribute" / "programs" / "guide.py"

if __name__ == "__main__":
    done = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("found ")]
    text = json.dumps(json.loads(line.removeprefix("found ")), indent=1)
    (FOLDER / "distribute.json").write_text(text + "\n")
