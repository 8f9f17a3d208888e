"""What must hold of a pass that is followed: values, errors, variables, tapes, threads and memory."""

import contextlib
import copy
import gc
import os
import pickle
import threading
import weakref

import numpy as np
import pytest

import gradtape as tf
from gradtape.core import variable as variables
from gradtape.core.primitive import local
from gradtape.core.tensor import wrap
from gradtape.engine.pending import PendingArray
from gradtape.hot import pass_tensors, pending_values, places


def is_pending(tensor):
    return type(tensor._array) is PendingArray


def steps(variable, count, each=lambda step, y, g: None):
    for step in range(count):
        with tf.GradientTape() as tape:
            y = variable * variable + 1.0
        g = tape.gradient(y, variable)
        variable.assign_sub(0.1 * g)
        each(step, y, g)


def test_results_are_handed_out_without_values(hot):
    hot()
    found = []
    v = tf.Variable(1.0)
    steps(v, 3, lambda step, y, g: found.append((is_pending(y), is_pending(g), is_pending(v))))
    assert found[:2] == [(False, False, False), (True, True, True)]
    assert float(v) == pytest.approx(0.8**3)


def test_one_look_computes_the_whole_pass(hot):
    hot()
    v = tf.Variable(1.0)

    def look(step, y, g):
        if step > 0:
            assert float(y) == pytest.approx(0.64**step + 1)
            ((trace,),) = [place.traces for place in places.places.values()]
            runs = trace.runs
            assert float(g) == pytest.approx(2 * 0.8**step)
            assert float(v) == pytest.approx(0.8 ** (step + 1))
            assert trace.runs == runs <= step

    steps(v, 3, look)


def test_a_value_asked_for_before_the_update_is_the_one_before(hot):
    hot()
    v, seen = tf.Variable(1.0), []
    for _ in range(4):
        with tf.GradientTape() as tape:
            y = v * v
        seen.append((float(v), float(y)))
        v.assign_sub(0.1 * tape.gradient(y, v))
    np.testing.assert_allclose(seen, [(0.8**i, 0.64**i) for i in range(4)], rtol=1e-6)
    assert hot.counts["followed"] >= 2


def test_a_shape_error_is_raised_at_the_call(hot):
    hot()
    v = tf.Variable([1.0, 2.0])
    for step in range(4):
        with tf.GradientTape() as tape:
            y = v * 2.0
            if step == 3:
                with pytest.raises(tf.errors.InvalidArgumentError, match="do not broadcast"):
                    y + tf.zeros(3)
        assert tape.gradient(y, v).numpy().tolist() == [2.0, 2.0]


def test_an_index_out_of_bounds_is_raised_at_the_call(hot):
    hot()
    v = tf.Variable([1.0, 2.0])
    for step in range(4):
        with tf.GradientTape():
            index = tf.constant([0, 1 if step < 3 else 5])
            if step < 3:
                tf.gather(v * 2.0, index)
            else:
                with pytest.raises(IndexError):
                    tf.gather(v * 2.0, index)


def test_a_matrix_without_an_inverse_is_found_at_the_call(hot):
    hot()
    for step in range(4):
        m = tf.Variable(tf.eye(2) if step < 3 else tf.zeros([2, 2]))
        with tf.GradientTape():
            doubled = m * 2.0
            if step < 3:
                tf.linalg.inv(doubled)
            else:
                with pytest.raises(tf.errors.InvalidArgumentError):
                    tf.linalg.inv(doubled)


@pytest.mark.parametrize("others", [(0.0, -0.0), (1, True), (2, 2.0)])
def test_numbers_that_are_equal_are_told_apart(hot, others):
    hot()
    v = tf.Variable([3.0, 4.0])
    shown = []
    for number in (others[0], others[0], others[1], others[0]):
        with tf.GradientTape():
            y = v * (0.5 if number is True else number)
        shown.append(str(y.numpy()))
    assert shown[0] == shown[1] == shown[3]
    if others != (2, 2.0):
        assert shown[2] != shown[0]


def test_complex_numbers_with_zeros_of_either_sign_are_told_apart(hot):
    hot()
    v = tf.Variable([3.0, 4.0])
    for number in (complex(-1.0, 0.0), complex(-1.0, 0.0), complex(-1.0, -0.0)):
        with tf.GradientTape():
            y = tf.cast(v, "complex64") * number
        y.numpy()
    assert hot.counts["left"] == 1


def test_a_tensor_used_in_the_place_of_an_equal_one_has_its_own_gradient(hot):
    hot()
    for step in range(5):
        x, y = tf.constant(2.0), tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = x * (x if step == 3 else y)
        assert float(tape.gradient(z, x)) == (4.0 if step == 3 else 2.0)


