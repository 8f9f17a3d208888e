"""@function: what can be one, what goes in and out, signatures, side effects, dtypes; and without JAX."""

import collections
import copy
import dataclasses
import functools
import gc
import logging
import pickle
import subprocess
import sys

import numpy as np
import pytest

import gradtape as tf

jax = pytest.importorskip("jax")

X = tf.constant([1.0, 2.0])
Spec = tf.TensorSpec


def equal(actual, expected):
    """A tensor equal to any values, or structures of such."""
    if tf.is_tensor(actual) or isinstance(actual, np.ndarray):
        np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-6)
        return
    tf.nest.assert_same_structure(actual, expected)
    for a, e in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
        if e is None:
            assert a is None
        else:
            np.testing.assert_allclose(np.asarray(a), np.asarray(e), rtol=1e-6)


def traces(function):
    return function.experimental_get_tracing_count()


# ---------------------------------------------------------------------------------------------------------------------
# What can be a function

Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Point:
    x: object
    y: object


def scaled(x, by=3.0):
    return x * by


class Scaler:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by

    @tf.function
    def method(self, x, more=0.0):
        return x * self.by + more

    @tf.function(autograph=False)
    def with_options(self, x):
        return x * self.by

    @staticmethod
    @tf.function
    def static(x):
        return x * 3.0

    @classmethod
    @tf.function
    def of_class(cls, x):
        return x * cls.factor

    @property
    @tf.function
    def computed(self):
        return X * self.by

    factor = 3.0

    def __eq__(self, other):
        return True

    __hash__ = None


ALL = [
    pytest.param(tf.function(scaled), id="called on a function"),
    pytest.param(tf.function(autograph=False)(scaled), id="with options"),
    pytest.param(tf.function(func=scaled, jit_compile=True, reduce_retracing=True), id="by keywords"),
    pytest.param(tf.function(lambda x: x * 3.0), id="lambda"),
    pytest.param(tf.function(functools.partial(scaled, by=3.0)), id="partial"),
    pytest.param(tf.function(functools.partial(lambda by, x: x * by, 3.0)), id="partial of positions"),
    pytest.param(tf.function(Scaler(3.0)), id="object"),
    pytest.param(tf.function(Scaler(3.0).__call__), id="bound method"),
    pytest.param(tf.function(tf.function(scaled)), id="function of function"),
    pytest.param(Scaler.static, id="staticmethod"),
    pytest.param(Scaler(2.0).static, id="staticmethod of an object"),
    pytest.param(Scaler.of_class, id="classmethod"),
]


@pytest.mark.parametrize("function", ALL)
def test_whatever_can_be_called_can_be_a_function(function):
    equal(function(X), [3.0, 6.0])
    equal(function(X), [3.0, 6.0])


def test_methods_belong_to_their_objects_even_if_those_are_equal_and_have_no_hash():
    two, five = Scaler(2.0), Scaler(5.0)
    for _ in range(2):
        equal(two.method(X), [2.0, 4.0])
        equal(five.method(X, more=1.0), [6.0, 11.0])
        equal(five.with_options(X), [5.0, 10.0])
    assert traces(two.method) == traces(five.method) == 1
    assert two.method is two.method
    assert isinstance(Scaler.method, type(two.method))
    equal(Scaler.method.python_function(two, X), [2.0, 4.0])


def test_properties_and_objects_without_weak_references():
    class Small:
        __slots__ = ("by",)

        @tf.function
        def method(self, x):
            return x * self.by

        @property
        @tf.function
        def doubled(self):
            return X * 2.0

    small = Small()
    small.by = 4.0
    equal(small.method(X), [4.0, 8.0])
    equal(small.doubled, [2.0, 4.0])


def test_a_method_of_an_object_that_is_gone_says_so():
    method = Scaler(2.0).method
    gc.collect()
    with pytest.raises(ReferenceError, match=r"method.*is gone: keep it in a variable"):
        method(X)


def test_names_docstrings_and_reprs_are_those_of_the_python_function():
    @tf.function
    def documented(x):
        """Says what it does."""
        return x

    assert documented.__name__ == "documented" and documented.__doc__ == "Says what it does."
    assert documented.python_function(3) == 3
    assert "documented" in repr(documented)


