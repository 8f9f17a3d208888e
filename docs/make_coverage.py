"""Write docs/coverage.md: which of the names that real GradientTape programs use gradtape has.

`data/tf_usage.csv` lists the names, how many of 320 public programs use each (`programs`) and how often Keras 3's
TensorFlow backend does (`keras`). Run this after adding an operation; a test checks that the page is up to date.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gradtape as tf
from gradtape.compat.internal_namespace import internal

HERE = Path(__file__).parent
AREAS = {  # those of tf_usage.csv, and their titles
    "ops": "operations",
    "function": "functions",
    "data": "datasets",
    "train": "training",
    "keras": "Keras",
    "distribute": "many devices and machines",
    "later": "files, records, saved models, summaries, sparse and ragged tensors, and others",
}
SETTINGS = ("config.", "random.set_seed")  # calling these would change something


def names() -> list[dict[str, Any]]:
    with (HERE / "data" / "tf_usage.csv").open() as file:
        rows = list(csv.DictReader(file))
    return [row | {"programs": int(row["programs"]), "keras": int(row["keras"])} for row in rows]


def find(symbol: str) -> Any:
    """Return the object that gradtape has under a dotted name, or None."""
    if symbol.startswith(
        "__internal__."
    ):  # what Keras calls; there where gradtape is the module `tensorflow`
        return functools.reduce(
            lambda parent, name: getattr(parent, name, None), symbol.split(".")[1:], internal()
        )
    return functools.reduce(lambda parent, name: getattr(parent, name, None), symbol.split("."), tf)


def is_differentiable(symbol: str) -> str:
    """Return whether a gradient passes through a function, by calling it with the arguments in `CALLS`.

    'yes' if it passes in some call, 'no' if calls work and it passes in none, '' if the name is not a function of
    tensors (a class, a dtype, a setting).
    """
    function = find(symbol)
    if symbol.startswith(SETTINGS) or not callable(function) or isinstance(function, type):
        return ""
    outcome = ""
    for x, arguments in CALLS:
        try:
            with tf.GradientTape() as tape:
                tape.watch(x)
                result = function(*arguments())
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


def _calls() -> list[tuple[Any, Callable[[], tuple[Any, ...]]]]:
    """Candidate arguments: the input to watch, and a function that makes the arguments under the tape."""
    rng = np.random.default_rng(0)

    def values(*shape: int) -> Any:
        return tf.constant(rng.uniform(0.2, 0.8, shape))

    x, y = values(3, 3), values(3, 3)
    positive = tf.constant(np.eye(3) + 0.1)
    vector, image, images = values(4), values(8, 8, 3), values(1, 16, 16, 3)
    signal, volume, series = values(64), values(1, 4, 4, 4, 2), values(1, 8, 3)
    spectrum = tf.constant(rng.uniform(0.2, 0.8, (4, 8)) + 0.5j)
    ids, depth = tf.constant([0, 1, 1]), values(1, 2, 2, 4)
    f32 = tf.constant(rng.uniform(0.2, 0.8, (2, 4, 5)).astype(np.float32))
    a = 1
    return [
        (x, lambda: (x,)), (x, lambda: (x, y)), (x, lambda: ([x, y],)), (positive, lambda: (positive,)),
        (positive, lambda: (positive, y)), (vector, lambda: (vector,)), (x, lambda: (x, a)),
        (x, lambda: (x, [3, 3])), (x, lambda: ([x, y], 0)), (x, lambda: (x, 0.1, 0.9)),
        (x, lambda: (x, y, 0)), (x, lambda: (x, 1.0)), (x, lambda: (x, ids)), (x, lambda: (x, ids, 3)),
        (x, lambda: (x, [[0, 1], [1, 1]])), (x, lambda: (x, [[1, 1], [0, 0]])), (x, lambda: (x, x > 0.5)),
        (x, lambda: (x, [1, 0], [2, 2])), (x, lambda: ("ij->ji", x)), (x, lambda: (x > 0.5, x, y)),
        (x, lambda: (vector[:3], 3)), (x, lambda: (x, 2)), (vector, lambda: (vector[0], vector[1], 3)),
        (vector, lambda: ([2, 2], vector[0])), (vector, lambda: (x, vector[:3])),
        (vector, lambda: ([[0], [1], [2], [3]], vector, [6])),
        (vector, lambda: (vector, [[0]], vector[:1])), (x, lambda: (x, [2, 1], 0)),
        (vector, lambda: (vector, [0, 1, 0, 1], 2)),
        (vector, lambda: ([[0, 1], [2, 3]], [vector[:2], vector[2:]])), (image, lambda: (image,)),
        (image, lambda: (image, [4, 4])), (image, lambda: (image, 0.5)),
        (image, lambda: (image, 1, 1, 4, 4)), (image, lambda: (image, 4, 4)),
        (image, lambda: (image, 1, 1, 12, 12)), (image, lambda: (image, image * 0.5, 1.0)),
        (image, lambda: (image, 0.5, 1.5)), (image, lambda: (image, [4, 4, 3])),
        (images, lambda: (images,)), (images, lambda: (images, images * 0.9, 1.0)),
        (images, lambda: (images, 2)), (images, lambda: (images, 2, 2, "SAME")),
        (images, lambda: (images, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")),
        (images, lambda: (images, tf.float32)), (images, lambda: (images, values(3, 3, 3, 2), 1, "SAME")),
        (images, lambda: (images, values(3, 3, 3, 2), [1, 1, 1, 1], "SAME")),
        (images, lambda: (images, values(3, 3, 3, 1), values(1, 1, 3, 2), [1, 1, 1, 1], "SAME")),
        (images, lambda: (images, [0, 1, 2])),
        (images, lambda: (images, values(3, 3, 2, 3), [1, 32, 32, 2], [1, 2, 2, 1], "SAME")),
        (images, lambda: (images, [3, 3], "AVG")),
        (images, lambda: (images, values(3, 3, 2, 3), [1, 32, 32, 2], 2)),
        (series, lambda: (series, values(3, 3, 2), 1, "SAME")),
        (series, lambda: (series, values(3, 2, 3), [1, 16, 2], 2)),
        (volume, lambda: (volume, values(2, 2, 2, 2, 3), [1, 1, 1, 1, 1], "SAME")),
        (volume, lambda: (volume, values(2, 2, 2, 3, 2), [1, 8, 8, 8, 3], [1, 2, 2, 2, 1])),
        (signal, lambda: (signal, 16, 8)), (signal, lambda: (signal, 16)), (spectrum, lambda: (spectrum,)),
        (spectrum, lambda: (spectrum, 14, 7)),
        (x, lambda: (x, values(3), values(3), values(3), values(3), 1e-3)), (x, lambda: (x, 1.0, y)),
        (vector, lambda: ([3], vector[0])), (vector, lambda: ([3], [1, 2], vector[0])),
        (vector, lambda: (vector[:1], vector[:1], [1], vector)),
        (f32, lambda: ([[1, 2], [1, 1]], tf.transpose(f32, (1, 0, 2)), [2, 2], [4, 4])),
        (f32, lambda: (f32, [4, 4])), (x, lambda: (lambda: x, [x])),
        (x, lambda: (x, values(3), tf.constant([[0], [1], [2]]), x, 2, 3)),
        (x, lambda: (lambda v: v * v, x)), (x, lambda: ([x], "check")), (x, lambda: (x, "check")),
        (x, lambda: (x, 0.5, [1, 2])), (vector, lambda: ([vector[0] > 0.5], [vector[:1]], vector[0])),
        (x, lambda: ([x],)), (x, lambda: ((x, x), )), (x, lambda: (ids, x)),
        (x, lambda: (x, [1, 2, 3], 1, 0)), (depth, lambda: (depth, 2)), (x, lambda: (2, 3)),
        (f32, lambda: ([3], f32[0, 0, 0])), (f32, lambda: ([3], [1, 2], f32[0, 0, 0])),
        (f32, lambda: ([3], [1, 2], f32[0, 0, 0], f32[0, 0, 1])),
    ]  # fmt: skip


CALLS = _calls()


def is_there(row: dict[str, Any]) -> bool:
    return row["symbol"] == "newaxis" or find(row["symbol"]) is not None  # newaxis is None


def share(rows: list[dict[str, Any]], there: Callable[[dict[str, Any]], bool]) -> str:
    """How many of the names there are, and the share by the programs that use them: a row of the first table."""
    uses = sum(row["programs"] for row in rows)
    found = [row for row in rows if there(row)]
    by_programs = f"{100 * sum(row['programs'] for row in found) / uses:.1f} %" if uses else ""
    return f"{len(found)} of {len(rows)} | {by_programs}"


def page() -> str:
    """Return the text of docs/coverage.md."""
    rows = names()
    present = {row["symbol"] for row in rows if is_there(row)}
    lines = [
        "# Coverage",
        "",
        "The names of TensorFlow that 320 programs with a GradientTape, or Keras 3's TensorFlow backend, use: the",
        "number of programs that use a name, its uses in the backend, whether gradtape has it, and for operations",
        "whether a gradient passes. Names of `keras` are those of Keras itself, which runs on gradtape.",
        "This page is generated by `python docs/make_coverage.py`.",
        "",
        "| area | names | weighted by the programs that use them |",
        "|---|---|---|",
        *(
            f"| {title} | {share([r for r in rows if r['area'] == area], lambda r: r['symbol'] in present)} |"
            for area, title in AREAS.items()
        ),
        f"| all | {share(rows, lambda r: r['symbol'] in present)} |",
    ]
    for area, title in AREAS.items():
        last = " differentiable |" if area == "ops" else ""
        lines += [
            "",
            f"## {title[0].upper()}{title[1:]}",
            "",
            f"| name | programs | Keras | in gradtape |{last}",
        ]
        lines.append("|---|---|---|---|" + ("---|" if last else ""))
        for row in (row for row in rows if row["area"] == area):
            here = row["symbol"] in present
            line = f"| `{row['symbol']}` | {row['programs']} | {row['keras']} | {'yes' if here else 'no'} |"
            if last:
                line += f" {is_differentiable(row['symbol']) if here else ''} |"
            lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (HERE / "coverage.md").write_text(page())
