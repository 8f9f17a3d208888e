"""`fit`, `evaluate` and `predict` in all their ways, each against a loop of our own or against another way."""

import threading

import keras
import numpy as np
import pytest
from keras import layers

import gradtape as tf

from .networks import data, network

X, Y = data("mlp")
WEIGHTS = np.linspace(0.0, 2.0, len(X)).astype("float32")
LABELS = (np.arange(len(X)) % 3 == 0).astype("int32")


def linear(**options):
    model = keras.Sequential([keras.Input((8,)), layers.Dense(1, kernel_initializer="ones")])
    model.compile(keras.optimizers.SGD(0.05), "mse", **options)
    return model


def losses(model, *args, **options):
    return model.fit(*args, **{"epochs": 2, "shuffle": False, "verbose": 0} | options).history["loss"]


def by_hand(weights=None, batch_size=8, epochs=2):
    """Losses and kernel of `linear` trained with NumPy."""
    kernel, bias, found = np.ones((8, 1)), np.zeros(1), []
    weights = np.ones(len(X)) if weights is None else weights
    for _ in range(epochs):
        sums = []
        for start in range(0, len(X), batch_size):
            rows = slice(start, start + batch_size)
            error, weight = X[rows] @ kernel + bias - Y[rows], weights[rows][:, None]
            sums.append((np.mean(weight * error**2), len(error)))
            gradient = 2 * weight * error / len(error)
            kernel, bias = kernel - 0.05 * X[rows].T @ gradient, bias - 0.05 * gradient.sum(0)
        found.append(np.average([loss for loss, _ in sums], weights=[count for _, count in sums]))
    return found


class Rows(keras.utils.PyDataset):
    """Batches of 8."""

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return X[8 * i : 8 * i + 8], Y[8 * i : 8 * i + 8]


def generate():
    while True:
        yield from (Rows()[i] for i in range(3))


def dataset():
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)


INPUTS = {
    "arrays": lambda: {"x": X, "y": Y, "batch_size": 8},
    "tensors": lambda: {"x": tf.constant(X), "y": tf.constant(Y), "batch_size": 8},
    "dataset": lambda: {"x": dataset()},
    "repeated dataset": lambda: {"x": dataset().repeat(), "steps_per_epoch": 3},
    "PyDataset": lambda: {"x": Rows()},
    "generator": lambda: {"x": generate(), "steps_per_epoch": 3},
}
WAYS = {
    "eager": {"run_eagerly": True},
    "compiled": {},
    "jit": {"jit_compile": True},
    "no jit": {"jit_compile": False},
    "two steps at once": {"steps_per_execution": 2},
}


@pytest.mark.parametrize("inputs", INPUTS)
def test_every_input_gives_the_same_losses(inputs):
    np.testing.assert_allclose(losses(linear(), **INPUTS[inputs]()), by_hand(), 1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_same_losses(way):
    model = linear(**WAYS[way])
    np.testing.assert_allclose(losses(model, X, Y, batch_size=8), by_hand(), 1e-5)
    np.testing.assert_allclose(
        model.predict(X[:1], verbose=0), model.predict(X, batch_size=8, verbose=0)[:1], 1e-5
    )


def test_weights_of_samples_and_classes():
    found = losses(linear(), X, Y, batch_size=8, sample_weight=WEIGHTS)
    np.testing.assert_allclose(found, by_hand(WEIGHTS), 1e-5)
    model = keras.Sequential([keras.Input((8,)), layers.Dense(2)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    kernel = model.get_weights()
    by_class = losses(model, X, LABELS, class_weight={0: 0.5, 1: 3.0})
    model.set_weights(kernel)
    by_sample = losses(model, X, LABELS, sample_weight=np.where(LABELS, 3.0, 0.5))
    np.testing.assert_allclose(by_class, by_sample, 1e-6)


def test_validation_data_and_evaluate_agree():
    model = network("mlp")
    history = model.fit(X, Y, validation_data=(X[:5], Y[:5]), epochs=2, verbose=0).history
    found = model.evaluate(X[:5], Y[:5], verbose=0, return_dict=True)
    assert found == pytest.approx({"loss": history["val_loss"][-1], "mae": history["val_mae"][-1]}, 1e-5)
    on_a_dataset = model.evaluate(tf.data.Dataset.from_tensors((X[:5], Y[:5])), verbose=0)
    np.testing.assert_allclose(on_a_dataset, [found["loss"], found["mae"]], 1e-6)


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "compiled"])
def test_masked_steps_do_not_count(eager):
    model = keras.Sequential(
        [keras.Input((4, 3)), layers.Masking(), layers.LSTM(2, return_sequences=True), layers.Dense(1)]
    )
    model.compile("sgd", "mse", run_eagerly=eager)
    x = np.random.default_rng(1).normal(size=(5, 4, 3)).astype("float32")
    x[:, 2:] = 0.0
    y = np.ones((5, 4, 1), "float32")
    expected = np.mean((model.predict(x, verbose=0)[:, :2] - 1.0) ** 2)
    y[:, 2:] = 1e3
    np.testing.assert_allclose(model.evaluate(x, y, verbose=0), expected, 1e-5)
    np.testing.assert_allclose(model.train_on_batch(x, y), expected, 1e-5)


def test_train_on_batch_is_a_step_of_fit():
    model, again = linear(), linear()
    expected = losses(model, X, Y, epochs=1, batch_size=len(X))
    np.testing.assert_allclose(again.train_on_batch(X, Y), expected[0], 1e-6)
    np.testing.assert_allclose(again.get_weights()[0], model.get_weights()[0], 1e-6)
    np.testing.assert_allclose(again.test_on_batch(X, Y), model.evaluate(X, Y, verbose=0), 1e-5)
    np.testing.assert_allclose(again.predict_on_batch(X[:1]), model(X[:1]), 1e-5)


@pytest.mark.parametrize("way", ["eager", "compiled", "two steps at once"])
def test_a_keyboard_interrupt_leaves_a_model_that_goes_on(way):
    class Interrupt(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch >= 1:
                raise KeyboardInterrupt

    model = linear(**WAYS[way])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, batch_size=8, shuffle=False, verbose=0, callbacks=[Interrupt()])
    assert int(model.optimizer.iterations) == 2
    model.fit(X[16:], Y[16:], batch_size=8, shuffle=False, verbose=0)
    assert int(model.optimizer.iterations) == 3
    np.testing.assert_allclose(losses(model, X, Y, batch_size=8, epochs=1), by_hand()[1:], 1e-5)


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "compiled"])
def test_a_train_step_with_a_tape(eager):
    class Own(keras.Model):
        def train_step(self, batch):
            x, y = batch
            with tf.GradientTape() as tape:
                loss = self.compute_loss(x, y, self(x, training=True))
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            for metric in self.metrics:
                metric.update_state(loss) if metric.name == "loss" else metric.update_state(y, self(x))
            return {metric.name: metric.result() for metric in self.metrics}

    x = keras.Input((8,))
    model = Own(x, layers.Dense(1, kernel_initializer="ones")(x))
    model.compile(keras.optimizers.SGD(0.05), "mse", run_eagerly=eager)
    found = losses(model, dataset().take(2))  # two batches of the same size: their mean is the epoch's
    reference = linear()
    np.testing.assert_allclose(found, losses(reference, dataset().take(2)), 1e-5)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_learns_with_float32_weights(policy):
    keras.config.set_dtype_policy(policy)
    model = keras.Sequential([keras.Input((8,)), layers.Dense(16, activation="relu"), layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.01), "mse")
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer) == (policy == "mixed_float16")
    assert model(X).dtype == policy.removeprefix("mixed_")
    assert {v.dtype for v in model.trainable_variables} == {"float32"}
    found = losses(model, X, Y, epochs=8)
    assert found[-1] < 0.8 * found[0]


