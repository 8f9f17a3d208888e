"""After `compat.install()` `tensorflow` is gradtape; a name that is not here is answered by what would work."""

import importlib
import importlib.util
import inspect
import pickle
import pydoc
import sys
import types

import numpy as np
import pytest

import gradtape as tf
from gradtape import compat
from gradtape.compat import internals, v1, views
from gradtape.names import missing, surface


@pytest.fixture
def tensorflow():
    compat.install()
    yield importlib.import_module("tensorflow")
    compat.uninstall()


@pytest.fixture
def without_keras(monkeypatch):
    """As in a process that has not imported Keras."""
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "keras.src.backend.tensorflow", raising=False)
        yield
    if "keras.src.backend.tensorflow" in sys.modules:
        compat.install()
        importlib.import_module("tensorflow")


def run(source):
    namespace = {}
    exec(source, namespace)
    return namespace.get("result")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import tensorflow\nresult = tensorflow.GradientTape", tf.GradientTape),
        ("import tensorflow as tf\nresult = tf.Variable", tf.Variable),
        ("from tensorflow import GradientTape as result", tf.GradientTape),
        ("import tensorflow.math\nresult = tensorflow.math.log", tf.math.log),
        ("import tensorflow.math as m\nresult = m.log", tf.math.log),
        ("from tensorflow.math import log as result", tf.math.log),
        ("from tensorflow.nn.experimental import stateless_dropout as result", tf.nn.experimental.stateless_dropout),
        ("import tensorflow.experimental.numpy as tnp\nresult = tnp.float32", tf.experimental.numpy.float32),
        ("import tensorflow.compat.v2 as tf\nresult = tf.nn.relu", tf.nn.relu),
        ("import tensorflow.compat.v1 as tf\nresult = tf.log", tf.math.log),
        ("from tensorflow import keras as result", tf.keras),
        ("from tensorflow.keras.optimizers import SGD as result", tf.keras.optimizers.SGD),
        ("from tensorflow.keras import optimizers as o\nresult = o.SGD", tf.keras.optimizers.SGD),
        ("from tensorflow.python.eager.backprop import GradientTape as result", tf.GradientTape),
        ("from tensorflow.python.eager import backprop\nresult = backprop.GradientTape", tf.GradientTape),
        ("from tensorflow.python.framework import ops\nresult = ops.EagerTensor", tf.Tensor),
        ("from tensorflow.python.framework import dtypes\nresult = dtypes.float32", tf.float32),
        ("from tensorflow.python.ops import math_ops\nresult = math_ops.reduce_sum", tf.reduce_sum),
        ("from tensorflow.python.ops import math_ops\nresult = math_ops.log", tf.math.log),
        ("from tensorflow.python.ops import array_ops\nresult = array_ops.where_v2", tf.where),
        ("from tensorflow.python.ops import array_ops\nresult = array_ops.newaxis", None),
        ("from tensorflow.python.ops import linalg_ops\nresult = linalg_ops.matrix_inverse", tf.linalg.inv),
        ("from tensorflow.python.ops import nn_ops\nresult = nn_ops.relu", tf.nn.relu),
        ("from tensorflow.python.ops.gradient_checker_v2 import compute_gradient as result", tf.test.compute_gradient),
        ("from tensorflow.python.platform import test\nresult = test.is_gpu_available", tf.test.is_gpu_available),
        ("import tensorflow.python.util.nest as nest\nresult = nest.flatten", tf.nest.flatten),
        ("from tensorflow.python.client import device_lib as d\nresult = d.list_local_devices",
         tf.config.list_logical_devices),
        ("import tensorflow as tf\nresult = tf.version.VERSION == tf.__version__", True),
        ("import tensorflow as tf, tensorflow.nn\nresult = tf.nn is tensorflow.nn", True),
        ("from tensorflow import *\nresult = GradientTape", tf.GradientTape),
    ],
)  # fmt: skip
def test_every_form_of_import_gives_gradtape(tensorflow, source, expected):
    result = run(source)
    assert result is expected or result == expected


