"""Loops with hot tapes and without, with PyTorch and with jax.jit where they are installed: microseconds a step.

    make bench-hot
    python bench/hot_tapes.py [--seconds 2] [--loops] [--picture steps.svg]

All columns of a row are measured in turns, in one process; each figure is the best of many. Loops are followed from the
30th pass on, if the estimate says that it saves time. With --loops, the rows are the training loops of
tests/hot/loops.py, and one around a Keras model: the best tenth of their steps.

The picture shows the time of each of the first 2,000 steps of one loop: operation by operation, by code of NumPy's
functions, compiling, compiled.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path
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


def regression() -> Step:
    """Two scalars fitted to four points by hand: five operations, two updates."""
    w, b = tf.Variable(0.5), tf.Variable(0.0)
    x, y = tf.constant([1.0, 2.0, 3.0, 4.0]), tf.constant([3.0, 5.0, 7.0, 9.0])

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(w * x + b - y))
        dw, db = tape.gradient(loss, [w, b])
        w.assign_sub(0.01 * dw)
        b.assign_sub(0.01 * db)

    return step


def swing(sin: Any, q: Any, v: Any, h: float = 0.01) -> Any:
    """The square of a pendulum's angle after 25 steps of Runge and Kutta's method."""

    def slope(q: Any, v: Any) -> Any:
        return v, -9.81 * sin(q) - 0.1 * v

    for _ in range(25):
        a = slope(q, v)
        b = slope(q + h / 2 * a[0], v + h / 2 * a[1])
        c = slope(q + h / 2 * b[0], v + h / 2 * b[1])
        d = slope(q + h * c[0], v + h * c[1])
        q = q + h / 6 * (a[0] + 2.0 * b[0] + 2.0 * c[0] + d[0])
        v = v + h / 6 * (a[1] + 2.0 * b[1] + 2.0 * c[1] + d[1])
    return q * q


def pendulum() -> Step:
    """The gradient of a pendulum's angle."""
    start = tf.Variable(0.5)

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = swing(tf.sin, start * 1.0, tf.constant(0.0))
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


def minibatches() -> Step:
    """Ten steps of Adam of the same network, each for 32 shuffled examples, and a look at the last loss."""
    random = np.random.default_rng(0)
    shapes = ((784, 128), (128,), (128, 10), (10,))
    weights = [tf.Variable(random.normal(size=shape).astype("float32") * 0.05) for shape in shapes]
    examples = random.normal(size=(2048, 784)).astype("float32"), random.integers(0, 10, 2048)
    batches = iter(tf.data.Dataset.from_tensor_slices(examples).shuffle(2048).repeat().batch(32))
    optimizer = tf.optimizers.Adam(0.001)

    def ten_steps() -> Any:
        for _ in range(10):
            x, labels = next(batches)
            with tf.GradientTape() as tape:
                hidden = tf.nn.relu(x @ weights[0] + weights[1])
                logits = hidden @ weights[2] + weights[3]
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return float(loss)

    return ten_steps


def large() -> Step:
    """tanh(b*b + b) * exp(-b) over a million elements, and its gradient."""
    b = tf.Variable(np.linspace(-1, 1, 10**6, dtype="float32"))

    def step() -> Any:
        with tf.GradientTape() as tape:
            y = tf.tanh(b * b + b) * tf.exp(-b)
        return np.asarray(tape.gradient(y, b))

    return step


def torch_small_operations(torch: Any) -> Step:
    """The same 40 operations in PyTorch."""
    x = torch.linspace(0.1, 0.4, 4, requires_grad=True)

    def step() -> Any:
        y = x
        for _ in range(20):
            y = torch.sin(y * 1.1)
        (g,) = torch.autograd.grad(y.sum(), x)
        return g.numpy()

    return step


def torch_regression(torch: Any) -> Step:
    """The same regression in PyTorch."""
    w, b = torch.tensor(0.5, requires_grad=True), torch.tensor(0.0, requires_grad=True)
    x, y = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([3.0, 5.0, 7.0, 9.0])

    def step() -> Any:
        loss = torch.mean(torch.square(w * x + b - y))
        dw, db = torch.autograd.grad(loss, [w, b])
        with torch.no_grad():
            w.sub_(0.01 * dw)
            b.sub_(0.01 * db)

    return step


