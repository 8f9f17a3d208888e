"""Writes docs/coverage.md: which of the names that real GradientTape programs use gradtape has.

`data/tf_usage.csv` lists the names, how many of 320 public programs use each (`programs`) and how often Keras 3's
TensorFlow backend does (`keras`). Run it after adding an operation; a test sees that the page is up to date.
"""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import Any

import gradtape as tf
import numpy as np

HERE = Path(__file__).parent
AREA = "ops"  # the operations; the other areas come later


def names() -> list[dict[str, Any]]:
    with (HERE / "data" / "tf_usage.csv").open() as file:
        rows = list(csv.DictReader(file))
    return [row | {"programs": int(row["programs"]), "keras": int(row["keras"])} for row in rows]


def find(symbol: str) -> Any:
    """What gradtape has under a dotted name; None if nothing."""
    return functools.reduce(lambda parent, name: getattr(parent, name, None), symbol.split("."), tf)


def is_differentiable(symbol: str) -> str:
    """'yes' if some plain call of the function lets a gradient through, 'no' if calls work and none does, '' if it
    is no function of tensors (a class, a dtype, a setting)."""
    function = find(symbol)
    if not callable(function) or isinstance(function, type):
        return ""
    outcome = ""
    for x, arguments in _calls():
        try:
            with tf.GradientTape() as tape:
                tape.watch(x)
                result = function(*arguments)
            target = [t for t in tf.nest.flatten(result) if isinstance(t, tf.Tensor) and _floating(t)]
            connected = bool(target) and tape.gradient(target, x) is not None
        except Exception:
            continue
        if connected:
            return "yes"
        if any(isinstance(t, tf.Tensor) for t in tf.nest.flatten(result)):
            outcome = "no"
    return outcome


def _floating(t: Any) -> bool:
    return t.dtype.is_floating or t.dtype.is_complex


def _calls() -> list[tuple[Any, tuple[Any, ...]]]:
    """Arguments that suit one function or another: the input that is watched, and the whole list."""
    rng = np.random.default_rng(0)

    def values(*shape: int) -> Any:
        return tf.constant(rng.uniform(0.2, 0.8, shape))

    x, y = values(3, 3), values(3, 3)
    positive = tf.constant(np.eye(3) + 0.1)
    vector, image, images = values(4), values(8, 8, 3), values(1, 16, 16, 3)
    signal, volume, series = values(64), values(1, 4, 4, 4, 2), values(1, 8, 3)
    spectrum = tf.constant(rng.uniform(0.2, 0.8, (4, 8)) + 0.5j)
    ids = tf.constant([0, 1, 1])
    f32 = tf.constant(rng.uniform(0.2, 0.8, (2, 4, 5)).astype(np.float32))
    a = 1
    return [
        (x, (x,)), (x, (x, y)), (x, ([x, y],)), (positive, (positive,)), (positive, (positive, y)), (vector, (vector,)),
        (x, (x, a)), (x, (x, [3, 3])), (x, ([x, y], 0)), (x, (x, 0.1, 0.9)), (x, (x, y, 0)), (x, (x, 1.0)),
        (x, (x, ids)), (x, (x, ids, 3)), (x, (x, [[0, 1], [1, 1]])), (x, (x, [[1, 1], [0, 0]])), (x, (x, x > 0.5)),
        (x, (x, [1, 0], [2, 2])), (x, ("ij->ji", x)), (x, (x > 0.5, x, y)), (x, (vector[:3], 3)), (x, (x, 2)),
        (vector, (vector[0], vector[1], 3)), (vector, ([2, 2], vector[0])), (vector, (x, vector[:3])),
        (vector, ([[0], [1], [2], [3]], vector, [6])), (vector, (vector, [[0]], vector[:1])), (x, (x, [2, 1], 0)),
        (vector, (vector, [0, 1, 0, 1], 2)), (vector, ([[0, 1], [2, 3]], [vector[:2], vector[2:]])),
        (image, (image,)), (image, (image, [4, 4])), (image, (image, 0.5)), (image, (image, 1, 1, 4, 4)), (image, (image, 4, 4)),
        (image, (image, 1, 1, 12, 12)), (image, (image, image * 0.5, 1.0)), (image, (image, 0.5, 1.5)), (image, (image, [4, 4, 3])),
        (images, (images,)), (images, (images, images * 0.9, 1.0)), (images, (images, 2)), (images, (images, 2, 2, "SAME")),
        (images, (images, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")), (images, (images, tf.float32)),
        (images, (images, values(3, 3, 3, 2), 1, "SAME")), (images, (images, values(3, 3, 3, 2), [1, 1, 1, 1], "SAME")),
        (images, (images, values(3, 3, 3, 1), values(1, 1, 3, 2), [1, 1, 1, 1], "SAME")), (images, (images, [0, 1, 2])),
        (images, (images, values(3, 3, 2, 3), [1, 32, 32, 2], [1, 2, 2, 1], "SAME")), (images, (images, [3, 3], "AVG")),
        (images, (images, values(3, 3, 2, 3), [1, 32, 32, 2], 2)), (series, (series, values(3, 3, 2), 1, "SAME")),
        (series, (series, values(3, 2, 3), [1, 16, 2], 2)), (volume, (volume, values(2, 2, 2, 2, 3), [1, 1, 1, 1, 1], "SAME")),
        (volume, (volume, values(2, 2, 2, 3, 2), [1, 8, 8, 8, 3], [1, 2, 2, 2, 1])), (signal, (signal, 16, 8)), (signal, (signal, 16)),
        (spectrum, (spectrum,)), (spectrum, (spectrum, 14, 7)), (x, (x, values(3), values(3), values(3), values(3), 1e-3)),
        (x, (x, 1.0, y)), (vector, ([3], vector[0])), (vector, ([3], [1, 2], vector[0])), (vector, (vector[:1], vector[:1], [1], vector)),
        (f32, ([[1, 2], [1, 1]], tf.transpose(f32, (1, 0, 2)), [2, 2], [4, 4])), (f32, (f32, [4, 4])), (x, (lambda: x, [x])),
        (x, (x, values(3), tf.constant([[0], [1], [2]]), x, 2, 3)), (x, (lambda v: v * v, x)), (x, ([x], "check")), (x, (x, "check")),
        (x, (x, 0.5, [1, 2])), (vector, ([vector[0] > 0.5], [vector[:1]], vector[0])), (x, ([x],)), (x, ((x, x), )),
    ]  # fmt: skip


def page() -> str:
    """The whole of docs/coverage.md."""
    rows = [row for row in names() if row["area"] == AREA]
    present = [row for row in rows if find(row["symbol"]) is not None or row["symbol"] == "newaxis"]
    uses = sum(row["programs"] for row in rows)
    lines = [
        "# Coverage",
        "",
        "The public names of TensorFlow that 320 programs with a GradientTape, and Keras 3's TensorFlow backend, use in "
        f"area `{AREA}`.",
        "This page is generated: `python docs/make_coverage.py`.",
        "",
        f"**{len(present)} of {len(rows)} names are here; weighted by the programs that use them, "
        f"{100 * sum(row['programs'] for row in present) / uses:.1f} %.**",
        "",
        "| name | programs | Keras | here | differentiable |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        here = "yes" if row in present else "no"
        differentiable = is_differentiable(row["symbol"]) if row in present else ""
        lines.append(
            f"| `{row['symbol']}` | {row['programs']} | {row['keras']} | {here} | {differentiable} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (HERE / "coverage.md").write_text(page())
