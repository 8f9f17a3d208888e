"""Preprocessing layers with inputs, for the tests here and for tests/data/make_keras.py."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

DRAW = np.random.default_rng(5)
NUMBERS = DRAW.normal(size=(6, 3)).astype("float32")
IMAGES = DRAW.uniform(0, 255, size=(6, 7, 5, 3)).round().astype("float32")
TEXTS = np.array(
    ["The tape records.", "a tape", "the the THE tape, a tape", "", "records of a band", "of the of"]
)
WORDS = np.array(["tape", "band", "", "record", "tape", "disk"])
PAIRS = np.array(
    [["tape", "band"], ["", "tape"], ["disk", "tape"], ["band", "band"], ["x", "y"], ["tape", "x"]]
)
CODES = np.array([[3, 4], [7, 3], [9, 0], [4, 4], [3, 3], [7, 12]])
VOCABULARY = ["tape", "band", "record"]


def adapted(layer, data):
    layer.adapt(data)
    return layer


# A function that makes the layer, and its input.
LAYERS = {
    "Normalization adapted": (lambda: adapted(layers.Normalization(), NUMBERS), NUMBERS),
    "Normalization by axis": (lambda: layers.Normalization(axis=1, mean=[1.0, 2.0, 3.0], variance=[1.0, 4.0, 9.0]), NUMBERS),
    "Normalization inverted": (lambda: layers.Normalization(mean=0.5, variance=4.0, invert=True), NUMBERS),
    "TextVectorization adapted": (lambda: adapted(layers.TextVectorization(), TEXTS), TEXTS),
    "TextVectorization of pairs": (lambda: adapted(layers.TextVectorization(ngrams=2, output_sequence_length=5), TEXTS), TEXTS),
    "TextVectorization multi_hot": (lambda: adapted(layers.TextVectorization(max_tokens=6, output_mode="multi_hot"), TEXTS), TEXTS),
    "TextVectorization count": (lambda: adapted(layers.TextVectorization(output_mode="count", standardize="lower"), TEXTS), TEXTS),
    "TextVectorization tf_idf": (lambda: adapted(layers.TextVectorization(output_mode="tf_idf"), TEXTS), TEXTS),
    "TextVectorization of characters": (lambda: adapted(layers.TextVectorization(split="character", output_sequence_length=9), TEXTS), TEXTS),
    "StringLookup": (lambda: layers.StringLookup(vocabulary=VOCABULARY), WORDS),
    "StringLookup adapted": (lambda: adapted(layers.StringLookup(num_oov_indices=2), WORDS[:3]), WORDS),
    "StringLookup with a mask": (lambda: layers.StringLookup(vocabulary=VOCABULARY, mask_token=""), PAIRS),
    "StringLookup one_hot": (lambda: layers.StringLookup(vocabulary=VOCABULARY, output_mode="one_hot"), WORDS),
    "StringLookup multi_hot": (lambda: layers.StringLookup(vocabulary=VOCABULARY, output_mode="multi_hot"), PAIRS),
    "StringLookup count": (lambda: layers.StringLookup(vocabulary=VOCABULARY, output_mode="count"), PAIRS),
    "IntegerLookup": (lambda: layers.IntegerLookup(vocabulary=[3, 4, 7]), CODES),
    "IntegerLookup adapted": (lambda: adapted(layers.IntegerLookup(mask_token=0, num_oov_indices=2), CODES[:3]), CODES),
    "IntegerLookup multi_hot": (lambda: layers.IntegerLookup(vocabulary=[3, 4], output_mode="multi_hot"), CODES),
    "Hashing words": (lambda: layers.Hashing(7), PAIRS),
    "Hashing salted words": (lambda: layers.Hashing(7, salt=[11, 13], mask_value=""), PAIRS),
    "Hashing numbers": (lambda: layers.Hashing(5, salt=3), CODES),
    "Hashing one_hot": (lambda: layers.Hashing(3, output_mode="one_hot"), WORDS),
    "Discretization": (lambda: layers.Discretization([-1.0, 0.0, 0.5]), NUMBERS),
    "Discretization adapted": (lambda: adapted(layers.Discretization(num_bins=4), NUMBERS), NUMBERS),
    "Discretization one_hot": (lambda: layers.Discretization([0.0, 1.0], output_mode="one_hot"), NUMBERS[:, :1]),
    "CategoryEncoding one_hot": (lambda: layers.CategoryEncoding(13, output_mode="one_hot"), CODES[:, 0]),
    "CategoryEncoding multi_hot": (lambda: layers.CategoryEncoding(13), CODES),
    "CategoryEncoding count": (lambda: layers.CategoryEncoding(13, output_mode="count"), CODES),
    "Rescaling": (lambda: layers.Rescaling(1 / 127.5, offset=-1), IMAGES),
    "Resizing": (lambda: layers.Resizing(4, 6), IMAGES),
    "Resizing nearest": (lambda: layers.Resizing(9, 3, interpolation="nearest"), IMAGES),
    "Resizing cropped": (lambda: layers.Resizing(4, 4, crop_to_aspect_ratio=True), IMAGES),
    "Resizing padded": (lambda: layers.Resizing(6, 6, interpolation="bicubic", pad_to_aspect_ratio=True), IMAGES),
    "CenterCrop": (lambda: layers.CenterCrop(3, 2), IMAGES),
    "RandomFlip": (lambda: layers.RandomFlip(seed=1), IMAGES),
    "RandomRotation": (lambda: layers.RandomRotation(0.2, seed=2), IMAGES),
    "RandomRotation nearest": (lambda: layers.RandomRotation(0.4, fill_mode="constant", interpolation="nearest", seed=3), IMAGES),
    "RandomZoom": (lambda: layers.RandomZoom(0.4, 0.3, seed=4), IMAGES),
    "RandomContrast": (lambda: layers.RandomContrast(0.5, seed=5), IMAGES),
    "RandomBrightness": (lambda: layers.RandomBrightness(0.3, seed=6), IMAGES),
    "RandomTranslation": (lambda: layers.RandomTranslation(0.3, 0.2, seed=7), IMAGES),
    "RandomCrop": (lambda: layers.RandomCrop(4, 3, seed=8), IMAGES),
}  # fmt: skip


def is_random(name):
    return name.startswith("Random")


def eagerly(name):
    """The layer called on all rows."""
    make, x = LAYERS[name]
    return make()(tf.constant(x), **_training(name))


def in_a_model(name):
    """The layer in a functional model that predicts all rows."""
    make, x = LAYERS[name]
    rows = keras.Input(x.shape[1:], dtype="string" if x.dtype.kind == "U" else x.dtype.name)
    model = keras.Model(rows, make()(rows, **_training(name)))
    return (
        model(tf.constant(x))
        if is_random(name)
        else model.predict(tf.constant(x), batch_size=len(x), verbose=0)
    )


def in_a_dataset(name):
    """The layer in `Dataset.map`, on batches of 4 rows, and one of the others."""
    make, x = LAYERS[name]
    layer = make()
    rows = tf.data.Dataset.from_tensor_slices(x).batch(4)
    return [batch.numpy() for batch in rows.map(lambda batch: layer(batch, **_training(name)))]


def _training(name):
    return {"training": True} if is_random(name) else {}


def answers(name):
    """The numbers in short form."""
    found = {"eagerly": short(eagerly(name))}
    if is_random(name):
        found["in_a_dataset"] = [short(batch) for batch in in_a_dataset(name)]
    return found


def short(array):
    """Shape, dtype and numbers; of images some, and the sum of all weighted by position."""
    array = np.asarray(array)
    numbers = array.ravel()
    if numbers.size > 120:
        numbers = [*numbers[:40:3], (numbers * np.cos(np.arange(numbers.size))).sum()]
    return {
        "shape": array.shape,
        "dtype": array.dtype.name,
        "numbers": [float(f"{number:.7g}") for number in numbers],
    }
