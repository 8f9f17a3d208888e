"""The public namespace `gradtape.autodiff`."""

from .forward import ForwardAccumulator
from .missing import closed
from .tape import GradientTape

__all__ = ["ForwardAccumulator", "GradientTape"]

closed(__name__)