def test_the_value_of_a_variable_and_the_tensor_it_was_assigned_differ_to_a_tape(hot):
    hot()
    v = tf.Variable(1.0)
    for step in range(5):
        x = tf.constant(3.0)
        v.assign(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = (v if step == 3 else x) * 2.0
        found = [None if g is None else float(g) for g in tape.gradient(y, [x, v])]
        assert found == ([None, 2.0] if step == 3 else [2.0, None])


def test_another_thread_sees_the_value_of_a_variable(hot):
    hot()
    v, seen = tf.Variable(1.0), []

    def look(step, y, g):
        other = threading.Thread(target=lambda: seen.append(float(v * 2.0)))
        other.start()
        other.join()

    steps(v, 4, look)
    np.testing.assert_allclose(seen, [2 * 0.8**i for i in range(1, 5)], rtol=1e-6)
    assert hot.counts["left"] <= 1


def test_an_assignment_in_another_thread_does_not_change_what_was_read(hot):
    hot()
    v = tf.Variable(1.0)
    for _ in range(4):
        v.assign(1.0)
        with tf.GradientTape() as tape:
            y = v * 3.0
        other = threading.Thread(target=lambda: v.assign(10.0))
        other.start()
        other.join()
        assert float(y) == 3.0
        assert float(tape.gradient(y, v)) == 3.0
        assert float(v) == 10.0


def test_a_persistent_tape_answers_after_the_pass(hot):
    hot()
    v, kept = tf.Variable(2.0), []
    for step in range(4):
        with tf.GradientTape(persistent=True) as tape:
            y = v * v * (1.0 + step)
        kept.append((tape, y))
    for step, (tape, y) in enumerate(kept):
        assert float(tape.gradient(y, v)) == 4.0 * (1 + step)
        assert tape.watched_variables() == (v,)


def test_a_tape_answers_once(hot):
    hot()
    v = tf.Variable(2.0)
    for _ in range(4):
        with tf.GradientTape() as tape:
            y = v * v
        assert float(tape.gradient(y, v)) == 4.0
        with pytest.raises(RuntimeError, match="only one call"):
            tape.gradient(y, v)


def test_a_tape_that_has_answered_knows_what_it_watched(hot):
    hot()
    fixed, read, shaped = tf.Variable([1.0], trainable=False), tf.Variable([2.0]), tf.Variable([3.0])
    tapes = []
    for _ in range(4):
        with tf.GradientTape() as tape:
            tape.watch(fixed)
            length = tf.shape(shaped)[0]
            y = fixed * read * tf.cast(length, "float32")
        fixed.assign_sub(0.1 * tape.gradient(y, fixed))
        tapes.append(tape)
    assert hot.counts["followed"] > 1
    assert [len(tape.watched_variables()) for tape in tapes] == [3] * 4


def test_tensors_outlive_their_pass_with_values_alone(hot):
    hot()
    v, kept, passes = tf.Variable(1.0), [], []

    def keep(step, y, g):
        kept.append(y)
        if local.here.hot is not None:
            passes.append(weakref.ref(local.here.hot))

    gc.disable()
    try:
        steps(v, 4, keep)
        hot(False)
        assert [reference() for reference in passes] == [None] * len(passes)
    finally:
        gc.enable()
    np.testing.assert_allclose([float(y) for y in kept], [0.64**i + 1 for i in range(4)], rtol=1e-6)


def test_a_copy_shares_the_value(hot):
    import copy

    hot()
    v, copies = tf.Variable(1.0), []
    steps(v, 4, lambda step, y, g: copies.append(copy.copy(y)))
    hot(False)
    np.testing.assert_allclose([float(y) for y in copies], [0.64**i + 1 for i in range(4)], rtol=1e-6)


def test_a_tensor_is_pickled_with_its_value(hot):
    import pickle

    hot()
    v, texts = tf.Variable(1.0), []
    steps(v, 4, lambda step, y, g: texts.append(pickle.dumps([y, v])))
    values = [[float(part) for part in pickle.loads(text)] for text in texts]
    np.testing.assert_allclose(values, [(0.64**i + 1, 0.8 ** (i + 1)) for i in range(4)], rtol=1e-6)


def test_an_eager_update_does_not_reach_what_a_program_reads(hot):
    hot()
    frozen, v = tf.Variable(tf.ones(1000)), tf.Variable(tf.ones(1000))
    for step in range(6):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * frozen)
        g = tape.gradient(y, v)
        hot(False)  # ends the pass
        frozen.assign_add(tf.ones(1000))
        hot()
        assert g.numpy()[0] == 1.0 + step


def test_random_operations_draw_the_same_numbers(hot):
    def draws(count):
        tf.random.set_seed(3)
        v, shown = tf.Variable(1.0), []
        for _ in range(count):
            with tf.GradientTape() as tape:
                y = v * tf.random.normal([2])
            shown.append(tape.gradient(y, v).numpy())
        return shown

    cold = draws(5)
    hot()
    np.testing.assert_allclose(draws(5), cold, rtol=1e-6)
    assert hot.counts["followed"] >= 3


