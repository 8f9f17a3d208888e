"""GradientTape: what it watches, what it answers, and how tapes live together."""

import dataclasses
import logging
import threading
from collections import OrderedDict, namedtuple

import attrs
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gradtape as tf
from gradtape.core.primitive import local

NONE, ZERO = tf.UnconnectedGradients.NONE, tf.UnconnectedGradients.ZERO


def numbers(structure):
    """The structure with NumPy's values (None stays) in place of tensors."""
    return tf.nest.map_structure(lambda g: None if g is None else g.numpy().tolist(), structure)


@pytest.fixture(autouse=True)
def no_tape_is_left_open():
    yield
    assert local.here.tapes == []


# ---------------------------------------------------------------------------------------------------------------------
# Targets


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3.0, 6.0),
        ([1.0, 2.0], [2.0, 4.0]),
        ([[1.0, 2.0], [3.0, 4.0]], [[2.0, 4.0], [6.0, 8.0]]),
        ([[[1.0]]], [[[2.0]]]),
        (np.zeros((0, 3), np.float32), np.zeros((0, 3)).tolist()),
    ],
)
def test_a_target_that_is_no_scalar_counts_as_the_sum_of_its_elements(value, expected):
    x = tf.constant(value)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert numbers(tape.gradient(y, x)) == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (lambda x, y, z: y, 4.0),
        (lambda x, y, z: [y, z], 7.0),
        (lambda x, y, z: (y, [z, {"again": y}]), 11.0),
        (lambda x, y, z: {"y": y, "x": x}, 5.0),
        (lambda x, y, z: [x, x], 2.0),
        (lambda x, y, z: x, 1.0),
        (lambda x, y, z: [], None),
    ],
)
def test_a_target_may_be_any_structure_and_a_source_too(target, expected):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        z = x * 3.0
    assert numbers(tape.gradient(target(x, y, z), x)) == expected


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (tf.constant([10.0, 1.0]), [20.0, 4.0]),
        (np.array([10.0, 1.0]), [20.0, 4.0]),
        (np.array([10, 1]), [20.0, 4.0]),
        (tf.Variable([10.0, 1.0]), [20.0, 4.0]),
        (tf.constant(3.0), [6.0, 12.0]),
        (3.0, [6.0, 12.0]),
        (None, [2.0, 4.0]),
    ],
)
def test_output_gradients_weight_the_elements(weights, expected):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert numbers(tape.gradient(y, x, output_gradients=weights)) == expected


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"a": tf.constant(10.0), "b": tf.constant([1.0, 2.0])}, 40.0 + 9.0),
        ({"a": None, "b": tf.constant([1.0, 2.0])}, 4.0 + 9.0),
    ],
)
def test_output_gradients_have_the_structure_of_the_target(weights, expected):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        target = {"a": x * x, "b": tf.stack([x, x]) * 3.0}
    assert numbers(tape.gradient(target, x, output_gradients=weights)) == expected


def test_the_weights_themselves_may_be_differentiated():
    x, w = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**3
        weighted = inner.gradient(y, x, output_gradients=w)
    by_w, by_x = outer.gradient(weighted, [w, x])
    assert numbers([by_w, by_x]) == [[3.0, 12.0], [18.0, 48.0]]


# ---------------------------------------------------------------------------------------------------------------------
# Sources

Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class Layer:
    w: object
    b: object


@attrs.define
class Model:
    layer: object
    scale: object


@pytest.mark.parametrize(
    "structure",
    [
        lambda a, b: [a, b],
        lambda a, b: (a, b),
        lambda a, b: {"z": a, "a": b},
        lambda a, b: OrderedDict([("z", a), ("a", b)]),
        lambda a, b: Pair(a, b),
        lambda a, b: Layer(a, b),
        lambda a, b: Model(Layer(a, [b]), (a,)),
        lambda a, b: {"x": [a, (b, {"y": Pair(a, b)})], "e": []},
        lambda a, b: [],
        lambda a, b: a,
        lambda a, b: [a, a, a],
    ],
)
def test_the_result_has_the_structure_of_the_sources(structure):
    a, b = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = a * a * b
    sources = structure(a, b)
    gradients = tape.gradient(y, sources)
    tf.nest.assert_same_structure(gradients, sources)
    assert type(gradients) is (tf.Tensor if sources is a else type(sources))
    expected = {id(a): 12.0, id(b): 4.0}
    for source, gradient in zip(tf.nest.flatten(sources), tf.nest.flatten(gradients), strict=True):
        assert float(gradient) == expected[id(source)]