def test_the_module_says_what_it_is(tensorflow):
    assert tensorflow.__name__ == tensorflow.__spec__.name == "tensorflow"
    assert int(tensorflow.__version__.split(".")[0]) >= 2
    assert [int(part) for part in tensorflow.__version__.split(".")]
    assert "gradtape" in repr(tensorflow) and "gradtape" in pydoc.render_doc(tensorflow.nn)
    assert {"GradientTape", "nn", "math", "python"} <= set(dir(tensorflow))
    assert importlib.util.find_spec("tensorflow").origin == "gradtape"


def test_values_are_the_same_under_both_names(tensorflow):
    assert isinstance(tensorflow.constant(1.0), tf.Tensor)
    again = pickle.loads(pickle.dumps(tensorflow.Variable(2.0)))
    assert isinstance(again, tensorflow.Variable) and float(again) == 2.0


def test_internal_modules_do_not_show(tensorflow):
    for name in ("tape", "primitive", "ops", "cli", "surface", "import_module"):
        assert not hasattr(tensorflow, name), name


def test_uninstalling_leaves_nothing_behind(without_keras, tensorflow):
    importlib.import_module("tensorflow.nn")
    compat.install()  # twice is once
    compat.uninstall()
    left = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "tensorflow"}
    assert not left
    assert not [finder for finder in sys.meta_path if isinstance(finder, views.Finder)]


def test_uninstalling_leaves_keras_the_name(tensorflow):
    keras = pytest.importorskip("keras")
    compat.uninstall()
    assert keras.Sequential([keras.layers.Dense(2)])(np.ones((1, 3))).shape == (1, 2)
    assert importlib.import_module("tensorflow") is tensorflow


def test_tensorflow_itself_must_not_be_imported_already(monkeypatch):
    real = types.ModuleType("tensorflow")
    real.__file__ = "/somewhere/tensorflow/__init__.py"
    monkeypatch.setitem(sys.modules, "tensorflow", real)
    with pytest.raises(RuntimeError, match=r"imported already, from /somewhere.*restart the kernel"):
        compat.install()
    compat.uninstall()
    assert sys.modules["tensorflow"] is real


def test_a_notebook_loads_it_as_an_extension(without_keras):
    tf.load_ipython_extension(None)
    assert importlib.import_module("tensorflow").GradientTape is tf.GradientTape
    tf.unload_ipython_extension(None)
    assert "tensorflow" not in sys.modules


# ---------------------------------------------------------------------------------------------------------------------
# What is not here


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import tensorflow.lite", "no tf.lite: gradtape exports models in its own format"),
        ("from tensorflow import placeholder", "no tf.placeholder: pass the value itself"),
        ("from tensorflow.linalg import softmaxx", "no tf.linalg.softmaxx. Near it: tf.math.softmax"),
        ("from tensorflow.python.ops import nonsense", "no tf.python.ops.nonsense"),
        ("import tensorflow.compat.v3", "no tf.compat.v3"),
        ("from tensorflow import tape", "no tf.tape"),
    ],
)
def test_an_import_of_what_is_not_here_says_what_to_do(tensorflow, source, message):
    with pytest.raises(ImportError, match=message):
        run(source)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("log", "no tf.log: it is tf.math.log"),
        ("matrix_inverse", "it is tf.linalg.inv"),
        ("Session", "there are no sessions"),
        ("contrib.layers", "no tf.contrib: it ended with TensorFlow 1"),
        ("experimental.nump", "Near it: tf.experimental.numpy"),
        ("reduce_summ", "Near it: tf.reduce_sum"),
        ("nn.softmaxx", "Near it: tf.nn.softmax"),
        ("linalg.softmax", "Near it: tf.math.softmax, tf.nn.softmax"),
        ("ragged.constan", "Near it: tf.ragged.constant"),
        ("io.decode_pngg", "Near it: tf.io.decode_png"),
        ("compat.v1.Session", "no tf.compat.v1.Session: there are no sessions"),
        ("image.resize_bilinear", "use tf.image.resize"),
        ("qwertyuiop", "no tf.qwertyuiop$"),
    ],
)
@pytest.mark.parametrize("name", ["gradtape", "tensorflow"])
def test_a_missing_name_says_what_to_do(tensorflow, name, path, message):
    with pytest.raises(AttributeError, match=message) as error:
        run(f"import {name} as tf\ntf.{path}")
    assert type(error.value) is AttributeError