def test_what_numpy_changes_later_was_copied(hot):
    hot()
    v = tf.Variable([1.0, 1.0])
    for _ in range(4):
        array = np.float32([1.0, 2.0])
        with tf.GradientTape():
            y = v * array
        array[:] = 9.0
        assert y.numpy().tolist() == [1.0, 2.0]


def test_compiled_functions_in_a_pass_run_as_ever(hot):
    hot()
    v = tf.Variable(2.0)
    bump = tf.function(lambda: v.assign_add(1.0))
    power = tf.function(lambda x, n, root=False: tf.sqrt(x**n) if root else x**n)
    for step in range(4):
        with tf.GradientTape() as tape:
            y = v * v
            bump()
            z = v * 3.0
        assert (float(y), float(z)) == ((2.0 + step) ** 2, (3.0 + step) * 3)
        assert float(tape.gradient(y, v)) == 2 * (2.0 + step)
        assert float(v) == 3.0 + step
    v.assign(2.0)
    for n, root in [(2, False)] * 4 + [(2.0, False), (3, False), (2, True), (2, False)]:
        with tf.GradientTape() as tape:
            y = power(v * 1.0, n, root=root) + 1.0
        exponent = n / 2 if root else n
        assert float(y) == pytest.approx(2.0**exponent + 1)
        assert float(tape.gradient(y, v)) == pytest.approx(exponent * 2.0 ** (exponent - 1))
    assert hot.counts["followed"] == 0
    for place in hot.counts["places"].values():
        assert "a compiled function is called" in place["reasons"]


@pytest.mark.parametrize("kind", ["iterator", "value"])
def test_compiled_functions_keep_the_python_state_they_were_traced_with(hot, kind):
    numbers, scale = iter([2.0, 5.0, 7.0]), [2.0]
    function = tf.function(lambda x: tf.sin(x) * (next(numbers) if kind == "iterator" else scale[0]))
    v = tf.Variable([0.5, 1.0])
    hot()
    for _ in range(8):
        with tf.GradientTape() as tape:
            y = function(v * 1.0)
        np.testing.assert_allclose(y, np.sin(v.numpy()) * 2.0, rtol=1e-5)
        np.testing.assert_allclose(tape.gradient(y, v), np.cos(v.numpy()) * 2.0, rtol=1e-5)
        scale[0] = 3.0
    assert next(numbers) == (5.0 if kind == "iterator" else 2.0)


def test_a_function_that_raises_in_a_pass(hot):
    hot()
    v, fails = tf.Variable(2.0), tf.function(lambda x: tf.reshape(x, [2]))
    for _ in range(3):
        with pytest.raises(ValueError), tf.GradientTape():
            fails(v * 2.0)
        with tf.GradientTape() as tape:
            y = v * v
        assert float(tape.gradient(y, v)) == 4.0


def test_nothing_is_followed_while_origins_are_traced(hot):
    hot()
    with tf.debugging.trace_origins():
        steps(tf.Variable(1.0), 4)
    assert hot.counts["learned"] == 0


def test_a_place_that_keeps_leaving_is_left_alone(hot):
    hot()
    v = tf.Variable(1.0)
    for step in range(30):
        with tf.GradientTape() as tape:
            y = v
            for _ in range(step % 15 + 1):
                y = y * 1.5
        assert float(tape.gradient(y, v)) == pytest.approx(1.5 ** (step % 15 + 1))
    assert next(iter(hot.counts["places"].values()))["cold"]


def test_hot_tapes_are_a_choice(hot):
    assert hot.counts == {"passes": 0, "learned": 0, "followed": 0, "left": 0, "programs": 0, "places": {}}
    tf.config.experimental.set_hot_tapes(True)
    steps(tf.Variable(1.0), 3)
    tf.config.experimental.set_hot_tapes(False)
    steps(tf.Variable(1.0), 3)
    assert tf.config.experimental.hot_tapes()["passes"] == 3


def test_a_profile_says_what_ran_hot_what_left_and_why(hot):
    from gradtape.explain import session

    hot()
    v = tf.Variable(1.0)
    with session(profile=True) as s:
        for step in range(6):
            with tf.GradientTape() as tape:
                y = v * v
                if step == 4:
                    y = tf.exp(y)
            tape.gradient(y, v)
    report = s.report()
    (place,) = report.json["hot"]["places"].values()
    assert place["passes"] == 6
    assert place["left"] == 1
    assert "exp was not expected" in report.text
    assert f"{place['followed']} of 6 passes ran hot" in report.text


def test_places_of_code_that_is_made_again_and_again_are_forgotten(hot, monkeypatch):
    monkeypatch.setattr(places, "MOST_PLACES", 5)
    hot()
    places.policy.learn_from = 4
    v = tf.Variable(2.0)
    text = "def slope(v):\n    with tf.GradientTape() as tape:\n        y = v * v\n    return tape.gradient(y, v)"

    def new():
        names = {"tf": tf}
        exec(text, names)
        return names["slope"]

    kept = new()
    for _ in range(8):
        assert float(kept(v)) == 4.0
    for _ in range(20):
        assert float(new()(v)) == 4.0
    assert len(places.places) <= 6
    assert places.places[next(iter(places.places))].traces


