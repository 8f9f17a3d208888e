"""The public namespace `gradtape.math.special`."""

from ..names.missing import closed
from ..ops.math import special_functions
from ..ops.math.special_functions import *  # noqa: F403

__all__ = special_functions.__all__

closed(__name__)
