"""The public namespace `gradtape.random`."""

from .ops.random import normal, set_seed, truncated_normal, uniform

__all__ = ["normal", "set_seed", "truncated_normal", "uniform"]