def test_a_profile_times_the_operations_of_what_did_not_run_hot(hot):
    from gradtape.explain import session

    hot()
    places.policy.learn_from = 4
    v = tf.Variable(1.0)
    with session(profile=True) as s:
        for _ in range(10):
            with tf.GradientTape() as tape:
                y = tf.tanh(v)
            tape.gradient(y, v)
        for _ in range(2):
            with tf.GradientTape() as tape:
                y = tf.exp(v)
            tape.gradient(y, v)
    report = s.report()
    times = {row["operation"]: row["calls"] for row in report.json["profile"]["operations"]}
    assert (times["tanh"], times["exp"]) == (3, 2)
    assert report.json["hot"]["followed"] == 6
    assert "ran hot" in report.text and "tanh" in report.text


def test_a_pass_is_freed_with_its_last_event(hot):
    hot()
    v = tf.Variable(tf.ones(100_000))
    gone = []
    gc.disable()
    try:
        for _ in range(5):
            x = tf.constant(np.ones(100_000, "float32"))
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(v * x - 2.0))
            step = 0.1 * tape.gradient(loss, v)  # is in use when the next pass begins
            v.assign_sub(step)
            gone.append(weakref.ref(x))
            del x, tape
            assert [reference() for reference in gone] == [None] * len(gone)
        assert hot.counts["followed"] >= 3
    finally:
        gc.enable()
    assert float(loss) == pytest.approx(1.0, rel=1e-3)


def test_a_pass_that_is_learned_keeps_no_result(hot):
    hot()
    v = tf.Variable(tf.ones(1000))
    with tf.GradientTape() as tape:
        y = v + 1.0
        gone = weakref.ref(y)
        z = tf.reduce_sum(y * 2.0)
        del y
        assert gone() is None
    assert tape.gradient(z, v).numpy()[0] == 2.0


def test_a_tape_inside_a_custom_gradient_begins_no_pass(hot):
    @tf.recompute_grad
    def second(a, b):
        return b

    hot()
    x, rows = tf.constant([1.0, 2.0]), tf.constant([[1.0, -0.5], [0.25, 2.0]])
    for _ in range(4):
        with tf.GradientTape() as tape:
            tape.watch([x, rows])
            y = second(x + rows[0], rows[0])
            loss = tf.reduce_sum(y * y)
        of_x, of_rows = tape.gradient(loss, [x, rows])
        assert of_x is None
        assert of_rows.numpy().tolist() == [[2.0, -1.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    "pack", [lambda v, w: [], lambda v, w: [[v, w], v], lambda v, w: {"a": (w,), "b": v}]
)
def test_gradients_have_the_structure_of_the_sources(hot, pack):
    hot()
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    sources = pack(v, w)
    expected = tf.nest.map_structure(lambda source: 3.0 if source is v else 2.0, sources)
    for _ in range(4):
        with tf.GradientTape() as tape:
            y = v * w
        assert tf.nest.map_structure(float, tape.gradient(y, sources)) == expected
    assert hot.counts["followed"] >= 2


def test_a_pass_that_jax_traces_is_not_followed(hot):
    import jax

    def squared(array):
        x = wrap(array)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)._array

    hot()
    for step in range(4):
        assert squared(np.float32(step)) == 2.0 * step
    for step in range(3):
        assert jax.jit(lambda array: squared(array))(np.float32(step)) == 2.0 * step


def test_other_tensors_than_those_that_were_guessed(hot):
    hot()
    v, seen = tf.Variable(2.0), []
    given, one = [tf.constant(float(k)) for k in range(3)], tf.constant(1.0)
    for k in (
        0,
        0,
        0,
        0,
        1,
        0,
        0,
        0,
        0,
        0,
        2,
        2,
        1,
    ):  # after equal ones, the program is started with the first event
        with tf.GradientTape() as tape:
            y = v * 3.0 * given[k] * one
        seen.append((float(y), float(tape.gradient(y, v))))
        assert seen[-1] == (6.0 * k, 3.0 * k)
    assert hot.counts["left"] == 0


def test_a_variable_that_another_thread_assigns_before_it_is_read(hot):
    hot()
    v, w = tf.Variable(2.0), tf.Variable(1.0)
    for k in range(8):
        with tf.GradientTape() as tape:
            y = v * 3.0
            thread = threading.Thread(target=w.assign, args=(float(k),))  # while the program of the pass runs
            thread.start()
            thread.join()
            z = y * w
        assert float(z) == 6.0 * k
        assert float(tape.gradient(z, v)) == 3.0 * k


