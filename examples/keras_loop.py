"""An inverse problem: the conductivity of a rod, from a few noisy temperatures, by a Keras network that knows the law.

The network gives the temperature u at a time and a place. It learns two things at once: to pass near the measurements,
and to obey the heat equation, du/dt = k d2u/dx2, with a k that it learns as well. The derivatives by time and place
come from tapes inside the tape that trains.
Run it with `python examples/keras_loop.py --out picture.png`; it needs Keras and matplotlib.
"""

import argparse

import numpy as np

import gradtape as tf
from gradtape import keras

CONDUCTIVITY, MEASUREMENTS, NOISE = 0.1, 60, 0.02


def temperature(t, x):
    """The solution for a rod of length 1, its ends at 0, which starts as two humps."""
    slow, fast = (np.exp(-CONDUCTIVITY * (n * np.pi) ** 2 * t) * np.sin(n * np.pi * x) for n in (1, 3))
    return slow + 0.5 * fast


def measure(rng):
    """Times and places, one in a row, and what a thermometer shows there."""
    points = rng.uniform(size=(MEASUREMENTS, 2)).astype(np.float32)
    exact = temperature(points[:, :1], points[:, 1:])
    return points, (exact + NOISE * rng.normal(size=exact.shape)).astype(np.float32)


class Rod(keras.Model):
    """The temperature at rows of (t, x), and the conductivity."""

    def __init__(self):
        super().__init__()
        self.inner = [keras.layers.Dense(32, activation="tanh") for _ in range(3)]
        self.last = keras.layers.Dense(1)
        self.log_k = self.add_weight(shape=(), initializer="zeros", name="log_k")  # k is 1 at first

    def call(self, points):
        u = points
        for layer in self.inner:
            u = layer(u)
        x = points[:, 1:]
        return x * (1 - x) * self.last(u)  # 0 at both ends

    def violation(self, points):
        """du/dt - k d2u/dx2, which the law says is 0."""
        with tf.GradientTape() as second:
            second.watch(points)
            with tf.GradientTape() as first:
                first.watch(points)
                u = self(points)
            slopes = first.gradient(u, points)  # a row of u depends on its own point only
            du_dx = slopes[:, 1]
        d2u_dx2 = second.gradient(du_dx, points)[:, 1]
        return slopes[:, 0] - tf.exp(self.log_k) * d2u_dx2


def train(rod, points, shown, steps):
    """Train the network; return k after each step."""
    optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.01, steps))
    loss_of = keras.losses.MeanSquaredError()
    random = tf.random.Generator.from_seed(0)

    @tf.function
    def step():
        anywhere = random.uniform((256, 2))
        with tf.GradientTape() as tape:
            fit, law = loss_of(shown, rod(points)), tf.reduce_mean(tf.square(rod.violation(anywhere)))
            loss = fit + 0.1 * law
        gradients = tape.gradient(loss, rod.trainable_variables)
        optimizer.apply_gradients(zip(gradients, rod.trainable_variables))
        return tf.exp(rod.log_k)

    return np.array([step() for _ in range(steps)])


def draw(out, rod, points, course):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.8), layout="constrained")
    found, wrong, path = figure.subplots(1, 3)
    t, x = np.meshgrid(np.linspace(0, 1, 81), np.linspace(0, 1, 81))
    grid = np.stack([t.ravel(), x.ravel()], 1).astype(np.float32)
    u, exact = rod.predict(grid, batch_size=len(grid), verbose=0).reshape(t.shape), temperature(t, x)
    for ax, field, title in (
        (found, u, "temperature, and where it was measured"),
        (wrong, u - exact, "error"),
    ):
        picture = ax.pcolormesh(t, x, field, cmap="inferno" if ax is found else "RdBu")
        figure.colorbar(picture, ax=ax)
        ax.set(title=title, xlabel="time", ylabel="place")
    found.plot(*points.T, "o", color="white", markersize=3)
    path.semilogy(course, color="#00798c")
    path.axhline(CONDUCTIVITY, color="#d1495b", linestyle="--", label="truth")
    path.set(title="conductivity", xlabel="step")
    path.legend()
    figure.savefig(out, dpi=120)
    return float(abs(u - exact).max())


def main(out="keras_loop.png", steps=3000):
    keras.utils.set_random_seed(0)
    points, shown = measure(np.random.default_rng(0))
    rod = Rod()
    course = train(rod, points, shown, steps)
    print(
        f"{MEASUREMENTS} measurements, each off by {NOISE} or so, say that the conductivity is {course[-1]:.4f};"
    )
    worst = draw(out, rod, points, course)
    print(
        f"it is {CONDUCTIVITY}. The temperatures of the network are at most {worst:.3f} from the true ones."
    )
    print(f"The picture is in {out}")
    return course[-1], worst


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", default="keras_loop.png", help="where the picture goes (default: %(default)s)"
    )
    parser.add_argument("--steps", type=int, default=3000, help="of training (default: %(default)s)")
    main(**vars(parser.parse_args()))
