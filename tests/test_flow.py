"""Choices and loops inside of a @function: the numbers and gradients of eager code, compiled once."""

import math
import sys

import numpy as np
import pytest

import gradtape as tf

jax = pytest.importorskip("jax")

X = tf.constant([1.0, 2.0])
ZERO = tf.constant(0)
v = tf.Variable([1.5, 0.5])
count = tf.Variable(0, trainable=False)


def compiled(python_function):
    return tf.function(python_function, autograph=False)


def equal(actual, expected):
    tf.nest.assert_same_structure(actual, expected)
    for a, e in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
        assert (a is None) == (e is None)
        if e is not None:
            np.testing.assert_allclose(np.array(a), np.array(e), rtol=1e-5, atol=1e-5)


@pytest.fixture(autouse=True)
def as_before():
    v.assign([1.5, 0.5])
    count.assign(0)


# ---------------------------------------------------------------------------------------------------------------------
# The same as eager code, with gradients of first and second order, and Jacobians


def bounded(x):
    return tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * x * v), (ZERO, x), maximum_iterations=5
    )[1]


def stopped_by_its_limit(x):
    return tf.while_loop(lambda i, y: i < 9, lambda i, y: (i + 1, y * x), (ZERO, x), maximum_iterations=2)[1]


def written_array(x):
    array = tf.TensorArray("float32", 3)
    body = lambda i, a, y: (i + 1, a.write(i, y**2), y * x)
    return tf.while_loop(lambda i, a, y: i < 3, body, (ZERO, array, x), maximum_iterations=3)[1].stack()


def read_array(x):
    array = tf.TensorArray("float32", 2).unstack(x)
    body = lambda i, y: (i + 1, y * array.read(i) ** 2)
    return tf.while_loop(lambda i, y: i < 2, body, (ZERO, tf.constant(1.0)), maximum_iterations=2)[1]


def nested(x):
    def row(a, e):
        return tf.cond(e > 1.0, lambda: tf.foldl(lambda b, k: b * k * v[0], x, a), lambda: a * e * e)

    return tf.scan(row, x, tf.constant(1.0))


def choosing_in_a_loop(x):
    def body(i, y):
        return tf.cond(i % 2 == 0, lambda: (i + 1, y * x), lambda: (i + 1, y + x))

    return tf.while_loop(lambda i, y: tf.reduce_sum(y) < 100.0, body, (ZERO, x), maximum_iterations=9)[1]


def loops_in_loops(x):
    def body(i, y):
        inner = tf.while_loop(
            lambda j, z: j < i, lambda j, z: (j + 1, z * x), (ZERO, y), maximum_iterations=4
        )
        return i + 1, inner[1]

    return tf.while_loop(lambda i, y: i < 3, body, (ZERO, x), maximum_iterations=4)[1]


def of_structures(x):
    def step(state, element):
        return {"sum": state["sum"] + element[0], "product": state["product"] * element[1] * v[1]}

    start = {"sum": tf.constant(0.0), "product": tf.constant(1.0)}
    return tf.scan(step, (x, x * 2.0), start)["product"]


SAME = {
    "cond, true": lambda x: tf.cond(x[0] > 0.0, lambda: x**4 * v, lambda: -x),
    "cond, false": lambda x: tf.cond(x[0] < 0.0, lambda: x**4, lambda: x**3 * x[0] * v),
    "case": lambda x: tf.case([(x[0] > 5.0, lambda: x**2), (x[0] > 0.0, lambda: x**4)], default=lambda: x),
    "case, default": lambda x: tf.case([(x[0] > 5.0, lambda: x)], default=lambda: x**3),
    "switch_case": lambda x: tf.switch_case(tf.cast(x[1], "int32"), [lambda: x, lambda: x**2, lambda: x**4]),
    "switch_case, default": lambda x: tf.switch_case(
        tf.cast(x[1], "int32"), [lambda: x], default=lambda: x**3
    ),
    "while_loop": bounded,
    "while_loop to its limit": stopped_by_its_limit,
    "scan": lambda x: tf.scan(lambda a, e: a * e + x[0] * v[0], x * 2.0, tf.constant(1.0)),
    "scan without a start": lambda x: tf.scan(lambda a, e: a * e * e, x * 2.0),
    "scan in reverse": lambda x: tf.scan(lambda a, e: a * e * e, x * 2.0, tf.constant(1.0), reverse=True),
    "scan of structures": of_structures,
    "map_fn": lambda x: tf.map_fn(lambda e: e**4 * x[0] * v, x),
    "map_fn of several": lambda x: tf.map_fn(lambda e: (e[0] ** 4 * e[1], e[1] ** 2), (x, x * 2.0))[0],
    "vectorized_map": lambda x: tf.vectorized_map(lambda e: e**4 * x[0], x),
    "foldl": lambda x: tf.foldl(lambda a, e: a * e + e * e, x, tf.constant(2.0)),
    "foldr": lambda x: tf.foldr(lambda a, e: a * e + e * e, x),
    "TensorArray, written": written_array,
    "TensorArray, read": read_array,
    "a loop in a branch in a loop": nested,
    "a branch in a loop": choosing_in_a_loop,
    "a loop in a loop": loops_in_loops,
}


