"""saved_model: what is saved comes back without its classes, computes, differentiates and trains as before."""

import hashlib
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import gradtape as tf
from gradtape.core import storage
from gradtape.core.errors import NotCompilableError
from gradtape.saved_model.folder import _digest

Spec = tf.TensorSpec


def round_trip(thing, tmp_path, **options):
    tf.saved_model.save(thing, tmp_path / "model", **options)
    return tf.saved_model.load(tmp_path / "model")


def equal(a, b):
    if not tf.nest.is_nested(a):
        return np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    return tf.nest.map_structure(
        lambda x, y: np.testing.assert_array_equal(np.asarray(x), np.asarray(y)), a, b
    )


def close(a, b, tolerance=1e-6):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), tolerance, tolerance)


def holding(function=None, **parts):
    """A module with these attributes; `function` is `f`, of a batch of three numbers each."""
    module = tf.Module()
    for name, part in parts.items():
        setattr(module, name, part)
    if function is not None:
        module.f = tf.function(function, input_signature=[Spec([None, 3], name="x")])
    return module


class Dense(tf.Module):
    """A layer that counts its calls."""

    def __init__(self):
        super().__init__()
        self.w = tf.Variable([[1.0, -2.0], [0.5, 0.25], [3.0, 1.0]], name="w")
        self.b = tf.Variable([0.1, 0.2], name="b")
        self.calls = tf.Variable(0, trainable=False)

    @tf.function(input_signature=[Spec([None, 3], name="x")])
    def __call__(self, x):
        self.calls.assign_add(1)
        return tf.tanh(x @ self.w + self.b)


X = tf.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))


# ---------------------------------------------------------------------------------------------------------------------
# Objects


def test_a_layer_with_a_counter_comes_back(tmp_path):
    layer = Dense()
    layer(X)
    loaded = round_trip(layer, tmp_path)
    assert type(loaded).__module__ == "gradtape.saved_model.loading"
    assert (loaded.w.name, loaded.w.trainable, loaded.calls.trainable) == ("w:0", True, False)
    equal(loaded(X), layer(X))
    for rows in (1, 2):  # for which the original is not compiled yet, and rounds otherwise
        close(loaded(X[:rows]), layer(X[:rows]))
    assert int(loaded.calls) == int(layer.calls) == 4
    loaded.b.assign([1.0, 1.0])
    close(loaded(X), np.tanh(X.numpy() @ layer.w.numpy() + 1.0))


def test_containers_and_shared_objects_come_back(tmp_path):
    v = tf.Variable(1.0, name="v")
    inner = holding(v=v)
    thing = holding(
        inner=inner,
        same=inner,
        list=[v, 2, [tf.Variable(2)]],
        tuple=(inner, v),
        dict={"a": v, 7: tf.Variable(3.0)},
    )
    thing.text, thing.tensor = "plain", tf.constant(1.0)
    loaded = round_trip(thing, tmp_path)
    assert loaded.inner is loaded.same is loaded.tuple[0]
    assert loaded.list[0] is loaded.inner.v is loaded.dict["a"] is loaded.tuple[1]
    assert int(loaded.list[1][0]) == 2
    assert float(loaded.dict[7]) == 3.0
    assert not hasattr(loaded, "text")
    assert not hasattr(loaded, "tensor")
    assert not callable(loaded)


def test_plain_objects_and_checkpoints_are_saved(tmp_path):
    class Plain:
        pass

    plain = Plain()
    plain.part = Plain()
    plain.part.v = tf.Variable([1, 2], dtype="int64")
    plain.part.back = plain
    loaded = round_trip(plain, tmp_path)
    equal(loaded.part.v, [1, 2])
    assert loaded.part.back is loaded
    loaded = round_trip(tf.train.Checkpoint(step=tf.Variable(5)), tmp_path)
    assert int(loaded.step) == 5


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "int8", "uint64", "bool", "complex64", "complex128"]
)
def test_variables_keep_their_dtype(dtype, tmp_path):
    v = tf.Variable(tf.cast([0, 1, 2], dtype))
    module = holding(v=v, twice=tf.function(lambda: (v, tf.identity(v)), input_signature=[]))
    loaded = round_trip(module, tmp_path)
    assert loaded.v.dtype == v.dtype
    equal(loaded.v, v)
    equal(loaded.twice(), module.twice())


def test_variables_of_open_shape_keep_it(tmp_path):
    v = tf.Variable([1.0, 2.0], shape=[None])
    loaded = round_trip(holding(v=v), tmp_path)
    assert loaded.v.shape == [None]
    loaded.v.assign([1.0])


