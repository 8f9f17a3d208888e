"""Generated digits: an autoencoder interpolates between digits, a forger learns by fooling a judge.

Run it with `python examples/generate.py --out picture.png`; it needs scikit-learn, for the digits, and matplotlib.
"""

import argparse
from itertools import pairwise

import numpy as np

import gradtape as tf

CODE, NOISE, BATCH = 8, 16, 64


def load_digits():
    """Load 1797 digits as rows of 64 pixels from 0 to 1, and their labels."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return (digits.data / 16).astype(np.float32), digits.target


class Layers(tf.Module):
    """Dense layers with leaky ReLUs between them."""

    def __init__(self, *widths, seed=0):
        super().__init__()
        make = tf.initializers.HeNormal(seed=seed)
        self.weights = [tf.Variable(make(ends)) for ends in pairwise(widths)]
        self.offsets = [tf.Variable(tf.zeros(width)) for width in widths[1:]]

    def __call__(self, x):
        *inner, (last, offset) = zip(self.weights, self.offsets)
        for w, b in inner:
            x = tf.nn.leaky_relu(x @ w + b)
        return x @ last + offset


def batches(images, steps):
    data = tf.data.Dataset.from_tensor_slices(images).shuffle(len(images), seed=0)
    return data.repeat().batch(BATCH).take(steps)


def train_autoencoder(images, steps):
    """Train an encoder to a few numbers and a decoder back; return both."""
    encoder, decoder = Layers(64, 128, CODE, seed=1), Layers(CODE, 128, 64, seed=2)
    variables = encoder.trainable_variables + decoder.trainable_variables
    optimizer = tf.optimizers.Adam(0.002)

    @tf.function
    def step(images):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.sigmoid(decoder(encoder(images))) - images))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

    for batch in batches(images, steps):
        step(batch)
    return encoder, lambda codes: tf.sigmoid(decoder(codes))


def train_gan(images, steps):
    """Train a forger that makes digits from noise against a judge of real digits; return the forger."""
    forger, judge = Layers(NOISE, 128, 128, 64, seed=3), Layers(64, 128, 128, 1, seed=4)
    forging, judging = (tf.optimizers.Adam(0.0005, beta_1=0.5) for _ in range(2))
    make = lambda noise: tf.sigmoid(forger(noise))
    random = tf.random.Generator.from_seed(0)

    def how_wrong(scores, truth):
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(truth * tf.ones_like(scores), scores))

    @tf.function
    def step(real):
        noise = random.normal((BATCH, NOISE))
        blur = 0.1 * random.normal((2, BATCH, 64))  # so that the judge cannot win by a single grey pixel
        with tf.GradientTape() as for_judge, tf.GradientTape() as for_forger:
            made = make(noise)
            real_scores, made_scores = judge(real + blur[0]), judge(made + blur[1])
            judge_loss = how_wrong(real_scores, 0.9) + how_wrong(made_scores, 0.0)
            forger_loss = how_wrong(made_scores, 1.0)
        for network, tape, loss, optimizer in (
            (judge, for_judge, judge_loss, judging),
            (forger, for_forger, forger_loss, forging),
        ):
            gradients = tape.gradient(loss, network.trainable_variables)
            optimizer.apply_gradients(zip(gradients, network.trainable_variables))

    for batch in batches(images, steps):
        step(batch)
    return make


def nearest(samples, images):
    """The distance of each sample to the nearest image, and the index of that image."""
    squares = (samples**2).sum(1)[:, None] + (images**2).sum(1) - 2 * samples @ images.T
    return np.sqrt(squares.min(1)), squares.argmin(1)


def draw(out, parts):
    """Draw rows of twelve digits, each under a title."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.8), layout="constrained")
    heights = [len(digits) for digits in parts.values()]
    for ax, (title, digits) in zip(figure.subplots(len(parts), height_ratios=heights), parts.items()):
        framed = np.pad(np.reshape(digits, (-1, 12, 8, 8)), ((0, 0), (0, 0), (1, 1), (2, 2)))
        ax.imshow(framed.swapaxes(1, 2).reshape(-1, 12 * 12), cmap="gray_r", vmin=0, vmax=1)
        ax.set_title(title)
        ax.set_axis_off()
    figure.savefig(out, dpi=110)


def main(out="generate.png", steps=6000):
    images, labels = load_digits()
    encode, decode = train_autoencoder(images, steps // 2)
    copies = decode(encode(images)).numpy()
    left = float(((copies - images) ** 2).mean() / images.var())
    print(f"The autoencoder keeps {CODE} numbers of 64, and loses {left:.1%} of the variance.")

    make = train_gan(images, steps)
    made = make(tf.random.stateless_normal((1000, NOISE), seed=(1, 2))).numpy()
    distance, which = nearest(made, images)
    counts = np.bincount(labels[which], minlength=10)
    apart = np.mean([nearest(images[i : i + 1], np.delete(images, i, 0))[0] for i in range(100)])
    print(
        f"Forged digits lie {distance.mean():.2f} from the nearest real one; real ones from each other {apart:.2f}."
    )
    print("They resemble", ", ".join(f"{digit}: {count / 10:.0f} %" for digit, count in enumerate(counts)))

    share = np.linspace(0, 1, 12, dtype=np.float32)[:, None]
    ends = [encode(images[[np.flatnonzero(labels == digit)[0]]]) for digit in (0, 6, 8)]
    walks = [decode((1 - share) * a + share * b).numpy() for a, b in pairwise(ends)]
    draw(
        out,
        {
            "digits, and below what the autoencoder makes of them": np.concatenate(
                [images[:12], copies[:12]]
            ),
            "from a 0 to a 6, and from the 6 to an 8, in the autoencoder's numbers": np.concatenate(walks),
            "made by the forger, out of noise": made[:48],
        },
    )
    print(f"The picture is in {out}")
    return left, distance.mean(), counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="generate.png", help="where the picture goes (default: %(default)s)")
    parser.add_argument(
        "--steps", type=int, default=6000, help="of the forger's training (default: %(default)s)"
    )
    main(**vars(parser.parse_args()))
