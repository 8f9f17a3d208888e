"""A convolutional network that reads digits, and resumes exactly after it was killed at any moment.

With `--folder`, the whole state of the training is saved there every few steps: the network, the optimizer, the
position in the shuffled data, the generator of the dropout. Started again, the program continues from there, and ends
with the same numbers, bit for bit.
Run it with `python examples/digits.py --out picture.png`; it needs scikit-learn, for the digits, and matplotlib.
"""

import argparse
import hashlib

import numpy as np

import gradtape as tf

BATCH = 32


def load_digits():
    """Load 1437 images for training and 360 for testing, of 8x8 pixels, with their labels."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images, labels = (digits.images[..., None] / 16).astype(np.float32), digits.target.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    learn, test = order[360:], order[:360]
    return (images[learn], labels[learn]), (images[test], labels[test])


class Reader(tf.Module):
    """Three convolutions, two poolings, and a score for each of the ten digits."""

    def __init__(self):
        super().__init__()
        make = tf.initializers.HeNormal(seed=0)
        self.filters = [tf.Variable(make(shape)) for shape in ((3, 3, 1, 16), (3, 3, 16, 32), (3, 3, 32, 64))]
        self.offsets = [tf.Variable(tf.zeros(filters.shape[-1])) for filters in self.filters]
        self.out = tf.Variable(make((2 * 2 * 64, 10)))
        self.random = tf.random.Generator.from_seed(0)

    def __call__(self, x, training=False):
        for filters, offset, pool in zip(self.filters, self.offsets, (1, 2, 2)):
            x = tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME") + offset)
            x = tf.nn.max_pool2d(x, pool, pool, "VALID")
        x = tf.reshape(x, (len(x), -1))
        if training:  # dropout
            x = tf.where(self.random.uniform(x.shape) < 0.5, 0.0, 2 * x)
        return x @ self.out


def train(model, images, labels, steps, folder, every):
    """Train up to a number of steps, from the start or from the last checkpoint; return the losses of all steps."""
    optimizer = tf.optimizers.Adam(tf.optimizers.schedules.CosineDecay(0.005, steps))
    examples = tf.data.Dataset.from_tensor_slices((images, labels))
    batches = iter(examples.shuffle(len(labels), seed=0).repeat().batch(BATCH))
    losses = tf.Variable(tf.zeros(steps))
    state = tf.train.Checkpoint(model=model, optimizer=optimizer, batches=batches, losses=losses)

    @tf.function
    def step(images, labels):
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    if folder:
        manager = tf.train.CheckpointManager(state, folder, max_to_keep=2)
        if manager.restore_or_initialize():
            print(f"It goes on from step {int(optimizer.iterations)}.")
    for number in range(int(optimizer.iterations), steps):
        loss = step(*next(batches))
        losses.scatter_nd_update([[number]], [loss])
        if folder and (number + 1) % every == 0:
            manager.save()
    return losses.numpy()


def fingerprint(model):
    """A short hash of all bits of the parameters."""
    return hashlib.sha256(b"".join(v.numpy().tobytes() for v in model.variables)).hexdigest()[:16]


def draw(out, losses, images, labels, probabilities):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.15))
    ax = left.subplots()
    ax.semilogy(losses, color="#00798c", alpha=0.35, linewidth=0.8, label="each step")
    epoch = 1437 // BATCH
    smooth = np.convolve(losses, np.ones(epoch) / epoch, "valid")
    ax.semilogy(np.arange(len(smooth)) + epoch / 2, smooth, color="#00798c", label="mean over an epoch")
    ax.set(xlabel="step", ylabel="cross entropy", title="Learning")
    ax.legend()
    right.suptitle("The digits of the test it is least sure of")
    sure = probabilities[np.arange(len(labels)), labels]
    for ax, i in zip(right.subplots(3, 6).flat, np.argsort(sure)):
        ax.imshow(images[i, ..., 0], cmap="gray_r")
        read = probabilities[i].argmax()
        wrong = read != labels[i]
        said = f"a {read}, {probabilities[i, read]:.0%}" + (f"\n(it is a {labels[i]})" if wrong else "")
        ax.set_title(said, fontsize=9, color="#d1495b" if wrong else "black")
        ax.set_axis_off()
    figure.savefig(out, dpi=130)


def main(out="digits.png", steps=800, folder=None, every=50):
    tf.random.set_seed(0)
    learn, (images, labels) = load_digits()
    model = Reader()
    losses = train(model, *learn, steps, folder, every)
    probabilities = tf.nn.softmax(model(images)).numpy()
    accuracy = (probabilities.argmax(axis=1) == labels).mean()
    print(f"After {steps} steps it reads {accuracy:.1%} of {len(labels)} digits it has never seen.")
    print(
        f"The parameters' fingerprint is {fingerprint(model)}: the same, however often it was killed on the way."
    )
    draw(out, losses, images, labels, probabilities)
    print(f"The picture is in {out}")
    return accuracy, fingerprint(model), losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="digits.png", help="where the picture goes (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=800, help="of training (default: %(default)s)")
    parser.add_argument("--folder", help="where checkpoints go, and where it goes on from")
    parser.add_argument(
        "--every", type=int, default=50, help="steps between checkpoints (default: %(default)s)"
    )
    main(**vars(parser.parse_args()))