def derivatives(function):
    """The value, gradients of first and second order, the Jacobian and a tangent."""
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(X)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(X)
            y = function(X)
        first = tape.gradient(y, [X, v], unconnected_gradients="zero")
    second = outer.gradient(first[0], [X, v], unconnected_gradients="zero")
    with tf.autodiff.ForwardAccumulator(X, tf.ones(2)) as accumulator:
        y = function(X)
    return y, first, second, tape.jacobian(y, X), accumulator.jvp(y)


@pytest.mark.parametrize("name", SAME)
def test_values_and_derivatives_are_those_of_eager_code(name):
    python_function = SAME[name]
    expected = derivatives(python_function)
    equal(compiled(lambda: derivatives(python_function))(), expected)
    if name in ("cond, true", "while_loop", "scan", "TensorArray, written", "a loop in a branch in a loop"):
        equal(derivatives(compiled(python_function)), expected)


def test_a_loop_begins_with_zeros_of_their_sign():
    starts = [0.0, 0.0], [-0.0, -0.0], [-0.0, 0.0]

    @compiled
    def doubled():
        return [
            tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, 2.0 * x), (0, tf.constant(start)))[1]
            for start in starts
        ]

    np.testing.assert_array_equal(np.signbit(doubled()), np.signbit(starts))


@pytest.mark.parametrize("limit", [None, 4])
@pytest.mark.parametrize("known", [True, False])
def test_without_an_iteration_the_gradient_is_that_of_the_first_carry(known, limit):
    x, w = tf.constant(0.3), tf.constant(0.7)

    @tf.function
    def f(x, w, n):
        last = 0 if known else n
        return tf.while_loop(
            lambda i, s: i < last, lambda i, s: (i + 1, tf.tanh(w)), (0, x * w), maximum_iterations=limit
        )[1]

    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = f(x, w, tf.constant(0))
    np.testing.assert_allclose(tape.gradient(y, [x, w]), [0.7, 0.3], rtol=1e-6)


def test_third_order_through_a_loop_in_a_function():
    function = compiled(lambda x: tf.foldl(lambda a, e: a * e * e, x, tf.reduce_sum(x)))

    def third(function):
        with tf.GradientTape() as c:
            c.watch(X)
            with tf.GradientTape() as b:
                b.watch(X)
                with tf.GradientTape() as a:
                    a.watch(X)
                    y = function(X)
                g = a.gradient(y, X)
            g = b.gradient(g, X)
        return c.gradient(g, X)

    equal(third(function), third(function.python_function))


def test_integers_booleans_and_wide_numbers_go_round():
    def mixed(n):
        def body(i, total, odd, exact):
            return i + 1, total + tf.cast(i, "int64") * 3000000000, tf.logical_not(odd), exact / 3.0

        start = (ZERO, tf.constant(0, "int64"), tf.constant(False), tf.constant(1.0, "float64"))
        return tf.while_loop(lambda i, *_: i < n, body, start)

    n = tf.constant(5)
    for a, e in zip(compiled(mixed)(n), mixed(n), strict=True):
        assert a.dtype == e.dtype
        np.testing.assert_array_equal(a, e)


def test_conditions_known_while_tracing_choose_in_python():
    called = []

    def branch(name):
        return lambda: called.append(name) or X

    compiled(lambda: tf.cond(tf.constant(True), branch("yes"), branch("no")))()
    assert called == ["yes"]


def test_both_branches_are_traced_and_one_runs():
    traced, ran = [], []

    def branch(name, y):
        def run():
            traced.append(name)
            return tf.py_function(lambda t: (ran.append(name), t)[1], [y], tf.TensorSpec((2,)))

        return run

    function = compiled(lambda x: tf.cond(x[0] > 0.0, branch("yes", x), branch("no", -x)))
    equal(function(X), X)
    equal(function(-X), X)
    assert sorted(traced) == ["no", "yes"] and ran == ["yes", "no"]