def test_a_source_may_be_a_result_in_between():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        z = y * y + x
    assert numbers(tape.gradient(z, [y, x, z])) == [18.0, 2 * 9 * 6.0 + 1, 1.0]


def test_a_result_in_between_that_depends_on_nothing_watched_is_no_source():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        z = y * y
    assert tape.gradient(z, y) is None


def test_gradients_of_a_target_that_others_depend_on():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        z = y * 2.0
    assert numbers(tape.gradient([y, z], [x, y, z])) == [18.0, 3.0, 1.0]


def test_gradients_add_up_over_all_paths():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        a = x * x
        b = a + a
        c = b * a
    assert numbers(tape.gradient(c, [x, a, b])) == [64.0, 16.0, 4.0]


@pytest.mark.parametrize("watched", [True, False])
def test_a_source_that_is_the_target_has_gradient_one(watched):
    x = tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape:
        if watched:
            tape.watch(x)
    assert numbers(tape.gradient(x, x)) == [1.0, 1.0]


def test_a_variable_may_be_target_and_source():
    v, unread = tf.Variable(3.0), tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        v * v
    assert numbers(tape.gradient([v, unread], [v, unread])) == [1.0, [1.0, 1.0]]


# ---------------------------------------------------------------------------------------------------------------------
# What is watched


def test_trainable_variables_are_watched_by_themselves_and_constants_are_not():
    v, c, t = tf.Variable(2.0), tf.constant(3.0), tf.Variable(5.0, trainable=False)
    with tf.GradientTape() as tape:
        y = v * c * t
    assert numbers(tape.gradient(y, [v, c, t])) == [15.0, None, None]


def test_what_is_watched_explicitly_has_a_gradient():
    v, c, t = tf.Variable(2.0), tf.constant(3.0), tf.Variable(5.0, trainable=False)
    with tf.GradientTape() as tape:
        tape.watch([c, {"t": t}])
        y = v * c * t
    assert numbers(tape.gradient(y, [v, c, t])) == [15.0, 10.0, 6.0]


def test_watching_may_be_left_to_the_user_alone():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = v * w
    assert numbers(tape.gradient(y, [v, w])) == [3.0, None]


def test_watching_twice_counts_once():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        tape.watch([x, x])
        y = x * x
    assert numbers(tape.gradient(y, x)) == 6.0


def test_operations_before_watch_are_not_heard():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.watch(x)
        z = y * x
    assert numbers(tape.gradient(z, x)) == 9.0


def test_a_result_may_be_watched():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.watch(y)
        z = y * y
    assert numbers(tape.gradient(z, [x, y])) == [None, 18.0]


@pytest.mark.parametrize("value", [3, [1, 2], "a", True])
def test_what_is_not_floating_is_never_watched_and_a_log_says_so(value, caplog):
    x = tf.constant(value)
    one = tf.Variable(1.0)
    with caplog.at_level(logging.WARNING, logger="gradtape"), tf.GradientTape() as tape:
        tape.watch(x)
        y = one * (tf.cast(x, tf.float32) if x.dtype is not tf.string else 2.0)
    assert [r.getMessage() for r in caplog.records] == [
        f"the dtype of a watched tensor must be floating, not {x.dtype.name}"
    ]
    assert tape.gradient(y, x) is None


def test_an_integer_variable_is_read_in_silence(caplog):
    v, w = tf.Variable(3), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = tf.cast(v, tf.float32) * w
    assert [variable is w for variable in tape.watched_variables()] == [True]
    assert numbers(tape.gradient(y, [v, w])) == [None, 3.0]
    assert not caplog.records


def test_an_integer_target_has_no_gradient_and_a_log_says_so(caplog):
    v = tf.Variable(3.7)
    with tf.GradientTape() as tape:
        y = tf.cast(v, tf.int32)
    assert tape.gradient(y, v) is None
    assert [r.getMessage() for r in caplog.records] == [
        "the dtype of a target must be floating, not int32: its gradient is None"
    ]
    assert caplog.records[0].name == "gradtape"