def namespaces(module, seen):
    seen[module.__name__] = module
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, types.ModuleType) and value.__name__ not in seen and value is not tf.keras:
            namespaces(value, seen)
    return seen


def test_every_namespace_answers_for_what_it_lacks():
    found = namespaces(tf, {})
    assert len(found) > 25
    for module in found.values():
        with pytest.raises(AttributeError, match=r"gradtape has no tf\..*no_such_name"):
            module.no_such_name


def test_asking_is_cheap(monkeypatch):
    monkeypatch.setattr(
        missing, "sentence", lambda path: pytest.fail("the text is made only when it is read")
    )
    assert not hasattr(tf, "contrib")
    assert getattr(tf.nn, "rnn", None) is None


def test_what_errors_recommend_is_there():
    known = surface.dotted_names()
    assert "reduce_sum" in known and "math.log" in known and "experimental.numpy.sum" in known
    assert not set(missing.RENAMED) & set(known)
    gone = {new for old, new in missing.RENAMED.items() if new not in known and not old.startswith("train.")}
    assert not gone


# ---------------------------------------------------------------------------------------------------------------------
# TensorFlow 1's names, and TensorFlow's own modules


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("reduce_sum([[1.0, 2.0]], reduction_indices=1, keep_dims=True)", [[3.0]]),
        ("reduce_sum([[1.0, 2.0]], 0)", [1.0, 2.0]),
        ("math.reduce_max([[1.0, 2.0]], axis=1)", [2.0]),
        ("argmax([[1.0, 2.0]], dimension=1)", [1]),
        ("arg_max([[1.0, 2.0]], 1)", [1]),
        ("expand_dims([1.0], dim=0)", [[1.0]]),
        ("squeeze([[1.0]], squeeze_dims=[0])", [1.0]),
        ("nn.softmax([[1.0, 2.0]], dim=0)", [[1.0, 1.0]]),
        ("nn.in_top_k([[0.1, 0.9]], [1], 1)", [True]),
        ("transpose([[1.0, 2.0]], name='t')", [[1.0], [2.0]]),
        ("pad([1.0], [[0, 1]], 'CONSTANT', None, 7.0)", [1.0, 7.0]),
        ("convert_to_tensor(1.0, preferred_dtype='float64')", 1.0),
        ("zeros_like(tensor=[1.0])", [0.0]),
        ("to_int32(2.5)", 2),
        ("diag([1.0, 2.0])", [[1.0, 0.0], [0.0, 2.0]]),
        ("matrix_inverse([[2.0]])", [[0.5]]),
        ("log([1.0])", [0.0]),
        ("nn.dropout([1.0], keep_prob=1.0)", [1.0]),
    ],
)
def test_tensorflow_1_takes_its_own_arguments(expression, expected):
    assert eval(f"v1.{expression}").numpy().tolist() == expected


def test_the_switches_of_tensorflow_1():
    v1.enable_eager_execution()
    v1.enable_v2_behavior()
    before = v1.logging.get_verbosity()
    v1.logging.set_verbosity(v1.logging.ERROR)
    assert v1.logging.get_verbosity() == v1.logging.ERROR
    v1.logging.set_verbosity(before)
    with pytest.raises(tf.errors.UnimplementedError, match="everything behaves as in TensorFlow 2"):
        v1.disable_v2_behavior()
    with pytest.raises(ValueError, match="one of keep_prob and rate"):
        v1.nn.dropout([1.0])
    with pytest.raises(TypeError):
        v1.reduce_sum([1.0], nonsense=1)
    v1.assert_equal(1, 1, data=[1], message="equal")


def test_labels_get_no_gradient_in_tensorflow_1():
    labels, logits = tf.constant([[0.5, 0.5]]), tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch([labels, logits])
        loss = v1.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    of_labels, of_logits = tape.gradient(loss, [labels, logits])
    assert of_labels is None and of_logits is not None


