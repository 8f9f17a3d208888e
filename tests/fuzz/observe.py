"""Runs a program of `sources`, eagerly or compiled, and says what can be seen of it; compares; makes a failure small.

Works with TensorFlow as with gradtape: `tf` is either.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import itertools
import linecache
import operator
import os
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .sources import Source

CALLS = 2  # of one compiled program, with other inputs, so that other branches are taken
TOLERANCE = 2e-4  # relative to the largest element; float32, a few loops long
SEED = 7  # of Python's and NumPy's global generators, at each call
WEIGHTS = np.float32([1.0, -0.6, 0.4])

Seen = dict[str, Any]  # a name for each thing that was seen


def arguments(seed: int, call: int) -> tuple[np.ndarray, ...]:
    """x, w, xs and n of a call."""
    rng = np.random.default_rng((seed, call))
    x, w, xs = (rng.uniform(-1.5, 1.5, shape).astype(np.float32) for shape in [3, 3, (3, 3)])
    return x, w, xs, np.int32(2 + (seed + call) % 2)


def load(tf: Any, source: Source) -> dict[str, Any]:
    """Execute the script. AutoGraph finds its text by `linecache`."""
    name = f"<program {source.seed}>"
    linecache.cache[name] = (len(source.text), None, source.text.splitlines(keepends=True), name)
    spec = tf.float32 if tf.__name__ == "tensorflow" else tf.TensorSpec([3], tf.float32)
    names = {"tf": tf, "np": np, "random": random, "vector": spec, "__name__": "random_program"}
    exec(compile(source.text, name, "exec"), names)
    return names


def observe(tf: Any, source: Source, *, compiled: bool) -> Seen:
    """Call the program a few times, and look at everything."""
    seen: Seen = {}
    names: dict[str, Any] = {}
    tf.config.run_functions_eagerly(not compiled)
    try:
        for call in range(CALLS):
            before = names
            if not (compiled and names):  # each eager call begins with new Python state, as tracing did
                names = load(tf, source)
                carry_variables(before, names)
            for name, value in observe_call(tf, source, names, call).items():
                seen[f"call {call + 1}: {name}"] = value
    finally:
        tf.config.run_functions_eagerly(False)
        names.clear()  # the program's functions refer to it, and it to them
    return seen


def carry_variables(before: dict[str, Any], names: dict[str, Any]) -> None:
    if before:
        for name in ("v", "u"):
            names[name].assign(before[name])
        if "gen" in names:
            names["gen"].state.assign(before["gen"].state)


def observe_call(tf: Any, source: Source, names: dict[str, Any], call: int) -> Seen:
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002 (programs draw from it, as people do)
    places = [name for name in names if name.startswith("source")]
    drawn = {name: draws(names[name]) for name in places}
    called = len(names.get("calls", ()))
    tensors = [tf.constant(a) for a in arguments(source.seed, call)]
    seen = differentiate(tf, source, names, tensors)
    for name in ("v", "u"):
        seen[f"variable {name}"] = names[name].numpy()
    if "gen" in names:
        seen["state of the generator"] = np.asarray(names["gen"].state)
    if "calls" in names:
        seen["host calls"] = len(names["calls"]) - called
    for name in places:
        seen[f"draws from {name}"] = draws(names[name]) - drawn[name]
    seen["draws from np.random"] = position(np.random.mtrand._rand, np.random.RandomState(SEED))
    seen["draws from random"] = position(random._inst, random.Random(SEED))  # type: ignore[attr-defined]
    return seen


def differentiate(tf: Any, source: Source, names: dict[str, Any], tensors: list[Any]) -> Seen:
    x, w, xs, n = tensors
    sources = {"x": x, "w": w, "xs": xs, "v": names["v"], "u": names["u"]}
    seen: Seen = {}
    with contextlib.ExitStack() as stack:
        outer = stack.enter_context(tf.GradientTape()) if source.order == 2 else None
        if outer is not None:
            outer.watch([x, w, xs])
        with tf.GradientTape(persistent=source.persistent or source.jacobian) as tape:
            tape.watch([x, w, xs])
            ys = tf.nest.flatten(names["program"](x, w, xs, n))
            loss = tf.add_n([tf.reduce_sum(y * WEIGHTS) * (k + 1.0) for k, y in enumerate(ys)])
        first = tape.gradient(loss, sources)
        if outer is not None:
            along = tf.add_n([tf.reduce_sum(g * g) for g in first.values() if g is not None])
    seen["result"] = np.stack([y.numpy() for y in ys]) if len(ys) > 1 else ys[0].numpy()
    seen.update({f"gradient by {k}": array(tf, g) for k, g in first.items()})
    if source.persistent:
        seen.update({f"gradient again by {k}": array(tf, g) for k, g in tape.gradient(ys, sources).items()})
    if source.jacobian:
        seen["jacobian by x"] = array(tf, tape.jacobian(ys[-1], x, experimental_use_pfor=False))
    if outer is not None:
        second = outer.gradient(along, sources)
        seen.update({f"second gradient by {k}": array(tf, g) for k, g in second.items()})
    return seen


def array(tf: Any, gradient: Any) -> np.ndarray | None:
    return None if gradient is None else tf.convert_to_tensor(gradient).numpy()


def draws(source: Any) -> int:
    """How many numbers were taken."""
    if isinstance(source, np.random.Generator):
        return position(source, np.random.default_rng(5))
    if isinstance(source, random.Random):
        return position(source, random.Random(5))
    return 4 - operator.length_hint(source)


def position(used: Any, fresh: Any) -> int:
    """How many draws the one is ahead of the other."""
    draw = operator.methodcaller("random")
    following = draw(copy.deepcopy(used))
    for count in range(1000):
        if draw(copy.deepcopy(fresh)) == following:
            return count
        draw(fresh)
    return -1


# ---------------------------------------------------------------------------------------------------------------------
# Comparing


# The program of a hot pass traces the functions that the pass calls once more: docs/hot-tapes.md.
TRACED_AGAIN = os.environ.get("GRADTAPE_HOT") == "always"


def difference(source: Source, eager: Seen, compiled: Seen) -> str:
    """The first difference, as a sentence; empty if there is none."""
    if source.degree:
        return inconsistency(source, eager, "eager") or inconsistency(source, compiled, "compiled")
    for name, wanted in eager.items():
        got = compiled[name]
        if "draws from" in name:
            if not TRACED_AGAIN and not draws_agree(name, got, eager, compiled):
                return f"{name}: {got}, eagerly {wanted}"
        elif not agree(got, wanted):
            return f"{name}: {got}, eagerly {wanted}"
    return ""


def agree(got: Any, wanted: Any) -> bool:
    if wanted is None:  # a branch not taken may connect what is not connected eagerly
        return got is None or not np.any(got)
    if got is None or np.shape(got) != np.shape(wanted):
        return False
    scale = max(1.0, float(np.abs(wanted).max(initial=0)))
    return bool(np.all(np.abs(np.subtract(got, wanted)) <= TOLERANCE * scale))


def draws_agree(name: str, got: int, eager: Seen, compiled: Seen) -> bool:
    """Tracing draws once at each place, also in branches that eager execution does not take; later calls do not."""
    if not name.startswith("call 1"):
        return got == 0
    return got == eager[name] or (eager[name] == 0 and got == 1)


def inconsistency(source: Source, seen: Seen, how: str) -> str:
    """Euler's theorem, elementwise: x dy/dx = degree y, and once more for the gradient."""
    for call in range(CALLS):
        at = f"call {call + 1}: "
        x = arguments(source.seed, call)[0]
        y = seen[f"{at}result"] * WEIGHTS
        by_x = seen[f"{at}gradient by x"]
        pairs = [("gradient", by_x, source.degree * y)]
        if source.persistent:
            pairs.append(
                ("gradient again", seen[f"{at}gradient again by x"], source.degree * seen[f"{at}result"])
            )
        if source.order == 2 and by_x is not None:
            second = seen[f"{at}second gradient by x"]
            pairs.append(("second gradient", second, 2 * (source.degree - 1) * by_x * by_x))
        for name, g, wanted in pairs:
            times_x = np.zeros(3) if g is None else g * x
            if not agree(times_x, wanted):
                return f"{at}{name} by x: {how} {g}, but the result {y / WEIGHTS} and x {x} give {wanted / x}"
    return ""