def test_tables_come_back(tmp_path):
    words = tf.lookup.KeyValueTensorInitializer(["a", "\xe9"], tf.constant([5, 6], tf.int64))
    numbers = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [0.5, 1.5]), -1.0)
    mutable = tf.lookup.experimental.MutableHashTable("string", "float32", [0.0, 0.0])
    mutable.insert(["k"], [[1.0, 2.0]])
    thing = holding(
        texts=tf.lookup.StaticHashTable(words, -1),
        vocabulary=tf.lookup.StaticVocabularyTable(words, 3),
        numbers=numbers,
        mutable=mutable,
        dense=tf.lookup.experimental.DenseHashTable("int64", "int64", -1, 0, -9),
        look=tf.function(lambda x: numbers.lookup(x), input_signature=[Spec([None], tf.int32)]),
    )
    loaded = round_trip(thing, tmp_path)
    for name in ("texts", "vocabulary", "mutable"):
        equal(
            getattr(loaded, name).lookup(["a", "\xe9", "k", "?"]),
            getattr(thing, name).lookup(["a", "\xe9", "k", "?"]),
        )
    equal(loaded.numbers.lookup([2, 3]), [1.5, -1.0])
    equal(loaded.look([2, 3, 1]), [1.5, -1.0, 0.5])
    assert int(loaded.dense.size()) == 0


@pytest.mark.parametrize("thing", [5, "text", tf.constant(1.0), {"v": 1}, [tf.Variable(1.0)]], ids=str)
def test_values_are_no_objects_to_save(thing, tmp_path):
    with pytest.raises(ValueError, match="Put it into one"):
        tf.saved_model.save(thing, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_checkpoint_restores_a_loaded_object(tmp_path):
    layer = Dense()
    loaded = round_trip(layer, tmp_path)
    path = tf.train.Checkpoint(model=layer).save(tmp_path / "ckpt")
    loaded.w.assign(tf.zeros_like(loaded.w))
    tf.train.Checkpoint(model=loaded).restore(path).assert_consumed()
    equal(loaded.w, layer.w)


# ---------------------------------------------------------------------------------------------------------------------
# Functions


def test_methods_keep_names_signatures_and_defaults(tmp_path):
    class Several(tf.Module):
        @tf.function
        def scale(self, x, by=2, negative=False):
            return -x * by if negative else x * by

        @tf.function
        def never_called(self, x):
            return x

        @tf.function(input_signature=[{"a": Spec([None]), "b": [Spec([])]}])
        def nested(self, parts):
            return {"sum": parts["a"] + parts["b"][0], "nothing": None, "pair": (parts["a"], parts["b"])}

    module = Several()
    module.scale(tf.constant(1.0))
    module.scale(tf.constant([1.0, 2.0]), by=3)
    module.scale(tf.constant([1.0, 2.0]), 3, negative=True)
    loaded = round_trip(module, tmp_path)
    assert float(loaded.scale(tf.constant(4.0))) == float(loaded.scale(4.0)) == 8.0
    equal(loaded.scale(x=tf.constant([1.0, 4.0]), by=3), [3.0, 12.0])
    equal(loaded.scale([1.0, 4.0], 3, True), [-3.0, -12.0])
    assert len(loaded.scale.concrete_functions) == 3
    with pytest.raises(ValueError, match=r"saved for no arguments like.*It takes .*shape=\(2,\)"):
        loaded.scale(tf.constant([1.0, 4.0]), 5)
    with pytest.raises(ValueError, match="zero restored functions"):
        loaded.never_called(1.0)
    parts = {"a": tf.constant([1.0, 2.0]), "b": [tf.constant(3.0)]}
    equal(loaded.nested(parts), module.nested(parts))
    with pytest.raises(TypeError, match="It takes"):
        loaded.nested({"a": tf.constant([1]), "b": [tf.constant(3.0)]})


def test_signatures_take_and_give_tensors_by_name(tmp_path):
    @tf.function(input_signature=[Spec([None], name="first"), Spec([], tf.int32)])
    def pair(x, n):
        return x * tf.cast(n, "float32"), n

    module = holding(pair=pair)
    loaded = round_trip(module, tmp_path, signatures={"serving_default": pair, "named": _by_name})
    assert list(loaded.signatures) == ["serving_default", "named"]
    serve = loaded.signatures["serving_default"]
    assert serve.structured_input_signature == (
        (),
        {"first": Spec([None], name="first"), "n": Spec([], tf.int32, name="n")},
    )
    assert serve.structured_outputs == {
        "output_0": Spec([None], name="output_0"),
        "output_1": Spec([], tf.int32, name="output_1"),
    }
    equal(serve(first=[1.0, 2.0], n=3), {"output_0": tf.constant([3.0, 6.0]), "output_1": tf.constant(3)})
    equal(loaded.signatures["named"](tf.constant(2.0)), {"x": tf.constant(2.0), "y": tf.constant(4.0)})
    with pytest.raises(TypeError, match="takes tensors by name: first, n"):
        serve(tf.constant([1.0]), tf.constant(3))
    with pytest.raises(TypeError, match="it was given"):
        serve(first=tf.constant(1.0), n=3)
    with pytest.raises(TypeError):
        loaded.signatures["other"] = serve


@tf.function(input_signature=[Spec([])])
def _by_name(x):
    return {"y": 2 * x, "x": x}


def test_the_default_signature_is_the_only_function_with_one(tmp_path):
    assert list(round_trip(Dense(), tmp_path).signatures) == ["serving_default"]
    two = holding(lambda x: x, g=tf.function(lambda x: x, input_signature=[Spec([])]))
    assert not round_trip(two, tmp_path).signatures
    nested = holding(lambda x: (x, [x]))
    assert not round_trip(nested, tmp_path).signatures


@pytest.mark.parametrize(
    "signature",
    [lambda x: x, tf.function(lambda x: x), tf.function(lambda x: {"a": [x]}, input_signature=[Spec([])])],
)
def test_other_functions_are_no_signatures(signature, tmp_path):
    with pytest.raises(ValueError, match="signature"):
        tf.saved_model.save(holding(), tmp_path / "model", signatures=signature)


def test_tensors_of_any_rank(tmp_path):
    module = holding()
    module.double = tf.function(lambda x: 2.0 * x)
    concrete = module.double.get_concrete_function(Spec(None))
    loaded = round_trip(module, tmp_path, signatures=concrete)
    for shape in ((), (2,), (2, 3, 1)):
        equal(loaded.double(tf.ones(shape)), 2 * tf.ones(shape))
        equal(loaded.signatures["serving_default"](x=tf.ones(shape))["output_0"], 2 * tf.ones(shape))


def test_captured_constants_are_kept_once(tmp_path):
    table = tf.constant(np.arange(3000, dtype=np.float32))
    v = tf.Variable(2.0)
    module = holding(lambda x: x[:, :1] * table * v, v=v)
    loaded = round_trip(module, tmp_path)
    equal(loaded.f(X), module.f(X))
    (file,) = (tmp_path / "model" / "variables").iterdir()
    assert file.stat().st_size < 20_000


def test_a_function_may_use_variables_of_nobody(tmp_path):
    v = tf.Variable([1.0, 2.0, 3.0])
    loaded = round_trip(holding(lambda x: x * v), tmp_path)
    with tf.GradientTape() as tape:
        y = loaded.f(X)
    (found,) = tape.watched_variables()
    equal(tape.gradient(y, found), tf.reduce_sum(X, 0))


def test_a_function_that_creates_variables_when_first_called(tmp_path):
    class Lazy(tf.Module):
        w = None

        @tf.function(input_signature=[Spec([None, 3])])
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.ones([3, 2]))
            return x @ self.w

    module = Lazy()
    loaded = round_trip(module, tmp_path)
    equal(loaded(X), module(X))
    equal(loaded.w, module.w)