@pytest.mark.skipif(os.environ.get("GRADTAPE_HOT") == "numpy", reason="these programs run when the pass ends")
def test_a_program_is_started_before_the_pass_ends(hot):
    hot()
    v, x = tf.Variable(2.0), tf.constant(3.0)
    for k in range(5):
        with tf.GradientTape() as tape:
            y = v * x
            started = bool(local.here.hot._values) if k else False
        g = tape.gradient(y, v)
        v.assign_sub(0.5 * g)
        assert started is (k > 1)
    assert float(v) == 2.0 - 5 * 1.5


def test_a_small_tensor_that_is_made_anew_in_every_pass(hot):
    hot()
    v, inf = tf.Variable([1.0, 2.0]), float("inf")
    reciprocals = {"0.0": inf, "-0.0": -inf, "5.0": 0.2}
    for k in (0.0, 0.0, 0.0, 0.0, -0.0, 5.0, 5.0, 0.0):
        x = tf.constant([k, k])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = v * x + 1.0 / x
        expected = np.float32(reciprocals[str(k)])
        assert y.numpy().tolist() == [k + expected, 2.0 * k + expected]
        assert tape.gradient(y, x).numpy().tolist() == pytest.approx([1.0 - expected**2, 2.0 - expected**2])
    assert hot.counts["left"] == 0


def test_a_small_tensor_of_a_pass_that_was_left_is_not_what_was_guessed(hot):
    hot()
    usual, shown = tf.constant([1.0, 2.0]), []
    v = tf.Variable([1.0, 1.0])
    for step in range(16):
        x = tf.constant([5.0, 6.0]) if step in (4, 12) else usual
        with contextlib.suppress(KeyError):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(v * v * x)
                if step == 4:
                    raise KeyError
            v.assign_sub(0.0 * tape.gradient(y, v))
            shown.append(float(y))
    assert shown == [3.0] * 11 + [11.0] + [3.0] * 3


def test_what_is_not_let_go_before_the_next_pass_begins_keeps_its_value(hot):
    hot()
    v, kept = tf.Variable(1.0), []
    for step in range(8):
        with tf.GradientTape() as tape:
            y = v * v + 1.0
        if step > 3:
            kept.append(y)  # was not in use at the end of earlier passes
        v.assign_sub(0.1 * tape.gradient(y, v))
        del y, tape
    assert not any(is_pending(y) for y in kept[:-1])
    np.testing.assert_allclose([float(y) for y in kept], [0.64**i + 1 for i in range(4, 8)], rtol=1e-6)


@pytest.mark.parametrize("looks", [False, True])
def test_a_pass_that_is_followed_keeps_no_more_than_one_that_is_not(hot, looks):
    import tracemalloc

    import jax

    def kept():
        """The bytes of all arrays: NumPy's, and JAX's that are not views of them."""
        return tracemalloc.get_traced_memory()[0] + sum(array.nbytes for array in jax.live_arrays())

    def most(steps=10):
        """The most that the last passes keep, besides what is there when nothing runs any more."""
        v, x, found = tf.Variable(tf.ones(100_000)), tf.ones(100_000), []
        for step in range(steps):
            with tf.GradientTape() as tape:
                y = v * x
                for _ in range(4):
                    y = tf.sin(y) * 1.1
                    found += [kept()] * (step > 5)
                loss = tf.reduce_mean(tf.square(y))
            if looks:
                float(loss)
            g = tape.gradient(loss, v)
            found += [kept()] * (step > 5)
            v.assign_sub(0.1 * g)
            found += [kept()] * (step > 5)
        hot(False)
        del y, loss, g, tape
        gc.collect()
        return max(found) - kept()

    tracemalloc.start()
    try:
        cold = most()
        hot()
        warm = most()
    finally:
        tracemalloc.stop()
    assert hot.counts["followed"] >= 8
    assert warm <= cold, (warm, cold)


def test_a_variable_that_changes_its_shape(hot):
    hot()
    v = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None))
    for n in (2, 2, 2, 2, 3, 3, 3, 2):
        v.assign(tf.ones([n]))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * 2.0)
        assert float(y) == 2.0 * n
        assert tape.gradient(y, v).numpy().tolist() == [2.0] * n


def test_a_tensor_of_a_compiled_function_in_the_place_of_a_small_one(hot):
    hot()
    v, filled = tf.Variable([1.0, 2.0]), tf.function(lambda k: tf.fill([2], k))
    for step, k in enumerate((1.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 4.0)):
        x = tf.constant([k, k]) if k == 1.0 else filled(tf.constant(k))
        with tf.GradientTape() as tape:
            y = v * x
            if step == 7:
                z = tf.cast(x, "int32") * 2  # another path
        assert y.numpy().tolist() == [k, 2.0 * k]
        assert tape.gradient(y, v).numpy().tolist() == [k, k]
    assert z.numpy().tolist() == [2, 2]


def test_a_function_that_cannot_be_compiled_runs_in_a_pass(hot):
    hot()
    function = tf.function(lambda x: tf.reduce_sum(tf.boolean_mask(x * x, x > 0.0)))
    x = tf.constant([1.0, 2.0, -1.0])
    for _ in range(4):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0, 0.0]