def test_a_compiled_epoch_is_traced_once():
    traces = []

    class Counted(layers.Layer):
        def call(self, x):
            traces.append(x.shape)
            return x

    model = keras.Sequential([keras.Input((8,)), Counted(), layers.Dense(1)])
    model.compile("sgd", "mse")
    losses(model, X[:16], Y[:16], batch_size=8, epochs=1)
    before = len(traces)
    losses(model, X[:16], Y[:16], batch_size=8, epochs=3)
    assert len(traces) == before


def test_an_error_in_a_layer_keeps_its_text():
    model = keras.Sequential([layers.Lambda(lambda x: tf.matmul(x, tf.ones([3, 3])))])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)matmul.*Arguments received by Lambda"):
        model(X)


def test_verbose_shows_the_loss(capfd):
    linear().fit(X, Y, epochs=1, verbose=2)
    assert "loss:" in capfd.readouterr().out


def structures(rows):
    x = np.arange(3.0 * rows).reshape(rows, 3)
    n = np.arange(rows)
    return {
        "inputs": (x, None, None),
        "targets": (x, n, None),
        "weights": (x, None, n / 2.0),
        "nested": ({"b": x, "a": [n, tf.constant(x)]}, (n, x), None),
        "strings": (np.array([str(i) for i in n], object), n, None),
    }


@pytest.mark.parametrize("rows", [1, 6, 8, 10])
@pytest.mark.parametrize("shuffle", [True, False, "batch"])
@pytest.mark.parametrize("kind", structures(1))
def test_arrays_come_in_the_batches_of_kerass_own_pipeline(kind, shuffle, rows):
    from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

    adapter = ArrayDataAdapter(*structures(rows)[kind], batch_size=4, shuffle=shuffle)
    keras.utils.set_random_seed(7)
    expected = [b for _ in range(2) for b in ArrayDataAdapter.get_tf_dataset.__wrapped__(adapter)]
    keras.utils.set_random_seed(7)
    own = adapter.get_tf_dataset()
    found = [b for _ in range(2) for b in own]
    assert len(found) == len(expected) == 2 * -(-rows // 4)
    for a, b in zip(found, expected, strict=True):
        tf.nest.assert_same_structure(a, b)
        for one, other in zip(tf.nest.flatten(a), tf.nest.flatten(b), strict=True):
            assert (one is None and other is None) or one.dtype is other.dtype
            assert one is None or np.array_equal(one.numpy(), other.numpy())


def test_only_large_batches_are_cut_out_by_a_thread():
    from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

    def threads(width):
        batches = iter(ArrayDataAdapter(np.zeros((64, width), "float32"), batch_size=32).get_tf_dataset())
        before = threading.active_count()
        next(batches)
        return threading.active_count() - before

    assert [threads(100), threads(100_000)] == [0, 1]


def test_optionals_in_a_batch_become_none():
    step = linear()._autoconvert_optionals(lambda data: data)
    x, missing = tf.constant(1.0), tf.experimental.Optional.empty(tf.TensorSpec([]))
    assert step((x, x)) == (x, x)
    assert step((x, missing)) == (x, None)
    assert step({"a": missing, "b": [x]}) == {"a": None, "b": [x]}
