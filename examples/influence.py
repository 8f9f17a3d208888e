"""Which pixels of an image move one element of a network's output: a segmentation network looked into by its gradients.

The network learns to tell discs from squares, pixel by pixel. To know what a pixel in the middle of a shape belongs to,
it must look at the edges; the gradient of that one output shows where it looks.
Run it with `python examples/influence.py --out picture.png`; the picture needs matplotlib.
"""

import argparse

import numpy as np

import gradtape as tf

SIZE, CLASSES = 32, ("background", "disc", "square")
DILATIONS = 1, 2, 4, 2, 1
REACH = sum(DILATIONS)  # an output pixel can see no farther than this


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
    """Convolutions of 3x3, some of them spread out, and a score for each class at every pixel."""

    def __init__(self, width=16):
        super().__init__()
        make, channels = tf.initializers.HeNormal(seed=0), [1] + [width] * len(DILATIONS)
        self.filters = [tf.Variable(make((3, 3, *ends))) for ends in zip(channels, channels[1:])]
        self.offsets = [tf.Variable(tf.zeros(width)) for _ in DILATIONS]
        self.out = tf.Variable(make((width, len(CLASSES))))

    def __call__(self, x):
        for filters, offset, dilation in zip(self.filters, self.offsets, DILATIONS):
            x = tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME", dilations=dilation) + offset)
        return x @ self.out


def train(model, steps):
    optimizer = tf.optimizers.Adam(0.005)
    loss_of = tf.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(images, classes):
        with tf.GradientTape() as tape:
            loss = loss_of(classes, model(images))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    rng = np.random.default_rng(0)
    data = tf.data.Dataset.from_tensor_slices(noisy_shapes(rng, 512)).shuffle(512, seed=0).repeat().batch(16)
    for images, classes in data.take(steps):
        step(images, classes)


def influence(model, image, places):
    """For each place (row, column, class) of the output, its gradient with respect to every pixel."""
    with tf.GradientTape() as tape:
        tape.watch(image)
        scores = tf.gather_nd(model(image[None])[0], places)
    return tape.jacobian(scores, image)[..., 0].numpy()


def reached(gradient, place):
    """How far from a place its gradient is nonzero, and how much of it lies within half the reach."""
    y, x = np.mgrid[:SIZE, :SIZE]
    away = np.maximum(abs(y - place[0]), abs(x - place[1]))
    weight = abs(gradient)
    return away[weight > 0].max(), weight[away <= REACH // 2].sum() / weight.sum()


def draw(out, image, prediction, places, maps):
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure = Figure(figsize=(14, 7.6), layout="constrained")
    figure.suptitle("Which pixels move the output at +?  Dashed: what it can see.")
    panels = figure.subplots(2, 4)
    panels[0, 0].imshow(image.numpy()[..., 0], cmap="gray")
    panels[0, 0].set_title("the image")
    panels[1, 0].imshow(prediction, cmap=ListedColormap(["0.9", "#edae49", "#00798c"]), vmin=0, vmax=2)
    panels[1, 0].set_title("its classes: disc yellow, square blue")
    for ax, (row, column, kind), gradient in zip(panels[:, 1:].flat, places, maps):
        limit = abs(gradient).max()
        shown = ax.imshow(gradient, cmap="RdBu_r", vmin=-limit, vmax=limit)
        ax.contour(image.numpy()[..., 0], levels=[0.5], colors="0.6", linewidths=0.5)
        ax.plot(column, row, "+", color="black", markersize=10)
        corner, side = (column - REACH - 0.5, row - REACH - 0.5), 2 * REACH + 1
        ax.add_patch(Rectangle(corner, side, side, fill=False, linestyle="--", edgecolor="0.4"))
        ax.set(
            title=f"d {CLASSES[kind]}[{row}, {column}] / d pixel",
            xlim=(-0.5, SIZE - 0.5),
            ylim=(SIZE - 0.5, -0.5),
        )
        figure.colorbar(shown, ax=ax, shrink=0.7)
    for ax in panels.flat:
        ax.set(xlabel="column", ylabel="row")
    figure.savefig(out, dpi=110)


def main(out="influence.png", steps=300):
    model = Segmenter()
    train(model, steps)

    images, classes = noisy_shapes(np.random.default_rng(1), 64)
    predictions = tf.argmax(model(images), axis=-1)
    overlap = tf.metrics.MeanIoU(num_classes=3)
    overlap.update_state(classes, predictions)
    print(
        f"After {steps} steps the classes overlap the true ones by {float(overlap.result()):.1%} on new images."
    )

    image, truth = images[0], classes.numpy()[0]
    places = []
    for kind in (1, 2):  # the middle of each shape, its edge, and a place beside it
        rows, columns = np.nonzero(truth == kind)
        row, column = int(rows.mean()), int(columns.mean())
        places += [(row, column, kind), (rows.min(), column, kind), (row, max(columns.min() - 3, 0), kind)]
    maps = influence(model, image, places)
    for place, gradient in zip(places, maps):
        farthest, within = reached(gradient, place)
        row, column, kind = place
        print(
            f"{CLASSES[kind]:>6}[{row:2}, {column:2}] is moved by pixels up to {farthest:2} away, of {REACH} it can see; "
            f"{within:.0%} of the influence lies within {REACH // 2}."
        )
    draw(out, image, predictions.numpy()[0], places, maps)
    print(f"The picture is in {out}")
    return float(overlap.result()), places, maps


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", default="influence.png", help="where the picture goes (default: %(default)s)"
    )
    parser.add_argument("--steps", type=int, default=300, help="of training (default: %(default)s)")
    main(**vars(parser.parse_args()))