# ---------------------------------------------------------------------------------------------------------------------
# Variables


def written_in_branches(x):
    def more():
        count.assign_add(1)
        v.assign(v * 2.0)
        return x * v

    with tf.GradientTape() as tape:
        y = tf.cond(v[0] > 0.0, more, lambda: x) + v
    return y, tape.gradient(y, v, unconnected_gradients="zero")


def written_in_loops(x):
    def body(i, y):
        v.assign(v * 1.5)
        count.assign_add(i)
        return i + 1, y * v

    with tf.GradientTape() as tape:
        y = tf.while_loop(lambda i, y: count < 3, body, (ZERO, x), maximum_iterations=4)[1]
    return y, tape.gradient(y, v, unconnected_gradients="zero")


def written_in_a_scan(x):
    def row(total, e):
        v.assign_add(x)
        return tf.cond(e > 1.0, lambda: total + e * v[0], lambda: (v.assign(v * e), total * v[1])[1])

    with tf.GradientTape() as tape:
        y = tf.scan(row, x, tf.constant(1.0))
    return y, tape.gradient(y, v), v * x


@pytest.mark.parametrize("python_function", [written_in_branches, written_in_loops, written_in_a_scan])
def test_variables_written_inside_and_gradients_that_see_them_as_they_were(python_function):
    rounds = []
    for function in (python_function, compiled(python_function)):
        v.assign([1.5, 0.5])
        count.assign(0)
        rounds.append([(function(X), v.numpy(), count.numpy()) for _ in range(3)])
    equal(rounds[1], rounds[0])


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers


def test_random_numbers_in_loops_differ_from_turn_to_turn_and_call_to_call():
    @compiled
    def draw():
        rows = tf.map_fn(lambda e: tf.random.uniform((4,)) + 0.0 * e, tf.zeros(3))
        nested_ = tf.map_fn(
            lambda e: tf.map_fn(lambda k: tf.random.uniform(()) + k, tf.zeros(2)) + e, tf.zeros(2)
        )
        return rows, nested_, tf.random.uniform((2,))

    tf.random.set_seed(3)
    first, second = draw(), draw()
    numbers = np.concatenate([np.ravel(n) for n in (*first, *second)])
    assert len(np.unique(numbers)) == numbers.size
    tf.random.set_seed(3)
    equal(draw(), first)


def test_gradients_of_loops_draw_the_same_numbers_again():
    def noisy(x):
        def turn(y, e):
            y = y * tf.random.uniform((2,), 1.0, 2.0)
            return tf.cond(e > 0.0, lambda: y * tf.random.uniform((2,), 1.0, 2.0), lambda: y)

        return tf.foldl(turn, tf.constant([1.0, -1.0, 1.0]), x)

    @compiled
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = noisy(x)
        return y, tape.gradient(y, x)

    y, g = inside(X)
    equal(g * X, y)  # y is x times what was drawn
    outside = compiled(noisy)
    with tf.GradientTape() as outer:
        outer.watch(X)
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = outside(X)
        g = tape.gradient(y, X)
        square = y * y
    equal(g * X, y)
    equal(outer.gradient(square, X) * X, 2.0 * y * y)


# ---------------------------------------------------------------------------------------------------------------------
# Compiled once


def equations(jaxpr):
    from jax.extend.core import jaxprs_in_params

    return len(jaxpr.eqns) + sum(equations(j) for e in jaxpr.eqns for j in jaxprs_in_params(e.params))


def size_of(function):
    (program,) = function._programs.values()
    return equations(program.executable.graph.code.jaxpr)


LOOPS = {
    "scan": lambda x: tf.scan(lambda a, e: tf.sin(a) * e, x),
    "map_fn": lambda x: tf.map_fn(lambda e: tf.sin(e) * 2.0, x),
    "foldr": lambda x: tf.foldr(lambda a, e: tf.sin(a) * e, x, 1.0),
    "vectorized_map": lambda x: tf.vectorized_map(lambda e: tf.sin(e) * 2.0, x),
    "while_loop": lambda x: tf.while_loop(
        lambda i, y: i < len(x), lambda i, y: (i + 1, tf.sin(y)), (ZERO, x[0]), maximum_iterations=len(x)
    )[1],
}


