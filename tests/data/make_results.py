"""Write results.json with the real TensorFlow: the value of each expression of expressions.txt, and its gradients.

A line has one expression, or several with ; between them.

python tests/data/make_results.py [group ...]        # in an environment with tensorflow-cpu
"""

import json
import re
import sys
from pathlib import Path

import numpy as np

# The names in the expressions; those in GRADIENTS are watched.
NAMES = {
    "n": "tf.experimental.numpy",
    "np": "__import__('numpy')",
    "x": "tf.constant([[0.5, -1.25, 2.0], [1.5, 0.75, -0.25]], tf.float64)",
    "y": "tf.constant([0.5, 1.5, 2.5], tf.float64)",
    "f": "tf.constant([0.25, 0.5, -0.75, 0.9])",
    "q": "tf.constant([[4.0, 1.0, 0.5], [1.0, 3.0, -0.25], [0.5, -0.25, 2.0]], tf.float64)",
    "i": "tf.constant([[3, 1, 2], [6, 5, 4]])",
    "b": "tf.constant([True, False, True])",
    "c": "tf.constant([1.0 + 2.0j, -0.5j], tf.complex128)",
}
GRADIENTS = ("x", "y", "f", "q")

GROUPS = {
    group: [part.strip() for part in re.split(r";|\n", text) if part.strip()]
    for group, text in re.findall(
        r"^\[(\w+)\]\n(.*?)(?=^\[|\Z)", Path(__file__).with_name("expressions.txt").read_text(), re.M | re.S
    )
}


def leaves(tf, value):
    """The tensors of a result, in order."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(tf, value[key])]
    if isinstance(value, (tuple, list)) and not isinstance(value, tf.TensorShape):
        return [leaf for one in value for leaf in leaves(tf, one)]
    return [value]


def plain(tf, value):
    """One result as JSON: dtype, shape and elements; complex numbers as pairs."""
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    kind = "string" if array.dtype.kind in "OSU" else array.dtype.name
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    elements = [e.decode("latin-1") if isinstance(e, bytes) else e for e in array.ravel().tolist()]
    return [kind, list(np.shape(value)), elements]


def watched(text):
    """The watched names that an expression uses."""
    return [name for name in GRADIENTS if re.search(rf"(?<![\w.'\"]){name}(?![\w'\"(])", text)]


def outcome(tf, text, compiled=False):
    """The results of an expression, and the gradient of a weighted sum of them with respect to each watched name."""
    scope = {"tf": tf}
    for name, made in NAMES.items():
        scope[name] = eval(made, scope)
    names = watched(text)

    def compute(*inputs):
        with tf.GradientTape() as tape:
            for one in inputs:
                tape.watch(one)
            found = eval(text, {**scope, **dict(zip(names, inputs))})
            total = tf.constant(0.0, tf.float64)
            for leaf in leaves(tf, found):
                if (
                    hasattr(leaf, "dtype")
                    and getattr(tf.as_dtype(leaf.dtype), "is_floating", False)
                    and hasattr(leaf, "ndim")
                ):
                    wide = tf.reshape(tf.cast(leaf, tf.float64), [-1])
                    total += tf.reduce_sum(
                        wide * tf.cos(tf.range(tf.cast(tf.size(wide), tf.float64), dtype=tf.float64))
                    )
        return leaves(tf, found), tape.gradient(total, list(inputs))

    if compiled:
        compute = tf.function(compute)
    found, gradients = compute(*(scope[name] for name in names))
    slopes = {n: None if g is None else plain(tf, tf.convert_to_tensor(g)) for n, g in zip(names, gradients)}
    return {"values": [plain(tf, leaf) for leaf in found], "gradients": slopes}


def main():
    import tensorflow as tf

    path = Path(__file__).with_name("results.json")
    known = json.loads(path.read_text()) if path.exists() else {}
    for group in sys.argv[1:] or GROUPS:
        known[group] = {}
        for text in GROUPS[group]:
            try:
                known[group][text] = outcome(tf, text)
            except Exception as error:
                print(f"{group}: {text}: {type(error).__name__}: {str(error)[:200]}")
    lines = [
        f"{json.dumps(g)}: {{\n"
        + ",\n".join(f"{json.dumps(t)}: {json.dumps(r)}" for t, r in rs.items())
        + "\n}"
        for g, rs in known.items()
    ]
    path.write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