def test_a_later_tape_watches_a_value_of_the_pass_before(hot):
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            middle = tf.exp(x)
            y = tf.reduce_sum(middle * x * x + middle**2)
        with tf.GradientTape(persistent=True) as later:
            later.watch([x, middle])
            slope = tape.gradient(y, x)
        return [g.numpy() for g in later.gradient(slope, [x, middle])]

    given = [tf.constant([0.5 + i, -0.3]) for i in range(4)]
    wanted = [run(x) for x in given]
    hot()
    for x, each in zip(given, wanted, strict=True):
        np.testing.assert_allclose(run(x), each, rtol=1e-5)


@pytest.mark.parametrize("by_numpy", [False, True])
def test_a_tensor_that_another_path_was_given_later_is_the_one_given_before(hot, by_numpy):
    a, b = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])

    def step(x, y, squares):
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = tf.sin(x)
            z = tf.square(z) * y if squares else tf.exp(z) * y
        return tape.gradient(z, x)

    given = [(a, b, True), (a, b, False), (a, b, True), (a, b, False)] * 2 + [(b, b, True), (b, b, False)]
    wanted = [step(*one).numpy() for one in given]
    if by_numpy:
        hot.by_numpy()
    hot()
    for one, expected in zip(given, wanted, strict=True):
        np.testing.assert_allclose(step(*one), expected, rtol=1e-5)
    assert hot.counts["followed"] >= 5


@pytest.mark.parametrize("by_numpy", [False, True])
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_programs_do_not_keep_the_variables_and_optimizers_of_their_passes(hot, by_numpy, name):
    if by_numpy:
        hot.by_numpy()
    hot()
    references = []

    def train():
        v, optimizer = tf.Variable([1.0, 2.0]), getattr(tf.optimizers, name)(0.1)
        references.extend([weakref.ref(v), weakref.ref(optimizer)])
        for _ in range(6):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(v * v)
            optimizer.apply_gradients([(tape.gradient(loss, v), v)])

    train()
    with tf.GradientTape():  # ends the last pass
        pass
    gc.collect()
    assert hot.counts["followed"] >= 4
    assert [reference() for reference in references] == [None, None]


@pytest.mark.parametrize("by_numpy", [False, True])
def test_a_variable_read_for_an_unexpected_event_still_is_the_variable(hot, by_numpy):
    if by_numpy:
        hot.by_numpy()
    hot()
    v, other, count, x = tf.Variable([[2.0]]), tf.Variable([[0.0]]), tf.Variable(0.0), np.float32([[3.0]])
    for step in range(24):
        with tf.GradientTape() as tape:
            y = v * 2.0
        v.assign_sub(0.1 * tape.gradient(y, v))
        if step % 4 == 3:
            other.assign(v)
        if step % 6 == 5:
            assert float(x @ v) == pytest.approx(3.0 * (2.0 - 0.2 * (step + 1)), rel=1e-4)
        count.assign_add(1.0)
    assert float(other) == pytest.approx(2.0 - 0.2 * 24, rel=1e-4)
    assert float(count) == 24.0
    assert hot.counts["followed"] >= 18
    (place,) = hot.counts["places"].values()
    assert set(place["reasons"]) <= {"assign was not expected", "matmul was not expected"}


def test_the_rest_of_a_pass_is_learned_after_its_tape_is_gone(hot):
    hot()
    v, average, count = tf.Variable(1.0), tf.Variable(0.0), tf.Variable(0.0)

    def slope():
        with tf.GradientTape() as tape:
            y = v * v
        return tape.gradient(y, v)

    for step in range(20):
        v.assign_sub(0.1 * slope())
        if step % 2:
            average.assign(0.5 * v)
        count.assign_add(1.0)
    assert [float(v), float(average)] == pytest.approx([0.8**20, 0.5 * 0.8**20], rel=1e-4)
    assert float(count) == 20.0
    assert hot.counts["left"] == 1
    assert hot.counts["followed"] >= 17


def test_integers_that_change_are_inputs(hot):
    hot()
    v, n = tf.Variable([1.0, 2.0]), tf.Variable([1, 2])
    for step in range(12):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * step) / (step + 1) + (step if step % 2 else 0.5)
            z = n * (2 if step < 11 else 3)
        assert float(y) == pytest.approx(3.0 * step / (step + 1) + (step if step % 2 else 0.5))
        assert tape.gradient(y, v).numpy().tolist() == pytest.approx([step / (step + 1)] * 2)
        assert z.numpy().tolist() == ([2, 4] if step < 11 else [3, 6])
    assert hot.counts["followed"] >= 8


def test_an_integer_that_no_float_can_hold_is_an_error_of_the_call(hot):
    hot()
    v = tf.Variable([1.0, 2.0])
    for number in (1, 2, 3, 4, 10**400):
        with tf.GradientTape():
            if number < 10:
                assert (v * number).numpy().tolist() == [number, 2.0 * number]
            else:
                with pytest.raises(tf.errors.InvalidArgumentError):
                    v * number


