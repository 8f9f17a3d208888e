"""Where arrays are computed. `xp(array)` gives the module for an array: `numpy`, or `jax.numpy` for traced values.

Importing this also asks the C library to keep freed memory for the next array instead of handing it back.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

import numpy as np


def xp(array: Any) -> ModuleType:
    """The array module that computes on `array`."""
    if type(array) is np.ndarray or isinstance(array, (np.generic, np.ndarray, int, float, complex)):
        return np
    import jax.numpy

    return jax.numpy


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
