"""The public namespace `gradtape.bitwise`: integers bit by bit."""

from .names.missing import closed
from .ops.math.functions import bitwise_and, bitwise_or, bitwise_xor, invert, left_shift, right_shift

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]

closed(__name__)