def test_functions_inside_functions_are_one_program():
    calls = []

    @tf.function
    def inner(x):
        calls.append("inner")
        return x * 2.0

    @tf.function
    def outer(x):
        return inner(x) + inner(x + 1.0)

    equal(outer(X), [6.0, 10.0])
    equal(outer(X), [6.0, 10.0])
    assert calls == ["inner", "inner"] and traces(inner) == 0


def test_recursion_on_python_numbers_unrolls():
    @tf.function
    def power(x, n):
        return x * power(x, n - 1) if n else tf.ones_like(x)

    equal(power(X, 3), [1.0, 8.0])


def test_functions_and_what_holds_them_can_be_copied_and_pickled():
    class Model:
        def __init__(self):
            self.v = tf.Variable(2.0)
            self.step = tf.function(self.times)

        def times(self, x):
            return x * self.v

    model = Model()
    model.step(X)
    twin = copy.deepcopy(model)
    twin.v.assign(5.0)
    equal(twin.step(X), [5.0, 10.0])
    equal(model.step(X), [2.0, 4.0])
    again = pickle.loads(pickle.dumps(tf.function(scaled)))
    equal(again(X), [3.0, 6.0])


@pytest.mark.parametrize("thing", [3, "text", None.__class__.__doc__])
def test_what_is_no_function_is_refused(thing):
    with pytest.raises(TypeError, match="function takes a function to compile"):
        tf.function(3)


# ---------------------------------------------------------------------------------------------------------------------
# What goes in and out

STRUCTURES = [
    X,
    (X, X * 2.0),
    [X, [X * 2.0, (X,)]],
    {"a": X, "b": {"c": X * 3.0}},
    collections.OrderedDict(b=X, a=X * 2.0),
    Pair(X, {"d": X}),
    Point(X, Pair(X, X * 2.0)),
    (X, None, ()),
]


def test_structures_go_through_and_come_out_as_they_were():
    through = tf.function(lambda s: tf.nest.map_structure(lambda t: None if t is None else t + 1.0, s))
    for structure in STRUCTURES:
        result = through(structure)
        assert type(result) is type(structure)
        equal(result, tf.nest.map_structure(lambda t: None if t is None else t + 1.0, structure))


def test_python_values_come_out_as_tensors_but_none_stays_none():
    @tf.function
    def values():
        return 1, 2.5, True, None, "text", np.float64(3), np.arange(2), [], {"a": b"bytes"}

    for _ in range(2):
        one, half, true, none, text, double, array, empty, nested = values()
        assert (int(one), one.dtype) == (1, tf.int32)
        assert (float(half), half.dtype) == (2.5, tf.float32)
        assert (bool(true), true.dtype) == (True, tf.bool)
        assert none is None and empty == []
        assert (text.numpy(), text.dtype) == (b"text", tf.string)
        assert double.dtype == tf.float64 and array.dtype == tf.int64
        assert nested["a"].numpy() == b"bytes"


def test_python_values_go_in_as_they_are():
    seen = []

    @tf.function
    def look(*args, **kwargs):
        seen.append((args, kwargs))

    class Plain:
        pass

    thing = Plain()
    args = (1, 2.5, True, None, "text", b"bytes", 1 + 2j, (1, [2, {"a": "b"}]), thing, Plain, len)
    assert look(*args, flag=False) is None
    assert seen == [(args, {"flag": False})]
    assert all(type(a) is type(b) for a, b in zip(seen[0][0], args))


def test_numpy_values_go_in_as_tensors():
    kinds = []

    @tf.function
    def look(x):
        kinds.append((type(x), x.dtype))
        return x

    for value in (np.float32(1), np.float32(2), np.ones(3), np.zeros(3), np.int64(1)):
        equal(look(value), value)
    assert kinds == [(tf.Tensor, tf.float32), (tf.Tensor, tf.float64), (tf.Tensor, tf.int64)]


