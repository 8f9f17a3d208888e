"""The public namespace `gradtape.debugging`: assertions about tensors, and checks for what is not a finite number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .core.settings import settings
from .names.missing import closed
from .ops.assertions import (
    assert_all_finite,
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_integer,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_negative,
    assert_non_negative,
    assert_non_positive,
    assert_none_equal,
    assert_positive,
    assert_proper_iterable,
    assert_rank,
    assert_rank_at_least,
    assert_rank_in,
    assert_same_float_dtype,
    assert_scalar,
    assert_shapes,
    assert_type,
    is_numeric_tensor,
)
from .ops.control.printing import Assert
from .ops.math.numerics import check_numerics
from .ops.numerics_checker import disable_check_numerics, enable_check_numerics

if TYPE_CHECKING:
    from .core.tape import GradientTape
    from .explain import NanReport, Tracing

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_shapes",
    "assert_type",
    "check_numerics",
    "disable_check_numerics",
    "disable_traceback_filtering",
    "enable_check_numerics",
    "enable_traceback_filtering",
    "find_nan",
    "get_log_device_placement",
    "is_numeric_tensor",
    "is_traceback_filtering_enabled",
    "set_log_device_placement",
    "trace_origins",
]

# ---------------------------------------------------------------------------------------------------------------------
# Origins of tensors and NaNs. The work is done in `explain`, which is imported when first used.


def trace_origins(values: bool = False) -> Tracing:
    """Record the line of code that each tensor comes from, for `tape.explain` and `tape.show`.

    Lasts for a `with` block, or until `stop()` is called on the result. Costs some tens of microseconds an operation.

    Args:
        values: also remember a sample of each value, for `tape.show`: tapes keep only those that rules need.

    >>> import gradtape as tf
    >>> x = tf.Variable(2.0)
    >>> with trace_origins(), tf.GradientTape() as tape:
    ...     y = tf.stop_gradient(x) * 3.0
    >>> report = tape.explain(y, x)
    >>> report.reason, report.where is not None
    (<Reason.STOPPED: 'cut by stop_gradient'>, True)
    """
    from .explain import Tracing

    return Tracing(values=values)


def find_nan(tape: GradientTape, target: Any, sources: Any) -> NanReport:
    """Find the first operation that produced a NaN or an infinity, and what usually helps.

    Args:
        tape: the tape that recorded; ask before `gradient`, or of a persistent tape.
        target: as for `tape.gradient`: searched forward, up to these tensors, and then backward.
        sources: as for `tape.gradient`.

    Returns:
        A report, which is false if all is finite.

    >>> import gradtape as tf
    >>> x = tf.Variable([4.0, 0.0])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.reduce_sum(tf.sqrt(x))
    >>> found = find_nan(tape, y, x)
    >>> found.direction, found.operation, found.kind
    ('backward', 'sqrt', 'Inf')
    """
    from .explain import find_nan

    return find_nan(tape, target, sources)


# ---------------------------------------------------------------------------------------------------------------------
# Switches without an effect


def set_log_device_placement(enabled: bool) -> None:
    """Store `enabled`. Nothing is logged: everything runs on the one device.

    >>> set_log_device_placement(False)
    """
    settings.log_device_placement = bool(enabled)


def get_log_device_placement() -> bool:
    """The value given to `set_log_device_placement`.

    >>> get_log_device_placement()
    False
    """
    return settings.log_device_placement


def enable_traceback_filtering() -> None:
    """Store the choice, which has no effect: tracebacks show all frames.

    >>> enable_traceback_filtering()
    """
    settings.traceback_filtering = True


def disable_traceback_filtering() -> None:
    """Store the choice, which has no effect: tracebacks show all frames.

    >>> disable_traceback_filtering()
    """
    settings.traceback_filtering = False


def is_traceback_filtering_enabled() -> bool:
    """Return whether filtering was enabled last.

    >>> is_traceback_filtering_enabled() in (True, False)
    True
    """
    return settings.traceback_filtering


closed(__name__)