@pytest.mark.parametrize("name", LOOPS)
def test_the_program_of_a_loop_and_its_gradient_does_not_grow_with_its_length(name):
    sizes = []
    for length in (3, 300):
        x = tf.linspace(0.1, 1.0, length)

        @compiled
        def function(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(LOOPS[name](x))
            return tape.gradient(y, x)

        function.get_concrete_function(tf.TensorSpec(x.shape))
        sizes.append(size_of(function))
    assert sizes[0] == sizes[1]


def test_a_body_is_traced_a_few_times_whatever_the_length():
    calls = []

    def step(a, e):
        calls.append(1)
        return a + e

    total = compiled(lambda x: tf.foldl(step, x, tf.constant(0.0)))
    assert float(total(tf.ones(1000))) == 1000.0
    assert len(calls) <= 2


# ---------------------------------------------------------------------------------------------------------------------
# Edges and errors


def test_empty_and_single_turns():
    nothing, one = tf.zeros((0,)), tf.constant([3.0])
    for x in (nothing, one):
        for loop in (
            lambda x: tf.map_fn(lambda e: e * 2.0, x),
            lambda x: tf.scan(lambda a, e: a + e, x, tf.constant(1.0)),
            lambda x: tf.foldl(lambda a, e: a + e, x, tf.constant(1.0)),
            lambda x: tf.while_loop(lambda i: i < len(x), lambda i: (i + 1,), (ZERO,))[0],
        ):
            equal(compiled(loop)(x), loop(x))


WRONG = {
    "branches of different dtypes": (
        lambda x: tf.cond(x[0] > 0.0, lambda: x, lambda: tf.cast(x, "float64")),
        TypeError,
        "cond: both branches must return.*Use cast",
    ),
    "branches of different structures": (
        lambda x: tf.cond(x[0] > 0.0, lambda: x, lambda: (x, x)),
        TypeError,
        "cond: the branches must return the same structure",
    ),
    "a condition of two elements": (
        lambda x: tf.cond(x > 0.0, lambda: x, lambda: -x),
        ValueError,
        r"cond: a condition is one truth value, not a tensor of shape \(2,\)",
    ),
    "a loop variable that grows": (
        lambda x: tf.while_loop(lambda y: y[0] < 9.0, lambda y: (tf.concat([y, y], 0),), (x,)),
        ValueError,
        r"while_loop: what goes round.*float32\[2\] and comes out as float32\[4\]",
    ),
    "a loop variable that changes dtype": (
        lambda x: tf.while_loop(
            lambda i: i < 9, lambda i: (tf.cast(i, "float32"),), (tf.cast(x[0], "int32"),)
        ),
        ValueError,
        r"int32\[\] and comes out as float32\[\]",
    ),
    "a condition that is no truth value": (
        lambda x: tf.while_loop(lambda y: y, lambda y: (y,), (x,)),
        ValueError,
        "the condition must be one truth value",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_one_program_is_refused(name):
    python_function, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        compiled(python_function)(X)
    assert tf.executing_eagerly()


def twice_differentiated(function, x, w):
    """The result, and its first and second gradients by x and w."""
    with tf.GradientTape() as outer:
        outer.watch([x, w])
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            y = function(x, w)
        first = tape.gradient(y, [x, w], unconnected_gradients="zero")
        total = tf.add_n([tf.reduce_sum(g * g) for g in first])
    return [y, *first, *outer.gradient(total, [x, w], unconnected_gradients="zero")]


def repeated(count):
    def loop(x, w):
        i = 0
        while i < count:
            x = x * w + 0.01 * tf.sin(x)
            i += 1
        return tf.reduce_sum(x * x)

    return loop


def until_large(x, w):
    while tf.reduce_sum(x) < 50.0:
        x = x * (1.0 + w * w)
        if x[0] > 3.0:
            x = x + w
        while tf.reduce_sum(x * x) < 4.0:
            x = x * 1.5 + w
    return tf.reduce_sum(x * w)


def left_early(x, w):
    for _ in tf.range(tf.cast(x[0] * 0.0 + 9.0, tf.int32)):
        x = x * w + tf.sin(x)
        if tf.reduce_sum(x) > 2.0:
            break
    return tf.reduce_sum(x * x)


def random_steps(x, w):
    i = 0
    while tf.reduce_sum(tf.abs(x)) < 20.0:
        x = x * (1.0 + w + 0.3 * tf.random.stateless_uniform([2], [3, i]))
        i += 1
    return tf.reduce_sum(x * x)


def in_a_branch(x, w):
    if x[0] > 0.0:
        while tf.reduce_sum(x) < 9.0:
            x = x * (1.5 + w)
    else:
        x = x * 2.0
    return tf.reduce_sum(x * x)


def in_a_loop_of_known_length(x, w):
    for limit in tf.constant([3.0, 6.0, 9.0]):
        while tf.reduce_sum(x) < limit:
            x = x * 1.2 + tf.sin(x * w)
    return tf.reduce_sum(x * x)


def complex_carry(x, w):
    z = tf.complex(x, w)
    while tf.reduce_sum(tf.abs(z)) < 9.0:
        z = z * z + tf.complex(x, 1.0 + x)
    return tf.reduce_sum(tf.abs(z) ** 2)


def written_array(x, w):
    array, i = tf.TensorArray(tf.float32, size=9, element_shape=[2]), 0
    while tf.reduce_sum(x) < 9.0:
        x = x * (1.5 + w)
        array = array.write(i, x)
        i += 1
    return tf.reduce_sum(array.stack() ** 2)


OF_UNKNOWN_LENGTH = [
    *[repeated(tf.constant(n)) for n in (0, 1, 20)],
    *[
        until_large,
        left_early,
        random_steps,
        in_a_branch,
        in_a_loop_of_known_length,
        complex_carry,
        written_array,
    ],
]


@pytest.mark.parametrize("loop", OF_UNKNOWN_LENGTH)
def test_the_gradient_of_a_loop_of_unknown_length_is_compiled(loop):
    x, w = tf.constant([0.3, 0.7], "float32"), tf.constant([0.9, 0.95])
    function = tf.function(loop, jit_compile=True)
    for got, wanted in zip(
        twice_differentiated(function, x, w), twice_differentiated(loop, x, w), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("length", [7, 8, 9, 16, 63, 64, 65, 200])
def test_a_loop_longer_than_its_checkpoints(length, monkeypatch):
    """With eight of them: segments of one step, of several, and of more steps than are stored at a time."""
    monkeypatch.setattr(sys.modules["gradtape.compiled.control_flow"], "_CHECKPOINT_BYTES", 0)

    def loop(x, n):
        i = tf.constant(0)
        _, y = tf.while_loop(
            lambda i, y: i < n, lambda i, y: (i + 1, tf.sin(y) * 1.2 + tf.cast(i, y.dtype) / 99), (i, x)
        )
        return tf.reduce_sum(y)

    x, n = tf.constant([0.5, -0.3], "float64"), tf.constant(length)
    results = []
    for function in (tf.function(loop, jit_compile=True), loop):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x, n)
        results.append((y, tape.gradient(y, x)))
    for got, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10)


def test_the_steps_of_a_loop_of_unknown_length_are_traced_once():
    traced = []

    @tf.function
    def f(x, n):
        def body(i, y):
            traced.append(i)
            return i + 1, tf.sin(y) * x

        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda i, y: i < n, body, (0, x))[1]
        return tape.gradient(y, x)

    f(tf.constant(0.5), tf.constant(4))
    f(tf.constant(0.5), tf.constant(9))
    assert len(traced) == 1


def test_the_second_gradient_of_a_loop_of_unknown_length_is_of_moderate_size():
    from gradtape.compiled.jaxprs import inner_code

    @tf.function
    def f(x, n):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.sin(y) * x), (0, x))[1]
            gradient = tape.gradient(y, x)
        return outer.gradient(gradient, x)

    f.get_concrete_function(tf.constant(0.5), tf.constant(4))
    (program,) = f._programs.values()
    # The steps themselves are some 60 operations; most of the others store and find carries.
    assert sum(len(code.eqns) for code in inner_code(program.codes[0])) < 2000


