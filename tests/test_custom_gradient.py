"""custom_gradient, recompute_grad and grad_pass_through: gradients by the user's own hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf


def gradients(f, *values, **options):
    """The gradients of f by each of its arguments."""
    xs = [tf.constant(value) for value in values]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs, **options)
    return [None if g is None else g.numpy().tolist() for g in tape.gradient(y, xs)]


# ---------------------------------------------------------------------------------------------------------------------
# Inputs and outputs


@tf.custom_gradient
def seven(x):
    return x * x, lambda upstream: upstream * 7.0


@tf.custom_gradient
def two_inputs(x, y):
    return x * y, lambda upstream: (upstream * 7.0, upstream * 8.0)


@tf.custom_gradient
def two_inputs_as_a_list(x, y):
    return x * y, lambda upstream: [upstream * 7.0, upstream * 8.0]


@tf.custom_gradient
def two_outputs(x):
    return (x * 2.0, x * x), lambda a, b: a * 10.0 + b * 100.0


@tf.custom_gradient
def two_of_each(x, y):
    return [x * y, x + y], lambda a, b: (a * 1.0 + b * 10.0, a * 100.0 + b * 1000.0)


@tf.custom_gradient
def dict_output(x):
    return {"p": x * 2.0, "q": x * 3.0}, lambda p, q: p * 10.0 + q * 100.0


@tf.custom_gradient
def nothing_for_the_second(x, y):
    return x * y, lambda upstream: (upstream, None)


@tf.custom_gradient
def number_as_gradient(x):
    return x * x, lambda upstream: 5.0


@tf.custom_gradient
def array_as_gradient(x):
    return x * x, lambda upstream: np.array([1.0, 2.0])


@tf.custom_gradient
def returns_its_input(x):
    return x, lambda upstream: upstream * 5.0


@pytest.mark.parametrize(
    ("f", "values", "expected"),
    [
        (seven, [3.0], [7.0]),
        (seven, [[3.0, 4.0]], [[7.0, 7.0]]),
        (lambda x: seven(x) * 2.0, [3.0], [14.0]),
        (lambda x: seven(seven(x)), [3.0], [49.0]),
        (lambda x: seven(x) + x, [3.0], [8.0]),
        (two_inputs, [3.0, 4.0], [7.0, 8.0]),
        (two_inputs_as_a_list, [3.0, 4.0], [7.0, 8.0]),
        (lambda x: two_inputs(x, x), [3.0], [15.0]),
        (lambda x: two_inputs(x, 2.0), [3.0], [7.0]),
        (two_outputs, [3.0], [110.0]),
        (lambda x: two_outputs(x)[0], [3.0], [10.0]),
        (lambda x: two_outputs(x)[1], [3.0], [100.0]),
        (two_of_each, [3.0, 4.0], [11.0, 1100.0]),
        (lambda x, y: two_of_each(x, y)[1], [3.0, 4.0], [10.0, 1000.0]),
        (dict_output, [3.0], [110.0]),
        (lambda x: dict_output(x)["q"], [3.0], [100.0]),
        (nothing_for_the_second, [3.0, 4.0], [1.0, None]),
        (number_as_gradient, [3.0], [5.0]),
        (array_as_gradient, [[3.0, 4.0]], [[1.0, 2.0]]),
        (returns_its_input, [3.0], [5.0]),
    ],
)
def test_the_gradient_is_the_users(f, values, expected):
    assert gradients(f, *values) == expected


def test_the_result_has_the_structure_that_was_returned():
    x = tf.constant(3.0)
    assert isinstance(two_outputs(x), tuple)
    assert isinstance(two_of_each(x, x), list)
    assert [float(t) for t in two_outputs(x)] == [6.0, 9.0]
    assert {k: float(t) for k, t in dict_output(x).items()} == {"p": 6.0, "q": 9.0}


@pytest.mark.parametrize("value", [3.0, np.float32(3.0), np.array(3.0, np.float32), tf.Variable(3.0)])
def test_arguments_may_be_anything_that_becomes_a_tensor(value):
    y = seven(value)
    assert type(y) is tf.Tensor
    assert float(y) == 9.0


def test_arguments_may_be_nested():
    @tf.custom_gradient
    def f(point, rest):
        return point["a"] * rest[0] * rest[1][0], lambda upstream: (
            upstream * 1.0,
            upstream * 2.0,
            upstream * 3.0,
        )

    a, b, c = tf.constant(1.0), tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([a, b, c])
        y = f({"a": a}, [b, (c,)])
    assert float(y) == 6.0
    assert [float(g) for g in tape.gradient(y, [a, b, c])] == [1.0, 2.0, 3.0]


def test_keyword_arguments_are_passed_on():
    @tf.custom_gradient
    def f(x, *, scale=2.0, add=0.0):
        return x * scale + add, lambda upstream: upstream * scale * 10.0

    assert gradients(f, 3.0, scale=5.0, add=1.0) == [50.0]
    assert gradients(f, 3.0) == [20.0]


def test_a_tensor_among_the_keyword_arguments_is_a_constant():
    @tf.custom_gradient
    def f(x, scale=None):
        return x * scale, lambda upstream: upstream * scale

    x, scale = tf.constant(3.0), tf.constant(5.0)
    with tf.GradientTape() as tape:
        tape.watch([x, scale])
        y = f(x, scale=scale)
    by_x, by_scale = tape.gradient(y, [x, scale])
    assert float(by_x) == 5.0
    assert by_scale is None


def test_an_integer_argument_gets_no_gradient():
    @tf.custom_gradient
    def f(x, n):
        return x * tf.cast(n, tf.float32), lambda upstream: (upstream * 2.0, None)

    assert gradients(lambda x: f(x, tf.constant(3)), 2.0) == [2.0]
    assert gradients(lambda x: f(x, tf.Variable(3)), 2.0) == [2.0]


def test_a_method_may_have_one():
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        @tf.custom_gradient
        def apply(self, x):
            return x * x, lambda upstream: upstream * self.factor

    assert gradients(Scaled(5.0).apply, 3.0) == [5.0]


def test_the_decorated_function_keeps_its_name_and_documentation():
    @tf.custom_gradient
    def named(x):
        """Documented."""
        return x, lambda upstream: upstream

    assert named.__name__ == "named"
    assert named.__doc__ == "Documented."


def test_the_parenthesized_form_decorates_too():
    @tf.custom_gradient()
    def f(x):
        return x * x, lambda upstream: upstream * 7.0

    assert gradients(f, 3.0) == [7.0]


def test_without_a_tape_the_gradient_function_is_never_called():
    @tf.custom_gradient
    def f(x):
        def grad(upstream):
            raise AssertionError("nobody asked")

        return x * x, grad

    assert float(f(3.0)) == 9.0
    unrelated = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        f(tf.constant(3.0))
        y = unrelated * 2.0
    assert float(tape.gradient(y, unrelated)) == 2.0


def test_the_gradient_function_sees_zeros_for_an_output_nobody_used():
    seen = []

    @tf.custom_gradient
    def f(x):
        def grad(a, b):
            seen.append((a.numpy().tolist(), b.numpy().tolist()))
            return a + tf.reduce_sum(b)

        return (x, tf.stack([x, x])), grad

    assert gradients(lambda x: f(x)[0], 3.0) == [1.0]
    assert seen == [(1.0, [0.0, 0.0])]


def test_inner_operations_do_not_count():
    """What f computes is not differentiated; values it closes over stay constants."""
    outside = tf.constant(2.0)

    @tf.custom_gradient
    def f(x):
        return x * outside, lambda upstream: upstream * 7.0

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([x, outside])
        y = f(x)
    by_x, by_outside = tape.gradient(y, [x, outside])
    assert float(by_x) == 7.0
    assert by_outside is None


def test_numerical_stability_is_what_it_is_for():
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))

    assert gradients(log1pexp, 100.0) == [1.0]
    assert np.isnan(gradients(lambda x: tf.math.log(1 + tf.exp(x)), 100.0)[0])


def test_complex_gradients_come_and_go_in_tensorflows_convention():
    seen = []

    @tf.custom_gradient
    def times_2j(z):
        def grad(upstream):
            seen.append(upstream.numpy())
            return upstream * -2j  # conj(2j)

        return z * 2j, grad

    z = tf.constant(1 + 2j)
    with tf.GradientTape() as tape:
        tape.watch(z)
        w = times_2j(z) * 1j
    assert tape.gradient(w, z).numpy() == np.conj(2j * 1j)
    assert seen == [-1j]


# ---------------------------------------------------------------------------------------------------------------------
# Variables inside


def with_variables(take):
    v, w = tf.Variable(5.0, name="v"), tf.Variable(2.0, name="w")

    @tf.custom_gradient
    def f(x):
        return x * v * w, take

    return f, v, w


def test_variables_that_f_reads_get_the_gradients_it_gives_them():
    def grad(upstream, variables=None):
        return upstream * 7.0, [upstream * 10.0 * (i + 1) for i in range(len(variables))]

    f, v, w = with_variables(grad)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert [float(g) for g in tape.gradient(y, [x, v, w])] == [7.0, 10.0, 20.0]


def test_the_variables_may_arrive_among_other_keywords():
    given = []

    def grad(upstream, **options):
        given.extend(v.name for v in options["variables"])
        return upstream * 7.0, [None, upstream]

    f, v, w = with_variables(grad)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    by_x, by_v, by_w = tape.gradient(y, [x, v, w])
    assert given == ["v:0", "w:0"]
    assert (float(by_x), by_v, float(by_w)) == (7.0, None, 1.0)


def test_f_may_read_variables_and_have_no_inputs():
    v = tf.Variable(5.0)

    @tf.custom_gradient
    def f():
        return v * 2.0, lambda upstream, variables: ((), [upstream * 7.0])

    with tf.GradientTape() as tape:
        y = f()
    assert float(tape.gradient(y, v)) == 7.0


def test_a_variable_that_is_an_argument_is_an_input():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = seven(v)
    assert float(y) == 9.0
    assert float(tape.gradient(y, v)) == 7.0


def test_a_variable_that_is_not_trainable_needs_no_gradient():
    v = tf.Variable(3.0, trainable=False)

    @tf.custom_gradient
    def f(x):
        return x * v, lambda upstream: upstream * 7.0

    assert gradients(f, 2.0) == [7.0]


def test_the_keyword_is_not_needed_where_no_variable_is_read():
    @tf.custom_gradient
    def f(x):
        def grad(upstream, variables=None):
            assert variables is None
            return upstream * 7.0

        return x * 2.0, grad

    assert gradients(f, 3.0) == [7.0]


# ---------------------------------------------------------------------------------------------------------------------
# Nested, and higher orders


def test_one_inside_another_counts_only_outside():
    @tf.custom_gradient
    def outer(x):
        return seven(x) * 2.0, lambda upstream: upstream * 1000.0

    assert gradients(outer, 3.0) == [1000.0]


def test_one_used_in_the_gradient_of_another():
    @tf.custom_gradient
    def outer(x):
        return x * 2.0, lambda upstream: seven(upstream)

    assert gradients(outer, 3.0) == [1.0]


def second_order(f, value):
    x = tf.constant(value)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, x)
    return float(first), float(outer.gradient(first, x))


def test_the_second_order_is_that_of_the_gradient_function():
    @tf.custom_gradient
    def cube(x):
        return x**3, lambda upstream: upstream * 3.0 * x * x

    assert second_order(cube, 2.0) == (12.0, 12.0)

    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))

    assert_allclose(second_order(log1pexp, 0.5), (0.62245929, 0.23500372), rtol=1e-6)


def test_the_second_order_may_be_the_users_own():
    @tf.custom_gradient
    def cube(x):
        @tf.custom_gradient
        def first(x, upstream):
            return upstream * 3.0 * x * x, lambda dd: (dd * upstream * 99.0, dd * x * 3.0)

        return x**3, lambda upstream: first(x, upstream)

    assert second_order(cube, 2.0) == (12.0, 99.0)


def test_a_third_order():
    @tf.custom_gradient
    def fourth(x):
        return x**4, lambda upstream: upstream * 4.0 * x**3

    x = tf.Variable(2.0)
    with tf.GradientTape() as t3:
        with tf.GradientTape() as t2:
            with tf.GradientTape() as t1:
                y = fourth(x)
            first = t1.gradient(y, x)
        second = t2.gradient(first, x)
    assert [float(first), float(second), float(t3.gradient(second, x))] == [32.0, 48.0, 48.0]


def test_the_jacobian_asks_for_one_row_at_a_time():
    @tf.custom_gradient
    def f(x, y):
        return (x * x, tf.reduce_sum(x) * y), lambda a, b: (a * 2.0 * x + b * y, b * tf.reduce_sum(x))

    x, y = tf.constant([1.0, 2.0]), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        squares, total = f(x, y)
        z = tf.concat([squares, [total]], 0)
    by_x, by_y = tape.jacobian(z, [x, y])
    assert_array_equal(by_x, [[2.0, 0.0], [0.0, 4.0], [3.0, 3.0]])
    assert_array_equal(by_y, [0.0, 0.0, 3.0])


def test_indexed_slices_may_be_returned():
    @tf.custom_gradient
    def first_row(table):
        return table[0] * 1.0, lambda upstream: tf.IndexedSlices(
            upstream[tf.newaxis], tf.constant([0]), table.shape
        )

    table = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        y = first_row(table)
    gradient = tape.gradient(y, table)
    assert isinstance(gradient, tf.IndexedSlices)
    assert_array_equal(gradient, [[1.0, 1.0], [0.0, 0.0]])


# ---------------------------------------------------------------------------------------------------------------------
# Mistakes


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda u: u, "returned 1 gradients for 2 inputs: it must return one for each"),
        (lambda u: (u, u, u), "returned 3 gradients for 2 inputs"),
        (lambda u: [], "returned 0 gradients for 2 inputs"),
        (lambda u: None, "returned 0 gradients for 2 inputs"),
    ],
)
def test_the_wrong_number_of_gradients_is_refused(returned, message):
    @tf.custom_gradient
    def product(x, y):
        return x * y, returned

    with pytest.raises(ValueError, match=f"the gradient function of product {message}"):
        gradients(product, 3.0, 4.0)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda u, variables: (u, []), "returned 0 gradients for 2 variables"),
        (lambda u, variables: (u, [u, u, u]), "returned 3 gradients for 2 variables"),
        (lambda u, variables: u, r"must return \(gradients, gradients of the variables\)"),
    ],
)
def test_the_wrong_number_of_gradients_of_variables_is_refused(returned, message):
    f, _, _ = with_variables(returned)
    with pytest.raises(ValueError, match=message):
        gradients(f, 3.0)


def test_reading_variables_without_saying_so_is_refused():
    f, _, _ = with_variables(lambda upstream: upstream)
    with pytest.raises(
        TypeError, match=r"f reads the trainable variables \[.v:0., .w:0.\].*keyword .*`variables`"
    ):
        f(tf.constant(3.0))


@pytest.mark.parametrize("returned", [None, 3.0, (1.0, 2.0), (1.0, len, 3.0)])
def test_a_function_that_returns_no_gradient_function_is_refused(returned):
    @tf.custom_gradient
    def f(x):
        return returned

    with pytest.raises(TypeError, match=r"must return \(result, grad\), grad being a function; f returned"):
        f(3.0)


# ---------------------------------------------------------------------------------------------------------------------
# recompute_grad


def counted():
    calls = []

    @tf.recompute_grad
    def f(x):
        calls.append(x)
        return tf.sin(x) * x

    return f, calls


def test_what_is_recomputed_has_the_same_gradient_and_is_computed_twice():
    f, calls = counted()
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = f(x)
    assert len(calls) == 1
    assert_allclose(tape.gradient(y, x), np.sin(3.0) + 3.0 * np.cos(3.0), rtol=1e-6)
    assert len(calls) == 2


def test_nothing_is_recomputed_without_a_gradient():
    f, calls = counted()
    with tf.GradientTape():
        f(tf.constant(3.0))
    assert len(calls) == 1


def test_recompute_grad_knows_variables_keywords_structures_and_several_outputs():
    v = tf.Variable(5.0)

    @tf.recompute_grad
    def f(point, power=2):
        return {"a": point[0] ** power * v, "b": point[1] * v}

    x, y = tf.constant(3.0), tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = f([x, y], power=3)
    assert [float(g) for g in tape.gradient(z, [x, y, v])] == [135.0, 5.0, 31.0]


@pytest.mark.parametrize("made", [tf.constant, tf.Variable])
@pytest.mark.parametrize("wrapped", [lambda f: f, tf.function])
def test_what_is_given_twice_to_be_recomputed_counts_once_for_each_place(made, wrapped):
    x = made([2.0, 3.0])
    f = tf.recompute_grad(lambda a, rest: 0.5 * a + rest[0] * rest[1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = wrapped(lambda x: f(x, [x, x]))(x)
    assert tape.gradient(y, x).numpy().tolist() == [4.5, 6.5]


def test_a_variable_is_recomputed_with_the_value_it_has_then():
    """As in TensorFlow: nothing of the forward pass is kept, not even what the variable was."""
    v = tf.Variable(5.0)
    f = tf.recompute_grad(lambda x: x * v)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    v.assign(7.0)
    assert float(y) == 15.0
    assert float(tape.gradient(y, x)) == 7.0


def test_recompute_grad_of_higher_order():
    assert second_order(tf.recompute_grad(lambda x: x * x * x), 2.0) == (12.0, 12.0)


def test_recompute_grad_nests():
    inner = tf.recompute_grad(lambda x: tf.exp(x * x))
    outer = tf.recompute_grad(lambda x: inner(x) * x)
    x = 0.5
    assert_allclose(gradients(outer, x), [np.exp(x * x) * (1 + 2 * x * x)], rtol=1e-6)


# ---------------------------------------------------------------------------------------------------------------------
# grad_pass_through


def test_gradients_pass_as_if_nothing_was_done():
    assert gradients(lambda x: tf.grad_pass_through(tf.round)(x) * 2.0, [1.6, -0.2]) == [[2.0, 2.0]]


def test_grad_pass_through_lets_variables_be_read():
    v = tf.Variable(5.0)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.grad_pass_through(lambda x: x * v)(x)
    by_x, by_v = tape.gradient(y, [x, v])
    assert float(y) == 15.0
    assert float(by_x) == 1.0
    assert by_v is None
