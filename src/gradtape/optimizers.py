"""The public namespace `gradtape.optimizers`."""

from .missing import closed
from .train.optimizers import SGD, Optimizer

__all__ = ["SGD", "Optimizer"]

closed(__name__)
