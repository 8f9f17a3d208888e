"""The public namespace `gradtape.optimizers`."""

from .train.optimizers import SGD, Optimizer

__all__ = ["SGD", "Optimizer"]