def test_watched_variables_are_given_in_the_order_they_were_made():
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    c, d = tf.Variable(3.0, trainable=False, name="c"), tf.Variable(4.0, name="d")
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch([x, c])
        y = b * a * c
        assert [v.name for v in tape.watched_variables()] == ["a:0", "b:0", "c:0"]
        y = y * d
    watched = tape.watched_variables()
    assert type(watched) is tuple
    assert [v is w for v, w in zip(watched, (a, b, c, d), strict=True)] == [True] * 4
    tape.gradient(y, watched)
    assert len(tape.watched_variables()) == 4


# ---------------------------------------------------------------------------------------------------------------------
# What is not connected


@pytest.mark.parametrize("zero", [ZERO, "zero"])
def test_an_unconnected_source_gives_none_or_zeros_of_its_shape(zero):
    v, w, n = tf.Variable([3.0, 1.0]), tf.Variable(4.0), tf.Variable([[1.0]], dtype=tf.float64)
    with tf.GradientTape(persistent=True) as tape:
        y = w * w
    for none in ({}, {"unconnected_gradients": NONE}, {"unconnected_gradients": "none"}):
        assert numbers(tape.gradient(y, [v, w, n], **none)) == [None, 8.0, None]
    by_v, by_w, by_n = tape.gradient(y, [v, w, n], unconnected_gradients=zero)
    assert_array_equal(by_v, np.zeros(2, np.float32), strict=True)
    assert_array_equal(by_n, np.zeros((1, 1)), strict=True)
    assert float(by_w) == 8.0


def test_an_unknown_kind_of_unconnected_gradient_is_refused():
    v = tf.Variable(4.0)
    with tf.GradientTape() as tape:
        y = v * v
    with pytest.raises(ValueError, match="nope"):
        tape.gradient(y, v, unconnected_gradients="nope")


def test_stop_gradient_cuts_the_connection():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * tf.stop_gradient(x) + tf.stop_gradient([x, x])[0] + tf.stop_gradient(x * x)
    assert numbers(tape.gradient(y, x)) == 3.0


def test_reading_through_stop_gradient_alone_does_not_watch():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.stop_gradient(x) * 2.0
    assert tape.watched_variables() == ()
    assert tape.gradient(y, x) is None


def test_functions_without_a_gradient_disconnect():
    x = tf.Variable([1.5, 2.5])
    with tf.GradientTape(persistent=True) as tape:
        targets = [tf.floor(x), tf.round(x), tf.cast(tf.argmax(x), tf.float32), tf.cast(x > 2.0, tf.float32)]
    for target in targets:
        assert tape.gradient(target, x) is None


# ---------------------------------------------------------------------------------------------------------------------
# How often a tape answers


@pytest.mark.parametrize("first", ["gradient", "jacobian", "batch_jacobian"])
@pytest.mark.parametrize("second", ["gradient", "jacobian", "batch_jacobian"])
def test_a_tape_answers_once_and_a_persistent_one_any_number_of_times(first, second):
    v = tf.Variable([[4.0]])
    with tf.GradientTape() as tape:
        y = v * v
    getattr(tape, first)(y, v)
    with pytest.raises(RuntimeError, match=r"answers only one call.*persistent=True"):
        getattr(tape, second)(y, v)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v
        z = y * v
    for target, source, expected in [(y, v, 8.0), (z, v, 48.0), (z, y, 4.0), (y, v, 8.0)] * 2:
        for method in (first, second):
            assert_array_equal(tf.reshape(getattr(tape, method)(target, source), ()), expected)


def test_a_question_that_was_wrong_does_not_use_the_tape_up():
    v = tf.Variable(4.0)
    with tf.GradientTape() as tape:
        y = v * v
    with pytest.raises(TypeError):
        tape.gradient(y, "abc")
    with pytest.raises(ValueError, match="output gradient has shape"):
        tape.gradient(y, v, output_gradients=tf.ones(3))
    assert numbers(tape.gradient(y, v)) == 8.0


