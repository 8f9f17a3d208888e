"""Keras's export: model.export, ExportArchive and TFSMLayer on gradtape's saved models."""

import numpy as np
import pytest

import gradtape as tf
from gradtape import keras

layers = keras.layers


def attention():
    words = keras.Input((None,), dtype="int32")
    embedded = layers.Embedding(20, 8)(words)
    seen = layers.MultiHeadAttention(2, 4)(embedded, embedded, use_causal_mask=True)
    pooled = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(embedded + seen))
    return keras.Model(words, layers.Dense(2)(pooled))


MODELS = {
    "dense": lambda: keras.Sequential(
        [keras.Input((8,)), layers.Dense(4, "relu"), layers.BatchNormalization(), layers.Dense(2)]
    ),
    "lstm": lambda: keras.Sequential([keras.Input((5, 8)), layers.LSTM(4), layers.Dense(2)]),
    "gru of any length": lambda: keras.Sequential([keras.Input((None, 8)), layers.GRU(4), layers.Dense(2)]),
    "images": lambda: keras.Sequential(
        [
            keras.Input((12, 12, 1)),
            layers.Conv2D(4, 3, strides=2, padding="same"),
            layers.SeparableConv2D(4, 3),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(2),
        ]
    ),
    "attention": attention,
}


def inputs_for(model, batch):
    random = np.random.default_rng(batch)
    shape = [batch if i == 0 else 7 if n is None else n for i, n in enumerate(model.input_shape)]
    if model.inputs[0].dtype == "int32":
        return random.integers(0, 20, shape).astype(np.int32)
    return random.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("name", MODELS)
def test_an_exported_model_serves_batches_of_any_size(name, tmp_path):
    model = MODELS[name]()
    model.export(tmp_path, verbose=False)
    loaded = tf.saved_model.load(tmp_path)
    for batch in (1, 2, 5):
        x = inputs_for(model, batch)
        expected = model(x, training=False)
        np.testing.assert_allclose(loaded.serve(x), expected, 1e-5, 1e-6)
        (served,) = loaded.signatures["serving_default"](tf.constant(x)).values()
        np.testing.assert_allclose(served, expected, 1e-5, 1e-6)
    assert len(loaded.trainable_variables) == len(model.trainable_variables)


def test_first_and_second_gradients_through_an_exported_model(tmp_path):
    model = MODELS["dense"]()
    model.export(tmp_path, verbose=False)
    loaded = tf.saved_model.load(tmp_path)
    x = tf.constant(inputs_for(model, 3))

    def of(function, variables):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                loss = tf.reduce_sum(tf.square(function(x)))
            slopes = inner.gradient(loss, [x, *variables])
            total = sum(tf.reduce_sum(tf.square(slope)) for slope in slopes)
        return [*slopes, *outer.gradient(total, [x, *variables])]

    mine = of(loaded.serve, loaded.trainable_variables)
    theirs = of(lambda x: model(x, training=False), model.trainable_variables)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, 1e-4, 1e-5)


def test_a_loaded_layer_is_fitted_like_the_original(tmp_path):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((8,)), layers.Dense(4, "tanh"), layers.Dense(1)])
    model.export(tmp_path, verbose=False)
    loaded = keras.Sequential([keras.Input((8,)), layers.TFSMLayer(tmp_path, call_endpoint="serve")])
    assert [w.shape for w in loaded.trainable_weights] == [w.shape for w in model.trainable_weights]
    x = inputs_for(model, 32)
    y = x[:, :1] * 2
    losses = []
    for each in (model, loaded):
        each.compile(keras.optimizers.SGD(0.1), "mse")
        losses.append(each.fit(x, y, batch_size=12, epochs=3, shuffle=False, verbose=0).history["loss"])
    np.testing.assert_allclose(*losses, 1e-4)
    assert losses[0][-1] < losses[0][0] / 2
    for a, b in zip(loaded.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, 1e-4, 1e-5)


def test_an_archive_with_training_and_inference(tmp_path):
    model = keras.Sequential(
        [keras.Input((8,)), layers.Dense(4), layers.BatchNormalization(), layers.Dropout(0.5)]
    )
    archive = keras.export.ExportArchive()
    archive.track(model)
    spec = [keras.InputSpec(shape=(None, 8), dtype="float32")]
    archive.add_endpoint("infer", lambda x: model(x, training=False), spec)
    archive.add_endpoint("train", lambda x: model(x, training=True), spec)
    archive.write_out(tmp_path, verbose=False)
    loaded = tf.saved_model.load(tmp_path)
    assert list(loaded.signatures) == ["infer", "train", "serving_default"]
    x = inputs_for(model, 6)
    before = [v.numpy() for v in loaded.non_trainable_variables]
    np.testing.assert_allclose(loaded.infer(x), model(x), 1e-5, 1e-6)
    assert (loaded.train(x).numpy() == 0).any()
    after = [v.numpy() for v in loaded.non_trainable_variables]
    assert any(not np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_a_fitted_model_is_saved_as_it_is(tmp_path):
    model = keras.Sequential([layers.Dense(1)])
    model.compile("adam", "mse")
    x = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    model.fit(x, x[:, :1], batch_size=8, verbose=0)
    tf.saved_model.save(model, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    np.testing.assert_allclose(loaded.signatures["serving_default"](x)["output_0"], model(x), 1e-5, 1e-6)


def test_models_of_strings_are_refused(tmp_path):
    vectorize = layers.TextVectorization(vocabulary=["one", "two"])
    model = keras.Sequential([keras.Input((), dtype="string"), vectorize, layers.Embedding(10, 2)])
    with pytest.raises(ValueError, match="takes strings, which XLA does not compute"):
        model.export(tmp_path / "model", verbose=False)
    assert not (tmp_path / "model").exists()
