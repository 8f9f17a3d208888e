"""The public namespace `gradtape.dtypes.experimental`: floats of 8 bits, for storage; compute in a wider dtype."""

from ..core.dtypes import float8_e4m3fn, float8_e5m2
from ..names.missing import closed

__all__ = ["float8_e4m3fn", "float8_e5m2"]

closed(__name__)
