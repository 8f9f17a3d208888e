"""Small networks with their data and files, for the tests here and for tests/data/make_keras.py.

That script runs them on TensorFlow. `gradtape run tests/keras/networks.py FOLDER` writes files for it to load.
"""

import json
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers


def mlp():
    return keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(16, activation="relu", kernel_regularizer="l2"),
            layers.Dense(1),
        ]
    )


def convolutional():
    image = keras.Input((8, 8, 2))
    h = layers.Conv2D(4, 3, padding="same", activation="relu")(image)
    h = layers.BatchNormalization()(h)
    h = layers.SeparableConv2D(4, 3)(h)
    h = layers.MaxPooling2D()(h)
    h = layers.GlobalAveragePooling2D()(h)
    return keras.Model(image, layers.Dense(3, activation="softmax")(h))


def recurrent():
    words = keras.Input((6,), dtype="int32")
    h = layers.Embedding(12, 4, mask_zero=True)(words)
    h = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(h)
    h = layers.GRU(3)(h)
    return keras.Model(words, layers.Dense(1, activation="sigmoid")(h))


def transformer():
    sequence = keras.Input((5, 4))
    h = layers.MultiHeadAttention(2, 3)(sequence, sequence)
    h = layers.LayerNormalization()(layers.Dropout(0.25)(h) + sequence)
    h = h + layers.Dense(4)(layers.Dense(8, activation="gelu")(h))
    h = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(h))
    return keras.Model(sequence, layers.Dense(1)(h))


def textual():
    words = layers.TextVectorization(output_sequence_length=4, vocabulary=["the", "tape", "records"])
    h = layers.Embedding(5, 3)(words(sentence := keras.Input((), dtype="string")))
    return keras.Model(sentence, layers.Dense(1)(layers.Flatten()(h)))


# The network, its loss, its metric, and its optimizer.
NETWORKS = {
    "mlp": (mlp, "mse", "mae", lambda: keras.optimizers.Adam(0.01)),
    "convolutional": (
        convolutional,
        "sparse_categorical_crossentropy",
        "accuracy",
        lambda: keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
    ),
    "recurrent": (recurrent, "binary_crossentropy", "accuracy", lambda: keras.optimizers.RMSprop(0.01)),
    "transformer": (transformer, "huber", "mae", lambda: keras.optimizers.AdamW(0.01, clipnorm=1.0)),
    "textual": (textual, "mse", "mae", lambda: keras.optimizers.Adam(0.01)),
}


def data(name, rows=22):
    """Inputs and targets; 22 rows are two batches of 8 and a smaller one."""
    draw = np.random.default_rng(3)
    if name == "convolutional":
        return draw.normal(size=(rows, 8, 8, 2)).astype("float32"), draw.integers(0, 3, rows)
    if name == "recurrent":
        return draw.integers(0, 12, (rows, 6)), draw.integers(0, 2, (rows, 1)).astype("float32")
    if name == "textual":
        words = np.array(["the", "tape", "records", "nothing", ""])[draw.integers(0, 5, (rows, 4))]
        return tf.constant([" ".join(row) for row in words]), draw.normal(size=(rows, 1)).astype("float32")
    shape = (rows, 5, 4) if name == "transformer" else (rows, 8)
    x = draw.normal(size=shape).astype("float32")
    return x, np.sin(x.reshape(rows, -1).sum(1, keepdims=True))


def network(name, seed=0, **options):
    """A compiled model, always with the same initial weights."""
    keras.utils.set_random_seed(seed)
    make, loss, metric, optimizer = NETWORKS[name]
    model = make()
    model.compile(optimizer(), loss, metrics=[metric], **options)
    return model


def trained(name, epochs=3, **options):
    """A model after some epochs, and their losses and metrics."""
    model = network(name, **options)
    x, y = data(name)
    history = model.fit(x, y, batch_size=8, epochs=epochs, shuffle=False, verbose=0)
    return model, history.history


# ---------------------------------------------------------------------------------------------------------------------
# Files

FILES = "mlp.keras", "textual.keras", "convolutional.weights.h5"


def write_files(folder, names=FILES):
    """Write files of networks after an epoch, and `expected.json`: how each of the networks goes on."""
    expected = {}
    for name in names:
        model, _ = trained(name.partition(".")[0], epochs=1)
        (model.save if name.endswith(".keras") else model.save_weights)(Path(folder, name))
        expected[name] = continuation(model, name)
    Path(folder, "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


def load_file(path):
    """The network in a file."""
    if path.name.endswith(".keras"):
        return keras.saving.load_model(path)
    model = network(path.name.partition(".")[0], seed=1)
    model.optimizer.build(model.trainable_variables)  # whose variables are in the file as well
    model.load_weights(path)
    return model


def continuation(model, name):
    """Predictions of a network, the losses of two more epochs, and the optimizer's variables after them."""
    x, y = data(name.partition(".")[0])
    predicted = model.predict(x[:3], verbose=0)
    for variable in model.variables:
        if "seed_generator" in variable.path:  # which is not saved
            variable.assign([7, 0])
    losses = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"]
    sums = [float(np.abs(v).sum()) for v in model.optimizer.variables]
    return {"predicted": predicted.tolist(), "losses": losses, "optimizer": sums}


def check_files(folder):
    """Raise AssertionError unless all files go on as `expected.json` says."""
    expected = json.loads(Path(folder, "expected.json").read_text())
    for name, numbers in expected.items():
        model = load_file(Path(folder, name))
        for what, value in continuation(model, name).items():
            np.testing.assert_allclose(value, numbers[what], 1e-4, 1e-6, err_msg=f"{name}: {what}")
    return list(expected)


if __name__ == "__main__":
    write_files(sys.argv[1], [f"{name}{end}" for name in NETWORKS for end in (".keras", ".weights.h5")])