def test_random_numbers_are_drawn_anew_in_each_call(tmp_path):
    module = holding(lambda x: tf.nn.dropout(x + 2.0, 0.5) + tf.random.normal([x.shape[0], 1]))
    loaded = round_trip(module, tmp_path)
    assert not np.array_equal(loaded.f(X), loaded.f(X))
    for rows in (1, 2, 3, 4):
        tf.random.set_seed(3)
        expected = tf.function(module.f.python_function)(
            X[:rows]
        )  # compiled: it draws as the saved program does
        tf.random.set_seed(3)
        close(loaded.f(X[:rows]), expected)


def test_assertions_are_kept(tmp_path):
    def checked(x):
        tf.debugging.assert_positive(x)
        return x

    loaded = round_trip(holding(checked), tmp_path)
    equal(loaded.f(tf.ones([2, 3])), tf.ones([2, 3]))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="an assertion of the saved function checked failed"
    ):
        loaded.f(X)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="an assertion of the saved function checked failed"
    ):
        tf.function(loaded.f)(X)


def test_loops_and_branches(tmp_path):
    @tf.function(input_signature=[Spec([None, 3]), Spec([], tf.int32)])
    def power(x, n):
        result = tf.ones_like(x)
        for _ in tf.range(n):
            result *= x
        return result if tf.reduce_sum(result) > 0 else -result

    module = holding(power=power)
    loaded = round_trip(module, tmp_path)
    for n in (0, 1, 3):
        close(loaded.power(X[:2], n), power(X[:2], n))


