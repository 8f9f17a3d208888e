"""Directives of users' functions for their conversion: not to convert, or how long a loop can get."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Decorator: leave this function as it is inside a `function`, with what it calls.

    >>> do_not_convert(lambda x: x + 1)(1)
    2
    """
    if func is None:
        return do_not_convert

    # A function of gradtape is not converted, and neither is what it calls.
    @functools.wraps(func)
    def left_alone(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    left_alone.__converts__ = False  # type: ignore[attr-defined]
    return left_alone


def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """As the first statement of a loop: how often it may repeat at most, when it is compiled.

    With a limit, a compiled loop stores each iteration for its gradient; without, its gradient runs it a second time.

    Args:
        parallel_iterations: accepted; no effect.
        swap_memory: accepted; no effect.
        shape_invariants: pairs of a tensor and its shape, with None for lengths that change from one iteration to the
            next. Where they do, the function runs operation by operation.

    >>> import gradtape as tf
    >>> @tf.function
    ... def halved(x):
    ...     while x > 1.0:
    ...         tf.autograph.experimental.set_loop_options(maximum_iterations=100)
    ...         x = x / 2.0
    ...     return x
    >>> float(halved(tf.constant(12.0)))
    0.75
    """