def test_a_persistent_tape_keeps_its_arrays_intact():
    """Gradients are added up in place where that is safe; a second sweep must find what the first found."""
    x = tf.Variable(np.arange(6.0, dtype=np.float32))
    with tf.GradientTape(persistent=True) as tape:
        a = x * 1.0
        y = a + a + tf.reshape(tf.reshape(a, (2, 3)), (6,)) + a[::-1] + a * a
    first = tape.gradient(y, x)
    kept = first.numpy()
    weights = tf.constant(np.ones(6, np.float32))
    assert_array_equal(tape.gradient(y, x, output_gradients=weights), kept)
    assert_array_equal(weights, np.ones(6))
    assert_array_equal(tape.gradient([y, a], x), kept + 1)
    assert_array_equal(first, kept)


def test_a_gradient_that_is_the_weight_itself_shares_nothing_with_it():
    x, b = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])
    weight = tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape:
        y = x + b
    by_x, by_b = tape.gradient(y, [x, b], output_gradients=weight)
    x.assign_add(by_x)
    b.assign_sub(by_b)
    for g in (by_x, by_b, weight):
        assert_array_equal(g, [3.0, 4.0])


# ---------------------------------------------------------------------------------------------------------------------
# Inside the block, nested, overlapping


def test_gradient_may_be_called_inside_the_block():
    v = tf.Variable(4.0)
    with tf.GradientTape() as tape:
        y = v * v
        g = tape.gradient(y, v)
        y * v
    assert numbers(g) == 8.0


