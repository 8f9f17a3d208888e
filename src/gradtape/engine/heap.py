"""Keep the memory of large compiled programs from call to call, where malloc is glibc's.

XLA allocates the intermediate values of a program as one block and frees it when the call ends. glibc returns blocks
of more than 32 MB to the system at once, and the next call pays for each page anew: 160 of 720 ms of processor time in
a training step of ResNet50 on 96x96, 75 of 190 ms for MobileNetV2. So XLA's threads share the main heap, which
alone can hold blocks of any size, and as soon as a program needs such a block, the heap keeps it. Blocks of a heap are
scattered by smaller ones that lie between: it may grow to several times the block, so memory must be plenty.

Whoever sets malloc in the environment (MALLOC_..., GLIBC_TUNABLES) has decided: then nothing is changed here.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

from . import memory

# The names of mallopt's settings, in <malloc.h>
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -2, -3, -4, -8
_NEVER = -1  # larger than any size
_PLENTY = 4  # times the values that a program computes
_LARGE = 1 << 27  # bytes: the block of a program that computes less is one that glibc keeps, or nearly

_kept = [0]


@functools.cache
def _setting() -> Callable[[int, int], int] | None:
    """The function that changes malloc's settings; None where there is none, or the environment has set them."""
    import ctypes

    if "GLIBC_TUNABLES" in os.environ or any(name.startswith("MALLOC_") for name in os.environ):
        return None
    try:
        mallopt: Callable[[int, int], int] = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):
        return None
    return mallopt


def share_heap() -> None:
    """Let threads that start from now on allocate in the main heap. Called before XLA starts its own.

    XLA's compiler allocates in several threads: the heap grows in large steps, which cost nothing until they are used.
    A setting ends glibc's own adjustment of the others, so they get the values to which it would have come.
    """
    setting = _setting()
    if setting is not None:
        setting(_ARENA_MAX, 1)
        setting(_TOP_PAD, 1 << 26)
        setting(_MMAP_THRESHOLD, 1 << 25)
        setting(_TRIM_THRESHOLD, 1 << 26)


def keep(size: int) -> None:
    """Let the heap hold blocks of any size, and keep up to `size` free bytes at its end.

    Args:
        size: the bytes of all values that a program computes; nothing changes for a small program, or if a quarter of
            the memory that is available would not hold them.
    """
    setting = _setting()
    if setting is None or size < max(_LARGE, _kept[0] + 1) or size * _PLENTY > (memory.available() or 0):
        return
    _kept[0] = size
    setting(_MMAP_MAX, 0)
    setting(_TRIM_THRESHOLD, size if size < 1 << 31 else _NEVER)
