"""The public namespace `gradtape.config.threading`. NumPy and its BLAS decide; these settings have no effect."""

from __future__ import annotations

from ..core.settings import settings
from ..names.missing import closed
from ..ops.scalars import integer

__all__ = [
    "get_inter_op_parallelism_threads",
    "get_intra_op_parallelism_threads",
    "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads",
]


def get_inter_op_parallelism_threads() -> int:
    """The number of operations that may run at once; 0 for any number.

    >>> get_inter_op_parallelism_threads()
    0
    """
    return settings.inter_op_threads


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Store `num_threads`, the number of operations that may run at once; 0 for any number.

    >>> set_inter_op_parallelism_threads(0)
    """
    settings.inter_op_threads = integer("set_inter_op_parallelism_threads", "num_threads", num_threads, 0)


def get_intra_op_parallelism_threads() -> int:
    """The number of threads that one operation may use; 0 for any number.

    >>> get_intra_op_parallelism_threads()
    0
    """
    return settings.intra_op_threads


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Store `num_threads`, the number of threads that one operation may use; 0 for any number.

    >>> set_intra_op_parallelism_threads(0)
    """
    settings.intra_op_threads = integer("set_intra_op_parallelism_threads", "num_threads", num_threads, 0)


closed(__name__)
