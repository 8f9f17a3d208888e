"""SGD takes the steps Keras takes, and says clearly what it cannot use."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf

SGD = tf.optimizers.SGD
GRADIENTS = ([1.0, 2.0], [0.5, -1.0], [3.0, 0.0])


@pytest.mark.parametrize(
    ("options", "path"),
    [
        # The numbers are Keras 3's.
        ({}, [[0.99, 1.98], [0.985, 1.99], [0.955, 1.99]]),
        ({"learning_rate": 0.1}, [[0.9, 1.8], [0.85, 1.9], [0.55, 1.9]]),
        ({"learning_rate": 0.1, "momentum": 0.9}, [[0.9, 1.8], [0.76, 1.72], [0.334, 1.648]]),
        (
            {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True},
            [[0.81, 1.62], [0.634, 1.648], [-0.0494, 1.5832]],
        ),
        ({"learning_rate": 0.5, "nesterov": True}, [[0.5, 1.0], [0.25, 1.5], [-1.25, 1.5]]),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steps(options, path, dtype):
    v = tf.Variable([1.0, 2.0], dtype=dtype)
    optimizer = SGD(**options)
    for step, (gradient, expected) in enumerate(zip(GRADIENTS, path, strict=True)):
        count = optimizer.apply_gradients([(tf.constant(gradient, dtype), v)])
        assert v.dtype == dtype
        assert_allclose(v, expected, rtol=1e-5)
        assert int(count) == int(optimizer.iterations) == step + 1


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({}, [[[0.7, 1.7], [3, 4], [5, 6]], [[0.7, 1.7], [2.9, 3.9], [4.8, 5.8]]]),
        ({"momentum": 0.9}, [[[0.7, 1.7], [3, 4], [5, 6]], [[0.7, 1.7], [2.9, 3.9], [4.8, 5.8]]]),
        (
            {"momentum": 0.9, "nesterov": True},
            [[[0.43, 1.43], [3, 4], [5, 6]], [[0.43, 1.43], [2.81, 3.81], [4.62, 5.62]]],
        ),
    ],
)
def test_steps_along_rows(options, path):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    optimizer = SGD(0.1, **options)
    for indices, expected in zip(([0, 0], [1, 2]), path, strict=True):
        rows = tf.IndexedSlices(
            tf.constant([[1.0, 1.0], [2.0, 2.0]]), tf.constant(indices), tf.constant([3, 2])
        )
        optimizer.apply_gradients([(rows, v)])
        assert_allclose(v, expected, rtol=1e-5)


def test_a_gather_trains_only_its_rows():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(v, [1, 1]) ** 2)
    SGD(0.1).apply_gradients([(tape.gradient(loss, v), v)])
    assert_allclose(v, [[1.0, 2.0], [1.8, 2.4]], rtol=1e-6)


def test_each_variable_has_a_velocity_of_its_own():
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    optimizer = SGD(0.1, momentum=0.5)
    optimizer.apply_gradients([(tf.constant(1.0), a)])
    optimizer.apply_gradients([(tf.constant(1.0), a), (tf.constant(1.0), b)])
    assert_allclose([float(a), float(b)], [0.75, 0.9], rtol=1e-6)


def test_a_step_is_not_heard_by_a_tape():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    optimizer = SGD(0.5, momentum=0.9)
    with tf.GradientTape() as tape:
        y = v * w
        optimizer.apply_gradients([(tf.constant(1.0), v)])
        z = y + v
    assert [float(g) for g in tape.gradient(z, [v, w])] == [4.0, 2.0]
    assert len(tape.watched_variables()) == 2


@pytest.mark.parametrize(
    "gradient", [[1.0, 1.0], np.array([1.0, 1.0]), np.array([1, 1]), tf.Variable([1.0, 1.0])]
)
def test_a_gradient_may_be_anything_that_becomes_a_tensor(gradient):
    v = tf.Variable([1.0, 2.0])
    SGD(0.5).apply_gradients(zip([gradient], [v], strict=True))
    assert_array_equal(v, np.float32([0.5, 1.5]), strict=True)


def test_a_variable_keeps_its_dtype_whatever_the_gradients():
    v = tf.Variable([1.0, 2.0])
    for momentum in (0.0, 0.9):
        optimizer = SGD(0.5, momentum=momentum)
        optimizer.apply_gradients([(tf.constant([1.0, 1.0], tf.float64), v)])
        optimizer.apply_gradients([(tf.IndexedSlices(tf.ones(1, tf.float64), [0], [2]), v)])
        assert v.dtype is tf.float32
        assert np.asarray(v).dtype == np.float32


def test_the_learning_rate_may_be_read_and_changed():
    optimizer = SGD(0.25)
    v = tf.Variable(1.0)
    assert float(optimizer.learning_rate) == 0.25
    optimizer.learning_rate = 0.5
    optimizer.apply_gradients([(1.0, v)])
    assert float(v) == 0.5
    optimizer.learning_rate.assign(0.125)
    optimizer.apply_gradients([(1.0, v)])
    assert float(v) == 0.375


def test_the_learning_rate_may_be_a_variable():
    rate = tf.Variable(0.5)
    optimizer, v = SGD(rate), tf.Variable(1.0)
    rate.assign(0.25)
    optimizer.apply_gradients([(1.0, v)])
    assert float(v) == 0.75


def test_a_constraint_holds_after_each_step():
    v = tf.Variable([1.0, -1.0], constraint=lambda x: tf.maximum(x, 0.0))
    SGD(0.5).apply_gradients([(tf.ones(2), v)])
    assert_array_equal(v, [0.5, 0.0])


def test_minimize_computes_the_loss_and_steps():
    v = tf.Variable(1.0)
    optimizer = SGD(0.25)
    optimizer.minimize(lambda: v * v, [v])
    assert float(v) == 0.5
    with tf.GradientTape() as tape:
        loss = v * v
    optimizer.minimize(loss, [v], tape=tape)
    assert float(v) == 0.25
    optimizer.minimize(lambda: v * v, lambda: [v])
    assert float(v) == 0.125
    with pytest.raises(ValueError, match="the tape that recorded it must be given"):
        optimizer.minimize(loss, [v])


# ---------------------------------------------------------------------------------------------------------------------
# What it cannot use


def test_a_none_is_left_out_with_a_warning_that_names_the_variable():
    v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="w")
    with pytest.warns(UserWarning, match="gradients of v:0 are None, so they were not updated") as caught:
        SGD(0.5).apply_gradients([(None, v), (tf.constant(1.0), w)])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert (float(v), float(w)) == (1.0, 0.5)


def test_without_none_there_is_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SGD(0.5).apply_gradients([(tf.constant(1.0), tf.Variable(1.0))])


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        (
            lambda v: [(None, v)],
            ValueError,
            "no gradients were given for any variable: those of w:0 are None",
        ),
        (lambda v: [], ValueError, "no gradients were given for any variable"),
        (
            lambda v: [(v, tf.ones(2))],
            TypeError,
            r"pairs \(gradient, variable\); the second of a pair is .*Tensor",
        ),
        (lambda v: [(tf.ones(2), 3.0)], TypeError, r"the second of a pair is 3\.0 of type float"),
        (lambda v: [(tf.ones(3), v)], ValueError, r"the gradient of w:0 has shape \[3\], the variable \[2\]"),
        (lambda v: [(tf.constant(1.0), v)], ValueError, r"has shape \[\], the variable \[2\]"),
        (lambda v: [(tf.IndexedSlices(tf.ones((1, 3)), [0]), v)], ValueError, r"rows of shape \[1, 3\]"),
        (
            lambda v: [(tf.IndexedSlices(tf.ones(1), [2]), v)],
            IndexError,
            "rows out of bounds: the variable has 2 rows",
        ),
        (lambda v: [(tf.IndexedSlices(tf.ones(1), [-1]), v)], IndexError, "rows out of bounds"),
    ],
)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_wrong_pairs_are_refused_and_nothing_has_changed(pairs, error, message, momentum):
    v, other = tf.Variable([1.0, 2.0], name="w"), tf.Variable(1.0)
    optimizer = SGD(0.5, momentum=momentum)
    wrong = pairs(v)
    with pytest.raises(error, match=message):
        optimizer.apply_gradients(
            [(tf.constant(1.0), other), *wrong] if wrong and wrong[0][0] is not None else wrong
        )
    assert_array_equal(v, [1.0, 2.0])
    assert float(other) == 1.0
    assert int(optimizer.iterations) == 0


@pytest.mark.parametrize("momentum", [-0.1, 1.1])
def test_momentum_lies_between_0_and_1(momentum):
    with pytest.raises(ValueError, match=rf"momentum must lie in \[0, 1\], not {momentum}"):
        SGD(0.1, momentum=momentum)


def test_names():
    assert SGD().name == "sgd"
    assert SGD(name="mine").name == "mine"