def failure(tf: Any, source: Source) -> str:
    """What is wrong with the program compiled; empty if nothing is. It must run eagerly."""
    eager = observe(tf, source, compiled=False)
    if not all(np.all(np.abs(np.float64(v)) < 1e4) for v in eager.values() if v is not None):
        return ""  # float32 has too few digits for what grows so
    try:
        compiled = observe(tf, source, compiled=True)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return difference(source, eager, compiled)


def kind(report: str) -> str:
    """What two failures have in common if they are likely one: what is compared, or the error without its numbers."""
    seen = re.match(r"call \d: (.*?) ?(by \w+)?:", report)
    if seen:
        return re.sub(r"source\d+", "a source", seen[1])
    return re.sub(r"\d+", "#", report.splitlines()[0])[:90]


# ---------------------------------------------------------------------------------------------------------------------
# Making a failure small


def shrink(source: Source, fails: Callable[[Source], bool], attempts: int = 300) -> Source:
    """Leave out statements and parts of expressions as long as the program fails."""

    def still(candidate: Source) -> bool:
        with contextlib.suppress(Exception):  # it must run eagerly
            return fails(candidate)
        return False

    for change in ({"persistent": False}, {"jacobian": False}, {"order": 1}):
        candidate = replace(source, **change)  # type: ignore[arg-type]
        if candidate != source and still(candidate):
            source = candidate
    progress = True
    while progress:
        progress, number = False, 0
        while (text := edited(source, number)) is not None and attempts:
            attempts -= 1
            candidate = replace(source, text=text)
            if text != source.text and still(candidate):
                source, progress = candidate, True
            else:
                number += 1
    return source


