"""An interrupt may come at any line: no tape stays open, and variables have their values of before or after a step."""

import linecache
import os
import sys
from functools import partial

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.primitive import local
from gradtape.hot import places

SOURCE = os.path.dirname(tf.__file__)


class Interrupt(BaseException):
    pass


def run_to_line(number, step):
    """Run a step until so many lines of gradtape's have run; returns where it stopped, or None."""
    count = 0

    def line(frame, event, _):
        nonlocal count
        if event == "line" and can_stop(frame):
            count += 1
            if count == number:
                raise Interrupt(f"{frame.f_code.co_filename[len(SOURCE) :]}:{frame.f_lineno}")
        return line

    def stepping():
        # A generator has its own state of handled exceptions. Python 3.11 leaves one there if a trace function raises
        # at a `return` of an `except` clause, and every later exception of the thread would have it as its context.
        yield step()

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: line if frame.f_code.co_filename.startswith(SOURCE) else None)
    try:
        next(stepping())
    except Interrupt as interrupt:
        return str(interrupt)
    finally:
        sys.settrace(before)
    return None


def can_stop(frame):
    """Python itself lets none come as a `with` block ends; as `__exit__` begins, nobody can help it."""
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    begins_exit = frame.f_code.co_name == "__exit__" and text == "try:"
    return not (text.startswith("with ") or begins_exit or frame.f_code.co_qualname == "inside.__exit__")


def training():
    """A step of gradient descent on a function whose second derivatives it uses; its rate is 0."""
    w, count = tf.Variable([0.5, -0.25, 1.0]), tf.Variable(0.0)
    target, optimizer = tf.constant([1.0, 2.0, 3.0]), tf.optimizers.SGD(0.0)

    def step(looks=False):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_sum(tf.sin(w) * w * target)
            slope = inner.gradient(loss, w)
            norm = tf.reduce_sum(slope * slope)
        gradient = outer.gradient(norm, w)
        w.assign_sub(0.0 * gradient)
        optimizer.apply_gradients([(gradient, w)])
        count.assign_add(1.0)
        if looks:
            float(norm)

    return step, w, count


def plain_training():
    """The same without second derivatives, which NumPy's functions compute."""
    w, count = tf.Variable([0.5, -0.25, 1.0]), tf.Variable(0.0)
    target, optimizer = tf.constant([1.0, 2.0, 3.0]), tf.optimizers.SGD(0.0)

    def step(looks=False):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(w) * w * target)
        gradient = tape.gradient(loss, w)
        w.assign_sub(0.0 * gradient)
        optimizer.apply_gradients([(gradient, w)])
        count.assign_add(1.0)
        if looks:
            float(loss)

    return step, w, count


@pytest.mark.parametrize("way", ["cold", "hot", "numpy"])
def test_an_interrupt_at_any_line_leaves_all_as_before_or_after_a_step(hot, way):
    is_hot = way != "cold"
    if way == "numpy":
        hot.by_numpy()
    hot(is_hot)
    step, w, count = plain_training() if way == "numpy" else training()
    for i in range(12):
        step(looks=i % 4 > 1)
    number, where, before = 1, "", float(count)
    while where is not None:
        for place in places.places.values():  # else it would be left alone
            place.left, place.failures, place.is_cold, place._trouble = 0, 0, False, 0
        if way == "numpy":  # passes that nobody looks at begin with the object of the last one
            for _ in range(4):
                step()
            before += 4
        where = run_to_line(number, partial(step, looks=number % 2 == 0))
        assert local.here.hot is not None or local.here.tapes == [], where
        assert not local.here.is_inside, where
        assert float(count) in (before, before + 1), where
        np.testing.assert_array_equal(w, [0.5, -0.25, 1.0], where)
        before = float(count)
        step()
        step(looks=True)
        before += 2
        assert float(count) == before, where
        assert sys.exception() is None, where
        number += 1 if way == "numpy" else 7
    assert number > 300
    assert (hot.counts["followed"] > 50) is is_hot
