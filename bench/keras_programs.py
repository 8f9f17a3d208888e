"""The Keras programs that are timed: models with their data, and what is done with them, on every backend.

`PROGRAMS` has one `Program` for each row. Keras is imported when a program is built, by the worker, on its backend.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Model:
    """A compiled model, its data, and the number of rows in a batch."""

    model: Any
    x: Any
    y: Any
    batch: int = 32

    @property
    def first_batch(self) -> tuple[Any, Any]:
        return self.x[: self.batch], self.y[: self.batch]


@dataclass(frozen=True)
class Program:
    """A row: `run` makes of a model a function of no arguments, and says how many steps it takes.

    `run(backend, model)` returns None where a backend has no such program. `first` is what a user waits for, from the
    model's first layer to the end of what `until` names; `models` is how often that is measured.
    """

    number: int
    title: str
    make: Callable[[], Model]
    run: Callable[[str, Model], tuple[Callable[[], object], int] | None]
    first: Callable[[Model], object] | None = None
    until: str = "the first step"
    models: int = 3
    warm_up: int = 80  # steps, after which every backend has compiled what it compiles


def compiled(layers: list[Any], optimizer: str, loss: str, metric: str, x: Any, y: Any) -> Model:
    import keras

    model = keras.Sequential(layers)
    model.compile(optimizer, loss, metrics=[metric])
    return Model(model, x, y)


def mlp() -> Model:
    from keras import Input, layers

    x = np.random.default_rng(0).random((1000, 20)).astype("float32")
    hidden = [layers.Dense(64, activation="relu") for _ in range(2)]
    return compiled(
        [Input((20,)), *hidden, layers.Dense(1)], "adam", "mse", "mae", x, x.sum(1, keepdims=True)
    )


def convolutions() -> Model:
    from keras import Input, layers

    rng = np.random.default_rng(0)
    x, y = rng.random((512, 28, 28, 1)).astype("float32"), rng.integers(0, 10, 512)
    inner = [
        layer
        for width in (16, 32)
        for layer in (layers.Conv2D(width, 3, activation="relu"), layers.MaxPooling2D())
    ]
    return compiled(
        [Input((28, 28, 1)), *inner, layers.Flatten(), layers.Dense(10, activation="softmax")],
        "adam",
        "sparse_categorical_crossentropy",
        "accuracy",
        x,
        y,
    )


def lstm() -> Model:
    from keras import Input, layers

    rng = np.random.default_rng(0)
    x, y = rng.integers(1, 500, (512, 40)), rng.integers(0, 2, (512, 1)).astype("float32")
    return compiled(
        [Input((40,)), layers.Embedding(500, 32), layers.LSTM(32), layers.Dense(1, activation="sigmoid")],
        "adam",
        "binary_crossentropy",
        "accuracy",
        x,
        y,
    )


def transformer() -> Model:
    """Two blocks of attention and a dense layer, over 40 tokens."""
    import keras
    from keras import layers

    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 500, (512, 40)), rng.integers(0, 10, 512)
    tokens = keras.Input((40,))
    h = layers.Embedding(500, 64)(tokens)
    for _ in range(2):
        attended = layers.MultiHeadAttention(4, 16)(h, h)
        h = layers.LayerNormalization()(h + attended)
        h = layers.LayerNormalization()(h + layers.Dense(64)(layers.Dense(128, activation="gelu")(h)))
    out = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling1D()(h))
    model = keras.Model(tokens, out)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return Model(model, x, y)


def twelve_lengths() -> Model:
    """Batches of sequences of 10 to 21 tokens."""
    import keras
    from keras import layers

    class Batches(keras.utils.PyDataset):
        def __len__(self) -> int:
            return 12

        def __getitem__(self, index: int) -> tuple[Any, Any]:
            rng = np.random.default_rng(index)
            return rng.integers(1, 100, (16, 10 + index)), rng.integers(0, 2, (16, 1)).astype("float32")

    made = compiled(
        [
            keras.Input((None,)),
            layers.Embedding(100, 16),
            layers.Bidirectional(layers.LSTM(16)),
            layers.Dense(1, activation="sigmoid"),
        ],
        "adam",
        "binary_crossentropy",
        "accuracy",
        *Batches()[11],
    )
    made.model.batches = Batches(workers=1, use_multiprocessing=False)
    return made


def application(name: str) -> Callable[[], Model]:
    def make() -> Model:
        import keras

        rng = np.random.default_rng(0)
        model = getattr(keras.applications, name)(weights=None, input_shape=(96, 96, 3), classes=10)
        model.compile("sgd", "sparse_categorical_crossentropy")
        return Model(model, rng.random((8, 96, 96, 3)).astype("float32"), rng.integers(0, 10, 8), batch=8)

    return make


def fit(epochs: int) -> Callable[[str, Model], tuple[Callable[[], object], int]]:
    def run(backend: str, it: Model) -> tuple[Callable[[], object], int]:
        def again() -> object:
            return it.model.fit(it.x, it.y, batch_size=it.batch, epochs=epochs, verbose=0)

        return again, epochs * -(-len(it.x) // it.batch)

    return run


def fit_lengths(backend: str, it: Model) -> tuple[Callable[[], object], int]:
    return lambda: it.model.fit(it.model.batches, verbose=0), 12


def train_on_batch(backend: str, it: Model) -> tuple[Callable[[], object], int]:
    return lambda: it.model.train_on_batch(it.x, it.y), 1


def predict_one(backend: str, it: Model) -> tuple[Callable[[], object], int]:
    return lambda: it.model.predict(it.x[:1], verbose=0), 1


def with_tape(backend: str, model: Any, optimizer: Any) -> Callable[[Any, Any], Any]:
    """A training step with a tape."""
    from keras import ops

    tf = __import__(backend)

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = ops.mean(ops.square(model(x, training=True) - y))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    return step


def with_torch(model: Any, optimizer: Any) -> Callable[[Any, Any], Any]:
    import torch
    from keras import ops

    def step(x: Any, y: Any) -> Any:
        model.zero_grad()
        loss = ops.mean(ops.square(model(x, training=True) - y))
        loss.backward()
        with torch.no_grad():
            optimizer.apply([v.value.grad for v in model.trainable_variables], model.trainable_variables)
        return loss

    return step


def with_jax(model: Any, optimizer: Any) -> Callable[[Any, Any], Any]:
    import jax
    from keras import ops

    state = [[v.value for v in vs] for vs in (model.trainable_variables, optimizer.variables)]

    def loss_of(trainable: Any, x: Any, y: Any) -> Any:
        out, _ = model.stateless_call(trainable, [], x, training=True)
        return ops.mean(ops.square(out - y))

    @jax.jit
    def update(trainable: Any, optimizer_state: Any, x: Any, y: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(trainable, x, y)
        return loss, optimizer.stateless_apply(optimizer_state, gradients, trainable)

    def step(x: Any, y: Any) -> Any:
        nonlocal state
        loss, state = update(*state, x, y)
        return loss

    return step


def loop(is_compiled: bool) -> Callable[[str, Model], tuple[Callable[[], object], int] | None]:
    """The steps of an epoch, in a loop of one's own."""

    def run(backend: str, it: Model) -> tuple[Callable[[], object], int] | None:
        import keras

        optimizer = keras.optimizers.Adam()
        optimizer.build(it.model.trainable_variables)
        if backend in ("gradtape", "tensorflow"):
            step = with_tape(backend, it.model, optimizer)
            if is_compiled:
                step = __import__(backend).function(step)
        elif is_compiled and backend == "jax":
            step = with_jax(it.model, optimizer)
        elif not is_compiled and backend == "torch":
            step = with_torch(it.model, optimizer)
        else:
            return None
        n = len(it.x) // it.batch
        parts = [
            tuple(
                keras.ops.convert_to_tensor(part[i * it.batch : (i + 1) * it.batch]) for part in (it.x, it.y)
            )
            for i in range(n)
        ]

        def epoch() -> float:
            for x, y in parts:
                loss = step(x, y)
            return float(loss)  # waits for it

        return epoch, n

    return run


