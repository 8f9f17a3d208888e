"""The public namespace `gradtape.bitwise`: integers bit by bit."""

from .names.missing import closed
from .ops.math import bits
from .ops.math.bits import *  # noqa: F403

__all__ = bits.__all__

closed(__name__)
