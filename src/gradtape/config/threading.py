"""The public namespace `gradtape.config.threading`. NumPy and its BLAS decide; what is set here is remembered only."""

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
    """How many operations may run at once; 0 leaves it open.

    >>> get_inter_op_parallelism_threads()
    0
    """
    return settings.inter_op_threads


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Say how many operations may run at once.

    >>> set_inter_op_parallelism_threads(0)
    """
    settings.inter_op_threads = integer("set_inter_op_parallelism_threads", "num_threads", num_threads, 0)


def get_intra_op_parallelism_threads() -> int:
    """How many threads one operation may use; 0 leaves it open.

    >>> get_intra_op_parallelism_threads()
    0
    """
    return settings.intra_op_threads


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Say how many threads one operation may use.

    >>> set_intra_op_parallelism_threads(0)
    """
    settings.intra_op_threads = integer("set_intra_op_parallelism_threads", "num_threads", num_threads, 0)


closed(__name__)