def test_strings_that_are_looked_at_are_part_of_the_signature():
    @tf.function
    def pick(names, x):
        return x * 2.0 if names.numpy()[0] == b"double" else x

    for _ in range(2):
        equal(pick(tf.constant(["double"]), X), X * 2.0)
        equal(pick(tf.constant(["other"]), X), X)
    assert traces(pick) == 2


def test_tensors_captured_from_outside_are_constants_and_come_back_themselves():
    captured = tf.constant([5.0, 6.0])
    both = tf.function(lambda x: (x + captured, captured))
    total, same = both(X)
    equal(total, X + captured)
    assert same is captured


# ---------------------------------------------------------------------------------------------------------------------
# Signatures


def call(*args, **kwargs):
    return args, kwargs


NAN = float("nan")
ONE_TRACE = {
    "defaults": [call(X), call(X, 3.0), call(X, by=3.0), call(x=X, by=3.0), call(by=3.0, x=X)],
    "shapes": [call(X), call(X + 1.0), call(np.float32([5, 6])), call(tf.Variable(X).value())],
    "nan": [call(X, NAN), call(X, float("nan")), call(X, -NAN + 0.0)],
    "dicts in any order": [call(X, {"a": 1, "b": 2}), call(X, {"b": 2, "a": 1})],
    "equal tuples": [call(X, (1, "a")), call(X, (1, "a"))],
}


@pytest.mark.parametrize("name", ONE_TRACE)
def test_calls_that_mean_the_same_are_traced_once(name):
    function = tf.function(lambda x, by=3.0: x)
    for args, kwargs in ONE_TRACE[name]:
        function(*args, **kwargs)
    assert traces(function) == 1


EACH_ITS_OWN = {
    "1, 1.0, True": [call(X, 1), call(X, 1.0), call(X, True)],
    "0.0 and -0.0": [call(X, 0.0), call(X, -0.0)],
    "complex zeros": [call(X, 0j), call(X, complex(-0.0, 0.0))],
    "shapes": [call(X), call(tf.ones(3)), call(tf.ones((1, 2)))],
    "dtypes": [call(X), call(tf.cast(X, "float64"))],
    "text and bytes": [call(X, "a"), call(X, b"a"), call(X, "b"), call(X, None)],
    "nesting": [call(X, (1, 2)), call(X, [1, 2]), call(X, (1, (2,)))],
    "tensors and numbers": [call(X, 2.0), call(X, tf.constant(2.0))],
    "variables": [call(X, tf.Variable(1.0)), call(X, tf.Variable([1.0])), call(X, tf.Variable(1))],
    "objects": [call(X, object()), call(X, object())],
}


@pytest.mark.parametrize("name", EACH_ITS_OWN)
def test_python_values_and_shapes_are_part_of_the_signature(name):
    function = tf.function(lambda x, by=3.0: x)
    for args, kwargs in 2 * EACH_ITS_OWN[name]:
        function(*args, **kwargs)
    assert traces(function) == len(EACH_ITS_OWN[name])


def test_signs_of_zero_and_types_of_numbers_are_not_mixed_up():
    function = tf.function(lambda x, by: 1.0 / (x * by) if isinstance(by, float) else x * 0.0 + by)
    assert float(function(tf.constant(1.0), 0.0)) == np.inf
    assert float(function(tf.constant(1.0), -0.0)) == -np.inf
    assert float(function(tf.constant(1.0), 1)) == 1.0
    assert float(function(tf.constant(2.0), 1.0)) == 0.5


def with_signature(specs, python_function=lambda x, y=3.0: x * y):
    return tf.function(python_function, input_signature=specs)


def test_input_signature_converts_what_fits():
    function = with_signature([Spec((None, 2))])
    for value in ([[1, 2]], [[1.0, 2.0]], np.ones((3, 2)), tf.ones((1, 2)), tf.Variable(tf.ones((2, 2)))):
        result = function(value)
        assert result.dtype == tf.float32
        equal(result, 3.0 * np.asarray(value))
    equal(function(x=tf.ones((1, 2))), 3.0 * tf.ones((1, 2)))
    equal(function(tf.ones((1, 2)), 3.0), 3.0 * tf.ones((1, 2)))
    nested = with_signature(
        [{"a": Spec(()), "b": (Spec((2,), "int64"),)}], lambda d: d["a"] + tf.cast(d["b"][0], "float32")
    )
    equal(nested({"a": 1, "b": ([2, 3],)}), [3.0, 4.0])
    assert function.input_signature == (Spec((None, 2)),)
    assert int(with_signature([Spec((), "int64")], lambda n: n)(2)) == 2