def test_every_old_order_names_arguments_that_exist():
    for path, order in v1._ORDER.items():
        function = v1
        for name in path.split("."):
            function = getattr(function, name)
        known = inspect.signature(function.__wrapped__).parameters
        new = {both.partition("=")[2] if "=" in both else both for both in order.split()} - {""}
        assert new <= set(known), path


def test_the_modules_of_tensorflow_s_own_show_something():
    later = {"data.ops.dataset_ops", "eager.def_function", "module.module"}
    later.add("eager.polymorphic_function.polymorphic_function")
    for path in set(internals._SHOWS) - later:
        module = internals.internals()
        for name in path.split("."):
            assert name in dir(module)
            module = getattr(module, name)
        assert dir(module), path
        assert all(hasattr(module, name) for name in dir(module))


def test_texts_and_bytes():
    assert compat.as_bytes("a") == compat.as_bytes(b"a") == compat.as_bytes(bytearray(b"a")) == b"a"
    assert compat.as_text(b"a") == compat.as_str("a") == compat.as_str_any(b"a") == "a"
    for function in (compat.as_bytes, compat.as_text):
        with pytest.raises(TypeError, match="text or bytes"):
            function(1)


# ---------------------------------------------------------------------------------------------------------------------
# TensorFlow 1's own functions; the numbers are TensorFlow 2.21's

LOGITS = np.float32(np.random.default_rng(0).normal(size=(6, 2, 4))) * 2


def test_ctc_as_in_version_one():
    v1 = tf.compat.v1.nn
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32([1, 2, 0, 0]), [2, 3])
    np.testing.assert_allclose(v1.ctc_loss(labels, LOGITS, [6, 5]), [5.142151, 8.885946], rtol=1e-5)
    batch_major = v1.ctc_loss(labels, logits=LOGITS.swapaxes(0, 1), sequence_length=[6, 5], time_major=False)
    np.testing.assert_allclose(batch_major, [5.142151, 8.885946], rtol=1e-5)
    collapsed = v1.ctc_loss(labels, LOGITS, [6, 5], preprocess_collapse_repeated=True)
    np.testing.assert_allclose(collapsed, [5.142151, 6.2396894], rtol=1e-5)
    decoded, scores = v1.ctc_beam_search_decoder(LOGITS, [6, 5], beam_width=5, top_paths=2)
    assert decoded[0].values.numpy().tolist() == [2, 0, 1, 2, 1]
    assert scores.shape == [2, 2]


def test_repeated_labels_are_merged_in_version_one():
    sure = np.full((5, 1, 3), -20, np.float32)
    sure[range(5), 0, [0, 2, 0, 1, 1]] = 20
    merged, _ = tf.compat.v1.nn.ctc_beam_search_decoder(sure, [5])
    plain, _ = tf.compat.v1.nn.ctc_beam_search_decoder(sure, [5], merge_repeated=False)
    assert (merged[0].values.numpy().tolist(), plain[0].values.numpy().tolist()) == ([0, 1], [0, 0, 1])
    assert merged[0].indices.numpy().tolist() == [[0, 0], [0, 1]]
    assert merged[0].dense_shape.numpy().tolist() == [1, 2]


def test_variables_and_initializers_of_version_one():
    v1 = tf.compat.v1
    v = tf.Variable(1.0)
    assert [float(v1.assign(v, 5.0)), float(v1.assign_add(v, 2.0)), float(v1.assign_sub(v, 4.0))] == [
        5.0,
        7.0,
        3.0,
    ]
    v1.reset_default_graph()
    assert v1.random_normal_initializer(3.0, 0.0, dtype="float64")([2]).numpy().tolist() == [3.0, 3.0]
    drawn = v1.random_uniform_initializer(dtype=tf.float64)([100]).numpy()
    assert drawn.dtype == np.float64
    assert 0 <= drawn.min() < 0.2 < 0.8 < drawn.max() < 1
    part = tf.SparseTensor([[0, 1]], [1.0], [1, 2])
    assert v1.sparse_concat(axis=1, sp_inputs=[part, part]).indices.numpy().tolist() == [[0, 1], [0, 3]]
    assert isinstance(v1.Dimension(3), v1.Dimension)
    assert int(v1.Dimension(v1.Dimension(3))) == 3


