"""Random sessions with variables agree with themselves compiled: functions that read, write, branch, loop and
differentiate are called alone and under tapes, eager code writes in between, and all that was taken is looked at."""

from __future__ import annotations

import copy
import os
import random

import numpy as np
import pytest

import gradtape as tf

pytest.importorskip("jax")

COUNT = int(os.environ.get("GRADTAPE_FUZZ", "8")) if "GRADTAPE_FUZZ_XLA" in os.environ else 8  # a second each
VARIABLES = 3
STEPS = [
    "set",
    "add",
    "scale",
    "swap",
    "product",
    "scatter",
    "slice",
    "value",
    "noise",
    "cond",
    "loop",
    "train",
]
ACTIONS = ["call"] * 3 + ["record", "write", "take", "look", "sweep", "copy"]


def draw_steps(rng, depth=0):
    """What a function does: the kind of each step, variables, a bit, and the steps of a branch or body."""
    steps = []
    for _ in range(rng.randint(1, 6)):
        kind = rng.choice(STEPS if depth == 0 else STEPS[:-3])
        inner = draw_steps(rng, depth + 1) if kind in ("cond", "loop") else []
        steps.append((kind, rng.randrange(VARIABLES), rng.randrange(VARIABLES), rng.randrange(2), inner))
    return steps


def run_steps(steps, vs, x):
    """Do them; returns tensors of two elements."""
    results = [x * 1.0]
    for kind, i, j, bit, inner in steps:
        a, b = vs[i], vs[j]
        if kind == "set":
            a.assign(b * 0.5 + x)
        elif kind == "add":
            a.assign_add(x * 0.25)
        elif kind == "scale":
            a.assign(a * 0.9)
        elif kind == "swap":
            old = a.value()
            a.assign(b)
            b.assign(old)
        elif kind == "product":
            results.append(a * b)
        elif kind == "scatter":
            a.scatter_nd_add([[bit]], x[:1])
        elif kind == "slice":
            a[bit].assign(x[1 - bit])
        elif kind == "value":
            results.append(a.value() if bit else tf.identity(a))
        elif kind == "noise":
            results.append(x + 0.0 * tf.random.normal((2,)))
        elif kind == "cond":
            results.append(chosen(inner, vs, x, a, b))
        elif kind == "loop":
            results.append(looped(inner, vs, x, 2 + bit))
        elif kind == "train":
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.tanh(a * x) * b)
            of_a, of_b = tape.gradient(loss, [a, b])
            a.assign_sub(0.1 * of_a)
            results.append(of_b)
    return results


def chosen(inner, vs, x, a, b):
    return tf.cond(tf.reduce_sum(a) > 0.5, lambda: tf.add_n(run_steps(inner, vs, x)), lambda: x * b)


def looped(inner, vs, x, turns):
    def body(i, y):
        return i + 1, y * 0.5 + 0.1 * tf.add_n(run_steps(inner, vs, y))

    return tf.while_loop(lambda i, y: i < turns, body, (tf.constant(0), x), maximum_iterations=4)[1]


def session(functions, actions, compiled):
    """All numbers that a user sees on the way."""
    vs = [tf.Variable([0.3 * i + 0.1, 0.4 - 0.2 * i]) for i in range(VARIABLES)]

    def make(steps):
        python_function = lambda x: [*run_steps(steps, vs, x), vs[0].value()]
        return tf.function(python_function, autograph=False) if compiled else python_function

    made = [make(steps) for steps in functions]
    seen, taken, tapes = [], [], []
    for action, i, j in [*actions, ("look", 0, 0), ("sweep", 0, 0)]:
        x = tf.constant([0.1 * j + 0.2, -0.3])
        if action == "call":
            taken.append(made[i](x))
            seen.append(numbers(taken[-1]))
        elif action == "record":
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                loss = tf.add_n([tf.reduce_sum(y * y) for y in made[i](x)])
            tapes.append((tape, loss, x))
            seen.append(numbers([loss]))
        elif action == "write":
            vs[i].assign_add(x) if j % 2 else vs[i].assign(vs[j])
        elif action == "take":
            taken.append([vs[i].value(), np.asarray(vs[i]), tf.convert_to_tensor(vs[j])])
        elif action == "copy":
            taken.append([copy.deepcopy(vs[i]), tf.reshape(vs[j], (1, 2))])
        elif action == "look":
            seen += [numbers(tensors) for tensors in taken]
        elif action == "sweep":
            seen += [numbers(t.gradient(y, [x, *vs], unconnected_gradients="zero")) for t, y, x in tapes]
        seen.append(numbers(vs))
    return seen


def numbers(tensors):
    return [np.array(t) for t in tensors]


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_session_compiled_shows_what_it_shows_eagerly(seed):
    rng = random.Random(seed)
    functions = [draw_steps(rng) for _ in range(3)]
    actions = [(rng.choice(ACTIONS), rng.randrange(3), rng.randrange(VARIABLES)) for _ in range(14)]
    eager, compiled = session(functions, actions, compiled=False), session(functions, actions, compiled=True)
    for e, c in zip(eager, compiled, strict=True):
        for a, b in zip(c, e, strict=True):
            np.testing.assert_allclose(
                a, b, rtol=2e-3, atol=1e-4, err_msg=f"seed {seed}: {functions} {actions}"
            )
