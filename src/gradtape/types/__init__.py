"""The public namespace `gradtape.types`: kinds of values, for annotations and isinstance."""

from ..names.missing import closed
from . import experimental

__all__ = ["experimental"]

closed(__name__)