BATCHED = {
    "batch": (lambda d: d.range(10).batch(4), 4),
    "what passes batches on": (
        lambda d: d.range(10).batch(4).repeat().shuffle(2).prefetch(1).take(3).cache(),
        4,
    ),
    "map": (lambda d: d.range(10).batch(4).map(lambda x: x + 1), -1),
    "map of full batches": (lambda d: d.range(10).batch(4, drop_remainder=True).map(lambda x: x + 1), 4),
    "zip": (lambda d: d.zip(d.range(9).batch(3), d.range(9).batch(3)), 3),
    "unlike lengths": (lambda d: d.from_tensors(([1, 2], [3])), -1),
    "none": (lambda d: d.range(3), -1),
}


@pytest.mark.parametrize("name", BATCHED)
def test_compute_batch_size(name):
    from gradtape.data.batch_size import compute_batch_size

    make, size = BATCHED[name]
    assert int(compute_batch_size(make(tf.data.Dataset))) == size


def test_registry_of_specs():
    from gradtape.compat import type_specs

    for spec in (
        tf.TensorSpec((1, 5)),
        tf.RaggedTensorSpec([2, None]),
        tf.SparseTensorSpec([2]),
    ):
        assert type_specs.lookup(type_specs.get_name(type(spec)))._deserialize(spec._serialize()) == spec
    with pytest.raises(ValueError, match="No TypeSpec has been registered with name 'abc'"):
        type_specs.lookup("abc")
    with pytest.raises(ValueError, match="has not been registered"):
        type_specs.get_name(tf.OptionalSpec)


# ---------------------------------------------------------------------------------------------------------------------
# Gradients of a function's own graph, wrapped functions


def test_gradients_inside_a_function_are_those_of_tensorflow():
    """The numbers are TensorFlow's, of the same program; the function is traced twice, and runs once a call."""
    v1, calls = tf.compat.v1, tf.Variable(0.0)
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x):
        calls.assign_add(1.0)
        h = tf.tanh(w * x)
        y = tf.reduce_sum(h * h)
        first = v1.gradients(y, [w, x, h])
        second = tf.gradients(first[0], w)[0]
        x_none, stopped = tf.gradients(y, [x, h], stop_gradients=[h])
        assert x_none is None
        weighted = tf.gradients([h, 2.0 * h], x, grad_ys=[tf.ones(2), None])[0]
        zero = tf.gradients(y, tf.constant(1.0), unconnected_gradients="zero")[0]
        return *first, second, stopped, weighted, zero, tf.hessians(y, x)[0]

    expected = [
        [0.36343, 0.22929],
        [0.72686, -1.52861],
        [0.92423, -1.0741],
        [0.1413, 0.01726],
        [0.92423, -1.0741],
        [2.35934, 4.26947],
        0.0,
        [[0.56521, 0.0], [0.0, 0.76699]],
    ]
    for _ in range(2):
        for value, wanted in zip(step(tf.constant([0.5, -0.3])), expected, strict=True):
            np.testing.assert_allclose(value, wanted, atol=1e-5)
    assert float(calls) == 2


def test_gradients_in_functions_of_functions_and_outside():
    @tf.function
    def inner(x):
        return tf.gradients(x**3, x)[0]

    x = tf.constant(2.0)
    assert float(tf.function(lambda x: inner(x) + 1.0)(x)) == 13.0
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = inner(x)
    assert float(tape.gradient(y, x)) == 12.0
    with pytest.raises(RuntimeError, match="GradientTape"):
        tf.gradients(x * x, x)