REFUSED = {
    "shape": (call([1.0, 2.0]), r"TensorSpec\(shape=\(None, 2\).*shape \(2,\)"),
    "dtype": (call(tf.constant([[1, 2]])), "dtype int32. Cast"),
    "too many": (call(tf.ones((1, 2)), 3.0, 4), "too many positional arguments"),
    "another default": (call(tf.ones((1, 2)), 4.0), "1 entries.*others keep their defaults"),
    "none": (call(None), "None is no tensor"),
    "nothing": (call(), "missing a required argument: 'x'"),
    "text": (call("text"), "is no tensor|dtype string"),
    "floats for ints": (call(z=1), "unexpected keyword argument|missing a required"),
    "nested": (call({"a": X}), "is no tensor"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_the_input_signature_is_refused(name):
    (args, kwargs), message = REFUSED[name]
    function = with_signature([Spec((None, 2))])
    with pytest.raises(TypeError, match=message):
        function(*args, **kwargs)
    equal(function(tf.ones((1, 2))), 3.0 * tf.ones((1, 2)))


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        (Spec(()), "must be a list or tuple"),
        ([3], "must be made of TensorSpec; it holds 3"),
        ([Spec(()), Spec(()), Spec(())], "has 3 entries, and the function takes 2 arguments"),
    ],
)
def test_an_input_signature_must_be_one(signature, message):
    with pytest.raises(TypeError, match=message):
        with_signature(signature)


def test_arguments_without_a_hash_are_refused_and_named():
    function = tf.function(lambda x: 1)
    with pytest.raises(
        TypeError, match=r"function <lambda> was given \{1\} of type set, which has no hash.*a frozenset"
    ):
        function({1})
    with pytest.raises(TypeError, match=r"function <lambda>.*too many positional"):
        function(X, 3)


def test_retracing_again_and_again_warns_once_and_names_the_argument(caplog):
    @tf.function
    def step(x, rate):
        return x * rate

    with caplog.at_level(logging.WARNING, "gradtape"):
        for i in range(4):
            step(X, float(i))
        assert not caplog.records
        for i in range(4, 8):
            step(X, float(i))
    (record,) = caplog.records
    assert "step has been traced 5 times" in record.message
    assert "argument rate was 3.0 and is now 4.0" in record.message
    with caplog.at_level(logging.WARNING, "gradtape"):
        caplog.clear()
        lengths = tf.function(lambda batch: batch)
        for i in range(1, 6):
            lengths(tf.ones(i))
    assert "argument batch was a tensor of shape (4,)" in caplog.text


# ---------------------------------------------------------------------------------------------------------------------
# Concrete functions

line = tf.function(lambda x, slope=2.0, offset=0.0: x * slope + offset)


def test_concrete_functions_are_called_like_the_function_or_by_their_specs():
    concrete = line.get_concrete_function(Spec((2,), name="points"), offset=Spec((), name="start"))
    for args, kwargs in (
        call(X, 2.0, tf.constant(1.0)),
        call(X, offset=tf.constant(1.0)),
        call(X, 2.0, 1.0),
        call(x=X, offset=1.0),
        call(X, tf.constant(1.0)),
        call(points=X, start=tf.constant(1.0)),
        call(X, start=1.0),
    ):
        equal(concrete(*args, **kwargs), [3.0, 5.0])
    for args, kwargs in (call(), call(X), call(X, 3.0, 1.0), call(X, 2.0, 1.0, 1.0), call(X, other=1.0)):
        with pytest.raises(TypeError, match=r"takes points: TensorSpec.*must be as it was"):
            concrete(*args, **kwargs)
    with pytest.raises(tf.errors.InvalidArgumentError, match="asked for, and the argument has shape"):
        concrete(tf.ones(3), offset=1.0)
    args, kwargs = concrete.structured_input_signature
    assert args == (Spec((2,), name="points"), 2.0, Spec((), name="start")) and kwargs == {}
    assert concrete.structured_outputs == Spec((2,))
    assert "<lambda>" in repr(concrete)


