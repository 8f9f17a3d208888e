"""A pass by NumPy's functions that ended as usual begins the next one with the same object: what may be other then."""

import copy
import gc
import threading
import weakref

import numpy as np
import pytest

import gradtape as tf
from gradtape.hot.following import Follower


@pytest.fixture
def again(hot, monkeypatch):
    """Follow by NumPy's functions; the fixture is the list of passes that began with the object of the one before."""
    begun = []
    start = Follower._starts_again

    def starts_again(follower, usual, tape, frame):
        is_begun = start(follower, usual, tape, frame)
        if is_begun:
            begun.append(follower)
        return is_begun

    monkeypatch.setattr(Follower, "_starts_again", starts_again)
    hot.by_numpy()
    hot()
    return begun


def descent(steps, between=None):
    """The variable after so many steps of gradient descent; `between(step, variable, tape)` is called after each."""
    v = tf.Variable([1.0, -2.0, 0.5])
    target = tf.constant([0.5, 0.25, 2.0])
    for step in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(v * v - target))
        gradient = tape.gradient(loss, v)
        v.assign_sub(0.05 * gradient)
        if between is not None:
            between(step, v, tape)
        del loss, gradient
    return v.numpy()


def both(hot, program):
    """What a program gives without hot tapes, and with them."""
    hot(False)
    expected = program()
    hot()
    return expected, program()


def test_passes_begin_with_the_object_of_the_last_one(hot, again):
    expected, got = both(hot, lambda: descent(40))
    np.testing.assert_array_equal(got, expected)
    assert len(again) > 20
    assert hot.counts["followed"] >= len(again)


@pytest.mark.parametrize("thread", [False, True])
def test_a_variable_that_is_assigned_between_passes_has_that_value(hot, again, thread):
    def between(step, v, tape):
        if step % 5 == 4:
            if thread:
                other = threading.Thread(target=lambda: v.assign(v + 0.125))
                other.start()
                other.join()
            else:
                v.assign([0.25, 0.5, -1.0])

    expected, got = both(hot, lambda: descent(40, between))
    np.testing.assert_array_equal(got, expected)
    assert again


def test_tapes_of_earlier_passes_know_what_they_watched(hot, again):
    tapes = []
    descent(30, lambda step, v, tape: tapes.append((tape, v)))
    assert again
    assert all(tape.watched_variables() == (v,) for tape, v in tapes)
    with pytest.raises(RuntimeError, match="only one call"):
        tapes[-2][0].gradient(tapes[0][1], tapes[0][1])


def test_a_tape_has_lists_of_its_own(hot, again):
    for on in (False, True):
        hot(on)
        fresh = tf.GradientTape()
        tapes = []
        descent(20, lambda step, v, tape, tapes=tapes: tapes.append(tape))
        assert fresh.watched_variables() == ()
        assert len({id(tape._watched) for tape in tapes}) == len(tapes)


def test_a_batch_of_the_last_pass_is_gone_when_the_next_one_begins(hot, again):
    v, alive = tf.Variable([[1.0], [2.0]]), []
    gc.disable()  # by reference count alone
    try:
        batches = []
        for step in range(30):
            batch = tf.constant(np.full((4, 2), step, "float32"))
            batches.append(weakref.ref(batch))
            with tf.GradientTape() as tape:
                alive.append(sum(reference() is not None for reference in batches))
                loss = tf.reduce_mean(tf.square(batch @ v))
            v.assign_sub(0.001 * tape.gradient(loss, v))
            del batch, loss
    finally:
        gc.enable()
    assert alive[3:] == [1] * 27
    assert again


def test_passes_of_another_thread_end_when_hot_tapes_are_switched_off(hot, again):
    steps, wait = [0], [threading.Event(), threading.Event(), threading.Event()]

    def between(step, v, tape):
        if step == 30:
            wait[0].set()
            wait[1].wait(30)
        steps[0] = step

    thread = threading.Thread(target=descent, args=(60, between))
    thread.start()
    assert wait[0].wait(30)
    hot(False)
    followed = hot.counts["followed"]
    assert followed > 20
    wait[1].set()
    thread.join()
    assert steps == [59]
    assert hot.counts["followed"] <= followed + 1  # the pass that was followed then


def test_an_exception_and_another_path_between_passes(hot, again):
    v = tf.Variable([1.0, 2.0])

    def steps():
        v.assign([1.0, 2.0])
        found = []
        for step in range(60):
            try:
                with tf.GradientTape() as tape:
                    y = tf.reduce_sum(tf.square(v))
                    if step % 13 == 7:
                        raise KeyError
                    if step % 11 == 6:
                        y = y * 2.0
                g = tape.gradient(y, v)
                v.assign_sub(0.1 * g)
                found.append(g.numpy() if step % 3 == 2 else None)
            except KeyError:
                found.append("left")
            del y
        return v.numpy(), found

    (expected, wanted), (got, found) = both(hot, steps)
    np.testing.assert_array_equal(got, expected)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_settings_of_a_copied_optimizer_are_its_own(hot, again):
    def train():
        v, first = tf.Variable([1.0, 2.0]), tf.optimizers.SGD(0.1, momentum=0.5)
        first.build([v])
        second = copy.copy(first)
        second.momentum = 0.0
        for step in range(40):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(v))
            if step == 20:
                first.momentum = 0.25
            (second if step % 10 == 9 else first).apply_gradients([(tape.gradient(loss, v), v)])
        return v.numpy()

    expected, got = both(hot, train)
    np.testing.assert_array_equal(got, expected)


def test_a_function_that_comes_back_to_the_place_with_other_variables(hot, again):
    expected, got = both(hot, lambda: [descent(12), descent(12), descent(1), descent(25)])
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert again