def test_a_wrapped_function_takes_plain_values_and_keeps_the_variables_it_makes():
    """As TensorFlow's documentation of wrap_function has it."""

    def change(x, add):
        v = tf.Variable(5.0)
        w = v1.get_variable("w", initializer=2.0)
        op = v.assign_add(w * x) if add else v.assign_sub(w * x)
        with tf.control_dependencies([op]):
            return v.read_value()

    add = v1.wrap_function(change, [tf.TensorSpec((), tf.float32), True])
    subtract = v1.wrap_function(change, [tf.TensorSpec((), tf.float32), False])
    assert [float(add(1.0)), float(add(1.0)), float(subtract(1.0))] == [7.0, 9.0, 3.0]
    assert {v.name for v in add.variables} == {"Variable:0", "w:0"}
    with tf.GradientTape():  # traced anew, with the same variables
        assert float(add(3.0)) == 15.0


def test_a_wrapped_function_keeps_its_variables():
    v1 = tf.compat.v1

    def layer(x):
        with v1.variable_scope("layer"):
            w = v1.get_variable("w", [3, 2], initializer=v1.ones_initializer())
        return tf.matmul(x, w)

    wrapped = v1.wrap_function(layer, [tf.TensorSpec([None, 3])])
    assert [v.name for v in wrapped.variables] == ["layer/w:0"]
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(wrapped(tf.ones([5, 3])))
    assert float(y) == 30.0
    np.testing.assert_array_equal(tape.gradient(y, wrapped.variables[0]), np.full((3, 2), 5.0))
    wrapped.variables[0].assign(tf.zeros([3, 2]))
    assert not np.any(wrapped(tf.ones([1, 3])))


def test_initializers_of_version_one_draw_tensorflows_numbers():
    """After tf.random.set_seed(7); TensorFlow's own, to five places."""
    v1 = tf.compat.v1
    for made, expected in [
        (v1.truncated_normal_initializer(1.0, 2.0, seed=3), [2.88941, -0.93358, 2.61034, 3.60663]),
        (v1.variance_scaling_initializer(seed=3), [0.62006, -0.63456, 0.52848, 0.85544]),
        (
            v1.variance_scaling_initializer(2.0, "fan_avg", "uniform", seed=3),
            [-0.25901, -0.32251, -0.49939, -1.07867],
        ),
        (v1.glorot_uniform_initializer(seed=4), [-0.56418, 0.07212, -0.8387, 0.32517]),
        (v1.glorot_normal_initializer(seed=4), [-0.2661, -1.06552, -0.67695, -0.89802]),
        (v1.orthogonal_initializer(seed=4), [-0.3516, -0.89445, 0.23462, 0.1459]),
        (v1.uniform_unit_scaling_initializer(seed=4), [-0.60938, 0.0779, -0.9059, 0.35122]),
        (v1.random_normal_initializer(seed=4), [-0.4379, -1.75345, -2.20726, -1.114]),
        (v1.random_uniform_initializer(seed=4), [0.19531, 0.53895, 0.04705, 0.67561]),
        (v1.initializers.he_normal(seed=4), [-0.40647, -1.62761, -1.03405, -1.37176]),
        (v1.initializers.lecun_uniform(seed=4), [-0.60938, 0.0779, -0.9059, 0.35122]),
    ]:
        tf.random.set_seed(7)
        np.testing.assert_allclose(made([3, 4]).numpy().reshape(-1)[:4], expected, atol=2e-5)
        again = type(made).from_config(made.get_config())
        tf.random.set_seed(7)
        np.testing.assert_array_equal(again([3, 4]), (tf.random.set_seed(7), made([3, 4]))[1])


def test_sparse_reductions_of_tensorflow_1_are_sparse():
    sparse = tf.sparse.from_dense([[1, 2], [0, 4]])
    v1 = tf.compat.v1
    for function, wanted in ((v1.sparse.reduce_max_sparse, [2, 4]), (v1.sparse_reduce_sum_sparse, [3, 4])):
        found = function(sparse, reduction_axes=1, keep_dims=True)
        assert found.shape == [2, 1] and tf.sparse.to_dense(found).numpy().ravel().tolist() == wanted
    assert v1.io.TFRecordCompressionType.GZIP == v1.python_io.TFRecordCompressionType.GZIP == 2
    assert (tf.saved_model.PREDICT_INPUTS, v1.saved_model.TRAINING) == ("inputs", "train")