def test_variables_written_in_a_loop_of_unknown_length():
    v, count = tf.Variable(1.0), tf.constant(5)

    def loop(x):
        v.assign(1.0)
        i = 0
        while i < count:
            v.assign_add(0.5)
            x = x * tf.stop_gradient(v) + tf.sin(x)
            i += 1
        return x

    results = []
    for function in (tf.function(loop, jit_compile=True), loop):
        x = tf.constant(0.1)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        results.append([float(y), float(tape.gradient(y, x)), float(v)])
    np.testing.assert_allclose(*results, rtol=1e-5)


def test_the_gradient_of_a_loop_of_unknown_length_that_calls_python_is_computed_operation_by_operation(
    caplog,
):
    def loop(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            step = lambda y: (tf.py_function(lambda y: y * 2.0, [y], tf.TensorSpec([2], tf.float32)),)
            y = tf.while_loop(lambda y: tf.reduce_sum(y) < 100.0, step, (x,))[0]
        return y, tape.gradient(y, x)

    x = tf.constant([1.0, 2.0])
    function = compiled(loop)
    equal(function(x), loop(x))
    assert len(caplog.records) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"gradient of a loop.*maximum_iterations"):
        tf.function(loop, autograph=False, jit_compile=True)(x)


# ---------------------------------------------------------------------------------------------------------------------
# What a loop backwards need not do step by step


