"""`tf.compat.v1.logging`: the logger that `tf.get_logger()` gives, by functions."""

from __future__ import annotations

from logging import DEBUG, ERROR, FATAL, INFO, WARN

from ..core.scopes import get_logger
from ..names.missing import closed

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "debug",
    "error",
    "fatal",
    "get_verbosity",
    "info",
    "log",
    "set_verbosity",
    "warn",
    "warning",
]

debug = get_logger().debug
info = get_logger().info
warn = warning = get_logger().warning
error = get_logger().error
fatal = get_logger().critical
log = get_logger().log


def set_verbosity(v: int | str) -> None:
    """Log nothing below this level.

    >>> set_verbosity(WARN)
    """
    get_logger().setLevel(v)


def get_verbosity() -> int:
    """The level below which nothing is logged.

    >>> set_verbosity(ERROR)
    >>> get_verbosity() == ERROR
    True
    """
    return get_logger().getEffectiveLevel()


closed(__name__)