def fit_one_batch(it: Model) -> object:
    x, y = it.first_batch
    return it.model.fit(x, y, batch_size=it.batch, verbose=0)


def fit_all_lengths(it: Model) -> object:
    return it.model.fit(it.model.batches, verbose=0)


PROGRAMS = {
    "mlp": Program(1, "fit: MLP on 20 numbers, batch 32, a step", mlp, fit(5), fit_one_batch),
    "convolutions": Program(2, "fit: conv net on 28x28, batch 32", convolutions, fit(1), fit_one_batch),
    "lstm": Program(3, "fit: LSTM on 40 tokens, batch 32", lstm, fit(1), fit_one_batch),
    "transformer": Program(4, "fit: two attention blocks, 40 tokens", transformer, fit(1), fit_one_batch),
    "loop": Program(5, "own loop, eager: MLP, a step", mlp, loop(False)),
    "compiled_loop": Program(6, "own loop, compiled: MLP, a step", mlp, loop(True)),
    "predict": Program(7, "predict: MLP, one row", mlp, predict_one),
    "lengths": Program(
        9,
        "fit: BiLSTM, 12 lengths, a step",
        twelve_lengths,
        fit_lengths,
        fit_all_lengths,
        until="the end of an epoch",
        models=1,
        warm_up=140 * 12,  # gradtape compiles a length that has come 128 times at the latest
    ),
    "resnet": Program(
        10,
        "ResNet50 on 8 of 96x96, a step",
        application("ResNet50"),
        train_on_batch,
        fit_one_batch,
        models=1,
        warm_up=30,
    ),
    "mobilenet": Program(
        11,
        "MobileNetV2 on 8 of 96x96, a step",
        application("MobileNetV2"),
        train_on_batch,
        fit_one_batch,
        models=1,
        warm_up=30,
    ),
}