def test_concrete_functions_share_what_was_traced():
    function = tf.function(lambda d: d["a"] + d["b"][0])
    concrete = function.get_concrete_function({"a": Spec(()), "b": [Spec((), name="q")]})
    one, two = tf.constant(1.0), tf.constant(2.0)
    assert float(concrete({"a": one, "b": [two]})) == float(concrete(one, two)) == 3.0
    assert float(function({"a": one, "b": [two]})) == 3.0
    assert traces(function) == 1
    equal(function.get_concrete_function({"a": one, "b": [two]})(one, one), 2.0)
    assert traces(function) == 1


def test_concrete_functions_with_open_lengths_take_any():
    v = tf.Variable(2.0)
    k = tf.Variable(1, trainable=False)
    function = tf.function(lambda x: x * v * tf.cast(k, "float32"), input_signature=[Spec((None,))])
    concrete = function.get_concrete_function()
    assert concrete.structured_outputs == Spec((None,))
    assert traces(function) == 0
    equal(concrete(X), X * 2.0)
    equal(concrete(tf.ones(3)), 2.0 * tf.ones(3))
    assert [u.ref() for u in concrete.variables] == [v.ref(), k.ref()]
    assert [u.ref() for u in concrete.trainable_variables] == [v.ref()]


# ---------------------------------------------------------------------------------------------------------------------
# Eagerly, and how to know


def test_run_functions_eagerly_runs_python():
    seen = []

    @tf.function
    def look(x):
        seen.append(tf.executing_eagerly())
        return x * 2.0

    look(X)
    tf.config.run_functions_eagerly(True)
    try:
        assert tf.config.functions_run_eagerly()
        equal(look(X), X * 2.0)
        equal(look(X), X * 2.0)
    finally:
        tf.config.run_functions_eagerly(False)
    equal(look(X), X * 2.0)
    assert seen == [False, True, True]


def test_init_scope_is_outside():
    seen = []

    @tf.function
    def look(x):
        seen.append((tf.executing_eagerly(), tf.inside_function()))
        with tf.init_scope():
            seen.append((tf.executing_eagerly(), tf.inside_function()))
            seen.append(float(tf.constant(2.0) * 3.0))
        return x * seen[-1]

    equal(look(X), X * 6.0)
    assert seen == [(False, True), (True, False), 6.0]
    assert tf.executing_eagerly()


# ---------------------------------------------------------------------------------------------------------------------
# Side effects

printed = []


@tf.function
def talking(x):
    print("tracing")
    printed.append(x.shape)
    tf.print("running", x, output_stream=sys.stdout)
    return x * 2.0


def test_python_prints_while_tracing_and_tf_print_when_running(capsys):
    for i in range(3):
        talking(X + float(i))
    jax.effects_barrier()
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["tracing", "running [1 2]", "running [2 3]", "running [3 4]"]
    assert printed == [(2,)]


def test_python_functions_are_called_when_the_program_runs():
    seen = []
    state = tf.Variable([0.0, 0.0])

    def inside(x):
        seen.append(x.numpy().tolist())
        if x[0] < 0:
            raise ValueError("negative")
        return x * x

    @tf.function
    def step(x):
        y = tf.py_function(inside, [x], Spec((2,)))
        state.assign_add(y)
        z = tf.numpy_function(np.cumsum, [x], Spec((2,)))
        return y, z

    for i in range(2):
        equal(step(X + float(i)), (np.square(X + float(i)), np.cumsum(X + float(i))))
    assert seen == [[1.0, 2.0], [2.0, 3.0]]
    before = state.numpy()
    with pytest.raises(Exception, match="negative"):
        float(step(-X)[0][0])
    equal(state, before)
    equal(step(X)[0], X * X)
    equal(state, before + np.square(X))


# ---------------------------------------------------------------------------------------------------------------------
# dtypes, and JAX's own settings

