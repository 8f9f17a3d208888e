"""The public namespace `gradtape.profiler`: profiles of compiled code."""

from ..names.missing import closed
from . import experimental

__all__ = ["experimental"]

closed(__name__)