def test_errors_that_come_seldom_do_not_end_the_following(hot):
    hot()
    v = tf.Variable([[1.0, 2.0]])
    for step in range(200):
        x = tf.ones([2 if step % 50 else 3, 1])
        with contextlib.suppress(tf.errors.InvalidArgumentError), tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.linalg.matmul(v, x))
            v.assign_sub(0.001 * tape.gradient(y, v))
    assert v.numpy().ravel().tolist() == pytest.approx([1.0 - 0.196, 2.0 - 0.196], rel=1e-4)
    assert hot.counts["followed"] >= 180
    assert not any(place["cold"] for place in hot.counts["places"].values())


def test_a_place_whose_passes_all_differ_is_not_learned_for_ever(hot):
    places.policy = places.Policy()
    hot()
    models = [tf.Variable(float(i)) for i in range(10)]
    for _ in range(12):
        for v in models:
            with tf.GradientTape() as tape:
                y = v * v
            v.assign_sub(0.1 * tape.gradient(y, v))
    assert [float(v) for v in models] == pytest.approx([i * 0.8**12 for i in range(10)], rel=1e-4)
    (place,) = hot.counts["places"].values()
    assert place["cold"]
    assert place["learned"] == places.MOST_UNEQUAL


def cutting(seed, passes=14):
    """Passes that cut tensors at changing places: from outside, watched or not, variables, and results."""
    random = np.random.default_rng(seed)
    x, w = tf.constant(random.normal(size=8)), tf.Variable(random.normal(size=8))
    kinds = random.integers(0, 5, 3)
    watches, repeats = random.random() < 0.5, random.random() < 0.5
    shown = []
    for number in range(passes):
        i, j = random.integers(0, 6, 2).tolist()
        is_watched = watches and (not repeats or number % 5 == 4)
        part = x[j : j + 2]
        with tf.GradientTape(persistent=True) as tape:
            if is_watched:
                tape.watch(x)
            h = tf.sin(w * x)
            loss = tf.reduce_sum(h)
            for kind in kinds:
                taken = (x[i], w[i], h[i], x[i : i + 2][0], part[1])[kind]
                loss = loss + tf.square(taken) * taken
        shown += [tape.gradient(loss, w), tape.gradient(loss, [x])[0], loss]
        w.assign_sub(0.01 * shown[-3])
        if number % 4 == 1:
            shown.append(w.value())
    return [None if x is None else x.numpy() for x in shown]


@pytest.mark.parametrize("by_numpy", [False, True])
def test_tensors_that_are_cut_at_other_places_in_each_pass(hot, by_numpy):
    seeds = range(40 if by_numpy else 12)
    wanted = [cutting(seed) for seed in seeds]
    if by_numpy:
        hot.by_numpy()
    hot()
    for seed, expected in zip(seeds, wanted, strict=True):
        places.places.clear()
        for got, one in zip(cutting(seed), expected, strict=True):
            assert (got is None) is (one is None), seed
            if one is not None:
                np.testing.assert_allclose(got, one, rtol=1e-9, err_msg=f"seed {seed}")


def test_parts_of_a_tensor_from_outside_are_inputs(hot):
    hot()
    x, w = tf.constant(np.arange(40.0).reshape(20, 2)), tf.Variable([[1.0], [2.0]], dtype=tf.float64)
    for i in range(12):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(x[i : i + 4] @ w)
        np.testing.assert_array_equal(tape.gradient(loss, w)[:, 0], x.numpy()[i : i + 4].sum(0))
    assert hot.counts["followed"] == 9  # one is learned, one left, and the last has not ended
    assert len(next(iter(places.places.values())).traces) == 1
    with pytest.raises(tf.errors.InvalidArgumentError), tf.GradientTape():
        x[30]


def test_a_thread_that_asks_for_an_array_while_it_is_computed_gets_the_value():
    pytest.importorskip("gradtape.compiled.buffers")  # what gives tensors their arrays
    late = object.__new__(tf.Tensor)

    class Ending:
        """A pass that another thread ends while this one waits for its lock."""

        _arrays: list = []  # noqa: RUF012

        def __init__(self):
            self._lock = self

        def __enter__(self):
            late._array = np.array([1.0, 2.0])
            del late._both

        def __exit__(self, *_):
            pass

    late._both = Ending(), (0, (2,), np.dtype("float64"))
    assert type(late._array) is np.ndarray
    np.testing.assert_array_equal(late._array, [1.0, 2.0])