def recurrent(cell=lambda x, h, w: tf.tanh(tf.concat([x, h], 1) @ w)):
    rng = np.random.default_rng(0)
    series, w = tf.constant(rng.normal(size=(5, 2, 3))), tf.Variable(rng.normal(size=(7, 4)) / 3)

    def loss(series):
        h = tf.scan(lambda h, x: cell(x, h, w), series, tf.zeros((2, 4), "float64"))[-1]
        return tf.reduce_sum(h**2)

    def step(series):
        with tf.GradientTape() as tape:
            tape.watch(series)
            out = loss(series)
        return tape.gradient(out, [series, w], unconnected_gradients="zero")

    return step, series, w


def products_in_loops(jaxpr):
    from jax.extend.core import jaxprs_in_params

    loops = [j for e in jaxpr.eqns if e.primitive.name == "scan" for j in jaxprs_in_params(e.params)]
    return [sum(e.primitive.name == "dot_general" for e in j.eqns) for j in loops]


def test_a_step_backwards_has_one_product_however_many_it_takes():
    step, series, _ = recurrent()
    function = compiled(step)
    for a, e in zip(function(series), step(series), strict=True):
        np.testing.assert_allclose(np.array(a), np.array(e), rtol=1e-12)
    (program,) = function._programs.values()
    # Forwards, one. Backwards the step's own is done before the loop, that of the weights' gradient after it.
    assert products_in_loops(program.executable.graph.code.jaxpr) == [1, 1]


@pytest.mark.parametrize(
    "cell",
    [
        lambda x, h, w: (
            tf.tanh(tf.concat([x, h], 1) @ w) + tf.reduce_sum(w)
        ),  # the weights' sum is no product alone
        lambda x, h, w: h + tf.cond(tf.reduce_sum(x) > 0, lambda: x @ w[:3], lambda: x @ w[4:]),
        lambda x, h, w: tf.sort(x, 1) @ w[:3] * tf.gather(h, [1, 0]),
        lambda x, h, w: h * tf.matmul(w, w, transpose_a=True)[:2],
        lambda x, h, w: tf.scan(lambda a, y: tf.tanh(a + y[None] @ w[:3]), x, h)[-1],
    ],
    ids=["another sum", "choice", "sorted", "no rows", "loop"],
)
def test_other_steps_give_the_same_gradients(cell):
    step, series, w = recurrent(cell)
    for a, e in zip(compiled(step)(series), step(series), strict=True):
        np.testing.assert_allclose(np.array(a), np.array(e), rtol=1e-12)
    second = []
    for f in (step, compiled(step)):
        with tf.GradientTape() as tape:
            tape.watch(series)
            first = f(series)
        second.append(tape.gradient(first, [series, w], unconnected_gradients="zero"))
    for e, a in zip(*second, strict=True):
        np.testing.assert_allclose(np.array(a), np.array(e), rtol=1e-10)


def sizes(jaxpr):
    from jax.extend.core import jaxprs_in_params

    yield from [math.prod(v.aval.shape) for e in jaxpr.eqns for v in e.outvars]
    for e in jaxpr.eqns:
        for inner in jaxprs_in_params(e.params):
            yield from sizes(inner)


@pytest.mark.parametrize(
    "body",
    [
        lambda h, x, i, w: tf.tanh(h @ w + x),
        lambda h, x, i, w: h + tf.tanh(x @ w),
        lambda h, x, i, w: tf.tanh(h @ (w * tf.cast(i, "float32")) + x),
        lambda h, x, i, w: tf.tanh(h @ (w * tf.random.uniform((40, 40))) + x),
    ],
    ids=["recurrent", "rows alone", "scaled weights", "random weights"],
)
def test_nothing_as_large_as_the_weights_is_kept_for_each_step(body):
    rows, w = tf.ones((50, 1, 40)), tf.Variable(tf.ones((40, 40)) / 40)

    @compiled
    def step(rows):
        with tf.GradientTape() as tape:
            h = tf.zeros((1, 40))
            h = tf.scan(lambda h, x: body(h, x[0], x[1], w), (rows, tf.range(50)), h)
            loss = tf.reduce_sum(h)
        return tape.gradient(loss, w)

    step(rows)
    (program,) = step._programs.values()
    assert max(sizes(program.executable.graph.code.jaxpr)) < 50 * 40 * 40 / 2


# -- loops whose length follows from numbers --------------------------------------------------------------------------


