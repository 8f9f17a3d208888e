"""Derivatives of derivatives: Newton's method, a Hessian times a vector, gradients of examples and of gradients.

Each is compared with an independent result.
Run it with `python examples/second_order.py --out picture.png`; the picture needs matplotlib.
"""

import argparse

import numpy as np

import gradtape as tf


def rosenbrock(x):
    """Rosenbrock's function: a bent valley with its minimum at (1, 1)."""
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def newton(f, x, steps):
    """Newton's method: step to the minimum of the quadratic approximation. Return the path."""
    way = [x]
    for _ in range(steps):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            gradient = inner.gradient(y, x)
        hessian = outer.jacobian(gradient, x)
        x -= tf.linalg.solve(hessian, gradient[:, None])[:, 0]
        way.append(x)
    return tf.stack(way).numpy()


def descend(f, x, steps, rate=0.001):
    """Gradient descent. Return the path."""
    way = [x]
    for _ in range(steps):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        x -= rate * tape.gradient(y, x)
        way.append(x)
    return tf.stack(way).numpy()


def hessian_times(f, x, v):
    """The Hessian times a vector, without the Hessian: forward mode over reverse mode."""
    with tf.autodiff.ForwardAccumulator(x, v) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        gradient = tape.gradient(y, x)
    return accumulator.jvp(gradient)


def gradient_of_each(w, x, y):
    """The gradient of each example's squared error: the rows of one Jacobian."""
    with tf.GradientTape() as tape:
        tape.watch(w)
        errors = (tf.linalg.matvec(x, w) - y) ** 2
    return tape.jacobian(errors, w)


def gradient_penalty(critic, points):
    """The mean squared distance of the lengths of a critic's gradients from 1."""
    with tf.GradientTape() as tape:
        tape.watch(points)
        scores = critic(points)
    lengths = tf.norm(tape.gradient(scores, points), axis=-1)
    return tf.reduce_mean((lengths - 1) ** 2)


def train_critic(penalty, steps):
    """Train a network on the line to be low at -1 and high at 1, with a gradient penalty; return it."""
    rng = np.random.default_rng(0)
    # Rising from the start: to the penalty, a slope of -1 is as good as one of 1.
    ranges = (0, 3, (1, 32)), (-3, 3, 32), (0, 0.05, (32, 1))
    parameters = [tf.Variable(rng.uniform(*range_), dtype=tf.float32) for range_ in ranges]
    between = tf.constant(np.linspace(-1, 1, 33)[:, None], tf.float32)
    optimizer = tf.optimizers.Adam(0.01)

    def critic(points):
        w, b, v = parameters
        return tf.tanh(points @ w + b) @ v

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            low, high = critic(tf.constant([[-1.0], [1.0]]))
            loss = tf.reduce_sum(low - high) + penalty * gradient_penalty(critic, between)
        optimizer.apply_gradients(zip(tape.gradient(loss, parameters), parameters))

    for _ in range(steps):
        step()
    return critic


def draw(out, ways, lengths, wrong, critics):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 4.6), layout="constrained")
    valley, single, slopes = figure.subplots(1, 3)
    x, y = np.meshgrid(np.linspace(-1.7, 1.5, 200), np.linspace(-3.6, 2.4, 200))
    heights = rosenbrock(tf.constant(np.stack([x, y]))).numpy()
    valley.contourf(x, y, heights, levels=np.geomspace(1e-2, heights.max(), 14), norm="log", cmap="Blues_r")
    for (name, way), colour in zip(ways.items(), ("#d1495b", "#edae49")):
        valley.plot(
            *way.T, ".-", color=colour, markersize=6, linewidth=1, label=f"{name}, {len(way) - 1} steps"
        )
    valley.plot(1, 1, "*", color="white", markeredgecolor="black", markersize=13, label="the lowest point")
    valley.set(xlabel="x[0]", ylabel="x[1]", title="Down Rosenbrock's valley")
    valley.legend(loc="lower left")
    colours = ["#d1495b" if i == wrong else "#66a182" for i in range(len(lengths))]
    single.bar(range(len(lengths)), lengths, color=colours)
    single.set(xlabel="example (red: a wrong label)", ylabel="length", title="The gradient of each example")
    points = np.linspace(-2, 2, 200, dtype=np.float32)[:, None]
    for (penalty, critic), colour in zip(critics.items(), ("#edae49", "#00798c")):
        slopes.plot(points, critic(points).numpy(), color=colour, label=f"penalty times {penalty}")
    slopes.axvspan(-1, 1, color="0.93", label="where it is penalized")
    slopes.set(xlabel="point", ylabel="score", title="A critic, its slope held near 1")
    slopes.legend()
    figure.savefig(out, dpi=130)


def main(out="second_order.png", steps=400):
    start = tf.constant([-1.2, 1.0], tf.float64)
    ways = {"Newton": newton(rosenbrock, start, 6), "gradient descent": descend(rosenbrock, start, steps)}
    newton_apart, descent_apart = (np.linalg.norm(way[-1] - 1) for way in ways.values())
    print(
        f"Newton's method is {newton_apart:.0e} from (1, 1) after 6 steps, descent {descent_apart:.2f} after {steps}."
    )

    product = hessian_times(rosenbrock, start, tf.constant([1.0, 2.0], tf.float64)).numpy()
    x, y = start.numpy()
    known = np.array([[2 - 400 * y + 1200 * x**2, -400 * x], [-400 * x, 200]]) @ [1, 2]
    print(f"The Hessian times (1, 2) is {product.round(6)}; by hand it is {known.round(6)}.")

    rng = np.random.default_rng(1)
    examples, w, wrong = rng.normal(size=(24, 3)), np.array([1.0, -2.0, 0.5]), 7
    labels = examples @ w + rng.normal(0, 0.1, 24)
    labels[wrong] += 3
    each = gradient_of_each(tf.constant(w), tf.constant(examples), tf.constant(labels)).numpy()
    by_hand = 2 * (examples @ w - labels)[:, None] * examples
    lengths = np.linalg.norm(each, axis=1)
    print(
        f"24 gradients in one sweep differ from 2 (x.w - y) x by {abs(each - by_hand).max():.0e} at most.",
        end=" ",
    )
    print(f"The longest is that of example {lengths.argmax()}; the wrong label is that of {wrong}.")

    w = tf.Variable([3.0, 4.0])
    with tf.GradientTape() as tape:
        penalty = gradient_penalty(lambda points: tf.linalg.matvec(points, w), tf.ones((5, 2)))
    print(f"For x.w with |w| = 5 the penalty is {float(penalty):.4f}, (5 - 1)^2 = 16;", end=" ")
    print(f"its gradient {tape.gradient(penalty, w).numpy().round(4)}, 2 (5 - 1) w / 5 = [4.8 6.4].")

    # Twice the slope, less the penalty times (slope - 1)^2, is greatest where the slope is 1 + 1 / penalty.
    critics = {times: train_critic(times, steps) for times in (1, 10)}
    for times, critic in critics.items():
        low, high = critic(tf.constant([[-1.0], [1.0]])).numpy()[:, 0]
        print(
            f"A critic with the penalty times {times} rises by {(high - low) / 2:.3f}; by hand it is {1 + 1 / times}."
        )
    draw(out, ways, lengths, wrong, critics)
    print(f"The picture is in {out}")
    return newton_apart, product - known, each - by_hand, (high - low) / 2


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", default="second_order.png", help="where the picture goes (default: %(default)s)"
    )
    parser.add_argument(
        "--steps", type=int, default=400, help="of descent and training (default: %(default)s)"
    )
    main(**vars(parser.parse_args()))