def test_a_loaded_object_is_saved_again(tmp_path):
    layer = Dense()
    loaded = round_trip(layer, tmp_path)
    loaded.b.assign([5.0, 6.0])
    again = round_trip(loaded, tmp_path)
    equal(again(X), loaded(X))
    equal(again.signatures["serving_default"](x=X)["output_0"], loaded(X))
    wrapper = holding(lambda x: 2.0 * loaded(x), inner=loaded)
    shutil.rmtree(tmp_path / "model")
    equal(round_trip(wrapper, tmp_path).f(X), wrapper.f(X))


def test_function_aliases(tmp_path):
    module = holding(lambda x: x + 1.0)
    options = tf.saved_model.SaveOptions(function_aliases={"other": module.f})
    tf.saved_model.save(module, tmp_path / "model", options=options)
    loaded = tf.saved_model.load(
        tmp_path / "model", options=tf.saved_model.LoadOptions(experimental_load_function_aliases=True)
    )
    equal(loaded.function_aliases["other"](X), module.f(X))
    assert not hasattr(tf.saved_model.load(tmp_path / "model"), "function_aliases")


# ---------------------------------------------------------------------------------------------------------------------
# Gradients


@tf.custom_gradient
def steep(x):
    return tf.sign(x) * x, lambda g: 100.0 * g


GRADIENTS = {
    "dense": lambda x, v: tf.tanh(x * v),
    "stopped": lambda x, v: x * tf.stop_gradient(x) * v,
    "custom": lambda x, v: steep(x * v),
    "norm": lambda x, v: tf.norm(x * v, axis=1),
    "gathered": lambda x, v: tf.gather(v, [0, 2]) * x[:, :2],
    "softmax": lambda x, v: tf.nn.softmax(x * v)[:, :2],
    "loop": lambda x, v: tf.scan(lambda a, row: a * tf.tanh(row), x * v, v),
    "unused": lambda x, v: x * x,
}


def derivatives(f, v, x):
    """The values, the gradients by x and v, and the gradients of a function of these."""
    with tf.GradientTape() as outer:
        outer.watch([x, v])
        with tf.GradientTape() as inner:
            inner.watch([x, v])
            y = f(x)
        first = inner.gradient(y, [x, v])
        total = sum(tf.reduce_sum(tf.sin(g)) for g in first if g is not None)
    return y, first, outer.gradient(total, [x, v])


@pytest.mark.parametrize("name", GRADIENTS)
def test_first_and_second_gradients_are_the_originals(name, tmp_path):
    v = tf.Variable([0.5, -1.5, 2.0])
    module = holding(lambda x: GRADIENTS[name](x, v), v=v)
    loaded = round_trip(module, tmp_path)
    for rows in (1, 3):
        x = X[:rows] + 0.01
        expected, found = derivatives(module.f, v, x), derivatives(loaded.f, loaded.v, x)
        close(found[0], expected[0])
        for mine, theirs in zip((*found[1], *found[2]), (*expected[1], *expected[2]), strict=True):
            assert (mine is None) == (theirs is None)
            if mine is not None:
                close(mine, tf.convert_to_tensor(theirs), 1e-5)


def test_jacobians_through_a_loaded_function(tmp_path):
    v = tf.Variable([0.5, -1.5, 2.0])
    module = holding(lambda x: tf.tanh(x * v), v=v)
    loaded = round_trip(module, tmp_path)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        mine, theirs = loaded.f(X), module.f(X)
    close(tape.jacobian(mine, loaded.v), tape.jacobian(theirs, v))
    close(tape.batch_jacobian(mine, X), tape.batch_jacobian(theirs, X))


def test_a_third_gradient_is_refused_and_says_so(tmp_path):
    loaded = round_trip(holding(lambda x: x**4), tmp_path)
    x = tf.constant([[1.0, 2.0, 3.0]])
    with tf.GradientTape() as third:
        third.watch(x)
        second = derivatives(loaded.f, x, x)[2][0]
    with pytest.raises(
        tf.errors.UnimplementedError,
        match="no gradient of order 3: it was saved with gradients up to order 2",
    ):
        third.gradient(second, x)
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    loaded = round_trip(holding(lambda x: x**4), tmp_path, options=options)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loaded.f(x)
    with pytest.raises(tf.errors.UnimplementedError, match="no gradient of order 1"):
        tape.gradient(y, x)


# ---------------------------------------------------------------------------------------------------------------------
# Training