KINDS = [
    "float64",
    "int64",
    "uint8",
    "int8",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
    "bfloat16",
    "float16",
    "bool",
]


def test_every_dtype_goes_through_exactly():
    def compute(xs):
        return {
            name: (tf.logical_not(x) if name == "bool" else x * x + x, x[1:], tf.concat([x, x], 0))
            for name, x in xs.items()
        }

    xs = {name: tf.cast([3, 0, 1], name) for name in KINDS}
    xs["float64"] = tf.constant([1 / 3, 1e300, 2.0], "float64")
    xs["int64"] = tf.constant([3, 1 << 40, -(1 << 62)], "int64")
    actual, expected = tf.function(compute)(xs), compute(xs)
    for a, e in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
        assert a.dtype == e.dtype
        np.testing.assert_array_equal(np.array(a), np.array(e))


def test_jax_is_left_as_it_was():
    settings = jax.config.values.copy() if hasattr(jax.config, "values") else {}
    assert jax.config.jax_enable_x64 is False
    own = jax.jit(lambda x: (x * 2, jax.numpy.arange(3), jax.numpy.float32(1) / 3))
    before = own(np.ones(2, np.float32))
    double = tf.function(
        lambda x: tf.random.normal((2,), dtype="float64") * 0.0 + tf.cast(x, "float64") / 3.0
    )
    assert double(X).dtype == tf.float64
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = double(X)
    tape.gradient(y, X)
    assert jax.config.jax_enable_x64 is False
    assert all(jax.config.values[name] == value for name, value in settings.items())
    for a, b in zip(own(np.ones(2, np.float32)), before):
        assert a.dtype == b.dtype
    assert jax.numpy.ones(2).dtype == np.float32


# ---------------------------------------------------------------------------------------------------------------------
# Without JAX

PROGRAM = """
import sys
for name in ("jax", "jaxlib", "malt"):
    sys.modules[name] = None
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in ("jax", "malt") else found(name, *rest)
import gradtape as tf

v = tf.Variable([1.0, 2.0])
@tf.function
def step(x, by=2.0):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * x * by)
    v.assign_sub(0.125 * tape.gradient(loss, v))
    return loss

class Model:
    @tf.function(input_signature=[tf.TensorSpec((None,))])
    def __call__(self, x):
        if x[0] > 0:
            return tf.cond(x[0] > 5, lambda: x, lambda: x * 2.0)
        return x

print(float(step(tf.constant([1.0, 1.0]))), float(step(tf.constant([1.0, 1.0]), by=1.0)), v.numpy())
print(Model()(tf.constant([1.0])).numpy())
print(step.get_concrete_function(tf.TensorSpec((2,)))(tf.constant([0.0, 1.0])).numpy())
print(tf.config.engine())
"""


def test_without_jax_functions_run_as_python_and_say_so_once():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["6.0 2.5 [0.625 1.625]", "[2.]", "3.25", "numpy"]
    assert run.stderr.count("@function runs as plain Python, because JAX is not installed") == 1
    assert len(run.stderr.splitlines()) == 1


def test_a_function_that_was_always_given_one_kind_of_tensor_is_given_another():
    count = tf.Variable(0)
    traced = []

    @tf.function
    def twice(x, *more):
        traced.append(x.dtype)
        count.assign_add(1)
        return x * 2, *more

    usual = tf.constant([1.0, 2.0])
    others = [tf.cast(usual, d) for d in ("float64", "int32", "int64", "bfloat16", "complex64")]
    others += [tf.constant([[1.0, 2.0]]), tf.constant(3.0), tf.zeros((0, 2))]
    for other in others:
        fresh = tf.function(twice.python_function)
        for x in (usual, usual, usual, other, other, usual, other):
            (result,) = fresh(x)
            assert result.dtype == x.dtype
            np.testing.assert_array_equal(np.asarray(result), np.asarray(x * 2))
        assert len(fresh(usual, other)) == 2
        assert fresh.experimental_get_tracing_count() == 3
    assert int(count) == 8 * len(others)


