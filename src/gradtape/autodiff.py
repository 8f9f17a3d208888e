"""The public namespace `gradtape.autodiff`."""

from .core.forward import ForwardAccumulator
from .core.tape import GradientTape
from .names.missing import closed

__all__ = ["ForwardAccumulator", "GradientTape"]

closed(__name__)