def ran_in_a_thread(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()


def test_a_pass_that_is_left_does_not_undo_what_another_thread_assigns(hot, monkeypatch):
    w, count, replays = tf.Variable([0.5, 0.25]), tf.Variable(0.0), []
    run = pending_values.Restored.run

    def run_meanwhile(self, end):
        replays.append(end)
        ran_in_a_thread(count.assign_add, 1.0)
        run(self, end)

    monkeypatch.setattr(pending_values.Restored, "run", run_meanwhile)
    hot()
    for step in range(12):
        with tf.GradientTape() as tape:
            y = w * (count + 1.0)
            if step % 5 == 4:
                y = tf.tanh(y) if step < 8 else tf.sin(y)  # a path that no pass took before
            loss = tf.reduce_sum(y)
        w.assign_sub(1e-3 * tape.gradient(loss, w))
    hot(False)
    assert len(replays) >= 2
    assert float(count) == len(replays)


@pytest.mark.parametrize("method", ["assign", "assign_add"])
def test_a_value_that_a_pass_moves_to_the_device_is_assigned_in_another_thread(hot, monkeypatch, method):
    buffers = pytest.importorskip("gradtape.compiled.buffers")
    w, count, move, moved = tf.Variable([0.5]), tf.Variable([1.0]), buffers.on_device, []

    def move_meanwhile(tensor):
        if tensor is count._tensor:
            moved.append(tensor)
            ran_in_a_thread(getattr(count, method), [2.0])
        return move(tensor)

    monkeypatch.setattr(buffers, "on_device", move_meanwhile)
    hot()
    for _ in range(6):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * count)
        before = float(count[0])
        tape.gradient(loss, w)
        assert float(loss) == 0.5 * before
    hot(False)
    assert moved
    assert float(count[0]) == (2.0 if method == "assign" else 1.0 + 2.0 * len(moved))


def test_an_update_is_kept_whose_array_is_moved_to_the_device_before_it_is_written(monkeypatch):
    pytest.importorskip("jax")
    v, update = tf.Variable([1.0, 2.0]), variables.quietly

    def update_late(*args):
        pass_tensors.value_on_device(v)
        return update(*args)

    monkeypatch.setattr(variables, "quietly", update_late)
    v.assign_add([1.0, 1.0])
    assert v.numpy().tolist() == [2.0, 3.0]


@pytest.mark.parametrize("by_numpy", [False, True])
@pytest.mark.parametrize("make", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_an_optimizer_is_copied_before_its_last_step_is_computed(hot, by_numpy, make):
    def train(steps):
        w, optimizer = tf.Variable([1.0, 2.0]), tf.optimizers.SGD(0.05, momentum=0.5)
        for step in range(steps):
            if step == 5:
                optimizer = make(optimizer)
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(tf.sin(w)))
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return [*w.numpy(), int(optimizer.iterations)]

    wanted = train(12)
    if by_numpy:
        hot.by_numpy()
    hot()
    got = train(12)
    hot(False)
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    assert hot.counts["followed"] > 5


def test_two_threads_look_in_passes_that_read_each_others_variables(hot, monkeypatch):
    hot.by_numpy()
    hot()
    step, look, ahead = threading.Barrier(2), threading.Barrier(2), pending_values.PendingValues._ahead

    def ahead_together(self):
        try:
            look.wait(timeout=0.5)
        except threading.BrokenBarrierError:  # the other thread learns its pass
            look.reset()
        return ahead(self)

    monkeypatch.setattr(pending_values.PendingValues, "_ahead", ahead_together)
    a, b = (tf.Variable(value, shape=tf.TensorShape([None])) for value in ([1.0, 2.0], [3.0, 4.0]))

    def run(mine, other):
        for _ in range(8):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(mine * mine)
            mine.assign_sub(0.001 * tape.gradient(loss, mine))
            step.wait(timeout=20)
            float(loss)
            total = tf.reduce_sum(other)
            mine.assign_add(0.0 * total + 0 * mine)

    threads = [threading.Thread(target=run, args=both, daemon=True) for both in ((a, b), (b, a))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in threads)
    assert hot.counts["followed"] > 5


def test_a_thread_looks_while_the_pass_changes_to_another_path(hot, monkeypatch):
    hot.by_numpy()
    hot()
    w, held, seen, threads = tf.Variable([0.5, -0.25]), [], [], []
    expect = pending_values.PendingValues._expect

    def expect_slowly(self, trace):
        expect(self, trace)
        for y in held:
            threads.append(threading.Thread(target=lambda y=y: seen.append(y.numpy())))
            threads[-1].start()
            threads[-1].join(timeout=0.2)  # it may have to wait

    monkeypatch.setattr(pending_values.PendingValues, "_expect", expect_slowly)
    for step in range(12):
        with tf.GradientTape() as tape:
            y = tf.tanh(w)
            held.append(y)
            loss = tf.reduce_sum(y) if step % 2 else tf.reduce_max(y * y * y)
        tape.gradient(loss, w)
        held.clear()
    for thread in threads:
        thread.join()
    assert len(seen) == len(threads) > 2
    for value in seen:
        np.testing.assert_allclose(value, np.tanh([0.5, -0.25]), rtol=1e-6)