def torch_pendulum(torch: Any) -> Step:
    """The same pendulum in PyTorch."""
    start = torch.tensor(0.5, requires_grad=True)

    def step() -> Any:
        (g,) = torch.autograd.grad(swing(torch.sin, start * 1.0, torch.tensor(0.0)), start)
        return g.numpy()

    return step


def torch_mlp(torch: Any) -> Step:
    """The same network in PyTorch."""
    shapes = ((784, 128), (128,), (128, 10), (10,))
    weights = [(torch.randn(*shape) * 0.05).requires_grad_() for shape in shapes]
    x, labels = torch.randn(32, 784), torch.randint(0, 10, (32,))
    optimizer = torch.optim.SGD(weights, 0.01)

    def step() -> Any:
        hidden = torch.relu(x @ weights[0] + weights[1])
        logits = hidden @ weights[2] + weights[3]
        loss = torch.nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def torch_minibatches(torch: Any) -> Step:
    """The same ten steps in PyTorch."""
    shapes = ((784, 128), (128,), (128, 10), (10,))
    weights = [(torch.randn(*shape) * 0.05).requires_grad_() for shape in shapes]
    examples, classes = torch.randn(2048, 784), torch.randint(0, 10, (2048,))
    chosen = (rows for _ in itertools.count() for rows in torch.randperm(2048).split(32))
    optimizer = torch.optim.Adam(weights, 0.001)

    def ten_steps() -> Any:
        for _ in range(10):
            rows = next(chosen)
            hidden = torch.relu(examples[rows] @ weights[0] + weights[1])
            logits = hidden @ weights[2] + weights[3]
            loss = torch.nn.functional.cross_entropy(logits, classes[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return float(loss.detach())

    return ten_steps


def torch_large(torch: Any) -> Step:
    """The same million elements in PyTorch."""
    b = torch.linspace(-1, 1, 10**6, requires_grad=True)

    def step() -> Any:
        (g,) = torch.autograd.grad((torch.tanh(b * b + b) * torch.exp(-b)).sum(), b)
        return g.numpy()

    return step


def jax_large(jax: Any) -> Step:
    """The same million elements, by jax.jit of the gradient."""
    jnp = jax.numpy
    gradient = jax.jit(jax.grad(lambda b: (jnp.tanh(b * b + b) * jnp.exp(-b)).sum()))
    b = jnp.linspace(-1, 1, 10**6, dtype="float32")
    return lambda: np.asarray(gradient(b))


def torch_recurrent(torch: Any) -> Step:
    """The same recurrent network in PyTorch."""
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


LOOPS = [small_operations, regression, pendulum, recurrent, mlp, minibatches, large]
STEPS = {minibatches: 10}  # of a call, where that is not one
PEERS = {
    "torch": [
        torch_small_operations,
        torch_regression,
        torch_pendulum,
        torch_recurrent,
        torch_mlp,
        torch_minibatches,
        torch_large,
    ],
    "jax": [None, None, None, None, None, None, jax_large],
}


def best(step: Step, seconds: float) -> float:
    """The least time of one step, in microseconds."""
    end, least = time.perf_counter() + seconds, float("inf")
    while (start := time.perf_counter()) < end:
        step()
        least = min(least, time.perf_counter() - start)
    return least * 1e6


def measure(steps: dict[str, Step], seconds: float, rounds: int = 4) -> dict[str, float]:
    """The least time of a step of each column, taken in turns."""
    times = dict.fromkeys(steps, float("inf"))
    for _ in range(rounds):
        for column, step in steps.items():
            tf.config.experimental.set_hot_tapes(column == "hot")
            times[column] = min(times[column], best(step, seconds / rounds))
    tf.config.experimental.set_hot_tapes(False)
    return times


def warm_up(step: Step) -> None:
    """Run a loop until its passes are followed, or left alone."""
    tf.config.experimental.set_hot_tapes(True)
    before = tf.config.experimental.hot_tapes()["followed"]
    for i in range(200):
        step()
        if i % 50 == 49:
            counts = tf.config.experimental.hot_tapes()
            if counts["followed"] > before + 40 or list(counts["places"].values())[-1]["cold"]:
                return


def table(seconds: float) -> None:
    """Print a row for each loop."""
    follow_soon()
    found = {name: importlib.import_module(name) for name in PEERS if importlib.util.find_spec(name)}
    columns = ["eager", "hot", *found]
    print(f"{'loop':18}" + "".join(f"{column:>10}" for column in columns) + f"{'torch/hot':>11}")
    for i, loop in enumerate(LOOPS):
        steps = {"eager": loop(), "hot": loop()}
        steps |= {name: make(module) for name, module in found.items() if (make := PEERS[name][i])}
        warm_up(steps["hot"])
        times = {column: t / STEPS.get(loop, 1) for column, t in measure(steps, seconds).items()}
        row = "".join(f"{times[c]:10.1f}" if c in times else " " * 10 for c in columns)
        ratio = f"{times['torch'] / times['hot']:11.2f}" if "torch" in times else ""
        print(f"{loop.__name__:18}{row}{ratio}", flush=True)


def follow_soon() -> None:
    """Follow loops from their 30th pass on, if that saves time, however long they take to compile."""
    importlib.import_module("gradtape.hot.places").policy.most = 30


def training_loops() -> dict[str, Callable[[int], Any]]:
    """The loops of the tests, by name: each runs so many steps."""
    tests = Path(__file__).parents[1] / "tests"
    sys.path.insert(0, str(tests))
    loops = importlib.import_module("hot.loops")
    found: dict[str, Callable[[int], Any]] = {loop.__name__: loop for loop in loops.LOOPS}
    for name in loops.OPTIMIZERS:
        found[f"mlp, {name}"] = lambda steps, name=name: loops.mlp(steps, getattr(tf.optimizers, name)())
    if importlib.util.find_spec("keras"):
        importlib.import_module("gradtape.keras")  # has Keras use gradtape
        spec: Any = importlib.util.spec_from_file_location("hot_loop", tests / "keras" / "test_hot_loop.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found["keras, Adam"] = module.train
    return found


def time_of_a_step(loop: Callable[[int], Any], steps: int, hot: bool, parts: int = 10) -> float:
    """The microseconds a step takes in the best of several parts of a loop. Only its second half counts."""
    times: list[float] = []
    make = tf.GradientTape.__init__

    def timed(tape: Any, *args: Any, **kwargs: Any) -> None:
        times.append(time.perf_counter())
        make(tape, *args, **kwargs)

    tf.config.experimental.set_hot_tapes(hot)
    tf.GradientTape.__init__ = timed  # type: ignore[method-assign]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            loop(steps)
            tapes = max(len(times) / steps, 1)  # in a step
            while len(times) < steps:  # it stops early
                loop(steps)
    finally:
        tf.GradientTape.__init__ = make  # type: ignore[method-assign]
        tf.config.experimental.set_hot_tapes(False)
    late = np.array(times[len(times) // 2 :])
    ends = np.linspace(0, len(late) - 1, parts + 1).astype(int)
    return float(min(np.diff(late[ends]) / np.diff(ends)) * tapes * 1e6)


def loops_table(steps: int = 400) -> None:
    """Print a row for each training loop of the tests."""
    follow_soon()
    print(f"{'loop':24}{'eager':>10}{'hot':>10}{'eager/hot':>11}  passes")
    places = importlib.import_module("gradtape.hot.places").places
    for name, loop in training_loops().items():
        places.clear()  # the optimizers' loops are one place in the code
        before = tf.config.experimental.hot_tapes()
        cold, hot = time_of_a_step(loop, steps, hot=False), time_of_a_step(loop, steps, hot=True)
        after = tf.config.experimental.hot_tapes()
        passes, followed = (after[what] - before[what] for what in ("passes", "followed"))
        print(
            f"{name:24}{cold:10.1f}{hot:10.1f}{cold / hot:11.2f}  {followed} of {passes} followed", flush=True
        )


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
    axes.set_title("Time per step: operation by operation, by NumPy, compiling, compiled")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Print the table, or draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="draw the picture into this file, instead of the table")
    parser.add_argument("--loops", action="store_true", help="the training loops of the tests")
    parser.add_argument("--seconds", type=float, default=2.0, help="the time for each figure")
    options = parser.parse_args()
    if options.picture:
        picture(options.picture)
    elif options.loops:
        loops_table()
    else:
        table(options.seconds)


if __name__ == "__main__":
    main()
