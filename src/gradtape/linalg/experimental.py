"""The public namespace `gradtape.linalg.experimental`."""

from ..names.missing import closed
from ..ops.linalg.conjugate_gradients import conjugate_gradient

__all__ = ["conjugate_gradient"]

closed(__name__)
