"""TensorFlow 1's global step, and the learning rates that fall with it: in eager mode functions without arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import gradtape as tf

from ..core.variable import Variable
from .v1_collections import GraphKeys, add_to_collection, get_collection

Rate = Callable[[], Any]


def create_global_step(graph: Any = None) -> Variable:
    """Make the variable that counts the steps.

    Raises:
        ValueError: if there is one already.
    """
    if get_global_step() is not None:
        raise ValueError("create_global_step: there is a global step already: use get_global_step")
    with tf.init_scope():
        step = tf.Variable(0, trainable=False, dtype="int64", name="global_step")
    add_to_collection(GraphKeys.GLOBAL_STEP, step)
    return step


def get_global_step(graph: Any = None) -> Variable | None:
    """The variable that counts the steps; None if there is none."""
    found = get_collection(GraphKeys.GLOBAL_STEP)
    return found[0] if found else None


def get_or_create_global_step(graph: Any = None) -> Variable:
    """The variable that counts the steps, which is made if there is none.

    >>> int(get_or_create_global_step())
    0
    """
    return get_global_step() or create_global_step()


def assert_global_step(global_step_tensor: Any) -> None:
    """Raise a TypeError unless this is one integer."""
    tensor = tf.convert_to_tensor(global_step_tensor)
    if tensor.shape.rank != 0 or not tensor.dtype.is_integer:
        raise TypeError(
            f"the global step must be one integer, not {tensor.dtype.name} of shape {tensor.shape}"
        )


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The value of the global step, as a number of Python's; `sess` is accepted."""
    return int(global_step_tensor)


def _decay(schedule: Any, step: Any) -> Rate:
    return lambda: schedule(tf.convert_to_tensor(step() if callable(step) else step))


def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """learning_rate * decay_rate ** (global_step / decay_steps), for whole periods only if `staircase`.

    >>> float(exponential_decay(0.1, 10, 10, 0.5)())
    0.05000000074505806
    """
    return _decay(
        tf.optimizers.schedules.ExponentialDecay(learning_rate, decay_steps, decay_rate, staircase),
        global_step,
    )


def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """learning_rate * exp(-decay_rate * global_step / decay_steps), for whole periods only if `staircase`."""
    return exponential_decay(
        learning_rate, global_step, decay_steps, tf.exp(-tf.cast(decay_rate, "float32")), staircase
    )


def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """learning_rate / (1 + decay_rate * global_step / decay_steps), for whole periods only if `staircase`."""
    return _decay(
        tf.optimizers.schedules.InverseTimeDecay(learning_rate, decay_steps, decay_rate, staircase),
        global_step,
    )


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Rate:
    """From learning_rate to end_learning_rate in decay_steps, by a power of what is left of the way.

    Args:
        cycle: go on with longer periods.

    >>> float(polynomial_decay(1.0, 50, 100, 0.0)())
    0.5
    """
    schedule = tf.optimizers.schedules.PolynomialDecay(
        learning_rate, decay_steps, end_learning_rate, power, cycle
    )
    return _decay(schedule, global_step)


def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Rate:
    """values[i] for x up to boundaries[i], and the last value above all.

    >>> float(piecewise_constant(7, [5, 9], [1.0, 0.5, 0.25])())
    0.5
    """
    return _decay(tf.optimizers.schedules.PiecewiseConstantDecay(list(boundaries), list(values)), x)


def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: Any = 0.0, name: str | None = None
) -> Rate:
    """Half a cosine from learning_rate to alpha * learning_rate in decay_steps."""
    return _decay(tf.optimizers.schedules.CosineDecay(learning_rate, decay_steps, alpha), global_step)


def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Rate:
    """Half cosines one after the other, each t_mul times as long, from m_mul times as high."""
    schedule = tf.optimizers.schedules.CosineDecayRestarts(
        learning_rate, first_decay_steps, t_mul, m_mul, alpha
    )
    return _decay(schedule, global_step)


def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Rate:
    """A line to alpha that waves by a cosine of so many periods, and beta."""

    def schedule(step: Any) -> Any:
        done = tf.minimum(tf.cast(step, "float32"), float(decay_steps)) / float(decay_steps)
        wave = 0.5 * (1.0 + tf.cos(2.0 * math.pi * num_periods * done))
        return learning_rate * ((alpha + 1.0 - done) * wave + beta)

    return _decay(schedule, global_step)


STEPS: dict[str, Any] = {
    f"train.{function.__name__}": function
    for function in (
        assert_global_step,
        cosine_decay,
        cosine_decay_restarts,
        create_global_step,
        exponential_decay,
        get_global_step,
        get_or_create_global_step,
        global_step,
        inverse_time_decay,
        linear_cosine_decay,
        natural_exp_decay,
        piecewise_constant,
        polynomial_decay,
    )
} | {"train.piecewise_constant_decay": piecewise_constant}