def primitives(jaxpr):
    from jax.extend.core import jaxprs_in_params

    inner = [name for e in jaxpr.eqns for j in jaxprs_in_params(e.params) for name in primitives(j)]
    return [e.primitive.name for e in jaxpr.eqns] + inner


def gradient_program(body, start, go_on, limit=None):
    """A compiled gradient of a `while_loop`, eagerly and compiled, and the names of what it is made of."""
    w = tf.Variable([[0.3, -0.2], [0.1, 0.4]])

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            *_, y = tf.while_loop(go_on, lambda *v: body(w, *v), (*start, x), maximum_iterations=limit)
        return tape.gradient(y, [x, w], unconnected_gradients="zero")

    x = tf.constant([[1.0, 2.0]])
    compiled = tf.function(gradient)
    for ours, expected in zip(compiled(x), gradient(x), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-5)
    (program,) = compiled._programs.values()
    return primitives(program.executable.graph.code.jaxpr)


@pytest.mark.parametrize("limit", [None, 3, 9])
@pytest.mark.parametrize(
    ("start", "go_on", "step"),
    [
        ([tf.constant(0)], lambda i, x: i < 5, lambda i: [i + 1]),
        ([tf.constant(10)], lambda i, x: i >= 0, lambda i: [i - 3]),
        ([tf.constant(1.0)], lambda i, x: tf.logical_and(i < 40.0, i > 0.0), lambda i: [i * 2.0]),
        ([tf.constant(0), tf.constant(1)], lambda i, j, x: i + j < 12, lambda i, j: [j, i + j]),
        ([tf.constant(7)], lambda i, x: i < 5, lambda i: [i + 1]),
    ],
)
def test_a_loop_that_numbers_end_is_one_of_known_length(start, go_on, step, limit):
    names = gradient_program(lambda w, *v: (*step(*v[:-1]), tf.tanh(v[-1] @ w)), start, go_on, limit)
    assert "while" not in names
    assert "cond" not in names


def test_a_loop_that_a_value_ends_is_not():
    names = gradient_program(
        lambda w, i, x: (i + 1, tf.tanh(x @ w)), [tf.constant(0)], lambda i, x: tf.reduce_sum(x) > 0.2, 4
    )
    assert "cond" in names


def test_rows_that_a_loop_reads_are_scattered_once():
    w = tf.Variable([[0.3, -0.2], [0.1, 0.4]], dtype=tf.float64)

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            rows = tf.TensorArray(tf.float64, size=6).unstack(x)
            _, y = tf.while_loop(
                lambda i, y: i < 6,
                lambda i, y: (i + 1, tf.tanh(y @ w + rows.read(i))),
                (0, tf.zeros((1, 2), tf.float64)),
            )
        return tape.gradient(y, x)

    x = tf.random.stateless_normal((6, 2), (1, 2), dtype=tf.float64)
    compiled = tf.function(gradient)
    np.testing.assert_allclose(compiled(x), gradient(x), rtol=1e-12)
    (program,) = compiled._programs.values()
    jaxpr = program.executable.graph.code.jaxpr
    (backwards,) = [e for e in jaxpr.eqns if e.primitive.name == "scan" and e.params["reverse"]]
    assert "scatter-add" not in primitives(backwards.params["jaxpr"].jaxpr)
    assert "scatter-add" in primitives(jaxpr)


# ---------------------------------------------------------------------------------------------------------------------
# Jacobians row by row


def curved(x):
    scale = tf.reduce_sum(x * x, -1, keepdims=True)
    return tf.tanh(tf.concat([x[..., 1:], x[..., :1]], -1) * scale) * captured


captured = tf.Variable(0.7)
IN_PIECES = [
    {"experimental_use_pfor": False},
    {"parallel_iterations": 2},
    {"experimental_use_pfor": False, "parallel_iterations": 3},
]


def rows_and_their_gradient(method, options):
    """A Jacobian, and the gradient of a function of it: by the source, and by a variable."""

    def run(x):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = curved(x)
            rows = getattr(tape, method)(y, x, **options)
            total, first = tf.reduce_sum(rows * rows), rows[0, 0]
        return rows, *outer.gradient(total, [x, captured]), outer.jacobian(first, x, **options)

    return run


