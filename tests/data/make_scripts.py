"""Write src/gradtape/ops/strings/scripts.txt with the real TensorFlow: the script of each character, by ICU's numbers.

A line is the first code, in hexadecimal, of characters of one script, and its number; -1 is for codes of no character.

python tests/data/make_scripts.py        # in an environment with tensorflow-cpu
"""

from pathlib import Path

import numpy as np

PATH = Path(__file__).parents[2] / "src" / "gradtape" / "ops" / "strings" / "scripts.txt"

if __name__ == "__main__":
    import tensorflow as tf

    scripts = tf.strings.unicode_script(np.arange(0x110000, dtype=np.int32)).numpy()
    starts = np.flatnonzero(np.diff(scripts, prepend=-2))
    PATH.write_text("".join(f"{start:x} {scripts[start]}\n" for start in starts))
