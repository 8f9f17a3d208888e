"""Optimizers whose settings and variables change between passes, and inside them, after a step that nobody looks at."""

import numpy as np
import pytest

import gradtape as tf

schedules = tf.optimizers.schedules


def trained(optimizer, change, looks=False, steps=9):
    """The values of a variable after each step; `change(step)` comes after it, before anybody looks."""
    v = tf.Variable([1.0, 2.0])
    values = []
    for step in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v)
        if looks:
            values.append(loss.numpy())
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])
        change(step)
        values.append(v.numpy())
    return values


def momentum():
    optimizer = tf.optimizers.SGD(0.1, momentum=0.9)

    def change(step):
        if step % 3 == 0:
            optimizer.momentum = 0.9 if optimizer.momentum == 0.5 else 0.5

    return optimizer, change


def another_rate():
    optimizer = tf.optimizers.SGD(0.1)

    def change(step):
        if step % 3 == 2:
            optimizer.learning_rate = tf.Variable(0.1 / (step + 1))

    return optimizer, change


def another_schedule():
    kinds = [schedules.ExponentialDecay, schedules.InverseTimeDecay]
    optimizer = tf.optimizers.SGD(kinds[0](0.1, 2, 0.9, name="rate"))

    def change(step):
        if step % 4 == 1:
            kinds.reverse()
            optimizer.learning_rate = kinds[1](0.1, 2, 0.9, name="rate")
            optimizer.learning_rate = kinds[0](0.1, 2, 0.9, name="rate")  # may have the id of the first

    return optimizer, change


def changed_schedule():
    schedule = schedules.ExponentialDecay(0.1, 2, 0.9)

    def change(step):
        if step % 3 == 1:
            schedule.decay_rate = 0.5 if schedule.decay_rate == 0.9 else 0.9

    return tf.optimizers.SGD(schedule), change


@pytest.mark.parametrize("looks", [False, True])
@pytest.mark.parametrize("make", [momentum, another_rate, another_schedule, changed_schedule])
def test_a_step_has_the_settings_of_when_it_was_called(hot, make, looks):
    hot(False)
    cold = trained(*make(), looks)
    hot()
    warm = trained(*make(), looks)
    np.testing.assert_allclose(np.hstack(warm), np.hstack(cold), rtol=1e-5)
    assert hot.counts["followed"]


def averages(build_late, **options):
    """The state of an optimizer, whose steps are given only the first of its two variables."""
    first, second = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
    optimizer = tf.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5, **options)
    optimizer.build([first] if build_late else [first, second])
    shown = []
    for step in range(9):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(first * first)
        optimizer.apply_gradients([(tape.gradient(loss, first), first)])
        if step == 4:
            optimizer.build([first, second])
        second.assign_add([1.0, 1.0])
        shown += [first.numpy(), second.numpy()]
    return [*shown, *[v.numpy() for v in optimizer.variables if v.shape]]


@pytest.mark.parametrize("build_late", [False, True])
@pytest.mark.parametrize("options", [{}, {"ema_overwrite_frequency": 3}], ids=str)
def test_a_step_averages_all_variables_of_the_optimizer(hot, build_late, options):
    hot(False)
    cold = averages(build_late, **options)
    hot()
    warm = averages(build_late, **options)
    np.testing.assert_allclose(np.hstack(warm), np.hstack(cold), rtol=1e-5)
    assert hot.counts["followed"] > 3