class Regression(tf.Module):
    """A model with its optimizer and its training step."""

    def __init__(self):
        super().__init__()
        self.w = tf.Variable([[1.0], [-1.0], [0.5]])
        self.optimizer = tf.optimizers.Adam(0.1)
        self.optimizer.build([self.w])

    @tf.function(input_signature=[Spec([None, 3])])
    def predict(self, x):
        return x @ self.w

    @tf.function(input_signature=[Spec([None, 3]), Spec([None, 1])])
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.predict(x) - y) ** 2)
        self.optimizer.apply_gradients([(tape.gradient(loss, self.w), self.w)])
        return loss


def batches():
    random = np.random.default_rng(0)
    for _ in range(6):  # of one size: the original is compiled for its first one
        x = random.standard_normal((4, 3)).astype(np.float32)
        yield tf.constant(x), tf.constant(x.sum(1, keepdims=True))


def test_a_saved_training_step_goes_on_as_if_it_had_never_been_saved(tmp_path):
    model = Regression()
    given = list(batches())
    for x, y in given[:3]:
        model.step(x, y)
    loaded = round_trip(model, tmp_path)
    for x, y in given[3:]:
        equal(loaded.step(x, y), model.step(x, y))
        equal(loaded.w, model.w)
    equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("compiled", [False, True])
def test_a_loaded_model_is_trained_further(compiled, tmp_path):
    model = Dense()
    loaded = round_trip(model, tmp_path)

    def step_of(layer):
        optimizer = tf.optimizers.SGD(0.1, momentum=0.9)

        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(layer(x) ** 2)
            variables = [layer.w, layer.b]
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return loss

        return tf.function(step) if compiled else step

    mine, theirs = step_of(loaded), step_of(model)
    for rows in (4, 2, 4):
        close(mine(X[:rows]), theirs(X[:rows]))
    close(loaded.w, model.w)
    close(loaded.b, model.b)
    assert int(loaded.calls) == int(model.calls) == 3


# ---------------------------------------------------------------------------------------------------------------------
# Open lengths


def attention(x):
    scores = x @ tf.transpose(x, [0, 2, 1])
    seen = tf.linalg.band_part(tf.ones([x.shape[1], x.shape[1]]), -1, 0) > 0
    return tf.nn.softmax(tf.where(seen, scores, -1e9)) @ x


