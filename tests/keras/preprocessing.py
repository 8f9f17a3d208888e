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


# Options of the layer that begins the name, its input, and what it is adapted to.
LAYERS = {
    "Normalization adapted": ({}, NUMBERS, NUMBERS),
    "Normalization by axis": ({"axis": 1, "mean": [1.0, 2.0, 3.0], "variance": [1.0, 4.0, 9.0]}, NUMBERS),
    "Normalization inverted": ({"mean": 0.5, "variance": 4.0, "invert": True}, NUMBERS),
    "TextVectorization adapted": ({}, TEXTS, TEXTS),
    "TextVectorization of pairs": ({"ngrams": 2, "output_sequence_length": 5}, TEXTS, TEXTS),
    "TextVectorization multi_hot": ({"max_tokens": 6, "output_mode": "multi_hot"}, TEXTS, TEXTS),
    "TextVectorization count": ({"output_mode": "count", "standardize": "lower"}, TEXTS, TEXTS),
    "TextVectorization tf_idf": ({"output_mode": "tf_idf"}, TEXTS, TEXTS),
    "TextVectorization of characters": ({"split": "character", "output_sequence_length": 9}, TEXTS, TEXTS),
    "StringLookup": ({"vocabulary": VOCABULARY}, WORDS),
    "StringLookup adapted": ({"num_oov_indices": 2}, WORDS, WORDS[:3]),
    "StringLookup with a mask": ({"vocabulary": VOCABULARY, "mask_token": ""}, PAIRS),
    "StringLookup one_hot": ({"vocabulary": VOCABULARY, "output_mode": "one_hot"}, WORDS),
    "StringLookup multi_hot": ({"vocabulary": VOCABULARY, "output_mode": "multi_hot"}, PAIRS),
    "StringLookup count": ({"vocabulary": VOCABULARY, "output_mode": "count"}, PAIRS),
    "IntegerLookup": ({"vocabulary": [3, 4, 7]}, CODES),
    "IntegerLookup adapted": ({"mask_token": 0, "num_oov_indices": 2}, CODES, CODES[:3]),
    "IntegerLookup multi_hot": ({"vocabulary": [3, 4], "output_mode": "multi_hot"}, CODES),
    "Hashing words": ({"num_bins": 7}, PAIRS),
    "Hashing salted words": ({"num_bins": 7, "salt": [11, 13], "mask_value": ""}, PAIRS),
    "Hashing numbers": ({"num_bins": 5, "salt": 3}, CODES),
    "Hashing one_hot": ({"num_bins": 3, "output_mode": "one_hot"}, WORDS),
    "Discretization": ({"bin_boundaries": [-1.0, 0.0, 0.5]}, NUMBERS),
    "Discretization adapted": ({"num_bins": 4}, NUMBERS, NUMBERS),
    "Discretization one_hot": ({"bin_boundaries": [0.0, 1.0], "output_mode": "one_hot"}, NUMBERS[:, :1]),
    "CategoryEncoding one_hot": ({"num_tokens": 13, "output_mode": "one_hot"}, CODES[:, 0]),
    "CategoryEncoding multi_hot": ({"num_tokens": 13}, CODES),
    "CategoryEncoding count": ({"num_tokens": 13, "output_mode": "count"}, CODES),
    "Rescaling": ({"scale": 1 / 127.5, "offset": -1}, IMAGES),
    "Resizing": ({"height": 4, "width": 6}, IMAGES),
    "Resizing nearest": ({"height": 9, "width": 3, "interpolation": "nearest"}, IMAGES),
    "Resizing cropped": ({"height": 4, "width": 4, "crop_to_aspect_ratio": True}, IMAGES),
    "Resizing padded": (
        {"height": 6, "width": 6, "interpolation": "bicubic", "pad_to_aspect_ratio": True},
        IMAGES,
    ),
    "CenterCrop": ({"height": 3, "width": 2}, IMAGES),
    "RandomFlip": ({"seed": 1}, IMAGES),
    "RandomRotation": ({"factor": 0.2, "seed": 2}, IMAGES),
    "RandomRotation nearest": (
        {"factor": 0.4, "fill_mode": "constant", "interpolation": "nearest", "seed": 3},
        IMAGES,
    ),
    "RandomZoom": ({"height_factor": 0.4, "width_factor": 0.3, "seed": 4}, IMAGES),
    "RandomContrast": ({"factor": 0.5, "seed": 5}, IMAGES),
    "RandomBrightness": ({"factor": 0.3, "seed": 6}, IMAGES),
    "RandomTranslation": ({"height_factor": 0.3, "width_factor": 0.2, "seed": 7}, IMAGES),
    "RandomCrop": ({"height": 4, "width": 3, "seed": 8}, IMAGES),
}


def make(name):
    """The layer, adapted if it is to be."""
    options, _, *adapt_to = LAYERS[name]
    layer = getattr(layers, name.partition(" ")[0])(**options)
    for data in adapt_to:
        layer.adapt(data)
    return layer


def is_random(name):
    return name.startswith("Random")


def eagerly(name):
    """The layer called on all rows."""
    return make(name)(tf.constant(LAYERS[name][1]), **_training(name))


def in_a_model(name):
    """The layer in a functional model that predicts all rows."""
    x = LAYERS[name][1]
    rows = keras.Input(x.shape[1:], dtype="string" if x.dtype.kind == "U" else x.dtype.name)
    model = keras.Model(rows, make(name)(rows, **_training(name)))
    return (
        model(tf.constant(x))
        if is_random(name)
        else model.predict(tf.constant(x), batch_size=len(x), verbose=0)
    )


def in_a_dataset(name):
    """The layer in `Dataset.map`, on batches of 4 rows, and one of the others."""
    x = LAYERS[name][1]
    layer = make(name)
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
