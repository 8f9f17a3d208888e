"""The public namespace `gradtape.autograph`."""

from ..missing import closed
from . import experimental

__all__ = ["experimental"]

closed(__name__)
