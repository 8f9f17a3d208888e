"""Gradients of compiled functions: tapes inside, outside and both, of any order, each compiled once."""

import gc
import sys
import weakref

import numpy as np
import pytest

import gradtape as tf

jax = pytest.importorskip("jax")

X = tf.constant([1.0, 2.0])
v = tf.Variable([3.0, 4.0])
table = tf.Variable([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
captured = tf.constant([5.0, 6.0])


def dense(result):
    return tf.nest.map_structure(lambda g: g if g is None else np.array(tf.convert_to_tensor(g)), result)


def equal(actual, expected):
    if tf.is_tensor(actual):
        np.testing.assert_allclose(dense(actual), np.array(expected), rtol=1e-5)
        return
    actual, expected = dense(actual), dense(expected)
    tf.nest.assert_same_structure(actual, expected)
    for a, e in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
        assert (a is None) == (e is None)
        if e is not None:
            np.testing.assert_allclose(a, e, rtol=1e-5)


@pytest.fixture(autouse=True)
def as_before():
    v.assign([3.0, 4.0])


def gradient(function, *sources, **options):
    """The gradient of what `function()` returns, by sources all of which are watched."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(sources)
        y = function()
    return tape.gradient(y, list(sources), **options)


def second(function, *sources):
    with tf.GradientTape() as tape:
        tape.watch(sources)
        first = [tf.convert_to_tensor(g) for g in gradient(function, *sources) if g is not None]
    return tape.gradient(first, list(sources))


def jacobian(function, *sources):
    with tf.GradientTape() as tape:
        tape.watch(sources)
        y = function()
    return tape.jacobian(y, list(sources))


def forward(function, source):
    with tf.autodiff.ForwardAccumulator(source, tf.ones_like(source)) as accumulator:
        y = function()
    return accumulator.jvp(y)


def forward_over_reverse(function, source):
    with tf.autodiff.ForwardAccumulator(source, tf.ones_like(source)) as accumulator:
        (g,) = gradient(function, source)
    return accumulator.jvp(tf.convert_to_tensor(g))


# ---------------------------------------------------------------------------------------------------------------------
# Every way to differentiate, through functions


@tf.custom_gradient
def tenfold(x):
    return x * x, lambda upstream: upstream * 10.0 * x


@tf.custom_gradient
def with_variable(x):
    def grad(upstream, variables=None):
        assert len(variables) == 1
        return upstream * 100.0, [upstream * 7.0]

    return x * v, grad


recomputed = tf.recompute_grad(lambda x: tf.sin(x) * v)

PROGRAMS = {
    "elementwise": lambda x: tf.exp(tf.sin(x * v)) * x,
    "matrix": lambda x: tf.linalg.matvec(tf.linalg.matmul(table, table, transpose_a=True), x * v) ** 2,
    "reduced": lambda x: tf.reduce_sum(tf.nn.softmax(x * v) ** 2),
    "gathered": lambda x: tf.gather(table, [0, 2, 2]) ** 2 * x,
    "captured": lambda x: x * captured**2 * v,
    "stopped": lambda x: x * tf.stop_gradient(x * v),
    "custom": lambda x: tenfold(x) * v,
    "custom with variables": lambda x: with_variable(x) * x,
    "recomputed": lambda x: recomputed(x) ** 2,
    "assigned": lambda x: (x * v, v.assign(v * 2.0))[0] + x * v**2,
    "same twice": lambda x: ([x * v] * 2)[0],
    "variable itself": lambda x: v,
    "input itself": lambda x: x,
    "unconnected": lambda x: tf.ones(2) + tf.cast(tf.cast(x, "int32"), "float32"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_through_functions_are_those_of_eager_code(name):
    python_function = PROGRAMS[name]
    compiled = tf.function(python_function)

    def all_of(function):
        results = []
        for ask in (gradient, jacobian):
            v.assign([3.0, 4.0])
            results.append(ask(lambda: function(X), X, v, table, captured))
        if name != "unconnected":
            v.assign([3.0, 4.0])
            results.append(second(lambda: function(X), X, v, table, captured))
        v.assign([3.0, 4.0])
        results.append(forward(lambda: function(X), X))
        return results

    expected = all_of(python_function)
    equal(all_of(compiled), expected)
    equal(tf.function(lambda: all_of(python_function))(), expected)
    assert compiled.experimental_get_tracing_count() == 1


def test_third_order_and_mixed_modes():
    cube = tf.function(lambda x: tf.reduce_sum(x**4 * v))

    def third():
        with tf.GradientTape() as tape:
            tape.watch(X)
            (second_,) = second(lambda: cube(X), X)[:1]
        return tape.gradient(second_, X)

    def reverse_over_forward():
        with tf.GradientTape() as tape:
            tape.watch(X)
            tangent = forward(lambda: cube(X), X)
        return tape.gradient(tangent, X)

    expected = [24.0 * X * v, 12.0 * X**2 * v, 12.0 * X**2 * v]
    ways = lambda: [third(), forward_over_reverse(lambda: cube(X), X), reverse_over_forward()]
    equal(ways(), expected)
    equal(tf.function(ways)(), expected)


def test_batch_jacobians_inside_and_outside():
    batch = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    function = tf.function(lambda x: tf.stack([x[:, 0] * x[:, 1], x[:, 0] ** 2, x[:, 1]], axis=1))

    def ask():
        with tf.GradientTape() as tape:
            tape.watch(batch)
            y = function(batch)
        return tape.batch_jacobian(y, batch)

    expected = [[[2, 1], [2, 0], [0, 1]], [[4, 3], [6, 0], [0, 1]]]
    np.testing.assert_array_equal(ask(), expected)
    np.testing.assert_array_equal(tf.function(ask)(), expected)
    np.testing.assert_array_equal(tf.function(ask).python_function(), expected)


def test_jacobians_in_pieces_and_row_by_row():
    function = tf.function(lambda x: x * x * v)
    for options in ({"parallel_iterations": 1}, {"experimental_use_pfor": False}):
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = function(X)
        np.testing.assert_array_equal(tape.jacobian(y, X, **options), [[6, 0], [0, 16]])


# ---------------------------------------------------------------------------------------------------------------------
# What the tapes outside hear


def test_several_outputs_some_unused_some_integers():
    @tf.function
    def several(x):
        return {
            "double": x * 2.0,
            "places": tf.argsort(x),
            "nested": [x * v, None, tf.cast(x, "int32")],
            "root": tf.sqrt(x),
        }

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = several(X)
    equal(tape.gradient(y["double"], [X, v]), [2.0 * tf.ones(2), tf.zeros(2)])  # another output depends on v
    equal(tape.gradient(y["nested"][0], [X, v]), [v, X])
    equal(tape.gradient([y["double"], y["nested"][0]], X), v + 2.0)
    assert y["nested"][1] is None and y["nested"][2].dtype == tf.int32
    zero = tf.constant([0.0, 1.0])
    with tf.GradientTape() as tape:
        tape.watch(zero)
        y = several(zero)
    equal(tape.gradient(y["double"], zero), [2.0, 2.0])  # not nan: nobody asked for the root


def test_integer_targets_have_no_gradient(caplog):
    function = tf.function(lambda x: tf.argmax(x))
    assert gradient(lambda: function(X), X) == [None]
    assert "must be floating" in caplog.text


def test_unconnected_sources_give_none_or_zeros():
    function = tf.function(lambda x: x * 2.0)
    equal(gradient(lambda: function(X), X, v), [2.0 * tf.ones(2), None])
    equal(gradient(lambda: function(X), X, v, unconnected_gradients="zero"), [2.0 * tf.ones(2), tf.zeros(2)])


def test_output_gradients_weigh():
    function = tf.function(lambda x: (x * x, x * v))
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = function(X)
    equal(
        tape.gradient(y, X, output_gradients=[tf.constant([1.0, 10.0]), tf.constant([2.0, 2.0])]),
        [2.0 + 6.0, 40.0 + 8.0],
    )


def test_sparse_gradients_stay_sparse():
    rows = tf.function(lambda i: tf.gather(table, i))
    (g,) = gradient(lambda: rows(tf.constant([0, 2, 2])), table)
    assert isinstance(g, tf.IndexedSlices)
    np.testing.assert_array_equal(g.indices, [0, 2, 2])

    @tf.function
    def inside():
        with tf.GradientTape() as tape:
            y = rows(tf.constant([1, 1]))
        return tape.gradient(y, table)

    g = inside()
    assert isinstance(g, tf.IndexedSlices)
    equal(g, [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0]])


def test_which_variables_are_heard():
    silent = tf.Variable(2.0, trainable=False)
    whole = tf.Variable(3)
    function = tf.function(lambda x: x * v * silent * tf.cast(whole, "float32"))
    for _ in range(2):
        with tf.GradientTape() as tape:
            y = function(X)
        assert [u.ref() for u in tape.watched_variables()] == [v.ref()]
        equal(tape.gradient(y, v), X * 6.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = function(X)
    assert tape.gradient(y, v) is None and tape.watched_variables() == ()
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(silent)
        y = function(X)
    equal(tape.gradient(y, [v, silent]), [None, tf.reduce_sum(X * v * 3.0)])


def test_a_variable_that_is_assigned_before_it_is_read_is_heard_on_every_call():
    function = tf.function(lambda x: (v.assign(x * 2.0), v.value() ** 2)[1])
    for _ in range(3):
        equal(gradient(lambda: function(X), v), [4.0 * X])


def test_captured_tensors_count_whenever_they_are_watched():
    weight = tf.constant([5.0, 6.0])
    everywhere = {
        "plain": lambda x: x * weight,
        "in a branch": lambda x: tf.cond(x[0] > 0.0, lambda: x * weight, lambda: x),
        "in a loop": lambda x: tf.foldl(lambda a, e: a + e * weight, tf.stack([x, x * 0.0]), tf.zeros(2)),
        "in a custom gradient": lambda x: tenfold(weight) * x / tf.constant([50.0, 60.0]),
    }
    for python_function in everywhere.values():
        function = tf.function(python_function)
        function(X)  # nobody listens
        assert gradient(lambda f=function: f(X), X)[0] is not None  # somebody does, but not to the weight
        equal(gradient(lambda f=function: f(X), weight), [X])
        equal(gradient(lambda f=function: f(X), X, weight)[1], X)


def test_a_captured_tensor_that_depends_on_something_watched():
    with tf.GradientTape() as tape:
        tape.watch(X)
        square = X * X
        y = tf.function(lambda: square * 3.0)()
    equal(tape.gradient(y, X), 6.0 * X)


def test_stop_recording_and_reset():
    function = tf.function(lambda x: x * v)
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = function(X)
        with tape.stop_recording():
            z = function(X)
    equal(tape.gradient([y, z], X), v)
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = function(X)
        tape.reset()
        tape.watch(X)
        z = function(X)
    equal(tape.gradient([y, z], X), v)


def test_functions_inside_functions_under_tapes():
    inner = tf.function(lambda x: x * v)

    @tf.function
    def outer(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(x) * inner(x)
        return tape.gradient(y, x) * inner(x)

    equal(gradient(lambda: outer(X), X, v), [4.0 * X * v**3, 6.0 * X**2 * v**2])


def test_state_changes_under_a_tape_too():
    count = tf.Variable(0)

    @tf.function
    def step(x):
        count.assign_add(1)
        y = x * v
        v.assign_add(x)
        return y * v

    for i in range(3):
        before = v.numpy()
        equal(
            gradient(lambda: step(X), X, v),
            [v.numpy() * 0 + before * (before + X.numpy()), X * (2.0 * before + X)],
        )
        assert int(count) == i + 1
        np.testing.assert_array_equal(v, before + X.numpy())


def test_gradients_of_values_and_dtypes():
    for dtype in ("float64", "float16", "bfloat16", "complex64", "complex128"):
        x = tf.cast([1.0, 2.0], dtype)
        python_function = lambda x: x * x * x + x
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.function(python_function)(x)
        g = tape.gradient(y, x)
        assert g.dtype == dtype
        np.testing.assert_allclose(np.array(g).astype(complex), [4.0, 13.0], rtol=1e-2)
    big = tf.constant([1.0, 1e200], "float64")
    (g,) = gradient(lambda: tf.function(lambda x: x * 1e-100)(big), big)
    np.testing.assert_array_equal(g, [1e-100, 1e-100])


def test_what_a_gradient_prints_is_printed_when_it_is_computed(capsys):
    @tf.custom_gradient
    def watched(x):
        def grad(upstream):
            tf.print("gradient", upstream, output_stream=sys.stdout)
            return upstream * 2.0

        tf.print("value", x, output_stream=sys.stdout)
        return x, grad

    function = tf.function(lambda x: watched(x) * 3.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = function(X)
        jax.effects_barrier()
        assert capsys.readouterr().out == "value [1 2]\n"
        equal(tape.gradient(y, X), [6.0, 6.0])
        jax.effects_barrier()
        assert capsys.readouterr().out == "gradient [3 3]\n"


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers


def test_dropout_has_the_gradient_of_what_was_dropped():
    x = tf.ones(1000)
    drop = tf.function(lambda x: tf.nn.dropout(x, 0.5) * x)
    outside = []
    for _ in range(2):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = drop(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                z = drop(x)
            g = inner.gradient(z, x)
        np.testing.assert_array_equal(tape.gradient(y, x), 2.0 * y)
        np.testing.assert_array_equal(g, 2.0 * z)
        np.testing.assert_array_equal(tape.gradient(g, x), 2.0 * z)
        outside.append(y.numpy())
    assert not np.array_equal(*outside)

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.dropout(x, 0.5) * x
        return y, tape.gradient(y, x)

    y, g = inside(x)
    np.testing.assert_array_equal(g, 2.0 * y)
    assert 300 < np.count_nonzero(y) < 700


# ---------------------------------------------------------------------------------------------------------------------
# Compiled once, and freed

compilations = []
jax.monitoring.register_event_duration_secs_listener(
    lambda name, *_, **__: compilations.append(name) if name.endswith("backend_compile_duration") else None
)


@pytest.mark.usefixtures("compiled_code")
def test_a_first_call_compiles_one_program():
    variables = [tf.Variable(tf.ones(shape)) for shape in ((3, 17), (19,), (2, 1, 23))]  # of no other test

    @tf.function
    def step(x):
        for v in variables:
            v.assign_add(x * v)
        return x + 1.0

    compilations.clear()
    step(tf.constant(2.0))
    assert len(compilations) == 1


def test_a_gradient_is_traced_and_compiled_once(cold):
    seen = []

    @tf.function
    def loss(x):
        seen.append(1)
        return tf.reduce_sum(tf.tanh(x * v) ** 2)

    def ask(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = loss(x)
        return tape.gradient(y, [x, v])

    ask(X)
    compilations.clear()
    for i in range(3):
        g = ask(X + float(i))
    assert compilations == []
    equal(g, gradient(lambda: loss.python_function(X + 2.0), v)[0:0] + ask(X + 2.0))
    assert len(seen) == 2  # once by us
    second(lambda: loss(X), X)
    seen.clear(), compilations.clear()
    for _ in range(3):
        second(lambda: loss(X), X)
    assert seen == [] and compilations == []


def test_a_call_under_a_tape_that_hears_nothing_is_an_ordinary_call(cold):
    seen = []

    @tf.function
    def plain(x):
        seen.append(1)
        return x * 2.0

    for _ in range(3):
        with tf.GradientTape():
            plain(X)
    plain(X)
    assert len(seen) == 1


def test_the_forward_pass_of_a_gradient_does_not_copy_parameters():
    weights = tf.Variable(np.ones((64, 64), np.float32))
    function = tf.function(lambda x: tf.tanh(tf.linalg.matvec(weights, x)))
    x = tf.ones(64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    (gradient_,) = [g for p in function._programs.values() for g in p.gradients.values()]
    assert all(v.aval.shape != (64, 64) for v in gradient_.residuals)
    assert tape.gradient(y, x).shape == (64,)


def test_a_dropped_tape_frees_what_it_kept():
    function = tf.function(lambda x: tf.exp(x) * v)
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = function(X)
    kept = [weakref.ref(plan) for _, plan, _, _ in tape._records]
    assert kept and y is not None
    del tape
    gc.collect()
    assert all(plan() is None for plan in kept)


def test_the_second_gradient_of_a_call_of_python_is_right_for_complex_numbers():
    x = tf.constant([0.3 + 0.4j, 1.0 - 0.2j], tf.complex128)

    def cube(x):
        return x * x * x

    def second(function):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            g = inner.gradient(y, x)
        return outer.gradient(g, x)

    called = tf.function(lambda x: tf.py_function(cube, [x], tf.TensorSpec((2,), tf.complex128)))
    np.testing.assert_allclose(np.array(second(called)), np.array(second(cube)), rtol=1e-12)
