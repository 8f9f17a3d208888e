"""Processes made by a fork: JAX's threads do not survive it, so a child computes operation by operation, on NumPy."""

from __future__ import annotations

import functools
import os
from typing import Any

from ..core.primitive import leave_hot
from ..core.settings import settings
from ..core.tape import when_entered


@functools.cache
def expect_forks() -> None:
    """From now on, because JAX is imported, have forks wait for what it computes, and children do without it."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_complete, after_in_child=_do_without)


def _complete() -> None:
    """Have all values computed, so that a child can read them."""
    import jax

    leave_hot("the process forks")
    arrays: list[Any] = [array for array in jax.live_arrays() if not array.is_deleted()]
    jax.block_until_ready(arrays)


def _do_without() -> None:
    """In the child, run functions as plain Python, and leave tapes as they are."""
    settings.run_functions_eagerly = True
    when_entered.clear()
