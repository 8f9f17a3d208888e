"""A line through noisy points, by gradient descent with and without momentum, drawn on the loss surface.

Run it with `python examples/regression.py --out picture.png`; the picture needs matplotlib.
"""

import argparse

import numpy as np

import gradtape as tf

SLOPE, OFFSET = 2.0, 1.0
START = -1.0, 8.0


def noisy_points(count=100):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, count)
    y = SLOPE * x + OFFSET + rng.normal(0, 0.5, count)
    return tf.constant(x, tf.float32), tf.constant(y, tf.float32)


def mean_squared_error(w, b, x, y):
    return tf.reduce_mean(tf.square(w * x + b - y), axis=-1)


def descend(optimizer, x, y, steps):
    """The path of (w, b), with the start: an array of steps + 1 rows."""
    w, b = (tf.Variable(value) for value in START)
    path = [START]
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = mean_squared_error(w, b, x, y)
        gradients = tape.gradient(loss, [w, b])
        optimizer.apply_gradients(zip(gradients, [w, b]))
        path.append((float(w), float(b)))
    return np.array(path)


def draw(out, x, y, paths, best):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    xs = np.array([0, 4])
    left.plot(x.numpy(), y.numpy(), "o", color="0.55", markersize=4, label="points")
    left.plot(xs, START[0] * xs + START[1], ":", color="0.3", label="the line at first")
    (w, b), *_ = (path[-1] for path in paths.values())
    left.plot(xs, w * xs + b, color="#d1495b", label=f"at last: y = {w:.2f} x + {b:.2f}")
    left.set(xlabel="x", ylabel="y", title="The points and the line")
    left.legend()

    # Every (w, b) of the picture at once: the loss broadcasts over two more axes.
    ws, bs = np.meshgrid(np.linspace(-2, 6, 161), np.linspace(-5, 9, 141))
    losses = mean_squared_error(
        tf.constant(ws[..., None], tf.float32), tf.constant(bs[..., None], tf.float32), x, y
    )
    levels = np.geomspace(losses.numpy().min(), losses.numpy().max(), 14)
    surface = right.contourf(ws, bs, losses.numpy(), levels=levels, norm="log", cmap="Blues_r")
    figure.colorbar(surface, ax=right, label="mean squared error", format="%.1f")
    for (name, path), colour in zip(paths.items(), ("#d1495b", "#edae49")):
        right.plot(*path.T, ".-", color=colour, markersize=4, linewidth=1, label=name)
    right.plot(*best, "*", color="white", markeredgecolor="black", markersize=14, label="least squares")
    right.set(xlabel="slope w", ylabel="offset b", title="The loss and the ways down")
    right.legend()
    figure.savefig(out, dpi=130)


def main(out="regression.png", steps=300):
    x, y = noisy_points()
    optimizers = {
        "SGD": tf.optimizers.SGD(learning_rate=0.1),
        "SGD with momentum": tf.optimizers.SGD(learning_rate=0.02, momentum=0.9),
    }
    paths = {name: descend(optimizer, x, y, steps) for name, optimizer in optimizers.items()}
    best = np.polyfit(x.numpy(), y.numpy(), 1)  # the minimum, by linear algebra

    print(f"The points lie around y = {SLOPE:.2f} x + {OFFSET:.2f}.")
    for name, path in paths.items():
        w, b = path[-1]
        print(f"{name + ':':<19} after {steps} steps y = {w:.4f} x + {b:.4f}")
    print(f"{'Least squares:':<19} {'':>5} y = {best[0]:.4f} x + {best[1]:.4f}")
    draw(out, x, y, paths, best)
    print(f"The picture is in {out}")
    return paths, best


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", default="regression.png", help="where the picture goes (default: %(default)s)"
    )
    parser.add_argument("--steps", type=int, default=300, help="of descent (default: %(default)s)")
    main(**vars(parser.parse_args()))