@pytest.mark.parametrize("options", IN_PIECES, ids=str)
@pytest.mark.parametrize(("method", "shape"), [("jacobian", (5,)), ("batch_jacobian", (2, 5))])
def test_a_jacobian_in_pieces_is_a_loop_with_the_values_of_one_sweep(method, shape, options):
    x = tf.constant(np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape), tf.float32)
    expected = rows_and_their_gradient(method, {})(x)
    for actual, e in zip(tf.function(rows_and_their_gradient(method, options))(x), expected, strict=True):
        np.testing.assert_allclose(actual, e, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", IN_PIECES, ids=str)
@pytest.mark.parametrize("method", ["jacobian", "batch_jacobian"])
def test_a_jacobian_in_pieces_is_compiled_once_for_any_number_of_rows(method, options):
    def size(rows):
        def run(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = curved(x)
            return getattr(tape, method)(y, x, **options)

        function = tf.function(run)
        function(tf.ones((1, rows)))
        return size_of(function)

    assert size(12) == size(600)


def test_a_tape_is_used_up_by_a_jacobian_in_pieces():
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            rows = tape.jacobian(x**3, x, experimental_use_pfor=False)
        with pytest.raises(RuntimeError, match="answers only one call"):
            tape.gradient(x, x)
        return rows

    np.testing.assert_allclose(run(tf.constant([1.0, 2.0])), [[3.0, 0.0], [0.0, 12.0]])


def test_a_jacobian_in_pieces_of_what_is_not_connected_is_none():
    @tf.function
    def run(x, other):
        with tf.GradientTape() as tape:
            tape.watch([x, other])
            y = tf.gather(x, [1, 0, 1]) ** 2
        first, second = tape.jacobian(y, [x, other], experimental_use_pfor=False)
        assert second is None
        return first

    x = tf.constant([1.0, 2.0])
    np.testing.assert_allclose(run(x, x + 1), [[0.0, 4.0], [2.0, 0.0], [0.0, 4.0]])


# ---------------------------------------------------------------------------------------------------------------------
# recompute_grad


def layers(decorate):
    """A step whose layers keep much for their gradient."""
    weights = tf.Variable(np.eye(32, dtype=np.float32))

    def layer(x):
        for _ in range(4):
            x = tf.tanh(x @ weights + 0.1) * tf.sin(x)
        return x

    chosen = decorate(layer)

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(4):
                y = chosen(y)
        return tape.gradient(y, [weights, x])

    return tf.function(step)


def bytes_between(function):
    """The memory for what a compiled program holds between its inputs and its results."""
    (program,) = function._programs.values()
    code = program.executable.graph.code.jaxpr
    inputs = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in (*code.constvars, *code.invars)]
    compiled = program.executable._jit().lower(*inputs).compile()
    return compiled.memory_analysis().temp_size_in_bytes


def test_recompute_grad_holds_less():
    x = tf.constant(np.linspace(-1.0, 1.0, 256 * 32, dtype=np.float32).reshape(256, 32))
    kept, recomputed = layers(lambda f: f), layers(tf.recompute_grad)
    for a, b in zip(kept(x), recomputed(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert bytes_between(recomputed) < 0.6 * bytes_between(kept)


def test_recompute_grad_of_any_order_and_its_jacobian():
    scale = tf.Variable(0.5)

    def f(x, n):
        return tf.tanh(x * scale) * tf.cast(n, x.dtype), tf.reduce_sum(x * x) * scale

    def derivatives(g):
        def run(x):
            with tf.GradientTape(persistent=True) as outer:
                outer.watch(x)
                with tf.GradientTape(persistent=True) as tape:
                    tape.watch(x)
                    y, total = g(x, tf.constant(3))
                    total += tf.reduce_sum(y * y)
                first = tape.gradient(total, [x, scale])
                rows = tape.jacobian(y, x)
            return [*first, rows, outer.gradient(first[0], [x, scale]), outer.jacobian(first[1], x)]

        return run

    x = tf.constant([0.5, -1.0])
    expected = tf.nest.flatten(derivatives(f)(x))
    for g in (tf.recompute_grad(f), f):
        for actual, e in zip(tf.nest.flatten(tf.function(derivatives(g))(x)), expected, strict=True):
            np.testing.assert_allclose(actual, e, rtol=1e-5, atol=1e-6)


def test_elements_gathered_from_a_tensor_array_have_a_dense_gradient():
    @tf.function
    def gathered(xs):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            rows = tf.TensorArray(tf.float32, size=3).unstack(xs).gather([0, 1, 1])
        return tape.gradient(rows, xs)

    xs = tf.ones((3, 2))
    with tf.GradientTape() as tape:
        tape.watch(xs)
        rows = tf.function(lambda xs: tf.TensorArray(tf.float32, size=3).unstack(xs).gather([0, 1, 1]))(xs)
    for gradient in (gathered(xs), tape.gradient(rows, xs)):
        assert type(gradient) is tf.Tensor
        assert gradient.numpy().tolist() == [[1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]
