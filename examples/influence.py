"""The gradient of one element of a network's output by the pixels of the image, for a segmentation network.

The network learns to tell discs from squares, pixel by pixel. To classify a pixel in the middle of a shape, it must
look at the edges; the gradient of that one output shows where it looks.
Run it with `python examples/influence.py --out picture.png`; the picture needs matplotlib.
"""

import argparse

import numpy as np

import gradtape as tf

SIZE, CLASSES = 32, ("background", "disc", "square")
DEPTH = 4  # convolutions between halving the image and doubling it


def noisy_shapes(rng, count):
    """Images with a disc and a square each, in noise, and the class of every pixel."""
    y, x = np.mgrid[:SIZE, :SIZE]
    classes = np.zeros((count, SIZE, SIZE), np.int32)
    for image in classes:
        for kind in rng.permutation([1, 2]):
            radius = rng.integers(4, 7)
            row, column = rng.integers(radius + 1, SIZE - radius - 1, 2)
            if kind == 1:
                inside = (y - row) ** 2 + (x - column) ** 2 <= (radius + 0.5) ** 2
            else:
                inside = np.maximum(abs(y - row), abs(x - column)) < radius
            image[inside] = kind
    images = (classes > 0) + rng.normal(0, 0.15, classes.shape)
    return tf.constant(images[..., None], tf.float32), tf.constant(classes)


class Segmenter(tf.Module):
    """A convolution, four more at half the size, and a score for each class at every pixel."""

    def __init__(self, width=16):
        super().__init__()
        make = tf.initializers.HeNormal(seed=0)
        self.first = tf.Variable(make((3, 3, 1, width)))
        self.inner = [tf.Variable(make((3, 3, width, width))) for _ in range(DEPTH)]
        self.offsets = [tf.Variable(tf.zeros(width)) for _ in range(1 + DEPTH)]
        self.out = tf.Variable(make((2 * width, len(CLASSES))))

    def __call__(self, images):
        fine = tf.nn.relu(tf.nn.conv2d(images, self.first, 1, "SAME") + self.offsets[0])
        x = tf.nn.avg_pool2d(fine, 2, 2, "VALID")
        for filters, offset in zip(self.inner, self.offsets[1:]):
            x = tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME") + offset)
        coarse = tf.repeat(tf.repeat(x, 2, axis=1), 2, axis=2)
        return tf.concat([fine, coarse], axis=-1) @ self.out


def receptive_field(place):
    """The first and the last row (or column) of the receptive field of an output in this row."""
    half = place // 2
    return max(2 * (half - DEPTH) - 1, 0), min(2 * (half + DEPTH) + 2, SIZE - 1)


def train(model, steps):
    optimizer = tf.optimizers.Adam(0.005)
    loss_of = tf.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(images, classes):
        with tf.GradientTape() as tape:
            loss = loss_of(classes, model(images))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    shapes = tf.data.Dataset.from_tensor_slices(noisy_shapes(np.random.default_rng(0), 512))
    for images, classes in shapes.shuffle(512, seed=0).repeat().batch(16).take(steps):
        step(images, classes)


def influence(model, image, places):
    """The gradient of each given output (row, column, class) by every pixel: a Jacobian."""
    with tf.GradientTape() as tape:
        tape.watch(image)
        scores = tf.gather_nd(model(image[None])[0], places)
    return tape.jacobian(scores, image)[..., 0].numpy()


def report(place, gradient):
    """Print where a gradient is not zero, and how few pixels make up half of it."""
    row, column, kind = place
    rows, columns = np.nonzero(gradient)
    touched = (rows.min(), rows.max()), (columns.min(), columns.max())
    shares = np.sort(abs(gradient), axis=None)[::-1].cumsum()
    half = np.searchsorted(shares, shares[-1] / 2) + 1
    seen = receptive_field(row), receptive_field(column)
    print(f"{CLASSES[kind]:>6}[{row:2}, {column:2}]:", end=" ")
    print("sees rows {:2} to {:2}, columns {:2} to {:2};".format(*seen[0], *seen[1]), end=" ")
    print("is moved by {:2} to {:2}, {:2} to {:2};".format(*touched[0], *touched[1]), end=" ")
    print(f"half of that by {half} pixels")


def draw(out, image, prediction, places, maps):
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure = Figure(figsize=(14, 6.6), layout="constrained")
    figure.suptitle("Which pixels move the output at +?  Dashed: what it can see")
    panels = figure.subplots(2, 4)
    panels[0, 0].imshow(image.numpy()[..., 0], cmap="gray")
    panels[0, 0].set_title("the image")
    panels[1, 0].imshow(prediction, cmap=ListedColormap(["0.9", "#edae49", "#00798c"]), vmin=0, vmax=2)
    panels[1, 0].set_title("its classes: disc yellow, square blue")
    edges = np.kron(prediction > 0, np.ones((16, 16)))  # finer, so that outlines follow the pixels
    at = (np.arange(len(edges)) + 0.5) / 16 - 0.5
    for ax, (row, column, kind), gradient in zip(panels[:, 1:].flat, places, maps):
        limit = np.quantile(abs(gradient), 0.995)  # else the pixel itself outshines the rest
        shown = ax.imshow(gradient, cmap="RdBu_r", vmin=-limit, vmax=limit)
        ax.contour(at, at, edges, levels=[0.5], colors="0.5", linewidths=0.7)
        ax.plot(column, row, "+", color="black", markersize=10)
        (top, bottom), (left, right) = receptive_field(row), receptive_field(column)
        corner, sides = (left - 0.5, top - 0.5), (right - left + 1, bottom - top + 1)
        ax.add_patch(Rectangle(corner, *sides, fill=False, linestyle="--", edgecolor="0.4"))
        ax.set_title(f"d {CLASSES[kind]}[{row}, {column}] / d pixel")
        figure.colorbar(shown, ax=ax, shrink=0.85)
    for ax in panels.flat:
        ax.set(xlabel="column", ylabel="row")
    figure.savefig(out, dpi=110)


def main(out="influence.png", steps=250):
    model = Segmenter()
    train(model, steps)
    images, classes = noisy_shapes(np.random.default_rng(1), 64)
    predictions = tf.argmax(model(images), axis=-1)
    overlap = tf.metrics.MeanIoU(num_classes=len(CLASSES))
    overlap.update_state(classes, predictions)
    print(
        f"After {steps} steps the classes overlap the true ones by {float(overlap.result()):.1%}, on new images."
    )

    image, truth = images[0], classes.numpy()[0]
    places = []
    for kind in (1, 2):  # the middle of the shape, its upper edge, and a place beside it
        rows, columns = np.nonzero(truth == kind)
        row, column = int(rows.mean()), int(columns.mean())
        places += [
            (row, column, kind),
            (int(rows.min()), column, kind),
            (row, max(int(columns.min()) - 3, 0), kind),
        ]
    maps = influence(model, image, places)
    for place, gradient in zip(places, maps):
        report(place, gradient)
    draw(out, image, predictions.numpy()[0], places, maps)
    print(f"The picture is in {out}")
    return float(overlap.result()), places, maps


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", default="influence.png", help="where the picture goes (default: %(default)s)"
    )
    parser.add_argument("--steps", type=int, default=250, help="of training (default: %(default)s)")
    main(**vars(parser.parse_args()))