OPEN = {
    "means": (lambda x: tf.reduce_mean(x, 0) + tf.reduce_mean(x), [None, 3]),
    "deviations": (lambda x: tf.math.reduce_std(x) * x, [None, 3]),
    "moments": (lambda x: tf.nn.moments(x, [0, 1]), [None, 3]),
    "lengths as values": (lambda x: x * tf.cast(tf.shape(x)[0], "float32") / x.shape[0] ** 0.5, [None, 3]),
    "constants of open length": (
        lambda x: tf.zeros([x.shape[0], 3]) + x + tf.cast(tf.range(x.shape[0]), "float32")[:, None],
        [None, 3],
    ),
    "reshaped": (lambda x: tf.reshape(x, [-1, 12]) + tf.reshape(x, [x.shape[0], 12]), [None, 3, 4]),
    "joined": (lambda x: tf.concat([x, x], 0)[1:], [None, 3]),
    "tiled": (lambda x: tf.tile(x, [2, 1]), [None, 3]),
    "repeated": (lambda x: tf.repeat(x, 2, axis=0), [None, 3]),
    "sorted": (lambda x: tf.sort(x, 0), [None, 3]),
    "summed up": (lambda x: tf.cumsum(x, 0), [None, 3]),
    "scanned": (lambda x: tf.scan(lambda a, row: a * 0.5 + row, x), [None, 3]),
    "one hot": (lambda x: tf.one_hot(tf.argmax(x, 1), 5), [None, 3]),
    "products": (lambda x: tf.einsum("bij,bkj->bik", x, x), [None, 3, 4]),
    "attention": (attention, [None, None, 3]),
    "convolution": (lambda x: tf.nn.conv2d(x, tf.ones([3, 3, 2, 4]), 2, "SAME"), [None, 8, 8, 2]),
    "open image": (
        lambda x: tf.nn.conv2d(x, tf.ones([3, 3, 2, 4]), 1, "SAME") + tf.ones([4]),
        [None, None, None, 2],
    ),
    "other padding for odd lengths": (
        lambda x: tf.nn.conv2d(x, tf.ones([3, 3, 2, 4]), 2, "SAME"),
        [None, None, None, 2],
    ),
    "valid windows": (
        lambda x: tf.nn.conv1d(x, tf.ones([1, 2, 4]), 2, "VALID") + tf.ones([4]),
        [None, None, 2],
    ),
    "pooled": (lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"), [None, 8, 8, 2]),
    "separate channels": (
        lambda x: tf.nn.depthwise_conv2d(x, tf.ones([3, 3, 2, 2]), [1, 1, 1, 1], "SAME"),
        [None, 5, 5, 2],
    ),
    "triangles": (
        lambda x: tf.linalg.cholesky(tf.einsum("bij,bkj->bik", x, x) + 4 * tf.eye(3)),
        [None, 3, 3],
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_one_program_serves_all_lengths(name, tmp_path):
    function, shape = OPEN[name]
    module = holding(f=tf.function(function, input_signature=[Spec(shape)]))
    loaded = round_trip(module, tmp_path)
    random = np.random.default_rng(1)
    for n in (1, 2, 5, 8):
        x = tf.constant(
            random.standard_normal([n if length is None else length for length in shape]), "float32"
        )
        tf.nest.map_structure(lambda a, b: close(a, b, 1e-5), loaded.f(x), module.f(x))


def test_lengths_are_independent_where_the_function_lets_them_be(tmp_path):
    pair = [Spec([None, 3], name="x"), Spec([None, 3], name="y")]
    module = holding(
        product=tf.function(lambda x, y: x @ tf.transpose(y), input_signature=pair),
        sum=tf.function(lambda x, y: x + y, input_signature=pair),
    )
    loaded = round_trip(module, tmp_path)
    close(loaded.product(X, X[:2]), module.product(X, X[:2]))
    close(loaded.sum(X, X), X + X)
    with pytest.raises(tf.errors.InvalidArgumentError, match="those named b are the same"):
        loaded.sum(X, X[:1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="of one or more"):
        loaded.product(X[:0], X)


REFUSED = {
    "other windows for odd lengths": (lambda x: tf.nn.max_pool1d(x, 3, 2, "SAME"), [None, None, 2]),
    "other means for odd lengths": (lambda x: tf.nn.avg_pool1d(x, 2, 2, "SAME"), [None, None, 2]),
    "even lengths only": (lambda x: tf.reshape(x, [-1, 2]), [None, 3]),
    "a loop in Python": (lambda x: sum(x[i] for i in range(x.shape[0])), [None, 3]),
    "a constant that is computed": (
        lambda x: x * np.sin(np.arange(x.shape[0], dtype=np.float32))[:, None],
        [None, 3],
    ),
    "a choice by the length": (lambda x: x if x.shape[0] % 2 else -x, [None, 3]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_one_program_is_refused(name, tmp_path):
    function, shape = REFUSED[name]
    module = holding(f=tf.function(function, input_signature=[Spec(shape)], autograph=False))
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.saved_model.save(module, tmp_path / "model")
    assert not (tmp_path / "model").exists()
    module.f = tf.function(
        function, input_signature=[Spec([6 if n is None else n for n in shape])], autograph=False
    )
    x = tf.ones(module.f.input_signature[0].shape)
    close(round_trip(module, tmp_path).f(x), module.f(x))


# ---------------------------------------------------------------------------------------------------------------------
# What cannot be saved


def prints(x):
    tf.print(x)
    return x


def prints_sometimes(x):
    tf.cond(x[0] > 0, lambda: tf.print(x), lambda: None)
    return x


UNSAVABLE = {
    "strings": (lambda x: x, Spec([], tf.string), "takes strings"),
    "strings returned": (lambda x: (x, tf.constant("a")), Spec([]), "returns strings"),
    "python": (prints, Spec([2]), "calls Python"),
    "python in a branch": (prints_sometimes, Spec([2]), "calls Python"),
}


@pytest.mark.parametrize("name", UNSAVABLE)
def test_functions_that_cannot_be_saved_are_refused(name, tmp_path):
    function, spec, message = UNSAVABLE[name]
    tf.saved_model.save(holding(v=tf.Variable(7.0)), tmp_path / "model")
    with pytest.raises(NotCompilableError, match=message):
        tf.saved_model.save(holding(f=tf.function(function, input_signature=[spec])), tmp_path / "model")
    assert float(tf.saved_model.load(tmp_path / "model").v) == 7.0


def test_arguments_that_are_objects_are_refused(tmp_path):
    module = holding(f=tf.function(lambda x, thing: x))
    module.f(tf.constant(1.0), object)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="cannot be saved: a saved function takes tensors"
    ):
        tf.saved_model.save(module, tmp_path / "model")


def test_saving_inside_a_function_is_refused(tmp_path):
    with pytest.raises(tf.errors.FailedPreconditionError, match="call it outside"):
        tf.function(lambda: tf.saved_model.save(holding(), tmp_path / "model"))()


# ---------------------------------------------------------------------------------------------------------------------
# Files


def test_jax_runs_the_program_without_gradtape(tmp_path):
    layer = Dense()
    tf.saved_model.save(layer, tmp_path / "model")
    np.save(tmp_path / "x.npy", X.numpy())
    program = """
import json, pathlib, sys
import jax, jax.export, numpy
from safetensors.numpy import load_file

jax.config.update("jax_enable_x64", True)
folder = pathlib.Path("model")
model = json.loads((folder / "saved_model.json").read_text())
tensors = load_file(folder / model["tensors"])
serve = model["functions"][model["signatures"]["serving_default"]["concrete_functions"][0]]
first = serve["programs"][0]
exported = jax.export.deserialize(bytearray((folder / model["programs"][first["code"]]).read_bytes()))
x = numpy.load("x.npy")
arguments = [
    x if "argument" in given else tensors[model["objects"][given["variable"]]["tensor"]] for given in first["inputs"]
]
y, calls = exported.call(*arguments)
assert int(calls) == 1
assert not any("gradtape" in name for name in sys.modules)
numpy.save("y.npy", y)
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    close(np.load(tmp_path / "y.npy"), layer(X))


def test_contains_saved_model(tmp_path):
    assert not tf.saved_model.contains_saved_model(tmp_path)
    assert not tf.saved_model.contains_saved_model(tmp_path / "nowhere")
    tf.saved_model.save(holding(), str(tmp_path / "model"))
    assert tf.saved_model.contains_saved_model(str(tmp_path / "model"))


def test_tags_and_missing_folders(tmp_path):
    with pytest.raises(OSError, match="there is no saved model"):
        tf.saved_model.load(tmp_path)
    tf.saved_model.save(holding(), tmp_path)
    tf.saved_model.load(tmp_path, tags=tf.saved_model.SERVING)
    tf.saved_model.load(tmp_path, tags=["serve"])
    for tags in ("train", ["serve", "tpu"]):
        with pytest.raises(ValueError, match="leave it out"):
            tf.saved_model.load(tmp_path, tags=tags)


def test_a_saved_model_of_tensorflow_is_recognised(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01")
    assert tf.saved_model.contains_saved_model(tmp_path)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"is a SavedModel of TensorFlow's.*save the weights"
    ):
        tf.saved_model.load(tmp_path)


def test_a_failure_while_saving_leaves_the_old_model(tmp_path, monkeypatch):
    folder = tmp_path / "model"
    layer = Dense()
    tf.saved_model.save(layer, folder)
    layer.w.assign(tf.zeros_like(layer.w))
    replace, writes = storage.replace, 0

    def failing(path, content):
        nonlocal writes
        writes -= 1
        if writes < 0:
            raise OSError("the disk is full")
        replace(path, content)

    monkeypatch.setattr(storage, "replace", failing)
    for count in range(8):
        writes = count
        try:
            tf.saved_model.save(layer, folder)
        except OSError:
            assert float(tf.reduce_sum(tf.abs(tf.saved_model.load(folder).w))) > 1
            continue
        break
    else:
        raise AssertionError("it never finished")
    assert count > 3
    assert not tf.saved_model.load(folder).w.numpy().any()


def test_files_of_old_models_are_removed(tmp_path):
    for value in (1.0, 2.0):
        module = holding(
            v=tf.Variable(value), f=tf.function(lambda x, by=value: x**by, input_signature=[Spec([2])])
        )
        tf.saved_model.save(module, tmp_path)
    assert len(list(tmp_path.glob("variables/*"))) == 1
    assert len(list(tmp_path.glob("programs/*"))) == 3
    assert float(tf.saved_model.load(tmp_path).v) == 2.0


def damage(folder, what):
    """Damage one file of a saved model, or its table, of which the digest is made to fit."""
    table = folder / "saved_model.json"
    model = json.loads(table.read_text())
    del model["sha256"]
    what(folder, model)
    if table.exists() and json.loads(table.read_text()).keys() >= {"sha256"}:
        table.write_text(json.dumps(model | {"sha256": _digest(model)}))


def cut(kind):
    def of(folder, model):
        (path, *_) = (folder / kind).iterdir()
        path.write_bytes(path.read_bytes()[:-10])

    return of


def change(kind):
    def of(folder, model):
        (path, *_) = (folder / kind).iterdir()
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(bytes(content))

    return of


def setting(*path):
    *keys, last, value = path

    def of(folder, model):
        place = model
        for key in keys:
            place = place[key]
        place[last] = value

    return of


def outside(folder, model):
    secret = folder.parent / "secret.stablehlo"
    secret.write_bytes(b"secret")
    model["programs"][0] = "../secret.stablehlo"
    model["files"]["../secret.stablehlo"] = 6


DAMAGES = {
    "a cut tensor file": cut("variables"),
    "a cut program": cut("programs"),
    "a changed tensor file": change("variables"),
    "a changed program": change("programs"),
    "a missing program": lambda folder, model: shutil.rmtree(folder / "programs"),
    "a path outside": outside,
    "an absolute path": setting("tensors", "/etc/passwd"),
    "a name that is no text": setting("tensors", 5),
    "no objects": setting("objects", []),
    "objects of another kind": setting("objects", 0, "kind", "class"),
    "a part that is missing": setting("objects", 0, "children", {"w": 99}),
    "a part with a method's name": setting("objects", 0, "children", {"__class__": 1}),
    "a tuple in itself": setting("objects", 0, {"kind": "tuple", "children": {"0": 0}}),
    "a list as the root": setting("objects", 0, {"kind": "list", "children": {}}),
    "a huge shape": setting("objects", 1, "shape", [10**15]),
    "a variable without a value": setting("objects", 1, "tensor", "nothing"),
    "a function of nothing": setting("functions", 0, "programs", []),
    "a function of others' variables": setting("functions", 0, "written", [0]),
    "arguments of another kind": setting("functions", 0, "arguments", {"code": "import os"}),
    "a signature that does not fit": setting("signatures", "serving_default", "inputs", ["a", "b"]),
    "functions that are a text": setting("functions", "text"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_and_hostile_files_are_refused(name, tmp_path):
    tf.saved_model.save(Dense(), tmp_path / "model")
    damage(tmp_path / "model", DAMAGES[name])
    with pytest.raises((tf.errors.DataLossError, tf.errors.InvalidArgumentError)):
        tf.saved_model.load(tmp_path / "model")


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"sha256": 1}', b'{"format": 1}']
)
def test_tables_that_are_no_tables_are_refused(text, tmp_path):
    tf.saved_model.save(Dense(), tmp_path)
    (tmp_path / "saved_model.json").write_bytes(text)
    with pytest.raises(tf.errors.DataLossError, match="Nothing was loaded"):
        tf.saved_model.load(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        setting("functions", 0, "written", [1]),
        setting("functions", 0, "written", []),
        setting("functions", 0, "results", {"tensor": {"shape": [None, 2], "dtype": "int32", "name": None}}),
        setting("functions", 0, "programs", 0, "inputs", 3, {"argument": 5}),
        setting("functions", 0, "programs", 0, "inputs", []),
        setting("functions", 0, "programs", 0, "code", 1),
    ],
)
def test_programs_that_do_not_fit_the_table_are_refused(change, tmp_path):
    tf.saved_model.save(Dense(), tmp_path)
    damage(tmp_path, change)
    loaded = tf.saved_model.load(tmp_path)
    with pytest.raises(tf.errors.InvalidArgumentError, match="the saved function __call__ is refused"):
        loaded(X)


def test_newer_versions_are_refused(tmp_path):
    tf.saved_model.save(Dense(), tmp_path)
    damage(tmp_path, setting("version", 2))
    with pytest.raises(tf.errors.InvalidArgumentError, match="newer gradtape"):
        tf.saved_model.load(tmp_path)


@pytest.mark.parametrize("calls_python", [False, True])
def test_programs_that_are_none_or_call_out_are_refused(calls_python, tmp_path):
    import jax
    import jax.export

    code = b"no program at all"
    if calls_python:
        called = jax.export.export(
            jax.jit(
                lambda *x: jax.ffi.ffi_call("any_target", jax.ShapeDtypeStruct((2, 2), np.float32))(x[0])
            ),
            disabled_checks=[jax.export.DisabledSafetyCheck.custom_call("any_target")],
        )(*[jax.ShapeDtypeStruct((2, 2), np.float32)] * 4)
        code = bytes(called.serialize())
    tf.saved_model.save(Dense(), tmp_path)
    name = f"programs/{hashlib.sha256(code).hexdigest()[:32]}.stablehlo"
    (tmp_path / name).write_bytes(code)

    def put(folder, model):
        model["programs"][0] = name
        model["files"][name] = len(code)

    damage(tmp_path, put)
    loaded = tf.saved_model.load(tmp_path)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="it calls any_target" if calls_python else "is no program"
    ):
        loaded(X)


def test_a_function_that_rounds_is_saved_for_open_lengths(tmp_path):
    module = holding(lambda x: tf.round(x * 3.0))
    equal(round_trip(module, tmp_path).f(X), module.f(X))