def test_inside_the_block_of_a_persistent_tape_the_gradient_is_recorded_and_a_log_says_so(caplog):
    v = tf.Variable(4.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v * v
        first = tape.gradient(y, v)
    assert numbers([first, tape.gradient(first, v)]) == [48.0, 24.0]
    assert "inside its own block" in caplog.records[0].getMessage()


def test_a_warning_is_logged_once_however_often_there_is_reason_to(caplog):
    v = tf.Variable(4.0)
    for _ in range(3):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(tf.constant([1]))
            tape.watch(tf.constant([True]))
            y = v * v
            tape.gradient(y, v)
        tape.gradient(tf.constant(1), v)
        tf.autodiff.ForwardAccumulator(tf.constant(1), tf.constant(1))
    assert [record.getMessage()[:40] for record in caplog.records] == [
        "the dtype of a watched tensor must be fl",  # of int32,
        "the dtype of a watched tensor must be fl",  # and of booleans
        "gradient was called on a persistent tape",
        "the dtype of a target must be floating, ",
        "the dtype of a primal must be floating, ",
    ]


@pytest.mark.parametrize("make", [tf.Variable, tf.constant])
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_tapes_nest_to_any_depth(make, order):
    x = make(2.0)

    def derivative(n):
        if n == 0:
            return x**5
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = derivative(n - 1)
        return tape.gradient(y, x)

    assert float(derivative(order)) == [80, 160, 240, 240, 120][order - 1]


def test_one_persistent_tape_gives_all_orders_from_inside():
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x**4
        for expected in (32.0, 48.0, 48.0, 24.0):
            y = tape.gradient(y, x)
            assert float(y) == expected


def test_gradients_of_gradients_by_other_variables():
    x, w, b = tf.Variable(2.0), tf.Variable(5.0), tf.Variable(7.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * x * w * w + b * x
        by_x = inner.gradient(y, x)
    assert numbers(by_x) == 107.0
    assert numbers(outer.gradient(by_x, {"w": w, "x": x, "b": b})) == {"w": 40.0, "x": 50.0, "b": 1.0}


def test_two_sources_of_the_inner_tape_and_mixed_derivatives():
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as inner:
            z = x**2 * y**3
        by_x, by_y = inner.gradient(z, [x, y])
    assert numbers([outer.gradient(by_x, [x, y]), outer.gradient(by_y, [x, y])]) == [
        [54.0, 108.0],
        [108.0, 72.0],
    ]


def test_one_tape_inside_another_and_both_asked():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * x
        z = y * x
    assert numbers(inner.gradient(y, x)) == 4.0
    assert numbers(outer.gradient(z, x)) == 12.0


def test_the_outer_tape_may_be_asked_first():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        y = x * x
    assert numbers(outer.gradient(y, x)) == 4.0
    assert numbers(inner.gradient(y, x)) == 4.0


def test_tapes_overlap_without_nesting():
    x = tf.Variable(2.0)
    a, b = tf.GradientTape(persistent=True), tf.GradientTape(persistent=True)
    a.__enter__()
    y = x * x
    b.__enter__()
    z = x * x * x
    a.__exit__(None, None, None)
    w = x * x * x * x
    b.__exit__(None, None, None)
    after = x * x
    assert numbers([a.gradient(t, x) for t in (y, z, w, after)]) == [4.0, 12.0, None, None]
    assert numbers([b.gradient(t, x) for t in (y, z, w, after)]) == [None, 12.0, 32.0, None]


def test_a_gradient_taken_outside_all_blocks_is_heard_by_nobody():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        y = x**3
    first = inner.gradient(y, x)
    assert numbers(outer.gradient(first, x)) is None


def test_higher_orders_through_many_operations():
    x = tf.Variable([0.5, -0.3])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            h = tf.nn.softmax(tf.tanh(tf.linalg.matmul([[1.0, 2.0], [3.0, 4.0]], x[:, tf.newaxis])), axis=0)
            y = tf.reduce_logsumexp(tf.concat([h, tf.exp(h)], 0) * 2.0) + tf.reduce_max(x) ** 2
        first = inner.gradient(y, x)
        size = tf.reduce_sum(first**2)
    second = outer.gradient(size, x)

    def first_at(values):
        v = tf.Variable(values)
        with tf.GradientTape() as tape:
            h = tf.nn.softmax(
                tf.tanh(tf.linalg.matmul(np.array([[1.0, 2.0], [3.0, 4.0]]), v[:, tf.newaxis])), axis=0
            )
            y = tf.reduce_logsumexp(tf.concat([h, tf.exp(h)], 0) * 2.0) + tf.reduce_max(v) ** 2
        return np.sum(np.asarray(tape.gradient(y, v)) ** 2)

    point, step = np.array([0.5, -0.3]), 1e-6
    by_hand = [(first_at(point + step * e) - first_at(point - step * e)) / (2 * step) for e in np.eye(2)]
    assert_allclose(second, by_hand, rtol=1e-3)


# ---------------------------------------------------------------------------------------------------------------------
# Changes while recording


def test_each_read_of_a_variable_counts_with_the_value_it_had():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        v.assign(5.0)
        z = v * v + y
    assert numbers(tape.gradient(z, v)) == 2 * 3.0 + 2 * 5.0


def test_assignment_itself_is_not_differentiated():
    v, w = tf.Variable(3.0), tf.Variable(7.0)
    with tf.GradientTape() as tape:
        v.assign(w * 2.0)
        y = v * v
    assert numbers(tape.gradient(y, [v, w])) == [28.0, None]


def test_assignment_after_the_block_does_not_matter():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
    v.assign(100.0)
    assert numbers(tape.gradient(y, v)) == 6.0


def test_a_name_bound_again_in_python_is_another_tensor():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        first = y
        for _ in range(3):
            y = y * x
    assert numbers(tape.gradient(y, [x, first])) == [405.0, 27.0]


def test_a_source_bound_again_in_python_is_not_connected():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        x = x + 1
    assert tape.gradient(y, x) is None


def test_control_flow_is_pythons():
    def power(x, n):
        result = tf.constant(1.0)
        while n > 0:
            if n % 2:
                result = result * x
            x, n = x * x, n // 2
        return result

    x = tf.Variable(2.0)
    for n in range(1, 7):
        with tf.GradientTape() as tape:
            y = power(x, n)
        assert numbers(tape.gradient(y, x)) == n * 2.0 ** (n - 1)


# ---------------------------------------------------------------------------------------------------------------------
# Entering, leaving, stopping, starting over


def test_a_gradient_with_weights_may_be_asked_for_inside_the_block():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.function(tf.square)(x) + x
        g = tape.gradient(y, x, tf.constant([3.0, 4.0]))
    assert g.numpy().tolist() == [9.0, 20.0]


def test_a_tape_entered_a_second_time_goes_on():
    x = tf.constant(3.0)
    for persistent in (False, True):
        with tf.GradientTape(persistent=persistent) as tape:
            tape.watch(x)
            y = x * x
        outside = y * x
        with tape:
            z = y * x + outside
        assert numbers(tape.gradient(z, x)) == 27.0


def test_a_used_tape_may_be_entered_again_and_starts_anew():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
    tape.gradient(y, v)
    with tape:
        z = v * v * v
    assert numbers(tape.gradient([y, z], v)) == 27.0


def test_a_tape_cannot_be_entered_inside_its_own_block():
    tape = tf.GradientTape()
    with tape, pytest.raises(ValueError, match="recording already"), tape:
        pass


def test_an_exception_leaves_no_tape_open_and_what_was_heard_stays():
    v = tf.Variable(3.0)
    tape = tf.GradientTape()
    with pytest.raises(KeyError), tape:
        y = v * v
        raise KeyError("stop")
    assert local.here.tapes == []
    after = y * v
    assert numbers(tape.gradient([y, after], v)) == 6.0


def test_an_exception_inside_nested_blocks_leaves_the_outer_one_open():
    v = tf.Variable(3.0)
    with tf.GradientTape() as outer:
        with pytest.raises(tf.errors.InvalidArgumentError), tf.GradientTape():
            v * tf.constant([1.0, 2.0]) + tf.constant([1.0, 2.0, 3.0])
        assert local.here.tapes == [outer]
        y = v * v
    assert numbers(outer.gradient(y, v)) == 6.0


def test_an_operation_that_fails_is_not_recorded():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        with pytest.raises(tf.errors.InvalidArgumentError):
            x + tf.constant([1.0, 2.0, 3.0])
        y = x * 2.0
    assert numbers(tape.gradient(y, x)) == [2.0, 2.0]


def test_an_exception_in_a_gradient_leaves_no_tape_open():
    @tf.custom_gradient
    def broken(x):
        def grad(upstream):
            raise KeyError("broken")

        return x * 1.0, grad

    x = tf.Variable(1.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = broken(x)
        with pytest.raises(KeyError):
            inner.gradient(y, x)
        z = x * 3.0
    assert numbers(outer.gradient(z, x)) == 3.0


def test_stop_recording_suspends_the_tape():
    v = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v
        with tape.stop_recording():
            z = y * v
        w = y + z
    assert numbers([tape.gradient(t, v) for t in (y, z, w)]) == [6.0, None, 6.0]


def test_stop_recording_suspends_one_tape_only():
    v = tf.Variable(3.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        y = v * v
        with inner.stop_recording():
            z = y * v
    assert numbers([outer.gradient(z, v), inner.gradient(z, v)]) == [27.0, None]


def test_stop_recording_ends_with_an_exception_too():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        with pytest.raises(KeyError), tape.stop_recording():
            raise KeyError
        y = v * v
    assert numbers(tape.gradient(y, v)) == 6.0


def test_a_gradient_may_be_taken_while_recording_is_stopped():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        with tape.stop_recording():
            g = tape.gradient(y, v)
    assert numbers(g) == 6.0


def test_stop_recording_needs_a_tape_that_records():
    with pytest.raises(RuntimeError, match="not recording"), tf.GradientTape().stop_recording():
        pass


def test_reset_forgets_what_was_recorded_and_watched():
    v, x = tf.Variable(3.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = v * v * x
        tape.reset()
        assert tape.watched_variables() == ()
        z = v * v * v * x
    assert numbers(tape.gradient([y, z], [v, x])) == [54.0, None]


def test_reset_makes_a_loop_of_losses_cheap():
    v = tf.Variable(3.0)
    losses = []
    with tf.GradientTape() as tape:
        for n in range(3):
            tape.reset()
            losses.append(v * float(n))
    assert numbers(tape.gradient(losses, v)) == 2.0


# ---------------------------------------------------------------------------------------------------------------------
# Threads


def run_in_thread(function):
    results = []

    def work():
        try:
            results.append(function())
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(results[0], BaseException):
        raise results[0]
    return results[0]


def test_a_tape_hears_only_the_thread_that_opened_it():
    v = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        elsewhere = run_in_thread(lambda: v * v)
        here = v * 2.0
        both = here * elsewhere
    assert numbers([tape.gradient(t, v) for t in (elsewhere, here, both)]) == [None, 2.0, 18.0]


def test_a_tape_may_be_asked_in_another_thread():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
    assert numbers(run_in_thread(lambda: tape.gradient(y, v))) == 6.0


def test_each_thread_has_tapes_of_its_own():
    v = tf.Variable(3.0)
    barrier = threading.Barrier(4)
    results = {}

    def work(n):
        for _ in range(20):
            barrier.wait()
            with tf.GradientTape() as outer:
                with tf.GradientTape() as inner:
                    y = v ** float(n)
                barrier.wait()
                first = inner.gradient(y, v)
            results.setdefault(n, []).append((float(first), float(outer.gradient(first, v))))

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3, 4)]
    with tf.GradientTape() as tape:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        y = v * 1.0
    assert {n: set(r) for n, r in results.items()} == {
        n: {(n * 3.0 ** (n - 1), n * (n - 1) * 3.0 ** (n - 2))} for n in (1, 2, 3, 4)
    }
    assert numbers(tape.gradient(y, v)) == 1.0
    assert len(tape.watched_variables()) == 1


def test_a_block_left_in_another_thread_is_closed():
    tape = tf.GradientTape()
    v = tf.Variable(3.0)
    run_in_thread(lambda: tape.__enter__() and None)
    y = v * v
    tape.__exit__(None, None, None)
    assert tape.gradient(y, v) is None


# ---------------------------------------------------------------------------------------------------------------------
# Dtypes


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_a_gradient_has_the_dtype_of_its_source(dtype):
    x = tf.constant([1.0, 2.0], dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x * 3.0) / 2
    gradient = tape.gradient(y, x)
    assert gradient.dtype == dtype
    assert_array_equal(np.asarray(gradient, np.float64), [3.0, 6.0])


def test_gradients_pass_between_dtypes_by_cast():
    x = tf.Variable([1.0, 2.0], dtype=tf.float16)
    with tf.GradientTape() as tape:
        y = tf.cast(x, tf.float64) ** 2
    gradient = tape.gradient(y, x)
    assert gradient.dtype is tf.float16
    assert_array_equal(gradient, [2.0, 4.0])


@pytest.mark.parametrize(
    ("f", "weight", "expected"),
    [
        # TensorFlow's convention: the conjugate of the derivative of a holomorphic function.
        (lambda z: z * z, None, 2 - 4j),
        (lambda z: z * z, 1j, 4 + 2j),
        (lambda z: 3j * z, None, -3j),
        (lambda z: tf.exp(z), None, np.conj(np.exp(1 + 2j))),
        (lambda z: 1.0 / z, None, np.conj(-1 / (1 + 2j) ** 2)),
        (lambda z: tf.math.conj(z), None, 1),
        (lambda z: z * tf.math.conj(z), None, 2 + 4j),
        (lambda z: tf.math.conj(z) * 2j, None, 2j),
        (lambda z: tf.cast(z * z, tf.float64), None, 2 - 4j),
        (lambda z: tf.cast(tf.cast(z, tf.float64), tf.complex128) * (2 + 3j), None, 2),
        (lambda z: tf.matmul([[z, 1j]], [[z], [z]]), None, np.conj(2 + 4j + 1j)),
        (lambda z: tf.abs(z), None, (1 + 2j) / np.sqrt(5)),
    ],
)
def test_complex_gradients_follow_tensorflows_convention(f, weight, expected):
    z = tf.constant(1 + 2j)
    with tf.GradientTape() as tape:
        tape.watch(z)
        w = f(z)
    weights = None if weight is None else tf.constant(weight)
    assert_allclose(tf.reshape(tape.gradient(w, z, output_gradients=weights), ()), expected, atol=1e-12)


def test_complex_second_derivatives():
    z = tf.constant(1 + 2j)
    with tf.GradientTape() as outer:
        outer.watch(z)
        with tf.GradientTape() as inner:
            inner.watch(z)
            w = z**3
        first = inner.gradient(w, z)
    assert_allclose(first, np.conj(3 * (1 + 2j) ** 2))
    assert_allclose(outer.gradient(first, z), np.conj(6 * (1 + 2j)))


def test_a_real_source_of_a_complex_target_has_a_real_gradient():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = tf.cast(x, tf.complex64) * tf.constant(2 + 3j, tf.complex64)
    gradient = tape.gradient(y, x)
    assert gradient.dtype is tf.float32
    assert float(gradient) == 2.0
