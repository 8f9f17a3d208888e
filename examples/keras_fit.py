"""A Keras network that reads digits: `compile`, `fit` until it gets no better, `evaluate`, save, load.

Run it with `python examples/keras_fit.py --out picture.png`; it needs Keras, scikit-learn, for the
digits, and matplotlib.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import gradtape as tf
from gradtape import keras


def load_digits():
    """Load 1440 images for training and 357 for testing, of 8x8 pixels, with their labels."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images, labels = (digits.images[..., None] / 16).astype(np.float32), digits.target.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    learn, test = order[357:], order[:357]
    return (images[learn], labels[learn]), (images[test], labels[test])


def reader():
    """Three convolutions, a pooling, and a probability for each of the ten digits."""
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dropout(0.3),
            layers.Dense(10, activation="softmax"),
        ]
    )


def train(model, images, labels, epochs):
    """Train until the loss on a fifth of the data has not fallen for five epochs; return the history.

    Both parts, 1152 and 288 images, are whole batches of 32: a last batch of another size would be compiled by itself.
    """
    model.compile(
        optimizer=keras.optimizers.Adam(0.005),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    stop = keras.callbacks.EarlyStopping(patience=5, restore_best_weights=True)
    return model.fit(
        images, labels, epochs=epochs, validation_split=0.2, callbacks=[stop], batch_size=32, verbose=0
    ).history


def read_back(model, path):
    """The model as another process would find it: saved to a file and loaded."""
    model.save(path)
    return keras.models.load_model(path)


def saliency(model, images, labels):
    """How the score of the right digit changes with each pixel: Keras's layers under a tape."""
    images = tf.constant(images)
    with tf.GradientTape() as tape:
        tape.watch(images)
        scores = tf.math.log(tf.gather(model(images), labels, batch_dims=1))
    return tape.gradient(scores, images).numpy()


def draw(out, history, images, labels, probabilities, slopes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.8), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.15))
    ax = left.subplots()
    ax.semilogy(history["loss"], color="#00798c", label="digits it learns")
    ax.semilogy(history["val_loss"], color="#d1495b", label="digits kept back")
    best = int(np.argmin(history["val_loss"]))
    ax.axvline(best, color="grey", linestyle=":", label="weights that are kept")
    ax.set(xlabel="epoch", ylabel="cross entropy", title="Learning")
    ax.legend()
    right.suptitle("The digits it is least sure of, and where ink would help (blue) or harm")
    least = np.argsort(probabilities[np.arange(len(labels)), labels])[:6]
    above, below = right.subplots(2, 6)
    for ax, under, i in zip(above, below, least):
        said = probabilities[i].argmax()
        ax.imshow(images[i, ..., 0], cmap="gray_r")
        ax.set_title(f"{said}, {probabilities[i, said]:.0%}\n(a {labels[i]})", fontsize=9)
        limit = abs(slopes[i]).max()
        under.imshow(slopes[i, ..., 0], cmap="RdBu", vmin=-limit, vmax=limit)
        ax.set_axis_off()
        under.set_axis_off()
    figure.savefig(out, dpi=130)


def main(out="keras_fit.png", epochs=40):
    keras.utils.set_random_seed(0)
    learn, (images, labels) = load_digits()
    model = reader()
    history = train(model, *learn, epochs)
    _, accuracy = model.evaluate(images, labels, batch_size=len(labels), verbose=0)
    print(
        f"After {len(history['loss'])} epochs it reads {accuracy:.1%} of {len(labels)} digits it has never seen."
    )

    with tempfile.TemporaryDirectory() as folder:
        loaded = read_back(model, Path(folder) / "reader.keras")
    probabilities, before = (m.predict(images, batch_size=len(images), verbose=0) for m in (loaded, model))
    apart = float(abs(probabilities - before).max())
    print(f"Saved and loaded, it gives the same probabilities, to {apart:.0e}.")

    draw(out, history, images, labels, probabilities, saliency(loaded, images, labels))
    print(f"The picture is in {out}")
    return accuracy, apart, history


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out", default="keras_fit.png", help="where the picture goes (default: %(default)s)"
    )
    parser.add_argument("--epochs", type=int, default=40, help="at most (default: %(default)s)")
    main(**vars(parser.parse_args()))