def test_another_kind_of_tensor_costs_no_random_numbers():
    draw = tf.function(lambda x: x + tf.random.uniform(tf.shape(x)))
    a, b = tf.zeros((2,)), tf.zeros((3,))
    tf.function(lambda x: x * 1.0)(b)  # it was in compiled code before

    def run():
        tf.random.set_seed(7)
        return [draw(x).numpy().tolist() for x in (a, a, a, b, a)]

    assert run() == run() == run()


@pytest.mark.usefixtures("compiled_code")
def test_what_a_program_is_for_is_tried_once_only(monkeypatch):
    from gradtape.compiled.executable import Executable

    compute, computed = Executable._compute, []
    monkeypatch.setattr(Executable, "_compute", lambda *arrays: computed.append(1) or compute(*arrays))
    default = tf.constant([1.0, 2.0])

    @tf.function
    def add(x, y=default):
        return x + y

    x = tf.constant([1.0, 1.0])
    for step in range(10):
        assert add(x, x).numpy().tolist() == [2.0, 2.0]
        assert add(x).numpy().tolist() == [2.0, 3.0]
        if step == 4:
            computed.clear()
    assert not computed


def test_the_first_compiled_call_leaves_numpys_random_numbers_alone():
    program = (
        "import numpy as np, gradtape as tf\n"
        "np.random.seed(0)\n"
        "tf.function(lambda x: x + 1.0, autograph=False)(tf.constant(1.0))\n"
        "print(np.random.rand())"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert float(shown) == np.random.RandomState(0).rand()


# ---------------------------------------------------------------------------------------------------------------------
# Looking at a concrete function


def test_the_graph_of_a_concrete_function_lists_its_operations():
    scale = tf.Variable(2.0, name="scale")

    @tf.function
    def scaled(points, n=3):
        scale.assign_add(1.0)
        return {"a": tf.nn.relu(points * scale + n), "b": [tf.reduce_sum(points)]}

    concrete = scaled.get_concrete_function(Spec((None, 2)))
    assert scaled.experimental_get_tracing_count() == 0
    graph = concrete.graph
    nodes = graph.as_graph_def().node
    assert [(node.name, node.op, node.input) for node in nodes if node.op != "Const"] == [
        ("points", "Placeholder", []),
        ("scale/resource", "Placeholder", []),
        ("scale/Read", "ReadVariableOp", ["scale/resource"]),
        ("Add", "AddV2", ["scale/Read", "Const"]),
        ("Mul", "Mul", ["points", "Add"]),
        ("Add_1", "AddV2", ["Mul", "Const_1"]),
        ("Maximum", "Maximum", ["Add_1", "Const_2"]),
        ("Sum", "Sum", ["points"]),
        ("Identity", "Identity", ["Maximum"]),
        ("Identity_1", "Identity", ["Sum"]),
        ("scale/Assign", "AssignVariableOp", ["Add"]),
    ]
    assert [op.name for op in graph.get_operations()] == [node.name for node in nodes]
    assert str(concrete.inputs) == (
        "[<tf.Tensor 'points:0' shape=(None, 2) dtype=float32>, <tf.Tensor 'scale/resource:0' shape=() dtype=float32>]"
    )
    assert [(t.name, t.shape.as_list(), t.dtype) for t in concrete.outputs] == [
        ("Identity:0", [None, 2], tf.float32),
        ("Identity_1:0", [], tf.float32),
    ]
    assert concrete.structured_outputs == {"a": Spec((None, 2)), "b": [Spec(())]}
    assert concrete.output_shapes == {"a": tf.TensorShape([None, 2]), "b": [tf.TensorShape([])]}
    assert concrete.output_dtypes == {"a": tf.float32, "b": [tf.float32]}
    assert concrete.captured_inputs == [scale.handle] and graph.variables == (scale,)
    assert graph.get_tensor_by_name("points:0").consumers() == [
        graph.get_operation_by_name("Mul"),
        graph.get_operation_by_name("Sum"),
    ]
    assert graph.get_operation_by_name("Const_1").get_attr("value") == 3.0
    assert 'node {\n  name: "Mul"\n  op: "Mul"\n  input: "points"\n  input: "Add"\n' in str(
        graph.as_graph_def()
    )
    for name in ("nothing", "points:3"):
        with pytest.raises(KeyError, match=name.partition(":")[0]):
            graph.get_tensor_by_name(name)
    assert float(scale) == 2.0


def test_a_graph_has_loops_branches_and_what_functions_of_jax_call():
    @tf.function
    def run(x):
        while tf.reduce_sum(x) < 100.0:
            x = x * 2.0
        if x[0] > 1.0:
            x = -x
        return tf.where(x > 0.0, tf.sort(x), tf.constant([1.0, 2.0]))

    kinds = [op.type for op in run.get_concrete_function(Spec((2,))).graph.get_operations()]
    assert {"While", "If", "SelectV2"} <= set(kinds) and "Jit" not in kinds and "Pjit" not in kinds


def test_signatures_are_printed():
    scale = tf.Variable(2.0, name="scale")

    @tf.function
    def scaled(x, n=3, *, flag=None):
        return x * scale + n

    assert scaled.pretty_printed_concrete_signatures() == ""
    scaled(tf.ones(3), 4)
    scaled(tf.ones(2), flag="yes")
    text = scaled.pretty_printed_concrete_signatures()
    assert text.splitlines()[:5] == [
        "scaled(x, n=3, *, flag=None)",
        "  x: TensorSpec(shape=(3,), dtype=tf.float32, name=None)",
        "  n: 4",
        "  flag: None",
        "  returns: TensorSpec(shape=(3,), dtype=tf.float32, name=None)",
    ]
    assert text.count("uses: scale:0, a variable of shape () and dtype float32") == 2
    assert "flag: 'yes'" in text
    concrete = scaled.get_concrete_function(Spec((None,)), flag="no")
    assert "x: TensorSpec(shape=(None,)" in concrete.pretty_printed_signature()
    assert "returns: TensorSpec(shape=(None,)" in concrete.pretty_printed_signature()
    assert "flag: 'no'" in concrete.pretty_printed_signature()


def test_a_concrete_function_may_run_operation_by_operation():
    function = tf.function(lambda x: tf.boolean_mask(x, x > 0.0))
    for spec in (Spec((3,)), Spec((None,))):
        concrete = function.get_concrete_function(spec)
        equal(concrete(tf.constant([1.0, -1.0, 2.0])), [1.0, 2.0])
        assert [op.type for op in concrete.graph.get_operations()] == ["PyFunc"]
        assert concrete.structured_outputs is None


def test_no_garbage_is_collected_during_a_trace():
    seen = []

    def note(x):
        seen.append(gc.isenabled())
        return x

    @tf.function
    def step(x):
        return note(tf.cond(x > 0, lambda: note(x), lambda: note(-x)))

    step(tf.constant(1.0))
    assert seen == [False, False, False]
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        tf.function(lambda x: x / (1 // 0))(tf.constant(1.0))
    assert gc.isenabled()


def test_a_garbage_collector_that_is_off_stays_off():
    gc.disable()
    try:
        assert float(tf.function(lambda x: x + 1)(tf.constant(1.0))) == 2
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_compiled_code_hides_no_nan_behind_a_mask():
    x = tf.constant([1.0, np.nan, np.inf, 3.0])

    def masked(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * tf.cast(tf.constant([True, False, False, True]), x.dtype)
            top = tf.reduce_max(x)
        return y, tape.gradient(top, x)

    y, slope = masked(x)
    assert np.isnan(y[1:3]).all() and np.isnan(slope).all()
    for got, wanted in zip(tf.function(masked)(x), (y, slope), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_floats_out_of_range_become_the_integers_that_they_become_eagerly(kind, dtype):
    x = tf.cast([300.0, -5.0, 255.9, -129.0, 65536.5, 3e9, -3e9, 1e10, np.nan, np.inf, -np.inf], kind)
    eager = tf.cast(x, dtype)
    np.testing.assert_array_equal(tf.function(lambda x: tf.cast(x, dtype))(x), eager)
    if (kind, dtype) == ("float32", "uint8"):  # TensorFlow's
        assert eager.numpy().tolist() == [44, 251, 255, 127, 0, 0, 0, 0, 0, 0, 0]
