"""Loops with hot tapes and without, and with PyTorch where it is installed: microseconds a step, the best of many.

    python bench/hot_tapes.py [--picture steps.svg]

The picture shows the time of each of the first 2,000 steps of one loop: operation by operation, compiling, hot.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gradtape as tf

Step = Callable[[], Any]


def small_operations() -> Step:
    """40 operations on vectors of 4, and their gradient."""
    x = tf.Variable(np.linspace(0.1, 0.4, 4, dtype="float32"))

    def step() -> Any:
        with tf.GradientTape() as tape:
            y = x
            for _ in range(20):
                y = tf.sin(y * 1.1)
            loss = tf.reduce_sum(y)
        return tape.gradient(loss, x).numpy()

    return step


def pendulum() -> Step:
    """The gradient of a pendulum's angle after 25 steps of Runge and Kutta's method."""
    start = tf.Variable(0.5)

    def slope(q: Any, v: Any) -> Any:
        return v, -9.81 * tf.sin(q) - 0.1 * v

    def step() -> Any:
        h = 0.01
        with tf.GradientTape() as tape:
            q, v = start * 1.0, tf.constant(0.0)
            for _ in range(25):
                a = slope(q, v)
                b = slope(q + h / 2 * a[0], v + h / 2 * a[1])
                c = slope(q + h / 2 * b[0], v + h / 2 * b[1])
                d = slope(q + h * c[0], v + h * c[1])
                q = q + h / 6 * (a[0] + 2.0 * b[0] + 2.0 * c[0] + d[0])
                v = v + h / 6 * (a[1] + 2.0 * b[1] + 2.0 * c[1] + d[1])
            loss = q * q
        return tape.gradient(loss, start).numpy()

    return step


def recurrent() -> Step:
    """20 steps of a recurrent network in a Python loop, and an update."""
    random = np.random.default_rng(0)
    inputs = tf.constant(random.normal(size=(8, 20, 4)).astype("float32"))
    wx, wh, wo = (
        tf.Variable(random.normal(size=s).astype("float32") * 0.2) for s in ((4, 16), (16, 16), (16, 1))
    )

    def step() -> Any:
        with tf.GradientTape() as tape:
            state = tf.zeros([8, 16])
            for t in range(20):
                state = tf.tanh(inputs[:, t] @ wx + state @ wh)
            loss = tf.reduce_mean(tf.square(state @ wo - 1.0))
        for v, g in zip([wx, wh, wo], tape.gradient(loss, [wx, wh, wo])):
            v.assign_sub(0.01 * g)
        return float(loss)

    return step


def mlp() -> Step:
    """A step of SGD of a network of 784, 128 and 10, for 32 examples."""
    random = np.random.default_rng(0)
    shapes = ((784, 128), (128,), (128, 10), (10,))
    weights = [tf.Variable(random.normal(size=shape).astype("float32") * 0.05) for shape in shapes]
    x = tf.constant(random.normal(size=(32, 784)).astype("float32"))
    labels = tf.constant(random.integers(0, 10, 32))
    optimizer = tf.optimizers.SGD(0.01)

    def step() -> Any:
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(x @ weights[0] + weights[1])
            logits = hidden @ weights[2] + weights[3]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return float(loss)

    return step


def large() -> Step:
    """tanh(b*b + b) * exp(-b) over a million elements, and its gradient."""
    b = tf.Variable(np.linspace(-1, 1, 10**6, dtype="float32"))

    def step() -> Any:
        with tf.GradientTape() as tape:
            y = tf.tanh(b * b + b) * tf.exp(-b)
        return tape.gradient(y, b).numpy()

    return step


def torch_small_operations() -> Step:
    """The same 40 operations in PyTorch."""
    import torch

    x = torch.linspace(0.1, 0.4, 4, requires_grad=True)

    def step() -> Any:
        y = x
        for _ in range(20):
            y = torch.sin(y * 1.1)
        (g,) = torch.autograd.grad(y.sum(), x)
        return g.numpy()

    return step


def torch_recurrent() -> Step:
    """The same recurrent network in PyTorch."""
    import torch

    inputs = torch.randn(8, 20, 4)
    weights = [(torch.randn(*s) * 0.2).requires_grad_() for s in ((4, 16), (16, 16), (16, 1))]
    wx, wh, wo = weights

    def step() -> Any:
        state = torch.zeros(8, 16)
        for t in range(20):
            state = torch.tanh(inputs[:, t] @ wx + state @ wh)
        loss = ((state @ wo - 1.0) ** 2).mean()
        with torch.no_grad():
            for v, g in zip(weights, torch.autograd.grad(loss, weights)):
                v -= 0.01 * g
        return float(loss.detach())

    return step


LOOPS = [small_operations, pendulum, recurrent, mlp, large]
TORCH = {"small_operations": torch_small_operations, "recurrent": torch_recurrent}


def best(step: Step, seconds: float = 2.0) -> float:
    """The least time of one step, in microseconds."""
    end, least = time.perf_counter() + seconds, float("inf")
    while (start := time.perf_counter()) < end:
        step()
        least = min(least, time.perf_counter() - start)
    return least * 1e6


def table() -> None:
    """Print a row for each loop."""
    has_torch = importlib.util.find_spec("torch") is not None
    print(f"{'loop':18}{'eager':>10}{'hot':>10}{'ratio':>8}{'PyTorch':>10}")
    for loop in LOOPS:
        step = loop()
        step()
        cold = best(step)
        tf.config.experimental.set_hot_tapes(True)
        for _ in range(250):
            step()
        hot = best(step)
        tf.config.experimental.set_hot_tapes(False)
        peer = TORCH.get(loop.__name__) if has_torch else None
        other = f"{best(peer()):10.1f}" if peer else ""
        print(f"{loop.__name__:18}{cold:10.1f}{hot:10.1f}{cold / hot:8.2f}{other}", flush=True)


def picture(path: str, steps: int = 2000) -> None:
    """Draw the time of each step of the pendulum."""
    import matplotlib.pyplot as plt

    step, times = pendulum(), []
    tf.config.experimental.set_hot_tapes(True)
    for _ in range(steps):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1e6)
    tf.config.experimental.set_hot_tapes(False)
    figure, axes = plt.subplots(figsize=(7, 3.5))
    axes.semilogy(times, ".", markersize=2)
    axes.set_xlabel("step")
    axes.set_ylabel("microseconds")
    axes.set_title("Time per step: operation by operation, compiling, hot")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Print the table, and draw the picture if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="the file for the picture")
    options = parser.parse_args()
    table()
    if options.picture:
        picture(options.picture)


if __name__ == "__main__":
    main()
