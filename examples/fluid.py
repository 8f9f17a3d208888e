"""An incompressible flow: the pressure that removes its divergence, found by the gradient of the violation.

Fields are rank-3 tensors on a periodic grid; a velocity is three of them. The flow is the sum of a whirl without
divergence and a push of known pressure, so the result can be compared with the whirl.
Run it with `python examples/fluid.py --out picture.png`; the picture needs matplotlib.
"""

import argparse

import numpy as np

import gradtape as tf


def forward(field, axis):
    return tf.roll(field, -1, axis) - field


def backward(field, axis):
    return field - tf.roll(field, 1, axis)


def slopes(field):
    """The slope of a field along each of its axes."""
    return tf.stack([forward(field, axis) for axis in range(3)])


def divergence(velocity):
    """The flow out of each cell minus the flow into it."""
    return tf.add_n([backward(velocity[axis], axis) for axis in range(3)])


def violation(pressure, velocity):
    """One number: zero when the flow, corrected by the pressure, has no divergence anywhere."""
    return tf.reduce_sum(tf.square(divergence(velocity - slopes(pressure)))) / 2


@tf.function
def violation_gradient(pressure, velocity):
    """The gradient of the violation with respect to every element of the pressure field."""
    with tf.GradientTape() as tape:
        tape.watch(pressure)
        loss = violation(pressure, velocity)
    return tape.gradient(loss, pressure)


@tf.function
def conjugate_step(pressure, downhill, way, velocity):
    """A step of conjugate gradients, and the violation it leaves."""
    # The violation is quadratic: without a flow, its gradient at `way` is its Hessian times `way`.
    bend = violation_gradient(way, tf.zeros_like(velocity))
    square = tf.reduce_sum(downhill**2)
    stride = square / tf.reduce_sum(way * bend)
    pressure += stride * way
    downhill -= stride * bend
    way = downhill + tf.reduce_sum(downhill**2) / square * way
    return pressure, downhill, way, violation(pressure, velocity)


def project(velocity, steps, tolerance=1e-16):
    """The pressure that removes the divergence, and the violation after each step towards it."""
    pressure = tf.zeros_like(velocity[0])
    downhill = way = -violation_gradient(pressure, velocity)
    history = [float(violation(pressure, velocity))]
    while len(history) <= steps and history[-1] > tolerance * history[0]:
        pressure, downhill, way, left = conjugate_step(pressure, downhill, way, velocity)
        history.append(float(left))
    return pressure, history


def make_flow(n):
    """A whirl without divergence, and the pressure of a push to be added to it."""
    x, y, z = np.meshgrid(*[np.linspace(0, 2 * np.pi, n, endpoint=False)] * 3, indexing="ij")
    stream = tf.constant(np.cos(x) + np.cos(y) + 0.3 * np.cos(2 * x + z))
    # The curl of (0, 0, stream): differences commute, so what enters a cell leaves it.
    whirl = tf.stack([backward(stream, 1), -backward(stream, 0), tf.zeros_like(stream)])
    puffs = [(1.0, (2.0, 2.5, 3.1)), (-1.2, (4.4, 3.8, 3.1)), (0.6, (3.1, 5.0, 2.0))]
    push = sum(
        size * np.exp(3 * (np.cos(x - a) + np.cos(y - b) + np.cos(z - c) - 3)) for size, (a, b, c) in puffs
    )
    return whirl, tf.constant(push - push.mean())


def draw(out, velocity, found, pressure, history):
    from matplotlib.figure import Figure

    n, middle = len(pressure), len(pressure) // 2
    figure = Figure(figsize=(11, 9), layout="constrained")
    figure.suptitle(f"The middle layer of a flow of {n} x {n} x {n} cells")
    (before, after), (left, right) = figure.subplots(2, 2)
    limit = abs(divergence(velocity).numpy()[:, :, middle]).max()
    for ax, flow, title in ((before, velocity, "before"), (after, found, "after the projection")):
        across, up, spread = (field.numpy()[:, :, middle].T for field in (flow[0], flow[1], divergence(flow)))
        image = ax.imshow(spread, cmap="RdBu_r", vmin=-limit, vmax=limit, origin="lower")
        ax.streamplot(np.arange(n), np.arange(n), across, up, color="0.25", linewidth=0.7, arrowsize=0.8)
        ax.set(title=f"the flow {title}", xlim=(-0.5, n - 0.5), ylim=(-0.5, n - 0.5), xlabel="x", ylabel="y")
        figure.colorbar(image, ax=ax, label="divergence", shrink=0.8)
    limit = abs(pressure.numpy()).max()
    image = left.imshow(
        pressure.numpy()[:, :, middle].T, cmap="PuOr_r", vmin=-limit, vmax=limit, origin="lower"
    )
    left.set(title="the pressure that was found", xlabel="x", ylabel="y")
    figure.colorbar(image, ax=left, label="pressure", shrink=0.8)
    right.semilogy(history, color="#00798c")
    right.set(
        title="the violation", xlabel="step of conjugate gradients", ylabel="sum of squared divergences / 2"
    )
    right.grid(alpha=0.3)
    figure.savefig(out, dpi=110)


def main(out="fluid.png", size=32, steps=1000):
    whirl, push = make_flow(size)
    velocity = whirl + slopes(push)
    first = violation_gradient(tf.zeros_like(push), velocity)
    pressure, history = project(velocity, steps)
    found = velocity - slopes(pressure)
    before, after = (float(tf.reduce_max(abs(divergence(flow)))) for flow in (velocity, found))
    apart = float(tf.reduce_max(abs(found - whirl)) / tf.reduce_max(abs(whirl)))

    print(
        f"The violation is one number, {history[0]:.4f}; its gradient has the shape {first.shape} of the pressure."
    )
    print(f"Largest divergence: {before:.1e} before, {after:.1e} after {len(history) - 1} steps.")
    print(f"The whirl that was hidden under the push is found again, to {apart:.0e} of its speed.")
    draw(out, velocity, found, pressure, history)
    print(f"The picture is in {out}")
    return before, after, apart


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="fluid.png", help="where the picture goes (default: %(default)s)")
    parser.add_argument("--size", type=int, default=32, help="of the grid (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=1000, help="at most (default: %(default)s)")
    main(**vars(parser.parse_args()))
