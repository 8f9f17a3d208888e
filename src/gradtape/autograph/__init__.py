"""The public namespace `gradtape.autograph`."""

from . import experimental

__all__ = ["experimental"]