def edited(source: Source, number: int) -> str | None:
    """The program with one thing less, the larger things first; None after the last."""
    tree = ast.parse(source.text)
    edit = next(itertools.islice(edits(tree, source.degree > 0), number, None), None)
    if edit is None:
        return None
    edit()
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def edits(tree: ast.Module, homogeneous: bool) -> Iterator[Callable[[], None]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                for i in reversed(range(len(block))):
                    yield from statement_edits(block, i, required=field == "body")
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign):
            continue
        for field, child in ast.iter_fields(node):
            if isinstance(child, ast.expr) and not (isinstance(node, ast.While) and field == "test"):
                for part in terms(child) if homogeneous else parts(child):
                    yield lambda node=node, field=field, part=part: setattr(node, field, part)


def statement_edits(block: list[ast.stmt], i: int, *, required: bool) -> Iterator[Callable[[], None]]:
    statement = block[i]
    if isinstance(statement, ast.FunctionDef) and statement.name == "program":
        return
    counts = isinstance(statement, ast.AugAssign)  # without it a `while` would never end
    if (len(block) > 1 or not required) and not counts:
        yield lambda: block.__delitem__(i)
    for field in ("body", "orelse"):
        inner = getattr(statement, field, None)
        loops = isinstance(statement, (ast.For, ast.While))
        if loops and any(isinstance(node, ast.Continue) for node in ast.walk(statement)):
            continue  # it would continue the loop around this one, perhaps forever
        if inner and (loops or isinstance(statement, (ast.If, ast.With))):
            yield lambda inner=inner: block.__setitem__(slice(i, i + 1), inner)


def terms(node: ast.expr) -> list[ast.expr]:
    """What may take the place of an expression without a change of degree."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return [node.left, node.right]
    if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant):
        return [node.right]
    return []


def parts(node: ast.expr) -> list[ast.expr]:
    """What may take the place of an expression."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Call):
        return [a for a in node.args if not isinstance(a, (ast.Lambda, ast.List, ast.Constant, ast.Starred))]
    return []
