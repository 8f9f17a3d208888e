"""The array module for an array, `xp(array)`: `numpy`, or for arrays of JAX's `jax.numpy`, as `traced_numpy` has it.

Inside a `@function` arrays are traced: their shapes and dtypes are known, their values are not (`is_traced`).

Importing this also asks the C library to keep freed memory for the next array instead of handing it back; and
`threaded` spreads a slow function of a large array over the processor's cores.
"""

from __future__ import annotations

import contextvars
import functools
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy import ndarray

from .pending import PendingArray

_NUMPY = (ndarray, np.generic, int, float, complex, type(None), PendingArray)


def xp(x: Any, y: Any = None, z: Any = None, *more: Any) -> ModuleType:
    """The array module that computes on these arrays: NumPy, unless one of them is JAX's."""
    if (
        type(x) is ndarray
        and (y is None or type(y) is ndarray)
        and (z is None or type(z) is ndarray)
        and not more
    ):
        return np
    for array in (x, y, z, *more):
        if not isinstance(array, _NUMPY):
            from . import traced_numpy

            return traced_numpy
    return np


def as_array(result: Any) -> Any:
    """The result of a function on arrays as an array: JAX's as it is, a NumPy scalar as an array without axes."""
    return np.asarray(result) if isinstance(result, _NUMPY) or not is_jax(result) else result


def is_jax(array: Any) -> bool:
    """Return whether this is an array of JAX's, traced or not."""
    jax = sys.modules.get("jax")
    # `getattr`, because another thread may be importing it.
    return jax is not None and isinstance(array, getattr(jax, "Array", ()))


def is_traced(array: Any) -> bool:
    """Return whether this stands for values that are known only when the compiled function runs."""
    if type(array) is ndarray:
        return False
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(array, getattr(getattr(jax, "core", None), "Tracer", ()))


def unary(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """A ufunc of NumPy's; for JAX's arrays, the function of that name in `jax.numpy`."""

    def forward(x: Any) -> Any:
        return function(x) if type(x) is ndarray else getattr(xp(x), function.__name__)(x)

    forward.__name__ = function.__name__
    return forward


def binary(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The same for a ufunc of two arrays."""

    def forward(x: Any, y: Any) -> Any:
        if type(x) is ndarray and type(y) is ndarray:
            return function(x, y)
        return getattr(xp(x, y), function.__name__)(x, y)

    forward.__name__ = function.__name__
    return forward


def keep_freed_memory(mmap_threshold: int = 32 << 20, trim_threshold: int = 1 << 30) -> bool:
    """Have glibc serve arrays up to `mmap_threshold` bytes from memory it has already.

    A fresh 4 MB array costs a thousand page faults, several times the arithmetic done on it; by default glibc returns
    such arrays to the system as soon as they are freed. Left alone where the user has set `MALLOC_*` variables.
    """
    if sys.platform != "linux" or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    import ctypes  # NumPy has imported it already

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    m_trim_threshold, m_mmap_threshold = -1, -3
    return bool(mallopt(m_mmap_threshold, mmap_threshold) and mallopt(m_trim_threshold, trim_threshold))


keep_freed_memory()

# ---------------------------------------------------------------------------------------------------------------------
# Large arrays

LARGE = 1 << 18  # elements: below, waking a second thread (some 0.1 ms) costs more than it saves


def threaded(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """A ufunc that takes nanoseconds for each element, computed on all cores where the array is large.

    NumPy computes exp of a million elements on one core in 2.2 ms; two take 1.2 ms. The result goes into `out` if there
    is one.
    """

    def forward(x: Any, out: Any = None) -> Any:
        if type(x) is not ndarray:
            return getattr(xp(x), function.__name__)(x)
        if x.size < LARGE or not x.flags.c_contiguous or cores() == 1:
            return function(x, out)
        if out is None:
            out = np.empty(x.shape, x.dtype)
        flat, result = x.reshape(-1), out.reshape(-1)
        in_parts(lambda part: function(flat[part], result[part]), x.size)
        return out

    forward.__name__ = function.__name__
    return forward


def in_parts(run: Callable[[slice], Any], count: int) -> None:
    """`run(part)` for slices of `count` things, on all cores at once."""
    ends = [count * (i + 1) // cores() for i in range(cores())]
    first, *parts = [slice(start, end) for start, end in zip([0, *ends], ends)]
    # NumPy's warnings are off in each thread, as in this one.
    others = [pool().submit(contextvars.copy_context().run, run, part) for part in parts]
    run(first)
    for other in others:
        other.result()


@functools.cache
def cores() -> int:
    """The number of threads to use: as many as available cores, unless OMP_NUM_THREADS says fewer."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(limit)) if limit.isdigit() and int(limit) else available


@functools.cache
def pool() -> Any:
    """The threads that compute parts of large arrays: one for each core but this thread's."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(cores() - 1, thread_name_prefix="gradtape")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork: the child makes its own
    os.register_at_fork(after_in_child=pool.cache_clear)
